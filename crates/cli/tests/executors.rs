//! Sweeps beyond one process: single runs, job arrays, merging, the lock of the host, Ray's absence, and the probe. The
//! cluster itself is `tests/cluster/ray.sh`.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use sync::waiter;

const RECIPE: &str = r#"
title = "hosts"
workload = "ycsb"
schemes = ["silo", "serial"]
repeat = 2
seconds = 0.05
warmup = 0.0
[settings]
workers = 1
"ycsb.records" = 500
[vary]
"ycsb.theta" = [0.0, 0.9]
[why]
"ycsb.records" = "loads in a moment"
"ycsb.theta" = "a test"
"#;
/// The numbers of runs and blocks of the recipe.
const RUNS: usize = 8;
const BLOCKS: usize = 4;
/// Long enough for a sweep to make a run, if it did not wait.
const A_WHILE_NS: u64 = 500_000_000;

/// A directory with a recipe and a lock file of its own, which stands for a host. It is removed when the test ends.
struct Host(PathBuf);

impl Host {
    fn new(name: &str, recipe: &str) -> Self {
        let path = std::env::temp_dir().join(format!("contend-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("writable");
        fs::write(path.join("a.toml"), recipe).expect("writable");
        Self(path)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.args(line.split_whitespace()).current_dir(&self.0).env("CONTEND_LOCK", self.lock());
        command
    }

    fn lock(&self) -> PathBuf {
        self.0.join("host.lock")
    }

    fn output(&self, line: &str) -> Output {
        self.command(line).output().expect("the binary starts")
    }

    /// Returns the output of a command, which must succeed.
    fn prints(&self, line: &str) -> String {
        let ended = self.output(line);
        assert_eq!(ended.status.code(), Some(0), "`{line}`: {ended:?}");
        String::from_utf8(ended.stdout).expect("text")
    }

    fn assert_refused(&self, line: &str, says: &str) {
        let refused = self.output(line);
        let complaint = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "`{line}`: {complaint}");
        assert!(complaint.contains(says), "`{line}` does not say `{says}`: {complaint}");
    }

    fn start(&self, line: &str) -> Child {
        let mut command = self.command(line);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts")
    }

    /// Returns the files of a directory's results, with their texts, in order.
    fn results(&self, folder: &str) -> Vec<(PathBuf, String)> {
        let Ok(files) = fs::read_dir(self.0.join(folder).join("runs")) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("readable"))).collect()
    }

    /// Returns the script that `contend` wrote, under the name that it printed, and the lines of its blocks.
    fn job_array(&self) -> (PathBuf, Vec<String>) {
        let told = self.prints("sweep a.toml --executor slurm");
        let script = told.lines().find_map(|line| line.trim().strip_prefix("sbatch ")).expect("what to type");
        let blocks = fs::read_to_string(Path::new(script).with_extension("blocks")).expect("beside it");
        (script.into(), blocks.lines().map(str::to_owned).collect())
    }

    /// Runs a task of a job array as Slurm would run it.
    fn task(&self, script: &Path, number: usize) {
        let mut bash = Command::new("bash");
        bash.arg(script).env("SLURM_ARRAY_TASK_ID", number.to_string()).env("CONTEND_LOCK", self.lock());
        let ended = bash.current_dir("/").output().expect("bash is there");
        assert!(ended.status.success(), "{ended:?}");
    }

    /// Whether a process measures on the host.
    fn is_taken(&self) -> bool {
        let Ok(file) = File::open(self.lock()) else { return false };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Waits until a program handles interrupts, which it does once it begins to measure.
fn wait_until_it_listens(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let is_caught = || {
        let text = fs::read_to_string(&status).expect("it runs");
        assert!(!text.contains("State:\tZ"), "it has ended");
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("as proc(5) has it");
        // SIGINT is the second signal.
        u64::from_str_radix(mask.trim(), 16).expect("a mask") & 0b10 != 0
    };
    while !is_caught() {
        waiter::pause_ns(A_WHILE_NS / 50);
    }
}

fn interrupt(child: &Child) {
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
    assert!(kill.expect("a shell is there").success());
}

#[test]
fn the_tasks_of_a_job_array_make_a_sweep_and_those_of_the_next_what_is_left() {
    let host = Host::new("array", RECIPE);
    let (script, blocks) = host.job_array();
    assert_eq!(blocks.len(), BLOCKS);
    assert!(host.results("a").is_empty(), "nothing is measured by writing a script");
    let is_bash = Command::new("bash").arg("-n").arg(&script).status().expect("bash is there");
    assert!(is_bash.success());

    host.task(&script, 2);
    let made = host.results("a");
    let ids: Vec<&str> = made.iter().filter_map(|(path, _)| path.file_stem()?.to_str()).collect();
    let mut wanted: Vec<&str> = blocks[1].split(',').collect();
    wanted.sort_unstable();
    assert_eq!(ids, wanted, "a task makes its block and no other");

    let (rest, blocks) = host.job_array();
    assert_eq!(blocks.len(), BLOCKS - 1, "only what is left");
    (1..=blocks.len()).for_each(|number| host.task(&rest, number));
    let all = host.results("a");
    assert_eq!(all.len(), RUNS);
    host.task(&script, 2);
    host.task(&rest, 1);
    assert_eq!(host.results("a"), all, "nothing is measured twice");
    assert!(made.iter().all(|file| all.contains(file)));
    assert!(host.prints("sweep a.toml --executor slurm").contains("nothing is left"));
    let table = host.prints("sweep a.toml --budget 0");
    assert!(!table.contains("UNFINISHED") && table.contains("of silo"), "{table}");
}

#[test]
fn single_runs_say_what_they_are_and_those_of_another_recipe_are_refused() {
    let host = Host::new("only", RECIPE);
    let (_, blocks) = host.job_array();
    let line = format!("sweep a.toml --only {} --out elsewhere", blocks[0]);
    assert_eq!(host.prints(&line).lines().filter(|line| line.contains(" txn/s")).count(), 2);
    let printed = host.prints(&format!("{line} --format json"));
    let kept = host.results("elsewhere");
    assert_eq!(kept.len(), 2);
    for text in printed.lines() {
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert!(kept.iter().any(|(_, kept)| kept.trim() == text), "what is printed is what is kept");
        for key in ["id", "build", "command", "point", "repetition", "attempts"] {
            assert!(!value[key].is_null(), "no {key}");
        }
    }
    let stranger = "0123456789abcdef0123";
    host.assert_refused(&format!("sweep a.toml --only {stranger} --out new"), stranger);
    host.assert_refused(&format!("sweep a.toml --only {stranger} --dry-run"), "--dry-run");
    assert!(host.results("new").is_empty());
}

#[test]
fn directories_are_merged_by_id_and_foreign_files_refused() {
    let host = Host::new("merge", RECIPE);
    let (_, blocks) = host.job_array();
    host.prints(&format!("sweep a.toml --only {},{} --out one", blocks[0], blocks[1]));
    host.prints(&format!("sweep a.toml --only {},{},{} --out two", blocks[1], blocks[2], blocks[3]));
    let told = host.prints("merge all one two");
    assert!(told.starts_with("8 results taken, 2 there already\n"), "{told}");
    assert_eq!(told.matches("was made twice").count(), 2, "{told}");
    let all = host.results("all");
    assert!(
        host.results("one").iter().all(|(_, text)| all.iter().any(|(_, kept)| kept == text)),
        "the first stays"
    );
    assert!(host.prints("merge all one two").starts_with("0 results taken, 10 there already"));
    assert!(!host.prints("sweep a.toml --out all --budget 0").contains("UNFINISHED"));

    fs::write(host.0.join("two/runs/notes.txt"), "mine").expect("writable");
    host.assert_refused("merge fresh one two", "notes.txt");
    assert!(host.results("fresh").is_empty());
    host.assert_refused("merge all nowhere", "has no results");
    host.assert_refused("merge all", "FROM");
}

#[test]
fn a_sweep_waits_for_its_host_and_can_be_stopped_meanwhile() {
    let host = Host::new("waits", RECIPE);
    let held = File::create(host.lock()).expect("writable");
    held.lock().expect("free");
    let mut stopped = host.start("sweep a.toml");
    let mut waiting = host.start("sweep a.toml");
    wait_until_it_listens(&stopped);
    wait_until_it_listens(&waiting);
    waiter::pause_ns(A_WHILE_NS);
    assert!(host.results("a").is_empty() && waiting.try_wait().expect("started").is_none());
    interrupt(&stopped);
    assert_eq!(stopped.wait().expect("started").code(), Some(130));
    drop(held);
    assert_eq!(waiting.wait().expect("started").code(), Some(0));
    assert_eq!(host.results("a").len(), RUNS);
    assert!(!host.is_taken());
}

#[test]
fn a_run_keeps_its_host_when_the_sweep_is_killed() {
    let host = Host::new("orphan", &RECIPE.replace("seconds = 0.05", "seconds = 3.0"));
    let mut sweep = host.start("sweep a.toml");
    while !host.is_taken() {}
    waiter::pause_ns(A_WHILE_NS);
    sweep.kill().expect("it runs");
    sweep.wait().expect("started");
    assert!(host.is_taken(), "the run goes on");
    while host.is_taken() {
        waiter::pause_ns(A_WHILE_NS / 10);
    }
}

#[test]
fn a_lock_that_cannot_be_had_is_told() {
    let host = Host::new("nolock", RECIPE);
    let refused =
        host.command("sweep a.toml").env("CONTEND_LOCK", "/dev/null/lock").output().expect("starts");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("CONTEND_LOCK"), "{refused:?}");
}

#[test]
fn what_other_hosts_would_do_otherwise_is_refused() {
    let host = Host::new("portable", &RECIPE.replace("workers = 1", ""));
    host.assert_refused("sweep a.toml --executor slurm", "workers = 2");
    host.assert_refused("sweep a.toml --executor ray", "workers = 2");
    host.assert_refused("sweep a.toml --executor cloud", "slurm");
    let host = Host::new("budget", RECIPE);
    host.assert_refused("sweep a.toml --executor slurm --budget 5", "scancel");
    let host = Host::new("it's", RECIPE);
    host.assert_refused("sweep a.toml --executor slurm", "rename it");
}

/// A script that stands for Python: it says that the driver is installed, and prints the content of a file.
const DRIVER: &str = "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\nread -r plan\ncat \"$0.says\"\nexit 2\n";

#[test]
fn a_driver_that_is_missing_broken_or_refuses_is_told_with_the_way_out() {
    let host = Host::new("ray", RECIPE);
    let python = host.0.join("python3");
    let says = |says: &str| {
        let mut command = host.command("sweep a.toml --executor ray");
        let refused = command.env("PATH", format!("{}:/bin", host.0.display())).output().expect("starts");
        let complaint = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(says), "does not say `{says}`: {complaint}");
    };
    let be = |script: &str, answer: &str| {
        fs::write(host.0.join("python3.says"), answer).expect("writable");
        // Written elsewhere and renamed: a file that is being written cannot be started.
        let fresh = host.0.join("fresh");
        fs::write(&fresh, script).expect("writable");
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o700)).expect("its own file");
        fs::rename(fresh, &python).expect("its own file");
    };
    let missing =
        host.command("sweep a.toml --executor ray").env("PATH", "/nowhere").output().expect("starts");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("install Python"), "{missing:?}");
    assert_eq!(missing.status.code(), Some(2));
    be("#!/bin/sh\necho No module named contend_ray >&2\nexit 1\n", "");
    says("pip install ./python/contend_ray");
    be(DRIVER, "{\"kind\": \"refused\", \"says\": \"no Ray cluster is found: ray start\"}\n");
    says("--executor ray`: no Ray cluster is found");
    be(DRIVER, "Traceback\n");
    says("no JSON");
    be(DRIVER, "");
    says("ended with");
    be(DRIVER, "{\"kind\": \"block\", \"results\": [{\"kind\": \"run\", \"id\": \"x\"}], \"placed\": {}}\n");
    says("was not requested");
}

#[test]
fn a_probe_says_what_fits_and_why_and_a_plan_what_applies() {
    let host = Host::new("probe", &RECIPE.replace("workers = 1", "workers = 1000"));
    let text = host.prints("probe");
    for part in ["processor", "memory nodes", "- workers: ", "- tpcc.warehouses: ", "- ycsb.records: "] {
        assert!(text.contains(part), "no `{part}`: {text}");
    }
    let object: Value = serde_json::from_str(&host.prints("probe --format json")).expect("JSON");
    for key in ["cores", "physical_cores", "numa_nodes", "caches", "clock_source", "governor", "load_average"]
    {
        assert!(!object["machine"][key].is_null(), "no {key}");
    }
    assert!(object["rules"][0]["why"].is_string() && object["warnings"].is_array());
    fs::write(
        host.0.join("a.toml"),
        RECIPE.replace("workers = 1", "workers = 1000").replace("\"serial\"", "\"mvto\""),
    )
    .expect("writable");
    assert!(host.prints("sweep a.toml --dry-run").contains("up to 1000 workers, and "));
}
