//! Experiments of the literature: the claim of each, whether this machine can test it, and the result.
//!
//! An [`Experiment`] is data (`experiments/catalogue`): the claim in our words with its figures, its condition, its
//! needs, and the result that would refute it. An experiment that this version can run names recipes
//! (`experiments/*.toml`), and says what the claim means for their results in [`Relation`]s, which a program can
//! decide. Each relation names the [`Clause`] of the claim that it tests, or says that it is ours. A [`Finding`] is the
//! result of an experiment: the claim beside our figures, and a [`ClaimVerdict`], which takes account of what was not
//! tested.

mod capability;
mod evaluate;
mod experiment;
mod finding;
mod prediction;
mod relation;
mod retest;
mod told;
mod verdict;
mod victims;

pub use capability::Capability;
pub use evaluate::{RelationInstance, RelationOutcome};
pub use experiment::{Clause, Experiment, Need, Source, Status, Trust, all, find, recipe};
pub use finding::{Finding, keep};
pub use prediction::predictions;
pub use relation::{Metric, Pair, Relation, RelationRule, SchemeCell, TrendDirection, VictimFigure};
pub use retest::{Retest, constant_changes};
pub use told::{entry, finding, json, list};
pub use verdict::{ClaimVerdict, Standing};
