//! Interpretations of the words of a column group's rows: by their type, which costs nothing at run time, or by the
//! declaration of the table, for callers that have no types.

use core::marker::PhantomData;

use storage::{
    Home, IndexVisit, IndexedKey, Indexes, Key, Row, Table, TableId, TableStore, Tables, Which, row_of,
};

use crate::Scheme;

/// Evaluates an expression with the integer of a key whose width is known only at run time.
macro_rules! with_width {
    ($any:expr, |$key:ident| $body:expr) => {
        match $any {
            ::storage::AnyKey::One($key) => $body,
            ::storage::AnyKey::Two($key) => $body,
            ::storage::AnyKey::Six($key) => $body,
        }
    };
}
pub(crate) use with_width;

/// One column group of a table, and the description of its rows.
pub(crate) trait Layout: Copy {
    /// The table's primary key as indexes compare it.
    type Key: IndexedKey;

    /// The table.
    fn table(self) -> TableId;

    /// The column group's number.
    fn number(self) -> usize;

    /// The number of the group's record among the records of a row.
    fn record(self) -> usize;

    /// The words of the group, out of the words of its record.
    fn part<'w, S: Scheme>(self, words: &'w [u64], tables: &Tables<S>) -> &'w [u64];

    /// Like [`part`](Self::part), but mutable.
    fn part_mut<'w, S: Scheme>(self, words: &'w mut [u64], tables: &Tables<S>) -> &'w mut [u64];

    /// The number of secondary indexes that are computed from the group.
    fn indexes(self) -> usize;

    /// The home of the row of a key.
    fn home(self, key: Self::Key) -> Home;

    /// Calls `visit` with each secondary key of a row, in the order of the indexes, until one fails.
    fn try_each<V: KeyVisit>(self, key: Self::Key, words: &[u64], visit: &mut V) -> Result<(), V::Stop>;
}

/// The visitor that [`Layout::try_each`] calls.
pub(crate) trait KeyVisit {
    /// The reason for stopping early.
    type Stop;

    /// Visits one index: its position among the group's, the row's key in it, and the homes of its keys.
    fn index<K: IndexedKey>(
        &mut self,
        position: usize,
        key: K,
        home: impl Fn(K) -> Home,
    ) -> Result<(), Self::Stop>;
}

impl<R: Row + ?Sized> Layout for Table<R> {
    type Key = <R::Key as Key>::Ordered;

    #[inline]
    fn table(self) -> TableId {
        self.id()
    }

    #[inline]
    fn number(self) -> usize {
        self.group()
    }

    #[inline]
    fn record(self) -> usize {
        Self::record(self)
    }

    #[inline]
    fn part<'w, S: Scheme>(self, words: &'w [u64], tables: &Tables<S>) -> &'w [u64] {
        Self::part(self, words, || tables.place(self.id(), self.group()))
    }

    #[inline]
    fn part_mut<'w, S: Scheme>(self, words: &'w mut [u64], tables: &Tables<S>) -> &'w mut [u64] {
        Self::part_mut(self, words, || tables.place(self.id(), self.group()))
    }

    #[inline]
    fn indexes(self) -> usize {
        R::Indexes::COUNT
    }

    #[inline]
    fn home(self, key: Self::Key) -> Home {
        R::Key::from_ordered(key).home()
    }

    #[inline]
    fn try_each<V: KeyVisit>(self, key: Self::Key, words: &[u64], visit: &mut V) -> Result<(), V::Stop> {
        R::Indexes::try_each(R::Key::from_ordered(key), row_of(words), &mut Untyped(visit))
    }
}

/// Converts typed keys to the form in which indexes compare them.
struct Untyped<'v, V>(&'v mut V);

impl<V: KeyVisit> IndexVisit for Untyped<'_, V> {
    type Stop = V::Stop;

    #[inline]
    fn index<K: Key>(&mut self, position: usize, key: K) -> Result<(), V::Stop> {
        self.0.index(position, key.ordered(), |key| K::from_ordered(key).home())
    }
}

/// A column group by number. Its creator has checked that the table has the group, and keys of the width `K`.
pub(crate) struct Declared<'db, S: Scheme, K> {
    store: &'db TableStore<S>,
    group: u16,
    key: PhantomData<K>,
}

impl<S: Scheme, K> Clone for Declared<'_, S, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Scheme, K> Copy for Declared<'_, S, K> {}

impl<'db, S: Scheme, K> Declared<'db, S, K> {
    #[inline]
    pub(crate) fn new(store: &'db TableStore<S>, group: usize) -> Self {
        Self { store, group: group as u16, key: PhantomData }
    }
}

impl<S: Scheme, K: IndexedKey> Layout for Declared<'_, S, K> {
    type Key = K;

    #[inline]
    fn table(self) -> TableId {
        self.store.id()
    }

    #[inline]
    fn number(self) -> usize {
        usize::from(self.group)
    }

    #[inline]
    fn record(self) -> usize {
        self.store.record_of(self.number())
    }

    #[inline]
    fn part<'w, T: Scheme>(self, words: &'w [u64], _: &Tables<T>) -> &'w [u64] {
        &words[self.store.place(self.number())]
    }

    #[inline]
    fn part_mut<'w, T: Scheme>(self, words: &'w mut [u64], _: &Tables<T>) -> &'w mut [u64] {
        &mut words[self.store.place(self.number())]
    }

    #[inline]
    fn indexes(self) -> usize {
        self.store.indexes(self.number())
    }

    #[inline]
    fn home(self, key: K) -> Home {
        self.store.home(Which::Primary, key.any())
    }

    fn try_each<V: KeyVisit>(self, key: K, words: &[u64], visit: &mut V) -> Result<(), V::Stop> {
        (0..self.indexes() as u16).try_for_each(|position| {
            let which = Which::Secondary { group: self.group, position };
            let secondary = self.store.secondary_key(self.group, position, key.any(), words);
            with_width!(secondary, |key| {
                visit.index(usize::from(position), key, |key| self.store.home(which, key.any()))
            })
        })
    }
}
