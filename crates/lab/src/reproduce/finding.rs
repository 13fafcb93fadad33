//! Findings: the claim of an experiment beside our figures, and the verdict on the claim.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use results::{Machine, OpenInterval, Place, Reproduction};

use super::prediction::Written;
use super::verdict::Judged;
use super::{ClaimVerdict, Clause, Experiment, Relation, RelationInstance, RelationOutcome, Standing, Trust};
use crate::sweep::{ResultStore, Summary, Sweep};
use crate::{Refusal, Starvation};

/// The result of an experiment.
#[derive(Debug)]
pub struct Finding<'e> {
    /// The experiment.
    pub experiment: &'e Experiment,
    /// The sweeps of the experiment's recipes, each with the name of the recipe and the results.
    pub sweeps: Vec<(String, Sweep, Summary)>,
    /// The relations, with the decisions at their places.
    pub parts: Vec<(&'e Relation, Vec<RelationInstance>)>,
    /// The verdict, clause by clause.
    pub judged: Judged<'e>,
    /// The starvation of the runs, which lowers the trust in all that rests on them.
    pub starvation: Starvation,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl<'e> Finding<'e> {
    /// Decides the relations of an experiment on the results of its recipes. `seed` is the seed of the keys that are
    /// drawn if there are no recipes.
    pub fn new(experiment: &'e Experiment, sweeps: Vec<(String, Sweep, Summary)>, seed: u64) -> Self {
        let decide = |relation: &'e Relation| {
            let name = relation.recipe.as_ref().or_else(|| experiment.recipes.first());
            let found = sweeps.iter().find(|(other, ..)| Some(other) == name);
            let instances = match found {
                Some((_, sweep, summary)) => relation.decide(sweep, summary),
                None => relation.compute(seed),
            };
            (relation, instances)
        };
        let parts: Vec<(&Relation, Vec<RelationInstance>)> =
            experiment.relations.iter().map(decide).collect();
        let judged = judged(experiment, &parts, |_, _| true);
        let lines = sweeps.iter().flat_map(|(_, _, summary)| &summary.lines);
        let starvation = Starvation::of(lines.flat_map(|line| line.results.values()));
        Self { experiment, sweeps, parts, judged, starvation, seed }
    }

    /// Returns the verdict as text, with its qualifications: runs or types of transaction that were starved.
    pub fn verdict_in_words(&self) -> String {
        let reasons = self.starvation.reasons();
        let words = self.judged.in_words();
        if reasons.is_empty() { words } else { format!("{words}, qualified: {}", reasons.join("; ")) }
    }

    /// Returns the level of trust: that of the experiment, and less if runs were starved.
    pub fn trust(&self) -> Trust {
        self.starvation.trust(self.experiment.trust)
    }

    /// Returns the number of runs that failed their check, which are no results.
    pub fn failed(&self) -> usize {
        self.sweeps.iter().map(|(_, _, summary)| summary.failed).sum()
    }

    /// Returns the verdict under each retry policy, if several were tried. Some published results drop aborted
    /// requests, others retry them. A relation that was not tested under a policy is undecided there; a relation that
    /// needs no runs counts under every policy.
    pub fn by_retry(&self) -> BTreeMap<&str, ClaimVerdict> {
        let varied =
            |instance: &'_ RelationInstance| instance.at.iter().position(|(name, _)| name == "retry");
        let instances = || self.parts.iter().flat_map(|(_, instances)| instances);
        let policies: BTreeSet<&str> =
            instances().filter_map(|instance| Some(instance.at[varied(instance)?].1.as_str())).collect();
        let verdict = |policy: &str| {
            let is_meant = |relation: &Relation, instance: &RelationInstance| match varied(instance) {
                Some(at) => instance.at[at].1 == policy,
                None => self.sweep_of(relation).is_none_or(|(sweep, _)| {
                    let fixed = sweep.recipe.settings.get("retry");
                    fixed.map_or("same".to_owned(), ToString::to_string) == policy
                }),
            };
            judged(self.experiment, &self.parts, is_meant).verdict
        };
        policies.into_iter().map(|policy| (policy, verdict(policy))).collect()
    }

    /// Returns the sweep that decides a relation, with its results; `None` for a relation that needs none.
    pub(super) fn sweep_of(&self, relation: &Relation) -> Option<(&Sweep, &Summary)> {
        let name = relation.recipe.as_ref().or_else(|| self.experiment.recipes.first());
        let of_relation = self.sweeps.iter().find(|(other, ..)| Some(other) == name);
        of_relation.map(|(_, sweep, summary)| (sweep, summary))
    }

    /// Returns the relations that simulated runs decide, with the decisions at their places.
    pub(super) fn simulated(&self) -> impl Iterator<Item = &(&'e Relation, Vec<RelationInstance>)> {
        self.parts
            .iter()
            .filter(|(relation, _)| self.sweep_of(relation).is_some_and(|(sweep, _)| sweep.simulates()))
    }

    /// Returns the relations in a sentence: the estimate of each that has a single place, and for the others the number
    /// of places at which they hold.
    pub(super) fn statement(&self) -> String {
        let part = |(relation, instances): &(&Relation, Vec<RelationInstance>)| {
            let held = instances.iter().filter(|instance| instance.outcome == RelationOutcome::Holds).count();
            let found = match instances.as_slice() {
                [RelationInstance { estimate: Some(estimate), .. }] => format!("{estimate:.3}"),
                all => format!("in {held} of {} places", all.len()),
            };
            format!("{}: {found}", relation.says.trim_end_matches('.'))
        };
        let parts: Vec<String> = self.parts.iter().map(part).collect();
        format!("{} {}: {}", self.experiment.id, self.verdict_in_words(), parts.join("; "))
    }

    /// Returns `true` if the results are of a whole figure, where the experiment's recipes have a part of it.
    pub(super) fn is_whole(&self) -> bool {
        self.sweeps.iter().any(|(_, sweep, _)| sweep.recipe.is_whole)
    }

    /// Returns the finding as a result, with its evidence and the command that tests it again.
    pub fn claim(&self, folder: &Path) -> Reproduction {
        let experiment = self.experiment.clone();
        let written = Written::of(&experiment.id);
        let relations = self.parts.iter().map(|each| part(&written, each)).collect();
        let runs = self.sweeps.iter().flat_map(|(_, _, summary)| &summary.lines);
        let evidence = runs.flat_map(|line| line.results.values()).filter_map(|run| run.id.clone());
        let machines: Vec<&Machine> =
            self.sweeps.iter().flat_map(|(_, _, summary)| &summary.machines).collect();
        let by_retry = self.by_retry().into_iter();
        let (seed, id) = (self.seed + RECHECK, &experiment.id);
        let whole = if self.is_whole() { " --whole" } else { "" };
        let recheck = format!("contend reproduce {id}{whole} --seed {seed} --out {}", folder.display());
        Reproduction {
            name: experiment.id,
            title: experiment.title,
            statement: self.statement(),
            source: results::Source { work: experiment.work, place: experiment.place },
            claim: experiment.claim,
            condition: experiment.condition,
            verdict: self.judged.verdict.name().to_owned(),
            verdict_in_words: self.verdict_in_words(),
            starvation: self.starvation.result(),
            clauses: self.judged.clauses.iter().map(clause).collect(),
            beside_the_claim: self.judged.beside.map(|standing| standing.name().to_owned()),
            verdict_by_retry: by_retry
                .map(|(policy, verdict)| (policy.to_owned(), verdict.name().to_owned()))
                .collect(),
            relations,
            sweeps: self.sweeps.iter().map(conditions).collect(),
            trust: self.trust().name().to_owned(),
            trust_if_nothing_starves: experiment.trust.name().to_owned(),
            shows: experiment.shows,
            falsified_by: experiment.falsified_by,
            evidence: evidence.collect(),
            machine: machines.first().map(|machine| (*machine).clone()),
            machines_differ: machines.iter().any(|other| *other != machines[0]),
            seed: self.seed,
            build: self.sweeps.first().map(|(_, sweep, _)| sweep.build.clone()),
            recheck,
            ..Reproduction::default()
        }
    }
}

/// The distance of the seed of a claim's test from its own seed: greater than the number of repetitions, which use
/// consecutive seeds.
const RECHECK: u64 = 1_000;

/// Judges the claim by the relations and places that `is_meant` chooses.
fn judged<'e>(
    experiment: &'e Experiment,
    parts: &[(&Relation, Vec<RelationInstance>)],
    is_meant: impl Fn(&Relation, &RelationInstance) -> bool,
) -> Judged<'e> {
    let standing = |(relation, instances): &(&'_ Relation, Vec<RelationInstance>)| {
        let meant = instances.iter().filter(|instance| is_meant(relation, instance));
        Standing::of_places(meant.map(|instance| instance.outcome))
    };
    let relations: Vec<(&Relation, Standing)> = parts.iter().map(|part| (part.0, standing(part))).collect();
    Judged::new(experiment, &relations)
}

fn clause((clause, standing): &(&Clause, Standing)) -> results::Clause {
    results::Clause {
        name: clause.name.clone(),
        says: clause.says.clone(),
        source: clause.source.name().to_owned(),
        outcome: standing.name().to_owned(),
        untested: clause.rest(),
    }
}

fn part(written: &Written, (relation, instances): &(&Relation, Vec<RelationInstance>)) -> results::Relation {
    let place = |instance: &RelationInstance| Place {
        at: instance.at.iter().cloned().collect(),
        predicted: written.figure(&relation.says, &instance.at),
        estimate: instance.estimate.filter(|estimate| estimate.is_finite()),
        interval: instance.interval.map(OpenInterval::from),
        outcome: instance.outcome.name().to_owned(),
    };
    results::Relation {
        says: relation.says.clone(),
        clause: relation.clause.clone(),
        ours: relation.ours.clone(),
        rule: relation.rule.name().to_owned(),
        wanted: relation.rule.wanted(),
        places: instances.iter().map(place).collect(),
    }
}

/// Returns the choices of a sweep and the numbers of its runs.
fn conditions((name, sweep, summary): &(String, Sweep, Summary)) -> results::Sweep {
    let recipe = &sweep.recipe;
    let settings = recipe.settings.iter().map(|(name, value)| (name.clone(), value.to_string()));
    let varied = recipe.axes().into_iter().map(|(name, values)| (name.to_owned(), values));
    results::Sweep {
        recipe: name.clone(),
        workload: recipe.workload.clone(),
        schemes: sweep.schemes.iter().map(ToString::to_string).collect(),
        settings: settings.collect(),
        varied: varied.collect(),
        repeat: recipe.repeat,
        seconds: recipe.seconds,
        planned: sweep.units.len() as u64,
        made: summary.made as u64,
        starved: summary.starved as u64,
        failed: summary.failed as u64,
    }
}

/// Writes a claim to the results, in place of an earlier claim of the same experiment, and returns its path.
///
/// # Errors
/// The system refuses.
pub fn keep(store: &ResultStore, claim: &Reproduction) -> Result<PathBuf, Refusal> {
    let path = Path::new("claims").join(format!("{}.json", claim.name));
    store.derive(&path, &format!("{claim:#}\n"))?;
    Ok(store.path().join(path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::json::tests::given;

    /// Returns the verdict and the text of a finding of S-F4 with these outcomes of its clauses, in their order: the
    /// gap on one warehouse, a smaller gap on fifty, hardly any gap on fifty, and a large gap with an efficient engine.
    fn found(outcomes: [&[RelationOutcome]; 4]) -> (ClaimVerdict, String) {
        let experiment = super::super::find("s-f4").expect("catalogued");
        let place = |outcome: &RelationOutcome| RelationInstance {
            at: Vec::new(),
            estimate: None,
            interval: None,
            outcome: *outcome,
        };
        let parts: Vec<(&Relation, Vec<RelationInstance>)> = experiment
            .relations
            .iter()
            .zip(outcomes)
            .map(|(relation, outcomes)| (relation, outcomes.iter().map(place).collect()))
            .collect();
        let judged = judged(&experiment, &parts, |_, _| true);
        (judged.verdict, judged.in_words())
    }

    #[test]
    fn one_part_that_fails_everywhere_refutes_a_claim_whose_other_parts_hold_or_are_undecided() {
        use RelationOutcome::{Fails, Holds, Undecided};
        let (verdict, words) = found([&[Holds, Holds], &[Holds], &[Fails, Fails], &[Holds]]);
        assert_eq!(verdict, ClaimVerdict::DoesNotHold);
        assert!(
            words.starts_with("does not hold (fails: hardly-on-fifty; ") && words.contains("gap-on-one"),
            "{words}"
        );
        assert_eq!(
            found([&[Undecided], &[Undecided], &[Fails, Fails], &[Undecided]]).0,
            ClaimVerdict::DoesNotHold
        );
        assert_eq!(
            found([&[Holds, Fails], &[Holds], &[Holds], &[Holds]]).0,
            ClaimVerdict::HoldsUnderCondition
        );
        assert_eq!(found([&[Holds, Undecided], &[Holds], &[Holds], &[Holds]]).0, ClaimVerdict::Undecided);
        let (verdict, words) = found([&[Holds], &[Holds], &[Holds], &[Holds]]);
        assert_eq!(verdict, ClaimVerdict::HoldsInPart, "its figures are of another engine");
        assert!(words.contains("holds as far as tested: gap-on-one, smaller-on-fifty"), "{words}");
    }

    #[test]
    fn relations_of_ours_reproduce_nothing() {
        for id in ["e-7", "q7", "f-7"] {
            let experiment = super::super::find(id).expect("catalogued");
            let held = |relation| (relation, Standing::Holds);
            let relations: Vec<(&Relation, Standing)> = experiment.relations.iter().map(held).collect();
            let judged = Judged::new(&experiment, &relations);
            assert_eq!(
                (judged.verdict, judged.beside),
                (ClaimVerdict::NoClaim, Some(Standing::Holds)),
                "{id}"
            );
        }
        let hypotheses = super::super::find("e-8").expect("catalogued");
        let held: Vec<(&Relation, Standing)> =
            hypotheses.relations.iter().map(|relation| (relation, Standing::Holds)).collect();
        assert_eq!(
            Judged::new(&hypotheses, &held).verdict,
            ClaimVerdict::NoClaim,
            "the document does not print them"
        );
    }

    #[test]
    fn starved_runs_and_types_qualify_a_verdict_and_lower_its_trust() {
        let experiment = super::super::find("s-f7").expect("catalogued");
        let mut finding = Finding::new(&experiment, Vec::new(), 1);
        assert_eq!((finding.trust(), finding.verdict_in_words().contains("qualified")), (Trust::A, false));
        let run = given(json!({
            "scheme": "silo", "starved": true, "cpu_share": 0.5, "throughput_txn_s": 1.0,
            "mix": { "new_order": 0.9, "stock_level": 0.1 },
            "by_type": { "new_order": { "commits": 900 }, "stock_level": { "commits": 0 } },
        }));
        finding.starvation = Starvation::of([&run]);
        assert_eq!(finding.trust(), Trust::C);
        let words = finding.verdict_in_words();
        assert!(
            words.contains("qualified: 1 of 1 runs were starved; silo committed 0 stock_level"),
            "{words}"
        );
        assert!(finding.statement().contains("qualified"));
        let text = crate::reproduce::finding(&finding);
        assert!(
            text.contains("trust: C; without starved runs it would be A")
                && text.contains("STARVED TYPE: silo"),
            "{text}"
        );
        let claim = finding.claim(Path::new("x"));
        assert_eq!((claim.trust.as_str(), claim.starvation.starved), ("C", 1));
    }

    #[test]
    fn each_policy_of_retry_has_a_verdict_of_its_own() {
        let experiment = super::super::find("s-f7").expect("catalogued");
        let mut finding = Finding::new(&experiment, Vec::new(), 1);
        assert!(finding.by_retry().is_empty(), "nothing was retried");
        let place = |retry: &str, outcome| RelationInstance {
            at: vec![("retry".to_owned(), retry.to_owned())],
            estimate: None,
            interval: None,
            outcome,
        };
        finding.parts.truncate(1);
        finding.parts[0].1 =
            vec![place("same", RelationOutcome::Holds), place("drop", RelationOutcome::Fails)];
        let (same, drop) = (("same", ClaimVerdict::HoldsInPart), ("drop", ClaimVerdict::DoesNotHold));
        assert_eq!(finding.by_retry(), BTreeMap::from([same, drop]));
        let text = crate::reproduce::finding(&finding);
        assert!(
            text.contains("  with retry=drop: does not hold\n  with retry=same: holds in part\n"),
            "{text}"
        );
        finding.parts.push((&experiment.relations[1], vec![place("same", RelationOutcome::Holds)]));
        finding.parts[0].1[1].outcome = RelationOutcome::Holds;
        let (same, drop) = (("same", ClaimVerdict::HoldsInPart), ("drop", ClaimVerdict::Undecided));
        assert_eq!(
            finding.by_retry(),
            BTreeMap::from([same, drop]),
            "a part was not tested under one of them"
        );
        finding.parts[1].1[0].at.clear();
        assert_eq!(finding.by_retry()["drop"], ClaimVerdict::HoldsInPart, "and here it needs no runs");
        finding.parts.truncate(1);
        finding.parts[0].1[1].outcome = RelationOutcome::Fails;
        let claim = finding.claim(Path::new("x"));
        assert_eq!(
            json!(claim.verdict_by_retry),
            json!({ "same": "holds in part", "drop": "does not hold" })
        );
    }

    #[test]
    fn a_finding_without_runs_is_a_claim_that_says_how_to_test_it_again() {
        let experiment = super::super::find("s-f7").expect("catalogued");
        let finding = Finding::new(&experiment, Vec::new(), 1);
        assert_eq!(finding.judged.verdict, ClaimVerdict::Holds, "{:?}", finding.parts);
        let folder = std::env::temp_dir().join(format!("contend-claims-{}", std::process::id()));
        let store = ResultStore::open(&folder).expect("writable");
        for _ in 0..2 {
            let path = keep(&store, &finding.claim(&folder)).expect("writable");
            let text = fs::read_to_string(path).expect("written");
            let Ok(Some(results::Line::Reproduction(claim))) = results::parse(&text) else {
                panic!("{text}")
            };
            assert_eq!(claim.name, "S-F7");
            assert!(claim.recheck.contains("reproduce S-F7 --seed 1001"));
            assert!(claim.statement.starts_with("S-F7 holds (holds: hottest-of-1m, "));
        }
        assert_eq!(fs::read_dir(folder.join("claims")).expect("there").count(), 1);
        fs::remove_dir_all(folder).expect("its own directory");
    }
}
