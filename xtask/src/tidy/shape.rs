//! The shape of a file: its length, width and characters, and its lifted lints.

use super::source::has_word;
use super::{Findings, Tree, crate_of};

/// The maximum number of lines of code of a file, without blank lines, comments and unit tests.
const CODE_LINES_MAX: usize = 800;

/// The maximum number of lines of code of the main file of a scheme or of a frame, which is read in one sitting: 400,
/// and the names of the files beside it.
const SCHEME_CODE_LINES_MAX: usize = 410;

/// The maximum number of characters of a line. The formatter breaks code earlier; the limit is for
/// comments and strings.
const COLUMNS_MAX: usize = 120;

/// Reports a file with too many lines.
pub(super) fn files_are_short(tree: &Tree, findings: &mut Findings) {
    for (path, source) in &tree.sources {
        let is_scheme = path.starts_with("crates/schemes/src/") && path.ends_with("/mod.rs");
        let max = if is_scheme { SCHEME_CODE_LINES_MAX } else { CODE_LINES_MAX };
        let lines = source.above_tests().filter(|(_, line)| !line.code.trim().is_empty()).count();
        if lines > max {
            let instead = match (is_scheme, crate_of(path).as_str()) {
                (true, _) => "move what a second scheme needs to `parts`, and the rest to files beside it",
                (_, "workloads") => "give each procedure a file",
                _ => "split it where the names do",
            };
            findings.add(path, 0, format!("{lines} lines of code, {max} are allowed: {instead}"));
        }
    }
}

/// Reports a line that is too wide or not plain ASCII.
pub(super) fn lines_fit_and_are_ascii(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.texts.iter().filter(|(path, _)| tree.sources.contains_key(*path)) {
        for (index, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX {
                findings.add(
                    path,
                    index + 1,
                    format!("{columns} columns, {COLUMNS_MAX} are allowed: break the line"),
                );
            }
            if let Some(c) = line.chars().find(|c| !c.is_ascii()) {
                findings.add(
                    path,
                    index + 1,
                    format!("`{}`: write ASCII, or the escape in a string", c.escape_unicode()),
                );
            }
        }
    }
}

/// Reports a lint that is lifted without a reason beside it.
pub(super) fn lints_are_lifted_with_reasons(tree: &Tree, findings: &mut Findings) {
    for (path, source) in &tree.sources {
        for attribute in source.attributes() {
            let lifts = ["allow", "expect"]
                .iter()
                .any(|lift| has_word(&attribute.code, lift) && attribute.code.contains(&format!("{lift}(")));
            if lifts && !has_word(&attribute.code, "reason") {
                findings.add(path, attribute.line, "say why: `reason = \"..\"` as the last argument");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found;

    #[test]
    fn a_long_file_is_caught_without_its_comments_and_tests() {
        let check = |path: &str, text: &str| found(files_are_short, &[(path, text)]).len();
        let (scheme, other) = ("crates/schemes/src/optimistic/silo/mod.rs", "crates/engine/src/lib.rs");
        for scheme in [scheme, "crates/schemes/src/frames/two_phase/mod.rs"] {
            assert_eq!(check(scheme, &"a();\n".repeat(410)), 0);
            assert_eq!(check(scheme, &"a();\n".repeat(411)), 1);
        }
        for other in [other, "crates/schemes/src/optimistic/silo/epochs.rs"] {
            assert_eq!(check(other, &"a();\n".repeat(800)), 0);
            assert_eq!(check(other, &"a();\n".repeat(801)), 1);
        }
        let padded = format!(
            "{}#[cfg(test)]\nmod tests {{\n{}}}\n",
            "a();\n\n// b\n".repeat(400),
            "a();\n".repeat(900)
        );
        assert_eq!(check(scheme, &padded), 0);
    }

    #[test]
    fn a_wide_line_is_caught() {
        let check = |columns| found(lines_fit_and_are_ascii, &[("a.rs", &"a".repeat(columns))]).len();
        assert_eq!((check(120), check(121)), (0, 1));
    }

    #[test]
    fn another_alphabet_is_caught() {
        let check = |text| found(lines_fit_and_are_ascii, &[("a.rs", text)]).len();
        assert_eq!((check("// 85% or more"), check("// 85% \u{2026}")), (0, 1));
    }

    #[test]
    fn a_lint_lifted_without_a_reason_is_caught() {
        let check = |text| found(lints_are_lifted_with_reasons, &[("a.rs", text)]).len();
        assert_eq!(check("#[allow(dead_code)]\nfn f() {}\n"), 1);
        assert_eq!(check("#![cfg_attr(loom, expect(\n    dead_code\n))]\n"), 1);
        assert_eq!(check("#[allow(\n    dead_code,\n    reason = \"so\"\n)]\nfn f() {}\n"), 0);
        assert_eq!(check("#[must_use]\nfn f() { x.expect(\"so\"); }\n"), 0);
    }
}
