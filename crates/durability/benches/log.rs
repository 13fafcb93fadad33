//! Benchmark of the log: the throughput and the pauses of TPC-C under Silo with one worker, without a log, with a log
//! that is written behind, and with a log for which answers wait, in turns; the same while checkpoints are made; and
//! the speed of the recovery of rows.
//!
//! `cargo bench -p contend-durability --bench log -- DIRECTORY [tpcc|recovery] [NAME=NUMBER ..]`
//!
//! Numbers of both: `rounds`, and for the log `sessions`, `ring_kib` of all rings, `epoch_us`. Numbers of `tpcc`:
//! `requests` of a run, and `modes`, the sum of 1 for no log, 2 for `async`, 4 for `group`, 8 for `async` while
//! checkpoints are made one after the other, 16 for `group` while they are made. Numbers of `recovery`: `rows`,
//! `rows_of_commit`, `workers`, and `ordered=1` for an ordered index.
//!
//! The latency of a transaction is the time from its first attempt until its client has the answer: at its end, or,
//! with `group`, when it is durable.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to a terminal")]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durability::disk::{Directory, RealDirectory};
use durability::{CommitTicket as Due, Found, Layouts, Log, LogSink, LoggedLoader, Options, Restored, Store};
use engine::setting::{Settings, Values};
use engine::{
    AnyKey, ClientId, Database, Drive, Env, Forecast, Groups, Homes, Loader, Lookup, Row, Schema, Scheme,
    Share, Sink, TableId, Ticket, Workload,
};
use schemes::optimistic::silo::Silo;
use stdx::{Histogram, Rng};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, Background, clock, workers};
use workloads::tpcc::Tpcc;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The arguments of the program.
struct Asked {
    directory: PathBuf,
    what: String,
    numbers: Vec<(String, u64)>,
}

impl Asked {
    fn read() -> Option<Self> {
        // Cargo adds an option of its own.
        let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
        let directory = PathBuf::from(words.next()?);
        let (mut what, mut numbers) = ("tpcc".to_owned(), Vec::new());
        for word in words {
            match word.split_once('=') {
                Some((name, number)) => numbers.push((name.to_owned(), number.parse().ok()?)),
                None => what = word,
            }
        }
        Some(Self { directory, what, numbers })
    }

    fn number(&self, name: &str, else_: u64) -> u64 {
        self.numbers.iter().find(|(given, _)| given == name).map_or(else_, |(_, number)| *number)
    }

    fn options(&self) -> Options {
        let standard = Options::default();
        Options {
            sessions: self.number("sessions", 4) as usize,
            epoch_ns: self.number("epoch_us", standard.epoch_ns / 1_000) * 1_000,
            ring_bytes: self.number("ring_kib", standard.ring_bytes as u64 >> 10) as usize * 1024,
            database: 7,
            ..standard
        }
    }
}

fn main() -> ExitCode {
    let Some(asked) = Asked::read() else {
        eprintln!(
            "log: give a directory, `tpcc` or `recovery`, and perhaps numbers: `log /tmp/log tpcc rounds=5`"
        );
        return ExitCode::from(2);
    };
    match asked.what.as_str() {
        "tpcc" => compare(&asked),
        "recovery" => recover(&asked),
        what => {
            eprintln!("log: there is no `{what}`: give `tpcc` or `recovery`");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The moment at which a client is told that it has committed, and whether checkpoints are made meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    None,
    Async,
    Group,
    /// Like `Async`, while checkpoints are made one after the other.
    Checkpoint,
    /// Like `Group`, while checkpoints are made one after the other.
    GroupCheckpoint,
}

impl Mode {
    const ALL: [Self; 5] = [Self::None, Self::Async, Self::Group, Self::Checkpoint, Self::GroupCheckpoint];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Async => "async",
            Self::Group => "group",
            Self::Checkpoint => "async, checkpoints",
            Self::GroupCheckpoint => "group, checkpoints",
        }
    }

    fn waits(self) -> bool {
        matches!(self, Self::Group | Self::GroupCheckpoint)
    }

    fn has_checkpoints(self) -> bool {
        matches!(self, Self::Checkpoint | Self::GroupCheckpoint)
    }
}

/// An empty directory at this path; a directory that is there is removed first.
fn directory(path: &Path) -> Arc<dyn Directory> {
    _ = std::fs::remove_dir_all(path);
    Arc::new(RealDirectory::new(path).expect("the directory can be made"))
}

/// Median, least and greatest.
fn spread(mut of: Vec<f64>) -> (f64, f64, f64) {
    of.sort_by(f64::total_cmp);
    (of[of.len() / 2], of[0], of[of.len() - 1])
}

/// Runs all modes in turns.
fn compare(asked: &Asked) {
    let wanted = asked.number("modes", 0b0111);
    let modes: Vec<Mode> = Mode::ALL
        .into_iter()
        .enumerate()
        .filter(|(nth, _)| wanted >> nth & 1 == 1)
        .map(|(_, mode)| mode)
        .collect();
    let mut rounds: Vec<Vec<Ran>> = modes.iter().map(|_| Vec::new()).collect();
    for round in 0..asked.number("rounds", 5) {
        for (of_mode, mode) in rounds.iter_mut().zip(&modes) {
            let ran = run(asked, *mode);
            let [p50, p99, p999, most] = ran.latencies_us();
            println!(
                "{round:>3} {:<18} {:>8.1} thousand txn/s  {:>6.0} bytes a transaction  p50 {p50:.0} us  \
                 p99 {p99:.0} us  p99.9 {p999:.0} us  most {most:.0} us  {} checkpoints",
                mode.name(),
                ran.rate / 1e3,
                ran.bytes,
                ran.checkpoints,
            );
            of_mode.push(ran);
        }
    }
    let first: Vec<f64> = rounds[0].iter().map(|ran| ran.rate).collect();
    for (mode, of_mode) in modes.iter().zip(&rounds) {
        let rates = || of_mode.iter().map(|ran| ran.rate);
        let ratios = rates().zip(&first).map(|(rate, first)| rate / first).collect();
        let (rate, least, greatest) = spread(rates().collect());
        let (ratio, lowest, highest) = spread(ratios);
        println!(
            "{:<18} {:>6.1} ({:.1} .. {:.1})  to {} {ratio:.3} ({lowest:.3} .. {highest:.3})",
            mode.name(),
            rate / 1e3,
            least / 1e3,
            greatest / 1e3,
            modes[0].name()
        );
        for (nth, what) in ["p50", "p99", "p99.9", "most"].into_iter().enumerate() {
            let (us, least, greatest) = spread(of_mode.iter().map(|ran| ran.latencies_us()[nth]).collect());
            println!("{:<18} {what:>6} {us:.0} us ({least:.0} .. {greatest:.0})", "");
        }
    }
}

/// A loader that discards all rows.
struct Nowhere;

impl Loader for Nowhere {
    fn insert<G: Groups>(&mut self, _: G, _: G::Key, _: G::Rows<'_>) {}
}

/// The results of a run.
struct Ran {
    rate: f64,
    bytes: f64,
    /// The number of checkpoints that were made meanwhile.
    checkpoints: u64,
    latencies: Histogram,
}

impl Ran {
    /// The latencies of the 50%, 99%, 99.9% and 100% quantiles, in microseconds.
    fn latencies_us(&self) -> [f64; 4] {
        [0.5, 0.99, 0.999, 1.0].map(|share| self.latencies.quantile(share) as f64 / 1e3)
    }
}

fn run(asked: &Asked, mode: Mode) -> Ran {
    let requests = asked.number("requests", 300_000);
    let values = Values::new(<Silo as Scheme>::Settings::ALL.iter().chain(Tpcc::SETTINGS), &[])
        .expect("the standard settings");
    let mut schema = Schema::new();
    let drive = Drive { workers: 1, clients: 1, seed: 1 };
    let tpcc = Tpcc::declare(&values, drive, &mut schema).expect("the standard settings");
    let db =
        Database::<Silo>::new(&schema, &values, Env { slots: 4, workers: 1 }).expect("the standard settings");
    db.load(&tpcc, 1);
    let Forecast { growth_bytes, growth_rows, .. } = tpcc.forecast();
    db.reserve((growth_bytes as usize + growth_rows as usize * 128) * requests as usize, 1);
    if mode == Mode::None {
        return work(&db, &tpcc, requests, (), |()| None, None);
    }
    let home = directory(&asked.directory.join("log"));
    let found = Store::open(vec![home], &Layouts::of(db.tables()), asked.options()).expect("it is new");
    let running = found.start().expect("the disk works").spawn();
    let log = running.log().clone();
    let (is_over, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    if mode.has_checkpoints() {
        // The rows from which a checkpoint is made.
        tpcc.load(Share::WHOLE, &mut LoggedLoader::new(&log, &mut Nowhere));
        // Otherwise the first transactions would wait for these rows.
        log.wait(log.present()).expect("the disk works");
    }
    let loaded = log.written().1;
    let beside = mode.has_checkpoints().then(|| {
        let (log, is_over, made) = (log.clone(), Arc::clone(&is_over), Arc::clone(&made));
        Background::start("checkpoints", move || {
            // Relaxed: a flag.
            while !is_over.load(Ordering::Relaxed) {
                log.checkpoint(1).expect("the disk works");
                made.fetch_add(1, Ordering::Relaxed); // Relaxed: a count.
            }
        })
    });
    let waits = mode.waits().then(|| log.clone());
    let mut ran = work(
        &db,
        &tpcc,
        requests,
        log.sink(db.tables()),
        |sink: &mut LogSink| Some(sink.ticket()),
        waits.as_ref(),
    );
    is_over.store(true, Ordering::Relaxed); // Relaxed: a flag.
    ran.checkpoints = made.load(Ordering::Relaxed); // Relaxed: a count.
    drop(beside);
    ran.bytes = (log.written().1 - loaded) as f64 / requests as f64;
    running.close().expect("the disk works");
    ran
}

/// The largest number of answers that a worker holds back before it waits for the log.
const HELD_BACK: usize = 4_096;

/// One worker sends one request after the other; with a log for which answers wait, several answers are held back at a
/// time.
fn work<S: Scheme, L: Sink + Send>(
    db: &Database<S>,
    tpcc: &Tpcc,
    requests: u64,
    sink: L,
    due: impl Fn(&mut L) -> Option<Due> + Sync,
    waits: Option<&Log>,
) -> Ran {
    let sink = sync::Latched::new(Some(sink));
    let mut ran = workers::run(1, true, |_| {
        let mut session = db.session_with((), sink.lock().take().expect("one worker"));
        let mut scratch = <Tpcc as Workload>::Scratch::default();
        let (mut held, mut latencies) = (VecDeque::new(), Histogram::new());
        let start_ns = clock::now_ns();
        for sequence in 0..requests {
            if sequence % 64 == 0 {
                db.scheme().maintain(0);
            }
            let mut rng = Rng::from_path(&[1, 0, sequence]);
            let input = tpcc.generate(ClientId(0), sequence, &mut rng);
            let mut ticket = Ticket::new(clock::ticks(), Homes::new());
            ticket.read_only = Tpcc::TYPES[tpcc.kind(&input)].read_only;
            while let Err(abort) = session.attempt(&ticket, |txn| tpcc.execute(&input, &mut scratch, txn)) {
                if abort == engine::Abort::Rollback {
                    break;
                }
                ticket.retries += 1;
            }
            let (Some(log), Some(due)) = (waits, due(session.sink())) else {
                latencies.record(since(ticket.birth));
                continue;
            };
            held.push_back((due, ticket.birth));
            answer(log.durable(), &mut held, &mut latencies);
            if held.len() == HELD_BACK {
                log.wait(held[0].0).expect("the disk works");
            }
        }
        if let (Some(log), Some((last, _))) = (waits, held.back()) {
            log.wait(*last).expect("the disk works");
            answer(log.durable(), &mut held, &mut latencies);
        }
        let rate = requests as f64 * 1e9 / (clock::now_ns() - start_ns) as f64;
        Ran { rate, bytes: 0.0, checkpoints: 0, latencies }
    });
    ran.remove(0)
}

/// Sends the answers that the log has made durable.
fn answer(durable: Due, held: &mut VecDeque<(Due, u64)>, latencies: &mut Histogram) {
    while let Some((_, birth)) = held.pop_front_if(|(due, _)| *due <= durable) {
        latencies.record(since(birth));
    }
}

/// The time since the tick count `birth`, in nanoseconds.
fn since(birth: u64) -> u64 {
    clock::ticks_to_ns(clock::ticks() - birth)
}

/// A row of the size of YCSB's, in words.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Wide([u64; 13]);

impl Row for Wide {
    type Key = u64;
    type Indexes = ();
}

/// Writes rows, and measures their recovery.
fn recover(asked: &Asked) {
    let rows = asked.number("rows", 10_000_000);
    let workers = asked.number("workers", 1) as usize;
    let home = directory(&asked.directory.join("log"));
    let mut schema = Schema::new();
    let lookup = if asked.number("ordered", 0) == 1 { Lookup::Ordered } else { Lookup::Point };
    let _ = schema.table::<u64>("rows", lookup, rows as usize).group::<Wide>();
    let values = Values::new(<Silo as Scheme>::Settings::ALL, &[]).expect("the standard settings");
    let make =
        || Database::<Silo>::new(&schema, &values, Env { slots: 4, workers }).expect("the standard settings");
    let layouts = Layouts::of(make().tables());
    let open = || {
        Store::open(vec![Arc::clone(&home)], &layouts, asked.options()).expect("what was written can be read")
    };
    let running = open().start().expect("the disk works").spawn();
    write_rows(running.log(), rows, asked.number("rows_of_commit", 8));
    running.close().expect("the disk works");
    restore("log alone", asked, open, make, workers);
    let running = open().start().expect("the disk works").spawn();
    let start_ns = clock::now_ns();
    running.log().checkpoint(workers).expect("the disk works");
    println!("checkpoint of {rows} rows: {:.2} s", seconds(start_ns));
    write_rows(running.log(), rows / 10, 8);
    running.close().expect("the disk works");
    restore("checkpoint and a tenth in the log", asked, open, make, workers);
}

fn seconds(since_ns: u64) -> f64 {
    (clock::now_ns() - since_ns) as f64 / 1e9
}

/// Logs rows in a pseudorandom order, a few to a commit.
fn write_rows(log: &Log, rows: u64, of_commit: u64) {
    let mut sink = log.plain_sink();
    for nth in 0..rows {
        if nth % of_commit == 0 {
            sink.open();
        }
        // An odd factor: each number below a power of two comes once.
        let key = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) % rows.next_power_of_two();
        sink.write(TableId(0), Some(0), AnyKey::One(key), Some(&[nth; 13]));
        if (nth + 1) % of_commit == 0 || nth + 1 == rows {
            sink.close();
            Sink::ended(&mut sink);
        }
    }
}

/// Opens the database, and restores it into an empty one, a few times.
fn restore(
    what: &str,
    asked: &Asked,
    open: impl Fn() -> Found,
    make: impl Fn() -> Database<Silo>,
    workers: usize,
) {
    let mut rates = Vec::new();
    for _ in 0..asked.number("rounds", 3) {
        let db = make();
        let start_ns = clock::now_ns();
        let found = open();
        let opened_s = seconds(start_ns);
        let make = |_| {
            let mut loader = db.word_loader();
            move |table: TableId, key: AnyKey, groups: &[u64]| loader.insert(table, key, groups)
        };
        let Restored { rows, bytes, .. } = found.restore(workers, make).expect("it makes sense");
        let all_s = seconds(start_ns);
        let rate = rows as f64 / all_s / workers as f64;
        println!(
            "{what}: {rows} rows, {:.0} MiB: opened in {opened_s:.2} s, all in {all_s:.2} s: {:.3} million rows a \
             second and core",
            bytes as f64 / f64::from(1 << 20),
            rate / 1e6
        );
        rates.push(rate);
    }
    let (rate, least, greatest) = spread(rates);
    println!(
        "{what}: {:.3} ({:.3} .. {:.3}) million rows a second and core",
        rate / 1e6,
        least / 1e6,
        greatest / 1e6
    );
}
