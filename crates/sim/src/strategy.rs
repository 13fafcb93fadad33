//! How a seed becomes a schedule.

use crate::scheduler::random::Stream;

/// How choices are drawn, each in its own way a function of the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// At every step each worker that can run is as likely as any other.
    #[default]
    Random,
    /// A worker goes on for a while, and then each that can run is as likely as any other.
    Sparse {
        /// How many steps it makes on average.
        mean_steps: u32,
    },
    /// Random priorities that change at `depth - 1` random choices (Burckhardt et al., ASPLOS 2010): finds
    /// a defect that shows whenever `depth` steps come in a certain order with a probability of at least
    /// `1 / (workers * choices ^ (depth - 1))`.
    Pct {
        /// How many steps must come in a certain order, at least 1.
        depth: u32,
        /// About how many choices the exploration has: see [`crate::Trace::choices`].
        choices: u64,
    },
}

impl Strategy {
    /// A strategy drawn from a seed, so that one number stands for the strategy and its choices, with
    /// `Explorer::new(seed)`. `choices` is about how many choices the exploration has; it is part of what
    /// decides, so it must be the same when the seed is to bring its schedule back.
    pub fn of_seed(seed: u64, choices: u64) -> Self {
        // Another stream than that of the choices, which begins with the seed itself.
        let mut stream = Stream::new(seed ^ 0x7374_7261_7465_6779);
        match stream.below(8) {
            0..=1 => Self::Random,
            2..=4 => Self::Sparse { mean_steps: 4 << stream.below(5) },
            _ => Self::Pct { depth: 2 + stream.below(3) as u32, choices },
        }
    }
}
