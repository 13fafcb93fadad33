//! Reads of stale versions: what has not been overwritten for long will not be so soon, and who reads very much of it
//! need not remember each record (the read optimization of SSN: Wang, Johnson, Fekete, Pandis, VLDB Journal 26, 2017).
//! All stale versions together are then one thing that was read. Whoever overwrites any of them tells all who have
//! read some and are still there, as if they had read that one; and if its rule sees danger, it takes the last of them
//! that is gone for a reader of that one.
//!
//! INVARIANTS
//! (1) A read that leaves no trace is of a version that is stale for the reader's snapshot, and is the newest of its
//!     record when the reader has already been counted ([`AntiDependencies::read_stale`](super::AntiDependencies)).
//!     So its writer's successor, who puts its own over it, finds the version stale for its own, greater, number, and
//!     then finds the reader counted, unless that is over.
//! (2) A commit tells readers before it ends its decision, and a reader looks at what it was told when no commit is
//!     being decided that it must know of. What comes later, or is left from an attempt before, refuses it without
//!     need, and no more.
//! (3) The mark of the readers never falls, and is left as marks of leaves are.

use sync::Padded;
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;

use crate::plants;

/// Nobody reads; otherwise above all numbers, or the least that was told.
const NOBODY: u64 = 0;
const NOTHING: u64 = u64::MAX;

/// Who reads stale versions, and what they are told.
#[derive(Debug)]
pub(super) struct StaleReads {
    /// So far behind a number are those of stale versions.
    age: u64,
    /// So many reads of an attempt are remembered, whatever they are of.
    remembered: usize,
    /// How many attempts have read some.
    readers: Padded<AtomicU64>,
    told: Box<[Padded<Told>]>,
    /// The greatest mark of those that are over.
    read: Padded<AtomicU64>,
}

/// The least number, and the least note, of commits that have overwritten what is stale.
#[derive(Debug, Default)]
struct Told {
    number: AtomicU64,
    note: AtomicU64,
}

impl StaleReads {
    /// For this many slots.
    pub(super) fn new(age: u64, remembered: usize, slots: usize) -> Self {
        let told = (0..slots).map(|_| Padded::default()).collect();
        Self { age, remembered, readers: Padded::default(), told, read: Padded::default() }
    }

    /// Whether an attempt that has read so much remembers no more of what is stale.
    #[inline]
    pub(super) fn is_enough(&self, reads: usize) -> bool {
        reads >= self.remembered
    }

    /// Whether a version of this number is stale for whoever has the number, or the snapshot, `now`.
    #[inline]
    pub(super) fn is_stale(&self, number: u64, now: u64) -> bool {
        number.saturating_add(self.age) <= now
    }

    /// A slot is about to read stale versions.
    #[cold]
    pub(super) fn enter(&self, slot: usize) {
        let told = &self.told[slot];
        // Relaxed, both: the count publishes them.
        told.note.store(NOTHING, Ordering::Relaxed);
        told.number.store(NOTHING, Ordering::Relaxed);
        // SeqCst: with the look for the newest version that follows, pairs with the push of one and the look at the
        // count in `tell`: a reader that misses the version is counted.
        self.readers.fetch_add(1, Ordering::SeqCst);
    }

    /// Its attempt is over.
    #[cold]
    pub(super) fn leave(&self, slot: usize) {
        // Relaxed: who tells the slot yet tells the next attempt, at worst.
        self.told[slot].number.store(NOBODY, Ordering::Relaxed);
        // Release: pairs with the SeqCst in `tell`: who does not count the attempt comes after all that it did.
        self.readers.fetch_sub(1, Ordering::Release);
    }

    /// A commit with this number and note has overwritten something that is stale.
    pub(super) fn tell(&self, number: u64, note: u64) {
        // SeqCst: see `enter`.
        if self.readers.load(Ordering::SeqCst) == 0 || is_planted(&plants::STALE_READERS_UNTOLD) {
            return;
        }
        for told in &self.told {
            // Relaxed, all: the end of the decision publishes them to those who must know.
            if told.number.load(Ordering::Relaxed) != NOBODY {
                told.note.fetch_min(note, Ordering::Relaxed);
                told.number.fetch_min(number, Ordering::Relaxed);
            }
        }
    }

    /// What a slot was told: the least number and the least note, if any is before `end`.
    pub(super) fn told(&self, slot: usize, end: u64) -> Option<(u64, u64)> {
        let told = &self.told[slot];
        // Relaxed, both: ordered by the looks at those who decided.
        let number = told.number.load(Ordering::Relaxed);
        (number < end).then(|| (number, told.note.load(Ordering::Relaxed)))
    }

    /// Leaves the mark of a reader.
    pub(super) fn mark(&self, mark: u64) {
        self.read.fetch_max(mark, Ordering::Relaxed); // Relaxed: ordered as marks of leaves are.
    }

    /// The greatest mark.
    pub(super) fn marked(&self) -> u64 {
        // Relaxed: ordered as marks of leaves are.
        if is_planted(&plants::STALE_READERS_UNSEEN) { 0 } else { self.read.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_read_are_told_the_least_and_others_nothing() {
        let stale = StaleReads::new(10, 0, 2);
        stale.tell(5, 3);
        stale.enter(0);
        assert_eq!(stale.told(0, NOTHING), None);
        stale.tell(20, 20);
        stale.tell(25, 7);
        assert_eq!((stale.told(0, NOTHING), stale.told(0, 20)), (Some((20, 7)), None));
        stale.enter(1);
        assert_eq!(stale.told(1, NOTHING), None);
        stale.leave(0);
        stale.tell(30, 30);
        stale.enter(0);
        assert_eq!((stale.told(0, NOTHING), stale.told(1, NOTHING)), (None, Some((30, 30))));
    }

    #[test]
    fn what_is_stale_for_a_snapshot_is_so_for_greater_numbers() {
        let stale = StaleReads::new(10, 0, 1);
        for (number, now, is_stale) in
            [(5, 14, false), (5, 15, true), (5, 99, true), (0, 9, false), (u64::MAX, 9, false)]
        {
            assert_eq!(stale.is_stale(number, now), is_stale);
        }
    }
}
