//! The interface of a workload, and its run on a store: load, execution by threads, check.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stdx::{Histogram, Rng};

use crate::peer::{Body, Expected, Key, Peer, Session, Stop, Txn};
use crate::tables::TableId;

/// The number of rows that are loaded in one transaction.
const LOAD_ROWS: usize = 1_000;
/// The number of attempts of a transaction after which the store is considered broken.
const ATTEMPTS: u32 = 1_000_000;
/// The range of the ceiling of pauses, in nanoseconds. A pause after a conflict is a random time below a ceiling that
/// doubles with each attempt from the first value to the second, as in the library.
const PAUSE_NS: (u64, u64) = (250, 100_000);

/// A workload.
pub trait Workload: Sync {
    /// A source of requests for one thread. Its current request is the body of a transaction.
    type Client: Client;

    /// Returns the tables that the workload uses.
    fn tables(&self) -> Vec<Expected>;

    /// Passes every initial row to `give`, table after table.
    ///
    /// # Errors
    /// The error that `give` returns.
    fn rows(&self, give: &mut dyn FnMut(TableId, Key, Vec<u8>) -> Result<(), String>) -> Result<(), String>;

    /// Creates the client with this number, from 0. Its requests are the same for every store.
    fn client(&self, number: u32) -> Self::Client;

    /// Checks the data against the counts of the clients.
    ///
    /// # Errors
    /// The violated condition.
    fn check(&self, session: &mut impl Session, clients: &[Self::Client]) -> Result<(), String>;
}

/// A source of requests.
pub trait Client: Body + Send {
    /// Draws the next request.
    fn draw(&mut self);

    /// Tells the client that its request has committed.
    fn committed(&mut self);
}

/// The length of a run.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// A warm-up time, followed by a measured time.
    Time {
        /// The duration of the warm-up.
        warmup: Duration,
        /// The duration of the measurement.
        measured: Duration,
    },
    /// A number of requests of each client, all measured.
    Requests(u64),
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The number of transactions that committed or rolled back (user aborts) in the measured time.
    pub completed: u64,
    /// The number of transactions that committed.
    pub commits: u64,
    /// The number of executions of a body that ended in neither a commit nor a rollback.
    pub retries: u64,
    /// The measured time in seconds.
    pub seconds: f64,
    /// The duration of loading in seconds.
    pub load_seconds: f64,
    /// The time from the first attempt to the commit, in nanoseconds.
    pub latency_ns: Histogram,
}

impl Outcome {
    /// Commits a second.
    pub fn rate(&self) -> f64 {
        self.commits as f64 / self.seconds
    }
}

/// Loads a workload into an empty store.
///
/// # Errors
/// The store's error.
pub fn load<P: Peer>(peer: &P, work: &impl Workload) -> Result<(), String> {
    let mut session = peer.session()?;
    let mut batch: (Option<TableId>, Vec<(Key, Vec<u8>)>) = (None, Vec::with_capacity(LOAD_ROWS));
    let mut flush = |table: Option<TableId>, rows: &mut Vec<(Key, Vec<u8>)>| {
        let Some(table) = table.filter(|_| !rows.is_empty()) else { return Ok(()) };
        session.load(table, rows).map_err(|stop| format!("loading `{}`: {stop:?}", table.table().name))?;
        rows.clear();
        Ok::<(), String>(())
    };
    work.rows(&mut |table, key, row| {
        if batch.0 != Some(table) || batch.1.len() == LOAD_ROWS {
            flush(batch.0, &mut batch.1)?;
            batch.0 = Some(table);
        }
        batch.1.push((key, row));
        Ok(())
    })?;
    flush(batch.0, &mut batch.1)?;
    drop(session);
    peer.loaded()
}

/// Loads a workload, runs it on `workers` threads, and checks the result.
///
/// # Errors
/// The store's error, or the violated condition.
pub fn run<P: Peer, W: Workload>(
    peer: &P,
    work: &W,
    workers: u32,
    length: Length,
) -> Result<Outcome, String> {
    let loading = Instant::now();
    load(peer, work)?;
    let load_seconds = loading.elapsed().as_secs_f64();
    let (outcome, clients) = execute(peer, work, workers, length)?;
    let mut session = peer.session()?;
    work.check(&mut session, &clients).map_err(|says| format!("{}: a check failed: {says}", P::NAME))?;
    Ok(Outcome { load_seconds, ..outcome })
}

/// The state of a run, shared by its workers.
struct Stage {
    phase: AtomicU8,
    is_broken: AtomicBool,
    start: Barrier,
    left: AtomicU32,
}

const WARMUP: u8 = 0;
const MEASURED: u8 = 1;
const OVER: u8 = 2;

/// The counts of one worker.
struct Counted<C> {
    client: C,
    completed: u64,
    commits: u64,
    retries: u64,
    latency_ns: Histogram,
}

fn execute<P: Peer, W: Workload>(
    peer: &P,
    work: &W,
    workers: u32,
    length: Length,
) -> Result<(Outcome, Vec<W::Client>), String> {
    let first = if matches!(length, Length::Time { .. }) { WARMUP } else { MEASURED };
    let stage = Stage {
        phase: AtomicU8::new(first),
        is_broken: AtomicBool::new(false),
        start: Barrier::new(workers as usize + 1),
        left: AtomicU32::new(workers),
    };
    let (counted, seconds) = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|number| {
                let stage = &stage;
                scope.spawn(move || {
                    let counted = worker(peer, work, number, length, stage);
                    // Release and Acquire: the time keeper stops at once when a worker cannot continue.
                    stage.is_broken.fetch_or(counted.is_err(), Ordering::Release);
                    stage.left.fetch_sub(1, Ordering::Release);
                    counted
                })
            })
            .collect();
        let seconds = keep_time(&stage, length);
        let counted: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        (counted, seconds)
    });
    let mut outcome = Outcome {
        completed: 0,
        commits: 0,
        retries: 0,
        seconds,
        load_seconds: 0.0,
        latency_ns: Histogram::default(),
    };
    let mut clients = Vec::new();
    for counted in counted {
        let counted = counted?;
        outcome.completed += counted.completed;
        outcome.commits += counted.commits;
        outcome.retries += counted.retries;
        outcome.latency_ns.merge(&counted.latency_ns);
        clients.push(counted.client);
    }
    Ok((outcome, clients))
}

/// Advances the phases. Returns the duration of the measured phase in seconds.
fn keep_time(stage: &Stage, length: Length) -> f64 {
    const LOOK: Duration = Duration::from_millis(10);
    stage.start.wait();
    let until = |at: Instant| {
        // Acquire: pairs with the Release of a worker that failed.
        while Instant::now() < at && !stage.is_broken.load(Ordering::Acquire) {
            thread::sleep(LOOK.min(at.saturating_duration_since(Instant::now())));
        }
    };
    let mut begin = Instant::now();
    // Relaxed, below: phases are distinguished by their number alone. A worker that sees a phase late counts a
    // transaction in the phase that it sees.
    match length {
        Length::Time { warmup, measured } => {
            until(begin + warmup);
            begin = Instant::now();
            stage.phase.store(MEASURED, Ordering::Relaxed);
            until(begin + measured);
            stage.phase.store(OVER, Ordering::Relaxed);
        }
        Length::Requests(_) => {
            // Acquire: pairs with the Release of each worker's end.
            while stage.left.load(Ordering::Acquire) > 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
    begin.elapsed().as_secs_f64()
}

/// A body that counts its executions.
struct Executed<'c, C> {
    client: &'c mut C,
    times: u64,
}

impl<C: Body> Body for Executed<'_, C> {
    fn is_read_only(&self) -> bool {
        self.client.is_read_only()
    }

    fn run(&mut self, txn: &mut impl Txn) -> Result<(), Stop> {
        self.times += 1;
        self.client.run(txn)
    }
}

fn worker<P: Peer, W: Workload>(
    peer: &P,
    work: &W,
    number: u32,
    length: Length,
    stage: &Stage,
) -> Result<Counted<W::Client>, String> {
    let session = peer.session();
    stage.start.wait();
    let mut session = session?;
    let mut rng = Rng::from_path(&[0x7061_7573_6573, u64::from(number)]);
    let mut counted = Counted {
        client: work.client(number),
        completed: 0,
        commits: 0,
        retries: 0,
        latency_ns: Histogram::default(),
    };
    let requests = if let Length::Requests(requests) = length { requests } else { u64::MAX };
    for _ in 0..requests {
        counted.client.draw();
        let begin = Instant::now();
        let mut executed = Executed { client: &mut counted.client, times: 0 };
        let has_committed = until_it_ends(&mut session, &mut executed, &mut rng, stage)?;
        let Some(has_committed) = has_committed else { break };
        let times = executed.times;
        if has_committed {
            counted.client.committed();
        }
        // Relaxed: see `keep_time`.
        match stage.phase.load(Ordering::Relaxed) {
            MEASURED => {
                counted.completed += 1;
                counted.commits += u64::from(has_committed);
                counted.retries += times.saturating_sub(1);
                counted.latency_ns.record(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
            }
            WARMUP => {}
            _ => break,
        }
    }
    Ok(counted)
}

/// Attempts a transaction until it commits or rolls back. Returns whether it committed, or `None` if the run is over.
fn until_it_ends(
    session: &mut impl Session,
    body: &mut impl Body,
    rng: &mut Rng,
    stage: &Stage,
) -> Result<Option<bool>, String> {
    let mut last = Stop::Conflict;
    for attempt in 0..ATTEMPTS {
        match session.attempt(body) {
            Ok(()) => return Ok(Some(true)),
            Err(Stop::Rollback) => return Ok(Some(false)),
            Err(Stop::Failed(says)) => return Err(says),
            Err(stop) => last = stop,
        }
        // Relaxed: see `keep_time`. A client whose transaction never commits must not delay the end of the run.
        if stage.phase.load(Ordering::Relaxed) == OVER {
            return Ok(None);
        }
        pause(rng, attempt);
    }
    Err(format!("a transaction met {last:?} {ATTEMPTS} times"))
}

/// Waits before the next attempt without giving up the processor: sleeping takes longer than most pauses.
fn pause(rng: &mut Rng, attempt: u32) {
    let ceiling_ns = (PAUSE_NS.0 << attempt.min(20)).min(PAUSE_NS.1);
    let end = Instant::now() + Duration::from_nanos(rng.below(ceiling_ns));
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}
