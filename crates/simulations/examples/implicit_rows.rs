//! One simulated run of TPC-C, with rows that are loaded or made at the first look, and the memory that the process
//! needs: `implicit_rows SCHEME CORES WAREHOUSES TXNS loaded|implicit [MIX [ERROR [NAME=VALUE ..]]]`. For comparing the
//! two.
#![allow(clippy::print_stdout, reason = "the example is a program, and its results are what it prints")]

use engine::driver::{Estimate, Job, Limit};
use engine::setting::Values;
use schemes_sim::catalogue;
use sim::machine::{Machine, MemoryPolicy, Placement};
use simulations::{FirstRows, SimulatedInstance, SimulationSpec};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments[at].parse::<u64>().expect("a number");
    let entry = catalogue::entry(&arguments[0]).expect("a scheme of the catalogue");
    let instance = match arguments[0].as_str() {
        "no_wait" => SimulatedInstance::of::<schemes_sim::locking::no_wait::NoWait>(entry),
        "silo" => SimulatedInstance::of::<schemes_sim::optimistic::silo::Silo>(entry),
        other => panic!("{other} is not compiled into this example"),
    };
    let (cores, warehouses) = (number(1) as usize, arguments[2].clone());
    let rows = if arguments[4] == "implicit" { FirstRows::Implicit } else { FirstRows::Loaded };
    let mix = arguments.get(5).cloned().unwrap_or_else(|| "narrow".to_owned());
    let error = arguments.get(6).map_or(0.5, |text| text.parse().expect("a share"));
    let tpcc = workloads::catalogue::WORKLOADS.iter().find(|info| info.name == "tpcc").expect("it is there");
    let mut given = vec![("tpcc.warehouses".to_owned(), warehouses), ("tpcc.mix".to_owned(), mix)];
    let others = arguments.iter().skip(7).map(|given| given.split_once('=').expect("NAME=VALUE"));
    given.extend(others.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let known = tpcc.settings.iter().chain(engine::levers::SETTINGS);
    let values = Values::new(known, &given).expect("legal settings");
    let estimate =
        Estimate { warmup_commits: 20, commits: number(3), error, patience: 10, longest_ns: 10_000_000_000 };
    let text = Machine::of_name("hpe-superdome-flex").expect("a machine of the program");
    let machine = Machine::read(text, "hpe-superdome-flex").expect("a legal machine");
    let spec = SimulationSpec {
        workload: "tpcc",
        values: &values,
        job: Job::new(cores, cores, Limit::Estimate(estimate), 1),
        layout: runs::Layout::default(),
        machine: &machine,
        placement: Placement::CoresFirst,
        memory: MemoryPolicy::Interleaved,
        lookahead_ps: 0,
        rows,
        check: true,
    };
    let simulated = instance.run(&spec).expect("legal");
    let measured = &simulated.measured;
    let commits: u64 = measured.types.iter().map(|tally| tally.commits).sum();
    println!(
        "{} cores {cores} {:?}: {:.0} txn/s, half width {:?}, {commits} commits, load {:.1} s, simulated in {:.1} s, \
         {} implicit rows, check {:?}",
        instance.name(),
        rows,
        commits as f64 * 1e9 / measured.measured_ns as f64,
        measured.series.half_width(),
        measured.load_ns as f64 / 1e9,
        simulated.host_ns as f64 / 1e9,
        simulated.implicit_rows,
        measured.verdict,
    );
    let (counts, spent) = (simulated.counts, simulated.spent);
    println!("{counts:?}\n{spent:?}");
    simulated.hottest.iter().take(4).for_each(|line| println!("{:.1}% {}", line.share * 100.0, line.name));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
}
