//! The write sets of transactions that validate, and of transactions that committed of late: parallel backward
//! validation compares with them (Kung, Robinson, TODS 1981, 5).
//!
//! A set has the ids of the records that are written. The sets of committed transactions follow each other in the
//! *history*, in the order in which their writes were complete. A transaction number is a place in the history: the
//! place behind the transaction's last record. The history is a ring, so its memory is bounded, whichever workers idle
//! or stall. If a transaction began before the first place that is left, the commits that it missed are unknown.
//!
//! INVARIANTS
//! (1) An attempt that begins at a number sees the installed writes of all transactions whose numbers are not above it.
//! (2) Of two transactions that enter, the second finds the first among the active ones, or its set in the history,
//!     unless the first gave up: a set leaves the active ones in the critical section in which it enters the history.
//! (3) A set may be overwritten while another attempt compares with it, outside of the critical section: the comparison
//!     counts only if the set was not overwritten, and an attempt that comes too late for that gets an error.

use engine::Abort;
use sync::atomic::{AtomicU64, Ordering, fence};
use sync::plant::is_planted;
use sync::{Latched, Padded, hint};

use super::plants;

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

/// The state that the critical sections protect.
#[derive(Debug, Default)]
struct Entrance {
    /// The number of transactions with writes that have entered.
    entered: u64,
    active: Vec<Active>,
}

/// A set that is being validated or installed: the set of a slot, in its turn.
#[derive(Clone, Copy, Debug)]
struct Active {
    slot: usize,
    turn: u64,
}

/// A set that all threads can read.
#[derive(Debug, Default)]
struct Published {
    turn: u64,
    records: Vec<usize>,
}

/// The sets that an attempt is to be compared with: kept by its slot, and used for one attempt after the other.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The number at which the attempt began: it may have missed the writes from here on.
    start: u64,
    /// The last number when the attempt entered.
    end: u64,
    /// The other sets that were active then.
    active: Vec<Active>,
    /// The attempt's place in the order of entries.
    order: u64,
    /// Whether the attempt's own set is active.
    is_active: bool,
}

impl Comparison {
    /// The place of the attempt in the order of the transactions with writes that have entered: its own place if it
    /// writes, otherwise the place of the last one before it.
    #[inline]
    pub fn order(&self) -> u64 {
        self.order
    }
}

impl WriteSets {
    /// Makes write sets for this many slots, with a history of at least this many records.
    pub fn new(slots: usize, history: usize) -> Self {
        Self {
            entrance: Padded::default(),
            last: Padded::default(),
            claimed: Padded::default(),
            history: (0..history.next_power_of_two()).map(|_| AtomicU64::new(0)).collect(),
            published: (0..slots).map(|_| Padded::default()).collect(),
        }
    }

    /// Begins an attempt: called before it reads anything.
    #[inline]
    pub fn begin(&self, comparison: &mut Comparison) {
        // Acquire: pairs with the Release in `commit`. Invariant (1).
        comparison.start = self.last.load(Ordering::Acquire);
    }

    /// Enters the validation, for an attempt that has done all its reads, with the records that it writes. If there are
    /// some, it [commits](Self::commit) or [gives up](Self::give_up) later.
    #[inline]
    pub fn enter(&self, slot: usize, written: &[usize], comparison: &mut Comparison) {
        let turn = if written.is_empty() { 0 } else { self.publish(slot, written) };
        let mut entrance = self.entrance.lock();
        comparison.end = self.last.load(Ordering::Relaxed); // Relaxed: changes under the latch.
        hint::reads(&entrance.active[..]);
        comparison.active.clear();
        comparison.active.extend_from_slice(&entrance.active);
        if !written.is_empty() {
            entrance.active.push(Active { slot, turn });
            entrance.entered += 1;
            comparison.is_active = true;
        }
        comparison.order = entrance.entered;
    }

    /// Publishes a set for the slot, and returns its turn.
    #[inline]
    fn publish(&self, slot: usize, written: &[usize]) -> u64 {
        let mut published = self.published[slot].lock();
        published.turn += 1;
        published.records.clear();
        published.records.extend_from_slice(written);
        hint::writes(&published.records[..]);
        published.turn
    }

    /// Calls `check` with each record that was written between the begin of the attempt and its entry.
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
            // Relaxed: the latch of `enter` orders it after the sets that it must find; see below for later ones.
            check(self.at(place).load(Ordering::Relaxed) as usize)?;
        }
        // Acquire fence: pairs with the Release fence in `commit`. If a load above saw a record that a later commit has
        // put in the place of an older one, that commit's claim is seen below. Invariant (3).
        fence(Ordering::Acquire);
        // Relaxed: ordered by the fence.
        if self.claimed.load(Ordering::Relaxed) > comparison.start + reach {
            return Err(Abort::Full);
        }
        Ok(())
    }

    /// Calls `check` with each record in the sets that were active when the attempt entered.
    ///
    /// # Errors
    /// Those of `check`, and [`Abort::Full`] if an active transaction has ended, and its slot entered again: a commit
    /// of it may be further down the history than the attempt looks.
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
            hint::reads(&published.records[..]);
            for &record in &published.records {
                check(record)?;
            }
        }
        Ok(())
    }

    /// Moves the attempt's set into the history. All its writes are installed.
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

    /// Takes back the set of an attempt that has failed, if it has entered.
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

    /// Compares an attempt that has entered: the records of the committed sets, and those of the active sets.
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
