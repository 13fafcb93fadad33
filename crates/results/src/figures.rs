//! Figures and words that several kinds of results share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes an enumeration of words, each with its name in results.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$says:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, ::serde::Deserialize, PartialEq, Eq, ::schemars::JsonSchema, ::serde::Serialize)]
        pub enum $name {
            $($(#[$says])* #[serde(rename = $text)] $word,)*
        }

        impl $name {
            /// Returns the name in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }
        }
    };
}

pub(crate) use words;

/// The median and the range of some measurements.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The smallest measurement.
    pub min: f64,
    /// The largest measurement.
    pub max: f64,
}

impl From<stats::Spread> for Spread {
    fn from(stats::Spread { median, min, max }: stats::Spread) -> Self {
        Self { median, min, max }
    }
}

/// An interval that holds the true value with a confidence.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The share of such intervals that hold the true value.
    pub confidence: f64,
}

impl From<stats::Interval> for Interval {
    fn from(stats::Interval { low, high, confidence }: stats::Interval) -> Self {
        Self { low, high, confidence }
    }
}

words! {
    /// The verdict of the consistency check after a run.
    #[derive(Default)]
    CheckVerdict {
        /// All conditions hold.
        Passed = "passed",
        /// No condition was checked.
        #[default]
        Skipped = "skipped",
        /// Some condition does not hold: the run is no result.
        Failed = "failed",
    }
}

words! {
    /// The verdict of a comparison: whether the first is faster than the second by more than the margin.
    Verdict {
        /// It is faster by more than the margin.
        Faster = "faster",
        /// It is slower by more than the margin.
        Slower = "slower",
        /// The two differ by no more than the margin.
        Same = "same",
        /// The measurements do not decide.
        Unclear = "unclear",
    }
}

impl From<stats::Verdict> for Verdict {
    fn from(verdict: stats::Verdict) -> Self {
        match verdict {
            stats::Verdict::Faster => Self::Faster,
            stats::Verdict::Slower => Self::Slower,
            stats::Verdict::Same => Self::Same,
            stats::Verdict::Unclear => Self::Unclear,
        }
    }
}

words! {
    /// The basis on which runs are compared.
    Basis {
        /// Commits a second of wall time: no run is starved, or the rate of arrivals determines the number of commits.
        WallTime = "wall_time",
        /// Commits a second of processor time: at least one run is starved.
        ProcessorTime = "processor_time",
        /// Both wall time and processor time: at least one run is starved, and clients or workers wait by design.
        Both = "both",
    }
}
