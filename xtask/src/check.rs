//! The checks that must pass before anything runs: format, lints, the rules of the house,
//! documentation, licences.

use serde_json::Value;
use spdx::{Expression, LicenseReq, Licensee, ParseMode};

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

/// The form of licence expressions. Manifests may write `/` for `OR`, and names that SPDX has replaced; names that SPDX
/// never had are refused.
const MODE: ParseMode = ParseMode { allow_imprecise_license_names: false, ..ParseMode::LAX };

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

/// Returns `true` if one of the alternatives requires only allowed licences.
fn is_allowed(expression: &str) -> bool {
    let is_listed = |asked: &LicenseReq| allowed().any(|licence| licence.satisfies(asked));
    Expression::parse_mode(expression, MODE).is_ok_and(|whole| whole.evaluate(is_listed))
}

/// Returns the allowed licences as the parser of expressions knows them.
fn allowed() -> impl Iterator<Item = Licensee> {
    LICENCES.iter().map(|name| Licensee::parse(name).expect("the list has names of SPDX"))
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
            "((GPL-2.0+ OR Zlib) AND 0BSD)",
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

    #[test]
    fn no_part_of_an_expression_is_skipped() {
        for licence in
            ["MIT OR", "MIT (Apache-2.0", "MIT WITH GCC-exception-2.0", "MIT OR the-authors-own", "Apache"]
        {
            assert!(!is_allowed(licence), "{licence}");
        }
    }
}
