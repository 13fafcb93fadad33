//! Snapshot isolation, conflict by conflict.

use core::cell::Cell as Flag;
use core::ops::ControlFlow;

use engine::{Abort, Database, Direction, Homes, Lookup, Schema, Sink, Stamp, Table, Ticket, Transaction};
use storage::{RecordRef, Shape};
use sync::{fiber, waiter};

use crate::multiversion::si::Si;
use crate::tests::common::{Cell, Place, database};

crate::tests::conformance!(crate::multiversion::si::entry::ENTRY);

const AT: Place = Place::new(0, 5);
const OTHER: Place = Place::new(0, 6);
const ALL: core::ops::RangeInclusive<Place> = Place::new(0, 0)..=Place::new(0, 9);

fn ticket() -> Ticket {
    Ticket::new(1, Homes::new())
}

/// Runs `test` with a database of two records of value 0.
fn check(test: impl FnOnce(&Database<Si>, Table<Cell>)) {
    let mut schema = Schema::new();
    let table = schema.table("cells", Lookup::Ordered, 0).group();
    let db = database(&schema, 4, 1);
    for at in [AT, OTHER] {
        assert_eq!(commit(&db, |txn| txn.insert(table, at, &Cell::new(0))), Ok(true));
    }
    test(&db, table);
}

type Attempt<'s, 'db> = engine::Attempt<'s, 'db, Si>;

/// One attempt of a session of its own.
fn commit<T>(
    db: &Database<Si>,
    body: impl FnOnce(&mut Attempt<'_, '_>) -> Result<T, Abort>,
) -> Result<T, Abort> {
    db.session().attempt(&ticket(), |txn| body(txn))
}

fn set(table: Table<Cell>, at: Place, value: u64, txn: &mut Attempt<'_, '_>) -> Result<Option<()>, Abort> {
    txn.update(table, at, |cell| cell.set(value))
}

fn rows(table: Table<Cell>, txn: &mut Attempt<'_, '_>) -> Result<Vec<(Place, u64)>, Abort> {
    let mut rows = Vec::new();
    txn.scan(table, ALL, Direction::Forward, |key, cell| {
        rows.push((key, cell.value()));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

#[test]
fn an_attempt_sees_one_snapshot_and_its_own_writes() {
    check(|db, table| {
        let done = commit(db, |txn| {
            commit(db, |other| {
                set(table, AT, 1, other)?;
                other.delete(table, OTHER)?;
                other.insert(table, Place::new(0, 7), &Cell::new(1))
            })?;
            assert_eq!(rows(table, txn), Ok(vec![(AT, 0), (OTHER, 0)]));
            txn.insert(table, Place::new(0, 1), &Cell::new(2))?;
            rows(table, txn)
        });
        assert_eq!(done, Ok(vec![(Place::new(0, 1), 2), (AT, 0), (OTHER, 0)]));
        let after = vec![(Place::new(0, 1), 2), (AT, 1), (Place::new(0, 7), 1)];
        assert_eq!(commit(db, |txn| rows(table, txn)), Ok(after));
    });
}

#[test]
fn an_update_of_what_changed_since_the_snapshot_is_a_conflict() {
    check(|db, table| {
        let late = commit(db, |txn| {
            assert_eq!(txn.read(table, AT, Cell::value), Ok(Some(0)));
            commit(db, |other| set(table, AT, 1, other))?;
            set(table, AT, 2, txn)
        });
        assert_eq!(late, Err(Abort::WriteConflict));
        let late = commit(db, |txn| {
            commit(db, |other| other.delete(table, AT))?;
            txn.delete(table, AT)
        });
        assert_eq!(late, Err(Abort::WriteConflict));
    });
}

#[test]
fn an_insert_of_a_key_that_is_newer_than_the_snapshot_is_a_conflict() {
    let key = Place::new(0, 7);
    check(|db, table| {
        let late = commit(db, |txn| {
            commit(db, |other| other.insert(table, key, &Cell::new(1)))?;
            assert_eq!(txn.read(table, key, Cell::value), Ok(None));
            txn.insert(table, key, &Cell::new(2))
        });
        assert_eq!(late, Err(Abort::WriteConflict));
        assert_eq!(commit(db, |txn| txn.insert(table, key, &Cell::new(3))), Ok(false));
    });
}

#[test]
fn the_first_updater_wins_and_readers_pass_by() {
    check(|db, table| {
        let first = commit(db, |txn| {
            set(table, AT, 1, txn)?;
            assert_eq!(commit(db, |other| set(table, AT, 2, other)), Err(Abort::WriteConflict));
            assert_eq!(commit(db, |other| other.read(table, AT, Cell::value)), Ok(Some(0)));
            Ok(())
        });
        assert_eq!(first, Ok(()));
        assert_eq!(commit(db, |txn| txn.read(table, AT, Cell::value)), Ok(Some(1)));
    });
}

/// Notes at the begin of each attempt, before it is pinned, whether the flag is set.
struct Begins<'f>(&'f Flag<bool>, Vec<bool>);

impl Sink for Begins<'_> {
    const ON: bool = true;

    fn begin(&mut self) {
        self.1.push(self.0.get());
    }

    fn logged<S: Shape>(&mut self, _: Stamp, _: RecordRef<'_, S>, _: Option<&[u64]>) {}
}

#[test]
fn a_retry_begins_after_the_decision_of_the_winner() {
    check(|db, table| {
        let has_ended = Flag::new(false);
        let mut crew = fiber::Crew::new();
        crew.spawn(4 * fiber::STACK_BYTES, || {
            let first = commit(db, |txn| {
                set(table, AT, 1, txn)?;
                for _ in 0..100 {
                    waiter::give_way();
                }
                has_ended.set(true);
                Ok(())
            });
            assert_eq!(first, Ok(()));
        });
        crew.spawn(4 * fiber::STACK_BYTES, || {
            let (mut session, mut again) = (db.session_with((), Begins(&has_ended, Vec::new())), ticket());
            let lost = session.attempt(&again, |txn| txn.update(table, AT, |cell| cell.set(2)));
            assert_eq!(lost, Err(Abort::WriteConflict));
            assert!(!has_ended.get(), "the loser aborts at once");
            again.retries = 1;
            let won = session.attempt(&again, |txn| txn.update(table, AT, |cell| cell.set(2)));
            assert_eq!(won, Ok(Some(())));
            let Begins(_, begins) = session.sink();
            assert_eq!(*begins, [false, true], "a retry that waits is not pinned yet");
        });
        crew.run();
    });
}
