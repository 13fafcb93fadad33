//! A timer wheel: timers for many moments, at a constant cost each.
//!
//! Hierarchical, as Varghese and Lauck have it (SOSP 1987, scheme 7): level 0 has a slot for each of the next 64
//! ticks, level 1 a slot for each of the 64 rounds of level 0, and so on up to all of time. A timer goes into the
//! level at which its tick first differs from the present one, and comes down a level each time its slot is reached:
//! ten times at most, and usually once or twice. A heap would compare it with others fourteen times among 20,000, each
//! time in another cache line.
//!
//! A tick is longer than most transactions, so the timers that are due within the present tick stand in a small heap,
//! in exact order: a timer is never early, nor late by a tick.

use core::cmp::Reverse;
use core::mem;
use std::collections::BinaryHeap;

/// Nanoseconds of a tick, as a power of two: about a microsecond.
const TICK_BITS: u32 = 10;
/// Slots of a level, as a power of two: as many as a word has bits.
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// Levels that together reach to the end of time.
const LEVELS: usize = (u64::BITS - TICK_BITS).div_ceil(SLOT_BITS) as usize;

/// Timers, each with a moment in nanoseconds and a subject. Timers of one moment are ordered by their subjects.
#[derive(Debug)]
pub(crate) struct Wheel<T> {
    /// The tick up to which slots were emptied.
    now_tick: u64,
    /// Timers that are due within that tick, or were due before it.
    due: BinaryHeap<Reverse<(u64, T)>>,
    slots: Box<[Slot<T>]>,
    /// A bit for each slot of a level that is not empty.
    occupied: [u64; LEVELS],
    len: usize,
    /// Memory lent to the slot that is being emptied, so that no slot gives its memory back.
    spare: Vec<(u64, T)>,
}

/// The timers of some ticks.
#[derive(Debug)]
struct Slot<T> {
    timers: Vec<(u64, T)>,
    /// The earliest of their moments; the end of time if there is none.
    earliest_ns: u64,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { timers: Vec::new(), earliest_ns: u64::MAX }
    }
}

impl<T: Ord> Default for Wheel<T> {
    fn default() -> Self {
        Self {
            now_tick: 0,
            due: BinaryHeap::new(),
            slots: (0..LEVELS * SLOTS).map(|_| Slot::default()).collect(),
            occupied: [0; LEVELS],
            len: 0,
            spare: Vec::new(),
        }
    }
}

impl<T: Ord> Wheel<T> {
    /// How many timers there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no timers.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a timer. A moment that has passed is due at once.
    pub(crate) fn insert(&mut self, at_ns: u64, of: T) {
        self.len += 1;
        self.place(at_ns, of);
    }

    /// Puts a timer into its place as seen from the present tick.
    fn place(&mut self, at_ns: u64, of: T) {
        let tick = at_ns >> TICK_BITS;
        if tick <= self.now_tick {
            self.due.push(Reverse((at_ns, of)));
            return;
        }
        let level = (tick ^ self.now_tick).ilog2() / SLOT_BITS;
        let position = slot_of(tick, level);
        self.occupied[level as usize] |= 1 << position;
        let slot = &mut self.slots[level as usize * SLOTS + position];
        slot.earliest_ns = slot.earliest_ns.min(at_ns);
        slot.timers.push((at_ns, of));
    }

    /// The earliest moment of all timers. A timer that [`retain`](Self::retain) has removed may still count.
    pub(crate) fn earliest_ns(&self) -> Option<u64> {
        let due = self.due.peek().map(|timer| timer.0.0);
        due.or_else(|| self.first_slot().map(|(level, position)| self.slot(level, position).earliest_ns))
    }

    /// Removes and returns the earliest timer that is due by `now_ns`.
    pub(crate) fn pop(&mut self, now_ns: u64) -> Option<T> {
        while self.due.is_empty() && self.turn(now_ns >> TICK_BITS) {}
        if self.due.peek()?.0.0 > now_ns {
            return None;
        }
        self.len -= 1;
        self.due.pop().map(|timer| timer.0.1)
    }

    /// Advances to the first slot that begins by `tick`, and moves its timers to their places as seen from there. If
    /// there is no such slot, advances to `tick` itself and returns false.
    fn turn(&mut self, tick: u64) -> bool {
        let first =
            self.first_slot().map(|(level, position)| (level, position, self.begins(level, position)));
        let Some((level, position, begins)) = first.filter(|&(_, _, begins)| begins <= tick) else {
            self.now_tick = self.now_tick.max(tick);
            return false;
        };
        self.now_tick = begins;
        self.occupied[level as usize] &= !(1 << position);
        let mut timers = mem::take(&mut self.spare);
        let slot = &mut self.slots[level as usize * SLOTS + position];
        slot.earliest_ns = u64::MAX;
        mem::swap(&mut slot.timers, &mut timers);
        timers.drain(..).for_each(|(at_ns, of)| self.place(at_ns, of));
        self.spare = timers;
        true
    }

    /// The slot with the earliest timers: all timers of a level come before those of the next level.
    fn first_slot(&self) -> Option<(u32, usize)> {
        let level = self.occupied.iter().position(|slots| *slots != 0)?;
        Some((level as u32, self.occupied[level].trailing_zeros() as usize))
    }

    fn slot(&self, level: u32, position: usize) -> &Slot<T> {
        &self.slots[level as usize * SLOTS + position]
    }

    /// The tick at which a slot ahead of the present tick begins.
    fn begins(&self, level: u32, position: usize) -> u64 {
        let low = level * SLOT_BITS;
        let round = self.now_tick >> (low + SLOT_BITS);
        ((round << SLOT_BITS) | position as u64) << low
    }

    /// Removes the timers for which `is_wanted` returns false.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(&T) -> bool) {
        self.due.retain(|timer| is_wanted(&timer.0.1));
        self.len = self.due.len();
        for (number, slot) in self.slots.iter_mut().enumerate() {
            slot.timers.retain(|(_, of)| is_wanted(of));
            self.len += slot.timers.len();
            if slot.timers.is_empty() {
                slot.earliest_ns = u64::MAX;
                self.occupied[number / SLOTS] &= !(1 << (number % SLOTS));
            }
        }
    }
}

/// The slot of a tick at a level.
fn slot_of(tick: u64, level: u32) -> usize {
    (tick >> (level * SLOT_BITS)) as usize % SLOTS
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Random numbers, the same in each run.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, bound: u64) -> u64 {
            // Knuth's multiplier; the high bits are the good ones.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }

        /// A duration of any magnitude.
        fn duration(&mut self) -> u64 {
            let bits = self.below(50);
            self.below(1 << 30).wrapping_mul(self.below(1 << 30)) & ((1 << bits) - 1)
        }
    }

    /// All timers that are due by a moment, in the order in which they come.
    fn all(wheel: &mut Wheel<u64>, now_ns: u64) -> Vec<u64> {
        core::iter::from_fn(|| wheel.pop(now_ns)).collect()
    }

    #[test]
    fn timers_come_as_from_a_sorted_list() {
        for seed in 0..50 {
            let (mut chance, mut now_ns) = (Chance(seed), 0);
            let (mut wheel, mut list) = (Wheel::default(), Vec::new());
            for step in 0..2_000_u64 {
                if chance.below(3) == 0 {
                    now_ns += chance.duration();
                } else {
                    let at_ns = now_ns + chance.duration();
                    wheel.insert(at_ns, step);
                    list.push((at_ns, step));
                }
                if step % 500 == 499 {
                    wheel.retain(|number| number % 3 != 0);
                    list.retain(|(_, number)| number % 3 != 0);
                }
                list.sort_unstable();
                let count = list.iter().take_while(|(at_ns, _)| *at_ns <= now_ns).count();
                let due: Vec<u64> = list.drain(..count).map(|(_, number)| number).collect();
                assert_eq!(all(&mut wheel, now_ns), due, "seed {seed}, step {step}");
                assert_eq!(wheel.len(), list.len());
                let earliest_ns = list.first().map(|(at_ns, _)| *at_ns);
                let found_ns = wheel.earliest_ns();
                assert_eq!(found_ns.is_some(), earliest_ns.is_some());
                assert!(found_ns <= earliest_ns, "seed {seed}, step {step}: none may be slept over");
            }
        }
    }

    #[test]
    fn the_earliest_moment_is_exact_where_nothing_was_taken_out() {
        let (mut chance, mut wheel) = (Chance(7), Wheel::default());
        let mut earliest_ns = u64::MAX;
        for number in 0..1_000 {
            let at_ns = chance.duration();
            earliest_ns = earliest_ns.min(at_ns);
            wheel.insert(at_ns, number);
            assert_eq!(wheel.earliest_ns(), Some(earliest_ns));
        }
    }

    #[test]
    fn a_timer_comes_neither_early_nor_a_tick_late() {
        for at_ns in [0, 1, 1_023, 1_024, 65_535, 65_536, 1 << 40, u64::MAX - 1, u64::MAX] {
            let mut wheel = Wheel::default();
            wheel.insert(at_ns, 1);
            if at_ns > 0 {
                assert_eq!(wheel.pop(at_ns - 1), None, "{at_ns}");
            }
            assert_eq!((wheel.pop(at_ns), wheel.pop(at_ns)), (Some(1), None), "{at_ns}");
            assert!(wheel.is_empty());
        }
    }

    #[test]
    fn what_is_already_past_is_due_at_once() {
        let mut wheel = Wheel::default();
        wheel.insert(1 << 30, 1);
        assert_eq!(wheel.pop(1 << 30), Some(1));
        wheel.insert(5, 3);
        wheel.insert(4, 2);
        assert_eq!(all(&mut wheel, 1 << 30), [2, 3]);
    }
}
