//! The two outputs: results go to standard output, everything else to standard error.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use lab::{Partial, Refusal};

/// Standard output. If its reader goes away, all further output is dropped, and nothing fails. If it cannot take the
/// output, for example on a full disk, the command fails.
#[derive(Debug, Default)]
pub(crate) struct Out {
    is_closed: bool,
    lost: Option<io::Error>,
}

impl Out {
    /// Prints text and flushes it at once.
    pub(crate) fn print(&mut self, text: &str) {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        if let Err(error) = written {
            if error.kind() != ErrorKind::BrokenPipe && !self.is_closed {
                self.lost = Some(error);
            }
            self.is_closed = true;
        }
    }

    /// Returns a sentence about output that was lost although its reader has not gone away; `None` if there is none.
    pub(crate) fn lost(&self) -> Option<String> {
        let error = self.lost.as_ref()?;
        Some(format!(
            "results could not be written to standard output ({error}): make room, or give another file, and run it \
             again"
        ))
    }

    /// Whether nobody gets further output.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }
}

/// Prints to standard error. Errors are ignored, since there is nobody to report them to.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// A directory that gets one file for each run. Until a file is complete it has a temporary name, which reserves its
/// number against others who write to the same directory.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates the directory if it does not exist, and tries to write to it: a full disk takes the name of a file but
    /// not a line, and this must be known before anything is measured.
    ///
    /// # Errors
    /// The system refuses either.
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

    /// Writes a new file whose name begins with `name`.
    ///
    /// # Errors
    /// The system refuses; the text says what to do. No part of the file is left.
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

    /// Creates a partial file with the first number that neither a complete file nor a partial one has.
    fn create(&self, name: &str) -> io::Result<Partial> {
        let mut number = 1_u32;
        loop {
            let whole = self.0.join(format!("{name}-{number:03}.json"));
            let path = whole.with_extension("json.partial");
            match Partial::create(path, &whole) {
                // Checked only now: if the check came first, another process could publish between the check and the
                // creation.
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
