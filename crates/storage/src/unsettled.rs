//! Records that are to be settled later: the queue of one slot, first in, first out, each record with the number
//! that the watermark must reach before; and a shared queue for any slot to settle.
//!
//! A slot that idles settles nothing, so a slot keeps few records. Further ones go to the shared queue, and slots
//! that have nothing to settle take some from it.

use std::collections::VecDeque;

use sync::atomic::{AtomicU64, Ordering};
use sync::{Latched, Padded};

/// The maximum number of things that a slot keeps, apart from those that it takes from others. The more slots there
/// are, the later the watermark passes what one has written: with 1,568 simulated slots 1,024 things were too few. A
/// slot that meets the maximum writes to the shared queue, and each such write costs all slots a miss.
pub(crate) const KEPT_MAX: usize = 4096;
/// The number of things that are handed over at a time.
const HANDED: usize = KEPT_MAX / 2;
/// The number of things that are looked at for each that was added, so that the queue becomes shorter.
const PER_ADDED: usize = 2;
/// The number of things that are looked at in addition.
const BESIDES: usize = 8;

/// The things of one slot.
#[derive(Debug)]
pub(crate) struct Unsettled<T> {
    things: VecDeque<(u64, T)>,
    /// The number of things added since the budget was last asked for.
    added: usize,
    /// The watermark that was last seen.
    watermark: u64,
}

/// The things that any slot may take.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    things: Latched<VecDeque<(u64, T)>>,
    /// The number of the first, or `NONE`: a hint, which spares the latch. All slots read it often, so it shares its
    /// line with nothing that is written.
    first: Padded<AtomicU64>,
}

/// The first number where there are no things.
const NONE: u64 = u64::MAX;

impl<T> Default for Unsettled<T> {
    fn default() -> Self {
        Self { things: VecDeque::new(), added: 0, watermark: 0 }
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self { things: Latched::default(), first: Padded(AtomicU64::new(NONE)) }
    }
}

impl<T> Unsettled<T> {
    /// Whether there are no things.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// Adds a thing. When there are too many, the newest, which wait longest, go to `shared`.
    #[inline]
    pub(crate) fn push(&mut self, number: u64, thing: T, shared: &Shared<T>) {
        if self.things.len() >= KEPT_MAX {
            shared.put(self.things.drain(self.things.len() - HANDED..));
        }
        self.things.push_back((number, thing));
        self.added += 1;
    }

    /// The number of things to look at now.
    #[inline]
    pub(crate) fn budget(&mut self) -> usize {
        core::mem::take(&mut self.added) * PER_ADDED + BESIDES
    }

    /// Takes the first thing, if the watermark has reached its number.
    #[inline]
    pub(crate) fn pop(&mut self, watermark: u64) -> Option<(u64, T)> {
        self.watermark = watermark;
        self.things.pop_front_if(|(number, _)| *number <= watermark)
    }

    /// Takes some things from `shared` if those may be looked at but the slot's own may not.
    #[inline]
    pub(crate) fn help(&mut self, shared: &Shared<T>) {
        let first = shared.first.load(Ordering::Relaxed); // Relaxed: a hint.
        let helps = match self.things.front() {
            // A slot without things has not heard of the watermark either.
            None => first != NONE,
            Some(&(own, _)) => first <= self.watermark && own > self.watermark,
        };
        if helps {
            shared.take(&mut self.things);
        }
    }

    /// Gives all to `shared`.
    pub(crate) fn leave(&mut self, shared: &Shared<T>) {
        if !self.is_empty() {
            shared.put(self.things.drain(..));
        }
    }
}

impl<T> Shared<T> {
    #[cold]
    fn put(&self, from: impl Iterator<Item = (u64, T)>) {
        let mut things = self.things.lock();
        things.extend(from);
        self.hint(&things);
    }

    /// Moves some to the front of `to`.
    #[cold]
    fn take(&self, to: &mut VecDeque<(u64, T)>) {
        let mut things = self.things.lock();
        let count = things.len().min(HANDED);
        things.drain(..count).rev().for_each(|thing| to.push_front(thing));
        self.hint(&things);
    }

    fn hint(&self, things: &VecDeque<(u64, T)>) {
        let first = things.front().map_or(NONE, |(number, _)| *number);
        self.first.store(first, Ordering::Relaxed); // Relaxed: a hint.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_out_in_order_once_the_watermark_has_reached_them() {
        let (mut unsettled, shared) = (Unsettled::default(), Shared::default());
        unsettled.push(3, 'a', &shared);
        unsettled.push(2, 'b', &shared);
        assert_eq!(unsettled.pop(2), None, "what stands behind one that must wait, waits");
        assert_eq!(unsettled.pop(3), Some((3, 'a')));
        assert_eq!(unsettled.pop(3), Some((2, 'b')));
        assert!(unsettled.is_empty());
        assert_eq!(unsettled.budget(), 2 * PER_ADDED + BESIDES);
        assert_eq!(unsettled.budget(), BESIDES);
    }

    #[test]
    fn an_idle_slot_keeps_few_and_others_settle_the_rest() {
        let (mut idle, mut busy, shared) = (Unsettled::default(), Unsettled::default(), Shared::default());
        (0..10_000).for_each(|number| idle.push(number, (), &shared));
        assert!(idle.things.len() <= KEPT_MAX);
        let mut seen = Vec::new();
        let mut settle = |busy: &mut Unsettled<()>, watermark| {
            busy.help(&shared);
            while let Some((number, ())) = busy.pop(watermark) {
                seen.push(number);
                busy.help(&shared);
            }
        };
        settle(&mut busy, 5_000);
        assert!(!busy.is_empty() && busy.things.len() <= HANDED, "some that it took must wait");
        settle(&mut busy, 20_000);
        idle.leave(&shared);
        busy.push(30_000, (), &shared);
        settle(&mut busy, 20_000);
        assert_eq!(busy.pop(30_000), Some((30_000, ())), "its own waits, and is not in the way of others");
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..10_000), "none is lost and none comes twice");
    }
}
