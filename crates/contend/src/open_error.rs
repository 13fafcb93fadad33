//! Why a database was not opened, and what the caller does about it.

use core::error::Error as StdError;
use core::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

use durability::Corruption;

use crate::definition::DefinitionError;
use crate::shape::SchemaMismatch;

/// Why a database was not made or not opened. Each says what to do; of a directory nothing has changed, but that it is
/// there, with an empty file `LOCK`.
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
    /// A table is none. Change its definition as the text says.
    Definition(DefinitionError),
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
    /// The system refuses. See to it, and try again.
    Io {
        /// The directory or the file.
        place: String,
        /// What the system said.
        kind: ErrorKind,
    },
}

impl OpenError {
    pub(crate) fn io(place: String, kind: ErrorKind) -> Self {
        Self::Io { place, kind }
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
            Self::Definition(error) => error.fmt(f),
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
            Self::Io { place, kind } => write!(f, "{place}: {kind}: see to it, and try again"),
        }
    }
}

impl StdError for OpenError {}

impl From<DefinitionError> for OpenError {
    fn from(error: DefinitionError) -> Self {
        Self::Definition(error)
    }
}

impl From<durability::OpenError> for OpenError {
    fn from(error: durability::OpenError) -> Self {
        use durability::OpenError as Found;
        match error {
            Found::Io { place, kind } => Self::Io { place, kind },
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
