//! The loom back end, for the kernels in `tests/`: a model tries every allowed outcome of its
//! atomics.

/// Loom's atomics under the names of `core`.
pub mod atomic {
    pub use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Hints to the processor.
pub mod hint {
    pub use loom::hint::spin_loop;

    /// Does nothing: a prefetch changes no outcome.
    #[inline(always)]
    pub fn prefetch<T>(_address: *const T) {}

    /// Does nothing: a prefetch changes no outcome.
    #[inline(always)]
    pub fn prefetch_for_write<T>(_address: *const T) {}

    /// Does nothing: a latch orders what it protects.
    #[inline(always)]
    pub fn reads<T: ?Sized>(_memory: &T) {}

    /// Does nothing: a latch orders what it protects.
    #[inline(always)]
    pub fn writes<T: ?Sized>(_memory: &T) {}

    /// Does nothing: a latch orders what it protects.
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
pub(crate) fn load_words(_from: &[atomic::AtomicU64], _to: &mut [u64]) -> bool {
    false
}

/// Returns false: words are copied one by one.
pub(crate) fn store_words(_to: &[atomic::AtomicU64], _from: &[u64]) -> bool {
    false
}

/// Returns false: words are copied one by one.
pub(crate) fn copy_words(_to: &[atomic::AtomicU64], _from: &[atomic::AtomicU64]) -> bool {
    false
}

/// One spin is enough: each spin already lets the other threads run.
pub(crate) const BACKOFF_SPINS: u32 = 1;

/// Lets another thread of the model run.
pub(crate) fn yield_now(_looks: u32) {
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

/// Does nothing: nobody sleeps in this build.
pub(crate) fn has_slept_ns(_ns: u64) {}

/// Returns 0: nobody sleeps in this build.
pub(crate) fn slept_ns() -> u64 {
    0
}
