//! An attempt's private state, and the steps of its commit that need no other.

use engine::{Abort, AccessSet, End};
use parts::{BufferedWrites, CopyBuffer};
use storage::Slot;
use sync::atomic::Ordering;
use sync::plant::is_planted;
use sync::waiter;

use super::gap_stamps::Gap;
use super::request::{Request, presence_key, value_key};
use super::stages::StageClock;
use super::{CLAIM, NO_VALUE, NUMBER, RETIRED, Reorder, plants};

/// A record that an attempt has touched.
#[derive(Debug)]
pub(super) struct Touched {
    pub(super) id: usize,
    /// The number of the commit that wrote what was seen.
    pub(super) seen: u64,
    /// Whether the attempt read more than whether there is a value.
    pub(super) is_read: bool,
}

/// A note about a write.
#[derive(Debug)]
pub(super) struct Note {
    had_value: bool,
    /// Whether the record is claimed.
    pub(super) is_claimed: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    pub(super) slot: Slot<'db, Reorder>,
    pub(super) touched: AccessSet<Touched>,
    pub(super) writes: BufferedWrites<'db, Reorder, Note>,
    /// By place: the gaps that were read, with the earliest stamps that were seen.
    pub(super) gaps: AccessSet<Gap>,
    /// The gaps that own keys have entered.
    pub(super) entered: Vec<Gap>,
    pub(super) request: Request,
    /// The number of the commit.
    pub(super) number: u64,
    /// Whether the attempt counts among the open ones.
    pub(super) is_live: bool,
    /// Whether the attempt has waited in the storage.
    pub(super) has_waited: bool,
    /// Touched records that a planted bug keeps from the attempt before.
    pub(super) kept: usize,
    /// The copy that the last read lent.
    pub(super) copy: CopyBuffer,
    /// The time in each stage.
    pub(super) clock: StageClock,
}

impl Note {
    /// The note about a write of a record that was seen with this word.
    #[inline]
    pub(super) fn of(word: u64) -> Self {
        Self { had_value: word & NO_VALUE == 0, is_claimed: false }
    }
}

impl<'db> Txn<'db> {
    /// Makes the private state of a slot's attempts.
    pub(super) fn new(slot: Slot<'db, Reorder>) -> Self {
        Self {
            writes: BufferedWrites::new(&slot),
            slot,
            touched: AccessSet::default(),
            gaps: AccessSet::default(),
            entered: Vec::new(),
            request: Request::default(),
            number: 0,
            is_live: false,
            has_waited: false,
            kept: 0,
            copy: CopyBuffer::default(),
            clock: StageClock::default(),
        }
    }

    /// The attempt itself has changed the stamp of a gap, from the one given: returns whether it had read the gap, and
    /// nobody else has changed it since.
    #[inline]
    pub(super) fn changed_gap(&mut self, changed: Gap) -> bool {
        let Some(at) = self.gaps.find(changed.place) else { return false };
        let known = self.gaps.get_mut(at);
        let is_own = *known == changed;
        known.stamp += u64::from(is_own);
        is_own
    }

    /// Step 1 of COMMIT.
    #[inline]
    pub(super) fn claim(&mut self) -> Result<(), Abort> {
        for at in 0..self.writes.len() {
            if self.writes.note(at).had_value {
                continue;
            }
            let word = &self.writes.record(at).header().0;
            let claim = |now: u64| (now & RETIRED == 0).then_some(now + CLAIM);
            // Relaxed: the request orders it before the decision.
            if word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim).is_err() {
                return Err(Abort::WriteConflict);
            }
            self.writes.note_mut(at).is_claimed = true;
        }
        Ok(())
    }

    /// Takes back the claims of an attempt that does not commit.
    #[inline]
    pub(super) fn give_up_claims(&mut self) {
        for at in 0..self.writes.len() {
            if core::mem::take(&mut self.writes.note_mut(at).is_claimed) {
                self.writes.record(at).header().0.fetch_sub(CLAIM, Ordering::Relaxed); // Relaxed: as in `claim`.
            }
        }
    }

    /// Lists what the attempt has seen, and what it writes if it commits. An attempt that rolls back counts as having
    /// read what it was to write.
    #[inline]
    pub(super) fn make_request(&mut self, end: End) {
        let request = &mut self.request;
        request.clear();
        for touched in self.touched.iter().skip(self.kept) {
            if touched.is_read || end == End::Rollback {
                request.read(value_key(touched.id), touched.seen);
            } else if !is_planted(&plants::REORDER_WRITES_BLINDLY) {
                request.read(presence_key(touched.id), touched.seen);
            }
        }
        self.gaps.iter().for_each(|gap| request.read_gaps(*gap));
        if end == End::Commit {
            for at in 0..self.writes.len() {
                let has_value = self.writes.value(at).is_some();
                let changes_presence = has_value != self.writes.note(at).had_value;
                request.write(self.writes.record(at).id(), has_value, changes_presence);
            }
            self.entered.iter().for_each(|gap| request.enter_gaps(*gap));
        }
    }

    /// Step 3 of COMMIT.
    #[inline]
    pub(super) fn await_writes_before(&self) {
        for (at, write) in self.request.writes.iter().enumerate() {
            let word = &self.writes.record(at).header().0;
            // Acquire: pairs with the Release of the install.
            let is_in_place = || word.load(Ordering::Acquire) >> NUMBER >= write.after;
            waiter::wait_until(None, is_in_place);
        }
    }
}
