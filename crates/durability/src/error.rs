//! Errors, and what the caller must do about them.

use core::error::Error as StdError;
use core::{fmt, ops};
use std::io::{Error, ErrorKind};

use sync::Arc;

use crate::layout::Mismatch;
use crate::store::Torn;

/// The reason for which nothing becomes durable any more. Commits that were durable stay so, and the database may still
/// be read; to write durably again, the process must be restarted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// A device has no room left: free some, then restart.
    Full {
        /// The device.
        place: String,
    },
    /// A device failed to write: look at it, then restart.
    Write {
        /// The device.
        place: String,
        /// The error of the system.
        kind: ErrorKind,
    },
    /// A device failed to sync bytes that it had taken. Which of them are durable is unknown, whatever the device says
    /// now: look at it, then restart.
    Sync {
        /// The device.
        place: String,
        /// The error of the system.
        kind: ErrorKind,
    },
    /// A commit was cut short by a panic, so that its epoch cannot be sealed: restart.
    CutShort,
    /// The log is closed: open it again.
    Closed,
}

impl LogError {
    pub(crate) fn write(place: String, error: &Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::Full { place }
            }
            kind => Self::Write { place, kind },
        }
    }

    pub(crate) fn sync(place: String, error: &Error) -> Self {
        Self::Sync { place, kind: error.kind() }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = "nothing that was not acknowledged yet will be durable";
        match self {
            Self::Full { place } => {
                write!(f, "{place}: no room is left; {after}: make some, then restart")
            }
            Self::Write { place, kind } => {
                write!(f, "{place}: writing failed ({kind}); {after}: look at the device, then restart")
            }
            Self::Sync { place, kind } => {
                write!(f, "{place}: syncing failed ({kind}); {after}: look at the device, then restart")
            }
            Self::CutShort => write!(f, "a commit was cut short by a panic; {after}: restart"),
            Self::Closed => write!(f, "the log is closed: open it again"),
        }
    }
}

impl StdError for LogError {}

/// An error of the system, with its text. Errors that contain it can be cloned and compared: two are equal if they have
/// the same kind, code and text.
#[derive(Clone)]
pub struct SystemError(Arc<Error>);

impl SystemError {
    /// The error of the system.
    pub fn get(&self) -> &Error {
        &self.0
    }
}

impl From<Error> for SystemError {
    fn from(error: Error) -> Self {
        Self(Arc::new(error))
    }
}

impl ops::Deref for SystemError {
    type Target = Error;

    fn deref(&self) -> &Error {
        &self.0
    }
}

impl PartialEq for SystemError {
    fn eq(&self, other: &Self) -> bool {
        let [ours, theirs] =
            [self, other].map(|error| (error.kind(), error.raw_os_error(), error.to_string()));
        ours == theirs
    }
}

impl Eq for SystemError {}

impl fmt::Debug for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An operation that was requested from the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Finding out what exists at a path.
    Look,
    /// Making a file or a directory.
    Make,
    /// Locking a file.
    Lock,
    /// Listing the files of a directory.
    List,
    /// Opening a file.
    Open,
    /// Reading a file.
    Read,
    /// Writing a file, and making it durable.
    Write,
    /// Removing a file.
    Remove,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Look => "to look what is there",
            Self::Make => "to make it",
            Self::Lock => "to lock it",
            Self::List => "to list its files",
            Self::Open => "to open it",
            Self::Read => "to read it",
            Self::Write => "to write it",
            Self::Remove => "to remove it",
        })
    }
}

/// Corrupt bytes: they differ from what was written, and cannot be a tail that a crash has torn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// The directory and the file.
    pub file: String,
    /// The offset in the file at which the damage begins, in bytes.
    pub offset: u64,
    /// A description of the damage.
    pub found: String,
}

impl StdError for Corruption {}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: at byte {}: {}", self.file, self.offset, self.found)
    }
}

/// The reason for which a directory was not opened. Nothing in it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The system refuses an operation: remove the cause, and try again.
    Io {
        /// The operation.
        operation: Operation,
        /// The directory or the file.
        place: String,
        /// The error of the system.
        error: SystemError,
    },
    /// The log was not closed, and [`Options::require_closed`](crate::Options::require_closed) requires that it was.
    /// Either its writer was ended, which loses nothing, or the end of the log is damaged.
    Unclosed {
        /// The file in which the log ends.
        file: String,
        /// The offset of the end in that file.
        offset: u64,
        /// The bytes behind the end, for each device that has any.
        torn: Vec<Torn>,
    },
    /// The directory has a format version that this program does not read: use the version that wrote it.
    Version {
        /// The file.
        file: String,
        /// The version of the file.
        found: u32,
    },
    /// The tables are not those that were logged: open the database with the schema that it was made with.
    Schema(Mismatch),
    /// The devices are not those that the log was made with, or their number differs: give the same devices, in their
    /// order.
    Devices {
        /// A description of the difference.
        found: String,
    },
    /// Bytes that were durable differ from what was written: restore a copy.
    Corrupt(Corruption),
}

impl OpenError {
    /// Makes an open error of an operation that the system refuses at a place.
    pub fn io(operation: Operation, place: impl Into<String>) -> impl Fn(Error) -> Self {
        let place = place.into();
        move |error| Self::Io { operation, place: place.clone(), error: error.into() }
    }
}

impl From<Corruption> for OpenError {
    fn from(corruption: Corruption) -> Self {
        Self::Corrupt(corruption)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { operation, place, error } => {
                write!(f, "{place}: the system refuses {operation}: {error}")
            }
            Self::Unclosed { file, offset, torn } => {
                write!(f, "{file}: the log was not closed, and ends at byte {offset}")?;
                torn.iter().try_for_each(|torn| write!(f, "; torn: {torn}"))
            }
            Self::Version { file, found } => {
                write!(f, "{file}: has format version {found}, which this program does not read")
            }
            Self::Schema(mismatch) => mismatch.fmt(f),
            Self::Devices { found } => f.write_str(found),
            Self::Corrupt(corruption) => corruption.fmt(f),
        }
    }
}

impl StdError for OpenError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error.get()),
            _ => None,
        }
    }
}
