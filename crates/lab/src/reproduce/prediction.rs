//! Predictions: the figures that simulated runs gave for the relations of an experiment, written down before the runs
//! that are compared with the published claim; and the errors of predicted ratios, beside those of a naive baseline.

use std::collections::BTreeMap;

use results::Simulation;
use serde::Deserialize;
use serde_json::Value;

use super::{Finding, Relation, RelationInstance, RelationRule};
use crate::sweep::{Scalar, Summary};
use crate::text::{Lines, percent};

/// The error of a simulated ratio beyond which only the order of ratios is trusted.
const ERROR_MAX: f64 = 0.30;

/// Stands for the day, and for what was compared before it, until whoever keeps the predictions writes them.
const TO_FILL_IN: &str = "on .., before ..";

/// The predictions of an experiment.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Predictions {
    /// The id of the experiment.
    experiment: String,
    /// The simulated machines, with the digests of their constants at that time.
    machines: BTreeMap<String, String>,
    /// The day on which they were written, and what had been compared before, in words.
    made: String,
    /// The settings that the recipes had then and have no longer, in words; `None` if the recipes are the same.
    recipes_had: Option<String>,
    /// The predicted figures.
    figures: Vec<Predicted>,
}

/// The predicted figure of a relation at a place.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Predicted {
    /// The relation in words, as the catalogue has it.
    relation: String,
    /// The figure: a ratio, a number of cores, or whatever the rule of the relation computes.
    figure: f64,
    /// The values that the relation leaves open, by name.
    #[serde(default)]
    at: BTreeMap<String, String>,
}

/// A file of predictions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    predictions: Vec<Predictions>,
}

/// The predictions that were written down for an experiment.
#[derive(Debug)]
pub(super) struct Written(Vec<Predictions>);

impl Written {
    /// Returns the predictions for an experiment.
    pub(super) fn of(experiment: &str) -> Self {
        Self(all_written().into_iter().filter(|one| one.experiment == experiment).collect())
    }

    /// Returns the predicted figure of a relation at a place.
    pub(super) fn figure(&self, relation: &str, at: &[(String, String)]) -> Option<f64> {
        let at: BTreeMap<String, String> = at.iter().cloned().collect();
        let mut figures = self.0.iter().flat_map(|one| &one.figures);
        figures.find(|one| one.relation == relation && one.at == at).map(|one| one.figure)
    }
}

fn all_written() -> Vec<Predictions> {
    let text = include_str!("../../../../experiments/predictions/many_cores.toml");
    toml::from_str::<File>(text).expect("the file of predictions is legal").predictions
}

/// Returns the figures that the simulated recipes of a finding give, without a decision, as a file of predictions has
/// them. Published ratios to which constants were fitted are left out.
pub fn predictions(finding: &Finding<'_>) -> String {
    let machines = machines(finding);
    let is_told = |(relation, _): &&(&Relation, Vec<RelationInstance>)| {
        !matches!(relation.rule, RelationRule::Published { is_fitted: true, .. })
    };
    let figures = finding.simulated().filter(is_told).flat_map(|(relation, instances)| {
        instances.iter().filter_map(|instance| {
            let figure = instance.estimate.filter(|estimate| estimate.is_finite())?;
            Some(Predicted {
                relation: relation.says.clone(),
                figure: rounded(figure),
                at: instance.at.iter().cloned().collect(),
            })
        })
    });
    let (experiment, figures) = (finding.experiment.id.clone(), figures.collect());
    let made = TO_FILL_IN.to_owned();
    Predictions { experiment, machines, made, recipes_had: None, figures }.text()
}

impl Predictions {
    /// Returns the predictions as a file has them, one figure a line.
    fn text(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let table = |pairs: &BTreeMap<String, String>| {
            let pairs = pairs.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        };
        let mut lines = Lines::default();
        lines.add("[[predictions]]");
        lines.add(format!("experiment = {}", quoted(&self.experiment)));
        lines.add(format!("made = {}", quoted(&self.made)));
        lines.add(format!("machines = {}", table(&self.machines)));
        if let Some(settings) = &self.recipes_had {
            lines.add(format!("recipes_had = {}", quoted(settings)));
        }
        lines.add("figures = [");
        for Predicted { relation, figure, at } in &self.figures {
            let at = if at.is_empty() { String::new() } else { format!(", at = {}", table(at)) };
            lines.add(format!("    {{ figure = {figure:?}{at}, relation = {} }},", quoted(relation)));
        }
        lines.add("]");
        lines.0
    }
}

/// Returns the simulated machines of a finding, with their digests.
fn machines(finding: &Finding<'_>) -> BTreeMap<String, String> {
    let all = finding.sweeps.iter().flat_map(|(_, _, summary)| simulations(summary));
    all.map(|one| (one.machine.clone(), one.digest.clone())).collect()
}

fn simulations(summary: &Summary) -> impl Iterator<Item = &Simulation> {
    summary.lines.iter().flat_map(|line| line.results.values()).filter_map(|run| run.simulation.as_ref())
}

/// Returns where the predictions of the experiment come from, one sentence a line: when they were written and for which
/// machines, whether the machines' constants and the rules of time are those of the runs, and whether the recipes were
/// others.
pub(super) fn origins(finding: &Finding<'_>) -> Vec<String> {
    let (now, written) = (machines(finding), Written::of(&finding.experiment.id));
    let told = |(name, digest): (&String, &String)| {
        let changed = match now.get(name) {
            Some(other) if other != digest => ": its constants or the rules of time have changed since",
            _ => "",
        };
        format!("predicted on {name}, digest {digest}{changed}")
    };
    let recipes = |one: &Predictions| {
        let settings = one.recipes_had.as_ref()?;
        Some(format!("predicted with recipes that had {settings}"))
    };
    let made = written.0.iter().map(|one| format!("predicted {}", one.made));
    let machines = written.0.iter().flat_map(|one| &one.machines).map(told);
    made.chain(machines).chain(written.0.iter().filter_map(recipes)).collect()
}

/// Returns a figure with four significant digits.
fn rounded(figure: f64) -> f64 {
    format!("{figure:.3e}").parse().expect("a number that was written")
}

/// A ratio that was found or predicted, beside the published one.
#[derive(Clone, Copy, Debug)]
struct FoundRatio<'r> {
    /// The values of axes at which its two sides were taken, and those that the relation leaves open.
    sides: [&'r BTreeMap<String, Scalar>; 2],
    at: &'r [(String, String)],
    published: f64,
    found: f64,
}

/// The order of ratios at the same values of all axes, pair by pair. Pairs that the published ratios do not tell apart
/// do not count.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Order {
    as_published: usize,
    pairs: usize,
    /// Pairs in the published order, less those in the other one, as a share of all (Kendall, A new measure of rank
    /// correlation, Biometrika 1938).
    tau: f64,
}

impl Order {
    fn of(ratios: &[FoundRatio<'_>]) -> Option<Self> {
        let (mut as_published, mut reversed, mut pairs) = (0, 0, 0);
        for (nth, one) in ratios.iter().enumerate() {
            let is_apart = |other: &&FoundRatio<'_>| {
                (other.sides, other.at) == (one.sides, one.at)
                    && (other.published - one.published).abs() > 1e-9
            };
            for other in ratios[..nth].iter().filter(is_apart) {
                let agreement = (one.published - other.published) * (one.found - other.found);
                pairs += 1;
                as_published += usize::from(agreement > 0.0);
                reversed += usize::from(agreement < 0.0);
            }
        }
        let tau = (as_published as f64 - reversed as f64) / pairs as f64;
        (pairs > 0).then_some(Self { as_published, pairs, tau })
    }

    fn told(self) -> String {
        format!(
            "{} of {} pairs in the published order (Kendall's tau {:.2})",
            self.as_published, self.pairs, self.tau
        )
    }
}

/// Errors of ratios, as shares of the published ones.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Errors {
    count: usize,
    mean: f64,
    worst: f64,
}

impl Errors {
    fn of(ratios: &[FoundRatio<'_>]) -> Option<Self> {
        let errors: Vec<f64> =
            ratios.iter().map(|ratio| (ratio.found / ratio.published - 1.0).abs()).collect();
        let worst = errors.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { count: errors.len(), mean: errors.iter().sum::<f64>() / errors.len() as f64, worst })
    }

    fn told(self) -> String {
        format!("mean {}, worst {}", percent(self.mean), percent(self.worst))
    }
}

/// Returns the errors of the ratios of a finding that have a published value, one sentence a line; nothing if there are
/// none. Each recipe has sentences of its own. Ratios to which constants were fitted are left out.
pub(super) fn errors(finding: &Finding<'_>) -> Vec<String> {
    let recipes = &finding.experiment.recipes;
    let all = recipes.iter().map(|recipe| (recipe, errors_of(finding, recipe)));
    let all: Vec<_> = all.filter(|(_, lines)| !lines.is_empty()).collect();
    let is_one = all.len() == 1;
    let named = |recipe: &str, line: String| if is_one { line } else { format!("{recipe}: {line}") };
    all.into_iter()
        .flat_map(|(recipe, lines)| lines.into_iter().map(move |line| named(recipe, line)))
        .collect()
}

/// As [`errors`], of the relations that one recipe decides.
fn errors_of(finding: &Finding<'_>, recipe: &str) -> Vec<String> {
    let predictions = Written::of(&finding.experiment.id);
    let (mut written, mut naive, mut now) = (Vec::new(), Vec::new(), Vec::new());
    let first = finding.experiment.recipes.first();
    let is_of = |relation: &Relation| relation.recipe.as_ref().or(first).is_some_and(|name| name == recipe);
    for (relation, instances) in finding.parts.iter().filter(|(relation, _)| is_of(relation)) {
        let RelationRule::Published { of, to, published, naive: guess, is_fitted: false, .. } =
            &relation.rule
        else {
            continue;
        };
        let ratio = |at, found| FoundRatio { sides: [&of.at, &to.at], at, published: *published, found };
        for instance in instances {
            let predicted = predictions.figure(&relation.says, &instance.at);
            written.extend(predicted.map(|found| ratio(&*instance.at, found)));
            now.extend(instance.estimate.map(|found| ratio(&*instance.at, found)));
        }
        naive.extend(guess.map(|found| ratio(&[], found)));
    }
    let is_beyond = |ratios: &[FoundRatio<'_>]| Errors::of(ratios).is_some_and(|all| all.worst > ERROR_MAX);
    let told = |what: &str, ratios: &[FoundRatio<'_>]| {
        let errors = Errors::of(ratios)?;
        let order = Order::of(ratios).map_or_else(String::new, |order| format!("; {}", order.told()));
        Some(format!("{what} ({}): {}{order}", errors.count, errors.told()))
    };
    let mut lines: Vec<String> = [
        told("errors of the written predictions", &written),
        told("errors of the naive baseline", &naive),
        told("errors of these runs", &now),
    ]
    .into_iter()
    .flatten()
    .collect();
    if is_beyond(&written) || is_beyond(&now) {
        let most = percent(ERROR_MAX);
        lines.push(format!("an error is beyond {most}: trust the order of what is simulated, and no ratio"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{RelationOutcome, all, find};
    use super::*;

    /// A finding of C-17 in which each ratio is `found(published)`.
    fn found(experiment: &super::super::Experiment, found: impl Fn(f64) -> f64) -> Finding<'_> {
        let mut finding = Finding::new(experiment, Vec::new(), 1);
        for (relation, instances) in &mut finding.parts {
            let RelationRule::Published { published, .. } = relation.rule else { continue };
            *instances = vec![RelationInstance {
                at: Vec::new(),
                estimate: Some(found(published)),
                interval: None,
                outcome: RelationOutcome::Undecided,
            }];
        }
        finding
    }

    #[test]
    fn predictions_that_are_kept_say_when_they_were_made() {
        for one in all_written() {
            assert!(!one.made.contains(".."), "{}: fill in `made`", one.experiment);
        }
        assert!(TO_FILL_IN.contains(".."));
    }

    #[test]
    fn errors_are_told_beside_those_of_the_baseline() {
        let experiment = find("C-17").expect("catalogued");
        let told = errors(&found(&experiment, |published| published * 1.5));
        let now = "c-17: errors of these runs (13): mean 50.0%, worst 50.0%; 35 of 35 pairs in the published order \
                   (Kendall's tau 1.00)";
        assert!(told.iter().any(|line| line == now), "{told:?}");
        for naive in [
            "c-17: errors of the naive baseline (9): mean 6.",
            "c-17-power: errors of the naive baseline (21)",
        ] {
            assert!(told.iter().any(|line| line.starts_with(naive)), "{naive}: {told:?}");
        }
        let text = crate::reproduce::finding(&found(&experiment, |published| published * 1.5));
        let parts = [
            "predicted  found",
            "predicted on 29 November 2026, as a third set: ",
            "predicted on hpe-superdome-flex, digest ",
            "0.776  0.825",
            "c-17: an error is beyond 30.0%: trust the order",
        ];
        for part in parts {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
        let peaks = find("C-12").expect("catalogued");
        let peaks = Finding::new(&peaks, Vec::new(), 1);
        assert!(errors(&peaks).is_empty());
        let told = origins(&peaks);
        assert!(
            told.iter().any(|line| line.starts_with("predicted with recipes that had `run.")),
            "{told:?}"
        );
    }

    #[test]
    fn pairs_are_of_the_same_place_and_apart_in_the_publication() {
        let places: [BTreeMap<String, Scalar>; 2] =
            [1, 2].map(|workers| BTreeMap::from([("workers".to_owned(), Scalar::Int(workers))]));
        let ratio = |(place, published, found): (usize, f64, f64)| FoundRatio {
            sides: [&places[place], &places[0]],
            at: &[],
            published,
            found,
        };
        // The second and third are level in the publication, and the last is at another place.
        let ratios = [(0, 0.5, 0.6), (0, 0.7, 0.5), (0, 0.7, 0.9), (0, 0.9, 0.9), (1, 0.1, 2.0)].map(ratio);
        let order = Order::of(&ratios).expect("there are pairs");
        assert_eq!((order.as_published, order.pairs), (3, 5));
        assert!((order.tau - 0.4).abs() < 1e-9, "one is reversed, and one is level");
        assert_eq!(Order::of(&ratios[3..]), None);
    }

    #[test]
    fn each_written_prediction_is_of_a_relation_and_is_shown_with_it() {
        let mut known = BTreeSet::new();
        for experiment in all() {
            known.extend(experiment.relations.iter().map(|one| (experiment.id.clone(), one.says.clone())));
        }
        for written in all_written() {
            assert!(!written.machines.is_empty() && !written.figures.is_empty(), "{}", written.experiment);
            let mut places = BTreeSet::new();
            for Predicted { relation, figure, at } in &written.figures {
                assert!(known.contains(&(written.experiment.clone(), relation.clone())), "{relation}");
                assert!(places.insert((relation, at)), "{relation} twice");
                let place: Vec<_> = at.clone().into_iter().collect();
                assert_eq!(Written::of(&written.experiment).figure(relation, &place), Some(*figure));
            }
        }
        assert_eq!(Written::of("C-17").figure("of nobody", &[]), None);
    }

    #[test]
    fn a_printed_file_is_a_legal_one_with_the_same_predictions() {
        let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let predicted = |relation: &str, figure, at| Predicted { relation: relation.to_owned(), figure, at };
        let figures = vec![
            predicted("a peak of `silo`, \"here\"", 24.0, BTreeMap::new()),
            predicted("a ratio", 0.1235, pairs(&[("tpcc.mix", "full"), ("workers", "4")])),
        ];
        let machines = pairs(&[("hpe-superdome-flex", "ef6d")]);
        let recipes_had = Some("another retry".to_owned());
        let (experiment, made) = ("C-19".to_owned(), "on a day".to_owned());
        let all = Predictions { experiment, machines, made, recipes_had, figures };
        let File { predictions } = toml::from_str(&all.text()).expect("legal");
        assert_eq!(predictions, [all]);
        let digits = [0.123_456, 24.0, 123_456.0].map(|figure| rounded(figure).to_string());
        assert_eq!(digits, ["0.1235", "24", "123500"]);
        let computed = find("S-F7").expect("catalogued");
        let printed = super::predictions(&Finding::new(&computed, Vec::new(), 1));
        assert!(printed.contains("figures = [\n]"), "only simulated relations are predicted: {printed}");
    }
}
