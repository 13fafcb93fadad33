//! Programs whose options exceed a limit: each gets an error with the limit and advice, before anything is made, and
//! its process goes on.

mod place;

use core::mem::discriminant;
use std::env;
use std::process::Command;

use contend::{Database, Definition, Error, Kind, MemoryLimit, OpenError, Options, Text, Type, Value};
use place::Place;

/// The variable that tells a process to run the part of a child.
const CHILD: &str = "CONTEND_LIMITS_CHILD";
const GIB: u64 = 1 << 30;

/// The message about more rows than can be counted.
const BEYOND: &[&str] =
    &["table `points`", "expect fewer", "`point`", "more bytes than a process can address"];

/// A table of points.
fn points(rows: usize) -> Definition {
    Definition::new("points").column::<u64>("id").column::<u64>("x").key(["id"]).point().expect_rows(rows)
}

fn many(tables: usize) -> Options {
    let table = |number| Definition::new(format!("t{number}")).column::<u64>("id").key(["id"]);
    (0..tables).fold(Options::new(), |options, number| options.define(table(number)))
}

fn narrow() -> Definition {
    Definition::new("narrow").column::<u64>("id").key(["id"])
}

fn columns(count: usize, bytes: u16) -> Definition {
    let kind = Type::of(Kind::Bytes(bytes));
    (0..count).fold(narrow(), |table, number| table.column_of(format!("c{number}"), kind))
}

/// Requests that are too large, with parts of their error texts.
fn too_much() -> Vec<(&'static str, Options, &'static [&'static str])> {
    let define = |table: Definition| Options::new().define(table);
    let indexes =
        |count: usize| (0..count).fold(narrow(), |table, number| table.index(format!("by{number}"), ["id"]));
    let grouped = |count: usize| {
        (0..count).fold(columns(count, 1), |table, n| table.group(format!("g{n}"), [format!("c{n}")]))
    };
    let key = |bytes: u16| {
        define(Definition::new("long").column_of("id", Type::of(Kind::Bytes(bytes))).key(["id"]))
    };
    vec![
        (
            "rows of 10^15",
            define(points(1_000_000_000_000_000)),
            &["`points` for 1000000000000000 rows", "36028797018963968 bytes"],
        ),
        ("rows without end", define(points(usize::MAX)), BEYOND),
        ("rows that wrap", define(points(usize::MAX / 3)), BEYOND),
        (
            "rows beyond the program's own limit",
            define(points(1_000_000_000)).memory_bytes(8 << 30),
            &["34359738368 bytes", "`memory_bytes` allows 8589934592", "expect fewer"],
        ),
        (
            "66,000 tables",
            many(66_000),
            &["66000 tables, and 65536 are the most: keep rows of several kinds"],
        ),
        ("sessions", Options::new().sessions(usize::MAX), &["`sessions`, and 4096 are the most: give fewer"]),
        ("one session more", Options::new().sessions(4_097), &["4097 `sessions`"]),
        ("helpers", Options::new().helpers(usize::MAX), &["`helpers`, and 1024 are the most: give fewer"]),
        ("a key", key(49), &["table `long`", "49 bytes, and 48 is the most; shorten"]),
        ("a long key", key(u16::MAX), &["65535 bytes, and 48 is the most; shorten"]),
        ("indexes", define(indexes(100_000)), &["table `narrow`", "two secondary indexes at most"]),
        ("a row", define(columns(40, u16::MAX)), &["2621400 bytes beside its key, and 1048576 is the most"]),
        ("a row of 16 GiB", define(columns(1 << 18, u16::MAX)), &["1048576 is the most; keep what is long"]),
        (
            "column groups",
            define(grouped(70_000)),
            &["70000 column groups, and 1024 are the most; join some"],
        ),
        ("a prefix", define(narrow().prefix(usize::MAX)), &["fewer columns than the key, which has 1"]),
        ("epochs", Options::new().epoch_us(u64::MAX), &["`epoch_us` is from 1 to 1,000,000"]),
        ("a setting", Options::new().set("silo.epoch_ms", u64::MAX), &["from 1 to 10000"]),
        (
            "a setting beyond numbers",
            Options::new().set("silo.epoch_ms", "9".repeat(99)),
            &["from 1 to 10000"],
        ),
    ]
}

#[test]
fn what_is_too_much_is_refused_with_the_limit_and_the_way_out() {
    let place = Place::new("too_much");
    for (name, options, says) in too_much() {
        let in_memory = Database::in_memory(options.clone()).map(drop).expect_err(name);
        let on_disk = Database::open(place.path(), options).map(drop).expect_err(name);
        // The memory that the machine has left differs from one moment to the next.
        assert_eq!(discriminant(&in_memory), discriminant(&on_disk), "{name}");
        for text in [in_memory, on_disk].map(|error| error.to_string()) {
            assert!(says.iter().all(|part| text.contains(part)), "{name}: {text}");
        }
        assert!(!place.path().exists(), "{name}: nothing is made");
    }
}

#[test]
fn a_limit_is_told_in_numbers_too() {
    let refusal = |options| Database::in_memory(options).map(drop).expect_err("it is refused");
    let limited = refusal(Options::new().sessions(5_000));
    assert!(matches!(limited, OpenError::Limit { what: "`sessions`", given: 5_000, most: 4_096, .. }));
    let rows = refusal(Options::new().define(points(1 << 30)).memory_bytes(1 << 30));
    let OpenError::Memory { table, expected_rows, needed_bytes, limit } = rows else { panic!("{rows:?}") };
    assert_eq!((table.as_str(), expected_rows), ("points", 1 << 30));
    assert_eq!((needed_bytes, limit), (Some(32 * GIB), MemoryLimit::Setting(GIB)));
}

/// Requests that are just small enough, or that need no memory.
fn just_enough() -> Vec<(&'static str, Options)> {
    let define = |table: Definition| Options::new().define(table);
    let no_width: Vec<String> = (0..50_000).map(|number| format!("c{number}")).collect();
    let key = no_width.iter().map(String::as_str).chain(["id"]).map(str::to_owned);
    vec![
        ("rows that no index is made for", define(narrow().expect_rows(usize::MAX))),
        (
            "rows of a key that only an ordered index has",
            define({
                Definition::new("six").column::<[u8; 48]>("id").key(["id"]).point().expect_rows(usize::MAX)
            }),
        ),
        ("few rows in little memory", define(points(9)).memory_bytes(1 << 20)),
        ("the most sessions", define(narrow()).sessions(4_096)),
        ("callers, patience, attempts and bytes without end", {
            let endless = define(narrow()).waiting(usize::MAX).patience_ms(u64::MAX).attempts(u32::MAX);
            endless.memory_bytes(usize::MAX).checkpoint_bytes(u64::MAX)
        }),
        ("the widest row", define(columns(16, u16::MAX))),
        ("many columns", define(columns(100_000, 1))),
        ("columns without width, all of the key", define(columns(50_000, 0).key(key))),
        ("a key without width", define(Definition::new("one").column::<Text<0>>("id").key(["id"]))),
    ]
}

#[test]
fn what_is_just_enough_is_served() {
    for (name, options) in just_enough() {
        let db = Database::in_memory(options).unwrap_or_else(|error| panic!("{name}: {error}"));
        let ended = db.transact(|_| Err::<(), _>(Error::rollback("only tried")));
        assert!(matches!(ended, Err(Error::RolledBack(_))), "{name}: {ended:?}");
    }
    let wide = Options::new().define(columns(16, u16::MAX));
    let db = Database::in_memory(wide).unwrap();
    let table = db.table_named("narrow").unwrap();
    let row: Vec<Value> = core::iter::once(Value::from(7_u64))
        .chain((0..16).map(|number| Value::from(vec![number; usize::from(u16::MAX)])))
        .collect();
    assert!(db.transact(|txn| txn.insert_values(&table, &row)).unwrap());
    assert_eq!(db.snapshot(|txn| txn.get_values(&table, &row[..1])).unwrap(), Some(row));
}

#[test]
fn as_many_tables_as_there_can_be_are_made_and_each_is_found_by_its_name() {
    let db = Database::in_memory(many(65_536).sessions(1)).unwrap();
    for number in (0..65_536).rev() {
        let name = format!("t{number}");
        assert_eq!(db.table_named(&name).unwrap().definition().name(), name);
    }
    assert!(db.table_named("t65536").is_err() && db.table_named("").is_err());
    let (first, last) = (db.table_named("t0").unwrap(), db.table_named("t65535").unwrap());
    db.transact(|txn| {
        assert!(txn.insert_values(&last, &[7_u64.into()])? && txn.insert_values(&first, &[8_u64.into()])?);
        assert!(txn.get_values(&last, &[8_u64.into()])?.is_none());
        assert!(txn.get_values(&last, &[7_u64.into()])?.is_some());
        Ok(())
    })
    .unwrap();
}

#[test]
fn two_tables_of_one_name_are_found_among_many() {
    let twice = many(60_000).define(Definition::new("t17").column::<u64>("id").key(["id"]));
    let says = Database::in_memory(twice).map(drop).expect_err("it is refused").to_string();
    assert!(says.contains("table `t17`: there are two tables of this name"), "{says}");
}

/// The child process, whose memory is limited by the test below.
#[test]
fn a_child_asks_for_too_much() {
    let Ok(limit) = env::var(CHILD) else { return };
    let limit_bytes = limit.parse::<u64>().expect("a number") * 1_024;
    let rows = |rows: usize| Options::new().define(points(rows));
    for expected in [1_000_000_000, 300_000_000, 1_000_000_000_000_000, usize::MAX] {
        let error = Database::in_memory(rows(expected)).map(drop).expect_err("it is refused");
        let OpenError::Memory { limit, .. } = &error else { panic!("{error}") };
        let MemoryLimit::Process(left) = limit else { panic!("{error}") };
        assert!(*left < limit_bytes && error.to_string().contains("expect fewer"), "{error}");
    }
    let db = Database::in_memory(rows(1_000_000)).expect("it is little");
    let table = db.table_named("points").expect("it was declared");
    let row = [1_u64.into(), 2_u64.into()];
    assert!(db.transact(|txn| txn.insert_values(&table, &row)).expect("there is memory"));
}

#[test]
fn a_process_with_little_memory_hears_of_it_and_goes_on() {
    for limit_kb in [8 << 20, 3 << 20] {
        let mut child = Command::new("sh");
        child.args(["-c", &format!("ulimit -v {limit_kb} && exec \"$0\" \"$@\"")]);
        child.arg(env::current_exe().expect("a test is a file"));
        child.args(["--exact", "a_child_asks_for_too_much", "--test-threads=1", "--nocapture"]);
        let ended = child.env(CHILD, limit_kb.to_string()).output().expect("the system works");
        let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        assert!(ended.status.success(), "{}: {}{}", ended.status, said[0], said[1]);
        assert!(said[0].contains("1 passed"), "{}", said[0]);
    }
}
