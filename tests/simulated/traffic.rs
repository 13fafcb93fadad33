//! Claims about arrivals of requests and costs of their messages, under every scheme whose driver can hold a
//! dialogue, in virtual time: a step takes 50 nanoseconds there, so that durations of milliseconds can be counted.

use engine_sim::driver::{
    self, Arrivals, ClientMode, Control, Driver, Job, Limit, OpenLoop, Process, RunOutcome, Traffic,
};
use engine_sim::setting::{Settings, Values};
use engine_sim::{ClientId, Database, Drive, Env, Schema, Scheme, Share, Workload};
use schemes_sim::batched::aria::Aria;
use schemes_sim::catalogue::{self, Visit};
use schemes_sim::locking::no_wait::NoWait;
use schemes_sim::optimistic::silo::Silo;
use schemes_sim::partitioned::hstore::HStore;
use sim::Explorer;
use stdx::Rng;
use workloads_sim::tpcc::{Input, Tpcc};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Settings of a warehouse that loads in a moment, and in which nothing rolls back.
const SMALL: [(&str, &str); 3] =
    [("tpcc.items", "100"), ("tpcc.customers_per_district", "10"), ("tpcc.rollback_pct", "0")];
/// A mix of New-Orders alone.
const ORDERS: (&str, &str) = ("tpcc.mix", "1,0,0,0,0");

/// A closed loop of `clients` on one worker.
fn job(clients: usize, limit: Limit, traffic: Traffic) -> Job {
    Job { latencies: true, traffic, ..Job::new(1, clients, limit, 1) }
}

fn timed(warmup_s: u64, measured_s: u64) -> Limit {
    Limit::Time { warmup_ns: warmup_s * SECOND, measured_ns: measured_s * SECOND, cooldown_ns: SECOND }
}

/// The outcome of a run of TPC-C.
type Counted = RunOutcome<<Tpcc as Workload>::Ledger>;

/// Runs TPC-C and checks it.
fn run<S: Scheme>(given: &[(&str, &str)], job: &Job) -> Counted {
    let given: Vec<_> =
        SMALL.iter().chain(given).map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let values = Values::new(S::Settings::ALL.iter().chain(Tpcc::SETTINGS), &given).expect("legal settings");
    Explorer::new(1)
        .steps_max(100_000_000)
        .run(|| {
            let mut schema = Schema::new();
            let drive = Drive { workers: 1, clients: job.clients as u32, seed: job.seed };
            let tpcc = Tpcc::declare(&values, drive, &mut schema).expect("legal settings");
            let env = Env { slots: job.clients, workers: 1 };
            let db = Database::<S>::new(&schema, &values, env).expect("legal settings");
            db.load(&tpcc, 1);
            let outcome = driver::run(&db, &tpcc, job, &Control::new(1));
            tpcc.check(&db.quiesced(), Share::WHOLE, &outcome.ledgers).expect("consistent");
            outcome
        })
        .0
}

/// Returns the number of order lines of the first requests of client 0.
fn lines(requests: u64) -> u64 {
    let given: Vec<_> =
        SMALL.iter().chain([&ORDERS]).map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let values = Values::new(Tpcc::SETTINGS, &given).expect("legal settings");
    let drive = Drive { workers: 1, clients: 1, seed: 1 };
    let tpcc = Tpcc::declare(&values, drive, &mut Schema::new()).expect("legal settings");
    let lines = |sequence| match tpcc.generate(ClientId(0), sequence, &mut Rng::from_path(&[1, 0, sequence]))
    {
        Input::NewOrder(order) => order.lines().len() as u64,
        other => panic!("{other:?} is no New-Order"),
    };
    (0..requests).map(lines).sum()
}

/// Returns the number of round trips of all requests of a run together.
fn round_trips(outcome: &Counted, rtt_ns: u64) -> u64 {
    let sum_ns = |tally: &driver::TypeTally| tally.latency_ns.mean() * tally.latency_ns.count() as f64;
    (outcome.types.iter().map(sum_ns).sum::<f64>() / rtt_ns as f64) as u64
}

/// Visits a scheme and counts the round trips of a single client, in both modes.
struct CountRoundTrips;

impl Visit for CountRoundTrips {
    type Out = ();

    fn visit<S: Scheme>(self) {
        const REQUESTS: u64 = 10;
        let traffic = |mode| Traffic { mode, rtt_ns: 100 * MS, ..Traffic::default() };
        let count = |mode| {
            let job = job(1, Limit::Requests(REQUESTS), traffic(mode));
            let outcome = run::<S>(&[ORDERS], &job);
            assert_eq!(outcome.types[0].commits, REQUESTS, "{}", S::INFO.name);
            round_trips(&outcome, 100 * MS)
        };
        let dialogue = job(1, Limit::Requests(1), traffic(ClientMode::Interactive));
        if S::Driver::refuses(&dialogue).is_some() {
            return;
        }
        assert_eq!(count(ClientMode::Procedure), REQUESTS, "{}: one a request", S::INFO.name);
        // Warehouse, district, customer, the order's number, the order and its place in the queue; for each line
        // the item, the stock, its information, and the line; and the commit.
        assert_eq!(count(ClientMode::Interactive), 7 * REQUESTS + 4 * lines(REQUESTS), "{}", S::INFO.name);
    }
}

#[test]
fn each_statement_and_the_commit_of_an_interactive_client_pay_a_round_trip() {
    for info in catalogue::infos() {
        catalogue::with(info.name, CountRoundTrips).expect("catalogued");
    }
}

#[test]
fn a_transaction_holds_what_it_holds_during_its_round_trips() {
    // Four clients use the same partition. A dialogue of one client keeps the others from the partition; a
    // procedure does not.
    let rtt_ns = MS / 10;
    let round_trips = |mode| {
        let traffic = Traffic { mode, rtt_ns, ..Traffic::default() };
        let outcome = run::<HStore>(&[ORDERS], &job(4, Limit::Requests(5), traffic));
        assert_eq!(outcome.types[0].commits, 20);
        round_trips(&outcome, rtt_ns) / 20
    };
    let (procedure, dialogue) = (round_trips(ClientMode::Procedure), round_trips(ClientMode::Interactive));
    assert!(procedure <= 2, "{procedure}");
    // The client's own round trips, about 46, and those of up to three others.
    assert!(dialogue > 2 * 46, "{dialogue}");
}

/// Runs four clients of one warehouse, under a scheme that aborts. Returns the number of aborts and the duration.
fn aborts_and_ns<S: Scheme>(abort_ns: u64) -> (u64, u64) {
    let traffic = Traffic { rtt_ns: MS / 10, ..Traffic::default() };
    let outcome =
        run::<S>(&[ORDERS], &Job { abort_ns, pause_ns: MS, ..job(4, Limit::Requests(20), traffic) });
    assert_eq!(outcome.types[0].commits, 80, "{}", S::INFO.name);
    (outcome.types[0].aborts.iter().sum(), outcome.measured_ns)
}

#[test]
fn an_abort_costs_its_worker_what_was_asked_for() {
    fn judge<S: Scheme>() {
        let (aborts, ns) = aborts_and_ns::<S>(20 * MS);
        let (_, free_ns) = aborts_and_ns::<S>(0);
        assert!(aborts > 10, "{}: {aborts} aborts", S::INFO.name);
        assert!(
            ns >= aborts * 20 * MS && free_ns < 10 * 20 * MS * aborts / 11,
            "{}: {aborts} aborts take {ns} ns, and {free_ns} if they cost nothing",
            S::INFO.name
        );
    }
    judge::<NoWait>();
    judge::<Silo>();
    judge::<Aria>();
}

#[test]
fn requests_of_one_message_share_a_round_trip() {
    let traffic = Traffic { rtt_ns: 100 * MS, batch: 5, ..Traffic::default() };
    let outcome = run::<Silo>(&[ORDERS], &job(1, Limit::Requests(20), traffic));
    // Each of the five requests counts the round trip in its latency, but only four round trips were made.
    assert_eq!(round_trips(&outcome, 100 * MS), 20);
    let service_ns = &outcome.types[0].service_ns;
    assert_eq!(
        (service_ns.count(), service_ns.mean() as u64 / (20 * MS)),
        (20, 1),
        "four of twenty sent a message"
    );
}

#[test]
fn an_open_loop_tells_the_wait_from_the_service_and_counts_what_it_skips() {
    // A request takes 50 milliseconds, and a request arrives every 10 milliseconds.
    let open = OpenLoop { process: Process::Constant, rate_txn_s: 100.0, queue_max: 8 };
    let traffic = Traffic { rtt_ns: 50 * MS, arrivals: Arrivals::Open(open), ..Traffic::default() };
    let enough = run::<Silo>(&[ORDERS], &job(10, timed(1, 10), traffic));
    assert!(
        enough.arrived.offered.abs_diff(1_000) <= 1 && enough.arrived.skipped == 0,
        "{:?}",
        enough.arrived
    );
    assert!(enough.types[0].commits.abs_diff(1_000) <= 5);
    assert!(enough.types[0].latency_ns.max() < 51 * MS, "nobody waits for a client");

    let few = run::<Silo>(&[ORDERS], &job(1, timed(1, 10), traffic));
    let (offered, skipped) = (few.arrived.offered, few.arrived.skipped);
    assert!(few.types[0].commits.abs_diff(200) <= 2, "one in 50 milliseconds");
    assert!(offered.abs_diff(1_000) <= 10 && skipped.abs_diff(800) <= 20, "{:?}", few.arrived);
    let tally = &few.types[0];
    assert!(tally.service_ns.max() < 51 * MS, "serving takes as long as ever");
    // Eight requests wait before it, for 50 milliseconds each.
    assert!(
        (400 * MS..460 * MS).contains(&tally.latency_ns.quantile(0.5)),
        "{}",
        tally.latency_ns.quantile(0.5)
    );
}

#[test]
fn a_warehouse_of_terminals_makes_what_the_standard_says_and_a_hundred_times_that_at_a_hundredth_of_its_waits()
 {
    let traffic = Traffic { is_paced: true, ..Traffic::default() };
    for (scale, seconds) in [("1", 2_000), ("0.01", 20)] {
        let given = [("tpcc.terminals", "on"), ("tpcc.wait_scale", scale)];
        let outcome = run::<Silo>(&given, &job(10, timed(seconds / 20, seconds), traffic));
        let commits: u64 = outcome.types.iter().map(|tally| tally.commits).sum();
        // Ten terminals with a cycle of 20.99 seconds send 953 requests in 2,000 seconds.
        assert!(commits.abs_diff(953) < 60, "{commits} at {scale}");
    }
}

#[test]
fn what_is_done_after_the_measured_time_does_not_count() {
    let traffic = Traffic { rtt_ns: 10 * MS, ..Traffic::default() };
    let limit =
        |cooldown_s| Limit::Time { warmup_ns: 0, measured_ns: SECOND, cooldown_ns: cooldown_s * SECOND };
    let commits = |cooldown_s| {
        let outcome = run::<Silo>(&[ORDERS], &job(1, limit(cooldown_s), traffic));
        let done: u64 = outcome.ledgers.len() as u64;
        assert_eq!(done, 1);
        outcome.types[0].commits
    };
    assert!(commits(0).abs_diff(100) <= 2 && commits(5).abs_diff(100) <= 2);
}
