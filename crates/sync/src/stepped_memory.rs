//! Memory in the stepped build: its addresses ascend in the order of the calls.
//!
//! So the order of two records' addresses, and a schedule that depends on it, is the same whatever the
//! process did before. Pages come straight from the system, at addresses far from those that it
//! chooses itself.

use core::alloc::Layout;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicUsize, Ordering};
use std::alloc::handle_alloc_error;

/// Where memory is asked for, again and again from the start: within the 128 TiB that a process has.
const FIRST: usize = 16 << 40;
const LAST: usize = 96 << 40;
static NEXT: AtomicUsize = AtomicUsize::new(FIRST);

/// How far apart places are tried when one is taken, and how many.
const STRIDE: usize = 1 << 30;
const TRIES: usize = 16;

/// Memory of this layout, at a higher address than all before it (but once in 80 TiB). Its contents are
/// undefined; it ends the process when there is none left.
///
/// # Panics
/// When the size is zero.
pub fn allocate(layout: Layout) -> NonNull<u8> {
    assert!(layout.size() > 0, "an allocation has a size");
    let mut skip = 0;
    for _ in 0..TRIES {
        let wanted = reserve(layout, skip);
        let Some(mapped) = map(wanted, layout.size()) else { break };
        if mapped.addr().get() == wanted {
            return mapped;
        }
        // SAFETY: it was mapped just now with this size, and nobody has it.
        unsafe { unmap(mapped, layout.size()) };
        skip = STRIDE;
    }
    handle_alloc_error(layout)
}

/// Gives memory back.
///
/// # Safety
/// `start` came from [`allocate`] with the same layout and has not been given back; nobody uses it
/// any more.
pub unsafe fn free(start: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { unmap(start, layout.size()) };
}

/// Takes addresses that nobody else takes, aligned for `layout` and `skip` bytes further on.
fn reserve(layout: Layout, skip: usize) -> usize {
    let after = |next: usize| {
        let start = (next + skip).next_multiple_of(layout.align().max(PAGE));
        let end = (start + layout.size()).next_multiple_of(PAGE);
        if end <= LAST { (start, end) } else { (FIRST, FIRST + layout.size().next_multiple_of(PAGE)) }
    };
    // Relaxed: the addresses are told apart by the exchange alone. No step: it is no shared word of the
    // workers.
    let update = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| Some(after(next).1));
    after(update.expect("there is always a next place")).0
}

/// The largest page that any system here uses.
const PAGE: usize = 64 << 10;

/// Maps fresh pages, at `wanted` if that is free.
fn map(wanted: usize, bytes: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let hint = ptr::without_provenance_mut(wanted);
    // SAFETY: without MAP_FIXED the address is a hint, so no mapping of others is touched.
    let mapped = unsafe { libc::mmap(hint, bytes, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED { None } else { NonNull::new(mapped.cast()) }
}

/// Unmaps pages.
///
/// # Safety
/// `start` came from [`map`] with the same size and has not been unmapped; nobody uses it any more.
unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    let status = unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
    assert_eq!(status, 0, "what was mapped can be unmapped");
}
