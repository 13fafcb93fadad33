//! Transactions that would never commit because of others: they end after a bounded number of attempts.

use core::cell::Cell;

use contend::{Conflict, Database, Error, Handle, Options, Table, schemes};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::workers;

#[derive(Clone, Debug, PartialEq, Table)]
struct Row {
    #[key]
    id: u64,
    value: i64,
}

const ROWS: u64 = 5_000;
const SESSIONS: usize = 6;
const TURN_AFTER: u32 = 5;

fn offered() -> impl Iterator<Item = &'static str> {
    schemes().filter(|scheme| scheme.is_built && scheme.unsuited.is_none()).map(|scheme| scheme.name)
}

fn rows(options: Options) -> (Database, Handle<Row>) {
    let options = options.sessions(SESSIONS).turn_after(TURN_AFTER).table::<Row>();
    let db = Database::in_memory(options).expect("it commits");
    let rows = db.table::<Row>().expect("it commits");
    for id in 0..ROWS {
        db.transact(|txn| txn.insert(rows, &Row { id, value: 0 })).expect("it commits");
    }
    (db, rows)
}

/// Ends the writers when dropped, even if the work beside them panics.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Executes `work` beside two writers that never pause. Its argument is the number of their commits so far.
fn beside_writers(db: &Database, rows: Handle<Row>, work: impl Fn(&AtomicU64) + Sync) {
    let (is_over, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    workers::run(3, false, |worker| {
        if worker == 0 {
            let _over = Over(&is_over);
            return work(&commits);
        }
        let mut rng = stdx::Rng::from_path(&[worker as u64]);
        while !is_over.load(Ordering::Relaxed) {
            let (from, to) = (rng.below(ROWS), rng.below(ROWS));
            let moved = db.transact(|txn| {
                txn.update(rows, from, |row| row.value -= 1)?;
                txn.update(rows, to, |row| row.value += 1).map(drop)
            });
            moved.expect("it commits");
            commits.fetch_add(1, Ordering::Relaxed);
        }
    });
}

#[test]
fn what_reads_all_rows_beside_writers_that_never_pause_ends_after_few_attempts() {
    for scheme in offered() {
        let (db, rows) = rows(Options::new().scheme(scheme));
        beside_writers(&db, rows, |commits| {
            for round in 0..6 {
                let attempts = Cell::new(0_u64);
                let sum = |txn: &mut contend::Reader<'_>| {
                    attempts.set(attempts.get() + 1);
                    let before = commits.load(Ordering::Relaxed);
                    let mut sum = 0;
                    for (nth, row) in txn.scan(rows, ..).enumerate() {
                        sum += row?.value;
                        // A writer commits meanwhile, unless the writers have to wait.
                        let is_alone = |_| commits.load(Ordering::Relaxed) == before;
                        if nth == ROWS as usize / 2 {
                            (0..200).take_while(|step| is_alone(*step)).for_each(|_| workers::yield_now());
                        }
                    }
                    Ok(sum)
                };
                let sum = if round % 2 == 0 {
                    db.snapshot(sum)
                } else {
                    db.transact(|txn| {
                        let all = sum(txn)?;
                        txn.update(rows, 0, |row| row.value += 0).map(|_| all)
                    })
                };
                assert_eq!(sum.unwrap(), 0, "{scheme}");
                // During its turn, each other seat has one conflicting attempt, or two if the seat missed the begin of
                // the turn.
                let bound = u64::from(TURN_AFTER) + 2 * SESSIONS as u64;
                assert!(attempts.get() <= bound, "{} attempts under {scheme}", attempts.get());
            }
        });
    }
}

#[test]
fn who_cannot_commit_in_time_is_told_what_to_do() {
    // No turns, and no time: the first conflict ends the transaction.
    let (db, rows) = rows(Options::new().deadline_ms(0).turn_after(10_000));
    let last = |ended: Result<(), Error>| -> Conflict {
        let says = ended.as_ref().unwrap_err().to_string();
        assert!(says.contains("deadline_ms") && says.contains("at a time"), "{says}");
        match ended {
            Err(Error::Expired { attempts: 1, deadline_ms: 0, last }) => last,
            other => panic!("{other:?}"),
        }
    };
    let conflict = db.snapshot(|txn| {
        txn.get(rows, 1)?;
        workers::run(1, false, |_| {
            db.transact(|txn| txn.update(rows, 1, |row| row.value += 1).map(drop)).unwrap();
        });
        txn.get(rows, 1).map(drop)
    });
    assert_eq!(last(conflict).name(), "read_changed");
    let counters = db.counters();
    assert_eq!((counters.contended, counters.conflicts()), (1, 1));
}

#[test]
fn a_turn_is_over_with_its_transaction_whatever_that_comes_to() {
    let (db, rows) = rows(Options::new());
    for round in 0..3 {
        let attempts = Cell::new(0);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            db.transact(|txn| {
                attempts.set(attempts.get() + 1);
                txn.get(rows, 1)?;
                // Others write until this transaction has a turn, during which they wait.
                if attempts.get() <= TURN_AFTER {
                    workers::run(1, false, |_| {
                        db.transact(|txn| txn.update(rows, 1, |row| row.value += 1).map(drop)).unwrap();
                    });
                    return txn.get(rows, 1).map(drop);
                }
                match round {
                    0 => Ok(()),
                    1 => Err(Error::rollback("enough")),
                    _ => std::panic::resume_unwind(Box::new("enough")),
                }
            })
        }));
        assert_eq!(attempts.get(), TURN_AFTER + 1);
        assert_eq!(ended.is_err(), round == 2);
        // Nobody waits any more; otherwise this would not end before the deadline.
        db.transact(|txn| txn.update(rows, 2, |row| row.value += 1).map(drop)).unwrap();
    }
}

#[test]
fn a_caller_within_another_databases_transaction_waits_for_no_turn() {
    let (one, ones) = rows(Options::new());
    let (other, others) = rows(Options::new());
    let attempts = Cell::new(0);
    one.transact(|txn| {
        attempts.set(attempts.get() + 1);
        txn.get(ones, 1)?;
        if attempts.get() <= TURN_AFTER {
            workers::run(1, false, |_| {
                one.transact(|txn| txn.update(ones, 1, |row| row.value += 1).map(drop)).unwrap();
            });
            return txn.get(ones, 1).map(drop);
        }
        // Here the transaction has the turn. A thread that is within a transaction of the other database does not wait.
        workers::run(1, false, |_| {
            let within = other.transact(|txn| {
                one.transact(|txn| txn.update(ones, 2, |row| row.value += 1).map(drop))?;
                txn.update(others, 2, |row| row.value += 1).map(drop)
            });
            within.unwrap();
        });
        Ok(())
    })
    .unwrap();
    assert_eq!(attempts.get(), TURN_AFTER + 1);
}

#[test]
fn a_snapshot_shows_what_was_committed_before_it_under_every_scheme_that_is_strict() {
    let settings = [("silo", "silo.snapshots", "on"), ("mv2pl", "mv2pl.snapshots", "stale")];
    let is_strict =
        |name| schemes().any(|other| other.name == name && other.isolation.starts_with("strictly"));
    let plain = offered().filter(|name| is_strict(*name)).map(|scheme| (scheme, None));
    let set = settings.into_iter().filter(|(scheme, ..)| offered().any(|other| other == *scheme));
    for (scheme, setting) in plain.chain(set.map(|(scheme, name, value)| (scheme, Some((name, value))))) {
        let mut options = Options::new().scheme(scheme);
        if let Some((name, value)) = setting {
            options = options.set(name, value);
        }
        let (db, rows) = rows(options);
        let count = || db.snapshot(|txn| Ok(txn.scan(rows, ..).count() as u64)).unwrap();
        assert_eq!(count(), ROWS, "{scheme} {setting:?}: what was loaded");
        for more in 0..20 {
            workers::run(1, false, |_| {
                db.transact(|txn| txn.insert(rows, &Row { id: ROWS + more, value: 0 })).unwrap();
            });
            assert_eq!(count(), ROWS + more + 1, "{scheme} {setting:?}: what another thread has committed");
        }
    }
}
