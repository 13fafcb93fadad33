//! A latch: mutual exclusion for a few instructions, in one word, without a queue.

use crate::Backoff;
use crate::atomic::{AtomicU32, Ordering};

/// A latch: held for a few instructions, and never across a wait for a transaction.
#[derive(Debug, Default)]
pub struct Latch {
    held: AtomicU32,
}

/// Holds a [`Latch`] until dropped.
#[derive(Debug)]
pub struct LatchGuard<'a>(&'a Latch);

impl Latch {
    /// A free latch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the latch, pausing while another holds it.
    #[inline]
    pub fn lock(&self) -> LatchGuard<'_> {
        let mut backoff = Backoff::new();
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            backoff.snooze();
        }
    }

    /// Takes the latch, or gives up when it is held and `is_wanted` no longer holds: where the holder does the work of
    /// those who wait, these need not take turns.
    #[inline]
    pub fn lock_while(&self, is_wanted: impl Fn() -> bool) -> Option<LatchGuard<'_>> {
        let mut backoff = Backoff::new();
        loop {
            if let Some(guard) = self.try_lock() {
                return Some(guard);
            }
            backoff.snooze();
            if !is_wanted() {
                return None;
            }
        }
    }

    /// Takes the latch if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<LatchGuard<'_>> {
        // Relaxed first look: only a hint that spares the line a failing exchange.
        if self.held.load(Ordering::Relaxed) != 0 {
            return None;
        }
        // Acquire: pairs with the Release of the guard's drop. Relaxed on failure: nothing is read.
        self.held.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).ok().map(|_| LatchGuard(self))
    }
}

impl Drop for LatchGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `try_lock`.
        self.0.held.store(0, Ordering::Release);
    }
}
