//! Claims about the twins: every scheme runs a whole workload, drivers and indexes included, under a
//! schedule that a seed decides, and the seed brings the schedule back.

use engine_sim::driver::{self, Control, Job, Limit, Retry};
use engine_sim::setting::Values;
use engine_sim::{Admits, Database, Drive, Env, Schema, Scheme, Share, Workload};
use schemes_sim::catalogue::{self, Visit};
use sim::{Explorer, Trace};
use workloads_sim::ycsb::{ShortKey, Ycsb};

/// YCSB so small that its transactions meet.
const SETTINGS: [(&str, &str); 5] = [
    ("ycsb.workload", "custom"),
    ("ycsb.records", "16"),
    ("ycsb.ops_per_txn", "4"),
    ("ycsb.value_bytes", "16"),
    ("ycsb.read_pct", "50"),
];

/// Runs and checks the workload under the schedule of a seed.
struct Explore(u64);

impl Visit for Explore {
    type Out = Trace;

    fn visit<S: Scheme>(self) -> Trace {
        let workers = if S::INFO.workers == Admits::One { 1 } else { 2 };
        let job = Job {
            workers,
            clients: workers,
            retry: Retry::Same,
            limit: Limit::Requests(10),
            seed: 1,
            pause_ns: 0,
            pin: false,
            sample_every: 0,
        };
        let given = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let known = S::SETTINGS.iter().chain(Ycsb::<ShortKey>::SETTINGS);
        let values = Values::new(known, &given).expect("legal settings");
        let explored = Explorer::new(self.0).run(|| {
            let mut schema = Schema::new();
            let drive = Drive { workers: workers as u32, clients: workers as u32, seed: 1 };
            let workload = Ycsb::<ShortKey>::declare(&values, drive, &mut schema).expect("legal settings");
            let env = Env { slots: workers, workers };
            let db = Database::<S>::new(&schema, &values, env).expect("legal settings");
            db.load(&workload, 1);
            let outcome = driver::run(&db, &workload, &job, &Control::new(workers));
            let commits: u64 = outcome.types.iter().map(|tally| tally.commits).sum();
            assert_eq!(commits, 10 * workers as u64, "every request commits in the end");
            workload.check(&db.quiesced(), Share::WHOLE, &outcome.ledgers).expect("consistent");
        });
        explored.1
    }
}

fn explore(scheme: &str, seed: u64) -> Trace {
    catalogue::with(scheme, Explore(seed)).expect("a scheme of the catalogue")
}

#[test]
fn a_seed_brings_a_schedule_back_under_every_scheme() {
    for info in catalogue::INFO {
        assert_eq!(explore(info.name, 7), explore(info.name, 7), "{}", info.name);
    }
}

#[test]
fn seeds_differ_and_every_schedule_passes_the_check() {
    for info in catalogue::INFO.iter().filter(|info| info.workers == Admits::Any) {
        let mut hashes: Vec<u64> = (0..8).map(|seed| explore(info.name, seed).hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 8, "{}: each seed has a schedule of its own", info.name);
    }
}
