//! A value behind a latch, and a value alone on its cache lines.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use crate::hint;
use crate::latch::{Latch, LatchGuard};

/// A value on cache lines of its own, so that its neighbours' writes do not slow its readers.
/// Two lines, because the processor fetches them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Padded<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A value that only the holder of its latch touches: the cold shared state of the engine.
#[derive(Debug, Default)]
pub struct Latched<T> {
    latch: Latch,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through `&mut self` or a guard, and the latch admits one guard.
unsafe impl<T: Send> Sync for Latched<T> {}

/// Access to a [`Latched`] value until dropped.
pub struct LatchedGuard<'a, T> {
    value: &'a UnsafeCell<T>,
    _guard: LatchGuard<'a>,
}

impl<T> Latched<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self { latch: Latch::new(), value: UnsafeCell::new(value) }
    }

    /// Waits for the latch and lends the value.
    #[inline]
    pub fn lock(&self) -> LatchedGuard<'_, T> {
        LatchedGuard::new(self.latch.lock(), &self.value)
    }

    /// Waits for the latch and lends the value, or gives up when another holds the latch and `is_wanted` no longer
    /// holds.
    #[inline]
    pub fn lock_while(&self, is_wanted: impl Fn() -> bool) -> Option<LatchedGuard<'_, T>> {
        Some(LatchedGuard::new(self.latch.lock_while(is_wanted)?, &self.value))
    }

    /// Lends the value if nobody holds the latch.
    #[inline]
    pub fn try_lock(&self) -> Option<LatchedGuard<'_, T>> {
        Some(LatchedGuard::new(self.latch.try_lock()?, &self.value))
    }

    /// Lends the value to its only owner.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<'a, T> LatchedGuard<'a, T> {
    #[inline]
    fn new(guard: LatchGuard<'a>, value: &'a UnsafeCell<T>) -> Self {
        hint::writes(value);
        Self { value, _guard: guard }
    }
}

impl<T> Deref for LatchedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard holds the latch, so no other reference to the value lives.
        unsafe { &*self.value.get() }
    }
}

impl<T> DerefMut for LatchedGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the latch and is borrowed mutably, so the reference is the only one.
        unsafe { &mut *self.value.get() }
    }
}

impl<T> core::fmt::Debug for LatchedGuard<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("LatchedGuard")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::workers;

    #[test]
    fn no_increment_under_the_latch_is_lost() {
        let counter = Latched::new(0_u64);
        workers::run(4, false, |_| {
            for _ in 0..10_000 {
                *counter.lock() += 1;
            }
        });
        assert_eq!(counter.into_inner(), 40_000);
    }

    #[test]
    fn a_held_latch_refuses() {
        let value = Latched::new(1);
        let guard = value.lock();
        assert!(value.try_lock().is_none());
        drop(guard);
        assert_eq!(*value.try_lock().expect("the latch is free"), 1);
    }

    #[test]
    fn who_no_longer_wants_the_latch_does_not_wait_for_it() {
        let value = Latched::new(1);
        assert_eq!(value.lock_while(|| false).map(|value| *value), Some(1), "it is free");
        let looks = Cell::new(0);
        let guard = value.lock();
        let wants = || {
            looks.set(looks.get() + 1);
            looks.get() < 3
        };
        assert!(value.lock_while(wants).is_none());
        assert_eq!(looks.get(), 3);
        drop(guard);
    }

    #[test]
    fn padded_values_share_no_lines() {
        assert_eq!(size_of::<[Padded<u8>; 2]>(), 256);
    }
}
