//! The loom models: every interleaving of a kernel's few threads, under the real memory model. They
//! need a separate build, in which `sync` uses loom's atomics.

use std::fs;
use std::path::Path;

use crate::house::{Checked, House, added_flags, run};

/// Runs the models of every crate that has models, except those that take long.
pub(crate) fn loom(house: &House) -> Checked {
    run_models(house, &[])
}

/// Runs all models of every crate.
pub(crate) fn loom_at_length(house: &House) -> Checked {
    run_models(house, &["--", "--include-ignored"])
}

/// Builds and runs the models of all crates together, so that nothing is built once for each crate.
fn run_models(house: &House, more: &[&str]) -> Checked {
    let (members, target) = house.members()?;
    let mut cargo = house.cargo(&["test", "--release"]);
    let mut found = false;
    for member in &members {
        let models = models(&member.folder)?;
        if !models.is_empty() {
            found = true;
            cargo.args(["--package", &member.name]);
            cargo.args(models.iter().flat_map(|model| ["--test", model]));
        }
    }
    if !found {
        let fix = "write crates/NAME/tests/loom_KERNEL.rs under `#![cfg(loom)]`";
        return Err(format!("no crate has models: {fix}"));
    }
    cargo.args(more).env("RUSTFLAGS", added_flags("RUSTFLAGS", "--cfg loom"));
    run(cargo.env("CARGO_TARGET_DIR", target.join("loom")))
}

/// Returns the names of a package's model files.
fn models(package: &Path) -> Result<Vec<String>, String> {
    let folder = package.join("tests");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let cannot = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").filter(|name| name.starts_with("loom_")).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}
