//! Tests of the command: its refusals with their messages and exit codes, and its output.

use std::process::{Command, Output};

fn peers(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_peers"))
        .args(arguments.split_whitespace())
        .output()
        .expect("the command starts")
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    for (arguments, word) in [
        ("run", "--workload"),
        ("run --workload tpce", "tpcc"),
        ("run --workload ycsb --peers leveldb", "lmdb"),
        ("run --workload ycsb --peers lmdb,lmdb", "once"),
        ("run --workload ycsb --peers postgres", "--postgres"),
        ("run --workload ycsb --durability always", "group"),
        ("run --workload ycsb --peers sqlite-memory --durability group", "peers list"),
        ("run --workload ycsb --warehouses 2", "leave it out"),
        ("run --workload tpcc --records 2", "leave it out"),
        ("run --workload tpcc --warehouses 0", "tpcc.warehouses"),
        ("run --workload ycsb --row-bytes 64", "100 or 1000"),
        ("run --workload ycsb --records 5", "--ops"),
        ("run --workload ycsb --theta 1.5", "uniform"),
        ("run --workload ycsb --workers 0", "1 to 1024"),
        ("run --workload ycsb --rounds 0", "1 or more"),
        ("run --workload ycsb --seconds 0", "more than 0"),
    ] {
        let output = peers(arguments);
        let says = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {says}");
        assert!(says.contains(word), "{arguments}: {says}");
    }
}

#[test]
fn stores_are_listed_with_what_they_give() {
    let output = peers("list");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for name in
        ["contend", "lmdb", "redb", "fjall", "sqlite-memory", "sqlite-wal", "rocksdb-optimistic", "postgres"]
    {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn a_run_compares_in_text_and_in_json() {
    let arguments = "run --workload ycsb --peers contend,redb,lmdb --seconds 0.05 --warmup 0.01 --rounds 2 \
                     --records 100 --row-bytes 100";
    let output = peers(arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(" times ("), "{text}");
    let output = peers(&format!("{arguments} --format json"));
    let lines: Vec<serde_json::Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is an object"))
        .collect();
    let of_kind = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((of_kind("turn"), of_kind("peer")), (6, 3));
    assert!(lines.iter().any(|line| line["peer"] == "lmdb" && line["contend_times"][1].is_f64()));
}

#[test]
fn a_store_that_cannot_be_reached_is_told() {
    let output = peers("run --workload ycsb --peers postgres --postgres port=1 --records 20");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("PostgreSQL at"));
}
