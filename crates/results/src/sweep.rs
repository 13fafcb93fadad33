//! The lines of a sweep: the results of a scheme at a point, and the points that a scheme cannot run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::line::kind;
use crate::{Basis, Interval, Verdict, Version};

/// The results of a scheme at a point of a sweep.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Point {
    /// Always `point`.
    pub kind: kind::Point,
    /// The version of the names and their meanings.
    pub schema: Version,
    /// The workload.
    pub workload: String,
    /// The values of the point, by the names of the axes.
    pub point: BTreeMap<String, String>,
    /// The scheme.
    pub scheme: String,
    /// The first scheme of the sweep, with which the others are compared.
    pub first: String,
    /// The number of runs that are results.
    pub results: u64,
    /// The median of the commits a second; `null` if no run is a result.
    pub throughput_txn_s: Option<f64>,
    /// The interval of the median; `null` if no run is a result.
    pub interval: Option<Interval>,
    /// The median of the abort rates of the runs, as a share of the attempts.
    pub abort_rate: Option<f64>,
    /// The median of the 99th percentiles of latency, in microseconds.
    pub p99_us: Option<f64>,
    /// The names of the types of transaction that hardly commit.
    pub starved_types: Vec<String>,
    /// The comparison with the first scheme in the same repetitions; `null` for the first scheme itself, and if nothing
    /// can be compared.
    pub against_first: Option<Against>,
}

/// The comparison of a scheme with the first scheme of a sweep.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Against {
    /// The median ratio of throughput to that of the first scheme.
    pub ratio: f64,
    /// The interval of the ratio.
    pub interval: Interval,
    /// The probability of so clear a difference by chance.
    pub p_value: f64,
    /// The probability that a run of the scheme is faster than one of the first scheme.
    pub superiority: f64,
    /// The verdict by the laboratory's own margin.
    pub verdict: Option<Verdict>,
    /// The basis of the ratio.
    pub basis: Option<Basis>,
    /// The ratio by wall time.
    pub ratio_wall_time: Option<f64>,
}

/// The points of a sweep that a scheme cannot run, for one reason.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct LeftOut {
    /// Always `left_out`.
    pub kind: kind::LeftOut,
    /// The version of the names and their meanings.
    pub schema: Version,
    /// The workload.
    pub workload: String,
    /// The scheme.
    pub scheme: String,
    /// The points, each with its values by the names of the axes.
    pub points: Vec<BTreeMap<String, String>>,
    /// The reason.
    pub why: String,
}
