//! Queues of attempts that wait for an earlier one to decide: they go on in the order of their timestamps.
//!
//! Where timestamps order all accesses to a record, an attempt that goes on before an earlier one can make that one too
//! late. So those that wait for one record stand in its queue (Bernstein and Goodman's data managers buffer what is not
//! ready yet in the order of timestamps; so does `DBx1000`). Reads do not make each other too late: those without a
//! write between them go on together. The queue is advice: it says who tries first, and the rule of the scheme decides
//! who may, so an attempt that never waited may still come before those that did.
//!
//! INVARIANTS
//! (1) The attempts of a stripe stand in the order of their timestamps. A slot stands in one queue at a time.
//! (2) For each attempt that stands in a queue, `may_try` of its slot is true if nobody is before it in the queue, or,
//!     for a read, nobody who writes; and false otherwise.
//! (3) In a queue an attempt waits only for attempts with earlier timestamps, so queues add no cycle of waits.

use engine::Abort;
use sync::atomic::{AtomicBool, Ordering};
use sync::{Latched, Padded, clock, hint, waiter};

/// The share of the limit of a wait for which an attempt leaves the record to those before it in the queue although
/// nobody else is in its way, as its inverse: they may be threads that the system has stopped.
const PATIENCE_SHARE: u64 = 200;

/// The access to a record that an attempt waits to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedAccess {
    /// To read it.
    Read,
    /// To write it.
    Write,
}

/// An attempt that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The id of the record that it waits for.
    pub record: usize,
    /// The timestamp of the attempt.
    pub ts: u64,
    /// The slot of the attempt.
    pub slot: usize,
    /// The access that it wants to make.
    pub access: QueuedAccess,
}

/// A waiter in a queue.
#[derive(Debug)]
struct Entry {
    waiter: Waiter,
    /// The value of `may_try` of its slot.
    may_try: bool,
}

/// The queues of all records.
#[derive(Debug)]
pub struct TimestampQueues {
    /// Each has the queues of the records whose ids fall to it.
    stripes: Box<[Padded<Latched<Vec<Entry>>>]>,
    /// For each slot, whether it is the turn of its attempt.
    may_try: Box<[Padded<AtomicBool>]>,
    wait_ns: u64,
    patience_ns: u64,
}

impl TimestampQueues {
    /// Makes queues for this many slots. An attempt waits for each decision for `wait_ns` nanoseconds at most; with 0,
    /// nobody waits.
    pub fn new(slots: usize, wait_ns: u64) -> Self {
        let stripes = (4 * slots).next_power_of_two();
        Self {
            stripes: (0..stripes).map(|_| Padded::default()).collect(),
            may_try: (0..slots).map(|_| Padded::default()).collect(),
            wait_ns,
            patience_ns: (wait_ns / PATIENCE_SHARE).max(1),
        }
    }

    /// Waits until it is the turn of the attempt and `is_over` holds, which says that the attempt in its way has
    /// decided. After a while `is_over` is enough: the caller looks again, goes on if nobody is in its way, and waits
    /// anew otherwise. The attempt stands in the queue until `place` is dropped, which is to be after its access.
    ///
    /// # Errors
    /// The time is over, and the attempt in the way has not decided.
    #[cold]
    pub fn wait<'q>(
        &'q self,
        place: &mut Option<QueuePlace<'q>>,
        waiter: Waiter,
        is_over: impl Fn() -> bool,
    ) -> Result<(), Abort> {
        if self.wait_ns == 0 {
            return Err(Abort::Timeout);
        }
        let mut now_ns = clock::now_ns();
        let deadline_ns = now_ns.saturating_add(self.wait_ns);
        let place = place.get_or_insert_with(|| self.join(waiter));
        let stands = (place.waiter.record, place.waiter.ts, place.waiter.slot);
        debug_assert!(
            stands == (waiter.record, waiter.ts, waiter.slot),
            "an attempt stands in one queue at a time"
        );
        while now_ns < deadline_ns {
            let until_ns = deadline_ns.min(now_ns.saturating_add(self.patience_ns));
            if waiter::wait_until(Some(until_ns), || place.may_try() && is_over()) || is_over() {
                return Ok(());
            }
            now_ns = clock::now_ns();
        }
        Err(Abort::Timeout)
    }

    fn join(&self, waiter: Waiter) -> QueuePlace<'_> {
        let mut stripe = self.stripe(waiter.record).lock();
        hint::reads(&stripe[..]);
        let at = stripe.partition_point(|other| other.waiter.ts < waiter.ts);
        self.tell(waiter.slot, false);
        stripe.insert(at, Entry { waiter, may_try: false });
        hint::writes(&stripe[at..]);
        self.tell_all(&mut stripe, waiter.record);
        QueuePlace { queues: self, waiter }
    }

    fn leave(&self, waiter: Waiter) {
        let mut stripe = self.stripe(waiter.record).lock();
        hint::reads(&stripe[..]);
        let at =
            stripe.iter().position(|other| other.waiter == waiter).expect("who leaves a queue stands in it");
        stripe.remove(at);
        hint::writes(&stripe[at..]);
        self.tell_all(&mut stripe, waiter.record);
    }

    /// Tells those whose turn it has become, or is no more: invariant (2).
    fn tell_all(&self, stripe: &mut [Entry], record: usize) {
        let (mut is_first, mut reads_alone) = (true, true);
        for entry in stripe.iter_mut().filter(|entry| entry.waiter.record == record) {
            reads_alone &= entry.waiter.access == QueuedAccess::Read;
            let may_try = is_first || reads_alone;
            is_first = false;
            if may_try != entry.may_try {
                entry.may_try = may_try;
                self.tell(entry.waiter.slot, may_try);
            }
        }
    }

    fn tell(&self, slot: usize, may_try: bool) {
        self.may_try[slot].store(may_try, Ordering::Relaxed); // Relaxed: advice, see the header.
    }

    fn stripe(&self, record: usize) -> &Latched<Vec<Entry>> {
        // Fibonacci hashing: the topmost bits depend on all bits of the id. There are two stripes or more, so that the
        // shift is less than the width.
        let hash = (record as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.stripes[(hash >> (u64::BITS - self.stripes.len().ilog2())) as usize]
    }
}

/// The place of an attempt in a queue, until dropped.
#[derive(Debug)]
#[must_use = "a place is for the access that follows the wait"]
pub struct QueuePlace<'q> {
    queues: &'q TimestampQueues,
    waiter: Waiter,
}

impl QueuePlace<'_> {
    fn may_try(&self) -> bool {
        self.queues.may_try[self.waiter.slot].load(Ordering::Relaxed) // Relaxed: as above.
    }
}

impl Drop for QueuePlace<'_> {
    #[cold]
    fn drop(&mut self) {
        self.queues.leave(self.waiter);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use sync::workers;

    use super::*;

    fn write(record: usize, ts: u64, slot: usize) -> Waiter {
        Waiter { record, ts, slot, access: QueuedAccess::Write }
    }

    fn read(record: usize, ts: u64, slot: usize) -> Waiter {
        Waiter { access: QueuedAccess::Read, ..write(record, ts, slot) }
    }

    #[test]
    fn the_earliest_of_a_record_tries_first() {
        let queues = TimestampQueues::new(4, 1);
        let late = queues.join(write(64, 9, 0));
        assert!(late.may_try());
        let early = queues.join(write(64, 5, 1));
        assert!(early.may_try() && !late.may_try(), "an earlier attempt has joined");
        let between = queues.join(write(64, 7, 2));
        assert!(early.may_try() && !between.may_try() && !late.may_try());
        drop(early);
        assert!(between.may_try() && !late.may_try());
        drop(late);
        assert!(between.may_try(), "the last has gone");
    }

    #[test]
    fn reads_without_a_write_between_them_go_on_together() {
        let queues = TimestampQueues::new(8, 1);
        let [one, other] = [(5, 0), (7, 1)].map(|(ts, slot)| queues.join(read(64, ts, slot)));
        assert!(one.may_try() && other.may_try());
        let behind = queues.join(read(64, 9, 2));
        let writes = queues.join(write(64, 8, 3));
        assert!(other.may_try() && !writes.may_try() && !behind.may_try(), "a write between them");
        drop(one);
        assert!(!writes.may_try(), "another read is before it");
        drop(other);
        assert!(writes.may_try() && !behind.may_try());
        drop(writes);
        assert!(behind.may_try());
    }

    #[test]
    fn records_of_one_stripe_have_queues_of_their_own() {
        let queues = TimestampQueues::new(4, 1);
        let is_beside = |id: &usize| core::ptr::eq(queues.stripe(*id), queues.stripe(64));
        let beside = (128..).step_by(64).find(is_beside).expect("there are few stripes");
        let first = queues.join(write(64, 3, 0));
        let other = queues.join(write(beside, 5, 1));
        let second = queues.join(write(64, 7, 2));
        assert!(first.may_try() && other.may_try() && !second.may_try());
        drop(first);
        assert!(other.may_try() && second.may_try());
        drop((other, second));
        assert!(queues.stripe(64).lock().is_empty());
    }

    #[test]
    fn a_wait_ends_in_time_and_its_place_stays_until_it_is_dropped() {
        let (queues, never) = (TimestampQueues::new(2, 1_000), TimestampQueues::new(2, 0));
        let mut place = None;
        let (first, later) = (queues.join(write(64, 3, 0)), write(64, 5, 1));
        assert_eq!(queues.wait(&mut place, later, || false), Err(Abort::Timeout), "nobody has decided");
        assert_eq!(
            queues.wait(&mut place, later, || true),
            Ok(()),
            "the queue alone is too long: look again"
        );
        drop(first);
        assert_eq!(queues.wait(&mut place, later, || false), Err(Abort::Timeout), "nobody has decided");
        assert_eq!(queues.wait(&mut place, later, || true), Ok(()));
        assert_eq!(queues.stripe(64).lock().len(), 1);
        place = None;
        assert!(place.is_none() && queues.stripe(64).lock().is_empty());
        assert_eq!(never.wait(&mut place, later, || true), Err(Abort::Timeout));
        assert!(place.is_none() && never.stripe(64).lock().is_empty());
    }

    #[test]
    fn nobody_waits_long_for_one_before_that_does_not_go_on() {
        let queues = TimestampQueues { patience_ns: 1_000, ..TimestampQueues::new(2, u64::MAX) };
        let _stopped = queues.join(write(64, 3, 0));
        let mut place = None;
        assert_eq!(queues.wait(&mut place, write(64, 5, 1), || true), Ok(()));
    }

    #[test]
    fn whoever_stands_in_a_queue_gets_its_turn() {
        const WORKERS: usize = 4;
        let queues = TimestampQueues::new(WORKERS, 1_000_000_000);
        workers::run(WORKERS, false, |worker| {
            for round in 0..2_000_u64 {
                let ts = round * WORKERS as u64 + worker as u64;
                let record = 64 * (1 + (round as usize + worker) % 3);
                let waiter =
                    if round % 3 == 0 { read(record, ts, worker) } else { write(record, ts, worker) };
                let mut place = None;
                assert_eq!(queues.wait(&mut place, waiter, || true), Ok(()));
            }
        });
        assert!(queues.stripes.iter().all(|stripe| stripe.lock().is_empty()));
    }
}
