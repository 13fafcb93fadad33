//! General utilities: random numbers, Zipf's distribution, permutations, histograms, messages of panics, and the
//! histories by which isolation is checked.
#![forbid(unsafe_code)]

mod histogram;
pub mod history;
pub mod panics;
mod permutation;
mod rng;
mod zipf;

pub use histogram::Histogram;
pub use permutation::Permutation;
pub use rng::Rng;
pub use zipf::Zipf;
