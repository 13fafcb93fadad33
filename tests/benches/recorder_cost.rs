//! The cost of recording histories: the processor time that a transaction takes with a recorder and without, in
//! turns, for TPC-C and for the mix under each scheme.
//!
//! `cargo bench --package contend-tests --bench recorder_cost -- [ROUNDS [SCHEME]]`
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to a terminal")]

use std::marker::PhantomData;
use std::process::ExitCode;

use engine::driver::{self, Control, Job, Limit};
use engine::setting::{Settings, Values};
use engine::{Admits, Database, Drive, Env, Facts, Forecast, Records, Schema, Scheme, Workload};
use schemes::catalogue::{self, Visit};
use workloads::mix::Mix;
use workloads::tpcc::Tpcc;

/// The default number of rounds, each with a run with a recorder and a run without.
const ROUNDS: usize = 5;
/// The number of transactions of a run.
const REQUESTS: u64 = 100_000;
/// An upper bound of the mean number of words that are recorded for a transaction.
const WORDS: usize = 500;
/// An upper bound of the bytes of a row beside its columns.
const ROW_OVERHEAD_BYTES: u64 = 128;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let Ok(rounds) = args.first().map_or(Ok(ROUNDS), |count| count.parse()) else {
        eprintln!("recorder_cost: give a number of rounds, and perhaps a scheme: `recorder_cost 5 silo`");
        return ExitCode::from(2);
    };
    let wanted = |name: &str| args.get(1).is_none_or(|scheme| scheme == name);
    println!("{:<8} {:<5} {:>11} {:>11}  {:>6}", "scheme", "", "without, us", "with, us", "ratio");
    for info in catalogue::infos().filter(|info| wanted(info.name) && info.workers == Admits::Any) {
        catalogue::with(info.name, Cost::<Tpcc>(rounds, PhantomData)).expect("a scheme of the catalogue");
        catalogue::with(info.name, Cost::<Mix>(rounds, PhantomData)).expect("a scheme of the catalogue");
    }
    ExitCode::SUCCESS
}

/// Visits a scheme and prints the cost over a number of rounds.
struct Cost<W>(usize, PhantomData<W>);

impl<W: Workload> Visit for Cost<W> {
    type Out = ();

    fn visit<S: Scheme>(self) {
        let mut rounds: Vec<(f64, f64)> =
            (0..self.0).map(|_| (us::<S, W>(false), us::<S, W>(true))).collect();
        rounds.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let (first, last) = (rounds[0], rounds[rounds.len() - 1]);
        let (without, with) = rounds[rounds.len() / 2];
        println!(
            "{:<8} {:<5} {without:>11.2} {with:>11.2}  {:>6.2}  ({:.2} .. {:.2})",
            S::INFO.name,
            W::NAME,
            with / without,
            first.1 / first.0,
            last.1 / last.0
        );
    }
}

/// Returns the microseconds of processor time that a transaction takes.
fn us<S: Scheme, W: Workload>(is_recorded: bool) -> f64 {
    let values = Values::new(S::Settings::ALL.iter().chain(W::SETTINGS), &[]).expect("the standard settings");
    let clients = Facts::under::<S>(&values).clients(1, 1);
    let mut schema = Schema::new();
    if is_recorded {
        schema.mark_values();
    }
    let drive = Drive { workers: 1, clients: clients as u32, seed: 1 };
    let workload = W::declare(&values, drive, &mut schema).expect("the standard settings");
    let env = Env { slots: clients + 1, workers: 1 };
    let db = Database::<S>::new(&schema, &values, env).expect("the standard settings");
    db.load(&workload, 1);
    let Forecast { growth_bytes, growth_rows, .. } = workload.forecast();
    db.reserve((growth_bytes + growth_rows as u64 * ROW_OVERHEAD_BYTES) as usize * REQUESTS as usize, 1);
    let job = Job::new(1, clients, Limit::Requests(REQUESTS / clients as u64), 1);
    // The first access to new memory costs more than the writes to it. Memory is therefore requested in advance
    // in both runs.
    let requests = REQUESTS as usize / clients;
    let records = Records::with_room(2 * requests, WORDS * requests);
    let control = Control::new(1);
    let outcome = if is_recorded {
        driver::observe(&db, &workload, &job, &control, &&records)
    } else {
        driver::run(&db, &workload, &job, &control)
    };
    let commits: u64 = outcome.types.iter().map(|tally| tally.commits).sum();
    outcome.cpu_share * outcome.measured_ns as f64 / 1e3 / commits as f64
}
