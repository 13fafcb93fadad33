//! Model of the version latch around racy words: a copy that validates is never torn.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-sync --test loom_seqlock`
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use sync::atomic::AtomicU64;
use sync::{VersionLatch, words};

struct Record {
    latch: VersionLatch,
    data: [AtomicU64; 2],
}

impl Record {
    fn new() -> Arc<Self> {
        Arc::new(Self { latch: VersionLatch::new(), data: [AtomicU64::new(0), AtomicU64::new(0)] })
    }

    /// Waits for the latch and adds one to both words.
    fn add(&self) {
        let _guard = self.latch.lock().expect("the record stays");
        let mut data = [0; 2];
        words::load(&self.data, &mut data);
        words::store(&self.data, &data.map(|word| word + 1));
    }

    /// Sets both words unless something has changed since `version`.
    fn set(&self, version: u64, value: u64) -> bool {
        let guard = self.latch.upgrade(version);
        if guard.is_some() {
            words::store(&self.data, &[value; 2]);
        }
        guard.is_some()
    }

    /// A copy, if it could be validated.
    fn copy(&self) -> Option<[u64; 2]> {
        let version = self.latch.read()?;
        let mut data = [0; 2];
        words::load(&self.data, &mut data);
        self.latch.validate(version).then_some(data)
    }
}

fn spawn<T: 'static>(record: &Arc<Record>, f: impl FnOnce(&Record) -> T + 'static) -> thread::JoinHandle<T> {
    let record = Arc::clone(record);
    thread::spawn(move || f(&record))
}

fn end<T>(thread: thread::JoinHandle<T>) -> T {
    thread.join().expect("no thread of the model panics")
}

// The writer of the next two models starts with its exchange. If it looked first, as `lock` does, loom
// would not try all interleavings: it remembers one last access to a word, and forgets for that look
// the reader's before it.

#[test]
fn a_validated_copy_is_whole() {
    loom::model(|| {
        let record = Record::new();
        let version = record.latch.read().expect("the record stays");
        let writer = spawn(&record, move |record| record.set(version, 1));
        if let Some([first, second]) = record.copy() {
            assert_eq!(first, second);
        }
        assert!(end(writer));
        assert_eq!(record.copy(), Some([1, 1]));
    });
}

#[test]
fn a_validated_copy_is_that_of_its_version() {
    loom::model(|| {
        let record = Record::new();
        let before = record.latch.read().expect("the record stays");
        let writer = spawn(&record, move |record| record.set(before, 1));
        let version = record.latch.read().expect("the record stays");
        let mut data = [0; 2];
        words::load(&record.data, &mut data);
        if record.latch.validate(version) {
            assert_eq!(data, if version == before { [0, 0] } else { [1, 1] });
        }
        assert!(end(writer));
    });
}

#[test]
fn two_writers_exclude_each_other() {
    loom::model(|| {
        let record = Record::new();
        let writer = spawn(&record, Record::add);
        record.add();
        end(writer);
        assert_eq!(record.copy(), Some([2, 2]));
    });
}

#[test]
fn of_two_upgrades_from_one_version_one_succeeds() {
    loom::model(|| {
        let record = Record::new();
        let version = record.latch.read().expect("the record stays");
        let writer = spawn(&record, move |record| record.set(version, 1));
        let is_ours = record.set(version, 2);
        assert!(end(writer) != is_ours);
        assert_eq!(record.copy(), Some([1 + u64::from(is_ours); 2]));
    });
}

#[test]
fn a_reader_of_a_retired_record_is_told() {
    loom::model(|| {
        let record = Record::new();
        let version = record.latch.read().expect("the record stays");
        let writer = spawn(&record, move |record| {
            let guard = record.latch.upgrade(version).expect("nobody else writes");
            words::store(&record.data, &[7, 7]);
            guard.retire();
        });
        assert!(matches!(record.copy(), None | Some([0, 0])));
        end(writer);
        assert_eq!(record.copy(), None);
    });
}

#[test]
fn a_reader_of_a_revived_record_sees_its_new_life_whole_or_not_at_all() {
    loom::model(|| {
        let record = Record::new();
        let earlier = record.latch.read().expect("the record stays");
        record.latch.upgrade(earlier).expect("nobody else writes").retire();
        let reader = spawn(&record, move |record| {
            assert!(matches!(record.copy(), None | Some([9, 9])));
            assert!(!record.latch.validate(earlier));
        });
        let guard = record.latch.revive();
        words::store(&record.data, &[9, 9]);
        drop(guard);
        end(reader);
        assert_eq!(record.copy(), Some([9, 9]));
    });
}

#[test]
fn a_reader_of_the_earlier_life_does_not_validate_the_new_one() {
    loom::model(|| {
        let record = Record::new();
        let earlier = record.latch.read().expect("the record stays");
        // One thread retires the record, another, which hears of it, revives it.
        let retirer = spawn(&record, move |record| {
            record.latch.upgrade(earlier).expect("nobody else writes").retire();
        });
        let reviver = spawn(&record, move |record| {
            if record.latch.read().is_none() {
                let _guard = record.latch.revive();
                words::store(&record.data, &[9, 9]);
            }
        });
        let mut data = [0; 2];
        words::load(&record.data, &mut data);
        assert!(data == [0, 0] || !record.latch.validate(earlier));
        end(retirer);
        end(reviver);
    });
}
