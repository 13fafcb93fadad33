//! Drift: a test whether a series rises or falls more than by chance.

use crate::spread::{median_of_sorted, sorted};
use crate::{normal, ranks};

/// Most values for which the distribution is computed exactly, if no values are equal.
const EXACT_MAX: usize = 50;

/// The trend of a series (Mann, Econometrica 1945; Kendall, Rank Correlation Methods).
///
/// The test assumes that without a trend all orders are equally likely. Neighbouring intervals of one run are not
/// independent enough for that: use means of several intervals, as [`warm_up`](crate::warm_up()) does, or one value for
/// each run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The consistency of the trend: 1 if every later value is above every earlier one, -1 if below, 0 without a trend.
    pub tau: f64,
    /// The probability of a trend at least as consistent by chance: two-sided. Exact up to 50 values without ties,
    /// approximately normal otherwise.
    pub p_value: f64,
    /// The change from one value to the next: the median of the slopes between any two (Theil, 1950; Sen, JASA 1968).
    pub slope: f64,
}

impl Trend {
    /// Computes the trend of a series in the order of time; `None` for fewer than two values.
    pub fn of(series: &[f64]) -> Option<Self> {
        let n = series.len();
        let pairs = || (0..n).flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
        let slope = |(i, j): (usize, usize)| (series[j] - series[i]) / (j - i) as f64;
        let slopes = sorted(pairs().map(slope));
        if slopes.is_empty() {
            return None;
        }
        let rising = slopes.iter().filter(|&&slope| slope > 0.0).count();
        let falling = slopes.iter().filter(|&&slope| slope < 0.0).count();
        let score = rising as f64 - falling as f64;
        let p_value = if n <= EXACT_MAX && rising + falling == slopes.len() {
            ranks::two_sided(&rising_pairs(n), rising)
        } else {
            approximate_p_value(series, score)
        };
        Some(Self { tau: score / slopes.len() as f64, p_value, slope: median_of_sorted(&slopes) })
    }
}

/// The probability of each number of rising pairs among all orders of `n` values: the next value in a random order
/// is above 0, 1, .. or all of those before it with equal chance.
fn rising_pairs(n: usize) -> Vec<f64> {
    let mut chances = vec![1.0];
    for before in 1..n {
        let mut next = vec![0.0; chances.len() + before];
        for (rising, chance) in chances.iter().enumerate() {
            next[rising..=rising + before].iter_mut().for_each(|sum| *sum += chance / (before + 1) as f64);
        }
        chances = next;
    }
    chances
}

/// The p-value by the normal approximation, with Kendall's correction for ties and the correction for continuity.
fn approximate_p_value(series: &[f64], score: f64) -> f64 {
    let n = series.len() as f64;
    let sorted = sorted(series.iter().copied());
    let groups = sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|group| group.len() as f64);
    let weight = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let variance = (weight(n) - groups.map(weight).sum::<f64>()) / 18.0;
    if variance > 0.0 { normal::two_sided((score.abs() - 1.0).max(0.0) / variance.sqrt()) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use stdx::Rng;

    use super::*;
    use crate::{assert_near, shuffle};

    #[test]
    fn rising_pairs_are_those_of_enumeration() {
        // The Mahonian numbers of 4: 1, 3, 5, 6, 5, 3, 1 of 24.
        let chances = rising_pairs(4);
        for (got, want) in chances.iter().zip([1.0, 3.0, 5.0, 6.0, 5.0, 3.0, 1.0]) {
            assert_near(got * 24.0, want, 1e-12);
        }
        assert_near(rising_pairs(50).iter().sum(), 1.0, 1e-12);
    }

    #[test]
    fn computed_elsewhere_it_is_the_same() {
        // Kendall's tau with its exact p-value, and Theil's slope, of an independent implementation.
        let trend =
            Trend::of(&[12.1, 11.8, 12.5, 12.9, 12.0, 13.1, 12.7, 12.2, 11.5, 12.3, 12.6, 12.25]).unwrap();
        assert_near(trend.tau, 0.060_606_060_606_06, 1e-12);
        assert_near(trend.p_value, 0.840_588_369_642, 1e-9);
        assert_near(trend.slope, 0.013_068_181_818, 1e-9);
    }

    #[test]
    fn a_rise_is_seen_and_chance_is_not() {
        let rise: Vec<f64> = (0..8).map(f64::from).collect();
        let trend = Trend::of(&rise).unwrap();
        assert_near(trend.tau, 1.0, 0.0);
        assert_near(trend.p_value, 2.0 / 40_320.0, 1e-15);
        assert_near(trend.slope, 1.0, 1e-12);
        assert_near(Trend::of(&[5.0; 9]).unwrap().p_value, 1.0, 0.0);
        assert_eq!(Trend::of(&[5.0]), None);
        let mut rng = Rng::new(4);
        let refused = |values: &[f64], rng: &mut Rng| {
            let mut values = values.to_vec();
            (0..2_000)
                .filter(|_| {
                    shuffle(&mut values, rng);
                    Trend::of(&values).unwrap().p_value <= 0.05
                })
                .count()
        };
        // Exact, and with ties approximately: 100 of 2,000 are expected at most.
        let tied: Vec<f64> = (0..20).map(|i| f64::from(i / 2)).collect();
        assert!(refused(&rise, &mut rng) < 130);
        assert!(refused(&tied, &mut rng) < 130);
    }
}
