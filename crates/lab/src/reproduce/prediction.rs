//! Predictions: ratios that a simulation gave before anybody compared them with published ones, and their errors beside
//! those of a naive baseline.

use serde::Deserialize;

use super::{Relation, RelationInstance, RelationRule};
use crate::text::percent;

/// The mean error of predictions beyond which only their order is trusted.
const ERROR_MAX: f64 = 0.30;

/// A ratio of throughputs, as a simulation predicted it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// The name by which relations refer to the prediction.
    pub name: String,
    /// The machine on which the runs were simulated.
    pub machine: String,
    /// The digest of the machine's constants at that time.
    pub digest: String,
    /// The predicted ratio.
    pub ratio: f64,
    /// Whether constants of the machine were fitted to the published ratio, so that the prediction is no evidence.
    #[serde(default)]
    pub is_fitted: bool,
}

/// Returns the prediction of this name.
///
/// # Panics
/// When there is none: the file of predictions is part of the program.
pub fn prediction(name: &str) -> Prediction {
    #[derive(Deserialize)]
    struct File {
        prediction: Vec<Prediction>,
    }
    let text = include_str!("../../../../experiments/predictions/many_cores.toml");
    let file: File = toml::from_str(text).expect("the file of predictions is legal");
    let named = file.prediction.into_iter().find(|one| one.name == name);
    named.unwrap_or_else(|| panic!("no prediction `{name}`"))
}

/// Errors of ratios, as shares of the published ones.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Errors {
    count: usize,
    mean: f64,
    worst: f64,
}

impl Errors {
    fn of(errors: &[f64]) -> Option<Self> {
        let worst = errors.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { count: errors.len(), mean: errors.iter().sum::<f64>() / errors.len() as f64, worst })
    }

    fn told(self) -> String {
        format!("mean {}, worst {}", percent(self.mean), percent(self.worst))
    }
}

/// Returns the errors of the predictions among the relations of a finding, one sentence a line; nothing if there are no
/// predictions. Predictions to which constants were fitted are left out.
pub(super) fn errors(parts: &[(&Relation, Vec<RelationInstance>)]) -> Vec<String> {
    let (mut predicted, mut naive, mut now) = (Vec::new(), Vec::new(), Vec::new());
    for (relation, instances) in parts {
        let RelationRule::Prediction { name, published, naive: guess, .. } = &relation.rule else { continue };
        let prediction = prediction(name);
        if prediction.is_fitted {
            continue;
        }
        let error = |ratio: f64| (ratio / published - 1.0).abs();
        predicted.push(error(prediction.ratio));
        naive.extend(guess.map(error));
        now.extend(instances.iter().filter_map(|instance| instance.estimate).map(error));
    }
    let Some(of_predictions) = Errors::of(&predicted) else { return Vec::new() };
    let mut lines = vec![format!(
        "errors of {} predictions, which were written down before the comparison: {}",
        of_predictions.count,
        of_predictions.told()
    )];
    let told =
        |what: &str, errors: &[f64]| Errors::of(errors).map(|errors| format!("{what}: {}", errors.told()));
    lines.extend(told("errors of the naive baseline", &naive));
    lines.extend(told("errors of these runs", &now));
    if of_predictions.worst > ERROR_MAX {
        lines.push(format!(
            "an error is beyond {}: trust the order of what is simulated, and no ratio",
            percent(ERROR_MAX)
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(name: &str, published: f64, naive: Option<f64>) -> Relation {
        let text = format!(
            "says = \"x\"\nours = \"y\"\n[rule]\nkind = \"prediction\"\nname = \"{name}\"\npublished = {published}\n\
             tolerance = 0.3\nof = {{ scheme = \"silo\" }}\nto = {{ scheme = \"silo\" }}\n{}",
            naive.map(|naive| format!("naive = {naive}\n")).unwrap_or_default()
        );
        toml::from_str(&text).expect("legal")
    }

    #[test]
    fn errors_are_told_beside_those_of_the_baseline_and_large_ones_leave_only_orders() {
        let name = "c-17-tictoc-distance-1";
        let ratio = prediction(name).ratio;
        let told = |published: f64, naive| errors(&[(&relation(name, published, naive), Vec::new())]);
        assert_eq!(
            told(ratio, Some(ratio * 0.9)),
            [
                "errors of 1 predictions, which were written down before the comparison: mean 0.0%, worst 0.0%",
                "errors of the naive baseline: mean 10.0%, worst 10.0%"
            ]
        );
        let far = told(ratio / 2.0, None);
        assert!(far[0].ends_with("mean 100.0%, worst 100.0%"), "{far:?}");
        assert!(far[1].contains("trust the order"), "{far:?}");
        assert!(errors(&[(&relation("c-17-silo-distance-1", 0.56, None), Vec::new())]).is_empty(), "fitted");
    }

    #[test]
    #[should_panic(expected = "no prediction `c-0`")]
    fn a_prediction_that_nobody_wrote_down_is_none() {
        prediction("c-0");
    }
}
