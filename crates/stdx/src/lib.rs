//! General utilities: random numbers, Zipf's distribution, permutations, histograms, messages of panics, and the
//! histories by which isolation is checked.
#![forbid(unsafe_code)]

pub mod eighths;
mod histogram;
pub mod history;
pub mod panics;
mod permutation;
mod retry_counts;
mod rng;
mod zipf;

pub use histogram::Histogram;
pub use permutation::Permutation;
pub use retry_counts::RetryCounts;
pub use rng::{Path, Rng};
pub use zipf::Zipf;
