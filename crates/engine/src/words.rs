//! Rows by words, while no transaction runs: what fills a database from a log, whose rows have no types, and what
//! looks at all of them.

use core::ops::{Bound, ControlFlow};

use storage::index::RowPtr;
use storage::{
    AnyKey, CoreKey, Direction, ImplicitRows, Insertion, Lookup, RowRef, Slot, TableId, TableStore, Which,
};

use crate::database::{Plain, Unwatched, View};
use crate::typed::{KeyRange, RowLoader, RowView, Shown};
use crate::{Database, Scheme, Share};
use stdx::history::Version;

/// Inserts rows by words, without transactions. Several work at the same time. The last rows are in the indexes when it
/// is dropped.
#[derive(Debug)]
pub struct WordLoader<'db, S: Scheme> {
    db: &'db Database<S>,
    slot: Slot<'db, S>,
    /// The value of a record.
    words: Vec<u64>,
    /// Entries that are still to be made, where the indexes were asked for the memory of their places.
    due: Vec<Due<'db, S>>,
    /// Where the first of those is.
    first: usize,
}

/// How many entries are due at a time: about as many cache misses as a core has under way.
const DUE: usize = 16;

/// An entry of an index.
#[derive(Debug)]
struct Due<'db, S: Scheme> {
    store: &'db TableStore<S>,
    which: Which,
    key: AnyKey,
    row: RowRef<'db, S>,
}

impl<S: Scheme> Due<'_, S> {
    /// Asks for the memory that is touched first when the entry is made.
    fn prefetch(&self) {
        self.key.prefetch(self.store.index(self.which));
    }

    /// Makes the entry, unless its key is there.
    fn enter(&self) -> bool {
        let index = self.store.index(self.which);
        let Ok(placed) = index.insert_any(&self.key, self.row, &mut Unwatched);
        matches!(placed, Insertion::Added)
    }
}

impl<S: Scheme> Database<S> {
    /// Fills the empty database row by row.
    ///
    /// # Panics
    /// As [`session`](Self::session).
    pub fn word_loader(&self) -> WordLoader<'_, S> {
        let (words, due) = (Vec::new(), Vec::with_capacity(DUE));
        WordLoader { db: self, slot: self.tables().slot(), words, due, first: 0 }
    }
}

impl<'db, S: Scheme> WordLoader<'db, S> {
    /// Inserts a row, whose column groups are `groups` one after the other, and enters it into all indexes.
    ///
    /// # Panics
    /// When a key or a row has another width than the table's; and when a key is there already, which may be found
    /// later, and at the end at the latest.
    pub fn insert(&mut self, table: TableId, key: AnyKey, groups: &[u64]) {
        let store = self.db.tables().get(table);
        assert_eq!(groups.len(), width(store), "a row of `{}` has all its column groups", store.name());
        let new = self.slot.new_row(store, store.home(Which::Primary, key));
        let has_marks = self.db.tables().has_marks();
        for record in new.row().records() {
            self.words.clear();
            for group in store.groups_of(record.group()) {
                self.words.extend_from_slice(&groups[place_of(store, group)]);
            }
            if has_marks {
                self.words.push(Version::LOADED.word());
            }
            self.slot.fill(&new, record.group(), &self.words);
            self.db.scheme().loaded(record);
        }
        let row = new.row();
        if store.lookup() != Lookup::Heap {
            self.enter(Due { store, which: Which::Primary, key, row });
        }
        for group in 0..store.groups() {
            for position in 0..store.indexes(group) as u16 {
                let (group, words) = (group as u16, &groups[place_of(store, group)]);
                let key = store.secondary_key(group, position, key, words);
                self.enter(Due { store, which: Which::Secondary { group, position }, key, row });
            }
        }
    }

    /// Makes an entry later, and one that is due instead.
    fn enter(&mut self, due: Due<'db, S>) {
        due.prefetch();
        if self.due.len() < DUE {
            return self.due.push(due);
        }
        let first = core::mem::replace(&mut self.due[self.first], due);
        self.first = (self.first + 1) % DUE;
        self.make(&first);
    }

    fn make(&mut self, due: &Due<'db, S>) {
        if !due.enter() {
            // Of several, one is told.
            self.due.clear();
            panic!("{:?} is loaded into `{}` twice", due.key, due.store.name());
        }
    }
}

impl<S: Scheme> Drop for WordLoader<'_, S> {
    /// Makes the entries that are due, in the order of their rows: leaves have the same shape as if each had been made
    /// at once.
    fn drop(&mut self) {
        let mut due = core::mem::take(&mut self.due);
        // Nothing is due after an entry has failed.
        let first = self.first.min(due.len());
        due.rotate_left(first);
        for due in &due {
            self.make(due);
        }
    }
}

impl<S: Scheme> Database<S> {
    /// Makes a row of an implicit table, which no index finds yet.
    pub(crate) fn make_row(&self, table: TableId, key: AnyKey, rows: &dyn ImplicitRows) -> RowPtr {
        let store = self.tables().get(table);
        let (mut groups, mut words) = (Vec::new(), Vec::new());
        rows.row(table, key, &mut groups);
        assert_eq!(groups.len(), width(store), "a row of `{}` has all its column groups", store.name());
        let new = self.tables().new_implicit_row(store, store.home(Which::Primary, key));
        for record in new.row().records() {
            words.clear();
            for group in store.groups_of(record.group()) {
                words.extend_from_slice(&groups[place_of(store, group)]);
            }
            if self.tables().has_marks() {
                words.push(Version::LOADED.word());
            }
            self.tables().fill_implicit(&new, record.group(), &words);
            self.scheme().loaded(record);
        }
        new.row().pointer()
    }

    /// Makes all implicit rows that nobody has looked at, and loads those of heaps, which nobody can look up. `load`
    /// inserts the first rows of all tables. For a database in which no transaction runs.
    pub fn make_all_rows(&self, load: &dyn Fn(Share, &mut dyn RowLoader), rows: &dyn ImplicitRows) {
        load(Share::WHOLE, &mut MakesAll { loader: self.word_loader(), rows });
        for store in self.tables().iter().filter(|store| rows.rows(store.id()).is_some()) {
            for which in store.ordered_indexes() {
                let all = (Bound::Unbounded, Bound::Unbounded);
                let see = |_, _| ControlFlow::Continue(());
                let Ok(()) = AnyKey::scan(store.index(which), all, Direction::Forward, &mut Plain(see));
            }
        }
    }
}

/// Looks at each row that it is given, where the row is implicit.
struct MakesAll<'db, 'r, S: Scheme> {
    loader: WordLoader<'db, S>,
    rows: &'r dyn ImplicitRows,
}

impl<S: Scheme> RowLoader for MakesAll<'_, '_, S> {
    fn insert_row(&mut self, table: TableId, key: AnyKey, groups: &[u64]) {
        if self.rows.rows(table).is_none() {
            return;
        }
        let store = self.loader.db.tables().get(table);
        if store.lookup() == Lookup::Heap {
            self.loader.insert(table, key, groups);
        } else {
            // A transaction may have removed it.
            store.index(Which::Primary).peek_any(&key);
        }
    }
}

impl<S: Scheme> View<'_, S> {
    /// Visits a share of all rows of a table: the key, where the table has a primary index, and the words of its
    /// column groups one after the other.
    pub fn each_row(&self, table: TableId, share: Share, mut see: impl FnMut(Option<AnyKey>, &[u64])) {
        let store = self.db().tables().get(table);
        let mut words = Vec::new();
        let mut visit = |key, row| {
            words.clear();
            if self.append(row, &mut words) {
                see(key, &words);
            }
        };
        rows(store, share, &mut visit);
    }

    /// A number that a share of all rows comes to. The sum of those of all shares, wrapping, is the same for databases
    /// with the same rows, whatever the scheme, the layout and the indexes, and for others another, but for chance.
    pub fn digest(&self, share: Share) -> u64 {
        let mut sum = 0_u64;
        for table in self.db().tables().iter() {
            let number = u64::from(table.id().0) + 1;
            self.each_row(table.id(), share, |key, words| {
                let add = |hash: u64, words: &[u64]| words.iter().fold(hash, |hash, word| mix(hash ^ word));
                let key = match key {
                    None => number,
                    Some(AnyKey::One(key)) => add(number, &[key]),
                    Some(AnyKey::Two(key)) => add(number, &[(key >> 64) as u64, key as u64]),
                    Some(AnyKey::Six(key)) => add(number, &key),
                };
                sum = sum.wrapping_add(add(key, words));
            });
        }
        sum
    }
}

/// Each bit moves all others: the last steps of a generator (Steele, Lea, Flood, OOPSLA 2014).
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// The width of all column groups of a table.
fn width<S: Scheme>(store: &TableStore<S>) -> usize {
    (0..store.groups()).map(|group| store.row_width(group)).sum()
}

/// Where a column group is among all of its row.
fn place_of<S: Scheme>(store: &TableStore<S>, group: impl Into<usize>) -> core::ops::Range<usize> {
    let group = group.into();
    let start = (0..group).map(|before| store.row_width(before)).sum();
    start..start + store.row_width(group)
}

impl<S: Scheme> RowLoader for WordLoader<'_, S> {
    fn insert_row(&mut self, table: TableId, key: AnyKey, groups: &[u64]) {
        self.insert(table, key, groups);
    }
}

impl<S: Scheme> RowView for View<'_, S> {
    fn peek(&self, shown: Shown, key: AnyKey, see: &mut dyn FnMut(&[u64])) {
        let store = self.db().tables().get(shown.table);
        if let Some(row) = store.index(shown.which).peek_any(&key) {
            self.show(row, shown.group, see);
        }
    }

    fn range(&self, shown: Shown, keys: KeyRange, see: &mut dyn FnMut(AnyKey, &[u64]) -> ControlFlow<()>) {
        let index = self.db().tables().get(shown.table).index(shown.which);
        let visit = |key, row| {
            let mut flow = ControlFlow::Continue(());
            self.show(row, shown.group, &mut |words| flow = see(key, words));
            flow
        };
        let Ok(()) = AnyKey::scan(index, keys, Direction::Forward, &mut Plain(visit));
    }

    fn all(&self, shown: Shown, share: Share, see: &mut dyn FnMut(Option<AnyKey>, &[u64])) {
        let store = self.db().tables().get(shown.table);
        let mut visit = |key, row| self.show(row, shown.group, &mut |words| see(key, words));
        rows(store, share, &mut visit);
    }
}

/// Visits a share of all rows of a table, each with its primary key if the table has a primary index.
fn rows<'db, S: Scheme>(
    store: &'db TableStore<S>,
    share: Share,
    visit: &mut dyn FnMut(Option<AnyKey>, RowRef<'db, S>),
) {
    let Share { index: nth, of } = share;
    let index = store.index(Which::Primary);
    match (store.lookup(), store.key_words(Which::Primary)) {
        (Lookup::Heap, _) => store.for_each_row(nth, of, |row| visit(None, row)),
        (_, 1) => index.for_each(nth, of, |key, row| visit(Some(AnyKey::One(key)), row)),
        (_, 2) => index.for_each(nth, of, |key, row| visit(Some(AnyKey::Two(key)), row)),
        _ => index.for_each(nth, of, |key, row| visit(Some(AnyKey::Six(key)), row)),
    }
}
