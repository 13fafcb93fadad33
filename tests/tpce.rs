//! Claims about TPC-E under every scheme, on real threads: the checks pass whatever the mix, orders are answered, long
//! analytic reads commit beside short transactions, and a defect is found.

use engine::Admits;
use engine::driver::{Job, Limit};
use engine::setting::Values;
use runs::{CheckVerdict, Layout, Measured, Monitor, Spec, Splitting, WORKLOADS};
use schemes::catalogue;
use workloads::tpce::Tpce;

/// The smallest database, with so few initial trades that it loads in a moment. An order follows the one before after
/// minutes of trading time, so that prices reach their limits within few orders.
const SMALL: [(&str, &str); 2] = [("tpce.customers", "200"), ("tpce.scale_factor", "20000")];

type Given = &'static [(&'static str, &'static str)];

/// All types of transaction, those most that write.
const BUSY: Given = &[(
    "tpce.mix",
    "broker_volume:5,customer_position:5,market_feed:1,market_watch:5,security_detail:5,trade_lookup:5,trade_order:40,\
     trade_result:40,trade_status:5,trade_update:10,data_maintenance:10,analytic:5",
)];

/// Runs a scheme with two workers and two clients for each, if it admits them, and so many requests of all clients
/// together. Returns the number of clients, too.
fn run(scheme: &str, given: Given, layout: Layout, requests: u64) -> (Measured, u64) {
    let entry = catalogue::entry(scheme).expect("catalogued");
    let tpce = WORKLOADS.iter().find(|workload| workload.name == "tpce").expect("there is a TPC-E");
    let given: Vec<_> =
        SMALL.iter().chain(given).map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let values = Values::new(entry.settings.iter().chain(tpce.settings), &given).expect("legal settings");
    let instance = instances::run(scheme).expect("catalogued");
    let (workers, clients) = if entry.info.workers == Admits::One { (1, 1) } else { (2, 4) };
    let clients = instance.facts(&values).clients(clients, workers);
    let job = Job::new(workers, clients, Limit::Requests(requests.div_ceil(clients as u64)), 1);
    let spec = Spec {
        workload: tpce.name,
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
    assert_eq!(measured.verdict, CheckVerdict::Passed, "{scheme}, {given:?}");
    let ended: u64 = measured.types.iter().map(|tally| tally.commits + tally.user_aborts).sum();
    assert_eq!(ended, clients as u64 * requests.div_ceil(clients as u64), "{scheme}: each request ends once");
    (measured, clients as u64)
}

/// The commits of a type of transaction.
fn commits(measured: &Measured, name: &str) -> u64 {
    let kind = <Tpce as engine::Workload>::TYPES.iter().position(|kind| kind.name == name).expect("a type");
    measured.types[kind].commits
}

#[test]
fn every_type_commits_under_every_scheme_and_orders_are_answered() {
    for info in catalogue::infos() {
        let (measured, clients) = run(info.name, BUSY, Layout::default(), 3_000);
        for kind in <Tpce as engine::Workload>::TYPES {
            // These are no part of the mix.
            if !matches!(kind.name, "trade_cleanup" | "analytic_query") {
                assert!(commits(&measured, kind.name) > 0, "{}: {}", info.name, kind.name);
            }
        }
        let [orders, results, feeds] =
            ["trade_order", "trade_result", "market_feed"].map(|name| commits(&measured, name));
        // Some wait for their price, or for their answer, when the run ends.
        assert!(results <= orders && results > orders / 2, "{}: {results} of {orders}", info.name);
        // Ten results make a feed. Each client's desk begins with the entries of nine at most, and keeps those of fewer
        // than ten.
        assert!(
            10 * feeds <= results + 9 * clients && results < 10 * (feeds + clients),
            "{}: {feeds} feeds of {results} results",
            info.name
        );
    }
}

#[test]
fn feeds_by_entry_read_brokers_and_cleanups_pass_the_checks() {
    const GIVEN: Given = &[
        ("tpce.market_feed", "per_entry"),
        ("tpce.commutative", "off"),
        ("tpce.analytic_log", "off"),
        (
            "tpce.mix",
            "trade_order:40,trade_result:1,market_feed:1,trade_update:10,trade_cleanup:1,analytic:5,trade_status:10",
        ),
    ];
    for info in catalogue::infos() {
        let (measured, _) = run(info.name, GIVEN, Layout::default(), 1_000);
        assert!(commits(&measured, "trade_cleanup") > 0, "{}", info.name);
        assert!(commits(&measured, "analytic_query") > 0, "{}", info.name);
    }
}

#[test]
fn the_checks_pass_however_tables_are_laid_out() {
    let layouts = [
        Layout { is_ordered_only: true, ..Layout::default() },
        Layout { has_versions_apart: true, splitting: Splitting::Off, ..Layout::default() },
        Layout { splitting: Splitting::Constant, ..Layout::default() },
    ];
    for (info, layout) in catalogue::infos().flat_map(|info| layouts.map(|layout| (info, layout))) {
        run(info.name, BUSY, layout, 400);
    }
}
