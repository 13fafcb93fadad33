//! Model of the commit epoch: an epoch that is over holds no commit that is still under way, of two commits
//! that read what the other writes one fails, and the order of epochs is an order of commits.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-parts --test loom_commit_epoch`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use parts::CommitEpoch;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Epochs that a model may reach, counted from 0, which is none.
const EPOCHS: usize = 8;

/// A commit epoch whose time is always over, and the traces of commits.
struct Shared {
    epoch: CommitEpoch,
    /// Data that the commits of each epoch install. Loom's cell refuses an access that is not ordered after every
    /// conflicting one.
    installed: [UnsafeCell<()>; EPOCHS],
    /// By slot: the lock on the record that the slot writes.
    locks: [AtomicBool; 2],
    /// By slot: the epoch of a commit that has been validated; 0 while there is none.
    committed: [AtomicU64; 2],
}

impl Shared {
    fn new() -> Self {
        Self {
            epoch: CommitEpoch::new(0, 2),
            installed: core::array::from_fn(|_| UnsafeCell::new(())),
            locks: core::array::from_fn(|_| AtomicBool::new(false)),
            committed: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn advance(&self, times: usize) {
        for _ in 0..times {
            self.epoch.advance();
        }
    }

    /// A commit that meets nobody. Loom takes no step at a fence, and orders only accesses that meet: the lock
    /// and the look at it in [`look_back`](Self::look_back) let others run between the entry and the fence,
    /// the validation separates the fence from the install.
    fn install(&self, slot: usize) {
        self.epoch.enter(slot);
        self.locks[slot].store(true, Ordering::Relaxed);
        let epoch = self.epoch.now();
        let _ = self.locks[1 - slot].load(Ordering::Relaxed);
        self.installed[epoch as usize].with_mut(|_| ());
        self.epoch.leave(slot);
    }

    /// Looks at what all epochs have installed that are over. Loom lets the fences of `now` acquire also what
    /// the one who advanced has only read: that `advance` acquires it first is beyond this model.
    fn look_back(&self) {
        let _ = self.locks[0].load(Ordering::Relaxed);
        let now = self.epoch.now() as usize;
        for over in &self.installed[..now.saturating_sub(1)] {
            over.with(|_| ());
        }
    }

    /// A commit that writes its slot's record and has read the other's before anyone wrote it: it locks, draws
    /// its epoch and validates. It keeps its lock, as if the install took for ever. All accesses are Relaxed:
    /// whatever order there is comes from the epoch.
    fn commit_against_the_other(&self, slot: usize) {
        self.epoch.enter(slot);
        self.locks[slot].store(true, Ordering::Relaxed);
        let epoch = self.epoch.now();
        if !self.locks[1 - slot].load(Ordering::Relaxed) {
            self.committed[slot].store(epoch, Ordering::Relaxed);
        }
        self.epoch.leave(slot);
    }

    /// A commit that only writes its slot's record.
    fn commit_blindly(&self, slot: usize) {
        self.epoch.enter(slot);
        self.locks[slot].store(true, Ordering::Relaxed);
        self.committed[slot].store(self.epoch.now(), Ordering::Relaxed);
        self.epoch.leave(slot);
    }

    /// The epoch of the slot's commit, if it did commit.
    fn committed(&self, slot: usize) -> Option<u64> {
        Some(self.committed[slot].load(Ordering::Relaxed)).filter(|epoch| *epoch != 0)
    }
}

/// Runs the threads in every way with up to `preemptions` preemptions, and `afterwards` when they have ended.
///
/// Loom remembers only the last load of a word, so a store that follows it in the same thread is not seen to
/// race with a load of another thread before. Each thread therefore has its turn to be first.
fn model<const N: usize>(preemptions: usize, threads: [fn(&Shared); N], afterwards: fn(&Shared)) {
    for first in 0..N {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let shared = Arc::new(Shared::new());
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
            afterwards(&shared);
        });
    }
}

#[test]
fn an_epoch_that_is_over_holds_no_commit_under_way() {
    model(
        2,
        [
            |shared| shared.install(0),
            |shared| {
                shared.advance(3);
                shared.look_back();
            },
        ],
        |shared| {
            let before = shared.epoch.now();
            shared.advance(2);
            assert_eq!(shared.epoch.now(), before + 2, "nobody commits, and the epoch is still held up");
        },
    );
}

#[test]
fn who_hears_that_an_epoch_is_over_sees_all_that_it_installed() {
    model(3, [|shared| shared.install(0), |shared| shared.advance(2), Shared::look_back], |_| ());
}

#[test]
fn an_epoch_that_is_over_holds_no_commit_though_its_slot_commits_again() {
    model(
        3,
        [
            |shared| {
                shared.install(0);
                shared.install(0);
            },
            |shared| {
                shared.advance(2);
                shared.look_back();
            },
        ],
        |_| (),
    );
}

#[test]
fn of_two_commits_that_read_what_the_other_writes_one_fails() {
    model(
        3,
        [|shared| shared.commit_against_the_other(0), |shared| shared.commit_against_the_other(1)],
        |shared| {
            assert!(shared.committed(0).is_none() || shared.committed(1).is_none());
        },
    );
}

#[test]
fn who_did_not_see_a_writer_commits_in_no_later_epoch() {
    model(
        3,
        [
            |shared| shared.commit_against_the_other(0),
            |shared| shared.commit_blindly(1),
            |shared| shared.advance(1),
        ],
        |shared| {
            assert!(shared.committed(0) <= shared.committed(1), "the reader's epoch is after the writer's");
        },
    );
}
