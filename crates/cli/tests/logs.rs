//! Logs of runs, as scripts use them: what a log keeps, what is recovered, and what is refused.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The number of customers of the bank that runs load.
const ACCOUNTS: u64 = 300;

/// A directory of one test, which is removed when this value is dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("contend-logs-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("writable");
        Self(path)
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it is the test's own");
    }
}

fn contend(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.args(line.split_whitespace());
    command
}

/// Returns the command of a run that is logged.
fn run(scheme: &str, more: &str, log: &Path) -> Command {
    let set = format!("--set smallbank.accounts={ACCOUNTS}");
    let mut command =
        contend(&format!("run smallbank --scheme {scheme} --warmup 0 --workers 2 {set} {more}"));
    command.arg("--log").arg(log);
    command
}

fn recover(log: &Path, more: &str) -> Output {
    contend(&format!("recover {} {more}", log.display())).output().expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn assert_refused(output: &Output, says: &str) {
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains(says) && output.stdout.is_empty(), "{complaint}");
}

#[test]
fn the_log_of_a_run_is_recovered_under_its_scheme_and_under_another() {
    let place = Place::new("kept");
    let log = place.log();
    let more = "--seconds 0.3 --clients 32 --durability group --set run.checkpoint_ms=50 --format json";
    let made = run("no_wait", more, &log).output().expect("the binary starts");
    let told = text(&made.stdout);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    assert!(told.contains("\"run.durability\":\"group\"") && told.contains("\"file_systems\":["), "{told}");
    assert!(told.contains("\"verdict\":\"passed\"") && !told.contains("\"log\":null"), "{told}");
    let rows = format!("\"rows\":{}", 3 * ACCOUNTS);
    for more in ["", "--scheme mvto --workers 1", "--scheme aria"] {
        let found = recover(&log, &format!("{more} --format json"));
        let told = text(&found.stdout);
        assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
        for part in [rows.as_str(), "\"was_closed\":true", "\"verdict\":\"passed\""] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    assert_refused(&recover(&log, "--scheme slo"), "did you mean `silo`");
    assert_refused(&recover(&log, "--workers 0"), "from 1 to");
    let again = run("silo", "--seconds 0.1 --durability async", &log).output().expect("the binary starts");
    assert_refused(&again, "contend recover");
    let idle = run("silo", "--seconds 0.1", &place.0.join("other")).output().expect("the binary starts");
    assert_refused(&idle, "give `--durability async`");
    assert_refused(&recover(&place.0, ""), "has no database");
}

#[test]
fn a_run_that_is_killed_leaves_what_was_durable_and_rot_in_it_is_noticed() {
    let place = Place::new("killed");
    let log = place.log();
    let mut command = run("silo", "--seconds 600 --clients 16 --durability group", &log);
    let mut child = command.stdout(Stdio::null()).spawn().expect("the binary starts");
    // Each segment is twice as long as the part of the previous segment that was needed.
    let [segment, later] = [1, 3].map(|number| log.join(format!("log-{number:012}")));
    while !later.exists() {
        assert_eq!(child.try_wait().expect("it was started"), None, "it runs on");
        assert!(Command::new("sleep").arg("0.05").status().expect("there is one").success());
    }
    assert_refused(&recover(&log, ""), "wait until it ends");
    child.kill().expect("it runs");
    child.wait().expect("it was started");
    let found = recover(&log, "");
    let told = text(&found.stdout);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    assert!(told.contains(&format!("{} rows from", 3 * ACCOUNTS)), "{told}");
    assert!(told.contains("the log was not closed: the process that wrote it ended before"), "{told}");
    assert!(told.contains("check: passed"), "{told}");
    let found = recover(&log, "--format json");
    let told = text(&found.stdout);
    assert!(told.contains("\"was_closed\":false") && told.contains("\"torn\":["), "{told}");
    let whole = fs::read(&segment).expect("readable");
    let mut rotten = whole.clone();
    rotten[20_000] ^= 4;
    fs::write(&segment, rotten).expect("writable");
    assert_refused(&recover(&log, ""), "log-000000000001: at byte");
    fs::write(&segment, whole).expect("writable");
    // Damage to the last segment is noticed, too, although a crash might have torn its end.
    let last = last_segment(&log);
    let bytes = fs::metadata(&last).expect("readable").len();
    let file = fs::File::options().write(true).open(&last).expect("writable");
    file.set_len(bytes - 1).expect("writable");
    assert_refused(&recover(&log, ""), &format!("the file was cut off: 1 of its {bytes} bytes are missing"));
}

/// Returns the last segment of a log that has a block after the page of its header.
fn last_segment(log: &Path) -> PathBuf {
    let files = fs::read_dir(log).expect("readable").map(|entry| entry.expect("readable").path());
    let is_segment = |path: &PathBuf| {
        let is_named_so = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log-"));
        is_named_so && fs::read(path).expect("readable").get(4_096).is_some_and(|byte| *byte != 0)
    };
    files.filter(is_segment).max().expect("there is a log")
}

#[test]
fn a_run_whose_log_finds_no_room_is_no_result_and_says_so() {
    let place = Place::new("full");
    let mut command = Command::new("sh");
    // With the signal ignored, a write beyond the limit is an error like that of a full disk.
    command.args(["-c", "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\""]);
    let run = run("silo", "--seconds 600 --durability async --format json", &place.log());
    let made = command.arg(run.get_program()).args(run.get_args()).output().expect("a shell is there");
    assert_refused(&made, "no room is left");
}

#[test]
fn a_program_that_is_ended_leaves_no_temporary_log() {
    let place = Place::new("ended");
    let line = "run smallbank --scheme silo --workers 1 --warmup 0 --seconds 600 --durability async";
    let mut command = contend(line);
    command.args(["--set", "smallbank.accounts=300000"]).env("TMPDIR", &place.0);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    // Rows are loaded by then in most cases. The first interrupt ends the run, and the second one the program, while
    // the run is checked.
    let kill = format!(
        "for i in $(seq 1000); do ls {}/* > /dev/null && break; sleep 0.01; done; sleep 1; kill -INT {1}; \
         sleep 0.01; kill -INT {1}",
        place.0.display(),
        child.id()
    );
    let kill = Command::new("sh").args(["-c", &kill]).status();
    assert!(kill.expect("a shell is there").success(), "the run had ended");
    assert_eq!(child.wait().expect("it was started").code(), Some(130));
    assert_eq!(fs::read_dir(&place.0).expect("readable").count(), 0);
}

#[test]
fn a_run_that_is_interrupted_while_it_loads_leaves_room_for_another_log() {
    let place = Place::new("loading");
    // Loading so many warehouses takes seconds.
    let line = "run tpcc --scheme silo --workers 1 --set tpcc.warehouses=16 --seconds 600 --durability async";
    let log = place.log();
    let child = contend(line).arg("--log").arg(&log).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("the binary starts");
    let kill = format!(
        "for i in $(seq 1000); do ls {}/* > /dev/null && break; sleep 0.01; done; sleep 0.2; kill -INT {}",
        log.display(),
        child.id()
    );
    let kill = Command::new("sh").args(["-c", &kill]).status();
    assert!(kill.expect("a shell is there").success(), "the run had ended");
    assert_eq!(child.wait().expect("it was started").code(), Some(130));
    let again = run("silo", "--seconds 0.1 --durability async", &log).output().expect("the binary starts");
    assert!(again.status.success(), "{}", text(&again.stderr));
}
