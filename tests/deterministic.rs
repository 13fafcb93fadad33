//! Claims about schemes whose batches have a deterministic outcome: the same requests leave the same rows, and commit
//! and roll back equally often, for any number of workers and under every workload.

use std::ops::{Bound, ControlFlow};

use engine::driver::{self, Control, Job, Limit};
use engine::setting::{Settings, Values};
use engine::{
    Abort, AnyKey, Database, Direction, Drive, Env, Facts, Homes, Lookup, RawSession, Schema, Scheme, Share,
    Ticket, Which, Workload,
};
use schemes::batched::aria::Aria;
use schemes::deterministic::bohm::Bohm;
use schemes::deterministic::calvin::Calvin;
use schemes::deterministic::caracal::Caracal;
use schemes::deterministic::pwv::Pwv;
use storage::Layout;
use workloads::smallbank::SmallBank;
use workloads::tpcc::Tpcc;
use workloads::ycsb::{ShortKey, Ycsb};

type Given = &'static [(&'static str, &'static str)];

const TPCC: Given = &[
    ("tpcc.warehouses", "2"),
    ("tpcc.items", "200"),
    ("tpcc.customers_per_district", "20"),
    ("tpcc.rollback_pct", "5"),
];
/// Scans and inserts, and a few hot keys.
const YCSB: Given =
    &[("ycsb.workload", "e"), ("ycsb.records", "500"), ("ycsb.theta", "0.9"), ("ycsb.ops_per_txn", "3")];
const SMALLBANK: Given = &[("smallbank.accounts", "60"), ("smallbank.refused_pct", "5")];

/// The outcome of a run: commits, rollbacks and aborts by type, and the rows of all tables with keys, by table.
type Trace = (Vec<[u64; 3]>, Vec<(u64, u64)>);

fn outcome<S: Scheme, W: Workload>(given: &[(&str, &str)], workers: usize) -> Trace {
    // Unless the setting says so, batches grow with the workers.
    let size = (format!("{}.batch", S::INFO.name), "64".to_owned());
    let given = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    let given: Vec<_> = given.chain([size]).collect();
    let values = Values::new(S::Settings::ALL.iter().chain(W::SETTINGS), &given).expect("legal settings");
    let clients = Facts::under::<S>(&values).clients(64, 1);
    let drive = Drive { workers: 1, clients: clients as u32, seed: 1 };
    let mut schema = Schema::new();
    schema.lay_out(Layout { is_ordered_only: true, ..Layout::default() });
    let workload = W::declare(&values, drive, &mut schema).expect("settings agree");
    let env = Env { slots: clients + 2 * workers, workers };
    let db = Database::<S>::new(&schema, &values, env).expect("settings agree");
    db.load(&workload, 1);
    let job = Job::new(workers, clients, Limit::Requests(25), 1);
    let ran = driver::run(&db, &workload, &job, &Control::new(workers));
    assert_eq!(workload.check(&db.quiesced(), Share::WHOLE, &ran.ledgers), Ok(()));
    let counted = ran.types.iter().map(|tally| {
        // Cascading aborts, of transactions that have read uncommitted results, are not part of a batch's outcome.
        let aborts = tally.aborts.iter().sum::<u64>() - tally.aborts[Abort::Cascade as usize];
        [tally.commits, tally.user_aborts, aborts]
    });
    (counted.collect(), rows(&db))
}

/// Returns for each table the number of rows of its column groups, and a digest of them.
fn rows<S: Scheme>(db: &Database<S>) -> Vec<(u64, u64)> {
    let mut session = db.session();
    let tables = db.tables().iter().filter(|store| store.lookup() == Lookup::Ordered);
    tables
        .map(|store| {
            let (mut count, mut digest) = (0, 0_u64);
            let mut see = |key: AnyKey, words: &[u64]| {
                let key = match key {
                    AnyKey::One(key) => [0, key],
                    AnyKey::Two(key) => [(key >> 64) as u64, key as u64],
                    AnyKey::Six(_) => panic!("no primary key of these workloads has six words"),
                };
                count += 1;
                digest = key.iter().chain(words).fold(digest, |digest, word| {
                    (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
                });
                ControlFlow::Continue(())
            };
            let ended = session.transact(&Ticket::new(0, Homes::new()), &mut |txn| {
                (0..store.groups()).try_for_each(|group| {
                    let all = (Bound::Unbounded, Bound::Unbounded);
                    txn.scan(store.id(), group, Which::Primary, all, Direction::Forward, &mut see)
                })
            });
            assert!(ended.is_ok(), "nobody is in the way");
            (count, digest)
        })
        .collect()
}

fn does_not_depend_on_the_workers<S: Scheme, W: Workload>(given: Given) {
    let one = outcome::<S, W>(given, 1);
    let commits: u64 = one.0.iter().map(|[commits, ..]| commits).sum();
    assert!(commits > 500, "{commits} commits show little");
    for workers in [2, 3, 8] {
        assert_eq!(outcome::<S, W>(given, workers), one, "{}, {workers} workers", W::NAME);
    }
}

fn under<S: Scheme>() {
    does_not_depend_on_the_workers::<S, Tpcc>(TPCC);
    does_not_depend_on_the_workers::<S, Ycsb<ShortKey>>(YCSB);
    does_not_depend_on_the_workers::<S, SmallBank>(SMALLBANK);
}

/// Asserts that inputs state all that they touch: no transaction executes alone.
fn what_is_stated_is_all<S: Scheme>() {
    let narrow = [("tpcc.mix", "1,1,0,0,0"), ("tpcc.commutative", "off"), ("tpcc.hot_rows", "first")];
    for further in
        [&narrow[..1], &narrow, &[narrow[0], ("tpcc.profile", "eased"), ("tpcc.rollback_pct", "0")]]
    {
        // All but the last, which says how many orders roll back.
        let given: Vec<_> = TPCC[..3].iter().chain(further).copied().collect();
        nothing_aborts::<S, Tpcc>(&given);
    }
    for letter in ["a", "d", "f"] {
        let mut given = YCSB.to_vec();
        given[0].1 = letter;
        nothing_aborts::<S, Ycsb<ShortKey>>(&given);
    }
    nothing_aborts::<S, SmallBank>(SMALLBANK);
}

fn nothing_aborts<S: Scheme, W: Workload>(given: &[(&'static str, &'static str)]) {
    for workers in [1, 3] {
        let (counted, _) = outcome::<S, W>(given, workers);
        assert!(counted.iter().map(|[commits, ..]| commits).sum::<u64>() > 500, "{given:?}");
        assert_eq!(counted.iter().map(|[.., aborts]| aborts).sum::<u64>(), 0, "{} {given:?}", S::INFO.name);
    }
}

#[test]
fn what_inputs_state_is_all_that_they_touch() {
    what_is_stated_is_all::<Calvin>();
    what_is_stated_is_all::<Bohm>();
    what_is_stated_is_all::<Pwv>();
    what_is_stated_is_all::<Caracal>();
}

#[test]
fn what_aria_leaves_does_not_depend_on_the_workers() {
    under::<Aria>();
}

#[test]
fn what_calvin_leaves_does_not_depend_on_the_workers() {
    under::<Calvin>();
}

#[test]
fn what_pwv_leaves_does_not_depend_on_the_workers() {
    under::<Pwv>();
}

#[test]
fn what_bohm_leaves_does_not_depend_on_the_workers() {
    under::<Bohm>();
}

#[test]
fn what_caracal_leaves_does_not_depend_on_the_workers() {
    under::<Caracal>();
}
