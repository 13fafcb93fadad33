//! Model of the barrier: what was done before it is seen behind it, phase after phase.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-sync --test loom_barrier`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use sync::{Barrier, Broken};

struct Shared {
    barrier: Barrier,
    value: UnsafeCell<u64>,
}

// SAFETY: in each phase one thread alone touches the value; the barrier separates the phases.
unsafe impl Sync for Shared {}

/// In phase `n` thread `n % 2` writes. Returns how often the caller led.
fn take_turns(shared: &Shared, own: u64, phases: u64) -> u64 {
    (0..phases).fold(0, |led, phase| {
        if phase % 2 == own {
            // SAFETY: it is this thread's phase; loom's cell refuses accesses that are not ordered.
            shared.value.with_mut(|value| unsafe { *value += 1 });
        }
        led + u64::from(shared.barrier.wait().expect("nobody leaves"))
    })
}

#[test]
fn phases_are_ordered_and_each_has_one_leader() {
    const PHASES: u64 = 3;
    loom::model(|| {
        let shared = Arc::new(Shared { barrier: Barrier::new(2), value: UnsafeCell::new(0) });
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || take_turns(&shared, 1, PHASES))
        };
        let led = take_turns(&shared, 0, PHASES);
        assert_eq!(led + other.join().expect("the other thread does not panic"), PHASES);
        // SAFETY: the other thread has ended.
        shared.value.with(|value| assert_eq!(unsafe { *value }, PHASES));
    });
}

#[test]
fn who_leaves_after_a_meeting_keeps_nobody_waiting_and_undoes_no_meeting() {
    loom::model(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                assert!(barrier.wait().is_ok());
                barrier.leave();
            })
        };
        assert!(barrier.wait().is_ok(), "all have arrived");
        assert_eq!(barrier.wait(), Err(Broken));
        other.join().expect("the other thread does not panic");
    });
}
