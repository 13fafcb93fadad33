//! The permitted dependencies between crates, checked over all manifests.

use toml::{Table, Value};

use super::{Findings, Tree, crate_of, folder_of, join};

/// Each crate of the house, with all crates on which it may depend.
const ARROWS: &[(&str, &str)] = &[
    ("stdx", ""),
    ("stats", "stdx"),
    ("plot", ""),
    ("orders", "stdx"),
    ("results", "stats"),
    ("sync", "stdx"),
    ("storage", "stdx sync"),
    ("engine", "stdx sync storage orders"),
    ("parts", "stdx sync storage engine"),
    ("schemes", "stdx sync storage engine parts orders"),
    ("workloads", "stdx sync engine"),
    ("checker", "stdx"),
    ("proof", "stdx sync storage engine"),
    ("durability", "stdx sync storage engine"),
    ("sim", "stdx sync"),
    ("runs", "stdx sync storage engine workloads checker durability sim"),
    ("trials", "stdx sync storage engine workloads checker proof sim"),
    ("simulations", "storage sync engine workloads sim runs"),
    ("stepped_instances", "engine schemes simulations trials"),
    ("instances", "engine schemes runs simulations trials stepped_instances"),
    (
        "lab",
        "stdx stats plot orders results sync engine workloads checker durability sim runs simulations trials",
    ),
    (
        "cli",
        "stdx results sync engine workloads checker durability sim runs simulations trials instances lab",
    ),
    ("contend_derive", ""),
    ("contend", "stdx sync storage engine schemes durability contend_derive"),
    // Of the engine, `peers` uses the generation of a workload's requests. It measures the library.
    ("peers", "stdx engine workloads contend"),
    (
        "tests",
        "stdx stats plot results sync storage engine schemes workloads checker proof durability sim runs trials \
         instances lab cli contend orders",
    ),
    // A scheme outside of the workspace, and the command with it.
    ("examples", "stdx sync storage engine parts schemes cli"),
    // The code of the targets is in a library of the tests, which replay the targets' inputs.
    ("fuzz", "tests"),
    ("xtask", ""),
];

/// Further crates on which only the tests of a crate may depend.
const ARROWS_OF_TESTS: &[(&str, &str)] = &[
    // A workload is tested over a small store of its own, which keeps rows in the layout of
    // `storage`.
    ("workloads", "storage"),
    // Tools that explore schemes are tested on all of them, and schemes play the scripts.
    ("proof", "schemes"),
    ("schemes", "proof"),
    // The laboratory and the trials are tested with all schemes. No other part of them names a list of schemes.
    ("trials", "schemes instances"),
    ("simulations", "schemes stdx"),
    ("lab", "instances"),
    // The benchmark of orders reads a clock.
    ("orders", "sync"),
    // The cost of the log is measured under a scheme, with the mix of a workload.
    ("durability", "schemes workloads"),
];

/// Crates that may depend on the twins (`NAME_sim`) of their dependencies. A twin may depend on the
/// twins of its real crate's permitted dependencies, and an example on its own twin. All other
/// crates, above all the library `contend`, may depend on no twin.
const USERS_OF_TWINS: &[&str] = &["sim", "simulations", "trials", "stepped_instances", "tests", "examples"];

/// Crates that are their own twins: they touch neither atomics nor time.
const WITHOUT_TWIN: &[&str] = &["stdx", "orders"];

/// Reports a crate that depends on a crate which the table does not permit.
pub(super) fn arrows_point_down(tree: &Tree, findings: &mut Findings) {
    let shared = tree.manifests.get("Cargo.toml").and_then(|root| root.get("workspace")?.get("dependencies"));
    for (path, manifest) in members(tree) {
        let name = crate_of(path);
        if row(ARROWS, name.trim_end_matches("_sim")).is_none() {
            let says =
                "has no place in the house: give it a line in xtask/src/tidy/arrows.rs and its reason in";
            findings.add(path, 0, format!("`{name}` {says} docs/decisions"));
            continue;
        }
        for (kind, key, value) in dependencies(manifest) {
            let Some(below) = own_crate(key, value, folder_of(path), shared) else { continue };
            let allowed = allowed(&name, kind);
            if !allowed.contains(&below) {
                findings.add(path, 0, forbidden(&name, &below, &allowed));
            }
        }
    }
}

/// Reports a twin that is not made of the real crate's sources under another name, over the twins of
/// its dependencies.
pub(super) fn twins_build_the_real_sources(tree: &Tree, findings: &mut Findings) {
    for (path, manifest) in members(tree) {
        let folder = folder_of(path);
        let Some(real) = folder.strip_prefix("crates/twins/") else { continue };
        let mut want = |line: String, why: &str| findings.add(path, 0, format!("write `{line}`: {why}"));
        let lib = manifest.get("lib").and_then(Value::as_table).cloned().unwrap_or_default();
        let says = |key: &str| lib.get(key).and_then(Value::as_str).unwrap_or_default();
        let root = if real == "sync" { "sim.rs" } else { "lib.rs" };
        if join(folder, says("path")) != format!("crates/{real}/src/{root}") {
            want(format!("lib.path = \"../../{real}/src/{root}\""), "a twin has no sources of its own");
        }
        if says("name") != format!("{real}_sim") {
            want(format!("lib.name = \"{real}_sim\""), "both builds meet in one binary");
        }
        for key in ["test", "doctest", "doc"] {
            if lib.get(key).and_then(Value::as_bool) != Some(false) {
                want(format!("lib.{key} = false"), "the real crate does it already");
            }
        }
        for (_, key, value) in dependencies(manifest) {
            let below = own_crate(key, value, folder, None).unwrap_or_default();
            if let Some(name) = below.strip_suffix("_sim").filter(|name| name != key) {
                want(format!("{name} = {{ .. }}"), "the sources name their dependency so");
            }
        }
    }
}

/// Reports a member that does not inherit the lints of the workspace: no lint would check it.
pub(super) fn lints_are_inherited(tree: &Tree, findings: &mut Findings) {
    for (path, manifest) in members(tree) {
        let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace")?.as_bool());
        if inherits != Some(true) {
            findings.add(path, 0, "write `[lints] workspace = true`: lints are the workspace's");
        }
    }
}

fn members(tree: &Tree) -> impl Iterator<Item = (&String, &Table)> {
    tree.manifests.iter().filter(|(path, manifest)| *path != "Cargo.toml" && manifest.contains_key("package"))
}

fn row(table: &'static [(&str, &str)], name: &str) -> Option<Vec<&'static str>> {
    table.iter().find(|(of, _)| *of == name).map(|(_, may)| may.split_whitespace().collect())
}

/// Returns the crates on which `name` may depend in a section of its manifest.
fn allowed(name: &str, kind: &str) -> Vec<String> {
    let twin = |may: &str| if WITHOUT_TWIN.contains(&may) { may.to_owned() } else { format!("{may}_sim") };
    let real = name.trim_end_matches("_sim");
    let mut may = row(ARROWS, real).unwrap_or_default();
    if kind == "dev-dependencies" {
        may.extend(row(ARROWS_OF_TESTS, real).unwrap_or_default());
    }
    let mut allowed = Vec::new();
    if real == name {
        allowed.extend(may.iter().copied().map(str::to_owned));
    }
    if real != name || USERS_OF_TWINS.contains(&name) {
        allowed.extend(may.iter().copied().map(twin));
        allowed.extend((name == "examples").then(|| twin(name)));
    }
    allowed
}

fn forbidden(name: &str, below: &str, allowed: &[String]) -> String {
    let allowed = if allowed.is_empty() { "nothing of the house".to_owned() } else { allowed.join(", ") };
    format!(
        "`{name}` may not depend on `{below}`, only on {allowed}: move what both need down, or take it as a \
         trait; a new arrow needs a page in docs/decisions and a change in xtask/src/tidy/arrows.rs"
    )
}

/// Returns all dependencies of a manifest, platform-specific ones included, with their sections.
fn dependencies(manifest: &Table) -> Vec<(&'static str, &String, &Value)> {
    const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    std::iter::once(manifest)
        .chain(platforms.filter_map(Value::as_table))
        .flat_map(|table| KINDS.iter().filter_map(|kind| Some((*kind, table.get(*kind)?.as_table()?))))
        .flat_map(|(kind, table)| table.iter().map(move |(key, value)| (kind, key, value)))
        .collect()
}

/// Returns the crate of the house that a dependency names, or `None` for a dependency from a
/// registry.
fn own_crate(key: &str, value: &Value, folder: &str, shared: Option<&Value>) -> Option<String> {
    let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
    let (value, folder) = if inherited { (shared?.get(key)?, "") } else { (value, folder) };
    Some(crate_of(&join(folder, value.get("path")?.as_str()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found;

    const ROOT: (&str, &str) = (
        "Cargo.toml",
        "[workspace.dependencies]\nsync = { package = \"contend-sync\", path = \"crates/sync\" }\n\
         engine = { path = \"crates/engine\" }",
    );

    fn check(path: &str, dependencies: &str) -> Vec<String> {
        found(arrows_point_down, &[ROOT, (path, &format!("[package]\n{dependencies}"))])
    }

    #[test]
    fn an_arrow_down_passes() {
        assert!(
            check("crates/storage/Cargo.toml", "[dependencies]\nsync.workspace = true\nlibc = \"1\"")
                .is_empty()
        );
    }

    #[test]
    fn an_arrow_up_is_caught_wherever_it_hides() {
        for section in
            ["dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(loom)'.dependencies"]
        {
            let text = format!("[{section}]\nengine.workspace = true");
            assert_eq!(check("crates/storage/Cargo.toml", &text).len(), 1, "{section}");
        }
        assert_eq!(check("crates/sync/Cargo.toml", "[dependencies]\ne = { path = \"../engine\" }").len(), 1);
    }

    #[test]
    fn a_twin_stands_on_twins() {
        let engine = "crates/twins/engine/Cargo.toml";
        assert!(
            check(engine, "[dependencies]\nsync = { path = \"../sync\" }\nstdx = { path = \"../../stdx\" }")
                .is_empty()
        );
        assert_eq!(check(engine, "[dependencies]\nsync.workspace = true").len(), 1);
        assert_eq!(
            check("crates/contend/Cargo.toml", "[dependencies]\nsync = { path = \"../twins/sync\" }").len(),
            1
        );
    }

    #[test]
    fn an_unknown_crate_is_caught() {
        assert_eq!(check("crates/utils/Cargo.toml", "").len(), 1);
    }

    #[test]
    fn a_user_of_twins_may_stand_on_both_builds() {
        let both = "[dependencies]\nsync.workspace = true\nsync_sim = { path = \"../twins/sync\" }";
        assert!(check("crates/sim/Cargo.toml", both).is_empty());
        assert_eq!(
            check("crates/sim/Cargo.toml", "[dependencies]\ne = { path = \"../twins/engine\" }").len(),
            1
        );
    }

    #[test]
    fn a_scheme_outside_has_a_twin_of_its_own() {
        let (real, twin) = ("examples/waits/Cargo.toml", "examples/waits/twin/Cargo.toml");
        let own = "[dependencies]\nwaits_sim = { path = \"twin\" }\nengine.workspace = true";
        assert!(check(real, own).is_empty());
        assert!(check(twin, "[dependencies]\nsync = { path = \"../../../crates/twins/sync\" }").is_empty());
        assert_eq!(check(twin, "[dependencies]\nengine.workspace = true").len(), 1, "it stands on twins");
        assert_eq!(check(real, "[dependencies]\nlab = { path = \"../../crates/lab\" }").len(), 1);
    }

    #[test]
    fn an_arrow_of_tests_holds_for_tests_only() {
        let storage = "storage = { path = \"../storage\" }";
        assert!(check("crates/workloads/Cargo.toml", &format!("[dev-dependencies]\n{storage}")).is_empty());
        assert_eq!(check("crates/workloads/Cargo.toml", &format!("[dependencies]\n{storage}")).len(), 1);
    }

    #[test]
    fn the_tables_have_no_circle() {
        let place =
            |name: &str| ARROWS.iter().position(|(of, _)| *of == name).expect("the table is complete");
        for (name, may) in ARROWS {
            for below in may.split_whitespace() {
                assert!(place(below) < place(name), "{name} on {below}");
            }
        }
        // The tests of a crate are built after the crate, and may use what is built on it.
        for (name, may) in ARROWS_OF_TESTS {
            assert!(may.split_whitespace().all(|other| place(other) != place(name)), "{name}");
        }
    }

    #[test]
    fn a_twin_with_other_sources_is_caught() {
        let good = "[package]\n[lib]\nname = \"sync_sim\"\npath = \"../../sync/src/sim.rs\"\ntest = false\n\
                    doctest = false\ndoc = false\n";
        let path = "crates/twins/sync/Cargo.toml";
        let check = |text: &str| found(twins_build_the_real_sources, &[(path, text)]).len();
        assert_eq!(check(good), 0);
        assert_eq!(check(&good.replace("sim.rs", "lib.rs")), 1);
        assert_eq!(check(&good.replace("sync_sim", "sync")), 1);
        assert_eq!(check(&good.replace("doc = false\n", "")), 1);
        assert_eq!(check(&format!("{good}[dependencies]\nother = {{ path = \"../storage\" }}")), 1);
    }

    #[test]
    fn lints_of_its_own_are_caught() {
        let check = |text: &str| found(lints_are_inherited, &[("crates/sync/Cargo.toml", text)]).len();
        assert_eq!(check("[package]\n[lints]\nworkspace = true"), 0);
        assert_eq!(check("[package]\n[lints.clippy]\npedantic = \"warn\""), 1);
    }
}
