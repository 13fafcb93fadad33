//! MV2PL: two-phase locking over versions, with snapshots for read-only transactions (Bayer, Heller, Reiser, TODS 1980;
//! Chan, Fox, Lin, Nori, Ries, SIGMOD 1982; in memory: Wu, Arulraj, Lin, Xian, Pavlo, VLDB 2017).
//!
//! IDEA        An attempt that may write locks its reads and writes, and keeps the locks to the end, but makes a new
//!             version of what it writes and leaves the old one to be read. An attempt that is declared read-only takes
//!             no lock at all. It reads a snapshot, of each record the newest version that is not later; it neither
//!             waits for a writer nor aborts, nor keeps anybody from writing. Writers are numbered while they hold all
//!             their locks, so that the order of numbers is one in which they could have run.
//! RECORD      A lock word, which is held exclusively or counts shared locks, and `ChainHead`: only whether the record
//!             is retired. `VersionStamp`: the number of the writer's commit.
//! COMMIT      1. All locks are held: the lock point.
//!             2. Draw the commit number; until the commit is over, snapshots stay below it.
//!             3. Check that each leaf read has its gap version.
//!             4. Put each version on the new end of its chain, give up those before it that nobody needs, seal it.
//!             5. The commit is over: snapshots may show it.
//!             6. Unlock; give up what earlier commits had to leave and nobody needs any more.
//! INVARIANTS  (1) An exclusive lock excludes every other lock of the record, an attempt has at most one, in its
//!                 strongest mode, and a lock is given up only when the number of its holder is drawn (`lock`): of two
//!                 that conflict, the later has the greater number.
//!             (2) A key that enters a gap which an attempt has read, and found unchanged after drawing a number,
//!                 belongs to a commit with a greater number: so the order of numbers holds for gaps, too, and a
//!                 snapshot that shows the key shows the attempt that missed it (`precommit`: 2 before 3).
//!             (3) All commits up to the watermark of `commits` are over, and a snapshot is never above it, so it shows
//!                 all of a commit or nothing (`begin`).
//!             (4) Everything that snapshots have yet to show stays: versions, rows that were deleted and secondary
//!                 keys that were given up stay until the watermark of `snapshots` has reached the number of the commit
//!                 that took them away (`is_past`).
//! DEPARTURES  The papers let a reader see what had been committed when it began. Here the number of the last commit is
//!             looked up then, and the reader waits until commits with that or a smaller number are over: mostly a few
//!             instructions, longer if a worker that commits has lost its core. Under `mv2pl.snapshots=stale` it waits
//!             for none; the snapshot is that of a moment ago, and the promise is serializable only. Certification, by
//!             which Bayer and others let a reader of the old version go on beside a writer, is left to the snapshots:
//!             an attempt that may write waits for nobody, or for at most the time that `mv2pl.wait_us` says, then
//!             aborts; it looks at a lock `mv2pl.spin` times more before that. Gaps have no locks: they are compared,
//!             as under two-phase locking. Wu and others keep the lock in the newest version; it stands before the
//!             chain here, so that a record without a version can be locked, too.

pub mod entry;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use engine::driver::PerWorker;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, AccessSet, Admits, End, Env, Facts, Family, Info, Isolation, LeafSet, Observer, Retire, Scheme,
    Sink, Stamp, Ticket, Write, settings, words,
};
use parts::canonical_locks::{LockWord, Mode};
use parts::version_chain::{
    ChainHead, Headed, VersionStamp, below, cut, is_absent, leaving, retire, settle, words_of,
};
use parts::{PendingWrites, Timestamps, value_before};
use storage::{Meta, RecordRef, Shape, Slot, Versioned};
use sync::plant::is_planted;
use sync::{clock, hint, waiter};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "mv2pl" {
        /// `fresh` shows those who only read all that was committed when they began; `stale` the state of a moment ago,
        /// without a look at who is committing, and promises serializable, not strictly so.
        snapshots: Snapshots {
            default: "fresh",
            stresses: "what transactions that only read cost to begin",
        },
        /// How long an attempt that may write waits for a lock before it aborts; 0 is to abort at once, and what is
        /// longer also ends deadlocks.
        wait_us: u64 {
            default: "0",
            range: Range::Int(0, 10_000_000),
            unit: "us",
            stresses: "the choice between blocking and aborting on records that are written often",
        },
        /// How often a conflicting lock is looked at again before the attempt aborts or waits; pays while locks are
        /// held briefly by transactions that run.
        spin: u64 {
            default: "64",
            range: Range::Int(0, 1_000_000),
            unit: "looks",
            stresses: "aborts against time spent waiting for locks",
        },
    }
}

words! {
    /// The state that transactions see which only read.
    pub enum Snapshots {
        /// All that was committed when they began.
        Fresh = "fresh",
        /// The state of a moment ago.
        Stale = "stale",
    }
}

/// The state that all transactions share: the sources of commit numbers and of snapshots.
#[derive(Debug)]
pub struct Mv2pl {
    /// Commit numbers. An attempt that draws one, and installs under it, holds the watermark below it.
    commits: Timestamps,
    /// Snapshots. The newest is the watermark of `commits` as it was last seen.
    snapshots: Timestamps,
    is_fresh: bool,
    wait_ns: u64,
    spin: u64,
}

/// A record's header.
#[derive(Debug, Default)]
pub struct Header {
    lock: LockWord,
    chain: ChainHead,
}

impl Meta for Header {
    /// Attempts that could have locked the record have ended, and unlocked it, before it is used again.
    fn reset(&self) {
        self.chain.reset();
    }
}

impl Headed for Header {
    #[inline]
    fn chain(&self) -> &ChainHead {
        &self.chain
    }
}

/// A lock held.
#[derive(Debug)]
struct Lock<'db> {
    record: RecordRef<'db, Mv2pl>,
    mode: Mode,
    /// The place of the attempt's version of the record among its writes, if it has one.
    own: Option<usize>,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, Mv2pl>,
    /// The snapshot of an attempt that only reads.
    snapshot: Option<u64>,
    /// The number of its commit, or of its snapshot, or of the last commit before it.
    number: u64,
    /// Whether it holds the watermark of commits.
    is_committing: bool,
    locks: AccessSet<Lock<'db>>,
    leaves: LeafSet<'db, ()>,
    writes: PendingWrites<'db, Mv2pl>,
    /// See [`Timestamps::watermark`]: of commits, and of snapshots.
    watermark_ages: [usize; 2],
}

impl Shape for Mv2pl {
    type Header = Header;
    type Version = VersionStamp;
    type Leaf = ();
    type Data = Versioned;
}

impl Scheme for Mv2pl {
    const INFO: Info = Info {
        name: "mv2pl",
        title: "MV2PL",
        paper: "Bayer, Heller, Reiser: Parallelism and recovery in database systems, TODS 1980",
        family: Family::MultiVersion,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Confirmed,
        idea: "who may write locks what it touches and makes versions; who only reads sees a snapshot without a lock",
    };
    type Settings = Settings;
    const UPGRADES: bool = true;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self {
            commits: Timestamps::new(env.slots),
            snapshots: Timestamps::new(env.slots),
            is_fresh: settings.snapshots == Snapshots::Fresh,
            wait_ns: settings.wait_us * 1_000,
            spin: settings.spin,
        })
    }

    fn facts(settings: &Settings) -> Facts {
        let fresh = Facts::of(&Self::INFO);
        if settings.snapshots == Snapshots::Fresh {
            fresh
        } else {
            Facts { isolation: Isolation::Serializable, ..fresh }
        }
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        let watermark_ages = [&self.commits, &self.snapshots].map(|of| of.first_age(slot.id()));
        Txn {
            slot,
            snapshot: None,
            number: 0,
            is_committing: false,
            locks: AccessSet::default(),
            leaves: LeafSet::default(),
            writes: PendingWrites::default(),
            watermark_ages,
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    /// The first version has number 0, which every snapshot shows.
    fn loaded(&self, _: RecordRef<'_, Self>) {}

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        txn.snapshot = ticket.read_only.then(|| self.snapshot(txn.slot.id(), ticket));
        Ok(())
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        let seen = if let Some(snapshot) = txn.snapshot {
            below(&txn.slot, record, |version| version.meta().number() > snapshot)
        } else {
            let at = self.lock(txn, record, Mode::Shared)?;
            if let Some(own) = txn.locks.get(at).own {
                return Ok(txn.writes.value(own));
            }
            txn.slot.newest(record)
        };
        Ok(words_of(&txn.slot, seen))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let at = self.lock(txn, record, Mode::Exclusive)?;
        Ok(match txn.locks.get(at).own {
            Some(own) => txn.writes.words(own),
            None => txn.make(at, true, how).and_then(|own| txn.writes.words(own)),
        })
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let at = self.lock(txn, record, Mode::Exclusive)?;
        Ok(match txn.locks.get(at).own {
            Some(own) => txn.writes.insert(own),
            None => txn.make(at, false, Write::Blind).and_then(|own| txn.writes.words(own)),
        })
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let at = self.lock(txn, record, Mode::Exclusive)?;
        let own = txn.locks.get(at).own.or_else(|| txn.make(at, true, Write::Blind));
        Ok(own.is_some_and(|own| txn.writes.delete(own)))
    }

    #[inline]
    fn leaves<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> Option<&'t mut LeafSet<'db, ()>> {
        txn.snapshot.is_none().then_some(&mut txn.leaves)
    }

    // ANCHOR: commit
    /// A rollback, too, ends at a lock point: what it read was consistent if no gap has changed.
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if let Some(snapshot) = txn.snapshot {
            txn.number = snapshot;
            return Ok(());
        }
        if is_planted(&plants::MV2PL_DRAWS_LATE) && !txn.leaves.is_unchanged() {
            return Err(Abort::Phantom);
        }
        // 1: nothing is left to lock.
        if end == End::Commit && !txn.writes.is_empty() {
            self.commits.hold(txn.slot.id());
            txn.is_committing = true;
            txn.number = self.commits.draw(); // 2
        } else {
            txn.number = self.commits.last();
        }
        // The keys of attempts with smaller numbers are in, as the look at the counter tells. 3: invariant (2).
        let skips = is_planted(&plants::MV2PL_SKIPS_LEAVES) || is_planted(&plants::MV2PL_DRAWS_LATE);
        if skips || txn.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) }
    }
    // ANCHOR_END: commit

    // ANCHOR: install
    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(txn.number);
        if txn.snapshot.is_some() {
            self.snapshots.leave(txn.slot.id());
        } else if !txn.is_committing {
            txn.unlock(); // 6
        } else {
            if is_planted(&plants::MV2PL_ENDS_EARLY) {
                self.commits.leave(txn.slot.id());
            }
            txn.put();
            let watermark = self.snapshots.known_watermark();
            for (record, pending) in txn.writes.drain() {
                let version = pending.version();
                let value = (!version.meta().is_tombstone()).then(|| pending.value());
                seen.installed(record, value_before(&txn.slot, version), value);
                sink.logged(stamp, record, value);
                cut(&mut txn.slot, record, &pending, txn.number, watermark); // 4
                pending.seal(); // 4
            }
            txn.is_committing = false;
            self.commits.leave(txn.slot.id()); // 5
            txn.unlock(); // 6
            let [commits, snapshots] = &mut txn.watermark_ages;
            self.snapshots.raise(self.commits.watermark(commits));
            self.snapshots.watermark(snapshots);
        }
        settle(&mut txn.slot, || self.snapshots.known_watermark()); // 6
        stamp
    }
    // ANCHOR_END: install

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        txn.writes.undo(&mut txn.slot);
        if txn.snapshot.is_some() {
            self.snapshots.leave(txn.slot.id());
        } else if core::mem::take(&mut txn.is_committing) {
            self.commits.leave(txn.slot.id());
        }
        txn.unlock();
        settle(&mut txn.slot, || self.snapshots.known_watermark());
    }

    fn maintain(&self, _: usize) {
        self.advance();
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        let lock = &record.header().lock;
        if !lock.try_lock(Mode::Exclusive) {
            return Retire::Later;
        }
        let (verdict, _) = retire(record, |number| self.is_past(number));
        lock.unlock(Mode::Exclusive);
        verdict
    }

    /// A snapshot may show a version that has the key.
    fn leaving(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        leaving(record, |number| self.is_past(number))
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        words_of(&txn.slot, txn.slot.newest(record))
    }
}

impl Mv2pl {
    // ANCHOR: snapshot
    /// Makes a slot read the newest snapshot: invariant (3).
    #[inline]
    fn snapshot(&self, slot: usize, ticket: &Ticket) -> u64 {
        if is_planted(&plants::MV2PL_SHOWS_UNFINISHED) {
            self.snapshots.raise(self.commits.last());
        } else if (self.is_fresh || ticket.is_fresh) && !is_planted(&plants::MV2PL_SHOWS_STALE) {
            let last = self.commits.last();
            if self.commits.known_watermark() < last {
                waiter::wait_until(None, || self.commits.refresh() >= last);
            }
            self.snapshots.raise(self.commits.known_watermark());
        }
        self.snapshots.snapshot(slot)
    }
    // ANCHOR_END: snapshot

    /// Makes the newest snapshot as new as possible. Returns a number that every snapshot shows, now and later.
    fn advance(&self) -> u64 {
        self.snapshots.raise(self.commits.refresh());
        self.snapshots.refresh()
    }

    /// Whether every snapshot shows a commit, now and later: invariant (4).
    fn is_past(&self, number: u64) -> bool {
        let is_known = number <= self.snapshots.known_watermark();
        is_known || number <= self.advance() || is_planted(&plants::MV2PL_FORGETS_SNAPSHOTS)
    }

    /// Locks a record unless it is locked as strongly already, and gives the lock's position: invariant (1).
    #[inline]
    fn lock<'db>(
        &self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        mode: Mode,
    ) -> Result<usize, Abort> {
        assert!(txn.snapshot.is_none(), "a procedure that is declared read-only writes nothing");
        let header = record.header();
        if let Some(at) = txn.locks.find(record.id()) {
            let lock = txn.locks.get_mut(at);
            if lock.mode < mode {
                // Two attempts that each wait for the other to stop sharing would wait in vain, so nobody waits.
                let is_given_up = lock.is_given_up();
                let take = || if is_given_up { header.lock.try_lock(mode) } else { header.lock.upgrade() };
                if !self.spin(take) {
                    return Err(Abort::LockBusy);
                }
                lock.mode = mode;
            }
            return Ok(at);
        }
        if !self.spin(|| header.lock.try_lock(mode)) {
            self.wait(&header.lock, mode)?;
        }
        // An attempt that retires a record locks it meanwhile, so the record is not retired any more before this one
        // unlocks it.
        let (lock, is_retired) = (Lock { record, mode, own: None }, header.chain.is_retired());
        if is_retired || lock.is_given_up() {
            header.lock.unlock(mode);
        }
        if is_retired { Err(Abort::ReadChanged) } else { Ok(txn.locks.push(record.id(), lock)) }
    }

    /// Tries to get a lock a few times.
    #[inline]
    fn spin(&self, take: impl Fn() -> bool) -> bool {
        let mut looks = 0..self.spin;
        while !take() {
            // On a fiber the holder of the lock may be another attempt of this worker, which cannot go on while this
            // one looks.
            if waiter::in_fiber() || looks.next().is_none() {
                return false;
            }
            hint::spin_loop();
        }
        true
    }

    /// Waits for a lock as long as the setting allows.
    #[cold]
    fn wait(&self, lock: &LockWord, mode: Mode) -> Result<(), Abort> {
        if self.wait_ns == 0 {
            return Err(Abort::LockBusy);
        }
        let deadline_ns = clock::now_ns().saturating_add(self.wait_ns);
        while waiter::wait_until(Some(deadline_ns), || lock.admits(mode)) {
            if lock.try_lock(mode) {
                return Ok(());
            }
        }
        Err(Abort::Timeout)
    }
}

impl Lock<'_> {
    /// Whether a bug is planted that gives a shared lock up as soon as the record is read.
    #[inline]
    fn is_given_up(&self) -> bool {
        self.mode == Mode::Shared && is_planted(&plants::MV2PL_UNLOCKS_READS)
    }
}

impl Txn<'_> {
    /// Makes a private version of a record that is locked exclusively. The record must have a value if `has_value` is
    /// true, and none otherwise. Returns the version's place among the writes; `None` if the record is not so.
    #[inline]
    fn make(&mut self, at: usize, has_value: bool, how: Write) -> Option<usize> {
        let lock = self.locks.get_mut(at);
        let over = self.slot.newest(lock.record);
        if is_absent(over) == has_value {
            return None;
        }
        lock.own = Some(self.writes.keep(&mut self.slot, lock.record, over, how));
        lock.own
    }

    /// Puts the versions on their chains.
    #[inline]
    fn put(&mut self) {
        for lock in self.locks.iter() {
            let Some(own) = lock.own else { continue };
            // Nobody else writes, but another slot that brings the record down to one version may move that version.
            let newest = || self.slot.newest(lock.record);
            while self.writes.put(own, newest(), self.number, || Ok(())) == Ok(false) {}
        }
    }

    /// Gives all locks up.
    #[inline]
    fn unlock(&mut self) {
        for lock in self.locks.iter().filter(|lock| !lock.is_given_up()) {
            lock.record.header().lock.unlock(lock.mode);
        }
        self.locks.clear();
        self.leaves.clear();
    }
}
