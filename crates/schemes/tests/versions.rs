//! What versions cost: those that nobody needs are given up, whoever idles, and those that are needed stay.

mod common;

use common::{Cell, Place, database};
use engine::{Abort, Database, Homes, Lookup, Schema, Scheme, Session, Table, Ticket, Transaction};
use schemes::multiversion::mvto::Mvto;
use schemes::multiversion::si::Si;

const RECORDS: u64 = 10;

fn ticket() -> Ticket {
    Ticket::new(1, Homes::new())
}

/// A database of some records under a scheme.
fn cells<S: Scheme>() -> (Database<S>, Table<Cell>) {
    let mut schema = Schema::new();
    let table = schema.table("cells", Lookup::Point, 8).group();
    let db = database::<S>(&schema, 4, 1);
    let mut session = db.session();
    for number in 0..RECORDS {
        let inserted =
            session.attempt(&ticket(), |txn| txn.insert(table, Place::new(0, number), &Cell::new(0)));
        assert_eq!(inserted, Ok(true));
    }
    drop(session);
    (db, table)
}

/// Updates all records so often, one after the other.
fn update<S: Scheme>(session: &mut Session<'_, S>, table: Table<Cell>, times: u64) {
    for nth in 0..times * RECORDS {
        let at = Place::new(0, nth % RECORDS);
        let updated =
            session.attempt(&ticket(), |txn| txn.update(table, at, |cell| cell.set(cell.value() + 1)));
        assert_eq!(updated, Ok(Some(())));
    }
}

fn version_bytes<S: Scheme>(db: &Database<S>) -> usize {
    db.memory()[0].version_bytes
}

fn idle_sessions_hold_nothing<S: Scheme>() {
    let (db, table) = cells::<S>();
    let (mut session, mut idle) = (db.session(), db.session());
    assert_eq!(idle.attempt(&ticket(), |txn| txn.read(table, Place::new(0, 0), Cell::value)), Ok(Some(0)));
    update(&mut session, table, 100);
    let after_few = version_bytes(&db);
    update(&mut session, table, 10_000);
    assert_eq!(
        version_bytes(&db),
        after_few,
        "a thousand updates and a hundred thousand take the same memory"
    );
}

fn a_waiting_attempt_keeps_what_it_may_still_read<S: Scheme>() {
    let (db, table) = cells::<S>();
    let (mut session, mut waiting) = (db.session(), db.session());
    update(&mut session, table, 7);
    let seen = waiting.attempt(&ticket(), |txn| {
        update(&mut session, table, 2_000);
        (0..RECORDS).try_fold(0, |sum, number| {
            Ok::<_, Abort>(sum + txn.read(table, Place::new(0, number), Cell::value)?.expect("inserted"))
        })
    });
    assert_eq!(seen, Ok(7 * RECORDS));
    let held = version_bytes(&db);
    update(&mut session, table, 2_000);
    assert!(version_bytes(&db) < held + held / 10, "what was held serves again");
}

fn deleted_rows_serve_again<S: Scheme>() {
    let (db, table) = cells::<S>();
    let mut session = db.session();
    let mut rows = 0;
    for nth in 0..20_000 {
        let at = Place::new(1, nth % 7);
        let done = session.attempt(&ticket(), |txn| {
            if txn.insert(table, at, &Cell::new(1))? { Ok(false) } else { txn.delete(table, at) }
        });
        assert!(done.is_ok());
        if nth == 2_000 {
            rows = db.memory()[0].row_bytes;
        }
    }
    assert_eq!(db.memory()[0].row_bytes, rows);
}

#[test]
fn mvto_gives_up_what_idle_sessions_have_seen() {
    idle_sessions_hold_nothing::<Mvto>();
}

#[test]
fn si_gives_up_what_idle_sessions_have_seen() {
    idle_sessions_hold_nothing::<Si>();
}

#[test]
fn mvto_keeps_what_a_waiting_attempt_may_still_read() {
    a_waiting_attempt_keeps_what_it_may_still_read::<Mvto>();
}

#[test]
fn si_keeps_what_a_waiting_attempt_may_still_read() {
    a_waiting_attempt_keeps_what_it_may_still_read::<Si>();
}

#[test]
fn mvto_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Mvto>();
}

#[test]
fn si_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Si>();
}
