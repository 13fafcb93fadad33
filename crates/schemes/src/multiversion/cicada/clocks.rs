//! Loosely synchronised clocks: a source of timestamps for which no two slots contend, and the watermarks that go with
//! it (Lim, Kaminsky, Andersen, SIGMOD 2017, 3.1 and 3.8). It has the place of `Timestamps` in schemes that promise no
//! order of real time.
//!
//! A slot reads a clock of its own, which goes on with the time that passes; a timestamp is such a reading and, in its
//! low bits, the number of the slot. Now and then a slot looks at the clock of another slot, and adopts it if it is
//! ahead: no slot ever waits, and no clock goes back. Two watermarks follow the slots. Up to `min_wts`, all writes
//! there will ever be are decided, so it is a snapshot to read. No attempt reads versions older than the newest one up
//! to `min_rts`. A slot between two attempts, however long it idles, holds up neither.
//!
//! INVARIANTS
//! (1) The timestamps of a slot grow, through all its sessions, and no other slot has the same.
//! (2) From before it chooses a timestamp until it leaves, a slot shows a bound below it; and from before it chooses a
//!     snapshot, a bound that is not above it.
//! (3) No attempt that may write runs, or will run, with a timestamp up to `min_wts`: the slot that computes it first
//!     announces a floor and then looks at the bounds, and every slot chooses above the floor that it finds after it
//!     has shown its bound. So a slot whose bound was missed is above the floor.
//! (4) `min_rts` is at most the snapshot of every attempt that runs or will run, and below the timestamp: the slot that
//!     computes it first knows `min_wts` and then looks at the bounds, and snapshots are the `min_wts` that is found
//!     after the bound is shown.
//!
//! Every `SeqCst` below serves (3) and (4): of a slot that shows its bound and then looks, and a slot that announces
//! and then looks at the bounds, at least one sees the other.

use parts::version_chain::VersionStamp;
use parts::{Cadence, refresh_every};
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::plant::is_planted;
use sync::{Padded, clock};

use super::plants;

/// Added to the last timestamp of a slot that runs no attempt; alone, the bound of a slot that reads no snapshot.
const OUTSIDE: u64 = 1 << 63;
/// The time between two looks of a slot at the clocks of others, as in the paper.
const SYNC_NS: u64 = 100_000;
/// Attempts of a slot at whose ends the watermarks are brought up to date: the first ones, so that young databases have
/// snapshots, and later one in this many, or in more if there are many slots.
const QUIESCE_EVERY: u64 = 8;
/// The number of slots from which on the first attempts of each are fewer.
const FEW_SLOTS: u64 = 64;

/// The clocks, the slots that run attempts, and the watermarks.
#[derive(Debug)]
pub struct Clocks {
    /// The moment at which all clocks stood at zero, in ticks.
    origin: u64,
    /// The number of bits of a timestamp that identify its slot.
    slot_bits: u32,
    floor: Padded<AtomicU64>,
    min_wts: Padded<AtomicU64>,
    min_rts: Padded<AtomicU64>,
    /// The number of first attempts of a session that bring the watermarks up to date, and the number of attempts of a
    /// slot after which it does so later.
    refreshes: [u64; 2],
    maintenance: Cadence,
    /// Slots from this number on were never taken.
    used: Padded<AtomicUsize>,
    slots: Box<[Padded<Shown>]>,
}

/// The state that a slot shows to the others.
#[derive(Debug)]
struct Shown {
    /// The slot's clock at its last reading, in nanoseconds.
    clock: AtomicU64,
    /// A bound below the timestamp of the attempt that the slot runs, or the last timestamp and `OUTSIDE`.
    wts: AtomicU64,
    /// A bound not above the snapshot that the slot reads, or `OUTSIDE`.
    rts: AtomicU64,
}

/// The clock of a slot.
#[derive(Debug)]
pub struct Clock {
    slot: usize,
    /// The time by which the clock is ahead of the time that has passed, because it has adopted the clocks of others.
    ahead_ns: u64,
    synced_ns: u64,
    /// The slot at whose clock this slot looked last.
    partner: usize,
    /// The last timestamp.
    last: u64,
    /// Whether the slot has read a snapshot since it left.
    is_snapshot: bool,
    /// The number of attempts of the session.
    attempts: u64,
}

impl Clocks {
    /// Makes clocks for this many slots.
    pub fn new(slots: usize) -> Self {
        clock::ticks_to_ns(0); // The first call takes its time.
        let shown =
            || Shown { clock: AtomicU64::new(0), wts: AtomicU64::new(OUTSIDE), rts: AtomicU64::new(OUTSIDE) };
        Self {
            origin: clock::ticks(),
            slot_bits: slots.next_power_of_two().trailing_zeros(),
            floor: Padded::default(),
            min_wts: Padded::default(),
            min_rts: Padded::default(),
            refreshes: [
                (QUIESCE_EVERY * FEW_SLOTS / slots.max(1) as u64).clamp(1, QUIESCE_EVERY),
                QUIESCE_EVERY.max(refresh_every(slots) as u64),
            ],
            maintenance: Cadence::new(slots),
            used: Padded::default(),
            slots: (0..slots).map(|_| Padded(shown())).collect(),
        }
    }

    /// Makes the clock of a slot whose session begins.
    pub fn clock(&self, slot: usize) -> Clock {
        self.used.fetch_max(slot + 1, Ordering::SeqCst); // See the header: it comes before the first bound.
        // Relaxed: whoever had the slot before has handed it on.
        let last = self.slots[slot].wts.load(Ordering::Relaxed) & !OUTSIDE;
        Clock { slot, ahead_ns: 0, synced_ns: 0, partner: slot, last, is_snapshot: false, attempts: 0 }
    }

    /// Begins an attempt of a slot that may write. Returns its timestamp, from a clock that is ahead by `boost_ns`.
    ///
    /// # Panics
    /// When time has outrun the bits of a timestamp, after weeks.
    #[inline]
    pub fn enter(&self, clock: &mut Clock, boost_ns: u64) -> u64 {
        let bound = &self.slots[clock.slot].wts;
        bound.store(0, Ordering::SeqCst); // See the header.
        let floor = self.floor.load(Ordering::SeqCst).max(clock.last); // See the header.
        let reading = self.read(clock) + boost_ns;
        let reading = reading.max((floor >> self.slot_bits) + 1);
        clock.last = reading << self.slot_bits | clock.slot as u64;
        assert!(clock.last < VersionStamp::UNDECIDED, "a timestamp has room for the time of a run");
        // Release: pairs with the Acquire in `refresh`, like that in `leave`, whose store it may hide.
        bound.store(clock.last - 1, Ordering::Release);
        clock.last
    }

    /// Begins an attempt of a slot that only reads. Returns its snapshot: it sees all writes up to this number, all
    /// decided.
    #[inline]
    pub fn enter_snapshot(&self, clock: &mut Clock) -> u64 {
        clock.is_snapshot = true;
        let bound = &self.slots[clock.slot].rts;
        bound.store(0, Ordering::SeqCst); // See the header.
        let snapshot = self.known_snapshot();
        bound.store(snapshot, Ordering::Relaxed); // Relaxed: read in place of 0, it is still a bound.
        snapshot
    }

    /// Ends the attempt of a slot, whose writes are all decided. Returns the watermark, which is brought up to date now
    /// and then.
    #[inline]
    pub fn leave(&self, clock: &mut Clock) -> u64 {
        let shown = &self.slots[clock.slot];
        // Release twice: pairs with the Acquire in `refresh`, so that a reader of a snapshot finds all of it decided,
        // and so that reads are over before their versions are given up.
        if core::mem::take(&mut clock.is_snapshot) {
            shown.rts.store(OUTSIDE, Ordering::Release);
        } else {
            shown.wts.store(clock.last | OUTSIDE, Ordering::Release);
        }
        clock.attempts += 1;
        let [first, every] = self.refreshes;
        // The slots take turns.
        let turn = clock.attempts + clock.slot as u64 * every / self.slots.len() as u64;
        if clock.attempts <= first || turn.is_multiple_of(every) {
            return self.refresh();
        }
        self.known_watermark()
    }

    /// `min_wts` as it was last computed.
    #[inline]
    fn known_snapshot(&self) -> u64 {
        self.min_wts.load(Ordering::SeqCst) // See the header; its Acquire pairs with the Release in `refresh`.
    }

    /// `min_rts` as it was last computed: all attempts see the writes up to it.
    #[inline]
    pub fn known_watermark(&self) -> u64 {
        self.min_rts.load(Ordering::Acquire) // Acquire: pairs with the Release in `refresh`.
    }

    /// Whether `min_rts` has reached a number.
    #[inline]
    pub fn is_past(&self, number: u64) -> bool {
        number <= self.known_watermark() || number <= self.refresh()
    }

    /// Brings the watermarks up to date, unless another slot has just done so.
    pub fn maintain(&self) {
        if self.maintenance.is_due() {
            self.refresh();
        }
    }

    /// `min_rts`, brought up to date together with `min_wts`.
    pub fn refresh(&self) -> u64 {
        let floor = raise(&self.floor, self.slowest());
        // SeqCst, here and below: see the header. A slot that is not counted yet chooses after that look, so the slots
        // are to be counted anew for the next. The Acquire pairs with the Release in `leave` and `enter`.
        let slots = &self.slots[..self.used.load(Ordering::SeqCst)];
        let mut lowest = slots.iter().map(|shown| shown.wts.load(Ordering::SeqCst)).fold(floor, u64::min);
        if is_planted(&plants::SNAPSHOTS_UNDECIDED) {
            lowest = floor;
        }
        let min_wts = raise(&self.min_wts, lowest);
        let are_known = is_planted(&plants::SLOTS_COUNTED_ONCE);
        let slots = if are_known { slots } else { &self.slots[..self.used.load(Ordering::SeqCst)] };
        let bounds = slots.iter().map(|shown| shown.rts.load(Ordering::SeqCst));
        raise(&self.min_rts, bounds.fold(min_wts, u64::min))
    }

    /// The bound of the slowest running attempt; when none runs, the last timestamp of all slots.
    fn slowest(&self) -> u64 {
        // Relaxed, here and below: any floor will do.
        let used = self.used.load(Ordering::Relaxed);
        let (mut slowest, mut last) = (OUTSIDE, 0);
        for shown in &self.slots[..used] {
            match shown.wts.load(Ordering::Relaxed) {
                outside if outside & OUTSIDE != 0 => last = last.max(outside & !OUTSIDE),
                bound => slowest = slowest.min(bound),
            }
        }
        if slowest == OUTSIDE || is_planted(&plants::SNAPSHOTS_UNDECIDED) { last } else { slowest }
    }

    /// Reads the clock of a slot, and first synchronises it if that is due.
    #[inline]
    fn read(&self, clock: &mut Clock) -> u64 {
        let elapsed = clock::ticks_to_ns(clock::ticks().saturating_sub(self.origin));
        let mut now = elapsed + clock.ahead_ns;
        if now.saturating_sub(clock.synced_ns) >= SYNC_NS {
            clock.partner = (clock.partner + 1) % self.slots.len();
            let theirs = self.slots[clock.partner].clock.load(Ordering::Relaxed); // Relaxed: a number alone.
            now = now.max(theirs);
            clock.ahead_ns = now - elapsed;
            clock.synced_ns = now;
        }
        self.slots[clock.slot].clock.store(now, Ordering::Relaxed); // Relaxed: as above.
        now
    }
}

/// Raises a word to at least a number, and returns its value.
#[inline]
fn raise(word: &AtomicU64, to: u64) -> u64 {
    let known = word.load(Ordering::SeqCst); // See the header.
    if to <= known {
        return known;
    }
    // SeqCst: see the header; passes on what was acquired from slots that left.
    word.fetch_max(to, Ordering::SeqCst).max(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sync::workers;

    #[test]
    fn timestamps_of_a_slot_grow_through_all_its_sessions() {
        let clocks = Clocks::new(3);
        let mut last = 0;
        for boost_ns in [0, 1_000_000_000, 0] {
            let mut clock = clocks.clock(2);
            for _ in 0..100 {
                let ts = clocks.enter(&mut clock, boost_ns);
                assert!(ts > last && ts & 3 == 2, "{ts} after {last}");
                last = ts;
                clocks.leave(&mut clock);
            }
        }
    }

    #[test]
    fn an_attempt_holds_the_watermarks_and_an_idle_slot_does_not() {
        let clocks = Clocks::new(3);
        assert_eq!(clocks.refresh(), 0);
        let [mut first, mut second, _idle] = [0, 1, 2].map(|slot| clocks.clock(slot));
        let (one, two) = (clocks.enter(&mut first, 0), clocks.enter(&mut second, 0));
        assert_eq!(clocks.refresh(), one.min(two) - 1);
        assert_eq!(clocks.leave(&mut first), two - 1);
        assert_eq!(clocks.leave(&mut second), one.max(two), "all is decided");
        assert!(clocks.enter(&mut first, 0) > one.max(two));
    }

    #[test]
    fn a_snapshot_holds_what_it_reads_and_not_the_snapshots_of_others() {
        let clocks = Clocks::new(3);
        let [mut writer, mut reader, mut other] = [0, 1, 2].map(|slot| clocks.clock(slot));
        let mut write = || (clocks.enter(&mut writer, 0), clocks.leave(&mut writer));
        let (before, _) = write();
        assert_eq!(clocks.enter_snapshot(&mut reader), before);
        let (ts, watermark) = write();
        assert_eq!((clocks.enter_snapshot(&mut other), watermark), (ts, before));
        assert_eq!(clocks.leave(&mut other), before);
        assert_eq!(clocks.leave(&mut reader), ts);
    }

    #[test]
    fn the_first_attempts_of_a_session_move_the_watermarks_and_later_one_in_eight() {
        let clocks = Clocks::new(1);
        let mut clock = clocks.clock(0);
        let mut moves = |_| {
            let before = clocks.known_watermark();
            clocks.enter(&mut clock, 0);
            clocks.leave(&mut clock) > before
        };
        assert_eq!((0..40).filter(|&nth| moves(nth)).count(), 8 + 4);
    }

    #[test]
    fn a_clock_that_is_behind_adopts_one_that_is_ahead() {
        const AHEAD_NS: u64 = 1 << 40;
        let clocks = Clocks::new(2);
        let mut behind = clocks.clock(0);
        clocks.slots[1].clock.store(AHEAD_NS, Ordering::Relaxed);
        behind.ahead_ns = SYNC_NS; // So that it is time to look at another.
        assert!(clocks.enter(&mut behind, 0) >> clocks.slot_bits >= AHEAD_NS);
        clocks.leave(&mut behind);
        clocks.slots[1].clock.store(0, Ordering::Relaxed);
        assert!(clocks.read(&mut behind) >= AHEAD_NS, "it does not go back");
    }

    #[test]
    fn the_watermarks_never_pass_an_attempt() {
        const ROUNDS: usize = 20_000;
        let clocks = Clocks::new(4);
        workers::run(4, false, |slot| {
            let mut clock = clocks.clock(slot);
            for round in 0..ROUNDS {
                let is_snapshot = slot == 3;
                let sees = if is_snapshot {
                    clocks.enter_snapshot(&mut clock)
                } else {
                    clocks.enter(&mut clock, slot as u64) - 1
                };
                assert!(clocks.refresh() <= sees);
                if round % 8 == 0 {
                    workers::yield_now();
                    assert!(clocks.known_watermark() <= sees);
                    assert!(is_snapshot || clocks.known_snapshot() <= sees);
                }
                clocks.leave(&mut clock);
            }
        });
        let last = clocks.slowest();
        assert_eq!((clocks.refresh(), clocks.known_snapshot()), (last, last));
    }
}
