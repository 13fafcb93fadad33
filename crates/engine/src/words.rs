//! Rows by words, while no transaction runs: what fills a database from a log, whose rows have no types, and what
//! looks at all of them.

use storage::{AnyKey, Lookup, Placed, Slot, TableId, TableStore, Which};

use crate::database::{Unwatched, View};
use crate::session::with_width;
use crate::{Database, Scheme, Share};
use stdx::history::Version;

/// Inserts rows by words, without transactions. Several work at the same time.
#[derive(Debug)]
pub struct WordLoader<'db, S: Scheme> {
    db: &'db Database<S>,
    slot: Slot<'db, S>,
    /// The value of a record.
    words: Vec<u64>,
}

impl<S: Scheme> Database<S> {
    /// Fills the empty database row by row.
    ///
    /// # Panics
    /// As [`session`](Self::session).
    pub fn word_loader(&self) -> WordLoader<'_, S> {
        WordLoader { db: self, slot: self.tables().slot(), words: Vec::new() }
    }
}

impl<S: Scheme> WordLoader<'_, S> {
    /// Inserts a row, whose column groups are `groups` one after the other, and enters it into all indexes.
    ///
    /// # Panics
    /// When the key is there already, and when a key or a row has another width than the table's.
    pub fn insert(&mut self, table: TableId, key: AnyKey, groups: &[u64]) {
        let store = self.db.tables().get(table);
        assert_eq!(groups.len(), width(store), "a row of `{}` has all its column groups", store.name());
        let new = self.slot.new_row(store, store.home(Which::Primary, key));
        let has_marks = self.db.tables().has_marks();
        for record in new.row().records() {
            self.words.clear();
            self.words.extend_from_slice(if store.is_shared() {
                groups
            } else {
                &groups[place_of(store, record.group())]
            });
            if has_marks {
                self.words.push(Version::LOADED.word());
            }
            self.slot.fill(&new, record.group(), &self.words);
            self.db.scheme().loaded(record);
        }
        let enter = |which, key| {
            let index = store.index(which);
            let Ok(placed) = with_width!(key, |key| index.insert(key, new.row(), &mut Unwatched));
            assert!(matches!(placed, Placed::Added), "{key:?} is loaded into `{}` twice", store.name());
        };
        if store.lookup() != Lookup::Heap {
            enter(Which::Primary, key);
        }
        for group in 0..store.groups() {
            for position in 0..store.indexes(group) as u16 {
                let (group, words) = (group as u16, &groups[place_of(store, group)]);
                enter(Which::Secondary { group, position }, store.secondary_key(group, position, key, words));
            }
        }
    }
}

impl<S: Scheme> View<'_, S> {
    /// Visits a share of all rows of a table: the key, where the table has a primary index, and the words of its
    /// column groups one after the other.
    pub fn each_row(&self, table: TableId, share: Share, mut see: impl FnMut(Option<AnyKey>, &[u64])) {
        let store = self.db().tables().get(table);
        let (index, mut words) = (store.index(Which::Primary), Vec::new());
        let mut visit = |key, row| {
            words.clear();
            if self.append(row, &mut words) {
                see(key, &words);
            }
        };
        match (store.lookup(), store.key_words(Which::Primary)) {
            (Lookup::Heap, _) => store.for_each_row(share.index, share.of, |row| visit(None, row)),
            (_, 1) => index.for_each(share.index, share.of, |key, row| visit(Some(AnyKey::One(key)), row)),
            (_, 2) => index.for_each(share.index, share.of, |key, row| visit(Some(AnyKey::Two(key)), row)),
            _ => index.for_each(share.index, share.of, |key, row| visit(Some(AnyKey::Six(key)), row)),
        }
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

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): each bit moves all others.
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
