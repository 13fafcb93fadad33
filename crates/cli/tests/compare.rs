//! `contend compare --gate` on runs that are really made: the differences that the gate lets pass, and those that it
//! does not.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Repetitions of each side: six pairs may decide, four never do.
const ROUNDS: usize = 6;

/// A directory that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("contend-gate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("writable");
        Self(path)
    }

    /// Makes the runs of a side, and returns their directory.
    fn side(&self, name: &str, rounds: usize, more: &[&str]) -> PathBuf {
        let path = self.0.join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.args([
            "run",
            "ycsb",
            "--scheme",
            "silo",
            "--workers",
            "1",
            "--seconds",
            "0.2",
            "--warmup",
            "0.05",
        ]);
        command.args(["--set", "ycsb.records=500", "--set", "ycsb.value_bytes=64", "--repeat"]);
        command.arg(rounds.to_string()).args(more).arg("--out").arg(&path);
        let made = command.output().expect("the binary starts");
        assert!(made.status.success(), "{made:?}");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("its own directory");
    }
}

/// Other work that keeps all cores busy until it is dropped.
struct Neighbours(Vec<Child>);

impl Neighbours {
    /// Starts `each` busy processes for each core.
    fn new(each: usize) -> Self {
        let cores = sync::workers::cores();
        let busy = |_| {
            let mut shell = Command::new("sh");
            shell.args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn().expect("a shell is there")
        };
        Self((0..each * cores).map(busy).collect())
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().expect("it is our own");
            child.wait().expect("it was started");
        }
    }
}

/// Compares two sides under a gate. Returns the exit code and the output.
fn gate(first: &Path, second: &Path, more: &str) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_contend"))
        .arg("compare")
        .args([first, second])
        .arg("--gate")
        .args(more.split_whitespace())
        .output()
        .expect("the binary starts");
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.code(), text)
}

#[test]
fn a_planted_slowdown_fails_the_gate_and_the_same_settings_pass_it() {
    let folder = Folder::new("planted");
    let before = folder.side("before", ROUNDS, &[]);
    let same = folder.side("same", ROUNDS, &[]);
    // The confidence of six pairs depends on the machine, but chance does not make a side three times slower.
    let (code, text) = gate(&before, &same, "--margin 3 --allow undecided");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("6 pairs") && text.contains("gate: passes"), "{text}");
    // Each transaction waits for a time by the clock, so that no machine can make it fast.
    for (pause, verdict) in
        [("run.pause_us=20", "gate: FAILS: 1 "), ("run.pause_us=2000", "gate: FAILS: 1 slower")]
    {
        let slower = folder.side(pause, ROUNDS, &["--set", pause]);
        let (code, text) = gate(&before, &slower, "--across run.pause_us");
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("6 pairs") && text.contains(verdict), "{text}");
    }
}

#[test]
fn a_single_pair_does_not_pass() {
    let folder = Folder::new("single");
    let [before, after] = ["before", "after"].map(|name| folder.side(name, 1, &[]));
    let (code, text) = gate(&before, &after, "");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("UNDECIDED: ycsb silo: a single pair"), "{text}");
    assert!(text.contains("at least 5 repetitions are needed"), "{text}");
    assert_eq!(gate(&before, &after, "--allow undecided").0, Some(0));
    for (more, says) in [
        ("--allow undecidd", "did you mean `undecided`?"),
        ("--allow slower", "for a cell by its name only"),
        ("--allow silo", "the name of a cell: `ycsb silo`"),
    ] {
        let (code, text) = gate(&before, &after, more);
        assert!(code == Some(2) && text.contains(says), "{more}: {text}");
    }
}

#[test]
fn busy_neighbours_of_one_side_are_no_slowdown_and_hide_none() {
    let folder = Folder::new("neighbours");
    let before = folder.side("before", ROUNDS, &[]);
    let (beside, slower) = {
        let _neighbours = Neighbours::new(8);
        let slower = folder.side("slower", ROUNDS, &["--set", "run.pause_us=2000"]);
        (folder.side("beside", ROUNDS, &[]), slower)
    };
    let (code, text) = gate(&before, &beside, "--margin 2 --allow undecided");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("processor time") && text.contains("by wall time"), "{text}");
    assert!(text.contains("of 12 runs were starved"), "{text}");
    let (code, text) = gate(&before, &slower, "--margin 2 --across run.pause_us");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("gate: FAILS: 1 slower"), "{text}");
}

#[test]
fn nothing_is_allowed_without_a_gate() {
    let refused = Command::new(env!("CARGO_BIN_EXE_contend"))
        .args(["compare", "a", "b", "--allow", "lost"])
        .output()
        .expect("the binary starts");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--gate"), "{refused:?}");
}
