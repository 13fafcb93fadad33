//! The loom back end: atomics whose every allowed outcome a model tries, for the kernels in `tests/`.

/// Loom's atomics under the names of `core`.
pub mod atomic {
    pub use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Hints to the processor.
pub mod hint {
    pub use loom::hint::spin_loop;

    /// Nothing: it changes no outcome.
    #[inline(always)]
    pub fn prefetch<T>(_address: *const T) {}

    /// Nothing: it changes no outcome.
    #[inline(always)]
    pub fn prefetch_for_write<T>(_address: *const T) {}
}

/// Never: this build has no planted bugs.
#[inline(always)]
pub const fn is_planted(_plant: &'static crate::plant::Plant) -> bool {
    false
}

/// One is enough: each spin lets the others run already.
pub(crate) const BACKOFF_SPINS: u32 = 1;

/// Lets another thread of the model run.
pub(crate) fn yield_now() {
    loom::thread::yield_now();
}

/// Lets another thread of the model run: see the native back end.
pub(crate) fn idle(_round: u32, _until_ns: Option<u64>, _looking: bool) {
    loom::thread::yield_now();
}

/// Lets the other threads go on.
pub(crate) fn work(_until_ns: u64) {
    hint::spin_loop();
}

/// Nobody sleeps here.
pub(crate) fn has_slept_ns(_ns: u64) {}

/// Nobody sleeps here.
pub(crate) fn slept_ns() -> u64 {
    0
}
