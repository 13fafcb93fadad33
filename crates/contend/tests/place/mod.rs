//! Directories for tests, which are removed when the test ends, even by a panic.

use std::fs;
use std::path::{Path, PathBuf};

/// A directory of a test's own.
pub(crate) struct Place(PathBuf);

impl Place {
    /// A directory that does not exist yet. The name is the test's.
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        _ = fs::remove_dir_all(&path);
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}
