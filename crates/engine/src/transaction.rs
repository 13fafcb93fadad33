//! The interface of the engine for stored procedures. It names no scheme.

use core::ops::{ControlFlow, RangeBounds};

use storage::{Additive, Direction, Groups, Index, IndexOn, Row, Table};

use crate::Abort;

/// One attempt to execute a transaction, as its procedure sees it.
///
/// Every method may abort; the procedure passes the error on with `?` and the driver retries. A closure sees a
/// validated copy or a protected version, never torn words. Under an optimistic scheme, its data may still turn out to
/// be inconsistent with earlier reads: the attempt then aborts at commit. A procedure therefore must not panic on the
/// data that it reads; it returns [`Abort::ReadChanged`] where data contradicts itself.
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

    /// Adds to a row: `false` when the key is not there. `amounts` is given a row of zeros and sets its columns to the
    /// amounts to be added to the row's columns, wrapping at 64 bits. Later reads of this transaction see the sum.
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

    /// Overwrites a whole row: `false` when the key is not there. A blind write, which reads nothing, unless the row
    /// has secondary indexes: the entries that leave them must be known.
    fn replace<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key, row: &R) -> Result<bool, Abort>;

    /// Inserts a row, all its column groups: `false` when the key is there already. In a heap table the key only says
    /// in which home partition the row lives.
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

    /// Visits the rows whose secondary keys are in a range, in the order of the secondary keys, until `see` breaks.
    fn scan_by<R: Row, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        direction: Direction,
        see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort>;

    /// Declares that the procedure will not roll back from here on. A hint: a scheme may show the writes of the
    /// transaction to others, although it has not ended. If it rolls back nevertheless, nothing of it stays, and every
    /// transaction that has seen its writes executes again.
    fn decided(&mut self) {}

    /// Declares that these column groups of these rows will be accessed soon, so that all their cache misses may
    /// overlap. A hint: it reads nothing in the sense of isolation.
    fn prefetch<G: Groups>(&mut self, groups: G, keys: impl Iterator<Item = G::Key>);
}
