//! Model of attempts that only read: two of them see two commits in one order.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-parts --test loom_reads`
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use parts::{OwnerId, fence_reads};
use sync::atomic::Ordering;

/// The TID of a commit.
const TID: u64 = 16;

/// Reads two records, one after the other, and validates: whether it saw the new value of the first and the old one of
/// the second.
fn sees_the_first_alone(first: &OwnerId, second: &OwnerId) -> bool {
    // Acquire: as in a read.
    let (new, old) = (first.tid.load(Ordering::Acquire), second.tid.load(Ordering::Acquire));
    fence_reads();
    let is_valid = first.is_as_seen(new, || false) && second.is_as_seen(old, || false);
    is_valid && (new, old) == (TID, 0)
}

#[test]
fn two_who_only_read_see_two_commits_in_one_order() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let records: Arc<[OwnerId; 2]> = Arc::new(core::array::from_fn(|_| OwnerId::default()));
        records.iter().for_each(OwnerId::load);
        let writer = |of: usize| {
            let records = Arc::clone(&records);
            // Release: as in an install. A commit of one write has no other record to validate.
            thread::spawn(move || records[of].tid.store(TID, Ordering::Release))
        };
        let (one, other) = (writer(0), writer(1));
        let reader = Arc::clone(&records);
        let reader = thread::spawn(move || sees_the_first_alone(&reader[0], &reader[1]));
        let sees_the_other = sees_the_first_alone(&records[1], &records[0]);
        let sees_the_one = reader.join().expect("no thread of the model panics");
        one.join().expect("no thread of the model panics");
        other.join().expect("no thread of the model panics");
        assert!(!(sees_the_one && sees_the_other), "each commit comes before the other");
    });
}
