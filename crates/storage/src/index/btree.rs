//! The ordered index: a B+tree whose readers take no latches.
//!
//! Optimistic lock coupling (Leis, Scheibner, Kemper, Neumann: The ART of practical synchronization, `DaMoN`
//! 2016): a reader notes the version of a node, finds the child in it, notes the version of the child, and only
//! then checks that the node's version is still the same. A writer descends like a reader and latches only the
//! nodes that it changes, by exchanging the version that it saw for a held one. An operation that finds a
//! version changed starts again at the root. A node is recycled as soon as it is unlinked, without waiting for
//! its readers: it is gone at first, and no version of it that a reader knows ever returns. A reader that finds
//! it as another node therefore fails at the parent, which has changed before.
//!
//! Keys and rows stand apart, so a search touches few lines, and 31 entries with keys of a word fill 512
//! bytes. A full leaf splits in half, but behind an ascending run at the end of the run: see
//! [`Leaf::split_point`]. Full inner nodes on the way to a leaf that splits are split first, from the top
//! down, so that each split needs room in one parent and two latches beside that of the new node.
//!
//! A leaf is unlinked when it is empty, not merged when it is half empty (free-at-empty: Johnson and Shasha,
//! B-trees with inserts and deletes: why free-at-empty is better than merge-at-half, 1993). Where inserts are as
//! many as deletes, or more, this wastes little space and restructures far less often; and each merge of leaves
//! with entries would fail the phantom checks of all readers of either leaf. The gap of the unlinked leaf goes
//! to the leaf before it, or else after it, under the nearest common node. The gap version of that leaf stays.
//! Everything that others know of its gaps remains true, because the gap that it gains holds no key, and the
//! version changes when a key enters. Readers of the unlinked leaf see it change. An inner node left with one
//! child is replaced by the child. So some leaves are nearer to the root than others, none farther away than if
//! the nodes had stayed, and unlinking needs at most four latches.
//!
//! Keys of different prefixes ([`Key::SUFFIX_BITS`](crate::Key::SUFFIX_BITS)) are kept apart: the first key
//! of a prefix makes a leaf that begins with it, which stays from then on, though it be empty, and takes
//! over the gaps of those after it. So a queue whose head is read and whose end grows has them in different
//! leaves, whatever the queue before it does. A trie has such a boundary by nature (Masstree: Mao, Kohler,
//! Morris, `EuroSys` 2012).
//!
//! INVARIANTS, beside those of [`crate::index`]
//! (5) The root is an inner node, is never unlinked or moved, and has at least one child; every other
//!     inner node has at least two.
//! (6) A leaf whose version has not changed since answers at least for the keys that it answered for: it
//!     gives keys away only by a split, and all of them only when it is unlinked.
//! (7) What a leaf answers for begins at the prefix of each of its entries, or behind it.

mod implicit;
mod node;
mod scan;
mod structure;
#[cfg(all(test, not(loom)))]
mod tests;

use core::fmt;

use crate::index::pool::{Node, Pool};
use crate::index::{Inserted, LeafRef, RowPtr, Watcher, pause, prefetch_node, tell_miss};
use crate::key::OrderedKey;
use crate::shape::LeafMeta;

pub(crate) use implicit::ImpliedEntries;
use implicit::{IS_UNMADE, Implicit};
use node::{Inner, Leaf};

/// Nodes for which a tree's first chunks of memory have room.
const FIRST_NODES: usize = 8;

/// An ordered index. `LEAF` is the maximum number of entries of a leaf, `INNER` that of children of an inner
/// node.
pub struct BTree<K: OrderedKey, L: LeafMeta, const LEAF: usize = 31, const INNER: usize = 63> {
    root: Box<Inner<K, INNER>>,
    leaves: Pool<Leaf<K, L, LEAF>>,
    inners: Pool<Inner<K, INNER>>,
    suffix_bits: u32,
    /// The nodes that are in the tree without having been made, in simulated databases.
    implicit: Option<Box<Implicit<K>>>,
}

impl<K: OrderedKey, L: LeafMeta, const LEAF: usize, const INNER: usize> fmt::Debug
    for BTree<K, L, LEAF, INNER>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BTree").field("leaves", &self.leaves()).finish_non_exhaustive()
    }
}

impl<K: OrderedKey, L: LeafMeta, const LEAF: usize, const INNER: usize> Default for BTree<K, L, LEAF, INNER> {
    fn default() -> Self {
        Self::new()
    }
}

/// A node as its parent knows it.
enum Child<'t, K: OrderedKey, L, const LEAF: usize, const INNER: usize> {
    Inner(&'t Inner<K, INNER>),
    Leaf(&'t Leaf<K, L, LEAF>),
}

/// Marks a pointer to a leaf.
const IS_LEAF: usize = 1;

/// A leaf as it was found, and the nodes that led to it.
struct Spot<'t, K: OrderedKey, L, const LEAF: usize, const INNER: usize> {
    leaf: &'t Leaf<K, L, LEAF>,
    version: u64,
    /// The keys that the leaf answers for: from `low` to, exclusively, `high`, or without an upper bound.
    low: K,
    high: Option<K>,
    parent: Step<'t, K, INNER>,
}

/// An inner node as it was passed.
#[derive(Clone, Copy)]
struct Step<'t, K: OrderedKey, const INNER: usize> {
    node: &'t Inner<K, INNER>,
    version: u64,
    /// The position of the child that was taken, among `count`.
    at: usize,
    count: usize,
    /// The keys that the node answers for.
    low: K,
    high: Option<K>,
}

impl<K: OrderedKey, const INNER: usize> Step<'_, K, INNER> {
    /// The bounds of the keys that the child at `at` answers for.
    #[inline]
    fn bounds(&self, at: usize) -> (K, Option<K>) {
        let low = if at > 0 { self.node.low(at) } else { self.low };
        let high = if at + 1 < self.count { Some(self.node.low(at + 1)) } else { self.high };
        (low, high)
    }
}

/// The outcome of an insertion into a certain leaf.
enum Tried {
    Done(Inserted),
    Full,
    /// The leaf has changed.
    Changed,
}

impl<K: OrderedKey, L: LeafMeta, const LEAF: usize, const INNER: usize> BTree<K, L, LEAF, INNER> {
    /// An empty index whose keys have one prefix.
    pub fn new() -> Self {
        Self::with_prefixes(u32::MAX)
    }

    /// An empty index that keeps keys apart if they differ above the lowest `suffix_bits`.
    pub fn with_prefixes(suffix_bits: u32) -> Self {
        let tree = Self {
            suffix_bits,
            root: Box::new(Inner::new()),
            leaves: Pool::new(FIRST_NODES),
            inners: Pool::new(FIRST_NODES),
            implicit: None,
        };
        let (leaf, guard) = tree.leaves.take();
        tree.root.begin(leaf_pointer(leaf));
        drop(guard);
        tree
    }

    /// The node to which a pointer in an inner node leads; `None` only if the inner node is being written.
    #[inline]
    #[allow(clippy::unused_self, reason = "borrowing the tree keeps the node")]
    fn node(&self, pointer: *mut u8) -> Option<Child<'_, K, L, LEAF, INNER>> {
        if pointer.is_null() {
            return None;
        }
        if pointer.addr() & IS_LEAF != 0 {
            let leaf = pointer.map_addr(|address| address & !IS_LEAF).cast::<Leaf<K, L, LEAF>>();
            // SAFETY: invariant (1): a marked pointer in a node of this tree leads to one of its leaves,
            // which live as long as the tree and were seen whole when the pointer was loaded.
            Some(Child::Leaf(unsafe { &*leaf }))
        } else {
            // SAFETY: invariant (1), as above: an unmarked pointer leads to an inner node.
            Some(Child::Inner(unsafe { &*pointer.cast::<Inner<K, INNER>>() }))
        }
    }

    /// The child at `at` of an inner node; `None` only if the inner node is being written.
    #[inline]
    fn child<'t>(&'t self, inner: &Inner<K, INNER>, at: usize) -> Option<Child<'t, K, L, LEAF, INNER>> {
        let pointer = inner.child(at);
        if sync::IS_STEPPED && pointer.addr() & IS_UNMADE != 0 {
            return self.make_child(inner, at, pointer);
        }
        self.node(pointer)
    }

    /// Descends once to the leaf for the keys right after those low keys to which `before` applies. Tells `pass`
    /// of each inner node, the child's position in it, and its number of children, and asks for the leaf's
    /// memory by `prefetch`. Returns `None` if a node changed on the way; `pass` must then forget what it was
    /// told.
    #[inline]
    fn descend<'t>(
        &'t self,
        before: impl Fn(K) -> bool,
        prefetch: impl Fn(&'t Leaf<K, L, LEAF>),
        mut pass: impl FnMut(&'t Inner<K, INNER>, u64, usize, usize),
    ) -> Option<(&'t Leaf<K, L, LEAF>, u64)> {
        let mut inner: &Inner<K, INNER> = &self.root;
        let mut version = inner.latch.read()?;
        loop {
            let count = inner.count();
            let at = inner.position(count, &before);
            let child = self.child(inner, at);
            pass(inner, version, at, count);
            match child? {
                Child::Inner(child) => {
                    prefetch_node(child);
                    let child_version = child.latch.read()?;
                    if !inner.latch.validate(version) {
                        return None;
                    }
                    (inner, version) = (child, child_version);
                }
                Child::Leaf(leaf) => {
                    prefetch(leaf);
                    let leaf_version = leaf.head.latch.read()?;
                    return inner.latch.validate(version).then_some((leaf, leaf_version));
                }
            }
        }
    }

    /// The leaf for a key, and its version.
    #[inline]
    fn leaf_for<'t>(
        &'t self,
        key: K,
        prefetch: impl Fn(&'t Leaf<K, L, LEAF>),
    ) -> (&'t Leaf<K, L, LEAF>, u64) {
        loop {
            if let Some(found) = self.descend(|low| low <= key, &prefetch, |_, _, _, _| ()) {
                return found;
            }
            pause();
        }
    }

    /// The leaf for the keys right after those low keys to which `before` applies, and the nodes that led to it.
    #[inline]
    fn spot<'t>(
        &'t self,
        before: impl Fn(K) -> bool,
        prefetch: impl Fn(&'t Leaf<K, L, LEAF>),
    ) -> Spot<'t, K, L, LEAF, INNER> {
        loop {
            let mut parent = None;
            let (mut low, mut high) = (K::MIN, None);
            let found = self.descend(&before, &prefetch, |node, version, at, count| {
                let step = Step { node, version, at, count, low, high };
                (low, high) = step.bounds(at);
                parent = Some(step);
            });
            if let (Some((leaf, version)), Some(parent)) = (found, parent) {
                return Spot { leaf, version, low, high, parent };
            }
            pause();
        }
    }

    /// Finds the row of a key.
    ///
    /// A miss is told to `missed`, with the leaf in whose gap the key falls and the gap version at which
    /// it did not hold the key; `missed` is called again, with another version, if a key entered the
    /// leaf before what `missed` wrote to its metadata could be seen.
    #[inline(always)]
    pub fn get<'t, E>(
        &'t self,
        key: K,
        mut missed: impl FnMut(LeafRef<'t, L>) -> Result<(), E>,
    ) -> Result<Option<RowPtr>, E> {
        loop {
            let (leaf, version) = self.leaf_for(key, prefetch_node);
            let found = leaf.find(key);
            if leaf.head.latch.validate(version)
                && (found.is_some() || tell_miss(&leaf.head, version, &mut missed)?)
            {
                let made = self.made(leaf, key, found);
                // An entry that was removed meanwhile is looked for again, so that its absence is told.
                if made.is_some() == found.is_some() {
                    return Ok(made);
                }
            }
            pause();
        }
    }

    /// Finds the row of a key without reporting a miss.
    #[inline]
    pub fn peek(&self, key: K) -> Option<RowPtr> {
        loop {
            let (leaf, version) = self.leaf_for(key, prefetch_node);
            let found = leaf.find(key);
            if leaf.head.latch.validate(version) {
                return self.made(leaf, key, found);
            }
            pause();
        }
    }

    /// Like [`peek`](Self::peek), for keys of which neighbours mostly stand in one leaf: the leaf of a key is looked at
    /// first for the next one.
    pub fn peek_each(&self, keys: impl Iterator<Item = K>) -> impl Iterator<Item = Option<RowPtr>> {
        let mut last: Option<(&Leaf<K, L, LEAF>, u64)> = None;
        keys.map(move |key| {
            let beside = last.and_then(|(leaf, version)| {
                let row = leaf.find(key)?;
                if leaf.head.latch.validate(version) { self.made(leaf, key, Some(row)) } else { None }
            });
            beside.or_else(|| {
                let (leaf, version) = self.leaf_for(key, prefetch_node);
                last = Some((leaf, version));
                let row = leaf.find(key);
                if leaf.head.latch.validate(version) { self.made(leaf, key, row) } else { self.peek(key) }
            })
        })
    }

    /// Asks for the memory of the leaf for a key, unless that means to wait for memory other than that of inner
    /// nodes. A hint.
    #[inline]
    pub fn prefetch(&self, key: K) {
        let mut inner: &Inner<K, INNER> = &self.root;
        loop {
            let Some(version) = inner.latch.read() else { return };
            let child = self.child(inner, inner.position(inner.count(), |low: K| low <= key));
            if !inner.latch.validate(version) {
                return;
            }
            match child {
                Some(Child::Inner(child)) => inner = child,
                Some(Child::Leaf(leaf)) => return prefetch_node(leaf),
                None => return,
            }
        }
    }

    /// Adds an entry unless the key is present. A key that is present is reported without a hook or a latch.
    #[inline]
    pub fn insert<'t, W: Watcher<'t, L> + ?Sized>(
        &'t self,
        key: K,
        row: RowPtr,
        watch: &mut W,
    ) -> Result<Inserted, W::Stop> {
        let prefix = key.prefix(self.suffix_bits);
        loop {
            let Spot { leaf, version, low, .. } = self.spot(|low| low <= key, node::prefetch_for_write);
            if low < prefix {
                self.begin_prefix(prefix, &mut |from, after, into| watch.split(from, after, into));
                continue;
            }
            match self.insert_in(leaf, version, key, row, watch)? {
                Tried::Done(inserted) => return Ok(inserted),
                Tried::Full => self.make_room(key, &mut |from, after, into| watch.split(from, after, into)),
                Tried::Changed => pause(),
            }
        }
    }

    /// Adds an entry to the leaf that answered for its key at `version`.
    #[inline]
    fn insert_in<'t, W: Watcher<'t, L> + ?Sized>(
        &self,
        leaf: &'t Leaf<K, L, LEAF>,
        version: u64,
        key: K,
        row: RowPtr,
        watch: &mut W,
    ) -> Result<Tried, W::Stop> {
        let at = leaf.below(key);
        if let Some(found) = leaf.row_of(at, key) {
            if !leaf.head.latch.validate(version) {
                return Ok(Tried::Changed);
            }
            let found = self.made(leaf, key, Some(found)).unwrap_or(found);
            return Ok(Tried::Done(Inserted::Exists(found)));
        }
        // When the latch is taken the key is still missing, and `at` is still its place: any other key that
        // enters changes the version.
        let Some(guard) = leaf.head.upgrade(version) else { return Ok(Tried::Changed) };
        if leaf.live() == LEAF {
            guard.release_unchanged();
            return Ok(Tried::Full);
        }
        let before = LeafRef { head: &leaf.head, seen: version };
        if let Err(stop) = watch.adding(before) {
            guard.release_unchanged();
            return Err(stop);
        }
        leaf.add(at, key, row);
        let after = guard.next();
        watch.added(before, after);
        Ok(Tried::Done(Inserted::Added))
    }

    /// Removes the entry of a key if it is `row` and `allow`, called under the leaf's latch, agrees.
    #[inline]
    pub fn remove(&self, key: K, row: RowPtr, allow: impl FnOnce(&L) -> bool) -> bool {
        loop {
            let (leaf, version) = self.leaf_for(key, node::prefetch_for_write);
            let at = leaf.below(key);
            let mut found = leaf.row_of(at, key);
            if sync::IS_STEPPED && found == Some(RowPtr::UNMADE) && leaf.head.latch.validate(version) {
                found = self.made(leaf, key, found);
            }
            if found != Some(row) {
                if leaf.head.latch.validate(version) {
                    return false;
                }
                pause();
                continue;
            }
            let Some(guard) = leaf.head.upgrade(version) else {
                pause();
                continue;
            };
            // Checked again: another removal does not change the version.
            let is_removed = leaf.row(at) == Some(row) && allow(&leaf.head.meta);
            if is_removed {
                leaf.empty(at);
            }
            let is_empty = leaf.live() == 0;
            guard.release_unchanged();
            if is_removed && is_empty {
                self.unlink_empty(key);
            }
            return is_removed;
        }
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.leaves.in_use() + self.unmade_leaves()
    }

    /// Asks for memory that the index will soon grow into.
    pub fn populate_ahead(&self) {
        self.leaves.populate_ahead();
        self.inners.populate_ahead();
    }

    /// The part of the index that has an address: for people who look at the cache lines of a run.
    pub fn part_at(&self, address: usize) -> Option<&'static str> {
        let root = core::ptr::from_ref(&*self.root).addr();
        if (root..root + size_of::<Inner<K, INNER>>()).contains(&address) {
            Some("root")
        } else if self.leaves.has(address) {
            Some("leaf")
        } else if self.inners.has(address) {
            Some("inner node")
        } else if self.leaves.has_stock(address) {
            Some("stock of leaves")
        } else {
            self.inners.has_stock(address).then_some("stock of inner nodes")
        }
    }

    /// Bytes of all nodes, in use or free.
    pub fn bytes(&self) -> usize {
        self.leaves.bytes() + self.inners.bytes() + size_of::<Inner<K, INNER>>()
    }
}

fn leaf_pointer<K: OrderedKey, L, const N: usize>(leaf: &Leaf<K, L, N>) -> *mut u8 {
    core::ptr::from_ref(leaf).cast_mut().cast::<u8>().map_addr(|address| address | IS_LEAF)
}

fn inner_pointer<K: OrderedKey, const N: usize>(inner: &Inner<K, N>) -> *mut u8 {
    core::ptr::from_ref(inner).cast_mut().cast()
}
