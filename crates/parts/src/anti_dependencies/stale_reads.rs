//! Reads of stale versions. A version that has not been overwritten for long will not be soon, and an attempt that
//! reads very many such versions need not remember each record (the read optimization of SSN: Wang, Johnson, Fekete,
//! Pandis, VLDB Journal 26, 2017). All stale versions together then count as one thing that was read. An attempt that
//! overwrites any of them tells all live readers of stale versions, as if they had read that version. If its rule sees
//! danger, it treats the last reader that is over as a reader of that version.
//!
//! INVARIANTS
//! (1) A read that leaves no trace is of a version that is stale for the reader's snapshot, and is the newest of its
//!     record when the reader has already been counted ([`AntiDependencies::read_stale`](super::AntiDependencies)). So
//!     the writer that puts the next version over it finds the version stale for its own, greater, number, and then
//!     finds the reader counted, unless the reader is over.
//! (2) A commit tells readers before it ends its decision, and a reader looks at what it was told when no commit is
//!     being decided that it must know of. A message that comes later, or is left from an earlier attempt, can only
//!     refuse the reader without need.
//! (3) The mark of the readers never falls, and is left in the same way as the marks of leaves.

use sync::Padded;
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;

use crate::plants;

/// The number told to a slot: `NOBODY` if it does not read; otherwise `NOTHING`, above all numbers, or the least number
/// that was told.
const NOBODY: u64 = 0;
const NOTHING: u64 = u64::MAX;

/// The readers of stale versions, and the messages to them.
#[derive(Debug)]
pub(super) struct StaleReads {
    /// The distance, in numbers, from which on a version is stale.
    age: u64,
    /// The number of reads that an attempt remembers, of whichever versions.
    remembered: usize,
    /// The number of attempts that have read stale versions.
    readers: Padded<AtomicU64>,
    told: Box<[Padded<Told>]>,
    /// The greatest mark of the readers that are over.
    read: Padded<AtomicU64>,
}

/// The least number, and the least note, of commits that have overwritten stale versions.
#[derive(Debug, Default)]
struct Told {
    number: AtomicU64,
    note: AtomicU64,
}

impl StaleReads {
    /// Makes the state for this many slots.
    pub(super) fn new(age: u64, remembered: usize, slots: usize) -> Self {
        let told = (0..slots).map(|_| Padded::default()).collect();
        Self { age, remembered, readers: Padded::default(), told, read: Padded::default() }
    }

    /// Whether an attempt with this many reads remembers no more reads of stale versions.
    #[inline]
    pub(super) fn is_enough(&self, reads: usize) -> bool {
        reads >= self.remembered
    }

    /// Whether a version with this number is stale for an attempt whose number, or snapshot, is `now`.
    #[inline]
    pub(super) fn is_stale(&self, number: u64, now: u64) -> bool {
        number.saturating_add(self.age) <= now
    }

    /// Counts a slot that is about to read stale versions.
    #[cold]
    pub(super) fn enter(&self, slot: usize) {
        let told = &self.told[slot];
        // Relaxed, both: the count publishes them.
        told.note.store(NOTHING, Ordering::Relaxed);
        told.number.store(NOTHING, Ordering::Relaxed);
        // SeqCst: with the reader's following look for the newest version, pairs with the push of a version and the
        // look at the count in `tell`: a reader that misses the version is counted.
        self.readers.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends the count of a slot whose attempt is over.
    #[cold]
    pub(super) fn leave(&self, slot: usize) {
        // Relaxed: a commit that still tells the slot tells the next attempt, at worst.
        self.told[slot].number.store(NOBODY, Ordering::Relaxed);
        // Release: pairs with the SeqCst in `tell`: a commit that does not count the attempt comes after everything
        // that it did.
        self.readers.fetch_sub(1, Ordering::Release);
    }

    /// Tells readers that a commit with this number and note has overwritten a stale version.
    pub(super) fn tell(&self, number: u64, note: u64) {
        // SeqCst: see `enter`.
        if self.readers.load(Ordering::SeqCst) == 0 || is_planted(&plants::STALE_READERS_UNTOLD) {
            return;
        }
        for told in &self.told {
            // Relaxed, all: the end of the decision publishes them to the readers that must know.
            if told.number.load(Ordering::Relaxed) != NOBODY {
                told.note.fetch_min(note, Ordering::Relaxed);
                told.number.fetch_min(number, Ordering::Relaxed);
            }
        }
    }

    /// The messages to a slot: the least number and the least note, if any number is before `end`.
    pub(super) fn told(&self, slot: usize, end: u64) -> Option<(u64, u64)> {
        let told = &self.told[slot];
        // Relaxed, both: ordered by the looks at the deciding slots.
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
