//! Schemes outside of the workspace: each package under `examples/` adds one to the command, as a package in another
//! repository does.
//!
//! Cargo builds the crates of this workspace once more for another workspace. So CI only checks these packages, and
//! tests the sources of the first as a member of this workspace (`tests/outside`). The nightly run builds them whole.

use std::fs;
use std::path::PathBuf;

use crate::house::{Checked, House, run};

/// Checks the manifests and the lints of all packages under `examples/`.
pub(crate) fn check(house: &House) -> Checked {
    build(house, &["clippy", "--all-targets"], &["--", "-D", "warnings"])
}

/// Builds all packages under `examples/`, and runs their tests.
pub(crate) fn test(house: &House) -> Checked {
    build(house, &["test"], &[])
}

fn build(house: &House, command: &[&str], more: &[&str]) -> Checked {
    // What both workspaces take from registries is built once, in one target directory.
    let target = house.members()?.1;
    for manifest in manifests(house)? {
        let mut cargo = house.cargo(command);
        cargo.args(["--workspace", "--locked", "--manifest-path"]).arg(manifest);
        run(cargo.arg("--target-dir").arg(&target).args(more))?;
    }
    Ok(())
}

/// Returns the manifests of the packages under `examples/`.
fn manifests(house: &House) -> Result<Vec<PathBuf>, String> {
    let folder = house.root.join("examples");
    let cannot = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    let all = fs::read_dir(&folder).map_err(cannot)?.map(|entry| Ok(entry?.path().join("Cargo.toml")));
    let mut all = all.collect::<Result<Vec<PathBuf>, _>>().map_err(cannot)?;
    all.retain(|manifest| manifest.is_file());
    all.sort();
    if all.is_empty() { Err(format!("{} has no package", folder.display())) } else { Ok(all) }
}
