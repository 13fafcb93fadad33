//! Pairs of runs: both schemes at a point, one directly after the other, on the same requests.

use stdx::Rng;
use sync::clock;

use super::study::Study;
use crate::Refusal;
use crate::speed::Speed;
use crate::sweep::{Bench, ResultStore, Runner, Unit, nothing_measured};
use crate::text::duration_s;

/// Seconds that a run takes in addition to its warm-up and measured time: starting, and ending.
const EXTRA_S: f64 = 0.3;

/// The reason why measuring has to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The study was interrupted, for example by the user.
    Interrupted,
    /// The check of the run with this command failed: its scheme is wrong, so its speed does not matter.
    Failed(String),
    /// A run was refused, or the store had an error.
    Refused(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The results of two runs side by side.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// The speeds of A and B.
    pub(super) speeds: (Speed, Speed),
    /// The runs of A and B.
    pub(super) runs: [results::Run; 2],
}

impl Pair {
    /// Returns the ids of both runs.
    pub(super) fn ids(&self) -> impl Iterator<Item = String> {
        self.runs.iter().filter_map(|run| run.id.clone())
    }
}

/// A bench that measures pairs within a time budget.
pub(super) struct Pairs<'s, R> {
    bench: Bench<'s, R>,
    budget_s: f64,
    begun_ns: u64,
    /// Seconds of the runs that were made here, without those found in the store.
    made_s: f64,
}

impl<'s, R: Runner> Pairs<'s, R> {
    pub(super) fn new(study: &'s Study, store: &'s ResultStore, run: R) -> Self {
        // No run is repeated because of starvation: a starved pair is starved on both sides, and another pair says more
        // than a repetition of the same pair.
        let bench = Bench::new(store, &study.ground.build, &study.ground.axes, 1, run);
        let budget_s = study.question.budget_minutes * 60.0;
        Self { bench, budget_s, begun_ns: clock::now_ns(), made_s: 0.0 }
    }

    /// Measures both schemes of a study at a point. `what` describes the step in the progress line.
    pub(super) fn measure(
        &mut self,
        study: &Study,
        point: &[f64],
        repetition: u64,
        what: &str,
    ) -> Result<Pair, Stop> {
        let [a, b] = study.schemes;
        let units = [study.ground.unit(a, point, repetition)?, study.ground.unit(b, point, repetition)?];
        let mut runs = [results::Run::default(), results::Run::default()];
        let is_turned = Rng::from_path(&[study.question.seed, digits(&units[0].id)]).below(2) == 1;
        for at in if is_turned { [1, 0] } else { [0, 1] } {
            runs[at] = self.run(study, &units[at], what)?;
        }
        let of =
            |run: &results::Run| study.measure.speed(run).ok_or_else(|| Stop::Refused(nothing_measured(run)));
        Ok(Pair { speeds: (of(&runs[0])?, of(&runs[1])?), runs })
    }

    /// Returns the store of the results.
    pub(super) fn store(&self) -> &'s ResultStore {
        self.bench.store()
    }

    fn run(&mut self, study: &Study, unit: &Unit, what: &str) -> Result<results::Run, Stop> {
        let named: Vec<String> = study
            .ground
            .axes
            .iter()
            .zip(&unit.point)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let left_s = (self.budget_s - self.elapsed_s()).max(0.0);
        let label = format!("{what}: {} at {}; {} left", unit.scheme, named.join(" "), duration_s(left_s));
        let (begun_ns, made) = (clock::now_ns(), self.bench.made());
        let run = self.bench.result(unit, &label)?.ok_or(Stop::Interrupted)?;
        if self.bench.made() > made {
            self.made_s += (clock::now_ns() - begun_ns) as f64 / 1e9;
        }
        if run.is_failed() {
            return Err(failed(&run));
        }
        Ok(run)
    }

    /// Returns the seconds since the beginning.
    pub(super) fn elapsed_s(&self) -> f64 {
        (clock::now_ns() - self.begun_ns) as f64 / 1e9
    }

    /// Returns whether this number of further runs fits into this share of the budget.
    pub(super) fn has_time(&self, study: &Study, share: f64, runs: usize) -> bool {
        let of_run_s = match self.bench.made() {
            0 => study.question.warmup + study.question.seconds + EXTRA_S,
            made => self.made_s / made as f64,
        };
        self.elapsed_s() + runs as f64 * of_run_s <= share * self.budget_s
    }
}

/// Returns the stop at a run that is no result.
fn failed(run: &results::Run) -> Stop {
    Stop::Failed(run.command.clone().unwrap_or_default())
}

/// Returns a number made of an id, as a part of a seed.
fn digits(id: &str) -> u64 {
    u64::from_str_radix(&id[..id.len().min(15)], 16).unwrap_or(0)
}
