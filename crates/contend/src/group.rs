//! Column groups: columns that are kept, read and written separately from the other columns of their row.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{ControlFlow, Range, RangeBounds};
use std::borrow::Cow;

use engine::{Direction, Which};
use zerocopy::IntoBytes;

use crate::column::Type;
use crate::error::Error;
use crate::key::{any, bounds, primary};
use crate::scan;
use crate::table::{Handle, Table};
use crate::txn::{Reader, Txn};

/// Columns that are kept separately from the other columns of their row. Derive this trait for a struct whose fields
/// are columns, and give a table a field of that type, marked `#[group]`: see [`derive@crate::Table`].
///
/// A read or write of one group copies that group alone, and conflicts over that group alone. A row with all its groups
/// is still found, inserted and deleted as one row. So separate the few columns that change often from the many that do
/// not.
///
/// ```
/// use contend::{ColumnGroup, Database, Options, Sum, Table};
///
/// #[derive(Table)]
/// struct Article {
///     #[key]
///     id: u64,
///     title: [u8; 80],
///     text: [u8; 2_000],
///     #[group]
///     visits: Visits,
/// }
///
/// #[derive(ColumnGroup)]
/// struct Visits {
///     count: Sum,
///     seconds: Sum,
/// }
///
/// let db = Database::in_memory(Options::new().table::<Article>())?;
/// let articles = db.table::<Article>()?;
/// # let visits = Visits { count: Sum(0), seconds: Sum(0) };
/// # let article = Article { id: 7, title: [b' '; 80], text: [b' '; 2_000], visits };
/// # db.transact(|txn| txn.insert(articles, &article))?;
/// // The text is neither read nor in the way of those who change it.
/// db.transact(|txn| {
///     txn.add_group(articles, Article::VISITS, 7, &Visits { count: Sum(1), seconds: Sum(90) })
/// })?;
/// let visits = db.snapshot(|txn| txn.get_group(articles, Article::VISITS, 7))?;
/// assert_eq!(visits.map(|visits| visits.count), Some(Sum(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no column group",
    label = "a field that is marked `#[group]` is of a type that is a column group",
    note = "put `#[derive(contend::ColumnGroup)]` above a struct whose fields are its columns, or leave `#[group]` out"
)]
pub trait ColumnGroup: Sized + 'static {
    /// The total width of the group's columns in bytes.
    const BYTES: usize;

    /// The columns, in their order.
    fn columns() -> Vec<(Cow<'static, str>, Type)>;

    /// Writes the columns one after the other to `to`, which has `BYTES` bytes.
    fn write(&self, to: &mut [u8]);

    /// Reads the columns that were written to these bytes.
    fn read(from: &[u8]) -> Self;
}

/// A handle of a column group of the table `T`. The derive makes a handle for each field that is marked `#[group]`, as
/// a constant of the type: `Article::VISITS`.
pub struct Group<T, G> {
    pub(crate) number: u16,
    columns: PhantomData<fn(&T, &G)>,
}

impl<T, G> Group<T, G> {
    /// The handle of the column group of this number. The columns that are in no group count as a group, which comes
    /// first.
    #[doc(hidden)]
    pub const fn at(number: u16) -> Self {
        Self { number, columns: PhantomData }
    }
}

impl<T, G> Clone for Group<T, G> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, G> Copy for Group<T, G> {}

impl<T, G> fmt::Debug for Group<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group({})", self.number)
    }
}

/// The range of a column group of `bytes` bytes that follows the first `before` bytes of a row. The group begins at a
/// multiple of eight bytes.
#[doc(hidden)]
pub const fn placed(before: usize, bytes: usize) -> Range<usize> {
    let start = before.next_multiple_of(8);
    start..start + bytes
}

/// Calls for single column groups. Each call is like the call for whole rows without `group` in its name.
impl Reader<'_> {
    /// Reads a column group of a row: `None` when the key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "as every other call")]
    pub fn get_group<T: Table, G: ColumnGroup>(
        &mut self,
        table: Handle<T>,
        group: Group<T, G>,
        key: T::Key,
    ) -> Result<Option<G>, Error> {
        self.check(table.database)?;
        let mut own = None;
        self.raw.get(table.id, group.number.into(), any(&key), &mut |words| {
            own = Some(G::read(&words.as_bytes()[..G::BYTES]));
        })?;
        Ok(own)
    }

    /// Reads a column group of a row and returns the result of `see`: `None` when the key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "as every other call")]
    pub fn get_group_with<T: Table, G: ColumnGroup, O>(
        &mut self,
        table: Handle<T>,
        group: Group<T, G>,
        key: T::Key,
        see: impl FnOnce(&G) -> O,
    ) -> Result<Option<O>, Error> {
        self.check(table.database)?;
        let (mut given, mut output) = (Some(see), None);
        self.raw.get(table.id, group.number.into(), any(&key), &mut |words| {
            output = given.take().map(|see| see(&G::read(&words.as_bytes()[..G::BYTES])));
        })?;
        Ok(output)
    }

    /// Visits a column group of the rows whose keys are in a range, with their keys, until `see` breaks.
    ///
    /// # Errors
    /// A conflict, or misuse.
    pub fn visit_group<T: Table, G: ColumnGroup>(
        &mut self,
        table: Handle<T>,
        group: Group<T, G>,
        keys: impl RangeBounds<T::Key>,
        direction: Direction,
        mut see: impl FnMut(T::Key, G) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.check(table.database)?;
        let range = scan::Range { which: Which::Primary, keys: bounds(&keys), direction };
        self.walk_words(table.id, group.number.into(), range, &mut |key, words| {
            see(primary(key), G::read(&words.as_bytes()[..G::BYTES]))
        })
    }

    /// Prefetches a column group of rows that will be read soon: a hint, like [`prefetch`](Self::prefetch).
    pub fn prefetch_group<T: Table, G: ColumnGroup>(
        &mut self,
        table: Handle<T>,
        group: Group<T, G>,
        keys: impl IntoIterator<Item = T::Key>,
    ) {
        let number = usize::from(group.number);
        self.ask_for(table, number..number + 1, keys);
    }
}

/// Calls for single column groups. Each call is like the call for whole rows without `group` in its name.
impl Txn<'_> {
    /// Reads a column group of a row, changes it by `change`, and writes it. Returns the result of `change`: `None`
    /// when the key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "as every other call")]
    pub fn update_group<T: Table, G: ColumnGroup, O>(
        &mut self,
        table: Handle<T>,
        group: Group<T, G>,
        key: T::Key,
        change: impl FnOnce(&mut G) -> O,
    ) -> Result<Option<O>, Error> {
        self.check(table.database)?;
        let (mut given, mut output) = (Some(change), None);
        self.reader.raw.update(table.id, group.number.into(), any(&key), &mut |words| {
            let Some(change) = given.take() else { return };
            let bytes = &mut words.as_mut_bytes()[..G::BYTES];
            let mut own = G::read(bytes);
            output = Some(change(&mut own));
            own.write(bytes);
        })?;
        Ok(output)
    }

    /// Overwrites a column group of a row: `false` when the key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    #[expect(clippy::needless_pass_by_value, reason = "as every other call")]
    pub fn replace_group<T: Table, G: ColumnGroup>(
        &mut self,
        table: Handle<T>,
        group: Group<T, G>,
        key: T::Key,
        columns: &G,
    ) -> Result<bool, Error> {
        self.check(table.database)?;
        let words = self.room.words(G::BYTES.div_ceil(8));
        columns.write(&mut words.as_mut_bytes()[..G::BYTES]);
        Ok(self.reader.raw.replace(table.id, group.number.into(), any(&key), words)?)
    }

    /// Adds the sums of `amounts` to those of a column group without reading it: `false` when the key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse: the column group has other columns than [`Sum`](crate::Sum)s.
    #[expect(clippy::needless_pass_by_value, reason = "as every other call")]
    pub fn add_group<T: Table, G: ColumnGroup>(
        &mut self,
        table: Handle<T>,
        group: Group<T, G>,
        key: T::Key,
        amounts: &G,
    ) -> Result<bool, Error> {
        self.check(table.database)?;
        let words = self.room.words(G::BYTES.div_ceil(8));
        amounts.write(&mut words.as_mut_bytes()[..G::BYTES]);
        Ok(self.reader.raw.add(table.id, group.number.into(), any(&key), words)?)
    }
}
