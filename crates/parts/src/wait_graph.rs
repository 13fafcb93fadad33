//! The graph of waits between attempts, by slot, and the choice of a victim where a wait leads back to itself: for
//! schemes in which attempts wait for each other in any order.
//!
//! INVARIANTS
//! (1) Each entry has a latch. So of two attempts that publish their waits and then look, one sees the entry of the
//!     other: the last attempt of a circle to do so finds the circle.
//! (2) Attempts are known by their number. An entry about an attempt that has ended leads nowhere.
//! (3) An attempt that waits for an exclusive lock in a queue waits for all before it, and an upgrade for all other
//!     owners. So a search that has come to it does not follow those of them that wait in the same queue: they wait
//!     for attempts that are before it, too. Without this rule a search through n writers of one record would follow
//!     n * n / 2 waits. The queue has to be one in order of arrival, in which each attempt has one request until it
//!     ends; and an attempt takes back what it told before it takes back its request.
//! (4) All attempts that find a circle choose the same victim ([`Weight`]), and go on until there is no circle: an
//!     attempt that closes two has to end both.

use core::cmp::Reverse;

use engine::AccessSet;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::{Latched, Padded, hint};

use crate::{Party, QueueId, Waiting, plants};

/// The attempts that the attempts of each slot wait for.
#[derive(Debug)]
pub struct WaitGraph(Box<[Padded<Vertex>]>);

/// The entry in which a slot publishes its waits.
#[derive(Debug, Default)]
struct Vertex {
    entry: Latched<Entry>,
    /// Whether the slot's waiting attempt is to abort.
    is_victim: AtomicBool,
    /// The number of the slot's last attempt, whichever session made it.
    attempts: AtomicU64,
}

#[derive(Debug, Default)]
struct Entry {
    /// The attempt that waits; `None` while none does.
    waits: Option<u64>,
    weight: Weight,
    /// The queue in which it waits, if it is one.
    queue: Option<QueueId>,
    /// Whether it waits for the exclusive lock of this queue: invariant (3).
    is_exclusive: bool,
    blockers: Vec<Party>,
}

/// The weight of an attempt: the greatest of a circle is to abort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight {
    /// The number of locks: the fewest first, if the choice goes by locks.
    pub locks: Reverse<usize>,
    /// The birth of the transaction: the youngest first.
    pub birth: u64,
    /// The slot: no two attempts of a circle have the same.
    pub slot: u32,
}

/// The attempts of a slot, which wait, and look for circles.
#[derive(Debug)]
pub struct Seeker {
    me: Party,
    /// The attempts that a search has reached.
    seen: AccessSet<Seen>,
}

/// An attempt that a search has reached, and the position of the one before it.
#[derive(Debug)]
struct Seen {
    party: Party,
    weight: Weight,
    from: Option<usize>,
    /// The queue whose other attempts, all of those before this one, are among its blockers.
    behind_all_of: Option<QueueId>,
}

impl WaitGraph {
    /// Makes a graph for this many slots.
    pub fn new(slots: usize) -> Self {
        Self((0..slots).map(|_| Padded::default()).collect())
    }

    /// Makes the seeker of a slot's attempts.
    pub fn attach(&self, slot: usize) -> Seeker {
        // Relaxed: whoever had the slot before has handed it on.
        let me = Party { rank: self.0[slot].attempts.load(Ordering::Relaxed), slot: slot as u32 };
        Seeker { me, seen: AccessSet::default() }
    }

    /// Begins the slot's next attempt.
    #[inline]
    pub fn begin(&self, seeker: &mut Seeker) {
        seeker.me.rank += 1;
        // Relaxed: for the next session of the slot.
        self.0[seeker.me.slot as usize].attempts.store(seeker.me.rank, Ordering::Relaxed);
    }

    /// Begins a wait of the attempt, for no other so far.
    pub fn wait(&self, seeker: &Seeker, weight: Weight) -> Told<'_> {
        let vertex = &self.0[seeker.me.slot as usize];
        let mut entry = vertex.entry.lock();
        (entry.waits, entry.weight, entry.queue) = (Some(seeker.me.rank), weight, None);
        entry.blockers.clear();
        vertex.is_victim.store(false, Ordering::Relaxed); // Relaxed: others set it under the latch.
        Told(vertex)
    }

    /// Publishes that another slot's attempt waits for this one, if it does: `waits_for_me` is asked under the latch of
    /// the other attempt's entry.
    pub fn tell_of(&self, slot: u32, seeker: &Seeker, waits_for_me: impl FnOnce() -> bool) {
        let mut entry = self.0[slot as usize].entry.lock();
        if entry.waits.is_some() && waits_for_me() && !entry.blockers.contains(&seeker.me) {
            entry.blockers.push(seeker.me);
        }
    }

    // ANCHOR: victims
    /// Ends all circles that the seeker is in, by the aborts of others. Returns whether its own attempt is to end one.
    pub fn is_victim_of_cycles(&self, seeker: &mut Seeker) -> bool {
        while let Some(victim) = self.find_cycle(seeker) {
            if victim == seeker.me {
                return true;
            }
            let vertex = &self.0[victim.slot as usize];
            let entry = vertex.entry.lock();
            if entry.waits == Some(victim.rank) && !is_planted(&plants::WAIT_GRAPH_SPARES_OTHERS) {
                vertex.is_victim.store(true, Ordering::Relaxed); // Relaxed: it orders nothing else.
            }
        }
        false
    }
    // ANCHOR_END: victims

    // ANCHOR: cycle
    /// Searches from the seeker along the waits, and returns the victim of a shortest circle back to the seeker. An
    /// attempt that is to abort already waits for no other.
    fn find_cycle(&self, seeker: &mut Seeker) -> Option<Party> {
        let Seeker { me, seen } = seeker;
        seen.clear();
        let come_to = |seen: &mut AccessSet<Seen>, party: Party, from| {
            // Attempts of the same slot with different numbers are different.
            let id = (party.rank as usize).wrapping_mul(self.0.len()).wrapping_add(party.slot as usize) << 3;
            seen.find_or_push(id, || Seen { party, weight: Weight::default(), from, behind_all_of: None });
        };
        come_to(seen, *me, None);
        let mut position = 0;
        while position < seen.len() && !is_planted(&plants::WAIT_GRAPH_SEES_NOTHING) {
            let party = seen.get(position).party;
            let vertex = &self.0[party.slot as usize];
            let entry = vertex.entry.lock();
            // Relaxed: it is set under the latch.
            if entry.waits == Some(party.rank) && !vertex.is_victim.load(Ordering::Relaxed) {
                let follows = seen.get(position).from.and_then(|from| seen.get(from).behind_all_of);
                let reached = seen.get_mut(position);
                reached.weight = entry.weight;
                reached.behind_all_of = entry.queue.filter(|_| entry.is_exclusive);
                if entry.queue.is_none() || entry.queue != follows {
                    hint::reads(&entry.blockers[..]);
                    if entry.blockers.contains(me) {
                        return Some(heaviest(seen, position));
                    }
                    entry.blockers.iter().for_each(|blocker| come_to(seen, *blocker, Some(position)));
                }
            }
            drop(entry);
            position += 1;
        }
        None
    }
    // ANCHOR_END: cycle
}

impl Seeker {
    /// The attempt, by its number.
    #[inline]
    pub fn me(&self) -> Party {
        self.me
    }
}

/// The attempt with the greatest weight on the way by which a search reached a position.
fn heaviest(seen: &AccessSet<Seen>, position: usize) -> Party {
    let way = core::iter::successors(Some(seen.get(position)), |seen_last| {
        seen_last.from.map(|from| seen.get(from))
    });
    way.max_by_key(|seen| seen.weight).expect("a way has an end").party
}

/// The publication of a slot's waits, until it is dropped: also by a panic.
#[derive(Debug)]
pub struct Told<'g>(&'g Vertex);

impl Told<'_> {
    /// Publishes the attempts that the attempt waits for now, those that `tell` passes on, in place of earlier ones.
    pub fn tell(&self, tell: impl FnOnce(&mut Vec<Party>)) {
        self.publish(None, tell);
    }

    /// Like [`tell`](Self::tell), for an attempt that waits in a queue in order of arrival: see invariant (3).
    pub fn tell_of_queue(&self, waiting: &Waiting<'_>) {
        self.publish(Some(waiting), |blockers| waiting.for_each_blocker(|party| blockers.push(party)));
    }

    fn publish(&self, waiting: Option<&Waiting<'_>>, tell: impl FnOnce(&mut Vec<Party>)) {
        let mut entry = self.0.entry.lock();
        entry.queue = waiting.map(Waiting::queue);
        entry.is_exclusive = waiting.is_some_and(Waiting::is_exclusive);
        entry.blockers.clear();
        tell(&mut entry.blockers);
        hint::writes(&entry.blockers[..]);
    }

    /// Whether the attempt is to abort.
    pub fn is_victim(&self) -> bool {
        self.0.is_victim.load(Ordering::Relaxed) // Relaxed: a flag that orders nothing else.
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.entry.lock().waits = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fifo, LockMode, LockQueues, LockWord, RequestId};

    fn weight(birth: u64) -> Weight {
        Weight { birth, ..Weight::default() }
    }

    #[test]
    fn who_closes_a_circle_finds_it_and_the_youngest_is_the_victim() {
        let graph = WaitGraph::new(3);
        let mut seekers = [0, 1, 2].map(|slot| graph.attach(slot));
        for seeker in &mut seekers {
            graph.begin(seeker);
        }
        let [first, second, third] = seekers.each_ref().map(|seeker| seeker.me);
        let told = [0, 1, 2].map(|at: usize| graph.wait(&seekers[at], weight([1, 9, 5][at])));
        told[0].tell(|blockers| blockers.push(second));
        told[1].tell(|blockers| blockers.push(third));
        assert!(!graph.is_victim_of_cycles(&mut seekers[0]), "there is no circle yet");
        told[2].tell(|blockers| blockers.push(first));
        assert!(!graph.is_victim_of_cycles(&mut seekers[2]), "another is younger");
        assert_eq!(told.each_ref().map(Told::is_victim), [false, true, false]);
        assert!(!graph.is_victim_of_cycles(&mut seekers[1]), "the circle has a victim");
    }

    #[test]
    fn a_search_follows_who_waits_elsewhere_and_not_who_waits_in_the_same_queue() {
        let (graph, queues, words) =
            (WaitGraph::new(3), LockQueues::new(3), [(); 2].map(|()| LockWord::default()));
        let mut seekers = [0, 1, 2].map(|slot| graph.attach(slot));
        for seeker in &mut seekers {
            graph.begin(seeker);
        }
        let [owner, mate, last] = seekers.each_ref().map(|seeker| seeker.me);
        let ask = |word: usize, party: Party, mode| {
            let id = RequestId::new(party.slot, word).expect("there is room");
            queues.ask(&words[word], id, party.rank, mode, &mut Fifo).expect("nothing is refused")
        };
        let told = [0, 1, 2].map(|at: usize| graph.wait(&seekers[at], weight(at as u64)));
        assert!(ask(0, owner, LockMode::Exclusive).is_none() && ask(1, owner, LockMode::Exclusive).is_none());
        let waits = ask(0, mate, LockMode::Exclusive).expect("the owner has it");
        told[1].tell_of_queue(&waits);
        for (mode, sees) in [(LockMode::Exclusive, false), (LockMode::Shared, true)] {
            let waits_behind = ask(0, last, mode).expect("two are before it");
            told[2].tell_of_queue(&waits_behind);
            assert_eq!(told[2].0.entry.lock().blockers, [owner, mate]);
            // A lie, by which to see whether the entry was followed: the mate does not wait for the last one.
            told[1].0.entry.lock().blockers.push(last);
            assert_eq!(graph.is_victim_of_cycles(&mut seekers[2]), sees, "{mode:?}");
            told[1].tell_of_queue(&waits);
            drop(waits_behind);
        }
        let waits_behind = ask(0, last, LockMode::Exclusive).expect("two are before it");
        told[2].tell_of_queue(&waits_behind);
        // The mate waits for another record by now: it had the lock meanwhile.
        let waits_elsewhere = ask(1, mate, LockMode::Exclusive).expect("the owner has it");
        told[1].tell_of_queue(&waits_elsewhere);
        told[1].0.entry.lock().blockers.push(last);
        assert!(graph.is_victim_of_cycles(&mut seekers[2]), "the mate may wait for anybody there");
    }

    #[test]
    fn an_attempt_is_told_of_only_while_it_waits_and_not_after_its_end() {
        let graph = WaitGraph::new(2);
        let mut seekers = [0, 1].map(|slot| graph.attach(slot));
        for seeker in &mut seekers {
            graph.begin(seeker);
        }
        graph.tell_of(0, &seekers[1], || panic!("nobody waits"));
        let told = graph.wait(&seekers[0], weight(2));
        let other = graph.wait(&seekers[1], weight(1));
        other.tell(|blockers| blockers.push(seekers[0].me));
        graph.tell_of(0, &seekers[1], || false);
        assert!(!graph.is_victim_of_cycles(&mut seekers[0]));
        graph.tell_of(0, &seekers[1], || true);
        assert!(graph.is_victim_of_cycles(&mut seekers[0]), "it is the younger");
        drop(told);
        graph.begin(&mut seekers[0]);
        let _again = graph.wait(&seekers[0], weight(2));
        assert!(!graph.is_victim_of_cycles(&mut seekers[0]), "the other waits for the attempt before");
    }
}
