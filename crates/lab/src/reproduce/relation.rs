//! What a claim means for results, in a form that a program can decide.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::sweep::Scalar;

/// A part of a claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// The part in words.
    pub says: String,
    /// The recipe whose results decide it; without it, the first of the experiment.
    pub recipe: Option<String>,
    /// What has to hold.
    pub rule: Rule,
}

/// What has to hold. What a cell leaves open is open: the rule is decided at each value of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// The ratio of two throughputs lies within a range.
    Ratio {
        /// The numerator.
        of: Cell,
        /// The denominator.
        to: Cell,
        /// The least that it may be.
        low: Option<f64>,
        /// The most that it may be.
        high: Option<f64>,
    },
    /// A figure lies within a range.
    Figure {
        /// Which figure.
        metric: Metric,
        /// Where.
        of: Cell,
        /// The least that it may be.
        low: Option<f64>,
        /// The most that it may be.
        high: Option<f64>,
    },
    /// A figure goes one way along an axis: from the first to the last value by more than the margin, and from none to
    /// the next the other way by more than it.
    Trend {
        /// Which figure.
        metric: Metric,
        /// Where.
        of: Cell,
        /// Along what, in the order of the recipe.
        axis: String,
        /// Which way.
        goes: Direction,
        /// How much makes a difference: a ratio from 1 on, or for shares a difference; without it that of sweeps, and
        /// one percentage point.
        margin: Option<f64>,
    },
    /// One scheme is ahead up to some value of an axis, and the other from a greater one on.
    Crossing {
        /// Who is ahead where the axis is low.
        first: Cell,
        /// Who is ahead where it is high.
        then: Cell,
        /// Along what; its values are numbers.
        axis: String,
        /// Up to which value the first is ahead.
        low: f64,
        /// From which value on the other is.
        high: f64,
    },
    /// The share of the hottest of Zipf-distributed records is what was published: by the definition of the
    /// distribution, or counted among draws.
    HottestShare {
        /// Records.
        records: u64,
        /// The distribution's exponent.
        theta: f64,
        /// How many of the hottest.
        ranks: u64,
        /// How many keys are drawn and counted; without it none, and the share is that of the definition.
        draws: Option<u64>,
        /// The share that was published.
        published: f64,
        /// How far from it the share may be, as a share of it.
        tolerance: f64,
    },
}

/// A scheme at some points of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The scheme.
    pub scheme: String,
    /// Values of what varies; what is not here is open.
    #[serde(default)]
    pub at: BTreeMap<String, Scalar>,
}

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Commits a second.
    ThroughputTxnS,
    /// The share of attempts that the scheme aborted.
    AbortRate,
    /// The share of transactions that rolled back by their own wish, of those that ended.
    RollbackRate,
    /// The 99th percentile of latency, in microseconds.
    LatencyUsP99,
    /// The share of the sampled time that index lookups take.
    IndexShare,
}

impl Metric {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ThroughputTxnS => "throughput_txn_s",
            Self::AbortRate => "abort_rate",
            Self::RollbackRate => "rollback_rate",
            Self::LatencyUsP99 => "latency_us_p99",
            Self::IndexShare => "index_share",
        }
    }

    /// Whether it is a share, of which differences are compared and no ratios: it may be 0.
    pub const fn is_share(self) -> bool {
        matches!(self, Self::AbortRate | Self::RollbackRate | Self::IndexShare)
    }

    /// Its value in a run; none where the run is no result.
    pub(super) fn of(self, run: &Value) -> Option<f64> {
        match self {
            Self::ThroughputTxnS => run["throughput_txn_s"].as_f64(),
            Self::AbortRate => run["abort_rate"].as_f64(),
            Self::LatencyUsP99 => run["latency_us"]["p99"].as_f64(),
            Self::IndexShare => run["breakdown"]["index"].as_f64(),
            Self::RollbackRate => {
                run["throughput_txn_s"].as_f64()?;
                let (commits, rollbacks) = (run["commits"].as_f64()?, run["user_aborts"].as_f64()?);
                (commits + rollbacks > 0.0).then(|| rollbacks / (commits + rollbacks))
            }
        }
    }
}

/// Which way a figure goes along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It rises.
    Up,
    /// It falls.
    Down,
    /// It stays within the margin.
    Level,
}

impl Direction {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Level => "level",
        }
    }
}

impl Rule {
    /// Its name in results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ratio { .. } => "ratio",
            Self::Figure { .. } => "figure",
            Self::Trend { .. } => "trend",
            Self::Crossing { .. } => "crossing",
            Self::HottestShare { .. } => "hottest_share",
        }
    }

    /// What is wanted of the estimate, in words.
    pub(super) fn wanted(&self) -> String {
        match self {
            Self::Ratio { low, high, .. } | Self::Figure { low, high, .. } => range(*low, *high),
            Self::Trend { axis, goes, .. } => format!("{} along {axis}", goes.name()),
            Self::Crossing { first, then, axis, low, high } => {
                format!("{} up to {axis} = {low}, {} from {high} on", first.scheme, then.scheme)
            }
            Self::HottestShare { published, tolerance, .. } => {
                format!("{published} within {}", crate::text::percent(*tolerance))
            }
        }
    }
}

fn range(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{low} .. {high}"),
        (Some(low), None) => format!("{low} or more"),
        (None, Some(high)) => format!("{high} or less"),
        (None, None) => "any".to_owned(),
    }
}
