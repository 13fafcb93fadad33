//! Typed tables: the trait that `#[derive(Table)]` implements, and the handles by which transactions name tables and
//! secondary indexes.

use core::fmt;
use core::marker::PhantomData;

use engine::TableId;

use crate::definition::Definition;
use crate::key::Key;

/// A row of a table, whose fields are columns. Derive this trait: see [`derive@crate::Table`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no row of a table",
    label = "rows are of types that derive `contend::Table`",
    note = "put `#[derive(contend::Table)]` above the struct"
)]
pub trait Table: Sized + 'static {
    /// The type of the primary key: the type of the field that is marked `#[key]`, or the tuple of the types of several
    /// such fields.
    type Key: Key;

    /// The number of column groups of a row. The columns that are in no group, if there are any, count as one group.
    const GROUPS: usize = 1;

    /// The definition of the table.
    fn definition() -> Definition;

    /// The row's primary key.
    fn key(&self) -> Self::Key;

    /// Writes the columns that are not in the key, one after the other: first the columns in no column group, then each
    /// group from a multiple of eight bytes on.
    fn write(&self, row: &mut [u8]);

    /// Makes a row of its key and the bytes of its other columns.
    fn read(key: Self::Key, row: &[u8]) -> Self;
}

/// A handle of a table, which names it in transactions of its database: see
/// [`Database::table`](crate::Database::table).
pub struct Handle<T> {
    pub(crate) database: usize,
    pub(crate) id: TableId,
    pub(crate) row: PhantomData<fn() -> T>,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Handle<T> {}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({})", self.id.0)
    }
}

/// A handle of a secondary index of the table `T`, whose keys are `K`s. The derive makes a handle for each index, as a
/// constant of the type: `Account::BY_OWNER`.
pub struct Index<T, K> {
    pub(crate) position: u16,
    keys: PhantomData<fn(&T, &K)>,
}

impl<T, K> Index<T, K> {
    /// The handle of the index at this position in the table's definition.
    #[doc(hidden)]
    pub const fn at(position: u16) -> Self {
        Self { position, keys: PhantomData }
    }
}

impl<T, K> Clone for Index<T, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, K> Copy for Index<T, K> {}

impl<T, K> fmt::Debug for Index<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index({})", self.position)
    }
}
