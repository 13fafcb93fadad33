//! Runs of schemes on workloads. An [`Instance`] has the operations of a scheme compiled for its type, and a workload's
//! name becomes a type here, once for each run, so that the loop inside holds no `dyn`.
#![forbid(unsafe_code)]

mod database;
mod erased;
mod instance;
mod loading;
mod log;
mod recovery;

use core::fmt;

use engine::driver::{Arrived, Control, Job, ThroughputSeries, TypeTally};
use engine::setting::{SettingError, Values};
use engine::{Insight, Violation};
use sync::atomic::{AtomicU32, Ordering};

pub use durability::{Durability, Torn};
pub use engine::Phase;
pub use instance::{Instance, admit, forecast, recover, run, terminals};
pub use log::{Logged, Logging};
pub use recovery::{LockedDirectories, Recovered, RecoveryProgress, verify};
pub use storage::{Layout, Splitting, TableMemory};
pub use workloads::catalogue::{WORKLOADS, WorkloadInfo};

/// The specification of a run: a scheme, a workload, and all that can be chosen about them.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'s> {
    /// The workload's name.
    pub workload: &'s str,
    /// The scheme.
    pub scheme: Instance,
    /// The settings of the workload and of the scheme.
    pub values: &'s Values,
    /// The way in which the run is driven.
    pub job: Job,
    /// The layout of the tables.
    pub layout: Layout,
    /// Bytes of memory that are requested from the system before the run, so that growing tables wait for no page
    /// faults.
    pub reserve_bytes: usize,
    /// The logging of commits; `None` if commits are not logged.
    pub logging: Option<Logging<'s>>,
    /// Whether the consistency of the database is checked after the run.
    pub check: bool,
}

/// The reason why a run was refused or has no result. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError(pub String);

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for RunError {}

impl From<SettingError> for RunError {
    fn from(error: SettingError) -> Self {
        Self(error.0)
    }
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Counts by the workload's types of transaction.
    pub types: Vec<TypeTally>,
    /// Statistics of open-loop arrivals: offered and skipped requests.
    pub arrived: Arrived,
    /// Requests that ended in a turn of their worker, and requests that ended in a turn of the database: see
    /// [`Job::turn_after`].
    pub turns: [u64; 2],
    /// The throughput by interval.
    pub series: ThroughputSeries,
    /// Ticks of sampled transactions by [`Phase`].
    pub phase_ticks: [u64; Phase::COUNT],
    /// Nanoseconds that loading took.
    pub load_ns: u64,
    /// Nanoseconds of the measured time.
    pub measured_ns: u64,
    /// Nanoseconds that the check took.
    pub check_ns: u64,
    /// Processor time that the workers got, as a share of what they asked for.
    pub cpu_share: f64,
    /// Whether the run was ended early.
    pub is_interrupted: bool,
    /// The verdict of the consistency check.
    pub verdict: CheckVerdict,
    /// The memory use after loading, by table.
    pub memory_loaded: Vec<TableMemory>,
    /// The memory use at the end, by table: the growth since loading is due to the transactions.
    pub memory: Vec<TableMemory>,
    /// Statistics of the log, if commits were logged.
    pub logged: Option<Logged>,
    /// The scheme's own observations.
    pub insight: Insight,
}

/// The verdict of the consistency check after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// All conditions hold.
    Passed,
    /// No condition was checked.
    Skipped,
    /// These conditions do not hold: at most one for each share of the check.
    Failed(Vec<Violation>),
}

/// The progress of a run, for watchers on another thread.
#[derive(Debug)]
pub struct Monitor {
    /// The commits and aborts so far, and the way to end the run early.
    pub control: Control,
    phase: AtomicU32,
}

/// The phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RunPhase {
    /// The initial rows are inserted.
    Load,
    /// Transactions run.
    Run,
    /// The check runs.
    Check,
}

impl Monitor {
    /// Creates the monitor of a run with this many workers.
    pub fn new(workers: usize) -> Self {
        Self { control: Control::new(workers), phase: AtomicU32::new(RunPhase::Load as u32) }
    }

    /// Returns the current phase.
    pub fn phase(&self) -> RunPhase {
        // Relaxed: for display; no other memory access depends on the value.
        match self.phase.load(Ordering::Relaxed) {
            0 => RunPhase::Load,
            1 => RunPhase::Run,
            _ => RunPhase::Check,
        }
    }

    /// Records that the run has reached `phase`.
    pub fn enter(&self, phase: RunPhase) {
        self.phase.store(phase as u32, Ordering::Relaxed); // Relaxed: as in `phase`.
    }
}
