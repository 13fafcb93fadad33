//! Basic T/O, conflict by conflict. The attempts of a script have their timestamps in the order of their begins.

use core::ops::ControlFlow;

use engine::{
    Abort, Attempt, Database, Direction, Homes, Lookup, Schema, Scheme, Table, Ticket, Transaction,
};

use crate::tests::common::scene::waits_end_in_the_order_of_timestamps;
use crate::tests::common::{Cell, Given, Place, database_with};
use crate::timestamp::basic_to::BasicTo;

crate::tests::conformance!(crate::timestamp::basic_to::entry::ENTRY: by_thomas);

const AT: Place = Place::new(0, 5);
const MISSING: Place = Place::new(0, 6);
const ALL: core::ops::RangeInclusive<Place> = Place::new(0, 0)..=Place::new(0, 9);
/// No attempt waits: all attempts of a script are open in one thread.
const AT_ONCE: Given = &[("basic_to.wait_us", "0")];
const THOMAS: Given = &[("basic_to.wait_us", "0"), ("basic_to.thomas", "on")];

type Txn<'s, 'db> = Attempt<'s, 'db, BasicTo>;

/// A database of one record, of value 0.
fn stage(given: Given) -> (Database<BasicTo>, Table<Cell>) {
    let mut schema = Schema::new();
    let table = schema.table("cells", Lookup::Ordered, 8).group();
    let db = database_with(&schema, 4, 1, given);
    assert_eq!(commit(&db, |txn| txn.insert(table, AT, &Cell::new(0))), Ok(true));
    (db, table)
}

/// One attempt of a session of its own.
fn commit<T>(
    db: &Database<BasicTo>,
    body: impl FnOnce(&mut Txn<'_, '_>) -> Result<T, Abort>,
) -> Result<T, Abort> {
    db.session().attempt(&Ticket::new(1, Homes::new()), |txn| body(txn))
}

fn read(table: Table<Cell>, txn: &mut Txn<'_, '_>) -> Result<Option<u64>, Abort> {
    txn.read(table, AT, Cell::value)
}

fn add(table: Table<Cell>, txn: &mut Txn<'_, '_>) -> Result<Option<()>, Abort> {
    txn.update(table, AT, |cell| cell.set(cell.value() + 1))
}

fn overwrite(table: Table<Cell>, value: u64, txn: &mut Txn<'_, '_>) -> Result<bool, Abort> {
    txn.replace(table, AT, &Cell::new(value))
}

fn count(table: Table<Cell>, txn: &mut Txn<'_, '_>) -> Result<u64, Abort> {
    let mut rows = 0;
    txn.scan(table, ALL, Direction::Forward, |_, _| {
        rows += 1;
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

#[test]
fn who_reads_what_was_written_later_is_too_late() {
    let (db, table) = stage(AT_ONCE);
    let early = commit(&db, |txn| {
        commit(&db, |later| add(table, later))?;
        read(table, txn)
    });
    assert_eq!(early, Err(Abort::TooLate));
    let early = commit(&db, |txn| {
        commit(&db, |later| later.delete(table, AT))?;
        count(table, txn)
    });
    assert_eq!(early, Err(Abort::TooLate), "the row was there at the time");
    assert_eq!(commit(&db, |txn| count(table, txn)), Ok(0));
}

#[test]
fn who_writes_what_was_read_or_written_later_is_too_late() {
    let (db, table) = stage(AT_ONCE);
    for is_write in [false, true] {
        for is_blind in [false, true] {
            let late = commit(&db, |txn| {
                commit(&db, |later| {
                    if is_write { add(table, later).map(drop) } else { read(table, later).map(drop) }
                })?;
                if is_blind { overwrite(table, 9, txn).map(drop) } else { add(table, txn).map(drop) }
            });
            assert_eq!(late, Err(Abort::TooLate));
        }
    }
    assert_eq!(commit(&db, |txn| read(table, txn)), Ok(Some(2)));
}

#[test]
fn who_is_later_than_an_announced_write_waits_and_who_is_earlier_reads_what_was_there() {
    let (db, table) = stage(AT_ONCE);
    let earlier = commit(&db, |earlier| {
        commit(&db, |txn| {
            overwrite(table, 7, txn)?;
            assert_eq!(commit(&db, |later| read(table, later)), Err(Abort::Timeout));
            assert_eq!(commit(&db, |later| overwrite(table, 8, later)), Err(Abort::Timeout));
            assert_eq!(txn.insert(table, MISSING, &Cell::new(1)), Ok(true));
            assert_eq!(commit(&db, |later| count(table, later)), Err(Abort::Timeout));
            assert_eq!(read(table, earlier), Ok(Some(0)));
            assert_eq!(read(table, txn), Ok(Some(7)));
            Ok(())
        })?;
        read(table, earlier)
    });
    assert_eq!(earlier, Err(Abort::TooLate), "it is written by now");
    assert_eq!(commit(&db, |txn| Ok((read(table, txn)?, count(table, txn)?))), Ok((Some(7), 2)));
}

#[test]
fn who_is_earlier_does_not_announce_a_write_before_a_later_one() {
    let (db, table) = stage(AT_ONCE);
    let earlier = commit(&db, |earlier| {
        commit(&db, |txn| {
            overwrite(table, 7, txn)?;
            assert_eq!(overwrite(table, 6, earlier), Err(Abort::TooLate));
            Err::<(), _>(Abort::Rollback)
        })
    });
    assert_eq!(earlier, Err(Abort::Rollback));
    assert_eq!(commit(&db, |txn| read(table, txn)), Ok(Some(0)), "nothing is left of what was announced");
    assert_eq!(commit(&db, |txn| add(table, txn)), Ok(Some(())));
}

#[test]
fn a_key_does_not_enter_a_gap_that_was_read_later_by_whatever_way() {
    let (db, table) = stage(AT_ONCE);
    let late = commit(&db, |txn| {
        assert_eq!(commit(&db, |later| count(table, later)), Ok(1));
        txn.insert(table, MISSING, &Cell::new(1))
    });
    assert_eq!(late, Err(Abort::TooLate));
    let late = commit(&db, |txn| {
        let rolled_back = commit(&db, |later| {
            assert_eq!(later.read(table, MISSING, Cell::value), Ok(None));
            assert_eq!(later.insert(table, MISSING, &Cell::new(1)), Ok(true));
            Err::<(), _>(Abort::Rollback)
        });
        assert_eq!(rolled_back, Err(Abort::Rollback));
        txn.insert(table, MISSING, &Cell::new(1))
    });
    assert_eq!(late, Err(Abort::TooLate), "the row that has left hands on what was read");
    assert_eq!(commit(&db, |txn| txn.insert(table, MISSING, &Cell::new(1))), Ok(true));
}

#[test]
fn of_several_writes_that_read_nothing_the_latest_survives_in_whatever_order_they_come() {
    let (db, table) = stage(THOMAS);
    let first = commit(&db, |first| {
        let second = commit(&db, |second| {
            assert_eq!(commit(&db, |third| overwrite(table, 3, third)), Ok(true));
            assert_eq!(overwrite(table, 2, second), Ok(true), "it is dropped");
            assert_eq!(read(table, second), Ok(Some(2)), "but its own");
            add(table, second)
        });
        assert_eq!(second, Ok(Some(())));
        overwrite(table, 1, first)
    });
    assert_eq!(first, Ok(true));
    assert_eq!(commit(&db, |txn| read(table, txn)), Ok(Some(3)));
}

#[test]
fn a_write_that_comes_too_late_is_not_dropped_if_someone_later_could_miss_it() {
    let (db, table) = stage(THOMAS);
    let read_between = commit(&db, |txn| {
        assert_eq!(commit(&db, |later| read(table, later)), Ok(Some(0)));
        assert_eq!(commit(&db, |later| overwrite(table, 3, later)), Ok(true));
        overwrite(table, 1, txn)
    });
    assert_eq!(read_between, Err(Abort::TooLate));
    let inserted_between = commit(&db, |txn| {
        assert_eq!(commit(&db, |later| later.delete(table, AT)), Ok(true));
        assert_eq!(commit(&db, |later| later.insert(table, AT, &Cell::new(4))), Ok(true));
        overwrite(table, 1, txn)
    });
    assert_eq!(inserted_between, Err(Abort::TooLate));
    let deletes = commit(&db, |txn| {
        assert_eq!(commit(&db, |later| overwrite(table, 5, later)), Ok(true));
        assert_eq!(overwrite(table, 1, txn), Ok(true));
        txn.delete(table, AT)
    });
    assert_eq!(deletes, Err(Abort::TooLate), "the later one has found a value");
    assert_eq!(commit(&db, |txn| read(table, txn)), Ok(Some(5)));
}

#[test]
fn a_row_that_was_deleted_stays_for_those_who_come_before_that() {
    let (db, table) = stage(AT_ONCE);
    let early = commit(&db, |txn| {
        assert_eq!(commit(&db, |later| later.delete(table, AT)), Ok(true));
        for _ in 0..100 {
            assert_eq!(commit(&db, |later| later.read(table, MISSING, Cell::value)), Ok(None));
            db.scheme().maintain(0);
        }
        read(table, txn)
    });
    assert_eq!(early, Err(Abort::TooLate), "it is not missing");
    assert_eq!(commit(&db, |txn| read(table, txn)), Ok(None));
}

#[test]
fn waits_for_a_prewrite_end_in_the_order_of_timestamps() {
    waits_end_in_the_order_of_timestamps::<BasicTo>(&[("basic_to.wait_us", "10000000")]);
}
