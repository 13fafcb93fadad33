//! Memory in the stepped build: its addresses ascend in the order of the calls.
//!
//! So the order of two records' addresses, and a schedule that depends on it, is the same whatever the
//! process did before. Memory comes from *regions*, each of which serves one thread, from its start to its end;
//! a thread that has given everything back begins at the start of its region again, with the pages that it has. So
//! ten thousand tiny databases, one after the other, cost no system call. Regions come straight from the
//! system, at addresses far from those that it chooses itself, each above all before it.

use core::alloc::Layout;
use core::cell::RefCell;
use core::ptr::{self, NonNull};
use std::alloc::handle_alloc_error;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::heap;

/// Where the search for a place of a region begins, again and again from the start, and where it ends: before the
/// places of [heaps](crate::heap).
const FIRST: usize = 16 << 40;
const LAST: usize = 64 << 40;

/// Bytes of a region, unless one call asks for more. It is address space; only pages that were touched take
/// memory.
const REGION: usize = 64 << 20;

/// The distance between the places that are tried when one is taken, and the number of tries.
const STRIDE: usize = 1 << 30;
const TRIES: usize = 16;

/// The largest page that any system here uses.
const PAGE: usize = 64 << 10;

/// All regions of the process: memory may be given back by another thread than the one that asked for it.
static REGIONS: Mutex<Regions> = Mutex::new(Regions { next: FIRST, all: Vec::new() });

struct Regions {
    /// Where the next region is asked for.
    next: usize,
    all: Vec<Region>,
}

/// Addresses from which one thread is served.
struct Region {
    start: NonNull<u8>,
    bytes: usize,
    /// Bytes handed out and not used again.
    used: usize,
    /// Pieces that were not given back.
    live: usize,
    /// Whether its thread uses another region now, or has ended.
    is_left: bool,
}

// SAFETY: the memory of a region belongs to the region alone, and any thread may unmap it.
unsafe impl Send for Region {}

/// The region of a thread, by its address; it is left when the thread ends.
struct Current(Option<usize>);

impl Drop for Current {
    fn drop(&mut self) {
        if let Some(start) = self.0 {
            regions().leave(start);
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current(None)) };
}

fn regions() -> MutexGuard<'static, Regions> {
    // No step: the lock is no shared word of the workers. A thread that panicked with it left the regions in
    // order.
    REGIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory of this layout, at a higher address than all memory that this thread has and has not given back (except
/// once in 48 TiB). Its contents are undefined; it ends the process when there is none left.
///
/// # Panics
/// When the size is zero.
pub fn allocate(layout: Layout) -> NonNull<u8> {
    assert!(layout.size() > 0, "an allocation has a size");
    CURRENT.with_borrow_mut(|current| {
        let mut regions = regions();
        let served = current.0.and_then(|start| regions.at(start).serve(layout));
        served.unwrap_or_else(|| {
            if let Some(start) = current.0 {
                regions.leave(start);
            }
            current.0 = Some(regions.add(layout));
            regions.all.last_mut().and_then(|region| region.serve(layout)).expect("a new region has room")
        })
    })
}

/// As [`allocate`]: databases that are stepped are small, so that there is memory for them.
///
/// # Panics
/// As [`allocate`].
pub fn try_allocate(layout: Layout) -> Option<NonNull<u8>> {
    Some(allocate(layout))
}

/// Gives memory back.
///
/// # Safety
/// `start` came from [`allocate`] with the same layout and has not been given back; nobody uses it
/// any more.
pub unsafe fn free(start: NonNull<u8>, _layout: Layout) {
    let mut regions = regions();
    let region = regions.at(start.addr().get());
    region.live -= 1;
    if region.live == 0 {
        region.used = 0;
        regions.remove_left();
    }
}

impl Regions {
    /// The region that contains an address.
    fn at(&mut self, address: usize) -> &mut Region {
        let holds = |region: &&mut Region| address.wrapping_sub(region.start.addr().get()) < region.bytes;
        self.all.iter_mut().find(holds).expect("memory is of a region")
    }

    /// Marks a region as left: it serves no more memory.
    fn leave(&mut self, start: usize) {
        self.at(start).is_left = true;
        self.remove_left();
    }

    fn remove_left(&mut self) {
        for region in self.all.extract_if(.., |region| region.is_left && region.live == 0) {
            // SAFETY: the region was mapped with this size, nobody knows it any more, and nobody has memory of it.
            unsafe { unmap(region.start, region.bytes) };
        }
        if self.all.is_empty() {
            // Schemes may choose words by the addresses of records: the next database has the same ones.
            self.next = FIRST;
        }
    }

    /// Adds a region that has room for this layout, above all others, and returns its address.
    fn add(&mut self, layout: Layout) -> usize {
        let bytes = (layout.size() + layout.align()).next_multiple_of(PAGE).max(REGION);
        for _ in 0..TRIES {
            let wanted = if self.next + bytes <= LAST { self.next } else { FIRST };
            let Some(start) = map(wanted, bytes) else { break };
            if start.addr().get() == wanted {
                self.next = wanted + bytes;
                let region = Region { start, bytes, used: 0, live: 0, is_left: false };
                heap::outside(|| self.all.push(region));
                return wanted;
            }
            // SAFETY: it was mapped just now with this size, and nobody has it.
            unsafe { unmap(start, bytes) };
            self.next = wanted + STRIDE;
        }
        handle_alloc_error(layout)
    }
}

impl Region {
    /// Memory behind all that was served before, if there is room.
    fn serve(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let start = self.start.addr().get();
        let at = (start + self.used).next_multiple_of(layout.align()) - start;
        let end = at.checked_add(layout.size()).filter(|&end| end <= self.bytes)?;
        (self.used, self.live) = (end, self.live + 1);
        // SAFETY: `at` is within the region.
        Some(unsafe { self.start.add(at) })
    }
}

/// Maps fresh pages, at `wanted` if that is free.
pub(crate) fn map(wanted: usize, bytes: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let hint = ptr::without_provenance_mut(wanted);
    // SAFETY: without MAP_FIXED the address is a hint, so no mapping of others is touched.
    let mapped = unsafe { libc::mmap(hint, bytes, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED { None } else { NonNull::new(mapped.cast()) }
}

/// Unmaps pages. If the system refuses, they stay mapped and nobody uses them: their place counts as taken.
///
/// # Safety
/// `start` came from [`map`] with the same size and has not been unmapped; nobody uses it any more.
pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    let _status = unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
}
