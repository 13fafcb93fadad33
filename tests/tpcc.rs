//! Claims about TPC-C under every scheme, on real threads: what is left to the implementation passes the
//! same checks whichever way it is chosen, and readers see what belongs together.

use engine::Admits;
use engine::driver::{Job, Limit, Retry};
use engine::setting::Values;
use runs::{Measured, Monitor, Spec, Verdict, WORKLOADS};
use schemes::catalogue;

/// Two warehouses so small that transactions meet.
const SMALL: [(&str, &str); 3] =
    [("tpcc.warehouses", "2"), ("tpcc.items", "100"), ("tpcc.customers_per_district", "20")];

/// Runs a scheme by two workers with two clients each if it admits them, and so many requests of each client.
fn run(scheme: &str, given: &[(&str, &str)], requests: u64) -> Measured {
    let info = catalogue::INFO.iter().find(|info| info.name == scheme).expect("catalogued");
    let (workers, clients) = if info.workers == Admits::One { (1, 1) } else { (2, 4) };
    run_by(scheme, (workers, clients), given, |_| requests)
}

/// Runs a scheme by so many workers with so many clients, or with more if it needs more, each of which sends
/// as many requests as `requests` says for that many clients.
fn run_by(
    scheme: &str,
    (workers, clients): (usize, usize),
    given: &[(&str, &str)],
    requests: impl Fn(usize) -> u64,
) -> Measured {
    let position = catalogue::INFO.iter().position(|info| info.name == scheme).expect("catalogued");
    let tpcc = WORKLOADS.iter().find(|workload| workload.name == "tpcc").expect("there is a TPC-C");
    let given: Vec<_> =
        SMALL.iter().chain(given).map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let known = catalogue::SETTINGS[position].iter().chain(tpcc.settings);
    let values = Values::new(known, &given).expect("legal settings");
    let clients = runs::clients(scheme, &values, clients);
    let requests = requests(clients);
    let job = Job {
        workers,
        clients,
        retry: Retry::Same,
        limit: Limit::Requests(requests),
        seed: 1,
        pause_ns: 0,
        pin: false,
        sample_every: 0,
    };
    let spec = Spec { workload: tpcc.name, scheme, values: &values, job, reserve_bytes: 0, check: true };
    let measured = runs::run(&spec, &Monitor::new(workers)).expect("settings agree");
    assert_eq!(measured.verdict, Verdict::Passed, "{scheme}");
    let ended: u64 = measured.types.iter().map(|tally| tally.commits + tally.user_aborts).sum();
    assert_eq!(ended, clients as u64 * requests, "{scheme}: each request ends once");
    measured
}

#[test]
fn deliveries_by_district_pass_the_checks_and_count_once() {
    for info in catalogue::INFO {
        let given = [("tpcc.delivery", "per_district"), ("tpcc.mix", "45,20,4,20,4")];
        let measured = run(info.name, &given, 300);
        let queued = measured.memory.iter().find(|table| table.name == "new_order").expect("declared");
        // Enough Deliveries to empty the queues of all districts, and those of the first alone hold a tenth.
        assert!(queued.entries < 60, "{}: {} orders are left", info.name, queued.entries);
    }
}

#[test]
fn audits_find_nothing_under_any_scheme() {
    for info in catalogue::INFO {
        let measured = run(info.name, &[("tpcc.audit_pct", "25")], 400);
        let audits = measured.types.last().expect("TPC-C has types").commits;
        assert!(audits > 50, "{}: {audits} audits", info.name);
    }
}
