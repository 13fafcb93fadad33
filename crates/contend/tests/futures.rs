//! Transactions of async code, under a runtime of a few lines: it polls, and sleeps until it is woken.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Wake;

use contend::{Begun, Database, Error, Handle, Options, Table};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, waiter};

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
