//! The chooser: one of the strategies, without a virtual call.

use super::Turns;
use super::bounded::Bounded;
use super::changes::Changes;
use super::clocks::Clocks;
use super::pct::Pct;
use super::random::Stream;
use super::replay::Replay;
use crate::strategy::Strategy;

/// A strategy in use.
#[derive(Debug)]
pub(crate) enum Chooser {
    Random(Stream),
    Sparse(Stream, u32),
    Pct(Pct),
    Clocks(Clocks),
    Changes(Changes),
    Replay(Replay),
    Bounded(Bounded),
}

impl Chooser {
    pub(crate) fn new(strategy: Strategy, seed: u64) -> Self {
        match strategy {
            Strategy::Random => Self::Random(Stream::new(seed)),
            Strategy::Sparse { mean_steps } => Self::Sparse(Stream::new(seed), mean_steps),
            Strategy::Pct { depth, choices } => Self::Pct(Pct::new(seed, depth, choices)),
            Strategy::Clocks { jitter_pct } => Self::Clocks(Clocks::new(seed, jitter_pct)),
            Strategy::Changes { mean_steps } => Self::Changes(Changes::new(seed, mean_steps)),
        }
    }

    /// Begins a call of `workers::run`.
    pub(crate) fn begin(&mut self, turns: &Turns) {
        match self {
            Self::Random(_) | Self::Sparse(..) | Self::Bounded(_) => {}
            Self::Pct(pct) => pct.begin(turns.count()),
            Self::Clocks(clocks) => clocks.begin(turns.count()),
            Self::Changes(changes) => changes.begin(),
            Self::Replay(replay) => {
                if turns.count() > 1 {
                    replay.begin();
                }
            }
        }
    }

    /// The running worker begins or ends a rare change.
    pub(crate) fn changes_rarely(&mut self, turns: &Turns, begins: bool) {
        if let Self::Changes(changes) = self {
            changes.changes_rarely(turns.running(), begins);
        }
    }

    /// Chooses one of the workers that can run.
    #[inline]
    pub(crate) fn choose(&mut self, turns: &Turns) -> usize {
        match self {
            Self::Random(stream) => stream.uniform(turns),
            _ if turns.count() == 1 => 0,
            Self::Sparse(stream, mean_steps) => stream.sparse(turns, *mean_steps),
            Self::Pct(pct) => pct.choose(turns),
            Self::Clocks(clocks) => clocks.choose(turns),
            Self::Changes(changes) => changes.choose(turns),
            Self::Replay(replay) => replay.choose(turns),
            Self::Bounded(bounded) => bounded.choose(turns),
        }
    }
}
