//! Model of the write sets of a central validation: of two that read what the other writes, the one that enters
//! later has seen the other's write or fails, and no set is believed that was overwritten.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-schemes --test loom_write_sets`
#![cfg(loom)]

use engine::Abort;
use loom::sync::Arc;
use loom::thread;
use schemes::optimistic::occ_central::write_sets::{Comparison, WriteSets};
use sync::atomic::{AtomicU64, Ordering};

/// The sets of two slots, with a history of two records, and two records. All accesses to these are Relaxed:
/// whatever order there is comes from the sets.
struct Shared {
    sets: WriteSets,
    records: [AtomicU64; 2],
}

/// A commit: its place in the order of those that entered, and what it has read.
type Committed = Option<(u64, u64)>;

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { sets: WriteSets::new(2, 2), records: [AtomicU64::new(0), AtomicU64::new(0)] })
    }

    /// An attempt of a slot reads the other's record and writes its own.
    fn attempt(&self, slot: usize) -> Committed {
        let mut comparison = Comparison::default();
        self.sets.begin(&mut comparison);
        let seen = self.records[1 - slot].load(Ordering::Relaxed);
        self.sets.enter(slot, &[slot], &mut comparison);
        if self.compare(&comparison, 1 - slot).is_err() {
            self.sets.give_up(slot, &mut comparison);
            return None;
        }
        self.records[slot].store(1, Ordering::Relaxed);
        self.sets.commit(slot, &[slot], &mut comparison);
        Some((comparison.order(), seen))
    }

    /// Fails if another wrote a record.
    fn compare(&self, comparison: &Comparison, record: usize) -> Result<(), Abort> {
        let check = |written| if written == record { Err(Abort::ReadChanged) } else { Ok(()) };
        self.sets.compare_committed(comparison, check)?;
        self.sets.compare_active(comparison, check)
    }

    /// Commits of slot 0, one after the other, that each write one of these records.
    fn write(&self, records: &[usize]) {
        for &record in records {
            let mut comparison = Comparison::default();
            self.sets.begin(&mut comparison);
            self.sets.enter(0, &[record], &mut comparison);
            self.sets.commit(0, &[record], &mut comparison);
        }
    }
}

fn model(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(run);
}

#[test]
fn of_two_that_read_what_the_other_writes_the_later_has_seen_the_write_or_fails() {
    model(3, || {
        let shared = Shared::new();
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.attempt(1))
        };
        let mut committed = [shared.attempt(0), other.join().expect("no thread of the model panics")];
        assert!(committed.iter().any(Option::is_some), "they do not fail each other");
        committed.sort();
        if let [Some((_, first)), Some((_, second))] = committed {
            assert_eq!((first, second), (0, 1), "the order of entry is a serial order");
        }
    });
}

#[test]
fn a_set_that_was_overwritten_is_not_believed() {
    model(3, || {
        let shared = Shared::new();
        let mut comparison = Comparison::default();
        shared.sets.begin(&mut comparison);
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write(&[7, 8, 9]))
        };
        shared.sets.enter(1, &[], &mut comparison);
        if shared.compare(&comparison, 7).is_ok() {
            assert_eq!(comparison.order(), 0, "the record was not written before the entry");
        }
        writer.join().expect("no thread of the model panics");
    });
}

#[test]
fn whoever_begins_at_a_number_sees_what_its_commits_have_installed() {
    model(3, || {
        let shared = Shared::new();
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.attempt(0))
        };
        let mut comparison = Comparison::default();
        shared.sets.begin(&mut comparison);
        let seen = shared.records[0].load(Ordering::Relaxed);
        shared.sets.enter(1, &[], &mut comparison);
        if shared.compare(&comparison, 0).is_ok() {
            assert_eq!(seen, comparison.order(), "it entered before the writer, or has seen what this wrote");
        }
        writer.join().expect("no thread of the model panics");
    });
}
