//! Indexes: an ordered one, [`BTree`], and one for point lookups, [`struct@Hash`]. Both find rows by key and report
//! to their callers what phantom protection needs to know.
//!
//! An index is divided into *leaves*: a leaf of the tree, or a bucket of the hash index. A leaf answers
//! for every key that would stand in it, present or not: for its *gaps*. Each has a *gap version*, which
//! changes whenever a key enters the leaf, the leaf splits, or its gaps go to another leaf; and metadata
//! of the scheme. A search that misses, a scan, and an insert all name the leaves they met ([`LeafRef`]).
//!
//! Removing an entry does not change the gap version: the caller marks the row first, so a reader that has seen the
//! row learns of the removal there. Both indexes remove an entry by emptying its row pointer: one store under the
//! latch, which is released as if nothing had changed. So the version of a leaf's latch is its gap version, and
//! readers are never disturbed by removals.
//!
//! INVARIANTS
//! (1) Nodes, leaves and buckets are type-stable: their memory serves no other type before the index is
//!     dropped, and every pointer found in one leads to another of the same index, whatever else is torn.
//! (2) What may be read without a latch is atomic, and believed only if the version that was read before
//!     it is still there afterwards.
//! (3) The version of a piece of memory never repeats, not even when it serves as another leaf.
//! (4) No latch is held while a visitor or the hook of a lookup runs. A thread that waits for the latch of a node
//!     holds that of no other.

mod btree;
mod hash;
mod pool;
#[cfg(all(test, not(loom)))]
mod testing;

use core::num::NonZero;
use core::ops::ControlFlow;
use core::ptr::NonNull;

use sync::atomic::{AtomicPtr, Ordering, fence};
use sync::{VersionLatch, VersionLatchGuard, hint};

use crate::shape::LeafMeta;

pub use btree::BTree;
pub(crate) use btree::ImpliedEntries;
pub use hash::Hash;
pub(crate) use hash::ImpliedRows;

/// The address of a row. An index keeps it and never follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPtr(NonNull<u8>);

impl RowPtr {
    /// Stands for a row of an implicit index that is not made yet. No row has this address.
    pub(crate) const UNMADE: Self = Self(NonNull::without_provenance(NonZero::<usize>::MIN));

    /// The address, from which [`at`](Self::at) makes the pointer again.
    pub(crate) fn exposed(self) -> usize {
        self.0.as_ptr().expose_provenance()
    }

    /// The row at an address that [`exposed`](Self::exposed) returned.
    pub(crate) fn at(address: usize) -> Self {
        Self(NonNull::new(core::ptr::with_exposed_provenance_mut(address)).expect("no row is at 0"))
    }

    /// The pointer as an index keeps it.
    #[inline]
    pub(crate) fn new(row: NonNull<u8>) -> Self {
        Self(row)
    }

    /// An address without a row, for tests and measurements of an index on its own.
    pub fn to_nowhere(address: NonZero<usize>) -> Self {
        Self(NonNull::without_provenance(address))
    }

    /// The pointer that was given to `new`.
    #[inline]
    pub(crate) fn get(self) -> NonNull<u8> {
        self.0
    }

    /// The address, to compare.
    pub fn address(self) -> usize {
        self.0.addr().get()
    }
}

/// Asks for all cache lines of a node.
#[inline(always)]
fn prefetch_node<T>(node: &T) {
    prefetch_lines(core::ptr::from_ref(node).cast(), size_of::<T>());
}

#[inline(always)]
fn prefetch_lines(start: *const u8, bytes: usize) {
    for line in 0..bytes / 64 {
        hint::prefetch(start.wrapping_add(line * 64));
    }
}

/// The node at which a search goes on if it does not end at its first one: of a hash bucket, its overflow bucket.
#[derive(Clone, Copy, Debug)]
pub struct NextNode<'t> {
    link: &'t AtomicPtr<u8>,
    bytes: usize,
}

impl NextNode<'_> {
    /// Asks for its memory, if there is such a node; some time after that of the first was asked for.
    #[inline]
    pub fn prefetch(self) {
        // Relaxed: only the address is used.
        let node = self.link.load(Ordering::Relaxed);
        if !node.is_null() {
            prefetch_lines(node, self.bytes);
        }
    }
}

/// The beginning of every leaf.
#[derive(Debug, Default)]
#[repr(C)]
struct LeafHead<L> {
    /// Its version is the gap version.
    latch: VersionLatch,
    meta: L,
}

impl<L> LeafHead<L> {
    /// Takes the latch if the version is still `version`.
    #[inline]
    fn upgrade(&self, version: u64) -> Option<VersionLatchGuard<'_>> {
        let guard = self.latch.upgrade(version)?;
        if size_of::<L>() != 0 {
            // SeqCst: pairs with the fence in `is_settled`. Of a reader that writes the metadata and then
            // looks at the latch, and a writer that takes the latch and then reads the metadata, at
            // least one sees the other.
            fence(Ordering::SeqCst);
        }
        Some(guard)
    }

    /// Whether the metadata that a hook has just written protects what was read at `version`.
    #[inline]
    fn is_settled(&self, version: u64) -> bool {
        if size_of::<L>() == 0 {
            // Nothing was written that a writer could miss.
            return true;
        }
        // SeqCst: pairs with the fence in `upgrade`.
        fence(Ordering::SeqCst);
        self.latch.validate(version)
    }
}

/// A leaf, and the gap version at which it was seen. The reference is valid for the life of the index, although the
/// leaf may meanwhile answer for other keys: the gap version tells.
#[derive(Debug)]
pub struct LeafRef<'t, L> {
    head: &'t LeafHead<L>,
    seen: u64,
}

impl<L> Clone for LeafRef<'_, L> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<L> Copy for LeafRef<'_, L> {}

impl<'t, L> LeafRef<'t, L> {
    /// The gap version at which the leaf was seen.
    #[inline]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The leaf as of another gap version, for the caller that changed it: see [`Watcher`].
    #[inline]
    #[must_use]
    pub fn at(self, version: u64) -> Self {
        Self { seen: version, ..self }
    }

    /// The scheme's metadata of the leaf. A caller that writes it outside of a hook may write to what has become
    /// another leaf, unless it writes under [`hold`](Self::hold); [`mark`](Self::mark) tells whether it has.
    #[inline]
    pub fn meta(&self) -> &'t L {
        &self.head.meta
    }

    /// The gap version now. Equal to [`seen`](Self::seen) only if no key has entered any gap of the leaf since, and
    /// no thread is at work in it. A thread at work cannot be told here from a key that is entering, so it may fail
    /// the comparison although nothing changes.
    #[inline]
    pub fn gap_version(&self) -> u64 {
        self.head.latch.current()
    }

    /// Whether both are the same piece of memory.
    #[inline]
    pub fn same_leaf(&self, other: &Self) -> bool {
        self.id() == other.id()
    }

    /// A number of the leaf that no other leaf has at the same time.
    #[inline]
    pub fn id(&self) -> usize {
        core::ptr::from_ref(self.head).addr()
    }

    /// Writes to the metadata by `mark`, and tells whether the gap version was still [`seen`](Self::seen) then. If so,
    /// a caller that changes it later finds the mark. Otherwise the mark may be with what has become another leaf,
    /// where it must do no harm. Waits for others' latches, so it must not be called with one held.
    #[inline]
    pub fn mark(&self, mark: impl FnOnce(&'t L)) -> bool {
        mark(&self.head.meta);
        // SeqCst: pairs with the fence in `upgrade`.
        fence(Ordering::SeqCst);
        self.head.latch.read() == Some(self.seen)
    }

    /// Keeps every key out of the leaf's gaps until dropped; `None` when the gap version is no longer
    /// [`seen`](Self::seen). Waits for others' latches, so it must not be called with one held.
    #[inline]
    pub fn hold(&self) -> Option<LeafHold<'t>> {
        loop {
            if self.head.latch.read()? != self.seen {
                return None;
            }
            if let Some(guard) = self.head.upgrade(self.seen) {
                return Some(LeafHold(Some(guard)));
            }
        }
    }

    /// Keeps every key out of the leaf's gaps until dropped, even if the gap version has changed since. Also returns
    /// the leaf as it is now. `None` when the leaf is gone. Waits as [`hold`](Self::hold) does.
    #[inline]
    pub fn hold_as_is(&self) -> Option<(LeafHold<'t>, Self)> {
        loop {
            let now = self.at(self.head.latch.read()?);
            if let Some(held) = now.hold() {
                return Some((held, now));
            }
        }
    }
}

/// Holds a leaf's latch without changing the leaf. For a few instructions.
#[derive(Debug)]
pub struct LeafHold<'t>(Option<VersionLatchGuard<'t>>);

impl Drop for LeafHold<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(guard) = self.0.take() {
            guard.release_unchanged();
        }
    }
}

/// The outcome of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The entry stands in the index.
    Added,
    /// The key was there already, with this row.
    Exists(RowPtr),
}

/// The caller of an insertion, told of the insertion's effects on leaves. Every method is called under the latches of
/// the leaves that it names, and must not wait.
pub trait Watcher<'t, L> {
    /// The reason why a key is kept out.
    type Stop;
    /// A key is about to enter a gap of the leaf; an error keeps it out.
    fn adding(&mut self, leaf: LeafRef<'t, L>) -> Result<(), Self::Stop>;
    /// The key is in: the gap version was `before.seen()` and will be `after`.
    fn added(&mut self, before: LeafRef<'t, L>, after: u64);
    /// `into` was split off `from`, whose gap version was `from.seen()` and will be `from_after`; the gap version of
    /// `into` will be `into.seen()`. The metadata of `into` protects all that the metadata of `from` protects.
    fn split(&mut self, from: LeafRef<'t, L>, from_after: u64, into: LeafRef<'t, L>);
}

/// The caller of a scan. No latch is held in any call.
pub trait Visitor<'t, K, L> {
    /// The reason why the scan ends early.
    type Stop;
    /// The part of the range that is in this leaf has been read, at this gap version. Called again, with
    /// another version, if a key entered the leaf before what this call wrote to the leaf's metadata
    /// could be seen; what was read is then forgotten and read again.
    fn leaf(&mut self, leaf: LeafRef<'t, L>) -> Result<(), Self::Stop>;
    /// The next entry, of the leaf named last.
    fn entry(&mut self, key: K, row: RowPtr) -> Result<ControlFlow<()>, Self::Stop>;
}

/// Hears of a split: the leaf that was split, its gap version afterwards, and the new leaf. Not generic in who inserts:
/// leaves are split rarely, and the code is long.
type Told<'w, 't, L> = &'w mut dyn FnMut(LeafRef<'t, L>, u64, LeafRef<'t, L>);

/// Pauses before another try, after something has changed during a look at it.
#[cold]
fn pause() {
    hint::spin_loop();
}

/// Reports the miss of a key, and returns whether the report has settled: see [`BTree::get`] and [`struct@Hash`].
#[inline]
fn tell_miss<'t, L: LeafMeta, E>(
    head: &'t LeafHead<L>,
    version: u64,
    missed: &mut impl FnMut(LeafRef<'t, L>) -> Result<(), E>,
) -> Result<bool, E> {
    missed(LeafRef { head, seen: version })?;
    Ok(head.is_settled(version))
}
