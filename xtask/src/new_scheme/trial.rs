//! A trial of all templates, in a clone: the schemes that they make compile, obey the rules of the house, and are
//! refused by the proof. It takes as long as a build, so it is a step of `cargo xtask nightly`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{FAMILIES, Like, Unmade, make};
use crate::bench::{Build, binary};
use crate::house::{Checked, House, run};
use crate::tidy;

/// Makes a scheme of each template in a clone of the last commit, and checks it there.
pub(crate) fn try_all(house: &House) -> Checked {
    let (_, target) = house.members()?;
    let root = target.join("new-scheme");
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|error| format!("cannot remove {}: {error}", root.display()))?;
    }
    run(Command::new("git").args(["clone", "--quiet", "--shared"]).arg(&house.root).arg(&root))?;
    let made: Vec<String> = FAMILIES
        .iter()
        .filter(|family| matches!(family.like, Like::Template(_)))
        .map(|family| {
            let name = format!("new_{}", family.folder);
            match make(&root, &name, family.folder) {
                Ok(()) => Ok(name),
                Err(Unmade::Refused(says) | Unmade::Failed(says)) => Err(format!("{name}: {says}")),
            }
        })
        .collect::<Result<_, String>>()?;
    let clone = House::copy_at(root);
    tidy::run(&clone)?;
    run(&mut clone.cargo(&["fmt", "--all", "--check"]))?;
    run(&mut clone.cargo(&["clippy", "--package", "contend-schemes", "--", "--deny", "warnings"]))?;
    let contend = binary(&clone, Build::Tested)?;
    made.iter().try_for_each(|name| {
        run(Command::new(&contend).args([
            "run",
            "ycsb",
            "--scheme",
            name,
            "--workers",
            "1",
            "--seconds",
            "0.1",
        ]))?;
        let says = refused(&contend, name)?;
        println!("{name:<18} {says}");
        Ok(())
    })
}

/// Returns the violation by which a scheme is refused.
fn refused(contend: &Path, name: &str) -> Result<String, String> {
    let checked = Command::new(contend).args(["check", name, "--format", "json", "--seconds", "60"]).output();
    let checked = checked.map_err(|error| format!("cannot run {}: {error}", contend.display()))?;
    let line = String::from_utf8_lossy(&checked.stdout);
    let seen: Value =
        serde_json::from_str(line.trim()).map_err(|error| format!("no JSON ({error}): {line}"))?;
    let what = seen["violations"][0]["what"].as_str();
    let what =
        what.ok_or_else(|| format!("{name} protects nothing, and `contend check` did not refuse it"))?;
    Ok(what.lines().next().unwrap_or_default().to_owned())
}
