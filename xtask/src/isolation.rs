//! Isolation: the command `contend check` tests every scheme against its promise, and planted bugs test whether the
//! search of that command detects defects.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::bench::{Build, binary};
use crate::house::{Checked, House, output};

/// How much is tried for each scheme.
struct Effort {
    /// Schedules that are explored, beside those of the searches.
    schedules: u64,
    /// Transactions on threads.
    transactions: u64,
    /// Schedules after which the search of a program ends. Nearly all searches are complete after a few thousand; under
    /// schemes that wait for locks, some programs have more schedules than anybody tries.
    searched: u64,
    /// The same under schemes that work in batches, where all programs have that many.
    searched_in_batches: u64,
}

/// The effort for every change.
const OF_A_CHANGE: Effort =
    Effort { schedules: 5_000, transactions: 25_000, searched: 5_000, searched_in_batches: 1_500 };

/// The effort on request.
const STANDARD: Effort =
    Effort { schedules: 20_000, transactions: 50_000, searched: 30_000, searched_in_batches: 30_000 };

/// The effort of a nightly run.
const OF_A_NIGHT: Effort =
    Effort { schedules: 100_000, transactions: 250_000, searched: 30_000, searched_in_batches: 30_000 };

/// The families whose schemes work in batches.
const IN_BATCHES: [&str; 2] = ["batched", "deterministic"];

/// A variant of a scheme gets one of so many of the schedules and transactions of the scheme itself.
const SHARE_OF_VARIANTS: u64 = 8;

/// A run for a change has one of so many variants: others with each commit. The conformance tests have all.
const TURNS_OF_VARIANTS: u64 = 5;

/// The time limit for the detection of a planted bug, in seconds. A slow one took 53 seconds on two idle cores of
/// 2 GHz, and more than 120 on the same machine when it was busy.
const SECONDS: &str = "300";

/// Tests every scheme and every variant against its promise.
pub(crate) fn check(house: &House) -> Checked {
    hold(&binary(house, Build::Tested)?, &STANDARD, |_| true)
}

/// Tests every scheme, and a fifth of the variants, against their promises: as long as is acceptable for every change.
pub(crate) fn check_a_change(house: &House) -> Checked {
    let turn = house.commits() % TURNS_OF_VARIANTS;
    hold(&binary(house, Build::Tested)?, &OF_A_CHANGE, |nth| nth as u64 % TURNS_OF_VARIANTS == turn)
}

/// Tests every scheme against its promise, for as long as a nightly run may take.
pub(crate) fn check_at_length(house: &House) -> Checked {
    hold(&binary(house, Build::Released)?, &OF_A_NIGHT, |_| true)
}

/// Tests every scheme, and the variants that are due, against their promises.
fn hold(contend: &Path, effort: &Effort, is_due: impl Fn(usize) -> bool) -> Checked {
    let schemes = listed(contend, "schemes")?;
    let is_in_batches = |scheme: &Value| IN_BATCHES.iter().any(|family| scheme["family"] == *family);
    let standard = |in_batches: bool| {
        let promises = |scheme: &&Value| scheme["one_worker_only"] != true;
        let named = schemes.iter().filter(promises).filter(|scheme| is_in_batches(scheme) == in_batches);
        let names = named.map(|scheme| scheme["name"].as_str().unwrap_or_default().to_owned());
        (names.collect::<Vec<_>>(), in_batches, 1)
    };
    let of = |scheme| variants(scheme).into_iter().map(move |variant| (variant, is_in_batches(scheme)));
    let due = schemes.iter().flat_map(of).enumerate().filter(|(nth, _)| is_due(*nth));
    let due = due.map(|(_, (variant, in_batches))| (variant, in_batches, SHARE_OF_VARIANTS));
    for (subject, in_batches, share) in [standard(false), standard(true)].into_iter().chain(due) {
        let searched = if in_batches { effort.searched_in_batches } else { effort.searched };
        let try_share = |subject: &[String], share: u64| {
            let mut command = Command::new(contend);
            command.arg("check").args(subject).args(["--format", "json"]);
            command.args(["--schedules", &(effort.schedules / share).to_string()]);
            command.args(["--transactions", &(effort.transactions / share).to_string()]);
            command.args(["--searched", &searched.to_string()]);
            command.output().map_err(|error| format!("cannot run {}: {error}", contend.display()))
        };
        let ended = try_share(&subject, share)?;
        let mut lines = String::from_utf8_lossy(&ended.stdout).into_owned();
        let blind: Vec<String> = lines.lines().filter_map(blind_scheme).collect();
        if ended.status.success() && !blind.is_empty() {
            // By chance, few schedules or the threads of a busy machine may show nothing of what is permitted. Once
            // more, as many schedules as of a scheme must show it.
            let again = if share > 1 { subject.clone() } else { blind };
            let second = try_share(&again, 1)?;
            let shown = String::from_utf8_lossy(&second.stdout);
            if !second.status.success() && !is_a_known_livelock(&again, &shown) {
                return Err(broken(&again, &second));
            }
            let first: Vec<&str> = lines.lines().filter(|line| blind_scheme(line).is_none()).collect();
            lines = [first.join("\n"), shown.into_owned()].join("\n");
        }
        report(lines.trim())?;
        if !ended.status.success() && !is_a_known_livelock(&subject, &lines) {
            return Err(broken(&subject, &ended));
        }
    }
    Ok(())
}

/// Says how `contend check` of `subject` ended, with what it printed of schemes that break their promises.
fn broken(subject: &[String], ended: &Output) -> String {
    let printed = String::from_utf8_lossy(&ended.stdout);
    let is_broken = |line: &&str| {
        serde_json::from_str(line)
            .map_or(true, |seen: Value| seen["violations"].as_array().is_none_or(|all| !all.is_empty()))
    };
    let lines: Vec<&str> = printed.lines().filter(is_broken).collect();
    let errors = String::from_utf8_lossy(&ended.stderr);
    format!(
        "a scheme breaks its promise: `contend check {}` ended with {}:\n{}\n{}",
        subject.join(" "),
        ended.status,
        lines.join("\n"),
        errors.trim_end()
    )
}

/// Returns the scheme of a line of `contend check` if nothing showed of what its promise permits.
fn blind_scheme(line: &str) -> Option<String> {
    let seen: Value = serde_json::from_str(line).ok()?;
    (seen["blind"] == true).then(|| seen["scheme"].as_str().unwrap_or_default().to_owned())
}

/// Whether the only violations are livelocks of attempts that read before they write. Two of them share a lock, and
/// under schemes that abort at a conflict neither gets it for itself alone. Trials have none of the pauses and turns
/// with which runs end this, so a schedule that favours nobody goes on for ever.
fn is_a_known_livelock(subject: &[String], lines: &str) -> bool {
    let reads_first = subject.iter().any(|word| word == "run.read_for_update=off");
    let is_livelock =
        |violation: &Value| violation["what"].as_str().is_some_and(|what| what.starts_with("livelock"));
    let all_are = |line: &str| {
        let seen: Value = serde_json::from_str(line).unwrap_or_default();
        seen["violations"].as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_livelock))
    };
    reads_first && lines.lines().all(all_are)
}

/// Returns a list of the catalogue.
fn listed(contend: &Path, list: &str) -> Result<Vec<Value>, String> {
    let listed = output(Command::new(contend).args(["list", list, "--format", "json"]))?;
    serde_json::from_str(&listed).map_err(|error| format!("no JSON ({error}): {listed}"))
}

/// Returns the arguments that name a scheme under each of its variants.
fn variants(scheme: &Value) -> Vec<Vec<String>> {
    let of = |variant: &Value| {
        let name = scheme["name"].as_str().unwrap_or_default().to_owned();
        [name].into_iter().chain(settings(&variant["set"])).collect()
    };
    scheme["variants"].as_array().into_iter().flatten().map(of).collect()
}

/// Returns the arguments that set what a list says.
fn settings(set: &Value) -> impl Iterator<Item = String> {
    let set = set.as_array().into_iter().flatten().filter_map(Value::as_str);
    set.flat_map(|value| ["--set".to_owned(), value.to_owned()])
}

/// Prints the observations about each scheme.
pub(crate) fn report(lines: &str) -> Checked {
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
pub(crate) fn mutants(house: &House, which: Option<&str>) -> Checked {
    let is_all = match which {
        None => true,
        Some("tenth") => false,
        Some(other) => {
            return Err(format!("`{other}` is no share of the planted bugs: write `tenth` or nothing"));
        }
    };
    let contend = binary(house, if is_all { Build::Released } else { Build::Tested })?;
    let plants = listed(&contend, "plants")?;
    let turn = if is_all { 0 } else { house.commits() % 10 };
    // Bugs that may stay undetected are not planted in the runs for each change.
    let is_due = |nth: usize, plant: &Value| nth as u64 % 10 == turn && plant["may_be_missed"].is_null();
    let chosen = plants.iter().enumerate().filter(|(nth, plant)| is_all || is_due(*nth, plant));
    let (mut caught, mut missed, mut unexplained) = (0, 0, Vec::new());
    for (_, plant) in chosen {
        let text = |key: &str| plant[key].as_str().unwrap_or_default();
        let (scheme, name) = (text("scheme"), text("name"));
        if let Some(how) = catch(&contend, plant)? {
            caught += 1;
            println!("{scheme:<11} {name:<26} {how}");
            continue;
        }
        missed += 1;
        let reason = plant["may_be_missed"].as_str();
        println!("{scheme:<11} {name:<26} missed: {}", reason.unwrap_or("NOT CAUGHT"));
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
fn catch(contend: &Path, plant: &Value) -> Result<Option<String>, String> {
    let text = |key: &str| plant[key].as_str().unwrap_or_default();
    let started = std::time::Instant::now();
    let mut command = Command::new(contend);
    command.args([
        "check",
        text("scheme"),
        "--plant",
        text("name"),
        "--seconds",
        SECONDS,
        "--format",
        "json",
    ]);
    command.args(settings(&plant["under"]));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_that_shows_nothing_is_found_among_others() {
        let line =
            |scheme: &str, blind: bool| serde_json::json!({ "scheme": scheme, "blind": blind }).to_string();
        let lines = [line("silo", false), line("tictoc", true), "no JSON".to_owned()].join("\n");
        assert_eq!(lines.lines().filter_map(blind_scheme).collect::<Vec<_>>(), ["tictoc"]);
    }

    #[test]
    fn only_livelocks_of_attempts_that_read_first_are_known() {
        let subject = |set: &str| ["no_wait", "--set", set].map(str::to_owned).to_vec();
        let line = |what: &[&str]| {
            let all: Vec<Value> = what.iter().map(|what| serde_json::json!({ "what": what })).collect();
            serde_json::json!({ "violations": all }).to_string()
        };
        let hints = subject("run.read_for_update=off");
        assert!(is_a_known_livelock(&hints, &line(&["livelock: 6040 attempts"])));
        assert!(!is_a_known_livelock(&hints, &line(&["livelock: 6040 attempts", "lost update"])));
        assert!(!is_a_known_livelock(&hints, &line(&[])) && !is_a_known_livelock(&hints, "no JSON"));
        assert!(!is_a_known_livelock(&subject("no_wait.spin=0"), &line(&["livelock: 6040 attempts"])));
    }

    #[test]
    #[cfg(unix)]
    fn a_failure_names_the_schemes_that_broke_and_how_the_command_ended() {
        use std::os::unix::process::ExitStatusExt;
        let line = |scheme: &str, violations: &[&str]| {
            serde_json::json!({ "scheme": scheme, "violations": violations }).to_string()
        };
        let stdout = [line("silo", &[]), line("mocc", &["lost update"])].join("\n").into_bytes();
        let ended = Output { status: ExitStatusExt::from_raw(6), stdout, stderr: b"aborted\n".to_vec() };
        let says = broken(&["silo".to_owned(), "mocc".to_owned()], &ended);
        assert!(says.contains("`contend check silo mocc`") && says.contains("signal: 6"), "{says}");
        assert!(says.contains("lost update") && says.contains("aborted"), "{says}");
        assert!(!says.contains(r#""scheme":"silo""#), "{says}");
    }
}
