//! Model of the line of a partition: one claim at a time holds it and sees what those before it did, each that waits
//! gets it, and in the end it is free.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-storage --test loom_partition_line`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use storage::{Meta, Owned, Schema, Shape, Tables};

#[derive(Debug, Default)]
struct Nothing;

impl Meta for Nothing {
    fn reset(&self) {}

    fn copy_final(&self, _: &Self) -> bool {
        true
    }
}

struct Parts;

impl Shape for Parts {
    type Header = Nothing;
    type Version = ();
    type Leaf = ();
    type Data = Owned;
}

/// Claims of so many threads take a partition and give it up, each so many times, in every way with up to `preemptions`
/// preemptions.
fn takes_turns(threads: usize, times: usize, preemptions: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let tables: &'static Tables<Parts> =
            Box::leak(Box::new(Tables::new(&Schema::new(), threads, 1, false)));
        // Loom's cell refuses an access that is not ordered after every conflicting one.
        let data = Arc::new(UnsafeCell::new(0));
        let take = |data: Arc<UnsafeCell<usize>>| {
            move || {
                let slot = tables.slot();
                let mut claim = slot.claim();
                for _ in 0..times {
                    if !claim.try_hold(0) {
                        claim.hold(0);
                    }
                    // SAFETY: the claim holds the partition that stands for the data.
                    data.with_mut(|data| unsafe { *data += 1 });
                    claim.release_all();
                }
            }
        };
        let others: Vec<_> = (1..threads).map(|_| thread::spawn(take(Arc::clone(&data)))).collect();
        take(Arc::clone(&data))();
        others.into_iter().for_each(|other| other.join().expect("it ends"));
        // SAFETY: all threads have ended.
        assert_eq!(data.with(|data| unsafe { *data }), threads * times);
    });
}

#[test]
fn two_that_take_it_twice_are_never_together() {
    takes_turns(2, 2, 3);
}

#[test]
fn three_are_served_and_never_together() {
    takes_turns(3, 1, 1);
}
