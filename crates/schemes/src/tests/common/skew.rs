//! Write skew by a fixed interleaving: two attempts each look at what the other will change, and act only on
//! what they saw. In a serial order the second sees that the first has acted.

use core::cell::Cell as Flag;
use core::ops::ControlFlow;

use engine::{
    Abort, Attempt, Database, Direction, Homes, Index, Lookup, Quiesced, Schema, Scheme, Table, Ticket,
    Transaction,
};
use sync::{fiber, waiter};

use super::{ByName, Cell, Given, NameKey, Named, Place, database_with};

/// The look and the act of two attempts, by side: 0 or 1, each at a home of its own.
pub(crate) trait Skew: Sized {
    /// Declares the table.
    fn declare(schema: &mut Schema) -> Self;
    /// The first rows.
    fn prepare<T: Transaction>(&self, _txn: &mut T) -> Result<(), Abort> {
        Ok(())
    }
    /// Whether the other side has not acted yet.
    fn look<T: Transaction>(&self, other: u64, txn: &mut T) -> Result<bool, Abort>;
    /// Acts.
    fn act<T: Transaction>(&self, side: u64, txn: &mut T) -> Result<(), Abort>;
    /// Whether a side has acted.
    fn has_acted(&self, side: u64, view: &impl Quiesced) -> bool;
}

/// Over records: each is read by the other side.
pub(crate) struct Records(Table<Cell>);

impl Skew for Records {
    fn declare(schema: &mut Schema) -> Self {
        Self(schema.table("records", Lookup::Point, 2).group())
    }

    fn prepare<T: Transaction>(&self, txn: &mut T) -> Result<(), Abort> {
        for side in 0..2 {
            txn.insert(self.0, Place::new(side, 0), &Cell::new(0))?;
        }
        Ok(())
    }

    fn look<T: Transaction>(&self, other: u64, txn: &mut T) -> Result<bool, Abort> {
        Ok(txn.read(self.0, Place::new(other, 0), Cell::value)? == Some(0))
    }

    fn act<T: Transaction>(&self, side: u64, txn: &mut T) -> Result<(), Abort> {
        txn.update(self.0, Place::new(side, 0), |cell| cell.set(1))?;
        Ok(())
    }

    fn has_acted(&self, side: u64, view: &impl Quiesced) -> bool {
        view.read(self.0, Place::new(side, 0), Cell::value) == Some(1)
    }
}

/// Over missing keys of a hash index.
pub(crate) struct Misses(Table<Cell>);

impl Skew for Misses {
    fn declare(schema: &mut Schema) -> Self {
        Self(schema.table("misses", Lookup::Point, 1_000).group())
    }

    fn look<T: Transaction>(&self, other: u64, txn: &mut T) -> Result<bool, Abort> {
        Ok(txn.read(self.0, Place::new(other, 0), Cell::value)?.is_none())
    }

    fn act<T: Transaction>(&self, side: u64, txn: &mut T) -> Result<(), Abort> {
        txn.insert(self.0, Place::new(side, 0), &Cell::new(1))?;
        Ok(())
    }

    fn has_acted(&self, side: u64, view: &impl Quiesced) -> bool {
        view.read(self.0, Place::new(side, 0), Cell::value).is_some()
    }
}

/// Over ranges, empty at first.
pub(crate) struct Ranges(Table<Cell>);

impl Skew for Ranges {
    fn declare(schema: &mut Schema) -> Self {
        Self(schema.table("ranges", Lookup::Ordered, 0).group())
    }

    fn look<T: Transaction>(&self, other: u64, txn: &mut T) -> Result<bool, Abort> {
        let mut is_empty = true;
        txn.scan(self.0, Place::new(other, 0)..=Place::new(other, 9), Direction::Backward, |_, _| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        Ok(is_empty)
    }

    fn act<T: Transaction>(&self, side: u64, txn: &mut T) -> Result<(), Abort> {
        txn.insert(self.0, Place::new(side, 5), &Cell::new(1))?;
        Ok(())
    }

    fn has_acted(&self, side: u64, view: &impl Quiesced) -> bool {
        view.read(self.0, Place::new(side, 5), Cell::value).is_some()
    }
}

/// Over ranges of a secondary index.
pub(crate) struct Names(Table<Named>, Index<Named, ByName>);

impl Skew for Names {
    fn declare(schema: &mut Schema) -> Self {
        let mut table = schema.table("names", Lookup::Point, 8);
        let rows = table.group();
        Self(rows, table.index(rows, "by_name"))
    }

    fn look<T: Transaction>(&self, other: u64, txn: &mut T) -> Result<bool, Abort> {
        let mut is_empty = true;
        txn.scan_by(self.1, NameKey::all(other, 0..=9), Direction::Forward, |_, _| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        Ok(is_empty)
    }

    fn act<T: Transaction>(&self, side: u64, txn: &mut T) -> Result<(), Abort> {
        txn.insert(self.0, Place::new(side, 100), &Named(5))?;
        Ok(())
    }

    fn has_acted(&self, side: u64, view: &impl Quiesced) -> bool {
        view.read(self.0, Place::new(side, 100), |_| ()).is_some()
    }
}

/// Turns that one attempt gives to the other: enough for all that it can do without waiting for the first.
const TURNS: usize = 1_000;
/// A test's stack frames are wide.
const STACK_BYTES: usize = 4 * fiber::STACK_BYTES;

/// How the first attempt ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Looks, lets the other look and act, acts and commits.
    Commits,
    /// Looks, acts, lets the other look and act, and rolls back.
    RollsBack,
}

/// Runs both attempts so that each looks before the other's act is committed, if the scheme lets them.
/// Returns which sides have acted in the end, and which reported a commit.
pub(crate) fn interleave<S: Scheme, K: Skew>(given: Given, ending: Ending) -> ([bool; 2], [bool; 2]) {
    let mut schema = Schema::new();
    let skew = K::declare(&mut schema);
    let db: Database<S> = database_with(&schema, 3, 1, given);
    attempt(&db, |txn| skew.prepare(txn)).expect("nobody else is there");
    let (has_begun, is_over) = (Flag::new(false), Flag::new(false));
    let committed = [Flag::new(false), Flag::new(false)];
    let mut crew = fiber::Crew::new();
    crew.spawn(STACK_BYTES, || {
        let done = attempt(&db, |txn| {
            let is_free = skew.look(1, txn)?;
            if ending == Ending::RollsBack {
                skew.act(0, txn)?;
            }
            has_begun.set(true);
            for _ in 0..TURNS {
                waiter::give_way();
            }
            if ending == Ending::RollsBack {
                return Err(Abort::Rollback);
            }
            if is_free { skew.act(0, txn) } else { Ok(()) }
        });
        committed[0].set(done.is_ok());
        has_begun.set(true);
    });
    crew.spawn(STACK_BYTES, || {
        waiter::wait_until(None, || has_begun.get());
        let done = attempt(&db, |txn| {
            let is_free = skew.look(0, txn)?;
            if is_free { skew.act(1, txn) } else { Ok(()) }
        });
        committed[1].set(done.is_ok());
        is_over.set(true);
    });
    crew.run();
    assert!(is_over.get(), "the second attempt ends");
    let view = db.quiesced();
    ([skew.has_acted(0, &view), skew.has_acted(1, &view)], [committed[0].get(), committed[1].get()])
}

/// One attempt, or as many attempts as it takes to learn the partitions that it needs: it declares no home.
fn attempt<S: Scheme>(
    db: &Database<S>,
    body: impl Fn(&mut Attempt<'_, '_, S>) -> Result<(), Abort>,
) -> Result<(), Abort> {
    let mut session = db.session();
    let mut ticket = Ticket::new(1, Homes::new());
    loop {
        let done = session.attempt(&ticket, &body);
        if done != Err(Abort::Partition) {
            return done;
        }
        ticket.retries += 1;
    }
}
