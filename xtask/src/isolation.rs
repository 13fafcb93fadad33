//! Isolation: the command `contend check` tests every scheme against its promise, and planted bugs test whether the
//! search of that command detects defects.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Build, binary};
use crate::house::{House, Outcome, output};

/// For each scheme, the number of schedules to explore beside those of the searches, and the number of transactions
/// to run on threads. The duration is acceptable for every change. For all schemes together: half a million and 1.3
/// million.
const SCHEDULES: u64 = 20_000;
const TRANSACTIONS: u64 = 50_000;

/// The factor by which a nightly run has more schedules and transactions.
const NIGHT: u64 = 20;

/// Further promises, under settings that are not the standard ones: the scheme and its settings.
const VARIANTS: &[&[&str]] = &[
    &["silo", "--set", "silo.snapshots=on", "--set", "silo.epoch_ms=1", "--set", "silo.snapshot_epochs=1"],
    &["bamboo", SET, "bamboo.delta_pct=0", SET, "bamboo.read_preimage=off", SET, "bamboo.respect_us=0"],
    &["bamboo", SET, "bamboo.retire=off"],
    &["occ", "--set", "occ.early_abort=off"],
    &["mocc", "--set", "mocc.hot=0"],
    &["foedus", "--set", "foedus.hot_threshold=0", "--set", "foedus.force_canonical=off"],
    &["ssn", "--set", "ssn.base=rc"],
    &["ermia", "--set", "ermia.line=si"],
    &["ermia", "--set", "ermia.line=ssi", "--set", "ermia.indirection=off"],
    &["ermia", "--set", "ermia.line=ssn_rc"],
    &["ermia", SET, SAFE, SET, EACH_ITS_OWN],
    &["ermia", SET, MOSTLY, SET, AT_ONCE, SET, ALL_STALE],
    &["mv2pl", "--set", "mv2pl.snapshots=stale", "--set", "mv2pl.wait_us=1000"],
    &["hekaton", "--set", "hekaton.speculation=off"],
    &["hekaton_locking", "--set", "hekaton_locking.speculation=off"],
    &["cicada", "--set", "cicada.snapshots=off", "--set", "cicada.pending=abort"],
    &["aria", "--set", "aria.fallback=off"],
    &["caracal", "--set", "caracal.contended=1", "--set", "caracal.collect_every=1"],
];

const SET: &str = "--set";
const SAFE: &str = "ermia.safe_snapshots=on";
const EACH_ITS_OWN: &str = "ermia.snapshot_us=0";
const MOSTLY: &str = "ermia.read_mostly=on";
const AT_ONCE: &str = "ermia.read_mostly_after=0";
const ALL_STALE: &str = "ermia.stale_kb=0";

/// Planted bugs in code that only certain settings enable: the bug and the settings.
const UNDER: &[(&str, &[&str])] = &[
    ("snapshots_unread", &[SET, SAFE, SET, EACH_ITS_OWN]),
    ("stale_readers_untold", &[SET, MOSTLY, SET, AT_ONCE, SET, ALL_STALE]),
    ("stale_readers_unseen", &[SET, MOSTLY, SET, AT_ONCE, SET, ALL_STALE]),
];

/// The time limit for the detection of a planted bug, in seconds.
const SECONDS: &str = "120";

/// Planted bugs that may stay undetected, each with the reason.
const MAY_BE_MISSED: &[(&str, &str)] = &[(
    "leaf_locks_left_behind",
    "it takes a scan, an insert that aborts and another over the record that it left: a test of its scheme has these \
     one after the other",
)];

/// Tests every scheme against its promise, for as long as is acceptable for every change.
pub(crate) fn check(house: &House) -> Outcome {
    hold(&binary(house, Build::Tested)?, 1)
}

/// Tests every scheme against its promise, for as long as a nightly run may take.
pub(crate) fn check_at_length(house: &House) -> Outcome {
    hold(&binary(house, Build::Released)?, NIGHT)
}

/// Tests every scheme against its promise, with `times` times the standard number of schedules and transactions.
fn hold(contend: &Path, times: u64) -> Outcome {
    let all: &[&str] = &[];
    for (subject, share) in [(all, 1)].into_iter().chain(VARIANTS.iter().map(|&variant| (variant, 4))) {
        let mut command = Command::new(contend);
        command.arg("check").args(subject).args(["--format", "json"]);
        command.args(["--schedules", &(times * SCHEDULES / share).to_string()]);
        command.args(["--transactions", &(times * TRANSACTIONS / share).to_string()]);
        let ended = command.output().map_err(|error| format!("cannot run {}: {error}", contend.display()))?;
        let lines = String::from_utf8_lossy(&ended.stdout);
        report(&lines)?;
        if !ended.status.success() {
            return Err(format!("a scheme breaks its promise:\n{lines}"));
        }
    }
    Ok(())
}

/// Prints the observations about each scheme.
pub(crate) fn report(lines: &str) -> Outcome {
    for line in lines.lines() {
        let seen: Value = serde_json::from_str(line).map_err(|error| format!("no JSON ({error}): {line}"))?;
        let text = |key: &str| seen[key].as_str().unwrap_or_default().to_owned();
        let count = |key: &str| seen[key].as_u64().unwrap_or_default();
        let shown: Vec<&str> =
            seen["permitted_shown"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        println!(
            "{:<11} {}: {} scripts, {} searches, {} schedules, {} transactions, {} undecided; permitted and seen: {}",
            text("scheme"),
            text("promise"),
            count("scripts"),
            count("searches"),
            count("schedules"),
            count("transactions"),
            count("undecided"),
            if shown.is_empty() { "-".to_owned() } else { shown.join(" ") }
        );
        if seen["blind"] == true {
            return Err(format!("{}: nothing showed of what its promise permits", text("scheme")));
        }
    }
    Ok(())
}

/// Plants every bug, or a tenth of them that changes with each commit, and prints how each was detected.
pub(crate) fn mutants(house: &House, which: Option<&str>) -> Outcome {
    let is_all = match which {
        None => true,
        Some("tenth") => false,
        Some(other) => {
            return Err(format!("`{other}` is no share of the planted bugs: write `tenth` or nothing"));
        }
    };
    let contend = binary(house, if is_all { Build::Released } else { Build::Tested })?;
    let listed = output(Command::new(&contend).args(["list", "plants", "--format", "json"]))?;
    let plants: Vec<Value> =
        serde_json::from_str(&listed).map_err(|error| format!("no JSON ({error}): {listed}"))?;
    let turn = if is_all { 0 } else { house.commits() % 10 };
    let may_be_missed = |name: &str| MAY_BE_MISSED.iter().find(|(known, _)| *known == name);
    // Bugs that may stay undetected are not planted in the runs for each change.
    let is_due = |nth: usize, plant: &Value| {
        nth as u64 % 10 == turn && plant["name"].as_str().and_then(may_be_missed).is_none()
    };
    let chosen = plants.iter().enumerate().filter(|(nth, plant)| is_all || is_due(*nth, plant));
    let (mut caught, mut missed, mut unexplained) = (0, 0, Vec::new());
    for (_, plant) in chosen {
        let text = |key: &str| plant[key].as_str().unwrap_or_default();
        let (scheme, name) = (text("scheme"), text("name"));
        if let Some(how) = catch(&contend, scheme, name)? {
            caught += 1;
            println!("{scheme:<11} {name:<26} {how}");
            continue;
        }
        missed += 1;
        let reason = may_be_missed(name);
        println!("{scheme:<11} {name:<26} missed: {}", reason.map_or("NOT CAUGHT", |(_, reason)| reason));
        if reason.is_none() {
            unexplained.push(format!("{name} in {scheme}"));
        }
    }
    println!("{caught} of {} planted bugs were caught", caught + missed);
    if !unexplained.is_empty() {
        return Err(format!("not caught within {SECONDS} seconds: {}", unexplained.join(", ")));
    }
    Ok(())
}

/// Plants a bug and searches for it. Returns how it was detected and after how many schedules, or `None` if it was
/// not.
fn catch(contend: &Path, scheme: &str, name: &str) -> Result<Option<String>, String> {
    let started = std::time::Instant::now();
    let mut command = Command::new(contend);
    command.args(["check", scheme, "--plant", name, "--seconds", SECONDS, "--format", "json"]);
    let under = UNDER.iter().find(|(known, _)| *known == name);
    command.args(under.map_or(&[][..], |(_, settings)| settings));
    // The exit code reports a violation, which is the expected result. It is ignored.
    let ended = command.output().map_err(|error| format!("cannot run {}: {error}", contend.display()))?;
    let line = String::from_utf8_lossy(&ended.stdout);
    let seen: Value =
        serde_json::from_str(line.trim()).map_err(|error| format!("no JSON ({error}): {line}"))?;
    let seconds = started.elapsed().as_secs_f64();
    let schedules = seen["schedules"].as_u64().unwrap_or_default();
    Ok(seen["violations"][0]["what"].as_str().map(|what| {
        let what = what.lines().next().unwrap_or_default();
        format!("{schedules:>8} schedules {seconds:>6.2} s  {what}")
    }))
}
