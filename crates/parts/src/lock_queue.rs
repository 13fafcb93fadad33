//! Locks whose owners are known and whose waiters queue, for two-phase locking that waits.
//!
//! A record carries one word. Every owner of its lock, and every waiter, has a *request*, which is memory of its slot:
//! the n-th lock of an attempt is the n-th request of the slot, so nothing is allocated once a slot has had attempts of
//! that length, and an attempt needs no list of its requests. The requests of a record are a ring that begins at its
//! word: the owners first, then the waiters, in the order of the scheme's [`QueueRule`]. Taking a lock that nobody else
//! has or wants is one exchange of the word, and so is its release; everything else happens under a latch in the word,
//! for a few instructions. Each waiter looks at its own request alone.
//!
//! WORD        bit 0 latched, bit 1 no value, bit 2 retired, bit 3 more than one request in the ring, bits 16..
//!             the first request: one more than slot and number, 0 for none.
//! INVARIANTS  (1) An exclusive owner is the only owner (asserted in `release_among_others`).
//!             (2) The ring changes under the latch alone, or by the exchange of a word without requests, or
//!                 with one request, for its successor: such a word describes the ring completely.
//!             (3) A request that is in a ring changes under the latch of its record; its slot alone puts it in
//!                 and takes it out. So every request found in a ring is that of a live attempt.
//!             (4) At the end of each change, no request waits that could be an owner beside the present owners:
//!                 `grant`.
//!             (5) Owners that wait to be the only one are the first of the ring. There is one at most, unless
//!                 the rule makes the others give up.
//!
//! FAIRNESS    A request waits for all requests before it, even where it could share the record with the
//!             owners: a stream of readers does not pass a writer that waits, unless the rule orders it before
//!             the writer and lets it pass. An upgrade waits for the other owners alone. A second upgrade of a
//!             record could never be granted and is refused, unless the rule makes the first give up.

use sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::{Backoff, Growing, Padded, waiter};

use crate::lock_word::{Left, LockMode, LockWord, NO_VALUE, RETIRED};
use crate::plants;

const LATCHED: u64 = 1;
const CROWDED: u64 = 8;
const RING_SHIFT: u32 = 16;

/// Bits of a request's number within its slot, and of its slot.
const NUMBER_BITS: u32 = 28;
const SLOT_BITS: u32 = 20;

/// A state of a request: it has the lock, at least shared.
pub const OWNS: u32 = 1;
/// A state of a request: it waits for what it does not have.
pub const WAITS: u32 = 2;
/// A state of a request: it has, or waits for, the exclusive lock.
pub const EXCLUSIVE: u32 = 4;

/// An owner or waiter of a lock. The one that comes first in their order has the smaller rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Party {
    /// The number that the rule orders by, and by which it may know an attempt.
    pub rank: u64,
    /// The slot of the attempt.
    pub slot: u32,
}

/// The decisions of a scheme where requests meet. Called under a latch: short, and without a wait.
pub trait QueueRule {
    /// Whether the party `asks` comes before one that waits already.
    fn is_before(&self, asks: Party, waits: Party) -> bool;

    /// Whether `asks`, which would have to wait for `other`, does wait; otherwise it is refused.
    fn may_wait_for(&mut self, asks: Party, other: Party) -> bool;

    /// Whether everybody waits in the order of arrival, so that a request which finds another waiting goes behind it,
    /// and no decision about the others is asked for: a long queue is not walked under its latch.
    fn is_fifo(&self) -> bool {
        false
    }

    /// Whether a request that could own the lock together with the owners, and comes before all waiters, of which there
    /// are some, passes them; otherwise it is refused.
    fn may_pass(&self) -> bool;

    /// Whether `asks`, which shares the record and would have to wait for the other owners to go, as `upgrades` does
    /// already, waits before `upgrades`, which then has to give up; otherwise `asks` is refused.
    fn may_upgrade_before(&self, _asks: Party, _upgrades: Party) -> bool {
        false
    }
}

/// The rule by which everybody waits, in the order of arrival.
#[derive(Clone, Copy, Debug)]
pub struct Fifo;

impl QueueRule for Fifo {
    fn is_before(&self, _: Party, _: Party) -> bool {
        false
    }

    fn may_wait_for(&mut self, _: Party, _: Party) -> bool {
        true
    }

    fn may_pass(&self) -> bool {
        false
    }

    fn is_fifo(&self) -> bool {
        true
    }
}

/// The reason for which a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The record has left the indexes.
    Retired,
    /// Another owner waits already for the other owners to go.
    Upgrading,
    /// The rule refused it.
    ByRule,
}

impl LockWord {
    /// Makes a request the only one, with the lock granted; `false` if there are others, or the record is retired.
    #[inline]
    pub fn is_taken_by(&self, id: RequestId) -> bool {
        let now = self.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        // AcqRel: acquires the writes of earlier owners, which pairs with the Release in `is_left_by` and of `Ring`'s
        // drop; and publishes the request to the next thread that latches the word. Relaxed on failure: nothing is
        // read.
        now & !NO_VALUE == 0
            && self.0.compare_exchange(now, now | id.alone(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Takes a request out of the ring if it is the only one.
    #[inline]
    pub fn is_left_by(&self, id: RequestId, left: Left) -> bool {
        let now = self.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        let after = left.applied(now) & NO_VALUE;
        // Release: pairs with the Acquire of the next request. Relaxed on failure: nothing is read.
        now & !NO_VALUE == id.alone()
            && self.0.compare_exchange(now, after, Ordering::Release, Ordering::Relaxed).is_ok()
    }
}

/// The id of a request: the slot that it belongs to, and its number there, in the format of words; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(u64);

impl RequestId {
    /// No request.
    pub const NONE: Self = Self(0);

    /// The maximum number of slots.
    pub const SLOTS_MAX: usize = 1 << SLOT_BITS;

    /// The request for the n-th lock of a slot's attempt; `None` if the number is too large.
    #[inline]
    pub fn new(slot: u32, nth: usize) -> Option<Self> {
        let is_room = nth < (1 << NUMBER_BITS) - 1;
        is_room.then(|| Self((u64::from(slot) << NUMBER_BITS | nth as u64) + 1))
    }

    /// The slot that the request belongs to.
    #[inline]
    pub fn slot(self) -> u32 {
        ((self.0 - 1) >> NUMBER_BITS) as u32
    }

    #[inline]
    fn number(self) -> usize {
        ((self.0 - 1) & ((1 << NUMBER_BITS) - 1)) as usize
    }

    /// The word of a record that has only this request, without the bits about the value.
    #[inline]
    fn alone(self) -> u64 {
        self.0 << RING_SHIFT
    }
}

/// The queue of a record, while somebody waits in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueId(usize);

/// A request, aligned so that none straddles two cache lines.
#[derive(Debug, Default)]
#[repr(align(32))]
pub struct LockRequest {
    /// Its neighbours in the ring; meaningless while it is alone there.
    next: AtomicU64,
    before: AtomicU64,
    rank: AtomicU64,
    /// The states [`OWNS`], [`WAITS`] and [`EXCLUSIVE`], and those of kinds of locks above.
    pub state: AtomicU32,
}

impl LockRequest {
    /// The state, for a caller that holds the latch or owns the request.
    #[inline]
    pub fn state(&self) -> u32 {
        self.state.load(Ordering::Relaxed) // Relaxed: changed under the latch of the ring, invariant (3).
    }

    /// Sets the state, under the latch or before the request is published.
    #[inline]
    pub fn set_state(&self, state: u32) {
        self.state.store(state, Ordering::Relaxed); // Relaxed: as above, or published with the word.
    }

    /// The next request in the ring.
    #[inline]
    pub fn next(&self) -> RequestId {
        RequestId(self.next.load(Ordering::Relaxed)) // Relaxed: changed under the latch, as all links.
    }

    /// The request before this one in the ring.
    #[inline]
    pub fn before(&self) -> RequestId {
        RequestId(self.before.load(Ordering::Relaxed)) // Relaxed: as above.
    }

    #[inline]
    fn set_links(&self, before: RequestId, next: RequestId) {
        self.set_before(before);
        self.set_next(next);
    }

    #[inline]
    fn set_next(&self, next: RequestId) {
        self.next.store(next.0, Ordering::Relaxed); // Relaxed: as above.
    }

    #[inline]
    fn set_before(&self, before: RequestId) {
        self.before.store(before.0, Ordering::Relaxed); // Relaxed: as above.
    }
}

/// The requests of all slots.
#[derive(Debug)]
pub struct LockQueues(Box<[Padded<Growing<LockRequest>>]>);

impl LockQueues {
    /// Makes queues for this many slots, at most [`RequestId::SLOTS_MAX`].
    pub fn new(slots: usize) -> Self {
        assert!(slots <= RequestId::SLOTS_MAX, "a word has room for the number of every slot");
        Self((0..slots).map(|_| Padded::default()).collect())
    }

    /// A request that has been in a ring.
    #[inline]
    pub fn of(&self, id: RequestId) -> &LockRequest {
        self.0[id.slot() as usize].get(id.number()).expect("a request in a ring was made by its slot")
    }

    /// The attempt that made a request.
    #[inline]
    pub fn party(&self, id: RequestId) -> Party {
        // Relaxed: set before the request was published with the word.
        Party { rank: self.of(id).rank.load(Ordering::Relaxed), slot: id.slot() }
    }

    /// Prepares a request that is in no ring.
    #[inline]
    pub fn ready(&self, id: RequestId, rank: u64, state: u32) {
        let request = self.0[id.slot() as usize].make(id.number());
        request.rank.store(rank, Ordering::Relaxed); // Relaxed: published with the word.
        request.set_state(state);
    }

    /// Asks for a lock with a request that is in no ring. Returns `None` if it was granted; otherwise the wait for it.
    ///
    /// # Errors
    /// The reason for which it was refused.
    #[inline]
    pub fn ask<'q>(
        &'q self,
        word: &'q LockWord,
        id: RequestId,
        rank: u64,
        mode: LockMode,
        rule: &mut impl QueueRule,
    ) -> Result<Option<Waiting<'q>>, Refused> {
        self.ready(id, rank, OWNS | mode.bit());
        if word.is_taken_by(id) { Ok(None) } else { self.ask_others(word, id, mode, rule) }
    }

    /// Like `ask`, where other requests may be there, too.
    fn ask_others<'q>(
        &'q self,
        word: &'q LockWord,
        id: RequestId,
        mode: LockMode,
        rule: &mut impl QueueRule,
    ) -> Result<Option<Waiting<'q>>, Refused> {
        let mut ring = self.latch(word);
        if ring.rest & RETIRED != 0 {
            return Err(Refused::Retired);
        }
        let is_granted = ring.join(id, mode, rule)?;
        if is_granted {
            return Ok(None);
        }
        Ok(Some(Waiting { queues: self, word, id, is_upgrade: false, is_over: false }))
    }

    /// Asks for the exclusive lock in place of the shared one that the request has. Returns `None` if it was granted;
    /// otherwise the wait for it. The request keeps the shared lock in any case.
    ///
    /// # Errors
    /// The reason for which it was refused.
    pub fn upgrade<'q>(
        &'q self,
        word: &'q LockWord,
        id: RequestId,
        rule: &mut impl QueueRule,
    ) -> Result<Option<Waiting<'q>>, Refused> {
        let is_granted = self.latch(word).upgrade(id, rule)?;
        if is_granted {
            return Ok(None);
        }
        Ok(Some(Waiting { queues: self, word, id, is_upgrade: true, is_over: false }))
    }

    /// Releases the lock that a request has.
    #[inline]
    pub fn release(&self, word: &LockWord, id: RequestId, left: Left) {
        if !word.is_left_by(id, left) {
            self.release_among_others(word, id, left);
        }
    }

    fn release_among_others(&self, word: &LockWord, id: RequestId, left: Left) {
        let mut ring = self.latch(word);
        let state = self.of(id).state();
        ring.remove(id);
        let owner = ring.owner_in_front();
        // Invariant (1).
        assert!(state & EXCLUSIVE == 0 || owner.is_none(), "an exclusive lock excludes all others");
        if !is_planted(&plants::LOCK_QUEUE_LEAVES_LATE) {
            ring.leave(left);
        }
        // When one of several readers goes, nothing changes for the waiters, unless one of the other owners is itself
        // waiting.
        if state != OWNS || owner != Some(OWNS) || is_planted(&plants::LOCK_QUEUE_GRANTS_BESIDE) {
            ring.grant();
        }
        ring.leave(left);
    }

    /// Whether a request has all that it asked for. If so, its slot has acquired the writes of the earlier owners.
    #[inline]
    fn is_granted(&self, id: RequestId) -> bool {
        // Acquire: pairs with the Release in `Ring::grant`.
        self.of(id).state.load(Ordering::Acquire) & WAITS == 0
    }

    /// Takes a request back, unless it was granted meanwhile. Returns whether it was granted. An upgrade that is taken
    /// back leaves the shared lock.
    fn withdraw(&self, word: &LockWord, id: RequestId) -> bool {
        let mut ring = self.latch(word);
        let request = self.of(id);
        let state = request.state();
        if state & WAITS == 0 {
            return true;
        }
        if state & OWNS == 0 {
            ring.remove(id);
        } else {
            request.set_state(OWNS);
            ring.remove(id);
            ring.push_owner(id);
        }
        ring.grant();
        false
    }

    /// Latches the ring of a record.
    pub fn latch<'q>(&'q self, word: &'q LockWord) -> Ring<'q> {
        let mut backoff = Backoff::new();
        loop {
            let now = word.0.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
            // Acquire: pairs with the Release in `is_taken_by`, in `is_left_by` and of `Ring`'s drop. Relaxed on
            // failure: nothing is read.
            if now & LATCHED == 0
                && word.0.compare_exchange(now, now | LATCHED, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                let (first, is_crowded) = (RequestId(now >> RING_SHIFT), now & CROWDED != 0);
                if first != RequestId::NONE && !is_crowded {
                    self.of(first).set_links(first, first);
                }
                return Ring { queues: self, word, rest: now & (NO_VALUE | RETIRED), first, is_crowded };
            }
            backoff.snooze();
        }
    }
}

impl LockMode {
    /// The bit of this mode in the state of a request.
    #[inline]
    pub const fn bit(self) -> u32 {
        match self {
            Self::Shared => 0,
            Self::Exclusive => EXCLUSIVE,
        }
    }
}

/// The ring of a record, whose latch is held until the value is dropped.
#[derive(Debug)]
pub struct Ring<'q> {
    /// All requests.
    pub queues: &'q LockQueues,
    word: &'q LockWord,
    /// The word's bits about the value, and whether the record is retired.
    rest: u64,
    /// The first request, or [`RequestId::NONE`].
    pub first: RequestId,
    /// Whether there is more than one request.
    is_crowded: bool,
}

impl Ring<'_> {
    #[inline]
    fn of(&self, id: RequestId) -> &LockRequest {
        self.queues.of(id)
    }

    /// Whether a request is the only one.
    #[inline]
    pub fn is_of_alone(&self, id: RequestId) -> bool {
        self.first == id && !self.is_crowded
    }

    /// Whether the record has left the indexes.
    #[inline]
    pub fn is_retired(&self) -> bool {
        self.rest & RETIRED != 0
    }

    /// The state of the first request if it is an owner. It is, unless an owner has just gone.
    fn owner_in_front(&self) -> Option<u32> {
        let state = (self.first != RequestId::NONE).then(|| self.of(self.first).state());
        state.filter(|state| state & OWNS != 0)
    }

    /// Whether all requests share the record, and none waits.
    fn is_shared_by_all(&self) -> bool {
        let first = self.of(self.first);
        first.state() == OWNS && self.of(first.before()).state() == OWNS
    }

    /// Whether the last request only waits.
    fn has_waiter_behind(&self) -> bool {
        self.first != RequestId::NONE && self.of(self.of(self.first).before()).state() & OWNS == 0
    }

    /// The requests from the first to the last.
    pub fn ids(&self) -> impl Iterator<Item = RequestId> {
        let first = self.first;
        let start = (first != RequestId::NONE).then_some(first);
        core::iter::successors(start, move |id| Some(self.of(*id).next()).filter(|next| *next != first))
    }

    /// Puts a request into the ring: among the owners or among the waiters. Returns whether it is an owner.
    fn join(&mut self, id: RequestId, mode: LockMode, rule: &mut impl QueueRule) -> Result<bool, Refused> {
        let asks = self.queues.party(id);
        // Its place is behind all others, if it has to wait.
        let (mut must_wait, mut passes, mut place) = (false, false, self.first);
        let is_shared = mode == LockMode::Shared;
        if rule.is_fifo() && self.has_waiter_behind() {
            must_wait = true;
        } else if self.first != RequestId::NONE && !(is_shared && self.is_shared_by_all()) {
            for other in self.ids() {
                let state = self.of(other).state();
                let party = self.queues.party(other);
                // To readers, an owner that waits for the other owners to go counts as a waiter.
                let waits = state & WAITS != 0 && (is_shared || state & OWNS == 0);
                if waits && rule.is_before(asks, party) {
                    passes = true;
                    if state & OWNS == 0 {
                        place = other;
                        break;
                    }
                } else if !is_shared || state & EXCLUSIVE != 0 {
                    must_wait = true;
                    if !rule.may_wait_for(asks, party) {
                        return Err(Refused::ByRule);
                    }
                }
            }
        }
        if must_wait {
            self.of(id).set_state(WAITS | mode.bit());
            self.insert(id, place);
        } else if passes && !rule.may_pass() {
            return Err(Refused::ByRule);
        } else {
            self.of(id).set_state(OWNS | mode.bit());
            self.push_owner(id);
        }
        Ok(!must_wait)
    }

    /// Makes an owner the only one, or lets it wait for the others to go. Returns whether it is the only one.
    fn upgrade(&mut self, id: RequestId, rule: &mut impl QueueRule) -> Result<bool, Refused> {
        let asks = self.queues.party(id);
        let mut is_only = true;
        for other in self.ids().filter(|other| *other != id) {
            match self.of(other).state() {
                state if state & OWNS == 0 || is_planted(&plants::LOCK_QUEUE_UPGRADES_EARLY) => break,
                state if state & WAITS != 0 && !rule.may_upgrade_before(asks, self.queues.party(other)) => {
                    return Err(Refused::Upgrading);
                }
                _ => is_only = false,
            }
            if !rule.may_wait_for(asks, self.queues.party(other)) {
                return Err(Refused::ByRule);
            }
        }
        if is_only {
            self.of(id).set_state(OWNS | EXCLUSIVE);
        } else {
            self.of(id).set_state(OWNS | WAITS | EXCLUSIVE);
            self.remove(id);
            self.insert(id, self.first);
            self.first = id;
        }
        Ok(is_only)
    }

    /// Grants all requests that can be granted, in the order of the ring.
    fn grant(&mut self) {
        let (mut owners, mut upgrades) = (0, None);
        for id in self.ids() {
            let state = self.of(id).state();
            if state & OWNS != 0 {
                owners += 1;
                if state & WAITS != 0 {
                    upgrades = Some(id);
                }
                let is_exclusive = state & (EXCLUSIVE | WAITS) == EXCLUSIVE;
                // No request comes before an owner that waits for the other owners to go: it is the first, invariant
                // (5).
                if is_exclusive || upgrades.is_some() && owners > 1 {
                    return;
                }
            } else if upgrades.is_some() {
                break;
            } else if state & EXCLUSIVE == 0 {
                self.grant_to(id);
                owners += 1;
            } else {
                if owners == 0 || is_planted(&plants::LOCK_QUEUE_GRANTS_BESIDE) {
                    self.grant_to(id);
                }
                return;
            }
        }
        if let Some(id) = upgrades {
            self.grant_to(id);
        }
    }

    fn grant_to(&self, id: RequestId) {
        let request = self.of(id);
        // Release: pairs with the Acquire in `is_granted`. The writes under the lock so far were acquired with the
        // latch; the state in which the record was left is in the word since `leave`.
        request.state.store(request.state() & !WAITS | OWNS, Ordering::Release);
    }

    /// Stores the state in which the record was left, before any request is granted.
    pub fn leave(&mut self, left: Left) {
        if left.applied(self.rest) != self.rest {
            self.rest = left.applied(self.rest);
            // Relaxed: only owners look at it before the latch is free, see `grant_to`.
            self.word.0.store(self.rest | LATCHED, Ordering::Relaxed);
        }
    }

    fn push_owner(&mut self, id: RequestId) {
        const UPGRADES: u32 = OWNS | WAITS;
        let last = self.ids().take_while(|id| self.of(*id).state() & UPGRADES == UPGRADES).last();
        if let Some(last) = last {
            // Behind the last upgrade, also if the request behind that one is the first of the ring.
            self.insert(id, self.of(last).next());
        } else {
            self.insert(id, self.first);
            self.first = id;
        }
    }

    /// Puts a request before another; a place before the first is a place behind the last.
    pub fn insert(&mut self, id: RequestId, place: RequestId) {
        if place == RequestId::NONE {
            self.of(id).set_links(id, id);
            self.first = id;
            return;
        }
        self.is_crowded = true;
        let before = self.of(place).before();
        self.of(id).set_links(before, place);
        self.of(before).set_next(id);
        self.of(place).set_before(id);
    }

    /// Takes a request out of the ring.
    pub fn remove(&mut self, id: RequestId) {
        if !self.is_crowded {
            self.first = RequestId::NONE;
            return;
        }
        let (next, before) = (self.of(id).next(), self.of(id).before());
        self.is_crowded = next != before;
        self.of(before).set_next(next);
        self.of(next).set_before(before);
        if self.first == id {
            self.first = next;
        }
    }
}

impl Drop for Ring<'_> {
    #[inline]
    fn drop(&mut self) {
        let crowded = if self.is_crowded { CROWDED } else { 0 };
        // Release: pairs with the Acquire of the next thread that latches the word or takes the free lock.
        self.word.0.store(self.rest | self.first.alone() | crowded, Ordering::Release);
    }
}

/// A request that must be waited for. Dropped before its end, as by a panic, it restores the state before the request.
#[derive(Debug)]
#[must_use = "a request that is not waited for is given up"]
pub struct Waiting<'q> {
    queues: &'q LockQueues,
    word: &'q LockWord,
    id: RequestId,
    is_upgrade: bool,
    is_over: bool,
}

impl Waiting<'_> {
    /// Waits until the request is granted or called off, or until a moment. Returns whether it is granted.
    pub fn until(&self, deadline_ns: Option<u64>, mut is_called_off: impl FnMut() -> bool) -> bool {
        waiter::wait_until(deadline_ns, || self.queues.is_granted(self.id) || is_called_off());
        self.queues.is_granted(self.id)
    }

    /// Whether the request is for the exclusive lock. It waits for all before it, or as an upgrade for all other
    /// owners: where the order is that [of arrival](QueueRule::is_fifo), it never comes to wait for somebody else.
    pub fn is_exclusive(&self) -> bool {
        self.queues.of(self.id).state() & EXCLUSIVE != 0
    }

    /// The queue in which the request waits: the same for all that wait for the record.
    pub fn queue(&self) -> QueueId {
        QueueId(core::ptr::from_ref(self.word).addr())
    }

    /// Calls `tell` with each party that the request waits for now: with none if it was granted meanwhile.
    pub fn for_each_blocker(&self, mut tell: impl FnMut(Party)) {
        let ring = self.queues.latch(self.word);
        let own = ring.of(self.id).state();
        if own & WAITS == 0 {
            return;
        }
        for other in ring.ids().take_while(|other| self.is_upgrade || *other != self.id) {
            let state = ring.of(other).state();
            // An upgrade waits for owners alone.
            let is_ahead = other != self.id && (!self.is_upgrade || state & OWNS != 0);
            if is_ahead && (own | state) & EXCLUSIVE != 0 {
                tell(self.queues.party(other));
            }
        }
    }

    /// Ends the wait. Returns whether the request was granted. If not, it is taken back.
    pub fn end(mut self) -> bool {
        self.is_over = true;
        self.queues.is_granted(self.id) || self.queues.withdraw(self.word, self.id)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over && self.queues.withdraw(self.word, self.id) && !self.is_upgrade {
            self.queues.release(self.word, self.id, Left::AsItWas);
        }
    }
}
