//! Simulated runs of a sweep, several at the same time: what else the host does changes how long they take, but not
//! their results.

use sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::bench::Bench;
use super::measuring::Pace;
use super::{ResultStore, Sweep, Unit};
use crate::text::duration_s;
use crate::{Refusal, machine};

/// Simulated runs of a sweep that several threads make at the same time.
#[derive(Debug)]
pub struct SideBySide<'s> {
    sweep: &'s Sweep,
    store: &'s ResultStore,
    units: Vec<&'s Unit>,
    pace: Pace,
    /// The number of the run that a thread takes next.
    next: AtomicUsize,
    made: AtomicUsize,
    /// Whether no further run is begun, although some are left.
    is_over: AtomicBool,
}

impl<'s> SideBySide<'s> {
    pub(super) fn new(sweep: &'s Sweep, store: &'s ResultStore, units: Vec<&'s Unit>, pace: Pace) -> Self {
        Self {
            sweep,
            store,
            units,
            pace,
            next: AtomicUsize::new(0),
            made: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Returns the number of runs.
    pub fn count(&self) -> usize {
        self.units.len()
    }

    /// Returns the number of runs that the free memory of this host can hold at the same time, from 1 on.
    pub fn fits(&self) -> usize {
        machine::fits(self.units.iter().map(|unit| unit.needed_bytes))
    }

    /// Takes runs, makes them by `run` and keeps their results, until none is left, there is no time left, or `run`
    /// returns `None`: then the other threads that make runs end too. `run` gets the number of the run among these.
    ///
    /// # Errors
    /// Errors of `run`, and results that cannot be written. The results before the error are kept.
    pub fn make(
        &self,
        run: impl Fn(usize, &Unit) -> Result<Option<results::Run>, Refusal>,
    ) -> Result<(), Refusal> {
        // Relaxed, here and below: each run is taken once, and the values order nothing else.
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = self.units.get(number) else { return Ok(()) };
            let made =
                if self.is_late(unit) { Ok(None) } else { self.result(unit, |unit| run(number, unit)) };
            if !matches!(made, Ok(Some(_))) {
                self.is_over.store(true, Ordering::Relaxed);
            }
            if made?.is_some() {
                self.made.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn result(
        &self,
        unit: &Unit,
        run: impl Fn(&Unit) -> Result<Option<results::Run>, Refusal>,
    ) -> Result<Option<results::Run>, Refusal> {
        // A simulated run that is made again has the same result.
        Bench::new(self.store, &self.sweep.build, &self.sweep.axes, 1, |unit, _| run(unit)).result(unit, "")
    }

    /// Whether the time budget would be over before the end of a run.
    fn is_late(&self, unit: &Unit) -> bool {
        self.pace.is_late(unit.lasts_s, guessed_s(self.units_made()))
    }

    /// As many of the runs as were made. Which of them were made matters little to an estimate.
    fn units_made(&self) -> &[&Unit] {
        &self.units[..self.made.load(Ordering::Relaxed)] // Relaxed: an estimate.
    }

    /// Returns a line about the progress.
    pub fn line(&self) -> String {
        let made = self.units_made();
        let head = format!("[{}/{}] simulating", made.len(), self.units.len());
        if made.is_empty() {
            return head;
        }
        let left_s = self.pace.real_s(guessed_s(&self.units[made.len()..]), guessed_s(made));
        format!("{head}: about {} to go", duration_s(left_s))
    }

    /// Whether all runs were made.
    pub fn is_complete(&self) -> bool {
        self.made.load(Ordering::Relaxed) == self.units.len() // Relaxed: the threads that make runs have ended.
    }
}

/// The guessed seconds of runs.
fn guessed_s(units: &[&Unit]) -> f64 {
    units.iter().map(|unit| unit.lasts_s).sum()
}

#[cfg(test)]
mod tests {
    use results::Run;
    use sync::{Barrier, workers};

    use super::*;
    use crate::registry::tests::catalogue;
    use crate::sweep::{Measuring, Recipe};

    /// Four simulated runs.
    const RECIPE: &str = "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\"]\nrepeat = 2\n\
                          [settings]\nmachine = \"epyc\"\n[vary]\nworkers = [1, 2]\n";

    /// Makes the simulated runs of a sweep with two threads. `run` gets the number of runs that were begun before.
    /// Returns the number of results, whether all were made, and the outcome.
    fn made(
        name: &str,
        budget_minutes: Option<f64>,
        run: impl Fn(usize) -> Result<Option<Run>, Refusal> + Sync,
    ) -> (usize, bool, Result<(), Refusal>) {
        let recipe = Recipe { budget_minutes, ..Recipe::parse(catalogue(), RECIPE).expect("legal") };
        let sweep = Sweep::new(catalogue(), recipe, "a build").expect("possible");
        let path = std::env::temp_dir().join(format!("contend-side-{name}-{}", std::process::id()));
        let store = ResultStore::open(&path).expect("writable");
        let simulated = Measuring::new(&sweep, &store).expect("readable").take_simulated();
        assert_eq!(simulated.count(), 4);
        let begun = AtomicUsize::new(0);
        // Relaxed: a count.
        let ended =
            workers::run(2, false, |_| simulated.make(|_, _| run(begun.fetch_add(1, Ordering::Relaxed))));
        let count = store.all().expect("readable").len();
        std::fs::remove_dir_all(path).expect("its own directory");
        (count, simulated.is_complete(), ended.into_iter().collect())
    }

    fn result() -> Run {
        Run { throughput_txn_s: Some(1.0), ..Run::default() }
    }

    #[test]
    fn two_threads_make_each_run_once_and_at_the_same_time() {
        let both = Barrier::new(2);
        let run = |_| {
            // Nobody passes before the other thread has begun a run too.
            both.wait().expect("both threads work");
            Ok(Some(result()))
        };
        let (count, is_complete, ended) = made("all", None, run);
        assert_eq!((count, is_complete), (4, true));
        ended.expect("no error");
    }

    #[test]
    fn a_run_that_is_not_made_ends_all_and_results_are_kept() {
        let (count, is_complete, ended) =
            made("stopped", None, |n| if n == 1 { Ok(None) } else { Ok(Some(result())) });
        assert!((1..4).contains(&count) && !is_complete, "{count}");
        ended.expect("no error");
        let fails = |n| if n == 1 { Err(Refusal("broken".to_owned())) } else { Ok(Some(result())) };
        let (count, is_complete, ended) = made("failed", None, fails);
        assert!((1..4).contains(&count) && !is_complete, "{count}");
        assert_eq!(ended.expect_err("it failed").0, "broken");
        let (count, is_complete, ended) = made("late", Some(0.0), |_| Ok(Some(result())));
        assert_eq!((count, is_complete), (0, false), "no time");
        ended.expect("no error");
    }
}
