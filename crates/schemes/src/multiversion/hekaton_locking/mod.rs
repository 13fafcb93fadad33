//! Hekaton with locks: pessimistic multi-version concurrency control (Larson, Blanas, Diaconu, Freedman, Patel,
//! Zwilling, PVLDB 2011: its scheme MV/L).
//!
//! IDEA        An attempt locks what it reads, always the latest version, so that there is nothing to validate. A lock
//!             keeps nobody from writing: a writer puts its version on top of the version that others have locked, and
//!             goes on. It only may not end before them. So it waits once, at its end, for all that have read what it
//!             overwrites, or the gaps into which it put keys. Then it draws its end number, and an attempt that reads
//!             it from there on depends on its commit.
//! RECORD      `ChainHead`: the read locks of the latest version (`parts`, `read_locks`), and whether the
//!             record is retired. `VersionStamp`: as in `hekaton`. The write lock is the undecided version on top of
//!             the chain. Each leaf lists the attempts that have locked its gaps (`LeafLocks`).
//! COMMIT      1. Wait until all attempts have ended that had locked leaves into which this one put keys; then, for
//!                each record written, until nobody has a read lock, and none is given (`NoMoreReadLocks`). Of attempts
//!                that wait for each other one aborts.
//!             2. Mark every version: the number will be drawn after this. Draw the end number: the serialization
//!                point.
//!             3. Give the versions the number, as not yet certain, and open their records.
//!             4. Give up the locks. An attempt that writes nothing takes effect here, after the last number drawn.
//!             5. Wait for the commits on which this commit depends. None of them fails, since nothing is left that can
//!                fail, but this commit may not be logged, or heard of, before them.
//!             6. Make the numbers certain.
//! INVARIANTS  (1) From the time when a record is locked to the time when the lock is given up nobody draws a number
//!                 with which it writes the record, so the version that was read is the latest one at the end of its
//!                 reader.
//!             (2) The same holds for gaps: an attempt that adds a key finds all that have locked its leaf, and one
//!                 that reads the leaf later finds the key, and locks its record. A record takes over the holders of
//!                 the leaf's locks when it enters, since another attempt may give it a value than the one that put it
//!                 there (`entering`).
//!             (3) An attempt that waits in step 1 has not drawn a number, and no attempt that draws one, or waits for
//!                 those that have, hopes for a lock. So waits form circles of step 1 alone, and the graph shows those:
//!                 an attempt that waits announces for which holders of leaves it waits, and tells those that wait for
//!                 its own locks that they do.
//!             (4) Versions grow only at the new end, in the order of end numbers, the newest alone undecided or
//!                 uncertain (asserted in `PendingWrites::push`; `put` lets nobody write over such a one).
//!             (5) Numbers and marks are in the order that `parts::speculation` has. A record opens before
//!                 anybody can write over its version, and, if the version is taken back, before that.
//! DEPARTURES  The paper counts wait-for dependencies in transaction objects (`WaitForCounter`, `WaitingTxnList`,
//!             `NoMoreWaitFors`), and locks versions in their end fields; here a writer looks at the records that it
//!             has written, so no counter is counted down. There a version that is being written is closed to readers
//!             once it has lost its last reader, and before that they may join those for whom a writer waits. Here
//!             readers come and go until the writer comes to its end, and are aborted from then on: of attempts that
//!             are deadlocked, aborted and tried again, one would always have joined. A scan locks a record that it
//!             finds undecided like any other record. Leaves stand for hash buckets. Attempts that wait look for
//!             deadlocks, and not a thread; the youngest is the victim. Declared readers read as of their begin without
//!             locks. As under `hekaton`, a version ends where the next on its chain begins, dependents look at the
//!             versions that they have read and are not told, and no version is written over while its writer is
//!             uncertain. The paper's other isolation levels are left out.

pub mod entry;
pub mod leaf_locks;
pub mod plants;
#[cfg(all(test, feature = "tests", not(loom)))]
mod tests;

use core::cmp::Reverse;

use engine::driver::PerWorker;
use engine::setting::{Range, SettingError};
use engine::{
    Abort, AccessSet, Admits, End, Env, Family, Info, Isolation, Observer, Retire, Scheme, Sink, Stamp,
    Ticket, Write, settings,
};
use parts::speculation::{self, CommitDependencies, Uncertain, Writer, wait_for_end};
use parts::version_chain::{ChainHead, VersionStamp, is_absent, leaving, settle, words_of};
use parts::wait_graph::{Seeker, WaitGraph, Weight};
use parts::{NotLocked, Party, PendingWrites, Timestamps};
use storage::{LeafRef, RecordRef, Shape, Slot, Versioned};
use sync::plant::is_planted;
use sync::{clock, waiter};

use self::leaf_locks::{LeafHolders, LeafLocks};

settings! {
    /// The settings of the scheme.
    pub struct Settings of "hekaton_locking" {
        /// `on` reads versions whose writer has its end number and is not certain yet, and waits for it at the own
        /// commit; `off` waits at the read.
        speculation: bool {
            default: "on",
            stresses: "the choice between waits at the read and waits at the commit on records that are written often",
        },
        /// How long an attempt waits at its end before it says who waits for whom and looks for a deadlock, and before
        /// it does so again, for those who began to wait later; a longer one lets deadlocks last.
        period_us: u64 {
            default: "2",
            range: Range::Int(1, 1_000_000),
            unit: "us",
            stresses: "the cost of looking for deadlocks against the time that they last",
        },
    }
}

/// The state that all transactions share: the source of numbers, the holders of leaf locks, and the graph of waits.
#[derive(Debug)]
pub struct HekatonLocking {
    numbers: Timestamps,
    holders: LeafHolders,
    graph: WaitGraph,
    /// Whether uncertain versions are read at once, and not waited for.
    speculates: bool,
    period_ns: u64,
}

/// A record that was locked to be read.
#[derive(Debug)]
struct Lock<'db> {
    record: RecordRef<'db, HekatonLocking>,
    /// False once the attempt has written the record; nobody else writes it then.
    is_held: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, HekatonLocking>,
    seeker: Seeker,
    birth: u64,
    begin: u64,
    /// The end number, or the last one drawn before the end.
    end: u64,
    /// The number of its undecided versions.
    mark: u64,
    /// Whether the attempt is declared read-only: it reads as of its begin, without locks.
    is_snapshot: bool,
    locks: AccessSet<Lock<'db>>,
    /// Whether it has locked leaves.
    has_gaps: bool,
    /// Attempts that had locked leaves to which this attempt added keys, or into which records came that it writes.
    waits_for: Vec<Party>,
    writes: PendingWrites<'db, HekatonLocking>,
    /// Whether the records that it writes may be closed to new read locks.
    has_closed: bool,
    /// Its versions once they have the end number.
    uncertain: Uncertain<'db, HekatonLocking>,
    /// The versions that were read while they were uncertain.
    dependencies: CommitDependencies<'db, HekatonLocking>,
    /// See [`Timestamps::watermark`].
    watermark_age: usize,
}

impl Shape for HekatonLocking {
    type Header = ChainHead;
    type Version = VersionStamp;
    type Leaf = LeafLocks;
    type Data = Versioned;
}

impl Scheme for HekatonLocking {
    const INFO: Info = Info {
        name: "hekaton_locking",
        title: "Hekaton MV/L",
        paper: "Larson, Blanas, Diaconu, Freedman, Patel, Zwilling: High-performance concurrency control mechanisms \
                for main-memory databases, PVLDB 2011",
        family: Family::MultiVersion,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        views: engine::Views::Unconfirmed,
        idea: "locks the latest versions that it reads, writes over what others have locked, and ends after them",
    };
    type Settings = Settings;
    const WAITS: bool = true;
    const UPGRADES: bool = true;
    const SERIAL_STAMPS: bool = true;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(settings: &Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self {
            numbers: Timestamps::new(env.slots),
            holders: LeafHolders::new(env.slots),
            graph: WaitGraph::new(env.slots),
            speculates: settings.speculation,
            period_ns: settings.period_us * 1_000,
        })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        let watermark_age = self.numbers.first_age(slot.id());
        Txn {
            seeker: self.graph.attach(slot.id()),
            mark: speculation::mark_of(slot.id()),
            slot,
            birth: 0,
            begin: 0,
            end: 0,
            is_snapshot: false,
            locks: AccessSet::default(),
            has_gaps: false,
            waits_for: Vec::new(),
            writes: PendingWrites::default(),
            has_closed: false,
            uncertain: Uncertain::default(),
            dependencies: CommitDependencies::default(),
            watermark_age,
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    /// The first version has number 0, which is before every begin.
    fn loaded(&self, _: RecordRef<'_, Self>) {}

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db>, ticket: &Ticket) -> Result<(), Abort> {
        self.graph.begin(&mut txn.seeker);
        txn.birth = ticket.birth;
        txn.is_snapshot = ticket.read_only;
        txn.waits_for.clear();
        txn.dependencies.clear();
        txn.begin = self.numbers.snapshot(txn.slot.id());
        Ok(())
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        if let Some(own) = txn.own(record) {
            return Ok(txn.writes.value(own));
        }
        let mut as_of = txn.begin;
        if !txn.is_snapshot {
            txn.lock(record)?;
            as_of = u64::MAX;
        }
        let Txn { dependencies, slot, .. } = &mut *txn;
        let version = dependencies.visible(slot, record, as_of, self.speculates);
        Ok(words_of(&txn.slot, version))
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let own = self.put(txn, record, true, how)?;
        Ok(own.and_then(|own| txn.writes.words(own)))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        if let Some(own) = txn.own(record) {
            return Ok(txn.writes.insert(own));
        }
        let own = self.put(txn, record, false, Write::Blind)?;
        Ok(own.and_then(|own| txn.writes.words(own)))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let own = self.put(txn, record, true, Write::Blind)?;
        Ok(own.is_some_and(|own| txn.writes.delete(own)))
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, LeafLocks>) -> Result<(), Abort> {
        // A key that enters later leads to versions that are not seen as of the begin.
        if !txn.is_snapshot {
            leaf.meta().lock(txn.seeker.me(), &self.holders);
            txn.has_gaps = true;
        }
        Ok(())
    }

    #[inline]
    fn adding<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, LeafLocks>) -> Result<(), Abort> {
        let Txn { waits_for, seeker, .. } = txn;
        leaf.meta().for_each(&self.holders, |party| note(waits_for, seeker.me(), party));
        Ok(())
    }

    fn entering(&self, record: RecordRef<'_, Self>, leaf: &LeafLocks) -> Result<(), Abort> {
        self.holders.inherit(record.id(), record.header(), leaf);
        Ok(())
    }

    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, end: End) -> Result<(), Abort> {
        if end == End::Commit && !txn.writes.is_empty() {
            if is_planted(&plants::HEKATON_LOCKING_UNLOCKS_EARLY) {
                txn.unlock(&self.holders);
            }
            self.await_readers(txn)?; // 1
            let Txn { uncertain, slot, writes, watermark_age, .. } = &mut *txn;
            txn.end = uncertain.draw(slot, writes, &self.numbers, watermark_age); // 2, 3
            txn.uncertain.records().for_each(|record| record.header().reopen());
            txn.has_closed = false;
        } else {
            txn.end = self.numbers.last();
        }
        txn.unlock(&self.holders); // 4
        txn.dependencies.wait() // 5
    }

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        txn.uncertain.commit(&txn.slot, txn.end, sink, seen); // 6
        self.numbers.leave(txn.slot.id());
        settle(&mut txn.slot, || self.numbers.known_watermark());
        Stamp(if txn.is_snapshot { txn.begin } else { txn.end })
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        if txn.has_closed {
            txn.writes.versions().for_each(|(record, _)| record.header().reopen());
            txn.has_closed = false;
        }
        txn.writes.undo(&mut txn.slot);
        txn.uncertain.fail(&mut txn.slot);
        txn.unlock(&self.holders);
        self.numbers.leave(txn.slot.id());
        settle(&mut txn.slot, || self.numbers.known_watermark());
    }

    fn maintain(&self, _: usize) {
        self.numbers.maintain();
    }

    /// A record that is locked stays in the index: an attempt that found no value in it has locked nothing else.
    fn retire(&self, record: RecordRef<'_, Self>, _: &LeafLocks) -> Retire {
        speculation::retire(record, |number| self.numbers.is_past(number))
    }

    /// An attempt that began earlier may see a version that has the key.
    fn leaving(&self, record: RecordRef<'_, Self>, _: &LeafLocks) -> Retire {
        leaving(record, |number| self.numbers.is_past(number))
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        words_of(&txn.slot, txn.slot.newest(record))
    }
}

impl HekatonLocking {
    /// Gives a record a version of the attempt's own, unless it has one, and returns the version's place among the
    /// writes. The record must have a value if `has_value` is true, and none otherwise; if it is not so, that counts as
    /// read and the result is `None`.
    #[inline]
    fn put<'db>(
        &self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        has_value: bool,
        how: Write,
    ) -> Result<Option<usize>, Abort> {
        assert!(!txn.is_snapshot, "a procedure that is declared read-only writes nothing");
        let check = || if record.header().is_retired() { Err(Abort::WriteConflict) } else { Ok(()) };
        if let Some(own) = txn.own(record) {
            return Ok(Some(own));
        }
        loop {
            let over = txn.slot.newest(record);
            match over.map(|version| (Writer::of(version), version)) {
                None | Some((Writer::Committed(_), _)) => {}
                Some((Writer::Uncertain(_), version)) => {
                    // Once it is certain it may be written over.
                    wait_for_end(version);
                    continue;
                }
                Some((Writer::Failed, _)) => continue,
                Some((Writer::Drawing | Writer::Undecided(_), _)) => return Err(Abort::WriteConflict),
            }
            if is_absent(over) == has_value {
                if txn.locks.find(record.id()).is_some() {
                    return Ok(None);
                }
                // From the moment when it is locked the record stays as it is.
                txn.lock(record)?;
                continue;
            }
            // Tries again if the version is no longer the newest.
            if let Some(own) = txn.writes.push(&mut txn.slot, record, over, txn.mark, how, check)? {
                txn.unlock_written(record);
                let Txn { waits_for, seeker, .. } = txn;
                let add = |party| note(waits_for, seeker.me(), party);
                self.holders.for_each_inherited(record.id(), record.header(), add);
                return Ok(Some(own));
            }
        }
    }

    // ANCHOR: wait
    /// Step 1 of COMMIT.
    #[inline]
    fn await_readers(&self, txn: &mut Txn<'_>) -> Result<(), Abort> {
        // The holders of gaps come first: they may look again at what they have found missing, and must not find it
        // closed.
        txn.waits_for.retain(|party| self.holders.holds(*party));
        if !txn.waits_for.is_empty() {
            self.wait(txn)?;
        }
        if is_planted(&plants::HEKATON_LOCKING_IGNORES_READERS) {
            return Ok(());
        }
        let mut is_free = true;
        txn.has_closed = true;
        txn.writes.versions().for_each(|(record, _)| is_free &= record.header().close());
        if is_free { Ok(()) } else { self.wait(txn) }
    }
    // ANCHOR_END: wait

    // ANCHOR: circles
    #[cold]
    fn wait(&self, txn: &mut Txn<'_>) -> Result<(), Abort> {
        let Txn { slot, seeker, birth, locks, waits_for, writes, has_closed, .. } = txn;
        let is_closed = || !*has_closed || writes.versions().all(|(record, _)| record.header().is_closed());
        let is_free = || is_closed() && !waits_for.iter().any(|party| self.holders.holds(*party));
        if waiter::wait_until(Some(clock::now_ns() + self.period_ns), is_free) {
            return Ok(());
        }
        let weight = Weight { locks: Reverse(0), birth: *birth, slot: seeker.me().slot };
        let told = self.graph.wait(seeker, weight);
        told.tell(|blockers| blockers.extend_from_slice(waits_for));
        loop {
            for lock in locks.iter().filter(|lock| lock.is_held) {
                let writer = || slot.newest(lock.record).map(Writer::of);
                if let Some(Writer::Undecided(other)) = writer()
                    && !is_planted(&plants::HEKATON_LOCKING_TELLS_NOBODY)
                {
                    self.graph.tell_of(other, seeker, || writer() == Some(Writer::Undecided(other)));
                }
            }
            if self.graph.is_victim_of_cycles(seeker) {
                return Err(Abort::Deadlock);
            }
            let until_ns = clock::now_ns() + self.period_ns;
            let is_over = waiter::wait_until(Some(until_ns), || is_free() || told.is_victim());
            if told.is_victim() {
                return Err(Abort::Deadlock);
            }
            if is_over {
                return Ok(());
            }
        }
    }
    // ANCHOR_END: circles
}

/// Notes that an attempt has locked a gap into which this attempt puts something.
#[inline]
fn note(waits_for: &mut Vec<Party>, me: Party, party: Party) {
    let is_ignored = party == me || is_planted(&plants::HEKATON_LOCKING_IGNORES_SCANS);
    if !is_ignored && !waits_for.contains(&party) {
        waits_for.push(party);
    }
}

impl<'db> Txn<'db> {
    // ANCHOR: lock
    /// Locks the latest version of a record for reading, unless it is locked.
    #[inline]
    fn lock(&mut self, record: RecordRef<'db, HekatonLocking>) -> Result<(), Abort> {
        if self.locks.find(record.id()).is_some() {
            return Ok(());
        }
        while let Err(not_locked) = record.header().lock() {
            if not_locked != NotLocked::Closed {
                return Err(not_locked.into());
            }
            // A writer that draws its number opens the record at once; one that waits for others may take long.
            let writer = || self.slot.newest(record).map(Writer::of);
            let is_to_wait = || matches!(writer(), Some(Writer::Undecided(_)));
            waiter::wait_until(None, || is_to_wait() || !record.header().is_closed());
            if is_to_wait() {
                return Err(not_locked.into());
            }
        }
        self.locks.push(record.id(), Lock { record, is_held: true });
        Ok(())
    }
    // ANCHOR_END: lock

    /// The place of the attempt's own version of a record.
    #[inline]
    fn own(&self, record: RecordRef<'db, HekatonLocking>) -> Option<usize> {
        let newest = self.slot.newest(record)?;
        (newest.meta().number() == self.mark).then(|| self.writes.of(record))
    }

    /// Gives up the lock of a record whose next version is the attempt's own: the attempt must not wait for itself.
    #[inline]
    fn unlock_written(&mut self, record: RecordRef<'db, HekatonLocking>) {
        if let Some(position) = self.locks.find(record.id()) {
            let lock = self.locks.get_mut(position);
            if lock.is_held {
                lock.is_held = false;
                record.header().unlock();
            }
        }
    }

    /// Gives up all locks.
    #[inline]
    fn unlock(&mut self, holders: &LeafHolders) {
        for lock in self.locks.drain() {
            if lock.is_held {
                lock.record.header().unlock();
            }
        }
        if self.has_gaps {
            self.has_gaps = false;
            holders.release(self.seeker.me());
        }
    }
}
