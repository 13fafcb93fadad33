//! Retries: how often the requests that commit were aborted before, as a histogram that is small enough to be kept for
//! each type of transaction.

use crate::eighths::{bucket, end};

/// Up to 65,535 retries have buckets of their own; requests with more are in the last one.
const BUCKETS: usize = 113;

/// The number of requests by their number of aborted attempts. Numbers up to 15 are told apart; above that, a bucket's
/// end is at most an eighth above the numbers in it.
#[derive(Clone, Debug)]
pub struct RetryCounts {
    requests: [u64; BUCKETS],
    sum: u64,
    max: u32,
}

impl Default for RetryCounts {
    fn default() -> Self {
        Self { requests: [0; BUCKETS], sum: 0, max: 0 }
    }
}

impl RetryCounts {
    /// Counts a request that was aborted so many times.
    #[inline]
    pub fn record(&mut self, retries: u32) {
        self.requests[bucket(u64::from(retries)).min(BUCKETS - 1)] += 1;
        self.sum += u64::from(retries);
        self.max = self.max.max(retries);
    }

    /// Adds all that `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        for (sum, requests) in self.requests.iter_mut().zip(other.requests) {
            *sum += requests;
        }
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// The aborted attempts of all requests together.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The mean number of aborted attempts, exact; zero if nothing was counted.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count().max(1) as f64
    }

    /// The greatest number of aborted attempts, exact; zero if nothing was counted.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// The number of aborted attempts that a share `quantile` (from 0 to 1) of the requests does not exceed; zero if
    /// nothing was counted.
    pub fn quantile(&self, quantile: f64) -> u32 {
        let rank = (quantile * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let is_it = |(_, requests): &(u32, u64)| {
            seen += requests;
            seen >= rank
        };
        self.buckets().find(is_it).map_or(0, |(retries, _)| retries)
    }

    /// The buckets that are not empty, ascending: the greatest number of aborted attempts in each, and its requests.
    pub fn buckets(&self) -> impl Iterator<Item = (u32, u64)> {
        let last = |at: usize| if at == BUCKETS - 1 { self.max } else { self.max.min(end(at) as u32) };
        let all = self.requests.iter().enumerate().filter(|(_, requests)| **requests > 0);
        all.map(move |(at, requests)| (last(at), *requests))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(retries: impl IntoIterator<Item = u32>) -> RetryCounts {
        let mut counts = RetryCounts::default();
        retries.into_iter().for_each(|retries| counts.record(retries));
        counts
    }

    #[test]
    fn small_numbers_are_exact_and_large_ones_at_most_an_eighth_too_high() {
        let counts = of(0..=15);
        assert_eq!(
            counts.buckets().collect::<Vec<_>>(),
            (0..=15).map(|retries| (retries, 1)).collect::<Vec<_>>()
        );
        for retries in [16, 17, 100, 1_000, 65_535] {
            let found = of([retries, u32::MAX]).quantile(0.5);
            assert!((retries..=retries + retries / 8).contains(&found), "{retries}: {found}");
        }
    }

    #[test]
    fn mean_quantiles_and_maximum_are_of_all_requests_together() {
        let mut counts = of([0; 90]);
        counts.merge(&of([3; 9]));
        counts.merge(&of([123_456]));
        assert_eq!((counts.count(), counts.max()), (100, 123_456));
        assert_eq!([0.0, 0.9, 0.91, 0.99, 1.0].map(|share| counts.quantile(share)), [0, 0, 3, 3, 123_456]);
        assert!((counts.mean() - (27.0 + 123_456.0) / 100.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_counted_is_zero() {
        let counts = of([]);
        assert_eq!(
            (counts.count(), counts.quantile(0.99), counts.max(), counts.buckets().count()),
            (0, 0, 0, 0)
        );
        assert!(counts.mean().abs() < f64::EPSILON);
    }
}
