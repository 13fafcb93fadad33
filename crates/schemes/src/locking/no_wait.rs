//! `NO_WAIT`: strict two-phase locking that aborts at a conflict (Eswaran, Gray, Lorie, Traiger, CACM 1976; per
//! record and without a queue in Yu, Bezerra, Pavlo, Devadas, Stonebraker, VLDB 2014).
//!
//! IDEA        Whoever reads a record first locks it shared, whoever writes it exclusively, and keeps the
//!             lock to the end. Who finds a lock held in a conflicting mode aborts at once: nobody waits,
//!             so there are neither queues nor deadlocks, and a lock is one exchange on the record's word.
//!             Writes are buffered, so that an abort has nothing to undo.
//! RECORD      One word: bit 0 locked exclusively, bit 1 no value, bit 2 retired, bits 3.. number of shared
//!             locks.
//! COMMIT      1. All locks are held: the lock point, at which the attempt takes effect.
//!             2. Fence; check that each leaf read has its gap version.
//!             3. Install each value; the store of the new word unlocks.
//! INVARIANTS  (1) An exclusive lock excludes every other lock of the record (asserted in `release`).
//!             (2) An attempt has at most one lock of a record, in its strongest mode (`lock` is the only
//!                 way to one, and looks for what is held first).
//!             (3) What was observed, absence included, stays locked to the end; gaps, which have no locks,
//!                 are compared at the lock point: a key that enters one later has a later lock point.
//! DEPARTURES  A conflicting lock is looked at `no_wait.spin` times more before the abort, a bounded wait:
//!             most locks are held for less time than an abort wastes. On fibers nobody spins. DBx1000
//!             writes in place and undoes, has no protection from phantoms, and conflicts with itself when
//!             a record is touched twice.

use engine::driver::PerWorker;
use engine::parts::{AccessSet, CopyBuffer, LeafSet, WordRange, WriteBuffer};
use engine::setting::{Range, Setting, SettingError, Values};
use engine::{
    Abort, Admits, End, Env, Family, Info, InsertAt, Isolation, Observer, Retire, Scheme, Sink, Stamp,
    Ticket, Write,
};
use storage::{InPlace, LeafRef, Meta, RecordRef, Shape, Slot};
use sync::atomic::{AtomicU64, Ordering, fence};
use sync::plant::is_planted;
use sync::{hint, waiter};

use crate::plants;

const EXCLUSIVE: u64 = 1;
const NO_VALUE: u64 = 2;
const RETIRED: u64 = 4;
/// One shared lock.
const SHARED: u64 = 8;
/// Everything but whether there is a value: a word that is free of these is unlocked.
const LOCKS: u64 = !(NO_VALUE | RETIRED);

/// The state that all transactions share: none beside the setting.
#[derive(Debug)]
pub struct NoWait {
    spin: u64,
}

/// A record's lock word.
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

/// How a record is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Shared,
    Exclusive,
}

/// The value of a record as the attempt that holds its lock sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// As stored in the record.
    Stored,
    /// None.
    Absent,
    /// Written by this attempt.
    Own(WordRange),
}

/// A lock held.
#[derive(Debug)]
struct Lock<'db> {
    record: RecordRef<'db, NoWait>,
    mode: Mode,
    value: Value,
    /// Whether the attempt changes the record.
    is_changed: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db> {
    slot: Slot<'db, NoWait>,
    locks: AccessSet<Lock<'db>>,
    leaves: LeafSet<'db, ()>,
    values: WriteBuffer,
    /// The copy that the last read lent.
    copy: CopyBuffer,
}

impl Shape for NoWait {
    type Header = Header;
    type Version = ();
    type Leaf = ();
    type Data = InPlace;
}

impl Scheme for NoWait {
    const INFO: Info = Info {
        name: "no_wait",
        title: "NO_WAIT",
        paper: "Yu, Bezerra, Pavlo, Devadas, Stonebraker: Staring into the abyss, VLDB 2014 (two-phase locking: \
                Eswaran, Gray, Lorie, Traiger, CACM 1976)",
        family: Family::Locking,
        isolation: Isolation::StrictlySerializable,
        workers: Admits::Any,
        idea: "locks each record before it is accessed, keeps the locks to the end, aborts when one is held",
    };
    const SETTINGS: &'static [Setting] = &[Setting {
        name: "no_wait.spin",
        default: "64",
        range: Range::Int(0, 1_000_000),
        unit: "looks",
        doc: "How often a conflicting lock is looked at again before the attempt aborts; pays while locks are \
              held briefly by transactions that run, and 0 is the published scheme.",
        stresses: "aborts against time spent waiting for locks",
    }];
    const INSERT: InsertAt = InsertAt::Access;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db>;

    fn new(values: &Values, _: Env) -> Result<Self, SettingError> {
        Ok(Self { spin: values.int("no_wait.spin") })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db> {
        Txn {
            slot,
            locks: AccessSet::default(),
            leaves: LeafSet::default(),
            values: WriteBuffer::default(),
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
    fn begin<'db>(&'db self, _: &mut Txn<'db>, _: &Ticket) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t [u64]>, Abort> {
        let position = self.lock(txn, record, Mode::Shared)?;
        Ok(match txn.locks.get(position).value {
            Value::Stored => {
                let copy = txn.copy.room(record.width());
                record.load(copy);
                Some(&*copy)
            }
            Value::Absent => None,
            Value::Own(value) => Some(txn.values.get(value)),
        })
    }

    #[inline]
    fn write<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
        how: Write,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let position = self.lock(txn, record, Mode::Exclusive)?;
        let value = match txn.locks.get(position).value {
            Value::Stored => {
                let value = txn.change(position);
                if how == Write::Modify {
                    record.load(txn.values.get_mut(value));
                }
                value
            }
            Value::Absent => return Ok(None),
            Value::Own(value) => value,
        };
        Ok(Some(txn.values.get_mut(value)))
    }

    #[inline]
    fn insert<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db>,
        record: RecordRef<'db, Self>,
    ) -> Result<Option<&'t mut [u64]>, Abort> {
        let position = self.lock(txn, record, Mode::Exclusive)?;
        if txn.locks.get(position).value != Value::Absent {
            return Ok(None);
        }
        let value = txn.change(position);
        Ok(Some(txn.values.get_mut(value)))
    }

    #[inline]
    fn delete<'db>(&'db self, txn: &mut Txn<'db>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let position = self.lock(txn, record, Mode::Exclusive)?;
        let lock = txn.locks.get_mut(position);
        let is_there = lock.value != Value::Absent;
        lock.value = Value::Absent;
        lock.is_changed |= is_there;
        Ok(is_there)
    }

    #[inline]
    fn read_gaps<'db>(&'db self, txn: &mut Txn<'db>, leaf: LeafRef<'db, ()>) -> Result<(), Abort> {
        txn.leaves.read(leaf)
    }

    #[inline]
    fn adding<'db>(&'db self, _: &mut Txn<'db>, _: LeafRef<'db, ()>) -> Result<(), Abort> {
        Ok(())
    }

    #[inline]
    fn added<'db>(&'db self, txn: &mut Txn<'db>, before: LeafRef<'db, ()>, after: u64) {
        txn.leaves.added(before, after);
    }

    #[inline]
    fn split<'db>(&'db self, txn: &mut Txn<'db>, from: LeafRef<'db, ()>, after: u64, into: LeafRef<'db, ()>) {
        txn.leaves.split(from, after, into);
    }

    /// A rollback, too, ends at a lock point: what it read was consistent if no gap has changed.
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db>, _: End) -> Result<(), Abort> {
        // 1: nothing is left to lock.
        if txn.leaves.is_empty() {
            return Ok(());
        }
        // SeqCst fence: pairs with the same fence of other attempts. Of two that each add a key to a gap
        // which the other has read, and then look at what they read, at least one sees the other's key. 2
        fence(Ordering::SeqCst);
        let skips = is_planted(&plants::NO_WAIT_SKIPS_LEAVES);
        if skips || txn.leaves.is_unchanged() { Ok(()) } else { Err(Abort::Phantom) }
    }

    #[inline]
    fn install<'db>(&'db self, txn: &mut Txn<'db>, sink: &mut impl Sink, seen: &mut impl Observer) -> Stamp {
        let stamp = Stamp(0);
        for lock in txn.locks.iter() {
            if lock.is_changed {
                let value = match lock.value {
                    Value::Own(value) => Some(txn.values.get(value)),
                    _ => None,
                };
                let before = lock.stored(seen, &mut txn.copy);
                seen.installed(lock.record, before, value);
                sink.logged(stamp, lock.record, value);
                if is_planted(&plants::NO_WAIT_UNLOCKS_EARLY) {
                    lock.release();
                }
                if let Some(value) = value {
                    lock.record.store(value);
                }
                if is_planted(&plants::NO_WAIT_UNLOCKS_EARLY) {
                    continue;
                }
            }
            lock.release(); // 3
        }
        txn.forget();
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db>) {
        for lock in txn.locks.iter() {
            lock.release_unchanged();
        }
        txn.forget();
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        // Nobody holds a lock of a record that turns from free to retired, and nobody gets one later.
        // AcqRel: pairs with the Release in `release`, and orders the mark before what follows from it.
        // Relaxed on failure: nothing is read.
        let header = &record.header().0;
        match header.compare_exchange(NO_VALUE, NO_VALUE | RETIRED, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Retire::Done,
            Err(word) if word & RETIRED != 0 => Retire::Done,
            Err(word) if word & NO_VALUE != 0 => Retire::Later,
            Err(_) => Retire::Alive,
        }
    }

    fn latest<'b, 'db>(&'db self, txn: &'b mut Txn<'db>, record: RecordRef<'db, Self>) -> Option<&'b [u64]> {
        // Acquire: pairs with the Release in `release`.
        let word = record.header().0.load(Ordering::Acquire);
        let copy = txn.copy.room(record.width());
        record.load(copy);
        (word & NO_VALUE == 0).then_some(copy)
    }
}

impl NoWait {
    /// Locks a record unless it is locked as strongly already, and gives the lock's position.
    #[inline]
    fn lock<'db>(
        &self,
        txn: &mut Txn<'db>,
        record: RecordRef<'db, Self>,
        mode: Mode,
    ) -> Result<usize, Abort> {
        if let Some(position) = txn.locks.find(record.id()) {
            let lock = txn.locks.get_mut(position);
            if lock.mode == Mode::Shared && mode == Mode::Exclusive {
                // The only shared lock is this attempt's own: anyone else's is a conflict.
                let own = lock.shared();
                let always = is_planted(&plants::NO_WAIT_UPGRADES_ALWAYS);
                let may = |word: u64| word & LOCKS == own || always && word & EXCLUSIVE == 0;
                self.acquire(record, |word| may(word).then_some(word - own + EXCLUSIVE))?;
                lock.mode = Mode::Exclusive;
            }
            return Ok(position);
        }
        let word = match mode {
            Mode::Shared => self.acquire(record, |word| (word & EXCLUSIVE == 0).then_some(word + SHARED))?,
            Mode::Exclusive => {
                self.acquire(record, |word| (word & LOCKS == 0).then_some(word + EXCLUSIVE))?
            }
        };
        let value = if word & NO_VALUE == 0 { Value::Stored } else { Value::Absent };
        let lock = Lock { record, mode, value, is_changed: false };
        if mode == Mode::Shared && lock.shared() == 0 {
            record.header().0.fetch_sub(SHARED, Ordering::Relaxed); // Relaxed: it is wrong in any order.
        }
        Ok(txn.locks.push(record.id(), lock))
    }

    /// Replaces a record's word by what `take` makes of it, and gives the word before; `take` gives nothing
    /// while a lock is in the way.
    #[inline]
    fn acquire(&self, record: RecordRef<'_, Self>, take: impl Fn(u64) -> Option<u64>) -> Result<u64, Abort> {
        let header = &record.header().0;
        let mut looks = 0;
        loop {
            let word = header.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
            if word & RETIRED != 0 {
                return Err(Abort::ReadChanged);
            }
            if let Some(locked) = take(word) {
                // Acquire: pairs with the Release in `release`. Relaxed on failure: nothing is read.
                if header.compare_exchange(word, locked, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return Ok(word);
                }
                continue;
            }
            // On a fiber whoever holds the lock may be another attempt of this worker, which cannot go on
            // before this one ends.
            if looks == self.spin || waiter::in_fiber() {
                return Err(Abort::LockBusy);
            }
            looks += 1;
            hint::spin_loop();
        }
    }
}

impl Txn<'_> {
    /// The attempt gives a record that it has locked a value: room for it.
    #[inline]
    fn change(&mut self, position: usize) -> WordRange {
        let lock = self.locks.get_mut(position);
        let value = self.values.push(lock.record.width());
        lock.value = Value::Own(value);
        lock.is_changed = true;
        value
    }

    /// All locks are released.
    #[inline]
    fn forget(&mut self) {
        self.locks.clear();
        self.leaves.clear();
        self.values.clear();
    }
}

impl Lock<'_> {
    /// What a shared lock adds to the record's word.
    #[inline]
    fn shared(&self) -> u64 {
        let is_missed = self.value == Value::Absent && is_planted(&plants::NO_WAIT_UNLOCKS_MISSES);
        if is_missed || is_planted(&plants::NO_WAIT_UNLOCKS_READS) { 0 } else { SHARED }
    }

    /// The value that the record has, for an observer that listens.
    #[inline]
    fn stored<'c, O: Observer>(&self, _: &O, copy: &'c mut CopyBuffer) -> Option<&'c [u64]> {
        // Relaxed: this attempt holds the lock.
        if !O::ON || self.record.header().0.load(Ordering::Relaxed) & NO_VALUE != 0 {
            return None;
        }
        let copy = copy.room(self.record.width());
        self.record.load(copy);
        Some(copy)
    }

    /// Unlocks the record of an attempt that commits.
    #[inline]
    fn release(&self) {
        if !self.is_changed {
            return self.release_unchanged();
        }
        let header = &self.record.header().0;
        // Relaxed: this attempt holds the lock. Invariant (1).
        assert!(header.load(Ordering::Relaxed) & LOCKS == EXCLUSIVE, "an exclusive lock excludes all others");
        let word = if self.value == Value::Absent { NO_VALUE } else { 0 };
        // Release: pairs with the Acquire in `acquire`.
        header.store(word, Ordering::Release);
    }

    /// Unlocks a record that stays as it was.
    #[inline]
    fn release_unchanged(&self) {
        let lock = if self.mode == Mode::Exclusive { EXCLUSIVE } else { self.shared() };
        // Release: pairs with the Acquire in `acquire`.
        self.record.header().0.fetch_sub(lock, Ordering::Release);
    }
}
