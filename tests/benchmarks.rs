//! Claims about the smaller benchmarks under every scheme, on real threads: every committed write is accounted for,
//! each request ends once, and one transaction that is not accounted for is detected.

use engine::driver::{self, Control, Job, Limit, Retry};
use engine::setting::{Settings, Values};
use engine::{
    Admits, ClientId, Database, Drive, Env, Facts, Schema, Scheme, Share, Ticket, Violation, Workload,
};
use runs::{CheckVerdict, Layout, Measured, Monitor, Spec, Splitting, WORKLOADS};
use schemes::catalogue;
use schemes::multiversion::mvto::Mvto;
use schemes::optimistic::silo::Silo;
use schemes::partitioned::hstore::HStore;
use stdx::Rng;
use workloads::micro::Micro;
use workloads::smallbank::SmallBank;
use workloads::stock::StockTable;

/// The number of requests of all clients together: more where tests are optimised.
const REQUESTS: u64 = if cfg!(debug_assertions) { 2_500 } else { 6_000 };

type Given = &'static [(&'static str, &'static str)];

/// Settings with which transactions conflict.
const SMALLBANK: &[Given] = &[
    &[("smallbank.accounts", "50"), ("smallbank.refused_pct", "5")],
    &[("smallbank.accounts", "2"), ("smallbank.choice", "uniform"), ("smallbank.commutative", "on")],
    &[
        ("smallbank.accounts", "1000"),
        ("smallbank.mix", "original"),
        ("smallbank.choice", "hotspot"),
        ("smallbank.hotspot_accounts", "3"),
    ],
];

const STOCK: &[Given] = &[
    &[("stock.warehouses", "3"), ("stock.items", "100"), ("stock.reads", "60")],
    &[("stock.warehouses", "20"), ("stock.items", "10"), ("stock.reads", "80"), ("stock.write", "blind")],
    &[
        ("stock.warehouses", "2"),
        ("stock.items", "100"),
        ("stock.reads", "50"),
        ("stock.write_pct", "5"),
        ("stock.readset", "contiguous"),
        ("stock.writeset", "first"),
    ],
    // Transactions that read all rows see the total quantity.
    &[("stock.warehouses", "1"), ("stock.items", "40"), ("stock.reads", "40"), ("stock.write_pct", "3")],
];

/// A layout that differs from the standard in each respect.
const EVERY_OTHER: Layout =
    Layout { is_ordered_only: true, has_versions_apart: true, splitting: Splitting::Off };

const MICRO: &[Given] = &[
    &[("micro.objects", "100"), ("micro.theta", "0.9")],
    &[("micro.objects", "9"), ("micro.theta", "0")],
    &[("micro.objects", "100"), ("micro.write", "rmw")],
    &[("micro.objects", "40"), ("micro.reads", "1"), ("micro.writes", "16"), ("micro.common", "0")],
];

fn owned(given: Given) -> Vec<(String, String)> {
    given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn job(workers: usize, clients: usize, requests: u64, retry: Retry) -> Job {
    Job { retry, ..Job::new(workers, clients, Limit::Requests(requests), 1) }
}

/// Runs and checks a workload with three workers, or with one if the scheme admits no more, and two clients for each.
fn run(workload: &str, scheme: &str, given: Given, layout: Layout, retry: Retry) -> Measured {
    let entry = catalogue::entry(scheme).expect("catalogued");
    let info = WORKLOADS.iter().find(|info| info.name == workload).expect("catalogued");
    let known = entry.settings.iter().chain(info.settings);
    let values = Values::new(known, &owned(given)).expect("in range");
    let workers = if entry.info.workers == Admits::One { 1 } else { 3 };
    let instance = instances::run(scheme).expect("catalogued");
    let clients = instance.facts(&values).clients(if workers == 1 { 1 } else { 6 }, workers);
    let requests = REQUESTS / clients as u64;
    let job = job(workers, clients, requests, retry);
    let spec = Spec {
        workload,
        scheme: instance,
        values: &values,
        job,
        layout,
        reserve_bytes: 0,
        logging: None,
        check: true,
    };
    if retry == Retry::Drop && runs::admit(&spec).is_err() {
        // Batches cannot drop requests that they abort.
        return run(workload, scheme, given, layout, Retry::Same);
    }
    let measured =
        runs::run(&spec, &Monitor::new(workers)).expect("settings agree").expect("nobody interrupts it");
    assert_eq!(measured.verdict, CheckVerdict::Passed, "{workload} under {scheme}, {given:?}");
    if retry == Retry::Same {
        let ended: u64 = measured.types.iter().map(|tally| tally.commits + tally.user_aborts).sum();
        assert_eq!(ended, clients as u64 * requests, "{workload} under {scheme}: each request ends once");
    }
    measured
}

/// Runs and checks a workload under every scheme, with each of the settings.
fn run_all(workload: &str, cases: &[Given], layout: Layout, retry: Retry) {
    for info in catalogue::infos() {
        for given in cases {
            run(workload, info.name, given, layout, retry);
        }
    }
}

/// Runs a workload, and then one request that is not counted in the ledger. Returns the results of the check before
/// and after that request.
struct Unheard(Given);

type Checked = Result<(), Violation>;

impl Unheard {
    fn check<S: Scheme, W: Workload>(&self) -> (Checked, Checked) {
        let given = owned(self.0);
        let values = Values::new(S::Settings::ALL.iter().chain(W::SETTINGS), &given).expect("in range");
        let job = job(1, Facts::under::<S>(&values).clients(1, 1), 20, Retry::Same);
        let drive = Drive { workers: 1, clients: job.clients as u32, seed: job.seed };
        let mut schema = Schema::new();
        let workload = W::declare(&values, drive, &mut schema).expect("settings agree");
        let env = Env { slots: job.clients + 1, workers: 1 };
        let db = Database::<S>::new(&schema, &values, env).expect("settings agree");
        db.load(&workload, 1);
        let outcome = driver::run(&db, &workload, &job, &Control::new(1));
        let check = || workload.check(&db.quiesced(), Share::WHOLE, &outcome.ledgers);
        let before = check();
        let input = workload.generate(ClientId(0), 99, &mut Rng::from_path(&[1, 0, 99]));
        let mut scratch = W::Scratch::default();
        let ticket = Ticket { read_only: false, ..Ticket::new(1, workload.homes(&input)) };
        let ended = db.session().attempt(&ticket, |txn| workload.execute(&input, &mut scratch, txn));
        assert!(ended.is_ok(), "{} commits alone", S::INFO.name);
        (before, check())
    }
}

/// Asserts that the check passes until a request writes without being counted, under a scheme of each kind of data.
fn assert_unheard_is_found<W: Workload>(given: Given) {
    let unheard = Unheard(given);
    let all = [unheard.check::<Silo, W>(), unheard.check::<Mvto, W>(), unheard.check::<HStore, W>()];
    for (before, after) in all {
        assert_eq!(before, Ok(()), "{given:?}");
        assert!(after.is_err(), "a write that is not accounted for, {given:?}");
    }
}

#[test]
fn money_is_accounted_for_under_every_scheme() {
    run_all("smallbank", SMALLBANK, Layout::default(), Retry::Same);
}

#[test]
fn money_is_accounted_for_however_tables_are_laid_out_and_when_requests_are_dropped() {
    run_all("smallbank", &SMALLBANK[..1], EVERY_OTHER, Retry::Drop);
}

#[test]
fn programs_roll_back_by_their_own_wish_under_every_scheme() {
    for info in catalogue::infos() {
        let measured = run("smallbank", info.name, SMALLBANK[0], Layout::default(), Retry::Same);
        let rollbacks: u64 = measured.types.iter().map(|tally| tally.user_aborts).sum();
        // 5% of the requests are refused, and further ones are not covered.
        assert!(rollbacks > REQUESTS / 30, "{}: {rollbacks} of {REQUESTS}", info.name);
    }
}

#[test]
fn a_deposit_that_nobody_heard_of_is_found() {
    assert_unheard_is_found::<SmallBank>(&[("smallbank.accounts", "50"), ("smallbank.mix", "0,1,0,0,0,0")]);
}

#[test]
fn stock_is_accounted_for_under_every_scheme() {
    run_all("stock", STOCK, Layout::default(), Retry::Same);
    run_all("stock", &STOCK[..1], EVERY_OTHER, Retry::Drop);
}

#[test]
fn a_transfer_of_stock_that_nobody_heard_of_is_found() {
    STOCK[..2].iter().for_each(|given| assert_unheard_is_found::<StockTable>(given));
}

#[test]
fn versions_are_those_of_commits_under_every_scheme() {
    run_all("micro", MICRO, Layout::default(), Retry::Same);
    run_all("micro", &MICRO[..1], EVERY_OTHER, Retry::Drop);
}

#[test]
fn a_write_of_versions_that_nobody_heard_of_is_found() {
    for given in MICRO {
        assert_unheard_is_found::<Micro>(given);
    }
}
