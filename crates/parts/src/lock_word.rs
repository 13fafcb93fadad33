//! The word of a record that is locked before it is accessed: the state of its lock, whether the record has a value,
//! and whether it is retired. The code that locks decides how the other bits represent a lock.

use engine::{Abort, Retire};
use storage::Meta;
use sync::atomic::{AtomicU64, Ordering};
use sync::{hint, waiter};

/// The bit of a record without a value.
pub const NO_VALUE: u64 = 2;
/// The bit of a record that has left the indexes: nobody locks it any more.
pub const RETIRED: u64 = 4;

/// How a record is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// By any number of owners at a time.
    Shared,
    /// By one owner.
    Exclusive,
}

/// The state in which a record is left when its lock is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The record stays as it was.
    AsItWas,
    /// The record has a value, which was stored.
    WithValue,
    /// The record has no value.
    WithoutValue,
}

/// A record's word. Without a lock, and with a value, it is 0.
#[derive(Debug)]
pub struct LockWord(pub AtomicU64);

impl Default for LockWord {
    fn default() -> Self {
        Self(AtomicU64::new(NO_VALUE))
    }
}

impl Meta for LockWord {
    fn reset(&self) {
        self.0.store(NO_VALUE, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }
}

impl LockWord {
    /// Sets the word of a record that was loaded with a value, and that no other thread knows yet.
    pub fn load(&self) {
        self.0.store(0, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }

    /// Whether the record has a value: for attempts that have locked it, and in quiesced databases.
    #[inline]
    pub fn has_value(&self) -> bool {
        self.0.load(Ordering::Acquire) & NO_VALUE == 0 // Acquire: pairs with the Release of whoever unlocks.
    }

    /// See [`Scheme::retire`](engine::Scheme::retire).
    pub fn retire(&self) -> Retire {
        // No attempt has or wants the lock of a record that turns from free to retired, and none gets it later.
        // AcqRel: pairs with the Release of whoever unlocks, and orders the mark before what follows from it.
        // Relaxed on failure: nothing is read.
        match self.0.compare_exchange(NO_VALUE, NO_VALUE | RETIRED, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Retire::Done,
            Err(word) if word & RETIRED != 0 => Retire::Done,
            Err(word) if word & NO_VALUE != 0 => Retire::Later,
            Err(_) => Retire::Alive,
        }
    }

    // ANCHOR: exchange
    /// Replaces the word by the result of `take`, and returns the word before. `take` returns `None` while a lock is in
    /// the way: the word is looked at `looks` times more.
    ///
    /// # Errors
    /// [`Abort::ReadChanged`] if the record is retired, [`Abort::LockBusy`] if a lock stayed in the way.
    #[inline]
    pub fn exchange(&self, looks: u64, take: impl Fn(u64) -> Option<u64>) -> Result<u64, Abort> {
        let mut looked = 0;
        loop {
            let word = self.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
            if word & RETIRED != 0 {
                return Err(Abort::ReadChanged);
            }
            if let Some(locked) = take(word) {
                // Acquire: pairs with the Release of whoever unlocks. Relaxed on failure: nothing is read.
                if self.0.compare_exchange(word, locked, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return Ok(word);
                }
                continue;
            }
            // On a fiber the owner of the lock may be another attempt of this worker, which cannot go on before this
            // one ends.
            if looked == looks || waiter::in_fiber() {
                return Err(Abort::LockBusy);
            }
            looked += 1;
            hint::spin_loop();
        }
    }
    // ANCHOR_END: exchange
}

impl Left {
    /// The bits of a word after the change.
    #[inline]
    pub const fn applied(self, rest: u64) -> u64 {
        match self {
            Self::AsItWas => rest,
            Self::WithValue => rest & !NO_VALUE,
            Self::WithoutValue => rest | NO_VALUE,
        }
    }
}
