//! Turns: while a transaction that has failed many times in a row is attempted, other transactions wait, so that it
//! ends.
//!
//! Turns are cooperative: a caller that begins an attempt looks whether another caller has a turn, and waits until that
//! turn is over. Attempts that had begun before go on. A caller that has waited for one turn does not wait for the next
//! turn before it has made an attempt. So while a turn lasts, each other caller has at most one attempt that may
//! conflict with the owner of the turn. Each seat shows whether it is within an attempt, so that the owner of the turn
//! can wait until those attempts have ended. No memory ordering is needed here: if one of two threads misses a store of
//! the other, the cost is one failed attempt.
//!
//! A caller that waits here holds nothing of the database but its seat. A caller that is within a transaction of
//! another database may hold locks there, and so neither waits for a turn nor takes one: otherwise two such callers
//! could wait for each other.

use sync::atomic::{AtomicU64, Ordering};
use sync::{Latched, LatchedGuard, Padded, waiter};

/// The bit of a turn for which readers wait, too.
const ALL: u64 = 1;
/// Bits of a seat below the number of its attempts: whether it is within one, and whether that one only reads.
const READS: u64 = 1;
const WRITES: u64 = 2;
const WITHIN: u64 = READS | WRITES;
/// Longest wait of the owner of the turn for other attempts, in nanoseconds: the body of such an attempt may itself
/// wait for something that the owner does.
const PATIENCE_NS: u64 = 100_000_000;

/// The owner of the turn, and the seats that are within an attempt.
pub(crate) struct Turns {
    /// 0 while nobody has a turn; else the number of the turn, above the bit `ALL`. Each caller that begins an attempt
    /// reads it.
    present: Padded<AtomicU64>,
    /// Number of turns so far. The owner of the turn holds this latch.
    last: Latched<u64>,
    /// By seat: the number of attempts that it has begun, above the bits `WITHIN`.
    attempts: Box<[Padded<AtomicU64>]>,
}

/// A guard: its seat is within an attempt until the guard is dropped.
pub(crate) struct Within<'t>(&'t AtomicU64);

impl Drop for Within<'_> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed twice: only this seat writes the word; for readers see the header.
        self.0.store(self.0.load(Ordering::Relaxed) & !WITHIN, Ordering::Relaxed);
    }
}

/// A turn, which ends when this value is dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    _last: LatchedGuard<'t, u64>,
}

impl Turns {
    pub(crate) fn new(seats: usize) -> Self {
        let attempts = (0..seats).map(|_| Padded::default()).collect();
        Self { present: Padded::default(), last: Latched::default(), attempts }
    }

    /// Marks a seat as being within an attempt.
    #[inline]
    pub(crate) fn begin(&self, seat: usize, read_only: bool) -> Within<'_> {
        let shown = &self.attempts[seat];
        // Relaxed twice: as in `Within::drop`.
        let count = (shown.load(Ordering::Relaxed) & !WITHIN) + WITHIN + 1;
        shown.store(count | if read_only { READS } else { WRITES }, Ordering::Relaxed);
        Within(shown)
    }

    /// Waits before an attempt while another caller has a turn that the attempt could disturb, at most until
    /// `until_ns`. A read-only attempt does not disturb a read-only turn.
    #[inline]
    pub(crate) fn give_way(&self, read_only: bool, until_ns: impl FnOnce() -> u64) {
        // Relaxed: a caller that misses a turn which has just begun counts as one whose attempt had begun before.
        let present = self.present.load(Ordering::Relaxed);
        if present != 0 && (!read_only || present & ALL != 0) {
            self.wait(present, until_ns());
        }
    }

    #[cold]
    fn wait(&self, present: u64, until_ns: u64) {
        // Relaxed: as above.
        waiter::wait_until(Some(until_ns), || self.present.load(Ordering::Relaxed) != present);
    }

    /// Takes the turn as soon as it is free; `None` if it is not free before `until_ns`.
    #[cold]
    pub(crate) fn take(&self, read_only: bool, until_ns: u64) -> Option<Turn<'_>> {
        let mut free = None;
        waiter::wait_until(Some(until_ns), || {
            free = self.last.try_lock();
            free.is_some()
        });
        let mut last = free?;
        *last += 1;
        let present = *last << 1 | if read_only { 0 } else { ALL };
        self.present.store(present, Ordering::Relaxed); // Relaxed: as in `give_way`.
        Some(Turn { turns: self, _last: last })
    }
}

impl Turn<'_> {
    /// Waits until the attempts that had begun before and may conflict with this turn have ended: at most
    /// `PATIENCE_NS`, and at most until `until_ns`. Returns whether they have ended.
    pub(crate) fn await_others(&self, now_ns: u64, until_ns: u64) -> bool {
        let Turns { present, attempts, .. } = self.turns;
        // Relaxed, here and below: see the header.
        let in_the_way = if present.load(Ordering::Relaxed) & ALL != 0 { WITHIN } else { WRITES };
        let begun: Vec<u64> = attempts.iter().map(|shown| shown.load(Ordering::Relaxed)).collect();
        let until_ns = until_ns.min(now_ns.saturating_add(PATIENCE_NS));
        waiter::wait_until(Some(until_ns), || {
            let mut seats = attempts.iter().zip(&begun);
            seats.all(|(shown, begun)| begun & in_the_way == 0 || shown.load(Ordering::Relaxed) != *begun)
        })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.present.store(0, Ordering::Relaxed); // Relaxed: as in `give_way`.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether an attempt that begins now waits.
    fn waits(turns: &Turns, read_only: bool) -> bool {
        let mut waits = false;
        turns.give_way(read_only, || {
            waits = true;
            0
        });
        waits
    }

    #[test]
    fn a_turn_keeps_those_waiting_who_would_be_in_its_way() {
        let turns = Turns::new(2);
        assert!(!waits(&turns, false) && !waits(&turns, true));
        let reads = turns.take(true, u64::MAX).expect("it is free");
        assert!(waits(&turns, false) && !waits(&turns, true));
        assert!(turns.take(true, 0).is_none(), "one at a time");
        drop(reads);
        assert!(!waits(&turns, false));
        let writes = turns.take(false, u64::MAX).expect("it is free");
        assert!(waits(&turns, false) && waits(&turns, true));
        drop(writes);
        assert!(!waits(&turns, true));
    }

    #[test]
    fn who_has_waited_for_a_turn_does_not_wait_for_the_next_as_well() {
        let turns = Turns::new(2);
        let first = turns.take(true, u64::MAX).expect("it is free");
        let present = turns.present.load(Ordering::Relaxed);
        drop(first);
        let _second = turns.take(true, u64::MAX).expect("it is free");
        // Returns at once: the turn that the caller had seen is over.
        turns.wait(present, u64::MAX);
    }

    #[test]
    fn who_has_the_turn_waits_for_attempts_that_had_begun_and_are_in_its_way() {
        let turns = Turns::new(3);
        let (reads, writes) = (turns.begin(0, true), turns.begin(1, false));
        let turn = turns.take(true, u64::MAX).expect("it is free");
        assert!(!turn.await_others(0, 0), "the one that writes");
        drop(writes);
        assert!(turn.await_others(0, 0));
        drop(turn);
        let turn = turns.take(false, u64::MAX).expect("it is free");
        assert!(!turn.await_others(0, 0), "the one that reads, too");
        drop(reads);
        let next = turns.begin(0, true);
        assert!(!turn.await_others(0, 0), "who came through although there is a turn");
        drop(next);
        assert!(turn.await_others(0, 0));
        assert!(turns.attempts.iter().all(|shown| shown.load(Ordering::Relaxed) & WITHIN == 0));
    }
}
