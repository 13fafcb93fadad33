//! Errors, and what the caller does about them.

use core::error::Error as StdError;
use core::fmt;

use durability::{BackupError, CheckpointError, LogError};

use crate::column::TextError;

/// What the caller of something that failed does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Pass it on with `?`: within a transaction, it ends the attempt, and another one follows by itself.
    PassOn,
    /// Try again later: nothing is wrong but that there was too much to do.
    Retry,
    /// Change the program: the same call will fail again.
    Fix,
    /// Give up, or make room first.
    GiveUp,
    /// Close the database, see to what the text names, and open its directory again.
    Reopen,
}

/// Why a transaction, or an operation of one, did not succeed. Nothing of a transaction that failed stays.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Another transaction stands in the way of this attempt. Pass it on: the transaction is executed again. It comes
    /// out of a transaction never; see [`Contended`](Self::Contended).
    Conflict(Conflict),
    /// All attempts that [`Options::attempts`](crate::Options::attempts) allows met conflicts. Try again later, make
    /// the transaction smaller, or have fewer of them at a time.
    Contended {
        /// How many attempts there were.
        attempts: u32,
        /// Why the last one failed.
        last: Conflict,
    },
    /// No attempt has committed in the time that [`Options::deadline_ms`](crate::Options::deadline_ms) allows. Try
    /// again later, allow more, or make the transaction smaller.
    Expired {
        /// How many attempts there were.
        attempts: u32,
        /// How many milliseconds they had.
        deadline_ms: u64,
        /// Why the last one failed.
        last: Conflict,
    },
    /// As many transactions as may be under way are, and as many callers as may wait do; or this one has waited as
    /// long as it may. Try again later.
    Overloaded {
        /// How many callers waited at that moment.
        waiting: usize,
    },
    /// An insert would take more memory than [`Options::memory_bytes`](crate::Options::memory_bytes) allows. The
    /// transaction may go on without it. Delete rows, raise the limit, or give up.
    MemoryFull {
        /// Bytes in use.
        used_bytes: usize,
        /// Bytes that may be in use.
        limit_bytes: usize,
    },
    /// A transaction was begun, or the database closed, within a transaction of the same database, by the same
    /// thread. Pass the transaction down instead of the database.
    Nested,
    /// The database is closed.
    Closed,
    /// The log has failed, so that nothing which is written now would last: the transaction was not executed.
    /// [`Database::snapshot`](crate::Database::snapshot) reads on, and sees what has committed in memory. Close the
    /// database, see to what the text names, and open it again.
    Log(Box<LogError>),
    /// The log has failed while the transaction waited to be durable: it has committed in memory, and whether it will
    /// be there when the database is opened again is unknown. Open it again, and look, before it is tried again.
    NotDurable(Box<LogError>),
    /// No checkpoint was made. Nothing is lost, and the log grows until one is; the text says what to see to.
    Checkpoint(Box<CheckpointError>),
    /// No backup was made. The database goes on; the text says what to see to.
    Backup(Box<BackupError>),
    /// The call makes no sense, whatever the rows are. Change the program; the text says how.
    Misuse(Misuse),
    /// The body of the transaction ended it with [`Error::rollback`]: what it read is consistent, and nothing of what
    /// it wrote stays.
    RolledBack(Box<dyn StdError + Send + Sync>),
}

impl Error {
    /// Ends the transaction from within, for this reason.
    ///
    /// ```
    /// # use contend::{Database, Error, Options};
    /// # let db = Database::in_memory(Options::new())?;
    /// let ended = db.transact(|_| Err::<(), _>(Error::rollback("insufficient funds")));
    /// assert_eq!(ended.unwrap_err().to_string(), "rolled back: insufficient funds");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rollback(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::RolledBack(reason.into())
    }

    /// What to do about it.
    pub fn advice(&self) -> Advice {
        match self {
            Self::Conflict(_) => Advice::PassOn,
            Self::Contended { .. } | Self::Expired { .. } | Self::Overloaded { .. } => Advice::Retry,
            Self::Backup(error) if matches!(**error, BackupError::NotEmpty { .. }) => Advice::Fix,
            Self::Nested | Self::Misuse(_) => Advice::Fix,
            Self::MemoryFull { .. }
            | Self::Closed
            | Self::Checkpoint(_)
            | Self::Backup(_)
            | Self::RolledBack(_) => Advice::GiveUp,
            Self::Log(_) | Self::NotDurable(_) => Advice::Reopen,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(conflict) => write!(f, "{conflict}: pass this on, and the transaction runs again"),
            Self::Contended { attempts, last } => write!(
                f,
                "none of {attempts} attempts committed, the last because of {last}: try again later, or with smaller \
                 transactions"
            ),
            Self::Expired { attempts, deadline_ms, last } => write!(
                f,
                "none of {attempts} attempts committed within {deadline_ms} ms, the last because of {last}: try again \
                 later, raise `deadline_ms`, or read and write less at a time"
            ),
            Self::Overloaded { waiting } => {
                write!(f, "too much to do, with {waiting} callers waiting: try again later")
            }
            Self::MemoryFull { used_bytes, limit_bytes } => write!(
                f,
                "{used_bytes} of {limit_bytes} bytes are in use: delete rows, or raise `memory_bytes`"
            ),
            Self::Nested => f.write_str(
                "a transaction of this database is under way in this thread: pass it down instead of the database",
            ),
            Self::Closed => f.write_str("the database is closed"),
            Self::Log(failure) => {
                write!(f, "the log has failed: {failure}")
            }
            Self::NotDurable(failure) => write!(
                f,
                "committed in memory, and whether it will survive is unknown: {failure}, and look whether it is there"
            ),
            Self::Checkpoint(error) => error.fmt(f),
            Self::Backup(error) => error.fmt(f),
            Self::Misuse(misuse) => misuse.fmt(f),
            Self::RolledBack(reason) => write!(f, "rolled back: {reason}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::RolledBack(reason) => Some(reason.as_ref()),
            Self::Log(failure) | Self::NotDurable(failure) => Some(failure.as_ref()),
            Self::Checkpoint(error) => Some(error.as_ref()),
            Self::Backup(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl From<TextError> for Error {
    fn from(error: TextError) -> Self {
        Self::rollback(error)
    }
}

impl From<engine::RawError> for Error {
    fn from(error: engine::RawError) -> Self {
        match error {
            engine::RawError::Abort(abort) => Self::Conflict(Conflict(abort)),
            engine::RawError::Misuse(misuse) => Self::Misuse(Misuse::new(misuse.to_string())),
        }
    }
}

/// What stood in the way of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict(pub(crate) engine::Abort);

impl Conflict {
    /// The name under which [`Counters`](crate::Counters) count it.
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a conflict (`{}`)", self.name())
    }
}

/// A call that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse(Box<str>);

impl Misuse {
    pub(crate) fn new(says: impl Into<Box<str>>) -> Self {
        Self(says.into())
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Misuse {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_call_may_return_is_small() {
        assert!(size_of::<Error>() <= 24, "{} bytes", size_of::<Error>());
    }
}
