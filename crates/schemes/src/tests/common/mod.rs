//! Helpers that the tests of all schemes share: small workloads whose invariants show the promises of a scheme, and
//! the way to run a workload under a scheme of the catalogue.

#![allow(dead_code, reason = "each test binary uses its part")]

pub(crate) mod bank;
pub(crate) mod certified;
pub(crate) mod claims;
pub(crate) mod counters;
pub(crate) mod crossing;
pub(crate) mod histories;
pub(crate) mod movers;
pub(crate) mod order;
pub(crate) mod programs;
pub(crate) mod quota;
pub(crate) mod scene;
pub(crate) mod skew;
pub(crate) mod stage;
pub(crate) mod twins;

use core::marker::PhantomData;
use core::ops::RangeInclusive;

use engine::driver::{self, ClientMode, Control, Driver, Job, Limit, Retry, RunOutcome, Traffic, TypeTally};
use engine::setting::{Settings, Values};
use engine::{
    Database, Drive, Env, Forecast, Home, Homes, IndexOn, Key, Layout, Row, Schema, Scheme, Share, Ticket,
    Violation, Workload, additive, levers,
};
use schemes::catalogue::{self, Visit};
use sync::waiter;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A key whose upper half is its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(u64);

impl Place {
    /// The place of a number at a home.
    pub(crate) const fn new(home: u64, number: u64) -> Self {
        Self(home << 32 | number)
    }

    /// Its home.
    pub(crate) const fn at(self) -> u64 {
        self.0 >> 32
    }

    /// Its number at its home.
    pub(crate) const fn number(self) -> u64 {
        self.0 & 0xffff_ffff
    }
}

impl Key for Place {
    type Ordered = u64;

    fn ordered(self) -> u64 {
        self.0
    }

    fn from_ordered(ordered: u64) -> Self {
        Self(ordered)
    }

    fn home(self) -> Home {
        Home::At(self.at())
    }
}

/// A row that shows when it is torn: its words are equal.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(crate) struct Cell([u64; 5]);

impl Cell {
    /// A row of this value.
    pub(crate) const fn new(value: u64) -> Self {
        Self([value; 5])
    }

    /// The value.
    pub(crate) fn value(&self) -> u64 {
        assert_eq!(self.0, [self.0[0]; 5], "a row is never seen torn");
        self.0[0]
    }

    /// Changes the value.
    pub(crate) fn set(&mut self, value: u64) {
        self.value();
        self.0 = [value; 5];
    }
}

additive!(Cell of Place { 0 });

/// A row that a secondary index finds by its value, its name, within its home.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(crate) struct Named(pub(crate) u64);

impl Row for Named {
    type Key = Place;
    type Indexes = (ByName,);
}

/// The secondary index of [`Named`].
#[derive(Debug)]
pub(crate) struct ByName;

/// A key of [`ByName`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NameKey {
    pub(crate) home: u64,
    pub(crate) name: u64,
    pub(crate) number: u64,
}

impl NameKey {
    /// All keys of a home's rows with these names.
    pub(crate) fn all(home: u64, names: RangeInclusive<u64>) -> RangeInclusive<Self> {
        let (name, last) = names.into_inner();
        Self { home, name, number: 0 }..=Self { home, name: last, number: u64::from(u32::MAX) }
    }

    /// The primary key.
    pub(crate) fn place(self) -> Place {
        Place::new(self.home, self.number)
    }
}

impl Key for NameKey {
    type Ordered = u128;

    fn ordered(self) -> u128 {
        u128::from(self.home) << 96 | u128::from(self.name) << 32 | u128::from(self.number)
    }

    fn from_ordered(ordered: u128) -> Self {
        let (home, name) = ((ordered >> 96) as u64, (ordered >> 32) as u64);
        Self { home, name, number: u64::from(ordered as u32) }
    }

    fn home(self) -> Home {
        Home::At(self.home)
    }
}

impl IndexOn<Named> for ByName {
    type Key = NameKey;

    fn key(key: Place, row: &Named) -> NameKey {
        NameKey { home: key.at(), name: row.0, number: key.number() }
    }

    fn primary(key: NameKey) -> Place {
        key.place()
    }
}

/// How a workload is driven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Threads.
    pub(crate) workers: usize,
    /// Clients of each worker.
    pub(crate) clients: usize,
    /// Requests of each client.
    pub(crate) requests: u64,
    /// Nanoseconds that each transaction waits before it commits.
    pub(crate) pause_ns: u64,
    /// Nanoseconds of a round trip before each statement; 0 for procedures.
    pub(crate) rtt_ns: u64,
    /// The seed of the requests.
    pub(crate) seed: u64,
}

/// The factor of work that grows with the time there is: five times as much where tests are optimised.
pub(crate) const EFFORT: u64 = if cfg!(debug_assertions) { 1 } else { 5 };

/// Few and many workers, and many clients that wait inside their transactions. The latter back off: dozens of
/// optimistic attempts that insert into one leaf, wait, and try again at once would abort each other for ever.
pub(crate) const PLANS: &[Plan] = &[
    Plan { workers: 1, clients: 1, requests: 2_000, pause_ns: 0, rtt_ns: 0, seed: 1 },
    Plan { workers: 2, clients: 1, requests: 2_000, pause_ns: 0, rtt_ns: 0, seed: 1 },
    Plan { workers: 4, clients: 1, requests: 500, pause_ns: 0, rtt_ns: 0, seed: 1 },
    Plan { workers: 2, clients: 20, requests: 20, pause_ns: 20_000, rtt_ns: 0, seed: 1 },
    Plan { workers: 1, clients: 50, requests: 20, pause_ns: 5_000, rtt_ns: 0, seed: 1 },
    Plan { workers: 2, clients: 20, requests: 10, pause_ns: 0, rtt_ns: 10_000, seed: 1 },
];

/// Values of settings of a scheme and of the engine that are not the standard ones.
pub(crate) type Given = &'static [(&'static str, &'static str)];

/// Short epochs, each of which makes a snapshot that read-only transactions read.
pub(crate) const SNAPSHOTS: Given =
    &[("silo.snapshots", "on"), ("silo.epoch_ms", "1"), ("silo.snapshot_epochs", "1")];

/// Blind writes that come too late are dropped.
pub(crate) const THOMAS: Given = &[("basic_to.thomas", "on")];

/// Read-only transactions see a moment ago, and others wait for locks.
pub(crate) const STALE_AND_WAITING: Given = &[("mv2pl.snapshots", "stale"), ("mv2pl.wait_us", "1000")];

/// MOCC with a lock for each read.
pub(crate) const LOCKING: Given = &[("mocc.hot", "0")];

/// The column groups of a row share a record: all of them, or those that change.
pub(crate) const SHARED: [Given; 2] = [&[("run.splitting", "off")], &[("run.splitting", "constant")]];

/// The values of a scheme's settings, and of those of the engine.
pub(crate) fn values<S: Scheme>(given: Given) -> Values {
    let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Values::new(S::Settings::ALL.iter().chain(levers::SETTINGS), &given).expect("the values are legal")
}

/// An empty database under a scheme with its standard settings.
pub(crate) fn database<S: Scheme>(schema: &Schema, sessions: usize, workers: usize) -> Database<S> {
    database_with(schema, sessions, workers, &[])
}

/// An empty database under a scheme with these settings, the others standard.
pub(crate) fn database_with<S: Scheme>(
    schema: &Schema,
    sessions: usize,
    workers: usize,
    given: Given,
) -> Database<S> {
    Database::new(schema, &values::<S>(given), Env { slots: sessions, workers }).expect("the values agree")
}

/// Runs a workload under a scheme, plan by plan, and checks it after each. Returns the results of the runs, by plan
/// and by type.
pub(crate) fn run<W: Workload>(scheme: &str, given: Given) -> Vec<Vec<TypeTally>> {
    run_share::<W>(scheme, given, 1)
}

/// Runs one of so many requests, of a workload whose requests are long.
pub(crate) fn run_share<W: Workload>(scheme: &str, given: Given, one_in: u64) -> Vec<Vec<TypeTally>> {
    let runs = Run::<W> { given, one_in, workload: PhantomData };
    catalogue::with(scheme, runs).expect("a scheme of the catalogue")
}

struct Run<W> {
    given: Given,
    one_in: u64,
    workload: PhantomData<W>,
}

impl<W: Workload> Visit for Run<W> {
    type Out = Vec<Vec<TypeTally>>;

    fn visit<S: Scheme>(self) -> Self::Out {
        let is_admitted = |plan: &&Plan| {
            (plan.workers == 1 || S::INFO.workers == engine::Admits::Any)
                && S::Driver::refuses(&job(plan, plan.workers * plan.clients)).is_none()
        };
        let admitted = PLANS.iter().filter(is_admitted);
        let share = admitted.map(|plan| Plan { requests: plan.requests.div_ceil(self.one_in), ..*plan });
        share.map(|plan| run_plan::<S, W>(&plan, self.given)).collect()
    }
}

/// The number of failures of a request after which others wait for it.
const TURN_AFTER: u32 = 16;

/// The maximum number of failures of a request before it runs alone, on any machine: until it has a turn of its
/// worker, and then one of the database; and once more in each attempt that saw a turn too late.
fn aborts_max(plan: &Plan) -> u64 {
    let turn_after = |others: usize| others.max(TURN_AFTER as usize);
    (turn_after(plan.clients) + turn_after(plan.workers) + plan.workers * plan.clients) as u64
}

/// A plan as a job.
fn job(plan: &Plan, clients: usize) -> Job {
    let mode = if plan.rtt_ns > 0 { ClientMode::Interactive } else { ClientMode::Procedure };
    Job {
        retry: if plan.pause_ns + plan.rtt_ns == 0 { Retry::Same } else { Retry::Backoff },
        pause_ns: plan.pause_ns,
        turn_after: TURN_AFTER,
        traffic: Traffic { mode, rtt_ns: plan.rtt_ns, ..Traffic::default() },
        ..Job::new(plan.workers, clients, Limit::Requests(plan.requests), plan.seed)
    }
}

/// Runs a workload under a scheme as planned, and checks it. Returns the results of the run, by type.
pub(crate) fn run_plan<S: Scheme, W: Workload>(plan: &Plan, given: Given) -> Vec<TypeTally> {
    let outcome = run_job::<S, W>(plan, job(plan, plan.workers * plan.clients), given);
    let ended: u64 = outcome.types.iter().map(|tally| tally.commits + tally.user_aborts).sum();
    let aborts: u64 = outcome.types.iter().flat_map(|tally| tally.aborts).sum();
    assert!(aborts <= ended * aborts_max(plan), "{plan:?} under {}: {aborts} aborts", S::INFO.name);
    outcome.types
}

/// As [`run_plan`], by a job that is not quite as planned.
pub(crate) fn run_job<S: Scheme, W: Workload>(plan: &Plan, job: Job, given: Given) -> RunOutcome<W::Ledger> {
    let clients = plan.workers * plan.clients;
    let values = Values::new(W::SETTINGS, &[]).expect("standard values are legal");
    let mut schema = Schema::new();
    let of_engine = self::values::<S>(given);
    schema.lay_out(levers::lay_out(&of_engine, Layout::default()));
    let drive = Drive { workers: plan.workers as u32, clients: clients as u32, seed: 1 };
    let workload = W::declare(&values, drive, &mut schema).expect("standard values agree");
    let db = database_with::<S>(&schema, clients, plan.workers, given);
    db.load(&workload, 1);
    let (reads_first, reorder) = (levers::reads_first(&of_engine), levers::reorder(&of_engine));
    let job = Job { reads_first, reorder, ..job };
    let outcome = driver::run(&db, &workload, &job, &Control::new(plan.workers));
    let ended: u64 = outcome.types.iter().map(|tally| tally.commits + tally.user_aborts).sum();
    assert_eq!(ended, clients as u64 * plan.requests, "every request ends once: {plan:?}");
    for tally in &outcome.types {
        let aborts: u64 = tally.aborts.iter().sum();
        assert_eq!(tally.retries.count(), tally.commits, "retries are counted of each commit: {plan:?}");
        let is_all = tally.user_aborts == 0;
        let retries = tally.retries.sum();
        assert!(
            retries == aborts || retries < aborts && !is_all,
            "{retries} retries, {aborts} aborts: {plan:?}"
        );
    }
    if let Err(violation) = workload.check(&db.quiesced(), Share::WHOLE, &outcome.ledgers) {
        panic!("{} under {}, {plan:?}: {violation}", W::NAME, S::INFO.name);
    }
    drain(&db);
    for (table, rows, entries) in secondary_entries(&db) {
        assert_eq!(entries, rows, "`{table}` under {}, {plan:?}: an entry for each row", S::INFO.name);
    }
    outcome
}

/// Lets the rows and entries that are to leave the indexes of an idle database leave them.
pub(crate) fn drain<S: Scheme>(db: &Database<S>) {
    let mut session = db.session();
    for _ in 0..1_000 {
        assert_eq!(session.attempt(&Ticket::new(1, Homes::new()), |_| Ok(())), Ok(()));
        db.scheme().maintain(0);
        // A watermark may depend on time.
        if db.scheme().watermark().is_some() {
            waiter::pause_ns(50_000);
        }
    }
}

/// For each secondary index: the table, its number of rows, and the number of entries.
pub(crate) fn secondary_entries<S: Scheme>(db: &Database<S>) -> Vec<(&'static str, usize, usize)> {
    let mut found = Vec::new();
    for table in db.memory() {
        found.extend(table.secondary.iter().map(|(_, entries, _)| (table.name, table.entries, *entries)));
    }
    found
}

/// Lets other attempts of the worker do whole transactions.
pub(crate) fn dawdle() {
    for _ in 0..8 {
        waiter::give_way();
    }
}

/// The violation of a condition that was found after a run.
pub(crate) fn violation(condition: &'static str, found: String) -> Result<(), Violation> {
    Err(Violation { condition, found })
}

/// One home.
pub(crate) fn at_home(home: u64) -> Homes {
    let mut homes = Homes::new();
    homes.add(home);
    homes
}

/// The tests have no forecast.
pub(crate) fn no_forecast() -> Forecast {
    Forecast::default()
}
