//! The schema: the tables of a database, the ways to find their rows, their column groups and secondary indexes. A
//! workload declares it once, before the database exists.

use core::fmt;
use core::marker::PhantomData;

use crate::declared::{IndexDecl, KeyDecl, PlainTable};
use crate::key::Key;
use crate::row::{Index, IndexOn, Indexes, Row, Table, TableId};

/// The way in which a table's primary key finds its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// By equality only: a hash index, sized for the expected number of rows.
    Point,
    /// By equality and by range: an ordered index.
    Ordered,
    /// Not at all: an append-only table whose key only says where the row lives.
    Heap,
}

/// A declared column group.
#[derive(Clone, Debug)]
pub(crate) struct GroupDecl {
    pub(crate) words: u32,
    pub(crate) is_additive: bool,
    /// Whether no transaction changes it.
    pub(crate) is_constant: bool,
    pub(crate) indexes: Vec<IndexDecl>,
}

/// A declared table.
#[derive(Clone, Debug)]
pub(crate) struct TableDecl {
    pub(crate) name: &'static str,
    pub(crate) lookup: Lookup,
    pub(crate) key: KeyDecl,
    pub(crate) expected_rows: usize,
    pub(crate) splitting: Splitting,
    /// Whether rows are made at the first look: see [`Schema::imply`].
    pub(crate) is_implicit: bool,
    pub(crate) groups: Vec<GroupDecl>,
}

/// The alternatives in the layout of tables, independent of what a workload declares: they show what the standard
/// layout is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Whether tables have ordered indexes even where equality is all that is asked.
    pub is_ordered_only: bool,
    /// Whether no version of a record stands within the record, so that each version is one memory access further
    /// away. Records without versions stay as they are.
    pub has_versions_apart: bool,
    /// Which column groups of a row have a record of their own.
    pub splitting: Splitting,
}

/// Which column groups of a row have a record of their own. The others share one: one header, which is one unit of
/// conflict, and one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Splitting {
    /// All of them.
    #[default]
    On,
    /// Those that no transaction changes ([`TableBuilder::constant_group`]).
    Constant,
    /// None.
    Off,
}

impl Splitting {
    /// Whether a column group shares a record with others of its row, if there are others that do.
    pub(crate) fn shares(self, group: &GroupDecl) -> bool {
        match self {
            Self::On => false,
            Self::Constant => !group.is_constant,
            Self::Off => true,
        }
    }
}

/// The memory that the index of a table takes when the table is made. Hash indexes are made for the expected number of
/// rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstMemory {
    /// The table.
    pub table: &'static str,
    /// How many rows it expects.
    pub expected_rows: usize,
    /// Bytes of its index; `None` when no address space has as many.
    pub bytes: Option<usize>,
}

/// The error that the system lacks the memory that an index takes when its table is made. Expect fewer rows, or ask
/// for an ordered index, which grows as rows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory(pub FirstMemory);

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FirstMemory { table, expected_rows, bytes } = self.0;
        write!(
            f,
            "table `{table}`: there is no memory for the hash index of the {expected_rows} rows expected"
        )?;
        bytes.map_or(Ok(()), |bytes| write!(f, ", {bytes} bytes"))?;
        f.write_str(": expect fewer")
    }
}

impl core::error::Error for NoMemory {}

/// The tables of a database.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub(crate) tables: Vec<TableDecl>,
    pub(crate) has_marks: bool,
    pub(crate) changes_often: bool,
    pub(crate) layout: Layout,
    homes: Option<usize>,
}

/// Declares the column groups and secondary indexes of one table.
#[derive(Debug)]
pub struct TableBuilder<'s, K> {
    decl: &'s mut TableDecl,
    id: TableId,
    key: PhantomData<K>,
}

impl Schema {
    /// The maximum number of tables of a database: a [`TableId`] has room for the number of each.
    pub const TABLES_MAX: usize = 1 << u16::BITS;

    /// An empty schema.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a table; `expected_rows` sizes a hash index and is a hint elsewhere.
    ///
    /// # Panics
    /// When there are [`TABLES_MAX`](Self::TABLES_MAX) already.
    pub fn table<K: Key>(
        &mut self,
        name: &'static str,
        lookup: Lookup,
        expected_rows: usize,
    ) -> TableBuilder<'_, K> {
        let (id, key, lookup) = (self.next_id(), KeyDecl::of::<K>(), self.lookup(lookup));
        let splitting = self.layout.splitting;
        let (groups, is_implicit) = (Vec::new(), false);
        self.tables.push(TableDecl { name, lookup, key, expected_rows, splitting, is_implicit, groups });
        TableBuilder { decl: self.tables.last_mut().expect("just pushed"), id, key: PhantomData }
    }

    /// Declares a table without types: only the bytes of its keys and rows are known.
    ///
    /// # Panics
    /// When keys are longer than [`AnyKey::BYTES_MAX`](crate::AnyKey::BYTES_MAX), or made of bytes that are not there;
    /// when there are [`TABLES_MAX`](Self::TABLES_MAX) tables already.
    pub fn plain_table(
        &mut self,
        name: &'static str,
        lookup: Lookup,
        expected_rows: usize,
        plain: &PlainTable,
    ) -> TableId {
        assert!(!plain.groups.is_empty(), "a table has a column group");
        let groups = plain.groups.iter().map(|group| {
            assert!(group.words > 0, "a row has a word");
            let words = u32::try_from(group.words).expect("rows below 32 GiB");
            let (is_additive, indexes) = (group.is_additive, plain.index_decls(group));
            GroupDecl { words, is_additive, is_constant: false, indexes }
        });
        let (id, groups) = (self.next_id(), groups.collect());
        let (lookup, splitting) = (self.lookup(lookup), self.layout.splitting);
        let (key, is_implicit) = (plain.key(), false);
        self.tables.push(TableDecl { name, lookup, key, expected_rows, splitting, is_implicit, groups });
        id
    }

    fn next_id(&self) -> TableId {
        TableId(u16::try_from(self.tables.len()).expect("65,536 tables at most"))
    }

    /// The lookup with which a table that asks for `lookup` is laid out.
    fn lookup(&self, lookup: Lookup) -> Lookup {
        let is_ordered = self.layout.is_ordered_only && lookup == Lookup::Point;
        if is_ordered { Lookup::Ordered } else { lookup }
    }

    /// Gives each record one more word, behind those of its row: a mark that travels with the value, by which recorded
    /// histories tell values apart. Records are then a word wider than their rows.
    pub fn mark_values(&mut self) {
        self.has_marks = true;
    }

    /// Makes rare changes of storage common, so that small trials meet them: a hash index begins with two buckets,
    /// whatever it expects, and in explored trials each attempt moves reclamation on. For tests of isolation.
    pub fn change_often(&mut self) {
        self.changes_often = true;
    }

    /// States the number of [homes](crate::Home): all rows that have a home live at one of the first so many. For homes
    /// that are worth a partition each.
    pub fn set_homes(&mut self, homes: usize) {
        self.homes = Some(homes);
    }

    /// The number of homes, if it was stated.
    pub fn homes(&self) -> Option<usize> {
        self.homes
    }

    /// Declares which tables have [implicit rows](crate::ImplicitRows).
    pub fn imply(&mut self, is_implicit: impl Fn(TableId) -> bool) {
        for (id, table) in (0..).zip(&mut self.tables) {
            table.is_implicit = is_implicit(TableId(id));
        }
    }

    /// Whether a column group of a table was declared to be [constant](TableBuilder::constant_group).
    pub fn is_constant(&self, table: TableId, group: usize) -> bool {
        self.tables[usize::from(table.0)].groups[group].is_constant
    }

    /// Lays out all tables in this way from now on. Tables that are declared already keep their indexes and records.
    pub fn lay_out(&mut self, layout: Layout) {
        self.layout = layout;
    }

    /// The layout of the tables.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The names of the tables, in the order of their ids.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tables.iter().map(|table| table.name)
    }
}

impl<K: Key> TableBuilder<'_, K> {
    /// Declares that transactions number the rows of each [prefix](Key::SUFFIX_BITS) one after the other: the key that
    /// a transaction adds depends on which transactions came before. Schemes that order transactions ahead then treat
    /// a prefix as one thing.
    #[must_use]
    pub fn numbered(self) -> Self {
        self.decl.key.is_numbered = true;
        self
    }

    /// Adds a column group: columns that are copied and conflict together, and apart from those of other groups
    /// unless the layout says otherwise ([`Splitting`]).
    pub fn group<R: Row<Key = K>>(&mut self) -> Table<R> {
        assert!(size_of::<R>().is_multiple_of(8), "a row is a whole number of words");
        self.push_group(size_of::<R>() / 8)
    }

    /// Adds a column group of columns that no transaction changes in a row that is there. It matters beside groups that
    /// are changed, with [`Splitting::Constant`].
    pub fn constant_group<R: Row<Key = K>>(&mut self) -> Table<R> {
        let group = self.group();
        self.decl.groups.last_mut().expect("just added").is_constant = true;
        group
    }

    /// Adds a column group whose width, in 8-byte words, is known only now.
    pub fn group_of_words<R: Row<Key = K> + ?Sized>(&mut self, words: usize) -> Table<R> {
        self.push_group(words)
    }

    fn push_group<R: Row<Key = K> + ?Sized>(&mut self, words: usize) -> Table<R> {
        let group = u16::try_from(self.decl.groups.len()).expect("few column groups");
        let words = u32::try_from(words).expect("rows below 32 GiB");
        self.decl.groups.push(GroupDecl {
            words,
            is_additive: R::IS_ADDITIVE,
            is_constant: false,
            indexes: Vec::new(),
        });
        Table { id: self.id, group, row: PhantomData }
    }

    /// Adds the next secondary index of a column group. All indexes of the group are declared, in the order of
    /// [`Row::Indexes`].
    pub fn index<R: Row<Key = K>, I: IndexOn<R>>(
        &mut self,
        table: Table<R>,
        name: &'static str,
    ) -> Index<R, I> {
        let group = &mut self.decl.groups[table.group()];
        let position = group.indexes.len();
        assert!(position < R::Indexes::COUNT, "an index of a group is named in the row's `Indexes`");
        group.indexes.push(IndexDecl::of::<R, I>(name));
        Index { rows: table, position: position as u16, keys: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Home;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Number(u64);

    impl Key for Number {
        type Ordered = u64;

        fn ordered(self) -> u64 {
            self.0
        }

        fn from_ordered(ordered: u64) -> Self {
            Self(ordered)
        }

        fn home(self) -> Home {
            Home::Everywhere
        }
    }

    #[test]
    fn ordered_indexes_take_the_place_of_hash_indexes_and_of_nothing_else() {
        let mut schema = Schema::new();
        schema.table::<Number>("before", Lookup::Point, 1);
        schema.lay_out(Layout { is_ordered_only: true, ..Layout::default() });
        schema.table::<Number>("points", Lookup::Point, 1);
        schema.table::<Number>("log", Lookup::Heap, 1);
        let lookups: Vec<Lookup> = schema.tables.iter().map(|table| table.lookup).collect();
        assert_eq!(lookups, [Lookup::Point, Lookup::Ordered, Lookup::Heap]);
    }
}
