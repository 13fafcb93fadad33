//! Racy copies of record data: relaxed words, possibly torn, believed only after validation.
//!
//! A record that is written in place is an array of atomic words. A copy of it made while a writer
//! is at work may mix old and new words; the version check around the copy finds out. Relaxed loads
//! and stores of single words make that race defined behaviour at the price of no vector moves.

use crate::atomic::{AtomicU64, Ordering};
use crate::backend;

/// Words of a cache line, which are copied without a look whether they were the last.
const LINE: usize = 8;

/// Copies `from` into `to`, word by word.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn load(from: &[AtomicU64], to: &mut [u64]) {
    assert_eq!(from.len(), to.len(), "a record copy has the record's width");
    if backend::load_words(from, to) {
        return;
    }
    // Relaxed: the caller's version check orders the whole copy.
    let one = |(to, from): (&mut u64, &AtomicU64)| *to = from.load(Ordering::Relaxed);
    let (lines, rest) = to.as_chunks_mut::<LINE>();
    let (lines_from, rest_from) = from.as_chunks::<LINE>();
    lines.iter_mut().zip(lines_from).for_each(|(to, from)| to.iter_mut().zip(from).for_each(one));
    rest.iter_mut().zip(rest_from).for_each(one);
}

/// Copies `from` over `to`, word by word.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn store(to: &[AtomicU64], from: &[u64]) {
    assert_eq!(from.len(), to.len(), "a record copy has the record's width");
    if backend::store_words(to, from) {
        return;
    }
    // Relaxed: the caller holds the record's lock, and its release orders the whole copy.
    store_each(to, from, |word| *word);
}

/// Copies `from`, which nobody writes meanwhile, over `to`, word by word. The caller orders the copy.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn copy(to: &[AtomicU64], from: &[AtomicU64]) {
    assert_eq!(from.len(), to.len(), "a record copy has the record's width");
    if backend::copy_words(to, from) {
        return;
    }
    store_each(to, from, |word| word.load(Ordering::Relaxed)); // Relaxed: the caller orders the copy.
}

#[inline]
fn store_each<T>(to: &[AtomicU64], from: &[T], read: impl Fn(&T) -> u64) {
    let one = |(to, from): (&AtomicU64, &T)| to.store(read(from), Ordering::Relaxed); // Relaxed: as the caller says.
    let (lines, rest) = to.as_chunks::<LINE>();
    let (lines_from, rest_from) = from.as_chunks::<LINE>();
    lines.iter().zip(lines_from).for_each(|(to, from)| to.iter().zip(from).for_each(one));
    rest.iter().zip(rest_from).for_each(one);
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
    fn records_of_several_lines_and_a_rest_are_copied_whole() {
        for width in [7, 8, 9, 16, 21] {
            let record: Vec<AtomicU64> = (0..width).map(|_| AtomicU64::new(0)).collect();
            let value: Vec<u64> = (1..=width).collect();
            store(&record, &value);
            let other: Vec<AtomicU64> = (0..width).map(|_| AtomicU64::new(0)).collect();
            super::copy(&other, &record);
            let mut copy = vec![0; value.len()];
            load(&other, &mut copy);
            assert_eq!(copy, value);
        }
    }

    #[test]
    #[should_panic(expected = "width")]
    fn a_copy_of_another_width_is_refused() {
        load(&[], &mut [0]);
    }
}
