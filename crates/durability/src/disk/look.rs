//! Finds out what exists at the path of a database before anything is made there: a mistyped path must not become a
//! database.

use std::fs;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

use super::LOCK;
use crate::format::{part_number, segment_number};
use crate::manifest::{BACKUP, MANIFEST, NEW};

/// A marker file: a database is being made, and was never open. The program that makes the database removes it.
pub const MAKING: &str = "MAKING";

/// A directory that each mounted file system may have at its root.
const LOST: &str = "lost+found";

/// The thing found in place of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instead {
    /// There is nothing.
    Nothing,
    /// A directory without any file, or one in which a database was begun to be made.
    EmptyDirectory,
    /// A file that is no directory.
    File,
    /// A symbolic link that leads nowhere.
    DanglingLink {
        /// The target of the link.
        to: PathBuf,
    },
    /// A directory in which there was a database, of which only the lock file or an incomplete manifest is left.
    Remains,
    /// A directory with other files.
    OtherFiles {
        /// The name of one of them.
        example: String,
    },
}

/// Finds what is at a path in place of a database, and where: at the path itself, or at a part of it that is in the
/// way. `None` if there is a database, or a part of one: [`Store::open`](crate::Store::open) says what is missing of
/// it.
///
/// # Errors
/// The errors of the system.
pub fn look(path: &Path) -> Result<Option<(PathBuf, Instead)>> {
    // Without a slash at its end, which would make the system follow a link.
    let path = path.components().as_path();
    let kind = match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Ok(look_into(path)?.map(|instead| (path.to_owned(), instead))),
        Ok(_) => return Ok(Some((path.to_owned(), Instead::File))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => error.kind(),
        Err(error) => return Err(error),
    };
    // The last part that exists shows the fault.
    for part in path.ancestors().filter(|part| !part.as_os_str().is_empty()) {
        let Ok(found) = fs::symlink_metadata(part) else { continue };
        if found.is_symlink() && fs::metadata(part).is_err() {
            let to = fs::read_link(part)?;
            return Ok(Some((part.to_owned(), Instead::DanglingLink { to })));
        }
        if kind == ErrorKind::NotADirectory {
            return Ok(Some((part.to_owned(), Instead::File)));
        }
        break;
    }
    Ok(Some((path.to_owned(), Instead::Nothing)))
}

/// The contents of a directory in place of a database.
fn look_into(path: &Path) -> Result<Option<Instead>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let is_there = |name: &str| names.iter().any(|there| there == name);
    let is_part = |name: &String| {
        [MANIFEST, BACKUP].contains(&name.as_str())
            || segment_number(name).is_some()
            || part_number(name).is_some()
    };
    if names.iter().any(is_part) {
        return Ok(None);
    }
    let is_other = |name: &&String| ![LOCK, MAKING, NEW, LOST].contains(&name.as_str());
    Ok(Some(match names.iter().find(is_other) {
        Some(example) => Instead::OtherFiles { example: example.clone() },
        None if !is_there(MAKING) && (is_there(LOCK) || is_there(NEW)) => Instead::Remains,
        None => Instead::EmptyDirectory,
    }))
}
