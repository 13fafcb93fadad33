//! Kills: a process that writes real files is ended at each system call in turn. The files that it leaves are compared
//! with the commits that it reported as durable. A power failure is out of scope here: the simulated disk tests it.

use std::env;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use durability::disk::{Directory, File, RealDirectory};
use durability::{Layouts, Log, LogSink, OpenError, Options, Order, Store, TableLayout};
use engine::{AnyKey, TableId};
use stdx::Rng;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Latched};

/// The environment variable that marks a child process: the directory, the number of the script, and the call at which
/// the process ends.
const CHILD: &str = "CONTEND_KILLED_CHILD";

/// The exit status of a child that has ended at its call.
const KILLED: i32 = 99;

/// A directory that ends the process at a call.
#[derive(Debug)]
struct Mortal {
    inner: Arc<dyn Directory>,
    life: Arc<Life>,
}

#[derive(Debug)]
struct MortalFile {
    inner: Arc<dyn File>,
    life: Arc<Life>,
}

/// The number of calls that are left.
#[derive(Debug)]
struct Life(AtomicU64);

impl Life {
    /// Counts a call, and ends the process at the last. Returns `true` for the call before the last, of which a write
    /// is made only in part.
    fn call(&self) -> bool {
        // Relaxed: one thread.
        let left = self.0.fetch_sub(1, Ordering::Relaxed);
        if left == 1 {
            // As after a kill, the system keeps the data of earlier calls, and nothing else.
            process::exit(KILLED);
        }
        left == 2
    }
}

impl Directory for Mortal {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn files(&self) -> io::Result<Vec<String>> {
        self.inner.files()
    }

    fn create(&self, file: &str) -> io::Result<Arc<dyn File>> {
        self.life.call();
        Ok(Arc::new(MortalFile { inner: self.inner.create(file)?, life: Arc::clone(&self.life) }))
    }

    fn open(&self, file: &str) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(MortalFile { inner: self.inner.open(file)?, life: Arc::clone(&self.life) }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.life.call();
        self.inner.rename(from, to)
    }

    fn remove(&self, file: &str) -> io::Result<()> {
        self.life.call();
        self.inner.remove(file)
    }

    fn sync(&self) -> io::Result<()> {
        self.life.call();
        self.inner.sync()
    }
}

impl File for MortalFile {
    fn bytes(&self) -> io::Result<u64> {
        self.inner.bytes()
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(offset, to)
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> io::Result<usize> {
        // Only the first half of the last write is made.
        let from = if self.life.call() { &from[..from.len().div_ceil(2)] } else { from };
        self.inner.write_at(offset, from)
    }

    fn sync(&self) -> io::Result<()> {
        self.life.call();
        self.inner.sync()
    }
}

fn layouts() -> Layouts {
    let table =
        |name: &str, groups| TableLayout { name: name.to_owned(), is_heap: false, key_words: 1, groups };
    Layouts(vec![table("counter", vec![1]), table("entries", vec![1, 2])])
}

fn options() -> Options {
    Options {
        sessions: 1,
        order: Order::Counter,
        segment_bytes: 12 << 10,
        parts: 2,
        database: 1,
        ..Options::default()
    }
}

fn devices(script: u64) -> usize {
    1 + script as usize % 2
}

fn directories(at: &Path, script: u64) -> Result<Vec<Arc<dyn Directory>>, io::Error> {
    let device = |number: usize| -> Result<Arc<dyn Directory>, io::Error> {
        Ok(Arc::new(RealDirectory::new(&at.join(number.to_string()))?))
    };
    (0..devices(script)).map(device).collect()
}

/// Returns the counter, and the keys of the entries.
fn recovered(found: &durability::Found) -> Result<(u64, Vec<u64>), OpenError> {
    let rows = Latched::new((0, Vec::new()));
    found.restore(1, |_| {
        |table: TableId, key: AnyKey, words: &[u64]| {
            let mut rows = rows.lock();
            let AnyKey::One(key) = key else { panic!("keys have a word") };
            if table.0 == 0 { rows.0 = words[0] } else { rows.1.push(key) }
        }
    })?;
    let (counter, mut entries) = rows.into_inner();
    entries.sort_unstable();
    Ok((counter, entries))
}

/// Makes commit number `number`: sets the counter, adds one entry, and deletes one.
fn commit(sink: &mut LogSink, number: u64) {
    sink.open();
    sink.write(TableId(0), None, AnyKey::One(0), Some(&[number]));
    sink.write(TableId(1), None, AnyKey::One(number), Some(&[number; 3]));
    if number > 4 {
        sink.write(TableId(1), None, AnyKey::One(number - 4), None);
    }
    sink.close();
}

/// The work of a child: opens the database, commits, and writes the number of the last durable commit to the file
/// `said` after each round.
fn live(at: &Path, script: u64, calls: u64) -> Result<(), Box<dyn core::error::Error>> {
    let life = Arc::new(Life(AtomicU64::new(calls)));
    let mortal = |inner| -> Arc<dyn Directory> { Arc::new(Mortal { inner, life: Arc::clone(&life) }) };
    let directories = directories(at, script)?.into_iter().map(mortal).collect();
    let found = Store::open(directories, &layouts(), options())?;
    let (mut number, _) = recovered(&found)?;
    let mut rng = Rng::from_path(&[script, number]);
    let mut rounds = found.start()?;
    let log: Log = rounds.log();
    let mut sink = log.plain_sink();
    for _ in 0..6 {
        for _ in 0..=rng.below(3) {
            number += 1;
            commit(&mut sink, number);
        }
        rounds.round()?;
        fs::write(at.join("said"), number.to_string())?;
        if rng.below(3) == 0 {
            let cut = rounds.roll()?;
            log.glean(&cut, 1)?;
        }
    }
    drop(sink);
    if script.is_multiple_of(3) {
        rounds.close()?;
    }
    Ok(())
}

/// The entry point of a child, which the tests below start.
#[test]
fn a_child_lives() {
    let Ok(child) = env::var(CHILD) else { return };
    let mut parts = child.split(' ');
    let at = PathBuf::from(parts.next().expect("a directory"));
    let mut number = || parts.next().and_then(|number| number.parse().ok()).expect("a number");
    let (script, calls) = (number(), number());
    live(&at, script, calls).expect("the system works");
}

/// Runs a child that ends at a call. Returns `true` if the child finished its work before that call.
fn child(at: &Path, script: u64, calls: u64) -> bool {
    let mut child = Command::new(env::current_exe().expect("a test is a file"));
    child.args(["--exact", "a_child_lives", "--test-threads=1"]);
    child.env(CHILD, format!("{} {script} {calls}", at.display()));
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the system works");
    let (mut said, mut failed) = (String::new(), String::new());
    child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    child.stderr.take().expect("piped").read_to_string(&mut failed).expect("text");
    let status = child.wait().expect("the system works");
    assert!(status.success() || status.code() == Some(KILLED), "a child fails by itself: {said}{failed}");
    status.success()
}

#[test]
fn a_kill_at_any_call_loses_nothing_that_was_acknowledged() {
    kill(1, 500);
}

#[test]
#[ignore = "takes minutes"]
fn nor_do_five_thousand() {
    kill(1_000, 5_000);
}

/// Kills the children of one script after another, at each of their calls, at least `least` times in total.
fn kill(first: u64, least: u32) {
    let mut kills = 0;
    for script in first.. {
        let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kills-{}-{script}", process::id()));
        for calls in 1.. {
            // Each call is tried from an empty directory, and then again on the files that the previous child left.
            let again = calls % 2 == 0;
            if !again {
                _ = fs::remove_dir_all(&at);
                fs::create_dir_all(&at).expect("the system works");
            }
            let has_ended = child(&at, script, calls);
            let said =
                fs::read_to_string(at.join("said")).ok().and_then(|said| said.parse().ok()).unwrap_or(0);
            let directories = directories(&at, script).expect("the system works");
            let found = Store::open(directories, &layouts(), options());
            let found = found.unwrap_or_else(|error| panic!("script {script}, call {calls}: {error}"));
            let (counter, entries) = recovered(&found).expect("what was written makes sense");
            assert!(counter >= said, "script {script}, call {calls}: {counter} of {said}");
            let expected: Vec<u64> = (counter.saturating_sub(3).max(1)..=counter).collect();
            assert_eq!(entries, expected, "script {script}, call {calls}: no commit is half there");
            kills += u32::from(!has_ended);
            if has_ended && !again {
                break;
            }
        }
        _ = fs::remove_dir_all(&at);
        if kills >= least {
            return;
        }
    }
}
