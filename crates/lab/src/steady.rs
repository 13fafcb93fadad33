//! The steadiness of a run: when its warm-up may end, and whether the measured throughput had a trend.

use engine::driver::ThroughputSeries;
use stats::{Trend, WarmUp, warm_up};

use crate::text::percent;

/// The number of intervals that are judged as one batch: the usual number (White, Cobb and Spratt, WSC 2000).
const BATCH: usize = 5;
/// The share below which changes do not matter: the margin by which ratios of runs are judged.
const MATTERS_FROM: f64 = 0.05;
/// Seconds after which `--warmup auto` gives up.
pub(crate) const WARMUP_S_MAX: f64 = 30.0;

/// Returns whether a warm-up may end, given its rates so far.
pub(crate) fn is_warm(rates: &[f64]) -> bool {
    rates.len().is_multiple_of(BATCH) && matches!(warm_up(rates, BATCH), WarmUp::Ends { .. })
}

/// The course of the throughput during the measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Steadiness {
    /// The throughput did not change by as much as matters.
    Steady,
    /// The throughput began above or below its later level: the warm-up was too short.
    Began {
        /// The difference of the first part from the rest, as a share of the rest.
        off_by: f64,
    },
    /// The throughput changed until the end.
    Changed {
        /// The change from the first batch of intervals to the last by the trend, as a share of the mean.
        by: f64,
    },
}

impl Steadiness {
    /// Returns the steadiness of a series; `None` if it has too few intervals to be judged.
    pub(crate) fn of(series: &ThroughputSeries) -> Option<Self> {
        let rates = &series.measured_txn_s;
        match warm_up(rates, BATCH) {
            WarmUp::TooShort => None,
            WarmUp::Ends { cut: 0 } => Some(Self::Steady),
            WarmUp::Ends { cut } => {
                let off_by = mean(&rates[..cut]) / mean(&rates[cut..]) - 1.0;
                Some(if off_by.abs() < MATTERS_FROM { Self::Steady } else { Self::Began { off_by } })
            }
            WarmUp::NotReached => {
                let means: Vec<f64> = rates.chunks_exact(BATCH).map(mean).collect();
                let slope = Trend::of(&means).map_or(0.0, |trend| trend.slope);
                Some(Self::Changed { by: slope * (means.len() - 1) as f64 / mean(&means) })
            }
        }
    }

    /// Returns the steadiness in words; `None` if the run was steady.
    pub(crate) fn told(self) -> Option<String> {
        let by = |share: f64| format!("{}{}", if share < 0.0 { "-" } else { "+" }, percent(share.abs()));
        match self {
            Self::Steady => None,
            Self::Began { off_by } => Some(format!(
                "began {} off the rest: give a longer `--warmup`, or `--warmup auto`",
                by(off_by)
            )),
            Self::Changed { by: share } if share.abs() < MATTERS_FROM => {
                Some("went up and down by more than chance: measure for longer".to_owned())
            }
            Self::Changed { by: share } => {
                Some(format!("changed by {} while it was measured: no steady state is measured", by(share)))
            }
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the judgement of `count` rates around 100, to each of which `rate` is added.
    fn judged(count: usize, rate: impl Fn(usize) -> f64) -> Option<Steadiness> {
        // A sequence whose period differs from the length of a batch.
        let noise = |i: usize| (i * i * 7 % 13) as f64 / 13.0;
        let measured_txn_s = (0..count).map(|i| 100.0 + noise(i) + rate(i)).collect();
        Steadiness::of(&ThroughputSeries { measured_txn_s, ..ThroughputSeries::default() })
    }

    #[test]
    fn a_warm_up_ends_at_a_whole_batch_once_the_rest_is_steady() {
        let rates: Vec<f64> =
            (0..100).map(|i| if i < 10 { 50.0 } else { 100.0 + (i * i * 7 % 13) as f64 }).collect();
        assert!(!is_warm(&rates[..45]), "too short");
        assert!(is_warm(&rates[..60]));
        assert!(!is_warm(&rates[..61]));
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(!is_warm(&rising));
    }

    #[test]
    fn what_began_otherwise_or_kept_changing_was_not_steady() {
        assert_eq!(judged(100, |_| 0.0), Some(Steadiness::Steady));
        assert_eq!(judged(40, |_| 0.0), None);
        let slow_start = judged(100, |i| if i < 20 { -40.0 } else { 0.0 });
        let Some(Steadiness::Began { off_by }) = slow_start else { panic!("{slow_start:?}") };
        assert!((-0.42..-0.38).contains(&off_by), "{off_by}");
        assert_eq!(
            judged(100, |i| if i < 20 { -2.0 } else { 0.0 }),
            Some(Steadiness::Steady),
            "too little to matter"
        );
        let rising = judged(100, |i| i as f64);
        let Some(Steadiness::Changed { by }) = rising else { panic!("{rising:?}") };
        assert!((0.55..0.70).contains(&by), "from 100 to 200: {by}");
        let told = rising.and_then(Steadiness::told).expect("something");
        assert!(told.contains("changed by +6"), "{told}");
    }
}
