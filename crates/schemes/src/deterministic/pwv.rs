//! PWV: piece-wise visibility (Faleiro, Abadi, Hellerstein: High performance transactions via early write visibility, VLDB
//! 2017).
//!
//! IDEA        The transactions of a batch have an order before any of them runs, so nobody aborts for a conflict. What
//!             then keeps a write from others is only that its transaction may roll back, or write the record once more.
//!             When neither is to be expected any longer, the write is exposed, while its transaction goes on: a hot
//!             record is passed on after its last write, and not after the last access of whoever wrote it.
//! RECORD      The chain and its stamps are `engine::parts::version_chain`; the header counts nothing. A version's
//!             number is as under `bohm`. It also says whether its value is exposed: then the value is a copy, in the
//!             course of the transaction (one a place of the batch), until the version is sealed. A course also has a
//!             count: even in a run of the transaction, one more when the transaction has ended as this run did, and at
//!             least two more when the run was withdrawn.
//! COMMIT      1. Rehearse, 2. declare and 3. plan, as under `bohm`. It is counted how often each record is written.
//!             4. Execute, in the order of the transactions; a worker goes on with the next one where one waits. A read
//!                waits until the version that it finds is sealed or exposed. Who reads an exposed value depends on the
//!                run that exposed it.
//!             5. Expose: when the procedure has said that it will not roll back, writes are exposed that were the last
//!                ones of their records, as far as the rehearsal knows; and all of them when the procedure has returned.
//!             6. Await those on whom the transaction depends. If the run of one was withdrawn, withdraw the present run:
//!                take back what it exposed, and execute again, in the same place.
//!             7. Seal the versions, as under `bohm`. What touched what it had not declared, or wrote once more what it
//!                had exposed, or rolled back, is withdrawn, too, and its versions pass on what was before.
//!             8. Whoever touched what it had not declared executes again, alone, after the others, in their order.
//! INVARIANTS  (1) Numbers fall along a chain, and who waits waits for a smaller number, as under `bohm`; so do those
//!                 who depend. The first transaction that has not ended waits for nobody.
//!             (2) An attempt ends, whether it commits, rolls back or lacks something in its footprint, only when all runs
//!                 that it depends on have become final (`await_others`, for whatever ends). So what comes of it is
//!                 what comes of executing the batch in its order, by however many workers.
//!             (3) A value is exposed once a run, and not written again in this run (`count`): it is the one that is sealed
//!                 if the run becomes final.
//!             (4) What is exposed is found, and withdrawn, under the latch of its course, so that nobody depends on a run
//!                 that was withdrawn already without finding out in step 6.
//!             (5) Keys, stretches and deleted records have locks, which are given up when the transaction has ended: of
//!                 these nothing is seen early, and rows that come and go are those of final runs.
//! DEPARTURES  The original is given transactions in pieces, each of one partition, with what each reads and writes;
//!             here procedures are opaque, a rehearsal finds what they touch, and one worker executes a procedure as a
//!             whole. So the pieces are the stretches between two accesses, a piece cannot run on another worker than the
//!             rest, and the data dependencies between pieces are the order in which the procedure makes its accesses.
//!             The original knows that what it exposes will commit. A rehearsal may be wrong, so that what is exposed is
//!             tentative here, and reading it a dependency, with cascades: the price of opaque procedures. The votes on
//!             aborts are the hint `Transaction::decided`. Inserts are not exposed (5), so that two New-Orders of a
//!             district run one after the other. A rollback that was announced not to come is no error, but costs a
//!             cascade.

use engine::driver::Planned;
use engine::parts::footprint::{Coverage, Mode};
use engine::parts::version_chain::{self, ChainHead, Stamped, VersionStamp, below, settle};
use engine::parts::{
    AccessSet, Batches, CopyBuffer, Numbered, OwnVersions, RehearsedWrites, VersionPlan, WordRange,
    WriteBuffer, push_numbered,
};
use engine::setting::{Range, Setting, SettingError, Values};
use engine::{
    Abort, Admits, End, Env, Family, Info, InsertAt, Isolation, Observer, Planning, Retire, Scheme, Sink,
    Stamp, Step, Ticket, Touch, Write,
};
use storage::{LeafRef, Meta, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::{Latched, Padded, waiter};

use crate::plants;

/// The state that all transactions share.
#[derive(Debug)]
pub struct Pwv {
    batch_max: usize,
    open_max: usize,
    is_early: bool,
    batches: Batches,
    /// By place.
    courses: Box<[Padded<Course>]>,
    is_abandoned: AtomicBool,
}

/// What others may know of a transaction that has not ended.
#[derive(Debug, Default)]
struct Course {
    /// Even: the present run. One more: it has become final.
    count: AtomicU64,
    exposed: Latched<Exposed>,
}

/// What the present run has exposed.
#[derive(Debug, Default)]
struct Exposed {
    /// By record.
    values: AccessSet<Option<WordRange>>,
    words: WriteBuffer,
}

/// What the count of a course has grown by when its run was withdrawn and another follows; and when none follows.
const RUNS_AGAIN: u64 = 2;
const ENDS_WITHDRAWN: u64 = 3;
/// And when the run has become final.
const ENDS: u64 = 1;

/// What a version carries.
#[derive(Debug, Default)]
pub struct EarlyStamp {
    stamp: VersionStamp,
    /// Whether its course has its value, though it is not sealed.
    is_exposed: AtomicBool,
}

impl Meta for EarlyStamp {
    fn reset(&self) {
        self.stamp.reset();
        self.is_exposed.store(false, Ordering::Relaxed); // Relaxed: publishing the version orders it.
    }

    #[inline]
    fn copy_final(&self, to: &Self) -> bool {
        self.stamp.copy_final(&to.stamp)
    }
}

impl Stamped for EarlyStamp {
    #[inline]
    fn stamp(&self) -> &VersionStamp {
        &self.stamp
    }
}

impl EarlyStamp {
    #[inline]
    fn is_exposed(&self) -> bool {
        self.is_exposed.load(Ordering::Acquire) // Acquire: pairs with the Release in `set_exposed`.
    }

    /// For whoever has the latch of the course.
    fn set_exposed(&self, is_exposed: bool) {
        self.is_exposed.store(is_exposed, Ordering::Release); // Release: pairs with the Acquire in `is_exposed`.
    }
}

/// What an attempt sees of a record.
enum Seen<'db> {
    /// That it has no value.
    Nothing,
    /// The value of a sealed version.
    Sealed(VersionRef<'db, Pwv>),
    /// A copy of a value that is exposed, in the attempt's buffer.
    Exposed,
}

/// What became in this run of a placeholder.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    times: u32,
    is_exposed: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Pwv>,
    /// Its number is that of its versions.
    numbered: Numbered,
    coverage: Coverage,
    /// In a rehearsal.
    rehearsed: RehearsedWrites<'db, Pwv>,
    /// In every other attempt: the placeholders come first.
    own: OwnVersions<'db, Pwv>,
    /// By placeholder.
    written: Vec<Written>,
    /// Placeholders that are written for the last time, and not exposed yet.
    due: Vec<usize>,
    /// The place in the batch, and the count of its course, in a planned attempt.
    run: Option<(usize, u64)>,
    /// The places and counts of the runs that it depends on.
    depends: Vec<(usize, u64)>,
    /// The exposed value that was read last.
    copy: CopyBuffer,
    is_decided: bool,
    /// Whether a run that it depends on was withdrawn.
    is_doomed: bool,
}

impl Shape for Pwv {
    type Header = ChainHead;
    type Version = EarlyStamp;
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
        idea: "fixes the order of a batch, and shows a write before its transaction ends, once it is the last of its \
               record and no rollback is to come",
    };
    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "pwv.batch",
            default: "64",
            range: Range::Int(1, 10_000),
            unit: "transactions",
            doc: "Transactions of a batch: large ones meet less often; in small ones less has changed since the \
                  rehearsal, and chains stay short.",
            stresses: "meetings of the workers, latency, and the length of chains of versions",
        },
        Setting {
            name: "pwv.early",
            default: "on",
            range: Range::Choice(&["off", "on"]),
            unit: "",
            doc: "Whether writes are seen before their transactions end; off, they are seen when these have ended, as \
                  under `bohm`. It pays where a hot record is written long before the end.",
            stresses: "how long others wait for a hot record",
        },
        Setting {
            name: "pwv.open",
            default: "8",
            range: Range::Int(1, 1_000),
            unit: "attempts",
            doc: "Attempts that a worker has open at a time: with more than one it goes on with the next transaction \
                  where one waits for others.",
            stresses: "switches between attempts, and workers that wait",
        },
    ];
    const INSERT: InsertAt = InsertAt::Install;
    const PLANS: bool = true;
    const SERIAL_STAMPS: bool = true;
    type Driver = Planned;
    type Txn<'db> = Txn<'db>;

    fn new(values: &Values, _: Env) -> Result<Self, SettingError> {
        let batch_max = values.int("pwv.batch") as usize;
        Ok(Self {
            batch_max,
            open_max: values.int("pwv.open") as usize,
            is_early: values.text("pwv.early") == "on",
            batches: Batches::default(),
            courses: (0..batch_max).map(|_| Padded::default()).collect(),
            is_abandoned: AtomicBool::new(false),
        })
    }

    fn clients(values: &Values, asked: usize) -> usize {
        asked.max(values.int("pwv.batch") as usize)
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            rehearsed: RehearsedWrites::new(&slot),
            slot,
            numbered: Numbered::default(),
            coverage: Coverage::default(),
            own: OwnVersions::default(),
            written: Vec::new(),
            due: Vec::new(),
            run: None,
            depends: Vec::new(),
            copy: CopyBuffer::default(),
            is_decided: false,
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
        txn.written.clear();
        txn.due.clear();
        txn.depends.clear();
        (txn.run, txn.is_decided, txn.is_doomed) = (None, false, false);
        txn.numbered = self.batches.enter(ticket)?;
        if ticket.step == Step::Planned {
            let place = txn.numbered.place();
            txn.run = Some((place, self.courses[place].enter()));
            txn.written.resize(txn.own.len(), Written::default());
        }
        txn.coverage.begin(ticket.step)
    }

    #[inline]
    fn touch<'db>(&'db self, txn: &mut Txn<'db>, touch: Touch) -> Result<(), Abort> {
        txn.coverage.touch(touch)
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
        self.expose(txn);
        if let Some(own) = txn.own.written(record) {
            return Ok(txn.own.words(own).map(|words| &*words));
        }
        txn.coverage.record(record.id(), Mode::Shared)?;
        Ok(match self.see(txn, record)? {
            Seen::Nothing => None,
            Seen::Sealed(version) => txn.slot.words(version),
            Seen::Exposed => Some(&*txn.copy.room(record.width())),
        })
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
        self.expose(txn);
        if let Some(own) = txn.own.written(record) {
            txn.count(own)?;
            return Ok(txn.own.words(own));
        }
        let Some(own) = self.over_value(txn, record, how)? else { return Ok(None) };
        Ok(txn.own.words(own))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        if txn.rehearsed.find(record).is_some() {
            return Ok(txn.rehearsed.insert(record));
        }
        self.expose(txn);
        if let Some(own) = txn.own.written(record) {
            txn.count(own)?;
            return Ok(txn.own.revive(own));
        }
        if !matches!(self.see(txn, record)?, Seen::Nothing) {
            txn.coverage.record(record.id(), Mode::Shared)?;
            return Ok(None);
        }
        if txn.coverage.step() == Step::Rehearsal {
            return Ok(txn.rehearsed.insert(record));
        }
        let own = self.own(txn, record)?;
        Ok(txn.own.words(own))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        if txn.coverage.step() == Step::Rehearsal {
            return txn.rehearsed.delete(&txn.slot, &mut txn.coverage, record);
        }
        self.expose(txn);
        // Nobody is to look for the row when it has left the indexes, also if it was only updated before.
        txn.coverage.record(record.id(), Mode::Exclusive)?;
        if let Some(own) = txn.own.written(record) {
            txn.count(own)?;
            return Ok(txn.own.delete(own));
        }
        Ok(self.over_value(txn, record, Write::Blind)?.is_some_and(|own| txn.own.delete(own)))
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        txn.coverage.miss()
    }

    #[inline]
    fn adding<'db>(&'db self, _: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        Ok(())
    }

    fn added<'db>(&'db self, _: &mut Txn<'db>, _: LeafRef<'db, ()>, _: u64) {}

    fn split<'db>(&'db self, _: &mut Txn<'db>, _: LeafRef<'db, ()>, _: u64, _: LeafRef<'db, ()>) {}

    /// Step 5 of COMMIT.
    #[inline]
    fn decided<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.is_decided = true;
        self.expose(txn);
    }

    /// Steps 5 and 6 of COMMIT.
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if txn.depends.is_empty() {
            return Ok(());
        }
        if end == End::Commit {
            let Txn { due, own, written, .. } = &mut *txn;
            due.clear();
            due.extend((0..written.len()).filter(|at| own.is_written(*at) && !written[*at].is_exposed));
            self.decided(txn);
        }
        self.await_others(txn)
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
            let before = txn.below(record).filter(|version| !version.meta().stamp.is_tombstone());
            let value = txn.own.words(at).map(|words| &*words);
            seen.installed(record, before.and_then(|before| txn.slot.words(before)), value);
            sink.logged(stamp, record, value);
        }
        txn.own.seal();
        if let Some((place, run)) = txn.run.take() {
            self.courses[place].leave(run + ENDS);
        }
        self.leave(txn);
        stamp
    }

    /// Steps 6 and 7 of COMMIT: whether the attempt was doomed, `precommit` has found out.
    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        self.withdraw(txn);
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
        let newest = txn.slot.newest(record).filter(|version| !version.meta().stamp.is_tombstone());
        txn.slot.words(newest?)
    }
}

impl Planning for Pwv {
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

    /// Step 2 of COMMIT.
    fn declare<'db>(&'db self, plan: &VersionPlan<'db, Self>, txn: &mut Txn<'db>) {
        plan.declare(txn.numbered.place(), &txn.slot, txn.coverage.footprint(), &txn.rehearsed);
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

    fn may_run(plan: &VersionPlan<'_, Self>, place: usize) -> bool {
        plan.are_locks_held(place)
    }

    fn prepare<'db>(plan: &VersionPlan<'db, Self>, txn: &mut Txn<'db>, place: usize) {
        plan.hand_over(place, txn.coverage.footprint(), &mut txn.own);
    }

    fn is_to_run_again(txn: &Txn<'_>) -> bool {
        txn.is_doomed
    }

    fn release(plan: &VersionPlan<'_, Self>, place: usize) {
        plan.release(place);
    }
}

impl Pwv {
    // ANCHOR: see
    /// Step 4 of COMMIT: what the attempt is to see of a record. Waits until that is sealed or exposed.
    #[inline]
    fn see<'db>(&self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<Seen<'db>, Abort> {
        let Some(version) = txn.below(record) else { return Ok(Seen::Nothing) };
        let seen = loop {
            if version.is_sealed() {
                let is_nothing = version.meta().stamp.is_tombstone();
                break if is_nothing { Seen::Nothing } else { Seen::Sealed(version) };
            }
            // None if it was withdrawn just now.
            if version.meta().is_exposed()
                && let Some(seen) = self.borrow(txn, record, version)
            {
                break seen;
            }
            let is_there = || version.is_sealed() || version.meta().is_exposed();
            waiter::wait_until(None, || is_there() || self.is_over());
            if !is_there() && self.is_over() {
                return Err(Abort::Stopped);
            }
        };
        // A procedure that reads a record twice must not see that it has changed in between.
        if self.verdict(txn) == Some(false) { Err(Abort::Cascade) } else { Ok(seen) }
    }
    // ANCHOR_END: see

    /// Copies an exposed value, on whose run the attempt depends from now on.
    fn borrow<'db>(
        &self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        version: VersionRef<'db, Self>,
    ) -> Option<Seen<'db>> {
        let place = Numbered::place_of(version.meta().stamp.number());
        let course = &self.courses[place];
        let exposed = course.exposed.lock();
        // Invariant (4).
        if !version.meta().is_exposed() {
            return None;
        }
        let at = exposed.values.find(record.id()).expect("a course has what is exposed");
        // Acquire: pairs with the Release in `leave`, since the version may have been sealed meanwhile.
        let run = course.count.load(Ordering::Acquire) & !ENDS;
        if !txn.depends.contains(&(place, run)) {
            txn.depends.push((place, run));
        }
        Some(match *exposed.values.get(at) {
            None => Seen::Nothing,
            Some(value) => {
                txn.copy.room(record.width()).copy_from_slice(exposed.words.get(value));
                Seen::Exposed
            }
        })
    }

    /// A version of the attempt's own of a record that has none that was written, for a new value.
    fn own<'db>(&self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<usize, Abort> {
        if let Some(at) = txn.own.write(record) {
            txn.count(at)?;
            return Ok(at);
        }
        // Invariant (5): a row that is there has its place in the order by its key or its stretch.
        let is_alone = txn.coverage.step() != Step::Planned;
        let is_new = txn.slot.newest(record).is_none();
        if !(is_alone || is_new || txn.coverage.is_covered_otherwise(Mode::Exclusive)) {
            return Err(Abort::Footprint);
        }
        let version = push_numbered(&mut txn.slot, record, txn.numbered.number, self.batches.before());
        Ok(txn.own.add(record, version))
    }

    /// As `own`, if the record has a value: which it is to be at first, if it is to be modified.
    #[inline]
    fn over_value<'db>(
        &self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<usize>, Abort> {
        txn.coverage.record(record.id(), Mode::Shared)?;
        let seen = self.see(txn, record)?;
        if matches!(seen, Seen::Nothing) {
            return Ok(None);
        }
        let at = self.own(txn, record)?;
        if how == Write::Modify {
            let words: &[u64] = match seen {
                Seen::Sealed(version) => txn.slot.words(version).expect("it is sealed"),
                Seen::Nothing | Seen::Exposed => txn.copy.room(record.width()),
            };
            txn.own.get(at).version.words().copy_from_slice(words);
        }
        Ok(Some(at))
    }

    /// Step 5 of COMMIT: exposes what is due. Called when the next access begins, since only then the procedure is done
    /// with the words of the last one.
    #[inline]
    fn expose(&self, txn: &mut Txn<'_>) {
        if txn.is_decided && !txn.due.is_empty() && self.is_early {
            self.expose_due(txn);
        }
    }

    // ANCHOR: expose
    fn expose_due(&self, txn: &mut Txn<'_>) {
        let Some((place, _)) = txn.run else { return };
        let mut exposed = self.courses[place].exposed.lock();
        for at in txn.due.drain(..) {
            let value = txn.own.words(at).map(|words| exposed.words.push_copy(words));
            let own = txn.own.get(at);
            exposed.values.push(own.record.id(), value);
            own.version.version().meta().set_exposed(true);
            txn.written[at].is_exposed = true;
        }
    }
    // ANCHOR_END: expose

    /// Takes back what the run has exposed, if it had a course: those who depend on it find out.
    fn withdraw(&self, txn: &mut Txn<'_>) {
        let Some((place, run)) = txn.run.take() else { return };
        let course = &self.courses[place];
        if is_planted(&plants::PWV_WITHDRAWS_NOTHING) && !txn.is_doomed {
            return course.leave(run + ENDS);
        }
        let mut exposed = course.exposed.lock();
        for at in 0..txn.written.len() {
            if txn.written[at].is_exposed {
                txn.own.get(at).version.version().meta().set_exposed(false);
            }
        }
        exposed.clear();
        course.leave(run + if txn.is_doomed { RUNS_AGAIN } else { ENDS_WITHDRAWN });
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

    /// Whether all runs on which the attempt depends have become final; none if that is not known yet.
    #[inline]
    fn verdict(&self, txn: &Txn<'_>) -> Option<bool> {
        let mut verdict = Some(true);
        for &(place, run) in &txn.depends {
            // Acquire: pairs with the Release in `leave`.
            match self.courses[place].count.load(Ordering::Acquire) - run {
                0 => verdict = None,
                ENDS => {}
                _ if is_planted(&plants::PWV_IGNORES_CASCADES) => {}
                _ => return Some(false),
            }
        }
        verdict
    }

    /// Gives a version of the attempt's own what the version before it has, when that is sealed.
    fn pass_through(&self, txn: &mut Txn<'_>, at: usize) {
        let record = txn.own.get(at).record;
        let before = txn.below(record);
        waiter::wait_until(None, || before.is_none_or(VersionRef::is_sealed) || self.is_over());
        // Whoever gives up the run leaves nothing that anybody reads.
        let before = before.filter(|version| !version.meta().stamp.is_tombstone());
        txn.own.pass(at, before.and_then(|before| txn.slot.words(before)));
    }

    fn is_over(&self) -> bool {
        self.is_abandoned.load(Ordering::Relaxed) // Relaxed: only ends waits.
    }

    /// The attempt has ended: brings records down to one version.
    #[inline]
    fn leave(&self, txn: &mut Txn<'_>) {
        if txn.coverage.step() != Step::Rehearsal {
            settle(&mut txn.slot, || self.batches.before());
        }
        self.batches.leave(&mut txn.numbered);
    }
}

impl Course {
    /// A run begins: its count.
    fn enter(&self) -> u64 {
        // Relaxed, both: the count of a course is its transaction's to change, and nobody knows of the run yet.
        let count = self.count.load(Ordering::Relaxed);
        if count & ENDS == 0 {
            return count;
        }
        // Of the last batch.
        self.exposed.lock().clear();
        self.count.store(count + 1, Ordering::Relaxed);
        count + 1
    }

    /// A run has ended.
    fn leave(&self, count: u64) {
        self.count.store(count, Ordering::Release); // Release: pairs with the Acquire in `verdict` and `borrow`.
    }
}

impl Exposed {
    fn clear(&mut self) {
        self.values.clear();
        self.words.clear();
    }
}

impl<'db> Txn<'db> {
    /// The newest version below the attempt's number.
    #[inline]
    fn below(&self, record: RecordRef<'db, Pwv>) -> Option<VersionRef<'db, Pwv>> {
        below(&self.slot, record, |version| version.meta().stamp.number() >= self.numbered.number)
    }

    /// A version of its own is written, once more or for the first time. Invariant (3).
    #[inline]
    fn count(&mut self, at: usize) -> Result<(), Abort> {
        // Others than placeholders are never exposed.
        let Some(written) = self.written.get_mut(at) else { return Ok(()) };
        let exposes_at_once = is_planted(&plants::PWV_EXPOSES_FIRST_WRITE);
        if written.is_exposed && !exposes_at_once {
            return Err(Abort::Footprint);
        }
        written.times += 1;
        let last = if exposes_at_once { Some(1) } else { self.own.get(at).foreseen };
        if last == Some(written.times) {
            self.due.push(at);
        }
        Ok(())
    }
}
