//! The cost of versions: versions that nobody needs are given up, whoever idles, and versions that are needed
//! stay.

use engine::{Abort, Database, Homes, Lookup, Schema, Scheme, Session, Table, Ticket, Transaction};

use crate::locking::bamboo::Bamboo;
use crate::multiversion::cicada::Cicada;
use crate::multiversion::ermia::Ermia;
use crate::multiversion::hekaton::Hekaton;
use crate::multiversion::hekaton_locking::HekatonLocking;
use crate::multiversion::mvto::Mvto;
use crate::multiversion::si::Si;
use crate::multiversion::ssi::Ssi;
use crate::multiversion::ssn::Ssn;
use crate::tests::common::{Cell, Place, database};

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

/// Updates all records `times` times, one after the other.
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

/// The bytes of versions that pools hold for records, without those that wait for the next writers.
fn version_bytes_used<S: Scheme>(db: &Database<S>) -> usize {
    let memory = &db.memory()[0];
    memory.version_bytes - memory.version_bytes_free
}

/// A database with `records` more records. Each was written once after its insertion, half of them while another
/// attempt waits that sees the values before.
fn written_once<S: Scheme>(records: u64) -> (Database<S>, Table<Cell>) {
    let (db, table) = cells::<S>();
    let (mut session, mut waiting) = (db.session(), db.session());
    for number in RECORDS..RECORDS + records {
        let at = Place::new(0, number);
        assert_eq!(session.attempt(&ticket(), |txn| txn.insert(table, at, &Cell::new(1))), Ok(true));
    }
    let mut write = |range: core::ops::Range<u64>| {
        for number in range {
            let at = Place::new(0, RECORDS + number);
            assert_eq!(
                session.attempt(&ticket(), |txn| txn.update(table, at, |cell| cell.set(2))),
                Ok(Some(()))
            );
        }
    };
    let seen = waiting.attempt(&ticket(), |txn| {
        write(0..records / 2);
        (0..records).try_fold(0, |sum, number| {
            let at = Place::new(0, RECORDS + number);
            Ok::<_, Abort>(sum + txn.read(table, at, Cell::value)?.expect("inserted"))
        })
    });
    assert_eq!(seen, Ok(records), "the values before");
    write(records / 2..records);
    drop((session, waiting));
    (db, table)
}

fn records_written_once_keep_one_value<S: Scheme>() {
    const WRITTEN: u64 = 5_000;
    // The versions that any number of attempts has in motion, or in stock to write.
    const IN_MOTION: usize = 200 * 64;
    let (db, table) = written_once::<S>(WRITTEN);
    assert!(version_bytes(&db) >= WRITTEN as usize / 2 * 64, "the waiting attempt has kept versions");
    let mut session = db.session();
    for _ in 0..WRITTEN {
        let read = session.attempt(&ticket(), |txn| txn.read(table, Place::new(0, 0), Cell::value));
        assert_eq!(read, Ok(Some(0)));
    }
    let used = version_bytes_used(&db);
    assert!(used < IN_MOTION, "{used} bytes of versions for records that were written once");
    for number in RECORDS..RECORDS + WRITTEN {
        let at = Place::new(0, number);
        assert_eq!(session.attempt(&ticket(), |txn| txn.read(table, at, Cell::value)), Ok(Some(2)));
    }
}

/// A slot that is to bring records down to one version may find them being written, and leave them to the writer;
/// the writer may take back what it wrote.
fn records_being_written_meanwhile_keep_one_value<S: Scheme>() {
    let (db, table) = cells::<S>();
    let (mut session, mut other) = (db.session(), db.session());
    let waited = other.attempt(&ticket(), |_| {
        update(&mut session, table, 1);
        Ok(())
    });
    assert_eq!(waited, Ok(()));
    let taken_back = other.attempt(&ticket(), |txn| {
        for number in 0..RECORDS {
            txn.update(table, Place::new(0, number), |cell| cell.set(9))?;
        }
        for number in 0..100 {
            let inserted =
                session.attempt(&ticket(), |txn| txn.insert(table, Place::new(1, number), &Cell::new(0)));
            assert_eq!(inserted, Ok(true));
        }
        Err::<(), _>(Abort::Rollback)
    });
    assert_eq!(taken_back, Err(Abort::Rollback));
    for nth in 0..1_000 {
        let at = Place::new(0, nth % RECORDS);
        assert_eq!(other.attempt(&ticket(), |txn| txn.read(table, at, Cell::value)), Ok(Some(1)));
    }
    drop((session, other));
    // The next session does the work for which these had to wait.
    let mut next = db.session();
    for _ in 0..100 {
        assert_eq!(
            next.attempt(&ticket(), |txn| txn.read(table, Place::new(0, 0), Cell::value)),
            Ok(Some(1))
        );
    }
    drop(next);
    assert_eq!(version_bytes_used(&db), 0);
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
fn ssn_gives_up_what_idle_sessions_have_seen() {
    idle_sessions_hold_nothing::<Ssn>();
}

#[test]
fn ssi_gives_up_what_idle_sessions_have_seen() {
    idle_sessions_hold_nothing::<Ssi>();
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
fn ssn_keeps_what_a_waiting_attempt_may_still_read() {
    a_waiting_attempt_keeps_what_it_may_still_read::<Ssn>();
}

#[test]
fn ssi_keeps_what_a_waiting_attempt_may_still_read() {
    a_waiting_attempt_keeps_what_it_may_still_read::<Ssi>();
}

#[test]
fn mvto_keeps_one_value_of_a_record_written_once() {
    records_written_once_keep_one_value::<Mvto>();
}

#[test]
fn si_keeps_one_value_of_a_record_written_once() {
    records_written_once_keep_one_value::<Si>();
}

#[test]
fn ssn_keeps_one_value_of_a_record_written_once() {
    records_written_once_keep_one_value::<Ssn>();
}

#[test]
fn ssi_keeps_one_value_of_a_record_written_once() {
    records_written_once_keep_one_value::<Ssi>();
}

#[test]
fn mvto_keeps_one_value_of_a_record_being_written_meanwhile() {
    records_being_written_meanwhile_keep_one_value::<Mvto>();
}

#[test]
fn si_keeps_one_value_of_a_record_being_written_meanwhile() {
    records_being_written_meanwhile_keep_one_value::<Si>();
}

#[test]
fn ssn_keeps_one_value_of_a_record_being_written_meanwhile() {
    records_being_written_meanwhile_keep_one_value::<Ssn>();
}

#[test]
fn ssi_keeps_one_value_of_a_record_being_written_meanwhile() {
    records_being_written_meanwhile_keep_one_value::<Ssi>();
}

#[test]
fn mvto_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Mvto>();
}

#[test]
fn si_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Si>();
}

#[test]
fn ssn_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Ssn>();
}

#[test]
fn ssi_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Ssi>();
}

#[test]
fn hekaton_gives_up_what_idle_sessions_have_seen() {
    idle_sessions_hold_nothing::<Hekaton>();
}

#[test]
fn hekaton_keeps_what_a_waiting_attempt_may_still_read() {
    a_waiting_attempt_keeps_what_it_may_still_read::<Hekaton>();
}

#[test]
fn hekaton_keeps_one_value_of_a_record_written_once() {
    records_written_once_keep_one_value::<Hekaton>();
}

#[test]
fn hekaton_keeps_one_value_of_a_record_being_written_meanwhile() {
    records_being_written_meanwhile_keep_one_value::<Hekaton>();
}

#[test]
fn hekaton_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Hekaton>();
}

#[test]
fn hekaton_locking_gives_up_what_idle_sessions_have_seen() {
    idle_sessions_hold_nothing::<HekatonLocking>();
}

#[test]
fn hekaton_locking_keeps_one_value_of_a_record_being_written_meanwhile() {
    records_being_written_meanwhile_keep_one_value::<HekatonLocking>();
}

#[test]
fn hekaton_locking_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<HekatonLocking>();
}

#[test]
fn cicada_gives_up_what_idle_sessions_have_seen() {
    idle_sessions_hold_nothing::<Cicada>();
}

#[test]
fn cicada_keeps_what_a_waiting_attempt_may_still_read() {
    a_waiting_attempt_keeps_what_it_may_still_read::<Cicada>();
}

#[test]
fn cicada_keeps_one_value_of_a_record_written_once() {
    records_written_once_keep_one_value::<Cicada>();
}

#[test]
fn cicada_keeps_one_value_of_a_record_being_written_meanwhile() {
    records_being_written_meanwhile_keep_one_value::<Cicada>();
}

#[test]
fn cicada_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Cicada>();
}

#[test]
fn ermia_gives_up_what_idle_sessions_have_seen() {
    idle_sessions_hold_nothing::<Ermia>();
}

#[test]
fn ermia_keeps_what_a_waiting_attempt_may_still_read() {
    a_waiting_attempt_keeps_what_it_may_still_read::<Ermia>();
}

#[test]
fn ermia_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Ermia>();
}

#[test]
fn bamboo_gives_up_what_idle_sessions_have_seen() {
    idle_sessions_hold_nothing::<Bamboo>();
}

#[test]
fn bamboo_keeps_one_value_of_a_record_being_written_meanwhile() {
    records_being_written_meanwhile_keep_one_value::<Bamboo>();
}

#[test]
fn bamboo_reuses_the_rows_of_deleted_keys() {
    deleted_rows_serve_again::<Bamboo>();
}
