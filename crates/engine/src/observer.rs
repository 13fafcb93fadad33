//! The interface of the history recorder: observers that hear of each read, write, scan, install and outcome.

use core::ops::Bound;

use storage::{AnyKey, Direction, RecordRef, SecondaryKeys, Shape, TableId, Which};

use crate::{Abort, Sink, Stamp};

/// A column group as one of its table's indexes shows it. It is the table of a history, since reads of different column
/// groups do not conflict, and the ranges of a secondary index are its own. Groups that share a record are one facet,
/// that of the first group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facet {
    /// The table.
    pub table: TableId,
    /// The column group.
    pub group: usize,
    /// The secondary index of the group; `None` for the primary key.
    pub index: Option<u16>,
}

impl Facet {
    /// A column group by primary key.
    #[inline]
    pub const fn primary(table: TableId, group: usize) -> Self {
        Self { table, group, index: None }
    }

    /// The facet of a column group in an index.
    #[inline]
    pub const fn of(table: TableId, which: Which, group: usize) -> Self {
        match which {
            Which::Primary => Self::primary(table, group),
            Which::Secondary { position, .. } => Self { table, group, index: Some(position) },
        }
    }
}

/// Hears of what attempts see and do, or of a part of it. `()` hears nothing and compiles to nothing; `None` of an
/// observer hears nothing, at the cost of asking.
///
/// The value itself tells which value was read: each value carries a *mark* of its writer. The observer so hears of the
/// value that a read really returned, and not of the value that a scheme's metadata claims.
pub trait Observer {
    /// Whether attempts without types ([`ErasedAttempt`](crate::ErasedAttempt), [`RawTxn`](crate::RawTxn)) pass all
    /// keys on as [keys of any width](AnyKey). One form of the core is then enough for them, and they are slower.
    const ANY_WIDTH: bool = false;

    /// Whether the observer listens.
    fn listens(&self) -> bool;

    /// Whether the observer marks values. The database is then made from a schema that [marks
    /// values](crate::Schema::mark_values), and for no other observer. The answer never changes.
    #[inline]
    fn marks(&self) -> bool {
        false
    }

    /// Called when an attempt begins.
    #[inline]
    fn begin(&mut self) {}

    /// Called when an attempt saw the value with this mark under a key, or no value. Only if values have marks.
    #[inline]
    fn read(&mut self, _facet: Facet, _key: AnyKey, _mark: Option<u64>) {}

    /// Called when an attempt gives the record with this id a value, or takes it away; `_key` is the record's primary
    /// key. Returns the mark of the value. Only if values have marks.
    #[inline]
    fn write(&mut self, _record: usize, _facet: Facet, _key: AnyKey, _deletes: bool) -> u64 {
        0
    }

    /// Called when the last write changed the entries of secondary indexes: the row stood under the keys `_from`, by
    /// position, and stands under the keys `_to`. Only if values have marks.
    #[inline]
    fn entries(&mut self, _record: usize, _facet: Facet, _from: &SecondaryKeys, _to: &SecondaryKeys) {}

    /// Called when an attempt begins to scan a range of keys, each of `_words` words. The scan's rows follow, and
    /// nothing else before the scan is over. Only if values have marks.
    #[inline]
    fn scan(
        &mut self,
        _facet: Facet,
        _words: usize,
        _keys: (Bound<AnyKey>, Bound<AnyKey>),
        _direction: Direction,
    ) {
    }

    /// Called when the scan came to a row.
    #[inline]
    fn row(&mut self, _key: AnyKey, _mark: u64) {}

    /// Called when the scan came to the end of its range.
    #[inline]
    fn scanned(&mut self) {}

    /// Called when a commit replaced `_before`, as storage held it, by `_after`, which carries no mark of an observer
    /// if the schema does not mark values. Called once for each record that the attempt changed.
    #[inline]
    fn installed<S: Shape>(
        &mut self,
        _record: RecordRef<'_, S>,
        _before: Option<&[u64]>,
        _after: Option<&[u64]>,
    ) {
    }

    /// Called when the attempt ended.
    #[inline]
    fn outcome(&mut self, _outcome: Result<Stamp, Abort>) {}
}

impl Observer for () {
    #[inline]
    fn listens(&self) -> bool {
        false
    }
}

impl<O: Observer> Observer for Option<O> {
    const ANY_WIDTH: bool = O::ANY_WIDTH;

    #[inline]
    fn listens(&self) -> bool {
        self.as_ref().is_some_and(O::listens)
    }

    #[inline]
    fn marks(&self) -> bool {
        self.as_ref().is_some_and(O::marks)
    }

    #[inline]
    fn begin(&mut self) {
        if let Some(it) = self {
            it.begin();
        }
    }

    #[inline]
    fn read(&mut self, facet: Facet, key: AnyKey, mark: Option<u64>) {
        if let Some(it) = self {
            it.read(facet, key, mark);
        }
    }

    #[inline]
    fn write(&mut self, record: usize, facet: Facet, key: AnyKey, deletes: bool) -> u64 {
        self.as_mut().map_or(0, |it| it.write(record, facet, key, deletes))
    }

    #[inline]
    fn entries(&mut self, record: usize, facet: Facet, from: &SecondaryKeys, to: &SecondaryKeys) {
        if let Some(it) = self {
            it.entries(record, facet, from, to);
        }
    }

    #[inline]
    fn scan(
        &mut self,
        facet: Facet,
        words: usize,
        keys: (Bound<AnyKey>, Bound<AnyKey>),
        direction: Direction,
    ) {
        if let Some(it) = self {
            it.scan(facet, words, keys, direction);
        }
    }

    #[inline]
    fn row(&mut self, key: AnyKey, mark: u64) {
        if let Some(it) = self {
            it.row(key, mark);
        }
    }

    #[inline]
    fn scanned(&mut self) {
        if let Some(it) = self {
            it.scanned();
        }
    }

    #[inline]
    fn installed<S: Shape>(
        &mut self,
        record: RecordRef<'_, S>,
        before: Option<&[u64]>,
        after: Option<&[u64]>,
    ) {
        if let Some(it) = self {
            it.installed(record, before, after);
        }
    }

    #[inline]
    fn outcome(&mut self, outcome: Result<Stamp, Abort>) {
        if let Some(it) = self {
            it.outcome(outcome);
        }
    }
}

/// The words of a row, without their mark if it has one.
#[inline]
pub(crate) fn row_words(has_mark: bool, words: &[u64]) -> &[u64] {
    if has_mark { words.split_last().expect("a marked row has a word more").1 } else { words }
}

/// The words of a row, without their mark if it has one, to be changed.
#[inline]
pub(crate) fn row_words_mut(has_mark: bool, words: &mut [u64]) -> &mut [u64] {
    if has_mark { words.split_last_mut().expect("a marked row has a word more").1 } else { words }
}

/// The mark after the words of a row.
#[inline]
pub(crate) fn mark_of(words: &[u64]) -> u64 {
    *words.last().expect("a marked row has a word more")
}

/// Writes the mark after the words of a row.
#[inline]
pub(crate) fn set_mark(words: &mut [u64], mark: u64) {
    *words.last_mut().expect("a marked row has a word more") = mark;
}

/// Gives the sessions of a run their observers and their sinks.
pub trait Observe: Sync {
    /// The observer of a session.
    type Observer: Observer + Send;
    /// The sink of a session, for its log.
    type Sink: Sink + Send;

    /// Makes an observer for another session.
    fn observer(&self) -> Self::Observer;

    /// Makes a sink for another session.
    fn sink(&self) -> Self::Sink;

    /// A number for everything that has committed so far, as far as the caller can have seen it: clients hear of these
    /// commits when the number is assured. `None` if they hear at once. Either there always is such a number in a run,
    /// or never. A later commit never waits for a smaller number.
    ///
    /// A driver asks after a client's transaction has committed, or after those of a batch have: an implementation that
    /// promises durable commits defines here when they are durable.
    #[inline]
    fn present(&self) -> Option<u64> {
        None
    }

    /// Whether clients may hear of the commits that wait for this number, or for a smaller one.
    #[inline]
    fn is_assured(&self, _present: u64) -> bool {
        true
    }

    /// Waits until clients may hear of them. On a fiber, other fibers run meanwhile.
    #[inline]
    fn assure(&self, _present: u64) {}
}

impl Observe for () {
    type Observer = ();
    type Sink = ();

    fn observer(&self) {}

    fn sink(&self) {}
}

/// Runs that may be observed, of one type: those of `None` are not.
impl<V: Observe<Sink = ()>> Observe for Option<V> {
    type Observer = Option<V::Observer>;
    type Sink = ();

    fn observer(&self) -> Self::Observer {
        self.as_ref().map(V::observer)
    }

    fn sink(&self) {}

    #[inline]
    fn present(&self) -> Option<u64> {
        self.as_ref().and_then(V::present)
    }

    #[inline]
    fn is_assured(&self, present: u64) -> bool {
        self.as_ref().is_none_or(|it| it.is_assured(present))
    }

    #[inline]
    fn assure(&self, present: u64) {
        if let Some(it) = self {
            it.assure(present);
        }
    }
}
