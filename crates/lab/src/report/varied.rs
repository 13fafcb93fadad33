//! The choices that were made for runs, and the axes along which runs vary.

use std::collections::{BTreeMap, BTreeSet};

use results::{Choice, Run};

use crate::Catalogue;
use crate::compare::CHOSEN;
use crate::sweep::{Recipe, VARIANT};

/// An axis: a choice that varies among runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Varied {
    /// The name of a setting, or of an option that drives a run.
    pub name: String,
    /// The values, in the order of the recipe or, without a recipe, sorted.
    pub values: Vec<String>,
    /// The settings that each value stands for, if the values are names of settings that change together; otherwise
    /// empty.
    pub stands_for: Vec<BTreeMap<String, String>>,
}

impl Varied {
    /// Returns the axes of a recipe, its variants first.
    pub(super) fn of_recipe(recipe: &Recipe) -> Vec<Self> {
        let of = |(name, values): (&str, Vec<String>)| {
            let variants = recipe.variants.iter().filter(|_| name == VARIANT).map(|variant| {
                variant.settings.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
            });
            Self { name: name.to_owned(), values, stands_for: variants.collect() }
        };
        recipe.axes().into_iter().map(of).collect()
    }

    /// Returns the indexes of the values that a run of a scheme has. A setting of another scheme does not apply to the
    /// run, so the run has all its values. A value that is not on the axis has no index.
    pub(super) fn places(&self, catalogue: Catalogue, run: &Run) -> Vec<usize> {
        let is_of = |at: &usize| match self.stands_for.get(*at) {
            Some(together) => together.iter().all(|(name, value)| has(catalogue, run, name, value)),
            None => has(catalogue, run, &self.name, &self.values[*at]),
        };
        (0..self.values.len()).filter(is_of).collect()
    }

    /// Returns the value that a run of a scheme has, as a table shows it.
    pub(super) fn told(&self, catalogue: Catalogue, run: &Run) -> String {
        let named = || Some(self.values[*self.places(catalogue, run).first()?].clone());
        let value = if self.stands_for.is_empty() { value_of(run, &self.name) } else { named() };
        value.unwrap_or_else(|| MISSING.to_owned())
    }

    /// Returns the values as numbers; `None` unless all of them are finite numbers.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values
            .iter()
            .map(|value| value.parse::<f64>().ok().filter(|number| number.is_finite()))
            .collect()
    }

    /// Returns the name with its unit, as an axis is labelled.
    pub fn label(&self, catalogue: Catalogue) -> String {
        match catalogue.setting(&self.name).map_or("", |setting| setting.unit) {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }
}

/// The value of a choice that a run does not state, because another version made the run.
pub(super) const MISSING: &str = "-";

/// The name of the number of clients in results, and its name in recipes.
const CLIENTS: (&str, &str) = ("clients_asked", "clients");

/// Returns all choices that were made for a run except workload, scheme, isolation and seed, by name, as text.
pub(super) fn chosen(run: &Run) -> BTreeMap<String, String> {
    let drives = CHOSEN.iter().filter(|name| !["workload", "scheme", "isolation"].contains(name));
    let drives = drives.filter_map(|name| {
        let known = if *name == CLIENTS.0 { CLIENTS.1 } else { name };
        Some((known.to_owned(), run.choices.get(name)?.to_string()))
    });
    let settings = run.choices.settings.iter().map(|(name, value)| (name.clone(), value.to_string()));
    drives.chain(settings).collect()
}

/// Returns the value of a choice by its name in recipes; `None` if the run does not state it.
pub(super) fn value_of(run: &Run, name: &str) -> Option<String> {
    let own = if name == CLIENTS.1 { CLIENTS.0 } else { name };
    let chosen = || run.choices.get(own).map(|value| value.to_string());
    run.choices.settings.get(name).map(Choice::to_string).or_else(chosen).or_else(|| run.at(name).cloned())
}

/// Whether a run has this value of a setting or option. A run has every value of a setting of another scheme.
pub(super) fn has(catalogue: Catalogue, run: &Run, name: &str, value: &str) -> bool {
    match value_of(run, name) {
        Some(its) => is_same(&its, value),
        None => value == MISSING || is_of_another(catalogue, name, &run.choices.scheme),
    }
}

/// Whether `name` is a setting of a scheme other than `scheme`, and so does not apply to the scheme's runs.
fn is_of_another(catalogue: Catalogue, name: &str, scheme: &str) -> bool {
    catalogue.owner(name).is_some_and(|owner| owner != scheme)
}

/// Whether two texts are the same value: `0.50` is `0.5`.
fn is_same(a: &str, b: &str) -> bool {
    a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a.to_bits() == b.to_bits())
}

/// The choices that say how many transactions a run counts. What a host can bear decides them, a small machine's and a
/// large one's differently: they are no factor of a result.
const LENGTHS: [&str; 3] = ["txns", "warmup_txns", "patience"];

/// Returns the axes along which runs vary, sorted by name. A setting of a scheme is an axis if it varies among the runs
/// of that scheme.
pub(super) fn varied(catalogue: Catalogue, runs: &[&Run]) -> Vec<Varied> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |name: &String, value: &str| {
        let values = all.entry(name.clone()).or_default();
        if !values.iter().any(|its| its == value) {
            values.push(value.to_owned());
        }
    };
    let chosen: Vec<(String, BTreeMap<String, String>)> =
        runs.iter().map(|run| (run.choices.scheme.clone(), chosen(run))).collect();
    let names: BTreeSet<&String> = chosen.iter().flat_map(|(_, chosen)| chosen.keys()).collect();
    let names: Vec<&String> = names.into_iter().filter(|name| !LENGTHS.contains(&name.as_str())).collect();
    for (scheme, chosen) in &chosen {
        for name in
            names.iter().filter(|name| chosen.contains_key(**name) || !is_of_another(catalogue, name, scheme))
        {
            add(name, chosen.get(*name).map_or(MISSING, String::as_str));
        }
    }
    let several = all.into_iter().filter(|(_, values)| values.len() > 1);
    let several =
        several.map(|(name, values)| Varied { name, values: ordered(values), stands_for: Vec::new() });
    let several = several.collect();
    independent(several, &chosen)
}

/// Leaves out axes that correspond to another axis value for value. For example, there are as many clients as workers
/// unless a number was asked for.
fn independent(mut all: Vec<Varied>, chosen: &[(String, BTreeMap<String, String>)]) -> Vec<Varied> {
    // Of two such axes the more familiar one stays: `clients` comes last, and is the one left out.
    all.sort_by_key(|varied| varied.name == CLIENTS.1);
    let mut kept: Vec<Varied> = Vec::new();
    for varied in all {
        let goes_with = |other: &Varied| {
            let pairs = chosen.iter().map(|(_, chosen)| (chosen.get(&other.name), chosen.get(&varied.name)));
            let pairs: BTreeSet<_> = pairs.collect();
            pairs.len() == varied.values.len() && pairs.len() == other.values.len()
        };
        if !kept.iter().any(goes_with) {
            kept.push(varied);
        }
    }
    kept.sort_by(|a, b| a.name.cmp(&b.name));
    kept
}

/// Returns the values sorted: numbers by size, all others alphabetically.
pub(super) fn ordered(mut values: Vec<String>) -> Vec<String> {
    let number = |text: &String| text.parse::<f64>().ok();
    values.sort_by(|a, b| match (number(a), number(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (Some(_), None) => core::cmp::Ordering::Less,
        (None, Some(_)) => core::cmp::Ordering::Greater,
        (None, None) => a.cmp(b),
    });
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::tests::given;
    use crate::registry::tests::catalogue;

    #[test]
    fn numbers_are_ordered_by_size_and_words_by_letters() {
        let values = ["10", "9", "auto", "0.5"].map(str::to_owned).to_vec();
        assert_eq!(ordered(values), ["0.5", "9", "10", "auto"]);
        assert!(is_same("0.50", "0.5") && is_same("a", "a") && !is_same("0.5", "0.6") && !is_same("a", "b"));
    }

    #[test]
    fn what_all_runs_have_alike_does_not_vary() {
        let run = |theta: f64, workers: u64| {
            given(json!({ "workers": workers, "settings": { "ycsb.theta": theta, "x": 1 } }))
        };
        let runs = [run(0.9, 2), run(0.5, 2)];
        let found = varied(catalogue(), &runs.iter().collect::<Vec<_>>());
        assert_eq!(
            found,
            [Varied {
                name: "ycsb.theta".to_owned(),
                values: vec!["0.5".to_owned(), "0.9".to_owned()],
                stands_for: Vec::new()
            }]
        );
        assert_eq!(found[0].numbers(), Some(vec![0.5, 0.9]));
        let crowd = |workers: u64| given(json!({ "workers": workers, "clients_asked": workers }));
        let together = [crowd(1), crowd(2), crowd(4)];
        let names: Vec<String> =
            varied(catalogue(), &together.iter().collect::<Vec<_>>()).into_iter().map(|of| of.name).collect();
        assert_eq!(names, ["workers"], "clients go with them");
        let counted = |txns: u64| given(json!({ "txns": txns, "patience": txns, "warmup_txns": txns }));
        assert_eq!(varied(catalogue(), &[&counted(1), &counted(2)]), [], "for how long a simulation counts");
        let older = given(json!({ "workers": 2, "settings": { "ycsb.theta": 0.5 } }));
        let found = varied(catalogue(), &[&older, &runs[1]]);
        assert_eq!(
            (found[0].name.as_str(), found[0].values.as_slice()),
            ("x", ["1", "-"].map(str::to_owned).as_slice())
        );
    }
}
