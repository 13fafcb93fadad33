//! Directories for tests, which go when the test ends, however it does.

use std::fs;
use std::path::{Path, PathBuf};

/// A directory of a test's own.
pub(crate) struct Place(PathBuf);

impl Place {
    /// One that is not there yet. The name is the test's.
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
