//! The store of results by id: a directory with one file for each run, which is never overwritten.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use results::{Line, Run, Unread};

use super::host::tag;
use super::{Sweep, Unit};
use crate::{Partial, Refusal};

/// A directory of results.
#[derive(Debug)]
pub struct ResultStore(PathBuf);

/// A result.
#[derive(Clone, Debug)]
pub struct StoredResult {
    /// The id of the result.
    pub id: String,
    /// The result, with the fields that the sweep adds, such as the id and the point.
    pub run: Run,
}

impl ResultStore {
    /// Opens a directory, and creates it if it does not exist. Removes incomplete files that killed processes left.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        let refused = |error: io::Error| {
            Refusal(format!(
                "`--out {}`: cannot be written to ({error}): give another directory",
                path.display()
            ))
        };
        let store = Self(path.to_owned());
        fs::create_dir_all(store.runs()).map_err(refused)?;
        // A full disk accepts a new name but not a line. This has to be found before anything is measured.
        store.write(&store.runs().join("probe"), "a line\n").map(drop).map_err(refused)?;
        store.clear().map_err(refused)?;
        Ok(store)
    }

    /// Removes incomplete files of processes of this host that have ended. It is unknown here whether processes of
    /// other hosts have ended.
    fn clear(&self) -> io::Result<()> {
        let end = format!("-{}.partial", tag());
        for file in fs::read_dir(self.runs())? {
            let path = file?.path();
            let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(&end));
            let writer = name.and_then(|name| name.rsplit_once('-')?.1.parse::<u32>().ok());
            if writer.is_some_and(|writer| !Path::new(&format!("/proc/{writer}")).exists()) {
                match fs::remove_file(path) {
                    // Another process has removed it.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    removed => removed?,
                }
            }
        }
        Ok(())
    }

    /// Opens an existing directory of results.
    ///
    /// # Errors
    /// A directory that does not exist, or that has never held results.
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

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// Keeps the text of a recipe beside the results, once, and returns its path.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn keep_recipe(&self, text: &str) -> Result<PathBuf, Refusal> {
        let mut number = 1;
        loop {
            let path = self.0.join(format!("recipe-{number}.toml"));
            match fs::read_to_string(&path) {
                Ok(earlier) if earlier == text => return Ok(path),
                Ok(_) => number += 1,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let partial = self.write(&path, text).map_err(|error| self.unwritten(&path, &error))?;
                    match partial.publish() {
                        Ok(()) => return Ok(path),
                        // Another sweep was faster: its recipe may be the same one or another one.
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                        Err(error) => return Err(self.unwritten(&path, &error)),
                    }
                }
                Err(error) => return Err(self.unwritten(&path, &error)),
            }
        }
    }

    /// Writes a file that is derived from the results, and replaces an earlier one. `path` is relative to the
    /// directory.
    ///
    /// # Errors
    /// Errors of the system. The earlier file is then still there.
    pub fn derive(&self, path: &Path, text: &str) -> Result<(), Refusal> {
        let whole = self.0.join(path);
        let made = whole.parent().map_or(Ok(()), fs::create_dir_all);
        let written = made.and_then(|()| self.write(&whole, text)).and_then(Partial::replace);
        written.map_err(|error| self.unwritten(&whole, &error))
    }

    /// Returns the result with an id; `None` if there is none.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no result.
    pub fn get(&self, id: &str) -> Result<Option<StoredResult>, Refusal> {
        let path = self.file(id);
        match fs::read_to_string(&path) {
            Ok(text) => entry(&path, id, &text).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Refusal(format!("`{}`: cannot be read ({error})", path.display()))),
        }
    }

    fn file(&self, id: &str) -> PathBuf {
        self.runs().join(format!("{id}.json"))
    }

    /// Returns the text of the result with an id.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn text(&self, id: &str) -> Result<String, Refusal> {
        let path = self.file(id);
        fs::read_to_string(&path)
            .map_err(|error| Refusal(format!("`{}`: cannot be read ({error})", path.display())))
    }

    /// Keeps the result of a unit.
    ///
    /// # Errors
    /// Errors of the system; no part of the file is left. An existing result with this id is no error, and stays.
    pub fn put(&self, unit: &Unit, run: &Run) -> Result<(), Refusal> {
        // If another process was faster, both results are valid.
        self.keep(&unit.id, &format!("{run}\n")).map(drop)
    }

    /// Keeps the text of a result under its id, unless there is a result with this id. Returns whether there was none.
    pub(super) fn keep(&self, id: &str, text: &str) -> Result<bool, Refusal> {
        let whole = self.file(id);
        match self.write(&whole, text).and_then(Partial::publish) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            written => written.map(|()| true).map_err(|error| self.unwritten(&whole, &error)),
        }
    }

    /// Writes the text of a new file, under a temporary name with the process and the host.
    fn write(&self, whole: &Path, text: &str) -> io::Result<Partial> {
        let name = whole.file_stem().unwrap_or_default().to_string_lossy();
        let path = self.runs().join(format!("{name}-{}-{}.partial", std::process::id(), tag()));
        let mut partial = Partial::create(path, whole)?;
        partial.fill(|file| file.write_all(text.as_bytes()))?;
        Ok(partial)
    }

    /// Returns the runs of a sweep whose results are not in the store.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub fn missing<'s>(&self, sweep: &'s Sweep) -> Result<Vec<&'s Unit>, Refusal> {
        let mut missing = Vec::new();
        for unit in &sweep.units {
            missing.extend(self.get(&unit.id)?.is_none().then_some(unit));
        }
        Ok(missing)
    }

    /// Returns all results, in the order of their ids.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no result.
    pub fn all(&self) -> Result<Vec<StoredResult>, Refusal> {
        let mut entries = Vec::new();
        for name in self.names()? {
            entries.extend(self.named(&name)?);
        }
        Ok(entries)
    }

    /// Returns the names of all files in the directory of results except incomplete ones, in order.
    pub(super) fn names(&self) -> Result<Vec<String>, Refusal> {
        let refused = |error: io::Error| Refusal(format!("`{}`: cannot be read ({error})", self.0.display()));
        let mut names = Vec::new();
        for file in fs::read_dir(self.runs()).map_err(refused)? {
            let name = file.map_err(refused)?.file_name().to_string_lossy().into_owned();
            names.extend((!name.ends_with(".partial")).then_some(name));
        }
        names.sort();
        Ok(names)
    }

    /// Returns the result in a file; `None` if the file's name is not that of a result.
    pub(super) fn named(&self, name: &str) -> Result<Option<StoredResult>, Refusal> {
        name.strip_suffix(".json").map_or(Ok(None), |id| self.get(id))
    }

    /// Returns the texts of the kept recipes.
    pub(super) fn recipes(&self) -> Result<Vec<String>, Refusal> {
        let mut texts = Vec::new();
        loop {
            let path = self.0.join(format!("recipe-{}.toml", texts.len() + 1));
            match fs::read_to_string(&path) {
                Ok(text) => texts.push(text),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(texts),
                Err(error) => {
                    return Err(Refusal(format!("`{}`: cannot be read ({error})", path.display())));
                }
            }
        }
    }

    fn unwritten(&self, path: &Path, error: &io::Error) -> Refusal {
        Refusal(format!(
            "`{}`: could not be written ({error}): make room in {} and start the sweep again; the results so far are \
             kept",
            path.display(),
            self.0.display()
        ))
    }
}

fn entry(path: &Path, id: &str, text: &str) -> Result<StoredResult, Refusal> {
    match results::parse(text) {
        Ok(Some(Line::Run(run))) => Ok(StoredResult { id: id.to_owned(), run: *run }),
        Err(unread @ Unread::Version(_)) => Err(Refusal(format!("`{}`: {unread}", path.display()))),
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
    use crate::json::tests::given;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("contend-store-{name}-{}", std::process::id()))
    }

    fn unit(id: &str) -> Unit {
        let (point, request) = (Vec::new(), Request::new("ycsb"));
        Unit {
            id: id.to_owned(),
            scheme: "silo",
            point,
            repetition: 0,
            request,
            lasts_s: 1.0,
            needed_bytes: 0,
            is_log_in_memory: false,
        }
    }

    #[test]
    fn results_come_back_by_id_and_are_not_written_over() {
        let path = folder("ids");
        let store = ResultStore::open(&path).expect("writable");
        assert!(store.get("a").expect("readable").is_none());
        store.put(&unit("a"), &given(json!({ "commits": 1 }))).expect("written");
        store.put(&unit("a"), &given(json!({ "commits": 2 }))).expect("the first stays");
        store.put(&unit("b"), &given(json!({ "commits": 3 }))).expect("written");
        assert_eq!(store.get("a").expect("readable").expect("there").run.counts.commits, 1);
        let all = ResultStore::existing(&path).expect("there").all().expect("readable");
        assert_eq!(all.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(fs::read_dir(path.join("runs")).expect("there").count(), 2, "nothing partial is left");
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn what_a_kill_has_cut_short_is_removed_and_what_others_write_is_not() {
        let path = folder("partial");
        let store = ResultStore::open(&path).expect("writable");
        let of = |writer: u32, host: &str| path.join("runs").join(format!("a-{writer}-{host}.partial"));
        // No process has such a large number.
        let (gone, alive) = (of(u32::MAX, &tag()), of(std::process::id(), &tag()));
        let elsewhere = of(u32::MAX, "another");
        for file in [&gone, &alive, &elsewhere] {
            fs::write(file, "{").expect("written");
        }
        drop(store);
        ResultStore::open(&path).expect("writable");
        assert!(!gone.exists() && alive.exists());
        assert!(elsewhere.exists(), "a process of another host may still write");
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn recipes_are_kept_once_each() {
        let path = folder("recipes");
        let store = ResultStore::open(&path).expect("writable");
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
        let store = ResultStore::open(&path).expect("writable");
        for text in ["one", "two"] {
            store.derive(Path::new("claims/a.json"), text).expect("written");
        }
        assert_eq!(fs::read_to_string(path.join("claims/a.json")).expect("there"), "two");
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn what_is_no_result_is_told_and_not_taken_for_one() {
        let path = folder("foreign");
        let store = ResultStore::open(&path).expect("writable");
        fs::write(path.join("runs").join("a.json"), "{\"kind\": \"run\", \"comm").expect("written");
        assert!(store.get("a").expect_err("cut off").0.contains("move it elsewhere"));
        assert!(store.all().is_err());
        fs::write(path.join("runs").join("a.json"), "{\"kind\": \"run\", \"schema\": 2}").expect("written");
        let says = store.get("a").expect_err("of another version").0;
        assert!(
            says.contains("has version 2 of the schema of results, and this program reads version 1"),
            "{says}"
        );
        fs::remove_dir_all(&path).expect("its own directory");
        assert!(ResultStore::existing(&path).expect_err("gone").0.contains("contend sweep"));
    }
}
