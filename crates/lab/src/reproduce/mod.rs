//! Experiments of the literature: what each claims, whether this machine can tell, and what it tells.
//!
//! An [`Experiment`] is data (`experiments/catalogue`): the claim in our words with its figures, its condition, what
//! it needs, and what would refute it. One that this version can run names recipes (`experiments/*.toml`), and says
//! what the claim means for their results in [`Relation`]s, which a program can decide. Each relation names the
//! [`Clause`] of the claim that it tests, or says that it is ours. A [`Finding`] is what came of it: the claim beside
//! our figures, and a [`Verdict`], which counts what was not tested.

mod capability;
mod evaluate;
mod experiment;
mod finding;
mod relation;
mod told;
mod verdict;

pub use capability::Capability;
pub use evaluate::{Instance, Outcome};
pub use experiment::{Clause, Experiment, Need, Source, Status, Trust, all, find, recipe};
pub use finding::{Finding, keep};
pub use relation::{Cell, Direction, Metric, Pair, Relation, Rule};
pub use told::{entry, finding, json, list};
pub use verdict::{Standing, Verdict};
