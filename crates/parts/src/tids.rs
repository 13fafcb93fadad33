//! Read set, write set and leaf set of an attempt that reads without writing anything shared and buffers its writes,
//! under schemes whose records tell their values apart by TIDs (Tu, Zheng, Kohler, Liskov, Madden, SOSP 2013, 4.2 to
//! 4.6).
//!
//! WORD        bit 0 the value is being changed, bit 1 no value, bit 2 retired, bit 3 the scheme's own, bits 4..32
//!             sequence, bits 32.. epoch. Without these four bits it is the TID of the commit that wrote the value.
//! INVARIANTS  (1) Every observed word, absence included, is in the read set or noted with the write: `copy_stable` is
//!                 the only way to a word, and its callers do one or the other.
//!             (2) A chosen TID is above every TID met and above the slot's last one, and in its epoch.

use engine::{Abort, LeafSet, Scheme, Write};
use storage::{InPlace, RecordRef, Shape, Slot};
use sync::atomic::AtomicU64;

use crate::{BufferedWrites, Buffers, CopyBuffer, Expected, LockBits};

/// Set while an attempt changes the value: readers wait.
pub const CHANGING: u64 = 1;
/// Set while the record has no value.
pub const NO_VALUE: u64 = 2;
/// Set once the record has left the indexes.
pub const RETIRED: u64 = 4;
/// The bits for which readers wait, and under which they cannot read.
pub const BITS: LockBits = LockBits { locked: CHANGING, retired: RETIRED };
/// All bits that do not belong to the TID.
pub const STATUS: u64 = 15;
/// One step of the sequence.
const STEP: u64 = 16;
const EPOCH_SHIFT: u32 = 32;

/// Schemes whose records carry such a word.
pub trait Tids: Shape<Data = InPlace> {
    /// The word of a record.
    fn tid_of(record: RecordRef<'_, Self>) -> &AtomicU64;
}

/// The read set, write set and leaf set of an attempt.
#[derive(Debug)]
pub struct TidSets<'db, S: Tids> {
    /// The records that were only read, each with the word that was seen.
    pub reads: Vec<(RecordRef<'db, S>, u64)>,
    /// The writes, each with the word that was seen when the record was read before.
    pub writes: BufferedWrites<'db, S, Expected>,
    /// The leaves that were read.
    pub leaves: LeafSet<'db, S::Leaf>,
    /// The TID of the running commit; between attempts, the TID of the slot's last commit.
    pub tid: u64,
    /// The copy that the last read has lent.
    copy: CopyBuffer,
}

impl<'db, S: Tids> TidSets<'db, S> {
    /// Makes empty sets for the attempts of a slot.
    pub fn new(slot: &Slot<'db, S>) -> Self {
        Self {
            reads: Vec::new(),
            writes: BufferedWrites::new(slot),
            leaves: LeafSet::default(),
            tid: 0,
            copy: CopyBuffer::default(),
        }
    }

    /// Clears the sets for another attempt.
    #[inline]
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.leaves.clear();
    }

    /// See [`Scheme::read`]. `first` is called before the attempt looks at a record that it does
    /// not write.
    ///
    /// # Errors
    /// When the record is retired.
    #[inline]
    pub fn read(&mut self, record: RecordRef<'db, S>, first: impl FnOnce()) -> Result<Option<&[u64]>, Abort> {
        first();
        let copy = self.copy.room(record.width());
        let word = copy_stable(record, Some(copy))?;
        self.reads.push((record, word));
        Ok((word & NO_VALUE == 0).then_some(copy))
    }

    /// See [`Scheme::write`]. `first` is called before the attempt reads a record that it does
    /// not write yet.
    ///
    /// # Errors
    /// When the record is retired, or has lost a value that is to be changed.
    #[inline]
    pub fn write(
        &mut self,
        record: RecordRef<'db, S>,
        how: Write,
        first: impl FnOnce(),
    ) -> Result<Option<&mut [u64]>, Abort> {
        if how == Write::Modify {
            first();
        }
        let value = self.writes.room(record);
        let copy = (how == Write::Modify).then(|| self.writes.room_mut(value));
        let word = copy_stable(record, copy)?;
        if word & NO_VALUE != 0 {
            self.reads.push((record, word));
            return Ok(None);
        }
        Ok(self.writes.push_written(record, value, how, Expected { word, is_blind: how != Write::Modify }))
    }

    /// See [`Scheme::insert`].
    ///
    /// # Errors
    /// When the record is retired.
    #[inline]
    pub fn insert(&mut self, record: RecordRef<'db, S>) -> Result<Option<&mut [u64]>, Abort> {
        let word = copy_stable(record, None)?;
        if word & NO_VALUE == 0 {
            self.reads.push((record, word));
            return Ok(None);
        }
        let value = self.writes.room(record);
        Ok(self.writes.push(record, Some(value), Expected { word, is_blind: false }))
    }

    /// See [`Scheme::delete`].
    ///
    /// # Errors
    /// When the record is retired.
    #[inline]
    pub fn delete(&mut self, record: RecordRef<'db, S>) -> Result<bool, Abort> {
        let word = copy_stable(record, None)?;
        if word & NO_VALUE != 0 {
            self.reads.push((record, word));
            return Ok(false);
        }
        self.writes.push(record, None, Expected { word, is_blind: true });
        Ok(true)
    }

    /// Confirms that everything that was seen is unchanged. `word` returns the word of a record that no other attempt
    /// is about to change.
    ///
    /// # Errors
    /// When something has changed.
    pub fn confirm(&self, word: impl Fn(RecordRef<'db, S>) -> Option<u64>) -> Result<(), Abort> {
        let word = |record| word(record).filter(|word| word & (CHANGING | RETIRED) == 0);
        self.writes.confirm(self.reads.iter().copied(), word, |word| word & NO_VALUE == 0)?;
        self.leaves.confirm()
    }

    /// Moves all writes to the read set, for a rollback: their records were only read.
    pub fn only_read(&mut self) {
        self.reads.extend(self.writes.drain().map(|write| (write.record, write.note.word)));
    }

    /// Chooses the TID of a commit in an epoch: invariant (2).
    #[inline]
    pub fn choose_tid(&mut self, epoch: u64) {
        let read = self.reads.iter().map(|&(_, word)| word);
        let met = read.chain(self.writes.iter().map(|write| write.note.word));
        let above = met.fold(self.tid, |tid, word| tid.max(word & !STATUS)) + STEP;
        self.tid = above.max(epoch << EPOCH_SHIFT);
    }

    /// See [`Scheme::latest`].
    pub fn latest(&mut self, record: RecordRef<'db, S>) -> Option<&[u64]> {
        let copy = self.copy.room(record.width());
        let word = copy_stable(record, Some(copy)).ok()?;
        (word & NO_VALUE == 0).then_some(copy)
    }
}

/// The word of a record whose value is not being changed; copies the value that belongs to this word.
#[inline(always)]
fn copy_stable<S: Tids>(record: RecordRef<'_, S>, copy: Option<&mut [u64]>) -> Result<u64, Abort> {
    BITS.copy_stable(record, S::tid_of(record), NO_VALUE, copy)
}

impl<S: Tids + Scheme> Buffers<Expected> for S {
    fn present(record: RecordRef<'_, S>, copy: &mut [u64]) -> Result<Expected, Abort> {
        let word = copy_stable(record, Some(copy))?;
        if word & NO_VALUE == 0 { Ok(Expected { word, is_blind: false }) } else { Err(Abort::ReadChanged) }
    }
}
