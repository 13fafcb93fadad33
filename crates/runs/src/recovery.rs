//! Recovery of what was logged: into the database of a run, or into none, to see whether it is whole.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

use durability::disk::{Directory, DirectoryLock, RealDirectory};
use durability::{Found, Layouts, Options, Store, Torn};
use engine::{AnyKey, Database, Scheme};
use storage::TableId;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Latched};

use crate::instance::timed;
use crate::log::digest;
use crate::{RunError, Verdict};

/// What came of a recovery.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Rows, by table.
    pub tables: Vec<(String, u64)>,
    /// Transactions of the log behind the checkpoint.
    pub transactions: u64,
    /// Bytes of the checkpoint and of the log behind it.
    pub bytes: u64,
    /// The number of the checkpoint; 0 if there is none.
    pub checkpoint: u64,
    /// The last epoch whose commits there are.
    pub epoch: u64,
    /// Whether the log was closed by who wrote it, or is a backup, which is complete, too.
    pub was_closed: bool,
    /// Bytes behind the last whole epoch, and does not count: the rest of what was being written when the process
    /// ended; of each device that has any.
    pub torn: Vec<Torn>,
    /// Nanoseconds that reading and checking the files took.
    pub read_ns: u64,
    /// Nanoseconds that making the rows took, and the indexes if there is a database.
    pub restore_ns: u64,
    /// What the rows come to, by [`View::digest`](engine::View::digest), if there is a database.
    pub digest: Option<u64>,
    /// What the check of the recovered rows said: no more than what holds whichever requests were committed.
    pub verdict: Verdict,
}

impl Recovered {
    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }
}

/// How far a recovery is, for those who watch it from another thread.
#[derive(Debug, Default)]
pub struct Progress(AtomicU64);

impl Progress {
    /// Rows that are there again, about.
    pub fn rows(&self) -> u64 {
        self.0.load(Ordering::Relaxed) // Relaxed: for display.
    }
}

/// Directories, one for each device, that nobody else takes until this is dropped.
#[derive(Debug)]
pub struct Held {
    directories: Vec<PathBuf>,
    #[expect(dead_code, reason = "the system lets go when they are dropped")]
    locks: Vec<DirectoryLock>,
}

impl Held {
    /// Holds directories to read what is in them; others may read it meanwhile. They get an empty file `LOCK`, where
    /// they have none.
    ///
    /// # Errors
    /// One is not there, or somebody writes there.
    pub fn to_read(directories: &[PathBuf]) -> Result<Self, RunError> {
        Self::hold(directories, RealDirectory::lock_to_read, WRITTEN)
    }

    /// Holds directories, which are there, to write a log.
    ///
    /// # Errors
    /// One is not there, or somebody reads or writes there.
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

/// Reads the files of a database and all rows in them, by so many workers, and keeps none: whether they are whole. The
/// directories stay as they are.
///
/// # Errors
/// What there is cannot be read or believed.
pub fn verify(held: &Held, workers: usize, progress: &Progress) -> Result<Recovered, RunError> {
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
pub(crate) fn into<S: Scheme>(
    db: &Database<S>,
    held: &Held,
    workers: usize,
    progress: &Progress,
) -> Result<Recovered, RunError> {
    let make = || {
        let mut loader = db.word_loader();
        move |table: TableId, key: AnyKey, groups: &[u64]| loader.insert(table, key, groups)
    };
    let recovered = recovered(&held.directories, &Layouts::of(db.tables()), workers, progress, make)?;
    Ok(Recovered { digest: Some(digest(db)), ..recovered })
}

fn recovered<P: FnMut(TableId, AnyKey, &[u64])>(
    directories: &[PathBuf],
    layouts: &Layouts,
    workers: usize,
    progress: &Progress,
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
        verdict: Verdict::Skipped,
    })
}

/// Rows of one worker, by table, told to the others now and then and at the end.
struct Count<'c> {
    progress: &'c Progress,
    rows: &'c Latched<Vec<u64>>,
    own: Vec<u64>,
    untold: u64,
}

impl Count<'_> {
    /// Rows after which the others are told.
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

/// Looks what directories have.
pub(crate) fn find(directories: &[PathBuf], layouts: &Layouts, options: Options) -> Result<Found, RunError> {
    let opened: Result<Vec<_>, RunError> = directories.iter().map(|path| directory(path)).collect();
    Store::open(opened?, layouts, options).map_err(|error| RunError(error.to_string()))
}

fn directory(path: &Path) -> Result<Arc<dyn Directory>, RunError> {
    Ok(Arc::new(open(path)?))
}

/// A directory that is there.
fn open(path: &Path) -> Result<RealDirectory, RunError> {
    if !path.is_dir() {
        return Err(refused(path, &"there is no such directory"));
    }
    RealDirectory::new(path).map_err(|error| refused(path, &error))
}

fn refused(path: &Path, says: &dyn fmt::Display) -> RunError {
    RunError(format!("{}: {says}", path.display()))
}
