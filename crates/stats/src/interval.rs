//! Intervals with their real confidence, and the interval of the median, which is exact.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::spread::sorted;

/// A range that holds the true value with a confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, which belongs to the interval.
    pub low: f64,
    /// The upper end, which belongs to the interval.
    pub high: f64,
    /// The share of such intervals that hold the true value: at least this share if the method is exact, about this
    /// share otherwise. With few samples it may be less than the requested confidence.
    pub confidence: f64,
}

impl Interval {
    /// Returns the shortest symmetric interval of order statistics that holds the median of the sampled distribution
    /// with at least `confidence`. If there are too few samples, it is the interval from the smallest to the largest,
    /// with its real confidence. `None` without values.
    ///
    /// It assumes no distribution: the number of `n` independent samples that are below the median is binomial
    /// (Thompson, Annals of Mathematical Statistics 1936; David and Nagaraja, Order Statistics, 7.1). The smallest to
    /// the largest of `n` samples has the confidence `1 - 2^(1-n)`: 75 percent for 3, 93.75 for 5, 96.9 for 6.
    ///
    /// # Panics
    /// If `confidence` is not between 0 and 1.
    pub fn of_median(values: &[f64], confidence: f64) -> Option<Self> {
        let sorted = sorted(values.iter().copied());
        let binomial = Binomial::new(0.5, sorted.len() as u64).expect("a half is a probability");
        Self::between_order_statistics(&sorted, confidence, |below| binomial.cdf(below as u64))
    }

    /// Returns the interval from the `k`-th smallest to the `k`-th largest value for the largest `k` that keeps the
    /// confidence, or else for `k = 1`. `tail(j)` is the probability that at most `j` values are below the truth, and
    /// by symmetry that at most `j` are above it. `None` without values.
    pub(crate) fn between_order_statistics(
        sorted: &[f64],
        confidence: f64,
        tail: impl Fn(usize) -> f64,
    ) -> Option<Self> {
        check_confidence(confidence);
        let achieved = |k: usize| 1.0 - 2.0 * tail(k - 1);
        // Sums of probabilities that should be equal differ by their rounding.
        let keeps = |k: &usize| achieved(*k) >= confidence - 1e-12;
        let k = (1..=sorted.len().div_ceil(2)).take_while(keeps).last().unwrap_or(1);
        let (low, high) = (*sorted.get(k - 1)?, *sorted.get(sorted.len() - k)?);
        Some(Self { low, high, confidence: achieved(k).max(0.0) })
    }

    /// Whether a value is in the interval.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Applies an increasing function to both ends, for example `exp` to an interval of logarithms.
    #[must_use]
    pub fn map(&self, increasing: impl Fn(f64) -> f64) -> Self {
        Self { low: increasing(self.low), high: increasing(self.high), confidence: self.confidence }
    }
}

/// Panics unless a confidence is between 0 and 1: at 0 an interval would hold no value, at 1 all values.
pub(crate) fn check_confidence(confidence: f64) {
    assert!(0.0 < confidence && confidence < 1.0, "a confidence lies between 0 and 1, {confidence} does not");
}

#[cfg(test)]
pub(crate) mod tests {
    use stdx::Rng;

    use super::*;
    use crate::assert_near;
    use crate::normal::quantile;

    /// A name, how a sample is drawn, and the median.
    pub(crate) type Source = (&'static str, fn(&mut Rng) -> f64, f64);

    /// Distributions that are similar to those of throughputs on a shared host.
    pub(crate) const SOURCES: [Source; 3] = [
        ("normal", |rng| 100.0 + 5.0 * gauss(rng), 100.0),
        ("lognormal", |rng| 100.0 * (0.5 * gauss(rng)).exp(), 100.0),
        ("two speeds", two_speeds, TWO_SPEEDS_MEDIAN),
    ];

    /// A host that is 30 percent slower in four of ten runs: a sixth of the quick runs is below the median.
    fn two_speeds(rng: &mut Rng) -> f64 {
        if rng.percent(40.0) { 70.0 + gauss(rng) } else { 100.0 + gauss(rng) }
    }

    /// A sixth of the quick runs is below the median: `100 + quantile(1/6)`.
    const TWO_SPEEDS_MEDIAN: f64 = 100.0 - 0.967_421_566_101_701;

    pub(crate) fn gauss(rng: &mut Rng) -> f64 {
        quantile(((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64)
    }

    #[test]
    fn the_interval_of_the_median_has_the_confidence_of_enumeration() {
        // Each of n samples is below the median or above it, all patterns being equally likely. Those that leave the
        // median between the k-th smallest and the k-th largest have at least k samples on either side.
        for n in 1..=12_u32 {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            for confidence in [0.5, 0.8, 0.9, 0.95, 0.99] {
                let interval = Interval::of_median(&values, confidence).unwrap();
                let k = interval.low as u32;
                let covers = |k: u32| {
                    let good = |pattern: &u32| (k..=n - k).contains(&pattern.count_ones());
                    (0..1_u32 << n).filter(good).count() as f64 / f64::from(1_u32 << n)
                };
                assert_near(interval.high, f64::from(n + 1 - k), 0.0);
                assert_near(interval.confidence, if n == 1 { 0.0 } else { covers(k) }, 1e-12);
                assert!(k == 1 || interval.confidence >= confidence, "{n} {confidence} {interval:?}");
                assert!(
                    2 * k >= n || covers(k + 1) < confidence,
                    "{n} {confidence} {interval:?} is too wide"
                );
            }
        }
        assert_eq!(Interval::of_median(&[], 0.9), None);
    }

    #[test]
    fn published_ranks_come_out() {
        // Table of order statistics for the median at 95 percent (Conover, Practical Nonparametric Statistics).
        for (n, k) in [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (30, 10), (100, 40)] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = Interval::of_median(&values, 0.95).unwrap();
            assert_near(interval.low, f64::from(k), 0.0);
        }
    }

    #[test]
    fn the_interval_of_the_median_covers_as_often_as_it_says() {
        for (name, draw, median) in SOURCES {
            for (n, says) in
                [(3, 0.75), (5, 0.9375), (7, 0.984_375), (10, 0.978_515_625), (30, 0.957_226_054_743)]
            {
                let mut rng = Rng::from_path(&[n, 5]);
                let mut covered = 0;
                for _ in 0..4_000 {
                    let values: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
                    let interval = Interval::of_median(&values, 0.95).unwrap();
                    assert_near(interval.confidence, says, 1e-9);
                    covered += u32::from(interval.contains(median));
                }
                let covered = f64::from(covered) / 4_000.0;
                assert!((covered - says).abs() < 0.015, "{name}, {n} samples: {covered} instead of {says}");
            }
        }
    }
}
