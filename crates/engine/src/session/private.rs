//! What an attempt keeps to itself until its commit is decided, under [`InsertAt::Install`]: the rows that
//! it inserted, and what its commit will change in the indexes.
//!
//! While such an attempt runs, no index changes. Its own searches and scans must find its own inserts all
//! the same, so these stand in the order of the indexes that they will enter, and scans merge them in.
//!
//! [`InsertAt::Install`]: crate::InsertAt::Install

use core::ops::{Bound, ControlFlow, Range};

use storage::{AnyKey, IndexedKey, NewRow, Placed, RowRef, Slot, TableId, Which};

use super::layout::{Layout, with_width};
use super::words::Scan;
use crate::database::Unwatched;
use crate::{Abort, Direction, Observer, Scheme, Sink};

/// A key's place among all keys of all indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) table: TableId,
    pub(crate) which: Which,
    pub(crate) key: AnyKey,
}

/// A change that a commit makes to an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'db, S: Scheme> {
    pub(crate) place: Place,
    row: RowRef<'db, S>,
    /// Whether the entry is added or removed.
    adds: bool,
}

impl<'db, S: Scheme> Change<'db, S> {
    /// Changes the index. No attempt may be looking at it. A row that loses its primary key gives its
    /// memory back.
    pub(crate) fn apply(self, slot: &mut Slot<'db, S>) {
        let index = self.row.table().index(self.place.which);
        if self.adds {
            let Ok(placed) = with_width!(self.place.key, |key| index.insert(key, self.row, &mut Unwatched));
            assert!(matches!(placed, Placed::Added), "one commit inserts a key that was missing");
        } else {
            let is_out = index.remove(self.place.key, self.row, |_| true);
            assert!(is_out, "one commit removes a key that was there");
            if self.place.which == Which::Primary {
                slot.retire_row(self.row);
            }
        }
    }
}

/// The private rows and index entries of the running attempt.
#[derive(Debug)]
pub(crate) struct Private<'db, S: Scheme> {
    /// Rows that the attempt inserted.
    rows: Vec<NewRow<'db, S>>,
    /// Rows that it inserted and deleted again.
    spare: Vec<NewRow<'db, S>>,
    /// Entries to be added, in the order of their places.
    adds: Vec<(Place, RowRef<'db, S>)>,
    /// Entries of rows that were deleted or moved, to be removed.
    removes: Vec<(Place, RowRef<'db, S>)>,
}

impl<S: Scheme> Default for Private<'_, S> {
    fn default() -> Self {
        Self { rows: Vec::new(), spare: Vec::new(), adds: Vec::new(), removes: Vec::new() }
    }
}

impl<'db, S: Scheme> Private<'db, S> {
    /// The row that the attempt has inserted at this place.
    #[inline]
    pub(crate) fn find(&self, place: Place) -> Option<RowRef<'db, S>> {
        if self.adds.is_empty() {
            return None;
        }
        self.adds.binary_search_by_key(&place, |(at, _)| *at).ok().map(|position| self.adds[position].1)
    }

    /// Keeps a new row.
    #[inline]
    pub(crate) fn keep(&mut self, row: NewRow<'db, S>) {
        self.rows.push(row);
    }

    /// Enters a row at a place that no index and no earlier insert has.
    #[inline]
    pub(crate) fn enter(&mut self, place: Place, row: RowRef<'db, S>) {
        // Keys are mostly inserted in ascending order.
        let is_last = self.adds.last().is_none_or(|(last, _)| *last < place);
        let position =
            if is_last { self.adds.len() } else { self.adds.partition_point(|(at, _)| *at < place) };
        self.adds.insert(position, (place, row));
    }

    /// The row gets a value again after the attempt deleted it, or a key that it had: whether its entry at
    /// this place was to be removed, and now stays.
    pub(crate) fn restore(&mut self, place: Place, row: RowRef<'db, S>) -> bool {
        let found = self.removes.iter().position(|(at, gone)| *at == place && gone.is(row));
        found.map(|position| self.removes.swap_remove(position)).is_some()
    }

    /// Whether the attempt has deleted what the index holds at this place.
    #[inline]
    pub(crate) fn is_removed(&self, place: Place, row: RowRef<'db, S>) -> bool {
        self.removes.iter().any(|(at, gone)| *at == place && gone.is(row))
    }

    /// The attempt deletes a row, which stands at these places.
    pub(crate) fn delete(&mut self, row: RowRef<'db, S>, places: impl Iterator<Item = Place>) {
        if let Some(position) = self.rows.iter().position(|new| new.row().is(row)) {
            self.adds.retain(|(_, added)| !added.is(row));
            self.spare.push(self.rows.swap_remove(position));
            return;
        }
        for place in places {
            self.leave(place, row);
        }
    }

    /// A row that stands at this place is not to stand there any more.
    pub(crate) fn leave(&mut self, place: Place, row: RowRef<'db, S>) {
        match self.adds.binary_search_by_key(&place, |(at, _)| *at) {
            // An entry of the attempt's own: of a new row, or of one that it has moved.
            Ok(position) => _ = self.adds.remove(position),
            Err(_) => self.removes.push((place, row)),
        }
    }

    /// Passes on what the commit changes, and forgets it.
    #[inline]
    pub(crate) fn commit(
        &mut self,
        slot: &mut Slot<'db, S>,
        mut change: impl FnMut(Change<'db, S>, &mut Slot<'db, S>),
    ) {
        for (place, row) in self.removes.drain(..) {
            change(Change { place, row, adds: false }, slot);
        }
        for (place, row) in self.adds.drain(..) {
            change(Change { place, row, adds: true }, slot);
        }
        self.rows.clear();
    }

    /// The attempt is over: gives back the rows that no index will hold.
    #[inline]
    pub(crate) fn end(&mut self, slot: &mut Slot<'db, S>) {
        for row in self.rows.drain(..).chain(self.spare.drain(..)) {
            slot.discard_row(row);
        }
        self.adds.clear();
        self.removes.clear();
    }

    /// Which of the entries to be added are in a range of an index's keys.
    pub(crate) fn range<K: IndexedKey>(
        &self,
        table: TableId,
        which: Which,
        from: Bound<K>,
        to: Bound<K>,
    ) -> Range<usize> {
        if self.adds.is_empty() {
            return 0..0;
        }
        let is_before = |bound: Bound<K>, at: &Place, open: bool| match bound {
            Bound::Included(key) => (at.table, at.which, at.key) < (table, which, key.any()),
            Bound::Excluded(key) => (at.table, at.which, at.key) <= (table, which, key.any()),
            Bound::Unbounded if open => (at.table, at.which) < (table, which),
            Bound::Unbounded => (at.table, at.which) <= (table, which),
        };
        // Up to an included bound comes what is up to an excluded one from the other side.
        let to = match to {
            Bound::Included(key) => Bound::Excluded(key),
            Bound::Excluded(key) => Bound::Included(key),
            Bound::Unbounded => Bound::Unbounded,
        };
        let start = self.adds.partition_point(|(at, _)| is_before(from, at, true));
        let end = self.adds.partition_point(|(at, _)| is_before(to, at, false));
        start..end.max(start)
    }
}

impl<Y: Layout, H, F, S: Scheme, O: Observer, L: Sink> Scan<'_, '_, '_, Y, H, F, S, O, L> {
    /// Shows the attempt's own inserts that come before `key`, or all that are left.
    pub(super) fn show_own<K: IndexedKey>(&mut self, key: Option<K>) -> Result<ControlFlow<()>, Abort>
    where
        H: Fn(K, &[u64]) -> bool,
        F: FnMut(K, &[u64]) -> ControlFlow<()>,
    {
        while !self.own.is_empty() {
            let position = match self.direction {
                Direction::Forward => self.own.start,
                Direction::Backward => self.own.end - 1,
            };
            let (place, row) = self.attempt.session.private.adds[position];
            let own = K::typed(place.key);
            let is_next = key.is_none_or(|key| match self.direction {
                Direction::Forward => own < key,
                Direction::Backward => own > key,
            });
            if !is_next {
                break;
            }
            match self.direction {
                Direction::Forward => self.own.start += 1,
                Direction::Backward => self.own.end -= 1,
            }
            if self.show(own, row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
