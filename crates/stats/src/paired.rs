//! Comparison of measurements in pairs: of the same repetition, in the same block, soon after one another. A
//! disturbance of the host slows both sides of a pair, so that their ratio stays the same.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::comparison::{log, win};
use crate::ranks::{self, doubled_ranks, signed_sums};
use crate::spread::{median_of_sorted, sorted};
use crate::{CompareError, Comparison, Interval, normal};

/// The method of a paired comparison. Both methods work on the logarithms of the pairs' ratios, and both are exact for
/// few pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paired {
    /// The sign test, by the winner of each pair. The ratio is the median of the pairs' ratios. The test assumes only
    /// that pairs are independent, and needs more pairs for the same confidence.
    Signs,
    /// The signed-rank test, by the winner of each pair and the size of the win (Wilcoxon, 1945). The ratio is the
    /// median of the geometric means of any two pairs' ratios (Hodges and Lehmann, Annals of Mathematical Statistics
    /// 1963). The test assumes that the ratios' logarithms lie symmetrically around the true value. That holds if A
    /// differs from B by a factor and by chance only: exchanging two measurements that differ by chance alone inverts
    /// their ratio.
    SignedRanks,
}

/// Compares the first value of each pair with the second. The interval has the requested confidence, or the most that
/// so few pairs can have: 75 percent for 3, 87.5 for 4, 93.75 for 5, 96.9 for 6.
///
/// # Errors
/// If there is no pair, or a number has no logarithm.
///
/// # Panics
/// If `confidence` is not between 0 and 1.
pub fn paired(pairs: &[(f64, f64)], by: Paired, confidence: f64) -> Result<Comparison, CompareError> {
    let logs = pairs.iter().map(|&(a, b)| Ok(log(a)? - log(b)?)).collect::<Result<Vec<f64>, _>>()?;
    let (centre, interval, p_value) = match by {
        Paired::Signs => {
            let interval = Interval::of_median(&logs, confidence).ok_or(CompareError::Empty)?;
            (median_of_sorted(&sorted(logs.iter().copied())), interval, signs_p_value(&logs))
        }
        Paired::SignedRanks => {
            let means = means_of_two(&logs);
            let interval =
                signed_ranks_interval(&means, logs.len(), confidence).ok_or(CompareError::Empty)?;
            (median_of_sorted(&means), interval, signed_ranks_p_value(&logs))
        }
    };
    let superiority = pairs.iter().map(|&(a, b)| win(a, b)).sum::<f64>() / pairs.len() as f64;
    Ok(Comparison { ratio: centre.exp(), interval: interval.map(f64::exp), p_value, superiority })
}

/// The least p-value that this number of pairs can have, by either method: the p-value if all pairs have the same
/// winner. If it is above a level, the pairs cannot decide anything at that level.
pub fn least_p_value(pairs: usize) -> f64 {
    if pairs == 0 { 1.0 } else { 0.5_f64.powi(pairs.min(1_000) as i32 - 1) }
}

/// The exact two-sided sign test; pairs without a winner are left out.
fn signs_p_value(logs: &[f64]) -> f64 {
    let (wins, losses) = (count(logs, |log| log > 0.0), count(logs, |log| log < 0.0));
    let binomial = Binomial::new(0.5, wins + losses).expect("a half is a probability");
    (2.0 * binomial.cdf(wins.min(losses))).min(1.0)
}

fn count(logs: &[f64], is_counted: impl Fn(f64) -> bool) -> u64 {
    logs.iter().filter(|&&log| is_counted(log)).count() as u64
}

/// Means of any two values, and of each with itself (Walsh, 1949), in ascending order.
fn means_of_two(values: &[f64]) -> Vec<f64> {
    let pairs = values.iter().enumerate().flat_map(|(i, a)| values[i..].iter().map(move |b| (a, b)));
    sorted(pairs.map(|(a, b)| f64::midpoint(*a, *b)))
}

/// An interval between order statistics of the means of two: the number of these means above the centre is distributed
/// as Wilcoxon's rank sum (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3.3).
fn signed_ranks_interval(means: &[f64], n: usize, confidence: f64) -> Option<Interval> {
    if n <= ranks::SIGNED_MAX {
        let tails = exact_tails(n);
        Interval::between_order_statistics(means, confidence, |at_most| tails[at_most])
    } else {
        Interval::between_order_statistics(means, confidence, |at_most| approximate_tail(n, at_most))
    }
}

/// For each rank sum the probability that it is not exceeded, without ties.
fn exact_tails(n: usize) -> Vec<f64> {
    let doubled: Vec<usize> = (1..=n).map(|rank| 2 * rank).collect();
    let mut tails: Vec<f64> = signed_sums(&doubled).into_iter().step_by(2).collect();
    for sum in 1..tails.len() {
        tails[sum] += tails[sum - 1];
    }
    tails
}

fn approximate_tail(n: usize, at_most: usize) -> f64 {
    let (mean, deviation) = signed_sum_moments(n as f64, 0.0);
    normal::below((at_most as f64 + 0.5 - mean) / deviation)
}

/// Mean and standard deviation of the sum of the positive ranks, given the ties.
fn signed_sum_moments(n: f64, ties: f64) -> (f64, f64) {
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    (n * (n + 1.0) / 4.0, variance.sqrt())
}

/// Wilcoxon's two-sided signed-rank test; exact, given the ties, up to [`ranks::SIGNED_MAX`] pairs. Pairs without a
/// winner are left out.
fn signed_ranks_p_value(logs: &[f64]) -> f64 {
    let decided: Vec<f64> = logs.iter().copied().filter(|&log| log != 0.0).collect();
    if decided.is_empty() {
        return 1.0;
    }
    let sizes: Vec<f64> = decided.iter().map(|log| log.abs()).collect();
    let doubled = doubled_ranks(&sizes);
    let positive = doubled.iter().zip(&decided).filter(|(_, log)| **log > 0.0);
    let observed: usize = positive.map(|(rank, _)| rank).sum();
    if decided.len() <= ranks::SIGNED_MAX {
        return ranks::two_sided(&signed_sums(&doubled), observed);
    }
    approximate_p_value(&sizes, observed)
}

fn approximate_p_value(sizes: &[f64], observed: usize) -> f64 {
    let (mean, deviation) = signed_sum_moments(sizes.len() as f64, ranks::ties(sizes));
    let away = ((observed as f64 / 2.0 - mean).abs() - 0.5).max(0.0);
    normal::two_sided(away / deviation)
}

#[cfg(test)]
mod tests {
    use stdx::Rng;

    use super::*;
    use crate::assert_near;
    use crate::interval::tests::SOURCES;

    /// Darwin's maize: heights of crossed and self-fertilized plants, in eighths of an inch.
    const MAIZE: [f64; 15] =
        [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];

    #[test]
    fn published_p_values_come_out() {
        // 13 of 15 signs are positive; the negative ranks sum to 24, of which the exact chance is 0.0413.
        assert_near(signs_p_value(&MAIZE), 2.0 * (1.0 + 15.0 + 105.0) / 32_768.0, 1e-15);
        assert_near(signed_ranks_p_value(&MAIZE), 0.041_259_765_625, 1e-12);
    }

    #[test]
    fn p_values_are_those_of_enumeration_also_with_ties() {
        for logs in [
            vec![1.0, -2.0, 3.0, 4.0, 5.0],
            vec![1.0, 1.0, -1.0, 2.0, 2.0, 5.0, 0.0],
            vec![-1.0; 4],
            vec![0.0, 0.0, 3.0, 2.0, -1.0, 4.0],
        ] {
            let decided: Vec<f64> = logs.iter().copied().filter(|&log| log != 0.0).collect();
            let ranks = doubled_ranks(&decided.iter().map(|log| log.abs()).collect::<Vec<_>>());
            let sum = |positive: &dyn Fn(usize) -> bool| -> usize {
                ranks.iter().enumerate().filter(|(i, _)| positive(*i)).map(|(_, rank)| rank).sum()
            };
            let observed = sum(&|i| decided[i] > 0.0);
            let sums = (0..1_usize << ranks.len()).map(|signs| sum(&|i| signs >> i & 1 == 1));
            let (mut below, mut above) = (0.0, 0.0);
            for sum in sums {
                below += f64::from(sum <= observed) / f64::from(1 << ranks.len());
                above += f64::from(sum >= observed) / f64::from(1 << ranks.len());
            }
            assert_near(signed_ranks_p_value(&logs), (2.0 * f64::min(below, above)).min(1.0), 1e-12);
        }
    }

    #[test]
    fn interval_and_test_agree() {
        // A factor lies within the interval if and only if the test does not refuse it at that level.
        let mut rng = Rng::new(5);
        for n in 5..=12 {
            let logs: Vec<f64> = (0..n).map(|_| rng.unit() - 0.3).collect();
            let interval = signed_ranks_interval(&means_of_two(&logs), n, 0.9).unwrap();
            for step in -100..100 {
                let centre = f64::from(step) / 99.0;
                let shifted: Vec<f64> = logs.iter().map(|log| log - centre).collect();
                let is_refused = signed_ranks_p_value(&shifted) <= 1.0 - interval.confidence + 1e-9;
                assert_eq!(interval.contains(centre), !is_refused, "{n} {centre} {interval:?}");
            }
        }
    }

    #[test]
    fn few_pairs_have_the_confidence_that_few_pairs_have() {
        let pairs: Vec<(f64, f64)> = (1..=6).map(|i| (2.0 + f64::from(i) / 10.0, 1.0)).collect();
        for (n, confidence) in [(1, 0.0), (3, 0.75), (4, 0.875), (5, 0.9375), (6, 0.96875)] {
            for by in [Paired::Signs, Paired::SignedRanks] {
                let comparison = paired(&pairs[..n], by, 0.95).unwrap();
                assert_near(comparison.interval.confidence, confidence, 1e-12);
                assert_near(comparison.p_value, 1.0 - confidence, 1e-12);
                assert_near(comparison.p_value, least_p_value(n), 1e-12);
                assert_near(comparison.interval.low, 2.1, 1e-12);
                assert_near(comparison.superiority, 1.0, 0.0);
            }
        }
    }

    #[test]
    fn factors_are_estimated_and_errors_named() {
        let pairs = [(2.0, 1.0), (30.0, 10.0), (8.0, 2.0), (5.0, 1.0), (12.0, 2.0)];
        assert_near(paired(&pairs, Paired::Signs, 0.9).unwrap().ratio, 4.0, 1e-12);
        // The middle of the 15 geometric means of 2, 3, 4, 5 and 6.
        assert_near(paired(&pairs, Paired::SignedRanks, 0.9).unwrap().ratio, 15.0_f64.sqrt(), 1e-12);
        assert_eq!(paired(&[], Paired::Signs, 0.9), Err(CompareError::Empty));
        assert_eq!(paired(&[], Paired::SignedRanks, 0.9), Err(CompareError::Empty));
        assert_eq!(paired(&[(1.0, 0.0)], Paired::Signs, 0.9), Err(CompareError::NotPositive(0.0)));
    }

    #[test]
    fn intervals_of_ratios_cover_as_often_as_they_say() {
        for (name, draw, _) in SOURCES {
            for n in [5_u64, 7, 10] {
                let mut rng = Rng::from_path(&[n, 7]);
                let (mut covered, mut says) = ([0_u32; 2], [0.0; 2]);
                for _ in 0..3_000 {
                    // The host is quick or slow for both sides of a pair.
                    let mut pair = || {
                        let host = if rng.percent(40.0) { 0.7 } else { 1.0 };
                        (1.3 * host * draw(&mut rng), host * draw(&mut rng))
                    };
                    let pairs: Vec<(f64, f64)> = (0..n).map(|_| pair()).collect();
                    for (i, by) in [Paired::Signs, Paired::SignedRanks].into_iter().enumerate() {
                        let interval = paired(&pairs, by, 0.9).unwrap().interval;
                        covered[i] += u32::from(interval.contains(1.3));
                        says[i] = interval.confidence;
                    }
                }
                for (covered, says) in covered.map(|count| f64::from(count) / 3_000.0).into_iter().zip(says) {
                    assert!((covered - says).abs() < 0.02, "{name}, {n} pairs: {covered} instead of {says}");
                }
            }
        }
    }

    #[test]
    fn many_pairs_are_approximated_closely() {
        let n = ranks::SIGNED_MAX;
        let tails = exact_tails(n);
        for (sum, exact) in tails.iter().enumerate() {
            assert_near(approximate_tail(n, sum), *exact, 1e-3);
        }
        let mut rng = Rng::new(11);
        // Rounded, so that there are some ties.
        let logs: Vec<f64> = (0..n).map(|_| (50.0 * (rng.unit() - 0.45)).round() + 0.5).collect();
        let sizes: Vec<f64> = logs.iter().map(|log| log.abs()).collect();
        let positive = doubled_ranks(&sizes).into_iter().zip(&logs).filter(|(_, log)| **log > 0.0);
        let observed = positive.map(|(rank, _)| rank).sum();
        assert_near(approximate_p_value(&sizes, observed), signed_ranks_p_value(&logs), 2e-3);
        let more: Vec<f64> = logs.iter().chain(&logs).copied().collect();
        assert!(signed_ranks_p_value(&more) < signed_ranks_p_value(&logs));
        assert!(signed_ranks_interval(&means_of_two(&more), more.len(), 0.95).is_some());
    }

    #[test]
    fn ties_narrow_the_approximation_as_they_narrow_the_distribution() {
        let sizes = [1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 7.0, 7.0, 7.0, 7.0];
        let (mean, deviation) = ranks::tests::moments(&signed_sums(&doubled_ranks(&sizes)));
        let approximate = signed_sum_moments(10.0, ranks::ties(&sizes));
        assert_near(approximate.0, mean, 1e-9);
        assert_near(approximate.1, deviation, 1e-9);
    }
}
