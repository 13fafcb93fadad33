//! What a workload is to the stores, and how it is run on one: loaded, executed by threads, checked.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stdx::{Histogram, Rng};

use crate::peer::{Body, Expected, Key, Peer, Session, Stop, Txn};
use crate::tables::TableId;

/// Rows that are loaded in one transaction.
const LOAD_ROWS: usize = 1_000;
/// Attempts of a transaction before the store is taken for broken.
const ATTEMPTS: u32 = 1_000_000;
/// A pause after a conflict is a random time below a ceiling, in nanoseconds, that doubles with each attempt from the
/// first of these to the second, as the library's own is.
const PAUSE_NS: (u64, u64) = (250, 100_000);

/// A workload.
pub trait Workload: Sync {
    /// What one thread asks for: its current request is the body of a transaction.
    type Client: Client;

    /// The tables it uses.
    fn tables(&self) -> Vec<Expected>;

    /// Gives every row that is there at first, table after table.
    ///
    /// # Errors
    /// What the receiver says.
    fn rows(&self, give: &mut dyn FnMut(TableId, Key, Vec<u8>) -> Result<(), String>) -> Result<(), String>;

    /// A client, by number from 0; its requests are the same for every store.
    fn client(&self, number: u32) -> Self::Client;

    /// Checks what the clients have made of the data.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self, session: &mut impl Session, clients: &[Self::Client]) -> Result<(), String>;
}

/// A source of requests.
pub trait Client: Body + Send {
    /// Draws the next request.
    fn draw(&mut self);

    /// Hears that the request has committed.
    fn committed(&mut self);
}

/// How long a run is.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// So long a warm-up, and so long measured.
    Time {
        /// What comes before.
        warmup: Duration,
        /// What is measured.
        measured: Duration,
    },
    /// So many requests of each client, all measured.
    Requests(u64),
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Transactions that committed, or rolled back by their own wish, in the measured time.
    pub completed: u64,
    /// Those that committed.
    pub commits: u64,
    /// Executions of a body that did not lead to either.
    pub retries: u64,
    /// The measured time.
    pub seconds: f64,
    /// Seconds that loading took.
    pub load_seconds: f64,
    /// From the first attempt to the commit, in nanoseconds.
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
/// What the store says.
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

/// Loads a workload, runs it on so many threads, and checks what came of it.
///
/// # Errors
/// What the store or the check says.
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

/// Where a run stands, as its workers see it.
struct Stage {
    phase: AtomicU8,
    is_broken: AtomicBool,
    start: Barrier,
    left: AtomicU32,
}

const WARMUP: u8 = 0;
const MEASURED: u8 = 1;
const OVER: u8 = 2;

/// What a worker counted.
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
                    // Release and Acquire: the time keeper stops at once when one cannot go on.
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

/// Lets the phases pass; the seconds of the measured one.
fn keep_time(stage: &Stage, length: Length) -> f64 {
    const LOOK: Duration = Duration::from_millis(10);
    stage.start.wait();
    let until = |at: Instant| {
        // Acquire: pairs with the Release of a worker that gave up.
        while Instant::now() < at && !stage.is_broken.load(Ordering::Acquire) {
            thread::sleep(LOOK.min(at.saturating_duration_since(Instant::now())));
        }
    };
    let mut begin = Instant::now();
    // Relaxed, below: phases are told apart by their number alone, and who sees one late counts a transaction there.
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

/// Counts how often a body is executed.
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

/// Attempts a transaction until it commits or rolls back; whether it committed, and nothing when the run is over.
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
        // Relaxed: see `keep_time`. Who is refused for ever must not keep up the others' end.
        if stage.phase.load(Ordering::Relaxed) == OVER {
            return Ok(None);
        }
        pause(rng, attempt);
    }
    Err(format!("a transaction met {last:?} {ATTEMPTS} times"))
}

/// Waits before the next attempt, without giving up the processor: sleeping takes longer than most pauses are.
fn pause(rng: &mut Rng, attempt: u32) {
    let ceiling_ns = (PAUSE_NS.0 << attempt.min(20)).min(PAUSE_NS.1);
    let end = Instant::now() + Duration::from_nanos(rng.below(ceiling_ns));
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}
