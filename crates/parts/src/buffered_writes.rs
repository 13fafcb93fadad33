//! The writes of an attempt that changes nothing before it commits.

use engine::setting::{Setting, Value};
use engine::{Abort, AccessSet, Observer, OwnWrites, Scheme, Sink, Stamp, Write, words};
use storage::{InPlace, RecordRef, Shape, Slot, accumulate};
use sync::plant::is_planted;

use crate::{CommitLocks, CopyBuffer, Validates, WordRange, WriteBuffer, plants};

/// A write to be installed at the commit.
#[derive(Debug)]
pub struct Buffered<'db, S: Shape, N> {
    /// The record.
    pub record: RecordRef<'db, S>,
    /// The scheme's note about the record, from the first write to it.
    pub note: N,
    /// The new value; `None` for a delete.
    value: Option<WordRange>,
    /// Whether the value is an amount, to be added to the record's value when it is installed.
    is_delta: bool,
}

/// The expectation about a record to be written, for a scheme that looks at the record again when it locks it.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The word of the record's header that tells its values apart, as the attempt read it.
    pub word: u64,
    /// Whether the attempt has only read that there is a value: any value will do.
    pub is_blind: bool,
}

impl Expected {
    /// Confirms the expectation when the record is locked and its word is `word`: from here on, `word` is expected.
    ///
    /// # Errors
    /// When the record is not as the attempt read it.
    #[inline]
    pub fn confirm(&mut self, word: u64, has_value: bool) -> Result<(), Abort> {
        let is_trusted = self.is_blind || is_planted(&plants::WRITES_TRUSTED);
        if word != self.word && !(is_trusted && has_value) {
            return Err(Abort::WriteConflict);
        }
        self.word = word;
        Ok(())
    }
}

words! {
    /// The order in which the records of a write set are locked at the commit. An attempt that finds one locked and
    /// waits for it begins again in the order of addresses.
    #[derive(Default)]
    pub enum WriteOrder {
        /// The order of the writes, which needs no sort.
        #[default]
        Written = "written",
        /// The reverse order of the writes: a record that a procedure writes first is locked for the shortest time.
        Reversed = "reversed",
        /// The order of addresses from the beginning, in which no attempt that waits ever begins again.
        Address = "address",
    }
}

impl WriteOrder {
    /// The setting of a scheme that has the choice.
    pub const fn setting(name: &'static str) -> Setting {
        Setting {
            name,
            default: "written",
            range: Self::RANGE,
            unit: "",
            doc: "In which order the records of a write set are locked at the commit: as they were `written`, which \
                  needs no sort, or `reversed`, and by address only to wait for somebody in the way; or always by \
                  `address`.",
            stresses: "how long the records that all write are locked, and what a sort costs",
        }
    }
}

/// The writes of an attempt, one for each record, with the new values.
#[derive(Debug)]
pub struct BufferedWrites<'db, S: Shape, N = ()> {
    writes: AccessSet<Buffered<'db, S, N>>,
    values: WriteBuffer,
    /// The number of writes to records that the attempt has locked, in the order of locking.
    locked: usize,
    order: WriteOrder,
    when_busy: CommitLocks,
    /// A copy of the value that a delta is added to, or that an observer hears of.
    before: CopyBuffer,
    /// Whether a value has a mark behind its row, to which nothing is added.
    has_marks: bool,
}

/// A scheme whose attempts keep their writes in [`BufferedWrites`] with notes of type `N`.
pub trait Buffers<N>: Scheme {
    /// Reads the present value of a record for a delta, which becomes a write of the sum. Returns the write's note.
    ///
    /// # Errors
    /// When the record has no value any more, or is retired.
    fn present(_record: RecordRef<'_, Self>, _copy: &mut [u64]) -> Result<N, Abort> {
        unreachable!("schemes that add amounts at the commit say how a value is read")
    }

    /// Confirms that an attempt may delete what it has written.
    ///
    /// # Errors
    /// The scheme's abort, if the note tells that the value is not the attempt's any more.
    #[inline]
    fn may_delete(_note: &N) -> Result<(), Abort> {
        Ok(())
    }
}

impl<'t, 'db, S: Buffers<N>, N> OwnWrites<'t, 'db, S> for &'t mut BufferedWrites<'db, S, N> {
    #[inline]
    fn find(&self, record: RecordRef<'db, S>) -> Option<usize> {
        BufferedWrites::find(self, record)
    }

    #[inline]
    fn read(self, at: usize) -> Result<Option<&'t [u64]>, Abort> {
        if S::DELTAS { BufferedWrites::read(self, at, S::present) } else { Ok(self.value(at)) }
    }

    #[inline]
    fn write(self, at: usize, how: Write) -> Result<Option<&'t mut [u64]>, Abort> {
        if S::DELTAS { self.rewrite(at, how, S::present) } else { Ok(self.value_mut(at)) }
    }

    #[inline]
    fn insert(self, at: usize) -> Option<&'t mut [u64]> {
        self.give(at)
    }

    #[inline]
    fn delete(self, at: usize) -> Result<bool, Abort> {
        S::may_delete(self.note(at))?;
        Ok(self.take(at))
    }
}

impl<'db, S: Shape, N> BufferedWrites<'db, S, N> {
    /// Makes an empty set of writes for the attempts of a slot.
    pub fn new(slot: &Slot<'db, S>) -> Self {
        Self {
            writes: AccessSet::default(),
            values: WriteBuffer::default(),
            locked: 0,
            order: WriteOrder::default(),
            when_busy: CommitLocks::default(),
            before: CopyBuffer::default(),
            has_marks: slot.tables().has_marks(),
        }
    }

    /// Selects the order in which records are locked.
    #[must_use]
    pub fn in_order(self, order: WriteOrder) -> Self {
        Self { order, ..self }
    }

    /// Selects what is done if a record to be locked is locked.
    #[must_use]
    pub fn when_busy(self, when_busy: CommitLocks) -> Self {
        Self { when_busy, ..self }
    }

    /// Adds the value `present` to the words of a delta.
    #[inline]
    fn add_up(delta: &mut [u64], present: &[u64], has_marks: bool) {
        let row = delta.len() - usize::from(has_marks);
        accumulate(&mut delta[..row], &present[..row]);
    }

    /// Clears the writes.
    #[inline]
    pub fn clear(&mut self) {
        self.writes.clear();
        self.values.clear();
        self.locked = 0;
    }

    /// The number of writes.
    #[inline]
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Whether there are no writes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The position of the write to a record.
    #[inline]
    pub fn find(&self, record: RecordRef<'db, S>) -> Option<usize> {
        self.writes.find(record.id())
    }

    /// The record of the write at a position.
    #[inline]
    pub fn record(&self, at: usize) -> RecordRef<'db, S> {
        self.writes.get(at).record
    }

    /// The scheme's note about the write at a position.
    #[inline]
    pub fn note(&self, at: usize) -> &N {
        &self.writes.get(at).note
    }

    /// The new value of a write that is no delta; `None` for a delete.
    #[inline]
    pub fn value(&self, at: usize) -> Option<&[u64]> {
        self.writes.get(at).value.map(|value| self.values.get(value))
    }

    /// The new value of a write that is no delta, to be changed; `None` for a delete.
    #[inline]
    pub fn value_mut(&mut self, at: usize) -> Option<&mut [u64]> {
        self.writes.get(at).value.map(|value| self.values.get_mut(value))
    }

    /// The new value of a write, to be read; `None` for a delete. A delta becomes a write of its sum with the value
    /// that `present` reads.
    ///
    /// # Errors
    /// Those of `present`.
    #[inline]
    pub fn read(&mut self, at: usize, present: impl Present<'db, S, N>) -> Result<Option<&[u64]>, Abort> {
        if self.writes.get(at).is_delta {
            self.resolve(at, present)?;
        }
        Ok(self.value(at))
    }

    /// The new value of a write, to be written once more, as `how` says; `None` for a delete. `present` is as for
    /// [`read`](Self::read).
    ///
    /// # Errors
    /// Those of `present`.
    #[inline]
    pub fn rewrite(
        &mut self,
        at: usize,
        how: Write,
        present: impl Present<'db, S, N>,
    ) -> Result<Option<&mut [u64]>, Abort> {
        if self.writes.get(at).is_delta {
            match how {
                Write::Modify => self.resolve(at, present)?,
                Write::Blind => self.writes.get_mut(at).is_delta = false,
                Write::Delta => {}
            }
        }
        Ok(self.value_mut(at))
    }

    /// Adds the record's present value to a delta, which becomes a write of the sum.
    #[cold]
    fn resolve(&mut self, at: usize, present: impl Present<'db, S, N>) -> Result<(), Abort> {
        let write = self.writes.get_mut(at);
        let copy = self.before.room(write.record.width());
        write.note = present(write.record, copy)?;
        write.is_delta = false;
        let delta = self.values.get_mut(write.value.expect("a delta has words"));
        Self::add_up(delta, copy, self.has_marks);
        Ok(())
    }

    /// The scheme's note about a write, to be changed.
    #[inline]
    pub fn note_mut(&mut self, at: usize) -> &mut N {
        &mut self.writes.get_mut(at).note
    }

    /// Turns a delete into a write of a value; `None` when the write is no delete.
    #[inline]
    pub fn give(&mut self, at: usize) -> Option<&mut [u64]> {
        let write = self.writes.get_mut(at);
        if write.value.is_some() {
            return None;
        }
        let value = self.values.push(write.record.width());
        write.value = Some(value);
        Some(self.values.get_mut(value))
    }

    /// Turns a write into a delete; `false` when it is one already.
    #[inline]
    pub fn take(&mut self, at: usize) -> bool {
        let write = self.writes.get_mut(at);
        write.is_delta = false;
        write.value.take().is_some()
    }

    /// Reserves room for a new value of a record, for [`push`](Self::push).
    #[inline]
    pub fn room(&mut self, record: RecordRef<'db, S>) -> WordRange {
        self.values.push(record.width())
    }

    /// The words of a room.
    #[inline]
    pub fn room_mut(&mut self, room: WordRange) -> &mut [u64] {
        self.values.get_mut(room)
    }

    /// Adds a write to a record that has none, and returns the words of its value, if it has one.
    #[inline]
    pub fn push(
        &mut self,
        record: RecordRef<'db, S>,
        value: Option<WordRange>,
        note: N,
    ) -> Option<&mut [u64]> {
        self.writes.push(record.id(), Buffered { record, note, value, is_delta: false });
        value.map(|value| self.values.get_mut(value))
    }

    /// Like [`push`](Self::push), for a write as `how` says: a delta is zero at first.
    #[inline]
    pub fn push_written(
        &mut self,
        record: RecordRef<'db, S>,
        value: WordRange,
        how: Write,
        note: N,
    ) -> Option<&mut [u64]> {
        let is_delta = how == Write::Delta;
        self.writes.push(record.id(), Buffered { record, note, value: Some(value), is_delta });
        let words = self.values.get_mut(value);
        if is_delta {
            words.fill(0);
        }
        Some(words)
    }

    /// Calls `confirm` for each write in the order of addresses: for schemes that do not [`lock`](Self::lock) words,
    /// but lock in `confirm`.
    ///
    /// # Errors
    /// The errors of `confirm`.
    #[inline]
    pub fn confirm_sorted(
        &mut self,
        mut confirm: impl FnMut(&mut Buffered<'db, S, N>) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        assert!(self.locked == 0, "what is unlocked is known by the order of locking");
        self.writes.sort();
        (0..self.len()).try_for_each(|nth| confirm(self.writes.get_mut(self.writes.sorted(nth))))
    }

    /// All writes, in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Buffered<'db, S, N>> {
        self.writes.iter()
    }

    /// Takes all writes out, in order.
    #[inline]
    pub fn drain(&mut self) -> impl DoubleEndedIterator<Item = Buffered<'db, S, N>> {
        self.writes.drain()
    }
}

impl<'db, S: Validates, N> BufferedWrites<'db, S, N> {
    /// Locks each record to be written, by its word, and calls `confirm` for each write under its lock, with the word
    /// in which the lock was set.
    ///
    /// Records are locked in the order of the writes while no other attempt is in the way, unless another order [was
    /// selected](Self::in_order): so most attempts need no sort, and the record written last is locked last. An attempt
    /// that finds a record locked gives up its locks. If it [waits](CommitLocks::Waiting), it then begins again in the
    /// order of addresses: since only such attempts wait while they hold locks, they cannot form a circle.
    ///
    /// # Errors
    /// When a record is retired, and the errors of `confirm`; [`Abort::LockBusy`] if the attempt found a record locked
    /// and does not wait.
    #[inline]
    pub fn lock(
        &mut self,
        mut confirm: impl FnMut(&mut Buffered<'db, S, N>, u64) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        match self.order {
            WriteOrder::Written => {}
            WriteOrder::Reversed => self.writes.reverse(),
            WriteOrder::Address if self.when_busy == CommitLocks::NoWait => self.writes.sort(),
            WriteOrder::Address => return self.lock_sorted(confirm),
        }
        while self.locked < self.len() {
            let write = self.writes.get_mut(self.writes.sorted(self.locked));
            let Some(now) = S::LOCK.try_lock(S::lock_word(write.record))? else {
                if self.when_busy == CommitLocks::NoWait {
                    self.unlock();
                    return Err(Abort::LockBusy);
                }
                return self.lock_sorted(confirm);
            };
            self.locked += 1;
            confirm(write, now)?;
        }
        Ok(())
    }

    #[cold]
    fn lock_sorted(
        &mut self,
        mut confirm: impl FnMut(&mut Buffered<'db, S, N>, u64) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        self.unlock();
        if !is_planted(&plants::LOCKS_UNSORTED) {
            self.writes.sort();
        }
        while self.locked < self.len() {
            let write = self.writes.get_mut(self.writes.sorted(self.locked));
            let now = S::LOCK.lock(S::lock_word(write.record))?;
            self.locked += 1;
            confirm(write, now)?;
        }
        Ok(())
    }

    /// Unlocks the locked records, unchanged: an abort.
    #[inline]
    pub fn unlock(&mut self) {
        for nth in 0..core::mem::take(&mut self.locked) {
            S::LOCK.unlock(S::lock_word(self.writes.get(self.writes.sorted(nth)).record));
        }
    }
}

impl<'db, S: Shape<Data = InPlace>, N> BufferedWrites<'db, S, N> {
    /// Makes the write at a position ready to be installed, while no other attempt can write the record, and returns
    /// the record and its new value, which for a delta is the sum with the present value. `has_value` tells whether
    /// there is one.
    #[inline]
    pub fn ready(
        &mut self,
        at: usize,
        has_value: impl FnOnce(&Buffered<'db, S, N>) -> bool,
        stamp: Stamp,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
    ) -> (RecordRef<'db, S>, Option<&[u64]>) {
        let write = self.writes.get(at);
        let Buffered { record, value, is_delta, .. } = *write;
        let before = if is_delta || seen.listens() && has_value(write) {
            let copy = self.before.room(record.width());
            record.load(copy);
            Some(&*copy)
        } else {
            None
        };
        if let (true, Some(before), Some(value)) = (is_delta, before, value) {
            Self::add_up(self.values.get_mut(value), before, self.has_marks);
        }
        let value = value.map(|value| self.values.get(value));
        seen.installed(record, before, value);
        sink.logged(stamp, record, value);
        (record, value)
    }
}

/// Reads the value of a record, which the attempt knows to have one, and returns the scheme's note for a write of the
/// value that was read.
pub trait Present<'db, S: Shape, N>: FnOnce(RecordRef<'db, S>, &mut [u64]) -> Result<N, Abort> {}
impl<'db, S: Shape, N, F: FnOnce(RecordRef<'db, S>, &mut [u64]) -> Result<N, Abort>> Present<'db, S, N>
    for F
{
}

#[cfg(all(test, not(loom)))]
mod tests {
    use storage::{Home, Lookup, Row, Schema, TableId, Tables};
    use sync::atomic::Ordering;
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    use super::*;
    use crate::value_word::{LOCKED, ValueWord};

    #[derive(Debug)]
    struct Locked;

    impl Shape for Locked {
        type Header = ValueWord;
        type Version = ();
        type Leaf = ();
        type Data = InPlace;
    }

    #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(C)]
    struct Number(u64);

    impl Row for Number {
        type Key = u64;
        type Indexes = ();
    }

    #[test]
    fn records_are_locked_in_the_order_that_is_asked_for_and_all_are_unlocked() {
        let mut schema = Schema::new();
        schema.table::<u64>("numbers", Lookup::Heap, 0).group::<Number>();
        let tables = Tables::<Locked>::new(&schema, 1, 2, false);
        let mut slot = tables.slot();
        slot.pin();
        let mut record = || slot.new_row(tables.get(TableId(0)), Home::Everywhere).row().record(0);
        let mut written = [record(), record(), record()];
        written.sort_unstable_by_key(|record| record.id());
        written.rotate_left(1);
        let [first, second, third] = written.map(RecordRef::id);
        let orders = [
            (WriteOrder::Written, [first, second, third]),
            (WriteOrder::Reversed, [third, second, first]),
            (WriteOrder::Address, [third, first, second]),
        ];
        for (order, expected) in orders {
            let mut writes = BufferedWrites::<Locked>::new(&slot).in_order(order);
            for record in written {
                writes.push(record, None, ());
            }
            let mut locked = Vec::new();
            let ended = writes.lock(|write, _| {
                locked.push(write.record.id());
                Ok(())
            });
            assert_eq!((ended, locked.as_slice()), (Ok(()), expected.as_slice()), "{order:?}");
            // Relaxed, here and below: one thread.
            let is_locked =
                |record: &RecordRef<'_, Locked>| record.header().0.load(Ordering::Relaxed) & LOCKED != 0;
            assert!(written.iter().all(is_locked));
            writes.unlock();
            assert!(!written.iter().any(is_locked));
        }
    }
}
