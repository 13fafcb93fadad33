//! Claims about commits that find a record of their write set locked and do not wait: they hold no lock meanwhile, try
//! again, and fail at once if they must fail anyway.

use engine::setting::{Settings, Values};
use engine::{
    Abort, Attempt, Database, Env, Home, Homes, Key, Lookup, Row, Schema, Scheme, Ticket, Transaction,
};
use parts::Validates;
use storage::Which;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::optimistic::silo::Silo;
use crate::optimistic::tictoc::TicToc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number(u64);

impl Key for Number {
    type Ordered = u64;

    fn ordered(self) -> u64 {
        self.0
    }

    fn from_ordered(ordered: u64) -> Self {
        Self(ordered)
    }

    fn home(self) -> Home {
        Home::At(0)
    }
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(transparent)]
struct Cell(u64);

impl Row for Cell {
    type Key = Number;
    type Indexes = ();
}

const BUSY: u64 = 2;

/// Plays both cases under a scheme with the setting of this name.
fn play<S: Scheme + Validates>(setting: &str) {
    let mut schema = Schema::new();
    let table = schema.table::<Number>("cells", Lookup::Ordered, 10).group::<Cell>();
    let given = [(setting.to_owned(), "no_wait".to_owned())];
    let values = Values::new(S::Settings::ALL, &given).expect("legal");
    let db = Database::<S>::new(&schema, &values, Env { slots: 4, workers: 1 }).expect("legal");
    let commit = |body: &dyn Fn(&mut Attempt<'_, '_, S>) -> Result<(), Abort>| {
        db.session().attempt(&Ticket::new(0, Homes::new()), |txn| body(txn))
    };
    let add =
        |txn: &mut Attempt<'_, '_, S>, key| txn.update(table, Number(key), |cell| cell.0 += 1).map(drop);
    let inserted =
        commit(&|txn| (0..=BUSY).try_for_each(|key| txn.insert(table, Number(key), &Cell(0)).map(drop)));
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
        txn.read(table, Number(0), |cell| cell.0)?;
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
    play::<Silo>("silo.commit_locks");
    play::<TicToc>("tictoc.commit_locks");
}
