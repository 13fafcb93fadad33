//! Silo: optimistic concurrency control with epochs (Tu, Zheng, Kohler, Liskov, Madden, SOSP 2013).
//!
//! IDEA        A transaction reads without writing anything shared and buffers its writes. To commit it
//!             locks what it writes, draws the epoch, checks that nothing it read has changed, and installs.
//!             Transaction ids are computed from the ids it met, so that there is no central counter: epochs
//!             order them coarsely. Ranges and missing keys are protected by the versions of the index
//!             leaves that were read. With `silo.snapshots=on`, a transaction that is declared read-only reads
//!             the database as it was at the end of a snapshot epoch, a while ago: it registers nothing, checks
//!             nothing and never aborts.
//! RECORD      One word: bit 0 locked, bit 1 no value, bit 2 retired, bit 3 older versions are kept, bits 4..32
//!             sequence, bits 32.. epoch. The word without its status bits is the TID of the commit that wrote
//!             the value. A version that is kept carries the epoch of that commit.
//! COMMIT      1. Lock the write set; what was read of a record before it was written must still be so, and
//!                cannot change under the lock.
//!             2. Fence; read the epoch: the serialization point.
//!             3. Validate: each record that was only read has the TID that was seen and no other's lock, each
//!                leaf its gap version.
//!             4. Choose the TID: in the epoch, above every TID met and above the slot's last.
//!             5. With snapshots: keep each old value that one of them shows.
//!             6. Install each value; the store of the new word unlocks.
//! INVARIANTS  (1) A value changes only under its lock, and each change gives the word a TID it never had
//!                 (asserted in `Workspace::install`).
//!             (2) An attempt that waits for a lock holds only locks of smaller addresses, so committers never
//!                 deadlock (`BufferedWrites::lock`).
//!             (3) What was observed, absence included, is in the read set or noted with the write
//!                 (`Workspace` sees to it), unless a snapshot showed it.
//!             (4) A record's value and its kept versions include every value that a snapshot shows which is read
//!                 now or later (`keep_past` ensures it, `SnapshotEpochs` determines which). A record is retired
//!                 only when all of these values are that it has none (`retire`).
//! DEPARTURES  Locks are taken in the order of the writes as long as no one has to wait, which spares the sort
//!             (`silo.write_order=address` always sorts). A record that is being inserted is unlocked and without value
//!             until its commit, as in the paper; a delete leaves such a record, and the engine unlinks it later. The
//!             wait for a lock is a wait of the engine, so that on a fiber another attempt runs meanwhile. Read-only
//!             transactions read the present, and an old snapshot only with `silo.snapshots=on`. With
//!             `silo.commit_locks=no_wait`, which is `TicToc`'s and `DBx1000`'s, a commit that finds a record locked
//!             gives up its locks, and tries again at most so many times. A slot is inside an epoch only while it
//!             commits, so that no worker that stalls outside of a commit, and no client that waits inside its
//!             transaction, holds up an epoch. A
//!             kept version that is no longer needed is given up when its record is next overwritten by a commit of a
//!             later snapshot epoch, or leaves the indexes, and not by a list of its own: of a record that is not
//!             written any more, as many versions stay as were needed at its last write, two if no snapshot was read
//!             for long. A key that was deleted from a table with secondary indexes can be inserted again when no
//!             snapshot needs the old row. The paper has no commit-time updates, which are STO's (Huang, Qian, Kohler,
//!             Liskov, Shrira, PVLDB 2020): an amount is added to the value that is there in step 6, under the lock,
//!             and all that was observed of the record is that it has a value, as before a blind write.

pub mod entry;
pub mod plants;
pub mod snapshot_epochs;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, End, Env, Facts, Family, Info, Isolation, LeafSet, Observer, OwnWrites, Retire, Scheme,
    Sink, Stamp, Ticket, Write, settings,
};
use parts::tids::{self, EPOCH_SHIFT, STEP as TID_STEP};
use parts::value_word::{LOCK, LOCKED, NO_VALUE};
use parts::{CommitEpoch, CommitLocks, Validates, ValueWord, Workspace, WriteOrder, fence_reads};
use storage::{InPlace, RecordRef, Shape, Slot};
use sync::atomic::Ordering;
use sync::plant::is_planted;

use self::snapshot_epochs::{Keep, Past, SnapshotEpochs};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "silo" {
        /// Length of a commit epoch; shorter ones shorten group commit and cost cache misses on the epoch.
        epoch_ms: u64 {
            default: "40",
            range: Range::Int(1, 10_000),
            unit: "ms",
            stresses: "the shared epoch counter, and the delay of group commit",
        },
        /// `on` lets read-only transactions read a consistent state of a while ago, without aborts: 0.1 to 1.4 s old at
        /// the standard lengths of epochs, older where few transactions run, and in the first second that which was
        /// loaded; the library's snapshots show all that was committed before. Pays where they are long and their
        /// records are written often, and makes the promise serializable only.
        snapshots: bool {
            default: "off",
            stresses: "copies of overwritten values, and deleted rows that stay in the indexes",
        },
        /// Commit epochs that make a snapshot epoch; more of them keep fewer versions, fewer show a younger state and
        /// let deleted rows leave sooner.
        snapshot_epochs: u64 {
            default: "25",
            range: Range::Int(1, 10_000),
            unit: "epochs",
            stresses: "the age of snapshots, and how often values are kept",
        },
        /// The order in which a commit locks.
        write_order: WriteOrder = WriteOrder::setting,
        /// The choice of a commit that finds a record locked.
        commit_locks: CommitLocks = CommitLocks::setting,
    }
}

/// The bit of a TID word that says that older versions are kept.
const OLDER: u64 = 8;

/// The state that all transactions share: the epochs.
#[derive(Debug)]
pub struct Silo {
    epoch: CommitEpoch,
    /// `None` where every transaction reads the present.
    snapshots: Option<SnapshotEpochs>,
    write_order: WriteOrder,
    commit_locks: CommitLocks,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Silo>,
    /// The first epoch that the attempt's snapshot does not show; `None` if the attempt reads the present.
    snapshot: Option<u64>,
    sets: Workspace<'db, Silo>,
    /// The TID of the running commit; between attempts, that of the slot's last.
    tid: u64,
}

impl Shape for Silo {
    type Header = ValueWord;
    type Version = Past;
    type Leaf = ();
    type Data = InPlace;
}

impl Scheme for Silo {
    const INFO: Info = Info {
        name: "silo",
        title: "Silo",
        paper: "Tu, Zheng, Kohler, Liskov, Madden: Speedy transactions in multicore in-memory databases, SOSP 2013",
        family: Family::Optimistic,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "buffers writes, validates reads at commit against per-record TIDs, orders commits by coarse epochs",
    };
    type Settings = Settings;
    const DELTAS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        let snapshots = || SnapshotEpochs::new(settings.snapshot_epochs, env.slots);
        Ok(Self {
            epoch: CommitEpoch::new(settings.epoch_ms, env.slots),
            snapshots: settings.snapshots.then(snapshots),
            write_order: settings.write_order,
            commit_locks: settings.commit_locks,
        })
    }

    /// A snapshot may lack commits from before its reader began, unless the reader is to see them.
    fn facts(settings: &Settings) -> Facts {
        let present = Facts::of(&Self::INFO);
        if settings.snapshots {
            Facts { isolation: Isolation::Serializable, keeps_versions: true, ..present }
        } else {
            present
        }
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            sets: Workspace::new(&slot, Vec::new()).in_order(self.write_order).when_busy(self.commit_locks),
            slot,
            snapshot: None,
            tid: 0,
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
    fn await_others<'db>(&'db self, _: &mut Txn<'db>, ticket: &Ticket) {
        let renews = ticket.read_only && ticket.is_fresh;
        self.snapshots.iter().filter(|_| renews).for_each(|snapshots| snapshots.renew(&self.epoch));
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.sets.clear();
        if let Some(snapshots) = &self.snapshots
            && ticket.read_only
        {
            txn.snapshot = Some(snapshots.enter(txn.slot.id()));
        }
        Ok(())
    }

    #[inline]
    fn own_writes<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<impl OwnWrites<'t, 'db, Self>> {
        Some(&mut txn.sets.writes)
    }

    // ANCHOR: read
    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        if let Some(end) = txn.snapshot {
            return Ok(txn.read_before(end, record));
        }
        txn.sets.read(record)
    }
    // ANCHOR_END: read

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
        txn.snapshot.is_none().then_some(&mut txn.sets.leaves)
    }

    /// Like step 3 of COMMIT, for an attempt that has locked nothing. Values that a snapshot has shown are not
    /// among the reads.
    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        txn.sets.confirm(|record| Self::copy_stable(record, None).ok())
    }

    // ANCHOR: commit
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Rollback {
            txn.sets.only_read()?;
        }
        if txn.sets.writes.is_empty() {
            fence_reads();
            return txn.validate();
        }
        let snapshot = self.leave_snapshot(txn);
        assert!(snapshot.is_none(), "a procedure that is declared read-only writes nothing");
        self.epoch.enter(txn.slot.id());
        CommitLocks::lock(&mut txn.sets, Workspace::lock_write_set, may_commit)?; // 1
        let epoch = self.epoch.now(); // 2
        txn.validate()?; // 3
        txn.tid = tids::choose(txn.tid, txn.sets.seen_words(), epoch); // 4
        Ok(())
    }
    // ANCHOR_END: commit

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        if txn.sets.writes.is_empty() {
            return Stamp(self.leave_snapshot(txn).map_or(txn.tid, |end| (end << EPOCH_SHIFT) - TID_STEP));
        }
        let tid = txn.tid;
        if let Some(snapshots) = &self.snapshots {
            txn.keep_past(snapshots.keep_at(tid >> EPOCH_SHIFT)); // 5
        }
        let early = &plants::SILO_UNLOCKS_EARLY;
        txn.sets.install(Stamp(tid), sink, seen, early, |before| tid | before & OLDER); // 6
        self.epoch.leave(txn.slot.id());
        Stamp(tid)
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.sets.writes.unlock();
        self.leave_snapshot(txn);
        self.epoch.leave(txn.slot.id());
    }

    fn maintain(&self, _: usize) {
        if let (Some(epoch), Some(snapshots)) = (self.epoch.advance(), &self.snapshots) {
            snapshots.advanced_to(epoch);
        }
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        // Invariant (4).
        LOCK.retire_if(&record.header().0, NO_VALUE, |word| !self.is_past_needed(word))
    }

    /// A snapshot may show a value with the key that is gone.
    fn leaving(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        let word = record.header().0.load(Ordering::Relaxed); // Relaxed: a later word is of a later epoch.
        if self.is_past_needed(word) { Retire::Later } else { Retire::Done }
    }

    #[inline]
    fn watermark(&self) -> Option<u64> {
        self.snapshots.as_ref().map(SnapshotEpochs::watermark)
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        txn.sets.latest(record)
    }
}

impl Silo {
    /// Whether a snapshot that is read now or later may show a value older than that of this word.
    fn is_past_needed(&self, word: u64) -> bool {
        let watermark = self.snapshots.as_ref().map_or(u64::MAX, SnapshotEpochs::watermark);
        word & OLDER != 0 && word >> EPOCH_SHIFT >= watermark
    }

    /// Ends the reading of a snapshot, if the attempt read one. Returns the first epoch that the snapshot did not
    /// show.
    #[inline]
    fn leave_snapshot(&self, txn: &mut Txn<'_>) -> Option<u64> {
        let end = txn.snapshot.take()?;
        self.snapshots.as_ref().expect("a snapshot is read where there are some").leave(txn.slot.id());
        Some(end)
    }
}

/// Fails an attempt that waits to lock its write set again if something that it has read has changed meanwhile. Who
/// has locked it does not matter: that attempt may yet abort.
fn may_commit(sets: &Workspace<'_, Silo>) -> Result<(), Abort> {
    // Relaxed: a hint, as all is validated under the locks.
    let word = |record: RecordRef<'_, Silo>| record.header().0.load(Ordering::Relaxed) & !LOCKED;
    let is_same = sets.seen().all(|(record, seen)| word(record) == seen);
    if is_same { Ok(()) } else { Err(Abort::ReadChanged) }
}

impl<'db> Txn<'db> {
    /// The value that a record had before the commits of epoch `end`. A newer commit is waited for only while it has
    /// the record locked and the value from before `end` is still in place.
    fn read_before(&mut self, end: u64, record: RecordRef<'db, Silo>) -> Option<&[u64]> {
        // Acquire: pairs with the Release in `install`.
        let mut word = record.header().0.load(Ordering::Acquire);
        if word >> EPOCH_SHIFT < end {
            let copy = self.sets.copy.room(record.width());
            // A record that was retired has no value in any snapshot: invariant (4).
            word = Silo::copy_stable(record, Some(copy)).ok()?;
            if word >> EPOCH_SHIFT < end {
                return (word & NO_VALUE == 0).then_some(copy);
            }
        }
        if word & OLDER != 0 { snapshot_epochs::value_before(&self.slot, record, end) } else { None }
    }

    // ANCHOR: validate
    /// Step 3 of COMMIT.
    #[inline]
    fn validate(&self) -> Result<(), Abort> {
        let reads = if is_planted(&plants::SILO_SKIPS_READS) { &[] } else { &self.sets.reads[..] };
        for &(record, seen) in reads {
            // Acquire: a later step must not come before.
            let word = record.header().0.load(Ordering::Acquire);
            let own = || self.sets.writes.find(record).is_some() || is_planted(&plants::SILO_IGNORES_LOCKS);
            if word != seen && !(word == seen | LOCKED && own()) {
                return Err(Abort::ReadChanged);
            }
        }
        let skips = is_planted(&plants::SILO_SKIPS_LEAVES);
        if skips || self.sets.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) }
    }
    // ANCHOR_END: validate

    /// Step 5 of COMMIT.
    fn keep_past(&mut self, keep: Keep) {
        for record in self.sets.writes.iter().map(|write| write.record) {
            let header = &record.header().0;
            let word = header.load(Ordering::Relaxed); // Relaxed: this attempt holds the lock.
            // Where no older version is kept, the absence of a value needs no version to say so.
            if keep.wants(word >> EPOCH_SHIFT) && word & (NO_VALUE | OLDER) != NO_VALUE {
                keep.keep(&mut self.slot, record, word >> EPOCH_SHIFT, word & NO_VALUE == 0);
                // Release: pairs with the Acquire in `read_before`, for what is kept now or was before.
                header.store(word | OLDER, Ordering::Release);
            }
        }
    }
}
