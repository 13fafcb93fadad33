//! `DL_DETECT`: two-phase locking in which attempts wait, and one of those that wait for each other aborts
//! (Eswaran, Gray, Lorie, Traiger, CACM 1976; per record and without a lock manager in Yu, Bezerra, Pavlo,
//! Devadas, Stonebraker, VLDB 2014).
//!
//! IDEA        An attempt that finds a lock taken in a conflicting mode waits until it is its turn, first come,
//!             first served. Two attempts that wait for each other would wait for ever. So an attempt that has
//!             waited for a while announces for whom it waits, goes from these to those for whom they wait, and
//!             so on; where that leads back to itself, one attempt of the circle aborts.
//! RECORD      The word of `parts::LockQueues`; the rank of a request is the number of its slot's
//!             attempt.
//! COMMIT      That of two-phase locking ([`TwoPhase`]); an unlock grants the lock to attempts that wait for
//!             it.
//! INVARIANTS  Those of two-phase locking, and
//!             (4) An attempt that waits announces for whom, as the queue shows it under its latch, and then
//!                 looks for circles: the last of a circle to do so finds it (`parts::WaitGraph`).
//!             (5) An announcement stays true until the attempt that waits, or the one for which it waits, has
//!                 ended; attempts are known by their number. That of a reader may come to lack somebody when a
//!                 third has taken its request back: so a reader that still waits announces again, and looks
//!                 again, after each `dl_detect.period_us`. A writer waits for all before it, and its
//!                 announcement stays complete.
//! DEPARTURES  DBx1000 lets go of the record and then adds the edges one by one as they were, without an order between
//!             two attempts that add them. So circles are missed, and seen where there are none, and a timeout ends the
//!             missed ones; here the timeout is an option (`dl_detect.timeout_us`). The victim of DBx1000 is the
//!             attempt with the fewest locks (`dl_detect.victim`); the standard here is the youngest, since then the
//!             oldest is never a victim. Where two want to write what both have read, the second to ask aborts without
//!             a search, be it the older; and gaps have no locks, so that a key that others insert beside what an
//!             attempt has read aborts it. The departures of [`TwoPhase`] hold here, too.

pub mod entry;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use core::cmp::Reverse;

use engine::setting::{Range, SettingError};
use engine::{Abort, Admits, Env, Family, Info, Isolation, Ticket, settings, words};
use parts::wait_graph::{Seeker, WaitGraph, Weight};
use parts::{Fifo, LockQueues, LockWord, Refused, RequestId, Waiting};
use sync::clock;

use crate::frames::two_phase::{ConflictRule, Left, Mode, TwoPhase, room_for};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "dl_detect" {
        /// How long an attempt waits for a lock before it says for whom and looks for a deadlock; most waits end
        /// before, and a longer delay spares their cost and lets deadlocks last.
        delay_us: u64 {
            default: "5",
            range: Range::Int(0, 1_000_000),
            unit: "us",
            stresses: "the cost of looking for deadlocks against the time that they last",
        },
        /// How long after a look for deadlocks an attempt that still waits to read looks again; only a deadlock that
        /// comes of a request which a third takes back needs a second look.
        period_us: u64 {
            default: "200",
            range: Range::Int(1, 1_000_000),
            unit: "us",
            stresses: "the cost of looking for deadlocks against the time that rare ones last",
        },
        /// How long an attempt waits for a lock before it aborts, or 0 for as long as it takes; no deadlock needs it,
        /// and it bounds chains of waits behind slow transactions.
        timeout_us: u64 {
            default: "0",
            range: Range::Int(0, 60_000_000),
            unit: "us",
            stresses: "aborts against long waits for locks",
        },
        /// The attempt of a deadlock that aborts: the `youngest`, so that none is chosen for ever, or the one with the
        /// `fewest_locks`, which loses the least work.
        victim: Victim {
            default: "youngest",
            stresses: "work lost by deadlocks against fairness",
        },
    }
}

words! {
    /// The attempt of a deadlock that aborts.
    pub enum Victim {
        /// The attempt with the latest begin.
        Youngest = "youngest",
        /// The attempt that has the fewest locks.
        FewestLocks = "fewest_locks",
    }
}

/// Two-phase locking in which attempts wait, and one of those that wait for each other aborts.
pub type DlDetect = TwoPhase<DetectCycles>;

/// The rule: everybody waits, and of the attempts that wait in a circle one aborts.
#[derive(Debug)]
pub struct DetectCycles {
    queues: LockQueues,
    graph: WaitGraph,
    delay_ns: u64,
    period_ns: u64,
    /// 0 for none.
    timeout_ns: u64,
    goes_by_locks: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Waiter {
    seeker: Seeker,
    birth: u64,
}

impl ConflictRule for DetectCycles {
    const INFO: Info = Info {
        name: "dl_detect",
        title: "DL_DETECT",
        paper: "Yu, Bezerra, Pavlo, Devadas, Stonebraker: Staring into the abyss, VLDB 2014 (two-phase locking: \
                Eswaran, Gray, Lorie, Traiger, CACM 1976)",
        family: Family::Locking,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "locks each record before it is accessed, waits for locks, aborts one of those who wait for each other",
    };
    type Settings = Settings;
    const WAITS: bool = true;
    type Party = Waiter;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        room_for(env)?;
        Ok(Self {
            queues: LockQueues::new(env.slots),
            graph: WaitGraph::new(env.slots),
            delay_ns: settings.delay_us * 1_000,
            period_ns: settings.period_us * 1_000,
            timeout_ns: settings.timeout_us * 1_000,
            goes_by_locks: settings.victim == Victim::FewestLocks,
        })
    }

    fn attach(&self, slot: usize) -> Waiter {
        Waiter { seeker: self.graph.attach(slot), birth: 0 }
    }

    #[inline]
    fn begin(&self, waiter: &mut Waiter, ticket: &Ticket) {
        self.graph.begin(&mut waiter.seeker);
        waiter.birth = ticket.birth;
    }

    #[inline]
    fn lock(&self, waiter: &mut Waiter, word: &LockWord, nth: usize, mode: Mode) -> Result<bool, Abort> {
        let me = waiter.seeker.me();
        let id = RequestId::new(me.slot, nth).ok_or(Abort::Full)?;
        let asked = self.queues.ask(word, id, me.rank, mode, &mut Fifo);
        self.settle(waiter, nth, asked).map(|()| word.has_value())
    }

    fn upgrade(&self, waiter: &mut Waiter, word: &LockWord, nth: usize) -> Result<(), Abort> {
        let id = RequestId::new(waiter.seeker.me().slot, nth).ok_or(Abort::Full)?;
        let asked = self.queues.upgrade(word, id, &mut Fifo);
        self.settle(waiter, nth, asked)
    }

    #[inline]
    fn unlock(&self, waiter: &Waiter, word: &LockWord, nth: usize, _: Mode, left: Left) {
        let id = RequestId::new(waiter.seeker.me().slot, nth).expect("it was locked under this number");
        self.queues.release(word, id, left);
    }
}

impl DetectCycles {
    /// Waits if it must.
    #[inline]
    fn settle(
        &self,
        waiter: &mut Waiter,
        locks: usize,
        asked: Result<Option<Waiting<'_>>, Refused>,
    ) -> Result<(), Abort> {
        match asked {
            Ok(None) => Ok(()),
            Ok(Some(waiting)) => self.wait(waiter, locks, waiting),
            Err(Refused::Retired) => Err(Abort::ReadChanged),
            // Two attempts each wait for the other to stop reading.
            Err(Refused::ByRule | Refused::Upgrading) => Err(Abort::Deadlock),
        }
    }

    // ANCHOR: wait
    #[cold]
    fn wait(&self, waiter: &mut Waiter, locks: usize, waiting: Waiting<'_>) -> Result<(), Abort> {
        let start_ns = clock::now_ns();
        let deadline_ns = if self.timeout_ns == 0 { u64::MAX } else { start_ns + self.timeout_ns };
        let mut is_victim = false;
        if !waiting.until(Some(deadline_ns.min(start_ns + self.delay_ns)), || false) {
            let locks = Reverse(if self.goes_by_locks { locks } else { 0 });
            let weight = Weight { locks, birth: waiter.birth, slot: waiter.seeker.me().slot };
            let told = self.graph.wait(&waiter.seeker, weight);
            loop {
                told.tell_of_queue(&waiting);
                is_victim = self.graph.is_victim_of_cycles(&mut waiter.seeker);
                let next_look_ns =
                    if waiting.is_exclusive() { u64::MAX } else { clock::now_ns() + self.period_ns };
                let until_ns = deadline_ns.min(next_look_ns);
                let until = (until_ns != u64::MAX).then_some(until_ns);
                let is_granted = !is_victim && waiting.until(until, || told.is_victim());
                is_victim |= told.is_victim();
                if is_granted || is_victim || until_ns == deadline_ns {
                    break;
                }
            }
            // Before the request is taken back: invariant (3) of the graph.
            drop(told);
        }
        if waiting.end() {
            return Ok(());
        }
        Err(if is_victim { Abort::Deadlock } else { Abort::Timeout })
    }
    // ANCHOR_END: wait
}
