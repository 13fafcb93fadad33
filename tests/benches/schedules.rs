//! The number of small schedules that a core explores a second under each scheme, by the strategies of
//! seeds and by a search:
//! `cargo bench --package contend-tests --bench schedules -- [COUNT] [SCHEME]`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to a terminal")]

#[path = "../explore/small.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod small;

use std::process::ExitCode;

use engine_sim::{Admits, Scheme};
use schemes_sim::catalogue::{self, Visit};
use sim::{Explorer, Schedule, Search, Strategy, Trace};
use small::Small;

/// The default number of schedules of each kind.
const COUNT: u64 = 20_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let Ok(count) = args.first().map_or(Ok(COUNT), |count| count.parse()) else {
        eprintln!("schedules: give a number of schedules, and perhaps a scheme: `schedules 20000 silo`");
        return ExitCode::from(2);
    };
    let wanted = |name: &str| args.get(1).is_none_or(|scheme| scheme == name);
    println!(
        "{:<12} {:>9} {:>9} {:>9}  schedules/s by cpu time, steps each",
        "scheme", "seeds", "search", "steps"
    );
    for info in catalogue::infos().filter(|info| info.workers == Admits::Any && wanted(info.name)) {
        catalogue::with(info.name, Rate(count)).expect("a scheme of the catalogue");
    }
    ExitCode::SUCCESS
}

/// Visits a scheme: explores a number of schedules in both ways, and prints the rates.
struct Rate(u64);

impl Visit for Rate {
    type Out = ();

    fn visit<S: Scheme>(self) {
        let Self(count) = self;
        let small = Small::new::<S>();
        let choices = Explorer::replay(Schedule::default()).run(|| small.run::<S>()).1.choices;
        let (by_seed, steps) = rate(count, |seed| {
            let explorer = Explorer::new(seed).strategy(Strategy::of_seed(seed, choices));
            Some(explorer.run(|| small.run::<S>()))
        });
        let mut search = Search::bounded(2);
        let (by_search, _) = rate(count, |_| {
            let explored = search.run(|| small.run::<S>())?;
            Some((explored.outcome.expect("no failure"), explored.trace))
        });
        println!("{:<12} {by_seed:>9.0} {by_search:>9.0} {steps:>9}", S::INFO.name);
    }
}

/// Returns the number of explorations a second of this thread's time, and the number of steps of each.
fn rate(count: u64, mut explore: impl FnMut(u64) -> Option<(bool, Trace)>) -> (f64, u64) {
    let start_ns = sync::clock::thread_cpu_ns();
    let mut steps = 0;
    for seed in 0..count {
        let Some((is_right, trace)) = explore(seed) else { break };
        assert!(is_right, "schedule {seed} goes wrong");
        steps += trace.steps;
    }
    let elapsed_ns = sync::clock::thread_cpu_ns() - start_ns;
    (count as f64 * 1e9 / elapsed_ns as f64, steps / count)
}
