//! Schedulers for the stepped build: a seed decides every interleaving of the workers.
//!
//! The twins of the crates are built over `sync_sim`, in which every access to a shared word is a
//! step. This crate decides, at every step, which worker goes on; so a failure that shows once a
//! week on real threads shows again and again under its seed.
//!
//! What a schedule cannot show is a missing memory ordering: all steps are sequentially consistent.

#![forbid(unsafe_code)]

mod scheduler;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use sync_sim::hook::{self, Scheduler};
use sync_sim::workers;

use crate::scheduler::random::Random;

/// What a schedule was, for comparing two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// Steps that all workers made together.
    pub steps: u64,
    /// A hash of all steps in their order: who made it, and of what kind. Addresses are not in it, so
    /// the same seed gives the same hash in every process.
    pub hash: u64,
}

/// One exploration: a seed and its bound.
#[derive(Debug, Clone, Copy)]
pub struct Explorer {
    seed: u64,
    steps_max: u64,
}

impl Explorer {
    /// Steps after which an exploration is taken for endless, unless told otherwise.
    pub const STEPS_MAX: u64 = 10_000_000;

    /// An exploration of the schedule that `seed` stands for.
    pub fn new(seed: u64) -> Self {
        Self { seed, steps_max: Self::STEPS_MAX }
    }

    /// Bounds the exploration to `steps_max` steps, in place of [`Self::STEPS_MAX`].
    #[must_use]
    pub fn steps_max(self, steps_max: u64) -> Self {
        Self { steps_max, ..self }
    }

    /// Runs `body`, whose calls of [`sync_sim::workers::run`] run under the seed's schedule.
    ///
    /// # Panics
    /// When `body` or a worker panics, with its message, the seed and the step. When the bound is
    /// reached, or when all workers wait and nothing changes any more. In all these cases what the
    /// suspended workers own is leaked, a latch that one of them holds stays held, and a test has
    /// nothing better to do than to report the seed.
    pub fn run<R>(self, body: impl FnOnce() -> R) -> (R, Trace) {
        let scheduler = Rc::new(Random::new(self.seed, self.steps_max));
        let installed = Installed(hook::install(Some(Rc::clone(&scheduler) as Rc<dyn Scheduler>)));
        let result = catch_unwind(AssertUnwindSafe(body));
        drop(installed);
        let trace = scheduler.trace();
        let panic = match result {
            Ok(value) => return (value, trace),
            Err(panic) => panic,
        };
        let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        match message.or_else(|| panic.downcast_ref::<String>().cloned()) {
            Some(message) => panic!("seed {}, step {}: {message}", self.seed, trace.steps),
            None => resume_unwind(panic),
        }
    }
}

/// Runs `f(0)` .. `f(workers - 1)` under the schedule of `seed`. See [`Explorer::run`].
pub fn explore(seed: u64, workers: usize, f: impl Fn(usize) + Sync) -> Trace {
    Explorer::new(seed).run(|| workers::run(workers, false, f)).1
}

/// Puts the scheduler before this one back when dropped.
struct Installed(Option<Rc<dyn Scheduler>>);

impl Drop for Installed {
    fn drop(&mut self) {
        hook::install(self.0.take());
    }
}
