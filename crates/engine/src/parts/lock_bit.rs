//! A lock that is a bit of a record's word, for schemes that lock what they write when they commit.

use sync::atomic::{AtomicU64, Ordering};
use sync::waiter;

use crate::Abort;

/// Sets the bit `locked` of a word, once nobody else has; the word that it was set in. Who sets it clears it, or
/// stores another word, with Release.
///
/// # Errors
/// When the bit `retired` is set.
#[inline]
pub fn lock_bit(word: &AtomicU64, locked: u64, retired: u64) -> Result<u64, Abort> {
    loop {
        let now = word.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        if now & retired != 0 {
            return Err(Abort::WriteConflict);
        }
        // Acquire: pairs with the Release of the last lock's end. Relaxed on failure: nothing is read.
        let is_locked = now & locked == 0
            && word.compare_exchange(now, now | locked, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if is_locked {
            return Ok(now);
        }
        waiter::wait_clear(word, locked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_once_and_not_of_what_is_retired() {
        let word = AtomicU64::new(0b1000);
        assert_eq!(lock_bit(&word, 1, 2), Ok(0b1000));
        assert_eq!(word.fetch_and(!1, Ordering::Release), 0b1001);
        word.fetch_or(2, Ordering::Relaxed);
        assert_eq!(lock_bit(&word, 1, 2), Err(Abort::WriteConflict));
    }
}
