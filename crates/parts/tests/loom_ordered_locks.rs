//! Model of the locks of a batch: a holder sees the writes of all earlier holders, however many of them had it
//! together.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-parts --test loom_ordered_locks`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use parts::footprint::{Footprint, Mode};
use parts::ordered_locks::OrderedLocks;
use sync::waiter;

/// The locks of a batch, the modes in which its transactions want the same record, and the record. No two of them touch
/// the record in conflicting ways at once: loom's cell refuses it.
struct Shared {
    locks: OrderedLocks,
    modes: [Mode; 3],
    record: UnsafeCell<u32>,
}

impl Shared {
    fn execute(&self, place: usize) {
        waiter::wait_until(None, || self.locks.are_held(place));
        match self.modes[place] {
            Mode::Exclusive => self.record.with_mut(|_| ()),
            Mode::Shared | Mode::Intent => self.record.with(|_| ()),
        }
        self.locks.release(place);
    }
}

/// This thread executes the first transaction and the last, another the one in between: with three threads, of which
/// two wait, there are more interleavings than loom follows.
fn check(modes: [Mode; 3]) {
    loom::model(move || {
        let locks = OrderedLocks::new(3, 1, 1);
        for (place, mode) in modes.into_iter().enumerate() {
            let mut footprint = Footprint::default();
            footprint.add(7, mode);
            locks.declare(0, place, &mut footprint);
        }
        locks.grant(0);
        let shared = Arc::new(Shared { locks, modes, record: UnsafeCell::new(0) });
        let other = Arc::clone(&shared);
        let other = thread::spawn(move || other.execute(1));
        shared.execute(0);
        shared.execute(2);
        other.join().expect("no panic");
    });
}

#[test]
fn writers_follow_each_other() {
    check([Mode::Exclusive, Mode::Exclusive, Mode::Exclusive]);
}

#[test]
fn readers_see_the_writer_before_them() {
    check([Mode::Exclusive, Mode::Shared, Mode::Shared]);
}

#[test]
fn a_writer_waits_for_all_readers() {
    check([Mode::Shared, Mode::Shared, Mode::Exclusive]);
}
