//! Drivers: how transactions reach the workers, and the results of a run.

mod arrivals;
mod batch;
mod batched;
mod books;
mod conductor;
mod estimate;
mod lanes;
mod latencies;
mod per_partition;
mod per_worker;
mod placement;
mod planned;
mod regulator;
mod sender;
mod traffic;
mod turns;
mod window;

use orders::LargeComponents;
use stdx::{Histogram, RetryCounts};
use storage::LeafRef;
use sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sync::{Padded, clock, waiter, workers};

use crate::meter::{Meter, Phase};
use crate::{
    Abort, Call, Database, Homes, InsertAt, Insight, Ledger, Observe, Procedures, Program, Scheme, Session,
    Touch, TxnType, Workload,
};

pub use arrivals::Arrived;
pub use batched::Batched;
pub use conductor::ThroughputSeries;
pub use per_partition::PerPartition;
pub use per_worker::PerWorker;
pub use planned::Planned;
pub use traffic::{Arrivals, ClientMode, OpenLoop, Process, Traffic};

use books::Books;
use latencies::Latencies;

/// The reaction of a client to an abort by the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Tries the same request again, after a pause just long enough to let the conflicting attempts end.
    Same,
    /// Counts the abort and goes on with another request.
    Drop,
    /// Tries the same request again after a random pause whose ceiling doubles with each abort, up to milliseconds.
    /// Where transactions run in batches, the next batch comes first, and this and the following ones are the same as
    /// `Same`.
    Backoff,
    /// Tries the same request again after a random pause up to [`Job::backoff_ns`], however often it was aborted.
    Fixed,
    /// Tries the same request again after a random pause up to a ceiling that all clients share, and that moves to
    /// where the run commits most.
    Climb,
}

/// How many requests of a worker are active at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Those of all its clients.
    Open,
    /// Fewer while most of their attempts abort or block each other. Where transactions run in batches, all
    /// transactions of a batch are active.
    Regulated,
    /// One, during its attempts: an attempt that waits keeps its worker, and those of other clients begin only when it
    /// has ended, as in an engine that gives each transaction a thread and puts aborted ones aside.
    Single,
}

impl Retry {
    /// All reactions.
    pub const ALL: [Self; 5] = [Self::Same, Self::Drop, Self::Backoff, Self::Fixed, Self::Climb];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Drop => "drop",
            Self::Backoff => "backoff",
            Self::Fixed => "fixed",
            Self::Climb => "climb",
        }
    }
}

/// The length of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A time, of which only the part after the warm-up counts.
    Time {
        /// Nanoseconds before the counting begins.
        warmup_ns: u64,
        /// Nanoseconds that count.
        measured_ns: u64,
        /// Nanoseconds after them in which the load goes on.
        cooldown_ns: u64,
    },
    /// The number of requests of each client, all of which count.
    Requests(u64),
    /// As long as it takes to estimate the throughput, whatever time that is.
    Estimate(Estimate),
}

/// The quality of an estimate of the throughput, at which a run ends. The throughput is estimated by batch means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number of commits of a worker, in the mean, before the counting begins.
    pub warmup_commits: u64,
    /// The least number of commits of a worker, in the mean, that count.
    pub commits: u64,
    /// The greatest half width of the interval of 95% confidence, as a share of the throughput.
    pub error: f64,
    /// The greatest number of times the least measured time that a run may take until then.
    pub patience: u64,
    /// Nanoseconds after which the run ends in any case.
    pub longest_ns: u64,
}

impl Estimate {
    /// A run that commits nothing for so many nanoseconds, beside the waits of its clients, is given up: it would
    /// commit nothing for ever.
    pub const STALLED_NS: u64 = 20_000_000;
}

/// A run of a workload on a loaded database.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Job {
    /// The number of threads that execute.
    pub workers: usize,
    /// The number of logical sessions in flight; it need not be a multiple of `workers`: client `c` belongs to worker
    /// `c % workers`.
    pub clients: usize,
    /// The reaction of clients to an abort by the scheme.
    pub retry: Retry,
    /// The length of the run.
    pub limit: Limit,
    /// The seed of all requests.
    pub seed: u64,
    /// Nanoseconds that each transaction waits before it commits, while it keeps its locks.
    pub pause_ns: u64,
    /// Nanoseconds of work that an abort costs its worker in addition to the undo. The attempt holds no lock any more;
    /// in a batch, the other workers wait for this work.
    pub abort_ns: u64,
    /// The longest pause of [`Retry::Fixed`], in nanoseconds.
    pub backoff_ns: u64,
    /// The minimum number of failures in a row after which a client gets a turn: the other clients of its worker wait
    /// until the request has ended, and the clients of all workers do if it fails on; 0 for never. The number in effect
    /// is never below the number of clients, or of workers, that would wait. There are no turns where transactions run
    /// in batches, and where requests are dropped.
    pub turn_after: u32,
    /// How many requests of a worker are active at a time.
    pub admission: Admission,
    /// Whether updates read before they write: see [`Session::read_first`].
    pub reads_first: bool,
    /// Whether schemes that plan rehearse all transactions, even if an input [states](crate::InputFootprint::complete)
    /// what it touches.
    pub rehearses: bool,
    /// How requests are given to workers before they are executed; `None` if each worker executes those of its own
    /// clients, in the order of their arrival.
    pub reorder: Option<Reorder>,
    /// Whether workers stay on their cores.
    pub pin: bool,
    /// One of this many transactions of a client is divided into phases; 0 for none.
    pub sample_every: u64,
    /// Whether latencies are counted.
    pub latencies: bool,
    /// How requests arrive, and the costs of their messages.
    pub traffic: Traffic,
    /// Ends the warm-up of a timed run before its time, when it returns `true` for the commits a second of all
    /// intervals so far.
    pub is_steady: Option<fn(&[f64]) -> bool>,
}

impl Job {
    /// Returns the plain job: a closed loop of whole requests, which are tried again when they are aborted. Nothing
    /// beyond their outcomes is counted.
    pub fn new(workers: usize, clients: usize, limit: Limit, seed: u64) -> Self {
        Self {
            workers,
            clients,
            retry: Retry::Same,
            limit,
            seed,
            pause_ns: 0,
            abort_ns: 0,
            backoff_ns: 0,
            turn_after: 0,
            admission: Admission::Open,
            reads_first: false,
            rehearses: false,
            reorder: None,
            pin: false,
            sample_every: 0,
            latencies: false,
            traffic: Traffic::default(),
            is_steady: None,
        }
    }
}

/// Thread-aware reordering: requests of a batch that conflict, as far as their [footprints](crate::InputFootprint)
/// tell, are executed by the same worker, one after the other (Ding, Kot, Gehrke, PVLDB 12(2), 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// The maximum number of requests in a batch of a worker.
    pub batch_max: usize,
    /// The treatment of conflicting requests that are more than a worker's even share.
    pub large: LargeComponents,
}

/// The stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Transactions run and do not count.
    WarmUp,
    /// Transactions run and count.
    Measured,
    /// Transactions run and do not count any more.
    CoolDown,
    /// Clients end with their present transaction.
    Stopping,
}

/// State shared by the workers of a run and by its observers.
#[derive(Debug)]
pub struct Control {
    stage: AtomicU32,
    interrupted: AtomicU32,
    progress: Box<[Padded<AtomicU64>]>,
    aborts: Box<[Padded<AtomicU64>]>,
    latencies: Box<[Padded<Latencies>]>,
}

impl Control {
    /// Makes the state of a run with this many workers.
    pub fn new(workers: usize) -> Self {
        let counters = || (0..workers).map(|_| Padded::default()).collect();
        let (stage, interrupted) = (AtomicU32::new(0), AtomicU32::new(0));
        let latencies = (0..workers).map(|_| Padded::default()).collect();
        Self { stage, interrupted, progress: counters(), aborts: counters(), latencies }
    }

    /// Ends the run early: the measurements until now count. May be called from any thread.
    pub fn interrupt(&self) {
        self.interrupted.store(1, Ordering::Relaxed); // Relaxed: a flag that orders nothing else.
    }

    /// Whether [`interrupt`](Self::interrupt) was called.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) == 1 // Relaxed: as above.
    }

    /// Commits and aborts so far, warm-up included.
    pub fn progress(&self) -> (u64, u64) {
        // Relaxed: for display.
        let sum = |counters: &[Padded<AtomicU64>]| counters.iter().map(|n| n.load(Ordering::Relaxed)).sum();
        (sum(&self.progress), sum(&self.aborts))
    }

    /// The 99th percentile of the latencies counted so far, in nanoseconds, rounded up by an eighth at most; `None`
    /// before the measured stage. For display: results have more digits.
    pub fn latency_ns_p99(&self) -> Option<u64> {
        Latencies::quantile(&self.latencies.iter().map(|own| &**own), 0.99)
    }

    /// The stage of the run.
    #[inline]
    pub fn stage(&self) -> Stage {
        // Relaxed: a worker that sees a new stage a little late counts a transaction more or less.
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::WarmUp,
            1 => Stage::Measured,
            2 => Stage::CoolDown,
            _ => Stage::Stopping,
        }
    }

    fn enter(&self, stage: Stage) {
        self.stage.store(stage as u32, Ordering::Relaxed); // Relaxed: as in `stage`.
        clock::measure(stage == Stage::Measured);
    }

    /// Counts a worker's commits or aborts for display.
    #[inline]
    pub(crate) fn count(&self, worker: usize, committed: bool) {
        let counter = if committed { &self.progress[worker] } else { &self.aborts[worker] };
        // Relaxed, and no read-modify-write: one worker writes each counter.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// The results for one type of transaction.
#[derive(Clone, Debug, Default)]
pub struct TypeTally {
    /// Committed transactions.
    pub commits: u64,
    /// Transactions that their procedure rolled back.
    pub user_aborts: u64,
    /// Attempts that the scheme aborted, by reason (the number of [`Abort`]).
    pub aborts: [u64; Abort::ALL.len()],
    /// Aborted attempts of each request that has committed.
    pub retries: RetryCounts,
    /// From the moment at which a request was to be sent to its commit, retries included, in nanoseconds.
    pub latency_ns: Histogram,
    /// From the moment at which a client took the request up to its commit. Empty where these moments are the same:
    /// see [`Traffic::may_queue`].
    pub service_ns: Histogram,
}

impl TypeTally {
    fn merge(&mut self, other: &Self) {
        self.commits += other.commits;
        self.user_aborts += other.user_aborts;
        for (sum, aborts) in self.aborts.iter_mut().zip(other.aborts) {
            *sum += aborts;
        }
        self.retries.merge(&other.retries);
        self.latency_ns.merge(&other.latency_ns);
        self.service_ns.merge(&other.service_ns);
    }
}

/// The results of a worker in the measured stage.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By the workload's types of transaction.
    pub types: Vec<TypeTally>,
    /// Statistics of open-loop arrivals: offered, skipped.
    pub arrived: Arrived,
    /// Requests that ended in a turn of their worker, and in a turn of the database: see [`Job::turn_after`].
    pub turns: [u64; 2],
    /// Ticks of sampled transactions by [`Phase`].
    pub phase_ticks: [u64; Phase::COUNT],
    /// The beginning and end of the worker's measured stage, by the common clock.
    pub measured_ns: (u64, u64),
    /// Processor time that the worker used in this stage.
    pub cpu_ns: u64,
    /// Time in this stage in which the worker had nothing to run and gave up its core.
    pub idle_ns: u64,
}

impl Tally {
    /// Makes an empty tally for a workload with this many types.
    pub fn new(types: usize) -> Self {
        Self { types: vec![TypeTally::default(); types], ..Self::default() }
    }
}

/// The results of a run.
#[derive(Debug)]
pub struct RunOutcome<L> {
    /// By type of transaction, all workers together.
    pub types: Vec<TypeTally>,
    /// Statistics of open-loop arrivals: offered, skipped.
    pub arrived: Arrived,
    /// Requests that ended in a turn of their worker, and in a turn of the database: see [`Job::turn_after`].
    pub turns: [u64; 2],
    /// The commits a second of each interval of a timed run.
    pub series: ThroughputSeries,
    /// Ticks of sampled transactions by [`Phase`].
    pub phase_ticks: [u64; Phase::COUNT],
    /// The measured time in nanoseconds. Commits of attempts that began in it are counted. If the run is timed, it is
    /// the conductor's: a worker's lasts until the end of the attempt in which it ends, and one long transaction would
    /// make the run longer for all. Otherwise it is that of the worker that took longest.
    pub measured_ns: u64,
    /// Processor time that the workers got in the measured time, as a share of what they asked for.
    pub cpu_share: f64,
    /// The workers' ledgers, for the checks.
    pub ledgers: Vec<L>,
    /// The scheme's own observations.
    pub insight: Insight,
}

impl RunOutcome<Ledger> {
    /// The outcome of a run in which nothing has happened, of a workload with so many types of transaction.
    pub fn empty(types: usize) -> Self {
        Self {
            types: vec![TypeTally::default(); types],
            arrived: Arrived::default(),
            turns: [0; 2],
            series: ThroughputSeries::default(),
            phase_ticks: [0; Phase::COUNT],
            measured_ns: 0,
            cpu_share: 1.0,
            ledgers: Vec::new(),
            insight: Insight::default(),
        }
    }

    /// The same with the ledgers of a workload.
    fn typed<W: Workload>(self) -> RunOutcome<W::Ledger> {
        let ledgers = self.ledgers.into_iter().map(Ledger::into_inner::<W>).collect();
        let Self { types, arrived, turns, series, phase_ticks, measured_ns, cpu_share, insight, .. } = self;
        RunOutcome { types, arrived, turns, series, phase_ticks, measured_ns, cpu_share, ledgers, insight }
    }
}

/// How transactions reach a scheme's workers, and the hooks of the schemes that are driven in this way.
pub trait Driver<S: Scheme> {
    /// State shared by the workers of a run.
    type Shared<'r>: Sync;

    /// Whether the driver runs jobs that [reorder](Job::reorder) requests. Others place requests by rules of their own.
    const REORDERS: bool = false;

    /// Returns why the driver cannot do this job, as a sentence with the way out; `None` if it can.
    fn refuses(job: &Job) -> Option<&'static str> {
        if job.reorder.is_some() && job.admission == Admission::Single {
            return Some(REFUSES_REORDERED_SINGLE);
        }
        (job.reorder.is_some() && !Self::REORDERS).then_some(REFUSES_REORDERING)
    }

    /// The maximum number of sessions that the driver has open at a time for a job.
    fn sessions(job: &Job) -> usize {
        job.clients
    }

    /// Makes what the workers of a run share.
    fn shared<'r>(db: &'r Database<S>, job: &Job) -> Self::Shared<'r>;

    /// One worker's part of a run: returns when the run is over.
    fn work<'r, V: Observe>(part: Part<'r, S, V>, shared: &Self::Shared<'r>) -> (Tally, Ledger);

    /// When the engine adds keys to the indexes.
    const INSERT: InsertAt = InsertAt::Access;
    /// Whether the engine calls [`touch`](Self::touch).
    const PLANS: bool = false;
    /// Whether the engine calls [`reach`](Self::reach).
    const PARTITIONED: bool = false;

    /// See [`Planning::touch`](crate::Planning::touch).
    #[inline]
    fn touch<'db>(_scheme: &'db S, _txn: &mut S::Txn<'db>, _touch: Touch) -> Result<(), Abort> {
        Ok(())
    }

    /// See [`Planning::decided`](crate::Planning::decided).
    #[inline]
    fn decided<'db>(_scheme: &'db S, _txn: &mut S::Txn<'db>) {}

    /// See [`Batching::claim`](crate::Batching::claim).
    #[inline]
    fn claim<'db>(
        _scheme: &'db S,
        _txn: &mut S::Txn<'db>,
        _leaf: LeafRef<'db, S::Leaf>,
        _key: u64,
    ) -> Result<(), Abort> {
        Ok(())
    }

    /// See [`Partitioned::reach`](crate::Partitioned::reach).
    #[inline]
    fn reach<'db>(_scheme: &'db S, _txn: &mut S::Txn<'db>, _from: u64, _to: u64) -> Result<(), Abort> {
        Ok(())
    }
}

/// The refusal of drivers that do not [reorder](Driver::REORDERS).
pub(crate) const REFUSES_REORDERING: &str = "the scheme decides by itself where and in which \
    order transactions execute: give `--set run.reorder=off`";

/// The refusal of a job that reorders and has [one attempt a worker](Admission::Single).
const REFUSES_REORDERED_SINGLE: &str = "requests that are reordered are executed by other workers than those of their \
    clients, so that no worker has one attempt of its own clients at a time: give `--set run.admission=open`";

/// One worker's part of a run.
pub struct Part<'r, S: Scheme, V: Observe = ()> {
    /// The database.
    pub db: &'r Database<S>,
    /// The workload.
    pub program: &'r dyn Program<S, V::Observer, V::Sink>,
    /// Its types of transaction.
    pub types: &'static [TxnType],
    /// The run.
    pub job: &'r Job,
    /// The run's stages.
    pub control: &'r Control,
    /// Where its sessions get their observers and sinks.
    pub observe: &'r V,
    /// The worker's number.
    pub worker: usize,
}

impl<S: Scheme, V: Observe> Clone for Part<'_, S, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Scheme, V: Observe> Copy for Part<'_, S, V> {}

impl<'r, S: Scheme, V: Observe> Part<'r, S, V> {
    /// A session of this run.
    fn session(&self) -> Session<'r, S, V::Observer, V::Sink> {
        let mut session = self.db.session_with(self.observe.observer(), self.observe.sink());
        session.read_first(self.job.reads_first);
        session
    }

    /// The homes that a call will touch, if the scheme has any use for them.
    #[inline]
    fn homes(&self, call: &Call) -> Homes {
        if self.db.facts().partitions > 0 { self.program.homes(call) } else { Homes::new() }
    }

    /// Empty books of this worker.
    fn books(&self) -> Books<'r> {
        Books::new(self.job, self.control, self.worker, self.types.len(), self.program.ledger())
    }

    /// The numbers of the clients that belong to this worker.
    pub fn clients(&self) -> impl Iterator<Item = u32> + use<S, V> {
        (self.worker as u32..self.job.clients as u32).step_by(self.job.workers)
    }
}

/// Runs a workload on a loaded database.
///
/// # Panics
/// When a worker panics, with its message; when the driver refuses the job.
pub fn run<S: Scheme, W: Workload>(
    db: &Database<S>,
    workload: &W,
    job: &Job,
    control: &Control,
) -> RunOutcome<W::Ledger> {
    observe(db, workload, job, control, &())
}

/// Like [`run`], with an observer for each session.
///
/// # Panics
/// As [`run`]; and see [`Database::session_with`].
pub fn observe<S: Scheme, W: Workload, V: Observe>(
    db: &Database<S>,
    workload: &W,
    job: &Job,
    control: &Control,
    observe: &V,
) -> RunOutcome<W::Ledger> {
    drive(db, &Procedures(workload), job, control, observe).typed::<W>()
}

/// Like [`observe`], of a program whose workload is not known.
///
/// # Panics
/// As [`observe`].
pub fn drive<S: Scheme, V: Observe>(
    db: &Database<S>,
    program: &dyn Program<S, V::Observer, V::Sink>,
    job: &Job,
    control: &Control,
    observe: &V,
) -> RunOutcome<Ledger> {
    assert!(job.workers > 0 && job.clients >= job.workers, "each worker has a client");
    clock::ticks_to_ns(0); // Calibrates the clock before anything is measured.
    assert_eq!(S::Driver::refuses(job), None, "a job is refused before it is run");
    // In memory of its own: on the stack, the compiler would decide which of its words share a cache line.
    let (shared, types) = (Box::new(S::Driver::shared(db, job)), program.types());
    let part = |worker| Part { db, program, types, job, control, observe, worker };
    let waits_ns = estimate::waits_ns(job, (0..types.len()).map(|kind| program.pace(kind)));
    let work = |worker| S::Driver::work(part(worker), &shared);
    let outcome = run_workers(job, waits_ns, control, types.len(), &work);
    RunOutcome { insight: db.scheme().insight(), ..outcome }
}

/// Runs the workers of a job, each by `work`: compiled once, and not for each scheme.
fn run_workers(
    job: &Job,
    waits_ns: u64,
    control: &Control,
    types: usize,
    work: &(dyn Fn(usize) -> (Tally, Ledger) + Sync),
) -> RunOutcome<Ledger> {
    let is_timed = !matches!(job.limit, Limit::Requests(_));
    if !is_timed {
        control.enter(Stage::Measured);
    }
    // One thread more conducts a timed run.
    let ended = workers::run(job.workers + usize::from(is_timed), job.pin, |worker| {
        if worker == job.workers {
            return Ended::Conductor(conductor::conduct(job, waits_ns, control));
        }
        Ended::Worker(work(worker))
    });
    summarize(ended, types)
}

/// The return value of a thread of a run.
enum Ended {
    Conductor(ThroughputSeries),
    Worker((Tally, Ledger)),
}

fn summarize(ended: Vec<Ended>, types: usize) -> RunOutcome<Ledger> {
    let mut outcome = RunOutcome::empty(types);
    let (mut wall_ns, mut longest_ns, mut cpu_ns, mut idle_ns) = (0, 0, 0, 0);
    for ended in ended {
        let (tally, ledger) = match ended {
            Ended::Conductor(series) => {
                outcome.series = series;
                continue;
            }
            Ended::Worker(counted) => counted,
        };
        outcome.arrived.merge(tally.arrived);
        for (sum, turns) in outcome.turns.iter_mut().zip(tally.turns) {
            *sum += turns;
        }
        for (sum, counted) in outcome.types.iter_mut().zip(&tally.types) {
            sum.merge(counted);
        }
        for (sum, ticks) in outcome.phase_ticks.iter_mut().zip(tally.phase_ticks) {
            *sum += ticks;
        }
        let lasted_ns = tally.measured_ns.1.saturating_sub(tally.measured_ns.0);
        longest_ns = longest_ns.max(lasted_ns);
        wall_ns += lasted_ns;
        cpu_ns += tally.cpu_ns;
        idle_ns += tally.idle_ns;
        outcome.ledgers.push(ledger);
    }
    // A run that was interrupted before any worker measured has measured nothing.
    outcome.measured_ns = if longest_ns > 0 && outcome.series.measured_ns > 0 {
        outcome.series.measured_ns
    } else {
        longest_ns
    };
    let asked_ns = wall_ns.saturating_sub(idle_ns).max(1);
    outcome.cpu_share = (cpu_ns as f64 / asked_ns as f64).min(1.0);
    outcome
}

/// Whether the scheme aborted an attempt, so that its transaction must execute again.
#[inline]
fn is_aborted<T>(result: &Result<T, Abort>) -> bool {
    matches!(result, Err(abort) if *abort != Abort::Rollback)
}

/// Makes the worker pay for an abort that is not the end of the run: see [`Job::abort_ns`].
#[inline]
fn pay<T>(job: &Job, result: &Result<T, Abort>, meter: &mut Meter) {
    if job.abort_ns > 0 && is_aborted(result) && !matches!(result, Err(Abort::Stopped)) {
        meter.switch(Phase::Abort);
        waiter::work_ns(job.abort_ns);
        meter.switch(Phase::Wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job of no workload in particular.
    pub(super) fn job(workers: usize) -> Job {
        Job { latencies: true, ..Job::new(workers, workers, Limit::Requests(1), 1) }
    }

    /// The measured time of a run with workers that measured for so long, and with a conductor, if there is one.
    fn measured_ns(of_conductor: Option<u64>, of_workers: &[u64]) -> u64 {
        let conductor = of_conductor.map(|measured_ns| {
            Ended::Conductor(ThroughputSeries { measured_ns, ..ThroughputSeries::default() })
        });
        let worker = |&lasted_ns: &u64| {
            let tally = Tally { measured_ns: (7, 7 + lasted_ns), ..Tally::new(1) };
            Ended::Worker((tally, Ledger::empty()))
        };
        summarize(conductor.into_iter().chain(of_workers.iter().map(worker)).collect(), 1).measured_ns
    }

    #[test]
    fn a_transaction_that_lasts_makes_a_timed_run_no_longer() {
        assert_eq!(measured_ns(Some(1_000), &[1_010, 90_000]), 1_000);
        assert_eq!(measured_ns(None, &[1_010, 90_000]), 90_000);
        assert_eq!(measured_ns(Some(1_000), &[0, 0]), 0, "interrupted before a worker measured");
    }
}
