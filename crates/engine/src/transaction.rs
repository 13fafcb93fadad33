//! What a stored procedure sees of the engine. It names no scheme.

use core::ops::{ControlFlow, RangeBounds};

use storage::{Additive, Direction, Groups, Index, IndexOn, Row, Table};

use crate::Abort;

/// One attempt to execute a transaction, as its procedure sees it.
///
/// Every method may abort; the procedure passes the error on with `?` and the driver retries. A closure
/// sees a validated copy or a protected version, never torn words, but under an optimistic scheme what
/// it sees may turn out not to be consistent with what was read before: the attempt then aborts at
/// commit. A procedure therefore must not panic on what it reads; it returns [`Abort::ReadChanged`]
/// where data contradicts itself.
pub trait Transaction {
    /// Reads a row: `None` when the key is not there.
    fn read<R: Row + ?Sized, O>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        see: impl FnOnce(&R) -> O,
    ) -> Result<Option<O>, Abort>;

    /// Reads a row and writes it: `None` when the key is not there. The change is seen by later reads of
    /// this transaction. It may change the row's secondary keys.
    fn update<R: Row + ?Sized, O>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<Option<O>, Abort>;

    /// Adds to a row: `false` when the key is not there. `amounts` is given a row of zeros and puts into its
    /// columns what is to be added to the row's, wrapping at 64 bits. Later reads of this transaction see the
    /// sum.
    ///
    /// It is for sums that many transactions add to and few read: the row is not read, so that under schemes
    /// which add when they commit ([`Scheme::DELTAS`](crate::Scheme::DELTAS)) transactions that add to one row
    /// do not conflict. Under the others it is an update.
    ///
    /// ```
    /// use engine::{Abort, Table, Transaction};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
    ///
    /// /// What a shop has sold.
    /// #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    /// #[repr(C)]
    /// struct Sales {
    ///     cents: i64,
    ///     count: u64,
    /// }
    ///
    /// engine::additive!(Sales of u64 { cents, count });
    ///
    /// fn sell<T: Transaction>(txn: &mut T, sales: Table<Sales>, cents: i64) -> Result<bool, Abort> {
    ///     txn.add(sales, 0, |row| {
    ///         row.cents += cents;
    ///         row.count += 1;
    ///     })
    /// }
    /// ```
    ///
    /// Rows that are not [`Additive`] have `update`:
    ///
    /// ```compile_fail,E0277
    /// use engine::{Abort, Row, Table, Transaction};
    /// # use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
    ///
    /// #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    /// #[repr(C)]
    /// struct Sales {
    ///     cents: i64,
    ///     count: u64,
    /// }
    ///
    /// impl Row for Sales {
    ///     type Key = u64;
    ///     type Indexes = ();
    /// }
    ///
    /// fn sell<T: Transaction>(txn: &mut T, sales: Table<Sales>, cents: i64) -> Result<bool, Abort> {
    ///     txn.add(sales, 0, |row| row.cents += cents)
    /// }
    /// ```
    fn add<R: Additive>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        amounts: impl FnOnce(&mut R),
    ) -> Result<bool, Abort>;

    /// Overwrites a whole row: `false` when the key is not there. A blind write, which reads nothing, unless
    /// the row has secondary indexes: what leaves them must be known.
    fn replace<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key, row: &R) -> Result<bool, Abort>;

    /// Inserts a row, all its column groups: `false` when the key is there already. In a heap table the
    /// key only says where the row lives.
    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) -> Result<bool, Abort>;

    /// Deletes a row with all its column groups: `false` when the key is not there.
    fn delete<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) -> Result<bool, Abort>;

    /// Visits the rows whose keys are in a range, in key order or against it, until `see` breaks.
    fn scan<R: Row + ?Sized>(
        &mut self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        direction: Direction,
        see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort>;

    /// Visits the rows whose secondary keys are in a range, in the order of those, until `see` breaks.
    fn scan_by<R: Row, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        direction: Direction,
        see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort>;

    /// Says that the procedure will not roll back from here on. A hint: a scheme may show to others what the
    /// transaction has written, although it has not ended. If it rolls back nevertheless, nothing of it stays, and
    /// whoever has seen of it executes again.
    fn decided(&mut self) {}

    /// Says that these column groups of these rows will be accessed soon, so that the cache misses of all of
    /// them may overlap. A hint: it reads nothing in the sense of isolation.
    fn prefetch<G: Groups>(&mut self, groups: G, keys: impl Iterator<Item = G::Key> + Clone);
}
