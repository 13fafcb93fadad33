//! Typed shells over words for what is done while no transaction runs: loading and checking. A workload's code for them
//! is compiled once, over these types, and not once for each scheme.

use core::ops::{Bound, ControlFlow, RangeBounds};

use storage::{AnyKey, Groups, Index, IndexOn, IndexedKey, Key, Row, Table, TableId, Which, row_of};

use crate::database::bounds;
use crate::{Loader, Quiesced, Share};

/// Inserts rows by words.
pub trait RowLoader {
    /// Inserts a row whose key is new: its column groups, one after the other.
    fn insert_row(&mut self, table: TableId, key: AnyKey, groups: &[u64]);
}

/// A range of keys.
pub type KeyRange = (Bound<AnyKey>, Bound<AnyKey>);

/// A column group of a table as one of its indexes shows it.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// The table.
    pub table: TableId,
    /// The column group.
    pub group: usize,
    /// The index.
    pub which: Which,
}

/// A database in which no transaction runs, by words.
pub trait RowView {
    /// Shows the row of a primary key, if it is there.
    fn peek(&self, shown: Shown, key: AnyKey, see: &mut dyn FnMut(&[u64]));

    /// Shows the rows of a range of keys, in order.
    fn range(&self, shown: Shown, keys: KeyRange, see: &mut dyn FnMut(AnyKey, &[u64]) -> ControlFlow<()>);

    /// Shows a share of all rows, in no particular order: of a heap table without their keys.
    fn all(&self, shown: Shown, share: Share, see: &mut dyn FnMut(Option<AnyKey>, &[u64]));
}

/// A loader of typed rows.
pub struct TypedLoader<'l> {
    rows: &'l mut dyn RowLoader,
    words: Vec<u64>,
}

impl<'l> TypedLoader<'l> {
    /// Over this one.
    pub fn new(rows: &'l mut dyn RowLoader) -> Self {
        Self { rows, words: Vec::new() }
    }
}

impl Loader for TypedLoader<'_> {
    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) {
        self.words.clear();
        for group in G::words(rows).as_ref() {
            self.words.extend_from_slice(group);
        }
        self.rows.insert_row(table.id(), key.ordered().any(), &self.words);
    }
}

/// A view of typed rows.
pub struct TypedView<'v>(pub &'v dyn RowView);

fn shown<R: ?Sized>(table: Table<R>, which: Which) -> Shown {
    Shown { table: table.id(), group: table.group(), which }
}

fn any<K: Key>(keys: &impl RangeBounds<K>) -> KeyRange {
    bounds(keys, IndexedKey::any)
}

fn typed<K: Key>(key: AnyKey) -> K {
    K::from_ordered(K::Ordered::typed(key))
}

impl Quiesced for TypedView<'_> {
    fn read<R: Row + ?Sized, O>(&self, table: Table<R>, key: R::Key, see: impl FnOnce(&R) -> O) -> Option<O> {
        let (mut see, mut seen) = (Some(see), None);
        self.0.peek(shown(table, Which::Primary), key.ordered().any(), &mut |words| {
            seen = see.take().map(|see| see(row_of(words)));
        });
        seen
    }

    fn scan<R: Row + ?Sized>(
        &self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        mut see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) {
        self.0.range(shown(table, Which::Primary), any(&keys), &mut |key, words| {
            see(typed(key), row_of(words))
        });
    }

    fn heap<R: Row + ?Sized>(&self, table: Table<R>, share: Share, mut see: impl FnMut(&R)) {
        self.0.all(shown(table, Which::Primary), share, &mut |_, words| see(row_of(words)));
    }

    fn rows<R: Row + ?Sized>(&self, table: Table<R>, share: Share, mut see: impl FnMut(R::Key, &R)) {
        self.0.all(shown(table, Which::Primary), share, &mut |key, words| {
            see(typed(key.expect("the table has a primary index")), row_of(words));
        });
    }

    fn scan_by<R: Row, I: IndexOn<R>>(
        &self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        mut see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) {
        self.0.range(shown(index.rows(), index.which()), any(&keys), &mut |key, words| {
            let (key, row) = (typed(key), row_of(words));
            // A row that has moved may still be found under the key that it had.
            if I::holds(key, row) { see(key, row) } else { ControlFlow::Continue(()) }
        });
    }
}
