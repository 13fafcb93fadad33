//! How the tree grows and shrinks: splits from the top down, and the unlinking of empty leaves.

use sync::RareChange;
use sync::plant::is_planted;

use crate::index::btree::{BTree, Child, Step, inner_pointer, leaf_pointer};
use crate::index::{LeafRef, Told, pause};
use crate::key::OrderedKey;
use crate::plants;
use crate::shape::LeafMeta;

use super::node::{self, Inner, Leaf};

/// Says at which key a leaf is to be split, told the first key that the leaf answers for; `None` if it is not.
type SplitAt<'s, K, L, const LEAF: usize> = &'s dyn Fn(&Leaf<K, L, LEAF>, K) -> Option<K>;

/// Why a change was given up: a node is no longer as it was seen. Nothing was changed.
struct Changed;

impl<K: OrderedKey, L: LeafMeta, const LEAF: usize, const INNER: usize> BTree<K, L, LEAF, INNER> {
    /// Splits the leaf for `key` if it is full, and before that every full node above it.
    #[cold]
    pub(super) fn make_room<'t>(&'t self, key: K, told: Told<'_, 't, L>) {
        let split_at =
            |leaf: &Leaf<K, L, LEAF>, _| (leaf.live() == LEAF).then(|| leaf.key(leaf.split_point(key)));
        let _change = RareChange::begin();
        while self.split_topmost(key, &split_at, told) != Some(true) {
            pause();
        }
    }

    /// Makes a leaf begin at `prefix`, if none does.
    #[cold]
    pub(super) fn begin_prefix<'t>(&'t self, prefix: K, told: Told<'_, 't, L>) {
        let split_at = |_: &Leaf<K, L, LEAF>, low| (low < prefix).then_some(prefix);
        let _change = RareChange::begin();
        while self.split_topmost(prefix, &split_at, told) != Some(true) {
            pause();
        }
    }

    /// Splits the topmost full node on the way to `key`, or else the leaf, if `split_at` says at which key,
    /// told what the leaf answers for from. Whether no node above the leaf was full; none if a node changed on
    /// the way.
    fn split_topmost<'t>(
        &'t self,
        key: K,
        split_at: SplitAt<'_, K, L, LEAF>,
        told: Told<'_, 't, L>,
    ) -> Option<bool> {
        let mut inner: &Inner<K, INNER> = &self.root;
        let mut version = inner.latch.read()?;
        let mut low = K::MIN;
        if inner.count() == INNER {
            self.grow(version)?;
            return Some(false);
        }
        loop {
            let at = inner.position(inner.count(), |low| low <= key);
            if at > 0 {
                low = inner.low(at);
            }
            let child = self.child(inner, at)?;
            match child {
                Child::Inner(child) => {
                    let child_version = child.latch.read()?;
                    let is_full = child.count() == INNER;
                    if !inner.latch.validate(version) {
                        return None;
                    }
                    if is_full {
                        self.split_inner((inner, version), at, (child, child_version), key)?;
                        return Some(false);
                    }
                    (inner, version) = (child, child_version);
                }
                Child::Leaf(leaf) => {
                    let leaf_version = leaf.head.latch.read()?;
                    if !inner.latch.validate(version) {
                        return None;
                    }
                    if split_at(leaf, low).is_some() {
                        let split_at = |leaf: &Leaf<K, L, LEAF>| split_at(leaf, low);
                        self.split_leaf((inner, version), at, (leaf, leaf_version), &split_at, told)?;
                    }
                    return Some(true);
                }
            }
        }
    }

    /// Moves the root's children to a new node, the root's only child from then on.
    fn grow(&self, version: u64) -> Option<()> {
        let guard = self.root.latch.upgrade(version)?;
        let (child, child_guard) = self.inners.take();
        self.root.split(0, child);
        self.root.begin(inner_pointer(child));
        drop(child_guard);
        drop(guard);
        Some(())
    }

    /// Splits a full inner node that is the child at `at` of one with room.
    fn split_inner(
        &self,
        (parent, version): (&Inner<K, INNER>, u64),
        at: usize,
        (node, node_version): (&Inner<K, INNER>, u64),
        key: K,
    ) -> Option<()> {
        let _parent_guard = parent.latch.upgrade(version)?;
        let _guard = node.latch.upgrade(node_version)?;
        let (right, _right_guard) = self.inners.take();
        // At the end of a run, as with leaves; the new node needs two children, invariant (5).
        let is_run = node.position(INNER, |low| low <= key) == INNER - 1;
        let middle = if is_run { INNER - 2 } else { INNER / 2 };
        parent.add(at + 1, node.low(middle), inner_pointer(right));
        node.split(middle, right);
        Some(())
    }

    /// Splits a leaf that is the child at `at` of an inner node with room.
    fn split_leaf<'t>(
        &'t self,
        (parent, version): (&Inner<K, INNER>, u64),
        at: usize,
        (leaf, leaf_version): (&'t Leaf<K, L, LEAF>, u64),
        split_at: &dyn Fn(&Leaf<K, L, LEAF>) -> Option<K>,
        told: Told<'_, 't, L>,
    ) -> Option<()> {
        let _parent_guard = parent.latch.upgrade(version)?;
        let guard = leaf.head.upgrade(leaf_version)?;
        let Some(low) = split_at(leaf) else {
            // An entry was removed, which makes room as well.
            guard.release_unchanged();
            return Some(());
        };
        let (right, right_guard) = self.leaves.take();
        right.clear();
        if !is_planted(&plants::SPLIT_DROPS_MARK) {
            leaf.head.meta.carry(&right.head.meta);
        }
        parent.add(at + 1, low, leaf_pointer(right));
        leaf.split(low, right);
        let is_unnoticed = is_planted(&plants::SPLIT_UNNOTICED);
        let after = if is_unnoticed { leaf_version } else { guard.next() };
        let from = LeafRef { head: &leaf.head, seen: leaf_version };
        told(from, after, LeafRef { head: &right.head, seen: right_guard.next() });
        if is_unnoticed {
            guard.release_unchanged();
        }
        Some(())
    }

    /// Unlinks the leaf for `key` if it is empty and not the only one.
    #[cold]
    pub(super) fn unlink_empty(&self, key: K) {
        let _change = RareChange::begin();
        while self.try_unlink(key).is_err() {
            pause();
        }
    }

    fn try_unlink(&self, key: K) -> Result<(), Changed> {
        let (mut grand, mut parent) = (None, None);
        let (mut low, mut high) = (K::MIN, None);
        let found = self.descend(
            |low| low <= key,
            node::prefetch_for_write,
            |node, version, at, count| {
                let step = Step { node, version, at, count, low, high };
                (low, high) = step.bounds(at);
                (grand, parent) = (parent, Some(step));
            },
        );
        let (Some((leaf, version)), Some(parent)) = (found, parent) else { return Err(Changed) };
        // The root's only child stays: invariant (5).
        if leaf.live() > 0 || parent.count == 1 || self.bounds_prefix(&parent, low, high) {
            return if leaf.head.latch.validate(version) { Ok(()) } else { Err(Changed) };
        }
        let (near, near_version) = self.neighbour(&parent).ok_or(Changed)?;
        // A parent that would be left with one child is unlinked, too, unless it is the root.
        let grand = grand.filter(|_| parent.count == 2);
        let grand_guard = match &grand {
            Some(grand) => Some(grand.node.latch.upgrade(grand.version).ok_or(Changed)?),
            None => None,
        };
        let parent_guard = parent.node.latch.upgrade(parent.version).ok_or(Changed)?;
        let near_guard = near.head.upgrade(near_version).ok_or(Changed)?;
        let Some(guard) = leaf.head.upgrade(version) else {
            near_guard.release_unchanged();
            return Err(Changed);
        };
        if !is_planted(&plants::UNLINK_DROPS_MARK) {
            leaf.head.meta.carry(&near.head.meta);
        }
        if let Some(grand) = grand {
            grand.node.set_child(grand.at, parent.node.child(1 - parent.at));
            self.inners.give(parent.node, parent_guard);
        } else {
            parent.node.remove(parent.at);
            drop(parent_guard);
        }
        // The neighbour's gap version stays: see the head of `btree`.
        near_guard.release_unchanged();
        self.leaves.give(leaf, guard);
        drop(grand_guard);
        Ok(())
    }

    /// Whether a leaf that answers for the keys from `low` to `high` must stay for the sake of invariant (7): it
    /// begins a prefix, or the leaf that would take over its gap is of the next prefix.
    fn bounds_prefix(&self, parent: &Step<'_, K, INNER>, low: K, high: Option<K>) -> bool {
        let prefix = |key: K| key.prefix(self.suffix_bits);
        let begins = low == prefix(low) && low != K::MIN;
        begins || parent.at == 0 && high.is_some_and(|high| prefix(high) != prefix(low))
    }

    /// The leaf that takes over the gap of the leaf at `parent.at`: the last one before it under its
    /// parent, or else the first one after it.
    fn neighbour(&self, parent: &Step<'_, K, INNER>) -> Option<(&Leaf<K, L, LEAF>, u64)> {
        let is_before = parent.at > 0;
        let mut inner = parent.node;
        let mut version = parent.version;
        let mut at = if is_before { parent.at - 1 } else { 1 };
        loop {
            match self.child(inner, at)? {
                Child::Leaf(leaf) => {
                    let leaf_version = leaf.head.latch.read()?;
                    return inner.latch.validate(version).then_some((leaf, leaf_version));
                }
                Child::Inner(child) => {
                    let child_version = child.latch.read()?;
                    if !inner.latch.validate(version) {
                        return None;
                    }
                    (inner, version) = (child, child_version);
                    at = if is_before { inner.count().saturating_sub(1) } else { 0 };
                }
            }
        }
    }
}
