//! The book: each scheme has a chapter, all chapters have the same headings, and every page is in the summary.
//! Code is included from the sources and never copied, so that it cannot become outdated. If an anchor is missing,
//! `mdbook` includes nothing, without a warning.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;
use super::{CATALOGUE, Findings, Tree, folder_of, join};

/// The folder of the book's pages.
const BOOK: &str = "docs/book/";
const SUMMARY: &str = "docs/book/SUMMARY.md";
/// The folder of the schemes' chapters.
const CHAPTERS: &str = "docs/book/schemes/";
/// The folder of the schemes' sources.
const SCHEMES: &str = "crates/schemes/src/";

/// The headings of a scheme's chapter, in order. The first are those of its source file.
const HEADINGS: [&str; 9] = [
    "## Idea",
    "## Record",
    "## Commit",
    "## Invariants",
    "## Departures",
    "## Settings",
    "## When it does well and badly",
    AGAINST,
    "## Measured",
];
const AGAINST: &str = "### Against its authors";

/// The maximum number of lines of an anchor: the lines that a reader sees at once.
const ANCHOR_LINES_MAX: usize = 40;

/// Reports a scheme of the catalogue without a chapter with all headings in order, and a chapter without a scheme.
pub(super) fn schemes_have_chapters(tree: &Tree, findings: &mut Findings) {
    let schemes = tree.sources.get(CATALOGUE).map(catalogued).unwrap_or_default();
    for scheme in &schemes {
        let path = format!("{CHAPTERS}{scheme}.md");
        let Some(text) = tree.pages.get(&path) else {
            findings.add(
                &path,
                0,
                format!("the scheme `{scheme}` has no chapter: {CHAPTERS}README.md says how"),
            );
            continue;
        };
        if headings(text) != HEADINGS {
            let says =
                format!("a chapter has the headings {}, once each and in this order", HEADINGS.join(", "));
            findings.add(&path, 1, says);
        }
    }
    for path in tree.pages.keys() {
        let chapter = path.strip_prefix(CHAPTERS).and_then(|name| name.strip_suffix(".md"));
        if chapter.is_some_and(|name| name != "README" && !schemes.contains(name)) {
            findings.add(path, 0, "no scheme of the catalogue has this name: rename it or delete it");
        }
    }
}

/// Reports a setting whose authors have another value than the standard one, if the header of the scheme, or its
/// chapter, does not name it among the departures.
pub(super) fn tuned_settings_are_departures(tree: &Tree, findings: &mut Findings) {
    for (path, text) in &tree.texts {
        let Some(folder) = path.strip_suffix("/entry.rs").filter(|path| path.contains(SCHEMES)) else {
            continue;
        };
        let chapter = format!("{CHAPTERS}{}.md", folder.rsplit('/').next().unwrap_or_default());
        let header =
            tree.texts.get(&format!("{folder}/mod.rs")).and_then(|text| text.split("//! DEPARTURES").nth(1));
        let header = header.and_then(|rest| rest.split("\n\n").next());
        let page = tree.pages.get(&chapter).and_then(|text| text.split("\n## Departures\n").nth(1));
        let page = page.and_then(|rest| rest.split("\n## ").next());
        for setting in published(text) {
            let lacks = |text: Option<&str>| !text.is_some_and(|text| text.contains(setting));
            for (path, _) in
                [(&format!("{folder}/mod.rs"), header), (&chapter, page)].into_iter().filter(|of| lacks(of.1))
            {
                findings.add(
                    path,
                    1,
                    format!("`{setting}` differs from its authors' value: name it among the departures"),
                );
            }
        }
    }
}

/// Returns the names of the settings in the list `published` of an entry.
fn published(entry: &str) -> impl Iterator<Item = &str> {
    let each = entry.split("Published {").skip(1);
    each.filter_map(|rest| rest.split("setting: \"").nth(1)?.split('"').next())
}

/// Reports a page that the summary does not name, and a name without a page.
pub(super) fn summary_names_every_page(tree: &Tree, findings: &mut Findings) {
    let Some(summary) = tree.pages.get(SUMMARY) else {
        if !tree.pages.is_empty() {
            findings.add(SUMMARY, 0, "the book needs a summary of its pages");
        }
        return;
    };
    let mut named = BTreeSet::new();
    for (number, line) in numbered(summary) {
        for path in links(line).map(|link| join(folder_of(SUMMARY), link)) {
            if !tree.pages.contains_key(&path) {
                findings.add(SUMMARY, number, format!("there is no {path}: write it, or leave it out"));
            } else if !named.insert(path.clone()) {
                findings.add(SUMMARY, number, format!("{path} is named twice: leave one out"));
            }
        }
    }
    for path in tree.pages.keys().filter(|path| *path != SUMMARY && !named.contains(*path)) {
        findings.add(
            path,
            0,
            format!("{SUMMARY} does not name this page, so the book lacks it: add a line there"),
        );
    }
}

/// Reports a link that leads to no page of the book: `mdbook` makes no page for its target, without a warning.
pub(super) fn links_stay_in_the_book(tree: &Tree, findings: &mut Findings) {
    for (page, text) in tree.pages.iter().filter(|(page, _)| *page != SUMMARY) {
        for (number, line) in numbered(text) {
            for link in links(line).filter(|link| !link.contains("://")) {
                let path = link.split_once('#').map_or(link, |(path, _)| path);
                let target = join(folder_of(page), path);
                if super::has_extension(path, "md") && !tree.pages.contains_key(&target) {
                    findings.add(
                        page,
                        number,
                        format!("the book has no page {target}: name the file as code"),
                    );
                }
            }
        }
    }
}

/// Reports an include whose target does not exist.
pub(super) fn includes_are_there(tree: &Tree, findings: &mut Findings) {
    for (page, text) in &tree.pages {
        for (number, line) in numbered(text) {
            for include in includes(line) {
                if let Some(says) = missing(tree, page, include) {
                    findings.add(page, number, says);
                }
            }
        }
    }
}

/// Reports an anchor that is not closed after it is opened, that has no unique name in its file, or that is too
/// long.
pub(super) fn anchors_are_closed(tree: &Tree, findings: &mut Findings) {
    for (path, source) in &tree.sources {
        let mut open = BTreeMap::new();
        let mut known = BTreeSet::new();
        for (number, mark) in marks(source) {
            match mark {
                Mark::Begin(name) if known.insert(name) => drop(open.insert(name, number)),
                Mark::Begin(name) => {
                    findings.add(
                        path,
                        number,
                        format!("the anchor `{name}` is there already: give it another name"),
                    );
                }
                Mark::End(name) => match open.remove(name) {
                    None => findings.add(path, number, format!("the anchor `{name}` is closed and not open")),
                    Some(from) if number - from - 1 > ANCHOR_LINES_MAX => {
                        let lines = number - from - 1;
                        let says = format!(
                            "`{name}` spans {lines} lines, {ANCHOR_LINES_MAX} are allowed: show less"
                        );
                        findings.add(path, from, says);
                    }
                    Some(_) => {}
                },
            }
        }
        for (name, number) in open {
            findings.add(path, number, format!("the anchor `{name}` is not closed: `// ANCHOR_END: {name}`"));
        }
    }
}

/// Returns the names of the schemes in the catalogue, which are the names of their folders. The lines are such as
/// `optimistic::silo::Silo,`.
fn catalogued(catalogue: &Source) -> BTreeSet<&str> {
    let list = catalogue.lines.iter().map(|line| line.code.trim()).skip_while(|line| *line != "catalogue! {");
    list.filter_map(|path| match path.trim_end_matches(',').split("::").collect::<Vec<_>>()[..] {
        [_, name, _] => Some(name),
        _ => None,
    })
    .collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// Returns the headings of the second level, and the one of the third that all chapters have, outside of blocks of
/// code.
fn headings(text: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if line == open => fence = None,
            None if ticks.len() > 2 => fence = Some(ticks),
            None if line.starts_with("## ") || line == AGAINST => found.push(line),
            Some(_) | None => {}
        }
    }
    found
}

/// Returns the targets of a line's links.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// Returns the includes of a line: each a path with its anchor. An escaped include is an example and does not
/// count.
fn includes(line: &str) -> impl Iterator<Item = &str> {
    let places = ["{{#include ", "{{#rustdoc_include "].into_iter().flat_map(|mark| {
        line.match_indices(mark)
            .filter(|(at, _)| !line[..*at].ends_with('\\'))
            .map(|(at, mark)| at + mark.len())
    });
    places.filter_map(|at| Some(line[at..].split_once("}}")?.0.trim()))
}

/// Returns the defect of an include, if there is one.
fn missing(tree: &Tree, page: &str, include: &str) -> Option<String> {
    let (path, anchor) =
        include.split_once(':').map_or((include, None), |(path, anchor)| (path, Some(anchor)));
    let path = join(folder_of(page), path);
    let Some(source) = tree.sources.get(&path) else {
        let is_there = match (tree.manifests.contains_key(&path), anchor) {
            (true, Some(anchor)) => {
                tree.texts[&path].lines().any(|line| line == format!("# ANCHOR: {anchor}"))
            }
            (true, None) => true,
            // Pages are included whole.
            (false, anchor) => tree.pages.contains_key(&path) && anchor.is_none(),
        };
        return (!is_there).then(|| format!("there is no {path} to include"));
    };
    let anchor = anchor?;
    if anchor.starts_with(|c: char| c.is_ascii_digit() || c == ':') {
        return Some("lines move: put an anchor into the source, and include that".to_owned());
    }
    let is_there = marks(source).any(|(_, mark)| mark == Mark::Begin(anchor));
    (!is_there)
        .then(|| format!("{path} has no anchor `{anchor}`: put `// ANCHOR: {anchor}` where it is to begin"))
}

/// The begin or the end of an anchor.
#[derive(PartialEq, Eq)]
enum Mark<'s> {
    Begin(&'s str),
    End(&'s str),
}

fn marks(source: &Source) -> impl Iterator<Item = (usize, Mark<'_>)> {
    source.numbered().filter_map(|(number, line)| {
        let comment = line.comment.trim();
        let begin = comment.strip_prefix("ANCHOR: ").map(Mark::Begin);
        let end = || comment.strip_prefix("ANCHOR_END: ").map(Mark::End);
        Some((number, begin.or_else(end)?))
    })
}

/// Returns `true` if a file is a page of the book.
pub(super) fn is_page(path: &str) -> bool {
    path.starts_with(BOOK) && super::has_extension(path, "md")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{Rule, found};

    const LISTED: (&str, &str) = (
        CATALOGUE,
        "//! The catalogue.\nmacro_rules! catalogue {}\ncatalogue! {\n    optimistic::silo::Silo,\n}\n",
    );

    fn chapter() -> String {
        HEADINGS.map(|heading| format!("{heading}\n\ntext\n\n")).concat()
    }

    fn check(rule: Rule, files: &[(&str, &str)]) -> usize {
        found(rule, files).len()
    }

    #[test]
    fn a_scheme_without_a_chapter_and_a_chapter_without_a_scheme_are_caught() {
        let text = chapter();
        let pages = |names: &[&str]| {
            let paths: Vec<String> = names.iter().map(|name| format!("{CHAPTERS}{name}.md")).collect();
            let files: Vec<(&str, &str)> =
                [LISTED].into_iter().chain(paths.iter().map(|path| (path.as_str(), text.as_str()))).collect();
            check(schemes_have_chapters, &files)
        };
        assert_eq!(pages(&["silo", "README"]), 0);
        assert_eq!(pages(&["README"]), 1);
        assert_eq!(pages(&["silo", "sylo"]), 1);
    }

    #[test]
    fn a_chapter_that_lacks_a_heading_or_has_them_in_another_order_is_caught() {
        let of = |text: &str| check(schemes_have_chapters, &[LISTED, ("docs/book/schemes/silo.md", text)]);
        let good = chapter();
        assert_eq!(of(&good), 0);
        assert_eq!(of(&format!("# Silo\n\n```text\n## Idea\n```\n\n{good}### More\n")), 0);
        for heading in HEADINGS {
            assert_eq!(of(&good.replace(&format!("{heading}\n"), "")), 1, "{heading}");
        }
        assert_eq!(of(&good.replace("## Idea", "## Record")), 1);
        assert_eq!(of(&format!("{good}## Record\n")), 1);
        assert_eq!(of(&format!("````\n{good}````\n")), 1, "in a block of code they are none");
    }

    #[test]
    fn a_setting_that_departs_from_its_authors_and_is_not_named_is_caught() {
        let entry = "use Published;\npublished: &[Published {\n    setting: \"silo.order\",\n    value: \"1\" }],\n\
                     toggles: &[Toggle { setting: \"silo.other\" }]";
        let of = |header: &str, page: &str| {
            let files = [
                ("crates/schemes/src/optimistic/silo/entry.rs", entry),
                ("crates/schemes/src/optimistic/silo/mod.rs", header),
                ("docs/book/schemes/silo.md", page),
            ];
            check(tuned_settings_are_departures, &files)
        };
        let (header, page) =
            ("//! DEPARTURES  `silo.order`\n\n", "\n## Departures\n`silo.order`\n## Settings\n");
        assert_eq!(of(header, page), 0);
        assert_eq!(of("//! DEPARTURES  None.\n\n// `silo.order`", page), 1);
        assert_eq!(of(header, "\n## Departures\nNone.\n## Settings\n`silo.order`"), 1);
    }

    #[test]
    fn a_page_that_the_summary_lacks_and_one_that_only_it_has_are_caught() {
        let page = ("docs/book/schemes/silo.md", "");
        let of = |summary: &str| check(summary_names_every_page, &[page, (SUMMARY, summary)]);
        assert_eq!(of("# Summary\n\n- [Silo](schemes/silo.md)\n"), 0);
        assert_eq!(of("# Summary\n"), 1);
        assert_eq!(of("- [Silo](schemes/silo.md)\n- [Other](other.md)\n"), 1);
        assert_eq!(of("- [Silo](schemes/silo.md)\n- [Again](schemes/silo.md)\n"), 1);
        assert_eq!(check(summary_names_every_page, &[page]), 1);
        assert_eq!(
            check(summary_names_every_page, &[("docs/other.md", "")]),
            0,
            "what is no page is none of its"
        );
    }

    #[test]
    fn a_link_that_leads_out_of_the_book_is_caught() {
        let of = |text: &str| {
            check(links_stay_in_the_book, &[("docs/book/schemes/a.md", text), ("docs/book/b.md", "")])
        };
        assert_eq!(of("[b](../b.md), [its end](../b.md#end), [a](a.md), [here](#here), `x[0](y)`"), 0);
        assert_eq!(of("[elsewhere](https://docs.rs/other.md)"), 0);
        assert_eq!(of("[out](../../b.md), [none](b.md#end)"), 2);
    }

    #[test]
    fn an_include_of_what_is_not_there_is_caught() {
        let source = ("crates/a/src/lib.rs", "//! A.\n// ANCHOR: step\nfn f() {}\n// ANCHOR_END: step\n");
        let of = |text: &str| {
            let manifest = ("crates/a/Cargo.toml", "# ANCHOR: all\n[package]\n# ANCHOR_END: all\n");
            let pages = [("docs/book/schemes/a.md", text), ("docs/book/b.md", "")];
            check(includes_are_there, &[&[source, manifest], &pages[..]].concat())
        };
        assert_eq!(of("{{#include ../../../crates/a/src/lib.rs:step}}"), 0);
        assert_eq!(of("{{#include ../../../crates/a/src/lib.rs}}"), 0);
        assert_eq!(of("{{#include ../b.md}}"), 0);
        assert_eq!(of("{{#include ../../../crates/a/Cargo.toml}}"), 0);
        assert_eq!(of("{{#include ../../../crates/a/Cargo.toml:all}}"), 0);
        assert_eq!(of("{{#include ../../../crates/a/Cargo.toml:step}}"), 1);
        assert_eq!(of("\\{{#include nowhere.rs:step}}"), 0, "escaped");
        assert_eq!(of("{{#include ../../crates/a/src/lib.rs:step}}"), 1);
        assert_eq!(of("{{#rustdoc_include ../../../crates/a/src/lib.rs:other}}"), 1);
        assert_eq!(of("{{#include ../../../crates/a/src/lib.rs:1:2}}"), 1);
        assert_eq!(of("{{#include ../b.md:step}}"), 1, "pages have no anchors");
    }

    #[test]
    fn an_anchor_that_is_not_closed_or_not_open_or_there_twice_or_too_long_is_caught() {
        let of = |text: &str| check(anchors_are_closed, &[("crates/a/src/lib.rs", text)]);
        let pair = "// ANCHOR: a\nfn f() {}\n// ANCHOR_END: a\n";
        assert_eq!(of(pair), 0);
        assert_eq!(of(&pair.replace("fn f() {}\n", &"f();\n".repeat(ANCHOR_LINES_MAX))), 0);
        assert_eq!(of(&pair.replace("fn f() {}\n", &"f();\n".repeat(ANCHOR_LINES_MAX + 1))), 1);
        assert_eq!(of("// ANCHOR: a\nfn f() {}\n"), 1);
        assert_eq!(of("// ANCHOR_END: a\n"), 1);
        assert_eq!(of("// ANCHOR_END: a\n// ANCHOR: a\n"), 2);
        assert_eq!(of(&format!("{pair}{pair}")), 2, "the second is refused, and so is its end");
        assert_eq!(of("let a = \"// ANCHOR: a\";\n"), 0, "in a string it is none");
    }
}
