//! What a record carries whose lock is no bit of its TID but a word of its own, in the 16 bytes of FOEDUS's owner id
//! (Kimura, SIGMOD 2015): so that whoever only keeps others from writing keeps nobody from reading.

use storage::{InPlace, Meta, RecordRef, Shape};
use sync::atomic::{AtomicU64, Ordering};

use super::Temperature;
use super::canonical_locks::{LockWord, Lockable, Mode};
use super::tids::{self, NO_VALUE, Tids};
use crate::Retire;

/// A TID, which changes only under the lock that stands beside it, and how often the record was in the way.
#[derive(Debug)]
pub struct OwnerId {
    /// As [`tids`] has it.
    pub tid: AtomicU64,
    /// The lock.
    pub lock: LockWord,
    /// The temperature.
    pub temperature: Temperature,
}

impl Default for OwnerId {
    fn default() -> Self {
        let (lock, temperature) = (LockWord::default(), Temperature::default());
        Self { tid: AtomicU64::new(NO_VALUE), lock, temperature }
    }
}

impl Meta for OwnerId {
    fn reset(&self) {
        // Relaxed: publishing the record orders it. The lock stays as it is: who had listed the record that was here
        // before may hold it, and gives it up.
        self.tid.store(NO_VALUE, Ordering::Relaxed);
        self.temperature.reset();
    }
}

impl OwnerId {
    /// The record was loaded with a value, and nobody knows it yet.
    pub fn load(&self) {
        self.tid.store(0, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }

    /// Whether the record has the TID that was seen and nobody else's exclusive lock, of which `is_own` says whether it
    /// is the caller's. Of two that have locked what the other has read, and then called
    /// [`CommitEpoch::now`](super::CommitEpoch::now), one finds that it is not.
    #[inline]
    pub fn is_as_seen(&self, seen: u64, is_own: impl FnOnce() -> bool) -> bool {
        // The lock first: if it was given up, the TID is the one that was left under it, or a later one.
        let is_free = !self.lock.is_exclusive() || is_own();
        is_free && self.tid.load(Ordering::Acquire) == seen // Acquire: a later step must not come before.
    }

    /// See [`Scheme::retire`](crate::Scheme::retire).
    pub fn retire(&self) -> Retire {
        if !self.lock.try_lock(Mode::Exclusive) {
            return Retire::Later;
        }
        let retire = tids::BITS.retire(&self.tid, NO_VALUE);
        self.lock.unlock(Mode::Exclusive);
        retire
    }
}

impl<S: Shape<Header = OwnerId, Data = InPlace>> Tids for S {
    #[inline]
    fn tid_of(record: RecordRef<'_, Self>) -> &AtomicU64 {
        &record.header().tid
    }
}

impl<S: Shape<Header = OwnerId>> Lockable for S {
    #[inline]
    fn lock_of(record: RecordRef<'_, Self>) -> &LockWord {
        &record.header().lock
    }
}
