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
/// Factors that change nothing, and names that no constant of these machines has.
pub fn constant_changes<'s>(
    sweeps: impl IntoIterator<Item = &'s Sweep>,
    factors: &[f64],
    only: &[String],
) -> Result<Vec<ConstantChange>, Refusal> {
    let machines: BTreeSet<&str> = sweeps.into_iter().flat_map(Sweep::machines).collect();
    let mut all: Vec<ConstantChange> = Vec::new();
    for machine in machines {
        for change in constants::changes(&machine_of(machine)?, factors)? {
            if !all.contains(&change) {
                all.push(change);
            }
        }
    }
    if let Some(unknown) = only.iter().find(|name| all.iter().all(|change| change.path() != **name)) {
        let names: BTreeSet<&str> = all.iter().map(ConstantChange::path).collect();
        let names: Vec<&str> = names.into_iter().collect();
        return Err(Refusal(format!(
            "`--only {unknown}`: no constant that can be multiplied has this name here: {}",
            names.join(", ")
        )));
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

    /// Returns a table of the figures: on how many machines each is on the same side of its wanted range as without a
    /// change, and which changes turn it.
    pub fn text(&self) -> String {
        let mut table = Table::default();
        table.row(["figure", "lowest", "highest", "wanted", "stands", "no figure", "turned by", "relation"]);
        for (nth, one) in self.figures.iter().enumerate() {
            let found = |(change, estimates): &(ConstantChange, Vec<Option<f64>>)| {
                (change.to_string(), estimates[nth])
            };
            table.row(one.row(&self.changed.iter().map(found).collect::<Vec<_>>()));
        }
        format!(
            "{} on {} that differ from those of the recipes in a constant. A figure stands where it is on the same \
             side of the wanted range: within it, or not. Constants of the shape and of the log are not changed.\n{}",
            self.experiment,
            plural(self.changed.len(), "machine"),
            table.render()
        )
    }
}

impl Figure<'_> {
    /// Returns the line of the figure, which changes of constants turned into others.
    fn row(&self, changed: &[(String, Option<f64>)]) -> [String; 8] {
        let side = |estimate: Option<f64>| self.relation.rule.admits(estimate?);
        let (mut stands, mut unknown, mut turned) = (0, 0, Vec::new());
        for (change, found) in changed {
            match (side(*found), side(self.estimate)) {
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
    use sim::machine::Machine;

    use super::super::find;
    use super::*;

    #[test]
    fn a_figure_stands_on_the_side_of_its_range_where_it_was() {
        let experiment = find("C-17").expect("catalogued");
        // TicToc keeps 0.55 of its speed on near memory at distance 1, within 30%.
        let relation = experiment.relations.iter().find(|one| one.says.starts_with("TicToc")).expect("there");
        let figures = |estimate| vec![Figure { relation, at: Vec::new(), estimate }];
        let hpe =
            Machine::read(Machine::of_name("hpe-superdome-flex").expect("there"), "hpe").expect("legal");
        let changes = constants::changes(&hpe, &[0.5, 0.7, 1.3, 2.0]).expect("good factors");
        let mut retest = Retest { experiment: "C-17", figures: figures(Some(0.6)), changed: Vec::new() };
        for (change, estimate) in changes.iter().zip([Some(0.7), None, Some(0.8), Some(0.3)]) {
            retest.compare(change.clone(), &figures(estimate));
        }
        let (above, below) = (changes[2].to_string(), changes[3].to_string());
        let turned = format!("{above}, {below}");
        let told = ["0.600", "0.300", "0.800", &relation.rule.wanted(), "1", "1", &turned, &relation.says];
        let found: Vec<(String, Option<f64>)> =
            retest.changed.iter().map(|(change, estimates)| (change.to_string(), estimates[0])).collect();
        assert_eq!(retest.figures[0].row(&found), told);
        assert!(retest.text().contains("C-17 on 4 machines"), "{}", retest.text());
        // Without the change the figure was outside of the range, too.
        let outside = Figure { estimate: Some(0.9), ..retest.figures[0].clone() };
        assert_eq!(outside.row(&found)[4..=6], ["2".to_owned(), "1".to_owned(), changes[0].to_string()]);
    }

    #[test]
    fn rules_admit_estimates_within_their_range() {
        let admits = |id: &str, says: &str, estimate| {
            let experiment = find(id).expect("catalogued");
            let relation =
                experiment.relations.iter().find(|one| one.says.contains(says)).expect("catalogued");
            relation.rule.admits(estimate)
        };
        let ahead = |ratio| admits("C-17", "H-Store keeps more than Silo", ratio);
        assert_eq!([1.0, 1.2].map(ahead), [Some(false), Some(true)], "level is not ahead");
        assert_eq!(admits("S-F7", "", 0.065), None, "this needs no runs");
    }
}
