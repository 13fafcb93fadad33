//! Starvation: of workers, which miss processor time, and of types of transaction, which hardly commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The starvation of some runs.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Starvation {
    /// The least share of the processor time they asked for that the workers of a run got; `null` without runs.
    pub cpu_share_min: Option<f64>,
    /// The remarks that a conclusion from these runs must carry, in half sentences; empty if nothing was starved.
    pub reasons: Vec<String>,
    /// The number of runs.
    pub runs: u64,
    /// The number of runs whose workers got less than 95% of the processor time that they asked for.
    pub starved: u64,
    /// The types of transaction that hardly commit.
    pub types: Vec<StarvedType>,
}

/// A type of transaction that hardly commits under a scheme.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct StarvedType {
    /// The commits of the type at the points at which it is starved.
    pub commits: u64,
    /// The number of transactions of the type that would have ended at these points if it had its share of the mix.
    pub expected: f64,
    /// The number of points at which the scheme was measured.
    pub of_points: u64,
    /// The number of points at which the type is starved.
    pub points: u64,
    /// The scheme.
    pub scheme: String,
    /// The name of the type.
    #[serde(rename = "type")]
    pub name: String,
}
