//! The interface through which all files are accessed. Directories are flat. A real directory promises what the
//! simulated one keeps at its worst: bytes are volatile until their file is synced, and names until their directory is.

mod look;
mod real;
mod simulated;

use core::fmt::Debug;
use std::io::{Error, ErrorKind, Result};

use sync::Arc;

pub use look::{Instead, MAKING, look};
pub use real::{DirectoryLock, LOCK, RealDirectory};
pub use simulated::{Fault, Power, Rotten, SimulatedDirectory, SimulatedDisk};

/// A directory of files, which may be on a device of its own.
pub trait Directory: Debug + Send + Sync {
    /// The name of the directory, for messages.
    fn name(&self) -> String;

    /// The names of the files, in order.
    fn files(&self) -> Result<Vec<String>>;

    /// Makes an empty file, which must not exist yet.
    fn create(&self, file: &str) -> Result<Arc<dyn File>>;

    /// Opens a file that exists.
    fn open(&self, file: &str) -> Result<Arc<dyn File>>;

    /// Renames a file; a file that has the new name already is replaced.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file.
    fn remove(&self, file: &str) -> Result<()>;

    /// Makes the names of the files durable.
    fn sync(&self) -> Result<()>;
}

/// An open file.
pub trait File: Debug + Send + Sync {
    /// The length of the file in bytes.
    fn bytes(&self) -> Result<u64>;

    /// Reads at an offset. Returns the number of bytes, which may be fewer than there are, and is 0 only at the end.
    fn read_at(&self, offset: u64, to: &mut [u8]) -> Result<usize>;

    /// Writes at an offset. Returns the number of bytes, which may be fewer than were given.
    fn write_at(&self, offset: u64, from: &[u8]) -> Result<usize>;

    /// Makes everything durable that was written. After an error it is unknown what is durable, whatever a later call
    /// says.
    fn sync(&self) -> Result<()>;
}

/// Writes all of `from`, however few bytes the system takes at a time.
///
/// # Errors
/// The errors of the system, except interruptions.
pub fn write_all(file: &dyn File, mut offset: u64, mut from: &[u8]) -> Result<()> {
    while !from.is_empty() {
        match file.write_at(offset, from) {
            Ok(0) => return Err(Error::new(ErrorKind::WriteZero, "the file takes no more bytes")),
            Ok(written) => {
                offset += written as u64;
                from = &from[written..];
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a whole file.
///
/// # Errors
/// The errors of the system, except interruptions.
pub fn read_all(file: &dyn File) -> Result<Vec<u8>> {
    let mut all = vec![0; file.bytes()? as usize];
    let mut end = 0;
    while end < all.len() {
        match file.read_at(end as u64, &mut all[end..]) {
            Ok(0) => break,
            Ok(read) => end += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    all.truncate(end);
    Ok(all)
}
