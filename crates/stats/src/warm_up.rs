//! Warm-up: the part of a run's beginning to leave out, and a test whether the rest is steady.

use crate::Trend;
use crate::spread::mean;

/// The warm-up of a series of throughputs per interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmUp {
    /// The run is steady after `cut` intervals; these are to be left out of its mean.
    Ends {
        /// Number of intervals to leave out; a multiple of the batch, 0 if the run was steady from its start.
        cut: usize,
    },
    /// No steady state was reached: after any cut of at most half of the run, the rest still changes. Run for longer.
    NotReached,
    /// The series is too short for a decision.
    TooShort,
}

/// Fewest batches of a steady state: a rest of fewer than five batches is never considered, because a few values may
/// agree by chance (Hoad, Robinson and Davies, Journal of the Operational Research Society 2010).
const BATCHES_MIN: usize = 5;

/// The significance level at which the rest of the run is refused because of its trend.
const DRIFT_LEVEL: f64 = 0.01;

/// A cut beyond the middle counts if its squared error is less than this share of the squared error of the best cut up
/// to the middle.
const LATE_SHARE: f64 = 0.5;

/// Finds the end of the warm-up of a run, by MSER (White, Simulation 1997; with batches of 5, the usual `batch`: White,
/// Cobb and Spratt, WSC 2000): the cut of at most half of the run that gives the least standard error of the mean of
/// the rest.
///
/// A run has no steady state if a cut beyond its middle is far better, or if the rest has a [`Trend`] at a level of 1
/// percent. White's rule refuses a run whenever the best cut of all is beyond the middle. That refuses six in a hundred
/// steady runs, because a few values at the end agree by chance.
///
/// The series needs ten batches; values at its end that do not fill a batch are left out.
///
/// # Panics
/// If `batch` is 0.
pub fn warm_up(series: &[f64], batch: usize) -> WarmUp {
    let means: Vec<f64> = series.chunks_exact(batch).map(mean).collect();
    let middle = means.len() / 2;
    if middle < BATCHES_MIN {
        return WarmUp::TooShort;
    }
    let errors: Vec<f64> = (0..=means.len() - BATCHES_MIN).map(|cut| squared_error(&means[cut..])).collect();
    let cut = (0..=middle)
        .min_by(|&a, &b| errors[a].total_cmp(&errors[b]))
        .expect("a cut of nothing is among the cuts");
    let is_late = errors[middle + 1..].iter().any(|error| *error < LATE_SHARE * errors[cut]);
    let drifts = || Trend::of(&means[cut..]).is_some_and(|trend| trend.p_value <= DRIFT_LEVEL);
    if is_late || drifts() { WarmUp::NotReached } else { WarmUp::Ends { cut: cut * batch } }
}

/// The squared standard error of the mean, as MSER defines it: with the number of values, not with one less.
fn squared_error(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (values.len() as f64).powi(2)
}

#[cfg(test)]
mod tests {
    use stdx::Rng;

    use super::*;
    use crate::interval::tests::gauss;

    /// A run of `n` intervals around 100, to which `shape` is added.
    fn run(n: usize, seed: u64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..n).map(|i| 100.0 + 2.0 * gauss(&mut rng) + shape(i as f64)).collect()
    }

    fn share(judge: impl Fn(WarmUp) -> bool, series: impl Fn(u64) -> Vec<f64>) -> f64 {
        (0..200).filter(|&seed| judge(warm_up(&series(seed), 5))).count() as f64 / 200.0
    }

    #[test]
    fn the_cut_is_the_least_of_all_by_definition() {
        // Batches of one: 0, 0, then ten times 9 to 11. The errors of cuts 0, 1, 2 are sums over squares, by hand.
        let series = [0.0, 0.0, 9.0, 11.0, 9.0, 11.0, 9.0, 11.0, 9.0, 11.0, 9.0, 11.0];
        assert_eq!(warm_up(&series, 1), WarmUp::Ends { cut: 2 });
        assert!((squared_error(&series[2..]) - 0.1).abs() < 1e-12);
        assert_eq!(warm_up(&series[..9], 1), WarmUp::TooShort);
    }

    #[test]
    fn a_slow_start_is_cut_and_a_steady_run_is_not() {
        let is_cut = |low: usize, high: usize| {
            let is_within = move |cut| low <= cut && cut <= high;
            move |verdict| matches!(verdict, WarmUp::Ends { cut } if is_within(cut))
        };
        let step = |seed| run(200, seed, |i| if i < 30.0 { -40.0 } else { 0.0 });
        assert!(share(is_cut(30, 60), step) > 0.9);
        let approach = |seed| run(200, seed, |i| -60.0 * (-i / 10.0).exp());
        assert!(share(is_cut(15, 70), approach) > 0.85);
        assert!(share(is_cut(15, 100), approach) > 0.97);
        let spike = |seed| run(200, seed, |i| if i < 5.0 { 50.0 } else { 0.0 });
        assert!(share(is_cut(5, 40), spike) > 0.9);
        assert!(share(is_cut(0, 100), |seed| run(200, seed, |_| 0.0)) > 0.97);
        assert!(share(is_cut(0, 20), |seed| run(200, seed, |_| 0.0)) > 0.8);
    }

    #[test]
    fn drift_and_late_changes_are_not_steady() {
        let is_not = |verdict| verdict == WarmUp::NotReached;
        assert!(share(is_not, |seed| run(200, seed, |i| i / 5.0)) > 0.99);
        assert!(share(is_not, |seed| run(200, seed, |i| -i / 10.0)) > 0.99);
        let slump = |i: f64| if (100.0..150.0).contains(&i) { -40.0 } else { 0.0 };
        assert!(share(is_not, |seed| run(200, seed, slump)) > 0.99);
        assert!(share(is_not, |seed| run(200, seed, |i| if i < 120.0 { -40.0 } else { 0.0 })) > 0.99);
    }
}
