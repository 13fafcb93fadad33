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

/// Hears of what attempts see and do, or of a part of it. `()` hears nothing and compiles to nothing.
///
/// The value itself tells which value was read: each value carries a *mark* of its writer. The observer so hears of the
/// value that a read really returned, and not of the value that a scheme's metadata claims.
pub trait Observer {
    /// Whether the observer listens.
    const ON: bool;
    /// Whether the observer marks values. The database is then made from a schema that [marks
    /// values](crate::Schema::mark_values), and for no other observer.
    const MARKS: bool = false;

    /// Whether the observer listens, for callers that have an observer of any type.
    #[inline]
    fn listens(&self) -> bool {
        Self::ON
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
    const ON: bool = false;
}

/// The words of a row, without their mark.
#[inline]
pub(crate) fn row_words<O: Observer>(words: &[u64]) -> &[u64] {
    if O::MARKS { words.split_last().expect("a marked row has a word more").1 } else { words }
}

/// The words of a row, without their mark, to be changed.
#[inline]
pub(crate) fn row_words_mut<O: Observer>(words: &mut [u64]) -> &mut [u64] {
    if O::MARKS { words.split_last_mut().expect("a marked row has a word more").1 } else { words }
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
