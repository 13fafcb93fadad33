//! The writes of an attempt that changes nothing before it commits.

use storage::{InPlace, RecordRef, Shape};

use super::{AccessSet, CopyBuffer, WordRange, WriteBuffer};
use crate::{Observer, Sink, Stamp};

/// A write to come.
#[derive(Debug)]
pub struct Buffered<'db, S: Shape, N> {
    /// The record.
    pub record: RecordRef<'db, S>,
    /// What the scheme noted of the record when it was first to be written.
    pub note: N,
    /// The new value, or none: a delete.
    value: Option<WordRange>,
}

/// What is known of a record that is to be written, for a scheme that looks at it again when it locks it.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The word of the record's header that tells its values apart, as it was read.
    pub word: u64,
    /// Whether nothing was read but that there is a value: any will do.
    pub is_blind: bool,
}

/// The writes of an attempt, one a record, with the new values.
#[derive(Debug)]
pub struct BufferedWrites<'db, S: Shape, N = ()> {
    writes: AccessSet<Buffered<'db, S, N>>,
    values: WriteBuffer,
    /// A copy of the value that an observer is told of.
    before: CopyBuffer,
}

impl<S: Shape, N> Default for BufferedWrites<'_, S, N> {
    fn default() -> Self {
        Self { writes: AccessSet::default(), values: WriteBuffer::default(), before: CopyBuffer::default() }
    }
}

impl<'db, S: Shape, N> BufferedWrites<'db, S, N> {
    /// Forgets all writes.
    #[inline]
    pub fn clear(&mut self) {
        self.writes.clear();
        self.values.clear();
    }

    /// The number of writes.
    #[inline]
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The position of the write to a record.
    #[inline]
    pub fn find(&self, record: RecordRef<'db, S>) -> Option<usize> {
        self.writes.find(record.id())
    }

    /// The value that a write gives its record, if it gives one.
    #[inline]
    pub fn value(&self, at: usize) -> Option<&[u64]> {
        self.writes.get(at).value.map(|value| self.values.get(value))
    }

    /// The value that a write gives its record, if it gives one, to be changed.
    #[inline]
    pub fn value_mut(&mut self, at: usize) -> Option<&mut [u64]> {
        self.writes.get(at).value.map(|value| self.values.get_mut(value))
    }

    /// Makes a delete give its record a value after all; `None` when it is no delete.
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

    /// Makes a write a delete; `false` when it is one.
    #[inline]
    pub fn take(&mut self, at: usize) -> bool {
        self.writes.get_mut(at).value.take().is_some()
    }

    /// Room for a new value of a record, for [`push`](Self::push).
    #[inline]
    pub fn room(&mut self, record: RecordRef<'db, S>) -> WordRange {
        self.values.push(record.width())
    }

    /// The words of a room.
    #[inline]
    pub fn room_mut(&mut self, room: WordRange) -> &mut [u64] {
        self.values.get_mut(room)
    }

    /// Adds a write to a record that has none, and gives the words of its value, if it has one.
    #[inline]
    pub fn push(
        &mut self,
        record: RecordRef<'db, S>,
        value: Option<WordRange>,
        note: N,
    ) -> Option<&mut [u64]> {
        self.writes.push(record.id(), Buffered { record, note, value });
        value.map(|value| self.values.get_mut(value))
    }

    /// Puts the writes in the order in which records are locked.
    #[inline]
    pub fn sort(&mut self) {
        self.writes.sort();
    }

    /// The write that is the `nth` in that order; after [`sort`](Self::sort).
    #[inline]
    pub fn sorted(&self, nth: usize) -> &Buffered<'db, S, N> {
        self.writes.get(self.writes.sorted(nth))
    }

    /// The same, to be noted on.
    #[inline]
    pub fn sorted_mut(&mut self, nth: usize) -> &mut Buffered<'db, S, N> {
        self.writes.get_mut(self.writes.sorted(nth))
    }

    /// All writes in order.
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

impl<'db, S: Shape<Data = InPlace>, N> BufferedWrites<'db, S, N> {
    /// Tells of the write that is the `nth` in the order of locking, and is about to be installed under its
    /// lock; the record, and the value that it will have.
    #[inline]
    pub fn tell(
        &mut self,
        nth: usize,
        has_value: impl FnOnce(RecordRef<'db, S>) -> bool,
        stamp: Stamp,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
    ) -> (RecordRef<'db, S>, Option<&[u64]>) {
        self.tell_at(self.writes.sorted(nth), has_value, stamp, sink, seen)
    }

    /// As [`tell`](Self::tell), by position: for a scheme that locks nothing and sorts nothing.
    #[inline]
    pub fn tell_at(
        &mut self,
        at: usize,
        has_value: impl FnOnce(RecordRef<'db, S>) -> bool,
        stamp: Stamp,
        sink: &mut impl Sink,
        seen: &mut impl Observer,
    ) -> (RecordRef<'db, S>, Option<&[u64]>) {
        let Buffered { record, value, .. } = *self.writes.get(at);
        let value = value.map(|value| self.values.get(value));
        let before = if listens(seen) && has_value(record) {
            let copy = self.before.room(record.width());
            record.load(copy);
            Some(&*copy)
        } else {
            None
        };
        seen.installed(record, before, value);
        sink.logged(stamp, record, value);
        (record, value)
    }
}

fn listens<O: Observer>(_: &O) -> bool {
    O::ON
}
