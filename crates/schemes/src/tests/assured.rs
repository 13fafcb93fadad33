//! Claims about waits for commits to be assured: clients wait under every driver, and batches wait only while there
//! is nothing of which to form one.

use engine::driver::{self, Control, Job, Limit, RunOutcome, Traffic};
use engine::setting::{Setting, SettingError, Settings, Values};
use engine::{
    Abort, ClientId, Database, Drive, Env, Forecast, Homes, Loader, Observe, Observer, Quiesced, Schema,
    Scheme, Share, Stamp, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Latched, clock, waiter};

use crate::batched::aria::Aria;
use crate::deterministic::bohm::Bohm;
use crate::deterministic::calvin::Calvin;
use crate::deterministic::caracal::Caracal;
use crate::deterministic::pwv::Pwv;
use crate::optimistic::silo::Silo;
use crate::tests::common::counters::Counters;
use crate::tests::common::programs::{Model, Program, Programs, Seen};

/// Draws a number whenever it is asked for what commits wait. Assures a number when `lag` further ones were drawn, or
/// when somebody has waited for it.
#[derive(Default)]
struct Gate {
    lag: AtomicU64,
    drawn: AtomicU64,
    waited_for: AtomicU64,
    waits: AtomicU64,
    commits: Arc<AtomicU64>,
    /// Commits before each number was drawn.
    commits_before: Latched<Vec<u64>>,
    heard: AtomicU64,
    /// The number whose draw ends the run early.
    interrupts: Option<(u64, Arc<Control>)>,
}

// Relaxed: the claims about several workers hold for any earlier value.
impl Gate {
    fn drawn(&self) -> u64 {
        self.drawn.load(Ordering::Relaxed)
    }

    fn assured(&self) -> u64 {
        let lag = self.lag.load(Ordering::Relaxed);
        self.waited_for.load(Ordering::Relaxed).max(self.drawn().saturating_sub(lag))
    }

    fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// Notes that a client hears of a commit whose transaction was executed after `drawn` numbers were drawn.
    fn hear(&self, drawn: u64) {
        let heard = self.heard.fetch_add(1, Ordering::Relaxed) + 1;
        let assured = self.assured();
        assert!(assured > drawn, "heard of early: up to {assured} of {drawn} and more");
        let commits = self.commits_before.lock()[assured as usize - 1];
        assert!(heard <= commits, "{heard} are heard of, {commits} are assured");
    }
}

/// Counts commits.
struct Counted(Arc<AtomicU64>);

impl Observer for Counted {
    fn listens(&self) -> bool {
        true
    }

    fn outcome(&mut self, outcome: Result<Stamp, Abort>) {
        self.0.fetch_add(u64::from(outcome.is_ok()), Ordering::Relaxed);
    }
}

impl Observe for Gate {
    type Observer = Counted;
    type Sink = ();

    fn observer(&self) -> Counted {
        Counted(Arc::clone(&self.commits))
    }

    fn sink(&self) {}

    fn present(&self) -> Option<u64> {
        let mut commits_before = self.commits_before.lock();
        commits_before.push(self.commits.load(Ordering::Relaxed));
        let drawn = commits_before.len() as u64;
        self.drawn.store(drawn, Ordering::Relaxed);
        if let Some((at, control)) = &self.interrupts
            && drawn == *at
        {
            control.interrupt();
        }
        Some(drawn)
    }

    fn is_assured(&self, present: u64) -> bool {
        present <= self.assured()
    }

    fn assure(&self, present: u64) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        // On a fiber others commit meanwhile.
        waiter::give_way();
        self.waited_for.fetch_max(present, Ordering::Relaxed);
    }
}

/// A workload in which each execution notes how many numbers the gate had drawn by then, so that a client that hears
/// of the commit can tell whether a number drawn after it is assured.
struct Watched<W> {
    workload: W,
    gate: Arc<Gate>,
}

impl<W: Workload> Workload for Watched<W> {
    const NAME: &'static str = "watched";
    const TYPES: &'static [TxnType] = W::TYPES;
    const SETTINGS: &'static [Setting] = &[];
    type Input = W::Input;
    type Scratch = W::Scratch;
    type Output = (u64, W::Output);
    type Ledger = W::Ledger;

    fn declare(values: &Values, drive: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        Ok(Self { workload: W::declare(values, drive, schema)?, gate: Arc::default() })
    }

    fn forecast(&self) -> Forecast {
        self.workload.forecast()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        self.workload.load(share, loader);
    }

    fn generate(&self, client: ClientId, sequence: u64, rng: &mut Rng) -> W::Input {
        self.workload.generate(client, sequence, rng)
    }

    fn kind(&self, input: &W::Input) -> usize {
        self.workload.kind(input)
    }

    fn homes(&self, input: &W::Input) -> Homes {
        self.workload.homes(input)
    }

    fn execute<T: Transaction>(
        &self,
        input: &W::Input,
        scratch: &mut W::Scratch,
        txn: &mut T,
    ) -> Result<(u64, W::Output), Abort> {
        let drawn = self.gate.drawn();
        Ok((drawn, self.workload.execute(input, scratch, txn)?))
    }

    fn committed(&self, ledger: &mut W::Ledger, input: &W::Input, (drawn, output): &(u64, W::Output)) {
        self.gate.hear(*drawn);
        self.workload.committed(ledger, input, output);
    }

    fn check(&self, view: &impl Quiesced, share: Share, ledgers: &[W::Ledger]) -> Result<(), Violation> {
        self.workload.check(view, share, ledgers)
    }
}

const BATCH: usize = 8;

#[derive(Clone, Copy)]
struct Plan {
    workers: usize,
    clients: usize,
    requests: u64,
    /// How many numbers are drawn before the first of them is assured.
    lag: u64,
    given: &'static [(&'static str, &'static str)],
}

const PLAN: Plan = Plan { workers: 1, clients: 4 * BATCH, requests: 20, lag: NEVER, given: &[] };

/// A lag that only a wait ends.
const NEVER: u64 = u64::MAX;

struct Ran<S: Scheme, W: Workload> {
    db: Database<S>,
    watched: Watched<W>,
    outcome: RunOutcome<<Watched<W> as Workload>::Ledger>,
}

impl<S: Scheme, W: Workload> Ran<S, W> {
    fn sum(&self, of: fn(&driver::TypeTally) -> u64) -> u64 {
        self.outcome.types.iter().map(of).sum()
    }

    fn aborts(&self) -> u64 {
        // Aborts because of runs that did not come to pass do not belong to the outcome of a batch.
        self.sum(|tally| tally.aborts.iter().sum::<u64>() - tally.aborts[Abort::Cascade as usize])
    }

    /// Numbers drawn for batches, and waits between batches: each worker asks once before and waits once at the end.
    fn batches_and_waits(&self, workers: usize) -> (u64, u64) {
        (self.watched.gate.drawn() - 2 * workers as u64, self.watched.gate.waits() - workers as u64)
    }
}

fn database<S: Scheme, W: Workload>(plan: Plan) -> (Database<S>, W) {
    let mut given: Vec<_> =
        plan.given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let size = format!("{}.batch", S::INFO.name);
    if S::Settings::ALL.iter().any(|setting| setting.name == size) {
        given.push((size, BATCH.to_string()));
    }
    let values = Values::new(S::Settings::ALL, &given).expect("legal");
    let mut schema = Schema::new();
    let drive = Drive { workers: plan.workers as u32, clients: plan.clients as u32, seed: 1 };
    let workload = W::declare(&values, drive, &mut schema).expect("legal");
    let env = Env { slots: plan.clients + 12 * plan.workers, workers: plan.workers };
    let db = Database::new(&schema, &values, env).expect("legal");
    db.load(&workload, 1);
    (db, workload)
}

fn run<S: Scheme, W: Workload>(plan: Plan) -> Ran<S, W> {
    let (db, watched) = database::<S, Watched<W>>(plan);
    watched.gate.lag.store(plan.lag, Ordering::Relaxed);
    let job = Job::new(plan.workers, plan.clients, Limit::Requests(plan.requests), 1);
    let outcome = driver::observe(&db, &watched, &job, &Control::new(plan.workers), &*watched.gate);
    let ran = Ran { db, watched, outcome };
    let ended = ran.sum(|tally| tally.commits + tally.user_aborts);
    assert_eq!(ended, plan.clients as u64 * plan.requests, "every request ends once");
    let checked = ran.watched.check(&ran.db.quiesced(), Share::WHOLE, &ran.outcome.ledgers);
    assert_eq!(checked, Ok(()), "each commit is heard of once");
    ran
}

/// The claim also holds for transactions that execute alone, and there are some.
fn no_client_hears_of_a_commit_before_it_is_assured<S: Scheme>(plan: Plan) {
    for lag in [NEVER, 2, 1] {
        for workers in [1, 3] {
            let ran = run::<S, Programs>(Plan { workers, lag, ..plan });
            assert!(ran.aborts() > 0, "nothing aborts");
            run::<S, Counters>(Plan { workers, lag, ..plan });
        }
    }
}

fn other_clients_fill_batches_while_some_wait<S: Scheme>() {
    // The first of four batches is assured when the third has ended, and this is seen in the fourth.
    let ran = run::<S, Counters>(Plan { lag: 2, ..PLAN });
    assert_eq!(ran.batches_and_waits(1), (4 * PLAN.requests, 0), "full batches, and no wait");
}

fn batches_wait_when_all_clients_do<S: Scheme>() {
    // Four batches are executed, and then one for each batch that was waited for.
    let ran = run::<S, Counters>(PLAN);
    assert_eq!(ran.batches_and_waits(1), (4 * PLAN.requests, 4 * (PLAN.requests - 1)));
    let ran = run::<S, Counters>(Plan { clients: BATCH, ..PLAN });
    assert_eq!(ran.batches_and_waits(1), (PLAN.requests, PLAN.requests - 1));
}

/// The outcome of a run, which does not depend on the workers.
#[derive(Debug, PartialEq)]
struct Came {
    ledger: Vec<(Program, Vec<Seen>)>,
    after: Model,
    aborts: u64,
    batches_and_waits: (u64, u64),
}

fn came<S: Scheme>(plan: Plan) -> Came {
    let ran = run::<S, Programs>(plan);
    let after = Model::of(&ran.db, &ran.watched.workload);
    let (aborts, batches_and_waits) = (ran.aborts(), ran.batches_and_waits(plan.workers));
    let mut ledger: Vec<_> = ran.outcome.ledgers.into_iter().flatten().collect();
    ledger.sort_unstable_by_key(|(program, _)| (program.client, program.sequence));
    Came { ledger, after, aborts, batches_and_waits }
}

fn batches_are_the_same_for_any_number_of_workers<S: Scheme>(plan: Plan) {
    for (clients, lag) in [(4 * BATCH, 2), (3 * BATCH - 1, 3), (2 * BATCH + 3, NEVER)] {
        let plan = Plan { clients, lag, ..plan };
        let one = came::<S>(plan);
        for workers in [2, 3, 8] {
            assert_eq!(came::<S>(Plan { workers, ..plan }), one, "{workers} workers, {clients} clients");
        }
    }
}

/// Assures a commit when this number of nanoseconds has passed.
struct Later(u64);

impl Observe for Later {
    type Observer = ();
    type Sink = ();

    fn observer(&self) {}

    fn sink(&self) {}

    fn present(&self) -> Option<u64> {
        Some(clock::now_ns() + self.0)
    }

    fn is_assured(&self, at_ns: u64) -> bool {
        clock::now_ns() >= at_ns
    }

    fn assure(&self, at_ns: u64) {
        waiter::pause_ns(at_ns.saturating_sub(clock::now_ns()));
    }
}

fn each_commit_is_heard_of_once_however_a_run_ends<S: Scheme>() {
    let timed = Limit::Time { warmup_ns: 1_000_000, measured_ns: 5_000_000, cooldown_ns: 1_000_000 };
    for (workers, rtt_ns, limit) in [
        (1, 0, timed),
        (3, 0, timed),
        (2, 50_000, timed),
        (2, 300_000, timed),
        (2, 50_000, Limit::Requests(20)),
    ] {
        let plan = Plan { workers, ..PLAN };
        let (db, counters) = database::<S, Counters>(plan);
        let traffic = Traffic { rtt_ns, ..Traffic::default() };
        let job = Job { traffic, ..Job::new(workers, plan.clients, limit, 1) };
        let ran = driver::observe(&db, &counters, &job, &Control::new(workers), &Later(200_000));
        assert_eq!(counters.check(&db.quiesced(), Share::WHOLE, &ran.ledgers), Ok(()), "{job:?}");
        if limit != timed {
            let commits: u64 = ran.types.iter().map(|tally| tally.commits).sum();
            assert_eq!(commits, 20 * plan.clients as u64);
        }
    }
}

fn an_interruption_ends_a_run_that_waits<S: Scheme>() {
    let plan = Plan { workers: 2, ..PLAN };
    let (db, mut watched) = database::<S, Watched<Counters>>(plan);
    let control = Arc::new(Control::new(plan.workers));
    let lag = AtomicU64::new(NEVER);
    watched.gate = Arc::new(Gate { lag, interrupts: Some((20, Arc::clone(&control))), ..Gate::default() });
    let job = Job::new(plan.workers, plan.clients, Limit::Requests(u64::MAX), 1);
    let ran = driver::observe(&db, &watched, &job, &control, &*watched.gate);
    assert_eq!(watched.check(&db.quiesced(), Share::WHOLE, &ran.ledgers), Ok(()));
}

#[test]
fn clients_on_fibers_hear_of_no_commit_before_it_is_assured() {
    for workers in [1, 3] {
        let ran = run::<Silo, Counters>(Plan { workers, ..PLAN });
        assert_eq!(ran.watched.gate.waits(), PLAN.clients as u64 * PLAN.requests, "each waits for its own");
    }
}

#[test]
fn what_runs_again_in_the_next_batch_does_not_wait() {
    let plan = Plan { clients: BATCH, given: &[("aria.fallback", "off")], ..PLAN };
    let ran = run::<Aria, Counters>(plan);
    let (batches, waits) = ran.batches_and_waits(1);
    assert!(ran.aborts() > 0 && batches > waits + 1, "{batches} batches, {waits} waits");
    batches_are_the_same_for_any_number_of_workers::<Aria>(Plan { requests: 12, ..plan });
    no_client_hears_of_a_commit_before_it_is_assured::<Aria>(plan);
}

macro_rules! for_schemes {
    ($($name:ident: $scheme:ty),+ $(,)?) => {
        $(
            mod $name {
                use super::*;

                #[test]
                fn no_client_hears_of_a_commit_before_it_is_assured() {
                    super::no_client_hears_of_a_commit_before_it_is_assured::<$scheme>(PLAN);
                }

                #[test]
                fn other_clients_fill_batches_while_some_wait() {
                    super::other_clients_fill_batches_while_some_wait::<$scheme>();
                }

                #[test]
                fn batches_wait_when_all_clients_do() {
                    super::batches_wait_when_all_clients_do::<$scheme>();
                }

                #[test]
                fn batches_are_the_same_for_any_number_of_workers() {
                    super::batches_are_the_same_for_any_number_of_workers::<$scheme>(PLAN);
                }

                #[test]
                fn each_commit_is_heard_of_once_however_a_run_ends() {
                    super::each_commit_is_heard_of_once_however_a_run_ends::<$scheme>();
                }

                #[test]
                fn an_interruption_ends_a_run_that_waits() {
                    super::an_interruption_ends_a_run_that_waits::<$scheme>();
                }
            }
        )+
    };
}

for_schemes! {
    aria: Aria,
    calvin: Calvin,
    bohm: Bohm,
    caracal: Caracal,
    pwv: Pwv,
}
