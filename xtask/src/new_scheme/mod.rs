//! New schemes: `cargo xtask new-scheme NAME --like FAMILY` makes the folder of a scheme, its chapter, and the three
//! lines by which the rest of the house knows it.
//!
//! The scheme that is made compiles and runs, but protects nothing, while its entry promises strict serializability:
//! so `contend check NAME` refuses it until its author has written the protocol. All texts are made in memory first. If
//! one cannot be written, those that were are taken back.

mod trial;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::house::{Checked, House};

pub(crate) use trial::try_all;

/// The form of the command.
pub(crate) const FORM: &str = "NAME --like FAMILY";

const SCHEMES: &str = "crates/schemes/src";
const WORKLOADS: &str = "crates/workloads/src";
const CATALOGUE: &str = "crates/schemes/src/catalogue.rs";
const SUMMARY: &str = "docs/book/SUMMARY.md";
const CHAPTERS: &str = "docs/book/schemes";

/// The reason for which nothing was made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unmade {
    /// The command asks for something that cannot be; the sentence says what to write instead.
    Refused(String),
    /// The system did not let it be made.
    Failed(String),
}

use Unmade::{Failed, Refused};

/// A family of schemes, by its folder.
struct Family {
    folder: &'static str,
    like: Like,
}

/// The beginning of a scheme of a family.
enum Like {
    /// A template.
    Template(&'static Template),
    /// No template would be honest: this scheme is to be copied.
    Copy(&'static str),
}

/// The parts of a template that depend on the family.
struct Template {
    /// The variant of `engine::Family`.
    variant: &'static str,
    /// The family's name in prose.
    words: &'static str,
    /// The text of `mod.rs`.
    code: &'static str,
    /// The anchor that the chapter includes.
    anchor: &'static str,
    /// The name of the planted bug, after that of the scheme, and its description.
    bug: (&'static str, &'static str),
    /// The functions to be written first.
    first: &'static str,
}

const FORGETS_DELETES: (&str, &str) = ("forgets_deletes", "leaves a value in a record that is deleted");

const LOCKING: Template = Template {
    variant: "Locking",
    words: "locking",
    code: include_str!("rule.txt"),
    anchor: "lock",
    bug: FORGETS_DELETES,
    first: "lock, upgrade and unlock",
};
const OPTIMISTIC: Template = Template {
    variant: "Optimistic",
    words: "optimistic",
    code: include_str!("buffered.txt"),
    anchor: "commit",
    bug: FORGETS_DELETES,
    first: "leaves, confirm and precommit",
};
const TIMESTAMP: Template = Template {
    variant: "TimestampOrdering",
    words: "timestamp ordering",
    first: "read, write, insert, delete, leaves and precommit",
    ..OPTIMISTIC
};
const MULTIVERSION: Template = Template {
    variant: "MultiVersion",
    words: "multi-version",
    code: include_str!("certifier.txt"),
    anchor: "certify",
    bug: ("begins_early", "begins at the commit before the last one"),
    first: "certify",
};

const FAMILIES: &[Family] = &[
    Family { folder: "locking", like: Like::Template(&LOCKING) },
    Family { folder: "optimistic", like: Like::Template(&OPTIMISTIC) },
    Family { folder: "timestamp", like: Like::Template(&TIMESTAMP) },
    Family { folder: "multiversion", like: Like::Template(&MULTIVERSION) },
    Family { folder: "partitioned", like: Like::Copy("partitioned/hstore") },
    Family { folder: "reordering", like: Like::Copy("reordering/reorder") },
    Family { folder: "batched", like: Like::Copy("batched/aria") },
    Family { folder: "deterministic", like: Like::Copy("deterministic/calvin") },
    Family { folder: "baseline", like: Like::Copy("baseline/serial") },
];

/// The keywords of Rust that would be legal names otherwise, those that are reserved included.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

/// Names that stand for something else where schemes are named: every scheme, and the settings of runs.
const TAKEN: &[&str] = &["all", "run"];

/// The maximum length of a name: tables have room for it.
const NAME_MAX: usize = 24;

/// A file to be written.
struct Change {
    path: String,
    /// The text of the file before; `None` for a file that does not exist.
    before: Option<String>,
    after: String,
}

/// Makes the scheme that the words after the command ask for, and prints what is left to do.
///
/// # Errors
/// The reason for which nothing was made.
pub(crate) fn run(house: &House, words: &[&str]) -> Result<(), Unmade> {
    let ([name, "--like", family] | ["--like", family, name]) = *words else {
        return Err(Refused(format!("write `cargo xtask new-scheme {FORM}`")));
    };
    let template = template(family)?;
    let changes = plan(&house.root, name, family, template)?;
    refuse_changes(&house.root)?;
    write(&house.root, &changes).map_err(Failed)?;
    print!("{}", told(name, template, &changes));
    Ok(())
}

/// Makes a scheme in a checkout, whether or not it has uncommitted changes.
fn make(root: &Path, name: &str, family: &str) -> Result<(), Unmade> {
    write(root, &plan(root, name, family, template(family)?)?).map_err(Failed)
}

/// Returns the template of a family.
fn template(family: &str) -> Result<&'static Template, Unmade> {
    let known = FAMILIES.iter().find(|known| known.folder == family);
    match known.map(|known| &known.like) {
        Some(Like::Template(template)) => Ok(template),
        Some(Like::Copy(scheme)) => Err(Refused(format!(
            "the family `{family}` has no template, since nothing of such a scheme can be left out: copy \
             {SCHEMES}/{scheme} by hand, as \"Adding a scheme\" in {CHAPTERS}/README.md says"
        ))),
        None => {
            let names: Vec<&str> = FAMILIES.iter().map(|family| family.folder).collect();
            Err(Refused(format!("no family `{family}`: there are {}", names.join(", "))))
        }
    }
}

/// Refuses to make anything in a checkout with uncommitted changes: nobody could tell the two apart afterwards.
fn refuse_changes(root: &Path) -> Result<(), Unmade> {
    let mut git = Command::new("git");
    git.args(["status", "--porcelain"]).current_dir(root).stdin(Stdio::null());
    let asked = git.output().map_err(|error| Failed(format!("cannot start git: {error}")))?;
    if !asked.status.success() {
        let says = String::from_utf8_lossy(&asked.stderr).trim().to_owned();
        return Err(Failed(format!("git cannot say whether the tree has changes: {says}")));
    }
    if asked.stdout.is_empty() {
        return Ok(());
    }
    let says = "the tree has changes that are not committed: commit them or `git stash --include-untracked` them, \
                so that what is made can be told from them";
    Err(Refused(says.to_owned()))
}

/// Refuses a name that a scheme cannot have, or that is there already.
fn refuse_name(root: &Path, name: &str) -> Result<(), Unmade> {
    let refuse = |says: String| Err(Refused(says));
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if !begins || !name.split('_').all(is_word) {
        return refuse(format!(
            "`{name}` is no name for a scheme: write lower-case letters, digits and single underscores between \
             them, a letter first, such as `strict_two_phase`"
        ));
    }
    if name.len() > NAME_MAX {
        return refuse(format!("`{name}` has {} letters: write {NAME_MAX} at most", name.len()));
    }
    if KEYWORDS.contains(&name) {
        return refuse(format!(
            "`{name}` is a keyword of Rust: choose another name, such as `{name}_scheme`"
        ));
    }
    if TAKEN.contains(&name) || root.join(WORKLOADS).join(name).is_dir() {
        return refuse(format!("`{name}` means something else on the command line: choose another name"));
    }
    for entry in [name.to_owned(), format!("{name}.rs")] {
        if root.join(SCHEMES).join(&entry).exists() {
            return refuse(format!("{SCHEMES}/{entry} is no scheme's folder: choose another name"));
        }
    }
    let folders = FAMILIES.iter().map(|family| format!("{SCHEMES}/{}/{name}", family.folder));
    let chapter = format!("{CHAPTERS}/{name}.md");
    let there = folders.chain([chapter]).find(|path| root.join(path).exists());
    match there {
        Some(path) => {
            refuse(format!("`{name}` is there already, in {path}: choose another name, or delete it"))
        }
        None => Ok(()),
    }
}

/// Returns all files to be written, made files first.
fn plan(root: &Path, name: &str, family: &str, template: &Template) -> Result<Vec<Change>, Unmade> {
    refuse_name(root, name)?;
    let folder = format!("{SCHEMES}/{family}/{name}");
    let texts = [
        (format!("{folder}/mod.rs"), template.code),
        (format!("{folder}/entry.rs"), include_str!("entry.txt")),
        (format!("{folder}/plants.rs"), include_str!("plants.txt")),
        (format!("{folder}/tests.rs"), include_str!("tests.txt")),
        (format!("{CHAPTERS}/{name}.md"), include_str!("chapter.txt")),
    ];
    let made = |(path, text)| Change { path, before: None, after: filled(text, name, family, template) };
    let mut changes: Vec<Change> = texts.into_iter().map(made).collect();

    let module = |line: &str| line.starts_with("pub mod ");
    let declared = format!("pub mod {name};");
    let at = |lines: &[&str]| {
        lines
            .iter()
            .position(|line| module(line) && *line > declared.as_str())
            .or_else(|| after_last(lines, module))
    };
    changes.push(edit(root, &format!("{SCHEMES}/{family}/mod.rs"), &declared, at)?);

    let prefix = format!("    {family}::");
    let listed = format!("{prefix}{name}::{},", type_name(name));
    let of_family = |line: &str| line.starts_with(&prefix);
    changes.push(edit(root, CATALOGUE, &listed, |lines| after_last(lines, of_family))?);

    // The chapters are in the order of the catalogue.
    let catalogue = read(root, CATALOGUE)?;
    let last =
        catalogue.lines().rfind(|line| of_family(line)).and_then(|line| line.trim().split("::").nth(1));
    let link = format!("(schemes/{}.md)", last.unwrap_or_default());
    let chapter = format!("- [{}](schemes/{name}.md)", title(name));
    changes.push(edit(root, SUMMARY, &chapter, |lines| after_last(lines, |line| line.ends_with(&link)))?);
    Ok(changes)
}

/// Returns the position after the last line of a kind.
fn after_last(lines: &[&str], is_of_kind: impl Fn(&str) -> bool) -> Option<usize> {
    lines.iter().rposition(|line| is_of_kind(line)).map(|last| last + 1)
}

/// Returns a file with one more line, at the position that `place` finds.
fn edit(
    root: &Path,
    path: &str,
    line: &str,
    place: impl Fn(&[&str]) -> Option<usize>,
) -> Result<Change, Unmade> {
    let before = read(root, path)?;
    let mut lines: Vec<&str> = before.lines().collect();
    let at = place(&lines).ok_or_else(|| Failed(format!("{path} has no place for `{}`", line.trim())))?;
    lines.insert(at, line);
    let after = lines.join("\n") + "\n";
    Ok(Change { path: path.to_owned(), before: Some(before), after })
}

fn read(root: &Path, path: &str) -> Result<String, Unmade> {
    fs::read_to_string(root.join(path)).map_err(|error| Failed(format!("cannot read {path}: {error}")))
}

/// Returns the text of a template for a scheme.
fn filled(text: &str, name: &str, folder: &str, template: &Template) -> String {
    let (bug, says) = template.bug;
    let words = [
        ("@NAME@", name.to_owned()),
        ("@TYPE@", type_name(name)),
        ("@TITLE@", title(name)),
        ("@PREFIX@", name.to_ascii_uppercase()),
        ("@FOLDER@", folder.to_owned()),
        ("@FAMILY@", template.variant.to_owned()),
        ("@WORDS@", template.words.to_owned()),
        ("@ANCHOR@", template.anchor.to_owned()),
        ("@BUG@", bug.to_ascii_uppercase()),
        ("@bug@", bug.to_owned()),
        ("@SAYS@", says.to_owned()),
    ];
    words.iter().fold(text.to_owned(), |text, (mark, word)| text.replace(mark, word))
}

/// Returns the name of the scheme's type: `strict_two_phase` is `StrictTwoPhase`.
fn type_name(name: &str) -> String {
    name.split('_').map(capital).collect()
}

/// Returns the name in prose: `strict_two_phase` is `Strict two phase`.
fn title(name: &str) -> String {
    capital(&name.replace('_', " "))
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// Writes all files. If one cannot be written, takes back those that were.
fn write(root: &Path, changes: &[Change]) -> Checked {
    for (nth, change) in changes.iter().enumerate() {
        let path = root.join(&change.path);
        let folder = path.parent().ok_or("a file has no folder")?;
        // Only the folder of the scheme is new.
        let folded = if folder.is_dir() { Ok(()) } else { fs::create_dir(folder) };
        if let Err(error) = folded.and_then(|()| fs::write(&path, &change.after)) {
            take_back(root, &changes[..=nth]);
            return Err(format!("cannot write {}: {error}; nothing was made", change.path));
        }
    }
    Ok(())
}

/// Restores the files as they were, as far as the system permits.
fn take_back(root: &Path, changes: &[Change]) {
    for change in changes {
        let path = root.join(&change.path);
        match &change.before {
            Some(before) => drop(fs::write(&path, before)),
            None => drop(fs::remove_file(&path)),
        }
    }
    // Removes the folder of the scheme, which is empty now, and no folder that has other files.
    let folders = changes.iter().filter(|change| change.before.is_none());
    folders.filter_map(|change| root.join(&change.path).parent().map(fs::remove_dir)).for_each(drop);
}

/// Returns the message about what was made, and what is left to write.
fn told(name: &str, template: &Template, changes: &[Change]) -> String {
    let line = |change: &Change| {
        let how = if change.before.is_some() { "one line in" } else { "made" };
        format!("  {how:<12} {}\n", change.path)
    };
    let files: String = changes.iter().map(line).collect();
    let first = template.first;
    format!(
        "{files}\n`{name}` compiles and runs, and protects nothing yet:\n\
         \n    cargo run -p contend-cli -- check {name}\n\
         \nshows how it breaks its promise, and `cargo test -p contend-schemes {name}` fails, until these are \
         written:\n\
         \n  1. {first}, the essay above them, and `INFO`\n\
         \x20 2. `entry.rs`, and in `plants.rs` bugs at the places that matter: four at least\n\
         \x20 3. the chapter {CHAPTERS}/{name}.md\n\
         \x20 4. what no program checks: {name} in the tables of {CHAPTERS}/README.md, and in\n\
         \x20    experiments/schemes.toml, whose sweep makes the chapter's curve\n\
         \nUntil then, tests over all schemes fail with it, too, or do not end.\n"
    )
}

#[cfg(test)]
mod tests;
