//! Trees of decisions (CART: Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984): a space
//! of settings cut into boxes, in each of which the outcome is about the same.
//!
//! A tree is a surrogate that is honest about having few measurements, and it speaks: each box is a rule in the words
//! of the axes, such as `warehouses <= 4 and read_share <= 0.7`. Grow it with [`Tree::grow`], prune what chance has
//! put there with [`Tree::cross_validated`], ask it with [`Tree::predict`], read it with [`Tree::rules`].

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
    /// The names of the classes; none when outcomes are numbers.
    classes: Vec<String>,
    /// The first is the root.
    nodes: Vec<Node>,
}

/// What is known of the observations in a box.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    /// How many there are.
    count: usize,
    /// The sum of their weights.
    weight: f64,
    /// Their mean outcome: one number, or the share of each class.
    mean: Vec<f64>,
    /// What predicting the same for all of them costs, by weight: squares of errors, or errors.
    risk: f64,
    /// How the box is cut, unless it is a leaf.
    split: Option<Split>,
}

#[derive(Clone, Debug, PartialEq)]
struct Split {
    axis: usize,
    test: Test,
    /// The node for which the test holds.
    yes: usize,
    /// The other one.
    no: usize,
}

/// What a cut asks of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Test {
    /// Whether a number is at most this.
    AtMost(f64),
    /// Whether a choice is among these, a bit each.
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
    /// The mean outcome in the box of a point: one number, or the share of each class.
    ///
    /// # Panics
    /// When the point has not as many values as the tree has axes.
    pub fn predict(&self, point: &[f64]) -> &[f64] {
        &self.nodes[self.leaf_of(point)].mean
    }

    /// The class that most of the weight in the box of a point has; 0 when outcomes are numbers.
    ///
    /// # Panics
    /// When the point has not as many values as the tree has axes.
    pub fn class(&self, point: &[f64]) -> usize {
        likeliest(self.predict(point))
    }

    /// The number of its boxes.
    pub fn leaves(&self) -> usize {
        self.below(0).filter(|&node| self.nodes[node].split.is_none()).count()
    }

    /// The axes that it was grown on.
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

    /// A node and all that it was cut into.
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

    /// What predicting `mean` for an observation of `outcome` costs: the square of the error, or 1 for the wrong class.
    fn loss(&self, mean: &[f64], outcome: &[f64]) -> f64 {
        if self.classes.is_empty() {
            (mean[0] - outcome[0]).powi(2)
        } else {
            f64::from(u8::from(likeliest(mean) != likeliest(outcome)))
        }
    }
}

/// The position of the largest share; of the first among equals.
fn likeliest(shares: &[f64]) -> usize {
    (0..shares.len()).rev().max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap_or(0)
}
