//! A database: tables under a scheme; how it is loaded, and how it is inspected when nothing runs.

use core::cell::RefCell;
use core::convert::Infallible;
use core::ops::{Bound, ControlFlow, RangeBounds};

use storage::{
    ImplicitRows, Index, IndexOn, Key, Layout, LeafRef, NoMemory, Row, RowRef, Schema, Table, TableMemory,
    Tables, Walker, Watcher,
};
use sync::{Arc, workers};

use crate::leftovers::Leftovers;
use crate::moves::Moves;
use crate::setting::{SettingError, Settings, Values};
use crate::typed::{RowLoader, RowView, TypedLoader, TypedView};
use crate::{Env, Facts, Observer, Quiesced, Scheme, Session, Share, Sink, Workload};

/// Tables under a concurrency-control scheme.
#[derive(Debug)]
pub struct Database<S: Scheme> {
    tables: Tables<S>,
    scheme: S,
    facts: Facts,
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
    // Out of line: one copy for each scheme, however many callers there are.
    #[inline(never)]
    pub fn try_new(schema: &Schema, values: &Values, env: Env) -> Result<Self, MakeError> {
        // A reader of the quiesced database looks at a few rows at a time, perhaps on every core.
        let slots = env.slots.max(View::<S>::NESTED * workers::cores());
        let settings = S::Settings::of(values);
        let scheme = S::new(&settings, Env { slots, ..env }).map_err(MakeError::Setting)?;
        let mut schema = schema.clone();
        let facts = S::facts(&settings).in_schema(&schema);
        if facts.has_versions_apart {
            schema.lay_out(Layout { has_versions_apart: true, ..schema.layout() });
        }
        let tables = Tables::try_new(&schema, slots, facts.partitions, facts.keeps_versions)
            .map_err(MakeError::Memory)?;
        let moves = Moves::new(tables.iter().count());
        Ok(Self { tables, scheme, facts, leftovers: Leftovers::default(), moves })
    }

    /// Makes a simulated database that has rows without loading them. Other tables are empty.
    ///
    /// # Errors
    /// As [`try_new`](Self::try_new).
    pub fn with_implicit_rows(
        schema: &Schema,
        values: &Values,
        env: Env,
        rows: &Arc<dyn ImplicitRows>,
    ) -> Result<Arc<Self>, MakeError> {
        let mut schema = schema.clone();
        schema.imply(|table| rows.rows(table).is_some());
        let mut db = Self::try_new(&schema, values, env)?;
        Ok(Arc::new_cyclic(|weak| {
            db.tables.imply(&schema, rows, |table| {
                let (db, rows) = (weak.clone(), Arc::clone(rows));
                Box::new(move |key| {
                    let db: Arc<Self> =
                        db.upgrade().expect("rows are made for those who look at the database");
                    db.make_row(table, key, &*rows)
                })
            });
            db
        }))
    }

    /// The tables.
    #[inline]
    pub fn tables(&self) -> &Tables<S> {
        &self.tables
    }

    /// The facts about the scheme under its settings.
    #[inline]
    pub fn facts(&self) -> &Facts {
        &self.facts
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
            observer.marks(),
            self.tables.has_marks(),
            "values have marks if an observer gives them, and only then"
        );
        Session::new(self, self.scheme.attach(self.tables.slot()), observer, sink)
    }

    /// Loads a workload's first rows by several workers.
    pub fn load<W: Workload>(&self, workload: &W, loaders: usize) {
        self.load_rows(loaders, &|share, rows| workload.load(share, &mut TypedLoader::new(rows)));
    }

    /// Loads rows by several workers, each of which calls `load` with its share.
    pub fn load_rows(&self, loaders: usize, load: &(dyn Fn(Share, &mut dyn RowLoader) + Sync)) {
        let load = |index| load(Share { index, of: loaders }, &mut self.word_loader());
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

/// A database without the type of its scheme. Code that calls a database a few times in a run is compiled once over
/// this trait, and not for each scheme; a crate adds the functions that are its own by a trait of its own.
pub trait AnyDatabase: Sync {
    /// Loads rows by several workers: see [`Database::load_rows`].
    fn load_rows(&self, loaders: usize, load: &(dyn Fn(Share, &mut dyn RowLoader) + Sync));

    /// Shows the database while no transaction runs: calls the argument once.
    fn show(&self, see: &mut dyn FnMut(&dyn RowView));
}

impl<S: Scheme> AnyDatabase for Database<S> {
    fn load_rows(&self, loaders: usize, load: &(dyn Fn(Share, &mut dyn RowLoader) + Sync)) {
        self.load_rows(loaders, load);
    }

    fn show(&self, see: &mut dyn FnMut(&dyn RowView)) {
        see(&self.quiesced());
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
        let store = row.table();
        let has_all = (0..store.groups()).all(|group| {
            let latest = self.db.scheme.latest(&mut txn, row.record(group));
            latest.map(|words| to.extend_from_slice(&words[store.place(group)])).is_some()
        });
        self.idle.borrow_mut().push(txn);
        has_all
    }

    /// Shows a column group of a row, if it has a value.
    pub(crate) fn show(&self, row: RowRef<'db, S>, group: usize, see: &mut dyn FnMut(&[u64])) {
        let idle = self.idle.borrow_mut().pop();
        let mut txn = idle.unwrap_or_else(|| self.db.scheme.attach(self.db.tables.slot()));
        let marks = usize::from(self.db.tables.has_marks());
        if let Some(words) = self.db.scheme.latest(&mut txn, row.record(group)) {
            let words = &words[..words.len() - marks];
            see(row.table().part(group, words));
        }
        self.idle.borrow_mut().push(txn);
    }
}

/// The same as through [`TypedView`], for callers that know the scheme.
impl<S: Scheme> Quiesced for View<'_, S> {
    fn read<R: Row + ?Sized, O>(&self, table: Table<R>, key: R::Key, see: impl FnOnce(&R) -> O) -> Option<O> {
        TypedView(self).read(table, key, see)
    }

    fn scan<R: Row + ?Sized>(
        &self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) {
        TypedView(self).scan(table, keys, see);
    }

    fn heap<R: Row + ?Sized>(&self, table: Table<R>, share: Share, see: impl FnMut(&R)) {
        TypedView(self).heap(table, share, see);
    }

    fn rows<R: Row + ?Sized>(&self, table: Table<R>, share: Share, see: impl FnMut(R::Key, &R)) {
        TypedView(self).rows(table, share, see);
    }

    fn scan_by<R: Row, I: IndexOn<R>>(
        &self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) {
        TypedView(self).scan_by(index, keys, see);
    }
}

/// A walk over a quiesced index: a closure over its entries.
pub(crate) struct Plain<F>(pub(crate) F);

impl<'db, K, S: Scheme, F: FnMut(K, RowRef<'db, S>) -> ControlFlow<()>> Walker<'db, K, S> for Plain<F> {
    type Stop = Infallible;

    fn leaf(&mut self, _: LeafRef<'db, S::Leaf>) -> Result<(), Infallible> {
        Ok(())
    }

    fn row(&mut self, key: K, row: RowRef<'db, S>) -> Result<ControlFlow<()>, Infallible> {
        Ok(self.0(key, row))
    }
}

/// The bounds of a range of typed keys as indexes compare them, in a form of the caller's choice.
#[inline]
pub(crate) fn bounds<K: Key, B>(
    keys: &impl RangeBounds<K>,
    form: impl Fn(K::Ordered) -> B,
) -> (Bound<B>, Bound<B>) {
    (keys.start_bound().map(|key| form(key.ordered())), keys.end_bound().map(|key| form(key.ordered())))
}
