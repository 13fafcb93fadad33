//! Strategies, which turn a seed into a schedule.

use crate::scheduler::random::Stream;

/// A way to draw choices; the choices are a function of the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// At every step each worker that can run is equally likely.
    #[default]
    Random,
    /// A worker runs for a while, and then each worker that can run is equally likely.
    Sparse {
        /// The average number of steps of a run.
        mean_steps: u32,
    },
    /// Random priorities that change at `depth - 1` random choices (Burckhardt et al., ASPLOS 2010): finds
    /// a defect that shows whenever `depth` steps come in a certain order with a probability of at least
    /// `1 / (workers * choices ^ (depth - 1))`.
    Pct {
        /// The number of steps that must come in a certain order, at least 1.
        depth: u32,
        /// The approximate number of choices of the exploration: see [`crate::Trace::choices`].
        choices: u64,
    },
    /// Every worker has a clock, and the one whose clock is the least makes the next step, which takes about the time
    /// of its kind: as if each worker had a core of its own.
    Clocks {
        /// By how many percent of its time a step takes longer at most: each step by an amount of its own.
        jitter_pct: u32,
    },
    /// As `Sparse`, but steered to rare changes ([`sync_sim::RareChange`]): a worker that begins one lets the others
    /// go on for about as many steps as a run has, and then makes its change without them.
    Changes {
        /// The average number of steps of a run.
        mean_steps: u32,
    },
}

impl Strategy {
    /// A strategy drawn from a seed, so that one number determines the strategy and, with `Explorer::new(seed)`, its
    /// choices. `choices` is the approximate number of choices of the exploration; it influences the strategy, so the
    /// same value is needed to repeat the schedule of a seed.
    pub fn of_seed(seed: u64, choices: u64) -> Self {
        // A stream other than that of the choices, which begins with the seed itself.
        let mut stream = Stream::new(seed ^ 0x7374_7261_7465_6779);
        match stream.below(8) {
            0..=1 => Self::Random,
            2..=4 => {
                let mean_steps = 4 << stream.below(5);
                if stream.below(3) == 0 { Self::Changes { mean_steps } } else { Self::Sparse { mean_steps } }
            }
            5..=6 => Self::Pct { depth: 2 + stream.below(3) as u32, choices },
            _ => Self::Clocks { jitter_pct: [5, 40, 400][stream.below(3) as usize] },
        }
    }
}
