//! `OCC`: optimistic concurrency control that validates record by record, under latches (Yu, Bezerra, Pavlo,
//! Devadas, Stonebraker, VLDB 2014, after Kung, Robinson, TODS 1981).
//!
//! IDEA        A transaction notes the number of the last commit, reads without writing anything shared and
//!             buffers its writes. To end, it latches every record that it has touched, reads included, in one
//!             order, and checks that none was written by a commit later than its begin. Then it draws its own
//!             number, writes, and unlatches: it is two-phase locking at the commit. Validation is parallel, since
//!             transactions meet at common records only, and at the counter.
//! RECORD      One word: bit 0 latched, bit 1 no value, bit 2 retired, bits 3.. the number of the commit that wrote
//!             the value.
//! COMMIT      1. Latch what was touched, by address. What was read must not have a number above that of the begin;
//!                what was written blindly must have a value, or none, as it had before.
//!             2. Draw the end number: the serialization point. An attempt that writes nothing takes the last one.
//!             3. Each leaf read must have its gap version.
//!             4. Install each value with the end number; the store of the new word unlatches.
//! INVARIANTS  (1) A value changes only under its latch, and a later change has a greater number (asserted in
//!                 `install`).
//!             (2) An attempt that latches, or waits for a latch, holds only latches of smaller addresses, so
//!                 attempts never deadlock (`latch_all`).
//!             (3) A number is drawn with all latches held, and a record that is latched is not read. So an attempt
//!                 that begins at a number waits for the values of that commit, and of all before it: a number not
//!                 above that of the begin shows that the record is as it was read, and all reads are of one moment.
//!             (4) The order of the numbers is a serial order, keys that enter gaps included: they stand in their
//!                 leaf before the number of their commit is drawn, and gaps are looked at after it.
//!             (5) What was observed, absence included, is among the reads or noted with the write.
//! DEPARTURES  DBx1000 draws a number for the begin, too; the last number drawn says the same, and costs no
//!             exchange. It latches a record for each copy; here a copy is checked by the word. It validates blind
//!             writes as reads, sorts by comparing names of tables, deadlocks with itself when a record is touched
//!             twice, and has no protection from phantoms. The wait for a latch is a wait of the engine, so that on
//!             a fiber another attempt runs meanwhile. Without `occ.early_abort` an attempt that has read a value
//!             that is too new goes on to its end, as in the paper of 1981.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::SettingError;
use engine::{
    Abort, Admits, End, Env, Family, Info, Isolation, LeafSet, Observer, OwnWrites, Retire, Scheme, Sink,
    Stamp, Ticket, Write, settings,
};
use parts::{Buffered, BufferedWrites, Buffers, CopyBuffer, Expected, LockBits, Timestamps};
use storage::{InPlace, Meta, RecordRef, Shape, Slot};
use sync::atomic::{AtomicU64, Ordering, fence};
use sync::plant::is_planted;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "occ" {
        /// `on` aborts at the read of a record that was written since the begin; `off` only at the commit, which costs
        /// the rest of a lost attempt and spares each read a comparison.
        early_abort: bool {
            default: "on",
            stresses: "work that is wasted on attempts which cannot commit",
        },
    }
}

const LATCHED: u64 = 1;
const NO_VALUE: u64 = 2;
const RETIRED: u64 = 4;
const LATCH: LockBits = LockBits { locked: LATCHED, retired: RETIRED };
const NUMBER_SHIFT: u32 = 3;

/// The state that all transactions share: the numbers.
#[derive(Debug)]
pub struct Occ {
    numbers: Timestamps,
    /// Whether a read of a value that is too new aborts at once.
    aborts_early: bool,
}

/// A record's word.
#[derive(Debug)]
pub struct Header(AtomicU64);

impl Default for Header {
    fn default() -> Self {
        Self(AtomicU64::new(NO_VALUE))
    }
}

impl Meta for Header {
    fn reset(&self) {
        self.0.store(NO_VALUE, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }
}

/// A record that an attempt has touched, and its word then.
#[derive(Clone, Copy, Debug)]
struct Touched<'db> {
    record: RecordRef<'db, Occ>,
    word: u64,
    /// Whether the attempt read more than whether there is a value.
    is_read: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Occ>,
    /// The last number at its begin.
    start: u64,
    reads: Vec<Touched<'db>>,
    writes: BufferedWrites<'db, Occ, Expected>,
    leaves: LeafSet<'db, ()>,
    /// The records to be latched, each once, in the order of addresses.
    touched: Vec<Touched<'db>>,
    /// How many records of `touched` are latched.
    latched: usize,
    /// The number of the running commit.
    end: u64,
    /// The copy that the last read lent.
    copy: CopyBuffer,
}

impl Shape for Occ {
    type Header = Header;
    type Version = ();
    type Leaf = ();
    type Data = InPlace;
}

impl Scheme for Occ {
    const INFO: Info = Info {
        name: "occ",
        title: "OCC",
        paper: "Yu, Bezerra, Pavlo, Devadas, Stonebraker: Staring into the abyss, VLDB 2014 (optimistic concurrency \
                control: Kung, Robinson, TODS 1981)",
        family: Family::Optimistic,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "buffers writes, latches all records touched at the commit, and checks that none is newer than the begin",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        let aborts_early = settings.early_abort;
        Ok(Self { numbers: Timestamps::new(env.slots), aborts_early })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            writes: BufferedWrites::new(&slot),
            slot,
            start: 0,
            reads: Vec::new(),
            leaves: LeafSet::default(),
            touched: Vec::new(),
            latched: 0,
            end: 0,
            copy: CopyBuffer::default(),
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().0.store(0, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, _: &Ticket) -> Result<(), Abort> {
        txn.reads.clear();
        txn.writes.clear();
        txn.leaves.clear();
        txn.start = self.numbers.last();
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
        let copy = txn.copy.room(record.width());
        let word = copy_stable(record, Some(copy))?;
        self.observe(txn, record, word)?;
        Ok((word & NO_VALUE == 0).then(|| &*txn.copy.room(record.width())))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let value = txn.writes.room(record);
        let is_blind = how != Write::Modify;
        let word = copy_stable(record, (!is_blind).then(|| txn.writes.room_mut(value)))?;
        if word & NO_VALUE != 0 {
            self.observe(txn, record, word)?;
            return Ok(None);
        }
        if !is_blind {
            self.check_early(txn.start, word)?;
        }
        Ok(txn.writes.push(record, Some(value), Expected { word, is_blind }))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let word = copy_stable(record, None)?;
        if word & NO_VALUE == 0 {
            self.observe(txn, record, word)?;
            return Ok(None);
        }
        self.check_early(txn.start, word)?;
        let value = txn.writes.room(record);
        Ok(txn.writes.push(record, Some(value), Expected { word, is_blind: false }))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let word = copy_stable(record, None)?;
        if word & NO_VALUE != 0 {
            self.observe(txn, record, word)?;
            return Ok(false);
        }
        txn.writes.push(record, None, Expected { word, is_blind: true });
        Ok(true)
    }

    #[inline]
    fn leaves<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<&'t mut LeafSet<'db, ()>> {
        Some(&mut txn.leaves)
    }

    /// The installer has latched all its records before it installs the first, so nothing that was seen may be
    /// latched or newer.
    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        let word = |record| copy_stable(record, None).ok();
        let reads = txn.reads.iter().map(|read| (read.record, read.word));
        txn.writes.confirm(reads, word, |word| word & NO_VALUE == 0)?;
        txn.leaves.confirm()
    }

    // ANCHOR: commit
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Rollback {
            txn.only_read();
        }
        let early = is_planted(&plants::OCC_DRAWS_EARLY).then(|| self.numbers.draw());
        txn.latch_all()?; // 1
        // 2. An attempt that draws a number, or takes one that was drawn, sees what was done before the draw: keys
        //    that have entered.
        let number = || if txn.writes.is_empty() { self.numbers.last() } else { self.numbers.draw() };
        txn.end = early.unwrap_or_else(number);
        let skips = is_planted(&plants::OCC_SKIPS_LEAVES);
        if skips || txn.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) } // 3
    }
    // ANCHOR_END: commit

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.end);
        // Release fence: pairs with the Acquire fence in `LockBits::copy_stable`, so that a copy which saw a store
        // from below sees the latch.
        fence(Ordering::Release);
        // The last write first: the last records are the hottest, if the procedure has a choice.
        for at in (0..txn.writes.len()).rev() {
            let has_value = |write: &Buffered<'_, _, Expected>| write.note.word & NO_VALUE == 0;
            let (record, value) = txn.writes.ready(at, has_value, stamp, sink, seen);
            let header = &record.header().0;
            let word = txn.end << NUMBER_SHIFT | if value.is_none() { NO_VALUE } else { 0 };
            if is_planted(&plants::OCC_UNLATCHES_EARLY) {
                header.store(word, Ordering::Relaxed); // Relaxed: it is wrong in any order.
            }
            if let Some(value) = value {
                record.store(value);
            }
            // Relaxed: this attempt holds the latch. Invariant (1).
            assert!(header.load(Ordering::Relaxed) < word | LATCHED, "numbers grow with each change");
            // Release: pairs with the Acquire in `LockBits::copy_stable` and of the next latch. 4
            header.store(word, Ordering::Release);
        }
        for read in txn.touched.drain(..txn.latched) {
            if txn.writes.find(read.record).is_none() {
                LATCH.unlock(&read.record.header().0);
            }
        }
        txn.latched = 0;
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        for touched in &txn.touched[..txn.latched] {
            LATCH.unlock(&touched.record.header().0);
        }
        txn.latched = 0;
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        LATCH.retire(&record.header().0, NO_VALUE)
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        let copy = txn.copy.room(record.width());
        let word = copy_stable(record, Some(copy)).ok()?;
        (word & NO_VALUE == 0).then_some(copy)
    }
}

impl Buffers<Expected> for Occ {}

/// The word of a record that nobody has latched, and its value as of that word.
#[inline(always)]
fn copy_stable(record: RecordRef<'_, Occ>, copy: Option<&mut [u64]>) -> Result<u64, Abort> {
    LATCH.copy_stable(record, &record.header().0, NO_VALUE, copy)
}

impl Occ {
    /// Notes that the attempt has read a record.
    #[inline]
    fn observe<'db>(&self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>, word: u64) -> Result<(), Abort> {
        self.check_early(txn.start, word)?;
        txn.reads.push(Touched { record, word, is_read: true });
        if is_planted(&plants::OCC_STARTS_LATE) {
            txn.start = self.numbers.last();
        }
        Ok(())
    }

    // ANCHOR: early
    /// Aborts an attempt that began at `start` and has read a record with this word, if the attempt cannot commit.
    #[inline]
    fn check_early(&self, start: u64, word: u64) -> Result<(), Abort> {
        if self.aborts_early && word >> NUMBER_SHIFT > start { Err(Abort::ReadChanged) } else { Ok(()) }
    }
    // ANCHOR_END: early
}

impl Txn<'_> {
    /// Turns the writes into reads, for a rollback.
    fn only_read(&mut self) {
        let writes = self.writes.drain();
        self.reads.extend(writes.map(|write| Touched {
            record: write.record,
            word: write.note.word,
            is_read: true,
        }));
    }

    // ANCHOR: latch
    /// Step 1 of COMMIT.
    #[inline]
    fn latch_all(&mut self) -> Result<(), Abort> {
        let writes = self.writes.iter().map(|write| Touched {
            record: write.record,
            word: write.note.word,
            is_read: !write.note.is_blind,
        });
        self.touched.clear();
        self.touched.extend(self.reads.iter().copied().chain(writes));
        // Of several entries of a record, one that was read stays, if there is one.
        self.touched.sort_unstable_by_key(|touched| (touched.record.id(), !touched.is_read));
        self.touched.dedup_by_key(|touched| touched.record.id());
        for touched in &self.touched {
            let lost = if touched.is_read { Abort::ReadChanged } else { Abort::WriteConflict };
            // The record is retired: it had no value, and its key may stand elsewhere by now.
            let now = LATCH.lock(&touched.record.header().0).map_err(|_| lost)?;
            self.latched += 1;
            let is_changed = if touched.is_read {
                now >> NUMBER_SHIFT > self.start && !is_planted(&plants::OCC_SKIPS_READS)
            } else {
                (now ^ touched.word) & NO_VALUE != 0
            };
            if is_changed {
                return Err(lost);
            }
        }
        Ok(())
    }
    // ANCHOR_END: latch
}
