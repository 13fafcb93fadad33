//! The behaviour of MV2PL for writers and for read-only transactions, conflict by conflict.

use engine::{Abort, Database, Homes, Observer, Scheme, Table, Ticket, Transaction};
use storage::{RecordRef, Shape};
use sync::atomic::{AtomicU64, Ordering};
use sync::workers;

use crate::multiversion::mv2pl::Mv2pl;
use crate::tests::common::stage::{MISSING, X, Y, add, added, attempt, look, scan};
use crate::tests::common::{Cell, Given, Place};

crate::tests::conformance!(crate::multiversion::mv2pl::entry::ENTRY: without_hints, that_waits_and_shows_the_past);

const STALE: Given = &[("mv2pl.snapshots", "stale")];

fn stage(given: Given) -> (Database<Mv2pl>, Table<Cell>) {
    crate::tests::common::stage::stage(given)
}

#[test]
fn who_only_reads_sees_what_was_there_when_it_began_whatever_comes_meanwhile() {
    let (db, table) = stage(&[]);
    let seen = look(&db, |txn| {
        for _ in 0..3 {
            added(&db, table, X);
            assert_eq!(attempt(&db, |other| other.insert(table, MISSING, &Cell::new(7))), Ok(true));
            assert_eq!(scan(txn, table), Ok(vec![(0, 0), (1, 0)]));
            assert_eq!(attempt(&db, |other| other.delete(table, MISSING)), Ok(true));
            assert_eq!(txn.read(table, MISSING, Cell::value), Ok(None));
        }
        assert_eq!(attempt(&db, |other| other.delete(table, Y)), Ok(true));
        for _ in 0..100 {
            added(&db, table, X);
        }
        scan(txn, table)
    });
    assert_eq!(seen, Ok(vec![(0, 0), (1, 0)]));
    assert_eq!(look(&db, |txn| scan(txn, table)), Ok(vec![(0, 103)]));
}

#[test]
fn who_only_reads_keeps_nobody_from_writing_and_is_not_kept_by_a_writer() {
    let (db, table) = stage(&[]);
    let outcome = attempt(&db, |txn| {
        add(txn, table, X)?;
        assert_eq!(txn.insert(table, MISSING, &Cell::new(7)), Ok(true));
        assert_eq!(look(&db, |other| scan(other, table)), Ok(vec![(0, 0), (1, 0)]));
        assert_eq!(attempt(&db, |other| other.read(table, X, Cell::value)), Err(Abort::LockBusy));
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
    assert_eq!(look(&db, |txn| scan(txn, table)), Ok(vec![(0, 1), (1, 0), (5, 7)]));
}

#[test]
fn who_may_write_sees_the_latest_value_and_keeps_it_so() {
    let (db, table) = stage(&[]);
    let outcome = attempt(&db, |txn| {
        added(&db, table, X);
        assert_eq!(txn.read(table, X, Cell::value), Ok(Some(1)));
        assert_eq!(attempt(&db, |other| add(other, table, X)), Err(Abort::LockBusy));
        assert_eq!(attempt(&db, |other| other.read(table, X, Cell::value)), Ok(Some(1)));
        txn.read(table, X, Cell::value)
    });
    assert_eq!(outcome, Ok(Some(1)));
    let shared = attempt(&db, |txn| {
        txn.read(table, X, Cell::value)?;
        attempt(&db, |other| {
            other.read(table, X, Cell::value)?;
            assert_eq!(add(txn, table, X), Err(Abort::LockBusy), "another shares it");
            Ok(())
        })?;
        add(txn, table, X)
    });
    assert_eq!(shared, Ok(()));
}

#[test]
fn a_gap_that_was_read_is_as_it_was_at_the_commit_or_there_is_none() {
    let (db, table) = stage(&[]);
    let phantom = attempt(&db, |txn| {
        scan(txn, table)?;
        assert_eq!(attempt(&db, |other| other.insert(table, MISSING, &Cell::new(0))), Ok(true));
        add(txn, table, Y)
    });
    assert_eq!(phantom, Err(Abort::Phantom));
    let own = attempt(&db, |txn| {
        scan(txn, table)?;
        txn.insert(table, Place::new(0, 6), &Cell::new(0))?;
        scan(txn, table)
    });
    assert_eq!(own, Ok(vec![(0, 0), (1, 0), (5, 0), (6, 0)]));
}

#[test]
fn a_lock_is_waited_for_as_long_as_is_set() {
    let (db, table) = stage(&[("mv2pl.wait_us", "1000")]);
    let outcome = attempt(&db, |txn| {
        add(txn, table, X)?;
        assert_eq!(attempt(&db, |other| add(other, table, X)), Err(Abort::Timeout));
        assert_eq!(attempt(&db, |other| other.read(table, X, Cell::value)), Err(Abort::Timeout));
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
    assert_eq!(look(&db, |txn| txn.read(table, X, Cell::value)), Ok(Some(1)));
}

/// Runs an action when its commit has drawn its number and put its first version in place.
struct Midway<F>(F);

impl<F: Fn() + Send> Observer for Midway<F> {
    fn listens(&self) -> bool {
        true
    }

    fn installed<S: Shape>(&mut self, _: RecordRef<'_, S>, _: Option<&[u64]>, _: Option<&[u64]>) {
        self.0();
    }
}

#[test]
fn a_stale_snapshot_shows_all_of_a_commit_or_nothing() {
    let (db, table) = stage(STALE);
    let sum = || {
        look(&db, |txn| {
            let x = txn.read(table, X, Cell::value)?;
            Ok(x.unwrap_or(0) + txn.read(table, Y, Cell::value)?.unwrap_or(0))
        })
    };
    let seen = AtomicU64::new(0);
    let midway = Midway(|| {
        db.scheme().maintain(0);
        seen.fetch_max(sum().expect("who only reads does not abort"), Ordering::Relaxed);
    });
    let ticket = Ticket::new(0, Homes::new());
    let both = db.session_with(midway, ()).attempt(&ticket, |txn| {
        [X, Y].into_iter().try_for_each(|at| txn.update(table, at, |cell| cell.set(1)).map(drop))
    });
    assert_eq!(both, Ok(()));
    assert_eq!(seen.into_inner(), 0, "nothing of a commit that is not over");
}

#[test]
fn a_fresh_snapshot_shows_what_its_client_knows_to_be_committed_and_never_half_of_a_commit() {
    const ROUNDS: u64 = 3_000;
    let (db, table) = stage(&[]);
    let known = AtomicU64::new(0);
    workers::run(2, false, |worker| {
        let mut session = db.session();
        let ticket = Ticket { read_only: worker == 1, ..Ticket::new(0, Homes::new()) };
        for _ in 0..ROUNDS {
            if worker == 0 {
                let both = session.attempt(&ticket, |txn| {
                    add(txn, table, X)?;
                    add(txn, table, Y)
                });
                assert_eq!(both, Ok(()), "who only reads is in nobody's way");
                // SeqCst, here and below: one client tells the other of its commits.
                known.fetch_add(1, Ordering::SeqCst);
            } else {
                let least = known.load(Ordering::SeqCst);
                let seen = session.attempt(&ticket, |txn| {
                    Ok((txn.read(table, X, Cell::value)?, txn.read(table, Y, Cell::value)?))
                });
                let (x, y) = seen.expect("who only reads does not abort");
                assert!(x == y && x >= Some(least), "{x:?} and {y:?} after {least}");
            }
        }
    });
}

#[test]
fn what_no_snapshot_shows_any_more_is_given_up() {
    let (db, table) = stage(&[]);
    let bytes = || db.memory()[0].version_bytes;
    let mut session = db.session();
    let mut add_often = |times| {
        for _ in 0..times {
            assert_eq!(session.attempt(&Ticket::new(0, Homes::new()), |txn| add(txn, table, X)), Ok(()));
        }
    };
    let seen = look(&db, |txn| {
        add_often(2_000);
        txn.read(table, X, Cell::value)
    });
    assert_eq!(seen, Ok(Some(0)));
    let held = bytes();
    add_often(20_000);
    assert!(bytes() < held + held / 10, "what was held serves again");
}
