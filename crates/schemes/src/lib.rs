//! Concurrency-control schemes, one file each.
#![forbid(unsafe_code)]

pub mod baseline;
pub mod batched;
pub mod catalogue;
pub mod deterministic;
pub mod locking;
pub mod multiversion;
pub mod optimistic;
pub mod partitioned;
pub mod plants;
pub mod timestamp;
pub mod two_phase;
