//! Schedules that are steered to rare changes, such as the split of a leaf or the growth of an index.
//!
//! A defect of such a change shows if the whole change comes between two steps of another worker. Chance alone rarely
//! stops that worker at the one place and then lets the change go through. So a worker that begins a rare change is
//! held up while the others go on for a random number of steps, which leaves each of them somewhere. Then it makes its
//! change without them.

use super::Turns;
use super::random::Stream;

/// See the module.
#[derive(Debug)]
pub(crate) struct Changes {
    stream: Stream,
    mean_steps: u32,
    /// The worker that is steered, and how.
    steered: Option<(usize, Steering)>,
}

#[derive(Debug, Clone, Copy)]
enum Steering {
    /// The others go on for so many steps.
    HeldUp { steps: u64 },
    /// It goes on without the others, as far as it can.
    Alone,
}

impl Changes {
    pub(crate) fn new(seed: u64, mean_steps: u32) -> Self {
        Self { stream: Stream::new(seed), mean_steps: mean_steps.max(1), steered: None }
    }

    pub(crate) fn begin(&mut self) {
        self.steered = None;
    }

    /// A worker begins or ends a rare change. Half of the changes, drawn at random, are not steered.
    pub(crate) fn changes_rarely(&mut self, worker: usize, begins: bool) {
        match self.steered {
            None if begins && self.stream.below(2) == 0 => {
                let steps = self.stream.below(2 * u64::from(self.mean_steps) + 1);
                self.steered = Some((worker, Steering::HeldUp { steps }));
            }
            Some((changing, _)) if changing == worker && !begins => self.steered = None,
            _ => {}
        }
    }

    pub(crate) fn choose(&mut self, turns: &Turns) -> usize {
        if let Some((changing, Steering::HeldUp { steps })) = self.steered {
            let mut others = turns.fair().filter(|&worker| worker != changing);
            let count = others.clone().count() as u64;
            if steps > 0 && count > 0 {
                self.steered = Some((changing, Steering::HeldUp { steps: steps - 1 }));
                let goes_on = turns.goes_on() && turns.running() != changing;
                if goes_on && self.stream.below(u64::from(self.mean_steps)) > 0 {
                    return turns.running();
                }
                return others.nth(self.stream.below(count) as usize).expect("below their number");
            }
            self.steered = Some((changing, Steering::Alone));
        }
        match self.steered {
            Some((changing, _)) if turns.fair().any(|worker| worker == changing) => changing,
            _ => self.stream.sparse(turns, self.mean_steps),
        }
    }
}
