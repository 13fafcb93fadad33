//! The promises and permissions of Hekaton, conflict by conflict.

use engine::{Abort, Database, Homes, Table, Ticket, Transaction};
use sync::atomic::{AtomicU64, Ordering};
use sync::{waiter, workers};

use crate::multiversion::hekaton::Hekaton;
use crate::tests::common::Cell;
use crate::tests::common::stage::{Halts, MISSING, X, Y, add, added, attempt, scan};

crate::tests::conformance!(crate::multiversion::hekaton::entry::ENTRY: reordered, without_speculation);

fn stage() -> (Database<Hekaton>, Table<Cell>) {
    crate::tests::common::stage::stage(&[])
}

#[test]
fn who_writes_nothing_commits_as_of_its_begin_whatever_comes_meanwhile() {
    let (db, table) = stage();
    for read_only in [false, true] {
        let before = attempt(&db, |txn| scan(txn, table));
        let ticket = Ticket { read_only, ..Ticket::new(0, Homes::new()) };
        let seen = db.session().attempt(&ticket, |txn| {
            added(&db, table, X);
            let first = txn.read(table, X, Cell::value)?;
            added(&db, table, X);
            added(&db, table, Y);
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
        added(&db, table, X);
        add(txn, table, Y)
    });
    assert_eq!(outcome, Err(Abort::ReadChanged));
    let outcome = attempt(&db, |txn| {
        txn.read(table, X, Cell::value)?;
        add(txn, table, X)?;
        txn.read(table, X, Cell::value)?;
        add(txn, table, Y)
    });
    assert_eq!(outcome, Ok(()), "its own versions are not in the way");
    let outcome = attempt(&db, |txn| {
        scan(txn, table)?;
        assert_eq!(attempt(&db, |other| other.insert(table, MISSING, &Cell::new(0))), Ok(true));
        add(txn, table, Y)
    });
    assert_eq!(outcome, Err(Abort::Phantom));
    let outcome = attempt(&db, |txn| {
        scan(txn, table)?;
        assert_eq!(attempt(&db, |other| other.delete(table, MISSING)), Ok(true));
        add(txn, table, Y)
    });
    assert_eq!(outcome, Err(Abort::ReadChanged));
    assert_eq!(attempt(&db, |txn| scan(txn, table)), Ok(vec![(0, 2), (1, 1)]));
}

#[test]
fn the_first_to_write_wins_and_the_second_finds_out_at_once() {
    let (db, table) = stage();
    let outcome = attempt(&db, |txn| {
        add(txn, table, X)?;
        assert_eq!(attempt(&db, |other| add(other, table, X)), Err(Abort::WriteConflict));
        assert_eq!(attempt(&db, |other| other.read(table, X, Cell::value)), Ok(Some(0)));
        added(&db, table, Y);
        assert_eq!(add(txn, table, Y), Err(Abort::WriteConflict), "it is newer than the begin");
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}

/// The key comes back in a record that the attempt has never seen. Another transaction, which comes both before
/// the attempt and after it, brings it back.
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
        add(txn, table, X)
    });
    assert_eq!(outcome, Err(Abort::ReadChanged));
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
