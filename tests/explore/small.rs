//! The smallest useful database for exploration: a table of points and an ordered table, with two rows each, and
//! three workers with one transaction of three operations each.

use core::ops::ControlFlow;

use engine_sim::setting::{Settings, Values};
use engine_sim::{
    Abort, Attempt, Database, Direction, Env, Homes, Lookup, Row, Schema, Scheme, Table, Ticket, Transaction,
};
use sync_sim::{waiter, workers};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The number of workers, each with its own session and transaction.
pub(crate) const WORKERS: usize = 3;

/// A row that shows when it is torn: both words are equal.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Counter([u64; 2]);

impl Row for Counter {
    type Key = u64;
    type Indexes = ();
}

impl Counter {
    fn value(&self) -> u64 {
        assert_eq!(self.0[0], self.0[1], "a row is never seen torn");
        self.0[0]
    }

    fn increment(&mut self) {
        self.0 = [self.value() + 1; 2];
    }
}

/// The tables, declared once for any number of databases.
pub(crate) struct Small {
    schema: Schema,
    values: Values,
    points: Table<Counter>,
    ordered: Table<Counter>,
}

impl Small {
    /// Declares the tables, for the scheme `S`.
    pub(crate) fn new<S: Scheme>() -> Self {
        let mut schema = Schema::new();
        let points = schema.table("points", Lookup::Point, 2).group();
        let ordered = schema.table("ordered", Lookup::Ordered, 2).group();
        Self {
            schema,
            values: Values::new(S::Settings::ALL, &[]).expect("defaults are legal"),
            points,
            ordered,
        }
    }

    /// Creates a database and runs a transaction on each worker. Returns `true` if the result is possible in a
    /// serial execution: every update counts, and the scan saw all or nothing of another transaction.
    pub(crate) fn run<S: Scheme>(&self) -> bool {
        let env = Env { slots: WORKERS + 1, workers: WORKERS };
        let db = Database::<S>::new(&self.schema, &self.values, env).expect("legal settings");
        let load = |txn: &mut Attempt<'_, '_, S>| {
            (0..2).try_for_each(|key| {
                txn.insert(self.points, key, &Counter([0; 2]))?;
                txn.insert(self.ordered, key, &Counter([0; 2])).map(drop)
            })
        };
        assert_eq!(db.session().attempt(&ticket(), load), Ok(()));
        let scanned = workers::run(WORKERS, false, |worker| {
            let mut session = db.session();
            let mut ticket = ticket();
            loop {
                if let Ok(scanned) = session.attempt(&ticket, |txn| self.execute(worker, txn)) {
                    return scanned;
                }
                ticket.retries += 1;
                // Pauses grow with each retry, and differ between workers: transactions that abort each other
                // must not continue in step.
                waiter::pause_ns(((worker as u64 + 1) * 300) << ticket.retries.min(10));
            }
        });
        let sum = db.session().attempt(&ticket(), |txn| self.sum(txn)).expect("nobody else runs");
        sum == 6 && (scanned[1] == 0 || scanned[1] == 2)
    }

    /// Executes the transaction of a worker. Returns the sum of the rows that it scanned.
    fn execute(&self, worker: usize, txn: &mut impl Transaction) -> Result<u64, Abort> {
        match worker {
            0 => {
                txn.update(self.points, 0, Counter::increment)?;
                txn.update(self.points, 1, Counter::increment)?;
                txn.read(self.ordered, 0, Counter::value)?;
                Ok(0)
            }
            1 => {
                let scanned = self.scan(txn)?;
                txn.update(self.points, 1, Counter::increment)?;
                txn.update(self.points, 0, Counter::increment)?;
                Ok(scanned)
            }
            _ => {
                txn.insert(self.ordered, 2, &Counter([1; 2]))?;
                txn.read(self.points, 1, Counter::value)?;
                txn.update(self.ordered, 0, Counter::increment)?;
                Ok(0)
            }
        }
    }

    /// Returns the sum of the ordered table.
    fn scan(&self, txn: &mut impl Transaction) -> Result<u64, Abort> {
        let mut sum = 0;
        txn.scan(self.ordered, 0..8, Direction::Forward, |_, row| {
            sum += row.value();
            ControlFlow::Continue(())
        })?;
        Ok(sum)
    }

    /// Returns the sum of both tables.
    fn sum(&self, txn: &mut impl Transaction) -> Result<u64, Abort> {
        let mut sum = self.scan(txn)?;
        for key in 0..2 {
            sum += txn.read(self.points, key, Counter::value)?.unwrap_or_default();
        }
        Ok(sum)
    }
}

fn ticket() -> Ticket {
    let mut homes = Homes::new();
    // The homes of all keys and bounds that are accessed.
    (0..9).for_each(|home| homes.add(home));
    Ticket::new(1, homes)
}
