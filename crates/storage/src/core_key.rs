//! Keys as code takes them that is compiled for each scheme: of one word, or of a width that is known at run time.
//!
//! Most keys have one word, and cost nothing more than with code for each width. That code would be compiled under each
//! scheme once more for each of the two other widths, which few tables have. So a key of another width is passed on as
//! an [`AnyKey`]. It costs a copy, a branch, and an indirect call where an index tells of its leaves. The searches
//! behind that branch are compiled once for each type of leaf metadata, and not for each scheme (decision 0047).

use core::fmt::Debug;
use core::ops::{Bound, ControlFlow};

use crate::index::{BTree, Inserted, LeafRef, NextNode, RowPtr, Visitor, Watcher};
use crate::key::OrderedKey;
use crate::row::Direction;
use crate::shape::{LeafMeta, Shape};
use crate::table::{AnyIndex, AnyKey, IndexRef, IndexedKey, Insertion, RowRef, Typed, Walker};

/// A key for code that is compiled for each scheme: a word, or a key of any width.
pub trait CoreKey: Copy + Ord + Debug {
    /// The key as one of any width.
    fn any(self) -> AnyKey;

    /// The key back from [`any`](Self::any).
    ///
    /// # Panics
    /// When its width is another.
    fn of_any(any: AnyKey) -> Self;

    /// A well-mixed 64-bit hash: that of the integer.
    fn hash(self) -> u64;

    /// The smallest key with the same bits above the lowest `suffix_bits`.
    #[must_use]
    fn prefix(self, suffix_bits: u32) -> Self;

    /// The smallest and the largest key of so many words.
    fn ends(words: usize) -> [Self; 2];

    /// See [`IndexRef::get`].
    ///
    /// # Errors
    /// Those of `missed`.
    fn get<'db, S: Shape, E>(
        self,
        index: IndexRef<'db, S>,
        missed: impl FnMut(LeafRef<'db, S::Leaf>) -> Result<(), E>,
    ) -> Result<Option<RowRef<'db, S>>, E>;

    /// See [`IndexRef::peek`].
    fn peek<S: Shape>(self, index: IndexRef<'_, S>) -> Option<RowRef<'_, S>>;

    /// See [`IndexRef::peek_each`].
    fn peek_each<'db, S: Shape>(keys: &[Self], index: IndexRef<'db, S>, found: impl FnMut(RowRef<'db, S>));

    /// See [`IndexRef::prefetch`].
    fn prefetch<S: Shape>(self, index: IndexRef<'_, S>);

    /// See [`IndexRef::insert`].
    ///
    /// # Errors
    /// Those of `watch`.
    fn insert<'db, S: Shape, W: Watcher<'db, S::Leaf>>(
        self,
        index: IndexRef<'db, S>,
        row: RowRef<'db, S>,
        watch: &mut W,
    ) -> Result<Insertion<'db, S>, W::Stop>;

    /// See [`IndexRef::scan`].
    ///
    /// # Errors
    /// Those of `walker`.
    fn scan<'db, S: Shape, W: Walker<'db, Self, S>>(
        index: IndexRef<'db, S>,
        keys: (Bound<Self>, Bound<Self>),
        direction: Direction,
        walker: &mut W,
    ) -> Result<(), W::Stop>;
}

impl CoreKey for u64 {
    #[inline]
    fn any(self) -> AnyKey {
        AnyKey::One(self)
    }

    #[inline]
    fn of_any(any: AnyKey) -> Self {
        Self::typed(any)
    }

    #[inline]
    fn hash(self) -> u64 {
        OrderedKey::hash(self)
    }

    #[inline]
    fn prefix(self, suffix_bits: u32) -> Self {
        OrderedKey::prefix(self, suffix_bits)
    }

    #[inline]
    fn ends(_: usize) -> [Self; 2] {
        [Self::MIN, Self::MAX]
    }

    // Always: see `IndexRef::get`.
    #[inline(always)]
    fn get<'db, S: Shape, E>(
        self,
        index: IndexRef<'db, S>,
        missed: impl FnMut(LeafRef<'db, S::Leaf>) -> Result<(), E>,
    ) -> Result<Option<RowRef<'db, S>>, E> {
        index.get(self, missed)
    }

    // Always: see `IndexRef::peek`.
    #[inline(always)]
    fn peek<S: Shape>(self, index: IndexRef<'_, S>) -> Option<RowRef<'_, S>> {
        index.peek(self)
    }

    #[inline]
    fn peek_each<'db, S: Shape>(keys: &[Self], index: IndexRef<'db, S>, found: impl FnMut(RowRef<'db, S>)) {
        index.peek_each(keys, found);
    }

    #[inline]
    fn prefetch<S: Shape>(self, index: IndexRef<'_, S>) {
        index.prefetch(self);
    }

    #[inline]
    fn insert<'db, S: Shape, W: Watcher<'db, S::Leaf>>(
        self,
        index: IndexRef<'db, S>,
        row: RowRef<'db, S>,
        watch: &mut W,
    ) -> Result<Insertion<'db, S>, W::Stop> {
        index.insert(self, row, watch)
    }

    #[inline]
    fn scan<'db, S: Shape, W: Walker<'db, Self, S>>(
        index: IndexRef<'db, S>,
        (from, to): (Bound<Self>, Bound<Self>),
        direction: Direction,
        walker: &mut W,
    ) -> Result<(), W::Stop> {
        index.scan(from, to, direction, walker)
    }
}

/// Goes on with the integer of a key of any width.
macro_rules! with_integer {
    ($any:expr, |$key:ident| $body:expr) => {
        match $any {
            AnyKey::One($key) => $body,
            AnyKey::Two($key) => $body,
            AnyKey::Six($key) => $body,
        }
    };
}

impl CoreKey for AnyKey {
    #[inline]
    fn any(self) -> AnyKey {
        self
    }

    #[inline]
    fn of_any(any: AnyKey) -> Self {
        any
    }

    fn hash(self) -> u64 {
        with_integer!(self, |key| OrderedKey::hash(key))
    }

    fn prefix(self, suffix_bits: u32) -> Self {
        with_integer!(self, |key| IndexedKey::any(OrderedKey::prefix(key, suffix_bits)))
    }

    fn ends(words: usize) -> [Self; 2] {
        match words {
            1 => [u64::MIN, u64::MAX].map(Self::One),
            2 => [u128::MIN, u128::MAX].map(Self::Two),
            _ => [OrderedKey::MIN, OrderedKey::MAX].map(Self::Six),
        }
    }

    #[inline]
    fn get<'db, S: Shape, E>(
        self,
        index: IndexRef<'db, S>,
        mut missed: impl FnMut(LeafRef<'db, S::Leaf>) -> Result<(), E>,
    ) -> Result<Option<RowRef<'db, S>>, E> {
        let found = index.index.get_any(&self, &mut missed)?;
        Ok(found.map(|row| RowRef { at: row.get(), table: index.table }))
    }

    #[inline]
    fn peek<S: Shape>(self, index: IndexRef<'_, S>) -> Option<RowRef<'_, S>> {
        index.peek_any(&self)
    }

    #[inline]
    fn peek_each<'db, S: Shape>(
        keys: &[Self],
        index: IndexRef<'db, S>,
        mut found: impl FnMut(RowRef<'db, S>),
    ) {
        index.index.peek_each_any(keys, &mut |row| found(RowRef { at: row.get(), table: index.table }));
    }

    #[inline]
    fn prefetch<S: Shape>(self, index: IndexRef<'_, S>) {
        index.prefetch_any(&self);
    }

    #[inline]
    fn insert<'db, S: Shape, W: Watcher<'db, S::Leaf>>(
        self,
        index: IndexRef<'db, S>,
        row: RowRef<'db, S>,
        watch: &mut W,
    ) -> Result<Insertion<'db, S>, W::Stop> {
        let watch: &mut dyn Watcher<'db, S::Leaf, Stop = W::Stop> = watch;
        index.insert_any(&self, row, watch)
    }

    #[inline]
    fn scan<'db, S: Shape, W: Walker<'db, Self, S>>(
        index: IndexRef<'db, S>,
        keys: (Bound<Self>, Bound<Self>),
        direction: Direction,
        walker: &mut W,
    ) -> Result<(), W::Stop> {
        let table = index.table;
        let scanned = index.index.scan_any(keys, direction, &mut Typed { walker, table });
        scanned.unwrap_or_else(|| panic!("table `{}` has no ordered index of this key", table.name()))
    }
}

/// Hears of the leaf in which a key is missing.
type Missed<'m, 't, L, E> = &'m mut dyn FnMut(LeafRef<'t, L>) -> Result<(), E>;

/// Visits entries by keys of any width.
type VisitorOfAny<'v, 't, L, E> = &'v mut (dyn Visitor<'t, AnyKey, L, Stop = E> + 'v);

const OTHER_WIDTH: &str = "the key has not the width of the index";

// Never inlined: this is the code that schemes share if their leaves have metadata of the same type.
impl<L: LeafMeta> AnyIndex<L> {
    #[inline(never)]
    fn get_any<'t, E>(&'t self, key: &AnyKey, missed: Missed<'_, 't, L, E>) -> Result<Option<RowPtr>, E> {
        match (self, key) {
            (Self::Tree1(tree), AnyKey::One(key)) => tree.get(*key, missed),
            (Self::Tree2(tree), AnyKey::Two(key)) => tree.get(*key, missed),
            (Self::Tree6(tree), AnyKey::Six(key)) => tree.get(*key, missed),
            (Self::Hash1(hash), AnyKey::One(key)) => hash.get(*key, missed),
            (Self::Hash2(hash), AnyKey::Two(key)) => hash.get(*key, missed),
            _ => panic!("{OTHER_WIDTH}"),
        }
    }

    #[inline(never)]
    pub(crate) fn prefetch_any(&self, key: &AnyKey) -> Option<NextNode<'_>> {
        match (self, key) {
            (Self::Hash1(hash), AnyKey::One(key)) => hash.prefetch(*key),
            (Self::Hash2(hash), AnyKey::Two(key)) => hash.prefetch(*key),
            // Trees are searched at once.
            _ => None,
        }
    }

    #[inline(never)]
    fn peek_any(&self, key: &AnyKey) -> Option<RowPtr> {
        match (self, key) {
            (Self::Tree1(tree), AnyKey::One(key)) => tree.peek(*key),
            (Self::Tree2(tree), AnyKey::Two(key)) => tree.peek(*key),
            (Self::Tree6(tree), AnyKey::Six(key)) => tree.peek(*key),
            (Self::Hash1(hash), AnyKey::One(key)) => hash.peek(*key),
            (Self::Hash2(hash), AnyKey::Two(key)) => hash.peek(*key),
            _ => panic!("{OTHER_WIDTH}"),
        }
    }

    #[inline(never)]
    fn peek_each_any(&self, keys: &[AnyKey], found: &mut dyn FnMut(RowPtr)) {
        let keys = keys.iter().copied();
        match self {
            Self::Tree1(tree) => tree.peek_each(keys.map(IndexedKey::typed)).flatten().for_each(found),
            Self::Tree2(tree) => tree.peek_each(keys.map(IndexedKey::typed)).flatten().for_each(found),
            Self::Tree6(tree) => tree.peek_each(keys.map(IndexedKey::typed)).flatten().for_each(found),
            Self::Hash1(_) | Self::Hash2(_) | Self::Heap => panic!("the index is not ordered"),
        }
    }

    #[inline(never)]
    fn insert_any<'t, W: Watcher<'t, L> + ?Sized>(
        &'t self,
        key: &AnyKey,
        row: RowPtr,
        watch: &mut W,
    ) -> Result<Inserted, W::Stop> {
        match (self, key) {
            (Self::Tree1(tree), AnyKey::One(key)) => tree.insert(*key, row, watch),
            (Self::Tree2(tree), AnyKey::Two(key)) => tree.insert(*key, row, watch),
            (Self::Tree6(tree), AnyKey::Six(key)) => tree.insert(*key, row, watch),
            (Self::Hash1(hash), AnyKey::One(key)) => hash.insert(*key, row, watch),
            (Self::Hash2(hash), AnyKey::Two(key)) => hash.insert(*key, row, watch),
            _ => panic!("{OTHER_WIDTH}"),
        }
    }

    #[inline(never)]
    fn remove_any(&self, key: &AnyKey, row: RowPtr, allow: &mut dyn FnMut(&L) -> bool) -> bool {
        match (self, key) {
            (Self::Tree1(tree), AnyKey::One(key)) => tree.remove(*key, row, allow),
            (Self::Tree2(tree), AnyKey::Two(key)) => tree.remove(*key, row, allow),
            (Self::Tree6(tree), AnyKey::Six(key)) => tree.remove(*key, row, allow),
            (Self::Hash1(hash), AnyKey::One(key)) => hash.remove(*key, row, allow),
            (Self::Hash2(hash), AnyKey::Two(key)) => hash.remove(*key, row, allow),
            _ => panic!("{OTHER_WIDTH}"),
        }
    }

    /// `None` if the index is not ordered.
    #[inline(never)]
    fn scan_any<'t, E>(
        &'t self,
        keys: (Bound<AnyKey>, Bound<AnyKey>),
        direction: Direction,
        visitor: VisitorOfAny<'_, 't, L, E>,
    ) -> Option<Result<(), E>> {
        match self {
            Self::Tree1(tree) => Some(scan(tree, keys, direction, visitor)),
            Self::Tree2(tree) => Some(scan(tree, keys, direction, visitor)),
            Self::Tree6(tree) => Some(scan(tree, keys, direction, visitor)),
            Self::Hash1(_) | Self::Hash2(_) | Self::Heap => None,
        }
    }
}

fn scan<'t, K: IndexedKey, L: LeafMeta, E>(
    tree: &'t BTree<K, L>,
    (from, to): (Bound<AnyKey>, Bound<AnyKey>),
    direction: Direction,
    visitor: VisitorOfAny<'_, 't, L, E>,
) -> Result<(), E> {
    tree.scan(from.map(K::typed), to.map(K::typed), direction, &mut Widened(visitor))
}

/// Passes on what a scan of one width visits.
struct Widened<'v, 't, L, E>(VisitorOfAny<'v, 't, L, E>);

impl<'t, K: IndexedKey, L: LeafMeta, E> Visitor<'t, K, L> for Widened<'_, 't, L, E> {
    type Stop = E;

    #[inline]
    fn leaf(&mut self, leaf: LeafRef<'t, L>) -> Result<(), E> {
        self.0.leaf(leaf)
    }

    #[inline]
    fn entry(&mut self, key: K, row: RowPtr) -> Result<ControlFlow<()>, E> {
        self.0.entry(key.any(), row)
    }
}

impl<'db, S: Shape> IndexRef<'db, S> {
    /// Like [`peek`](Self::peek), for a key of any width.
    ///
    /// # Panics
    /// When the key has not the width of the index.
    pub fn peek_any(self, key: &AnyKey) -> Option<RowRef<'db, S>> {
        self.index.peek_any(key).map(|row| RowRef { at: row.get(), table: self.table })
    }

    /// Like [`insert`](Self::insert), for a key of any width.
    ///
    /// # Errors
    /// Those of `watch`.
    ///
    /// # Panics
    /// When the key has not the width of the index.
    pub fn insert_any<W: Watcher<'db, S::Leaf> + ?Sized>(
        self,
        key: &AnyKey,
        row: RowRef<'db, S>,
        watch: &mut W,
    ) -> Result<Insertion<'db, S>, W::Stop> {
        assert!(core::ptr::eq(row.table, self.table), "an index holds its table's rows");
        Ok(self.placed(self.index.insert_any(key, RowPtr::new(row.at), watch)?))
    }

    /// Removes the entry of a key if it is this row and `allow`, called under the leaf's latch, agrees.
    ///
    /// # Panics
    /// When the key has not the width of the index.
    pub fn remove(self, key: &AnyKey, row: RowRef<'db, S>, mut allow: impl FnMut(&S::Leaf) -> bool) -> bool {
        self.index.remove_any(key, RowPtr::new(row.at), &mut allow)
    }
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;
    use core::marker::PhantomData;

    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    use super::*;
    use crate::key::{Home, Key};
    use crate::row::{Row, Table, TableId};
    use crate::schema::{Lookup, Schema};
    use crate::shape::InPlace;
    use crate::table::Which;
    use crate::tables::Tables;

    #[derive(Debug)]
    struct Plain;

    impl Shape for Plain {
        type Header = ();
        type Version = ();
        type Leaf = ();
        type Data = InPlace;
    }

    /// A key that is its integer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Itself<K>(K);

    impl<K: IndexedKey> Key for Itself<K> {
        type Ordered = K;

        fn ordered(self) -> K {
            self.0
        }

        fn from_ordered(ordered: K) -> Self {
            Self(ordered)
        }

        fn home(self) -> Home {
            Home::At(0)
        }
    }

    /// A row under such a key.
    #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(transparent)]
    struct Word<K>(u64, PhantomData<K>);

    impl<K: IndexedKey> Row for Word<K> {
        type Key = Itself<K>;
        type Indexes = ();
    }

    /// Hears of the leaves in which keys enter, and walks over entries.
    #[derive(Default)]
    struct Heard {
        entered: usize,
        leaves: usize,
        keys: Vec<AnyKey>,
    }

    impl<'t> Watcher<'t, ()> for Heard {
        type Stop = Infallible;

        fn adding(&mut self, _: LeafRef<'t, ()>) -> Result<(), Infallible> {
            Ok(())
        }

        fn added(&mut self, _: LeafRef<'t, ()>, _: u64) {
            self.entered += 1;
        }

        fn split(&mut self, _: LeafRef<'t, ()>, _: u64, _: LeafRef<'t, ()>) {
            self.leaves += 1;
        }
    }

    impl<'db> Walker<'db, AnyKey, Plain> for Heard {
        type Stop = Infallible;

        fn leaf(&mut self, _: LeafRef<'db, ()>) -> Result<(), Infallible> {
            self.leaves += 1;
            Ok(())
        }

        fn row(&mut self, key: AnyKey, _: RowRef<'db, Plain>) -> Result<ControlFlow<()>, Infallible> {
            self.keys.push(key);
            Ok(ControlFlow::Continue(()))
        }
    }

    /// Enters rows under keys of any width, and looks for them by the integers.
    fn agrees<K: IndexedKey>(lookup: Lookup, key: fn(u64) -> K) {
        const ROWS: u64 = 100;
        let mut schema = Schema::new();
        let _: Table<Word<K>> = schema.table("t", lookup, 4).group();
        let tables = Tables::<Plain>::new(&schema, 1, 0, false);
        let (store, mut slot) = (tables.get(TableId(0)), tables.slot());
        let index = store.index(Which::Primary);
        let mut heard = Heard::default();
        let rows: Vec<_> = (0..ROWS).map(|_| slot.new_row(store, Home::At(0)).row()).collect();
        for (number, row) in rows.iter().enumerate() {
            let any = key(number as u64).any();
            let Ok(entered) = any.insert(index, *row, &mut heard);
            assert!(matches!(entered, Insertion::Added));
            let Ok(again) = any.insert(index, *row, &mut heard);
            assert!(matches!(again, Insertion::Exists(found) if found.is(*row)));
        }
        assert_eq!(heard.entered, rows.len());
        assert!(heard.leaves > 0, "so many keys do not fit a leaf");
        for (number, row) in rows.iter().enumerate() {
            let key = key(number as u64);
            let Ok(found) = key.any().get(index, |_| Ok::<_, Infallible>(()));
            let all = [found, index.peek_any(&key.any()), index.peek(key)];
            assert!(all.iter().all(|found| found.is_some_and(|found| found.is(*row))), "{key:?}");
        }
        let mut missed = 0;
        let none = key(ROWS).any().get(index, |_| {
            missed += 1;
            if missed == 2 { Err("seen twice") } else { Ok(()) }
        });
        assert!(matches!(none, Ok(None)) && missed == 1);
        assert!(matches!(key(ROWS).any().get(index, |_| Err("stopped")), Err("stopped")));
        if lookup == Lookup::Ordered {
            let keys: Vec<K> = (0..2 * ROWS).map(key).collect();
            let (mut typed, mut any) = (Vec::new(), Vec::new());
            index.peek_each(&keys, |row| typed.push(row));
            AnyKey::peek_each(&keys.iter().map(|key| key.any()).collect::<Vec<_>>(), index, |row| {
                any.push(row);
            });
            for found in [typed, any] {
                assert_eq!(found.len(), rows.len());
                assert!(found.iter().zip(&rows).all(|(found, row)| found.is(*row)));
            }
            let keys = (Bound::Included(key(5).any()), Bound::Excluded(key(90).any()));
            let mut walked = Heard::default();
            let Ok(()) = AnyKey::scan(index, keys, Direction::Backward, &mut walked);
            assert!(walked.leaves > 1);
            assert_eq!(walked.keys, (5..90).rev().map(|number| key(number).any()).collect::<Vec<_>>());
            let mut all = Heard::default();
            let unbounded = (Bound::Unbounded, Bound::Unbounded);
            let Ok(()) = AnyKey::scan(index, unbounded, Direction::Forward, &mut all);
            assert_eq!(all.keys.len(), rows.len());
        }
        assert!(!index.remove(&key(7).any(), rows[7], |()| false) && index.peek(key(7)).is_some());
        assert!(!index.remove(&key(7).any(), rows[8], |()| true) && index.peek(key(7)).is_some());
        assert!(index.remove(&key(7).any(), rows[7], |()| true) && index.peek(key(7)).is_none());
    }

    #[test]
    fn keys_of_any_width_find_what_their_integers_find() {
        agrees(Lookup::Ordered, |number| number);
        agrees(Lookup::Ordered, |number| u128::from(number) << 60);
        agrees(Lookup::Ordered, |number| [1, number >> 3, 0, 0, number, 9]);
        agrees(Lookup::Point, |number| number);
        agrees(Lookup::Point, |number| u128::from(number) << 60);
    }

    #[test]
    fn a_key_of_any_width_has_the_hash_and_the_prefixes_of_its_integer() {
        fn check<K: IndexedKey>(key: K) {
            assert_eq!(CoreKey::hash(key.any()), OrderedKey::hash(key));
            for bits in [0, 5, 64, 70, 130, u32::MAX] {
                assert_eq!(CoreKey::prefix(key.any(), bits), OrderedKey::prefix(key, bits).any());
            }
            assert_eq!(AnyKey::ends(key.any().words()), [K::MIN.any(), K::MAX.any()]);
            assert_eq!(K::from_core(key.to_core()), key);
            assert_eq!(key.to_core().any(), key.any());
        }
        check(0x1234_5678_9abc_def0_u64);
        check(0x1234_5678_9abc_def0_u128 << 50 | 0x4d);
        check([1, 2, 3, u64::MAX, 5, 6]);
        assert_eq!(u64::ends(1), [u64::MIN, u64::MAX]);
        assert_eq!((CoreKey::hash(9_u64), CoreKey::prefix(9_u64, 3)), (OrderedKey::hash(9_u64), 8));
    }

    #[test]
    #[should_panic(expected = "the key has not the width of the index")]
    fn a_key_of_another_width_is_refused() {
        let mut schema = Schema::new();
        let mut table = schema.table::<u64>("t", Lookup::Point, 4);
        let _: Table<[u64]> = table.group_of_words(1);
        let tables = Tables::<Plain>::new(&schema, 1, 0, false);
        tables.get(TableId(0)).index(Which::Primary).peek_any(&AnyKey::Two(1));
    }
}
