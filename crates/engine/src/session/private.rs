//! The private part of an attempt under [`InsertAt::Install`], until its commit is decided: the rows that it inserted,
//! and the index changes that its commit will make.
//!
//! While such an attempt runs, no index changes. Its own searches and scans must still find its own inserts, so these
//! are kept in the order of the indexes that they will enter, and scans merge them in.
//!
//! [`InsertAt::Install`]: crate::InsertAt::Install

use core::ops::{Bound, ControlFlow, Range};

use storage::{AnyKey, CoreKey, Insertion, NewRow, RowRef, Slot, TableId, Which};

use super::words::Scan;
use crate::database::Unwatched;
use crate::driver::Driver;
use crate::{Abort, Direction, Observer, Scheme, Sink};
use crate::{AccessSet, Position, SortedList};

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
    /// Changes the index. No attempt may be looking at it. Removing a row's primary key frees the row's memory.
    pub(crate) fn apply(self, slot: &mut Slot<'db, S>) {
        let index = self.row.table().index(self.place.which);
        if self.adds {
            let Ok(placed) = index.insert_any(&self.place.key, self.row, &mut Unwatched);
            assert!(matches!(placed, Insertion::Added), "one commit inserts a key that was missing");
        } else {
            let is_out = index.remove(&self.place.key, self.row, |_| true);
            assert!(is_out, "one commit removes a key that was there");
            if self.place.which == Which::Primary {
                if S::Driver::PLANS {
                    self.row.table().count_removal();
                }
                slot.retire_row(self.row);
            }
        }
    }
}

/// The private rows and index entries of the running attempt.
#[derive(Debug)]
pub(crate) struct Private<'db, S: Scheme> {
    /// Rows that the attempt inserted, by their ids; `None` in place of a row that it deleted again.
    rows: AccessSet<Option<NewRow<'db, S>>>,
    /// Rows that the attempt inserted and deleted again.
    spare: Vec<NewRow<'db, S>>,
    /// Entries to be added, in the order of their places.
    adds: Entries<'db, S>,
    /// Entries of rows that were deleted or moved, to be removed.
    removes: Entries<'db, S>,
}

/// Entries of indexes. A place has at most one entry, because keys are unique; keys of secondary indexes are unique by
/// the primary keys in them.
type Entries<'db, S> = SortedList<Place, RowRef<'db, S>>;

impl<S: Scheme> Default for Private<'_, S> {
    fn default() -> Self {
        let (adds, removes) = (SortedList::default(), SortedList::default());
        Self { rows: AccessSet::default(), spare: Vec::new(), adds, removes }
    }
}

impl<'db, S: Scheme> Private<'db, S> {
    /// Whether the attempt has entered nothing into an index.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.adds.is_empty()
    }

    /// The row that the attempt has inserted at this place.
    #[inline]
    pub(crate) fn find(&self, place: Place) -> Option<RowRef<'db, S>> {
        self.adds.find(&place).copied()
    }

    /// Keeps a new row.
    #[inline]
    pub(crate) fn keep(&mut self, row: NewRow<'db, S>) {
        self.rows.push(row.row().id(), Some(row));
    }

    /// Enters a row at a place that no index and no earlier insert has.
    #[inline]
    pub(crate) fn enter(&mut self, place: Place, row: RowRef<'db, S>) {
        self.adds.insert(place, row);
    }

    /// Called when the row gets a value again after the attempt deleted it, or a key that it had before. Returns
    /// whether its entry at this place was to be removed, and now stays.
    pub(crate) fn restore(&mut self, place: Place, row: RowRef<'db, S>) -> bool {
        self.removes.remove_if(&place, |gone| gone.is(row)).is_some()
    }

    /// Whether the attempt has deleted the row that the index holds at this place.
    #[inline]
    pub(crate) fn is_removed(&self, place: Place, row: RowRef<'db, S>) -> bool {
        self.removes.find(&place).is_some_and(|gone| gone.is(row))
    }

    /// Deletes a row, which stands at these places and no others.
    pub(crate) fn delete(&mut self, row: RowRef<'db, S>, places: impl Iterator<Item = Place>) {
        let new = self.rows.find(row.id()).and_then(|position| self.rows.get_mut(position).take());
        for place in places {
            if new.is_some() {
                self.adds.remove_if(&place, |added| added.is(row));
            } else {
                self.leave(place, row);
            }
        }
        self.spare.extend(new);
    }

    /// Takes a row away from a place at which it stands.
    pub(crate) fn leave(&mut self, place: Place, row: RowRef<'db, S>) {
        // An entry of the attempt's own belongs to a new row, or to a row that it has moved.
        if self.adds.remove_if(&place, |_| true).is_none() {
            self.removes.insert(place, row);
        }
    }

    /// Passes on the changes of the commit, and forgets them.
    #[inline]
    pub(crate) fn commit(
        &mut self,
        slot: &mut Slot<'db, S>,
        mut change: impl FnMut(Change<'db, S>, &mut Slot<'db, S>),
    ) {
        self.removes.drain(|place, row| change(Change { place, row, adds: false }, slot));
        self.adds.drain(|place, row| change(Change { place, row, adds: true }, slot));
        self.rows.clear();
    }

    /// Ends the attempt: gives back the rows that no index will hold.
    #[inline]
    pub(crate) fn end(&mut self, slot: &mut Slot<'db, S>) {
        for row in self.rows.drain().flatten().chain(self.spare.drain(..)) {
            slot.discard_row(row);
        }
        self.adds.drain(|_, _| {});
        self.removes.drain(|_, _| {});
    }

    /// The entries to be added that are in a range of an index's keys.
    pub(crate) fn range<K: CoreKey>(
        &self,
        table: TableId,
        which: Which,
        from: Bound<K>,
        to: Bound<K>,
    ) -> Range<Position> {
        if self.adds.is_empty() {
            return Range::default();
        }
        let is_before = |bound: Bound<K>, at: &Place, open: bool| match bound {
            Bound::Included(key) => (at.table, at.which, at.key) < (table, which, key.any()),
            Bound::Excluded(key) => (at.table, at.which, at.key) <= (table, which, key.any()),
            Bound::Unbounded if open => (at.table, at.which) < (table, which),
            Bound::Unbounded => (at.table, at.which) <= (table, which),
        };
        // The entries up to an included end are those before or at it, as before an excluded start; and the reverse.
        let to = match to {
            Bound::Included(key) => Bound::Excluded(key),
            Bound::Excluded(key) => Bound::Included(key),
            Bound::Unbounded => Bound::Unbounded,
        };
        let start = self.adds.partition(|at| is_before(from, at, true));
        let end = self.adds.partition(|at| is_before(to, at, false));
        start..end.max(start)
    }
}

impl<K: CoreKey, S: Scheme, O: Observer, L: Sink> Scan<'_, '_, '_, '_, K, S, O, L> {
    /// Shows the attempt's own inserts that come before `key`, or all that are left.
    pub(super) fn show_own(&mut self, key: Option<K>) -> Result<ControlFlow<()>, Abort> {
        while !self.own.is_empty() {
            let adds = &self.attempt.session.private.adds;
            let position = match self.direction {
                Direction::Forward => self.own.start,
                Direction::Backward => adds.before(self.own.end),
            };
            let (place, row) = *adds.get(position).expect("the range of a scan is of entries");
            let own = K::of_any(place.key);
            let is_next = key.is_none_or(|key| match self.direction {
                Direction::Forward => own < key,
                Direction::Backward => own > key,
            });
            if !is_next {
                break;
            }
            match self.direction {
                Direction::Forward => self.own.start = adds.after(position),
                Direction::Backward => self.own.end = position,
            }
            if self.show(own, row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
