//! Claims about commits that find a record of their write set locked and do not wait: they hold no lock meanwhile, try
//! again, and fail at once if they must fail anyway.

use engine::{Abort, Attempt, Homes, Lookup, Schema, Scheme, Table, Ticket, Transaction};
use parts::Validates;
use storage::Which;

use super::common::{Cell, Given, Place, database_with};
use crate::optimistic::silo::Silo;
use crate::optimistic::tictoc::TicToc;

const BUSY: u64 = 2;

/// Plays both cases under a scheme with these settings.
fn play<S: Scheme + Validates>(given: Given) {
    let mut schema = Schema::new();
    let table: Table<Cell> = schema.table("cells", Lookup::Ordered, 10).group();
    let db = database_with::<S>(&schema, 4, 1, given);
    let commit = |body: &dyn Fn(&mut Attempt<'_, '_, S>) -> Result<(), Abort>| {
        db.session().attempt(&Ticket::new(0, Homes::new()), |txn| body(txn))
    };
    let add = |txn: &mut Attempt<'_, '_, S>, key| {
        txn.update(table, Place::new(0, key), |cell| cell.set(cell.value() + 1)).map(drop)
    };
    let inserted = commit(&|txn| {
        (0..=BUSY).try_for_each(|key| txn.insert(table, Place::new(0, key), &Cell::new(0)).map(drop))
    });
    assert_eq!(inserted, Ok(()));
    // What is written with record 1 is later than what was read of record 0, also under timestamps.
    (0..5).for_each(|_| assert_eq!(commit(&|txn| add(txn, 1)), Ok(())));

    let row = db.tables().get(table.id()).index(Which::Primary).peek(BUSY).expect("the row is there");
    let busy = S::lock_word(row.record(0));
    // Nobody has it locked while it is read: a reader would wait.
    let lock = || assert!(S::LOCK.lock(busy).is_ok());
    let both = commit(&|txn| {
        add(txn, 1)?;
        add(txn, BUSY)?;
        lock();
        Ok(())
    });
    assert_eq!(both, Err(Abort::LockBusy));
    assert_eq!(commit(&|txn| add(txn, 1)), Ok(()), "it has given up its lock of record 1");
    S::LOCK.unlock(busy);
    let stale = commit(&|txn| {
        txn.read(table, Place::new(0, 0), Cell::value)?;
        commit(&|other| add(other, 0))?;
        add(txn, 1)?;
        add(txn, BUSY)?;
        lock();
        Ok(())
    });
    assert_eq!(stale, Err(Abort::ReadChanged), "whether the record stays busy or not");
    S::LOCK.unlock(busy);
    assert_eq!(commit(&|txn| add(txn, 1).and_then(|()| add(txn, BUSY))), Ok(()));
}

#[test]
fn a_commit_that_does_not_wait_gives_up_its_locks_and_looks_whether_it_must_fail() {
    play::<Silo>(&[("silo.commit_locks", "no_wait")]);
    play::<TicToc>(&[("tictoc.commit_locks", "no_wait")]);
}
