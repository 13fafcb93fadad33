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

use core::fmt;
use core::hint::select_unpredictable;
use core::ptr::NonNull;

use sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use sync::{Latch, VersionLatch, hint};

use crate::index::pool::{Node, Pool, Slab};
use crate::index::{Inserted, LeafHead, LeafRef, RowPtr, Watcher, tell_miss};
use crate::key::OrderedKey;
use crate::shape::LeafMeta;

/// Overflow buckets for which a table's first chunk of memory has room.
const FIRST_OVERFLOWS: usize = 8;
/// The fewest buckets of a table.
const FIRST_BUCKETS: usize = 8;
/// The table grows while there are more overflow buckets than buckets divided by this: about 0.8 entries
/// for each place, and a quarter of all keys behind a second cache line.
const BUCKETS_PER_OVERFLOW: usize = 4;
/// Buckets that are split at a time: more than the overflow buckets that call for it, to catch up.
const SPLITS_AT_A_TIME: usize = 2;

/// An index for point lookups. `PLACES` is the number of entries of a bucket.
pub struct Hash<K: OrderedKey, L: LeafMeta, const PLACES: usize = 3> {
    /// Buckets in use; a power of two until the table grows.
    count: AtomicUsize,
    buckets: Slab<Bucket<K, L, PLACES>>,
    overflows: Pool<Bucket<K, L, PLACES>>,
    /// Held by whoever splits buckets.
    growing: Latch,
}

impl<K: OrderedKey, L: LeafMeta, const PLACES: usize> fmt::Debug for Hash<K, L, PLACES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hash").field("buckets", &self.buckets()).finish_non_exhaustive()
    }
}

#[repr(C, align(64))]
struct Bucket<K: OrderedKey, L, const PLACES: usize> {
    head: LeafHead<L>,
    next: AtomicPtr<Self>,
    keys: [K::Slot; PLACES],
    rows: [AtomicPtr<u8>; PLACES],
}

impl<K: OrderedKey, L: LeafMeta, const PLACES: usize> Node for Bucket<K, L, PLACES> {
    fn new(_number: usize) -> Self {
        const { assert!(PLACES > 0, "a bucket holds an entry") };
        Self {
            head: LeafHead::default(),
            next: AtomicPtr::default(),
            keys: core::array::from_fn(|_| K::Slot::default()),
            rows: core::array::from_fn(|_| AtomicPtr::default()),
        }
    }

    #[inline]
    fn latch(&self) -> &VersionLatch {
        &self.head.latch
    }
}

// Relaxed throughout, where nothing else is said: the version check of the first bucket orders what readers
// load, and the release of its latch what its holder stores (invariant 2).
impl<K: OrderedKey, L: LeafMeta, const PLACES: usize> Bucket<K, L, PLACES> {
    #[inline]
    fn key(&self, at: usize) -> K {
        K::load(&self.keys[at])
    }

    #[inline]
    fn row(&self, at: usize) -> Option<RowPtr> {
        NonNull::new(self.rows[at].load(Ordering::Relaxed)).map(RowPtr::new)
    }

    /// The row of a key. Looks at all entries, for which of them it is cannot be predicted.
    #[inline]
    fn find(&self, key: K) -> Option<RowPtr> {
        let mut found = core::ptr::null_mut();
        for (slot, row) in self.keys.iter().zip(&self.rows) {
            let row = row.load(Ordering::Relaxed);
            found = select_unpredictable(K::load(slot) == key && !row.is_null(), row, found);
        }
        NonNull::new(found).map(RowPtr::new)
    }

    fn set(&self, at: usize, key: K, row: RowPtr) {
        key.store(&self.keys[at]);
        self.rows[at].store(row.get().as_ptr(), Ordering::Relaxed);
    }

    /// Frees an entry.
    #[inline]
    fn empty(&self, at: usize) {
        // Release: pairs with the Acquire of the version check of a reader that finds the entry free and
        // not, as the version stays, the latch: what was written to the metadata before is seen with it.
        self.rows[at].store(core::ptr::null_mut(), Ordering::Release);
    }
}

/// A place in a bucket or one of its overflow buckets.
struct Place<'t, K: OrderedKey, L, const PLACES: usize> {
    bucket: &'t Bucket<K, L, PLACES>,
    at: usize,
}

impl<K: OrderedKey, L: LeafMeta, const PLACES: usize> Hash<K, L, PLACES> {
    /// An empty index that will not grow before it has about `rows` entries.
    pub fn with_capacity(rows: usize) -> Self {
        // Two thirds of the places used at most: with three in a bucket, one bucket in seven overflows
        // then. Half as many entries a bucket are hardly found faster, at twice the memory.
        let needed = rows.saturating_mul(3) / (PLACES * 2);
        let count = needed.max(FIRST_BUCKETS).next_power_of_two();
        let buckets = Slab::new(count);
        for _ in 0..count {
            buckets.push(Bucket::new);
        }
        Self {
            count: AtomicUsize::new(count),
            buckets,
            overflows: Pool::new(FIRST_OVERFLOWS),
            growing: Latch::new(),
        }
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
    #[inline]
    fn bucket(&self, hash: u64) -> (&Bucket<K, L, PLACES>, u64) {
        loop {
            // Acquire: pairs with the Release in `split_next`, so that the buckets are there.
            let count = self.count.load(Ordering::Acquire);
            let number = Self::number(hash, count);
            let bucket = self.buckets.get(number).expect("`count` buckets were made");
            let Some(version) = bucket.head.latch.read() else { continue };
            // Relaxed: if the bucket was split before its version was read, reading it with Acquire made
            // the new count visible. If it is split later, its version changes.
            let now = self.count.load(Ordering::Relaxed);
            if now == count || Self::number(hash, now) == number {
                return (bucket, version);
            }
        }
    }

    #[inline]
    fn next<'t>(&'t self, bucket: &Bucket<K, L, PLACES>) -> Option<&'t Bucket<K, L, PLACES>> {
        // Acquire: pairs with the Release of whoever chained the bucket, so that it is seen whole.
        let next = NonNull::new(bucket.next.load(Ordering::Acquire))?;
        // SAFETY: invariant (1): a bucket leads to overflow buckets of this table, which live as long.
        Some(unsafe { next.as_ref() })
    }

    /// The places of a bucket and its overflow buckets.
    #[inline]
    fn places<'t>(&'t self, first: &'t Bucket<K, L, PLACES>) -> impl Iterator<Item = Place<'t, K, L, PLACES>> {
        let chain = core::iter::successors(Some(first), |bucket| self.next(bucket));
        chain.flat_map(|bucket| (0..PLACES).map(move |at| Place { bucket, at }))
    }

    /// The row of a key.
    #[inline]
    fn find(&self, first: &Bucket<K, L, PLACES>, key: K) -> Option<RowPtr> {
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
    #[inline]
    pub fn get<'t, E>(
        &'t self,
        key: K,
        mut missed: impl FnMut(LeafRef<'t, L>) -> Result<(), E>,
    ) -> Result<Option<RowPtr>, E> {
        let hash = key.hash();
        loop {
            let (bucket, version) = self.bucket(hash);
            let found = self.find(bucket, key);
            if !bucket.head.latch.validate(version) {
                continue;
            }
            if found.is_some() {
                return Ok(found);
            }
            if tell_miss(&bucket.head, version, &mut missed)? {
                return Ok(None);
            }
        }
    }

    /// Finds the row of a key without telling of a miss.
    #[inline]
    pub fn peek(&self, key: K) -> Option<RowPtr> {
        let hash = key.hash();
        loop {
            let (bucket, version) = self.bucket(hash);
            let found = self.find(bucket, key);
            if bucket.head.latch.validate(version) {
                return found;
            }
        }
    }

    /// Asks for the memory that a search for the key touches first.
    #[inline]
    pub fn prefetch(&self, key: K) {
        // Relaxed: a bucket that a stale count names is the wrong one to fetch, but there.
        let number = Self::number(key.hash(), self.count.load(Ordering::Relaxed));
        if let Some(bucket) = self.buckets.get(number) {
            hint::prefetch(bucket);
        }
    }

    /// Adds an entry unless the key is there. A key that is there is told without a hook or a latch.
    #[inline]
    pub fn insert<'t, W: Watcher<'t, L>>(&'t self, key: K, row: RowPtr, watch: &mut W) -> Result<Inserted, W::Stop> {
        let hash = key.hash();
        loop {
            let (bucket, version) = self.bucket(hash);
            if let Some(found) = self.find(bucket, key) {
                if bucket.head.latch.validate(version) {
                    return Ok(Inserted::Exists(found));
                }
                continue;
            }
            // The key is still missing when the latch is taken: one that enters changes the version.
            let Some(guard) = bucket.head.upgrade(version) else { continue };
            let before = LeafRef { head: &bucket.head, seen: version };
            if let Err(stop) = watch.adding(before) {
                guard.release_unchanged();
                return Err(stop);
            }
            let is_crowded = self.add(bucket, key, row);
            watch.added(before, guard.next());
            drop(guard);
            if is_crowded {
                self.grow(watch);
            }
            return Ok(Inserted::Added);
        }
    }

    /// Adds an entry under the bucket's latch; whether it took another overflow bucket.
    #[inline]
    fn add(&self, first: &Bucket<K, L, PLACES>, key: K, row: RowPtr) -> bool {
        let mut bucket = first;
        loop {
            if let Some(at) = (0..PLACES).find(|&at| bucket.row(at).is_none()) {
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
        bucket.next.store(core::ptr::from_ref(overflow).cast_mut(), Ordering::Release);
        drop(guard);
        true
    }

    /// Removes the entry of a key if it is `row` and `allow`, called under the leaf's latch, agrees.
    #[inline]
    pub fn remove(&self, key: K, row: RowPtr, allow: impl FnOnce(&L) -> bool) -> bool {
        let hash = key.hash();
        loop {
            let (bucket, version) = self.bucket(hash);
            let is_it = |place: &Place<'_, K, L, PLACES>| {
                place.bucket.row(place.at) == Some(row) && place.bucket.key(place.at) == key
            };
            let Some(place) = self.places(bucket).find(is_it) else {
                if bucket.head.latch.validate(version) {
                    return false;
                }
                continue;
            };
            let Some(guard) = bucket.head.upgrade(version) else { continue };
            // Looked at again: another removal does not change the version.
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
    fn grow<'t, W: Watcher<'t, L>>(&'t self, watch: &mut W) {
        let Some(_guard) = self.growing.try_lock() else { return };
        for _ in 0..SPLITS_AT_A_TIME {
            if self.overflows.in_use() * BUCKETS_PER_OVERFLOW > self.buckets() {
                self.split_next(watch);
            }
        }
    }

    /// Splits the bucket whose turn it is. The caller holds `growing`.
    fn split_next<'t, W: Watcher<'t, L>>(&'t self, watch: &mut W) {
        // Relaxed: changed by the holder of `growing` only.
        let count = self.count.load(Ordering::Relaxed);
        let highest_bit = 1 << count.ilog2();
        let from = self.buckets.get(count - highest_bit).expect("`count` buckets were made");
        let into = self.buckets.push(Bucket::new);
        let into_guard = into.head.latch.lock().expect("first buckets are never gone");
        let (guard, seen) = loop {
            let version = from.head.latch.read().expect("first buckets are never gone");
            if let Some(guard) = from.head.upgrade(version) {
                break (guard, version);
            }
        };
        from.head.meta.carry(&into.head.meta);
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
        let from = LeafRef { head: &from.head, seen };
        watch.split(from, guard.next(), LeafRef { head: &into.head, seen: into_guard.next() });
    }

    /// Moves the entries of a bucket and its overflow buckets together, and gives back overflow buckets
    /// that are left without any. Under the bucket's latch.
    fn close_up(&self, first: &Bucket<K, L, PLACES>) {
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
        let count = self.buckets();
        for number in count * index / of..count * (index + 1) / of {
            let first = self.buckets.get(number).expect("`count` buckets were made");
            for place in self.places(first) {
                if let Some(row) = place.bucket.row(place.at) {
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

    /// Bytes of all buckets, in use or free.
    pub fn bytes(&self) -> usize {
        self.buckets.bytes() + self.overflows.bytes()
    }
}
