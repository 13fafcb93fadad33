//! Claims about Silo's snapshots under schedules that a seed decides: read-only transactions see one past
//! state, whatever others write and delete meanwhile, and are never aborted.

use core::ops::ControlFlow;

use engine_sim::setting::{Settings, Values};
use engine_sim::{
    Abort, Database, Direction, Env, Homes, Lookup, Row, Schema, Scheme, Table, Ticket, Transaction, slot_rng,
};
use schemes_sim::optimistic::silo::Silo;
use sim::Explorer;
use sync_sim::atomic::{AtomicU64, Ordering};
use sync_sim::{waiter, workers};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Settings for snapshots of read-only transactions, taken often.
const SNAPSHOTS: [(&str, &str); 3] =
    [("silo.snapshots", "on"), ("silo.epoch_ms", "1"), ("silo.snapshot_epochs", "1")];

/// A row that shows when it is torn: both words are equal.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Amount([u64; 2]);

impl Row for Amount {
    type Key = u64;
    type Indexes = ();
}

impl Amount {
    fn value(&self) -> u64 {
        assert_eq!(self.0[0], self.0[1], "a row is never seen torn");
        self.0[0]
    }
}

/// The number of loaded rows.
const ROWS: u64 = 4;
/// The initial amount of each row.
const AMOUNT: u64 = 64;

/// Moves a part of one row's amount to another row, or all of the amount, and then deletes the row.
fn transfer(txn: &mut impl Transaction, table: Table<Amount>, from: u64, to: u64) -> Result<(), Abort> {
    let Some(amount) = txn.read(table, from, Amount::value)? else { return Ok(()) };
    let moved = if amount % 3 == 0 { amount } else { amount.div_ceil(2) };
    if moved == amount {
        txn.delete(table, from)?;
    } else {
        txn.update(table, from, |row| row.0 = [amount - moved; 2])?;
    }
    if txn.update(table, to, |row| row.0 = [row.value() + moved; 2])?.is_none() {
        txn.insert(table, to, &Amount([moved; 2]))?;
    }
    Ok(())
}

/// Sums all rows in a read-only transaction that takes a long time.
fn audit(txn: &mut impl Transaction, table: Table<Amount>) -> Result<u64, Abort> {
    let (mut scanned, mut read) = (0, 0);
    txn.scan(table, 0..2 * ROWS, Direction::Forward, |_, row| {
        scanned += row.value();
        ControlFlow::Continue(())
    })?;
    for key in 0..2 * ROWS {
        waiter::pause_ns(700_000);
        read += txn.read(table, key, Amount::value)?.unwrap_or_default();
    }
    assert_eq!(scanned, read, "a scan, and reads while the epochs go on, see one state");
    Ok(read)
}

/// Runs audits while others write under the schedule of a seed. Returns the number of audits that saw rows.
fn audited(seed: u64) -> usize {
    let mut schema = Schema::new();
    let table = schema.table("amounts", Lookup::Ordered, 0).group::<Amount>();
    let given = SNAPSHOTS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let values = Values::new(<Silo as Scheme>::Settings::ALL, &given).expect("legal settings");
    let db = Database::<Silo>::new(&schema, &values, Env { slots: 4, workers: 4 }).expect("legal settings");
    let insert = |txn: &mut engine_sim::Attempt<'_, '_, Silo>| {
        (0..ROWS).try_for_each(|key| txn.insert(table, key, &Amount([AMOUNT; 2])).map(drop))
    };
    assert_eq!(db.session().attempt(&Ticket::new(1, Homes::new()), insert), Ok(()));
    let writing = AtomicU64::new(2);
    let audits = workers::run(3, false, |worker| {
        let (mut session, mut rng, mut audits) = (db.session(), slot_rng(seed as usize * 3 + worker), 0);
        let ticket = Ticket { read_only: worker == 2, ..Ticket::new(1, Homes::new()) };
        // Relaxed: the value only ends the loop.
        while worker == 2 && writing.load(Ordering::Relaxed) > 0 {
            db.scheme().maintain(worker);
            let sum = session.attempt(&ticket, |txn| audit(txn, table)).expect("never aborted");
            assert!(sum == ROWS * AMOUNT || (sum == 0 && audits == 0), "{sum} after {audits}");
            audits += usize::from(sum > 0);
        }
        for _ in 0..if worker == 2 { 0 } else { 60 } {
            let (from, to) = (rng.below(2 * ROWS), rng.below(2 * ROWS));
            if from != to {
                _ = session.attempt(&ticket, |txn| transfer(txn, table, from, to));
            }
            db.scheme().maintain(worker);
            waiter::pause_ns(rng.below(1_000_000));
        }
        writing.fetch_sub(u64::from(worker != 2), Ordering::Relaxed); // Relaxed: as above.
        audits
    });
    audits[2]
}

#[test]
fn snapshots_are_consistent_under_every_schedule() {
    let audits = (0..40).map(|seed| Explorer::new(seed).run(|| audited(seed)).0);
    assert!(audits.sum::<usize>() > 100, "most audits see something");
}

#[test]
fn a_seed_brings_a_schedule_with_snapshots_back() {
    for seed in 0..4 {
        let explored = [0; 2].map(|_| Explorer::new(seed).run(|| audited(seed)).1);
        assert_eq!(explored[0], explored[1]);
    }
}
