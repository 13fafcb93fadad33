//! Reproductions: the claims of published experiments beside our figures, with the verdict on each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::line::kind;
use crate::{Machine, Starvation, Version};

/// The result of an experiment of the literature, with its evidence and the command that tests it again.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Reproduction {
    /// Always `reproduction`.
    pub kind: kind::Reproduction,
    /// The version of the names and their meanings.
    pub schema: Version,
    /// The id of the experiment, and the name of the file.
    pub name: String,
    /// The title of the experiment.
    pub title: String,
    /// The relations in a sentence.
    pub statement: String,
    /// The document that makes the claim.
    pub source: Source,
    /// The claim, as the document states it.
    pub claim: String,
    /// The condition under which the document claims it.
    pub condition: String,
    /// The verdict: `holds`, `holds in part`, `holds under condition`, `does not hold`, `undecided` or `no claim of the
    /// document`.
    pub verdict: String,
    /// The verdict as text, with its qualifications.
    pub verdict_in_words: String,
    /// The starvation of the runs.
    pub starvation: Starvation,
    /// The clauses of the claim.
    pub clauses: Vec<Clause>,
    /// The standing of our own relations, which are no part of the claim; `null` if there are none.
    pub beside_the_claim: Option<String>,
    /// The verdict under each policy of retry, by its name; empty unless several were tried.
    pub verdict_by_retry: BTreeMap<String, String>,
    /// The relations that decide the clauses.
    pub relations: Vec<Relation>,
    /// The sweeps of the experiment's recipes.
    pub sweeps: Vec<Sweep>,
    /// The level of trust, from `A` to `D`.
    pub trust: String,
    /// The level of trust that the experiment would have without starvation.
    pub trust_if_nothing_starves: String,
    /// The reach of the recipes: what they show on a small machine, and what they cannot show; `null` without recipes.
    pub shows: Option<String>,
    /// The results that would refute the claim.
    pub falsified_by: String,
    /// The ids of the runs.
    pub evidence: Vec<String>,
    /// The machine that the first run was made on; `null` if nothing was run.
    pub machine: Option<Machine>,
    /// Whether runs were made on different machines, or on one in different states.
    pub machines_differ: bool,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The digest of the build that made the runs; `null` if the experiment needs no runs.
    pub build: Option<String>,
    /// The command that tests the claim again.
    pub recheck: String,
}

/// The document that makes a claim.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Source {
    /// The authors, the title, and the year.
    pub work: String,
    /// The place in the work.
    pub place: String,
}

/// A clause of a claim.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Clause {
    /// The name, unique in an experiment.
    pub name: String,
    /// The clause in a sentence, with its figures.
    pub says: String,
    /// The place in the work where the clause stands: `text`, `data` or `commented`.
    pub source: String,
    /// The name of the standing of the clause, by the relations that test it.
    pub outcome: String,
    /// The part of the clause that is not tested; `null` if all of it is.
    pub untested: Option<String>,
}

/// A relation of results that decides a clause.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Relation {
    /// The relation in a sentence.
    pub says: String,
    /// The name of the clause; `null` if the relation is ours and not the document's.
    pub clause: Option<String>,
    /// The reason why the relation is ours; `null` if it is the document's.
    pub ours: Option<String>,
    /// The name of the rule.
    pub rule: String,
    /// The wanted range of the estimate, in words.
    pub wanted: String,
    /// The decisions at the places that the relation leaves open.
    pub places: Vec<Place>,
}

/// The decision of a relation at a place.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Place {
    /// The values of the axes that the relation leaves open, by name.
    pub at: BTreeMap<String, String>,
    /// The figure that a simulation predicted before anybody compared it with the claim; `null` if none was written
    /// down.
    pub predicted: Option<f64>,
    /// The figure that the rule computes, in the unit of the rule; `null` if it cannot be computed.
    pub estimate: Option<f64>,
    /// The interval of the estimate; `null` if it has none.
    pub interval: Option<OpenInterval>,
    /// The name of the outcome.
    pub outcome: String,
}

/// An interval that may have no upper end.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct OpenInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end; `null` if there is none, because a side may be better still beyond the measured values.
    pub high: Option<f64>,
    /// The share of such intervals that hold the true value.
    pub confidence: f64,
}

impl From<stats::Interval> for OpenInterval {
    fn from(stats::Interval { low, high, confidence }: stats::Interval) -> Self {
        Self { low, high: high.is_finite().then_some(high), confidence }
    }
}

/// The choices of a sweep, and the numbers of its runs.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Sweep {
    /// The name of the recipe.
    pub recipe: String,
    /// The workload.
    pub workload: String,
    /// The schemes.
    pub schemes: Vec<String>,
    /// The fixed settings, by name.
    pub settings: BTreeMap<String, String>,
    /// The values of the settings that vary, by name.
    pub varied: BTreeMap<String, Vec<String>>,
    /// The number of repetitions.
    pub repeat: u64,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// The number of runs that the recipe asks for.
    pub planned: u64,
    /// The number of runs that were made.
    pub made: u64,
    /// The number of runs whose workers got less than 95% of the processor time that they asked for.
    pub starved: u64,
    /// The number of runs whose check failed.
    pub failed: u64,
}
