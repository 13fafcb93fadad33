//! Insight into a run: observations that only its scheme can make. Most schemes make none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Observations of a run that only its scheme can make.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct RunInsight {
    /// The number of sampled transactions whose time is in `stages`.
    pub sampled: u64,
    /// The stages of the scheme, in the order in which a transaction passes through them; empty if it has none, or
    /// nothing was sampled.
    pub stages: Vec<StageMean>,
    /// A batch that the scheme has put in order: the first of the largest batches that had victims; `null` if there is
    /// none.
    pub batch: Option<BatchPicture>,
}

/// The mean time of a transaction in a stage of its scheme.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct StageMean {
    /// The name of the stage.
    pub stage: String,
    /// Microseconds of a sampled transaction in the stage, in all its attempts together.
    pub time_us_mean: f64,
}

/// A batch of transactions that have executed, and the order in which they were to commit. Transactions are named by
/// their positions in the batch, from 0.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(default)]
pub struct BatchPicture {
    /// The number of transactions that left the batch before it was put in order, because they had seen an old state.
    /// They have no position.
    pub stale: u64,
    /// The aborted attempts of each transaction before this one, by position.
    pub retries: Vec<u32>,
    /// The edges of the graph: the first transaction of a pair must come before the second one.
    pub edges: Vec<(u32, u32)>,
    /// The transactions that aborted so that the others have an order, ascending.
    pub victims: Vec<u32>,
    /// All other transactions, in their order.
    pub order: Vec<u32>,
}

impl BatchPicture {
    /// Returns the number of transactions in the graph.
    pub fn len(&self) -> usize {
        self.retries.len()
    }

    /// Whether there is no transaction in the graph.
    pub fn is_empty(&self) -> bool {
        self.retries.is_empty()
    }

    /// Whether each transaction is either a victim or has one place in the order, and no edge leaves the batch. A file
    /// may say anything.
    pub fn is_sound(&self) -> bool {
        let mut all: Vec<u32> = self.victims.iter().chain(&self.order).copied().collect();
        all.sort_unstable();
        let len = self.len();
        let is_within = |at: u32| (at as usize) < len;
        all.iter().map(|at| *at as usize).eq(0..len)
            && self.edges.iter().all(|(from, to)| from != to && is_within(*from) && is_within(*to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_names_a_transaction_twice_or_not_at_all_is_not_sound() {
        let sound = BatchPicture {
            retries: vec![0; 3],
            edges: vec![(0, 1), (1, 0)],
            victims: vec![1],
            order: vec![2, 0],
            ..BatchPicture::default()
        };
        assert!(sound.is_sound() && BatchPicture::default().is_sound());
        let odd = [
            BatchPicture { victims: vec![0], ..sound.clone() },
            BatchPicture { order: vec![2], ..sound.clone() },
            BatchPicture { order: vec![2, 3], ..sound.clone() },
            BatchPicture { edges: vec![(0, 3)], ..sound.clone() },
            BatchPicture { edges: vec![(2, 2)], ..sound.clone() },
        ];
        assert!(odd.iter().all(|odd| !odd.is_sound()));
    }
}
