//! The rows that a request is known to touch before it is executed.

use core::fmt;

use storage::{AnyKey, Index, IndexOn, IndexedKey, Key, OrderedKey, Row, Table, TableId, Which};

/// The rows that an input is known to read and to write: see [`Workload::footprint`](crate::Workload::footprint).
///
/// Two callers ask for it. One places requests, and takes rows as numbers: different rows, and different column groups
/// of a row, have different numbers, except with a probability of one in 2^64. Schemes that [plan](crate::Planning)
/// take the keys themselves, if all of them are stated, in place of a rehearsal.
///
/// A footprint may be incomplete, and may have rows that are not touched after all. It decides only where, when and how
/// fast a request is executed, and never whether its result is correct. Rows that are added in the order in which they
/// are touched are found without a further search.
#[derive(Clone, Default)]
pub struct InputFootprint {
    reads: Vec<u64>,
    writes: Vec<u64>,
    /// The touched rows and keys instead, if these are asked for.
    keys: Vec<KnownKey>,
    takes_keys: bool,
    is_complete: bool,
}

/// A key that an input is known to touch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownKey {
    pub(crate) table: TableId,
    pub(crate) group: u16,
    pub(crate) key: AnyKey,
    pub(crate) how: Known,
}

/// The way in which a key is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Its row is read.
    Read,
    /// Its row is written once more, whether or not it is read before.
    Write,
    /// It is added to an index.
    Insert(Which),
}

impl InputFootprint {
    /// An empty footprint that takes keys, and not numbers of rows.
    pub fn of_keys() -> Self {
        Self { takes_keys: true, ..Self::default() }
    }

    /// Adds a row that is read and not written.
    #[inline]
    pub fn read<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) {
        self.add(table, key, Known::Read);
    }

    /// Adds a row that is read, and that no transaction writes: requests are not placed by it.
    #[inline]
    pub fn read_fixed<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) {
        if self.takes_keys {
            self.read(table, key);
        }
    }

    /// Adds a row that is written, whether or not it is read before. A row that is written several times is added as
    /// often.
    #[inline]
    pub fn write<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) {
        self.add(table, key, Known::Write);
    }

    /// Adds a row that is written or, if not `is_written`, read: for inputs of which no processor predicts this.
    #[inline]
    pub fn access<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key, is_written: bool) {
        self.add(table, key, if is_written { Known::Write } else { Known::Read });
    }

    /// Adds a row that only some executions of such an input write: requests are not placed by it.
    #[inline]
    pub fn may_write<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) {
        if self.takes_keys {
            self.write(table, key);
        }
    }

    /// Adds a row that is inserted, by a handle of the table's first column group.
    #[inline]
    pub fn insert<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) {
        self.add(table, key, Known::Insert(Which::Primary));
    }

    /// Adds a row that is inserted into a table whose rows are [numbered](storage::TableBuilder::numbered): of the key,
    /// the prefix is known. Requests are not placed by it.
    #[inline]
    pub fn insert_numbered<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) {
        if self.takes_keys {
            self.insert(table, key);
        }
    }

    /// Adds the secondary key of a row that is inserted into such a table.
    #[inline]
    pub fn insert_numbered_by<R: Row, I: IndexOn<R>>(&mut self, index: Index<R, I>, key: I::Key) {
        if self.takes_keys {
            let how = Known::Insert(index.which());
            self.push(index.table(), index.group(), key.ordered().any(), how);
        }
    }

    /// States that the input touches no other row or key, scans nothing and removes nothing. Keys that were added may
    /// be missing.
    #[inline]
    pub fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Adds a row as a key or as a number.
    #[inline]
    fn add<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key, how: Known) {
        if self.takes_keys {
            self.push(table.id(), table.group(), key.ordered().any(), how);
        } else {
            let numbers = if how == Known::Read { &mut self.reads } else { &mut self.writes };
            numbers.push(number(table, key));
        }
    }

    #[inline]
    fn push(&mut self, table: TableId, group: usize, key: AnyKey, how: Known) {
        self.keys.push(KnownKey { table, group: group as u16, key, how });
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.keys.clear();
        self.is_complete = false;
    }

    /// The rows that are read and not written.
    pub fn reads(&self) -> &[u64] {
        &self.reads
    }

    /// The rows that are written.
    pub fn writes(&self) -> &[u64] {
        &self.writes
    }

    /// All keys that the input touches, if it states them.
    ///
    /// # Panics
    /// When the footprint takes no keys.
    pub(crate) fn keys(&self) -> Option<&[KnownKey]> {
        assert!(self.takes_keys, "a footprint of numbers has no keys");
        self.is_complete.then_some(&self.keys)
    }

    /// Whether all rows of another footprint are among those of this one, as written if they are written there; `None`
    /// if this one does not [state](Self::complete) all that its input touches. Both take keys.
    pub fn states(&self, touched: &Self) -> Option<bool> {
        let knows = |touched: &KnownKey| {
            let is_it = |known: &KnownKey| {
                let place = |of: &KnownKey| (of.table, of.group, of.key);
                place(known) == place(touched) && (known.how != Known::Read || touched.how == Known::Read)
            };
            self.keys.iter().any(is_it)
        };
        self.is_complete.then(|| touched.keys.iter().all(knows))
    }
}

#[cfg(all(test, not(loom)))]
impl InputFootprint {
    /// The footprint with these numbers.
    pub(crate) fn of_numbers(reads: &[u64], writes: &[u64]) -> Self {
        Self { reads: reads.to_vec(), writes: writes.to_vec(), ..Self::default() }
    }
}

#[inline]
fn number<R: Row + ?Sized>(table: Table<R>, key: R::Key) -> u64 {
    let group = (u64::from(table.id().0) << 16 | table.group() as u64).hash();
    group.wrapping_add(key.ordered().hash()).hash()
}

impl fmt::Debug for InputFootprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFootprint")
            .field("reads", &self.reads.len())
            .field("writes", &self.writes.len())
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}
