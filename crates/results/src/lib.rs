//! Results as types: all that runs, sweeps, comparisons and studies write and read as JSON.
//!
//! A result is one JSON object on a line, with the version of the schema and the kind of the object. Names and units do
//! not change within a version; names may be added. A reader therefore accepts names that it does not know, gives names
//! that an older result does not have the value of that time, and refuses other versions. [`parse`] reads a line,
//! [`Line`] has all kinds, and [`schema`] describes them as JSON Schema. Each type displays as its JSON.
//!
//! Times are in seconds (`_s`) or microseconds (`_us`), rates in transactions a second (`_txn_s`), sizes in bytes
//! (`_bytes`). A figure that does not exist is `null`.
#![forbid(unsafe_code)]

mod choice;
mod choices;
mod claim;
mod comparison;
mod figures;
mod insight;
mod line;
mod machine;
mod predicate;
mod reproduction;
mod run;
mod simulation;
mod starvation;
mod sweep;

pub use choice::{Choice, Named};
pub use choices::Choices;
pub use claim::{
    Axis, Breadth, Claim, Class, Conditions, Crossing, Exception, Explored, HeldOut, Mechanism, Otherwise,
    Ratio, Recheck, Sample, SamplesOtherwise,
};
pub use comparison::{Comparison, ComparisonVerdict};
pub use figures::{Basis, CheckVerdict, Interval, Spread, Verdict};
pub use insight::{BatchPicture, RunInsight, StageMean};
pub use line::{Line, Unread, Version, kind, parse, schema};
pub use machine::{Cache, Machine};
pub use predicate::{Feature, Features, Predicate, Term};
pub use reproduction::{Clause, OpenInterval, Place, Relation, Reproduction, Source, Sweep};
pub use run::{
    Check, Counts, Described, Histogram, Index, Latency, Log, Placed, Retries, Run, Series, Summary, Table,
    TunedSetting, Turns, TypeStarved,
};
pub use simulation::{HottestLine, Simulation};
pub use starvation::{Starvation, StarvedType};
pub use sweep::{Against, LeftOut, Point};

/// The version of the objects' names and units.
pub const SCHEMA: u32 = 1;
