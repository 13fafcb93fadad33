//! Runs under random settings, over all schemes and workloads: short runs, on little data, each checked. Systems fail
//! outside of the settings that somebody reported. These settings are drawn from all legal ones, by a seed.
//!
//! Requirements for each run: no panic, an end in time, a check that passes, and at least one commit.
//!
//! `cargo run --release --package contend-tests --example any_setting [COUNT [SEED]]`
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to a terminal")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use engine::setting::{Range, Setting};
use lab::{Arrival, Catalogue, ClientCount, ClientMode, Monitor, Plan, Request, Retry, RunPhase, SettingOf};
use stdx::{Rng, panics};
use sync::atomic::{AtomicBool, Ordering};
use sync::{clock, waiter, workers};

const COUNT: u64 = 200;
/// The measured seconds of a run, and of a second run if nothing commits in the first: a batch may be long.
const SECONDS: f64 = 0.3;
const LONG_SECONDS: f64 = 4.0;
/// The seconds after which a run is considered endless: the machine may be busy.
const HANGS_AFTER_S: u64 = 90;
/// The maximum number of rows, and of their bytes, that a run may load.
const ROWS_MAX: u64 = 400_000;
const ROW_BYTES_MAX: u64 = 200 << 20;
/// The maximum pause of a transaction in microseconds: with longer pauses none would commit in time.
const PAUSE_US_MAX: u64 = 2_000;
/// The maximum duration of a round trip in microseconds: a transaction may have dozens of round trips.
const RTT_US_MAX: u64 = 1_000;
/// The maximum time between two bursts in milliseconds, without a request.
const LULL_MS_MAX: u64 = 100;
/// The maximum number of rows that a transaction of the Stock table reads: with millions, few would end in time.
const READS_MAX: u64 = 2_000;
/// Workloads that write rows which they have read before. In a dialogue, transactions that hold few rows for reading
/// would prevent each other from writing without end, in schemes in which nobody waits. TPC-C and TPC-E do the same if
/// the column groups of a row share a record.
const UPGRADING: [&str; 2] = ["stock", "micro"];
/// The maximum factor of the waits of terminals, which are up to half a minute in the standard.
const WAIT_SCALE_MAX: f64 = 0.01;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, standard: u64| args.get(at).map_or(Ok(standard), |text| text.parse::<u64>());
    let (Ok(count), Ok(seed)) = (number(0, COUNT), number(1, 1)) else {
        eprintln!("any_setting: give a number of runs, and perhaps a seed: `any_setting 200 7`");
        return ExitCode::from(2);
    };
    let catalogue = Catalogue::new(instances::all());
    let mut tried: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut made, mut refused, mut drawn) = (0, 0, 0);
    while made < count {
        let request = request(catalogue, &mut Rng::from_path(&[seed, drawn]));
        drawn += 1;
        let Ok(plan) = Plan::new(catalogue, &request) else {
            refused += 1;
            continue;
        };
        if plan.forecast.rows > ROWS_MAX || plan.forecast.row_bytes > ROW_BYTES_MAX {
            continue;
        }
        let command = told(&request);
        let longer = || Plan::new(catalogue, &Request { seconds: LONG_SECONDS, ..request.clone() });
        let commits = match run(&plan, &command) {
            Ok(0) => longer().map_err(|refusal| refusal.0).and_then(|plan| run(&plan, &command)),
            other => other,
        };
        let says = match commits {
            Ok(0) => format!("nothing committed in {LONG_SECONDS} seconds"),
            Err(says) => says,
            Ok(_) => String::new(),
        };
        if !says.is_empty() {
            eprintln!("any_setting: {says}\n  {command}");
            return ExitCode::FAILURE;
        }
        *tried.entry(plan.subjects[0].scheme.name).or_default() += 1;
        made += 1;
    }
    let tried: Vec<String> = tried.iter().map(|(scheme, count)| format!("{scheme} {count}")).collect();
    println!("{made} runs under settings of seed {seed}: all ended, committed and passed their checks");
    println!("{}; {refused} of {drawn} combinations are no legal ones", tried.join(", "));
    ExitCode::SUCCESS
}

/// Draws a request. Two of three settings keep their standard values, so that the others do not always form the same
/// extreme.
fn request(catalogue: Catalogue, rng: &mut Rng) -> Request {
    let pick = |rng: &mut Rng, count: usize| rng.below(count as u64) as usize;
    let mut schemes = catalogue.schemes();
    let workloads = catalogue.workloads();
    let scheme = schemes.nth(pick(rng, schemes.len())).expect("one of them").info.name;
    let workload = workloads[pick(rng, workloads.len())].name;
    let workers = 1 + rng.below(4);
    let clients = [Some(1), Some(1), Some(3), Some(16), None][pick(rng, 5)].map(ClientCount::PerWorker);
    let is_own = |of: SettingOf| match of {
        SettingOf::Run => true,
        SettingOf::Workload(name) => name == workload,
        SettingOf::Scheme(name) => name == scheme,
    };
    let mut set = Vec::new();
    for (_, setting) in catalogue.settings().filter(|(of, _)| is_own(*of)) {
        if let Some(value) = (rng.below(3) == 0).then(|| value(setting, rng)).flatten() {
            set.push(format!("{}={value}", setting.name));
        }
    }
    if set.iter().any(|pair| pair == "tpcc.terminals=on") {
        set.retain(|pair| !pair.starts_with("tpcc.wait_scale="));
        set.push(format!("tpcc.wait_scale={}", [0.0, 0.001, WAIT_SCALE_MAX][pick(rng, 3)]));
    }
    let arrivals = Arrival::ALL[[0, 0, 0, 1, 2, 3][pick(rng, 6)]];
    let mode = ClientMode::ALL[[0, 0, 1][pick(rng, 3)]];
    let shares_records = ["tpcc", "tpce"].contains(&workload)
        && set.iter().any(|pair| ["run.splitting=off", "run.splitting=constant"].contains(&pair.as_str()));
    let mode = if shares_records || UPGRADING.contains(&workload) { ClientMode::Procedure } else { mode };
    let rtt_us = [None, None, Some(0), Some(3), Some(50), Some(RTT_US_MAX)][pick(rng, 6)];
    if mode == ClientMode::Interactive && rtt_us > Some(3) {
        // Each of the many thousand rows that an analytic transaction reads would have a round trip.
        set.retain(|pair| !pair.starts_with("tpcc.analytic_pct="));
    }
    Request {
        mode,
        rtt_us,
        batch: [1, 1, 1, 7][pick(rng, 4)],
        arrivals,
        rate: (arrivals != Arrival::Closed).then(|| [200.0, 5_000.0, 1e6][pick(rng, 3)]),
        cooldown: [0.0, 0.0, 0.1][pick(rng, 3)],
        schemes: Some(scheme.to_owned()),
        workers: Some(workers),
        clients,
        seconds: SECONDS,
        warmup: 0.0,
        seed: rng.below(1_000),
        retry: Retry::ALL[pick(rng, Retry::ALL.len())],
        set,
        ..Request::new(workload)
    }
}

/// Returns a legal value of a setting, or `None` if its texts have a syntax of their own.
fn value(setting: &Setting, rng: &mut Rng) -> Option<String> {
    match setting.range {
        Range::Int(min, max) => {
            let max = match setting.name {
                "run.pause_us"
                | "run.abort_us"
                | "run.backoff_us"
                | "run.log_epoch_us"
                | "dl_detect.delay_us"
                | "dl_detect.period_us"
                | "hekaton_locking.period_us" => PAUSE_US_MAX,
                "run.lull_ms" => LULL_MS_MAX,
                "stock.reads" => READS_MAX,
                _ => max,
            };
            // Small and large values are equally likely. Ends of ranges are drawn often, because defects are likely
            // there.
            let span = ((max - min) as f64).max(1.0).ln() * rng.below(1_001) as f64 / 1_000.0;
            let within = min + ((span.exp() - 1.0).round() as u64).min(max - min);
            Some([within, within, within, min][rng.below(4) as usize].to_string())
        }
        Range::Real(min, max) => Some((min + (max - min) * rng.below(101) as f64 / 100.0).to_string()),
        Range::Switch => Some((rng.below(2) == 0).to_string()),
        Range::Choice(words) => Some(words[rng.below(words.len() as u64) as usize].to_owned()),
        Range::Text(..) => None,
    }
}

/// Formats the run as a command.
fn told(request: &Request) -> String {
    let Request { workload, schemes, workers, clients, seconds, cooldown, seed, set, retry, .. } = request;
    let scheme = schemes.as_deref().unwrap_or_default();
    let workers = workers.unwrap_or_default();
    let clients = clients.map(|clients| format!("--clients {clients} ")).unwrap_or_default();
    let Request { mode, rtt_us, batch, arrivals, rate, .. } = request;
    let rtt_us = rtt_us.map(|rtt_us| format!("--rtt-us {rtt_us} ")).unwrap_or_default();
    let rate = rate.map(|rate| format!(" --rate {rate}")).unwrap_or_default();
    let set: Vec<String> = set.iter().map(|pair| format!(" --set {pair}")).collect();
    format!(
        "contend run {workload} --scheme {scheme} --workers {workers} {clients}--seconds {seconds} --warmup 0 \
         --cooldown {cooldown} --seed {seed} --retry {} --mode {} {rtt_us}--batch {batch} --arrivals {}{rate}{}",
        retry.name(),
        mode.name(),
        arrivals.name(),
        set.concat()
    )
}

/// Makes the run. Returns the number of its commits, or the defect that it shows.
fn run(plan: &Plan, command: &str) -> Result<u64, String> {
    let monitor = Monitor::new(plan.job.workers);
    let is_over = AtomicBool::new(false);
    let mut ended = workers::run(2, false, |index| {
        if index == 1 {
            watch(command, &monitor, &is_over);
            return None;
        }
        let measured = catch_unwind(AssertUnwindSafe(|| plan.measure(0, &monitor)));
        is_over.store(true, Ordering::Relaxed); // Relaxed: the flag orders nothing else.
        Some(measured)
    });
    let measured = ended.swap_remove(0).expect("the first of the two works");
    let record = measured
        .map_err(|panic| panics::message(&*panic).unwrap_or_else(|| "a panic".to_owned()))?
        .map_err(|refusal| format!("refused only when it ran: {refusal}"))?
        .ok_or_else(|| "its loading took too long".to_owned())?;
    if record.is_failed() {
        return Err(format!("its check failed: {:?}", record.measured.verdict));
    }
    Ok(record.measured.types.iter().map(|tally| tally.commits).sum())
}

/// Ends the program if a run does not end in time.
fn watch(command: &str, monitor: &Monitor, is_over: &AtomicBool) {
    let until_ns = clock::now_ns() + HANGS_AFTER_S * 1_000_000_000;
    // Relaxed: as above.
    while !is_over.load(Ordering::Relaxed) {
        if clock::now_ns() > until_ns {
            let doing = match monitor.phase() {
                RunPhase::Load => "loading",
                RunPhase::Run => "running",
                RunPhase::Check => "checking",
            };
            let (commits, aborts) = monitor.control.progress();
            eprintln!(
                "any_setting: no end in sight while {doing}, after {commits} commits and {aborts} aborts"
            );
            eprintln!("  {command}");
            std::process::exit(1);
        }
        waiter::pause_ns(20_000_000);
    }
}
