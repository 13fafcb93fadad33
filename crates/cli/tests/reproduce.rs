//! Experiments of the literature and sensitivity, as scripts use them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn output(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.args(line.split_whitespace()).output().expect("the binary starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Asserts that a request is refused, that no result is printed, and that the refusal contains `says`.
fn assert_refused(line: &str, says: &str) {
    let refused = output(line);
    let complaint = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "`{line}`: {complaint}");
    assert!(complaint.contains(says), "`{line}` does not say `{says}`: {complaint}");
    assert!(refused.stdout.is_empty(), "`{line}` printed a result");
}

/// A directory of results, which is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("contend-{name}-{}", std::process::id())))
    }

    /// Returns the names of the results with their texts.
    fn results(&self) -> Vec<(String, String)> {
        let files = std::fs::read_dir(self.0.join("runs")).expect("there were runs");
        let told = |file: std::io::Result<std::fs::DirEntry>| {
            let file = file.expect("readable");
            let text = std::fs::read_to_string(file.path()).expect("readable");
            (file.file_name().into_string().expect("a digest"), text)
        };
        let mut results: Vec<_> = files.map(told).collect();
        results.sort();
        results
    }

    fn read(&self, path: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.0.join(path)).expect("there")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("its own directory");
    }
}

#[test]
fn the_catalogue_is_listed_with_what_each_experiment_waits_for() {
    let listed = output("reproduce --list");
    assert_eq!(listed.status.code(), Some(0));
    assert!(text(&listed).contains("110 experiments: "), "{}", text(&listed));
    let objects = text(&output("reproduce --list --format json"));
    assert_eq!(objects.lines().count(), 110);
    assert!(
        objects.lines().all(|line| line.contains("\"kind\":\"experiment\"") && line.contains("\"status\":"))
    );
}

#[test]
fn nothing_is_predicted_from_a_part_of_the_runs() {
    let folder = Folder::new("predict");
    let line = format!("reproduce C-17 --predict --budget 0.1s --out {}", folder.0.display());
    assert_refused(&line, "runs of the recipe c-17 are missing, and the figures need all of them");
}

#[test]
fn constants_are_changed_for_experiments_with_simulated_runs() {
    assert_refused("reproduce C-17 --constants 1", "--constants 0.7,1.3");
    assert_refused("reproduce C-17 --constants 0.7 --only memory.speed", "memory.latency_ns");
    assert_refused("reproduce C-17 --only memory.latency_ns", "--constants");
    assert_refused("reproduce C-17 --constants 0.7 --predict", "--predict");
    assert_refused("reproduce S-F7 --constants 0.7", "S-F7 has no simulated runs");
    let only = "--only hops.1.round_trip_ns,memory.latency_ns";
    let planned = output(&format!("reproduce C-17 --constants 0.7,1.3 {only} --dry-run"));
    let told = text(&planned);
    assert!(told.contains("24 runs, 0 of them made"), "one run of each: {told}");
    assert!(told.contains("again with each of 4 changed constants: 288 runs, 0 of them made"), "{told}");
}

#[test]
fn a_whole_figure_has_more_points_than_the_part_that_a_recipe_takes() {
    let planned = |option: &str| text(&output(&format!("reproduce B-16{option} --dry-run")));
    assert!(planned("").contains("12 points") && planned(" --whole").contains("20 points"));
    assert_refused("reproduce S-F7 --whole", "S-F7 take no part of a larger figure: leave `--whole` out");
    assert_refused("reproduce --list --whole", "--whole");
}

#[test]
fn what_cannot_be_repeated_is_refused_with_the_reason() {
    assert_refused("reproduce S-F1c", "waits for replication");
    assert_refused("reproduce B-20", "not testable here: the product is not named");
    assert_refused("reproduce S-F5d", "did you mean `S-F5");
    assert_refused("reproduce", "--list");
    assert_refused("reproduce F-0 --list", "--list");
    assert_refused("reproduce F-0 --budget soon", "`30m`");
    assert_refused("reproduce F-0 --repeat 0", "`repeat`");
    assert_refused("reproduce S-F7 --predict", "S-F7 has no simulated runs");
    assert_refused("reproduce S-F7 --predict --dry-run", "--dry-run");
    assert_refused("reproduce F-0 --repeat 1 --out /dev/null/x", "--out /dev/null/x");
    assert_refused("reproduce S-F7 --out /dev/null/x", "--out /dev/null/x");
}

#[test]
fn a_claim_of_closed_form_is_decided_and_kept() {
    let folder = Folder::new("closed-form");
    let found = output(&format!("reproduce s-f7 --out {}", folder.0.display()));
    assert_eq!(found.status.code(), Some(0), "{found:?}");
    assert!(
        text(&found).contains("verdict: holds (holds: hottest-of-1m, ")
            && text(&found).contains("refuted by: "),
        "{}",
        text(&found)
    );
    assert!(folder.read("claims/S-F7.json").contains("\"kind\": \"reproduction\""));
}

#[test]
fn a_recipe_is_run_once_and_its_claim_is_beside_the_literatures() {
    let folder = Folder::new("smallest");
    let line = format!("reproduce F-0 --repeat 1 --out {}", folder.0.display());
    let planned = text(&output(&format!("{line} --dry-run")));
    assert!(planned.contains("2 runs, 0 of them made") && planned.contains("119,881"), "{planned}");
    assert!(!folder.0.exists(), "nothing was run");
    let first = output(&line);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    assert!(
        text(&first).contains("verdict: undecided (undecided: no-aborts, rollbacks; "),
        "one repetition decides nothing: {}",
        text(&first)
    );
    let results = folder.results();
    assert_eq!(results.len(), 2);
    let again = text(&output(&format!("{line} --format json")));
    assert_eq!(folder.results(), results, "nothing is measured twice");
    for part in [
        "\"kind\":\"reproduction\"",
        "\"verdict\":\"undecided\"",
        "--seed 1001",
        "\"trust_if_nothing_starves\":\"A\"",
    ] {
        assert!(again.contains(part), "no {part} in {again}");
    }
    assert!(
        results.iter().all(|(_, run)| run.contains("TMPDIR=/dev/shm contend run")),
        "with a log in memory"
    );
    let id = results[0].0.trim_end_matches(".json");
    assert!(folder.read("claims/F-0.json").contains(id), "the evidence is named");
    assert!(folder.read("recipe-1.toml").contains("workload = \"tpcc\""));
}

#[test]
fn what_a_scheme_cannot_run_of_a_recipe_is_left_out_and_said() {
    let folder = Folder::new("left-out");
    std::fs::create_dir_all(&folder.0).expect("writable");
    let recipe = folder.0.join("a.toml");
    let lines = "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\", \"uncontrolled\"]\nrepeat = 1\n\
                 seconds = 0.05\nwarmup = 0.0\n[settings]\n\"ycsb.records\" = 500\n[[variants]]\nname = \"alone\"\n\
                 workers = 1\n[[variants]]\nname = \"together\"\nworkers = 2\n[why]\n\"ycsb.records\" = \"a test\"\n";
    std::fs::write(&recipe, lines).expect("writable");
    let line = format!("sweep {} --out {}", recipe.display(), folder.0.join("a").display());
    let made = text(&output(&line));
    let says = "left out: uncontrolled at 1 point, the first at variant = together: ";
    assert!(made.contains(says) && made.contains("alone"), "{made}");
    let objects = text(&output(&format!("{line} --format json")));
    assert_eq!(objects.matches("\"kind\":\"point\"").count(), 3, "{objects}");
    assert_eq!(objects.matches("\"kind\":\"left_out\"").count(), 1, "{objects}");
}

const SMALL: &str = "sensitivity ycsb --schemes silo,no_wait --vary ycsb.theta=0..0.9,ycsb.read_pct=0..100 \
                     --set ycsb.workload=custom --set ycsb.records=500 --set workers=1 --seconds 0.05 --warmup 0";

#[test]
fn sensitivity_is_measured_once_and_says_what_it_does_not_know() {
    let folder = Folder::new("sensitivity");
    let line = format!("{SMALL} --points 6 --budget 5m --out {}", folder.0.display());
    let planned = output(&format!("{line} --dry-run"));
    assert!(text(&planned).contains("10 trajectories of 4 points"), "{planned:?}");
    assert!(!folder.0.exists(), "nothing was run");
    let first = output(&line);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    assert!(
        text(&first).contains("measured: 6 points") && text(&first).contains("1 trajectory"),
        "{}",
        text(&first)
    );
    let results = folder.results();
    assert_eq!(results.len(), 12);
    let again = text(&output(&format!("{line} --format json")));
    assert_eq!(folder.results(), results, "nothing is measured twice");
    assert!(
        again.contains("\"kind\":\"sensitivity\"") && again.contains("\"of\":\"no_wait/silo\""),
        "{again}"
    );
    assert_eq!(folder.read("sensitivity.json"), again);
}

#[test]
fn wrong_questions_of_sensitivity_are_refused_with_the_way_out() {
    assert_refused("sensitivity ycsb --schemes silo", "--vary");
    assert_refused("sensitivity ycsb --schemes silo --vary ycsb.tehta", "did you mean `ycsb.theta`");
    assert_refused("sensitivity ycsb --schemes sillo --vary ycsb.theta", "did you mean `silo`");
    assert_refused("sensitivity ycsb --schemes silo --vary tpcc.warehouses", "of workload tpcc");
    assert_refused(&format!("{SMALL} --set ycsb.theta=0.5"), "both fixed and varied");
    assert_refused(&format!("{SMALL} --method guess"), "morris");
    assert_refused(&format!("{SMALL} --budget 0m"), "`30m`");
    assert_refused(&format!("{SMALL} --points 1"), "--points");
}
