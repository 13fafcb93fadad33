//! Files that no target compiles: each Rust file must be the root of a target or a module below one,
//! and each scheme must be in the catalogue.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

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
    fn a_scheme_outside_the_catalogue_is_caught() {
        let scheme = ("crates/schemes/src/optimistic/silo.rs", "");
        let check = |catalogue| found(schemes_are_catalogued, &[scheme, (CATALOGUE, catalogue)]).len();
        assert_eq!(check("catalogue! { optimistic::silo::Silo }"), 0);
        assert_eq!(check("// optimistic::silo::Silo"), 1);
        assert_eq!(found(schemes_are_catalogued, &[scheme]).len(), 1);
    }
}
