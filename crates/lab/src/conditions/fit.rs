//! From measured points to predicates, by a decision tree over settings and over quantities derived from them.

use results::{Class, Feature, Features, Predicate};
use stats::tree::{Growth, Observations, Pruning, Tree};
use stats::{Axis, Scale};

use super::study::Sample;
use crate::Space;

/// The limits of the tree's growth: people cannot use a conclusion with more cuts.
const GROWTH: Growth = Growth { depth_max: 4, leaf_min: 3 };

/// For each class, the predicate of the region in which it is predicted.
#[derive(Clone, Debug)]
pub(super) struct Map([Predicate; 3]);

impl Map {
    /// Returns the map fitted to the samples. Each point has the same weight, however often it was measured.
    ///
    /// # Panics
    /// If there are no samples.
    pub(super) fn fit(space: &Space, samples: &[Sample], margin: f64) -> Self {
        let axes = axes(space, samples);
        let points = samples.iter().map(|sample| coordinates(&axes, &sample.features)).collect();
        let classes: Vec<usize> =
            samples.iter().map(|sample| Class::of(sample.ratio(), margin) as usize).collect();
        let names = Class::ALL.map(|class| class.name().to_owned()).to_vec();
        let observations = Observations::of_classes(axes, points, names, &classes);
        let pruning = Pruning { folds: samples.len().min(10), errors_allowed: 0.5, ..Pruning::default() };
        let tree = if samples.len() < 2 {
            Tree::grow(&observations, &GROWTH)
        } else {
            Tree::cross_validated(&observations, &GROWTH, &pruning)
        };
        Self(Class::ALL.map(|class| Predicate::of_rules(&tree.rules_of(class as usize))))
    }

    /// Returns the map of a single claim. It predicts only the claim's winner.
    pub(super) fn of_claim(winner: Class, predicate: &Predicate) -> Self {
        Self(Class::ALL.map(|class| if class == winner { predicate.clone() } else { Predicate::default() }))
    }

    /// Returns the predicate of the region in which a class is predicted.
    pub(super) fn of(&self, class: Class) -> &Predicate {
        &self.0[class as usize]
    }

    /// Returns the class that is predicted at a point.
    pub(super) fn predict(&self, features: &Features) -> Class {
        Class::ALL.into_iter().find(|class| self.of(*class).holds(features)).unwrap_or(Class::Level)
    }
}

/// Returns the axes of the space, and after them an axis for each derived feature that varies. If a cut is possible on
/// both kinds of axis, the tree takes the setting.
fn axes(space: &Space, samples: &[Sample]) -> Vec<Axis> {
    let own = space.axes().iter().cloned();
    let names =
        samples[0].features.keys().filter(|name| space.axes().iter().all(|axis| axis.name() != **name));
    let derived = names.filter_map(|name| {
        let values = samples.iter().filter_map(|sample| match sample.features.get(name) {
            Some(Feature::Number(value)) => Some(*value),
            _ => None,
        });
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let by_ratio = Axis::new(name, Scale::Log { low, high });
        by_ratio.or_else(|_| Axis::new(name, Scale::Linear { low, high })).ok()
    });
    own.chain(derived).collect()
}

fn coordinates(axes: &[Axis], features: &Features) -> Vec<f64> {
    let of = |axis: &Axis| match features.get(axis.name()) {
        Some(Feature::Number(value)) => *value,
        Some(Feature::Word(word)) => {
            let place = axis.choices().and_then(|words| words.iter().position(|other| other == word));
            place.expect("a word of its axis") as f64
        }
        None => panic!("all points of a workload have the same features"),
    };
    axes.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::study::tests::question;
    use super::super::study::{Role, Study};
    use super::*;
    use crate::registry::tests::catalogue;
    use crate::speed::tests::pair;
    use stdx::Rng;

    fn samples(study: &Study, count: usize, ratio: impl Fn(&Features) -> f64) -> Vec<Sample> {
        let mut rng = Rng::new(7);
        let sample = |_| {
            let point = study.ground.space.random(&mut rng);
            let features = study.features(&point).expect("possible");
            let pairs = vec![pair(ratio(&features))];
            Sample { pairs, ..Sample::new(point, features, Role::Explored) }
        };
        (0..count).map(sample).collect()
    }

    fn number(features: &Features, name: &str) -> f64 {
        let Feature::Number(value) = features[name] else { panic!("{name} is a number") };
        value
    }

    #[test]
    fn a_planted_rule_is_found_in_words() {
        let study = Study::new(
            catalogue(),
            question(&["ycsb.theta=0..0.9", "ycsb.read_pct=0..100", "retry=same|drop"]),
            "",
        )
        .expect("possible");
        let planted = |features: &Features| {
            let is_same = features["retry"] == Feature::Word("same".to_owned());
            if is_same && number(features, "ycsb.theta") > 0.4 { 1.4 } else { 0.8 }
        };
        let map = Map::fit(&study.ground.space, &samples(&study, 120, planted), 1.1);
        let told = map.of(Class::A).to_string();
        assert!(told.contains("retry is same") && told.contains("ycsb.theta > 0.4"), "{told}");
        assert!(map.of(Class::Level).is_never());
        let fresh = samples(&study, 200, planted);
        let agree =
            fresh.iter().filter(|sample| map.predict(&sample.features) == Class::of(sample.ratio(), 1.1));
        assert!(agree.count() >= 195);
    }

    #[test]
    fn what_settings_come_to_together_is_one_condition() {
        let set = ["ycsb.ops_per_txn=1..64", "clients=2..64", "ycsb.theta=0..0.9"];
        let study = Study::new(catalogue(), question(&set), "").expect("possible");
        let name = "conflicting transactions in flight";
        let map = Map::fit(
            &study.ground.space,
            &samples(&study, 150, |features| if number(features, name) > 1.0 { 0.5 } else { 1.0 }),
            1.1,
        );
        let told = map.of(Class::B).to_string();
        assert!(told.starts_with(name) && !told.contains(" and "), "{told}");
    }

    #[test]
    fn one_class_everywhere_is_a_conclusion_too() {
        let study = Study::new(catalogue(), question(&["ycsb.theta=0..0.9"]), "").expect("possible");
        let map = Map::fit(&study.ground.space, &samples(&study, 20, |_| 2.0), 1.1);
        assert_eq!(
            (map.of(Class::A).to_string(), map.of(Class::B).to_string()),
            ("always".into(), "never".into())
        );
    }
}
