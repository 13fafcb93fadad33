//! Devices that fail under an open database: the errors of each caller, the operations that still work, and the state
//! afterwards.

mod gate;
mod place;

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use contend::{Advice, CheckpointError, Database, Durability, Error, Handle, LogError, Options, Table};
use durability::disk::{Fault, SimulatedDisk};
use gate::{BROKEN, Gate, OPEN, SHUT};
use place::Place;
use stdx::Rng;
use sync::{waiter, workers};

#[derive(Clone, Debug, PartialEq, Table)]
struct Count {
    #[key]
    id: u64,
    count: u64,
}

fn open(disk: &SimulatedDisk, options: Options) -> (Database, Handle<Count>) {
    let db = Database::open_in(disk.directory(0), options.table::<Count>()).expect("it opens");
    let counts = db.table().expect("it was declared");
    (db, counts)
}

fn insert(db: &Database, counts: Handle<Count>, id: u64) -> Result<bool, Error> {
    db.transact(|txn| txn.insert(counts, &Count { id, count: 1 }))
}

fn ids(db: &Database, counts: Handle<Count>) -> Vec<u64> {
    db.snapshot(|txn| txn.scan(counts, ..).map(|count| Ok(count?.id)).collect()).expect("reads go on")
}

fn finished<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut output = None;
    waiter::wait_until(None, || {
        if let Poll::Ready(ready) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            output = Some(ready);
        }
        output.is_some()
    });
    output.expect("it was waited for")
}

#[test]
fn when_a_device_fails_writers_are_told_and_readers_go_on() {
    for (seed, fault, step) in [
        (1, Fault::Full, 1),
        (2, Fault::Fails, 1),
        (3, Fault::Fails, 2),
        (4, Fault::Full, 4),
        (5, Fault::Fails, 5),
    ] {
        let disk = SimulatedDisk::new(seed);
        let (db, counts) = open(&disk, Options::new());
        assert!(insert(&db, counts, 0).expect("the disk works"));
        disk.fault_at(disk.steps() + step, fault);
        let (mut acknowledged, mut id) = (vec![0], 0);
        let error = loop {
            id += 1;
            match insert(&db, counts, id) {
                Ok(_) => acknowledged.push(id),
                Err(error) => break error,
            }
        };
        let Error::NotDurable(failure) = &error else { panic!("{error}") };
        match fault {
            Fault::Full => assert!(matches!(**failure, LogError::Full { .. }), "{failure}"),
            _ => assert!(matches!(**failure, LogError::Write { .. } | LogError::Sync { .. }), "{failure}"),
        }
        assert_eq!(error.advice(), Advice::Reopen);
        assert!(error.to_string().contains("unknown"), "{error}");
        // From now on no transaction is executed that would not be durable.
        let refused = insert(&db, counts, 99).expect_err("it would not last");
        assert!(matches!(&refused, Error::Log(again) if again == failure), "{refused}");
        assert_eq!(refused.advice(), Advice::Reopen);
        let refused = finished(db.begin(move |txn| txn.insert(counts, &Count { id: 99, count: 1 })));
        assert!(matches!(refused, Err(Error::Log(_))));
        assert!(matches!(db.checkpoint(), Err(Error::Log(_))));
        let in_memory: Vec<u64> = (0..=id).collect();
        assert_eq!(ids(&db, counts), in_memory, "readers see what has committed in memory");
        assert_eq!(db.counters().log_failure.as_ref(), Some(&**failure));
        assert!(matches!(db.close(), Err(Error::Log(_))));
        db.close().expect("it is closed");
        drop(db);
        disk.restart();
        let (db, counts) = open(&disk, Options::new());
        let found = ids(&db, counts);
        assert!(
            found.starts_with(&acknowledged) && in_memory.starts_with(&found),
            "{found:?} of {acknowledged:?}"
        );
        insert(&db, counts, 1_000).expect("it goes on");
    }
}

#[test]
fn who_does_not_wait_hears_of_a_failure_with_the_next_transaction() {
    let disk = SimulatedDisk::new(1);
    let (db, counts) = open(&disk, Options::new().durability(Durability::Async));
    disk.fault_at(disk.steps() + 2, Fault::Fails);
    let error = (0..).find_map(|id| insert(&db, counts, id).err()).expect("some time");
    assert!(matches!(error, Error::Log(_) | Error::NotDurable(_)), "{error}");
    assert!(matches!(insert(&db, counts, 0), Err(Error::Log(_))));
    assert!(matches!(db.close(), Err(Error::Log(_))));
}

#[test]
fn what_was_acknowledged_is_there_when_the_power_has_gone() {
    let small = || Options::new().checkpoint_bytes(30_000);
    let mut checkpoints = 0;
    for seed in 0..60 {
        let disk = SimulatedDisk::new(seed);
        let mut rng = Rng::from_path(&[seed]);
        let mut acknowledged = [0_u64; 2];
        // Twice, so that the recovered state is recovered again.
        for boot in 0..2 {
            let (db, counts) = open(&disk, small());
            disk.cut_at(disk.steps() + 1 + rng.below(150));
            let counted = workers::run(2, false, |worker| {
                let mut count = acknowledged[worker];
                while insert(&db, counts, worker as u64 * 1_000 + count).is_ok() {
                    count += 1;
                }
                count
            });
            acknowledged = [counted[0], counted[1]];
            checkpoints += db.counters().checkpoints;
            drop(db);
            disk.restart();
            let (db, counts) = open(&disk, small());
            let found = ids(&db, counts);
            for (worker, acknowledged) in acknowledged.iter_mut().enumerate() {
                let first = worker as u64 * 1_000;
                let theirs: Vec<_> = found.iter().copied().filter(|id| id / 1_000 == worker as u64).collect();
                let len = theirs.len() as u64;
                assert_eq!(theirs, (first..first + len).collect::<Vec<_>>(), "seed {seed}, boot {boot}");
                assert!(len >= *acknowledged, "seed {seed}, boot {boot}: {len} of {acknowledged}");
                // One more commit may be there, which was not acknowledged.
                *acknowledged = len;
            }
        }
    }
    assert!(checkpoints > 0, "some are cut while they are made");
}

#[test]
fn who_waits_for_the_device_keeps_no_seat_and_no_helper() {
    let (gate, directory) = Gate::new();
    let options = Options::new().table::<Count>().sessions(1).helpers(1);
    let db = Database::open_in(directory, options).expect("it opens");
    let counts = db.table::<Count>().expect("it was declared");
    gate.set(SHUT);
    let begun: Vec<_> =
        (10..20).map(|id| db.begin(move |txn| txn.insert(counts, &Count { id, count: 1 }))).collect();
    workers::run(5, false, |worker| {
        if worker > 0 {
            assert!(insert(&db, counts, worker as u64).expect("the disk works"));
            return;
        }
        waiter::wait_until(None, || db.counters().awaiting_durability == 14);
        assert_eq!(db.counters().log_rounds, 0, "none is durable");
        gate.set(OPEN);
    });
    for future in begun {
        assert!(finished(future).expect("the disk works"));
    }
    assert_eq!(db.counters().awaiting_durability, 0);
}

#[test]
fn a_backup_has_what_had_committed_before_it_and_is_not_durable_yet() {
    let copy = Place::new("not_durable_yet");
    let (gate, directory) = Gate::new();
    let options = || Options::new().table::<Count>().durability(Durability::Async);
    let db = Database::open_in(directory, options()).expect("it opens");
    let counts = db.table::<Count>().expect("it was declared");
    gate.set(SHUT);
    insert(&db, counts, 1).expect("nobody waits");
    // The log is writing the first commit to the device when the second commits, behind it.
    waiter::wait_until(None, || gate.is_awaited());
    insert(&db, counts, 2).expect("nobody waits");
    workers::run(2, false, |worker| {
        if worker == 0 {
            // So that the call usually comes first; the assertions hold in any order.
            waiter::pause_ns(20_000_000);
            gate.set(OPEN);
        } else {
            db.backup(copy.path()).expect("the disk works");
        }
    });
    let copied = Database::open(copy.path(), options()).expect("it opens");
    assert_eq!(ids(&copied, copied.table().expect("it was declared")), [1, 2]);
}

#[test]
fn who_has_written_nothing_has_what_it_wanted_when_the_log_fails_meanwhile() {
    let (gate, directory) = Gate::new();
    let db = Database::open_in(directory, Options::new().table::<Count>()).expect("it opens");
    let counts = db.table::<Count>().expect("it was declared");
    insert(&db, counts, 0).expect("the disk works");
    gate.set(SHUT);
    let begun = db.begin(move |txn| txn.insert(counts, &Count { id: 1, count: 1 }));
    workers::run(4, false, |worker| match worker {
        0 => {
            waiter::wait_until(None, || db.counters().awaiting_durability == 4);
            gate.set(BROKEN);
        }
        1 => assert!(is_unknown(insert(&db, counts, 2))),
        // Both may have seen a commit that is not durable yet, and wait for it.
        2 => {
            waiter::wait_until(None, || db.counters().commits >= 3);
            assert_eq!(ids(&db, counts), [0, 1, 2]);
        }
        _ => {
            waiter::wait_until(None, || db.counters().commits >= 3);
            let ended =
                db.transact(|txn| Err::<(), _>(Error::rollback(txn.contains(counts, 1)?.to_string())));
            assert!(matches!(ended, Err(Error::RolledBack(reason)) if reason.to_string() == "true"));
        }
    });
    assert!(is_unknown(finished(begun)));
}

/// Whether an error is the error after a failed sync.
fn is_unknown(ended: Result<bool, Error>) -> bool {
    matches!(ended, Err(Error::NotDurable(failure)) if matches!(*failure, LogError::Sync { .. }))
}

#[test]
fn a_checkpoint_that_fails_is_told_of_and_loses_nothing() {
    let mut failed = 0;
    for step in 1..60 {
        let disk = SimulatedDisk::new(step);
        let (db, counts) = open(&disk, Options::new());
        (0..20).for_each(|id| assert!(insert(&db, counts, id).expect("the disk works")));
        disk.fault_at(disk.steps() + step, Fault::Fails);
        let made = db.checkpoint();
        let counters = db.counters();
        match &made {
            Ok(()) => assert_eq!((counters.checkpoints, counters.checkpoint_failures), (1, 0)),
            Err(Error::Checkpoint(error)) => {
                assert!(matches!(**error, CheckpointError::Write { .. }), "step {step}: {error}");
                failed += 1;
                assert_eq!((counters.checkpoints, counters.checkpoint_failures), (0, 1));
                assert_eq!(counters.checkpoint_failure.as_ref(), Some(&**error));
                insert(&db, counts, 20).expect("the log goes on");
                db.checkpoint().expect("and is tried again");
                assert_eq!(db.counters().checkpoint_failure, None);
            }
            Err(Error::Log(_)) => assert!(counters.log_failure.is_some()),
            Err(error) => panic!("step {step}: {error}"),
        }
        _ = db.close();
        drop(db);
        disk.restart();
        let (db, counts) = open(&disk, Options::new());
        assert!(ids(&db, counts).len() >= 20, "step {step}");
    }
    assert!(failed > 10, "most steps write parts");
}

#[test]
fn futures_are_complete_when_they_are_durable() {
    let disk = SimulatedDisk::new(1);
    let (db, counts) = open(&disk, Options::new().helpers(1));
    let begun: Vec<_> =
        (0..200).map(|id| db.begin(move |txn| txn.insert(counts, &Count { id, count: 1 }))).collect();
    for future in begun {
        assert!(finished(future).expect("the disk works"));
    }
    assert_eq!((db.counters().awaiting_durability, db.counters().commits), (0, 200));
    // All acknowledged commits are there if the power fails now.
    disk.cut_at(disk.steps() + 1);
    assert!(insert(&db, counts, 999).is_err());
    drop(db);
    disk.restart();
    let (db, counts) = open(&disk, Options::new());
    assert!(ids(&db, counts).starts_with(&(0..200).collect::<Vec<_>>()));
}
