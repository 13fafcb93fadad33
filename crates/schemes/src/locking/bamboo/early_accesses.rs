//! The records that an attempt has locked under [`EarlyLocks`], each with the version that it sees, keeps or has shown.
//!
//! Storage lends data that others may overwrite only as copies that may be torn, and lends no private buffer to others.
//! So a value that is shown before its commit is a version on the record's chain: the attempt that has to take it back,
//! its writer or an attempt that wounds the writer, takes the version off the chain and needs to know nothing else of
//! it.
//!
//! INVARIANTS
//! (1) A shown version is sealed and has its place among the newest of the chain from the moment in which its writer
//!     retires until the writer commits or is cut out, both under the latch of the record: invariant (5) of
//!     `early_locks`.
//! (2) No attempt looks for versions below the committed one: a reader of an older version is before the writer in the
//!     ring, so the writer has waited for its end.

use core::mem;

use engine::{Abort, AccessSet, Observer, Sink, Stamp, Write};
use parts::version_chain::{VersionStamp, words_of};
use parts::{Left, LockMode, LockWord, RequestId};
use storage::{Pending, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::{Backoff, waiter};

use super::early_locks::{EarlyLocks, Held};

/// The number of versions that are committed, and the number of those that are not.
const COMMITTED: u64 = 0;
const UNDECIDED: u64 = VersionStamp::UNDECIDED;

/// Schemes that show versions before they are committed.
pub trait Early: Shape<Header = LockWord, Version = VersionStamp, Data = Versioned> {}
impl<S: Shape<Header = LockWord, Version = VersionStamp, Data = Versioned>> Early for S {}

/// The value of a record, as the attempt sees it.
#[derive(Debug)]
enum Value<'db, S: Early> {
    /// As the attempt found it: this version, or none.
    Seen(Option<VersionRef<'db, S>>),
    /// Written by the attempt, and not shown to others.
    Kept(Pending<'db, S>),
    /// Written by the attempt, and shown to all.
    Shown(VersionRef<'db, S>),
}

/// A record that was locked.
#[derive(Debug)]
struct Access<'db, S: Early> {
    record: RecordRef<'db, S>,
    mode: LockMode,
    value: Value<'db, S>,
}

/// The records that an attempt has locked, by their positions in the order of the locks.
#[derive(Debug)]
pub struct EarlyAccesses<'db, S: Early> {
    locks: &'db EarlyLocks,
    /// The slot of the attempt.
    slot: u32,
    accesses: AccessSet<Access<'db, S>>,
}

impl<'db, S: Early> EarlyAccesses<'db, S> {
    /// Makes the locked records, empty, for the attempts of a slot.
    pub fn new(locks: &'db EarlyLocks, slot: &Slot<'db, S>) -> Self {
        Self { locks, slot: slot.id() as u32, accesses: AccessSet::default() }
    }

    /// Returns the slot of the attempt.
    #[inline]
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// The number of locked records.
    #[inline]
    pub fn len(&self) -> usize {
        self.accesses.len()
    }

    /// Whether no record is locked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// The position of a record that was locked.
    #[inline]
    pub fn find(&self, record: RecordRef<'db, S>) -> Option<usize> {
        self.accesses.find(record.id())
    }

    /// Whether the attempt has written a version of the record and not shown it.
    #[inline]
    pub fn is_kept(&self, position: usize) -> bool {
        matches!(self.accesses.get(position).value, Value::Kept(_))
    }

    /// The value of a record that was locked.
    #[inline]
    pub fn value<'t>(&'t mut self, slot: &'t Slot<'db, S>, position: usize) -> Option<&'t [u64]> {
        match &mut self.accesses.get_mut(position).value {
            Value::Seen(version) => words_of(slot, *version),
            Value::Shown(version) => words_of(slot, Some(*version)),
            Value::Kept(pending) if pending.version().meta().is_tombstone() => None,
            Value::Kept(pending) => Some(pending.words()),
        }
    }

    /// Locks a record of which the attempt has no lock yet, and returns its position. A reader that `may_pass` is put
    /// before younger writers.
    ///
    /// # Errors
    /// The way in which the attempt was wounded, or the fact that the record has left the indexes.
    #[inline]
    pub fn lock(
        &mut self,
        slot: &mut Slot<'db, S>,
        record: RecordRef<'db, S>,
        mode: LockMode,
        may_pass: bool,
    ) -> Result<usize, Abort> {
        let id = RequestId::new(self.slot, self.accesses.len()).ok_or(Abort::Full)?;
        if self.locks.is_taken(record.header(), id, mode) {
            return self.see_alone(slot, record, mode);
        }
        self.locks.ready(id);
        let position = self.accesses.push(record.id(), Access { record, mode, value: Value::Seen(None) });
        let mut held = self.locks.hold(record.header());
        let Ok(is_granted) = held.ask(id, mode, may_pass) else {
            self.cut_out();
            return Err(Abort::ReadChanged);
        };
        drop_versions(slot, record, &mut held);
        if !is_granted {
            drop(held);
            self.wait(id)?;
            held = self.locks.hold(record.header());
            if held.is_out(id) {
                return Err(self.cut_out());
            }
        }
        self.accesses.get_mut(position).value = Value::Seen(below(slot, record, held.level(id)));
        Ok(position)
    }

    /// Finds the value of a record whose lock was granted while no other attempt had it or wanted it.
    ///
    /// # Errors
    /// The way in which the attempt was wounded.
    #[inline]
    fn see_alone(
        &mut self,
        slot: &Slot<'db, S>,
        record: RecordRef<'db, S>,
        mode: LockMode,
    ) -> Result<usize, Abort> {
        let version = slot.newest(record);
        let position = self.accesses.push(record.id(), Access { record, mode, value: Value::Seen(version) });
        // An attempt that has come since may have shown a version of its own, which is later than the one that this
        // attempt is to see, and may have taken it back and gone by now. But none of them commits before this attempt
        // has ended.
        if version.is_some_and(|version| version.meta().number() != COMMITTED) {
            self.see_among_others(slot, position)?;
        }
        Ok(position)
    }

    #[cold]
    fn see_among_others(&mut self, slot: &Slot<'db, S>, position: usize) -> Result<(), Abort> {
        let (id, access) = (self.id(position), self.accesses.get_mut(position));
        let held = self.locks.hold(access.record.header());
        if held.is_out(id) {
            return Err(self.cut_out());
        }
        access.value = Value::Seen(below(slot, access.record, held.level(id)));
        Ok(())
    }

    /// Waits until the request is granted, or until its attempt is wounded.
    #[cold]
    fn wait(&self, id: RequestId) -> Result<(), Abort> {
        let look = || self.locks.fates().look(self.slot);
        // An owner mostly retires within a moment. Suspended, this attempt would be the next owner while others of its
        // worker run, and all later requests would queue behind it.
        let mut backoff = Backoff::new();
        while self.locks.is_waiting(id) && !backoff.is_exhausted() {
            backoff.snooze();
        }
        waiter::wait_until(None, || !self.locks.is_waiting(id) || look().is_err());
        look()?;
        // A fiber that is unwound by a panic does not wait.
        if self.locks.is_waiting(id) { Err(Abort::Stopped) } else { Ok(()) }
    }

    /// Makes the lock of a record exclusive, if it is shared.
    ///
    /// # Errors
    /// The way in which the attempt was wounded.
    #[inline]
    pub fn upgrade(&mut self, slot: &mut Slot<'db, S>, position: usize) -> Result<(), Abort> {
        let (id, access) = (self.id(position), self.accesses.get_mut(position));
        if access.mode == LockMode::Exclusive {
            return Ok(());
        }
        access.mode = LockMode::Exclusive;
        let record = access.record;
        let mut held = self.locks.hold(record.header());
        let upgraded = held.upgrade(id);
        drop_versions(slot, record, &mut held);
        drop(held);
        upgraded.map_err(|_| self.cut_out())
    }

    /// Makes the lock of a record shared that the attempt locked to write, and did not write: it has only read the
    /// record.
    #[inline]
    pub fn downgrade(&mut self, position: usize) {
        let (id, access) = (self.id(position), self.accesses.get_mut(position));
        if matches!(access.value, Value::Seen(_)) {
            self.locks.hold(access.record.header()).downgrade(id);
            access.mode = LockMode::Shared;
        }
    }

    /// The version of a record that the attempt, which has the exclusive lock, writes: a new one, the one that it has
    /// kept, or a new one in place of the one that it has shown.
    ///
    /// # Errors
    /// The way in which the attempt was wounded.
    #[inline]
    pub fn open(
        &mut self,
        slot: &mut Slot<'db, S>,
        position: usize,
        how: Write,
    ) -> Result<&mut Pending<'db, S>, Abort> {
        let (id, access) = (self.id(position), self.accesses.get_mut(position));
        let record = access.record;
        let over = match access.value {
            Value::Seen(version) => Some(version),
            Value::Kept(_) => None,
            Value::Shown(version) => {
                let mut held = self.locks.hold(record.header());
                let taken = held.take_back(id);
                drop_versions(slot, record, &mut held);
                drop(held);
                taken.map_err(|_| self.cut_out())?;
                Some(Some(version))
            }
        };
        let value = &mut self.accesses.get_mut(position).value;
        if let Some(over) = over {
            let mut pending = slot.new_version(record);
            pending.version().meta().set_number(UNDECIDED);
            if let (Write::Modify, Some(over)) = (how, over) {
                pending.words().copy_from_slice(slot.words(over).expect("what is written over is sealed"));
            }
            *value = Value::Kept(pending);
        }
        let Value::Kept(pending) = value else { unreachable!("what is open is kept") };
        Ok(pending)
    }

    /// Shows the version of a record that the attempt has kept.
    ///
    /// # Errors
    /// The way in which the attempt was wounded.
    pub fn retire(&mut self, slot: &Slot<'db, S>, position: usize) -> Result<(), Abort> {
        let (id, access) = (self.id(position), self.accesses.get_mut(position));
        let mut held = self.locks.hold(access.record.header());
        if held.is_out(id) {
            return Err(self.cut_out());
        }
        let kept = mem::replace(&mut access.value, Value::Seen(None));
        let Value::Kept(pending) = kept else { unreachable!("what retires was kept") };
        access.value = Value::Shown(show(slot, access.record, pending));
        held.retire(id);
        Ok(())
    }

    /// Makes the version that the attempt wrote of a record the committed value, and gives up its lock.
    #[inline]
    pub fn install(
        &mut self,
        slot: &mut Slot<'db, S>,
        position: usize,
        stamp: Stamp,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
    ) {
        let (id, access) = (self.id(position), self.accesses.get_mut(position));
        let record = access.record;
        if matches!(access.value, Value::Seen(_)) && self.locks.is_left(record.header(), id) {
            return;
        }
        let mut held = self.locks.hold(record.header());
        let version = match mem::replace(&mut access.value, Value::Seen(None)) {
            // An attempt that is decided is in all of its rings, unless a bug is planted.
            Value::Kept(pending) if held.is_out(id) => {
                slot.discard_version(record, pending);
                None
            }
            Value::Kept(pending) => Some(show(slot, record, pending)),
            Value::Shown(version) if !held.is_out(id) => Some(version),
            Value::Shown(_) | Value::Seen(_) => None,
        };
        let Some(version) = version else { return held.release(id, Some(Left::AsItWas)) };
        let value = words_of(slot, Some(version));
        let left = if value.is_some() { Left::WithValue } else { Left::WithoutValue };
        // Before the version is committed: from then on, any attempt that settles the record drops the versions below.
        seen.installed(record, words_of(slot, slot.older(version)), value);
        sink.logged(stamp, record, value);
        version.meta().set_number(COMMITTED);
        let comes_home = slot.cut_older(record, version);
        if !comes_home && !slot.is_settled(version) {
            slot.settle_later(record, COMMITTED);
        }
        held.release(id, Some(left));
    }

    /// Undoes the attempt's changes to a record, and gives up its lock.
    pub fn undo(&mut self, slot: &mut Slot<'db, S>, position: usize) {
        let (id, access) = (self.id(position), self.accesses.get_mut(position));
        let record = access.record;
        if let Value::Kept(pending) = mem::replace(&mut access.value, Value::Seen(None)) {
            slot.discard_version(record, pending);
        }
        let mut held = self.locks.hold(record.header());
        held.release(id, None);
        drop_versions(slot, record, &mut held);
    }

    /// Ends an attempt that is out of all rings: brings records down to one version that it left with more.
    #[inline]
    pub fn forget(&mut self, slot: &mut Slot<'db, S>) {
        self.accesses.clear();
        if slot.has_unsettled() {
            slot.settle(COMMITTED, |meta, number| meta.number() == number);
        }
    }

    /// The reason for which the attempt was cut out. It does not commit, whatever its procedure does with the error.
    #[cold]
    fn cut_out(&self) -> Abort {
        let (fates, slot) = (self.locks.fates(), self.slot);
        fates.wound(slot, slot, false);
        fates.look(slot).err().unwrap_or(Abort::Wounded)
    }

    /// The request for the lock at a position.
    #[inline]
    fn id(&self, position: usize) -> RequestId {
        RequestId::new(self.slot, position).expect("it was locked under this number")
    }
}

/// The version of a record that is `level` versions below the newest.
#[inline]
fn below<'db, S: Early>(
    slot: &Slot<'db, S>,
    record: RecordRef<'db, S>,
    level: usize,
) -> Option<VersionRef<'db, S>> {
    (0..level).fold(slot.newest(record), |version, _| version.and_then(|version| slot.older(version)))
}

/// Makes a version the newest of a record that the caller has latched.
#[inline]
fn show<'db, S: Early>(
    slot: &Slot<'db, S>,
    record: RecordRef<'db, S>,
    pending: Pending<'db, S>,
) -> VersionRef<'db, S> {
    // Tries again if the version below has just moved to its place within the record.
    while !record.push(&pending, slot.newest(record)) {}
    pending.seal()
}

/// Takes the versions of attempts that were cut out of a record's ring off its chain.
#[inline]
fn drop_versions<'db, S: Early>(slot: &mut Slot<'db, S>, record: RecordRef<'db, S>, held: &mut Held<'_>) {
    for _ in 0..held.take_cut() {
        let Some(version) = slot.newest(record) else { return };
        let below = slot.older(version);
        record.pop(version);
        slot.retire_version(record, version);
        // The slot that was to settle the record may have found this version on top, and left it.
        if below.is_some_and(|below| below.meta().number() == COMMITTED && !slot.is_settled(below)) {
            slot.settle_later(record, COMMITTED);
        }
    }
}
