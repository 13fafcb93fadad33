//! Recovery of a log into the database of a run, or verification of a log without a database.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

use durability::disk::{Directory, DirectoryLock, RealDirectory};
use durability::{Found, Layouts, Options, Store, Torn};
use engine::AnyKey;
use storage::TableId;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Latched};

use crate::database::RunDatabase;
use crate::instance::timed;
use crate::log::digest;
use crate::{CheckVerdict, RunError};

/// The results of a recovery.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The number of rows, by table.
    pub tables: Vec<(String, u64)>,
    /// The number of transactions in the log after the checkpoint.
    pub transactions: u64,
    /// Bytes of the checkpoint and of the log after it.
    pub bytes: u64,
    /// The number of the checkpoint; 0 if there is none.
    pub checkpoint: u64,
    /// The last epoch whose commits were recovered.
    pub epoch: u64,
    /// Whether the log was closed by its writer, or is a backup, which is complete, too.
    pub was_closed: bool,
    /// Bytes after the last whole epoch, for each device that has any. They do not count: they are the rest of the
    /// writes under way when the process ended.
    pub torn: Vec<Torn>,
    /// Nanoseconds that reading and checking the files took.
    pub read_ns: u64,
    /// Nanoseconds that making the rows took and, if there is a database, making its indexes.
    pub restore_ns: u64,
    /// The digest of the rows, by [`View::digest`](engine::View::digest), if there is a database.
    pub digest: Option<u64>,
    /// The verdict of the check of the recovered rows. It covers only conditions that hold whichever requests were
    /// committed.
    pub verdict: CheckVerdict,
}

impl Recovered {
    /// Returns the number of rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }
}

/// The progress of a recovery, for watchers on another thread.
#[derive(Debug, Default)]
pub struct RecoveryProgress(AtomicU64);

impl RecoveryProgress {
    /// Returns the approximate number of rows that were recovered so far.
    pub fn rows(&self) -> u64 {
        self.0.load(Ordering::Relaxed) // Relaxed: for display.
    }
}

/// Locked directories, one for each device. They stay locked until this value is dropped.
#[derive(Debug)]
pub struct LockedDirectories {
    directories: Vec<PathBuf>,
    #[expect(dead_code, reason = "the system lets go when they are dropped")]
    locks: Vec<DirectoryLock>,
}

impl LockedDirectories {
    /// Locks directories for reading; others may read them at the same time. A directory without the file `LOCK` gets
    /// an empty one.
    ///
    /// # Errors
    /// A directory does not exist, or somebody writes there.
    pub fn to_read(directories: &[PathBuf]) -> Result<Self, RunError> {
        Self::hold(directories, RealDirectory::lock_to_read, WRITTEN)
    }

    /// Locks existing directories for writing a log.
    ///
    /// # Errors
    /// A directory does not exist, or somebody reads or writes there.
    pub fn to_write(directories: &[PathBuf]) -> Result<Self, RunError> {
        Self::hold(directories, RealDirectory::lock, IN_USE)
    }

    fn hold(
        directories: &[PathBuf],
        lock: fn(&RealDirectory) -> io::Result<Option<DirectoryLock>>,
        refusal: &str,
    ) -> Result<Self, RunError> {
        let hold = |path: &PathBuf| {
            let locked = lock(&open(path)?).map_err(|error| refused(path, &error))?;
            locked.ok_or_else(|| refused(path, &refusal))
        };
        let locks = directories.iter().map(hold).collect::<Result<_, _>>()?;
        Ok(Self { directories: directories.to_vec(), locks })
    }
}

const WRITTEN: &str = "is open: close the program that has it, or wait until it ends, or look at a backup";
const IN_USE: &str =
    "is open, or is read by `contend recover`: wait until that ends, or give another directory";

/// Checks whether the files of a database are whole: reads the files and all rows in them, with this many workers, and
/// keeps no row. The directories are not changed.
///
/// # Errors
/// The files cannot be read or are not valid.
pub fn verify(
    held: &LockedDirectories,
    workers: usize,
    progress: &RecoveryProgress,
) -> Result<Recovered, RunError> {
    let directories = &held.directories;
    let home = directory(&directories[0])?;
    let layouts = Store::layouts(&*home).map_err(|error| RunError(error.to_string()))?;
    let layouts = layouts.ok_or_else(|| {
        let place = directories[0].display();
        RunError(format!(
            "{place}: has no database: give the directory of one, and of several the first one first"
        ))
    })?;
    drop(home);
    recovered(directories, &layouts, workers, progress, || |_, _, _: &[u64]| ())
}

/// Recovers into an empty database.
pub(crate) fn into(
    db: &dyn RunDatabase,
    held: &LockedDirectories,
    workers: usize,
    progress: &RecoveryProgress,
) -> Result<Recovered, RunError> {
    let make = || {
        let mut loader = db.loader();
        move |table: TableId, key: AnyKey, groups: &[u64]| loader.insert_row(table, key, groups)
    };
    let recovered = recovered(&held.directories, &db.layouts(), workers, progress, make)?;
    Ok(Recovered { digest: Some(digest(db)), ..recovered })
}

fn recovered<P: FnMut(TableId, AnyKey, &[u64])>(
    directories: &[PathBuf],
    layouts: &Layouts,
    workers: usize,
    progress: &RecoveryProgress,
    make: impl Fn() -> P + Sync,
) -> Result<Recovered, RunError> {
    let (found, read_ns) = timed(|| find(directories, layouts, Options::default()));
    let found = found?;
    let rows = Latched::new(vec![0; layouts.0.len()]);
    let (restored, restore_ns) = timed(|| {
        found.restore(workers, |_| {
            let mut put = make();
            let mut count = Count { progress, rows: &rows, own: vec![0; layouts.0.len()], untold: 0 };
            move |table: TableId, key: AnyKey, groups: &[u64]| {
                put(table, key, groups);
                count.add(table);
            }
        })
    });
    let restored = restored.map_err(|error| RunError(error.to_string()))?;
    let names = layouts.0.iter().map(|table| table.name.clone());
    Ok(Recovered {
        tables: names.zip(rows.into_inner()).collect(),
        transactions: restored.transactions,
        bytes: restored.bytes,
        checkpoint: found.checkpoint().0,
        epoch: found.epoch(),
        was_closed: found.was_closed(),
        torn: found.torn().to_vec(),
        read_ns,
        restore_ns,
        digest: None,
        verdict: CheckVerdict::Skipped,
    })
}

/// The numbers of rows of one worker, by table. They are added to the common progress now and then, and to the common
/// sums at the end.
struct Count<'c> {
    progress: &'c RecoveryProgress,
    rows: &'c Latched<Vec<u64>>,
    own: Vec<u64>,
    untold: u64,
}

impl Count<'_> {
    /// The number of rows after which the common progress is updated.
    const TOLD_EVERY: u64 = 1 << 14;

    #[inline]
    fn add(&mut self, table: TableId) {
        self.own[usize::from(table.0)] += 1;
        self.untold += 1;
        if self.untold == Self::TOLD_EVERY {
            self.progress.0.fetch_add(self.untold, Ordering::Relaxed); // Relaxed: for display.
            self.untold = 0;
        }
    }
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        self.rows.lock().iter_mut().zip(&self.own).for_each(|(sum, own)| *sum += own);
    }
}

/// Opens directories, and finds the database in them.
pub(crate) fn find(directories: &[PathBuf], layouts: &Layouts, options: Options) -> Result<Found, RunError> {
    let opened: Result<Vec<_>, RunError> = directories.iter().map(|path| directory(path)).collect();
    Store::open(opened?, layouts, options).map_err(|error| RunError(error.to_string()))
}

fn directory(path: &Path) -> Result<Arc<dyn Directory>, RunError> {
    Ok(Arc::new(open(path)?))
}

/// Opens an existing directory.
fn open(path: &Path) -> Result<RealDirectory, RunError> {
    if !path.is_dir() {
        return Err(refused(path, &"there is no such directory"));
    }
    RealDirectory::new(path).map_err(|error| refused(path, &error))
}

fn refused(path: &Path, says: &dyn fmt::Display) -> RunError {
    RunError(format!("{}: {says}", path.display()))
}
