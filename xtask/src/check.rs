//! The checks that must pass before anything runs: format, lints, the rules of the house,
//! documentation, licences.

use serde_json::Value;

use crate::house::{Checked, House, Step, added_flags, run, run_all};
use crate::tidy;

/// The steps, fastest first.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "format", run: format },
    Step { name: "tidy", run: tidy::run },
    Step { name: "licences", run: licences },
    Step { name: "lints", run: lints },
    Step { name: "documentation", run: documentation },
];

/// Licences that require no more than a notice, as users of MIT or Apache-2.0 expect.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
    "MIT-0",
];

/// Runs all steps.
pub(crate) fn check(house: &House) -> Checked {
    run_all(house, STEPS)
}

fn format(house: &House) -> Checked {
    component(house, "fmt", "rustfmt")?;
    run(&mut house.cargo(&["fmt", "--all", "--", "--check"]))
        .map_err(|e| format!("{e}; `cargo fmt --all` mends it"))
}

fn lints(house: &House) -> Checked {
    component(house, "clippy", "clippy")?;
    run(&mut house.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn documentation(house: &House) -> Checked {
    let flags = added_flags("RUSTDOCFLAGS", "-D warnings");
    run(house.cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", flags))
}

/// Checks that a component of the toolchain (lints or format) is installed.
fn component(house: &House, subcommand: &str, component: &str) -> Checked {
    let asked = house.cargo(&[subcommand, "--version"]).output();
    match asked {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(format!("`cargo {subcommand}` is not there: run `rustup component add {component}`")),
    }
}

/// Checks that every package that a build can use may be distributed under the project's own terms.
fn licences(house: &House) -> Checked {
    let metadata = house.metadata(&[])?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let refused: Vec<String> = packages.iter().filter_map(refused).collect();
    println!("{} packages", packages.len());
    if refused.is_empty() {
        return Ok(());
    }
    Err(format!(
        "not under a licence of xtask/src/check.rs: {}; drop it, or decide there",
        refused.join(", ")
    ))
}

fn refused(package: &Value) -> Option<String> {
    let licence = package["license"].as_str().unwrap_or("none");
    (!is_allowed(licence)).then(|| format!("{} ({licence})", package["name"].as_str().unwrap_or("unnamed")))
}

/// Returns `true` if one of the alternatives requires only allowed licences. Old manifests write `/`
/// for `OR`; parentheses group alternatives inside an `AND`.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.trim();
    let mut depth = 0;
    let mut parts = vec![(String::new(), "")];
    for word in expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").split_whitespace() {
        depth += i32::from(word == "(") - i32::from(word == ")");
        let operator = ["OR", "AND"].into_iter().find(|operator| *operator == word && depth == 0);
        if let Some(operator) = operator {
            parts.push((String::new(), operator));
        } else if let Some((part, _)) = parts.last_mut() {
            part.push_str(if part.is_empty() { "" } else { " " });
            part.push_str(word);
        }
    }
    // AND binds tighter than OR: the alternatives are the runs of parts between two ORs.
    let part_allowed = |part: &str| match part.strip_prefix("( ").and_then(|part| part.strip_suffix(" )")) {
        Some(group) => is_allowed(group),
        None => LICENCES.contains(&part),
    };
    parts
        .chunk_by(|_, (_, operator)| *operator != "OR")
        .any(|all| all.iter().all(|(part, _)| part_allowed(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allowed_alternative_is_enough() {
        for licence in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
            "GPL-2.0 OR MIT AND ISC",
        ] {
            assert!(is_allowed(licence), "{licence}");
        }
    }

    #[test]
    fn every_part_of_a_conjunction_counts() {
        for licence in
            ["none", "", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "MIT AND (GPL-3.0)"]
        {
            assert!(!is_allowed(licence), "{licence}");
        }
    }
}
