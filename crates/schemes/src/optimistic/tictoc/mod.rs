//! `TicToc`: optimistic concurrency control with data-driven timestamps (Yu, Pavlo, Sanchez, Devadas, SIGMOD
//! 2016).
//!
//! IDEA        Nobody hands out timestamps. Each version of a record carries the interval in which it is known
//!             to be valid, from wts to rts, and a transaction computes at its end the least timestamp at
//!             which all that it read is valid and all that it writes is new. If a version that it read is
//!             not known to be valid for so long, it extends the interval, which fails only if another
//!             transaction has overwritten the version, or is about to. The serial order is that of the
//!             timestamps, not of the clock: a transaction may commit before one that ended earlier.
//! RECORD      Two words. `wts`: bit 0 has a value, bits 1.. when the version was written. `rts`: bit 0 locked,
//!             bit 1 retired, bits 2.. until when it is valid at least.
//!             A leaf has both stamps for its gaps: `wts` is the latest stamp of a removed entry, `rts` the
//!             latest at which someone has read a gap.
//! COMMIT      1. Lock the write set; each record must still be as it was read.
//!             2. The commit timestamp is the least that is not below the wts of what was read, and above
//!                the rts of what is written.
//!             3. What was seen to be valid until then needs no look. Each other record must have the version
//!                that was read, and be valid until then or, if nobody else holds it, be made so; each
//!                other leaf is made so, and must then have its gap version.
//!             4. Install each value with wts and rts of the commit; the store of `rts` unlocks.
//! INVARIANTS  (1) Under one wts, rts never falls, and wts grows with each change: a new version begins after
//!                 the end of its predecessor (asserted in `install`).
//!             (2) rts changes by an exchange of the word that holds the lock, and wts only under the lock: an attempt
//!                 that locks a record knows every extension of its version, so locking and validating need no fence
//!                 between them.
//!             (3) An attempt that waits for a lock holds only locks of smaller addresses, or none, so that committers
//!                 never deadlock (`BufferedWrites::lock`).
//!             (4) An insert is a write of its gap: a record enters a leaf with an rts that is not below the leaf's
//!                 (`entering`), so that the attempt that gives it a value, even if another attempt entered it, does so
//!                 after those that read the gap. A record that leaves hands its stamps to the leaf (`retire`); one
//!                 that leaves a single key hands over its wts (`leaving`): an attempt that then finds a hole comes
//!                 after the version that took the key away.
//!             (5) Stamps of a leaf never fall while it keeps its gaps. Of an attempt that raises its rts and then
//!                 looks at the gap version, and one that latches the leaf and then looks at the rts, one sees the
//!                 other (`LeafRef::mark`).
//! DEPARTURES  The paper packs both stamps into one word and, when rts - wts outgrows its 15 bits, raises wts, which
//!             fails every attempt that has read the version: with records that all read and nobody writes, for ever. A
//!             second word in the same cache line has room for both. An absence does not tell when it began if its
//!             record was entered anew, so it is read at its rts, never earlier. There is no history of overwritten
//!             versions. A commit that finds a record locked waits for it, holding locks of smaller addresses only;
//!             with `tictoc.commit_locks=no_wait` it gives up its locks and tries again, as in the paper, at most so
//!             many times, and only then looks whether it must fail before it locks. Locks are taken in the order of
//!             the writes as long as no one has to wait, which spares the sort (`tictoc.write_order`). The paper has no
//!             ranges: here leaves are stamped, since a gap version alone tells when a key came, not at which
//!             timestamp. Nor has it commit-time updates, which are STO's (Huang, Qian, Kohler, Liskov, Shrira, PVLDB
//!             2020): an amount is added to the value that is there in step 4, under the lock; the commit comes after
//!             the rts of that value, whichever it is, as for a blind write.

#[cfg(all(test, feature = "tests", not(loom)))]
mod claims;
pub mod entry;
pub mod plants;

use engine::driver::PerWorker;
use engine::setting::SettingError;
use engine::{
    Abort, Admits, End, Env, Family, Info, Isolation, Observer, OwnWrites, Retire, Scheme, Sink, Stamp,
    Ticket, Write, settings,
};
use parts::{CommitLocks, LockBits, Observed, OnlyRead, ReadSet, Validates, Workspace, WriteOrder};
use storage::{InPlace, LeafMeta, LeafRef, Meta, RecordRef, Shape, Slot, places_beside};
use sync::atomic::{AtomicU64, Ordering, fence};
use sync::plant::is_planted;
use sync::waiter;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "tictoc" {
        /// The order in which a commit locks.
        write_order: WriteOrder = WriteOrder::setting,
        /// The choice of a commit that finds a record locked.
        commit_locks: CommitLocks = CommitLocks::setting,
    }
}

const VALUE: u64 = 1;
const WTS_SHIFT: u32 = 1;
const LOCKED: u64 = 1;
const RETIRED: u64 = 2;
const RTS_SHIFT: u32 = 2;

/// The state that all transactions share: settings. Otherwise they share nothing but records and leaves.
#[derive(Debug)]
pub struct TicToc {
    write_order: WriteOrder,
    commit_locks: CommitLocks,
}

/// A record's two words.
#[derive(Debug, Default)]
pub struct Header {
    wts: AtomicU64,
    rts: AtomicU64,
}

impl Meta for Header {
    fn reset(&self) {
        self.wts.store(0, Ordering::Relaxed); // Relaxed twice: publishing the record orders it.
        self.rts.store(0, Ordering::Relaxed);
    }
}

/// The stamps of a leaf's gaps.
#[derive(Debug, Default)]
pub struct Leaf {
    wts: AtomicU64,
    rts: AtomicU64,
}

impl Meta for Leaf {
    fn reset(&self) {
        self.wts.store(0, Ordering::Relaxed); // Relaxed twice: under the latch.
        self.rts.store(0, Ordering::Relaxed);
    }
}

impl LeafMeta for Leaf {
    type Places<T: Default + Send + Sync> = [T; places_beside(size_of::<Leaf>())];

    fn carry(&self, to: &Self) {
        to.changed_at(self.wts.load(Ordering::Relaxed)); // Relaxed twice: under the latch.
        to.read_until(self.rts.load(Ordering::Relaxed));
    }
}

impl Leaf {
    /// Makes `wts` the latest stamp of a removed entry if it is later; for the holder of the latch.
    #[inline]
    fn changed_at(&self, wts: u64) {
        // Relaxed twice: the latch orders those who write, and its version tells readers that they were late.
        self.wts.store(self.wts.load(Ordering::Relaxed).max(wts), Ordering::Relaxed);
    }

    /// Makes the gaps count as read at `rts`; for anybody.
    #[inline]
    fn read_until(&self, rts: u64) {
        // Relaxed twice: the index separates a reader's mark from its look at the gap version, and the latch of a
        // writer from its look at the mark, by fences.
        if self.rts.load(Ordering::Relaxed) < rts {
            self.rts.fetch_max(rts, Ordering::Relaxed);
        }
    }
}

/// The stamps of a record as it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    /// Its word `wts`.
    version: u64,
    rts: u64,
}

impl Observed for Stamps {
    #[inline]
    fn of_word(version: u64) -> Self {
        Self { version, rts: 0 }
    }

    #[inline]
    fn word(self) -> u64 {
        self.version
    }

    #[inline]
    fn has_value(self) -> bool {
        self.version & VALUE != 0
    }
}

/// The read set, and the timestamp that it allows.
#[derive(Debug, Default)]
struct Reads<'db> {
    only_read: OnlyRead<'db, TicToc>,
    /// The least timestamp at which the attempt can commit, by what it has met so far.
    commit_ts: u64,
}

impl<'db> ReadSet<'db, TicToc> for Reads<'db> {
    #[inline]
    fn clear(&mut self) {
        self.only_read.clear();
        self.commit_ts = 0;
    }

    /// The attempt commits no earlier than the record can have been as it was seen.
    #[inline]
    fn note(
        &mut self,
        record: RecordRef<'db, TicToc>,
        seen: Stamps,
        write: Option<Write>,
    ) -> Result<(), Abort> {
        let since = if seen.has_value() { seen.version >> WTS_SHIFT } else { seen.rts };
        self.commit_ts = self.commit_ts.max(since);
        self.only_read.note(record, seen, write)
    }

    #[inline]
    fn records(&self) -> impl Iterator<Item = (RecordRef<'db, TicToc>, Stamps)> {
        self.only_read.iter().copied()
    }
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, TicToc>,
    /// With the rts of each leaf as it was seen.
    sets: Workspace<'db, TicToc, Reads<'db>, u64>,
}

impl Shape for TicToc {
    type Header = Header;
    type Version = ();
    type Leaf = Leaf;
    type Data = InPlace;
}

impl Scheme for TicToc {
    const INFO: Info = Info {
        name: "tictoc",
        title: "TicToc",
        paper: "Yu, Pavlo, Sanchez, Devadas: TicToc: time traveling optimistic concurrency control, SIGMOD 2016",
        family: Family::Optimistic,
        isolation: Isolation::Serializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "computes each commit's timestamp from the records it met, and extends what it read to be valid then",
    };
    type Settings = Settings;
    const DELTAS: bool = true;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, _: Env) -> Result<Self, SettingError> {
        Ok(Self { write_order: settings.write_order, commit_locks: settings.commit_locks })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        let sets = Workspace::new(&slot, Reads::default());
        Txn { sets: sets.in_order(self.write_order).when_busy(self.commit_locks), slot }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().wts.store(VALUE, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, _: &Ticket) -> Result<(), Abort> {
        txn.sets.clear();
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
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, Leaf>) -> Result<(), Abort> {
        // Relaxed twice: the index finds out afterwards if the gap version was another by now. A hole
        // that was read brings the stamp of what left it.
        let commit_ts = &mut txn.sets.reads.commit_ts;
        *commit_ts = (*commit_ts).max(leaf.meta().wts.load(Ordering::Relaxed));
        txn.sets.leaves.read_noting(leaf, leaf.meta().rts.load(Ordering::Relaxed))
    }

    // ANCHOR: gap
    #[inline]
    fn entering(&self, record: RecordRef<'_, Self>, leaf: &Leaf) -> Result<(), Abort> {
        if is_planted(&plants::TICTOC_ENTERS_FRESH) {
            return Ok(());
        }
        let rts = leaf.rts.load(Ordering::Relaxed); // Relaxed: under the latch.
        let may_rise = |word| word & (LOCKED | RETIRED) == 0 && word >> RTS_SHIFT < rts;
        let raised = |word| may_rise(word).then_some(rts << RTS_SHIFT);
        // Relaxed twice: the release of the latch publishes it to whoever finds the record by this key.
        let update = record.header().rts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raised);
        let is_late = update.is_err_and(|word| word >> RTS_SHIFT < rts);
        if is_late { Err(Abort::WriteConflict) } else { Ok(()) }
    }
    // ANCHOR_END: gap

    #[inline]
    fn added<'db>(&'db self, txn: &mut Txn<'db>, before: LeafRef<'db, Leaf>, after: u64) {
        txn.sets.leaves.added(before, after);
    }

    #[inline]
    fn split<'db>(
        &'db self,
        txn: &mut Txn<'db>,
        from: LeafRef<'db, Leaf>,
        after: u64,
        into: LeafRef<'db, Leaf>,
    ) {
        txn.sets.leaves.split(from, after, into);
    }

    /// The installer has locked all its records before it installs the first, so nothing that was seen may be locked or
    /// newer. It is not asked whether a version could be extended to a timestamp: the state is the present one.
    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        txn.sets.confirm(|record| Self::copy_stable(record, None).ok())
    }

    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Rollback {
            // A delta that was read after all may be of a later version than the one that was met when it began.
            txn.sets.only_read()?;
        }
        CommitLocks::lock(txn, Txn::lock_write_set, Txn::may_commit)?; // 1, 2
        txn.validate() // 3
    }

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let commit_ts = txn.sets.reads.commit_ts;
        txn.sets.install_by(Stamp(commit_ts), sink, seen, |record, value| {
            let Header { wts, rts } = record.header();
            // Relaxed: this attempt holds the lock.
            let before = wts.load(Ordering::Relaxed) >> WTS_SHIFT;
            assert!(before < commit_ts, "a version begins after its predecessor");
            // Release: pairs with the Acquire of `wts` in `copy_stable`. 4
            let present = if value.is_some() { VALUE } else { 0 };
            wts.store((commit_ts << WTS_SHIFT) | present, Ordering::Release);
            if let Some(value) = value {
                // Release: pairs with the Acquire fence in `copy_stable`.
                fence(Ordering::Release);
                record.store(value);
            }
            // Release: pairs with the Acquire of `rts` in `copy_stable` and `extend`, and of the next lock.
            rts.store(commit_ts << RTS_SHIFT, Ordering::Release);
        });
        Stamp(commit_ts)
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.sets.writes.unlock();
    }

    fn retire(&self, record: RecordRef<'_, Self>, leaf: &Leaf) -> Retire {
        let Header { wts, rts } = record.header();
        // Acquire: pairs with the Release in `install`.
        let word = rts.load(Ordering::Acquire);
        let version = wts.load(Ordering::Relaxed); // Relaxed: changes under the lock, which the exchange checks.
        if word & LOCKED != 0 {
            return Retire::Later;
        }
        if version & VALUE != 0 {
            return Retire::Alive;
        }
        // AcqRel: whoever sees the mark sees what led to it, and the marker what came before.
        // Relaxed on failure: nothing is read.
        if rts.compare_exchange(word, word | RETIRED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return Retire::Later;
        }
        if !is_planted(&plants::TICTOC_FORGETS_RTS) {
            leaf.changed_at(version >> WTS_SHIFT);
            leaf.read_until(word >> RTS_SHIFT);
        }
        Retire::Done
    }

    /// A search that misses the entry comes after the version that took the key away, which is this version or an
    /// earlier one.
    fn leaving(&self, record: RecordRef<'_, Self>, leaf: &Leaf) -> Retire {
        // Relaxed: what is known of the key was handed on with a version that is no later.
        leaf.changed_at(record.header().wts.load(Ordering::Relaxed) >> WTS_SHIFT);
        Retire::Done
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        txn.sets.latest(record)
    }
}

impl Validates for TicToc {
    type Seen = Stamps;
    const LOCK: LockBits = LockBits { locked: LOCKED, retired: RETIRED };

    #[inline]
    fn lock_word(record: RecordRef<'_, Self>) -> &AtomicU64 {
        &record.header().rts
    }

    #[inline(always)]
    fn copy_stable(record: RecordRef<'_, Self>, mut copy: Option<&mut [u64]>) -> Result<Stamps, Abort> {
        let Header { wts, rts } = record.header();
        loop {
            // Acquire: pairs with the Release of `wts` in `install`, so that the lock under which a version
            // came, or its end, is seen with it.
            let version = wts.load(Ordering::Acquire);
            // Acquire: pairs with the Release of `rts` in `install`.
            let word = rts.load(Ordering::Acquire);
            if word & RETIRED != 0 {
                return Err(Abort::ReadChanged);
            }
            if word & LOCKED != 0 {
                waiter::wait_clear(rts, LOCKED);
                continue;
            }
            if let Some(copy) = copy.as_deref_mut().filter(|_| version & VALUE != 0) {
                record.load(copy);
            }
            // Acquire fence: the copy comes before the second look at the version, so that a copy which saw a
            // store of a later writer sees that writer's version.
            fence(Ordering::Acquire);
            // Relaxed: ordered by the fence.
            if wts.load(Ordering::Relaxed) == version {
                return Ok(Stamps { version, rts: word >> RTS_SHIFT });
            }
        }
    }
}

impl<'db> Txn<'db> {
    // ANCHOR: lock
    /// Steps 1 and 2 of COMMIT.
    #[inline]
    fn lock_write_set(&mut self) -> Result<(), Abort> {
        let Workspace { reads, writes, .. } = &mut self.sets;
        writes.lock(|write, word| {
            // Relaxed: changes only under the lock, which this attempt holds.
            let version = write.record.header().wts.load(Ordering::Relaxed);
            let last = if is_planted(&plants::TICTOC_IGNORES_RTS) {
                version >> WTS_SHIFT
            } else {
                word >> RTS_SHIFT
            };
            reads.commit_ts = reads.commit_ts.max(last + 1);
            write.note.confirm(version, version & VALUE != 0)
        })
    }
    // ANCHOR_END: lock

    /// Fails an attempt that waits to lock its write set again if it has read a version that has ended too early:
    /// before the least timestamp at which the attempt can commit, by what it has met so far. (The paper's preemptive
    /// abort.)
    fn may_commit(&self) -> Result<(), Abort> {
        let Workspace { reads: Reads { only_read, commit_ts }, writes, .. } = &self.sets;
        // Relaxed: a hint, as all is validated under the locks.
        let version = |record: RecordRef<'_, TicToc>| record.header().wts.load(Ordering::Relaxed);
        let is_valid =
            only_read.iter().all(|&(record, seen)| seen.rts >= *commit_ts || version(record) == seen.version)
                && writes.iter().all(|write| write.note.is_blind || version(write.record) == write.note.word);
        if is_valid { Ok(()) } else { Err(Abort::ReadChanged) }
    }

    // ANCHOR: validate
    /// Step 3 of COMMIT.
    #[inline]
    fn validate(&self) -> Result<(), Abort> {
        let Workspace { reads: Reads { only_read, commit_ts }, leaves, .. } = &self.sets;
        for &(record, seen) in only_read {
            if seen.rts < *commit_ts && !is_planted(&plants::TICTOC_SKIPS_READS) {
                self.extend(record, seen.version)?;
            }
        }
        for &(leaf, rts) in leaves.iter() {
            let is_extended = || leaf.mark(|gaps| gaps.read_until(*commit_ts));
            if rts < *commit_ts && !is_planted(&plants::TICTOC_SKIPS_LEAVES) && !is_extended() {
                return Err(Abort::Phantom);
            }
        }
        Ok(())
    }
    // ANCHOR_END: validate

    // ANCHOR: extend
    /// Makes a version of a record valid until the commit at least.
    #[inline]
    fn extend(&self, record: RecordRef<'db, TicToc>, version: u64) -> Result<(), Abort> {
        let Header { wts, rts } = record.header();
        let commit_ts = self.sets.reads.commit_ts;
        // Acquire: pairs with the Release of `rts` in `install`, so that the rts of a later version is never
        // taken for that of this one.
        let mut word = rts.load(Ordering::Acquire);
        loop {
            // Relaxed: ordered by the Acquire before; if it changes afterwards, so has `rts`.
            if wts.load(Ordering::Relaxed) != version {
                return Err(Abort::ReadChanged);
            }
            // The attempt that has locked the record knows this rts, and will commit later.
            if word >> RTS_SHIFT >= commit_ts {
                return Ok(());
            }
            if word & (LOCKED | RETIRED) != 0 {
                let is_own = self.sets.writes.find(record).is_some();
                return if is_own || is_planted(&plants::TICTOC_EXTENDS_LOCKED) {
                    Ok(())
                } else {
                    Err(Abort::ReadChanged)
                };
            }
            // Relaxed: hands on nothing but the stamp, and continues the release sequence of `install`.
            // Acquire: on failure, pairs with the Release of `rts` in `install`, as above.
            match rts.compare_exchange(word, commit_ts << RTS_SHIFT, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }
    // ANCHOR_END: extend
}

#[cfg(test)]
mod tests {
    use engine::setting::{Settings as _, Values};
    use engine::{Database, Home, Homes, Key, Lookup, Row, Schema, Table, Transaction};
    use parts::Expected;
    use storage::Which;
    use sync::workers;
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Number(u64);

    impl Key for Number {
        type Ordered = u64;

        fn ordered(self) -> u64 {
            self.0
        }

        fn from_ordered(ordered: u64) -> Self {
            Self(ordered)
        }

        fn home(self) -> Home {
            Home::At(0)
        }
    }

    #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(transparent)]
    struct Cell(u64);

    impl Row for Cell {
        type Key = Number;
        type Indexes = ();
    }

    /// A database with the rows 0 to 9.
    fn cells(workers: usize) -> (Database<TicToc>, Table<Cell>) {
        let mut schema = Schema::new();
        let table = schema.table("cell", Lookup::Ordered, 10).group();
        let values = Values::new(Settings::ALL, &[]).expect("standard values are legal");
        let db =
            Database::new(&schema, &values, Env { slots: workers, workers }).expect("standard values agree");
        let insert = |txn: &mut engine::Attempt<'_, '_, TicToc>| {
            (0..10).try_for_each(|key| txn.insert(table, Number(key), &Cell(0)).map(|_| ()))
        };
        db.session().attempt(&Ticket::new(0, Homes::new()), insert).expect("nobody is in the way");
        (db, table)
    }

    fn record(db: &Database<TicToc>, table: Table<Cell>, key: u64) -> RecordRef<'_, TicToc> {
        let row = db.tables().get(table.id()).index(Which::Primary).peek(key).expect("the row is there");
        row.record(0)
    }

    #[test]
    fn a_locked_version_is_read_until_its_rts_and_no_longer() {
        let (db, table) = cells(1);
        let record = record(&db, table, 0);
        let mut txn = db.scheme().attach(db.tables().slot());
        let version = TicToc::copy_stable(record, None).expect("nobody is in the way").version;
        txn.sets.reads.commit_ts = 9;
        txn.extend(record, version).expect("nobody is in the way");
        assert_eq!(TicToc::LOCK.lock(&record.header().rts), Ok(9 << RTS_SHIFT));
        assert_eq!(txn.extend(record, version), Ok(()));
        assert_eq!(txn.extend(record, version + 2), Err(Abort::ReadChanged));
        txn.sets.reads.commit_ts = 10;
        assert_eq!(txn.extend(record, version), Err(Abort::ReadChanged));
        txn.sets.writes.push(record, None, Expected { word: version, is_blind: false });
        assert_eq!(txn.extend(record, version), Ok(()), "its own lock is not in the way");
    }

    #[test]
    fn a_retired_absence_is_read_until_its_rts_and_leaves_its_stamps_to_the_leaf() {
        let (db, table) = cells(1);
        let (record, leaf) = (record(&db, table, 0), Leaf::default());
        assert_eq!(db.scheme().retire(record, &leaf), Retire::Alive);
        record.header().wts.store(7 << WTS_SHIFT, Ordering::Relaxed);
        record.header().rts.store(9 << RTS_SHIFT | LOCKED, Ordering::Relaxed);
        assert_eq!(db.scheme().retire(record, &leaf), Retire::Later);
        record.header().rts.store(9 << RTS_SHIFT, Ordering::Relaxed);
        for leaf in [leaf, Leaf::default()] {
            assert_eq!(db.scheme().retire(record, &leaf), Retire::Done);
            assert_eq!((leaf.wts.into_inner(), leaf.rts.into_inner()), (7, 9));
        }
        assert_eq!(TicToc::copy_stable(record, None).map(|seen| seen.rts), Err(Abort::ReadChanged));
        let mut txn = db.scheme().attach(db.tables().slot());
        for (commit_ts, outcome) in [(9, Ok(())), (10, Err(Abort::ReadChanged))] {
            txn.sets.reads.commit_ts = commit_ts;
            assert_eq!(txn.extend(record, 7 << WTS_SHIFT), outcome);
        }
    }

    /// All workers read row 0 at ever later timestamps, those of the rows in which they count.
    #[test]
    fn an_rts_never_falls_while_many_extend_it() {
        let (db, table) = cells(4);
        let shared = record(&db, table, 0);
        let ticket = Ticket::new(0, Homes::new());
        workers::run(4, false, |worker| {
            let mut session = db.session();
            let mut last = 0;
            for _ in 0..5_000 {
                let outcome = session.attempt(&ticket, |txn| {
                    txn.read(table, Number(0), |_| ())?;
                    txn.update(table, Number(1 + worker as u64), |cell| cell.0 += 1)
                });
                outcome.expect("nobody writes what another touches");
                let now = shared.header().rts.load(Ordering::Relaxed);
                let own = record(&db, table, 1 + worker as u64).header().wts.load(Ordering::Relaxed);
                assert!(now >= last && now >> RTS_SHIFT >= own >> WTS_SHIFT, "{last} {now} {own}");
                last = now;
            }
        });
    }
}
