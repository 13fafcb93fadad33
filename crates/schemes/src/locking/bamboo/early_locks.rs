//! Locks that are released before their owners have committed, as in Bamboo (Guo, Wu, Yan, Yu, SIGMOD 2021).
//!
//! The requests for a record form a ring (see `lock_queue`). First come the *retired* requests: readers, which retire
//! when they are granted, and writers that have published their versions. Then there may be one *owner*, a writer that
//! has not published its version yet. Then come the waiting requests, the oldest first. Of two conflicting requests,
//! the attempt of the second waits for the end of the first before it commits. If a writer aborts, all attempts behind
//! it abort, too.
//!
//! STATE       of a request, in addition to the bits of `lock_queue`: `DONE` from its retirement on; `COUNTED` while
//!             its attempt's semaphore counts it. 0: the request is not in the ring.
//! INVARIANTS  (1) A request is counted exactly while a conflicting request is before it in the ring. The bit and the
//!                 semaphore change together, under the latch (`enter`, `grant`, `is_passed`, `recount`, `cut_one`).
//!                 So the semaphore of an attempt is the number of its counted requests, and 0 after its end.
//!             (2) Of two conflicting requests that are granted, the first is older, or its attempt is decided. A new
//!                 request goes behind the older and the decided ones; younger ones are cut out of the ring, or a
//!                 reader passes them.
//!             (3) A request behind a writer has seen the writer's version, or overwrites it. When a writer is cut
//!                 out, all requests behind it are wounded and cut out, too. This is possible, since an attempt with a
//!                 counted request is not decided.
//!             (4) No request waits while there is no owner (`grant`), and a request waits only for an owner that is
//!                 older or decided. So waits go from younger to older attempts, except waits for decided ones, which
//!                 end without waiting.
//!             (5) The newest versions of the record are those of its retired writers, in the order of the ring; below
//!                 them is the last committed version. An attempt that cuts writers out takes their versions off the
//!                 record before it releases the latch (asserted when `Held` is dropped).

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
    /// Creates the requests of this many slots, at most [`RequestId::SLOTS_MAX`].
    pub fn new(slots: usize) -> Self {
        Self { queues: LockQueues::new(slots), fates: Fates::new(slots) }
    }

    /// Returns the fates of the attempts.
    #[inline]
    pub fn fates(&self) -> &Fates {
        &self.fates
    }

    /// Prepares a request that is in no ring.
    #[inline]
    pub fn ready(&self, id: RequestId) {
        self.ready_as(id, 0);
    }

    /// The attempt's rank stands with its fate.
    #[inline]
    fn ready_as(&self, id: RequestId, state: u32) {
        self.queues.ready(id, 0, state);
    }

    /// Grants a record without other requests to a request that is in no ring. Returns `false` if there are other
    /// requests, or if the record has left the indexes. The request sees the committed version: later requests may
    /// publish versions, but commit after this one.
    #[inline]
    pub fn is_taken(&self, word: &LockWord, id: RequestId, mode: LockMode) -> bool {
        self.ready_as(id, granted(mode));
        word.is_taken_by(id)
    }

    /// Removes a request if it is the only one. Its attempt leaves the record as it was. Returns `false` otherwise.
    #[inline]
    pub fn is_left(&self, word: &LockWord, id: RequestId) -> bool {
        let is_left = word.is_left_by(id, Left::AsItWas);
        if is_left {
            // Relaxed: the request is out of the ring, so that its slot alone knows it.
            self.queues.of(id).state.store(0, Ordering::Relaxed);
        }
        is_left
    }

    /// Returns whether a request of the caller still waits.
    #[inline]
    pub fn is_waiting(&self, id: RequestId) -> bool {
        // Acquire: pairs with the Release in `set_state`.
        self.queues.of(id).state.load(Ordering::Acquire) & WAITS != 0
    }

    /// Latches a record, for a few instructions.
    #[inline]
    pub fn hold<'q>(&'q self, word: &'q LockWord) -> Held<'q> {
        Held { ring: self.queues.latch(word), fates: &self.fates, cut: 0 }
    }
}

/// Returns the state of a granted request that is not counted.
#[inline]
const fn granted(mode: LockMode) -> u32 {
    match mode {
        LockMode::Shared => OWNS | DONE,
        LockMode::Exclusive => OWNS | EXCLUSIVE,
    }
}

/// The way of a new request past those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Behind all that are granted: nothing was cut out.
    Behind,
    /// Behind those that stay: some were cut out.
    Cut,
    /// Before this younger writer.
    Before(RequestId),
}

/// A latched record. The latch is released when this is dropped.
#[derive(Debug)]
#[must_use = "a record is latched as long as this is there"]
pub struct Held<'q> {
    ring: Ring<'q>,
    fates: &'q Fates,
    /// The number of retired writers that were cut out. Their versions have to be taken off the record.
    cut: usize,
}

impl Held<'_> {
    /// Requests the record. The request is in no ring. Returns `true` if it was granted, and `false` if it waits in the
    /// ring. A reader that `may_pass` is put before the first younger writer, and does not see the writer's version.
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
        let way = self.clear_way(id, mode, may_pass);
        if let Way::Before(writer) = way {
            self.enter(id, Some(writer), granted);
            return Ok(true);
        }
        let has_owner = if way == Way::Cut { self.has_owner() } else { self.last_tells_of_owner() };
        if has_owner {
            self.set_state(id, WAITS | mode.bit());
            self.put(id, self.first_waiter_behind(self.party(id)));
            return Ok(false);
        }
        let waiter = self.first_waiter();
        self.enter(id, waiter, granted);
        if waiter.is_some() {
            self.grant();
        }
        Ok(true)
    }

    /// Turns a reader's request into a writer's, behind all requests that stay.
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
        // A writer behind a reader is younger, or else has wounded the reader.
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

    /// Makes an owner a reader: it found no value to overwrite.
    pub fn downgrade(&mut self, id: RequestId) {
        if !self.is_out(id) {
            self.set_state(id, self.state(id) & !EXCLUSIVE | DONE);
            self.recount();
            self.grant_from(self.behind(id));
        }
    }

    /// Retires an owner. Its version is the newest of the record.
    #[inline]
    pub fn retire(&mut self, id: RequestId) {
        self.set_state(id, self.state(id) | DONE);
        if !self.ring.is_of_alone(id) {
            self.grant_from(self.behind(id));
        }
    }

    /// Makes a retired writer an owner again, before it writes once more. Attempts that have seen its version are
    /// wounded.
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

    /// Removes a request from the ring, if it is there. `left` is the state in which its attempt leaves the record, or
    /// `None` if the attempt aborts.
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
        let (next, behind) = (self.after(id), self.behind(id));
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
                self.grant();
            }
            _ => {
                if state & EXCLUSIVE != 0 {
                    self.recount();
                } else if let Some(first) = self.first_held() {
                    // Readers conflict with writers alone, and a writer that is not the first has another request
                    // before it still.
                    self.uncount(first);
                }
                if state & DONE == 0 {
                    self.grant_from(behind);
                }
            }
        }
    }

    /// Removes the only request of a record: no other request has to be counted or granted.
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

    /// Returns whether a request was cut out, or was never granted.
    #[inline]
    pub fn is_out(&self, id: RequestId) -> bool {
        self.state(id) & OWNS == 0
    }

    /// Returns the number of versions of retired writers behind a request. They are the newest versions.
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

    /// Returns the number of newest versions that the caller has to take off the record.
    #[inline]
    pub fn take_cut(&mut self) -> usize {
        core::mem::take(&mut self.cut)
    }

    // ANCHOR: clear
    /// Wounds and cuts out the requests that are younger than `id` and conflict with it, except those of decided
    /// attempts. If `id` may pass, stops at the first younger writer that can be passed.
    fn clear_way(&mut self, id: RequestId, mode: LockMode, may_pass: bool) -> Way {
        let is_shared = mode == LockMode::Shared;
        if self.fates.ranked(id.slot()).is_none() && self.draws_last(id, is_shared) {
            return Way::Behind;
        }
        let mut next = self.first_younger(id, is_shared);
        let mut way = Way::Behind;
        while let Some(other) = next {
            next = self.after(other);
            let writes = self.state(other) & EXCLUSIVE != 0;
            if other == id || is_shared && !writes || self.party(other) < self.party(id) {
                continue;
            }
            if is_shared && may_pass && self.is_passed(other) {
                return Way::Before(other);
            }
            if self.fates.wound(other.slot(), id.slot(), false) {
                way = Way::Cut;
                if writes {
                    self.cut_from(other, id.slot(), false);
                    break;
                }
                self.cut_one(other);
            }
        }
        if way == Way::Cut {
            self.recount();
        }
        way
    }
    // ANCHOR_END: clear

    /// Lets the attempts of the requests that conflict with `id` draw their ranks, if they have none, and that of `id`
    /// after them. Returns `false` if the attempt of `id` has got a rank elsewhere meanwhile.
    ///
    /// All attempts with a request before a writer that is not alone have met a conflict, and have ranks that are less,
    /// or are decided: so the last requests decide, up to a writer. Of the waiting ones, the last is the youngest. A
    /// reader that is not counted has no writer before it, so that another reader has met no conflict there.
    fn draws_last(&self, id: RequestId, is_shared: bool) -> bool {
        let mut youngest = None;
        let mut next = Some(self.last());
        while let Some(other) = next {
            let state = self.state(other);
            if other != id && (!is_shared || state & (EXCLUSIVE | WAITS) != 0) {
                youngest = youngest.max(Some(self.party(other).rank));
            }
            let is_enough = state & (EXCLUSIVE | WAITS) != 0 || is_shared && state & COUNTED == 0;
            next = if is_enough { None } else { self.before(other) };
        }
        youngest.is_none_or(|youngest| self.fates.draws_after(id.slot(), youngest))
    }

    /// Returns the first granted request that may be younger than `id` and conflict with it: all before the last older
    /// writer are older, too, or are decided, and before a reader that is not counted there is no writer.
    fn first_younger(&self, id: RequestId, is_shared: bool) -> Option<RequestId> {
        let mut first = None;
        let mut next = self.last_held();
        while let Some(other) = next {
            let state = self.state(other);
            let writes = state & EXCLUSIVE != 0;
            if writes && other != id && self.party(other) < self.party(id) {
                break;
            }
            if is_shared && !writes && state & COUNTED == 0 {
                break;
            }
            first = Some(other);
            next = self.before(other);
        }
        first
    }

    /// Makes the commit of a writer wait for a reader that is put before it. Returns `false` if it is too late.
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

    /// Puts a request into an empty ring, where nothing conflicts with it.
    #[inline]
    fn enter_alone(&mut self, id: RequestId, state: u32) {
        self.ring.insert(id, RequestId::NONE);
        self.set_state(id, state);
    }

    /// Puts a request before another, or behind all, and counts it if a conflicting request is before it.
    #[inline]
    fn enter(&mut self, id: RequestId, before: Option<RequestId>, state: u32) {
        self.put(id, before);
        self.set_state(id, self.counted(id, state));
    }

    /// Counts a request if a conflicting request is before it. A waiting request that is granted is counted before its
    /// attempt knows of the grant: invariant (1).
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
        let Some(other) = self.before(id) else { return false };
        let other = self.state(other);
        // A reader is counted if a writer is before it: invariant (1).
        (state | other) & EXCLUSIVE != 0 || other & COUNTED != 0
    }

    fn put(&mut self, id: RequestId, before: Option<RequestId>) {
        // In a ring, the place behind the last is the place before the first; only `first` differs.
        self.ring.insert(id, before.unwrap_or(self.ring.first));
        if before == Some(self.ring.first) {
            self.ring.first = id;
        }
    }

    /// Uncounts the requests that have no conflicting request before them any more: the first request, and the readers
    /// before the first writer.
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
    /// Wounds and cuts out all granted requests from `from` on. With the planted bug that `spares` them, they are not
    /// wounded.
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

    /// Cuts out a request whose attempt is wounded or aborts.
    fn cut_one(&mut self, id: RequestId) {
        self.uncount(id);
        if self.state(id) & RETIRED_WRITER == RETIRED_WRITER {
            self.cut += 1;
        }
        self.ring.remove(id);
        self.set_state(id, 0);
    }
    // ANCHOR_END: cut

    /// Grants waiting requests, the oldest first, until there is an owner.
    fn grant(&mut self) {
        if !self.has_owner() {
            self.grant_from(self.first_waiter());
        }
    }

    /// Grants the waiting requests from this one on until there is an owner. There is none before.
    fn grant_from(&mut self, waiter: Option<RequestId>) {
        let mut next = waiter;
        while let Some(id) = next {
            let writes = self.state(id) & EXCLUSIVE != 0;
            let state = granted(if writes { LockMode::Exclusive } else { LockMode::Shared });
            self.set_state(id, self.counted(id, state));
            next = if writes { None } else { self.behind(id) };
        }
    }

    /// Returns whether there is an owner: the last granted request has not retired.
    fn has_owner(&self) -> bool {
        self.last_held().is_some_and(|last| self.state(last) & DONE == 0)
    }

    /// Returns whether there is an owner, in a ring of which no request has gone since the latch was taken: the last
    /// request is one, or waits for one, by invariant (4).
    fn last_tells_of_owner(&self) -> bool {
        let last = self.state(self.last());
        last & WAITS != 0 || last & DONE == 0
    }

    /// Returns the last request of a ring that has some.
    #[inline]
    fn last(&self) -> RequestId {
        self.ring.queues.of(self.ring.first).before()
    }

    /// Returns the first waiting request, which is before all others that wait.
    fn first_waiter(&self) -> Option<RequestId> {
        self.waiters_from_the_last().last()
    }

    /// Returns the first waiting request that is younger than a party.
    fn first_waiter_behind(&self, asks: Party) -> Option<RequestId> {
        self.waiters_from_the_last().take_while(|waiter| asks < self.party(*waiter)).last()
    }

    /// Returns the waiting requests, which are the last of the ring, from the last on.
    fn waiters_from_the_last(&self) -> impl Iterator<Item = RequestId> {
        let last = (self.ring.first != RequestId::NONE).then(|| self.last());
        let all = core::iter::successors(last, |id| self.before(*id));
        all.take_while(|id| self.state(*id) & WAITS != 0)
    }

    /// Returns the last granted request.
    fn last_held(&self) -> Option<RequestId> {
        match self.first_waiter() {
            Some(waiter) => self.before(waiter),
            None => (self.ring.first != RequestId::NONE).then(|| self.last()),
        }
    }

    /// Returns the request before another.
    #[inline]
    fn before(&self, id: RequestId) -> Option<RequestId> {
        (id != self.ring.first).then(|| self.ring.queues.of(id).before())
    }

    /// Returns the request behind another, granted or not.
    #[inline]
    fn behind(&self, id: RequestId) -> Option<RequestId> {
        Some(self.ring.queues.of(id).next()).filter(|next| *next != self.ring.first)
    }

    #[inline]
    fn first_held(&self) -> Option<RequestId> {
        let first = self.ring.first;
        (first != RequestId::NONE && self.state(first) & OWNS != 0).then_some(first)
    }

    /// Returns the next granted request.
    #[inline]
    fn after(&self, id: RequestId) -> Option<RequestId> {
        self.behind(id).filter(|next| self.state(*next) & OWNS != 0)
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
        self.fates.party(id.slot())
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // Invariant (5).
        assert!(self.cut == 0, "the versions of writers that were cut out are taken off the chain");
    }
}
