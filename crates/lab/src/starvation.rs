//! Starvation: of runs, whose workers do not get their processor time, and of types of transaction that hardly commit.
//! If other programs use the cores, a run looks slower than its scheme is. If a type hardly commits, a run looks faster
//! than its scheme is, since workers that never finish long transactions have time for short ones. A conclusion from
//! such runs has to say so.
//!
//! A transaction *ends* if it commits or rolls back (a user abort). A type is *starved* if its transactions end less
//! than a tenth as often as expected. The expected number is the type's share of the mix, times the number of
//! transactions of all types that ended. User aborts count, since the client gets an answer. All runs of a scheme under
//! the same settings are taken together. A type with fewer than ten expected ends is not judged; if ten are expected,
//! none happens by chance in one of twenty thousand cases.

use std::collections::{BTreeMap, BTreeSet};

use engine::driver::Retry;
use results::{Choices, Run};

use crate::reproduce::Trust;
use crate::text::{count, percent};

/// A type is starved if it ends less often than this part of the expected number.
const PART: f64 = 0.1;
/// The least number of expected ends for which a type is judged.
const EXPECTED_MIN: f64 = 10.0;
/// The share of starved runs from which on they lower the trust in conclusions by one level.
const SOME: f64 = 0.05;
/// The share of starved runs from which on they lower the trust in conclusions by two levels.
const MOST: f64 = 0.5;

/// The starvation of some runs: of their workers, and of types of transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Starvation {
    runs: usize,
    starved: usize,
    cpu_share_min: Option<f64>,
    cells: BTreeMap<Cell, Counts>,
}

/// The key of runs that are repetitions of each other: the scheme, and all other choices.
type Cell = (String, String);
/// The counts of each type in all runs of a cell, by the type's name.
type Counts = BTreeMap<String, Count>;

/// Counts of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Count {
    commits: f64,
    ended: f64,
    expected: f64,
}

impl Count {
    fn is_starved(&self) -> bool {
        self.expected >= EXPECTED_MIN && self.ended < PART * self.expected
    }

    fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.ended += other.ended;
        self.expected += other.expected;
    }
}

/// A type of transaction that hardly commits under a scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct StarvedType {
    /// The scheme.
    pub scheme: String,
    /// The type.
    pub name: String,
    /// The commits of the type at the points at which it is starved.
    pub commits: u64,
    /// The number of transactions of the type that would have ended at these points if it had its share of the mix.
    pub expected: f64,
    /// The number of points at which the type is starved.
    pub points: usize,
    /// The number of points at which the scheme was measured.
    pub of_points: usize,
}

/// The figures of a type in a run: its name, commits, user aborts, and share of the mix.
pub(crate) type Ended<'n> = (&'n str, u64, u64, f64);

impl Starvation {
    /// Returns the starvation of some runs.
    pub fn of<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Self {
        let mut all = Self::default();
        runs.into_iter().for_each(|run| all.add(run));
        all
    }

    /// Adds a run.
    pub fn add(&mut self, run: &Run) {
        self.add_processor_time(run.is_starved, run.cpu_share);
        let Some(mix) = run.throughput_txn_s.and_then(|_| mix(run)) else { return };
        let ended = run.by_type.iter().map(|(name, of)| {
            let share = mix.get(name).copied().unwrap_or(0.0);
            (name.as_str(), of.commits, of.user_aborts, share)
        });
        self.add_types((&run.choices.scheme, &place(&run.choices)), &ended.collect::<Vec<Ended<'_>>>());
    }

    /// Adds a run's processor time: whether the run is starved, and the share that its workers got.
    pub(crate) fn add_processor_time(&mut self, is_starved: bool, cpu_share: Option<f64>) {
        self.runs += 1;
        self.starved += usize::from(is_starved);
        let least = [self.cpu_share_min, cpu_share].into_iter().flatten().min_by(f64::total_cmp);
        self.cpu_share_min = least;
    }

    /// Adds the counts by type of a run of `scheme` at `place`.
    pub(crate) fn add_types(&mut self, (scheme, place): (&str, &str), types: &[Ended<'_>]) {
        let all: u64 = types.iter().map(|(_, commits, rollbacks, _)| commits + rollbacks).sum();
        let cell = self.cells.entry((scheme.to_owned(), place.to_owned())).or_default();
        for &(name, commits, rollbacks, share) in types {
            let ended = (commits + rollbacks) as f64;
            let count = Count { commits: commits as f64, ended, expected: share * all as f64 };
            cell.entry(name.to_owned()).or_default().add(&count);
        }
    }

    /// Adds the starvation of other runs.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.starved += other.starved;
        let least = [self.cpu_share_min, other.cpu_share_min].into_iter().flatten().min_by(f64::total_cmp);
        self.cpu_share_min = least;
        for (cell, counts) in &other.cells {
            let own = self.cells.entry(cell.clone()).or_default();
            for (name, count) in counts {
                own.entry(name.clone()).or_default().add(count);
            }
        }
    }

    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// Returns the number of runs in which the workers got less than 95% of the processor time that they asked for.
    pub fn starved(&self) -> usize {
        self.starved
    }

    /// Returns the types that are starved, by scheme.
    pub fn types(&self) -> Vec<StarvedType> {
        let mut found: BTreeMap<(&str, &str), (Count, usize)> = BTreeMap::new();
        for ((scheme, _), counts) in &self.cells {
            for (name, count) in counts.iter().filter(|(_, count)| count.is_starved()) {
                let (sum, points) = found.entry((scheme, name)).or_default();
                sum.add(count);
                *points += 1;
            }
        }
        let of_points = |of: &str| self.cells.keys().filter(|(scheme, _)| scheme == of).count();
        let told = found.into_iter().map(|((scheme, name), (sum, points))| StarvedType {
            scheme: scheme.to_owned(),
            name: name.to_owned(),
            commits: sum.commits as u64,
            expected: sum.expected,
            points,
            of_points: of_points(scheme),
        });
        told.collect()
    }

    /// Returns the schemes under which a type is starved at some point.
    pub fn schemes(&self) -> BTreeSet<String> {
        self.types().into_iter().map(|of| of.scheme).collect()
    }

    /// Returns the number of levels by which starvation lowers the trust in conclusions from these runs.
    pub fn levels(&self) -> usize {
        let share = self.starved as f64 / self.runs.max(1) as f64;
        let of_runs = usize::from(share >= SOME) + usize::from(share >= MOST);
        of_runs + usize::from(!self.types().is_empty())
    }

    /// Returns the trust in conclusions from these runs. `whole` is the trust without starvation.
    pub fn trust(&self, whole: Trust) -> Trust {
        const ALL: [Trust; 4] = [Trust::A, Trust::B, Trust::C, Trust::D];
        let at = ALL.iter().position(|trust| *trust == whole).expect("all are there");
        // A measurement, even a disturbed one, deserves more trust than a model of costs.
        ALL[(at + self.levels()).min(at.max(2))]
    }

    /// Returns the remarks that a conclusion from these runs must carry, in half sentences; empty if nothing was
    /// starved.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.starved > 0 {
            reasons.push(format!("{} of {} runs were starved", self.starved, self.runs));
        }
        reasons.extend(self.types().iter().map(StarvedType::in_words));
        reasons
    }

    /// Returns the starvation as lines for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.starved > 0 {
            let worst = self
                .cpu_share_min
                .map_or_else(String::new, |least| format!(" ({} at worst)", percent(least)));
            lines.push(format!(
                "STARVED: in {} of {} runs the workers got less than 95% of the processor time that they asked \
                 for{worst}: something else used the cores.",
                self.starved, self.runs
            ));
        }
        lines.extend(self.type_lines());
        lines
    }

    /// Returns those lines of [`lines`](Self::lines) that are about types of transaction.
    pub(crate) fn type_lines(&self) -> Vec<String> {
        self.types().iter().map(|of| format!("STARVED TYPE: {}.", of.in_words())).collect()
    }

    /// Returns the starvation as a result.
    pub fn result(&self) -> results::Starvation {
        results::Starvation {
            runs: self.runs as u64,
            starved: self.starved as u64,
            cpu_share_min: self.cpu_share_min,
            types: self.types().iter().map(StarvedType::result).collect(),
            reasons: self.reasons(),
        }
    }
}

impl StarvedType {
    /// Returns the starved type as half a sentence.
    pub fn in_words(&self) -> String {
        let at = match (self.points, self.of_points) {
            (1, 1) => String::new(),
            (points, of) => format!(" at {points} of {of} points"),
        };
        format!(
            "{} committed {} {}{at}, where its share of the mix would be {}",
            self.scheme,
            count(self.commits as f64),
            self.name,
            count(self.expected)
        )
    }

    /// Returns the starved type as a result.
    pub fn result(&self) -> results::StarvedType {
        let Self { scheme, name, commits, expected, points, of_points } = self.clone();
        let (points, of_points) = (points as u64, of_points as u64);
        results::StarvedType { scheme, name, commits, expected, points, of_points }
    }
}

/// Returns the shares of the types among the requests of a run. Older results do not state them. If a run drops aborted
/// requests, the shares follow from its counts, since each request then has one outcome.
fn mix(run: &Run) -> Option<BTreeMap<String, f64>> {
    if !run.mix.is_empty() {
        return Some(run.mix.clone());
    }
    if run.choices.retry != Retry::Drop.name() {
        return None;
    }
    let requests = |of: &results::Counts| of.aborted() + of.commits + of.user_aborts;
    let all: u64 = run.by_type.values().map(requests).sum();
    let share = |(name, of): (&String, _)| (name.clone(), requests(of) as f64 / all.max(1) as f64);
    Some(run.by_type.iter().map(share).collect())
}

/// Returns the settings of a run as text, without its scheme and without the choices in which repetitions differ.
fn place(run: &Choices) -> String {
    let Choices { workload, workers, clients_asked, retry, mode, rtt_us, .. } = run;
    let Choices { batch, arrivals, rate_txn_s, settings, .. } = run;
    format!(
        "{:?}",
        (workload, workers, clients_asked, retry, mode, rtt_us, batch, arrivals, rate_txn_s, settings)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::tests::given;

    fn starvation<'v>(runs: impl IntoIterator<Item = &'v Value>) -> Starvation {
        let runs: Vec<Run> = runs.into_iter().cloned().map(given).collect();
        Starvation::of(&runs)
    }

    /// Returns a run under `retry=drop` with two types of transaction. Some requests of both types ended, and some were
    /// dropped.
    fn run(scheme: &str, stock_levels: [u64; 3]) -> Value {
        let [commits, user_aborts, aborts] = stock_levels;
        json!({
            "kind": "run", "scheme": scheme, "retry": "drop", "throughput_txn_s": 1000.0, "starved": false,
            "cpu_share": 1.0, "settings": { "tpcc.warehouses": 1 },
            "by_type": {
                "new_order": { "commits": 1_900, "user_aborts": 20, "aborts": { "read_changed": 1_600 } },
                "stock_level": {
                    "commits": commits, "user_aborts": user_aborts, "aborts": { "read_changed": aborts },
                },
            },
        })
    }

    fn names(starvation: &Starvation) -> Vec<String> {
        starvation.types().into_iter().map(|of| format!("{}/{}", of.scheme, of.name)).collect()
    }

    #[test]
    fn a_type_that_commits_less_than_a_tenth_of_its_share_is_found() {
        let none = starvation([&run("silo", [0, 0, 143])]);
        let [of] = &none.types()[..] else { panic!("{none:?}") };
        assert_eq!((of.scheme.as_str(), of.name.as_str(), of.commits), ("silo", "stock_level", 0));
        // 143 of 3,663 requests, of which 1,920 ended.
        assert!((of.expected - 1_920.0 * 143.0 / 3_663.0).abs() < 1e-9);
        assert_eq!(
            none.lines(),
            ["STARVED TYPE: silo committed 0 stock_level, where its share of the mix would be 75."]
        );
        assert_eq!(none.trust(Trust::A), Trust::B);
        // A twelfth is starved and a sixth is not.
        assert_eq!(names(&starvation([&run("silo", [6, 0, 137])])), ["silo/stock_level"]);
        assert!(names(&starvation([&run("silo", [13, 0, 130])])).is_empty());
    }

    #[test]
    fn who_is_answered_is_not_starved_and_of_few_nothing_is_said() {
        assert!(
            names(&starvation([&run("silo", [0, 143, 0])])).is_empty(),
            "all roll back by their own wish"
        );
        assert!(names(&starvation([&run("silo", [0, 0, 15])])).is_empty(), "eight would be its share");
        let thrice = [0; 3].map(|_| run("silo", [0, 0, 15]));
        assert_eq!(names(&starvation(&thrice)), ["silo/stock_level"], "of three such runs it is known");
    }

    #[test]
    fn where_all_abort_alike_no_type_is_starved() {
        let mut alike = run("silo", [5, 0, 195]);
        alike["by_type"]["new_order"] =
            json!({ "commits": 100, "user_aborts": 0, "aborts": { "read_changed": 3_900 } });
        assert!(names(&starvation([&alike])).is_empty());
    }

    #[test]
    fn what_is_tried_again_is_judged_by_the_mix() {
        let mut again = run("silo", [0, 0, 90_000]);
        again["retry"] = "same".into();
        assert!(names(&starvation([&again])).is_empty(), "attempts do not say how many requests there were");
        again["mix"] = json!({ "new_order": 0.96, "stock_level": 0.04 });
        assert_eq!(names(&starvation([&again])), ["silo/stock_level"]);
        again["throughput_txn_s"] = Value::Null;
        assert!(names(&starvation([&again])).is_empty(), "of a run that is no result nothing is said");
    }

    #[test]
    fn points_and_schemes_are_kept_apart() {
        let mut other = run("silo", [143, 0, 0]);
        other["settings"]["tpcc.warehouses"] = 8.into();
        let runs = [run("silo", [0, 0, 143]), other, run("no_wait", [140, 0, 3])];
        let mut all = starvation(&runs[..1]);
        all.merge(&starvation(&runs[1..]));
        assert_eq!(all, starvation(&runs));
        let types = all.types();
        assert_eq!((types.len(), types[0].points, types[0].of_points), (1, 1, 2));
        assert!(types[0].in_words().contains("committed 0 stock_level at 1 of 2 points"), "{types:?}");
    }

    #[test]
    fn starved_runs_are_counted_and_lower_the_trust() {
        let of = |starved: usize, all: usize| {
            let run =
                |at| json!({ "starved": at < starved, "cpu_share": if at < starved { 0.5 } else { 1.0 } });
            starvation(&(0..all).map(run).collect::<Vec<_>>())
        };
        let trust = |starved, all| of(starved, all).trust(Trust::A).name();
        assert_eq!([trust(0, 10), trust(1, 100), trust(5, 100), trust(49, 100)], ["A", "A", "B", "B"]);
        assert_eq!([trust(50, 100), trust(146, 146)], ["C", "C"]);
        assert_eq!(of(146, 146).trust(Trust::D), Trust::D);
        assert_eq!(of(3, 4).reasons(), ["3 of 4 runs were starved"]);
        assert!(
            of(3, 4).lines()[0].contains("in 3 of 4 runs") && of(3, 4).lines()[0].contains("50.0% at worst")
        );
        assert!(of(0, 4).lines().is_empty());
    }
}
