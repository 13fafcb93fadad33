//! Results by id: a directory with a file a run, which nobody writes over.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Sweep, Unit};
use crate::{Partial, Refusal};

/// A directory of results.
#[derive(Debug)]
pub struct Store(PathBuf);

/// A result.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// What was measured: an object of [`json::run`](crate::json::run), with what the sweep knows of it beside.
    pub value: Value,
}

impl Store {
    /// Opens a directory, and makes it if it is not there. What was left of runs that a kill cut short is removed.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        let refused = |error: io::Error| {
            Refusal(format!(
                "`--out {}`: cannot be written to ({error}): give another directory",
                path.display()
            ))
        };
        let store = Self(path.to_owned());
        fs::create_dir_all(store.runs()).map_err(refused)?;
        // A full disk takes a name but not a line, and is to be known before anything is measured.
        store.write(&store.runs().join("probe"), "a line\n").map(drop).map_err(refused)?;
        store.clear().map_err(refused)?;
        Ok(store)
    }

    /// Removes what processes that are gone have left unfinished.
    fn clear(&self) -> io::Result<()> {
        for file in fs::read_dir(self.runs())? {
            let path = file?.path();
            let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".partial"));
            let writer = name.and_then(|name| name.rsplit_once('-')?.1.parse::<u32>().ok());
            if writer.is_some_and(|writer| !Path::new(&format!("/proc/{writer}")).exists()) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Opens a directory that is there.
    ///
    /// # Errors
    /// When it is not there, or has never held results.
    pub fn existing(path: &Path) -> Result<Self, Refusal> {
        let store = Self(path.to_owned());
        if !store.runs().is_dir() {
            return Err(Refusal(format!(
                "`{0}`: has no results; give the directory of a sweep, which `contend sweep FILE --out {0}` fills",
                path.display()
            )));
        }
        Ok(store)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// Keeps the text of a recipe beside the results, once.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn keep_recipe(&self, text: &str) -> Result<(), Refusal> {
        let mut number = 1;
        loop {
            let path = self.0.join(format!("recipe-{number}.toml"));
            match fs::read_to_string(&path) {
                Ok(earlier) if earlier == text => return Ok(()),
                Ok(_) => number += 1,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let written = self.write(&path, text).and_then(Partial::publish);
                    return written.map_err(|error| self.unwritten(&path, &error));
                }
                Err(error) => return Err(self.unwritten(&path, &error)),
            }
        }
    }

    /// Writes what was derived from the results, by its path in the directory, in place of what was derived before.
    ///
    /// # Errors
    /// When the system refuses; what was derived before is then still there.
    pub fn derive(&self, path: &Path, text: &str) -> Result<(), Refusal> {
        let whole = self.0.join(path);
        let made = whole.parent().map_or(Ok(()), fs::create_dir_all);
        let written = made.and_then(|()| self.write(&whole, text)).and_then(Partial::replace);
        written.map_err(|error| self.unwritten(&whole, &error))
    }

    /// The result with an id, if there is one.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of ours.
    pub fn get(&self, id: &str) -> Result<Option<Entry>, Refusal> {
        let path = self.runs().join(format!("{id}.json"));
        match fs::read_to_string(&path) {
            Ok(text) => entry(&path, id, &text).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Refusal(format!("`{}`: cannot be read ({error})", path.display()))),
        }
    }

    /// Keeps the result of a unit.
    ///
    /// # Errors
    /// When the system refuses; no part of the file is left. When there is a result with this id already, it stays.
    pub fn put(&self, unit: &Unit, value: &Value) -> Result<(), Refusal> {
        let whole = self.runs().join(format!("{}.json", unit.id));
        match self.write(&whole, &format!("{value}\n")).and_then(Partial::publish) {
            // Another process was faster; both are right.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            written => written.map_err(|error| self.unwritten(&whole, &error)),
        }
    }

    /// Writes what is to be a file, under a name that says whose it is until then.
    fn write(&self, whole: &Path, text: &str) -> io::Result<Partial> {
        let name = whole.file_stem().unwrap_or_default().to_string_lossy();
        let path = self.runs().join(format!("{name}-{}.partial", std::process::id()));
        let mut partial = Partial::create(path, whole)?;
        partial.fill(|file| file.write_all(text.as_bytes()))?;
        Ok(partial)
    }

    /// The runs of a sweep whose results are not here.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn missing<'s>(&self, sweep: &'s Sweep) -> Result<Vec<&'s Unit>, Refusal> {
        let mut missing = Vec::new();
        for unit in &sweep.units {
            missing.extend(self.get(&unit.id)?.is_none().then_some(unit));
        }
        Ok(missing)
    }

    /// All results, by id.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of ours.
    pub fn all(&self) -> Result<Vec<Entry>, Refusal> {
        let refused = |error: io::Error| Refusal(format!("`{}`: cannot be read ({error})", self.0.display()));
        let mut entries = Vec::new();
        for file in fs::read_dir(self.runs()).map_err(refused)? {
            let path = file.map_err(refused)?.path();
            let Some(id) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json")) else {
                continue;
            };
            entries.push(entry(&path, id, &fs::read_to_string(&path).map_err(refused)?)?);
        }
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(entries)
    }

    fn unwritten(&self, path: &Path, error: &io::Error) -> Refusal {
        Refusal(format!(
            "`{}`: could not be written ({error}): make room in {} and start the sweep again; what was measured \
             before is kept",
            path.display(),
            self.0.display()
        ))
    }
}

fn entry(path: &Path, id: &str, text: &str) -> Result<Entry, Refusal> {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value["kind"] == "run" => Ok(Entry { id: id.to_owned(), value }),
        _ => Err(Refusal(format!(
            "`{}`: is no result of a run: move it elsewhere, and its run is made again",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Request;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("contend-store-{name}-{}", std::process::id()))
    }

    fn unit(id: &str) -> Unit {
        let (point, request) = (Vec::new(), Request::new("ycsb"));
        Unit { id: id.to_owned(), scheme: "silo", point, repetition: 0, request, lasts_s: 1.0 }
    }

    #[test]
    fn results_come_back_by_id_and_are_not_written_over() {
        let path = folder("ids");
        let store = Store::open(&path).expect("writable");
        assert!(store.get("a").expect("readable").is_none());
        store.put(&unit("a"), &json!({ "kind": "run", "commits": 1 })).expect("written");
        store.put(&unit("a"), &json!({ "kind": "run", "commits": 2 })).expect("the first stays");
        store.put(&unit("b"), &json!({ "kind": "run", "commits": 3 })).expect("written");
        assert_eq!(store.get("a").expect("readable").expect("there").value["commits"], 1);
        let all = Store::existing(&path).expect("there").all().expect("readable");
        assert_eq!(all.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(fs::read_dir(path.join("runs")).expect("there").count(), 2, "nothing partial is left");
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn what_a_kill_has_cut_short_is_removed_and_what_others_write_is_not() {
        let path = folder("partial");
        let store = Store::open(&path).expect("writable");
        let of = |writer: u32| path.join("runs").join(format!("a-{writer}.partial"));
        // No process has so great a number.
        let (gone, alive) = (of(u32::MAX), of(std::process::id()));
        for file in [&gone, &alive] {
            fs::write(file, "{").expect("written");
        }
        drop(store);
        Store::open(&path).expect("writable");
        assert!(!gone.exists() && alive.exists());
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn recipes_are_kept_once_each() {
        let path = folder("recipes");
        let store = Store::open(&path).expect("writable");
        for text in ["one", "two", "one"] {
            store.keep_recipe(text).expect("written");
        }
        assert_eq!(fs::read_to_string(path.join("recipe-2.toml")).expect("there"), "two");
        assert!(!path.join("recipe-3.toml").exists());
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn what_is_derived_is_written_over() {
        let path = folder("derived");
        let store = Store::open(&path).expect("writable");
        for text in ["one", "two"] {
            store.derive(Path::new("claims/a.json"), text).expect("written");
        }
        assert_eq!(fs::read_to_string(path.join("claims/a.json")).expect("there"), "two");
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn what_is_no_result_is_told_and_not_taken_for_one() {
        let path = folder("foreign");
        let store = Store::open(&path).expect("writable");
        fs::write(path.join("runs").join("a.json"), "{\"kind\": \"run\", \"comm").expect("written");
        assert!(store.get("a").expect_err("cut off").0.contains("move it elsewhere"));
        assert!(store.all().is_err());
        fs::remove_dir_all(&path).expect("its own directory");
        assert!(Store::existing(&path).expect_err("gone").0.contains("contend sweep"));
    }
}
