//! Planning: the number of repetitions that a comparison needs for a decision, estimated from existing repetitions.

use crate::comparison::log;
use crate::normal::quantile;
use crate::{Paired, paired, unpaired};

/// The most repetitions that are considered. Nobody makes more, and a larger margin or longer runs help more.
pub const REPETITIONS_MAX: usize = 200;

/// Returns the smallest number of pairs, at most [`REPETITIONS_MAX`], with which [`paired`](crate::paired()) by signed
/// ranks has the `confidence`, and an interval whose ends are nearer to its centre than `distance`. `None` if even the
/// most pairs have no such interval.
///
/// `distance` and `deviation` are of the logarithms of the pairs' ratios: the distance of their centre from the ratio
/// that matters, and their standard deviation. Pairs are assumed to be spread normally and evenly, so the number is an
/// expectation and no promise. With a deviation of 0, it is the least number of any pairs that have the confidence.
///
/// # Panics
/// If `confidence` is not between 0 and 1.
pub fn pairs_to_decide(distance: f64, deviation: f64, confidence: f64) -> Option<usize> {
    smallest(|n| {
        let pairs: Vec<(f64, f64)> = evenly(n, deviation).into_iter().map(|a| (a.exp(), 1.0)).collect();
        let comparison = paired(&pairs, Paired::SignedRanks, confidence).ok()?;
        is_decided(&comparison, distance, confidence)
    })
}

/// Like [`pairs_to_decide`], returns the number of values on each side with which [`unpaired`](crate::unpaired())
/// decides, given the standard deviations of the two sides' logarithms.
///
/// # Panics
/// If `confidence` is not between 0 and 1.
pub fn values_to_decide(distance: f64, deviations: (f64, f64), confidence: f64) -> Option<usize> {
    smallest(|n| {
        let of = |deviation| evenly(n, deviation).into_iter().map(f64::exp).collect::<Vec<f64>>();
        let comparison = unpaired(&of(deviations.0), &of(deviations.1), confidence).ok()?;
        is_decided(&comparison, distance, confidence)
    })
}

/// The standard deviation of the logarithms of values; `None` for fewer than two values, and for values without a
/// logarithm.
pub fn log_deviation(values: &[f64]) -> Option<f64> {
    let logs = values.iter().map(|&value| log(value).ok()).collect::<Option<Vec<f64>>>()?;
    let mean = crate::spread::mean(&logs);
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (logs.len() > 1).then(|| (squares / (logs.len() - 1) as f64).sqrt())
}

fn is_decided(comparison: &crate::Comparison, distance: f64, confidence: f64) -> Option<()> {
    let crate::Interval { low, high, confidence: achieved } = comparison.interval;
    let half_width = (high.ln() - low.ln()) / 2.0;
    (achieved >= confidence - 1e-12 && half_width < distance).then_some(())
}

/// The smallest number that decides; once a number decides, larger ones do.
fn smallest(decides: impl Fn(usize) -> Option<()>) -> Option<usize> {
    let (mut too_few, mut enough) = (0, 1);
    while decides(enough).is_none() {
        if enough == REPETITIONS_MAX {
            return None;
        }
        (too_few, enough) = (enough, (2 * enough).min(REPETITIONS_MAX));
    }
    while enough - too_few > 1 {
        let middle = usize::midpoint(too_few, enough);
        if decides(middle).is_some() {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Some(enough)
}

/// Returns `n` values around 0, at the quantiles of a normal distribution, with this standard deviation.
fn evenly(n: usize, deviation: f64) -> Vec<f64> {
    let scores: Vec<f64> = (0..n).map(|at| quantile((at as f64 + 0.5) / n as f64)).collect();
    let squares: f64 = scores.iter().map(|score| score * score).sum();
    let own = (squares / (n.max(2) - 1) as f64).sqrt();
    scores.into_iter().map(|score| if own > 0.0 { score * deviation / own } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use stdx::Rng;

    use super::*;
    use crate::assert_near;
    use crate::interval::tests::gauss;

    #[test]
    fn without_a_spread_it_is_the_number_that_the_confidence_takes() {
        for (confidence, pairs, values) in [(0.75, 3, 3), (0.9, 5, 3), (0.95, 6, 4), (0.99, 8, 5)] {
            assert_eq!(pairs_to_decide(0.01, 0.0, confidence), Some(pairs), "{confidence}");
            assert_eq!(values_to_decide(0.01, (0.0, 0.0), confidence), Some(values), "{confidence}");
        }
    }

    #[test]
    fn the_number_grows_with_the_spread_and_as_the_margin_comes_nearer() {
        let of = |distance, deviation| pairs_to_decide(distance, deviation, 0.9);
        let near_normal = |distance: f64, deviation: f64| (1.645 * deviation / distance).powi(2) / 0.955;
        for (distance, deviation) in [(0.05, 0.1), (0.02, 0.05), (0.05, 0.2), (0.1, 0.5)] {
            let (found, about) = (of(distance, deviation).expect("few"), near_normal(distance, deviation));
            assert_near(found as f64, about, 0.15 * about + 2.0);
        }
        assert!(of(0.05, 0.2) > of(0.05, 0.1) && of(0.02, 0.1) > of(0.05, 0.1));
        assert_eq!((of(0.001, 0.5), of(0.0, 0.1)), (None, None));
        assert!(values_to_decide(0.05, (0.1, 0.1), 0.9) > of(0.05, 0.1), "two sides spread");
    }

    #[test]
    fn so_many_pairs_decide_more_often_than_not_and_half_as_many_do_not() {
        let mut rng = Rng::from_path(&[3, 9]);
        let (distance, deviation) = (0.05, 0.1);
        let needed = pairs_to_decide(distance, deviation, 0.9).expect("few");
        let mut decided = |n: usize| {
            let is_decided = |_: &u32| {
                let pairs: Vec<(f64, f64)> =
                    (0..n).map(|_| ((distance + deviation * gauss(&mut rng)).exp(), 1.0)).collect();
                paired(&pairs, Paired::SignedRanks, 0.9).unwrap().interval.low > 1.0
            };
            f64::from((0..500_u32).filter(is_decided).count() as u32) / 500.0
        };
        let (enough, half) = (decided(needed), decided(needed / 2));
        assert!((0.4..0.9).contains(&enough) && half < enough - 0.1, "{needed}: {enough} and {half}");
    }

    #[test]
    fn a_single_value_has_no_spread() {
        assert_eq!(
            (log_deviation(&[2.0]), log_deviation(&[]), log_deviation(&[1.0, 0.0])),
            (None, None, None)
        );
        assert_near(log_deviation(&[1.0, core::f64::consts::E]).unwrap(), 0.5_f64.sqrt(), 1e-12);
    }
}
