//! The versions of an attempt's own, some of which stood in their chains before it ran: empty, with its number.

use engine::{Abort, AccessSet};
use storage::{Pending, RecordRef, Slot};

use crate::version_chain::{Chained, Stamped, sealed_below, take_back, words_of};

/// A version of the attempt's own.
#[derive(Debug)]
pub struct Own<'db, S: Chained> {
    /// The record.
    pub record: RecordRef<'db, S>,
    /// The version.
    pub version: Pending<'db, S>,
    /// Whether the attempt has written it.
    pub is_written: bool,
    /// How often it is expected to be written; none if the version stood in no chain before the attempt ran.
    pub foreseen: Option<u32>,
}

/// The versions of an attempt's own.
#[derive(Debug)]
pub struct OwnVersions<'db, S: Chained> {
    all: AccessSet<Own<'db, S>>,
    /// The position of the version that the attempt is expected to write next.
    turn: usize,
}

impl<S: Chained> Default for OwnVersions<'_, S> {
    fn default() -> Self {
        Self { all: AccessSet::default(), turn: 0 }
    }
}

impl<'db, S: Chained> OwnVersions<'db, S> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// One of them.
    #[inline]
    pub fn get(&mut self, at: usize) -> &mut Own<'db, S> {
        self.all.get_mut(at)
    }

    /// Whether the attempt has written one of them.
    #[inline]
    pub fn is_written(&self, at: usize) -> bool {
        self.all.get(at).is_written
    }

    /// Takes over a version that stands in its chain already, and is expected to be written so often.
    pub fn adopt(&mut self, record: RecordRef<'db, S>, version: Pending<'db, S>, times: u32) {
        self.turn = 0;
        self.all.push(record.id(), Own { record, version, is_written: false, foreseen: Some(times) });
    }

    /// Adds a version that the attempt has just pushed, to write it; its position.
    pub fn add(&mut self, record: RecordRef<'db, S>, version: Pending<'db, S>) -> usize {
        self.all.push(record.id(), Own { record, version, is_written: true, foreseen: None })
    }

    /// The position of the version of a record that the attempt has written.
    #[inline]
    pub fn written(&self, record: RecordRef<'db, S>) -> Option<usize> {
        self.all.find(record.id()).filter(|at| self.all.get(*at).is_written)
    }

    /// The position of the version of a record that the attempt is about to write: its placeholder, or one that it has
    /// written before.
    #[inline]
    pub fn find(&mut self, record: RecordRef<'db, S>) -> Option<usize> {
        self.all.find_in_turn(record.id(), &mut self.turn)
    }

    /// The position of a version, if the attempt has written it.
    #[inline]
    pub fn if_written(&self, at: Option<usize>) -> Option<usize> {
        at.filter(|at| self.is_written(*at))
    }

    /// From now on, the attempt has written the version at a position.
    #[inline]
    pub fn write(&mut self, at: usize) {
        self.all.get_mut(at).is_written = true;
    }

    /// The value of a version; none if it is a tombstone.
    #[inline]
    pub fn value(&self, at: usize) -> Option<&[u64]> {
        let own = self.all.get(at);
        if own.version.version().meta().stamp().is_tombstone() { None } else { Some(own.version.value()) }
    }

    /// The words of a version, to be written; none if it is a tombstone.
    #[inline]
    pub fn words(&mut self, at: usize) -> Option<&mut [u64]> {
        let own = self.all.get_mut(at);
        if own.version.version().meta().stamp().is_tombstone() { None } else { Some(own.version.words()) }
    }

    /// Makes a version a tombstone, and says whether it was none.
    pub fn delete(&mut self, at: usize) -> bool {
        let stamp = self.all.get(at).version.version().meta().stamp();
        let had_value = !stamp.is_tombstone();
        stamp.set_tombstone(true);
        had_value
    }

    /// The words of a version that was a tombstone; none if it was none.
    pub fn revive(&mut self, at: usize) -> Option<&mut [u64]> {
        let own = self.all.get_mut(at);
        let stamp = own.version.version().meta().stamp();
        if !stamp.is_tombstone() {
            return None;
        }
        stamp.set_tombstone(false);
        Some(own.version.words())
    }

    /// Gives a version the value of the one before it, or none.
    pub fn pass(&mut self, at: usize, value: Option<&[u64]>) {
        let own = self.all.get_mut(at);
        own.version.version().meta().stamp().set_tombstone(value.is_none());
        if let Some(value) = value {
            own.version.words().copy_from_slice(value);
        }
    }

    /// Gives an unwritten version, of a writer with this number, the value below it, once that is sealed. When it is
    /// over, and nobody will seal it, it has none.
    pub fn pass_below(&mut self, slot: &Slot<'db, S>, at: usize, number: u64, is_over: impl Fn() -> bool) {
        let before = sealed_below(slot, self.get(at).record, number, is_over);
        self.pass(at, words_of(slot, before));
    }

    /// Waits until the versions below all that the attempt has written are sealed.
    ///
    /// # Errors
    /// When it is over, and they will not be.
    pub fn await_overwritten(
        &self,
        slot: &Slot<'db, S>,
        number: u64,
        is_over: impl Fn() -> bool,
    ) -> Result<(), Abort> {
        for own in self.all.iter().filter(|own| own.is_written) {
            let before = sealed_below(slot, own.record, number, &is_over);
            if before.is_some_and(|before| !before.is_sealed()) {
                return Err(Abort::Stopped);
            }
        }
        Ok(())
    }

    /// Completes all versions, which have their values: a commit.
    pub fn seal(&mut self) {
        self.all.drain().for_each(|own| _ = own.version.seal());
    }

    /// Completes the placeholders, which have their values, and takes the others off their chains: an abort.
    pub fn undo(&mut self, slot: &mut Slot<'db, S>) {
        for Own { record, version, foreseen, .. } in self.all.drain().rev() {
            if foreseen.is_some() {
                version.seal();
            } else {
                take_back(slot, record, version);
            }
        }
    }

    /// Forgets what the attempt has written, and keeps the placeholders, as they were adopted, for another attempt:
    /// they come first, in the same order. Takes the other versions off their chains.
    pub fn reset(&mut self, slot: &mut Slot<'db, S>) {
        let all: Vec<_> = self.all.drain().rev().collect();
        let mut placeholders = Vec::new();
        for Own { record, version, foreseen, .. } in all {
            match foreseen {
                Some(times) => placeholders.push((record, version, times)),
                None => take_back(slot, record, version),
            }
        }
        for (record, version, times) in placeholders.into_iter().rev() {
            version.version().meta().stamp().set_tombstone(false);
            self.adopt(record, version, times);
        }
    }

    /// Forgets what the attempt has written into placeholders, and says which versions these are.
    pub fn unwrite(&mut self) -> impl Iterator<Item = usize> + use<'db, S> {
        let mut placeholders = Vec::new();
        for at in 0..self.all.len() {
            let own = self.all.get_mut(at);
            if own.foreseen.is_some() {
                own.is_written = false;
                placeholders.push(at);
            }
        }
        placeholders.into_iter()
    }
}
