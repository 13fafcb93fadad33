//! The storage: queues in which reads wait until a batch of them is served.
//!
//! Where writes come before reads, a batch that is closed (`batch_wait`) is served once the writes of all commits that
//! were decided by then are in place, so that its reads see the newest state. Each session then copies its value
//! itself: a worker of the storage would have to hand it over from core to core.
//!
//! The paper's processors send all reads of a transaction at once. A procedure makes one read after the other, but
//! nothing comes between two of them unless it waits. So the first read waits for a batch, and the others are made when
//! that is served.

use sync::atomic::{AtomicU64, Ordering};
use sync::{Latch, Padded};

use super::batch_wait::wait_for_batch;
use super::settings::{Batching, Settings, Waits};
use super::validator::Validator;

/// The queues, each for a part of all records.
#[derive(Debug)]
pub struct ReadQueues {
    queues: Box<[Padded<ReadQueue>]>,
    batching: Batching,
    waits: Waits,
    batch_max: u64,
    wait_ns: u64,
}

/// A queue.
#[derive(Debug, Default)]
struct ReadQueue {
    /// The number of reads that have come, and of those among them whose batch is closed.
    arrivals: AtomicU64,
    closed: AtomicU64,
    /// Batches that are closed are served when all commits up to this number are in place.
    served_at: AtomicU64,
    closing: Latch,
}

impl ReadQueues {
    /// Makes the queues.
    pub fn new(settings: &Settings) -> Self {
        Self {
            queues: (0..settings.storage_queues).map(|_| Padded::default()).collect(),
            batching: settings.storage,
            waits: settings.waits,
            batch_max: settings.storage_batch as u64,
            wait_ns: settings.wait_us * 1_000,
        }
    }

    /// Waits until the record with this id may be read. `has_waited` is the memory of the attempt.
    #[inline]
    pub fn stand(&self, id: usize, validator: &Validator, has_waited: &mut bool) {
        if self.batching != Batching::Direct && !(self.waits == Waits::Once && *has_waited) {
            *has_waited = true;
            self.stand_in_line(id, validator);
        }
    }

    fn stand_in_line(&self, id: usize, validator: &Validator) {
        let queue = &self.queues[(id >> 6) % self.queues.len()];
        // Relaxed, here and in `ReadQueue::is_due`: reads are served at any time, only not at the best.
        let place = queue.arrivals.fetch_add(1, Ordering::Relaxed);
        let is_served = || queue.is_served(place, validator);
        let is_due = |at_once| queue.is_open(place) && queue.is_due(if at_once { 1 } else { self.batch_max });
        wait_for_batch(self.wait_ns, is_served, is_due, || {
            if queue.is_open(place) {
                queue.close(if self.batching == Batching::Reorder { validator.decided() } else { 0 });
            }
        });
    }
}

impl ReadQueue {
    /// Whether the batch of the read at this place is open.
    #[inline]
    fn is_open(&self, place: u64) -> bool {
        self.closed.load(Ordering::Acquire) <= place // Acquire: pairs with the Release in `close`.
    }

    /// Whether the read at this place may go on.
    #[inline]
    fn is_served(&self, place: u64, validator: &Validator) -> bool {
        // Relaxed: this batch's number or a later one's.
        !self.is_open(place) && validator.installs.complete() >= self.served_at.load(Ordering::Relaxed)
    }

    /// Whether so many reads are in the open batch.
    #[inline]
    fn is_due(&self, reads: u64) -> bool {
        self.arrivals.load(Ordering::Relaxed) >= self.closed.load(Ordering::Relaxed) + reads
    }

    /// Closes the open batch, unless another session does.
    fn close(&self, served_at: u64) {
        if let Some(_guard) = self.closing.try_lock() {
            let arrivals = self.arrivals.load(Ordering::Relaxed); // Relaxed: the read of who calls is among them.
            self.served_at.store(served_at, Ordering::Relaxed); // Relaxed: the Release orders it.
            self.closed.store(arrivals, Ordering::Release); // Release: pairs with the Acquire in `is_open`.
        }
    }
}
