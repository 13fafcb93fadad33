//! The loom models: every interleaving of a kernel's few threads, under the real memory model. They
//! need a separate build, in which `sync` uses loom's atomics.

use std::fs;
use std::path::Path;

use crate::house::{Checked, House, Member, added_flags, run};

/// Runs the models of every crate that has models.
pub(crate) fn loom(house: &House) -> Checked {
    let (members, target) = house.members()?;
    let mut found = false;
    for member in &members {
        let models = models(&member.folder)?;
        if models.is_empty() {
            continue;
        }
        found = true;
        run_models(house, member, &models, &target.join("loom"))?;
    }
    if found {
        return Ok(());
    }
    Err("no crate has models: write crates/NAME/tests/loom_KERNEL.rs under `#![cfg(loom)]`".to_owned())
}

fn run_models(house: &House, member: &Member, models: &[String], target: &Path) -> Checked {
    let mut cargo = house.cargo(&["test", "--release", "--package", &member.name]);
    for model in models {
        cargo.args(["--test", model]);
    }
    run(cargo.env("RUSTFLAGS", added_flags("RUSTFLAGS", "--cfg loom")).env("CARGO_TARGET_DIR", target))
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
