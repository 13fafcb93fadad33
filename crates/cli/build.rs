//! Tells the command the commit from which it is built, if that is known: a schedule has the same meaning only in the
//! same sources.

use std::path::Path;
use std::process::Command;

/// The sources from which the command is built.
const SOURCES: &[&str] = &["..", "../../Cargo.toml", "../../Cargo.lock"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The sources may lie in the repository of another project, whose commits do not identify them.
    if git(&["rev-parse", "--show-prefix"]).as_deref() != Some("crates/cli/") {
        return;
    }
    // Git writes the log with each commit and each change of branch; not every repository has the log.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    for path in SOURCES {
        println!("cargo::rerun-if-changed={path}");
    }
    let changed = git(&[&["status", "--porcelain", "--"], SOURCES].concat());
    // The last commit that changed the sources: commits that change other files make no other command.
    let commit = git(&[&["rev-list", "-1", "--abbrev-commit", "HEAD", "--"], SOURCES].concat());
    if let (Some(commit), Some(changed)) = (commit, changed) {
        let and = if changed.is_empty() { "" } else { " and changes since" };
        println!("cargo::rustc-env=CONTEND_COMMIT={commit}{and}");
        println!("cargo::rustc-env=CONTEND_IS_CHANGED={}", !changed.is_empty());
    }
}

/// Returns the output of git; `None` if git is not there or fails.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
