//! Claims about schemes that fix the order of a batch before they execute it, against a model: the transactions of a
//! batch have the same effects as one after the other, in their order; and the outcome does not depend on the workers.

use engine::driver::{self, Control, Driver, Job, Limit, Retry};
use engine::setting::{Setting, SettingError, Settings, Values};
use engine::{
    Abort, ClientId, Database, Drive, Env, Forecast, Homes, InputFootprint, Loader, Lookup, Observe, Phase,
    Quiesced, Schema, Scheme, Share, Sink, Stamp, Table, Ticket, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use storage::{RecordRef, Shape};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Latched, clock, waiter, workers};

use crate::deterministic::bohm::Bohm;
use crate::deterministic::calvin::Calvin;
use crate::deterministic::caracal::Caracal;
use crate::deterministic::pwv::Pwv;
use crate::tests::common::EFFORT;
use crate::tests::common::programs::{Mix, Model, Op, Panics, Point, Program, Programs, Seen, States};

#[derive(Clone, Copy, Debug)]
struct Plan {
    mix: Mix,
    workers: usize,
    clients: usize,
    batch: usize,
    seed: u64,
    states: States,
}

const PLAN: Plan =
    Plan { mix: Mix::All, workers: 1, clients: 24, batch: 24, seed: 1, states: States::OneRow };

struct Run {
    outcome: Vec<(Program, Vec<Seen>)>,
    aborts: u64,
    user_aborts: u64,
    /// In the order in which they ended, rehearsals included.
    executions: Vec<(Program, Vec<Seen>)>,
    after: Model,
}

fn database<S: Scheme>(plan: Plan) -> (Database<S>, Programs) {
    database_with(plan, 12 * plan.workers + 2)
}

/// A database with room for `slots` sessions.
fn database_with<S: Scheme>(plan: Plan, slots: usize) -> (Database<S>, Programs) {
    let given = [(format!("{}.batch", S::INFO.name), plan.batch.to_string())];
    let values = Values::new(S::Settings::ALL, &given).expect("legal");
    let mut schema = Schema::new();
    let mut programs =
        Programs::declare(&values, Drive { workers: 1, clients: 1, seed: 1 }, &mut schema).expect("legal");
    programs.mix = plan.mix;
    programs.states = plan.states;
    let env = Env { slots, workers: plan.workers };
    (Database::new(&schema, &values, env).expect("legal"), programs)
}

fn job(plan: Plan, limit: Limit) -> Job {
    Job { sample_every: 1, ..Job::new(plan.workers, plan.clients, limit, plan.seed) }
}

fn run<S: Scheme>(plan: Plan, requests: u64, pause_ns: u64) -> Run {
    let (db, programs) = database::<S>(plan);
    db.load(&programs, 1);
    let job = Job { pause_ns, ..job(plan, Limit::Requests(requests)) };
    let outcome = driver::run(&db, &programs, &job, &Control::new(plan.workers));
    assert!(
        outcome.phase_ticks[Phase::Footprint as usize] > 0,
        "the time in which footprints are found is counted apart"
    );
    let after = Model::of(&db, &programs);
    let memory = db.memory();
    assert_eq!(memory[0].entries, after.items.len(), "deleted keys leave the index at once");
    let sum = |of: fn(&driver::TypeTally) -> u64| outcome.types.iter().map(of).sum::<u64>();
    let (commits, user_aborts) = (sum(|tally| tally.commits), sum(|tally| tally.user_aborts));
    assert_eq!(commits + user_aborts, plan.clients as u64 * requests, "every request ends once");
    // Aborts because of runs that did not come to pass do not belong to the outcome of the batch.
    let aborts = sum(|tally| tally.aborts[Abort::Footprint as usize]);
    let cascades = sum(|tally| tally.aborts[Abort::Cascade as usize]);
    let all = sum(|tally| tally.aborts.iter().sum());
    assert_eq!(all, aborts + cascades, "nothing aborts for a conflict");
    let mut ledger: Vec<_> = outcome.ledgers.into_iter().flatten().collect();
    ledger.sort_unstable_by_key(|(program, _)| (program.client, program.sequence));
    let executions = programs.executions.into_inner().into_iter();
    let executions = executions.map(|execution| (execution.program, execution.seen)).collect();
    Run { outcome: ledger, aborts, user_aborts, executions, after }
}

fn a_batch_does_what_its_transactions_do_in_their_order<S: Scheme>() {
    for (seed, mix) in [(1, Mix::All), (2, Mix::All), (3, Mix::Records)] {
        let plan = Plan { mix, seed, ..PLAN };
        let run = run::<S>(plan, 150, 0);
        let mut state = Model::loaded(mix);
        let mut alone = 0;
        for batch in run.executions.chunks(2 * plan.clients) {
            let (rehearsed, executed) = batch.split_at(plan.clients);
            for (program, seen) in rehearsed {
                let sees = state.run(program).map(|(sees, _)| sees);
                assert!(
                    sees.is_none_or(|sees| sees == *seen),
                    "{program:?} is rehearsed on what the last batch left"
                );
            }
            let order = |executed: &[(Program, Vec<Seen>)]| {
                executed.iter().map(|(program, _)| program.client).collect()
            };
            let clients: Vec<u64> = order(executed);
            // Transactions that run alone come after the others.
            let planned = 1 + clients.windows(2).take_while(|pair| pair[0] < pair[1]).count();
            assert!(clients[planned..].is_sorted(), "in their order: {clients:?}");
            alone += (clients.len() - planned) as u64;
            for (program, seen) in executed {
                if let Some((sees, after)) = state.run(program) {
                    assert_eq!(*seen, sees, "{program:?} in its place");
                    state = after;
                }
            }
        }
        assert_eq!(state, run.after);
        // The first of those that ran alone may follow the last of the others as if it were one of them.
        assert!(alone <= run.aborts, "what touches what it did not request, and nothing else, runs alone");
        assert_eq!(run.executions.len(), 2 * plan.clients * 150, "everything ends in its batch");
        assert!(run.user_aborts > 0 && (run.aborts > 0) == (mix == Mix::All), "{} aborts", run.aborts);
    }
}

fn the_outcome_does_not_depend_on_the_workers<S: Scheme>() {
    for plan in [PLAN, Plan { clients: 40, batch: 16, ..PLAN }, Plan { mix: Mix::Growth, ..PLAN }] {
        let one = run::<S>(plan, 12 * EFFORT, 0);
        for (workers, pause_ns) in [(2, 0), (3, 0), (8, 0), (2, 20_000)] {
            let many = run::<S>(Plan { workers, ..plan }, 12 * EFFORT, pause_ns);
            assert_eq!((one.aborts, one.user_aborts), (many.aborts, many.user_aborts), "{workers} workers");
            assert_eq!(one.outcome, many.outcome, "{workers} workers");
            assert_eq!(one.after, many.after, "{workers} workers");
        }
    }
}

fn what_inputs_state_is_not_rehearsed<S: Scheme>() {
    let plan = Plan { mix: Mix::Records, ..PLAN };
    let rehearsed = run::<S>(plan, 60, 0);
    assert_eq!(rehearsed.executions.len(), 2 * plan.clients * 60);
    for workers in [1, 3] {
        let stated = run::<S>(Plan { workers, states: States::All, ..plan }, 60, 0);
        assert_eq!((&stated.outcome, &stated.after), (&rehearsed.outcome, &rehearsed.after));
        assert_eq!(stated.aborts, 0, "nothing else is touched");
        // A run that is withdrawn is executed again.
        assert!(stated.executions.len() >= plan.clients * 60);
        assert!(workers > 1 || stated.executions.len() == plan.clients * 60, "each is executed once");
    }
}

fn a_statement_that_is_wrong_costs_a_turn_alone<S: Scheme>() {
    for mix in [Mix::All, Mix::Growth] {
        let plan = Plan { mix, states: States::Nothing, ..PLAN };
        let one = run::<S>(plan, 60, 0);
        assert!(one.aborts > 24 * 30, "{} aborts", one.aborts);
        let many = run::<S>(Plan { workers: 3, ..plan }, 60, 0);
        assert_eq!((&many.outcome, &many.after), (&one.outcome, &one.after));
    }
}

fn a_run_has_room_for_its_sessions<S: Scheme>() {
    // Every database has room for a few that look at it, on each core.
    let workers = 4 * workers::cores();
    for batch in [1, workers, 3 * workers] {
        let plan = Plan { workers, clients: batch.max(workers), batch, ..PLAN };
        let job = job(plan, Limit::Requests(3));
        let (db, programs) = database_with::<S>(plan, <S::Driver as Driver<S>>::sessions(&job));
        db.load(&programs, 1);
        driver::run(&db, &programs, &job, &Control::new(workers));
        Model::of(&db, &programs);
    }
}

fn a_run_by_time_ends_between_batches<S: Scheme>() {
    let plan = Plan { workers: 2, ..PLAN };
    let (db, programs) = database::<S>(plan);
    db.load(&programs, 1);
    for _ in 0..2 {
        let limit = Limit::Time { warmup_ns: 1_000_000, measured_ns: 5_000_000, cooldown_ns: 1_000_000 };
        driver::run(&db, &programs, &job(plan, limit), &Control::new(plan.workers));
        Model::of(&db, &programs);
    }
}

fn run_into<S: Scheme>(panics: Panics) {
    let plan = Plan { workers: 3, ..PLAN };
    let (db, mut programs) = database::<S>(plan);
    programs.panics = Some(panics);
    db.load(&programs, 1);
    driver::run(&db, &programs, &job(plan, Limit::Requests(5)), &Control::new(plan.workers));
}

fn dropping_aborted_requests_is_refused<S: Scheme>() {
    let job = Job { retry: Retry::Drop, ..job(PLAN, Limit::Requests(1)) };
    let refuses = <S::Driver as Driver<S>>::refuses;
    assert!(refuses(&job).is_some_and(|says| says.contains("`--retry same`")));
}

fn an_attempt_outside_of_a_batch_excludes_others<S: Scheme>() {
    let (db, programs) = database::<S>(PLAN);
    db.load(&programs, 1);
    let ticket = Ticket::new(0, Homes::new());
    let (mut a, mut b) = (db.session(), db.session());
    let outer = a.attempt(&ticket, |txn| {
        let other = b.attempt(&ticket, |txn| txn.read(programs.items, 1, |item| item.mark));
        assert_eq!(other, Err(Abort::LockBusy));
        txn.update(programs.items, 1, |item| item.mark = 5)
    });
    assert_eq!(outer, Ok(Some(())));
    let after = b.attempt(&ticket, |txn| txn.read(programs.items, 1, |item| item.mark));
    assert_eq!(after, Ok(Some(5)));
}

fn a_program_that_rolls_back_leaves_nothing<S: Scheme>() {
    let is_rollback = |(program, _): &&(Program, Vec<Seen>)| program.ops.contains(&Op::Rollback);
    let run = run::<S>(PLAN, 40, 0);
    assert!(run.user_aborts > 0 && run.outcome.iter().filter(is_rollback).count() == 0);
}

/// Two transactions of a batch that write one record. The first one updates it, and goes on when the second one has
/// overwritten it.
struct Overtaking {
    points: Table<Point>,
    is_overwritten: AtomicBool,
    has_met: AtomicBool,
    is_logged: bool,
    /// The number of commits.
    commits: AtomicU64,
    /// The marks that commits have written, with the numbers of the commits.
    logged: Latched<Vec<(u64, u64)>>,
}

/// A log that orders writes by the order of commits.
struct Log<'w> {
    of: &'w Overtaking,
    commit: u64,
}

impl<'w> Observe for &'w Overtaking {
    type Observer = ();
    type Sink = Log<'w>;

    fn observer(&self) {}

    fn sink(&self) -> Log<'w> {
        Log { of: self, commit: 0 }
    }
}

impl Sink for Log<'_> {
    const ON: bool = true;

    fn committing(&mut self) {
        self.commit = self.of.commits.fetch_add(1, Ordering::Relaxed); // Relaxed: draws a number.
    }

    fn logged<S: Shape>(&mut self, _: Stamp, _: RecordRef<'_, S>, row: Option<&[u64]>) {
        self.of.logged.lock().push((self.commit, row.expect("nothing is deleted")[0]));
    }
}

/// Milliseconds after which something must be wrong.
const LONG_MS: u64 = 20_000;
/// Milliseconds in which a transaction that waits for nobody ends as a rule.
const SHORT_MS: u64 = 50;

impl Workload for Overtaking {
    const NAME: &'static str = "overtaking";
    const TYPES: &'static [TxnType] = &[TxnType { name: "write", read_only: false }];
    const SETTINGS: &'static [Setting] = &[];
    type Input = ClientId;
    type Scratch = ();
    type Output = ();
    type Ledger = ();

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let points = schema.table("points", Lookup::Point, 1).group();
        let (is_overwritten, has_met) = (AtomicBool::new(false), AtomicBool::new(false));
        let (commits, logged) = (AtomicU64::new(0), Latched::default());
        Ok(Self { points, is_overwritten, has_met, is_logged: false, commits, logged })
    }

    fn forecast(&self) -> Forecast {
        Forecast::default()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        share.of_range(1).for_each(|key| loader.insert(self.points, key, &Point { mark: 0 }));
    }

    fn generate(&self, client: ClientId, _: u64, _: &mut Rng) -> ClientId {
        client
    }

    fn kind(&self, _: &ClientId) -> usize {
        0
    }

    fn homes(&self, _: &ClientId) -> Homes {
        Homes::new()
    }

    /// So nothing is rehearsed.
    fn footprint(&self, _: &ClientId, footprint: &mut InputFootprint) {
        footprint.write(self.points, 0);
        footprint.complete();
    }

    fn execute<T: Transaction>(&self, client: &ClientId, (): &mut (), txn: &mut T) -> Result<(), Abort> {
        if client.0 == 1 {
            assert!(txn.replace(self.points, 0, &Point { mark: 2 })?, "the row is there");
            // Relaxed, here and below: nothing else hangs on it.
            self.is_overwritten.store(true, Ordering::Relaxed);
            return Ok(());
        }
        txn.update(self.points, 0, |point| point.mark = 1)?;
        let in_ms = |ms| Some(clock::now_ns() + 1_000_000 * ms);
        let has_met = waiter::wait_until(in_ms(LONG_MS), || self.is_overwritten.load(Ordering::Relaxed));
        self.has_met.store(has_met, Ordering::Relaxed);
        if self.is_logged {
            waiter::wait_until(in_ms(SHORT_MS), || self.commits.load(Ordering::Relaxed) > 0);
        }
        Ok(())
    }

    fn committed(&self, (): &mut (), _: &ClientId, (): &()) {}

    fn check(&self, _: &impl Quiesced, _: Share, _: &[()]) -> Result<(), Violation> {
        Ok(())
    }
}

/// Runs both transactions; returns the writes as a log would have them, in the order of commits.
fn overtake<S: Scheme>(is_logged: bool) -> Vec<(u64, u64)> {
    let plan = Plan { workers: 2, clients: 2, batch: 2, ..PLAN };
    let given = [(format!("{}.batch", S::INFO.name), plan.batch.to_string())];
    let values = Values::new(S::Settings::ALL, &given).expect("legal");
    let mut schema = Schema::new();
    let drive = Drive { workers: 2, clients: 2, seed: 1 };
    let mut workload = Overtaking::declare(&values, drive, &mut schema).expect("legal");
    workload.is_logged = is_logged;
    let db = Database::<S>::new(&schema, &values, Env { slots: 32, workers: 2 }).expect("legal");
    db.load(&workload, 1);
    let (job, control) = (job(plan, Limit::Requests(1)), Control::new(2));
    if is_logged {
        driver::observe(&db, &workload, &job, &control, &&workload);
    } else {
        driver::run(&db, &workload, &job, &control);
    }
    assert!(workload.has_met.load(Ordering::Relaxed), "the second is done while the first goes on");
    let mut after = None;
    db.quiesced().rows(workload.points, Share::WHOLE, |_, point| after = Some(point.mark));
    assert_eq!(after, Some(2), "in the order of the batch");
    let mut logged = core::mem::take(&mut *workload.logged.lock());
    logged.sort_unstable();
    logged
}

fn a_blind_write_waits_for_no_value<S: Scheme>() {
    overtake::<S>(false);
    // But a log tells two writes of a record apart by the order of their commits.
    assert_eq!(overtake::<S>(true), [(0, 1), (1, 2)]);
}

macro_rules! for_schemes {
    ($($name:ident: $scheme:ty),+ $(,)?) => {
        $(
            mod $name {
                use super::*;

                #[test]
                fn a_batch_does_what_its_transactions_do_in_their_order() {
                    super::a_batch_does_what_its_transactions_do_in_their_order::<$scheme>();
                }

                #[test]
                fn the_outcome_does_not_depend_on_the_workers() {
                    super::the_outcome_does_not_depend_on_the_workers::<$scheme>();
                }

                #[test]
                fn what_inputs_state_is_not_rehearsed() {
                    super::what_inputs_state_is_not_rehearsed::<$scheme>();
                }

                #[test]
                fn a_statement_that_is_wrong_costs_a_turn_alone() {
                    super::a_statement_that_is_wrong_costs_a_turn_alone::<$scheme>();
                }

                #[test]
                fn a_run_has_room_for_its_sessions() {
                    super::a_run_has_room_for_its_sessions::<$scheme>();
                }

                #[test]
                fn a_run_by_time_ends_between_batches() {
                    super::a_run_by_time_ends_between_batches::<$scheme>();
                }

                #[test]
                #[should_panic(expected = "planted")]
                fn a_panic_in_a_rehearsal_leaves_the_run() {
                    run_into::<$scheme>(Panics::InBatch);
                }

                #[test]
                #[should_panic(expected = "planted")]
                fn a_panic_in_what_was_rehearsed_leaves_the_run() {
                    run_into::<$scheme>(Panics::Again);
                }

                #[test]
                fn dropping_aborted_requests_is_refused() {
                    super::dropping_aborted_requests_is_refused::<$scheme>();
                }

                #[test]
                fn an_attempt_outside_of_a_batch_excludes_others() {
                    super::an_attempt_outside_of_a_batch_excludes_others::<$scheme>();
                }

                #[test]
                fn a_program_that_rolls_back_leaves_nothing() {
                    super::a_program_that_rolls_back_leaves_nothing::<$scheme>();
                }
            }
        )+
    };
}

for_schemes!(calvin: Calvin, bohm: Bohm, caracal: Caracal, pwv: Pwv);

/// Of schemes with a version for each write of a batch.
mod versions {
    use super::*;

    #[test]
    fn a_blind_write_waits_for_no_value_under_bohm() {
        a_blind_write_waits_for_no_value::<Bohm>();
    }

    #[test]
    fn a_blind_write_waits_for_no_value_under_caracal() {
        a_blind_write_waits_for_no_value::<Caracal>();
    }

    #[test]
    fn a_blind_write_waits_for_no_value_under_pwv() {
        a_blind_write_waits_for_no_value::<Pwv>();
    }
}
