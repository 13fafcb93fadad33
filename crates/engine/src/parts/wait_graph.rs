//! Who waits for whom, by slot, and who is to abort where that leads back to itself: for schemes in which attempts
//! wait for each other in any order.
//!
//! INVARIANTS
//! (1) Each entry has a latch, so of two who say for whom they wait and then look, one sees what the other said: the
//!     last of a circle to do so finds it.
//! (2) Attempts are known by their number. What was said of one that has ended leads nowhere.
//! (3) Whoever finds a circle chooses the same victim ([`Weight`]), and goes on until there is none: one who closes two
//!     has to end both.

use core::cmp::Reverse;

use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::{Latched, Padded};

use super::{AccessSet, Party};
use crate::plants;

/// For whom the attempts of each slot wait.
#[derive(Debug)]
pub struct WaitGraph(Box<[Padded<Vertex>]>);

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
pub struct Weight {
    /// The fewest locks first, if it goes by them.
    pub locks: Reverse<usize>,
    /// The youngest.
    pub birth: u64,
    /// No two have the same.
    pub slot: u32,
}

/// A slot's attempts: those who wait, and look for circles.
#[derive(Debug)]
pub struct Seeker {
    me: Party,
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

impl WaitGraph {
    /// For this many slots.
    pub fn new(slots: usize) -> Self {
        Self((0..slots).map(|_| Padded::default()).collect())
    }

    /// The attempts of a slot.
    pub fn attach(&self, slot: usize) -> Seeker {
        // Relaxed: whoever had the slot before has handed it on.
        let me = Party { rank: self.0[slot].attempts.load(Ordering::Relaxed), slot: slot as u32 };
        Seeker { me, seen: AccessSet::default() }
    }

    /// The slot's next attempt begins.
    #[inline]
    pub fn begin(&self, seeker: &mut Seeker) {
        seeker.me.rank += 1;
        // Relaxed: for the next session of the slot.
        self.0[seeker.me.slot as usize].attempts.store(seeker.me.rank, Ordering::Relaxed);
    }

    /// The attempt begins to wait, for nobody so far.
    pub fn wait(&self, seeker: &Seeker, weight: Weight) -> Told<'_> {
        let vertex = &self.0[seeker.me.slot as usize];
        let mut entry = vertex.entry.lock();
        (entry.waits, entry.weight) = (Some(seeker.me.rank), weight);
        entry.blockers.clear();
        vertex.is_victim.store(false, Ordering::Relaxed); // Relaxed: others set it under the latch.
        Told(vertex)
    }

    /// Says that another slot's attempt waits for this one, if that one waits, and does so, as it is asked under the
    /// latch of what it has said.
    pub fn tell_of(&self, slot: u32, seeker: &Seeker, waits_for_me: impl FnOnce() -> bool) {
        let mut entry = self.0[slot as usize].entry.lock();
        if entry.waits.is_some() && waits_for_me() && !entry.blockers.contains(&seeker.me) {
            entry.blockers.push(seeker.me);
        }
    }

    // ANCHOR: victims
    /// Ends all circles that the seeker is in, by the aborts of others, or says that its own is to end one.
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
    /// Goes from the seeker to those for whom it waits, and from them on: who of a shortest circle back to it is to
    /// abort. Who is to abort already waits for nobody.
    fn find_cycle(&self, seeker: &mut Seeker) -> Option<Party> {
        let Seeker { me, seen } = seeker;
        seen.clear();
        let come_to = |seen: &mut AccessSet<Seen>, party: Party, from| {
            // Two attempts of a slot are not the same.
            let id = (party.rank as usize).wrapping_mul(self.0.len()).wrapping_add(party.slot as usize) << 3;
            if seen.find(id).is_none() {
                seen.push(id, Seen { party, weight: Weight::default(), from });
            }
        };
        come_to(seen, *me, None);
        let mut position = 0;
        while position < seen.len() && !is_planted(&plants::WAIT_GRAPH_SEES_NOTHING) {
            let party = seen.get(position).party;
            let vertex = &self.0[party.slot as usize];
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

impl Seeker {
    /// The attempt, by its number.
    #[inline]
    pub fn me(&self) -> Party {
        self.me
    }
}

/// Who has the greatest weight on the way on which a search came to a position.
fn heaviest(seen: &AccessSet<Seen>, position: usize) -> Party {
    let way = core::iter::successors(Some(seen.get(position)), |seen_last| {
        seen_last.from.map(|from| seen.get(from))
    });
    way.max_by_key(|seen| seen.weight).expect("a way has an end").party
}

/// That a slot says for whom it waits, until dropped: also by a panic.
#[derive(Debug)]
pub struct Told<'g>(&'g Vertex);

impl Told<'_> {
    /// Says for whom the attempt waits now, in place of what was said before: those whom `tell` passes on.
    pub fn tell(&self, tell: impl FnOnce(&mut Vec<Party>)) {
        let blockers = &mut self.0.entry.lock().blockers;
        blockers.clear();
        tell(blockers);
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
