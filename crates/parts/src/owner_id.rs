//! The header of a record whose lock is not a bit of its TID but a word of its own, in the 16 bytes of FOEDUS's owner
//! id (Kimura, SIGMOD 2015): so that an attempt that only keeps others from writing does not keep them from reading.

use engine::Retire;
use storage::{Meta, RecordRef, Shape};
use sync::atomic::{AtomicU64, Ordering};

use crate::Temperature;
use crate::canonical_locks::{LockWord, Lockable, Mode};
use crate::value_word::{self, LOCKED, NO_VALUE, OneWord};

/// A TID, which changes only under the lock beside it, and a temperature: how often the record caused failures.
#[derive(Debug)]
pub struct OwnerId {
    /// The TID word in the format of [`tids`](crate::tids).
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
        // Relaxed: publishing the record orders it. The lock stays as it is: an attempt that has listed the record
        // which was here before may hold the lock, and will give it up.
        self.tid.store(NO_VALUE, Ordering::Relaxed);
        self.temperature.reset();
    }
}

impl OwnerId {
    /// Sets the TID of a record that was loaded with a value, and that no other thread knows yet.
    pub fn load(&self) {
        self.tid.store(0, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }

    /// Whether the record has the TID that was seen and no mark of another attempt that is going to change it: the bit
    /// [`LOCKED`](value_word::LOCKED) of the TID. `is_own` tells whether a mark is the caller's. If two attempts have
    /// each marked a record that the other has read, and have then called
    /// [`CommitEpoch::now`](super::CommitEpoch::now), one of them gets `false`.
    #[inline]
    pub fn is_as_seen(&self, seen: u64, is_own: impl FnOnce() -> bool) -> bool {
        let tid = self.tid.load(Ordering::Acquire); // Acquire: a later step must not come before.
        tid == seen || tid == seen | LOCKED && is_own()
    }

    /// See [`Scheme::retire`](engine::Scheme::retire).
    pub fn retire(&self) -> Retire {
        if !self.lock.try_lock(Mode::Exclusive) {
            return Retire::Later;
        }
        let retire = value_word::LOCK.retire(&self.tid, NO_VALUE);
        self.lock.unlock(Mode::Exclusive);
        retire
    }
}

impl OneWord for OwnerId {
    #[inline]
    fn value_word(&self) -> &AtomicU64 {
        &self.tid
    }
}

impl<S: Shape<Header = OwnerId>> Lockable for S {
    #[inline]
    fn lock_of(record: RecordRef<'_, Self>) -> &LockWord {
        &record.header().lock
    }
}
