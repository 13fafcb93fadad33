//! Implicit rows: rows of a simulated database that are there without having been loaded. Each is a pure function of
//! its key, and is made when somebody looks at it. So a simulated run needs memory for the rows that it touches, and
//! its caches see the footprint of all: indexes have the depth and the fill that loading gives them.

use core::fmt::{self, Debug};
use core::ops::Range;
use std::collections::BTreeMap;

use sync::{Arc, Latched};

use crate::arena::{Block, BlockArena, Reserve};
use crate::declared::IndexDecl;
use crate::index::{ImpliedEntries, ImpliedRows, RowPtr};
use crate::key::Home;
use crate::made::Made;
use crate::record;
use crate::row::TableId;
use crate::shape::Shape;
use crate::table::{AnyIndex, AnyKey, IndexedKey, NewRow, RowRef, TableStore, Which};
use crate::tables::Tables;
use crate::version;

/// The rows that a workload would load into some of its tables, as functions of their keys. Primary keys have one word.
///
/// The entries of an ordered index are in *groups*: loading makes the entries of one group after those of the group
/// before, whose keys are smaller. A group begins its own prefix ([`Key::SUFFIX_BITS`](crate::Key::SUFFIX_BITS))
/// if the index has prefixes.
pub trait ImplicitRows: Debug + Send + Sync {
    /// The number of rows of a table that are not loaded; `None` if the table is loaded as usual.
    fn rows(&self, table: TableId) -> Option<u64>;
    /// Whether a table has a row with this key before the first transaction. Asked of tables for point look-ups.
    fn has(&self, table: TableId, key: AnyKey) -> bool;
    /// Appends the words of a row's column groups, one after the other.
    fn row(&self, table: TableId, key: AnyKey, words: &mut Vec<u64>);
    /// The numbers of entries of the groups of an ordered index.
    fn groups(&self, table: TableId, which: Which) -> Vec<usize>;
    /// Appends the keys of some entries of a group, in order, by their places.
    fn keys(&self, table: TableId, which: Which, group: usize, places: Range<usize>, to: &mut Vec<AnyKey>);
    /// A number by which the keys of a group are in the order in which they would be loaded, if that is not the order
    /// of the keys. Groups have equally many entries then.
    fn loaded_at(&self, _table: TableId, _which: Which, _key: AnyKey) -> Option<u64> {
        None
    }
}

/// Makes the row of a key, and says where it is.
pub type RowMaker = Box<dyn Fn(AnyKey) -> RowPtr + Send + Sync>;

/// The rows of a table that were made, by key.
pub(crate) struct MadeRows {
    make: RowMaker,
    /// The address of each row, and one more if the primary index has got it.
    made: Latched<Made>,
}

impl Debug for MadeRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeRows").finish_non_exhaustive()
    }
}

impl MadeRows {
    /// The row of a key, made if need be.
    fn row(&self, key: u64) -> RowPtr {
        self.get(key).0
    }

    /// As [`row`](Self::row), for the primary index, which gets each row once.
    fn enter(&self, key: u64) -> Option<RowPtr> {
        let (row, is_entered) = self.get(key);
        if is_entered {
            return None;
        }
        self.made.lock().set(key, row.exposed() + 1);
        Some(row)
    }

    fn get(&self, key: u64) -> (RowPtr, bool) {
        let made = self.made.lock().get(key);
        if let Some(made) = made {
            return (RowPtr::at(made & !1), made & 1 == 1);
        }
        let row = (self.make)(AnyKey::One(key));
        self.made.lock().set(key, row.exposed());
        (row, false)
    }
}

/// The memory of the rows of a table that are made while no simulated worker runs. Nobody else takes these latches, so
/// whoever makes a row waits for nobody.
#[derive(Debug)]
pub(crate) struct Apart {
    /// An empty arena of the table's rows.
    empty: BlockArena,
    /// By home, since loading makes the rows of one home one after the other: they share pages, and those of others
    /// have pages of their own.
    rows: Latched<BTreeMap<u64, BlockArena>>,
    pub(crate) versions: Vec<BlockArena>,
}

impl Apart {
    /// Memory for the blocks of such arenas.
    pub(crate) fn new(rows: &BlockArena, versions: &[BlockArena]) -> Self {
        Self {
            empty: rows.scattered(),
            rows: Latched::default(),
            versions: versions.iter().map(BlockArena::scattered).collect(),
        }
    }

    /// Memory for a row of a home.
    fn row(&self, home: Home, build: impl FnMut(Block)) -> Block {
        let home = if let Home::At(number) = home { number } else { u64::MAX };
        let mut arenas = self.rows.lock();
        let mut blocks = Vec::with_capacity(1);
        let arena = arenas.entry(home).or_insert_with(|| self.empty.scattered());
        arena.take(&mut blocks, 1, &Reserve::default(), build);
        blocks.pop().expect("the arena gave a block")
    }

    /// Visits the `index`-th of `of` shares of all rows: see [`BlockArena::for_each`].
    pub(crate) fn for_each(&self, index: usize, of: usize, mut visit: impl FnMut(Block)) {
        self.rows.lock().values().for_each(|arena| arena.for_each(index, of, &mut visit));
    }

    /// Bytes of all rows.
    pub(crate) fn row_bytes(&self) -> usize {
        self.rows.lock().values().map(|arena| arena.bytes().0).sum()
    }

    /// Whether an address is in a row.
    pub(crate) fn has_row(&self, address: usize) -> bool {
        self.rows.lock().values().any(|arena| arena.has(address))
    }
}

impl<S: Shape> TableStore<S> {
    /// Gives the empty table the rows that loading would make.
    fn imply(&mut self, rows: &Arc<dyn ImplicitRows>, make: RowMaker) {
        let made = &Arc::new(MadeRows { make, made: Latched::default() });
        let id = self.id();
        self.implicit = Some(Box::new(self.apart()));
        match &mut self.primary {
            AnyIndex::Hash1(hash) => {
                let (source, entered) = (Arc::clone(rows), Arc::clone(made));
                hash.imply(ImpliedRows {
                    rows: rows.rows(id).expect("the table is implicit"),
                    has: Box::new(move |key| source.has(id, AnyKey::One(key))),
                    enter: Box::new(move |key| entered.enter(key)),
                });
            }
            AnyIndex::Heap => {}
            tree => imply_tree(tree, id, (Which::Primary, None), rows, made),
        }
        for (group, secondaries) in (0..).zip(&mut self.secondary) {
            for (position, secondary) in (0..).zip(secondaries) {
                let which = Which::Secondary { group, position };
                imply_tree(&mut secondary.index, id, (which, Some(&secondary.decl)), rows, made);
            }
        }
    }
}

fn imply_tree<L: crate::LeafMeta>(
    index: &mut AnyIndex<L>,
    id: TableId,
    which: (Which, Option<&IndexDecl>),
    rows: &Arc<dyn ImplicitRows>,
    made: &Arc<MadeRows>,
) {
    match index {
        AnyIndex::Tree1(tree) => tree.imply(entries(id, which, rows, made)),
        AnyIndex::Tree2(tree) => tree.imply(entries(id, which, rows, made)),
        AnyIndex::Tree6(tree) => tree.imply(entries(id, which, rows, made)),
        _ => panic!("an implicit table has a primary key of one word"),
    }
}

/// The entries of an ordered index by its own keys.
fn entries<K: IndexedKey>(
    id: TableId,
    (which, decl): (Which, Option<&IndexDecl>),
    rows: &Arc<dyn ImplicitRows>,
    made: &Arc<MadeRows>,
) -> ImpliedEntries<K> {
    let [for_keys, for_order] = [0; 2].map(|_| Arc::clone(rows));
    let (made, decl) = (Arc::clone(made), decl.cloned());
    let primary = move |key: K| decl.as_ref().map_or(key.any(), |decl| decl.primary(key.any()));
    let lens = rows.groups(id, which);
    let mut first = Vec::new();
    rows.keys(id, which, 0, 0..1, &mut first);
    let is_scattered = rows.loaded_at(id, which, first[0]).is_some();
    let loaded_at = move |key: K| for_order.loaded_at(id, which, key.any()).expect("as of the first key");
    ImpliedEntries {
        lens,
        keys: Box::new(move |group, places, to| {
            let mut keys = Vec::with_capacity(places.len());
            for_keys.keys(id, which, group, places, &mut keys);
            to.extend(keys.into_iter().map(K::typed));
        }),
        row: Box::new(move |key| match primary(key) {
            AnyKey::One(key) => made.row(key),
            key => panic!("{key:?}: a primary key has one word"),
        }),
        loaded_at: is_scattered.then(|| Box::new(loaded_at) as Box<dyn Fn(K) -> u64>),
    }
}

fn is_simulated() -> bool {
    sync::IS_STEPPED
}

impl<S: Shape> Tables<S> {
    /// Gives the empty tables the rows that loading would make; `make` returns the maker of a table's rows. `schema` is
    /// that of the tables.
    pub fn imply(
        &mut self,
        schema: &crate::Schema,
        rows: &Arc<dyn ImplicitRows>,
        make: impl Fn(TableId) -> RowMaker,
    ) {
        assert!(is_simulated(), "only simulated databases have implicit rows");
        for (store, decl) in self.stores_mut().zip(&schema.tables) {
            if decl.is_implicit {
                store.imply(rows, make(store.id()));
            }
        }
    }

    /// Memory for a row that is made at the first look: see [`Slot::new_row`](crate::Slot::new_row). For callers within
    /// [`sync::hushed`].
    pub fn new_implicit_row<'db>(&'db self, table: &'db TableStore<S>, home: Home) -> NewRow<'db, S> {
        let apart = table.implicit.as_deref().expect("the table is implicit");
        let row = RowRef { at: apart.row(home, |at| table.build_row(at)), table };
        row.records().for_each(|record| record::reset(record, self.owner(home)));
        NewRow { row, only: core::marker::PhantomData }
    }

    /// Writes the first value of a record of such a row: see [`Slot::fill`](crate::Slot::fill).
    pub fn fill_implicit(&self, row: &NewRow<'_, S>, group: usize, value: &[u64]) {
        let record = row.row().record(group);
        let apart = row.row().table().implicit.as_deref().expect("the table is implicit");
        self.fill_first(record, value, || {
            let (mut blocks, words) = (Vec::with_capacity(1), record.width());
            // SAFETY: the group's arena gives blocks with room for a head and the record's width.
            let build = |at| unsafe { version::build_version::<S>(at, words) };
            apart.versions[group].take(&mut blocks, 1, &Reserve::default(), build);
            let head = blocks.pop().expect("the arena gave a block").cast::<version::VersionHead<S>>();
            // SAFETY: just built, and known to nobody else.
            unsafe { head.as_ref() }.claim_pooled();
            head
        });
    }
}
