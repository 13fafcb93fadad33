//! MVTO: multi-version timestamp ordering (Reed, `PhD` thesis, MIT 1978), in the form of `DBx1000` (Yu, Bezerra,
//! Pavlo, Devadas, Stonebraker, VLDB 2014).
//!
//! IDEA        An attempt draws a timestamp when it begins and behaves as if it ran at that instant. It reads
//!             of each record the newest version that is not later, and leaves its timestamp as a mark of
//!             that. It writes by putting an undecided version on the new end of the chain, unless someone
//!             later has read or written the record: then it is too late and aborts. Ranges and missing keys
//!             are records of a kind: a leaf carries the mark of its last reader, and to add a key is to
//!             write the leaf.
//! RECORD      `ChainHead`: the greatest timestamp that has read the newest version. `VersionStamp`: the
//!             timestamp of the writer, from the push on; the version is sealed when the writer commits.
//! COMMIT      Each access was checked when it was made, so nothing is left to fail.
//!             1. Give up the versions before each written one that nobody needs.
//!             2. Seal the version: it is committed.
//!             3. Give up what earlier commits had to leave and nobody needs any more.
//!             An attempt that began later and finds one of these versions undecided waits for it, one that
//!             began earlier passes by all of them, so nobody sees half a commit.
//! INVARIANTS  (1) Versions grow only at the new end, in the order of timestamps, the newest alone undecided
//!                 (asserted in `PendingWrites::push`; `top` lets nobody write over an undecided one).
//!             (2) An attempt that read a version, or that there is none, at `ts` has marked the header before
//!                 it looked; an attempt that pushes a version looks for marks after the push. So either the
//!                 reader finds the version, or the writer the mark (`see`, `write_over`). Only where a committed
//!                 version is later than `ts` is there no mark: it keeps all earlier writers out.
//!             (3) Waits go from later to earlier timestamps: they cannot form a circle (`wait`).
//!             (4) Timestamps come from one counter, so their order is that of real time.
//! DEPARTURES  The mark is one per record, as in `DBx1000`: versions are never put in the middle of a chain, for
//!             which Reed's scheme needs a mark in each. That would spare blind writes an abort, and nothing
//!             else: a write that reads first finds the later writer's mark. Who waits for a version stands in a
//!             queue beside the records and goes on in the order of timestamps, but an attempt that never waited
//!             may come between, and after a 200th of `mvto.wait_us` an attempt no longer waits for those that only
//!             stand before it; after `mvto.wait_us` a waiting attempt aborts, so that a client that thinks
//!             within its transaction delays nobody for longer. Versions are given up by a watermark of all
//!             attempts, not when their array is full.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, End, Env, Family, Info, Isolation, Observer, Retire, Scheme, Sink, Stamp, Ticket, Write,
    settings,
};
use parts::version_chain::{
    ChainHead, VersionStamp, cut, is_absent, is_decided, leaving, retire, settle, words_of,
};
use parts::{
    GapMark, PendingWrites, QueuePlace, QueuedAccess, TimestampQueues, Timestamps, Waiter, value_before,
};
use storage::{LeafRef, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::plant::is_planted;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "mvto" {
        /// How long an attempt waits for an earlier one to decide on a version that it needs, before it aborts; 0,
        /// never to wait, pays only where transactions wait for their clients while they write.
        wait_us: u64 {
            default: "10000",
            range: Range::Int(0, 10_000_000),
            unit: "us",
            stresses: "the choice between blocking and aborting on records that are written often",
        },
    }
}

/// The state that all transactions share: the source of timestamps.
#[derive(Debug)]
pub struct Mvto {
    timestamps: Timestamps,
    queues: TimestampQueues,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Mvto>,
    ts: u64,
    queues: &'db TimestampQueues,
    writes: PendingWrites<'db, Mvto>,
    /// See [`Timestamps::watermark`].
    watermark_age: usize,
}

/// The state of a record as an attempt sees it.
enum Seen<'db> {
    /// Its own version, by its place among the writes.
    Own(usize),
    Value(VersionRef<'db, Mvto>),
    Nothing,
}

/// The new end of a chain, as a writer finds it.
enum Top<'db> {
    /// Its own version, by its place among the writes.
    Own(usize),
    /// A version that is committed and earlier, or none.
    Of(Option<VersionRef<'db, Mvto>>),
}

impl Shape for Mvto {
    type Header = ChainHead;
    type Version = VersionStamp;
    type Leaf = GapMark;
    type Data = Versioned;
}

impl Scheme for Mvto {
    const INFO: Info = Info {
        name: "mvto",
        title: "MVTO",
        paper: "Reed: Naming and synchronization in a decentralized computer system, PhD thesis, MIT 1978",
        family: Family::MultiVersion,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Consistent,
        idea: "timestamps at begin order all transactions; readers see old versions, writers that come too late abort",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        let queues = TimestampQueues::new(env.slots, settings.wait_us * 1_000);
        Ok(Self { timestamps: Timestamps::new(env.slots), queues })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        let (writes, queues) = (PendingWrites::default(), &self.queues);
        let watermark_age = self.timestamps.first_age(slot.id());
        Txn { slot, ts: 0, queues, writes, watermark_age }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    /// The first version has number 0, which is before every timestamp.
    fn loaded(&self, _: RecordRef<'_, Self>) {}

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, _: &Ticket) -> Result<(), Abort> {
        txn.ts = self.timestamps.enter(txn.slot.id());
        Ok(())
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        match txn.see(record, &mut None)? {
            Seen::Own(at) => Ok(txn.writes.value(at)),
            Seen::Value(version) => Ok(txn.slot.words(version)),
            Seen::Nothing => Ok(None),
        }
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let mut place = None;
        loop {
            let over = match txn.top(record, &mut place)? {
                Top::Own(at) => return Ok(txn.writes.words(at)),
                Top::Of(over) if is_absent(over) => {
                    return txn.stays(record, &mut place, false).map(|()| None);
                }
                Top::Of(over) => over,
            };
            if let Some(at) = txn.write_over(record, over, how)? {
                return Ok(txn.writes.words(at));
            }
        }
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let mut place = None;
        loop {
            let over = match txn.top(record, &mut place)? {
                Top::Own(at) => return Ok(txn.writes.insert(at)),
                Top::Of(over) if !is_absent(over) => {
                    return txn.stays(record, &mut place, true).map(|()| None);
                }
                Top::Of(over) => over,
            };
            if let Some(at) = txn.write_over(record, over, Write::Blind)? {
                return Ok(txn.writes.words(at));
            }
        }
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let mut place = None;
        loop {
            let over = match txn.top(record, &mut place)? {
                Top::Own(at) => return Ok(txn.writes.delete(at)),
                Top::Of(over) if is_absent(over) => {
                    return txn.stays(record, &mut place, false).map(|()| false);
                }
                Top::Of(over) => over,
            };
            if let Some(at) = txn.write_over(record, over, Write::Blind)? {
                return Ok(txn.writes.delete(at));
            }
        }
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, GapMark>) -> Result<(), Abort> {
        if !is_planted(&plants::MVTO_MARKS_NO_GAPS) {
            leaf.meta().read_at(txn.ts);
        }
        Ok(())
    }

    // ANCHOR: gap
    #[inline]
    fn adding<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, GapMark>) -> Result<(), Abort> {
        let is_late = leaf.meta().rts() > txn.ts && !is_planted(&plants::MVTO_IGNORES_GAPS);
        if is_late { Err(Abort::TooLate) } else { Ok(()) }
    }

    #[inline]
    fn entering(&self, record: RecordRef<'_, Self>, leaf: &GapMark) -> Result<(), Abort> {
        if record.header().read_at(leaf.rts()) { Ok(()) } else { Err(Abort::WriteConflict) }
    }
    // ANCHOR_END: gap

    /// All reads hold as of the timestamp since they were made.
    #[inline]
    fn precommit<'db>(&'db self, _: &mut Txn<'db>, _: End) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.ts);
        self.timestamps.leave(txn.slot.id());
        if txn.writes.is_empty() {
            settle(&mut txn.slot, || self.timestamps.known_watermark());
            return stamp;
        }
        let watermark = self.timestamps.watermark(&mut txn.watermark_age);
        for (record, pending) in txn.writes.drain() {
            let version = pending.version();
            let value = (!version.meta().is_tombstone()).then(|| pending.value());
            seen.installed(record, value_before(&txn.slot, version), value);
            sink.logged(stamp, record, value);
            cut(&mut txn.slot, record, &pending, txn.ts, watermark); // 1
            pending.seal(); // 2
        }
        settle(&mut txn.slot, || watermark); // 3
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.writes.undo(&mut txn.slot);
        self.timestamps.leave(txn.slot.id());
        settle(&mut txn.slot, || self.timestamps.known_watermark());
    }

    fn maintain(&self, _: usize) {
        self.timestamps.maintain();
    }

    fn retire(&self, record: RecordRef<'_, Self>, leaf: &GapMark) -> Retire {
        let (verdict, rts) = retire(record, |number| self.timestamps.is_past(number));
        leaf.read_at(rts);
        verdict
    }

    /// An attempt that began earlier may see a version that has the key.
    fn leaving(&self, record: RecordRef<'_, Self>, _: &GapMark) -> Retire {
        leaving(record, |number| self.timestamps.is_past(number))
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        words_of(&txn.slot, txn.slot.newest(record))
    }
}

impl<'db> Txn<'db> {
    // ANCHOR: see
    /// Marks a record as read, unless a later version keeps earlier writers out, and finds the version to be read:
    /// invariant (2).
    #[inline]
    fn see(
        &mut self,
        record: RecordRef<'db, Mvto>,
        place: &mut Option<QueuePlace<'db>>,
    ) -> Result<Seen<'db>, Abort> {
        // Who has to wait leaves no mark yet: it would make earlier attempts too late that wait, too.
        let mut next = self.newest_in_reach(record, place)?;
        let is_later = |newest: VersionRef<'_, Mvto>| {
            let is_decided = newest.is_sealed() || is_planted(&plants::MVTO_TRUSTS_UNDECIDED);
            is_decided && newest.meta().number() > self.ts
        };
        if !next.is_some_and(is_later) {
            let rts = if is_planted(&plants::MVTO_MARKS_NO_READS) { 0 } else { self.ts };
            if !record.header().read_at(rts) {
                return Err(Abort::ReadChanged);
            }
            next = self.slot.newest(record);
        }
        while let Some(version) = next {
            let is_sealed = version.is_sealed();
            let wts = version.meta().number();
            if wts > self.ts {
                next = self.slot.older(version);
            } else if is_sealed {
                return Ok(if version.meta().is_tombstone() { Seen::Nothing } else { Seen::Value(version) });
            } else if wts == self.ts {
                return Ok(Seen::Own(self.writes.of(record)));
            } else if is_planted(&plants::MVTO_SKIPS_PENDING) {
                next = self.slot.older(version);
            } else {
                next = self.newest_in_reach(record, place)?;
            }
        }
        Ok(Seen::Nothing)
    }
    // ANCHOR_END: see

    /// The newest version of a record, once it is not one about which an earlier attempt has to decide.
    #[inline]
    fn newest_in_reach(
        &self,
        record: RecordRef<'db, Mvto>,
        place: &mut Option<QueuePlace<'db>>,
    ) -> Result<Option<VersionRef<'db, Mvto>>, Abort> {
        loop {
            let newest = self.slot.newest(record);
            let Some(version) = newest.filter(|newest| self.is_in_the_way(*newest)) else {
                return Ok(newest);
            };
            self.wait(record, version, QueuedAccess::Read, place)?;
        }
    }

    /// Finds the version over which a write would go.
    #[inline]
    fn top(
        &mut self,
        record: RecordRef<'db, Mvto>,
        place: &mut Option<QueuePlace<'db>>,
    ) -> Result<Top<'db>, Abort> {
        while let Some(version) = self.slot.newest(record) {
            let is_sealed = version.is_sealed();
            let wts = version.meta().number();
            if wts > self.ts {
                return Err(Abort::TooLate);
            } else if is_sealed {
                return Ok(Top::Of(Some(version)));
            } else if wts == self.ts {
                return Ok(Top::Own(self.writes.of(record)));
            }
            self.wait(record, version, QueuedAccess::Write, place)?;
        }
        Ok(Top::Of(None))
    }

    // ANCHOR: write
    /// Writes over the newest version, or reports that it is no longer the newest: invariant (2).
    #[inline]
    fn write_over(
        &mut self,
        record: RecordRef<'db, Mvto>,
        over: Option<VersionRef<'db, Mvto>>,
        how: Write,
    ) -> Result<Option<usize>, Abort> {
        let header = record.header();
        let check = || match header.rts() {
            rts if rts <= self.ts => Ok(()),
            _ if header.is_retired() => Err(Abort::WriteConflict),
            _ if is_planted(&plants::MVTO_IGNORES_READS) => Ok(()),
            _ => Err(Abort::TooLate),
        };
        check()?; // Before anything is copied: most attempts that are too late are so already.
        self.writes.push(&mut self.slot, record, over, self.ts, how, check)
    }
    // ANCHOR_END: write

    /// Reads whether a record has a value, as a look at its newest version has already told: from now on that
    /// stays so.
    #[inline]
    fn stays(
        &mut self,
        record: RecordRef<'db, Mvto>,
        place: &mut Option<QueuePlace<'db>>,
        has_value: bool,
    ) -> Result<(), Abort> {
        let is_so = !matches!(self.see(record, place)?, Seen::Nothing) == has_value;
        if is_so { Ok(()) } else { Err(Abort::ReadChanged) }
    }

    /// Whether a version is that of an earlier attempt which has not decided.
    #[inline]
    fn is_in_the_way(&self, version: VersionRef<'db, Mvto>) -> bool {
        !version.is_sealed() && version.meta().number() < self.ts && !is_planted(&plants::MVTO_SKIPS_PENDING)
    }

    /// Waits until an earlier attempt has decided about its version, and it is this one's turn: invariant (3).
    #[cold]
    fn wait(
        &self,
        record: RecordRef<'db, Mvto>,
        version: VersionRef<'db, Mvto>,
        access: QueuedAccess,
        place: &mut Option<QueuePlace<'db>>,
    ) -> Result<(), Abort> {
        let waiter = Waiter { record: record.id(), ts: self.ts, slot: self.slot.id(), access };
        self.queues.wait(place, waiter, || is_decided(&self.slot, record, version))
    }
}
