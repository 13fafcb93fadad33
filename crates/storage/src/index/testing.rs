//! Helpers that the tests of both indexes share.

use core::convert::Infallible;
use core::fmt::Debug;
use core::num::NonZero;
use core::ops::ControlFlow;

use sync::atomic::{AtomicU64, Ordering};

use crate::index::{LeafRef, RowPtr, Visitor, Watcher};
use crate::key::OrderedKey;
use crate::shape::{LeafMeta, Meta, places_beside};

/// A repeatable stream of random numbers.
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 += 1;
        self.0.hash() % bound
    }
}

/// A row pointer that encodes a number.
pub(super) fn row(number: u64) -> RowPtr {
    RowPtr::to_nowhere(NonZero::new((number as usize + 1) * 8).expect("not zero"))
}

/// The number that a row pointer encodes.
pub(super) fn number(row: RowPtr) -> u64 {
    row.address() as u64 / 8 - 1
}

/// Keys in the order of their numbers, with the smallest and the largest key at the ends.
pub(super) trait TestKey: OrderedKey + Debug {
    fn nth(number: u64, of: u64) -> Self;
}

impl TestKey for u64 {
    fn nth(number: u64, of: u64) -> Self {
        if number + 1 == of { Self::MAX } else { number * 3 }
    }
}

impl TestKey for u128 {
    fn nth(number: u64, of: u64) -> Self {
        if number + 1 == of { Self::MAX } else { Self::from(number) << 62 }
    }
}

impl TestKey for [u64; 6] {
    fn nth(number: u64, of: u64) -> Self {
        if number + 1 == of { [u64::MAX; 6] } else { [number / 100, 0, number % 100 / 10, 0, 0, number % 10] }
    }
}

/// A watcher that ignores leaves.
pub(super) struct Unwatched;

impl<'t, L> Watcher<'t, L> for Unwatched {
    type Stop = Infallible;

    fn adding(&mut self, _leaf: LeafRef<'t, L>) -> Result<(), Infallible> {
        Ok(())
    }

    fn added(&mut self, _before: LeafRef<'t, L>, _after: u64) {}

    fn split(&mut self, _from: LeafRef<'t, L>, _from_after: u64, _into: LeafRef<'t, L>) {}
}

/// Leaves with the versions at which they are known: a leaf set.
pub(super) struct Leaves<'t, L>(pub(super) Vec<(LeafRef<'t, L>, u64)>);

impl<L> Default for Leaves<'_, L> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'t, L> Leaves<'t, L> {
    /// Remembers a leaf. Returns whether it is known at no other version.
    pub(super) fn see(&mut self, leaf: LeafRef<'t, L>) -> bool {
        if let Some((_, seen)) = self.0.iter().find(|(known, _)| known.same_leaf(&leaf)) {
            return *seen == leaf.seen();
        }
        self.0.push((leaf, leaf.seen()));
        true
    }

    /// Whether every leaf still has the version at which it is known.
    pub(super) fn are_unchanged(&self) -> bool {
        self.0.iter().all(|(leaf, seen)| leaf.gap_version() == *seen)
    }
}

/// An insertion by the owner of the leaf set: its own changes do not count as changes.
impl<'t, L> Watcher<'t, L> for Leaves<'t, L> {
    type Stop = Infallible;

    fn adding(&mut self, _leaf: LeafRef<'t, L>) -> Result<(), Infallible> {
        Ok(())
    }

    fn added(&mut self, before: LeafRef<'t, L>, after: u64) {
        for (known, seen) in &mut self.0 {
            if known.same_leaf(&before) && *seen == before.seen() {
                *seen = after;
            }
        }
    }

    fn split(&mut self, from: LeafRef<'t, L>, from_after: u64, into: LeafRef<'t, L>) {
        let known = self.0.iter_mut().find(|(known, seen)| known.same_leaf(&from) && *seen == from.seen());
        if let Some((_, seen)) = known {
            *seen = from_after;
            self.0.push((into, into.seen()));
        }
    }
}

/// The leaves and entries that a scan has seen.
pub(super) struct Seen<'t, K, L> {
    pub(super) leaves: Leaves<'t, L>,
    pub(super) entries: Vec<(K, u64)>,
    /// Entries after which the scan ends.
    pub(super) limit: usize,
}

impl<K, L> Default for Seen<'_, K, L> {
    fn default() -> Self {
        Self { leaves: Leaves::default(), entries: Vec::new(), limit: usize::MAX }
    }
}

/// The error that a leaf came with another version than before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed;

impl<'t, K, L> Visitor<'t, K, L> for Seen<'t, K, L> {
    type Stop = Changed;

    fn leaf(&mut self, leaf: LeafRef<'t, L>) -> Result<(), Changed> {
        if self.leaves.see(leaf) { Ok(()) } else { Err(Changed) }
    }

    fn entry(&mut self, key: K, row: RowPtr) -> Result<ControlFlow<()>, Changed> {
        self.entries.push((key, number(row)));
        Ok(if self.entries.len() < self.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }
}

/// The entries that a scan has seen.
pub(super) struct Entries<K>(pub(super) Vec<(K, u64)>);

impl<K, L> Visitor<'_, K, L> for Entries<K> {
    type Stop = Infallible;

    fn leaf(&mut self, _leaf: LeafRef<'_, L>) -> Result<(), Infallible> {
        Ok(())
    }

    fn entry(&mut self, key: K, row: RowPtr) -> Result<ControlFlow<()>, Infallible> {
        self.0.push((key, number(row)));
        Ok(ControlFlow::Continue(()))
    }
}

/// The stamp of the latest reader of a leaf.
#[derive(Debug, Default)]
pub(super) struct Stamp(AtomicU64);

impl Meta for Stamp {
    fn reset(&self) {
        // Relaxed here and below: the index orders what is written to metadata and its latches.
        self.0.store(0, Ordering::Relaxed);
    }
}

impl LeafMeta for Stamp {
    type Places<T: Default + Send + Sync> = [T; places_beside(size_of::<Stamp>())];

    fn carry(&self, to: &Self) {
        to.raise(self.get());
    }
}

impl Stamp {
    pub(super) fn raise(&self, stamp: u64) {
        self.0.fetch_max(stamp, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A watcher that inserts at a stamp: it is too late if someone has read the gap at a later stamp.
pub(super) struct Stamped(pub(super) u64);

/// The error that an insertion came too late.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Late;

impl<'t> Watcher<'t, Stamp> for Stamped {
    type Stop = Late;

    fn adding(&mut self, leaf: LeafRef<'t, Stamp>) -> Result<(), Late> {
        if leaf.meta().get() > self.0 { Err(Late) } else { Ok(()) }
    }

    fn added(&mut self, _before: LeafRef<'t, Stamp>, _after: u64) {}

    fn split(&mut self, _from: LeafRef<'t, Stamp>, _from_after: u64, _into: LeafRef<'t, Stamp>) {}
}

/// The entries that a scan at a stamp has seen.
pub(super) struct Stamping<K> {
    pub(super) stamp: u64,
    pub(super) entries: Vec<(K, u64)>,
}

impl<K> Visitor<'_, K, Stamp> for Stamping<K> {
    type Stop = Infallible;

    fn leaf(&mut self, leaf: LeafRef<'_, Stamp>) -> Result<(), Infallible> {
        leaf.meta().raise(self.stamp);
        Ok(())
    }

    fn entry(&mut self, key: K, row: RowPtr) -> Result<ControlFlow<()>, Infallible> {
        self.entries.push((key, number(row)));
        Ok(ControlFlow::Continue(()))
    }
}
