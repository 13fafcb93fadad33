//! The files that the command makes, and the cases in which it makes none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;

/// The files that the command reads, and of which it leaves all others alone.
const TOUCHED: &[&str] = &[
    CATALOGUE,
    SUMMARY,
    "crates/schemes/src/locking/mod.rs",
    "crates/schemes/src/optimistic/mod.rs",
    "crates/schemes/src/timestamp/mod.rs",
    "crates/schemes/src/multiversion/mod.rs",
    "crates/schemes/src/locking/no_wait/mod.rs",
    "docs/book/schemes/no_wait.md",
];

/// A folder with a copy of these files, removed at the end.
struct Copied(PathBuf);

impl Copied {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("contend-new-scheme-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&root));
        let house = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the checkout");
        for path in TOUCHED {
            let to = root.join(path);
            fs::create_dir_all(to.parent().expect("a folder")).expect("made");
            fs::copy(house.join(path), to).expect("copied");
        }
        fs::create_dir_all(root.join(WORKLOADS).join("ycsb")).expect("made");
        Self(root)
    }

    /// All files and their texts.
    fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.0.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).expect("readable") {
                let path = entry.expect("readable").path();
                let name = path.strip_prefix(&self.0).expect("below").to_string_lossy().into_owned();
                if path.is_dir() {
                    open.push(path);
                    found.insert(name, String::new());
                } else {
                    found.insert(name, fs::read_to_string(path).expect("a text"));
                }
            }
        }
        found
    }

    fn refusal(&self, name: &str, family: &str) -> String {
        let before = self.files();
        let says = match make(&self.0, name, family) {
            Err(Refused(says)) => says,
            other => panic!("{name} like {family}: {other:?}"),
        };
        assert!(self.files() == before, "{name} like {family}: nothing is half made");
        says
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn a_scheme_is_five_files_and_three_lines() {
    let copied = Copied::new("made");
    let before = copied.files();
    make(&copied.0, "cautious_waiting", "locking").expect("made");
    let after = copied.files();
    let of = |path: &str| after.get(path).unwrap_or_else(|| panic!("{path}"));
    let added: Vec<&String> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert_eq!(
        added,
        [
            "crates/schemes/src/locking/cautious_waiting",
            "crates/schemes/src/locking/cautious_waiting/entry.rs",
            "crates/schemes/src/locking/cautious_waiting/mod.rs",
            "crates/schemes/src/locking/cautious_waiting/plants.rs",
            "crates/schemes/src/locking/cautious_waiting/tests.rs",
            "docs/book/schemes/cautious_waiting.md",
        ]
    );
    let lines = |path: &str| {
        let old: Vec<&str> = before[path].lines().collect();
        let new: Vec<&str> = of(path).lines().filter(|line| !old.contains(line)).collect();
        assert_eq!(of(path).lines().count(), old.len() + 1, "{path}");
        new.join("\n")
    };
    assert_eq!(lines("crates/schemes/src/locking/mod.rs"), "pub mod cautious_waiting;");
    assert_eq!(lines(CATALOGUE), "    locking::cautious_waiting::CautiousWaiting,");
    assert_eq!(lines(SUMMARY), "- [Cautious waiting](schemes/cautious_waiting.md)");
    let changed = after.iter().filter(|(path, text)| before.get(*path).is_some_and(|old| old != *text));
    assert_eq!(changed.count(), 3);
    assert!(
        of("crates/schemes/src/locking/mod.rs")
            .contains("bamboo;\npub mod cautious_waiting;\npub mod dl_detect")
    );
    let plants = of("crates/schemes/src/locking/cautious_waiting/plants.rs");
    assert!(plants.contains("CAUTIOUS_WAITING_FORGETS_DELETES: \"cautious_waiting_forgets_deletes\""));
}

#[test]
fn every_template_is_filled_in() {
    let copied = Copied::new("filled");
    for family in FAMILIES.iter().filter(|family| matches!(family.like, Like::Template(_))) {
        make(&copied.0, &format!("new_{}", family.folder), family.folder).expect("made");
    }
    for (path, text) in copied.files() {
        let marks = text.lines().find(|line| line.split('@').count() > 2);
        assert!(marks.is_none(), "{path}: {marks:?}");
    }
}

#[test]
fn what_cannot_be_a_scheme_is_refused_with_the_fix() {
    let copied = Copied::new("refused");
    for name in ["", "Silo", "2pl", "_a", "a_", "a__b", "a-b", "a b", "caf\u{e9}", "../a"] {
        assert!(copied.refusal(name, "locking").contains("lower-case letters, digits"), "{name}");
    }
    for (name, says) in [
        ("match", "keyword of Rust"),
        ("gen", "keyword of Rust"),
        ("all", "choose another name"),
        ("ycsb", "choose another name"),
        ("locking", "no scheme's folder"),
        ("catalogue", "no scheme's folder"),
        ("no_wait", "is there already"),
        ("a_name_that_is_much_too_long", "24 at most"),
    ] {
        assert!(copied.refusal(name, "optimistic").contains(says), "{name}");
    }
    let unknown = copied.refusal("fine", "optimism");
    for family in FAMILIES {
        assert!(unknown.contains(family.folder), "{unknown}");
    }
    for (family, scheme) in [
        ("batched", "aria"),
        ("deterministic", "calvin"),
        ("partitioned", "hstore"),
        ("reordering", "reorder"),
    ] {
        assert!(copied.refusal("fine", family).contains(&format!("copy {SCHEMES}/{family}/{scheme}")));
    }
}

#[test]
fn what_was_made_is_taken_back_when_the_rest_cannot_be() {
    let copied = Copied::new("taken-back");
    // A chapter has no place where a file is in place of the folder.
    let chapters = copied.0.join(CHAPTERS);
    fs::remove_dir_all(&chapters).expect("removed");
    fs::write(&chapters, "no folder").expect("written");
    let before = copied.files();
    assert!(matches!(make(&copied.0, "fine", "locking"), Err(Failed(_))));
    assert!(copied.files() == before);
}

#[test]
fn a_tree_with_changes_is_refused_until_they_are_committed() {
    let copied = Copied::new("changes");
    let git = |arguments: &[&str]| {
        let own = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        let ended = Command::new("git").args(own).args(arguments).current_dir(&copied.0).output();
        assert!(ended.expect("git runs").status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    let house = House::copy_at(copied.0.clone());
    let words = ["fine", "--like", "optimistic"];
    let before = copied.files();
    match run(&house, &words) {
        Err(Refused(says)) => assert!(says.contains("commit them or `git stash"), "{says}"),
        other => panic!("{other:?}"),
    }
    assert!(copied.files() == before);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "all"]);
    assert_eq!(run(&house, &words), Ok(()));
    assert!(matches!(run(&house, &["fine"]), Err(Refused(says)) if says.contains(FORM)));
}

#[test]
fn a_copy_of_the_checkout_builds_into_a_folder_of_its_own() {
    let root = std::path::PathBuf::from("copy");
    let cargo = House::copy_at(root.clone()).cargo(&["build"]);
    let target = cargo.get_envs().find(|(name, _)| *name == "CARGO_TARGET_DIR");
    assert_eq!(target.and_then(|(_, folder)| folder), Some(root.join("target").as_os_str()));
}
