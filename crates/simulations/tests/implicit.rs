//! Databases whose rows are made at the first look are those whose rows were loaded.

use core::marker::PhantomData;
use core::ops::{Bound, ControlFlow};

use engine_sim::driver::{self, Control, Driver, Job, Limit};
use engine_sim::setting::{Settings, Values};
use engine_sim::{
    Database, Drive, Env, Facts, KeyRange, Program, RowView, Schema, Scheme, Share, Shown, Workload, levers,
};
use runs::Splitting;
use schemes_sim::catalogue;
use schemes_sim::multiversion::mvto::Mvto;
use schemes_sim::optimistic::silo::Silo;
use sim::machine::{Machine, MemoryPolicy, Placement};
use sim::{Explorer, Strategy};
use simulations::{FirstRows, SimulatedInstance, SimulationSpec};
use sync_sim::Arc;
use workloads_sim::catalogue::{VisitWorkload, WORKLOADS};
use workloads_sim::erased::{AnyWorkload, Erased};
use workloads_sim::tpcc::Tpcc;

/// A small database, and audits that see what does not belong together.
const SMALL: &[(&str, &str)] = &[
    ("tpcc.warehouses", "2"),
    ("tpcc.items", "200"),
    ("tpcc.customers_per_district", "60"),
    ("tpcc.mix", "30,30,15,15,10"),
    ("tpcc.audit_pct", "10"),
];

/// A run over a database of TPC-C.
#[derive(Clone, Copy)]
struct Run {
    is_implicit: bool,
    workers: usize,
    requests: u64,
    /// The seed of the schedule.
    seed: u64,
}

/// The database after a run.
#[derive(Debug, PartialEq)]
struct Left {
    digest: u64,
    /// The name, the entries of each index, in order.
    indexes: Vec<(String, u64)>,
    entries: Vec<(&'static str, usize)>,
    verdict: Result<(), String>,
    commits: u64,
}

impl Run {
    fn under<S: Scheme>(self) -> Left {
        let info = WORKLOADS.iter().find(|info| info.name == "tpcc").expect("it is there");
        let known = S::Settings::ALL.iter().chain(info.settings).chain(levers::SETTINGS);
        let given: Vec<_> =
            SMALL.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let values = Values::new(known, &given).expect("legal");
        let clients = Facts::under::<S>(&values).clients(self.workers, self.workers);
        let job = Job::new(self.workers, clients, Limit::Requests(self.requests), 1);
        let visit = Under { run: self, values: &values, job, scheme: PhantomData::<S> };
        visit.visit::<Tpcc>()
    }
}

struct Under<'v, S> {
    run: Run,
    values: &'v Values,
    job: Job,
    scheme: PhantomData<S>,
}

impl<S: Scheme> VisitWorkload for Under<'_, S> {
    type Out = Left;

    fn visit<W: Workload>(self) -> Left {
        let Self { run, values, job, .. } = self;
        let drive = Drive { workers: job.workers as u32, clients: job.clients as u32, seed: job.seed };
        let mut schema = Schema::new();
        let workload = Erased(W::declare(values, drive, &mut schema).expect("legal"));
        let env = Env { slots: S::Driver::sessions(&job) + 1, workers: job.workers };
        let rows = workload.implicit().expect("TPC-C has implicit rows");
        let db: Arc<Database<S>> = if run.is_implicit {
            Database::with_implicit_rows(&schema, values, env, &rows).expect("legal")
        } else {
            Arc::new(Database::new(&schema, values, env).expect("legal"))
        };
        if run.is_implicit {
            db.load_rows(1, &|share, rows| workload.load_explicit(share, rows));
        } else {
            db.load_rows(1, &|share, rows| workload.load(share, rows));
        }
        let body = || {
            let program = engine_sim::Procedures(&workload.0);
            let program: &dyn Program<S, (), ()> = &program;
            driver::drive(&db, program, &job, &Control::new(job.workers), &())
        };
        let explorer =
            Explorer::new(run.seed).strategy(Strategy::of_seed(run.seed, 100_000)).steps_max(u64::MAX);
        let (mut outcome, _) = explorer.run(body);
        let commits = outcome.types.iter().map(|tally| tally.commits).sum();
        if run.is_implicit {
            db.make_all_rows(&|share, rows| workload.load(share, rows), &*rows);
        }
        let view = db.quiesced();
        let ledgers = core::mem::take(&mut outcome.ledgers);
        let verdict = workload.check(ledgers)(&view, Share::WHOLE).map_err(|violation| violation.to_string());
        let memory = db.memory();
        let entries = memory.iter().flat_map(|table| {
            let secondary = table.secondary.iter().map(|(name, entries, _)| (*name, *entries));
            core::iter::once((table.name, table.entries)).chain(secondary).collect::<Vec<_>>()
        });
        Left {
            digest: view.digest(Share::WHOLE),
            indexes: indexes(&db),
            entries: entries.collect(),
            verdict,
            commits,
        }
    }
}

/// The ordered indexes, with a number that the keys and the rows of each come to.
fn indexes<S: Scheme>(db: &Database<S>) -> Vec<(String, u64)> {
    let view = db.quiesced();
    let mut all = Vec::new();
    for table in db.tables().iter() {
        for which in table.ordered_indexes() {
            let mut sum = 0_u64;
            let group = if which == engine_sim::Which::Primary { 0 } else { which.group() };
            let shown = Shown { table: table.id(), group, which };
            let range: KeyRange = (Bound::Unbounded, Bound::Unbounded);
            view.range(shown, range, &mut |key, words| {
                for byte in format!("{key:?} {words:?}").bytes() {
                    sum = sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte);
                }
                ControlFlow::Continue(())
            });
            all.push((format!("{} {which:?}", table.name()), sum));
        }
    }
    all
}

/// A run under a scheme.
type UnderScheme = fn(Run) -> Left;

/// Schemes of each kind of storage and of protection from phantoms.
const SCHEMES: [(&str, UnderScheme); 6] = [
    ("no_wait", Run::under::<schemes_sim::locking::no_wait::NoWait>),
    ("silo", Run::under::<schemes_sim::optimistic::silo::Silo>),
    ("tictoc", Run::under::<schemes_sim::optimistic::tictoc::TicToc>),
    ("mvto", Run::under::<schemes_sim::multiversion::mvto::Mvto>),
    ("hstore", Run::under::<schemes_sim::partitioned::hstore::HStore>),
    ("calvin", Run::under::<schemes_sim::deterministic::calvin::Calvin>),
];

#[test]
fn rows_that_nobody_looked_at_are_those_that_loading_makes() {
    for (scheme, left) in SCHEMES {
        let run = Run { is_implicit: true, workers: 1, requests: 0, seed: 1 };
        assert_eq!(left(run), left(Run { is_implicit: false, ..run }), "{scheme}");
    }
}

#[test]
fn the_same_transactions_leave_the_same_database() {
    for (scheme, left) in SCHEMES {
        let run = Run { is_implicit: true, workers: 1, requests: 200, seed: 1 };
        let (implicit, loaded) = (left(run), left(Run { is_implicit: false, ..run }));
        assert_eq!(implicit.verdict, Ok(()), "{scheme}");
        assert!(implicit.commits > 150, "{scheme}: {}", implicit.commits);
        assert_eq!(implicit, loaded, "{scheme}");
    }
}

/// Scans, inserts and deletes meet leaves that are not made yet, and audits would see a phantom.
#[test]
fn concurrent_transactions_over_implicit_rows_leave_a_consistent_database() {
    for (scheme, left) in SCHEMES {
        for seed in 0..4 {
            let left = left(Run { is_implicit: true, workers: 3, requests: 30, seed });
            assert_eq!(left.verdict, Ok(()), "{scheme}, seed {seed}");
            assert!(left.commits > 60, "{scheme}, seed {seed}: {}", left.commits);
        }
    }
}

/// The depth and the number of leaves of each ordered index of a database that nobody has used.
fn shapes(is_implicit: bool) -> Vec<(String, (usize, usize))> {
    let settings = [("tpcc.warehouses", "3"), ("tpcc.items", "100"), ("tpcc.customers_per_district", "700")];
    let info = WORKLOADS.iter().find(|info| info.name == "tpcc").expect("it is there");
    let given = settings.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let values = &Values::new(
        <Silo as Scheme>::Settings::ALL.iter().chain(info.settings).chain(levers::SETTINGS),
        &given,
    )
    .expect("legal");
    let visit = Shapes { is_implicit, values };
    visit.visit::<Tpcc>()
}

struct Shapes<'v> {
    is_implicit: bool,
    values: &'v Values,
}

impl VisitWorkload for Shapes<'_> {
    type Out = Vec<(String, (usize, usize))>;

    fn visit<W: Workload>(self) -> Self::Out {
        let mut schema = Schema::new();
        let drive = Drive { workers: 1, clients: 1, seed: 1 };
        let workload = Erased(W::declare(self.values, drive, &mut schema).expect("legal"));
        let (env, rows) =
            (Env { slots: 2, workers: 1 }, workload.implicit().expect("TPC-C has implicit rows"));
        let db: Arc<Database<Silo>> = if self.is_implicit {
            Database::with_implicit_rows(&schema, self.values, env, &rows).expect("legal")
        } else {
            let db = Database::new(&schema, self.values, env).expect("legal");
            db.load_rows(1, &|share, rows| workload.load(share, rows));
            Arc::new(db)
        };
        let of = |table: &'_ storage_sim::TableStore<Silo>| {
            let named =
                |which| (format!("{} {which:?}", table.name()), table.shape(which).expect("it is ordered"));
            table.ordered_indexes().map(named).collect::<Vec<_>>()
        };
        db.tables().iter().flat_map(of).collect()
    }
}

#[test]
fn an_implicit_index_has_the_depth_and_the_leaves_of_the_loaded_one() {
    let (implicit, loaded) = (shapes(true), shapes(false));
    for ((name, (depth, leaves)), (_, (loaded_depth, loaded_leaves))) in implicit.iter().zip(&loaded) {
        assert_eq!(depth, loaded_depth, "{name}");
        if name.ends_with("Primary") {
            assert_eq!(leaves, loaded_leaves, "{name}: its keys are loaded in order");
        } else {
            // All groups have the leaves of the first.
            assert!(
                leaves.abs_diff(*loaded_leaves) * 20 <= *loaded_leaves,
                "{name}: {leaves}, {loaded_leaves}"
            );
        }
    }
    assert_eq!(implicit.len(), 4);
}

/// A run on a simulated machine, of so many requests a worker.
fn simulated(
    scheme: SimulatedInstance,
    rows: FirstRows,
    splitting: Splitting,
    (warehouses, workers, requests): (&str, usize, u64),
) -> (u64, f64) {
    let tpcc = workloads::catalogue::WORKLOADS.iter().find(|info| info.name == "tpcc").expect("it is there");
    let given =
        [("tpcc.warehouses", warehouses), ("tpcc.items", "2000"), ("tpcc.customers_per_district", "300")];
    let given = given.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let known = tpcc.settings.iter().chain(engine::levers::SETTINGS);
    let values = engine::setting::Values::new(known, &given).expect("legal");
    let machine = Machine::read(Machine::of_name("epyc").expect("it is there"), "epyc").expect("legal");
    let limit = engine::driver::Limit::Requests(requests);
    let spec = SimulationSpec {
        workload: "tpcc",
        values: &values,
        job: engine::driver::Job::new(workers, workers, limit, 1),
        layout: runs::Layout { splitting, ..runs::Layout::default() },
        machine: &machine,
        placement: Placement::CoresFirst,
        memory: MemoryPolicy::Interleaved,
        lookahead_ps: 0,
        rows,
        check: true,
    };
    let simulated = scheme.run(&spec).expect("legal");
    let measured = &simulated.measured;
    assert_eq!(measured.verdict, runs::CheckVerdict::Passed);
    assert_eq!(simulated.implicit_rows > 0, rows == FirstRows::Implicit);
    (measured.types.iter().map(|tally| tally.commits).sum(), measured.measured_ns as f64)
}

#[test]
fn a_simulated_run_takes_about_as_long_with_implicit_rows() {
    let schemes = [
        (SimulatedInstance::of::<Silo>(catalogue::entry("silo").expect("it is there")), Splitting::On),
        (SimulatedInstance::of::<Mvto>(catalogue::entry("mvto").expect("it is there")), Splitting::Constant),
    ];
    for (scheme, splitting) in schemes {
        let (implicit, loaded) = [FirstRows::Implicit, FirstRows::Loaded]
            .map(|rows| simulated(scheme, rows, splitting, ("4", 4, 300)))
            .into();
        assert_eq!(implicit.0, loaded.0, "{}: the same requests are committed", scheme.name());
        let ratio = implicit.1 / loaded.1;
        assert!((0.95..1.05).contains(&ratio), "{}: {ratio}", scheme.name());
    }
}

/// Workers meet at entries whose rows are made, and removed, while others look at them.
#[test]
fn many_workers_over_the_implicit_rows_of_one_warehouse_leave_a_consistent_database() {
    for scheme in [
        SimulatedInstance::of::<Silo>(catalogue::entry("silo").expect("it is there")),
        SimulatedInstance::of::<Mvto>(catalogue::entry("mvto").expect("it is there")),
    ] {
        let (commits, _) = simulated(scheme, FirstRows::Implicit, Splitting::On, ("1", 28, 60));
        assert!(commits > 28 * 50, "{}: {commits}", scheme.name());
    }
}
