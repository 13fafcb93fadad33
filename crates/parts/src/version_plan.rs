//! The plan of a batch in which writes have their places in the version chains of records before any transaction
//! executes: a version for each write, without a value yet, with the number of its transaction. Locks protect keys and
//! stretches, which have no chain that a version could stand in.
//!
//! INVARIANTS
//! (1) Numbers fall along a chain (asserted in [`push_numbered`]): the versions of a batch are pushed in its order and
//!     by one manager. Versions that are pushed while transactions run already, are pushed under locks.
//! (2) No transaction of a batch needs a version older than the newest one that the batch finds (the cut in
//!     [`push_numbered`]).

use core::mem;

use engine::{Abort, Step};
use storage::{Pending, RecordRef, Slot};
use sync::atomic::{AtomicBool, Ordering};
use sync::{Latched, LatchedGuard, Padded, hint};

use crate::footprint::{Coverage, Footprint, Mode};
use crate::handovers::Handovers;
use crate::ordered_locks::OrderedLocks;
use crate::version_chain::{Chained, Stamped, cut};
use crate::{Batches, OwnVersions, RehearsedWrites};

/// The plans of a run's batches, one after the other.
#[derive(Debug)]
pub struct VersionPlan<'db, S: Chained> {
    locks: OrderedLocks,
    /// By worker, by manager: the writes of the next batch.
    writes: Handovers<Vec<Foreseen<'db, S>>>,
    /// By manager, by worker: the placeholders of the worker's transactions, in the order of places.
    placed: Handovers<Vec<Placed<'db, S>>>,
    /// By worker: whether a plan was made since it took its placeholders.
    has_plan: Box<[Padded<AtomicBool>]>,
    /// By place: placeholders that its worker has taken.
    places: Box<[Padded<Latched<Placeholders<'db, S>>>]>,
}

/// A record that the transaction at a place is to write, `times` times.
#[derive(Debug)]
struct Foreseen<'db, S: Chained> {
    record: RecordRef<'db, S>,
    worker: usize,
    place: usize,
    times: u32,
}

/// A placeholder of the transaction at a place.
#[derive(Debug)]
struct Placed<'db, S: Chained> {
    place: usize,
    placeholder: Placeholder<'db, S>,
}

/// A placeholder with the number of times that it will be written.
type Placeholder<'db, S> = (RecordRef<'db, S>, Pending<'db, S>, u32);

type Placeholders<'db, S> = Vec<Placeholder<'db, S>>;

impl<'db, S: Chained> VersionPlan<'db, S> {
    /// Makes plans for batches of at most `places` places, with as many managers as there are workers.
    pub fn new(places: usize, workers: usize) -> Self {
        Self {
            locks: OrderedLocks::new(places, workers, workers),
            writes: Handovers::new(workers, workers),
            placed: Handovers::new(workers, workers),
            has_plan: (0..workers).map(|_| Padded(AtomicBool::new(false))).collect(),
            places: (0..places).map(|_| Padded::default()).collect(),
        }
    }

    /// Takes over the footprint of the transaction at a place, which `worker` is to execute, and its writes. Called by
    /// that worker.
    pub fn declare(
        &self,
        worker: usize,
        place: usize,
        footprint: &mut Footprint,
        writes: &RehearsedWrites<'db, S>,
    ) {
        if !footprint.is_boundless() {
            let mut held: Option<(usize, LatchedGuard<'_, _>)> = None;
            // A record without a number of its own is in a stretch.
            for (record, number, times) in writes.numbered(footprint) {
                let manager = Footprint::manager_of(number, self.writes.takers());
                held.take_if(|(of, _)| *of != manager);
                let between = || (manager, self.writes.between(worker, manager));
                let (_, writes) = held.get_or_insert_with(between);
                writes.push(Foreseen { record, worker, place, times });
                hint::pushes(writes);
            }
        }
        self.locks.declare(worker, place, footprint);
    }

    /// Does a worker's share of planning when all transactions are declared: grants locks, and puts placeholders into
    /// chains.
    pub fn put(&self, slot: &mut Slot<'db, S>, batches: &Batches, worker: usize, workers: usize) {
        for manager in (worker..self.writes.takers()).step_by(workers) {
            self.locks.grant(manager);
            // The list of one worker takes in the others, and goes back: its memory is used again.
            let mut writes = mem::take(&mut *self.writes.between(worker, manager));
            hint::reads(&writes[..]);
            for mut foreseen in self.writes.for_taker(manager) {
                hint::reads(&foreseen[..]);
                writes.append(&mut foreseen);
            }
            hint::writes(&writes[..]);
            // Of one record in the order of the batch, whatever is between them.
            writes.sort_unstable_by_key(|write| write.place);
            for of_one in writes.chunk_by(|a, b| a.place == b.place) {
                let (of, place) = (of_one[0].worker, of_one[0].place);
                let (number, before) = (batches.number_of(place), batches.before());
                let mut placed = self.placed.between(manager, of);
                for &Foreseen { record, times, .. } in of_one {
                    let placeholder = (record, push_numbered(slot, record, number, before), times);
                    placed.push(Placed { place, placeholder });
                    hint::pushes(&placed);
                }
            }
            writes.clear();
            *self.writes.between(worker, manager) = writes;
        }
        // Relaxed: only this worker looks at it.
        self.has_plan[worker].store(true, Ordering::Relaxed);
    }

    /// Takes the placeholders that the managers have made for a worker's transactions.
    #[cold]
    fn take(&self, worker: usize) {
        self.has_plan[worker].store(false, Ordering::Relaxed); // Relaxed: see `put`.
        for mut placed in self.placed.for_taker(worker) {
            hint::reads(&placed[..]);
            for Placed { place, placeholder } in placed.drain(..) {
                let mut placeholders = self.places[place].lock();
                placeholders.push(placeholder);
                hint::pushes(&placeholders);
            }
        }
    }

    /// Whether the transaction at a place has all its locks.
    #[inline]
    pub fn are_locks_held(&self, place: usize) -> bool {
        self.locks.are_held(place)
    }

    /// Hands over the plan of the transaction at a place to its worker.
    pub fn hand_over(
        &self,
        worker: usize,
        place: usize,
        footprint: &mut Footprint,
        own: &mut OwnVersions<'db, S>,
    ) {
        self.locks.hand_over(place, footprint);
        // Relaxed: see `put`.
        if self.has_plan[worker].load(Ordering::Relaxed) {
            self.take(worker);
        }
        let mut placeholders = self.places[place].lock();
        hint::reads(&placeholders[..]);
        for (record, version, times) in placeholders.drain(..) {
            own.adopt(record, version, times);
        }
    }

    /// Gives up the locks of the transaction at a place, which has ended.
    pub fn release(&self, place: usize) {
        self.locks.release(place);
    }
}

/// The position of an attempt's own version of a record, for a new value, where the attempt has not written one: the
/// record's placeholder, if it has one at this position, or a version that is pushed now, as by [`push_numbered`].
///
/// # Errors
/// When the record has neither a placeholder nor a lock.
///
/// # Panics
/// When the lock of a key is used for a row that was there before the batch.
#[inline]
pub fn own_version<'db, S: Chained>(
    slot: &mut Slot<'db, S>,
    coverage: &Coverage,
    own: &mut OwnVersions<'db, S>,
    (record, placeholder): (RecordRef<'db, S>, Option<usize>),
    numbers: impl FnOnce() -> (u64, u64),
) -> Result<usize, Abort> {
    if let Some(at) = placeholder {
        own.write(at);
        return Ok(at);
    }
    let version = new_own_version(slot, coverage, record, numbers())?;
    Ok(own.add(record, version))
}

fn new_own_version<'db, S: Chained>(
    slot: &mut Slot<'db, S>,
    coverage: &Coverage,
    record: RecordRef<'db, S>,
    (number, watermark): (u64, u64),
) -> Result<Pending<'db, S>, Abort> {
    // A row that is there has its place in the order by its stretch or, if it was inserted within the batch, by its
    // key. For a row that was there before, other transactions read and write under the number of the record alone.
    let is_alone = coverage.step() != Step::Planned;
    let is_fresh = slot.newest(record).is_none();
    if !(is_alone || is_fresh) {
        if !coverage.is_covered_otherwise(Mode::Exclusive) {
            return Err(Abort::Footprint);
        }
        let mut chain = core::iter::successors(slot.newest(record), |version| slot.older(*version));
        let mut is_new = || chain.all(|version| version.meta().stamp().number() > watermark);
        assert!(coverage.stretch().is_some() || is_new(), "a key stands for rows that are new in the batch");
    }
    Ok(push_numbered(slot, record, number, watermark))
}

// ANCHOR: push
/// Puts a version with this number over the newest one of a record. No attempt looks at numbers below `watermark`.
pub fn push_numbered<'db, S: Chained>(
    slot: &mut Slot<'db, S>,
    record: RecordRef<'db, S>,
    number: u64,
    watermark: u64,
) -> Pending<'db, S> {
    let version = slot.new_version(record);
    version.version().meta().stamp().set_number(number);
    let over = loop {
        let over = slot.newest(record);
        // Invariant (1).
        assert!(
            over.is_none_or(|over| over.meta().stamp().number() < number),
            "a chain grows towards greater numbers"
        );
        // The push fails if the only version of the record is just being moved into the record.
        if record.push(&version, over) {
            break over;
        }
    };
    match over.map(|over| over.meta().stamp().number()) {
        Some(below) if below > watermark => slot.settle_later(record, number),
        Some(_) => cut(slot, record, &version, number, watermark), // Invariant (2).
        None => {}
    }
    version
}
// ANCHOR_END: push
