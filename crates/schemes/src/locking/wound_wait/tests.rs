//! Claims about `WOUND_WAIT`, by age: who waits, who is wounded, and that everybody has a turn.

use engine::Abort;

use crate::locking::wound_wait::WoundWait;
use crate::tests::common::Given;
use crate::tests::common::crossing::all_workers_make_progress;
use crate::tests::common::scene::{On, Scene, linger, the_older_upgrades};

crate::tests::conformance!(crate::locking::wound_wait::entry::ENTRY: without_hints);

/// Transactions by birth: the oldest first.
const OLD: u64 = 10;
const MIDDLE: u64 = 20;
const YOUNG: u64 = 30;

const STANDARD: Given = &[];
const NO_RESPECT: Given = &[("wound_wait.respect_us", "0")];

type Ended = Result<(), Abort>;
const COMMITS: Ended = Ok(());
const WOUNDED: Ended = Err(Abort::Wounded);

type Txn<'o, 't, 'db> = On<'o, 't, 'db, WoundWait>;

/// Writes cell 0 in turn 1, lets others ask for it in turn 2, and goes on to cell 1.
fn writes_first(txn: &mut Txn<'_, '_, '_>) -> Ended {
    txn.count(0)?;
    txn.turn(1);
    txn.after(2);
    linger();
    txn.count(1)
}

/// Asks for cell 0 in turn 2.
fn writes_second(txn: &mut Txn<'_, '_, '_>) -> Ended {
    txn.turn(2);
    txn.count(0)
}

#[test]
fn the_older_wounds_the_younger_who_aborts_when_it_goes_on() {
    let scene = Scene::<WoundWait>::new(STANDARD);
    assert_eq!(scene.play(&[(YOUNG, &writes_first), (OLD, &writes_second)]), [WOUNDED, COMMITS]);
    assert_eq!(scene.events(), "30 aborts, 10 commits", "the older waits until the lock is given up");
    assert_eq!((scene.value(0), scene.value(1)), (1, 0));
}

#[test]
fn the_younger_waits_for_the_older() {
    let scene = Scene::<WoundWait>::new(STANDARD);
    assert_eq!(scene.play(&[(OLD, &writes_first), (YOUNG, &writes_second)]), [COMMITS, COMMITS]);
    assert_eq!(scene.events(), "10 commits, 30 commits");
    assert_eq!((scene.value(0), scene.value(1)), (2, 1));
}

#[test]
fn who_is_wounded_does_not_commit_though_it_has_all_that_it_wants() {
    let scene = Scene::<WoundWait>::new(STANDARD);
    let ended = scene.play(&[
        (YOUNG, &|young| {
            young.read(0)?;
            young.turn(1);
            young.after(2);
            linger();
            Ok(())
        }),
        (OLD, &writes_second),
    ]);
    assert_eq!(ended, [WOUNDED, COMMITS]);
}

#[test]
fn who_waits_is_wounded_where_it_waits() {
    let scene = Scene::<WoundWait>::new(STANDARD);
    let ended = scene.play(&[
        (MIDDLE, &|middle| {
            middle.count(1)?;
            middle.turn(1);
            middle.after(3);
            linger();
            middle.note("20 goes on");
            Ok(())
        }),
        (YOUNG, &|young| {
            young.turn(2);
            young.count(0)?;
            young.count(1)
        }),
        (OLD, &|old| {
            old.turn(3);
            old.count(0)
        }),
    ]);
    assert_eq!(ended, [COMMITS, WOUNDED, COMMITS]);
    assert_eq!(scene.events(), "30 aborts, 10 commits, 20 goes on, 20 commits");
}

#[test]
fn waiters_are_served_from_the_oldest_to_the_youngest() {
    let scene = Scene::<WoundWait>::new(STANDARD);
    let in_turn = |turn| {
        move |txn: &mut Txn<'_, '_, '_>| {
            txn.turn(turn);
            txn.count(0)
        }
    };
    let ended = scene.play(&[
        (1, &|owner| {
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
    assert_eq!(scene.events(), "1 commits, 10 commits, 20 commits, 30 commits");
}

#[test]
fn of_two_readers_who_upgrade_the_older_writes() {
    the_older_upgrades::<WoundWait>(STANDARD, Abort::Wounded);
}

#[test]
fn who_was_wounded_begins_again_when_the_other_has_ended() {
    for (given, events) in [
        (STANDARD, "begins, 30 aborts, 10 commits, begins, 30 commits"),
        (NO_RESPECT, "begins, 30 aborts, begins, 10 commits, 30 commits"),
    ] {
        let scene = Scene::<WoundWait>::new(given);
        let ended = scene.play_tries(
            &[
                (YOUNG, &|young| {
                    young.note("begins");
                    young.count(0)?;
                    young.turn(1);
                    young.after(2);
                    linger();
                    young.read(1).map(|_| ())
                }),
                (OLD, &|old| {
                    writes_second(old)?;
                    linger();
                    Ok(())
                }),
            ],
            2,
        );
        assert_eq!(ended, [COMMITS, COMMITS]);
        assert_eq!(scene.events(), events);
        assert_eq!(scene.value(0), 2);
    }
}

#[test]
fn all_workers_make_progress_on_two_records() {
    all_workers_make_progress::<WoundWait>(STANDARD);
}
