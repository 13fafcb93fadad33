//! Importance of axes: the increase of a tree's loss when the values of one axis are permuted.

use stdx::Rng;

use super::{Observations, Tree};
use crate::shuffle;

/// Returns for each axis the mean loss when its values are permuted among the observations, minus the mean loss without
/// that (Breiman, Machine Learning 2001; Fisher, Rudin and Dominici, JMLR 2019): in squares of the outcome's unit, or
/// as a share of wrong classes. The result is about 0 for an axis that the tree does not use. Each result is the mean
/// of `repeats` permutations, which the seed decides.
///
/// The observations may differ from those that the tree was grown from. That is better, because it shows how well the
/// tree generalizes. If several axes carry the same information, each of them looks unimportant.
///
/// # Panics
/// If the observations have other axes or classes than the tree.
pub fn importance(tree: &Tree, observations: &Observations, repeats: usize, seed: u64) -> Vec<f64> {
    assert!(
        observations.axes == tree.axes && observations.classes == tree.classes,
        "the tree is of this space"
    );
    let honest = mean_loss(tree, observations, |i| observations.points[i].clone());
    let of_axis = |axis: usize| {
        let mut rng = Rng::from_path(&[seed, axis as u64]);
        let mut dealt: Vec<usize> = (0..observations.len()).collect();
        let lied = (0..repeats).map(|_| {
            shuffle(&mut dealt, &mut rng);
            mean_loss(tree, observations, |i| {
                let mut point = observations.points[i].clone();
                point[axis] = observations.points[dealt[i]][axis];
                point
            })
        });
        lied.sum::<f64>() / repeats.max(1) as f64 - honest
    };
    (0..tree.axes.len()).map(of_axis).collect()
}

fn mean_loss(tree: &Tree, observations: &Observations, point: impl Fn(usize) -> Vec<f64>) -> f64 {
    let loss = |i: usize| tree.loss(tree.predict(&point(i)), &observations.outcomes[i]);
    let sum: f64 = (0..observations.len()).map(|i| observations.weights[i] * loss(i)).sum();
    sum / observations.weights.iter().sum::<f64>()
}
