//! Path lengths: the number of instructions that one worker executes for a transaction, counted by valgrind, and the
//! number for which the simulator charges time. Neither depends on other users of the machine.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::bench::{Build, binary};
use crate::house::{Checked, House, output};

/// The durations of the two runs of a scheme, in seconds under valgrind. The difference of the runs removes the
/// work before and after the transactions.
const SECONDS: [u32; 2] = [1, 5];

/// The scheme with which the others are compared. It is measured first.
const UNIT: &str = "uncontrolled";

/// The simulated machine. Which one does not matter: the number of instructions is the same on all.
const MACHINE: &str = "here";
/// The transactions of a simulated run.
const SIMULATED: &str = "2000";

/// Counts the instructions of every scheme on a workload, and prints a table.
pub(crate) fn count(house: &House, workload: &str) -> Checked {
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err(
            "valgrind is not there: install it, for example with `apt-get install valgrind`".to_owned()
        );
    }
    let contend = binary(house, Build::Released)?;
    let listed = output(Command::new(&contend).args(["list", "schemes", "--format", "json"]))?;
    let schemes: Vec<Value> =
        serde_json::from_str(&listed).map_err(|error| format!("no JSON ({error}): {listed}"))?;
    let named = schemes.iter().filter_map(|scheme| scheme["name"].as_str());
    let instruction_ns = instruction_ns(&contend)?;
    println!(
        "{:<16} {:>12} {:>8} {:>12} {:>12} {:>9}",
        "scheme", "instructions", "ratio", "transactions", "simulated", "to native"
    );
    let mut unit = None;
    for scheme in [UNIT].into_iter().chain(named.filter(|&name| name != UNIT)) {
        let [short, long] = SECONDS.map(|seconds| tally(&contend, workload, scheme, seconds));
        let (each, transactions) = of_each(short?, long?)?;
        let ratio = each / *unit.get_or_insert(each);
        let simulated = simulated_ns(&contend, workload, scheme)? / instruction_ns;
        let to_native = simulated / each;
        println!(
            "{scheme:<16} {each:>12.0} {ratio:>8.2} {transactions:>12} {simulated:>12.0} {to_native:>9.2}"
        );
    }
    Ok(())
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

/// Simulates one core, and returns the nanoseconds of a transaction in which the core executed instructions.
fn simulated_ns(contend: &Path, workload: &str, scheme: &str) -> Result<f64, String> {
    let mut command = Command::new(contend);
    command.args(["simulate", workload, "--scheme", scheme, "--machine", MACHINE, "--cores", "1"]);
    command.args(["--txns", SIMULATED, "--format", "json"]);
    let lines = output(&mut command)?;
    let of_run = |line: &str| {
        let run: Value = serde_json::from_str(line).ok()?;
        let share = run["simulation"]["spent"]["instructions"].as_f64()?;
        Some(share * 1e9 / run["throughput_txn_s"].as_f64()?)
    };
    lines.lines().find_map(of_run).ok_or_else(|| format!("no simulated run among what was printed: {lines}"))
}

/// The counts of a run: instructions, and committed transactions.
type Tally = (u64, u64);

/// Returns the mean number of instructions of a transaction, and the number of transactions in the mean.
fn of_each(short: Tally, long: Tally) -> Result<(f64, u64), String> {
    let (instructions, transactions) = (long.0.saturating_sub(short.0), long.1.saturating_sub(short.1));
    if transactions == 0 {
        return Err(
            "the longer run committed no more than the shorter one: the machine is too busy".to_owned()
        );
    }
    Ok((instructions as f64 / transactions as f64, transactions))
}

/// Executes a run under valgrind and returns its counts.
fn tally(contend: &Path, workload: &str, scheme: &str, seconds: u32) -> Result<Tally, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]).arg(contend);
    command.args(["run", workload, "--scheme", scheme, "--workers", "1", "--seconds", &seconds.to_string()]);
    command.args(["--warmup", "0", "--no-check", "--format", "json"]);
    // Reserved memory grows with the duration of the run, and samples read clocks. Both are switched off.
    command.args(["--set", "run.reserve_mb=0", "--set", "run.sample_every=0"]);
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
    Ok((instructions(&says).ok_or_else(|| format!("no count among what valgrind said:\n{says}"))?, commits))
}

/// Parses the number of instructions that cachegrind counted.
fn instructions(says: &str) -> Option<u64> {
    let line = says.lines().find(|line| line.contains("I ") && line.contains("refs:"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        assert_eq!(instructions("==7== \n==7== I   refs:      1,234,567\n"), Some(1_234_567));
        assert_eq!(instructions("==7== I refs:        89\n"), Some(89));
        assert_eq!(instructions("==7== D refs: 3\n"), None);
    }

    #[test]
    fn what_both_runs_do_cancels_out() {
        assert_eq!(of_each((1_000, 10), (3_000, 30)), Ok((100.0, 20)));
        assert!(of_each((1_000, 10), (3_000, 10)).is_err());
    }
}
