//! Rows that move: that stand in a secondary index under one key and are given a value with another.
//!
//! The attempt that changes a key enters the new one at once, and the old one stays: which of them holds is
//! for the visible version to say, and who scans the index asks it. What is kept here says which entries may
//! leave. It is touched by attempts that change keys, and by rows of such tables that leave the indexes; no
//! reader comes here but for one look whether there is anything to ask.
//!
//! An entry is *stale* when the last committed value of its row has another key. It leaves when nobody is in
//! flight with the row and its scheme agrees (`Scheme::leaving`); or with its row.
//!
//! INVARIANTS
//! (1) The key of a row's last committed value is never stale. Commits of a row come here in the order in
//!     which they install, because each comes between its validation and its installation. Who aborts calls a
//!     key stale only if it added the entry itself, and nobody has committed that key since.
//! (2) An attempt is in flight with a row from before it looks for the entry of the new key until it has
//!     ended. So an entry that it has found, or added, is there when it commits.
//! (3) No entry outlives its row. A row that leaves takes the stale ones along, and leaves a mark for the
//!     attempts in flight with it, which can only abort: they remove what they have added while they are still
//!     pinned, before the memory of the row is used again. Who begins later does not find the row under its
//!     primary key, and enters nothing.

use core::mem;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use storage::{AnyKey, RowRef, TableId, Which};
use sync::atomic::{AtomicBool, Ordering, fence};
use sync::plant::is_planted;
use sync::{Latched, Padded};

use crate::{Retire, Scheme, plants};

/// A place of a row in its secondary indexes.
type Entered = (Which, AnyKey);

/// The moving rows of a database.
#[derive(Debug)]
pub(crate) struct Moves(Box<[Padded<TableMoves>]>);

impl Moves {
    /// For so many tables.
    pub(crate) fn new(tables: usize) -> Self {
        Self((0..tables).map(|_| Padded::default()).collect())
    }

    /// Those of a table.
    #[inline]
    pub(crate) fn of(&self, table: TableId) -> &TableMoves {
        &self.0[usize::from(table.0)]
    }
}

/// The moving rows of a table.
#[derive(Debug, Default)]
pub(crate) struct TableMoves {
    have_begun: AtomicBool,
    /// By the id of the row.
    rows: Latched<BTreeMap<usize, Moving>>,
}

/// A row with which attempts are in flight, or which has stale entries.
#[derive(Debug, Default)]
struct Moving {
    in_flight: usize,
    /// The keys that the last commits since the first of these attempts have given, one an index.
    carried: Vec<Entered>,
    stale: Vec<Entered>,
    /// Whether the row has left the indexes.
    is_gone: bool,
    /// Whether the stale entries are among the leftovers.
    is_left_over: bool,
}

impl TableMoves {
    /// Whether an entry may lead to a row that has another key. Asked after the row was read.
    #[inline]
    pub(crate) fn have_begun(&self) -> bool {
        // Relaxed: whoever finds an entry and a value that do not agree has acquired either the entry, from
        // the latch of its leaf, or the value, from its installation. Both come after the store in `begin`.
        self.have_begun.load(Ordering::Relaxed) && !is_planted(&plants::MOVES_UNASKED)
    }

    /// An attempt is about to give a row another key. Unless the row is found under its primary key after
    /// this, it has left the indexes.
    #[cold]
    pub(crate) fn begin<S: Scheme>(&self, row: RowRef<'_, S>) {
        self.have_begun.store(true, Ordering::Relaxed); // Relaxed: ordered by the fence, and see `have_begun`.
        // SeqCst fence: pairs with the one in `leave`. Of an attempt that begins to move a row and then looks
        // for its primary key, and one that removes that key and then looks here, one sees the other.
        fence(Ordering::SeqCst);
        self.rows.lock().entry(row.id()).or_default().in_flight += 1;
    }

    /// An attempt that passed its validation is about to install a row that had the key `from` and has `to`
    /// now, and that it has `entered` under these.
    #[cold]
    pub(crate) fn commit<S: Scheme>(
        &self,
        row: RowRef<'_, S>,
        which: Which,
        (from, to): (AnyKey, AnyKey),
        entered: &[AnyKey],
    ) {
        let mut rows = self.rows.lock();
        let moving = rows.get_mut(&row.id()).expect("an attempt that moves a row has begun to");
        // Invariant (3).
        assert!(!moving.is_gone, "who changes a row that has left the indexes aborts");
        for key in entered.iter().copied().chain([from]).filter(|key| *key != to) {
            moving.add_stale((which, key));
        }
        moving.stale.retain(|entry| *entry != (which, to));
        moving.carried.retain(|(other, _)| *other != which);
        moving.carried.push((which, to));
    }

    /// An attempt that has begun to move a row is over; if it aborted, it has `entered` the row under these
    /// keys in vain. Whether the row has stale entries that are now the caller's to leave over.
    #[cold]
    pub(crate) fn end<S: Scheme>(
        &self,
        scheme: &S,
        row: RowRef<'_, S>,
        which: Which,
        entered: &[AnyKey],
    ) -> bool {
        self.settle(scheme, row, |moving| {
            moving.in_flight -= 1;
            // Invariant (1).
            for entry in entered.iter().map(|key| (which, *key)) {
                if !moving.carried.contains(&entry) {
                    moving.add_stale(entry);
                }
            }
        })
    }

    /// Tries once more to remove the stale entries of a row, which were left over; whether they still are.
    #[cold]
    pub(crate) fn retry<S: Scheme>(&self, scheme: &S, row: RowRef<'_, S>) -> bool {
        self.settle(scheme, row, |moving| moving.is_left_over = false)
    }

    /// A row, whose records are retired, has left the index of its primary key: its stale entries go with it.
    pub(crate) fn leave<S: Scheme>(&self, scheme: &S, row: RowRef<'_, S>) {
        fence(Ordering::SeqCst); // SeqCst fence: pairs with the one in `begin`.
        // Relaxed: ordered by the fence.
        if self.have_begun.load(Ordering::Relaxed) {
            let is_left = self.settle(scheme, row, |moving| {
                moving.is_gone = true;
                // Its last key has left with it: whoever enters that once more does so in vain.
                moving.carried.clear();
            });
            assert!(!is_left, "no entry outlives its row");
        }
    }

    /// Changes what is known of a row, removes the stale entries that may leave, and forgets the row when
    /// nothing is left to know. Whether there are entries that someone must try to remove later.
    fn settle<S: Scheme>(&self, scheme: &S, row: RowRef<'_, S>, change: impl FnOnce(&mut Moving)) -> bool {
        let mut rows = self.rows.lock();
        let Entry::Occupied(mut entry) = rows.entry(row.id()) else { return false };
        let moving = entry.get_mut();
        change(moving);
        if moving.in_flight == 0 || moving.is_gone {
            // Under the latch, so that nobody begins meanwhile who counts on one of these: invariant (2).
            moving.remove_stale(scheme, row);
        }
        if moving.in_flight > 0 {
            return false;
        }
        if moving.stale.is_empty() {
            entry.remove();
            return false;
        }
        !mem::replace(&mut moving.is_left_over, true)
    }
}

impl Moving {
    fn add_stale(&mut self, entry: Entered) {
        if !self.stale.contains(&entry) {
            self.stale.push(entry);
        }
    }

    /// Removes the stale entries that may leave.
    fn remove_stale<S: Scheme>(&mut self, scheme: &S, row: RowRef<'_, S>) {
        let is_gone = self.is_gone;
        self.stale.retain(|&(which, key)| {
            let mut verdict = Retire::Done;
            row.table().index(which).remove(&key, row, |leaf| {
                if is_gone {
                    row.records().for_each(|record| _ = scheme.retire(record, leaf));
                } else {
                    verdict = scheme.leaving(row.record(which.group()), leaf);
                }
                verdict == Retire::Done
            });
            verdict != Retire::Done
        });
    }
}
