//! The command `peers`: measures other stores beside Contend, in turns, and reports the results.
//!
//! Exit codes: 0 success, 1 a store failed or a check found a wrong result, 2 refused before anything was loaded.
#![forbid(unsafe_code)]

mod args;
mod report;

use std::env;
use std::fs;
use std::io::Write as _;
use std::process::{self, ExitCode};
use std::time::Duration;

use clap::Parser;
use peers::measure::{Measured, Plan, gives, measure};
use peers::peer::Durability;
use peers::peers::NAMES;
use peers::work::Workload;
use peers::{tpcc, ycsb};

use args::{Args, Command, Format, Run, WorkloadName};

/// Exit code: a store failed, or a check found a wrong result.
const FAILED: u8 = 1;
/// Exit code: the request was refused.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    let ended = match Args::parse().command {
        Command::List => Ok(list()),
        Command::Run(args) => run(&args),
    };
    let (code, says) = match ended {
        Ok(text) => {
            print(&text);
            return ExitCode::SUCCESS;
        }
        Err(Ended::Refused(says)) => (REFUSED, says),
        Err(Ended::Failed(says)) => (FAILED, says),
    };
    complain(&format!("peers: {says}\n"));
    ExitCode::from(code)
}

/// The reason why a run did not succeed.
enum Ended {
    Refused(String),
    Failed(String),
}

/// Prints to the standard output. Errors are ignored: a reader that has closed the output needs no more text.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn complain(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Lists the isolation and the durability that each store of this build gives for each requested durability.
fn list() -> String {
    let mut rows = vec![["peer", "durability", "what that is", "isolation"].map(str::to_owned)];
    for name in NAMES {
        for durability in Durability::ALL {
            let row = match gives(name, durability) {
                Err(_) if durability == Durability::None => ["", "not in this build", ""],
                Err(_) => continue,
                Ok(Err(why)) => [durability.name(), why, ""],
                Ok(Ok(given)) => [durability.name(), given.durability, given.isolation],
            };
            rows.push([name, row[0], row[1], row[2]].map(str::to_owned));
        }
    }
    report::table(&rows)
}

/// Creates the plan from the arguments.
fn plan(args: &Run) -> Result<Plan, String> {
    let refuse = |says: &str| Err(says.to_owned());
    if args.workers == 0 || args.workers > 1_024 {
        return refuse("`--workers`: take 1 to 1024");
    }
    if args.rounds == 0 {
        return refuse("`--rounds 0` measures nothing: take 1 or more");
    }
    let is_time = |seconds: f64| (0.0..1e6).contains(&seconds);
    if args.seconds == 0.0 || !is_time(args.seconds) || !is_time(args.warmup) {
        return refuse("take more than 0 for `--seconds`, and 0 or more for `--warmup`");
    }
    let ours = || env::temp_dir().join(format!("contend-peers-{}", process::id()));
    Ok(Plan {
        peers: peers_of(args)?,
        durability: args.durability,
        workers: args.workers,
        warmup: Duration::from_secs_f64(args.warmup),
        measured: Duration::from_secs_f64(args.seconds),
        rounds: args.rounds,
        seed: args.seed,
        dir: args.dir.clone().unwrap_or_else(ours),
        postgres: args.postgres.clone(),
    })
}

/// Returns the requested stores or, without a request, all stores that can run.
fn peers_of(args: &Run) -> Result<Vec<String>, String> {
    if args.peers.is_empty() {
        let is_built = |name: &&&str| gives(name, Durability::None).is_ok();
        let can_run = |name: &&&str| **name != "postgres" || args.postgres.is_some();
        return Ok(NAMES.iter().filter(is_built).filter(can_run).map(ToString::to_string).collect());
    }
    let mut can = 0;
    for (at, peer) in args.peers.iter().enumerate() {
        let given = gives(peer, args.durability)?;
        if args.peers[..at].contains(peer) {
            return Err(format!("`--peers` names `{peer}` twice: name it once"));
        }
        if peer == "postgres" && given.is_ok() && args.postgres.is_none() {
            return Err("`postgres` needs a server: say where with `--postgres 'host=/run/x user=contend \
                        dbname=contend'`, or run crates/peers/compare.sh, which starts one"
                .to_owned());
        }
        can += u32::from(given.is_ok());
    }
    if can == 0 {
        let (names, durability) = (args.peers.join(", "), args.durability.name());
        return Err(format!(
            "none of {names} has durability `{durability}`; `peers list` says what each has"
        ));
    }
    Ok(args.peers.clone())
}

fn run(args: &Run) -> Result<String, Ended> {
    let plan = plan(args).map_err(Ended::Refused)?;
    match args.workload {
        WorkloadName::Ycsb => {
            let settings = args.ycsb().map_err(Ended::Refused)?;
            let work = ycsb::Ycsb::new(settings).map_err(Ended::Refused)?;
            let ycsb::Settings { records, row_bytes, ops, update_pct, theta, .. } = settings;
            let about = format!(
                "ycsb: {records} records of {row_bytes} bytes, {ops} operations a transaction, {update_pct}% \
                 updates, theta {theta}"
            );
            run_on(args, &plan, &work, &about, false)
        }
        WorkloadName::Tpcc => {
            let settings = args.tpcc().map_err(Ended::Refused)?;
            let work = tpcc::Tpcc::new(settings).map_err(Ended::Refused)?;
            let about = format!("tpcc: {} warehouses, full mix, no waits", settings.warehouses);
            run_on(args, &plan, &work, &about, true)
        }
    }
}

fn run_on(args: &Run, plan: &Plan, work: &impl Workload, about: &str, scans: bool) -> Result<String, Ended> {
    let (dir, is_ours) = (&plan.dir, args.dir.is_none());
    fs::create_dir_all(dir).map_err(|error| {
        Ended::Refused(format!("`--dir {}`: {error}; take another folder", dir.display()))
    })?;
    let mut heard = |peer: &str, round: u32, outcome: &peers::work::Outcome| match args.format {
        Format::Text => complain(&format!(
            "round {}: {peer} {:.0} txn/s (loaded in {:.1} s)\n",
            round + 1,
            outcome.rate(),
            outcome.load_seconds
        )),
        Format::Json => print(&format!("{}\n", report::turn(peer, round, outcome, plan, args.workload))),
    };
    let ended: Result<Vec<Measured>, String> = measure(plan, work, &mut heard);
    if is_ours {
        // The folder is a temporary one. Files that cannot be removed are left to the system.
        let _ = fs::remove_dir_all(dir);
    }
    let all = ended.map_err(Ended::Failed)?;
    Ok(match args.format {
        Format::Text => report::text(&all, plan, about, scans),
        Format::Json => report::json(&all, plan, args.workload, scans),
    })
}
