//! The versions that an attempt is writing: each at the new end of its record's chain, where everyone can see
//! that it is there and only the attempt what is in it; or, in schemes that write at the commit, kept from all others
//! until it is put there.

use engine::{Abort, AccessSet, OwnWrites, Scheme, Write};
use storage::{Pending, RecordRef, Slot, VersionRef};

use crate::version_chain::{Chained, Stamped, VersionStamp, take_back, words_of};

/// The undecided versions of an attempt.
#[derive(Debug)]
pub struct PendingWrites<'db, S: Chained>(AccessSet<(RecordRef<'db, S>, Pending<'db, S>)>);

impl<S: Chained> Default for PendingWrites<'_, S> {
    fn default() -> Self {
        Self(AccessSet::default())
    }
}

impl<'t, 'db, S: Chained + Scheme> OwnWrites<'t, 'db, S> for &'t mut PendingWrites<'db, S> {
    #[inline]
    fn find(&self, record: RecordRef<'db, S>) -> Option<usize> {
        PendingWrites::find(self, record)
    }

    #[inline]
    fn read(self, at: usize) -> Result<Option<&'t [u64]>, Abort> {
        Ok(self.value(at))
    }

    #[inline]
    fn write(self, at: usize, _: Write) -> Result<Option<&'t mut [u64]>, Abort> {
        Ok(self.words(at))
    }

    #[inline]
    fn insert(self, at: usize) -> Option<&'t mut [u64]> {
        PendingWrites::insert(self, at)
    }

    #[inline]
    fn delete(self, at: usize) -> Result<bool, Abort> {
        Ok(PendingWrites::delete(self, at))
    }
}

impl<'db, S: Chained> PendingWrites<'db, S> {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts a version before `over`, the newest of the record's chain; its place in the set, or none when
    /// `over` is the newest no more. `may_stay` is asked once the version is there for all to see.
    ///
    /// # Errors
    /// Those of `may_stay`; the chain is then as it was.
    #[inline]
    pub fn push(
        &mut self,
        slot: &mut Slot<'db, S>,
        record: RecordRef<'db, S>,
        over: Option<VersionRef<'db, S>>,
        number: u64,
        how: Write,
        may_stay: impl FnOnce() -> Result<(), Abort>,
    ) -> Result<Option<usize>, Abort> {
        let version = Self::new_version(slot, record, over, how);
        if !Self::is_pushed(record, &version, over, number) {
            slot.discard_version(record, version);
            return Ok(None);
        }
        if let Err(abort) = may_stay() {
            take_back(slot, record, version);
            return Err(abort);
        }
        Ok(Some(self.0.push(record.id(), (record, version))))
    }

    /// Makes a version for a record that has none of this attempt, as if over `over`, and keeps it; its place in the
    /// set.
    #[inline]
    pub fn keep(
        &mut self,
        slot: &mut Slot<'db, S>,
        record: RecordRef<'db, S>,
        over: Option<VersionRef<'db, S>>,
        how: Write,
    ) -> usize {
        let version = Self::new_version(slot, record, over, how);
        version.version().meta().stamp().set_number(VersionStamp::PRIVATE);
        self.0.push(record.id(), (record, version))
    }

    /// Puts a version that was kept before `over`, the newest of the record's chain; `false` when that is the newest
    /// no more. `may_stay` is asked once the version is there for all to see.
    ///
    /// # Errors
    /// Those of `may_stay`; the version is there until [`undo`](Self::undo).
    #[inline]
    pub fn put(
        &mut self,
        at: usize,
        over: Option<VersionRef<'db, S>>,
        number: u64,
        may_stay: impl FnOnce() -> Result<(), Abort>,
    ) -> Result<bool, Abort> {
        let (record, version) = self.0.get(at);
        if !Self::is_pushed(*record, version, over, number) {
            version.version().meta().stamp().set_number(VersionStamp::PRIVATE);
            return Ok(false);
        }
        may_stay().map(|()| true)
    }

    /// A version that nobody knows, with the words of the one below if they are to be changed.
    #[inline]
    fn new_version(
        slot: &mut Slot<'db, S>,
        record: RecordRef<'db, S>,
        over: Option<VersionRef<'db, S>>,
        how: Write,
    ) -> Pending<'db, S> {
        let mut version = slot.new_version(record);
        if let (Write::Modify, Some(over)) = (how, over) {
            version.words().copy_from_slice(slot.words(over).expect("what is written over is sealed"));
        }
        version
    }

    #[inline]
    fn is_pushed(
        record: RecordRef<'db, S>,
        version: &Pending<'db, S>,
        over: Option<VersionRef<'db, S>>,
        number: u64,
    ) -> bool {
        let is_later = over.is_none_or(|over| over.meta().stamp().number() < number);
        assert!(is_later, "a chain grows towards greater numbers");
        version.version().meta().stamp().set_number(number);
        record.push(version, over)
    }

    /// The place of the version of a record that has one of this attempt.
    ///
    /// # Panics
    /// When it has none.
    #[inline]
    pub fn of(&self, record: RecordRef<'db, S>) -> usize {
        self.find(record).expect("who finds a version of its own has written it")
    }

    /// The place of the version of a record, if it has one of this attempt.
    #[inline]
    pub fn find(&self, record: RecordRef<'db, S>) -> Option<usize> {
        self.0.find(record.id())
    }

    /// The record at a place.
    #[inline]
    pub fn record(&self, at: usize) -> RecordRef<'db, S> {
        self.0.get(at).0
    }

    /// The value of a version; none when it is a tombstone.
    #[inline]
    pub fn value(&self, at: usize) -> Option<&[u64]> {
        let (_, version) = self.0.get(at);
        if version.version().meta().stamp().is_tombstone() { None } else { Some(version.value()) }
    }

    /// The words of a version, to be written; none when it is a tombstone.
    #[inline]
    pub fn words(&mut self, at: usize) -> Option<&mut [u64]> {
        let (_, version) = self.0.get_mut(at);
        if version.version().meta().stamp().is_tombstone() { None } else { Some(version.words()) }
    }

    /// Makes a version a tombstone, and says whether it was none.
    #[inline]
    pub fn delete(&mut self, at: usize) -> bool {
        let stamp = self.0.get(at).1.version().meta().stamp();
        let had_value = !stamp.is_tombstone();
        stamp.set_tombstone(true);
        had_value
    }

    /// The words of a version that was a tombstone and is none now; none when it was none before.
    #[inline]
    pub fn insert(&mut self, at: usize) -> Option<&mut [u64]> {
        let (_, version) = self.0.get_mut(at);
        let stamp = version.version().meta().stamp();
        if !stamp.is_tombstone() {
            return None;
        }
        stamp.set_tombstone(false);
        Some(version.words())
    }

    /// The versions and their records, in the order of their pushes.
    #[inline]
    pub fn versions(&self) -> impl Iterator<Item = (RecordRef<'db, S>, VersionRef<'db, S>)> {
        self.0.iter().map(|(record, pending)| (*record, pending.version()))
    }

    /// Takes the versions out, in the order of their pushes.
    #[inline]
    pub fn drain(&mut self) -> impl DoubleEndedIterator<Item = (RecordRef<'db, S>, Pending<'db, S>)> {
        self.0.drain()
    }

    /// Takes the versions off their chains.
    pub fn undo(&mut self, slot: &mut Slot<'db, S>) {
        // Backwards: while a later column group of a row that was inserted has a version, so has the
        // first, and whoever retires the row sees that before it marks any.
        for (record, version) in self.0.drain().rev() {
            if version.version().meta().stamp().number() == VersionStamp::PRIVATE {
                slot.discard_version(record, version);
            } else {
                take_back(slot, record, version);
            }
        }
    }
}

/// The value that a version replaces, for observers.
pub fn value_before<'s, 'db, S: Chained>(
    slot: &'s Slot<'db, S>,
    version: VersionRef<'db, S>,
) -> Option<&'s [u64]> {
    words_of(slot, slot.older(version))
}
