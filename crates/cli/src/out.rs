//! The two ways out: results to standard output, everything else to standard error.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use lab::{Partial, Refusal};

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

/// A directory that takes one file a run. Until a file is whole its other name keeps its number from others who write
/// to the same directory.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes the directory if it is not there, and tries to write to it: a full disk takes a name but not
    /// a line, and is to be known before anything is measured.
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
        folder.create("probe").and_then(|mut probe| fill(&mut probe, "a line\n")).map_err(refused)?;
        Ok(folder)
    }

    /// Writes a file whose name begins with `name` and that was not there before.
    ///
    /// # Errors
    /// When the system refuses, in words that say what to do. No part of the file is left.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let written = self.create(name).and_then(|mut partial| {
            fill(&mut partial, text)?;
            partial.publish()
        });
        written.map_err(|error| {
            format!(
                "`--out {0}`: {name} could not be written ({error}), and is only on standard output: make room in \
                 {0} or give another directory, and run it again",
                self.0.display()
            )
        })
    }

    /// Takes the first number that neither a whole file nor a partial one has.
    fn create(&self, name: &str) -> io::Result<Partial> {
        let mut number = 1_u32;
        loop {
            let whole = self.0.join(format!("{name}-{number:03}.json"));
            let path = whole.with_extension("json.partial");
            match Partial::create(path, &whole) {
                // Asked only now: before, another could have published between the question and the creation.
                Ok(partial) if !fs::exists(&whole)? => return Ok(partial),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            number += 1;
        }
    }
}

fn fill(partial: &mut Partial, text: &str) -> io::Result<()> {
    partial.fill(|file| file.write_all(text.as_bytes()))
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
        let names = fs::read_dir(path.join("new")).expect("there").count();
        assert_eq!(names, 2, "neither a probe nor a partial file is left");
        let file = path.join("new").join("ycsb-silo-001.json");
        assert!(Folder::open(&file).expect_err("a file is no directory").0.contains("--out"));
        fs::remove_dir_all(path).expect("its own directory");
    }
}
