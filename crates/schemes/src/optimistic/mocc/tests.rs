//! Claims about MOCC: which records it locks beforehand, and that its locks keep others waiting,
//! but nobody for ever.

use core::cell::Cell as Flag;

use engine::{Abort, Scheme};
use sync::workers;

use crate::optimistic::mocc::Mocc;
use crate::tests::common::scene::{On, Scene, linger};
use crate::tests::common::{Given, LOCKING};

crate::tests::conformance!(crate::optimistic::mocc::entry::ENTRY: locking, locking_without_hints);

type Ended = Result<(), Abort>;
type Txn<'o, 't, 'db> = On<'o, 't, 'db, Mocc>;
const COMMITS: Ended = Ok(());
const FAILS: Ended = Err(Abort::ReadChanged);

/// One failure is enough to make a record hot.
const SOON_HOT: Given = &[("mocc.hot", "1"), ("mocc.epoch_ms", "1"), ("mocc.era_epochs", "1")];
/// No record is ever hot.
const NEVER_HOT: Given = &[("mocc.hot", "21")];

/// Reads cell 0 in turn 1, and lets another attempt take turn 2 and all the time that it wants.
fn reads(txn: &mut Txn<'_, '_, '_>) -> Ended {
    txn.read(0)?;
    txn.turn(1);
    txn.after(2);
    linger();
    txn.count(1)
}

/// Writes cell 0 in turn 2.
fn writes(txn: &mut Txn<'_, '_, '_>) -> Ended {
    txn.turn(2);
    txn.count(0)
}

/// The end of the reader, if a writer comes after its read.
fn read_and_written(scene: &Scene<Mocc>) -> (Vec<Ended>, String) {
    (scene.play(&[(1, &reads), (2, &writes)]), scene.events())
}

#[test]
fn what_is_cold_is_taken_on_trust_and_what_is_read_under_a_lock_stays() {
    let cold = read_and_written(&Scene::new(NEVER_HOT));
    assert_eq!(cold, (vec![FAILS, COMMITS], "2 commits, 1 aborts".to_owned()));
    let locked = read_and_written(&Scene::new(LOCKING));
    assert_eq!(locked, (vec![COMMITS, COMMITS], "1 commits, 2 commits".to_owned()));
}

#[test]
fn a_record_is_hot_once_it_was_in_the_way_and_cools_down_in_the_next_era() {
    let scene = Scene::<Mocc>::new(SOON_HOT);
    let (cold, hot) = (vec![FAILS, COMMITS], vec![COMMITS, COMMITS]);
    // An era may end in between.
    let heats = (0..100).any(|_| read_and_written(&scene).0 == cold && read_and_written(&scene).0 == hot);
    assert!(heats, "the second reader locks it");
    let cools = (0..1_000_000).any(|_| {
        scene.db.scheme().maintain(0);
        workers::yield_now();
        read_and_written(&scene).0 == cold
    });
    assert!(cools, "an era is a millisecond");
}

/// The end of one that reads cell 0 in order to write it, if a writer comes in between.
fn updated_and_written(scene: &Scene<Mocc>) -> (Vec<Ended>, String) {
    let updates = |txn: &mut Txn<'_, '_, '_>| {
        txn.count(0)?;
        txn.turn(1);
        txn.after(2);
        linger();
        Ok(())
    };
    (scene.play(&[(1, &updates), (2, &writes)]), scene.events())
}

#[test]
fn what_is_hot_and_read_to_be_written_is_locked_exclusively_at_once() {
    let cold = updated_and_written(&Scene::new(NEVER_HOT));
    assert_eq!(cold, (vec![Err(Abort::WriteConflict), COMMITS], "2 commits, 1 aborts".to_owned()));
    let locked = updated_and_written(&Scene::new(LOCKING));
    assert_eq!(locked, (vec![COMMITS, COMMITS], "1 commits, 2 commits".to_owned()));
    // An era may end in between.
    let scene = Scene::<Mocc>::new(SOON_HOT);
    let heats = (0..100)
        .any(|_| updated_and_written(&scene).0 == cold.0 && updated_and_written(&scene).0 == locked.0);
    assert!(heats, "the failure of an update heats its record");
}

#[test]
fn a_retry_locks_what_failed_the_attempt_before() {
    let scene = Scene::<Mocc>::new(NEVER_HOT);
    let tries = Flag::new(0);
    let ended = scene.play_tries(
        &[
            (1, &|txn| {
                let turn = 2 * tries.replace(tries.get() + 1);
                txn.read(0)?;
                txn.turn(turn + 1);
                txn.after(turn + 2);
                linger();
                txn.count(1)
            }),
            (2, &writes),
            (3, &|txn| {
                txn.turn(4);
                txn.count(0)
            }),
        ],
        2,
    );
    assert_eq!(ended, [COMMITS; 3]);
    assert_eq!(scene.events(), "2 commits, 1 aborts, 1 commits, 3 commits");
}

#[test]
fn locks_in_the_way_of_waiting_are_given_up_and_nobody_waits_for_ever() {
    let scene = Scene::<Mocc>::new(LOCKING);
    // Each reads what the other writes, the cells in either order.
    for (first, second) in [(0, 1), (1, 0)] {
        let ended = scene.play(&[
            (1, &move |txn: &mut Txn<'_, '_, '_>| {
                txn.read(first)?;
                txn.turn(1);
                txn.after(2);
                txn.count(second)
            }),
            (2, &move |txn: &mut Txn<'_, '_, '_>| {
                txn.read(second)?;
                txn.turn(2);
                txn.count(first)
            }),
        ]);
        assert!(ended.contains(&COMMITS) && ended.contains(&FAILS), "{ended:?}");
    }
}
