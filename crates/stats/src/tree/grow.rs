//! Growing of trees: each box is cut at the best place, as long as a cut helps.

use super::observations::Observations;
use super::{Node, Split, Test, Tree, likeliest};
use crate::Axis;

/// The limits of a tree's growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Most cuts between the root and a leaf.
    pub depth_max: usize,
    /// Fewest observations in a leaf.
    pub leaf_min: usize,
}

impl Default for Growth {
    fn default() -> Self {
        Self { depth_max: 6, leaf_min: 5 }
    }
}

/// Most choices for which all divisions into two sets are tried when there are more than two classes. With more
/// choices, only single choices against the rest are tried.
const DIVIDED_MAX: usize = 10;

/// The least share of the remaining sum of squares that a cut must explain; a smaller share may be a rounding error.
const GAIN_MIN: f64 = 1e-9;

/// The least ratio of the remaining sum of squares to the sum of the squared outcomes; a smaller one may be a rounding
/// error.
const LEFT_MIN: f64 = 1e-20;

/// The weight and the weighted sums of outcomes of some observations.
#[derive(Clone, Debug)]
struct Sums {
    count: usize,
    weight: f64,
    outcomes: Vec<f64>,
}

/// A cut, with the decrease of the sum of squares.
struct Cut {
    axis: usize,
    test: Test,
    gain: f64,
}

impl Tree {
    /// Grows a tree in which each box is cut where the sum of squares falls most. The search is exhaustive over axes
    /// and places, and greedy over boxes. For classes, that sum over the indicators of the classes is Gini's impurity.
    /// Among equally good cuts the first is taken, on the earliest axis.
    ///
    /// An axis of numbers is cut between neighbouring values, at the roundest number there. An axis of choices is
    /// divided into two sets. If outcomes are numbers or two classes, the best division of all is found (Breiman et
    /// al., theorem 4.5); with more classes, the best of all is found for up to ten choices.
    ///
    /// # Panics
    /// If `leaf_min` is 0.
    pub fn grow(observations: &Observations, growth: &Growth) -> Self {
        Self::grow_from(observations, growth, (0..observations.len()).collect())
    }

    /// Grows a tree from some of the observations.
    pub(super) fn grow_from(observations: &Observations, growth: &Growth, members: Vec<usize>) -> Self {
        assert!(growth.leaf_min > 0, "a leaf has observations");
        let (axes, classes) = (observations.axes.clone(), observations.classes.clone());
        let mut tree = Self { axes, classes, nodes: Vec::new() };
        tree.add(observations, growth, members, 0);
        tree
    }

    /// Adds the box of some observations, with all boxes below it; returns the position of its node.
    fn add(&mut self, from: &Observations, growth: &Growth, members: Vec<usize>, depth: usize) -> usize {
        let place = self.nodes.len();
        self.nodes.push(node(from, &members));
        let cut = if depth < growth.depth_max { best_cut(from, growth, &members) } else { None };
        if let Some(Cut { axis, test, .. }) = cut {
            let (yes, no) = members.into_iter().partition(|&i| test.holds(from.points[i][axis]));
            let yes = self.add(from, growth, yes, depth + 1);
            let no = self.add(from, growth, no, depth + 1);
            self.nodes[place].split = Some(Split { axis, test, yes, no });
        }
        place
    }
}

impl Sums {
    fn none(outcomes: usize) -> Self {
        Self { count: 0, weight: 0.0, outcomes: vec![0.0; outcomes] }
    }

    fn of(from: &Observations, members: &[usize]) -> Self {
        let mut sums = Self::none(from.outcomes[0].len());
        for &i in members {
            sums.add(from.weights[i], &from.outcomes[i]);
        }
        sums
    }

    fn add(&mut self, weight: f64, outcome: &[f64]) {
        self.count += 1;
        self.weight += weight;
        self.outcomes.iter_mut().zip(outcome).for_each(|(sum, outcome)| *sum += weight * outcome);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.weight += other.weight;
        self.outcomes.iter_mut().zip(&other.outcomes).for_each(|(sum, other)| *sum += other);
    }

    /// The sums of the observations that are in `all` and not in `self`.
    fn rest_of(&self, all: &Self) -> Self {
        let outcomes = all.outcomes.iter().zip(&self.outcomes).map(|(all, own)| all - own).collect();
        Self { count: all.count - self.count, weight: all.weight - self.weight, outcomes }
    }

    fn mean(&self) -> Vec<f64> {
        self.outcomes.iter().map(|sum| sum / self.weight).collect()
    }

    /// The decrease of the sum of squares when `all` is cut into `self` and the rest: the weighted square of the
    /// distance of the two means.
    fn gain(&self, all: &Self) -> f64 {
        let rest = self.rest_of(all);
        let distance: f64 =
            self.mean().iter().zip(rest.mean()).map(|(own, other)| (own - other).powi(2)).sum();
        self.weight * rest.weight / all.weight * distance
    }
}

fn node(from: &Observations, members: &[usize]) -> Node {
    let sums = Sums::of(from, members);
    let mean = sums.mean();
    let risk = if from.classes.is_empty() {
        squares(from, members, &mean)
    } else {
        sums.weight - sums.outcomes[likeliest(&mean)]
    };
    Node { count: members.len(), weight: sums.weight, mean, risk, split: None }
}

/// The weighted sum of squared distances from the mean.
fn squares(from: &Observations, members: &[usize], mean: &[f64]) -> f64 {
    let square =
        |i: usize| from.outcomes[i].iter().zip(mean).map(|(own, mean)| (own - mean).powi(2)).sum::<f64>();
    members.iter().map(|&i| from.weights[i] * square(i)).sum()
}

fn best_cut(from: &Observations, growth: &Growth, members: &[usize]) -> Option<Cut> {
    let all = Sums::of(from, members);
    let left = squares(from, members, &all.mean());
    let zero = vec![0.0; all.outcomes.len()];
    if left <= LEFT_MIN * squares(from, members, &zero) {
        return None;
    }
    let mut best: Option<Cut> = None;
    let leaves_fit = |yes: &Sums| yes.count.min(all.count - yes.count) >= growth.leaf_min;
    for (axis, scale) in from.axes.iter().enumerate() {
        let mut consider = |yes: &Sums, test: &dyn Fn() -> Test| {
            let gain = if leaves_fit(yes) { yes.gain(&all) } else { 0.0 };
            // Better by more than a rounding error.
            if gain > best.as_ref().map_or(0.0, |best| best.gain) + GAIN_MIN * left {
                best = Some(Cut { axis, test: test(), gain });
            }
        };
        match scale.choices() {
            Some(words) => divide_choices(from, members, axis, words.len(), &mut consider),
            None => cut_numbers(from, members, axis, &mut consider),
        }
    }
    best
}

/// Considers all cuts between neighbouring values.
fn cut_numbers(
    from: &Observations,
    members: &[usize],
    axis: usize,
    consider: &mut impl FnMut(&Sums, &dyn Fn() -> Test),
) {
    let value = |i: usize| from.points[i][axis];
    let mut order = members.to_vec();
    order.sort_by(|&a, &b| value(a).total_cmp(&value(b)));
    let mut yes = Sums::none(from.outcomes[0].len());
    for pair in order.windows(2) {
        yes.add(from.weights[pair[0]], &from.outcomes[pair[0]]);
        let (low, high) = (value(pair[0]), value(pair[1]));
        if low < high {
            consider(&yes, &|| Test::AtMost(roundest_between(&from.axes[axis], low, high)));
        }
    }
}

/// Considers divisions of the occurring choices into two sets.
fn divide_choices(
    from: &Observations,
    members: &[usize],
    axis: usize,
    choices: usize,
    consider: &mut impl FnMut(&Sums, &dyn Fn() -> Test),
) {
    let mut of_choice = vec![Sums::none(from.outcomes[0].len()); choices];
    for &i in members {
        of_choice[from.points[i][axis] as usize].add(from.weights[i], &from.outcomes[i]);
    }
    let mut present: Vec<usize> = (0..choices).filter(|&choice| of_choice[choice].count > 0).collect();
    let mut consider_set = |set: u64| {
        let mut yes = Sums::none(from.outcomes[0].len());
        present_in(set, choices).for_each(|choice| yes.merge(&of_choice[choice]));
        consider(&yes, &|| Test::Among(set));
    };
    let is_ordered = from.classes.len() <= 2;
    if is_ordered {
        // If choices are ordered by their means, the sets of the best division are contiguous. With two classes, the
        // mean is the share of the first class.
        present.sort_by(|&a, &b| of_choice[a].mean()[0].total_cmp(&of_choice[b].mean()[0]));
        for cut in 1..present.len() {
            consider_set(set_of(&present[..cut]));
        }
    } else if present.len() <= DIVIDED_MAX {
        // The last choice always stays on the other side, since a division and its mirror image are the same.
        for code in 1..1_u64 << present.len().saturating_sub(1) {
            let in_it: Vec<usize> = present_in(code, present.len()).map(|place| present[place]).collect();
            consider_set(set_of(&in_it));
        }
    } else {
        for &choice in &present {
            consider_set(set_of(&[choice]));
        }
    }
}

fn set_of(choices: &[usize]) -> u64 {
    choices.iter().fold(0, |set, choice| set | 1 << choice)
}

fn present_in(set: u64, choices: usize) -> impl Iterator<Item = usize> {
    (0..choices).filter(move |choice| set >> choice & 1 == 1)
}

/// Returns a number `x` with `low <= x < high`: among the numbers with the fewest digits, the one nearest to the middle
/// on the axis' scale. So rules are easy to read, and have no more digits than the measurements justify.
fn roundest_between(axis: &Axis, low: f64, high: f64) -> f64 {
    let middle = axis.middle(low, high);
    let gap = high - low;
    let mut exponent = gap.log10().floor() as i32 + 1;
    if axis.is_logarithmic() {
        // Among the numbers with one digit, those of the middle's magnitude are as round as larger ones.
        exponent = exponent.min(middle.log10().floor() as i32);
    }
    loop {
        let step = 10.0_f64.powi(exponent);
        let nearest = (middle / step).round();
        let multiples = [nearest, nearest - 1.0, nearest + 1.0].map(|multiple| decimal(multiple, exponent));
        if let Some(round) = multiples.into_iter().find(|round| low <= *round && *round < high) {
            return round;
        }
        // There is no round number between neighbouring floating-point numbers.
        if step < gap / 100.0 || exponent < -300 {
            return low;
        }
        exponent -= 1;
    }
}

/// Returns the floating-point number nearest to the decimal `multiple * 10^exponent`; a multiplication would miss it.
fn decimal(multiple: f64, exponent: i32) -> f64 {
    format!("{multiple}e{exponent}").parse().expect("digits with an exponent are a number")
}

#[cfg(test)]
mod tests {
    use stdx::Rng;

    use super::*;
    use crate::axis::tests::axes;
    use crate::{Scale, assert_near};

    fn linear(name: &str) -> Axis {
        Axis::new(name, Scale::Linear { low: 0.0, high: 1.0 }).unwrap()
    }

    fn words(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("w{i}")).collect()
    }

    fn within(from: &Observations, members: &[usize]) -> f64 {
        if members.is_empty() { 0.0 } else { squares(from, members, &Sums::of(from, members).mean()) }
    }

    /// The least sum of squares that any admissible cut leaves, by trying each set of members that a test could select.
    fn least_left(from: &Observations, leaf_min: usize) -> f64 {
        let mut least = f64::INFINITY;
        for axis in 0..from.axes.len() {
            let tests: Vec<Test> = match from.axes[axis].choices() {
                Some(words) => (1..1_u64 << words.len()).map(Test::Among).collect(),
                None => from.points.iter().map(|point| Test::AtMost(point[axis])).collect(),
            };
            for test in tests {
                let (yes, no): (Vec<usize>, Vec<usize>) =
                    (0..from.len()).partition(|&i| test.holds(from.points[i][axis]));
                if yes.len().min(no.len()) >= leaf_min {
                    least = least.min(within(from, &yes) + within(from, &no));
                }
            }
        }
        least
    }

    #[test]
    fn the_first_cut_is_the_best_of_all() {
        for seed in 0..60 {
            let mut rng = Rng::new(seed);
            let axes = vec![linear("x"), Axis::new("c", Scale::Choice(words(5))).unwrap(), linear("y")];
            let points: Vec<Vec<f64>> = (0..30)
                .map(|_| vec![rng.unit(), rng.below(5) as f64, (rng.unit() * 4.0).floor() / 4.0])
                .collect();
            let weights: Vec<f64> = (0..30).map(|_| 0.2 + rng.unit()).collect();
            let classes = seed as usize % 4;
            let observations = if classes < 2 {
                let numbers: Vec<f64> =
                    points.iter().map(|p| p[0] + (p[1] - 2.0).abs() * p[2] + rng.unit()).collect();
                Observations::of_numbers(axes, points, &numbers)
            } else {
                let of: Vec<usize> = (0..30).map(|_| rng.below(classes as u64) as usize).collect();
                Observations::of_classes(axes, points, words(classes), &of)
            };
            let observations = observations.weighted(weights);
            let tree = Tree::grow(&observations, &Growth { depth_max: 1, leaf_min: 3 });
            let Split { axis, test, .. } = tree.nodes[0].split.clone().expect("there is a cut");
            let (yes, no): (Vec<usize>, Vec<usize>) =
                (0..30).partition(|&i| test.holds(observations.points[i][axis]));
            assert!(yes.len() >= 3 && no.len() >= 3);
            let left = within(&observations, &yes) + within(&observations, &no);
            assert_near(left, least_left(&observations, 3), 1e-6);
        }
    }

    #[test]
    fn limits_hold_and_a_constant_is_not_cut() {
        let mut rng = Rng::new(9);
        let points: Vec<Vec<f64>> = (0..100).map(|_| vec![rng.unit()]).collect();
        let numbers: Vec<f64> = (0..100).map(|_| rng.unit()).collect();
        let observations = Observations::of_numbers(vec![linear("x")], points.clone(), &numbers);
        let tree = Tree::grow(&observations, &Growth { depth_max: 3, leaf_min: 7 });
        assert!(tree.leaves() <= 8);
        assert!(tree.nodes.iter().all(|node| node.count >= 7));
        assert_eq!(Tree::grow(&observations, &Growth { depth_max: 0, leaf_min: 1 }).leaves(), 1);
        let constant = Observations::of_numbers(vec![linear("x")], points, &[0.1; 100]);
        assert_eq!(Tree::grow(&constant, &Growth::default()).leaves(), 1);
    }

    #[test]
    fn weights_are_repetitions() {
        let mut rng = Rng::new(4);
        let points: Vec<Vec<f64>> = (0..20).map(|_| vec![rng.unit(), rng.unit()]).collect();
        let numbers: Vec<f64> = points.iter().map(|point| point[0] * point[1] + 0.1 * rng.unit()).collect();
        let times: Vec<usize> = (0..20).map(|i| 1 + i % 3).collect();
        let repeated = |values: &[Vec<f64>]| -> Vec<Vec<f64>> {
            values.iter().zip(&times).flat_map(|(value, &n)| vec![value.clone(); n]).collect()
        };
        let single: Vec<Vec<f64>> = numbers.iter().map(|&number| vec![number]).collect();
        let more: Vec<f64> = repeated(&single).into_iter().flatten().collect();
        let axes = vec![linear("x"), linear("y")];
        let weighted = Observations::of_numbers(axes.clone(), points.clone(), &numbers)
            .weighted(times.iter().map(|&n| n as f64).collect());
        let repeated = Observations::of_numbers(axes, repeated(&points), &more);
        let growth = Growth { depth_max: 3, leaf_min: 1 };
        let (weighted, repeated) = (Tree::grow(&weighted, &growth), Tree::grow(&repeated, &growth));
        for point in &points {
            assert_near(weighted.predict(point)[0], repeated.predict(point)[0], 1e-9);
        }
    }

    #[test]
    fn cuts_are_round_numbers_between_their_neighbours() {
        let axes = axes();
        for (axis, low, high, round) in [
            (0, 0.683_1, 0.719_9, 0.7),
            (0, 0.1, 0.9, 0.5),
            (0, 0.123_41, 0.123_93, 0.123_7),
            (1, 2.0, 200.0, 20.0),
            (2, 4.0, 5.0, 4.0),
            (3, 4.0, 16.0, 8.0),
            (3, 1.0, 2.0, 1.0),
        ] {
            let got = roundest_between(&axes[axis], low, high);
            assert!(low <= got && got < high, "{got}");
            assert_near(got, round, 0.0);
        }
        let next = 0.3_f64.next_up();
        assert_near(roundest_between(&axes[0], 0.3, next), 0.3, 0.0);
        let mut rng = Rng::new(1);
        for _ in 0..10_000 {
            let (a, b) = (rng.unit(), rng.unit());
            let got = roundest_between(&axes[0], a.min(b), a.max(b).next_up());
            assert!(a.min(b) <= got && got < a.max(b).next_up());
        }
    }
}
