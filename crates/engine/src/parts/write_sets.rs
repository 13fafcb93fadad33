//! The write sets of transactions that validate, and of those that committed of late: what parallel backward
//! validation compares with (Kung, Robinson, TODS 1981, 5).
//!
//! A set has the ids of the records that are written. The sets of committed transactions follow each other in the
//! *history*, in the order in which their writes were complete, and a transaction number is a place in it: that
//! behind the last record. The history is a ring, so its memory is bounded whoever idles or stalls: of a
//! transaction that began before the first place that is left, nobody can say what it missed.
//!
//! INVARIANTS
//! (1) Whoever begins at a number sees what was installed by all whose numbers are not above it.
//! (2) Of two that enter, the second finds the first among the active, or its set in the history, unless it gave
//!     up: a set leaves the one in the critical section in which it comes into the other.
//! (3) A set may be overwritten while it is compared with, outside of the critical section: it is believed only
//!     if it was not, and whoever comes too late for that is told so.

use sync::atomic::{AtomicU64, Ordering, fence};
use sync::plant::is_planted;
use sync::{Latched, Padded};

use crate::{Abort, plants};

/// The sets, the entrance to the validation, and the number of the last commit.
#[derive(Debug)]
pub struct WriteSets {
    entrance: Padded<Latched<Entrance>>,
    /// The number of the last commit: the end of the history.
    last: Padded<AtomicU64>,
    /// The end of the history, or of the set that is about to be added.
    claimed: Padded<AtomicU64>,
    /// Its length is a power of two.
    history: Box<[AtomicU64]>,
    /// By slot: the set with which it entered last.
    published: Box<[Padded<Latched<Published>>]>,
}

/// What the critical sections are about.
#[derive(Debug, Default)]
struct Entrance {
    /// How many have entered that write.
    entered: u64,
    active: Vec<Active>,
}

/// A set that is being validated or installed: that of a slot, in its turn.
#[derive(Clone, Copy, Debug)]
struct Active {
    slot: usize,
    turn: u64,
}

/// A set for all to see.
#[derive(Debug, Default)]
struct Published {
    turn: u64,
    records: Vec<usize>,
}

/// What an attempt is to be compared with: kept by its slot, and used for one attempt after the other.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The number at which it began: it may have missed what was written from here on.
    start: u64,
    /// The last number when it entered.
    end: u64,
    /// Who else was active then.
    active: Vec<Active>,
    /// Its place in the order of those that entered.
    order: u64,
    /// Whether its own set is active.
    is_active: bool,
}

impl Comparison {
    /// The place of the attempt in the order of those that entered and write: its own, if it is one of them,
    /// and else that of the last before it.
    #[inline]
    pub fn order(&self) -> u64 {
        self.order
    }
}

impl WriteSets {
    /// For this many slots, with a history of this many records at least.
    pub fn new(slots: usize, history: usize) -> Self {
        Self {
            entrance: Padded::default(),
            last: Padded::default(),
            claimed: Padded::default(),
            history: (0..history.next_power_of_two()).map(|_| AtomicU64::new(0)).collect(),
            published: (0..slots).map(|_| Padded::default()).collect(),
        }
    }

    /// An attempt begins: before it reads anything.
    #[inline]
    pub fn begin(&self, comparison: &mut Comparison) {
        // Acquire: pairs with the Release in `commit`. Invariant (1).
        comparison.start = self.last.load(Ordering::Acquire);
    }

    /// An attempt that has read all that it reads enters the validation, with the records that it writes. If there
    /// are some, it [commits](Self::commit) or [gives up](Self::give_up) later.
    #[inline]
    pub fn enter(&self, slot: usize, written: &[usize], comparison: &mut Comparison) {
        let turn = if written.is_empty() { 0 } else { self.publish(slot, written) };
        let mut entrance = self.entrance.lock();
        comparison.end = self.last.load(Ordering::Relaxed); // Relaxed: changes under the latch.
        comparison.active.clear();
        comparison.active.extend_from_slice(&entrance.active);
        if !written.is_empty() {
            entrance.active.push(Active { slot, turn });
            entrance.entered += 1;
            comparison.is_active = true;
        }
        comparison.order = entrance.entered;
    }

    /// Makes a set the slot's, and gives its turn.
    #[inline]
    fn publish(&self, slot: usize, written: &[usize]) -> u64 {
        let mut published = self.published[slot].lock();
        published.turn += 1;
        published.records.clear();
        published.records.extend_from_slice(written);
        published.turn
    }

    /// Has each record checked that was written between the begin of the attempt and its entry.
    ///
    /// # Errors
    /// Those of `check`, and [`Abort::Full`] if the history does not reach back so far.
    #[inline]
    pub fn compare_committed(
        &self,
        comparison: &Comparison,
        mut check: impl FnMut(usize) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let reach = self.history.len() as u64;
        if comparison.end - comparison.start > reach {
            return Err(Abort::Full);
        }
        let first = comparison.start + u64::from(is_planted(&plants::HISTORY_TRIMMED_EARLY));
        for place in first..comparison.end {
            // Relaxed: the latch of `enter` orders it after what it is to find; see below for what came later.
            check(self.at(place).load(Ordering::Relaxed) as usize)?;
        }
        // Acquire fence: pairs with the Release fence in `commit`. If a load above saw what a later commit has put
        // in the place of an older record, that commit's claim is seen below. Invariant (3).
        fence(Ordering::Acquire);
        // Relaxed: ordered by the fence.
        if self.claimed.load(Ordering::Relaxed) > comparison.start + reach {
            return Err(Abort::Full);
        }
        Ok(())
    }

    /// Has each record checked that is written by those who were active when the attempt entered.
    ///
    /// # Errors
    /// Those of `check`, and [`Abort::Full`] if one of them has ended, and its slot entered again: a commit of it
    /// may be further down the history than the attempt looks.
    #[inline]
    pub fn compare_active(
        &self,
        comparison: &Comparison,
        mut check: impl FnMut(usize) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        for active in &comparison.active {
            let published = self.published[active.slot].lock();
            if published.turn != active.turn {
                return Err(Abort::Full); // Invariant (3).
            }
            for &record in &published.records {
                check(record)?;
            }
        }
        Ok(())
    }

    /// All writes of the attempt are installed: its set comes into the history.
    #[inline]
    pub fn commit(&self, slot: usize, written: &[usize], comparison: &mut Comparison) {
        let mut entrance = self.entrance.lock();
        let last = self.last.load(Ordering::Relaxed); // Relaxed: changes under the latch.
        let number = last + written.len() as u64;
        self.claimed.store(number, Ordering::Relaxed); // Relaxed: ordered by the fence.
        // Release fence: pairs with the Acquire fence in `compare_committed`.
        fence(Ordering::Release);
        for (place, &record) in (last..).zip(written) {
            self.at(place).store(record as u64, Ordering::Relaxed); // Relaxed: ordered by the fence and the latch.
        }
        // Release: pairs with the Acquire in `begin`.
        self.last.store(number, Ordering::Release);
        entrance.leave(slot);
        comparison.is_active = false;
    }

    /// An attempt that may have entered has failed.
    #[inline]
    pub fn give_up(&self, slot: usize, comparison: &mut Comparison) {
        if core::mem::take(&mut comparison.is_active) {
            self.entrance.lock().leave(slot);
        }
    }

    #[inline]
    fn at(&self, place: u64) -> &AtomicU64 {
        &self.history[place as usize & (self.history.len() - 1)]
    }
}

impl Entrance {
    #[inline]
    fn leave(&mut self, slot: usize) {
        let own = self.active.iter().position(|active| active.slot == slot);
        self.active.swap_remove(own.expect("who leaves has entered"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attempt at a slot writes these records.
    fn write(sets: &WriteSets, slot: usize, records: &[usize]) {
        let mut comparison = Comparison::default();
        sets.begin(&mut comparison);
        sets.enter(slot, records, &mut comparison);
        sets.commit(slot, records, &mut comparison);
    }

    /// What an attempt is compared with, once it has entered.
    fn found(sets: &WriteSets, comparison: &Comparison) -> [Result<Vec<usize>, Abort>; 2] {
        let (mut committed, mut active) = (Vec::new(), Vec::new());
        let of_committed = sets.compare_committed(comparison, |record| {
            committed.push(record);
            Ok(())
        });
        let of_active = sets.compare_active(comparison, |record| {
            active.push(record);
            Ok(())
        });
        [of_committed.map(|()| committed), of_active.map(|()| active)]
    }

    #[test]
    fn an_attempt_is_compared_with_who_committed_since_its_begin_and_who_is_active_at_its_entry() {
        let sets = WriteSets::new(4, 16);
        let [mut attempt, mut before, mut after] = [(); 3].map(|()| Comparison::default());
        write(&sets, 0, &[1, 2]);
        sets.enter(1, &[3], &mut before);
        sets.begin(&mut attempt);
        write(&sets, 0, &[4, 5]);
        sets.enter(2, &[6], &mut attempt);
        sets.enter(3, &[7], &mut after);
        write(&sets, 0, &[8]);
        assert_eq!(found(&sets, &attempt), [Ok(vec![4, 5]), Ok(vec![3])]);
        assert_eq!([&before, &attempt, &after].map(Comparison::order), [2, 4, 5]);
        sets.commit(1, &[3], &mut before);
        assert_eq!(found(&sets, &attempt), [Ok(vec![4, 5]), Ok(vec![3])], "it was active at the entry");
        sets.give_up(2, &mut attempt);
        sets.give_up(2, &mut attempt);
        sets.give_up(3, &mut after);
        let mut reader = Comparison::default();
        sets.begin(&mut reader);
        write(&sets, 2, &[9]);
        sets.enter(0, &[], &mut reader);
        assert_eq!(found(&sets, &reader), [Ok(vec![9]), Ok(vec![])], "who gave up is not compared with");
        assert_eq!(reader.order(), 7, "who writes nothing is not counted");
    }

    #[test]
    fn what_was_overwritten_is_not_believed() {
        let sets = WriteSets::new(3, 4);
        let [mut attempt, mut early, mut active] = [(); 3].map(|()| Comparison::default());
        sets.begin(&mut early);
        write(&sets, 0, &[1]);
        sets.begin(&mut attempt);
        sets.enter(1, &[2], &mut active);
        for record in 3..=6 {
            write(&sets, 0, &[record]);
        }
        sets.enter(2, &[], &mut attempt);
        sets.enter(2, &[], &mut early);
        assert_eq!(found(&sets, &attempt), [Ok(vec![3, 4, 5, 6]), Ok(vec![2])]);
        assert_eq!(found(&sets, &early), [Err(Abort::Full), Ok(vec![2])], "it began before the first place");
        sets.commit(1, &[2], &mut active);
        assert_eq!(found(&sets, &attempt), [Err(Abort::Full), Ok(vec![2])], "overwritten since the entry");
        write(&sets, 1, &[7]);
        assert_eq!(
            found(&sets, &attempt),
            [Err(Abort::Full), Err(Abort::Full)],
            "the slot has entered again"
        );
    }

    #[test]
    fn a_set_larger_than_the_history_leaves_nobody_in_it() {
        let sets = WriteSets::new(2, 2);
        let [mut early, mut late] = [(); 2].map(|()| Comparison::default());
        sets.begin(&mut early);
        write(&sets, 0, &[1, 2, 3, 4, 5]);
        sets.begin(&mut late);
        for comparison in [&mut early, &mut late] {
            sets.enter(1, &[], comparison);
        }
        assert_eq!(found(&sets, &early)[0], Err(Abort::Full));
        assert_eq!(found(&sets, &late)[0], Ok(vec![]));
    }
}
