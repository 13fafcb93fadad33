//! The writes of a rehearsal, or those that an input states, and how often each record is written: the rehearsal keeps
//! this private, and changes nothing.

use engine::{Abort, Write};
use storage::{RecordRef, Slot};

use crate::BufferedWrites;
use crate::footprint::{Coverage, Footprint, Mode};
use crate::version_chain::{Chained, is_absent};

/// The writes of a rehearsal, to records that are version chains. No version is added to the chains meanwhile.
#[derive(Debug)]
pub struct RehearsedWrites<'db, S: Chained> {
    rehearsed: BufferedWrites<'db, S, Rehearsed>,
    /// The records with a number of their own that the input states to be written, with their positions in the
    /// footprint. No procedure runs, so that nobody looks for a write by its record.
    stated: Vec<(RecordRef<'db, S>, usize)>,
}

/// A note about a record that is written.
#[derive(Clone, Copy, Debug)]
struct Rehearsed {
    /// How often it is written.
    times: u32,
    /// Whether the rehearsal has made the record.
    is_new: bool,
    /// Whether the record's own number is known to be in the footprint.
    is_covered: bool,
}

impl Rehearsed {
    /// A record that was there before is written once.
    const ONCE: Self = Self { times: 1, is_new: false, is_covered: false };

    /// The same of a record that has just entered the footprint: by its own number, unless a stretch stands for it.
    fn once(coverage: &Coverage) -> Self {
        Self { is_covered: coverage.stretch().is_none(), ..Self::ONCE }
    }
}

impl<'db, S: Chained> RehearsedWrites<'db, S> {
    /// Makes an empty set of writes for the attempts of a slot.
    pub fn new(slot: &Slot<'db, S>) -> Self {
        Self { rehearsed: BufferedWrites::new(slot), stated: Vec::new() }
    }

    /// Forgets all writes.
    #[inline]
    pub fn clear(&mut self) {
        self.rehearsed.clear();
        self.stated.clear();
    }

    /// The records that were there before and have a number of their own in the footprint, each with this number and
    /// the number of times that it was written.
    pub fn numbered(&self, footprint: &Footprint) -> impl Iterator<Item = (RecordRef<'db, S>, u64, u32)> {
        let stated = self
            .stated
            .iter()
            .map(|(record, at)| (*record, Footprint::of_record(record.id()), footprint.writes(*at)));
        let rehearsed = self.rehearsed.iter().filter_map(|write| {
            let Rehearsed { times, is_new, is_covered } = write.note;
            let number = Footprint::of_record(write.record.id());
            let is_in = !is_new && (is_covered || footprint.covers(number, Mode::Shared));
            is_in.then_some((write.record, number, times))
        });
        stated.chain(rehearsed)
    }

    /// The position of the write to a record.
    #[inline]
    pub fn find(&self, record: RecordRef<'db, S>) -> Option<usize> {
        self.rehearsed.find(record)
    }

    /// The value that a write gives its record, if it gives one.
    #[inline]
    pub fn value(&self, at: usize) -> Option<&[u64]> {
        self.rehearsed.value(at)
    }

    /// As [`Scheme::write`](engine::Scheme::write).
    ///
    /// # Errors
    /// None: the record enters the footprint.
    pub fn write(
        &mut self,
        slot: &Slot<'db, S>,
        coverage: &mut Coverage,
        record: RecordRef<'db, S>,
        how: Write,
    ) -> Result<Option<&mut [u64]>, Abort> {
        if let Some(own) = self.rehearsed.find(record) {
            self.rehearsed.note_mut(own).times += 1;
            return Ok(self.rehearsed.value_mut(own));
        }
        coverage.foresee_write(record.id());
        let before = slot.newest(record);
        let Some(before) = before.filter(|_| !is_absent(before)) else { return Ok(None) };
        let value = self.rehearsed.room(record);
        if how == Write::Modify {
            let words = slot.words(before).expect("nobody writes during rehearsals");
            self.rehearsed.room_mut(value).copy_from_slice(words);
        }
        Ok(self.rehearsed.push(record, Some(value), Rehearsed::once(coverage)))
    }

    /// As [`Planning::foresee`](engine::Planning::foresee).
    ///
    /// # Errors
    /// None: the record enters the footprint.
    #[inline]
    pub fn foresee(
        &mut self,
        coverage: &mut Coverage,
        record: RecordRef<'db, S>,
        is_written: bool,
    ) -> Result<(), Abort> {
        if let Some(at) = coverage.touch_stated(record.id(), Mode::Shared, is_written) {
            self.stated.push((record, at));
        }
        Ok(())
    }

    /// As [`Scheme::insert`](engine::Scheme::insert), of a record that has no value except one from this rehearsal.
    pub fn insert(&mut self, slot: &Slot<'db, S>, record: RecordRef<'db, S>) -> Option<&mut [u64]> {
        if let Some(own) = self.rehearsed.find(record) {
            self.rehearsed.note_mut(own).times += 1;
            return self.rehearsed.give(own);
        }
        let value = self.rehearsed.room(record);
        let is_new = slot.newest(record).is_none();
        self.rehearsed.push(record, Some(value), Rehearsed { is_new, ..Rehearsed::ONCE })
    }

    /// As [`Scheme::delete`](engine::Scheme::delete).
    ///
    /// # Errors
    /// None: the record enters the footprint.
    pub fn delete(
        &mut self,
        slot: &Slot<'db, S>,
        coverage: &mut Coverage,
        record: RecordRef<'db, S>,
    ) -> Result<bool, Abort> {
        // No transaction may look for the row when it has left the indexes, whichever wrote it before. The number of a
        // record that the rehearsal has added says nothing: another record may be there when the transaction executes.
        let own = self.rehearsed.find(record);
        if own.is_none() || slot.newest(record).is_some() {
            coverage.deletion(record.id())?;
        }
        if let Some(own) = own {
            self.rehearsed.note_mut(own).times += 1;
            return Ok(self.rehearsed.take(own));
        }
        let has_value = !is_absent(slot.newest(record));
        if has_value {
            self.rehearsed.push(record, None, Rehearsed::once(coverage));
        }
        Ok(has_value)
    }
}
