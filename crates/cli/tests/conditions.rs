//! `contend conditions` and `contend recheck`, as scripts use them.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn output(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.args(line.split_whitespace()).output().expect("the binary starts")
}

fn assert_refused(line: &str, says: &str) {
    let refused = output(line);
    let complaint = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "`{line}`: {complaint}");
    assert!(complaint.contains(says), "`{line}` does not say `{says}`: {complaint}");
    assert!(refused.stdout.is_empty(), "`{line}` printed a result");
}

/// With a margin of 1 one of the two schemes is ahead everywhere, and there is something to claim.
const QUESTION: &str = "conditions ycsb --a silo --b no_wait --vary ycsb.theta=0..0.9,ycsb.read_pct --margin 1 \
                        --set ycsb.workload=custom --set ycsb.records=200 --set ycsb.value_bytes=64 --set workers=1 \
                        --seconds 0.02 --warmup 0 --points 4 --held-out 5 --budget 20m";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("contend-{name}-{}", std::process::id())))
    }

    fn files(&self, of: &str) -> Vec<PathBuf> {
        let Ok(files) = std::fs::read_dir(self.0.join(of)) else { return Vec::new() };
        files.map(|file| file.expect("readable").path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_question_gives_claims_that_can_be_tested_again() {
    let folder = Folder::new("claims");
    let path = folder.0.display();
    let answered = output(&format!("{QUESTION} --out {path}"));
    let text = String::from_utf8_lossy(&answered.stdout);
    assert_eq!(answered.status.code(), Some(0), "{answered:?}");
    assert!(answered.stderr.is_empty(), "silent where there is no terminal");
    assert!(text.contains("4 points explored") && text.contains("5 held out"), "{text}");
    assert!(text.contains("CLAIM ") && text.contains("held-out points agree"), "{text}");
    assert!(folder.0.join("conditions.json").exists());
    let runs = folder.files("runs").len();
    let claims = folder.files("claims");
    assert!(runs >= 68 && !claims.is_empty());

    let again = output(&format!("{QUESTION} --out {path}"));
    assert_eq!(folder.files("runs").len(), runs, "nothing is measured twice");
    assert_eq!(again.stdout, answered.stdout, "and the answer is the same");

    let claim = claims[0].display();
    let tested = output(&format!("recheck {claim} --seed 7 --points 5 --format json"));
    let verdict = String::from_utf8_lossy(&tested.stdout).into_owned();
    // Beside this verdict there is one under the other policy of retry, which decides no exit code.
    let parsed: Value = serde_json::from_str(&verdict).expect("JSON");
    let fails = parsed["verdict"] == "does_not_hold";
    assert!(verdict.contains("\"kind\":\"recheck\"") && verdict.contains("\"points\":5"), "{tested:?}");
    assert_eq!(tested.status.code(), Some(i32::from(fails)), "{verdict}");
    let made = folder.files("runs").len() - runs;
    let of_point = 3 * 2 * 2;
    assert!(
        made >= 5 * of_point && made.is_multiple_of(of_point),
        "{made}: at points of its own, three pairs each under both policies of retry"
    );
    assert_refused(&format!("recheck {claim} --seed 1"), "the claim was tested with this seed");
}

#[test]
fn a_dry_run_measures_nothing() {
    let folder = Folder::new("dry");
    let planned = output(&format!("{QUESTION} --out {} --dry-run", folder.0.display()));
    let text = String::from_utf8_lossy(&planned.stdout);
    assert!(
        text.contains("where does silo beat no_wait") && text.contains("ycsb.theta = 0 .. 0.9"),
        "{text}"
    );
    assert!(planned.status.success() && !folder.0.exists());
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_way_out() {
    let ask = |more: &str| format!("conditions ycsb --a silo --b mvto {more}");
    assert_refused(&ask(""), "--vary");
    assert_refused(&ask("--vary ycsb.tehta"), "did you mean `ycsb.theta`");
    assert_refused(&ask("--vary ycsb.value_bytes"), "ycsb.value_bytes=1..10");
    assert_refused(&ask("--vary ycsb.theta=0..3"), "0.999");
    assert_refused(&ask("--vary ycsb.theta --margin 0.5"), "from 1 on");
    assert_refused(&ask("--vary ycsb.theta --budget 5parsecs"), "`90s`");
    assert_refused(&ask("--vary ycsb.theta --held-out 1"), "--held-out");
    assert_refused(&ask("--vary ycsb.theta --out /dev/null/x"), "--out /dev/null/x");
    assert_refused("conditions --a silo --b silo --vary ycsb.theta", "name two");
    assert_refused("conditions --a silo --b mvto --vary workers", "contend conditions ycsb");
    assert_refused("recheck /nowhere.json", "cannot be read");
    let folder = Folder::new("noclaim");
    std::fs::create_dir_all(&folder.0).expect("writable");
    let file = folder.0.join("a.json");
    std::fs::write(&file, "{\"kind\":\"run\"}").expect("writable");
    assert_refused(&format!("recheck {}", file.display()), "is no claim");
}
