//! `WOUND_WAIT`: two-phase locking in which the younger waits and the older wounds (Rosenkrantz, Stearns,
//! Lewis, TODS 1978).
//!
//! IDEA        A transaction has an age, which it keeps through all its attempts. An attempt that asks for a
//!             lock that others hold in a conflicting mode waits. It wounds those of them that are younger,
//!             which means that they abort as soon as they notice. So waits go from young to old, except for
//!             those that end by themselves; nobody has to look for deadlocks, and the oldest of all is never
//!             wounded.
//! RECORD      The word of `parts::LockQueues`; the rank of a request is the birth of its transaction.
//! COMMIT      That of two-phase locking ([`TwoPhase`]). Between its steps 2 and 3 the attempt turns its fate
//!             to decided: an attempt that was wounded before aborts, and nobody is wounded after.
//! INVARIANTS  Those of two-phase locking, and
//!             (4) An attempt that waits is younger than everybody for whom it waits, except for those that it
//!                 has wounded: the owners in a conflicting mode (`may_wait_for`). The oldest that waits is
//!                 served first (`is_before`), so an attempt that becomes an owner meanwhile is older, or was
//!                 an owner before.
//!             (5) A wounded attempt waits for no lock: it looks at its status before it asks, and while it
//!                 waits.
//!             (6) An attempt is wounded under the latch of a record of which it has a request, so never after
//!                 its end.
//!             (7) Births stay as they are from the first attempt of a transaction to the last
//!                 (`Ticket::birth`).
//! DEPARTURES  A transaction that was wounded waits, before it begins again, until the one that wounded it has ended,
//!             for `wound_wait.respect_us` at most. If it began at once, it would be wounded again for the same lock;
//!             and where its undoing changes gaps that the older has read, it would abort the older again and again,
//!             which would be the oldest in vain. Gaps have no locks: a key that others insert beside what the oldest
//!             has read aborts it, and then the engine's turns are what ends that. The departures of [`TwoPhase`] hold
//!             here, too.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::setting::{Range, SettingError};
use engine::{Abort, Admits, End, Env, Family, Info, Isolation, Ticket, settings};
use parts::{Fates, LockQueues, LockWord, Party, QueueRule, Refused, RequestId, Waiting};
use sync::plant::is_planted;

use crate::frames::two_phase::{ConflictRule, Left, Mode, TwoPhase, room_for};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "wound_wait" {
        /// How long a wounded transaction waits at most, before it begins again, for the end of the one that wounded
        /// it; 0 begins at once, as published, and pays where the older is slow and goes elsewhere.
        respect_us: u64 {
            default: "10000",
            range: Range::Int(0, 1_000_000),
            unit: "us",
            stresses: "work done again in vain against idle clients",
        },
    }
}

/// Two-phase locking in which the younger waits and the older wounds.
pub type WoundWait = TwoPhase<WoundOrWait>;

/// The rule: an older attempt wounds, a younger one waits.
#[derive(Debug)]
pub struct WoundOrWait {
    queues: LockQueues,
    fates: Fates,
    respect_ns: u64,
}

/// The rule of the queues: everybody waits, the older first, and wounds others that are younger.
struct Wound<'f>(&'f Fates);

// ANCHOR: rule
impl QueueRule for Wound<'_> {
    fn is_before(&self, asks: Party, waits: Party) -> bool {
        (asks < waits) != is_planted(&plants::WOUND_WAIT_SERVES_YOUNGEST_FIRST)
    }

    fn may_wait_for(&mut self, asks: Party, other: Party) -> bool {
        if asks < other && !is_planted(&plants::WOUND_WAIT_WOUNDS_NOBODY) {
            // Unless it is decided.
            self.0.wound(other.slot, asks.slot, false);
        }
        true
    }

    fn may_pass(&self) -> bool {
        true
    }

    fn may_upgrade_before(&self, asks: Party, upgrades: Party) -> bool {
        asks < upgrades
    }
}
// ANCHOR_END: rule

impl ConflictRule for WoundOrWait {
    const INFO: Info = Info {
        name: "wound_wait",
        title: "WOUND_WAIT",
        paper: "Rosenkrantz, Stearns, Lewis: System level concurrency control for distributed database systems, \
                TODS 1978",
        family: Family::Locking,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "locks each record before it is accessed; of two in conflict the younger waits for the older, or aborts \
               if it has the lock",
    };
    type Settings = Settings;
    const WAITS: bool = true;
    type Party = Party;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        room_for(env)?;
        Ok(Self {
            queues: LockQueues::new(env.slots),
            fates: Fates::new(env.slots),
            respect_ns: settings.respect_us * 1_000,
        })
    }

    fn attach(&self, slot: usize) -> Party {
        Party { rank: 0, slot: slot as u32 }
    }

    fn await_others(&self, party: &mut Party) {
        self.fates.respect(party.slot, self.respect_ns);
    }

    #[inline]
    fn begin(&self, party: &mut Party, ticket: &Ticket) {
        party.rank = ticket.birth;
        self.fates.begin(*party, ticket.birth);
    }

    #[inline]
    fn lock(&self, party: &mut Party, word: &LockWord, nth: usize, mode: Mode) -> Result<bool, Abort> {
        self.look(*party)?;
        let id = RequestId::new(party.slot, nth).ok_or(Abort::Full)?;
        let asked = self.queues.ask(word, id, party.rank, mode, &mut Wound(&self.fates));
        self.settle(*party, asked).map(|()| word.has_value())
    }

    fn upgrade(&self, party: &mut Party, word: &LockWord, nth: usize) -> Result<(), Abort> {
        self.look(*party)?;
        let id = RequestId::new(party.slot, nth).ok_or(Abort::Full)?;
        self.settle(*party, self.queues.upgrade(word, id, &mut Wound(&self.fates)))
    }

    #[inline]
    fn unlock(&self, party: &Party, word: &LockWord, nth: usize, _: Mode, left: Left) {
        let id = RequestId::new(party.slot, nth).expect("it was locked under this number");
        self.queues.release(word, id, left);
    }

    // ANCHOR: decide
    #[inline]
    fn decide(&self, party: &mut Party, _: End) -> Result<(), Abort> {
        self.fates.decide(party.slot)
    }
    // ANCHOR_END: decide
}

impl WoundOrWait {
    #[inline]
    fn is_wounded(&self, party: Party) -> bool {
        self.fates.look(party.slot).is_err() && !is_planted(&plants::WOUND_WAIT_FEELS_NOTHING)
    }

    #[inline]
    fn look(&self, party: Party) -> Result<(), Abort> {
        if self.is_wounded(party) { Err(Abort::Wounded) } else { Ok(()) }
    }

    /// Waits if it must, until it is granted what it has asked for or is wounded.
    #[inline]
    fn settle(&self, party: Party, asked: Result<Option<Waiting<'_>>, Refused>) -> Result<(), Abort> {
        match asked {
            Ok(None) => Ok(()),
            Ok(Some(waiting)) => self.wait(party, waiting),
            Err(Refused::Retired) => Err(Abort::ReadChanged),
            // An older attempt also waits for this one to stop reading, and has wounded it.
            Err(Refused::ByRule | Refused::Upgrading) => Err(Abort::Wounded),
        }
    }

    #[cold]
    fn wait(&self, party: Party, waiting: Waiting<'_>) -> Result<(), Abort> {
        waiting.until(None, || self.is_wounded(party));
        if waiting.end() { Ok(()) } else { Err(Abort::Wounded) }
    }
}
