//! The host that runs are made on: one timed run at a time, and names that no other host takes.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::digest;
use crate::Refusal;

/// The file whose lock is the right to make a timed run. Not in `TMPDIR`, which may differ from user to user.
const LOCK: &str = "/tmp/contend.lock";
/// Digits that tell hosts apart.
const HOST_DIGITS: usize = 8;

/// The right to make timed runs on this host, which one process has at a time: two runs at once would share cores and
/// caches, and measure each other. It is advisory: who does not ask is not kept up.
#[derive(Debug)]
pub struct HostLock(PathBuf);

impl HostLock {
    /// The lock of this host: a file, or else the one that all sweeps of the host take.
    pub fn new(path: Option<&Path>) -> Self {
        Self(path.unwrap_or(Path::new(LOCK)).to_owned())
    }

    /// Takes the lock; none if another has it. It is held until the file is closed, by every process that has got it:
    /// a run that has it as its standard input holds it to its end, whatever becomes of the sweep that started it.
    ///
    /// # Errors
    /// When the file cannot be opened or locked.
    pub fn take(&self) -> Result<Option<File>, Refusal> {
        let file = self.open().map_err(|error| self.refused(&error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(self.refused(&error)),
        }
    }

    /// Opens the file for reading, which is enough for a lock, so that it may be another user's.
    fn open(&self) -> io::Result<File> {
        match File::open(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        match OpenOptions::new().read(true).write(true).create_new(true).open(&self.0) {
            Ok(file) => file.set_permissions(Permissions::from_mode(0o644)).map(|()| file),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => File::open(&self.0),
            Err(error) => Err(error),
        }
    }

    fn refused(&self, error: &io::Error) -> Refusal {
        Refusal(format!(
            "`{}`: cannot be locked ({error}), and without that lock two sweeps would disturb each other: set \
             CONTEND_LOCK to a file on this host that all who measure can read",
            self.0.display()
        ))
    }
}

/// What tells this host from others that write to the same directory: a process number means something only together
/// with it. Another start of the system, or another container, is another host.
pub(super) fn tag() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let processes = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let mut tag = digest(format!("{boot}{}", processes.display()).as_bytes());
    tag.truncate(HOST_DIGITS);
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_host_until_it_and_all_that_have_it_from_it_let_go() {
        let path = std::env::temp_dir().join(format!("contend-host-{}.lock", std::process::id()));
        let lock = HostLock::new(Some(&path));
        let held = lock.take().expect("possible").expect("free");
        assert!(lock.take().expect("possible").is_none(), "another has it");
        let handed_on = held.try_clone().expect("possible");
        drop(held);
        assert!(lock.take().expect("possible").is_none(), "it was handed on");
        drop(handed_on);
        assert!(lock.take().expect("possible").is_some());
        fs::remove_file(path).expect("its own file");
    }

    #[test]
    fn a_lock_that_cannot_be_had_is_refused_with_the_way_out() {
        let says = HostLock::new(Some(Path::new("/dev/null/lock"))).take().expect_err("no directory").0;
        assert!(says.contains("CONTEND_LOCK"), "{says}");
    }

    #[test]
    fn a_host_has_one_tag() {
        assert_eq!((tag(), tag().len()), (tag(), HOST_DIGITS));
    }
}
