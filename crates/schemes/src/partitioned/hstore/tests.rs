//! H-Store, partition by partition.

use core::ops::ControlFlow;

use engine::setting::{Settings, Values};
use engine::{
    Abort, Database, Direction, Env, Homes, Lookup, PARTITIONS_MAX, Schema, Scheme, Table, Ticket,
    Transaction,
};

use crate::partitioned::hstore::HStore;
use crate::tests::common::bank::Bank;
use crate::tests::common::counters::Counters;
use crate::tests::common::{Cell, Place, at_home, database, run};

crate::tests::conformance!(crate::partitioned::hstore::entry::ENTRY);

/// Runs `test` with a database without rows.
fn check(test: impl FnOnce(&Database<HStore>, Table<Cell>)) {
    let mut schema = Schema::new();
    let table = schema.table("cells", Lookup::Ordered, 8).group();
    test(&database(&schema, 3, 1), table);
}

#[test]
fn what_is_declared_never_aborts() {
    for types in run::<Counters>("hstore", &[]).into_iter().chain(run::<Bank>("hstore", &[])).flatten() {
        assert_eq!(types.aborts.iter().sum::<u64>(), 0);
    }
}

#[test]
fn what_is_not_declared_is_learnt_partition_by_partition() {
    check(|db, table| {
        let mut session = db.session();
        let mut ticket = Ticket::new(1, at_home(7));
        let mut touch = |ticket: &Ticket| {
            session.attempt(ticket, |txn| {
                for home in [7, 3, 5] {
                    txn.read(table, Place::new(home, 0), Cell::value)?;
                }
                Ok(())
            })
        };
        for retries in 0..2 {
            ticket.retries = retries;
            assert_eq!(touch(&ticket), Err(Abort::Partition));
        }
        ticket.retries = 2;
        assert_eq!(touch(&ticket), Ok(()));
        ticket.retries = 0;
        assert_eq!(touch(&ticket), Err(Abort::Partition), "another transaction knows nothing of it");
    });
}

#[test]
fn keys_that_are_missing_count_as_touched() {
    check(|db, table| {
        let mut session = db.session();
        let mut one = |from, to| {
            session.attempt(&Ticket::new(1, at_home(1)), |txn| {
                let keys = Place::new(from, 0)..Place::new(to, 9);
                txn.scan(table, keys, Direction::Forward, |_, _| ControlFlow::Continue(()))
            })
        };
        assert_eq!(one(1, 1), Ok(()));
        assert_eq!(one(1, 2), Err(Abort::Partition));
        assert_eq!(one(0, 1), Err(Abort::Partition));
        assert_eq!(one(65, 65), Ok(()), "homes are folded onto 64 partitions");
        let insert = session
            .attempt(&Ticket::new(1, at_home(1)), |txn| txn.insert(table, Place::new(2, 0), &Cell::new(1)));
        assert_eq!(insert, Err(Abort::Partition));
    });
}

#[test]
fn an_open_range_takes_every_partition_at_the_second_attempt() {
    check(|db, table| {
        let mut session = db.session();
        let mut ticket = Ticket::new(1, Homes::new());
        let mut count = |ticket: &Ticket| {
            session.attempt(ticket, |txn| {
                let mut rows = 0;
                txn.scan(table, .., Direction::Backward, |_, _| {
                    rows += 1;
                    ControlFlow::Continue(())
                })?;
                Ok(rows)
            })
        };
        assert_eq!(count(&ticket), Err(Abort::Partition));
        ticket.retries = 1;
        assert_eq!(count(&ticket), Ok(0));
    });
}

#[test]
fn a_transaction_of_all_homes_takes_every_partition_at_its_first_attempt() {
    check(|db, table| {
        let (mut first, mut second) = (db.session(), db.session());
        let rows = first.attempt(&Ticket::new(1, Homes::all()), |txn| {
            let mut rows = 0;
            txn.scan(table, .., Direction::Forward, |_, _| {
                rows += 1;
                ControlFlow::Continue(())
            })?;
            Ok(rows)
        });
        assert_eq!(rows, Ok(0));
        // Nothing is held afterwards.
        let read =
            second.attempt(&Ticket::new(1, at_home(5)), |txn| txn.read(table, Place::new(5, 0), Cell::value));
        assert_eq!(read, Ok(None));
    });
}

#[test]
fn attempts_on_different_partitions_do_not_wait_for_each_other() {
    check(|db, table| {
        let (mut first, mut second) = (db.session(), db.session());
        let insert = |home| {
            move |txn: &mut engine::Attempt<'_, '_, HStore>| {
                txn.insert(table, Place::new(home, 0), &Cell::new(home))
            }
        };
        let done = first.attempt(&Ticket::new(1, at_home(1)), |one| {
            let other = second.attempt(&Ticket::new(1, at_home(2)), insert(2));
            assert_eq!(other, Ok(true));
            insert(1)(one)
        });
        assert_eq!(done, Ok(true));
    });
}

#[test]
fn each_home_has_its_partition_unless_a_number_is_given() {
    let partitions = |homes: Option<usize>, given: &[(String, String)]| {
        let mut schema = Schema::new();
        schema.table::<Place>("cells", Lookup::Ordered, 8).group::<Cell>();
        if let Some(homes) = homes {
            schema.set_homes(homes);
        }
        let values = Values::new(<HStore as Scheme>::Settings::ALL, given).expect("legal");
        let db = Database::<HStore>::new(&schema, &values, Env { slots: 1, workers: 1 }).expect("legal");
        let claim = db.session().attempt(&Ticket::new(1, Homes::all()), |_| Ok(()));
        assert_eq!(claim, Ok(()));
        db.facts().partitions
    };
    assert_eq!([1, 100, 1_568].map(|homes| partitions(Some(homes), &[])), [1, 100, 1_568]);
    assert_eq!(partitions(Some(100_000), &[]), PARTITIONS_MAX);
    assert_eq!(partitions(None, &[]), 64, "it is not known how many there are");
    let given = [("hstore.partitions".to_owned(), "7".to_owned())];
    assert_eq!(partitions(Some(100), &given), 7);
    let given = [("hstore.partitions".to_owned(), "4097".to_owned())];
    let refusal = Values::new(<HStore as Scheme>::Settings::ALL, &given).expect_err("refused");
    assert!(refusal.0.contains("from 0 to 4096"), "{refusal}");
}
