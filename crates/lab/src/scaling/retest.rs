//! Conclusions tested again on machines that differ from the simulated one in a constant: a conclusion that turns with
//! a constant is no firmer than this constant.

use results::Run;

use super::{Scaling, half_width};
use crate::constants::{ConstantChange, changes, some_of};
use crate::knees::rate;
use crate::text::{Table, plural};
use crate::{Refusal, SimulationPlan};

/// The simulated machine, or one that differs from it in a constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChangedMachine {
    /// The text by which the machine is asked for.
    pub(super) asked: String,
    /// The digest of the machine, with the threads of a core that are used.
    pub(super) digest: String,
    change: Option<ConstantChange>,
}

/// Returns the machine of a plan, and one for each change of a constant.
///
/// # Errors
/// See [`changes`].
pub(super) fn machines(simulation: &SimulationPlan, factors: &[f64]) -> Result<Vec<ChangedMachine>, Refusal> {
    let asked = &simulation.asked;
    let changed = |change: ConstantChange| ChangedMachine {
        asked: change.asked(asked),
        digest: String::new(),
        change: Some(change),
    };
    let whole = ChangedMachine { asked: asked.clone(), digest: simulation.digest.clone(), change: None };
    Ok([whole].into_iter().chain(changes([&simulation.machine], factors)?.into_iter().map(changed)).collect())
}

/// A conclusion from the throughputs of a study: at one point it is higher than at others.
struct Conclusion {
    says: String,
    /// The points: positions among those of a machine.
    higher: usize,
    lower: Vec<usize>,
}

/// The answer of a machine to a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Stands,
    Undecided,
    Turns,
}

/// Says whether one throughput is higher than another, each with half the width of its interval.
fn answer(higher: &Run, lower: &Run) -> Option<Answer> {
    let [high, low] = [higher, lower].map(interval);
    let (high, low) = (high?, low?);
    Some(match () {
        () if high.0 > low.1 => Answer::Stands,
        () if high.1 < low.0 => Answer::Turns,
        () => Answer::Undecided,
    })
}

/// Returns the interval of 95% confidence of a throughput: all if its width is not known.
fn interval(run: &Run) -> Option<(f64, f64)> {
    let (rate, width) = (rate(run)?, half_width(run).unwrap_or(f64::INFINITY));
    Some((rate - rate * width, rate + rate * width))
}

impl Scaling {
    /// Returns the table of the conclusions, and how many of the changed machines say the same.
    pub(super) fn retest(&self, results: &[Option<Run>]) -> String {
        let all: Vec<&[Option<Run>]> = results.chunks(self.points.len()).collect();
        let mut table = Table::default();
        table.row([
            "conclusion",
            "ratio",
            "lowest",
            "highest",
            "stands",
            "undecided",
            "no figure",
            "reversed by",
        ]);
        for Conclusion { says, higher, lower } in self.conclusions(all[0]) {
            let mut ratios = Vec::new();
            let (mut stands, mut undecided, mut unknown, mut reversed) = (0, 0, 0, Vec::new());
            for (machine, runs) in self.machines.iter().zip(&all) {
                let judged = judged(runs, higher, &lower);
                ratios.extend(judged.map(|(_, ratio)| ratio));
                let Some(change) = &machine.change else { continue };
                match judged.map(|(answer, _)| answer) {
                    Some(Answer::Stands) => stands += 1,
                    Some(Answer::Undecided) => undecided += 1,
                    Some(Answer::Turns) => reversed.push(change.to_string()),
                    None => unknown += 1,
                }
            }
            let extreme = |pick: fn(f64, f64) -> f64| ratios.iter().copied().reduce(pick);
            let cells = [ratios.first().copied(), extreme(f64::min), extreme(f64::max)];
            let [ratio, lowest, highest] =
                cells.map(|ratio| ratio.map_or("-".to_owned(), |it| format!("{it:.2}")));
            let named = some_of(&reversed);
            let [stands, undecided, unknown] =
                [stands, undecided, unknown].map(|number: i32| number.to_string());
            table.row([says, ratio, lowest, highest, stands, undecided, unknown, named]);
        }
        format!(
            "conclusions, tested again on {} that differ from this one in a constant; constants of the shape and of \
             the log are not changed\n{}",
            plural(self.machines.len() - 1, "machine"),
            table.render()
        )
    }

    /// Returns what the runs of one machine say: the order of schemes on each number of cores, as far as neighbours in
    /// the order differ by more than chance, and the number of cores on which each scheme is best.
    fn conclusions(&self, runs: &[Option<Run>]) -> Vec<Conclusion> {
        let mut all = Vec::new();
        let rate = |point: usize| runs[point].as_ref().and_then(rate);
        let ordered = |keep: &dyn Fn((usize, usize)) -> bool| {
            let points = (0..self.points.len()).filter(|point| keep(self.points[*point]));
            let mut rates: Vec<(f64, usize)> =
                points.filter_map(|point| Some((rate(point)?, point))).collect();
            rates.sort_by(|one, other| other.0.total_cmp(&one.0));
            rates.into_iter().map(|(_, point)| point).collect::<Vec<usize>>()
        };
        let is_sure = |higher: usize, lower: &[usize]| {
            judged(runs, higher, lower).is_some_and(|(answer, _)| answer == Answer::Stands)
        };
        let cores = |point: usize| self.plans[self.points[point].0].job.workers;
        for at in 0..self.plans.len() {
            let order = ordered(&|(plan, _)| plan == at);
            for (&higher, &lower) in order.iter().zip(order.iter().skip(1)) {
                let [one, other] = [higher, lower].map(|point| self.name(self.points[point]));
                let says = format!("{one} ahead of {other} on {}", plural(cores(higher), "core"));
                let lower = vec![lower];
                all.extend(is_sure(higher, &lower).then_some(Conclusion { says, higher, lower }));
            }
        }
        for position in 0..self.plans[0].subjects.len() {
            let order = ordered(&|(_, scheme)| scheme == position);
            if let [best, others @ ..] = &order[..]
                && !others.is_empty()
            {
                let (higher, lower) = (*best, others.to_vec());
                let says =
                    format!("{} peaks on {}", self.name(self.points[higher]), plural(cores(higher), "core"));
                all.extend(is_sure(higher, &lower).then_some(Conclusion { says, higher, lower }));
            }
        }
        all
    }
}

/// Says whether the throughput of a machine's run is higher than that of others, and returns its ratio to the highest
/// of these. `None` if a run has no throughput.
fn judged(runs: &[Option<Run>], higher: usize, lower: &[usize]) -> Option<(Answer, f64)> {
    let high = runs[higher].as_ref()?;
    let lower: Vec<&Run> = lower.iter().map(|point| runs[*point].as_ref()).collect::<Option<_>>()?;
    let answers: Vec<Answer> = lower.iter().map(|low| answer(high, low)).collect::<Option<_>>()?;
    let most = lower.iter().filter_map(|low| rate(low)).reduce(f64::max)?;
    Some((answers.into_iter().max()?, rate(high)? / most))
}

#[cfg(test)]
mod tests {
    use results::Simulation;

    use super::*;

    fn run(throughput: f64, half_width: Option<f64>) -> Run {
        let simulation = Some(Simulation { half_width, ..Simulation::default() });
        Run { throughput_txn_s: Some(throughput), simulation, ..Run::default() }
    }

    #[test]
    fn intervals_decide() {
        let [low, high, vague] = [run(100.0, Some(0.03)), run(107.0, Some(0.03)), run(300.0, None)];
        assert_eq!(answer(&high, &low), Some(Answer::Stands));
        assert_eq!(answer(&low, &high), Some(Answer::Turns));
        assert_eq!(answer(&run(105.0, Some(0.03)), &low), Some(Answer::Undecided));
        assert_eq!(answer(&vague, &low), Some(Answer::Undecided), "of this one nothing is known");
        assert_eq!(answer(&Run::default(), &low), None);
    }

    #[test]
    fn a_best_point_is_above_all_others() {
        let runs = [100.0, 150.0, 90.0, 152.0].map(|rate| Some(run(rate, Some(0.02))));
        let found = |higher, lower: &[usize]| judged(&runs, higher, lower).map(|(answer, _)| answer);
        assert_eq!(found(1, &[0, 2]), Some(Answer::Stands));
        assert_eq!(found(1, &[0, 2, 3]), Some(Answer::Undecided));
        assert_eq!(found(0, &[2, 3]), Some(Answer::Turns));
        assert_eq!(judged(&runs, 1, &[0, 2]).map(|(_, ratio)| ratio), Some(1.5));
        assert_eq!(
            judged(&[Some(run(0.0, None)), Some(run(1.0, None))], 0, &[1]),
            None,
            "nothing was committed"
        );
    }

    #[test]
    fn each_constant_that_runs_depend_on_is_changed_by_each_factor() {
        let epyc = SimulationPlan::whole("epyc").expect("a machine of the program");
        let all = machines(&epyc, &[0.7, 1.3]).expect("good factors");
        assert_eq!((all[0].asked.as_str(), all[0].change.is_none()), ("epyc", true));
        let asked = |text: &str| all.iter().filter(|machine| machine.asked == text).count();
        assert_eq!(asked("epyc@memory.latency_ns*0.7") + asked("epyc@hops.1.round_trip_ns*1.3"), 2);
        let is_in = |part: &str| all.iter().any(|machine| machine.asked.contains(part));
        assert!(!is_in("log.") && !is_in("topology.") && !is_in("hops.0.bytes_per_ns"), "{all:?}");
        let changed = SimulationPlan::whole("epyc@memory.latency_ns*0.7").expect("a machine");
        assert_eq!(changed.machine.memory.latency_ps, (epyc.machine.memory.latency_ps * 7).div_ceil(10));
        assert_ne!(changed.digest, epyc.digest);
        for factors in [&[0.0][..], &[-1.0], &[1.0], &[f64::NAN], &[0.7, 0.7]] {
            let refusal = machines(&epyc, factors).expect_err("a bad factor").to_string();
            assert!(refusal.contains("0.7,1.3"), "{refusal}");
        }
    }
}
