//! What can go wrong, and what the caller must do.

use core::fmt;
use std::io::{Error, ErrorKind};

use crate::layout::Mismatch;

/// Why nothing becomes durable any more. What was durable before stays so, and the database may still be read; to write
/// durably again, the process must be restarted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// A device has no room left: make some, then restart.
    Full {
        /// Where.
        place: String,
    },
    /// A device failed to write: look at it, then restart.
    Write {
        /// Where.
        place: String,
        /// What the system said.
        kind: ErrorKind,
    },
    /// A device failed to make durable what it had taken. What it has of that is unknown, whatever it says now: look at
    /// it, then restart.
    Sync {
        /// Where.
        place: String,
        /// What the system said.
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

impl core::error::Error for LogError {}

/// Bytes that are not what was written, where they cannot be a tail that a crash has torn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// The directory and the file.
    pub file: String,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// What is wrong there.
    pub found: String,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: at byte {}: {}", self.file, self.offset, self.found)
    }
}

/// Why a directory was not opened. Nothing of it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The system refuses: see to it, and try again.
    Io {
        /// The directory or the file.
        place: String,
        /// What the system said.
        kind: ErrorKind,
    },
    /// The directory has what this version does not read: use the version that wrote it.
    Version {
        /// The file.
        file: String,
        /// The version that it has.
        found: u32,
    },
    /// The tables are not those that were logged: open it with the schema that it was made with.
    Schema(Mismatch),
    /// There are more or fewer devices than the log was made with, or others: give those that it had, in their order.
    Devices {
        /// What is wrong with them.
        found: String,
    },
    /// Bytes that were durable are not what was written: restore a copy.
    Corrupt(Corruption),
}

impl OpenError {
    pub(crate) fn io(place: String, error: &Error) -> Self {
        Self::Io { place, kind: error.kind() }
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
            Self::Io { place, kind } => write!(f, "{place}: {kind}"),
            Self::Version { file, found } => {
                write!(f, "{file}: has format version {found}, which this program does not read")
            }
            Self::Schema(mismatch) => mismatch.fmt(f),
            Self::Devices { found } => f.write_str(found),
            Self::Corrupt(corruption) => corruption.fmt(f),
        }
    }
}

impl core::error::Error for OpenError {}
