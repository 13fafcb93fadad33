//! Attempts without the type of their scheme: the operations over words behind one pointer.
//!
//! A stored procedure over an [`ErasedAttempt`] is compiled once, and not once for each scheme. Each statement costs an
//! indirect call, whose target is the same in a whole run and so is predicted, and a branch on whether the key has one
//! word.

use core::ops::{Bound, ControlFlow, RangeBounds};

use storage::{
    Additive, AnyKey, CoreKey, Groups, Home, Index, IndexOn, IndexedKey, Indexes, Key, Row, SecondaryKeys,
    Table, TableId, Which, row_of, row_of_mut, words_of,
};

use super::prefetch::CHUNK;
use super::words::Homes;
use super::{Attempt, GroupsOf, Target, in_chunks, numbers, target, with_core};
use crate::database::bounds;
use crate::driver::Driver;
use crate::{Abort, Direction, Observer, Scheme, Sink, Transaction, Write};

/// The rows of a range of an index: the table, the column group that is shown, and the index.
pub(crate) type Shown = (TableId, u16, Which);

/// The secondary keys of a row before and after a change, if they differ.
pub(crate) type Moved = Option<[SecondaryKeys; 2]>;

/// Sees a row: its key, its words, and whether it may be shown under a key that it does not have. Returns `None` for a
/// row that it does not count as shown.
pub(crate) type SeeAny<'s> = &'s mut dyn FnMut(AnyKey, &[u64], bool) -> Option<ControlFlow<()>>;

/// The operations of an attempt over words, with keys of any width. Object-safe.
pub(crate) trait WordTxn {
    /// Whether the homes of rows matter.
    fn is_partitioned(&self) -> bool;

    /// Whether a write must be known by its value before and after, also without secondary indexes.
    fn marks(&self) -> bool;

    /// Reads a row.
    fn read(&mut self, target: Target, home: Home, key: &AnyKey) -> Result<Option<&[u64]>, Abort>;

    /// Reads and writes a row of a column group without secondary indexes.
    fn write(&mut self, target: Target, home: Home, key: &AnyKey) -> Result<Option<&mut [u64]>, Abort>;

    /// Reads a row and changes it, its secondary keys included.
    fn change(
        &mut self,
        target: Target,
        home: Home,
        key: &AnyKey,
        change: &mut dyn FnMut(&mut [u64]) -> Moved,
    ) -> Result<bool, Abort>;

    /// Reads a row and changes it; its secondary keys are computed without types.
    fn change_plainly(
        &mut self,
        target: Target,
        home: Home,
        key: &AnyKey,
        change: &mut dyn FnMut(&mut [u64]),
    ) -> Result<bool, Abort>;

    /// Adds to a row.
    fn add(&mut self, target: Target, home: Home, key: &AnyKey, amounts: &[u64]) -> Result<bool, Abort>;

    /// Overwrites a row.
    fn replace(&mut self, target: Target, home: Home, key: &AnyKey, words: &[u64]) -> Result<bool, Abort>;

    /// Inserts a row.
    fn insert(&mut self, table: TableId, home: Home, key: &AnyKey, groups: &[&[u64]]) -> Result<bool, Abort>;

    /// Deletes a row.
    fn delete(&mut self, target: Target, home: Home, key: &AnyKey) -> Result<bool, Abort>;

    /// Shows the rows of a range of keys whose width is that of the index.
    fn scan(
        &mut self,
        shown: Shown,
        homes: Homes,
        keys: (Bound<AnyKey>, Bound<AnyKey>),
        direction: Direction,
        see: SeeAny<'_>,
    ) -> Result<(), Abort>;

    /// See [`Transaction::decided`].
    fn decide(&mut self);

    /// Asks for the memory of column groups of rows ahead of their use, for keys of the width of the primary key.
    fn fetch(&mut self, groups: GroupsOf, keys: &[AnyKey]);
}

impl<S: Scheme, O: Observer, L: Sink> WordTxn for Attempt<'_, '_, S, O, L> {
    fn is_partitioned(&self) -> bool {
        S::Driver::PARTITIONED
    }

    fn marks(&self) -> bool {
        self.session.observer.marks()
    }

    fn read(&mut self, target: Target, home: Home, key: &AnyKey) -> Result<Option<&[u64]>, Abort> {
        with_core!(O, *key, |key| self.read_words(target, home, key))
    }

    fn write(&mut self, target: Target, home: Home, key: &AnyKey) -> Result<Option<&mut [u64]>, Abort> {
        with_core!(O, *key, |key| self.write_words(target, home, key, Write::Modify))
    }

    fn change(
        &mut self,
        target: Target,
        home: Home,
        key: &AnyKey,
        change: &mut dyn FnMut(&mut [u64]) -> Moved,
    ) -> Result<bool, Abort> {
        with_core!(O, *key, |key| self.change_words(target, home, key, change))
    }

    fn change_plainly(
        &mut self,
        target: Target,
        home: Home,
        key: &AnyKey,
        change: &mut dyn FnMut(&mut [u64]),
    ) -> Result<bool, Abort> {
        with_core!(O, *key, |key| Attempt::change_plainly(self, target, home, key, change))
    }

    fn add(&mut self, target: Target, home: Home, key: &AnyKey, amounts: &[u64]) -> Result<bool, Abort> {
        with_core!(O, *key, |key| self.add_words(target, home, key, amounts))
    }

    fn replace(&mut self, target: Target, home: Home, key: &AnyKey, words: &[u64]) -> Result<bool, Abort> {
        with_core!(O, *key, |key| self.replace_words(target, home, key, words))
    }

    fn insert(&mut self, table: TableId, home: Home, key: &AnyKey, groups: &[&[u64]]) -> Result<bool, Abort> {
        with_core!(O, *key, |key| self.insert_words(table, key, home, groups))
    }

    fn delete(&mut self, target: Target, home: Home, key: &AnyKey) -> Result<bool, Abort> {
        with_core!(O, *key, |key| self.delete_words(target, home, key))
    }

    fn scan(
        &mut self,
        shown: Shown,
        homes: Homes,
        keys: (Bound<AnyKey>, Bound<AnyKey>),
        direction: Direction,
        see: SeeAny<'_>,
    ) -> Result<(), Abort> {
        self.receive();
        self.reach(homes)?;
        let (table, _, which) = shown;
        if !O::ANY_WIDTH && self.tables().get(table).key_words(which) == 1 {
            walk::<u64, _, _, _>(self, shown, keys, direction, see)
        } else {
            walk::<AnyKey, _, _, _>(self, shown, keys, direction, see)
        }
    }

    fn decide(&mut self) {
        self.decided();
    }

    fn fetch(&mut self, groups: GroupsOf, keys: &[AnyKey]) {
        if !O::ANY_WIDTH && self.tables().get(groups.0).key_words(Which::Primary) == 1 {
            let keys = keys.iter().map(|key| u64::of_any(*key));
            in_chunks(keys, |keys| self.prefetch_words(groups.clone(), keys));
        } else {
            keys.chunks(CHUNK).for_each(|keys| self.prefetch_words(groups.clone(), keys));
        }
    }
}

fn walk<K: CoreKey, S: Scheme, O: Observer, L: Sink>(
    attempt: &mut Attempt<'_, '_, S, O, L>,
    shown: Shown,
    (from, to): (Bound<AnyKey>, Bound<AnyKey>),
    direction: Direction,
    see: SeeAny<'_>,
) -> Result<(), Abort> {
    let may_differ = attempt.may_differ(shown.0);
    let is_secondary = shown.2 != Which::Primary;
    let keys = (from.map(K::of_any), to.map(K::of_any));
    attempt.scan_words(shown, keys, direction, &mut |key: K, words| {
        see(key.any(), words, is_secondary && may_differ())
    })
}

/// An attempt in progress, without the type of its scheme: a [`Transaction`] for stored procedures that are compiled
/// once for all schemes ([`Workload::COMPILED_ONCE`](crate::Workload::COMPILED_ONCE)).
pub struct ErasedAttempt<'t> {
    txn: &'t mut dyn WordTxn,
    is_partitioned: bool,
    marks: bool,
}

impl<'t> ErasedAttempt<'t> {
    /// Hides the scheme of an attempt.
    pub fn new<S: Scheme, O: Observer, L: Sink>(attempt: &'t mut Attempt<'_, '_, S, O, L>) -> Self {
        let (is_partitioned, marks) = (attempt.is_partitioned(), attempt.marks());
        Self { txn: attempt, is_partitioned, marks }
    }

    /// Returns the home of a row, if homes matter.
    #[inline]
    fn home<K: Key>(&self, key: K) -> Home {
        if self.is_partitioned { key.home() } else { Home::Everywhere }
    }

    #[inline]
    fn homes<K: Key>(&self, keys: &impl RangeBounds<K>) -> Homes {
        (keys.start_bound().map(|key| self.home(*key)), keys.end_bound().map(|key| self.home(*key)))
    }
}

/// Returns the bounds of a range of typed keys as keys of any width.
#[inline]
fn any_bounds<K: Key>(keys: &impl RangeBounds<K>) -> (Bound<AnyKey>, Bound<AnyKey>) {
    bounds(keys, IndexedKey::any)
}

impl Transaction for ErasedAttempt<'_> {
    #[inline]
    fn read<R: Row + ?Sized, T>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        see: impl FnOnce(&R) -> T,
    ) -> Result<Option<T>, Abort> {
        let home = self.home(key);
        let words = self.txn.read(target(table), home, &key.ordered().any())?;
        Ok(words.map(|words| see(row_of(words))))
    }

    #[inline]
    fn update<R: Row + ?Sized, T>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<Option<T>, Abort> {
        let (target, home, any) = (target(table), self.home(key), key.ordered().any());
        if R::Indexes::COUNT == 0 && !self.marks {
            let words = self.txn.write(target, home, &any)?;
            return Ok(words.map(|words| change(row_of_mut(words))));
        }
        let (mut change, mut output) = (Some(change), None);
        self.txn.change(target, home, &any, &mut |words| {
            let row = row_of_mut(words);
            let before = R::Indexes::keys(key, row);
            output = change.take().map(|change| change(row));
            let after = R::Indexes::keys(key, row);
            (before != after).then(|| [before, after].map(R::Indexes::any))
        })?;
        Ok(output)
    }

    #[inline]
    fn add<R: Additive>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        amounts: impl FnOnce(&mut R),
    ) -> Result<bool, Abort> {
        let mut row = R::new_zeroed();
        amounts(&mut row);
        let home = self.home(key);
        self.txn.add(target(table), home, &key.ordered().any(), words_of(&row))
    }

    #[inline]
    fn replace<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key, row: &R) -> Result<bool, Abort> {
        let home = self.home(key);
        self.txn.replace(target(table), home, &key.ordered().any(), words_of(row))
    }

    #[inline]
    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) -> Result<bool, Abort> {
        self.txn.insert(table.id(), key.home(), &key.ordered().any(), G::words(rows).as_ref())
    }

    #[inline]
    fn delete<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) -> Result<bool, Abort> {
        let home = self.home(key);
        self.txn.delete(target(table), home, &key.ordered().any())
    }

    #[inline]
    fn scan<R: Row + ?Sized>(
        &mut self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        direction: Direction,
        mut see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let shown = (table.id(), table.group() as u16, Which::Primary);
        let homes = self.homes(&keys);
        self.txn.scan(shown, homes, any_bounds(&keys), direction, &mut |key, words, _| {
            Some(see(typed_key(key), row_of(words)))
        })
    }

    #[inline]
    fn scan_by<R: Row, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        direction: Direction,
        mut see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let shown = (index.table(), index.group() as u16, index.which());
        let homes = self.homes(&keys);
        self.txn.scan(shown, homes, any_bounds(&keys), direction, &mut |key, words, may_differ| {
            let (key, row) = (typed_key::<I::Key>(key), row_of(words));
            (!may_differ || I::holds(key, row)).then(|| see(key, row))
        })
    }

    #[inline]
    fn decided(&mut self) {
        self.txn.decide();
    }

    #[inline]
    fn prefetch<G: Groups>(&mut self, groups: G, keys: impl Iterator<Item = G::Key>) {
        let groups = (groups.id(), numbers(groups));
        in_chunks(keys.map(|key| key.ordered().any()), |keys| self.txn.fetch(groups.clone(), keys));
    }
}

#[inline]
fn typed_key<K: Key>(key: AnyKey) -> K {
    K::from_ordered(K::Ordered::typed(key))
}
