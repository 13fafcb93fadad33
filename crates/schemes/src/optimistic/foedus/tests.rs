//! Claims about FOEDUS: which attempts its locks keep waiting and which pass them, which records a retry locks
//! beforehand, and that inserts in vain leave nothing behind.

use core::cell::Cell as Flag;

use engine::setting::Settings as _;
use engine::{Abort, Attempt, Env, Homes, Lookup, Schema, Scheme, Ticket, Transaction};

use crate::optimistic::foedus::{Foedus, Settings};
use crate::tests::common::scene::{On, Scene, linger};
use crate::tests::common::{Cell, Given, Place, database, drain, values};

crate::tests::conformance!(crate::optimistic::foedus::entry::ENTRY: locking, locking_without_hints, without_a_list);

type Ended = Result<(), Abort>;
type Txn<'o, 't, 'db> = On<'o, 't, 'db, Foedus>;
const COMMITS: Ended = Ok(());
const FAILS: Ended = Err(Abort::ReadChanged);

/// Every read locks its record.
const LOCKING: Given = &[("foedus.hot_threshold", "0")];
/// The same, and a commit gives up no lock.
const TRYING: Given = &[("foedus.hot_threshold", "0"), ("foedus.force_canonical", "off")];
/// The same, and a retry has no list.
const NOBODY_WAITS: Given =
    &[("foedus.hot_threshold", "0"), ("foedus.force_canonical", "off"), ("foedus.rll", "off")];
/// Each attempt is like the first.
const NO_LIST: Given = &[("foedus.rll", "off")];

/// Two cells in both orders: which of them has the smaller address is not known.
const PAIRS: [(u64, u64); 2] = [(0, 5), (5, 0)];

#[test]
fn who_cannot_wait_passes_a_lock_and_commits_before_its_holder() {
    let mut seen = PAIRS.map(|(first, second)| {
        let scene = Scene::<Foedus>::new(LOCKING);
        let ended = scene.play(&[
            (1, &move |txn: &mut Txn<'_, '_, '_>| {
                txn.count(second)?;
                txn.turn(1);
                linger();
                Ok(())
            }),
            (2, &move |txn: &mut Txn<'_, '_, '_>| {
                txn.read(first)?;
                txn.after(1);
                let value = txn.read(second)?;
                txn.note(&format!("2 sees {value}"));
                Ok(())
            }),
        ]);
        (ended, scene.events())
    });
    seen.sort_by_key(|(_, events)| events.clone());
    let waits = (vec![COMMITS, COMMITS], "1 commits, 2 sees 1, 2 commits".to_owned());
    let passes = (vec![COMMITS, COMMITS], "2 sees 0, 2 commits, 1 commits".to_owned());
    assert_eq!(seen, [waits, passes], "in canonical order, and out of it");
}

/// Reads cell 0 in each of up to two attempts, each time while a writer comes, and writes another cell.
fn reads_under_writers(scene: &Scene<Foedus>) -> (Vec<Ended>, String) {
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
            (2, &|txn| {
                txn.turn(2);
                txn.count(0)
            }),
            (3, &|txn| {
                txn.turn(4);
                txn.count(0)
            }),
        ],
        2,
    );
    (ended, scene.events())
}

#[test]
fn a_retry_locks_what_failed_the_attempt_before_if_there_is_a_list() {
    let listed = reads_under_writers(&Scene::new(&[]));
    assert_eq!(
        listed,
        (vec![COMMITS; 3], "2 commits, 1 aborts, 1 commits, 3 commits".to_owned()),
        "the second writer waits"
    );
    let trusting = reads_under_writers(&Scene::new(NO_LIST));
    assert_eq!(
        trusting,
        (vec![FAILS, COMMITS, COMMITS], "2 commits, 1 aborts, 3 commits, 1 aborts".to_owned())
    );
}

#[test]
fn a_retry_that_comes_to_a_listed_record_locks_those_listed_before_it_too() {
    let locks_before = PAIRS.map(|(first, second)| {
        let scene = Scene::<Foedus>::new(&[]);
        let tries = Flag::new(0);
        let ended = scene.play_tries(
            &[
                (1, &|txn| {
                    let is_retry = tries.replace(tries.get() + 1) == 1;
                    if is_retry {
                        txn.read(second)?;
                        txn.turn(3);
                        txn.after(4);
                        linger();
                        txn.read(first)?;
                    } else {
                        txn.read(first)?;
                        txn.read(second)?;
                        txn.turn(1);
                        txn.after(2);
                        linger();
                    }
                    txn.count(7)
                }),
                (2, &|txn| {
                    txn.turn(2);
                    txn.count(first)?;
                    txn.count(second)
                }),
                (3, &|txn| {
                    txn.turn(4);
                    txn.count(first)
                }),
            ],
            2,
        );
        assert_eq!(ended, [COMMITS; 3]);
        scene.events() == "2 commits, 1 aborts, 1 commits, 3 commits"
    });
    assert_eq!(locks_before.iter().filter(|locks| **locks).count(), 1, "what is before it, and no more");
}

#[test]
fn a_commit_gives_up_what_is_in_the_way_of_waiting_or_aborts() {
    for (given, refused) in [(LOCKING, 0), (TRYING, 1)] {
        let ended = PAIRS.map(|(first, second)| {
            let scene = Scene::<Foedus>::new(given);
            let ended = scene.play(&[
                (1, &move |txn: &mut Txn<'_, '_, '_>| {
                    txn.read(first)?;
                    txn.after(1);
                    txn.count(second)
                }),
                (2, &move |txn: &mut Txn<'_, '_, '_>| {
                    txn.read(second)?;
                    txn.turn(1);
                    linger();
                    Ok(())
                }),
            ]);
            assert_eq!(ended[1], COMMITS, "nobody writes what it reads");
            ended[0]
        });
        assert_eq!(ended.iter().filter(|ended| **ended == Err(Abort::LockBusy)).count(), refused);
        assert_eq!(ended.iter().filter(|ended| **ended == COMMITS).count(), 2 - refused, "{ended:?}");
    }
}

#[test]
fn either_commits_wait_or_retries_do() {
    let made = |given| Foedus::new(&Settings::of(&values::<Foedus>(given)), Env { slots: 1, workers: 1 });
    let refused = made(NOBODY_WAITS);
    assert!(refused.is_err_and(|error| error.0.contains("foedus.rll=on")));
    assert!(made(TRYING).is_ok());
}

#[test]
fn locks_are_taken_on_the_way_and_nobody_waits_for_ever() {
    for (first, second) in PAIRS {
        let scene = Scene::<Foedus>::new(LOCKING);
        // Each attempt reads what the other writes.
        let ended = scene.play_tries(
            &[
                (1, &move |txn: &mut Txn<'_, '_, '_>| {
                    txn.read(first)?;
                    linger();
                    txn.count(second)
                }),
                (2, &move |txn: &mut Txn<'_, '_, '_>| {
                    txn.read(second)?;
                    linger();
                    txn.count(first)
                }),
            ],
            100,
        );
        assert_eq!(ended, [COMMITS; 2]);
    }
}

#[test]
fn what_is_inserted_in_vain_leaves_no_key_behind() {
    let mut schema = Schema::new();
    let table = schema.table("rows", Lookup::Ordered, 0).group();
    let db = database::<Foedus>(&schema, 3, 1);
    let entries = || db.memory()[0].entries;
    let (ticket, at) = (Ticket::new(1, Homes::new()), |number| Place::new(0, number));
    let (mut session, mut other) = (db.session(), db.session());
    for number in 0..100 {
        let undone = session.attempt(&ticket, |txn| {
            assert_eq!(txn.insert(table, at(number), &Cell::new(1)), Ok(true));
            Err::<(), _>(Abort::Rollback)
        });
        assert_eq!(undone, Err(Abort::Rollback));
    }
    assert_eq!(entries(), 0, "nobody else knew the records");
    // Two attempts flip the mark of one record: one after the other, and the second is told.
    let insert = |txn: &mut Attempt<'_, '_, Foedus>| txn.insert(table, at(0), &Cell::new(2));
    let lost = session.attempt(&ticket, |txn| {
        assert_eq!(txn.insert(table, at(0), &Cell::new(1)), Ok(true));
        assert_eq!(other.attempt(&ticket, insert), Ok(true), "the record that the first has reserved");
        Ok(())
    });
    assert_eq!(lost, Err(Abort::WriteConflict));
    assert_eq!(session.attempt(&ticket, |txn| txn.read(table, at(0), Cell::value)), Ok(Some(2)));
    // An attempt keeps what it found missing until after the key has come and gone.
    let missed = session.attempt(&ticket, |txn| {
        let deleted = |txn: &mut Attempt<'_, '_, Foedus>| txn.delete(table, at(0));
        assert_eq!(txn.read(table, at(0), Cell::value), Ok(Some(2)));
        assert_eq!(other.attempt(&ticket, deleted), Ok(true));
        Ok(())
    });
    assert_eq!(missed, FAILS);
    drain(&db);
    assert_eq!(entries(), 0, "deleted records leave, too");
    assert_eq!(session.attempt(&ticket, insert), Ok(true));
    assert_eq!(entries(), 1);
}
