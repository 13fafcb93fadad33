//! The heap of a simulation: the same calls get memory at the same distances, whatever the process did before and
//! whichever C library it has.
//!
//! A simulated run depends on which words share a cache line, and so on where the allocator puts them. So a run asks
//! for its memory [`within`] a heap of its own, and the simulator, which is no part of the simulated program, asks
//! [`outside`] of it. [`Allocator`] is the allocator of programs that simulate; outside of simulations it is the
//! system's.
//!
//! As in the allocators that programs have today, each worker has a *pool* of small pieces of its own. So two workers
//! do not come to share a line merely because they ask for memory at the same time. A piece that is given back belongs
//! to the pool of the worker that gave it back; if that is no worker of the simulation, to the pool of those that are
//! none.
//!
//! A heap has a place of its own in the address space, so that an address tells to which heap it belongs. The memory of
//! a heap goes back to the system when the simulation has ended and all its pieces were given back.
//!
//! Invariants on which the unsafe code below rests:
//!
//! 1. A free piece is in one list of one pool, and its first word has the address of the next one, or 0.
//! 2. The list of a class has pieces of the size of this class, at addresses that are multiples of [`align_of_size`].
//! 3. Memory between `used` and `mapped`, and the rest of each chunk, was never handed out, and is zero.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr::{self, NonNull};
use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::memory::{map, unmap};
use crate::workers;

/// Where the heaps are: behind the places of [`memory`](crate::memory), and before those that systems choose.
const FIRST: usize = 64 << 40;
/// The addresses of a heap. Only pages that were touched take memory.
const SLOT: usize = 128 << 30;
const SLOTS: usize = 128;

/// A heap grows by so many bytes at least.
const GROWTH: usize = 64 << 20;
/// The memory of which a pool cuts its small pieces.
const CHUNK: usize = 64 << 10;
/// Larger pieces are cut from the heap itself.
const SMALL_MAX: usize = 16 << 10;
/// The pages of a piece of this size or more go back to the system with the piece.
const RETURNED_MIN: usize = 1 << 20;
/// Whether pages that went back to the system are zero when they are used again: of private memory only Linux says so.
const ARE_ZERO_WHEN_RETURNED: bool = cfg!(target_os = "linux");
/// The largest alignment that a heap has.
const PAGE: usize = 4096;

/// The sizes of pieces: multiples of 16 bytes up to 1 KiB, and four between each two powers of two beyond.
const FINE_MAX: usize = 1 << 10;
const CLASSES: usize = FINE_MAX / 16 + 1 + 4 * (SLOT.trailing_zeros() - FINE_MAX.trailing_zeros()) as usize;

/// An allocator that serves threads within a simulation from its heap, and others from the system.
#[derive(Debug)]
pub struct Allocator;

static HEAPS: [Mutex<Heap>; SLOTS] = [const { Mutex::new(Heap::NONE) }; SLOTS];

/// In place of a heap, for a thread outside of simulations.
const OUTSIDE: usize = 0;

thread_local! {
    /// The heap of the thread, by its index in [`HEAPS`] plus one, or [`OUTSIDE`].
    static CURRENT: Cell<usize> = const { Cell::new(OUTSIDE) };
}

struct Heap {
    /// Whether its simulation goes on.
    is_open: bool,
    /// Bytes from its start that are mapped, and those that were handed out to callers or pools.
    mapped: usize,
    used: usize,
    /// Pieces that were not given back.
    live: usize,
    /// The pool of what runs outside of workers, and those of the workers.
    pools: Vec<Pool>,
}

struct Pool {
    /// The first free piece of each class, or 0.
    free: [usize; CLASSES],
    /// The rest of the chunk from which small pieces are cut.
    chunk: core::ops::Range<usize>,
}

/// Runs `body`, to which a heap of its own serves all memory that it asks for on this thread. If the result has
/// memory of the heap, its pages stay until that is given back: callers that keep results for long make copies.
///
/// If the process has no place for another heap, `body` gets its memory from the system.
///
/// # Panics
/// Within another simulation.
pub fn within<R>(body: impl FnOnce() -> R) -> R {
    assert!(CURRENT.get() == OUTSIDE, "a simulation has one heap");
    let slot = open();
    let _enter = Enter(CURRENT.replace(slot.map_or(OUTSIDE, |slot| slot + 1)));
    let _close = slot.map(Close);
    body()
}

/// Runs `body`, which is no part of the simulation: memory that it asks for comes from the system.
pub fn outside<R>(body: impl FnOnce() -> R) -> R {
    let _enter = Enter(CURRENT.replace(OUTSIDE));
    body()
}

/// The number of heaps that are mapped: of simulations that go on, and of those whose pieces were not all given back.
pub fn count() -> usize {
    HEAPS.iter().filter(|heap| lock(heap).mapped > 0).count()
}

/// Makes the heap current again that was current before, when dropped.
struct Enter(usize);

impl Drop for Enter {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Ends a simulation, when dropped.
struct Close(usize);

impl Drop for Close {
    fn drop(&mut self) {
        let mut heap = lock(&HEAPS[self.0]);
        heap.is_open = false;
        heap.release_if_done(self.0);
    }
}

fn lock(heap: &Mutex<Heap>) -> MutexGuard<'_, Heap> {
    // No step: the lock is no shared word of the workers.
    heap.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a heap at the first free place where the system has room.
fn open() -> Option<usize> {
    (0..SLOTS).find(|&slot| {
        let mut heap = lock(&HEAPS[slot]);
        let is_free = heap.mapped == 0;
        is_free && heap.grow(slot, GROWTH) && {
            heap.is_open = true;
            true
        }
    })
}

/// The heap of an address.
#[inline]
fn slot_of(address: usize) -> Option<usize> {
    let slot = address.wrapping_sub(FIRST) / SLOT;
    (slot < SLOTS).then_some(slot)
}

fn start_of(slot: usize) -> usize {
    FIRST + slot * SLOT
}

/// The class of a size, which is not zero, and the size of the pieces of this class.
fn class(size: usize) -> (usize, usize) {
    if size <= FINE_MAX {
        let class = size.div_ceil(16);
        return (class, class * 16);
    }
    let doubling = (size - 1).ilog2();
    let step = 1_usize << (doubling - 2);
    let steps = (size - (1 << doubling)).div_ceil(step);
    let class = FINE_MAX / 16 + 4 * (doubling - FINE_MAX.ilog2()) as usize + steps;
    (class, (1 << doubling) + steps * step)
}

/// The alignment of pieces of this size.
fn align_of_size(size: usize) -> usize {
    (1 << size.trailing_zeros()).min(PAGE)
}

/// The size to look for in place of that of a layout, so that the piece has the layout's alignment.
fn size_of_layout(layout: Layout) -> usize {
    if layout.align() <= 16 { layout.size() } else { layout.size().max(layout.align()).next_power_of_two() }
}

impl Heap {
    const NONE: Self = Self { is_open: false, mapped: 0, used: 0, live: 0, pools: Vec::new() };

    /// A piece for a layout, and whether it is fresh: its bytes are zero then.
    fn serve(&mut self, slot: usize, layout: Layout) -> Option<(NonNull<u8>, bool)> {
        let pool = workers::running().map_or(0, |worker| worker + 1);
        let (class, size) = class(size_of_layout(layout));
        if class >= CLASSES {
            return None;
        }
        self.add_pools(pool);
        let free = self.pools[pool].free[class];
        let (address, is_fresh) = if free == 0 {
            (self.cut(slot, pool, size)?, true)
        } else {
            let piece: *mut usize = ptr::with_exposed_provenance_mut(free);
            // SAFETY: invariants 1 and 2. A word that is zero again makes large pieces zero.
            self.pools[pool].free[class] = unsafe { piece.replace(0) };
            (free, size >= RETURNED_MIN)
        };
        self.live += 1;
        NonNull::new(ptr::with_exposed_provenance_mut(address)).map(|piece| (piece, is_fresh))
    }

    fn add_pools(&mut self, last: usize) {
        if last >= self.pools.len() {
            // The lists are no memory of the simulated program.
            outside(|| self.pools.resize_with(last + 1, || Pool { free: [0; CLASSES], chunk: 0..0 }));
        }
    }

    /// A piece of this size that nobody had before.
    fn cut(&mut self, slot: usize, pool: usize, size: usize) -> Option<usize> {
        if size > SMALL_MAX {
            return self.take(slot, size.next_multiple_of(PAGE));
        }
        let fits = |chunk: &core::ops::Range<usize>| {
            let at = chunk.start.next_multiple_of(align_of_size(size));
            (at + size <= chunk.end).then_some(at)
        };
        let at = if let Some(at) = fits(&self.pools[pool].chunk) {
            at
        } else {
            let start = self.take(slot, CHUNK)?;
            self.pools[pool].chunk = start..start + CHUNK;
            start
        };
        self.pools[pool].chunk.start = at + size;
        Some(at)
    }

    /// Whole pages that nobody had before.
    fn take(&mut self, slot: usize, bytes: usize) -> Option<usize> {
        let end = self.used.checked_add(bytes)?;
        if end > self.mapped && !self.grow(slot, (end - self.mapped).next_multiple_of(GROWTH)) {
            return None;
        }
        let at = start_of(slot) + self.used;
        self.used = end;
        Some(at)
    }

    /// Maps more pages behind those that are mapped. Returns false if there is no room.
    fn grow(&mut self, slot: usize, bytes: usize) -> bool {
        if self.mapped + bytes > SLOT {
            return false;
        }
        let wanted = start_of(slot) + self.mapped;
        let Some(start) = map(wanted, bytes) else { return false };
        if start.as_ptr().expose_provenance() != wanted {
            // SAFETY: it was mapped just now with this size, and nobody has it.
            unsafe { unmap(start, bytes) };
            return false;
        }
        self.mapped += bytes;
        true
    }

    /// Takes a piece back.
    ///
    /// # Safety
    /// This heap has served the piece for this layout, and nobody uses it any more.
    unsafe fn take_back(&mut self, slot: usize, piece: *mut u8, layout: Layout) {
        let is_own = CURRENT.get() == slot + 1;
        let pool = workers::running().filter(|_| is_own).map_or(0, |worker| worker + 1);
        let (class, size) = class(size_of_layout(layout));
        self.add_pools(pool);
        if size >= RETURNED_MIN {
            // SAFETY: these whole pages are of the piece, whose content nobody needs.
            let status = unsafe { libc::madvise(piece.cast(), size, libc::MADV_DONTNEED) };
            if status != 0 || !ARE_ZERO_WHEN_RETURNED {
                // SAFETY: the piece has these bytes, and the caller has given it back.
                unsafe { piece.write_bytes(0, size) };
            }
        }
        let first = &mut self.pools[pool].free[class];
        let address = piece.expose_provenance();
        let link: *mut usize = ptr::with_exposed_provenance_mut(address);
        // SAFETY: the piece has room for a word and is aligned for it, and the caller has given it back.
        unsafe { link.write(*first) };
        *first = address;
        self.live -= 1;
        self.release_if_done(slot);
    }

    /// Gives all memory back to the system after the simulation has ended and nobody has a piece.
    fn release_if_done(&mut self, slot: usize) {
        if self.is_open || self.live > 0 {
            return;
        }
        let start = NonNull::new(ptr::with_exposed_provenance_mut(start_of(slot))).expect("no heap is at 0");
        // SAFETY: the heap was mapped piece by piece from its start on, and nobody has memory of it.
        unsafe { unmap(start, self.mapped) };
        *self = Self::NONE;
    }
}

/// Memory of the heap of the current simulation, and whether it is zero; null if there is none left.
#[cold]
#[inline(never)]
fn serve(current: usize, layout: Layout) -> (*mut u8, bool) {
    let slot = current - 1;
    let served = lock(&HEAPS[slot]).serve(slot, layout);
    served.map_or((ptr::null_mut(), false), |(piece, is_fresh)| (piece.as_ptr(), is_fresh))
}

/// Takes a piece back.
///
/// # Safety
/// As of [`Heap::take_back`].
#[cold]
#[inline(never)]
unsafe fn take_back(slot: usize, piece: *mut u8, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { lock(&HEAPS[slot]).take_back(slot, piece, layout) };
}

/// The heap that serves a layout, or [`OUTSIDE`].
#[inline]
fn heap_for(layout: Layout) -> usize {
    if layout.align() <= PAGE { CURRENT.get() } else { OUTSIDE }
}

// SAFETY: pieces of heaps are disjoint and have the size and the alignment that are asked for; the others are the
// system's.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match heap_for(layout) {
            // SAFETY: the caller's promise.
            OUTSIDE => unsafe { System.alloc(layout) },
            current => serve(current, layout).0,
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match heap_for(layout) {
            // SAFETY: the caller's promise.
            OUTSIDE => unsafe { System.alloc_zeroed(layout) },
            current => {
                let (piece, is_zero) = serve(current, layout);
                if !is_zero && !piece.is_null() {
                    // SAFETY: the piece was served just now with this size.
                    unsafe { piece.write_bytes(0, layout.size()) };
                }
                piece
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match slot_of(piece.addr()) {
            // SAFETY: the caller's promise: memory at this address was served by the system.
            None => unsafe { System.dealloc(piece, layout) },
            // SAFETY: the caller's promise: memory at this address was served by this heap.
            Some(slot) => unsafe { take_back(slot, piece, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if slot_of(piece.addr()).is_none() {
            // SAFETY: the caller's promise: memory at this address was served by the system.
            return unsafe { System.realloc(piece, layout, size) };
        }
        // SAFETY: the caller's promise: the size fits the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if class(size_of_layout(new)).0 == class(size_of_layout(layout)).0 {
            return piece;
        }
        // SAFETY: the caller's promise: the size is not zero.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: both pieces have these bytes, and they are disjoint.
            unsafe { moved.copy_from_nonoverlapping(piece, layout.size().min(size)) };
            // SAFETY: the caller's promise: this heap has served the piece for this layout.
            unsafe { self.dealloc(piece, layout) };
        }
        moved
    }
}
