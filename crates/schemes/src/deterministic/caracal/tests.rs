//! Claims about Caracal's own features: arrays of many versions, marks to ignore some of them, the treatment of
//! contended records, and the time for which versions stand.

use engine::driver::{self, Control, Job, Limit};
use engine::setting::{Setting, SettingError, Settings, Values};
use engine::{
    Abort, ClientId, Database, Drive, Env, Forecast, Homes, Loader, Lookup, Quiesced, Row, Schema, Share,
    Table, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::Latched;
use sync::atomic::{AtomicU64, Ordering};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::deterministic::caracal::Caracal;

crate::tests::conformance!(crate::deterministic::caracal::entry::ENTRY: without_contention, with_contention_only);

type Given<'g> = &'g [(&'g str, &'g str)];

const BATCH: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Count {
    times: u64,
    last: u64,
    sum: u64,
}

impl Row for Count {
    type Key = u64;
    type Indexes = ();
}

/// A workload in which every request counts at key 0, except the requests of every fifth client, which count at a
/// key of its own. The requests of every third client roll back after that. Keys from 1 on are the clients'.
struct Counts {
    table: Table<Count>,
    /// The executions: the number of the worker's scratch, the client, the sequence number.
    executions: Latched<Vec<(u64, u64, u64)>>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    client: u64,
    sequence: u64,
}

impl Request {
    fn key(self) -> u64 {
        if self.client % 5 == 4 { 1 + self.client } else { 0 }
    }

    fn rolls_back(self) -> bool {
        self.client % 3 == 2
    }
}

/// Numbers the workers.
struct Scratch(u64);

impl Default for Scratch {
    fn default() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self(MADE.fetch_add(1, Ordering::Relaxed)) // Relaxed: draws a number.
    }
}

impl Workload for Counts {
    const NAME: &'static str = "counts";
    const TYPES: &'static [TxnType] = &[TxnType { name: "count", read_only: false }];
    const SETTINGS: &'static [Setting] = &[];
    type Input = Request;
    type Scratch = Scratch;
    type Output = Count;
    type Ledger = Vec<(u64, u64, Count)>;

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let table = schema.table("counts", Lookup::Ordered, BATCH + 1).group();
        Ok(Self { table, executions: Latched::default() })
    }

    fn forecast(&self) -> Forecast {
        Forecast::default()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for key in share.of_range(BATCH as u64 + 1) {
            loader.insert(self.table, key, &Count { times: 0, last: 0, sum: 0 });
        }
    }

    fn generate(&self, client: ClientId, sequence: u64, _: &mut Rng) -> Request {
        Request { client: u64::from(client.0), sequence }
    }

    fn kind(&self, _: &Request) -> usize {
        0
    }

    fn homes(&self, _: &Request) -> Homes {
        Homes::new()
    }

    fn execute<T: Transaction>(
        &self,
        request: &Request,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Count, Abort> {
        self.executions.lock().push((scratch.0, request.client, request.sequence));
        let before = txn.update(self.table, request.key(), |row| {
            let before = *row;
            *row = Count { times: row.times + 1, last: request.client, sum: row.sum + request.client };
            before
        })?;
        if request.rolls_back() { Err(Abort::Rollback) } else { Ok(before.expect("loaded")) }
    }

    fn committed(&self, ledger: &mut Self::Ledger, request: &Request, seen: &Count) {
        ledger.push((request.sequence, request.client, *seen));
    }

    fn check(&self, _: &impl Quiesced, _: Share, _: &[Self::Ledger]) -> Result<(), Violation> {
        Ok(())
    }
}

struct Run {
    /// By request, in the order of batches.
    seen: Vec<(u64, u64, Count)>,
    executions: Vec<(u64, u64, u64)>,
    /// The number of words of arrays after the run, and the number for which there is room.
    words: (usize, usize),
    after: Vec<Count>,
}

fn run(given: Given<'_>, workers: usize, requests: u64) -> Run {
    let batch = BATCH.to_string();
    let given: Vec<_> = [("caracal.batch", batch.as_str())]
        .iter()
        .chain(given)
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    let values = Values::new(<Caracal as engine::Scheme>::Settings::ALL, &given).expect("legal settings");
    let mut schema = Schema::new();
    let drive = Drive { workers: 1, clients: BATCH as u32, seed: 1 };
    let counts = Counts::declare(&values, drive, &mut schema).expect("legal");
    let env = Env { slots: 2 * workers + 2, workers };
    let db = Database::<Caracal>::new(&schema, &values, env).expect("settings agree");
    db.load(&counts, 1);
    let job = Job::new(workers, BATCH, Limit::Requests(requests), 1);
    let ran = driver::run(&db, &counts, &job, &Control::new(workers));
    assert_eq!(ran.types[0].aborts.iter().sum::<u64>(), 0, "nothing was rehearsed in vain");
    let mut seen: Vec<_> = ran.ledgers.into_iter().flatten().collect();
    seen.sort_unstable_by_key(|(sequence, client, _)| (*sequence, *client));
    let view = db.quiesced();
    let mut after = Vec::new();
    view.rows(counts.table, Share::WHOLE, |key, row| after.push((key, *row)));
    after.sort_unstable_by_key(|(key, _)| *key);
    Run {
        seen,
        executions: counts.executions.into_inner(),
        words: db.scheme().words(),
        after: after.into_iter().map(|(_, row)| row).collect(),
    }
}

/// The values that the requests of some batches see one after the other, and the rows after them.
fn expected(requests: u64) -> (Vec<(u64, u64, Count)>, Vec<Count>) {
    let mut rows = vec![Count { times: 0, last: 0, sum: 0 }; BATCH + 1];
    let mut seen = Vec::new();
    for sequence in 0..requests {
        for client in 0..BATCH as u64 {
            let request = Request { client, sequence };
            let row = &mut rows[request.key() as usize];
            if !request.rolls_back() {
                seen.push((sequence, client, *row));
                *row = Count { times: row.times + 1, last: client, sum: row.sum + client };
            }
        }
    }
    (seen, rows)
}

#[test]
fn each_of_hundreds_sees_the_version_before_its_own_and_ignores_what_was_rolled_back() {
    for given in [
        &[][..],
        &[("caracal.batch_append", "off")],
        &[("caracal.split", "off")],
        &[("caracal.batch_append", "off"), ("caracal.split", "off")],
        &[("caracal.contended", "1")],
        &[("caracal.contended", "10000"), ("caracal.collect_every", "1")],
        &[("caracal.collect_every", "200")],
    ] {
        for workers in [1, 2, 3, 5] {
            let (seen, after) = expected(8);
            let ran = run(given, workers, 8);
            assert_eq!(ran.seen, seen, "{workers} workers, {given:?}");
            assert_eq!(ran.after, after, "{workers} workers, {given:?}");
        }
    }
}

#[test]
fn who_writes_a_contended_record_executes_where_all_do_who_write_it() {
    for (split, contended, are_together) in [("on", "8", true), ("off", "8", false), ("on", "10000", false)] {
        let ran = run(&[("caracal.split", split), ("caracal.contended", contended)], 3, 6);
        for sequence in 0..6 {
            // Each request was rehearsed on the worker of its client, and executed after all were rehearsed.
            let of_batch = ran.executions.iter().filter(|execution| execution.2 == sequence);
            let executed: Vec<_> = of_batch.skip(BATCH).collect();
            assert_eq!(executed.len(), BATCH);
            let workers_of = |is_hot: bool| {
                let is_hot = |client| (Request { client, sequence }.key() == 0) == is_hot;
                let mut workers: Vec<u64> =
                    executed.iter().filter(|of| is_hot(of.1)).map(|(worker, ..)| *worker).collect();
                workers.sort_unstable();
                workers.dedup();
                workers.len()
            };
            assert_eq!(workers_of(true), if are_together { 1 } else { 3 }, "split {split} from {contended}");
            assert_eq!(workers_of(false), 3, "the others stay where their clients are");
        }
    }
}

#[test]
fn versions_stand_for_a_bounded_number_of_batches_and_for_no_run() {
    for (every, batches) in [("1", 2), ("4", 5)] {
        let room = |requests| {
            let ran = run(&[("caracal.collect_every", every)], 2, requests);
            assert_eq!(ran.words.0, 0, "all records are settled after a run");
            ran.words.1
        };
        // A word for the place and the state of a version, and three for its value.
        let of_versions = batches * BATCH * 4;
        let (few, many) = (room(10), room(200));
        assert!(few >= of_versions, "room for {few} words");
        // The two shares take turns at the hot record, and leave gaps where an array begins a chunk.
        assert!(many <= 6 * of_versions, "room for {many} words after 200 batches, {few} after 10");
    }
}
