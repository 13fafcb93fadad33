//! Rows that are to leave the indexes when the attempt ends, in the order in which they were added or deleted, and
//! found by row.

use storage::RowRef;

use super::Unlink;
use crate::AccessSet;
use crate::Scheme;

/// The rows of an attempt that it added, or those that it deletes.
#[derive(Debug)]
pub(super) struct Unlinks<'db, S: Scheme> {
    /// By the ids of the rows; none in place of one that was taken out.
    of: AccessSet<Option<Unlink<'db, S>>>,
    /// How many of them, from the last on, [`pop`](Self::pop) has taken out.
    popped: usize,
}

impl<S: Scheme> Default for Unlinks<'_, S> {
    fn default() -> Self {
        Self { of: AccessSet::default(), popped: 0 }
    }
}

impl<'db, S: Scheme> Unlinks<'db, S> {
    /// Adds a row.
    #[inline]
    pub(super) fn push(&mut self, unlink: Unlink<'db, S>) {
        self.of.push(unlink.row.id(), Some(unlink));
    }

    /// The position of a row. One that was taken out may have been added once more.
    #[inline]
    fn find(&self, row: RowRef<'db, S>) -> Option<usize> {
        self.of.find_all(row.id()).find(|at| self.of.get(*at).is_some())
    }

    /// A row that leaves the indexes.
    #[inline]
    pub(super) fn of(&mut self, row: RowRef<'db, S>) -> Option<&mut Unlink<'db, S>> {
        let position = self.find(row)?;
        self.of.get_mut(position).as_mut()
    }

    /// Takes a row out.
    pub(super) fn take(&mut self, row: RowRef<'db, S>) -> Option<Unlink<'db, S>> {
        let position = self.find(row)?;
        self.of.get_mut(position).take()
    }

    /// Takes the last row out, once no more are added; none when all are out.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Unlink<'db, S>> {
        while self.popped < self.of.len() {
            self.popped += 1;
            let position = self.of.len() - self.popped;
            if let Some(unlink) = self.of.get_mut(position).take() {
                return Some(unlink);
            }
        }
        self.clear();
        None
    }

    /// Forgets all rows.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.of.clear();
        self.popped = 0;
    }
}
