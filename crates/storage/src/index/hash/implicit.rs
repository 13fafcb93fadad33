//! Implicit hash indexes: of the buckets that loading would have made, those are made at which somebody looks, in
//! memory of their own, so that a simulated index needs memory only for what is touched.
//!
//! A bucket that is made has as many entries as a bucket of the loaded index: their number is drawn, by the number of
//! the bucket, from the distribution that hashing gives (Poisson). Most of them only take their places; the first
//! look-up of a loaded key makes its row, and gives it a place among these. So a search passes as many overflow
//! buckets as in the loaded index. All is made within [`sync::hushed`], right after an access that has shown the bucket
//! unlatched.

use core::fmt;

use sync::atomic::Ordering;
use sync::{Latched, hushed};

use crate::arena::{SCATTERED, scattered};
use crate::index::RowPtr;
use crate::index::pool::{Pool, Slab};
use crate::key::OrderedKey;
use crate::made::Made;
use crate::shape::LeafMeta;

use super::{BUCKETS_PER_OVERFLOW, Bucket, Hash, Place};

/// Entries of a bucket that are drawn at most.
const CROWD_MAX: usize = 16;

/// The rows that an index finds without loading.
pub(crate) struct ImpliedRows<K> {
    /// Their number.
    pub(crate) rows: u64,
    /// Whether a key is that of one of them.
    pub(crate) has: Box<dyn Fn(K) -> bool + Send + Sync>,
    /// The row of such a key, which is made if need be; `None` if it was entered into the index before.
    pub(crate) enter: Box<dyn Fn(K) -> Option<RowPtr> + Send + Sync>,
}

/// The buckets of an implicit index.
pub(super) struct Implicit<K: OrderedKey, L: LeafMeta> {
    rows: ImpliedRows<K>,
    /// The likelihoods that a bucket has so many entries at most, as shares of all 64-bit numbers.
    crowds: Vec<u64>,
    pub(super) buckets: Slab<Bucket<K, L>>,
    /// The places of buckets among those made.
    numbers: Latched<Made>,
}

impl<K: OrderedKey, L: LeafMeta> fmt::Debug for Implicit<K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Implicit").finish_non_exhaustive()
    }
}

impl<K: OrderedKey, L: LeafMeta> Implicit<K, L> {
    /// The number of buckets that are made.
    pub(super) fn made(&self) -> usize {
        hushed(|| {
            // They are made under the latch.
            let _numbers = self.numbers.lock();
            self.buckets.len()
        })
    }
}

impl<K: OrderedKey, L: LeafMeta> Hash<K, L> {
    /// An index with the buckets for `rows` rows, none of which is made. [`imply`](Self::imply) follows.
    pub(crate) fn try_implicit(rows: usize) -> Option<Self> {
        Some(Self::over(Self::first_buckets(rows)?, Slab::new(1)))
    }

    /// Gives the empty index the entries that loading would make.
    pub(crate) fn imply(&mut self, rows: ImpliedRows<K>) {
        let mean = rows.rows as f64 / self.buckets() as f64;
        let mut share = (-mean).exp();
        let mut sum = 0.0;
        let crowds = (1..=CROWD_MAX).map(|count| {
            sum += share;
            share *= mean / count as f64;
            (sum * u64::MAX as f64) as u64
        });
        let crowds = crowds.collect();
        self.overflows = Pool::implicit(self.buckets() / BUCKETS_PER_OVERFLOW);
        let (buckets, numbers) = (Slab::new(8), Latched::default());
        self.implicit = Some(Box::new(Implicit { rows, crowds, buckets, numbers }));
    }

    /// A bucket for a key by its number.
    pub(super) fn implicit_bucket<'t>(
        &'t self,
        implicit: &'t Implicit<K, L>,
        number: usize,
        key: K,
    ) -> &'t Bucket<K, L> {
        hushed(|| {
            let mut numbers = implicit.numbers.lock();
            if let Some(at) = numbers.get(number as u64) {
                // SAFETY: it was made under the latch.
                return unsafe { implicit.buckets.get(at) };
            }
            let nth = numbers.len();
            if nth == implicit.buckets.len() {
                (0..SCATTERED).for_each(|_| _ = implicit.buckets.push(|_| super::Node::new()));
            }
            let at = scattered(nth, implicit.buckets.len());
            // SAFETY: as above.
            let bucket = unsafe { implicit.buckets.get(at) };
            numbers.set(number as u64, at);
            let drawn = (number as u64).hash();
            let crowd = implicit.crowds.partition_point(|&share| share < drawn);
            // Given that a loaded key belongs here, as many others do as elsewhere.
            for _ in 0..crowd + usize::from((implicit.rows.has)(key)) {
                self.add_apart(bucket, K::MAX, RowPtr::UNMADE);
            }
            bucket
        })
    }

    /// The row of a loaded key that is not in its bucket, if it has never been there. The bucket has just been
    /// found unchanged.
    #[cold]
    fn enter(&self, implicit: &Implicit<K, L>, bucket: &Bucket<K, L>, key: K) -> Option<RowPtr> {
        if !(implicit.rows.has)(key) {
            return None;
        }
        let row = (implicit.rows.enter)(key)?;
        let is_free = |place: &Place<'_, K, L>| place.bucket.row(place.at) == Some(RowPtr::UNMADE);
        let free = self.places(bucket).filter(is_free).count();
        if free == 0 {
            self.add_apart(bucket, key, row);
        } else {
            let nth = (key.hash() >> 32) as usize % free;
            let place = self.places(bucket).filter(is_free).nth(nth).expect("they were counted");
            place.bucket.set(place.at, key, row);
        }
        Some(row)
    }

    /// The row of a key that was not found: it is made if it is a loaded one. The bucket has just been found
    /// unchanged.
    #[inline]
    pub(super) fn made(&self, bucket: &Bucket<K, L>, key: K) -> Option<RowPtr> {
        if !sync::IS_STEPPED {
            return None;
        }
        let implicit = self.implicit.as_deref()?;
        hushed(|| self.enter(implicit, bucket, key))
    }

    /// Whether a bucket is as it was at `version`. Only implicit indexes look, and this costs no time.
    #[inline]
    pub(super) fn is_still(&self, bucket: &Bucket<K, L>, version: u64) -> bool {
        sync::IS_STEPPED && self.implicit.is_some() && hushed(|| bucket.head.latch.validate(version))
    }

    /// Adds an entry without taking a latch that a worker may hold.
    fn add_apart(&self, first: &Bucket<K, L>, key: K, row: RowPtr) {
        if let Some(free) = self.places(first).find(|place| place.bucket.row(place.at).is_none()) {
            return free.bucket.set(free.at, key, row);
        }
        let last = core::iter::successors(Some(first), |bucket| self.next(bucket)).last();
        let (overflow, _guard) = self.overflows.take_apart(0);
        overflow.set(0, key, row);
        // Release: pairs with the Acquire in `next`.
        let next = core::ptr::from_ref(overflow).cast_mut();
        last.expect("there is the first").next.store(next.cast(), Ordering::Release);
    }
}
