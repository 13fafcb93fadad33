//! A model of the log: a list of commits, applied to plain maps.

use std::collections::BTreeMap;

use durability::{Layouts, TableLayout};
use engine::AnyKey;
use stdx::Rng;
use storage::TableId;

/// Rows by table and key.
pub(crate) type Rows = BTreeMap<(u16, AnyKey), Vec<u64>>;

/// One write: all column groups if `group` is `None`, a deletion if `row` is `None`.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) table: u16,
    pub(crate) group: Option<u16>,
    pub(crate) key: AnyKey,
    pub(crate) row: Option<Vec<u64>>,
}

/// A commit with the epoch that it drew. Commits are listed in the order that they drew.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) epoch: u64,
    pub(crate) writes: Vec<Write>,
}

/// The state of a database: rows by key, and rows of heaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) rows: Rows,
    pub(crate) heaps: Vec<(u16, AnyKey, Vec<u64>)>,
}

/// The number of the table that is a heap.
pub(crate) const HEAP: u16 = 2;

/// The tables, with several widths of keys and rows, one of them wide.
pub(crate) fn layouts() -> Layouts {
    let table = |name: &str, is_heap, key_words, groups: &[u32]| TableLayout {
        name: name.to_owned(),
        is_heap,
        key_words,
        groups: groups.to_vec(),
    };
    Layouts(vec![
        table("plain", false, 1, &[2]),
        table("grouped", false, 2, &[1, 3, 2]),
        table("heap", true, 1, &[2]),
        table("wide", false, 6, &[150]),
    ])
}

impl State {
    pub(crate) fn apply(&mut self, commit: &Commit, layouts: &Layouts) {
        for write in &commit.writes {
            let groups = &layouts.0[usize::from(write.table)].groups;
            if write.table == HEAP {
                let row = write.row.clone().expect("a heap takes inserts");
                self.heaps.push((write.table, write.key, row));
                continue;
            }
            let at = (write.table, write.key);
            let Some(row) = &write.row else {
                self.rows.remove(&at);
                continue;
            };
            match write.group {
                None => _ = self.rows.insert(at, row.clone()),
                Some(group) => {
                    let start: u32 = groups[..usize::from(group)].iter().sum();
                    let old = self.rows.get_mut(&at).expect("a row is there before a part of it is written");
                    old[start as usize..start as usize + row.len()].copy_from_slice(row);
                }
            }
        }
    }

    /// The state that the commits up to an epoch produce.
    pub(crate) fn at(commits: &[Commit], epoch: u64, layouts: &Layouts) -> Self {
        let mut state = Self::default();
        commits.iter().filter(|commit| commit.epoch <= epoch).for_each(|commit| state.apply(commit, layouts));
        state.heaps.sort();
        state
    }
}

/// A random key of a table; there are few keys.
pub(crate) fn key(table: u16, rng: &mut Rng) -> AnyKey {
    let number = rng.below(12);
    match table {
        1 => AnyKey::Two(u128::from(number) << 64 | u128::from(rng.below(2))),
        3 => AnyKey::Six([number / 4, 0, 0, 0, 0, number % 4]),
        _ => AnyKey::One(number),
    }
}

/// The random writes of a transaction on the current state, none of a `locked` row.
pub(crate) fn writes(
    state: &State,
    layouts: &Layouts,
    rng: &mut Rng,
    is_locked: impl Fn(u16, AnyKey) -> bool,
) -> Vec<Write> {
    let mut writes: Vec<Write> = Vec::new();
    for _ in 0..=rng.below(3) {
        let table = [0, 0, 1, 1, HEAP, 3][rng.below(6) as usize];
        let key = key(table, rng);
        let is_taken = writes.iter().any(|write| (write.table, write.key) == (table, key));
        if table != HEAP && (is_locked(table, key) || is_taken) {
            continue;
        }
        let layout = &layouts.0[usize::from(table)];
        let mut words = |count: usize| Some((0..count).map(|_| rng.next_u64()).collect::<Vec<u64>>());
        let is_there = state.rows.contains_key(&(table, key));
        if table == HEAP || !is_there {
            writes.push(Write { table, group: None, key, row: words(layout.row_words()) });
        } else if words(1).is_some_and(|word| word[0].is_multiple_of(4)) {
            writes.push(Write { table, group: None, key, row: None });
        } else {
            let group = words(1).map_or(0, |word| word[0] as usize % layout.groups.len());
            let row = words(layout.groups[group] as usize);
            writes.push(Write { table, group: Some(group as u16), key, row });
        }
    }
    writes
}

/// Passes a write to a sink: whole rows group by group, or at once.
pub(crate) fn tell(sink: &mut durability::LogSink, write: &Write, layouts: &Layouts, at_once: bool) {
    let table = TableId(write.table);
    let groups = &layouts.0[usize::from(write.table)].groups;
    if write.group.is_some() || at_once {
        return sink.write(table, write.group, write.key, write.row.as_deref());
    }
    let mut at = 0;
    for (group, width) in (0..).zip(groups) {
        let row = write.row.as_ref().map(|row| &row[at..at + *width as usize]);
        sink.write(table, Some(group), write.key, row);
        at += *width as usize;
    }
}
