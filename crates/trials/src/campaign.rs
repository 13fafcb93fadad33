//! Campaigns: as many trials of a scheme as a budget allows.

use std::collections::{BTreeMap, BTreeSet};

use checker::{Answer, Checker, HistoryVerdict, Level, Phenomenon};
use engine::setting::SettingError;
use sim::Schedule;
use stdx::history::History;
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Latched, clock, workers};
use workloads::mix;

use crate::case::{Case, TrialSubject};
use crate::scripts::{self, Played};
use crate::searches::{SEARCHES, SearchedProgram};
use crate::trial::{Trial, Tried, native};
use crate::watch::{Patience, Stuck, WatchOutcome, watched};
use crate::{ExploredTrial, Plant, TrialInstance};

/// The most violations that are reported for each kind of trial. One violation shows that there is a defect, and a few
/// show what they have in common. A planted bug is known, and needs one violation only.
const VIOLATIONS_MAX: usize = 3;

/// The limit of the trials of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrialLimit {
    /// A number of seconds.
    Seconds(f64),
    /// A number of schedules or of transactions.
    Count(u64),
}

/// The budget of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The first seed; the others follow it.
    pub seed: u64,
    /// The number of threads that run trials.
    pub cores: usize,
    /// The number of schedules after which the search of a program ends even if there are more. With 0 no program is
    /// searched. No limit of time ends a search.
    pub searched: u64,
    /// The limit of explored trials. Their time includes the time of the searches.
    pub schedules: TrialLimit,
    /// The limit of the transactions of native trials.
    pub transactions: TrialLimit,
}

impl Budget {
    /// The standard of `searched`. Searches under schemes that wait for locks have some thousands of schedules. They
    /// have more if workers wait for each other at each step, as in batches, since a search branches over which of the
    /// workers that yielded runs next.
    pub const SEARCHED: u64 = 30_000;
}

/// The phases of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CampaignPhase {
    /// Scripts are played.
    Scripts,
    /// Programs are searched.
    Search,
    /// Schedules are explored.
    Explore,
    /// Transactions run on threads.
    Stress,
}

/// The progress of a campaign, for watchers on another thread.
#[derive(Debug, Default)]
pub struct CampaignMonitor {
    phase: AtomicU32,
    schedules: AtomicU64,
    transactions: AtomicU64,
    interrupted: AtomicBool,
}

impl CampaignMonitor {
    /// Returns the current phase.
    pub fn phase(&self) -> CampaignPhase {
        // Relaxed: for display; no other memory access depends on the value.
        match self.phase.load(Ordering::Relaxed) {
            0 => CampaignPhase::Scripts,
            1 => CampaignPhase::Search,
            2 => CampaignPhase::Explore,
            _ => CampaignPhase::Stress,
        }
    }

    /// Records that the campaign has reached `phase`.
    fn enter(&self, phase: CampaignPhase) {
        self.phase.store(phase as u32, Ordering::Relaxed); // Relaxed: as in `phase`.
    }

    /// Returns the numbers of schedules explored and of transactions checked so far.
    pub fn progress(&self) -> (u64, u64) {
        // Relaxed: as in `phase`.
        (self.schedules.load(Ordering::Relaxed), self.transactions.load(Ordering::Relaxed))
    }

    /// Ends the campaign early. Trials that have ended by then count.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed); // Relaxed: a flag that orders nothing else.
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) // Relaxed: as above.
    }
}

/// The way to reproduce a violation.
#[derive(Clone, Debug)]
pub enum Replay {
    /// The explored trial of this seed or program, under this schedule.
    Explored(TrialSubject, Schedule),
    /// The script of this name.
    Script(&'static str),
    /// Another native trial with this seed of the requests. It may not show the violation, because threads do not run
    /// the same way twice.
    Native(u64),
}

/// A violation: something that a scheme did and must not do.
#[derive(Clone, Debug)]
pub struct TrialViolation {
    /// The anomaly, or another failure.
    pub what: String,
    /// The operations of the transactions as a small graph; empty if there is nothing to tell.
    pub story: String,
    /// The way to reproduce the violation.
    pub replay: Replay,
}

/// The results of a campaign.
#[derive(Debug)]
pub struct CampaignReport {
    /// The scheme's name.
    pub scheme: &'static str,
    /// The level that the scheme promises under its settings.
    pub promise: Level,
    /// The number of scripts that were played.
    pub scripts: u64,
    /// The number of programs whose search was completed.
    pub searches: u64,
    /// The number of schedules that were explored, including those of the searches.
    pub schedules: u64,
    /// The number of transactions that committed and were checked, including those of explored trials.
    pub transactions: u64,
    /// The number of histories that the checker could not decide.
    pub undecided: u64,
    /// The violations, a few of each kind of trial.
    pub violations: Vec<TrialViolation>,
    /// The anomalies that the promise permits and that occurred, each with the number of histories.
    pub permitted_shown: BTreeMap<String, u64>,
    /// Whether the campaign was ended early.
    pub is_interrupted: bool,
    /// The kind of endless trial, if a trial did not end. In that case no transactions, or no further ones, were tried
    /// on threads.
    pub stuck: Option<Stuck>,
    /// The phenomena of the permitted anomalies that occurred.
    phenomena: BTreeSet<Phenomenon>,
}

impl CampaignReport {
    /// Whether none of the anomalies occurred that the promise permits and the next stronger level forbids. In that
    /// case the trials may be blind.
    pub fn is_blind(&self) -> bool {
        let stronger = Level::ALL.into_iter().find(|level| *level > self.promise);
        stronger.is_some_and(|level| !self.phenomena.iter().any(|shown| level.forbids(*shown)))
    }
}

/// The trials of one scheme under given settings.
#[derive(Clone, Debug)]
pub struct Campaign {
    scheme: TrialInstance,
    given: Vec<(String, String)>,
    promise: Level,
    plant: Option<&'static Plant>,
}

/// The observations of all threads so far.
#[derive(Default)]
struct Seen {
    transactions: u64,
    undecided: u64,
    violations: Vec<TrialViolation>,
    stuck: Option<Stuck>,
    permitted: BTreeMap<String, u64>,
    phenomena: BTreeSet<Phenomenon>,
}

impl Seen {
    fn verdict(&mut self, verdict: &HistoryVerdict, replay: impl FnOnce() -> Replay) {
        self.transactions += verdict.txns as u64;
        self.undecided += u64::from(verdict.answer == Answer::Undecided);
        if verdict.answer == Answer::Violated {
            let (what, story) = verdict.violations.first().map_or_else(
                || (verdict.level.name().to_owned(), String::new()),
                |anomaly| {
                    (format!("{} ({})", anomaly.name, anomaly.phenomenon.name()), anomaly.told(&name_of))
                },
            );
            self.violations.push(TrialViolation { what, story, replay: replay() });
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
        self.violations.push(TrialViolation { what, story: String::new(), replay });
    }

    fn explored(&mut self, subject: TrialSubject, explored: &ExploredTrial) {
        let replay = || Replay::Explored(subject, explored.schedule.clone());
        self.stuck = self.stuck.or(explored.stuck);
        if let Some(failure) = explored.failure.clone() {
            self.failed(failure, replay());
        }
        if let Some(verdict) = &explored.verdict {
            self.verdict(verdict, replay);
        }
    }

    /// Adds the observations of `other`, without its violations.
    fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.undecided += other.undecided;
        self.stuck = self.stuck.or(other.stuck);
        for (name, count) in &other.permitted {
            *self.permitted.entry(name.clone()).or_default() += count;
        }
        self.phenomena.extend(&other.phenomena);
    }

    /// Returns the first violations by seed or program, whichever thread found them first.
    fn some_violations(&mut self) -> Vec<TrialViolation> {
        let mut violations = core::mem::take(&mut self.violations);
        violations.sort_by_key(|violation| match violation.replay {
            Replay::Explored(TrialSubject::Seed(seed), _) | Replay::Native(seed) => seed,
            Replay::Explored(TrialSubject::Program(program), _) => program.position() as u64,
            Replay::Script(_) => 0,
        });
        violations.truncate(VIOLATIONS_MAX);
        violations
    }
}

/// The limit of the trials of one kind, which all threads watch.
struct Clock<'m> {
    limit: TrialLimit,
    until_ns: u64,
    violations_max: usize,
    monitor: &'m CampaignMonitor,
}

impl<'m> Clock<'m> {
    fn new(limit: TrialLimit, violations_max: usize, monitor: &'m CampaignMonitor) -> Self {
        let lasts_ns = if let TrialLimit::Seconds(seconds) = limit { (seconds * 1e9) as u64 } else { 0 };
        Self { limit, until_ns: clock::now_ns().saturating_add(lasts_ns), violations_max, monitor }
    }

    /// Whether another trial may begin after `count` schedules or transactions.
    fn goes_on(&self, count: u64, seen: &Latched<Seen>) -> bool {
        let is_time = match self.limit {
            TrialLimit::Seconds(_) => clock::now_ns() < self.until_ns,
            TrialLimit::Count(wanted) => count < wanted,
        };
        is_time && self.may_go_on(seen)
    }

    /// Whether another trial may begin, apart from the limit. One endless trial is enough: each takes as long as
    /// thousands of trials that end.
    fn may_go_on(&self, seen: &Latched<Seen>) -> bool {
        let seen = seen.lock();
        let is_enough = seen.stuck.is_some() || seen.violations.len() >= self.violations_max;
        !self.monitor.is_interrupted() && !is_enough
    }
}

/// The sizes of native trials: keys at each home, homes, sessions, and transactions of each session.
const ROUNDS: [(u64, u64, usize, u64); 5] =
    [(8, 2, 8, 2_000), (100, 2, 8, 4_000), (16, 1, 4, 4_000), (2_000, 4, 16, 4_000), (4, 1, 2, 4_000)];

impl Campaign {
    /// Returns a campaign against a scheme, under settings of the scheme and of the engine.
    ///
    /// # Errors
    /// The settings are refused.
    pub fn new(scheme: TrialInstance, given: &[(String, String)]) -> Result<Self, SettingError> {
        let promise = native::promise((scheme.native.facts)(given)?.isolation);
        Ok(Self { scheme, given: given.to_vec(), promise, plant: None })
    }

    /// Returns the campaign with a bug planted, which only explored trials can show.
    #[must_use]
    pub fn plant(self, plant: &'static Plant) -> Self {
        Self { plant: Some(plant), ..self }
    }

    /// The scheme's name.
    pub fn scheme(&self) -> &'static str {
        self.scheme.name()
    }

    /// Returns the level that the scheme promises.
    pub fn promise(&self) -> Level {
        self.promise
    }

    /// Returns the explored trial of a seed.
    pub fn case(&self, seed: u64) -> Case<'_> {
        self.trial(TrialSubject::Seed(seed))
    }

    /// Returns the explored trial of a seed or a program.
    pub fn trial(&self, subject: TrialSubject) -> Case<'_> {
        Case { scheme: self.scheme, given: &self.given, subject, schedule: None, plant: self.plant }
    }

    /// Runs as many trials as the budget allows.
    pub fn run(&self, budget: &Budget, monitor: &CampaignMonitor) -> CampaignReport {
        let scripts = if self.plant.is_none() { self.play() } else { Played::default() };
        let [searched, explored, stressed] = [(); 3].map(|()| Latched::new(Seen::default()));
        let enough = if self.plant.is_some() { 1 } else { VIOLATIONS_MAX };
        let clock = Clock::new(budget.schedules, enough, monitor);
        monitor.enter(CampaignPhase::Search);
        let searches = if budget.searched > 0 { self.search_all(budget, &clock, &searched) } else { 0 };
        monitor.enter(CampaignPhase::Explore);
        let is_stuck = |seen: &Latched<Seen>| seen.lock().stuck.is_some();
        // One violation is enough for a planted bug.
        let is_found = self.plant.is_some() && !searched.lock().violations.is_empty();
        if !is_found && !is_stuck(&searched) {
            self.explore(budget, &clock, &explored);
        }
        let is_stuck = is_stuck(&searched) || is_stuck(&explored);
        if self.plant.is_none() && !is_stuck && scripts.stuck.is_none() {
            monitor.enter(CampaignPhase::Stress);
            self.stress(budget, monitor, &stressed);
        }
        let script = |(name, story): (&'static str, String)| {
            let what = format!("the script `{name}`");
            TrialViolation { what, story, replay: Replay::Script(name) }
        };
        let mut violations: Vec<_> = scripts.wrong.into_iter().map(script).collect();
        let mut seen = Seen { stuck: scripts.stuck, ..Seen::default() };
        for part in [searched, explored, stressed] {
            let mut part = part.into_inner();
            violations.extend(part.some_violations());
            seen.add(&part);
        }
        CampaignReport {
            scheme: self.scheme.name(),
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

    /// Plays all scripts, up to the first script that does not end.
    fn play(&self) -> Played {
        let (scheme, given, played) = (self.scheme, self.given.clone(), Arc::new(Latched::default()));
        let theirs = Arc::clone(&played);
        let ended = watched(Patience::default(), move |progress| {
            scripts::play(&scheme.native, &given, progress, &theirs);
        });
        let mut played = core::mem::take(&mut *played.lock());
        match ended {
            WatchOutcome::Ended(()) => {}
            // Faults of the scheme in a script are caught within the script, so a panic here is a defect of ours.
            WatchOutcome::Panicked(says) => panic!("{says}"),
            WatchOutcome::Stuck(stuck, told) => played.breaks_off(told, stuck),
        }
        played
    }

    /// Searches all programs, and returns how many of the searches were completed.
    fn search_all(&self, budget: &Budget, clock: &Clock<'_>, seen: &Latched<Seen>) -> u64 {
        let next = AtomicUsize::new(0);
        let ended = workers::run(budget.cores, false, |_| {
            let (mut checker, mut ended) = (Checker::new(), 0);
            // Relaxed: each number is given out once, and the counter orders nothing.
            while let Some(program) = SEARCHES.get(next.fetch_add(1, Ordering::Relaxed)) {
                ended += u64::from(self.search(program, budget.searched, clock, &mut checker, seen));
            }
            ended
        });
        ended.into_iter().sum()
    }

    /// Tries all schedules of a program, up to the first violation. Returns `false` if not all were tried.
    fn search(
        &self,
        program: &'static SearchedProgram,
        searched: u64,
        clock: &Clock<'_>,
        checker: &mut Checker,
        seen: &Latched<Seen>,
    ) -> bool {
        let subject = TrialSubject::Program(program);
        let mut search = self.trial(subject).search(program, searched);
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
                self.note(TrialSubject::Seed(seed), explored, clock.monitor, seen);
            }
        });
    }

    /// Records the result of an explored trial. Returns whether it was a violation.
    fn note(
        &self,
        subject: TrialSubject,
        explored: ExploredTrial,
        monitor: &CampaignMonitor,
        seen: &Latched<Seen>,
    ) -> bool {
        let is_violation = explored.is_violation();
        let explored = if is_violation { self.simplest(subject, explored) } else { explored };
        let txns = explored.verdict.as_ref().map_or(0, |verdict| verdict.txns as u64);
        monitor.schedules.fetch_add(1, Ordering::Relaxed); // Relaxed: for display.
        monitor.transactions.fetch_add(txns, Ordering::Relaxed); // Relaxed: as above.
        seen.lock().explored(subject, &explored);
        is_violation
    }

    /// Returns the violation under a simpler schedule, with as few preemptions as it needs.
    fn simplest(&self, subject: TrialSubject, explored: ExploredTrial) -> ExploredTrial {
        let case = self.trial(subject);
        let schedule = case.simplest(&explored.schedule);
        let simpler = Case { schedule: Some(&schedule), ..case }.explore();
        if simpler.is_violation() { simpler } else { explored }
    }

    fn stress(&self, budget: &Budget, monitor: &CampaignMonitor, seen: &Latched<Seen>) {
        let clock = Clock::new(budget.transactions, VIOLATIONS_MAX, monitor);
        let next = AtomicU64::new(0);
        workers::run(budget.cores, false, |_| {
            let mut checker = Checker::new();
            loop {
                // No trial follows a stuck one: stuck threads stay, and would take processor time from it.
                let transactions = seen.lock().transactions;
                if !clock.goes_on(transactions, seen) {
                    break;
                }
                let number = next.fetch_add(1, Ordering::Relaxed); // Relaxed: as in `explore`.
                let seed = budget.seed.wrapping_add(number);
                let replay = Replay::Native(seed);
                match self.native(seed, number) {
                    WatchOutcome::Ended(tried) => {
                        let verdict = tried.judge(&mut checker);
                        // Relaxed: for display.
                        monitor.transactions.fetch_add(verdict.txns as u64, Ordering::Relaxed);
                        let mut seen = seen.lock();
                        seen.verdict(&verdict, || replay.clone());
                        if let Some(noticed) = tried.noticed {
                            seen.failed(noticed, replay);
                        }
                    }
                    WatchOutcome::Panicked(says) => seen.lock().failed(says, replay),
                    WatchOutcome::Stuck(stuck, told) => {
                        let mut seen = seen.lock();
                        seen.stuck = Some(stuck);
                        seen.failed(told, replay);
                    }
                }
            }
        });
    }

    /// Returns histories for other checkers to judge, each with a name and the verdict of our checker: the history of
    /// an explored trial and, unless a bug is planted, that of a trial on threads. Only explored trials can have a
    /// planted bug. A trial that does not end has no history.
    pub fn histories(&self, seed: u64) -> Vec<(&'static str, History, HistoryVerdict)> {
        let ExploredTrial { history, verdict, .. } = self.case(seed).explore();
        let explored = history.zip(verdict).map(|(history, verdict)| ("explored", history, verdict));
        let native = (self.plant.is_none() && explored.is_some()).then(|| self.native(seed, 0));
        let native = native.and_then(|watched| match watched {
            WatchOutcome::Ended(tried) => {
                let verdict = tried.judge(&mut Checker::new());
                Some(("native", tried.history, verdict))
            }
            WatchOutcome::Panicked(_) | WatchOutcome::Stuck(..) => None,
        });
        explored.into_iter().chain(native).collect()
    }

    /// Runs one native trial.
    fn native(&self, seed: u64, number: u64) -> WatchOutcome<Tried> {
        let (keys, homes, clients, requests) = ROUNDS[(number % ROUNDS.len() as u64) as usize];
        let own = |name: &str, value: u64| (name.to_owned(), value.to_string());
        let mut given = vec![own("mix.keys", keys), own("mix.homes", homes)];
        given.extend_from_slice(&self.given);
        let (scheme, workers) = (self.scheme, if self.scheme.admits_one() { 1 } else { 2 });
        watched(Patience::default(), move |progress| {
            let clients = clients.max(workers);
            let changes_often = number % 4 == 3;
            let trial = Trial { given: &given, workers, clients, requests, seed, changes_often };
            (scheme.native.run)(trial, None, Arc::clone(progress)).expect("legal settings")
        })
    }
}

/// Returns the name of a table in stories and exported histories.
pub fn name_of(number: u16) -> String {
    mix::name_of(number).to_owned()
}
