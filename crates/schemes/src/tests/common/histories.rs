//! Histories: the reads and writes of many concurrent attempts, to be replayed on a plain map.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use engine::{
    Abort, Database, Direction, Homes, Lookup, Observer, Schema, Scheme, Stamp, Table, Ticket, Transaction,
};
use stdx::Rng;
use sync::{fiber, waiter, workers};

use super::{Cell, Given, Place, database_with};

/// Keys of each table.
const KEYS: u64 = 48;
/// Clients of each thread.
pub(crate) const CLIENTS: usize = 6;
const STACK_BYTES: usize = 4 * fiber::STACK_BYTES;

/// The reads and writes of one operation of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Read { at: Place, seen: Option<u64> },
    Update { at: Place, seen: Option<u64>, to: u64 },
    Add { at: Place, done: bool, amount: u64 },
    Replace { at: Place, seen: bool, to: u64 },
    Insert { at: Place, done: bool, to: u64 },
    Delete { at: Place, done: bool },
    Scan { from: Place, to: Place, limit: usize, is_forward: bool, seen: Vec<(Place, u64)> },
}

/// A committed attempt.
#[derive(Debug)]
pub(crate) struct Committed {
    /// The client that made it.
    pub(crate) client: u64,
    /// The stamp that the scheme gave it.
    pub(crate) stamp: u64,
    /// Its steps, in order.
    pub(crate) steps: Vec<Step>,
}

/// Keeps the stamp of a session's last commit.
#[derive(Default)]
struct LastStamp(u64);

impl Observer for LastStamp {
    fn listens(&self) -> bool {
        true
    }

    fn outcome(&mut self, outcome: Result<Stamp, Abort>) {
        if let Ok(Stamp(stamp)) = outcome {
            self.0 = stamp;
        }
    }
}

/// An ordered table and one for point lookups.
#[derive(Clone, Copy)]
struct Tables([Table<Cell>; 2]);

impl Tables {
    /// The home of a key says in which table it is.
    fn of(self, key: Place) -> Table<Cell> {
        self.0[key.at() as usize]
    }

    /// A random step.
    fn step(self, txn: &mut impl Transaction, rng: &mut Rng, to: u64) -> Result<Step, Abort> {
        let home = rng.below(2);
        let at = Place::new(home, rng.below(KEYS));
        let table = self.of(at);
        Ok(match rng.below(if home == 0 { 14 } else { 10 }) {
            0..3 => Step::Read { at, seen: txn.read(table, at, Cell::value)? },
            3..5 => {
                let change = |cell: &mut Cell| {
                    let seen = cell.value();
                    cell.set(to);
                    seen
                };
                Step::Update { at, seen: txn.update(table, at, change)?, to }
            }
            5 => Step::Replace { at, seen: txn.replace(table, at, &Cell::new(to))?, to },
            6 => Step::Insert { at, done: txn.insert(table, at, &Cell::new(to))?, to },
            7 => Step::Delete { at, done: txn.delete(table, at)? },
            8 | 9 => Step::Add { at, done: txn.add(table, at, |cell| cell.set(to))?, amount: to },
            _ => {
                let (to, limit) =
                    (Place::new(0, at.number() + rng.below(KEYS / 2)), 1 + rng.below(5) as usize);
                let is_forward = rng.below(2) == 0;
                let direction = if is_forward { Direction::Forward } else { Direction::Backward };
                let mut seen = Vec::new();
                txn.scan(table, at..=to, direction, |key, cell| {
                    seen.push((key, cell.value()));
                    if seen.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
                Step::Scan { from: at, to, limit, is_forward, seen }
            }
        })
    }
}

/// The commits of a client in `attempts` attempts. Each value has a mark of its own.
fn client<S: Scheme>(
    db: &Database<S>,
    tables: Tables,
    id: u64,
    attempts: u64,
    is_alone: bool,
) -> Vec<Committed> {
    let mut session = db.session_with(LastStamp::default(), ());
    let mut rng = Rng::from_path(&[id]);
    let mut history = Vec::new();
    for sequence in 0..attempts {
        let (mut steps, mut outcome) = (Vec::new(), Err(Abort::LockBusy));
        // Outside of batches, batched schemes exclude attempts from each other: another turn comes.
        while outcome == Err(Abort::LockBusy) {
            steps.clear();
            outcome = session.attempt(&Ticket::new(0, Homes::new()), |txn| {
                for nth in 0..=rng.below(6) {
                    steps.push(tables.step(txn, &mut rng, (id << 32 | sequence) * 8 + nth)?);
                    if !is_alone && rng.below(3) == 0 {
                        waiter::give_way();
                    }
                }
                Ok(())
            });
            if !S::INFO.family.is_in_batches() {
                break;
            }
            waiter::give_way();
        }
        if outcome.is_ok() {
            history.push(Committed { client: id, stamp: session.observer().0, steps });
        }
        db.scheme().maintain(0);
    }
    history
}

/// The commits of all clients.
pub(crate) fn history<S: Scheme>(threads: usize, attempts: u64) -> Vec<Committed> {
    history_under::<S>(threads, attempts, &[])
}

/// The commits of all clients under these settings.
pub(crate) fn history_under<S: Scheme>(threads: usize, attempts: u64, given: Given) -> Vec<Committed> {
    let mut schema = Schema::new();
    let tables =
        Tables([Lookup::Ordered, Lookup::Point].map(|lookup| schema.table("cells", lookup, 8).group()));
    let db = database_with::<S>(&schema, threads * CLIENTS, threads, given);
    let histories = workers::run(threads, false, |worker| {
        let mut histories: Vec<Vec<Committed>> = (0..CLIENTS).map(|_| Vec::new()).collect();
        let mut crew = fiber::Crew::new();
        for (number, history) in histories.iter_mut().enumerate() {
            let (db, id) = (&db, (worker * CLIENTS + number) as u64);
            crew.spawn(STACK_BYTES, move || *history = client(db, tables, id, attempts, number == 0));
        }
        crew.run();
        histories
    });
    histories.into_iter().flatten().flatten().collect()
}

/// Whether a step has the same outcome on the map. If it has, its change is made.
pub(crate) fn replays(step: &Step, rows: &mut BTreeMap<Place, u64>) -> bool {
    match step {
        Step::Read { at, seen } => rows.get(at).copied() == *seen,
        Step::Update { at, seen, to } => rows.get_mut(at).map(|row| core::mem::replace(row, *to)) == *seen,
        Step::Add { at, done, amount } => {
            rows.get_mut(at).map(|row| *row = row.wrapping_add(*amount)).is_some() == *done
        }
        Step::Replace { at, seen, to } => rows.get_mut(at).map(|row| *row = *to).is_some() == *seen,
        Step::Insert { at, done, to } => {
            let is_missing = !rows.contains_key(at);
            rows.entry(*at).or_insert(*to);
            is_missing == *done
        }
        Step::Delete { at, done } => rows.remove(at).is_some() == *done,
        Step::Scan { from, to, limit, is_forward, seen } => {
            let range = rows.range(*from..=*to).map(|(key, value)| (*key, *value));
            if *is_forward {
                range.take(*limit).eq(seen.iter().copied())
            } else {
                range.rev().take(*limit).eq(seen.iter().copied())
            }
        }
    }
}
