//! The directory of an open database: its lock, recovery from it, its log, and its checkpoints.

use core::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use durability::disk::{self, Directory, DirectoryLock, Instead, MAKING, RealDirectory};
use durability::{
    BackupError, CheckpointError, CommitTicket, Corruption, Found, Log, LogError, Operation, Restored,
    Running, Store as Files, Torn,
};
use engine::{AnyKey, TableId};
use sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Background, Bell, Inbox, Latched, LatchedGuard, clock, waiter, workers};

use crate::counters::Counters;
use crate::error::Error;
use crate::open_error::OpenError;
use crate::options::{Create, Durability, Options};
use crate::shape::{Shape, Unread};
use crate::store::Store;

/// Bytes of the rings in which commits wait for the log's thread: a fast device takes a tenth of this while it syncs.
const RING_BYTES: usize = 16 << 20;
/// Bytes of commits beyond that before callers wait.
const BACKLOG_BYTES: usize = 64 << 20;
/// Bytes that a round takes on a device beyond its commits: a round is padded to a page.
const ROUND_BYTES: u64 = 4096;
/// The log size at which callers wait for a checkpoint, as a multiple of the size at which the checkpoint is due.
const FULL: u64 = 4;
/// Least and greatest size of a segment of the log, in bytes. A segment is a quarter of the log between two
/// checkpoints, so that the newest segment takes little room.
const SEGMENT_BYTES: (u64, u64) = (64 << 10, 64 << 20);
/// Rows that a recovering thread restores between two calls of the program's progress function.
const ROWS_UNTIL_TOLD: u64 = 1 << 16;

/// A database's directory, and the lock that keeps other processes out.
pub(crate) struct Place {
    directory: Arc<dyn Directory>,
    lock: Option<DirectoryLock>,
}

impl Place {
    /// Takes the directory of a database, and makes it if `create` says so.
    pub(crate) fn take(path: &Path, create: Create) -> Result<Self, OpenError> {
        let refused = |operation| refused_by_system(operation, path);
        let look = || disk::look(path).map_err(refused(Operation::Look));
        let take = |directory: RealDirectory| {
            let lock = directory.lock().map_err(refused(Operation::Lock))?;
            let lock = Some(lock.ok_or_else(|| OpenError::Locked { path: path.to_owned() })?);
            Ok(Self { directory: Arc::new(directory), lock })
        };
        let instead = match look()? {
            // While another process makes a database in the directory, a listing of its files may look like this.
            // Nobody makes a database there once the lock is taken, so look again then.
            Some((path, Instead::Remains)) if create != Create::New => {
                let taken = take(RealDirectory::new(&path).map_err(refused(Operation::Make))?)?;
                let Some((path, instead)) = look()? else { return Ok(taken) };
                return Err(OpenError::NoDatabase { path, instead });
            }
            instead => instead,
        };
        let may_make = create != Create::Never && !path.as_os_str().is_empty();
        match instead {
            None => take(RealDirectory::new(path).map_err(refused(Operation::Make))?),
            Some((_, Instead::Nothing | Instead::EmptyDirectory | Instead::Remains)) if may_make => {
                let directory = RealDirectory::new(path).map_err(refused(Operation::Make))?;
                // Before the file `LOCK`: that file alone looks like the remains of a database.
                mark(&directory).map_err(refused(Operation::Make))?;
                take(directory)
            }
            Some((path, instead)) => Err(OpenError::NoDatabase { path, instead }),
        }
    }

    /// Takes a directory without a lock, which no other process can use.
    pub(crate) fn alone(directory: Arc<dyn Directory>) -> Self {
        Self { directory, lock: None }
    }

    /// Checks that an existing database may be opened, and that it has the columns that the program declares. The log
    /// itself checks only widths.
    fn compare(&self, declared: &Shape, create: Create) -> Result<(), OpenError> {
        let Some(note) = Files::note(&*self.directory)? else { return Ok(()) };
        if create == Create::New {
            return Err(OpenError::Exists { path: self.directory.name().into() });
        }
        let file = format!("{}/MANIFEST", self.directory.name());
        if note.is_empty() {
            return Err(OpenError::Foreign { file });
        }
        let stored = Shape::decode(&note).map_err(|unread| match unread {
            Unread::Version(found) => OpenError::Version { file: file.clone(), found: u32::from(found) },
            Unread::Nonsense => {
                let found = "what it has of columns makes no sense".to_owned();
                OpenError::Corrupt(Corruption { file: file.clone(), offset: 0, found })
            }
        })?;
        stored.mismatch(declared).map_or(Ok(()), |mismatch| Err(OpenError::Schema(mismatch)))
    }

    /// Removes the file `MAKING`, if there is one: the database is made.
    fn is_made(&self) -> Result<(), OpenError> {
        match self.directory.remove(MAKING) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(refused_by_system(
                Operation::Remove,
                &Path::new(&self.directory.name()).join(MAKING),
            )(error)),
            _ => Ok(()),
        }
    }
}

/// Makes an open error of an error of the system.
fn refused_by_system(operation: Operation, path: &Path) -> impl Fn(io::Error) -> OpenError {
    move |error| OpenError::Io { operation, path: path.to_owned(), error: error.into() }
}

/// Marks a directory as one in which a database is being made.
fn mark(directory: &RealDirectory) -> io::Result<()> {
    match directory.create(MAKING) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => directory.sync(),
    }
}

/// The log of an open database, and the thread that makes its checkpoints.
pub(crate) struct Durable {
    log: Log,
    /// Whether a commit returns only when it is durable.
    waits: bool,
    /// Number of callers and futures that wait for durability now.
    awaiting: Arc<AtomicUsize>,
    recovery: Recovery,
    keeper: Arc<Keeper>,
    /// `None` when the database is closed.
    open: Latched<Option<Open>>,
}

/// The parts that end when the database is closed.
struct Open {
    running: Running,
    keeper: Background,
    lock: Option<DirectoryLock>,
}

impl Durable {
    /// Fills an empty store from a directory, and continues its log. If this fails, the directory is unchanged, unless
    /// the system refuses an operation in the last step.
    pub(crate) fn open(
        place: Place,
        store: &dyn Store,
        shape: &Shape,
        options: &Options,
    ) -> Result<Self, OpenError> {
        place.compare(shape, options.create)?;
        let of_log = durability::Options {
            sessions: options.sessions,
            ring_bytes: RING_BYTES,
            backlog_bytes: BACKLOG_BYTES,
            epoch_ns: options.epoch_ns(),
            segment_bytes: (options.checkpoint_bytes / 4).clamp(SEGMENT_BYTES.0, SEGMENT_BYTES.1),
            note: shape.encode(),
            require_closed: options.require_closed,
            ..durability::Options::default()
        };
        let found = Files::open(vec![Arc::clone(&place.directory)], &store.layouts(), of_log)?;
        if found.is_new() && options.create == Create::Never {
            let path = place.directory.name().into();
            return Err(OpenError::NoDatabase { path, instead: Instead::EmptyDirectory });
        }
        let recovery = restore(&found, store, options)?;
        let behind_checkpoint = found.log_bytes();
        let rounds = found.start()?;
        place.is_made()?;
        let running = rounds.spawn();
        let log = running.log().clone();
        let keeper = Arc::new(Keeper::new(log.clone(), options, behind_checkpoint));
        let serving = Arc::clone(&keeper);
        let thread = Background::start("contend-checkpoints", move || serving.serve());
        keeper.look();
        Ok(Self {
            log,
            waits: options.durability != Some(Durability::Async),
            awaiting: Arc::default(),
            recovery,
            keeper,
            open: Latched::new(Some(Open { running, keeper: thread, lock: place.lock })),
        })
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// The recovered state.
    pub(crate) fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Refuses a transaction if the log has failed, and makes it wait for a while if the log has no room.
    #[inline]
    pub(crate) fn admit(&self) -> Result<(), Error> {
        self.keeper.keep_back()?;
        self.log.failure().map_or(Ok(()), |failure| Err(refused(failure)))
    }

    /// Returns the wait of a caller that has committed, or has seen commits of others; `None` if there is nothing to
    /// wait for.
    #[inline]
    pub(crate) fn awaited(&self, ticket: CommitTicket) -> Option<Await> {
        self.keeper.look();
        match self.log.is_durable(ticket) {
            Ok(true) => None,
            Ok(false) if !self.waits => None,
            // A waiting caller is also told of a failure.
            _ => {
                self.awaiting.fetch_add(1, Ordering::Relaxed); // Relaxed: a count.
                Some(Await { log: self.log.clone(), ticket, awaiting: Arc::clone(&self.awaiting) })
            }
        }
    }

    pub(crate) fn checkpoint(&self) -> Result<(), Error> {
        self.keeper.checkpoint(workers::cores()).map(drop).map_err(|error| match error {
            CheckpointError::Log(failure) => refused(failure),
            other => Error::Checkpoint(other.into()),
        })
    }

    /// Copies the database into an empty directory.
    pub(crate) fn backup(&self, to: &Path) -> Result<(), Error> {
        let write = |error: std::io::Error| {
            let (place, kind) = (to.display().to_string(), error.kind());
            Error::Backup(BackupError::Write { place, kind }.into())
        };
        let _alone = self.keeper.alone();
        if let Some(failure) = self.log.failure() {
            return Err(refused(failure));
        }
        let directory = RealDirectory::new(to).map_err(write)?;
        // The lock keeps others from making a database in the directory meanwhile.
        let Some(_lock) = directory.lock().map_err(write)? else {
            let place = to.display().to_string();
            return Err(Error::Backup(BackupError::NotEmpty { place }.into()));
        };
        let copied = self.log.backup(&[Arc::new(directory)]);
        copied.map(drop).map_err(|error| match error {
            BackupError::Log(failure) => refused(failure),
            other => Error::Backup(other.into()),
        })
    }

    /// Makes all commits durable, and unlocks the directory. The caller ensures that nobody commits any more.
    pub(crate) fn close(&self) -> Result<(), LogError> {
        let mut open = self.open.lock();
        let Some(Open { running, keeper, lock }) = open.take() else { return Ok(()) };
        self.keeper.stop();
        keeper.join();
        let _alone = self.keeper.alone();
        let closed = running.close();
        drop(lock);
        closed
    }

    /// Adds the counts of the log and of the checkpoints.
    pub(crate) fn count(&self, counters: &mut Counters) {
        let (log, keeper) = (&self.log, &self.keeper);
        (counters.log_rounds, counters.log_bytes) = log.written();
        counters.durable_lag_epochs = log.present().epoch.saturating_sub(log.durable().epoch);
        counters.log_failure = log.failure().filter(|failure| *failure != LogError::Closed);
        counters.recovered_rows = self.recovery.rows;
        // Relaxed: counts.
        counters.waiting += keeper.kept_back.load(Ordering::Relaxed) as u64;
        counters.awaiting_durability = self.awaiting.load(Ordering::Relaxed) as u64;
        counters.checkpoints = keeper.made.load(Ordering::Relaxed);
        counters.checkpoint_failures = keeper.failed.load(Ordering::Relaxed);
        counters.checkpoint_failure.clone_from(&keeper.failure.lock());
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        // A program that wants to know of an error calls `close`.
        _ = self.close();
    }
}

/// A wait for a commit that is not durable yet.
pub(crate) struct Await {
    log: Log,
    ticket: CommitTicket,
    awaiting: Arc<AtomicUsize>,
}

impl Await {
    /// Waits until the commit is durable.
    #[cold]
    pub(crate) fn wait(self) -> Result<(), LogError> {
        self.log.wait(self.ticket)
    }
}

impl Drop for Await {
    fn drop(&mut self) {
        self.awaiting.fetch_sub(1, Ordering::Relaxed); // Relaxed: a count.
    }
}

/// The error for transactions that write, after the log has failed.
fn refused(failure: LogError) -> Error {
    if failure == LogError::Closed { Error::Closed } else { Error::Log(failure.into()) }
}

/// Puts all rows into the store. The memory limit is not checked: each row was admitted once, and a row that is left
/// out would be lost.
fn restore(found: &Found, store: &dyn Store, options: &Options) -> Result<Recovery, OpenError> {
    // Each worker has a slot of the engine, and there are as many slots as sessions.
    let workers = workers::cores().min(options.sessions);
    let rows = AtomicU64::new(0);
    let recovery = |rows| Recovery {
        rows,
        is_new: found.is_new(),
        was_closed: found.is_new() || found.was_closed(),
        torn: found.torn().first().cloned(),
    };
    let tell = |more: u64| {
        // Relaxed: a count.
        let rows = rows.fetch_add(more, Ordering::Relaxed) + more;
        if let Some(Watch(tell)) = &options.watch {
            tell(recovery(rows));
        }
    };
    let tell = &tell;
    let restored = found.restore(workers, |_| {
        let (mut load, mut untold) = (store.loader(), 0);
        move |table: TableId, key: AnyKey, row: &[u64]| {
            load(table, key, row);
            untold += 1;
            if untold == ROWS_UNTIL_TOLD {
                tell(untold);
                untold = 0;
            }
        }
    })?;
    let recovery = recovery(restored.rows);
    if let Some(Watch(tell)) = &options.watch {
        tell(recovery.clone());
    }
    Ok(recovery)
}

/// The state of a directory, and the progress of recovery: see [`Options::on_recovery`] and
/// [`Database::recovery`](crate::Database::recovery).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Rows that have been recovered.
    pub rows: u64,
    /// Whether there was no database, so that a new one is made.
    pub is_new: bool,
    /// Whether the last process that had the database open has closed it, or the database is a backup, so that every
    /// commit is there; `true` also for a new database. If `false`, that process was killed, and every commit that was
    /// durable is there, unless the end of the log was damaged since: see [`Options::require_closed`]. With
    /// [`Durability::Async`](crate::Durability::Async) the commits of the last milliseconds were not durable yet.
    pub was_closed: bool,
    /// Bytes behind the end of the log, which are cut off: the incomplete last write of the process that ended.
    pub torn: Option<Torn>,
}

/// The program's function that is told of the progress of recovery.
#[derive(Clone)]
pub(crate) struct Watch(pub(crate) Arc<dyn Fn(Recovery) + Send + Sync>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// Makes checkpoints: on a thread of its own when the log has grown, and on request.
struct Keeper {
    log: Log,
    checkpoint_bytes: u64,
    /// The value of `written` at which the next checkpoint is due.
    due_at: AtomicU64,
    /// The value of `written` from which callers wait until a checkpoint is made.
    full_at: AtomicU64,
    /// Number of callers that wait for a checkpoint.
    kept_back: AtomicUsize,
    patience_ns: u64,
    /// Rung when a checkpoint was made, or has failed.
    ended: Bell,
    is_asked: AtomicBool,
    is_stopping: AtomicBool,
    asked: Inbox<()>,
    /// Held while a checkpoint or a backup works on the files, and while the log is closed.
    busy: Latched<()>,
    made: AtomicU64,
    failed: AtomicU64,
    /// The error of the last checkpoint, if it failed.
    failure: Latched<Option<CheckpointError>>,
}

impl Keeper {
    fn new(log: Log, options: &Options, behind_checkpoint: u64) -> Self {
        let checkpoint_bytes = options.checkpoint_bytes.max(ROUND_BYTES);
        let full = checkpoint_bytes.saturating_mul(FULL);
        Self {
            log,
            checkpoint_bytes,
            due_at: AtomicU64::new(checkpoint_bytes.saturating_sub(behind_checkpoint)),
            full_at: AtomicU64::new(full.saturating_sub(behind_checkpoint)),
            kept_back: AtomicUsize::new(0),
            patience_ns: options.patience_ms.saturating_mul(1_000_000),
            ended: Bell::default(),
            is_asked: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            asked: Inbox::new(1),
            busy: Latched::new(()),
            made: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            failure: Latched::default(),
        }
    }

    /// Approximate bytes that the log has taken on its device since the database was opened.
    #[inline]
    fn written(&self) -> u64 {
        let (rounds, bytes) = self.log.written();
        bytes + rounds * ROUND_BYTES
    }

    /// Asks for a checkpoint if one is due. Each commit calls this, so no thread has to poll.
    #[inline]
    fn look(&self) {
        // Relaxed: a hint, which the next commit reads again.
        if self.written() >= self.due_at.load(Ordering::Relaxed) {
            self.ask();
        }
    }

    #[cold]
    fn ask(&self) {
        // Relaxed: of many concurrent callers, one puts the request; the inbox orders the rest.
        if !self.is_asked.swap(true, Ordering::Relaxed) {
            _ = self.asked.put(());
        }
    }

    /// Makes a caller wait when the log grows faster than checkpoints are made; otherwise the log would fill the
    /// device.
    #[inline]
    fn keep_back(&self) -> Result<(), Error> {
        // Relaxed: as in `look`.
        if self.written() < self.full_at.load(Ordering::Relaxed) { Ok(()) } else { self.wait_for_room() }
    }

    #[cold]
    fn wait_for_room(&self) -> Result<(), Error> {
        self.ask();
        // Relaxed, here and below: a count.
        let waiting = self.kept_back.fetch_add(1, Ordering::Relaxed);
        let has_room = self.ended.wait_until(Some(clock::now_ns().saturating_add(self.patience_ns)), || {
            // Relaxed: the bell orders all three. When a checkpoint has failed, callers do not wait for the next.
            let is_full = self.written() >= self.full_at.load(Ordering::Relaxed);
            let is_over = self.is_stopping.load(Ordering::Relaxed) || !self.is_asked.load(Ordering::Relaxed);
            !is_full || is_over
        });
        self.kept_back.fetch_sub(1, Ordering::Relaxed);
        if has_room { Ok(()) } else { Err(Error::Overloaded { waiting }) }
    }

    /// The loop of the checkpoint thread.
    fn serve(&self) {
        while self.asked.take().is_some() {
            // Relaxed: `close` joins this thread, so a missed store costs only the time of one checkpoint.
            if !self.is_stopping.load(Ordering::Relaxed) {
                // An error is kept in `failure`. Transactions run meanwhile, and keep about half of the cores.
                _ = self.checkpoint(workers::cores().div_ceil(2));
            }
            self.is_asked.store(false, Ordering::Relaxed); // Relaxed: as in `ask`.
            self.ended.ring();
        }
    }

    fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed); // Relaxed: as in `serve`.
        self.asked.close();
        self.ended.ring();
    }

    /// Waits for the sole right to work on the files.
    fn alone(&self) -> LatchedGuard<'_, ()> {
        let mut alone = None;
        waiter::wait_until(None, || {
            alone = self.busy.try_lock();
            alone.is_some()
        });
        alone.expect("it was waited for")
    }

    fn checkpoint(&self, workers: usize) -> Result<Restored, CheckpointError> {
        let _alone = self.alone();
        let written = self.written();
        let made = self.log.checkpoint(workers);
        // Relaxed, three times: a count, and hints.
        let (count, next) = match &made {
            Ok(_) => (&self.made, self.checkpoint_bytes),
            // Tried again sooner: a full device may have room again.
            Err(_) => (&self.failed, self.checkpoint_bytes / 4),
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.due_at.store(written.saturating_add(next), Ordering::Relaxed);
        let full = self.checkpoint_bytes.saturating_mul(FULL);
        self.full_at.store(written.saturating_add(full), Ordering::Relaxed);
        *self.failure.lock() = made.as_ref().err().cloned();
        made
    }
}
