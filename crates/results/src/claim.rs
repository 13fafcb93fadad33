//! Claims of one scheme beating another: conclusions with their conditions, their evidence, and the command that tests
//! them again; and the measured points on which claims rest.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::words;
use crate::line::kind;
use crate::predicate::{Features, Predicate};
use crate::{Interval, Machine, Named, Starvation, StarvedType, Version};

words! {
    /// The scheme that is ahead by more than the margin, if any is.
    #[derive(Default)]
    Class {
        /// The first scheme.
        A = "a",
        /// Neither scheme.
        #[default]
        Level = "level",
        /// The second scheme.
        B = "b",
    }
}

impl Class {
    /// All classes, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::A, Self::Level, Self::B];

    /// Returns the class of a ratio of A to B.
    pub fn of(ratio: f64, margin: f64) -> Self {
        if ratio > margin {
            Self::A
        } else if ratio < 1.0 / margin {
            Self::B
        } else {
            Self::Level
        }
    }
}

/// An axis of the space of a study. The keys are written in alphabetical order.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Axis {
    /// The words, if the axis is a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<String>>,
    /// The greatest value, if the axis is a range, in the unit of the setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The kind of values: `linear`, `log`, `integer`, `log_integer` or `choice`.
    pub kind: String,
    /// The least value, if the axis is a range, in the unit of the setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The name of the setting.
    pub name: String,
}

/// A conclusion with its conditions. Written as a file, it can be tested again by itself. Its keys are written in this
/// order.
#[derive(Clone, Debug, Deserialize, PartialEq, JsonSchema, Serialize)]
pub struct Claim {
    /// The version of the keys' names and meanings.
    pub schema: Version,
    /// Always `claim`.
    pub kind: kind::Claim,
    /// The name of the claim and of its file.
    pub name: String,
    /// The whole claim in a sentence.
    pub statement: String,
    /// The workload.
    pub workload: String,
    /// The first scheme of the question.
    pub a: String,
    /// The second scheme of the question.
    pub b: String,
    /// The name of the compared figure.
    pub metric: String,
    /// The least ratio by which the winner is ahead.
    pub margin: f64,
    /// The scheme that wins.
    pub winner: Class,
    /// The condition under which the winner wins.
    pub predicate: Predicate,
    /// The predicate in words.
    pub in_words: String,
    /// The space of the measurements. The claim says nothing about points outside it.
    pub space: Vec<Axis>,
    /// The settings that were fixed in all measurements, by name.
    pub settings: BTreeMap<String, String>,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// Seconds of warm-up before the measured time.
    pub warmup: f64,
    /// Whether workers stayed on their cores.
    pub pin: bool,
    /// The size of the exploration that the claim was derived from.
    pub exploration: Explored,
    /// The test of the claim at fresh random points.
    pub held_out: HeldOut,
    /// The test under the other policy of retry; `null` if that was not measured, or if the policy varies.
    pub otherwise: Option<Otherwise>,
    /// The number of measured points that the claim covers, and the exceptions among them.
    #[serde(default)]
    pub breadth: Breadth,
    /// Throughput of the winner over that of the other scheme, at the held-out points that the claim covers; `null` if
    /// it covers none of them.
    pub ratio: Option<Ratio>,
    /// The mechanisms that were changed to explain the gap, at a point where the gap is wide.
    pub mechanisms: Vec<Mechanism>,
    /// Changes with which the winner is no longer ahead by the margin. The claim holds only without these changes.
    pub holds_without: Vec<String>,
    /// The ids of the runs at the held-out points.
    pub evidence: Vec<String>,
    /// The command that tests the claim again.
    pub recheck: String,
    /// The level of trust. `A` means measured natively, by runs that were not starved. It is one level lower if a
    /// twentieth or more of the runs were starved, two levels lower if half or more of them were, and a further level
    /// lower if types of transaction hardly commit. It is never below `C`.
    pub trust: String,
    /// The starvation of all runs, explored and held out.
    #[serde(default)]
    pub starvation: Starvation,
    /// The build that made the runs.
    pub build: String,
    /// The machine that the runs were made on.
    pub machine: Machine,
}

impl Claim {
    /// Returns the names of the winner and of the other scheme.
    pub fn names(&self) -> (&str, &str) {
        if self.winner == Class::A { (&self.a, &self.b) } else { (&self.b, &self.a) }
    }
}

/// The size of the exploration that a claim was derived from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Explored {
    /// The number of points.
    pub points: usize,
    /// The number of runs.
    pub runs: usize,
}

/// The result of testing a claim at fresh random points.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, JsonSchema, Serialize)]
pub struct HeldOut {
    /// The number of random points, drawn from the whole space.
    pub points: usize,
    /// The number of these points that agree. A point agrees if the winner is ahead by the margin and the claim covers
    /// the point, or if neither is so.
    pub agree: usize,
    /// The number of points that do not agree, but whose ratio has an interval that includes the margin: with more
    /// pairs, they might agree.
    pub undecided: usize,
    /// The number of tested points that the claim covers: at these points, it says that the winner is ahead by the
    /// margin. If few of `points` are covered, further points are drawn where the claim covers the space. They are
    /// needed because most points agree with a claim that covers little, whichever scheme is ahead where it does.
    pub covered: usize,
    /// The number of covered points at which the winner is ahead by the margin.
    pub covered_agree: usize,
    /// `agree` as a share of `points`.
    pub share: f64,
    /// The interval of the share of all points of the space that agree. If there are several claims, the confidence is
    /// raised so that all of their intervals hold together.
    pub interval: Interval,
    /// The seed that the points were drawn with.
    pub seed: u64,
}

/// The reach of a claim: counts of the measured points that it covers, explored and held out.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
pub struct Breadth {
    /// The number of points.
    pub measured: usize,
    /// The number of these points at which the median ratio of the winner exceeds the margin.
    pub ahead: usize,
    /// The other covered points, in ascending order of the winner's ratio.
    pub exceptions: Vec<Exception>,
    /// Whether some scheme may be clearly ahead somewhere; false if the search for crossings on a single axis found no
    /// point at which one is.
    pub is_clear: bool,
    /// The number of points of the space that can be run, if the space has few points; `null` if it has many.
    pub points: Option<usize>,
    /// The number of these points that were not measured.
    pub left: Option<usize>,
}

/// A point at which the winner is not ahead by the margin, although the claim says so.
#[derive(Clone, Debug, Deserialize, PartialEq, JsonSchema, Serialize)]
pub struct Exception {
    /// The point.
    pub at: Named,
    /// The name of the point's role: `explored`, `refined`, `held_out` or `covered`.
    pub role: String,
    /// Throughput of the winner over that of the other scheme at this point.
    pub ratio: f64,
    /// The name of the other scheme, if it is ahead at this point.
    pub ahead: Option<String>,
}

/// The test of a claim under the other policy of retry: with aborted requests dropped, or, if the claim is about runs
/// that drop them, with aborted requests tried again.
#[derive(Clone, Debug, Deserialize, PartialEq, JsonSchema, Serialize)]
pub struct Otherwise {
    /// The name of the other policy.
    pub retry: String,
    /// The result at the claim's held-out points, as many as there was time for, on the same requests.
    pub held_out: HeldOut,
    /// `holds` if the winner is ahead at most of the covered points, `does_not_hold` if it is ahead at fewer than half
    /// of them, and `undecided` if there are too few points to tell.
    pub verdict: String,
}

/// The distribution of a winner's ratio over points.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, JsonSchema, Serialize)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// The 10th percentile: a tenth of the points have a lower ratio.
    pub p10: f64,
    /// The 90th percentile: a tenth of the points have a higher ratio.
    pub p90: f64,
    /// The number of points.
    pub points: usize,
}

impl Ratio {
    /// Returns the distribution of some ratios; `None` if there are none.
    pub fn of(mut ratios: Vec<f64>) -> Option<Self> {
        ratios.sort_by(f64::total_cmp);
        let last = ratios.len().checked_sub(1)?;
        let at = |share: f64| ratios[(share * last as f64).round() as usize];
        Some(Self { median: at(0.5), p10: at(0.1), p90: at(0.9), points: ratios.len() })
    }
}

/// A mechanism that was changed alone, at a point where the gap is wide, on identical requests.
#[derive(Clone, Debug, Deserialize, PartialEq, JsonSchema, Serialize)]
pub struct Mechanism {
    /// The name of the mechanism and of its change.
    pub name: String,
    /// The setting.
    pub setting: String,
    /// The setting's value in the claim.
    pub from: String,
    /// The setting's changed value.
    pub to: String,
    /// The point.
    pub at: Named,
    /// Throughput of the winner over that of the other scheme before the change.
    pub gap_before: f64,
    /// Throughput of the winner over that of the other scheme after the change.
    pub gap_after: f64,
    /// The interval of `gap_after` over `gap_before`.
    pub interval: Interval,
    /// The probability of so clear a change by chance, adjusted for all mechanisms that the study tested.
    pub p_adjusted: f64,
    /// The share of the gap, on a scale of ratios, that the change removes. It is above 1 if the ranking turns around,
    /// and negative if the gap grows. `null` if the change is not clear.
    pub share: Option<f64>,
    /// The number of repetitions.
    pub repetitions: usize,
    /// The names of other choices that the setting changes: the isolation that a scheme promises, or the clients that
    /// it needs.
    #[serde(default)]
    pub implies: Vec<String>,
    /// The part of the gap that the mechanism accounts for, in words.
    pub says: String,
}

/// The points that were measured to find where one scheme beats another.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Conditions {
    /// Always `conditions`.
    pub kind: kind::Conditions,
    /// The version of the names and their meanings.
    pub schema: Version,
    /// The workload.
    pub workload: String,
    /// The first scheme of the question.
    pub a: String,
    /// The second scheme of the question.
    pub b: String,
    /// The name of the compared figure.
    pub metric: String,
    /// The least ratio by which a scheme counts as ahead.
    pub margin: f64,
    /// The space of the measurements.
    pub space: Vec<Axis>,
    /// The settings that were fixed in all measurements, by name.
    pub settings: BTreeMap<String, String>,
    /// The places at which the ranking flips; `null` if the space is not a single axis of numbers.
    pub crossings: Option<Vec<Crossing>>,
    /// The number of drawn points that cannot be run.
    pub impossible: u64,
    /// The number of points of the space that can be run, if the space has few points; `null` if it has many.
    pub space_points: Option<usize>,
    /// The number of these points that were not measured.
    pub points_left: Option<usize>,
    /// The starvation of all runs.
    pub starvation: Starvation,
    /// Whether the study was ended early.
    #[serde(rename = "interrupted")]
    pub is_interrupted: bool,
    /// The measured points, in the order of their measurement.
    pub points: Vec<Sample>,
    /// The points under the other policy of retry; `null` if there is no other one.
    pub otherwise: Option<SamplesOtherwise>,
    /// The names of the claims.
    pub claims: Vec<String>,
}

/// A place on a single axis at which the ranking flips.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Crossing {
    /// The greatest value below the flip that was measured.
    pub low: f64,
    /// The least value above the flip that was measured.
    pub high: f64,
    /// The scheme that is ahead from `high` on.
    pub ahead_from_high: String,
    /// The range of values at which neither is clearly ahead; `null` if there is none.
    pub unclear: Option<(f64, f64)>,
}

/// A point at which both schemes were measured.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Sample {
    /// The values of the point, by the names of the axes.
    pub point: Named,
    /// The values of the point, and quantities derived from its settings, by name.
    pub features: Features,
    /// The name of the point's role: `explored`, `refined`, `held_out` or `covered`.
    pub role: String,
    /// The number of pairs of runs.
    pub pairs: usize,
    /// The median ratio of throughput of A to B.
    pub ratio: f64,
    /// The interval of the ratio; `null` if there are too few pairs.
    pub interval: Option<Interval>,
    /// The scheme that is ahead by the margin.
    pub class: Class,
    /// The scheme that was predicted to be ahead before the point was measured; `null` unless the point is a test.
    pub predicted: Option<Class>,
    /// The ids of the runs.
    pub runs: Vec<String>,
    /// The number of runs whose workers got less than 95% of the processor time that they asked for.
    pub starved: usize,
    /// The types of transaction that hardly commit at the point.
    pub starved_types: Vec<StarvedType>,
}

/// The points that were measured under the other policy of retry.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct SamplesOtherwise {
    /// The name of the other policy.
    pub retry: String,
    /// The measured points.
    pub points: Vec<Sample>,
}

/// The result of testing a claim again.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Recheck {
    /// Always `recheck`.
    pub kind: kind::Recheck,
    /// The version of the names and their meanings.
    pub schema: Version,
    /// The name of the claim.
    pub claim: String,
    /// The whole claim in a sentence.
    pub statement: String,
    /// The result at fresh points; `null` if no point was measured.
    pub held_out: Option<HeldOut>,
    /// The result under the other policy of retry; `null` if that was not measured.
    pub otherwise: Option<Otherwise>,
    /// The verdict: `holds`, `does_not_hold` or `undecided`.
    pub verdict: String,
    /// The starvation of the runs.
    pub starvation: Starvation,
    /// Whether the build is that of the claim.
    #[serde(rename = "same_build")]
    pub is_same_build: bool,
    /// Whether the test was ended early.
    #[serde(rename = "interrupted")]
    pub is_interrupted: bool,
}
