//! `cargo xtask sim SEED`: runs every scheme twice under the schedule of the seed, and prints the results. A
//! failure names the scheme, the seed and the step. The same command reproduces it any number of times.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to a terminal")]

#[path = "../explore/mod.rs"]
mod explore;

use std::panic::catch_unwind;
use std::process::ExitCode;

use explore::{Exploration, Small, explore};
use schemes_sim::catalogue;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [seed] = args.as_slice() else { return refuse() };
    let Ok(seed) = seed.parse() else { return refuse() };
    println!(
        "{:<9} {:<12} {:<16} {:>9} {:>7} {:>6}",
        "workload", "scheme", "schedule", "steps", "commits", "aborts"
    );
    let mut failed = Vec::new();
    for workload in Small::ALL {
        for info in catalogue::infos() {
            // The panic has already printed the reason of a failure.
            let explored = catch_unwind(|| [0; 2].map(|_| explore(info.name, workload, seed)));
            let line = explored.map_or_else(|_| "FAILED".to_owned(), told);
            println!("{:<9} {:<12} {line}", workload.name(), info.name);
            if line.starts_with("FAILED") {
                failed.push(format!("{} on {}", info.name, workload.name()));
            }
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("sim: {} failed; `cargo xtask sim {seed}` brings it back", failed.join(", "));
    ExitCode::FAILURE
}

fn refuse() -> ExitCode {
    eprintln!("sim: give a seed, a whole number: `cargo xtask sim 7`");
    ExitCode::from(2)
}

/// Formats the result of both explorations, or the failure if they differ.
fn told([first, second]: [Exploration; 2]) -> String {
    if first != second {
        return format!("FAILED: the seed gave {first:?} and then {second:?}; something beside it decides");
    }
    let Exploration { trace, commits, aborts } = first;
    format!("{:016x} {:>9} {commits:>7} {aborts:>6}", trace.hash, trace.steps)
}
