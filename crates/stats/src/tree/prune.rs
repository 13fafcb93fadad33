//! Pruning of trees: branches that fit chance are cut off, judged by predictions of observations that a tree was not
//! grown from.

use stdx::Rng;

use super::{Growth, Observations, Tree};
use crate::shuffle;
use crate::spread::mean;

/// The options of pruning by cross-validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pruning {
    /// Number of parts into which observations are divided; each part is predicted by a tree that is grown from the
    /// others. 10 is usual.
    pub folds: usize,
    /// The allowed loss of a simpler tree above the best, in standard errors: 1 for readable rules (Breiman et al.,
    /// 3.4.3), 0 for the best surrogate.
    pub errors_allowed: f64,
    /// The seed of the division into parts.
    pub seed: u64,
}

impl Default for Pruning {
    fn default() -> Self {
        Self { folds: 10, errors_allowed: 1.0, seed: 1 }
    }
}

impl Tree {
    /// Grows a tree, and prunes it to the size that predicts best, or to the smallest size that is hardly worse:
    /// minimal cost-complexity pruning with cross-validation (Breiman et al., chapter 3).
    ///
    /// Repetitions at the same point may be divided over several parts, which then are not independent; so merge
    /// repetitions to one observation first.
    ///
    /// # Panics
    /// If there are fewer than 2 folds, or fewer observations than folds.
    pub fn cross_validated(observations: &Observations, growth: &Growth, pruning: &Pruning) -> Self {
        assert!(
            (2..=observations.len()).contains(&pruning.folds),
            "each of two or more parts has observations"
        );
        let mut tree = Self::grow(observations, growth);
        let costs = tree.costs_of_leaves();
        let losses = losses(observations, growth, pruning, &costs);
        tree.prune(costs[choose(&losses, pruning.errors_allowed)]);
        tree
    }

    /// Cuts off, weakest first, each branch that lowers the mean risk by no more than `cost` for each of its further
    /// leaves.
    pub fn prune(&mut self, cost: f64) {
        while let Some((node, weakest)) = self.weakest_link()
            && weakest <= cost
        {
            self.nodes[node].split = None;
        }
    }

    /// Returns one cost for each size that pruning goes through, from the whole tree at cost 0 to the root alone:
    /// geometric means of the costs at which the size changes.
    fn costs_of_leaves(&self) -> Vec<f64> {
        let mut tree = self.clone();
        let mut changes = vec![0.0];
        while let Some((_, cost)) = tree.weakest_link() {
            tree.prune(cost);
            changes.push(cost);
        }
        let last = changes.last().copied().into_iter();
        changes.windows(2).map(|pair| (pair[0] * pair[1]).sqrt()).chain(last).collect()
    }

    /// Returns the branch that lowers the mean risk least for each of its further leaves, with that cost.
    fn weakest_link(&self) -> Option<(usize, f64)> {
        let cost = |node: usize| {
            let leaves = self.below(node).filter(|&below| self.nodes[below].split.is_none());
            let (count, risk) =
                leaves.fold((0, 0.0), |(n, risk), leaf| (n + 1, risk + self.nodes[leaf].risk));
            // The leaves of a branch never have more risk than its root, but sums are rounded.
            (self.nodes[node].risk - risk).max(0.0) / self.nodes[0].weight / f64::from(count - 1)
        };
        let branches = self.below(0).filter(|&node| self.nodes[node].split.is_some());
        branches.map(|node| (node, cost(node))).min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Returns for each cost the weighted loss at each observation, predicted by a tree that was grown from the other folds
/// and pruned at that cost.
fn losses(from: &Observations, growth: &Growth, pruning: &Pruning, costs: &[f64]) -> Vec<Vec<f64>> {
    let mut order: Vec<usize> = (0..from.len()).collect();
    shuffle(&mut order, &mut Rng::new(pruning.seed));
    let mean_weight = mean(&from.weights);
    let mut losses = vec![vec![0.0; from.len()]; costs.len()];
    for fold in 0..pruning.folds {
        let is_held_out = |place: usize| place % pruning.folds == fold;
        let rest = (0..from.len()).filter(|&place| !is_held_out(place)).map(|place| order[place]).collect();
        let mut tree = Tree::grow_from(from, growth, rest);
        // Costs ascend, so the same tree is pruned further for each.
        for (losses, cost) in losses.iter_mut().zip(costs) {
            tree.prune(*cost);
            for held_out in (0..from.len()).filter(|&place| is_held_out(place)).map(|place| order[place]) {
                let loss = tree.loss(tree.predict(&from.points[held_out]), &from.outcomes[held_out]);
                losses[held_out] = loss * from.weights[held_out] / mean_weight;
            }
        }
    }
    losses
}

/// Returns the position of the largest cost, that is, of the smallest tree, whose mean loss is at most `errors_allowed`
/// standard errors above the least.
fn choose(losses: &[Vec<f64>], errors_allowed: f64) -> usize {
    let means: Vec<f64> = losses.iter().map(|losses| mean(losses)).collect();
    let best =
        (0..means.len()).min_by(|&a, &b| means[a].total_cmp(&means[b])).expect("no pruning is one of them");
    let square = losses[best].iter().map(|loss| (loss - means[best]).powi(2)).sum::<f64>();
    let error = square.sqrt() / losses[best].len() as f64;
    let is_allowed = |i: &usize| means[*i] <= means[best] + errors_allowed * error;
    (0..means.len()).rev().find(is_allowed).expect("the best is allowed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::tests::gauss;
    use crate::{Axis, Scale, assert_near};

    fn noisy_step(seed: u64, height: f64) -> Observations {
        let mut rng = Rng::new(seed);
        let axes = ["x", "y"].map(|name| Axis::new(name, Scale::Linear { low: 0.0, high: 1.0 }).unwrap());
        let points: Vec<Vec<f64>> = (0..200).map(|_| vec![rng.unit(), rng.unit()]).collect();
        let numbers: Vec<f64> = points
            .iter()
            .map(|point| height * f64::from(u8::from(point[0] > 0.5)) + gauss(&mut rng))
            .collect();
        Observations::of_numbers(axes.to_vec(), points, &numbers)
    }

    #[test]
    fn a_planted_step_stays_and_chance_goes() {
        let (mut two, mut one) = (0, 0);
        for seed in 0..20 {
            let leaves = |height| {
                let observations = noisy_step(seed, height);
                let grown = Tree::grow(&observations, &Growth::default()).leaves();
                assert!(grown > 5, "{grown}");
                Tree::cross_validated(&observations, &Growth::default(), &Pruning::default()).leaves()
            };
            two += u32::from(leaves(3.0) == 2);
            one += u32::from(leaves(0.0) == 1);
        }
        assert!(two >= 17 && one >= 17, "{two} {one}");
    }

    /// The pruned subtree of `tree` that costs least, by trying all of them.
    fn least_cost(tree: &Tree, node: usize, cost: f64) -> f64 {
        let leaf = tree.nodes[node].risk / tree.nodes[0].weight + cost;
        match &tree.nodes[node].split {
            None => leaf,
            Some(split) => leaf.min(least_cost(tree, split.yes, cost) + least_cost(tree, split.no, cost)),
        }
    }

    #[test]
    fn pruning_minimizes_the_cost_of_risk_and_leaves() {
        let grown = Tree::grow(&noisy_step(5, 1.0), &Growth::default());
        let mut sizes = Vec::new();
        for cost in grown.costs_of_leaves() {
            let mut pruned = grown.clone();
            pruned.prune(cost);
            let leaves = pruned.below(0).filter(|&node| pruned.nodes[node].split.is_none());
            let risk: f64 = leaves.map(|leaf| pruned.nodes[leaf].risk).sum();
            let total = risk / pruned.nodes[0].weight + cost * pruned.leaves() as f64;
            assert_near(total, least_cost(&grown, 0, cost), 1e-12);
            sizes.push(pruned.leaves());
        }
        assert_eq!(sizes.last(), Some(&1));
        assert!(sizes.windows(2).all(|pair| pair[0] > pair[1]), "{sizes:?}");
    }
}
