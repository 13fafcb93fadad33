//! Strict two-phase locking (Eswaran, Gray, Lorie, Traiger, CACM 1976). It leaves one question open: what happens
//! when a lock cannot be had at once. A [`ConflictRule`] answers it, and each rule is a scheme of its own.
//!
//! IDEA        An attempt locks a record shared before it first reads it, exclusively before it writes it, and keeps
//!             the lock to the end. Writes are buffered, so that an abort has nothing to undo.
//! RECORD      One word ([`LockWord`]): whether there is a value, whether the record is retired, and beside these bits
//!             the lock, in the form of the rule.
//! COMMIT      1. All locks are held: the lock point, at which the attempt takes effect. 2. Fence; check that
//!             each leaf read has its gap version. 3. Install each value, then unlock it.
//! INVARIANTS  (1) An exclusive lock excludes every other lock of the record (asserted by the rules where they
//!                 unlock).
//!             (2) An attempt has at most one lock of a record, in its strongest mode (`lock` is the only way
//!                 to one, and looks for what is held first).
//!             (3) What was observed, absence included, stays locked to the end; gaps, which have no locks, are
//!                 compared at the lock point: a key that enters one later has a later lock point.
//! DEPARTURES  The published in-memory form (Yu, Bezerra, Pavlo, Devadas, Stonebraker, VLDB 2014) writes in
//!             place and undoes, has no protection from phantoms, and conflicts with itself when a record is
//!             touched twice.

pub mod plants;

use engine::driver::PerWorker;
use engine::setting::{SettingError, Settings};
use engine::{
    Abort, AccessSet, End, Env, Info, LeafSet, Observer, Retire, Scheme, Sink, Stamp, Ticket, Write,
};
use parts::{CopyBuffer, LockWord, RequestId, WordRange, WriteBuffer};
pub use parts::{Left, LockMode as Mode};
use storage::{InPlace, RecordRef, Shape, Slot};
use sync::atomic::{Ordering, fence};
use sync::plant::is_planted;

/// The treatment of a lock that cannot be had at once, and everything that depends on it.
///
/// The locks of an attempt are numbered from 0 in the order in which it asks for them. After an error the attempt has
/// the locks that it had before.
pub trait ConflictRule: Sized + core::fmt::Debug + Send + Sync + 'static {
    /// The description of the scheme.
    const INFO: Info;
    /// See [`Scheme::WAITS`].
    const WAITS: bool;
    /// The settings of the scheme.
    type Settings: Settings;
    /// The rule's state of an attempt: made once per slot.
    type Party: core::fmt::Debug + Send;

    /// A rule for a new database.
    ///
    /// # Errors
    /// Settings that contradict each other.
    fn new(settings: &Self::Settings, env: Env) -> Result<Self, SettingError>;

    /// The private state of a slot's attempts.
    fn attach(&self, slot: usize) -> Self::Party;

    /// Called when a transaction is about to try again: see [`Scheme::await_others`].
    #[inline]
    fn await_others(&self, _party: &mut Self::Party) {}

    /// Called when an attempt begins.
    #[inline]
    fn begin(&self, _party: &mut Self::Party, _ticket: &Ticket) {}

    /// Locks a record of which the attempt has no lock yet, and says whether it has a value.
    ///
    /// # Errors
    /// [`Abort::ReadChanged`] if the record is retired, or the rule's abort for a lock that is held.
    fn lock(&self, party: &mut Self::Party, word: &LockWord, nth: usize, mode: Mode) -> Result<bool, Abort>;

    /// Makes the attempt's n-th lock, which was shared, exclusive.
    ///
    /// # Errors
    /// The rule's abort because of others that share the record.
    fn upgrade(&self, party: &mut Self::Party, word: &LockWord, nth: usize) -> Result<(), Abort>;

    /// Called when the attempt has all its locks, and has read nothing that has changed. This is the last step that
    /// can fail: from here on the attempt waits for nobody.
    ///
    /// # Errors
    /// The abort to which other attempts have condemned this one.
    #[inline]
    fn decide(&self, _party: &mut Self::Party, _end: End) -> Result<(), Abort> {
        Ok(())
    }

    /// Gives up the attempt's n-th lock.
    fn unlock(&self, party: &Self::Party, word: &LockWord, nth: usize, mode: Mode, left: Left);
}

/// Whether every slot can have requests of its own in lock queues.
///
/// # Errors
/// When there are too many slots.
pub fn room_for(env: Env) -> Result<(), SettingError> {
    let most = RequestId::SLOTS_MAX;
    if env.slots <= most {
        return Ok(());
    }
    Err(SettingError(format!("{} sessions: schemes with lock queues have room for {most}", env.slots)))
}

/// Two-phase locking under a rule: the state that all transactions share.
#[derive(Debug)]
pub struct TwoPhase<R> {
    rule: R,
}

/// The value of a record as the attempt that holds its lock sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// As stored in the record.
    Stored,
    /// The record has no value.
    Absent,
    /// Written by this attempt.
    Own(WordRange),
}

/// A lock held.
#[derive(Debug)]
struct Lock<'db, R: ConflictRule> {
    record: RecordRef<'db, TwoPhase<R>>,
    mode: Mode,
    value: Value,
    /// Whether the attempt changes the record.
    is_changed: bool,
}

/// An attempt's private state.
#[derive(Debug)]
pub struct Txn<'db, R: ConflictRule> {
    slot: Slot<'db, TwoPhase<R>>,
    party: R::Party,
    locks: AccessSet<Lock<'db, R>>,
    leaves: LeafSet<'db, ()>,
    values: WriteBuffer,
    /// The copy that the last read lent.
    copy: CopyBuffer,
}

impl<R: ConflictRule> Shape for TwoPhase<R> {
    type Header = LockWord;
    type Version = ();
    type Leaf = ();
    type Data = InPlace;
}

impl<R: ConflictRule> Scheme for TwoPhase<R> {
    const INFO: Info = R::INFO;
    const WAITS: bool = R::WAITS;
    const UPGRADES: bool = true;
    type Settings = R::Settings;
    type Driver = PerWorker;
    type Txn<'db> = Txn<'db, R>;

    fn new(settings: &R::Settings, env: Env) -> Result<Self, SettingError> {
        Ok(Self { rule: R::new(settings, env)? })
    }

    fn attach<'db>(&'db self, slot: Slot<'db, Self>) -> Txn<'db, R> {
        Txn {
            party: self.rule.attach(slot.id()),
            slot,
            locks: AccessSet::default(),
            leaves: LeafSet::default(),
            values: WriteBuffer::default(),
            copy: CopyBuffer::default(),
        }
    }

    #[inline]
    fn slot<'t, 'db>(&'db self, txn: &'t mut Txn<'db, R>) -> &'t mut Slot<'db, Self> {
        &mut txn.slot
    }

    fn loaded(&self, record: RecordRef<'_, Self>) {
        record.header().load();
    }

    #[inline]
    fn await_others<'db>(&'db self, txn: &mut Txn<'db, R>, ticket: &Ticket) {
        if ticket.retries > 0 {
            self.rule.await_others(&mut txn.party);
        }
    }

    #[inline]
    fn begin<'db>(&'db self, txn: &mut Txn<'db, R>, ticket: &Ticket) -> Result<(), Abort> {
        self.rule.begin(&mut txn.party, ticket);
        Ok(())
    }

    // Always inlined: out of line it costs TPC-C under NO_WAIT some 2% more instructions.
    #[inline(always)]
    fn read<'t, 'db>(
        &'db self,
        txn: &'t mut Txn<'db, R>,
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
        txn: &'t mut Txn<'db, R>,
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
        txn: &'t mut Txn<'db, R>,
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
    fn delete<'db>(&'db self, txn: &mut Txn<'db, R>, record: RecordRef<'db, Self>) -> Result<bool, Abort> {
        let position = self.lock(txn, record, Mode::Exclusive)?;
        let lock = txn.locks.get_mut(position);
        let is_there = lock.value != Value::Absent;
        lock.value = Value::Absent;
        lock.is_changed |= is_there;
        Ok(is_there)
    }

    #[inline]
    fn leaves<'t, 'db>(&'db self, txn: &'t mut Txn<'db, R>) -> Option<&'t mut LeafSet<'db, ()>> {
        Some(&mut txn.leaves)
    }

    // ANCHOR: commit
    /// A rollback, too, ends at a lock point: what it read was consistent if no gap has changed.
    #[inline]
    fn precommit<'db>(&'db self, txn: &mut Txn<'db, R>, end: End) -> Result<(), Abort> {
        // 1: nothing is left to lock.
        if !txn.leaves.is_empty() {
            // SeqCst fence: pairs with the same fence of other attempts. Of two that each add a key to a gap
            // which the other has read, and then look at what they read, at least one sees the other's key. 2
            fence(Ordering::SeqCst);
            if !txn.leaves.is_unchanged() && !is_planted(&plants::TWO_PHASE_SKIPS_LEAVES) {
                return Err(Abort::Phantom);
            }
        }
        self.rule.decide(&mut txn.party, end)
    }
    // ANCHOR_END: commit

    #[inline]
    fn install<'db>(
        &'db self,
        txn: &mut Txn<'db, R>,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
    ) -> Stamp {
        let stamp = Stamp(0);
        for (nth, lock) in txn.locks.iter().enumerate() {
            if lock.is_changed {
                let value = match lock.value {
                    Value::Own(value) => Some(txn.values.get(value)),
                    _ => None,
                };
                let before = lock.stored(seen, &mut txn.copy);
                seen.installed(lock.record, before, value);
                sink.logged(stamp, lock.record, value);
                if is_planted(&plants::TWO_PHASE_UNLOCKS_EARLY) {
                    self.unlock(&txn.party, nth, lock, lock.left());
                }
                if let Some(value) = value {
                    lock.record.store(value);
                }
                if is_planted(&plants::TWO_PHASE_UNLOCKS_EARLY) {
                    continue;
                }
            }
            self.unlock(&txn.party, nth, lock, lock.left()); // 3
        }
        txn.forget();
        stamp
    }

    #[inline]
    fn abort<'db>(&'db self, txn: &mut Txn<'db, R>) {
        for (nth, lock) in txn.locks.iter().enumerate() {
            if !is_planted(&plants::TWO_PHASE_KEEPS_LOCKS) {
                self.unlock(&txn.party, nth, lock, Left::AsItWas);
            }
        }
        txn.forget();
    }

    fn retire(&self, record: RecordRef<'_, Self>, (): &()) -> Retire {
        record.header().retire()
    }

    fn latest<'b, 'db>(
        &'db self,
        txn: &'b mut Txn<'db, R>,
        record: RecordRef<'db, Self>,
    ) -> Option<&'b [u64]> {
        let copy = txn.copy.room(record.width());
        record.load(copy);
        record.header().has_value().then_some(copy)
    }
}

impl<R: ConflictRule> TwoPhase<R> {
    // ANCHOR: lock
    /// Locks a record unless it is locked as strongly already, and gives the lock's position.
    #[inline]
    fn lock<'db>(
        &self,
        txn: &mut Txn<'db, R>,
        record: RecordRef<'db, Self>,
        mode: Mode,
    ) -> Result<usize, Abort> {
        if let Some(position) = txn.locks.find(record.id()) {
            let lock = txn.locks.get_mut(position);
            if lock.mode == Mode::Shared && mode == Mode::Exclusive {
                if lock.is_given_up() {
                    self.rule.lock(&mut txn.party, record.header(), position, mode)?;
                } else {
                    self.rule.upgrade(&mut txn.party, record.header(), position)?;
                }
                lock.mode = Mode::Exclusive;
            }
            return Ok(position);
        }
        let position = txn.locks.len();
        let has_value = self.rule.lock(&mut txn.party, record.header(), position, mode)?;
        let value = if has_value { Value::Stored } else { Value::Absent };
        let lock = Lock { record, mode, value, is_changed: false };
        if lock.is_given_up() {
            self.rule.unlock(&txn.party, record.header(), position, mode, Left::AsItWas);
        }
        Ok(txn.locks.push(record.id(), lock))
    }
    // ANCHOR_END: lock

    #[inline]
    fn unlock(&self, party: &R::Party, nth: usize, lock: &Lock<'_, R>, left: Left) {
        if !lock.is_given_up() {
            self.rule.unlock(party, lock.record.header(), nth, lock.mode, left);
        }
    }
}

impl<R: ConflictRule> Txn<'_, R> {
    /// Makes room for the value that the attempt gives to a record that it has locked.
    #[inline]
    fn change(&mut self, position: usize) -> WordRange {
        let lock = self.locks.get_mut(position);
        let value = self.values.push(lock.record.width());
        lock.value = Value::Own(value);
        lock.is_changed = true;
        value
    }

    /// Forgets all locks after they were released.
    #[inline]
    fn forget(&mut self) {
        self.locks.clear();
        self.leaves.clear();
        self.values.clear();
    }
}

impl<R: ConflictRule> Lock<'_, R> {
    /// Whether a bug is planted that gives a shared lock up as soon as the record is read.
    #[inline]
    fn is_given_up(&self) -> bool {
        let is_missed = self.value == Value::Absent && is_planted(&plants::TWO_PHASE_UNLOCKS_MISSES);
        self.mode == Mode::Shared && (is_missed || is_planted(&plants::TWO_PHASE_UNLOCKS_READS))
    }

    /// The state of the record that an attempt leaves when it commits.
    #[inline]
    fn left(&self) -> Left {
        match self.value {
            _ if !self.is_changed => Left::AsItWas,
            Value::Absent => Left::WithoutValue,
            _ => Left::WithValue,
        }
    }

    /// The value that the record has, for an observer that listens.
    #[inline]
    fn stored<'c, O: Observer>(&self, observer: &O, copy: &'c mut CopyBuffer) -> Option<&'c [u64]> {
        if !observer.listens() || !self.record.header().has_value() {
            return None;
        }
        let copy = copy.room(self.record.width());
        self.record.load(copy);
        Some(copy)
    }
}
