//! Tests of the ordered index: against a model, of what it promises about leaves, and under threads.

use core::ops::{Bound, ControlFlow};
use std::collections::{BTreeMap, BTreeSet};

use sync::atomic::{AtomicU64, Ordering, fence};
use sync::workers;

use super::*;
use crate::index::testing::{
    Entries, Late, Random, Seen, Stamp, Stamped, Stamping, TestKey, Unwatched, number, row,
};
use crate::row::Direction;
use crate::shape::Meta;

/// Nodes so small that all kinds of splits and unlinkings happen among a few hundred keys.
type Tiny<K, L = ()> = BTree<K, L, 4, 4>;

impl<K: OrderedKey, L: LeafMeta, const LEAF: usize, const INNER: usize> BTree<K, L, LEAF, INNER> {
    /// Checks everything that must hold of a tree that nobody uses, and returns the keys.
    fn check(&self) -> Vec<K> {
        let (mut keys, mut leaves, mut inners) = (Vec::new(), 0, 0);
        let mut todo = vec![(Child::Inner(&*self.root), K::MIN, None)];
        while let Some((node, low, high)) = todo.pop() {
            let answers_for = |key: K| low <= key && high.is_none_or(|high| key < high);
            match node {
                Child::Inner(inner) => {
                    assert_eq!(inner.latch.current() & 3, 0, "a reachable node is neither held nor gone");
                    let count = inner.count();
                    let is_root = core::ptr::eq(inner, &raw const *self.root);
                    assert!(count >= if is_root { 1 } else { 2 }, "invariant (5)");
                    assert_eq!(inner.low(0), K::MIN);
                    assert!((count..INNER).all(|at| inner.low(at) == K::MAX));
                    inners += usize::from(!is_root);
                    let step = Step { node: inner, version: 0, at: 0, count, low, high };
                    for at in (0..count).rev() {
                        let (low, high) = step.bounds(at);
                        assert!(at == 0 || answers_for(low) && high.is_none_or(|high| low < high));
                        todo.push((self.node(inner.child(at)).expect("children are there"), low, high));
                    }
                }
                Child::Leaf(leaf) => {
                    assert_eq!(leaf.head.latch.current() & 3, 0, "a reachable node is neither held nor gone");
                    assert!(self.leaves.has(core::ptr::from_ref(leaf).addr()));
                    let all: Vec<K> = (0..leaf.used()).map(|at| leaf.key(at)).collect();
                    assert!(all.is_sorted_by(|a, b| a < b) && all.iter().all(|&key| answers_for(key)));
                    let live: Vec<K> = (0..leaf.used())
                        .filter(|&at| leaf.row(at).is_some())
                        .map(|at| leaf.key(at))
                        .collect();
                    assert_eq!(live.len(), leaf.live());
                    assert!((leaf.used()..LEAF).all(|at| leaf.key(at) == K::MAX));
                    assert!(live.iter().all(|key| key.prefix(self.suffix_bits) <= low), "invariant (7)");
                    leaves += 1;
                    keys.extend(live);
                }
            }
        }
        assert_eq!(leaves, self.leaves.in_use());
        assert_eq!(inners, self.inners.in_use());
        assert!(keys.is_sorted_by(|a, b| a < b));
        keys
    }
}

fn is_shared<T: Send + Sync>(_: &T) {}

#[test]
fn nodes_with_keys_of_a_word_fill_whole_cache_lines() {
    assert_eq!(size_of::<Leaf<u64, (), 31>>(), 512);
    assert_eq!(size_of::<Inner<u64, 63>>(), 1024);
    is_shared(&BTree::<u64, (), 31, 63>::new());
}

/// Does random operations on a tree and a model, growing and shrinking by turns, and compares.
fn agrees_with_model<K: TestKey, const LEAF: usize, const INNER: usize>(
    keys: u64,
    operations: u64,
    seed: u64,
    suffix_bits: u32,
) {
    let tree: BTree<K, (), LEAF, INNER> = BTree::with_prefixes(suffix_bits);
    let mut model: BTreeMap<K, u64> = BTreeMap::new();
    let mut random = Random(seed << 32);
    for turn in 0..operations {
        let key = K::nth(random.below(keys), keys);
        let is_growing = (turn * 8 / operations).is_multiple_of(2);
        match random.below(16) {
            0..9 if is_growing => insert(&tree, &mut model, key, turn),
            0..2 => insert(&tree, &mut model, key, turn),
            2..12 => remove(&tree, &mut model, key, turn),
            12..14 => {
                let mut misses = 0;
                let found = tree.get(key, |_| {
                    misses += 1;
                    Ok::<_, ()>(())
                });
                assert_eq!(found.expect("nobody refuses").map(number), model.get(&key).copied());
                assert_eq!(misses, i32::from(!model.contains_key(&key)));
                tree.prefetch(key);
                assert_eq!(tree.peek(key).map(number), model.get(&key).copied());
                let beside = model.range(key..).take(5).map(|(beside, _)| *beside);
                let asked: Vec<_> =
                    [key].into_iter().chain(beside).chain([K::nth(random.below(keys), keys)]).collect();
                let found: Vec<_> =
                    tree.peek_each(asked.iter().copied()).map(|row| row.map(number)).collect();
                let there: Vec<_> = asked.iter().map(|key| model.get(key).copied()).collect();
                assert_eq!(found, there);
            }
            _ => {
                let other = K::nth(random.below(keys), keys);
                let mut bound = |key| match random.below(5) {
                    0 => Bound::Unbounded,
                    1 | 2 => Bound::Included(key),
                    _ => Bound::Excluded(key),
                };
                let (from, to) = (bound(key), bound(other));
                let limit = if random.below(2) == 0 { usize::MAX } else { 1 + random.below(20) as usize };
                scan(&tree, &model, from, to, limit);
            }
        }
        if turn.is_multiple_of(operations / 64) {
            assert!(tree.check().into_iter().eq(model.keys().copied()));
            assert_eq!(tree.len(), model.len());
        }
    }
    while let Some((&key, &number)) = model.first_key_value() {
        assert!(tree.remove(key, row(number), |()| true));
        model.remove(&key);
    }
    tree.check();
    let prefixes: BTreeSet<K> = (0..keys).map(|number| K::nth(number, keys).prefix(suffix_bits)).collect();
    let stay = if prefixes.len() == 1 { 1 } else { 2 * prefixes.len() + 1 };
    assert!(tree.leaves() <= stay, "empty leaves were unlinked, but those that bound prefixes");
}

fn insert<K: TestKey, const LEAF: usize, const INNER: usize>(
    tree: &BTree<K, (), LEAF, INNER>,
    model: &mut BTreeMap<K, u64>,
    key: K,
    turn: u64,
) {
    let Ok(inserted) = tree.insert(key, row(turn), &mut Unwatched);
    match model.get(&key) {
        Some(&number) => assert_eq!(inserted, Inserted::Exists(row(number))),
        None => assert_eq!(inserted, Inserted::Added),
    }
    model.entry(key).or_insert(turn);
}

/// Removes a key if the row is right and the leaf agrees.
fn remove<K: TestKey, const LEAF: usize, const INNER: usize>(
    tree: &BTree<K, (), LEAF, INNER>,
    model: &mut BTreeMap<K, u64>,
    key: K,
    turn: u64,
) {
    let number = if turn.is_multiple_of(16) { turn } else { model.get(&key).copied().unwrap_or(turn) };
    let is_allowed = !turn.is_multiple_of(17);
    let is_removed = tree.remove(key, row(number), |()| is_allowed);
    assert_eq!(is_removed, is_allowed && model.get(&key) == Some(&number));
    if is_removed {
        model.remove(&key);
    }
}

fn scan<K: TestKey, const LEAF: usize, const INNER: usize>(
    tree: &BTree<K, (), LEAF, INNER>,
    model: &BTreeMap<K, u64>,
    from: Bound<K>,
    to: Bound<K>,
    limit: usize,
) {
    let contains = |key: &K| {
        let is_from = match from {
            Bound::Included(from) => *key >= from,
            Bound::Excluded(from) => *key > from,
            Bound::Unbounded => true,
        };
        let is_to = match to {
            Bound::Included(to) => *key <= to,
            Bound::Excluded(to) => *key < to,
            Bound::Unbounded => true,
        };
        is_from && is_to
    };
    let within = model.iter().filter(|(key, _)| contains(key)).map(|(&key, &number)| (key, number));
    for direction in [Direction::Forward, Direction::Backward] {
        let mut seen = Seen { limit, ..Seen::default() };
        tree.scan(from, to, direction, &mut seen).expect("nobody changes leaves");
        let expected: Vec<_> = match direction {
            Direction::Forward => within.clone().take(limit).collect(),
            Direction::Backward => within.clone().rev().take(limit).collect(),
        };
        assert_eq!(seen.entries, expected, "{direction:?} from {from:?} to {to:?}");
        assert!(seen.leaves.are_unchanged());
    }
    let mut count = 0;
    tree.for_each(from, to, |_, _| count += 1);
    assert_eq!(count, within.count());
}

#[test]
fn a_tree_of_tiny_nodes_agrees_with_the_model() {
    for seed in 0..4 {
        for suffix_bits in [u32::MAX, 6] {
            agrees_with_model::<u64, 4, 4>(300, 300_000, seed, suffix_bits);
            agrees_with_model::<u64, 2, 4>(100, 100_000, seed, suffix_bits);
        }
        for suffix_bits in [u32::MAX, 67] {
            agrees_with_model::<u128, 3, 5>(1_000, 100_000, seed, suffix_bits);
        }
        for suffix_bits in [u32::MAX, 256] {
            agrees_with_model::<[u64; 6], 5, 4>(300, 100_000, seed, suffix_bits);
        }
    }
}

#[test]
fn a_tree_of_standard_nodes_agrees_with_the_model() {
    agrees_with_model::<u64, 31, 63>(30_000, 200_000, 1, u32::MAX);
    agrees_with_model::<u64, 31, 63>(200, 300_000, 2, u32::MAX);
    agrees_with_model::<u64, 31, 63>(3_000, 200_000, 2, 9);
    agrees_with_model::<u128, 31, 63>(5_000, 200_000, 3, u32::MAX);
    agrees_with_model::<[u64; 6], 31, 63>(5_000, 200_000, 4, u32::MAX);
}

#[test]
fn ascending_runs_fill_their_leaves_wherever_they_are() {
    let tree: BTree<u64, ()> = BTree::new();
    let mut count = 0;
    for turn in 0..200 {
        for run in 0..10 {
            for line in 0..15 {
                let key = run << 32 | turn << 8 | line;
                let Ok(inserted) = tree.insert(key, row(key), &mut Unwatched);
                assert_eq!(inserted, Inserted::Added);
                count += 1;
            }
        }
    }
    assert_eq!(tree.check().len(), count);
    assert!(count / tree.leaves() >= 28, "{count} entries in {} leaves", tree.leaves());
}

#[test]
fn a_window_that_moves_over_the_keys_needs_no_more_nodes() {
    let tree: BTree<u64, (), 8, 8> = BTree::new();
    let mut bytes = 0;
    for key in 0..200_000 {
        let Ok(_) = tree.insert(key, row(key), &mut Unwatched);
        if key >= 1_000 {
            assert!(tree.remove(key - 1_000, row(key - 1_000), |()| true));
        }
        if key == 2_000 {
            bytes = tree.bytes();
        }
    }
    assert_eq!(tree.check().len(), 1_000);
    assert_eq!(tree.bytes(), bytes);
}

/// A tree with the even numbers below `end`.
fn evens<L: LeafMeta>(end: u64) -> Tiny<u64, L> {
    let tree = Tiny::new();
    for key in (0..end).step_by(2) {
        let Ok(_) = tree.insert(key, row(key), &mut Unwatched);
    }
    tree
}

/// The leaf in whose gap a missing key falls.
fn gap<L: LeafMeta>(tree: &Tiny<u64, L>, key: u64) -> LeafRef<'_, L> {
    tree.get(key, Err).expect_err("the key is missing")
}

#[test]
fn a_key_that_enters_changes_the_gap_version_of_its_leaf_only() {
    let tree = evens::<()>(400);
    let gaps: Vec<_> = (0..400).step_by(2).map(|key| gap(&tree, key + 1)).collect();
    assert!(tree.remove(100, row(100), |()| true));
    let leaf = gap(&tree, 100);
    let Ok(_) = tree.insert(100, row(100), &mut Unwatched);
    for gap in gaps {
        assert_eq!(gap.gap_version() != gap.seen(), gap.same_leaf(&leaf));
    }
}

#[test]
fn a_removal_leaves_the_gap_version() {
    let tree = evens::<()>(400);
    let gap = gap(&tree, 101);
    assert!(tree.remove(100, row(100), |()| true));
    assert_eq!(gap.gap_version(), gap.seen());
}

#[test]
fn an_unlinked_leaf_changes_its_gap_version_and_its_neighbour_does_not() {
    let tree = evens::<()>(400);
    let (before, gone) = (gap(&tree, 199), gap(&tree, 301));
    for key in 200..400 {
        tree.remove(key, row(key), |()| true);
    }
    assert_ne!(gone.gap_version(), gone.seen());
    assert!(gap(&tree, 301).same_leaf(&before), "the leaf before it took over");
    assert_eq!(before.gap_version(), before.seen());
    let Ok(_) = tree.insert(301, row(301), &mut Unwatched);
    assert_ne!(before.gap_version(), before.seen());
}

#[test]
fn the_head_of_a_queue_and_the_end_of_the_one_before_are_in_different_leaves() {
    let key = |queue: u64, number: u64| queue << 16 | number;
    let disturbed = [16, u32::MAX].map(|suffix_bits| {
        let tree: Tiny<u64> = Tiny::with_prefixes(suffix_bits);
        let insert = |key| {
            let Ok(inserted) = tree.insert(key, row(key), &mut Unwatched);
            assert_eq!(inserted, Inserted::Added);
        };
        (1..=3).flat_map(|queue| (0..50).map(move |number| key(queue, number))).for_each(insert);
        let mut disturbed = 0;
        for turn in 0..500 {
            for queue in 1..=3 {
                assert!(tree.remove(key(queue, turn), row(key(queue, turn)), |()| true));
            }
            let head = gap(&tree, key(2, 0));
            insert(key(1, turn + 50));
            disturbed += u32::from(head.gap_version() != head.seen());
            insert(key(2, turn + 50));
            insert(key(3, turn + 50));
        }
        assert_eq!(tree.check().len(), 150);
        assert!(tree.leaves() < 70, "those that the queues have left are used again");
        disturbed
    });
    assert_eq!(disturbed[0], 0);
    assert!(disturbed[1] > 400, "together they would be at odds");
}

#[test]
fn a_refused_key_changes_nothing() {
    let tree = evens::<Stamp>(400);
    let leaf = gap(&tree, 101);
    leaf.meta().raise(7);
    assert_eq!(tree.insert(101, row(1), &mut Stamped(6)), Err(Late));
    assert_eq!(tree.peek(101), None);
    // To make room the leaf may have been split, and the new one is as late.
    assert_eq!(tree.insert(101, row(1), &mut Stamped(6)), Err(Late));
    assert_eq!(tree.insert(101, row(1), &mut Stamped(7)), Ok(Inserted::Added));
    // A key that is there is told without asking.
    assert_eq!(tree.insert(101, row(2), &mut Stamped(0)), Ok(Inserted::Exists(row(1))));
}

#[test]
fn whoever_takes_over_a_gap_protects_what_was_protected() {
    for target in (1..400).step_by(14) {
        let tree = evens::<Stamp>(400);
        gap(&tree, target).meta().raise(5);
        // Splits.
        for key in (1..400).step_by(2) {
            let stamp = gap(&tree, key).meta().get();
            let entered = tree.insert(key, row(key), &mut Stamped(4));
            assert_eq!(entered.is_err(), stamp == 5);
            assert!(key != target || entered.is_err());
        }
        // Unlinkings.
        for key in 0..400 {
            tree.remove(key, row(key), |_| true);
        }
        assert_eq!(tree.leaves(), 1);
        assert_eq!(tree.insert(target, row(0), &mut Stamped(4)), Err(Late));
    }
}

#[test]
fn a_recycled_leaf_protects_nothing() {
    let tree = evens::<Stamp>(400);
    for key in (1..400).step_by(2) {
        gap(&tree, key).meta().raise(5);
    }
    let bytes = tree.bytes();
    for key in (0..400).step_by(2) {
        tree.remove(key, row(key), |_| true);
    }
    // The last leaf took over all gaps.
    gap(&tree, 0).meta().reset();
    for key in (0..400).step_by(2) {
        assert_eq!(tree.insert(key, row(key), &mut Stamped(4)), Ok(Inserted::Added));
    }
    assert_eq!(tree.bytes(), bytes, "leaves were used again");
}

/// Between two keys the leaf of the first is split, unlinked, or loses the next key.
#[test]
fn keys_are_found_one_by_one_while_their_leaf_changes() {
    let tree = evens::<()>(100);
    let asked: Vec<u64> = (40..60).collect();
    let mut rows = tree.peek_each(asked.iter().copied());
    let mut next = || rows.next().expect("as many as keys").map(number);
    let remove = |key: u64| assert!(tree.remove(key, row(key), |()| true));
    assert_eq!(next(), Some(40));
    for key in [41, 43, 45] {
        assert_eq!(tree.insert(key, row(key), &mut Unwatched), Ok(Inserted::Added));
    }
    assert_eq!([next(), next(), next()], [Some(41), Some(42), Some(43)], "their leaf was split");
    remove(44);
    assert_eq!([next(), next()], [None, Some(45)], "the next was removed");
    (46..60).step_by(2).for_each(remove);
    assert_eq!([next(), next()], [None; 2], "their leaf was unlinked");
    assert_eq!(tree.insert(48, row(48), &mut Unwatched), Ok(Inserted::Added));
    assert_eq!(next(), Some(48), "a leaf is there again");
}

#[test]
fn holding_a_leaf_succeeds_only_at_the_version_seen_and_changes_nothing() {
    let tree = evens::<()>(20);
    let leaf = gap(&tree, 5);
    let hold = leaf.hold().expect("nothing has changed");
    assert_ne!(leaf.gap_version(), leaf.seen(), "a key could be entering");
    drop(hold);
    assert_eq!(leaf.gap_version(), leaf.seen());
    let Ok(_) = tree.insert(5, row(5), &mut Unwatched);
    assert!(leaf.hold().is_none());
}

#[test]
fn a_leaf_is_held_as_it_is_until_it_is_gone() {
    let tree = evens::<()>(400);
    let leaf = gap(&tree, 5);
    let Ok(_) = tree.insert(5, row(5), &mut Unwatched);
    let (hold, now) = leaf.hold_as_is().expect("a key has entered, and the leaf is there");
    assert!(now.same_leaf(&leaf) && now.seen() != leaf.seen());
    drop(hold);
    assert_eq!(leaf.gap_version(), now.seen());
    let last = gap(&tree, 399);
    assert!(!last.same_leaf(&leaf), "there are several leaves");
    for key in (0..400).step_by(2) {
        tree.remove(key, row(key), |()| true);
    }
    tree.remove(5, row(5), |()| true);
    assert_eq!(tree.leaves(), 1);
    assert!(leaf.hold_as_is().is_none() || last.hold_as_is().is_none(), "one of them is gone");
}

#[test]
fn own_inserts_are_no_change_to_whoever_follows_them() {
    let mut random = Random(9 << 32);
    for _ in 0..200 {
        let tree = evens::<()>(200);
        let mut seen = Seen::default();
        let (from, to) = (random.below(200), random.below(200));
        tree.scan(Bound::Included(from), Bound::Excluded(to), Direction::Forward, &mut seen)
            .expect("first scan");
        for _ in 0..50 {
            let key = random.below(100) * 2 + 1;
            let Ok(_) = tree.insert(key, row(key), &mut seen.leaves);
        }
        assert!(seen.leaves.are_unchanged());
        let known = seen.leaves.0.len();
        // And what was split off is known, too.
        let mut again = Seen::default();
        tree.scan(Bound::Included(from), Bound::Excluded(to), Direction::Backward, &mut again)
            .expect("no change");
        for (leaf, version) in again.leaves.0 {
            assert!(seen.leaves.0.iter().any(|(other, seen)| other.same_leaf(&leaf) && *seen == version));
        }
        assert!(from < to || known == 0);
    }
}

#[test]
fn a_range_without_keys_names_the_leaves_that_would_hold_them() {
    let tree = evens::<()>(400);
    for (from, to) in [(Bound::Excluded(100), Bound::Excluded(102)), (Bound::Included(399), Bound::Unbounded)]
    {
        for direction in [Direction::Forward, Direction::Backward] {
            let mut seen = Seen::default();
            tree.scan(from, to, direction, &mut seen).expect("nothing changes");
            assert!(seen.entries.is_empty() && !seen.leaves.0.is_empty());
            let key = if to == Bound::Unbounded { 399 } else { 101 };
            let leaf = gap(&tree, key);
            assert!(seen.leaves.0.iter().any(|(known, _)| known.same_leaf(&leaf)));
        }
    }
    let mut seen = Seen::default();
    tree.scan(Bound::Included(7), Bound::Excluded(7), Direction::Forward, &mut seen).expect("nothing to see");
    assert!(seen.leaves.0.is_empty(), "no key can be in this range");
}

#[test]
fn a_visitor_may_change_the_tree_that_it_visits() {
    struct Doubling<'t>(&'t Tiny<u64>, Vec<u64>);
    impl<'t> crate::index::Visitor<'t, u64, ()> for Doubling<'t> {
        type Stop = core::convert::Infallible;

        fn leaf(&mut self, _leaf: LeafRef<'t, ()>) -> Result<(), Self::Stop> {
            Ok(())
        }

        fn entry(&mut self, key: u64, found: RowPtr) -> Result<ControlFlow<()>, Self::Stop> {
            self.1.push(key);
            let Ok(_) = self.0.insert(key + 1, row(key + 1), &mut Unwatched);
            assert!(self.0.remove(key, found, |()| true));
            Ok(ControlFlow::Continue(()))
        }
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let tree = evens::<()>(1_000);
        let mut doubling = Doubling(&tree, Vec::new());
        let Ok(()) = tree.scan(Bound::Unbounded, Bound::Unbounded, direction, &mut doubling);
        if direction == Direction::Backward {
            doubling.1.reverse();
        }
        // The keys seen are in order and none comes twice; each even key once, and of the odd ones those
        // that came into leaves not yet read.
        assert!(doubling.1.is_sorted_by(|a, b| a < b));
        assert_eq!(doubling.1.iter().filter(|key| key.is_multiple_of(2)).count(), 500);
        tree.check();
    }
}

#[test]
fn scans_under_threads_are_ordered_and_miss_no_key_that_stays() {
    const KEYS: u64 = 600;
    let tree: Tiny<u64> = evens(KEYS);
    workers::run(4, false, |worker| {
        let mut random = Random((worker as u64) << 40);
        for turn in 0..15_000_u32 {
            if worker < 2 {
                // Keys of this worker alone come and go, many at a time so that leaves empty.
                let first = random.below(KEYS / 4) * 4 + 1 + 2 * worker as u64;
                for key in (first..KEYS.min(first + 80)).step_by(4) {
                    let change = if turn.is_multiple_of(2) {
                        let Ok(inserted) = tree.insert(key, row(key), &mut Unwatched);
                        inserted == Inserted::Added || tree.peek(key) == Some(row(key))
                    } else {
                        let was_there = tree.peek(key).is_some();
                        tree.remove(key, row(key), |()| true) == was_there
                    };
                    assert!(change, "nobody else changes this key");
                }
                // And some of the upper half that nobody needs, so that leaves empty.
                let key = KEYS + first;
                let Ok(_) = tree.insert(key, row(key), &mut Unwatched);
                assert!(tree.remove(key, row(key), |()| true));
            } else if turn.is_multiple_of(10) {
                let (from, to) = (random.below(KEYS), random.below(2 * KEYS));
                let direction =
                    if turn.is_multiple_of(20) { Direction::Forward } else { Direction::Backward };
                let mut entries = Entries(Vec::new());
                let Ok(()) = tree.scan(Bound::Included(from), Bound::Excluded(to), direction, &mut entries);
                let Entries(mut entries) = entries;
                if direction == Direction::Backward {
                    entries.reverse();
                }
                assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
                assert!(entries.iter().all(|&(key, number)| key == number && from <= key && key < to));
                let stay = entries.iter().filter(|(key, _)| key.is_multiple_of(2)).count() as u64;
                let end = to.min(KEYS).max(from);
                assert_eq!(stay, end.div_ceil(2) - from.div_ceil(2));
            } else {
                let key = random.below(KEYS / 2) * 2;
                assert_eq!(tree.peek(key), Some(row(key)));
            }
        }
    });
    assert_eq!(tree.check().iter().filter(|key| key.is_multiple_of(2)).count() as u64, KEYS / 2);
}

#[test]
fn of_threads_that_insert_and_remove_the_same_keys_one_wins_each_time() {
    [u32::MAX, 5].into_iter().for_each(one_thread_wins_each_time);
}

fn one_thread_wins_each_time(suffix_bits: u32) {
    const KEYS: u64 = 60;
    let tree: Tiny<u64> = Tiny::with_prefixes(suffix_bits);
    let ledgers = workers::run(4, false, |worker| {
        let mut random = Random((worker as u64) << 40);
        let mut balance = vec![0_i64; KEYS as usize];
        for turn in 0..60_000 {
            let key = random.below(KEYS);
            if random.below(2) == 0 {
                let mine = row(turn * 4 + worker as u64);
                let Ok(inserted) = tree.insert(key, mine, &mut Unwatched);
                balance[key as usize] += i64::from(inserted == Inserted::Added);
            } else if let Some(found) = tree.peek(key) {
                balance[key as usize] -= i64::from(tree.remove(key, found, |()| true));
            }
        }
        balance
    });
    let left: BTreeSet<u64> = tree.check().into_iter().collect();
    for key in 0..KEYS {
        let balance: i64 = ledgers.iter().map(|ledger| ledger[key as usize]).sum();
        assert_eq!(balance, i64::from(left.contains(&key)), "key {key}");
    }
}

#[test]
fn leaves_that_are_unchanged_held_every_key_that_was_there() {
    [u32::MAX, 5].into_iter().for_each(unchanged_leaves_held_every_key);
}

fn unchanged_leaves_held_every_key(suffix_bits: u32) {
    const KEYS: u64 = 2_000;
    let tree: Tiny<u64> = Tiny::with_prefixes(suffix_bits);
    // The keys up to this one are in, in the order of `nth`.
    let done = AtomicU64::new(0);
    let nth = |at: u64| at * 7 % KEYS * 2 + 1;
    let validated = workers::run(4, false, |worker| {
        let mut random = Random((worker as u64) << 40);
        let mut validated = 0;
        match worker {
            0 => {
                for at in 0..KEYS {
                    let key = nth(at);
                    let Ok(inserted) = tree.insert(key, row(key), &mut Unwatched);
                    assert_eq!(inserted, Inserted::Added);
                    // Release: pairs with the Acquire of the readers.
                    done.store(at + 1, Ordering::Release);
                }
            }
            1 => {
                while done.load(Ordering::Relaxed) < KEYS {
                    let first = random.below(KEYS) * 2;
                    for key in (first..first + 40).step_by(2) {
                        let Ok(_) = tree.insert(key, row(key), &mut Unwatched);
                    }
                    for key in (first..first + 40).step_by(2) {
                        tree.remove(key, row(key), |()| true);
                    }
                }
            }
            _ => {
                let mut is_last = false;
                while !is_last {
                    is_last = done.load(Ordering::Relaxed) == KEYS;
                    let from = random.below(2 * KEYS);
                    let to = from + random.below(100);
                    let mut seen = Seen::default();
                    let direction =
                        if to.is_multiple_of(2) { Direction::Forward } else { Direction::Backward };
                    let scanned = tree.scan(Bound::Included(from), Bound::Excluded(to), direction, &mut seen);
                    // Acquire: pairs with the Release of the writer.
                    let done = done.load(Ordering::Acquire);
                    fence(Ordering::SeqCst);
                    if scanned.is_ok() && seen.leaves.are_unchanged() {
                        validated += 1;
                        let keys: BTreeSet<u64> = seen.entries.iter().map(|entry| entry.0).collect();
                        for key in (0..done).map(nth).filter(|key| (from..to).contains(key)) {
                            assert!(keys.contains(&key), "{key} is in, and no leaf has changed");
                        }
                    }
                }
            }
        }
        validated
    });
    tree.check();
    assert!(validated[2] > 0 && validated[3] > 0, "the last scans ran alone");
}

#[test]
fn no_key_comes_in_behind_a_later_reader_of_its_gap() {
    [u32::MAX, 5].into_iter().for_each(no_key_comes_in_behind_a_reader);
}

fn no_key_comes_in_behind_a_reader(suffix_bits: u32) {
    const KEYS: u64 = 400;
    struct Scan {
        stamp: u64,
        from: u64,
        to: u64,
        seen: BTreeSet<u64>,
    }
    let tree: Tiny<u64, Stamp> = Tiny::with_prefixes(suffix_bits);
    let clock = AtomicU64::new(1);
    let logs = workers::run(4, false, |worker| {
        let mut random = Random((worker as u64) << 40);
        let (mut scans, mut inserts) = (Vec::new(), Vec::new());
        for turn in 0..4_000_u64 {
            let now = clock.fetch_add(1, Ordering::Relaxed);
            match (worker, turn % 4) {
                (0, _) => {
                    // Others' keys come and go, so that leaves split and are unlinked.
                    let first = random.below(KEYS) * 2;
                    for key in (first..first + 20).step_by(2) {
                        let _ = tree.insert(key, row(0), &mut Stamped(u64::MAX));
                    }
                    for key in (first..first + 20).step_by(2) {
                        tree.remove(key, row(0), |_| true);
                    }
                }
                (_, 0) => {
                    let from = random.below(2 * KEYS);
                    let to = from + random.below(60);
                    let mut stamping = Stamping { stamp: now, entries: Vec::new() };
                    let direction =
                        if to.is_multiple_of(2) { Direction::Forward } else { Direction::Backward };
                    let Ok(()) =
                        tree.scan(Bound::Included(from), Bound::Excluded(to), direction, &mut stamping);
                    let seen = stamping.entries.iter().map(|entry| entry.0).collect();
                    scans.push(Scan { stamp: now, from, to, seen });
                }
                (_, 1) => {
                    let key = random.below(KEYS) * 2 + 1;
                    let found = tree.get(key, |leaf| {
                        leaf.meta().raise(now);
                        Ok::<_, Late>(())
                    });
                    if found == Ok(None) {
                        scans.push(Scan { stamp: now, from: key, to: key + 1, seen: BTreeSet::new() });
                    }
                }
                _ => {
                    let key = random.below(KEYS) * 2 + 1;
                    if tree.insert(key, row(now), &mut Stamped(now)) == Ok(Inserted::Added) {
                        inserts.push((key, now));
                    }
                }
            }
        }
        (scans, inserts)
    });
    tree.check();
    let inserts: Vec<(u64, u64)> = logs.iter().flat_map(|log| log.1.iter().copied()).collect();
    assert!(!inserts.is_empty());
    for scan in logs.iter().flat_map(|log| &log.0) {
        for &(key, stamp) in inserts.iter().filter(|(key, _)| (scan.from..scan.to).contains(key)) {
            assert!(
                stamp > scan.stamp || scan.seen.contains(&key),
                "key {key} came in at {stamp}, unseen by the scan at {}",
                scan.stamp
            );
        }
    }
}
