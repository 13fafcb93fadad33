//! Required and forbidden comments: headers, headings, reasons of orderings, and remarks that become
//! outdated.

use super::source::{Line, Source, has_word};
use super::{Findings, Tree};

/// The paragraphs of a scheme's header, in their order.
const HEADINGS: [&str; 5] = ["IDEA", "RECORD", "COMMIT", "INVARIANTS", "DEPARTURES"];

/// The maximum distance from an ordering to its reason, in lines: one comment may cover several accesses
/// of a step.
const REASON_LINES_MAX: usize = 12;

/// Reports a file that does not open with its subject and purpose.
pub(super) fn files_say_what_they_are(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.texts.iter().filter(|(path, _)| tree.sources.contains_key(*path)) {
        if !text.starts_with("//! ") {
            findings.add(path, 1, "open with `//!`: what this file is, and why it exists");
        }
    }
}

/// Reports a doc comment whose first sentence is a riddle: it opens with `What`, and does not name its subject.
pub(super) fn doc_comments_name_their_subject(tree: &Tree, findings: &mut Findings) {
    let texts = tree.texts.iter().filter(|(path, _)| tree.sources.contains_key(*path));
    for (path, text) in texts {
        let mut is_inside = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let prose = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let is_first = !core::mem::replace(&mut is_inside, prose.is_some());
            if is_first && prose.is_some_and(|prose| prose.trim_start().starts_with("What ")) {
                let says = "open with a noun phrase or a verb in the third person, not with `What`: \
                            `Statistics of arrivals`, `Returns the first key`";
                findings.add(path, number + 1, says);
            }
        }
    }
}

/// Reports a scheme whose header does not have the five paragraphs, in order.
pub(super) fn schemes_have_their_five_headings(tree: &Tree, findings: &mut Findings) {
    for (path, _, _) in tree.schemes() {
        let header = tree.texts[path].lines().map_while(|line| line.strip_prefix("//!"));
        let first_words = header.filter_map(|line| line.split_whitespace().next());
        let headings: Vec<&str> = first_words.filter(|word| HEADINGS.contains(word)).collect();
        if headings != HEADINGS {
            let says = format!(
                "the header needs the paragraphs {} once each and in this order",
                HEADINGS.join(", ")
            );
            findings.add(path, 1, says);
        }
    }
}

/// Reports a comment that promises work, or that mentions tickets, conversations or one person's
/// machine.
pub(super) fn comments_outlive_their_day(tree: &Tree, findings: &mut Findings) {
    for (path, source) in &tree.sources {
        for (number, line) in source.numbered() {
            if let Some(word) = MARKS.iter().find(|word| has_word(&line.comment, word)) {
                findings.add(path, number, format!("`{word}`: do it now, or say in docs/decisions why not"));
            }
            if let Some(remark) = passing_remark(&line.comment) {
                findings.add(
                    path,
                    number,
                    format!("`{remark}`: say the reason itself; a reader cannot follow the pointer"),
                );
            }
        }
    }
}

const MARKS: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];

/// Returns the words of a comment that refer to something outside the tree.
fn passing_remark(comment: &str) -> Option<&str> {
    const REMARKS: [&str; 9] = [
        "this session",
        "last session",
        "previous session",
        "earlier session",
        "pull request",
        "/work/",
        "/tmp/",
        "/home/",
        "/root/",
    ];
    let lower = comment.to_ascii_lowercase();
    let remark = REMARKS.iter().find_map(|remark| Some((lower.find(remark)?, remark.len())));
    let (at, length) = remark.or_else(|| ticket(&lower))?;
    comment.get(at..at + length)
}

/// Returns the position and length of a ticket's number: after `issue`, or after a hash that stands
/// alone.
fn ticket(lower: &str) -> Option<(usize, usize)> {
    let digits = |at: usize| lower[at..].chars().take_while(char::is_ascii_digit).count();
    let after_word = lower.match_indices("issue").map(|(at, word)| {
        let gap = lower[at + word.len()..].chars().take_while(|c| [' ', '#'].contains(c)).count();
        (at, word.len() + gap)
    });
    let after_hash = lower
        .match_indices('#')
        .filter(|(at, _)| !lower[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '/'))
        .map(|(at, _)| (at, 1));
    let numbered = |(at, length)| match digits(at + length) {
        0 => None,
        more => Some((at, length + more)),
    };
    after_word.chain(after_hash).find_map(numbered)
}

/// Reports a memory ordering without its reason or its partner in a comment. The comment is on the
/// ordering's line, shortly above with the ordering's name, or in the file's header: there for all
/// Relaxed of a file at once, for the other orderings if the line says `See the header.` A comment
/// within a file may apply to all Relaxed after it, too.
pub(super) fn orderings_are_explained(tree: &Tree, findings: &mut Findings) {
    for (path, source) in tree.sources.iter().filter(|(path, _)| path.starts_with("crates/")) {
        if path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("/testing.rs") {
            continue;
        }
        for (number, line) in source.above_tests() {
            for ordering in ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"] {
                let used = has_word(&line.code, &format!("Ordering::{ordering}"));
                if used && !is_explained(source, number, ordering) {
                    let says = match ordering {
                        "Relaxed" => {
                            "say why it may be: `// Relaxed: ..` above, or in the header for the file".into()
                        }
                        _ => format!("name the partner above: `// {ordering}: pairs with ..`"),
                    };
                    findings.add(path, number, says);
                }
            }
        }
    }
}

fn is_explained(source: &Source, number: usize, ordering: &str) -> bool {
    let names = |line: &Line| has_word(&line.comment.to_ascii_lowercase(), &ordering.to_ascii_lowercase());
    let above = &source.lines[number.saturating_sub(1 + REASON_LINES_MAX)..number];
    let header = || source.lines.iter().take_while(|line| line.code.is_empty());
    let own = source.lines[number - 1].comment.to_ascii_lowercase();
    let speaks_for_all = |line: &Line| line.comment.contains("Relaxed throughout");
    above.iter().any(names)
        || own.contains("pairs with")
        || (header().any(names) && (ordering == "Relaxed" || own.contains("see the header")))
        || (ordering == "Relaxed" && source.lines[..number].iter().any(speaks_for_all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{Rule, found};

    fn check(rule: Rule, text: &str) -> usize {
        found(rule, &[("crates/schemes/src/optimistic/silo/mod.rs", text)]).len()
    }

    #[test]
    fn a_file_without_a_header_is_caught() {
        assert_eq!(check(files_say_what_they_are, "use a::b;\n"), 1);
        assert_eq!(check(files_say_what_they_are, "//! A file that exists to pass.\nuse a::b;\n"), 0);
    }

    #[test]
    fn a_doc_comment_that_opens_with_a_riddle_is_caught() {
        let check = |text: &str| check(doc_comments_name_their_subject, text);
        assert_eq!(check("//! What a log is.\n"), 1);
        assert_eq!(check("    /// What came of it.\n    a: u64,\n"), 1);
        let good = "/// The results of a run.\n/// What is missing is told.\n// What follows is sorted.\n\
                    let a = \"/// What \";\n";
        assert_eq!(check(good), 0);
    }

    #[test]
    fn a_scheme_without_its_five_headings_in_order_is_caught() {
        let good = "//! Silo.\n//!\n//! IDEA        x\n//! RECORD y\n//! COMMIT\n\
                    //! INVARIANTS (1)\n//! DEPARTURES none\n";
        assert_eq!(check(schemes_have_their_five_headings, good), 0);
        assert_eq!(check(schemes_have_their_five_headings, &good.replace("//! RECORD y\n", "")), 1);
        assert_eq!(check(schemes_have_their_five_headings, &good.replace("IDEA", "COMMIT")), 1);
        assert_eq!(check(schemes_have_their_five_headings, &good.replace("//!\n", "\n")), 1);
        assert_eq!(
            found(schemes_have_their_five_headings, &[("crates/schemes/src/optimistic/mod.rs", "")]).len(),
            0
        );
    }

    #[test]
    fn promises_are_caught() {
        for mark in MARKS {
            assert_eq!(check(comments_outlive_their_day, &format!("// {mark}: later\n")), 1, "{mark}");
        }
        assert_eq!(check(comments_outlive_their_day, "let a = \"TODO\"; // TODOS are fine\n"), 0);
    }

    #[test]
    fn remarks_that_point_outside_the_tree_are_caught() {
        for remark in ["as issue 12 asks", "Issue #7", "(#34)", "found in this session", "see /work/notes"] {
            assert_eq!(check(comments_outlive_their_day, &format!("// {remark}\n")), 1, "{remark}");
        }
        for remark in
            ["a session issues 2 reads", "an issue of 3 words", "a #[cfg]", "the Session of a client"]
        {
            assert_eq!(check(comments_outlive_their_day, &format!("// {remark}\n")), 0, "{remark}");
        }
    }

    #[test]
    fn a_header_explains_all_relaxed_and_nothing_else() {
        let file = |ordering| {
            format!(
                "//! Words.\n//!\n//! {ordering}: believed after a check.\nuse a;\n{}\
                                       a.load(Ordering::{ordering});\n",
                "b();\n".repeat(20)
            )
        };
        assert_eq!(check(orderings_are_explained, &file("Relaxed")), 0);
        assert_eq!(check(orderings_are_explained, &file("Acquire")), 1);
    }

    #[test]
    fn an_ordering_without_its_reason_is_caught() {
        let bare = "fn f(a: &AtomicU64) {\n    a.load(Ordering::Acquire);\n}\n";
        assert_eq!(check(orderings_are_explained, bare), 1);
        assert_eq!(
            check(orderings_are_explained, &format!("// Acquire: pairs with the Release in g.\n{bare}")),
            0
        );
        assert_eq!(check(orderings_are_explained, &format!("// Relaxed: a hint.\n{bare}")), 1);
        assert_eq!(
            check(orderings_are_explained, &format!("// Acquire: far away.\n{}{bare}", "\n".repeat(20))),
            1
        );
        assert_eq!(
            check(orderings_are_explained, &bare.replace(';', "; // Pairs with the Release in g.")),
            0
        );
        assert_eq!(check(orderings_are_explained, &format!("#[cfg(test)]\nmod tests {{\n{bare}}}\n")), 0);
    }
}
