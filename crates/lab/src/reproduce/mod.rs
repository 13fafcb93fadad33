//! Experiments of the literature: what each claims, whether this machine can tell, and what it tells.
//!
//! An [`Experiment`] is data (`experiments/catalogue`): the claim in our words with its figures, its condition, what
//! it needs, and what would refute it. One that this version can run names recipes (`experiments/*.toml`), and says
//! what the claim means for their results in [`Relation`]s, which a program can decide. A [`Finding`] is what came of
//! it: the claim beside our figures, and a [`Verdict`].

mod evaluate;
mod experiment;
mod finding;
mod relation;
mod told;

pub use evaluate::{Instance, Outcome};
pub use experiment::{Experiment, Need, Status, Trust, all, find, recipe};
pub use finding::{Finding, Verdict, keep};
pub use relation::{Cell, Direction, Metric, Relation, Rule};
pub use told::{entry, finding, json, list};
