//! The rows that were found for a transaction before its batch was planned. The planned attempt makes the same
//! searches, mostly in the same order, and takes most rows from here. It still searches the index for keys of more
//! than one word, for keys that were missing or are inserted, for a key that it looks for more often or much earlier
//! than was foreseen, and in a table from which a row has gone in the present batch.
//!
//! INVARIANT   A row is returned only if it still stands under its key. Nothing changes while footprints are found. A
//!             transaction of the batch that deletes a row holds its records, or the stretch that stands for them,
//!             alone, and counts the removal before it gives them up. So an attempt that accesses one of these records
//!             either comes before the transaction, or sees that something was removed from the table, and searches.
//!             Rows that were found stay in memory until the batch has ended: each worker has a session that is
//!             pinned until then.

use core::mem;

use storage::{AnyKey, CoreKey, RowRef, Shape, TableStore};
use sync::plant::is_planted;
use sync::{clock, hint};

use crate::{Spot, plants};

/// How many entries after the next one are looked at: searches that were foreseen and are not made are passed over.
const AHEAD: usize = 4;
/// Instructions of a look.
const INSTRUCTIONS: u64 = 20;

/// A row with a key of one word. Few tables have wider keys, and room for these would make all entries wide.
#[derive(Debug)]
struct Found<'db, S: Shape> {
    key: u64,
    row: RowRef<'db, S>,
    spot: Spot,
    /// The table's [removals](TableStore::removals) when the row was found.
    removals: u32,
    /// See [`push`](FoundRows::push).
    unread: Option<u16>,
}

/// The rows that were found for a transaction by their primary keys, in the order of the searches.
#[derive(Debug)]
pub(crate) struct FoundRows<'db, S: Shape> {
    rows: Vec<Found<'db, S>>,
    /// The number of entries that the attempt has passed.
    passed: usize,
}

impl<S: Shape> Default for FoundRows<'_, S> {
    fn default() -> Self {
        Self { rows: Vec::new(), passed: 0 }
    }
}

impl<'db, S: Shape> FoundRows<'db, S> {
    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Adds a row that was found in the primary index of its table, and says whether it is kept. `unread` is the column
    /// group whose record is to be [asked for](Self::prefetch_rest), apart from its first cache line.
    #[inline]
    pub(crate) fn push<K: CoreKey>(
        &mut self,
        key: K,
        spot: Spot,
        row: RowRef<'db, S>,
        unread: Option<u16>,
    ) -> bool {
        let AnyKey::One(key) = key.any() else { return false };
        self.rows.push(Found { key, row, spot, removals: row.table().removals(), unread });
        true
    }

    /// Asks for the memory of the records that were found and not looked at. Between the search and this, their first
    /// cache lines came, which is what planning needs: a core has only so many cache misses under way, and all of
    /// a row at once would hold the search up.
    pub(crate) fn prefetch_rest(&self) {
        for found in &self.rows {
            if let Some(group) = found.unread {
                found.row.prefetch_rest(usize::from(group));
            }
        }
    }

    /// Leaves the rows of a transaction for its planned attempt, and takes other memory.
    pub(crate) fn leave(&mut self, planned: &mut Self) {
        hint::writes(&self.rows[..]);
        mem::swap(self, planned);
    }

    /// Begins an attempt.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.passed = 0;
        hint::reads(&self.rows[..]);
    }

    /// The row that stands under a key, if it is among the next ones, with the number of the key.
    #[inline]
    pub(crate) fn next<K: CoreKey>(
        &mut self,
        store: &TableStore<S>,
        key: K,
    ) -> Option<(RowRef<'db, S>, Spot)> {
        let AnyKey::One(key) = key.any() else { return None };
        clock::compute(INSTRUCTIONS);
        if !self.rows.get(self.passed)?.is_of(store, key) {
            self.pass_over(store, key)?;
        }
        let found = &self.rows[self.passed];
        self.passed += 1;
        let stands = found.removals == store.removals() || is_planted(&plants::FOUND_TRUSTED);
        stands.then_some((found.row, found.spot))
    }

    /// Passes over entries up to that of a key, if it is among the next ones.
    #[cold]
    fn pass_over(&mut self, store: &TableStore<S>, key: u64) -> Option<()> {
        let ahead = &self.rows[self.passed + 1..];
        self.passed += 1 + ahead.iter().take(AHEAD).position(|found| found.is_of(store, key))?;
        Some(())
    }
}

impl<S: Shape> Found<'_, S> {
    #[inline]
    fn is_of(&self, store: &TableStore<S>, key: u64) -> bool {
        self.key == key && core::ptr::eq(self.row.table(), store)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use storage::{Home, InPlace, Lookup, Row, Schema, TableId, Tables};
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    use super::*;

    #[derive(Debug)]
    struct Plain;

    impl Shape for Plain {
        type Header = ();
        type Version = ();
        type Leaf = ();
        type Data = InPlace;
    }

    #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(C)]
    struct Number(u64);

    impl Row for Number {
        type Key = u64;
        type Indexes = ();
    }

    #[test]
    fn rows_are_found_in_their_order_until_one_leaves_the_table() {
        let mut schema = Schema::new();
        for name in ["one", "other"] {
            schema.table::<u64>(name, Lookup::Point, 10).group::<Number>();
        }
        let tables = Tables::<Plain>::new(&schema, 1, 1, false);
        let [one, other] = [TableId(0), TableId(1)].map(|id| tables.get(id));
        let mut slot = tables.slot();
        let mut found = FoundRows::default();
        let rows: Vec<_> = (0..9).map(|_| slot.new_row(one, Home::Everywhere)).collect();
        for (key, row) in (0_u64..).zip(&rows) {
            assert!(found.push(key, Spot { number: key, is_numbered: false }, row.row(), None));
        }
        let mut attempt = FoundRows::default();
        found.leave(&mut attempt);
        attempt.begin();
        let mut next = |store, key: u64| {
            let (row, spot) = attempt.next(store, key)?;
            assert_eq!(spot.number, key);
            rows.iter().position(|new| new.row().is(row))
        };
        assert_eq!([0, 1].map(|key| next(one, key)), [Some(0), Some(1)]);
        assert_eq!(next(other, 2), None, "a row of the other table");
        assert_eq!([4, 3].map(|key| next(one, key)), [Some(4), None], "some are passed over");
        assert_eq!(next(one, 5), Some(5));
        one.count_removal();
        assert_eq!(next(one, 6), None, "it may have been this one");
        assert_eq!(next(one, 8), None);
        for row in rows {
            slot.discard_row(row);
        }
    }
}
