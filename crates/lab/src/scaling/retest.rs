//! Conclusions tested again on machines that differ from the simulated one in a constant: a conclusion that turns with
//! a constant is no firmer than this constant.

use results::Run;
use sim::machine::Basis;

use super::{Scaling, half_width};
use crate::simulation::changed_machine;
use crate::text::{Table, plural};
use crate::{Refusal, SimulationPlan};

/// The maximum number of machines that a line names.
const NAMED: usize = 3;

/// The simulated machine, or one that differs from it in a constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChangedMachine {
    /// The text by which the machine is asked for.
    pub(super) asked: String,
    /// The difference, and the basis of the constant.
    change: Option<(String, Basis)>,
}

/// Returns the machine of a plan, and one for each of its constants and factors that makes another machine. The shape
/// of the machine stays, and so does its log, which simulated runs do not write.
///
/// # Errors
/// A factor that is not positive, or that changes nothing.
pub(super) fn machines(simulation: &SimulationPlan, factors: &[f64]) -> Result<Vec<ChangedMachine>, Refusal> {
    for factor in factors {
        if !(factor.is_finite() && *factor > 0.0 && (factor - 1.0).abs() > 1e-9) {
            return Err(Refusal(format!(
                "`--constants {factor}`: give positive numbers other than 1, as in `--constants 0.7,1.3`"
            )));
        }
    }
    let (machine, asked) = (&simulation.machine, &simulation.asked);
    let mut all = vec![ChangedMachine { asked: asked.clone(), change: None }];
    for constant in machine.constants.iter().filter(|constant| !constant.path.starts_with("log.")) {
        let path = &constant.path;
        for factor in factors.iter().filter(|factor| machine.scaled(path, **factor).is_ok()) {
            let change = Some((format!("{path} x {factor}"), constant.basis));
            all.push(ChangedMachine { asked: changed_machine(asked, path, *factor), change });
        }
    }
    Ok(all)
}

/// A conclusion from the throughputs of a study: at one point it is higher than at another one.
struct Conclusion {
    says: String,
    /// The points: positions among those of a machine.
    higher: usize,
    lower: usize,
}

/// The answer of a machine to a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    let (rate, width) = (run.throughput_txn_s?, half_width(run).unwrap_or(f64::INFINITY));
    Some((rate - rate * width, rate + rate * width))
}

impl Scaling {
    /// Returns the table of the conclusions, and how many of the changed machines say the same.
    pub(super) fn retest(&self, results: &[Option<Run>]) -> String {
        let all: Vec<&[Option<Run>]> = results.chunks(self.points.len()).collect();
        let mut table = Table::default();
        table.row(["conclusion", "ratio", "lowest", "highest", "stands", "undecided", "turns with"]);
        for conclusion in self.conclusions(all[0]) {
            let Conclusion { says, higher, lower } = conclusion;
            let mut ratios = Vec::new();
            let (mut stands, mut undecided, mut turned) = (0, 0, Vec::new());
            for (machine, runs) in self.machines.iter().zip(&all) {
                let (Some(high), Some(low)) = (&runs[higher], &runs[lower]) else { continue };
                let Some(answer) = answer(high, low) else { continue };
                ratios.extend(ratio(high, low));
                let Some((change, basis)) = &machine.change else { continue };
                match answer {
                    Answer::Stands => stands += 1,
                    Answer::Undecided => undecided += 1,
                    Answer::Turns => turned.push(format!("{change} ({})", basis.name())),
                }
            }
            let extreme =
                |pick: fn(f64, f64) -> f64| ratios.iter().copied().reduce(pick).map_or("-".to_owned(), times);
            let more = turned.len().saturating_sub(NAMED);
            let mut named = turned[..turned.len().min(NAMED)].join(", ");
            if more > 0 {
                named = format!("{named} and {more} more");
            }
            table.row([
                says,
                ratios.first().map_or("-".to_owned(), |ratio| times(*ratio)),
                extreme(f64::min),
                extreme(f64::max),
                stands.to_string(),
                undecided.to_string(),
                if named.is_empty() { "-".to_owned() } else { named },
            ]);
        }
        format!(
            "conclusions, tested again on {} that differ from this one in a constant; those of its shape and of its \
             log stay\n{}",
            plural(self.machines.len() - 1, "machine"),
            table.render()
        )
    }

    /// Returns what the runs of one machine say: the order of schemes on each number of cores, as far as neighbours in
    /// the order differ by more than chance, and the number of cores on which each scheme is best.
    fn conclusions(&self, runs: &[Option<Run>]) -> Vec<Conclusion> {
        let mut all = Vec::new();
        let rate = |point: usize| runs[point].as_ref().and_then(|run| run.throughput_txn_s);
        let ordered = |keep: &dyn Fn((usize, usize)) -> bool| {
            let points = (0..self.points.len()).filter(|point| keep(self.points[*point]));
            let mut rates: Vec<(f64, usize)> =
                points.filter_map(|point| Some((rate(point)?, point))).collect();
            rates.sort_by(|one, other| other.0.total_cmp(&one.0));
            rates.into_iter().map(|(_, point)| point).collect::<Vec<usize>>()
        };
        let is_sure = |higher: usize, lower: usize| {
            let (Some(high), Some(low)) = (&runs[higher], &runs[lower]) else { return false };
            answer(high, low) == Some(Answer::Stands)
        };
        let cores = |point: usize| self.plans[self.points[point].0].job.workers;
        for at in 0..self.plans.len() {
            let order = ordered(&|(plan, _)| plan == at);
            for (&higher, &lower) in order.iter().zip(order.iter().skip(1)) {
                let [one, other] = [higher, lower].map(|point| self.name(self.points[point]));
                let says = format!("{one} ahead of {other} on {}", plural(cores(higher), "core"));
                all.extend(is_sure(higher, lower).then_some(Conclusion { says, higher, lower }));
            }
        }
        for position in 0..self.plans[0].subjects.len() {
            let order = ordered(&|(_, scheme)| scheme == position);
            if let [best, next, ..] = order[..] {
                let name = self.name(self.points[best]);
                let says = format!("{name} best on {}, next on {}", plural(cores(best), "core"), cores(next));
                all.extend(is_sure(best, next).then_some(Conclusion { says, higher: best, lower: next }));
            }
        }
        all
    }
}

fn ratio(high: &Run, low: &Run) -> Option<f64> {
    Some(high.throughput_txn_s? / low.throughput_txn_s?)
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}")
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
    fn each_constant_that_runs_depend_on_is_changed_by_each_factor() {
        let epyc = SimulationPlan::whole("epyc").expect("a machine of the program");
        let all = machines(&epyc, &[0.7, 1.3]).expect("good factors");
        assert_eq!(all[0], ChangedMachine { asked: "epyc".to_owned(), change: None });
        let asked = |text: &str| all.iter().filter(|machine| machine.asked == text).count();
        assert_eq!(asked("epyc@memory.latency_ns*0.7") + asked("epyc@hops.1.round_trip_ns*1.3"), 2);
        let is_in = |part: &str| all.iter().any(|machine| machine.asked.contains(part));
        assert!(!is_in("log.") && !is_in("topology.") && !is_in("hops.0.bytes_per_ns"), "{all:?}");
        let changed = SimulationPlan::whole("epyc@memory.latency_ns*0.7").expect("a machine");
        assert_eq!(changed.machine.memory.latency_ps, (epyc.machine.memory.latency_ps * 7).div_ceil(10));
        assert_ne!(changed.digest, epyc.digest);
        for factor in [0.0, -1.0, 1.0, f64::NAN] {
            let refusal = machines(&epyc, &[factor]).expect_err("a bad factor").to_string();
            assert!(refusal.contains("0.7,1.3"), "{refusal}");
        }
    }
}
