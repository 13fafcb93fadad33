//! Rows: typed values of fixed layout over a record's words, and handles of declared tables.

use core::fmt;
use core::marker::PhantomData;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::key::Key;
use crate::table::{AnyKey, IndexedKey};

/// A typed row, or one column group of a row: plain data whose size is a multiple of 8 bytes and whose
/// every bit pattern is valid. Unsized rows end in a slice and get their width when they are declared.
pub trait Row: FromBytes + IntoBytes + KnownLayout + Immutable + Send + Sync + 'static {
    /// The table's key.
    type Key: Key;
    /// The secondary indexes whose keys are computed from this column group: `()` or a tuple of
    /// [`IndexOn`] types. An update of a group with `()` touches no index.
    type Indexes: Indexes<Self>;
    /// Whether amounts may be added to the row, as [`additive!`](crate::additive) declares. For callers without
    /// types; the others have [`Additive`](crate::Additive).
    const IS_ADDITIVE: bool = false;
}

/// A secondary index over the column group `R`.
pub trait IndexOn<R: Row + ?Sized>: 'static {
    /// The secondary key; unique because it contains the primary one.
    type Key: Key;

    /// The secondary key of a row.
    fn key(key: R::Key, row: &R) -> Self::Key;

    /// The primary key that a secondary key contains.
    fn primary(key: Self::Key) -> R::Key;

    /// Whether a row that an index holds under this key has the key now. The row had it once, or will have it if an
    /// attempt in progress commits.
    #[inline]
    fn holds(key: Self::Key, row: &R) -> bool {
        Self::key(Self::primary(key), row) == key
    }
}

/// The keys of a row in the secondary indexes of a column group, by position. A column group has at most two indexes.
pub type SecondaryKeys = [Option<AnyKey>; 2];

/// A list of secondary indexes, walked at compile time.
pub trait Indexes<R: Row + ?Sized> {
    /// The number of indexes.
    const COUNT: usize;
    /// The keys of a row in all indexes of the list, with their types: they cost less to compare than
    /// [`SecondaryKeys`].
    type Keys: PartialEq;

    /// Returns the keys of a row in all indexes of the list.
    fn keys(key: R::Key, row: &R) -> Self::Keys;

    /// Returns the same keys without their types.
    fn any(keys: Self::Keys) -> SecondaryKeys;
}

/// The key of a row in one index.
///
/// # Panics
/// When it does not contain the primary key.
#[inline]
pub(crate) fn key_in<R: Row + ?Sized, I: IndexOn<R>>(key: R::Key, row: &R) -> I::Key {
    let secondary = I::key(key, row);
    assert!(I::primary(secondary) == key, "{secondary:?} contains the primary key {key:?}");
    secondary
}

impl<R: Row + ?Sized> Indexes<R> for () {
    const COUNT: usize = 0;
    type Keys = ();

    #[inline]
    fn keys(_: R::Key, _: &R) {}

    #[inline]
    fn any((): ()) -> SecondaryKeys {
        [None; 2]
    }
}

impl<R: Row + ?Sized, A: IndexOn<R>> Indexes<R> for (A,) {
    const COUNT: usize = 1;
    type Keys = A::Key;

    #[inline]
    fn keys(key: R::Key, row: &R) -> A::Key {
        key_in::<R, A>(key, row)
    }

    #[inline]
    fn any(key: A::Key) -> SecondaryKeys {
        [Some(key.ordered().any()), None]
    }
}

impl<R: Row + ?Sized, A: IndexOn<R>, B: IndexOn<R>> Indexes<R> for (A, B) {
    const COUNT: usize = 2;
    type Keys = (A::Key, B::Key);

    #[inline]
    fn keys(key: R::Key, row: &R) -> (A::Key, B::Key) {
        (key_in::<R, A>(key, row), key_in::<R, B>(key, row))
    }

    #[inline]
    fn any((a, b): (A::Key, B::Key)) -> SecondaryKeys {
        [Some(a.ordered().any()), Some(b.ordered().any())]
    }
}

/// A row's words.
#[inline]
pub fn words_of<R: Row + ?Sized>(row: &R) -> &[u64] {
    <[u64]>::ref_from_bytes(row.as_bytes()).expect("a row is a whole number of aligned words")
}

/// A row over its words.
///
/// # Panics
/// When the width is not the row's.
#[inline]
pub fn row_of<R: Row + ?Sized>(words: &[u64]) -> &R {
    // The error is left out of the message: it is formatted by code for each type of row.
    R::ref_from_bytes(words.as_bytes()).unwrap_or_else(|_| panic!("a record has its row's width"))
}

/// A row over its words, to be changed.
///
/// # Panics
/// When the width is not the row's.
#[inline]
pub fn row_of_mut<R: Row + ?Sized>(words: &mut [u64]) -> &mut R {
    // As in `row_of`.
    R::mut_from_bytes(words.as_mut_bytes()).unwrap_or_else(|_| panic!("a record has its row's width"))
}

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// The name of a table: its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u16);

/// A handle of one column group of a declared table: of the table itself when it has one group.
pub struct Table<R: ?Sized> {
    pub(crate) id: TableId,
    pub(crate) group: u16,
    pub(crate) row: PhantomData<fn(&R)>,
}

/// A handle of a declared secondary index of the column group `R`.
pub struct Index<R: ?Sized, I: ?Sized> {
    pub(crate) rows: Table<R>,
    pub(crate) position: u16,
    pub(crate) keys: PhantomData<fn(&R, &I)>,
}

impl<R: ?Sized> Table<R> {
    /// The table.
    #[inline]
    pub fn id(self) -> TableId {
        self.id
    }

    /// The column group's number within the table.
    #[inline]
    pub fn group(self) -> usize {
        usize::from(self.group)
    }
}

impl<R: ?Sized, I: ?Sized> Index<R, I> {
    /// The table whose rows the index holds.
    #[inline]
    pub fn table(self) -> TableId {
        self.rows.id
    }

    /// The column group from which its keys are computed.
    #[inline]
    pub fn group(self) -> usize {
        self.rows.group()
    }

    /// The handle of the column group over which the index is.
    #[inline]
    pub fn rows(self) -> Table<R> {
        self.rows
    }

    /// The index's position among those of its column group.
    #[inline]
    pub fn position(self) -> usize {
        usize::from(self.position)
    }
}

impl<R: ?Sized> Clone for Table<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: ?Sized> Copy for Table<R> {}
impl<R: ?Sized> fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({}.{})", self.id.0, self.group)
    }
}
impl<R: ?Sized, I: ?Sized> Clone for Index<R, I> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: ?Sized, I: ?Sized> Copy for Index<R, I> {}
impl<R: ?Sized, I: ?Sized> fmt::Debug for Index<R, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({}.{}.{})", self.rows.id.0, self.rows.group, self.position)
    }
}

/// The handles of all column groups of a table at once, so that a whole row can be inserted: the table's handle, a
/// pair of handles or a triple.
pub trait Groups: Copy {
    /// The table's key.
    type Key: Key;
    /// References to rows, one for each column group.
    type Rows<'r>: Copy;

    /// The table.
    fn id(self) -> TableId;

    /// The numbers of the column groups, in order.
    fn numbers(self) -> impl Iterator<Item = usize>;

    /// The words of the column groups, in order.
    fn words(rows: Self::Rows<'_>) -> impl AsRef<[&[u64]]>;

    /// Calls `visit` for each column group, in order, until one fails.
    fn try_each<V: GroupVisit<Self::Key>>(self, rows: Self::Rows<'_>, visit: &mut V) -> Result<(), V::Stop>;
}

/// The receiver of the calls of [`Groups::try_each`].
pub trait GroupVisit<K: Key> {
    /// The reason why the calls stop early.
    type Stop;

    /// Receives one column group.
    fn group<R: Row<Key = K> + ?Sized>(&mut self, table: Table<R>, row: &R) -> Result<(), Self::Stop>;
}

impl<R: Row + ?Sized> Groups for Table<R> {
    type Key = R::Key;
    type Rows<'r> = &'r R;

    #[inline]
    fn id(self) -> TableId {
        self.id
    }

    #[inline]
    fn numbers(self) -> impl Iterator<Item = usize> {
        core::iter::once(self.group())
    }

    #[inline]
    fn words(row: Self::Rows<'_>) -> impl AsRef<[&[u64]]> {
        [words_of(row)]
    }

    #[inline]
    fn try_each<V: GroupVisit<Self::Key>>(self, rows: &R, visit: &mut V) -> Result<(), V::Stop> {
        visit.group(self, rows)
    }
}

impl<A: Row, B: Row<Key = A::Key>> Groups for (Table<A>, Table<B>) {
    type Key = A::Key;
    type Rows<'r> = (&'r A, &'r B);

    #[inline]
    fn id(self) -> TableId {
        self.0.id
    }

    #[inline]
    fn numbers(self) -> impl Iterator<Item = usize> {
        [self.0.group(), self.1.group()].into_iter()
    }

    #[inline]
    fn words(rows: Self::Rows<'_>) -> impl AsRef<[&[u64]]> {
        [words_of(rows.0), words_of(rows.1)]
    }

    #[inline]
    fn try_each<V: GroupVisit<Self::Key>>(self, rows: (&A, &B), visit: &mut V) -> Result<(), V::Stop> {
        visit.group(self.0, rows.0)?;
        visit.group(self.1, rows.1)
    }
}

impl<A: Row, B: Row<Key = A::Key>, C: Row<Key = A::Key>> Groups for (Table<A>, Table<B>, Table<C>) {
    type Key = A::Key;
    type Rows<'r> = (&'r A, &'r B, &'r C);

    #[inline]
    fn id(self) -> TableId {
        self.0.id
    }

    #[inline]
    fn numbers(self) -> impl Iterator<Item = usize> {
        [self.0.group(), self.1.group(), self.2.group()].into_iter()
    }

    #[inline]
    fn words(rows: Self::Rows<'_>) -> impl AsRef<[&[u64]]> {
        [words_of(rows.0), words_of(rows.1), words_of(rows.2)]
    }

    #[inline]
    fn try_each<V: GroupVisit<Self::Key>>(self, rows: (&A, &B, &C), visit: &mut V) -> Result<(), V::Stop> {
        visit.group(self.0, rows.0)?;
        visit.group(self.1, rows.1)?;
        visit.group(self.2, rows.2)
    }
}

/// Text of at most `N` bytes, padded with zero bytes: a fixed-width column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(transparent)]
pub struct Text<const N: usize>([u8; N]);

impl<const N: usize> Text<N> {
    /// The text's bytes, cut at `N`.
    pub fn new(text: &[u8]) -> Self {
        let mut bytes = [0; N];
        let len = text.len().min(N);
        bytes[..len].copy_from_slice(&text[..len]);
        Self(bytes)
    }

    /// The text without its padding.
    pub fn as_bytes(&self) -> &[u8] {
        let len = self.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        &self.0[..len]
    }

    /// All `N` bytes, padding included.
    pub fn padded(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}
