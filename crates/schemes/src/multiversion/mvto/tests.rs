//! MVTO, conflict by conflict. The attempts of a script have their timestamps in the order of their begins.

use core::any::Any;
use core::cell::Cell as Flag;
use core::ops::ControlFlow;

use engine::setting::{Settings, Values};
use engine::{
    Abort, Database, Direction, Env, Homes, Lookup, Observer, Schema, Scheme, Session, Table, Ticket,
    Transaction,
};
use parts::version_chain::ChainHead;
use storage::{RecordRef, Shape};
use sync::{fiber, waiter};

use crate::multiversion::mvto::Mvto;
use crate::tests::common::order::{Order, interleave};
use crate::tests::common::scene::waits_end_in_the_order_of_timestamps;
use crate::tests::common::{Cell, Named, Place, database};

crate::tests::conformance!(crate::multiversion::mvto::entry::ENTRY);

const AT: Place = Place::new(0, 5);
const ALL: core::ops::RangeInclusive<Place> = Place::new(0, 0)..=Place::new(0, 9);

fn ticket() -> Ticket {
    Ticket::new(1, Homes::new())
}

/// Runs `test` with a database of one record of value 0 that never waits.
fn check(lookup: Lookup, test: impl FnOnce(&Database<Mvto>, Table<Cell>)) {
    let mut schema = Schema::new();
    let table = schema.table("cells", lookup, 8).group();
    let values =
        Values::new(<Mvto as Scheme>::Settings::ALL, &[("mvto.wait_us".into(), "0".into())]).expect("legal");
    let db = Database::new(&schema, &values, Env { slots: 4, workers: 1 }).expect("legal");
    assert_eq!(commit(&db, |txn| txn.insert(table, AT, &Cell::new(0))), Ok(true));
    test(&db, table);
}

type Attempt<'s, 'db> = engine::Attempt<'s, 'db, Mvto>;

/// One attempt of a session of its own.
fn commit<T>(
    db: &Database<Mvto>,
    body: impl FnOnce(&mut Attempt<'_, '_>) -> Result<T, Abort>,
) -> Result<T, Abort> {
    db.session().attempt(&ticket(), |txn| body(txn))
}

fn set(table: Table<Cell>, value: u64, txn: &mut Attempt<'_, '_>) -> Result<Option<()>, Abort> {
    txn.update(table, AT, |cell| cell.set(value))
}

fn count(table: Table<Cell>, txn: &mut Attempt<'_, '_>) -> Result<u64, Abort> {
    let mut rows = 0;
    txn.scan(table, ALL, Direction::Forward, |_, _| {
        rows += 1;
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

#[test]
fn an_early_reader_sees_what_was_there_when_it_began() {
    check(Lookup::Ordered, |db, table| {
        let early = commit(db, |txn| {
            commit(db, |later| set(table, 1, later))?;
            commit(db, |later| later.insert(table, Place::new(0, 6), &Cell::new(1)))?;
            assert_eq!(txn.read(table, AT, Cell::value), Ok(Some(0)));
            assert_eq!(count(table, txn), Ok(1));
            commit(db, |later| later.delete(table, AT))?;
            assert_eq!(txn.read(table, AT, Cell::value), Ok(Some(0)));
            count(table, txn)
        });
        assert_eq!(early, Ok(1));
        assert_eq!(commit(db, |txn| count(table, txn)), Ok(1));
    });
}

#[test]
fn a_write_after_a_later_read_or_write_is_too_late() {
    check(Lookup::Point, |db, table| {
        for is_write in [false, true] {
            let late = commit(db, |txn| {
                commit(
                    db,
                    |later| if is_write { set(table, 1, later) } else { later.read(table, AT, |_| ()) },
                )?;
                set(table, 2, txn)
            });
            assert_eq!(late, Err(Abort::TooLate));
        }
        assert_eq!(commit(db, |txn| txn.read(table, AT, Cell::value)), Ok(Some(1)));
    });
}

#[test]
fn a_read_below_an_undecided_version_still_keeps_earlier_writers_out() {
    check(Lookup::Point, |db, table| {
        let first = commit(db, |first| {
            let second = commit(db, |second| {
                let third = commit(db, |third| {
                    set(table, 3, third)?;
                    assert_eq!(second.read(table, AT, Cell::value), Ok(Some(0)));
                    Err::<(), _>(Abort::Rollback)
                });
                assert_eq!(third, Err(Abort::Rollback));
                Ok(())
            });
            assert_eq!(second, Ok(()));
            set(table, 1, first)
        });
        assert_eq!(first, Err(Abort::TooLate), "the second has read that nothing was written before");
    });
}

/// Notes, for each record that is installed, the greatest timestamp that has read what was there before.
#[derive(Default)]
struct Marks(Vec<u64>);

impl Observer for Marks {
    fn listens(&self) -> bool {
        true
    }

    fn installed<S: Shape>(&mut self, record: RecordRef<'_, S>, _: Option<&[u64]>, _: Option<&[u64]>) {
        let header: &dyn Any = record.header();
        self.0.push(header.downcast_ref::<ChainHead>().expect("the header of a chain").rts());
    }
}

#[test]
fn a_read_below_a_committed_version_writes_nothing() {
    check(Lookup::Point, |db, table| {
        let mut session = db.session_with(Marks::default(), ());
        let mut write = || session.attempt(&ticket(), |later| later.update(table, AT, |cell| cell.set(1)));
        let early = commit(db, |early| {
            assert_eq!(write(), Ok(Some(())));
            assert_eq!(early.read(table, AT, Cell::value), Ok(Some(0)));
            Ok(())
        });
        assert_eq!(early, Ok(()));
        assert_eq!(write(), Ok(Some(())));
        assert_eq!(commit(db, |last| last.read(table, AT, Cell::value)), Ok(Some(1)));
        assert_eq!(write(), Ok(Some(())));
        let [first, second, third] = session.observer().0[..] else { panic!("three were installed") };
        assert!(first == second && second < third, "{first} {second} {third}");
    });
}

#[test]
fn an_insert_into_a_gap_that_was_read_later_is_too_late() {
    let key = Place::new(0, 6);
    check(Lookup::Ordered, |db, table| {
        let late = commit(db, |txn| {
            assert_eq!(commit(db, |later| count(table, later)), Ok(1));
            txn.insert(table, key, &Cell::new(1))
        });
        assert_eq!(late, Err(Abort::TooLate));
    });
    check(Lookup::Point, |db, table| {
        let late = commit(db, |txn| {
            assert_eq!(commit(db, |later| later.read(table, key, Cell::value)), Ok(None));
            txn.insert(table, key, &Cell::new(1))
        });
        assert_eq!(late, Err(Abort::TooLate));
    });
}

#[test]
fn a_gap_that_was_read_stays_read_when_its_leaf_splits() {
    check(Lookup::Ordered, |db, table| {
        let late = commit(db, |txn| {
            let empty = Place::new(0, 500)..=Place::new(0, 900);
            let nothing = |_, _: &Cell| panic!("nothing is there");
            assert_eq!(commit(db, |later| later.scan(table, empty, Direction::Forward, nothing)), Ok(()));
            for number in 10..400 {
                let below = Place::new(0, number);
                assert_eq!(commit(db, |later| later.insert(table, below, &Cell::new(1))), Ok(true));
            }
            txn.insert(table, Place::new(0, 700), &Cell::new(1))
        });
        assert_eq!(late, Err(Abort::TooLate));
    });
}

/// Timestamps are in the order of the fibers: the late attempt is between the one that begins first and the
/// others.
#[test]
fn what_was_read_stays_read_when_a_key_leaves_and_enters_the_index() {
    check(Lookup::Ordered, |db, table| {
        let order = Order::default();
        let late = Flag::new(Ok(true));
        let scripts: Vec<Box<dyn FnOnce() + '_>> = vec![
            Box::new(|| {
                // Holds the watermark, so that the record of the deleted row stays for a while.
                let _ = commit(db, |_| {
                    order.step(0, || ());
                    order.step(4, || Ok(()))
                });
            }),
            Box::new(|| {
                order.step(1, || assert_eq!(commit(db, |txn| txn.delete(table, AT)), Ok(true)));
                late.set(db.session().attempt(&ticket(), |txn| {
                    order.step(2, || ());
                    order.step(6, || txn.insert(table, AT, &Cell::new(1)))
                }));
            }),
            Box::new(|| {
                let seen = order.step(3, || commit(db, |txn| txn.read(table, AT, Cell::value)));
                assert_eq!(seen, Ok(None), "read of the record");
                // The record leaves the index, a new one enters it, and its insert rolls back.
                order.step(5, || {
                    for _ in 0..100 {
                        assert_eq!(commit(db, |_| Ok(())), Ok(()));
                    }
                    let undone = commit(db, |txn| {
                        assert_eq!(txn.insert(table, AT, &Cell::new(2)), Ok(true));
                        Err::<(), _>(Abort::Rollback)
                    });
                    assert_eq!(undone, Err(Abort::Rollback));
                });
            }),
        ];
        interleave(&order, 7, scripts);
        assert_eq!(late.get(), Err(Abort::TooLate));
    });
}

#[test]
fn who_needs_an_undecided_version_waits_for_the_decision() {
    let mut schema = Schema::new();
    let table = schema.table("cells", Lookup::Point, 8).group();
    let db = database::<Mvto>(&schema, 4, 1);
    assert_eq!(commit(&db, |txn| txn.insert(table, AT, &Cell::new(0))), Ok(true));
    for ending in [Ok(()), Err(Abort::Rollback)] {
        let has_ended = Flag::new(false);
        let before = commit(&db, |txn| txn.read(table, AT, Cell::value)).expect("alone").expect("inserted");
        let mut crew = fiber::Crew::new();
        crew.spawn(4 * fiber::STACK_BYTES, || {
            let done = commit(&db, |txn| {
                set(table, before + 1, txn)?;
                for _ in 0..100 {
                    waiter::give_way();
                }
                has_ended.set(true);
                ending
            });
            assert_eq!(done, ending);
        });
        crew.spawn(4 * fiber::STACK_BYTES, || {
            assert!(!has_ended.get());
            let seen = commit(&db, |txn| txn.read(table, AT, Cell::value));
            assert!(has_ended.get());
            assert_eq!(seen, Ok(Some(before + u64::from(ending.is_ok()))));
        });
        crew.spawn(4 * fiber::STACK_BYTES, || {
            assert_eq!(commit(&db, |txn| set(table, before + 2, txn)), Ok(Some(())));
            assert!(has_ended.get());
        });
        crew.run();
    }
}

#[test]
fn who_does_not_wait_aborts() {
    check(Lookup::Point, |db, table| {
        let done = commit(db, |txn| {
            set(table, 1, txn)?;
            assert_eq!(commit(db, |later| later.read(table, AT, Cell::value)), Err(Abort::Timeout));
            assert_eq!(commit(db, |later| set(table, 2, later)), Err(Abort::Timeout));
            Ok(())
        });
        assert_eq!(done, Ok(()));
    });
}

#[test]
fn keys_that_a_session_leaves_behind_can_be_inserted_again() {
    let mut schema = Schema::new();
    let mut table = schema.table("named", Lookup::Ordered, 0);
    let rows = table.group::<Named>();
    let _by_name = table.index::<Named, crate::tests::common::ByName>(rows, "by_name");
    let db = database::<Mvto>(&schema, 4, 1);
    assert_eq!(commit(&db, |txn| txn.insert(rows, AT, &Named(1))), Ok(true));
    let mut session: Session<'_, Mvto> = db.session();
    let held = session.attempt(&ticket(), |_| {
        // The watermark is held, so the row stays in the indexes when its session is gone.
        assert_eq!(commit(&db, |txn| txn.delete(rows, AT)), Ok(true));
        assert_eq!(commit(&db, |txn| txn.insert(rows, AT, &Named(2))), Err(Abort::WriteConflict));
        Ok(())
    });
    assert_eq!(held, Ok(()));
    let inserted =
        (0..100).find_map(|_| session.attempt(&ticket(), |txn| txn.insert(rows, AT, &Named(2))).ok());
    assert_eq!(inserted, Some(true));
}

#[test]
fn waits_for_a_version_end_in_the_order_of_timestamps() {
    waits_end_in_the_order_of_timestamps::<Mvto>(&[("mvto.wait_us", "10000000")]);
}
