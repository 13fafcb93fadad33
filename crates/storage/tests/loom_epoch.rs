//! Model of epoch-based reclamation: memory is not used again under an attempt that found it, and all
//! unlinked memory is used again in the end.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-storage --test loom_epoch`
#![cfg(loom)]

// The kernel and what it uses are private to their crate: the model compiles the same files once more.
#[path = "../src/epoch.rs"]
#[allow(dead_code, reason = "a model needs no number of a seat")]
mod epoch;
#[path = "../src/part.rs"]
mod part;

use epoch::{Epochs, Participant};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A block of memory that is linked at first, and the epochs that guard it. Its own words are Relaxed
/// throughout: whatever order there is comes from the epochs.
struct Shared {
    epochs: Epochs,
    is_linked: AtomicBool,
    /// The epoch at which the block was unlinked; 0 before.
    unlinked_at: AtomicU64,
    /// Loom's cell refuses an access that is not ordered after every conflicting one.
    block: UnsafeCell<()>,
    /// Whether the seat of the first participant is free again.
    is_handed_over: AtomicBool,
}

impl Shared {
    fn new(seats: usize) -> Self {
        Self {
            epochs: Epochs::new(seats),
            is_linked: AtomicBool::new(true),
            unlinked_at: AtomicU64::new(0),
            block: UnsafeCell::new(()),
            is_handed_over: AtomicBool::new(false),
        }
    }

    /// An attempt that looks at the block if it finds it.
    fn attempt(&self, participant: &mut Participant<'_>) {
        participant.pin();
        if self.is_linked.load(Ordering::Relaxed) {
            self.block.with(|_| ());
        }
        participant.unpin();
    }

    fn unlink(&self) {
        self.is_linked.store(false, Ordering::Relaxed);
        self.unlinked_at.store(self.epochs.stamp(), Ordering::Relaxed);
    }

    /// Uses the block again if its epoch is past.
    fn use_again(&self) -> bool {
        let unlinked_at = self.unlinked_at.load(Ordering::Relaxed);
        let may = unlinked_at != 0 && self.epochs.is_past(unlinked_at);
        if may {
            self.block.with_mut(|_| ());
        }
        may
    }

    fn advance(&self, times: usize) {
        for _ in 0..times {
            self.epochs.try_advance(0);
        }
    }

    /// The work of a thread that unlinks the block and uses it again, if it may, by its own advances.
    fn unlink_and_use_again(&self) {
        self.unlink();
        self.advance(2);
        self.use_again();
    }
}

/// Runs the threads in every way with up to `preemptions` preemptions, and then checks that the block is
/// free to be used when everyone has unpinned.
///
/// Loom remembers only the last load of a word, so a store that follows it in the same thread is not seen to
/// race with a load of another thread before. Each thread therefore has its turn to be first.
fn model<const N: usize>(seats: usize, preemptions: usize, threads: [fn(&Shared); N]) {
    for first in 0..N {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let shared = Arc::new(Shared::new(seats));
            let others: Vec<_> = (1..N)
                .map(|other| {
                    let (shared, run) = (Arc::clone(&shared), threads[(first + other) % N]);
                    thread::spawn(move || run(&shared))
                })
                .collect();
            threads[first](&shared);
            for other in others {
                other.join().expect("no thread of the model panics");
            }
            shared.advance(2);
            assert!(shared.use_again(), "nobody is pinned, and the block is still held up");
        });
    }
}

#[test]
fn nothing_is_used_again_under_an_attempt_that_found_it() {
    model(1, 3, [|shared| shared.attempt(&mut shared.epochs.join()), Shared::unlink_and_use_again]);
}

#[test]
fn an_attempt_that_pins_a_bygone_epoch_is_waited_for() {
    model(
        1,
        3,
        [
            |shared| shared.attempt(&mut shared.epochs.join()),
            |shared| {
                shared.advance(2);
                shared.unlink_and_use_again();
            },
        ],
    );
}

#[test]
fn an_attempt_is_waited_for_though_its_participant_has_pinned_again() {
    model(
        1,
        3,
        [
            |shared| {
                let mut participant = shared.epochs.join();
                shared.attempt(&mut participant);
                shared.attempt(&mut participant);
            },
            Shared::unlink_and_use_again,
        ],
    );
}

#[test]
fn an_attempt_is_waited_for_though_its_seat_is_another_participants() {
    model(
        1,
        2,
        [
            |shared| {
                shared.attempt(&mut shared.epochs.join());
                shared.is_handed_over.store(true, Ordering::Relaxed);
            },
            |shared| {
                if shared.is_handed_over.load(Ordering::Relaxed) {
                    shared.attempt(&mut shared.epochs.join());
                }
            },
            Shared::unlink_and_use_again,
        ],
    );
}

#[test]
fn who_uses_again_what_others_unlinked_and_advanced_over_comes_after_every_attempt() {
    model(
        1,
        2,
        [
            |shared| shared.attempt(&mut shared.epochs.join()),
            |shared| {
                shared.unlink();
                shared.advance(1);
            },
            |shared| {
                shared.advance(2);
                shared.use_again();
            },
        ],
    );
}

#[test]
fn two_attempts_are_both_waited_for() {
    model(
        2,
        2,
        [
            |shared| shared.attempt(&mut shared.epochs.join()),
            |shared| shared.attempt(&mut shared.epochs.join()),
            Shared::unlink_and_use_again,
        ],
    );
}
