//! A process that is killed at any time: no commit is lost that it was told was durable, and no transaction is half
//! there.

mod place;

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use contend::{Database, Handle, OpenError, Options, Table};
use place::Place;
use stdx::Rng;
use sync::workers;

/// The variable that makes a process a child; its value is the directory.
const CHILD: &str = "CONTEND_KILLED_CHILD";
const WRITERS: u64 = 2;
const ACCOUNTS: u64 = 8;
const CENTS: i64 = 1_000;
/// Number of entries that a writer keeps.
const KEPT: u64 = 5;

#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "accounts")]
struct Account {
    #[key]
    id: u64,
    #[index]
    cents: i64,
}

/// An entry of a writer, which records one of its last transfers.
#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "entries")]
struct Entry {
    #[key]
    writer: u64,
    #[key]
    number: u64,
    cents: i64,
}

struct Bank {
    db: Database,
    accounts: Handle<Account>,
    entries: Handle<Entry>,
}

impl Bank {
    fn open(path: &Path) -> Result<Self, OpenError> {
        // Checkpoints run most of the time.
        let options = Options::new().table::<Account>().table::<Entry>().checkpoint_bytes(60_000);
        let db = Database::open(path, options)?;
        let accounts = db.table().expect("it was declared");
        let entries = db.table().expect("it was declared");
        Ok(Self { db, accounts, entries })
    }

    /// The numbers of a writer's entries, in order.
    fn numbers(&self, writer: u64) -> Vec<u64> {
        let range = (writer, 0)..=(writer, u64::MAX);
        let read = self.db.snapshot(|txn| {
            txn.scan(self.entries, range.clone())
                .map(|entry| Ok(entry?.number))
                .collect::<Result<Vec<_>, _>>()
        });
        read.expect("it reads")
    }

    /// Moves money, and inserts entry `number` in place of the entry that has become too old.
    fn step(&self, writer: u64, number: u64, rng: &mut Rng) {
        let (from, to, cents) = (rng.below(ACCOUNTS), rng.below(ACCOUNTS), rng.below(20) as i64);
        let moved = self.db.transact(|txn| {
            txn.update(self.accounts, from, |account| account.cents -= cents)?;
            txn.update(self.accounts, to, |account| account.cents += cents)?;
            txn.insert(self.entries, &Entry { writer, number, cents })?;
            txn.delete(self.entries, (writer, number.saturating_sub(KEPT)))
        });
        moved.expect("the device works");
    }
}

/// The child process, run by the tests below: prints each durable number, until it is killed.
#[test]
fn a_child_writes() {
    let Ok(path) = env::var(CHILD) else { return };
    let bank = match Bank::open(Path::new(&path)) {
        Ok(bank) => bank,
        Err(error) => return say(&format!("refused {error}")),
    };
    if bank.db.counters().recovered_rows == 0 {
        let fill = |id| bank.db.transact(|txn| txn.insert(bank.accounts, &Account { id, cents: CENTS }));
        (0..ACCOUNTS).for_each(|id| assert!(fill(id).expect("the device works")));
    }
    say("ready");
    workers::run(WRITERS as usize, false, |worker| {
        let writer = worker as u64;
        let mut number = bank.numbers(writer).last().copied().unwrap_or(0);
        let mut rng = Rng::from_path(&[writer, number]);
        loop {
            number += 1;
            bank.step(writer, number, &mut rng);
            say(&format!("{writer} {number}"));
        }
    });
}

/// Prints a separate line, past the output of the test harness.
fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@{what}\n").as_bytes()).expect("somebody reads");
    out.flush().expect("somebody reads");
}

fn child(path: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(env::current_exe().expect("a test is a file"));
    child.args(["--exact", "a_child_writes", "--test-threads=1", "--nocapture"]).env(CHILD, path);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the system works");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    (child, lines.map_while(Result::ok).filter_map(|line| line.strip_prefix('@').map(str::to_owned)))
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged_and_leaves_no_half() {
    let place = Place::new("killed");
    let mut rng = Rng::from_path(&[7]);
    let (mut acknowledged, mut heard_of) = ([0; WRITERS as usize], 0);
    for kill in 0..20 {
        let (mut child, mut lines) = child(place.path());
        let mut hear = |line: String| {
            let Some((writer, number)) = line.split_once(' ') else { return };
            let (writer, number): (usize, u64) =
                (writer.parse().expect("a number"), number.parse().expect("one"));
            acknowledged[writer] = acknowledged[writer].max(number);
            heard_of += 1;
        };
        let ready = lines.next().expect("it opens");
        assert_eq!(ready, "ready", "kill {kill}");
        lines.by_ref().take(1 + rng.below(60) as usize).for_each(&mut hear);
        // SIGKILL. The output before it is in the pipe.
        child.kill().expect("it runs");
        lines.for_each(&mut hear);
        child.wait().expect("it ran");
        let bank = Bank::open(place.path()).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        judge(&bank, acknowledged, kill);
    }
    assert!(heard_of > 100, "{heard_of} commits");
}

fn judge(bank: &Bank, acknowledged: [u64; WRITERS as usize], kill: usize) {
    let sum = bank.db.snapshot(|txn| {
        let by_cents = txn.scan_by(bank.accounts, Account::BY_CENTS, ..).count() as u64;
        assert_eq!(by_cents, ACCOUNTS, "kill {kill}");
        txn.scan(bank.accounts, ..).map(|account| Ok(account?.cents)).sum::<Result<i64, _>>()
    });
    assert_eq!(sum.expect("it reads"), CENTS * ACCOUNTS as i64, "kill {kill}: no half of a transfer");
    for (writer, acknowledged) in (0..).zip(acknowledged) {
        let numbers = bank.numbers(writer);
        let last = numbers.last().copied().unwrap_or(0);
        assert!(
            last >= acknowledged,
            "kill {kill}, writer {writer}: {last}, and {acknowledged} was acknowledged"
        );
        let expected: Vec<u64> = (last.saturating_sub(KEPT - 1).max(1)..=last).collect();
        assert_eq!(numbers, expected, "kill {kill}, writer {writer}: up to some commit, and each whole");
    }
}

#[test]
fn another_process_is_kept_out_until_the_first_has_ended() {
    let place = Place::new("kept_out");
    let bank = Bank::open(place.path()).expect("it opens");
    let (mut refused, mut lines) = child(place.path());
    let says = lines.next().expect("it says why");
    assert!(says.starts_with("refused") && says.contains("kept_out: is open already"), "{says}");
    refused.wait().expect("it ends");
    drop(bank);
    let (mut first, mut lines) = child(place.path());
    assert_eq!(lines.next().as_deref(), Some("ready"));
    assert!(matches!(Bank::open(place.path()), Err(OpenError::Locked { .. })));
    first.kill().expect("it runs");
    first.wait().expect("it ran");
    Bank::open(place.path()).expect("a lock ends with its process");
}
