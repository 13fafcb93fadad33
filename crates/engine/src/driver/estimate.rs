//! The conductor of a run that lasts as long as it takes to estimate its throughput.
//!
//! The measured time is divided into intervals, whose rates are put together into [`BATCHES`] batches. If a batch is
//! much longer than the time for which rates depend on each other, the means of batches are independent, and their
//! spread tells how good the estimate is (method of batch means: Law, Simulation Modeling and Analysis, chapter 9).

use sync::clock;

use super::conductor::{sleep, watch};
use super::sender::THINKS_AT_MOST;
use super::{Arrivals, Control, Estimate, Job, OpenLoop, Process, Retry, Stage, ThroughputSeries};
use crate::Pace;

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

/// Moves the run from stage to stage. All clients together wait at most `waits_ns` nanoseconds for something other than
/// each other: longer without a commit, and the run is given up.
pub(super) fn conduct(estimate: Estimate, job: &Job, waits_ns: u64, control: &Control) -> ThroughputSeries {
    let Estimate { warmup_commits, commits, error, patience, longest_ns } = estimate;
    let stalled_ns = Estimate::STALLED_NS.saturating_add(waits_ns);
    let begun_ns = clock::now_ns();
    let passed_ns = || clock::now_ns() - begun_ns;
    control.enter(Stage::WarmUp);
    let all = |of_worker: u64| of_worker.saturating_mul(job.workers as u64);
    let (mut last, mut given_up_ns) = ((0, begun_ns), 0);
    while control.progress().0 < all(warmup_commits) && passed_ns() < longest_ns {
        let nap_ns = (passed_ns() / 8).clamp(FIRST_LOOK_NS, stalled_ns / 8);
        if sleep(control, clock::now_ns() + nap_ns).is_none() {
            break;
        }
        let (commits, now_ns) = (control.progress().0, clock::now_ns());
        if commits > last.0 {
            last = (commits, now_ns);
        } else if now_ns - last.1 >= stalled_ns {
            given_up_ns = now_ns - last.1;
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
        idle_ns(rates, interval_ns) >= stalled_ns
            || rates.len().is_multiple_of(BATCHES) && (is_late || is_enough() && is_good())
    };
    watch(control, interval_ns, longest_ns, &mut series.measured_txn_s, is_over);
    series.measured_ns = passed_ns() - warmup_ns;
    let idle_ns = idle_ns(&series.measured_txn_s, interval_ns);
    series.stalled_ns = if idle_ns >= stalled_ns { idle_ns } else { given_up_ns };
    if series.stalled_ns == 0 {
        // Workers that end give back what they have, all at the same time, and others wait for that in the midst of a
        // transaction: no transaction that counts may be among these.
        control.enter(Stage::CoolDown);
        let cooldown_ns = interval_ns.saturating_mul(COOLDOWN).min(longest_ns / BATCHES as u64);
        watch(control, cooldown_ns, cooldown_ns, &mut Vec::new(), |_| false);
    }
    control.enter(Stage::Stopping);
    clock::end_within(ENDING_NS.saturating_add(waits_ns));
    series
}

/// The length of the last intervals that have no commits, in nanoseconds.
fn idle_ns(rates: &[f64], interval_ns: u64) -> u64 {
    rates.iter().rev().take_while(|rate| **rate <= 0.0).count() as u64 * interval_ns
}

/// The longest time for which all clients of a job may wait for something other than each other, in nanoseconds: for
/// messages, arrivals and pauses, also after aborts, and at terminals, which wait according to these paces.
pub(super) fn waits_ns(job: &Job, paces: impl Iterator<Item = Pace>) -> u64 {
    let traffic = &job.traffic;
    let cycles_ns = paces.map(|pace| pace.before_ns as f64 + THINKS_AT_MOST * pace.after_mean_ns as f64);
    let paced_ns = if traffic.is_paced { cycles_ns.fold(0.0, f64::max) } else { 0.0 };
    let gap_ns = match traffic.arrivals {
        Arrivals::Closed => 0.0,
        Arrivals::Open(OpenLoop { process, rate_txn_s, .. }) => {
            let off_ns = if let Process::Bursty { off_ns, .. } = process { off_ns as f64 } else { 0.0 };
            // A longer one is expected once in 22,000, since they are distributed exponentially.
            10.0 * (1e9 * traffic.batch as f64 / rate_txn_s + off_ns)
        }
    };
    let messages_ns = traffic.rtt_ns.saturating_mul(MESSAGES);
    let abort_ns = job.abort_ns + if job.retry == Retry::Fixed { job.backoff_ns } else { 0 };
    (job.pause_ns + abort_ns).saturating_add(messages_ns).saturating_add((paced_ns + gap_ns) as u64)
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
    use super::super::Traffic;
    use super::super::tests::job;
    use super::*;

    #[test]
    fn clients_wait_for_messages_arrivals_and_people() {
        let of = |traffic, pace| waits_ns(&Job { traffic, ..job(2) }, [Pace::NONE, pace].into_iter());
        let pace = Pace { before_ns: 2, after_mean_ns: 3 };
        assert_eq!(of(Traffic::default(), pace), 0, "nobody keeps to the pace");
        assert_eq!(of(Traffic { is_paced: true, ..Traffic::default() }, pace), 32);
        assert_eq!(of(Traffic { rtt_ns: 5, ..Traffic::default() }, pace), 5_000);
        let pauses = Job { pause_ns: 1, abort_ns: 20, backoff_ns: 300, ..job(2) };
        assert_eq!(waits_ns(&Job { retry: Retry::Fixed, ..pauses }, [].into_iter()), 321);
        assert_eq!(waits_ns(&Job { retry: Retry::Same, ..pauses }, [].into_iter()), 21);
        let open = |process| Arrivals::Open(OpenLoop { process, rate_txn_s: 1e8, queue_max: 1 });
        let arriving = |process| Traffic { arrivals: open(process), batch: 3, ..Traffic::default() };
        assert_eq!(of(arriving(Process::Poisson), pace), 300);
        assert_eq!(of(arriving(Process::Bursty { on_ns: 1, off_ns: 7 }), pace), 370);
    }

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
