//! Clocks: every worker has one, each step takes about the time of its kind, and the worker whose clock is the least
//! makes the next step.
//!
//! This is how workers on cores of their own run, with nobody to hold them up. After a hundred steps the workers are
//! about as far as each other, a few steps apart, where choices by chance alone leave them ten or twenty steps apart.
//! So it finds defects that need several workers to be at the same place at the same time, each after a long way.

use sync_sim::hook::Access;

use super::Turns;
use super::random::Stream;

/// See the module.
#[derive(Debug)]
pub(crate) struct Clocks {
    stream: Stream,
    jitter_pct: u64,
    /// The time at which each worker can make its next step, in picoseconds.
    times: Vec<u64>,
    now: u64,
}

impl Clocks {
    pub(crate) fn new(seed: u64, jitter_pct: u32) -> Self {
        Self { stream: Stream::new(seed), jitter_pct: u64::from(jitter_pct), times: Vec::new(), now: 0 }
    }

    /// Lets `count` workers begin within the time of one step of each other, or of some tens.
    pub(crate) fn begin(&mut self, count: usize) {
        let spread_ps = step_ps(Access::Load) << self.stream.below(7);
        self.now = 0;
        self.times.clear();
        self.times.extend((0..count).map(|_| self.stream.below(spread_ps)));
    }

    pub(crate) fn choose(&mut self, turns: &Turns) -> usize {
        if let Some(last) = turns.last() {
            let ps = self.jittered(step_ps(last));
            self.times[turns.running()] += ps;
        }
        let next = turns.fair().min_by_key(|&worker| self.times[worker]).expect("somebody is ready");
        // A worker that was aside has not run meanwhile.
        self.now = self.now.max(self.times[next]);
        self.times[next] = self.now;
        next
    }

    fn jittered(&mut self, ps: u64) -> u64 {
        ps + self.stream.below(ps * self.jitter_pct / 100 + 1)
    }
}

/// About the time, in picoseconds, of a step whose word no other core has used, with the instructions before it.
fn step_ps(access: Access) -> u64 {
    match access {
        Access::Load | Access::Store => 2_000,
        Access::Update | Access::Fence => 8_000,
        Access::Pause | Access::Yield { .. } | Access::Wait { .. } => 40_000,
    }
}
