//! Claims about rows that change their secondary keys, under every scheme and schedules that a seed decides:
//! concurrent scans see each row once, and no index entry is left behind.

use engine_sim::driver::{self, Control, Job, Limit};
use engine_sim::setting::{Settings, Values};
use engine_sim::{Admits, Database, Drive, Env, Schema, Scheme, Share, Workload};
use schemes_sim::catalogue::{self, Visit};
use sim::Explorer;

use crate::common::movers::{self, Movers};
use crate::common::{drain, secondary_entries};

/// The number of requests of each worker.
const REQUESTS: u64 = 10;

/// Visits a scheme: moves rows, and checks the result, under the schedule of a seed.
struct Explore(u64);

impl Visit for Explore {
    type Out = ();

    fn visit<S: Scheme>(self) {
        let Self(seed) = self;
        let workers = if S::INFO.workers == Admits::One { 1 } else { 2 };
        let job = Job::new(workers, workers, Limit::Requests(REQUESTS), 1 + seed / 8);
        let values = Values::new(S::Settings::ALL, &[]).expect("legal settings");
        Explorer::new(seed).run(|| {
            let mut schema = Schema::new();
            let drive = Drive { workers: workers as u32, clients: workers as u32, seed: 1 };
            let workload = Movers::declare(&values, drive, &mut schema).expect("legal settings");
            let env = Env { slots: workers, workers };
            let db = Database::<S>::new(&schema, &values, env).expect("legal settings");
            db.load(&workload, 1);
            let outcome = driver::run(&db, &workload, &job, &Control::new(workers));
            let ended: u64 = outcome.types.iter().map(|tally| tally.commits + tally.user_aborts).sum();
            assert_eq!(ended, REQUESTS * workers as u64, "every request ends once");
            let believed = [movers::CHANGE, movers::LOOK].map(|kind| outcome.types[kind].user_aborts);
            assert_eq!(believed, [0; 2], "nobody who saw a row twice, or not at all, was believed");
            workload.check(&db.quiesced(), Share::WHOLE, &outcome.ledgers).expect("consistent");
            drain(&db);
            for (table, rows, entries) in secondary_entries(&db) {
                assert_eq!(entries, rows, "`{table}` has an entry for each row");
            }
        });
    }
}

#[test]
fn rows_that_move_are_seen_once_under_every_schedule() {
    for info in catalogue::infos() {
        for seed in 0..50 {
            catalogue::with(info.name, Explore(seed)).expect("a scheme of the catalogue");
        }
    }
}
