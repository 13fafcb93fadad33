//! What Hekaton promises and permits, conflict by conflict.

mod common;

use core::ops::ControlFlow;

use engine::{
    Abort, Attempt, Database, Direction, Homes, Lookup, Observer, Schema, Table, Ticket, Transaction,
};
use schemes::multiversion::hekaton::Hekaton;
use storage::{RecordRef, Shape};
use sync::atomic::{AtomicU64, Ordering};
use sync::{waiter, workers};

use common::{Cell, Place, database};

const X: Place = Place::new(0, 0);
const Y: Place = Place::new(0, 1);
const MISSING: Place = Place::new(0, 5);

type Txn<'s, 'db> = Attempt<'s, 'db, Hekaton>;

/// A database in which `X` and `Y` are 0.
fn stage() -> (Database<Hekaton>, Table<Cell>) {
    let mut schema = Schema::new();
    let table = schema.table("cells", Lookup::Ordered, 0).group();
    let db = database(&schema, 4, 2);
    let inserted = attempt(&db, |txn| {
        [X, Y].into_iter().try_for_each(|at| txn.insert(table, at, &Cell::new(0)).map(drop))
    });
    assert_eq!(inserted, Ok(()));
    (db, table)
}

fn attempt<T>(
    db: &Database<Hekaton>,
    body: impl FnOnce(&mut Txn<'_, '_>) -> Result<T, Abort>,
) -> Result<T, Abort> {
    db.session().attempt(&Ticket::new(0, Homes::new()), body)
}

/// Another attempt, which adds 1 and commits.
fn add(db: &Database<Hekaton>, table: Table<Cell>, at: Place) {
    assert_eq!(attempt(db, |txn| write(txn, table, at)), Ok(()));
}

fn write(txn: &mut Txn<'_, '_>, table: Table<Cell>, at: Place) -> Result<(), Abort> {
    txn.update(table, at, |cell| cell.set(cell.value() + 1)).map(drop)
}

fn scan(txn: &mut Txn<'_, '_>, table: Table<Cell>) -> Result<Vec<(u64, u64)>, Abort> {
    let mut found = Vec::new();
    txn.scan(table, .., Direction::Forward, |key, cell| {
        found.push((key.number(), cell.value()));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

#[test]
fn who_writes_nothing_commits_as_of_its_begin_whatever_comes_meanwhile() {
    let (db, table) = stage();
    for read_only in [false, true] {
        let before = attempt(&db, |txn| scan(txn, table));
        let ticket = Ticket { read_only, ..Ticket::new(0, Homes::new()) };
        let seen = db.session().attempt(&ticket, |txn| {
            add(&db, table, X);
            let first = txn.read(table, X, Cell::value)?;
            add(&db, table, X);
            add(&db, table, Y);
            if read_only {
                assert_eq!(attempt(&db, |other| other.insert(table, MISSING, &Cell::new(0))), Ok(true));
            }
            assert_eq!(txn.read(table, X, Cell::value)?, first);
            scan(txn, table)
        });
        assert_eq!(seen, before);
    }
}

#[test]
fn what_was_read_must_be_visible_at_the_end_of_who_writes() {
    let (db, table) = stage();
    let outcome = attempt(&db, |txn| {
        txn.read(table, X, Cell::value)?;
        add(&db, table, X);
        write(txn, table, Y)
    });
    assert_eq!(outcome, Err(Abort::ReadChanged));
    let outcome = attempt(&db, |txn| {
        txn.read(table, X, Cell::value)?;
        write(txn, table, X)?;
        txn.read(table, X, Cell::value)?;
        write(txn, table, Y)
    });
    assert_eq!(outcome, Ok(()), "its own versions are not in the way");
    let outcome = attempt(&db, |txn| {
        scan(txn, table)?;
        assert_eq!(attempt(&db, |other| other.insert(table, MISSING, &Cell::new(0))), Ok(true));
        write(txn, table, Y)
    });
    assert_eq!(outcome, Err(Abort::Phantom));
    let outcome = attempt(&db, |txn| {
        scan(txn, table)?;
        assert_eq!(attempt(&db, |other| other.delete(table, MISSING)), Ok(true));
        write(txn, table, Y)
    });
    assert_eq!(outcome, Err(Abort::ReadChanged));
    assert_eq!(attempt(&db, |txn| scan(txn, table)), Ok(vec![(0, 2), (1, 1)]));
}

#[test]
fn the_first_to_write_wins_and_the_second_finds_out_at_once() {
    let (db, table) = stage();
    let outcome = attempt(&db, |txn| {
        write(txn, table, X)?;
        assert_eq!(attempt(&db, |other| write(other, table, X)), Err(Abort::WriteConflict));
        assert_eq!(attempt(&db, |other| other.read(table, X, Cell::value)), Ok(Some(0)));
        add(&db, table, Y);
        assert_eq!(write(txn, table, Y), Err(Abort::WriteConflict), "it is newer than the begin");
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}

/// The key comes back in a record that the attempt has never seen, by someone who comes before it and after it.
#[test]
fn a_miss_is_not_believed_once_its_record_has_left_the_index() {
    let (db, table) = stage();
    let outcome = attempt(&db, |txn| {
        let rolled_back: Result<(), _> = attempt(&db, |other| {
            other.insert(table, MISSING, &Cell::new(0))?;
            assert_eq!(txn.read(table, MISSING, Cell::value), Ok(None));
            Err(Abort::Rollback)
        });
        assert_eq!(rolled_back, Err(Abort::Rollback));
        let inserted = attempt(&db, |other| {
            assert_eq!(other.read(table, X, Cell::value), Ok(Some(0)));
            other.insert(table, MISSING, &Cell::new(0))
        });
        assert_eq!(inserted, Ok(true));
        write(txn, table, X)
    });
    assert_eq!(outcome, Err(Abort::ReadChanged));
}

/// Says when its session installs, and waits until it may go on.
struct Halts<'f>(&'f AtomicU64);

impl Observer for Halts<'_> {
    const ON: bool = true;

    fn installed<S: Shape>(&mut self, _: RecordRef<'_, S>, _: Option<&[u64]>, _: Option<&[u64]>) {
        // Release: pairs with the Acquire of whoever waits for it, like that in the test.
        self.0.store(1, Ordering::Release);
        waiter::wait_until(None, || self.0.load(Ordering::Acquire) == 2);
    }
}

#[test]
fn a_version_is_read_before_its_writer_has_committed() {
    let (db, table) = stage();
    let step = AtomicU64::new(0);
    workers::run(2, false, |worker| {
        if worker == 0 {
            let mut session = db.session_with(Halts(&step), ());
            let outcome = session.attempt(&Ticket::new(0, Homes::new()), |txn| {
                txn.update(table, X, |cell| cell.set(7)).map(drop)
            });
            assert_eq!(outcome, Ok(()));
        } else {
            waiter::wait_until(None, || step.load(Ordering::Acquire) == 1);
            let seen = attempt(&db, |txn| {
                let seen = txn.read(table, X, Cell::value)?;
                step.store(2, Ordering::Release);
                Ok(seen)
            });
            assert_eq!(seen, Ok(Some(7)), "its end number is before the begin");
        }
    });
}
