//! The indexes compared with an ordered map: their entries, and the protection by versions and metadata of
//! leaves.
//!
//! An input is a byte that selects the index, and operations of six bytes each. Further claims, beyond those on
//! entries: the insert of a key into a range that a search or a scan has read changes the gap version of a leaf
//! that the read named; an inserter that follows its own inserts sees no such change; a reader's entry in the
//! metadata of such a leaf is visible to an inserter there; a removal changes no leaf unless it unlinks one;
//! keys of two prefixes are never in one leaf.

use core::convert::Infallible;
use core::fmt::Debug;
use core::num::NonZero;
use core::ops::{Bound, ControlFlow};
use std::collections::BTreeMap;

use storage::index::{BTree, Hash, Inserted, LeafRef, RowPtr, Visitor};
use storage::{Direction, LeafMeta, Meta, OrderedKey, Watcher, places_beside};
use sync::atomic::{AtomicU64, Ordering};

use crate::bytes::Bytes;

/// Reads an input as operations on one of the indexes and executes them.
///
/// # Panics
/// When the index is wrong.
pub fn index(input: &[u8]) {
    let mut input = Bytes(input);
    match input.next() % 8 {
        0 => run::<u64, Stamp>(&BTree::<u64, Stamp, 4, 4>::new(), NO_PREFIXES, input),
        1 => run::<u64, ()>(&BTree::<u64, (), 2, 4>::with_prefixes(6), 6, input),
        2 => run::<u128, Stamp>(&BTree::<u128, Stamp, 3, 5>::with_prefixes(67), 67, input),
        3 => run::<[u64; 6], ()>(&BTree::<[u64; 6], (), 5, 4>::with_prefixes(256), 256, input),
        4 => run::<u64, Stamp>(&BTree::<u64, Stamp>::new(), NO_PREFIXES, input),
        5 => run::<u64, ()>(&BTree::<u64, ()>::with_prefixes(9), 9, input),
        6 => run::<u64, Stamp>(&Hash::<u64, Stamp>::with_capacity(0), NO_PREFIXES, input),
        _ => run::<u128, Stamp>(&Hash::<u128, Stamp>::with_capacity(20), NO_PREFIXES, input),
    }
}

/// A number of suffix bits with which all keys have one prefix.
const NO_PREFIXES: u32 = u32::MAX;
/// The number of different keys: enough for three levels of standard nodes.
const KEYS: u16 = 4_096;
/// The maximum number of reads that are remembered at a time.
const READS: usize = 6;

/// Keys in the order of their numbers, with the smallest and the largest possible key at the ends.
trait Numbered: OrderedKey {
    fn nth(number: u16) -> Self;
}

impl Numbered for u64 {
    fn nth(number: u16) -> Self {
        if number + 1 == KEYS { Self::MAX } else { Self::from(number) * 3 }
    }
}

impl Numbered for u128 {
    fn nth(number: u16) -> Self {
        if number + 1 == KEYS { Self::MAX } else { Self::from(number) << 62 }
    }
}

impl Numbered for [u64; 6] {
    fn nth(number: u16) -> Self {
        let number = u64::from(number);
        if number + 1 == u64::from(KEYS) {
            [u64::MAX; 6]
        } else {
            [number / 100, 0, number % 100 / 10, 0, 0, number % 10]
        }
    }
}

/// Leaf metadata: the stamp of the latest reader of the leaf.
#[derive(Debug, Default)]
struct Stamp(AtomicU64);

impl Meta for Stamp {
    fn reset(&self) {
        // Relaxed here and below: one thread only.
        self.0.store(0, Ordering::Relaxed);
    }
}

impl LeafMeta for Stamp {
    type Places<T: Default + Send + Sync> = [T; places_beside(size_of::<Self>())];

    fn carry(&self, to: &Self) {
        to.raise(self.0.load(Ordering::Relaxed));
    }
}

/// Leaf metadata that may protect readers.
trait Protects: LeafMeta {
    fn raise(&self, stamp: u64);
    /// Returns `true` if the metadata cover a reader at `stamp`, or if there are no metadata.
    fn knows(&self, stamp: u64) -> bool;
}

impl Protects for Stamp {
    fn raise(&self, stamp: u64) {
        self.0.fetch_max(stamp, Ordering::Relaxed);
    }

    fn knows(&self, stamp: u64) -> bool {
        self.0.load(Ordering::Relaxed) >= stamp
    }
}

impl Protects for () {
    fn raise(&self, _stamp: u64) {}

    fn knows(&self, _stamp: u64) -> bool {
        true
    }
}

/// Creates a row pointer that encodes a number.
fn row(number: u64) -> RowPtr {
    RowPtr::to_nowhere(NonZero::new((number as usize + 1) * 8).expect("not zero"))
}

/// Returns the number of a row.
fn number(row: RowPtr) -> u64 {
    row.address() as u64 / 8 - 1
}

/// The operations of both kinds of index. A hash index has no order.
trait Subject<K: OrderedKey, L: LeafMeta> {
    fn get<'t>(&'t self, key: K, missed: impl FnMut(LeafRef<'t, L>)) -> Option<RowPtr>;
    fn peek(&self, key: K) -> Option<RowPtr>;
    fn insert<'t, W: Watcher<'t, L>>(
        &'t self,
        key: K,
        row: RowPtr,
        watch: &mut W,
    ) -> Result<Inserted, W::Stop>;
    fn remove(&self, key: K, row: RowPtr, is_allowed: bool) -> bool;
    /// Returns `false` if the index has no order and visited no keys.
    fn scan<'t, V: Visitor<'t, K, L>>(
        &'t self,
        from: Bound<K>,
        to: Bound<K>,
        direction: Direction,
        visitor: &mut V,
    ) -> Result<bool, V::Stop>;
    /// Returns all entries, in key order.
    fn entries(&self) -> Vec<(K, u64)>;
    fn len(&self) -> usize;
    /// Returns a number that changes when leaves are created or unlinked.
    fn leaves(&self) -> usize;
}

impl<K: OrderedKey, L: LeafMeta, const LEAF: usize, const INNER: usize> Subject<K, L>
    for BTree<K, L, LEAF, INNER>
{
    fn get<'t>(&'t self, key: K, mut missed: impl FnMut(LeafRef<'t, L>)) -> Option<RowPtr> {
        self.prefetch(key);
        let Ok(found) = self.get(key, |leaf| {
            missed(leaf);
            Ok::<_, Infallible>(())
        });
        found
    }

    fn peek(&self, key: K) -> Option<RowPtr> {
        self.peek(key)
    }

    fn insert<'t, W: Watcher<'t, L>>(
        &'t self,
        key: K,
        row: RowPtr,
        watch: &mut W,
    ) -> Result<Inserted, W::Stop> {
        self.insert(key, row, watch)
    }

    fn remove(&self, key: K, row: RowPtr, is_allowed: bool) -> bool {
        self.remove(key, row, |_| is_allowed)
    }

    fn scan<'t, V: Visitor<'t, K, L>>(
        &'t self,
        from: Bound<K>,
        to: Bound<K>,
        direction: Direction,
        visitor: &mut V,
    ) -> Result<bool, V::Stop> {
        self.scan(from, to, direction, visitor).map(|()| true)
    }

    fn entries(&self) -> Vec<(K, u64)> {
        let mut all = Vec::new();
        self.for_each(Bound::Unbounded, Bound::Unbounded, |key, row| all.push((key, number(row))));
        all
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn leaves(&self) -> usize {
        self.leaves()
    }
}

impl<K: OrderedKey, L: LeafMeta> Subject<K, L> for Hash<K, L> {
    fn get<'t>(&'t self, key: K, mut missed: impl FnMut(LeafRef<'t, L>)) -> Option<RowPtr> {
        self.prefetch(key);
        let Ok(found) = self.get(key, |leaf| {
            missed(leaf);
            Ok::<_, Infallible>(())
        });
        found
    }

    fn peek(&self, key: K) -> Option<RowPtr> {
        self.peek(key)
    }

    fn insert<'t, W: Watcher<'t, L>>(
        &'t self,
        key: K,
        row: RowPtr,
        watch: &mut W,
    ) -> Result<Inserted, W::Stop> {
        self.insert(key, row, watch)
    }

    fn remove(&self, key: K, row: RowPtr, is_allowed: bool) -> bool {
        self.remove(key, row, |_| is_allowed)
    }

    fn scan<'t, V: Visitor<'t, K, L>>(
        &'t self,
        _from: Bound<K>,
        _to: Bound<K>,
        _direction: Direction,
        _visitor: &mut V,
    ) -> Result<bool, V::Stop> {
        Ok(false)
    }

    fn entries(&self) -> Vec<(K, u64)> {
        let mut all = Vec::new();
        for share in 0..3 {
            self.for_each_share(share, 3, |key, row| all.push((key, number(row))));
        }
        all.sort_unstable();
        all
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn leaves(&self) -> usize {
        self.buckets()
    }
}

/// The keys between two bounds.
#[derive(Clone, Copy, Debug)]
struct Range<K> {
    from: Bound<K>,
    to: Bound<K>,
}

impl<K: OrderedKey> Range<K> {
    fn contains(&self, key: K) -> bool {
        let is_from = match self.from {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        };
        let is_to = match self.to {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        };
        is_from && is_to
    }
}

/// A remembered read: its range, its stamp, and the leaves that it named, with their versions.
#[derive(Debug)]
struct Read<'t, K, L> {
    range: Range<K>,
    stamp: u64,
    leaves: Vec<LeafRef<'t, L>>,
}

impl<K, L> Read<'_, K, L> {
    /// Returns `true` if every leaf still has the remembered version.
    fn is_good(&self) -> bool {
        self.leaves.iter().all(|leaf| leaf.gap_version() == leaf.seen())
    }
}

/// An inserter. It follows its own changes of the leaves of one read, and checks that the leaf which a key
/// enters has the stamps of its readers.
struct Inserter<'r, 't, K, L> {
    own: Option<&'r mut Read<'t, K, L>>,
    stamp: u64,
    is_refused: bool,
}

/// The insert of a key was refused.
#[derive(Debug, PartialEq, Eq)]
struct Refused;

impl<'t, K, L: Protects> Watcher<'t, L> for Inserter<'_, 't, K, L> {
    type Stop = Refused;

    fn adding(&mut self, leaf: LeafRef<'t, L>) -> Result<(), Refused> {
        assert!(leaf.meta().knows(self.stamp), "the leaf that a key enters knows whoever read there");
        if self.is_refused { Err(Refused) } else { Ok(()) }
    }

    fn added(&mut self, before: LeafRef<'t, L>, after: u64) {
        assert!(after > before.seen(), "versions ascend");
        let Some(own) = &mut self.own else { return };
        for known in &mut own.leaves {
            if known.same_leaf(&before) && known.seen() == before.seen() {
                *known = known.at(after);
            }
        }
    }

    fn split(&mut self, from: LeafRef<'t, L>, from_after: u64, into: LeafRef<'t, L>) {
        assert!(from_after > from.seen(), "versions ascend");
        assert!(!from.same_leaf(&into), "a leaf splits into two");
        let Some(own) = &mut self.own else { return };
        let known = own.leaves.iter_mut().find(|known| known.same_leaf(&from) && known.seen() == from.seen());
        if let Some(known) = known {
            *known = known.at(from_after);
            own.leaves.push(into);
        }
    }
}

/// A scanner at a stamp, which stops after `limit` entries.
struct Scanner<'t, K, L> {
    stamp: u64,
    limit: usize,
    suffix_bits: u32,
    leaves: Vec<LeafRef<'t, L>>,
    /// The prefix of the entries of the last named leaf.
    prefix: Option<K>,
    entries: Vec<(K, u64)>,
}

impl<'t, K: OrderedKey, L: Protects> Visitor<'t, K, L> for Scanner<'t, K, L> {
    type Stop = Infallible;

    fn leaf(&mut self, leaf: LeafRef<'t, L>) -> Result<(), Infallible> {
        assert!(self.leaves.iter().all(|known| !known.same_leaf(&leaf)), "a scan meets each leaf once");
        leaf.meta().raise(self.stamp);
        self.leaves.push(leaf);
        self.prefix = None;
        Ok(())
    }

    fn entry(&mut self, key: K, row: RowPtr) -> Result<ControlFlow<()>, Infallible> {
        let prefix = key.prefix(self.suffix_bits);
        let of_leaf = *self.prefix.get_or_insert(prefix);
        assert!(prefix == of_leaf, "{key:?} is in a leaf with keys of another prefix");
        self.entries.push((key, number(row)));
        Ok(if self.entries.len() < self.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }
}

/// An index, its expected contents, and the remembered reads.
struct Case<'t, K, L, S> {
    subject: &'t S,
    model: BTreeMap<K, u64>,
    reads: Vec<Read<'t, K, L>>,
    suffix_bits: u32,
    /// The number of operations so far, which numbers rows and stamps reads.
    turn: u64,
}

/// Reads operations and executes them.
fn run<'t, K: Numbered, L: Protects>(
    subject: &'t impl Subject<K, L>,
    suffix_bits: u32,
    mut input: Bytes<'_>,
) {
    let mut case: Case<'t, K, L, _> =
        Case { subject, model: BTreeMap::new(), reads: Vec::new(), suffix_bits, turn: 0 };
    while !input.are_over() {
        let (what, first, second, how) = (input.next(), input.next_u16(), input.next_u16(), input.next());
        case.step(what, first % KEYS, second % KEYS, how);
    }
    case.compare();
}

impl<K: Numbered, L: Protects, S: Subject<K, L>> Case<'_, K, L, S> {
    /// Executes the operation `what` on the keys of two numbers. `how` makes all other choices.
    fn step(&mut self, what: u8, first: u16, second: u16, how: u8) {
        match what % 16 {
            0..=3 => self.insert(first, how),
            4 => (0..=second % 64).for_each(|next| self.insert((first + next) % KEYS, how)),
            5 => (0..=second % 64).for_each(|next| self.insert((first + KEYS - next) % KEYS, how)),
            6 | 7 => self.remove(first, how),
            8 => (0..=second % 64).for_each(|next| self.remove((first + next) % KEYS, how)),
            9 | 10 => self.get(K::nth(first)),
            11 => {
                let key = K::nth(first);
                assert_eq!(self.subject.peek(key).map(number), self.model.get(&key).copied());
            }
            15 => self.compare(),
            _ => self.scan(first, second, how),
        }
    }

    /// Inserts a key, alone or as one of the readers.
    fn insert(&mut self, key: u16, how: u8) {
        let key = K::nth(key);
        let number = self.begin();
        let expected = self.model.get(&key).copied();
        let of_others = |at: usize| at != usize::from(how % 8);
        let covers = |read: &Read<'_, K, L>| read.range.contains(key);
        let stamp = self.reads.iter().filter(|read| covers(read)).map(|read| read.stamp).max();
        let mut watch = Inserter {
            own: self.reads.get_mut(usize::from(how % 8)),
            stamp: stamp.unwrap_or(0),
            is_refused: how & 0x70 == 0x70,
        };
        let is_refused = watch.is_refused;
        let inserted = self.subject.insert(key, row(number), &mut watch);
        match expected {
            Some(there) => assert_eq!(inserted, Ok(Inserted::Exists(row(there)))),
            None if is_refused => assert_eq!(inserted, Err(Refused)),
            None => {
                assert_eq!(inserted, Ok(Inserted::Added));
                self.model.insert(key, number);
                let misses = |(at, read): (usize, &Read<'_, K, L>)| {
                    of_others(at) && read.range.contains(key) && read.is_good()
                };
                assert!(
                    !self.reads.iter().enumerate().any(misses),
                    "{key:?} came in where others had read, unseen"
                );
            }
        }
        if let Some(own) = self.reads.get(usize::from(how % 8)) {
            assert!(own.is_good(), "own inserts are no change to whoever follows them");
        }
        // A read whose leaves have changed proves nothing more.
        self.reads.retain(Read::is_good);
    }

    /// Removes a key. Some attempts pass another row, or a leaf that does not permit the removal; these must
    /// fail.
    fn remove(&mut self, key: u16, how: u8) {
        let key = K::nth(key);
        let there = self.model.get(&key).copied();
        let number = if how & 0x0f == 0x0f { self.begin() } else { there.unwrap_or(0) };
        let is_allowed = how & 0xf0 != 0xf0;
        let leaves = self.subject.leaves();
        let is_removed = self.subject.remove(key, row(number), is_allowed);
        assert_eq!(is_removed, is_allowed && there == Some(number));
        if is_removed {
            self.model.remove(&key);
        }
        if self.subject.leaves() == leaves {
            assert!(self.reads.iter().all(Read::is_good), "a removal changes no gap");
        }
        self.reads.retain(Read::is_good);
    }

    fn get(&mut self, key: K) {
        let stamp = self.begin();
        let mut missed = Vec::new();
        let found = self.subject.get(key, |leaf| {
            leaf.meta().raise(stamp);
            missed.push(leaf);
        });
        assert_eq!(found.map(number), self.model.get(&key).copied());
        assert_eq!(missed.len(), usize::from(found.is_none()), "a miss is told, once");
        if found.is_none() {
            let range = Range { from: Bound::Included(key), to: Bound::Included(key) };
            self.remember(Read { range, stamp, leaves: missed });
        }
    }

    fn scan(&mut self, from: u16, to: u16, how: u8) {
        let bound = |key: u16, how: u8| match how % 4 {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(K::nth(key)),
            _ => Bound::Excluded(K::nth(key)),
        };
        let mut range = Range { from: bound(from, how), to: bound(to, how >> 2) };
        let direction = if how & 16 == 0 { Direction::Forward } else { Direction::Backward };
        let limit = if how & 32 == 0 { usize::MAX } else { 1 + usize::from(how >> 6) * 3 };
        let stamp = self.begin();
        let mut scanner = Scanner {
            stamp,
            limit,
            suffix_bits: self.suffix_bits,
            leaves: Vec::new(),
            prefix: None,
            entries: Vec::new(),
        };
        let Ok(is_ordered) = self.subject.scan(range.from, range.to, direction, &mut scanner);
        if !is_ordered {
            return;
        }
        let within =
            self.model.iter().filter(|(key, _)| range.contains(**key)).map(|(&key, &row)| (key, row));
        let expected: Vec<_> = match direction {
            Direction::Forward => within.take(limit).collect(),
            Direction::Backward => within.rev().take(limit).collect(),
        };
        assert_eq!(scanner.entries, expected, "{direction:?} over {range:?}");
        if let Some(&(last, _)) = scanner.entries.last().filter(|_| scanner.entries.len() == limit) {
            // The scan stopped here and has read no farther.
            match direction {
                Direction::Forward => range.to = Bound::Included(last),
                Direction::Backward => range.from = Bound::Included(last),
            }
        }
        self.remember(Read { range, stamp, leaves: scanner.leaves });
    }

    /// Compares the index with the model.
    fn compare(&self) {
        let expected: Vec<_> = self.model.iter().map(|(&key, &row)| (key, row)).collect();
        assert_eq!(self.subject.entries(), expected);
        assert_eq!(self.subject.len(), expected.len());
        assert!(self.reads.iter().all(Read::is_good), "to look changes nothing");
        for leaf in self.reads.iter().flat_map(|read| &read.leaves) {
            let before = leaf.at(leaf.seen() - leaf.seen().min(4));
            assert!(leaf.hold().is_some(), "a leaf is held at the version at which it is");
            assert!(before.seen() == leaf.seen() || before.hold().is_none(), "and at no other");
        }
    }
}

impl<'t, K: Numbered, L: Protects, S> Case<'t, K, L, S> {
    /// Returns the number of a new operation.
    fn begin(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// Remembers a read, in place of the oldest if there are too many.
    fn remember(&mut self, read: Read<'t, K, L>) {
        assert!(read.is_good(), "nobody has changed anything meanwhile");
        if self.reads.len() == READS {
            self.reads.remove(0);
        }
        self.reads.push(read);
    }
}
