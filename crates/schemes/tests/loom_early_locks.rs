//! Model of the locks that are released early: whoever commits after what it has seen was committed, whoever has seen
//! what was taken back aborts, each semaphore comes to zero once, and when all have gone the word is free.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-schemes --test loom_early_locks`
#![cfg(loom)]

use engine::{Abort, Retire};
use loom::sync::Arc;
use loom::thread;
use parts::{Left, LockMode, LockWord, Party, RequestId};
use schemes::locking::bamboo::early_locks::{EarlyLocks, Held};
use sync::atomic::{AtomicU64, Ordering};
use sync::waiter;

/// A record whose versions are counted, and the slots that want it. All accesses to the counts are Relaxed, for
/// whatever order there is comes from the lock, but those of a version that is shown and looked at without the latch:
/// as in storage, these are Release and Acquire.
struct Shared {
    locks: EarlyLocks,
    word: LockWord,
    /// Versions on the chain, and those that are committed.
    shown: AtomicU64,
    committed: AtomicU64,
}

type Ended = Result<(), Abort>;

impl Shared {
    fn new() -> Self {
        let (shown, committed) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { locks: EarlyLocks::new(3), word: LockWord::default(), shown, committed }
    }

    fn id(slot: u32) -> RequestId {
        RequestId::new(slot, 0).expect("there is room for one")
    }

    fn cut(&self, held: &mut Held<'_>) {
        let cut = held.take_cut() as u64;
        self.shown.store(self.shown.load(Ordering::Relaxed) - cut, Ordering::Relaxed);
    }

    /// Begins an attempt whose slot is its age.
    fn begin(&self, slot: u32) {
        let birth = u64::from(slot) + 1;
        self.locks.fates().begin(Party { rank: birth, slot }, birth);
    }

    /// Begins an attempt that draws its rank when it meets another.
    fn begin_unranked(&self, slot: u32) {
        self.locks.fates().begin(Party { rank: 0, slot }, u64::from(slot) + 1);
    }

    /// Locks the record, and says how many versions are seen.
    fn lock(&self, slot: u32, mode: LockMode) -> Result<u64, Abort> {
        if self.locks.is_taken(&self.word, Self::id(slot), mode) {
            return self.see_alone(slot);
        }
        self.locks.ready(Self::id(slot));
        let mut held = self.locks.hold(&self.word);
        let is_granted = held.ask(Self::id(slot), mode, true).expect("it has not left");
        self.cut(&mut held);
        if !is_granted {
            drop(held);
            let look = || self.locks.fates().look(slot);
            waiter::wait_until(None, || !self.locks.is_waiting(Self::id(slot)) || look().is_err());
            look()?;
            held = self.locks.hold(&self.word);
            if held.is_out(Self::id(slot)) {
                return Err(Abort::Wounded);
            }
        }
        Ok(self.shown.load(Ordering::Relaxed) - held.level(Self::id(slot)) as u64)
    }

    /// How many versions are seen of a record that nobody else had.
    fn see_alone(&self, slot: u32) -> Result<u64, Abort> {
        let shown = self.shown.load(Ordering::Acquire);
        if shown == self.committed.load(Ordering::Relaxed) {
            return Ok(shown);
        }
        let held = self.locks.hold(&self.word);
        if held.is_out(Self::id(slot)) {
            return Err(Abort::Wounded);
        }
        Ok(self.shown.load(Ordering::Relaxed) - held.level(Self::id(slot)) as u64)
    }

    /// Shows a version.
    fn retire(&self, slot: u32) -> Ended {
        let mut held = self.locks.hold(&self.word);
        if held.is_out(Self::id(slot)) {
            return Err(Abort::Wounded);
        }
        self.shown.store(self.shown.load(Ordering::Relaxed) + 1, Ordering::Release);
        held.retire(Self::id(slot));
        Ok(())
    }

    /// Waits for those before, and commits.
    fn decide(&self, slot: u32) -> Ended {
        let fates = self.locks.fates();
        loop {
            waiter::wait_until(None, || fates.has_semaphore_at_zero(slot) || fates.look(slot).is_err());
            if fates.close(slot)? {
                return fates.decide(slot);
            }
        }
    }

    /// An attempt that reads.
    fn reads(&self, slot: u32) -> Ended {
        self.begin(slot);
        self.reads_begun(slot)
    }

    fn reads_begun(&self, slot: u32) -> Ended {
        let ended = self.lock(slot, LockMode::Shared).and_then(|seen| {
            self.decide(slot)?;
            assert_eq!(self.committed.load(Ordering::Relaxed), seen, "what was seen is what was committed");
            Ok(())
        });
        if !self.locks.is_left(&self.word, Self::id(slot)) {
            return self.end(slot, ended, Left::AsItWas);
        }
        ended
    }

    /// An attempt that shows what it writes, and commits or rolls back.
    fn writes(&self, slot: u32, commits: bool) -> Ended {
        self.begin(slot);
        self.writes_begun(slot, commits)
    }

    fn writes_begun(&self, slot: u32, commits: bool) -> Ended {
        let ended = self.lock(slot, LockMode::Exclusive).and_then(|seen| {
            self.retire(slot)?;
            if !commits {
                return Err(Abort::Rollback);
            }
            self.decide(slot)?;
            assert_eq!(self.committed.load(Ordering::Relaxed), seen, "what was seen is what was committed");
            self.committed.store(seen + 1, Ordering::Relaxed);
            Ok(())
        });
        self.end(slot, ended, Left::WithValue)
    }

    fn end(&self, slot: u32, ended: Ended, left: Left) -> Ended {
        let mut held = self.locks.hold(&self.word);
        held.release(Self::id(slot), ended.is_ok().then_some(left));
        self.cut(&mut held);
        drop(held);
        assert!(self.locks.fates().has_semaphore_at_zero(slot), "who has gone waits for nobody");
        ended
    }

    /// When all have gone, what is there is what was committed, and the record is free.
    fn check(&self) {
        assert_eq!(self.shown.load(Ordering::Relaxed), self.committed.load(Ordering::Relaxed));
        let is_free = if self.committed.load(Ordering::Relaxed) > 0 { Retire::Alive } else { Retire::Done };
        assert_eq!(self.word.retire(), is_free, "a free word is as it was");
    }
}

/// Runs the threads in every way with up to `preemptions` preemptions.
fn model<const N: usize>(preemptions: usize, threads: [fn(&Shared); N]) {
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
        shared.check();
    });
}

#[test]
fn two_writers_commit_in_the_order_of_their_versions() {
    model(2, [|shared| assert_eq!(shared.writes(0, true), Ok(())), |shared| _ = shared.writes(1, true)]);
}

/// Whoever comes to the record later is younger, so nobody is wounded.
#[test]
fn two_who_draw_their_ranks_at_the_record_both_commit() {
    fn writes(shared: &Shared, slot: u32) {
        shared.begin_unranked(slot);
        assert_eq!(shared.writes_begun(slot, true), Ok(()));
    }
    fn reads(shared: &Shared, slot: u32) {
        shared.begin_unranked(slot);
        assert_eq!(shared.reads_begun(slot), Ok(()));
    }
    model(2, [|shared| writes(shared, 0), |shared| writes(shared, 1)]);
    model(2, [|shared| writes(shared, 0), |shared| reads(shared, 1)]);
}

#[test]
fn a_reader_sees_what_is_committed_or_aborts() {
    model(2, [|shared| _ = shared.writes(0, false), |shared| _ = shared.reads(1)]);
}

#[test]
fn a_reader_who_is_put_before_a_writer_comes_before_its_commit() {
    model(2, [|shared| assert_eq!(shared.reads(0), Ok(())), |shared| _ = shared.writes(1, true)]);
}

/// Between two looks of the reader the writer comes, shows a version, takes it back and goes.
#[test]
fn a_reader_does_not_see_what_a_younger_writer_takes_back() {
    model(3, [|shared| assert_eq!(shared.reads(0), Ok(())), |shared| _ = shared.writes(1, false)]);
}

#[test]
#[ignore = "takes half a minute: `cargo xtask nightly loom`"]
fn who_rolls_back_takes_along_the_writer_behind_it_and_the_reader_behind_that() {
    model(
        1,
        [
            |shared| _ = shared.writes(0, false),
            |shared| _ = shared.writes(1, true),
            |shared| _ = shared.reads(2),
        ],
    );
}
