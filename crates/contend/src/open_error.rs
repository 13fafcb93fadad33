//! Why a database was not opened, and what the caller does about it.

use core::error::Error as StdError;
use core::fmt;
use std::path::PathBuf;

use durability::disk::Instead;
use durability::{Corruption, Operation, SystemError, Torn};

use crate::definition::DefinitionError;
use crate::shape::SchemaMismatch;

/// Why a database was not made or not opened. Each says what to do; of a directory nothing has changed, but that it is
/// there, with an empty file `LOCK`, and `MAKING` if a database was to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no scheme of this name. Change it.
    UnknownScheme {
        /// The name that was given.
        name: String,
        /// The nearest that there is.
        nearest: Option<&'static str>,
    },
    /// The scheme is not in this build. Enable the feature `all-schemes` of the crate `contend`.
    NotBuilt {
        /// The scheme.
        name: &'static str,
    },
    /// The scheme serves no transactions that come one by one from any thread. Take another.
    Unsuited {
        /// The scheme.
        name: &'static str,
        /// Why.
        says: &'static str,
    },
    /// A setting is unknown, out of its range, or contradicts another; or sessions are none. Change it as the text
    /// says.
    Setting(String),
    /// More is asked for than there can be. Ask for less, as the text says.
    Limit {
        /// The things of which there are too many, in the plural: `tables` for example.
        what: &'static str,
        /// How many were asked for.
        given: usize,
        /// The most that there can be.
        most: usize,
        /// A way out.
        fix: &'static str,
    },
    /// The hash indexes of tables that are found by equality only are made for the rows that they expect, and there is
    /// no memory for so many. Expect fewer, or take an ordered index, which grows as rows come; or raise the limit.
    Memory {
        /// The table with the largest of them.
        table: String,
        /// How many rows that expects.
        expected_rows: usize,
        /// Bytes that all of them take; `None` when no address space has as many.
        needed_bytes: Option<u64>,
        /// The limit that refuses them.
        limit: MemoryLimit,
    },
    /// A table is none. Change its definition as the text says.
    Definition(DefinitionError),
    /// There is no database at the path, and none is made there: because of what there is instead, or because
    /// [`Options::create`](crate::Options::create) says so. Check the path, or do as the text says.
    NoDatabase {
        /// The path that was given, or the part of it that is in the way.
        path: PathBuf,
        /// The thing found there.
        instead: Instead,
    },
    /// There is a database at the path, and [`Options::create`](crate::Options::create) asks for a new one. Give
    /// another path, or open what there is.
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
        /// Where in the file, in bytes.
        offset: u64,
        /// Bytes behind that, if there are any.
        torn: Option<Torn>,
    },
    /// The directory is open already, in this process or in another one, or is read by `contend recover`. Close it
    /// there; or, within a process, clone the [`Database`](crate::Database) that has it; or wait.
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The tables of the directory are not those that are declared. Declare them as the text says.
    Schema(SchemaMismatch),
    /// The directory was written by a program that kept no columns, the laboratory for example. Open it with that.
    Foreign {
        /// The file that lacks them.
        file: String,
    },
    /// The log of the directory was made for several devices. Open it with the program that made it.
    Devices {
        /// What was found.
        found: String,
    },
    /// The directory has a format that this version does not read. Use the version that wrote it.
    Version {
        /// The file.
        file: String,
        /// The version that it has.
        found: u32,
    },
    /// What was durable is not what was written: a device has lost it, or a file was changed or removed. Keep the
    /// directory for whoever looks into it, and open a copy of a [backup](crate::Database::backup).
    Corrupt(Corruption),
    /// The system refuses. See to it, and try again. Its own error is the [source](StdError::source) of this one.
    Io {
        /// The operation.
        operation: Operation,
        /// The directory or the file.
        path: PathBuf,
        /// Its error.
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
    /// The system, which has refused it.
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
            // Of what is not known here, no more can be said.
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
            // Columns were compared before, and say it in a program's words.
            Found::Schema(mismatch) => {
                let (table, says) = (mismatch.table().to_owned(), mismatch.to_string());
                Self::Schema(SchemaMismatch { table, column: None, says })
            }
            Found::Devices { found } => Self::Devices { found },
            Found::Corrupt(corruption) => Self::Corrupt(corruption),
        }
    }
}
