//! The bench: makes single runs and keeps their results. The caller decides how a run is made.

use super::summary::named;
use super::{ResultStore, Unit};
use crate::Refusal;

/// The number of times that a run is made until it measures something.
const EMPTY_MAX: u32 = 5;

/// Returns the refusal of a study with a run that measured nothing.
pub(crate) fn nothing_measured(run: &results::Run) -> Refusal {
    Refusal(format!(
        "no worker ran in the measured time of `{}`, {EMPTY_MAX} times: something else uses the cores; measure for \
         longer with --seconds",
        run.command.as_deref().unwrap_or("a run")
    ))
}

/// A function that makes a run. It gets the run and a line about it, and returns the result, or `None` if the run was
/// interrupted.
pub trait Runner: FnMut(&Unit, &str) -> Result<Option<results::Run>, Refusal> {}

impl<R: FnMut(&Unit, &str) -> Result<Option<results::Run>, Refusal>> Runner for R {}

/// A bench: makes runs whose results are not in its store yet.
#[derive(Debug)]
pub struct Bench<'s, R> {
    store: &'s ResultStore,
    build: &'s str,
    axes: &'s [String],
    attempts_max: u32,
    made: u64,
    run: R,
}

impl<'s, R: Runner> Bench<'s, R> {
    /// Makes a bench whose results go to `store`. The results name `build` as their build, and have points of `axes`. A
    /// run is made up to `attempts_max` times until its workers get the processor time that they ask for.
    pub fn new(
        store: &'s ResultStore,
        build: &'s str,
        axes: &'s [String],
        attempts_max: u32,
        run: R,
    ) -> Self {
        Self { store, build, axes, attempts_max, made: 0, run }
    }

    /// Returns the result of a unit from the store, or else makes the run and keeps its result. `None` if the run was
    /// interrupted.
    ///
    /// # Errors
    /// Errors of the run; results that cannot be read or written.
    pub fn result(&mut self, unit: &Unit, label: &str) -> Result<Option<results::Run>, Refusal> {
        match self.store.get(&unit.id)? {
            Some(kept) => Ok(Some(kept.run)),
            None => self.make(unit, label),
        }
    }

    fn make(&mut self, unit: &Unit, label: &str) -> Result<Option<results::Run>, Refusal> {
        let Some(mut run) = self.unstarved(unit, label)? else { return Ok(None) };
        self.describe(unit, &mut run);
        self.store.put(unit, &run)?;
        self.made += 1;
        Ok(Some(run))
    }

    /// Returns the store of the results.
    pub fn store(&self) -> &'s ResultStore {
        self.store
    }

    /// Returns the number of runs that were made here, without those found in the store.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Makes a run. A run whose workers got no processor time in the measured time has no speed, and is made again.
    fn measured(&mut self, unit: &Unit, label: &str) -> Result<Option<results::Run>, Refusal> {
        for _ in 1..EMPTY_MAX {
            let Some(run) = (self.run)(unit, label)? else { return Ok(None) };
            if run.throughput_txn_s.is_some() || run.is_failed() {
                return Ok(Some(run));
            }
        }
        (self.run)(unit, label)
    }

    /// Makes a run, and repeats it while it is starved, or measures nothing. Returns the least starved run with the
    /// number of attempts.
    fn unstarved(&mut self, unit: &Unit, label: &str) -> Result<Option<results::Run>, Refusal> {
        let share = |run: &results::Run| run.cpu_share.unwrap_or(0.0);
        let mut best: Option<results::Run> = None;
        for attempt in 1..=self.attempts_max {
            let Some(run) = self.measured(unit, label)? else { return Ok(None) };
            let mut better = match best {
                Some(best) if share(&best) >= share(&run) => best,
                _ => run,
            };
            better.attempts = Some(attempt.into());
            let is_empty = better.cpu_share.is_none() && better.throughput_txn_s.is_none();
            let is_poor = better.is_starved || is_empty;
            best = Some(better);
            if !is_poor {
                break;
            }
        }
        Ok(best)
    }

    /// Adds the id, the build, the command, the repetition and the point to a result, so that it can be understood and
    /// made again by itself.
    fn describe(&self, unit: &Unit, run: &mut results::Run) {
        run.id = Some(unit.id.clone());
        run.build = Some(self.build.to_owned());
        run.command = Some(unit.line());
        run.repetition = Some(unit.repetition);
        run.point = Some(named(self.axes, &unit.point));
    }
}

#[cfg(test)]
mod tests {
    use results::CheckVerdict;

    use super::*;
    use crate::Request;

    fn result(cpu_share: f64) -> results::Run {
        let is_starved = cpu_share < 0.95;
        results::Run {
            cpu_share: Some(cpu_share),
            is_starved,
            throughput_txn_s: Some(1.0),
            ..results::Run::default()
        }
    }

    fn unit() -> Unit {
        let (point, request) = (vec!["0.5".to_owned()], Request::new("ycsb"));
        Unit {
            id: "an id".to_owned(),
            scheme: "silo",
            point,
            repetition: 2,
            request,
            lasts_s: 1.0,
            needed_bytes: 0,
            is_log_in_memory: false,
        }
    }

    /// Returns the result of a bench whose runs get these shares of processor time, and the number of runs that it
    /// made.
    fn made(name: &str, shares: &[f64]) -> (Option<results::Run>, usize) {
        let path = std::env::temp_dir().join(format!("contend-bench-{name}-{}", std::process::id()));
        let store = ResultStore::open(&path).expect("writable");
        let (mut left, mut count) = (shares.iter(), 0);
        let axes = ["ycsb.theta".to_owned()];
        let mut bench = Bench::new(&store, "a build", &axes, 3, |_: &Unit, _: &str| {
            count += 1;
            Ok(left.next().map(|share| result(*share)))
        });
        let value = bench.result(&unit(), "").expect("made");
        let again = bench.result(&unit(), "").expect("readable");
        if value.is_some() {
            assert_eq!(again, value, "what is kept is not made again");
        }
        std::fs::remove_dir_all(path).expect("its own directory");
        (value, count)
    }

    #[test]
    fn a_starved_run_is_made_again_and_the_least_starved_one_counts() {
        let of = |name: &str, shares: &[f64]| made(name, shares).0.map(|run| (run.cpu_share, run.attempts));
        assert_eq!(of("first", &[0.99, 0.5]), Some((Some(0.99), Some(1))));
        assert_eq!(of("second", &[0.5, 0.96, 0.5]), Some((Some(0.96), Some(2))));
        assert_eq!(of("least", &[0.5, 0.7, 0.6, 0.99]), Some((Some(0.7), Some(3))), "three times at most");
        assert_eq!(of("none", &[0.5]), None, "interrupted before it could be made again");
    }

    #[test]
    fn a_run_that_measured_nothing_is_made_again_some_times_unless_its_check_failed() {
        let path = std::env::temp_dir().join(format!("contend-bench-empty-{}", std::process::id()));
        let store = ResultStore::open(&path).expect("writable");
        let of = |rates: &[Option<f64>], verdict: CheckVerdict| {
            let mut left = rates.iter();
            let mut bench = Bench::new(&store, "a build", &[], 1, |_: &Unit, _: &str| {
                let mut run =
                    results::Run { throughput_txn_s: *left.next().expect("no more"), ..result(0.01) };
                run.check.verdict = verdict;
                Ok(Some(run))
            });
            bench.unstarved(&unit(), "").expect("made").expect("not interrupted").throughput_txn_s
        };
        assert_eq!(of(&[None, None, Some(0.5)], CheckVerdict::Passed), Some(0.5));
        assert_eq!(of(&[None, Some(0.5)], CheckVerdict::Failed), None, "a wrong scheme is told at once");
        assert_eq!(of(&[None; EMPTY_MAX as usize], CheckVerdict::Passed), None, "not for ever");
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn a_result_says_what_it_is_of_and_is_made_once() {
        let (run, count) = made("says", &[0.99, 0.99]);
        let run = run.expect("made");
        assert_eq!((count, run.build.as_deref(), run.repetition), (1, Some("a build"), Some(2)));
        assert_eq!((run.id.as_deref(), run.at("ycsb.theta")), (Some("an id"), Some(&"0.5".to_owned())));
        assert!(run.command.is_some_and(|command| command.starts_with("contend run ycsb")));
    }
}
