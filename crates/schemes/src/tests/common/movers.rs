//! Movers: rows that change their keys in two secondary indexes all the time, two by two, so that each shelf
//! keeps its number of rows; that are deleted and inserted anew under other keys; and that move to and fro in
//! transactions that roll back. Every look finds each row once, on one shelf, and every shelf as full as ever.

use core::ops::ControlFlow;

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Direction, Drive, Forecast, Homes, Index, IndexOn, InputFootprint, Loader, Lookup,
    Quiesced, Row, Schema, Share, Table, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::waiter;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{NameKey, Place, at_home, no_forecast, violation};

const HOMES: u64 = 2;
/// Of each pair of neighbouring numbers, one is the key of a row.
const PAIRS: u64 = 6;
const SHELVES: u64 = 3;
const ROWS_PER_SHELF: usize = (PAIRS / SHELVES) as usize;
/// The constant number of rows.
pub(crate) const ROWS: usize = (HOMES * PAIRS) as usize;
const AMOUNT: u64 = 10;

/// A row on a shelf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(crate) struct Item {
    shelf: u64,
    amount: u64,
}

impl Row for Item {
    type Key = Place;
    type Indexes = (ByShelf, ByLabel);
}

/// The index of the shelves.
#[derive(Debug)]
pub(crate) struct ByShelf;

impl IndexOn<Item> for ByShelf {
    type Key = NameKey;

    fn key(key: Place, row: &Item) -> NameKey {
        NameKey { home: key.at(), name: row.shelf, number: key.number() }
    }

    fn primary(key: NameKey) -> Place {
        key.place()
    }
}

/// The same index, with the last shelf first.
#[derive(Debug)]
pub(crate) struct ByLabel;

impl IndexOn<Item> for ByLabel {
    type Key = NameKey;

    fn key(key: Place, row: &Item) -> NameKey {
        NameKey { name: SHELVES - row.shelf, ..ByShelf::key(key, row) }
    }

    fn primary(key: NameKey) -> Place {
        key.place()
    }
}

/// The workload.
#[derive(Debug)]
pub(crate) struct Movers {
    items: Table<Item>,
    by_shelf: Index<Item, ByShelf>,
    by_label: Index<Item, ByLabel>,
}

/// A change of two rows of a home.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// They change places by updates.
    Swap,
    /// They change places by replacements of the whole rows.
    Replace,
    /// They change places by deletions and insertions of their keys.
    Anew,
    /// The first visits every shelf before they change places.
    Tour,
    /// The first row visits every shelf and returns to its own in the end.
    Return,
    /// The first row is deleted, and its neighbour inserted in its place.
    Hop,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// Changes a home's rows of two pairs; rolls back in the end or not.
    Change { home: u64, pairs: [u64; 2], change: Change, rolls_back: bool },
    /// Looks at one shelf of a home.
    Shelf(u64, u64, Direction),
    /// Looks at all rows of a home, by key, by shelf and by label.
    All(u64, Direction),
}

/// The number of the type of transaction that changes rows.
pub(crate) const CHANGE: usize = 0;
/// The number of the type of transaction that rolls back.
pub(crate) const UNDONE: usize = 1;
/// The number of the type of transaction that looks.
pub(crate) const LOOK: usize = 2;

/// A row and its key.
type Found = (Place, Item);

impl Movers {
    /// The row of a pair.
    fn find<T: Transaction>(&self, home: u64, pair: u64, txn: &mut T) -> Result<Found, Abort> {
        for number in [2 * pair, 2 * pair + 1] {
            let key = Place::new(home, number);
            if let Some(item) = txn.read(self.items, key, |item| *item)? {
                return Ok((key, item));
            }
        }
        // One of the two keys is present at all times.
        Err(Abort::ReadChanged)
    }

    /// The rows of a home that stand on a range of shelves, by shelf or by label.
    fn look<T: Transaction>(
        &self,
        home: u64,
        (first, last): (u64, u64),
        is_by_label: bool,
        direction: Direction,
        txn: &mut T,
    ) -> Result<Vec<Found>, Abort> {
        let mut found = Vec::new();
        let mut see = |key: NameKey, item: &Item| {
            found.push((key.place(), *item));
            ControlFlow::Continue(())
        };
        if is_by_label {
            let labels = NameKey::all(home, SHELVES - last..=SHELVES - first);
            txn.scan_by(self.by_label, labels, direction, |key, item| {
                assert_eq!(key.name, SHELVES - item.shelf, "a row is seen under its label");
                see(key, item)
            })?;
        } else {
            txn.scan_by(self.by_shelf, NameKey::all(home, first..=last), direction, |key, item| {
                assert_eq!(key.name, item.shelf, "a row is seen on its shelf");
                see(key, item)
            })?;
        }
        Ok(found)
    }

    /// Whether this attempt sees a row of its own once, where it put the row, in either index.
    fn is_seen<T: Transaction>(&self, (key, item): Found, txn: &mut T) -> Result<bool, Abort> {
        let mut is_right = true;
        for (is_by_label, direction) in [(false, Direction::Forward), (true, Direction::Backward)] {
            let found = self.look(key.at(), (0, SHELVES - 1), is_by_label, direction, txn)?;
            is_right &= found.iter().filter(|(at, _)| *at == key).eq([&(key, item)]);
        }
        Ok(is_right)
    }

    /// Puts a row on a shelf.
    fn put<T: Transaction>(
        &self,
        (key, item): Found,
        change: Change,
        shelf: u64,
        txn: &mut T,
    ) -> Result<bool, Abort> {
        let item = Item { shelf, ..item };
        let is_there = match change {
            Change::Replace => txn.replace(self.items, key, &item)?,
            Change::Anew => {
                let is_deleted = txn.delete(self.items, key)?;
                waiter::give_way();
                is_deleted && txn.insert(self.items, key, &item)?
            }
            _ => txn.update(self.items, key, |row| row.shelf = shelf)?.is_some(),
        };
        waiter::give_way();
        Ok(is_there && self.is_seen((key, item), txn)?)
    }

    /// Changes the rows of two pairs. Returns whether it saw its own changes.
    fn change<T: Transaction>(
        &self,
        home: u64,
        pairs: [u64; 2],
        change: Change,
        txn: &mut T,
    ) -> Result<bool, Abort> {
        let first = self.find(home, pairs[0], txn)?;
        let mut is_right = true;
        match change {
            Change::Hop => {
                let to = Place::new(home, first.0.number() ^ 1);
                is_right &= txn.delete(self.items, first.0)?;
                is_right &= txn.insert(self.items, to, &first.1)?;
                return Ok(is_right && self.is_seen((to, first.1), txn)?);
            }
            Change::Tour | Change::Return => {
                for step in 1..=SHELVES {
                    is_right &= self.put(first, change, (first.1.shelf + step) % SHELVES, txn)?;
                }
            }
            _ => {}
        }
        if !matches!(change, Change::Return) {
            let second = self.find(home, pairs[1], txn)?;
            is_right &= self.put(first, change, second.1.shelf, txn)?;
            is_right &= self.put(second, change, first.1.shelf, txn)?;
        }
        Ok(is_right)
    }
}

/// Whether these are all rows of one home, each once.
fn is_all(mut found: Vec<Found>) -> bool {
    found.sort_unstable_by_key(|(key, _)| *key);
    let pairs = found.iter().map(|(key, _)| key.number() / 2);
    let is_full = (0..SHELVES)
        .all(|shelf| found.iter().filter(|(_, item)| item.shelf == shelf).count() == ROWS_PER_SHELF);
    pairs.eq(0..PAIRS) && is_full && found.iter().all(|(_, item)| item.amount == AMOUNT)
}

impl Workload for Movers {
    const NAME: &'static str = "movers";
    const TYPES: &'static [TxnType] = &[
        TxnType { name: "change", read_only: false },
        TxnType { name: "undone", read_only: false },
        TxnType { name: "look", read_only: true },
    ];
    const SETTINGS: &'static [Setting] = &[];
    type Input = Input;
    type Scratch = ();
    type Output = ();
    type Ledger = ();

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let mut table = schema.table("items", Lookup::Ordered, 0);
        let items = table.group();
        let (by_shelf, by_label) = (table.index(items, "by_shelf"), table.index(items, "by_label"));
        Ok(Self { items, by_shelf, by_label })
    }

    fn forecast(&self) -> Forecast {
        no_forecast()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for pair in share.of_range(PAIRS) {
            for home in 0..HOMES {
                let item = Item { shelf: pair % SHELVES, amount: AMOUNT };
                loader.insert(self.items, Place::new(home, 2 * pair), &item);
            }
        }
    }

    fn generate(&self, _: ClientId, _: u64, rng: &mut Rng) -> Input {
        let home = rng.below(HOMES);
        let direction = if rng.below(2) == 0 { Direction::Forward } else { Direction::Backward };
        match rng.below(8) {
            0 => Input::All(home, direction),
            1..3 => Input::Shelf(home, rng.below(SHELVES), direction),
            _ => {
                let first = rng.below(PAIRS);
                let second = (first + 1 + rng.below(PAIRS - 1)) % PAIRS;
                let change = match rng.below(6) {
                    0 => Change::Swap,
                    1 => Change::Replace,
                    2 => Change::Anew,
                    3 => Change::Tour,
                    4 => Change::Return,
                    _ => Change::Hop,
                };
                Input::Change { home, pairs: [first, second], change, rolls_back: rng.below(4) == 0 }
            }
        }
    }

    fn kind(&self, input: &Input) -> usize {
        match input {
            Input::Change { rolls_back: false, .. } => CHANGE,
            Input::Change { rolls_back: true, .. } => UNDONE,
            _ => LOOK,
        }
    }

    fn homes(&self, input: &Input) -> Homes {
        match *input {
            Input::Change { home, .. } | Input::Shelf(home, ..) | Input::All(home, _) => at_home(home),
        }
    }

    /// One row stands for all of them, whose changes meet in the leaves of the secondary indexes.
    fn footprint(&self, input: &Input, footprint: &mut InputFootprint) {
        let row = Place::new(0, 0);
        match input {
            Input::Change { .. } => footprint.write(self.items, row),
            Input::Shelf(..) | Input::All(..) => footprint.read(self.items, row),
        }
    }

    fn execute<T: Transaction>(&self, input: &Input, (): &mut (), txn: &mut T) -> Result<(), Abort> {
        let is_right = match *input {
            Input::Change { home, pairs, change, rolls_back } => {
                self.change(home, pairs, change, txn)? && !rolls_back
            }
            Input::Shelf(home, shelf, direction) => {
                let found = self.look(home, (shelf, shelf), false, direction, txn)?;
                found.len() == ROWS_PER_SHELF
            }
            Input::All(home, direction) => {
                let by_shelf = self.look(home, (0, SHELVES - 1), false, direction, txn)?;
                waiter::give_way();
                let by_label = self.look(home, (0, SHELVES - 1), true, direction, txn)?;
                waiter::give_way();
                let mut by_key = Vec::new();
                let all = Place::new(home, 0)..=Place::new(home, 2 * PAIRS);
                txn.scan(self.items, all, direction, |key, item| {
                    by_key.push((key, *item));
                    ControlFlow::Continue(())
                })?;
                is_all(by_shelf) && is_all(by_label) && is_all(by_key)
            }
        };
        // A rollback of a transaction that saw something inconsistent must not be believed.
        if is_right { Ok(()) } else { Err(Abort::Rollback) }
    }

    fn check(&self, view: &impl Quiesced, _: Share, _: &[()]) -> Result<(), Violation> {
        for home in 0..HOMES {
            let (mut by_shelf, mut by_label) = (Vec::new(), Vec::new());
            view.scan_by(self.by_shelf, NameKey::all(home, 0..=SHELVES), |key, item| {
                by_shelf.push((key.place(), *item));
                ControlFlow::Continue(())
            });
            view.scan_by(self.by_label, NameKey::all(home, 0..=SHELVES), |key, item| {
                by_label.push((key.place(), *item));
                ControlFlow::Continue(())
            });
            if !is_all(by_shelf.clone()) || !is_all(by_label.clone()) {
                return violation("shelves are full", format!("{by_shelf:?} and by label {by_label:?}"));
            }
        }
        Ok(())
    }
}
