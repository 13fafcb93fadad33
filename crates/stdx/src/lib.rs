//! Small things without a domain of their own: random numbers, Zipf's distribution, permutations, histograms,
//! what panics say, and the histories that isolation is judged by.
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
