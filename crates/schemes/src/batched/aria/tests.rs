//! Aria against a model: random programs of reads, writes, inserts, deletes and scans run in batches, and
//! each batch must be what the model makes of its snapshot. And the outcome must not depend on the workers.

use std::collections::{BTreeMap, BTreeSet};

use engine::driver::{
    self, Arrivals, ClientMode, Control, Driver, Job, Limit, OpenLoop, Process, Retry, Traffic,
};
use engine::setting::{Settings, Values};
use engine::{
    Abort, ClientId, Database, Drive, Env, Facts, Homes, Observer, Schema, Scheme, Stamp, Ticket,
    Transaction, Workload,
};
use stdx::Rng;
use storage::{RecordRef, Shape};

use crate::batched::aria::Aria;
use crate::tests::common::EFFORT;
use crate::tests::common::programs::{
    Cell, Execution, Mix, Model, Op, Panics, Point, Program, Programs, Seen,
};

crate::tests::conformance!(crate::batched::aria::entry::ENTRY: without_fallback);

struct Run {
    outcome: Vec<(Program, Vec<Seen>)>,
    aborts: u64,
    user_aborts: u64,
    executions: Vec<Execution>,
    after: Model,
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    mix: Mix,
    workers: usize,
    clients: usize,
    batch: usize,
    reordering: bool,
    fallback: bool,
    seed: u64,
}

const PLAN: Plan =
    Plan { mix: Mix::All, workers: 1, clients: 24, batch: 24, reordering: true, fallback: false, seed: 1 };

fn database(plan: Plan) -> (Database<Aria>, Programs) {
    let Plan { batch, reordering, fallback, clients: slots, workers, .. } = plan;
    let fallback = if fallback { "on" } else { "off" }.to_owned();
    let given = [
        ("aria.batch", batch.to_string()),
        ("aria.reordering", reordering.to_string()),
        ("aria.fallback", fallback),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value));
    let values = Values::new(<Aria as Scheme>::Settings::ALL, &given).expect("legal");
    let mut schema = Schema::new();
    let drive = Drive { workers: 1, clients: 1, seed: 1 };
    let programs = Programs::declare(&values, drive, &mut schema).expect("legal");
    let db = Database::new(&schema, &values, Env { slots, workers }).expect("legal");
    (db, programs)
}

fn job(plan: Plan, limit: Limit) -> Job {
    Job { sample_every: 1, ..Job::new(plan.workers, plan.clients, limit, plan.seed) }
}

fn run(plan: Plan, requests: u64, pause_ns: u64) -> Run {
    let (db, mut programs) = database(plan);
    programs.mix = plan.mix;
    db.load(&programs, 1);
    let job = Job { pause_ns, ..job(plan, Limit::Requests(requests)) };
    let outcome = driver::run(&db, &programs, &job, &Control::new(plan.workers));
    let after = Model::of(&db, &programs);
    let memory = db.memory();
    assert_eq!(memory[0].entries, after.items.len(), "deleted keys leave the index at once");
    assert_eq!(memory[1].entries, after.points.len());
    let commits: u64 = outcome.types.iter().map(|tally| tally.commits).sum();
    let user_aborts = outcome.types.iter().map(|tally| tally.user_aborts).sum();
    assert_eq!(commits + user_aborts, plan.clients as u64 * requests, "every request ends once");
    let looks = &outcome.types[1];
    assert_eq!(looks.aborts.iter().sum::<u64>(), 0, "what writes nothing commits");
    let mut ledger: Vec<_> = outcome.ledgers.into_iter().flatten().collect();
    ledger.sort_unstable_by_key(|(program, _)| (program.client, program.sequence));
    let aborts = outcome.types.iter().flat_map(|tally| tally.aborts).sum();
    let mut executions = programs.executions.into_inner();
    if plan.fallback {
        name_batches(&mut executions);
    }
    Run { outcome: ledger, aborts, user_aborts, executions, after }
}

/// Counts executions that fall back with their batch: they execute a second time, after commits of their own
/// batch of which clients have heard.
fn name_batches(executions: &mut [Execution]) {
    let (mut batch, mut executed) = (0, BTreeSet::new());
    for execution in executions {
        if executed.insert((execution.program.client, execution.program.sequence)) {
            batch = execution.batch;
        } else {
            execution.batch = batch;
        }
    }
}

fn program_sees(program: &Program, state: &Model) -> Option<Vec<Seen>> {
    state.run(program).map(|(seen, _)| seen)
}

/// Checks a history of one worker batch by batch: what each commit saw, that one commit writes a cell, that
/// some serial order agrees with all commits, and that the programs which fell back did so one by one in the
/// order of the batch. Returns the first executions of each batch, each with whether it committed.
fn check(plan: Plan, run: &Run) -> Vec<Vec<(Program, bool)>> {
    let mut state = Model::loaded(plan.mix);
    let mut batches = Vec::new();
    let name = |program: &Program| (program.client, program.sequence);
    let last_batches: BTreeMap<_, _> =
        run.executions.iter().map(|execution| (name(&execution.program), execution.batch)).collect();
    for chunk in run.executions.chunk_by(|a, b| a.batch == b.batch) {
        // A program that executes twice in a batch falls back.
        let is_first = |position: &usize| {
            chunk[..*position].iter().all(|other| other.program != chunk[*position].program)
        };
        let firsts = if plan.fallback { (0..chunk.len()).take_while(is_first).count() } else { chunk.len() };
        let (batch, fallen) = chunk.split_at(firsts);
        // A batch without commits is followed by a batch with the same count: one of its programs executes
        // again there.
        let committed = |execution: &Execution| {
            let program = &execution.program;
            !program.ops.contains(&Op::Rollback)
                && last_batches[&name(program)] == execution.batch
                && fallen.iter().all(|other| other.program != *program)
        };
        let mut written: Vec<(&Program, BTreeSet<Cell>, Model)> = Vec::new();
        for execution in batch {
            let Some((seen, after)) = state.run(&execution.program) else { continue };
            assert_eq!(execution.seen, seen, "{:?} on its snapshot", execution.program);
            if committed(execution) {
                written.push((&execution.program, state.differing(&after), after));
            }
        }
        let before = state.clone();
        for (position, (_, cells, after)) in written.iter().enumerate() {
            let others = written[..position].iter().flat_map(|(_, cells, _)| cells);
            assert!(others.clone().all(|cell| !cells.contains(cell)), "one commit writes a cell");
            state.adopt(after, cells);
        }
        assert_serializable(&before, &written);
        if plan.fallback {
            let is_aborted = |execution: &&Execution| {
                !committed(execution) && !execution.program.ops.contains(&Op::Rollback)
            };
            let aborted = batch.iter().filter(is_aborted).map(|execution| &execution.program);
            let again = fallen.iter().map(|execution| &execution.program);
            assert!(again.eq(aborted), "what aborted, and nothing else, executes again in its order");
        }
        for execution in fallen {
            let (seen, after) = state.run(&execution.program).expect("what rolls back does not fall back");
            assert_eq!(execution.seen, seen, "{:?} alone", execution.program);
            state = after;
        }
        let first = &batch[0];
        assert!(
            committed(first) || first.program.ops.contains(&Op::Rollback),
            "the first of a batch commits"
        );
        batches
            .push(batch.iter().map(|execution| (execution.program.clone(), committed(execution))).collect());
    }
    assert_eq!(state, run.after, "the state after the run");
    batches
}

/// Removes, again and again, a program that depends on no write of another program that is left.
fn assert_serializable(before: &Model, written: &[(&Program, BTreeSet<Cell>, Model)]) {
    // The states that differ from the one before by the writes of one program.
    let changed = written.iter().map(|(_, cells, after)| {
        let mut changed = before.clone();
        changed.adopt(after, cells);
        changed
    });
    let changed: Vec<Model> = changed.collect();
    // A program depends on another one if the writes of the other make it see anything else.
    let depends = written.iter().enumerate().map(|(position, (program, _, _))| {
        let seen = program_sees(program, before);
        let others = changed.iter().enumerate();
        others.map(|(other, state)| other != position && program_sees(program, state) != seen).collect()
    });
    let depends: Vec<Vec<bool>> = depends.collect();
    let mut left: Vec<usize> = (0..written.len()).collect();
    while !left.is_empty() {
        // The removed program is the last in some order: no other that is left must come after it.
        let last = left.iter().position(|program| left.iter().all(|other| !depends[*program][*other]));
        let programs: Vec<_> = left.iter().map(|program| &written[*program].0.ops).collect();
        left.remove(last.unwrap_or_else(|| panic!("no serial order agrees with {programs:#?}")));
    }
}

#[test]
fn every_batch_is_serializable_and_does_what_the_model_does() {
    for (seed, reordering, fallback) in
        [(1, true, false), (2, true, false), (3, false, false), (1, true, true), (2, false, true)]
    {
        let plan = Plan { reordering, fallback, seed, ..PLAN };
        let run = run(plan, 30 * EFFORT, 0);
        check(plan, &run);
        assert!(run.aborts > 0 && run.user_aborts > 0, "there was something to decide");
    }
}

#[test]
fn the_outcome_does_not_depend_on_the_workers() {
    let all = [(24, 24, true), (40, 16, true), (24, 24, false)].map(|(clients, batch, reordering)| Plan {
        clients,
        batch,
        reordering,
        ..PLAN
    });
    let growth = Plan { mix: Mix::Growth, ..PLAN };
    let plans = all.into_iter().chain([growth]);
    for plan in plans.flat_map(|plan| [plan, Plan { fallback: true, ..plan }]) {
        let one = run(plan, 6 * EFFORT, 0);
        for (workers, pause_ns) in [(2, 0), (3, 0), (8, 0), (2, 20_000)] {
            let many = run(Plan { workers, ..plan }, 6 * EFFORT, pause_ns);
            assert_eq!((one.aborts, one.user_aborts), (many.aborts, many.user_aborts), "{workers} workers");
            assert_eq!(one.outcome, many.outcome, "{workers} workers");
            assert_eq!(one.after, many.after, "{workers} workers");
        }
    }
}

#[test]
fn every_transaction_ends_in_its_batch_when_it_falls_back() {
    let plan = Plan { fallback: true, ..PLAN };
    let run = run(plan, 60, 0);
    for (nth, chunk) in run.executions.chunk_by(|a, b| a.batch == b.batch).enumerate() {
        // Every client has one request in each batch, and all of them have the same number.
        let is_of_batch = |execution: &Execution| execution.program.sequence == nth as u64;
        assert!(chunk.iter().all(is_of_batch), "nothing of the batch before is left");
    }
    let executed = run.executions.len() as u64;
    assert_eq!(executed, plan.clients as u64 * 60 + run.aborts, "an abort costs one execution more");
    assert!(run.aborts > 0, "something fell back");
}

#[test]
fn what_falls_back_has_a_batch_number_of_its_own() {
    for fallback in [false, true] {
        // With one place in a batch nothing aborts; with twenty-four, something does in nearly every batch.
        for clients in [1, 24] {
            let plan = Plan { clients, batch: clients, fallback, ..PLAN };
            let (db, programs) = database(plan);
            db.load(&programs, 1);
            let outcome =
                driver::run(&db, &programs, &job(plan, Limit::Requests(30)), &Control::new(plan.workers));
            let mut executions = programs.executions.into_inner();
            let aborts: u64 = outcome.types.iter().flat_map(|tally| tally.aborts).sum();
            assert_eq!(aborts > 0, clients > 1);
            let mut session = db.session_with(Heard::default(), ());
            let ticket = Ticket::new(0, Homes::new());
            let key = programs.items;
            assert!(session.attempt(&ticket, |txn| txn.delete(key, 1)).is_ok());
            let batch = session.observer().stamp >> 14;
            if !fallback {
                assert!(batch >= 2 + 30, "opened, turned by each batch, and by this attempt");
                continue;
            }
            name_batches(&mut executions);
            let chunks = executions.chunk_by(|a, b| a.batch == b.batch);
            let sent = |chunk: &[Execution]| {
                chunk
                    .iter()
                    .map(|other| (other.program.client, other.program.sequence))
                    .collect::<BTreeSet<_>>()
            };
            let fell = chunks.filter(|chunk| sent(chunk).len() < chunk.len()).count() as u64;
            assert_eq!(batch, 2 + 30 + fell, "and by each fallback");
        }
    }
}

/// Records the installed values and the last stamp.
#[derive(Default)]
struct Heard {
    installed: Vec<(Option<u64>, Option<u64>)>,
    stamp: u64,
}

impl Observer for Heard {
    fn listens(&self) -> bool {
        true
    }

    fn installed<S: Shape>(&mut self, _: RecordRef<'_, S>, before: Option<&[u64]>, after: Option<&[u64]>) {
        let mark = |words: &[u64]| words[0];
        self.installed.push((before.map(mark), after.map(mark)));
    }

    fn outcome(&mut self, outcome: Result<Stamp, Abort>) {
        if let Ok(Stamp(stamp)) = outcome {
            self.stamp = stamp;
        }
    }
}

#[test]
fn observers_hear_of_the_value_before() {
    let (db, programs) = database(Plan { clients: 1, batch: 8, ..PLAN });
    db.load(&programs, 1);
    let (ticket, points) = (Ticket::new(0, Homes::new()), programs.points);
    let mut session = db.session_with(Heard::default(), ());
    // Every third key is missing at first.
    let insert = session.attempt(&ticket, |txn| txn.insert(points, 3, &Point { mark: 7 }));
    assert_eq!(insert, Ok(true));
    let update = session.attempt(&ticket, |txn| txn.update(points, 3, |point| point.mark = 8));
    assert_eq!(update, Ok(Some(())));
    assert_eq!(session.attempt(&ticket, |txn| txn.delete(points, 3)), Ok(true));
    let heard = &session.observer().installed;
    assert_eq!(heard, &[(None, Some(7)), (Some(7), Some(8)), (Some(8), None)]);
}

/// The cells that a program of [`Mix::Records`] only reads, and the cells that it writes.
fn records(program: &Program) -> (BTreeSet<Cell>, BTreeSet<Cell>) {
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    for op in &program.ops {
        match op {
            Op::Read(key) => reads.insert((true, *key)),
            Op::Update(key) | Op::Replace(key) => writes.insert((true, *key)),
            Op::ReadPoint(key) => reads.insert((false, *key)),
            Op::ReplacePoint(key) => writes.insert((false, *key)),
            _ => false,
        };
    }
    (reads, writes)
}

#[test]
fn records_are_decided_exactly_by_the_rule() {
    for reordering in [true, false] {
        let plan = Plan { mix: Mix::Records, reordering, ..PLAN };
        for batch in check(plan, &run(plan, 30 * EFFORT, 0)) {
            let sets: Vec<_> = batch.iter().map(|(program, _)| records(program)).collect();
            for (position, (program, committed)) in batch.iter().enumerate() {
                if program.ops.contains(&Op::Rollback) {
                    continue;
                }
                let (reads, writes) = &sets[position];
                let counts =
                    |other: usize| !batch[other].0.ops.contains(&Op::Rollback) && !sets[other].1.is_empty();
                let smaller = || (0..position).filter(|other| counts(*other)).map(|other| &sets[other]);
                let waw = smaller().any(|other| !other.1.is_disjoint(writes));
                let raw = smaller().any(|other| !other.1.is_disjoint(reads));
                let war = smaller().any(|other| !other.0.is_disjoint(writes));
                let expected = writes.is_empty() || !waw && !(raw && (war || !reordering));
                assert_eq!(*committed, expected, "{program:?} at place {position}");
            }
        }
    }
}

#[test]
fn a_run_by_time_ends_between_batches() {
    for fallback in [false, true] {
        let plan = Plan { workers: 2, fallback, ..PLAN };
        let (db, programs) = database(plan);
        db.load(&programs, 1);
        for _ in 0..2 {
            let limit = Limit::Time { warmup_ns: 1_000_000, measured_ns: 5_000_000, cooldown_ns: 1_000_000 };
            driver::run(&db, &programs, &job(plan, limit), &Control::new(plan.workers));
            Model::of(&db, &programs);
        }
    }
}

/// Runs until the planted panic.
fn run_into(panics: Panics) {
    let plan = Plan { workers: 3, fallback: true, ..PLAN };
    let (db, mut programs) = database(plan);
    programs.panics = Some(panics);
    db.load(&programs, 1);
    driver::run(&db, &programs, &job(plan, Limit::Requests(5)), &Control::new(plan.workers));
}

#[test]
#[should_panic(expected = "planted")]
fn a_panic_leaves_the_run() {
    run_into(Panics::InBatch);
}

#[test]
#[should_panic(expected = "planted")]
fn a_panic_in_what_falls_back_leaves_the_run() {
    run_into(Panics::Again);
}

#[test]
fn dropping_aborted_requests_is_refused() {
    let job = Job { retry: Retry::Drop, ..job(PLAN, Limit::Requests(1)) };
    let refuses = <<Aria as Scheme>::Driver as Driver<Aria>>::refuses;
    assert!(refuses(&job).is_some_and(|says| says.contains("`--retry same`")));
    assert_eq!(refuses(&Job { retry: Retry::Backoff, ..job }), None);
}

#[test]
fn what_a_batch_cannot_wait_for_is_refused_and_a_round_trip_of_a_request_is_not() {
    let refuses = |traffic| {
        <<Aria as Scheme>::Driver as Driver<Aria>>::refuses(&Job { traffic, ..job(PLAN, Limit::Requests(1)) })
    };
    let plain = Traffic::default();
    assert_eq!(refuses(Traffic { rtt_ns: 50_000, ..plain }), None);
    let open = Arrivals::Open(OpenLoop { process: Process::Constant, rate_txn_s: 1e3, queue_max: 1 });
    for (traffic, way_out) in [
        (Traffic { mode: ClientMode::Interactive, ..plain }, "`--mode procedure`"),
        (Traffic { arrivals: open, ..plain }, "`--arrivals closed`"),
        (Traffic { batch: 2, ..plain }, "`--clients`"),
        (Traffic { is_paced: true, ..plain }, "terminals"),
    ] {
        assert!(refuses(traffic).is_some_and(|says| says.contains(way_out)), "{traffic:?}");
    }
}

#[test]
fn requests_that_take_a_round_trip_to_come_end_once_whatever_the_number_of_workers() {
    for workers in [1, 2] {
        let plan = Plan { workers, fallback: true, ..PLAN };
        let (db, programs) = database(plan);
        db.load(&programs, 1);
        let traffic = Traffic { rtt_ns: 20_000, ..Traffic::default() };
        let job = Job { traffic, latencies: true, ..job(plan, Limit::Requests(20)) };
        let outcome = driver::run(&db, &programs, &job, &Control::new(workers));
        let ended: u64 = outcome.types.iter().map(|tally| tally.commits + tally.user_aborts).sum();
        assert_eq!(ended, 20 * plan.clients as u64);
        // All but the first requests have been under way, and that time is a part of their latency.
        let at_once = outcome.types.iter().map(|tally| tally.latency_ns.quantile(0.5)).min();
        assert!(at_once.is_some_and(|ns| ns >= 20_000), "{at_once:?}");
        Model::of(&db, &programs);
    }
}

#[test]
fn a_batch_has_a_client_for_each_place() {
    let values =
        Values::new(<Aria as Scheme>::Settings::ALL, &[("aria.batch".into(), "50".into())]).expect("legal");
    let facts = Facts::under::<Aria>(&values);
    assert_eq!([2, 80].map(|asked| facts.clients(asked, 2)), [50, 80]);
    let standard = Facts::under::<Aria>(&Values::new(<Aria as Scheme>::Settings::ALL, &[]).expect("legal"));
    assert_eq!([1, 4, 16, 1_568].map(|workers| standard.clients(1, workers)), [16, 16, 64, 4 * 1_568]);
}

#[test]
fn an_attempt_outside_of_a_batch_excludes_others() {
    let (db, programs) = database(Plan { clients: 2, batch: 8, ..PLAN });
    db.load(&programs, 1);
    let ticket = Ticket::new(0, Homes::new());
    let (mut a, mut b) = (db.session(), db.session());
    let items = programs.items;
    let skew = |read: u64, write: u64| {
        move |txn: &mut engine::Attempt<'_, '_, Aria>| {
            let mark = txn.read(items, read, |item| item.mark)?;
            txn.update(items, write, |item| item.mark = mark.unwrap_or(0) + 1)
        }
    };
    let outer = a.attempt(&ticket, |txn| {
        skew(1, 2)(txn)?;
        assert_eq!(b.attempt(&ticket, skew(2, 1)), Err(Abort::LockBusy));
        Ok(())
    });
    assert_eq!(outer, Ok(()));
    assert_eq!(b.attempt(&ticket, skew(2, 1)), Ok(Some(())));
    let marks = b.attempt(&ticket, |txn| {
        let one = txn.read(programs.items, 1, |item| item.mark)?;
        Ok((one, txn.read(programs.items, 2, |item| item.mark)?))
    });
    assert_eq!(marks, Ok((Some(2), Some(1))), "the second saw what the first wrote");
}

#[test]
fn attempts_outside_of_batches_do_what_the_model_does() {
    let (db, programs) = database(Plan { clients: 1, batch: 8, ..PLAN });
    db.load(&programs, 1);
    let mut model = Model::loaded(Mix::All);
    let mut session = db.session();
    for sequence in 0..2_000 {
        let program = programs.generate(ClientId(0), sequence, &mut Rng::from_path(&[7, sequence]));
        let result =
            session.attempt(&Ticket::new(0, Homes::new()), |txn| programs.execute(&program, &mut (), txn));
        match model.run(&program) {
            Some((seen, after)) => {
                assert_eq!(result, Ok(seen), "{program:?}");
                model = after;
            }
            None => assert_eq!(result, Err(Abort::Rollback)),
        }
    }
    drop(session);
    assert_eq!(Model::of(&db, &programs), model);
}
