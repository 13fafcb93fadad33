//! `CAUTIOUS_WAITING`: two-phase locking in which nobody waits for an attempt that is itself blocked (Hsu, Zhang,
//! Performance evaluation of cautious waiting, ACM TODS 17(3), 1992).
//!
//! IDEA        An attempt that asks for a lock that others hold in a conflicting mode waits, unless one of those for
//!             whom it would wait is blocked, which means that it waits for a lock itself. Then the attempt that asks
//!             aborts. So an attempt that waits was blocked before all those for whom it waits: waits never form a
//!             circle, and nobody has to look for deadlocks or to compare ages.
//! RECORD      The word of `parts::LockQueues`. Beside the records, each slot has a flag: its attempt is blocked.
//! COMMIT      That of two-phase locking ([`TwoPhase`]); an unlock grants the lock to attempts that wait for it.
//! INVARIANTS  Those of two-phase locking, and
//!             (4) The flag of a slot is set before a request of the slot waits in a queue, and until that request
//!                 was granted or taken back. The slot alone writes its flag (`Caution`). So every request that waits
//!                 in a queue has its flag set, and a flag may be set a little longer than necessary.
//!             (5) An attempt starts to wait only after it has set its own flag, and has then found the flag of each
//!                 attempt for whom it is to wait clear (`may_wait_for`): the owners in a conflicting mode, and the
//!                 requests ahead of its own in the queue.
//!             (6) An attempt that waits gets nobody new to wait for. By (4) and (5) a request that waits is last in
//!                 its queue, except that several readers may wait for one writer; and an owner that upgrades was in
//!                 the way before.
//!             (7) Waits form no circle. If A waits for B, and B waits, then A set its flag before it found B's clear
//!                 (5), and B set its own after that, since B waits still (4). All these steps are in the one order
//!                 of `SeqCst` operations. So, along the waits of a circle, each attempt would have set its flag
//!                 before the next, and the first before itself.
//! DEPARTURES  The rule is usually stated for the transaction that holds a lock. Here it is applied to those that wait
//!             ahead in the queue, too: the queue is served in the order of arrival, so the attempt would wait for
//!             them. Of two attempts that come to wait for each other at the same instant, both may abort: each sees
//!             the other's flag. An attempt that was granted its lock counts as blocked until it runs again. There
//!             are no ages: pauses between attempts, and the engine's turns, keep transactions from aborting for
//!             ever.
#![forbid(unsafe_code)]

pub mod entry;
pub mod plants;

use engine::setting::SettingError;
use engine::{Abort, Admits, Env, Family, Info, Isolation, Ticket};
use parts::{LockQueues, LockWord, Party, QueueRule, Refused, RequestId, Waiting};
use schemes::frames::two_phase::{ConflictRule, Left, Mode, TwoPhase, room_for};
use sync::Padded;
use sync::atomic::{AtomicBool, Ordering};
use sync::plant::is_planted;

/// Two-phase locking in which nobody waits for an attempt that is blocked.
pub type CautiousWaiting = TwoPhase<WaitCautiously>;

// ANCHOR: state
/// The rule: an attempt waits for those that do not wait themselves.
#[derive(Debug)]
pub struct WaitCautiously {
    queues: LockQueues,
    /// By slot: whether its attempt is blocked.
    flags: Box<[Padded<AtomicBool>]>,
}
// ANCHOR_END: state

// ANCHOR: caution
/// The rule of the queues for one request, from the moment at which it is made to the end of its wait.
struct Caution<'r> {
    flags: &'r [Padded<AtomicBool>],
    /// The slot of the request, once it has set its flag.
    shown: Option<u32>,
}

impl Caution<'_> {
    /// Sets the flag of the slot, unless this request has set it before.
    fn show(&mut self, slot: u32) {
        if self.shown.is_none() {
            // SeqCst: pairs with the load in `is_blocked`, of this attempt and of others: invariant (7).
            self.flags[slot as usize].store(true, Ordering::SeqCst);
            self.shown = Some(slot);
        }
    }

    /// Clears the flag of the slot if this request has set it.
    #[inline]
    fn hide(&mut self) {
        if let Some(slot) = self.shown.take() {
            // Release: pairs with the load in `is_blocked`, so that the wait was over when the flag is found clear.
            self.flags[slot as usize].store(false, Ordering::Release);
        }
    }

    /// Whether the attempt of a slot is blocked, or was a moment ago.
    fn is_blocked(&self, slot: u32) -> bool {
        self.flags[slot as usize].load(Ordering::SeqCst) // SeqCst: pairs with the store in `show`.
    }
}

/// However the wait ends, by a panic too, the attempt is not blocked any more.
impl Drop for Caution<'_> {
    #[inline]
    fn drop(&mut self) {
        self.hide();
    }
}
// ANCHOR_END: caution

// ANCHOR: rule
impl QueueRule for Caution<'_> {
    fn is_before(&self, _: Party, _: Party) -> bool {
        false
    }

    fn may_wait_for(&mut self, asks: Party, other: Party) -> bool {
        if is_planted(&plants::CAUTIOUS_WAITING_LOOKS_FIRST) {
            let may_wait = !self.is_blocked(other.slot);
            self.show(asks.slot);
            return may_wait;
        }
        if is_planted(&plants::CAUTIOUS_WAITING_LOOKS_AT_ONE) && self.shown.is_some() {
            return true;
        }
        self.show(asks.slot);
        !self.is_blocked(other.slot)
    }

    fn may_pass(&self) -> bool {
        false
    }
}
// ANCHOR_END: rule

impl ConflictRule for WaitCautiously {
    // ANCHOR: info
    const INFO: Info = Info {
        name: "cautious_waiting",
        title: "CAUTIOUS_WAITING",
        paper: "Hsu, Zhang: Performance evaluation of cautious waiting, ACM TODS 17(3), 1992",
        family: Family::Locking,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "locks each record before it is accessed; waits for a lock unless those who have it wait themselves",
    };
    const WAITS: bool = true;
    type Settings = ();
    type Party = Party;
    // ANCHOR_END: info

    // ANCHOR: begin
    fn new((): &(), env: Env) -> Result<Self, SettingError> {
        room_for(env)?;
        let flags = (0..env.slots).map(|_| Padded::default()).collect();
        Ok(Self { queues: LockQueues::new(env.slots), flags })
    }

    fn attach(&self, slot: usize) -> Party {
        Party { rank: 0, slot: slot as u32 }
    }

    #[inline]
    fn begin(&self, _: &mut Party, _: &Ticket) {}
    // ANCHOR_END: begin

    // ANCHOR: lock
    #[inline]
    fn lock(&self, party: &mut Party, word: &LockWord, nth: usize, mode: Mode) -> Result<bool, Abort> {
        let id = RequestId::new(party.slot, nth).ok_or(Abort::Full)?;
        let mut caution = self.caution();
        settle(self.queues.ask(word, id, party.rank, mode, &mut caution))?;
        Ok(word.has_value())
    }

    fn upgrade(&self, party: &mut Party, word: &LockWord, nth: usize) -> Result<(), Abort> {
        let id = RequestId::new(party.slot, nth).ok_or(Abort::Full)?;
        let mut caution = self.caution();
        let asked = self.queues.upgrade(word, id, &mut caution);
        if is_planted(&plants::CAUTIOUS_WAITING_HIDES_UPGRADES) {
            caution.hide();
        }
        settle(asked)
    }

    #[inline]
    fn unlock(&self, party: &Party, word: &LockWord, nth: usize, _: Mode, left: Left) {
        let id = RequestId::new(party.slot, nth).expect("it was locked under this number");
        self.queues.release(word, id, left);
    }
    // ANCHOR_END: lock
}

impl WaitCautiously {
    /// The rule for the next request of an attempt.
    #[inline]
    fn caution(&self) -> Caution<'_> {
        Caution { flags: &self.flags, shown: None }
    }
}

// ANCHOR: settle
/// Waits if it may, or says why not.
#[inline]
fn settle(asked: Result<Option<Waiting<'_>>, Refused>) -> Result<(), Abort> {
    match asked {
        Ok(None) => Ok(()),
        Ok(Some(waiting)) => wait(waiting),
        Err(Refused::Retired) => Err(Abort::ReadChanged),
        // An owner that upgrades already is blocked.
        Err(Refused::ByRule | Refused::Upgrading) => Err(Abort::LockBusy),
    }
}

#[cold]
fn wait(waiting: Waiting<'_>) -> Result<(), Abort> {
    waiting.until(None, || false);
    // A fiber that is unwound by a panic does not wait.
    if waiting.end() { Ok(()) } else { Err(Abort::Stopped) }
}
// ANCHOR_END: settle
