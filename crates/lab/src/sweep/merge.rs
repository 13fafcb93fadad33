//! The union of directories of results. Results are merged by id, so that the host of a run does not matter.

use super::{ResultStore, StoredResult};
use crate::Refusal;
use crate::text::{Lines, plural};

/// The maximum number of names that a refusal lists.
const NAMED_MAX: usize = 5;

/// The statistics of a merge.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The number of results that were taken.
    pub taken: usize,
    /// The number of results that were there already.
    pub there: usize,
    /// The ids of results that were there already with another content: the run was made twice. The first result stays.
    pub differing: Vec<String>,
}

/// Takes the results and recipes of some directories into another. If a file is refused because it is no result, that
/// directory is unchanged.
///
/// # Errors
/// Files that are no results or have the id of another result, by name; files that cannot be read or written.
pub fn merge(into: &ResultStore, from: &[ResultStore]) -> Result<Merged, Refusal> {
    refuse_foreign(from)?;
    let mut merged = Merged::default();
    for store in from {
        for name in store.names()? {
            let Some(StoredResult { id, run }) = store.named(&name)? else { continue };
            // The text is taken as it is, with names that this version does not know.
            if into.keep(&id, &store.text(&id)?)? {
                merged.taken += 1;
                continue;
            }
            merged.there += 1;
            if into.get(&id)?.is_some_and(|kept| kept.run != run) {
                merged.differing.push(id);
            }
        }
        for recipe in store.recipes()? {
            into.keep_recipe(&recipe)?;
        }
    }
    Ok(merged)
}

/// Refuses directories with a file that is no result under its own id, before any result is taken.
fn refuse_foreign(from: &[ResultStore]) -> Result<(), Refusal> {
    let mut foreign = Vec::new();
    for store in from {
        for name in store.names()? {
            let is_result = store
                .named(&name)
                .is_ok_and(|entry| entry.is_some_and(|StoredResult { id, run }| run.id == Some(id)));
            foreign.extend((!is_result).then(|| store.path().join("runs").join(name).display().to_string()));
        }
    }
    if foreign.is_empty() {
        return Ok(());
    }
    let (count, more) = (foreign.len(), foreign.len().saturating_sub(NAMED_MAX));
    foreign.truncate(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(Refusal(format!(
        "{} in `runs` no result under its own id, and nothing was merged: `{}`{more}; move them elsewhere",
        if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") },
        foreign.join("`, `")
    )))
}

impl Merged {
    /// Returns the statistics as text for people.
    pub fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.add(format!("{} taken, {} there already", plural(self.taken, "result"), self.there));
        for id in &self.differing {
            lines.add(format!("{id}: was made twice, with different outcomes; the first is kept"));
        }
        lines.0
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("contend-merge-{name}-{}", std::process::id()))
    }

    fn store(name: &str, results: &[(&str, u64)]) -> ResultStore {
        let store = ResultStore::open(&folder(name)).expect("writable");
        for (id, commits) in results {
            let value = json!({ "kind": "run", "id": id, "commits": commits });
            assert!(store.keep(id, &value.to_string()).expect("written"));
        }
        store.keep_recipe(name).expect("written");
        store
    }

    #[test]
    fn a_merge_is_a_union_in_which_the_first_stays() {
        let (into, one, two) = (
            store("into", &[("a", 1)]),
            store("one", &[("a", 1), ("b", 2)]),
            store("two", &[("b", 3), ("c", 4)]),
        );
        let wanted = Merged { taken: 2, there: 2, differing: vec!["b".to_owned()] };
        assert_eq!(merge(&into, &[one, two]).expect("mergeable"), wanted);
        let commits: Vec<u64> =
            into.all().expect("readable").iter().map(|entry| entry.run.counts.commits).collect();
        assert_eq!(commits, [1, 2, 4]);
        assert_eq!(into.recipes().expect("readable"), ["into", "one", "two"]);
        assert!(wanted.text().contains("2 results taken, 2 there already\nb: was made twice"));
        for name in ["into", "one", "two"] {
            fs::remove_dir_all(folder(name)).expect("its own directory");
        }
    }

    #[test]
    fn files_that_are_no_results_are_named_and_nothing_is_merged() {
        let (into, good, bad) = (store("clean", &[]), store("good", &[("a", 1)]), store("bad", &[("b", 2)]));
        let runs = folder("bad").join("runs");
        fs::write(runs.join("notes.txt"), "mine").expect("written");
        fs::rename(runs.join("b.json"), runs.join("c.json")).expect("possible");
        let says = merge(&into, &[good, bad]).expect_err("foreign").0;
        assert!(
            says.starts_with("2 files") && says.contains("notes.txt") && says.contains("c.json"),
            "{says}"
        );
        assert!(into.all().expect("readable").is_empty());
        for name in ["clean", "good", "bad"] {
            fs::remove_dir_all(folder(name)).expect("its own directory");
        }
    }
}
