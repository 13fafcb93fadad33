//! The word of a record that tells its values apart, for schemes that lock a record only to change its value.
//!
//! WORD        bit 0 locked, bit 1 no value, bit 2 retired. The other bits are the scheme's: each change of the value
//!             makes the word greater.

use engine::Retire;
use storage::Meta;
use sync::atomic::{AtomicU64, Ordering};

use crate::LockBits;

/// Set while an attempt changes the value: readers wait.
pub const LOCKED: u64 = 1;
/// Set while the record has no value.
pub const NO_VALUE: u64 = 2;
/// Set once the record has left the indexes.
pub const RETIRED: u64 = 4;
/// The number of these bits.
pub const STATUS_BITS: u32 = 3;
/// The bits for which readers wait, and under which they cannot read.
pub const LOCK: LockBits = LockBits { locked: LOCKED, retired: RETIRED };

/// Headers with such a word.
pub trait OneWord {
    /// The word.
    fn value_word(&self) -> &AtomicU64;
}

/// A header that is such a word. With a value, and before the first change, it is 0.
#[derive(Debug)]
pub struct ValueWord(pub AtomicU64);

impl Default for ValueWord {
    fn default() -> Self {
        Self(AtomicU64::new(NO_VALUE))
    }
}

impl Meta for ValueWord {
    fn reset(&self) {
        self.0.store(NO_VALUE, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }
}

impl OneWord for ValueWord {
    #[inline]
    fn value_word(&self) -> &AtomicU64 {
        &self.0
    }
}

impl ValueWord {
    /// Sets the word of a record that was loaded with a value, and that no other thread knows yet.
    pub fn load(&self) {
        self.0.store(0, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }

    /// See [`Scheme::retire`](engine::Scheme::retire).
    pub fn retire(&self) -> Retire {
        LOCK.retire(&self.0, NO_VALUE)
    }
}
