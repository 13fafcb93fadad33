//! Files that have their names only once they are whole and on the disk: whoever finds one can trust it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A file that is not whole yet, under a name that says so. Dropped before it is published, it is gone.
#[derive(Debug)]
pub struct Partial {
    file: File,
    path: PathBuf,
    whole: PathBuf,
}

impl Partial {
    /// Makes the file that is to be called `whole`, and is called `path` until then.
    ///
    /// # Errors
    /// Those of the system; there is a file called `path`.
    pub fn create(path: PathBuf, whole: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok(Self { file, path, whole: whole.to_owned() })
    }

    /// Writes, and waits until the disk has it: some systems say only then that there is no room.
    ///
    /// # Errors
    /// Those of the system and of `write`.
    pub fn fill(&mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        write(&mut self.file)?;
        self.file.sync_all()
    }

    /// Gives the file its name, unless another has it.
    ///
    /// # Errors
    /// Those of the system; there is a file of this name ([`ErrorKind::AlreadyExists`]), which stays as it is.
    pub fn publish(self) -> io::Result<()> {
        match fs::hard_link(&self.path, &self.whole) {
            // Some file systems know no second names: there the question and the answer are two steps.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                if fs::exists(&self.whole)? {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                fs::rename(&self.path, &self.whole)
            }
            published => published,
        }
    }

    /// Gives the file its name, in place of one that may have it: for what is derived from other files and can be made
    /// again.
    ///
    /// # Errors
    /// Those of the system.
    pub fn replace(self) -> io::Result<()> {
        fs::rename(&self.path, &self.whole)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // When the system does not let go of it, its name says what it is; renamed, it is not there.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_has_its_name_once_it_is_whole_and_is_not_written_over() {
        let folder = std::env::temp_dir().join(format!("contend-partial-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("writable");
        let whole = folder.join("a.json");
        let write = |text: &'static str| {
            let mut partial = Partial::create(folder.join("a.partial"), &whole).expect("no other");
            partial.fill(|file| file.write_all(text.as_bytes())).expect("written");
            partial
        };
        let unpublished = write("nothing");
        assert!(Partial::create(folder.join("a.partial"), &whole).is_err(), "the name is taken");
        drop(unpublished);
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 0, "it is gone");
        write("first").publish().expect("no other");
        let error = write("second").publish().expect_err("there is another");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&whole).expect("there"), "first");
        write("third").replace().expect("renamed");
        assert_eq!(fs::read_to_string(&whole).expect("there"), "third");
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 1, "nothing partial is left");
        fs::remove_dir_all(folder).expect("its own directory");
    }
}
