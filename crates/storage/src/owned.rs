//! Partitions that own records, and claims on them.
//!
//! INVARIANTS
//! (1) A partition is held by at most one [`PartitionClaim`] at a time.
//! (2) The words of a record that a partition owns are touched only through a claim that holds it; the
//!     words of a record that none owns are written only before the record is published.

use core::ptr::NonNull;

use sync::Padded;
use sync::atomic::{AtomicBool, Ordering};

use crate::record::RecordRef;
use crate::shape::{Owned, Shape};

/// A part of the database that one transaction at a time may touch.
#[derive(Debug)]
pub(crate) struct Partition {
    number: usize,
    held: AtomicBool,
}

/// The partitions of a database; their number is the scheme's choice.
#[derive(Debug)]
pub(crate) struct Partitions(Box<[Padded<Partition>]>);

impl Partitions {
    pub(crate) fn new(count: usize) -> Self {
        let partition = |number| Padded(Partition { number, held: AtomicBool::new(false) });
        Self((0..count).map(partition).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, number: usize) -> &Partition {
        &self.0[number]
    }

    /// The partition that has an address, in words.
    pub(crate) fn part_at(&self, address: usize) -> Option<String> {
        let start = self.0.as_ptr().addr();
        let number = address.checked_sub(start)? / size_of::<Padded<Partition>>();
        (number < self.len()).then(|| format!("partition {number}"))
    }

    /// The number of the partition onto which a home is folded.
    pub(crate) fn of_home(&self, home: u64) -> usize {
        (home % self.len() as u64) as usize
    }
}

/// The sole right to touch the records of the partitions that it holds.
#[derive(Debug)]
pub struct PartitionClaim<'db> {
    partitions: &'db Partitions,
    held: Vec<&'db Partition>,
}

impl<'db> PartitionClaim<'db> {
    pub(crate) fn new(partitions: &'db Partitions) -> Self {
        Self { partitions, held: Vec::with_capacity(partitions.len().min(16)) }
    }

    /// How many partitions there are.
    #[inline]
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// The number of the partition that owns the rows of a home.
    #[inline]
    pub fn partition_of(&self, home: u64) -> usize {
        self.partitions.of_home(home)
    }

    /// Whether the claim holds a partition.
    #[inline]
    pub fn holds(&self, number: usize) -> bool {
        self.holds_all() || self.held.iter().any(|held| held.number == number)
    }

    /// Whether the claim holds all partitions. Of those there may be thousands, so that no list of them is searched.
    #[inline]
    fn holds_all(&self) -> bool {
        self.held.len() == self.partitions.len()
    }

    /// Adds a partition if nobody holds it. Asking again for a partition that this claim holds never
    /// succeeds.
    #[inline]
    pub fn try_hold(&mut self, number: usize) -> bool {
        let partition = self.partitions.get(number);
        // Relaxed first look: spares the exchange. Acquire: pairs with the Release in `release_all`.
        // Relaxed on failure: nothing is read.
        let free = !partition.held.load(Ordering::Relaxed)
            && partition.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if free {
            self.held.push(partition);
        }
        free
    }

    /// Gives all partitions up.
    #[inline]
    pub fn release_all(&mut self) {
        for partition in self.held.drain(..) {
            // Release: pairs with the Acquire in `try_hold`.
            partition.held.store(false, Ordering::Release);
        }
    }

    /// The words of a record: `None` when the claim does not hold its partition.
    #[inline]
    pub fn words<'c, S: Shape<Data = Owned>>(&'c self, record: RecordRef<'db, S>) -> Option<&'c [u64]> {
        let owner = owner(record);
        if !owner.is_null() && !self.holds_owner(owner) {
            return None;
        }
        let words = NonNull::slice_from_raw_parts(record.data(), record.width());
        // SAFETY: by invariant (2) only this claim touches the words, or nobody writes them.
        Some(unsafe { words.as_ref() })
    }

    /// The words of a record, to be written: `None` when the claim does not hold its partition.
    #[inline]
    pub fn words_mut<'c, S: Shape<Data = Owned>>(
        &'c mut self,
        record: RecordRef<'db, S>,
    ) -> Option<&'c mut [u64]> {
        if !self.holds_owner(owner(record)) {
            return None;
        }
        let mut words = NonNull::slice_from_raw_parts(record.data(), record.width());
        // SAFETY: by invariant (2) only this claim touches the words, and it is borrowed mutably.
        Some(unsafe { words.as_mut() })
    }

    #[inline]
    fn holds_owner(&self, owner: *const Partition) -> bool {
        // A record that lives everywhere has no owner, and is nobody's to write.
        let is_held = || self.holds_all() || self.held.iter().any(|&held| core::ptr::eq(held, owner));
        !owner.is_null() && is_held()
    }
}

impl<S: Shape<Data = Owned>> RecordRef<'_, S> {
    /// The number of the partition that owns the record: `None` for a record that everyone may read and no
    /// one may write.
    #[inline]
    pub fn partition(self) -> Option<usize> {
        // SAFETY: an owner is null, or a partition of the database, which lives as long as the record.
        unsafe { owner(self).as_ref() }.map(|partition| partition.number)
    }
}

#[inline]
fn owner<S: Shape<Data = Owned>>(record: RecordRef<'_, S>) -> *const Partition {
    // Relaxed: written before the record was published, and again only after nobody knows it.
    record.owned().owner.load(Ordering::Relaxed)
}

impl Drop for PartitionClaim<'_> {
    fn drop(&mut self) {
        self.release_all();
    }
}
