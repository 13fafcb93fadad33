//! Lanes of requests that conflict: a run ends by its time, by an interruption and by a panic, although clients wait
//! for other workers. All programs conflict as far as their footprints tell, so that one lane executes them all.

use engine::driver::{self, Control, Job, Limit, Retry};
use engine::levers;
use engine::setting::Values;
use engine::{Database, Drive, Schema, Workload};
use sync::atomic::{AtomicU64, Ordering};
use sync::{waiter, workers};

use super::common::programs::{Panics, Programs};
use super::common::{Given, database_with, values};
use crate::optimistic::silo::Silo;

const WORKERS: usize = 3;
const CLIENTS: usize = 12;
const KEEP: Given = &[("run.reorder", "keep"), ("run.reorder_batch", "4")];

fn job(limit: Limit) -> Job {
    let reorder = levers::reorder(&values::<Silo>(KEEP));
    Job { retry: Retry::Same, reorder, ..Job::new(WORKERS, CLIENTS, limit, 1) }
}

fn database(panics: Option<Panics>) -> (Database<Silo>, Programs) {
    let mut schema = Schema::new();
    let drive = Drive { workers: WORKERS as u32, clients: CLIENTS as u32, seed: 1 };
    let mut programs = Programs::declare(&Values::default(), drive, &mut schema).expect("legal");
    programs.panics = panics;
    let db = database_with::<Silo>(&schema, CLIENTS, WORKERS, KEEP);
    db.load(&programs, 1);
    (db, programs)
}

/// The number of requests that ended.
fn ended(outcome: &driver::RunOutcome<<Programs as Workload>::Ledger>) -> u64 {
    outcome.types.iter().map(|of| of.commits + of.user_aborts).sum()
}

#[test]
fn one_worker_executes_what_is_known_to_conflict() {
    let (db, programs) = database(None);
    let outcome = driver::run(&db, &programs, &job(Limit::Requests(50)), &Control::new(WORKERS));
    assert_eq!(ended(&outcome), 50 * CLIENTS as u64);
    let aborts: u64 = outcome.types.iter().flat_map(|of| of.aborts).sum();
    // Batches of several workers that are placed at the same time may meet, before the first lease is seen.
    assert!(aborts <= 50, "{aborts} aborts of 600 requests in one lane");
}

#[test]
fn a_run_by_time_ends() {
    let (db, programs) = database(None);
    let limit = Limit::Time { warmup_ns: 1_000_000, measured_ns: 5_000_000, cooldown_ns: 1_000_000 };
    let outcome = driver::run(&db, &programs, &job(limit), &Control::new(WORKERS));
    assert_eq!(outcome.ledgers.len(), WORKERS);
}

#[test]
fn an_interrupted_run_ends() {
    let (db, programs) = database(None);
    let (control, is_over) = (Control::new(WORKERS), AtomicU64::new(0));
    // Relaxed: a flag that orders nothing else.
    let ended = workers::run(2, false, |worker| {
        if worker == 0 {
            let outcome = driver::run(&db, &programs, &job(Limit::Requests(u64::MAX)), &control);
            is_over.store(1, Ordering::Relaxed);
            ended(&outcome)
        } else {
            waiter::wait_until(None, || control.progress().0 > 100);
            control.interrupt();
            waiter::wait_until(None, || is_over.load(Ordering::Relaxed) == 1);
            0
        }
    });
    assert!(ended[0] > 100);
}

#[test]
#[should_panic(expected = "planted")]
fn a_panic_ends_the_run_of_those_who_wait_for_the_lane() {
    let (db, programs) = database(Some(Panics::InBatch));
    driver::run(&db, &programs, &job(Limit::Requests(20)), &Control::new(WORKERS));
}
