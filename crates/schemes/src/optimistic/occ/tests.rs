//! The promises and permissions of the two forms of optimistic validation, record by record and central: scripts
//! of a few attempts, one inside the other.

use core::ops::ControlFlow;

use engine::{
    Abort, Attempt, Database, Direction, Homes, Lookup, Schema, Scheme, Table, Ticket, Transaction,
};

use crate::optimistic::occ::Occ;
use crate::optimistic::occ_central::OccCentral;
use crate::tests::common::{Cell, Given, Place, database_with};

crate::tests::conformance!(crate::optimistic::occ::entry::ENTRY: without_early_abort);

/// Attempts that cannot commit any more go on to their commit.
const LATE_ABORT: Given = &[("occ.early_abort", "off")];

const X: Place = Place::new(0, 0);
const Y: Place = Place::new(0, 1);
const Z: Place = Place::new(0, 2);

/// A key that is missing at first.
const MISSING: u64 = 5;

type Txn<'s, 'db, S> = Attempt<'s, 'db, S>;

/// A database in which `X`, `Y`, `Z` are 0.
struct Stage<S: Scheme> {
    db: Database<S>,
    cells: Table<Cell>,
    /// A table with the key 0.
    keys: Table<Cell>,
}

impl<S: Scheme> Stage<S> {
    fn new(given: Given) -> Self {
        let mut schema = Schema::new();
        let cells = schema.table("cells", Lookup::Point, 4).group();
        let keys = schema.table("keys", Lookup::Ordered, 0).group();
        let stage = Self { db: database_with(&schema, 4, 1, given), cells, keys };
        let inserted = stage.attempt(|txn| {
            for cell in [X, Y, Z] {
                txn.insert(cells, cell, &Cell::new(0))?;
            }
            stage.insert(txn, 0).map(drop)
        });
        assert_eq!(inserted, Ok(()));
        stage
    }

    fn attempt(&self, body: impl FnOnce(&mut Txn<'_, '_, S>) -> Result<(), Abort>) -> Result<(), Abort> {
        self.db.session().attempt(&Ticket::new(0, Homes::new()), body)
    }

    /// Runs another attempt, which commits.
    fn commit(&self, body: impl FnOnce(&mut Txn<'_, '_, S>) -> Result<(), Abort>) {
        assert_eq!(self.attempt(body), Ok(()));
    }

    fn read(&self, txn: &mut Txn<'_, '_, S>, cell: Place) -> Result<Option<u64>, Abort> {
        txn.read(self.cells, cell, Cell::value)
    }

    fn write(&self, txn: &mut Txn<'_, '_, S>, cell: Place) -> Result<(), Abort> {
        txn.update(self.cells, cell, |row| row.set(row.value() + 1)).map(drop)
    }

    fn insert(&self, txn: &mut Txn<'_, '_, S>, key: u64) -> Result<bool, Abort> {
        txn.insert(self.keys, Place::new(0, key), &Cell::new(0))
    }

    fn delete(&self, txn: &mut Txn<'_, '_, S>, key: u64) -> Result<bool, Abort> {
        txn.delete(self.keys, Place::new(0, key))
    }

    fn has(&self, txn: &mut Txn<'_, '_, S>, key: u64) -> Result<bool, Abort> {
        Ok(txn.read(self.keys, Place::new(0, key), |_| ())?.is_some())
    }

    fn scan(&self, txn: &mut Txn<'_, '_, S>) -> Result<Vec<u64>, Abort> {
        let mut found = Vec::new();
        txn.scan(self.keys, .., Direction::Forward, |key, _| {
            found.push(key.number());
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}

/// Claims of both forms.
macro_rules! both {
    ($($claim:ident),+ $(,)?) => {
        mod occ {
            $(#[test]
            fn $claim() {
                super::$claim(&super::Stage::<super::Occ>::new(&[]));
            })+
        }

        mod occ_central {
            $(#[test]
            fn $claim() {
                super::$claim(&super::Stage::<super::OccCentral>::new(&[]));
            })+
        }
    };
}

both!(
    an_attempt_writes_over_nothing_that_was_written_since_its_begin,
    readers_and_writers_of_other_records_do_not_meet,
    a_blind_write_asks_only_whether_there_is_a_value,
    a_rollback_for_what_never_was_together_is_not_believed,
    a_miss_is_not_believed_once_its_record_has_left_the_index,
    an_insert_gives_no_value_to_a_record_that_has_left_the_index,
    a_range_is_not_believed_once_a_key_has_entered_or_left_it,
    an_attempt_sees_what_it_did,
    an_attempt_that_stalls_holds_up_nobody,
);

/// At its end the attempt cannot tell whether it read before the other wrote.
fn an_attempt_writes_over_nothing_that_was_written_since_its_begin<S: Scheme>(stage: &Stage<S>) {
    for reads_before in [true, false] {
        let outcome = stage.attempt(|txn| {
            if reads_before {
                stage.read(txn, X)?;
            }
            stage.commit(|other| stage.write(other, X));
            stage.write(txn, X)
        });
        assert_eq!(outcome, Err(Abort::ReadChanged));
    }
    stage.commit(|txn| {
        assert_eq!(stage.read(txn, X), Ok(Some(2)));
        Ok(())
    });
}

fn readers_and_writers_of_other_records_do_not_meet<S: Scheme>(stage: &Stage<S>) {
    stage.commit(|reader| {
        assert_eq!(stage.read(reader, X), Ok(Some(0)));
        stage.commit(|writer| {
            stage.write(writer, Y)?;
            stage.commit(|other| stage.insert(other, MISSING).map(drop));
            stage.write(writer, Y)
        });
        assert_eq!(stage.read(reader, Z), Ok(Some(0)));
        stage.write(reader, X)
    });
    stage.commit(|txn| {
        assert_eq!([X, Y].map(|cell| stage.read(txn, cell)), [Ok(Some(1)), Ok(Some(2))]);
        Ok(())
    });
}

fn a_blind_write_asks_only_whether_there_is_a_value<S: Scheme>(stage: &Stage<S>) {
    stage.commit(|txn| {
        assert_eq!(txn.replace(stage.cells, X, &Cell::new(7)), Ok(true));
        stage.commit(|other| stage.write(other, X));
        Ok(())
    });
    stage.commit(|txn| {
        assert_eq!(stage.read(txn, X), Ok(Some(7)));
        Ok(())
    });
    let outcome = stage.attempt(|txn| {
        txn.replace(stage.cells, X, &Cell::new(9))?;
        stage.commit(|other| other.delete(stage.cells, X).map(drop));
        Ok(())
    });
    assert_eq!(outcome, Err(Abort::WriteConflict));
    let outcome = stage.attempt(|txn| {
        assert_eq!(txn.delete(stage.cells, Y), Ok(true));
        stage.commit(|other| stage.write(other, Y));
        Ok(())
    });
    assert_eq!(outcome, Ok(()), "a delete asks no more");
    stage.commit(|txn| {
        assert_eq!([X, Y].map(|cell| stage.read(txn, cell)), [Ok(None), Ok(None)]);
        Ok(())
    });
}

fn a_rollback_for_what_never_was_together_is_not_believed<S: Scheme>(stage: &Stage<S>) {
    type Before<S> = fn(&Stage<S>, &mut Txn<'_, '_, S>) -> Result<(), Abort>;
    let ways: [Before<S>; 3] = [
        |stage, txn| stage.read(txn, X).map(drop),
        |stage, txn| stage.write(txn, X),
        |stage, txn| txn.delete(stage.cells, X).map(drop),
    ];
    for before in ways {
        let outcome = stage.attempt(|txn| {
            before(stage, txn)?;
            stage.commit(|other| stage.write(other, X));
            Err(Abort::Rollback)
        });
        assert_eq!(outcome, Err(Abort::ReadChanged));
    }
    let outcome = stage.attempt(|txn| {
        stage.scan(txn)?;
        stage.commit(|other| stage.insert(other, MISSING).map(drop));
        Err(Abort::Rollback)
    });
    assert_eq!(outcome, Err(Abort::Phantom));
    assert_eq!(stage.attempt(|txn| stage.write(txn, Y).and(Err(Abort::Rollback))), Err(Abort::Rollback));
    stage.commit(|txn| {
        assert_eq!(stage.read(txn, Y), Ok(Some(0)));
        Ok(())
    });
}

/// Reads that a key is missing, while another attempt inserts it and rolls back.
fn miss<S: Scheme>(stage: &Stage<S>, txn: &mut Txn<'_, '_, S>) {
    let rolled_back = stage.attempt(|other| {
        stage.insert(other, MISSING)?;
        assert_eq!(stage.has(txn, MISSING), Ok(false));
        Err(Abort::Rollback)
    });
    assert_eq!(rolled_back, Err(Abort::Rollback));
}

/// The key comes back in a record that the attempt has never seen. Another transaction, which comes both before
/// the attempt and after it, brings it back.
fn a_miss_is_not_believed_once_its_record_has_left_the_index<S: Scheme>(stage: &Stage<S>) {
    let outcome = stage.attempt(|txn| {
        miss(stage, txn);
        stage.commit(|other| {
            assert_eq!(stage.read(other, X), Ok(Some(0)));
            stage.insert(other, MISSING).map(drop)
        });
        stage.write(txn, X)
    });
    assert_eq!(outcome, Err(Abort::ReadChanged));
}

fn an_insert_gives_no_value_to_a_record_that_has_left_the_index<S: Scheme>(stage: &Stage<S>) {
    let outcome = stage.attempt(|txn| {
        let rolled_back = stage.attempt(|other| {
            stage.insert(other, MISSING)?;
            assert_eq!(stage.insert(txn, MISSING), Ok(true), "it is the same entry");
            Err(Abort::Rollback)
        });
        assert_eq!(rolled_back, Err(Abort::Rollback));
        Ok(())
    });
    assert!(outcome.is_err());
    stage.commit(|txn| {
        assert_eq!(stage.scan(txn), Ok(vec![0]));
        Ok(())
    });
    stage.commit(|txn| stage.insert(txn, MISSING).map(drop));
    stage.commit(|txn| {
        assert_eq!(stage.scan(txn), Ok(vec![0, MISSING]));
        Ok(())
    });
}

fn a_range_is_not_believed_once_a_key_has_entered_or_left_it<S: Scheme>(stage: &Stage<S>) {
    let outcome = stage.attempt(|txn| {
        assert_eq!(stage.scan(txn), Ok(vec![0]));
        stage.commit(|other| stage.insert(other, MISSING).map(drop));
        stage.write(txn, X)
    });
    assert_eq!(outcome, Err(Abort::Phantom));
    let outcome = stage.attempt(|txn| {
        assert_eq!(stage.scan(txn), Ok(vec![0, MISSING]));
        stage.commit(|other| stage.delete(other, MISSING).map(drop));
        stage.write(txn, X)
    });
    assert_eq!(outcome, Err(Abort::ReadChanged));
    let outcome = stage.attempt(|txn| {
        assert_eq!(stage.has(txn, MISSING), Ok(false));
        stage.commit(|other| stage.insert(other, MISSING).map(drop));
        stage.insert(txn, MISSING + 1).map(drop)
    });
    assert_eq!(outcome, Err(Abort::Phantom), "its own key in the same leaf hides no other");
}

fn an_attempt_sees_what_it_did<S: Scheme>(stage: &Stage<S>) {
    stage.commit(|txn| {
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
        assert_eq!(txn.replace(stage.cells, X, &Cell::new(3)), Ok(true));
        stage.write(txn, X)?;
        assert_eq!(stage.read(txn, X), Ok(Some(4)));
        Ok(())
    });
    stage.commit(|txn| {
        assert_eq!(stage.scan(txn)?, (0..200).step_by(3).collect::<Vec<_>>());
        Ok(())
    });
    stage.commit(|txn| {
        assert_eq!(stage.read(txn, X), Ok(Some(4)));
        Ok(())
    });
}

fn an_attempt_that_stalls_holds_up_nobody<S: Scheme>(stage: &Stage<S>) {
    stage.commit(|stalled| {
        stage.read(stalled, Z)?;
        for key in 0..1_000 {
            stage.commit(|other| stage.write(other, X));
            stage.commit(|other| stage.insert(other, 1 + key).map(drop));
            stage.commit(|other| stage.delete(other, 1 + key).map(drop));
        }
        stage.write(stalled, Y)
    });
    stage.commit(|txn| {
        assert_eq!([X, Y].map(|cell| stage.read(txn, cell)), [Ok(Some(1_000)), Ok(Some(1))]);
        assert_eq!(stage.scan(txn), Ok(vec![0]));
        Ok(())
    });
}

#[test]
fn a_lost_attempt_aborts_at_the_read_or_at_its_end() {
    for (given, goes_on) in [(&[] as Given, false), (LATE_ABORT, true)] {
        let (stage, mut went_on) = (Stage::<Occ>::new(given), false);
        let outcome = stage.attempt(|txn| {
            stage.commit(|other| stage.write(other, X));
            stage.read(txn, X)?;
            went_on = true;
            Ok(())
        });
        assert_eq!((outcome, went_on), (Err(Abort::ReadChanged), goes_on));
    }
}

#[test]
fn with_early_aborts_all_reads_are_of_one_moment() {
    let stage = Stage::<Occ>::new(&[]);
    let outcome = stage.attempt(|txn| {
        assert_eq!(stage.read(txn, X), Ok(Some(0)));
        stage.commit(|other| stage.write(other, X).and_then(|()| stage.write(other, Y)));
        assert_eq!(stage.read(txn, Z), Ok(Some(0)));
        stage.read(txn, Y).map(|seen| unreachable!("{seen:?} was never there with what was read before"))
    });
    assert_eq!(outcome, Err(Abort::ReadChanged));
}

#[test]
fn an_attempt_older_than_the_history_aborts_and_the_next_one_commits() {
    let stage = Stage::<OccCentral>::new(&[("occ_central.history", "16")]);
    let last_during = |commits: u64| {
        stage.attempt(|txn| {
            stage.read(txn, X)?;
            (0..commits).for_each(|_| stage.commit(|other| stage.write(other, Y)));
            Ok(())
        })
    };
    assert_eq!(
        [0, 16, 17, 1_000, 16].map(last_during),
        [Ok(()), Ok(()), Err(Abort::Full), Err(Abort::Full), Ok(())]
    );
    let outcome = stage.attempt(|txn| {
        stage.read(txn, X)?;
        stage.commit(|other| (1..100).try_for_each(|key| stage.insert(other, key).map(drop)));
        Ok(())
    });
    assert_eq!(outcome, Err(Abort::Full), "a write set that is larger than the history");
    stage.commit(|txn| {
        assert_eq!(stage.scan(txn), Ok((0..100).collect()));
        Ok(())
    });
}
