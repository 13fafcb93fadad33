//! Tidy: the rules of the house that a machine can check, in one pass over the tree. Every finding
//! tells what to write instead. The rules read an in-memory tree, so that each rule can be tested
//! with a sample that it must report and a sample that it must accept.

mod arrows;
mod bans;
mod book;
mod comments;
mod modules;
mod names;
mod shape;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::house::{Checked, House};
use source::Source;

/// The path of the catalogue, which lists all schemes.
const CATALOGUE: &str = "crates/schemes/src/catalogue.rs";

/// A rule: reads the whole tree and adds its findings.
type Rule = fn(&Tree, &mut Findings);

const RULES: &[Rule] = &[
    arrows::arrows_point_down,
    arrows::twins_build_the_real_sources,
    arrows::lints_are_inherited,
    bans::doors_are_used,
    bans::unsafe_is_forbidden_above,
    bans::names_stay_above,
    book::schemes_have_chapters,
    book::tuned_settings_are_departures,
    book::summary_names_every_page,
    book::links_stay_in_the_book,
    book::includes_are_there,
    book::anchors_are_closed,
    comments::files_say_what_they_are,
    comments::doc_comments_name_their_subject,
    comments::schemes_have_their_five_headings,
    comments::comments_outlive_their_day,
    comments::orderings_are_explained,
    modules::files_are_reachable,
    modules::schemes_are_catalogued,
    modules::schemes_are_tested,
    modules::parts_have_two_users,
    names::public_types_have_names_of_their_own,
    shape::files_are_short,
    shape::lines_fit_and_are_ascii,
    shape::lints_are_lifted_with_reasons,
];

/// Checks the tree and prints the findings.
pub(crate) fn run(house: &House) -> Checked {
    let tree = Tree::read(&house.root)?;
    let findings = tree.check(RULES);
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        let Tree { sources, manifests, pages, .. } = &tree;
        println!("tidy: {} Rust files, {} manifests, {} pages", sources.len(), manifests.len(), pages.len());
        Ok(())
    } else {
        Err(format!("{} findings above; each says what to write instead", findings.len()))
    }
}

/// The files that rules read, by path from the root with `/` between the parts.
#[derive(Default)]
struct Tree {
    texts: BTreeMap<String, String>,
    sources: BTreeMap<String, Source>,
    manifests: BTreeMap<String, toml::Table>,
    /// The pages of the book.
    pages: BTreeMap<String, String>,
    broken_manifests: Vec<(String, String)>,
}

/// The findings of the rules: path, line (0 for the file as a whole), sentence.
#[derive(Default)]
struct Findings(Vec<(String, usize, String)>);

impl Findings {
    fn add(&mut self, path: &str, line: usize, says: impl Into<String>) {
        self.0.push((path.to_owned(), line, says.into()));
    }
}

impl Tree {
    fn read(root: &Path) -> Result<Self, String> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, path: &str) -> Checked {
        let cannot = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
        for entry in fs::read_dir(folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = join(path, &name);
            let is_folder = entry.file_type().map_err(cannot)?.is_dir();
            if is_folder && name != "target" && !name.starts_with('.') {
                self.read_folder(&entry.path(), &path)?;
            } else if !is_folder
                && (has_extension(&name, "rs") || name == "Cargo.toml" || book::is_page(&path))
            {
                let bytes = fs::read(entry.path()).map_err(cannot)?;
                self.insert(&path, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Ok(())
    }

    fn insert(&mut self, path: &str, text: String) {
        if has_extension(path, "md") {
            if book::is_page(path) {
                self.pages.insert(path.to_owned(), text);
            }
            return;
        }
        if has_extension(path, "rs") {
            self.sources.insert(path.to_owned(), Source::new(&text));
        } else {
            match text.parse() {
                Ok(table) => drop(self.manifests.insert(path.to_owned(), table)),
                Err(e) => self.broken_manifests.push((path.to_owned(), e.to_string())),
            }
        }
        self.texts.insert(path.to_owned(), text);
    }

    /// Returns the findings of `rules`, in the order of the tree, as lines for a terminal.
    fn check(&self, rules: &[Rule]) -> Vec<String> {
        let mut findings = Findings::default();
        for (path, error) in &self.broken_manifests {
            findings.add(path, 0, format!("not a manifest: {error}"));
        }
        for rule in rules {
            rule(self, &mut findings);
        }
        findings.0.sort();
        let show = |(path, line, says)| match line {
            0 => format!("{path}: {says}"),
            _ => format!("{path}:{line}: {says}"),
        };
        findings.0.into_iter().map(show).collect()
    }

    /// Returns the main files of the schemes, each in the folder of its scheme: path, family and name.
    fn schemes(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.sources.keys().filter_map(|path| {
            let (family, file) = path.strip_prefix("crates/schemes/src/")?.split_once('/')?;
            let (name, "mod.rs") = file.split_once('/')? else { return None };
            (!["frames", "tests"].contains(&family)).then_some((path.as_str(), family, name))
        })
    }
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e == extension)
}

/// Returns the crate to which a path belongs: the folder under `crates`, or the top folder. A twin
/// counts as a crate of its own, `NAME_sim`, and so does that of an example. `tests/outside` has
/// manifests for the sources of an example.
fn crate_of(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("crates"), Some("twins"), Some(name)) => format!("{name}_sim"),
        (Some("examples"), _, Some("twin")) | (Some("tests"), Some("outside"), Some("twin")) => {
            "examples_sim".to_owned()
        }
        (Some("tests"), Some("outside"), _) => "examples".to_owned(),
        (Some("crates"), Some(name), _) => name.to_owned(),
        (top, _, _) => top.unwrap_or_default().to_owned(),
    }
}

/// Returns the folder of a file.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Resolves `path` relative to `folder`, with `.` and `..` resolved.
fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Returns the findings of `rule` in a tree of these files. For the rules' own tests.
#[cfg(test)]
fn found(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    let mut tree = Tree::default();
    for (path, text) in files {
        tree.insert(path, (*text).to_owned());
    }
    tree.check(&[rule])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_and_resolved() {
        assert_eq!(join("crates/twins/sync", "../../sync/src/sim.rs"), "crates/sync/src/sim.rs");
        assert_eq!(join("", "./a"), "a");
    }

    #[test]
    fn a_path_belongs_to_a_crate() {
        assert_eq!(crate_of("crates/sync/src/lib.rs"), "sync");
        assert_eq!(crate_of("crates/twins/sync/Cargo.toml"), "sync_sim");
        assert_eq!(crate_of("xtask/src/main.rs"), "xtask");
        assert_eq!(crate_of("examples/waits/src/lib.rs"), "examples");
        assert_eq!(crate_of("examples/waits/twin/Cargo.toml"), "examples_sim");
        assert_eq!(crate_of("tests/outside/Cargo.toml"), "examples");
        assert_eq!(crate_of("tests/outside/twin/Cargo.toml"), "examples_sim");
    }

    #[test]
    fn a_broken_manifest_is_a_finding() {
        assert_eq!(found(|_, _| (), &[("Cargo.toml", "[package")]).len(), 1);
        assert_eq!(found(|_, _| (), &[("Cargo.toml", "[package]")]).len(), 0);
    }
}
