//! FOEDUS: its commit protocol (Kimura, SIGMOD 2015) and its policy of locking (Wang, Kimura, PVLDB 10(2), 2016).
//!
//! IDEA        A commit is Silo's, but a record's lock and its TID are words of their own. A lock keeps other writers
//!             away and nobody from reading: only from when a commit verifies to when it has applied its writes do
//!             their TIDs say that they are being written, and readers wait for that. After an abort the attempt has a
//!             *retrospective lock list*: the records that it had to write and those that failed it. The retry locks
//!             those that it reads or updates beforehand, in canonical order. An insert is two transactions: a *system
//!             transaction* reserves a record that is marked deleted, which changes its page, and the user's
//!             transaction flips the mark with its other writes. So an abort leaves a deleted record, which harms
//!             nobody, and has nothing to undo.
//! RECORD      The owner id, 16 bytes: the TID with bit 0 being written, bit 1 deleted, bit 2 retired, bits 4..32 the
//!             ordinal in the epoch, bits 32.. the epoch; the lock, shared or exclusive; how hot the record is.
//! COMMIT      1. Lock the write set exclusively, in the order of addresses.
//!             2. Publish the epoch in which the commit began, which keeps the one after it from ending: the in-commit
//!                epoch guard. Say of each record to be written that it is being written. One that was read before it
//!                was written must still be as it was read.
//!             3. Fence; read the epoch: the serialization point.
//!             4. Verify: each record that was read has the TID that was seen, and is not being written by another;
//!                each page has its version.
//!             5. Issue the TID: in the epoch, above every TID met and above the slot's last.
//!             6. Apply each write: the value; the new TID, deleted or not, which ends the writing.
//!             7. End the guard and unlock all. A transaction that writes nothing has steps 4 and 7 alone.
//! INVARIANTS  (1) A TID changes only under the record's exclusive lock, and each change gives one it never had
//!                 (asserted in `Workspace::install`). An attempt that retires a record has that lock, too.
//!             (2) An attempt that waits for a lock holds none of the same or a larger address, and an attempt that
//!                 applies waits for nothing: so no circle of waits can form.
//!             (3) Of two attempts that each write what the other has read, one sees that the other's record is being
//!                 written, or the TID that was left: each says so, fences and looks (`OwnerId::is_as_seen`).
//!             (4) Everything observed, absence included, is in the read set or noted with the write, and is verified
//!                 even if it was locked all the time: locks are given up, or taken too late.
//!             (5) A listed lock may be of a record that has left the indexes since, or serves as another: the lock
//!                 then keeps somebody waiting, and does no other harm.
//! DEPARTURES  The published code says of a record that it is being written when it applies the write, and verifies
//!             TIDs alone. Two attempts that each overwrite what the other has read then both commit, if both have
//!             locked before one applies. Here a commit says so before it verifies. Retrospective lock lists
//!             (`foedus.rll`) are of the second paper (MOCC). There are no snapshot pages, no dual pointers with a set
//!             of those that were followed, and no Master-Tree: a page is a leaf of the engine's index, and records
//!             never move, so that moved bits, foster children and tracking have nothing to do. The system transaction
//!             is the engine's insert, which puts a record without a value into the index at once; and a deleted record
//!             leaves the index when its time has come. A lock is a word on which attempts wait, and not a queue. A
//!             record is hot, not its page, and cools down every second. Records that a failed attempt had locked stay
//!             listed. Blind writes, amounts, inserts and deletes ask for no lock beforehand; a record further down the
//!             list may have brought theirs. Amounts are added at the commit, as under `silo`.

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
use parts::tids;
use parts::value_word::{LOCKED as BEING_WRITTEN, RETIRED};
use parts::{CommitEpoch, OwnerId, Temperature, Workspace, fence_reads};
use stdx::Rng;
use storage::{InPlace, RecordRef, Shape, Slot};
use sync::atomic::Ordering;
use sync::plant::is_planted;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "foedus" {
        /// Length of a commit epoch; shorter ones shorten group commit and cost cache misses on the epoch.
        epoch_ms: u64 {
            default: "20",
            range: Range::Int(1, 10_000),
            unit: "ms",
            stresses: "the shared epoch counter, and the delay of group commit",
        },
        /// `on` has a retry lock beforehand what the attempt before has listed, its retrospective lock list; `off`
        /// takes each attempt on trust as if it were the first.
        rll: bool {
            default: "on",
            stresses: "aborts of retries against waiting for locks",
        },
        /// The temperature from which on a record is locked when it is read: 21 locks only what is listed, 10 is
        /// reached after about a thousand failures in a second, and 0 locks whatever is read.
        hot_threshold: u32 {
            default: "21",
            range: Range::Int(0, 21),
            stresses: "aborts against waiting for locks",
        },
        /// `on` has a commit give up the locks that are in the way of waiting for another; `off` has it abort if that
        /// one is not to be had at once, which asks for `foedus.rll=on` where records can be hot.
        force_canonical: bool {
            default: "on",
            stresses: "locks taken twice against aborts",
        },
    }
}

/// The epochs of an era, in which it is measured how hot records are. In the next era all records begin as cold ones
/// again. At 20 ms an epoch, an era is a second.
const ERA_EPOCHS: u64 = 50;

/// The state that all transactions share: the epochs.
#[derive(Debug)]
pub struct Foedus {
    epoch: CommitEpoch,
    /// Whether a retry locks the records that the attempt before has listed.
    has_list: bool,
    /// The temperature from which on a record is locked to be read.
    hot: u32,
    /// Whether a commit gives up the locks that are in the way of waiting for another lock.
    forces_canonical: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Foedus>,
    sets: Workspace<'db, Foedus>,
    /// The TID of the running commit; between attempts, that of the slot's last.
    tid: u64,
    /// The current lock list.
    locks: CanonicalLocks<'db, Foedus>,
    /// The retrospective lock list of the attempt before, if this attempt is a retry.
    retrospective: Retrospective<RecordRef<'db, Foedus>>,
    rng: Rng,
}

impl Shape for Foedus {
    type Header = OwnerId;
    type Version = ();
    type Leaf = ();
    type Data = InPlace;
}

impl Scheme for Foedus {
    const INFO: Info = Info {
        name: "foedus",
        title: "FOEDUS",
        paper: "Kimura: FOEDUS: OLTP engine for a thousand cores and NVRAM, SIGMOD 2015; its retrospective lock lists: \
                Wang, Kimura: Mostly-optimistic concurrency control for highly contended dynamic workloads on a \
                thousand cores, PVLDB 10(2), 2016",
        family: Family::Optimistic,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "commits as Silo does with locks that readers pass, and locks beforehand what an abort has shown",
    };
    type Settings = Settings;
    const DELTAS: bool = true;
    const WAITS: bool = true;
    const UPGRADES: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        let foedus = Self {
            epoch: CommitEpoch::new(settings.epoch_ms, env.slots),
            has_list: settings.rll,
            hot: settings.hot_threshold,
            forces_canonical: settings.force_canonical,
        };
        if foedus.locks_what_is_hot() && !foedus.forces_canonical && !foedus.has_list {
            let says = "`foedus.force_canonical=off` needs `foedus.rll=on` or `foedus.hot_threshold=21`: where neither \
                        commits nor retries wait for locks, those who read a record keep each other from writing it";
            return Err(SettingError(says.to_owned()));
        }
        Ok(foedus)
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            sets: Workspace::new(&slot, Vec::new()),
            tid: 0,
            rng: slot_rng(slot.id()),
            slot,
            locks: CanonicalLocks::default(),
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
        self.lock_if_advised(txn, record, Mode::Shared);
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
            self.lock_if_advised(txn, record, Mode::Exclusive);
        }
        txn.sets.write(record, how)
    }

    /// The user's part of an insert: the system transaction is over, and this only notes that the mark is to be
    /// flipped.
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

    /// Like step 4 of COMMIT, for an attempt that applies nothing: one that applies has said of all its records that
    /// they are being written before it applies the first.
    fn confirm<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        // Acquire: a later look does not come before.
        let tid = |record: RecordRef<'db, Self>| record.header().tid.load(Ordering::Acquire);
        txn.sets.confirm(|record| Some(tid(record)).filter(|tid| tid & (BEING_WRITTEN | RETIRED) == 0))
    }

    // ANCHOR: commit
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Rollback {
            txn.sets.only_read()?;
        }
        if txn.sets.writes.is_empty() {
            fence_reads();
            return txn.verify();
        }
        self.lock_write_set(txn)?; // 1
        // Only now: an attempt that waited for a lock would have held the epoch up.
        self.epoch.enter(txn.slot.id());
        // It waits for nobody, because nobody else has the locks.
        txn.sets.lock_write_set()?; // 2
        let epoch = self.epoch.now(); // 3
        txn.verify()?; // 4
        txn.tid = tids::choose(txn.tid, txn.sets.seen_words(), epoch); // 5
        Ok(())
    }
    // ANCHOR_END: commit

    // ANCHOR: apply
    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let tid = txn.tid;
        txn.sets.install(Stamp(tid), sink, seen, &plants::FOEDUS_ENDS_EARLY, |_| tid); // 6
        self.epoch.leave(txn.slot.id()); // 7
        txn.locks.give_up();
        Stamp(tid)
    }
    // ANCHOR_END: apply

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        self.look_back(txn);
        txn.sets.writes.unlock();
        self.epoch.leave(txn.slot.id());
        txn.locks.give_up();
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

impl Foedus {
    // ANCHOR: advised
    /// Locks a record that is about to be read if it is listed, after all records listed before it, or if it is hot.
    /// Waits while that is canonical. Otherwise the attempt does without a lock that others hold, and without the list
    /// from then on.
    #[inline]
    fn lock_if_advised<'db>(&self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>, mode: Mode) {
        let Txn { locks, retrospective, .. } = txn;
        if let Some(due) = retrospective.reach(record.id()) {
            // Relaxed: a hint. What was to be inserted has left with the attempt.
            let is_there =
                |record: RecordRef<'_, Self>| record.header().tid.load(Ordering::Relaxed) & RETIRED == 0;
            let due = due.iter().map(|&(_, mode, record)| (record, mode));
            let mut all = due.filter(|(record, _)| is_there(*record)).chain([(record, mode)]);
            if !all.all(|(record, mode)| locks.lock_if_canonical(record, mode)) {
                retrospective.clear();
            }
        } else if self.is_hot(record) {
            locks.lock_if_canonical(record, mode);
        }
    }
    // ANCHOR_END: advised

    /// Whether a record can be hot.
    fn locks_what_is_hot(&self) -> bool {
        self.hot <= Temperature::MAX
    }

    #[inline]
    fn is_hot(&self, record: RecordRef<'_, Self>) -> bool {
        record.header().temperature.degrees(|| self.era()) >= self.hot
    }

    /// The number of the present era.
    fn era(&self) -> u64 {
        self.epoch.last() / ERA_EPOCHS
    }

    // ANCHOR: lock
    /// Step 1 of COMMIT. The writes are sorted in the order of locking, so no lock of the write set is given up for the
    /// next.
    #[inline]
    fn lock_write_set(&self, txn: &mut Txn<'_>) -> Result<(), Abort> {
        let Txn { sets, locks, .. } = txn;
        sets.writes.confirm_sorted(|write| {
            if self.forces_canonical {
                locks.lock(write.record, Mode::Exclusive);
            } else if !locks.lock_if_canonical(write.record, Mode::Exclusive) {
                return Err(Abort::LockBusy);
            }
            Ok(())
        })
    }
    // ANCHOR_END: lock

    /// Looks back after an abort: records that have changed are hotter from now on, and the list of the next attempt is
    /// made.
    #[cold]
    fn look_back(&self, txn: &mut Txn<'_>) {
        let Txn { sets, locks, retrospective, rng, .. } = txn;
        if self.locks_what_is_hot() {
            for (record, _) in sets.all_read().filter(|(record, seen)| !is_as_seen(sets, *record, *seen)) {
                record.header().temperature.heat(self.era(), rng);
            }
        }
        if self.has_list {
            let in_the_way = |record, seen| self.is_hot(record) || !is_as_seen(sets, record, seen);
            retrospective.look_back(sets, locks, in_the_way);
        }
    }
}

/// Whether a record is as it was read, and no other attempt is writing it.
#[inline]
fn is_as_seen<'db>(sets: &Workspace<'db, Foedus>, record: RecordRef<'db, Foedus>, seen: u64) -> bool {
    let is_own = || sets.writes.find(record).is_some() || is_planted(&plants::FOEDUS_IGNORES_WRITING);
    record.header().is_as_seen(seen, is_own)
}

impl Txn<'_> {
    /// Step 4 of COMMIT.
    #[inline]
    fn verify(&self) -> Result<(), Abort> {
        let sets = &self.sets;
        let is_same = |&(record, seen): &_| is_as_seen(sets, record, seen);
        if !is_planted(&plants::FOEDUS_SKIPS_READS) && !sets.reads.iter().all(is_same) {
            return Err(Abort::ReadChanged);
        }
        let skips = is_planted(&plants::FOEDUS_SKIPS_PAGES);
        if skips || sets.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) }
    }
}
