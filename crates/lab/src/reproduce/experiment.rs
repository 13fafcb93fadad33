//! The catalogue of experiments: every figure, table and quantitative claim of the works that this laboratory began
//! with, and of what the authors of schemes claim.

use engine::setting::nearest;
use serde::Deserialize;

use super::Relation;
use super::capability::{self, Capability};
use crate::Refusal;

/// An experiment of the literature.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The id: a letter for the work, and the number of the figure or table in the work, or the name of a scheme.
    pub id: String,
    /// The topic.
    pub title: String,
    /// The work that contains the experiment.
    #[serde(skip)]
    pub work: String,
    /// The setup of all experiments of the work, unless one says otherwise: machines, data, length of runs.
    #[serde(skip)]
    pub setup: Option<String>,
    /// The figure, table or section of the work.
    pub place: String,
    /// The claim of the work, in our words, with its figures.
    pub claim: String,
    /// The condition under which the claim is meant to hold.
    pub condition: String,
    /// The parts of a system that the experiment puts under load.
    pub stresses: String,
    /// The requirements for repeating the experiment.
    pub needs: Vec<Need>,
    /// The level of trust in a result from here.
    pub trust: Trust,
    /// The names of the recipes that repeat the experiment.
    #[serde(default)]
    pub recipes: Vec<String>,
    /// The capabilities that the experiment waits for, if nothing of it can be repeated yet. If a part of it can be
    /// repeated, its clauses say what the rest of the claim waits for.
    #[serde(default)]
    pub waits_for: Vec<Capability>,
    /// The reason why the experiment can never be repeated here, if there is one.
    pub not_here: Option<String>,
    /// A statement of what the recipes show on a small machine, and what they cannot show.
    pub shows: Option<String>,
    /// The result that would refute the claim.
    pub falsified_by: String,
    /// The clauses: parts of the claim, each of which can be true while another is false.
    #[serde(default)]
    pub clauses: Vec<Clause>,
    /// The meaning of the claim for the results of the recipes.
    #[serde(default)]
    pub relations: Vec<Relation>,
}

/// A clause: a part of a claim, which can be true while another part is false.
///
/// The [`Relation`]s that name a clause test it: all of it, unless `untested` says what they leave out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clause {
    /// The name in verdicts: lower-case words joined by hyphens, unique in an experiment.
    pub name: String,
    /// The clause in a sentence, with its figures.
    pub says: String,
    /// The place in the work where the clause stands.
    #[serde(default)]
    pub source: Source,
    /// The part of the clause that no relation tests: another scale, another metric, or all of it.
    pub untested: Option<String>,
    /// The capabilities that a test of the rest needs.
    #[serde(default)]
    pub waits_for: Vec<Capability>,
}

impl Clause {
    /// Returns the part of the clause that is not tested, and the capabilities that this part waits for; `None` if the
    /// relations test all of the clause.
    pub fn rest(&self) -> Option<String> {
        let waits =
            (!self.waits_for.is_empty()).then(|| format!("waits for {}", capability::all(&self.waits_for)));
        match (&self.untested, waits) {
            (Some(untested), Some(waits)) => Some(format!("{} ({waits})", untested.trim_end_matches('.'))),
            (Some(untested), None) => Some(untested.trim_end_matches('.').to_owned()),
            (None, waits) => waits,
        }
    }
}

/// The place in a work where a clause stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The clause is printed in the text.
    #[default]
    Text,
    /// The figure of the clause is in the data files that were published with the work, and not in the text.
    Data,
    /// The clause is commented out in the source of the work: a hypothesis, and no claim.
    Commented,
}

impl Source {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Data => "data",
            Self::Commented => "commented",
        }
    }
}

/// A requirement of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Nothing but this machine.
    Native,
    /// Many logical clients on few workers.
    Clients,
    /// Latency between client and engine, or between replicas, added on purpose.
    Latency,
    /// More cores than the machine has, simulated.
    Cores,
    /// Memory that is near to some cores and far from others, simulated.
    Numa,
    /// Hardware threads that share a core, simulated.
    Smt,
    /// Caches of another size, simulated.
    Cache,
    /// A network between machines.
    Network,
    /// Data beyond memory, or a slow device.
    Disk,
    /// TPC-E, and its mix with an analytic transaction.
    Tpce,
    /// `SmallBank`.
    Smallbank,
    /// Batches whose transactions are reordered before they are validated.
    Reordering,
    /// Schemes or variants of the engine that this version does not have.
    Schemes,
    /// A log.
    Log,
    /// Snapshots of a database on a device.
    Snapshots,
    /// A model of costs, for hardware or products that are not available here.
    Model,
}

impl Need {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Clients => "clients",
            Self::Latency => "latency",
            Self::Cores => "cores",
            Self::Numa => "numa",
            Self::Smt => "smt",
            Self::Cache => "cache",
            Self::Network => "network",
            Self::Disk => "disk",
            Self::Tpce => "tpce",
            Self::Smallbank => "smallbank",
            Self::Reordering => "reordering",
            Self::Schemes => "schemes",
            Self::Log => "log",
            Self::Snapshots => "snapshots",
            Self::Model => "model",
        }
    }
}

/// The level of trust in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Trust {
    /// Measured, or computed in closed form.
    A,
    /// Simulated within the range for which the simulator was calibrated.
    B,
    /// Simulated beyond the calibrated range.
    C,
    /// A model of costs only.
    D,
}

impl Trust {
    /// Returns the letter of the level.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        }
    }

    /// Returns the meaning of the letter.
    pub const fn says(self) -> &'static str {
        match self {
            Self::A => "measured or computed here",
            Self::B => "simulated within the calibrated range",
            Self::C => "simulated beyond the calibrated range",
            Self::D => "a model of costs only",
        }
    }
}

/// The status of an experiment: whether it can be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The experiment can be repeated.
    Ready,
    /// The experiment cannot be repeated yet; the text says what is missing.
    Waits(String),
    /// The experiment can never be repeated here; the text is the reason.
    NotHere(String),
}

impl Status {
    /// Returns the name in results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ready => "recipe",
            Self::Waits(_) => "waits",
            Self::NotHere(_) => "not testable here",
        }
    }

    /// Returns the reason why the experiment cannot be repeated; empty if it can.
    pub fn reason(&self) -> &str {
        match self {
            Self::Ready => "",
            Self::Waits(reason) | Self::NotHere(reason) => reason,
        }
    }
}

/// A file of the catalogue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Study {
    work: String,
    setup: Option<String>,
    experiment: Vec<Experiment>,
}

/// The catalogue, one file for each work.
const WORKS: [&str; 6] = [
    include_str!("../../../../experiments/catalogue/ermia.toml"),
    include_str!("../../../../experiments/catalogue/batching.toml"),
    include_str!("../../../../experiments/catalogue/many_cores.toml"),
    include_str!("../../../../experiments/catalogue/sensitivity.toml"),
    include_str!("../../../../experiments/catalogue/foedus.toml"),
    include_str!("../../../../experiments/catalogue/authors.toml"),
];

/// The built-in recipes: names with texts, sorted by name.
const RECIPES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/recipes.rs"));

/// Returns all experiments, in the order of the catalogue.
///
/// # Panics
/// The catalogue, which is part of the program, cannot be parsed.
pub fn all() -> Vec<Experiment> {
    let of_work = |text: &&str| {
        let Study { work, setup, experiment } = toml::from_str(text).expect("the catalogue is tested");
        let with_work =
            move |experiment| Experiment { work: work.clone(), setup: setup.clone(), ..experiment };
        experiment.into_iter().map(with_work)
    };
    WORKS.iter().flat_map(of_work).collect()
}

/// Returns the experiment with this id. Upper and lower case are the same.
///
/// # Errors
/// No experiment has this id. The refusal names the nearest id.
pub fn find(id: &str) -> Result<Experiment, Refusal> {
    let all = all();
    let nearest = nearest(&id.to_uppercase(), all.iter().map(|experiment| experiment.id.as_str()))
        .map_or_else(
            || "see `contend reproduce --list`".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
    let found = all.into_iter().find(|experiment| experiment.id.eq_ignore_ascii_case(id));
    found.ok_or_else(|| Refusal(format!("unknown experiment `{id}`; {nearest}")))
}

/// Returns the text of the built-in recipe with this name.
pub fn recipe(name: &str) -> Option<&'static str> {
    RECIPES.iter().find(|(other, _)| *other == name).map(|(_, text)| *text)
}

impl Experiment {
    /// Whether a relation tests a clause that the work claims, and not only a hypothesis. If none does, the relations
    /// reproduce nothing, whatever their outcomes.
    pub fn tests_a_claim(&self) -> bool {
        let is_tested = |clause: &Clause| {
            let tests = |relation: &Relation| relation.clause.as_ref() == Some(&clause.name);
            clause.source != Source::Commented && self.relations.iter().any(tests)
        };
        self.clauses.iter().any(is_tested)
    }

    /// Returns the status of the experiment.
    pub fn status(&self) -> Status {
        if let Some(reason) = &self.not_here {
            return Status::NotHere(reason.clone());
        }
        let has_recipes = !self.recipes.is_empty() && self.recipes.iter().all(|name| recipe(name).is_some());
        let is_computed = self.recipes.is_empty() && !self.relations.is_empty();
        match self.waits_for.as_slice() {
            _ if has_recipes || is_computed => Status::Ready,
            [] => Status::Waits(format!("the recipes {}", self.recipes.join(", "))),
            waits_for => Status::Waits(capability::all(waits_for)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::*;
    use crate::json::tests::given;
    use crate::registry::tests::catalogue;
    use crate::reproduce::RelationRule;
    use crate::sweep::{PointSummary, Recipe, Summary, Sweep};

    #[test]
    fn every_id_of_the_six_works_is_catalogued_once() {
        let mut counts: BTreeMap<char, usize> = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for experiment in all() {
            *counts.entry(experiment.id.chars().next().expect("an id")).or_default() += 1;
            assert!(ids.insert(experiment.id.clone()), "{} is there twice", experiment.id);
        }
        assert_eq!(
            counts,
            BTreeMap::from([('A', 10), ('B', 23), ('C', 13), ('E', 9), ('F', 12), ('Q', 11), ('S', 32)])
        );
    }

    #[test]
    fn every_experiment_says_what_it_claims_and_what_would_refute_it() {
        for experiment in all() {
            let Experiment { id, title, place, claim, condition, stresses, falsified_by, .. } = &experiment;
            for text in [title, place, claim, condition, stresses, falsified_by] {
                assert!(!text.is_empty() && text.is_ascii(), "{id}: {text}");
            }
            assert!(!experiment.needs.is_empty(), "{id} needs something");
            match experiment.status() {
                Status::Ready => {
                    assert!(experiment.waits_for.is_empty(), "{id} can be run: its clauses say what waits");
                    assert!(experiment.shows.is_some(), "{id}: say what a small machine shows of it");
                    let has_machine = |one: &Recipe| {
                        let of_variants = one.variants.iter().flat_map(|variant| variant.settings.keys());
                        one.settings
                            .keys()
                            .chain(one.vary.keys())
                            .chain(of_variants)
                            .any(|name| name == "machine")
                    };
                    let is_simulated = recipes(id).iter().any(has_machine);
                    // Machines of studies have no native runs to compare with: beyond the calibrated range.
                    let trust = if is_simulated { Trust::C } else { Trust::A };
                    assert!(!experiment.relations.is_empty() && experiment.trust == trust, "{id}");
                }
                Status::Waits(reason) | Status::NotHere(reason) => assert!(!reason.is_empty(), "{id}"),
            }
        }
    }

    #[test]
    fn nothing_waits_for_what_is_here() {
        for Experiment { id, waits_for, clauses, .. } in all() {
            let of_clauses = clauses.iter().flat_map(|clause| &clause.waits_for);
            for wanted in waits_for.iter().chain(of_clauses) {
                assert!(
                    !wanted.is_here(catalogue()),
                    "{id} waits for {}, which is here: write a recipe",
                    wanted.name()
                );
            }
        }
    }

    #[test]
    fn every_relation_tests_a_clause_or_is_ours_and_every_clause_is_tested_or_says_why_not() {
        for Experiment { id, clauses, relations, .. } in all() {
            let names: BTreeSet<&str> = clauses.iter().map(|clause| clause.name.as_str()).collect();
            assert_eq!(names.len(), clauses.len(), "{id}: clauses with one name");
            for relation in &relations {
                let says = &relation.says;
                assert_ne!(
                    relation.clause.is_some(),
                    relation.ours.is_some(),
                    "{id}: {says}: of whom is it?"
                );
                let is_known = |name: &String| names.contains(name.as_str());
                assert!(relation.clause.as_ref().is_none_or(is_known), "{id}: {says}: no such clause");
                assert!(relation.ours.as_ref().is_none_or(|why| !why.is_empty()), "{id}: {says}: why?");
            }
            for clause in &clauses {
                let name = &clause.name;
                let is_plain =
                    |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
                assert!(name.chars().all(is_plain) && !clause.says.is_empty(), "{id}: {name}");
                let is_tested = relations.iter().any(|relation| relation.clause.as_ref() == Some(name));
                assert!(
                    is_tested || clause.rest().is_some(),
                    "{id}: {name} is not tested, and nothing says why"
                );
            }
        }
    }

    /// Returns made-up results of all runs of a recipe, with the same number of commits in each run.
    fn made_up(name: &str) -> (Sweep, Summary) {
        let text = recipe(name).unwrap_or_else(|| panic!("no recipe {name}"));
        let sweep = Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "a build")
            .expect("possible");
        let mut summary = Summary::default();
        for first in sweep.units.iter().filter(|unit| unit.repetition == 0) {
            let run = given(json!({
                "throughput_txn_s": 1.0, "abort_rate": 0.0, "commits": 1, "user_aborts": 0,
                "latency_us": { "p99": 1.0 }, "breakdown": { "index": 0.5 }, "measured_s": 1.0,
                "by_type": { "new_order": { "commits": 1 }, "analytic": { "commits": 1 } },
            }));
            let result = |repetition: u64| (repetition, run.clone());
            let results = (0..sweep.recipe.repeat).map(result).collect();
            summary.lines.push(PointSummary::new(first.point.clone(), first.scheme, results, None));
        }
        (sweep, summary)
    }

    #[test]
    fn every_relation_is_decided_by_the_results_of_its_recipe() {
        for experiment in all().iter().filter(|experiment| experiment.status() == Status::Ready) {
            let sweeps: BTreeMap<&String, (Sweep, Summary)> =
                experiment.recipes.iter().map(|name| (name, made_up(name))).collect();
            for relation in &experiment.relations {
                let (id, says) = (&experiment.id, &relation.says);
                let instances = match relation.recipe.as_ref().or_else(|| experiment.recipes.first()) {
                    Some(name) => {
                        let (sweep, summary) =
                            sweeps.get(name).unwrap_or_else(|| panic!("{id} has no recipe {name}"));
                        let axis = match &relation.rule {
                            RelationRule::Trend { axis, .. } | RelationRule::Crossing { axis, .. } => {
                                Some(axis)
                            }
                            _ => None,
                        };
                        assert!(axis.is_none_or(|axis| sweep.axes.contains(axis)), "{id}: {says}");
                        relation.decide(sweep, summary)
                    }
                    None => relation.compute(1),
                };
                assert!(!instances.is_empty(), "{id}: nothing in its recipe decides `{says}`");
                let is_estimated = |of: &super::super::RelationInstance| of.estimate.is_some();
                let is_crossing = matches!(relation.rule, RelationRule::Crossing { .. });
                assert!(is_crossing || instances.iter().all(is_estimated), "{id}: {says}: {instances:?}");
            }
        }
    }

    #[test]
    fn every_recipe_of_an_experiment_takes_minutes_and_has_pairs_enough_for_a_verdict() {
        let named: BTreeSet<String> = all().into_iter().flat_map(|experiment| experiment.recipes).collect();
        for (name, text) in RECIPES.iter().filter(|(name, _)| named.contains(*name)) {
            let sweep = Sweep::new(catalogue(), Recipe::parse(catalogue(), text).expect("legal"), "a build")
                .expect("possible");
            let minutes = sweep.units.iter().map(|unit| unit.lasts_s).sum::<f64>() / 60.0;
            assert!(
                sweep.recipe.repeat >= 5,
                "{name}: fewer pairs than five decide nothing: set `repeat = 5`"
            );
            assert!(minutes < 45.0, "{name} takes {minutes} minutes");
        }
    }

    #[test]
    fn whole_figures_have_the_axes_of_their_parts_so_that_relations_mean_the_same() {
        for (name, text) in RECIPES {
            let part = Recipe::parse(catalogue(), text).expect("legal");
            if part.whole.is_none() {
                continue;
            }
            let (whole, _) = part.clone().into_whole(catalogue(), text).expect("legal");
            let names = |recipe: &Recipe| -> Vec<String> {
                recipe.axes().into_iter().map(|(name, _)| name.to_owned()).collect()
            };
            assert_eq!(names(&whole), names(&part), "{name}");
            let all = whole.axes();
            for (axis, values) in part.axes() {
                let (_, of_whole) = all.iter().find(|(name, _)| *name == axis).expect("the same axes");
                assert!(values.iter().all(|value| of_whole.contains(value)), "{name}: {axis}");
            }
        }
    }

    #[test]
    fn every_verdict_is_under_both_policies_of_retry_or_there_is_a_reason() {
        let named: BTreeSet<String> = all().into_iter().flat_map(|experiment| experiment.recipes).collect();
        for (name, text) in RECIPES.iter().filter(|(name, _)| named.contains(*name)) {
            let recipe = Recipe::parse(catalogue(), text).expect("legal");
            let policies: Vec<String> =
                recipe.vary.get("retry").into_iter().flatten().map(ToString::to_string).collect();
            let is_under_both = policies == ["same", "drop"];
            let has_reason = recipe.settings.contains_key("retry") && recipe.why.contains_key("retry");
            assert!(is_under_both || has_reason, "{name}: add `retry = [\"same\", \"drop\"]` to `[vary]`");
        }
    }

    /// Returns the recipes of an experiment.
    fn recipes(id: &str) -> Vec<Recipe> {
        let names = find(id).expect("catalogued").recipes;
        names
            .iter()
            .map(|name| Recipe::parse(catalogue(), recipe(name).expect("it comes along")).expect("legal"))
            .collect()
    }

    #[test]
    fn recipes_run_the_systems_that_the_documents_name() {
        for (id, schemes) in [
            ("E-5", vec!["silo", "ermia"]),
            ("F-0", vec!["foedus"]),
            ("F-7", vec!["foedus", "hstore"]),
            ("S-F1b", vec!["aria", "calvin"]),
            ("S-F1d", vec!["cicada", "mocc", "silo"]),
            ("S-F3", vec!["no_wait", "aria", "calvin"]),
            ("S-F5b", vec!["cicada"]),
            ("S-F6a", vec!["cicada", "mocc", "silo", "tictoc"]),
            ("S-F6b", vec!["cicada"]),
        ] {
            let run: BTreeSet<String> = recipes(id).into_iter().flat_map(|recipe| recipe.schemes).collect();
            assert!(schemes.iter().all(|scheme| run.contains(*scheme)), "{id} runs {run:?}");
        }
    }

    #[test]
    fn recipes_have_the_conditions_of_the_documents() {
        let [fixed] = recipes("E-5").try_into().expect("one recipe");
        let number = |name: &str| fixed.settings[name].to_string().parse::<f64>().expect("a number") / 100.0;
        // 45% of the transactions are New-Orders, with ten lines on average, each of which may be remote; 43% are
        // Payments.
        let lines = 1.0 - (1.0 - number("tpcc.remote_item_pct")).powi(10);
        let across = 0.45 * lines + 0.43 * number("tpcc.remote_payment_pct");
        assert!((0.0095..0.0105).contains(&across), "{across} of the transactions cross, and not 1%");
        for logged in [fixed, recipes("F-0").remove(0)] {
            assert!(logged.log_in_memory && logged.settings["run.durability"].to_string() == "async");
        }
        for recipe in recipes("S-F5b") {
            let is_remote = |name: &&String| name.starts_with("tpcc.remote");
            assert_eq!(
                recipe.settings.keys().chain(recipe.vary.keys()).find(is_remote),
                None,
                "the standard's shares"
            );
        }
        for recipe in recipes("S-F3") {
            assert!(
                recipe.vary["clients"].len() >= 3,
                "a maximum over clients needs several numbers of them"
            );
        }
        let degrees = &recipes("S-F1b")[0].vary["tpcc.warehouses"];
        let has = |count: i64| degrees.contains(&crate::sweep::Scalar::Int(count));
        assert!(
            [12, 32, 60, 180].into_iter().all(has),
            "degrees 1 and 0.2, and what is compared: {degrees:?}"
        );
    }

    #[test]
    fn a_maximum_over_clients_is_what_latency_is_asked_to_lower() {
        let claim = find("S-F3").expect("catalogued");
        let of_maximum = |relation: &Relation| match &relation.rule {
            RelationRule::Ratio { best_over, .. } => best_over.as_deref() == Some("clients"),
            _ => false,
        };
        let maxima =
            claim.relations.iter().filter(|relation| relation.clause.as_deref() != Some("needs-clients"));
        assert!(maxima.clone().count() >= 2 && maxima.clone().all(of_maximum));
    }

    #[test]
    fn ids_are_found_in_any_case_and_others_refused_with_the_nearest() {
        assert_eq!(find("s-f5A").expect("catalogued").id, "S-F5a");
        assert!(find("S-F9").expect_err("unknown").0.contains("did you mean `S-F"));
        assert!(find("zzzzzzzz").expect_err("unknown").0.contains("--list"));
    }
}
