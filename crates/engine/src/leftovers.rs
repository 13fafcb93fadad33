//! Leftovers: rows without a value, and stale entries of rows that have moved, which could not leave the indexes in
//! time because some attempt might still need them. They are kept by database, not by session: a session that ends, or
//! whose client thinks, would keep their keys from everyone else. And they are kept by primary key: the row that is
//! found there in the end may be another.

use std::collections::VecDeque;

use storage::{AnyKey, TableId, Which};
use sync::atomic::{AtomicU64, Ordering};
use sync::{Latched, Padded};

/// A row that is to leave the indexes, whole or in part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leftover {
    pub(crate) table: TableId,
    pub(crate) primary: AnyKey,
    pub(crate) part: Part,
}

/// The part of a row that is to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// The whole row, which stands under these secondary keys.
    Row([Option<(Which, AnyKey)>; 2]),
    /// The stale entries: see [`Moves`](crate::moves::Moves).
    Stale,
}

/// The conditions under which another try can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The epoch of storage that must have ended.
    pub(crate) stamp: u64,
    /// The value that the scheme's watermark must have reached.
    pub(crate) watermark: u64,
}

/// The leftovers of a database. They wait in line: a later one is due no earlier.
#[derive(Debug)]
pub(crate) struct Leftovers {
    /// The watermark at which the first leftover is due; `NONE` when there is none.
    first: Padded<AtomicU64>,
    rows: Latched<VecDeque<(Due, Leftover)>>,
}

/// A number above every watermark.
const NONE: u64 = u64::MAX;

impl Default for Leftovers {
    fn default() -> Self {
        Self { first: Padded(AtomicU64::new(NONE)), rows: Latched::default() }
    }
}

impl Leftovers {
    /// Whether the scheme's watermark may let a leftover leave: a hint that keeps most attempts away from the latch.
    #[inline]
    pub(crate) fn may_leave(&self, watermark: impl FnOnce() -> u64) -> bool {
        let first = self.first.load(Ordering::Relaxed); // Relaxed: a hint.
        first != NONE && first <= watermark()
    }

    pub(crate) fn push(&self, due: Due, row: Leftover) {
        let mut rows = self.rows.lock();
        rows.push_back((due, row));
        self.show_first(&rows);
    }

    /// Takes the leftover that waits longest, if it is due and no other thread holds the latch.
    pub(crate) fn pop(&self, is_due: impl FnOnce(Due) -> bool) -> Option<Leftover> {
        let mut rows = self.rows.try_lock()?;
        let (_, row) = rows.pop_front_if(|(due, _)| is_due(*due))?;
        self.show_first(&rows);
        Some(row)
    }

    fn show_first(&self, rows: &VecDeque<(Due, Leftover)>) {
        let first = rows.front().map_or(NONE, |(due, _)| due.watermark);
        self.first.store(first, Ordering::Relaxed); // Relaxed: as in `may_leave`.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leaves_first_and_not_before_its_time() {
        let leftovers = Leftovers::default();
        assert!(!leftovers.may_leave(|| 9));
        for stamp in 1..=2 {
            let (due, primary) = (Due { stamp, watermark: 10 + stamp }, AnyKey::One(stamp));
            leftovers.push(due, Leftover { table: TableId(0), primary, part: Part::Stale });
        }
        assert!(!leftovers.may_leave(|| 10) && leftovers.may_leave(|| 11));
        assert!(leftovers.pop(|due| due.stamp < 1).is_none());
        assert_eq!(leftovers.pop(|due| due.stamp < 2).map(|row| row.primary), Some(AnyKey::One(1)));
        assert!(!leftovers.may_leave(|| 11) && leftovers.may_leave(|| 12));
        assert!(leftovers.pop(|due| due.stamp < 2).is_none());
        assert!(leftovers.pop(|due| due.stamp < 3).is_some() && !leftovers.may_leave(|| 12));
    }
}
