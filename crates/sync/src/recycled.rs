//! What `AddressSanitizer` is told of memory that we recycle, and not the allocator: nobody may touch it before it
//! serves again. Only builds with `--cfg contend_asan` tell it anything, which `cargo xtask sanitize` makes.

use core::ptr::NonNull;

/// From now on a touch of this memory, which belongs to the caller, ends the process with a report.
#[inline]
pub fn poison(start: NonNull<u8>, bytes: usize) {
    #[cfg(contend_asan)]
    asan::__asan_poison_memory_region(start.as_ptr(), bytes);
    let _ = (start, bytes);
}

/// The memory may be touched again.
#[inline]
pub fn unpoison(start: NonNull<u8>, bytes: usize) {
    #[cfg(contend_asan)]
    asan::__asan_unpoison_memory_region(start.as_ptr(), bytes);
    let _ = (start, bytes);
}

#[cfg(contend_asan)]
mod asan {
    // SAFETY: as declared in `sanitizer/asan_interface.h`; both mark addresses and touch nothing.
    unsafe extern "C" {
        pub(super) safe fn __asan_poison_memory_region(start: *const u8, bytes: usize);
        pub(super) safe fn __asan_unpoison_memory_region(start: *const u8, bytes: usize);
    }
}
