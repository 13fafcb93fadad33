//! `WAIT_DIE`: two-phase locking in which the older waits and the younger dies (Rosenkrantz, Stearns, Lewis,
//! TODS 1978; per record in Yu, Bezerra, Pavlo, Devadas, Stonebraker, VLDB 2014).
//!
//! IDEA        A transaction has an age, which it keeps through all its attempts. An attempt that asks for a
//!             lock that others hold in a conflicting mode waits if it is older than all of them. Otherwise it
//!             dies: it aborts, and tries again as old as it is. So waits go from old to young only and never
//!             in a circle, and nobody has to look for deadlocks. A transaction that dies again and again
//!             becomes the oldest at last, and then dies for no lock any more.
//! RECORD      The word of `parts::LockQueues`; the rank of a request is the birth of its transaction.
//! COMMIT      That of two-phase locking ([`TwoPhase`]); an unlock grants the lock to attempts that wait for
//!             it.
//! INVARIANTS  Those of two-phase locking, and
//!             (4) An attempt that waits is older than everybody for whom it waits (`may_wait_for`), ties
//!                 broken by slot: the holders of the lock in a conflicting mode, and those before it in the
//!                 queue, in which the youngest is first (`is_before`). A waiting attempt is older than all
//!                 owners. So an attempt that it lets by, which is younger than all that wait, may become an
//!                 owner; and an owner that asks for more has only owners to wait for.
//!             (5) Births stay as they are from the first attempt of a transaction to the last
//!                 (`Ticket::birth`).
//! DEPARTURES  An attempt that is younger than all that wait, and could share the record with its owners, dies, too,
//!             unless `wait_die.bypass` is on, as it is in DBx1000: there a stream of young readers can keep a writer
//!             waiting for ever. DBx1000 compares the age with the owners' also where only others that wait are in the
//!             way, and its age is that of the worker, which a transaction that is tried again later loses. Gaps have
//!             no locks: a key that others insert beside what the oldest has read aborts it, too, and then the engine's
//!             turns are what ends that. The departures of [`TwoPhase`] hold here, too.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::setting::SettingError;
use engine::{Abort, Admits, Env, Family, Info, Isolation, Ticket, settings};
use parts::{LockQueues, LockWord, Party, QueueRule, Refused, RequestId, Waiting};
use sync::plant::is_planted;

use crate::frames::two_phase::{ConflictRule, Left, Mode, TwoPhase, room_for};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "wait_die" {
        /// Whether a reader that is younger than all who wait for a record joins the readers who have it, as published,
        /// in place of dying; pays where a record is mostly read, and can keep a writer waiting for ever.
        bypass: bool {
            default: "off",
            stresses: "aborts of young readers against waits of old writers",
        },
    }
}

/// Two-phase locking in which the older waits and the younger dies.
pub type WaitDie = TwoPhase<WaitOrDie>;

/// The rule: an older attempt waits, a younger one dies.
#[derive(Debug)]
pub struct WaitOrDie {
    queues: LockQueues,
    age: Age,
}

/// The rule of the queues: age decides.
#[derive(Clone, Copy, Debug)]
struct Age {
    may_pass: bool,
}

// ANCHOR: rule
impl QueueRule for Age {
    fn is_before(&self, asks: Party, waits: Party) -> bool {
        (asks > waits) != is_planted(&plants::WAIT_DIE_SERVES_OLDEST_FIRST)
    }

    fn may_wait_for(&mut self, asks: Party, other: Party) -> bool {
        asks < other || is_planted(&plants::WAIT_DIE_LETS_YOUNG_WAIT)
    }

    fn may_pass(&self) -> bool {
        self.may_pass
    }
}
// ANCHOR_END: rule

impl ConflictRule for WaitOrDie {
    const INFO: Info = Info {
        name: "wait_die",
        title: "WAIT_DIE",
        paper: "Rosenkrantz, Stearns, Lewis: System level concurrency control for distributed database systems, \
                TODS 1978 (per record: Yu, Bezerra, Pavlo, Devadas, Stonebraker, VLDB 2014)",
        family: Family::Locking,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "locks each record before it is accessed; of two in conflict the older waits, the younger aborts",
    };
    type Settings = Settings;
    const WAITS: bool = true;
    type Party = Party;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        room_for(env)?;
        let may_pass = settings.bypass;
        Ok(Self { queues: LockQueues::new(env.slots), age: Age { may_pass } })
    }

    fn attach(&self, slot: usize) -> Party {
        Party { rank: 0, slot: slot as u32 }
    }

    #[inline]
    fn begin(&self, party: &mut Party, ticket: &Ticket) {
        party.rank = ticket.birth;
    }

    #[inline]
    fn lock(&self, party: &mut Party, word: &LockWord, nth: usize, mode: Mode) -> Result<bool, Abort> {
        let id = RequestId::new(party.slot, nth).ok_or(Abort::Full)?;
        let mut age = self.age;
        let asked = self.queues.ask(word, id, party.rank, mode, &mut age);
        settle(asked).map(|()| word.has_value())
    }

    fn upgrade(&self, party: &mut Party, word: &LockWord, nth: usize) -> Result<(), Abort> {
        let id = RequestId::new(party.slot, nth).ok_or(Abort::Full)?;
        let mut age = self.age;
        settle(self.queues.upgrade(word, id, &mut age))
    }

    #[inline]
    fn unlock(&self, party: &Party, word: &LockWord, nth: usize, _: Mode, left: Left) {
        let id = RequestId::new(party.slot, nth).expect("it was locked under this number");
        self.queues.release(word, id, left);
    }
}

// ANCHOR: settle
/// Waits if it may, or says how it dies.
#[inline]
fn settle(asked: Result<Option<Waiting<'_>>, Refused>) -> Result<(), Abort> {
    match asked {
        Ok(None) => Ok(()),
        Ok(Some(waiting)) => wait(waiting),
        Err(Refused::Retired) => Err(Abort::ReadChanged),
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
