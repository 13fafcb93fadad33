//! `OCC` with a central validation: optimistic concurrency control as first published, with its parallel backward
//! validation (Kung, Robinson, TODS 1981, 5).
//!
//! IDEA        A transaction reads without writing anything shared and buffers its writes. To commit it enters one
//!             short critical section, in which it notes which transactions committed since its begin and which are
//!             validating or writing just now, and joins the latter. Outside of the section it checks that none of
//!             the former has written what it read, and none of the latter what it read or writes. Then it writes,
//!             and in a second critical section leaves with the number of its commit. Records need no stamps, because
//!             sets are compared.
//! RECORD      One word: bit 0 locked by a writer, bit 1 no value, bit 2 retired, bits 3.. counts the changes, for
//!             readers that copy the value.
//! COMMIT      1. Enter: the serialization point.
//!             2. Compare what was read with what was written since the begin, and what was read or is written with
//!                what the active ones write.
//!             3. Each leaf read must have its gap version, and what was seen without a value must not be retired.
//!             4. Lock the write set: a record that was written blindly must have a value yet, and what is inserted
//!                must not be retired.
//!             5. Install each value; the store of the new word unlocks.
//!             6. Leave, with the number of the commit.
//! INVARIANTS  (1) Nobody waits for a lock of another committer: no two attempts that are past step 2 write the same
//!                 record.
//!             (2) A number is given when all values are in place, and taken at the begin, before the first read.
//!                 Writes of a commit up to the number are seen. An attempt that missed other writes, or saw half of
//!                 them, finds that in the comparison (`WriteSets` says how).
//!             (3) The order of entry is a serial order. Keys stand in their leaf, and rows without a value are
//!                 marked before they leave it, before the attempt that needs that enters; leaves and marks are
//!                 looked at afterwards.
//!             (4) What was observed, absence included, is in the touched set: as read, or as written with a note of
//!                 whether there was a value.
//! DEPARTURES  The paper keeps as many write sets as it has room for, and aborts a transaction that needs an older
//!             one. So does the ring here, counted in records, whichever slots idle or stall. An active set that has
//!             gone when the comparison comes to it counts as such, too. A number is a place in the ring. The paper
//!             has pages, and no phantoms; gaps are compared by their versions instead of being in the sets, or two
//!             inserts into one leaf would conflict. The locks of step 4 keep readers from torn copies, and records
//!             from being retired while they are given a value.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;
pub mod write_sets;

use engine::driver::PerWorker;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, AccessSet, Admits, End, Env, Family, Info, Isolation, LeafSet, Observer, OwnWrites, Retire,
    Scheme, Sink, Stamp, Ticket, Write, settings,
};
use parts::{Buffered, BufferedWrites, Buffers, CopyBuffer, LockBits, WriteOrder};
use storage::{InPlace, Meta, RecordRef, Shape, Slot};
use sync::atomic::{AtomicU64, Ordering, fence};
use sync::plant::is_planted;

use self::write_sets::{Comparison, WriteSets};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "occ_central" {
        /// The order in which a commit locks.
        write_order: WriteOrder = WriteOrder::setting,
        /// Written records that are kept to compare with, rounded up to a power of two; more of them let attempts
        /// commit that last while others write much, fewer take less memory.
        history: usize {
            default: "16384",
            range: Range::Int(1, 1 << 24),
            unit: "records",
            stresses: "aborts of long attempts, and the cache that the history takes",
        },
    }
}

const LOCKED: u64 = 1;
const NO_VALUE: u64 = 2;
const RETIRED: u64 = 4;
const LOCK: LockBits = LockBits { locked: LOCKED, retired: RETIRED };
const STATUS: u64 = LOCKED | NO_VALUE | RETIRED;
/// One change.
const CHANGE: u64 = 8;

/// The state that all transactions share: the write sets of others.
#[derive(Debug)]
pub struct OccCentral {
    sets: WriteSets,
    write_order: WriteOrder,
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

/// A record that an attempt has touched.
#[derive(Debug)]
struct Touched<'db> {
    record: RecordRef<'db, OccCentral>,
    /// Its word when it was first seen.
    word: u64,
    /// Whether the attempt read more than whether there is a value.
    is_read: bool,
    /// Whether the record was seen without a value.
    is_missing: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, OccCentral>,
    touched: AccessSet<Touched<'db>>,
    /// Each write with the word that its record had when the attempt first came to write it.
    writes: BufferedWrites<'db, OccCentral, u64>,
    leaves: LeafSet<'db, ()>,
    /// The ids of the records that are written.
    written: Vec<usize>,
    comparison: Comparison,
    /// The copy that the last read lent.
    copy: CopyBuffer,
}

impl Shape for OccCentral {
    type Header = Header;
    type Version = ();
    type Leaf = ();
    type Data = InPlace;
}

impl Scheme for OccCentral {
    const INFO: Info = Info {
        name: "occ_central",
        title: "OCC with a central validation",
        paper: "Kung, Robinson: On optimistic methods for concurrency control, TODS 1981",
        family: Family::Optimistic,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "buffers writes, compares at the commit what it touched with the write sets of others since its begin",
    };
    type Settings = Settings;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        let sets = WriteSets::new(env.slots, settings.history);
        Ok(Self { sets, write_order: settings.write_order })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            writes: BufferedWrites::new(&slot).in_order(self.write_order),
            slot,
            touched: AccessSet::default(),
            leaves: LeafSet::default(),
            written: Vec::new(),
            comparison: Comparison::default(),
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
        txn.touched.clear();
        txn.writes.clear();
        txn.leaves.clear();
        self.sets.begin(&mut txn.comparison);
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
        txn.touch(record, word, true);
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
        let is_read = how == Write::Modify;
        let word = copy_stable(record, is_read.then(|| txn.writes.room_mut(value)))?;
        let has_value = word & NO_VALUE == 0;
        txn.touch(record, word, is_read || !has_value);
        Ok(if has_value { txn.writes.push(record, Some(value), word) } else { None })
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let word = copy_stable(record, None)?;
        txn.touch(record, word, true);
        if word & NO_VALUE == 0 {
            return Ok(None);
        }
        let value = txn.writes.room(record);
        Ok(txn.writes.push(record, Some(value), word))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let word = copy_stable(record, None)?;
        let has_value = word & NO_VALUE == 0;
        txn.touch(record, word, !has_value);
        if has_value {
            txn.writes.push(record, None, word);
        }
        Ok(has_value)
    }

    #[inline]
    fn leaves<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<&'t mut LeafSet<'db, ()>> {
        Some(&mut txn.leaves)
    }

    /// The installer has locked all its records before it installs the first, so nothing that was seen may be locked
    /// or newer.
    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        // Acquire: a later look does not come before.
        let is_as_seen =
            |touched: &Touched<'_>| touched.record.header().0.load(Ordering::Acquire) == touched.word;
        if !txn.touched.iter().all(is_as_seen) {
            return Err(Abort::ReadChanged);
        }
        txn.leaves.confirm()
    }

    // ANCHOR: commit
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        txn.written.clear();
        if end == End::Commit {
            txn.written.extend(txn.writes.iter().map(|write| write.record.id()));
        }
        self.sets.enter(txn.slot.id(), &txn.written, &mut txn.comparison); // 1
        self.compare(txn, end)?; // 2
        txn.validate()?; // 3
        if end == End::Commit { txn.lock_write_set() } else { Ok(()) } // 4
    }
    // ANCHOR_END: commit

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.comparison.order());
        if txn.writes.is_empty() {
            return stamp;
        }
        // Release fence: pairs with the Acquire fence in `LockBits::copy_stable`, so that a copy which saw a store
        // from below sees the lock.
        fence(Ordering::Release);
        // The last write first: the last records are the hottest, if the procedure has a choice.
        for at in (0..txn.writes.len()).rev() {
            let has_value = |write: &Buffered<'_, _, u64>| write.note & NO_VALUE == 0;
            let (record, value) = txn.writes.ready(at, has_value, stamp, sink, seen);
            let header = &record.header().0;
            let before = header.load(Ordering::Relaxed); // Relaxed: this attempt holds the lock.
            let word = (before & !STATUS) + CHANGE + if value.is_none() { NO_VALUE } else { 0 };
            if is_planted(&plants::OCC_CENTRAL_UNLOCKS_EARLY) {
                header.store(word, Ordering::Relaxed); // Relaxed: it is wrong in any order.
            }
            if let Some(value) = value {
                record.store(value);
            }
            // Release: pairs with the Acquire in `LockBits::copy_stable` and of the next lock. 5
            header.store(word, Ordering::Release);
        }
        self.sets.commit(txn.slot.id(), &txn.written, &mut txn.comparison); // 6
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.writes.unlock(LOCK, |record| &record.header().0);
        self.sets.give_up(txn.slot.id(), &mut txn.comparison);
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        LOCK.retire(&record.header().0, NO_VALUE)
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        let copy = txn.copy.room(record.width());
        let word = copy_stable(record, Some(copy)).ok()?;
        (word & NO_VALUE == 0).then_some(copy)
    }
}

impl Buffers<u64> for OccCentral {}

/// The word of a record that nobody has locked, and its value as of that word.
#[inline(always)]
fn copy_stable(record: RecordRef<'_, OccCentral>, copy: Option<&mut [u64]>) -> Result<u64, Abort> {
    LOCK.copy_stable(record, &record.header().0, NO_VALUE, copy)
}

impl OccCentral {
    // ANCHOR: compare
    /// Step 2 of COMMIT. An attempt that rolls back counts as having only read what it was to write.
    #[inline]
    fn compare(&self, txn: &Txn<'_>, end: End) -> Result<(), Abort> {
        let is_read = |touched: &Touched<'_>| touched.is_read || end == End::Rollback;
        if !is_planted(&plants::OCC_CENTRAL_SKIPS_HISTORY) {
            self.sets.compare_committed(&txn.comparison, |record| match txn.touched.find(record) {
                Some(at) if is_read(txn.touched.get(at)) => Err(Abort::ReadChanged),
                _ => Ok(()),
            })?;
        }
        if is_planted(&plants::OCC_CENTRAL_SKIPS_ACTIVE) {
            return Ok(());
        }
        self.sets.compare_active(&txn.comparison, |record| match txn.touched.find(record) {
            Some(at) if is_read(txn.touched.get(at)) => Err(Abort::ReadChanged),
            Some(_) => Err(Abort::WriteConflict),
            None => Ok(()),
        })
    }
    // ANCHOR_END: compare
}

impl<'db> Txn<'db> {
    /// Notes that a record was seen with this word.
    #[inline]
    fn touch(&mut self, record: RecordRef<'db, OccCentral>, word: u64, is_read: bool) {
        let is_missing = word & NO_VALUE != 0;
        if let Some(known) = self.touched.find(record.id()) {
            let touched = self.touched.get_mut(known);
            touched.is_read |= is_read;
            touched.is_missing |= is_missing;
        } else {
            self.touched.push(record.id(), Touched { record, word, is_read, is_missing });
        }
    }

    // ANCHOR: validate
    /// Step 3 of COMMIT.
    #[inline]
    fn validate(&self) -> Result<(), Abort> {
        // A key whose record has left the index may stand in another record by now, which this attempt does not know.
        // Relaxed: the latches of entering order it after what it is to find.
        let is_retired =
            |touched: &Touched<'_>| touched.record.header().0.load(Ordering::Relaxed) & RETIRED != 0;
        let trusts = is_planted(&plants::OCC_CENTRAL_TRUSTS_MISSES);
        if !trusts && self.touched.iter().any(|touched| touched.is_missing && is_retired(touched)) {
            return Err(Abort::ReadChanged);
        }
        let skips = is_planted(&plants::OCC_CENTRAL_SKIPS_LEAVES);
        if skips || self.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) }
    }
    // ANCHOR_END: validate

    /// Step 4 of COMMIT.
    #[inline]
    fn lock_write_set(&mut self) -> Result<(), Abort> {
        self.writes.lock(
            LOCK,
            |record| &record.header().0,
            |write, word| {
                if (word ^ write.note) & NO_VALUE == 0 { Ok(()) } else { Err(Abort::WriteConflict) }
            },
        )
    }
}
