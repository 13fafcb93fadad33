//! The private workspace of an attempt under optimistic concurrency control (Kung, Robinson, TODS 1981), which has
//! three phases. The scheme states what an attempt notes of a record, and validates.
//!
//! READ        `read`, `write`, `insert`, `delete`: the attempt copies values without writing anything shared, notes
//!             what it has seen, and keeps its new values to itself.
//! VALIDATION  `only_read`, if the procedure rolls back; `lock_write_set`; `seen_words`.
//! WRITE       `install`; or `unlock`, if the attempt aborts.
//! INVARIANTS  (1) What was observed of a record, absence included, is in the read set or noted with the write:
//!                 `copy_stable` is the only way to a header, and its callers do one or the other.

use core::fmt::Debug;

use engine::{Abort, LeafSet, Observer, Scheme, Sink, Stamp, Write};
use storage::{InPlace, RecordRef, Shape, Slot};
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::{Plant, is_planted};

use crate::value_word::{self, NO_VALUE, OneWord};
use crate::{
    Buffered, BufferedWrites, Buffers, CommitLocks, CopyBuffer, Expected, LockBits, WriteOrder, fence_reads,
};

/// Schemes whose attempts read without locks, and validate what they have seen when they commit.
pub trait Validates: Shape<Data = InPlace> {
    /// A record as an attempt saw it.
    type Seen: Observed;
    /// The bits of the word by which a record is locked while its value changes.
    const LOCK: LockBits;

    /// This word of a record.
    fn lock_word(record: RecordRef<'_, Self>) -> &AtomicU64;

    /// A record while no attempt changes it, and its value then: copied to `copy`, if that is wanted and there is one.
    ///
    /// # Errors
    /// When the record is retired.
    fn copy_stable(record: RecordRef<'_, Self>, copy: Option<&mut [u64]>) -> Result<Self::Seen, Abort>;
}

/// A record as an attempt saw it.
pub trait Observed: Copy + Debug {
    /// The record of which only the word is known that tells its values apart.
    fn of_word(word: u64) -> Self;
    /// This word.
    fn word(self) -> u64;
    /// Whether the record had a value.
    fn has_value(self) -> bool;
}

impl<S: Shape<Header: OneWord, Data = InPlace>> Validates for S {
    type Seen = u64;
    const LOCK: LockBits = value_word::LOCK;

    #[inline]
    fn lock_word(record: RecordRef<'_, Self>) -> &AtomicU64 {
        record.header().value_word()
    }

    #[inline(always)]
    fn copy_stable(record: RecordRef<'_, Self>, copy: Option<&mut [u64]>) -> Result<u64, Abort> {
        Self::LOCK.copy_stable(record, Self::lock_word(record), NO_VALUE, copy)
    }
}

/// The word itself.
impl Observed for u64 {
    #[inline]
    fn of_word(word: u64) -> Self {
        word
    }

    #[inline]
    fn word(self) -> u64 {
        self
    }

    #[inline]
    fn has_value(self) -> bool {
        self & NO_VALUE == 0
    }
}

/// The read set of an attempt, and what else it computes from the records that it meets.
pub trait ReadSet<'db, S: Validates> {
    /// Clears the set.
    fn clear(&mut self);

    /// Notes a record as it was seen. `write` is the write of the record that follows, which keeps its word; an insert
    /// has read that there is no value.
    ///
    /// # Errors
    /// When the attempt can no longer commit.
    fn note(&mut self, record: RecordRef<'db, S>, seen: S::Seen, write: Option<Write>) -> Result<(), Abort>;

    /// The records, as they were seen.
    fn records(&self) -> impl Iterator<Item = (RecordRef<'db, S>, S::Seen)>;
}

/// The records that were only read, as they were seen.
pub type OnlyRead<'db, S> = Vec<(RecordRef<'db, S>, <S as Validates>::Seen)>;

impl<'db, S: Validates> ReadSet<'db, S> for OnlyRead<'db, S> {
    #[inline]
    fn clear(&mut self) {
        self.clear();
    }

    #[inline]
    fn note(&mut self, record: RecordRef<'db, S>, seen: S::Seen, write: Option<Write>) -> Result<(), Abort> {
        if write.is_none() {
            self.push((record, seen));
        }
        Ok(())
    }

    #[inline]
    fn records(&self) -> impl Iterator<Item = (RecordRef<'db, S>, S::Seen)> {
        self.iter().copied()
    }
}

/// The read set `R`, the write set, and the leaves that were read, each with a note `N`.
#[derive(Debug)]
pub struct Workspace<'db, S: Validates, R = OnlyRead<'db, S>, N = ()> {
    /// The read set.
    pub reads: R,
    /// The writes, each with what was seen of the record before.
    pub writes: BufferedWrites<'db, S, Expected>,
    /// The leaves.
    pub leaves: LeafSet<'db, S::Leaf, N>,
    /// The copy that the last read has lent.
    pub copy: CopyBuffer,
}

impl<'db, S: Validates + Scheme, R: ReadSet<'db, S>, N: Copy> Workspace<'db, S, R, N> {
    /// Makes an empty workspace for the attempts of a slot, over an empty read set.
    pub fn new(slot: &Slot<'db, S>, reads: R) -> Self {
        let writes = BufferedWrites::new(slot);
        Self { reads, writes, leaves: LeafSet::default(), copy: CopyBuffer::default() }
    }

    /// Selects the order in which the write set is locked.
    #[must_use]
    pub fn in_order(self, order: WriteOrder) -> Self {
        Self { writes: self.writes.in_order(order), ..self }
    }

    /// Selects what is done if a record of the write set is locked.
    #[must_use]
    pub fn when_busy(self, when_busy: CommitLocks) -> Self {
        Self { writes: self.writes.when_busy(when_busy), ..self }
    }

    /// Clears the workspace for another attempt.
    #[inline]
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.leaves.clear();
    }

    /// See [`Scheme::read`].
    ///
    /// # Errors
    /// When the record is retired, and the errors of the read set.
    #[inline]
    pub fn read(&mut self, record: RecordRef<'db, S>) -> Result<Option<&[u64]>, Abort> {
        let copy = self.copy.room(record.width());
        let seen = S::copy_stable(record, Some(copy))?;
        self.reads.note(record, seen, None)?;
        Ok(seen.has_value().then_some(copy))
    }

    /// See [`Scheme::write`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline]
    pub fn write(&mut self, record: RecordRef<'db, S>, how: Write) -> Result<Option<&mut [u64]>, Abort> {
        let value = self.writes.room(record);
        let is_blind = how != Write::Modify;
        let copy = (!is_blind).then(|| self.writes.room_mut(value));
        let seen = S::copy_stable(record, copy)?;
        if !seen.has_value() {
            self.reads.note(record, seen, None)?;
            return Ok(None);
        }
        self.reads.note(record, seen, Some(how))?;
        let expected = Expected { word: seen.word(), is_blind };
        Ok(if S::DELTAS {
            self.writes.push_written(record, value, how, expected)
        } else {
            self.writes.push(record, Some(value), expected)
        })
    }

    /// See [`Scheme::insert`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline]
    pub fn insert(&mut self, record: RecordRef<'db, S>) -> Result<Option<&mut [u64]>, Abort> {
        let seen = S::copy_stable(record, None)?;
        if seen.has_value() {
            self.reads.note(record, seen, None)?;
            return Ok(None);
        }
        self.reads.note(record, seen, Some(Write::Modify))?;
        let value = self.writes.room(record);
        Ok(self.writes.push(record, Some(value), Expected { word: seen.word(), is_blind: false }))
    }

    /// See [`Scheme::delete`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline]
    pub fn delete(&mut self, record: RecordRef<'db, S>) -> Result<bool, Abort> {
        let seen = S::copy_stable(record, None)?;
        if !seen.has_value() {
            self.reads.note(record, seen, None)?;
            return Ok(false);
        }
        self.reads.note(record, seen, Some(Write::Blind))?;
        self.writes.push(record, None, Expected { word: seen.word(), is_blind: true });
        Ok(true)
    }

    /// Confirms, before the attempt has locked any record, that all that it has seen is unchanged. `present` returns a
    /// record that no other attempt is about to change. For schemes whose commits announce a change of all their
    /// records before they change the first: then all that was seen is of the state of one moment.
    ///
    /// # Errors
    /// When something has changed.
    pub fn confirm(&self, present: impl Fn(RecordRef<'db, S>) -> Option<S::Seen>) -> Result<(), Abort> {
        let is_read_so =
            |(record, seen): (_, S::Seen)| present(record).is_some_and(|now| now.word() == seen.word());
        let is_met = |write: &Buffered<'db, S, Expected>| {
            let Expected { word, is_blind } = write.note;
            present(write.record).is_some_and(|now| now.word() == word || is_blind && now.has_value())
        };
        fence_reads();
        if !self.reads.records().all(is_read_so) || !self.writes.iter().all(is_met) {
            return Err(Abort::ReadChanged);
        }
        self.leaves.confirm()
    }

    /// Moves all writes to the read set, for a rollback: their records were only read.
    ///
    /// # Errors
    /// Those of the read set.
    pub fn only_read(&mut self) -> Result<(), Abort> {
        let mut writes = self.writes.drain();
        writes.try_for_each(|write| self.reads.note(write.record, S::Seen::of_word(write.note.word), None))
    }

    /// The records that were read, be it in order to write them, each once, and the words that were seen. The time
    /// grows with the square of their number if all are written: for attempts that fail.
    pub fn all_read(&self) -> impl Iterator<Item = (RecordRef<'db, S>, u64)> {
        let only_read = || self.reads.records().map(|(record, seen)| (record, seen.word()));
        let to_write = self.writes.iter().filter(|write| !write.note.is_blind);
        let to_write = to_write.filter(move |write| only_read().all(|(record, _)| record != write.record));
        only_read().chain(to_write.map(|write| (write.record, write.note.word)))
    }

    /// The records that were read, be it in order to write them, with the words that were seen. A record that was read
    /// and then written may come twice.
    pub fn seen(&self) -> impl Iterator<Item = (RecordRef<'db, S>, u64)> {
        let to_write = self.writes.iter().filter(|write| !write.note.is_blind);
        let to_write = to_write.map(|write| (write.record, write.note.word));
        self.reads.records().map(|(record, seen)| (record, seen.word())).chain(to_write)
    }

    /// The words that were seen of all records.
    #[inline]
    pub fn seen_words(&self) -> impl Iterator<Item = u64> {
        let read = self.reads.records().map(|(_, seen)| seen.word());
        read.chain(self.writes.iter().map(|write| write.note.word))
    }

    /// Installs all writes; the last one first: the last records are the hottest, if the procedure has a choice.
    /// `store` stores a new value, and unlocks the record.
    #[inline]
    pub fn install_by(
        &mut self,
        stamp: Stamp,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
        mut store: impl FnMut(RecordRef<'db, S>, Option<&[u64]>),
    ) {
        let has_value = |write: &Buffered<'_, _, Expected>| S::Seen::of_word(write.note.word).has_value();
        for at in (0..self.writes.len()).rev() {
            let (record, value) = self.writes.ready(at, has_value, stamp, sink, seen);
            store(record, value);
        }
    }

    /// See [`Scheme::latest`].
    pub fn latest(&mut self, record: RecordRef<'db, S>) -> Option<&[u64]> {
        let copy = self.copy.room(record.width());
        S::copy_stable(record, Some(copy)).ok()?.has_value().then_some(copy)
    }
}

impl<'db, S, R: ReadSet<'db, S>, N: Copy> Workspace<'db, S, R, N>
where
    S: Scheme + Shape<Header: OneWord, Data = InPlace>,
{
    /// Locks the write set: what was read of a record before it was written must still be so, and cannot change under
    /// the lock.
    ///
    /// # Errors
    /// When a record has changed.
    #[inline]
    pub fn lock_write_set(&mut self) -> Result<(), Abort> {
        self.writes.lock(|write, word| write.note.confirm(word, word.has_value()))
    }

    /// Installs all writes, the last one first. `next` returns the new word of a record that gets a value, from the
    /// word under the lock; the store of the new word unlocks. The caller has a Release fence, or a stronger one,
    /// between the locks and this call. `early` is the bug of a new word that is stored before its value.
    ///
    /// # Panics
    /// When a new word is not greater.
    #[inline]
    pub fn install(
        &mut self,
        stamp: Stamp,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
        early: &'static Plant,
        next: impl Fn(u64) -> u64,
    ) {
        self.install_by(stamp, sink, seen, |record, value| {
            let header = record.header().value_word();
            let before = header.load(Ordering::Relaxed); // Relaxed: this attempt holds the lock.
            let next = next(before);
            assert!(before < next, "the word grows with each change");
            let word = next | if value.is_none() { NO_VALUE } else { 0 };
            if is_planted(early) {
                header.store(word, Ordering::Relaxed); // Relaxed: it is wrong in any order.
            }
            if let Some(value) = value {
                record.store(value);
            }
            // Release: pairs with the Acquire in `LockBits::copy_stable` and of the next lock.
            header.store(word, Ordering::Release);
        });
    }
}

impl<S: Validates + Scheme> Buffers<Expected> for S {
    fn present(record: RecordRef<'_, S>, copy: &mut [u64]) -> Result<Expected, Abort> {
        let seen = S::copy_stable(record, Some(copy))?;
        if seen.has_value() {
            Ok(Expected { word: seen.word(), is_blind: false })
        } else {
            Err(Abort::ReadChanged)
        }
    }
}
