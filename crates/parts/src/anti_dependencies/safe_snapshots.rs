//! Safe snapshots: states of the past that may be read without a trace (Ports, Grittner, PVLDB 5(12), 2012; as ERMIA
//! has them). A safe snapshot is a commit that has read everything and written nothing. It shows that it decides,
//! draws its number and leaves its mark, one for all records and gaps, as other commits do with theirs: by invariant
//! (1) of [`anti_dependencies`](super) every commit with a greater number finds the mark, or waits for it, if its
//! rule sees any danger. So no circle closes through the snapshot, and whoever reads it later may stand for it: there
//! is nothing left to be certified.
//!
//! The past that `Timestamps` keeps is the last safe snapshot, so that what it shows stays.

use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::{Latch, Padded, clock};

use super::Deciding;
use crate::{Timestamps, plants};

/// The last safe snapshot.
#[derive(Debug)]
pub(super) struct SafeSnapshots {
    period_ns: u64,
    /// Where the commit that has read everything decides: no session's slot.
    slot: usize,
    /// Held by whoever takes one.
    latch: Latch,
    /// When it was taken.
    taken_ticks: Padded<AtomicU64>,
    /// Its number: everything before counts as read by it.
    number: Padded<AtomicU64>,
}

impl SafeSnapshots {
    /// None so far; then one in `period_ns` nanoseconds, or one for each who asks.
    pub(super) fn new(period_ns: u64, slot: usize) -> Self {
        let (latch, taken_ticks, number) = (Latch::new(), Padded::default(), Padded::default());
        Self { period_ns, slot, latch, taken_ticks, number }
    }

    /// Takes one if its time has come at `now`.
    #[inline]
    pub(super) fn take_if_due(&self, now_ticks: u64, deciding: &Deciding, commits: &Timestamps) {
        // Relaxed: a hint. Who finds an old time takes one more.
        let taken_ticks = self.taken_ticks.load(Ordering::Relaxed);
        if clock::ticks_to_ns(now_ticks.saturating_sub(taken_ticks)) >= self.period_ns {
            self.take(now_ticks, deciding, commits);
        }
    }

    #[cold]
    fn take(&self, now_ticks: u64, deciding: &Deciding, commits: &Timestamps) {
        // Whoever finds another taking one has the one before.
        let Some(_held) = self.latch.try_lock() else { return };
        let number = deciding.draw(self.slot, commits, 1);
        // Relaxed: `decided` publishes it.
        self.number.store(number, Ordering::Relaxed);
        deciding.decided(self.slot);
        commits.keep_past(number);
        self.taken_ticks.store(now_ticks, Ordering::Relaxed); // Relaxed: as above.
    }

    /// The number with which everything has been read; for whoever has seen that the slot decides no more.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        // Relaxed: ordered by the look at the slot.
        if is_planted(&plants::SNAPSHOTS_UNREAD) { 0 } else { self.number.load(Ordering::Relaxed) }
    }
}
