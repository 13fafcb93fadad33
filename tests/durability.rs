//! Claims about the log under every scheme: the commits of its drivers are recovered under another scheme, and the
//! state after a crash contains a prefix of each session's commits, and every commit that a commit of the state has
//! read.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::{env, fs, process};

use durability::disk::{Directory, Power, SimulatedDisk};
use durability::{Layouts, Log, LogSink, Options, Order, Store};
use engine::driver::{self, Control, Job, Limit};
use engine::setting::{Setting, Settings, Values};
use engine::{
    Abort, Admits, AnyKey, Database, Drive, Env, Facts, Homes, Layout, Lookup, Observe, Row, Schema, Scheme,
    Session, Share, Splitting, Table, TableId, Ticket, Transaction, WordLoader, Workload,
};
use runs::{CheckVerdict, Durability, LockedDirectories, Logging, Monitor, RecoveryProgress, Spec};
use schemes::batched::aria::Aria;
use schemes::catalogue::{self, Visit};
use schemes::deterministic::calvin::Calvin;
use schemes::optimistic::silo::Silo;
use stdx::Rng;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, clock, waiter, workers};
use workloads::smallbank::SmallBank;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Rows of all tables in order: the table, the key (`None` in heaps) and the words.
type Rows = Vec<(u16, Option<AnyKey>, Vec<u64>)>;

fn directories(disk: &SimulatedDisk, devices: usize) -> Vec<Arc<dyn Directory>> {
    (0..devices).map(|device| disk.directory(device)).collect()
}

fn options(order: Order) -> Options {
    Options {
        sessions: 300,
        epoch_ns: 200_000,
        order,
        database: 5,
        segment_bytes: 1 << 20,
        ..Options::default()
    }
}

fn values(known: &'static [engine::setting::Setting], given: &[(&str, &str)]) -> Values {
    let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Values::new(known, &given).expect("legal")
}

/// Returns all rows of a quiesced database.
fn rows<S: Scheme>(db: &Database<S>) -> Rows {
    let (view, mut rows) = (db.quiesced(), Vec::new());
    for table in db.tables().iter() {
        view.each_row(table.id(), Share::WHOLE, |key, words| rows.push((table.id().0, key, words.to_vec())));
    }
    rows.sort();
    rows
}

/// Opens the directories of a database whose tables are known.
fn open<S: Scheme>(
    disk: &SimulatedDisk,
    devices: usize,
    db: &Database<S>,
    order: Order,
) -> durability::Found {
    let found = Store::open(directories(disk, devices), &Layouts::of(db.tables()), options(order));
    found.expect("what was written can be read")
}

fn restore<S: Scheme>(found: &durability::Found, db: &Database<S>) {
    let make = |_| {
        let mut loader: WordLoader<'_, S> = db.word_loader();
        move |table: TableId, key: AnyKey, groups: &[u64]| loader.insert(table, key, groups)
    };
    found.restore(2, make).expect("what was written makes sense");
}

/// The directories of a test, one for each device. They are removed when the value is dropped.
struct Devices(Vec<PathBuf>);

impl Devices {
    fn new(name: &str) -> Self {
        let at = env::temp_dir().join(format!("contend-durability-{name}-{}", process::id()));
        let devices = Self((0..2).map(|device| at.join(device.to_string())).collect());
        devices.clear();
        devices
    }

    /// Empties the directories.
    fn clear(&self) {
        for directory in &self.0 {
            match fs::remove_dir_all(directory) {
                Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
                _ => fs::create_dir_all(directory).expect("writable"),
            }
        }
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(self.0[0].parent().expect("all are in one"));
    }
}

/// Runs a workload under every scheme with the log on, and recovers the log under another scheme.
fn recovers(workload: &'static str, given: &[(&str, &str)], layout: Layout, checkpoint_ns: u64) {
    recovers_under(|_| true, workload, given, layout, checkpoint_ns);
}

/// The same under the schemes that are wanted.
fn recovers_under(
    is_wanted: impl Fn(&str) -> bool,
    workload: &'static str,
    given: &[(&str, &str)],
    layout: Layout,
    checkpoint_ns: u64,
) {
    let devices = Devices::new(&format!("{workload}-{checkpoint_ns}"));
    let info = runs::WORKLOADS.iter().find(|info| info.name == workload).expect("it is one");
    let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut checkpoints = 0;
    for entry in catalogue::ENTRIES.iter().filter(|entry| is_wanted(entry.info.name)) {
        let name = entry.info.name;
        let values = |settings: &'static [Setting]| {
            Values::new(settings.iter().chain(info.settings), &given).expect("legal")
        };
        let (of_scheme, workers) =
            (values(entry.settings), if entry.info.workers == Admits::One { 1 } else { 2 });
        let scheme = instances::run(name).expect("catalogued");
        let clients = scheme.facts(&of_scheme).clients(2 * workers, workers);
        let job = Job::new(workers, clients, Limit::Requests(2_000 / clients as u64 + 5), 1);
        let durability = if clients.is_multiple_of(4) { Durability::Group } else { Durability::Async };
        let logging = Logging { directories: &devices.0, durability, epoch_ns: 200_000, checkpoint_ns };
        let spec = Spec {
            workload,
            scheme,
            values: &of_scheme,
            job,
            layout,
            reserve_bytes: 0,
            logging: Some(logging),
            check: true,
        };
        let measured =
            runs::run(&spec, &Monitor::new(workers)).expect("the disk works").expect("nobody interrupts it");
        assert_eq!(measured.verdict, CheckVerdict::Passed, "{name}");
        let logged = measured.logged.expect("it was logged");
        assert!(logged.bytes > 0, "{name}: {logged:?}");
        checkpoints += logged.checkpoints;
        // A scheme of another family, with different records, versions and indexes.
        let other = if name == "silo" { "mvto" } else { "silo" };
        let of_other = values(catalogue::entry(other).expect("catalogued").settings);
        let other = instances::run(other).expect("catalogued");
        let spec = Spec { scheme: other, values: &of_other, logging: None, ..spec };
        let recovered = runs::recover(&spec, &held(&devices), 2, &RecoveryProgress::default())
            .expect("what was written can be read");
        assert_eq!(recovered.verdict, CheckVerdict::Passed, "{name}");
        assert!(recovered.was_closed && recovered.digest == Some(logged.digest), "{name}: {recovered:?}");
        devices.clear();
    }
    assert_eq!(checkpoints > 0, checkpoint_ns > 0, "some runs are long enough for {checkpoints} checkpoints");
}

const TPCC: &[(&str, &str)] =
    &[("tpcc.warehouses", "1"), ("tpcc.items", "100"), ("tpcc.customers_per_district", "20")];
const BANK: &[(&str, &str)] = &[("smallbank.accounts", "100")];

#[test]
fn tpcc_is_recovered_from_the_log_of_every_scheme() {
    recovers("tpcc", TPCC, Layout::default(), 0);
}

#[test]
fn tpcc_is_recovered_from_a_checkpoint_and_the_log_behind_it() {
    for splitting in [Splitting::Constant, Splitting::Off] {
        recovers("tpcc", TPCC, Layout { splitting, ..Layout::default() }, 1_000_000);
    }
}

#[test]
fn tpce_is_recovered_from_the_log() {
    // Keys of all widths, rows that move in indexes, and inserts and deletes. One scheme of each way to log.
    let given = [("tpce.customers", "200"), ("tpce.scale_factor", "20000")];
    let is_wanted = |name: &str| ["silo", "mvto", "calvin"].contains(&name);
    recovers_under(is_wanted, "tpce", &given, Layout::default(), 0);
}

#[test]
fn smallbank_is_recovered_from_the_log_of_every_scheme() {
    recovers("smallbank", BANK, Layout::default(), 1_000_000);
}

/// The time from a commit to its report to the client, in nanoseconds, in place of a device.
const ASSURED_NS: u64 = 20_000_000;

/// An observer that makes clients wait for that time.
struct Assured;

impl Observe for Assured {
    type Observer = ();
    type Sink = ();

    fn observer(&self) {}

    fn sink(&self) {}

    fn present(&self) -> Option<u64> {
        Some(clock::now_ns() + ASSURED_NS)
    }

    fn is_assured(&self, at_ns: u64) -> bool {
        clock::now_ns() >= at_ns
    }

    fn assure(&self, at_ns: u64) {
        waiter::pause_ns(at_ns.saturating_sub(clock::now_ns()));
    }
}

/// Returns the shortest latency of a commit.
fn shortest_ns<S: Scheme>() -> u64 {
    let clients = Facts::under::<S>(&values(S::Settings::ALL, &[])).clients(4, 2);
    let drive = Drive { workers: 2, clients: clients as u32, seed: 1 };
    let mut schema = Schema::new();
    // So few accounts that some transactions of a batch fall back.
    let settings = values(SmallBank::SETTINGS, &[("smallbank.accounts", "4")]);
    let bank = SmallBank::declare(&settings, drive, &mut schema).expect("no contradiction");
    let env = Env { slots: clients + 8, workers: 2 };
    let db = Database::<S>::new(&schema, &values(S::Settings::ALL, &[]), env).expect("no contradiction");
    db.load(&bank, 1);
    let job = Job { latencies: true, ..Job::new(2, clients, Limit::Requests(3), 1) };
    let outcome = driver::observe(&db, &bank, &job, &Control::new(2), &Assured);
    let commits: u64 = outcome.types.iter().map(|tally| tally.commits).sum();
    assert!(commits > 0, "{}: some want to commit", S::INFO.name);
    let of_types = outcome.types.iter().filter(|tally| tally.commits > 0);
    let shortest = of_types.filter_map(|tally| tally.latency_ns.buckets().next());
    shortest.map(|(upper_ns, _)| upper_ns).min().expect("latencies are counted")
}

#[test]
fn whoever_drives_a_client_hears_of_no_commit_before_it_is_assured() {
    for (driver, shortest_ns) in [
        ("by worker", shortest_ns::<Silo>()),
        ("in batches", shortest_ns::<Aria>()),
        ("in an order fixed before", shortest_ns::<Calvin>()),
    ] {
        assert!(shortest_ns >= ASSURED_NS, "{driver}: {shortest_ns} ns");
    }
}

fn held(devices: &Devices) -> LockedDirectories {
    LockedDirectories::to_read(&devices.0).expect("nobody writes there")
}

#[test]
fn a_database_that_is_open_is_not_looked_at() {
    let devices = Devices::new("taken");
    let look = || {
        runs::verify(&held(&devices), 1, &RecoveryProgress::default()).expect_err("there is no database").0
    };
    assert!(look().contains("has no database"), "{}", look());
    let taken = LockedDirectories::to_write(&devices.0[1..]).expect("nobody is there");
    let refused = LockedDirectories::to_read(&devices.0).expect_err("it is open").0;
    assert!(refused.contains("is open: close"), "{refused}");
    drop(taken);
    // Two readers conflict only with a writer.
    let readers = [held(&devices), held(&devices)];
    let refused = LockedDirectories::to_write(&devices.0[1..]).expect_err("it is read").0;
    assert!(refused.contains("`contend recover`"), "{refused}");
    drop(readers);
    assert!(LockedDirectories::to_write(&devices.0).is_ok());
}

/// The number of accounts between which money moves.
const ACCOUNTS: u64 = 6;
/// The number of sessions. Each session numbers its commits.
const SESSIONS: u64 = 2;

/// Tables for transactions that move money and insert an entry: the commit's number, and the number that it has read
/// from the other session.
struct Chains {
    accounts: Table<Account>,
    numbers: Table<Number>,
    entries: Table<Number>,
}

/// An account: its money, and a word that makes the row wider than its key.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Account([u64; 2]);

impl Row for Account {
    type Key = u64;
    type Indexes = ();
}

/// A row of one number.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Number(u64);

impl Row for Number {
    type Key = u64;
    type Indexes = ();
}

impl Chains {
    fn declare(schema: &mut Schema) -> Self {
        Self {
            accounts: schema.table::<u64>("accounts", Lookup::Point, 16).group(),
            numbers: schema.table::<u64>("numbers", Lookup::Point, 16).group(),
            entries: schema.table::<u64>("entries", Lookup::Ordered, 1_000).group(),
        }
    }

    /// Executes one transaction of a session, which moves money between two accounts. Returns the number of the
    /// commit.
    fn move_money<T: Transaction>(
        &self,
        txn: &mut T,
        session: u64,
        [from, to]: [u64; 2],
    ) -> Result<u64, Abort> {
        txn.update(self.accounts, from, |row| row.0[0] = row.0[0].wrapping_sub(1))?.expect("loaded");
        txn.update(self.accounts, to, |row| row.0[0] = row.0[0].wrapping_add(1))?.expect("loaded");
        let seen = txn.read(self.numbers, 1 - session, |row| row.0)?.expect("loaded");
        let number = txn.update(self.numbers, session, |row| {
            row.0 += 1;
            row.0
        })?;
        let number = number.expect("loaded");
        assert!(txn.insert(self.entries, session << 32 | number, &Number(seen))?, "numbers are new");
        if number > 8 {
            // Only the last few entries are kept, so that deletions are logged, too.
            txn.delete(self.entries, session << 32 | (number - 8))?;
        }
        Ok(number)
    }
}

fn homes(keys: &[u64]) -> Homes {
    let mut homes = Homes::new();
    for key in keys {
        homes.add(*key);
    }
    homes
}

/// Visits a scheme: sessions commit until the power is cut, and the recovered state is judged.
struct Crashes {
    seed: u64,
}

impl Visit for Crashes {
    type Out = u64;

    fn visit<S: Scheme>(self) -> u64 {
        let mut rng = Rng::from_path(&[0x6368_6169, self.seed]);
        let workers = if S::INFO.workers == Admits::One { 1 } else { SESSIONS as usize };
        let mut schema = Schema::new();
        let chains = Chains::declare(&mut schema);
        let env = Env { slots: 8, workers };
        let make =
            || Database::<S>::new(&schema, &values(S::Settings::ALL, &[]), env).expect("no contradiction");
        let (db, disk) = (make(), SimulatedDisk::new(rng.next_u64()));
        let order = if clock::ticks_are_shared() { Order::Ticks } else { Order::Counter };
        let running = open(&disk, 2, &db, order).start().expect("the disk works").spawn();
        let log = running.log().clone();
        let mut loader = db.word_loader();
        let mut sink = log.plain_sink();
        sink.open();
        for (table, keys, row) in [(0, ACCOUNTS, &[100, 0][..]), (1, SESSIONS, &[0])] {
            for key in 0..keys {
                loader.insert(TableId(table), AnyKey::One(key), row);
                sink.write(TableId(table), None, AnyKey::One(key), Some(row));
            }
        }
        sink.close();
        let ticket = sink.ticket();
        drop((loader, sink));
        log.wait(ticket).expect("the disk works");
        disk.cut_at(disk.steps() + 1 + rng.below(120));
        let acknowledged = [const { AtomicU64::new(0) }; SESSIONS as usize];
        let seed = rng.next_u64();
        workers::run(workers, false, |worker| {
            let rng = &mut Rng::from_path(&[seed, worker as u64]);
            let session = db.session_with((), log.sink(db.tables()));
            commit_until_cut(&chains, session, worker as u64, &log, rng, &acknowledged[worker]);
        });
        drop(running);
        assert_eq!(disk.power(), Power::Off);
        disk.restart();
        let db = make();
        restore(&open(&disk, 2, &db, order), &db);
        // Relaxed: the end of the threads orders the stores.
        judge(&db, acknowledged.map(|number| number.load(Ordering::Relaxed)), S::INFO.name, self.seed)
    }
}

/// Commits in a loop, and waits for some commits to be durable, until the log fails.
fn commit_until_cut<S: Scheme>(
    chains: &Chains,
    mut session: Session<'_, S, (), LogSink>,
    number: u64,
    log: &Log,
    rng: &mut Rng,
    acknowledged: &AtomicU64,
) {
    let mut next = 1;
    loop {
        let accounts = [rng.below(ACCOUNTS), rng.below(ACCOUNTS)];
        let entry = |next: u64| number << 32 | next;
        let mut ticket = Ticket::new(
            clock::ticks(),
            homes(&[accounts[0], accounts[1], 0, 1, entry(next), entry(next.saturating_sub(8))]),
        );
        let committed = loop {
            match session.attempt(&ticket, |txn| chains.move_money(txn, number, accounts)) {
                Ok(committed) => break committed,
                Err(_) => ticket.retries += 1,
            }
        };
        assert_eq!(committed, next);
        next += 1;
        let durable = session.sink().ticket();
        let is_durable =
            if rng.below(3) == 0 { log.wait(durable).map(|()| true) } else { log.is_durable(durable) };
        match is_durable {
            // Relaxed: the end of the threads orders the store.
            Ok(true) => acknowledged.store(committed, Ordering::Relaxed),
            Ok(false) => {}
            Err(_) => return,
        }
    }
}

/// Compares the restored state with the commits of each session. Returns the number of restored commits.
fn judge<S: Scheme>(db: &Database<S>, acknowledged: [u64; 2], scheme: &str, seed: u64) -> u64 {
    let place = format!("{scheme}, seed {seed}");
    let mut tables: [BTreeMap<u64, u64>; 3] = Default::default();
    for (table, key, words) in rows(db) {
        let Some(AnyKey::One(key)) = key else { panic!("all tables have keys of a word") };
        tables[usize::from(table)].insert(key, words[0]);
    }
    let [accounts, numbers, entries] = tables;
    let money = accounts.values().copied().fold(0, u64::wrapping_add);
    assert_eq!(money, 100 * ACCOUNTS, "{place}: no commit is half there");
    for session in 0..SESSIONS {
        let last = numbers[&session];
        assert!(last >= acknowledged[session as usize], "{place}: {last} of {acknowledged:?}");
        let range = session << 32..(session + 1) << 32;
        let kept: Vec<u64> = entries.range(range.clone()).map(|(key, _)| key & 0xffff_ffff).collect();
        let expected: Vec<u64> = (last.saturating_sub(7).max(1)..=last).collect();
        assert_eq!(kept, expected, "{place}: what a session has committed is there up to some commit");
        let seen = entries.range(range).map(|(_, seen)| *seen).max().unwrap_or(0);
        assert!(seen <= numbers[&(1 - session)], "{place}: what a commit has seen is there");
    }
    numbers.values().sum()
}

#[test]
fn what_a_crash_leaves_is_a_prefix_of_what_each_session_has_committed() {
    for info in catalogue::infos() {
        let commits = (0..12).map(|seed| catalogue::with(info.name, Crashes { seed }).expect("catalogued"));
        assert!(commits.sum::<u64>() > 20, "{}: the power is not always cut at once", info.name);
    }
}
