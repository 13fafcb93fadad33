//! The log of a run: it makes commits durable, and decides when clients hear of them.

use std::path::PathBuf;

use durability::{CommitTicket, Durability, Layouts, Log, LogError, LogSink, Options, Running};
use engine::driver::Control;
use engine::{AnyKey, Database, Observe, Scheme, Share, Sink, Stamp};
use storage::{RecordRef, Shape};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, Background, Latched, clock, waiter, workers};

use crate::database::RunDatabase;
use crate::erased::LoggedWorkload;
use crate::{RunError, recovery};

/// The logging of a run's commits.
#[derive(Clone, Copy, Debug)]
pub struct Logging<'s> {
    /// A directory for each device, which exists and holds no database yet.
    pub directories: &'s [PathBuf],
    /// The durability that clients wait for; not [`Durability::None`].
    pub durability: Durability,
    /// Nanoseconds of an epoch, if the devices are fast enough.
    pub epoch_ns: u64,
    /// Nanoseconds from one checkpoint to the next; 0 for none.
    pub checkpoint_ns: u64,
}

/// Statistics of the log while transactions ran; the initial load is not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logged {
    /// Bytes of logged commits.
    pub bytes: u64,
    /// The number of epochs with commits. Each of them was synced once on each device.
    pub rounds: u64,
    /// The number of checkpoints that were made.
    pub checkpoints: u64,
    /// Nanoseconds that the checkpoints took in total, on a thread of their own.
    pub checkpoint_ns: u64,
    /// The digest of all rows at the end, by [`View::digest`](engine::View::digest). A recovery must end with the same
    /// digest.
    pub digest: u64,
}

/// The log of a run.
pub(crate) struct RunLog {
    running: Running,
    is_awaited: bool,
    checkpoints: Option<Checkpoints>,
    /// Rounds and bytes that had been written when the transactions began.
    before: (u64, u64),
}

impl RunLog {
    /// Begins the log of an empty database, for at most `sessions` sessions at a time.
    pub(crate) fn begin(logging: &Logging<'_>, layouts: &Layouts, sessions: usize) -> Result<Self, RunError> {
        let options = Options { sessions, epoch_ns: logging.epoch_ns, ..Options::default() };
        let found = recovery::find(logging.directories, layouts, options)?;
        if !found.is_new() {
            let place = logging.directories[0].display();
            return Err(RunError(format!("{place}: has a database: give a directory without one")));
        }
        let rounds = found.start().map_err(|error| RunError(error.to_string()))?;
        let running = rounds.spawn();
        let is_awaited = logging.durability == Durability::Group;
        Ok(Self { running, is_awaited, checkpoints: None, before: (0, 0) })
    }

    /// Logs the rows that a workload loads, and then starts the checkpoints.
    pub(crate) fn load(
        &mut self,
        workload: &dyn LoggedWorkload,
        of: usize,
        logging: &Logging<'_>,
    ) -> Result<(), RunError> {
        let log = self.running.log();
        workers::run(of, false, |index| workload.log(Share { index, of }, log));
        log.wait(log.present()).map_err(|error| failed(&error))?;
        self.before = log.written();
        self.checkpoints =
            (logging.checkpoint_ns > 0).then(|| Checkpoints::begin(log.clone(), logging.checkpoint_ns));
        Ok(())
    }

    /// Returns the epoch for which all commits so far wait, if clients wait for durability (group commit). If the log
    /// has failed (there is no device to write to), the run is interrupted and has no result. The same holds for the
    /// functions below.
    #[inline]
    fn present(&self, control: &Control) -> Option<u64> {
        let log = self.running.log();
        if log.failure().is_some() {
            control.interrupt();
        }
        self.is_awaited.then(|| log.present().epoch)
    }

    /// Whether an epoch is durable, or can never become durable.
    #[inline]
    fn is_assured(&self, epoch: u64, control: &Control) -> bool {
        self.running.log().is_durable(CommitTicket { epoch }).unwrap_or_else(|_| {
            control.interrupt();
            true
        })
    }

    /// Waits until an epoch is durable, or can never become durable.
    #[inline]
    fn assure(&self, epoch: u64, control: &Control) {
        if self.running.log().wait(CommitTicket { epoch }).is_err() {
            control.interrupt();
        }
    }

    /// Makes all commits durable, and closes the log.
    pub(crate) fn end(self, db: &dyn RunDatabase) -> Result<Logged, RunError> {
        let (checkpoints, checkpoint_ns) = self.checkpoints.map_or(Ok((0, 0)), Checkpoints::end)?;
        let log = self.running.log();
        // A short run may end before the log's thread has had a turn.
        log.wait(log.present()).map_err(|error| failed(&error))?;
        let (rounds, bytes) = log.written();
        let logged = Logged {
            bytes: bytes - self.before.1,
            rounds: rounds - self.before.0,
            checkpoints,
            checkpoint_ns,
            digest: digest(db),
        };
        self.running.close().map_err(|error| failed(&error))?;
        Ok(logged)
    }
}

/// Returns the digest of all rows of a quiesced database.
pub(crate) fn digest(db: &dyn RunDatabase) -> u64 {
    let of = workers::cores();
    let shares = workers::run(of, false, |index| db.digest(Share { index, of }));
    shares.into_iter().fold(0, u64::wrapping_add)
}

fn failed(error: &LogError) -> RunError {
    RunError(format!("the log has failed, and the run is no result: {error}"))
}

/// Makes checkpoints while transactions run.
struct Checkpoints {
    shared: Arc<Made>,
    thread: Background,
}

#[derive(Default)]
struct Made {
    stop: AtomicBool,
    count: AtomicU64,
    lasted_ns: AtomicU64,
    failure: Latched<Option<String>>,
}

impl Checkpoints {
    fn begin(log: Log, every_ns: u64) -> Self {
        let shared = Arc::new(Made::default());
        let theirs = Arc::clone(&shared);
        Self { shared, thread: Background::start("checkpoints", move || theirs.make(&log, every_ns)) }
    }

    /// Stops the thread, and returns the number of checkpoints and the nanoseconds that they took.
    fn end(self) -> Result<(u64, u64), RunError> {
        // Relaxed, here and below: joining the thread orders its counts.
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread.join();
        let Made { count, lasted_ns, failure, .. } = &*self.shared;
        if let Some(says) = failure.lock().take() {
            return Err(RunError(format!("a checkpoint has failed, and the run is no result: {says}")));
        }
        Ok((count.load(Ordering::Relaxed), lasted_ns.load(Ordering::Relaxed)))
    }
}

impl Made {
    fn make(&self, log: &Log, every_ns: u64) {
        let mut next_ns = clock::now_ns() + every_ns;
        // Relaxed: see `end`.
        while !waiter::wait_until(Some(next_ns), || self.stop.load(Ordering::Relaxed)) {
            let began_ns = clock::now_ns();
            if let Err(error) = log.checkpoint(1) {
                *self.failure.lock() = Some(error.to_string());
                return;
            }
            self.count.fetch_add(1, Ordering::Relaxed);
            self.lasted_ns.fetch_add(clock::now_ns() - began_ns, Ordering::Relaxed);
            next_ns = (began_ns + every_ns).max(clock::now_ns());
        }
    }
}

/// Gives the sessions of a run their sinks, if the run is logged.
pub(crate) struct Logs<'r, S: Scheme> {
    pub(crate) db: &'r Database<S>,
    pub(crate) log: Option<&'r RunLog>,
    pub(crate) control: &'r Control,
}

impl<S: Scheme> Observe for Logs<'_, S> {
    type Observer = ();
    type Sink = MaybeLogged;

    fn observer(&self) {}

    fn sink(&self) -> MaybeLogged {
        MaybeLogged(self.log.map(|log| Box::new(log.running.log().sink(self.db.tables()))))
    }

    #[inline]
    fn present(&self) -> Option<u64> {
        self.log.and_then(|log| log.present(self.control))
    }

    #[inline]
    fn is_assured(&self, epoch: u64) -> bool {
        self.log.is_none_or(|log| log.is_assured(epoch, self.control))
    }

    #[inline]
    fn assure(&self, epoch: u64) {
        if let Some(log) = self.log {
            log.assure(epoch, self.control);
        }
    }
}

/// The sink of a session, whether the run is logged or not. It costs a branch for each write, but every scheme and
/// workload is compiled once and not twice.
pub(crate) struct MaybeLogged(Option<Box<LogSink>>);

impl Sink for MaybeLogged {
    const ON: bool = true;

    #[inline]
    fn listens(&self) -> bool {
        self.0.is_some()
    }

    #[inline]
    fn begin(&mut self) {
        if let Some(sink) = &mut self.0 {
            sink.begin();
        }
    }

    #[inline]
    fn touched(&mut self, record: usize, key: AnyKey) {
        if let Some(sink) = &mut self.0 {
            sink.touched(record, key);
        }
    }

    #[inline]
    fn committing(&mut self) {
        if let Some(sink) = &mut self.0 {
            sink.committing();
        }
    }

    #[inline]
    fn logged<T: Shape>(&mut self, stamp: Stamp, record: RecordRef<'_, T>, row: Option<&[u64]>) {
        if let Some(sink) = &mut self.0 {
            sink.logged(stamp, record, row);
        }
    }

    #[inline]
    fn committed(&mut self) {
        if let Some(sink) = &mut self.0 {
            sink.committed();
        }
    }

    #[inline]
    fn ended(&mut self) {
        if let Some(sink) = &mut self.0 {
            sink.ended();
        }
    }
}
