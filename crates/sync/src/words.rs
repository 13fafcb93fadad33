//! Racy copies of record data: relaxed words, possibly torn, believed only after validation.
//!
//! A record that is written in place is an array of atomic words. A copy of it made while a writer
//! is at work may mix old and new words; the version check around the copy finds out. Relaxed loads
//! and stores of single words make that race defined behaviour at the price of no vector moves.

use crate::atomic::{AtomicU64, Ordering};

/// Copies `from` into `to`, word by word.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn load(from: &[AtomicU64], to: &mut [u64]) {
    assert_eq!(from.len(), to.len(), "a record copy has the record's width");
    for (to, from) in to.iter_mut().zip(from) {
        // Relaxed: the caller's version check orders the whole copy.
        *to = from.load(Ordering::Relaxed);
    }
}

/// Copies `from` over `to`, word by word.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn store(to: &[AtomicU64], from: &[u64]) {
    assert_eq!(from.len(), to.len(), "a record copy has the record's width");
    for (to, from) in to.iter().zip(from) {
        // Relaxed: the caller holds the record's lock, and its release orders the whole copy.
        to.store(*from, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_loaded() {
        let record: Vec<AtomicU64> = (0..5).map(AtomicU64::new).collect();
        store(&record[1..4], &[10, 20, 30]);
        let mut copy = [0; 5];
        load(&record, &mut copy);
        assert_eq!(copy, [0, 10, 20, 30, 4]);
    }

    #[test]
    #[should_panic(expected = "width")]
    fn a_copy_of_another_width_is_refused() {
        load(&[], &mut [0]);
    }
}
