//! Nodes of the ordered index: what is in them, searched without a latch and changed under it.
//!
//! All methods that change a node are called under its latch. All methods that read one may be called
//! without it, and then return whatever they met: only the version check tells that it is true.

use core::ptr::NonNull;

use sync::VersionLatch;
use sync::atomic::{AtomicPtr, AtomicU8, Ordering};
use sync::hint;

use crate::index::pool::Node;
use crate::index::{LeafHead, RowPtr, prefetch_node};
use crate::key::OrderedKey;
use crate::shape::LeafMeta;

/// No position: the largest node has fewer entries.
const NOWHERE: u8 = u8::MAX;

/// Position and size of a node, in a byte.
fn byte(number: usize) -> u8 {
    u8::try_from(number).expect("nodes have fewer than 255 entries")
}

/// The number of leading keys to which `before` applies. After a key to which it does not apply, it applies
/// to none.
///
/// Looks at the last key of each block of eight but the last block, then at the other keys of the block
/// that this leads to: two rounds of loads that do not depend on each other, and no branch that depends on a
/// key. A binary search waits for five or six loads, one after the other.
#[inline]
fn partition<K: OrderedKey, const N: usize>(keys: &[K::Slot; N], before: impl Fn(K) -> bool) -> usize {
    const BLOCK: usize = 8;
    let is_before = |at: usize| usize::from(at < N && before(K::load(&keys[at])));
    let first = (0..N / BLOCK).map(|block| is_before(block * BLOCK + BLOCK - 1)).sum::<usize>() * BLOCK;
    first + (0..BLOCK - 1).map(|nth| is_before(first + nth)).sum::<usize>()
}

/// Sets the keys from `at` on to the largest key: a search need not know how many are in use.
fn pad<K: OrderedKey>(keys: &[K::Slot], at: usize) {
    for slot in &keys[at..] {
        K::MAX.store(slot);
    }
}

/// Keys of a node that is not in use yet.
fn no_keys<K: OrderedKey, const N: usize>() -> [K::Slot; N] {
    let keys = core::array::from_fn(|_| K::Slot::default());
    pad::<K>(&keys, 0);
    keys
}

/// Asks for all cache lines of a leaf that is to be written. Its head will be written; which of the other
/// lines will be is not known.
#[inline(always)]
pub(super) fn prefetch_for_write<K: OrderedKey, L, const N: usize>(leaf: &Leaf<K, L, N>) {
    hint::prefetch_for_write(leaf);
    prefetch_node(leaf);
}

/// A leaf: entries in ascending order of their keys. An entry whose row is null is a hole: its key is
/// not in the index, and keeps the order until the hole is used again.
#[repr(C, align(64))]
pub(super) struct Leaf<K: OrderedKey, L, const N: usize> {
    pub(super) head: LeafHead<L>,
    /// Entries, holes included.
    used: AtomicU8,
    /// Entries with rows.
    live: AtomicU8,
    /// The position of the last key that was added.
    last: AtomicU8,
    keys: [K::Slot; N],
    rows: [AtomicPtr<u8>; N],
}

impl<K: OrderedKey, L: LeafMeta, const N: usize> Node for Leaf<K, L, N> {
    fn new() -> Self {
        const { assert!(N >= 2 && N < NOWHERE as usize, "a leaf splits in two, and counts in bytes") };
        Self {
            head: LeafHead::default(),
            used: AtomicU8::new(0),
            live: AtomicU8::new(0),
            last: AtomicU8::new(NOWHERE),
            keys: no_keys::<K, N>(),
            rows: core::array::from_fn(|_| AtomicPtr::default()),
        }
    }

    #[inline]
    fn latch(&self) -> &VersionLatch {
        &self.head.latch
    }
}

impl<K: OrderedKey, L: LeafMeta, const N: usize> Leaf<K, L, N> {
    /// Forgets what the leaf held in an earlier life.
    pub(super) fn clear(&self) {
        self.head.meta.reset();
        self.set_size(0, 0);
        pad::<K>(&self.keys, 0);
        // Relaxed throughout the rest of this file, where nothing else is said: the version check orders
        // what readers load, and the release of the latch what its holder stores (invariant 2).
        self.last.store(NOWHERE, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn used(&self) -> usize {
        usize::from(self.used.load(Ordering::Relaxed)).min(N)
    }

    #[inline]
    pub(super) fn live(&self) -> usize {
        usize::from(self.live.load(Ordering::Relaxed))
    }

    fn set_size(&self, used: usize, live: usize) {
        self.used.store(byte(used), Ordering::Relaxed);
        self.live.store(byte(live), Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn key(&self, at: usize) -> K {
        K::load(&self.keys[at])
    }

    #[inline]
    pub(super) fn row(&self, at: usize) -> Option<RowPtr> {
        NonNull::new(self.rows[at].load(Ordering::Relaxed)).map(RowPtr::new)
    }

    fn set(&self, at: usize, key: K, row: *mut u8) {
        key.store(&self.keys[at]);
        self.rows[at].store(row, Ordering::Relaxed);
    }

    fn copy(&self, from: usize, to: &Self, at: usize) {
        to.set(at, self.key(from), self.rows[from].load(Ordering::Relaxed));
    }

    /// The number of entries whose keys are below `key`.
    #[inline]
    pub(super) fn below(&self, key: K) -> usize {
        partition(&self.keys, |other: K| other < key)
    }

    /// The number of entries whose keys are `key` or below.
    #[inline]
    pub(super) fn up_to(&self, key: K) -> usize {
        partition(&self.keys, |other: K| other <= key).min(self.used())
    }

    /// The row of a key that stands at `at` or is not in the leaf.
    #[inline]
    pub(super) fn row_of(&self, at: usize, key: K) -> Option<RowPtr> {
        if at < self.used() && self.key(at) == key { self.row(at) } else { None }
    }

    /// The row of a key.
    #[inline]
    pub(super) fn find(&self, key: K) -> Option<RowPtr> {
        self.row_of(self.below(key), key)
    }

    /// Copies the entries `from..to` that are not holes, in order, and returns their number.
    #[inline]
    pub(super) fn read(&self, from: usize, to: usize, keys: &mut [K; N], rows: &mut [*mut u8; N]) -> usize {
        let mut count = 0;
        let Some(places) = self.keys.get(from..to) else { return 0 };
        for (slot, row) in places.iter().zip(&self.rows[from..to]) {
            let row = row.load(Ordering::Relaxed);
            keys[count] = K::load(slot);
            rows[count] = row;
            count += usize::from(!row.is_null());
        }
        count
    }

    /// Adds an entry at `at`, before which stand the smaller keys; its own key is missing or a hole's.
    #[inline]
    pub(super) fn add(&self, mut at: usize, key: K, row: RowPtr) {
        assert!(self.live() < N, "there is room for the entry");
        let mut used = self.used();
        if at == used || self.row(at).is_some() {
            if used == N {
                self.close_holes();
                at = self.below(key);
                used = self.used();
            }
            for from in (at..used).rev() {
                self.copy(from, self, from + 1);
            }
            used += 1;
        }
        self.set(at, key, row.get().as_ptr());
        self.set_size(used, self.live() + 1);
        self.last.store(byte(at), Ordering::Relaxed);
    }

    /// Makes an entry a hole.
    pub(super) fn empty(&self, at: usize) {
        // Release: pairs with the Acquire of the version check of a reader that finds the hole but not the
        // latch, since the version stays: the reader also sees what was written to the metadata before.
        self.rows[at].store(core::ptr::null_mut(), Ordering::Release);
        self.live.store(byte(self.live() - 1), Ordering::Relaxed);
    }

    /// Fills the empty leaf with keys in ascending order, whose rows are not made yet. `is_end` says that an ascending
    /// run ends here.
    pub(super) fn fill(&self, keys: &[K], is_end: bool) {
        for (at, key) in keys.iter().enumerate() {
            self.set(at, *key, RowPtr::UNMADE.get().as_ptr());
        }
        self.set_size(keys.len(), keys.len());
        if is_end {
            self.last.store(byte(keys.len() - 1), Ordering::Relaxed);
        }
    }

    /// Sets the row of an entry.
    pub(super) fn set_row(&self, at: usize, row: RowPtr) {
        self.rows[at].store(row.get().as_ptr(), Ordering::Relaxed);
    }

    fn close_holes(&self) {
        if self.live() == self.used() {
            return;
        }
        let mut count = 0;
        for at in 0..self.used() {
            if self.row(at).is_some() {
                self.copy(at, self, count);
                count += 1;
            }
        }
        self.set_size(count, count);
        pad::<K>(&self.keys, count);
        self.last.store(NOWHERE, Ordering::Relaxed);
    }

    /// The position at which to split the full leaf to make room for `key`: in half, but behind an ascending
    /// run at its end. A run never comes back to the keys that it has passed, so they should fill their
    /// leaf.
    pub(super) fn split_point(&self, key: K) -> usize {
        let at = self.below(key);
        let last = usize::from(self.last.load(Ordering::Relaxed));
        if at == N {
            N - 1
        } else if at == last + 1 {
            at
        } else {
            N / 2
        }
    }

    /// Moves the entries from `low` on to an empty leaf.
    pub(super) fn split(&self, low: K, to: &Self) {
        self.close_holes();
        let (at, used) = (self.below(low), self.used());
        for from in at..used {
            self.copy(from, to, from - at);
        }
        to.set_size(used - at, used - at);
        self.set_size(at, at);
        pad::<K>(&self.keys, at);
        self.last.store(NOWHERE, Ordering::Relaxed);
    }
}

/// An inner node: child `i` answers for the keys from `lows[i]` to, exclusively, `lows[i + 1]`, or the end
/// of what the node itself answers for. `lows[0]` is the smallest key, whatever the node answers for.
#[repr(C, align(64))]
pub(super) struct Inner<K: OrderedKey, const N: usize> {
    pub(super) latch: VersionLatch,
    count: AtomicU8,
    lows: [K::Slot; N],
    /// Pointers to leaves have their lowest bit set.
    children: [AtomicPtr<u8>; N],
}

impl<K: OrderedKey, const N: usize> Node for Inner<K, N> {
    fn new() -> Self {
        const { assert!(N >= 4 && N < NOWHERE as usize, "halves have two children, and counts are bytes") };
        Self {
            latch: VersionLatch::new(),
            count: AtomicU8::new(0),
            lows: no_keys::<K, N>(),
            children: core::array::from_fn(|_| AtomicPtr::default()),
        }
    }

    #[inline]
    fn latch(&self) -> &VersionLatch {
        &self.latch
    }
}

impl<K: OrderedKey, const N: usize> Inner<K, N> {
    #[inline]
    pub(super) fn count(&self) -> usize {
        usize::from(self.count.load(Ordering::Relaxed)).min(N)
    }

    fn set_count(&self, count: usize) {
        self.count.store(byte(count), Ordering::Relaxed);
    }

    fn shorten(&self, count: usize) {
        self.set_count(count);
        pad::<K>(&self.lows, count);
    }

    #[inline]
    pub(super) fn low(&self, at: usize) -> K {
        K::load(&self.lows[at])
    }

    #[inline]
    pub(super) fn child(&self, at: usize) -> *mut u8 {
        // Acquire: pairs with the Release in `set_child`, so a node just made is seen whole.
        self.children[at].load(Ordering::Acquire)
    }

    pub(super) fn set_child(&self, at: usize, child: *mut u8) {
        // Release: pairs with the Acquire in `child`.
        self.children[at].store(child, Ordering::Release);
    }

    fn copy(&self, from: usize, to: &Self, at: usize) {
        self.low(from).store(&to.lows[at]);
        to.set_child(at, self.child(from));
    }

    /// Of `count` children, the last one whose low key `before` applies to, or the first.
    #[inline]
    pub(super) fn position(&self, count: usize, before: impl Fn(K) -> bool) -> usize {
        partition(&self.lows, before).min(count).saturating_sub(1)
    }

    /// Makes `child` the only one.
    pub(super) fn begin(&self, child: *mut u8) {
        K::MIN.store(&self.lows[0]);
        self.set_child(0, child);
        self.shorten(1);
    }

    /// Adds a child at `at`, not the first position.
    pub(super) fn add(&self, at: usize, low: K, child: *mut u8) {
        let count = self.count();
        for from in (at..count).rev() {
            self.copy(from, self, from + 1);
        }
        low.store(&self.lows[at]);
        self.set_child(at, child);
        self.set_count(count + 1);
    }

    /// Removes the child at `at`; its neighbour takes over what it answered for.
    pub(super) fn remove(&self, at: usize) {
        let count = self.count();
        for from in at + 1..count {
            self.copy(from, self, from - 1);
        }
        K::MIN.store(&self.lows[0]);
        self.shorten(count - 1);
    }

    /// Moves the children from `at` on to an empty node.
    pub(super) fn split(&self, at: usize, to: &Self) {
        let count = self.count();
        for from in at..count {
            self.copy(from, to, from - at);
        }
        K::MIN.store(&to.lows[0]);
        to.shorten(count - at);
        self.shorten(at);
    }
}
