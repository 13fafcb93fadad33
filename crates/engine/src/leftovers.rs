//! Rows without a value that could not leave the indexes when they lost it, because someone might yet need
//! them. They are kept by database, not by session: one that ends, or whose client thinks, would keep their
//! keys from everyone else. And they are kept by key: the row that stands there in the end may be another.

use std::collections::VecDeque;

use storage::{AnyKey, TableId, Which};
use sync::atomic::{AtomicUsize, Ordering};
use sync::{Latched, Padded};

/// The keys of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leftover {
    pub(crate) table: TableId,
    pub(crate) primary: AnyKey,
    pub(crate) secondary: [Option<(Which, AnyKey)>; 2],
}

/// The leftovers of a database, each with the epoch before whose end another try would be in vain.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    count: Padded<AtomicUsize>,
    rows: Latched<VecDeque<(u64, Leftover)>>,
}

impl Leftovers {
    /// Whether there are none, for all one knows: a hint that keeps most attempts away from the latch.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0 // Relaxed: a hint.
    }

    pub(crate) fn push(&self, stamp: u64, row: Leftover) {
        let mut rows = self.rows.lock();
        rows.push_back((stamp, row));
        self.count.store(rows.len(), Ordering::Relaxed); // Relaxed: as in `is_empty`.
    }

    /// Takes the one that waits longest, if its stamp is past and nobody else is at it.
    pub(crate) fn pop(&self, is_past: impl FnOnce(u64) -> bool) -> Option<Leftover> {
        let mut rows = self.rows.try_lock()?;
        let (_, row) = rows.pop_front_if(|(stamp, _)| is_past(*stamp))?;
        self.count.store(rows.len(), Ordering::Relaxed); // Relaxed: as in `is_empty`.
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leaves_first_and_not_before_its_time() {
        let leftovers = Leftovers::default();
        for stamp in 1..=2 {
            let primary = AnyKey::One(stamp);
            leftovers.push(stamp, Leftover { table: TableId(0), primary, secondary: [None; 2] });
        }
        assert!(leftovers.pop(|stamp| stamp < 1).is_none());
        assert_eq!(leftovers.pop(|stamp| stamp < 2).map(|row| row.primary), Some(AnyKey::One(1)));
        assert!(leftovers.pop(|stamp| stamp < 2).is_none() && !leftovers.is_empty());
        assert!(leftovers.pop(|stamp| stamp < 3).is_some() && leftovers.is_empty());
    }
}
