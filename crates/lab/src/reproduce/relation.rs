//! What a claim means for results, in a form that a program can decide.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::sweep::{MARGIN, Scalar};

/// The meaning of a clause for results, or what we ask beside the claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// It in words.
    pub says: String,
    /// The name of the clause that it tests; none where it is ours.
    pub clause: Option<String>,
    /// Why it is asked although the work does not claim it; none where it tests a clause.
    pub ours: Option<String>,
    /// The recipe whose results decide it; without it, the first of the experiment.
    pub recipe: Option<String>,
    /// What has to hold.
    pub rule: Rule,
}

/// What has to hold. What a cell leaves open is open: the rule is decided at each value of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// The ratio of two throughputs lies within a range. One bound alone that is 1 means ahead, or behind, and not
    /// level: it is moved by the margin of sweeps.
    Ratio {
        /// The numerator.
        of: Cell,
        /// The denominator.
        to: Cell,
        /// The least that it may be.
        low: Option<f64>,
        /// The most that it may be.
        high: Option<f64>,
        /// The axis along which each side is taken where its throughput is best: "the maximum over clients".
        best_over: Option<String>,
        /// The type of transaction whose commits alone are counted. Where aborted requests are dropped, what commits in
        /// all is another mix under each scheme.
        of_type: Option<String>,
        /// Another ratio by which this one is divided: "a larger gain here than there".
        against: Option<Pair>,
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

/// Two cells of which the ratio is taken.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The numerator.
    pub of: Cell,
    /// The denominator.
    pub to: Cell,
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
            Self::Ratio { low, high, best_over, of_type, against, .. } => {
                let (low, high) = bounds(*low, *high);
                let best = best_over.as_ref().map(|axis| format!("best over {axis}"));
                let of_type = of_type.as_ref().map(|name| format!("{name} alone"));
                let against = against.as_ref().map(|_| "against another ratio".to_owned());
                [Some(range(low, high)), best, of_type, against]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(", ")
            }
            Self::Figure { low, high, .. } => range(*low, *high),
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

/// The bounds of a ratio. One bound alone that is 1 asks who is ahead, for which a sweep wants more than its margin.
pub(super) fn bounds(low: Option<f64>, high: Option<f64>) -> (Option<f64>, Option<f64>) {
    match (low, high) {
        (Some(1.0), None) => (Some(MARGIN), None),
        (None, Some(1.0)) => (None, Some(1.0 / MARGIN)),
        _ => (low, high),
    }
}

fn range(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} .. {}", short(low), short(high)),
        (Some(low), None) => format!("{} or more", short(low)),
        (None, Some(high)) => format!("{} or less", short(high)),
        (None, None) => "any".to_owned(),
    }
}

/// A bound to three decimals at most, which is as precise as any claim is.
fn short(bound: f64) -> String {
    if bound.abs() < 0.01 { bound.to_string() } else { ((bound * 1e3).round() / 1e3).to_string() }
}
