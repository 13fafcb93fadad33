//! Errors, and advice for the caller.

use core::error::Error as StdError;
use core::fmt;

use durability::{BackupError, CheckpointError, LogError};

use crate::column::TextError;

/// The next step for the caller after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Pass the error on with `?`: it ends the attempt of the transaction, and another attempt follows automatically.
    PassOn,
    /// Try again later: nothing is wrong except too much load.
    Retry,
    /// Change the program: the same call will fail again.
    Fix,
    /// Give up, or make room first.
    GiveUp,
    /// Close the database, fix the cause that the text names, and open the directory again.
    Reopen,
}

/// The error of a transaction, or of an operation within one. No write of a failed transaction stays.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The attempt conflicts with another transaction. Pass this error on: the transaction is executed again. A
    /// transaction never returns this error; see [`Contended`](Self::Contended).
    Conflict(Conflict),
    /// All attempts that [`Options::attempts`](crate::Options::attempts) allows met conflicts. Try again later, make
    /// the transaction smaller, or run fewer such transactions at a time.
    Contended {
        /// Number of attempts.
        attempts: u32,
        /// The conflict of the last attempt.
        last: Conflict,
    },
    /// No attempt has committed in the time that [`Options::deadline_ms`](crate::Options::deadline_ms) allows. Try
    /// again later, allow more time, or make the transaction smaller.
    Expired {
        /// Number of attempts.
        attempts: u32,
        /// The time that was allowed, in milliseconds.
        deadline_ms: u64,
        /// The conflict of the last attempt.
        last: Conflict,
    },
    /// The limits of running transactions and of waiting callers are reached; or this caller has waited for the longest
    /// time allowed. Try again later.
    Overloaded {
        /// Number of callers that waited at that moment.
        waiting: usize,
    },
    /// An insert would take more memory than [`Options::memory_bytes`](crate::Options::memory_bytes) allows. The
    /// transaction may go on without it. Delete rows, raise the limit, or give up.
    MemoryFull {
        /// Bytes in use.
        used_bytes: usize,
        /// The limit, in bytes.
        limit_bytes: usize,
    },
    /// A transaction was begun, or the database closed, within a transaction of the same database, by the same
    /// thread. Pass the transaction down instead of the database.
    Nested,
    /// The database is closed.
    Closed,
    /// The log has failed, so that no write would be durable: the transaction was not executed.
    /// [`Database::snapshot`](crate::Database::snapshot) reads on, and sees all that has committed in memory. Close the
    /// database, fix the cause that the text names, and open it again.
    Log(Box<LogError>),
    /// The log has failed while the transaction waited to be durable. The transaction has committed in memory, and
    /// whether it will be there when the database is opened again is unknown. Open the database again and look, before
    /// the transaction is tried again.
    NotDurable(Box<LogError>),
    /// No checkpoint was made. Nothing is lost, and the log grows until a checkpoint is made; the text names the cause.
    Checkpoint(Box<CheckpointError>),
    /// No backup was made. The database goes on; the text names the cause.
    Backup(Box<BackupError>),
    /// The call is wrong, whatever the rows are. Change the program; the text says how.
    Misuse(Misuse),
    /// The body ended the transaction with [`Error::rollback`]: its reads were consistent, and none of its writes stay.
    RolledBack(Box<dyn StdError + Send + Sync>),
}

impl Error {
    /// Makes the error by which a body ends its transaction, with a reason.
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

    /// Returns the advice for the caller.
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

/// The reason of a conflict that ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict(pub(crate) engine::Abort);

impl Conflict {
    /// The conflict's name in [`Counters`](crate::Counters).
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a conflict (`{}`)", self.name())
    }
}

/// A wrong call, with advice.
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
