//! The effect of each setting on the throughput of each scheme, and on the ratio of two schemes.

use stats::tree::{Growth, Observations, Tree};
use stats::{Axis, Bootstrap, ElementaryEffects, Indices, Interval, Paired, SobolDesign, holm, paired};
use stdx::Rng;

use super::{Study, StudyMeasurements};

/// The confidence of intervals, and of the settings that are said to matter, all settings of an outcome together.
const CONFIDENCE: f64 = 0.9;
/// The least number of different points that a surrogate is fitted to.
const SURROGATE_MIN: usize = 30;
/// The number of pairs of points from which the shares of a surrogate's variance are computed.
const PAIRS: usize = 256;
/// The number of surrogates of resampled points, for the intervals of the shares.
const RESAMPLES: usize = 100;
/// The number of parts into which points are divided. Each part is predicted by a surrogate of the other parts.
const FOLDS: usize = 10;

/// The analysis of a study.
#[derive(Debug)]
pub struct Analysis {
    /// The outcomes: the throughput of each scheme, then the ratio of each other scheme to the first.
    pub outcomes: Vec<Response>,
    /// The number of different points.
    pub points: usize,
}

/// A figure, and the effects of the settings on it. The figure is analyzed on a logarithmic scale.
#[derive(Debug)]
pub struct Response {
    /// The name of the figure: a scheme, or two schemes with a slash between them.
    pub name: String,
    /// Whether the figure is a ratio of two schemes, that is, their ranking.
    pub is_ranking: bool,
    /// The effect of each setting, in the order of the axes; empty if there are no trajectories.
    pub effects: Vec<Effect>,
    /// The mean size of the effect of a step on which nothing changes, which is due to chance; `None` if there are no
    /// trajectories.
    pub chance: Option<f64>,
    /// The share of the variance that each setting explains, in the order of the axes; empty if there are too few
    /// points.
    pub shares: Vec<VarianceShare>,
    /// The share of the variance that the surrogate predicts at points that it was not fitted to. It is negative if the
    /// mean predicts better.
    pub predicted: Option<f64>,
}

/// The effect of a setting across its range, in logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// The mean, the mean size and the deviation of the effects.
    pub elementary: ElementaryEffects,
    /// The interval of the mean size; `None` if there are too few trajectories.
    pub interval: Option<Interval>,
    /// The probability that any of the settings differs so clearly from chance if none has an effect.
    pub p_adjusted: f64,
    /// Whether the setting has a larger effect than chance.
    pub matters: bool,
}

/// The share of the variance that a setting explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VarianceShare {
    /// The shares that the setting explains alone, and together with all others.
    pub indices: Indices,
    /// The interval of the share together with all others.
    pub interval: Option<Interval>,
}

impl Analysis {
    /// Analyzes the measurements of a study.
    pub fn new(study: &Study, measured: &StudyMeasurements) -> Self {
        let points = merged(measured, &logs(measured, 0, None)).0.len();
        let throughputs = (0..study.schemes.len()).map(|scheme| (scheme, None));
        let ratios = (1..study.schemes.len()).map(|scheme| (scheme, Some(0)));
        let outcome = |(scheme, to): (usize, Option<usize>)| {
            let logs = logs(measured, scheme, to);
            let (effects, chance) = screened(study, measured, &logs);
            let (points, means) = merged(measured, &logs);
            let (shares, predicted) = explained(study, &points, &means);
            let name = study.schemes[scheme];
            let name = to.map_or_else(|| name.to_owned(), |to| format!("{name}/{}", study.schemes[to]));
            Response { name, is_ranking: to.is_some(), effects, chance, shares, predicted }
        };
        Self { outcomes: throughputs.chain(ratios).map(outcome).collect(), points }
    }
}

/// Returns the logarithms of a scheme's throughput, or of its ratio to another's, by point. A scheme that commits
/// nothing counts as one transaction a second, since 0 has no logarithm.
fn logs(measured: &StudyMeasurements, scheme: usize, to: Option<usize>) -> Vec<f64> {
    let log = |speeds: &[f64], scheme: usize| speeds[scheme].max(1.0).ln();
    let of = |speeds: &[f64]| log(speeds, scheme) - to.map_or(0.0, |to| log(speeds, to));
    measured.samples.iter().map(|sample| of(&sample.speed_txn_s)).collect()
}

/// Returns the effects of the settings, and the mean size of the effects of chance.
fn screened(study: &Study, measured: &StudyMeasurements, logs: &[f64]) -> (Vec<Effect>, Option<f64>) {
    let axes = study.ground.axes.len();
    let mut effects = vec![Vec::new(); axes + 1];
    let trajectories = study.trajectories.iter().take(measured.trajectories);
    for (trajectory, logs) in trajectories.zip(logs.chunks_exact(axes + 2)) {
        for (all, own) in effects.iter_mut().zip(trajectory.design.elementary(logs)) {
            all.extend(own);
        }
    }
    let (settings, chance) = effects.split_at(axes);
    let chance = &chance[0];
    if chance.is_empty() {
        return (Vec::new(), None);
    }
    let compared: Vec<(bool, f64)> = settings.iter().map(|own| against(own, chance)).collect();
    let adjusted = holm(&compared.iter().map(|(_, p)| *p).collect::<Vec<f64>>());
    let effect = |((own, (is_more, _)), p_adjusted): ((&Vec<f64>, &(bool, f64)), f64)| Effect {
        elementary: ElementaryEffects::of(own),
        interval: Bootstrap { resamples: 2_000, seed: study.question.seed }
            .percentile(own, mean_size, CONFIDENCE),
        p_adjusted,
        matters: *is_more && p_adjusted <= 1.0 - CONFIDENCE,
    };
    let effects = settings.iter().zip(&compared).zip(adjusted).map(effect).collect();
    (effects, Some(mean_size(chance)))
}

fn mean_size(effects: &[f64]) -> f64 {
    ElementaryEffects::of(effects).mu_star
}

/// Returns whether effects are larger than those of chance on the same trajectories, and the probability of so clear a
/// difference by chance.
fn against(own: &[f64], chance: &[f64]) -> (bool, f64) {
    let size = |effect: f64| effect.abs().max(f64::MIN_POSITIVE);
    let pairs: Vec<(f64, f64)> =
        own.iter().zip(chance).map(|(own, chance)| (size(*own), size(*chance))).collect();
    let compared = paired(&pairs, Paired::SignedRanks, CONFIDENCE).expect("sizes are positive");
    (compared.ratio > 1.0, compared.p_value)
}

/// Returns the different points, and the mean outcome at each: a point that was measured twice is one observation.
fn merged(measured: &StudyMeasurements, logs: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut points: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for (sample, log) in measured.samples.iter().zip(logs) {
        match points.iter_mut().find(|(point, _)| *point == sample.point) {
            Some((_, all)) => all.push(*log),
            None => points.push((sample.point.clone(), vec![*log])),
        }
    }
    points.into_iter().map(|(point, all)| (point, all.iter().sum::<f64>() / all.len() as f64)).unzip()
}

/// Returns the shares of the variance that settings explain, by a surrogate of the points; and the share of the
/// variance that the surrogate predicts.
fn explained(study: &Study, points: &[Vec<f64>], logs: &[f64]) -> (Vec<VarianceShare>, Option<f64>) {
    if points.len() < SURROGATE_MIN {
        return (Vec::new(), None);
    }
    let axes = study.ground.space.axes();
    let mut rng = Rng::from_path(&[study.question.seed, 0x7375_7272]);
    let design = SobolDesign::new(PAIRS, axes.len(), &mut rng);
    let all: Vec<usize> = (0..points.len()).collect();
    let indices = |chosen: &[usize]| {
        let tree = surrogate(axes, points, logs, chosen);
        let outcomes: Vec<f64> =
            design.points().iter().map(|units| tree.predict(&Axis::point(axes, units))[0]).collect();
        design.indices(&outcomes)
    };
    let Some(shares) = indices(&all) else { return (Vec::new(), None) };
    let resampled: Vec<Vec<Indices>> = (0..RESAMPLES)
        .filter_map(|_| {
            let chosen: Vec<usize> = all.iter().map(|_| rng.below(points.len() as u64) as usize).collect();
            indices(&chosen)
        })
        .collect();
    let share = |(axis, indices): (usize, Indices)| {
        let totals: Vec<f64> = resampled.iter().map(|of| of[axis].total).collect();
        VarianceShare { indices, interval: middle(totals) }
    };
    let shares = shares.into_iter().enumerate().map(share).collect();
    (shares, Some(predicted(axes, points, logs, &mut rng)))
}

fn surrogate(axes: &[Axis], points: &[Vec<f64>], logs: &[f64], chosen: &[usize]) -> Tree {
    let own = chosen.iter().map(|&at| points[at].clone()).collect();
    let outcomes: Vec<f64> = chosen.iter().map(|&at| logs[at]).collect();
    Tree::grow(&Observations::of_numbers(axes.to_vec(), own, &outcomes), &Growth::default())
}

/// Returns the interval of the middle replicates, without the tails; `None` if there are no replicates.
fn middle(mut replicates: Vec<f64>) -> Option<Interval> {
    replicates.sort_by(f64::total_cmp);
    let at = |share: f64| replicates.get((share * (replicates.len().max(1) - 1) as f64).round() as usize);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some(Interval { low: *at(tail)?, high: *at(1.0 - tail)?, confidence: CONFIDENCE })
}

/// Returns the share of the variance that surrogates predict at points that they were not fitted to.
fn predicted(axes: &[Axis], points: &[Vec<f64>], logs: &[f64], rng: &mut Rng) -> f64 {
    let mut order: Vec<usize> = (0..points.len()).collect();
    stats::shuffle(&mut order, rng);
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let (mut missed, mut spread) = (0.0, 0.0);
    for fold in 0..FOLDS {
        let is_held_out = |at: usize| at % FOLDS == fold;
        let others: Vec<usize> =
            order.iter().enumerate().filter(|(at, _)| !is_held_out(*at)).map(|(_, &point)| point).collect();
        let tree = surrogate(axes, points, logs, &others);
        for (_, &point) in order.iter().enumerate().filter(|(at, _)| is_held_out(*at)) {
            missed += (tree.predict(&points[point])[0] - logs[point]).powi(2);
            spread += (logs[point] - mean).powi(2);
        }
    }
    1.0 - missed / spread
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::study::tests::question;
    use super::super::{MeasuredPoint, Method, Question};
    use super::*;
    use crate::registry::tests::catalogue;

    /// Returns a study and its imagined measurements: silo slows down with theta by a factor of up to `e`, and nothing
    /// else matters to it; `no_wait` also slows down with the share of reads.
    pub(crate) fn planted(method: Method, noise: f64) -> (Study, StudyMeasurements) {
        let study = Study::new(catalogue(), Question { method, ..question() }, "a build").expect("possible");
        let along: Vec<Vec<f64>> = match method {
            Method::Morris => study.trajectories.iter().flat_map(|one| one.points.clone()).collect(),
            Method::Sobol => Vec::new(),
        };
        let mut rng = Rng::new(7);
        let points: Vec<Vec<f64>> = along.into_iter().chain(study.filling()).take(120).collect();
        let sample = |(number, point): (usize, Vec<f64>)| {
            let mut chance = || noise * (rng.unit() - 0.5);
            let (theta, reads) = (point[0] / 0.9, point[1] / 100.0);
            let silo = 1_000.0 * (-theta + chance()).exp();
            let no_wait = 1_000.0 * (-theta - 0.5 * reads + chance()).exp();
            let runs = vec![format!("a{number}"), format!("b{number}")];
            MeasuredPoint { point, speed_txn_s: vec![silo, no_wait], runs }
        };
        let samples = points.into_iter().enumerate().map(sample).collect();
        let trajectories = if method == Method::Morris { study.trajectories.len() } else { 0 };
        (study, StudyMeasurements { samples, trajectories, ..StudyMeasurements::default() })
    }

    #[test]
    fn what_was_planted_matters_and_nothing_else_does() {
        let (study, measured) = planted(Method::Morris, 0.05);
        let analysis = Analysis::new(&study, &measured);
        let matters = |outcome: &Response| outcome.effects.iter().map(|of| of.matters).collect::<Vec<bool>>();
        let [silo, no_wait, ratio] = analysis.outcomes.as_slice() else { panic!("{analysis:?}") };
        assert_eq!(matters(silo), [true, false], "{silo:?}");
        assert_eq!(matters(no_wait), [true, true], "{no_wait:?}");
        assert_eq!(matters(ratio), [false, true], "theta moves both alike, and not their ranking: {ratio:?}");
        assert_eq!((ratio.name.as_str(), ratio.is_ranking), ("no_wait/silo", true));
        let effect = silo.effects[0];
        assert!((effect.elementary.mu + 1.0).abs() < 0.1, "{effect:?}");
        assert!(effect.interval.is_some_and(|interval| interval.low < 1.0 && interval.high > 0.95));
        assert!(silo.chance.is_some_and(|chance| chance < 0.1));
    }

    #[test]
    fn shares_of_the_variance_are_those_of_what_was_planted() {
        let (study, measured) = planted(Method::Sobol, 0.05);
        let analysis = Analysis::new(&study, &measured);
        let [silo, _, ratio] = analysis.outcomes.as_slice() else { panic!("{analysis:?}") };
        assert!(silo.effects.is_empty() && silo.chance.is_none(), "there are no trajectories");
        assert!(silo.shares[0].indices.total > 0.9 && silo.shares[1].indices.total < 0.1, "{silo:?}");
        assert!(ratio.shares[1].indices.total > 0.9 && ratio.shares[0].indices.total < 0.1, "{ratio:?}");
        assert!(silo.predicted.is_some_and(|predicted| predicted > 0.9), "{silo:?}");
        let total = silo.shares[0];
        assert!(total.interval.is_some_and(|interval| interval.low > 0.8), "{total:?}");
    }

    #[test]
    fn noise_is_not_taken_for_an_effect() {
        let (study, measured) = planted(Method::Morris, 20.0);
        let analysis = Analysis::new(&study, &measured);
        for outcome in &analysis.outcomes {
            assert!(outcome.effects.iter().all(|effect| !effect.matters), "{outcome:?}");
            assert!(outcome.predicted.is_some_and(|predicted| predicted < 0.5), "{outcome:?}");
        }
    }

    #[test]
    fn few_points_explain_nothing() {
        let (study, mut measured) = planted(Method::Morris, 0.05);
        measured.samples.truncate(10);
        measured.trajectories = 2;
        let analysis = Analysis::new(&study, &measured);
        let silo = &analysis.outcomes[0];
        assert!(silo.shares.is_empty() && silo.effects[0].interval.is_none() && !silo.effects[0].matters);
        measured.samples.clear();
        measured.trajectories = 0;
        assert!(Analysis::new(&study, &measured).outcomes[0].effects.is_empty());
    }
}
