//! Caracal: versions in sorted arrays, appended in batches (Qin, Brown, Goel, SOSP 2021).
//!
//! IDEA        The transactions of a batch, which the paper calls an epoch, have an order before any of them runs. Each
//!             record that some of them will write gets an array with one version for each of these, sorted by the
//!             order and empty at first. A reader searches the array by halves for the last version before its own
//!             place, and waits for its value; nothing aborts for a conflict. Contended records show while the versions
//!             are appended, before anything executes. They are appended to in buffers, which are merged once. A
//!             transaction that writes such records executes on the worker that is responsible for the most contended
//!             of them, so that waits for this one are local.
//! RECORD      The value that earlier batches left is in place; the header says whether there is one, which array the
//!             record has, and where its next array is gathered (`version_arrays`, `batch_append`).
//! COMMIT      1. Find the footprint: the input states it, or the procedure is rehearsed: it runs, and changes nothing.
//!             2. Append the place of the transaction to each record that it will write, and declare the footprint.
//!             3. Lay out, when all have appended. Each worker takes its share of the records, merges and sorts their
//!                places, settles what an earlier batch left in the record's array (the minor collection), and lays the
//!                new array out. It settles the records whose arrays are about to be in the way (the major collection),
//!                and determines who is responsible for contended records. Locks are granted.
//!             4. Execute: each worker executes, in the order of the batch, the transactions of its clients for which
//!                nobody else is responsible, and those for which it is responsible. A blind write does not wait
//!                for the value: it asks only whether the record has one. Who deletes a row has an exclusive lock of
//!                its record, as under `bohm`, so no version that is not filled yet changes that.
//!             5. Fill the versions. A version that was not written, or whose transaction did not commit, is marked to
//!                be ignored: a reader that comes to it goes on to the version before.
//!             6. Transactions that touched what they had not declared execute again, alone, after the others, in their
//!                order.
//! INVARIANTS  (1) An attempt that waits for a version waits for a smaller place, and a worker executes in the order of
//!                 places: the first transaction that has not ended never waits.
//!             (2) A record with an array of the present batch is not written in place before the batch has executed.
//!                 Records that are written in place before that are under an exclusive lock, of their key or their
//!                 stretch, which is granted in the order of the batch: rows of a numbered stretch, and rows that are
//!                 new in the batch. Neither has an array.
//!             (3) Every version of an array is filled when its batch has executed, so that the last version that is
//!                 not to be ignored is the record's value from then on, until the record is settled.
//!             (4) Records are settled while nobody executes or rehearses, at the latest when the arrays of as many
//!                 batches stand as `caracal.collect_every` allows: arrays that are laid out later do not run over
//!                 them.
//! DEPARTURES  The original is told the write sets. Here a rehearsal finds those that inputs do not state, and keys
//!             that are missing, ranges, insertions and deletions are ordered by locks, as under `bohm`, where the
//!             reasons are. The original splits a transaction into pieces, and executes elsewhere only the pieces that
//!             touch contended records. A procedure is one function here: the whole transaction goes to the worker that
//!             is responsible for the most contended record that it writes. Whether a record is contended is told by
//!             its writers alone. Arrays are not kept from one batch to the next with their last version, but settled
//!             in place, by the same collections; a region of arrays is then given up at once. A version has the width
//!             of its record from the start, and is found by its place, without a pointer. Values are copied to the
//!             attempt and into the version. Rows are inserted when their transaction executes, and not before the
//!             batch does: locks of keys and stretches put such transactions in order. Where there is a log, the commit
//!             of a blind write waits for the value before it, as under `bohm`. Clients hear of no commit before its
//!             batch has ended, so that to them the order agrees with real time; but a transaction may run after one
//!             that comes later in the order has committed, and so no more is promised.

pub mod batch_append;
pub mod entry;
pub mod plants;
pub mod responsible;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;
pub mod version_arrays;

use engine::driver::Planned;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, End, Env, Facts, Family, Info, Isolation, Observer, Planning, Retire, Scheme, Sink, Stamp,
    Step, Ticket, Touch, Write, settings,
};
use parts::footprint::{Coverage, Footprint, Mode};
use parts::ordered_locks::OrderedLocks;
use parts::{BatchSize, Batches, Buffered, BufferedWrites, CopyBuffer, Numbered, StandardSize};
use storage::{InPlace, LeafRef, RecordRef, Shape, Slot};
use sync::atomic::{AtomicBool, Ordering};
use sync::plant::is_planted;
use sync::{Latched, Padded};

use self::batch_append::Appends;
use self::responsible::Responsible;
use self::version_arrays::{ArrayHead, Goal, LaidOut, Seen, VersionArray, VersionArrays};

/// The standard number of transactions in a batch.
const BATCH: StandardSize = StandardSize { each: 16, least: 16 };

settings! {
    /// The settings of the scheme.
    pub struct Settings of "caracal" {
        /// Transactions of a batch, which is the paper's epoch, and 0 for 16 for each worker: large ones, as in the
        /// paper, meet less often and show better what is contended; in small ones less has changed since the
        /// rehearsal.
        batch: usize {
            default: "0",
            range: Range::Int(0, 10_000),
            unit: "transactions",
            stresses: "meetings of the workers, latency, and the length of arrays of versions",
        },
        /// From how many versions in a batch on a record counts as contended, for `caracal.batch_append` and
        /// `caracal.split`.
        contended: usize {
            default: "32",
            range: Range::Int(1, 10_000),
            unit: "versions",
            stresses: "how many records are managed apart",
        },
        /// `on` gathers the versions of contended records in buffers of each session's own, which are merged once;
        /// `off` puts each into its place under the record's latch.
        batch_append: bool {
            default: "on",
            stresses: "latches of contended records while a batch is declared",
        },
        /// `on` executes a transaction that writes contended records on the worker responsible for the most contended
        /// one, so that there is no wait for it across workers; `off` executes each on the worker of its client.
        split: bool {
            default: "on",
            stresses: "waits between workers, and how evenly they are busy",
        },
        /// How many batches the versions of a record stand at most that is not written again: 1 settles all records in
        /// the next batch.
        collect_every: usize {
            default: "4",
            range: Range::Int(1, 200),
            unit: "batches",
            stresses: "memory for versions, and reads that find a value in an array",
        },
    }
}

/// The state that all transactions share.
#[derive(Debug)]
pub struct Caracal {
    batch_max: usize,
    slots: usize,
    is_batch_append: bool,
    splits: bool,
    /// The number of versions from which on a record is contended.
    contended: usize,
    arrays: VersionArrays,
    batches: Batches,
    is_abandoned: AtomicBool,
}

type Records<'db> = Vec<RecordRef<'db, Caracal>>;

/// The plans of a run's batches.
#[derive(Debug)]
pub struct Plan<'db> {
    locks: OrderedLocks,
    appends: Appends<'db, Caracal>,
    /// By place: the records that have a version for the transaction.
    appended: Box<[Padded<Latched<Records<'db>>>]>,
    responsible: Responsible,
    laid_out: LaidOut<'db, Caracal>,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Caracal>,
    numbered: Numbered,
    coverage: Coverage,
    writes: BufferedWrites<'db, Caracal, Goal<'db>>,
    /// The records that the input states to be written, but for those in stretches.
    stated: Records<'db>,
    /// The place in the present batch before which the attempt sees versions.
    place: u32,
    appended: Records<'db>,
    /// The copy that the last read lent.
    copy: CopyBuffer,
}

impl Shape for Caracal {
    type Header = ArrayHead;
    type Version = ();
    type Leaf = ();
    type Data = InPlace;
}

impl Scheme for Caracal {
    const INFO: Info = Info {
        name: "caracal",
        title: "Caracal",
        paper: "Qin, Brown, Goel: Caracal: contention management with deterministic concurrency control, SOSP 2021",
        family: Family::Deterministic,
        isolation: Isolation::Serializable,
        workers: Admits::Any,
        views: engine::Views::Unconfirmed,
        idea: "fixes the order of a batch, and appends empty versions to sorted arrays, which shows what is contended",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = Planned;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self {
            batch_max: BatchSize::new(settings.batch, BATCH).of(env.workers),
            slots: env.slots,
            is_batch_append: settings.batch_append,
            splits: settings.split,
            contended: settings.contended,
            arrays: VersionArrays::new(settings.collect_every, env.workers.max(1)),
            batches: Batches::default(),
            is_abandoned: AtomicBool::new(false),
        })
    }

    fn facts(settings: &Settings) -> Facts {
        BatchSize::new(settings.batch, BATCH).facts(&Self::INFO)
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            writes: BufferedWrites::new(&slot),
            stated: Vec::new(),
            slot,
            numbered: Numbered::default(),
            coverage: Coverage::default(),
            place: u32::MAX,
            appended: Vec::new(),
            copy: CopyBuffer::default(),
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().set(0, true);
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.writes.clear();
        txn.stated.clear();
        txn.numbered = self.batches.enter(ticket)?;
        txn.place = if ticket.step == Step::Planned { txn.numbered.place() as u32 } else { u32::MAX };
        txn.coverage.begin(ticket.step)
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        if let Some(own) = txn.writes.find(record) {
            return Ok(txn.writes.value(own));
        }
        txn.coverage.record(record.id(), Mode::Shared)?;
        let seen = self.see(record, txn.place)?;
        let copy = txn.copy.room(record.width());
        Ok(seen.copy(record, copy).then_some(&*copy))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        if let Some(own) = txn.writes.find(record) {
            return Ok(txn.writes.value_mut(own));
        }
        if txn.coverage.step() == Step::Rehearsal {
            txn.coverage.foresee_write(record.id());
        } else {
            txn.coverage.record(record.id(), Mode::Shared)?;
        }
        if how == Write::Blind {
            let Some(array) = self.arrays.presence(record, txn.place) else { return Ok(None) };
            let to = self.goal(txn, record, array)?;
            let value = txn.writes.room(record);
            return Ok(txn.writes.push(record, Some(value), to));
        }
        let seen = self.see(record, txn.place)?;
        if !seen.is_value() {
            return Ok(None);
        }
        let to = self.goal(txn, record, seen.array)?;
        let value = txn.writes.room(record);
        seen.copy(record, txn.writes.room_mut(value));
        Ok(txn.writes.push(record, Some(value), to))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        if let Some(own) = txn.writes.find(record) {
            return Ok(txn.writes.give(own));
        }
        let seen = self.see(record, txn.place)?;
        if seen.is_value() {
            txn.coverage.record(record.id(), Mode::Shared)?;
            return Ok(None);
        }
        let to = self.goal(txn, record, seen.array)?;
        let value = txn.writes.room(record);
        Ok(txn.writes.push(record, Some(value), to))
    }

    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let own = txn.writes.find(record);
        // Nobody may look for the row after it has left the indexes, also if it was only updated before.
        if own.is_none() || !record.header().is_fresh() {
            txn.coverage.deletion(record.id())?;
        }
        if let Some(own) = own {
            return Ok(txn.writes.take(own));
        }
        let seen = self.see(record, txn.place)?;
        if seen.is_value() {
            let to = self.goal(txn, record, seen.array)?;
            txn.writes.push(record, None, to);
        }
        Ok(seen.is_value())
    }

    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        txn.coverage.miss()
    }

    fn adding<'db>(&'db self, txn: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        txn.coverage.miss()
    }

    fn precommit<'db>(&'db self, _: &mut Txn<'db>, _: End) -> Result<(), Abort> {
        Ok(())
    }

    fn await_overwritten<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        txn.writes.iter().try_for_each(|write| self.see(write.record, txn.place).map(|_| ()))
    }

    /// Step 5 of COMMIT.
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.numbered.number);
        let (writes, copy, is_planned) = (&txn.writes, &mut txn.copy, txn.place != u32::MAX);
        for (at, write) in writes.iter().enumerate() {
            let (record, value) = (write.record, writes.value(at));
            let copy = copy.room(record.width());
            // All but a blind write have already waited for the value that was there before it.
            let had_value =
                seen.listens() && self.see(record, txn.place).is_ok_and(|before| before.copy(record, copy));
            seen.installed(record, had_value.then_some(&*copy), value);
            sink.logged(stamp, record, value);
            match write.note {
                Goal::Version(array, at) => array.fill(at, value),
                Goal::Place => self.store(record, value, is_planned),
            }
        }
        for record in txn.appended.drain(..).filter(|record| writes.find(*record).is_none()) {
            self.arrays.ignore(record, txn.place);
        }
        self.batches.leave(&mut txn.numbered);
        stamp
    }

    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.appended.drain(..).for_each(|record| self.arrays.ignore(record, txn.place));
        self.batches.leave(&mut txn.numbered);
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        if self.arrays.may_have_value(record) { Retire::Alive } else { Retire::Done }
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        let seen = self.see(record, u32::MAX).expect("in a quiesced database every version is filled");
        let copy = txn.copy.room(record.width());
        seen.copy(record, copy).then_some(&*copy)
    }
}

impl Planning for Caracal {
    const IN_ORDER: bool = true;
    type Plan<'db> = Plan<'db>;

    fn batch_max(&self) -> usize {
        self.batch_max
    }

    fn open(&self, places: usize, workers: usize) -> Plan<'_> {
        self.batches.open();
        let contended = self.is_batch_append.then_some(self.contended);
        Plan {
            locks: OrderedLocks::new(places, workers, workers),
            appends: Appends::new(self.slots, self.arrays.shares(), contended),
            appended: (0..places).map(|_| Padded::default()).collect(),
            responsible: Responsible::new(places),
            laid_out: self.arrays.laid_out(),
        }
    }

    /// Settles all arrays: no array outlives the run and the records that it knew.
    fn finish<'db>(&'db self, plan: &Plan<'db>) {
        self.arrays.settle_all(&plan.laid_out);
    }

    fn close(&self) {
        self.batches.close();
    }

    fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed); // Relaxed: only ends waits.
    }

    fn turn(&self) {
        self.batches.turn();
        self.arrays.turn();
    }

    fn foresee<'db>(
        &'db self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        is_written: bool,
    ) -> Result<(), Abort> {
        if txn.coverage.touch_stated(record.id(), Mode::Shared, is_written).is_some() {
            txn.stated.push(record);
        }
        Ok(())
    }

    /// Step 2 of COMMIT.
    fn declare<'db>(&'db self, plan: &Plan<'db>, txn: &mut Txn<'db>, worker: usize) {
        let place = txn.numbered.place();
        plan.responsible.forget(place);
        let mut appended = plan.appended[place].lock();
        appended.clear();
        let footprint = txn.coverage.footprint();
        if !footprint.is_boundless() {
            // A fresh record is the attempt's own, and a record without a number of its own is in a stretch.
            let has_array = |write: &&Buffered<'db, Self, Goal<'db>>| {
                let number = Footprint::of_record(write.record.id());
                footprint.covers(number, Mode::Shared) && !write.record.header().is_fresh()
            };
            appended.append(&mut txn.stated);
            appended.extend(txn.writes.iter().filter(has_array).map(|write| write.record));
            appended.iter().for_each(|&record| plan.appends.append(txn.slot.id(), record, place as u32));
        }
        plan.locks.declare(worker, place, footprint);
    }

    // ANCHOR: plan
    /// Step 3 of COMMIT.
    fn plan<'db>(&'db self, plan: &Plan<'db>, _: &mut Txn<'db>, worker: usize, workers: usize) {
        (worker..plan.locks.managers()).step_by(workers).for_each(|manager| plan.locks.grant(manager));
        for share in (worker..self.arrays.shares()).step_by(workers) {
            self.arrays.make_way(&plan.laid_out, share);
            let mut layout = self.arrays.layout(&plan.laid_out, share);
            let mut contended = Vec::new();
            plan.appends.merge(share, |record, places| {
                let id = layout.lay_out(record, places);
                if self.splits && places.len() >= self.contended {
                    contended.push(id);
                }
            });
            plan.responsible.spread(contended.iter().map(|id| self.arrays.get(*id)), share, workers);
        }
    }
    // ANCHOR_END: plan

    fn may_run(plan: &Plan<'_>, place: usize) -> bool {
        plan.locks.are_held(place) || is_planted(&plants::CARACAL_RUNS_EARLY)
    }

    fn moves(&self) -> bool {
        self.splits
    }

    fn worker_of(plan: &Plan<'_>, place: usize, home: usize) -> usize {
        plan.responsible.worker_of(place, home)
    }

    fn prepare<'db>(plan: &Plan<'db>, txn: &mut Txn<'db>, place: usize, _: usize) {
        plan.locks.hand_over(place, txn.coverage.footprint());
        core::mem::swap(&mut txn.appended, &mut plan.appended[place].lock());
    }

    fn release(plan: &Plan<'_>, place: usize) {
        plan.locks.release(place);
    }

    // Always: see `Coverage::touch`.
    #[inline(always)]
    fn touch<'db>(&'db self, txn: &mut Txn<'db>, touch: Touch) -> Result<(), Abort> {
        txn.coverage.touch(touch)
    }
}

impl Caracal {
    /// The number of words of arrays, and the number for which there is room.
    pub fn words(&self) -> (usize, usize) {
        self.arrays.words()
    }

    /// The value of a record that an attempt sees; waits for it.
    #[inline]
    fn see(&self, record: RecordRef<'_, Self>, place: u32) -> Result<Seen<'_>, Abort> {
        // Invariant (1). Relaxed: only ends the wait.
        self.arrays.see(record, place, || self.is_abandoned.load(Ordering::Relaxed))
    }

    /// Where a write of a record goes, given the record's array of the present batch, if it has one.
    #[inline]
    fn goal<'db>(
        &self,
        txn: &Txn<'db>,
        record: RecordRef<'db, Self>,
        array: Option<VersionArray<'db>>,
    ) -> Result<Goal<'db>, Abort> {
        let head = record.header();
        if txn.coverage.step() != Step::Planned || head.is_fresh() {
            return Ok(Goal::Place);
        }
        if let Some(array) = array {
            let at = array.position(txn.place).ok_or(Abort::Footprint)?;
            return Ok(Goal::Version(array, at));
        }
        // Invariant (2).
        if !txn.coverage.is_covered_otherwise(Mode::Exclusive) {
            return Err(Abort::Footprint);
        }
        let is_new = || head.writer() == self.batches.before();
        assert!(
            txn.coverage.stretch().is_some() || is_new(),
            "a key stands for rows that are new in the batch"
        );
        Ok(Goal::Place)
    }

    /// Stores a value in place, or the absence of one.
    fn store(&self, record: RecordRef<'_, Self>, value: Option<&[u64]>, is_planned: bool) {
        let head = record.header();
        assert!(!is_planned || head.array().is_none(), "a record with an array is not written in place");
        if let Some(value) = value {
            record.store(value);
        }
        head.set(self.batches.before(), value.is_some());
        head.leave_array();
    }
}
