//! Model of owner ids: of two commits that read what the other writes one fails, and nobody sees the new value of the
//! one and the old value of another that comes before it.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-parts --test loom_owner_id`
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use parts::canonical_locks::Mode;
use parts::value_word::LOCKED;
use parts::{CommitEpoch, OwnerId};
use sync::atomic::{AtomicBool, Ordering};

/// The TID of a commit.
const TID: u64 = 16;

/// Two records, and a commit of each slot that has read the other's and writes its own.
struct Shared {
    epoch: CommitEpoch,
    records: [OwnerId; 2],
    committed: [AtomicBool; 2],
}

impl Shared {
    fn new() -> Self {
        let shared = Self {
            epoch: CommitEpoch::new(0, 2),
            records: core::array::from_fn(|_| OwnerId::default()),
            committed: core::array::from_fn(|_| AtomicBool::new(false)),
        };
        shared.records.iter().for_each(OwnerId::load);
        shared
    }

    /// Marks its own record, of which it read nothing, verifies the other, and applies.
    fn commit(&self, slot: usize) {
        let (own, other) = (&self.records[slot], &self.records[1 - slot]);
        assert!(own.lock.try_lock(Mode::Exclusive), "nobody else writes it");
        self.epoch.enter(slot);
        own.tid.store(LOCKED, Ordering::Relaxed); // Relaxed: the fence in `now` orders it.
        let _ = self.epoch.now();
        if other.is_as_seen(0, || false) {
            own.tid.store(TID, Ordering::Release); // Release: as in an install.
            self.committed[slot].store(true, Ordering::Relaxed); // Relaxed: looked at when the threads have ended.
        } else {
            own.tid.store(0, Ordering::Release); // Release: as when a mark is taken back.
        }
        self.epoch.leave(slot);
        own.lock.unlock(Mode::Exclusive);
    }

    /// Reads the record of slot 1, then that of slot 0, and verifies both: whether it saw the new and the old.
    fn sees_the_second_alone(&self) -> bool {
        let [first, second] = &self.records;
        // Acquire: as in a read, which waits while there is a mark.
        let (new, old) = (second.tid.load(Ordering::Acquire), first.tid.load(Ordering::Acquire));
        let is_valid = second.is_as_seen(new, || false) && first.is_as_seen(old, || false);
        is_valid && (new, old) == (TID, 0)
    }
}

fn model(threads: [fn(&Shared); 2]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let shared = Arc::new(Shared::new());
        let other = Arc::clone(&shared);
        let other = thread::spawn(move || threads[1](&other));
        threads[0](&shared);
        other.join().expect("no thread of the model panics");
        // Relaxed: the threads have ended.
        let committed = shared.committed.each_ref().map(|committed| committed.load(Ordering::Relaxed));
        assert!(committed != [true; 2], "each has overwritten what the other read");
    });
}

#[test]
fn of_two_that_overwrite_what_the_other_read_one_fails() {
    model([|shared| shared.commit(0), |shared| shared.commit(1)]);
    model([|shared| shared.commit(1), |shared| shared.commit(0)]);
}

#[test]
fn nobody_reads_between_two_of_which_the_later_has_not_applied() {
    // Slot 1 comes after slot 0, which has read what it writes: whoever sees slot 1's sees slot 0's.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared::new());
        let (first, reader) = (Arc::clone(&shared), Arc::clone(&shared));
        let first = thread::spawn(move || first.commit(0));
        let reader = thread::spawn(move || reader.sees_the_second_alone());
        let blind = &shared.records[1];
        assert!(blind.lock.try_lock(Mode::Exclusive), "nobody else writes it");
        blind.tid.store(LOCKED, Ordering::Relaxed); // Relaxed: the fence in `now` orders it.
        let _ = shared.epoch.now();
        blind.tid.store(TID, Ordering::Release); // Release: as in an install.
        blind.lock.unlock(Mode::Exclusive);
        first.join().expect("no thread of the model panics");
        let is_between = reader.join().expect("no thread of the model panics");
        // Relaxed: the threads have ended.
        let first = shared.committed[0].load(Ordering::Relaxed);
        assert!(!(first && is_between), "the first has read the old value of the second");
    });
}
