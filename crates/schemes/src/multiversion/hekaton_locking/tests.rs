//! Claims about Hekaton with locks, wait by wait: writers go on over records that others have
//! locked, and end after them.

use core::cell::Cell as Flag;

use engine::{Abort, Homes, Ticket, Transaction};

use crate::multiversion::hekaton_locking::HekatonLocking;
use crate::tests::common::scene::{On, Scene, linger};
use crate::tests::common::{Cell, Given, Place};

crate::tests::conformance!(crate::multiversion::hekaton_locking::entry::ENTRY: without_hints, without_speculation);

/// Transactions by birth: the oldest first.
const OLD: u64 = 10;
const MIDDLE: u64 = 20;
const YOUNG: u64 = 30;

const STANDARD: Given = &[];
const AT_ONCE: Given = &[("hekaton_locking.period_us", "1")];

type Ended = Result<(), Abort>;
const COMMITS: Ended = Ok(());
const VICTIM: Ended = Err(Abort::Deadlock);
const REFUSED: Ended = Err(Abort::LockBusy);

type Txn<'o, 't, 'db> = On<'o, 't, 'db, HekatonLocking>;

/// A cell that does not exist.
const MISSING: u64 = 77;

#[test]
fn a_writer_goes_on_over_what_others_have_locked_and_ends_after_them() {
    for given in [STANDARD, AT_ONCE] {
        let scene = Scene::<HekatonLocking>::new(given);
        let ended = scene.play(&[
            (OLD, &|reader| {
                reader.turn(1);
                assert_eq!(reader.read(0)?, 0);
                reader.after(2);
                linger();
                assert_eq!(reader.read(0)?, 0, "nothing has come over it");
                Ok(())
            }),
            (YOUNG, &|writer| {
                writer.turn(2);
                writer.count(0)?;
                writer.note("has written");
                Ok(())
            }),
        ]);
        assert_eq!(ended, [COMMITS; 2]);
        assert_eq!((scene.events().as_str(), scene.value(0)), ("has written, 10 commits, 30 commits", 1));
    }
}

#[test]
fn readers_come_and_go_over_an_open_writer_who_waits_for_whoever_is_left() {
    let scene = Scene::<HekatonLocking>::new(STANDARD);
    let ended = scene.play(&[
        (YOUNG, &|writer| {
            writer.turn(1);
            writer.count(0)?;
            writer.after(3);
            Ok(())
        }),
        (OLD, &|reader| {
            reader.turn(2);
            assert_eq!(reader.read(0)?, 0);
            Ok(())
        }),
        (MIDDLE, &|reader| {
            reader.turn(3);
            assert_eq!(reader.read(0)?, 0);
            linger();
            Ok(())
        }),
    ]);
    assert_eq!(ended, [COMMITS; 3]);
    assert_eq!(scene.events(), "10 commits, 20 commits, 30 commits");
}

#[test]
fn who_adds_a_key_ends_after_those_who_found_it_missing() {
    for given in [STANDARD, AT_ONCE] {
        let scene = Scene::<HekatonLocking>::new(given);
        let ended = scene.play(&[
            (OLD, &|reader| {
                reader.turn(1);
                assert!(!reader.has(MISSING)?);
                reader.after(2);
                linger();
                assert!(!reader.has(MISSING)?, "it is locked by its gap, and by the record there");
                Ok(())
            }),
            (YOUNG, &|writer| {
                writer.turn(2);
                writer.insert(MISSING)
            }),
        ]);
        assert_eq!(ended, [COMMITS; 2]);
        assert_eq!((scene.events().as_str(), scene.value(MISSING)), ("10 commits, 30 commits", 0));
    }
}

/// Reads one cell in turn `turn`, and writes another one in turn `all + turn`.
fn reads_and_writes(cells: [u64; 2], turn: u32, all: u32) -> impl Fn(&mut Txn<'_, '_, '_>) -> Ended {
    move |txn| {
        txn.turn(turn);
        txn.read(cells[0])?;
        txn.turn(all + turn);
        txn.count(cells[1])?;
        txn.after(2 * all);
        Ok(())
    }
}

#[test]
fn of_those_who_wait_for_each_other_the_youngest_aborts() {
    for given in [STANDARD, AT_ONCE] {
        let scene = Scene::<HekatonLocking>::new(given);
        let ended =
            scene.play(&[(YOUNG, &reads_and_writes([0, 1], 1, 2)), (OLD, &reads_and_writes([1, 0], 2, 2))]);
        assert_eq!(ended, [VICTIM, COMMITS]);
        assert_eq!((scene.value(0), scene.value(1)), (1, 0));
        let ended = scene.play(&[
            (MIDDLE, &reads_and_writes([0, 1], 1, 3)),
            (YOUNG, &reads_and_writes([1, 2], 2, 3)),
            (OLD, &reads_and_writes([2, 0], 3, 3)),
        ]);
        assert_eq!(ended, [COMMITS, VICTIM, COMMITS], "exactly one");
    }
}

#[test]
fn a_circle_may_lead_through_gaps() {
    for given in [STANDARD, AT_ONCE] {
        let scene = Scene::<HekatonLocking>::new(given);
        let ended = scene.play(&[
            (OLD, &|txn| {
                txn.turn(1);
                assert!(!txn.has(MISSING)?);
                txn.turn(3);
                txn.count(0)?;
                txn.after(4);
                Ok(())
            }),
            (YOUNG, &|txn| {
                txn.turn(2);
                txn.read(0)?;
                txn.turn(4);
                txn.insert(MISSING)
            }),
        ]);
        assert_eq!(ended, [COMMITS, VICTIM]);
        assert_eq!(scene.value(0), 1);
    }
}

#[test]
fn who_reads_and_then_writes_a_record_does_not_wait_for_itself() {
    let scene = Scene::<HekatonLocking>::new(STANDARD);
    let ended = scene.play(&[(OLD, &|txn| {
        txn.read(0)?;
        txn.count(0)?;
        assert_eq!(txn.read(0)?, 1);
        assert!(!txn.has(MISSING)?);
        txn.insert(MISSING)
    })]);
    assert_eq!(ended, [COMMITS]);
}

#[test]
fn whom_a_writer_waits_for_nobody_joins_and_after_the_last_nobody_comes() {
    for cell in [0, 1] {
        let scene = Scene::<HekatonLocking>::new(STANDARD);
        let ended = scene.play(&[
            (OLD, &|reader| {
                reader.turn(1);
                reader.read(1)?;
                reader.after(3);
                linger();
                Ok(())
            }),
            (MIDDLE, &|writer| {
                writer.turn(2);
                writer.count(0)?;
                writer.count(1)
            }),
            (YOUNG, &|reader| {
                reader.turn(3);
                reader.read(cell).map(drop)
            }),
        ]);
        assert_eq!(ended, [COMMITS, COMMITS, REFUSED]);
        assert_eq!((scene.value(0), scene.value(1)), (1, 1));
    }
}

#[test]
fn an_update_locks_the_record_first_only_without_a_hint() {
    for (reads_first, refused) in [(false, Abort::WriteConflict), (true, Abort::LockBusy)] {
        let scene = Scene::<HekatonLocking>::new(STANDARD);
        let updated = Flag::new(Ok(None));
        let ended = scene.play(&[
            (OLD, &|reader| {
                reader.turn(1);
                reader.read(0)?;
                reader.after(3);
                linger();
                Ok(())
            }),
            (MIDDLE, &|writer| {
                writer.turn(2);
                writer.count(0)
            }),
            (YOUNG, &|txn| {
                // The writer has come to its end, and waits for the reader.
                txn.turn(3);
                let mut session = scene.db.session();
                session.read_first(reads_first);
                let (ticket, at) = (Ticket::new(YOUNG, Homes::new()), Place::new(0, 0));
                updated.set(session.attempt(&ticket, |other| other.update(scene.table, at, |_| ())));
                Ok(())
            }),
        ]);
        assert_eq!(ended, [COMMITS; 3]);
        assert_eq!(updated.get(), Err(refused));
    }
}

/// The attempt that put the key into the leaf is gone when another gives its record a value.
#[test]
fn who_fills_a_record_that_an_abort_has_left_waits_for_those_who_had_locked_its_leaf() {
    let scene = Scene::<HekatonLocking>::new(STANDARD);
    let ended = scene.play(&[
        (OLD, &|reader| {
            reader.turn(1);
            assert!(!reader.has(MISSING)?);
            reader.after(3);
            linger();
            Ok(())
        }),
        (MIDDLE, &|gone| {
            gone.turn(2);
            gone.insert(MISSING)?;
            Err(Abort::Rollback)
        }),
        (YOUNG, &|writer| {
            writer.turn(3);
            writer.insert(MISSING)
        }),
    ]);
    assert_eq!(ended, [COMMITS, Err(Abort::Rollback), COMMITS]);
    assert_eq!(scene.events(), "20 aborts, 10 commits, 30 commits");
}

#[test]
fn the_first_to_write_wins_and_what_is_newer_than_the_begin_is_no_hindrance() {
    let scene = Scene::<HekatonLocking>::new(STANDARD);
    let ended = scene.play(&[
        (OLD, &|txn| {
            txn.turn(1);
            txn.after(2);
            txn.count(0)?;
            txn.turn(3);
            txn.after(4);
            Ok(())
        }),
        (MIDDLE, &|txn| {
            txn.turn(2);
            txn.count(0)
        }),
        (YOUNG, &|txn| {
            txn.after(3);
            txn.turn(4);
            txn.count(0)
        }),
    ]);
    assert_eq!(ended, [COMMITS, COMMITS, Err(Abort::WriteConflict)]);
    assert_eq!(scene.value(0), 2);
}

#[test]
fn who_is_declared_to_only_read_sees_its_begin_and_is_waited_for_by_nobody() {
    let scene = Scene::<HekatonLocking>::new(STANDARD);
    let (db, table) = (&scene.db, scene.table);
    let mut session = db.session();
    let ticket = Ticket { read_only: true, ..Ticket::new(1, Homes::new()) };
    let seen = session.attempt(&ticket, |txn| {
        assert_eq!(txn.read(table, Place::new(0, 0), Cell::value)?, Some(0));
        assert_eq!(txn.read(table, Place::new(0, MISSING), Cell::value)?, None);
        let written = db.session().attempt(&Ticket::new(1, Homes::new()), |other| {
            other.insert(table, Place::new(0, MISSING), &Cell::new(5))?;
            other.update(table, Place::new(0, 0), |cell| cell.set(5))
        });
        assert_eq!(written, Ok(Some(())));
        assert_eq!(txn.read(table, Place::new(0, MISSING), Cell::value)?, None);
        txn.read(table, Place::new(0, 0), Cell::value)
    });
    assert_eq!(seen, Ok(Some(0)));
    assert_eq!((scene.value(0), scene.value(MISSING)), (5, 5));
}
