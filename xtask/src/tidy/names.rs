//! Names of public types: one name means one thing in the whole workspace, so that a reader who sees a type used knows
//! it without looking up where it comes from.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;
use super::{Findings, Tree, crate_of};

/// Names that public types of several crates may share, each with the reason.
const SHARED_NAMES: &[&str] = &[
    // Names of `results`: the written form of a value of another crate, or of figures about it. They are the names of
    // definitions in the published JSON Schema, and cannot change within a version of the schema.
    "Axis",
    "Cache",
    "Clause",
    "Comparison",
    "Crossing",
    "Histogram",
    "Index",
    "Interval",
    "LeftOut",
    "Log",
    "Machine",
    "Point",
    "Relation",
    "Sample",
    "Series",
    "Source",
    "Spread",
    "Starvation",
    "StarvedType",
    "Summary",
    "Sweep",
    "Table",
    "Version",
    // The usual terms of plotting, in `plot`, which knows no tables and no statistics.
    "Row",
    "Scale",
    // The form in which a history records the key of a table.
    "Key",
    // Roles that a trait or the module in front of the name defines: a workload's associated types, a module's options.
    "Ledger",
    "Options",
    "Scratch",
];

/// Crates whose names may be those of other crates. Programs see the names of `contend`, and only these, so they are
/// the usual ones (`Database`, `Table`), whatever the engine below has. `peers` is no member of the workspace.
const OWN_NAMES: &[&str] = &["contend", "peers"];

/// Reports a public type whose name a public type of another crate has, too. The types of a scheme's folder are left
/// out: nothing outside of the folder names them. Twins have no sources of their own.
pub(super) fn public_types_have_names_of_their_own(tree: &Tree, findings: &mut Findings) {
    let folders: BTreeSet<&str> =
        tree.schemes().filter_map(|(path, _, _)| path.strip_suffix("mod.rs")).collect();
    let mut types: BTreeMap<&str, Vec<(String, &str, usize)>> = BTreeMap::new();
    for (path, source) in &tree.sources {
        let name = crate_of(path);
        let is_of_scheme = folders.iter().any(|folder| path.starts_with(folder));
        let is_source = path.starts_with(&format!("crates/{name}/src/"));
        if is_source && !is_of_scheme && !OWN_NAMES.contains(&name.as_str()) {
            for (line, public) in public_types(source) {
                types.entry(public).or_default().push((name.clone(), path, line));
            }
        }
    }
    for (public, places) in types.into_iter().filter(|(public, _)| !SHARED_NAMES.contains(public)) {
        for (own, path, line) in &places {
            if let Some((other, ..)) = places.iter().find(|(other, ..)| other != own) {
                let says = "add to the name what tells the two apart (`CampaignReport`)";
                findings.add(path, *line, format!("`{other}` has a public `{public}`, too: {says}"));
            }
        }
    }
}

/// Returns the lines and names of the types that are declared `pub`.
fn public_types(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.above_tests().filter_map(|(number, line)| {
        let declared = line.code.trim_start().strip_prefix("pub ")?;
        let declared = declared.strip_prefix("unsafe ").unwrap_or(declared);
        let (kind, rest) = declared.split_once(' ')?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        // A macro's `$name` is empty here.
        let is_type = ["struct", "enum", "union", "trait", "type"].contains(&kind) && end > 0;
        is_type.then_some((number, &rest[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found;

    fn check(files: &[(&str, &str)]) -> usize {
        found(public_types_have_names_of_their_own, files).len()
    }

    #[test]
    fn a_name_that_two_crates_export_is_caught_at_both() {
        for second in ["pub struct Report<'r> {\n", "pub trait Report: Send {\n", "pub type Report = u8;\n"] {
            let files =
                [("crates/lab/src/report.rs", "pub struct Report;\n"), ("crates/runs/src/a.rs", second)];
            assert_eq!(check(&files), 2, "{second}");
        }
    }

    #[test]
    fn names_may_repeat_within_a_crate_and_below_its_interface() {
        let lab = ("crates/lab/src/report.rs", "pub struct Report;\n");
        assert_eq!(check(&[lab, ("crates/lab/src/b.rs", "pub enum Report {\n")]), 0);
        assert_eq!(check(&[lab, ("crates/runs/src/b.rs", "pub(crate) enum Report {\n")]), 0);
        assert_eq!(
            check(&[lab, ("crates/runs/src/b.rs", "pub struct ReportLine;\n// pub struct Report;\n")]),
            0
        );
        let tests = "#[cfg(test)]\nmod tests {\n    pub struct Report;\n}\n";
        assert_eq!(check(&[lab, ("crates/runs/src/b.rs", tests)]), 0);
    }

    #[test]
    fn tests_schemes_the_library_and_shared_names_are_left_out() {
        let engine = ("crates/engine/src/a.rs", "pub struct Database;\npub trait Scratch {\n");
        for other in [
            "crates/contend/src/a.rs",
            "crates/peers/src/a.rs",
            "crates/engine/tests/a.rs",
            "crates/schemes/src/locking/no_wait/mod.rs",
        ] {
            assert_eq!(check(&[engine, (other, "pub struct Database;\n")]), 0, "{other}");
        }
        assert_eq!(check(&[engine, ("crates/workloads/src/a.rs", "pub struct Scratch;\n")]), 0);
        let frame = ("crates/schemes/src/frames/two_phase/mod.rs", "pub struct Database;\n");
        assert_eq!(check(&[engine, frame]), 2);
    }
}
