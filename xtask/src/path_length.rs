//! Path lengths: the instructions of a transaction and the misses of its accesses in private caches, counted by
//! valgrind, and the instructions for which the simulator charges time. None depends on other users of the machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

use crate::bench::{Build, binary};
use crate::house::{Checked, House, output};
use crate::new_scheme::Unmade;

/// The requests of a worker in the two runs of a scheme. The difference of the runs removes the work before and after
/// the transactions. Runs by time would not do: under valgrind, the thread that ends a run may get its turn late, and
/// what is executed until then counts as no transaction.
const REQUESTS: [u32; 2] = [1_000, 5_000];

/// The scheme with which the others are compared. It is measured first.
const UNIT: &str = "uncontrolled";

/// The simulated machine. Which one does not matter: the number of instructions is the same on all.
const MACHINE: &str = "here";
/// The transactions of a simulated run.
const SIMULATED: &str = "2000";

/// The private caches of a core, which valgrind simulates: those of many servers, and the same on every host. All
/// threads have the same ones there, so that the misses of several workers are too few.
const CACHES: [&str; 3] = ["--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,8,64"];

/// The form of the words of the command.
pub(crate) const FORM: &str = "WORKLOAD [--workers N] [--set NAME=VALUE]..";

/// The runs that are counted: of a workload with settings.
struct Runs<'w> {
    contend: &'w Path,
    workload: &'w str,
    workers: &'w str,
    /// The words `--set NAME=VALUE`.
    set: Vec<&'w str>,
}

/// The counts that are recorded.
const RECORDED: &str = "xtask/path_lengths.toml";

/// The share by which a count may differ from the recorded one.
const TOLERANCE: f64 = 0.03;

/// The recorded counts of a workload under settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    /// Settings as `NAME=VALUE`.
    set: Vec<String>,
    /// Instructions of a transaction, by scheme.
    instructions: BTreeMap<String, u64>,
}

/// Counts the instructions of the schemes and workloads whose counts are recorded, and fails where they differ.
pub(crate) fn compare(house: &House) -> Checked {
    has_valgrind()?;
    let contend = binary(house, Build::Released)?;
    let path = house.root.join(RECORDED);
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
    let recorded = text.and_then(|text| toml::from_str(&text).map_err(|error| error.to_string()));
    let recorded: BTreeMap<String, Recorded> =
        recorded.map_err(|says| format!("cannot read {}: {says}", path.display()))?;
    let mut differ = Vec::new();
    for (workload, Recorded { set, instructions }) in &recorded {
        let set = set.iter().flat_map(|setting| ["--set", setting]).collect();
        let runs = Runs { contend: &contend, workload, workers: "1", set };
        for (scheme, &before) in instructions {
            let (now, before) = (runs.each(scheme)?.instructions, before as f64);
            let line =
                format!("{scheme} on {workload}: {now:.0}, recorded {before:.0} ({:.3})", now / before);
            println!("{line}");
            if (now / before - 1.0).abs() > TOLERANCE {
                differ.push(line);
            }
        }
    }
    let says = "instructions of a transaction differ: find the cause, or record them with their reason";
    if differ.is_empty() { Ok(()) } else { Err(format!("{says}: {}", differ.join(", "))) }
}

/// Whether there is valgrind.
fn has_valgrind() -> Checked {
    let is_there = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok();
    let says = "valgrind is not there: install it, for example with `apt-get install valgrind`";
    if is_there { Ok(()) } else { Err(says.to_owned()) }
}

/// Counts the instructions and misses of every scheme on a workload, and prints a table.
pub(crate) fn count(house: &House, words: &[&str]) -> Result<(), Unmade> {
    has_valgrind().map_err(Unmade::Failed)?;
    let misused = || Unmade::Refused(format!("`cargo xtask path-length {FORM}`"));
    let [workload, rest @ ..] = words else { return Err(misused()) };
    let contend = binary(house, Build::Released).map_err(Unmade::Failed)?;
    let mut runs = Runs { contend: &contend, workload, workers: "1", set: Vec::new() };
    for pair in rest.chunks(2) {
        match *pair {
            ["--workers", number] => runs.workers = number,
            [set @ "--set", value] => runs.set.extend([set, value]),
            _ => return Err(misused()),
        }
    }
    runs.print_all().map_err(Unmade::Failed)
}

impl Runs<'_> {
    /// Prints a line for each scheme.
    fn print_all(&self) -> Result<(), String> {
        let listed = output(Command::new(self.contend).args(["list", "schemes", "--format", "json"]))?;
        let schemes: Vec<Value> =
            serde_json::from_str(&listed).map_err(|error| format!("no JSON ({error}): {listed}"))?;
        // It runs with one worker only.
        let first = if self.workers == "1" { UNIT } else { "silo" };
        let named = schemes.iter().filter_map(|scheme| scheme["name"].as_str());
        let others = named.filter(|&name| name != first && name != UNIT);
        let instruction_ns = instruction_ns(self.contend)?;
        println!(
            "{:<16} {:>12} {:>8} {:>10} {:>10} {:>12} {:>12} {:>9}",
            "scheme",
            "instructions",
            "ratio",
            "D1 misses",
            "L2 misses",
            "transactions",
            "simulated",
            "to native"
        );
        let mut unit = None;
        for scheme in [first].into_iter().chain(others) {
            let Each { instructions, misses: [d1, l2], transactions } = self.each(scheme)?;
            let ratio = instructions / *unit.get_or_insert(instructions);
            let simulated = self.simulated_ns(scheme)? / instruction_ns;
            let to_native = simulated / instructions;
            println!(
                "{scheme:<16} {instructions:>12.0} {ratio:>8.2} {d1:>10.1} {l2:>10.1} {transactions:>12} \
                 {simulated:>12.0} {to_native:>9.2}"
            );
        }
        Ok(())
    }

    /// Counts a scheme.
    fn each(&self, scheme: &str) -> Result<Each, String> {
        let [short, long] = REQUESTS.map(|requests| self.tally(scheme, requests));
        Each::of(&short?, &long?)
    }

    /// Simulates one core, and returns the nanoseconds of a transaction in which the core executed instructions.
    fn simulated_ns(&self, scheme: &str) -> Result<f64, String> {
        let mut command = Command::new(self.contend);
        command.args(["simulate", self.workload, "--scheme", scheme, "--machine", MACHINE, "--cores", "1"]);
        command.args(["--txns", SIMULATED, "--format", "json"]).args(&self.set);
        let lines = output(&mut command)?;
        let of_run = |line: &str| {
            let run: Value = serde_json::from_str(line).ok()?;
            let share = run["simulation"]["spent"]["instructions"].as_f64()?;
            Some(share * 1e9 / run["throughput_txn_s"].as_f64()?)
        };
        let found = lines.lines().find_map(of_run);
        found.ok_or_else(|| format!("no simulated run among what was printed: {lines}"))
    }

    /// Executes a run under valgrind and returns its counts.
    fn tally(&self, scheme: &str, requests: u32) -> Result<Tally, String> {
        let workload = self.workload;
        let mut command = Command::new("valgrind");
        command.args(["--tool=cachegrind", "--cachegrind-out-file=/dev/null"]).args(CACHES).arg(self.contend);
        command.args(["run", workload, "--scheme", scheme, "--workers", self.workers]);
        command.args(["--txns", &requests.to_string(), "--no-check", "--format", "json"]);
        // Reserved memory grows with the length of the run, and samples read clocks. Both are switched off.
        command.args(["--set", "run.reserve_mb=0", "--set", "run.sample_every=0"]).args(&self.set);
        let ended = command.output().map_err(|error| format!("cannot run valgrind: {error}"))?;
        let (says, lines) = (String::from_utf8_lossy(&ended.stderr), String::from_utf8_lossy(&ended.stdout));
        if !ended.status.success() {
            return Err(format!("`contend run {workload} --scheme {scheme}` failed under valgrind:\n{says}"));
        }
        let commits = lines.lines().find_map(|line| {
            let run: Value = serde_json::from_str(line).ok()?;
            (run["kind"] == "run").then(|| run["commits"].as_u64())?
        });
        let commits = commits.ok_or_else(|| format!("no run among what was printed: {lines}"))?;
        Tally::parse(&says, commits).ok_or_else(|| format!("no counts among what valgrind said:\n{says}"))
    }
}

/// Returns the nanoseconds of an instruction on the simulated machine.
fn instruction_ns(contend: &Path) -> Result<f64, String> {
    let listed = output(Command::new(contend).args(["list", "machines", "--format", "json"]))?;
    let machines: Vec<Value> =
        serde_json::from_str(&listed).map_err(|error| format!("no JSON ({error}): {listed}"))?;
    let machine = machines.iter().find(|machine| machine["name"] == MACHINE);
    let constants = machine.and_then(|machine| machine["constants"].as_array());
    let constant = constants.and_then(|all| all.iter().find(|of| of["name"] == "core.instruction_ns"));
    let value = constant.and_then(|constant| constant["value"].as_str()?.parse().ok());
    value.ok_or_else(|| format!("`{MACHINE}` has no `core.instruction_ns` among what was listed: {listed}"))
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tally {
    instructions: u64,
    /// Misses of data in the first and in the second cache.
    misses: [u64; 2],
    commits: u64,
}

impl Tally {
    /// Parses what cachegrind counted.
    fn parse(says: &str, commits: u64) -> Option<Self> {
        let count = |name: &str, of: &str| {
            let line = says.lines().find(|line| line.contains(name) && line.contains(of))?;
            // Behind the sum are its parts, reads and writes.
            let sum = line.rsplit(':').next()?.split('(').next()?;
            sum.trim().replace(',', "").parse().ok()
        };
        let misses = [count("D1 ", "misses:")?, count("LLd ", "misses:")?];
        Some(Self { instructions: count("I ", "refs:")?, misses, commits })
    }
}

/// The means of a transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Each {
    instructions: f64,
    misses: [f64; 2],
    /// The number of transactions in the mean.
    transactions: u64,
}

impl Each {
    fn of(short: &Tally, long: &Tally) -> Result<Self, String> {
        let transactions = long.commits.saturating_sub(short.commits);
        if transactions == 0 {
            return Err("the longer run committed no more than the shorter one".to_owned());
        }
        let mean = |long: u64, short: u64| long.saturating_sub(short) as f64 / transactions as f64;
        let misses = [0, 1].map(|level| mean(long.misses[level], short.misses[level]));
        Ok(Self { instructions: mean(long.instructions, short.instructions), misses, transactions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_found() {
        let says = "==7== \n==7== I   refs:      1,234,567\n==7== \n\
                    ==7== D   refs:        600,000  (400,000 rd   + 200,000 wr)\n\
                    ==7== D1  misses:        3,456  (  3,000 rd   +     456 wr)\n\
                    ==7== LLd misses:           89  (     50 rd   +      39 wr)\n\
                    ==7== LL refs:               5\n";
        let found = Tally { instructions: 1_234_567, misses: [3_456, 89], commits: 7 };
        assert_eq!(Tally::parse(says, 7), Some(found));
        assert_eq!(Tally::parse("==7== D refs: 3\n", 7), None);
    }

    #[test]
    fn the_recorded_counts_are_legal() {
        let all: BTreeMap<String, Recorded> =
            toml::from_str(include_str!("../path_lengths.toml")).expect("it is legal");
        assert_eq!(all.keys().collect::<Vec<_>>(), ["tpcc", "ycsb"]);
        for Recorded { set, instructions } in all.values() {
            assert!(set.iter().all(|setting| setting.contains('=')), "{set:?}");
            assert!(instructions["silo"] > 1_000);
        }
    }

    #[test]
    fn what_both_runs_do_cancels_out() {
        let tally = |instructions, misses, commits| Tally { instructions, misses, commits };
        let (short, long) = (tally(1_000, [100, 10], 10), tally(3_000, [300, 10], 30));
        let each = Each { instructions: 100.0, misses: [10.0, 0.0], transactions: 20 };
        assert_eq!(Each::of(&short, &long), Ok(each));
        assert!(Each::of(&short, &tally(3_000, [300, 10], 10)).is_err());
    }
}
