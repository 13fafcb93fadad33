//! Decision trees (CART: Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984): a space of
//! settings is cut into boxes, and in each box the outcome is about the same.
//!
//! A tree is a surrogate that suits few measurements and is readable: each box is a rule in the words of the axes, for
//! example `warehouses <= 4 and read_share <= 0.7`. [`Tree::grow`] grows a tree, [`Tree::cross_validated`] also prunes
//! the branches that fit chance, [`Tree::predict`] predicts an outcome, and [`Tree::rules`] lists the rules.

mod grow;
mod importance;
mod observations;
mod prune;
mod rules;

pub use grow::Growth;
pub use importance::importance;
pub use observations::Observations;
pub use prune::Pruning;
pub use rules::{Condition, Rule};

use crate::Axis;

/// A grown tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    axes: Vec<Axis>,
    /// The names of the classes; empty if outcomes are numbers.
    classes: Vec<String>,
    /// The nodes; the first is the root.
    nodes: Vec<Node>,
}

/// A box, with statistics of the observations in it.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    /// Number of observations.
    count: usize,
    /// The sum of their weights.
    weight: f64,
    /// Their mean outcome: one number, or the share of each class.
    mean: Vec<f64>,
    /// The loss of predicting `mean` for all observations of the box, by weight: squared errors, or the weight of the
    /// wrong classes.
    risk: f64,
    /// The cut of the box; `None` for a leaf.
    split: Option<Split>,
}

#[derive(Clone, Debug, PartialEq)]
struct Split {
    axis: usize,
    test: Test,
    /// The node for which the test holds.
    yes: usize,
    /// The node for which the test does not hold.
    no: usize,
}

/// The test of a cut, applied to a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Test {
    /// Whether a number is at most this bound.
    AtMost(f64),
    /// Whether a choice is in this set, which has a bit for each choice.
    Among(u64),
}

impl Test {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::Among(choices) => choices >> value as u64 & 1 == 1,
        }
    }
}

impl Tree {
    /// Returns the mean outcome in the box of a point: one number, or the share of each class.
    ///
    /// # Panics
    /// If the number of the point's values differs from the number of the tree's axes.
    pub fn predict(&self, point: &[f64]) -> &[f64] {
        &self.nodes[self.leaf_of(point)].mean
    }

    /// Returns the class with the most weight in the box of a point; 0 if outcomes are numbers.
    ///
    /// # Panics
    /// If the number of the point's values differs from the number of the tree's axes.
    pub fn class(&self, point: &[f64]) -> usize {
        likeliest(self.predict(point))
    }

    /// The number of boxes, that is, of leaves.
    pub fn leaves(&self) -> usize {
        self.below(0).filter(|&node| self.nodes[node].split.is_none()).count()
    }

    /// The axes of the tree's space.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    fn leaf_of(&self, point: &[f64]) -> usize {
        assert_eq!(point.len(), self.axes.len(), "a point has a value on each axis");
        let mut node = 0;
        while let Some(split) = &self.nodes[node].split {
            node = if split.test.holds(point[split.axis]) { split.yes } else { split.no };
        }
        node
    }

    /// Iterates over a node and all nodes below it.
    fn below(&self, node: usize) -> impl Iterator<Item = usize> {
        let mut open = vec![node];
        core::iter::from_fn(move || {
            let node = open.pop()?;
            if let Some(split) = &self.nodes[node].split {
                open.extend([split.no, split.yes]);
            }
            Some(node)
        })
    }

    /// The loss of predicting `mean` for an observation of `outcome`: the squared error, or 1 for the wrong class.
    fn loss(&self, mean: &[f64], outcome: &[f64]) -> f64 {
        if self.classes.is_empty() {
            (mean[0] - outcome[0]).powi(2)
        } else {
            f64::from(u8::from(likeliest(mean) != likeliest(outcome)))
        }
    }
}

/// The position of the largest share; among equal shares, the first.
fn likeliest(shares: &[f64]) -> usize {
    (0..shares.len()).rev().max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap_or(0)
}
