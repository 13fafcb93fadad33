//! Basic T/O: timestamp ordering over one version (Bernstein and Goodman, VLDB 1980; surveyed in ACM Computing Surveys
//! 1981; TIMESTAMP in Yu, Bezerra, Pavlo, Devadas, Stonebraker, VLDB 2014).
//!
//! IDEA        An attempt draws a timestamp when it begins, and each record is to be accessed in the order of
//!             timestamps. An attempt that comes too late aborts: a read, when a later attempt has written the record;
//!             a write, when a later attempt has read or written it. A write is announced by a prewrite when the
//!             procedure makes it, and is installed when the attempt commits. An attempt that is later than a prewrite
//!             waits until its outcome is known. Ranges and missing keys are records of a kind: a leaf carries the mark
//!             of its last reader, and to add a key is to write the leaf.
//! RECORD      Three words. `state`: bit 0 latched, bit 1 no value, bit 2 retired, bits 3.. wts, the last writer's
//!             timestamp. `rts`: the latest timestamp that has read it, or found out that it has no value. `prewrite`:
//!             the timestamp that has announced a write, or 0. Each changes under the latch, but for `rts`, which
//!             anyone may raise.
//! COMMIT      Each access was checked when it was made, so nothing is left to fail.
//!             1. Latch the record.
//!             2. Store the value and take the prewrite away.
//!             3. Store the state with the own timestamp as wts, which unlatches.
//!             An attempt that began later and needs one of these records waits for its prewrite, one that began
//!             earlier either reads what was there before and keeps no trace of more, or is too late. So nobody sees
//!             half a commit.
//! INVARIANTS  (1) wts grows with each write (asserted in `install`), and a prewrite is above wts.
//!             (2) A record has at most one prewrite, and only its owner installs (asserted in `install`).
//!             (3) An attempt that reads at `ts`, or learns whether there is a value, does so with wts at most `ts`, no
//!                 prewrite below `ts`, and leaves an rts of `ts` at least, all under one latch (`read_rule`): an
//!                 attempt that writes below `ts` from then on finds one of the three.
//!             (4) Waits go from later to earlier timestamps: they cannot form a circle (`wait`).
//!             (5) A record without a value stays in the index until every attempt that runs is later than the one that
//!                 took the value away, and hands its rts to the leaf (`retire`).
//!             (6) Timestamps come from one counter, so their order is that of real time.
//! DEPARTURES  A record has one prewrite, not a queue: a later attempt waits for it, and an earlier one aborts,
//!             although a write that reads nothing could be queued before it; an attempt that has read its record is
//!             then too late in any case, if the later one has read it, too. So nothing that has become ready is ever
//!             buffered, and nothing has to be discarded. Who waits stands in a queue beside the records and goes on in
//!             the order of timestamps, but an attempt that never waited may come between, and after a 200th of
//!             `basic_to.wait_us` an attempt no longer waits for those that only stand before it; after the whole of it
//!             a waiting attempt aborts, so that a client that thinks within its transaction delays nobody for longer.
//!             Blind writes and deletes leave no rts: they read nothing. Under `basic_to.thomas=on` a write that reads
//!             nothing and comes after a later one is dropped, if nobody later has read the record: then nobody has
//!             inserted it later either, since an insert leaves an rts, so it had a value at the time. Where values are
//!             marked for a history, which has to tell the value that each write replaced, none is dropped. Ranges are
//!             not in the paper.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, End, Env, Family, Info, Isolation, Observer, OwnWrites, Retire, Scheme, Sink, Stamp,
    Ticket, Write, settings,
};
use parts::value_word::{LOCK as LATCH, NO_VALUE, RETIRED, STATUS_BITS as WTS_SHIFT};
use parts::{
    BufferedWrites, Buffers, CopyBuffer, GapMark, QueuePlace, QueuedAccess, TimestampQueues, Timestamps,
    ValueWord, Waiter,
};
use storage::{InPlace, LeafRef, Meta, RecordRef, Shape, Slot};
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "basic_to" {
        /// How long an attempt waits for an earlier one to decide on a write that it has announced, before it aborts;
        /// 0, never to wait, pays only where transactions wait for their clients while they write.
        wait_us: u64 {
            default: "10000",
            range: Range::Int(0, 10_000_000),
            unit: "us",
            stresses: "the choice between blocking and aborting on records that are written often",
        },
        /// `on` drops a write that reads nothing and comes after a later one, if nobody later has read the record; pays
        /// where rows are overwritten without being read.
        thomas: bool {
            default: "off",
            stresses: "aborts of blind writes that come too late",
        },
    }
}

/// The state that all transactions share: the source of timestamps.
#[derive(Debug)]
pub struct BasicTo {
    timestamps: Timestamps,
    queues: TimestampQueues,
    has_thomas_rule: bool,
}

/// A record's header.
#[derive(Debug, Default)]
pub struct Header {
    state: ValueWord,
    rts: AtomicU64,
    prewrite: AtomicU64,
}

impl Meta for Header {
    fn reset(&self) {
        self.state.reset();
        // Relaxed, both: publishing the record orders them.
        self.rts.store(0, Ordering::Relaxed);
        self.prewrite.store(0, Ordering::Relaxed);
    }
}

impl Header {
    /// The greatest timestamp that has read the record.
    #[inline]
    fn rts(&self) -> u64 {
        self.rts.load(Ordering::Relaxed) // Relaxed: ordered by the latch, under which it was raised.
    }

    /// Makes `rts` count as having read the record.
    #[inline]
    fn raise_rts(&self, rts: u64) {
        if self.rts() < rts {
            self.rts.fetch_max(rts, Ordering::Relaxed); // Relaxed: as in `rts`.
        }
    }

    /// The timestamp of the attempt that has announced a write, or 0.
    #[inline]
    fn prewrite(&self) -> u64 {
        self.prewrite.load(Ordering::Relaxed) // Relaxed: it changes under the latch; elsewhere a hint.
    }

    /// Makes a prewrite, or takes it away; for the holder of the latch.
    #[inline]
    fn set_prewrite(&self, ts: u64) {
        self.prewrite.store(ts, Ordering::Relaxed); // Relaxed: the end of the latch publishes it.
    }

    /// Ends a latch, and leaves this state.
    #[inline]
    fn unlatch(&self, state: u64) {
        self.state.0.store(state, Ordering::Release); // Release: pairs with the Acquire of the next latch.
    }
}

/// A record's header, latched: nobody else reads or changes the record.
struct Latched<'db> {
    header: &'db Header,
    /// The state that the record gets when the latch ends.
    state: u64,
}

impl<'db> Latched<'db> {
    /// Latches a record.
    #[inline]
    fn new(record: RecordRef<'db, BasicTo>) -> Result<Self, Abort> {
        let header = record.header();
        let state = LATCH.lock(&header.state.0).map_err(|_| Abort::ReadChanged)?;
        Ok(Self { header, state })
    }

    #[inline]
    fn wts(&self) -> u64 {
        self.state >> WTS_SHIFT
    }

    #[inline]
    fn has_value(&self) -> bool {
        self.state & NO_VALUE == 0
    }
}

impl Drop for Latched<'_> {
    #[inline]
    fn drop(&mut self) {
        self.header.unlatch(self.state);
    }
}

/// The fate of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The record has the attempt's prewrite, and gets the value when it commits.
    Installed,
    /// A later attempt has written the record already: Thomas's write rule.
    Dropped,
}

/// The access that an attempt wants to make to a record of which it has no write yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// A write of a record that has a value, which is read or not.
    Write(Write),
    Insert,
    Delete,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, BasicTo>,
    ts: u64,
    queues: &'db TimestampQueues,
    has_thomas_rule: bool,
    writes: BufferedWrites<'db, BasicTo, Fate>,
    /// The copy that the last read lent.
    copy: CopyBuffer,
}

impl Shape for BasicTo {
    type Header = Header;
    type Version = ();
    type Leaf = GapMark;
    type Data = InPlace;
}

impl Scheme for BasicTo {
    const INFO: Info = Info {
        name: "basic_to",
        title: "Basic T/O",
        paper: "Bernstein, Goodman: Timestamp-based algorithms for concurrency control in distributed database \
                systems, VLDB 1980",
        family: Family::TimestampOrdering,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Consistent,
        idea: "timestamps at begin order all accesses to a record; who comes too late aborts, writes are announced",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self {
            timestamps: Timestamps::new(env.slots),
            queues: TimestampQueues::new(env.slots, settings.wait_us * 1_000),
            has_thomas_rule: settings.thomas,
        })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            ts: 0,
            queues: &self.queues,
            has_thomas_rule: self.has_thomas_rule && !slot.tables().has_marks(),
            writes: BufferedWrites::new(&slot),
            copy: CopyBuffer::default(),
            slot,
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().state.load();
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, _: &Ticket) -> Result<(), Abort> {
        txn.ts = self.timestamps.enter(txn.slot.id());
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
        let mut place = None; // It ends after the latch, so that nobody waits for a queue with a record latched.
        let latched = txn.read_rule(record, QueuedAccess::Read, &mut place)?;
        if !is_planted(&plants::BASIC_TO_MARKS_NO_READS) {
            latched.header.raise_rts(txn.ts);
        }
        if !latched.has_value() {
            return Ok(None);
        }
        let copy = txn.copy.room(record.width());
        record.load(copy);
        Ok(Some(copy))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        Ok(txn.prewrite(record, Want::Write(how))?.and_then(|own| txn.writes.value_mut(own)))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        Ok(txn.prewrite(record, Want::Insert)?.and_then(|own| txn.writes.value_mut(own)))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        Ok(txn.prewrite(record, Want::Delete)?.is_some())
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, GapMark>) -> Result<(), Abort> {
        if !is_planted(&plants::BASIC_TO_MARKS_NO_GAPS) {
            leaf.meta().read_at(txn.ts);
        }
        Ok(())
    }

    #[inline]
    fn adding<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, GapMark>) -> Result<(), Abort> {
        let is_late = leaf.meta().rts() > txn.ts && !is_planted(&plants::BASIC_TO_IGNORES_GAPS);
        if is_late { Err(Abort::TooLate) } else { Ok(()) }
    }

    /// Only the attempt that enters the row can write it before the entry can be seen.
    #[inline]
    fn entering(&self, record: RecordRef<'_, Self>, leaf: &GapMark) -> Result<(), Abort> {
        let header = record.header();
        header.raise_rts(leaf.rts());
        // Relaxed: nothing is read that depends on it.
        let is_retired = header.state.0.load(Ordering::Relaxed) & RETIRED != 0;
        if is_retired { Err(Abort::WriteConflict) } else { Ok(()) }
    }

    /// All reads hold as of the timestamp since they were made.
    #[inline]
    fn precommit<'db>(&'db self, _: &mut Txn<'db>, _: End) -> Result<(), Abort> {
        Ok(())
    }

    // ANCHOR: install
    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.ts);
        for at in 0..txn.writes.len() {
            if txn.fate(at) == Fate::Dropped {
                continue;
            }
            // Nobody else writes the record, so whether it has a value may be asked before the latch is taken.
            let (record, value) = txn.writes.ready(at, |write| has_value(write.record), stamp, sink, seen);
            let mut latched = Latched::new(record).expect("what has a prewrite is not retired"); // 1
            assert!(latched.header.prewrite() == txn.ts, "who has made the prewrite installs");
            assert!(latched.wts() < txn.ts, "later writes come later");
            if let Some(value) = value {
                record.store(value); // 2
            }
            latched.header.set_prewrite(0); // 2
            let no_value = if value.is_none() { NO_VALUE } else { 0 };
            latched.state = txn.ts << WTS_SHIFT | no_value; // 3
        }
        txn.writes.clear();
        self.timestamps.leave(txn.slot.id());
        stamp
    }
    // ANCHOR_END: install

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        // Backwards: while a later column group of an inserted row has a prewrite, so has the first, and an attempt
        // that retires the row sees that before it marks any.
        for write in txn.writes.iter().rev().filter(|write| write.note == Fate::Installed) {
            let latched = Latched::new(write.record).expect("what has a prewrite is not retired");
            latched.header.set_prewrite(0);
        }
        txn.writes.clear();
        self.timestamps.leave(txn.slot.id());
    }

    fn maintain(&self, _: usize) {
        self.timestamps.maintain();
    }

    /// Invariant (5).
    fn retire(&self, record: RecordRef<'_, Self>, leaf: &GapMark) -> Retire {
        let header = record.header();
        let retired = match LATCH.try_lock(&header.state.0) {
            Ok(Some(state)) => {
                let mut latched = Latched { header, state };
                if latched.has_value() {
                    Retire::Alive
                } else if header.prewrite() != 0 || !self.is_past(latched.wts()) {
                    Retire::Later
                } else {
                    latched.state |= RETIRED;
                    Retire::Done
                }
            }
            Ok(None) => Retire::Later,
            Err(_) => Retire::Done,
        };
        if retired == Retire::Done {
            leaf.read_at(header.rts());
        }
        retired
    }

    /// An attempt that is earlier than the last writer of the row must find the entry, to find out that it is too late.
    fn leaving(&self, record: RecordRef<'_, Self>, _: &GapMark) -> Retire {
        // Acquire: pairs with the Release of the writer.
        let state = record.header().state.0.load(Ordering::Acquire);
        if self.is_past(state >> WTS_SHIFT) { Retire::Done } else { Retire::Later }
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        let copy = txn.copy.room(record.width());
        record.load(copy);
        has_value(record).then_some(copy)
    }
}

impl Buffers<Fate> for BasicTo {
    #[inline]
    fn may_delete(fate: &Fate) -> Result<(), Abort> {
        // The later writer has found a value.
        if *fate == Fate::Dropped { Err(Abort::TooLate) } else { Ok(()) }
    }
}

/// Whether a record has a value: for the attempt that has its prewrite, and in quiesced databases.
#[inline]
fn has_value(record: RecordRef<'_, BasicTo>) -> bool {
    record.header().state.0.load(Ordering::Relaxed) & NO_VALUE == 0 // Relaxed: nobody writes it.
}

impl BasicTo {
    /// Whether every attempt that runs, or will run, is later than a timestamp, or has it.
    fn is_past(&self, ts: u64) -> bool {
        self.timestamps.is_past(ts) || is_planted(&plants::BASIC_TO_RETIRES_EARLY)
    }
}

impl<'db> Txn<'db> {
    /// The fate of the write at a place.
    #[inline]
    fn fate(&self, at: usize) -> Fate {
        *self.writes.note(at)
    }

    // ANCHOR: rule
    /// Latches a record that may be read: no later attempt has written it, and no earlier one is about to. Invariant
    /// (3).
    #[inline]
    fn read_rule(
        &self,
        record: RecordRef<'db, BasicTo>,
        access: QueuedAccess,
        place: &mut Option<QueuePlace<'db>>,
    ) -> Result<Latched<'db>, Abort> {
        loop {
            let latched = Latched::new(record)?;
            if latched.wts() > self.ts && !is_planted(&plants::BASIC_TO_READS_LATER) {
                return Err(Abort::TooLate);
            }
            let prewrite = latched.header.prewrite();
            if prewrite == 0 || prewrite > self.ts || is_planted(&plants::BASIC_TO_SKIPS_PREWRITES) {
                return Ok(latched);
            }
            drop(latched);
            self.wait(record, prewrite, access, place)?;
        }
    }
    // ANCHOR_END: rule

    // ANCHOR: prewrite
    /// Announces a write of a record, and makes room for the value, which is copied if it is to be changed. Returns the
    /// place among the writes; `None` if the record has no value where one is wanted, or has one where none is wanted.
    #[inline]
    fn prewrite(&mut self, record: RecordRef<'db, BasicTo>, want: Want) -> Result<Option<usize>, Abort> {
        let at = self.writes.len();
        if want == Want::Write(Write::Blind) && self.has_thomas_rule && self.is_dropped(record)? {
            let room = self.writes.room(record);
            self.writes.push(record, Some(room), Fate::Dropped);
            return Ok(Some(at));
        }
        let mut place = None; // It ends after the latch, so that nobody waits for a queue with a record latched.
        let latched = self.read_rule(record, QueuedAccess::Write, &mut place)?;
        let header = latched.header;
        let is_refused = latched.has_value() == (want == Want::Insert);
        // An access that depends on the value, or gives the record one, is a read of it.
        let reads = is_refused || matches!(want, Want::Insert | Want::Write(Write::Modify));
        if !is_refused {
            let is_read = header.rts() > self.ts && !is_planted(&plants::BASIC_TO_IGNORES_READS);
            if is_read || header.prewrite() != 0 {
                return Err(Abort::TooLate);
            }
            header.set_prewrite(self.ts);
        }
        if reads && !is_planted(&plants::BASIC_TO_MARKS_NO_READS) {
            header.raise_rts(self.ts);
        }
        if is_refused {
            return Ok(None);
        }
        let room = (want != Want::Delete).then(|| self.writes.room(record));
        if let (Want::Write(Write::Modify), Some(room)) = (want, room) {
            record.load(self.writes.room_mut(room));
        }
        self.writes.push(record, room, Fate::Installed);
        Ok(Some(at))
    }
    // ANCHOR_END: prewrite

    /// Thomas's write rule: whether a write that reads nothing comes after a later write, and no later attempt has read
    /// or inserted the record.
    #[inline]
    fn is_dropped(&self, record: RecordRef<'db, BasicTo>) -> Result<bool, Abort> {
        let latched = Latched::new(record)?;
        Ok(latched.wts() > self.ts && latched.has_value() && latched.header.rts() <= self.ts)
    }

    /// Waits until a prewrite of an earlier attempt is gone, and it is this one's turn: invariant (4).
    #[cold]
    fn wait(
        &self,
        record: RecordRef<'db, BasicTo>,
        prewrite: u64,
        access: QueuedAccess,
        place: &mut Option<QueuePlace<'db>>,
    ) -> Result<(), Abort> {
        let waiter = Waiter { record: record.id(), ts: self.ts, slot: self.slot.id(), access };
        self.queues.wait(place, waiter, || record.header().prewrite() != prewrite)
    }
}
