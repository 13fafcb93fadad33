//! A lock that is a bit of a record's word, for schemes that lock what they write when they commit.

use engine::{Abort, Retire};
use storage::{InPlace, RecordRef, Shape};
use sync::atomic::{AtomicU64, Ordering, fence};
use sync::plant::is_planted;
use sync::waiter;

use crate::plants;

/// The bits of a record's word that locking looks at.
#[derive(Clone, Copy, Debug)]
pub struct LockBits {
    /// Set by whoever holds the lock.
    pub locked: u64,
    /// Set once the record has left the indexes: it is locked no more.
    pub retired: u64,
}

impl LockBits {
    /// Locks, unless somebody else has: the word in which the bit was set. Who sets it clears it, or stores
    /// another word, with Release.
    ///
    /// # Errors
    /// When the record is retired.
    #[inline]
    pub fn try_lock(self, word: &AtomicU64) -> Result<Option<u64>, Abort> {
        loop {
            let now = word.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
            if now & self.retired != 0 {
                return Err(Abort::WriteConflict);
            }
            if now & self.locked != 0 {
                return Ok(None);
            }
            // Acquire: pairs with the Release of the last lock's end. Relaxed on failure: nothing is read.
            if word.compare_exchange(now, now | self.locked, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Ok(Some(now));
            }
        }
    }

    /// Locks, once nobody else has: as [`try_lock`](Self::try_lock).
    ///
    /// # Errors
    /// When the record is retired.
    pub fn lock(self, word: &AtomicU64) -> Result<u64, Abort> {
        loop {
            if let Some(now) = self.try_lock(word)? {
                return Ok(now);
            }
            waiter::wait_clear(word, self.locked);
        }
    }

    // ANCHOR: copy_stable
    /// The word of a record, unlocked, and its value as of that word: copied to `copy`, if that is wanted and the
    /// bit `no_value` does not say that there is none. Waits for whoever has the lock.
    ///
    /// For words that change whenever the value does. Who changes it has a Release fence, or a stronger one, between
    /// the lock and the value, and stores the new word with Release.
    ///
    /// # Errors
    /// When the record is retired.
    #[inline(always)]
    pub fn copy_stable<S: Shape<Data = InPlace>>(
        self,
        record: RecordRef<'_, S>,
        word: &AtomicU64,
        no_value: u64,
        mut copy: Option<&mut [u64]>,
    ) -> Result<u64, Abort> {
        loop {
            // Acquire: pairs with the Release of whoever changed the value.
            let now = word.load(Ordering::Acquire);
            if now & (self.retired | self.locked) != 0 {
                if now & self.retired != 0 {
                    return Err(Abort::ReadChanged);
                }
                waiter::wait_clear(word, self.locked);
                continue;
            }
            let Some(copy) = copy.as_deref_mut().filter(|_| now & no_value == 0) else { return Ok(now) };
            record.load(copy);
            // Acquire fence: the copy comes before the second look at the word, so that a copy which saw a
            // store of a later writer sees that writer's lock or word, by the fence that follows the lock.
            fence(Ordering::Acquire);
            // Relaxed: ordered by the fence.
            if word.load(Ordering::Relaxed) == now || is_planted(&plants::COPIES_ONCE) {
                return Ok(now);
            }
        }
    }
    // ANCHOR_END: copy_stable

    /// Unlocks what was locked, as it was.
    #[inline]
    pub fn unlock(self, word: &AtomicU64) {
        // Release: pairs with the Acquire of the next lock. Nothing was changed under this one.
        word.fetch_and(!self.locked, Ordering::Release);
    }

    /// See [`Scheme::retire`](engine::Scheme::retire), for records of which the bit `no_value` says that they have
    /// none.
    pub fn retire(self, word: &AtomicU64, no_value: u64) -> Retire {
        self.retire_if(word, no_value, |_| true)
    }

    /// Like [`retire`](Self::retire), unless `may` refuses it for now, which is asked about the word.
    pub fn retire_if(self, word: &AtomicU64, no_value: u64, may: impl FnOnce(u64) -> bool) -> Retire {
        let now = word.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        if now & self.retired != 0 {
            return Retire::Done;
        }
        if now & self.locked != 0 {
            return Retire::Later;
        }
        if now & no_value == 0 {
            return Retire::Alive;
        }
        if !may(now) {
            return Retire::Later;
        }
        // AcqRel: whoever sees the mark sees what led to it, and the marker what came before.
        // Relaxed on failure: nothing is read.
        let marked = word.compare_exchange(now, now | self.retired, Ordering::AcqRel, Ordering::Relaxed);
        if marked.is_ok() { Retire::Done } else { Retire::Later }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_once_and_not_of_what_is_retired() {
        let word = AtomicU64::new(0b1000);
        let bits = LockBits { locked: 1, retired: 2 };
        assert_eq!(bits.lock(&word), Ok(0b1000));
        assert_eq!(bits.try_lock(&word), Ok(None));
        bits.unlock(&word);
        assert_eq!(bits.try_lock(&word), Ok(Some(0b1000)));
        bits.unlock(&word);
        word.fetch_or(2, Ordering::Relaxed);
        assert_eq!(bits.try_lock(&word), Err(Abort::WriteConflict));
        assert_eq!(bits.lock(&word), Err(Abort::WriteConflict));
    }

    #[test]
    fn what_has_no_value_retires_unless_somebody_has_locked_it() {
        let word = AtomicU64::new(0b1000);
        let bits = LockBits { locked: 1, retired: 2 };
        assert_eq!(bits.retire(&word, 4), Retire::Alive);
        word.fetch_or(4, Ordering::Relaxed);
        assert_eq!(bits.lock(&word), Ok(0b1100));
        assert_eq!(bits.retire(&word, 4), Retire::Later);
        bits.unlock(&word);
        assert_eq!([bits.retire(&word, 4), bits.retire(&word, 4)], [Retire::Done; 2]);
        assert_eq!(word.load(Ordering::Relaxed), 0b1110);
    }
}
