//! The commits whose writes are in place: the number below which all are.
//!
//! Commits are numbered in the order in which they are decided, and their writes are installed by their own sessions,
//! in any order. An attempt that begins when all commits up to a number are in place sees the writes of these, and
//! needs to be compared with later ones only.

use sync::Padded;
use sync::atomic::{AtomicU64, Ordering, fence};

/// The commits whose writes are in place.
#[derive(Debug)]
pub struct Installs {
    /// All commits up to this number are in place.
    complete: Padded<AtomicU64>,
    /// The number of the last commit in place, of those that share a place in the ring. The length is a power of two.
    done: Box<[AtomicU64]>,
}

impl Installs {
    /// Makes a ring for at least this many commits between the first one that is not in place and the last one.
    pub fn new(room: usize) -> Self {
        let done = (0..room.next_power_of_two()).map(|_| AtomicU64::new(0)).collect();
        Self { complete: Padded::default(), done }
    }

    /// The number up to which all commits are in place.
    #[inline]
    pub fn complete(&self) -> u64 {
        // Acquire: pairs with the Release of the exchange in `finish`: what is in place is seen.
        self.complete.load(Ordering::Acquire)
    }

    /// Whether a commit with this number may be decided: the ring has a place for it.
    #[inline]
    pub fn has_room(&self, number: u64) -> bool {
        number - self.complete() <= self.done.len() as u64
    }

    /// The writes of a commit are in place.
    #[inline]
    pub fn finish(&self, number: u64) {
        // Release: pairs with the Acquire in the loop, of the values that the commit has installed.
        self.at(number).store(number, Ordering::Release);
        // SeqCst fence: pairs with itself. Of two that finish at a time, one sees the number of the other.
        fence(Ordering::SeqCst);
        let mut next = self.complete() + 1;
        while self.at(next).load(Ordering::Acquire) == next {
            // AcqRel: pairs with the Acquire in `complete`: the values of all commits up to here come before. Another
            // commit may have been faster.
            _ = self.complete.compare_exchange(next - 1, next, Ordering::AcqRel, Ordering::Acquire);
            next = self.complete() + 1;
        }
    }

    #[inline]
    fn at(&self, number: u64) -> &AtomicU64 {
        &self.done[number as usize & (self.done.len() - 1)]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_up_to_the_first_gap_are_complete() {
        let installs = Installs::new(4);
        for (number, complete) in [(2, 0), (3, 0), (1, 3), (5, 3), (4, 5)] {
            installs.finish(number);
            assert_eq!(installs.complete(), complete, "after {number}");
        }
        assert!(installs.has_room(9) && !installs.has_room(10));
    }
}
