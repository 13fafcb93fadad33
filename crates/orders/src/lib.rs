//! Serial orders of a batch of transactions: a library without threads, clocks or chance.
//!
//! A validator that gets transactions in batches may choose their order. All transactions of a batch read the state
//! before the batch. So a transaction that reads a key must come before each other transaction that writes the key. A
//! set of *victims* is removed, which abort and execute again, so that no cycle of such requirements is left; all
//! others commit in any topological order. The method is that of Ding, Kot and Gehrke, "Improving Optimistic
//! Concurrency Control Through Transaction Batching and Operation Reordering" (PVLDB 12(2), 2018).
//!
//! | step | here |
//! |---|---|
//! | the requirements | [`BatchGraph`], a bit matrix |
//! | the preference among victims | [`Policy`] |
//! | the victims | [`VictimMethod`]: two greedy methods of the paper, one of ours, and the exact minimum |
//! | the order of the others | [`Decision::order`] |
//! | one worker for transactions that conflict | [`ThreadAware`] |
//!
//! An [`Orderer`] does all but the last step, and keeps its memory from batch to batch:
//!
//! ```
//! use orders::{BatchGraph, DegreeScore, KeySets, Orderer, Policy, TxnFacts, VictimMethod};
//!
//! // The first two transactions read and write key 7. The third one only reads it.
//! let mut graph = BatchGraph::default();
//! graph.rebuild([
//!     KeySets { reads: &[7], writes: &[7] },
//!     KeySets { reads: &[7], writes: &[7] },
//!     KeySets { reads: &[7], writes: &[] },
//! ]);
//! let policy = Policy::new(DegreeScore::Product);
//! let mut orderer = Orderer::default();
//! let decision = orderer.order(&graph, &[TxnFacts::default(); 3], VictimMethod::Reduced, policy)?;
//! assert_eq!(decision.victims.len(), 1);
//! assert_eq!(decision.order[0], 2, "the reader comes before the writer");
//! # Ok::<(), orders::TooManyTransactions>(())
//! ```
//!
//! *Invariants:* the same batch gives the same decision; what is left without the victims has no cycle; a rebuilt
//! graph and a used orderer allocate nothing for a batch that is not larger than an earlier one, but for the exact
//! method.
#![forbid(unsafe_code)]

mod bits;
mod components;
mod exact;
mod graph;
mod order;
mod orderer;
mod policy;
mod reduced;
mod rest;
mod sorted;
mod threads;
mod uses;

#[cfg(test)]
mod testing;

pub use exact::{MinimumVictims, TooManyTransactions, minimum_victims};
pub use graph::{BatchGraph, EdgeError, KeySets};
pub use order::{is_acyclic_without, is_serial_order};
pub use orderer::{Decision, Orderer, VictimMethod};
pub use policy::{DegreeScore, DegreeScoreError, Policy, TxnFacts};
pub use threads::{LargeComponents, ThreadAware};
