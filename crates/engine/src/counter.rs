//! A number that transactions share outside of their isolation: what a workload draws ids from when it
//! breaks the rules on purpose.

use sync::Padded;
use sync::atomic::{AtomicU64, Ordering};

/// A counter alone on its cache lines. What is drawn from it is not undone when an attempt aborts, so
/// the numbers drawn have holes.
#[derive(Debug, Default)]
pub struct Counter(Padded<AtomicU64>);

impl Counter {
    /// A counter whose next number is `first`.
    pub fn new(first: u64) -> Self {
        Self(Padded(AtomicU64::new(first)))
    }

    /// Takes the next number; no other call gets the same.
    #[inline]
    pub fn take(&self) -> u64 {
        // Relaxed: the number itself is all that is shared; rows named by it are ordered by the scheme.
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that the next call of [`Self::take`] would give.
    #[inline]
    pub fn peek(&self) -> u64 {
        // Relaxed: as in `take`.
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_once_in_order() {
        let counter = Counter::new(7);
        assert_eq!([counter.take(), counter.take(), counter.peek()], [7, 8, 9]);
    }
}
