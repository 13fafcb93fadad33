//! An array that grows at its end while others look at it, and whose elements never move.
//!
//! INVARIANT: the pointer of a chunk is null, or leads to the elements of a boxed slice of the chunk's length, and then
//! stays until the array is dropped.
//!
//! Its atomics are those of the standard library in every build: growing is no part of what is explored or simulated.

use core::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Elements of the first chunk; each further chunk doubles the array. Loom keeps a record of every atomic there is.
const FIRST: usize = if cfg!(loom) { 1 } else { 32 };
/// Chunks of an array: enough for more elements than memory holds.
const CHUNKS: usize = 32;

/// Elements that are made by `T::default()`, a chunk of them at a time, and stay where they are until all of them
/// are dropped. Reading an element takes no latch.
#[derive(Debug)]
pub struct Growing<T> {
    chunks: [AtomicPtr<T>; CHUNKS],
    owns: core::marker::PhantomData<T>,
}

// SAFETY: the array owns its elements, and lends them shared only.
unsafe impl<T: Send> Send for Growing<T> {}
// SAFETY: as above. A thread that makes elements may leave them to another one to drop.
unsafe impl<T: Send + Sync> Sync for Growing<T> {}

impl<T> Default for Growing<T> {
    fn default() -> Self {
        Self { chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS], owns: core::marker::PhantomData }
    }
}

impl<T> Growing<T> {
    /// The elements of a chunk, if they were made.
    #[inline]
    fn chunk(&self, chunk: usize) -> Option<&[T]> {
        // Acquire: pairs with the Release of the thread that made the elements.
        let start = NonNull::new(self.chunks[chunk].load(Ordering::Acquire))?;
        // SAFETY: the invariant.
        Some(unsafe { core::slice::from_raw_parts(start.as_ptr(), room(chunk)) })
    }
}

impl<T> Drop for Growing<T> {
    fn drop(&mut self) {
        for (chunk, start) in self.chunks.iter_mut().enumerate() {
            if let Some(start) = NonNull::new(*start.get_mut()) {
                // SAFETY: the invariant; nobody has the elements any more.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(start.as_ptr(), room(chunk))) });
            }
        }
    }
}

impl<T: Default> Growing<T> {
    /// The exclusive upper bound of the element numbers.
    pub const LEN_MAX: usize = FIRST << (CHUNKS - 1);

    /// Returns an element. Makes it, and its neighbours, if it does not exist.
    ///
    /// # Panics
    /// When the number is [`LEN_MAX`](Self::LEN_MAX) or more.
    #[inline]
    pub fn make(&self, number: usize) -> &T {
        let (chunk, place) = place(number);
        &self.made(chunk)[place]
    }

    /// The elements of a chunk, which are made if they do not exist.
    #[inline]
    fn made(&self, chunk: usize) -> &[T] {
        self.chunk(chunk).unwrap_or_else(|| self.make_chunk(chunk))
    }

    /// Of several threads that make a chunk at a time, one publishes it; the others drop theirs.
    #[cold]
    fn make_chunk(&self, chunk: usize) -> &[T] {
        let new: Box<[T]> = (0..room(chunk)).map(|_| T::default()).collect();
        let new = Box::into_raw(new);
        // Release: pairs with the Acquire in `chunk`. Relaxed on failure: `chunk` reads it again.
        let published = self.chunks[chunk].compare_exchange(
            ptr::null_mut(),
            new.cast(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        if published.is_err() {
            // SAFETY: made above, and known to nobody else.
            drop(unsafe { Box::from_raw(new) });
        }
        self.chunk(chunk).expect("this thread or another has published it")
    }

    /// Returns an element, if it was made. A thread to which the element's number was handed on after that finds
    /// it.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&T> {
        let (chunk, place) = place(number);
        if chunk < CHUNKS { self.chunk(chunk)?.get(place) } else { None }
    }

    /// The first number from `from` on that begins a run of `len` elements side by side.
    pub fn run_from(from: usize, len: usize) -> usize {
        let (mut chunk, place) = place(from);
        if place + len <= room(chunk) {
            return from;
        }
        let mut first = from - place;
        while room(chunk) < len || first < from {
            first += room(chunk);
            chunk += 1;
        }
        first
    }

    /// Returns elements side by side, and makes those that do not exist.
    ///
    /// # Panics
    /// When no run of `len` elements begins there: see [`run_from`](Self::run_from).
    #[inline]
    pub fn make_run(&self, first: usize, len: usize) -> &[T] {
        &self.make_rest(first)[..len]
    }

    /// Returns the elements from this one to the end of its chunk, and makes those that do not exist.
    #[inline]
    pub fn make_rest(&self, first: usize) -> &[T] {
        let (chunk, place) = place(first);
        &self.made(chunk)[place..]
    }
}

/// The chunk of an element, and its place there.
#[inline]
const fn place(number: usize) -> (usize, usize) {
    let beyond = number / FIRST;
    if beyond == 0 {
        return (0, number);
    }
    let chunk = beyond.ilog2() as usize + 1;
    (chunk, number - room(chunk))
}

/// The number of elements of a chunk: after the first, a chunk has as many elements as all chunks before it
/// together.
#[inline]
const fn room(chunk: usize) -> usize {
    FIRST << chunk.saturating_sub(1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::atomic::{AtomicUsize, Ordering};
    use crate::workers;

    #[test]
    fn elements_are_made_once_and_never_move() {
        let array = Growing::<AtomicUsize>::default();
        assert!(array.get(0).is_none());
        for number in 0..10 * FIRST {
            // Relaxed, here and below: the elements are numbered by one thread.
            array.make(number).store(number + 1, Ordering::Relaxed);
        }
        let first: *const _ = array.make(0);
        array.make(1_000 * FIRST);
        assert!(core::ptr::eq(first, array.make(0)));
        for number in 0..10 * FIRST {
            let element = array.get(number).expect("it was made");
            assert_eq!(element.load(Ordering::Relaxed), number + 1);
        }
        assert!(array.get(usize::MAX).is_none());
    }

    #[test]
    fn chunks_follow_each_other_without_gaps() {
        let (mut chunk, mut expected) = (0, 0);
        for number in 0..100 * FIRST {
            if expected == room(chunk) {
                (chunk, expected) = (chunk + 1, 0);
            }
            assert_eq!(place(number), (chunk, expected), "element {number}");
            expected += 1;
        }
    }

    #[test]
    fn runs_lie_side_by_side() {
        let array = Growing::<AtomicUsize>::default();
        let mut from = 0;
        for len in [0, 1, FIRST - 2, 2, 1, FIRST, 1, 3 * FIRST, 5, 100 * FIRST, 1] {
            let first = Growing::<AtomicUsize>::run_from(from, len);
            assert!(first >= from, "{len} elements from {from}");
            let run = array.make_run(first, len);
            assert_eq!(run.len(), len);
            for (at, element) in run.iter().enumerate() {
                assert!(core::ptr::eq(element, array.make(first + at)), "element {at} of {first}");
            }
            from = first + len;
        }
        assert_eq!(Growing::<AtomicUsize>::run_from(FIRST - 1, 1), FIRST - 1);
        assert_eq!(Growing::<AtomicUsize>::run_from(FIRST - 1, 2), FIRST);
    }

    #[test]
    fn two_threads_make_an_element_once() {
        let array = Growing::<AtomicUsize>::default();
        workers::run(2, false, |_| {
            for number in 0..1_000 {
                // Relaxed: a count, read when the threads have ended.
                array.make(number).fetch_add(1, Ordering::Relaxed);
            }
        });
        let counts = (0..1_000).map(|number| array.make(number).load(Ordering::Relaxed));
        assert_eq!(counts.sum::<usize>(), 2_000);
    }
}
