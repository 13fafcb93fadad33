//! Tells the command which commit it is built from, where that is known: a schedule means the same again only in the
//! same sources.

use std::path::Path;
use std::process::Command;

/// What the command is built from.
const SOURCES: &[&str] = &["..", "../../Cargo.toml", "../../Cargo.lock"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The sources may lie in a repository that is not theirs: then its commits say nothing of them.
    if git(&["rev-parse", "--show-prefix"]).as_deref() != Some("crates/cli/") {
        return;
    }
    // The log is written with each commit and each change of branch; it is not there in every repository.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    for path in SOURCES {
        println!("cargo::rerun-if-changed={path}");
    }
    let changed = git(&[&["status", "--porcelain", "--"], SOURCES].concat());
    // The last one that changed the sources: what others change makes no other command.
    let commit = git(&[&["rev-list", "-1", "--abbrev-commit", "HEAD", "--"], SOURCES].concat());
    if let (Some(commit), Some(changed)) = (commit, changed) {
        let and = if changed.is_empty() { "" } else { " and changes since" };
        println!("cargo::rustc-env=CONTEND_COMMIT={commit}{and}");
        println!("cargo::rustc-env=CONTEND_IS_CHANGED={}", !changed.is_empty());
    }
}

/// What git prints, if it is there and has an answer.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
