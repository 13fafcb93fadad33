//! Latencies so far, for observers of a run: a histogram so coarse that a worker can keep it in shared memory, at the
//! cost of an addition a commit. The results of the run come from another histogram, which is the worker's own.
//!
//! Relaxed everywhere: one worker writes a histogram, and other threads read it for display only.

use core::array;

use stdx::eighths::{self, end};
use sync::atomic::{AtomicU64, Ordering};

/// Buckets for durations up to 137 seconds. Longer durations are in the last one.
const BUCKETS: usize = 280;

/// The durations that one worker has counted.
#[derive(Debug)]
pub(super) struct Latencies([AtomicU64; BUCKETS]);

impl Default for Latencies {
    fn default() -> Self {
        Self(array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Latencies {
    /// Counts a duration; called by one worker only.
    #[inline]
    pub(super) fn record(&self, ns: u64) {
        let count = &self.0[bucket(ns)];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The `quantile` (from 0 to 1) of the durations that all workers have counted, in nanoseconds, rounded up by an
    /// eighth at most; `None` when nothing was counted.
    pub(super) fn quantile<'l>(all: &(impl Iterator<Item = &'l Self> + Clone), quantile: f64) -> Option<u64> {
        let counts: [u64; BUCKETS] =
            array::from_fn(|bucket| all.clone().map(|own| own.0[bucket].load(Ordering::Relaxed)).sum());
        let rank = (quantile * counts.iter().sum::<u64>() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let is_it = |count: &u64| {
            seen += count;
            seen >= rank
        };
        counts.iter().position(is_it).map(end)
    }
}

/// The bucket of a duration in nanoseconds.
#[inline]
fn bucket(ns: u64) -> usize {
    eighths::bucket(ns).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(durations: impl IntoIterator<Item = u64>) -> Latencies {
        let latencies = Latencies::default();
        durations.into_iter().for_each(|ns| latencies.record(ns));
        latencies
    }

    #[test]
    fn durations_beyond_137_seconds_are_in_the_last_bucket() {
        assert_eq!((bucket((15 << 33) - 1), bucket(15 << 33)), (BUCKETS - 2, BUCKETS - 1));
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_quantile_is_of_all_workers_together_and_not_below_the_exact_one() {
        let (fast, slow) = (of(1..=990), of([5_000; 10]));
        let both = [&fast, &slow];
        let quantile = |quantile| Latencies::quantile(&both.into_iter(), quantile).expect("counted");
        for (asked, exact) in [(0.5, 500), (0.99, 990), (0.991, 5_000), (1.0, 5_000)] {
            let found = quantile(asked);
            assert!((exact..=exact + exact / 8).contains(&found), "{asked}: {found}, exactly {exact}");
        }
        assert_eq!(quantile(0.0), 1);
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        assert_eq!(Latencies::quantile(&[&of([])].into_iter(), 0.99), None);
        assert_eq!(Latencies::quantile(&core::iter::empty(), 0.99), None);
    }
}
