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
//!                 `Workspace::install`).
//!             (2) An attempt that latches, or waits for a latch, holds only latches of smaller addresses, so
//!                 attempts never deadlock (`latch_all`).
//!             (3) A number is drawn with all latches held, and a record that is latched is not read. So an attempt
//!                 that begins at a number waits for the values of that commit, and of all before it: a number not
//!                 above that of the begin shows that the record is as it was read, and all reads are of one moment.
//!             (4) The order of the numbers is a serial order, keys that enter gaps included: they stand in their
//!                 leaf before the number of their commit is drawn, and gaps are looked at after it.
//!             (5) What was observed, absence included, is among the reads or noted with the write.
//! DEPARTURES  DBx1000 draws a number for the begin, and one for the end of an attempt that wrote nothing; here both
//!             are the last number drawn, which says the same and costs no exchange. It latches a record for each copy;
//!             here a copy is checked by the word. It validates blind writes as reads, sorts by comparing names of
//!             tables, deadlocks with itself when a record is touched twice, and has no protection from phantoms. The
//!             wait for a latch is a wait of the engine, so that on a fiber another attempt runs meanwhile. Without
//!             `occ.early_abort` an attempt that has read a value that is too new goes on to its end, as in the paper
//!             of 1981.

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
use parts::value_word::{LOCK as LATCH, NO_VALUE, STATUS_BITS as NUMBER_SHIFT};
use parts::{OnlyRead, ReadSet, Timestamps, Validates, ValueWord, Workspace};
use storage::{InPlace, RecordRef, Shape, Slot};
use sync::atomic::{Ordering, fence};
use sync::clock;
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

/// Instructions that sort a record among the few dozen of a transaction.
const SORT_INSTRUCTIONS: u64 = 60;

/// The state that all transactions share: the numbers.
#[derive(Debug)]
pub struct Occ {
    numbers: Timestamps,
    /// Whether a read of a value that is too new aborts at once.
    aborts_early: bool,
}

/// A record that an attempt has touched, and its word then.
#[derive(Clone, Copy, Debug)]
struct Touched<'db> {
    record: RecordRef<'db, Occ>,
    word: u64,
    /// Whether the attempt read more than whether there is a value.
    is_read: bool,
}

/// The read set, and the begin with which it is compared.
#[derive(Debug)]
struct Reads<'db> {
    only_read: OnlyRead<'db, Occ>,
    /// The last number at the begin.
    start: u64,
    /// See [`Occ::aborts_early`].
    aborts_early: bool,
}

impl<'db> ReadSet<'db, Occ> for Reads<'db> {
    #[inline]
    fn clear(&mut self) {
        self.only_read.clear();
    }

    // ANCHOR: early
    /// Aborts an attempt at once that has read a value which is too new.
    #[inline]
    fn note(&mut self, record: RecordRef<'db, Occ>, word: u64, write: Option<Write>) -> Result<(), Abort> {
        let is_read = matches!(write, None | Some(Write::Modify));
        if is_read && self.aborts_early && word >> NUMBER_SHIFT > self.start {
            return Err(Abort::ReadChanged);
        }
        self.only_read.note(record, word, write)
    }
    // ANCHOR_END: early

    #[inline]
    fn records(&self) -> impl Iterator<Item = (RecordRef<'db, Occ>, u64)> {
        self.only_read.iter().copied()
    }
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Occ>,
    sets: Workspace<'db, Occ, Reads<'db>>,
    /// The records to be latched, each once, in the order of addresses.
    touched: Vec<Touched<'db>>,
    /// How many records of `touched` are latched.
    latched: usize,
    /// The number of the running commit.
    end: u64,
}

impl Shape for Occ {
    type Header = ValueWord;
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
        let reads = Reads { only_read: Vec::new(), start: 0, aborts_early: self.aborts_early };
        Txn { sets: Workspace::new(&slot, reads), slot, touched: Vec::new(), latched: 0, end: 0 }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().load();
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, _: &Ticket) -> Result<(), Abort> {
        txn.sets.clear();
        txn.sets.reads.start = self.numbers.last();
        Ok(())
    }

    #[inline]
    fn own_writes<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<impl OwnWrites<'t, 'db, Self>> {
        Some(&mut txn.sets.writes)
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        if is_planted(&plants::OCC_STARTS_LATE) {
            txn.sets.reads.start = self.numbers.last();
        }
        txn.sets.read(record)
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        txn.sets.write(record, how)
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        txn.sets.insert(record)
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        txn.sets.delete(record)
    }

    #[inline]
    fn leaves<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<&'t mut LeafSet<'db, ()>> {
        Some(&mut txn.sets.leaves)
    }

    /// The installer has latched all its records before it installs the first, so nothing that was seen may be
    /// latched or newer.
    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        txn.sets.confirm(|record| Self::copy_stable(record, None).ok())
    }

    // ANCHOR: commit
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Rollback {
            txn.sets.only_read()?;
        }
        let early = is_planted(&plants::OCC_DRAWS_EARLY).then(|| self.numbers.draw());
        txn.latch_all()?; // 1
        // 2. An attempt that draws a number, or takes one that was drawn, sees what was done before the draw: keys
        //    that have entered.
        let number = || if txn.sets.writes.is_empty() { self.numbers.last() } else { self.numbers.draw() };
        txn.end = early.unwrap_or_else(number);
        let skips = is_planted(&plants::OCC_SKIPS_LEAVES);
        if skips || txn.sets.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) } // 3
    }
    // ANCHOR_END: commit

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let end = txn.end;
        // Release fence: pairs with the Acquire fence in `LockBits::copy_stable`, so that a copy which saw a store
        // from below sees the latch.
        fence(Ordering::Release);
        let early = &plants::OCC_UNLATCHES_EARLY;
        txn.sets.install(Stamp(end), sink, seen, early, |_| end << NUMBER_SHIFT); // 4
        for read in txn.touched.drain(..txn.latched) {
            if txn.sets.writes.find(read.record).is_none() {
                LATCH.unlock(&read.record.header().0);
            }
        }
        txn.latched = 0;
        Stamp(end)
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        for touched in &txn.touched[..txn.latched] {
            LATCH.unlock(&touched.record.header().0);
        }
        txn.latched = 0;
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        record.header().retire()
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        txn.sets.latest(record)
    }
}

impl Txn<'_> {
    // ANCHOR: latch
    /// Step 1 of COMMIT.
    #[inline]
    fn latch_all(&mut self) -> Result<(), Abort> {
        let reads = self.sets.reads.records().map(|(record, word)| Touched { record, word, is_read: true });
        let writes = self.sets.writes.iter().map(|write| Touched {
            record: write.record,
            word: write.note.word,
            is_read: !write.note.is_blind,
        });
        self.touched.clear();
        self.touched.extend(reads.chain(writes));
        // Of several entries of a record, one that was read stays, if there is one.
        clock::compute(SORT_INSTRUCTIONS * self.touched.len() as u64);
        self.touched.sort_unstable_by_key(|touched| (touched.record.id(), !touched.is_read));
        self.touched.dedup_by_key(|touched| touched.record.id());
        for touched in &self.touched {
            let lost = if touched.is_read { Abort::ReadChanged } else { Abort::WriteConflict };
            // The record is retired: it had no value, and its key may stand elsewhere by now.
            let now = LATCH.lock(&touched.record.header().0).map_err(|_| lost)?;
            self.latched += 1;
            let is_changed = if touched.is_read {
                now >> NUMBER_SHIFT > self.sets.reads.start && !is_planted(&plants::OCC_SKIPS_READS)
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
