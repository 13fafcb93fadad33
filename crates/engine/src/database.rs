//! A database: tables under a scheme; how it is loaded, and how it is inspected when nothing runs.

use core::cell::RefCell;
use core::convert::Infallible;
use core::ops::{Bound, ControlFlow, RangeBounds};

use stdx::history::Version;
use storage::{
    GroupVisit, Groups, Index, IndexOn, IndexVisit, Indexes, Key, Layout, LeafRef, NewRow, NoMemory, Placed,
    Row, RowRef, Schema, Slot, Table, TableMemory, Tables, Walker, Watcher, Which, row_of, words_of,
};
use sync::workers;

use crate::leftovers::Leftovers;
use crate::moves::Moves;
use crate::setting::{SettingError, Values};
use crate::{Direction, Env, Loader, Observer, Quiesced, Scheme, Session, Share, Sink, Workload};

/// Tables under a concurrency-control scheme.
#[derive(Debug)]
pub struct Database<S: Scheme> {
    tables: Tables<S>,
    scheme: S,
    leftovers: Leftovers,
    moves: Moves,
}

/// The reasons why a database was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MakeError {
    /// The settings contradict each other. Change them as the text says.
    Setting(SettingError),
    /// There is no memory for the expected rows. Expect fewer.
    Memory(NoMemory),
}

impl<S: Scheme> Database<S> {
    /// Makes an empty database.
    ///
    /// # Errors
    /// When the scheme's settings contradict each other, or there is no memory for the expected rows.
    pub fn new(schema: &Schema, values: &Values, env: Env) -> Result<Self, SettingError> {
        Self::try_new(schema, values, env).map_err(|error| match error {
            MakeError::Setting(error) => error,
            MakeError::Memory(error) => SettingError(error.to_string()),
        })
    }

    /// Like [`new`](Self::new), with an error that tells the two causes apart.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn try_new(schema: &Schema, values: &Values, env: Env) -> Result<Self, MakeError> {
        // A reader of the quiesced database looks at a few rows at a time, perhaps on every core.
        let slots = env.slots.max(View::<S>::NESTED * workers::cores());
        let scheme = S::new(values, Env { slots, ..env }).map_err(MakeError::Setting)?;
        let mut schema = schema.clone();
        if S::has_versions_apart(values) {
            schema.lay_out(Layout { has_versions_apart: true, ..schema.layout() });
        }
        let tables = Tables::try_new(&schema, slots, scheme.partitions(), scheme.keeps_versions())
            .map_err(MakeError::Memory)?;
        let moves = Moves::new(tables.iter().count());
        Ok(Self { tables, scheme, leftovers: Leftovers::default(), moves })
    }

    /// The tables.
    #[inline]
    pub fn tables(&self) -> &Tables<S> {
        &self.tables
    }

    /// The scheme.
    #[inline]
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// Rows and entries that are still to leave the indexes.
    #[inline]
    pub(crate) fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    /// Whether some leftovers may leave the indexes now: a hint.
    #[inline]
    pub(crate) fn may_unlink(&self) -> bool {
        self.leftovers.may_leave(|| self.scheme.watermark().unwrap_or_default())
    }

    /// Rows whose secondary keys change.
    #[inline]
    pub(crate) fn moves(&self) -> &Moves {
        &self.moves
    }

    /// Opens a session.
    ///
    /// # Panics
    /// When as many sessions are open as the database was made for.
    pub fn session(&self) -> Session<'_, S> {
        self.session_with((), ())
    }

    /// Opens a session whose history is observed and whose writes are logged.
    ///
    /// # Panics
    /// As [`session`](Self::session), and when the observer gives values marks and the schema does not, or the
    /// reverse.
    pub fn session_with<O: Observer, L: Sink>(&self, observer: O, sink: L) -> Session<'_, S, O, L> {
        assert_eq!(
            O::MARKS,
            self.tables.has_marks(),
            "values have marks if an observer gives them, and only then"
        );
        Session::new(self, self.scheme.attach(self.tables.slot()), observer, sink)
    }

    /// Loads a workload's first rows by several workers.
    pub fn load<W: Workload>(&self, workload: &W, loaders: usize) {
        let load = |index| {
            let mut loader = Load { db: self, slot: self.tables.slot(), row: Vec::new() };
            workload.load(Share { index, of: loaders }, &mut loader);
        };
        // One loader needs no thread of its own: then a schedule of workers begins with loaded tables.
        if loaders == 1 {
            load(0);
        } else {
            workers::run(loaders, false, load);
        }
    }

    /// Asks the system for `bytes` of memory ahead of time, by several workers, so that tables that grow
    /// while transactions run wait for no page faults.
    pub fn reserve(&self, bytes: usize, workers: usize) {
        workers::run(workers, false, |_| self.tables.reserve(bytes / workers));
    }

    /// A view of the database while no transaction runs.
    pub fn quiesced(&self) -> View<'_, S> {
        View { db: self, idle: RefCell::default() }
    }

    /// Bytes that rows, versions and indexes use, without those that are ready for reuse.
    pub fn bytes(&self) -> usize {
        self.tables.bytes()
    }

    /// The use of the memory, a line a table.
    pub fn memory(&self) -> Vec<TableMemory> {
        self.tables.memory()
    }
}

/// Inserts rows without transactions.
struct Load<'db, S: Scheme> {
    db: &'db Database<S>,
    slot: Slot<'db, S>,
    /// The value of a record that several column groups share, while the groups are put into it.
    row: Vec<u64>,
}

impl<S: Scheme> Loader for Load<'_, S> {
    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) {
        let store = self.db.tables.get(table.id());
        let new = self.slot.new_row(store, key.home());
        if store.is_shared() {
            self.row.clear();
            self.row.resize(new.row().record(0).width(), Version::LOADED.word());
        }
        let Ok(()) = table.try_each(rows, &mut Fill { load: self, new: &new });
        if store.is_shared() {
            self.slot.fill(&new, 0, &self.row);
        }
        for record in new.row().records() {
            self.db.scheme.loaded(record);
        }
        if store.lookup() != storage::Lookup::Heap {
            let Ok(placed) = store.index(Which::Primary).insert(key.ordered(), new.row(), &mut Unwatched);
            assert!(matches!(placed, Placed::Added), "{key:?} is loaded into `{}` twice", store.name());
        }
        let Ok(()) = table.try_each(rows, &mut Enter { row: new.row(), key });
    }
}

/// Writes the first values of a row's groups.
struct Fill<'a, 'db, S: Scheme> {
    load: &'a mut Load<'db, S>,
    new: &'a NewRow<'db, S>,
}

impl<K: Key, S: Scheme> GroupVisit<K> for Fill<'_, '_, S> {
    type Stop = Infallible;

    fn group<R: Row<Key = K> + ?Sized>(&mut self, table: Table<R>, row: &R) -> Result<(), Infallible> {
        let (words, store) = (words_of(row), self.new.row().table());
        if store.is_shared() {
            self.load.row[store.place(table.group())].copy_from_slice(words);
        } else if self.load.db.tables.has_marks() {
            let mut marked = words.to_vec();
            marked.push(Version::LOADED.word());
            self.load.slot.fill(self.new, table.group(), &marked);
        } else {
            self.load.slot.fill(self.new, table.group(), words);
        }
        Ok(())
    }
}

/// Enters a loaded row into its secondary indexes.
struct Enter<'db, K, S: Scheme> {
    row: RowRef<'db, S>,
    key: K,
}

impl<K: Key, S: Scheme> GroupVisit<K> for Enter<'_, K, S> {
    type Stop = Infallible;

    fn group<R: Row<Key = K> + ?Sized>(&mut self, table: Table<R>, row: &R) -> Result<(), Infallible> {
        let mut enter = EnterIndex { row: self.row, group: table.group() as u16 };
        R::Indexes::try_each(self.key, row, &mut enter)
    }
}

/// Enters a loaded row into one secondary index after the other.
struct EnterIndex<'db, S: Scheme> {
    row: RowRef<'db, S>,
    group: u16,
}

impl<S: Scheme> IndexVisit for EnterIndex<'_, S> {
    type Stop = Infallible;

    fn index<K: Key>(&mut self, position: usize, key: K) -> Result<(), Infallible> {
        let which = Which::Secondary { group: self.group, position: position as u16 };
        let Ok(placed) = self.row.table().index(which).insert(key.ordered(), self.row, &mut Unwatched);
        assert!(matches!(placed, Placed::Added), "secondary key {key:?} is not unique");
        Ok(())
    }
}

/// Watches nothing: no transaction runs.
pub(crate) struct Unwatched;

impl<'db, L: storage::LeafMeta> Watcher<'db, L> for Unwatched {
    type Stop = Infallible;

    fn adding(&mut self, _: LeafRef<'db, L>) -> Result<(), Infallible> {
        Ok(())
    }

    fn added(&mut self, _: LeafRef<'db, L>, _: u64) {}

    fn split(&mut self, _: LeafRef<'db, L>, _: u64, _: LeafRef<'db, L>) {}
}

/// A database in which no transaction runs.
pub struct View<'db, S: Scheme> {
    db: &'db Database<S>,
    /// Private states that lend no row now: a closure that sees a row may look at another row.
    idle: RefCell<Vec<S::Txn<'db>>>,
}

impl<'db, S: Scheme> View<'db, S> {
    /// The maximum number of rows that may be seen at a time, each from within the closure that sees the one before.
    const NESTED: usize = 4;

    pub(crate) fn db(&self) -> &'db Database<S> {
        self.db
    }

    /// Appends the words of a row, without marks, if it has a value. Returns whether it has one.
    pub(crate) fn append(&self, row: RowRef<'db, S>, to: &mut Vec<u64>) -> bool {
        let idle = self.idle.borrow_mut().pop();
        let mut txn = idle.unwrap_or_else(|| self.db.scheme.attach(self.db.tables.slot()));
        let marks = usize::from(self.db.tables.has_marks());
        let has_all = row.records().all(|record| {
            let latest = self.db.scheme.latest(&mut txn, record);
            latest.map(|words| to.extend_from_slice(&words[..words.len() - marks])).is_some()
        });
        self.idle.borrow_mut().push(txn);
        has_all
    }

    fn see<R: Row + ?Sized, O>(
        &self,
        row: RowRef<'db, S>,
        table: Table<R>,
        see: impl FnOnce(&R) -> O,
    ) -> Option<O> {
        let idle = self.idle.borrow_mut().pop();
        let mut txn = idle.unwrap_or_else(|| self.db.scheme.attach(self.db.tables.slot()));
        let marks = usize::from(self.db.tables.has_marks());
        let latest = self.db.scheme.latest(&mut txn, row.record(table.group()));
        let place = || row.table().place(table.group());
        let seen = latest.map(|words| see(row_of(table.part(&words[..words.len() - marks], place))));
        self.idle.borrow_mut().push(txn);
        seen
    }
}

impl<S: Scheme> Quiesced for View<'_, S> {
    fn read<R: Row + ?Sized, O>(&self, table: Table<R>, key: R::Key, see: impl FnOnce(&R) -> O) -> Option<O> {
        let index = self.db.tables.get(table.id()).index(Which::Primary);
        self.see(index.peek(key.ordered())?, table, see)
    }

    fn scan<R: Row + ?Sized>(
        &self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        mut see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) {
        let index = self.db.tables.get(table.id()).index(Which::Primary);
        let visit = |key, row| {
            self.see(row, table, |row| see(R::Key::from_ordered(key), row))
                .unwrap_or(ControlFlow::Continue(()))
        };
        let (from, to) = bounds(&keys);
        let Ok(()) = index.scan(from, to, Direction::Forward, &mut Plain(visit));
    }

    fn heap<R: Row + ?Sized>(&self, table: Table<R>, share: Share, mut see: impl FnMut(&R)) {
        self.db.tables.get(table.id()).for_each_row(share.index, share.of, |row| {
            self.see(row, table, &mut see);
        });
    }

    fn rows<R: Row + ?Sized>(&self, table: Table<R>, share: Share, mut see: impl FnMut(R::Key, &R)) {
        let index = self.db.tables.get(table.id()).index(Which::Primary);
        index.for_each(share.index, share.of, |key, row| {
            self.see(row, table, |row| see(R::Key::from_ordered(key), row));
        });
    }

    fn scan_by<R: Row, I: IndexOn<R>>(
        &self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        mut see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) {
        let table = index.rows();
        let visit =
            |key, row| {
                let key = I::Key::from_ordered(key);
                // A row that has moved may still be found under the key that it had.
                self.see(row, table, |row| {
                    if I::holds(key, row) { see(key, row) } else { ControlFlow::Continue(()) }
                })
                .unwrap_or(ControlFlow::Continue(()))
            };
        let (from, to) = bounds(&keys);
        let index = self.db.tables.get(index.table()).index(index.which());
        let Ok(()) = index.scan(from, to, Direction::Forward, &mut Plain(visit));
    }
}

/// A walk over a quiesced index: a closure over its entries.
struct Plain<F>(F);

impl<'db, K, S: Scheme, F: FnMut(K, RowRef<'db, S>) -> ControlFlow<()>> Walker<'db, K, S> for Plain<F> {
    type Stop = Infallible;

    fn leaf(&mut self, _: LeafRef<'db, S::Leaf>) -> Result<(), Infallible> {
        Ok(())
    }

    fn row(&mut self, key: K, row: RowRef<'db, S>) -> Result<ControlFlow<()>, Infallible> {
        Ok(self.0(key, row))
    }
}

/// The bounds of a range of typed keys as indexes compare them.
#[inline]
pub(crate) fn bounds<K: Key>(keys: &impl RangeBounds<K>) -> (Bound<K::Ordered>, Bound<K::Ordered>) {
    (keys.start_bound().map(|key| key.ordered()), keys.end_bound().map(|key| key.ordered()))
}
