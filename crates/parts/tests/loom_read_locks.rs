//! Model of read locks that writers wait for: a holder comes before the writer's number if it saw the version before,
//! and not if it saw the writer's; no lock is given up unseen, so that the writer comes at last.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-parts --test loom_read_locks`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use parts::version_chain::ChainHead;
use parts::{NotLocked, Timestamps};
use sync::atomic::{AtomicU64, Ordering};
use sync::waiter;

/// A record, whose writer has put its version on top.
struct Shared {
    head: ChainHead,
    numbers: Timestamps,
    /// The number of that version; 0 before it has one.
    number: AtomicU64,
    /// Data that readers share and that the writer has alone, while no reader is let in. Loom's cell refuses an access
    /// that is not ordered after every conflicting one.
    data: UnsafeCell<()>,
}

impl Shared {
    fn new() -> Self {
        let (head, numbers) = (ChainHead::default(), Timestamps::new(1));
        Self { head, numbers, number: AtomicU64::new(0), data: UnsafeCell::new(()) }
    }

    /// Closes the record, draws the number and opens it.
    fn write(&self) {
        if !self.head.close() {
            waiter::wait_until(None, || self.head.is_closed());
        }
        self.data.with_mut(|_| ());
        let number = self.numbers.draw();
        self.number.store(number, Ordering::Release); // Release: as in a version's number.
        self.head.reopen();
    }

    /// Comes to its end, and gives up.
    fn write_and_abort(&self) {
        self.head.close();
        self.head.reopen();
    }

    /// Locks the record if it may: the number that it saw, and the last drawn when it gave the lock up.
    fn read(&self) -> Option<(u64, u64)> {
        if let Err(not_locked) = self.head.lock() {
            assert_eq!(not_locked, NotLocked::Closed, "nothing is retired");
            return None;
        }
        self.data.with(|_| ());
        let seen = self.number.load(Ordering::Acquire); // Acquire: as in a version's number.
        let stamp = self.numbers.last();
        self.head.unlock();
        Some((seen, stamp))
    }

    /// Whether what was read is of its stamp, once all is over.
    fn check(&self, read: Option<(u64, u64)>) {
        let number = self.number.load(Ordering::Relaxed); // Relaxed: the threads have ended.
        if let Some((seen, stamp)) = read {
            assert_eq!(
                seen != 0,
                number != 0 && stamp >= number,
                "{seen} as of {stamp}, written as {number}"
            );
        }
    }
}

#[test]
fn who_saw_the_version_before_comes_before_the_number() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared::new());
        let readers = [0, 1].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.read())
        });
        shared.write();
        for reader in readers {
            shared.check(reader.join().expect("no thread of the model panics"));
        }
        assert!(!shared.head.is_closed() && shared.head.lock().is_ok());
    });
}

#[test]
fn a_reader_may_read_again_and_the_writer_comes_in_between_or_after() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared::new());
        let writer = Arc::clone(&shared);
        let writer = thread::spawn(move || writer.write());
        let reads = [shared.read(), shared.read()];
        writer.join().expect("no thread of the model panics");
        reads.into_iter().for_each(|read| shared.check(read));
    });
}

#[test]
fn who_gives_up_leaves_the_record_open() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared::new());
        let writer = Arc::clone(&shared);
        let writer = thread::spawn(move || writer.write_and_abort());
        let read = shared.read();
        writer.join().expect("no thread of the model panics");
        shared.check(read);
        assert!(!shared.head.is_closed() && shared.head.lock().is_ok());
        shared.head.unlock();
        assert!(shared.head.close());
    });
}
