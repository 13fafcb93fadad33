//! Reports to `AddressSanitizer` about memory that this program recycles itself, without the allocator: nobody may
//! touch such memory before it serves again. Only builds with `--cfg contend_asan`, which `cargo xtask sanitize`
//! makes, report anything.

use core::ptr::NonNull;

/// Poisons memory that belongs to the caller: from now on a touch of it ends the process with a report.
#[inline]
pub fn poison(start: NonNull<u8>, bytes: usize) {
    #[cfg(contend_asan)]
    asan::__asan_poison_memory_region(start.as_ptr(), bytes);
    let _ = (start, bytes);
}

/// Allows the memory to be touched again.
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
