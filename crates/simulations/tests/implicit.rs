//! Databases whose rows are made at the first look are those whose rows were loaded.

use core::marker::PhantomData;
use core::ops::{Bound, ControlFlow};

use engine_sim::driver::{self, Control, Driver, Job, Limit};
use engine_sim::setting::{Settings, Values};
use engine_sim::{
    Database, Drive, Env, Facts, KeyRange, Program, RowView, Schema, Scheme, Share, Shown, Workload, levers,
};
use schemes_sim::catalogue;
use sim::{Explorer, Strategy};
use sync_sim::Arc;
use workloads_sim::catalogue::{VisitWorkload, WORKLOADS};
use workloads_sim::erased::{AnyWorkload, Erased};

/// A small database.
const SMALL: &[(&str, &str)] = &[
    ("tpcc.warehouses", "2"),
    ("tpcc.items", "200"),
    ("tpcc.customers_per_district", "60"),
    ("tpcc.mix", "30,30,15,15,10"),
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

/// What a run has left.
#[derive(Debug, PartialEq)]
struct Left {
    digest: u64,
    /// The name, the entries of each index, in order.
    indexes: Vec<(String, u64)>,
    entries: Vec<(&'static str, usize)>,
    verdict: Result<(), String>,
    commits: u64,
}

impl catalogue::Visit for Run {
    type Out = Left;

    fn visit<S: Scheme>(self) -> Left {
        let info = WORKLOADS.iter().find(|info| info.name == "tpcc").expect("it is there");
        let known = S::Settings::ALL.iter().chain(info.settings).chain(levers::SETTINGS);
        let given: Vec<_> =
            SMALL.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let values = Values::new(known, &given).expect("legal");
        let clients = Facts::under::<S>(&values).clients(self.workers);
        let job = Job::new(self.workers, clients, Limit::Requests(self.requests), 1);
        let visit = Under { run: self, values: &values, job, scheme: PhantomData::<S> };
        workloads_sim::catalogue::with("tpcc", &values, visit)
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

fn left(scheme: &str, run: Run) -> Left {
    catalogue::with(scheme, run).expect("the scheme is in the catalogue")
}

const SCHEMES: [&str; 8] = ["no_wait", "wait_die", "silo", "tictoc", "mvto", "si", "hstore", "calvin"];

#[test]
fn rows_that_nobody_looked_at_are_those_that_loading_makes() {
    for scheme in ["silo", "si", "hstore"] {
        let run = Run { is_implicit: true, workers: 1, requests: 0, seed: 1 };
        assert_eq!(left(scheme, run), left(scheme, Run { is_implicit: false, ..run }), "{scheme}");
    }
}

#[test]
fn the_same_transactions_leave_the_same_database() {
    for scheme in SCHEMES {
        let run = Run { is_implicit: true, workers: 1, requests: 200, seed: 1 };
        let (implicit, loaded) = (left(scheme, run), left(scheme, Run { is_implicit: false, ..run }));
        assert_eq!(implicit.verdict, Ok(()), "{scheme}");
        assert!(implicit.commits > 150, "{scheme}: {}", implicit.commits);
        assert_eq!(implicit, loaded, "{scheme}");
    }
}

#[test]
fn concurrent_transactions_over_implicit_rows_leave_a_consistent_database() {
    for scheme in SCHEMES {
        for seed in 0..4 {
            let run = Run { is_implicit: true, workers: 3, requests: 30, seed };
            let left = left(scheme, run);
            assert_eq!(left.verdict, Ok(()), "{scheme}, seed {seed}");
            assert!(left.commits > 60, "{scheme}, seed {seed}: {}", left.commits);
        }
    }
}
