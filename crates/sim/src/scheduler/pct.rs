//! Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler
//! with probabilistic guarantees of finding bugs, ASPLOS 2010).
//!
//! Workers have random priorities, and among the workers that can run the one with the highest priority runs. At
//! `depth - 1` random choices the worker that would run falls below all others. A defect that shows whenever `depth`
//! steps come in a certain order is found with a probability of at least `1 / (workers * choices ^ (depth - 1))`.
//!
//! A worker that steps aside twice while another could have run lets that other worker run first, whatever the
//! priorities say: otherwise two workers that spin could keep the third, for which they wait, from running.

use super::Turns;
use super::random::Stream;

/// See the module.
#[derive(Debug)]
pub(crate) struct Pct {
    stream: Stream,
    /// The priority of each worker; the highest runs.
    priorities: Vec<u64>,
    /// The choices at which a priority changes, and the new priority.
    changes: Vec<(u64, u64)>,
    choices: u64,
}

impl Pct {
    /// `choices` is the approximate number of choices that are to come.
    pub(crate) fn new(seed: u64, depth: u32, choices: u64) -> Self {
        let mut stream = Stream::new(seed);
        let lows = 0..u64::from(depth.saturating_sub(1));
        let changes = lows.map(|low| (1 + stream.below(choices.max(1)), low)).collect();
        Self { stream, priorities: Vec::new(), changes, choices: 0 }
    }

    /// Draws the priorities of `count` workers, above all priorities to which workers fall.
    pub(crate) fn begin(&mut self, count: usize) {
        let lowest = self.changes.len() as u64;
        self.priorities.clear();
        self.priorities.extend(lowest..lowest + count as u64);
        for at in (1..count).rev() {
            let other = self.stream.below(at as u64 + 1) as usize;
            self.priorities.swap(at, other);
        }
    }

    pub(crate) fn choose(&mut self, turns: &Turns) -> usize {
        if let [only] = *turns.ready() {
            return only;
        }
        self.choices += 1;
        for at in 0..self.changes.len() {
            let (choice, low) = self.changes[at];
            if choice == self.choices {
                let falls = self.highest(turns);
                self.priorities[falls] = low;
            }
        }
        self.highest(turns)
    }

    fn highest(&self, turns: &Turns) -> usize {
        turns.fair().max_by_key(|&worker| self.priorities[worker]).expect("somebody is ready")
    }
}
