//! Partitions that own records, and claims on them.
//!
//! INVARIANTS
//! (1) A partition is held by at most one [`PartitionClaim`] at a time.
//! (2) A partition that is `WANTED` is handed from claim to claim, in the order in which they came, and is not free in
//!     between: `line` has the slots that wait for it. Each waits for a word of its own slot, so that a release ends one
//!     wait and costs the others nothing.
//! (3) The words of a record that a partition owns are touched only through a claim that holds it; the
//!     words of a record that none owns are written only before the record is published.

use core::ptr::NonNull;
use std::collections::VecDeque;

use sync::atomic::{AtomicBool, AtomicU32, Ordering};
use sync::{Latched, Padded, waiter};

use crate::record::RecordRef;
use crate::shape::{Owned, Shape};

/// A state of a partition: no claim holds it, one does, or one does and others wait.
const FREE: u32 = 0;
const HELD: u32 = 1;
const WANTED: u32 = 2;

/// A part of the database that one transaction at a time may touch.
#[derive(Debug)]
pub(crate) struct Partition {
    number: usize,
    state: AtomicU32,
    /// The slots that wait for it, the first one first.
    line: Latched<VecDeque<usize>>,
}

impl Partition {
    #[inline]
    fn is_taken(&self) -> bool {
        // Relaxed first look: spares the exchange. Acquire: pairs with the Release in `Partitions::release`. Relaxed on
        // failure: nothing is read.
        self.state.load(Ordering::Relaxed) == FREE
            && self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the partition, or puts a slot at the end of the line. Returns whether it was taken.
    fn is_taken_or_stood_for(&self, slot: usize) -> bool {
        let mut line = self.line.lock();
        // Relaxed: nothing is read, and who gives the partition up looks at the line under its latch.
        while self.state.compare_exchange(HELD, WANTED, Ordering::Relaxed, Ordering::Relaxed) == Err(FREE) {
            if self.is_taken() {
                return true;
            }
        }
        line.push_back(slot);
        false
    }
}

/// The partitions of a database; their number is the scheme's choice.
#[derive(Debug)]
pub(crate) struct Partitions {
    all: Box<[Padded<Partition>]>,
    /// Whether the slot has been handed the partition that it waits for.
    handed: Box<[Padded<AtomicBool>]>,
}

impl Partitions {
    /// Makes this many partitions, for claims of this many slots.
    pub(crate) fn new(count: usize, slots: usize) -> Self {
        let partition =
            |number| Padded(Partition { number, state: AtomicU32::new(FREE), line: Latched::default() });
        let waits = if count == 0 { 0 } else { slots };
        Self {
            all: (0..count).map(partition).collect(),
            handed: (0..waits).map(|_| Padded(AtomicBool::new(false))).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, number: usize) -> &Partition {
        &self.all[number]
    }

    /// Gives up a partition: hands it to the first in its line, if there is one.
    #[inline]
    fn release(&self, partition: &Partition) {
        // Release: pairs with the Acquire of the next claim. Relaxed on failure: nothing is read.
        if partition.state.compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed).is_err() {
            self.hand_on(partition);
        }
    }

    #[cold]
    fn hand_on(&self, partition: &Partition) {
        let mut line = partition.line.lock();
        let Some(next) = line.pop_front() else {
            // Who stood there has left. Release: as in `release`.
            return partition.state.store(FREE, Ordering::Release);
        };
        if line.is_empty() {
            partition.state.store(HELD, Ordering::Relaxed); // Relaxed: the hand-over is the next store.
        }
        // Release: pairs with the Acquire in `PartitionClaim::stand`.
        self.handed[next].store(true, Ordering::Release);
    }

    /// The partition that has an address, in words.
    pub(crate) fn part_at(&self, address: usize) -> Option<String> {
        let start = self.all.as_ptr().addr();
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
    slot: usize,
    held: Vec<&'db Partition>,
}

impl<'db> PartitionClaim<'db> {
    /// Makes a claim that holds nothing. A slot waits with one claim at a time.
    pub(crate) fn new(partitions: &'db Partitions, slot: usize) -> Self {
        Self { partitions, slot, held: Vec::with_capacity(partitions.len().min(16)) }
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
        let is_taken = partition.is_taken();
        if is_taken {
            self.held.push(partition);
        }
        is_taken
    }

    /// Adds a partition, and waits while other claims hold it, in the order of arrival. A fiber that unwinds returns
    /// without the partition, if it would have to wait.
    pub fn hold(&mut self, number: usize) {
        let partition = self.partitions.get(number);
        let handed = &self.partitions.handed[self.slot];
        handed.store(false, Ordering::Relaxed); // Relaxed: nobody hands anything to a slot outside of a line.
        if !partition.is_taken_or_stood_for(self.slot) {
            let standing = Standing { partitions: self.partitions, partition, slot: self.slot };
            // Acquire: pairs with the Release in `hand_on`.
            if !waiter::wait_until(None, || handed.load(Ordering::Acquire)) {
                return;
            }
            core::mem::forget(standing);
        }
        self.held.push(partition);
    }

    /// Gives all partitions up.
    #[inline]
    pub fn release_all(&mut self) {
        for partition in self.held.drain(..) {
            self.partitions.release(partition);
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
        // SAFETY: by invariant (3) only this claim touches the words, or nobody writes them.
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
        // SAFETY: by invariant (3) only this claim touches the words, and it is borrowed mutably.
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

/// A place in the line of a partition. Dropped, as by a panic, it is left, or the partition is given up if it was handed
/// over meanwhile.
struct Standing<'db> {
    partitions: &'db Partitions,
    partition: &'db Partition,
    slot: usize,
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        let mut line = self.partition.line.lock();
        let place = line.iter().position(|&slot| slot == self.slot);
        if let Some(place) = place {
            line.remove(place);
        } else {
            drop(line);
            self.partitions.release(self.partition);
        }
    }
}

impl Drop for PartitionClaim<'_> {
    fn drop(&mut self) {
        self.release_all();
    }
}
