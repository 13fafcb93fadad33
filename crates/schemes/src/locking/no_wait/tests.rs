//! `NO_WAIT`, conflict by conflict.

use engine::{Abort, Database, Homes, Key, Lookup, Retire, Schema, Scheme, Table, Ticket, Transaction};
use storage::Which;

use crate::locking::no_wait::NoWait;
use crate::tests::common::{Cell, Place, database};

crate::tests::conformance!(crate::locking::no_wait::entry::ENTRY: without_hints);

/// Runs `test` with a database of one record.
fn check(test: impl FnOnce(&Database<NoWait>, Table<Cell>)) {
    let mut schema = Schema::new();
    let table = schema.table("cells", Lookup::Point, 8).group();
    let db = database(&schema, 3, 1);
    let inserted = db.session().attempt(&ticket(), |txn| txn.insert(table, AT, &Cell::new(0)));
    assert_eq!(inserted, Ok(true));
    test(&db, table);
}

const AT: Place = Place::new(0, 0);

fn ticket() -> Ticket {
    Ticket::new(1, Homes::new())
}

#[test]
fn readers_share_a_record_and_upgrades_fail_while_another_reads() {
    check(|db, table| {
        let (mut first, mut second) = (db.session(), db.session());
        let done = first.attempt(&ticket(), |one| {
            one.read(table, AT, Cell::value)?;
            let other = second.attempt(&ticket(), |two| {
                two.read(table, AT, Cell::value)?;
                assert_eq!(one.update(table, AT, |cell| cell.set(1)), Err(Abort::LockBusy));
                two.update(table, AT, |cell| cell.set(2))
            });
            assert_eq!(other, Err(Abort::LockBusy), "the first reads, too");
            // The second has released its lock.
            one.update(table, AT, |cell| cell.set(3))
        });
        assert_eq!(done, Ok(Some(())));
        assert_eq!(first.attempt(&ticket(), |txn| txn.read(table, AT, Cell::value)), Ok(Some(3)));
    });
}

#[test]
fn a_writer_excludes_readers_and_writers_until_it_ends() {
    check(|db, table| {
        let (mut first, mut second) = (db.session(), db.session());
        let done = first.attempt(&ticket(), |one| {
            // A record that is touched again is locked once.
            one.update(table, AT, |cell| cell.set(1))?;
            one.update(table, AT, |cell| cell.set(cell.value() + 1))?;
            let read = second.attempt(&ticket(), |two| two.read(table, AT, Cell::value));
            assert_eq!(read, Err(Abort::LockBusy));
            let deleted = second.attempt(&ticket(), |two| two.delete(table, AT));
            assert_eq!(deleted, Err(Abort::LockBusy));
            Ok(())
        });
        assert_eq!(done, Ok(()));
        assert_eq!(second.attempt(&ticket(), |txn| txn.read(table, AT, Cell::value)), Ok(Some(2)));
    });
}

#[test]
fn an_abort_leaves_neither_lock_nor_value() {
    check(|db, table| {
        let mut session = db.session();
        let done = session.attempt(&ticket(), |txn| {
            txn.update(table, AT, |cell| cell.set(1))?;
            txn.delete(table, AT)?;
            txn.insert(table, Place::new(0, 1), &Cell::new(1))?;
            Err::<(), _>(Abort::Rollback)
        });
        assert_eq!(done, Err(Abort::Rollback));
        let seen = session.attempt(&ticket(), |txn| {
            let added = txn.read(table, Place::new(0, 1), Cell::value)?;
            txn.update(table, AT, |cell| cell.value()).map(|value| (value, added))
        });
        assert_eq!(seen, Ok((Some(0), None)));
    });
}

#[test]
fn a_record_is_retired_only_when_it_has_neither_value_nor_lock() {
    check(|db, table| {
        let new = Place::new(0, 1);
        let index = db.tables().get(table.id()).index(Which::Primary);
        let find = |place: Place| index.peek(place.ordered()).map(|row| row.record(0));
        let retire = |record| db.scheme().retire(record, &());
        assert_eq!(find(AT).map(retire), Some(Retire::Alive));
        let mut record = None;
        let done = db.session().attempt(&ticket(), |txn| {
            txn.insert(table, new, &Cell::new(1))?;
            record = find(new);
            assert_eq!(record.map(retire), Some(Retire::Later), "it is about to have a value");
            Err::<(), _>(Abort::Rollback)
        });
        assert_eq!(done, Err(Abort::Rollback));
        assert_eq!(find(new), None, "the engine has retired it");
        assert_eq!(record.map(retire), Some(Retire::Done));
    });
}
