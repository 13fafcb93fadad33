//! Partitions that own records, and claims on them.
//!
//! INVARIANTS
//! (1) A partition is held by at most one [`PartitionClaim`] at a time.
//! (2) Of the slots that wait for a partition, the first in its `line` alone looks at the partition's word; the others
//!     wait for a word of their own, so that a release costs them nothing. Who finds a line stands at its end.
//! (3) Who wants several partitions stands in all their lines at once, and two such slots stand in the same order in
//!     each line that they share. So nobody who holds a partition waits for one who waits for it.
//! (4) The words of a record that a partition owns are touched only through a claim that holds it; the
//!     words of a record that none owns are written only before the record is published.

use core::ptr::NonNull;
use std::collections::VecDeque;

use sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sync::{Latched, Padded, waiter};

use crate::record::RecordRef;
use crate::shape::{Owned, Shape};

/// A part of the database that one transaction at a time may touch.
#[derive(Debug)]
pub(crate) struct Partition {
    number: usize,
    held: AtomicBool,
    /// The number of slots in the line.
    waiting: AtomicUsize,
    /// The slots that wait for it, the first one first.
    line: Latched<VecDeque<usize>>,
}

impl Partition {
    #[inline]
    fn is_taken(&self) -> bool {
        // Relaxed first look: spares the exchange. Acquire: pairs with the Release in `give_up`. Relaxed on
        // failure: nothing is read.
        !self.held.load(Ordering::Relaxed)
            && self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Tells how many slots are in the line.
    fn tell_length(&self, line: &VecDeque<usize>) {
        // Relaxed: a hint, see `PartitionClaim::try_hold`.
        self.waiting.store(line.len(), Ordering::Relaxed);
    }

    #[inline]
    fn give_up(&self) {
        // Release: pairs with the Acquire in `is_taken`.
        self.held.store(false, Ordering::Release);
    }
}

/// The partitions of a database; their number is the scheme's choice.
#[derive(Debug)]
pub(crate) struct Partitions {
    all: Box<[Padded<Partition>]>,
    /// For each slot, the number of lines in which it is the first.
    firsts: Box<[Padded<AtomicUsize>]>,
}

impl Partitions {
    /// Makes this many partitions, for claims of this many slots.
    pub(crate) fn new(count: usize, slots: usize) -> Self {
        let partition = |number| {
            let (held, waiting) = (AtomicBool::new(false), AtomicUsize::new(0));
            Padded(Partition { number, held, waiting, line: Latched::default() })
        };
        let waits = if count == 0 { 0 } else { slots };
        Self {
            all: (0..count).map(partition).collect(),
            firsts: (0..waits).map(|_| Padded(AtomicUsize::new(0))).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, number: usize) -> &Partition {
        &self.all[number]
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
    pub(crate) fn try_hold(&mut self, number: usize) -> bool {
        let partition = self.partitions.get(number);
        // Relaxed: who joins the line at this very moment may be passed once, and keeps its place.
        partition.waiting.load(Ordering::Relaxed) == 0 && self.take(partition)
    }

    #[inline]
    fn take(&mut self, partition: &'db Partition) -> bool {
        let is_taken = partition.is_taken();
        if is_taken {
            self.held.push(partition);
        }
        is_taken
    }

    /// Adds all of these partitions, or none if others hold one of them or wait for it.
    #[inline]
    pub fn try_hold_all(&mut self, numbers: &[usize]) -> bool {
        let before = self.held.len();
        let all = numbers.iter().all(|&number| self.try_hold(number));
        if !all {
            self.held.drain(before..).for_each(Partition::give_up);
        }
        all
    }

    /// Adds partitions, and waits while other claims hold them, in the order of arrival. On a fiber that is being
    /// unwound it does not wait, and returns with none of them if not all are free. If the fiber is unwound while it
    /// waits, the claim keeps what it has taken until it is released.
    ///
    /// # Panics
    /// If the claim holds a partition, and if the numbers are not in ascending order.
    pub fn hold_all(&mut self, numbers: &[usize]) {
        assert!(self.held.is_empty(), "all partitions are asked for at once");
        assert!(numbers.is_sorted_by(|one, next| one < next), "partitions are taken in order, each once");
        let standing = Standing::at_the_ends(self.partitions, numbers, self.slot);
        // Only the first in a line looks at its partition.
        let is_first = waiter::wait_until(None, || standing.is_first());
        // The claim has each at once: a fiber that waits may be unwound before it runs again.
        let partitions = self.partitions;
        let mut hold = |&number: &usize| waiter::wait_until(None, || self.take(partitions.get(number)));
        if !(is_first && numbers.iter().all(&mut hold)) {
            self.release_all();
        }
    }

    /// Gives all partitions up.
    #[inline]
    pub fn release_all(&mut self) {
        self.held.drain(..).for_each(Partition::give_up);
    }

    /// The words of a record: `None` when the claim does not hold its partition.
    #[inline]
    pub fn words<'c, S: Shape<Data = Owned>>(&'c self, record: RecordRef<'db, S>) -> Option<&'c [u64]> {
        let owner = owner(record);
        if !owner.is_null() && !self.holds_owner(owner) {
            return None;
        }
        let words = NonNull::slice_from_raw_parts(record.data(), record.width());
        // SAFETY: by invariant (4) only this claim touches the words, or nobody writes them.
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
        // SAFETY: by invariant (4) only this claim touches the words, and it is borrowed mutably.
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

/// A place in the line of each of these partitions. When it is dropped, the slot leaves these lines, and the next slot
/// becomes the first in each line where it was the first.
struct Standing<'a, 'db> {
    partitions: &'db Partitions,
    numbers: &'a [usize],
    slot: usize,
}

impl<'a, 'db> Standing<'a, 'db> {
    /// Joins the lines of partitions whose numbers are in ascending order.
    fn at_the_ends(partitions: &'db Partitions, numbers: &'a [usize], slot: usize) -> Self {
        // Invariant (3): all are held until the slot stands in each. One latch for all who join several lines would
        // be shared by all workers.
        let lines = numbers.iter().map(|&number| partitions.get(number).line.lock());
        let mut lines: Vec<_> = lines.collect();
        let mut firsts = 0;
        for (line, &number) in lines.iter_mut().zip(numbers) {
            line.push_back(slot);
            firsts += usize::from(line.len() == 1);
            partitions.get(number).tell_length(line);
        }
        // Relaxed: read by this slot, or changed by another that sees it in a line, under the line's latch.
        partitions.firsts[slot].store(firsts, Ordering::Relaxed);
        drop(lines);
        Self { partitions, numbers, slot }
    }

    /// Whether the slot is the first in all its lines.
    fn is_first(&self) -> bool {
        // Relaxed: it orders nothing; partitions are taken with Acquire.
        self.partitions.firsts[self.slot].load(Ordering::Relaxed) == self.numbers.len()
    }
}

impl Drop for Standing<'_, '_> {
    fn drop(&mut self) {
        for &number in self.numbers {
            let partition = self.partitions.get(number);
            let mut line = partition.line.lock();
            let was_first = line.front() == Some(&self.slot);
            line.retain(|&slot| slot != self.slot);
            partition.tell_length(&line);
            if was_first && let Some(&first) = line.front() {
                self.partitions.firsts[first].fetch_add(1, Ordering::Relaxed); // Relaxed: as in `is_first`.
            }
        }
    }
}

impl Drop for PartitionClaim<'_> {
    fn drop(&mut self) {
        self.release_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_a_line_moves_up_the_next_one_only_if_it_was_the_first() {
        let partitions = Partitions::new(2, 3);
        let [first, second, third] = [0, 1, 2].map(|slot| Standing::at_the_ends(&partitions, &[0, 1], slot));
        drop(second);
        assert!(first.is_first() && !third.is_first());
        drop(first);
        assert!(third.is_first());
    }

    #[test]
    fn a_slot_is_first_when_it_is_so_in_all_its_lines() {
        let partitions = Partitions::new(2, 3);
        let one = Standing::at_the_ends(&partitions, &[0], 0);
        let other = Standing::at_the_ends(&partitions, &[1], 1);
        let both = Standing::at_the_ends(&partitions, &[0, 1], 2);
        drop(one);
        assert!(!both.is_first() && other.is_first());
        drop(other);
        assert!(both.is_first());
    }
}
