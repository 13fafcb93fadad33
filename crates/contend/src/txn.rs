//! The calls of a transaction's body: rows by their types for the caller, words for the engine.

use core::fmt;
use core::ops::{ControlFlow, Deref, DerefMut, RangeBounds};

use engine::{Abort, AnyKey, Direction, RawTxn, TableId, Which};
use sync::Arc;
use zerocopy::IntoBytes;

use crate::counters::{Event, Tally};
use crate::error::{Conflict, Error, Misuse};
use crate::key::{Key, any, bounds, primary, secondary_bounds};
use crate::scan::{PAGE_ROWS, Range, Scan};
use crate::store::Store;
use crate::table::{Handle, Index, Table};
use crate::value::{Bound, NamedTable};

/// A read-only transaction. The errors of its calls are passed on with `?`: after an error the attempt cannot commit.
pub struct Reader<'t> {
    pub(crate) raw: &'t mut (dyn RawTxn + 't),
    database: usize,
    tables: &'t [Arc<Bound>],
    /// A buffer for the words of a row that is put together of its column groups.
    row: &'t mut Vec<u64>,
    /// The first misuse that the engine does not know of.
    pub(crate) misuse: Option<Misuse>,
    /// Whether a column group had changed between its read and its write.
    pub(crate) has_changed: bool,
}

/// A transaction that reads and writes: see [`Reader`] for the reads.
pub struct Txn<'t> {
    pub(crate) reader: Reader<'t>,
    pub(crate) room: Room<'t>,
}

/// The parts that an insert needs beside the engine: a buffer, and the state of the memory limit.
pub(crate) struct Room<'t> {
    pub(crate) store: &'t dyn Store,
    pub(crate) tally: &'t Tally,
    pub(crate) limit_bytes: Option<usize>,
    /// Bytes that an insert may take until the memory in use is checked again.
    pub(crate) insert_bytes: usize,
    /// Inserts until the memory in use is checked again.
    pub(crate) until_weighing: &'t mut u32,
    pub(crate) scratch: &'t mut Vec<u64>,
}

impl Room<'_> {
    /// Lends the room to one attempt.
    pub(crate) fn lend(&mut self) -> Room<'_> {
        let Self { store, tally, limit_bytes, insert_bytes, until_weighing, scratch } = self;
        Room {
            store: *store,
            tally,
            limit_bytes: *limit_bytes,
            insert_bytes: *insert_bytes,
            until_weighing,
            scratch,
        }
    }

    /// Returns a buffer of `words` words, all zero.
    pub(crate) fn words(&mut self, words: usize) -> &mut [u64] {
        self.scratch.clear();
        self.scratch.resize(words, 0);
        self.scratch
    }

    /// Refuses an insert if the memory limit is reached.
    #[inline]
    fn admit(&mut self) -> Result<(), Error> {
        let Some(limit_bytes) = self.limit_bytes else { return Ok(()) };
        if *self.until_weighing > 0 {
            *self.until_weighing -= 1;
            return Ok(());
        }
        self.weigh(limit_bytes)
    }

    #[cold]
    fn weigh(&mut self, limit_bytes: usize) -> Result<(), Error> {
        const SELDOM: usize = 4_096;
        let used_bytes = self.store.bytes();
        if used_bytes >= limit_bytes {
            self.tally.count(Event::MemoryRefusal);
            return Err(Error::MemoryFull { used_bytes, limit_bytes });
        }
        *self.until_weighing = ((limit_bytes - used_bytes) / self.insert_bytes).min(SELDOM) as u32;
        Ok(())
    }
}

impl<'t> Reader<'t> {
    pub(crate) fn new(
        raw: &'t mut (dyn RawTxn + 't),
        database: usize,
        tables: &'t [Arc<Bound>],
        row: &'t mut Vec<u64>,
    ) -> Self {
        Self { raw, database, tables, row, misuse: None, has_changed: false }
    }

    /// Records a misuse, so that the transaction fails even if the body ignores the error.
    fn refuse(&mut self, misuse: Misuse) -> Error {
        self.misuse.get_or_insert_with(|| misuse.clone());
        misuse.into()
    }

    /// Records a misuse that the engine does not see.
    pub(crate) fn checked<O>(&mut self, called: Result<O, Misuse>) -> Result<O, Error> {
        called.map_err(|misuse| self.refuse(misuse))
    }

    /// Refuses the handle of another database.
    #[inline]
    pub(crate) fn check(&mut self, database: usize) -> Result<(), Error> {
        if database == self.database { Ok(()) } else { Err(self.foreign()) }
    }

    #[cold]
    fn foreign(&mut self) -> Error {
        self.refuse(Misuse::new("the handle is of another database: get it from this one"))
    }

    /// Reads a row: `None` when the key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    #[inline]
    pub fn get<T: Table>(&mut self, table: Handle<T>, key: T::Key) -> Result<Option<T>, Error> {
        self.check(table.database)?;
        let at = any(&key);
        if T::GROUPS > 1 {
            let is_there = self.gather(table.id, at)?;
            return Ok(is_there.then(|| T::read(key, self.row.as_bytes())));
        }
        let (mut key, mut row) = (Some(key), None);
        self.raw.get(table.id, 0, at, &mut |words| {
            row = key.take().map(|key| T::read(key, words.as_bytes()));
        })?;
        Ok(row)
    }

    /// Reads a row and returns the result of `see`: `None` when the key is not there. For wide rows, which
    /// [`get`](Self::get) would move.
    ///
    /// # Errors
    /// A conflict, or misuse.
    #[inline]
    pub fn get_with<T: Table, O>(
        &mut self,
        table: Handle<T>,
        key: T::Key,
        see: impl FnOnce(&T) -> O,
    ) -> Result<Option<O>, Error> {
        self.check(table.database)?;
        let at = any(&key);
        if T::GROUPS > 1 {
            let is_there = self.gather(table.id, at)?;
            return Ok(is_there.then(|| see(&T::read(key, self.row.as_bytes()))));
        }
        let (mut given, mut output) = (Some((key, see)), None);
        self.raw.get(table.id, 0, at, &mut |words| {
            output = given.take().map(|(key, see)| see(&T::read(key, words.as_bytes())));
        })?;
        Ok(output)
    }

    /// Puts a row together of its column groups in `self.row`: `false` when the key is not there.
    fn gather(&mut self, table: TableId, key: AnyKey) -> Result<bool, Error> {
        let Self { raw, row, tables, .. } = self;
        row.clear();
        for (group, words) in tables[usize::from(table.0)].arranged.groups.iter().enumerate() {
            let is_there = raw.get(table, group, key, &mut |own| {
                row.truncate(words.start);
                row.extend_from_slice(own);
            })?;
            if !is_there {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Prefetches rows that will be read soon, so that their memory is loaded while other rows are read. It is a hint,
    /// useful for several keys of a big table that are known before the first of them is needed. Missing keys are
    /// skipped, and a prefetch is not a read.
    ///
    /// ```
    /// # use contend::{Database, Options, Table};
    /// # #[derive(Table)]
    /// # #[table(point)]
    /// # struct Account { #[key] id: u64, cents: i64 }
    /// # let db = Database::in_memory(Options::new().table::<Account>())?;
    /// # let accounts = db.table::<Account>()?;
    /// # db.transact(|txn| txn.insert(accounts, &Account { id: 3, cents: 5 }))?;
    /// let wanted = [3, 1_000_007, 59];
    /// let cents = db.snapshot(|txn| {
    ///     txn.prefetch(accounts, wanted);
    ///     wanted.iter().try_fold(0, |sum, id| {
    ///         Ok(sum + txn.get(accounts, *id)?.map_or(0, |account| account.cents))
    ///     })
    /// })?;
    /// # assert_eq!(cents, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefetch<T: Table>(&mut self, table: Handle<T>, keys: impl IntoIterator<Item = T::Key>) {
        self.ask_for(table, 0..T::GROUPS, keys);
    }

    /// Prefetches column groups of rows.
    pub(crate) fn ask_for<T: Table>(
        &mut self,
        table: Handle<T>,
        groups: core::ops::Range<usize>,
        keys: impl IntoIterator<Item = T::Key>,
    ) {
        // About the number of cache misses that a core has in flight.
        const AT_A_TIME: usize = 16;
        let mut some = [AnyKey::One(0); AT_A_TIME];
        let (mut keys, mut count) = (keys.into_iter(), 0);
        loop {
            let next = keys.next();
            if let Some(key) = &next {
                some[count] = any(key);
                count += 1;
            }
            if count == AT_A_TIME || next.is_none() {
                // For a handle of another database nothing is prefetched; the read that follows returns the error.
                if table.database == self.database {
                    self.raw.prefetch(table.id, groups.clone(), &some[..count]);
                }
                count = 0;
            }
            if next.is_none() {
                return;
            }
        }
    }

    /// Whether a key is there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "as every other call")]
    pub fn contains<T: Table>(&mut self, table: Handle<T>, key: T::Key) -> Result<bool, Error> {
        self.check(table.database)?;
        Ok(self.raw.get(table.id, 0, any(&key), &mut |_| ())?)
    }

    /// Returns the rows whose keys are in a range, in the order of their keys. Rows are read a page at a time, so that
    /// a caller that stops early has read only few rows more than it was given.
    ///
    /// ```
    /// # use contend::{Database, Options, Table};
    /// # #[derive(Table)]
    /// # struct Account { #[key] id: u64, cents: i64 }
    /// # let db = Database::in_memory(Options::new().table::<Account>())?;
    /// # let accounts = db.table::<Account>()?;
    /// # db.transact(|txn| txn.insert(accounts, &Account { id: 7, cents: 500 }))?;
    /// let sum = db.snapshot(|txn| {
    ///     txn.scan(accounts, 0..1_000).map(|account| Ok(account?.cents)).sum::<Result<i64, _>>()
    /// })?;
    /// # assert_eq!(sum, 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan<T: Table>(&mut self, table: Handle<T>, keys: impl RangeBounds<T::Key>) -> Scan<'_, 't, T> {
        Scan::new(
            self,
            table,
            Range { which: Which::Primary, keys: bounds(&keys), direction: Direction::Forward },
        )
    }

    /// Returns the rows whose secondary keys are in a range, in the order of these keys, and rows with the same
    /// secondary key in the order of their primary keys. Otherwise like [`scan`](Self::scan).
    pub fn scan_by<T: Table, K: Key>(
        &mut self,
        table: Handle<T>,
        index: Index<T, K>,
        keys: impl RangeBounds<K>,
    ) -> Scan<'_, 't, T> {
        let keys = secondary_bounds(&keys, T::Key::BYTES);
        let which = Which::Secondary { group: 0, position: index.position };
        Scan::new(self, table, Range { which, keys, direction: Direction::Forward })
    }

    /// Visits the rows whose keys are in a range, until `see` breaks.
    ///
    /// # Errors
    /// A conflict, or misuse.
    pub fn visit<T: Table>(
        &mut self,
        table: Handle<T>,
        keys: impl RangeBounds<T::Key>,
        direction: Direction,
        mut see: impl FnMut(T) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let range = Range { which: Which::Primary, keys: bounds(&keys), direction };
        self.walk(table, range, &mut |_, row| see(row))
    }

    /// Visits the rows whose secondary keys are in a range, until `see` breaks.
    ///
    /// # Errors
    /// A conflict, or misuse.
    pub fn visit_by<T: Table, K: Key>(
        &mut self,
        table: Handle<T>,
        index: Index<T, K>,
        keys: impl RangeBounds<K>,
        direction: Direction,
        mut see: impl FnMut(T) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let which = Which::Secondary { group: 0, position: index.position };
        let range = Range { which, keys: secondary_bounds(&keys, T::Key::BYTES), direction };
        self.walk(table, range, &mut |_, row| see(row))
    }

    /// Visits the rows of a range with their keys in its index.
    pub(crate) fn walk<T: Table>(
        &mut self,
        table: Handle<T>,
        range: Range,
        see: &mut dyn FnMut(AnyKey, T) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.check(table.database)?;
        let see = &mut |key, words: &[u64]| see(key, T::read(primary(key), words.as_bytes()));
        if T::GROUPS > 1 {
            self.walk_gathered(table.id, range, see)
        } else {
            self.walk_words(table.id, 0, range, see)
        }
    }

    /// Like [`walk_words`](Self::walk_words), for a table with several column groups. Keys are read a page at a time.
    /// All groups of a row are read just before the row is passed to `see`.
    fn walk_gathered(
        &mut self,
        table: TableId,
        mut range: Range,
        see: &mut dyn FnMut(AnyKey, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let bound = &*self.tables[usize::from(table.0)];
        let groups = 0..bound.arranged.groups.len();
        let (mut keys, mut own) = (Vec::new(), Vec::new());
        let mut page_rows = PAGE_ROWS.0;
        loop {
            keys.clear();
            self.walk_words(table, 0, range, &mut |key, _| {
                keys.push(key);
                if keys.len() < page_rows { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            own.clear();
            own.extend(keys.iter().map(|key| bound.primary_of(*key)));
            self.raw.prefetch(table, groups.clone(), &own);
            for (key, own) in keys.iter().zip(&own) {
                // Under weaker isolation, the row may have been deleted by now.
                if self.gather(table, *own)? && see(*key, self.row).is_break() {
                    return Ok(());
                }
            }
            let Some(last) = keys.last().filter(|_| keys.len() == page_rows) else { return Ok(()) };
            range.cut(*last);
            page_rows = (2 * page_rows).min(PAGE_ROWS.1);
        }
    }

    /// Like [`walk_words`](Self::walk_words), for any table.
    fn walk_any(
        &mut self,
        table: &NamedTable,
        range: Range,
        see: &mut dyn FnMut(AnyKey, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        if table.bound.arranged.groups.len() > 1 {
            self.walk_gathered(table.id, range, see)
        } else {
            self.walk_words(table.id, 0, range, see)
        }
    }

    /// Visits a column group of the rows of a range.
    pub(crate) fn walk_words(
        &mut self,
        table: TableId,
        group: usize,
        range: Range,
        see: &mut dyn FnMut(AnyKey, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        if range.is_empty() {
            return Ok(());
        }
        let Range { which, keys, direction } = range;
        Ok(self.raw.scan(table, group, which, keys, direction, see)?)
    }

    /// Reads a row of a table whose columns are known only at run time: `None` when the key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    pub fn get_values(
        &mut self,
        table: &NamedTable,
        key: &[crate::Value],
    ) -> Result<Option<Vec<crate::Value>>, Error> {
        self.check(table.database)?;
        let key = self.checked(table.bound.key(key))?;
        let is_there = self.gather(table.id, key)?;
        Ok(is_there.then(|| table.bound.join(key, self.row.as_bytes())))
    }

    /// Visits the rows whose keys are in a range, until `see` breaks, in a table whose columns are known only at run
    /// time. The keys are primary keys, or keys of the named index.
    ///
    /// # Errors
    /// A conflict, or misuse.
    pub fn visit_values(
        &mut self,
        table: &NamedTable,
        index: Option<&str>,
        keys: (core::ops::Bound<&[crate::Value]>, core::ops::Bound<&[crate::Value]>),
        direction: Direction,
        mut see: impl FnMut(Vec<crate::Value>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.check(table.database)?;
        let range = self.checked(Range::of_values(&table.bound, index, keys, direction))?;
        self.walk_any(table, range, &mut |key, words| see(table.bound.join(key, words.as_bytes())))
    }
}

impl<'t> Txn<'t> {
    pub(crate) fn new(reader: Reader<'t>, room: Room<'t>) -> Self {
        Self { reader, room }
    }

    /// Inserts a row: `false` when its key is there already.
    ///
    /// # Errors
    /// A conflict, misuse, or [`Error::MemoryFull`], after which the transaction may go on.
    pub fn insert<T: Table>(&mut self, table: Handle<T>, row: &T) -> Result<bool, Error> {
        self.check(table.database)?;
        self.room.admit()?;
        let words = self.words(table.id);
        row.write(words.as_mut_bytes());
        let key = any(&row.key());
        if T::GROUPS > 1 {
            return self.insert_groups(table.id, key);
        }
        Ok(self.reader.raw.insert(table.id, key, &[self.room.scratch.as_slice()])?)
    }

    /// Inserts a row of several column groups, whose words are in `room.scratch`.
    fn insert_groups(&mut self, table: TableId, key: AnyKey) -> Result<bool, Error> {
        let groups = self.reader.tables[usize::from(table.0)].arranged.groups.iter();
        let groups: Vec<&[u64]> = groups.map(|words| &self.room.scratch[words.clone()]).collect();
        Ok(self.reader.raw.insert(table, key, &groups)?)
    }

    /// Overwrites a row with the words in `room.scratch`, one column group after the other.
    fn replace_groups(&mut self, table: TableId, key: AnyKey) -> Result<bool, Error> {
        let groups = self.reader.tables[usize::from(table.0)].arranged.groups.iter();
        for (group, words) in groups.enumerate() {
            if !self.reader.raw.replace(table, group, key, &self.room.scratch[words.clone()])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Overwrites a row: `false` when its key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    pub fn replace<T: Table>(&mut self, table: Handle<T>, row: &T) -> Result<bool, Error> {
        self.check(table.database)?;
        let words = self.words(table.id);
        row.write(words.as_mut_bytes());
        self.replace_groups(table.id, any(&row.key()))
    }

    /// Overwrites a row, or inserts it when its key is not there. Returns whether the row was inserted.
    ///
    /// # Errors
    /// A conflict, misuse, or [`Error::MemoryFull`], after which the transaction may go on.
    pub fn put<T: Table>(&mut self, table: Handle<T>, row: &T) -> Result<bool, Error> {
        if self.replace(table, row)? {
            return Ok(false);
        }
        // Under some schemes another transaction may have inserted the row meanwhile; then the attempt will not commit.
        self.insert(table, row)
    }

    /// Reads a row, changes it by `change`, and writes it. Returns the result of `change`: `None` when the key is not
    /// there. The key must stay the same. In a table with [column groups](crate::ColumnGroup) all groups are read, and
    /// those that have changed are written.
    ///
    /// # Errors
    /// A conflict, or misuse, for example a change of the key.
    pub fn update<T: Table, O>(
        &mut self,
        table: Handle<T>,
        key: T::Key,
        change: impl FnOnce(&mut T) -> O,
    ) -> Result<Option<O>, Error> {
        self.check(table.database)?;
        if T::GROUPS > 1 {
            return self.update_groups(table, key, change);
        }
        let (at, mut given) = (any(&key), Some((key, change)));
        let (mut output, mut is_moved) = (None, false);
        self.reader.raw.update(table.id, 0, at, &mut |words| {
            let Some((key, change)) = given.take() else { return };
            let mut row = T::read(key, words.as_bytes());
            output = Some(change(&mut row));
            is_moved = any(&row.key()) != at;
            if !is_moved {
                row.write(words.as_mut_bytes());
            }
        })?;
        if is_moved { Err(self.has_moved(table.id)) } else { Ok(output) }
    }

    /// Like [`update`](Self::update), for several column groups.
    fn update_groups<T: Table, O>(
        &mut self,
        table: Handle<T>,
        key: T::Key,
        change: impl FnOnce(&mut T) -> O,
    ) -> Result<Option<O>, Error> {
        let at = any(&key);
        if !self.reader.gather(table.id, at)? {
            return Ok(None);
        }
        let mut row = T::read(key, self.reader.row.as_bytes());
        let output = change(&mut row);
        if any(&row.key()) != at {
            return Err(self.has_moved(table.id));
        }
        row.write(self.words(table.id).as_mut_bytes());
        let Reader { raw, tables, row: before, has_changed, .. } = &mut self.reader;
        for (group, words) in tables[usize::from(table.id.0)].arranged.groups.iter().enumerate() {
            let (before, after) = (&before[words.clone()], &self.room.scratch[words.clone()]);
            if before == after {
                continue;
            }
            // Under weaker isolation, another transaction may have changed the group since it was read; that write
            // would be lost.
            let mut is_same = false;
            let is_there = raw.update(table.id, group, at, &mut |own| {
                is_same = own == before;
                own.copy_from_slice(after);
            })?;
            if !is_there || !is_same {
                *has_changed = true;
                return Err(Error::Conflict(Conflict(Abort::ReadChanged)));
            }
        }
        Ok(Some(output))
    }

    #[cold]
    fn has_moved(&mut self, table: TableId) -> Error {
        let name = self.reader.tables[usize::from(table.0)].definition.name();
        let says =
            format!("table `{name}`: an update may not change the key: delete the row and insert another");
        self.refuse(Misuse::new(says))
    }

    /// Adds the sums of `amounts` to the row with the key of `amounts`, without reading that row: `false` when the key
    /// is not there.
    ///
    /// ```
    /// # use contend::{Database, Options, Sum, Table};
    /// #[derive(Table)]
    /// struct Visits {
    ///     #[key]
    ///     page: u64,
    ///     visits: Sum,
    ///     bytes: Sum,
    /// }
    ///
    /// # let db = Database::in_memory(Options::new().table::<Visits>())?;
    /// # let visits = db.table::<Visits>()?;
    /// db.transact(|txn| txn.insert(visits, &Visits { page: 7, visits: Sum(0), bytes: Sum(0) }))?;
    /// db.transact(|txn| txn.add(visits, &Visits { page: 7, visits: Sum(1), bytes: Sum(3_000) }))?;
    /// # assert_eq!(db.transact(|txn| txn.get(visits, 7))?.map(|row| row.bytes), Some(Sum(3_000)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A conflict, or misuse: the table has other columns than [`Sum`](crate::Sum)s beside its key, or a secondary
    /// index. Put sums that stand among other columns into a [column group](crate::ColumnGroup).
    pub fn add<T: Table>(&mut self, table: Handle<T>, amounts: &T) -> Result<bool, Error> {
        self.check(table.database)?;
        let words = self.words(table.id);
        amounts.write(words.as_mut_bytes());
        let key = any(&amounts.key());
        let groups = self.reader.tables[usize::from(table.id.0)].arranged.groups.iter();
        for (group, words) in groups.enumerate() {
            if !self.reader.raw.add(table.id, group, key, &self.room.scratch[words.clone()])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Deletes a row: `false` when the key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    #[expect(clippy::needless_pass_by_value, reason = "as every other call")]
    pub fn delete<T: Table>(&mut self, table: Handle<T>, key: T::Key) -> Result<bool, Error> {
        self.check(table.database)?;
        Ok(self.reader.raw.delete(table.id, any(&key))?)
    }

    /// Inserts a row into a table whose columns are known only at run time: `false` when its key is there already.
    ///
    /// # Errors
    /// A conflict, misuse, or [`Error::MemoryFull`], after which the transaction may go on.
    pub fn insert_values(&mut self, table: &NamedTable, row: &[crate::Value]) -> Result<bool, Error> {
        self.check(table.database)?;
        self.room.admit()?;
        let key = self.split(table, row)?;
        self.insert_groups(table.id, key)
    }

    /// Overwrites a row of a table whose columns are known only at run time: `false` when its key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    pub fn replace_values(&mut self, table: &NamedTable, row: &[crate::Value]) -> Result<bool, Error> {
        self.check(table.database)?;
        let key = self.split(table, row)?;
        self.replace_groups(table.id, key)
    }

    /// Deletes a row of a table whose columns are known only at run time: `false` when the key is not there.
    ///
    /// # Errors
    /// A conflict, or misuse.
    pub fn delete_values(&mut self, table: &NamedTable, key: &[crate::Value]) -> Result<bool, Error> {
        self.check(table.database)?;
        let key = self.reader.checked(table.bound.key(key))?;
        Ok(self.reader.raw.delete(table.id, key)?)
    }

    /// Returns a buffer for the words of a row of a table, all zero.
    fn words(&mut self, table: TableId) -> &mut [u64] {
        let words = self.reader.tables[usize::from(table.0)].arranged.row_words();
        self.room.words(words)
    }

    /// Returns the key of a row, and puts the row's words into `room.scratch`.
    fn split(&mut self, table: &NamedTable, row: &[crate::Value]) -> Result<AnyKey, Error> {
        let key = table.bound.split(row, self.words(table.id).as_mut_bytes());
        self.reader.checked(key)
    }
}

impl<'t> Deref for Txn<'t> {
    type Target = Reader<'t>;

    fn deref(&self) -> &Reader<'t> {
        &self.reader
    }
}

impl DerefMut for Txn<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.reader
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

impl fmt::Debug for Txn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Txn")
    }
}
