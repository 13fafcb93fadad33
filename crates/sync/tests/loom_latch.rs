//! Model of the latch: at most one holder, and each sees what the one before it wrote.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-sync --test loom_latch`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use sync::Latch;

struct Counter {
    latch: Latch,
    value: UnsafeCell<u64>,
}

impl Counter {
    fn new() -> Arc<Self> {
        Arc::new(Self { latch: Latch::new(), value: UnsafeCell::new(0) })
    }

    fn add(&self) {
        let _guard = self.latch.lock();
        // SAFETY: the latch is held; that this suffices is what the model proves, because loom's cell
        // refuses two accesses that are not ordered.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    fn try_add(&self) -> bool {
        let guard = self.latch.try_lock();
        if guard.is_some() {
            // SAFETY: as above.
            self.value.with_mut(|value| unsafe { *value += 1 });
        }
        guard.is_some()
    }

    /// The sum, after all other threads have ended.
    fn value(&self) -> u64 {
        // SAFETY: nobody else is left.
        self.value.with(|value| unsafe { *value })
    }
}

// SAFETY: the value is only touched under the latch.
unsafe impl Sync for Counter {}

fn spawn<T: 'static>(
    counter: &Arc<Counter>,
    f: impl FnOnce(&Counter) -> T + 'static,
) -> thread::JoinHandle<T> {
    let counter = Arc::clone(counter);
    thread::spawn(move || f(&counter))
}

fn end<T>(thread: thread::JoinHandle<T>) -> T {
    thread.join().expect("no thread of the model panics")
}

#[test]
fn no_addition_of_two_threads_is_lost() {
    loom::model(|| {
        let counter = Counter::new();
        let add_twice = |counter: &Counter| {
            counter.add();
            counter.add();
        };
        let other = spawn(&counter, add_twice);
        add_twice(&counter);
        end(other);
        assert_eq!(counter.value(), 4);
    });
}

/// Only one of the three waits: two that wait yield to each other for ever in some interleaving.
#[test]
fn no_addition_of_three_threads_is_lost() {
    loom::model(|| {
        let counter = Counter::new();
        let tries = [spawn(&counter, Counter::try_add), spawn(&counter, Counter::try_add)];
        counter.add();
        let added: u64 = tries.map(end).into_iter().map(u64::from).sum();
        assert_eq!(counter.value(), 1 + added);
    });
}

#[test]
fn a_try_succeeds_after_the_holder_has_left() {
    loom::model(|| {
        let counter = Counter::new();
        end(spawn(&counter, Counter::add));
        assert!(counter.try_add());
    });
}
