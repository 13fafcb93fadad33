//! The cost of the native back end: one commit path, built over `sync`, and built over the machine's own
//! atomics with the rest written by hand. `cargo xtask facade` compares the two builds instruction by
//! instruction; under a profiler the example shows how many instructions each executes.
//!
//! `cargo run --release -p contend-sync --example facade`
#![allow(clippy::print_stdout, reason = "an example says what it did")]

use std::hint::black_box;

/// Words of a record.
const WIDTH: usize = 8;
/// Records that an attempt reads and writes.
const RECORDS: usize = 4;
const ATTEMPTS: u64 = 10_000;

/// Lock bit of a record's word.
const LOCKED: u64 = 1;
const TID_STEP: u64 = 2;
const EPOCH_SHIFT: u32 = 32;

/// An attempt of Silo: stable copies, then lock, fence, validate, install. The path is written once; it takes
/// the atomics, `words` and `wait_until` of the module in which the macro is expanded.
macro_rules! commit_path {
    () => {
        #[derive(Default)]
        pub(crate) struct Record {
            word: AtomicU64,
            data: [AtomicU64; WIDTH],
        }

        #[derive(Default)]
        pub(crate) struct Txn {
            seen: [u64; RECORDS],
            copies: [[u64; WIDTH]; RECORDS],
        }

        /// Adds one to every word of the records. Returns the TID of the commit, if the reads are valid.
        #[inline(never)]
        pub(crate) fn attempt(epoch: &AtomicU64, records: &[Record], txn: &mut Txn) -> Option<u64> {
            for ((record, seen), copy) in records.iter().zip(&mut txn.seen).zip(&mut txn.copies) {
                *seen = copy_stable(record, copy);
            }
            for record in records {
                lock(record);
            }
            // SeqCst fence: pairs with the same fence of every other commit: lock, fence, validate is Dekker's
            // pattern.
            fence(Ordering::SeqCst);
            // Acquire: pairs with the Release of whoever advances the epoch.
            let mut tid = epoch.load(Ordering::Acquire) << EPOCH_SHIFT;
            for (record, &seen) in records.iter().zip(&txn.seen) {
                // Acquire: the install must not come before.
                if record.word.load(Ordering::Acquire) != seen | LOCKED {
                    unlock(records);
                    return None;
                }
                tid = tid.max(seen + TID_STEP);
            }
            for (record, copy) in records.iter().zip(&mut txn.copies) {
                for word in copy.iter_mut() {
                    *word += 1;
                }
                words::store(&record.data, copy);
                // Release: pairs with the Acquire in `copy_stable`.
                record.word.store(tid, Ordering::Release);
            }
            Some(tid)
        }

        #[inline]
        fn copy_stable(record: &Record, copy: &mut [u64; WIDTH]) -> u64 {
            loop {
                // Acquire: pairs with the Release of the install.
                let word = record.word.load(Ordering::Acquire);
                if word & LOCKED != 0 {
                    wait_unlocked(record);
                    continue;
                }
                words::load(&record.data, copy);
                // Acquire fence: the copy comes before the second look at the word.
                fence(Ordering::Acquire);
                // Relaxed: ordered by the fence.
                if record.word.load(Ordering::Relaxed) == word {
                    return word;
                }
            }
        }

        #[inline]
        fn lock(record: &Record) {
            loop {
                let word = record.word.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
                let (free, locked) = (word & !LOCKED, word | LOCKED);
                // Acquire: pairs with the Release that ends the last lock. Relaxed on failure: nothing is read.
                if record.word.compare_exchange(free, locked, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return;
                }
                wait_unlocked(record);
            }
        }

        #[inline]
        fn wait_unlocked(record: &Record) {
            // Relaxed: only ends the wait; the caller loads again.
            wait_until(None, || record.word.load(Ordering::Relaxed) & LOCKED == 0);
        }

        #[inline]
        fn unlock(records: &[Record]) {
            for record in records {
                // Release: pairs with the Acquire of the next lock.
                record.word.fetch_and(!LOCKED, Ordering::Release);
            }
        }
    };
}

mod through_sync {
    use super::{EPOCH_SHIFT, LOCKED, RECORDS, TID_STEP, WIDTH};
    use sync::atomic::{AtomicU64, Ordering, fence};
    use sync::waiter::wait_until;
    use sync::words;

    commit_path!();
}

mod by_hand {
    use super::{EPOCH_SHIFT, LOCKED, RECORDS, TID_STEP, WIDTH};
    use core::sync::atomic::{AtomicU64, Ordering, fence};

    commit_path!();

    mod words {
        use super::{AtomicU64, Ordering, WIDTH};

        pub(super) fn load(from: &[AtomicU64; WIDTH], to: &mut [u64; WIDTH]) {
            for word in 0..WIDTH {
                to[word] = from[word].load(Ordering::Relaxed); // Relaxed: as in `sync::words`.
            }
        }

        pub(super) fn store(to: &[AtomicU64; WIDTH], from: &[u64; WIDTH]) {
            for word in 0..WIDTH {
                to[word].store(from[word], Ordering::Relaxed); // Relaxed: as in `sync::words`.
            }
        }
    }

    #[inline]
    fn wait_until(deadline_ns: Option<u64>, mut ready: impl FnMut() -> bool) -> bool {
        ready() || wait(deadline_ns, &mut ready)
    }

    /// The condition of a wait: true when the event that the caller waits for has happened.
    type Look<'a> = &'a mut dyn FnMut() -> bool;

    /// A function pointer, as if the function were in another crate, as the real one is: the compiler may not
    /// tailor it to its callers.
    #[used]
    static WAIT: fn(Option<u64>, Look<'_>) -> bool = wait;

    /// Out of line and with the arguments of the real function, so that the two builds differ only in the
    /// function that they call.
    #[cold]
    #[inline(never)]
    fn wait(deadline_ns: Option<u64>, ready: Look<'_>) -> bool {
        while !ready() {
            if deadline_ns.is_some() {
                return false;
            }
            core::hint::spin_loop();
        }
        true
    }
}

fn main() {
    let (records, epoch) = (<[through_sync::Record; RECORDS]>::default(), sync::atomic::AtomicU64::new(1));
    let mut txn = through_sync::Txn::default();
    for _ in 0..ATTEMPTS {
        black_box(through_sync::attempt(black_box(&epoch), black_box(&records), &mut txn));
    }
    let (records, epoch) = (<[by_hand::Record; RECORDS]>::default(), core::sync::atomic::AtomicU64::new(1));
    let mut txn = by_hand::Txn::default();
    for _ in 0..ATTEMPTS {
        black_box(by_hand::attempt(black_box(&epoch), black_box(&records), &mut txn));
    }
    println!("{ATTEMPTS} attempts through `sync`, {ATTEMPTS} by hand");
}
