//! The random scheduler: at every step each worker that can run is as likely as any other.
//!
//! It finds what a few switches at unlucky moments can break, which is most of what breaks.

use std::cell::{Cell, RefCell};

use sync_sim::hook::{Access, Scheduler};

use super::Turns;
use crate::Trace;

/// See the module.
#[derive(Debug)]
pub(crate) struct Random {
    turns: RefCell<Turns>,
    rng: Cell<u64>,
}

impl Random {
    pub(crate) fn new(seed: u64, steps_max: u64) -> Self {
        Self { turns: RefCell::new(Turns::new(steps_max)), rng: Cell::new(seed) }
    }

    pub(crate) fn trace(&self) -> Trace {
        self.turns.borrow().trace()
    }

    /// The next number of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
    fn next_random(&self) -> u64 {
        self.rng.set(self.rng.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut z = self.rng.get();
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn choose(&self, turns: &mut Turns) -> usize {
        let ready = turns.ready();
        let pick = (u128::from(self.next_random()) * ready.len() as u128) >> 64;
        let worker = ready[pick as usize];
        turns.run(worker)
    }
}

impl Scheduler for Random {
    fn begin(&self, count: usize) -> usize {
        let turns = &mut *self.turns.borrow_mut();
        turns.begin(count);
        self.choose(turns)
    }

    fn step(&self, access: Access) -> usize {
        let turns = &mut *self.turns.borrow_mut();
        turns.step(access);
        self.choose(turns)
    }

    fn end(&self) -> Option<usize> {
        let turns = &mut *self.turns.borrow_mut();
        turns.end();
        (!turns.ready().is_empty()).then(|| self.choose(turns))
    }

    fn now_ns(&self) -> u64 {
        self.turns.borrow_mut().read_clock()
    }
}
