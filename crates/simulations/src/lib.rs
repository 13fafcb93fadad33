//! Runs of schemes on simulated machines: the same code of schemes, engine and workloads as in native runs, over the
//! stepped build, under a scheduler that has time and caches.
//!
//! A simulated run has the same settings and the same results as a native one. Its seconds are those of the simulated
//! machine.
#![forbid(unsafe_code)]

mod convert;
mod database;
mod hot_lines;
mod instance;
pub mod pairs;

use core::fmt;

use engine::driver::Job;
use engine::setting::Values;
use runs::{Layout, Measured};
use sim::machine::{Machine, MemoryPolicy, Placement};
pub use sim::{Spent, TimedCounts};
use sync_sim::heap;

pub use instance::SimulatedInstance;

/// The allocator of programs that simulate.
#[global_allocator]
static ALLOCATOR: heap::Allocator = heap::Allocator;

/// The specification of a simulated run.
#[derive(Clone, Copy, Debug)]
pub struct SimulationSpec<'s> {
    /// The workload's name.
    pub workload: &'s str,
    /// The settings of the workload and of the scheme, and others, which have no effect on the simulation.
    pub values: &'s Values,
    /// The way in which the run is driven. Its times are those of the simulated machine.
    pub job: Job,
    /// The layout of the tables.
    pub layout: Layout,
    /// The machine.
    pub machine: &'s Machine,
    /// Which hardware threads the workers get.
    pub placement: Placement,
    /// On which sockets the memory is.
    pub memory: MemoryPolicy,
    /// Picoseconds for which a hardware thread may run on beyond the next one: 0 for exact order; up to the least
    /// latency between two cores for a faster simulation.
    pub lookahead_ps: u64,
    /// The way in which the database gets its first rows.
    pub rows: FirstRows,
    /// Whether the consistency of the database is checked after the run.
    pub check: bool,
}

/// The way in which a simulated database gets its first rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstRows {
    /// All are loaded before the run.
    Loaded,
    /// Those of large tables are made when they are touched: see [`engine::ImplicitRows`]. The run needs memory for
    /// what it touches, and its caches see the footprint of all.
    Implicit,
}

impl FirstRows {
    /// The number of implicit rows up to which all of them are made after the run, so that the check sees the whole
    /// database.
    pub const CHECKED_MAX: u64 = 2_000_000;
}

/// The results of a simulated run.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The measurements, in the time of the simulated machine.
    pub measured: Measured,
    /// Counts of the simulation.
    pub counts: TimedCounts,
    /// Where the time of accesses went.
    pub spent: Spent,
    /// The cache lines for which threads waited longest because other cores had them, the longest first.
    pub hottest: Vec<HotLine>,
    /// The parts of the database whose lines together were waited for longest, the longest first: of the lines that
    /// were waited for longest, some thousands.
    pub hot_parts: Vec<HotLine>,
    /// Nanoseconds of this machine that the simulation of the transactions took.
    pub host_ns: u64,
    /// The number of implicit rows, 0 if all rows were loaded.
    pub implicit_rows: u64,
}

/// A cache line, or all of a kind, for which threads waited because other cores had it.
#[derive(Clone, Debug, PartialEq)]
pub struct HotLine {
    /// The name of what is in the line: a row of a table, words of the scheme, or neither.
    pub name: String,
    /// The time that threads waited for it, as a share of the time of all accesses.
    pub share: f64,
}

/// The reason why a simulation was refused. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationError(pub String);

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for SimulationError {}

impl From<engine_sim::setting::SettingError> for SimulationError {
    fn from(error: engine_sim::setting::SettingError) -> Self {
        Self(error.0)
    }
}
