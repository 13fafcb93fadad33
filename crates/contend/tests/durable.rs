//! The contents of a directory: opened again, under other options, locked against others, copied, and refused if they
//! differ from the contents that were written.

mod place;

use std::collections::BTreeMap;
use std::fs;

use contend::{
    Advice, BackupError, Database, Definition, Durability, Error, Handle, OpenError, Options, Table, Text,
    Value, schemes,
};
use durability::disk::RealDirectory;
use place::Place;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, waiter, workers};

#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "accounts")]
struct Account {
    #[key]
    id: u64,
    #[index]
    owner: Text<12>,
    cents: i64,
}

fn account(id: u64, owner: &str, cents: i64) -> Account {
    Account { id, owner: owner.parse().expect("short"), cents }
}

fn options() -> Options {
    Options::new().table::<Account>()
}

fn open(place: &Place, options: Options) -> (Database, Handle<Account>) {
    let db = Database::open(place.path(), options).expect("it opens");
    let accounts = db.table().expect("it was declared");
    (db, accounts)
}

fn all(db: &Database, accounts: Handle<Account>) -> Vec<Account> {
    db.snapshot(|txn| txn.scan(accounts, ..).collect()).expect("it reads")
}

/// Makes three accounts, one of which was changed and one deleted.
fn fill(db: &Database, accounts: Handle<Account>) {
    for id in 1..=3 {
        let is_new = db.transact(|txn| txn.insert(accounts, &account(id, "Ann", 100)));
        assert!(is_new.expect("it commits"));
    }
    db.transact(|txn| txn.update(accounts, 2, |it| it.owner = "Bob".parse().expect("short")))
        .expect("it commits");
    assert!(db.transact(|txn| txn.delete(accounts, 3)).expect("it commits"));
}

fn filled() -> Vec<Account> {
    vec![account(1, "Ann", 100), account(2, "Bob", 100)]
}

#[test]
fn what_was_committed_is_there_when_it_is_opened_again() {
    let place = Place::new("opened_again");
    let (db, accounts) = open(&place, options());
    fill(&db, accounts);
    db.close().expect("the device works");
    assert!(matches!(db.transact(|txn| txn.get(accounts, 1)), Err(Error::Closed)));
    for round in 0..3 {
        let (db, accounts) = open(&place, options());
        assert_eq!(all(&db, accounts), filled(), "round {round}");
        assert_eq!(db.counters().recovered_rows, 2);
        let bob: Text<12> = "Bob".parse().expect("short");
        let his = db.snapshot(|txn| {
            txn.scan_by(accounts, Account::BY_OWNER, bob..=bob)
                .map(|row| Ok(row?.id))
                .collect::<Result<Vec<_>, _>>()
        });
        assert_eq!(his.expect("it reads"), [2], "secondary indexes are made anew");
        db.transact(|txn| txn.update(accounts, 1, |it| it.cents += 1)).expect("it commits");
        db.transact(|txn| txn.update(accounts, 1, |it| it.cents -= 1)).expect("it commits");
        if round == 1 {
            db.checkpoint().expect("the device works");
        }
        // The database is dropped instead of closed.
    }
}

#[test]
fn an_epoch_is_as_long_as_it_is_said_to_be() {
    let place = Place::new("epoch");
    let rounds_after = |epoch_us: u64, pause_ns: u64| {
        let (db, accounts) = open(&place, options().epoch_us(epoch_us).durability(Durability::Async));
        db.transact(|txn| txn.put(accounts, &account(1, "Ann", 1))).expect("it commits");
        waiter::pause_ns(pause_ns);
        let rounds = db.counters().log_rounds;
        db.close().expect("the disk works");
        rounds
    };
    // Tried several times, since the machine may do other work meanwhile.
    assert!(
        (0..8).any(|_| rounds_after(1_000_000, 5_000_000) == 0),
        "nothing is written before the epoch's end"
    );
    assert!((0..8).any(|_| rounds_after(10, 20_000_000) == 1), "and it is then");
}

#[test]
fn what_nobody_has_waited_for_is_durable_when_the_database_is_closed() {
    let place = Place::new("closed_async");
    for round in 0..3 {
        let (db, accounts) = open(&place, options().durability(Durability::Async));
        for id in 0..100 {
            let put = db.transact(|txn| txn.put(accounts, &account(id, "Ann", round)));
            put.expect("it commits");
        }
        if round == 1 {
            db.close().expect("the device works");
        }
        drop(db);
        let (db, accounts) = open(&place, options());
        assert!(all(&db, accounts).iter().all(|it| it.cents == round), "round {round}");
        assert_eq!(db.counters().recovered_rows, 100);
    }
}

#[test]
fn a_database_opens_again_under_another_scheme() {
    let place = Place::new("another_scheme");
    let offered =
        schemes().filter(|scheme| scheme.is_built && scheme.unsuited.is_none()).map(|scheme| scheme.name);
    let (db, accounts) = open(&place, options());
    fill(&db, accounts);
    drop(db);
    for scheme in offered {
        let (db, accounts) = open(&place, options().scheme(scheme));
        assert_eq!((db.scheme(), all(&db, accounts)), (scheme, filled()));
        workers::run(2, false, |worker| {
            let (from, to) = if worker == 0 { (1, 2) } else { (2, 1) };
            for _ in 0..20 {
                let moved = db.transact(|txn| {
                    txn.update(accounts, from, |it| it.cents -= 1)?;
                    txn.update(accounts, to, |it| it.cents += 1)
                });
                assert_eq!(moved.expect("it commits"), Some(()), "under {scheme}");
            }
        });
        db.transact(|txn| txn.insert(accounts, &account(9, "Eve", 1))).expect("it commits");
        db.transact(|txn| txn.delete(accounts, 9)).expect("it commits");
    }
}

fn declared(name: &'static str) -> Definition {
    Definition::new(name).column::<u64>("id").column::<i32>("count").key(["id"])
}

#[test]
fn tables_may_be_added_and_indexes_be_others() {
    let place = Place::new("more_tables");
    let (db, accounts) = open(&place, options());
    fill(&db, accounts);
    drop(db);
    let plain = Definition::new("accounts")
        .column::<u64>("id")
        .column::<Text<12>>("owner")
        .column::<i64>("cents")
        .key(["id"]);
    // The same table without its index and found by equality only, and with another table behind it.
    let more = Options::new().define(plain.clone().point()).define(declared("visits"));
    let db = Database::open(place.path(), more).expect("it opens");
    let (accounts, visits) = (db.table_named("accounts").unwrap(), db.table_named("visits").unwrap());
    let read = db.transact(|txn| {
        txn.insert_values(&visits, &[Value::Unsigned(7), Value::Signed(70)])?;
        txn.get_values(&accounts, &[Value::Unsigned(2)])
    });
    assert_eq!(read.expect("it commits").expect("it is there")[2], Value::Signed(100));
    drop(db);
    let indexed = Options::new()
        .define(plain.index("by_cents", ["cents", "owner"]))
        .define(declared("visits").index("by_count", ["count"]));
    let db = Database::open(place.path(), indexed).expect("it opens");
    let (accounts, visits) = (db.table_named("accounts").unwrap(), db.table_named("visits").unwrap());
    let count = |table, index| {
        db.snapshot(|txn| {
            let mut rows = 0;
            let whole = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
            txn.visit_values(table, Some(index), whole, contend::Direction::Forward, |_| {
                rows += 1;
                std::ops::ControlFlow::Continue(())
            })?;
            Ok(rows)
        })
    };
    assert_eq!((count(&accounts, "by_cents").unwrap(), count(&visits, "by_count").unwrap()), (2, 1));
}

/// Returns all files with their bytes.
fn files(place: &Place) -> BTreeMap<String, Vec<u8>> {
    let entries =
        fs::read_dir(place.path()).expect("it is there").map(|entry| entry.expect("it can be read"));
    let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.map(|entry| (name(&entry), fs::read(entry.path()).expect("a file"))).collect()
}

/// Returns the bytes of all files, which may be removed meanwhile.
fn bytes(place: &Place) -> u64 {
    let entries =
        fs::read_dir(place.path()).expect("it is there").map(|entry| entry.expect("it can be read"));
    entries.map(|entry| entry.metadata().map_or(0, |file| file.len())).sum()
}

#[track_caller]
fn refused(place: &Place, options: Options) -> OpenError {
    let before = files(place);
    let error = Database::open(place.path(), options).expect_err("it is refused");
    assert!(files(place) == before, "nothing has changed: {error}");
    error
}

#[test]
fn tables_of_another_shape_are_refused_by_name() {
    let place = Place::new("other_shape");
    let open = |options| Database::open(place.path(), options);
    drop(open(Options::new().define(declared("a")).define(declared("b"))).expect("it opens"));
    let of = |name| Definition::new(name).column::<u64>("id");
    for (options, table, column) in [
        (Options::new().define(declared("a")), "b", None),
        (Options::new().define(declared("b")).define(declared("a")), "a", None),
        // As wide as before, so that the log alone would accept it.
        (Options::new().define(of("a").column::<u32>("count").key(["id"])), "a", Some("count")),
        (Options::new().define(of("a").column::<i32>("sum").key(["id"])), "a", Some("count")),
        (Options::new().define(declared("a").column::<u8>("more")), "a", Some("more")),
        (Options::new().define(of("a").column::<i32>("count").key(["count"])), "a", Some("id")),
    ] {
        let error = refused(&place, options);
        let OpenError::Schema(mismatch) = &error else { panic!("{error}") };
        assert_eq!((mismatch.table.as_str(), mismatch.column.as_deref()), (table, column), "{error}");
        assert!(error.to_string().contains("declare"), "{error}");
    }
    drop(open(Options::new().define(declared("a")).define(declared("b"))).expect("it still opens"));
}

#[test]
fn a_directory_is_one_databases_at_a_time() {
    let place = Place::new("locked");
    let (db, accounts) = open(&place, options());
    let error = refused(&place, options());
    assert_eq!(error, OpenError::Locked { path: place.path().to_owned() });
    assert!(error.to_string().contains("locked: is open already"), "{error}");
    db.transact(|txn| txn.insert(accounts, &account(1, "Ann", 1))).expect("it is not disturbed");
    let other = db.clone();
    db.close().expect("the device works");
    // Closed for all clones.
    let (db, _) = open(&place, options());
    drop(other);
    drop(db);
    open(&place, options());
}

#[test]
fn a_directory_that_is_read_is_opened_when_nobody_reads_it() {
    let place = Place::new("read");
    drop(open(&place, options()));
    let directory = RealDirectory::new(place.path()).expect("writable");
    let read = || directory.lock_to_read().expect("the system knows locks");
    let readers = [read(), read()].map(|lock| lock.expect("nobody has it open"));
    let error = refused(&place, options());
    assert_eq!(error, OpenError::Locked { path: place.path().to_owned() });
    assert!(error.to_string().contains("`contend recover` reads it: wait"), "{error}");
    let [first, second] = readers;
    drop(first);
    assert!(matches!(refused(&place, options()), OpenError::Locked { .. }), "one of them is left");
    drop(second);
    let (db, _) = open(&place, options());
    assert!(read().is_none(), "who reads waits for whoever may write");
    drop(db);
    assert!(read().is_some());
}

#[test]
fn options_that_contradict_how_a_database_is_opened_are_refused_before_anything_is_made() {
    let place = Place::new("contradicts");
    let path = place.path().join("deeper");
    for options in [
        options().durability(Durability::None),
        options().scheme("nothing"),
        options().epoch_us(0),
        options().epoch_us(1_000_001),
        options().sessions(0),
        { options().define(Definition::new("keyless")) },
    ] {
        Database::open(&path, options).expect_err("it is refused");
        assert!(!place.path().exists());
    }
    for durability in [Durability::Async, Durability::Group] {
        let error = Database::in_memory(options().durability(durability)).expect_err("it is refused");
        assert!(error.to_string().contains("give a path"), "{error}");
    }
    Database::in_memory(options().durability(Durability::None)).expect("that is what it has");
    drop(Database::open(&path, options()).expect("it makes both directories"));
    fs::write(place.path().join("file"), "").expect("the system works");
    let error = Database::open(place.path().join("file"), options()).expect_err("it is no directory");
    assert!(matches!(error, OpenError::NoDatabase { .. }), "{error}");
}

#[test]
fn a_database_in_memory_has_neither_checkpoints_nor_backups() {
    let place = Place::new("in_memory");
    let db = Database::in_memory(options()).expect("legal options");
    for error in [db.checkpoint(), db.backup(place.path())] {
        let error = error.expect_err("it has no directory");
        assert_eq!(error.advice(), Advice::Fix, "{error}");
    }
    assert!(!place.path().exists());
}

#[test]
fn recovery_takes_all_rows_whatever_the_limit_of_memory() {
    let place = Place::new("limit");
    let (db, accounts) = open(&place, options().durability(Durability::Async));
    for id in 0..2_000 {
        db.transact(|txn| txn.insert(accounts, &account(id, "Ann", 1))).expect("it commits");
    }
    drop(db);
    let told = Arc::new(AtomicU64::new(0));
    let heard = Arc::clone(&told);
    let limited = options().memory_bytes(1 << 10).on_recovery(move |recovery| {
        heard.fetch_max(recovery.rows, Ordering::Relaxed); // Relaxed: a number.
    });
    let (db, accounts) = open(&place, limited);
    // Relaxed: as above.
    assert_eq!((all(&db, accounts).len(), told.load(Ordering::Relaxed)), (2_000, 2_000));
    let insert = || db.transact(|txn| txn.insert(accounts, &account(9_999, "Ann", 1)));
    assert!(matches!(insert(), Err(Error::MemoryFull { .. })));
    db.transact(|txn| txn.update(accounts, 1, |it| it.cents = 2)).expect("an update takes no room");
}

#[test]
fn checkpoints_are_made_by_themselves_and_keep_the_directory_small() {
    const DUE: u64 = 100_000;
    let place = Place::new("bounded");
    // Many sessions have small rings, so that commits which are not yet written hardly count.
    let small = || options().durability(Durability::Async).checkpoint_bytes(DUE).sessions(1_000);
    let (mut written, mut checkpoints, mut most) = (0, 0, 0);
    for _ in 0..2 {
        let (db, accounts) = open(&place, small());
        let mut counters = db.counters();
        // This would be far ahead of checkpoints if callers did not wait.
        while counters.checkpoints < 3 || counters.log_bytes < 30 * DUE {
            for _ in 0..500 {
                let put = account(written % 500, "Ann", written as i64);
                db.transact(|txn| txn.put(accounts, &put)).expect("it commits");
                written += 1;
            }
            most = most.max(bytes(&place));
            counters = db.counters();
        }
        checkpoints += counters.checkpoints;
        assert_eq!((counters.checkpoint_failures, counters.checkpoint_failure), (0, None));
    }
    assert!(checkpoints >= 6);
    // Four times the due bytes, the bytes of a ring, two checkpoints of 500 rows, and padded pages.
    assert!(most < 12 * DUE, "{most} bytes after {written} commits");
    let (db, accounts) = open(&place, small());
    let newest = all(&db, accounts).iter().map(|it| it.cents).max();
    assert_eq!((newest, db.counters().recovered_rows), (Some(written as i64 - 1), 500));
}

#[test]
fn counters_tell_of_the_log() {
    let place = Place::new("counters");
    let (db, accounts) = open(&place, options());
    fill(&db, accounts);
    let counters = db.counters();
    assert!(counters.log_rounds >= 5 && counters.log_bytes > 0, "{counters}");
    assert_eq!((counters.awaiting_durability, counters.log_failure.clone()), (0, None));
    assert_eq!(counters.durable_lag_epochs, 0, "all is durable, and who reads now has nothing to wait for");
    assert!(counters.iter().any(|(name, value)| name == "log_failed" && value == 0));
}

#[test]
fn a_backup_while_writers_run_is_the_state_of_a_moment() {
    const ACCOUNTS: u64 = 10;
    let place = Place::new("backed_up");
    let (db, accounts) = open(&place, options().checkpoint_bytes(300_000));
    db.transact(|txn| {
        (0..ACCOUNTS).try_for_each(|id| txn.insert(accounts, &account(id, "bank", 100)).map(drop))?;
        (0..2).try_for_each(|writer| txn.insert(accounts, &account(100 + writer, "steps", 0)).map(drop))
    })
    .expect("it commits");
    let (is_over, steps) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 2]);
    workers::run(3, false, |worker| {
        if worker == 2 {
            for round in 0..4 {
                let copy = Place::new(&format!("backed_up_to_{round}"));
                // Acquire, here and below: pairs with the Release of the writers.
                let before = [0, 1].map(|writer: usize| steps[writer].load(Ordering::Acquire));
                db.backup(copy.path()).expect("the device works");
                let (db, accounts) = open(&copy, options());
                let rows = all(&db, accounts);
                let (bank, counts) = rows.split_at(ACCOUNTS as usize);
                assert_eq!(bank.iter().map(|it| it.cents).sum::<i64>(), 100 * ACCOUNTS as i64);
                for (count, before) in counts.iter().zip(before) {
                    assert!(count.cents as u64 >= before, "what had committed before the call is there");
                }
                // A database of its own.
                db.transact(|txn| txn.delete(accounts, 0)).expect("it commits");
            }
            is_over.store(true, Ordering::Release); // Release: as above.
            return;
        }
        let mut rng = stdx::Rng::from_path(&[worker as u64]);
        // Acquire and Release: as above.
        while !is_over.load(Ordering::Acquire) {
            let (from, to) = (rng.below(ACCOUNTS), rng.below(ACCOUNTS));
            let step = db.transact(|txn| {
                txn.update(accounts, from, |it| it.cents -= 3)?;
                txn.update(accounts, to, |it| it.cents += 3)?;
                txn.update(accounts, 100 + worker as u64, |it| {
                    it.cents += 1;
                    it.cents
                })
            });
            steps[worker].store(step.expect("it commits").expect("it is there") as u64, Ordering::Release);
        }
    });
    assert_eq!(all(&db, accounts).len(), 12, "what is done to the copies is not done here");
}

#[test]
fn a_backup_goes_into_an_empty_directory_or_nowhere() {
    let (place, copy) = (Place::new("backup_from"), Place::new("backup_to"));
    let (db, accounts) = open(&place, options());
    fill(&db, accounts);
    db.backup(copy.path()).expect("the device works");
    for to in [copy.path(), place.path()] {
        let error = db.backup(to).expect_err("it is not empty");
        assert!(
            matches!(&error, Error::Backup(error) if matches!(**error, BackupError::NotEmpty { .. })),
            "{error}"
        );
        assert_eq!(error.advice(), Advice::Fix);
    }
    let (copied, rows) = open(&copy, options());
    assert_eq!(all(&copied, rows), filled());
    drop(copied);
    db.close().expect("the device works");
    assert!(matches!((db.backup(copy.path()), db.checkpoint()), (Err(Error::Closed), Err(Error::Closed))));
    // The state that a crash before the end leaves.
    fs::rename(copy.path().join("MANIFEST"), copy.path().join("BACKUP")).expect("the system works");
    let error = refused(&copy, options());
    assert!(matches!(error, OpenError::Corrupt(_)) && error.to_string().contains("make another"), "{error}");
}

#[test]
fn what_is_not_what_was_written_is_refused_and_left_as_it_is() {
    let place = Place::new("corrupt");
    let (db, accounts) = open(&place, options());
    fill(&db, accounts);
    db.checkpoint().expect("the device works");
    fill_again(&db, accounts);
    drop(db);
    // Each file whose bytes matter, and the position of its first such bytes.
    let files = files(&place);
    let part = files.keys().find(|name| name.starts_with("checkpoint-")).expect("a checkpoint").clone();
    let segment =
        files.iter().find(|(name, bytes)| name.starts_with("log-") && bytes.len() > 4_096).expect("a log").0;
    for (name, at) in [("MANIFEST", 40), (&part, 100), (segment, 4_096 + 20), (segment, 8), (&part, 8)] {
        let file = place.path().join(name);
        let mut bytes = files[name].clone();
        bytes[at] ^= 4;
        fs::write(&file, &bytes).expect("the system works");
        let error = refused(&place, options());
        let is_version = at == 8 && matches!(&error, OpenError::Version { found: 5 | 6, .. });
        assert!(is_version || matches!(&error, OpenError::Corrupt(_)), "{name}: {error}");
        assert!(error.to_string().contains(name), "{error}");
        fs::write(&file, &files[name]).expect("the system works");
    }
    for name in [&part, segment] {
        fs::remove_file(place.path().join(name)).expect("it is there");
        let error = refused(&place, options());
        assert!(matches!(&error, OpenError::Corrupt(lost) if lost.file.ends_with(name.as_str())), "{error}");
        fs::write(place.path().join(name), &files[name]).expect("the system works");
    }
    let (db, accounts) = open(&place, options());
    assert_eq!(all(&db, accounts).len(), 12, "what was put right again is believed");
}

fn fill_again(db: &Database, accounts: Handle<Account>) {
    for id in 10..20 {
        db.transact(|txn| txn.insert(accounts, &account(id, "Eve", 5))).expect("it commits");
    }
}
