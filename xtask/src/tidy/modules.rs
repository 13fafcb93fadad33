//! Files that no target compiles: each Rust file must be the root of a target or a module below one,
//! and each scheme must be in the catalogue.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::bans::imports;
use super::source::{Attribute, Source};
use super::{CATALOGUE, Findings, Tree, folder_of, join};

/// Reports a Rust file that no target of any member compiles.
pub(super) fn files_are_reachable(tree: &Tree, findings: &mut Findings) {
    let mut reached = BTreeSet::new();
    for (path, manifest) in &tree.manifests {
        for root in roots(tree, folder_of(path), manifest) {
            reach(tree, &root, true, &mut reached);
        }
    }
    for path in tree.sources.keys().filter(|path| !reached.contains(*path)) {
        findings.add(path, 0, "no target compiles this file: declare it with `mod` or delete it");
    }
}

/// Reports a scheme that is not in the catalogue: no command would know it.
pub(super) fn schemes_are_catalogued(tree: &Tree, findings: &mut Findings) {
    let catalogue = tree.sources.get(CATALOGUE);
    for (path, family, name) in tree.schemes() {
        let entry = format!("{family}::{name}::");
        let is_there = catalogue.is_some_and(|file| file.lines.iter().any(|line| line.code.contains(&entry)));
        if !is_there {
            findings.add(
                path,
                0,
                format!("`{entry}..` is missing in {CATALOGUE}: one line there adds the scheme"),
            );
        }
    }
}

/// Reports a scheme without an entry, or whose tests do not hold it to its promises.
pub(super) fn schemes_are_tested(tree: &Tree, findings: &mut Findings) {
    for (path, _, name) in tree.schemes() {
        let folder = folder_of(path);
        if !tree.sources.contains_key(&join(folder, "entry.rs")) {
            findings.add(path, 0, format!("`{name}` has no entry: write `entry.rs` in its folder"));
        }
        let is_tested = ["tests.rs", "claims.rs"].into_iter().any(|file| {
            let source = tree.sources.get(&join(folder, file));
            source.is_some_and(|file| file.lines.iter().any(|line| line.code.contains("conformance!(")))
        });
        if !is_tested {
            let says = "write `crate::tests::conformance!(..)` in `tests.rs` in its folder";
            findings.add(path, 0, format!("`{name}` is not held to its promises: {says}"));
        }
    }
}

/// The folder of the parts.
const PARTS: &str = "crates/parts/src/";

/// Reports a part that one scheme uses, or none, counting the uses by way of other parts and of frames.
pub(super) fn parts_have_two_users(tree: &Tree, findings: &mut Findings) {
    let Some(root) = tree.sources.get("crates/parts/src/lib.rs") else { return };
    // The module of each name that the crate exports.
    let exported: BTreeMap<String, String> = imports(root)
        .into_iter()
        .filter_map(|(_, path)| {
            let (module, name) = path.split_once("::")?;
            Some((name.to_owned(), module.to_owned()))
        })
        .collect();
    // The parts and frames that each part, frame and scheme names.
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, source) in &tree.sources {
        let Some(unit) = unit(path) else { continue };
        let is_part = path.starts_with(PARTS);
        let family = unit.split_once('/').map(|(family, _)| family.to_owned());
        let used = imports(source).into_iter().filter(|(line, _)| *line <= source.tests_at);
        let used = used.filter_map(|(_, path)| {
            let (from, rest) = path.split_once("::")?;
            let (first, after) = rest.split_once("::").unwrap_or((rest, ""));
            let part = || exported.get(first).map_or(first, String::as_str).to_owned();
            match (from, &family) {
                ("parts", _) => Some(part()),
                ("crate" | "super", None) if is_part => Some(part()),
                ("crate", _) if first == "frames" => Some(format!("frames/{}", after.split("::").next()?)),
                // Another scheme of the family, as a frame.
                ("super", Some(family)) => Some(format!("{family}/{first}")),
                _ => None,
            }
        });
        named.entry(unit).or_default().extend(used);
    }
    let schemes: Vec<BTreeSet<&str>> =
        tree.schemes().map(|(_, family, name)| reached(&named, &format!("{family}/{name}"))).collect();
    for part in named.keys().filter(|unit| !unit.contains('/') && !["lib", "plants"].contains(&unit.as_str()))
    {
        let users = schemes.iter().filter(|reached| reached.contains(part.as_str())).count();
        if users < 2 {
            let says = format!("{users} schemes use `{part}`: a part of one scheme stands in its folder");
            findings.add(&format!("{PARTS}{part}.rs"), 0, says);
        }
    }
}

/// Returns the part, `frames/FRAME` or `FAMILY/SCHEME` to which a file belongs.
fn unit(path: &str) -> Option<String> {
    if let Some(file) = path.strip_prefix(PARTS) {
        return Some(file.split('/').next()?.trim_end_matches(".rs").to_owned());
    }
    let mut folders = path.strip_prefix("crates/schemes/src/")?.split('/');
    match (folders.next(), folders.next(), folders.next()) {
        (Some("tests"), ..) => None,
        (Some(family), Some(name), Some(_)) => Some(format!("{family}/{name}")),
        _ => None,
    }
}

/// Returns all that a unit names, and all that these name in turn.
fn reached<'t>(named: &'t BTreeMap<String, BTreeSet<String>>, unit: &str) -> BTreeSet<&'t str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = named.get(unit).into_iter().flatten().map(String::as_str).collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(named.get(next).into_iter().flatten().map(String::as_str));
        }
    }
    reached
}

/// Returns the roots of a manifest's targets, explicit or found by cargo's own rules.
fn roots(tree: &Tree, folder: &str, manifest: &Table) -> Vec<String> {
    let named = |target: &Value| Some(join(folder, target.get("path")?.as_str()?));
    let mut roots: Vec<String> =
        ["src/lib.rs", "src/main.rs", "build.rs"].map(|path| join(folder, path)).into();
    roots.extend(manifest.get("lib").and_then(named));
    for kind in ["bin", "test", "bench", "example"] {
        let targets = manifest.get(kind).and_then(Value::as_array);
        roots.extend(targets.into_iter().flatten().filter_map(named));
    }
    for kind in ["src/bin", "tests", "benches", "examples"] {
        let prefix = format!("{}/", join(folder, kind));
        roots.extend(tree.sources.keys().filter(|path| is_target(path, &prefix)).cloned());
    }
    roots
}

/// Returns `true` if cargo takes `path` for a target: a file in the folder, or `main.rs` one level
/// below.
fn is_target(path: &str, prefix: &str) -> bool {
    let Some(rest) = path.strip_prefix(prefix) else { return false };
    match rest.split_once('/') {
        None => true,
        Some((_, file)) => file == "main.rs",
    }
}

/// Adds `path` and all modules below it to `reached`. `owns_folder`: the modules lie beside the
/// file, and not in a folder with its name.
fn reach(tree: &Tree, path: &str, owns_folder: bool, reached: &mut BTreeSet<String>) {
    let Some(source) = tree.sources.get(path) else { return };
    if !reached.insert(path.to_owned()) {
        return;
    }
    let folder = folder_of(path);
    let below = if owns_folder { folder } else { path.trim_end_matches(".rs") };
    for (name, paths) in modules(source) {
        reach(tree, &join(below, &format!("{name}.rs")), false, reached);
        reach(tree, &join(below, &format!("{name}/mod.rs")), true, reached);
        for path in paths {
            reach(tree, &join(folder, &path), true, reached);
        }
    }
}

/// Returns the modules that a file declares, with the paths given by `path` attributes.
fn modules(source: &Source) -> Vec<(String, Vec<String>)> {
    let attributes: BTreeMap<usize, Attribute> =
        source.attributes().into_iter().map(|attribute| (attribute.last_line, attribute)).collect();
    let mut found = Vec::new();
    for (number, line) in source.numbered() {
        let declaration = line.code.trim().strip_suffix(';').and_then(|code| code.rsplit_once("mod "));
        let Some((_, name)) =
            declaration.filter(|(before, _)| before.is_empty() || before.starts_with("pub"))
        else {
            continue;
        };
        let mut paths = Vec::new();
        let mut above = number - 1;
        while above > 0 {
            if let Some(attribute) = attributes.get(&above) {
                let path = attribute.strings.last().filter(|_| attribute.code.contains("path ="));
                paths.extend(path.cloned());
                above = attribute.line - 1;
            } else if source.lines[above - 1].code.trim().is_empty() {
                above -= 1;
            } else {
                break;
            }
        }
        found.push((name.to_owned(), paths));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found;

    #[test]
    fn a_file_that_no_target_compiles_is_caught() {
        let check = |extra: &str| {
            let files = [
                ("crates/sync/Cargo.toml", "[package]\n[[bench]]\npath = \"speed/a.rs\""),
                ("crates/sync/src/lib.rs", "mod latch;\npub(crate) mod index;\n#[cfg(test)]\nmod tests {}\n"),
                ("crates/sync/src/latch.rs", "mod inner;\n"),
                ("crates/sync/src/latch/inner.rs", ""),
                ("crates/sync/src/index/mod.rs", "mod hash;\n"),
                ("crates/sync/src/index/hash.rs", ""),
                ("crates/sync/tests/loom_latch.rs", "mod common;\n"),
                ("crates/sync/tests/common/mod.rs", ""),
                ("crates/sync/speed/a.rs", ""),
                (extra, ""),
            ];
            found(files_are_reachable, &files).len()
        };
        assert_eq!(check("crates/sync/tests/other.rs"), 0);
        for dead in ["crates/sync/src/old.rs", "crates/sync/src/inner.rs", "crates/sync/speed/b.rs", "old.rs"]
        {
            assert_eq!(check(dead), 1, "{dead}");
        }
    }

    #[test]
    fn a_path_attribute_leads_to_its_file() {
        let files = [
            ("crates/twins/sync/Cargo.toml", "[package]\n[lib]\npath = \"../../sync/src/sim.rs\""),
            (
                "crates/sync/src/sim.rs",
                "#[cfg_attr(loom, path = \"loomed.rs\")]\n// Else the machine's own.\n#[path = \"real.rs\"]\n\
                 mod backend;\n",
            ),
            ("crates/sync/src/loomed.rs", ""),
            ("crates/sync/src/real.rs", ""),
        ];
        assert!(found(files_are_reachable, &files).is_empty());
    }

    #[test]
    fn a_scheme_without_an_entry_or_without_tests_is_caught() {
        let scheme = ("crates/schemes/src/optimistic/silo/mod.rs", "");
        let entry = ("crates/schemes/src/optimistic/silo/entry.rs", "");
        let tests = ("crates/schemes/src/optimistic/silo/tests.rs", "crate::tests::conformance!(ENTRY);\n");
        assert_eq!(found(schemes_are_tested, &[scheme, entry, tests]).len(), 0);
        assert_eq!(found(schemes_are_tested, &[scheme, tests]).len(), 1);
        assert_eq!(found(schemes_are_tested, &[scheme, entry, (tests.0, "")]).len(), 1);
    }

    #[test]
    fn a_part_of_one_scheme_is_caught() {
        let root = ("crates/parts/src/lib.rs", "mod a;\npub mod b;\npub use a::{First, Second};\n");
        let a = ("crates/parts/src/a.rs", "use super::b::Other;\n");
        let b = ("crates/parts/src/b.rs", "");
        let frame = ("crates/schemes/src/frames/two_phase/mod.rs", "use parts::First;\n");
        let one = ("crates/schemes/src/locking/no_wait/mod.rs", "use crate::frames::two_phase::TwoPhase;\n");
        let other = |code| ("crates/schemes/src/optimistic/silo/mod.rs", code);
        let check = |code| found(parts_have_two_users, &[root, a, b, frame, one, other(code)]).len();
        assert_eq!(check("use parts::Second;\n"), 0, "and `b` by way of `a`");
        assert_eq!(check("use parts::b::Other;\n"), 1, "`a`");
        assert_eq!(check(""), 2);
    }

    #[test]
    fn a_scheme_outside_the_catalogue_is_caught() {
        let scheme = ("crates/schemes/src/optimistic/silo/mod.rs", "");
        let check = |catalogue| found(schemes_are_catalogued, &[scheme, (CATALOGUE, catalogue)]).len();
        assert_eq!(check("catalogue! { optimistic::silo::Silo }"), 0);
        assert_eq!(check("// optimistic::silo::Silo"), 1);
        assert_eq!(found(schemes_are_catalogued, &[scheme]).len(), 1);
    }
}
