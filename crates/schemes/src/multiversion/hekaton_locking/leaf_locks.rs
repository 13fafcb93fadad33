//! Locks on the gaps of leaves, for schemes in which an attempt that adds a key waits, before it commits, for the
//! readers of the gap (the bucket locks of MV/L: Larson et al., PVLDB 2011, 4.1.2 and 4.2.2).
//!
//! A leaf lists the attempts that have locked it. An entry stays when its attempt ends: each slot shows the last
//! attempt that has given all its locks up, so that copies of an entry, in leaves that were split off, are given up
//! with it. An attempt that locks a leaf drops the entries of ended attempts when there is no room.
//!
//! A record that enters a leaf takes over the attempts that have locked the leaf, for every attempt that gives the
//! record a value, which need not be the one that has put it there. The taken-over attempts are in a separate table,
//! and the record's header says that there may be some.
//!
//! INVARIANTS
//! (1) An attempt that has read a leaf is on the list of every leaf that has a part of its gaps, and an attempt that
//!     adds a key finds it there: the reader lists itself before the index checks whether the gaps are as they were,
//!     and keys are added under the leaf's latch.
//! (2) An attempt that writes a record which has entered a leaf since finds the reader, too: it looks for the
//!     taken-over attempts once its version is on top, and no attempt finds a record in a leaf before they are in the
//!     table.
//! (3) An attempt that finds that another has given its locks up comes after everything that the other did before.

use std::collections::BTreeSet;

use parts::Party;
use parts::version_chain::ChainHead;
use storage::{LeafMeta, Meta, places_beside};
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::{Latched, Padded};

use super::plants;

/// The number of parts of the table, so that few threads meet at one.
const SHARES: usize = if cfg!(loom) { 1 } else { 64 };

/// The attempts that have locked leaves.
#[derive(Debug)]
pub struct LeafHolders {
    /// By slot: the last attempt that has given its locks up.
    released: Box<[Padded<AtomicU64>]>,
    /// Records by their ids, in shares, each with an attempt that had locked a leaf which the record entered.
    inherited: Box<[Padded<Latched<Inherited>>]>,
}

/// Taken-over attempts in the order of record ids, so that those of one record are found among those of all records.
#[derive(Debug, Default)]
struct Inherited {
    of: BTreeSet<(usize, Party)>,
    /// The number of entries from which on those of ended attempts are dropped.
    most: usize,
}

/// Fewer entries of a share than this are not searched for those of ended attempts.
const FEW_INHERITED: usize = 16;

impl LeafHolders {
    /// Makes the table for this many slots.
    pub fn new(slots: usize) -> Self {
        Self {
            released: (0..slots).map(|_| Padded::default()).collect(),
            inherited: (0..SHARES).map(|_| Padded::default()).collect(),
        }
    }

    #[inline]
    fn share(&self, id: usize) -> &Latched<Inherited> {
        let hash = (id as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        &self.inherited[hash as usize % SHARES]
    }

    /// Lets a record that is about to enter a leaf take over the leaf's attempts. Under the leaf's latch.
    #[inline]
    pub fn inherit(&self, id: usize, head: &ChainHead, leaf: &LeafLocks) {
        leaf.for_each(self, |party| {
            if is_planted(&plants::LEAF_LOCKS_LEFT_BEHIND) {
                return;
            }
            let mut share = self.share(id).lock();
            if share.of.len() >= share.most {
                share.of.retain(|(_, other)| self.holds(*other));
                share.most = (2 * share.of.len()).max(FEW_INHERITED);
            }
            share.of.insert((id, party));
            head.set_inherits(true);
        });
    }

    /// Shows the writer of a record the attempts that have locked leaves which the record has entered since.
    #[inline]
    pub fn for_each_inherited(&self, id: usize, head: &ChainHead, mut show: impl FnMut(Party)) {
        if !head.inherits() {
            return;
        }
        let mut share = self.share(id).lock();
        let [first, last] = [(0, 0), (u64::MAX, u32::MAX)].map(|(rank, slot)| (id, Party { rank, slot }));
        share.of.extract_if(first..=last, |(_, party)| !self.holds(*party)).for_each(drop);
        let mut inherited = share.of.range(first..=last).map(|(_, party)| *party).peekable();
        head.set_inherits(inherited.peek().is_some());
        inherited.for_each(&mut show);
    }

    /// Whether an attempt that had locks still has them. The attempts of a slot are numbered upwards from 1, by their
    /// ranks.
    #[inline]
    pub fn holds(&self, party: Party) -> bool {
        // Acquire: pairs with the Release in `release`.
        self.released[party.slot as usize].load(Ordering::Acquire) < party.rank
    }

    /// Gives up an attempt's locks of all leaves.
    #[inline]
    pub fn release(&self, party: Party) {
        // Release: pairs with the Acquire in `holds`.
        self.released[party.slot as usize].store(party.rank, Ordering::Release);
    }
}

/// The metadata of a leaf: the attempts that have locked its gaps.
#[derive(Debug, Default)]
pub struct LeafLocks(Latched<Vec<Party>>);

impl Meta for LeafLocks {
    fn reset(&self) {
        self.0.lock().clear();
    }
}

impl LeafMeta for LeafLocks {
    type Places<T: Default + Send + Sync> = [T; places_beside(size_of::<LeafLocks>())];

    fn carry(&self, to: &Self) {
        let from = self.0.lock();
        let mut to = to.0.lock();
        to.extend(from.iter());
    }
}

impl LeafLocks {
    /// Locks the gaps for an attempt, until it gives its locks up.
    #[inline]
    pub fn lock(&self, party: Party, holders: &LeafHolders) {
        let mut list = self.0.lock();
        if list.contains(&party) {
            return;
        }
        if list.len() == list.capacity() {
            list.retain(|other| holders.holds(*other));
        }
        list.push(party);
    }

    /// Shows the attempts that have locked the gaps. Under the leaf's latch.
    #[inline]
    pub fn for_each(&self, holders: &LeafHolders, show: impl FnMut(Party)) {
        self.0.lock().iter().copied().filter(|party| holders.holds(*party)).for_each(show);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(leaf: &LeafLocks, holders: &LeafHolders) -> Vec<Party> {
        let mut listed = Vec::new();
        leaf.for_each(holders, |party| listed.push(party));
        listed
    }

    #[test]
    fn a_lock_is_given_up_in_every_leaf_that_has_a_part_of_the_gaps() {
        let holders = LeafHolders::new(2);
        let [leaf, other] = [LeafLocks::default(), LeafLocks::default()];
        let [first, second] = [0, 1].map(|slot| Party { rank: 1, slot });
        leaf.lock(first, &holders);
        leaf.lock(first, &holders);
        leaf.lock(second, &holders);
        leaf.carry(&other);
        assert_eq!([listed(&leaf, &holders), listed(&other, &holders)], [[first, second]; 2]);
        holders.release(first);
        assert_eq!([listed(&leaf, &holders), listed(&other, &holders)], [[second]; 2]);
        other.reset();
        assert!(listed(&other, &holders).is_empty() && holders.holds(second));
    }

    #[test]
    fn a_record_takes_over_who_has_locked_its_leaf_until_they_have_gone() {
        let (holders, leaf, head) = (LeafHolders::new(2), LeafLocks::default(), ChainHead::default());
        let [first, second] = [0, 1].map(|slot| Party { rank: 1, slot });
        let inherited = || {
            let mut inherited = Vec::new();
            holders.for_each_inherited(8, &head, |party| inherited.push(party));
            inherited
        };
        holders.inherit(8, &head, &leaf);
        assert!(inherited().is_empty() && !head.inherits());
        for party in [first, second] {
            leaf.lock(party, &holders);
        }
        holders.inherit(8, &head, &leaf);
        assert_eq!(inherited(), [first, second]);
        holders.release(first);
        assert_eq!(inherited(), [second]);
        holders.release(second);
        assert!(inherited().is_empty() && !head.inherits());
    }

    #[test]
    fn a_leaf_keeps_no_list_of_all_who_ever_locked_it() {
        let (holders, leaf) = (LeafHolders::new(1), LeafLocks::default());
        for rank in 1..1_000 {
            let party = Party { rank, slot: 0 };
            leaf.lock(party, &holders);
            assert_eq!(listed(&leaf, &holders), [party]);
            holders.release(party);
        }
        assert!(leaf.0.lock().capacity() < 16);
    }
}
