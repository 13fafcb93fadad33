//! Tables: the rows' memory and the indexes that find them.

use core::convert;
use core::marker::PhantomData;
use core::ops::{Bound, Range};
use core::ptr::NonNull;

use crate::arena::{Block, BlockArena, Reserve};
use crate::core_key::CoreKey;
use crate::declared::{IndexDecl, KeyDecl, KeyWidth};
use crate::implicit::Apart;
use crate::index::{BTree, Hash, Inserted, LeafRef, NextNode, RowPtr, Visitor, Watcher};
use crate::key::OrderedKey;
use crate::part::is_in;
use crate::record::{self, Inside, RecordRef};
use crate::row::{Direction, Index, SecondaryKeys, TableId};
use crate::schema::{FirstMemory, GroupDecl, Lookup, NoMemory, Schema, TableDecl};
use crate::shape::{Data, DataKind, LeafMeta, Shape};
use crate::version;
use sync::Padded;
use sync::atomic::{AtomicU32, Ordering};

/// An index of any kind and key width. A table's index is matched once per operation, by a branch that
/// always goes the same way; the search below is generic and inlined.
#[derive(Debug)]
pub enum AnyIndex<L: LeafMeta> {
    /// Ordered, keys of one word.
    Tree1(BTree<u64, L>),
    /// Ordered, keys of two words.
    Tree2(BTree<u128, L>),
    /// Ordered, keys of six words.
    Tree6(BTree<[u64; 6], L>),
    /// By equality, keys of one word.
    Hash1(Hash<u64, L>),
    /// By equality, keys of two words.
    Hash2(Hash<u128, L>),
    /// None: an append-only table.
    Heap,
}

/// A key width that indexes are built for.
pub trait IndexedKey: OrderedKey {
    /// The index as an ordered index of this key width, or `None` if it is another.
    fn tree<L: LeafMeta>(index: &AnyIndex<L>) -> Option<&BTree<Self, L>>;
    /// The index as a hash index of this key width, or `None` if it is another.
    fn hash_index<L: LeafMeta>(index: &AnyIndex<L>) -> Option<&Hash<Self, L>>;
    /// The key as one whose width is known only at run time.
    fn any(self) -> AnyKey;
    /// The key back from [`any`](Self::any).
    ///
    /// # Panics
    /// When its width is another.
    fn typed(any: AnyKey) -> Self;
    /// The key as code takes it that is compiled for each scheme.
    type Core: CoreKey;
    /// The key for such code.
    fn to_core(self) -> Self::Core;
    /// The key back from [`to_core`](Self::to_core).
    ///
    /// # Panics
    /// When its width is another.
    fn from_core(core: Self::Core) -> Self;
}

/// A key of any width: it outlives the typed call that knew the width. Keys of one width are ordered as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnyKey {
    /// One word.
    One(u64),
    /// Two words.
    Two(u128),
    /// Six words.
    Six([u64; 6]),
}

macro_rules! indexed_key {
    ($key:ty, $any:ident, $core:ty, ($to:path, $from:path), $tree:ident $(, $hash:ident)?) => {
        impl IndexedKey for $key {
            type Core = $core;

            #[inline]
            fn tree<L: LeafMeta>(index: &AnyIndex<L>) -> Option<&BTree<Self, L>> {
                if let AnyIndex::$tree(tree) = index { Some(tree) } else { None }
            }

            #[inline]
            fn hash_index<L: LeafMeta>(_index: &AnyIndex<L>) -> Option<&Hash<Self, L>> {
                $(if let AnyIndex::$hash(hash) = _index { return Some(hash) })?
                None
            }

            #[inline]
            fn any(self) -> AnyKey {
                AnyKey::$any(self)
            }

            #[inline]
            fn typed(any: AnyKey) -> Self {
                if let AnyKey::$any(key) = any { key } else { panic!("the key has another width") }
            }

            #[inline]
            fn to_core(self) -> $core {
                $to(self)
            }

            #[inline]
            fn from_core(core: $core) -> Self {
                $from(core)
            }
        }
    };
}

indexed_key!(u64, One, Self, (convert::identity, convert::identity), Tree1, Hash1);
indexed_key!(u128, Two, AnyKey, (Self::any, Self::typed), Tree2, Hash2);
indexed_key!([u64; 6], Six, AnyKey, (Self::any, Self::typed), Tree6);

impl<L: LeafMeta> AnyIndex<L> {
    /// A table's primary index; `None` when there is no memory for the rows that it expects.
    fn new(decl: &TableDecl, changes_often: bool) -> Option<Self> {
        assert!(!(changes_often && decl.is_implicit), "implicit rows are in indexes that never grow");
        Some(match (decl.lookup, decl.key.width) {
            (Lookup::Point, KeyWidth::One) if changes_often => Self::Hash1(Hash::of_two_buckets()),
            (Lookup::Point, KeyWidth::Two) if changes_often => Self::Hash2(Hash::of_two_buckets()),
            (Lookup::Heap, _) => Self::Heap,
            (Lookup::Point, KeyWidth::One) if decl.is_implicit => {
                Self::Hash1(Hash::try_implicit(decl.expected_rows)?)
            }
            (Lookup::Point, KeyWidth::One) => Self::Hash1(Hash::try_with_capacity(decl.expected_rows)?),
            (Lookup::Point, KeyWidth::Two) => Self::Hash2(Hash::try_with_capacity(decl.expected_rows)?),
            _ => Self::ordered(&decl.key),
        })
    }

    fn ordered(key: &KeyDecl) -> Self {
        match key.width {
            KeyWidth::One => Self::Tree1(BTree::with_prefixes(key.suffix_bits)),
            KeyWidth::Two => Self::Tree2(BTree::with_prefixes(key.suffix_bits)),
            KeyWidth::Six => Self::Tree6(BTree::with_prefixes(key.suffix_bits)),
        }
    }

    /// The memory that a table's primary index takes at first for the rows that the table expects.
    pub(crate) fn first_memory(decl: &TableDecl) -> FirstMemory {
        let TableDecl { name, expected_rows, .. } = *decl;
        let bytes = match (decl.lookup, decl.key.width) {
            _ if decl.is_implicit => Some(0),
            (Lookup::Point, KeyWidth::One) => Hash::<u64, L>::first_bytes(expected_rows),
            (Lookup::Point, KeyWidth::Two) => Hash::<u128, L>::first_bytes(expected_rows),
            _ => Some(0),
        };
        FirstMemory { table: name, expected_rows, bytes }
    }

    fn part_at(&self, address: usize) -> Option<&'static str> {
        match self {
            Self::Tree1(tree) => tree.part_at(address),
            Self::Tree2(tree) => tree.part_at(address),
            Self::Tree6(tree) => tree.part_at(address),
            Self::Hash1(hash) => hash.part_at(address),
            Self::Hash2(hash) => hash.part_at(address),
            Self::Heap => None,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Tree1(tree) => tree.bytes(),
            Self::Tree2(tree) => tree.bytes(),
            Self::Tree6(tree) => tree.bytes(),
            Self::Hash1(hash) => hash.bytes(),
            Self::Hash2(hash) => hash.bytes(),
            Self::Heap => 0,
        }
    }

    fn populate_ahead(&self) {
        match self {
            Self::Tree1(tree) => tree.populate_ahead(),
            Self::Tree2(tree) => tree.populate_ahead(),
            Self::Tree6(tree) => tree.populate_ahead(),
            Self::Hash1(hash) => hash.populate_ahead(),
            Self::Hash2(hash) => hash.populate_ahead(),
            Self::Heap => {}
        }
    }

    fn entries(&self) -> usize {
        match self {
            Self::Tree1(tree) => tree.len(),
            Self::Tree2(tree) => tree.len(),
            Self::Tree6(tree) => tree.len(),
            Self::Hash1(hash) => hash.len(),
            Self::Hash2(hash) => hash.len(),
            Self::Heap => 0,
        }
    }
}

/// The place of a column group: the record that contains it, by its offset within the row's block, its width and
/// the first group that it contains; and the group's own columns among the words of that record.
#[derive(Debug)]
struct GroupLayout {
    offset: usize,
    words: u32,
    /// The bytes of the record.
    bytes: u32,
    record: u16,
    is_additive: bool,
    place: Range<u32>,
}

impl GroupLayout {
    /// The layouts of a table's groups, and the bytes of a row.
    fn of<S: Shape>(decl: &TableDecl, mark: u32, inside: Inside) -> (Box<[Padded<Self>]>, usize) {
        let shares = |group: &GroupDecl| decl.splitting.shares(group);
        let shared = decl.groups.iter().filter(|group| shares(group)).map(|group| group.words).sum::<u32>();
        // Where the shared record and the row end so far, and the shared record's first group and its offset.
        let (mut at, mut end, mut first) = (0, 0, None);
        let groups = decl.groups.iter().zip(0..).map(|(group, number)| {
            let is_shared = shares(group);
            let words = mark + if is_shared { shared } else { group.words };
            let bytes = inside.bytes::<S>(words);
            let (record, offset) = match first {
                Some(first) if is_shared => first,
                _ => {
                    end += bytes;
                    (number, end - bytes)
                }
            };
            let start = if is_shared { at } else { 0 };
            let place = start..start + group.words;
            if is_shared {
                (at, first) = (place.end, Some((record, offset)));
            }
            let (bytes, is_additive) = (bytes as u32, group.is_additive);
            Padded(Self { offset, words, bytes, record, is_additive, place })
        });
        (groups.collect(), end)
    }
}

/// A secondary index and its declaration.
#[derive(Debug)]
pub(crate) struct Secondary<L: LeafMeta> {
    pub(crate) decl: IndexDecl,
    pub(crate) index: AnyIndex<L>,
}

/// A table: its rows' memory and its indexes.
#[derive(Debug)]
pub struct TableStore<S: Shape> {
    id: TableId,
    name: &'static str,
    lookup: Lookup,
    /// Each on cache lines of its own: every access reads the layouts, and the allocator may put data beside them
    /// that is written all the time.
    groups: Box<[Padded<GroupLayout>]>,
    is_shared: bool,
    inside: Inside,
    pub(crate) rows: BlockArena,
    pub(crate) versions: Vec<BlockArena>,
    pub(crate) primary: AnyIndex<S::Leaf>,
    /// By column group, by position.
    pub(crate) secondary: Vec<Vec<Secondary<S::Leaf>>>,
    key: KeyDecl,
    /// How many rows have left the primary index, as far as that is counted.
    removals: Padded<AtomicU32>,
    /// The memory of rows that are made at the first look, in simulated databases.
    pub(crate) implicit: Option<Box<Apart>>,
}

/// A row of a table: its records share a block.
#[derive(Debug)]
pub struct RowRef<'db, S: Shape> {
    pub(crate) at: Block,
    pub(crate) table: &'db TableStore<S>,
}

impl<S: Shape> Clone for RowRef<'_, S> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Shape> Copy for RowRef<'_, S> {}

// SAFETY: a row is reached only through its records, which are made to be shared.
unsafe impl<S: Shape> Send for RowRef<'_, S> {}

impl<'db, S: Shape> RowRef<'db, S> {
    /// The record that has a column group.
    #[inline]
    pub fn record(self, group: usize) -> RecordRef<'db, S> {
        let layout = &self.table.groups[group];
        // SAFETY: the offset is within the row's block, by the layout.
        let at = unsafe { self.at.add(layout.offset) };
        // SAFETY: a `RowRef` comes from this table's arena, whose blocks were built with this layout.
        unsafe { RecordRef::new(at, layout.words, self.table.id, layout.record) }
    }

    /// The row's records, in the order of their first column groups.
    #[inline]
    pub fn records(self) -> impl DoubleEndedIterator<Item = RecordRef<'db, S>> {
        (0..self.table.groups())
            .filter(move |&group| self.table.is_first(group))
            .map(move |group| self.record(group))
    }

    /// Asks for the cache lines of the records that have these column groups ahead of their use.
    #[inline]
    pub fn prefetch(self, groups: impl Iterator<Item = usize>) {
        for group in groups {
            let (at, bytes) = self.block(group);
            record::prefetch(at, bytes);
        }
    }

    /// As [`prefetch`](Self::prefetch), for the first cache line of one record, which has its head.
    #[inline]
    pub fn prefetch_head(self, group: usize) {
        sync::hint::prefetch(self.block(group).0.as_ptr());
    }

    /// As [`prefetch`](Self::prefetch), for all cache lines of one record except the first one.
    #[inline]
    pub fn prefetch_rest(self, group: usize) {
        let (at, bytes) = self.block(group);
        record::prefetch_rest(at, bytes);
    }

    /// The memory of the record that has a column group, and its bytes.
    #[inline]
    fn block(self, group: usize) -> (Block, usize) {
        let layout = &self.table.groups[group];
        // SAFETY: the offset is within the row's block, by the layout.
        (unsafe { self.at.add(layout.offset) }, layout.bytes as usize)
    }

    /// Asks for the cache lines of the newest versions, which stand behind the records that have these column groups.
    /// For a row that was prefetched a while ago.
    #[inline]
    pub fn prefetch_newest(self, groups: impl Iterator<Item = usize>) {
        for group in groups {
            let record = self.record(group);
            // Relaxed: only its address is used.
            if let Some(newest) = NonNull::new(record.versioned().newest.load(Ordering::Relaxed)) {
                let bytes = version::version_head_bytes::<S>() + record.width() * 8;
                record::prefetch(newest.cast(), bytes);
            }
        }
    }

    /// The row's table.
    #[inline]
    pub fn table(self) -> &'db TableStore<S> {
        self.table
    }

    /// The row as an index keeps it.
    pub fn pointer(self) -> RowPtr {
        RowPtr::new(self.at)
    }

    /// A number of the row that no other row has at the same time.
    #[inline]
    pub fn id(self) -> usize {
        self.at.as_ptr() as usize
    }

    /// Whether both name the same row.
    #[inline]
    pub fn is(self, other: Self) -> bool {
        self.at == other.at
    }
}

impl<S: Shape> TableStore<S> {
    pub(crate) fn new(
        id: TableId,
        decl: &TableDecl,
        schema: &Schema,
        keeps_versions: bool,
    ) -> Result<Self, NoMemory> {
        let mark = u32::from(schema.has_marks);
        let inside = Inside { keeps_versions, has_home: !schema.layout.has_versions_apart };
        let (groups, row_bytes) = GroupLayout::of::<S>(decl, mark, inside);
        assert!(!groups.is_empty(), "a table has a column group");
        let is_shared = groups.iter().zip(0..).any(|(group, number)| group.record != number);
        let indexed = decl.groups.iter().zip(&groups).filter(|(group, _)| !group.indexes.is_empty());
        let mut records: Vec<_> = indexed.map(|(_, layout)| layout.record).collect();
        records.sort_unstable();
        assert!(
            !schema.has_marks || records.is_sorted_by(|one, next| one < next),
            "the mark of a value tells the entries of one column group"
        );
        let version_bytes = |words: u32| version::version_head_bytes::<S>() + words as usize * 8;
        let primary = AnyIndex::new(decl, schema.changes_often)
            .ok_or_else(|| NoMemory(AnyIndex::<S::Leaf>::first_memory(decl)))?;
        let secondary =
            |decl: &IndexDecl| Secondary { decl: decl.clone(), index: AnyIndex::ordered(&decl.key) };
        let secondary_of = |group: &GroupDecl| group.indexes.iter().map(secondary).collect();
        Ok(Self {
            id,
            name: decl.name,
            lookup: decl.lookup,
            versions: groups.iter().map(|group| BlockArena::new(version_bytes(group.words))).collect(),
            groups,
            is_shared,
            inside,
            rows: BlockArena::new(row_bytes),
            primary,
            key: decl.key,
            secondary: decl.groups.iter().map(secondary_of).collect(),
            removals: Padded::default(),
            implicit: None,
        })
    }

    /// Empty arenas of the table's blocks.
    pub(crate) fn apart(&self) -> Apart {
        Apart::new(&self.rows, &self.versions)
    }

    /// The table's id.
    #[inline]
    pub fn id(&self) -> TableId {
        self.id
    }

    /// The table's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How the primary key finds rows.
    #[inline]
    pub fn lookup(&self) -> Lookup {
        self.lookup
    }

    /// Counts a row that leaves the primary index, for attempts that remember rows which they found there.
    #[inline]
    pub fn count_removal(&self) {
        // Relaxed, here and below: an attempt that must see a removal waits for a lock that the remover gives up after
        // it has counted.
        self.removals.fetch_add(1, Ordering::Relaxed);
    }

    /// How many removals were counted. After 2^32 it begins again from zero.
    #[inline]
    pub fn removals(&self) -> u32 {
        self.removals.load(Ordering::Relaxed)
    }

    /// Whether the values of rows stand behind their records, so that [`RowRef::prefetch`] does not reach them.
    #[inline]
    pub fn has_values_apart(&self) -> bool {
        matches!(S::Data::KIND, DataKind::Versioned) && !self.inside.has_home
    }

    /// The number of column groups.
    #[inline]
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Whether transactions [number](crate::TableBuilder::numbered) its rows one after the other.
    #[inline]
    pub fn is_numbered(&self) -> bool {
        self.key.is_numbered
    }

    /// The properties of the primary key's type.
    pub(crate) fn key(&self) -> &KeyDecl {
        &self.key
    }

    /// The declaration of a secondary index, with the properties of its key type.
    pub(crate) fn secondary_decl(&self, group: u16, position: u16) -> &IndexDecl {
        &self.secondary[usize::from(group)][usize::from(position)].decl
    }

    /// The width in words of the record that has a column group.
    #[inline]
    pub(crate) fn width(&self, group: usize) -> u32 {
        self.groups[group].words
    }

    /// The width of a column group's rows in words.
    #[inline]
    pub fn row_width(&self, group: usize) -> usize {
        self.place(group).len()
    }

    /// Whether some column groups of a row share a record: see [`Splitting`](crate::Splitting).
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The first column group of the record that contains a column group. It stands for the record.
    #[inline]
    pub fn record_of(&self, group: usize) -> usize {
        usize::from(self.groups[group].record)
    }

    /// Whether a column group is the first one of its record.
    #[inline]
    pub fn is_first(&self, group: usize) -> bool {
        self.record_of(group) == group
    }

    /// The column groups of the record whose first one is this.
    pub fn groups_of(&self, record: usize) -> impl Iterator<Item = usize> {
        (record..self.groups()).filter(move |&group| self.record_of(group) == record)
    }

    /// The place of a group's columns among the words of its record.
    #[inline]
    pub fn place(&self, group: usize) -> Range<usize> {
        let Range { start, end } = self.groups[group].place;
        start as usize..end as usize
    }

    /// The words of a column group, taken from the words of its record without a mark.
    #[inline]
    pub fn part<'w>(&self, group: usize, words: &'w [u64]) -> &'w [u64] {
        if self.is_shared { &words[self.place(group)] } else { words }
    }

    /// Like [`part`](Self::part), to be changed.
    #[inline]
    pub fn part_mut<'w>(&self, group: usize, words: &'w mut [u64]) -> &'w mut [u64] {
        if self.is_shared { &mut words[self.place(group)] } else { words }
    }

    /// Whether a column group shares its record with others.
    #[inline]
    pub fn shares_record(&self, group: usize) -> bool {
        self.is_shared && self.groups_of(self.record_of(group)).nth(1).is_some()
    }

    /// Whether the record that contains a column group has secondary indexes.
    pub fn is_record_indexed(&self, group: usize) -> bool {
        self.groups_of(self.record_of(group)).any(|group| self.indexes(group) > 0)
    }

    /// Whether the table has secondary indexes.
    pub fn is_indexed(&self) -> bool {
        self.secondary.iter().any(|indexes| !indexes.is_empty())
    }

    /// The secondary keys, by position, of a row with this primary key whose record with this first column group has
    /// these words. They belong to the one group of the record that has secondary indexes.
    pub fn entries(&self, record: usize, key: AnyKey, words: &[u64]) -> SecondaryKeys {
        let indexed = self.groups_of(record).find(|&group| self.indexes(group) > 0);
        indexed.map_or([None; 2], |group| self.secondary_keys(group, key, self.part(group, words)))
    }

    /// The secondary keys, by position, of a row with this primary key, computed from the words of a column group.
    #[inline]
    pub fn secondary_keys(&self, group: usize, key: AnyKey, words: &[u64]) -> SecondaryKeys {
        let mut keys = [None; 2];
        for (position, secondary) in (0..self.indexes(group) as u16).zip(&mut keys) {
            *secondary = Some(self.secondary_key(group as u16, position, key, words));
        }
        keys
    }

    /// Whether amounts may be added to the rows of a column group.
    pub fn is_additive(&self, group: usize) -> bool {
        self.groups[group].is_additive
    }

    /// The number of secondary indexes on a column group.
    #[inline]
    pub fn indexes(&self, group: usize) -> usize {
        self.secondary[group].len()
    }

    /// One of the table's indexes.
    #[inline]
    pub fn index(&self, which: Which) -> IndexRef<'_, S> {
        let index = match which {
            Which::Primary => &self.primary,
            Which::Secondary { group, position } => {
                let indexes = &self.secondary[usize::from(group)];
                &indexes[usize::from(position)].index
            }
        };
        IndexRef { index, table: self }
    }

    /// The depth of an ordered index, from the root to a leaf, and the number of its leaves; `None` if the index is not
    /// ordered.
    pub fn shape(&self, which: Which) -> Option<(usize, usize)> {
        match self.index(which).index {
            AnyIndex::Tree1(tree) => Some((tree.depth(), tree.leaves())),
            AnyIndex::Tree2(tree) => Some((tree.depth(), tree.leaves())),
            AnyIndex::Tree6(tree) => Some((tree.depth(), tree.leaves())),
            AnyIndex::Hash1(_) | AnyIndex::Hash2(_) | AnyIndex::Heap => None,
        }
    }

    /// The choices of all ordered indexes of the table.
    pub fn ordered_indexes(&self) -> impl Iterator<Item = Which> {
        let primary = (self.lookup == Lookup::Ordered).then_some(Which::Primary);
        let secondary = (0..self.groups()).flat_map(|group| {
            let of = move |position| Which::Secondary { group: group as u16, position };
            (0..self.indexes(group) as u16).map(of)
        });
        primary.into_iter().chain(secondary)
    }

    /// Makes a fresh block a row without values.
    pub(crate) fn build_row(&self, at: Block) {
        for (group, _) in self.groups.iter().zip(0..).filter(|&(_, number)| self.is_first(number)) {
            // SAFETY: the offset is within the block, by the layout.
            let at = unsafe { at.add(group.offset) };
            // SAFETY: the layout gives each record room, and the arena's caller alone knows the block.
            unsafe { record::build::<S>(at, group.words, self.inside) };
        }
    }

    /// Visits the `index`-th of `of` shares of all rows whose memory was ever used, live or not. For a
    /// quiesced database.
    pub fn for_each_row<'db>(&'db self, index: usize, of: usize, mut visit: impl FnMut(RowRef<'db, S>)) {
        self.rows.for_each(index, of, |at| visit(RowRef { at, table: self }));
        if let Some(apart) = &self.implicit {
            apart.for_each(index, of, |at| visit(RowRef { at, table: self }));
        }
    }

    /// Asks for memory that the table's rows, versions and indexes will soon grow into.
    pub(crate) fn populate_ahead(&self, reserve: &Reserve) {
        self.rows.populate_ahead(reserve);
        self.versions.iter().for_each(|versions| versions.populate_ahead(reserve));
        self.primary.populate_ahead();
        self.secondary.iter().flatten().for_each(|secondary| secondary.index.populate_ahead());
    }

    /// The part of the table that has an address, in words: for people who look at the cache lines of a run. `None` if
    /// the address is not the table's.
    pub fn part_at(&self, address: usize) -> Option<String> {
        let name = self.name;
        let of_index = |index: &AnyIndex<S::Leaf>, of: &str| {
            let part = if is_in(index, address) { Some("head") } else { index.part_at(address) };
            part.map(|part| format!("{part} of the {of} index of {name}"))
        };
        let mut secondary = self.secondary.iter().flatten();
        of_index(&self.primary, "primary")
            .or_else(|| secondary.find_map(|secondary| of_index(&secondary.index, secondary.decl.name)))
            .or_else(|| {
                let is_made = || self.implicit.as_ref().is_some_and(|apart| apart.has_row(address));
                (self.rows.has(address) || is_made()).then(|| format!("{name} rows"))
            })
            .or_else(|| {
                let apart = self.implicit.iter().flat_map(|apart| &apart.versions);
                let has = self.versions.iter().chain(apart).any(|versions| versions.has(address));
                has.then(|| format!("{name} versions"))
            })
            .or_else(|| self.rows.part_at(address).map(|part| format!("{part} of the rows of {name}")))
            .or_else(|| {
                let part = self.versions.iter().find_map(|versions| versions.part_at(address));
                part.map(|part| format!("{part} of the versions of {name}"))
            })
            .or_else(|| is_in(self, address).then(|| format!("memory management of {name}")))
    }

    /// Bytes that the table uses: of rows and versions without those given back for reuse, and of its indexes.
    pub fn bytes(&self) -> usize {
        let in_use = |(built, free): (usize, usize)| built - free;
        let indexes = self.secondary.iter().flatten().map(|secondary| secondary.index.bytes());
        in_use(self.row_bytes())
            + in_use(self.version_bytes())
            + indexes.sum::<usize>()
            + self.primary.bytes()
    }

    /// Bytes of all rows ever built, and those of them that were given back. A row that was made at the first look is
    /// given back like others.
    fn row_bytes(&self) -> (usize, usize) {
        let (built, free) = self.rows.bytes();
        (built + self.implicit.as_ref().map_or(0, |apart| apart.row_bytes()), free)
    }

    /// The same of versions outside of rows.
    fn version_bytes(&self) -> (usize, usize) {
        let sum = |arenas: &[BlockArena]| {
            arenas.iter().map(BlockArena::bytes).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
        };
        let (built, free) = sum(&self.versions);
        (built + self.implicit.as_ref().map_or(0, |apart| sum(&apart.versions).0), free)
    }

    /// The use of the table's memory.
    pub fn memory(&self) -> TableMemory {
        let (row_bytes, row_bytes_free) = self.row_bytes();
        let (version_bytes, version_bytes_free) = self.version_bytes();
        TableMemory {
            name: self.name,
            entries: self.primary.entries(),
            row_bytes,
            row_bytes_free,
            version_bytes,
            version_bytes_free,
            index_bytes: self.primary.bytes(),
            secondary: self
                .secondary
                .iter()
                .flatten()
                .map(|Secondary { decl, index }| (decl.name, index.entries(), index.bytes()))
                .collect(),
        }
    }
}

/// The use of a table's memory, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMemory {
    /// The table.
    pub name: &'static str,
    /// Entries of the primary index; 0 for a heap table.
    pub entries: usize,
    /// Memory of rows, in use or not.
    pub row_bytes: usize,
    /// The part of `row_bytes` that was given back for reuse (without the stock of sessions).
    pub row_bytes_free: usize,
    /// Memory of versions outside rows, in use or not.
    pub version_bytes: usize,
    /// The part of `version_bytes` that was given back for reuse.
    pub version_bytes_free: usize,
    /// Memory of the primary index.
    pub index_bytes: usize,
    /// Name, entries and memory of each secondary index.
    pub secondary: Vec<(&'static str, usize, usize)>,
}

/// The choice of one index of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// The index of the primary key.
    Primary,
    /// A secondary index.
    Secondary {
        /// The column group from which its keys are computed.
        group: u16,
        /// Its position among the indexes of the group.
        position: u16,
    },
}

impl Which {
    /// The column group from which the index's keys are computed.
    ///
    /// # Panics
    /// For the index of the primary key, which is computed from none.
    #[inline]
    pub fn group(self) -> usize {
        match self {
            Self::Primary => panic!("a primary key belongs to no column group"),
            Self::Secondary { group, .. } => usize::from(group),
        }
    }
}

impl<R: ?Sized, I: ?Sized> Index<R, I> {
    /// The choice of this index among the table's indexes.
    #[inline]
    pub fn which(self) -> Which {
        Which::Secondary { group: self.rows.group, position: self.position }
    }
}

/// An index, and the table whose rows it finds.
#[derive(Debug)]
pub struct IndexRef<'db, S: Shape> {
    pub(crate) index: &'db AnyIndex<S::Leaf>,
    pub(crate) table: &'db TableStore<S>,
}

impl<S: Shape> Clone for IndexRef<'_, S> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Shape> Copy for IndexRef<'_, S> {}

/// A visitor of a walk over an index. It is told of each leaf before the rows in it.
pub trait Walker<'db, K, S: Shape> {
    /// The reason why the walk stops.
    type Stop;
    /// A leaf that the walk has read.
    fn leaf(&mut self, leaf: LeafRef<'db, S::Leaf>) -> Result<(), Self::Stop>;
    /// An entry of that leaf; no latch is held.
    fn row(&mut self, key: K, row: RowRef<'db, S>) -> Result<core::ops::ControlFlow<()>, Self::Stop>;
}

/// Shows a walker the rows at which the pointers of an index point.
pub(crate) struct Typed<'w, 'db, W, S: Shape> {
    pub(crate) walker: &'w mut W,
    pub(crate) table: &'db TableStore<S>,
}

impl<'db, K, S: Shape, W: Walker<'db, K, S>> Visitor<'db, K, S::Leaf> for Typed<'_, 'db, W, S> {
    type Stop = W::Stop;

    #[inline]
    fn leaf(&mut self, leaf: LeafRef<'db, S::Leaf>) -> Result<(), W::Stop> {
        self.walker.leaf(leaf)
    }

    #[inline]
    fn entry(&mut self, key: K, row: RowPtr) -> Result<core::ops::ControlFlow<()>, W::Stop> {
        self.walker.row(key, RowRef { at: row.get(), table: self.table })
    }
}

/// The outcome of an insertion.
#[derive(Debug)]
pub enum Insertion<'db, S: Shape> {
    /// The row stands in the index.
    Added,
    /// The key is there already, for this row.
    Exists(RowRef<'db, S>),
}

impl<'db, S: Shape> IndexRef<'db, S> {
    /// The table whose rows the index finds.
    #[inline]
    pub fn table(self) -> &'db TableStore<S> {
        self.table
    }

    /// Finds the row of a key; a miss is told with the leaf in whose gap the key falls.
    // Always: a session's read and write, which are compiled once each, are the only frequent callers.
    #[inline(always)]
    pub fn get<K: IndexedKey, E>(
        self,
        key: K,
        missed: impl FnMut(LeafRef<'db, S::Leaf>) -> Result<(), E>,
    ) -> Result<Option<RowRef<'db, S>>, E> {
        let found = if let Some(hash) = K::hash_index(self.index) {
            hash.get(key, missed)?
        } else {
            self.tree::<K>().get(key, missed)?
        };
        Ok(found.map(|row| RowRef { at: row.get(), table: self.table }))
    }

    /// Finds the row of a key without reporting a miss: for hints and for quiesced databases.
    // Always: both kinds of index have a lookup that is a call of its own.
    #[inline(always)]
    pub fn peek<K: IndexedKey>(self, key: K) -> Option<RowRef<'db, S>> {
        let found =
            if let Some(hash) = K::hash_index(self.index) { hash.peek(key) } else { self.tree().peek(key) };
        found.map(|row| RowRef { at: row.get(), table: self.table })
    }

    /// Whether the index is ordered.
    #[inline]
    pub fn is_ordered(self) -> bool {
        matches!(self.index, AnyIndex::Tree1(_) | AnyIndex::Tree2(_) | AnyIndex::Tree6(_))
    }

    /// Calls `found` with the row of each of the keys that are in an ordered index: like [`peek`](Self::peek) for each,
    /// with fewer steps for neighbours.
    ///
    /// # Panics
    /// When the index is not ordered.
    #[inline]
    pub fn peek_each<K: IndexedKey>(self, keys: &[K], mut found: impl FnMut(RowRef<'db, S>)) {
        let rows = self.tree::<K>().peek_each(keys.iter().copied()).flatten();
        rows.for_each(|row| found(RowRef { at: row.get(), table: self.table }));
    }

    /// Asks for the memory that a search for the key will touch first.
    #[inline]
    pub fn prefetch<K: IndexedKey>(self, key: K) {
        if let Some(hash) = K::hash_index(self.index) {
            hash.prefetch(key);
        }
    }

    /// The same for a key of any width; returns the node at which the search may go on, if that is known.
    #[inline]
    pub fn prefetch_any(self, key: &AnyKey) -> Option<NextNode<'db>> {
        self.index.prefetch_any(key)
    }

    /// Adds a row under a key unless the key is there.
    #[inline]
    pub fn insert<K: IndexedKey, W: Watcher<'db, S::Leaf>>(
        self,
        key: K,
        row: RowRef<'db, S>,
        watch: &mut W,
    ) -> Result<Insertion<'db, S>, W::Stop> {
        assert!(core::ptr::eq(row.table, self.table), "an index holds its table's rows");
        let pointer = RowPtr::new(row.at);
        let inserted = if let Some(hash) = K::hash_index(self.index) {
            hash.insert(key, pointer, watch)?
        } else {
            self.tree::<K>().insert(key, pointer, watch)?
        };
        Ok(self.placed(inserted))
    }

    #[inline]
    pub(crate) fn placed(self, inserted: Inserted) -> Insertion<'db, S> {
        match inserted {
            Inserted::Added => Insertion::Added,
            Inserted::Exists(row) => Insertion::Exists(RowRef { at: row.get(), table: self.table }),
        }
    }

    /// Walks over the rows of a key range.
    ///
    /// # Panics
    /// When the index is not ordered: the table was declared for point lookups.
    #[inline]
    pub fn scan<K: IndexedKey, W: Walker<'db, K, S>>(
        self,
        from: Bound<K>,
        to: Bound<K>,
        direction: Direction,
        walker: &mut W,
    ) -> Result<(), W::Stop> {
        self.tree::<K>().scan(from, to, direction, &mut Typed { walker, table: self.table })
    }

    /// Visits a share of all entries, for a quiesced database. An ordered index counts as one share.
    pub fn for_each<K: IndexedKey>(self, index: usize, of: usize, mut visit: impl FnMut(K, RowRef<'db, S>)) {
        let mut visit = |key, row: RowPtr| visit(key, RowRef { at: row.get(), table: self.table });
        if let Some(hash) = K::hash_index(self.index) {
            hash.for_each_share(index, of, visit);
        } else if index == 0 {
            self.tree::<K>().for_each(Bound::Unbounded, Bound::Unbounded, &mut visit);
        }
    }

    #[inline]
    fn tree<K: IndexedKey>(self) -> &'db BTree<K, S::Leaf> {
        let name = self.table.name;
        K::tree(self.index).unwrap_or_else(|| panic!("table `{name}` has no ordered index of this key"))
    }
}

/// A row that nobody knows yet.
#[derive(Debug)]
pub struct NewRow<'db, S: Shape> {
    pub(crate) row: RowRef<'db, S>,
    pub(crate) only: PhantomData<&'db mut S>,
}

impl<'db, S: Shape> NewRow<'db, S> {
    /// The row, which will not be published.
    pub(crate) fn into_row(self) -> RowRef<'db, S> {
        self.row
    }

    /// The row, to be published.
    #[inline]
    pub fn row(&self) -> RowRef<'db, S> {
        self.row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Home;
    use crate::row::Table;
    use crate::schema::{Layout, Splitting};
    use crate::shape::InPlace;
    use crate::tables::Tables;

    #[derive(Debug)]
    struct Plain;

    impl Shape for Plain {
        type Header = ();
        type Version = ();
        type Leaf = ();
        type Data = InPlace;
    }

    #[test]
    fn column_groups_share_a_record_where_tables_are_laid_out_so() {
        let widths = |splitting, has_marks: bool| {
            let mut schema = Schema::new();
            schema.lay_out(Layout { splitting, ..Layout::default() });
            if has_marks {
                schema.mark_values();
            }
            let mut table = schema.table::<u64>("t", Lookup::Point, 4);
            let _: [Table<[u64]>; 3] = [2, 3, 1].map(|words| table.group_of_words(words));
            let mut table = schema.table::<u64>("single", Lookup::Point, 4);
            let _: Table<[u64]> = table.group_of_words(4);
            schema.tables[0].groups[1].is_constant = true;
            let tables = Tables::<Plain>::new(&schema, 1, 0, false);
            let [store, single] = [0, 1].map(|id| tables.get(TableId(id)));
            assert_eq!((store.is_shared(), single.is_shared()), (splitting != Splitting::On, false));
            assert_eq!([0, 1, 2].map(|group| store.row_width(group)), [2, 3, 1]);
            assert_eq!(single.place(0), 0..4);
            let row = tables.slot().new_row(store, Home::At(0)).row();
            let groups = [0, 1, 2].map(|group| row.record(group).group());
            assert_eq!(groups, [0, 1, 2].map(|group| store.record_of(group)));
            let firsts: Vec<_> = row.records().map(RecordRef::group).collect();
            let expected = match splitting {
                Splitting::On => vec![0, 1, 2],
                Splitting::Constant => vec![0, 1],
                Splitting::Off => vec![0],
            };
            assert_eq!(firsts, expected);
            [0, 1, 2].map(|group| (row.record(group).width(), store.place(group)))
        };
        assert_eq!(widths(Splitting::On, false), [(2, 0..2), (3, 0..3), (1, 0..1)]);
        assert_eq!(widths(Splitting::On, true), [(3, 0..2), (4, 0..3), (2, 0..1)]);
        assert_eq!(widths(Splitting::Constant, false), [(3, 0..2), (3, 0..3), (3, 2..3)]);
        assert_eq!(widths(Splitting::Constant, true), [(4, 0..2), (4, 0..3), (4, 2..3)]);
        assert_eq!(widths(Splitting::Off, false), [(6, 0..2), (6, 2..5), (6, 5..6)]);
        assert_eq!(widths(Splitting::Off, true), [(7, 0..2), (7, 2..5), (7, 5..6)]);
    }
}
