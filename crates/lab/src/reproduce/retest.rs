//! Relations tested again on machines that differ from the simulated ones in a constant.

use std::collections::BTreeSet;

use super::told::figure;
use super::{Finding, Relation, RelationInstance};
use crate::Refusal;
use crate::constants::{self, ConstantChange, some_of};
use crate::simulation::machine_of;
use crate::sweep::Sweep;
use crate::text::{Table, plural};

/// Returns the changes of constants of the machines that sweeps simulate, each constant by each factor; those of the
/// constants in `only` alone, if it names any.
///
/// # Errors
/// Factors that are out of range or change nothing, and names of which no constant can be changed by them.
pub fn constant_changes<'s>(
    sweeps: impl IntoIterator<Item = &'s Sweep>,
    factors: &[f64],
    only: &[String],
) -> Result<Vec<ConstantChange>, Refusal> {
    let asked: BTreeSet<&str> = sweeps.into_iter().flat_map(Sweep::machines).collect();
    let machines = asked.into_iter().map(machine_of).collect::<Result<Vec<_>, _>>()?;
    let mut all = constants::changes(&machines, factors)?;
    if let Some(unknown) = only.iter().find(|name| all.iter().all(|change| change.path() != **name)) {
        let constants = machines.iter().flat_map(|machine| &machine.constants);
        let is_there = constants.into_iter().any(|constant| constant.path == *unknown);
        let names: BTreeSet<&str> = all.iter().map(ConstantChange::path).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let says =
            if is_there { "stays the same with these factors" } else { "no constant of these machines" };
        return Err(Refusal(format!("`--only {unknown}`: {says}; name some of {}", names.join(", "))));
    }
    all.retain(|change| only.is_empty() || only.iter().any(|name| name == change.path()));
    Ok(all)
}

/// The figure of a relation at a place.
#[derive(Clone, Debug)]
struct Figure<'e> {
    relation: &'e Relation,
    at: Vec<(String, String)>,
    estimate: Option<f64>,
}

/// The figures of an experiment on the machines of its recipes, and on machines that differ from these in a constant.
#[derive(Debug)]
pub struct Retest<'e> {
    experiment: &'e str,
    figures: Vec<Figure<'e>>,
    /// By change, the estimates in the order of the figures.
    changed: Vec<(ConstantChange, Vec<Option<f64>>)>,
}

impl<'e> Retest<'e> {
    /// A test of the relations of a finding that simulated runs decide.
    pub fn new(finding: &Finding<'e>) -> Self {
        Self { experiment: &finding.experiment.id, figures: figures(finding), changed: Vec::new() }
    }

    /// Adds the finding of the same experiment with a changed constant.
    pub fn add(&mut self, change: ConstantChange, finding: &Finding<'e>) {
        self.compare(change, &figures(finding));
    }

    fn compare(&mut self, change: ConstantChange, others: &[Figure<'_>]) {
        let estimate = |figure: &Figure<'_>| {
            let is_same =
                |other: &&Figure<'_>| other.relation.says == figure.relation.says && other.at == figure.at;
            others.iter().find(is_same)?.estimate
        };
        let estimates = self.figures.iter().map(estimate).collect();
        self.changed.push((change, estimates));
    }

    /// Returns a table of the figures: on how many machines each is the same to the last digit, or on the same side of
    /// its wanted range as without a change, and which changes turn it.
    pub fn text(&self) -> String {
        let mut table = Table::default();
        table.row([
            "figure",
            "lowest",
            "highest",
            "wanted",
            "same",
            "stands",
            "no figure",
            "turned by",
            "relation",
        ]);
        for (nth, one) in self.figures.iter().enumerate() {
            let found = |(change, estimates): &(ConstantChange, Vec<Option<f64>>)| {
                (change.to_string(), estimates[nth])
            };
            table.row(one.row(&self.changed.iter().map(found).collect::<Vec<_>>()));
        }
        format!(
            "{} on {} that differ from those of the recipes in a constant; constants of the shape and of the log are \
             not changed.\nA figure that is not the same stands where it is on the same side of the wanted range: \
             within it, or not. Intervals are\nignored, so that a figure near an end of its range may turn by chance; \
             of a trend its ends are compared, and of a crossing\nnothing.\n{}",
            self.experiment,
            plural(self.changed.len(), "machine"),
            table.render()
        )
    }
}

impl Figure<'_> {
    /// Returns the line of the figure, which changes of constants turned into others.
    fn row(&self, changed: &[(String, Option<f64>)]) -> [String; 9] {
        let side = |estimate: Option<f64>| self.relation.rule.admits(estimate?);
        let (mut same, mut stands, mut unknown, mut turned) = (0, 0, 0, Vec::new());
        for (change, found) in changed {
            match (side(*found), side(self.estimate)) {
                (Some(_), Some(_)) if *found == self.estimate => same += 1,
                (Some(side), Some(whole)) if side == whole => stands += 1,
                (Some(_), Some(_)) => turned.push(change.clone()),
                _ => unknown += 1,
            }
        }
        let all = || changed.iter().map(|(_, found)| *found).chain([self.estimate]).flatten();
        let told = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
        let at: Vec<String> = self.at.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        [
            told(self.estimate),
            told(all().reduce(f64::min)),
            told(all().reduce(f64::max)),
            self.relation.rule.wanted(),
            usize::to_string(&same),
            usize::to_string(&stands),
            usize::to_string(&unknown),
            some_of(&turned),
            format!("{}{}", self.relation.says, at.concat()),
        ]
    }
}

fn figures<'e>(finding: &Finding<'e>) -> Vec<Figure<'e>> {
    let of_relation = |(relation, places): &(&'e Relation, Vec<RelationInstance>)| {
        let relation = *relation;
        let figure = move |place: &RelationInstance| Figure {
            relation,
            at: place.at.clone(),
            estimate: place.estimate.filter(|estimate| estimate.is_finite()),
        };
        places.iter().map(figure).collect::<Vec<_>>()
    };
    finding.simulated().flat_map(of_relation).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Metric, RelationRule, SchemeCell, TrendDirection, find};
    use super::*;

    fn relation(experiment: &super::super::Experiment, says: &str) -> Relation {
        experiment.relations.iter().find(|one| one.says.contains(says)).expect("catalogued").clone()
    }

    fn changes(factors: &[f64]) -> Vec<ConstantChange> {
        constants::changes([&machine_of("hpe-superdome-flex").expect("there")], factors)
            .expect("good factors")
    }

    #[test]
    fn a_figure_stands_on_the_side_of_its_range_where_it_was() {
        // TicToc keeps 0.55 of its speed on near memory at distance 1, within 30%.
        let relation = relation(&find("C-17").expect("catalogued"), "TicToc keeps 0.55");
        let figure = |estimate| Figure { relation: &relation, at: Vec::new(), estimate };
        let changed = |found: &[Option<f64>]| -> Vec<(String, Option<f64>)> {
            ["a", "b", "c", "d", "e"].into_iter().map(str::to_owned).zip(found.iter().copied()).collect()
        };
        let found = changed(&[Some(0.7), None, Some(0.8), Some(0.3), Some(0.6)]);
        let wanted = relation.rule.wanted();
        let told = ["0.600", "0.300", "0.800", &wanted, "1", "1", "1", "c, d", &relation.says];
        assert_eq!(figure(Some(0.6)).row(&found), told);
        // Without a change the figure was outside of the range, too.
        assert_eq!(figure(Some(0.9)).row(&found)[4..=7], ["0", "2", "1", "a, e"]);
        assert_eq!(figure(None).row(&found)[4..=7], ["0", "0", "5", "-"]);
    }

    #[test]
    fn figures_are_compared_by_relation_and_place() {
        let experiment = find("C-17").expect("catalogued");
        let [one, other] = ["TicToc keeps 0.55", "OCC keeps 0.78"].map(|says| relation(&experiment, says));
        let place = |name: &str| vec![("workers".to_owned(), name.to_owned())];
        let figure =
            |relation, at: &str, estimate| Figure { relation, at: place(at), estimate: Some(estimate) };
        let figures = vec![figure(&one, "1", 0.1), figure(&one, "2", 0.2), figure(&other, "1", 0.3)];
        let mut retest = Retest { experiment: "C-17", figures, changed: Vec::new() };
        let change = changes(&[0.7]).remove(0);
        retest.compare(change, &[figure(&other, "1", 3.0), figure(&one, "2", 2.0), figure(&other, "2", 9.0)]);
        assert_eq!(retest.changed[0].1, [None, Some(2.0), Some(3.0)]);
        assert!(retest.text().contains("C-17 on 1 machine that"), "{}", retest.text());
    }

    #[test]
    fn a_constant_of_several_machines_is_changed_once() {
        let machines = ["hpe-superdome-flex", "power9"].map(|name| machine_of(name).expect("there"));
        let all = constants::changes(&machines, &[0.7]).expect("good factors");
        let told: Vec<String> = all.iter().map(ToString::to_string).collect();
        let of = |path: &str| told.iter().filter(|one| one.starts_with(path)).collect::<Vec<_>>();
        assert_eq!(of("coherence.transfer_ns "), ["coherence.transfer_ns x 0.7 (published or assumed)"]);
        assert_eq!(of("hops.3.round_trip_ns ").len(), 1, "which one of them has");
        let refused = constants::changes(&machines, &[1e300]).expect_err("no machine is so").to_string();
        assert!(refused.contains("from 0.001 to 1000"), "{refused}");
    }

    #[test]
    fn rules_admit_estimates_within_their_range() {
        let admits = |id: &str, says: &str, estimate| {
            relation(&find(id).expect("catalogued"), says).rule.admits(estimate)
        };
        let ahead = |ratio| admits("C-17", "H-Store keeps more than Silo", ratio);
        assert_eq!([1.0, 1.2].map(ahead), [Some(false), Some(true)], "level is not ahead");
        assert_eq!(admits("S-F7", "", 0.065), None, "this needs no runs");
        let trend = |metric, goes, estimate| {
            let of = SchemeCell { scheme: "silo".to_owned(), at: BTreeMap::new() };
            RelationRule::Trend { metric, of, axis: "workers".to_owned(), goes, margin: None }
                .admits(estimate)
        };
        let of_throughput = |goes| [0.5, 1.0, 2.0].map(|change| trend(Metric::ThroughputTxnS, goes, change));
        let of_share = |goes| [-0.2, 0.0, 0.2].map(|change| trend(Metric::AbortRate, goes, change));
        for (goes, expected) in [
            (TrendDirection::Up, [false, false, true]),
            (TrendDirection::Down, [true, false, false]),
            (TrendDirection::Level, [false, true, false]),
        ] {
            assert_eq!(of_throughput(goes), expected.map(Some), "{goes:?}");
            assert_eq!(of_share(goes), expected.map(Some), "{goes:?}");
        }
    }
}
