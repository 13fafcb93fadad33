//! Seats: sessions shared by all threads of the program, one for each transaction that may run at a time.
//!
//! A thread takes the seat of its own number if that seat is free. So if there are no more threads than seats, each
//! thread keeps its seat, and the seat's data stay in the cache of that thread's core.

use durability::Log;
use engine::slot_rng;
use stdx::Rng;
use sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Latched, LatchedGuard, Padded, clock, threads, waiter};

use crate::counters::{Counters, Tally};
use crate::error::Error;
use crate::options::Options;
use crate::store::{Sitting, Store};

/// A seat, which one caller has at a time. Callers do not wait for its latch: if it is not free, they try another seat.
#[derive(Default)]
pub(crate) struct Seat {
    /// `Some` from the first time that the seat is taken until the database is closed.
    pub(crate) held: Option<Held>,
    /// Attempts until maintenance is due.
    pub(crate) until_maintenance: u32,
    /// Inserts until the memory in use is checked again.
    pub(crate) until_weighing: u32,
    /// A buffer for the words of a row that is written.
    pub(crate) scratch: Vec<u64>,
    /// A buffer for the words of a row that is read and put together of its column groups.
    pub(crate) row: Vec<u64>,
}

/// The parts of an open database that a seat holds.
pub(crate) struct Held {
    pub(crate) session: Box<dyn Sitting + Send>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) rng: Rng,
}

/// A guard: its caller has the seat until the guard is dropped.
pub(crate) struct Taken<'p> {
    pub(crate) seat: LatchedGuard<'p, Seat>,
    pub(crate) tally: &'p Tally,
    pub(crate) number: usize,
}

pub(crate) struct Pool {
    /// `None` when the database is closed.
    store: Latched<Option<Arc<dyn Store>>>,
    /// The log to which sessions write their commits, if there is one.
    log: Option<Log>,
    seats: Box<[Padded<Latched<Seat>>]>,
    tallies: Box<[Padded<Tally>]>,
    is_closed: AtomicBool,
    waiting: Padded<AtomicUsize>,
    waiting_max: usize,
    patience_ns: u64,
    refusals: AtomicU64,
}

impl Pool {
    pub(crate) fn new(store: Arc<dyn Store>, log: Option<Log>, options: &Options) -> Self {
        let seats = 0..options.sessions;
        Self {
            store: Latched::new(Some(store)),
            log,
            seats: seats.clone().map(|_| Padded::default()).collect(),
            tallies: seats.map(|_| Padded::default()).collect(),
            is_closed: AtomicBool::new(false),
            waiting: Padded::default(),
            waiting_max: options.waiting,
            patience_ns: options.patience_ms.saturating_mul(1_000_000),
            refusals: AtomicU64::new(0),
        }
    }

    /// Takes a seat. If none is free, waits for one, unless too many callers wait already.
    #[inline]
    pub(crate) fn admit(&self) -> Result<Taken<'_>, Error> {
        // Relaxed: a caller that misses the store finds the seat empty.
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(Error::Closed);
        }
        let mut taken = match self.try_take() {
            Some(taken) => taken,
            None => self.queue()?,
        };
        if taken.seat.held.is_none() {
            taken.seat.held = Some(self.hold(taken.number)?);
        }
        Ok(taken)
    }

    #[inline]
    fn try_take(&self) -> Option<Taken<'_>> {
        let (first, count) = (threads::number() % self.seats.len(), self.seats.len());
        (first..count).chain(0..first).find_map(|number| {
            let seat = self.seats[number].try_lock()?;
            Some(Taken { seat, tally: &self.tallies[number], number })
        })
    }

    #[cold]
    fn queue(&self) -> Result<Taken<'_>, Error> {
        // Relaxed, here and below: a bound on the number of waiting callers, which orders nothing.
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut taken = None;
        if waiting < self.waiting_max {
            let deadline_ns = clock::now_ns().saturating_add(self.patience_ns);
            waiter::wait_until(Some(deadline_ns), || {
                taken = self.try_take();
                taken.is_some()
            });
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        taken.ok_or_else(|| {
            self.refuse();
            Error::Overloaded { waiting }
        })
    }

    /// Counts a caller who is refused.
    pub(crate) fn refuse(&self) {
        self.refusals.fetch_add(1, Ordering::Relaxed); // Relaxed: a count.
    }

    /// Opens a session for a seat.
    #[cold]
    fn hold(&self, number: usize) -> Result<Held, Error> {
        let store = self.store.lock().clone().ok_or(Error::Closed)?;
        let session = Arc::clone(&store).session(self.log.as_ref());
        Ok(Held { session, store, rng: slot_rng(number) })
    }

    /// Admits no more callers, waits until all seats are free, and drops the store.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed); // Relaxed: see `admit`.
        drop(self.store.lock().take());
        for seat in &self.seats {
            let mut held = None;
            waiter::wait_until(None, || {
                seat.try_lock().is_some_and(|mut seat| {
                    held = seat.held.take();
                    true
                })
            });
        }
    }

    /// The sums of all seats' counts, with the counts of the pool.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        self.tallies.iter().for_each(|tally| tally.add_to(&mut counters));
        // Relaxed: counts.
        counters.overload_refusals = self.refusals.load(Ordering::Relaxed);
        counters.waiting = self.waiting.load(Ordering::Relaxed) as u64;
        let store = self.store.lock().clone();
        counters.used_bytes = store.map_or(0, |store| store.bytes() as u64);
        counters
    }
}
