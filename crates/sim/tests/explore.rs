//! Tests of the stepped build: a seed determines a schedule, and schedules find planted bugs.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use sim::{Explorer, Trace, explore};
use sync_sim::atomic::{AtomicBool, AtomicU64, Ordering};
use sync_sim::fiber::{Crew, STACK_BYTES};
use sync_sim::{Barrier, Latched, VersionLatch, clock, memory, waiter, words, workers};

const SEEDS: u64 = 50;

/// The sum of three workers that add ten each, with a load and a store.
fn racy_sum(seed: u64) -> (u64, Trace) {
    let sum = AtomicU64::new(0);
    let trace = explore(seed, 3, |_| {
        for _ in 0..10 {
            // Relaxed: steps are sequentially consistent, here as in all tests of this file.
            let seen = sum.load(Ordering::Relaxed);
            sum.store(seen + 1, Ordering::Relaxed);
        }
    });
    (sum.into_inner(), trace)
}

/// The message of the panic with which `f` must end.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).err().expect("a panic");
    panic.downcast_ref::<String>().expect("a message with the seed").clone()
}

#[test]
fn the_same_seed_gives_the_same_schedule() {
    for seed in 0..SEEDS {
        assert_eq!(racy_sum(seed), racy_sum(seed));
    }
}

#[test]
fn other_seeds_give_other_schedules() {
    let mut hashes: Vec<u64> = (0..SEEDS).map(|seed| racy_sum(seed).1.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len() as u64, SEEDS);
}

#[test]
fn every_access_is_a_step() {
    assert_eq!(racy_sum(1).1.steps, 3 * 10 * 2);
}

#[test]
fn a_lost_update_is_found_within_a_few_seeds() {
    assert!((0..3).any(|seed| racy_sum(seed).0 < 30));
}

#[test]
fn an_atomic_update_is_never_lost() {
    for seed in 0..SEEDS {
        let sum = AtomicU64::new(0);
        explore(seed, 3, |_| {
            for _ in 0..10 {
                sum.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(sum.into_inner(), 30);
    }
}

/// Whether an accepted copy was torn: one worker writes a record of three equal words again and again, two workers copy
/// the record.
fn sees_torn_copy(seed: u64, believe: impl Fn(&VersionLatch, u64) -> bool + Sync) -> bool {
    let record = [const { AtomicU64::new(0) }; 3];
    let (latch, is_torn) = (VersionLatch::new(), AtomicBool::new(false));
    explore(seed, 3, |worker| {
        for round in 0..5 {
            if worker == 0 {
                let _guard = latch.lock().expect("not gone");
                words::store(&record, &[round; 3]);
            } else {
                let mut copy = [0; 3];
                let version = latch.read().expect("not gone");
                words::load(&record, &mut copy);
                if believe(&latch, version) && copy != [copy[0]; 3] {
                    is_torn.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    is_torn.into_inner()
}

#[test]
fn a_copy_that_is_not_validated_is_torn_in_some_schedule() {
    assert!((0..5).any(|seed| sees_torn_copy(seed, |_, _| true)));
}

#[test]
fn a_validated_copy_is_never_torn() {
    for seed in 0..SEEDS {
        assert!(!sees_torn_copy(seed, VersionLatch::validate), "seed {seed}");
    }
}

#[test]
fn a_latch_admits_one() {
    for seed in 0..SEEDS {
        let value = Latched::new((0, 0));
        let is_alone = AtomicBool::new(true);
        explore(seed, 4, |_| {
            for _ in 0..5 {
                let mut value = value.lock();
                value.0 += 1;
                // A step in the middle, so that other workers can run here.
                is_alone.load(Ordering::Relaxed);
                value.1 += 1;
                is_alone.fetch_and(value.0 == value.1, Ordering::Relaxed);
            }
        });
        assert_eq!(value.into_inner(), (20, 20));
        assert!(is_alone.into_inner());
    }
}

#[test]
fn workers_meet_at_a_barrier() {
    for seed in 0..SEEDS {
        let (barrier, arrivals) = (Barrier::new(4), AtomicU64::new(0));
        let run = || {
            workers::run(4, false, |_| {
                (1..=3).fold(0, |led, phase| {
                    arrivals.fetch_add(1, Ordering::Relaxed);
                    let led = led + usize::from(barrier.wait().expect("nobody leaves"));
                    assert_eq!(arrivals.load(Ordering::Relaxed), 4 * phase);
                    barrier.wait().expect("nobody leaves");
                    led
                })
            })
        };
        let (led, _) = Explorer::new(seed).run(run);
        assert_eq!(led.into_iter().sum::<usize>(), 3);
    }
}

#[test]
fn an_hour_of_waiting_takes_a_few_steps() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let trace = explore(1, 3, |worker| {
        let start_ns = clock::now_ns();
        waiter::pause_ns(HOUR_NS * worker as u64);
        assert!(clock::now_ns() - start_ns >= HOUR_NS * worker as u64);
    });
    assert!(trace.steps < 100, "{trace:?}");
}

#[test]
fn a_step_inside_a_fiber_lets_other_workers_run() {
    let lost = |seed| {
        let sum = AtomicU64::new(0);
        explore(seed, 2, |_| {
            let mut crew = Crew::new();
            for _ in 0..2 {
                crew.spawn(STACK_BYTES, || {
                    for _ in 0..5 {
                        let seen = sum.load(Ordering::Relaxed);
                        sum.store(seen + 1, Ordering::Relaxed);
                        waiter::give_way();
                    }
                });
            }
            crew.run();
        });
        let sum = sum.into_inner();
        assert!((5..=20).contains(&sum));
        sum < 20
    };
    assert!((0..3).any(lost));
}

#[test]
fn a_fiber_of_one_worker_waits_for_a_fiber_of_another() {
    for seed in 0..SEEDS {
        let turn = AtomicU64::new(0);
        let trace = explore(seed, 3, |worker| {
            let mut crew = Crew::new();
            for fiber in 0..3 {
                let (turn, mine) = (&turn, (fiber * 3 + worker) as u64);
                crew.spawn(STACK_BYTES, move || {
                    assert!(waiter::wait_until(None, || turn.load(Ordering::Relaxed) == mine));
                    waiter::pause_ns(1_000);
                    turn.store(mine + 1, Ordering::Relaxed);
                });
            }
            crew.run();
        });
        assert_eq!(turn.into_inner(), 9);
        assert!(trace.steps < 10_000, "{trace:?}");
    }
}

#[test]
fn a_second_run_goes_on_with_the_schedule() {
    let two = || {
        let sum = AtomicU64::new(0);
        for count in [2, 3] {
            workers::run(count, false, |_| sum.fetch_add(1, Ordering::Relaxed));
        }
        sum.into_inner()
    };
    let (sum, trace) = Explorer::new(1).run(two);
    assert_eq!((sum, trace.steps), (5, 5));
}

#[test]
fn a_livelock_is_reported_with_its_seed() {
    let word = AtomicU64::new(0);
    let spin = || Explorer::new(7).steps_max(1_000).run(|| workers::run(2, false, |_| while swap(&word) {}));
    let message = panic_of(spin);
    assert!(message.starts_with("seed 7, step 1000: no end in sight"), "{message}");
    assert!(message.contains("worker 1 at Update"), "{message}");
}

fn swap(word: &AtomicU64) -> bool {
    word.swap(1, Ordering::Relaxed) < 2
}

/// The message of an exploration in which two workers wait for each other's latch; `is_waiting` says whether a
/// destructor waits for it, too.
fn deadlock(is_waiting: bool) -> String {
    let latches = [Latched::new(()), Latched::new(())];
    let holds_one = Barrier::new(2);
    panic_of(|| {
        explore(3, 2, |worker| {
            let _first = latches[worker].lock();
            holds_one.wait().expect("nobody leaves");
            let other = &latches[1 - worker];
            let _waits = is_waiting.then(|| Waits(other));
            let _second = other.lock();
        })
    })
}

/// Waits for a latch when it is dropped.
struct Waits<'l>(&'l Latched<()>);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        drop(self.0.lock());
    }
}

#[test]
fn a_deadlock_is_reported_with_its_seed_though_destructors_wait() {
    for message in [false, true].map(deadlock) {
        assert!(message.starts_with("seed 3, step "), "{message}");
        assert!(message.contains("a deadlock"), "{message}");
    }
}

#[test]
fn a_panic_ends_the_exploration_and_the_next_one_works() {
    for seed in 0..SEEDS {
        let value = Latched::new(0);
        let message = panic_of(|| {
            explore(seed, 3, |worker| {
                // A destructor that needs a latch, which a suspended worker may hold.
                let _adds = Adds(&value);
                let mut crew = Crew::new();
                crew.spawn(STACK_BYTES, || {
                    drop(value.lock());
                    assert!(worker != 1, "planted");
                });
                crew.run();
            })
        });
        assert!(message.ends_with("planted"), "{message}");
        assert!(!waiter::in_fiber());
        assert_eq!(racy_sum(seed), racy_sum(seed));
    }
}

struct Adds<'a>(&'a Latched<u64>);

impl Drop for Adds<'_> {
    fn drop(&mut self) {
        *self.0.lock() += 1;
    }
}

#[test]
fn without_a_scheduler_accesses_are_plain_and_workers_are_refused() {
    let word = AtomicU64::new(1);
    assert_eq!(word.fetch_add(1, Ordering::Relaxed), 1);
    let before_ns = clock::now_ns();
    waiter::pause_ns(1_000);
    assert!(clock::now_ns() >= before_ns + 1_000);
    let order = RefCell::new(Vec::new());
    let is_open = Cell::new(false);
    let mut crew = Crew::new();
    crew.spawn(STACK_BYTES, || {
        assert!(waiter::wait_until(None, || is_open.get()));
        order.borrow_mut().push(2);
    });
    crew.spawn(STACK_BYTES, || {
        order.borrow_mut().push(1);
        is_open.set(true);
    });
    crew.run();
    assert_eq!(order.into_inner(), [1, 2]);
    let refusal = catch_unwind(|| workers::run(1, false, |worker| worker));
    assert!(refusal.is_err());
}

#[test]
fn addresses_ascend_in_the_order_of_allocation() {
    let layout = |bytes| Layout::from_size_align(bytes, 4096).expect("a small power of two");
    // More than the addresses of a thread have room for at a time, among small pieces.
    let sizes = [5_000, 1 << 21, 1, 1 << 16, 1 << 25, 1 << 25, 1, 1 << 27, 1];
    let starts = sizes.map(|bytes| memory::allocate(layout(bytes)));
    assert!(starts.is_sorted());
    assert!(starts.iter().all(|start| start.addr().get() % 4096 == 0));
}

#[test]
fn each_worker_counts_its_own_waiting_fibers() {
    for seed in 0..SEEDS {
        let is_open = AtomicBool::new(false);
        explore(seed, 2, |worker| {
            if worker == 1 {
                for _ in 0..20 {
                    workers::yield_now();
                    assert_eq!(waiter::waiting(), 0, "the other worker's fiber waits, and none of this one");
                }
                is_open.store(true, Ordering::Relaxed);
                return;
            }
            let mut crew = Crew::new();
            crew.spawn(STACK_BYTES, || {
                assert!(waiter::wait_until(None, || is_open.load(Ordering::Relaxed)));
                assert_eq!(waiter::waiting(), 0, "it waits no more");
            });
            crew.run();
        });
    }
    assert_eq!(waiter::waiting(), 0);
}
