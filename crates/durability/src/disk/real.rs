//! Directories and files of the operating system.

use std::fs;
use std::io::{ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sync::Arc;

use super::{Directory, File};

/// A directory of the operating system.
#[derive(Debug)]
pub struct RealDirectory(PathBuf);

impl RealDirectory {
    /// Opens a directory, which is made if it does not exist.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn new(path: &Path) -> Result<Self> {
        // The names of the directories that are made must be durable, too.
        let missing: Vec<&Path> =
            path.ancestors().take_while(|path| !path.is_dir() && !is_here(path)).collect();
        fs::create_dir_all(path)?;
        for made in missing.into_iter().rev() {
            let parent = made.parent().filter(|parent| !is_here(parent)).unwrap_or(Path::new("."));
            fs::File::open(parent)?.sync_all()?;
        }
        Ok(Self(path.to_owned()))
    }

    /// Locks the directory for a caller that may change its contents; `None` if another holds it or reads it, in this
    /// process or in another one.
    ///
    /// # Errors
    /// When the system does not support locks there, or refuses.
    pub fn lock(&self) -> Result<Option<DirectoryLock>> {
        let file = self.lock_file()?;
        let locked = file.try_lock();
        held(file, locked)
    }

    /// Locks the directory against changes while the caller reads it: others may read it, too, and no one can lock it
    /// exclusively. `None` if another has [locked](Self::lock) it. If the caller may not write, and the directory was
    /// never locked, nothing is locked.
    ///
    /// # Errors
    /// When the system does not support locks there, or refuses.
    pub fn lock_to_read(&self) -> Result<Option<DirectoryLock>> {
        let file = match fs::File::open(self.0.join(LOCK)) {
            Err(error) if error.kind() == ErrorKind::NotFound => match self.lock_file() {
                Err(error) if is_read_only(error.kind()) => return Ok(Some(DirectoryLock(None))),
                file => file?,
            },
            file => file?,
        };
        let locked = file.try_lock_shared();
        held(file, locked)
    }

    /// Opens the lock file, which is made if it does not exist.
    fn lock_file(&self) -> Result<fs::File> {
        fs::File::options().write(true).create(true).truncate(false).open(self.0.join(LOCK))
    }
}

fn held(file: fs::File, locked: core::result::Result<(), fs::TryLockError>) -> Result<Option<DirectoryLock>> {
    match locked {
        Ok(()) => Ok(Some(DirectoryLock(Some(file)))),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

fn is_read_only(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Whether a path is the empty path of the current directory.
fn is_here(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

/// The lock file. It stays, empty: if it were removed, two callers could have locked files of the same name.
pub const LOCK: &str = "LOCK";

/// A lock on a directory, exclusive or for reading. It lasts until it is dropped, or until the process ends in any way.
#[derive(Debug)]
pub struct DirectoryLock(
    #[expect(dead_code, reason = "the system lets go when it is closed")] Option<fs::File>,
);

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

/// A file of the operating system.
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

    /// The length is synced as well: it is needed to read the bytes.
    fn sync(&self) -> Result<()> {
        self.0.sync_data()
    }
}
