//! The binary as scripts use it: its output, and its exit codes.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};

/// Settings that are small enough to load in a moment.
const TINY: [&str; 8] =
    ["--set", "ycsb.records=500", "--set", "ycsb.value_bytes=64", "--warmup", "0", "--workers", "2"];

fn contend(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.args(line.split_whitespace());
    command
}

fn output(line: &str) -> Output {
    contend(line).output().expect("the binary starts")
}

/// Asserts that a request is refused, that no result is printed, and that the refusal contains `says`.
fn assert_refused(line: &str, says: &str) {
    let refused = output(line);
    let complaint = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "`{line}`: {complaint}");
    assert!(complaint.contains(says), "`{line}` does not say `{says}`: {complaint}");
    assert!(refused.stdout.is_empty(), "`{line}` printed a result");
}

fn run(scheme: &str, more: &str) -> Command {
    let mut command = contend(&format!("run ycsb --scheme {scheme} {more}"));
    command.args(TINY);
    command
}

fn end(mut child: Child) -> Option<i32> {
    child.wait().expect("it was started").code()
}

#[test]
fn wrong_requests_are_refused_with_the_way_out() {
    assert_refused("rum", "run");
    assert_refused("run tpc", "did you mean `tpcc`");
    assert_refused("run ycsb --scheme sillo", "did you mean `silo`");
    assert_refused("run ycsb --set ycsb.thta=0.5", "did you mean `ycsb.theta`");
    assert_refused("run ycsb --set ycsb.theta=1", "from 0 to 0.999");
    assert_refused("run ycsb --set tpcc.warehouses=2", "of workload tpcc");
    assert_refused("run ycsb --seconds 0", "--seconds 5");
    assert_refused("run ycsb --workers 0", "from 1 to 1024");
    assert_refused("run ycsb --txns 10 --seconds 1", "--seconds");
    assert_refused("run ycsb --txns 10 --warmup 1", "--warmup");
    assert_refused("run ycsb --txns 10 --cooldown 1", "--cooldown");
    assert_refused("run ycsb --txns 10 --warmup-txns 10", "add `--machine NAME`");
    assert_refused("run ycsb --set ycsb.ops_per_txn=9 --set ycsb.records=3", "ycsb.distinct=false");
    assert_refused("run ycsb --set ycsb.records=1000000000 --set ycsb.value_bytes=4096", "lower it to");
    assert_refused("run ycsb --out /dev/null/results", "--out /dev/null/results");
    assert_refused("explain tpcc --set tpcc.warehouses=0", "tpcc.warehouses=0");
    assert_refused("list tables", "settings");
}

#[test]
fn output_that_a_full_device_does_not_take_is_an_error() {
    for line in ["list schemes", "run ycsb --set ycsb.records=100 --seconds 0.05 --warmup 0 --format json"] {
        let full = std::fs::File::create("/dev/full").expect("Linux has it");
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        let ended = command.args(line.split_whitespace()).stdout(full).output().expect("the binary starts");
        let complaint = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "`{line}`: {complaint}");
        assert!(complaint.contains("make room"), "{complaint}");
    }
}

#[test]
fn wrong_traffic_is_refused_with_the_way_out() {
    assert_refused("run ycsb --rate 100", "--arrivals poisson");
    assert_refused("run ycsb --arrivals poisson", "--rate 10000");
    assert_refused("run ycsb --arrivals constant --rate 0", "above 0");
    assert_refused("run ycsb --arrivals constant --rate -5", "above 0");
    assert_refused("run ycsb --arrivals sometimes --rate 5", "poisson");
    assert_refused("run ycsb --rtt-us -1", "`tcp` (50)");
    assert_refused("run ycsb --rtt-us udp", "`tcp` (50)");
    assert_refused("run ycsb --mode dialogue", "interactive");
    assert_refused("run ycsb --mode interactive", "--rtt-us tcp");
    assert_refused("run ycsb --mode interactive --rtt-us tcp --batch 4", "leave out `--batch`");
    assert_refused("run ycsb --mode interactive --rtt-us tcp --scheme silo,aria", "aria: a batch");
    assert_refused("run ycsb --scheme aria --arrivals poisson --rate 5", "--arrivals closed");
    let open = "--set run.admission=open";
    assert_refused("run ycsb --scheme aria --clients 4 --set run.admission=single", open);
    assert_refused(
        "run ycsb --scheme silo --clients 4 --set run.admission=single --set run.reorder=keep",
        open,
    );
    assert_refused("run ycsb --batch 0", "from 1 to");
    assert_refused("run ycsb --warmup soon", "`auto`");
    assert_refused("run ycsb --cooldown -1", "--cooldown -1");
    assert_refused("run tpcc --scheme silo --set tpcc.terminals=on --clients 4", "leave out `--clients`");
    assert_refused("run tpcc --scheme silo --set tpcc.wait_scale=0.5", "tpcc.terminals=on");
}

#[test]
fn wrong_checks_are_refused_with_the_way_out() {
    assert_refused("check sillo", "did you mean `silo`");
    assert_refused("check silo --seconds 0", "--seconds 10");
    assert_refused("check silo --plant si_reads_latest", "silo_skips_reads");
    assert_refused("check --plant nothing", "contend list plants");
    assert_refused("check silo --set tpcc.warehouses=2", "no setting of a scheme");
    assert_refused("check silo --set aria.batch=2", "not checked");
    assert_refused("check --replay 1", "name it");
    assert_refused("check silo --replay 1 --format json", "--format");
    assert_refused("check silo --replay insert_after_a_mis", "insert_after_a_miss");
    assert_refused("check silo --schedule 0x3", "--replay");
    assert_refused("check silo --replay 1 --schedule 3y", "0x12,1,0x3");
    assert_refused("check silo --schedules many", "--schedules");
    assert_refused("check silo --export /dev/null/histories", "--export /dev/null/histories");
}

#[test]
fn a_check_says_what_a_scheme_was_seen_to_do() {
    let checked = output("check si silo --schedules 1500 --transactions 3000 --format json");
    let text = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(0), "{text}");
    assert!(checked.stderr.is_empty(), "silent in a pipe");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    for key in ["scheme", "promise", "transactions", "schedules", "scripts", "searches", "violations"] {
        assert!(lines.iter().all(|line| line.contains(&format!("\"{key}\":"))), "{text}");
    }
    assert!(lines[0].contains("\"scheme\":\"si\"") && lines[0].contains("\"write_skew\""), "{text}");
    assert!(lines[1].contains("\"violations\":[]"), "{text}");
}

#[test]
fn a_planted_bug_is_caught_and_the_line_below_it_shows_it_again() {
    let caught = output("check silo --plant silo_skips_reads --seconds 60");
    let text = String::from_utf8_lossy(&caught.stdout);
    assert_eq!(caught.status.code(), Some(1), "{text}");
    assert!(text.contains("BROKEN") && text.contains(" --rw "), "a cycle is shown: {text}");
    let (_, line) = text.split_once(": contend ").expect("the line that brings it back");
    let line = line.lines().next().expect("a line");
    let shown = output(line);
    assert_eq!(shown.status.code(), Some(1), "{line}: {shown:?}");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("committed, stamp"));
    let well = output(&line.replace("--plant silo_skips_reads ", ""));
    assert_eq!(well.status.code(), Some(0), "without the bug the same trial holds: {well:?}");
}

#[test]
fn a_search_finds_what_is_rare_and_its_program_and_schedule_show_it_again() {
    let caught = output("check no_wait --plant insert_shrugs --schedules 1");
    let text = String::from_utf8_lossy(&caught.stdout);
    assert_eq!(caught.status.code(), Some(1), "{text}");
    assert!(text.contains("again with version "), "{text}");
    let (_, line) = text.split_once(": contend ").expect("the line that brings it back");
    let line = line.lines().next().expect("a line");
    assert!(line.contains("--replay insert_after_a_miss --schedule "), "{line}");
    assert_eq!(output(line).status.code(), Some(1), "{line}");
    let well = output("check no_wait --replay insert_after_a_miss");
    assert_eq!(well.status.code(), Some(0), "without the bug the program holds: {well:?}");
    assert!(String::from_utf8_lossy(&well.stdout).contains("committed, stamp"));
}

#[test]
fn what_comes_to_no_end_has_a_verdict_and_a_line_that_shows_it_again() {
    for (scheme, plant, stuck) in [
        ("wound_wait", "wound_wait_wounds_nobody", "deadlock: "),
        ("no_wait", "two_phase_keeps_locks", "livelock: "),
    ] {
        let caught = output(&format!("check {scheme} --plant {plant} --seconds 10"));
        let text = String::from_utf8_lossy(&caught.stdout);
        assert_eq!(caught.status.code(), Some(1), "{text}");
        assert!(text.contains(&format!("{scheme}: {stuck}")), "{text}");
        let (_, line) = text.split_once(": contend ").expect("the line that brings it back");
        let line = line.lines().next().expect("a line");
        let shown = output(line);
        assert_eq!(shown.status.code(), Some(1), "{line}: {shown:?}");
        assert!(String::from_utf8_lossy(&shown.stdout).starts_with(stuck), "{line}: {shown:?}");
        let well = output(&line.replace(&format!("--plant {plant} "), ""));
        assert_eq!(well.status.code(), Some(0), "without the bug the same trial ends: {well:?}");
    }
}

#[test]
fn lists_name_schemes_workloads_and_settings() {
    for (line, names) in [
        ("list schemes", "silo"),
        ("list workloads", "tpcc"),
        ("list plants", "silo: silo_skips_reads"),
        ("list searches", "insert_after_a_miss"),
        ("list schema", "comparison_verdict"),
        ("list schema --format json", "\"$schema\":\"https://json-schema.org/draft/2020-12/schema\""),
        ("list settings --format json", "\"ycsb.theta\""),
    ] {
        let listed = output(line);
        assert!(
            listed.status.success() && String::from_utf8_lossy(&listed.stdout).contains(names),
            "`{line}`"
        );
    }
}

#[test]
fn an_explanation_runs_nothing_and_names_the_hot_set() {
    let explained = output("explain ycsb --set ycsb.theta=0.9");
    let text = String::from_utf8_lossy(&explained.stdout);
    assert!(explained.status.success() && text.contains("theta 0.9"), "{text}");
}

#[test]
fn runs_are_lines_of_json_without_control_characters_and_summaries_follow() {
    let made = run("silo", "--seconds 0.1 --repeat 2 --format json").output().expect("the binary starts");
    let text = String::from_utf8(made.stdout).expect("JSON is UTF-8");
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(made.stderr.is_empty() && !text.contains('\x1b') && !text.contains('\r'));
    let kinds: Vec<bool> = text.lines().map(|line| line.contains("\"kind\":\"run\"")).collect();
    assert_eq!(kinds, [true, true, false]);
    assert!(text.lines().take(2).all(|line| line.contains("\"verdict\":\"passed\"")), "{text}");
}

/// A result of a run of `silo`, as JSON.
fn result_of(more: &str) -> String {
    let made = run("silo", &format!("{more} --format json")).output().expect("the binary starts");
    let text = String::from_utf8_lossy(&made.stdout).into_owned();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(text.contains("\"verdict\":\"passed\""), "{text}");
    text
}

#[test]
fn each_kind_of_traffic_runs_and_says_what_it_was() {
    let dialogue = result_of("--seconds 0.1 --clients 100 --mode interactive --rtt-us tcp");
    for part in ["\"mode\":\"interactive\"", "\"rtt_us\":50", "\"target_sustained\":null"] {
        assert!(dialogue.contains(part), "{part}: {dialogue}");
    }
    let messages = result_of("--seconds 0.1 --batch 8 --rtt-us 3 --cooldown 0.05");
    for part in ["\"batch\":8", "\"cooldown_s\":0.05", "\"service_histogram\":{\"", "\"mode\":\"procedure\""]
    {
        assert!(messages.contains(part), "{part}: {messages}");
    }
    for arrivals in ["constant", "poisson", "bursty"] {
        let set = "--set run.burst_ms=2 --set run.lull_ms=2";
        let open = result_of(&format!("--seconds 0.3 --arrivals {arrivals} --rate 2000 {set}"));
        let said = format!("\"arrivals\":\"{arrivals}\"");
        for part in [said.as_str(), "\"rate_txn_s\":2000.0", "\"skipped\":0", "\"latency_histogram\":{\""] {
            assert!(open.contains(part), "{part}: {open}");
        }
    }
}

#[test]
fn a_rate_beyond_what_can_be_served_is_said_in_words() {
    let more = "--seconds 0.2 --rtt-us 10ms --arrivals constant --rate 10000 --set run.queue_max=10";
    let made = run("silo", more).output().expect("the binary starts");
    let text = String::from_utf8_lossy(&made.stdout);
    assert!(
        text.contains("traffic: procedure, 10.0 ms a request; constant arrivals, 10,000 txn/s"),
        "{text}"
    );
    assert!(
        text.contains("TARGET NOT SUSTAINED: silo (round 1): ") && text.contains("were skipped"),
        "{text}"
    );
    assert!(text.contains("service p99"), "{text}");
}

#[test]
fn terminals_bring_their_clients_and_a_warm_up_can_end_by_itself() {
    let set = ["terminals=on", "wait_scale=0.001", "items=50", "customers_per_district=10"];
    let set: Vec<String> = set.iter().map(|pair| format!("--set tpcc.{pair}")).collect();
    let line = format!(
        "run tpcc --scheme silo --workers 2 --seconds 0.2 --warmup 0.1 --format json {}",
        set.join(" ")
    );
    let terminals = output(&line);
    let text = String::from_utf8_lossy(&terminals.stdout);
    assert_eq!(terminals.status.code(), Some(0), "{}", String::from_utf8_lossy(&terminals.stderr));
    assert!(text.contains("\"clients\":10,") && text.contains("\"tpcc.terminals\":\"on\""), "{text}");
    let mut command =
        contend("run ycsb --scheme silo --workers 1 --seconds 0.1 --warmup auto --set ycsb.records=500");
    let made = command.output().expect("the binary starts");
    let text = String::from_utf8_lossy(&made.stdout);
    assert!(text.contains("0.1 s after a steady state"), "{text}");
    assert!(
        text.contains("warm-up: silo (round 1) was steady after") || text.contains("NOT STEADY: silo"),
        "{text}"
    );
}

#[test]
fn a_run_by_requests_counts_the_same_transactions_each_time() {
    let line = "run ycsb --scheme silo,mvto --set ycsb.records=500 --workers 1 --txns 300 --format json";
    let commits = || {
        let printed = String::from_utf8(output(line).stdout).expect("text");
        let runs = printed.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let runs = runs.filter(|run: &serde_json::Value| run["kind"] == "run");
        runs.map(|run| (run["commits"].clone(), run["txns"].clone(), run["check"]["verdict"].clone()))
            .collect()
    };
    let (first, again): (Vec<_>, Vec<_>) = (commits(), commits());
    assert_eq!((first.len(), &first), (2, &again));
    for run in first {
        assert_eq!(run, (300.into(), 300.into(), "passed".into()));
    }
}

#[test]
fn text_has_a_table_and_the_verdict_of_the_check() {
    let made = run("silo", "--seconds 0.1").output().expect("the binary starts");
    let text = String::from_utf8_lossy(&made.stdout);
    assert!(text.contains("txn/s") && text.contains("check: passed by the run"), "{text}");
}

#[test]
fn a_file_a_run_is_written_where_asked() {
    let folder = std::env::temp_dir().join(format!("contend-command-{}", std::process::id()));
    let mut command = run("silo", "--seconds 0.1 --repeat 2");
    assert!(command.arg("--out").arg(&folder).output().expect("the binary starts").status.success());
    let files = std::fs::read_dir(&folder).expect("the folder was made").count();
    std::fs::remove_dir_all(&folder).expect("it is the test's own");
    assert_eq!(files, 2);
}

/// Makes a run with `--out` under a shell in which no file can grow beyond this many blocks, like on a full disk.
/// Returns the output of the run, and the number of files that it leaves.
#[cfg(unix)]
fn run_with_room_for(blocks: u32) -> (Output, usize) {
    let folder = std::env::temp_dir().join(format!("contend-room-{blocks}-{}", std::process::id()));
    let mut command = Command::new("sh");
    // With the signal ignored, a write beyond the limit is an error like that of a full disk.
    command.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
    let run = run("silo", "--seconds 0.1 --format json");
    command.arg(run.get_program()).args(run.get_args()).arg("--out").arg(&folder);
    let output = command.output().expect("a shell is there");
    let files = std::fs::read_dir(&folder).expect("the folder was made").count();
    std::fs::remove_dir_all(&folder).expect("it is the test's own");
    (output, files)
}

#[cfg(unix)]
#[test]
fn a_disk_that_is_full_is_noticed_before_anything_is_measured() {
    let (refused, files) = run_with_room_for(0);
    let complaint = String::from_utf8_lossy(&refused.stderr);
    assert_eq!((refused.status.code(), files), (Some(2), 0), "{complaint}");
    assert!(refused.stdout.is_empty() && complaint.contains("cannot be written to"), "{complaint}");
}

#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_leaves_the_result_on_standard_output_and_no_part_of_a_file() {
    let (made, files) = run_with_room_for(1);
    let (text, complaint) = (String::from_utf8_lossy(&made.stdout), String::from_utf8_lossy(&made.stderr));
    assert_eq!((made.status.code(), files), (Some(2), 0), "{complaint}");
    assert!(text.contains("\"verdict\":\"passed\""), "{text}");
    assert!(complaint.contains("contend-room-1-") && complaint.contains("make room"), "{complaint}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut command = run("silo", "--seconds 0.05 --repeat 20 --format json");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line comes");
    let mut complaint = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut complaint).expect("it is text");
    assert_eq!((end(child), complaint.as_str()), (Some(0), ""));
}

/// Makes a run of ten minutes and interrupts it this many seconds after its header, which shows that interrupts are
/// handled. Returns the exit code and the output.
#[cfg(unix)]
fn interrupted_after(seconds: f64) -> (Option<i32>, String) {
    let mut command = run("silo", "--seconds 600");
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    let mut text = String::new();
    reader.read_line(&mut text).expect("the header comes");
    let kill = format!("sleep {seconds}; kill -INT {}", child.id());
    let kill = Command::new("sh").args(["-c", &kill]).status();
    assert!(kill.expect("a shell is there").success());
    reader.read_to_string(&mut text).expect("it is text");
    (end(child), text)
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_checked_printed_and_marked() {
    // On a busy machine the interrupt may come before the run has begun. The output says so, and there is no run to
    // check.
    let mut seconds = 0.0;
    loop {
        let (code, text) = interrupted_after(seconds);
        assert_eq!(code, Some(130), "{text}");
        if !text.contains("INTERRUPTED: 0 of 1 runs were made") {
            assert!(text.contains("INTERRUPTED") && text.contains("check: passed"), "{text}");
            break;
        }
        assert!(text.contains("not run") && seconds < 20.0, "{text}");
        seconds = seconds * 2.0 + 0.1;
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_loading() {
    // Loading so many warehouses takes seconds.
    let mut command = contend("run tpcc --scheme silo --workers 1 --set tpcc.warehouses=16 --seconds 600");
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    let mut text = String::new();
    reader.read_line(&mut text).expect("the header comes");
    let kill = format!("sleep 0.5; kill -INT {}", child.id());
    let kill = Command::new("sh").args(["-c", &kill]).status();
    assert!(kill.expect("a shell is there").success());
    reader.read_to_string(&mut text).expect("it is text");
    assert_eq!(end(child), Some(130), "{text}");
    assert!(text.contains("INTERRUPTED: 0 of 1 runs were made"), "{text}");
}

/// A recipe of two points, two schemes and two repetitions, each run a moment.
const RECIPE: &str = r#"
title = "a test"
workload = "ycsb"
schemes = ["serial", "silo"]
repeat = 2
seconds = 0.05
warmup = 0.0
[settings]
workers = 1
"ycsb.records" = 500
"ycsb.value_bytes" = 64
[vary]
"ycsb.theta" = [0.0, 0.9]
[why]
"ycsb.records" = "loads in a moment"
"ycsb.value_bytes" = "loads in a moment"
"ycsb.theta" = "a test"
"#;

/// A directory with the recipe in it, which is removed when the test ends.
struct Sweep(std::path::PathBuf);

impl Sweep {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("contend-sweep-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("writable");
        std::fs::write(path.join("a.toml"), RECIPE).expect("writable");
        Self(path)
    }

    fn run(&self, more: &str) -> Output {
        output(&format!("sweep {} {more}", self.0.join("a.toml").display()))
    }

    /// Returns the names of the result files with this ending.
    fn files(&self, ending: &str) -> Vec<String> {
        let Ok(files) = std::fs::read_dir(self.0.join("a").join("runs")) else { return Vec::new() };
        let name = |file: std::io::Result<std::fs::DirEntry>| {
            let name = file.expect("readable").file_name().into_string().expect("a digest");
            name.rsplit_once('.').is_some_and(|(_, its)| its == ending).then_some(name)
        };
        let mut names: Vec<String> = files.filter_map(name).collect();
        names.sort();
        names
    }

    /// Returns the names of the results.
    fn results(&self) -> Vec<String> {
        self.files("json")
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("its own directory");
    }
}

#[test]
fn a_sweep_measures_each_run_once_and_goes_on_where_it_stopped() {
    let sweep = Sweep::new("resumes");
    let planned = sweep.run("--dry-run");
    assert!(String::from_utf8_lossy(&planned.stdout).contains("8 runs, 0 of them made"), "{planned:?}");
    assert_eq!(sweep.run("--commands").stdout.split(|&byte| byte == b'\n').count(), 9);
    assert!(sweep.results().is_empty(), "nothing was run");

    let first = sweep.run("");
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    assert!(first.stderr.is_empty(), "silent where there is no terminal");
    let names = sweep.results();
    assert_eq!(names.len(), 8);
    let text = String::from_utf8_lossy(&first.stdout);
    assert!(text.contains("of serial") && text.contains("verdict"), "{text}");

    let read =
        |name: &String| std::fs::read_to_string(sweep.0.join("a").join("runs").join(name)).expect("there");
    let before: Vec<String> = names.iter().map(read).collect();
    std::fs::remove_file(sweep.0.join("a").join("runs").join(&names[3])).expect("there");
    let unfinished = sweep.run("--budget 0");
    assert!(String::from_utf8_lossy(&unfinished.stdout).contains("UNFINISHED: 7 of 8"), "{unfinished:?}");
    assert_eq!(sweep.run("--format json").status.code(), Some(0));
    assert_eq!(sweep.results(), names);
    let after: Vec<String> = names.iter().map(read).collect();
    for (nth, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(before == after, nth != 3, "only what was missing is measured");
    }
}

#[test]
fn a_sweep_that_is_interrupted_or_killed_keeps_what_it_has_and_goes_on() {
    let sweep = Sweep::new("killed");
    std::fs::write(sweep.0.join("a.toml"), RECIPE.replace("repeat = 2", "repeat = 50")).expect("writable");
    let start = || {
        let mut command = contend(&format!("sweep {}", sweep.0.join("a.toml").display()));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary starts");
        let before = sweep.results().len();
        // The command handles interrupts before it measures.
        while sweep.results().len() < before + 2 {}
        child
    };
    let mut killed = start();
    killed.kill().expect("it runs");
    killed.wait().expect("it was started");
    let child = start();
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
    assert!(kill.expect("a shell is there").success());
    let interrupted = child.wait_with_output().expect("it was started");
    assert_eq!(interrupted.status.code(), Some(130));
    let text = String::from_utf8_lossy(&interrupted.stdout);
    assert!(sweep.results().len() >= 4 && text.contains("UNFINISHED"), "{text}");
    assert!(sweep.files("partial").is_empty(), "nothing is left of what was cut short");
}

#[test]
fn wrong_sweeps_are_refused_with_the_way_out() {
    let sweep = Sweep::new("refused");
    let recipe = sweep.0.join("a.toml");
    let changed = |from: &str, to: &str| {
        std::fs::write(&recipe, RECIPE.replace(from, to)).expect("writable");
        let refused = sweep.run("");
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(refused.stdout.is_empty() && sweep.results().is_empty());
        String::from_utf8_lossy(&refused.stderr).into_owned()
    };
    assert!(changed("\"serial\"", "\"sreial\"").contains("did you mean `serial`"));
    assert!(changed("repeat = 2", "repeat = 0").contains("`repeat`"));
    assert!(changed("\"ycsb.theta\" = \"a test\"", "").contains("[why]"));
    assert!(changed("[0.0, 0.9]", "[0.0, 1.5]").contains("at ycsb.theta = 1.5"));
    assert!(changed("seconds = 0.05", "seconds = \"long\"").contains("a.toml"));
    assert_refused("sweep /nowhere/a.toml", "cannot be read");
    std::fs::write(&recipe, RECIPE).expect("writable");
    assert_refused(&format!("sweep {} --out /dev/null/x", recipe.display()), "--out /dev/null/x");
    assert_refused(&format!("sweep {} --budget -1", recipe.display()), "--budget -1");
}

#[test]
fn results_are_compared_cell_by_cell_and_can_fail_a_gate() {
    let folder = std::env::temp_dir().join(format!("contend-compare-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let write = |name: &str, scheme: &str, factor: f64| {
        let run = |seed: u32| {
            let throughput = f64::from(seed) * factor;
            format!(
                "{{\"kind\":\"run\",\"workload\":\"ycsb\",\"scheme\":\"{scheme}\",\"seed\":{seed},\
                 \"settings\":{{}},\"throughput_txn_s\":{throughput},\"machine\":{{}}}}\n"
            )
        };
        let path = folder.join(name);
        std::fs::write(&path, (1..=6).map(run).collect::<String>()).expect("writable");
        path.display().to_string()
    };
    let (before, slower, other) =
        (write("a.json", "silo", 100.0), write("b.json", "silo", 80.0), write("c.json", "mvto", 100.0));
    let code = |line: &str| output(&format!("compare {line}")).status.code();
    assert_eq!(code(&format!("{before} {before} --gate")), Some(0));
    assert_eq!(code(&format!("{before} {slower}")), Some(0), "without a gate it only tells");
    assert_eq!(code(&format!("{before} {slower} --gate")), Some(1));
    assert_eq!(code(&format!("{before} {slower} --gate --margin 1.5")), Some(0));
    assert_refused(&format!("compare {before} {other}"), "--across scheme");
    assert_eq!(code(&format!("{before} {other} --across scheme")), Some(0));
    assert_refused(&format!("compare {before} /nowhere"), "cannot be read");
    assert_refused(&format!("compare {before} {slower} --margin 0.5"), "--margin 0.5");
    std::fs::remove_dir_all(folder).expect("its own directory");
}

/// Returns the beginning of a file of a report.
fn beginning(path: &std::path::Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.chars().take(40).collect()
}

#[test]
fn a_sweep_is_reported_as_text_a_page_plots_and_tables() {
    let sweep = Sweep::new("reported");
    assert_eq!(sweep.run("").status.code(), Some(0));
    let results = sweep.0.join("a");
    let report = |more: &str| output(&format!("report {} {more}", results.display()));

    let made = report("");
    let text = String::from_utf8_lossy(&made.stdout);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    assert!(made.stderr.is_empty() && !text.contains('\x1b'), "{text}");
    assert!(text.contains("of serial") && text.contains("Tested: ycsb.theta from 0 to 0.9"), "{text}");
    assert!(text.trim_end().ends_with("report.html"), "where the page is: {text}");
    assert!(beginning(&results.join("report.html")).contains("contend report"));
    let page = std::fs::read(results.join("report.html")).expect("there");
    assert_eq!(report("").status.code(), Some(0), "a report takes the place of an older one");
    assert_eq!(std::fs::read(results.join("report.html")).expect("there"), page, "and is the same");

    let only = report("--format text");
    assert!(text.starts_with(&*String::from_utf8_lossy(&only.stdout)), "{only:?}");
    for (format, file) in [
        ("svg", "plots/throughput-1.svg"),
        ("curves --beside serial", "curves/serial.svg"),
        ("csv", "tables/runs.csv"),
        ("csv", "tables/lines.csv"),
    ] {
        let made = report(&format!("--format {format}"));
        assert_eq!(made.status.code(), Some(0), "{made:?}");
        assert!(String::from_utf8_lossy(&made.stdout).contains(file.split('/').next_back().expect("a name")));
        assert!(!beginning(&results.join(file)).is_empty());
    }
    let rows = std::fs::read_to_string(results.join("tables/runs.csv")).expect("there").lines().count();
    assert_eq!(rows, 9, "a row a run, below the heads");
    assert_eq!(report("--against silo --format text").status.code(), Some(0));
}

#[test]
fn what_cannot_be_reported_is_refused_with_the_way_out() {
    let sweep = Sweep::new("unreported");
    let folder = sweep.0.display();
    assert_refused(&format!("report {folder}"), "contend sweep");
    assert_refused(&format!("report {folder}/nowhere"), "cannot be read");
    std::fs::write(sweep.0.join("odd.json"), "{\"kind\": \"run\"").expect("writable");
    assert_refused(&format!("report {folder}"), "is not JSON");
    let result = "{\"kind\":\"run\",\"workload\":\"ycsb\",\"scheme\":\"silo\",\"throughput_txn_s\":1}";
    std::fs::write(sweep.0.join("odd.json"), result).expect("writable");
    assert_refused(&format!("report {folder} --against mvto"), "give one of silo");
    assert_refused(&format!("report {folder} --format text --out x"), "--out");
    assert_refused(&format!("report {folder} --beside silo"), "--format curves");
    assert_refused(&format!("report {folder} --format curves --beside mvto"), "give one of silo");
    assert_refused(&format!("report {folder} --format curves"), "--format svg");
    if !cfg!(feature = "parquet") {
        assert_refused(&format!("report {folder} --format parquet"), "--features parquet");
    }
    assert_refused(&format!("report {folder} --out {folder}"), "is a directory");
    assert_refused(&format!("report {folder} --out {folder}/a.toml"), "move it away");
    assert_refused(&format!("report {folder} --out {folder}/a.toml/x.html"), "cannot be written to");
    assert_eq!(
        std::fs::read_to_string(sweep.0.join("a.toml")).expect("there"),
        RECIPE,
        "nothing was touched"
    );
    assert_eq!(output(&format!("report {folder}")).status.code(), Some(0), "what a run leaves is enough");
}
