//! Whole workloads under every scheme of the catalogue over stepped primitives, including drivers and
//! indexes. A seed decides the rows, the requests and the interleaving, and the workload's own check
//! decides if the result is correct.

use core::marker::PhantomData;

use engine_sim::driver::{self, Control, Job, Limit};
use engine_sim::setting::{Settings, Values};
use engine_sim::{Admits, Database, Drive, Env, Schema, Scheme, Share, Workload};
use schemes_sim::catalogue::{self, Visit};
use sim::{Explorer, Trace};
use workloads_sim::smallbank::SmallBank;
use workloads_sim::tpcc::Tpcc;
use workloads_sim::ycsb::{ShortKey, Ycsb};

/// YCSB so small that its transactions conflict.
const YCSB: &[(&str, &str)] = &[
    ("ycsb.workload", "custom"),
    ("ycsb.records", "16"),
    ("ycsb.ops_per_txn", "4"),
    ("ycsb.value_bytes", "16"),
    ("ycsb.read_pct", "50"),
];

/// TPC-C so small that its transactions conflict, with all events that its settings permit.
const TPCC: &[(&str, &str)] = &[
    ("tpcc.items", "8"),
    ("tpcc.customers_per_district", "4"),
    ("tpcc.mix", "30,30,10,10,10"),
    ("tpcc.audit_pct", "20"),
    ("tpcc.delivery", "per_district"),
];

/// A bank of four customers, some of whom run out of money.
const SMALLBANK: &[(&str, &str)] = &[
    ("smallbank.accounts", "4"),
    ("smallbank.mix", "1,1,1,2,1,2"),
    ("smallbank.refused_pct", "10"),
    ("smallbank.commutative", "on"),
];

/// A workload, with the settings that make it small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Small {
    Ycsb,
    Tpcc,
    Bank,
}

impl Small {
    /// All workloads.
    pub(crate) const ALL: [Self; 3] = [Self::Ycsb, Self::Tpcc, Self::Bank];

    /// Returns the workload's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ycsb => Ycsb::<ShortKey>::NAME,
            Self::Tpcc => Tpcc::NAME,
            Self::Bank => SmallBank::NAME,
        }
    }
}

/// The result of an exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exploration {
    pub(crate) trace: Trace,
    pub(crate) commits: u64,
    /// The number of attempts that the scheme aborted.
    pub(crate) aborts: u64,
}

/// Runs and checks a workload under a scheme and the schedule of a seed.
///
/// # Panics
/// If a request does not end, the check fails, or anything panics. The message has the seed and the step.
pub(crate) fn explore(scheme: &str, workload: Small, seed: u64) -> Exploration {
    let explored = match workload {
        Small::Ycsb => catalogue::with(scheme, Explore::<Ycsb<ShortKey>>(seed, YCSB, PhantomData)),
        Small::Tpcc => catalogue::with(scheme, Explore::<Tpcc>(seed, TPCC, PhantomData)),
        Small::Bank => catalogue::with(scheme, Explore::<SmallBank>(seed, SMALLBANK, PhantomData)),
    };
    explored.expect("a scheme of the catalogue")
}

struct Explore<W>(u64, &'static [(&'static str, &'static str)], PhantomData<W>);

impl<W: Workload> Visit for Explore<W> {
    type Out = Exploration;

    fn visit<S: Scheme>(self) -> Exploration {
        let Self(seed, given, _) = self;
        let workers = if S::INFO.workers == Admits::One { 1 } else { 2 };
        let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let known = S::Settings::ALL.iter().chain(W::SETTINGS);
        let values = Values::new(known, &given).expect("legal settings");
        let job = Job { turn_after: 2, ..Job::new(workers, workers, Limit::Requests(10), seed) };
        let ((commits, aborts), trace) = Explorer::new(seed).run(|| {
            let mut schema = Schema::new();
            let drive = Drive { workers: workers as u32, clients: workers as u32, seed };
            let workload = W::declare(&values, drive, &mut schema).expect("legal settings");
            let env = Env { slots: workers, workers };
            let db = Database::<S>::new(&schema, &values, env).expect("legal settings");
            db.load(&workload, 1);
            let outcome = driver::run(&db, &workload, &job, &Control::new(workers));
            let sum = |count: fn(&driver::TypeTally) -> u64| outcome.types.iter().map(count).sum::<u64>();
            let ended = sum(|tally| tally.commits + tally.user_aborts);
            assert_eq!(ended, 10 * workers as u64, "every request ends once");
            workload.check(&db.quiesced(), Share::WHOLE, &outcome.ledgers).expect("consistent");
            (sum(|tally| tally.commits), sum(|tally| tally.aborts.iter().sum()))
        });
        Exploration { trace, commits, aborts }
    }
}
