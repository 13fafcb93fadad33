//! Simulated runs: the machine, how firm its constants are, and where the time went.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine of a simulated run, how firm its constants are, and the costs of the run. The times of a simulated run
/// are those of the simulated machine, except `host_s`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Simulation {
    /// The name of the simulated machine, as its file has it.
    pub machine: String,
    /// A sentence that says which machine it is.
    pub title: String,
    /// The digest of the constants of the machine: machines with the same digest simulate alike.
    pub digest: String,
    /// The hardware threads of the machine.
    pub threads: u64,
    /// The name of the order in which workers get the hardware threads.
    pub placement: String,
    /// The number of constants by the name of their basis: `measured`, `published`, `fitted`, `assumed`. Those of the
    /// log are left out, since no log is simulated.
    pub constants: BTreeMap<String, u64>,
    /// The name of the weakest basis of a constant.
    pub basis: String,
    /// How far the figures can be trusted, in words.
    pub trust: String,
    /// Half the width of the 95% interval of the throughput by batch means, as a share of the throughput; `null` if the
    /// run was too short to tell.
    pub half_width: Option<f64>,
    /// The seconds of simulated time at the end of the run in which nothing was committed, if the run was given up for
    /// that; else 0.
    pub stalled_s: f64,
    /// The number of accesses to shared words, or of copies, of all workers.
    pub accesses: u64,
    /// The rows that were not loaded: those that transactions touched were made then, and the others never. 0 if all
    /// rows were loaded.
    pub implicit_rows: u64,
    /// Seconds of the host that the simulation of the transactions took.
    pub host_s: f64,
    /// Seconds of the host for each second of the simulated machine.
    pub slowdown: Option<f64>,
    /// The time in which workers executed nothing after the warm-up, in seconds of the simulated machine, summed over
    /// the workers: they waited for each other (`waiting`), or for accesses, by the part of the machine: `private`
    /// caches, `l3`, `memory`, `coherence` (lines that other cores of the socket had), `numa` (the way between
    /// sockets), `contention` (waits for lines that were on their way to another core).
    pub spent_s: BTreeMap<String, f64>,
    /// The same as shares of the time of all workers. The rest of the time, executing instructions, is `instructions`.
    pub spent: BTreeMap<String, f64>,
    /// The cache lines for which threads waited longest after the warm-up because other cores had them, the longest
    /// first.
    pub hot_lines: Vec<HottestLine>,
    /// The parts of the database whose lines together were waited for longest, the longest first: rows of a table,
    /// leaves of an index and the like. They are counted over the 4,096 lines that were waited for longest.
    pub hot_parts: Vec<HottestLine>,
}

/// A cache line for which threads waited because other cores had it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct HottestLine {
    /// The row whose words are in the line, by its table and the order of insertion; or another owner.
    pub name: String,
    /// The time that threads waited for the line, as a share of the time of all accesses.
    pub share: f64,
}
