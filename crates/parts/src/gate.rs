//! A gate that keeps attempts outside of batches apart from each other, and from a run in batches.

use sync::atomic::{AtomicBool, Ordering};
use sync::{Padded, waiter};

/// Lets one party in at a time: an attempt outside of batches, or a run in batches as a whole.
#[derive(Debug, Default)]
pub struct Gate(Padded<AtomicBool>);

impl Gate {
    /// Goes in if no other party is in. Returns whether it did.
    #[inline]
    pub fn try_enter(&self) -> bool {
        // Acquire: pairs with the Release in `leave`. Relaxed on failure: nothing is read.
        self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Goes in as soon as no other party is in.
    pub fn enter(&self) {
        while !self.try_enter() {
            // Relaxed: only ends the wait.
            waiter::wait_until(None, || !self.0.load(Ordering::Relaxed));
        }
    }

    /// Goes out: the next party that goes in sees everything that was done inside.
    #[inline]
    pub fn leave(&self) {
        // Release: pairs with the Acquire in `try_enter`.
        self.0.store(false, Ordering::Release);
    }
}
