//! Transactions from a program's view: from many threads under every scheme of the build, with bodies that panic, nest
//! and exceed limits.

use std::panic::{AssertUnwindSafe, catch_unwind};

use contend::{Advice, Database, Error, Handle, OpenError, Options, Sum, Table, schemes};
use sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sync::{waiter, workers};

#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "accounts")]
struct Account {
    #[key]
    id: u64,
    #[index]
    owner: u32,
    cents: i64,
}

const ACCOUNTS: u64 = 16;
const CENTS: i64 = 1_000;

fn offered() -> impl Iterator<Item = &'static str> {
    schemes().filter(|scheme| scheme.is_built && scheme.unsuited.is_none()).map(|scheme| scheme.name)
}

fn bank(options: Options) -> (Database, Handle<Account>) {
    let db = Database::in_memory(options.table::<Account>()).expect("legal options");
    let accounts = db.table::<Account>().expect("it was declared");
    db.transact(|txn| {
        for id in 0..ACCOUNTS {
            assert!(txn.insert(accounts, &Account { id, owner: (id % 3) as u32, cents: CENTS })?);
        }
        Ok(())
    })
    .expect("it commits");
    (db, accounts)
}

fn sum(txn: &mut contend::Reader<'_>, accounts: Handle<Account>) -> Result<i64, Error> {
    txn.scan(accounts, ..).map(|account| Ok(account?.cents)).sum()
}

/// Moves money from one account to another. Either account may be deleted already, or not exist yet.
fn transfer(db: &Database, accounts: Handle<Account>, from: u64, to: u64) -> Result<bool, Error> {
    db.transact(|txn| {
        let Some(payer) = txn.get(accounts, from)? else { return Ok(false) };
        if payer.cents < 7 || !txn.contains(accounts, to)? {
            return Ok(false);
        }
        txn.update(accounts, from, |account| account.cents -= 7)?;
        txn.update(accounts, to, |account| {
            account.cents += 7;
            account.owner = (account.owner + 1) % 3;
        })?;
        Ok(true)
    })
}

#[test]
fn transfers_from_eight_threads_keep_the_sum_under_every_scheme() {
    for scheme in offered() {
        let (db, accounts) = bank(Options::new().scheme(scheme));
        let moved = workers::run(8, false, |worker| {
            let mut rng = stdx::Rng::from_path(&[worker as u64]);
            let mut moved = 0;
            for step in 0..500 {
                let (from, to) = (rng.below(ACCOUNTS), rng.below(ACCOUNTS));
                if from == to {
                    continue;
                }
                moved += u64::from(transfer(&db, accounts, from, to).unwrap());
                if step % 50 == 0 {
                    let seen = db.snapshot(|txn| sum(txn, accounts)).unwrap();
                    assert_eq!(seen, CENTS * ACCOUNTS as i64, "a snapshot under {scheme}");
                }
            }
            moved
        });
        assert!(moved.iter().sum::<u64>() > 0, "{scheme}");
        db.transact(|txn| {
            assert_eq!(sum(txn, accounts)?, CENTS * ACCOUNTS as i64, "under {scheme}");
            let by_owner = (0..3_u32)
                .map(|owner| txn.scan_by(accounts, Account::BY_OWNER, owner..=owner).count() as u64)
                .sum::<u64>();
            assert_eq!(by_owner, ACCOUNTS, "each row is under one secondary key under {scheme}");
            Ok(())
        })
        .unwrap();
        assert_eq!((db.scheme(), db.counters().contended), (scheme, 0));
    }
}

#[derive(Clone, Debug, PartialEq, Table)]
struct Visits {
    #[key]
    page: u32,
    count: Sum,
    bytes: Sum,
}

#[test]
fn what_is_added_from_eight_threads_is_all_there_under_every_scheme() {
    for scheme in offered() {
        let db = Database::in_memory(Options::new().scheme(scheme).table::<Visits>()).unwrap();
        let visits = db.table::<Visits>().unwrap();
        let of = |page, count, bytes| Visits { page, count: Sum(count), bytes: Sum(bytes) };
        db.transact(|txn| txn.insert(visits, &of(1, 5, 0))).unwrap();
        workers::run(8, false, |_| {
            for _ in 0..100 {
                assert!(db.transact(|txn| txn.add(visits, &of(1, 1, -3))).unwrap());
            }
        });
        let there = db.transact(|txn| Ok((txn.get(visits, 1)?, txn.add(visits, &of(2, 1, 1))?))).unwrap();
        assert_eq!(there, (Some(of(1, 805, -2_400)), false), "under {scheme}");
    }
}

#[derive(Table)]
struct Indexed {
    #[key]
    page: u32,
    #[key]
    #[index]
    day: u32,
    count: Sum,
}

#[test]
fn a_row_of_other_columns_than_sums_or_with_an_index_is_not_added_to() {
    let (db, accounts) = bank(Options::new());
    let ended = db.transact(|txn| txn.add(accounts, &Account { id: 1, owner: 0, cents: 1 }));
    assert!(matches!(ended, Err(Error::Misuse(_))), "{ended:?}");
    let db = Database::in_memory(Options::new().table::<Indexed>()).unwrap();
    let table = db.table::<Indexed>().unwrap();
    let row = Indexed { page: 1, day: 2, count: Sum(1) };
    assert!(db.transact(|txn| txn.insert(table, &row)).unwrap());
    let ended = db.transact(|txn| txn.add(table, &row));
    assert!(
        matches!(ended, Err(Error::Misuse(_))),
        "entries of an index belong to a row that was read: {ended:?}"
    );
}

#[test]
fn a_panic_undoes_its_transaction_and_leaves_the_database_as_it_was_under_every_scheme() {
    for scheme in offered() {
        let (db, accounts) = bank(Options::new().scheme(scheme));
        for place in 0..3 {
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                db.transact(|txn| {
                    txn.update(accounts, 1, |account| {
                        account.cents = 0;
                        assert!(place != 0, "within an update");
                    })?;
                    txn.delete(accounts, 2)?;
                    txn.insert(accounts, &Account { id: 99, owner: 0, cents: 1 })?;
                    txn.visit(accounts, .., contend::Direction::Forward, |_| {
                        assert!(place != 1, "within a scan");
                        core::ops::ControlFlow::Continue(())
                    })?;
                    assert!(place != 2, "at the end");
                    Ok(())
                })
            }));
            assert!(panicked.is_err(), "{scheme}");
        }
        assert_eq!(db.counters().panics, 3, "{scheme}");
        db.transact(|txn| {
            assert_eq!(sum(txn, accounts)?, CENTS * ACCOUNTS as i64, "{scheme}");
            assert_eq!(txn.scan_by(accounts, Account::BY_OWNER, ..).count() as u64, ACCOUNTS, "{scheme}");
            txn.update(accounts, 1, |account| account.cents += 0).map(|_| ())
        })
        .unwrap();
    }
}

#[test]
fn a_rollback_returns_what_the_body_says_and_leaves_nothing() {
    #[derive(Debug)]
    enum Refused {
        Poor(i64),
        Store(Error),
    }
    impl From<Error> for Refused {
        fn from(error: Error) -> Self {
            Self::Store(error)
        }
    }
    let (db, accounts) = bank(Options::new());
    let ended = db.try_transact(|txn| {
        let left = txn.update(accounts, 1, |account| {
            account.cents -= 2 * CENTS;
            account.cents
        })?;
        left.filter(|left| *left >= 0).ok_or(Refused::Poor(left.unwrap_or_default()))
    });
    assert!(matches!(ended, Err(Refused::Poor(left)) if left == -CENTS), "{ended:?}");
    let nested = db.try_transact(|_| db.try_transact(|_| Ok::<_, Refused>(())));
    assert!(matches!(nested, Err(Refused::Store(Error::Nested))), "{nested:?}");
    assert_eq!(db.transact(|txn| txn.get(accounts, 1)).unwrap().map(|account| account.cents), Some(CENTS));
    assert_eq!(db.counters().rollbacks, 2);
}

#[test]
fn a_transaction_within_another_of_its_database_is_refused_and_the_outer_one_goes_on() {
    let (db, accounts) = bank(Options::new());
    let (other, others) = bank(Options::new());
    let (inner, snapshot, closed, foreign) = db
        .transact(|txn| {
            let inner = db.transact(|_| Ok(()));
            let snapshot = db.snapshot(|_| Ok(()));
            let foreign = other.transact(|txn| txn.get(others, 1));
            txn.update(accounts, 1, |account| account.cents += 1)?;
            Ok((inner, snapshot, db.close(), foreign))
        })
        .unwrap();
    for refused in [inner, snapshot, closed] {
        let error = refused.expect_err("refused");
        assert!(matches!(error, Error::Nested) && error.advice() == Advice::Fix, "{error}");
    }
    assert!(foreign.is_ok_and(|account| account.is_some()), "another database is another matter");
    assert_eq!(db.transact(|txn| sum(txn, accounts)).unwrap(), CENTS * ACCOUNTS as i64 + 1);
}

#[test]
fn what_a_body_makes_of_rows_that_do_not_go_together_is_not_believed() {
    let (db, accounts) = bank(Options::new());
    let write = |cents: i64| {
        db.transact(|txn| {
            txn.update(accounts, 1, |account| account.cents = cents)?;
            txn.update(accounts, 2, |account| account.cents = cents)
        })
        .unwrap();
    };
    let is_first = |attempts: &AtomicUsize| attempts.fetch_add(1, Ordering::Relaxed) == 0;
    // Another thread, because one transaction within another is refused.
    let write_elsewhere = |cents| workers::run(1, false, |_| write(cents));
    let attempts = AtomicUsize::new(0);
    write(5);
    let ended = db.transact(|txn| {
        let first = txn.get(accounts, 1)?.map(|account| account.cents);
        if is_first(&attempts) {
            write_elsewhere(6);
        }
        let second = txn.get(accounts, 2)?.map(|account| account.cents);
        assert!(first == second, "they are written together");
        Ok(second)
    });
    assert_eq!((ended.unwrap(), attempts.into_inner()), (Some(6), 2));
    let attempts = AtomicUsize::new(0);
    let ended = db.transact(|txn| {
        let first = txn.get(accounts, 1)?.map(|account| account.cents);
        if is_first(&attempts) {
            write_elsewhere(7);
        }
        let second = txn.get(accounts, 2)?.map(|account| account.cents);
        if first == second { Ok(second) } else { Err(Error::rollback("they are written together")) }
    });
    assert_eq!((ended.unwrap(), attempts.into_inner()), (Some(7), 2));
    assert_eq!((db.counters().panics, db.counters().conflicts()), (0, 2));
}

#[test]
fn a_transaction_that_meets_conflicts_only_ends_with_an_error() {
    let (db, accounts) = bank(Options::new().attempts(3));
    let ended = db.transact(|txn| {
        txn.get(accounts, 1)?;
        workers::run(1, false, |_| {
            db.transact(|txn| txn.update(accounts, 1, |account| account.cents += 1)).unwrap();
        });
        txn.update(accounts, 2, |account| account.cents += 1)
    });
    let error = ended.expect_err("contended");
    assert!(
        matches!(error, Error::Contended { attempts: 3, .. }) && error.advice() == Advice::Retry,
        "{error}"
    );
    let counters = db.counters();
    assert_eq!((counters.contended, counters.conflicts()), (1, 3));
    assert_eq!(counters.conflicts_by_reason().map(|(_, count)| count).sum::<u64>(), 3);
}

#[test]
fn more_threads_than_sessions_wait_for_their_turn() {
    let (db, accounts) = bank(Options::new().sessions(2));
    workers::run(8, false, |worker| {
        for _ in 0..100 {
            transfer(&db, accounts, worker as u64, worker as u64 + 8).unwrap();
        }
    });
    assert_eq!(db.transact(|txn| sum(txn, accounts)).unwrap(), CENTS * ACCOUNTS as i64);
    assert_eq!(db.counters().overload_refusals, 0);
}

#[test]
fn callers_beyond_what_may_wait_are_refused() {
    let (db, accounts) = bank(Options::new().sessions(1).waiting(1).patience_ms(600_000));
    let (is_inside, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    // Acquire and Release: a pair each.
    let await_it = |flag: &AtomicBool| waiter::wait_until(None, || flag.load(Ordering::Acquire));
    let ended = workers::run(3, false, |worker| {
        if worker == 0 {
            return db.transact(|txn| {
                is_inside.store(true, Ordering::Release);
                await_it(&is_over);
                txn.get(accounts, 1).map(|_| 0)
            });
        }
        await_it(&is_inside);
        if worker == 1 {
            return db.transact(|txn| txn.get(accounts, 1).map(|_| 1));
        }
        waiter::wait_until(None, || db.counters().waiting == 1);
        let refused = db.transact(|txn| txn.get(accounts, 1).map(|_| 2));
        is_over.store(true, Ordering::Release);
        refused
    });
    assert!(matches!(ended[..2], [Ok(0), Ok(1)]), "{ended:?}");
    let error = ended[2].as_ref().expect_err("refused");
    assert!(matches!(error, Error::Overloaded { waiting: 1 }) && error.advice() == Advice::Retry, "{error}");
    assert_eq!((db.counters().overload_refusals, db.counters().waiting), (1, 0));
}

#[test]
fn a_caller_waits_no_longer_than_its_patience() {
    let (db, accounts) = bank(Options::new().sessions(1).patience_ms(5));
    let refused = db
        .transact(|txn| {
            txn.get(accounts, 1)?;
            Ok(workers::run(1, false, |_| db.transact(|txn| txn.get(accounts, 2)).map(|_| ())).remove(0))
        })
        .unwrap();
    assert!(matches!(refused, Err(Error::Overloaded { .. })), "{refused:?}");
}

#[test]
fn inserts_beyond_the_memory_limit_are_refused_until_there_is_room_again() {
    #[derive(Table)]
    struct Large {
        #[key]
        id: u64,
        bytes: [u8; 1_000],
    }
    let limit_bytes = 8 << 20;
    let db =
        Database::in_memory(Options::new().table::<Large>().sessions(4).memory_bytes(limit_bytes)).unwrap();
    let large = db.table::<Large>().unwrap();
    let insert = |id: u64| db.transact(|txn| txn.insert(large, &Large { id, bytes: [1; 1_000] }));
    let full = (0..1_000_000).find_map(|id| insert(id).err().map(|error| (id, error)));
    let Some((rows, error)) = full else { panic!("the limit is not kept") };
    assert!(matches!(error, Error::MemoryFull { .. }) && error.advice() == Advice::GiveUp, "{error}");
    assert!((4_000..8_400).contains(&rows), "{rows} rows of a kilobyte fit");
    let used = db.counters().used_bytes as usize;
    assert!(used < limit_bytes + limit_bytes / 8, "{used} bytes");
    // Existing rows can be read and changed.
    assert_eq!(db.transact(|txn| txn.update(large, 7, |row| row.bytes[0] = 9)).unwrap(), Some(()));
    let handled = db.transact(|txn| match txn.insert(large, &Large { id: rows, bytes: [1; 1_000] }) {
        Err(Error::MemoryFull { .. }) => txn.delete(large, 7),
        other => other,
    });
    assert!(handled.unwrap(), "a transaction that is refused an insert goes on");
    for id in 0..rows {
        db.transact(|txn| txn.delete(large, id)).unwrap();
    }
    let again = (rows..rows + 10_000).find(|&id| insert(id).is_ok());
    assert!(again.is_some(), "what was deleted makes room");
    assert!(db.counters().memory_refusals > 0);
}

#[test]
fn a_closed_database_refuses_whoever_comes_and_waits_for_whoever_is_there() {
    let (db, accounts) = bank(Options::new());
    let (is_inside, is_ended) = (AtomicBool::new(false), AtomicBool::new(false));
    workers::run(2, false, |worker| {
        if worker == 0 {
            db.transact(|txn| {
                // Release: pairs with the Acquire below.
                is_inside.store(true, Ordering::Release);
                waiter::pause_ns(2_000_000);
                txn.update(accounts, 1, |account| account.cents += 1)?;
                is_ended.store(true, Ordering::Release); // As above.
                Ok(())
            })
            .unwrap();
        } else {
            // Acquire: pairs with the Release above, twice.
            waiter::wait_until(None, || is_inside.load(Ordering::Acquire));
            db.clone().close().unwrap();
            assert!(is_ended.load(Ordering::Acquire), "it was waited for");
        }
    });
    let refused = db.transact(|txn| txn.get(accounts, 1)).expect_err("refused");
    assert!(matches!(refused, Error::Closed) && refused.advice() == Advice::GiveUp);
    assert_eq!((db.close().is_ok(), db.counters().used_bytes), (true, 0));
    assert!(db.counters().commits >= 2, "what was counted stays");
}

#[test]
fn counters_have_names_and_say_what_happened() {
    let (db, accounts) = bank(Options::new());
    db.snapshot(|txn| sum(txn, accounts)).unwrap();
    let counters = db.counters();
    let of = |name: &str| counters.iter().find(|(other, _)| *other == name).map(|(_, count)| count);
    assert_eq!((of("commits"), of("rollbacks"), of("conflicts")), (Some(2), Some(0), Some(0)));
    assert!(of("used_bytes").is_some_and(|bytes| bytes > 0));
    assert!(counters.to_string().starts_with("commits 2, rollbacks 0"));
}

#[test]
fn a_snapshot_writes_nothing_and_under_a_scheme_that_keeps_versions_meets_no_conflict() {
    let (db, accounts) = bank(Options::new().set("silo.snapshots", "on"));
    assert_eq!(db.isolation(), "serializable", "the past may be shown");
    let before = db.snapshot(|txn| {
        txn.get(accounts, 1)?;
        workers::run(1, false, |_| {
            db.transact(|txn| txn.update(accounts, 1, |account| account.cents += 1)).unwrap();
        });
        sum(txn, accounts)
    });
    before.unwrap();
    assert_eq!(db.counters().conflicts(), 0);
    assert_eq!(bank(Options::new()).0.isolation(), "strictly serializable");
}

#[test]
fn a_scheme_that_is_not_offered_is_refused_in_a_sentence() {
    let refusal = |options: Options| Database::in_memory(options).expect_err("refused");
    for scheme in schemes() {
        let Some(says) = scheme.unsuited else { continue };
        let error = refusal(Options::new().scheme(scheme.name));
        assert_eq!(error, OpenError::Unsuited { name: scheme.name, says });
        assert!(error.to_string().starts_with(&format!("scheme `{}`", scheme.name)));
    }
    let unknown = refusal(Options::new().scheme("silos"));
    assert_eq!(unknown.to_string(), "there is no scheme `silos`; did you mean `silo`?");
    if !cfg!(feature = "all-schemes") {
        assert_eq!(refusal(Options::new().scheme("no_wait")), OpenError::NotBuilt { name: "no_wait" });
    }
    let setting = refusal(Options::new().set("silo.epoch", 10)).to_string();
    assert!(setting.contains("did you mean `silo.epoch_ms`"), "{setting}");
    assert!(refusal(Options::new().set("silo.epoch_ms", 0)).to_string().contains("from 1 to 10000"));
    assert!(refusal(Options::new().sessions(0)).to_string().contains("one at least"));
    let twice = refusal(Options::new().table::<Account>().table::<Account>()).to_string();
    assert!(twice.contains("table `accounts`: there are two tables"), "{twice}");
}
