//! The measuring of a sweep: the choice of the next run, and the time budget.

use sync::clock;

use super::bench::{Bench, Runner};
use super::{ResultStore, SideBySide, Sweep, Unit};
use crate::Refusal;
use crate::text::duration_s;

/// The maximum number of times that a run is made until its workers get the processor time that they ask for.
pub(super) const ATTEMPTS_MAX: u32 = 3;

/// A sweep that is being measured.
#[derive(Debug)]
pub struct Measuring<'s> {
    sweep: &'s Sweep,
    store: &'s ResultStore,
    left: Vec<&'s Unit>,
    pace: Pace,
    /// The guessed seconds of the runs that were made so far.
    guessed_s: f64,
}

/// The time of a sweep so far, and its budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    budget_s: Option<f64>,
    begun_ns: u64,
    /// The time from which the runs of this kind were made: simulated ones say nothing about how long native ones take.
    paced_ns: u64,
}

impl Pace {
    fn new() -> Self {
        let now_ns = clock::now_ns();
        Self { budget_s: None, begun_ns: now_ns, paced_ns: now_ns }
    }

    /// Returns guessed seconds, scaled by the ratio of real to guessed time so far. `made_s` are the guessed seconds of
    /// the runs that were made.
    pub(super) fn real_s(self, guessed_s: f64, made_s: f64) -> f64 {
        self.real_s_at(clock::now_ns(), guessed_s, made_s)
    }

    fn real_s_at(self, now_ns: u64, guessed_s: f64, made_s: f64) -> f64 {
        if made_s > 0.0 { guessed_s * seconds(self.paced_ns, now_ns) / made_s } else { guessed_s }
    }

    /// Whether the budget would be over before the end of a run of so many guessed seconds.
    pub(super) fn is_late(self, guessed_s: f64, made_s: f64) -> bool {
        self.is_late_at(clock::now_ns(), guessed_s, made_s)
    }

    fn is_late_at(self, now_ns: u64, guessed_s: f64, made_s: f64) -> bool {
        let ends_s = seconds(self.begun_ns, now_ns) + self.real_s_at(now_ns, guessed_s, made_s);
        self.budget_s.is_some_and(|budget_s| ends_s > budget_s)
    }
}

fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    (to_ns - from_ns) as f64 / 1e9
}

impl<'s> Measuring<'s> {
    /// Prepares to make the runs of a sweep whose results are missing.
    ///
    /// # Errors
    /// Results that cannot be read.
    pub fn new(sweep: &'s Sweep, store: &'s ResultStore) -> Result<Self, Refusal> {
        let mut measuring = Self::only(sweep, store, sweep.units.iter().collect())?;
        measuring.pace.budget_s = sweep.recipe.budget_minutes.map(|minutes| minutes * 60.0);
        Ok(measuring)
    }

    /// Prepares to make those of some runs of a sweep whose results are missing. The sweep's time budget does not
    /// apply.
    ///
    /// # Errors
    /// Results that cannot be read.
    pub fn only(sweep: &'s Sweep, store: &'s ResultStore, units: Vec<&'s Unit>) -> Result<Self, Refusal> {
        let mut left = Vec::new();
        for unit in units {
            left.extend(store.get(&unit.id)?.is_none().then_some(unit));
        }
        Ok(Self { sweep, store, left, pace: Pace::new(), guessed_s: 0.0 })
    }

    /// Takes the simulated runs from those that are to be made. They can be made side by side.
    pub fn take_simulated(&mut self) -> SideBySide<'s> {
        let all = core::mem::take(&mut self.left);
        let (units, left) = all.into_iter().partition(|unit| unit.is_simulated());
        self.left = left;
        SideBySide::new(self.sweep, self.store, units, self.pace)
    }

    /// Makes all missing runs by `run` and keeps their results, until there is no time left or `run` returns `None`.
    ///
    /// # Errors
    /// Errors of `run`, and results that cannot be written. The results before the error are kept.
    pub fn all(mut self, run: impl Runner) -> Result<(), Refusal> {
        let mut bench = Bench::new(self.store, &self.sweep.build, &self.sweep.axes, ATTEMPTS_MAX, run);
        self.pace.paced_ns = clock::now_ns();
        for nth in 0..self.left.len() {
            let unit = self.left[nth];
            if self.pace.is_late(unit.lasts_s, self.guessed_s)
                || bench.result(unit, &self.label(nth))?.is_none()
            {
                break;
            }
            self.guessed_s += unit.lasts_s;
        }
        Ok(())
    }

    /// Returns a line about the run with this number among the missing runs.
    fn label(&self, nth: usize) -> String {
        let guessed_s: f64 = self.left[nth..].iter().map(|unit| unit.lasts_s).sum();
        let (of, left) = (self.sweep.units.len(), self.left.len());
        let to_go = duration_s(self.pace.real_s(guessed_s, self.guessed_s));
        format!("[{}/{of}] {}: about {to_go} to go", of - left + nth + 1, self.sweep.label(self.left[nth]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::catalogue;
    use crate::sweep::Recipe;

    #[test]
    fn runs_are_made_until_one_is_not_or_there_is_no_time() {
        let text = "title = \"a test\"\nworkload = \"tpcc\"\nschemes = [\"silo\"]\nrepeat = 4\n";
        let recipe = Recipe::parse(catalogue(), text).expect("legal");
        let sweep = Sweep::new(catalogue(), recipe.clone(), "a build").expect("possible");
        let path = std::env::temp_dir().join(format!("contend-measuring-{}", std::process::id()));
        let store = ResultStore::open(&path).expect("writable");
        let measure = |sweep: &Sweep, limit: usize| {
            let mut made = 0;
            let run = |_: &Unit, _: &str| {
                made += 1;
                Ok((made <= limit)
                    .then(|| results::Run { throughput_txn_s: Some(1.0), ..results::Run::default() }))
            };
            let mut measuring = Measuring::new(sweep, &store).expect("readable");
            assert_eq!(measuring.take_simulated().count(), 0, "the runs are native");
            measuring.all(run).expect("written");
            store.all().expect("readable").len()
        };
        assert_eq!(measure(&sweep, 1), 1);
        let hurried = Recipe { budget_minutes: Some(0.0), ..recipe };
        assert_eq!(measure(&Sweep::new(catalogue(), hurried, "a build").expect("possible"), 9), 1, "no time");
        assert_eq!(measure(&sweep, 9), 4, "only those that were left");
        let entry = &store.all().expect("readable")[0];
        assert_eq!(
            (entry.run.build.as_deref(), entry.run.id.as_deref()),
            (Some("a build"), Some(entry.id.as_str()))
        );
        std::fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn native_runs_are_not_taken_for_as_slow_as_the_simulated_ones_before_them() {
        // Of an hour, simulated runs took 50 minutes; then native ones that were guessed right took one.
        const MINUTE_NS: u64 = 60_000_000_000;
        let pace = Pace { budget_s: Some(3_600.0), begun_ns: 7, paced_ns: 7 + 50 * MINUTE_NS };
        let now_ns = 7 + 51 * MINUTE_NS;
        assert!((pace.real_s_at(now_ns, 30.0, 60.0) - 30.0).abs() < 1e-6);
        assert!(!pace.is_late_at(now_ns, 30.0, 60.0));
        assert!(pace.is_late_at(now_ns, 600.0, 60.0), "the simulated time counts for the budget");
    }
}
