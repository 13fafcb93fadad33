//! Timestamps: numbers in an order that agrees with real time, and the watermark below which no attempt looks. They
//! come from one counter. A scheme that wants another source only needs another implementation of this type.
//!
//! INVARIANTS
//! (1) A number drawn is greater than every number drawn before, and than every snapshot taken before.
//! (2) From before it chooses its number until it leaves, a slot shows a bound that is not above it.
//! (3) The watermark is at most the number of every attempt that runs or will run: the slot that computes it first
//!     reads the counter and then the bounds, so a slot whose bound it misses chooses its number later.
//! (4) Where slots may choose a number of the past, there is one such number at a time, which only grows: the watermark
//!     is at most that number, read before the bounds, so a slot whose bound is missed chooses it or a later one.
//!
//! Every `SeqCst` below serves (3): a slot that shows its bound and then goes to the counter, and a slot that goes to
//! the counter and then looks at the bounds, cannot both miss the other.

use sync::atomic::{AtomicU64, Ordering};
use sync::{Padded, clock};

/// The bound of a slot that runs no attempt.
const OUTSIDE: u64 = u64::MAX;
/// Returns the number of attempts after each of which a slot brings a watermark up to date, for which it looks at so
/// many slots.
///
/// Up to 362 slots, all of them together bring it up to date again when each has made `slots / 128` attempts, on
/// average: with 16 slots an attempt looks at 8 of them, with 256 at one half. With more slots it is after 1,024
/// attempts of each, so that a slot that is active alone does not keep too much; with 1,568 an attempt looks at one or
/// two. Each look takes the line of another slot away from it, and each new watermark one that all slots read.
pub const fn refresh_every(slots: usize) -> usize {
    const MAX: usize = 1 << 10;
    let every = slots.saturating_mul(slots) / 128;
    if every > MAX { MAX } else { every }
}

/// Limits how often slots look at all others to maintain a scheme, which each worker asks for every few attempts: all
/// of them together do so once in a time that grows with the number of slots.
#[derive(Debug)]
pub struct Cadence {
    /// 0 if there is no limit.
    every_ns: u64,
    /// The time of the last look.
    looked_at_ns: Padded<AtomicU64>,
}

impl Cadence {
    /// The number of slots up to which there is no limit.
    const FEW: usize = 64;
    /// The time for each slot that is looked at: about that of a look.
    const LOOK_NS: u64 = 50;

    /// Makes the cadence for this many slots.
    pub fn new(slots: usize) -> Self {
        let every_ns = if slots > Self::FEW { slots as u64 * Self::LOOK_NS } else { 0 };
        Self { every_ns, looked_at_ns: Padded::default() }
    }

    /// Whether it is time to look at all slots again, and the caller is to do it.
    pub fn is_due(&self) -> bool {
        if self.every_ns == 0 {
            return true;
        }
        // Relaxed, here and below: it shares the work out and orders nothing.
        let (now_ns, last_ns) = (clock::now_ns(), self.looked_at_ns.load(Ordering::Relaxed));
        let order = Ordering::Relaxed;
        now_ns.saturating_sub(last_ns) >= self.every_ns
            && self.looked_at_ns.compare_exchange(last_ns, now_ns, order, order).is_ok()
    }
}

/// The counter, the slots that run attempts, and the watermark.
#[derive(Debug)]
pub struct Timestamps {
    /// The last number drawn. Numbers begin at 1: 0 is for rows that were there before.
    last: Padded<AtomicU64>,
    watermark: Padded<AtomicU64>,
    bounds: Box<[Padded<AtomicU64>]>,
    /// See [`refresh_every`].
    refresh_every: usize,
    maintenance: Cadence,
    /// The number of the past that slots may choose.
    past: Option<Padded<AtomicU64>>,
}

impl Timestamps {
    /// Makes timestamps for this many slots.
    pub fn new(slots: usize) -> Self {
        let bounds = (0..slots).map(|_| Padded(AtomicU64::new(OUTSIDE))).collect();
        Self {
            last: Padded::default(),
            watermark: Padded::default(),
            bounds,
            refresh_every: refresh_every(slots),
            maintenance: Cadence::new(slots),
            past: None,
        }
    }

    /// Makes timestamps for this many slots, which may choose a number of the past: 0 until
    /// [`keep_past`](Self::keep_past).
    pub fn with_past(slots: usize) -> Self {
        Self { past: Some(Padded::default()), ..Self::new(slots) }
    }

    /// Begins an attempt of a slot with a number of its own.
    #[inline]
    pub fn enter(&self, slot: usize) -> u64 {
        self.bounds[slot].store(0, Ordering::SeqCst); // See the header.
        let number = self.draw();
        // Relaxed: read in place of 0, it is still a bound.
        self.bounds[slot].store(number, Ordering::Relaxed);
        number
    }

    /// Begins an attempt of a slot that sees everything that has happened until now. Returns the last number drawn. The
    /// slots that drew it or a smaller number did so after everything that they did before.
    #[inline]
    pub fn snapshot(&self, slot: usize) -> u64 {
        self.bounds[slot].store(0, Ordering::SeqCst); // See the header.
        // SeqCst: see the header; its Acquire pairs with the Release in `draw`.
        let number = self.last.load(Ordering::SeqCst);
        // Relaxed: as in `enter`.
        self.bounds[slot].store(number, Ordering::Relaxed);
        number
    }

    /// Begins an attempt of a slot that sees everything that had happened when the past was last
    /// [kept](Self::keep_past).
    ///
    /// # Panics
    /// When there is no past.
    #[inline]
    pub fn past(&self, slot: usize) -> u64 {
        let past = self.past.as_ref().expect("who looks at the past has said so");
        self.bounds[slot].store(0, Ordering::SeqCst); // See the header.
        // SeqCst: see the header; its Acquire pairs with the Release in `keep_past`.
        let number = past.load(Ordering::SeqCst);
        // Relaxed: as in `enter`.
        self.bounds[slot].store(number, Ordering::Relaxed);
        number
    }

    /// Lets slots choose this number from now on, which was drawn after the one before.
    pub fn keep_past(&self, number: u64) {
        let past = self.past.as_ref().expect("who keeps the past has said so");
        past.store(number, Ordering::SeqCst); // See the header; its Release pairs with the Acquire in `past`.
    }

    /// Draws a number.
    #[inline]
    pub fn draw(&self) -> u64 {
        self.draw_space(1)
    }

    /// Draws `space` numbers in a row, all of which are the caller's. Returns the last of them.
    #[inline]
    pub fn draw_space(&self, space: u64) -> u64 {
        // SeqCst: see the header; its Release pairs with the Acquire in `snapshot`.
        self.last.fetch_add(space, Ordering::SeqCst) + space
    }

    /// Begins work of a slot under a number that it draws next: until it leaves, the watermark is below that number.
    #[inline]
    pub fn hold(&self, slot: usize) {
        let last = self.last.load(Ordering::Relaxed); // Relaxed: the number comes after this, and is drawn.
        // SeqCst: see the header; a slot that misses this store reads the counter before the number is drawn. Its
        // Release pairs with the Acquire in `refresh`: it may hide the store in `leave` before it.
        self.bounds[slot].store(last, Ordering::SeqCst);
    }

    /// Raises the last number drawn to at least this number: for numbers that are drawn elsewhere.
    #[inline]
    pub fn raise(&self, number: u64) {
        // Relaxed first look: spares the exchange.
        if self.last.load(Ordering::Relaxed) < number {
            self.last.fetch_max(number, Ordering::SeqCst); // SeqCst: as in `draw`.
        }
    }

    /// The last number drawn, for a slot that holds up no other: like [`snapshot`](Self::snapshot), without a bound.
    #[inline]
    pub fn last(&self) -> u64 {
        // Acquire: pairs with the Release in `draw`.
        self.last.load(Ordering::Acquire)
    }

    /// Ends the attempt of a slot.
    #[inline]
    pub fn leave(&self, slot: usize) {
        // Release: pairs with the Acquire in `refresh`, so that the slot's reads were made before the versions that it
        // read are given up.
        self.bounds[slot].store(OUTSIDE, Ordering::Release);
    }

    /// The age with which a slot begins, for [`watermark`](Self::watermark): that of each slot is another, so that they
    /// do not all bring the watermark up to date at the same time.
    pub fn first_age(&self, slot: usize) -> usize {
        slot * self.refresh_every / self.bounds.len()
    }

    /// The watermark, brought up to date now and then: `age` counts the calls of one slot since the last time.
    #[inline]
    pub fn watermark(&self, age: &mut usize) -> u64 {
        *age += 1;
        if *age >= self.refresh_every {
            *age = 0;
            return self.refresh();
        }
        self.known_watermark()
    }

    /// Whether the watermark has reached a number.
    #[inline]
    pub fn is_past(&self, number: u64) -> bool {
        number <= self.known_watermark() || number <= self.refresh()
    }

    /// The watermark as it was last computed.
    #[inline]
    pub fn known_watermark(&self) -> u64 {
        self.watermark.load(Ordering::Acquire) // Acquire: pairs with the Release in `refresh`.
    }

    /// Brings the watermark up to date, unless another slot has just done so: see [`Cadence`].
    pub fn maintain(&self) {
        if self.maintenance.is_due() {
            self.refresh();
        }
    }

    /// The watermark, brought up to date.
    pub fn refresh(&self) -> u64 {
        let last = self.last.load(Ordering::SeqCst); // See the header.
        let past = self.past.as_ref().map_or(last, |past| past.load(Ordering::SeqCst)); // See the header.
        // SeqCst: see the header; its Acquire pairs with the Release in `leave`.
        let bounds = self.bounds.iter().map(|bound| bound.load(Ordering::SeqCst));
        let lowest = bounds.fold(last.min(past), u64::min);
        let known = self.known_watermark();
        if lowest <= known {
            return known;
        }
        // AcqRel: passes on what was acquired from slots that left.
        self.watermark.fetch_max(lowest, Ordering::AcqRel).max(lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sync::workers;

    #[test]
    fn an_attempt_holds_the_watermark_and_an_idle_slot_does_not() {
        let timestamps = Timestamps::new(3);
        assert_eq!(timestamps.refresh(), 0);
        let (first, second) = (timestamps.enter(0), timestamps.enter(1));
        assert_eq!((first, second), (1, 2));
        assert_eq!(timestamps.snapshot(2), 2);
        assert_eq!(timestamps.refresh(), first);
        timestamps.leave(0);
        assert_eq!(timestamps.refresh(), second);
        timestamps.leave(1);
        timestamps.draw();
        assert_eq!(timestamps.refresh(), 2, "the snapshot");
        timestamps.leave(2);
        assert_eq!(timestamps.refresh(), 3);
    }

    #[test]
    fn a_slot_brings_the_watermark_up_to_date_more_rarely_the_more_slots_there_are() {
        for (slots, every) in [(2, 1), (16, 2), (64, 32), (1_568, 1 << 10)] {
            let timestamps = Timestamps::new(slots);
            let mut age = 0;
            let mut moves = || {
                let before = timestamps.known_watermark();
                timestamps.draw();
                timestamps.watermark(&mut age) > before
            };
            let moved: Vec<usize> = (1..=3 * every).filter(|_| moves()).collect();
            assert_eq!(moved, [every, 2 * every, 3 * every], "{slots} slots");
        }
    }

    #[test]
    fn maintenance_looks_at_all_slots_once_in_a_while() {
        let looks = |slots| {
            let cadence = Cadence::new(slots);
            cadence.is_due();
            (0..1_000).filter(|_| cadence.is_due()).count()
        };
        assert_eq!(looks(Cadence::FEW), 1_000);
        let long = 1_usize << 40;
        assert_eq!(looks(long), 0, "that is fifteen hours");
    }

    #[test]
    fn slots_bring_the_watermark_up_to_date_at_different_times() {
        let timestamps = Timestamps::new(64);
        let mut ages: Vec<usize> = (0..64).map(|slot| timestamps.first_age(slot)).collect();
        let moves = |age: &mut usize| {
            let number = timestamps.draw();
            timestamps.watermark(age) == number
        };
        for _ in 0..timestamps.refresh_every {
            assert_eq!(
                ages.iter_mut().map(moves).filter(|has_moved| *has_moved).count(),
                2,
                "of 64, in 32 rounds"
            );
        }
    }

    #[test]
    fn the_past_holds_the_watermark_and_those_who_have_chosen_it_do_when_it_has_moved_on() {
        let timestamps = Timestamps::with_past(2);
        timestamps.draw_space(10);
        assert_eq!((timestamps.refresh(), timestamps.past(0)), (0, 0));
        timestamps.keep_past(timestamps.draw());
        assert_eq!((timestamps.refresh(), timestamps.past(1)), (0, 11));
        timestamps.leave(0);
        timestamps.keep_past(timestamps.draw_space(4));
        assert_eq!(timestamps.refresh(), 11, "the other's");
        timestamps.leave(1);
        timestamps.draw();
        assert_eq!(timestamps.refresh(), 15);
    }

    #[test]
    fn the_watermark_stays_below_a_number_that_is_yet_to_be_drawn() {
        let timestamps = Timestamps::new(2);
        timestamps.raise(7);
        timestamps.raise(3);
        timestamps.hold(0);
        assert_eq!((timestamps.draw(), timestamps.draw(), timestamps.refresh()), (8, 9, 7));
        timestamps.leave(0);
        assert_eq!(timestamps.refresh(), 9);
    }

    #[test]
    fn the_watermark_never_passes_an_attempt() {
        const ROUNDS: usize = 20_000;
        let timestamps = Timestamps::new(4);
        workers::run(4, false, |slot| {
            let mut age = 0;
            for round in 0..ROUNDS {
                let number = if slot % 2 == 0 { timestamps.enter(slot) } else { timestamps.snapshot(slot) };
                assert!(timestamps.refresh() <= number);
                if round % 8 == 0 {
                    workers::yield_now();
                    assert!(timestamps.known_watermark() <= number);
                }
                timestamps.leave(slot);
                timestamps.watermark(&mut age);
            }
        });
        assert_eq!(timestamps.refresh(), 2 * ROUNDS as u64);
    }
}
