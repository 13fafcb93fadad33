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
//!             one. So does the ring here, counted in records, whichever slots idle or stall. An active set counts as
//!             such, too, once its session has published another one. A number is a place in the ring. The paper
//!             lets a transaction that starves run again without leaving the critical section, so that nobody else
//!             commits meanwhile; here whoever runs transactions gives it a turn instead, in which no other attempt
//!             begins, as under every scheme. The paper has pages, and no phantoms; gaps are compared by their versions
//!             instead of being in the sets, or two inserts into one leaf would conflict. The locks of step 4 keep
//!             readers from torn copies, and records from being retired while they are given a value.

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
use parts::value_word::{NO_VALUE, RETIRED, STATUS_BITS};
use parts::{ReadSet, ValueWord, Workspace, WriteOrder};
use storage::{InPlace, RecordRef, Shape, Slot};
use sync::atomic::{Ordering, fence};
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

/// One change.
const CHANGE: u64 = 1 << STATUS_BITS;

/// The state that all transactions share: the write sets of others.
#[derive(Debug)]
pub struct OccCentral {
    sets: WriteSets,
    write_order: WriteOrder,
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

impl<'db> ReadSet<'db, OccCentral> for AccessSet<Touched<'db>> {
    #[inline]
    fn clear(&mut self) {
        self.clear();
    }

    #[inline]
    fn note(
        &mut self,
        record: RecordRef<'db, OccCentral>,
        word: u64,
        write: Option<Write>,
    ) -> Result<(), Abort> {
        let is_read = matches!(write, None | Some(Write::Modify));
        let is_missing = word & NO_VALUE != 0;
        if let Some(known) = self.find(record.id()) {
            let touched = self.get_mut(known);
            touched.is_read |= is_read;
            touched.is_missing |= is_missing;
        } else {
            self.push(record.id(), Touched { record, word, is_read, is_missing });
        }
        Ok(())
    }

    #[inline]
    fn records(&self) -> impl Iterator<Item = (RecordRef<'db, OccCentral>, u64)> {
        self.iter().map(|touched| (touched.record, touched.word))
    }
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, OccCentral>,
    /// With all records that the attempt has touched.
    sets: Workspace<'db, OccCentral, AccessSet<Touched<'db>>>,
    /// The ids of the records that are written.
    written: Vec<usize>,
    comparison: Comparison,
}

impl Shape for OccCentral {
    type Header = ValueWord;
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
            sets: Workspace::new(&slot, AccessSet::default()).in_order(self.write_order),
            slot,
            written: Vec::new(),
            comparison: Comparison::default(),
        }
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
        self.sets.begin(&mut txn.comparison);
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

    /// The installer has locked all its records before it installs the first, so nothing that was seen may be locked
    /// or newer.
    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        // Acquire: a later look does not come before.
        txn.sets.confirm(|record| Some(record.header().0.load(Ordering::Acquire)))
    }

    // ANCHOR: commit
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Rollback {
            txn.sets.only_read()?;
        }
        txn.written.clear();
        txn.written.extend(txn.sets.writes.iter().map(|write| write.record.id()));
        self.sets.enter(txn.slot.id(), &txn.written, &mut txn.comparison); // 1
        self.compare(txn)?; // 2
        txn.validate()?; // 3
        txn.lock_write_set() // 4
    }
    // ANCHOR_END: commit

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.comparison.order());
        if txn.sets.writes.is_empty() {
            return stamp;
        }
        // Release fence: pairs with the Acquire fence in `LockBits::copy_stable`, so that a copy which saw a store
        // from below sees the lock.
        fence(Ordering::Release);
        let next = |before| before - before % CHANGE + CHANGE;
        txn.sets.install(stamp, sink, seen, &plants::OCC_CENTRAL_UNLOCKS_EARLY, next); // 5
        self.sets.commit(txn.slot.id(), &txn.written, &mut txn.comparison); // 6
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.sets.writes.unlock();
        self.sets.give_up(txn.slot.id(), &mut txn.comparison);
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        record.header().retire()
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        txn.sets.latest(record)
    }
}

impl OccCentral {
    // ANCHOR: compare
    /// Step 2 of COMMIT.
    #[inline]
    fn compare(&self, txn: &Txn<'_>) -> Result<(), Abort> {
        let touched = &txn.sets.reads;
        if !is_planted(&plants::OCC_CENTRAL_SKIPS_HISTORY) {
            self.sets.compare_committed(&txn.comparison, |record| match touched.find(record) {
                Some(at) if touched.get(at).is_read => Err(Abort::ReadChanged),
                _ => Ok(()),
            })?;
        }
        if is_planted(&plants::OCC_CENTRAL_SKIPS_ACTIVE) {
            return Ok(());
        }
        self.sets.compare_active(&txn.comparison, |record| match touched.find(record) {
            Some(at) if touched.get(at).is_read => Err(Abort::ReadChanged),
            Some(_) => Err(Abort::WriteConflict),
            None => Ok(()),
        })
    }
    // ANCHOR_END: compare
}

impl Txn<'_> {
    // ANCHOR: validate
    /// Step 3 of COMMIT.
    #[inline]
    fn validate(&self) -> Result<(), Abort> {
        // A key whose record has left the index may stand in another record by now, which this attempt does not know.
        // Relaxed: the latches of entering order it after what it is to find.
        let is_retired =
            |touched: &Touched<'_>| touched.record.header().0.load(Ordering::Relaxed) & RETIRED != 0;
        let trusts = is_planted(&plants::OCC_CENTRAL_TRUSTS_MISSES);
        if !trusts && self.sets.reads.iter().any(|touched| touched.is_missing && is_retired(touched)) {
            return Err(Abort::ReadChanged);
        }
        let skips = is_planted(&plants::OCC_CENTRAL_SKIPS_LEAVES);
        if skips || self.sets.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) }
    }
    // ANCHOR_END: validate

    /// Step 4 of COMMIT.
    #[inline]
    fn lock_write_set(&mut self) -> Result<(), Abort> {
        self.sets.writes.lock(|write, word| {
            if (word ^ write.note.word) & NO_VALUE == 0 { Ok(()) } else { Err(Abort::WriteConflict) }
        })
    }
}
