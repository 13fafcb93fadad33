//! Loops that each measure one cost of a machine: the latency of a cache, a message between two cores, a fence.
//!
//! Both builds have them. So a loop that runs natively and on a simulated machine shows whether the simulated machine
//! is like the real one: see the crate `simulations`. Each loop measures many short *windows*. On a machine with other
//! work, most windows are disturbed and a few are not, so the low ones count.
//!
//! Relaxed excuse for this file: the loops are about time; no result depends on an order between words.

mod ring;

use crate::atomic::{AtomicU64, Ordering, fence};
use crate::{Barrier, IS_STEPPED, Padded, clock, hint, words, workers};

use ring::Ring;

/// The sizes that loops depend on, and the number of windows.
#[derive(Clone, Copy, Debug)]
pub struct ProbeScale {
    /// Bytes of a cache line.
    pub line_bytes: usize,
    /// Bytes of the first-level data cache of a core.
    pub l1_bytes: usize,
    /// Bytes of the second-level cache of a core.
    pub l2_bytes: usize,
    /// Bytes of the last-level cache of a core's group.
    pub l3_bytes: usize,
    /// Bytes that are several times larger than all caches together.
    pub memory_bytes: usize,
    /// The number of windows of each loop.
    pub windows: usize,
    /// Whether each worker stays on a core of its own.
    pub pin: bool,
}

/// The time of a loop's own instructions at each access to a shared word. A simulated machine has to be told: it sees
/// accesses, and no instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnTime {
    /// None: the access takes longer than the instructions beside it.
    Hidden,
    /// A load of which the next address depends: the latency of the first-level cache.
    DependentLoad,
    /// So many instructions.
    Instructions(u32),
}

/// A loop that measures one cost.
#[derive(Clone, Copy, Debug)]
pub struct ProbeLoop {
    /// The name.
    pub name: &'static str,
    /// A step of the loop, in words.
    pub says: &'static str,
    /// The number of workers that it needs.
    pub workers: usize,
    /// The time beside its accesses.
    pub own: OwnTime,
    run: fn(&ProbeScale, usize) -> Vec<f64>,
}

impl ProbeLoop {
    /// Runs the loop, and returns the nanoseconds of a step in each window. Windows in which workers did not run at the
    /// same time are left out.
    pub fn run(&self, scale: &ProbeScale) -> Vec<f64> {
        (self.run)(scale, self.workers)
    }

    /// Returns the loop of this name.
    pub fn of_name(name: &str) -> Option<&'static Self> {
        LOOPS.iter().find(|probe| probe.name == name)
    }
}

const fn probe(
    name: &'static str,
    workers: usize,
    own: OwnTime,
    run: fn(&ProbeScale, usize) -> Vec<f64>,
    says: &'static str,
) -> ProbeLoop {
    ProbeLoop { name, says, workers, own, run }
}

use OwnTime::{DependentLoad, Hidden, Instructions};

/// All loops.
#[rustfmt::skip]
pub const LOOPS: &[ProbeLoop] = &[
    probe("l1", 1, DependentLoad, l1, "a dependent load that hits the first-level cache"),
    probe("l2", 1, DependentLoad, l2, "a dependent load that hits the second-level cache"),
    probe("l3", 1, DependentLoad, l3, "a dependent load that hits the last-level cache"),
    probe("memory", 1, DependentLoad, memory, "a dependent load from memory"),
    probe("dirty", 2, DependentLoad, dirty, "a dependent load of a line that another core has written"),
    probe("clean", 2, DependentLoad, clean, "a dependent load of a line that another core has read from memory"),
    probe("update", 1, Hidden, update, "an atomic update of a line that the core owns"),
    probe("upgrade_1", 2, Hidden, upgrade, "a dependent atomic update of a line that one other core has a copy of"),
    probe("upgrade_3", 4, Hidden, upgrade, "the same with copies in three other cores"),
    probe("upgrade_7", 8, Hidden, upgrade, "the same with copies in seven other cores"),
    probe("reload_1", 2, DependentLoad, reload, "a dependent load of a line that another core has just taken back"),
    probe("message", 2, Instructions(3), message, "a message between two cores, one way"),
    probe("storm_2", 2, Hidden, storm, "an atomic update of a line that two cores update all the time"),
    probe("storm_4", 4, Hidden, storm, "the same by four cores"),
    probe("storm_8", 8, Hidden, storm, "the same by eight cores"),
    probe("possession", 2, Hidden, possession, "the time for which a core keeps a line that two cores update all the time"),
    probe("spaced_2", 2, DependentLoad, spaced, "an atomic update of a line that two cores update, 64 loads apart"),
    probe("spaced_4", 4, DependentLoad, spaced, "the same by four cores"),
    probe("spaced_8", 8, DependentLoad, spaced, "the same by eight cores"),
    probe("fence", 1, Hidden, full_fence, "a full fence"),
    probe("store_fence", 1, Instructions(1), store_fence, "a store to an own line and a full fence"),
    probe("store_load", 1, Instructions(1), store_load, "a store to an own line and a load from another"),
    probe("pause", 1, Hidden, pause, "a pause"),
    probe("clock", 1, Hidden, ticks, "a reading of the processor's clock"),
    probe("scan", 1, Instructions(3), scan, "an independent load from memory, line after line"),
    probe("stream", 1, Instructions(16), stream, "a line of memory in copies of 4 KiB, one after the other"),
    probe("stream_2", 2, Instructions(16), stream, "the same by two cores, in sum"),
    probe("record", 1, Instructions(16), record, "a dependent copy of four lines of memory"),
    probe("prefetch", 1, Instructions(6), prefetched, "a line of memory that was asked for with 15 others ahead of its use"),
    probe("store", 1, Instructions(3), stores, "a store to memory, line after line"),
];

/// Lines that are handed from one core to another: they fit into the nearest cache of each.
const HANDED: usize = 128;

/// The longest time between the end of a preparation and the begin of its window. After a longer time one of the two
/// workers did not run, and another program has used its cache.
const FRESH_NS: u64 = 20_000;

/// Nanoseconds of a step of `f`, which makes `steps` of them.
#[inline(always)]
fn window(steps: usize, f: impl FnOnce()) -> f64 {
    let start = clock::before();
    f();
    clock::ticks_to_ns(clock::after() - start) as f64 / steps as f64
}

/// The windows of one worker.
#[inline(always)]
fn alone(scale: &ProbeScale, steps: usize, f: impl Fn() + Sync) -> Vec<f64> {
    let windows = workers::run(1, scale.pin, |_| (0..scale.windows).map(|_| window(steps, &f)).collect());
    windows.into_iter().next().expect("one worker")
}

/// The windows of a chase through `bytes` bytes.
fn chase(scale: &ProbeScale, bytes: usize, steps: usize) -> Vec<f64> {
    let ring = Ring::new(bytes, scale.line_bytes);
    // Simulated caches are empty at first, and do not need to be emptied.
    let warm = if IS_STEPPED && bytes > scale.l3_bytes { 0 } else { ring.lines };
    let windows = workers::run(1, scale.pin, |_| {
        let mut at = ring.chase(0, warm);
        let mut one = || window(steps, || at = core::hint::black_box(ring.chase(at, steps)));
        (0..scale.windows).map(|_| one()).collect()
    });
    windows.into_iter().next().expect("one worker")
}

fn l1(scale: &ProbeScale, _: usize) -> Vec<f64> {
    chase(scale, scale.l1_bytes / 2, 8192)
}

fn l2(scale: &ProbeScale, _: usize) -> Vec<f64> {
    chase(scale, scale.l2_bytes / 2, 4096)
}

/// Twice as much as the second-level cache has: a cache that forgets what was used least recently has nothing of a cycle
/// that is larger. Not more, because on a machine that is shared the last-level cache is as good as small.
fn l3(scale: &ProbeScale, _: usize) -> Vec<f64> {
    chase(scale, 2 * scale.l2_bytes, 1024)
}

/// Nanoseconds of a dependent load within so many bytes, in each window: for finding the size of a cache.
pub fn load_ns(scale: &ProbeScale, bytes: usize) -> Vec<f64> {
    chase(scale, bytes, 1024)
}

fn memory(scale: &ProbeScale, _: usize) -> Vec<f64> {
    chase(scale, scale.memory_bytes, 256)
}

/// The windows of the first worker, each after a preparation by the others.
#[inline(always)]
fn after_others(
    scale: &ProbeScale,
    workers: usize,
    prepare: impl Fn(usize) + Sync,
    measure: impl Fn(usize) + Sync,
) -> Vec<f64> {
    let barrier = Barrier::new(workers);
    let prepared_ns = Padded(AtomicU64::new(0));
    let windows = workers::run(workers, scale.pin, |worker| {
        let mut windows = Vec::new();
        for round in 0..scale.windows {
            if worker > 0 {
                prepare(round);
                prepared_ns.store(clock::now_ns(), Ordering::Relaxed);
            }
            barrier.wait().expect("nobody leaves");
            if worker == 0 {
                let age_ns = clock::now_ns().saturating_sub(prepared_ns.load(Ordering::Relaxed));
                let ns = window(HANDED, || measure(round));
                windows.extend((age_ns < FRESH_NS).then_some(ns));
            }
            barrier.wait().expect("nobody leaves");
        }
        windows
    });
    windows.into_iter().next().expect("the first worker")
}

fn handed(scale: &ProbeScale) -> Ring {
    Ring::new(HANDED * scale.line_bytes, scale.line_bytes)
}

fn dirty(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    let ring = handed(scale);
    let write = |round: usize| {
        let write = |line: usize| ring.words()[line * ring.stride + 2].store(round as u64, Ordering::Relaxed);
        (0..ring.lines).for_each(write);
    };
    after_others(scale, workers, write, |_| _ = core::hint::black_box(ring.chase(0, HANDED)))
}

fn clean(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    let ring = Ring::new(scale.memory_bytes, scale.line_bytes);
    let read = |round: usize| {
        // Each round has lines of its own, which no cache has.
        let start =
            core::ptr::from_ref(ring.jump(round)).addr() - core::ptr::from_ref(&ring.words()[0]).addr();
        _ = core::hint::black_box(ring.chase(start / size_of::<u64>(), HANDED));
    };
    after_others(scale, workers, read, read)
}

fn upgrade(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    let ring = handed(scale);
    let read = |_| _ = core::hint::black_box(ring.chase(0, HANDED));
    after_others(scale, workers, read, |_| _ = core::hint::black_box(ring.chase_by_updates(0, HANDED)))
}

fn reload(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    let ring = handed(scale);
    let take = |_| _ = core::hint::black_box(ring.chase_by_updates(0, HANDED));
    after_others(scale, workers, take, |_| _ = core::hint::black_box(ring.chase(0, HANDED)))
}

fn update(scale: &ProbeScale, _: usize) -> Vec<f64> {
    const STEPS: usize = 2048;
    let word = Padded(AtomicU64::new(0));
    alone(scale, STEPS, || (0..STEPS).for_each(|_| _ = word.fetch_add(1, Ordering::Relaxed)))
}

/// Waits for a value, at first without giving the core away.
#[inline(always)]
fn await_value(word: &AtomicU64, value: u64) {
    const LOOKS: usize = 5_000;
    while !(0..LOOKS).any(|_| word.load(Ordering::Acquire) == value) {
        workers::yield_now();
    }
}

fn message(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    const ROUND_TRIPS: u64 = 128;
    let word = Padded(AtomicU64::new(0));
    let windows = workers::run(workers, scale.pin, |worker| {
        let mut sent = 0;
        let mut one = || {
            for _ in 0..ROUND_TRIPS {
                // Acquire and Release: a pair, as of any message.
                if worker == 0 {
                    word.store(sent + 1, Ordering::Release);
                    await_value(&word, sent + 2);
                } else {
                    await_value(&word, sent + 1);
                    word.store(sent + 2, Ordering::Release);
                }
                sent += 2;
            }
        };
        (0..scale.windows).map(|_| window(2 * ROUND_TRIPS as usize, &mut one)).collect()
    });
    windows.into_iter().next().expect("the first worker")
}

/// The windows of workers that all update one word, and do something of their own after each update. Windows in which
/// the others made less than half of their share are left out: not all of them ran.
#[inline(always)]
fn together(scale: &ProbeScale, workers: usize, between: impl Fn(usize, u64) + Sync) -> Vec<f64> {
    const STEPS: u64 = 256;
    let word = Padded(AtomicU64::new(0));
    let barrier = Barrier::new(workers);
    let windows = workers::run(workers, scale.pin, |worker| {
        let mut windows = Vec::new();
        barrier.wait().expect("nobody leaves");
        for _ in 0..scale.windows {
            let first = word.fetch_add(1, Ordering::Relaxed);
            let mut last = first;
            let step = |_| {
                last = word.fetch_add(1, Ordering::Relaxed);
                between(worker, last);
            };
            let ns = window(1, || (0..STEPS).for_each(step));
            let (all, share) = (last - first, workers as u64);
            let is_shared = (all - STEPS) * share * 2 >= all * (share - 1);
            windows.extend(is_shared.then_some(ns / all as f64));
        }
        windows
    });
    windows.into_iter().flatten().collect()
}

fn storm(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    together(scale, workers, |_, _| ())
}

fn spaced(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    const LINES: usize = 8;
    let own: Vec<Ring> =
        (0..workers).map(|_| Ring::new(LINES * scale.line_bytes, scale.line_bytes)).collect();
    together(scale, workers, |worker, updated| {
        // The first load depends on the update, so that the loads do not begin before it has ended.
        let (ring, line) = (&own[worker], updated as usize % LINES);
        _ = core::hint::black_box(ring.chase(line * ring.stride, 64));
    })
}

fn possession(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    const STEPS: usize = 256;
    let word = Padded(AtomicU64::new(0));
    let lone_ns = quickest(&update(scale, 1));
    let barrier = Barrier::new(workers);
    let windows = workers::run(workers, scale.pin, |_| {
        let (mut windows, mut seen) = (Vec::new(), [0; STEPS]);
        barrier.wait().expect("nobody leaves");
        for _ in 0..scale.windows {
            seen.iter_mut().for_each(|seen| *seen = word.fetch_add(1, Ordering::Relaxed));
            let losses = seen.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
            let all = seen[STEPS - 1] - seen[0];
            // Both ran: the other made a third or more of the updates, and not many more than this one.
            let is_shared = all as usize * 2 > STEPS * 3 && all as usize <= STEPS * 3;
            windows.extend((is_shared && losses > 0).then(|| lone_ns * STEPS as f64 / (losses + 1) as f64));
        }
        windows
    });
    windows.into_iter().flatten().collect()
}

fn quickest(windows: &[f64]) -> f64 {
    windows.iter().copied().fold(f64::INFINITY, f64::min)
}

fn full_fence(scale: &ProbeScale, _: usize) -> Vec<f64> {
    const STEPS: usize = 2048;
    let step = |_| {
        // SeqCst: the fence is what is measured.
        fence(Ordering::SeqCst);
        // A compiler makes one fence of two without anything between them.
        core::hint::black_box(());
    };
    alone(scale, STEPS, || (0..STEPS).for_each(step))
}

fn store_fence(scale: &ProbeScale, _: usize) -> Vec<f64> {
    const STEPS: usize = 2048;
    let word = Padded(AtomicU64::new(0));
    let step = |nth| {
        word.store(nth as u64, Ordering::Relaxed);
        // SeqCst: the fence is what is measured.
        fence(Ordering::SeqCst);
    };
    alone(scale, STEPS, || (0..STEPS).for_each(step))
}

fn store_load(scale: &ProbeScale, _: usize) -> Vec<f64> {
    const STEPS: usize = 8192;
    let (one, other) = (Padded(AtomicU64::new(0)), Padded(AtomicU64::new(0)));
    let step = |nth| {
        one.store(nth as u64, Ordering::Release); // Release and Acquire: as in any protocol.
        _ = core::hint::black_box(other.load(Ordering::Acquire));
    };
    alone(scale, STEPS, || (0..STEPS).for_each(step))
}

fn pause(scale: &ProbeScale, _: usize) -> Vec<f64> {
    const STEPS: usize = 1024;
    alone(scale, STEPS, || (0..STEPS).for_each(|_| hint::spin_loop()))
}

fn ticks(scale: &ProbeScale, _: usize) -> Vec<f64> {
    const STEPS: usize = 2048;
    alone(scale, STEPS, || (0..STEPS).for_each(|_| _ = core::hint::black_box(clock::ticks())))
}

/// The windows of workers that each go through a part of memory of their own, piece by piece.
#[inline(always)]
fn through_memory(scale: &ProbeScale, workers: usize, piece: impl Fn(&[AtomicU64]) + Sync) -> Vec<f64> {
    const LINES: usize = 1024;
    let ring = Ring::new(scale.memory_bytes, scale.line_bytes);
    let pieces = ring.lines / workers / LINES;
    let barrier = Barrier::new(workers);
    let windows = workers::run(workers, scale.pin, |worker| {
        barrier.wait().expect("nobody leaves");
        let one = |nth: usize| {
            let first = (worker * pieces + nth % pieces) * LINES * ring.stride;
            let of_one = window(LINES, || piece(&ring.words()[first..first + LINES * ring.stride]));
            of_one / workers as f64
        };
        (0..scale.windows).map(one).collect::<Vec<_>>()
    });
    windows.into_iter().flatten().collect()
}

fn scan(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    let stride = scale.line_bytes / size_of::<u64>();
    through_memory(scale, workers, |words| {
        let sum =
            words.iter().step_by(stride).map(|word| word.load(Ordering::Relaxed)).fold(0, u64::wrapping_add);
        core::hint::black_box(sum);
    })
}

fn stream(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    const WORDS: usize = 512;
    through_memory(scale, workers, |all| {
        let mut copy = [0; WORDS];
        for piece in all.chunks_exact(WORDS) {
            words::load(piece, &mut copy);
            core::hint::black_box(&copy);
        }
    })
}

fn stores(scale: &ProbeScale, workers: usize) -> Vec<f64> {
    let stride = scale.line_bytes / size_of::<u64>();
    through_memory(scale, workers, |words| {
        words.iter().skip(1).step_by(stride).for_each(|word| word.store(1, Ordering::Relaxed));
    })
}

fn record(scale: &ProbeScale, _: usize) -> Vec<f64> {
    const STEPS: usize = 256;
    let ring = Ring::new(scale.memory_bytes, scale.line_bytes);
    let windows = workers::run(1, scale.pin, |_| {
        let mut copy = vec![0; 4 * ring.stride];
        let mut at = 0;
        let mut one = || window(STEPS, || at = ring.chase_by_copies(at, STEPS, &mut copy));
        (0..scale.windows).map(|_| one()).collect()
    });
    windows.into_iter().next().expect("one worker")
}

fn prefetched(scale: &ProbeScale, _: usize) -> Vec<f64> {
    const STEPS: usize = 512;
    const AHEAD: usize = 16;
    let ring = Ring::new(scale.memory_bytes, scale.line_bytes);
    let windows = workers::run(1, scale.pin, |_| {
        let group = |first: usize| {
            (first..first + AHEAD).for_each(|nth| hint::prefetch(ring.jump(nth)));
            let load = |nth| ring.jump(nth).load(Ordering::Relaxed);
            // The next group begins after the loads of this one.
            core::hint::black_box((first..first + AHEAD).map(load).fold(0, u64::wrapping_add));
            fence(Ordering::Acquire); // Acquire: keeps the compiler from moving loads between groups.
        };
        let one =
            |nth: usize| window(STEPS, || (0..STEPS / AHEAD).for_each(|of| group(nth * STEPS + of * AHEAD)));
        (0..scale.windows).map(one).collect()
    });
    windows.into_iter().next().expect("one worker")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SCALE: ProbeScale = ProbeScale {
        line_bytes: 64,
        l1_bytes: 1 << 14,
        l2_bytes: 1 << 15,
        l3_bytes: 1 << 16,
        memory_bytes: 1 << 20,
        windows: 3,
        pin: false,
    };

    #[test]
    fn every_loop_ends_and_measures_at_most_its_windows() {
        for probe in LOOPS {
            let windows = probe.run(&SCALE);
            assert!(windows.len() <= SCALE.windows * probe.workers, "{}", probe.name);
            assert!(windows.iter().all(|ns| ns.is_finite() && *ns >= 0.0), "{}", probe.name);
            assert!(!windows.is_empty() || probe.workers > 1, "{}", probe.name);
        }
    }

    #[test]
    fn names_are_distinct_and_find_their_loops() {
        for probe in LOOPS {
            assert_eq!(ProbeLoop::of_name(probe.name).map(|found| found.says), Some(probe.says));
        }
        assert!(ProbeLoop::of_name("nothing").is_none());
    }
}
