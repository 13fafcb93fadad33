//! MOCC: mostly optimistic concurrency control (Wang and Kimura, PVLDB 10(2), 2016).
//!
//! IDEA        Optimism wastes whole transactions on the few records that everyone wants, and locks waste a little on
//!             all the others. So records have a *temperature*, which rises when attempts fail because of them. A
//!             transaction locks the hot records when it reads them, exclusively if it is going to write them, and
//!             takes the others on trust, as Silo does; after a failed commit it also locks those that it read or
//!             updated and that are on the list of its last attempt: what that had to write, what it had locked, and
//!             what failed it. The locks only keep others away: whether a commit is correct is decided by Silo's
//!             validation, of locked records, too. Therefore locks may be given up at any time, and they are whenever
//!             keeping them could close a circle of waiting.
//! RECORD      Three words, 16 bytes. The TID, as in Silo: bit 0 a committer installs, bit 1 no value, bit 2 retired,
//!             bits 4..32 sequence, bits 32.. epoch. The lock: bit 0 exclusive, bit 1 wanted exclusively, bits 2.. how
//!             many share it. The temperature, with the number of the era in which it was measured.
//! COMMIT      1. Lock the write set exclusively: in the order of the writes while nobody is in the way, or else in
//!                that of addresses.
//!             2. Set the installing bit of each write; what was read of the record before must still be so.
//!             3. Fence; read the epoch: the serialization point.
//!             4. Validate: each record that was read, under a lock or not, has the TID that was seen, each leaf its
//!                gap version. What has changed may become hotter.
//!             5. Choose the TID as Silo does.
//!             6. Install each value; the store of the new TID ends the installing. Unlock.
//! INVARIANTS  (1) A TID changes only under the record's exclusive lock, and each change gives one it never had
//!                 (asserted in `Workspace::install`). An attempt that retires a record has that lock, too.
//!             (2) An attempt that waits for a lock holds none of the same or a larger address (`CanonicalLocks::lock`
//!                 gives those up first), and an attempt that installs waits for nothing: so no circle of waits can
//!                 form.
//!             (3) Everything observed, absence included, is in the read set or noted with the write, and is validated
//!                 even if it was locked all the time.
//! DEPARTURES  A temperature is a record's own, not a page's: a page of the paper is a node of its index, and rows do
//!             not live in the nodes here. A lock is a word on which attempts wait, and not a queue: an attempt that
//!             wants it exclusively keeps new readers out, but several of those come in any order. A lock is never
//!             queued for and cancelled: it is tried at once, and waited for after the locks that are in the way of
//!             waiting were given up, however many they are. A record that must be locked after an abort is locked when
//!             the retry comes to it, and not with all that lies before it in the order of addresses. A record that is
//!             hot, or listed, is locked when it is first read or updated (the paper lists the hot records that were
//!             read; here one that is not locked any more is listed only if it has changed); blind writes, amounts,
//!             inserts and deletes lock theirs at the commit. The paper sorts the write set first; here locks are tried
//!             in the order of the writes, and in that of addresses if one is taken. The public program marks a record
//!             when it applies the write; here all are marked before the validation, as under `foedus`. Epochs last 40
//!             ms (`mocc.epoch_ms`), there 20. Amounts are added at the commit as under `silo`.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, End, Env, Family, Info, Isolation, LeafSet, Observer, OwnWrites, Retire, Scheme, Sink,
    Stamp, Ticket, Write, settings, slot_rng,
};
use parts::canonical_locks::{CanonicalLocks, Mode, Retrospective};
use parts::value_word::{LOCKED as INSTALLING, RETIRED};
use parts::{CommitEpoch, OwnerId, Workspace, fence_reads, tids};
use stdx::Rng;
use storage::{InPlace, RecordRef, Shape, Slot};
use sync::atomic::Ordering;
use sync::plant::is_planted;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "mocc" {
        /// Length of a commit epoch; shorter ones shorten group commit and cost cache misses on the epoch.
        epoch_ms: u64 {
            default: "40",
            range: Range::Int(1, 10_000),
            unit: "ms",
            stresses: "the shared epoch counter, and the delay of group commit",
        },
        /// The temperature from which on a record is locked to be read: 10 is reached after about a thousand failures
        /// in an era, 0 locks whatever is read, and 21 nothing but what an abort has shown.
        hot: u32 {
            default: "10",
            range: Range::Int(0, 21),
            stresses: "aborts against waiting for locks",
        },
        /// Commit epochs after which temperatures count from the coldest again.
        era_epochs: u64 {
            default: "25",
            range: Range::Int(1, 10_000),
            unit: "epochs",
            stresses: "records that were hot once and are locked still",
        },
    }
}

/// The state that all transactions share: the epochs.
#[derive(Debug)]
pub struct Mocc {
    epoch: CommitEpoch,
    /// The temperature from which on a record is locked to be read.
    hot: u32,
    /// The epochs of an era. Each era measures temperatures anew.
    era_epochs: u64,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Mocc>,
    sets: Workspace<'db, Mocc>,
    /// The TID of the running commit; between attempts, that of the slot's last.
    tid: u64,
    locks: CanonicalLocks<'db, Mocc>,
    /// The write set in the order of addresses, used if locking had to wait.
    order: Vec<RecordRef<'db, Mocc>>,
    /// The retrospective list, which exists since the last attempt of the transaction was aborted.
    retrospective: Retrospective<RecordRef<'db, Mocc>>,
    rng: Rng,
}

impl Shape for Mocc {
    type Header = OwnerId;
    type Version = ();
    type Leaf = ();
    type Data = InPlace;
}

impl Scheme for Mocc {
    const INFO: Info = Info {
        name: "mocc",
        title: "MOCC",
        paper: "Wang, Kimura: Mostly-optimistic concurrency control for highly contended dynamic workloads on a \
                thousand cores, PVLDB 10(2), 2016",
        family: Family::Optimistic,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "validates as Silo does, and locks beforehand what has made validations fail",
    };
    type Settings = Settings;
    const DELTAS: bool = true;
    const WAITS: bool = true;
    const UPGRADES: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self {
            epoch: CommitEpoch::new(settings.epoch_ms, env.slots),
            hot: settings.hot,
            era_epochs: settings.era_epochs,
        })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            sets: Workspace::new(&slot, Vec::new()),
            tid: 0,
            rng: slot_rng(slot.id()),
            slot,
            locks: CanonicalLocks::default(),
            order: Vec::new(),
            retrospective: Retrospective::default(),
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
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.sets.clear();
        if ticket.retries == 0 {
            txn.retrospective.clear();
        }
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
        self.lock_if_hot(txn, record, Mode::Shared);
        txn.sets.read(record)
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        if how == Write::Modify {
            self.lock_if_hot(txn, record, Mode::Exclusive);
        }
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

    /// Like step 4 of COMMIT, for an attempt that installs nothing: one that installs has marked all its records
    /// before it installs the first.
    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        // Acquire: a later look does not come before.
        let tid = |record: RecordRef<'db, Self>| record.header().tid.load(Ordering::Acquire);
        txn.sets.confirm(|record| Some(tid(record)).filter(|tid| tid & (INSTALLING | RETIRED) == 0))
    }

    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Rollback {
            txn.sets.only_read()?;
        }
        let decided = self.decide(txn);
        if decided.is_err() {
            self.look_back(txn);
        }
        decided
    }

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let tid = txn.tid;
        txn.sets.install(Stamp(tid), sink, seen, &plants::MOCC_ENDS_EARLY, |_| tid); // 6
        txn.locks.give_up();
        self.epoch.leave(txn.slot.id());
        Stamp(tid)
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.sets.writes.unlock();
        txn.locks.give_up();
        self.epoch.leave(txn.slot.id());
    }

    fn maintain(&self, _: usize) {
        self.epoch.advance();
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        record.header().retire()
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        txn.sets.latest(record)
    }
}

impl Mocc {
    // ANCHOR: hot
    /// Locks a record that is about to be read if it is hot, or if it has failed the transaction before: exclusively if
    /// it is read to be written, as two that share a lock could not both make it exclusive.
    #[inline]
    fn lock_if_hot<'db>(&self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>, mode: Mode) {
        if let Some(listed) = txn.retrospective.find(record.id()) {
            txn.locks.lock(record, mode.max(listed));
        } else if self.hot == 0 || record.header().temperature.degrees(|| self.era()) >= self.hot {
            txn.locks.lock(record, mode);
        }
    }
    // ANCHOR_END: hot

    /// The number of the present era.
    fn era(&self) -> u64 {
        self.epoch.last() / self.era_epochs
    }

    // ANCHOR: commit
    /// Steps 1 to 5 of COMMIT.
    #[inline]
    fn decide(&self, txn: &mut Txn<'_>) -> Result<(), Abort> {
        if txn.sets.writes.is_empty() {
            fence_reads();
            return self.validate(txn);
        }
        txn.lock_write_set(); // 1
        // Only now: an attempt that waited for a lock would have held the epoch up.
        self.epoch.enter(txn.slot.id());
        // It waits for nobody, because nobody else has the locks.
        txn.sets.lock_write_set()?; // 2
        let epoch = self.epoch.now(); // 3
        self.validate(txn)?; // 4
        txn.tid = tids::choose(txn.tid, txn.sets.seen_words(), epoch); // 5
        Ok(())
    }
    // ANCHOR_END: commit

    /// Step 4 of COMMIT.
    #[inline]
    fn validate(&self, txn: &Txn<'_>) -> Result<(), Abort> {
        let Txn { sets, retrospective, .. } = txn;
        let is_trusted = |record: RecordRef<'_, Self>| {
            is_planted(&plants::MOCC_TRUSTS_LOCKS)
                && (self.hot == 0 || retrospective.find(record.id()).is_some())
        };
        let is_same = |&(record, seen): &_| is_as_seen(sets, record, seen) || is_trusted(record);
        if !is_planted(&plants::MOCC_SKIPS_READS) && !sets.reads.iter().all(is_same) {
            return Err(Abort::ReadChanged);
        }
        let skips = is_planted(&plants::MOCC_SKIPS_LEAVES);
        if skips || sets.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) }
    }

    /// Looks back after a failed commit. Each record that was read, be it in order to write it, and that has changed
    /// since may become hotter, by chance. The next attempt of this transaction locks these records, those that this
    /// attempt had to write, and those that it has locked.
    #[cold]
    fn look_back(&self, txn: &mut Txn<'_>) {
        let Txn { sets, locks, retrospective, rng, .. } = txn;
        for (record, _) in sets.all_read().filter(|(record, seen)| !is_as_seen(sets, *record, *seen)) {
            record.header().temperature.heat(self.era(), rng);
        }
        retrospective.look_back(sets, locks, |record, seen| !is_as_seen(sets, record, seen));
    }
}

/// Whether a record is as it was read, and no other attempt is installing it.
#[inline]
fn is_as_seen<'db>(sets: &Workspace<'db, Mocc>, record: RecordRef<'db, Mocc>, seen: u64) -> bool {
    let is_own = || sets.writes.find(record).is_some() || is_planted(&plants::MOCC_IGNORES_INSTALLING);
    record.header().is_as_seen(seen, is_own)
}

impl Txn<'_> {
    // ANCHOR: lock
    /// Step 1 of COMMIT.
    #[inline]
    fn lock_write_set(&mut self) {
        let Self { sets, locks, order, .. } = self;
        let writes = &sets.writes;
        if writes.iter().all(|write| locks.try_lock(write.record, Mode::Exclusive)) {
            return;
        }
        order.clear();
        order.extend(writes.iter().map(|write| write.record));
        order.sort_unstable_by_key(|record| record.id());
        for record in order.iter() {
            locks.lock(*record, Mode::Exclusive);
        }
    }
    // ANCHOR_END: lock
}
