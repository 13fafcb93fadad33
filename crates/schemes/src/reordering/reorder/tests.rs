//! Claims about `reorder`.

use core::cell::{Cell as Flag, RefCell};

use engine::setting::{Settings as _, Values};
use engine::{
    Abort, Attempt, Database, Env, Homes, Insight, Lookup, Schema, Scheme, Table, Ticket, Transaction,
};
use sync::{fiber, waiter};

use crate::reordering::reorder::Reorder;
use crate::reordering::reorder::settings::Settings;
use crate::tests::common::{Cell, Given, Place, database_with};

crate::tests::conformance!(
    crate::reordering::reorder::entry::ENTRY:
    base, batching_only, in_small_batches, with_a_short_history
);

/// Two records: each is read by one transaction and overwritten by the other one.
const X: Place = Place::new(0, 0);
const Y: Place = Place::new(0, 1);

/// Batches end only when their worker has nothing else to do.
const PATIENT: Given = &[("reorder.wait_us", "1000000"), ("reorder.storage", "direct")];

fn stage(given: Given) -> (Database<Reorder>, Table<Cell>) {
    let mut schema = Schema::new();
    let table = schema.table("records", Lookup::Point, 2).group();
    let db = database_with(&schema, 8, 1, given);
    attempt(&db, |txn| {
        for key in [X, Y] {
            txn.insert(table, key, &Cell::new(0))?;
        }
        Ok(())
    })
    .expect("nobody else is there");
    (db, table)
}

fn attempt(
    db: &Database<Reorder>,
    body: impl FnOnce(&mut Attempt<'_, '_, Reorder>) -> Result<(), Abort>,
) -> Result<(), Abort> {
    db.session().attempt(&Ticket::new(1, Homes::new()), body)
}

fn sampled_attempt(
    db: &Database<Reorder>,
    body: impl FnOnce(&mut Attempt<'_, '_, Reorder>) -> Result<(), Abort>,
) -> Result<(), Abort> {
    db.session().attempt(&Ticket { is_sampled: true, ..Ticket::new(1, Homes::new()) }, body)
}

/// Runs three transactions, each on a fiber of its own: two read a record, and one overwrites it and sends its request
/// first. Returns the outcomes, that one's first, the value of the other record, which the readers write, and what the
/// scheme tells of the run.
fn overwrite_before_readers_commit(given: Given) -> (Vec<Result<(), Abort>>, Option<u64>, Insight) {
    let (db, table) = stage(given);
    let (have_read, outcomes) = (Flag::new(0), RefCell::new(Vec::new()));
    let is_sent = Flag::new(false);
    let mut crew = fiber::Crew::new();
    for reader in 1..=2 {
        let (db, have_read, is_sent, outcomes) = (&db, &have_read, &is_sent, &outcomes);
        crew.spawn(4 * fiber::STACK_BYTES, move || {
            let outcome = sampled_attempt(db, |txn| {
                assert_eq!(txn.read(table, X, Cell::value)?, Some(0));
                have_read.set(have_read.get() + 1);
                waiter::wait_until(None, || is_sent.get());
                txn.replace(table, Y, &Cell::new(reader)).map(drop)
            });
            outcomes.borrow_mut().push((reader, outcome));
        });
    }
    crew.spawn(4 * fiber::STACK_BYTES, || {
        waiter::wait_until(None, || have_read.get() == 2);
        let outcome = sampled_attempt(&db, |txn| {
            txn.replace(table, X, &Cell::new(7))?;
            is_sent.set(true);
            Ok(())
        });
        outcomes.borrow_mut().push((0, outcome));
    });
    crew.run();
    let mut outcomes = outcomes.into_inner();
    outcomes.sort_unstable_by_key(|(sent, _)| *sent);
    let view = db.quiesced();
    assert_eq!(engine::Quiesced::read(&view, table, X, Cell::value), Some(7));
    let last = engine::Quiesced::read(&view, table, Y, Cell::value);
    (outcomes.into_iter().map(|(_, outcome)| outcome).collect(), last, db.scheme().insight())
}

#[test]
fn readers_of_a_batch_come_before_who_overwrites_what_they_have_read() {
    let (outcomes, last, _) = overwrite_before_readers_commit(PATIENT);
    assert_eq!(outcomes, [Ok(()); 3], "whatever was sent first");
    assert!(matches!(last, Some(1 | 2)), "one write is the last");
}

#[test]
fn without_an_order_of_its_own_a_batch_aborts_who_has_read_what_is_overwritten() {
    const IN_TURN: Given =
        &[("reorder.wait_us", "1000000"), ("reorder.storage", "direct"), ("reorder.validator", "batch")];
    let (outcomes, last, insight) = overwrite_before_readers_commit(IN_TURN);
    let stale = Err(Abort::ReadChanged);
    assert_eq!((outcomes, last), (vec![Ok(()), stale, stale], Some(0)));
    assert_eq!(insight.batch, None, "no batch was put in order");
}

#[test]
fn an_ordered_batch_is_told_with_its_graph_and_its_order() {
    let (_, _, insight) = overwrite_before_readers_commit(PATIENT);
    let batch = insight.batch.expect("one batch was put in order");
    assert_eq!((batch.stale, &*batch.retries, &*batch.victims), (0, &[0; 3][..], &[][..]));
    // Whoever overwrites the record has sent its request first. The readers write without having read.
    assert_eq!(batch.edges, [(1, 0), (2, 0)]);
    assert_eq!(batch.order.last(), Some(&0), "{batch:?}");
}

#[test]
fn stages_are_told_of_sampled_transactions_alone() {
    let (db, table) = stage(PATIENT);
    let read = |txn: &mut Attempt<'_, '_, Reorder>| txn.read(table, X, Cell::value).map(drop);
    assert_eq!(attempt(&db, read), Ok(()));
    assert_eq!(db.scheme().insight(), Insight::default());
    assert_eq!(sampled_attempt(&db, read), Ok(()));
    let stages = db.scheme().insight().stages.expect("one was sampled");
    let names: Vec<&str> = stages.ns.iter().map(|(name, _)| *name).collect();
    assert_eq!((stages.transactions, names.len()), (1, 9));
    let place = |name| names.iter().position(|its| *its == name).expect("a stage");
    assert!(place("reading") < place("waiting in the validator") && place("ordering") < place("installing"));
}

#[test]
fn of_two_that_both_read_and_write_a_record_one_is_the_victim() {
    let (db, table) = stage(PATIENT);
    let (have_read, outcomes) = (Flag::new(0), RefCell::new(Vec::new()));
    let mut crew = fiber::Crew::new();
    for _ in 0..2 {
        crew.spawn(4 * fiber::STACK_BYTES, || {
            let outcome = sampled_attempt(&db, |txn| {
                txn.update(table, X, |cell| cell.set(cell.value() + 1))?;
                have_read.set(have_read.get() + 1);
                waiter::wait_until(None, || have_read.get() == 2);
                Ok(())
            });
            outcomes.borrow_mut().push(outcome);
        });
    }
    crew.run();
    let outcomes = outcomes.into_inner();
    assert!(outcomes.contains(&Ok(())) && outcomes.contains(&Err(Abort::Victim)), "{outcomes:?}");
    let batch = db.scheme().insight().batch.expect("one batch was put in order");
    assert_eq!((&*batch.edges, batch.victims.len(), batch.order.len()), (&[(0, 1), (1, 0)][..], 1, 1));
}

/// Two transactions of different types read and write the same record, and are in one batch. Returns the types of those
/// that committed.
fn committed_types(given: Given) -> Vec<usize> {
    let (db, table) = stage(given);
    let (have_read, committed) = (Flag::new(0), RefCell::new(Vec::new()));
    let mut crew = fiber::Crew::new();
    for kind in 0..2 {
        let (db, have_read, committed) = (&db, &have_read, &committed);
        crew.spawn(4 * fiber::STACK_BYTES, move || {
            let ticket = Ticket { kind, ..Ticket::new(1, Homes::new()) };
            let outcome = db.session().attempt(&ticket, |txn| {
                txn.update(table, X, |cell| cell.set(cell.value() + 1))?;
                have_read.set(have_read.get() + 1);
                waiter::wait_until(None, || have_read.get() == 2);
                Ok(())
            });
            committed.borrow_mut().extend(outcome.is_ok().then_some(kind));
        });
    }
    crew.run();
    committed.into_inner()
}

#[test]
fn the_less_valuable_type_is_the_victim_under_each_greedy_method() {
    for method in ["components", "sorted", "reduced"] {
        for (values, kept) in [("10,1", 0), ("1,10", 1)] {
            let given = [PATIENT, &[("reorder.method", method), ("reorder.values", values)]].concat();
            assert_eq!(committed_types(given.leak()), [kept], "{method}, {values}");
        }
    }
}

#[test]
fn types_without_a_value_of_their_own_have_the_last_one() {
    let given = [("reorder.values".to_owned(), "7, 3".to_owned())];
    let values = Settings::of(&Values::new(Settings::ALL, &given).expect("legal")).values;
    assert_eq!([0, 1, 2, 15, 99].map(|kind| values.of(kind)), [7, 3, 3, 3, 3]);
    assert!(values.differ);
    let refused = |text: &str| Values::new(Settings::ALL, &[("reorder.values".to_owned(), text.to_owned())]);
    for text in ["", "0", "1,", "1;2", "1000001", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"] {
        assert!(refused(text).is_err(), "{text}");
    }
}

#[test]
fn no_more_attempts_are_open_than_the_settings_admit() {
    let (db, table) = stage(&[("reorder.live", "1")]);
    let outer = attempt(&db, |txn| {
        assert_eq!(attempt(&db, |_| Ok(())), Err(Abort::Full), "this one is open");
        txn.read(table, X, Cell::value).map(drop)
    });
    assert_eq!(outer, Ok(()));
    assert_eq!(attempt(&db, |_| Ok(())), Ok(()), "nobody is left");
}

#[test]
fn settings_that_contradict_each_other_are_refused_with_the_way_out() {
    let given = [("reorder.method", "exact"), ("reorder.validator_batch", "65")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let values = Values::new(<Reorder as Scheme>::Settings::ALL, &given).expect("each is legal");
    let refused = Reorder::new(&Settings::of(&values), Env { slots: 1, workers: 1 }).unwrap_err();
    assert!(refused.0.contains("reorder.validator_batch to 64 or less"), "{}", refused.0);
}
