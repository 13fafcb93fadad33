//! PWV: piece-wise visibility (Faleiro, Abadi, Hellerstein: High performance transactions via early write visibility,
//! VLDB 2017).
//!
//! IDEA        The transactions of a batch have an order before any of them runs, so nothing aborts for a conflict. The
//!             only reason to hide a write is then that its transaction may roll back, or write the record again. When
//!             neither is to be expected any longer, the write is exposed, while its transaction goes on: a hot record
//!             is passed on after its last write, and not after the last access of its writer.
//! RECORD      The chain and its stamps are `parts::version_chain`; the header counts nothing. A version's
//!             number is as under `bohm`. An exposed version is lent: its words may be copied before it is sealed. Each
//!             transaction has a course (`courses`), whose count tells its runs apart, and their outcomes.
//! COMMIT      1. Find the footprint, 2. declare and 3. plan, as under `bohm`. It is also counted how often each record
//!                is written.
//!             4. Execute, in the order of the transactions; a worker goes on with the next transaction where one
//!                waits. A read waits until the version that it finds is sealed or exposed. A transaction that reads an
//!                exposed value depends on the run that exposed it. A blind write does not wait for the value before
//!                it, and depends on no run, as under `bohm`.
//!             5. Expose: when the procedure has announced that it will not roll back, the writes are exposed that were
//!                the last ones of their records, as far as the footprint tells; and all when the procedure has
//!                returned and the transaction has to wait in 6.
//!             6. Await the runs on which the transaction depends. If one of them was withdrawn, withdraw the present
//!                run: take back what it exposed, and execute again, in the same place.
//!             7. Seal the versions, as under `bohm`. A run that touched what it had not declared, or wrote once more
//!                what it had exposed, or rolled back, is withdrawn, too, and its versions pass on the values before
//!                them.
//!             8. Transactions that touched what they had not declared execute again, alone, after the others, in their
//!                order.
//! INVARIANTS  (1) Numbers fall along a chain, and an attempt that waits waits for a smaller number, as under `bohm`;
//!                 so it is with attempts that depend on runs. The first transaction that has not ended waits for
//!                 nobody.
//!             (2) An attempt ends, whether it commits, rolls back or lacks something in its footprint, only when all
//!                 runs on which it depends have become final (`await_others`, for each kind of end). So its outcome is
//!                 that of executing the batch in its order, by any number of workers.
//!             (3) Keys, stretches and deleted records have locks, which are given up when the transaction has ended:
//!                 nothing of these is seen early, and rows that come and go are those of final runs.
//! DEPARTURES  The original is given transactions in pieces, each of one partition, with the reads and writes of each.
//!             Here procedures are opaque, inputs state or rehearsals find what they touch, and one worker executes a
//!             procedure as a whole. So the pieces are the stretches between two accesses, a piece cannot run on
//!             another worker than the rest, and the data dependencies between pieces are the order in which the
//!             procedure makes its accesses. The original knows that the writes that it exposes will commit. A
//!             footprint may be wrong, so that an exposed write is tentative here, and reading it a dependency, with
//!             cascades: the price of opaque procedures. The votes on aborts are the hint `Transaction::decided`; a
//!             rollback that was announced not to come is no error, but costs a cascade. Inserts are not exposed (3),
//!             so that two New-Orders of a district run one after the other. Where there is a log, the commit of a
//!             blind write waits as under `bohm`.

pub mod courses;
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
use parts::version_chain::{self, ChainHead, VersionStamp, below_number, sealed_below, settle};
use parts::{
    BatchSize, Batches, Numbered, OwnVersions, RehearsedWrites, StandardSize, VersionPlan, own_version,
};
use storage::{LeafRef, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::atomic::{AtomicBool, Ordering};
use sync::plant::is_planted;
use sync::waiter;

use self::courses::{Courses, Run};

/// The standard number of transactions in a batch.
const BATCH: StandardSize = StandardSize { each: 16, least: 16 };

settings! {
    /// The settings of the scheme.
    pub struct Settings of "pwv" {
        /// Transactions of a batch, and 0 for 16 for each worker: in small ones less has changed since the rehearsal;
        /// large ones meet less.
        batch: usize {
            default: "0",
            range: Range::Int(0, 10_000),
            unit: "transactions",
            stresses: "meetings of the workers, latency, and the length of chains of versions",
        },
        /// Whether writes are seen before their transactions end: pays if a hot record is written long before.
        early: bool {
            default: "on",
            stresses: "how long others wait for a hot record",
        },
        /// Attempts that a worker has open at a time: where one waits for others, it goes on with the next.
        open: usize {
            default: "8",
            range: Range::Int(1, 1_000),
            unit: "attempts",
            stresses: "switches between attempts, and workers that wait",
        },
    }
}

/// The state that all transactions share.
#[derive(Debug)]
pub struct Pwv {
    batch_max: usize,
    open_max: usize,
    is_early: bool,
    batches: Batches,
    courses: Courses,
    is_abandoned: AtomicBool,
}

/// The value of a record that has one, as an attempt sees it: the version, or `None` if the value is a copy in the
/// attempt's buffer.
type Seen<'db> = Option<VersionRef<'db, Pwv>>;
/// The same of a record that may have none.
type Look<'db> = Result<Option<Seen<'db>>, Abort>;

type Plan<'db> = VersionPlan<'db, Pwv>;
type Record<'db> = RecordRef<'db, Pwv>;
/// A record of which the attempt has written no version, and the position of its placeholder, if it has one.
type Unwritten<'db> = (Record<'db>, Option<usize>);
/// The words of a value, if there is one: to be read, and to be written.
type Value<'t> = Result<Option<&'t [u64]>, Abort>;
type Words<'t> = Result<Option<&'t mut [u64]>, Abort>;

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Pwv>,
    /// The attempt's number, which its versions have.
    numbered: Numbered,
    coverage: Coverage,
    /// Used in a rehearsal.
    rehearsed: RehearsedWrites<'db, Pwv>,
    /// Used in every other attempt: the placeholders come first.
    own: OwnVersions<'db, Pwv>,
    /// Used in a planned attempt.
    run: Run,
    /// The exposed value that was read last.
    copy: Vec<u64>,
    /// Whether a run on which the attempt depends was withdrawn.
    is_doomed: bool,
}

impl Shape for Pwv {
    type Header = ChainHead;
    type Version = VersionStamp;
    type Leaf = ();
    type Data = Versioned;
}

impl Scheme for Pwv {
    const INFO: Info = Info {
        name: "pwv",
        title: "PWV",
        paper: "Faleiro, Abadi, Hellerstein: High performance transactions via early write visibility, VLDB 2017",
        family: Family::Deterministic,
        isolation: Isolation::Serializable,
        workers: Admits::Any,
        views: engine::Views::Unconfirmed,
        idea: "fixes the order of a batch, and shows writes before their transactions end, when no rollback is due",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = Planned;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        let batch_max = BatchSize::new(settings.batch, BATCH).of(env.workers);
        Ok(Self {
            batch_max,
            open_max: settings.open,
            is_early: settings.early,
            batches: Batches::default(),
            courses: Courses::new(batch_max),
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
            run: Run::default(),
            copy: Vec::new(),
            is_doomed: false,
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
        txn.is_doomed = false;
        self.courses.begin(&mut txn.run, None, 0);
        txn.numbered = self.batches.enter(ticket)?;
        if ticket.step == Step::Planned {
            self.courses.begin(&mut txn.run, Some(txn.numbered.place()), txn.own.len());
        }
        txn.coverage.begin(ticket.step)
    }

    #[inline]
    fn read<'t, 'db>(&'db self, txn: &'t mut Txn<'db>, record: Record<'db>) -> Value<'t> {
        if let Some(own) = txn.rehearsed.find(record) {
            return Ok(txn.rehearsed.value(own));
        }
        self.expose(txn);
        if let Some(own) = txn.own.written(record) {
            return Ok(txn.own.value(own));
        }
        txn.coverage.record(record.id(), Mode::Shared)?;
        Ok(self.see(txn, record)?.map(|seen| words_of(&txn.slot, &txn.copy, seen)))
    }

    #[inline]
    fn write<'t, 'db>(&'db self, txn: &'t mut Txn<'db>, record: Record<'db>, how: Write) -> Words<'t> {
        if txn.coverage.step() == Step::Rehearsal {
            return txn.rehearsed.write(&txn.slot, &mut txn.coverage, record, how);
        }
        self.expose(txn);
        let own = txn.own.find(record);
        if let Some(own) = txn.own.if_written(own) {
            txn.count(own)?;
            return Ok(txn.own.words(own));
        }
        let own = self.over(txn, (record, own), how)?;
        Ok(own.and_then(|own| txn.own.words(own)))
    }

    #[inline]
    fn insert<'t, 'db>(&'db self, txn: &'t mut Txn<'db>, record: Record<'db>) -> Words<'t> {
        if txn.rehearsed.find(record).is_some() {
            return Ok(txn.rehearsed.insert(&txn.slot, record));
        }
        self.expose(txn);
        let own = txn.own.find(record);
        if let Some(own) = txn.own.if_written(own) {
            txn.count(own)?;
            return Ok(txn.own.revive(own));
        }
        if self.see(txn, record)?.is_some() {
            txn.coverage.record(record.id(), Mode::Shared)?;
            return Ok(None);
        }
        if txn.coverage.step() == Step::Rehearsal {
            return Ok(txn.rehearsed.insert(&txn.slot, record));
        }
        let own = self.own(txn, (record, own))?;
        Ok(txn.own.words(own))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        if txn.coverage.step() == Step::Rehearsal {
            return txn.rehearsed.delete(&txn.slot, &mut txn.coverage, record);
        }
        self.expose(txn);
        // Nobody may look for the row after it has left the indexes, also if it was only updated before.
        txn.coverage.deletion(record.id())?;
        let own = txn.own.find(record);
        if let Some(own) = txn.own.if_written(own) {
            txn.count(own)?;
            return Ok(txn.own.delete(own));
        }
        Ok(self.over(txn, (record, own), Write::Blind)?.is_some_and(|own| txn.own.delete(own)))
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        txn.coverage.miss()
    }

    fn adding<'db>(&'db self, txn: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        txn.coverage.miss()
    }

    /// Steps 5 and 6 of COMMIT.
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if !txn.run.has_dependencies() {
            return Ok(());
        }
        if end == End::Commit {
            txn.run.finish(&txn.own);
            self.expose(txn);
        }
        self.await_others(txn)
    }

    fn await_overwritten<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        txn.own.await_overwritten(&txn.slot, txn.numbered.number, || self.is_over())
    }

    /// Step 7 of COMMIT.
    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.numbered.number);
        for at in 0..txn.own.len() {
            if !txn.own.is_written(at) {
                self.pass_through(txn, at);
                continue;
            }
            let record = txn.own.get(at).record;
            let below = || sealed_below(&txn.slot, record, txn.numbered.number, || self.is_over());
            let before = if seen.listens() { below() } else { None };
            let value = txn.own.value(at);
            seen.installed(record, version_chain::words_of(&txn.slot, before), value);
            sink.logged(stamp, record, value);
        }
        txn.own.seal();
        self.courses.end(&mut txn.run);
        self.leave(txn);
        stamp
    }

    /// Steps 6 and 7 of COMMIT: `precommit` has found out whether the attempt is doomed.
    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        self.courses.withdraw(&mut txn.run, &mut txn.own, txn.is_doomed);
        if txn.is_doomed {
            txn.own.reset(&mut txn.slot);
        } else {
            txn.own.unwrite().for_each(|at| self.pass_through(txn, at));
            txn.own.undo(&mut txn.slot);
        }
        self.leave(txn);
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        version_chain::retire(record, |_| true).0
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        version_chain::words_of(&txn.slot, txn.slot.newest(record))
    }
}

impl Planning for Pwv {
    const IN_ORDER: bool = true;
    type Plan<'db> = Plan<'db>;

    fn batch_max(&self) -> usize {
        self.batch_max
    }

    fn open_max(&self) -> usize {
        self.open_max
    }

    fn open(&self, places: usize, workers: usize) -> Plan<'_> {
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
        record: Record<'db>,
        is_written: bool,
    ) -> Result<(), Abort> {
        txn.rehearsed.foresee(&mut txn.coverage, record, is_written)
    }

    /// Step 2 of COMMIT.
    fn declare<'db>(&'db self, plan: &Plan<'db>, txn: &mut Txn<'db>, worker: usize) {
        plan.declare(worker, txn.numbered.place(), txn.coverage.footprint(), &txn.rehearsed);
    }

    /// Step 3 of COMMIT.
    fn plan<'db>(&'db self, plan: &Plan<'db>, txn: &mut Txn<'db>, worker: usize, workers: usize) {
        plan.put(&mut txn.slot, &self.batches, worker, workers);
    }

    fn may_run(plan: &Plan<'_>, place: usize) -> bool {
        plan.are_locks_held(place)
    }

    fn prepare<'db>(plan: &Plan<'db>, txn: &mut Txn<'db>, place: usize, worker: usize) {
        plan.hand_over(worker, place, txn.coverage.footprint(), &mut txn.own);
    }

    fn is_to_run_again(txn: &Txn<'_>) -> bool {
        txn.is_doomed
    }

    fn release(plan: &Plan<'_>, place: usize) {
        plan.release(place);
    }

    // Always: see `Coverage::touch`.
    #[inline(always)]
    fn touch<'db>(&'db self, txn: &mut Txn<'db>, touch: Touch) -> Result<(), Abort> {
        txn.coverage.touch(touch)
    }

    /// Step 5 of COMMIT.
    #[inline]
    fn decided<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.run.decide();
        self.expose(txn);
    }
}

impl Pwv {
    // ANCHOR: see
    /// Step 4 of COMMIT: the value of a record that the attempt sees, if the record has one.
    #[inline]
    fn see<'db>(&self, txn: &mut Txn<'db>, record: Record<'db>) -> Look<'db> {
        let Some(version) = below_number(&txn.slot, record, txn.numbered.number) else { return Ok(None) };
        if version.is_sealed() && !txn.run.has_dependencies() {
            return Ok((!version.meta().is_tombstone()).then_some(Some(version)));
        }
        self.see_early(txn, version)
    }

    /// As `see`, for a version that may not be sealed, and attempts that depend on runs. Waits until the version is
    /// sealed or exposed.
    #[inline(never)]
    fn see_early<'db>(&self, txn: &mut Txn<'db>, version: VersionRef<'db, Self>) -> Look<'db> {
        let seen = loop {
            if version.is_sealed() {
                break (!version.meta().is_tombstone()).then_some(Some(version));
            }
            if let Some(has_value) = self.courses.borrow(&mut txn.run, &txn.slot, version, &mut txn.copy) {
                break has_value.then_some(None);
            }
            let is_there = || version.is_sealed() || version.is_lent();
            waiter::wait_until(None, || is_there() || self.is_over());
            if !is_there() && self.is_over() {
                return Err(Abort::Stopped);
            }
        };
        // A procedure that reads a record twice must not see that it has changed in between.
        if self.verdict(txn) == Some(false) { Err(Abort::Cascade) } else { Ok(seen) }
    }
    // ANCHOR_END: see

    /// Makes a version of the attempt's own, for a new value, of a record of which it has written none.
    #[inline]
    fn own<'db>(&self, txn: &mut Txn<'db>, of: Unwritten<'db>) -> Result<usize, Abort> {
        // Invariant (3).
        let numbers = || (txn.numbered.number, self.batches.before());
        let at = own_version(&mut txn.slot, &txn.coverage, &mut txn.own, of, numbers)?;
        txn.count(at).map(|()| at)
    }

    /// Like `own`, if the record has a value. A version that modifies the value starts with a copy of it; another one
    /// does not wait for the value.
    #[inline]
    fn over<'db>(&self, txn: &mut Txn<'db>, of: Unwritten<'db>, how: Write) -> Result<Option<usize>, Abort> {
        let (record, placeholder) = of;
        // A record that has a placeholder is in the footprint.
        if placeholder.is_none() {
            txn.coverage.record(record.id(), Mode::Shared)?;
        }
        if how == Write::Blind {
            // Invariant (3), and that of `bohm`.
            let has_value = version_chain::has_value(&txn.slot, record, txn.numbered.number);
            return has_value.then(|| self.own(txn, of)).transpose();
        }
        let Some(seen) = self.see(txn, record)? else { return Ok(None) };
        let at = self.own(txn, of)?;
        txn.own.get(at).version.words().copy_from_slice(words_of(&txn.slot, &txn.copy, seen));
        Ok(Some(at))
    }

    /// Step 5 of COMMIT: exposes the writes that are due. Called when the next access begins, because only then the
    /// procedure is done with the words of the last one.
    #[inline]
    fn expose(&self, txn: &mut Txn<'_>) {
        if self.is_early {
            txn.run.expose(&mut txn.own);
        }
    }

    // ANCHOR: await
    /// Step 6 of COMMIT.
    #[cold]
    fn await_others(&self, txn: &mut Txn<'_>) -> Result<(), Abort> {
        if is_planted(&plants::PWV_ENDS_FIRST) {
            return Ok(());
        }
        waiter::wait_until(None, || self.verdict(txn).is_some() || self.is_over());
        match self.verdict(txn) {
            Some(true) => Ok(()),
            Some(false) => {
                txn.is_doomed = true;
                Err(Abort::Cascade)
            }
            None => Err(Abort::Stopped),
        }
    }
    // ANCHOR_END: await

    /// Whether all runs on which the attempt depends have become final; `None` if that is not known yet.
    #[inline]
    fn verdict(&self, txn: &Txn<'_>) -> Option<bool> {
        let is_shrugged = |verdict| verdict || is_planted(&plants::PWV_IGNORES_CASCADES);
        self.courses.verdict(&txn.run).map(is_shrugged)
    }

    /// Gives a version of the attempt's own the value of the version before it, when that version is sealed.
    fn pass_through(&self, txn: &mut Txn<'_>, at: usize) {
        // An attempt that gives up the run leaves nothing that anybody reads.
        txn.own.pass_below(&txn.slot, at, txn.numbered.number, || self.is_over());
    }

    fn is_over(&self) -> bool {
        self.is_abandoned.load(Ordering::Relaxed) // Relaxed: only ends waits.
    }

    /// Ends the attempt: brings records down to one version.
    fn leave(&self, txn: &mut Txn<'_>) {
        if txn.coverage.step() != Step::Rehearsal {
            settle(&mut txn.slot, || self.batches.before());
        }
        self.batches.leave(&mut txn.numbered);
    }
}

/// The words of a value that an attempt sees.
#[inline]
fn words_of<'t, 'db>(slot: &'t Slot<'db, Pwv>, copy: &'t [u64], seen: Seen<'db>) -> &'t [u64] {
    match seen {
        Some(version) => slot.words(version).expect("it was found sealed"),
        None => copy,
    }
}

impl Txn<'_> {
    /// Counts a write of a version of its own, the first one or a further one.
    #[inline]
    fn count(&mut self, at: usize) -> Result<(), Abort> {
        self.run.count(at, self.own.get(at))
    }
}
