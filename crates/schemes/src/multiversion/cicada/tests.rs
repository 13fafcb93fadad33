//! The promises and permissions of Cicada, conflict by conflict. The attempts of a test have their timestamps in the
//! order of their begins: all clocks go by the same counter here.

use core::cell::Cell as Flag;

use engine::{Abort, Attempt, Database, Homes, Scheme, Table, Ticket, Transaction};
use sync::atomic::{AtomicU64, Ordering};
use sync::{Latched, waiter, workers};

use crate::multiversion::cicada::Cicada;
use crate::tests::common::order::{Order, interleave};
use crate::tests::common::stage::{Halts, MISSING, X, Y, add, attempt, look, scan};
use crate::tests::common::{Cell, Given};

crate::tests::conformance!(crate::multiversion::cicada::entry::ENTRY: reordered, plain, without_snapshots);

/// No attempt waits for an undecided version.
const NO_WAIT: Given = &[("cicada.pending", "abort")];
/// No checks or sorting in advance.
const HASTY: Given = &[("cicada.early_check", "off"), ("cicada.sort", "off")];

type Txn<'s, 'db> = Attempt<'s, 'db, Cicada>;

/// The actions of an attempt.
type Does<'s, T> = &'s dyn Fn(&mut Txn<'_, '_>) -> Result<T, Abort>;

fn stage(given: Given) -> (Database<Cicada>, Table<Cell>) {
    crate::tests::common::stage::stage(given)
}

#[test]
fn a_reader_sees_what_was_there_at_its_timestamp_and_commits() {
    let (db, table) = stage(&[]);
    let seen = attempt(&db, |txn| {
        assert_eq!(attempt(&db, |later| add(later, table, X)), Ok(()));
        assert_eq!(attempt(&db, |later| later.delete(table, Y)), Ok(true));
        assert_eq!(attempt(&db, |later| later.insert(table, MISSING, &Cell::new(1))), Ok(true));
        assert_eq!(txn.read(table, X, Cell::value)?, Some(0));
        scan(txn, table)
    });
    assert_eq!(seen, Ok(vec![(0, 0), (1, 0)]));
    assert_eq!(attempt(&db, |txn| scan(txn, table)), Ok(vec![(0, 1), (5, 1)]));
}

#[test]
fn what_was_read_keeps_earlier_writers_out_once_the_reader_commits() {
    let (db, table) = stage(&[]);
    for (ending, outcome) in [(Err(Abort::Stopped), Ok(())), (Ok(()), Err(Abort::TooLate))] {
        let earlier = attempt(&db, |txn| {
            let later = attempt(&db, |later| later.read(table, X, |_| ())?.map_or(Ok(()), |()| ending));
            assert_eq!(later, ending);
            add(txn, table, X)
        });
        assert_eq!(earlier, outcome, "after {ending:?}");
    }
}

#[test]
fn a_write_is_too_late_for_a_reader_who_commits_before_it_is_installed() {
    let (db, table) = stage(HASTY);
    let earlier = attempt(&db, |txn| {
        add(txn, table, X)?;
        assert_eq!(attempt(&db, |later| later.read(table, X, Cell::value)), Ok(Some(0)));
        Ok(())
    });
    assert_eq!(earlier, Err(Abort::TooLate));
    assert_eq!(attempt(&db, |txn| txn.read(table, X, Cell::value)), Ok(Some(0)));
}

#[test]
fn a_write_of_any_kind_below_a_later_version_is_too_late() {
    let (db, table) = stage(&[]);
    let replace = |txn: &mut Txn<'_, '_>| txn.replace(table, X, &Cell::new(9)).map(drop);
    let delete = |txn: &mut Txn<'_, '_>| txn.delete(table, X).map(drop);
    let update = |txn: &mut Txn<'_, '_>| add(txn, table, X);
    let writes: [Does<'_, ()>; 3] = [&replace, &delete, &update];
    for write in writes {
        for is_early in [true, false] {
            let outcome = attempt(&db, |txn| {
                if is_early {
                    write(txn)?;
                }
                assert_eq!(attempt(&db, |later| add(later, table, X)), Ok(()));
                if is_early { Ok(()) } else { write(txn) }
            });
            assert_eq!(outcome, Err(Abort::TooLate));
        }
    }
    assert_eq!(attempt(&db, |txn| txn.read(table, X, Cell::value)), Ok(Some(6)));
}

/// The outcome of actions that an attempt takes after it has read `X`, which an earlier attempt then changes.
fn reads_too_early(given: Given, then: impl Fn(&mut Txn<'_, '_>, Table<Cell>) -> Result<(), Abort>) -> Abort {
    let (db, table) = stage(given);
    let (order, late) = (Order::default(), Flag::new(Ok(())));
    interleave(
        &order,
        5,
        vec![
            Box::new(|| {
                let earlier = attempt(&db, |txn| {
                    order.step(0, || ());
                    order.step(2, || add(txn, table, X))
                });
                assert_eq!(earlier, Ok(()));
                order.step(3, || ());
            }),
            Box::new(|| {
                late.set(attempt(&db, |txn| {
                    order.step(1, || txn.read(table, X, Cell::value))?;
                    order.step(4, || ());
                    then(txn, table)
                }));
            }),
        ],
    );
    late.get().expect_err("what it has read is not what is there at its timestamp")
}

#[test]
fn what_was_read_must_be_visible_at_the_timestamp_when_it_commits() {
    for given in [&[], HASTY] {
        assert_eq!(reads_too_early(given, |_, _| Ok(())), Abort::ReadChanged);
        assert_eq!(reads_too_early(given, |txn, table| add(txn, table, Y)), Abort::ReadChanged);
        assert_eq!(reads_too_early(given, |txn, table| add(txn, table, X)), Abort::ReadChanged);
        assert_eq!(reads_too_early(given, |_, _| Err(Abort::Rollback)), Abort::ReadChanged);
    }
}

#[test]
fn what_is_rolled_back_is_seen_by_nobody_and_leaves_nothing() {
    let (db, table) = stage(&[]);
    let rolled_back: Result<(), _> = attempt(&db, |txn| {
        add(txn, table, X)?;
        txn.delete(table, Y)?;
        txn.insert(table, MISSING, &Cell::new(1))?;
        assert_eq!(attempt(&db, |other| scan(other, table)), Ok(vec![(0, 0), (1, 0)]));
        assert_eq!(scan(txn, table), Ok(vec![(0, 1), (5, 1)]));
        Err(Abort::Rollback)
    });
    assert_eq!(rolled_back, Err(Abort::Rollback));
    assert_eq!(attempt(&db, |txn| scan(txn, table)), Ok(vec![(0, 0), (1, 0)]));
}

#[test]
fn an_insert_comes_before_nobody_who_has_missed_its_key_later() {
    let (db, table) = stage(HASTY);
    let misses = |txn: &mut Txn<'_, '_>| txn.read(table, MISSING, Cell::value);
    let scans = |txn: &mut Txn<'_, '_>| scan(txn, table).map(|found| (found.len() > 2).then_some(0));
    let looks: [Does<'_, Option<u64>>; 2] = [&misses, &scans];
    for later_looks in looks {
        for enters_first in [false, true] {
            let outcome = attempt(&db, |txn| {
                if enters_first {
                    txn.insert(table, MISSING, &Cell::new(1))?;
                }
                assert_eq!(attempt(&db, later_looks), Ok(None));
                if enters_first { Ok(true) } else { txn.insert(table, MISSING, &Cell::new(1)) }
            });
            assert_eq!(outcome, Err(Abort::TooLate), "enters first: {enters_first}");
        }
    }
    assert_eq!(attempt(&db, |txn| txn.insert(table, MISSING, &Cell::new(1))), Ok(true));
}

#[test]
fn a_snapshot_shows_one_state_and_keeps_nobody_from_anything() {
    let (db, table) = stage(&[]);
    let seen = look(&db, |txn| {
        let first = scan(txn, table)?;
        let earlier = attempt(&db, |writer| {
            assert_eq!(look(&db, |other| other.read(table, X, Cell::value)), Ok(Some(0)));
            add(writer, table, X)?;
            writer.insert(table, MISSING, &Cell::new(1))?;
            writer.delete(table, Y)
        });
        assert_eq!(earlier, Ok(true));
        for _ in 0..100 {
            assert_eq!(attempt(&db, |writer| add(writer, table, X)), Ok(()));
        }
        assert_eq!(scan(txn, table)?, first);
        Ok(first)
    });
    assert_eq!(seen, Ok(vec![(0, 0), (1, 0)]));
    assert_eq!(look(&db, |txn| scan(txn, table)), Ok(vec![(0, 101), (5, 1)]));
}

#[test]
fn a_snapshot_is_older_than_every_attempt_that_may_yet_write() {
    let (db, table) = stage(&[]);
    let slow = attempt(&db, |txn| {
        assert_eq!(attempt(&db, |other| add(other, table, Y)), Ok(()));
        assert_eq!(look(&db, |other| scan(other, table)), Ok(vec![(0, 0), (1, 0)]), "X may yet be changed");
        add(txn, table, X)
    });
    assert_eq!(slow, Ok(()));
    assert_eq!(look(&db, |txn| scan(txn, table)), Ok(vec![(0, 1), (1, 1)]));
}

#[test]
fn read_only_attempts_are_like_others_where_there_are_no_snapshots() {
    let (db, table) = stage(&[("cicada.snapshots", "off")]);
    let earlier = attempt(&db, |txn| {
        assert_eq!(look(&db, |later| later.read(table, X, Cell::value)), Ok(Some(0)));
        add(txn, table, X)
    });
    assert_eq!(earlier, Err(Abort::TooLate));
}

/// The value that a later reader of an undecided version sees, if the writer may go on before the reader looks, or
/// afterwards.
fn meets_an_undecided_version(given: Given, is_let_go: bool) -> Result<Option<u64>, Abort> {
    let (db, table) = stage(given);
    let (step, seen) = (AtomicU64::new(0), Latched::new(Ok(None)));
    workers::run(2, false, |worker| {
        if worker == 0 {
            let mut session = db.session_with(Halts(&step), ());
            let written = session.attempt(&Ticket::new(0, Homes::new()), |txn| {
                txn.update(table, X, |cell| cell.set(7)).map(drop)
            });
            assert_eq!(written, Ok(()));
        } else {
            waiter::wait_until(None, || step.load(Ordering::Acquire) == 1);
            let other = attempt(&db, |txn| txn.read(table, Y, Cell::value));
            assert_eq!(other, Ok(Some(0)), "what is not written is in nobody's way");
            if is_let_go {
                step.store(2, Ordering::Release);
            }
            *seen.lock() = attempt(&db, |txn| txn.read(table, X, Cell::value));
            step.store(2, Ordering::Release);
        }
    });
    *seen.lock()
}

#[test]
fn who_meets_an_earlier_version_that_is_undecided_waits_or_aborts() {
    assert_eq!(meets_an_undecided_version(NO_WAIT, false), Err(Abort::LockBusy));
    assert_eq!(meets_an_undecided_version(&[], true), Ok(Some(7)));
}

#[test]
fn a_session_that_comes_late_has_timestamps_after_those_that_were() {
    let (db, table) = stage(&[]);
    for nth in 0..200 {
        assert_eq!(attempt(&db, |txn| add(txn, table, X)), Ok(()));
        let seen = attempt(&db, |txn| txn.read(table, X, Cell::value));
        assert_eq!(seen, Ok(Some(nth + 1)));
        db.scheme().maintain(0);
    }
}
