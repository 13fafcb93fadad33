//! The native back end: the machine's own atomics under their own names, so that it costs nothing.

/// Atomic integers, pointers, fences and orderings.
pub mod atomic {
    pub use core::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Hints to the processor.
pub mod hint {
    pub use core::hint::spin_loop;

    pub use crate::host::{prefetch, prefetch_for_write};

    /// Says that the caller, who has the latch or the loan of this plain memory, reads it. Does nothing but in
    /// simulations, which see no other access than those to shared words. For memory that other workers write.
    #[inline(always)]
    pub fn reads<T: ?Sized>(_memory: &T) {}

    /// As [`reads`], of memory that the caller writes.
    #[inline(always)]
    pub fn writes<T: ?Sized>(_memory: &T) {}

    /// As [`writes`], of the last element of a list.
    #[inline(always)]
    pub fn pushes<T>(_list: &[T]) {}
}

/// Does nothing: see [`RareChange`](crate::RareChange).
#[inline(always)]
pub(crate) const fn changes_rarely(_begins: bool) {}

/// Returns false: this build has no planted bugs.
#[inline(always)]
pub const fn is_planted(_plant: &'static crate::plant::Plant) -> bool {
    false
}

/// Returns false: words are copied one by one.
#[inline(always)]
pub(crate) fn load_words(_from: &[atomic::AtomicU64], _to: &mut [u64]) -> bool {
    false
}

/// Returns false: words are copied one by one.
#[inline(always)]
pub(crate) fn store_words(_to: &[atomic::AtomicU64], _from: &[u64]) -> bool {
    false
}

/// Returns false: words are copied one by one.
#[inline(always)]
pub(crate) fn copy_words(_to: &[atomic::AtomicU64], _from: &[atomic::AtomicU64]) -> bool {
    false
}

/// How often a [`crate::Backoff`] spins before it gives the core away.
pub(crate) const BACKOFF_SPINS: u32 = 6;

/// Gives the core to another thread that wants it, after so many looks in vain: simulated time counts them.
#[inline]
pub(crate) fn yield_now(_looks: u32) {
    std::thread::yield_now();
}

/// Passes a little time of a thread that has nothing to do before `until_ns`, if that is given. With `looking` the
/// thread also waits for something that another thread may do at any moment. `round` counts the calls in vain: the
/// longer the wait, the cheaper and the coarser. A thread that waits only for a moment soon sleeps, until shortly
/// before the moment: on a busy machine, each yield in vain would wait for its turn.
pub(crate) fn idle(round: u32, until_ns: Option<u64>, looking: bool) {
    /// About four microseconds: longer than a running thread holds a lock.
    const SPIN_ROUNDS: u32 = 64;
    /// About a hundred microseconds on an idle machine; on a busy one, others run meanwhile.
    const YIELD_ROUNDS: u32 = 512;
    /// About the time that the system needs to wake a thread up: shorter sleeps are not possible.
    const NAP_NS: u64 = 50_000;
    if round < SPIN_ROUNDS {
        core::hint::spin_loop();
        return;
    }
    let left_ns = until_ns.map_or(u64::MAX, |until_ns| until_ns.saturating_sub(crate::clock::now_ns()));
    if looking && round < YIELD_ROUNDS || left_ns < 2 * NAP_NS {
        std::thread::yield_now();
    } else {
        let nap_ns = if looking { NAP_NS } else { left_ns - NAP_NS };
        let start_ns = crate::clock::now_ns();
        std::thread::sleep(std::time::Duration::from_nanos(nap_ns));
        has_slept_ns(crate::clock::now_ns() - start_ns);
    }
}

/// Counts time that the calling thread has slept because none of its work could go on.
pub(crate) fn has_slept_ns(ns: u64) {
    SLEPT_NS.set(SLEPT_NS.get() + ns);
}

thread_local! {
    static SLEPT_NS: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Keeps the core busy for a short time, not until the moment.
pub(crate) fn work(_until_ns: u64) {
    core::hint::spin_loop();
}

/// Nanoseconds that the calling thread has slept because none of its work could go on.
pub(crate) fn slept_ns() -> u64 {
    SLEPT_NS.get()
}
