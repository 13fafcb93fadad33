//! Queues of attempts that wait for an earlier one to decide: they go on in the order of their timestamps.
//!
//! Where timestamps order all accesses to a record, an attempt that goes on before an earlier one makes that one too
//! late. So those that wait for one record stand in its queue (Bernstein and Goodman's data managers buffer what is not
//! ready yet in the order of timestamps; so does `DBx1000`). The queue is advice: it says who tries first, and the rule
//! of the scheme decides who may, so an attempt that never waited may still come before those that did.
//!
//! INVARIANTS
//! (1) The attempts of a room stand in the order of their timestamps, each once.
//! (2) The first of a record has the sign of its slot set, and the others of the record have not.
//! (3) Waits in a queue go from later to earlier timestamps, so that they close no circle that the scheme has not.

use engine::Abort;
use sync::atomic::{AtomicBool, Ordering};
use sync::{Latched, Padded, clock, hint, waiter};

/// An attempt that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The id of the record that it waits for.
    pub record: usize,
    /// The timestamp of the attempt.
    pub ts: u64,
    /// The slot of the attempt.
    pub slot: usize,
}

/// The queues of all records.
#[derive(Debug)]
pub struct TimestampQueues {
    /// Each has the queues of the records whose ids fall to it.
    rooms: Box<[Padded<Latched<Vec<Waiter>>>]>,
    /// For each slot, whether its attempt is the first in the queue in which it stands.
    is_first: Box<[Padded<AtomicBool>]>,
    wait_ns: u64,
}

impl TimestampQueues {
    /// Makes queues for this many slots, in which an attempt waits for `wait_ns` nanoseconds at most; with 0, nobody
    /// waits.
    pub fn new(slots: usize, wait_ns: u64) -> Self {
        let rooms = (4 * slots).next_power_of_two();
        Self {
            rooms: (0..rooms).map(|_| Padded::default()).collect(),
            is_first: (0..slots).map(|_| Padded::default()).collect(),
            wait_ns,
        }
    }

    /// Waits until everybody who is earlier in the queue has gone on and `is_over` holds, which says that the attempt
    /// in the way has decided. The attempt keeps its place, which is put into `turn`, until that is dropped: after its
    /// access.
    ///
    /// # Errors
    /// The time is over.
    #[cold]
    pub fn wait<'q>(
        &'q self,
        turn: &mut Option<Turn<'q>>,
        waiter: Waiter,
        is_over: impl Fn() -> bool,
    ) -> Result<(), Abort> {
        if self.wait_ns == 0 {
            return Err(Abort::Timeout);
        }
        let deadline_ns = clock::now_ns().saturating_add(self.wait_ns);
        let turn = turn.get_or_insert_with(|| self.join(waiter));
        let may_go_on = waiter::wait_until(Some(deadline_ns), || turn.is_first() && is_over());
        if may_go_on { Ok(()) } else { Err(Abort::Timeout) }
    }

    fn join(&self, waiter: Waiter) -> Turn<'_> {
        let mut room = self.room(waiter.record).lock();
        let place = room.partition_point(|other| other.ts < waiter.ts);
        let is_first = !room[..place].iter().any(|other| other.record == waiter.record);
        if is_first && let Some(next) = room[place..].iter().find(|other| other.record == waiter.record) {
            self.tell(next.slot, false);
        }
        self.tell(waiter.slot, is_first);
        room.insert(place, waiter);
        hint::writes(&room[place..]);
        Turn { queues: self, waiter }
    }

    fn leave(&self, waiter: Waiter) {
        let mut room = self.room(waiter.record).lock();
        let place = room.iter().position(|other| *other == waiter).expect("who leaves a queue stands in it");
        room.remove(place);
        hint::writes(&room[place..]);
        if !room[..place].iter().any(|other| other.record == waiter.record)
            && let Some(next) = room[place..].iter().find(|other| other.record == waiter.record)
        {
            self.tell(next.slot, true);
        }
    }

    fn room(&self, record: usize) -> &Latched<Vec<Waiter>> {
        // Fibonacci hashing: the upper bits depend on all bits of the id.
        let hash = (record as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.rooms[(hash >> 32) as usize & (self.rooms.len() - 1)]
    }

    fn tell(&self, slot: usize, is_first: bool) {
        self.is_first[slot].store(is_first, Ordering::Relaxed); // Relaxed: advice, see the header.
    }
}

/// The place of an attempt in a queue, until dropped.
#[derive(Debug)]
#[must_use = "a place is for the access that follows the wait"]
pub struct Turn<'q> {
    queues: &'q TimestampQueues,
    waiter: Waiter,
}

impl Turn<'_> {
    fn is_first(&self) -> bool {
        self.queues.is_first[self.waiter.slot].load(Ordering::Relaxed) // Relaxed: as above.
    }
}

impl Drop for Turn<'_> {
    #[cold]
    fn drop(&mut self) {
        self.queues.leave(self.waiter);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn waiter(record: usize, ts: u64, slot: usize) -> Waiter {
        Waiter { record, ts, slot }
    }

    #[test]
    fn the_earliest_of_a_record_is_first() {
        let queues = TimestampQueues::new(4, 1);
        let late = queues.join(waiter(64, 9, 0));
        assert!(late.is_first());
        let early = queues.join(waiter(64, 5, 1));
        assert!(early.is_first() && !late.is_first(), "an earlier attempt has joined");
        let between = queues.join(waiter(64, 7, 2));
        assert!(early.is_first() && !between.is_first() && !late.is_first());
        drop(early);
        assert!(between.is_first() && !late.is_first());
        drop(late);
        assert!(between.is_first(), "the last has gone");
    }

    #[test]
    fn records_of_one_room_have_queues_of_their_own() {
        let queues = TimestampQueues::new(1, 1);
        let is_beside = |id: &usize| core::ptr::eq(queues.room(*id), queues.room(64));
        let beside = (128..).step_by(64).find(is_beside).expect("there are few rooms");
        let queues = TimestampQueues { is_first: TimestampQueues::new(4, 1).is_first, ..queues };
        let first = queues.join(waiter(64, 3, 0));
        let other = queues.join(waiter(beside, 5, 1));
        let second = queues.join(waiter(64, 7, 2));
        assert!(first.is_first() && other.is_first() && !second.is_first());
        drop(first);
        assert!(other.is_first() && second.is_first());
        drop((other, second));
        assert!(queues.room(64).lock().is_empty());
    }

    #[test]
    fn a_wait_ends_in_time_and_its_place_stays_until_it_is_dropped() {
        let (queues, never) = (TimestampQueues::new(2, 1_000), TimestampQueues::new(2, 0));
        let mut turn = None;
        let first = queues.join(waiter(64, 3, 0));
        assert_eq!(
            queues.wait(&mut turn, waiter(64, 5, 1), || true),
            Err(Abort::Timeout),
            "another is first"
        );
        drop(first);
        assert_eq!(
            queues.wait(&mut turn, waiter(64, 5, 1), || false),
            Err(Abort::Timeout),
            "nobody has decided"
        );
        assert_eq!(queues.wait(&mut turn, waiter(64, 5, 1), || true), Ok(()));
        assert_eq!(queues.room(64).lock().len(), 1);
        turn = None;
        assert!(turn.is_none() && queues.room(64).lock().is_empty());
        assert_eq!(never.wait(&mut turn, waiter(64, 5, 1), || true), Err(Abort::Timeout));
        assert!(turn.is_none() && never.room(64).lock().is_empty());
    }
}
