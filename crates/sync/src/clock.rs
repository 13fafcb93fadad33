//! Time: a tick counter for measuring, and nanoseconds for waiting.
//!
//! Latencies are differences of [`ticks`], which cost a few nanoseconds; deadlines are compared with
//! [`now_ns`], which all threads share. Nothing here is the wall clock: no result may depend on it.

use std::sync::OnceLock;

use crate::atomic::{Ordering, fence};

/// The processor's time stamp counter: cheap, monotonic on one core, and of a constant rate on every
/// processor this runs on. Where there is none it is [`now_ns`].
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: reading the time stamp counter has no precondition on x86_64.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        now_ns()
    }
}

/// Like [`ticks`], read at a moment before everything that follows: no later load has been made yet.
///
/// If one thread's [`after`] is less than another thread's `before`, everything that the first thread did before its
/// reading comes before everything that the other thread does after its own.
#[inline]
pub fn before() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86_64 processor has the instruction. The counter is not read before an earlier reading has
        // ended, which would be a step back ...
        unsafe { core::arch::x86_64::_mm_lfence() };
        let ticks = ticks();
        // SAFETY: as above. ... nor does what follows begin before it is read.
        unsafe { core::arch::x86_64::_mm_lfence() };
        ticks
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let now_ns = now_ns();
        fence(Ordering::SeqCst); // SeqCst fence: later loads come after it, as the clock's own loads came before it.
        now_ns
    }
}

/// Like [`ticks`], read after all earlier loads and before all later stores. Of two readings, the second is not less
/// than the first if a value that was stored after the first was seen before the second. Later loads may be made before
/// the reading; [`before`] excludes that.
#[inline]
pub fn between() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86_64 processor has the instruction. The counter is not read before earlier loads have been
        // made; that no store is seen before its instruction has ended, and earlier ones with it, is the machine's own
        // order.
        unsafe { core::arch::x86_64::_mm_lfence() };
        ticks()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        before()
    }
}

/// Like [`ticks`], read after everything that came before: at that moment every thread can see all earlier stores.
#[inline]
pub fn after() -> u64 {
    // SeqCst fence: the processor may read its counter while earlier stores are still on their way.
    fence(Ordering::SeqCst);
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86_64 processor has the instruction. The counter is not read before the fence has ended.
        unsafe { core::arch::x86_64::_mm_lfence() };
    }
    ticks()
}

/// Whether [`ticks`] of different cores can be compared: if an event comes after a first reading, and a second reading,
/// made with [`before`], comes after the event, then the second reading is not less than the first. The processor must
/// promise a constant rate in all states, and the system must have found nothing wrong with the counter.
pub fn ticks_are_shared() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // Bit 8 of EDX of leaf 0x8000_0007: the counter is invariant (Intel SDM 17.17.1; AMD APM 3, E.4.7).
        let has_leaf = core::arch::x86_64::__cpuid(0x8000_0000).eax >= 0x8000_0007;
        let is_invariant = has_leaf && core::arch::x86_64::__cpuid(0x8000_0007).edx & 1 << 8 != 0;
        // Linux takes a counter out of this list for good when it sees two cores disagree.
        let sources = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
        let listed = std::fs::read_to_string(sources);
        is_invariant && listed.is_ok_and(|sources| sources.split_whitespace().any(|source| source == "tsc"))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        true
    }
}

/// Nanoseconds in `ticks`. The first call measures the rate of the counter, which takes about a
/// millisecond: make it before the measured time begins.
pub fn ticks_to_ns(ticks: u64) -> u64 {
    static NS_PER_TICK: OnceLock<u64> = OnceLock::new();
    let scale = *NS_PER_TICK.get_or_init(measure_ns_per_tick);
    ((u128::from(ticks) * u128::from(scale)) >> SCALE_BITS) as u64
}

/// Nanoseconds of a monotonic clock with an arbitrary start, the same for all threads.
#[inline]
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Says that the caller has executed so many instructions beyond those that belong to its accesses to shared words:
/// does nothing but in simulations, where they take time. The numbers are means of native runs.
#[inline]
pub fn compute(_instructions: u64) {}

/// Begins or ends the measured part of a run: does nothing but in simulations, which count where the time goes in it.
#[inline]
pub fn measure(_is_on: bool) {}

/// Says that all workers are to end within so many nanoseconds: does nothing but in simulations, which give up if
/// workers wait for each other for ever.
#[inline]
pub fn end_within(_ns: u64) {}

/// Nanoseconds of processor time that the calling thread has used.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The rate is kept as a fixed-point number with this many bits after the point: at 1 to 8 ticks a
/// nanosecond it is exact to ten digits.
const SCALE_BITS: u32 = 32;

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer, which is all that the call needs.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(status, 0, "the system has the clocks that POSIX demands");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds a tick, scaled by [`SCALE_BITS`], measured over a millisecond.
fn measure_ns_per_tick() -> u64 {
    const MEASURED_NS: u64 = 1_000_000;
    let (first_tick, first_ns) = simultaneous();
    while now_ns() < first_ns + MEASURED_NS {
        core::hint::spin_loop();
    }
    let (last_tick, last_ns) = simultaneous();
    let ticks = (last_tick - first_tick).max(1);
    ((u128::from(last_ns - first_ns) << SCALE_BITS) / u128::from(ticks)) as u64
}

/// Both clocks at one moment: of a few pairs of readings the pair that was read quickest, because the others were
/// interrupted between the two readings.
fn simultaneous() -> (u64, u64) {
    let pair = || {
        let before = ticks();
        let ns = now_ns();
        let after = ticks();
        (after - before, before + (after - before) / 2, ns)
    };
    let (_, tick, ns) = (0..8).map(|_| pair()).min().expect("eight pairs were read");
    (tick, ns)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_nanoseconds_agree() {
        let (first_tick, first_ns) = simultaneous();
        while now_ns() < first_ns + 20_000_000 {}
        let (last_tick, last_ns) = simultaneous();
        let by_ticks = ticks_to_ns(last_tick - first_tick) as f64;
        let ratio = by_ticks / (last_ns - first_ns) as f64;
        assert!((0.98..1.02).contains(&ratio), "ticks are off by a factor of {ratio}");
    }

    #[test]
    fn cpu_time_is_the_threads_own() {
        let before = thread_cpu_ns();
        while thread_cpu_ns() == before {}
        assert!(thread_cpu_ns() > before);
    }
}
