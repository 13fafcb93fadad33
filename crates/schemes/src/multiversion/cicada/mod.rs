//! Cicada: optimistic multi-version concurrency control with loosely synchronised clocks (Lim, Kaminsky, Andersen,
//! SIGMOD 2017).
//!
//! IDEA        An attempt takes its timestamp from a clock of its own and behaves as if it ran at that instant. It
//!             reads of each record the newest version that is not later, without leaving a trace, and keeps its
//!             writes to itself. When it commits, it puts its versions on the chains, undecided, and checks its reads
//!             again. Before that it leaves its timestamp with the records read, so that no earlier attempt writes in
//!             between. The serial order is that of the timestamps, which no counter hands out. A read-only attempt
//!             reads as of a while ago, when all is decided, and checks nothing.
//! RECORD      `ChainHead`: rts, the greatest timestamp that has read the newest version. `VersionStamp`: wts, the
//!             timestamp of the writer, once the version is on its chain; it is sealed when the writer commits, and
//!             taken off when it aborts. `GapMark`: the rts of a leaf's gaps. `Clocks` has clocks and watermarks.
//! COMMIT      1. Unless the last few attempts have all committed: look in advance for reasons to fail, and sort the
//!                writes, those of the newest versions first, where contention is highest.
//!             2. Install the versions, undecided: each at the new end of its chain, over the version that was read,
//!                and over none that a later timestamp has read.
//!             3. Leave the timestamp as rts with each record that was read, and validate: the version that is
//!                visible at the timestamp is the one that was read.
//!             4. Seal the versions: they are committed. Leave the clock, so that snapshots may show them.
//!             5. Give up versions that earlier commits had to leave and nobody needs any more.
//! INVARIANTS  (1) Versions grow only at the new end, in the order of timestamps, the newest alone undecided (asserted
//!                 in `PendingWrites`; `top` lets nobody write over an undecided one).
//!             (2) An attempt that validates a read marks the header before it looks; an attempt that installs a
//!                 version looks for marks after the version is there. So either the reader finds the version, or the
//!                 writer the mark (`validate`, `put`).
//!             (3) Waits go from later to earlier timestamps: they cannot form a circle (`wait`).
//!             (4) A key gets no value before those that have missed it at a later timestamp: a reader marks the leaf
//!                 when it looks, the record takes the mark over when it enters (`entering`), and the attempt that
//!                 gives it a value finds the mark in step 2. A record that leaves gives its mark back (`retire`).
//!             (5) Everything up to a snapshot is decided, and stays: the watermarks of `Clocks` ensure that.
//! DEPARTURES  Versions stand at the new end of a chain alone: the paper puts blind writes below later versions, too,
//!             where here they abort. So one rts for each record is enough, only the newest version is ever undecided,
//!             one look for marks after the installation is conclusive, and an aborted version leaves its chain at
//!             once. The paper has indexes of versioned nodes; here gaps are marked, when they are read and not at the
//!             commit: then keys that enter for later timestamps fail nobody, although an attempt that aborts leaves
//!             its marks. Storage inlines: a new version stands within its record if there is room, and a version that
//!             is alone moves there, not a copy that a reader makes (`run.versions=apart` turns that off). Watermarks
//!             are moved on by all slots, each after a number of attempts that grows with the number of slots
//!             (`refresh_every`), not by a leader that may idle; old versions are cut by the next writer of the record,
//!             or by its last writer. The regulation of contention exists for all schemes, as `--retry climb`; the
//!             boost of stragglers is here. A client that is to see its own commit in a snapshot would have to bring
//!             its timestamp along, which none does.

pub mod clocks;
pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, End, Env, Family, Info, Isolation, Observer, OwnWrites, Retire, Scheme, Sink, Stamp,
    Ticket, Write, settings, words,
};
use parts::version_chain::{
    ChainHead, VersionStamp, cut, is_absent, leaving, retire, settle, wait_for_decision, words_of,
};
use parts::{Expected, GapMark, PendingWrites, value_before};
use storage::{LeafRef, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::plant::is_planted;

use self::clocks::{Clock, Clocks};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "cicada" {
        /// `on` has an attempt that follows recent aborts install its versions in the order of contention, beginning
        /// with the record that was written last; `off` keeps the order of the procedure.
        sort: bool {
            default: "on",
            stresses: "how early attempts fail that write much, and something that many write",
        },
        /// Whether an attempt that follows recent aborts checks, before it installs any version, whether it would fail.
        early_check: bool {
            default: "on",
            stresses: "how many versions are installed in vain, and the price of a second look",
        },
        /// Whether transactions that are declared read-only read a snapshot of a while ago, and never abort.
        snapshots: bool {
            default: "on",
            stresses: "long readers among writers, and the age of what is read",
        },
        /// The reaction of an attempt to an earlier version without a decision: it waits for the decision, or aborts.
        pending: Pending {
            default: "wait",
            stresses: "the choice between blocking and aborting on records that are written often",
        },
        /// By how much the timestamps of a client are ahead of its clock from an abort to its next commit.
        boost_us: u64 {
            default: "1",
            range: Range::Int(0, 1_000),
            unit: "us",
            stresses: "who wins against whom, on machines whose processors are not equally fast",
        },
    }
}

words! {
    /// The reaction of an attempt to an earlier version without a decision.
    pub enum Pending {
        /// It aborts.
        Abort = "abort",
        /// It waits for the decision.
        Wait = "wait",
    }
}

/// Commits in a row after which a slot takes its work for uncontended. The number is that of the authors' code.
const CALM: u32 = 5;
/// The wts that stands for a record without a version.
const NONE: u64 = u64::MAX;

/// The state that all transactions share: the clocks. The other fields are settings.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting")]
pub struct Cicada {
    clocks: Clocks,
    sorts: bool,
    checks_early: bool,
    waits: bool,
    boost_ns: u64,
    has_snapshots: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Cicada>,
    scheme: &'db Cicada,
    clock: Clock,
    /// The attempt's timestamp; if the attempt reads a snapshot, the snapshot's.
    ts: u64,
    /// The greatest timestamp that the attempt sees.
    sees: u64,
    is_snapshot: bool,
    /// Records read, each with the wts of the version that was seen.
    reads: Vec<(RecordRef<'db, Cicada>, u64)>,
    writes: PendingWrites<'db, Cicada>,
    /// By place among the writes: the version over which each write is to go.
    expected: Vec<Expected>,
    /// The places of the writes in the order in which they are installed, each with its sort key.
    order: Vec<(u64, usize)>,
    /// Attempts that have committed since one failed; at first there is no reason to be wary.
    streak: u32,
    /// Whether the procedure rolls back, which does not count as a failure.
    rolls_back: bool,
}

impl Shape for Cicada {
    type Header = ChainHead;
    type Version = VersionStamp;
    type Leaf = GapMark;
    type Data = Versioned;
}

impl Scheme for Cicada {
    const INFO: Info = Info {
        name: "cicada",
        title: "Cicada",
        paper: "Lim, Kaminsky, Andersen: Cicada: dependably fast multi-core in-memory transactions, SIGMOD 2017",
        family: Family::MultiVersion,
        isolation: Isolation::Serializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "timestamps of loosely synchronised clocks order transactions, which validate that they read as of them",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self {
            clocks: Clocks::new(env.slots),
            sorts: settings.sort,
            checks_early: settings.early_check,
            waits: settings.pending == Pending::Wait,
            boost_ns: settings.boost_us * 1_000,
            has_snapshots: settings.snapshots,
        })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            clock: self.clocks.clock(slot.id()),
            slot,
            scheme: self,
            ts: 0,
            sees: 0,
            is_snapshot: false,
            reads: Vec::new(),
            writes: PendingWrites::default(),
            expected: Vec::new(),
            order: Vec::new(),
            streak: CALM,
            rolls_back: false,
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    /// The first version has wts 0, which is before every timestamp.
    fn loaded(&self, _: RecordRef<'_, Self>) {}

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.reads.clear();
        txn.expected.clear();
        txn.is_snapshot = ticket.read_only && self.has_snapshots;
        if txn.is_snapshot {
            txn.ts = self.clocks.enter_snapshot(&mut txn.clock);
        } else {
            let boost_ns = if txn.streak == 0 { self.boost_ns } else { 0 };
            txn.ts = self.clocks.enter(&mut txn.clock, boost_ns);
        }
        txn.sees = txn.ts - u64::from(!txn.is_snapshot);
        Ok(())
    }

    #[inline]
    fn own_writes<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<impl OwnWrites<'t, 'db, Self>> {
        Some(&mut txn.writes)
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        let seen = txn.visible(record)?;
        txn.note(record, seen);
        Ok(words_of(&txn.slot, seen))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let Some(own) = txn.own(record, true, how)? else { return Ok(None) };
        Ok(txn.writes.words(own))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let Some(own) = txn.own(record, false, Write::Blind)? else { return Ok(None) };
        Ok(txn.writes.words(own))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let Some(own) = txn.own(record, true, Write::Blind)? else { return Ok(false) };
        Ok(txn.writes.delete(own))
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, GapMark>) -> Result<(), Abort> {
        if !txn.is_snapshot && !is_planted(&plants::CICADA_MARKS_NO_GAPS) {
            leaf.meta().read_at(txn.ts);
        }
        Ok(())
    }

    /// An attempt that is too late would also find that when it commits, from the mark that the record takes over.
    #[inline]
    fn adding<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, GapMark>) -> Result<(), Abort> {
        if leaf.meta().rts() > txn.ts { Err(Abort::TooLate) } else { Ok(()) }
    }

    #[inline]
    fn entering(&self, record: RecordRef<'_, Self>, leaf: &GapMark) -> Result<(), Abort> {
        let rts = if is_planted(&plants::CICADA_ENTERS_FRESH) { 0 } else { leaf.rts() };
        if record.header().read_at(rts) { Ok(()) } else { Err(Abort::WriteConflict) }
    }

    /// Looks in advance, like step 1 of COMMIT: an attempt that seals a version has put all its other versions on
    /// their chains. Gaps have the mark of this timestamp already.
    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        let mut written = txn.expected.iter().enumerate();
        txn.reads.iter().try_for_each(|&(record, seen)| txn.is_still(record, seen))?;
        written.try_for_each(|(at, expected)| txn.is_still(txn.writes.record(at), expected.word))
    }

    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Rollback {
            txn.only_read();
        } else if !txn.writes.is_empty() {
            txn.install_pending()?; // 1, 2
        }
        txn.validate()?; // 3
        txn.rolls_back = end == End::Rollback;
        Ok(())
    }

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.ts);
        txn.streak = txn.streak.saturating_add(1);
        // The bound of its clock keeps the watermark below its timestamp, so that the versions that it has written
        // over stay for now.
        let watermark = self.clocks.known_watermark();
        for (record, pending) in txn.writes.drain() {
            let version = pending.version();
            let value = (!version.meta().is_tombstone()).then(|| pending.value());
            seen.installed(record, value_before(&txn.slot, version), value);
            sink.logged(stamp, record, value);
            cut(&mut txn.slot, record, &pending, txn.ts, watermark);
            pending.seal(); // 4
        }
        txn.end(); // 4, 5
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.writes.undo(&mut txn.slot);
        if !core::mem::take(&mut txn.rolls_back) {
            txn.streak = 0;
        }
        txn.end();
    }

    fn maintain(&self, _: usize) {
        self.clocks.maintain();
    }

    fn retire(&self, record: RecordRef<'_, Self>, leaf: &GapMark) -> Retire {
        let (verdict, rts) = retire(record, |wts| self.clocks.is_past(wts));
        leaf.read_at(rts);
        verdict
    }

    /// An attempt that began earlier may see a version that has the key.
    fn leaving(&self, record: RecordRef<'_, Self>, _: &GapMark) -> Retire {
        leaving(record, |wts| self.clocks.is_past(wts))
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        words_of(&txn.slot, txn.slot.newest(record))
    }
}

/// The wts of a version, if there is one.
#[inline]
fn wts(version: Option<VersionRef<'_, Cicada>>) -> u64 {
    version.map_or(NONE, |version| version.meta().number())
}

/// Checks that nobody after `ts` has read the newest version of a record.
#[inline]
fn is_unread(record: RecordRef<'_, Cicada>, ts: u64) -> Result<(), Abort> {
    match record.header().rts() {
        rts if rts <= ts => Ok(()),
        _ if record.header().is_retired() => Err(Abort::WriteConflict),
        _ if is_planted(&plants::CICADA_IGNORES_RTS) => Ok(()),
        _ => Err(Abort::TooLate),
    }
}

impl<'db> Txn<'db> {
    /// Ends the attempt, which has nothing undecided any more.
    #[inline]
    fn end(&mut self) {
        let watermark = self.scheme.clocks.leave(&mut self.clock);
        settle(&mut self.slot, || watermark);
    }

    /// Notes what was seen of a record: it must hold at the commit. A snapshot holds anyway.
    #[inline]
    fn note(&mut self, record: RecordRef<'db, Cicada>, seen: Option<VersionRef<'db, Cicada>>) {
        if !self.is_snapshot {
            self.reads.push((record, wts(seen)));
        }
    }

    // ANCHOR: visible
    /// The version of a record that is visible to the attempt, apart from the attempt's own.
    #[inline]
    fn visible(&self, record: RecordRef<'db, Cicada>) -> Result<Option<VersionRef<'db, Cicada>>, Abort> {
        let mut next = self.slot.newest(record);
        while let Some(version) = next {
            let is_sealed = version.is_sealed();
            let skips = !is_sealed && is_planted(&plants::CICADA_SKIPS_PENDING);
            if version.meta().number() > self.sees || skips {
                next = self.slot.older(version);
            } else if is_sealed {
                break;
            } else {
                self.wait(record, version)?;
                next = self.slot.newest(record);
            }
        }
        Ok(next)
    }
    // ANCHOR_END: visible

    /// Finds the version over which a write would go: the newest, which must be visible to the attempt.
    #[inline]
    fn top(&self, record: RecordRef<'db, Cicada>) -> Result<Option<VersionRef<'db, Cicada>>, Abort> {
        while let Some(version) = self.slot.newest(record) {
            let is_sealed = version.is_sealed();
            if version.meta().number() > self.sees {
                return Err(Abort::TooLate);
            } else if is_sealed {
                return Ok(Some(version));
            }
            self.wait(record, version)?;
        }
        Ok(None)
    }

    /// Waits until an earlier attempt has decided about its version: invariant (3).
    #[cold]
    fn wait(&self, record: RecordRef<'db, Cicada>, version: VersionRef<'db, Cicada>) -> Result<(), Abort> {
        let is_decided = self.scheme.waits && wait_for_decision(&self.slot, record, version);
        if is_decided { Ok(()) } else { Err(Abort::LockBusy) }
    }

    /// Makes this attempt's first version of a record, which must have a value if `has_value` is true, and none
    /// otherwise. Returns the version's place among the writes; `None` if the record is not so.
    #[inline]
    fn own(
        &mut self,
        record: RecordRef<'db, Cicada>,
        has_value: bool,
        how: Write,
    ) -> Result<Option<usize>, Abort> {
        let over = self.top(record)?;
        if is_absent(over) == has_value {
            self.note(record, over);
            return Ok(None);
        }
        assert!(!self.is_snapshot, "a procedure that is declared read-only writes nothing");
        is_unread(record, self.ts)?; // Most attempts that will be too late are so already.
        self.expected.push(Expected { word: wts(over), is_blind: has_value && how == Write::Blind });
        Ok(Some(self.writes.keep(&mut self.slot, record, over, how)))
    }

    /// Turns the writes into reads, for a rollback.
    fn only_read(&mut self) {
        let expected = self.expected.iter().enumerate();
        self.reads.extend(expected.map(|(at, expected)| (self.writes.record(at), expected.word)));
    }

    // ANCHOR: prepare
    /// Steps 1 and 2 of COMMIT.
    #[inline]
    fn install_pending(&mut self) -> Result<(), Abort> {
        self.order.clear();
        self.order.extend((0..self.expected.len()).map(|at| (0, at)));
        if self.streak < CALM {
            self.prepare()?;
        }
        (0..self.order.len()).try_for_each(|nth| self.put(self.order[nth].1))
    }

    /// Step 1 of COMMIT.
    #[cold]
    fn prepare(&mut self) -> Result<(), Abort> {
        if self.scheme.checks_early {
            self.reads.iter().try_for_each(|&(record, seen)| self.is_still(record, seen))?;
            (0..self.expected.len()).try_for_each(|at| self.over(at).map(drop))?;
        }
        if self.scheme.sorts {
            for (rank, at) in &mut self.order {
                let newest = self.slot.newest(self.writes.record(*at));
                *rank = newest.map_or(u64::MAX, |newest| !newest.meta().number());
            }
            self.order.sort_unstable();
        }
        Ok(())
    }
    // ANCHOR_END: prepare

    // ANCHOR: put
    /// Installs a version: invariant (2).
    #[inline]
    fn put(&mut self, at: usize) -> Result<(), Abort> {
        let (record, ts) = (self.writes.record(at), self.ts);
        loop {
            let over = self.over(at)?;
            if self.writes.put(at, over, ts, || is_unread(record, ts))? {
                return Ok(());
            }
        }
    }
    // ANCHOR_END: put

    /// The version over which a write is to go, if the write still may.
    #[inline]
    fn over(&mut self, at: usize) -> Result<Option<VersionRef<'db, Cicada>>, Abort> {
        let record = self.writes.record(at);
        let over = self.top(record)?;
        self.expected[at].confirm(wts(over), !is_absent(over))?;
        is_unread(record, self.ts)?;
        Ok(over)
    }

    // ANCHOR: validate
    /// Step 3 of COMMIT: invariant (2).
    #[inline]
    fn validate(&self) -> Result<(), Abort> {
        for &(record, seen) in &self.reads {
            let rts = if is_planted(&plants::CICADA_RAISES_NO_RTS) { 0 } else { self.ts };
            if !record.header().read_at(rts) {
                return Err(Abort::ReadChanged);
            }
            self.is_still(record, seen)?;
        }
        Ok(())
    }
    // ANCHOR_END: validate

    /// Checks that the visible version of a record is the one that was seen.
    #[inline]
    fn is_still(&self, record: RecordRef<'db, Cicada>, seen: u64) -> Result<(), Abort> {
        let is_same = wts(self.visible(record)?) == seen || is_planted(&plants::CICADA_SKIPS_READS);
        if is_same { Ok(()) } else { Err(Abort::ReadChanged) }
    }
}
