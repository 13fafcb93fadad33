//! Handovers of workers to each other between two steps of a batch: a box for each giver and taker. In one step each
//! giver alone uses its boxes, in a later one each taker alone uses those that are for it. So no line is contended, and
//! a taker looks at as many boxes as there are givers, however much is in them.

use sync::{Latched, LatchedGuard, Padded};

/// The boxes between givers and takers.
#[derive(Debug)]
pub(crate) struct Handovers<T> {
    takers: usize,
    /// By giver, by taker.
    boxes: Box<[Padded<Latched<T>>]>,
}

impl<T: Default> Handovers<T> {
    /// Makes boxes, each with a default value.
    pub(crate) fn new(givers: usize, takers: usize) -> Self {
        Self { takers, boxes: (0..givers * takers).map(|_| Padded::default()).collect() }
    }

    /// The number of takers.
    pub(crate) fn takers(&self) -> usize {
        self.takers
    }

    /// The box between a giver and a taker.
    pub(crate) fn between(&self, giver: usize, taker: usize) -> LatchedGuard<'_, T> {
        self.boxes[giver * self.takers + taker].lock()
    }

    /// The boxes for a taker, in the order of the givers.
    pub(crate) fn for_taker(&self, taker: usize) -> impl Iterator<Item = LatchedGuard<'_, T>> {
        self.boxes[taker..].iter().step_by(self.takers).map(|from_giver| from_giver.lock())
    }
}
