//! Reader-writer locks that may be given up at any time, because the reads that they protect are validated anyway:
//! taken in a canonical order, so that no wait for one can close a circle (Wang and Kimura, PVLDB 10(2), 2016, 3.3).
//!
//! INVARIANTS
//! (1) An attempt that waits for a lock holds no lock of the same or a larger address: it gives those up before.
//! (2) A word has its exclusive bit, or counts its sharers, never both. An attempt that waits for it exclusively sets
//!     the bit that keeps new readers out, and gets the lock in the end, which clears the bit.

use engine::SortedList;
use storage::{RecordRef, Shape};
use sync::atomic::{AtomicU32, Ordering};
use sync::plant::is_planted;
use sync::waiter;

use crate::{Validates, Workspace, plants};

const EXCLUSIVE: u32 = 1;
const WANTED: u32 = 2;
const SHARED: u32 = 4;

/// How a record is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// By any number of attempts that share it.
    Shared,
    /// By one attempt alone.
    Exclusive,
}

/// The lock of a record.
#[derive(Debug, Default)]
pub struct LockWord(AtomicU32);

impl LockWord {
    /// Locks, unless other holders conflict or, for a shared lock, an attempt wants it exclusively. Returns whether it
    /// did.
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

    /// Whether the lock could be had in this mode: a hint.
    #[inline]
    pub fn admits(&self, mode: Mode) -> bool {
        let word = self.0.load(Ordering::Relaxed); // Relaxed: a hint.
        match mode {
            Mode::Exclusive => word & !WANTED == 0,
            Mode::Shared => word & (EXCLUSIVE | WANTED) == 0,
        }
    }

    /// Makes a lock exclusive that the caller shares, if no other attempt shares it.
    #[inline]
    pub fn upgrade(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        // Acquire: pairs with the Release in `unlock`. Relaxed on failure: nothing is read.
        word & !WANTED == SHARED
            && self.0.compare_exchange(word, EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits until the lock may be had. Getting it exclusively clears the bit by which other attempts want it so; those
    /// who still wait set it again.
    #[cold]
    fn wait(&self, mode: Mode) {
        waiter::wait_until(None, || {
            let word = self.0.load(Ordering::Relaxed); // Relaxed: a hint.
            match mode {
                Mode::Exclusive if word & WANTED == 0 => {
                    let word = self.0.fetch_or(WANTED, Ordering::Relaxed); // Relaxed: a hint.
                    word & !WANTED == 0
                }
                Mode::Exclusive => word & !WANTED == 0,
                Mode::Shared => word & (EXCLUSIVE | WANTED) == 0,
            }
        });
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
pub struct CanonicalLocks<'db, S: Lockable>(SortedList<usize, (RecordRef<'db, S>, Mode)>);

impl<S: Lockable> Default for CanonicalLocks<'_, S> {
    fn default() -> Self {
        Self(SortedList::default())
    }
}

impl<'db, S: Lockable> CanonicalLocks<'db, S> {
    /// Locks a record, once no other attempt is in the way. If one is, the locks that would break the canonical order
    /// during the wait are given up.
    pub fn lock(&mut self, record: RecordRef<'db, S>, mode: Mode) {
        if self.try_lock(record, mode) {
            return;
        }
        if !is_planted(&plants::LOCKS_WAIT_ANYHOW) {
            self.give_up_from(record.id());
            assert!(self.0.last().is_none_or(|(last, _)| *last < record.id()), "invariant (1)");
        }
        while !self.try_lock(record, mode) {
            S::lock_of(record).wait(mode);
        }
    }

    /// Locks a record: waits if that is canonical; otherwise only if no other attempt is in the way. Returns whether
    /// the record is now locked at least in this mode.
    #[inline]
    pub fn lock_if_canonical(&mut self, record: RecordRef<'db, S>, mode: Mode) -> bool {
        if self.try_lock(record, mode) {
            return true;
        }
        // A lock that is only to become stronger may be given up first: its reads are validated anyway.
        let is_canonical = self.0.last().is_none_or(|(last, _)| *last <= record.id());
        if is_canonical {
            self.lock(record, mode);
        }
        is_canonical
    }

    /// Locks a record unless other attempts are in the way. Returns whether the record is now locked at least in this
    /// mode.
    #[inline]
    pub fn try_lock(&mut self, record: RecordRef<'db, S>, mode: Mode) -> bool {
        let lock = S::lock_of(record);
        let Some((_, held)) = self.0.find_mut(&record.id()) else {
            let is_locked = lock.try_lock(mode);
            if is_locked {
                self.0.insert(record.id(), (record, mode));
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
        let from = self.0.partition(|held| *held < id);
        self.0.drain_from(from, |_, (record, mode)| S::lock_of(record).unlock(mode));
    }

    /// Gives up all locks.
    #[inline]
    pub fn give_up(&mut self) {
        self.give_up_from(0);
    }

    /// The locked records.
    #[inline]
    pub fn records(&self) -> impl Iterator<Item = RecordRef<'db, S>> {
        self.0.iter().map(|(_, (record, _))| *record)
    }
}

/// The locks that the retry of an attempt is to take: its retrospective lock list, of records or of other things with
/// ids.
#[derive(Debug)]
pub struct Retrospective<R> {
    locks: Vec<(usize, Mode, R)>,
    /// The number of locks that were handed out, from the first on.
    reached: usize,
}

impl<R> Default for Retrospective<R> {
    fn default() -> Self {
        Self { locks: Vec::new(), reached: 0 }
    }
}

impl<R: Copy> Retrospective<R> {
    /// Replaces the list by these records, each with its id. Each record keeps its strongest lock.
    pub fn replace(&mut self, locks: impl Iterator<Item = (usize, Mode, R)>) {
        self.clear();
        self.locks.extend(locks);
        self.locks.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        self.locks.dedup_by_key(|(id, ..)| *id);
    }

    /// The mode in which a record is to be locked, if it is in the list.
    #[inline]
    pub fn find(&self, id: usize) -> Option<Mode> {
        Some(self.locks[self.position(id)?].1)
    }

    /// If a record is in the list: it and all before it, except those that were handed out before.
    #[inline]
    pub fn reach(&mut self, id: usize) -> Option<&[(usize, Mode, R)]> {
        let from = self.reached;
        self.reached = from.max(self.position(id)? + 1);
        Some(&self.locks[from..self.reached])
    }

    #[inline]
    fn position(&self, id: usize) -> Option<usize> {
        self.locks.binary_search_by_key(&id, |(id, ..)| *id).ok()
    }

    /// Clears the list.
    #[inline]
    pub fn clear(&mut self) {
        self.locks.clear();
        self.reached = 0;
    }
}

impl<'db, S: Validates<Seen = u64> + Lockable> Retrospective<RecordRef<'db, S>> {
    /// Lists the locks of the transaction's next attempt: the records that this attempt was to write, those that it has
    /// locked, and those that it has read and that are `in_the_way`, a function of the record and the word that was
    /// seen.
    #[cold]
    pub fn look_back(
        &mut self,
        sets: &Workspace<'db, S>,
        locks: &CanonicalLocks<'db, S>,
        in_the_way: impl Fn(RecordRef<'db, S>, u64) -> bool,
    ) {
        let failed = sets.reads.iter().filter(|(record, seen)| in_the_way(*record, *seen));
        let shared = locks.records().chain(failed.map(|(record, _)| *record));
        let shared = shared.map(|record| (record.id(), Mode::Shared, record));
        let exclusive = sets.writes.iter().map(|write| (write.record.id(), Mode::Exclusive, write.record));
        self.replace(shared.chain(exclusive));
    }
}

#[cfg(test)]
mod tests {
    use sync::fiber;

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
        list.replace([(7, Mode::Shared, ()), (3, Mode::Shared, ()), (7, Mode::Exclusive, ())].into_iter());
        assert_eq!([3, 7, 8].map(|id| list.find(id)), [Some(Mode::Shared), Some(Mode::Exclusive), None]);
    }

    #[test]
    fn all_that_is_noted_before_a_record_is_handed_out_with_it_and_once() {
        let mut list = Retrospective::default();
        list.replace([3, 5, 7, 9].map(|id| (id, Mode::Shared, id)).into_iter());
        let mut reach = |id| list.reach(id).map(|due| due.iter().map(|(.., id)| *id).collect::<Vec<_>>());
        assert_eq!(reach(5), Some(vec![3, 5]));
        assert_eq!(reach(4), None, "it is not noted");
        assert_eq!(reach(3), Some(vec![]), "as it was with the one before");
        assert_eq!(reach(9), Some(vec![7, 9]));
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

    #[test]
    fn who_waits_for_it_while_another_gets_it_keeps_new_readers_out_again() {
        let lock = LockWord::default();
        assert!(lock.try_lock(Mode::Shared));
        let mut crew = fiber::Crew::new();
        crew.spawn(fiber::STACK_BYTES, || {
            while !lock.try_lock(Mode::Exclusive) {
                lock.wait(Mode::Exclusive);
            }
            lock.unlock(Mode::Exclusive);
        });
        crew.spawn(fiber::STACK_BYTES, || {
            lock.unlock(Mode::Shared);
            assert!(lock.try_lock(Mode::Exclusive), "nobody has it");
            waiter::give_way();
            lock.unlock(Mode::Exclusive);
            assert!(!lock.try_lock(Mode::Shared), "the other one still waits");
        });
        crew.run();
        assert!(lock.try_lock(Mode::Shared), "nobody wants it any more");
    }
}
