//! Files of the system.

use std::fs;
use std::io::Result;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sync::Arc;

use super::{Directory, File};

/// A directory of the system.
#[derive(Debug)]
pub struct RealDirectory(PathBuf);

impl RealDirectory {
    /// A directory, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            fs::create_dir_all(path)?;
            // The name of the directory itself is to last, too.
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                fs::File::open(parent)?.sync_all()?;
            }
        }
        Ok(Self(path.to_owned()))
    }
}

impl Directory for RealDirectory {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    fn files(&self) -> Result<Vec<String>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                files.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        files.sort();
        Ok(files)
    }

    fn create(&self, file: &str) -> Result<Arc<dyn File>> {
        let made = fs::File::options().read(true).write(true).create_new(true).open(self.0.join(file))?;
        Ok(Arc::new(RealFile(made)))
    }

    fn open(&self, file: &str) -> Result<Arc<dyn File>> {
        Ok(Arc::new(RealFile(fs::File::open(self.0.join(file))?)))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    fn remove(&self, file: &str) -> Result<()> {
        fs::remove_file(self.0.join(file))
    }

    fn sync(&self) -> Result<()> {
        fs::File::open(&self.0)?.sync_all()
    }
}

/// A file of the system.
#[derive(Debug)]
struct RealFile(fs::File);

impl File for RealFile {
    fn bytes(&self) -> Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> Result<usize> {
        self.0.read_at(to, offset)
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> Result<usize> {
        self.0.write_at(from, offset)
    }

    /// The length belongs to what is synced: it is needed to read the bytes.
    fn sync(&self) -> Result<()> {
        self.0.sync_data()
    }
}
