//! The tables that scripts use, and the operations on them in a transaction.

use core::ops::{ControlFlow, RangeInclusive};

use engine::{
    Abort, Direction, Home, Homes, Index, IndexOn, Key, Loader, Lookup, Quiesced, Row, Schema, Share, Table,
    Transaction, additive,
};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Change, Keys, Script, ScriptAction, ScriptOp, ScriptRows, Seen, TableName};

/// The number of keys of a home.
pub(super) const HOME_KEYS: u64 = 100;
/// The number of bits of an ordered key below its home.
const SUFFIX_BITS: u32 = 32;

/// The key of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number(u64);

impl Key for Number {
    type Ordered = u64;
    const SUFFIX_BITS: u32 = SUFFIX_BITS;

    fn ordered(self) -> u64 {
        ((self.0 / HOME_KEYS) << SUFFIX_BITS) | (self.0 % HOME_KEYS)
    }

    fn from_ordered(ordered: u64) -> Self {
        Self((ordered >> SUFFIX_BITS) * HOME_KEYS + (ordered & u64::from(u32::MAX)))
    }

    fn home(self) -> Home {
        Home::At(self.0 / HOME_KEYS)
    }
}

/// A row that `add` can change.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Plain(u64);

additive!(Plain of Number { 0 });

/// A row that can be found by its value.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Valued(u64);

impl Row for Valued {
    type Key = Number;
    type Indexes = (ByValue,);
}

/// The secondary index of [`Valued`].
#[derive(Debug)]
struct ByValue;

/// A key of [`ByValue`]; all keys have the home of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ValueKey {
    value: u64,
    number: u64,
}

impl Key for ValueKey {
    type Ordered = u128;

    fn ordered(self) -> u128 {
        (u128::from(self.value) << 64) | u128::from(self.number)
    }

    fn from_ordered(ordered: u128) -> Self {
        Self { value: (ordered >> 64) as u64, number: ordered as u64 }
    }

    fn home(self) -> Home {
        Home::At(0)
    }
}

impl IndexOn<Valued> for ByValue {
    type Key = ValueKey;

    fn key(key: Number, row: &Valued) -> ValueKey {
        ValueKey { value: row.0, number: key.0 }
    }

    fn primary(key: ValueKey) -> Number {
        Number(key.number)
    }
}

/// A row that consists of one value.
trait OneValue: Row<Key = Number> + Sized {
    fn new(value: u64) -> Self;
    fn get(&self) -> u64;
}

impl OneValue for Plain {
    fn new(value: u64) -> Self {
        Self(value)
    }

    fn get(&self) -> u64 {
        self.0
    }
}

impl OneValue for Valued {
    fn new(value: u64) -> Self {
        Self(value)
    }

    fn get(&self) -> u64 {
        self.0
    }
}

/// The tables.
#[derive(Debug)]
pub(super) struct Stage {
    point: Table<Plain>,
    ordered: Table<Plain>,
    indexed: Table<Valued>,
    by_value: Index<Valued, ByValue>,
}

impl Stage {
    /// Declares the tables.
    pub(super) fn declare(schema: &mut Schema) -> Self {
        let point = schema.table("point", Lookup::Point, 64).group();
        let ordered = schema.table("ordered", Lookup::Ordered, 64).group();
        let mut builder = schema.table("indexed", Lookup::Point, 64);
        let indexed = builder.group();
        let by_value = builder.index(indexed, "by_value");
        Self { point, ordered, indexed, by_value }
    }

    /// Loads rows.
    pub(super) fn load(&self, rows: &ScriptRows, loader: &mut impl Loader) {
        for (&(table, key), &value) in rows {
            match table {
                TableName::Point => loader.insert(self.point, Number(key), &Plain(value)),
                TableName::Ordered => loader.insert(self.ordered, Number(key), &Plain(value)),
                TableName::Indexed => loader.insert(self.indexed, Number(key), &Valued(value)),
            }
        }
    }

    /// All rows.
    pub(super) fn rows(&self, view: &impl Quiesced) -> ScriptRows {
        let mut rows = ScriptRows::new();
        for (name, table) in [(TableName::Point, self.point), (TableName::Ordered, self.ordered)] {
            view.rows(table, Share::WHOLE, |key, row| _ = rows.insert((name, key.0), row.0));
        }
        view.rows(self.indexed, Share::WHOLE, |key, row| _ = rows.insert((TableName::Indexed, key.0), row.0));
        rows
    }

    /// Executes an operation, and returns what it saw.
    pub(super) fn execute<T: Transaction>(&self, op: &ScriptOp, txn: &mut T) -> Result<Seen, Abort> {
        match *op {
            ScriptOp::Add(table, key, amount) => {
                let table = if table == TableName::Point { self.point } else { self.ordered };
                Ok(Seen::Done(txn.add(table, Number(key), |row| row.0 = row.0.wrapping_add(amount))?))
            }
            ScriptOp::Scan { keys, is_forward, limit } => {
                self.scan(txn, keys, is_forward, limit).map(Seen::Rows)
            }
            ScriptOp::Read(table, _)
            | ScriptOp::Update(table, ..)
            | ScriptOp::Replace(table, ..)
            | ScriptOp::Delete(table, _)
            | ScriptOp::Insert(Keys { table, .. }, _) => match table {
                TableName::Point => by_key(self.point, op, txn),
                TableName::Ordered => by_key(self.ordered, op, txn),
                TableName::Indexed => by_key(self.indexed, op, txn),
            },
        }
    }

    fn scan<T: Transaction>(
        &self,
        txn: &mut T,
        keys: Keys,
        is_forward: bool,
        limit: usize,
    ) -> Result<Vec<(u64, u64)>, Abort> {
        let direction = if is_forward { Direction::Forward } else { Direction::Backward };
        let mut seen = Vec::new();
        let mut see = |key, value| {
            seen.push((key, value));
            if seen.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        if keys.table == TableName::Indexed {
            let see = |key: ValueKey, row: &Valued| see(key.number, row.0);
            txn.scan_by(self.by_value, values(keys), direction, see)?;
        } else {
            let numbers = Number(keys.from)..=Number(keys.to);
            txn.scan(self.ordered, numbers, direction, |key, row| see(key.0, row.0))?;
        }
        Ok(seen)
    }
}

/// The range of all index keys with these values.
fn values(keys: Keys) -> RangeInclusive<ValueKey> {
    ValueKey { value: keys.from, number: 0 }..=ValueKey { value: keys.to, number: u64::MAX }
}

/// Executes an operation that names its rows by their keys.
fn by_key<R: OneValue, T: Transaction>(table: Table<R>, op: &ScriptOp, txn: &mut T) -> Result<Seen, Abort> {
    Ok(match *op {
        ScriptOp::Read(_, key) => Seen::Value(txn.read(table, Number(key), R::get)?),
        ScriptOp::Update(_, key, change) => Seen::Value(txn.update(table, Number(key), |row| {
            let before = row.get();
            *row = R::new(change.of(before));
            before
        })?),
        ScriptOp::Replace(_, key, value) => Seen::Done(txn.replace(table, Number(key), &R::new(value))?),
        ScriptOp::Delete(_, key) => Seen::Done(txn.delete(table, Number(key))?),
        ScriptOp::Insert(keys, value) => {
            for key in keys.from..=keys.to {
                if !txn.insert(table, Number(key), &R::new(value))? {
                    return Ok(Seen::Done(false));
                }
            }
            Seen::Done(true)
        }
        ScriptOp::Add(..) | ScriptOp::Scan { .. } => unreachable!("not every table has these"),
    })
}

impl Change {
    /// The value after the change.
    pub(super) fn of(self, before: u64) -> u64 {
        match self {
            Self::To(value) => value,
            Self::By(amount) => before.wrapping_add(amount),
        }
    }
}

impl ScriptOp {
    /// The keys that the operation may touch: all keys of its table for a scan by value.
    pub(super) fn keys(&self) -> Keys {
        match *self {
            Self::Read(table, key)
            | Self::Update(table, key, _)
            | Self::Add(table, key, _)
            | Self::Replace(table, key, _)
            | Self::Delete(table, key) => Keys::one(table, key),
            Self::Scan { keys, .. } if keys.table == TableName::Indexed => {
                Keys { from: 0, to: keys.table.keys_end() - 1, ..keys }
            }
            Self::Insert(keys, _) | Self::Scan { keys, .. } => keys,
        }
    }

    /// Whether it writes nothing.
    pub(super) fn is_read(&self) -> bool {
        matches!(self, Self::Read(..) | Self::Scan { .. })
    }
}

impl Script {
    /// The homes that a transaction touches.
    pub(super) fn homes(&self, txn: usize) -> Homes {
        let mut homes = Homes::new();
        for (_, step) in self.steps_of(txn) {
            if let ScriptAction::Do(op) = &step.act {
                let keys = op.keys();
                (keys.from / HOME_KEYS..=keys.to / HOME_KEYS).for_each(|home| homes.add(home));
            }
        }
        homes
    }

    /// Whether a transaction writes nothing.
    pub(super) fn is_read_only(&self, txn: usize) -> bool {
        self.steps_of(txn).all(|(_, step)| !matches!(&step.act, ScriptAction::Do(op) if !op.is_read()))
    }
}
