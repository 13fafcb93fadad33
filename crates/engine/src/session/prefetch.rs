//! Asking for the memory of rows before statements need it. The shells of attempts pass keys on in chunks, so that the
//! searches are compiled once for each scheme and form of a key, and not for each statement of each procedure.

use core::ops::Range;

use storage::{CoreKey, Groups, IndexRef, RowRef, TableId, Which};

use super::Attempt;
use crate::{Observer, Scheme, Sink};

/// The number of keys for which an index is prefetched before it is searched: about as many cache misses as a core has
/// under way.
pub(super) const CHUNK: usize = 16;

/// By how many rows the records are prefetched before the values to which they lead.
const VALUES_BEHIND: usize = 8;

/// A table, and the numbers of column groups of it.
pub(super) type GroupsOf = (TableId, Range<usize>);

/// The numbers of column groups, which follow each other.
#[inline]
pub(super) fn numbers<G: Groups>(groups: G) -> Range<usize> {
    let first = groups.numbers().next().unwrap_or(0);
    first..first + groups.numbers().count()
}

/// Passes keys on, some at a time.
#[inline]
pub(super) fn in_chunks<K: CoreKey>(keys: impl Iterator<Item = K>, mut pass: impl FnMut(&[K])) {
    // Of any value: only the places that are filled are passed on.
    let mut chunk = [K::ends(1)[0]; CHUNK];
    let mut keys = keys.peekable();
    while keys.peek().is_some() {
        let mut len = 0;
        for (place, key) in chunk.iter_mut().zip(&mut keys) {
            *place = key;
            len += 1;
        }
        pass(&chunk[..len]);
    }
}

impl<S: Scheme, O: Observer, L: Sink> Attempt<'_, '_, S, O, L> {
    /// Asks for the memory of rows ahead of their use: the index's first, by several keys before it is searched, then
    /// that of the rows' records with these column groups, and last, if that is elsewhere, that of their values.
    #[inline(never)]
    pub(super) fn prefetch_words<K: CoreKey>(&self, (table, groups): GroupsOf, keys: &[K]) {
        if self.session.is_planned() {
            return;
        }
        let index = self.tables().get(table).index(Which::Primary);
        if index.is_ordered() {
            return prefetch_in_order(index, groups, keys);
        }
        for key in keys {
            key.prefetch(index);
        }
        let mut values = index.table().has_values_apart().then(|| ValuesBehind::new(groups.clone()));
        for row in keys.iter().filter_map(|key| key.peek(index)) {
            row.prefetch(groups.clone());
            if let Some(values) = &mut values {
                values.push(row);
            }
        }
        if let Some(values) = values {
            values.finish();
        }
    }
}

/// The same in an ordered index, which is searched at once. The keys are often neighbours. It is a function of its own
/// so that the loop for hash tables stays as small as it was: with both in one, YCSB lost 3 to 5%.
#[inline(never)]
fn prefetch_in_order<'db, S: Scheme, K: CoreKey>(index: IndexRef<'db, S>, groups: Range<usize>, keys: &[K]) {
    let mut values = index.table().has_values_apart().then(|| ValuesBehind::new(groups.clone()));
    K::peek_each(keys, index, |row: RowRef<'db, S>| {
        row.prefetch(groups.clone());
        if let Some(values) = &mut values {
            values.push(row);
        }
    });
    if let Some(values) = values {
        values.finish();
    }
}

/// The rows found last, whose records are on their way, and whose values are then asked for.
struct ValuesBehind<'db, S: Scheme> {
    rows: [Option<RowRef<'db, S>>; VALUES_BEHIND],
    oldest: usize,
    groups: Range<usize>,
}

impl<'db, S: Scheme> ValuesBehind<'db, S> {
    fn new(groups: Range<usize>) -> Self {
        Self { rows: [None; VALUES_BEHIND], oldest: 0, groups }
    }

    fn push(&mut self, row: RowRef<'db, S>) {
        if let Some(before) = self.rows[self.oldest].replace(row) {
            before.prefetch_newest(self.groups.clone());
        }
        self.oldest = (self.oldest + 1) % VALUES_BEHIND;
    }

    fn finish(self) {
        self.rows.iter().flatten().for_each(|row| row.prefetch_newest(self.groups.clone()));
    }
}
