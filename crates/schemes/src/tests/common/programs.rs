//! Random programs of reads, writes, inserts, deletes and scans of two tables, and a model of their effects.

use core::ops::ControlFlow;
use std::collections::{BTreeMap, BTreeSet};

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Database, Direction, Drive, Forecast, Home, Homes, Index, IndexOn, InputFootprint, Key,
    Loader, Lookup, Quiesced, Row, Schema, Scheme, Share, Table, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::Latched;
use sync::atomic::{AtomicU64, Ordering};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Keys of either table: enough for several leaves.
pub(crate) const KEYS: u64 = 150;
/// Keys from which every other choice is made.
pub(crate) const HOT_KEYS: u64 = 30;
/// Values of the indexed column.
pub(crate) const GROUPS: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(crate) struct Item {
    /// The writer's mark.
    pub(crate) mark: u64,
    pub(crate) group: u64,
}

impl Row for Item {
    type Key = u64;
    type Indexes = (ByGroup,);
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(crate) struct Point {
    pub(crate) mark: u64,
}

impl Row for Point {
    type Key = u64;
    type Indexes = ();
}

#[derive(Debug)]
pub(crate) struct ByGroup;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupKey {
    pub(crate) group: u64,
    pub(crate) key: u64,
}

impl Key for GroupKey {
    type Ordered = u128;

    fn ordered(self) -> u128 {
        u128::from(self.group) << 64 | u128::from(self.key)
    }

    fn from_ordered(ordered: u128) -> Self {
        Self { group: (ordered >> 64) as u64, key: ordered as u64 }
    }

    fn home(self) -> Home {
        Home::At(0)
    }
}

impl IndexOn<Item> for ByGroup {
    type Key = GroupKey;

    fn key(key: u64, row: &Item) -> GroupKey {
        GroupKey { group: row.group, key }
    }

    fn primary(key: GroupKey) -> u64 {
        key.key
    }
}

/// A step of a program. The table of items is ordered, that of points is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Read(u64),
    Update(u64),
    Replace(u64),
    Insert(u64, u64),
    Delete(u64),
    /// Inserts the first key. If the key is there, and another's mark is odd, updates it: no rehearsal foresees
    /// that.
    InsertOr(u64, u64),
    /// Scans keys from the first up to the second, at most as many as the last number.
    Scan(u64, u64, Direction, usize),
    ScanGroup(u64, Direction),
    ReadPoint(u64),
    /// A blind write: no index is on the columns of a point.
    ReplacePoint(u64),
    InsertPoint(u64),
    DeletePoint(u64),
    Rollback,
}

/// The rows that a step saw: keys with marks and groups.
pub(crate) type Seen = Vec<(u64, u64, u64)>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) client: u64,
    pub(crate) sequence: u64,
    pub(crate) ops: Vec<Op>,
}

impl Program {
    pub(crate) fn mark(&self, step: usize) -> u64 {
        self.client << 32 | self.sequence << 8 | (step as u64 + 1)
    }
}

/// An execution: the number of commits before its batch, its program, and what it saw.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) batch: u64,
    pub(crate) program: Program,
    pub(crate) seen: Vec<Seen>,
}

/// The operations that a workload uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    /// Reads, updates and replacements of keys that are there, blind ones among them.
    Records,
    All,
    /// Inserts and short scans in a table that is empty at first: the order of inserts shapes its leaves.
    Growth,
}

pub(crate) struct Programs {
    pub(crate) items: Table<Item>,
    pub(crate) by_group: Index<Item, ByGroup>,
    pub(crate) points: Table<Point>,
    pub(crate) mix: Mix,
    /// The number of commits of which clients heard: with one worker, of those before the present batch.
    pub(crate) settled: AtomicU64,
    /// In the order of execution, with one worker.
    pub(crate) executions: Latched<Vec<Execution>>,
    pub(crate) panics: Option<Panics>,
    pub(crate) states: States,
}

/// The footprint that programs state before they are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum States {
    /// One row stands for all, so that all programs conflict; it is not said that this is all.
    OneRow,
    /// The whole footprint, in the mix of [`Mix::Records`].
    All,
    /// A false statement: nothing is touched.
    Nothing,
}

/// The place of a planted panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Panics {
    /// In the third request of one client.
    InBatch,
    /// In the first program that executes again.
    Again,
}

impl Workload for Programs {
    const NAME: &'static str = "programs";
    const TYPES: &'static [TxnType] =
        &[TxnType { name: "program", read_only: false }, TxnType { name: "look", read_only: true }];
    const SETTINGS: &'static [Setting] = &[];
    type Input = Program;
    type Scratch = ();
    type Output = Vec<Seen>;
    type Ledger = Vec<(Program, Vec<Seen>)>;

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let mut items = schema.table("items", Lookup::Ordered, KEYS as usize);
        let group = items.group();
        let by_group = items.index(group, "by_group");
        let points = schema.table("points", Lookup::Point, KEYS as usize).group();
        let (settled, executions) = (AtomicU64::new(0), Latched::default());
        let (mix, panics, states) = (Mix::All, None, States::OneRow);
        Ok(Self { items: group, by_group, points, mix, settled, executions, panics, states })
    }

    fn forecast(&self) -> Forecast {
        Forecast::default()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for key in share.of_range(KEYS) {
            if self.mix == Mix::Records || self.mix == Mix::All && key % 3 != 0 {
                loader.insert(self.items, key, &Item { mark: 0, group: key % GROUPS });
                loader.insert(self.points, key, &Point { mark: 0 });
            }
        }
    }

    fn generate(&self, client: ClientId, sequence: u64, rng: &mut Rng) -> Program {
        let is_look = rng.below(8) == 0;
        let any_key = |rng: &mut Rng| {
            let keys = if rng.below(2) == 0 { HOT_KEYS } else { KEYS };
            rng.below(keys)
        };
        let op = |rng: &mut Rng| {
            let key = any_key(rng);
            let direction = if rng.below(2) == 0 { Direction::Forward } else { Direction::Backward };
            let kinds = if self.mix == Mix::All { 13 } else { 12 };
            match (self.mix, if is_look { 0 } else { rng.below(kinds) }) {
                (Mix::Records, 0..5) => Op::Read(key),
                (Mix::Records, 5..8) => Op::Update(key),
                (Mix::Records, 8..10) => Op::Replace(key),
                (Mix::Records, 10) => Op::ReadPoint(key),
                (Mix::Records, _) => Op::ReplacePoint(key),
                (Mix::Growth, 0..7) => Op::Insert(rng.below(50 * KEYS), key % GROUPS),
                (Mix::Growth, _) => Op::Scan(50 * key, 50 * key + 20, direction, 9),
                (_, 0) if is_look => Op::ScanGroup(rng.below(GROUPS), direction),
                (_, 0 | 1) => Op::Read(key),
                (_, 2) => Op::Update(key),
                (_, 3) => Op::Replace(key),
                (_, 4) => Op::Insert(key, rng.below(GROUPS)),
                (_, 5) => Op::Delete(key),
                (_, 6) => Op::Scan(key, key + rng.below(8), direction, 1 + rng.below(4) as usize),
                (_, 7) => Op::ScanGroup(rng.below(GROUPS), direction),
                (_, 8) => Op::ReadPoint(key),
                (_, 9) => Op::InsertPoint(key),
                (_, 10) => Op::InsertOr(key, rng.below(HOT_KEYS)),
                (_, 11) => Op::ReplacePoint(key),
                _ => Op::DeletePoint(key),
            }
        };
        let mut ops: Vec<_> = (0..=rng.below(4)).map(|_| op(rng)).collect();
        if self.mix == Mix::All && rng.below(3) == 0 && !is_look {
            // The same attempt sees, changes and moves again the rows that it inserted or deleted.
            let (key, group) = (any_key(rng), rng.below(GROUPS));
            let range = Op::Scan(key.saturating_sub(2), key + 2, Direction::Backward, 9);
            let look = Op::ScanGroup(group, Direction::Forward);
            ops.extend([Op::Delete(key), look, Op::Insert(key, group), range, look, Op::Update(key)]);
            ops.extend([Op::Delete(key), range, look, Op::Insert(key, (group + 1) % GROUPS), look, range]);
        }
        if rng.below(20) == 0 {
            ops.push(Op::Rollback);
        }
        Program { client: u64::from(client.0), sequence, ops }
    }

    fn kind(&self, program: &Program) -> usize {
        let looks = |op: &Op| matches!(op, Op::Read(_) | Op::Scan(..) | Op::ScanGroup(..) | Op::ReadPoint(_));
        usize::from(program.ops.iter().all(looks))
    }

    fn homes(&self, _: &Program) -> Homes {
        Homes::new()
    }

    fn footprint(&self, program: &Program, footprint: &mut InputFootprint) {
        match self.states {
            States::OneRow => return footprint.write(self.items, 0),
            States::Nothing => {}
            States::All => {
                for op in &program.ops {
                    match *op {
                        Op::Read(key) => footprint.read(self.items, key),
                        Op::Update(key) | Op::Replace(key) => footprint.write(self.items, key),
                        Op::ReadPoint(key) => footprint.read(self.points, key),
                        Op::ReplacePoint(key) => footprint.write(self.points, key),
                        Op::Rollback => {}
                        _ => panic!("{op:?} is not in the mix of records"),
                    }
                }
            }
        }
        footprint.complete();
    }

    fn execute<T: Transaction>(
        &self,
        program: &Program,
        (): &mut (),
        txn: &mut T,
    ) -> Result<Vec<Seen>, Abort> {
        let is_planted = match self.panics {
            None => false,
            Some(Panics::InBatch) => program.client == 3 && program.sequence == 2,
            Some(Panics::Again) => self.executions.lock().iter().any(|other| other.program == *program),
        };
        assert!(!is_planted, "planted");
        let mut seen = Vec::new();
        let mut end = Ok(());
        for (step, op) in program.ops.iter().enumerate() {
            if step as u64 == program.client % 3 {
                // Some roll back all the same.
                txn.decided();
            }
            if *op == Op::Rollback {
                end = Err(Abort::Rollback);
                break;
            }
            seen.push(self.step(*op, program.mark(step), txn)?);
        }
        // Relaxed: the driver's barrier orders it.
        let batch = self.settled.load(Ordering::Relaxed);
        self.executions.lock().push(Execution { batch, program: program.clone(), seen: seen.clone() });
        end.map(|()| seen)
    }

    fn committed(&self, ledger: &mut Self::Ledger, program: &Program, seen: &Vec<Seen>) {
        // Relaxed: as above.
        self.settled.fetch_add(1, Ordering::Relaxed);
        ledger.push((program.clone(), seen.clone()));
    }

    fn check(&self, _: &impl Quiesced, _: Share, _: &[Self::Ledger]) -> Result<(), Violation> {
        Ok(())
    }
}

impl Programs {
    fn step<T: Transaction>(&self, op: Op, mark: u64, txn: &mut T) -> Result<Seen, Abort> {
        let mut seen = Vec::new();
        match op {
            Op::Read(key) => seen.extend(txn.read(self.items, key, |item| (key, item.mark, item.group))?),
            Op::Update(key) => {
                let change = |item: &mut Item| (key, core::mem::replace(&mut item.mark, mark), item.group);
                seen.extend(txn.update(self.items, key, change)?);
            }
            Op::Replace(key) => {
                let group = txn.read(self.items, key, |item| item.group)?;
                if let Some(group) = group {
                    assert!(txn.replace(self.items, key, &Item { mark, group })?);
                }
            }
            Op::Insert(key, group) => {
                let is_new = txn.insert(self.items, key, &Item { mark, group })?;
                seen.push((key, u64::from(is_new), 0));
            }
            Op::Delete(key) => seen.push((key, u64::from(txn.delete(self.items, key)?), 0)),
            Op::InsertOr(key, gate) => {
                let is_new = txn.insert(self.items, key, &Item { mark, group: gate % GROUPS })?;
                seen.push((key, u64::from(is_new), 0));
                let is_odd = txn.read(self.items, gate, |item| item.mark % 2 == 1)?;
                if !is_new && is_odd == Some(true) {
                    let change =
                        |item: &mut Item| (key, core::mem::replace(&mut item.mark, mark), item.group);
                    seen.extend(txn.update(self.items, key, change)?);
                }
            }
            Op::Scan(from, to, direction, most) => {
                txn.scan(self.items, from..=to, direction, |key, item| {
                    seen.push((key, item.mark, item.group));
                    if seen.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
            }
            Op::ScanGroup(group, direction) => {
                let range = GroupKey { group, key: 0 }..GroupKey { group: group + 1, key: 0 };
                txn.scan_by(self.by_group, range, direction, |at, item| {
                    assert_eq!(at.group, item.group, "an entry leads to a row of its key");
                    seen.push((at.key, item.mark, item.group));
                    ControlFlow::Continue(())
                })?;
            }
            Op::ReadPoint(key) => seen.extend(txn.read(self.points, key, |point| (key, point.mark, 0))?),
            Op::ReplacePoint(key) => {
                seen.push((key, u64::from(txn.replace(self.points, key, &Point { mark })?), 0));
            }
            Op::InsertPoint(key) => {
                seen.push((key, u64::from(txn.insert(self.points, key, &Point { mark })?), 0));
            }
            Op::DeletePoint(key) => seen.push((key, u64::from(txn.delete(self.points, key)?), 0)),
            Op::Rollback => unreachable!("the caller rolls back"),
        }
        Ok(seen)
    }
}

/// The state of both tables: key to mark and group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) items: BTreeMap<u64, (u64, u64)>,
    pub(crate) points: BTreeMap<u64, u64>,
}

/// A table and a key of it.
pub(crate) type Cell = (bool, u64);

impl Model {
    pub(crate) fn loaded(mix: Mix) -> Self {
        assert_ne!(mix, Mix::Growth, "the model has fewer keys");
        let keys = || (0..KEYS).filter(|key| mix == Mix::Records || key % 3 != 0);
        Self {
            items: keys().map(|key| (key, (0, key % GROUPS))).collect(),
            points: keys().map(|key| (key, 0)).collect(),
        }
    }

    pub(crate) fn of<S: Scheme>(db: &Database<S>, programs: &Programs) -> Self {
        let (view, mut model) = (db.quiesced(), Self::default());
        view.scan(programs.items, .., |key, item| {
            model.items.insert(key, (item.mark, item.group));
            ControlFlow::Continue(())
        });
        view.rows(programs.points, Share::WHOLE, |key, point| {
            model.points.insert(key, point.mark);
        });
        let mut by_group = Vec::new();
        view.scan_by(programs.by_group, .., |at, item| {
            assert_eq!(at.group, item.group);
            by_group.push(at.key);
            ControlFlow::Continue(())
        });
        by_group.sort_unstable();
        assert!(by_group.iter().eq(model.items.keys()), "the secondary index has every row once");
        model
    }

    /// Executes a step. Returns what it sees.
    pub(crate) fn step(&mut self, op: Op, mark: u64) -> Seen {
        let item = |(key, value): (&u64, &(u64, u64))| (*key, value.0, value.1);
        let one = |items: &BTreeMap<u64, (u64, u64)>, key| items.get_key_value(&key).map(item);
        let turn = |mut seen: Seen, direction| {
            if direction == Direction::Backward {
                seen.reverse();
            }
            seen
        };
        match op {
            Op::Read(key) => one(&self.items, key).into_iter().collect(),
            Op::Update(key) | Op::Replace(key) => {
                let seen = one(&self.items, key);
                if let Some(value) = self.items.get_mut(&key) {
                    value.0 = mark;
                }
                seen.filter(|_| matches!(op, Op::Update(_))).into_iter().collect()
            }
            Op::Insert(key, group) => {
                let is_new = !self.items.contains_key(&key);
                self.items.entry(key).or_insert((mark, group));
                vec![(key, u64::from(is_new), 0)]
            }
            Op::Delete(key) => vec![(key, u64::from(self.items.remove(&key).is_some()), 0)],
            Op::InsertOr(key, gate) => {
                let mut seen = self.step(Op::Insert(key, gate % GROUPS), mark);
                let is_odd = self.items.get(&gate).is_some_and(|value| value.0 % 2 == 1);
                if seen[0].1 == 0 && is_odd {
                    seen.extend(self.step(Op::Update(key), mark));
                }
                seen
            }
            Op::Scan(from, to, direction, most) => {
                let mut seen = turn(self.items.range(from..=to).map(item).collect(), direction);
                seen.truncate(most);
                seen
            }
            Op::ScanGroup(group, direction) => {
                turn(self.items.iter().map(item).filter(|seen| seen.2 == group).collect(), direction)
            }
            Op::ReadPoint(key) => self.points.get(&key).map(|mark| (key, *mark, 0)).into_iter().collect(),
            Op::ReplacePoint(key) => {
                let is_there = self.points.get_mut(&key).map(|at| *at = mark).is_some();
                vec![(key, u64::from(is_there), 0)]
            }
            Op::InsertPoint(key) => {
                let is_new = !self.points.contains_key(&key);
                self.points.entry(key).or_insert(mark);
                vec![(key, u64::from(is_new), 0)]
            }
            Op::DeletePoint(key) => vec![(key, u64::from(self.points.remove(&key).is_some()), 0)],
            Op::Rollback => unreachable!("the caller rolls back"),
        }
    }

    /// Executes a program. Returns what it sees, and the state afterwards; `None` if it rolls back.
    pub(crate) fn run(&self, program: &Program) -> Option<(Vec<Seen>, Model)> {
        let mut after = self.clone();
        let mut seen = Vec::new();
        for (step, op) in program.ops.iter().enumerate() {
            if *op == Op::Rollback {
                return None;
            }
            seen.push(after.step(*op, program.mark(step)));
        }
        Some((seen, after))
    }

    /// The cells in which two states differ.
    pub(crate) fn differing(&self, other: &Self) -> BTreeSet<Cell> {
        let items =
            (0..KEYS).filter(|key| self.items.get(key) != other.items.get(key)).map(|key| (true, key));
        let points =
            (0..KEYS).filter(|key| self.points.get(key) != other.points.get(key)).map(|key| (false, key));
        items.chain(points).collect()
    }

    /// Takes over cells of another state.
    pub(crate) fn adopt(&mut self, other: &Self, cells: &BTreeSet<Cell>) {
        for &(is_item, key) in cells {
            if is_item {
                self.items.remove(&key);
                self.items.extend(other.items.get(&key).map(|value| (key, *value)));
            } else {
                self.points.remove(&key);
                self.points.extend(other.points.get(&key).map(|mark| (key, *mark)));
            }
        }
    }
}
