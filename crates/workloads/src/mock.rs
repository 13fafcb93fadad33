//! A single-threaded in-memory engine for tests: the operations and checks of workloads are tested
//! without a scheme. Rows are words in ordered maps. A rolled back attempt is undone row by row.

use core::any::Any;
use core::ops::{Bound, ControlFlow, RangeBounds};
use std::collections::BTreeMap;

use engine::setting::Values;
use engine::{
    Abort, Additive, ClientId, Direction, Drive, Groups, Index, IndexOn, InputFootprint, Key, Loader,
    Quiesced, Row, Schema, Share, Table, Transaction, Violation, Workload,
};
use stdx::Rng;
use storage::{AnyKey, GroupVisit, Indexes, OrderedKey, TableId, accumulate, row_of, row_of_mut, words_of};

/// A key of any type, widened to six words. The order of the keys of one type is kept.
type Words = [u64; 6];
/// The place of a row: its key and, in heap tables, a number that distinguishes rows of the same
/// key.
type Place = (Words, u64);
/// The position of an index of a table: the column group, and the position among the group's
/// indexes.
type IndexPlace = (usize, usize);

#[derive(Clone, Debug, PartialEq, Eq)]
struct MockRow {
    groups: Vec<Vec<u64>>,
    entries: Vec<(IndexPlace, Words)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MockTable {
    is_heap: bool,
    inserted: u64,
    rows: BTreeMap<Place, MockRow>,
    indexes: BTreeMap<IndexPlace, BTreeMap<Words, Place>>,
}

/// The engine. Two engines are equal when all rows and index entries are equal, whatever the order
/// of heap rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mock {
    tables: Vec<MockTable>,
    /// The rows that the last attempt read or changed by their keys.
    touched: InputFootprint,
    /// The same rows, by their keys.
    touched_keys: InputFootprint,
    /// The tables in which the last attempt changed rows, in its order.
    changed_tables: Vec<TableId>,
    schema: Schema,
    /// Whether attempts may change column groups that are declared to be constant.
    may_damage: bool,
}

/// One attempt against the engine.
pub(crate) struct MockTxn<'m> {
    mock: &'m mut Mock,
    undo: Vec<(TableId, Place, Option<MockRow>)>,
}

fn widen<K: OrderedKey>(key: K) -> Words {
    let any: &dyn Any = &key;
    if let Some(&one) = any.downcast_ref::<u64>() {
        [one, 0, 0, 0, 0, 0]
    } else if let Some(&two) = any.downcast_ref::<u128>() {
        [(two >> 64) as u64, two as u64, 0, 0, 0, 0]
    } else {
        *any.downcast_ref::<Words>().expect("keys are u64, u128 or [u64; 6]")
    }
}

fn narrow<K: OrderedKey>(words: Words) -> K {
    let two = u128::from(words[0]) << 64 | u128::from(words[1]);
    let candidates: [&dyn Any; 3] = [&words[0], &two, &words];
    *candidates.into_iter().find_map(|any| any.downcast_ref::<K>()).expect("keys are u64, u128 or [u64; 6]")
}

fn words_of_key<K: Key>(key: K) -> Words {
    widen(key.ordered())
}

fn words_of_any(key: AnyKey) -> Words {
    match key {
        AnyKey::One(key) => widen(key),
        AnyKey::Two(key) => widen(key),
        AnyKey::Six(key) => widen(key),
    }
}

fn key_of_words<K: Key>(words: Words) -> K {
    K::from_ordered(narrow(words))
}

fn bounds<K: Key>(keys: &impl RangeBounds<K>) -> (Bound<Words>, Bound<Words>) {
    (keys.start_bound().map(|key| words_of_key(*key)), keys.end_bound().map(|key| words_of_key(*key)))
}

/// Returns the entries of a map within bounds, in the requested direction. An inverted range is
/// empty.
fn range<K: Ord + Copy, V>(
    map: &BTreeMap<K, V>,
    (from, to): (Bound<K>, Bound<K>),
    direction: Direction,
) -> impl Iterator<Item = (&K, &V)> {
    let is_empty = match (from, to) {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
            from >= to
        }
        _ => false,
    };
    let mut entries = (!is_empty).then(|| map.range((from, to)));
    core::iter::from_fn(move || match direction {
        Direction::Forward => entries.as_mut()?.next(),
        Direction::Backward => entries.as_mut()?.next_back(),
    })
}

/// Collects a row's groups as words, and the index entries computed from them.
struct Collect<K> {
    key: K,
    row: MockRow,
}

/// Returns the index entries that are computed from a column group of a row.
fn entries_of<R: Row + ?Sized>(
    group: usize,
    key: R::Key,
    row: &R,
) -> impl Iterator<Item = (IndexPlace, Words)> {
    let keys = R::Indexes::any(R::Indexes::keys(key, row)).into_iter().flatten();
    keys.enumerate().map(move |(position, key)| ((group, position), words_of_any(key)))
}

impl<K: Key> GroupVisit<K> for Collect<K> {
    type Stop = core::convert::Infallible;

    fn group<R: Row<Key = K> + ?Sized>(&mut self, table: Table<R>, row: &R) -> Result<(), Self::Stop> {
        assert_eq!(self.row.groups.len(), table.group(), "groups are inserted in the order of declaration");
        self.row.groups.push(words_of(row).to_vec());
        self.row.entries.extend(entries_of(table.group(), self.key, row));
        Ok(())
    }
}

impl Mock {
    /// Creates an empty database. `heaps` names the tables that were declared as heaps.
    pub(crate) fn new(schema: &Schema, heaps: &[&str]) -> Self {
        let tables = schema.names();
        let tables = tables.map(|name| MockTable { is_heap: heaps.contains(&name), ..MockTable::default() });
        Self {
            tables: tables.collect(),
            touched: InputFootprint::default(),
            touched_keys: InputFootprint::of_keys(),
            changed_tables: Vec::new(),
            schema: schema.clone(),
            may_damage: false,
        }
    }

    /// Runs one attempt, and undoes its changes when it fails.
    pub(crate) fn attempt<O>(
        &mut self,
        procedure: impl FnOnce(&mut MockTxn<'_>) -> Result<O, Abort>,
    ) -> Result<O, Abort> {
        self.touched.clear();
        self.touched_keys.clear();
        self.changed_tables.clear();
        let mut txn = MockTxn { mock: self, undo: Vec::new() };
        let result = procedure(&mut txn);
        if result.is_err() {
            while let Some((id, place, before)) = txn.undo.pop() {
                txn.mock.put(id, place, before);
            }
        }
        result
    }

    /// Runs one attempt that may change column groups which are declared to be constant.
    pub(crate) fn damage<O>(
        &mut self,
        procedure: impl FnOnce(&mut MockTxn<'_>) -> Result<O, Abort>,
    ) -> Result<O, Abort> {
        self.may_damage = true;
        let result = self.attempt(procedure);
        self.may_damage = false;
        result
    }

    /// Returns whether the last attempt changed rows of the first table before any of the second.
    pub(crate) fn changed_in_order<R: ?Sized, S: ?Sized>(&self, first: Table<R>, second: Table<S>) -> bool {
        let place = |id| self.changed_tables.iter().position(|changed| *changed == id);
        place(first.id()).expect("the first was changed")
            < place(second.id()).expect("the second was changed")
    }

    /// Returns the number of rows of a table.
    pub(crate) fn count<R: ?Sized>(&self, table: Table<R>) -> usize {
        self.table(table.id()).rows.len()
    }

    /// Corrupts a heap table: changes its rows, and removes the rows for which `keep` is false.
    pub(crate) fn corrupt_heap<R: Row + ?Sized>(
        &mut self,
        table: Table<R>,
        mut keep: impl FnMut(&mut R) -> bool,
    ) {
        let rows = &mut self.tables[usize::from(table.id().0)].rows;
        rows.retain(|_, row| keep(row_of_mut(&mut row.groups[table.group()])));
    }

    /// Corrupts a secondary index: lets an entry lead to another row, or to none.
    pub(crate) fn corrupt_entry<R: Row, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        entry: I::Key,
        leads_to: Option<R::Key>,
    ) {
        let table = &mut self.tables[usize::from(index.table().0)];
        let entries =
            table.indexes.get_mut(&(index.group(), index.position())).expect("the index has entries");
        match leads_to {
            Some(key) => entries.insert(words_of_key(entry), (words_of_key(key), 0)),
            None => entries.remove(&words_of_key(entry)),
        };
    }

    fn table(&self, id: TableId) -> &MockTable {
        &self.tables[usize::from(id.0)]
    }

    /// Sets or removes a row and its index entries. Returns the previous row.
    fn put(&mut self, id: TableId, place: Place, row: Option<MockRow>) -> Option<MockRow> {
        let table = &mut self.tables[usize::from(id.0)];
        let before = table.rows.remove(&place);
        for (index, entry) in before.iter().flat_map(|row| &row.entries) {
            table.indexes.entry(*index).or_default().remove(entry);
        }
        if let Some(row) = row {
            for (index, entry) in &row.entries {
                let taken = table.indexes.entry(*index).or_default().insert(*entry, place);
                assert_eq!(taken, None, "secondary keys are unique");
            }
            table.rows.insert(place, row);
        }
        before
    }

    fn insert_row<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) -> Option<Place> {
        let mut collect = Collect { key, row: MockRow { groups: Vec::new(), entries: Vec::new() } };
        let Ok(()) = table.try_each(rows, &mut collect);
        let id = table.id();
        let store = &mut self.tables[usize::from(id.0)];
        let place = (words_of_key(key), if store.is_heap { store.inserted } else { 0 });
        if store.rows.contains_key(&place) {
            return None;
        }
        store.inserted += 1;
        self.put(id, place, Some(collect.row));
        Some(place)
    }

    fn visit<R: Row + ?Sized>(
        &self,
        table: Table<R>,
        keys: &impl RangeBounds<R::Key>,
        direction: Direction,
        see: &mut impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) {
        let (from, to) = bounds(keys);
        let from = match from {
            Bound::Included(words) => Bound::Included((words, 0)),
            Bound::Excluded(words) => Bound::Excluded((words, u64::MAX)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let to = match to {
            Bound::Included(words) => Bound::Included((words, u64::MAX)),
            Bound::Excluded(words) => Bound::Excluded((words, 0)),
            Bound::Unbounded => Bound::Unbounded,
        };
        for ((words, _), row) in range(&self.table(table.id()).rows, (from, to), direction) {
            if see(key_of_words(*words), row_of(&row.groups[table.group()])).is_break() {
                return;
            }
        }
    }

    fn visit_by<R: Row, I: IndexOn<R>>(
        &self,
        index: Index<R, I>,
        keys: &impl RangeBounds<I::Key>,
        direction: Direction,
        see: &mut impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) {
        let table = self.table(index.table());
        let Some(entries) = table.indexes.get(&(index.group(), index.position())) else { return };
        for (words, place) in range(entries, bounds(keys), direction) {
            let Some(row) = table.rows.get(place) else { continue };
            if see(key_of_words(*words), row_of(&row.groups[index.group()])).is_break() {
                return;
            }
        }
    }
}

impl PartialEq for Mock {
    fn eq(&self, other: &Self) -> bool {
        let sorted = |table: &MockTable| {
            let mut rows: Vec<_> =
                table.rows.iter().map(|((key, _), row)| (*key, row.groups.clone())).collect();
            rows.sort();
            rows
        };
        self.tables.len() == other.tables.len()
            && self.tables.iter().zip(&other.tables).all(|(a, b)| {
                if a.is_heap {
                    sorted(a) == sorted(b)
                } else {
                    (&a.rows, &a.indexes) == (&b.rows, &b.indexes)
                }
            })
    }
}

impl Loader for Mock {
    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) {
        assert!(self.insert_row(table, key, rows).is_some(), "the key {key:?} is loaded once");
    }
}

impl Quiesced for Mock {
    fn read<R: Row + ?Sized, O>(&self, table: Table<R>, key: R::Key, see: impl FnOnce(&R) -> O) -> Option<O> {
        let row = self.table(table.id()).rows.get(&(words_of_key(key), 0))?;
        Some(see(row_of(&row.groups[table.group()])))
    }

    fn scan<R: Row + ?Sized>(
        &self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        mut see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) {
        self.visit(table, &keys, Direction::Forward, &mut see);
    }

    fn heap<R: Row + ?Sized>(&self, table: Table<R>, share: Share, mut see: impl FnMut(&R)) {
        self.rows(table, share, |_, row| see(row));
    }

    fn rows<R: Row + ?Sized>(&self, table: Table<R>, share: Share, mut see: impl FnMut(R::Key, &R)) {
        // Rows are dealt to shares in turn, so that a check that mistakes shares for key ranges
        // fails its tests.
        let rows = self.table(table.id()).rows.iter().skip(share.index).step_by(share.of);
        rows.for_each(|((key, _), row)| see(key_of_words(*key), row_of(&row.groups[table.group()])));
    }

    fn scan_by<R: Row, I: IndexOn<R>>(
        &self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        mut see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) {
        self.visit_by(index, &keys, Direction::Forward, &mut see);
    }
}

impl MockTxn<'_> {
    /// Changes the words of one column group of a row, index entries included.
    fn change<R: Row + ?Sized, O>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        change: impl FnOnce(&mut [u64]) -> O,
    ) -> Option<O> {
        let is_constant = self.mock.schema.is_constant(table.id(), table.group());
        assert!(
            !is_constant || self.mock.may_damage,
            "a constant column group of {:?} is changed",
            table.id()
        );
        self.mock.touched.write(table, key);
        self.mock.touched_keys.write(table, key);
        self.mock.changed_tables.push(table.id());
        let place = (words_of_key(key), 0);
        let mut row = self.mock.table(table.id()).rows.get(&place)?.clone();
        let words = &mut row.groups[table.group()];
        let output = change(words);
        row.entries.retain(|((group, _), _)| *group != table.group());
        row.entries.extend(entries_of(table.group(), key, row_of::<R>(words)));
        let before = self.mock.put(table.id(), place, Some(row));
        self.undo.push((table.id(), place, before));
        Some(output)
    }
}

impl Transaction for MockTxn<'_> {
    fn read<R: Row + ?Sized, O>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        see: impl FnOnce(&R) -> O,
    ) -> Result<Option<O>, Abort> {
        self.mock.touched.read(table, key);
        self.mock.touched_keys.read(table, key);
        Ok(Quiesced::read(self.mock, table, key, see))
    }

    fn update<R: Row + ?Sized, O>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<Option<O>, Abort> {
        Ok(self.change(table, key, |words| change(row_of_mut(words))))
    }

    fn add<R: Additive>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        amounts: impl FnOnce(&mut R),
    ) -> Result<bool, Abort> {
        let mut row = R::new_zeroed();
        amounts(&mut row);
        Ok(self.change(table, key, |words| accumulate(words, words_of(&row))).is_some())
    }

    fn replace<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key, row: &R) -> Result<bool, Abort> {
        Ok(self.change(table, key, |words| words.copy_from_slice(words_of(row))).is_some())
    }

    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) -> Result<bool, Abort> {
        let place = self.mock.insert_row(table, key, rows);
        self.undo.extend(place.map(|place| (table.id(), place, None)));
        Ok(place.is_some())
    }

    fn delete<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) -> Result<bool, Abort> {
        let place = (words_of_key(key), 0);
        let before = self.mock.put(table.id(), place, None);
        let was_there = before.is_some();
        self.undo.push((table.id(), place, before));
        Ok(was_there)
    }

    fn scan<R: Row + ?Sized>(
        &mut self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        direction: Direction,
        mut see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        self.mock.visit(table, &keys, direction, &mut see);
        Ok(())
    }

    fn scan_by<R: Row, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        direction: Direction,
        mut see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        self.mock.visit_by(index, &keys, direction, &mut see);
        Ok(())
    }

    fn prefetch<G: Groups>(&mut self, _: G, _: impl Iterator<Item = G::Key>) {}
}

/// The drive of all fixtures: workers, clients and seed.
pub(crate) const DRIVE: Drive = Drive { workers: 2, clients: 3, seed: 11 };
/// The number of shares in which fixtures are loaded and checked.
const SHARES: usize = 3;

/// A workload with its loaded database and the ledger of its commits.
pub(crate) struct Fixture<W: Workload> {
    pub(crate) workload: W,
    pub(crate) mock: Mock,
    pub(crate) ledger: W::Ledger,
    scratch: W::Scratch,
    sequence: u64,
}

impl<W: Workload> Fixture<W> {
    /// Creates a fixture with settings such as `a.b=1 a.c=2`. A later setting overrides an earlier
    /// one.
    pub(crate) fn new(given: &str) -> Self {
        Self::with_heaps(given, &[])
    }

    /// Creates a fixture of a workload that has declared these tables as heaps.
    pub(crate) fn with_heaps(given: &str, heaps: &[&str]) -> Self {
        let mut schema = Schema::new();
        let workload = declare::<W>(given, &mut schema).expect("legal settings");
        let mut mock = Mock::new(&schema, heaps);
        (0..SHARES).for_each(|index| workload.load(Share { index, of: SHARES }, &mut mock));
        Self { workload, mock, ledger: W::Ledger::default(), scratch: W::Scratch::default(), sequence: 0 }
    }

    /// Returns the next `count` requests of each client.
    pub(crate) fn inputs(&mut self, count: u64) -> Vec<W::Input> {
        let sequences = self.sequence..self.sequence + count;
        self.sequence += count;
        let input = |client, sequence| {
            let mut rng = Rng::from_path(&[DRIVE.seed, u64::from(client), sequence]);
            self.workload.generate(ClientId(client), sequence, &mut rng)
        };
        let of_clients = |sequence| (0..DRIVE.clients).map(move |client| input(client, sequence));
        sequences.flat_map(of_clients).collect()
    }

    /// Executes one request alone. A commit is counted in the ledger.
    pub(crate) fn execute(&mut self, input: &W::Input) -> Result<W::Output, Abort> {
        let Self { workload, mock, ledger, scratch, .. } = self;
        let output = mock.attempt(|txn| workload.execute(input, scratch, txn))?;
        workload.committed(ledger, input, &output);
        Ok(output)
    }

    /// Executes the next requests. Returns the number of rollbacks.
    pub(crate) fn run(&mut self, count: u64) -> usize {
        let inputs = self.inputs(count);
        let ended = inputs.iter().map(|input| self.execute(input));
        ended.filter(|ended| matches!(ended, Err(abort) if is_rollback(*abort))).count()
    }

    /// Executes the next requests of each client. Returns the number of commits, the number of those whose footprint
    /// has a row that was not touched, and the number of those that changed a row which the footprint has not.
    pub(crate) fn compare_footprints(&mut self, count: u64) -> [usize; 3] {
        let mut requests = [0; 3];
        for input in self.inputs(count) {
            let mut known = InputFootprint::default();
            self.workload.footprint(&input, &mut known);
            if self.execute(&input).is_ok() {
                let touched = &self.mock.touched;
                let are_in = |few: &[u64], all: &[u64]| few.iter().all(|number| all.contains(number));
                let is_touched =
                    are_in(known.writes(), touched.writes()) && are_in(known.reads(), touched.reads());
                let is_known = are_in(touched.writes(), known.writes());
                let counted = [true, !is_touched, !is_known];
                requests.iter_mut().zip(counted).for_each(|(count, is_one)| *count += usize::from(is_one));
            }
        }
        requests
    }

    /// Executes the next requests of each client. Returns the number of requests, and the number of those that state
    /// all rows that they touch.
    ///
    /// # Panics
    /// When a request touches a row although it says that it has stated all.
    pub(crate) fn stated_footprints(&mut self, count: u64) -> [usize; 2] {
        let mut requests = [0; 2];
        for input in self.inputs(count) {
            let mut stated = InputFootprint::of_keys();
            self.workload.footprint(&input, &mut stated);
            _ = self.execute(&input);
            let states = stated.states(&self.mock.touched_keys);
            assert_ne!(states, Some(false), "{stated:?} is not all of {:?}", self.mock.touched_keys);
            requests = [requests[0] + 1, requests[1] + usize::from(states.is_some())];
        }
        requests
    }

    /// Changes a row without counting the change in the ledger.
    pub(crate) fn tamper<R: Row + ?Sized>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        change: impl FnOnce(&mut R),
    ) {
        let changed = self.mock.attempt(|txn| txn.update(table, key, change));
        assert_eq!(changed, Ok(Some(())), "the row is there");
    }

    /// Runs the check, share by share.
    pub(crate) fn check(&self) -> Result<(), Violation> {
        let ledgers = core::slice::from_ref(&self.ledger);
        let share = |index| Share { index, of: SHARES };
        (0..SHARES).try_for_each(|index| self.workload.check(&self.mock, share(index), ledgers))
    }

    /// Asserts that the check fails with this condition.
    pub(crate) fn assert_found(&self, condition: &str) {
        let violation = self.check().expect_err("the corruption is found");
        assert!(violation.condition.contains(condition), "{violation}");
    }
}

fn is_rollback(abort: Abort) -> bool {
    assert_eq!(abort, Abort::Rollback, "one transaction at a time commits or rolls back");
    true
}

/// Declares a workload.
pub(crate) fn declare<W: Workload>(
    given: &str,
    schema: &mut Schema,
) -> Result<W, engine::setting::SettingError> {
    let pairs = given.split_whitespace().map(|pair| pair.split_once('=').expect("name=value"));
    let given: BTreeMap<_, _> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let values = Values::new(W::SETTINGS, &given.into_iter().collect::<Vec<_>>()).expect("in range");
    W::declare(&values, DRIVE, schema)
}

/// Returns the message with which a workload refuses settings that are each in range but contradict
/// each other.
pub(crate) fn refusal<W: Workload>(given: &str) -> String {
    declare::<W>(given, &mut Schema::new()).err().expect("contradictory").0
}
