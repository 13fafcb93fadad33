//! Bamboo: two-phase locking that releases locks before the commit (Guo, Wu, Yan, Yu, SIGMOD 2021).
//!
//! IDEA        `WOUND_WAIT` with one change: a reader gives its lock up, or *retires*, when it has read, and a writer
//!             when it has written for the last time, as far as this is known. Later transactions see the value that
//!             is not committed yet, and commit after its writer has, or abort with it. So locks of a hot record that
//!             is written first in long transactions follow each other at the distance of the writes, and not of the
//!             commits.
//! RECORD      The word of `parts::LockQueues`, whose bit for the value is about the committed one. Its
//!             requests are those of `early_locks::EarlyLocks`: first the retired ones, then the one owner, then
//!             the waiting ones. The values of writers that have retired are undecided versions, the newest of the
//!             chain, in the order of the ring; below them is the committed version, and nothing below that. A
//!             `VersionStamp` is 0 once it is committed.
//! COMMIT      1. Wait until the semaphore is zero: all attempts before it in conflict have ended. An attempt that
//!             has to wait first retires what it has kept to itself. 2. From here on nobody is put before it. 3.
//!             Fence; check that each leaf read has its gap version. 4. Turn the fate to decided: an attempt that was
//!             wounded before aborts, and nobody is wounded after. 5. Of each record, make the version the committed
//!             one, drop the versions below it and take the request out of the ring, which may make others'
//!             semaphores zero.
//! INVARIANTS  Those of `EarlyLocks` and `EarlyAccesses`, and
//!             (1) Of two attempts in conflict over a record that commit, the second is at step 2 after the first is
//!                 at step 5. So step 3 is a physical instant by which all are ordered, and keys that enter leaves
//!                 are compared as under two-phase locking: a key that is added before another attempt's step 3 is
//!                 seen there, and an attempt that adds it after that is later itself.
//!             (2) An attempt that is cut out of a ring is wounded first, and neither commits nor is believed: not in
//!                 a rollback either, which is believed at step 3 if the attempt is not wounded by then.
//!             (3) Waits, at step 1 too, go from young to old, or to a decided attempt, which waits for nobody.
//! DEPARTURES  The paper writes in place and keeps the values before in the lists. Here they are versions, because
//!             storage lends what others may overwrite only as copies that may be torn: to abort is then to drop
//!             versions, for which no value in another attempt's private buffer is needed. So the attempt that wounds
//!             cuts the wounded attempt out of the ring itself, with all behind it, and does not wait for them. The
//!             program does not tell that a write was the last: an attempt retires what it has written when it goes on
//!             to the next access, and takes it back if it writes the record again, for which those that have seen it
//!             are wounded. The part of a transaction in which it does not retire is told from the mean number of
//!             accesses of its session's commits. Reads retire under `bamboo.retire=off`, too: writers wait for readers
//!             at the commit alone. Leaves are compared, where the paper says nothing of phantoms. As in the paper, an
//!             attempt has no timestamp before its first conflict: of the attempts that meet, those in the ring draw
//!             theirs first, in its order. But after `bamboo.dynamic_attempts` attempts, a transaction has the
//!             timestamp of its birth, so that the oldest ends. A wounded transaction waits a little before it begins
//!             again (`bamboo.respect_us`): see `wound_wait`. One that aborts only because another does begins at once.

pub mod early_accesses;
pub mod early_locks;
pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, Admits, End, Env, Family, Info, Isolation, LeafSet, Observer, Retire, Scheme, Sink, Stamp, Ticket,
    Write, settings,
};
use parts::version_chain::{VersionStamp, words_of};
use parts::{LockMode as Mode, LockWord, Party};
use storage::{Pending, RecordRef, Shape, Slot, Versioned};
use sync::atomic::{Ordering, fence};
use sync::plant::is_planted;
use sync::waiter;

use self::early_accesses::EarlyAccesses;
use self::early_locks::EarlyLocks;
use crate::frames::two_phase::room_for;

settings! {
    /// The settings of the scheme.
    pub struct Settings of "bamboo" {
        /// `on` shows what was written before the commit, which pays where a hot record is written early in long
        /// transactions; `off` keeps it, as `wound_wait` does.
        retire: bool {
            default: "on",
            stresses: "waits for hot records against cascading aborts",
        },
        /// The last part of a transaction in which nothing is shown before the commit, by the mean number of accesses
        /// of the session: what is about to commit gains little, and may abort others.
        delta_pct: u64 {
            default: "15",
            range: Range::Int(0, 100),
            unit: "%",
            stresses: "cascading aborts against waits",
        },
        /// `on` puts a reader before younger writers who have not committed, to read what was there before them; `off`
        /// wounds them, as published for the plain form.
        read_preimage: bool {
            default: "on",
            stresses: "aborts of writers against waits of writers for readers",
        },
        /// How long a wounded transaction waits at most, before it begins again, for the end of the one that wounded
        /// it; 0 begins at once, as published, to go on behind what the older has shown.
        respect_us: u64 {
            default: "200",
            range: Range::Int(0, 1_000_000),
            unit: "us",
            stresses: "work done again in vain against idle clients",
        },
        /// The first attempts of a transaction have no timestamp until they meet a conflict, as published; from this
        /// number of attempts on, the timestamp is that of the transaction's birth, so that the oldest ends. 0 gives
        /// all attempts that of the birth.
        dynamic_attempts: u32 {
            default: "10",
            range: Range::Int(0, 1_000_000),
            stresses: "wounds of those who came first against transactions that try many times",
        },
    }
}

/// The bits after the point of the mean number of accesses; and the part of the mean that each commit replaces.
const MEAN_SHIFT: u32 = 8;
const MEAN_PART: u64 = 8;

/// The state that all transactions share.
#[derive(Debug)]
pub struct Bamboo {
    locks: EarlyLocks,
    /// Whether writers retire.
    retires: bool,
    /// Per cent of a transaction's accesses, counted from its end, in which writers do not retire.
    delta_pct: u64,
    /// Whether readers are put before younger writers.
    reads_past: bool,
    respect_ns: u64,
    /// The number of attempts of a transaction that draw their ranks.
    dynamic_attempts: u32,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Bamboo>,
    accesses: EarlyAccesses<'db, Bamboo>,
    leaves: LeafSet<'db, ()>,
    /// The position of the last write, which is kept open for further writes of its record.
    open: Option<usize>,
    /// The mean number of accesses of commits, a fixed-point number; 0 before the first.
    mean: u64,
}

impl Shape for Bamboo {
    type Header = LockWord;
    type Version = VersionStamp;
    type Leaf = ();
    type Data = Versioned;
}

impl Scheme for Bamboo {
    const INFO: Info = Info {
        name: "bamboo",
        title: "Bamboo",
        paper: "Guo, Wu, Yan, Yu: Releasing locks as early as you can: Reducing contention of hotspots by violating \
                two-phase locking, SIGMOD 2021",
        family: Family::Locking,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Unconfirmed,
        idea: "wounds and waits, but shows what it has written before it commits; who has seen that commits after it, \
               or aborts with it",
    };
    type Settings = Settings;
    const WAITS: bool = true;
    const UPGRADES: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        room_for(env)?;
        Ok(Self {
            locks: EarlyLocks::new(env.slots),
            retires: settings.retire,
            delta_pct: settings.delta_pct,
            reads_past: settings.read_preimage,
            respect_ns: settings.respect_us * 1_000,
            dynamic_attempts: settings.dynamic_attempts,
        })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        let accesses = EarlyAccesses::new(&self.locks, &slot);
        Txn { slot, accesses, leaves: LeafSet::default(), open: None, mean: 0 }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    /// The first version has number 0: it is committed.
    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().load();
    }

    #[inline]
    fn await_others<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) {
        if ticket.retries > 0 {
            self.locks.fates().respect(txn.accesses.slot(), self.respect_ns);
        }
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        let draws = ticket.retries < self.dynamic_attempts;
        let rank = if draws { 0 } else { ticket.birth };
        self.locks.fates().begin(Party { rank, slot: txn.accesses.slot() }, ticket.birth);
        Ok(())
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        let position = self.lock(txn, record, Mode::Shared)?;
        Ok(txn.accesses.value(&txn.slot, position))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let position = self.lock(txn, record, Mode::Exclusive)?;
        if txn.accesses.value(&txn.slot, position).is_none() {
            txn.accesses.downgrade(position);
            return Ok(None);
        }
        txn.open(position, how).map(|pending| Some(pending.words()))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let position = self.lock(txn, record, Mode::Exclusive)?;
        if txn.accesses.value(&txn.slot, position).is_some() {
            txn.accesses.downgrade(position);
            return Ok(None);
        }
        let pending = txn.open(position, Write::Blind)?;
        pending.version().meta().set_tombstone(false);
        Ok(Some(pending.words()))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let position = self.lock(txn, record, Mode::Exclusive)?;
        if txn.accesses.value(&txn.slot, position).is_none() {
            txn.accesses.downgrade(position);
            return Ok(false);
        }
        let pending = txn.open(position, Write::Blind)?;
        pending.version().meta().set_tombstone(true);
        Ok(true)
    }

    #[inline]
    fn leaves<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<&'t mut LeafSet<'db, ()>> {
        Some(&mut txn.leaves)
    }

    // ANCHOR: commit
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if !is_planted(&plants::BAMBOO_COMMITS_UNAWAITED) {
            self.wait_for_all_before(txn, end)?; // 1, 2
        }
        if !txn.leaves.is_empty() {
            // SeqCst fence: pairs with the same fence of other attempts. Of two that each add a key to a gap
            // which the other has read, and then look at what they read, at least one sees the other's key. 3
            fence(Ordering::SeqCst);
            if !txn.leaves.is_unchanged() && !is_planted(&plants::BAMBOO_SKIPS_LEAVES) {
                return Err(Abort::Phantom);
            }
        }
        let (fates, slot) = (self.locks.fates(), txn.accesses.slot());
        if is_planted(&plants::BAMBOO_COMMITS_UNAWAITED) || is_planted(&plants::BAMBOO_COMMITS_WOUNDED) {
            return Ok(());
        }
        if end == End::Commit {
            return fates.decide(slot); // 4
        }
        fates.ends(slot);
        fates.look(slot)
    }
    // ANCHOR_END: commit

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(0);
        for position in 0..txn.accesses.len() {
            txn.accesses.install(&mut txn.slot, position, stamp, sink, seen); // 5
        }
        txn.learn_length();
        txn.forget();
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        // Backwards: while a later column group of a row that was inserted is locked, so is the first.
        for position in (0..txn.accesses.len()).rev() {
            txn.accesses.undo(&mut txn.slot, position);
        }
        txn.forget();
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        record.header().retire()
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        words_of(&txn.slot, txn.slot.newest(record))
    }
}

impl Bamboo {
    /// Locks a record unless it is locked as strongly already, and gives its position.
    #[inline]
    fn lock<'db>(
        &'db self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        mode: Mode,
    ) -> Result<usize, Abort> {
        self.locks.fates().look(txn.accesses.slot())?;
        let known = txn.accesses.find(record);
        if txn.open.is_some_and(|open| Some(open) != known) {
            self.close(txn)?;
        }
        let Some(position) = known else {
            return txn.accesses.lock(&mut txn.slot, record, mode, self.reads_past);
        };
        if mode == Mode::Exclusive {
            txn.accesses.upgrade(&mut txn.slot, position)?;
        }
        Ok(position)
    }

    /// Closes the last write because the attempt goes on to another record: the write retires, unless the end is
    /// near.
    #[inline]
    fn close<'db>(&'db self, txn: &mut Txn<'db>) -> Result<(), Abort> {
        let Some(position) = txn.open.take() else { return Ok(()) };
        // Beyond the mean, too, the end is near; unless there is no last part.
        let is_past = ((position as u64 + 1) << MEAN_SHIFT) * 100 > txn.mean * (100 - self.delta_pct);
        let is_near = is_past && txn.mean > 0 && self.delta_pct > 0;
        if !self.retires || is_near {
            return Ok(());
        }
        txn.accesses.retire(&txn.slot, position)
    }

    /// Steps 1 and 2 of COMMIT.
    #[inline]
    fn wait_for_all_before<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        let (fates, slot) = (self.locks.fates(), txn.accesses.slot());
        if self.retires && end == End::Commit && !fates.has_semaphore_at_zero(slot) {
            for position in 0..txn.accesses.len() {
                if txn.accesses.is_kept(position) {
                    txn.accesses.retire(&txn.slot, position)?;
                }
            }
        }
        loop {
            let may_go_on = || fates.has_semaphore_at_zero(slot) || fates.look(slot).is_err();
            if !waiter::wait_until(None, may_go_on) {
                return Err(Abort::Stopped);
            }
            match fates.close(slot) {
                Ok(false) => {}
                Err(_) if is_planted(&plants::BAMBOO_COMMITS_WOUNDED) => return Ok(()),
                closed => return closed.map(|_| ()),
            }
        }
    }
}

impl<'db> Txn<'db> {
    /// The version to be written, of a record that was locked for the write.
    #[inline]
    fn open(&mut self, position: usize, how: Write) -> Result<&mut Pending<'db, Bamboo>, Abort> {
        self.open = Some(position);
        self.accesses.open(&mut self.slot, position, how)
    }

    /// Learns from a commit how many accesses a transaction has.
    #[inline]
    fn learn_length(&mut self) {
        let length = (self.accesses.len() as u64) << MEAN_SHIFT;
        self.mean =
            if self.mean == 0 { length } else { self.mean - self.mean / MEAN_PART + length / MEAN_PART };
    }

    /// Forgets the accesses of an attempt that is out of all rings.
    #[inline]
    fn forget(&mut self) {
        self.accesses.forget(&mut self.slot);
        self.leaves.clear();
        self.open = None;
    }
}
