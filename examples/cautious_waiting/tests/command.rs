//! The command with the scheme in its catalogue: what the command does with other schemes, it does with this one.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the command with these arguments.
fn command(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_cautious_waiting");
    Command::new(program).args(arguments).output().expect("the program is built")
}

/// Returns the lines of JSON that a command prints if it succeeds.
fn lines(arguments: &[&str]) -> Vec<Value> {
    let output = command(arguments);
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?} ended with {}: {says}", output.status);
    let text = String::from_utf8(output.stdout).expect("it is text");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

const SMALL: [&str; 4] = ["--set", "ycsb.records=1000", "--format", "json"];

#[test]
fn lists_have_the_scheme_behind_those_of_the_catalogue() {
    let listed = lines(&["list", "schemes", "--format", "json"]);
    let schemes = listed[0].as_array().expect("a list");
    assert!(schemes.len() > 20 && schemes.iter().any(|scheme| scheme["name"] == "silo"));
    assert_eq!(schemes.last().expect("there are some")["name"], "cautious_waiting");
    let planted = lines(&["list", "plants", "--format", "json"]);
    let is_own = |plant: &&Value| plant["scheme"] == "cautious_waiting";
    assert!(planted[0].as_array().expect("a list").iter().filter(is_own).count() >= 4);
}

#[test]
fn a_run_measures_it_beside_another_scheme() {
    let arguments = ["run", "ycsb", "--scheme", "cautious_waiting,no_wait", "--workers", "2"];
    let times = ["--seconds", "0.2", "--warmup", "0"];
    let runs = lines(&[&arguments[..], &times, &SMALL].concat());
    let names: Vec<&Value> = runs.iter().map(|run| &run["scheme"]).collect();
    assert!(names.contains(&&"cautious_waiting".into()) && names.contains(&&"no_wait".into()), "{names:?}");
    for run in &runs {
        assert_eq!(run["check"]["verdict"], "passed", "{run}");
        assert!(run["commits"].as_u64() > Some(0), "{run}");
    }
}

#[test]
fn a_check_finds_nothing_but_the_bug_that_is_planted() {
    let budget = ["--schedules", "400", "--transactions", "20000", "--format", "json"];
    let report = &lines(&[&["check", "cautious_waiting"], &budget[..]].concat())[0];
    assert_eq!(
        (&report["violations"], &report["promise"]),
        (&Value::Array(Vec::new()), &"strictly serializable".into())
    );
    assert!(report["scripts"].as_u64() > Some(40) && report["schedules"].as_u64() >= Some(400), "{report}");
    let plant = ["--plant", "two_phase_unlocks_reads"];
    let output = command(&[&["check", "cautious_waiting"], &budget[..], &plant].concat());
    assert_eq!(output.status.code(), Some(1), "the bug is found");
    let report: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert!(report["violations"].as_array().is_some_and(|all| !all.is_empty()), "{report}");
}

#[test]
fn a_sweep_takes_it_by_name_and_under_all() {
    let folder = std::env::temp_dir().join(format!("cautious-waiting-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("writable");
    let path = |name: &str| folder.join(name).display().to_string();
    let recipe = |schemes: &str| {
        format!(
            "title = \"a test\"\nworkload = \"ycsb\"\nschemes = {schemes}\nrepeat = 1\nseconds = 0.1\nwarmup = 0.0\n\
             [settings]\nworkers = 1\n\"ycsb.records\" = 1000\n[why]\n\"ycsb.records\" = \"a test\"\n"
        )
    };
    fs::write(path("named.toml"), recipe("[\"no_wait\", \"cautious_waiting\"]")).expect("writable");
    let results = path("results");
    let measured = lines(&["sweep", &path("named.toml"), "--out", &results, "--format", "json"]);
    assert!(measured.iter().any(|line| line["scheme"] == "cautious_waiting"), "{measured:?}");
    let output = command(&["report", &results, "--format", "text"]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("cautious_waiting"));
    fs::write(path("all.toml"), recipe("[\"all\"]")).expect("writable");
    let planned = command(&["sweep", &path("all.toml"), "--out", &path("none"), "--commands"]);
    let planned = String::from_utf8(planned.stdout).expect("it is text");
    assert!(planned.lines().any(|line| line.contains("--scheme cautious_waiting ")), "{planned}");
    fs::remove_dir_all(folder).expect("its own directory");
}
