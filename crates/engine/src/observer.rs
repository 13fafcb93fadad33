//! The seam of the history recorder: what hears of each read, write, scan, install and outcome.

use core::ops::Bound;

use storage::{AnyKey, Direction, IndexedKey, RecordRef, Shape, TableId, Which};

use crate::{Abort, Sink, Stamp};

/// A column group as one of its table's indexes shows it: what a history calls a table, since reads of different
/// column groups do not conflict, and the ranges of a secondary index are its own. Groups that share a record are
/// one, the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facet {
    /// The table.
    pub table: TableId,
    /// The column group.
    pub group: usize,
    /// The secondary index of that group, or none: by primary key.
    pub index: Option<u16>,
}

impl Facet {
    /// A column group by primary key.
    #[inline]
    pub const fn primary(table: TableId, group: usize) -> Self {
        Self { table, group, index: None }
    }

    /// What an index shows of a column group.
    #[inline]
    pub const fn of(table: TableId, which: Which, group: usize) -> Self {
        match which {
            Which::Primary => Self::primary(table, group),
            Which::Secondary { position, .. } => Self { table, group, index: Some(position) },
        }
    }
}

/// Hears what attempts see and do, or a part of it. `()` hears nothing and compiles to nothing.
///
/// Which value was read is told by the value itself: each carries a *mark* of its writer's, so that what is heard is
/// what a read really returned, and not what a scheme's metadata claims.
pub trait Observer {
    /// Whether it listens.
    const ON: bool;
    /// Whether it gives values marks. Its database is made from a schema that
    /// [marks values](crate::Schema::mark_values), and no other observer's is.
    const MARKS: bool = false;

    /// Whether it listens, for whoever has one of any type.
    #[inline]
    fn listens(&self) -> bool {
        Self::ON
    }

    /// An attempt begins.
    #[inline]
    fn begin(&mut self) {}

    /// An attempt saw the value with this mark under a key, or that there is none. Only if values have marks.
    #[inline]
    fn read<K: IndexedKey>(&mut self, _facet: Facet, _key: K, _mark: Option<u64>) {}

    /// An attempt gives the record of this id, which it has under a primary key, a value, or takes it away: the
    /// mark of the value. Only if values have marks.
    #[inline]
    fn write<K: IndexedKey>(&mut self, _record: usize, _facet: Facet, _key: K, _deletes: bool) -> u64 {
        0
    }

    /// The write before this changed what secondary indexes show: the row stood under the first keys, by position,
    /// and stands under the second. Only if values have marks.
    #[inline]
    fn entries(
        &mut self,
        _record: usize,
        _facet: Facet,
        _from: &[Option<AnyKey>; 2],
        _to: &[Option<AnyKey>; 2],
    ) {
    }

    /// An attempt begins to scan a range of keys. Its rows follow, and nothing else before the scan is over. Only
    /// if values have marks.
    #[inline]
    fn scan<K: IndexedKey>(&mut self, _facet: Facet, _keys: (Bound<K>, Bound<K>), _direction: Direction) {}

    /// The scan came to a row.
    #[inline]
    fn row<K: IndexedKey>(&mut self, _key: K, _mark: u64) {}

    /// The scan came to the end of its range.
    #[inline]
    fn scanned(&mut self) {}

    /// A commit replaced `before`, as storage held it, by `after`, which no observer has marked if the schema does
    /// not mark values. Each record that the attempt changed is told of once.
    #[inline]
    fn installed<S: Shape>(
        &mut self,
        _record: RecordRef<'_, S>,
        _before: Option<&[u64]>,
        _after: Option<&[u64]>,
    ) {
    }

    /// The attempt ended.
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

/// The mark behind the words of a row.
#[inline]
pub(crate) fn mark_of(words: &[u64]) -> u64 {
    *words.last().expect("a marked row has a word more")
}

/// Writes the mark behind the words of a row.
#[inline]
pub(crate) fn set_mark(words: &mut [u64], mark: u64) {
    *words.last_mut().expect("a marked row has a word more") = mark;
}

/// Gives the sessions of a run their observers and their sinks.
pub trait Observe: Sync {
    /// What a session is given to be observed.
    type Observer: Observer + Send;
    /// What a session is given to be logged.
    type Sink: Sink + Send;

    /// An observer for one session more.
    fn observer(&self) -> Self::Observer;

    /// A sink for one session more.
    fn sink(&self) -> Self::Sink;

    /// What all that has committed so far waits for before clients hear of it, as far as the caller can have seen it;
    /// none if they hear at once. Either there always is such a number in a run, or never; what commits later never
    /// waits for a smaller one.
    ///
    /// A driver asks after a client's transaction has committed, or after those of a batch have: who promises that
    /// commits are durable says here when they are.
    #[inline]
    fn present(&self) -> Option<u64> {
        None
    }

    /// Whether clients may hear of what waits for this number: of all that waits for a smaller one, too.
    #[inline]
    fn is_assured(&self, _present: u64) -> bool {
        true
    }

    /// Waits until they may. On a fiber, others run meanwhile.
    #[inline]
    fn assure(&self, _present: u64) {}
}

impl Observe for () {
    type Observer = ();
    type Sink = ();

    fn observer(&self) {}

    fn sink(&self) {}
}
