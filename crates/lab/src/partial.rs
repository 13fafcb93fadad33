//! Files that get their final names only when they are complete and on the disk, so that readers can trust them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// An incomplete file, under a temporary name. It is removed if this value is dropped before it is published.
#[derive(Debug)]
pub struct Partial {
    file: File,
    path: PathBuf,
    whole: PathBuf,
}

impl Partial {
    /// Creates a file that is called `path` until it is published, and `whole` then.
    ///
    /// # Errors
    /// Errors of the system; a file called `path` exists.
    pub fn create(path: PathBuf, whole: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok(Self { file, path, whole: whole.to_owned() })
    }

    /// Writes the content, and waits until the disk has it: some systems report a full disk only then.
    ///
    /// # Errors
    /// Errors of the system and of `write`.
    pub fn fill(&mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        write(&mut self.file)?;
        self.file.sync_all()
    }

    /// Gives the file its final name, unless another file has that name.
    ///
    /// # Errors
    /// Errors of the system; a file of this name exists ([`ErrorKind::AlreadyExists`]), and stays as it is.
    pub fn publish(self) -> io::Result<()> {
        match fs::hard_link(&self.path, &self.whole) {
            // Some file systems have no hard links: there, the test for the name and the renaming are two steps.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                if fs::exists(&self.whole)? {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                fs::rename(&self.path, &self.whole)
            }
            published => published,
        }
    }

    /// Gives the file its final name, and replaces a file that has that name. Use it for content that is derived from
    /// other files and can be made again.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn replace(self) -> io::Result<()> {
        fs::rename(&self.path, &self.whole)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // If the removal fails, the name still marks the file as incomplete. After a rename, there is no file of this
        // name.
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
