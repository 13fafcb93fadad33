//! Errors of opening a database, and advice for the caller.

use core::error::Error as StdError;
use core::fmt;
use std::path::PathBuf;

use durability::disk::Instead;
use durability::{Corruption, Operation, SystemError, Torn};

use crate::definition::DefinitionError;
use crate::shape::SchemaMismatch;

/// The error of making or opening a database. Each says what to do. The directory is unchanged, except that it may have
/// been made, with an empty file `LOCK`, and `MAKING` if a database was to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no scheme of this name. Change it.
    UnknownScheme {
        /// The name that was given.
        name: String,
        /// The existing name that is most similar, if any is.
        nearest: Option<&'static str>,
    },
    /// The scheme is not in this build. Enable the feature `all-schemes` of the crate `contend`.
    NotBuilt {
        /// The scheme.
        name: &'static str,
    },
    /// The scheme cannot serve single transactions from any thread. Take another.
    Unsuited {
        /// The scheme.
        name: &'static str,
        /// The reason.
        says: &'static str,
    },
    /// A setting is unknown, out of its range, or contradicts another; or there are no sessions. Change it as the text
    /// says.
    Setting(String),
    /// A number exceeds its limit. Ask for less, as the text says.
    Limit {
        /// The things of which there are too many, in the plural: `tables` for example.
        what: &'static str,
        /// The number that was asked for.
        given: usize,
        /// The limit.
        most: usize,
        /// Advice for the caller.
        fix: &'static str,
    },
    /// There is not enough memory for hash indexes, which tables found by equality only have, and which are made for
    /// the expected rows. Expect fewer rows, or take an ordered index, which grows as rows come; or raise the limit.
    Memory {
        /// The table with the largest hash index.
        table: String,
        /// The rows that this table expects.
        expected_rows: usize,
        /// Bytes that all hash indexes take; `None` if they exceed the address space.
        needed_bytes: Option<u64>,
        /// The limit that they exceed.
        limit: MemoryLimit,
    },
    /// The definition of a table is invalid. Change it as the text says.
    Definition(DefinitionError),
    /// There is no database at the path, and none is made: because of the thing found there, or because
    /// [`Options::create`](crate::Options::create) says so. Check the path, or do as the text says.
    NoDatabase {
        /// The path that was given, or the part of it that is in the way.
        path: PathBuf,
        /// The thing found there.
        instead: Instead,
    },
    /// There is a database at the path, and [`Options::create`](crate::Options::create) asks for a new one. Give
    /// another path, or open the existing database.
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The log of the directory was not closed, and
    /// [`Options::require_closed`](crate::Options::require_closed) says that it must be. If the program that had it was
    /// killed, or the machine has crashed, nothing is wrong: open it without that option. If it was closed, the end of
    /// its log is damaged: keep the directory, and open a copy of a [backup](crate::Database::backup).
    Unclosed {
        /// The file in which the log ends.
        file: String,
        /// The position of the end in the file, in bytes.
        offset: u64,
        /// Bytes behind the end, if there are any.
        torn: Option<Torn>,
    },
    /// The directory is open already, in this process or in another, or `contend recover` reads it. Close it there; or,
    /// within one process, clone the [`Database`](crate::Database) that has it open; or wait.
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The tables of the directory differ from the declared ones. Declare them as the text says.
    Schema(SchemaMismatch),
    /// The directory was written by a program that stores no column definitions, the laboratory for example. Open it
    /// with that program.
    Foreign {
        /// The file that lacks the columns.
        file: String,
    },
    /// The log of the directory was made for several devices. Open it with the program that made it.
    Devices {
        /// A description of the log.
        found: String,
    },
    /// The directory has a format that this version does not read. Use the version that wrote it.
    Version {
        /// The file.
        file: String,
        /// The format version of the file.
        found: u32,
    },
    /// Durable data differ from the data that were written: a device has lost data, or a file was changed or removed.
    /// Keep the directory for an investigation, and open a copy of a [backup](crate::Database::backup).
    Corrupt(Corruption),
    /// The system refuses an operation. Fix the cause, and try again. The system's error is the
    /// [source](StdError::source) of this error.
    Io {
        /// The operation.
        operation: Operation,
        /// The directory or the file.
        path: PathBuf,
        /// The system's error.
        error: SystemError,
    },
}

/// A limit on memory, with the bytes that it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// [`Options::memory_bytes`](crate::Options::memory_bytes).
    Setting(u64),
    /// A limit of the process: `ulimit -v`, or `ulimit -d`.
    Process(u64),
    /// The limit of a control group: of a container, for example.
    ControlGroup(u64),
    /// The memory that the machine has left.
    Machine(u64),
    /// The system, which has refused the memory.
    System,
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(bytes) => write!(f, "`memory_bytes` allows {bytes}"),
            Self::Process(bytes) => write!(f, "the limit of the process (`ulimit -v`) leaves {bytes}"),
            Self::ControlGroup(bytes) => write!(f, "the limit of the control group leaves {bytes}"),
            Self::Machine(bytes) => write!(f, "the machine has {bytes} left"),
            Self::System => f.write_str("the system has not as many"),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownScheme { name, nearest } => {
                write!(f, "there is no scheme `{name}`")?;
                nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean `{nearest}`?"))
            }
            Self::NotBuilt { name } => {
                write!(
                    f,
                    "scheme `{name}` is not in this build: enable the feature `all-schemes` of `contend`"
                )
            }
            Self::Unsuited { name, says } => write!(f, "scheme `{name}` {says}"),
            Self::Setting(says) => f.write_str(says),
            Self::Limit { what, given, most, fix } => {
                write!(f, "{given} {what}, and {most} are the most: {fix}")
            }
            Self::Memory { table, expected_rows, needed_bytes, limit } => {
                needs_memory(f, *needed_bytes)?;
                write!(
                    f,
                    ", and {limit}; the largest is that of table `{table}` for {expected_rows} rows: expect fewer, \
                     take `point` away, or let the process have more memory"
                )
            }
            Self::Definition(error) => error.fmt(f),
            Self::NoDatabase { path, instead } => write!(f, "{}: {}", path.display(), Advised(instead)),
            Self::Exists { path } => write!(
                f,
                "{}: has a database already: give another path, or open this one without `Create::New`",
                path.display()
            ),
            Self::Unclosed { file, offset, torn } => {
                write!(f, "{file}: the log was not closed, and ends at byte {offset}, ")?;
                stands_behind(f, torn.as_ref())?;
                f.write_str(
                    ": if its program was killed or the machine has crashed, open it without `require_closed`, and \
                     all that was acknowledged is there; if it was closed, its end is damaged: keep the directory, \
                     and open a copy of a backup",
                )
            }
            Self::Locked { path } => {
                let path = path.display();
                write!(
                    f,
                    "{path}: is open already, here or in another process: close it there, or share it; or `contend \
                     recover` reads it: wait until that ends"
                )
            }
            Self::Schema(mismatch) => mismatch.fmt(f),
            Self::Foreign { file } => {
                write!(f, "{file}: was written by a program that kept no columns: open it with that program")
            }
            Self::Devices { found } => {
                write!(f, "{found}; this library takes a log on one device: open it with what made it")
            }
            Self::Version { file, found } => {
                write!(f, "{file}: has format version {found}: use the version of `contend` that wrote it")
            }
            Self::Corrupt(corruption) => {
                write!(
                    f,
                    "{corruption}; nothing was changed: keep the directory, and open a copy of a backup"
                )
            }
            Self::Io { operation, path, error } => {
                let path = path.display();
                write!(f, "{path}: the system refuses {operation}: {error}: see to it, and try again")
            }
        }
    }
}

fn needs_memory(f: &mut fmt::Formatter<'_>, bytes: Option<u64>) -> fmt::Result {
    f.write_str("hash indexes of the rows that are expected take ")?;
    match bytes {
        Some(bytes) => write!(f, "{bytes} bytes"),
        None => f.write_str("more bytes than a process can address"),
    }
}

fn stands_behind(f: &mut fmt::Formatter<'_>, torn: Option<&Torn>) -> fmt::Result {
    match torn {
        Some(torn) => write!(f, "behind which {} bytes do not count", torn.bytes),
        None => f.write_str("behind which nothing stands"),
    }
}

/// The thing found in place of a database, with advice.
struct Advised<'i>(&'i Instead);

impl fmt::Display for Advised<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Instead::DanglingLink { to } => write!(
                f,
                "is a symbolic link to `{}`, which is not there: mount or make that, or give another path",
                to.display()
            ),
            Instead::File => f.write_str("is a file and no directory: give the directory of a database"),
            Instead::Remains => f.write_str(
                "there was a database, of which nothing is left but the file `LOCK`: open a copy of a backup; or, to \
                 begin anew, take `Create::New`",
            ),
            Instead::OtherFiles { example } => write!(
                f,
                "has no database, but other files (`{example}` for one): check the path, or give a directory that is \
                 empty or not there"
            ),
            Instead::EmptyDirectory => f.write_str(
                "is a directory without a database: check the path, or have one made without `Create::Never`",
            ),
            // `Instead::Nothing`, and variants that are not known here.
            _ => f.write_str("there is nothing: check the path, or have a database made without `Create::Never`"),
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

impl From<DefinitionError> for OpenError {
    fn from(error: DefinitionError) -> Self {
        Self::Definition(error)
    }
}

impl From<durability::OpenError> for OpenError {
    fn from(error: durability::OpenError) -> Self {
        use durability::OpenError as Found;
        match error {
            Found::Io { operation, place, error } => Self::Io { operation, path: place.into(), error },
            Found::Unclosed { file, offset, torn } => {
                Self::Unclosed { file, offset, torn: torn.into_iter().next() }
            }
            Found::Version { file, found } => Self::Version { file, found },
            // The columns were compared before, with an error in the program's terms.
            Found::Schema(mismatch) => {
                let (table, says) = (mismatch.table().to_owned(), mismatch.to_string());
                Self::Schema(SchemaMismatch { table, column: None, says })
            }
            Found::Devices { found } => Self::Devices { found },
            Found::Corrupt(corruption) => Self::Corrupt(corruption),
        }
    }
}
