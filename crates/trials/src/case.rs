//! Explored trials: small trials, each of which is identified by a seed, or by a program and a schedule.

use core::fmt;

use checker::{Answer, Checker, HistoryVerdict};
use sim::{Cause, Explorer, Schedule, Search, Strategy, shrink};
use stdx::Rng;
use stdx::history::History;
use sync::Arc;
use sync_sim::hook;

use crate::searches::SearchedProgram;
use crate::trial::{Trial, Tried};
use crate::watch::{Progress, Stuck};
use crate::{Plant, TrialInstance};

/// The approximate number of choices in the schedule of a trial.
const CHOICES: u64 = 600;
/// The most schedules that are tried to simplify a failing one, and the most steps that they may take together. The
/// steps are enough for all of these schedules, unless trials do not end.
const SHRINK_MAX: u64 = 1_000;
const SHRINK_STEPS_MAX: u64 = 10 * STEPS_MAX;
/// The number of steps after which a trial with up to `CLIENTS` clients counts as endless: a hundred times the number
/// of the longest such trials. It grows with the clients: settings can ask for batches of thousands.
const STEPS_MAX: u64 = 1_000_000;
const CLIENTS: u64 = 4;

/// The subject of an explored trial: a seed or a program.
#[derive(Clone, Copy, Debug)]
pub enum TrialSubject {
    /// The rows, the requests and the schedule (unless another one is given) that this seed draws.
    Seed(u64),
    /// A program. Without a schedule it runs under the plainest one.
    Program(&'static SearchedProgram),
}

impl TrialSubject {
    /// Returns the subject for a seed or the name of a program; `None` if the text is neither.
    pub fn named(text: &str) -> Option<Self> {
        let seed = text.parse().ok().map(Self::Seed);
        seed.or_else(|| SearchedProgram::find(text).map(Self::Program))
    }
}

impl fmt::Display for TrialSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "{seed}"),
            Self::Program(program) => f.write_str(program.name),
        }
    }
}

/// A small trial with its schedule.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The scheme.
    pub scheme: TrialInstance,
    /// Settings of the scheme and of the engine that are not the standard ones.
    pub given: &'c [(String, String)],
    /// The subject of the trial.
    pub subject: TrialSubject,
    /// A schedule to use in place of the subject's own.
    pub schedule: Option<&'c Schedule>,
    /// The planted bug.
    pub plant: Option<&'static Plant>,
}

/// The result of an explored trial.
#[derive(Debug)]
pub struct ExploredTrial {
    /// The history of all sessions; `None` if the trial did not end well.
    pub history: Option<History>,
    /// The checker's verdict on the history.
    pub verdict: Option<HistoryVerdict>,
    /// Any other failure: a panic, a deadlock, a livelock, a torn row.
    pub failure: Option<String>,
    /// The kind of endless trial, if the trial did not end.
    pub stuck: Option<Stuck>,
    /// The number of steps of the trial.
    pub steps: u64,
    /// The schedule under which the trial ran.
    pub schedule: Schedule,
}

impl ExploredTrial {
    /// Whether the trial is a violation: it failed, or its history breaks the promise.
    pub fn is_violation(&self) -> bool {
        self.failure.is_some() || self.verdict.as_ref().is_some_and(|v| v.answer == Answer::Violated)
    }
}

/// The size of a trial. Different sizes find different defects.
#[derive(Clone, Copy)]
struct Shape {
    workers: usize,
    requests: u64,
    /// Whether rare changes of storage are common.
    changes_often: bool,
    settings: &'static [(&'static str, &'static str)],
}

/// The sizes of trials, each with its share of the trials in percent.
const SHAPES: [(u64, Shape); 8] = [
    // A hash index of two buckets, which grows with every few keys.
    (
        2,
        Shape {
            workers: 3,
            requests: 2,
            changes_often: true,
            settings: &[("mix.keys", "10"), ("mix.homes", "1"), ("mix.ops_max", "6"), ("mix.read_pct", "40")],
        },
    ),
    // Memory that is used again as early as it may be.
    (
        2,
        Shape {
            workers: 3,
            requests: 5,
            changes_often: true,
            settings: &[("mix.keys", "3"), ("mix.homes", "1"), ("mix.ops_max", "3"), ("mix.read_pct", "40")],
        },
    ),
    // Three transactions at once: most anomalies need no more.
    (
        41,
        Shape {
            workers: 3,
            requests: 1,
            changes_often: false,
            settings: &[("mix.keys", "2"), ("mix.homes", "1"), ("mix.ops_max", "3")],
        },
    ),
    // A few transactions one after the other, with rows that are inserted and deleted between them.
    (
        25,
        Shape {
            workers: 2,
            requests: 4,
            changes_often: false,
            settings: &[
                ("mix.keys", "3"),
                ("mix.homes", "2"),
                ("mix.ops_max", "4"),
                ("mix.rollback_pct", "15"),
            ],
        },
    ),
    // Long enough for memory to be reused.
    (
        10,
        Shape {
            workers: 2,
            requests: 11,
            changes_often: false,
            settings: &[
                ("mix.keys", "4"),
                ("mix.homes", "1"),
                ("mix.ops_max", "4"),
                ("mix.rollback_pct", "15"),
            ],
        },
    ),
    // Almost only writes of the same rows.
    (
        10,
        Shape {
            workers: 3,
            requests: 1,
            changes_often: false,
            settings: &[
                ("mix.keys", "1"),
                ("mix.homes", "1"),
                ("mix.ops_max", "4"),
                ("mix.read_pct", "10"),
                ("mix.read_only_pct", "0"),
            ],
        },
    ),
    // As many keys as fill a leaf: one more key splits it.
    (
        5,
        Shape {
            workers: 3,
            requests: 2,
            changes_often: false,
            settings: &[("mix.keys", "62"), ("mix.homes", "1"), ("mix.ops_max", "4"), ("mix.read_pct", "40")],
        },
    ),
    // Enough transactions for leaves to be added and removed.
    (
        5,
        Shape {
            workers: 3,
            requests: 7,
            changes_often: false,
            settings: &[("mix.keys", "40"), ("mix.homes", "1"), ("mix.read_pct", "30")],
        },
    ),
];

/// The settings of programs: enough keys and homes for all of them.
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

    fn of_program(program: &SearchedProgram) -> Self {
        let changes_often = program.changes_often;
        Self { workers: program.sessions(), requests: 0, changes_often, settings: PROGRAM }
    }
}

impl Case<'_> {
    /// Runs the trial and judges it. The settings must be legal.
    pub fn explore(self) -> ExploredTrial {
        self.explore_with(&mut Checker::new())
    }

    /// Like `explore`, with a checker that is used for many trials.
    pub(crate) fn explore_with(self, checker: &mut Checker) -> ExploredTrial {
        let explorer = match (self.schedule, self.subject) {
            (Some(schedule), _) => Explorer::replay(schedule.clone()),
            (None, TrialSubject::Seed(seed)) => {
                Explorer::new(seed).strategy(Strategy::of_seed(seed, CHOICES))
            }
            (None, TrialSubject::Program(_)) => Explorer::replay(Schedule::default()),
        };
        let explorer = explorer.steps_max(self.steps_max());
        let progress = Arc::<Progress>::default();
        let explored = self.planted(|| explorer.explore(|| self.run(Arc::clone(&progress))));
        judge(explored, &progress, checker)
    }

    /// Returns a search over the schedules of a program, of which it tries `searched` at most.
    pub fn search(self, program: &SearchedProgram, searched: u64) -> Search {
        Search::bounded(program.preemptions).cap(searched).steps_max(self.steps_max())
    }

    /// Runs the trial under the next schedule of a search and judges it; `None` if there is no further schedule.
    pub fn explore_next(self, search: &mut Search, checker: &mut Checker) -> Option<ExploredTrial> {
        let progress = Arc::<Progress>::default();
        let explored = self.planted(|| search.run(|| self.run(Arc::clone(&progress))));
        explored.map(|explored| judge(explored, &progress, checker))
    }

    /// Calls `run` while the bug is planted.
    fn planted<T>(self, run: impl FnOnce() -> T) -> T {
        let before = hook::plant(self.plant);
        let out = run();
        hook::plant(before);
        out
    }

    fn run(self, progress: Arc<Progress>) -> Tried {
        let (Shape { workers, requests, changes_often, settings }, seed, acts) = match self.subject {
            TrialSubject::Seed(seed) => (*Shape::of_seed(seed), seed, None),
            TrialSubject::Program(program) => (Shape::of_program(program), 0, Some(program.given())),
        };
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let given: Vec<_> = settings.iter().map(own).chain(self.settings()).collect();
        let trial = Trial { given: &given, workers, clients: workers, requests, seed, changes_often };
        (self.scheme.stepped.run)(trial, acts, progress).expect("legal settings")
    }

    /// Returns the number of steps after which the trial counts as endless.
    fn steps_max(self) -> u64 {
        let facts = (self.scheme.native.facts)(&self.settings()).expect("legal settings");
        STEPS_MAX * (facts.clients_min as u64).div_ceil(CLIENTS).max(1)
    }

    /// Returns the settings of the scheme and of the engine that are not the standard ones.
    fn settings(self) -> Vec<(String, String)> {
        let mut given = Vec::new();
        let mut give = |last: &str, value: &str| {
            let mut own = self.scheme.stepped.entry.settings.iter().map(|setting| setting.name);
            let setting = own.find(|name| name.split('.').next_back() == Some(last));
            if let Some(setting) =
                setting.filter(|setting| self.given.iter().all(|(name, _)| name != setting))
            {
                given.push((setting.to_owned(), value.to_owned()));
            }
        };
        // Batches are as small as the rest of the trial.
        give("batch", "4");
        if matches!(self.subject, TrialSubject::Program(_)) {
            // Each look of a waiting attempt at the others multiplies the schedules of a program and shows nothing new.
            give("period_us", "200");
        }
        given.extend_from_slice(self.given);
        given
    }

    /// Returns a simpler schedule, with fewer preemptions, for a trial that is a violation and still is one under it.
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

/// Judges the result of an exploration by the scheme's promise.
fn judge(explored: sim::Exploration<Tried>, progress: &Progress, checker: &mut Checker) -> ExploredTrial {
    let sim::Exploration { outcome, schedule, trace } = explored;
    let (steps, stuck) = (trace.steps, None);
    match outcome {
        Ok(tried) => {
            let verdict = tried.judge(checker);
            let (history, verdict) = (Some(tried.history), Some(verdict));
            ExploredTrial { history, verdict, failure: tried.noticed, stuck, steps, schedule }
        }
        Err(failure) => {
            let stuck = match failure.cause() {
                Cause::Panic => None,
                // If transactions also wait until a point in time, time passes although nothing else changes. A
                // deadlock then shows as an endless trial.
                Cause::Deadlock | Cause::Endless => Some(progress.verdict()),
            };
            let told = stuck.as_ref().map(|(_, told)| format!("{told} ({failure})"));
            let (history, verdict, stuck) = (None, None, stuck.map(|(stuck, _)| stuck));
            let failure = Some(told.unwrap_or_else(|| failure.to_string()));
            ExploredTrial { history, verdict, failure, stuck, steps, schedule }
        }
    }
}
