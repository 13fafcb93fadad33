//! Claims about `WAIT_DIE`, by age: who waits, who dies, and that everybody has a turn.

use std::panic::{AssertUnwindSafe, catch_unwind};

use engine::{Abort, Homes, Lookup, Schema, Ticket, Transaction};
use sync::{clock, waiter, workers};

use crate::locking::wait_die::WaitDie;
use crate::tests::common::scene::{On, Scene, linger, the_older_upgrades};
use crate::tests::common::{Cell, Given, Place, database};

crate::tests::conformance!(crate::locking::wait_die::entry::ENTRY: without_hints);

/// Transactions by birth: the oldest first.
const OLD: u64 = 10;
const MIDDLE: u64 = 20;
const YOUNG: u64 = 30;

const STANDARD: Given = &[];
const BYPASS: Given = &[("wait_die.bypass", "on")];

type Ended = Result<(), Abort>;
const COMMITS: Ended = Ok(());
const DIES: Ended = Err(Abort::LockBusy);

type Txn<'o, 't, 'db> = On<'o, 't, 'db, WaitDie>;

/// Writes cell 0 in turn 1, and lets others ask for it in turn 2.
fn writes_first(txn: &mut Txn<'_, '_, '_>) -> Ended {
    txn.count(0)?;
    txn.turn(1);
    txn.after(2);
    linger();
    Ok(())
}

/// Asks for cell 0 in turn 2.
fn writes_second(txn: &mut Txn<'_, '_, '_>) -> Ended {
    txn.turn(2);
    txn.count(0)
}

#[test]
fn the_older_waits_for_the_younger_and_then_commits() {
    let scene = Scene::<WaitDie>::new(STANDARD);
    let ended = scene.play(&[
        (YOUNG, &writes_first),
        (OLD, &|old| {
            writes_second(old)?;
            assert_eq!(old.read(0)?, 2, "it sees what the younger has written");
            Ok(())
        }),
    ]);
    assert_eq!(ended, [COMMITS, COMMITS]);
    assert_eq!(scene.events(), "30 commits, 10 commits");
}

#[test]
fn the_younger_dies_and_comes_back_as_old_as_it_was() {
    let scene = Scene::<WaitDie>::new(STANDARD);
    assert_eq!(scene.play(&[(OLD, &writes_first), (MIDDLE, &writes_second)]), [COMMITS, DIES]);
    assert_eq!(scene.events(), "20 aborts, 10 commits");
    // A younger transaction was first this time.
    assert_eq!(scene.play(&[(YOUNG, &writes_first), (MIDDLE, &writes_second)]), [COMMITS, COMMITS]);
    assert_eq!(scene.value(0), 3);
}

#[test]
fn of_two_of_the_same_age_one_dies() {
    let scene = Scene::<WaitDie>::new(STANDARD);
    let forth = scene.play(&[(OLD, &writes_first), (OLD, &writes_second)]);
    let back = scene.play(&[(OLD, &writes_second), (OLD, &writes_first)]);
    assert_eq!([forth, back], [[COMMITS, DIES], [COMMITS, COMMITS]], "the smaller slot is the older");
}

#[test]
fn waiters_are_served_from_the_youngest_to_the_oldest() {
    let scene = Scene::<WaitDie>::new(STANDARD);
    let in_turn = |turn| {
        move |txn: &mut Txn<'_, '_, '_>| {
            txn.turn(turn);
            txn.count(0)
        }
    };
    let ended = scene.play(&[
        (40, &|owner| {
            owner.count(0)?;
            owner.turn(1);
            owner.after(4);
            linger();
            Ok(())
        }),
        (MIDDLE, &in_turn(2)),
        (YOUNG, &in_turn(3)),
        (OLD, &in_turn(4)),
    ]);
    assert_eq!(ended, [COMMITS; 4]);
    assert_eq!(scene.events(), "40 commits, 30 commits, 20 commits, 10 commits");
}

/// One attempt reads, an older one waits to write, and a third comes to read. Returns how each ended, and
/// the order of events.
fn reader_behind_writer(given: Given, birth: u64) -> (Vec<Ended>, String) {
    let scene = Scene::<WaitDie>::new(given);
    let ended = scene.play(&[
        (YOUNG, &|reader| {
            reader.read(0)?;
            reader.turn(1);
            reader.after(3);
            linger();
            Ok(())
        }),
        (MIDDLE, &writes_second),
        (birth, &|third| {
            third.turn(3);
            third.read(0).map(|_| ())
        }),
    ]);
    (ended, scene.events())
}

#[test]
fn a_young_reader_passes_a_writer_who_waits_only_where_it_may() {
    let (ended, _) = reader_behind_writer(STANDARD, 40);
    assert_eq!(ended, [COMMITS, COMMITS, DIES]);
    let (ended, events) = reader_behind_writer(BYPASS, 40);
    assert_eq!(ended, [COMMITS; 3]);
    assert_eq!(events, "40 commits, 30 commits, 20 commits");
}

#[test]
fn an_old_reader_waits_behind_a_writer_who_waits() {
    for given in [STANDARD, BYPASS] {
        let (ended, events) = reader_behind_writer(given, OLD);
        assert_eq!(ended, [COMMITS; 3]);
        assert_eq!(events, "30 commits, 20 commits, 10 commits");
    }
}

#[test]
fn of_two_readers_who_upgrade_the_older_writes() {
    the_older_upgrades::<WaitDie>(&[], Abort::LockBusy);
}

#[test]
fn a_wait_that_a_panic_ends_leaves_nothing_behind() {
    let scene = Scene::<WaitDie>::new(STANDARD);
    for is_upgrade in [false, true] {
        let play = || {
            scene.play(&[
                (YOUNG, &|txn| {
                    txn.read(0)?;
                    txn.turn(1);
                    txn.after(2);
                    panic!("planted");
                }),
                (OLD, &|txn| {
                    if is_upgrade {
                        txn.read(0)?;
                    }
                    writes_second(txn)
                }),
            ])
        };
        assert!(catch_unwind(AssertUnwindSafe(play)).is_err());
        assert_eq!(scene.play(&[(YOUNG, &|txn| txn.count(1).and_then(|()| txn.count(0)))]), [COMMITS]);
    }
    assert_eq!(scene.value(0), 2);
}

#[test]
fn an_attempt_may_lock_any_number_of_records() {
    const ROWS: u64 = 1_000;
    let mut schema = Schema::new();
    let table = schema.table("rows", Lookup::Point, ROWS as usize).group();
    let db = database::<WaitDie>(&schema, 2, 1);
    let mut session = db.session();
    let ticket = Ticket::new(1, Homes::new());
    for ending in [Err(Abort::Rollback), Ok(())] {
        let done = session.attempt(&ticket, |txn| {
            (0..ROWS)
                .try_for_each(|row| txn.insert(table, Place::new(0, row), &Cell::new(row)).map(|_| ()))?;
            ending
        });
        assert_eq!(done, ending);
    }
    let sum = db.session().attempt(&ticket, |txn| {
        (0..ROWS).try_fold(0, |sum, row| {
            Ok(sum + txn.read(table, Place::new(0, row), Cell::value)?.expect("all were inserted"))
        })
    });
    assert_eq!(sum, Ok(ROWS * (ROWS - 1) / 2));
}

#[test]
fn all_workers_make_progress_on_one_record() {
    const WORKERS: u64 = 8;
    const COUNT: u64 = 300;
    let mut schema = Schema::new();
    let table = schema.table("rows", Lookup::Point, 1).group();
    let db = database::<WaitDie>(&schema, WORKERS as usize, WORKERS as usize);
    let at = Place::new(0, 0);
    let first = Ticket::new(1, Homes::new());
    assert_eq!(db.session().attempt(&first, |txn| txn.insert(table, at, &Cell::new(0))), Ok(true));
    workers::run(WORKERS as usize, false, |_| {
        let mut session = db.session();
        for _ in 0..COUNT {
            let ticket = Ticket::new(clock::ticks(), Homes::new());
            let mut count = || {
                session.attempt(&ticket, |txn| {
                    txn.read(table, at, Cell::value)?;
                    txn.update(table, at, |cell| cell.set(cell.value() + 1))
                })
            };
            while count().is_err() {
                waiter::pause_ns(1_000);
            }
        }
    });
    let seen = db.session().attempt(&first, |txn| txn.read(table, at, Cell::value));
    assert_eq!(seen, Ok(Some(WORKERS * COUNT)));
}
