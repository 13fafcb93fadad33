//! Relations: the meaning of a claim for results, in a form that a program can decide.

use std::collections::BTreeMap;

use results::Run;
use serde::Deserialize;

use crate::sweep::{MARGIN, Scalar};

/// The meaning of a clause for results, or a question of our own beside the claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// The relation in words.
    pub says: String,
    /// The name of the clause that the relation tests; `None` if the relation is our own.
    pub clause: Option<String>,
    /// The reason for a relation that the work does not claim; `None` if the relation tests a clause.
    pub ours: Option<String>,
    /// The recipe whose results decide the relation; without it, the first recipe of the experiment.
    pub recipe: Option<String>,
    /// The rule that must hold.
    pub rule: RelationRule,
}

/// A rule that must hold. An axis whose value a cell does not give is open: the rule is decided at each of its values.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RelationRule {
    /// The ratio of two throughputs lies within a range. A single bound of 1 means ahead or behind, and not level: the
    /// bound is moved by the margin of sweeps.
    Ratio {
        /// The numerator.
        of: SchemeCell,
        /// The denominator.
        to: SchemeCell,
        /// The least permitted value.
        low: Option<f64>,
        /// The greatest permitted value.
        high: Option<f64>,
        /// The axis along which each side is taken where its throughput is best, for example "the maximum over
        /// clients".
        best_over: Option<String>,
        /// The type of transaction whose commits alone are counted. If aborted requests are dropped, the mix of all
        /// commits differs between schemes.
        of_type: Option<String>,
        /// Another ratio by which this ratio is divided, for example "a larger gain here than there".
        against: Option<Pair>,
    },
    /// A figure lies within a range.
    Figure {
        /// The figure.
        metric: Metric,
        /// The scheme and the points.
        of: SchemeCell,
        /// The least permitted value.
        low: Option<f64>,
        /// The greatest permitted value.
        high: Option<f64>,
    },
    /// A figure goes one way along an axis. From the first to the last value it changes by more than the margin, and no
    /// step from one value to the next goes the other way by more than the margin.
    Trend {
        /// The figure.
        metric: Metric,
        /// The scheme and the points.
        of: SchemeCell,
        /// The axis, whose values are in the order of the recipe.
        axis: String,
        /// The direction.
        goes: TrendDirection,
        /// The least change that matters: a ratio of 1 or more or, for shares, a difference. Without it the margin is
        /// that of sweeps or, for shares, one percentage point.
        margin: Option<f64>,
    },
    /// One scheme is ahead up to some value of an axis, and the other scheme from a greater value on.
    Crossing {
        /// The scheme that is ahead where the axis is low.
        first: SchemeCell,
        /// The scheme that is ahead where the axis is high.
        then: SchemeCell,
        /// The axis, whose values are numbers.
        axis: String,
        /// The value up to which the first scheme is ahead.
        low: f64,
        /// The value from which on the other scheme is ahead.
        high: f64,
    },
    /// The throughput is greatest at a value of an axis that lies within a range.
    Peak {
        /// The scheme and the points.
        of: SchemeCell,
        /// The axis, whose values are numbers.
        axis: String,
        /// The least permitted value.
        low: f64,
        /// The greatest permitted value.
        high: f64,
    },
    /// The ratio of two throughputs is near a published one.
    Published {
        /// The numerator.
        of: SchemeCell,
        /// The denominator.
        to: SchemeCell,
        /// The published ratio.
        published: f64,
        /// The ratio that a baseline without a simulation predicts, if there is one.
        naive: Option<f64>,
        /// The greatest distance of the simulated ratio from the published one, as a share of the published one.
        tolerance: f64,
        /// Whether constants of the simulated machine were fitted to the published ratio, so that the ratio is no
        /// evidence.
        #[serde(default)]
        is_fitted: bool,
    },
    /// The share of the hottest of Zipf-distributed records is the published one. The share is computed from the
    /// definition of the distribution, or counted among draws.
    HottestShare {
        /// The number of records.
        records: u64,
        /// The distribution's exponent.
        theta: f64,
        /// The number of hottest records.
        ranks: u64,
        /// The number of keys that are drawn and counted; without it no key is drawn, and the share is that of the
        /// definition.
        draws: Option<u64>,
        /// The published share.
        published: f64,
        /// The greatest distance of the share from the published one, as a share of the published one.
        tolerance: f64,
    },
    /// Two methods choose the victims of the same batches of transactions, and the ratio of their figures lies within
    /// a range. The batches are drawn here, as those of the workload `micro` with its standard settings.
    Victims {
        /// The transactions of a batch.
        batch: usize,
        /// The exponent of Zipf's distribution.
        theta: f64,
        /// The compared figure.
        figure: VictimFigure,
        /// The numerator: `components`, `sorted`, `reduced` or `exact`.
        of: String,
        /// The denominator.
        to: String,
        /// The least permitted value.
        low: Option<f64>,
        /// The greatest permitted value.
        high: Option<f64>,
    },
}

/// A figure of the choice of victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VictimFigure {
    /// The number of victims.
    Number,
    /// The processor time of the choice.
    Time,
}

/// The two cells of a ratio.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The numerator.
    pub of: SchemeCell,
    /// The denominator.
    pub to: SchemeCell,
}

/// A scheme at some points of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemeCell {
    /// The scheme.
    pub scheme: String,
    /// Values of axes; an axis that is not here is open.
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
    /// User aborts, as a share of the transactions that ended.
    RollbackRate,
    /// The 99th percentile of latency, in microseconds.
    LatencyUsP99,
    /// The share of the sampled time that index lookups take.
    IndexShare,
}

impl Metric {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ThroughputTxnS => "throughput_txn_s",
            Self::AbortRate => "abort_rate",
            Self::RollbackRate => "rollback_rate",
            Self::LatencyUsP99 => "latency_us_p99",
            Self::IndexShare => "index_share",
        }
    }

    /// Whether the metric is a share. Shares may be 0, so their differences are compared, and not their ratios.
    pub const fn is_share(self) -> bool {
        matches!(self, Self::AbortRate | Self::RollbackRate | Self::IndexShare)
    }

    /// Returns the value in a run; `None` if the run is no result.
    pub(super) fn of(self, run: &Run) -> Option<f64> {
        match self {
            Self::ThroughputTxnS => run.throughput_txn_s,
            Self::AbortRate => run.abort_rate,
            Self::LatencyUsP99 => run.p99_us(),
            Self::IndexShare => run.breakdown.as_ref()?.get("index").copied(),
            Self::RollbackRate => {
                run.throughput_txn_s?;
                let (commits, rollbacks) = (run.counts.commits as f64, run.counts.user_aborts as f64);
                (commits + rollbacks > 0.0).then(|| rollbacks / (commits + rollbacks))
            }
        }
    }
}

/// The least difference of shares that matters: one percentage point.
pub(super) const SHARE_MARGIN: f64 = 0.01;

/// The direction of a figure along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendDirection {
    /// The figure rises.
    Up,
    /// The figure falls.
    Down,
    /// The figure stays within the margin.
    Level,
}

impl TrendDirection {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Level => "level",
        }
    }

    /// Returns the bounds of the change of a figure along the whole axis: a difference of shares, or else a ratio.
    fn bounds(self, metric: Metric, margin: Option<f64>) -> (Option<f64>, Option<f64>) {
        let (down, up) = if metric.is_share() {
            let margin = margin.unwrap_or(SHARE_MARGIN);
            (-margin, margin)
        } else {
            let margin = margin.unwrap_or(MARGIN);
            (1.0 / margin, margin)
        };
        match self {
            Self::Up => (Some(up), None),
            Self::Down => (None, Some(down)),
            Self::Level => (Some(down), Some(up)),
        }
    }
}

impl RelationRule {
    /// Returns the name in results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ratio { .. } => "ratio",
            Self::Figure { .. } => "figure",
            Self::Trend { .. } => "trend",
            Self::Crossing { .. } => "crossing",
            Self::Peak { .. } => "peak",
            Self::Published { .. } => "published",
            Self::HottestShare { .. } => "hottest_share",
            Self::Victims { .. } => "victims",
        }
    }

    /// Whether an estimate lies in the rule's range. Its interval is ignored, and of a trend the steps in between.
    /// `None` of a rule without a range of estimates.
    pub(super) fn admits(&self, estimate: f64) -> Option<bool> {
        let (low, high) = match self {
            Self::Ratio { low, high, .. } => bounds(*low, *high),
            Self::Figure { low, high, .. } => (*low, *high),
            Self::Peak { low, high, .. } => (Some(*low), Some(*high)),
            Self::Published { published, tolerance, .. } => near(*published, *tolerance),
            Self::Trend { metric, goes, margin, .. } => goes.bounds(*metric, *margin),
            Self::Crossing { .. } | Self::HottestShare { .. } | Self::Victims { .. } => return None,
        };
        Some(low.is_none_or(|low| low <= estimate) && high.is_none_or(|high| estimate <= high))
    }

    /// Returns the wanted range of the estimate as text.
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
            Self::Peak { axis, low, high, .. } => {
                format!("best at {axis} = {}", range(Some(*low), Some(*high)))
            }
            Self::Published { published, naive, tolerance, is_fitted, .. } => {
                let naive = naive.map(|naive| format!(" (naive {})", short(naive))).unwrap_or_default();
                let fitted = if *is_fitted { " (fitted)" } else { "" };
                format!("{published} within {}{fitted}{naive}", crate::text::percent(*tolerance))
            }
            Self::HottestShare { published, tolerance, .. } => {
                format!("{published} within {}", crate::text::percent(*tolerance))
            }
            Self::Victims { low, high, .. } => {
                let (low, high) = bounds(*low, *high);
                range(low, high)
            }
        }
    }
}

/// Returns the range about a published ratio.
pub(super) fn near(published: f64, tolerance: f64) -> (Option<f64>, Option<f64>) {
    (Some(published * (1.0 - tolerance)), Some(published * (1.0 + tolerance)))
}

/// Returns the bounds of a ratio. A single bound of 1 asks which side is ahead: a sweep calls a side ahead only beyond
/// its margin.
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

/// Returns a bound with three decimals at most, which is as precise as any claim.
fn short(bound: f64) -> String {
    if bound.abs() < 0.01 { bound.to_string() } else { ((bound * 1e3).round() / 1e3).to_string() }
}
