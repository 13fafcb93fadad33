//! The bench: runs the command on real workloads. The short bench detects defects of the measurement
//! itself. The long bench gives leaks and rare schedules time to appear. The bench does not judge
//! speed: a shared machine cannot measure it.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::house::{Checked, House, output, run};

/// The arguments of a run on the command line, without scheme, workers and seconds.
type Workload = &'static [&'static str];

/// Workloads that load in a moment, but have every kind of transaction and access.
const TINY: &[Workload] = &[
    &[
        "tpcc",
        "--set",
        "tpcc.warehouses=2",
        "--set",
        "tpcc.items=1000",
        "--set",
        "tpcc.customers_per_district=60",
    ],
    &["ycsb", "--set", "ycsb.records=20000", "--set", "ycsb.theta=0.9"],
    &["smallbank", "--set", "smallbank.accounts=20000"],
];

/// Workloads at the sizes of their specifications.
const FULL: &[Workload] =
    &[&["tpcc", "--set", "tpcc.warehouses=2"], &["ycsb", "--set", "ycsb.theta=0.9"], &["smallbank"]];

/// Runs every scheme for a moment on small data. Each run is followed by its consistency check.
pub(crate) fn short(house: &House) -> Checked {
    bench(house, Build::Tested, TINY, ("0.15", "0.1"), Some("5"))
}

/// Runs every scheme for a minute on full-size data.
pub(crate) fn soak(house: &House) -> Checked {
    bench(house, Build::Released, FULL, ("60", "0.2"), None)
}

/// Runs every scheme for so many seconds after the seconds of its warm-up. A scheme that commits nothing then runs once
/// more for the seconds of `again`, if there are any: on a busy machine, a worker may get no processor time for longer
/// than a short run lasts.
fn bench(
    house: &House,
    build: Build,
    workloads: &[Workload],
    (seconds, warmup): (&str, &str),
    again: Option<&str>,
) -> Checked {
    let contend = binary(house, build)?;
    for workload in workloads {
        // `all` excludes `uncontrolled`, which permits only one worker.
        for (schemes, workers) in [("all", "2"), ("uncontrolled", "1")] {
            let run = |schemes: &str, seconds: &str| {
                let mut command = Command::new(&contend);
                command.arg("run").args(*workload).args(["--scheme", schemes, "--workers", workers]);
                command.args(["--seconds", seconds, "--warmup", warmup, "--format", "json"]);
                show(&output(&mut command)?)
            };
            for scheme in run(schemes, seconds)? {
                let is_idle = match again {
                    Some(seconds) => !run(&scheme, seconds)?.is_empty(),
                    None => true,
                };
                if is_idle {
                    return Err(format!("{scheme} committed nothing on {}", workload[0]));
                }
            }
        }
    }
    Ok(())
}

/// The build profile of `contend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// The profile of the tests, which is already built: optimised, and with assertions that the
    /// release build omits.
    Tested,
    /// The profile of the release build.
    Released,
}

/// Builds `contend` and returns the path of the binary.
pub(crate) fn binary(house: &House, build: Build) -> Result<PathBuf, String> {
    let (members, target) = house.members()?;
    let member = members.iter().find(|member| member.binaries.iter().any(|name| name == "contend"));
    let member = member.ok_or("no package has the binary `contend`: it belongs to crates/cli")?;
    let (profile, folder) = match build {
        Build::Tested => ("dev", "debug"),
        Build::Released => ("release", "release"),
    };
    run(&mut house.cargo(&["build", "--profile", profile, "--package", &member.name, "--bin", "contend"]))?;
    Ok(target.join(folder).join(format!("contend{}", std::env::consts::EXE_SUFFIX)))
}

/// A run, as it is shown.
#[derive(Debug, PartialEq)]
struct Shown {
    scheme: String,
    line: String,
    has_commits: bool,
}

/// Prints a line for each run. Refuses output that scripts cannot read, and schemes that have committed nothing.
pub(crate) fn report(output: &str) -> Checked {
    let idle = show(output)?;
    if idle.is_empty() { Ok(()) } else { Err(format!("committed nothing: {}", idle.join(", "))) }
}

/// Prints a line for each run, and returns the schemes that have committed nothing. Refuses output that scripts cannot
/// read.
fn show(output: &str) -> Result<Vec<String>, String> {
    let runs = runs(output)?;
    if runs.is_empty() {
        return Err("`contend run` printed no run".to_owned());
    }
    for run in &runs {
        println!("{}", run.line);
    }
    Ok(runs.into_iter().filter(|run| !run.has_commits).map(|run| run.scheme).collect())
}

/// Parses lines of JSON and formats the runs for a reader.
fn runs(output: &str) -> Result<Vec<Shown>, String> {
    let mut runs = Vec::new();
    for line in output.lines() {
        let value: Value = serde_json::from_str(line).map_err(|e| format!("not JSON ({e}): {line}"))?;
        if value["kind"] != "run" {
            continue;
        }
        let text = |key: &str| value[key].as_str().ok_or_else(|| format!("no `{key}` in {line}"));
        let number = |key: &str| value[key].as_f64().ok_or_else(|| format!("no `{key}` in {line}"));
        let (workload, scheme) = (text("workload")?, text("scheme")?);
        let has_commits = number("commits")? > 0.0;
        let line = if has_commits {
            let (throughput, abort_rate) = (number("throughput_txn_s")?, number("abort_rate")?);
            let verdict = &value["check"]["verdict"];
            format!(
                "{workload:>9} {scheme:<14} {throughput:>10.0} txn/s  abort rate {abort_rate:.3}  {verdict}"
            )
        } else {
            format!("{workload:>9} {scheme:<14} committed nothing")
        };
        runs.push(Shown { scheme: scheme.to_owned(), line, has_commits });
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = concat!(
        r#"{"kind":"run","workload":"ycsb","scheme":"silo","commits":7,"throughput_txn_s":7.0,"#,
        r#""abort_rate":0.1,"check":{"verdict":"passed"}}"#
    );

    #[test]
    fn a_run_becomes_a_line_and_a_summary_none() {
        let output = format!("{GOOD}\n{}\n", GOOD.replace("run", "summary"));
        assert_eq!(runs(&output).map(|runs| runs.len()), Ok(1));
    }

    #[test]
    fn output_that_scripts_could_not_use_is_refused() {
        assert!(runs("silo 7 txn/s").is_err());
        assert!(runs(&GOOD.replace("throughput_txn_s", "tps")).is_err());
        assert!(report("").is_err());
    }

    #[test]
    fn schemes_that_commit_nothing_are_found() {
        let idle =
            GOOD.replace("\"commits\":7,\"throughput_txn_s\":7.0", "\"commits\":0,\"throughput_txn_s\":null");
        assert_eq!(show(&idle), Ok(vec!["silo".to_owned()]));
        assert_eq!(show(GOOD), Ok(Vec::new()));
        assert!(report(&idle).is_err() && report(GOOD).is_ok());
    }
}
