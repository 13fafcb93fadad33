//! Insight into a run: observations that only its scheme can make, as values that name no scheme.
//!
//! A scheme fills in what it has, and most have nothing. Who measures passes the values on, and need not know which
//! scheme they come from.

/// Observations of a run that only its scheme can make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Insight {
    /// The time of sampled transactions by the scheme's stages; `None` if the scheme has no stages, or nothing was
    /// sampled.
    pub stages: Option<StageTimes>,
    /// A batch that the scheme has put in order; `None` if there is none.
    pub batch: Option<OrderedBatch>,
}

/// The time of sampled transactions by the stages through which they pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// The number of sampled transactions.
    pub transactions: u64,
    /// Nanoseconds in each stage, of all these transactions and all their attempts together, by the stage's name. The
    /// stages are in the order in which a transaction passes through them.
    pub ns: Vec<(&'static str, u64)>,
}

/// A batch of transactions that have executed, and the order in which they were to commit. Transactions are named by
/// their positions in the batch, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderedBatch {
    /// Transactions that left the batch before it was put in order, because they had seen an old state. They have no
    /// position.
    pub stale: u64,
    /// By position: the aborted attempts of the transaction before this one.
    pub retries: Vec<u32>,
    /// The edges of the graph: the first transaction of a pair must come before the second one.
    pub edges: Vec<(u32, u32)>,
    /// The transactions that had to abort so that the others have an order, ascending.
    pub victims: Vec<u32>,
    /// All other transactions, in their order.
    pub order: Vec<u32>,
}
