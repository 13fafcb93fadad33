//! The host that runs are made on: a lock for one timed run at a time, and a tag for names that no other host takes.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::digest;
use crate::Refusal;

/// The file whose lock is the right to make a timed run. It is not in `TMPDIR`, which may differ from user to user.
const LOCK: &str = "/tmp/contend.lock";
/// The number of digits of a host's tag.
const HOST_DIGITS: usize = 8;

/// The right to make timed runs on this host, which one process has at a time: two runs at once would share cores and
/// caches, and disturb each other's figures. The lock is advisory: it does not stop programs that do not ask for it.
#[derive(Debug)]
pub struct HostLock(PathBuf);

impl HostLock {
    /// Returns the lock of this host: the file at `path`, or else the file that all sweeps of the host use.
    pub fn new(path: Option<&Path>) -> Self {
        Self(path.unwrap_or(Path::new(LOCK)).to_owned())
    }

    /// Takes the lock; returns `None` if another process has it. The lock is held until every process that has the file
    /// has closed it: a run that gets the file as its standard input holds the lock to its end, even if the sweep that
    /// started the run ends.
    ///
    /// # Errors
    /// A file that cannot be opened or locked.
    pub fn take(&self) -> Result<Option<File>, Refusal> {
        let file = self.open().map_err(|error| self.refused(&error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(self.refused(&error)),
        }
    }

    /// Opens the file for reading, which is enough for a lock, so that the file may belong to another user.
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

/// Returns the tag of this host, which differs from the tags of other hosts that write to the same directory. A process
/// number identifies a process only together with this tag. After a restart of the system, and in another container,
/// the tag is another one.
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
