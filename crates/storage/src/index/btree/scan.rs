//! Scans of the ordered index, leaf by leaf, forward and backward.
//!
//! The entries of a leaf in the range are copied without a latch, checked, and then shown to the visitor,
//! which may take any time: the scan goes on by key, not by pointer. The nodes that led to the leaf are
//! used for the next one only if they have not changed.

use core::convert::Infallible;
use core::ops::{Bound, ControlFlow};
use core::ptr::NonNull;

use crate::index::btree::{BTree, Child, Spot, Step};
use crate::index::{LeafRef, RowPtr, Visitor, pause, prefetch_node};
use crate::key::OrderedKey;
use crate::row::Direction;
use crate::shape::LeafMeta;

/// The keys that are still to be visited.
#[derive(Clone, Copy)]
struct Range<K> {
    from: Bound<K>,
    to: Bound<K>,
}

impl<K: OrderedKey> Range<K> {
    fn is_empty(&self) -> bool {
        use Bound::{Excluded, Included, Unbounded};
        match (self.from, self.to) {
            (Unbounded, _) | (_, Unbounded) => false,
            (Included(from), Included(to)) => from > to,
            (Included(from) | Excluded(from), Excluded(to) | Included(to)) => from >= to,
        }
    }

    /// The keys from `high` on, if there can be any.
    #[inline]
    fn beyond(&self, high: Option<K>) -> Option<Self> {
        let left = Self { from: Bound::Included(high?), to: self.to };
        (!left.is_empty()).then_some(left)
    }

    /// The keys below `low`, if there can be any.
    #[inline]
    fn below(&self, low: K) -> Option<Self> {
        let left = Self { from: self.from, to: Bound::Excluded(low) };
        (low > K::MIN && !left.is_empty()).then_some(left)
    }
}

/// Entries of one leaf. The pointers are not null but where they are not used.
struct Buffer<K, const N: usize> {
    keys: [K; N],
    rows: [*mut u8; N],
    count: usize,
}

impl<K: OrderedKey, const N: usize> Buffer<K, N> {
    fn new() -> Self {
        Self { keys: [K::MIN; N], rows: [core::ptr::null_mut(); N], count: 0 }
    }

    /// Copies the entries of a leaf that are in the range.
    #[inline]
    fn fill<L: LeafMeta, const INNER: usize>(&mut self, spot: &Spot<'_, K, L, N, INNER>, range: &Range<K>) {
        let leaf = spot.leaf;
        let from = match range.from {
            Bound::Included(key) if key > spot.low => leaf.below(key),
            Bound::Excluded(key) if key >= spot.low => leaf.up_to(key),
            _ => 0,
        };
        let is_inside = |key| spot.high.is_none_or(|high| key < high);
        let to = match range.to {
            Bound::Included(key) if is_inside(key) => leaf.up_to(key),
            Bound::Excluded(key) if is_inside(key) => leaf.below(key),
            _ => leaf.used(),
        };
        self.count = leaf.read(from, to, &mut self.keys, &mut self.rows);
    }

    /// Shows the entries to a visitor. Returns whether it wants more.
    #[inline]
    fn show<'t, L, V: Visitor<'t, K, L>>(
        &self,
        direction: Direction,
        visitor: &mut V,
    ) -> Result<bool, V::Stop> {
        for nth in 0..self.count {
            let at = if direction == Direction::Forward { nth } else { self.count - 1 - nth };
            let row = NonNull::new(self.rows[at]).expect("entries were copied with their rows");
            if visitor.entry(self.keys[at], RowPtr::new(row))?.is_break() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<K: OrderedKey, L: LeafMeta, const LEAF: usize, const INNER: usize> BTree<K, L, LEAF, INNER> {
    /// Visits the entries from the lower bound `from` to the upper bound `to`, ascending or descending, and
    /// each leaf before its entries. A range without entries names the leaves that would hold them; a range
    /// in which no key can be names no leaves.
    ///
    /// The visitor is called without latches and may change the index. A leaf is shown as it was at one
    /// moment, after the call of `scan`. The whole range is shown as of one moment only if the gap versions
    /// of all leaves are unchanged afterwards.
    #[inline]
    pub fn scan<'t, V: Visitor<'t, K, L>>(
        &'t self,
        from: Bound<K>,
        to: Bound<K>,
        direction: Direction,
        visitor: &mut V,
    ) -> Result<(), V::Stop> {
        let mut range = Range { from, to };
        if range.is_empty() {
            return Ok(());
        }
        let mut buffer = Buffer::new();
        let mut spot = self.first_spot(&range, direction);
        loop {
            let head = &spot.leaf.head;
            let left = match direction {
                Direction::Forward => range.beyond(spot.high),
                Direction::Backward => range.below(spot.low),
            };
            if left.is_some() {
                self.prefetch_next(&spot, direction);
            }
            buffer.fill(&spot, &range);
            let mut is_good = head.latch.validate(spot.version);
            if is_good && sync::IS_STEPPED && self.implicit.is_some() {
                is_good = self.make_rows(&spot, &mut buffer);
            }
            if is_good {
                visitor.leaf(LeafRef { head, seen: spot.version })?;
                is_good = head.is_settled(spot.version);
            }
            if !is_good {
                pause();
                spot = self.first_spot(&range, direction);
                continue;
            }
            let wants_more = buffer.show(direction, visitor)?;
            let Some(left) = left.filter(|_| wants_more) else { return Ok(()) };
            range = left;
            spot = match self.next_spot(&spot, direction) {
                Some(next) => next,
                None => self.first_spot(&range, direction),
            };
        }
    }

    /// Makes the rows of entries that are not made yet. The leaf has just been found unchanged. Returns false if an
    /// entry was removed meanwhile.
    fn make_rows(&self, spot: &Spot<'_, K, L, LEAF, INNER>, buffer: &mut Buffer<K, LEAF>) -> bool {
        let unmade = RowPtr::UNMADE.get().as_ptr();
        let mut entries = buffer.keys[..buffer.count].iter().zip(&mut buffer.rows);
        entries.all(|(key, row)| {
            if *row == unmade {
                *row =
                    self.make_row(spot.leaf, *key).map_or(core::ptr::null_mut(), |made| made.get().as_ptr());
            }
            !row.is_null()
        })
    }

    /// The leaf where a scan of the range begins.
    fn first_spot(&self, range: &Range<K>, direction: Direction) -> Spot<'_, K, L, LEAF, INNER> {
        let (key, is_before) = match (direction, range.from, range.to) {
            (Direction::Forward, Bound::Included(key) | Bound::Excluded(key), _)
            | (Direction::Backward, _, Bound::Included(key)) => (key, false),
            (Direction::Forward, Bound::Unbounded, _) => (K::MIN, false),
            (Direction::Backward, _, Bound::Unbounded) => (K::MAX, false),
            (Direction::Backward, _, Bound::Excluded(key)) => (key, true),
        };
        if is_before {
            self.spot(|low| low < key, prefetch_node)
        } else {
            self.spot(|low| low <= key, prefetch_node)
        }
    }

    /// The parent's step to the leaf beside this one, if that is another child of the same node.
    #[inline]
    fn step_aside<'t>(
        spot: &Spot<'t, K, L, LEAF, INNER>,
        direction: Direction,
    ) -> Option<Step<'t, K, INNER>> {
        let step = spot.parent;
        let at = match direction {
            Direction::Forward => step.at + 1,
            Direction::Backward => step.at.checked_sub(1)?,
        };
        (at < step.count).then_some(Step { at, ..step })
    }

    /// Asks for the memory of the leaf where the scan will go on.
    #[inline]
    fn prefetch_next(&self, spot: &Spot<'_, K, L, LEAF, INNER>, direction: Direction) {
        if let Some(step) = Self::step_aside(spot, direction)
            && let Some(Child::Leaf(leaf)) = self.child(step.node, step.at)
        {
            prefetch_node(leaf);
        }
    }

    /// The leaf beside this one, if it is another child of the same node and that has not changed.
    #[inline]
    fn next_spot<'t>(
        &'t self,
        spot: &Spot<'t, K, L, LEAF, INNER>,
        direction: Direction,
    ) -> Option<Spot<'t, K, L, LEAF, INNER>> {
        let parent = Self::step_aside(spot, direction)?;
        let Child::Leaf(leaf) = self.child(parent.node, parent.at)? else { return None };
        let (low, high) = parent.bounds(parent.at);
        let version = leaf.head.latch.read()?;
        parent.node.latch.validate(parent.version).then_some(Spot { leaf, version, low, high, parent })
    }

    /// Visits the entries from `from` to `to` of an index that nobody changes.
    pub fn for_each(&self, from: Bound<K>, to: Bound<K>, f: impl FnMut(K, RowPtr)) {
        let Ok(()) = self.scan(from, to, Direction::Forward, &mut Each(f));
    }

    /// The number of entries, counted one by one.
    pub fn len(&self) -> usize {
        let mut count = 0;
        self.for_each(Bound::Unbounded, Bound::Unbounded, |_, _| count += 1);
        count
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Visits entries and no leaves.
struct Each<F>(F);

impl<K, L, F: FnMut(K, RowPtr)> Visitor<'_, K, L> for Each<F> {
    type Stop = Infallible;

    #[inline]
    fn leaf(&mut self, _leaf: LeafRef<'_, L>) -> Result<(), Infallible> {
        Ok(())
    }

    #[inline]
    fn entry(&mut self, key: K, row: RowPtr) -> Result<ControlFlow<()>, Infallible> {
        (self.0)(key, row);
        Ok(ControlFlow::Continue(()))
    }
}
