//! Reader-writer locks that may be given up at any time, because what they protect is validated all the same: taken
//! in a canonical order, so that whoever waits for one can close no circle (Wang and Kimura, PVLDB 10(2), 2016, 3.3).
//!
//! INVARIANTS
//! (1) Who waits for a lock holds none of the same or a larger address: those are given up before.
//! (2) A word has its exclusive bit, or counts who shares it, never both. Whoever waits for it exclusively sets the
//!     bit that keeps new readers out, and gets the lock in the end, which clears it.

use storage::{RecordRef, Shape};
use sync::atomic::{AtomicU32, Ordering};
use sync::plant::is_planted;
use sync::waiter;

use crate::plants;

const EXCLUSIVE: u32 = 1;
const WANTED: u32 = 2;
const SHARED: u32 = 4;

/// How a record is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// With others that share it.
    Shared,
    /// By one alone.
    Exclusive,
}

/// The lock of a record.
#[derive(Debug, Default)]
pub struct LockWord(AtomicU32);

impl LockWord {
    /// Locks, unless others are in the way, or, to share it, want it exclusively.
    #[inline]
    pub fn try_lock(&self, mode: Mode) -> bool {
        loop {
            let word = self.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
            let locked = match mode {
                Mode::Exclusive if word & !WANTED == 0 => EXCLUSIVE,
                Mode::Shared if word & (EXCLUSIVE | WANTED) == 0 => word + SHARED,
                _ => return false,
            };
            // Acquire: pairs with the Release in `unlock`. Relaxed on failure: nothing is read.
            if self.0.compare_exchange(word, locked, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return true;
            }
        }
    }

    /// Makes a lock exclusive that the caller shares, if nobody else does.
    #[inline]
    fn upgrade(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        // Acquire: pairs with the Release in `unlock`. Relaxed on failure: nothing is read.
        word & !WANTED == SHARED
            && self.0.compare_exchange(word, EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits until the lock may be had. Who gets it exclusively clears that others want it so; they say it again.
    #[cold]
    fn wait(&self, mode: Mode) {
        let in_the_way = match mode {
            Mode::Exclusive => {
                self.0.fetch_or(WANTED, Ordering::Relaxed); // Relaxed: a hint.
                !WANTED
            }
            Mode::Shared => EXCLUSIVE | WANTED,
        };
        waiter::wait_until(None, || self.0.load(Ordering::Relaxed) & in_the_way == 0); // Relaxed: a hint.
    }

    /// Unlocks.
    #[inline]
    pub fn unlock(&self, mode: Mode) {
        // Release: pairs with the Acquire of the next lock.
        match mode {
            Mode::Shared => self.0.fetch_sub(SHARED, Ordering::Release),
            Mode::Exclusive => self.0.fetch_and(!EXCLUSIVE, Ordering::Release),
        };
    }
}

/// Schemes whose records have such a lock.
pub trait Lockable: Shape {
    /// The lock of a record.
    fn lock_of(record: RecordRef<'_, Self>) -> &LockWord;
}

/// The locks of an attempt, in the order of addresses.
#[derive(Debug)]
pub struct CanonicalLocks<'db, S: Lockable>(Vec<(RecordRef<'db, S>, Mode)>);

impl<S: Lockable> Default for CanonicalLocks<'_, S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'db, S: Lockable> CanonicalLocks<'db, S> {
    /// Locks a record, once nobody is in the way. If somebody is, the locks that it would not be canonical to hold
    /// meanwhile are given up.
    pub fn lock(&mut self, record: RecordRef<'db, S>, mode: Mode) {
        if self.try_lock(record, mode) {
            return;
        }
        if !is_planted(&plants::LOCKS_WAIT_ANYHOW) {
            self.give_up_from(record.id());
            assert!(self.0.last().is_none_or(|(last, _)| last.id() < record.id()), "invariant (1)");
        }
        while !self.try_lock(record, mode) {
            S::lock_of(record).wait(mode);
        }
    }

    /// Locks a record unless others are in the way, and says whether it is locked as strongly as that now.
    #[inline]
    pub fn try_lock(&mut self, record: RecordRef<'db, S>, mode: Mode) -> bool {
        let lock = S::lock_of(record);
        let at = self.0.partition_point(|(held, _)| held.id() < record.id());
        let Some((_, held)) = self.0.get_mut(at).filter(|(held, _)| held.id() == record.id()) else {
            let is_locked = lock.try_lock(mode);
            if is_locked {
                self.0.insert(at, (record, mode));
            }
            return is_locked;
        };
        if *held < mode && lock.upgrade() {
            *held = mode;
        }
        *held >= mode
    }

    /// Gives up the locks of records from this address on.
    fn give_up_from(&mut self, id: usize) {
        let at = self.0.partition_point(|(held, _)| held.id() < id);
        for (record, mode) in self.0.drain(at..) {
            S::lock_of(record).unlock(mode);
        }
    }

    /// Gives up all locks.
    #[inline]
    pub fn give_up(&mut self) {
        self.give_up_from(0);
    }

    /// The records that are locked.
    #[inline]
    pub fn records(&self) -> impl Iterator<Item = RecordRef<'db, S>> {
        self.0.iter().map(|(record, _)| *record)
    }
}

/// What the retry of an attempt is to lock when it comes to it: its retrospective lock list.
#[derive(Debug, Default)]
pub struct Retrospective(Vec<(usize, Mode)>);

impl Retrospective {
    /// Notes these records, by id, and nothing else; of each the strongest lock.
    pub fn replace(&mut self, locks: impl Iterator<Item = (usize, Mode)>) {
        self.0.clear();
        self.0.extend(locks);
        self.0.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        self.0.dedup_by_key(|(id, _)| *id);
    }

    /// How a record is to be locked, if it is among them.
    #[inline]
    pub fn find(&self, id: usize) -> Option<Mode> {
        let at = self.0.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.0[at].1)
    }

    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_shared_or_exclusive() {
        let lock = LockWord::default();
        assert!(
            lock.try_lock(Mode::Shared) && lock.try_lock(Mode::Shared) && !lock.try_lock(Mode::Exclusive)
        );
        assert!(!lock.upgrade(), "another shares it");
        lock.unlock(Mode::Shared);
        assert!(lock.upgrade() && !lock.try_lock(Mode::Shared) && !lock.try_lock(Mode::Exclusive));
        lock.unlock(Mode::Exclusive);
        assert!(lock.try_lock(Mode::Exclusive));
    }

    #[test]
    fn of_each_record_the_strongest_lock_is_noted() {
        let mut list = Retrospective::default();
        list.replace([(7, Mode::Shared), (3, Mode::Shared), (7, Mode::Exclusive)].into_iter());
        assert_eq!([3, 7, 8].map(|id| list.find(id)), [Some(Mode::Shared), Some(Mode::Exclusive), None]);
    }

    #[test]
    fn who_waits_for_it_exclusively_keeps_new_readers_out() {
        let lock = LockWord::default();
        assert!(lock.try_lock(Mode::Shared));
        lock.0.fetch_or(WANTED, Ordering::Relaxed);
        assert!(!lock.try_lock(Mode::Shared) && !lock.try_lock(Mode::Exclusive));
        lock.unlock(Mode::Shared);
        assert!(!lock.try_lock(Mode::Shared) && lock.try_lock(Mode::Exclusive));
        lock.unlock(Mode::Exclusive);
        assert!(lock.try_lock(Mode::Shared), "whoever got it has cleared that");
    }
}
