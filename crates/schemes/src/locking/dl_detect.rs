//! `DL_DETECT`: two-phase locking that waits, and aborts one of those who wait for each other (Eswaran, Gray,
//! Lorie, Traiger, CACM 1976; per record and without a lock manager in Yu, Bezerra, Pavlo, Devadas,
//! Stonebraker, VLDB 2014).
//!
//! IDEA        Who finds a lock taken in a conflicting mode waits until it is its turn, first come, first
//!             served. Two who wait for each other would wait for ever: so who has waited for a while says for
//!             whom, goes from these to those for whom they wait, and so on, and where that leads back to
//!             itself one of the circle aborts.
//! RECORD      The word of `engine::parts::LockQueues`; the rank of a request is the number of its slot's
//!             attempt.
//! COMMIT      That of two-phase locking ([`TwoPhase`]); an unlock grants the lock to those who wait for it.
//! INVARIANTS  Those of two-phase locking, and
//!             (4) Who waits says for whom, as the queue shows it under its latch, and then looks for circles.
//!                 The last of a circle to do so finds it: each entry of the graph has a latch, so of two who
//!                 say and then look one sees what the other said.
//!             (5) What was said stays true until the one who waits, or the one who is waited for, has ended
//!                 its attempt, which are known by their number. It may come to lack somebody where a third has
//!                 taken its request back: so who still waits says it again, and looks again, after each
//!                 `dl_detect.period_us`.
//!             (6) Whoever finds a circle chooses the same victim (`Weight`), and goes on until there is none:
//!                 one who closes two has to end both.
//! DEPARTURES  DBx1000 lets go of the record and then adds the edges one by one as they were, without an order
//!             between two who add them, so that circles are missed and seen where there are none, and a
//!             timeout ends what is missed; here the timeout is for those who want one. Its victim is who has
//!             the fewest locks (`dl_detect.victim`); the standard is the youngest, since then the oldest is
//!             never one.

use core::cmp::Reverse;

use engine::parts::{AccessSet, LockQueues, LockWord, Party, QueueRule, Refused, RequestId, Waiting};
use engine::setting::{Range, Setting, SettingError, Values};
use engine::{Abort, Admits, Env, Family, Info, Isolation, Ticket};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::{Latched, Padded, clock};

use crate::plants;
use crate::two_phase::{Left, Mode, Rule, TwoPhase, room_for};

/// Two-phase locking that waits, and aborts one of those who wait for each other.
pub type DlDetect = TwoPhase<DetectCycles>;

/// The rule: everybody waits, and of those who wait in a circle one aborts.
#[derive(Debug)]
pub struct DetectCycles {
    queues: LockQueues,
    /// By slot: for whom its attempt waits.
    graph: Box<[Padded<Vertex>]>,
    delay_ns: u64,
    period_ns: u64,
    /// 0 for none.
    timeout_ns: u64,
    goes_by_locks: bool,
}

/// Where a slot says for whom it waits.
#[derive(Debug, Default)]
struct Vertex {
    entry: Latched<Entry>,
    /// Whether its attempt, which waits, is to abort.
    is_victim: AtomicBool,
    /// The number of its last attempt, whichever session made it.
    attempts: AtomicU64,
}

#[derive(Debug, Default)]
struct Entry {
    /// The attempt that waits; none while there is nobody.
    waits: Option<u64>,
    weight: Weight,
    blockers: Vec<Party>,
}

/// Who is to abort: the greatest of a circle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    /// The fewest locks first, if it goes by them.
    locks: Reverse<usize>,
    /// The youngest.
    birth: u64,
    slot: u32,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Seeker {
    me: Party,
    birth: u64,
    /// Whom a search has come to.
    seen: AccessSet<Seen>,
}

/// Whom a search has come to, and from whom.
#[derive(Debug)]
struct Seen {
    party: Party,
    weight: Weight,
    from: Option<usize>,
}

/// What the queues ask of it: everybody waits, in the order in which they come.
struct InTurn;

impl QueueRule for InTurn {
    fn is_before(&self, _: Party, _: Party) -> bool {
        false
    }

    fn may_wait_for(&mut self, _: Party, _: Party) -> bool {
        true
    }

    fn may_pass(&self) -> bool {
        false
    }
}

impl Rule for DetectCycles {
    const INFO: Info = Info {
        name: "dl_detect",
        title: "DL_DETECT",
        paper: "Yu, Bezerra, Pavlo, Devadas, Stonebraker: Staring into the abyss, VLDB 2014 (two-phase locking: \
                Eswaran, Gray, Lorie, Traiger, CACM 1976)",
        family: Family::Locking,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        idea: "locks each record before it is accessed, waits for locks, aborts one of those who wait for each other",
    };
    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "dl_detect.delay_us",
            default: "20",
            range: Range::Int(0, 1_000_000),
            unit: "us",
            doc: "How long an attempt waits for a lock before it says for whom and looks for a deadlock; most waits \
                  end before, and a longer delay spares their cost and lets deadlocks last.",
            stresses: "the cost of looking for deadlocks against the time that they last",
        },
        Setting {
            name: "dl_detect.period_us",
            default: "200",
            range: Range::Int(1, 1_000_000),
            unit: "us",
            doc: "How long after a look for deadlocks an attempt that still waits looks again; only a deadlock that \
                  comes of a request which a third takes back needs a second look.",
            stresses: "the cost of looking for deadlocks against the time that rare ones last",
        },
        Setting {
            name: "dl_detect.timeout_us",
            default: "0",
            range: Range::Int(0, 60_000_000),
            unit: "us",
            doc: "How long an attempt waits for a lock before it aborts, or 0 for as long as it takes; no deadlock \
                  needs it, and it bounds chains of waits behind slow transactions.",
            stresses: "aborts against long waits for locks",
        },
        Setting {
            name: "dl_detect.victim",
            default: "youngest",
            range: Range::Choice(&["youngest", "fewest_locks"]),
            unit: "",
            doc: "Who of a deadlock aborts: the youngest, so that nobody is chosen for ever, or who has the fewest \
                  locks, which loses the least work.",
            stresses: "work lost by deadlocks against fairness",
        },
    ];
    const WAITS: bool = true;
    type Header = LockWord;
    type Party = Seeker;

    fn new(values: &Values, env: Env) -> Result<Self, SettingError> {
        room_for(env)?;
        Ok(Self {
            queues: LockQueues::new(env.slots),
            graph: (0..env.slots).map(|_| Padded::default()).collect(),
            delay_ns: values.int("dl_detect.delay_us") * 1_000,
            period_ns: values.int("dl_detect.period_us") * 1_000,
            timeout_ns: values.int("dl_detect.timeout_us") * 1_000,
            goes_by_locks: values.text("dl_detect.victim") == "fewest_locks",
        })
    }

    fn attach(&self, slot: usize) -> Seeker {
        // Relaxed: whoever had the slot before has handed it on.
        let me = Party { rank: self.graph[slot].attempts.load(Ordering::Relaxed), slot: slot as u32 };
        Seeker { me, birth: 0, seen: AccessSet::default() }
    }

    #[inline]
    fn begin(&self, seeker: &mut Seeker, ticket: &Ticket) {
        seeker.me.rank += 1;
        // Relaxed: for the next session of the slot.
        self.graph[seeker.me.slot as usize].attempts.store(seeker.me.rank, Ordering::Relaxed);
        seeker.birth = ticket.birth;
    }

    #[inline]
    fn lock(&self, seeker: &mut Seeker, word: &LockWord, nth: usize, mode: Mode) -> Result<bool, Abort> {
        let id = RequestId::new(seeker.me.slot, nth).ok_or(Abort::Full)?;
        let asked = self.queues.ask(word, id, seeker.me.rank, mode, &mut InTurn);
        self.settle(seeker, nth, asked).map(|()| word.has_value())
    }

    fn upgrade(&self, seeker: &mut Seeker, word: &LockWord, nth: usize) -> Result<(), Abort> {
        let id = RequestId::new(seeker.me.slot, nth).ok_or(Abort::Full)?;
        let asked = self.queues.upgrade(word, id, &mut InTurn);
        self.settle(seeker, nth, asked)
    }

    #[inline]
    fn unlock(&self, seeker: &Seeker, word: &LockWord, nth: usize, _: Mode, left: Left) {
        let id = RequestId::new(seeker.me.slot, nth).expect("it was locked under this number");
        self.queues.release(word, id, left);
    }
}

impl DetectCycles {
    /// Waits if it must.
    #[inline]
    fn settle(
        &self,
        seeker: &mut Seeker,
        locks: usize,
        asked: Result<Option<Waiting<'_>>, Refused>,
    ) -> Result<(), Abort> {
        match asked {
            Ok(None) => Ok(()),
            Ok(Some(waiting)) => self.wait(seeker, locks, waiting),
            Err(Refused::Retired) => Err(Abort::ReadChanged),
            // Two who each wait for the other to stop reading.
            Err(Refused::ByRule | Refused::Upgrading) => Err(Abort::Deadlock),
        }
    }

    // ANCHOR: wait
    #[cold]
    fn wait(&self, seeker: &mut Seeker, locks: usize, waiting: Waiting<'_>) -> Result<(), Abort> {
        let start_ns = clock::now_ns();
        let deadline_ns = if self.timeout_ns == 0 { u64::MAX } else { start_ns + self.timeout_ns };
        let mut until_ns = deadline_ns.min(start_ns + self.delay_ns);
        let mut is_victim = false;
        if !waiting.until(Some(until_ns), || false) {
            let locks = Reverse(if self.goes_by_locks { locks } else { 0 });
            let weight = Weight { locks, birth: seeker.birth, slot: seeker.me.slot };
            let vertex = &self.graph[seeker.me.slot as usize];
            let told = Told::new(vertex, seeker.me, weight);
            loop {
                told.tell(&waiting);
                is_victim = self.is_victim_of_cycles(seeker);
                until_ns = deadline_ns.min(clock::now_ns() + self.period_ns);
                let is_granted = !is_victim && waiting.until(Some(until_ns), || told.is_victim());
                is_victim |= told.is_victim();
                if is_granted || is_victim || until_ns == deadline_ns {
                    break;
                }
            }
        }
        if waiting.end() {
            return Ok(());
        }
        Err(if is_victim { Abort::Deadlock } else { Abort::Timeout })
    }
    // ANCHOR_END: wait

    // ANCHOR: victims
    /// Ends all circles that the seeker is in, by the aborts of others, or says that its own is to end one.
    fn is_victim_of_cycles(&self, seeker: &mut Seeker) -> bool {
        while let Some(victim) = self.find_cycle(seeker) {
            if victim == seeker.me {
                return true;
            }
            let vertex = &self.graph[victim.slot as usize];
            let entry = vertex.entry.lock();
            if entry.waits == Some(victim.rank) && !is_planted(&plants::DL_DETECT_SPARES_OTHERS) {
                vertex.is_victim.store(true, Ordering::Relaxed); // Relaxed: it orders nothing else.
            }
        }
        false
    }
    // ANCHOR_END: victims

    // ANCHOR: cycle
    /// Goes from the seeker to those for whom it waits, and from them on: who of a shortest circle back to it is to
    /// abort. Who is to abort already waits for nobody.
    fn find_cycle(&self, seeker: &mut Seeker) -> Option<Party> {
        let Seeker { me, seen, .. } = seeker;
        seen.clear();
        let come_to = |seen: &mut AccessSet<Seen>, party: Party, from| {
            // Two attempts of a slot are not the same.
            let id =
                (party.rank as usize).wrapping_mul(self.graph.len()).wrapping_add(party.slot as usize) << 3;
            if seen.find(id).is_none() {
                seen.push(id, Seen { party, weight: Weight::default(), from });
            }
        };
        come_to(seen, *me, None);
        let mut position = 0;
        while position < seen.len() && !is_planted(&plants::DL_DETECT_SEES_NOTHING) {
            let party = seen.get(position).party;
            let vertex = &self.graph[party.slot as usize];
            let entry = vertex.entry.lock();
            // Relaxed: it is set under the latch.
            if entry.waits == Some(party.rank) && !vertex.is_victim.load(Ordering::Relaxed) {
                seen.get_mut(position).weight = entry.weight;
                if entry.blockers.contains(me) {
                    return Some(heaviest(seen, position));
                }
                entry.blockers.iter().for_each(|blocker| come_to(seen, *blocker, Some(position)));
            }
            drop(entry);
            position += 1;
        }
        None
    }
    // ANCHOR_END: cycle
}

/// Who has the greatest weight on the way on which a search came to a position.
fn heaviest(seen: &AccessSet<Seen>, position: usize) -> Party {
    let way = core::iter::successors(Some(seen.get(position)), |seen_last| {
        seen_last.from.map(|from| seen.get(from))
    });
    way.max_by_key(|seen| seen.weight).expect("a way has an end").party
}

/// That a slot says for whom it waits, until dropped: also by a panic.
struct Told<'v>(&'v Vertex);

impl<'v> Told<'v> {
    fn new(vertex: &'v Vertex, me: Party, weight: Weight) -> Self {
        let mut entry = vertex.entry.lock();
        (entry.waits, entry.weight) = (Some(me.rank), weight);
        entry.blockers.clear();
        vertex.is_victim.store(false, Ordering::Relaxed); // Relaxed: others set it under the latch.
        Self(vertex)
    }

    /// Says for whom a request waits now.
    fn tell(&self, waiting: &Waiting<'_>) {
        let blockers = &mut self.0.entry.lock().blockers;
        blockers.clear();
        waiting.for_each_blocker(|party| blockers.push(party));
    }

    fn is_victim(&self) -> bool {
        self.0.is_victim.load(Ordering::Relaxed) // Relaxed: a flag that orders nothing else.
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.entry.lock().waits = None;
    }
}
