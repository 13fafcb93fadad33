//! Calvin: locks granted in an order that was fixed before (Thomson, Diamond, Weng, Ren, Shao, Abadi, SIGMOD 2012).
//!
//! IDEA        The transactions of a batch have an order before any of them runs. All of them request all their locks
//!             in this order, and each runs when it has its own. So no transaction waits for a later one, there are no
//!             deadlocks, nothing aborts for a conflict, and the outcome is that of the order. The locks that a
//!             transaction needs are stated by its input, or found by rehearsing it on the state that the last batch
//!             left. Should it then touch something else, it gives up, and runs alone when the batch has ended.
//! RECORD      One word: whether there is a value. Locks are not in records but with the managers
//!             (`parts::ordered_locks`), by the numbers of footprints (`parts::footprint`): of a
//!             record, of a key that is missing, added or removed, or of a stretch, which is all keys of an index with
//!             one prefix.
//! COMMIT      1. Find the footprint: look up the rows that the input states or, if it does not state all, rehearse:
//!                the procedure runs, and changes nothing; each lock that it would need enters the footprint.
//!             2. Request: the footprint goes to the managers, under the number of the transaction in its batch.
//!             3. Grant: when all have requested, each manager drops the requests that conflict with no other, sorts
//!                the rest, and grants them.
//!             4. Execute, when all locks are held: each access must be covered by the footprint.
//!             5. Install the values, entries of indexes included, and release. A rollback only releases.
//!             6. Transactions that touched what they had not requested execute again, alone, after the others, in
//!                their order.
//! INVARIANTS  (1) Of two transactions of a batch that conflict, the one with the smaller number has ended before the
//!                 other touches the object of the conflict: each access is covered by a lock (`Coverage`), two
//!                 conflicting accesses by the same one. So reads need no validation, and every ordering may be
//!                 Relaxed: managers, barriers and gate order everything that one transaction leaves to another.
//!             (2) The first transaction that has not ended has all its locks: locks are granted in the order of
//!                 numbers and all before the first runs (the driver's barrier).
//!             (3) A row that a rehearsal found is not given back before the batch has ended (the driver holds it): the
//!                 number of its record is that of no other row.
//!             (4) A transaction executes on the state that those before it left, whichever worker executes them and
//!                 when: the outcome of a batch, and which of its transactions execute alone, are a function of its
//!                 inputs.
//! DEPARTURES  The original has one thread that grants locks while transactions execute. Here each worker manages a
//!             share of the locks (`calvin.managers`), and all locks of a batch are requested before its first
//!             transaction executes. The original locks keys, and has the client name them, or find them by a
//!             reconnaissance. Here a rehearsal finds the locks where the input does not state them, and there is more
//!             to lock than keys. Where rows are numbered under a prefix (orders under their district) the next key
//!             depends on the order of the batch, which no rehearsal knows: the stretch is locked instead, for all rows
//!             in it. Elsewhere a scan locks its stretch, and an attempt that adds or removes a key locks the stretch
//!             for changes of parts, so that such attempts exclude scans and not each other. A row that is found where
//!             the rehearsal missed its key is covered by the lock of the key, which covers no row that the rehearsal
//!             found. A scan across prefixes runs alone. Values are copied, although locks keep others away: storage
//!             lends a value in place only as a copy. One machine: no sequencing layer, no replication, no reads from
//!             other nodes. A footprint that turns out wrong costs a turn alone and not a new sequence number, so that
//!             nothing starves. An attempt outside of a batch is a batch of its own, and excludes others. Clients hear
//!             of no commit before its batch has ended, so that the order agrees with real time.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::Planned;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, End, Env, Facts, Family, Info, Isolation, Observer, OwnWrites, Planning, Retire, Scheme,
    Sink, Stamp, Ticket, Touch, Write, settings,
};
use parts::footprint::{Coverage, Mode};
use parts::ordered_locks::OrderedLocks;
use parts::{BatchSize, Batches, Buffered, BufferedWrites, Buffers, CopyBuffer, Numbered, StandardSize};
use storage::{InPlace, LeafRef, Meta, RecordRef, Shape, Slot};
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;

/// The standard number of transactions in a batch.
const BATCH: StandardSize = StandardSize { each: 16, least: 16 };

settings! {
    /// The settings of the scheme.
    pub struct Settings of "calvin" {
        /// Transactions of a batch, and 0 for 16 for each worker: large ones meet less often, and pay where few
        /// conflict; in small ones less has changed since the rehearsal.
        batch: usize {
            default: "0",
            range: Range::Int(0, 10_000),
            unit: "transactions",
            stresses: "meetings of the workers, latency, and footprints that turn out wrong",
        },
        /// Lock managers, each with a share of all locks, and 0 for one a worker; one alone grants before the batch
        /// executes, while the other workers wait, where the original's grants while transactions execute.
        managers: usize {
            default: "0",
            range: Range::Int(0, 256),
            stresses: "the part of a batch in which locks are granted",
        },
    }
}

/// The state that all transactions share.
#[derive(Debug)]
pub struct Calvin {
    batch_max: usize,
    /// The number of managers, or 0 for one for each worker.
    managers: usize,
    batches: Batches,
}

/// Whether a record has a value.
#[derive(Debug, Default)]
pub struct Presence(AtomicU64);

impl Presence {
    #[inline]
    fn has_value(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0 // Relaxed: invariant (1).
    }

    #[inline]
    fn set(&self, has_value: bool) {
        self.0.store(u64::from(has_value), Ordering::Relaxed); // Relaxed: invariant (1).
    }
}

impl Meta for Presence {
    fn reset(&self) {
        self.set(false);
    }
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Calvin>,
    numbered: Numbered,
    coverage: Coverage,
    writes: BufferedWrites<'db, Calvin>,
    /// The copy that the last read lent.
    copy: CopyBuffer,
}

impl Shape for Calvin {
    type Header = Presence;
    type Version = ();
    type Leaf = ();
    type Data = InPlace;
}

impl Scheme for Calvin {
    const INFO: Info = Info {
        name: "calvin",
        title: "Calvin",
        paper: "Thomson, Diamond, Weng, Ren, Shao, Abadi: Calvin: fast distributed transactions for partitioned \
                database systems, SIGMOD 2012",
        family: Family::Deterministic,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Unconfirmed,
        idea: "fixes the order of a batch, and grants all locks in this order before anything executes",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = Planned;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self {
            batch_max: BatchSize::new(settings.batch, BATCH).of(env.workers),
            managers: settings.managers,
            batches: Batches::default(),
        })
    }

    fn facts(settings: &Settings) -> Facts {
        BatchSize::new(settings.batch, BATCH).facts(&Self::INFO)
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            writes: BufferedWrites::new(&slot),
            slot,
            numbered: Numbered::default(),
            coverage: Coverage::default(),
            copy: CopyBuffer::default(),
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().set(true);
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.writes.clear();
        txn.numbered = self.batches.enter(ticket)?;
        txn.coverage.begin(ticket.step)
    }

    #[inline]
    fn own_writes<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<impl OwnWrites<'t, 'db, Self>> {
        Some(&mut txn.writes)
    }

    // ANCHOR: read
    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        txn.coverage.record(record.id(), Mode::Shared)?;
        if !record.header().has_value() {
            return Ok(None);
        }
        let copy = txn.copy.room(record.width());
        record.load(copy);
        Ok(Some(copy))
    }
    // ANCHOR_END: read

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        txn.coverage.record(record.id(), Mode::Exclusive)?;
        if !record.header().has_value() {
            return Ok(None);
        }
        let value = txn.writes.room(record);
        if how == Write::Modify {
            record.load(txn.writes.room_mut(value));
        }
        Ok(txn.writes.push(record, Some(value), ()))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        // A record without a value is this attempt's own: no index has one.
        if record.header().has_value() {
            txn.coverage.record(record.id(), Mode::Shared)?;
            return Ok(None);
        }
        let value = txn.writes.room(record);
        Ok(txn.writes.push(record, Some(value), ()))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        txn.coverage.deletion(record.id())?;
        let is_there = record.header().has_value();
        if is_there {
            txn.writes.push(record, None, ());
        }
        Ok(is_there)
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        txn.coverage.miss()
    }

    #[inline]
    fn adding<'db>(&'db self, txn: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        txn.coverage.miss()
    }

    #[inline]
    fn precommit<'db>(&'db self, _: &mut Txn<'db>, _: End) -> Result<(), Abort> {
        Ok(())
    }

    /// Step 5 of COMMIT.
    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.numbered.number);
        for at in 0..txn.writes.len() {
            let has_value = |write: &Buffered<'db, Self, ()>| write.record.header().has_value();
            let (record, value) = txn.writes.ready(at, has_value, stamp, sink, seen);
            if let Some(value) = value {
                record.store(value);
            }
            record.header().set(value.is_some());
        }
        self.batches.leave(&mut txn.numbered);
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        self.batches.leave(&mut txn.numbered);
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        if record.header().has_value() { Retire::Alive } else { Retire::Done }
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        let copy = txn.copy.room(record.width());
        record.load(copy);
        record.header().has_value().then_some(copy)
    }
}

impl Buffers<()> for Calvin {}

impl Planning for Calvin {
    const IN_ORDER: bool = false;
    type Plan<'db> = OrderedLocks;

    fn batch_max(&self) -> usize {
        self.batch_max
    }

    fn open(&self, places: usize, workers: usize) -> OrderedLocks {
        self.batches.open();
        OrderedLocks::new(places, workers, if self.managers == 0 { workers } else { self.managers })
    }

    fn close(&self) {
        self.batches.close();
    }

    fn turn(&self) {
        self.batches.turn();
    }

    fn foresee<'db>(
        &'db self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        is_written: bool,
    ) -> Result<(), Abort> {
        let mode = if is_written { Mode::Exclusive } else { Mode::Shared };
        txn.coverage.touch_stated(record.id(), mode, is_written);
        Ok(())
    }

    // ANCHOR: plan
    /// Step 2 of COMMIT.
    fn declare<'db>(&'db self, locks: &OrderedLocks, txn: &mut Txn<'db>, worker: usize) {
        locks.declare(worker, txn.numbered.place(), txn.coverage.footprint());
    }

    /// Step 3 of COMMIT.
    fn plan<'db>(&'db self, locks: &OrderedLocks, _: &mut Txn<'db>, worker: usize, workers: usize) {
        (worker..locks.managers()).step_by(workers).for_each(|manager| locks.grant(manager));
    }

    fn may_run(locks: &OrderedLocks, place: usize) -> bool {
        locks.are_held(place) || is_planted(&plants::CALVIN_RUNS_EARLY)
    }
    // ANCHOR_END: plan

    fn prepare(locks: &OrderedLocks, txn: &mut Txn<'_>, place: usize, _: usize) {
        locks.hand_over(place, txn.coverage.footprint());
    }

    fn release(locks: &OrderedLocks, place: usize) {
        locks.release(place);
    }

    // Always: see `Coverage::touch`.
    #[inline(always)]
    fn touch<'db>(&'db self, txn: &mut Txn<'db>, touch: Touch) -> Result<(), Abort> {
        txn.coverage.touch(touch)
    }
}
