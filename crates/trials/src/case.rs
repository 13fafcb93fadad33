//! Explored trials: small ones, each of which a seed stands for, or a program and a schedule.

use core::fmt;

use checker::{Answer, Checker, Verdict};
use schemes_sim::catalogue;
use sim::{Cause, Explorer, Schedule, Search, Strategy, shrink};
use stdx::Rng;
use stdx::history::History;
use sync::Arc;
use sync_sim::hook;

use crate::Plant;
use crate::searches::Program;
use crate::trial::{Trial, Tried, stepped};
use crate::watch::{Progress, Stuck};

/// About how many choices the schedule of a trial has.
const CHOICES: u64 = 600;
/// Schedules that are tried to make a failing one simpler, and steps that they may take together: enough for all of
/// these schedules, unless trials come to no end.
const SHRINK_MAX: u64 = 1_000;
const SHRINK_STEPS_MAX: u64 = 10 * STEPS_MAX;
/// Schedules after which a search ends that would have more. It has where workers wait for each other at each step, as
/// in batches, since it branches over who of those who stepped aside is next. Where they wait for locks it has some
/// thousands.
const SEARCHED_MAX: u64 = 30_000;
/// Steps after which a trial is taken for endless: a hundred times what the longest take.
const STEPS_MAX: u64 = 1_000_000;

/// What runs in an explored trial.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// What this seed draws: rows, requests, and a schedule unless another one is given.
    Seed(u64),
    /// A program; without a schedule under the plainest one.
    Program(&'static Program),
}

impl Subject {
    /// What a seed or the name of a program stands for, if either is what this is.
    pub fn named(text: &str) -> Option<Self> {
        let seed = text.parse().ok().map(Self::Seed);
        seed.or_else(|| Program::find(text).map(Self::Program))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "{seed}"),
            Self::Program(program) => f.write_str(program.name),
        }
    }
}

/// A small trial, and its schedule.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The scheme's name.
    pub scheme: &'c str,
    /// Settings of the scheme and of the engine that are not the standard ones.
    pub given: &'c [(String, String)],
    /// What runs.
    pub subject: Subject,
    /// Another schedule than the subject's own.
    pub schedule: Option<&'c Schedule>,
    /// The bug that is planted.
    pub plant: Option<&'static Plant>,
}

/// What came of an explored trial.
#[derive(Debug)]
pub struct Explored {
    /// What all sessions saw and did; none if it did not end well.
    pub history: Option<History>,
    /// What the checker made of it.
    pub verdict: Option<Verdict>,
    /// Other failures: a panic, a deadlock, a livelock, a row that was torn.
    pub failure: Option<String>,
    /// The kind of endless trial, if it did not end.
    pub stuck: Option<Stuck>,
    /// How many steps it made.
    pub steps: u64,
    /// Who ran when.
    pub schedule: Schedule,
}

impl Explored {
    /// Whether something happened that must not.
    pub fn is_violation(&self) -> bool {
        self.failure.is_some() || self.verdict.as_ref().is_some_and(|v| v.answer == Answer::Violated)
    }
}

/// How much is done in a trial: what is found by which size differs from defect to defect.
struct Shape {
    workers: usize,
    requests: u64,
    settings: &'static [(&'static str, &'static str)],
}

/// Each with its share, in percent.
const SHAPES: [(u64, Shape); 6] = [
    // Three transactions at once: most anomalies need no more.
    (
        45,
        Shape {
            workers: 3,
            requests: 1,
            settings: &[("mix.keys", "2"), ("mix.homes", "1"), ("mix.ops_max", "3")],
        },
    ),
    // A few after each other, with rows that come and go between them.
    (
        25,
        Shape {
            workers: 2,
            requests: 4,
            settings: &[
                ("mix.keys", "3"),
                ("mix.homes", "2"),
                ("mix.ops_max", "4"),
                ("mix.rollback_pct", "15"),
            ],
        },
    ),
    // Long enough for memory to be used again.
    (
        10,
        Shape {
            workers: 2,
            requests: 11,
            settings: &[
                ("mix.keys", "4"),
                ("mix.homes", "1"),
                ("mix.ops_max", "4"),
                ("mix.rollback_pct", "15"),
            ],
        },
    ),
    // Next to nothing but writes of the same rows.
    (
        10,
        Shape {
            workers: 3,
            requests: 1,
            settings: &[
                ("mix.keys", "1"),
                ("mix.homes", "1"),
                ("mix.ops_max", "4"),
                ("mix.read_pct", "10"),
                ("mix.read_only_pct", "0"),
            ],
        },
    ),
    // As many keys as fill a leaf: the next one splits it.
    (
        5,
        Shape {
            workers: 3,
            requests: 2,
            settings: &[("mix.keys", "62"), ("mix.homes", "1"), ("mix.ops_max", "4"), ("mix.read_pct", "40")],
        },
    ),
    // Enough for leaves to come and go.
    (
        5,
        Shape {
            workers: 3,
            requests: 7,
            settings: &[("mix.keys", "40"), ("mix.homes", "1"), ("mix.read_pct", "30")],
        },
    ),
];

/// The settings of programs: as much room as all of them need.
const PROGRAM: &[(&str, &str)] = &[("mix.keys", "64"), ("mix.homes", "2")];

const _: () = {
    let (mut sum, mut at) = (0, 0);
    while at < SHAPES.len() {
        sum += SHAPES[at].0;
        at += 1;
    }
    assert!(sum == 100, "the shares make a hundred");
};

impl Shape {
    fn of_seed(seed: u64) -> &'static Self {
        let mut share = Rng::from_path(&[seed, 0]).below(100);
        for (shares, shape) in &SHAPES {
            if share < *shares {
                return shape;
            }
            share -= shares;
        }
        unreachable!("the shares make a hundred")
    }
}

/// The names of a scheme's settings.
fn settings_of(scheme: &str) -> impl Iterator<Item = &'static str> {
    let at = catalogue::INFO.iter().position(|info| info.name == scheme);
    at.into_iter().flat_map(|at| catalogue::SETTINGS[at]).map(|setting| setting.name)
}

impl Case<'_> {
    /// Runs the trial and judges it. Settings are known to be legal.
    pub fn explore(self) -> Explored {
        self.explore_with(&mut Checker::new())
    }

    /// The same with a checker that serves for many.
    pub(crate) fn explore_with(self, checker: &mut Checker) -> Explored {
        let explorer = match (self.schedule, self.subject) {
            (Some(schedule), _) => Explorer::replay(schedule.clone()),
            (None, Subject::Seed(seed)) => Explorer::new(seed).strategy(Strategy::of_seed(seed, CHOICES)),
            (None, Subject::Program(_)) => Explorer::replay(Schedule::default()),
        };
        let explorer = explorer.steps_max(STEPS_MAX);
        let progress = Arc::<Progress>::default();
        let explored = self.planted(|| explorer.explore(|| self.run(Arc::clone(&progress))));
        judge(explored, &progress, checker)
    }

    /// A search over the schedules of a program.
    pub fn search(program: &Program) -> Search {
        Search::bounded(program.preemptions).cap(SEARCHED_MAX).steps_max(STEPS_MAX)
    }

    /// Runs the trial under the next schedule of a search and judges it; none when there is no other.
    pub fn explore_next(self, search: &mut Search, checker: &mut Checker) -> Option<Explored> {
        let progress = Arc::<Progress>::default();
        let explored = self.planted(|| search.run(|| self.run(Arc::clone(&progress))));
        explored.map(|explored| judge(explored, &progress, checker))
    }

    /// Does something while the bug is planted.
    fn planted<T>(self, run: impl FnOnce() -> T) -> T {
        let before = hook::plant(self.plant);
        let out = run();
        hook::plant(before);
        out
    }

    fn run(self, progress: Arc<Progress>) -> Tried {
        let (workers, requests, settings, seed, acts) = match self.subject {
            Subject::Seed(seed) => {
                let Shape { workers, requests, settings } = *Shape::of_seed(seed);
                (workers, requests, settings, seed, None)
            }
            Subject::Program(program) => (program.sessions(), 0, PROGRAM, 0, Some(program.given())),
        };
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut given: Vec<_> = settings.iter().map(own).collect();
        // A batch as small as the rest, unless one was asked for.
        let batch = settings_of(self.scheme).find(|name| name.split('.').next_back() == Some("batch"));
        if let Some(batch) = batch.filter(|batch| self.given.iter().all(|(name, _)| name != batch)) {
            given.push(own(&(batch, "4")));
        }
        given.extend_from_slice(self.given);
        let trial = Trial { scheme: self.scheme, given: &given, workers, clients: workers, requests, seed };
        stepped::run(trial, acts, progress).expect("a known scheme").expect("legal settings")
    }

    /// A schedule of a trial that was a violation, and still is one, with fewer preemptions.
    pub fn simplest(self, schedule: &Schedule) -> Schedule {
        let mut steps_left = SHRINK_STEPS_MAX;
        let is_violation = |other: &Schedule| {
            if steps_left == 0 {
                return false;
            }
            let explored = Case { schedule: Some(other), ..self }.explore();
            steps_left = steps_left.saturating_sub(explored.steps);
            explored.is_violation()
        };
        shrink(schedule, SHRINK_MAX, is_violation).schedule
    }
}

/// What came of an exploration, held to what the scheme promises.
fn judge(explored: sim::Explored<Tried>, progress: &Progress, checker: &mut Checker) -> Explored {
    let sim::Explored { outcome, schedule, trace } = explored;
    let (steps, stuck) = (trace.steps, None);
    match outcome {
        Ok(tried) => {
            let verdict = tried.judge(checker);
            let (history, verdict) = (Some(tried.history), Some(verdict));
            Explored { history, verdict, failure: tried.noticed, stuck, steps, schedule }
        }
        Err(failure) => {
            let stuck = match failure.cause() {
                Cause::Panic => None,
                // Where moments are waited for, too, others than that nothing changes, time passes.
                Cause::Deadlock | Cause::Endless => Some(progress.verdict()),
            };
            let told = stuck.as_ref().map(|(_, told)| format!("{told} ({failure})"));
            let (history, verdict, stuck) = (None, None, stuck.map(|(stuck, _)| stuck));
            let failure = Some(told.unwrap_or_else(|| failure.to_string()));
            Explored { history, verdict, failure, stuck, steps, schedule }
        }
    }
}
