//! Claims about Silo's snapshots: a reader of a snapshot is never aborted, sees one state whatever happens
//! meanwhile, and costs others no more than old values and rows that stay for a while.

use core::ops::{ControlFlow, RangeInclusive};

use engine::{
    Abort, Attempt, Database, Direction, Homes, Lookup, Quiesced, Schema, Scheme, Session, Table, Ticket,
    Transaction,
};
use sync::atomic::{AtomicU64, Ordering};
use sync::workers;

use crate::optimistic::silo::Silo;
use crate::tests::common::{Cell, Place, SNAPSHOTS, database, database_with};

crate::tests::conformance!(
    crate::optimistic::silo::entry::ENTRY: reordered, with_snapshots, locking_by_address, locking_without_waiting
);

const ROWS: u64 = 16;
const VALUE: u64 = 1_000;

fn writes() -> Ticket {
    Ticket::new(1, Homes::new())
}

fn reads() -> Ticket {
    Ticket { read_only: true, ..writes() }
}

fn all() -> RangeInclusive<Place> {
    Place::new(0, 0)..=Place::new(0, 2 * ROWS)
}

/// A database of [`ROWS`] rows, each of [`VALUE`], which the newest snapshot shows.
fn rows() -> (Database<Silo>, Table<Cell>) {
    let mut schema = Schema::new();
    let table = schema.table("rows", Lookup::Ordered, 0).group();
    let db = database_with::<Silo>(&schema, 8, 1, SNAPSHOTS);
    let inserted = db.session().attempt(&writes(), |txn| {
        (0..ROWS).try_for_each(|number| txn.insert(table, Place::new(0, number), &Cell::new(VALUE)).map(drop))
    });
    assert_eq!(inserted, Ok(()));
    let inserted = db.session().attempt(&writes(), |txn| txn.insert(table, Place::new(1, 0), &Cell::new(0)));
    assert_eq!(inserted, Ok(true));
    age(&db, table);
    (db, table)
}

/// Waits until the newest snapshot shows everything that was committed until now: a row that is written now, in
/// a place of its own.
fn age(db: &Database<Silo>, table: Table<Cell>) {
    let mut session = db.session();
    let clock = Place::new(1, 0);
    let now = session.attempt(&writes(), |txn| {
        txn.update(table, clock, |cell| {
            cell.set(cell.value() + 1);
            cell.value()
        })
    });
    let now = now.expect("nobody else writes it");
    while session.attempt(&reads(), |txn| txn.read(table, clock, Cell::value)).expect("never aborted") < now {
        db.scheme().maintain(0);
        workers::yield_now();
    }
}

/// The body of one transaction of a writer.
type Step<'s> = &'s dyn Fn(&mut Attempt<'_, '_, Silo>) -> Result<(), Abort>;

/// The values of all rows that an attempt sees.
fn see(txn: &mut Attempt<'_, '_, Silo>, table: Table<Cell>) -> Result<Vec<(u64, u64)>, Abort> {
    let mut seen = Vec::new();
    txn.scan(table, all(), Direction::Forward, |key, cell| {
        seen.push((key.number(), cell.value()));
        ControlFlow::Continue(())
    })?;
    for number in 0..=2 * ROWS {
        let value = txn.read(table, Place::new(0, number), Cell::value)?;
        let scanned = seen.iter().find(|(seen, _)| *seen == number).map(|(_, value)| *value);
        assert_eq!(value, scanned, "a scan and a read of {number} agree");
    }
    Ok(seen)
}

fn version_bytes(db: &Database<Silo>) -> usize {
    db.memory()[0].version_bytes
}

#[test]
fn a_reader_sees_its_point_in_time_whatever_happens_meanwhile() {
    let (db, table) = rows();
    let (mut reader, mut writer) = (db.session(), db.session());
    let at = |number| Place::new(0, number);
    let seen = reader.attempt(&reads(), |txn| {
        let first = see(txn, table)?;
        for round in 1..=5 {
            // Updated, deleted, deleted and inserted again, both at once, inserted anew: each an epoch apart.
            let steps: [Step<'_>; 5] = [
                &|txn| txn.update(table, at(0), |cell| cell.set(cell.value() + round)).map(drop),
                &|txn| txn.delete(table, at(round)).map(drop),
                &|txn| txn.delete(table, at(10)).map(drop),
                &|txn| txn.insert(table, at(10), &Cell::new(round)).map(drop),
                &|txn| {
                    txn.delete(table, at(11))?;
                    txn.insert(table, at(11), &Cell::new(round))?;
                    txn.insert(table, at(ROWS + round), &Cell::new(round)).map(drop)
                },
            ];
            for step in steps {
                assert_eq!(writer.attempt(&writes(), step), Ok(()));
                assert_eq!(see(txn, table)?, first, "round {round}");
                age(&db, table);
            }
        }
        Ok(first)
    });
    let loaded: Vec<_> = (0..ROWS).map(|number| (number, VALUE)).collect();
    assert_eq!(seen, Ok(loaded));
    age(&db, table);
    let mut now = Vec::new();
    db.quiesced().scan(table, all(), |key, cell: &Cell| {
        now.push((key.number(), cell.value()));
        ControlFlow::Continue(())
    });
    assert_eq!(reader.attempt(&reads(), |txn| see(txn, table)), Ok(now));
}

#[test]
fn a_reader_may_miss_what_was_committed_before_it_began() {
    // Strictness is not promised. The first epochs are never over while nobody maintains them.
    let mut schema = Schema::new();
    let table = schema.table("rows", Lookup::Point, 8).group();
    let read = |db: &Database<Silo>| {
        let mut session = db.session();
        let place = Place::new(0, 0);
        assert_eq!(session.attempt(&writes(), |txn| txn.insert(table, place, &Cell::new(1))), Ok(true));
        session.attempt(&reads(), |txn| txn.read(table, place, Cell::value))
    };
    assert_eq!(read(&database_with(&schema, 1, 1, SNAPSHOTS)), Ok(None), "stale");
    assert_eq!(read(&database(&schema, 1, 1)), Ok(Some(1)), "strictly serializable without snapshots");
}

#[test]
fn readers_never_abort_under_writers_and_see_the_sum() {
    const MOVES: u64 = 40_000;
    let (db, table) = rows();
    let moving = AtomicU64::new(3);
    let audits = workers::run(4, false, |worker| {
        let (mut session, mut audits) = (db.session(), 0);
        // Relaxed: only ends the loop.
        while worker == 0 && moving.load(Ordering::Relaxed) > 0 {
            db.scheme().maintain(0);
            let seen = session.attempt(&reads(), |txn| see(txn, table));
            let sum: u64 = seen.expect("never aborted").iter().map(|(_, value)| value).sum();
            assert_eq!(sum, ROWS * VALUE);
            audits += 1;
        }
        let mut rng = engine::slot_rng(worker);
        for _ in 0..if worker == 0 { 0 } else { MOVES } {
            let (from, to) = (rng.below(2 * ROWS), rng.below(2 * ROWS));
            let _ = session.attempt(&writes(), |txn| move_some(txn, table, from, to));
            db.scheme().maintain(worker);
        }
        moving.fetch_sub(u64::from(worker != 0), Ordering::Relaxed); // Relaxed: as above.
        audits
    });
    assert!(audits[0] > 10, "{} audits", audits[0]);
}

/// Moves half of one row's value to another row; or all of it, and the row with it.
fn move_some(txn: &mut impl Transaction, table: Table<Cell>, from: u64, to: u64) -> Result<(), Abort> {
    let (from, to) = (Place::new(0, from), Place::new(0, to));
    let Some(value) = txn.read(table, from, Cell::value)? else { return Ok(()) };
    if from == to {
        return Ok(());
    }
    let moved = if value % 2 == 0 { value / 2 } else { value };
    if moved == value {
        txn.delete(table, from)?;
    } else {
        txn.update(table, from, |cell| cell.set(value - moved))?;
    }
    if txn.update(table, to, |cell| cell.set(cell.value() + moved))?.is_none() {
        txn.insert(table, to, &Cell::new(moved))?;
    }
    Ok(())
}

/// Updates all rows `times` times, with maintenance as a driver would do it.
fn update(db: &Database<Silo>, session: &mut Session<'_, Silo>, table: Table<Cell>, times: u64) {
    for nth in 0..times * ROWS {
        let at = Place::new(0, nth % ROWS);
        let updated = session.attempt(&writes(), |txn| txn.update(table, at, |cell| cell.set(nth)));
        assert_eq!(updated, Ok(Some(())));
        if nth % 16 == 0 {
            db.scheme().maintain(0);
        }
    }
}

#[test]
fn kept_versions_are_bounded_whoever_idles() {
    let (db, table) = rows();
    let (mut session, mut idle) = (db.session(), db.session());
    assert!(idle.attempt(&reads(), |txn| see(txn, table)).is_ok());
    for _ in 0..10 {
        update(&db, &mut session, table, 10);
        age(&db, table);
    }
    let after_few = version_bytes(&db);
    assert!(after_few > 0, "something is kept");
    for _ in 0..60 {
        update(&db, &mut session, table, 10);
        age(&db, table);
    }
    assert!(version_bytes(&db) <= 2 * after_few, "seventy snapshot epochs take no more memory than ten");
}

#[test]
fn a_reader_keeps_versions_from_being_given_up_until_it_ends() {
    let (db, table) = rows();
    let (mut session, mut reader) = (db.session(), db.session());
    let held = reader.attempt(&reads(), |txn| {
        for _ in 0..20 {
            update(&db, &mut session, table, 1);
            age(&db, table);
        }
        see(txn, table).map(|_| version_bytes(&db))
    });
    for _ in 0..20 {
        update(&db, &mut session, table, 1);
        age(&db, table);
    }
    let held = held.expect("never aborted");
    // A few versions more are in use until the first of those that were held are past.
    assert!(version_bytes(&db) < held + held / 5, "what was held serves again");
}

#[test]
fn nothing_is_kept_without_snapshots() {
    let mut schema = Schema::new();
    let table = schema.table("rows", Lookup::Ordered, 0).group();
    let db = database::<Silo>(&schema, 2, 1);
    let mut session = db.session();
    for number in 0..ROWS {
        let inserted =
            session.attempt(&writes(), |txn| txn.insert(table, Place::new(0, number), &Cell::new(VALUE)));
        assert_eq!(inserted, Ok(true));
    }
    update(&db, &mut session, table, 100);
    assert_eq!(version_bytes(&db), 0);
    assert_eq!(session.attempt(&writes(), |txn| txn.delete(table, Place::new(0, 0))), Ok(true));
    assert_eq!(db.memory()[0].entries, ROWS as usize - 1, "a deleted row leaves at once");
}

#[test]
fn a_deleted_row_leaves_when_no_snapshot_shows_it_and_one_that_none_ever_shows_at_once() {
    let (db, table) = rows();
    let entries = || db.memory()[0].entries as u64;
    let (mut session, mut reader) = (db.session(), db.session());
    let seen = reader.attempt(&reads(), |txn| {
        assert_eq!(session.attempt(&writes(), |txn| txn.delete(table, Place::new(0, 3))), Ok(true));
        for _ in 0..20 {
            age(&db, table);
        }
        assert_eq!(entries(), ROWS + 1, "the reader may come to it");
        txn.read(table, Place::new(0, 3), Cell::value)
    });
    assert_eq!(seen, Ok(Some(VALUE)));
    let mut leaves = (0..1_000).map(|_| {
        age(&db, table);
        entries() == ROWS
    });
    assert!(leaves.any(|has_left| has_left), "it leaves with an attempt that ends when its time has come");
    let place = Place::new(0, 3);
    assert_eq!(session.attempt(&writes(), |txn| txn.insert(table, place, &Cell::new(1))), Ok(true));
    assert_eq!(session.attempt(&writes(), |txn| txn.delete(table, place)), Ok(true));
    assert_eq!(entries(), ROWS, "while nobody maintains the epochs, no snapshot comes between the two");
}

#[test]
#[should_panic(expected = "declared read-only writes nothing")]
fn a_reader_that_writes_is_a_wrong_program() {
    let (db, table) = rows();
    let place = Place::new(0, 0);
    let _ = db.session().attempt(&reads(), |txn| txn.update(table, place, |cell| cell.set(1)));
}
