//! Claims about Bamboo: which writes are shown before the commit, which attempts commit after
//! which, and which abort with which.

use core::cell::Cell as Flag;

use engine::{Abort, Homes, Lookup, Schema, Ticket, Transaction};
use sync::{fiber, waiter};

use crate::locking::bamboo::Bamboo;
use crate::tests::common::crossing::all_workers_make_progress;
use crate::tests::common::scene::{On, Scene, linger, the_older_upgrades};
use crate::tests::common::{Cell, Given, Place, database_with};

crate::tests::conformance!(crate::locking::bamboo::entry::ENTRY: showing_all, showing_nothing, without_hints);

/// The birth gives an attempt its rank, in all tests but those about ranks that are drawn.
const BY_BIRTH: (&str, &str) = ("bamboo.dynamic_attempts", "0");

/// Bamboo without its early release of locks.
const NOTHING_SHOWN: Given = &[BY_BIRTH, ("bamboo.retire", "off")];

/// Bamboo in its plain form: every write is shown, no reader is put before others, and wounds are not waited out.
const ALL_SHOWN: Given =
    &[BY_BIRTH, ("bamboo.delta_pct", "0"), ("bamboo.read_preimage", "off"), ("bamboo.respect_us", "0")];

/// Transactions by birth: the oldest first.
const OLD: u64 = 10;
const MIDDLE: u64 = 20;
const YOUNG: u64 = 30;

const STANDARD: Given = &[BY_BIRTH];
/// Writes are shown, and an older reader wounds the writer that shows one.
const NOBODY_PASSED: Given = &[BY_BIRTH, ("bamboo.read_preimage", "off")];
/// Writes are shown up to the end, or in the first half of a transaction.
const TO_THE_END: Given = &[BY_BIRTH, ("bamboo.delta_pct", "0")];
const HALF: Given = &[BY_BIRTH, ("bamboo.delta_pct", "50")];
/// The first attempt of a transaction draws its rank at the first conflict, and the second has that of the birth.
const ONE_DRAWS: Given = &[("bamboo.dynamic_attempts", "1"), ("bamboo.respect_us", "0")];

/// A test's stack frames are wide.
const STACK_BYTES: usize = 4 * fiber::STACK_BYTES;

type Ended = Result<(), Abort>;
const COMMITS: Ended = Ok(());
const WOUNDED: Ended = Err(Abort::Wounded);
const CASCADE: Ended = Err(Abort::Cascade);

type Txn<'o, 't, 'db> = On<'o, 't, 'db, Bamboo>;

/// Writes cell 0 in turn 1 and goes on to another cell, which shows the write.
fn shows(txn: &mut Txn<'_, '_, '_>) -> Ended {
    txn.count(0)?;
    txn.read(7)?;
    txn.turn(1);
    Ok(())
}

#[test]
fn two_who_write_a_hot_record_first_overlap_and_commit_in_order() {
    for (given, events) in [
        (STANDARD, "30 has it, 10 goes on, 10 commits, 30 commits"),
        (ALL_SHOWN, "30 has it, 10 goes on, 10 commits, 30 commits"),
        (NOTHING_SHOWN, "10 goes on, 10 commits, 30 has it, 30 commits"),
    ] {
        let scene = Scene::<Bamboo>::new(given);
        let ended = scene.play(&[
            (OLD, &|old| {
                shows(old)?;
                old.after(2);
                linger();
                old.note("10 goes on");
                Ok(())
            }),
            (YOUNG, &|young| {
                young.turn(2);
                young.count(0)?;
                young.note("30 has it");
                Ok(())
            }),
        ]);
        assert_eq!(ended, [COMMITS, COMMITS]);
        assert_eq!(scene.events(), events, "under {given:?}");
        assert_eq!(scene.value(0), 2);
    }
}

#[test]
fn a_rollback_takes_along_all_who_have_built_on_it() {
    let scene = Scene::<Bamboo>::new(STANDARD);
    let follows = |turn| {
        move |txn: &mut Txn<'_, '_, '_>| {
            txn.turn(turn);
            assert_eq!(txn.read(0), Ok(u64::from(turn) - 1), "what was shown before is seen");
            txn.count(0)?;
            txn.read(6)?;
            txn.turn(turn + 1);
            Ok(())
        }
    };
    let ended = scene.play(&[
        (OLD, &|old| {
            shows(old)?;
            old.after(5);
            linger();
            Err(Abort::Rollback)
        }),
        (MIDDLE, &follows(2)),
        (YOUNG, &|young| {
            young.turn(4);
            assert_eq!(young.read(0), Ok(2));
            young.turn(5);
            Ok(())
        }),
    ]);
    assert_eq!(ended, [Err(Abort::Rollback), CASCADE, CASCADE]);
    assert_eq!(scene.value(0), 0);
}

#[test]
fn who_was_taken_along_commits_when_it_tries_again() {
    let scene = Scene::<Bamboo>::new(STANDARD);
    let is_first = Flag::new(true);
    let ended = scene.play_tries(
        &[
            (OLD, &|old| {
                shows(old)?;
                old.after(2);
                linger();
                if is_first.replace(false) { Err(Abort::Rollback) } else { Ok(()) }
            }),
            (YOUNG, &|young| {
                young.turn(2);
                young.count(0)
            }),
        ],
        2,
    );
    assert_eq!(ended, [COMMITS, COMMITS]);
    assert_eq!(scene.value(0), 2);
}

#[test]
fn who_waits_for_others_to_commit_is_wounded_there() {
    let scene = Scene::<Bamboo>::new(STANDARD);
    let ended = scene.play(&[
        (MIDDLE, &|middle| {
            shows(middle)?;
            middle.after(3);
            linger();
            Ok(())
        }),
        (YOUNG, &|young| {
            young.turn(2);
            young.count(2)?;
            young.count(0)
        }),
        (OLD, &|old| {
            old.turn(3);
            old.count(2)
        }),
    ]);
    assert_eq!(ended, [COMMITS, WOUNDED, COMMITS]);
    assert_eq!((scene.value(0), scene.value(2)), (1, 1));
}

#[test]
fn who_writes_first_and_is_younger_is_wounded_and_not_waited_for() {
    let scene = Scene::<Bamboo>::new(STANDARD);
    let ended = scene.play(&[
        (YOUNG, &|young| {
            shows(young)?;
            young.after(2);
            linger();
            young.note("30 goes on");
            young.count(1)
        }),
        (OLD, &|old| {
            old.turn(2);
            old.count(0)?;
            old.note("10 has it");
            assert_eq!(old.read(0), Ok(1), "what the younger wrote is gone");
            Ok(())
        }),
    ]);
    assert_eq!(ended, [WOUNDED, COMMITS]);
    assert_eq!(scene.events(), "10 has it, 10 commits, 30 goes on, 30 aborts");
    assert_eq!((scene.value(0), scene.value(1)), (1, 0));
}

#[test]
fn an_older_reader_reads_what_was_there_before_a_younger_writer_who_commits_after_it() {
    for (given, writer, events) in [
        (STANDARD, COMMITS, "10 goes on, 10 commits, 30 commits"),
        (NOBODY_PASSED, WOUNDED, "30 aborts, 10 goes on, 10 commits"),
    ] {
        let scene = Scene::<Bamboo>::new(given);
        let ended = scene.play(&[
            (YOUNG, &|young| {
                shows(young)?;
                young.after(2);
                Ok(())
            }),
            (OLD, &|old| {
                old.turn(2);
                assert_eq!(old.read(0), Ok(0));
                linger();
                assert_eq!(old.read(0), Ok(0), "it stays what was read");
                old.note("10 goes on");
                Ok(())
            }),
        ]);
        assert_eq!(ended, [writer, COMMITS], "under {given:?}");
        assert_eq!(scene.events(), events, "under {given:?}");
    }
}

#[test]
fn whoever_has_seen_a_value_that_its_writer_overwrites_aborts() {
    let scene = Scene::<Bamboo>::new(STANDARD);
    let ended = scene.play(&[
        (OLD, &|old| {
            shows(old)?;
            old.after(2);
            linger();
            old.count(0)
        }),
        (YOUNG, &|young| {
            young.turn(2);
            assert_eq!(young.read(0), Ok(1));
            Ok(())
        }),
    ]);
    assert_eq!(ended, [COMMITS, CASCADE]);
    assert_eq!(scene.value(0), 2, "the second write builds on the first");
}

#[test]
fn of_two_readers_who_upgrade_the_older_writes() {
    the_older_upgrades::<Bamboo>(STANDARD, Abort::Wounded);
}

#[test]
fn who_comes_first_to_the_first_conflict_is_older_whatever_the_births() {
    let scene = Scene::<Bamboo>::new(ONE_DRAWS);
    let ended = scene.play(&[
        (YOUNG, &|young| {
            shows(young)?;
            young.after(2);
            linger();
            young.count(1)
        }),
        (OLD, &|old| {
            old.turn(2);
            old.count(0)?;
            assert_eq!(old.read(0), Ok(2), "it builds on what the younger has shown");
            Ok(())
        }),
    ]);
    assert_eq!(ended, [COMMITS, COMMITS]);
    assert_eq!(scene.events(), "30 commits, 10 commits");
}

#[test]
fn readers_draw_their_ranks_before_the_writer_who_meets_them() {
    let scene = Scene::<Bamboo>::new(ONE_DRAWS);
    let reads = |turn| {
        move |txn: &mut Txn<'_, '_, '_>| {
            txn.turn(turn);
            assert_eq!(txn.read(0), Ok(0));
            txn.after(4);
            linger();
            assert_eq!(txn.read(0), Ok(0));
            Ok(())
        }
    };
    let writes: &dyn Fn(&mut Txn<'_, '_, '_>) -> Ended = &|txn| {
        txn.turn(3);
        txn.count(0)?;
        txn.turn(4);
        Ok(())
    };
    let ended = scene.play(&[(MIDDLE, &reads(1)), (YOUNG, &reads(2)), (OLD, writes)]);
    assert_eq!(ended, [COMMITS; 3], "nobody is wounded");
    assert!(scene.events().ends_with(", 10 commits"), "the writer waits for the readers");
}

#[test]
fn who_has_a_rank_already_wounds_who_has_none() {
    let scene = Scene::<Bamboo>::new(ONE_DRAWS);
    let ended = scene.play(&[
        (OLD, &|first| {
            shows(first)?;
            first.after(4);
            Ok(())
        }),
        (MIDDLE, &|second| {
            second.turn(2);
            second.count(0)?;
            second.turn(4);
            second.count(2)
        }),
        (YOUNG, &|third| {
            third.turn(3);
            third.count(2)?;
            third.read(6)?;
            third.after(4);
            linger();
            third.count(3)
        }),
    ]);
    assert_eq!(ended, [COMMITS, COMMITS, WOUNDED]);
    assert_eq!((scene.value(2), scene.value(3)), (1, 0));
}

#[test]
fn after_attempts_that_drew_their_ranks_the_oldest_wounds_all() {
    let scene = Scene::<Bamboo>::new(ONE_DRAWS);
    let is_first = Flag::new(true);
    let ended = scene.play_tries(
        &[
            (YOUNG, &|young| {
                shows(young)?;
                young.after(2);
                linger();
                young.count(1)
            }),
            (OLD, &|old| {
                old.after(1);
                if is_first.replace(false) {
                    return Err(Abort::Rollback);
                }
                old.turn(2);
                old.count(0)
            }),
        ],
        2,
    );
    assert_eq!(ended, [COMMITS, COMMITS]);
    assert_eq!(scene.events(), "10 aborts, 10 commits, 30 aborts, 30 commits");
}

#[test]
fn near_its_usual_end_an_attempt_shows_nothing_unless_it_is_to_show_all() {
    const ROWS: u64 = 7;
    let mut schema = Schema::new();
    let table = schema.table("cells", Lookup::Point, 8).group();
    let at = |number| Place::new(0, number);
    // The last write is beyond the usual end.
    for (given, written, shown) in [(HALF, 2, None), (TO_THE_END, 2, Some(1)), (TO_THE_END, 5, Some(1))] {
        let db = database_with::<Bamboo>(&schema, 2, 1, given);
        let (has_written, seen, seen_meanwhile) = (Flag::new(false), Flag::new(None), Flag::new(None));
        let inserted = db.session().attempt(&Ticket::new(1, Homes::new()), |txn| {
            (0..ROWS).try_for_each(|number| txn.insert(table, at(number), &Cell::new(0)).map(drop))
        });
        assert_eq!(inserted, COMMITS);
        let mut crew = fiber::Crew::new();
        crew.spawn(STACK_BYTES, || {
            let mut session = db.session();
            let usual = session.attempt(&Ticket::new(1, Homes::new()), |txn| {
                (0..4).try_for_each(|number| txn.read(table, at(number), |_| ()).map(drop))
            });
            let done = session.attempt(&Ticket::new(2, Homes::new()), |txn| {
                (0..written).try_for_each(|number| txn.read(table, at(number), |_| ()).map(drop))?;
                txn.update(table, at(written), |cell| cell.set(1))?;
                txn.read(table, at(written + 1), |_| ())?;
                has_written.set(true);
                linger();
                seen_meanwhile.set(seen.get());
                Ok(())
            });
            assert_eq!([usual, done], [COMMITS; 2]);
        });
        crew.spawn(STACK_BYTES, || {
            let mut session = db.session();
            waiter::wait_until(None, || has_written.get());
            let done = session.attempt(&Ticket::new(3, Homes::new()), |txn| {
                seen.set(txn.read(table, at(written), Cell::value)?);
                Ok(())
            });
            assert_eq!(done, COMMITS);
        });
        crew.run();
        assert_eq!((seen_meanwhile.get(), seen.get()), (shown, Some(1)), "{written} under {given:?}");
    }
}

#[test]
fn all_workers_make_progress_on_two_records() {
    for given in [STANDARD, ALL_SHOWN, NOTHING_SHOWN] {
        all_workers_make_progress::<Bamboo>(given);
    }
}
