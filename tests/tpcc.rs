//! Claims about TPC-C under every scheme, on real threads: each choice that the specification leaves to the
//! implementation passes the same checks, readers see consistent rows, and memory grows by the inserted rows.

use engine::Admits;
use engine::driver::{Job, Limit};
use engine::setting::Values;
use runs::{CheckVerdict, Layout, Measured, Monitor, Spec, Splitting, TableMemory, WORKLOADS};
use schemes::catalogue;

/// Two warehouses so small that transactions conflict.
const SMALL: [(&str, &str); 3] =
    [("tpcc.warehouses", "2"), ("tpcc.items", "100"), ("tpcc.customers_per_district", "20")];

/// Runs a scheme with two workers and two clients for each, if it admits them, and `requests` requests of each
/// client.
fn run(scheme: &str, given: &[(&str, &str)], requests: u64) -> Measured {
    let info = catalogue::infos().find(|info| info.name == scheme).expect("catalogued");
    let (workers, clients) = if info.workers == Admits::One { (1, 1) } else { (2, 4) };
    run_by(scheme, (workers, clients), given, |_| requests)
}

/// Runs a scheme with this number of workers and clients, or with more clients if it needs more. `requests` maps the
/// number of clients to the number of requests of each client.
fn run_by(
    scheme: &str,
    (workers, clients): (usize, usize),
    given: &[(&str, &str)],
    requests: impl Fn(usize) -> u64,
) -> Measured {
    run_over(Layout::default(), scheme, (workers, clients), given, requests)
}

/// Does the same as [`run_by`], with this layout of the tables.
fn run_over(
    layout: Layout,
    scheme: &str,
    (workers, clients): (usize, usize),
    given: &[(&str, &str)],
    requests: impl Fn(usize) -> u64,
) -> Measured {
    let entry = catalogue::entry(scheme).expect("catalogued");
    let tpcc = WORKLOADS.iter().find(|workload| workload.name == "tpcc").expect("there is a TPC-C");
    let given: Vec<_> =
        SMALL.iter().chain(given).map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let known = entry.settings.iter().chain(tpcc.settings);
    let values = Values::new(known, &given).expect("legal settings");
    let instance = instances::run(scheme).expect("catalogued");
    let clients = instance.facts(&values).clients(clients, workers);
    let requests = requests(clients);
    let job = Job::new(workers, clients, Limit::Requests(requests), 1);
    let spec = Spec {
        workload: tpcc.name,
        scheme: instance,
        values: &values,
        job,
        layout,
        reserve_bytes: 0,
        logging: None,
        check: true,
    };
    let measured =
        runs::run(&spec, &Monitor::new(workers)).expect("settings agree").expect("nobody interrupts it");
    assert_eq!(measured.verdict, CheckVerdict::Passed, "{scheme}");
    let ended: u64 = measured.types.iter().map(|tally| tally.commits + tally.user_aborts).sum();
    assert_eq!(ended, clients as u64 * requests, "{scheme}: each request ends once");
    measured
}

#[test]
fn deliveries_by_district_pass_the_checks_and_count_once() {
    for info in catalogue::infos() {
        let given = [("tpcc.delivery", "per_district"), ("tpcc.mix", "45,20,4,20,4")];
        let measured = run(info.name, &given, 300);
        let queued = measured.memory.iter().find(|table| table.name == "new_order").expect("declared");
        // The Deliveries suffice to empty the queues of all districts. The queues of the first districts alone hold
        // a tenth.
        assert!(queued.entries < 60, "{}: {} orders are left", info.name, queued.entries);
    }
}

#[test]
fn every_scheme_passes_the_checks_however_tables_are_laid_out() {
    let layouts = [
        Layout { is_ordered_only: true, ..Layout::default() },
        Layout { has_versions_apart: true, ..Layout::default() },
        Layout { splitting: Splitting::Off, ..Layout::default() },
        Layout { splitting: Splitting::Off, has_versions_apart: true, ..Layout::default() },
        Layout { splitting: Splitting::Constant, ..Layout::default() },
    ];
    for (info, layout) in catalogue::infos().flat_map(|info| layouts.map(|layout| (info, layout))) {
        let workers = if info.workers == Admits::One { 1 } else { 2 };
        run_over(layout, info.name, (workers, workers), &[("tpcc.audit_pct", "10")], |clients| {
            300 / clients as u64
        });
    }
}

#[test]
fn skipped_deliveries_pass_the_checks_under_every_scheme() {
    for info in catalogue::infos() {
        for delivery in ["skip_if_running", "stop_at_abort"] {
            let given = [("tpcc.delivery", delivery), ("tpcc.home", "uniform"), ("tpcc.mix", "30,10,4,50,6")];
            run(info.name, &given, 300);
        }
    }
}

#[test]
fn audits_find_nothing_under_any_scheme() {
    for info in catalogue::infos() {
        // Any warehouse is home to any client. With fixed homes, no worker would write rows that another reads.
        let given = [("tpcc.audit_pct", "25"), ("tpcc.home", "uniform")];
        let measured = run(info.name, &given, 500);
        let audits = commits(&measured, "audit");
        assert!(audits > 50, "{}: {audits} audits", info.name);
    }
}

/// The commits of a type of transaction.
fn commits(measured: &Measured, name: &str) -> u64 {
    let tpcc = WORKLOADS.iter().find(|workload| workload.name == "tpcc").expect("there is a TPC-C");
    let kind = tpcc.types.iter().position(|of| of.name == name).expect("a type of TPC-C");
    measured.types[kind].commits
}

#[test]
fn analytic_reads_commit_beside_the_mix_under_every_scheme() {
    for info in catalogue::infos() {
        for (given, kind) in [
            (
                [("tpcc.analytic_pct", "10"), ("tpcc.analytic", "stock"), ("tpcc.analytic_log", "on")],
                "analytic",
            ),
            (
                [("tpcc.analytic_pct", "10"), ("tpcc.analytic", "lines"), ("tpcc.analytic_log", "off")],
                "analytic_query",
            ),
        ] {
            let measured = run(info.name, &given, 300);
            assert!(commits(&measured, kind) > 0, "{}: {kind}", info.name);
        }
    }
}

/// The maximum number of bytes of an index entry: an entry of an ordered index that is less than half full.
const ENTRY_BYTES_MAX: usize = 48;
/// The maximum number of bytes of versions of a table that wait for their readers. Less than the bytes of all
/// versions that 20,000 requests create in the least written table.
const VERSION_BYTES_MAX: usize = 192 << 10;
/// The maximum number of rows that a session reserves or that wait for their readers.
const ROWS_WAITING_MAX: usize = 256;

/// Asserts that a table grew by no more than the rows that were added to the loaded rows.
fn assert_growth_is_explained(
    (scheme, is_in_batches): (&str, bool),
    rows: usize,
    added: usize,
    loaded: &TableMemory,
    end: &TableMemory,
) {
    let name = end.name;
    // The loader leaves memory for at most a few rows unused.
    let row_bytes = loaded.row_bytes.div_ceil(rows);
    let grown = end.row_bytes - loaded.row_bytes;
    let explained = (added + added / 20 + ROWS_WAITING_MAX) * row_bytes;
    assert!(grown <= explained, "{scheme}, {name}: {grown} bytes of rows for {added} rows of {row_bytes}");
    let mut indexes = vec![(loaded.index_bytes, end.index_bytes)];
    indexes.extend(loaded.secondary.iter().zip(&end.secondary).map(|(loaded, end)| (loaded.2, end.2)));
    for (loaded, end) in indexes {
        assert!(
            end - loaded <= added * ENTRY_BYTES_MAX,
            "{scheme}, {name}: {loaded} bytes of an index became {end}"
        );
    }
    // A batch keeps the versions that its rehearsals have found, and its slots get them back all at once. If all
    // versions are apart from their rows, each row has one.
    let waiting = if is_in_batches { 3 * VERSION_BYTES_MAX } else { VERSION_BYTES_MAX };
    let apart = loaded.version_bytes.div_ceil(rows) * (rows + added + added / 20 + ROWS_WAITING_MAX);
    let versions = end.version_bytes;
    assert!(versions <= waiting + apart, "{scheme}, {name}: {versions} bytes of versions");
}

#[test]
fn memory_grows_by_what_was_inserted_and_by_no_more() {
    for info in catalogue::infos() {
        let name = info.name;
        let measured = run_by(name, (1, 1), &[], |clients| 20_000 / clients as u64);
        let [new_orders, payments] = [0, 1].map(|kind| measured.types[kind].commits as usize);
        assert!(
            new_orders > 8_000 && payments > 8_000,
            "{name}: {new_orders} New-Orders, {payments} Payments"
        );
        for (loaded, end) in measured.memory_loaded.iter().zip(&measured.memory) {
            // The load is two warehouses of ten districts with twenty customers. Each customer has paid once.
            let rows = if loaded.name == "history" { 400 } else { loaded.entries };
            let added = if loaded.name == "history" { payments } else { end.entries - rows };
            // The log of analytic transactions, which nobody sends here, has no rows: it must stay as it was.
            let rows = rows.max(1);
            let scheme = (name, info.family.is_in_batches());
            assert_growth_is_explained(scheme, rows, added, loaded, end);
        }
        let orders = measured.memory.iter().find(|table| table.name == "order").expect("declared");
        assert_eq!(orders.entries, 400 + new_orders, "{name}");
    }
}
