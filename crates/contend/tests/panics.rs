//! Calls of a program's panic hook for panics within transactions: once for a panic that is believed, and never for
//! others. Each case is a process of its own, whose error output is checked.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::process::Command;

use contend::{Database, Error, Handle, Options, Table, in_transaction};
use sync::workers;

#[derive(Clone, Debug, PartialEq, Table)]
struct Row {
    #[key]
    id: u64,
    value: i64,
}

/// The variable that names the case of a child process.
const CHILD: &str = "CONTEND_PANICS";

fn rows() -> (Database, Handle<Row>) {
    let db = Database::in_memory(Options::new().table::<Row>()).expect("legal options");
    let rows = db.table::<Row>().expect("it was declared");
    let fill = |txn: &mut contend::Txn<'_>| {
        (0..2).try_for_each(|id| txn.insert(rows, &Row { id, value: 0 }).map(drop))
    };
    db.transact(fill).expect("it commits");
    (db, rows)
}

/// Both rows always have the same value. A body that sees two states panics, and its panic is not believed.
fn discarded(db: &Database, rows: Handle<Row>) {
    let mut attempts = 0;
    db.transact(|txn| {
        attempts += 1;
        let first = txn.get(rows, 0)?.expect("it is there");
        if attempts <= 3 {
            workers::run(1, false, |_| {
                let write = |txn: &mut contend::Txn<'_>| {
                    (0..2).try_for_each(|id| txn.update(rows, id, |row| row.value += 1).map(drop))
                };
                db.transact(write).expect("it commits");
            });
        }
        let second = txn.get(rows, 1)?.expect("it is there");
        assert_eq!(first.value, second.value, "two states in one attempt");
        Ok(())
    })
    .expect("it commits");
    assert_eq!(attempts, 4, "three attempts have seen two states");
}

fn believed(db: &Database) -> Box<dyn core::any::Any + Send> {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        db.transact(|_| -> Result<(), Error> { panic!("the planted one is believed") })
    }));
    ended.expect_err("the panic goes on")
}

/// Panics within a transaction of another database: in an attempt that is not believed, and in an attempt that is.
fn nested(db: &Database) {
    let (other, others) = rows();
    let mut attempts = 0;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        other.transact(|txn| {
            attempts += 1;
            txn.get(others, 0)?;
            if attempts == 1 {
                workers::run(1, false, |_| {
                    let write = other.transact(|txn| txn.update(others, 0, |row| row.value += 1));
                    write.expect("it commits");
                });
            }
            db.transact(|_| -> Result<(), Error> { panic!("nested attempt {attempts}") })
        })
    }));
    ended.expect_err("it goes on");
    assert_eq!(attempts, 2);
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the second");
    }
}

/// The cases that child processes run.
fn play(case: &str) {
    let (db, rows) = rows();
    match case {
        "discarded" => discarded(&db, rows),
        "believed" => {
            let panic = believed(&db);
            let text = panic.downcast_ref::<&str>().expect("what was thrown");
            assert_eq!(*text, "the planted one is believed");
        }
        "both" => {
            discarded(&db, rows);
            believed(&db);
            discarded(&db, rows);
        }
        "outside" => {
            discarded(&db, rows);
            _ = catch_unwind(|| panic!("outside of any transaction"));
        }
        "caught within" => {
            let caught = |_: &mut contend::Txn<'_>| {
                _ = catch_unwind(|| panic!("the body has caught it"));
                Ok(())
            };
            db.transact(caught).expect("it commits");
        }
        "resumed" => {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                db.transact(|_| -> Result<(), Error> { resume_unwind(Box::new("not said before either")) })
            }));
            ended.expect_err("it goes on");
        }
        "nested" => nested(&db),
        "another thread" => {
            let ended = catch_unwind(AssertUnwindSafe(|| workers::run(1, false, |_| drop(believed(&db)))));
            ended.expect("it was caught there");
        }
        "own hook" => {
            let before = take_hook();
            set_hook(Box::new(move |info| {
                if !in_transaction() {
                    say(&format!("own hook: {}\n", info.payload_as_str().unwrap_or("none")));
                }
                before(info);
            }));
            discarded(&db, rows);
            believed(&db);
        }
        "an abort" => {
            let explode = |_: &mut contend::Txn<'_>| -> Result<(), Error> {
                let _bomb = Bomb;
                panic!("the first")
            };
            _ = db.transact(explode);
        }
        other => panic!("no case {other}"),
    }
    say("the end\n");
}

fn say(what: &str) {
    use std::io::Write;
    std::io::stderr().write_all(what.as_bytes()).expect("somebody reads");
}

#[test]
fn a_child_plays() {
    if let Ok(case) = env::var(CHILD) {
        play(&case);
    }
}

/// The output of a child that runs a case, and whether it has ended well.
fn played(case: &str) -> (String, bool) {
    let mut child = Command::new(env::current_exe().expect("a test is a file"));
    child.args(["--exact", "a_child_plays", "--test-threads=1", "--nocapture"]);
    let ended = child.env(CHILD, case).env("RUST_BACKTRACE", "0").output().expect("the system works");
    let said = String::from_utf8(ended.stderr).expect("it is text");
    assert_eq!(ended.status.success(), said.contains("the end"), "{case}: {said}");
    (said, ended.status.success())
}

/// Counts the occurrences of a text in a child's output.
#[track_caller]
fn says(case: &str, what: &[(&str, usize)]) -> String {
    let (said, is_well) = played(case);
    assert!(is_well, "{case}: {said}");
    for (text, times) in what {
        assert_eq!(said.matches(text).count(), *times, "{case}: {text:?} in\n{said}");
    }
    said
}

#[test]
fn nothing_is_said_of_panics_that_are_not_believed() {
    says("discarded", &[("panicked", 0), ("two states", 0)]);
}

#[test]
fn a_panic_that_is_believed_is_said_once_with_its_message_and_its_place() {
    let said =
        says("believed", &[("panicked", 1), ("the planted one is believed", 1), ("tests/panics.rs:", 1)]);
    let line = 1 + include_str!("panics.rs")
        .lines()
        .position(|line| line.contains("panic!(\"the planted one"))
        .unwrap();
    assert!(said.contains(&format!("panics.rs:{line}:")), "line {line} in\n{said}");
    says("both", &[("panicked", 1), ("the planted one is believed", 1), ("two states", 0)]);
}

#[test]
fn panics_elsewhere_are_said_as_ever() {
    says("outside", &[("panicked", 1), ("outside of any transaction", 1)]);
    says("resumed", &[("panicked", 0)]);
    says("another thread", &[("panicked", 1), ("the planted one is believed", 1)]);
}

#[test]
fn a_panic_that_a_body_has_caught_is_said_when_the_body_is_believed() {
    says("caught within", &[("panicked", 1), ("the body has caught it", 1)]);
}

#[test]
fn of_a_transaction_within_another_databases_the_outer_one_decides() {
    says("nested", &[("panicked", 1), ("nested attempt 1", 0), ("nested attempt 2", 1)]);
}

#[test]
fn a_hook_that_is_set_later_and_asks_hears_of_what_is_believed() {
    says("own hook", &[("own hook: the planted one is believed", 1), ("panicked", 1), ("two states", 0)]);
}

#[test]
fn nothing_is_lost_when_two_panics_end_the_process() {
    let (said, is_well) = played("an abort");
    assert!(!is_well && said.contains("the first") && said.contains("the second"), "{said}");
}
