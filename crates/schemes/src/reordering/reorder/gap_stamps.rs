//! Stamps of gaps: numbers that tell the validator, which knows no leaf, which keys an attempt may have missed.
//!
//! A leaf has the stamp at the place that its id leads to. Each key that enters the leaf makes the stamp grow. So an
//! attempt that has seen a stamp before it looked into the leaf may have missed the keys that entered with this stamp
//! or a later one. That matters if their attempt commits: then the attempt that has missed them must come before. Some
//! changes of a stamp *count at once*, whoever commits: a leaf was split, so that later keys enter another one, or a
//! record without a value was marked as one that leaves the indexes, so that its key may come back in another record.
//!
//! Several leaves may have one stamp. Then an attempt may be ordered, or aborted, without need.

use sync::atomic::{AtomicU64, Ordering};

/// The number of stamps: many for each transaction that is open at a time, in 256 KiB.
const STAMPS: usize = 1 << 14;

/// The stamps of all gaps.
#[derive(Debug)]
pub struct GapStamps {
    stamps: Box<[Stamp]>,
    /// The number of entries that were used again, of gaps that nobody knows any more.
    reused: AtomicU64,
}

#[derive(Debug, Default)]
struct Stamp {
    /// The stamp with which the next key enters.
    next: AtomicU64,
    /// All that entered before this counts at once.
    at_once: AtomicU64,
}

/// A gap as an attempt has seen it, or has changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The place of the stamp.
    pub place: usize,
    /// Seen: keys with this stamp or a later one may be missed. Changed: the stamp of the key.
    pub stamp: u64,
}

impl Default for GapStamps {
    fn default() -> Self {
        Self { stamps: (0..STAMPS).map(|_| Stamp::default()).collect(), reused: AtomicU64::new(0) }
    }
}

impl GapStamps {
    /// The number of places.
    pub const PLACES: usize = STAMPS;

    /// The gaps of a leaf, or the record in place of one, with this id, as they are now.
    #[inline]
    pub fn of(&self, id: usize) -> Gap {
        let place = place_of(id);
        // Acquire: pairs with the Release of those who change it: what is looked at later shows what they have changed.
        Gap { place, stamp: self.stamps[place].next.load(Ordering::Acquire) }
    }

    /// A key has entered the leaf with this id.
    #[inline]
    pub fn enter(&self, id: usize) -> Gap {
        let place = place_of(id);
        // AcqRel: changes follow each other.
        Gap { place, stamp: self.stamps[place].next.fetch_add(1, Ordering::AcqRel) }
    }

    /// A change that counts at once.
    #[inline]
    pub fn force(&self, id: usize) -> Gap {
        let gap = self.enter(id);
        // AcqRel: as above.
        self.stamps[gap.place].at_once.fetch_max(gap.stamp + 1, Ordering::AcqRel);
        gap
    }

    /// An entry of a leaf that nobody knows is used again: all gaps that were seen may have changed. Returns the number
    /// of such entries before.
    #[inline]
    pub fn reuse(&self) -> u64 {
        self.reused.fetch_add(1, Ordering::AcqRel) // AcqRel: as above.
    }

    /// The number of entries that were used again.
    #[inline]
    pub fn reused(&self) -> u64 {
        self.reused.load(Ordering::Acquire) // Acquire: as in `of`.
    }

    /// Whether something that counts at once has changed in the gaps since they were seen.
    #[inline]
    pub fn is_forced(&self, seen: Gap) -> bool {
        // Acquire: what is decided later has changed the stamp later, or it is seen here.
        self.stamps[seen.place].at_once.load(Ordering::Acquire) > seen.stamp
    }
}

/// The place of the stamp for an id, which is an address: its low bits are alike.
#[inline]
fn place_of(id: usize) -> usize {
    ((id as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (STAMPS - 1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_enters_later_has_a_later_stamp_and_counts_at_once_only_if_it_must() {
        let stamps = GapStamps::default();
        let [one, other] = [stamps.of(64), stamps.of(128)];
        assert_ne!(one.place, other.place);
        assert_eq!(stamps.enter(64), one, "who has seen this stamp may have missed the key");
        assert!(stamps.of(64).stamp > one.stamp && !stamps.is_forced(one));
        stamps.force(64);
        assert!(stamps.is_forced(one) && !stamps.is_forced(stamps.of(64)) && !stamps.is_forced(other));
    }
}
