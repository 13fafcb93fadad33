//! Model of the lock queue: an exclusive owner is alone and sees what the owners before it did, whoever waits is
//! granted the lock or takes its request back, and when all have gone the word is free.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-parts --test loom_lock_queue`
#![cfg(loom)]

use engine::Retire;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use parts::{Fifo, Left, LockMode, LockQueues, LockWord, Refused, RequestId};
use sync::atomic::{AtomicU64, Ordering};

/// A record, what its lock protects, and the slots that want it.
struct Shared {
    queues: LockQueues,
    word: LockWord,
    /// Loom's cell refuses an access that is not ordered after every conflicting one.
    data: UnsafeCell<()>,
    /// How often it was written. All accesses are Relaxed: whatever order there is comes from the lock.
    writes: AtomicU64,
}

impl Shared {
    fn new() -> Self {
        Self {
            queues: LockQueues::new(3),
            word: LockWord::default(),
            data: UnsafeCell::new(()),
            writes: AtomicU64::new(0),
        }
    }

    fn id(slot: u32) -> RequestId {
        RequestId::new(slot, 0).expect("there is room for one")
    }

    fn lock(&self, slot: u32, mode: LockMode) {
        let asked = self.queues.ask(&self.word, Self::id(slot), 0, mode, &mut Fifo);
        if let Some(waiting) = asked.expect("nobody is refused") {
            assert!(waiting.until(None, || false) && waiting.end());
        }
    }

    fn release(&self, slot: u32, left: Left) {
        self.queues.release(&self.word, Self::id(slot), left);
    }

    fn write(&self) {
        self.data.with_mut(|_| ());
        self.writes.store(self.writes.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.data.with(|_| ());
        self.writes.load(Ordering::Relaxed)
    }

    /// Takes the lock alone, and leaves a value.
    fn write_alone(&self, slot: u32) {
        self.lock(slot, LockMode::Exclusive);
        assert_eq!(self.read() > 0, self.word.has_value(), "what was left is known with the lock");
        self.write();
        self.release(slot, Left::WithValue);
    }

    /// Takes the lock with others.
    fn look(&self, slot: u32) {
        self.lock(slot, LockMode::Shared);
        let seen = self.read();
        assert_eq!(seen > 0, self.word.has_value(), "what was left is known with the lock");
        assert_eq!(self.read(), seen);
        self.release(slot, Left::AsItWas);
    }

    /// Takes the lock with others and then alone, unless another one is about to.
    fn look_and_write(&self, slot: u32) {
        self.lock(slot, LockMode::Shared);
        let seen = self.read();
        let left = match self.queues.upgrade(&self.word, Self::id(slot), &mut Fifo) {
            Ok(waiting) => {
                assert!(waiting.is_none_or(|waiting| waiting.until(None, || false) && waiting.end()));
                assert_eq!(self.read(), seen, "nobody comes between");
                self.write();
                Left::WithValue
            }
            Err(refused) => {
                assert_eq!(refused, Refused::Upgrading);
                Left::AsItWas
            }
        };
        self.release(slot, left);
    }

    /// Asks for the lock alone, and does not wait for it.
    fn try_to_write(&self, slot: u32) {
        let asked = self.queues.ask(&self.word, Self::id(slot), 0, LockMode::Exclusive, &mut Fifo);
        if asked.expect("nobody is refused").is_none_or(parts::Waiting::end) {
            self.write();
            self.release(slot, Left::WithValue);
        }
    }

    /// When all have gone, so many have written, and the record is free.
    fn check(&self, written: u64) {
        assert_eq!(self.read(), written);
        self.lock(0, LockMode::Exclusive);
        self.release(0, Left::WithoutValue);
        assert_eq!(self.word.retire(), Retire::Done, "a free word is as it was");
    }
}

/// Runs the threads in every way with up to `preemptions` preemptions, and `afterwards` when they have ended.
fn model<const N: usize>(preemptions: usize, threads: [fn(&Shared); N], afterwards: fn(&Shared)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 100_000;
    model.check(move || {
        let shared = Arc::new(Shared::new());
        let others: Vec<_> = (1..N)
            .map(|other| {
                let (shared, run) = (Arc::clone(&shared), threads[other]);
                thread::spawn(move || run(&shared))
            })
            .collect();
        threads[0](&shared);
        for other in others {
            other.join().expect("no thread of the model panics");
        }
        afterwards(&shared);
    });
}

#[test]
fn two_writers_are_never_together() {
    model(
        3,
        [
            |shared| {
                shared.write_alone(0);
                shared.write_alone(0);
            },
            |shared| shared.write_alone(1),
        ],
        |shared| shared.check(3),
    );
}

#[test]
fn a_writer_between_readers_is_alone() {
    model(2, [|shared| shared.look(0), |shared| shared.write_alone(1), |shared| shared.look(2)], |shared| {
        shared.check(1)
    });
}

#[test]
fn of_two_readers_who_upgrade_one_or_both_in_turn_write() {
    model(3, [|shared| shared.look_and_write(0), |shared| shared.look_and_write(1)], |shared| {
        let written = shared.read();
        assert!((1..=2).contains(&written));
        shared.check(written);
    });
}

#[test]
fn an_upgrade_waits_for_readers_and_comes_before_writers() {
    model(
        1,
        [|shared| shared.look_and_write(0), |shared| shared.look(1), |shared| shared.write_alone(2)],
        |shared| shared.check(2),
    );
}

#[test]
fn a_request_that_is_taken_back_holds_up_nobody() {
    model(2, [|shared| shared.look(0), |shared| shared.try_to_write(1), |shared| shared.look(2)], |shared| {
        shared.check(shared.read())
    });
}
