//! Locks that are released before their owners have committed, as in Bamboo (Guo, Wu, Yan, Yu, SIGMOD 2021).
//!
//! The ring of a record (see `lock_queue`) begins with those who have *retired*: readers, who retire when they are
//! granted, and writers who have shown what they wrote. One *owner* may follow, a writer who has not, and then those
//! who wait, the oldest first. Of two in conflict the second waits for the end of the first before it commits, and
//! ends with it if it aborts.
//!
//! STATE       of a request, beside the bits of `lock_queue`: done, once it has retired; counted, while it is one in
//!             its attempt's semaphore. 0 is out of the ring.
//! INVARIANTS  (1) A request is counted exactly while one in conflict is before it in the ring: it changes under the
//!                 latch, together with the semaphore (`enter`, `grant`, `is_passed`, `recount`, `cut_one`). So the
//!                 semaphore of an attempt is the number of its requests that are counted, and who ends leaves it 0.
//!             (2) Of two in conflict that have what they asked for, the first is older, or decided. Who asks is put
//!                 behind the older and the decided, and the younger are cut out of the ring, or passed by a reader.
//!             (3) Who is behind a writer has seen what that wrote, or writes over it. Whoever cuts a writer out cuts
//!                 all behind it, all of whom are wounded before: nobody is decided who is counted.
//!             (4) Nobody waits while there is no owner (`grant`), and one has to wait only for an owner that is older
//!                 or decided: waits go from young to old, but for those that end by themselves.
//!             (5) The newest versions of the record are those of the writers who have retired, in the order of the
//!                 ring; below them is what was committed last. Whoever cuts writers out takes as many versions off
//!                 before it lets go of the latch (asserted in `Held`'s drop).

use parts::lock_queue::{EXCLUSIVE, OWNS, Ring, WAITS};
use parts::{Fates, Left, LockMode, LockQueues, LockWord, Party, Refused, RequestId};
use sync::atomic::Ordering;
use sync::plant::is_planted;

use super::plants;

const DONE: u32 = 8;
const COUNTED: u32 = 16;
const RETIRED_WRITER: u32 = EXCLUSIVE | DONE;

/// The requests of all slots, and the fates of their attempts.
#[derive(Debug)]
pub struct EarlyLocks {
    queues: LockQueues,
    fates: Fates,
}

impl EarlyLocks {
    /// For this many slots, at most [`RequestId::SLOTS_MAX`].
    pub fn new(slots: usize) -> Self {
        Self { queues: LockQueues::new(slots), fates: Fates::new(slots) }
    }

    /// The fates of the attempts.
    #[inline]
    pub fn fates(&self) -> &Fates {
        &self.fates
    }

    /// Makes a request ready that is in no ring.
    #[inline]
    pub fn ready(&self, id: RequestId, rank: u64) {
        self.queues.ready(id, rank, 0);
    }

    /// Grants a record to a request that is in no ring; `false` if there are others, or the record has left the
    /// indexes. Whoever comes then may show what it writes, but commits after the request: what it is to see is the
    /// version that is committed.
    #[inline]
    pub fn is_taken(&self, word: &LockWord, id: RequestId, rank: u64, mode: LockMode) -> bool {
        self.queues.ready(id, rank, granted(mode));
        word.is_taken_by(id)
    }

    /// Takes a request out that is the only one, of an attempt that leaves the record as it was.
    #[inline]
    pub fn is_left(&self, word: &LockWord, id: RequestId) -> bool {
        let is_left = word.is_left_by(id, Left::AsItWas);
        if is_left {
            // Relaxed: the request is out of the ring, so that its slot alone knows it.
            self.queues.of(id).state.store(0, Ordering::Relaxed);
        }
        is_left
    }

    /// Whether a request of the caller's is waiting yet.
    #[inline]
    pub fn is_waiting(&self, id: RequestId) -> bool {
        // Acquire: pairs with the Release in `set_state`.
        self.queues.of(id).state.load(Ordering::Acquire) & WAITS != 0
    }

    /// Latches a record: for a few instructions.
    #[inline]
    pub fn hold<'q>(&'q self, word: &'q LockWord) -> Held<'q> {
        Held { ring: self.queues.latch(word), fates: &self.fates, cut: 0 }
    }
}

/// The state of a request that is granted.
#[inline]
const fn granted(mode: LockMode) -> u32 {
    match mode {
        LockMode::Shared => OWNS | DONE,
        LockMode::Exclusive => OWNS | EXCLUSIVE,
    }
}

/// A record that is latched until this is dropped.
#[derive(Debug)]
#[must_use = "a record is latched as long as this is there"]
pub struct Held<'q> {
    ring: Ring<'q>,
    fates: &'q Fates,
    /// Writers that had retired and were cut out, whose versions are to be taken off.
    cut: usize,
}

impl Held<'_> {
    /// Asks for the record with a request that is in no ring; whether it was granted, or else is to be waited for.
    /// A reader that `may_pass` is put before the first younger writer, of whom it sees nothing.
    ///
    /// # Errors
    /// [`Refused::Retired`].
    #[inline]
    pub fn ask(&mut self, id: RequestId, mode: LockMode, may_pass: bool) -> Result<bool, Refused> {
        if self.ring.is_retired() {
            return Err(Refused::Retired);
        }
        let granted = granted(mode);
        if self.ring.first == RequestId::NONE {
            self.enter_alone(id, granted);
            return Ok(true);
        }
        let passed = self.clear_way(id, mode, may_pass);
        if passed.is_some() {
            self.enter(id, passed, granted);
            return Ok(true);
        }
        if self.has_owner() {
            let asks = self.party(id);
            let waiters = self.ring.ids().filter(|other| self.state(*other) & WAITS != 0);
            let place = { waiters }.find(|other| asks < self.party(*other));
            self.set_state(id, WAITS | mode.bit());
            self.put(id, place);
            return Ok(false);
        }
        let waiter = self.first_waiter();
        self.enter(id, waiter, granted);
        self.grant();
        Ok(true)
    }

    /// Makes a reader's request that of a writer, behind all who stay.
    ///
    /// # Errors
    /// [`Refused::ByRule`] if it was cut out.
    pub fn upgrade(&mut self, id: RequestId) -> Result<(), Refused> {
        if self.ring.is_of_alone(id) {
            self.set_state(id, granted(LockMode::Exclusive));
            return Ok(());
        }
        if !self.is_out(id) {
            self.clear_way(id, LockMode::Exclusive, false);
        }
        // Who writes behind a reader is younger, or else has wounded it.
        if self.is_out(id) || self.has_owner() {
            self.grant();
            return Err(Refused::ByRule);
        }
        self.uncount(id);
        self.ring.remove(id);
        self.set_state(id, 0);
        let waiter = self.first_waiter();
        self.enter(id, waiter, OWNS | EXCLUSIVE);
        Ok(())
    }

    /// An owner found nothing to write over, and has only read.
    pub fn downgrade(&mut self, id: RequestId) {
        if !self.is_out(id) {
            self.set_state(id, self.state(id) & !EXCLUSIVE | DONE);
            self.recount();
            self.grant();
        }
    }

    /// An owner retires: what it wrote is the newest version.
    #[inline]
    pub fn retire(&mut self, id: RequestId) {
        self.set_state(id, self.state(id) | DONE);
        if !self.ring.is_of_alone(id) {
            self.grant();
        }
    }

    /// A writer that has retired is to write again: whoever has seen what it wrote is wounded.
    ///
    /// # Errors
    /// [`Refused::ByRule`] if it was cut out.
    pub fn take_back(&mut self, id: RequestId) -> Result<(), Refused> {
        if self.is_out(id) {
            return Err(Refused::ByRule);
        }
        if let Some(next) = self.after(id) {
            self.cut_from(next, id.slot(), is_planted(&plants::EARLY_LOCKS_REWRITE_UNSEEN));
        }
        self.cut += 1;
        self.set_state(id, self.state(id) & !DONE);
        Ok(())
    }

    /// Takes a request out, if it is in the ring: of an attempt that commits and leaves this, or of one that aborts.
    #[inline]
    pub fn release(&mut self, id: RequestId, left: Option<Left>) {
        if self.ring.is_of_alone(id) {
            return self.release_alone(id, left);
        }
        let state = self.state(id);
        if state & OWNS == 0 {
            if state & WAITS != 0 {
                self.ring.remove(id);
                self.set_state(id, 0);
            }
            return;
        }
        let next = self.after(id);
        let cascades = left.is_none() && state & EXCLUSIVE != 0;
        self.uncount(id);
        if let Some(left) = left {
            self.ring.remove(id);
            self.set_state(id, 0);
            self.ring.leave(left);
        } else {
            self.cut_one(id);
        }
        match next {
            Some(next) if cascades => {
                self.cut_from(next, id.slot(), is_planted(&plants::EARLY_LOCKS_SPARE_DEPENDENTS));
            }
            _ => self.recount(),
        }
        self.grant();
    }

    /// The same for who is alone: nobody is counted, and nobody is granted anything.
    #[inline]
    fn release_alone(&mut self, id: RequestId, left: Option<Left>) {
        match left {
            Some(left) => {
                self.ring.remove(id);
                self.set_state(id, 0);
                self.ring.leave(left);
            }
            None => self.cut_one(id),
        }
    }

    /// Whether a request was cut out, or was never in.
    #[inline]
    pub fn is_out(&self, id: RequestId) -> bool {
        self.state(id) & OWNS == 0
    }

    /// How many of the newest versions are those of writers behind a request.
    #[inline]
    pub fn level(&self, id: RequestId) -> usize {
        if self.ring.is_of_alone(id) {
            return 0;
        }
        let mut level = 0;
        let mut next = self.after(id);
        while let Some(other) = next {
            level += usize::from(self.state(other) & RETIRED_WRITER == RETIRED_WRITER);
            next = self.after(other);
        }
        level
    }

    /// How many of the newest versions the caller has to take off.
    #[inline]
    pub fn take_cut(&mut self) -> usize {
        core::mem::take(&mut self.cut)
    }

    // ANCHOR: clear
    /// Wounds and cuts out who is younger than `id` and in conflict with it, unless it is decided; or gives the first
    /// of them, if `id` may pass.
    fn clear_way(&mut self, id: RequestId, mode: LockMode, may_pass: bool) -> Option<RequestId> {
        let (asks, is_shared) = (self.party(id), mode == LockMode::Shared);
        let mut next = self.first_held();
        while let Some(other) = next {
            next = self.after(other);
            let writes = self.state(other) & EXCLUSIVE != 0;
            if other == id || is_shared && !writes || self.party(other) < asks {
                continue;
            }
            if is_shared && may_pass && self.is_passed(other) {
                return Some(other);
            }
            if self.fates.wound(other.slot(), asks.slot, false) {
                if writes {
                    self.cut_from(other, asks.slot, false);
                    break;
                }
                self.cut_one(other);
            }
        }
        self.recount();
        None
    }
    // ANCHOR_END: clear

    /// Makes a writer wait for one that is put before it; `false` if it is too late for that.
    fn is_passed(&self, writer: RequestId) -> bool {
        let state = self.state(writer);
        if state & COUNTED != 0 || is_planted(&plants::EARLY_LOCKS_PASS_UNCOUNTED) {
            return true;
        }
        let is_in_time = self.fates.count_if_running(writer.slot());
        if is_in_time {
            self.set_state(writer, state | COUNTED);
        }
        is_in_time
    }

    /// Puts a request into an empty ring, where it has nobody to wait for.
    #[inline]
    fn enter_alone(&mut self, id: RequestId, state: u32) {
        self.ring.insert(id, RequestId::NONE);
        self.set_state(id, state);
    }

    /// Puts a request before another, or behind all, and counts it if it has to wait for one before it.
    #[inline]
    fn enter(&mut self, id: RequestId, before: Option<RequestId>, state: u32) {
        self.put(id, before);
        self.set_state(id, self.counted(id, state));
    }

    /// Counts a request if one in conflict is before it. A granted request is counted, too, before its attempt knows of
    /// the grant: invariant (1).
    #[inline]
    fn counted(&self, id: RequestId, state: u32) -> u32 {
        if self.has_conflict_before(id, state) {
            self.fates.count(id.slot());
            return state | COUNTED;
        }
        state
    }

    fn has_conflict_before(&self, id: RequestId, state: u32) -> bool {
        let state = if is_planted(&plants::EARLY_LOCKS_READERS_UNCOUNTED) { 0 } else { state };
        let mut next = self.first_held();
        while let Some(other) = next.filter(|other| *other != id) {
            if (state | self.state(other)) & EXCLUSIVE != 0 {
                return true;
            }
            next = self.after(other);
        }
        false
    }

    fn put(&mut self, id: RequestId, before: Option<RequestId>) {
        // Behind the last is before the first, but for which is the first then.
        self.ring.insert(id, before.unwrap_or(self.ring.first));
        if before == Some(self.ring.first) {
            self.ring.first = id;
        }
    }

    /// Takes those off their semaphores who have nobody before them any more: all are readers before the first writer.
    fn recount(&self) {
        let mut next = self.first_held();
        let mut is_first = true;
        while let Some(id) = next {
            let writes = self.state(id) & EXCLUSIVE != 0;
            if !writes || is_first {
                self.uncount(id);
            }
            next = if writes { None } else { self.after(id) };
            is_first = false;
        }
    }

    #[inline]
    fn uncount(&self, id: RequestId) {
        let state = self.state(id);
        if state & COUNTED != 0 {
            if !is_planted(&plants::EARLY_LOCKS_COUNT_DOWN_TWICE) {
                self.set_state(id, state & !COUNTED);
            }
            self.fates.uncount(id.slot());
        }
    }

    // ANCHOR: cut
    /// Cuts all out from `from` on, who are wounded, unless a bug is planted that `spares` them.
    fn cut_from(&mut self, from: RequestId, by: u32, spares: bool) {
        let mut next = Some(from);
        while let Some(id) = next {
            next = self.after(id);
            if !spares {
                self.fates.wound(id.slot(), by, true);
            }
            self.cut_one(id);
        }
    }

    /// Cuts a request out whose attempt is wounded or aborts.
    fn cut_one(&mut self, id: RequestId) {
        self.uncount(id);
        if self.state(id) & RETIRED_WRITER == RETIRED_WRITER {
            self.cut += 1;
        }
        self.ring.remove(id);
        self.set_state(id, 0);
    }
    // ANCHOR_END: cut

    /// Grants what is waited for as long as there is no owner, the oldest first.
    fn grant(&mut self) {
        while let Some(id) = self.first_waiter() {
            if self.has_owner() {
                return;
            }
            let state = if self.state(id) & EXCLUSIVE == 0 { OWNS | DONE } else { OWNS | EXCLUSIVE };
            self.set_state(id, self.counted(id, state));
        }
    }

    /// Whether a writer has not retired: the last of those who do not wait.
    fn has_owner(&self) -> bool {
        let held = self.ring.ids().map(|id| self.state(id)).take_while(|state| state & OWNS != 0);
        held.last().is_some_and(|state| state & DONE == 0)
    }

    fn first_waiter(&self) -> Option<RequestId> {
        let first = self.ring.first;
        // Those who wait are the last.
        if first == RequestId::NONE || self.state(self.ring.queues.of(first).before()) & WAITS == 0 {
            return None;
        }
        self.ring.ids().find(|id| self.state(*id) & WAITS != 0)
    }

    #[inline]
    fn first_held(&self) -> Option<RequestId> {
        let first = self.ring.first;
        (first != RequestId::NONE && self.state(first) & OWNS != 0).then_some(first)
    }

    /// The next of those who do not wait.
    #[inline]
    fn after(&self, id: RequestId) -> Option<RequestId> {
        let next = self.ring.queues.of(id).next();
        (next != self.ring.first && self.state(next) & OWNS != 0).then_some(next)
    }

    #[inline]
    fn state(&self, id: RequestId) -> u32 {
        self.ring.queues.of(id).state()
    }

    #[inline]
    fn set_state(&self, id: RequestId, state: u32) {
        // Release: pairs with the Acquire in `is_waiting`.
        self.ring.queues.of(id).state.store(state, Ordering::Release);
    }

    #[inline]
    fn party(&self, id: RequestId) -> Party {
        self.ring.queues.party(id)
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // Invariant (5).
        assert!(self.cut == 0, "the versions of those who were cut out are taken off the chain");
    }
}
