//! The command `contend` under `ThreadSanitizer` and `AddressSanitizer`, on real threads. The command runs as a
//! plain binary: the test harness is built without sanitizers and would be reported. The nightly toolchain is
//! needed only for the flag.
//!
//! `ThreadSanitizer` detects two accesses, one of them plain, that no synchronization orders, even if this
//! processor would order them. It does not understand stand-alone fences; accesses to plain data are therefore
//! ordered by loads and stores. `AddressSanitizer` detects accesses outside of all allocations, and accesses to
//! the words of discarded versions (`sync::recycled`). Other recycled memory is never out of use: rows, heads of
//! versions and nodes of indexes may be read after they are reused.

use std::path::PathBuf;
use std::process::Command;

use crate::bench::report;
use crate::house::{Checked, House, Step, added_flags, output, run, run_all};
use crate::isolation;

/// A sanitizer, with the options to build and run with it.
struct Sanitizer {
    name: &'static str,
    flags: &'static str,
    /// Arguments of the build beside the package of the command.
    build: &'static [&'static str],
    /// The environment variable for the sanitizer's options, and the options.
    options: (&'static str, &'static str),
}

/// Fibers need no annotation: the fibers of a crew never leave their thread, and count as the thread's code.
const THREAD: Sanitizer = Sanitizer {
    name: "thread",
    // The standard library is built without the sanitizer, which the second flag permits.
    flags: "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer",
    build: &[],
    options: ("TSAN_OPTIONS", "halt_on_error=0"),
};

const ADDRESS: Sanitizer = Sanitizer {
    name: "address",
    flags: "-Zsanitizer=address --cfg contend_asan",
    // The feature reports each change of stacks to the sanitizer.
    build: &["--package", "contend-sync", "--features", "corosensei/sanitizer"],
    options: ("ASAN_OPTIONS", "detect_leaks=1"),
};

/// Every kind of access, abort and structural change of TPC-C, on data so small that transactions conflict.
const TPCC: &str =
    "run tpcc --set tpcc.warehouses=1 --set tpcc.items=200 --set tpcc.customers_per_district=30";
const YCSB: &str = "run ycsb --set ycsb.records=1000 --set ycsb.theta=0.9 --set ycsb.value_bytes=64";

/// The arguments of `contend`, in two parts. Each run is measured for the time in `TIMES` and followed by its
/// check.
const RUNS: &[(&str, &str)] = &[
    (TPCC, "--scheme all --workers 3 --set tpcc.audit_pct=5"),
    (TPCC, "--scheme uncontrolled --workers 1"),
    // A worker switches fibers while its transactions hold locks and other resources.
    (TPCC, "--scheme all --workers 2 --clients 16 --set run.pause_us=50"),
    // Versions are kept and discarded all the time, while read-only transactions read them.
    (
        TPCC,
        "--scheme silo --workers 4 --set silo.snapshots=on --set silo.epoch_ms=1 --set silo.snapshot_epochs=2 \
         --set tpcc.mix=25,25,20,10,20",
    ),
    (TPCC, "--scheme aria --workers 3 --set aria.fallback=off"),
    (YCSB, "--scheme all --workers 4 --set ycsb.ops_per_txn=8"),
    // Scans, and inserts into the scanned ranges.
    (YCSB, "--scheme all --workers 3 --set ycsb.workload=e --set ycsb.ops_per_txn=4 --set ycsb.scan_max=10"),
];
const TIMES: &str = "--warmup 0 --seconds 2 --format json";
/// The native half of the isolation checks: rows are inserted and deleted while others read them.
const CHECK: &str = "check --schedules 0 --transactions 40000 --format json";

/// Runs everything under both sanitizers, `ThreadSanitizer` first.
pub(crate) fn sanitize(house: &House) -> Checked {
    run_all(
        house,
        &[
            Step { name: "thread sanitizer", run: |house| sanitized(house, &THREAD) },
            Step { name: "address sanitizer", run: |house| sanitized(house, &ADDRESS) },
        ],
    )
}

/// Runs everything under one sanitizer. A report or a failed check is a failure, but the remaining runs are
/// executed.
fn sanitized(house: &House, sanitizer: &Sanitizer) -> Checked {
    let contend = build(house, sanitizer)?;
    let mut failed = Vec::new();
    let runs =
        RUNS.iter().map(|(data, rest)| (format!("{data} {rest} {TIMES}"), report as fn(&str) -> Checked));
    for (line, judge) in runs.chain([(CHECK.to_owned(), isolation::report as fn(&str) -> Checked)]) {
        println!("contend {line}");
        let mut command = Command::new(&contend);
        command.args(line.split_whitespace());
        let (variable, options) = sanitizer.options;
        command.env(variable, added_flags(variable, options));
        if let Err(says) = output(&mut command).and_then(|output| judge(&output)) {
            println!("{says}");
            failed.push(line);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("see the reports above of: {}", failed.join("; "))) }
}

/// Builds `contend` with a sanitizer, in a separate folder, and returns the path of the binary.
fn build(house: &House, sanitizer: &Sanitizer) -> Result<PathBuf, String> {
    let (members, target) = house.members()?;
    let member = members.iter().find(|member| member.binaries.iter().any(|name| name == "contend"));
    let member = member.ok_or("no package has the binary `contend`: it belongs to crates/cli")?;
    let target = target.join(format!("sanitize-{}", sanitizer.name));
    let nightly = house.nightly()?;
    // With an explicit target, build scripts and procedural macros are built without the sanitizer.
    let mut cargo =
        nightly.cargo(&["build", "--release", "--package", &member.name, "--target", &nightly.host]);
    cargo.args(sanitizer.build).env("CARGO_TARGET_DIR", &target);
    run(cargo.env("RUSTFLAGS", added_flags("RUSTFLAGS", sanitizer.flags)))?;
    let name = format!("contend{}", std::env::consts::EXE_SUFFIX);
    Ok(target.join(&nightly.host).join("release").join(name))
}
