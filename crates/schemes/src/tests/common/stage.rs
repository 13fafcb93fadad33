//! A small stage for scripts of attempts, one inside the other: two cells, and the usual actions on them.

use core::ops::ControlFlow;

use engine::{
    Abort, Attempt, Database, Direction, Homes, Lookup, Observer, Schema, Scheme, Table, Ticket, Transaction,
};
use storage::{RecordRef, Shape};
use sync::atomic::{AtomicU64, Ordering};
use sync::waiter;

use super::{Cell, Given, Place, database_with};

pub(crate) const X: Place = Place::new(0, 0);
pub(crate) const Y: Place = Place::new(0, 1);
/// A key that is missing at first.
pub(crate) const MISSING: Place = Place::new(0, 5);

/// A database in which `X` and `Y` are 0.
pub(crate) fn stage<S: Scheme>(given: Given) -> (Database<S>, Table<Cell>) {
    let mut schema = Schema::new();
    let table = schema.table("cells", Lookup::Ordered, 0).group();
    let db = database_with(&schema, 8, 2, given);
    let inserted = attempt(&db, |txn| {
        [X, Y].into_iter().try_for_each(|at| txn.insert(table, at, &Cell::new(0)).map(drop))
    });
    assert_eq!(inserted, Ok(()));
    (db, table)
}

/// An attempt in a session of its own.
pub(crate) fn attempt<S: Scheme, T>(
    db: &Database<S>,
    body: impl FnOnce(&mut Attempt<'_, '_, S>) -> Result<T, Abort>,
) -> Result<T, Abort> {
    db.session().attempt(&Ticket::new(0, Homes::new()), body)
}

/// An attempt that is declared to only read, in a session of its own.
pub(crate) fn look<S: Scheme, T>(
    db: &Database<S>,
    body: impl FnOnce(&mut Attempt<'_, '_, S>) -> Result<T, Abort>,
) -> Result<T, Abort> {
    let ticket = Ticket { read_only: true, ..Ticket::new(0, Homes::new()) };
    db.session().attempt(&ticket, body)
}

/// Adds 1 to a cell.
pub(crate) fn add(txn: &mut impl Transaction, table: Table<Cell>, at: Place) -> Result<(), Abort> {
    txn.update(table, at, |cell| cell.set(cell.value() + 1)).map(drop)
}

/// Adds 1 to a cell in another attempt, which commits.
pub(crate) fn added<S: Scheme>(db: &Database<S>, table: Table<Cell>, at: Place) {
    assert_eq!(attempt(db, |txn| add(txn, table, at)), Ok(()));
}

/// The numbers of all cells, with their values.
pub(crate) fn scan(txn: &mut impl Transaction, table: Table<Cell>) -> Result<Vec<(u64, u64)>, Abort> {
    let mut found = Vec::new();
    txn.scan(table, .., Direction::Forward, |key, cell| {
        found.push((key.number(), cell.value()));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Stores 1 when its session installs, and then waits until the value is 2.
pub(crate) struct Halts<'f>(pub(crate) &'f AtomicU64);

impl Observer for Halts<'_> {
    fn listens(&self) -> bool {
        true
    }

    fn installed<S: Shape>(&mut self, _: RecordRef<'_, S>, _: Option<&[u64]>, _: Option<&[u64]>) {
        // Release: pairs with the Acquire of the thread that waits for it, like the Release in the test.
        self.0.store(1, Ordering::Release);
        waiter::wait_until(None, || self.0.load(Ordering::Acquire) == 2);
    }
}
