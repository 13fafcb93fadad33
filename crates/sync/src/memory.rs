//! Memory for records, whose addresses schemes may compare, for instance to lock in one order.
//!
//! Natively this is the allocator. In the stepped build addresses ascend in the order of the calls; otherwise a
//! schedule would depend on the earlier contents of the allocator's heap.

use core::alloc::Layout;
use core::ptr::NonNull;
use std::alloc::{alloc, dealloc, handle_alloc_error};

/// Memory of this layout. Its contents are undefined; it ends the process when there is none left.
///
/// # Panics
/// When the size is zero.
pub fn allocate(layout: Layout) -> NonNull<u8> {
    try_allocate(layout).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Memory of this layout, like [`allocate`]; `None` when there is none left. For pieces whose size a caller
/// decides.
///
/// # Panics
/// When the size is zero.
pub fn try_allocate(layout: Layout) -> Option<NonNull<u8>> {
    assert!(layout.size() > 0, "an allocation has a size");
    // SAFETY: the size is not zero.
    let start = unsafe { alloc(layout) };
    NonNull::new(start)
}

/// Gives memory back.
///
/// # Safety
/// `start` came from [`allocate`] with the same layout and has not been given back; nobody uses it
/// any more.
pub unsafe fn free(start: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(start.as_ptr(), layout) };
}
