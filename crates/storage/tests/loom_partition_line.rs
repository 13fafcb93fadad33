//! Model of the lines of partitions: one claim at a time holds a partition and sees what those before it did, each that
//! waits gets what it waits for, and in the end all are free.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-storage --test loom_partition_line`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use storage::{Owned, Schema, Shape, Tables};

struct Parts;

impl Shape for Parts {
    type Header = ();
    type Version = ();
    type Leaf = ();
    type Data = Owned;
}

/// Claims of threads take partitions, the last one among them, and give them up, each so many times, in every way with
/// up to `preemptions` preemptions.
fn takes_turns(wanted: &'static [&'static [usize]], times: usize, preemptions: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let tables: &'static Tables<Parts> =
            Box::leak(Box::new(Tables::new(&Schema::new(), wanted.len(), PARTITIONS, false)));
        // Loom's cell refuses an access that is not ordered after every conflicting one.
        let data = Arc::new(UnsafeCell::new(0));
        let take = |data: Arc<UnsafeCell<usize>>, wanted: &'static [usize]| {
            move || {
                let slot = tables.slot();
                let mut claim = slot.claim();
                for _ in 0..times {
                    if !claim.try_hold_all(wanted) {
                        claim.hold_all(wanted);
                    }
                    // SAFETY: the claim holds the partition that stands for the data.
                    data.with_mut(|data| unsafe { *data += 1 });
                    claim.release_all();
                }
            }
        };
        let others: Vec<_> =
            wanted[1..].iter().map(|other| thread::spawn(take(Arc::clone(&data), other))).collect();
        take(Arc::clone(&data), wanted[0])();
        others.into_iter().for_each(|other| other.join().expect("it ends"));
        let free: Vec<_> = (0..PARTITIONS).collect();
        assert!(tables.slot().claim().try_hold_all(&free), "in the end they are free");
        // SAFETY: all threads have ended.
        assert_eq!(data.with(|data| unsafe { *data }), wanted.len() * times);
    });
}

/// The number of partitions. The last one stands for the data.
const PARTITIONS: usize = 2;

#[test]
fn two_that_take_it_twice_are_never_together() {
    takes_turns(&[&[1], &[1]], 2, 3);
}

#[test]
fn three_are_served_and_never_together() {
    takes_turns(&[&[1], &[1], &[1]], 1, 1);
}

#[test]
fn who_wants_two_is_served_beside_who_wants_one_and_who_wants_both() {
    takes_turns(&[&[0, 1], &[1]], 2, 2);
    takes_turns(&[&[0, 1], &[0, 1]], 2, 1);
}
