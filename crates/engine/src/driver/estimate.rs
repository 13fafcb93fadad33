//! The conductor of a run that lasts as long as it takes to estimate its throughput.
//!
//! The measured time is divided into intervals, whose rates are put together into [`BATCHES`] batches. If a batch is
//! much longer than the time for which rates depend on each other, the means of batches are independent, and their
//! spread tells how good the estimate is (method of batch means: Law, Simulation Modeling and Analysis, chapter 9).

use sync::clock;

use super::conductor::{sleep, watch};
use super::{Control, Estimate, Job, Stage, ThroughputSeries};

/// The number of batches.
const BATCHES: usize = 20;
/// The number of intervals for which the run goes on after the measured time.
const COOLDOWN: u64 = 5;
/// The quantile 0.975 of Student's distribution with 19 degrees of freedom.
const STUDENT: f64 = 2.093;
/// The first look at the progress of the warm-up, in nanoseconds; later ones are an eighth of the time so far apart.
const FIRST_LOOK_NS: u64 = 5_000;

/// A transaction that lasts for so many nanoseconds longer than the run, beside its pauses, will never end.
const ENDING_NS: u64 = 1_000_000_000;
/// More messages than a transaction has.
const MESSAGES: u64 = 1_000;

/// Moves the run from stage to stage.
pub(super) fn conduct(estimate: Estimate, job: &Job, control: &Control) -> ThroughputSeries {
    let Estimate { warmup_commits, commits, error, patience, longest_ns } = estimate;
    let begun_ns = clock::now_ns();
    let passed_ns = || clock::now_ns() - begun_ns;
    control.enter(Stage::WarmUp);
    let all = |of_worker: u64| of_worker.saturating_mul(job.workers as u64);
    let mut last = (0, begun_ns);
    while control.progress().0 < all(warmup_commits) && passed_ns() < longest_ns {
        let nap_ns = (passed_ns() / 8).clamp(FIRST_LOOK_NS, Estimate::STALLED_NS / 8);
        if sleep(control, clock::now_ns() + nap_ns).is_none() {
            break;
        }
        let (commits, now_ns) = (control.progress().0, clock::now_ns());
        if commits > last.0 {
            last = (commits, now_ns);
        } else if now_ns - last.1 >= Estimate::STALLED_NS {
            control.interrupt();
        }
    }
    let (warm, warmup_ns) = (control.progress().0, passed_ns());
    control.enter(Stage::Measured);
    // As long as the commits to be counted take at the rate of the warm-up, in as many parts as there are batches.
    let least_ns = u128::from(warmup_ns) * u128::from(all(commits)) / u128::from(warm.max(1));
    let interval_ns = (least_ns / BATCHES as u128).clamp(1, u128::from(longest_ns)) as u64;
    let mut series = ThroughputSeries { interval_ns, warmup_ns, ..ThroughputSeries::default() };
    series.is_warm = Some(warm >= all(warmup_commits));
    let is_over = |rates: &[f64]| {
        let is_enough = || control.progress().0 - warm >= all(commits);
        let is_good = || half_width(rates).is_some_and(|found| found <= error);
        let is_late = rates.len() as u64 >= patience * BATCHES as u64 || passed_ns() >= longest_ns;
        is_stalled(rates, interval_ns)
            || rates.len().is_multiple_of(BATCHES) && (is_late || is_enough() && is_good())
    };
    watch(control, interval_ns, longest_ns, &mut series.measured_txn_s, is_over);
    series.measured_ns = passed_ns() - warmup_ns;
    if !is_stalled(&series.measured_txn_s, interval_ns) {
        // Workers that end give back what they have, all at the same time, and others wait for that in the midst of a
        // transaction: no transaction that counts may be among these.
        control.enter(Stage::CoolDown);
        let cooldown_ns = interval_ns.saturating_mul(COOLDOWN).min(longest_ns / BATCHES as u64);
        watch(control, cooldown_ns, cooldown_ns, &mut Vec::new(), |_| false);
    }
    control.enter(Stage::Stopping);
    let waits_ns = job.pause_ns.saturating_add(job.traffic.rtt_ns.saturating_mul(MESSAGES));
    clock::end_within(ENDING_NS.saturating_add(waits_ns));
    series
}

/// Whether the last intervals, together [`Estimate::STALLED_NS`] or longer, have no commits.
fn is_stalled(rates: &[f64], interval_ns: u64) -> bool {
    let stalled = Estimate::STALLED_NS.div_ceil(interval_ns) as usize;
    rates.len() >= stalled && rates[rates.len() - stalled..].iter().all(|rate| *rate <= 0.0)
}

/// Half the width of the interval of 95% confidence of the mean of these rates, as a share of the mean. `None` if the
/// rates are too few to say, or if nothing was committed.
fn half_width(rates: &[f64]) -> Option<f64> {
    let size = rates.len() / BATCHES;
    let means: Vec<f64> =
        rates.chunks_exact(size.max(1)).map(|batch| batch.iter().sum::<f64>() / batch.len() as f64).collect();
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    if means.len() < BATCHES || mean <= 0.0 {
        return None;
    }
    let variance = means.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / (count - 1.0);
    Some(STUDENT * (variance / count).sqrt() / mean)
}

impl ThroughputSeries {
    /// Half the width of the interval of 95% confidence of the throughput, as a share of it, by batch means. `None` if
    /// there are fewer than 20 intervals, or if nothing was committed.
    pub fn half_width(&self) -> Option<f64> {
        half_width(&self.measured_txn_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rates_leave_no_doubt_and_few_rates_say_nothing() {
        assert_eq!(half_width(&[5.0; 40]), Some(0.0));
        assert_eq!(half_width(&[5.0; 19]), None);
        assert_eq!(half_width(&[0.0; 20]), None);
    }

    #[test]
    fn rates_in_turn_cancel_out_within_a_batch_but_not_between_batches() {
        let within: Vec<f64> = (0..200).map(|at| if at % 2 == 0 { 1.0 } else { 3.0 }).collect();
        assert_eq!(half_width(&within), Some(0.0));
        let between: Vec<f64> = (0..200).map(|at| if at / 10 % 2 == 0 { 1.0 } else { 3.0 }).collect();
        // A standard deviation of about 1.026 over the root of 20, times 2.093, to a mean of 2.
        let found = half_width(&between).expect("twenty batches");
        assert!((found - 0.24).abs() < 0.005, "{found}");
    }
}
