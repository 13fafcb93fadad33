//! The one crate that instantiates schemes over workloads. Names become types here, once a run; the loop
//! inside holds no `dyn`.
#![forbid(unsafe_code)]

mod instance;
mod log;
mod recovery;
mod workload;

use core::fmt;

use engine::Violation;
use engine::driver::{Arrived, Control, Job, Series, TypeTally};
use engine::setting::{SettingError, Values};
use sync::atomic::{AtomicU32, Ordering};

pub use durability::{Durability, Torn};
pub use engine::Phase;
pub use instance::{
    admit, clients, forecast, has_versions_apart, isolation, recover, run, terminals, upgrades,
};
pub use log::{Logged, Logging};
pub use recovery::{Held, Progress, Recovered, verify};
pub use storage::{Layout, TableMemory};
pub use workload::{WORKLOADS, WorkloadInfo};

/// A run: a scheme, a workload, and all that can be chosen about them.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'s> {
    /// The workload's name.
    pub workload: &'s str,
    /// The scheme's name.
    pub scheme: &'s str,
    /// The settings of both.
    pub values: &'s Values,
    /// How it is driven.
    pub job: Job,
    /// How its tables are laid out.
    pub layout: Layout,
    /// Bytes that the system is asked for before the run, so that growing tables wait for no page faults.
    pub reserve_bytes: usize,
    /// How its commits are logged, if they are.
    pub logging: Option<Logging<'s>>,
    /// Whether its consistency is checked afterwards.
    pub check: bool,
}

/// Why a run was refused, or came to nothing. The text names the way out.
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

/// What came of a run.
#[derive(Debug)]
pub struct Measured {
    /// By the workload's types of transaction.
    pub types: Vec<TypeTally>,
    /// What came of the arrivals of an open loop.
    pub arrived: Arrived,
    /// Requests that ended in a turn of their worker, and of the database: see [`Job::turn_after`].
    pub turns: [u64; 2],
    /// How fast it went.
    pub series: Series,
    /// Ticks of sampled transactions by [`Phase`].
    pub phase_ticks: [u64; Phase::COUNT],
    /// Nanoseconds that loading took.
    pub load_ns: u64,
    /// Nanoseconds that were measured.
    pub measured_ns: u64,
    /// Nanoseconds that the check took.
    pub check_ns: u64,
    /// Processor time that the workers got, as a share of what they asked for.
    pub cpu_share: f64,
    /// Whether it was ended early.
    pub is_interrupted: bool,
    /// What the check said.
    pub verdict: Verdict,
    /// What the memory was used for when all was loaded, a line a table.
    pub memory_loaded: Vec<TableMemory>,
    /// The same at the end: what is more came of the transactions.
    pub memory: Vec<TableMemory>,
    /// What was logged, if anything was.
    pub logged: Option<Logged>,
}

/// What the consistency check after a run said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All conditions hold.
    Passed,
    /// None was looked at.
    Skipped,
    /// These do not hold: one a share of the check at most.
    Failed(Vec<Violation>),
}

/// Where a run is, for those who watch it from another thread.
#[derive(Debug)]
pub struct Monitor {
    /// Its commits and aborts so far, and the way to end it early.
    pub control: Control,
    step: AtomicU32,
}

/// The steps of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Step {
    /// First rows are inserted.
    Load,
    /// Transactions run.
    Run,
    /// The check runs.
    Check,
}

impl Monitor {
    /// For a run with this many workers.
    pub fn new(workers: usize) -> Self {
        Self { control: Control::new(workers), step: AtomicU32::new(Step::Load as u32) }
    }

    /// The present step.
    pub fn step(&self) -> Step {
        // Relaxed: for display; nothing is read on its strength.
        match self.step.load(Ordering::Relaxed) {
            0 => Step::Load,
            1 => Step::Run,
            _ => Step::Check,
        }
    }

    /// Says that the run has come to `step`.
    pub fn enter(&self, step: Step) {
        self.step.store(step as u32, Ordering::Relaxed); // Relaxed: as in `step`.
    }
}
