//! Comparisons of two sets of results: an object for each cell, and one for all cells together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::line::kind;
use crate::{Basis, Interval, Version};

/// The comparison of two sets of results in a cell: a combination of all choices except the seed. Pairs of numbers are
/// of the first set and of the second.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Comparison {
    /// Always `comparison`.
    pub kind: kind::Comparison,
    /// The version of the names and their meanings.
    pub schema: Version,
    /// The name of the cell: its workload, its scheme, and the choices in which it differs from the other cells.
    pub cell: String,
    /// The numbers of runs that are results.
    pub results: [u64; 2],
    /// The numbers of all runs.
    pub runs: [u64; 2],
    /// The numbers of runs whose check failed.
    pub check_failed: [u64; 2],
    /// The numbers of runs that were ended early.
    pub interrupted: [u64; 2],
    /// The numbers of files or lines that repeat a run.
    pub copies: [u64; 2],
    /// The numbers of runs whose workers got less than 95% of the processor time that they asked for.
    pub starved: [u64; 2],
    /// Whether runs of the same seed and round were compared; `null` if nothing was compared.
    #[serde(rename = "paired")]
    pub is_paired: Option<bool>,
    /// The number of pairs; `null` if the sides were not compared in pairs.
    pub pairs: Option<u64>,
    /// The basis of the ratio; `null` if nothing was compared.
    pub basis: Option<Basis>,
    /// The ratio of throughput of the second set to the first; `null` if nothing was compared.
    pub ratio: Option<f64>,
    /// The interval of the ratio.
    pub interval: Option<Interval>,
    /// The ratio by wall time.
    pub ratio_wall_time: Option<f64>,
    /// The ratio by processor time; `null` if no run is starved.
    pub ratio_processor_time: Option<f64>,
    /// The interval of the ratio by wall time.
    pub interval_wall_time: Option<Interval>,
    /// The probability of so clear a difference by chance.
    pub p_value: Option<f64>,
    /// That probability in any of the cells, by Holm's adjustment.
    pub p_adjusted: Option<f64>,
    /// The probability that a run of the second set is faster than one of the first.
    pub superiority: Option<f64>,
    /// The verdict: `faster`, `same`, `not_slower`, `unclear`, `slower`, `failed` or `lost`.
    pub verdict: String,
    /// The repetitions that would decide the cell; `null` if it is decided, or if no practical number would.
    pub repetitions_needed: Option<u64>,
    /// The names of the reasons why a gate fails at this cell.
    pub faults: Vec<String>,
    /// Whether a gate fails because of this cell, after what it was told to let pass.
    pub fails_gate: bool,
    /// Whether the two sets were measured on different machines.
    pub machines_differ: bool,
}

/// The comparison of two sets of results over all cells.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct ComparisonVerdict {
    /// Always `comparison_verdict`.
    pub kind: kind::ComparisonVerdict,
    /// The version of the names and their meanings.
    pub schema: Version,
    /// The number of cells.
    pub cells: u64,
    /// The number of runs of both sets.
    pub runs: u64,
    /// The number of runs whose workers got less than 95% of the processor time that they asked for.
    pub starved: u64,
    /// The number of runs that both sets have, identical to the last digit.
    pub same_runs: u64,
    /// Whether the two sets were measured on different machines.
    pub machines_differ: bool,
    /// Whether the gate fails.
    pub gate_fails: bool,
    /// The names of the cells at which the gate fails, by the name of the fault.
    pub faults: BTreeMap<String, Vec<String>>,
    /// The names of the cells with faults that the gate lets pass, by the name of the fault.
    pub allowed: BTreeMap<String, Vec<String>>,
}
