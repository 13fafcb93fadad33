//! Implicit trees: of the entries that loading would have made, leaves and inner nodes are made when somebody looks at
//! them, so that a simulated database needs memory only for what is touched. The tree has the shape that
//! loading gives: the number of leaves, their fill, the depth.
//!
//! A pointer to a node that is not made yet has its level and its number; a row that is not made yet is
//! [`RowPtr::UNMADE`]. All is made within [`sync::hushed`], right after an access that has shown the node
//! unlatched: nobody else runs meanwhile, and no version changes, for nobody has seen what was there before.
//!
//! INVARIANTS, beside those of [`crate::index`]
//! (8) At most one node in use has a pointer to a certain unmade node, and it stands below the node's count.

use core::convert::Infallible;
use core::fmt;
use core::ops::{Bound, ControlFlow, Range};

use sync::{Latched, hushed};

use crate::index::pool::Pool;
use crate::index::{Inserted, LeafRef, RowPtr, Visitor, Watcher};
use crate::key::OrderedKey;
use crate::row::Direction;
use crate::shape::LeafMeta;

use super::node::{Inner, Leaf};
use super::{BTree, Child, inner_pointer, leaf_pointer};

/// Marks a pointer to a node that is not made yet.
pub(super) const IS_UNMADE: usize = 2;
/// The place of the level in such a pointer, and of the number.
const LEVEL_SHIFT: u32 = 4;
const NUMBER_SHIFT: u32 = 8;

/// Groups that are loaded to see the shape that loading gives.
const SAMPLED_GROUPS: usize = 16;

/// Writes the keys of some entries of a group.
type KeysOf<K> = dyn Fn(usize, Range<usize>, &mut Vec<K>) + Send + Sync;

/// The entries that an index has without loading, in groups that were loaded one after the other.
pub(crate) struct ImpliedEntries<K> {
    /// The number of entries of each group.
    pub(crate) lens: Vec<usize>,
    /// The keys of a group, in order, by their places.
    pub(crate) keys: Box<KeysOf<K>>,
    /// The row of a key, which is made if need be.
    pub(crate) row: Box<dyn Fn(K) -> RowPtr + Send + Sync>,
    /// The order in which the keys of a group were loaded, if it was not that of the keys. Groups then have equally
    /// many entries, and leaves the fill of those of the first group.
    pub(crate) loaded_at: Option<Box<dyn Fn(K) -> u64>>,
}

/// The nodes of an implicit tree.
pub(super) struct Implicit<K> {
    keys: Box<KeysOf<K>>,
    row: Box<dyn Fn(K) -> RowPtr + Send + Sync>,
    lens: Vec<usize>,
    /// The number of the first leaf of each group, and behind them the number of leaves.
    firsts: Vec<usize>,
    /// The places at which the leaves of each group begin, if its keys were not loaded in order.
    starts: Option<Vec<usize>>,
    /// The number of nodes by level, leaves first; those of the last level are the root's children.
    counts: Vec<usize>,
    /// The number of leaves that were made.
    made: Latched<usize>,
}

impl<K> fmt::Debug for Implicit<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Implicit").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// The number of leaves of `len` keys that are loaded in order: a full leaf splits before its last key.
fn ascending_leaves(len: usize, leaf: usize) -> usize {
    1 + len.saturating_sub(leaf).div_ceil(leaf - 1)
}

fn unmade(level: usize, number: usize) -> *mut u8 {
    core::ptr::without_provenance_mut(number << NUMBER_SHIFT | level << LEVEL_SHIFT | IS_UNMADE)
}

impl<K: OrderedKey> Implicit<K> {
    /// The places within its group of the entries of a leaf. The leaf is not the empty one at the beginning.
    fn places(&self, leaf: usize, leaf_max: usize) -> (usize, Range<usize>) {
        let group = self.firsts.partition_point(|&first| first <= leaf) - 1;
        let (nth, len) = (leaf - self.firsts[group], self.lens[group]);
        let is_last = leaf + 1 == self.firsts[group + 1];
        let start = |nth: usize| self.starts.as_ref().map_or(nth * (leaf_max - 1), |starts| starts[nth]);
        (group, start(nth)..if is_last { len } else { start(nth + 1) })
    }

    /// The numbers of the children of a node that is no leaf.
    fn children(&self, level: usize, number: usize) -> Range<usize> {
        let (below, count) = (self.counts[level - 1], self.counts[level]);
        number * below / count..(number + 1) * below / count
    }

    fn first_leaf(&self, level: usize, number: usize) -> usize {
        (1..=level).rev().fold(number, |number, level| self.children(level, number).start)
    }

    fn keys(&self, group: usize, places: Range<usize>) -> Vec<K> {
        let mut keys = Vec::with_capacity(places.len());
        (self.keys)(group, places, &mut keys);
        keys
    }

    /// The least key that a node answers for.
    fn low(&self, level: usize, number: usize, suffix_bits: u32, leaf_max: usize) -> K {
        let leaf = self.first_leaf(level, number);
        if leaf < self.firsts[0] || leaf == 0 {
            return K::MIN;
        }
        let (group, places) = self.places(leaf, leaf_max);
        let key = self.keys(group, places.start..places.start + 1)[0];
        let prefix = key.prefix(suffix_bits);
        if places.start == 0 && prefix != K::MIN { prefix } else { key }
    }
}

impl<K: OrderedKey, L: LeafMeta, const LEAF: usize, const INNER: usize> BTree<K, L, LEAF, INNER> {
    /// Gives the empty tree the entries that loading would make. None of them is made before it is looked at.
    pub(crate) fn imply(&mut self, entries: ImpliedEntries<K>) {
        let ImpliedEntries { lens, keys, row, loaded_at } = entries;
        let (starts, fanout) = match loaded_at {
            None => (None, INNER - 2),
            Some(loaded_at) => {
                let sample = |groups: Range<usize>| self.sample(&lens, groups, &keys, &loaded_at);
                let (starts, _) = sample(0..1);
                (Some(starts), sample(0..lens.len().min(SAMPLED_GROUPS)).1)
            }
        };
        let leaves = |len: &usize| starts.as_ref().map_or_else(|| ascending_leaves(*len, LEAF), Vec::len);
        // The first key of the first prefix leaves the leaf before it empty.
        let mut least = Vec::new();
        keys(0, 0..1, &mut least);
        let mut firsts = Vec::with_capacity(lens.len() + 1);
        firsts.push(usize::from(least[0].prefix(self.suffix_bits) != K::MIN));
        for len in &lens {
            firsts.push(firsts.last().expect("just pushed") + leaves(len));
        }
        let mut counts = vec![*firsts.last().expect("there is the first")];
        while let Some(&count) = counts.last().filter(|&&count| count > INNER) {
            counts.push(count.div_ceil(fanout));
        }
        let implicit = Implicit { keys, row, lens, firsts, starts, counts, made: Latched::new(0) };
        let top = implicit.counts.len() - 1;
        let low = |number| implicit.low(top, number, self.suffix_bits, LEAF);
        self.root.begin(unmade(top, 0));
        (1..implicit.counts[top]).for_each(|at| self.root.add(at, low(at), unmade(top, at)));
        // No pointer leads to the leaf of the empty tree any more.
        self.leaves = Pool::implicit(implicit.counts[0]);
        self.inners = Pool::implicit(implicit.counts[1..].iter().sum());
        self.implicit = Some(Box::new(implicit));
    }

    /// Loads some groups into another tree. Returns the places at which its leaves begin, and the mean number of
    /// leaves of an inner node.
    fn sample(
        &self,
        lens: &[usize],
        groups: Range<usize>,
        keys_of: &KeysOf<K>,
        loaded_at: &dyn Fn(K) -> u64,
    ) -> (Vec<usize>, usize) {
        let tree: BTree<K, (), LEAF, INNER> = BTree::with_prefixes(self.suffix_bits);
        for group in groups {
            assert_eq!(lens[group], lens[0], "groups that are not loaded in order have equally many entries");
            let mut keys = Vec::new();
            keys_of(group, 0..lens[group], &mut keys);
            keys.sort_by_key(|key| loaded_at(*key));
            for key in keys {
                assert_eq!(tree.insert(key, RowPtr::UNMADE, &mut Nobody), Ok(Inserted::Added));
            }
        }
        let mut sizes = Sizes(Vec::new());
        let Ok(()) = tree.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward, &mut sizes);
        let sizes: Vec<usize> = sizes.0.into_iter().filter(|&size| size > 0).collect();
        let start = |sum: &mut usize, size: &usize| {
            *sum += size;
            Some(*sum - size)
        };
        let fanout = tree.leaves().checked_div(tree.inners.in_use());
        let fanout = fanout.map_or(INNER - 2, |mean| mean.clamp(4, INNER));
        (sizes.iter().scan(0, start).collect(), fanout)
    }

    /// The node to which the pointer at `at` leads, which is made now; `None` if the inner node is being written or
    /// has changed.
    #[cold]
    pub(super) fn make_child<'t>(
        &'t self,
        inner: &Inner<K, INNER>,
        at: usize,
        pointer: *mut u8,
    ) -> Option<Child<'t, K, L, LEAF, INNER>> {
        hushed(|| {
            let is_there = inner.latch.is_free() && at < inner.count() && inner.child(at) == pointer;
            let implicit = self.implicit.as_ref().filter(|_| is_there)?;
            let level = (pointer.addr() >> LEVEL_SHIFT) & 0xf;
            let number = pointer.addr() >> NUMBER_SHIFT;
            let made = if level == 0 {
                leaf_pointer(self.make_leaf(implicit, number))
            } else {
                inner_pointer(self.make_inner(implicit, level, number))
            };
            inner.set_child(at, made);
            self.node(made)
        })
    }

    fn make_leaf(&self, implicit: &Implicit<K>, number: usize) -> &Leaf<K, L, LEAF> {
        *implicit.made.lock() += 1;
        if number < implicit.firsts[0] {
            return self.leaves.take_apart(0).0;
        }
        let (group, places) = implicit.places(number, LEAF);
        let (leaf, _guard) = self.leaves.take_apart(group);
        let is_end = implicit.starts.is_none() && places.end == implicit.lens[group];
        leaf.fill(&implicit.keys(group, places), is_end);
        leaf
    }

    fn make_inner(&self, implicit: &Implicit<K>, level: usize, number: usize) -> &Inner<K, INNER> {
        let (inner, _guard) = self.inners.take_apart(0);
        let children = implicit.children(level, number);
        inner.begin(unmade(level - 1, children.start));
        for (at, child) in children.enumerate().skip(1) {
            let low = implicit.low(level - 1, child, self.suffix_bits, LEAF);
            inner.add(at, low, unmade(level - 1, child));
        }
        inner
    }

    /// The row of a key, which is made if it is not there yet. The leaf has just been found unchanged. `None` if the
    /// entry was removed after it was `found`: that does not change the leaf's version.
    #[inline]
    pub(super) fn made(&self, leaf: &Leaf<K, L, LEAF>, key: K, found: Option<RowPtr>) -> Option<RowPtr> {
        if sync::IS_STEPPED && found == Some(RowPtr::UNMADE) { self.make_row(leaf, key) } else { found }
    }

    #[cold]
    pub(super) fn make_row(&self, leaf: &Leaf<K, L, LEAF>, key: K) -> Option<RowPtr> {
        let implicit = self.implicit.as_ref().expect("loaded rows are there");
        hushed(|| {
            let at = leaf.below(key);
            let now = leaf.row_of(at, key);
            if now != Some(RowPtr::UNMADE) {
                return now;
            }
            let row = (implicit.row)(key);
            leaf.set_row(at, row);
            Some(row)
        })
    }

    /// Leaves that are in the index without having been made.
    pub(super) fn unmade_leaves(&self) -> usize {
        let unmade = |implicit: &Implicit<K>| hushed(|| implicit.counts[0] - *implicit.made.lock());
        self.implicit.as_deref().map_or(0, unmade)
    }

    /// The number of nodes from the root to a leaf.
    pub fn depth(&self) -> usize {
        let (mut depth, mut inner) = (2, &*self.root);
        while let Some(Child::Inner(child)) = self.child(inner, 0) {
            (depth, inner) = (depth + 1, child);
        }
        depth
    }
}

/// Watches nothing.
struct Nobody;

impl<'t> Watcher<'t, ()> for Nobody {
    type Stop = Infallible;

    fn adding(&mut self, _: LeafRef<'t, ()>) -> Result<(), Infallible> {
        Ok(())
    }

    fn added(&mut self, _: LeafRef<'t, ()>, _: u64) {}

    fn split(&mut self, _: LeafRef<'t, ()>, _: u64, _: LeafRef<'t, ()>) {}
}

/// Counts the entries of each leaf.
struct Sizes(Vec<usize>);

impl<K> Visitor<'_, K, ()> for Sizes {
    type Stop = Infallible;

    fn leaf(&mut self, _: LeafRef<'_, ()>) -> Result<(), Infallible> {
        self.0.push(0);
        Ok(())
    }

    fn entry(&mut self, _: K, _: RowPtr) -> Result<ControlFlow<()>, Infallible> {
        *self.0.last_mut().expect("a leaf comes before its entries") += 1;
        Ok(ControlFlow::Continue(()))
    }
}
