//! Model of the commits whose writes are in place: when all up to a number are, everybody knows, and sees what they
//! have installed.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-schemes --test loom_installs`
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use schemes::reordering::reorder::installs::Installs;
use sync::atomic::{AtomicU64, Ordering};

/// Three commits, each with a record. All accesses to records are Relaxed: whatever order there is comes from the
/// numbers.
struct Shared {
    installs: Installs,
    records: [AtomicU64; 3],
}

impl Shared {
    fn install(&self, number: u64) {
        self.records[number as usize - 1].store(number, Ordering::Relaxed);
        self.installs.finish(number);
    }

    /// All commits up to the number that an attempt begins at are seen.
    fn look(&self) {
        let complete = self.installs.complete();
        for number in 1..=complete {
            assert_eq!(self.records[number as usize - 1].load(Ordering::Relaxed), number);
        }
    }
}

fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(run);
}

#[test]
fn whoever_finishes_last_makes_all_of_them_complete() {
    model(|| {
        let installs = Installs::new(4);
        let records = core::array::from_fn(|_| AtomicU64::new(0));
        let shared = Arc::new(Shared { installs, records });
        let others = [2, 1].map(|number| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.install(number))
        });
        shared.install(3);
        shared.look();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(shared.installs.complete(), 3);
        shared.look();
    });
}
