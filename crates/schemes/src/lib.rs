//! Concurrency-control schemes, a folder each.
#![forbid(unsafe_code)]

pub mod baseline;
pub mod batched;
pub mod catalogue;
pub mod deterministic;
pub mod frames;
pub mod locking;
pub mod multiversion;
pub mod optimistic;
pub mod partitioned;
pub mod reordering;
pub mod timestamp;

// The common code of the tests is compiled in other crates, too, and names the schemes as they do.
#[cfg(all(test, feature = "tests", not(loom)))]
extern crate self as schemes;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;
