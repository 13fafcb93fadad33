//! The fates of attempts that others may wound, and that may have to wait for the commits of others.
//!
//! Each slot's attempt has one word with its state: running, wounded, or past all that can fail. The word also has its
//! *semaphore*: the number of waits that must be over before it commits. Since both are in one word, one exchange
//! decides an attempt that is not wounded and has nobody to wait for: a wound, or one more wait, comes before that or
//! too late.
//!
//! WORD        bits 0..1 the state; bit 2 that the wound came with the abort of another; bits 3..22 the slot that
//!             wounded; bits 32.. the semaphore.
//! INVARIANTS  (1) Others change the word only under the latch of a record of which the attempt has a request: never
//!                 after its end.
//!             (2) A decided attempt is not wounded afterwards, and its semaphore is zero (`decide`).

use engine::Abort;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Padded, clock, waiter};

use crate::Party;

/// States: others may wound the attempt; another attempt has wounded it; its semaphore was seen to be zero and nobody
/// may make it wait any more, though others may still wound it; it has passed all that can fail.
const RUNNING: u64 = 0;
const WOUNDED: u64 = 1;
const CLOSING: u64 = 2;
const DECIDED: u64 = 3;
const STATE: u64 = 3;
const CASCADES: u64 = 4;
const SLOT_SHIFT: u32 = 3;
const SLOT: u64 = 0xf_ffff;
/// One in the semaphore.
const ONE: u64 = 1 << 32;

/// The fates of all slots' attempts.
#[derive(Debug)]
pub struct Fates(Box<[Padded<Fate>]>);

/// The state that a slot's attempt shows to others.
#[derive(Debug, Default)]
struct Fate {
    word: AtomicU64,
    /// The rank of the slot's last attempt; 0 while it has drawn none.
    rank: AtomicU64,
    /// The birth of the slot's transaction until that has ended; 0 while there is none.
    birth: AtomicU64,
}

impl Fates {
    /// Makes the fates for this many slots.
    pub fn new(slots: usize) -> Self {
        Self((0..slots).map(|_| Padded::default()).collect())
    }

    #[inline]
    fn of(&self, slot: u32) -> &Fate {
        &self.0[slot as usize]
    }

    /// Begins an attempt of a transaction of this birth. If its rank is 0, it has none, and draws one later.
    #[inline]
    pub fn begin(&self, party: Party, birth: u64) {
        let fate = self.of(party.slot);
        // Relaxed, all: no request of this slot is in a ring, so nobody else writes them: invariant (1).
        fate.word.store(RUNNING, Ordering::Relaxed);
        fate.rank.store(party.rank, Ordering::Relaxed);
        fate.birth.store(birth, Ordering::Relaxed);
    }

    // ANCHOR: party
    /// Returns a slot's attempt as a party of locks. If it has no rank yet, it draws one: the present time, so that it
    /// is younger than those that have drawn before, and younger than transactions that were born before.
    #[inline]
    pub fn party(&self, slot: u32) -> Party {
        self.ranked(slot).unwrap_or_else(|| {
            let rank = &self.of(slot).rank;
            let now = clock::ticks().max(1);
            // Relaxed, twice: a rank is written once in an attempt, and orders nothing else.
            let drawn = rank.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
            Party { rank: drawn.map_or_else(|drawn| drawn, |_| now), slot }
        })
    }

    /// Lets a slot's attempt draw a rank that is greater than another. Returns `false` if it has a rank already.
    pub fn draws_after(&self, slot: u32, other: u64) -> bool {
        let now = clock::ticks().max(other + 1);
        // Relaxed, twice: as in `party`.
        self.of(slot).rank.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
    // ANCHOR_END: party

    /// Returns a slot's attempt as a party of locks, if it has a rank.
    #[inline]
    pub fn ranked(&self, slot: u32) -> Option<Party> {
        let rank = self.of(slot).rank.load(Ordering::Relaxed); // Relaxed: as in `party`.
        (rank != 0).then_some(Party { rank, slot })
    }

    /// Delays the slot's own transaction, which is to try again: if it was wounded, it waits until the older
    /// transaction that wounded it has ended, for at most `respect_ns` nanoseconds.
    pub fn respect(&self, slot: u32, respect_ns: u64) {
        // Relaxed: as in `begin`.
        let before = self.of(slot).word.load(Ordering::Relaxed);
        if before & (STATE | CASCADES) == WOUNDED && respect_ns > 0 {
            self.wait_for_end(slot, (before >> SLOT_SHIFT & SLOT) as u32, respect_ns);
        }
    }

    // ANCHOR: respect
    /// Waits until the transaction of the slot `by` has ended, if it is older.
    #[cold]
    fn wait_for_end(&self, slot: u32, by: u32, respect_ns: u64) {
        let shown = &self.of(by).birth;
        // Relaxed, twice: only a hint about the moment to begin.
        let birth = shown.load(Ordering::Relaxed);
        let is_older = || self.ranked(by).is_some_and(|by| Some(by) < self.ranked(slot));
        if birth != 0 && is_older() {
            let deadline_ns = clock::now_ns() + respect_ns;
            waiter::wait_until(Some(deadline_ns), || shown.load(Ordering::Relaxed) != birth);
        }
    }
    // ANCHOR_END: respect

    /// Wounds a slot's attempt on behalf of another attempt, which is older, or which aborts after the wounded one has
    /// seen its writes. Returns `false` if the attempt is decided.
    #[inline]
    pub fn wound(&self, slot: u32, by: u32, cascades: bool) -> bool {
        let word = &self.of(slot).word;
        let how = WOUNDED | u64::from(by) << SLOT_SHIFT | if cascades { CASCADES } else { 0 };
        // Relaxed, all: a wounded attempt relies on no read after it, and latches order everything else.
        let mut now = word.load(Ordering::Relaxed);
        loop {
            match now & STATE {
                WOUNDED => return true,
                DECIDED => return false,
                _ => {}
            }
            let wounded = now & !(ONE - 1) | how;
            match word.compare_exchange(now, wounded, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
    }

    /// Whether the slot's own attempt may go on.
    ///
    /// # Errors
    /// The way in which it was wounded.
    #[inline]
    pub fn look(&self, slot: u32) -> Result<(), Abort> {
        // Relaxed: a flag that orders nothing else.
        wound_in(self.of(slot).word.load(Ordering::Relaxed))
    }

    /// Counts one more wait of an attempt that has not asked to be decided.
    #[inline]
    pub fn count(&self, slot: u32) {
        // Relaxed: called by the attempt itself, or by the one that grants it the lock that it waits for, which it
        // acquires.
        self.of(slot).word.fetch_add(ONE, Ordering::Relaxed);
    }

    /// Like `count`, for an attempt that may be about to end. Returns `false` if it is too late.
    pub fn count_if_running(&self, slot: u32) -> bool {
        let word = &self.of(slot).word;
        // Relaxed, all: the exchange that decides is on the same word, and comes after or before.
        let mut now = word.load(Ordering::Relaxed);
        while now & STATE == RUNNING {
            match word.compare_exchange(now, now + ONE, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// Counts one wait less of an attempt.
    #[inline]
    pub fn uncount(&self, slot: u32) {
        // Release: pairs with the Acquire in `has_semaphore_at_zero` and in `close`.
        let before = self.of(slot).word.fetch_sub(ONE, Ordering::Release);
        assert!(before >= ONE, "who was counted once is no more than once taken off");
    }

    /// Whether the slot's own attempt has nobody to wait for.
    #[inline]
    pub fn has_semaphore_at_zero(&self, slot: u32) -> bool {
        // Acquire: pairs with the Release in `uncount`.
        self.of(slot).word.load(Ordering::Acquire) < ONE
    }

    /// Closes the slot's own attempt: from here on no other may make it wait. Returns `false` if it has still to wait.
    ///
    /// # Errors
    /// The way in which it was wounded.
    #[inline]
    pub fn close(&self, slot: u32) -> Result<bool, Abort> {
        let word = &self.of(slot).word;
        // Acquire: pairs with the Release in `uncount`. Relaxed on failure: nothing is read.
        match word.compare_exchange(RUNNING, CLOSING, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(true),
            Err(now) => wound_in(now).map(|()| false),
        }
    }

    /// Decides the slot's own attempt, whose semaphore is zero: from here on no other wounds it.
    ///
    /// # Errors
    /// The way in which it was wounded.
    #[inline]
    pub fn decide(&self, slot: u32) -> Result<(), Abort> {
        let fate = self.of(slot);
        // Relaxed, all: an attempt that fails was wounded, and the locks order everything else.
        let now = fate.word.load(Ordering::Relaxed);
        wound_in(now)?;
        // Invariant (2).
        assert!(now < ONE, "who is decided has nobody to wait for");
        match fate.word.compare_exchange(now, DECIDED, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                self.ends(slot);
                Ok(())
            }
            Err(now) => Err(wound_in(now).expect_err("but for being wounded, one decides alone")),
        }
    }

    /// Shows that the slot's transaction ends with this attempt: a hint to transactions that wait to begin again.
    #[inline]
    pub fn ends(&self, slot: u32) {
        self.of(slot).birth.store(0, Ordering::Relaxed); // Relaxed: as it says.
    }
}

#[inline]
fn wound_in(word: u64) -> Result<(), Abort> {
    match word & (STATE | CASCADES) {
        WOUNDED => Err(Abort::Wounded),
        state if state & STATE == WOUNDED => Err(Abort::Cascade),
        _ => Ok(()),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_has_somebody_to_wait_for_is_not_decided_and_who_is_decided_is_not_wounded() {
        let fates = Fates::new(2);
        fates.count(0);
        assert!(fates.count_if_running(0));
        assert_eq!(fates.close(0), Ok(false));
        fates.uncount(0);
        assert!(!fates.has_semaphore_at_zero(0));
        fates.uncount(0);
        assert!(fates.has_semaphore_at_zero(0));
        assert_eq!(fates.close(0), Ok(true));
        assert!(!fates.count_if_running(0), "it is too late");
        assert_eq!(fates.decide(0), Ok(()));
        assert!(!fates.wound(0, 1, false));
    }

    #[test]
    fn a_wound_stays_the_first_and_does_not_touch_the_semaphore() {
        let fates = Fates::new(2);
        fates.count(0);
        assert!(fates.wound(0, 1, true) && fates.wound(0, 1, false));
        assert_eq!(fates.look(0), Err(Abort::Cascade));
        fates.uncount(0);
        assert_eq!(fates.close(0), Err(Abort::Cascade));
        assert_eq!(fates.decide(0), Err(Abort::Cascade));
        fates.begin(Party { rank: 1, slot: 0 }, 1);
        assert_eq!(fates.look(0), Ok(()));
    }
}
