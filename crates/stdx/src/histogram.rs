//! A histogram of latencies that reports the values which it could not hold.

/// A histogram of durations in nanoseconds with three significant digits. The first duration allocates its memory.
///
/// Durations above [`Histogram::LIMIT_NS`] have no bucket. They are counted separately, and enter the count, the mean
/// and the maximum. A quantile that falls among them is reported as the maximum: a bounded histogram must not report
/// its bound as a measurement.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The buckets, 230 kB; `None` before the first duration.
    buckets: Option<hdrhistogram::Histogram<u64>>,
    overflows: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl Histogram {
    /// The longest duration that has a bucket: 100 seconds.
    pub const LIMIT_NS: u64 = 100_000_000_000;

    const DIGITS: u8 = 3;

    /// An empty histogram.
    pub const fn new() -> Self {
        Self { buckets: None, overflows: 0, sum_ns: 0, max_ns: 0 }
    }

    #[cold]
    fn allocate() -> hdrhistogram::Histogram<u64> {
        let buckets = hdrhistogram::Histogram::new_with_bounds(1, Self::LIMIT_NS, Self::DIGITS);
        buckets.expect("the bounds and digits are legal constants")
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let buckets = self.buckets.get_or_insert_with(Self::allocate);
        if ns > Self::LIMIT_NS || buckets.record(ns).is_err() {
            self.overflows += 1;
        }
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all that `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        if let Some(buckets) = &other.buckets {
            let sums = self.buckets.get_or_insert_with(Self::allocate);
            sums.add(buckets).expect("all histograms have the same bounds");
        }
        self.overflows += other.overflows;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The number of counted durations.
    pub fn count(&self) -> u64 {
        self.held() + self.overflows
    }

    /// The number of durations that have a bucket.
    fn held(&self) -> u64 {
        self.buckets.as_ref().map_or(0, hdrhistogram::Histogram::len)
    }

    /// The number of durations longer than [`Self::LIMIT_NS`].
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// The mean in nanoseconds, exact; zero if nothing was counted.
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ns as f64 / self.count() as f64 }
    }

    /// The longest duration in nanoseconds, exact; zero if nothing was counted.
    pub fn max(&self) -> u64 {
        self.max_ns
    }

    /// The buckets that are not empty, in ascending order: the longest duration of each, in nanoseconds, and its count.
    /// Durations longer than [`Self::LIMIT_NS`] have no bucket.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let recorded = self.buckets.iter().flat_map(hdrhistogram::Histogram::iter_recorded);
        recorded.map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
    }

    /// The duration in nanoseconds that a share `quantile` (from 0 to 1) of the durations does not exceed, to three
    /// digits; zero if nothing was counted.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let rank = (quantile * self.count() as f64).ceil() as u64;
        let Some(buckets) = self.buckets.as_ref().filter(|buckets| rank <= buckets.len()) else {
            return self.max_ns;
        };
        let share = rank as f64 / buckets.len().max(1) as f64;
        buckets.value_at_quantile(share).min(self.max_ns)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(durations: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        durations.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    fn assert_three_digits(found: u64, exact: u64) {
        assert!(found.abs_diff(exact) * 1_000 <= exact, "{found} is not {exact} to three digits");
    }

    #[test]
    fn quantiles_keep_three_digits_over_the_whole_range() {
        for scale in [1, 1_000, 1_000_000, 100_000_000] {
            let histogram = of((1..=1_000).map(|i| i * scale));
            for (quantile, exact) in [(0.001, 1), (0.5, 500), (0.95, 950), (0.999, 999), (1.0, 1_000)] {
                assert_three_digits(histogram.quantile(quantile), exact * scale);
            }
        }
    }

    #[test]
    fn mean_and_maximum_are_exact() {
        let histogram = of([1, 2, 1_234_567]);
        assert!((histogram.mean() - 1_234_570.0 / 3.0).abs() < 1e-6);
        assert_eq!(histogram.max(), 1_234_567);
        assert_eq!(histogram.quantile(1.0), 1_234_567);
    }

    #[test]
    fn durations_beyond_the_limit_are_counted_and_marked() {
        let histogram = of([10, 20, Histogram::LIMIT_NS, 3 * Histogram::LIMIT_NS]);
        assert_eq!((histogram.count(), histogram.overflows()), (4, 1));
        assert_eq!(histogram.quantile(0.5), 20);
        assert_three_digits(histogram.quantile(0.75), Histogram::LIMIT_NS);
        assert_eq!(histogram.quantile(0.99), 3 * Histogram::LIMIT_NS);
    }

    #[test]
    fn buckets_hold_all_that_has_one() {
        let histogram = of([1, 1, 2, 1_000_000, 1_000_001, u64::MAX]);
        let buckets: Vec<(u64, u64)> = histogram.buckets().collect();
        assert_eq!(buckets[..2], [(1, 2), (2, 1)]);
        let (upper_ns, count) = buckets[2];
        assert!((1_000_001..=1_001_001).contains(&upper_ns) && count == 2, "{buckets:?}");
        assert_eq!(
            buckets.iter().map(|bucket| bucket.1).sum::<u64>() + histogram.overflows(),
            histogram.count()
        );
        assert_eq!(Histogram::new().buckets().count(), 0);
    }

    #[test]
    fn merging_equals_counting_together() {
        let (few, many) = ([5, 6, u64::MAX], [7, 800, 90_000]);
        let mut merged = of(few);
        merged.merge(&of(many));
        let together = of(few.into_iter().chain(many));
        assert_eq!((merged.count(), merged.overflows(), merged.max()), (6, 1, u64::MAX));
        for quantile in [0.0, 0.3, 0.5, 0.9] {
            assert_eq!(merged.quantile(quantile), together.quantile(quantile));
        }
    }

    #[test]
    fn an_empty_histogram_is_all_zero() {
        let histogram = Histogram::new();
        assert_eq!((histogram.count(), histogram.max(), histogram.quantile(0.99)), (0, 0, 0));
        assert!(histogram.mean().abs() < f64::EPSILON);
    }
}
