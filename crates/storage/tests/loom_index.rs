//! Models of the index nodes: every interleaving, and every outcome that the orderings allow, of two
//! threads that meet in a tree or a hash index of a few entries.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-storage --test loom_index`
#![cfg(loom)]

use std::convert::Infallible;
use std::num::NonZero;
use std::ops::{Bound, ControlFlow};

use loom::sync::Arc;
use loom::thread;
use storage::index::{BTree, Hash, Inserted, LeafRef, RowPtr, Visitor};
use storage::{Direction, LeafMeta, Meta, Watcher, places_beside};
use sync::atomic::{AtomicU64, Ordering};

/// A tree whose third key splits a leaf.
type Tree<L = ()> = BTree<u64, L, 2, 4>;

/// A hash index whose second key in a bucket overflows.
type Table = Hash<u64, OneEntry>;

/// No metadata, in hash buckets of one entry.
#[derive(Debug, Default)]
struct OneEntry;

impl Meta for OneEntry {
    fn reset(&self) {}
}

impl LeafMeta for OneEntry {
    type Places<T: Default + Send + Sync> = [T; 1];

    fn carry(&self, _: &Self) {}
}

fn row(number: u64) -> RowPtr {
    RowPtr::to_nowhere(NonZero::new(number as usize * 8 + 8).expect("not zero"))
}

/// Runs two threads in every way with up to two preemptions.
///
/// Loom remembers only the last load of a word, so a store that follows it in the same thread is not
/// seen to race with a load of the other thread before. Each thread therefore has its turn to be first.
fn model<T: Send + Sync + 'static, A: 'static, B: 'static>(
    make: fn() -> T,
    one: fn(&T) -> A,
    other: fn(&T) -> B,
    afterwards: fn(&T, A, B),
) {
    explore(make, one, other, move |shared, a, b| afterwards(shared, a, b));
    explore(make, other, one, move |shared, b, a| afterwards(shared, a, b));
}

fn explore<T: Send + Sync + 'static, A: 'static, B: 'static>(
    make: fn() -> T,
    first: fn(&T) -> A,
    second: fn(&T) -> B,
    afterwards: impl Fn(&T, A, B) + Send + Sync + 'static,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.max_branches = 100_000;
    model.check(move || {
        let shared = Arc::new(make());
        let for_second = Arc::clone(&shared);
        let thread = thread::spawn(move || second(&for_second));
        let a = first(&shared);
        let b = thread.join().expect("the second thread does not panic");
        afterwards(&shared, a, b);
    });
}

struct Unwatched;

impl<'t, L> Watcher<'t, L> for Unwatched {
    type Stop = Infallible;

    fn adding(&mut self, _: LeafRef<'t, L>) -> Result<(), Infallible> {
        Ok(())
    }

    fn added(&mut self, _: LeafRef<'t, L>, _: u64) {}

    fn split(&mut self, _: LeafRef<'t, L>, _: u64, _: LeafRef<'t, L>) {}
}

fn insert<L: LeafMeta>(tree: &Tree<L>, key: u64) {
    let Ok(inserted) = tree.insert(key, row(key), &mut Unwatched);
    assert_eq!(inserted, Inserted::Added);
}

fn remove<L: LeafMeta>(tree: &Tree<L>, key: u64) {
    assert!(tree.remove(key, row(key), |_| true));
}

fn tree_of<L: LeafMeta>(keys: &[u64]) -> Tree<L> {
    let tree = Tree::new();
    for &key in keys {
        insert(&tree, key);
    }
    tree
}

fn keys(tree: &Tree<impl LeafMeta>) -> Vec<u64> {
    let mut keys = Vec::new();
    tree.for_each(Bound::Unbounded, Bound::Unbounded, |key, found| {
        assert_eq!(found, row(key));
        keys.push(key);
    });
    keys
}

#[test]
fn a_key_that_a_split_moves_is_found() {
    model(
        || tree_of::<()>(&[1, 2]),
        |tree| assert_eq!(tree.peek(2), Some(row(2))),
        |tree| insert(tree, 3),
        |tree, (), ()| assert_eq!(keys(tree), [1, 2, 3]),
    );
}

#[test]
fn of_two_keys_that_need_the_same_split_none_is_lost() {
    model(
        || tree_of::<()>(&[1, 3]),
        |tree| insert(tree, 2),
        |tree| insert(tree, 4),
        |tree, (), ()| assert_eq!(keys(tree), [1, 2, 3, 4]),
    );
}

#[test]
fn a_scan_beside_a_split_is_in_order_and_misses_no_key_that_stays() {
    model(
        || tree_of::<()>(&[1, 3]),
        |tree| {
            let seen = keys(tree);
            assert!(seen == [1, 3] || seen == [1, 2, 3], "{seen:?}");
        },
        |tree| insert(tree, 2),
        |_, (), ()| (),
    );
}

#[test]
fn a_leaf_that_is_recycled_elsewhere_misleads_nobody() {
    model(
        || tree_of::<()>(&[1, 2, 3]),
        |tree| {
            assert_eq!(tree.peek(2), Some(row(2)));
            let found = tree.peek(3);
            assert!(found.is_none_or(|found| found == row(3)));
        },
        |tree| {
            // Unlinks the leaf of 3, which is used again for one below it.
            remove(tree, 3);
            insert(tree, 0);
        },
        |tree, (), ()| assert_eq!(keys(tree), [0, 1, 2]),
    );
}

#[test]
fn a_key_enters_beside_the_unlinking_of_its_leaf() {
    model(
        || tree_of::<()>(&[1, 2, 3]),
        |tree| insert(tree, 4),
        |tree| remove(tree, 3),
        |tree, (), ()| assert_eq!(keys(tree), [1, 2, 4]),
    );
}

#[test]
#[ignore = "takes 20 seconds: `cargo xtask nightly loom`"]
fn two_neighbours_are_unlinked_at_the_same_time() {
    model(
        || {
            let tree = tree_of::<()>(&[1, 2, 3, 4, 5]);
            remove(&tree, 2);
            remove(&tree, 4);
            tree
        },
        |tree| remove(tree, 1),
        |tree| remove(tree, 3),
        |tree, (), ()| assert_eq!(keys(tree), [5]),
    );
}

/// The stamp of the latest reader of a leaf.
#[derive(Debug, Default)]
struct Stamp(AtomicU64);

impl Meta for Stamp {
    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl LeafMeta for Stamp {
    type Places<T: Default + Send + Sync> = [T; places_beside(size_of::<u64>())];

    fn carry(&self, to: &Self) {
        to.raise(self.get());
    }
}

impl Stamp {
    fn raise(&self, stamp: u64) {
        self.0.fetch_max(stamp, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A watcher that inserts only if nobody has read the gap.
struct BeforeReaders;

impl<'t> Watcher<'t, Stamp> for BeforeReaders {
    type Stop = ();

    fn adding(&mut self, leaf: LeafRef<'t, Stamp>) -> Result<(), ()> {
        if leaf.meta().get() > 0 { Err(()) } else { Ok(()) }
    }

    fn added(&mut self, _: LeafRef<'t, Stamp>, _: u64) {}

    fn split(&mut self, _: LeafRef<'t, Stamp>, _: u64, _: LeafRef<'t, Stamp>) {}
}

/// A visitor that reads, and marks what it reads.
#[derive(Default)]
struct Marking(Vec<u64>);

impl Visitor<'_, u64, Stamp> for Marking {
    type Stop = Infallible;

    fn leaf(&mut self, leaf: LeafRef<'_, Stamp>) -> Result<(), Infallible> {
        leaf.meta().raise(1);
        Ok(())
    }

    fn entry(&mut self, key: u64, _: RowPtr) -> Result<ControlFlow<()>, Infallible> {
        self.0.push(key);
        Ok(ControlFlow::Continue(()))
    }
}

/// Asserts that the writer's key is not in if a reader that marks what it misses has missed it.
fn never_in_behind_a_reader<T>(_: &T, is_missed: bool, is_in: bool) {
    assert!(!(is_missed && is_in), "the key came in behind the reader");
}

fn enter(tree: &Tree<Stamp>, key: u64) -> bool {
    tree.insert(key, row(key), &mut BeforeReaders) == Ok(Inserted::Added)
}

#[test]
fn a_key_that_a_lookup_missed_does_not_come_in_behind_it() {
    model(
        || tree_of::<Stamp>(&[1]),
        |tree| {
            let found = tree.get(2, |leaf| {
                leaf.meta().raise(1);
                Ok::<_, ()>(())
            });
            found == Ok(None)
        },
        |tree| enter(tree, 2),
        never_in_behind_a_reader,
    );
}

#[test]
fn a_key_that_a_scan_missed_does_not_come_in_behind_it() {
    model(
        || tree_of::<Stamp>(&[1, 3]),
        |tree| {
            let mut marking = Marking::default();
            let Ok(()) = tree.scan(Bound::Included(1), Bound::Included(3), Direction::Forward, &mut marking);
            !marking.0.contains(&2)
        },
        |tree| enter(tree, 2),
        never_in_behind_a_reader,
    );
}

/// Looks for a key that is missing, and later leaves a mark that it was. Returns whether both held.
fn misses_and_marks(tree: &Tree<Stamp>, key: u64) -> bool {
    let mut gap = None;
    let found = tree.get(key, |leaf| {
        gap = Some(leaf);
        Ok::<_, ()>(())
    });
    found == Ok(None) && gap.is_some_and(|leaf| leaf.mark(|meta| meta.raise(1)))
}

#[test]
fn a_key_does_not_come_in_behind_a_mark_that_is_left_after_the_search() {
    model(
        || tree_of::<Stamp>(&[1]),
        |tree| misses_and_marks(tree, 2),
        |tree| enter(tree, 2),
        never_in_behind_a_reader,
    );
}

#[test]
fn a_mark_that_is_left_after_the_search_on_a_leaf_that_is_unlinked_protects_nothing() {
    model(
        || tree_of::<Stamp>(&[1, 2, 3]),
        |tree| misses_and_marks(tree, 4),
        |tree| {
            remove(tree, 3);
            enter(tree, 4)
        },
        never_in_behind_a_reader,
    );
}

#[test]
fn a_mark_on_a_leaf_that_is_unlinked_is_kept() {
    model(
        || tree_of::<Stamp>(&[1, 2, 3]),
        |tree| {
            let found = tree.get(4, |leaf| {
                leaf.meta().raise(1);
                Ok::<_, ()>(())
            });
            found == Ok(None)
        },
        |tree| {
            remove(tree, 3);
            enter(tree, 4)
        },
        never_in_behind_a_reader,
    );
}

#[test]
fn whoever_misses_a_removed_row_sees_what_the_removal_left_in_the_leaf() {
    model(
        || tree_of::<Stamp>(&[1, 2]),
        |tree| {
            let found = tree.get(2, |leaf| {
                assert_eq!(leaf.meta().get(), 7);
                Ok::<_, ()>(())
            });
            assert!(found.is_ok());
        },
        |tree| {
            let is_removed = tree.remove(2, row(2), |meta| {
                meta.raise(7);
                true
            });
            assert!(is_removed);
        },
        |tree, (), ()| assert_eq!(keys(tree), [1]),
    );
}

#[test]
fn a_held_leaf_keeps_keys_out() {
    model(
        || tree_of::<Stamp>(&[1]),
        |tree| {
            let leaf = tree.get(2, Err);
            // Marked under the latch, with the check that nothing has changed: no fence is needed.
            let Err(leaf) = leaf else { return false };
            let hold = leaf.hold();
            if hold.is_some() {
                leaf.meta().raise(1);
            }
            hold.is_some()
        },
        |tree| enter(tree, 2),
        never_in_behind_a_reader,
    );
}

fn put(table: &Table, key: u64) {
    let Ok(inserted) = table.insert(key, row(key), &mut Unwatched);
    assert_eq!(inserted, Inserted::Added);
}

/// Keys of the first bucket of a table of the smallest size, and of no other as long as it does not grow.
fn colliding(count: usize) -> Vec<u64> {
    (0..).filter(|key: &u64| storage::OrderedKey::hash(*key) % 8 == 0).take(count).collect()
}

fn table_of(count: usize) -> Table {
    let table = Table::with_capacity(0);
    for key in colliding(count) {
        put(&table, key);
    }
    table
}

#[test]
fn a_key_in_an_overflow_bucket_is_found_beside_changes_of_others() {
    model(
        || table_of(2),
        |table| {
            let keys = colliding(3);
            assert_eq!(table.peek(keys[1]), Some(row(keys[1])));
        },
        |table| {
            let keys = colliding(3);
            assert!(table.remove(keys[0], row(keys[0]), |_| true));
            // Moves the key above to the first bucket, and uses the overflow bucket for this one.
            put(table, keys[2]);
        },
        |table, (), ()| assert_eq!(table.len(), 2),
    );
}

#[test]
fn a_key_that_the_growth_of_the_index_moves_is_found() {
    model(
        || table_of(3),
        |table| {
            for key in colliding(3) {
                assert_eq!(table.peek(key), Some(row(key)));
            }
        },
        // The third overflow bucket splits the first bucket.
        |table| put(table, colliding(4)[3]),
        |table, (), ()| {
            assert!(table.buckets() > 8);
            assert_eq!(table.len(), 4);
        },
    );
}
