//! Campaigns: as many trials of a scheme as a budget allows.

use std::collections::{BTreeMap, BTreeSet};

use checker::{Answer, Checker, Level, Phenomenon, Verdict};
use sim::Schedule;
use stdx::history::History;
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Latched, clock, workers};
use workloads::mix;

use crate::case::{Case, Subject};
use crate::scripts::{self, Played};
use crate::searches::{Program, SEARCHES};
use crate::trial::{Trial, Tried, native};
use crate::watch::{Patience, Stuck, Watched, watched};
use crate::{Explored, Plant};

/// Violations that are reported of each kind of trial: one is enough to know, and a few to see what they share. Of a
/// planted bug that is known.
const VIOLATIONS_MAX: usize = 3;

/// How long trials of one kind go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// For so many seconds.
    Seconds(f64),
    /// Until there were so many: schedules, or transactions.
    Count(u64),
}

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The first seed; the others follow it.
    pub seed: u64,
    /// Threads that try.
    pub cores: usize,
    /// Whether programs are searched, whatever time that takes.
    pub searches: bool,
    /// Explored trials. The time of the searches is a part of theirs.
    pub schedules: Limit,
    /// Transactions of native trials.
    pub transactions: Limit,
}

/// The steps of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Step {
    /// Scripts are played.
    Scripts,
    /// Programs are searched.
    Search,
    /// Schedules are explored.
    Explore,
    /// Transactions run on threads.
    Stress,
}

/// Where a campaign is, for those who watch it from another thread.
#[derive(Debug, Default)]
pub struct Monitor {
    step: AtomicU32,
    schedules: AtomicU64,
    transactions: AtomicU64,
    interrupted: AtomicBool,
}

impl Monitor {
    /// The present step.
    pub fn step(&self) -> Step {
        // Relaxed: for display; nothing is read on its strength.
        match self.step.load(Ordering::Relaxed) {
            0 => Step::Scripts,
            1 => Step::Search,
            2 => Step::Explore,
            _ => Step::Stress,
        }
    }

    /// The campaign has come to `step`.
    fn enter(&self, step: Step) {
        self.step.store(step as u32, Ordering::Relaxed); // Relaxed: as in `step`.
    }

    /// Schedules explored and transactions checked so far.
    pub fn progress(&self) -> (u64, u64) {
        // Relaxed: as in `step`.
        (self.schedules.load(Ordering::Relaxed), self.transactions.load(Ordering::Relaxed))
    }

    /// Ends the campaign early: what was tried until now counts.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed); // Relaxed: a flag that orders nothing else.
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) // Relaxed: as above.
    }
}

/// How a violation can be had again.
#[derive(Clone, Debug)]
pub enum Replay {
    /// By the explored trial of this seed or program, under this schedule.
    Explored(Subject, Schedule),
    /// By playing the script of this name.
    Script(&'static str),
    /// By trying again: threads do not run the same way twice. The seed of the requests.
    Native(u64),
}

/// Something that a scheme did and must not.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The anomaly, or what else went wrong.
    pub what: String,
    /// Who did what, as a small graph; empty when there is nothing to tell.
    pub story: String,
    /// How it can be had again.
    pub replay: Replay,
}

/// What a campaign has seen.
#[derive(Debug)]
pub struct Report {
    /// The scheme's name.
    pub scheme: &'static str,
    /// What it promises under its settings.
    pub promise: Level,
    /// Scripts that were played.
    pub scripts: u64,
    /// Programs of which all schedules were explored that are to be.
    pub searches: u64,
    /// Schedules that were explored, those of the searches included.
    pub schedules: u64,
    /// Transactions that committed and were checked, explored ones included.
    pub transactions: u64,
    /// Histories of which the checker could not tell.
    pub undecided: u64,
    /// What must not happen and did, a few of each kind of trial.
    pub violations: Vec<Violation>,
    /// The anomalies that the promise permits and that showed, each with the number of histories.
    pub permitted_shown: BTreeMap<String, u64>,
    /// Whether it was ended early.
    pub is_interrupted: bool,
    /// How transactions came to no end, if some did: then none were tried on threads, or no more of them.
    pub stuck: Option<Stuck>,
    /// What showed of these.
    phenomena: BTreeSet<Phenomenon>,
}

impl Report {
    /// Whether nothing showed of what the promise permits and the next stronger one forbids: then the trials may be
    /// blind.
    pub fn is_blind(&self) -> bool {
        let stronger = Level::ALL.into_iter().find(|level| *level > self.promise);
        stronger.is_some_and(|level| !self.phenomena.iter().any(|shown| level.forbids(*shown)))
    }
}

/// What is to be tried on a scheme.
#[derive(Clone, Debug)]
pub struct Campaign {
    scheme: &'static str,
    given: Vec<(String, String)>,
    promise: Level,
    plant: Option<&'static Plant>,
}

/// What was seen so far, by all threads.
#[derive(Default)]
struct Seen {
    transactions: u64,
    undecided: u64,
    violations: Vec<Violation>,
    stuck: Option<Stuck>,
    permitted: BTreeMap<String, u64>,
    phenomena: BTreeSet<Phenomenon>,
}

impl Seen {
    fn verdict(&mut self, verdict: &Verdict, replay: impl FnOnce() -> Replay) {
        self.transactions += verdict.txns as u64;
        self.undecided += u64::from(verdict.answer == Answer::Undecided);
        if verdict.answer == Answer::Violated {
            let (what, story) = verdict.violations.first().map_or_else(
                || (verdict.level.name().to_owned(), String::new()),
                |anomaly| {
                    (format!("{} ({})", anomaly.name, anomaly.phenomenon.name()), anomaly.told(&name_of))
                },
            );
            self.violations.push(Violation { what, story, replay: replay() });
        }
        let mut names: Vec<String> = Vec::new();
        for anomaly in &verdict.beyond {
            let name = anomaly.name.replace([' ', '-'], "_");
            if !names.contains(&name) {
                names.push(name);
            }
            self.phenomena.insert(anomaly.phenomenon);
        }
        for name in names {
            *self.permitted.entry(name).or_default() += 1;
        }
    }

    fn failed(&mut self, what: String, replay: Replay) {
        self.violations.push(Violation { what, story: String::new(), replay });
    }

    fn explored(&mut self, subject: Subject, explored: &Explored) {
        let replay = || Replay::Explored(subject, explored.schedule.clone());
        self.stuck = self.stuck.or(explored.stuck);
        if let Some(failure) = explored.failure.clone() {
            self.failed(failure, replay());
        }
        if let Some(verdict) = &explored.verdict {
            self.verdict(verdict, replay);
        }
    }

    /// Adds what others saw, but for their violations.
    fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.undecided += other.undecided;
        self.stuck = self.stuck.or(other.stuck);
        for (name, count) in &other.permitted {
            *self.permitted.entry(name.clone()).or_default() += count;
        }
        self.phenomena.extend(&other.phenomena);
    }

    /// The first by seed or program, whoever came first.
    fn some_violations(&mut self) -> Vec<Violation> {
        let mut violations = core::mem::take(&mut self.violations);
        violations.sort_by_key(|violation| match violation.replay {
            Replay::Explored(Subject::Seed(seed), _) | Replay::Native(seed) => seed,
            Replay::Explored(Subject::Program(program), _) => program.position() as u64,
            Replay::Script(_) => 0,
        });
        violations.truncate(VIOLATIONS_MAX);
        violations
    }
}

/// A limit that threads watch.
struct Clock<'m> {
    limit: Limit,
    until_ns: u64,
    violations_max: usize,
    monitor: &'m Monitor,
}

impl<'m> Clock<'m> {
    fn new(limit: Limit, violations_max: usize, monitor: &'m Monitor) -> Self {
        let lasts_ns = if let Limit::Seconds(seconds) = limit { (seconds * 1e9) as u64 } else { 0 };
        Self { limit, until_ns: clock::now_ns().saturating_add(lasts_ns), violations_max, monitor }
    }

    /// Whether another trial may begin after so many schedules or transactions.
    fn goes_on(&self, count: u64, seen: &Latched<Seen>) -> bool {
        let is_time = match self.limit {
            Limit::Seconds(_) => clock::now_ns() < self.until_ns,
            Limit::Count(wanted) => count < wanted,
        };
        is_time && self.may_go_on(seen)
    }

    /// The same, whatever the limit. One trial without an end is enough: each takes as long as thousands with one.
    fn may_go_on(&self, seen: &Latched<Seen>) -> bool {
        let seen = seen.lock();
        let is_enough = seen.stuck.is_some() || seen.violations.len() >= self.violations_max;
        !self.monitor.is_interrupted() && !is_enough
    }
}

/// The size of a native trial: keys at each home, homes, sessions, and transactions of each.
const ROUNDS: [(u64, u64, usize, u64); 5] =
    [(8, 2, 8, 2_000), (100, 2, 8, 4_000), (16, 1, 4, 4_000), (2_000, 4, 16, 4_000), (4, 1, 2, 4_000)];

impl Campaign {
    /// A campaign against the scheme of this name under settings of its own and of the engine; none when there is no
    /// such scheme.
    ///
    /// # Errors
    /// Settings that are refused.
    pub fn new(
        scheme: &str,
        given: &[(String, String)],
    ) -> Option<Result<Self, engine::setting::SettingError>> {
        let info = schemes::catalogue::INFO.iter().find(|info| info.name == scheme)?;
        let promise = native::promise_of(scheme, given)?;
        Some(promise.map(|promise| Self { scheme: info.name, given: given.to_vec(), promise, plant: None }))
    }

    /// The same with a bug planted, which only explored trials can show.
    #[must_use]
    pub fn plant(self, plant: &'static Plant) -> Self {
        Self { plant: Some(plant), ..self }
    }

    /// The scheme's name.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// What the scheme promises.
    pub fn promise(&self) -> Level {
        self.promise
    }

    /// The explored trial of a seed.
    pub fn case(&self, seed: u64) -> Case<'_> {
        self.trial(Subject::Seed(seed))
    }

    /// The explored trial of a seed or a program.
    pub fn trial(&self, subject: Subject) -> Case<'_> {
        Case { scheme: self.scheme, given: &self.given, subject, schedule: None, plant: self.plant }
    }

    /// Tries as much as the budget allows.
    pub fn run(&self, budget: &Budget, monitor: &Monitor) -> Report {
        let scripts = if self.plant.is_none() { self.play() } else { Played::default() };
        let [searched, explored, stressed] = [(); 3].map(|()| Latched::new(Seen::default()));
        let enough = if self.plant.is_some() { 1 } else { VIOLATIONS_MAX };
        let clock = Clock::new(budget.schedules, enough, monitor);
        monitor.enter(Step::Search);
        let searches = if budget.searches { self.search_all(budget.cores, &clock, &searched) } else { 0 };
        monitor.enter(Step::Explore);
        let is_stuck = |seen: &Latched<Seen>| seen.lock().stuck.is_some();
        // One way to a planted bug is enough.
        let is_found = self.plant.is_some() && !searched.lock().violations.is_empty();
        if !is_found && !is_stuck(&searched) {
            self.explore(budget, &clock, &explored);
        }
        let is_stuck = is_stuck(&searched) || is_stuck(&explored);
        if self.plant.is_none() && !is_stuck && scripts.stuck.is_none() {
            monitor.enter(Step::Stress);
            self.stress(budget, monitor, &stressed);
        }
        let script = |(name, story): (&'static str, String)| {
            let what = format!("the script `{name}`");
            Violation { what, story, replay: Replay::Script(name) }
        };
        let mut violations: Vec<_> = scripts.wrong.into_iter().map(script).collect();
        let mut seen = Seen { stuck: scripts.stuck, ..Seen::default() };
        for part in [searched, explored, stressed] {
            let mut part = part.into_inner();
            violations.extend(part.some_violations());
            seen.add(&part);
        }
        Report {
            scheme: self.scheme,
            promise: self.promise,
            scripts: scripts.count,
            searches,
            schedules: monitor.progress().0,
            transactions: seen.transactions,
            undecided: seen.undecided,
            violations,
            permitted_shown: seen.permitted,
            is_interrupted: monitor.is_interrupted(),
            stuck: seen.stuck,
            phenomena: seen.phenomena,
        }
    }

    /// Plays all scripts, up to one that does not end.
    fn play(&self) -> Played {
        let (scheme, given, played) = (self.scheme, self.given.clone(), Arc::new(Latched::default()));
        let theirs = Arc::clone(&played);
        let ended = watched(Patience::default(), move |progress| {
            scripts::play(scheme, &given, progress, &theirs);
        });
        let mut played = core::mem::take(&mut *played.lock());
        match ended {
            Watched::Ended(()) => {}
            // What a scheme does in a script is caught there: this is a defect of ours.
            Watched::Panicked(says) => panic!("{says}"),
            Watched::Stuck(stuck, told) => played.breaks_off(told, stuck),
        }
        played
    }

    /// Searches all programs, and says how many it has searched to the end.
    fn search_all(&self, cores: usize, clock: &Clock<'_>, seen: &Latched<Seen>) -> u64 {
        let next = AtomicUsize::new(0);
        let ended = workers::run(cores, false, |_| {
            let (mut checker, mut ended) = (Checker::new(), 0);
            // Relaxed: each number is given out once, and orders nothing.
            while let Some(program) = SEARCHES.get(next.fetch_add(1, Ordering::Relaxed)) {
                ended += u64::from(self.search(program, clock, &mut checker, seen));
            }
            ended
        });
        ended.into_iter().sum()
    }

    /// Tries all schedules of a program up to the first that shows something; false if not all were tried.
    fn search(
        &self,
        program: &'static Program,
        clock: &Clock<'_>,
        checker: &mut Checker,
        seen: &Latched<Seen>,
    ) -> bool {
        let subject = Subject::Program(program);
        let mut search = Case::search(program);
        while clock.may_go_on(seen) {
            let Some(explored) = self.trial(subject).explore_next(&mut search, checker) else {
                return search.is_exhausted();
            };
            if self.note(subject, explored, clock.monitor, seen) {
                return false;
            }
        }
        false
    }

    fn explore(&self, budget: &Budget, clock: &Clock<'_>, seen: &Latched<Seen>) {
        let next = AtomicU64::new(0);
        workers::run(budget.cores, false, |_| {
            let mut checker = Checker::new();
            loop {
                // Relaxed: as in `search_all`.
                let number = next.fetch_add(1, Ordering::Relaxed);
                if !clock.goes_on(number, seen) {
                    break;
                }
                let seed = budget.seed.wrapping_add(number);
                let explored = self.case(seed).explore_with(&mut checker);
                self.note(Subject::Seed(seed), explored, clock.monitor, seen);
            }
        });
    }

    /// Writes down what came of an explored trial; whether it was a violation.
    fn note(&self, subject: Subject, explored: Explored, monitor: &Monitor, seen: &Latched<Seen>) -> bool {
        let is_violation = explored.is_violation();
        let explored = if is_violation { self.simplest(subject, explored) } else { explored };
        let txns = explored.verdict.as_ref().map_or(0, |verdict| verdict.txns as u64);
        monitor.schedules.fetch_add(1, Ordering::Relaxed); // Relaxed: for display.
        monitor.transactions.fetch_add(txns, Ordering::Relaxed); // Relaxed: as above.
        seen.lock().explored(subject, &explored);
        is_violation
    }

    /// What comes of a violation under a schedule with as few preemptions as it needs.
    fn simplest(&self, subject: Subject, explored: Explored) -> Explored {
        let case = self.trial(subject);
        let schedule = case.simplest(&explored.schedule);
        let simpler = Case { schedule: Some(&schedule), ..case }.explore();
        if simpler.is_violation() { simpler } else { explored }
    }

    fn stress(&self, budget: &Budget, monitor: &Monitor, seen: &Latched<Seen>) {
        let clock = Clock::new(budget.transactions, VIOLATIONS_MAX, monitor);
        let next = AtomicU64::new(0);
        workers::run(budget.cores, false, |_| {
            let mut checker = Checker::new();
            loop {
                // Threads that are stuck stay, and take processor time from those that follow.
                let transactions = seen.lock().transactions;
                if !clock.goes_on(transactions, seen) {
                    break;
                }
                let number = next.fetch_add(1, Ordering::Relaxed); // Relaxed: as in `explore`.
                let seed = budget.seed.wrapping_add(number);
                let replay = Replay::Native(seed);
                match self.native(seed, number) {
                    Watched::Ended(tried) => {
                        let verdict = tried.judge(&mut checker);
                        // Relaxed: for display.
                        monitor.transactions.fetch_add(verdict.txns as u64, Ordering::Relaxed);
                        let mut seen = seen.lock();
                        seen.verdict(&verdict, || replay.clone());
                        if let Some(noticed) = tried.noticed {
                            seen.failed(noticed, replay);
                        }
                    }
                    Watched::Panicked(says) => seen.lock().failed(says, replay),
                    Watched::Stuck(stuck, told) => {
                        let mut seen = seen.lock();
                        seen.stuck = Some(stuck);
                        seen.failed(told, replay);
                    }
                }
            }
        });
    }

    /// Histories for others to judge, each with a name and with what is said of it here: of an explored trial, and of
    /// one on threads unless a bug is planted, which only the first can have. A trial without an end has none.
    pub fn histories(&self, seed: u64) -> Vec<(&'static str, History, Verdict)> {
        let Explored { history, verdict, .. } = self.case(seed).explore();
        let explored = history.zip(verdict).map(|(history, verdict)| ("explored", history, verdict));
        let native = (self.plant.is_none() && explored.is_some()).then(|| self.native(seed, 0));
        let native = native.and_then(|watched| match watched {
            Watched::Ended(tried) => {
                let verdict = tried.judge(&mut Checker::new());
                Some(("native", tried.history, verdict))
            }
            Watched::Panicked(_) | Watched::Stuck(..) => None,
        });
        explored.into_iter().chain(native).collect()
    }

    /// What comes of one native trial.
    fn native(&self, seed: u64, number: u64) -> Watched<Tried> {
        let (keys, homes, clients, requests) = ROUNDS[(number % ROUNDS.len() as u64) as usize];
        let own = |name: &str, value: u64| (name.to_owned(), value.to_string());
        let mut given = vec![own("mix.keys", keys), own("mix.homes", homes)];
        given.extend_from_slice(&self.given);
        let (scheme, workers) = (self.scheme, if native::admits_one(self.scheme) { 1 } else { 2 });
        watched(Patience::default(), move |progress| {
            let clients = clients.max(workers);
            let trial = Trial { scheme, given: &given, workers, clients, requests, seed };
            let tried = native::run(trial, None, Arc::clone(progress));
            tried.expect("a known scheme").expect("legal settings")
        })
    }
}

/// What tables are called in stories and exported histories.
pub fn name_of(number: u16) -> String {
    mix::name_of(number).to_owned()
}
