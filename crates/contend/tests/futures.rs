//! Transactions of async code, under a runtime of a few lines, which polls, and sleeps until it is woken.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Wake;

use contend::{Begun, Database, Error, Handle, Options, Table};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, waiter, workers};

#[derive(Table)]
struct Count {
    #[key]
    id: u32,
    count: u64,
}

fn counts(options: Options) -> (Database, Handle<Count>) {
    let db = Database::in_memory(options.table::<Count>()).expect("legal options");
    let counts = db.table::<Count>().expect("it was declared");
    db.transact(|txn| txn.insert(counts, &Count { id: 1, count: 0 })).expect("it commits");
    (db, counts)
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release); // Release: pairs with the Acquire in `block_on`.
    }
}

fn block_on<R>(future: impl Future<Output = R>) -> R {
    let mut future = pin!(future);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    loop {
        if let Poll::Ready(ready) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return ready;
        }
        // Acquire: pairs with the Release in `wake`.
        waiter::wait_until(None, || woken.0.swap(false, Ordering::Acquire));
    }
}

fn add(db: &Database, counts: Handle<Count>) -> Begun<Result<Option<u64>, Error>> {
    db.begin(move |txn| {
        txn.update(counts, 1, |row| {
            row.count += 1;
            row.count
        })
    })
}

#[test]
fn what_is_begun_ends_whether_it_is_awaited_at_once_or_later() {
    let (db, counts) = counts(Options::new());
    assert_eq!(block_on(add(&db, counts)).unwrap(), Some(1));
    let begun: Vec<_> = (0..100).map(|_| add(&db, counts)).collect();
    let mut ended: Vec<u64> = begun.into_iter().map(|it| block_on(it).unwrap().unwrap()).collect();
    ended.sort_unstable();
    assert!(ended.into_iter().eq(2..=101), "each was executed once");
}

#[test]
fn a_snapshot_can_be_begun_and_be_of_the_past() {
    let (db, counts) = counts(Options::new().set("silo.snapshots", "on"));
    let is_there = block_on(db.begin_snapshot(move |txn| txn.contains(counts, 1)));
    assert!(is_there.is_ok());
    assert_eq!(db.counters().commits, 2, "and is counted");
    let ended = block_on(db.try_begin_snapshot(move |txn| match txn.get(counts, 2)? {
        None => Err(Box::<dyn std::error::Error + Send + Sync>::from("none")),
        Some(row) => Ok(row.count),
    }));
    assert_eq!(ended.expect_err("there is none").to_string(), "none");
}

#[test]
fn whoever_polls_does_not_wait_for_a_transaction_that_does() {
    let (db, counts) = counts(Options::new());
    let is_open = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&is_open);
    let mut begun = pin!(db.begin(move |txn| {
        // Acquire: pairs with the Release below.
        waiter::wait_until(None, || gate.load(Ordering::Acquire));
        txn.contains(counts, 1)
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(begun.as_mut().poll(&mut context).is_pending());
    is_open.store(true, Ordering::Release); // Release: pairs with the Acquire above.
    assert!(block_on(begun).unwrap());
}

#[test]
fn a_panic_and_an_error_reach_whoever_awaits() {
    let (db, counts) = counts(Options::new());
    let begun = db.begin(move |txn| {
        txn.delete(counts, 1)?;
        if txn.contains(counts, 1)? { Ok(()) } else { panic!("planted") }
    });
    let panicked = catch_unwind(AssertUnwindSafe(|| block_on(begun)));
    assert_eq!(panicked.expect_err("a panic").downcast_ref::<&str>(), Some(&"planted"));
    let ended = block_on(db.begin(|_| Err::<(), _>(Error::rollback("no"))));
    assert!(matches!(ended, Err(Error::RolledBack(_))));
    assert_eq!(block_on(add(&db, counts)).unwrap(), Some(1), "the helpers go on");
    db.close().unwrap();
    assert!(matches!(block_on(add(&db, counts)), Err(Error::Closed)));
}

#[test]
fn more_than_may_wait_is_refused_and_what_nobody_awaits_is_not_executed() {
    let (db, counts) = counts(Options::new().helpers(1).waiting(2));
    let (is_open, is_there) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (gate, there) = (Arc::clone(&is_open), Arc::clone(&is_there));
    let first = db.begin(move |txn| {
        there.store(true, Ordering::Release); // Release: pairs with the Acquire below.
        waiter::wait_until(None, || gate.load(Ordering::Acquire)); // Acquire: pairs with the Release below.
        txn.contains(counts, 1)
    });
    waiter::wait_until(None, || is_there.load(Ordering::Acquire)); // Acquire: see above.
    let executed = Arc::new(AtomicU64::new(0));
    let begin = || {
        let executed = Arc::clone(&executed);
        db.begin(move |txn| {
            executed.fetch_add(1, Ordering::Relaxed); // Relaxed: the end of the transaction orders it.
            txn.contains(counts, 1)
        })
    };
    let (second, third, refused) = (begin(), begin(), begin());
    assert!(matches!(block_on(refused), Err(Error::Overloaded { waiting: 2 })));
    drop(second);
    is_open.store(true, Ordering::Release); // Release: see above.
    assert!(block_on(first).unwrap() && block_on(third).unwrap());
    assert_eq!((executed.load(Ordering::Relaxed), db.counters().overload_refusals), (1, 1)); // Relaxed: as above.
}

/// An event that happens once, and that threads wait for.
#[derive(Clone, Default)]
struct Flag(Arc<AtomicBool>);

impl Flag {
    fn raise(&self) {
        self.0.store(true, Ordering::Release); // Release: pairs with the Acquire in `is_raised`.
    }

    fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire) // Acquire: pairs with the Release in `raise`.
    }

    fn wait(&self) {
        waiter::wait_until(None, || self.is_raised());
    }
}

/// Begins a transaction that meets a conflict in each attempt until `ends` is raised: another thread writes a row that
/// the transaction has read. Before its first attempt ends, it waits until `go` is raised. It counts its attempts, and
/// leaves row 2.
fn conflicting(
    db: &Database,
    counts: Handle<Count>,
    [go, ends]: [&Flag; 2],
    attempts: &Arc<AtomicU64>,
) -> Begun<Result<bool, Error>> {
    let (own, go, ends, attempts) = (db.clone(), go.clone(), ends.clone(), Arc::clone(attempts));
    db.begin(move |txn| {
        attempts.fetch_add(1, Ordering::Relaxed); // Relaxed: the end of the transaction orders it.
        go.wait();
        let count = txn.get(counts, 1)?.map_or(0, |row| row.count);
        if !ends.is_raised() {
            let other = |_| own.transact(|txn| txn.update(counts, 1, |row| row.count += 1));
            assert!(workers::run(1, false, other).pop().expect("one")?.is_some());
        }
        txn.put(counts, &Count { id: 2, count })
    })
}

#[test]
fn who_has_conflicted_waits_behind_the_others() {
    let (db, counts) = counts(Options::new().helpers(1).attempts(50));
    let (is_queued, ends, attempts) = (Flag::default(), Flag::default(), Arc::default());
    let first = conflicting(&db, counts, [&is_queued, &ends], &attempts);
    // It ends when the transaction behind it in the queue has been executed, and in no earlier attempt.
    let others: Vec<_> = (0..5)
        .map(|_| {
            let ends = ends.clone();
            db.begin(move |txn| {
                ends.raise();
                txn.contains(counts, 1)
            })
        })
        .collect();
    is_queued.raise();
    assert!(others.into_iter().all(|other| block_on(other).unwrap()));
    assert!(block_on(first).unwrap(), "the row is new");
    assert_eq!(attempts.load(Ordering::Relaxed), 2, "one before them, and one after"); // Relaxed: as above.
    assert_eq!(db.counters().contended, 0);
}

#[test]
fn attempts_are_counted_across_the_queue_and_keep_nobody_up() {
    let (db, counts) = counts(Options::new().helpers(1).attempts(5).waiting(2));
    let (is_queued, never, attempts) = (Flag::default(), Flag::default(), Arc::default());
    let first = conflicting(&db, counts, [&is_queued, &never], &attempts);
    waiter::wait_until(None, || attempts.load(Ordering::Relaxed) > 0); // Relaxed: as above.
    // As many as may wait: a transaction that returns to the queue is not refused.
    let (second, third) = (db.begin(move |txn| txn.contains(counts, 1)), add(&db, counts));
    is_queued.raise();
    assert!(block_on(second).unwrap() && block_on(third).unwrap().is_some());
    let ended = block_on(first);
    assert!(matches!(ended, Err(Error::Contended { attempts: 5, .. })), "{ended:?}");
    assert_eq!(attempts.load(Ordering::Relaxed), 5); // Relaxed: as above.
    assert!(!db.transact(|txn| txn.contains(counts, 2)).unwrap(), "nothing of it stays");
}

#[test]
fn what_was_begun_is_executed_to_its_end_though_nobody_asks_any_more() {
    let (db, counts) = counts(Options::new().helpers(1));
    let (is_queued, ends, attempts) = (Flag::default(), Flag::default(), Arc::default());
    let first = conflicting(&db, counts, [&is_queued, &ends], &attempts);
    waiter::wait_until(None, || attempts.load(Ordering::Relaxed) > 0); // Relaxed: as above.
    let (raised, may_go) = (ends.clone(), Flag::default());
    let (is_there, go) = (Flag::default(), may_go.clone());
    let there = is_there.clone();
    let second = db.begin(move |txn| {
        there.raise();
        go.wait();
        raised.raise();
        txn.contains(counts, 1)
    });
    is_queued.raise();
    is_there.wait();
    drop(first);
    may_go.raise();
    assert!(block_on(second).unwrap());
    assert!(
        block_on(db.begin(move |txn| txn.contains(counts, 2))).unwrap(),
        "it was before this one in the queue"
    );
}

#[test]
fn a_database_that_is_closed_refuses_who_waits_for_another_attempt() {
    let (db, counts) = counts(Options::new().helpers(1));
    let (is_queued, never, attempts) = (Flag::default(), Flag::default(), Arc::default());
    let first = conflicting(&db, counts, [&is_queued, &never], &attempts);
    let (is_there, may_go) = (Flag::default(), Flag::default());
    let (there, go) = (is_there.clone(), may_go.clone());
    let second = db.begin(move |txn| {
        there.raise();
        go.wait();
        txn.contains(counts, 1)
    });
    is_queued.raise();
    is_there.wait();
    workers::run(2, false, |worker| {
        if worker == 0 {
            return db.close().unwrap();
        }
        let is_refused = || matches!(db.transact(|txn| txn.contains(counts, 1)), Err(Error::Closed));
        waiter::wait_until(None, is_refused);
        may_go.raise();
    });
    assert!(block_on(second).unwrap(), "it was under way");
    assert!(matches!(block_on(first), Err(Error::Closed)));
}
