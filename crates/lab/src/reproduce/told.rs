//! Experiments and findings, as text for people and objects for programs.

use results::Machine;
use serde_json::{Value, json};
use stats::Interval;

use super::prediction::{Written, errors, origins};
use super::{Clause, Experiment, Finding, Relation, RelationInstance, Source, Status};
use crate::json::SCHEMA;
use crate::sweep;
use crate::text::{Lines, Table, count, plural};

/// Returns the list of all experiments with their status, by work.
pub fn list(experiments: &[Experiment]) -> String {
    let mut lines = Lines::default();
    let mut work = "";
    for experiment in experiments {
        if experiment.work != work {
            let gap = if work.is_empty() { "" } else { "\n" };
            lines.add(format!("{gap}{}", experiment.work));
            work = &experiment.work;
        }
        let status = experiment.status();
        let name = status.name();
        lines.add(format!("  {:<9} {name:<20} {}", experiment.id, experiment.title));
        match &status {
            Status::Ready if experiment.tests_a_claim() => {}
            Status::Ready => {
                lines.add(format!("{:31} no claim of the document: relations of our own, or hypotheses", ""));
            }
            Status::Waits(reason) => lines.add(format!("{:31} for {reason}", "")),
            Status::NotHere(reason) => lines.add(format!("{:31} {reason}", "")),
        }
    }
    let of = |name: &str| experiments.iter().filter(|one| one.status().name() == name).count();
    let claims =
        experiments.iter().filter(|one| one.status() == Status::Ready && one.tests_a_claim()).count();
    lines.add(format!(
        "\n{}: {} can be run, of which {claims} test a claim, {} wait, {} cannot be tested here",
        plural(experiments.len(), "experiment"),
        of("recipe"),
        of("waits"),
        of("not testable here")
    ));
    lines.0
}

/// Returns an experiment as a JSON object.
pub fn json(experiment: &Experiment) -> Value {
    let status = experiment.status();
    json!({
        "schema": SCHEMA,
        "kind": "experiment",
        "id": experiment.id,
        "title": experiment.title,
        "source": { "work": experiment.work, "place": experiment.place },
        "setup": experiment.setup,
        "claim": experiment.claim,
        "condition": experiment.condition,
        "stresses": experiment.stresses,
        "needs": experiment.needs.iter().map(|need| need.name()).collect::<Vec<_>>(),
        "status": status.name(),
        "reason": status.reason(),
        "trust": experiment.trust.name(),
        "recipes": experiment.recipes,
        "shows": experiment.shows,
        "falsified_by": experiment.falsified_by,
        "clauses": experiment.clauses.iter().map(clause).collect::<Vec<_>>(),
        "waits_for": experiment.waits_for.iter().map(|one| one.name()).collect::<Vec<_>>(),
        "tests_a_claim": experiment.tests_a_claim(),
        "relations": experiment.relations.iter().map(|relation| relation.says.as_str()).collect::<Vec<_>>(),
    })
}

fn clause(clause: &Clause) -> Value {
    json!({
        "name": clause.name,
        "says": clause.says,
        "source": clause.source.name(),
        "untested": clause.rest(),
        "waits_for": clause.waits_for.iter().map(|one| one.name()).collect::<Vec<_>>(),
    })
}

/// Returns an experiment as text, as it stands in the catalogue: source, setup, claim, condition, stresses and needs.
pub fn entry(experiment: &Experiment) -> String {
    let mut lines = Lines::default();
    lines.add(format!("{}: {}", experiment.id, experiment.title));
    lines.add(format!("source: {}, {}", experiment.work, experiment.place));
    experiment.setup.iter().for_each(|setup| lines.add(format!("setup of the work: {setup}")));
    lines.add(format!("claim: {}", experiment.claim));
    lines.add(format!("condition: {}", experiment.condition));
    lines.add(format!("stresses: {}", experiment.stresses));
    let needs: Vec<&str> = experiment.needs.iter().map(|need| need.name()).collect();
    lines.add(format!("needs: {}", needs.join(", ")));
    lines.0
}

/// Returns a finding as text: the claim beside the results and the verdict.
pub fn finding(finding: &Finding<'_>) -> String {
    let experiment = finding.experiment;
    let mut lines = Lines(entry(experiment));
    for (name, sweep, summary) in &finding.sweeps {
        lines.add(format!("\nrecipe {name}: {}", sweep.recipe.title));
        lines.add(sweep::results(sweep, summary).trim_end());
        conditions(sweep).for_each(|line| lines.add(line));
        machines(&summary.machines).for_each(|line| lines.add(line));
    }
    if finding.is_whole() {
        lines.add(
            "\nThe whole figure: relations, predictions and what is left untested are written for the part of it that \
             the recipe has by itself.",
        );
    }
    lines.add("");
    lines.add(parts(finding).trim_end());
    for line in origins(finding).into_iter().chain(errors(finding)) {
        lines.add(line);
    }
    lines.add(format!("\n{}", clauses(finding).trim_end()));
    lines.add(format!("\nverdict: {}", finding.verdict_in_words()));
    for (policy, verdict) in finding.by_retry() {
        lines.add(format!("  with retry={policy}: {}", verdict.name()));
    }
    let (trust, whole) = (finding.trust(), experiment.trust);
    lines.add(if trust == whole {
        format!("trust: {} ({})", trust.name(), trust.says())
    } else {
        format!(
            "trust: {}; without starved runs it would be {} ({})",
            trust.name(),
            whole.name(),
            whole.says()
        )
    });
    finding.starvation.lines().into_iter().for_each(|line| lines.add(line));
    experiment.shows.iter().for_each(|shows| lines.add(format!("here: {shows}")));
    lines.add(format!("refuted by: {}", experiment.falsified_by));
    lines.0
}

/// Returns the settings that all runs of a sweep share, and those that differ between variants.
fn conditions(sweep: &sweep::Sweep) -> impl Iterator<Item = String> {
    let recipe = &sweep.recipe;
    let pairs = |settings: &std::collections::BTreeMap<String, sweep::Scalar>| {
        settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    let fixed = pairs(&recipe.settings);
    let is_timed =
        sweep.units.iter().any(|unit| unit.request.machine.is_none() && unit.request.txns.is_none());
    let times =
        if is_timed { format!("{} s after {} s, ", recipe.seconds, recipe.warmup) } else { String::new() };
    let times = times + &plural(recipe.repeat as usize, "repetition");
    let fixed =
        format!("settings: {fixed}{}the others standard; {times}", if fixed.is_empty() { "" } else { "; " });
    let variants: Vec<String> = recipe
        .variants
        .iter()
        .map(|variant| format!("{}: {}", variant.name, pairs(&variant.settings)))
        .collect();
    [fixed].into_iter().chain(variants)
}

fn machines(machines: &[Machine]) -> impl Iterator<Item = String> {
    machines.iter().map(|machine| {
        let cpu = if machine.cpu.is_empty() { "unknown" } else { &machine.cpu };
        format!("machine: {cpu}, {}", plural(machine.cores as usize, "core"))
    })
}

/// Returns the relations as text: the wanted range of each, and the result at each place that it leaves open.
fn parts(finding: &Finding<'_>) -> String {
    let mut table = Table::default();
    let written = Written::of(&finding.experiment.id);
    let prediction = |relation: &Relation, at: &[(String, String)]| written.figure(&relation.says, at);
    let all = finding.parts.iter().flat_map(|(relation, all)| all.iter().map(move |one| (relation, one)));
    let is_predicted = all.into_iter().any(|(relation, one)| prediction(relation, &one.at).is_some());
    let head =
        if is_predicted { &["expected", "of", "at", "predicted"][..] } else { &["expected", "of", "at"] };
    table.row(head.iter().chain(&["found", "(interval)", "outcome"]).copied());
    let mut lines = Lines::default();
    for (nth, (relation, instances)) in finding.parts.iter().enumerate() {
        let of = relation.clause.as_deref().unwrap_or("ours, not the document's");
        lines.add(format!("{}. {} [{of}]", nth + 1, relation.says));
        for instance in instances {
            let RelationInstance { at, estimate, interval, outcome } = instance;
            let figure_before = prediction(relation, at);
            let at: Vec<String> = at.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let mut row = vec![relation.rule.wanted(), format!("{}.", nth + 1), at.join(" ")];
            let told = |value: &Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
            row.extend(is_predicted.then(|| told(&figure_before)));
            let ends =
                |interval: &Interval| format!("({} .. {})", figure(interval.low), figure(interval.high));
            let interval = interval.as_ref().map_or_else(|| "-".to_owned(), ends);
            row.extend([told(estimate), interval, outcome.name().to_owned()]);
            table.row(row);
        }
        if instances.is_empty() {
            table.row([relation.rule.wanted(), format!("{}.", nth + 1), "nothing was measured".to_owned()]);
        }
    }
    format!("{}{}", lines.0, table.render())
}

/// Returns the clauses of the claim with the standing of each, and the parts that were not tested.
fn clauses(finding: &Finding<'_>) -> String {
    let mut lines = Lines::default();
    lines.add("clauses of the claim:");
    for (clause, standing) in &finding.judged.clauses {
        let mark = match clause.source {
            Source::Text => "",
            Source::Data => " [published data]",
            Source::Commented => " [commented out in the document]",
        };
        lines.add(format!("  {}: {}. {}{mark}", clause.name, standing.name(), clause.says));
        clause.rest().iter().for_each(|rest| lines.add(format!("    not tested: {rest}")));
    }
    if let Some(beside) = finding.judged.beside {
        lines.add(format!(
            "besides the claim of the document, our own relations or hypotheses: {}",
            beside.name()
        ));
    }
    lines.0
}

/// Returns a figure of any size with its significant digits; `open` if it is infinite.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        size if size.is_infinite() => "open".to_owned(),
        size if size >= 1_000.0 => count(value),
        size if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{all, find};
    use super::*;

    #[test]
    fn the_list_has_every_experiment_with_its_status() {
        let (all, text) = (all(), list(&all()));
        for experiment in &all {
            let line = format!("  {:<9} {:<20} ", experiment.id, experiment.status().name());
            assert!(text.contains(&line), "{line}");
        }
        assert!(text.contains("110 experiments: ") && text.contains("test a claim"), "{text}");
        let listed = |id: &str| list(&[find(id).expect("catalogued")]).contains("no claim of the document");
        assert_eq!(
            ["E-7", "Q7", "F-7", "E-8", "E-5", "S-F4"].map(listed),
            [true, true, true, true, false, false]
        );
        let objects: Vec<Value> = all.iter().map(json).collect();
        assert!(objects.iter().all(|object| object["kind"] == "experiment" && !object["claim"].is_null()));
    }

    #[test]
    fn an_entry_tells_what_is_common_to_all_of_its_work() {
        for (id, part) in [("B-3", "Averages of 10 runs of 60 s"), ("C-17", "1,568 cores")] {
            let experiment = find(id).expect("catalogued");
            let told = entry(&experiment);
            assert!(told.contains("setup of the work: ") && told.contains(part), "{told}");
            assert!(json(&experiment)["setup"].as_str().is_some_and(|setup| setup.contains(part)));
        }
    }

    #[test]
    fn a_finding_shows_the_claim_and_the_figures() {
        let experiment = find("S-F7").expect("catalogued");
        let told = finding(&Finding::new(&experiment, Vec::new(), 1));
        for part in ["claim: ", "records=1000000", "0.065", "verdict: holds", "trust: A", "refuted by: "] {
            assert!(told.contains(part), "no `{part}` in {told}");
        }
    }
}
