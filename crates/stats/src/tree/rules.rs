//! Rules: the boxes of a tree in the words of its axes.

use core::fmt;

use super::{Test, Tree, likeliest};
use crate::Axis;

/// A box of a tree: the conditions that all its points meet, and statistics of its observations. Displays as
/// `warehouses <= 4 and read_share <= 0.7`, or `always` if the box is the whole space.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The conditions: one for each axis on which the box is bounded, in the order of the axes.
    pub conditions: Vec<Condition>,
    /// Observations in the box.
    pub count: usize,
    /// The sum of their weights.
    pub weight: f64,
    /// Their mean outcome: one number, or the share of each class.
    pub mean: Vec<f64>,
    /// The class with the largest share; 0 when outcomes are numbers.
    pub class: usize,
}

/// The condition of a rule on one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The position of the axis.
    pub at: usize,
    axis: Axis,
    above: Option<f64>,
    at_most: Option<f64>,
    among: Option<u64>,
}

impl Tree {
    /// Returns a rule for each box. For any point, exactly one rule holds.
    pub fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        self.collect(0, &mut vec![None; self.axes.len()], &mut rules);
        rules
    }

    /// Returns the rules whose boxes are mostly of a class. Their disjunction is the predicate by which the tree
    /// predicts the class.
    pub fn rules_of(&self, class: usize) -> Vec<Rule> {
        self.rules().into_iter().filter(|rule| rule.class == class).collect()
    }

    fn collect(&self, place: usize, conditions: &mut Vec<Option<Condition>>, rules: &mut Vec<Rule>) {
        let node = &self.nodes[place];
        let Some(split) = &node.split else {
            rules.push(Rule {
                conditions: conditions.iter().flatten().cloned().collect(),
                count: node.count,
                weight: node.weight,
                mean: node.mean.clone(),
                class: likeliest(&node.mean),
            });
            return;
        };
        for (below, holds) in [(split.yes, true), (split.no, false)] {
            let outer = conditions[split.axis].clone();
            let mut inner =
                outer.clone().unwrap_or_else(|| Condition::none(split.axis, &self.axes[split.axis]));
            inner.narrow(split.test, holds);
            conditions[split.axis] = Some(inner);
            self.collect(below, conditions, rules);
            conditions[split.axis] = outer;
        }
    }
}

impl Rule {
    /// Whether a point is in the box.
    pub fn holds(&self, point: &[f64]) -> bool {
        self.conditions.iter().all(|condition| condition.holds(point[condition.at]))
    }
}

impl Condition {
    fn none(at: usize, axis: &Axis) -> Self {
        Self { at, axis: axis.clone(), above: None, at_most: None, among: None }
    }

    /// Adds the outcome of a test. Cuts further down the tree lie within the cuts above, so each bound replaces the
    /// earlier bound.
    fn narrow(&mut self, test: Test, holds: bool) {
        let all = u64::MAX;
        match (test, holds) {
            (Test::AtMost(bound), true) => self.at_most = Some(bound),
            (Test::AtMost(bound), false) => self.above = Some(bound),
            (Test::Among(set), true) => self.among = Some(self.among.unwrap_or(all) & set),
            (Test::Among(set), false) => self.among = Some(self.among.unwrap_or(all) & !set),
        }
    }

    /// The name of the axis.
    pub fn name(&self) -> &str {
        self.axis.name()
    }

    /// The number that a value must be above, and the number that it may be at most; `None` where there is no such
    /// bound.
    pub fn bounds(&self) -> (Option<f64>, Option<f64>) {
        (self.above, self.at_most)
    }

    /// The words that are allowed; `None` if the condition is not about a choice.
    pub fn words(&self) -> Option<Vec<&str>> {
        let (set, words) = (self.among?, self.axis.choices()?);
        Some(words.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, word)| &**word).collect())
    }

    /// Whether a value of the axis meets the condition.
    pub fn holds(&self, value: f64) -> bool {
        self.above.is_none_or(|bound| value > bound)
            && self.at_most.is_none_or(|bound| value <= bound)
            && self.among.is_none_or(|set| Test::Among(set).holds(value))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.conditions.is_empty() {
            return f.write_str("always");
        }
        let words: Vec<String> = self.conditions.iter().map(Condition::to_string).collect();
        f.write_str(&words.join(" and "))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.axis.name();
        let text = |bound: f64| self.axis.text(bound);
        if let Some(words) = self.words() {
            return write!(f, "{name} is {}", words.join(" or "));
        }
        match (self.above, self.at_most) {
            (Some(above), Some(at_most)) => write!(f, "{} < {name} <= {}", text(above), text(at_most)),
            (Some(above), None) => write!(f, "{name} > {}", text(above)),
            (None, Some(at_most)) => write!(f, "{name} <= {}", text(at_most)),
            (None, None) => write!(f, "{name} is anything"),
        }
    }
}

#[cfg(test)]
mod tests {
    use stdx::Rng;

    use super::*;
    use crate::axis::tests::axes;
    use crate::tree::{Growth, Observations, Pruning, importance};
    use crate::{Scale, latin_hypercube};

    /// Points in the space of [`axes`]: `read_share`, `latency_us`, `operations`, `warehouses`, `scheme`.
    fn points(count: usize, seed: u64) -> Vec<Vec<f64>> {
        let axes = axes();
        let design = latin_hypercube(count, axes.len(), &mut Rng::new(seed));
        design.iter().map(|units| Axis::point(&axes, units)).collect()
    }

    fn names() -> Vec<String> {
        ["slower", "faster"].map(str::to_owned).to_vec()
    }

    fn learnt(truth: impl Fn(&[f64]) -> bool, wrong_pct: f64) -> Tree {
        let points = points(400, 7);
        let mut rng = Rng::new(8);
        let classes: Vec<usize> =
            points.iter().map(|point| usize::from(truth(point) != rng.percent(wrong_pct))).collect();
        let observations = Observations::of_classes(axes(), points, names(), &classes);
        Tree::cross_validated(&observations, &Growth::default(), &Pruning::default())
    }

    #[test]
    fn planted_rules_are_read_off() {
        let tree = learnt(|point| point[3] <= 4.0 && point[0] <= 0.7, 0.0);
        let words: Vec<String> = tree.rules_of(1).iter().map(Rule::to_string).collect();
        assert_eq!(words, ["read_share <= 0.7 and warehouses <= 4"]);
        let tree = learnt(|point| point[4] as u32 != 1 && point[1] > 10.0, 0.0);
        let words: Vec<String> = tree.rules_of(1).iter().map(Rule::to_string).collect();
        assert_eq!(words, ["latency_us > 10 and scheme is silo or mvto"]);
    }

    #[test]
    fn planted_rules_survive_wrong_observations() {
        let truth = |point: &[f64]| point[3] <= 4.0 && point[0] <= 0.7;
        let tree = learnt(truth, 5.0);
        let held_out = points(1_000, 99);
        let agree = held_out.iter().filter(|point| (tree.class(point) == 1) == truth(point)).count();
        assert!(agree >= 950, "{agree} of 1000");
        assert!(tree.leaves() <= 6, "{}", tree.leaves());
    }

    #[test]
    fn exactly_one_rule_holds_and_says_what_the_tree_says() {
        let noisy = learnt(|point| point[2] > 5.0 && (point[4] as u32 == 2 || point[2] <= 11.0), 10.0);
        let clear = learnt(|point| point[4] as u32 != 1 && point[1] > 10.0, 0.0);
        for tree in [noisy, clear] {
            let rules = tree.rules();
            assert_eq!(rules.len(), tree.leaves());
            assert_eq!(rules.iter().map(|rule| rule.count).sum::<usize>(), 400);
            for point in points(500, 3) {
                let holding: Vec<&Rule> = rules.iter().filter(|rule| rule.holds(&point)).collect();
                let [rule] = holding[..] else { panic!("{} rules hold", holding.len()) };
                assert_eq!(rule.mean, tree.predict(&point));
                assert_eq!(rule.class, tree.class(&point));
            }
        }
    }

    #[test]
    fn ranges_of_an_axis_are_one_condition() {
        let axes = vec![Axis::new("theta", Scale::Linear { low: 0.0, high: 1.0 }).unwrap()];
        let points: Vec<Vec<f64>> = (0..100).map(|i| vec![f64::from(i) / 99.0]).collect();
        let numbers: Vec<f64> =
            points.iter().map(|point| if (0.3..0.6).contains(&point[0]) { 1.0 } else { 0.0 }).collect();
        let observations = Observations::of_numbers(axes, points, &numbers);
        let tree = Tree::grow(&observations, &Growth::default());
        let words: Vec<String> =
            tree.rules().iter().filter(|rule| rule.mean[0] > 0.5).map(Rule::to_string).collect();
        assert_eq!(words, ["0.3 < theta <= 0.6"]);
        let mut root = tree;
        root.prune(f64::INFINITY);
        assert_eq!(root.rules()[0].to_string(), "always");
    }

    #[test]
    fn importance_finds_the_axes_of_the_rule() {
        let truth = |point: &[f64]| point[3] <= 4.0 && point[0] <= 0.7;
        let points = points(400, 5);
        let classes: Vec<usize> = points.iter().map(|point| usize::from(truth(point))).collect();
        let observations = Observations::of_classes(axes(), points, names(), &classes);
        let tree = Tree::cross_validated(&observations, &Growth::default(), &Pruning::default());
        let importance = importance(&tree, &observations, 20, 1);
        assert!(importance[3] > 0.1 && importance[0] > 0.05, "{importance:?}");
        assert!([1, 2, 4].iter().all(|&axis| importance[axis].abs() < 0.01), "{importance:?}");
    }
}
