//! The index for point lookups: a hash table whose readers take no latches and which grows bucket by
//! bucket.
//!
//! Linear hashing (Litwin, VLDB 1980): there are always `count` buckets, a key belongs to the one named by
//! the low bits of its hash, and the table grows by one bucket at a time, into which the bucket with the
//! same bits but the highest splits. Buckets never move, so a reader may stand in one while the table
//! grows; it looks at `count` once more after it has noted the bucket's version. The table grows when
//! overflow buckets have become many, so one made with the capacity that it needs never does.
//!
//! A bucket is a leaf in the sense of [`crate::index`]: with keys of one word and no metadata it is one
//! cache line, the latch, three entries and the way to overflow buckets. These are protected by the latch
//! of the first bucket.
//!
//! INVARIANTS, beside those of [`crate::index`]
//! (5) A bucket that a key belongs to by `count` holds the key or the index does not; `count` grows, and
//!     keys move, under the latches of both buckets.
//! (6) An entry with a null row is free, whatever its key.

mod implicit;

use core::fmt;
use core::hint::select_unpredictable;
use core::ptr::NonNull;

use sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use sync::plant::is_planted;
use sync::{Latch, RareChange, VersionLatch};

use crate::index::pool::{Node, Pool, Slab};
use crate::index::{
    Inserted, LeafHead, LeafRef, NextNode, RowPtr, Told, Watcher, pause, prefetch_node, tell_miss,
};
use crate::key::OrderedKey;
use crate::plants;
use crate::shape::LeafMeta;

use implicit::Implicit;
pub(crate) use implicit::ImpliedRows;

/// Overflow buckets for which a table's first chunk of memory has room.
const FIRST_OVERFLOWS: usize = 8;
/// The fewest buckets of a table.
const FIRST_BUCKETS: usize = 8;
/// The table grows while there are more overflow buckets, about, than buckets divided by this: with three places in a
/// bucket, about 0.8 entries for each place, and a quarter of all keys behind a second cache line.
const BUCKETS_PER_OVERFLOW: usize = 4;
/// Buckets that are split at a time: more than the overflow buckets that call for it, to catch up.
const SPLITS_AT_A_TIME: usize = 2;

/// An index for point lookups.
pub struct Hash<K: OrderedKey, L: LeafMeta> {
    /// Buckets in use; a power of two until the table grows.
    count: AtomicUsize,
    buckets: Slab<Bucket<K, L>>,
    overflows: Pool<Bucket<K, L>>,
    /// Held by the thread that splits buckets.
    growing: Latch,
    /// The buckets that are in the index without having been made, in simulated databases.
    implicit: Option<Box<Implicit<K, L>>>,
}

impl<K: OrderedKey, L: LeafMeta> fmt::Debug for Hash<K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hash").field("buckets", &self.buckets()).finish_non_exhaustive()
    }
}

#[repr(C, align(64))]
struct Bucket<K: OrderedKey, L: LeafMeta> {
    head: LeafHead<L>,
    /// An overflow bucket, of this type: untyped for `NextNode`.
    next: AtomicPtr<u8>,
    keys: L::Places<K::Slot>,
    rows: L::Places<AtomicPtr<u8>>,
}

impl<K: OrderedKey, L: LeafMeta> Node for Bucket<K, L> {
    fn new() -> Self {
        Self {
            head: LeafHead::default(),
            next: AtomicPtr::new(core::ptr::null_mut()),
            keys: L::Places::default(),
            rows: L::Places::default(),
        }
    }

    #[inline]
    fn latch(&self) -> &VersionLatch {
        &self.head.latch
    }
}

// Relaxed throughout, where nothing else is said: the version check of the first bucket orders what readers
// load, and the release of its latch what its holder stores (invariant 2).
impl<K: OrderedKey, L: LeafMeta> Bucket<K, L> {
    #[inline]
    fn key(&self, at: usize) -> K {
        K::load(&self.keys.as_ref()[at])
    }

    #[inline]
    fn row(&self, at: usize) -> Option<RowPtr> {
        NonNull::new(self.rows.as_ref()[at].load(Ordering::Relaxed)).map(RowPtr::new)
    }

    /// The row of a key. Looks at all entries, because it cannot be predicted which one matches.
    #[inline]
    fn find(&self, key: K) -> Option<RowPtr> {
        let mut found = core::ptr::null_mut();
        for (slot, row) in self.keys.as_ref().iter().zip(self.rows.as_ref()) {
            let row = row.load(Ordering::Relaxed);
            found = select_unpredictable(K::load(slot) == key && !row.is_null(), row, found);
        }
        if sync::IS_STEPPED && found == RowPtr::UNMADE.get().as_ptr() {
            // The row entered between the loads of its place.
            return sync::hushed(|| self.find(key));
        }
        NonNull::new(found).map(RowPtr::new)
    }

    fn set(&self, at: usize, key: K, row: RowPtr) {
        key.store(&self.keys.as_ref()[at]);
        self.rows.as_ref()[at].store(row.get().as_ptr(), Ordering::Relaxed);
    }

    /// Frees an entry.
    #[inline]
    fn empty(&self, at: usize) {
        // Release: pairs with the Acquire of the version check of a reader that finds the entry free but
        // not the latch, since the version stays: the reader also sees what was written to the metadata
        // before.
        self.rows.as_ref()[at].store(core::ptr::null_mut(), Ordering::Release);
    }
}

/// A place in a bucket or one of its overflow buckets.
struct Place<'t, K: OrderedKey, L: LeafMeta> {
    bucket: &'t Bucket<K, L>,
    at: usize,
}

impl<K: OrderedKey, L: LeafMeta> Hash<K, L> {
    /// The entries of a bucket.
    const PLACES: usize = {
        let places = size_of::<L::Places<u64>>() / size_of::<u64>();
        assert!(places > 0, "a bucket holds an entry");
        places
    };

    /// An empty index that will not grow before it has about `rows` entries.
    ///
    /// # Panics
    /// When there is no memory for the buckets.
    pub fn with_capacity(rows: usize) -> Self {
        Self::try_with_capacity(rows).expect("there is memory for the buckets")
    }

    /// Like [`with_capacity`](Self::with_capacity); `None` when there is no memory for the buckets.
    pub fn try_with_capacity(rows: usize) -> Option<Self> {
        Self::try_with_buckets(Self::first_buckets(rows)?)
    }

    /// An empty index that grows as soon as one of its two buckets overflows.
    ///
    /// # Panics
    /// When there is no memory for a bucket.
    pub(crate) fn of_two_buckets() -> Self {
        Self::try_with_buckets(2).expect("there is memory for two buckets")
    }

    fn try_with_buckets(count: usize) -> Option<Self> {
        let buckets = Slab::try_with_room(count)?;
        for _ in 0..count {
            buckets.push(|_| Bucket::new());
        }
        Some(Self::over(count, buckets))
    }

    fn over(count: usize, buckets: Slab<Bucket<K, L>>) -> Self {
        Self {
            count: AtomicUsize::new(count),
            buckets,
            overflows: Pool::new(FIRST_OVERFLOWS),
            growing: Latch::new(),
            implicit: None,
        }
    }

    /// The bytes with which an index made for `rows` entries begins; `None` when no address space has as
    /// many.
    pub(crate) fn first_bytes(rows: usize) -> Option<usize> {
        Self::first_buckets(rows)?.checked_mul(size_of::<Bucket<K, L>>())
    }

    /// The number of buckets with which an index made for `rows` entries begins.
    fn first_buckets(rows: usize) -> Option<usize> {
        // Two thirds of the places used at most: with two or three in a bucket, one bucket in seven or eight overflows
        // then. Half as many entries a bucket are hardly found faster, at twice the memory.
        let needed = rows.checked_mul(3)? / (Self::PLACES * 2);
        needed.max(FIRST_BUCKETS).checked_next_power_of_two()
    }

    /// The bucket among `count` to which a hash belongs.
    #[inline]
    fn number(hash: u64, count: usize) -> usize {
        // As many low bits as `count - 1` has or, if `count` is a power of two, one more.
        let mask = usize::MAX >> count.leading_zeros();
        let number = hash as usize & mask;
        if number < count { number } else { number & (mask >> 1) }
    }

    /// The bucket for a hash, and its version.
    // Always: a lookup is a call of its own already.
    #[inline(always)]
    fn bucket(&self, key: K, hash: u64) -> (&Bucket<K, L>, u64) {
        loop {
            // Acquire: pairs with the Release in `split_next`, so that the buckets are there.
            let count = self.count.load(Ordering::Acquire);
            let number = Self::number(hash, count);
            let bucket = if sync::IS_STEPPED
                && let Some(implicit) = &self.implicit
            {
                self.implicit_bucket(implicit, number, key)
            } else {
                // SAFETY: `count` buckets were made before it was stored.
                unsafe { self.buckets.get(number) }
            };
            let version = bucket.head.latch.read().expect("first buckets are never gone");
            // Relaxed: if the bucket was split before its version was read, reading it with Acquire made
            // the new count visible. If it is split later, its version changes.
            let now = self.count.load(Ordering::Relaxed);
            if now == count || Self::number(hash, now) == number || is_planted(&plants::GROWTH_OVERLOOKED) {
                return (bucket, version);
            }
            pause();
        }
    }

    /// The overflow bucket behind a bucket.
    #[inline]
    #[allow(clippy::unused_self, reason = "borrowing the table keeps the bucket")]
    fn next<'t>(&'t self, bucket: &Bucket<K, L>) -> Option<&'t Bucket<K, L>> {
        // Acquire: pairs with the Release of whoever chained the bucket, so that it is seen whole.
        let next = NonNull::new(bucket.next.load(Ordering::Acquire))?.cast();
        // SAFETY: invariant (1): a bucket leads to overflow buckets of this table, which live as long.
        Some(unsafe { next.as_ref() })
    }

    /// The places of a bucket and its overflow buckets.
    #[inline]
    fn places<'t>(&'t self, first: &'t Bucket<K, L>) -> impl Iterator<Item = Place<'t, K, L>> {
        let chain = core::iter::successors(Some(first), |bucket| self.next(bucket));
        chain.flat_map(|bucket| (0..Self::PLACES).map(move |at| Place { bucket, at }))
    }

    /// The row of a key.
    #[inline]
    fn find(&self, first: &Bucket<K, L>, key: K) -> Option<RowPtr> {
        let found = first.find(key);
        if found.is_some() {
            return found;
        }
        let mut bucket = first;
        loop {
            bucket = self.next(bucket)?;
            let found = bucket.find(key);
            if found.is_some() {
                return found;
            }
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
        let hash = key.hash();
        loop {
            let (bucket, version) = self.bucket(key, hash);
            let found = self.find(bucket, key);
            if bucket.head.latch.validate(version) {
                let found = found.or_else(|| self.made(bucket, key));
                if found.is_some() || tell_miss(&bucket.head, version, &mut missed)? {
                    return Ok(found);
                }
            }
            pause();
        }
    }

    /// Finds the row of a key without reporting a miss.
    #[inline]
    pub fn peek(&self, key: K) -> Option<RowPtr> {
        let hash = key.hash();
        loop {
            let (bucket, version) = self.bucket(key, hash);
            let found = self.find(bucket, key);
            if bucket.head.latch.validate(version) {
                return found.or_else(|| self.made(bucket, key));
            }
            pause();
        }
    }

    /// Asks for the memory that a search for the key touches first, and says where it goes on if it does not end there.
    #[inline]
    pub fn prefetch(&self, key: K) -> Option<NextNode<'_>> {
        let bucket = self.likely_bucket(key);
        prefetch_node(bucket);
        Some(NextNode { link: &bucket.next, bytes: size_of::<Bucket<K, L>>() })
    }

    /// The bucket that the key belongs to, or belonged to a moment ago.
    #[inline]
    fn likely_bucket(&self, key: K) -> &Bucket<K, L> {
        // A stale count names another bucket, but one that exists.
        let number = Self::number(key.hash(), self.buckets());
        if sync::IS_STEPPED
            && let Some(implicit) = &self.implicit
        {
            return self.implicit_bucket(implicit, number, key);
        }
        // SAFETY: that many buckets were made before their number was stored.
        unsafe { self.buckets.get(number) }
    }

    /// Adds an entry unless the key is present. A key that is present is reported without a hook or a
    /// latch.
    #[inline]
    pub fn insert<'t, W: Watcher<'t, L> + ?Sized>(
        &'t self,
        key: K,
        row: RowPtr,
        watch: &mut W,
    ) -> Result<Inserted, W::Stop> {
        let hash = key.hash();
        loop {
            let (bucket, version) = self.bucket(key, hash);
            if let Some(found) = self.find(bucket, key) {
                if bucket.head.latch.validate(version) {
                    return Ok(Inserted::Exists(found));
                }
                pause();
                continue;
            }
            if self.is_still(bucket, version)
                && let Some(made) = self.made(bucket, key)
            {
                return Ok(Inserted::Exists(made));
            }
            // The key is still missing when the latch is taken: a key that enters changes the version.
            let Some(guard) = bucket.head.upgrade(version) else {
                pause();
                continue;
            };
            let before = LeafRef { head: &bucket.head, seen: version };
            if let Err(stop) = watch.adding(before) {
                guard.release_unchanged();
                return Err(stop);
            }
            if self.next(bucket).is_some() {
                // Removals leave overflow buckets behind; this is where they are found.
                self.close_up(bucket);
            }
            let is_crowded = self.add(bucket, key, row);
            watch.added(before, guard.next());
            drop(guard);
            if is_crowded {
                self.grow(&mut |from, after, into| watch.split(from, after, into));
            }
            return Ok(Inserted::Added);
        }
    }

    /// Adds an entry under the bucket's latch. Returns whether it took another overflow bucket.
    #[inline]
    fn add(&self, first: &Bucket<K, L>, key: K, row: RowPtr) -> bool {
        let mut bucket = first;
        loop {
            if let Some(at) = (0..Self::PLACES).find(|&at| bucket.row(at).is_none()) {
                bucket.set(at, key, row);
                return false;
            }
            match self.next(bucket) {
                Some(next) => bucket = next,
                None => break,
            }
        }
        let (overflow, guard) = self.overflows.take();
        overflow.set(0, key, row);
        // Release: pairs with the Acquire in `next`.
        bucket.next.store(core::ptr::from_ref(overflow).cast_mut().cast(), Ordering::Release);
        drop(guard);
        true
    }

    /// Removes the entry of a key if it is `row` and `allow`, called under the leaf's latch, agrees.
    #[inline]
    pub fn remove(&self, key: K, row: RowPtr, allow: impl FnOnce(&L) -> bool) -> bool {
        let hash = key.hash();
        loop {
            let (bucket, version) = self.bucket(key, hash);
            let is_it = |place: &Place<'_, K, L>| {
                place.bucket.row(place.at) == Some(row) && place.bucket.key(place.at) == key
            };
            let Some(place) = self.places(bucket).find(is_it) else {
                if bucket.head.latch.validate(version) && self.made(bucket, key) != Some(row) {
                    return false;
                }
                pause();
                continue;
            };
            let Some(guard) = bucket.head.upgrade(version) else {
                pause();
                continue;
            };
            // Checked again: another removal does not change the version.
            let is_removed = place.bucket.row(place.at) == Some(row) && allow(&bucket.head.meta);
            if is_removed {
                place.bucket.empty(place.at);
            }
            guard.release_unchanged();
            return is_removed;
        }
    }

    /// Splits buckets if too many entries are in overflow buckets.
    #[cold]
    fn grow<'t>(&'t self, told: Told<'_, 't, L>) {
        if self.implicit.is_some() {
            // It was made for its loaded rows and those that a run adds.
            return;
        }
        let Some(_guard) = self.growing.try_lock() else { return };
        for _ in 0..SPLITS_AT_A_TIME {
            if self.overflows.about_in_use() * BUCKETS_PER_OVERFLOW > self.buckets() {
                self.split_next(told);
            }
        }
    }

    /// Splits the bucket whose turn it is. The caller holds `growing`.
    fn split_next<'t>(&'t self, told: Told<'_, 't, L>) {
        let _change = RareChange::begin();
        // Relaxed: changed by the holder of `growing` only.
        let count = self.count.load(Ordering::Relaxed);
        let highest_bit = 1 << count.ilog2();
        // SAFETY: whoever stored their number had made `count` buckets before, and held `growing`.
        let from = unsafe { self.buckets.get(count - highest_bit) };
        let into = self.buckets.push(|number| {
            assert_eq!(number, count, "a bucket has the number that its keys ask for");
            Bucket::new()
        });
        let (guard, seen) = loop {
            let version = from.head.latch.read().expect("first buckets are never gone");
            if let Some(guard) = from.head.upgrade(version) {
                break (guard, version);
            }
        };
        let into_guard = into.head.latch.lock().expect("first buckets are never gone");
        if !is_planted(&plants::GROWTH_DROPS_MARK) {
            from.head.meta.carry(&into.head.meta);
        }
        for place in self.places(from) {
            let key = place.bucket.key(place.at);
            if let Some(row) = place.bucket.row(place.at)
                && Self::number(key.hash(), count + 1) == count
            {
                self.add(into, key, row);
                place.bucket.empty(place.at);
            }
        }
        self.close_up(from);
        // Release: pairs with the Acquire in `bucket`.
        self.count.store(count + 1, Ordering::Release);
        let is_unnoticed = is_planted(&plants::GROWTH_UNNOTICED);
        let after = if is_unnoticed { seen } else { guard.next() };
        let from = LeafRef { head: &from.head, seen };
        told(from, after, LeafRef { head: &into.head, seen: into_guard.next() });
        if is_unnoticed {
            guard.release_unchanged();
        }
    }

    /// Moves the entries of a bucket and its overflow buckets together, and gives back overflow buckets
    /// that are left without any. Under the bucket's latch.
    fn close_up(&self, first: &Bucket<K, L>) {
        let mut free = self.places(first);
        let mut last = first;
        for place in self.places(first) {
            let Some(row) = place.bucket.row(place.at) else { continue };
            let to = free.next().expect("there are as many places before as entries");
            if !(core::ptr::eq(to.bucket, place.bucket) && to.at == place.at) {
                place.bucket.empty(place.at);
                to.bucket.set(to.at, place.bucket.key(place.at), row);
            }
            last = to.bucket;
        }
        let mut rest = self.next(last);
        // Relaxed: nothing is published.
        last.next.store(core::ptr::null_mut(), Ordering::Relaxed);
        while let Some(overflow) = rest {
            let guard = overflow.head.latch.lock().expect("chained buckets are not gone");
            rest = self.next(overflow);
            overflow.next.store(core::ptr::null_mut(), Ordering::Relaxed);
            self.overflows.give(overflow, guard);
        }
    }

    /// Visits the entries of the `index`-th of `of` shares of an index that nobody changes.
    pub fn for_each_share(&self, index: usize, of: usize, mut f: impl FnMut(K, RowPtr)) {
        let (buckets, count) = match &self.implicit {
            Some(implicit) => (&implicit.buckets, implicit.made()),
            None => (&self.buckets, self.buckets()),
        };
        for number in count * index / of..count * (index + 1) / of {
            // SAFETY: as many were made before their number was read.
            let first = unsafe { buckets.get(number) };
            for place in self.places(first) {
                if let Some(row) = place.bucket.row(place.at).filter(|&row| row != RowPtr::UNMADE) {
                    f(place.bucket.key(place.at), row);
                }
            }
        }
    }

    /// The number of buckets, without overflow buckets.
    pub fn buckets(&self) -> usize {
        // Acquire: as in `bucket`.
        self.count.load(Ordering::Acquire)
    }

    /// The number of entries, counted one by one.
    pub fn len(&self) -> usize {
        let mut count = 0;
        self.for_each_share(0, 1, |_, _| count += 1);
        count
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks for memory that the index will soon grow into.
    pub fn populate_ahead(&self) {
        self.buckets.populate_ahead();
        self.overflows.populate_ahead();
    }

    /// The part of the index that has an address: for people who look at the cache lines of a run.
    pub fn part_at(&self, address: usize) -> Option<&'static str> {
        let is_implicit = || self.implicit.as_ref().is_some_and(|implicit| implicit.buckets.has(address));
        if self.buckets.has(address) || is_implicit() {
            Some("bucket")
        } else if self.overflows.has(address) {
            Some("overflow bucket")
        } else {
            self.overflows.has_stock(address).then_some("stock of overflow buckets")
        }
    }

    /// Bytes of all buckets, in use or free.
    pub fn bytes(&self) -> usize {
        let implicit = self.implicit.as_ref().map_or(0, |implicit| implicit.buckets.bytes());
        self.buckets.bytes() + implicit + self.overflows.bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use sync::workers;

    use super::*;
    use crate::index::testing::{Late, Leaves, Random, Stamp, Stamped, TestKey, Unwatched, number, row};
    use crate::shape::places_beside;

    impl<K: OrderedKey, L: LeafMeta> Hash<K, L> {
        /// Checks everything that must hold of an index that nobody uses, and returns the keys.
        fn check(&self) -> BTreeSet<K> {
            let mut keys = BTreeSet::new();
            let mut overflows = 0;
            for at in 0..self.buckets() {
                // SAFETY: as many were made before their number was read.
                let first = unsafe { self.buckets.get(at) };
                assert_eq!(first.head.latch.current() & 3, 0, "neither held nor gone");
                for place in self.places(first) {
                    overflows += usize::from(place.at == 0 && !core::ptr::eq(place.bucket, first));
                    if place.bucket.row(place.at).is_some() {
                        let key = place.bucket.key(place.at);
                        assert_eq!(Self::number(key.hash(), self.buckets()), at);
                        assert!(keys.insert(key), "a key is there once");
                    }
                }
            }
            assert_eq!(overflows, self.overflows.in_use());
            keys
        }
    }

    #[test]
    fn a_table_for_more_rows_than_there_can_be_is_none() {
        type Index = Hash<u64, ()>;
        assert_eq!(Index::first_bytes(0), Some(8 * 64));
        assert_eq!(Index::first_bytes(1_000_000_000), Some(64 << 29));
        // More than an address space, as bytes, as buckets, and as places.
        for rows in [1 << 59, usize::MAX / 3, usize::MAX] {
            assert_eq!(Index::first_bytes(rows), None, "{rows}");
            assert!(Index::try_with_capacity(rows).is_none(), "{rows}");
        }
        // More than any machine lends.
        assert_eq!(Index::first_bytes(1 << 50), Some(64 << 49));
        assert!(Index::try_with_capacity(1 << 50).is_none());
    }

    #[test]
    fn a_bucket_is_a_cache_line() {
        assert_eq!((size_of::<Bucket<u64, ()>>(), Hash::<u64, ()>::PLACES), (64, 3));
        // One word of metadata takes the place of an entry, and does not double the bucket.
        assert_eq!((size_of::<Bucket<u64, Stamp>>(), Hash::<u64, Stamp>::PLACES), (64, 2));
    }

    #[test]
    fn a_bucket_has_as_many_entries_as_fit_and_two_at_least() {
        let entries: Vec<_> = [0, 8, 16, 24, 40, 64, 200].into_iter().map(places_beside).collect();
        assert_eq!(entries, [3, 2, 2, 5, 4, 3, 2]);
    }

    fn agrees_with_model<K: TestKey + core::hash::Hash>(
        keys: u64,
        operations: u64,
        capacity: usize,
        seed: u64,
    ) {
        let index: Hash<K, ()> = Hash::with_capacity(capacity);
        let mut model: HashMap<K, u64> = HashMap::new();
        let mut random = Random(seed << 32);
        for turn in 0..operations {
            let key = K::nth(random.below(keys), keys);
            let is_growing = (turn * 8 / operations).is_multiple_of(2);
            match random.below(16) {
                at if at < if is_growing { 9 } else { 3 } => {
                    let Ok(inserted) = index.insert(key, row(turn), &mut Unwatched);
                    match model.get(&key) {
                        Some(&number) => assert_eq!(inserted, Inserted::Exists(row(number))),
                        None => assert_eq!(inserted, Inserted::Added),
                    }
                    model.entry(key).or_insert(turn);
                }
                0..12 => {
                    let number =
                        if turn.is_multiple_of(16) { turn } else { model.get(&key).copied().unwrap_or(turn) };
                    let is_allowed = !turn.is_multiple_of(17);
                    let is_removed = index.remove(key, row(number), |()| is_allowed);
                    assert_eq!(is_removed, is_allowed && model.get(&key) == Some(&number));
                    if is_removed {
                        model.remove(&key);
                    }
                }
                _ => {
                    let mut misses = 0;
                    let found = index.get(key, |_| {
                        misses += 1;
                        Ok::<_, ()>(())
                    });
                    assert_eq!(found.expect("nobody refuses").map(number), model.get(&key).copied());
                    assert_eq!(misses, i32::from(!model.contains_key(&key)));
                    index.prefetch(key);
                    assert_eq!(index.peek(key).map(number), model.get(&key).copied());
                }
            }
            if turn.is_multiple_of(operations / 32) {
                assert_eq!(index.check(), model.keys().copied().collect());
                let mut count = 0;
                for share in 0..3 {
                    index.for_each_share(share, 3, |key, row| {
                        assert_eq!(model.get(&key), Some(&number(row)));
                        count += 1;
                    });
                }
                assert_eq!(count, model.len());
                assert_eq!(index.len(), model.len());
            }
        }
    }

    #[test]
    fn the_index_agrees_with_the_model() {
        for seed in 0..4 {
            agrees_with_model::<u64>(100, 100_000, 0, seed);
            agrees_with_model::<u64>(20_000, 200_000, 0, seed);
            agrees_with_model::<u128>(2_000, 100_000, 1_000, seed);
            agrees_with_model::<[u64; 6]>(2_000, 100_000, 4_000, seed);
        }
    }

    #[test]
    fn an_index_grows_with_its_entries_unless_it_was_made_large_enough() {
        let keys = 100_000;
        let (declared, grown): (Hash<u64, ()>, Hash<u64, ()>) =
            (Hash::with_capacity(keys), Hash::with_capacity(0));
        let buckets = declared.buckets();
        for key in 0..keys as u64 {
            let Ok(_) = declared.insert(key, row(key), &mut Unwatched);
            let Ok(_) = grown.insert(key, row(key), &mut Unwatched);
        }
        assert_eq!(declared.buckets(), buckets);
        assert!(grown.buckets() > keys / 4 && grown.buckets() < keys, "{} buckets", grown.buckets());
        assert_eq!(grown.check().len(), keys);
        // Entries that come and go need no more memory.
        let bytes = declared.bytes();
        for key in 0..keys as u64 {
            assert!(declared.remove(key, row(key), |()| true));
            let Ok(_) = declared.insert(key + keys as u64, row(key), &mut Unwatched);
        }
        assert!(declared.bytes() <= bytes + bytes / 10, "{} after {bytes}", declared.bytes());
    }

    fn gap<L: LeafMeta>(index: &Hash<u64, L>, key: u64) -> LeafRef<'_, L> {
        index.get(key, Err).expect_err("the key is missing")
    }

    #[test]
    fn keys_that_enter_change_the_gap_version_of_their_leaf_and_removals_do_not() {
        let index: Hash<u64, ()> = Hash::with_capacity(100);
        let gaps: Vec<_> = (0..100).map(|key| gap(&index, key)).collect();
        let Ok(_) = index.insert(50, row(50), &mut Unwatched);
        for gap in &gaps {
            assert_eq!(gap.gap_version() != gap.seen(), gap.same_leaf(&gaps[50]));
        }
        let after = gaps[50].gap_version();
        assert!(index.remove(50, row(50), |()| true));
        assert_eq!(gaps[50].gap_version(), after);
        assert!(gaps[50].hold().is_none() && gap(&index, 50).hold().is_some());
    }

    #[test]
    fn own_inserts_are_no_change_to_whoever_follows_them() {
        let index: Hash<u64, ()> = Hash::with_capacity(0);
        let mut leaves = Leaves::default();
        for key in 0..1_000 {
            assert!(leaves.see(gap(&index, key)));
            assert!(leaves.see(gap(&index, key + 1_000)));
            let Ok(_) = index.insert(key, row(key), &mut leaves);
            assert!(leaves.are_unchanged());
        }
        assert!(index.buckets() > 100);
        let Ok(_) = index.insert(1_000, row(1), &mut Unwatched);
        assert!(!leaves.are_unchanged());
    }

    #[test]
    fn a_bucket_that_is_split_off_protects_what_was_protected() {
        let index: Hash<u64, Stamp> = Hash::with_capacity(0);
        for key in 1_000..1_010 {
            gap(&index, key).meta().raise(5);
        }
        for key in 0..1_000 {
            let stamp = gap(&index, key).meta().get();
            assert_eq!(index.insert(key, row(key), &mut Stamped(4)).is_err(), stamp == 5);
            let _ = index.insert(key, row(key), &mut Stamped(5));
        }
        assert!(index.buckets() > 100);
        for key in 1_000..1_010 {
            assert_eq!(index.insert(key, row(key), &mut Stamped(4)), Err(Late));
        }
    }

    #[test]
    fn threads_find_every_key_that_stays_while_the_index_grows() {
        const KEYS: u64 = 40_000;
        let index: Hash<u64, ()> = Hash::with_capacity(0);
        for key in 0..100 {
            let Ok(_) = index.insert(key, row(key), &mut Unwatched);
        }
        workers::run(4, false, |worker| {
            let mut random = Random((worker as u64) << 40);
            for turn in 0..KEYS {
                if worker < 2 {
                    let key = 100 + turn * 2 + worker as u64;
                    let Ok(inserted) = index.insert(key, row(key), &mut Unwatched);
                    assert_eq!(inserted, Inserted::Added);
                    assert_eq!(index.peek(key), Some(row(key)));
                    if turn.is_multiple_of(3) {
                        assert!(index.remove(key, row(key), |()| true));
                    }
                } else {
                    let key = random.below(100);
                    assert_eq!(index.peek(key), Some(row(key)));
                    assert_eq!(index.peek(key + (1 << 40)), None);
                }
            }
        });
        let stay = (0..100).chain(
            (0..KEYS)
                .filter(|turn| !turn.is_multiple_of(3))
                .flat_map(|turn| [100 + turn * 2, 101 + turn * 2]),
        );
        assert_eq!(index.check(), stay.collect());
    }

    #[test]
    fn of_threads_that_insert_and_remove_the_same_keys_one_wins_each_time() {
        const KEYS: u64 = 60;
        let index: Hash<u64, ()> = Hash::with_capacity(0);
        let ledgers = workers::run(4, false, |worker| {
            let mut random = Random((worker as u64) << 40);
            let mut balance = vec![0_i64; KEYS as usize];
            for turn in 0..60_000 {
                let key = random.below(KEYS);
                if random.below(2) == 0 {
                    let Ok(inserted) = index.insert(key, row(turn * 4 + worker as u64), &mut Unwatched);
                    balance[key as usize] += i64::from(inserted == Inserted::Added);
                } else if let Some(found) = index.peek(key) {
                    balance[key as usize] -= i64::from(index.remove(key, found, |()| true));
                }
            }
            balance
        });
        let left = index.check();
        for key in 0..KEYS {
            let balance: i64 = ledgers.iter().map(|ledger| ledger[key as usize]).sum();
            assert_eq!(balance, i64::from(left.contains(&key)), "key {key}");
        }
    }

    #[test]
    fn no_key_comes_in_behind_a_later_reader_of_its_gap() {
        const KEYS: u64 = 2_000;
        let index: Hash<u64, Stamp> = Hash::with_capacity(0);
        let clock = AtomicUsize::new(1);
        let logs = workers::run(4, false, |worker| {
            let mut random = Random((worker as u64) << 40);
            let (mut misses, mut inserts) = (Vec::new(), Vec::new());
            for _ in 0..20_000 {
                let now = clock.fetch_add(1, Ordering::Relaxed) as u64;
                let key = random.below(KEYS);
                if random.below(2) == 0 {
                    let found = index.get(key, |leaf| {
                        leaf.meta().raise(now);
                        Ok::<_, Late>(())
                    });
                    if found == Ok(None) {
                        misses.push((key, now));
                    }
                } else if index.insert(key, row(now), &mut Stamped(now)) == Ok(Inserted::Added) {
                    inserts.push((key, now));
                }
            }
            (misses, inserts)
        });
        let inserted: HashMap<u64, u64> = logs.iter().flat_map(|log| log.1.iter().copied()).collect();
        assert_eq!(inserted.len(), index.check().len());
        for (key, read) in logs.iter().flat_map(|log| log.0.iter().copied()) {
            if let Some(&stamp) = inserted.get(&key) {
                assert!(stamp > read, "key {key} came in at {stamp} behind a reader at {read}");
            }
        }
    }
}
