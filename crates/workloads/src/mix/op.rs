//! The operations of the mix's transactions.

use core::ops::ControlFlow;

use engine::{Abort, Direction, IndexOn, InputFootprint, Transaction};
use stdx::Rng;

use super::{ByLabel, CounterRow, LABELS, LabelKey, Labelled, Mix, MixKey, Note, Tables};

/// The maximum number of rows that a scan within one home covers, if all of them are present.
const SCANNED_MAX: u64 = 12;
/// The maximum row limit of a scan that has a limit.
const LIMIT_MAX: u64 = 5;

/// The table, and for labelled rows the column group, of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The table for point lookups.
    Points,
    /// The ordered table.
    Ordered,
    /// The table with the secondary index: the column group with the label.
    Labelled,
    /// The other column group of the same table.
    Notes,
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub enum MixOp {
    /// Reads a row.
    Read(At, MixKey),
    /// Reads and writes a row. In the group with the label, the label is written.
    Update(At, MixKey, u64),
    /// Adds to a row without reading it. For tables other than those of cells, the same as `Update`.
    Add(At, MixKey, u64),
    /// Overwrites a row.
    Replace(At, MixKey, u64),
    /// Inserts a row.
    Insert(At, MixKey, u64),
    /// Inserts a row. If the row exists, and the point row with the second key has an odd value, overwrites the row:
    /// the access set then depends on other transactions. In the table of labelled rows the named column group is
    /// overwritten. Only for given transactions.
    InsertOr(At, MixKey, u64, MixKey),
    /// Deletes a row.
    Delete(At, MixKey),
    /// Reads a range of keys, forward from the first key or backward from the last, up to this number of rows.
    Scan(At, MixKey, MixKey, Direction, u64),
    /// Reads the rows of a home with a label in this range, forward from the first or backward from the last, up to
    /// this number of rows.
    ScanBy(u64, u64, u64, Direction, u64),
}

impl MixOp {
    pub(super) const NONE: Self = Self::Read(At::Points, MixKey::new(0, 0));

    pub(super) fn random(mix: &Mix, reads: bool, rng: &mut Rng) -> Self {
        let at = [At::Points, At::Ordered, At::Labelled, At::Notes][rng.below(4) as usize];
        let key = MixKey::new(rng.below(mix.homes), rng.below(mix.keys));
        let value = rng.below(1 << 16);
        if !reads {
            return match rng.below(10) {
                0..4 => Self::Update(at, key, value),
                4 => Self::Add(at, key, value),
                5 => Self::Replace(at, key, value),
                6..8 => Self::Insert(at, key, value),
                _ => Self::Delete(at, key),
            };
        }
        let direction = if rng.below(2) == 0 { Direction::Forward } else { Direction::Backward };
        let limit = if rng.below(2) == 0 { u64::MAX } else { 1 + rng.below(LIMIT_MAX) };
        match (at, rng.below(3)) {
            (At::Points, _) | (_, 0) => Self::Read(at, key),
            (At::Labelled, 1) => {
                let label = rng.below(LABELS);
                Self::ScanBy(key.at(), label, label + rng.below(LABELS - label), direction, limit)
            }
            _ => {
                // Some scans go beyond the home's last key, into the next home.
                let is_across = key.at() + 1 < mix.homes && rng.below(8) == 0;
                let to = if is_across {
                    MixKey::new(key.at() + 1, rng.below(SCANNED_MAX))
                } else {
                    MixKey::new(key.at(), key.number() + rng.below(SCANNED_MAX))
                };
                Self::Scan(at, key, to, direction, limit)
            }
        }
    }

    /// Returns the homes of the operation's keys.
    pub(super) fn homes(self) -> impl Iterator<Item = u64> {
        let (from, to) = match self {
            Self::Read(_, key)
            | Self::Update(_, key, _)
            | Self::Add(_, key, _)
            | Self::Replace(_, key, _)
            | Self::Insert(_, key, _)
            | Self::Delete(_, key) => (key.at(), key.at()),
            Self::InsertOr(_, key, _, gate) => (key.at().min(gate.at()), key.at().max(gate.at())),
            Self::Scan(_, from, to, ..) => (from.at(), to.at()),
            Self::ScanBy(home, ..) => (home, home),
        };
        from..=to
    }

    /// Whether [`footprint`](Self::footprint) adds all that the operation touches: not of one that changes secondary
    /// keys, removes a key, or scans.
    pub(super) fn is_known(self) -> bool {
        match self {
            Self::Read(..) => true,
            Self::Update(at, ..) | Self::Add(at, ..) | Self::Replace(at, ..) | Self::Insert(at, ..) => {
                matches!(at, At::Points | At::Ordered)
            }
            Self::InsertOr(..) | Self::Delete(..) | Self::Scan(..) | Self::ScanBy(..) => false,
        }
    }

    /// Adds the rows that the operation names by their keys: scans name none.
    pub(super) fn footprint(self, tables: &Tables, footprint: &mut InputFootprint) {
        match self {
            Self::Read(At::Labelled, key) => footprint.read(tables.labelled, key),
            Self::Read(At::Notes, key) => footprint.read(tables.notes, key),
            Self::Read(at, key) => footprint.read(cells(at, tables), key),
            Self::Insert(at @ (At::Points | At::Ordered), key, _) => {
                footprint.insert(cells(at, tables), key);
            }
            Self::Update(at, key, _)
            | Self::Add(at, key, _)
            | Self::Replace(at, key, _)
            | Self::Insert(at, key, _)
            | Self::InsertOr(at, key, ..)
            | Self::Delete(at, key) => match at {
                At::Labelled => footprint.write(tables.labelled, key),
                At::Notes => footprint.write(tables.notes, key),
                _ => footprint.write(cells(at, tables), key),
            },
            Self::Scan(..) | Self::ScanBy(..) => {}
        }
    }

    pub(super) fn execute<T: Transaction>(self, mix: &Mix, txn: &mut T) -> Result<(), Abort> {
        let Mix { tables, noticed, .. } = mix;
        match self {
            Self::Read(at, key) => read(at, key, mix, txn),
            Self::Add(at @ (At::Points | At::Ordered), key, value) => {
                txn.add(cells(at, tables), key, |cell| *cell = CounterRow::new(value)).map(drop)
            }
            Self::Update(at, key, value) | Self::Add(at, key, value) => update(at, key, value, mix, txn),
            Self::Replace(at, key, value) => replace(at, key, value, tables, txn),
            Self::Insert(at, key, value) => insert(at, key, value, tables, txn).map(drop),
            Self::InsertOr(at, key, value, gate) => {
                if insert(at, key, value, tables, txn)? {
                    return Ok(());
                }
                let is_odd = |cell: &CounterRow| cell.0[0] % 2 == 1;
                match txn.read(tables.points, gate, is_odd)? {
                    Some(true) => replace(at, key, value, tables, txn),
                    Some(false) | None => Ok(()),
                }
            }
            Self::Delete(at, key) => match at {
                At::Labelled | At::Notes => txn.delete(tables.labelled, key),
                _ => txn.delete(cells(at, tables), key),
            }
            .map(drop),
            Self::Scan(at, from, to, direction, limit) => scan(at, (from, to), direction, limit, mix, txn),
            Self::ScanBy(home, first, last, direction, limit) => {
                let key = |label, number| LabelKey { home, label, number };
                let range = key(first, 0)..=key(last, MixKey(u64::MAX).number());
                let mut left = limit;
                txn.scan_by(tables.by_label, range, direction, |key, row| {
                    let is_right = ByLabel::key(ByLabel::primary(key), row) == key;
                    noticed.entry(is_right);
                    noticed.row(row.label == row.echo);
                    count(&mut left)
                })
            }
        }
    }
}

/// Returns the table of cells for this operation.
fn cells(at: At, tables: &Tables) -> engine::Table<CounterRow> {
    if at == At::Points { tables.points } else { tables.ordered }
}

fn count(left: &mut u64) -> ControlFlow<()> {
    *left -= 1;
    if *left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn read<T: Transaction>(
    at: At,
    key: MixKey,
    Mix { tables, noticed, .. }: &Mix,
    txn: &mut T,
) -> Result<(), Abort> {
    let is_whole = match at {
        At::Labelled => txn.read(tables.labelled, key, |row| row.label == row.echo)?,
        At::Notes => txn.read(tables.notes, key, |note| note.0[0] == note.0[1])?,
        _ => txn.read(cells(at, tables), key, |cell| cell.value().is_some())?,
    };
    noticed.row(is_whole != Some(false));
    Ok(())
}

fn replace<T: Transaction>(
    at: At,
    key: MixKey,
    value: u64,
    tables: &Tables,
    txn: &mut T,
) -> Result<(), Abort> {
    match at {
        At::Labelled => txn.replace(tables.labelled, key, &Labelled::new(value % LABELS)),
        At::Notes => txn.replace(tables.notes, key, &Note([value; 2])),
        _ => txn.replace(cells(at, tables), key, &CounterRow::new(value)),
    }
    .map(drop)
}

/// Inserts a row. Returns `false` if the key exists.
fn insert<T: Transaction>(
    at: At,
    key: MixKey,
    value: u64,
    tables: &Tables,
    txn: &mut T,
) -> Result<bool, Abort> {
    match at {
        At::Labelled | At::Notes => {
            let rows = (&Labelled::new(value % LABELS), &Note([value; 2]));
            txn.insert((tables.labelled, tables.notes), key, rows)
        }
        _ => txn.insert(cells(at, tables), key, &CounterRow::new(value)),
    }
}

fn update<T: Transaction>(
    at: At,
    key: MixKey,
    value: u64,
    Mix { tables, noticed, .. }: &Mix,
    txn: &mut T,
) -> Result<(), Abort> {
    let is_whole = match at {
        At::Labelled => txn.update(tables.labelled, key, |row| {
            let is_whole = row.label == row.echo;
            // Half of the updates leave the label unchanged.
            if value.is_multiple_of(2) {
                *row = Labelled::new(value / 2 % LABELS);
            }
            is_whole
        })?,
        At::Notes => txn.update(tables.notes, key, |note| {
            let is_whole = note.0[0] == note.0[1];
            *note = Note([value; 2]);
            is_whole
        })?,
        _ => txn.update(cells(at, tables), key, |cell| {
            let seen = cell.value();
            *cell = CounterRow::new(seen.unwrap_or_default().wrapping_add(value));
            seen.is_some()
        })?,
    };
    noticed.row(is_whole != Some(false));
    Ok(())
}

fn scan<T: Transaction>(
    at: At,
    (from, to): (MixKey, MixKey),
    direction: Direction,
    limit: u64,
    Mix { tables, noticed, .. }: &Mix,
    txn: &mut T,
) -> Result<(), Abort> {
    let mut left = limit;
    let mut see = |is_whole: bool| {
        noticed.row(is_whole);
        count(&mut left)
    };
    match at {
        At::Labelled => txn.scan(tables.labelled, from..=to, direction, |_, row| see(row.label == row.echo)),
        At::Notes => txn.scan(tables.notes, from..=to, direction, |_, note| see(note.0[0] == note.0[1])),
        _ => txn.scan(cells(at, tables), from..=to, direction, |_, cell| see(cell.value().is_some())),
    }
}
