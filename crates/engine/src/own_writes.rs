//! The lookup of an attempt's own earlier writes, once for all schemes that keep them from others until the commit.

use storage::RecordRef;

use crate::{Abort, Scheme, Write};

/// The writes of an attempt, one for each record, which no other attempt sees before the commit.
pub trait OwnWrites<'t, 'db, S: Scheme>: Sized {
    /// Returns the position of the write to a record.
    fn find(&self, record: RecordRef<'db, S>) -> Option<usize>;

    /// As [`Scheme::read`], of the record that the write at this position is of.
    ///
    /// # Errors
    /// As [`Scheme::read`].
    fn read(self, at: usize) -> Result<Option<&'t [u64]>, Abort>;

    /// As [`Scheme::write`], of the record that the write at this position is of.
    ///
    /// # Errors
    /// As [`Scheme::write`].
    fn write(self, at: usize, how: Write) -> Result<Option<&'t mut [u64]>, Abort>;

    /// As [`Scheme::insert`], of the record that the write at this position is of.
    fn insert(self, at: usize) -> Option<&'t mut [u64]>;

    /// As [`Scheme::delete`], of the record that the write at this position is of.
    ///
    /// # Errors
    /// As [`Scheme::delete`].
    fn delete(self, at: usize) -> Result<bool, Abort>;
}

/// The writes of an attempt whose scheme looks for them itself.
#[derive(Debug)]
pub enum NoOwnWrites {}

impl<'t, 'db, S: Scheme> OwnWrites<'t, 'db, S> for NoOwnWrites {
    fn find(&self, _: RecordRef<'db, S>) -> Option<usize> {
        match *self {}
    }

    fn read(self, _: usize) -> Result<Option<&'t [u64]>, Abort> {
        match self {}
    }

    fn write(self, _: usize, _: Write) -> Result<Option<&'t mut [u64]>, Abort> {
        match self {}
    }

    fn insert(self, _: usize) -> Option<&'t mut [u64]> {
        match self {}
    }

    fn delete(self, _: usize) -> Result<bool, Abort> {
        match self {}
    }
}

/// Returns the position of the attempt's own write to a record, if it has written the record.
#[inline(always)]
fn find<'db, S: Scheme>(scheme: &'db S, txn: &mut S::Txn<'db>, record: RecordRef<'db, S>) -> Option<usize> {
    scheme.own_writes(txn)?.find(record)
}

/// Reads a record: see [`Scheme::read`].
// Always inlined into its few callers, which are out of line; the write, too.
#[inline(always)]
pub(crate) fn read<'t, 'db, S: Scheme>(
    scheme: &'db S,
    txn: &'t mut S::Txn<'db>,
    record: RecordRef<'db, S>,
) -> Result<Option<&'t [u64]>, Abort> {
    match find(scheme, txn, record) {
        Some(at) => scheme.own_writes(txn).expect("found").read(at),
        None => scheme.read(txn, record),
    }
}

/// Writes a record that has a value: see [`Scheme::write`].
#[inline(always)]
pub(crate) fn write<'t, 'db, S: Scheme>(
    scheme: &'db S,
    txn: &'t mut S::Txn<'db>,
    record: RecordRef<'db, S>,
    how: Write,
) -> Result<Option<&'t mut [u64]>, Abort> {
    match find(scheme, txn, record) {
        Some(at) => scheme.own_writes(txn).expect("found").write(at, how),
        None => scheme.write(txn, record, how),
    }
}

/// Gives a value to a record that has none: see [`Scheme::insert`].
#[inline]
pub(crate) fn insert<'t, 'db, S: Scheme>(
    scheme: &'db S,
    txn: &'t mut S::Txn<'db>,
    record: RecordRef<'db, S>,
) -> Result<Option<&'t mut [u64]>, Abort> {
    match find(scheme, txn, record) {
        Some(at) => Ok(scheme.own_writes(txn).expect("found").insert(at)),
        None => scheme.insert(txn, record),
    }
}

/// Takes a record's value away: see [`Scheme::delete`].
#[inline]
pub(crate) fn delete<'db, S: Scheme>(
    scheme: &'db S,
    txn: &mut S::Txn<'db>,
    record: RecordRef<'db, S>,
) -> Result<bool, Abort> {
    match find(scheme, txn, record) {
        Some(at) => scheme.own_writes(txn).expect("found").delete(at),
        None => scheme.delete(txn, record),
    }
}
