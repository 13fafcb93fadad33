//! The two ways out: results to standard output, everything else to standard error.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use lab::Refusal;

/// Standard output. When its reader goes away, what is left to say is not said, and nothing fails.
#[derive(Debug, Default)]
pub(crate) struct Out {
    is_closed: bool,
}

impl Out {
    /// Prints text and passes it on at once.
    pub(crate) fn print(&mut self, text: &str) {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        self.is_closed |= written.is_err();
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }
}

/// Prints to standard error. If nobody reads that, there is nobody to tell.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// A directory that takes one file a run.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes the directory if it is not there, and tries to write to it.
    ///
    /// # Errors
    /// When the system refuses either.
    pub(crate) fn open(path: &Path) -> Result<Self, Refusal> {
        let refused = |error: io::Error| {
            Refusal(format!(
                "`--out {}`: cannot be written to ({error}): give another directory",
                path.display()
            ))
        };
        fs::create_dir_all(path).map_err(refused)?;
        let folder = Self(path.to_owned());
        let (probe, _) = folder.create("probe").map_err(refused)?;
        fs::remove_file(probe).map_err(refused)?;
        Ok(folder)
    }

    /// Writes a file whose name begins with `name` and that was not there before.
    ///
    /// # Errors
    /// When the system refuses, in words.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let written = self.create(name).and_then(|(_, mut file)| file.write_all(text.as_bytes()));
        written.map_err(|error| format!("no file could be written to {}: {error}", self.0.display()))
    }

    fn create(&self, name: &str) -> io::Result<(PathBuf, fs::File)> {
        let mut number = 1_u32;
        loop {
            let path = self.0.join(format!("{name}-{number:03}.json"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                opened => return opened.map(|file| (path, file)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_earlier_runs_are_kept() {
        let path = std::env::temp_dir().join(format!("contend-out-{}", std::process::id()));
        let folder = Folder::open(&path.join("new")).expect("writable");
        folder.write("ycsb-silo", "1").expect("written");
        folder.write("ycsb-silo", "2").expect("written");
        let read = |name: &str| fs::read_to_string(path.join("new").join(name)).expect("there");
        assert_eq!(
            (read("ycsb-silo-001.json"), read("ycsb-silo-002.json")),
            ("1".to_owned(), "2".to_owned())
        );
        let file = path.join("new").join("ycsb-silo-001.json");
        assert!(Folder::open(&file).expect_err("a file is no directory").0.contains("--out"));
        fs::remove_dir_all(path).expect("its own directory");
    }
}
