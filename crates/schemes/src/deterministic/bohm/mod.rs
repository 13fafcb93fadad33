//! BOHM: versions in an order that was fixed before (Faleiro, Abadi, VLDB 2015).
//!
//! IDEA        The transactions of a batch have an order before any of them runs. For each record that a transaction
//!             will write there is a version before it has a value: a placeholder with the number of the transaction,
//!             at its place in the record's chain. So a reader knows which version it must read, whichever transaction
//!             runs first: the last version below its own number. It waits for that version's value. Reads block no
//!             writes; nothing aborts for a conflict.
//! RECORD      The chain and its stamps are `parts::version_chain`; the header counts nothing. A version's
//!             number is that of the batch (bits 15..), of the transaction in it (0..14), and in between whether it
//!             ran alone.
//! COMMIT      1. Find the footprint: the input states it, or the procedure is rehearsed: it runs, and changes nothing.
//!             2. Declare the footprint, and the records that will be written.
//!             3. Plan: when all have declared, each manager puts the placeholders into the chains of its share of the
//!                records, in the order of the transactions; and grants its share of the locks.
//!             4. Execute, each worker in the order of its transactions: a read waits until the version that it finds
//!                is sealed; with `bohm.open` the worker begins its next transactions meanwhile. A blind write does
//!                not wait for the value: it asks only whether the record has one (invariant 3). An access that was not
//!                declared is not made.
//!             5. Seal the versions. A placeholder that was not written, or whose transaction did not commit, gets the
//!                value of the version before it.
//!             6. Transactions that touched what they had not declared execute again, alone, after the others, in their
//!                order.
//! INVARIANTS  (1) Numbers fall along a chain (`parts::VersionPlan`, which is steps 2 and 3): a version that is
//!                 pushed later than the placeholders has locks (3).
//!             (2) An attempt that waits for a version waits for a smaller number, and a worker begins its attempts in
//!                 the order of numbers: the first transaction that has not ended has begun, and never waits.
//!             (3) A row that comes or goes within a batch, or that is numbered in a stretch, is written under the lock
//!                 of its key or stretch, which is granted in the order of the batch; who deletes a row has an
//!                 exclusive lock of its record, too. No transaction has a placeholder for it, or the transaction that
//!                 has one waits for that lock, too. So when a transaction runs, the versions below its own that are
//!                 not sealed do not change whether the record has a value.
//! DEPARTURES  The original is told the write sets. Here a rehearsal finds those that inputs do not state, and since
//!             keys that are missing, ranges, insertions and deletions must be ordered as well, there are locks for
//!             these, as under `calvin`: a deletion excludes attempts that touch the record, an insertion those that
//!             missed the key or scan its stretch. So rows are inserted when their transaction executes, and not placed
//!             before the batch does. Reads are declared with the footprint, because unforeseen accesses
//!             must not depend on who runs first. The original executes the writer of a missing value instead of
//!             waiting for the value; here the writer's worker comes to it in time, and the reader's worker may go on
//!             with its next transactions. Where there is a log, the commit of a blind write waits for the version
//!             before it, since a log orders the writes of a record by the order of commits. The managers are the
//!             workers, between two meetings, and not threads of their own. Clients hear of no commit before its batch
//!             has ended, so that to them the order agrees with real time; but a transaction may run after one that
//!             comes later in the order has committed, and so no more is promised.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::Planned;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, End, Env, Facts, Family, Info, Isolation, Observer, Planning, Retire, Scheme, Sink, Stamp,
    Step, Ticket, Touch, Write, settings,
};
use parts::footprint::{Coverage, Mode};
use parts::version_chain::{self, ChainHead, VersionStamp, below, settle, words_of};
use parts::{
    BatchSize, Batches, Numbered, OwnVersions, RehearsedWrites, StandardSize, VersionPlan, own_version,
};
use storage::{LeafRef, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::atomic::{AtomicBool, Ordering};
use sync::plant::is_planted;
use sync::waiter;

/// The standard number of transactions in a batch.
const BATCH: StandardSize = StandardSize { each: 16, least: 16 };

settings! {
    /// The settings of the scheme.
    pub struct Settings of "bohm" {
        /// Transactions of a batch, and 0 for 16 for each worker: large ones meet less often; in small ones less has
        /// changed since the rehearsal, chains stay short, and what the footprints brought in is still in the cache.
        batch: usize {
            default: "0",
            range: Range::Int(0, 10_000),
            unit: "transactions",
            stresses: "meetings of the workers, latency, and the length of chains of versions",
        },
        /// Attempts that a worker has open at a time: where one waits for a value, the worker goes on with the next.
        open: usize {
            default: "1",
            range: Range::Int(1, 1_000),
            unit: "attempts",
            stresses: "switches between attempts, and workers that wait",
        },
    }
}

/// The state that all transactions share.
#[derive(Debug)]
pub struct Bohm {
    batch_max: usize,
    open_max: usize,
    batches: Batches,
    is_abandoned: AtomicBool,
}

/// The version of a record that has a value; `None` if the record has none.
type Seen<'db> = Option<VersionRef<'db, Bohm>>;

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Bohm>,
    /// The attempt's number, which its versions have.
    numbered: Numbered,
    coverage: Coverage,
    /// Used in a rehearsal.
    rehearsed: RehearsedWrites<'db, Bohm>,
    /// Used in every other attempt.
    own: OwnVersions<'db, Bohm>,
}

impl Shape for Bohm {
    type Header = ChainHead;
    type Version = VersionStamp;
    type Leaf = ();
    type Data = Versioned;
}

impl Scheme for Bohm {
    const INFO: Info = Info {
        name: "bohm",
        title: "BOHM",
        paper: "Faleiro, Abadi: Rethinking serializable multiversion concurrency control, VLDB 2015",
        family: Family::Deterministic,
        isolation: Isolation::Serializable,
        workers: Admits::Any,
        views: engine::Views::Unconfirmed,
        idea: "fixes the order of a batch, and puts empty versions in this order before anything executes",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = Planned;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self {
            batch_max: BatchSize::new(settings.batch, BATCH).of(env.workers),
            open_max: settings.open,
            batches: Batches::default(),
            is_abandoned: AtomicBool::new(false),
        })
    }

    fn facts(settings: &Settings) -> Facts {
        BatchSize::new(settings.batch, BATCH).facts(&Self::INFO)
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            rehearsed: RehearsedWrites::new(&slot),
            slot,
            numbered: Numbered::default(),
            coverage: Coverage::default(),
            own: OwnVersions::default(),
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    /// The first version has number 0, which is before every batch.
    fn loaded(&self, _: RecordRef<'_, Self>) {}

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.rehearsed.clear();
        txn.numbered = self.batches.enter(ticket)?;
        txn.coverage.begin(ticket.step)
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        if let Some(own) = txn.rehearsed.find(record) {
            return Ok(txn.rehearsed.value(own));
        }
        if let Some(own) = txn.own.written(record) {
            return Ok(txn.own.value(own));
        }
        txn.coverage.record(record.id(), Mode::Shared)?;
        let seen = self.see(txn, record)?;
        Ok(seen.and_then(|version| txn.slot.words(version)))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        if txn.coverage.step() == Step::Rehearsal {
            return txn.rehearsed.write(&txn.slot, &mut txn.coverage, record, how);
        }
        let own = txn.own.find(record);
        if let Some(own) = txn.own.if_written(own) {
            return Ok(txn.own.words(own));
        }
        let Some(own) = self.over_value(txn, record, own, how)? else { return Ok(None) };
        Ok(txn.own.words(own))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        if txn.rehearsed.find(record).is_some() {
            return Ok(txn.rehearsed.insert(&txn.slot, record));
        }
        let own = txn.own.find(record);
        if let Some(own) = txn.own.if_written(own) {
            return Ok(txn.own.revive(own));
        }
        if self.see(txn, record)?.is_some() {
            txn.coverage.record(record.id(), Mode::Shared)?;
            return Ok(None);
        }
        if txn.coverage.step() == Step::Rehearsal {
            return Ok(txn.rehearsed.insert(&txn.slot, record));
        }
        let own = self.own(txn, record, own)?;
        Ok(txn.own.words(own))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        if txn.coverage.step() == Step::Rehearsal {
            return txn.rehearsed.delete(&txn.slot, &mut txn.coverage, record);
        }
        // Nobody may look for the row after it has left the indexes, also if it was only updated before.
        txn.coverage.deletion(record.id())?;
        let own = txn.own.find(record);
        if let Some(own) = txn.own.if_written(own) {
            return Ok(txn.own.delete(own));
        }
        Ok(self.over_value(txn, record, own, Write::Blind)?.is_some_and(|own| txn.own.delete(own)))
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

    #[inline]
    fn await_overwritten<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        let Txn { slot, numbered, own, .. } = txn;
        // Relaxed: only ends the wait.
        own.await_overwritten(slot, numbered.number, || self.is_abandoned.load(Ordering::Relaxed))
    }

    /// Step 5 of COMMIT.
    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.numbered.number);
        for at in 0..txn.own.len() {
            if !txn.own.get(at).is_written {
                self.pass_through(txn, at);
                continue;
            }
            let record = txn.own.get(at).record;
            // A blind write has not waited for the value that it overwrites.
            let before = if seen.listens() { self.see(txn, record).unwrap_or_default() } else { None };
            let value = txn.own.value(at);
            seen.installed(record, words_of(&txn.slot, before), value);
            sink.logged(stamp, record, value);
        }
        txn.own.seal();
        self.leave(txn);
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.own.unwrite().for_each(|at| self.pass_through(txn, at));
        txn.own.undo(&mut txn.slot);
        self.leave(txn);
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        version_chain::retire(record, |_| true).0
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        words_of(&txn.slot, txn.slot.newest(record))
    }
}

impl Planning for Bohm {
    const IN_ORDER: bool = true;
    type Plan<'db> = VersionPlan<'db, Self>;

    fn batch_max(&self) -> usize {
        self.batch_max
    }

    fn open_max(&self) -> usize {
        self.open_max
    }

    fn open(&self, places: usize, workers: usize) -> VersionPlan<'_, Self> {
        self.batches.open();
        VersionPlan::new(places, workers)
    }

    fn close(&self) {
        self.batches.close();
    }

    fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed); // Relaxed: only ends waits.
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
        txn.rehearsed.foresee(&mut txn.coverage, record, is_written)
    }

    // ANCHOR: declare
    /// Step 2 of COMMIT.
    fn declare<'db>(&'db self, plan: &VersionPlan<'db, Self>, txn: &mut Txn<'db>, worker: usize) {
        plan.declare(worker, txn.numbered.place(), txn.coverage.footprint(), &txn.rehearsed);
    }

    /// Step 3 of COMMIT.
    fn plan<'db>(
        &'db self,
        plan: &VersionPlan<'db, Self>,
        txn: &mut Txn<'db>,
        worker: usize,
        workers: usize,
    ) {
        plan.put(&mut txn.slot, &self.batches, worker, workers);
    }
    // ANCHOR_END: declare

    fn may_run(plan: &VersionPlan<'_, Self>, place: usize) -> bool {
        plan.are_locks_held(place)
    }

    fn prepare<'db>(plan: &VersionPlan<'db, Self>, txn: &mut Txn<'db>, place: usize, worker: usize) {
        plan.hand_over(worker, place, txn.coverage.footprint(), &mut txn.own);
    }

    fn release(plan: &VersionPlan<'_, Self>, place: usize) {
        plan.release(place);
    }

    // Always: see `Coverage::touch`.
    #[inline(always)]
    fn touch<'db>(&'db self, txn: &mut Txn<'db>, touch: Touch) -> Result<(), Abort> {
        txn.coverage.touch(touch)
    }
}

impl Bohm {
    // ANCHOR: see
    /// The version that the attempt sees; waits for its value. `None` if the record has no value then.
    #[inline]
    fn see<'db>(&self, txn: &Txn<'db>, record: RecordRef<'db, Self>) -> Result<Seen<'db>, Abort> {
        let Some(version) = txn.below(record) else { return Ok(None) };
        if !version.is_sealed() {
            if is_planted(&plants::BOHM_SKIPS_PENDING) {
                return Ok(None);
            }
            // Invariant (2). Relaxed: only ends the wait.
            let is_over = || self.is_abandoned.load(Ordering::Relaxed);
            waiter::wait_until(None, || version.is_sealed() || is_over());
            if !version.is_sealed() {
                return Err(Abort::Stopped);
            }
        }
        Ok(if version.meta().is_tombstone() { None } else { Some(version) })
    }
    // ANCHOR_END: see

    /// Makes a version of the attempt's own, for a new value, of a record of which it has written none.
    #[inline]
    fn own<'db>(
        &self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        placeholder: Option<usize>,
    ) -> Result<usize, Abort> {
        // Invariant (3).
        let numbers = || (txn.numbered.number, self.batches.before());
        own_version(&mut txn.slot, &txn.coverage, &mut txn.own, (record, placeholder), numbers)
    }

    /// Like `own`, if the record has a value. A version that modifies the value starts with a copy of it; another one
    /// does not wait for the value. `placeholder` is the position of the record's placeholder, if it has one: what has
    /// one is in the footprint.
    #[inline]
    fn over_value<'db>(
        &self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        placeholder: Option<usize>,
        how: Write,
    ) -> Result<Option<usize>, Abort> {
        if placeholder.is_none() {
            txn.coverage.record(record.id(), Mode::Shared)?;
        }
        if how == Write::Blind {
            // Invariant (3).
            let has_value = version_chain::has_value(&txn.slot, record, txn.numbered.number);
            return has_value.then(|| self.own(txn, record, placeholder)).transpose();
        }
        let Some(before) = self.see(txn, record)? else { return Ok(None) };
        let at = self.own(txn, record, placeholder)?;
        let words = txn.slot.words(before).expect("what is seen is sealed");
        txn.own.get(at).version.words().copy_from_slice(words);
        Ok(Some(at))
    }

    // ANCHOR: pass
    /// Gives a version of the attempt's own the value of the version before it.
    fn pass_through(&self, txn: &mut Txn<'_>, at: usize) {
        if is_planted(&plants::BOHM_PASSES_NOTHING) && !txn.own.get(at).is_written {
            txn.own.get(at).version.version().meta().set_tombstone(true);
            return;
        }
        // An attempt that gives up the run leaves nothing that anybody reads.
        let record = txn.own.get(at).record;
        let before = self.see(txn, record).unwrap_or_default();
        txn.own.pass(at, before.and_then(|before| txn.slot.words(before)));
    }
    // ANCHOR_END: pass

    /// Ends the attempt: brings records down to one version.
    #[inline]
    fn leave(&self, txn: &mut Txn<'_>) {
        if txn.coverage.step() != Step::Rehearsal {
            settle(&mut txn.slot, || self.batches.before());
        }
        self.batches.leave(&mut txn.numbered);
    }
}

impl<'db> Txn<'db> {
    /// The newest version below the attempt's number.
    #[inline]
    fn below(&self, record: RecordRef<'db, Bohm>) -> Option<VersionRef<'db, Bohm>> {
        below(&self.slot, record, |version| {
            let is_later = version.meta().number() >= self.numbered.number;
            is_later && !(version.is_sealed() && is_planted(&plants::BOHM_READS_NEWEST))
        })
    }
}
