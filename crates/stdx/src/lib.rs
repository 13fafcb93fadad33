//! Small things without a domain of their own: random numbers, Zipf's distribution, permutations, histograms.
#![forbid(unsafe_code)]

mod histogram;
mod permutation;
mod rng;
mod zipf;

pub use histogram::Histogram;
pub use permutation::Permutation;
pub use rng::Rng;
pub use zipf::Zipf;
