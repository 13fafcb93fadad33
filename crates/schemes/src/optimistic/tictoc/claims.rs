//! The promises and permissions of `TicToc` alone: scripts of a few attempts, one inside the other, in which
//! stamps differ from the order in which attempts end.

use core::ops::ControlFlow;

use engine::{
    Abort, Attempt, Database, Direction, Homes, Index, Lookup, Observer, Schema, Session, Stamp, Table,
    Ticket, Transaction,
};

use crate::optimistic::tictoc::TicToc;
use crate::tests::common::{ByName, Cell, NameKey, Named, Place, database};

crate::tests::conformance!(
    crate::optimistic::tictoc::entry::ENTRY: reordered, locking_in_reverse, locking_without_waiting
);

const X: Place = Place::new(0, 0);
const Y: Place = Place::new(0, 1);
/// A transaction that writes it commits at 6 or later.
const EARLY: Place = Place::new(0, 2);
/// A transaction that writes it commits at 10 or later.
const LATE: Place = Place::new(0, 3);

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

type Txn<'s, 'db> = Attempt<'s, 'db, TicToc, LastStamp>;

/// A database in which `X` and `Y` have been valid from 1 to 5.
struct Stage {
    db: Database<TicToc>,
    cells: Table<Cell>,
    /// A table with the key 0.
    keys: Table<Cell>,
    /// A table with the key 0 under the name 0.
    named: Table<Named>,
    by_name: Index<Named, ByName>,
}

impl Stage {
    fn new() -> Self {
        let mut schema = Schema::new();
        let cells = schema.table("cells", Lookup::Point, 4).group();
        let keys = schema.table("keys", Lookup::Ordered, 0).group();
        let mut builder = schema.table("named", Lookup::Point, 4);
        let named = builder.group();
        let by_name = builder.index(named, "by_name");
        let stage = Self { db: database(&schema, 4, 1), cells, keys, named, by_name };
        stage.at(1, |txn| {
            for cell in [X, Y, EARLY, LATE] {
                txn.insert(cells, cell, &Cell::new(0))?;
            }
            txn.insert(keys, Place::new(0, 0), &Cell::new(0))?;
            txn.insert(named, Place::new(0, 0), &Named(0)).map(|_| ())
        });
        for (cell, count) in [(EARLY, 4), (LATE, 8)] {
            for stamp in 2..2 + count {
                stage.at(stamp, |txn| stage.write(txn, cell));
            }
        }
        stage.at(5, |txn| {
            for cell in [X, Y, EARLY] {
                txn.read(cells, cell, Cell::value)?;
            }
            Ok(())
        });
        stage
    }

    fn session(&self) -> Session<'_, TicToc, LastStamp> {
        self.db.session_with(LastStamp::default(), ())
    }

    /// Runs a transaction that commits at a stamp.
    fn at(&self, stamp: u64, body: impl FnOnce(&mut Txn<'_, '_>) -> Result<(), Abort>) {
        assert_eq!(self.attempt(body), Ok(stamp));
    }

    /// Runs an attempt. Returns the stamp of its commit.
    fn attempt(&self, body: impl FnOnce(&mut Txn<'_, '_>) -> Result<(), Abort>) -> Result<u64, Abort> {
        let mut session = self.session();
        session.attempt(&Ticket::new(0, Homes::new()), body)?;
        Ok(session.observer().0)
    }

    fn read(&self, txn: &mut Txn<'_, '_>, cell: Place) -> Result<u64, Abort> {
        Ok(txn.read(self.cells, cell, Cell::value)?.expect("cells stay"))
    }

    fn write(&self, txn: &mut Txn<'_, '_>, cell: Place) -> Result<(), Abort> {
        txn.update(self.cells, cell, |row| row.set(row.value() + 1))?.expect("cells stay");
        Ok(())
    }

    fn scan(&self, txn: &mut Txn<'_, '_>) -> Result<Vec<u64>, Abort> {
        let mut found = Vec::new();
        txn.scan(self.keys, .., Direction::Forward, |key, _| {
            found.push(key.number());
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    fn insert(&self, txn: &mut Txn<'_, '_>, key: u64) -> Result<bool, Abort> {
        txn.insert(self.keys, Place::new(0, key), &Cell::new(0))
    }

    fn delete(&self, txn: &mut Txn<'_, '_>, key: u64) -> Result<bool, Abort> {
        txn.delete(self.keys, Place::new(0, key))
    }
}

#[test]
fn an_insert_comes_before_a_write_that_its_attempt_has_not_seen() {
    let stage = Stage::new();
    let early = stage.attempt(|txn| {
        stage.read(txn, Y)?;
        stage.at(10, |other| stage.write(other, LATE).and_then(|()| stage.write(other, Y)));
        stage.insert(txn, 1).map(|_| ())
    });
    assert_eq!(early, Ok(1), "the gap was never read, and the old value is known to be valid until 5");
}

/// The same with a scan: the early insert would be missing from a range that was read at 10.
#[test]
fn an_insert_does_not_come_before_a_scan_that_missed_it() {
    let stage = Stage::new();
    let early = stage.attempt(|txn| {
        stage.read(txn, Y)?;
        stage.at(10, |other| {
            assert_eq!(stage.scan(other)?, [0]);
            stage.write(other, LATE).and_then(|()| stage.write(other, Y))
        });
        stage.insert(txn, 1).map(|_| ())
    });
    assert_eq!(early, Err(Abort::ReadChanged));
}

/// The scanned leaf has split by then, and the key goes to a leaf that nobody has scanned.
#[test]
fn a_leaf_that_was_split_off_protects_what_was_scanned_before() {
    let stage = Stage::new();
    let early = stage.attempt(|txn| {
        stage.read(txn, Y)?;
        stage.at(10, |other| {
            assert_eq!(stage.scan(other)?, [0]);
            stage.write(other, LATE).and_then(|()| stage.write(other, Y))
        });
        stage.at(11, |other| (100..300).try_for_each(|key| stage.insert(other, key).map(|_| ())));
        stage.insert(txn, 300).map(|_| ())
    });
    assert_eq!(early, Err(Abort::ReadChanged));
}

/// A third attempt entered the key, and only its value comes from the early attempt.
#[test]
fn a_key_that_others_entered_protects_the_gap_as_well() {
    let stage = Stage::new();
    let entered = stage.attempt(|third| {
        let early = stage.attempt(|txn| {
            stage.read(txn, Y)?;
            stage.at(10, |other| {
                assert_eq!(stage.scan(other)?, [0]);
                stage.write(other, LATE).and_then(|()| stage.write(other, Y))
            });
            assert_eq!(stage.insert(third, 1), Ok(true));
            assert_eq!(stage.insert(txn, 1), Ok(true));
            Ok(())
        });
        assert_eq!(early, Err(Abort::ReadChanged));
        Ok(())
    });
    assert_eq!(entered, Ok(11));
}

#[test]
fn a_secondary_key_is_entered_after_the_scans_that_missed_it() {
    let stage = Stage::new();
    let early = stage.attempt(|txn| {
        stage.read(txn, Y)?;
        stage.at(10, |other| {
            other.scan_by(stage.by_name, .., Direction::Backward, |_, _| ControlFlow::Continue(()))?;
            stage.write(other, LATE).and_then(|()| stage.write(other, Y))
        });
        txn.insert(stage.named, Place::new(0, 1), &Named(1)).map(|_| ())
    });
    assert_eq!(early, Err(Abort::ReadChanged));
}

/// A transaction that misses a key comes after the transaction that deleted it, and so after that
/// transaction's other writes.
#[test]
fn a_missing_key_is_not_seen_before_its_deletion() {
    let stage = Stage::new();
    let early = stage.attempt(|txn| {
        stage.read(txn, Y)?;
        stage.at(10, |other| {
            assert_eq!(stage.delete(other, 0), Ok(true));
            stage.write(other, LATE).and_then(|()| stage.write(other, Y))
        });
        assert_eq!(txn.read(stage.keys, Place::new(0, 0), |_| ()), Ok(None));
        Ok(())
    });
    assert_eq!(early, Err(Abort::ReadChanged));
}

/// The key has left the index and is there again, as yet without a value.
#[test]
fn a_key_that_was_entered_anew_is_not_missed_before_its_deletion() {
    let stage = Stage::new();
    let early = stage.attempt(|txn| {
        stage.read(txn, Y)?;
        stage.at(10, |other| {
            assert_eq!(stage.delete(other, 0), Ok(true));
            stage.write(other, LATE).and_then(|()| stage.write(other, Y))
        });
        let entered = stage.attempt(|other| {
            assert_eq!(stage.insert(other, 0), Ok(true));
            assert_eq!(txn.read(stage.keys, Place::new(0, 0), |_| ()), Ok(None));
            Ok(())
        });
        assert_eq!(entered, Ok(11));
        Ok(())
    });
    assert_eq!(early, Err(Abort::ReadChanged));
}

#[test]
fn a_missing_secondary_key_is_not_seen_before_its_deletion() {
    let stage = Stage::new();
    let early = stage.attempt(|txn| {
        stage.read(txn, Y)?;
        stage.at(10, |other| {
            assert_eq!(other.delete(stage.named, Place::new(0, 0)), Ok(true));
            stage.write(other, LATE).and_then(|()| stage.write(other, Y))
        });
        txn.scan_by(stage.by_name, .., Direction::Forward, |_, _| panic!("the row is gone"))
    });
    assert_eq!(early, Err(Abort::ReadChanged));
}

/// A transaction that misses an entry comes after the transaction that moved its row, although that row is
/// still there.
#[test]
fn a_secondary_key_is_not_missed_before_its_row_has_moved() {
    let stage = Stage::new();
    let early = stage.attempt(|txn| {
        stage.read(txn, Y)?;
        stage.at(10, |other| {
            assert_eq!(other.update(stage.named, Place::new(0, 0), |row| row.0 = 900), Ok(Some(())));
            stage.write(other, LATE).and_then(|()| stage.write(other, Y))
        });
        let before = NameKey::all(0, 0..=9);
        txn.scan_by(stage.by_name, before, Direction::Forward, |_, _| panic!("the row has moved"))
    });
    assert_eq!(early, Err(Abort::ReadChanged));
}

#[test]
fn a_row_moves_after_the_scans_that_missed_it() {
    let stage = Stage::new();
    let early = stage.attempt(|txn| {
        stage.read(txn, Y)?;
        stage.at(10, |other| {
            let behind = NameKey::all(0, 1..=9);
            other.scan_by(stage.by_name, behind, Direction::Backward, |_, _| panic!("nothing is there"))?;
            stage.write(other, LATE).and_then(|()| stage.write(other, Y))
        });
        txn.update(stage.named, Place::new(0, 0), |row| row.0 = 5).map(|_| ())
    });
    assert_eq!(early, Err(Abort::ReadChanged));
}

#[test]
fn the_serial_order_may_contradict_the_order_of_ends() {
    let stage = Stage::new();
    let third = stage.attempt(|txn| {
        assert_eq!(stage.read(txn, X), Ok(0));
        stage.at(10, |first| stage.write(first, LATE).and_then(|()| stage.write(first, X)));
        stage.at(1, |second| stage.insert(second, 2).map(|_| ()));
        assert_eq!(stage.scan(txn), Ok(vec![0, 2]));
        Ok(())
    });
    assert_eq!(third, Ok(1), "it comes after the second, which ended last, and before the first");
}

#[test]
fn what_all_read_and_nobody_writes_aborts_nobody_however_far_stamps_run() {
    let stage = Stage::new();
    let run = |stamps: u64| (0..stamps).for_each(|_| _ = stage.attempt(|txn| stage.write(txn, LATE)));
    let read_and_count = |txn: &mut Txn<'_, '_>| stage.read(txn, X).and_then(|_| stage.write(txn, LATE));
    // The paper's word has room for a distance of 32,767.
    run(40_000);
    let outcome = stage.attempt(|txn| {
        stage.read(txn, X)?;
        assert_eq!(stage.attempt(read_and_count), Ok(40_010));
        run(10);
        stage.write(txn, LATE)
    });
    assert_eq!(outcome, Ok(40_021));
}

#[test]
fn a_blind_write_conflicts_with_no_other_write() {
    let stage = Stage::new();
    let outcome = stage.attempt(|txn| {
        assert_eq!(txn.replace(stage.cells, X, &Cell::new(7)), Ok(true));
        stage.at(6, |other| stage.write(other, X));
        Ok(())
    });
    assert_eq!(outcome, Ok(7));
    let outcome = stage.attempt(|txn| {
        stage.write(txn, X)?;
        stage.at(8, |other| stage.write(other, X));
        Ok(())
    });
    assert_eq!(outcome, Err(Abort::WriteConflict), "a change of what was read does");
}

#[test]
fn a_rollback_for_what_never_was_together_is_not_believed() {
    let stage = Stage::new();
    let roll_back = |txn: &mut Txn<'_, '_>, writes: bool| {
        let before = if writes { stage.write(txn, X) } else { stage.read(txn, X).map(|_| ()) };
        before?;
        stage.attempt(|other| stage.write(other, LATE).and_then(|()| stage.write(other, X)))?;
        stage.read(txn, LATE)?;
        Err(Abort::Rollback)
    };
    assert_eq!(stage.attempt(|txn| roll_back(txn, false)), Err(Abort::ReadChanged));
    assert_eq!(stage.attempt(|txn| roll_back(txn, true)), Err(Abort::ReadChanged));
    assert_eq!(stage.attempt(|_| Err(Abort::Rollback)), Err(Abort::Rollback));
}

#[test]
fn an_attempt_sees_what_it_did() {
    let stage = Stage::new();
    let outcome = stage.attempt(|txn| {
        assert_eq!(stage.delete(txn, 0), Ok(true));
        assert_eq!(stage.delete(txn, 0), Ok(false));
        assert_eq!(txn.update(stage.keys, Place::new(0, 0), |_| ()), Ok(None));
        assert_eq!(stage.scan(txn), Ok(vec![]));
        for key in 0..200 {
            assert_eq!(stage.insert(txn, key), Ok(true));
            assert_eq!(stage.insert(txn, key), Ok(false));
        }
        assert_eq!(stage.scan(txn), Ok((0..200).collect()));
        for key in (0..200).filter(|key| key % 3 > 0) {
            assert_eq!(stage.delete(txn, key), Ok(true));
        }
        Ok(())
    });
    outcome.expect("nobody is in the way");
    let left = stage.attempt(|txn| {
        assert_eq!(stage.scan(txn)?, (0..200).step_by(3).collect::<Vec<_>>());
        Ok(())
    });
    left.expect("nobody is in the way");
}
