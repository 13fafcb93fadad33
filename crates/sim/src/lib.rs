//! A scheduler for the stepped build: at every access to a shared word it decides which worker runs next.
//!
//! The twins of the crates are built over `sync_sim`, in which every access to a shared word is a step. This crate
//! decides, at every step, which worker goes on. So a failure that occurs once a week on real threads occurs in every
//! run with its seed.
//!
//! There are three sources of a schedule:
//!
//! - A seed. [`Explorer`] draws the choices by a [`Strategy`]: uniformly, with rare switches, by priorities that
//!   change at a few random moments, by clocks, or steered to rare changes. [`Strategy::of_seed`] derives the strategy
//!   from a number, too.
//! - A search. [`Search`] tries all schedules with a bounded number of preemptions, and says when it has tried all.
//! - A [`Schedule`]: every exploration records its choices. A schedule fits on a line, and [`Explorer::replay`] repeats
//!   the exploration from it, to the last step. [`shrink`] removes from a failing schedule what the failure does not
//!   need; the rest reads as the story of the failure.
//!
//! All strategies share the rules that make an exploration of waiting programs end. A worker that spins, yields or
//! waits steps aside until another worker writes. Time passes when all workers are aside. If nothing changes any more,
//! that is a deadlock. Strategies that let a worker run on ensure that the worker for which others wait gets its turn.
//!
//! Schedules cannot show a missing memory ordering: all steps are sequentially consistent.

#![forbid(unsafe_code)]

pub mod machine;

mod schedule;
mod scheduler;
mod search;
mod shrink;
mod strategy;
mod timed;

use core::any::Any;
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use sync_sim::hook::{self, Scheduler};
use sync_sim::workers;

pub use crate::schedule::{NoSchedule, Schedule};
pub use crate::search::Search;
pub use crate::shrink::{Shrunk, shrink};
pub use crate::strategy::Strategy;
pub use crate::timed::{Spent, StuckWorkers, Timed, TimedCounts};

use crate::scheduler::chooser::Chooser;
use crate::scheduler::replay::Replay;
use crate::scheduler::steered::Steered;

/// Counts and a hash of a schedule, for comparing two schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// The number of steps of all workers together.
    pub steps: u64,
    /// The number of times that one of several workers that could run was chosen.
    pub choices: u64,
    /// A hash of all steps in their order: the worker and the kind of each step. Addresses are not in it, so the same
    /// seed gives the same hash in every process.
    pub hash: u64,
}

/// The result of an exploration.
#[derive(Debug)]
pub struct Exploration<R> {
    /// The value that the body returned, or its failure.
    pub outcome: Result<R, Failure>,
    /// The trace of the schedule, for comparing.
    pub trace: Trace,
    /// The schedule, for [`Explorer::replay`].
    pub schedule: Schedule,
}

/// The cause of a failed exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The body or a worker panicked.
    Panic,
    /// All workers wait, none of them until a moment, and nothing changes any more.
    Deadlock,
    /// The number of steps reached its bound.
    Endless,
}

/// A failed exploration: a panic of the body or of a worker, a deadlock, or more steps than allowed.
pub struct Failure {
    cause: Cause,
    message: String,
    /// The panic, if it had no message.
    panic: Option<Box<dyn Any + Send>>,
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// One exploration: the source of its schedule, and its bound.
#[derive(Debug, Clone)]
pub struct Explorer {
    origin: Origin,
    steps_max: u64,
}

/// The source of a schedule.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    Seed(u64, Strategy),
    Replay(Schedule),
    /// A search: the recorded schedule says all that it decided.
    Search,
}

impl Explorer {
    /// The number of steps after which an exploration counts as endless, unless another bound is set.
    pub const STEPS_MAX: u64 = 10_000_000;

    /// An exploration of the schedule that `seed` stands for under [`Strategy::Random`].
    pub fn new(seed: u64) -> Self {
        Self { origin: Origin::Seed(seed, Strategy::Random), steps_max: Self::STEPS_MAX }
    }

    /// An exploration that repeats a schedule. Where the schedule does not fit, because the program differs from the
    /// one that it was recorded from, the exploration goes on deterministically.
    pub fn replay(schedule: Schedule) -> Self {
        Self { origin: Origin::Replay(schedule), steps_max: Self::STEPS_MAX }
    }

    /// Draws the choices by another strategy than [`Strategy::Random`].
    ///
    /// # Panics
    /// When the exploration replays a schedule.
    #[must_use]
    pub fn strategy(self, strategy: Strategy) -> Self {
        let Origin::Seed(seed, _) = self.origin else { panic!("a schedule leaves nothing to draw") };
        Self { origin: Origin::Seed(seed, strategy), ..self }
    }

    /// Bounds the exploration to `steps_max` steps, in place of [`Self::STEPS_MAX`].
    #[must_use]
    pub fn steps_max(self, steps_max: u64) -> Self {
        Self { steps_max, ..self }
    }

    /// Runs `body`, whose calls of [`sync_sim::workers::run`] run under the schedule.
    ///
    /// # Panics
    /// When the exploration fails, as [`explore`](Self::explore) says, with the failure's message.
    pub fn run<R>(self, body: impl FnOnce() -> R) -> (R, Trace) {
        let explored = self.explore(body);
        match explored.outcome {
            Ok(value) => (value, explored.trace),
            Err(Failure { panic: Some(panic), .. }) => resume_unwind(panic),
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Runs `body`, whose calls of [`sync_sim::workers::run`] run under the schedule, and returns its result and
    /// schedule.
    ///
    /// The exploration fails when `body` or a worker panics, when the bound is reached, and when all workers wait and
    /// nothing changes any more. The message names the source of the schedule, and the step. In all these cases
    /// everything that the suspended workers own is leaked, including their stacks, of which a process has room for
    /// some ten thousand; and a latch that a suspended worker holds stays held.
    pub fn explore<R>(self, body: impl FnOnce() -> R) -> Exploration<R> {
        let chooser = match &self.origin {
            Origin::Seed(seed, strategy) => Chooser::new(*strategy, *seed),
            Origin::Replay(schedule) => Chooser::Replay(Replay::new(schedule.clone())),
            Origin::Search => unreachable!("a search explores by itself"),
        };
        Self::under(chooser, self.steps_max, &self.origin, body).0
    }

    pub(crate) fn under<R>(
        chooser: Chooser,
        steps_max: u64,
        origin: &Origin,
        body: impl FnOnce() -> R,
    ) -> (Exploration<R>, Chooser) {
        let scheduler = Rc::new(Steered::new(chooser, steps_max));
        let installed = Installed(hook::install(Some(Rc::clone(&scheduler) as Rc<dyn Scheduler>)));
        let result = catch_unwind(AssertUnwindSafe(body));
        drop(installed);
        let scheduler = Rc::into_inner(scheduler).expect("workers that are forgotten hold no scheduler");
        let (trace, given_up, schedule, chooser) = scheduler.into_parts();
        let cause = given_up.unwrap_or(Cause::Panic);
        let outcome = result.map_err(|panic| Failure::new(origin, cause, &schedule, trace, panic));
        (Exploration { outcome, trace, schedule }, chooser)
    }
}

impl Failure {
    /// The first cause of the failure.
    pub fn cause(&self) -> Cause {
        self.cause
    }

    fn new(
        origin: &Origin,
        cause: Cause,
        schedule: &Schedule,
        trace: Trace,
        panic: Box<dyn Any + Send>,
    ) -> Self {
        let text = stdx::panics::message(&*panic);
        let panic = if text.is_some() { None } else { Some(panic) };
        let text = text.unwrap_or_else(|| "a panic without a message".to_owned());
        let step = trace.steps;
        let message = match origin {
            Origin::Seed(seed, Strategy::Random) => format!("seed {seed}, step {step}: {text}"),
            Origin::Seed(seed, strategy) => format!("seed {seed}, {strategy:?}, step {step}: {text}"),
            Origin::Replay(replayed) => format!("schedule `{replayed}`, step {step}: {text}"),
            Origin::Search => format!("schedule `{schedule}`, step {step}: {text}"),
        };
        Self { cause, message, panic }
    }
}

/// Runs `f(0)` .. `f(workers - 1)` under the schedule of `seed`. See [`Explorer::run`].
pub fn explore(seed: u64, workers: usize, f: impl Fn(usize) + Sync) -> Trace {
    Explorer::new(seed).run(|| workers::run(workers, false, f)).1
}

/// Restores the previous scheduler when dropped.
struct Installed(Option<Rc<dyn Scheduler>>);

impl Drop for Installed {
    fn drop(&mut self) {
        hook::install(self.0.take());
    }
}
