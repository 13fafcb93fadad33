//! The conductor of a timed run: a thread that moves the run from stage to stage and measures its throughput.

use sync::{clock, waiter};

use super::{Control, Job, Limit, Stage, estimate};

/// The number of intervals of the measured time. There are fewer if they would be shorter than [`INTERVAL_MIN_NS`].
const INTERVALS: u64 = 100;
/// The minimum length of an interval. In shorter intervals the delays of the conductor itself would matter.
const INTERVAL_MIN_NS: u64 = 10_000_000;
/// The maximum time for which the conductor sleeps before it checks whether the run is interrupted.
const NAP_MAX_NS: u64 = 20_000_000;

/// The throughput of a timed run, by interval, in commits a second. If the conductor wakes up late, an interval is a
/// little longer than requested; its rate is computed from its actual length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThroughputSeries {
    /// The requested length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// The rates of the warm-up.
    pub warmup_txn_s: Vec<f64>,
    /// The rates of the measured time. A shorter rest at the end is no interval.
    pub measured_txn_s: Vec<f64>,
    /// The length of the warm-up in nanoseconds.
    pub warmup_ns: u64,
    /// The length of the measured time in nanoseconds.
    pub measured_ns: u64,
    /// Whether the warm-up ended because the run was steady; `None` if the job has no test of steadiness.
    pub is_warm: Option<bool>,
    /// The nanoseconds at the end of the run in which nothing was committed, if the run was given up for that; else 0.
    pub stalled_ns: u64,
}

/// Moves a timed run from stage to stage.
///
/// All clients together wait at most `waits_ns` nanoseconds for something other than each other.
pub(super) fn conduct(job: &Job, waits_ns: u64, control: &Control) -> ThroughputSeries {
    let (warmup_ns, measured_ns, cooldown_ns) = match job.limit {
        Limit::Time { warmup_ns, measured_ns, cooldown_ns } => (warmup_ns, measured_ns, cooldown_ns),
        Limit::Estimate(estimate) => return estimate::conduct(estimate, job, waits_ns, control),
        Limit::Requests(_) => return ThroughputSeries::default(),
    };
    let mut series =
        ThroughputSeries { interval_ns: interval_ns(measured_ns), ..ThroughputSeries::default() };
    let start_ns = clock::now_ns();
    control.enter(Stage::WarmUp);
    let is_steady = |so_far: &[f64]| job.is_steady.is_some_and(|is_steady| is_steady(so_far));
    let ended_early = watch(control, series.interval_ns, warmup_ns, &mut series.warmup_txn_s, is_steady);
    series.is_warm = job.is_steady.map(|_| ended_early);
    let warm_ns = clock::now_ns();
    series.warmup_ns = warm_ns - start_ns;
    control.enter(Stage::Measured);
    watch(control, series.interval_ns, measured_ns, &mut series.measured_txn_s, |_| false);
    series.measured_ns = clock::now_ns() - warm_ns;
    if cooldown_ns > 0 {
        control.enter(Stage::CoolDown);
        watch(control, cooldown_ns, cooldown_ns, &mut Vec::new(), |_| false);
    }
    control.enter(Stage::Stopping);
    series
}

/// Returns the length of an interval in nanoseconds.
fn interval_ns(measured_ns: u64) -> u64 {
    (measured_ns / INTERVALS).max(INTERVAL_MIN_NS)
}

/// Waits for the end of a stage, and appends the rates of its intervals. The stage lasts `lasts_ns`; it ends earlier if
/// the run is interrupted, or if `is_over` holds for the rates so far. Returns whether `is_over` ended it.
pub(super) fn watch(
    control: &Control,
    interval_ns: u64,
    lasts_ns: u64,
    rates: &mut Vec<f64>,
    is_over: impl Fn(&[f64]) -> bool,
) -> bool {
    let until_ns = clock::now_ns().saturating_add(lasts_ns);
    let (mut begun_ns, mut commits) = (clock::now_ns(), control.progress().0);
    loop {
        let ends_ns = begun_ns.saturating_add(interval_ns);
        if sleep(control, ends_ns.min(until_ns)).is_none() || ends_ns > until_ns {
            return false;
        }
        let (now_ns, progress) = (clock::now_ns(), control.progress().0);
        rates.push((progress - commits) as f64 * 1e9 / (now_ns - begun_ns) as f64);
        (begun_ns, commits) = (now_ns, progress);
        if is_over(rates) {
            return true;
        }
    }
}

/// Sleeps until a moment. Returns `None` if the run is interrupted before.
pub(super) fn sleep(control: &Control, until_ns: u64) -> Option<()> {
    loop {
        let left_ns = until_ns.saturating_sub(clock::now_ns());
        if control.is_interrupted() {
            return None;
        }
        if left_ns == 0 {
            return Some(());
        }
        waiter::pause_ns(left_ns.min(NAP_MAX_NS));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::job;
    use super::*;

    fn timed(warmup_ms: u64, measured_ms: u64, cooldown_ms: u64) -> Job {
        let ns = |ms| ms * 1_000_000;
        let (warmup_ns, measured_ns, cooldown_ns) = (ns(warmup_ms), ns(measured_ms), ns(cooldown_ms));
        Job { limit: Limit::Time { warmup_ns, measured_ns, cooldown_ns }, ..job(1) }
    }

    #[test]
    fn a_run_has_about_a_hundred_intervals_unless_they_would_be_too_short() {
        assert_eq!(interval_ns(5_000_000_000), 50_000_000);
        assert_eq!(interval_ns(300_000_000), INTERVAL_MIN_NS);
    }

    #[test]
    fn all_stages_pass_and_their_intervals_are_kept() {
        let control = Control::new(1);
        let series = conduct(&timed(40, 60, 1), 0, &control);
        assert_eq!(control.stage(), Stage::Stopping);
        // If the conductor oversleeps, there are fewer intervals.
        assert!((1..=4).contains(&series.warmup_txn_s.len()), "{series:?}");
        assert!((1..=6).contains(&series.measured_txn_s.len()), "{series:?}");
        assert!(series.warmup_ns >= 40_000_000);
        assert_eq!(series.is_warm, None);
    }

    #[test]
    fn a_warm_up_ends_when_the_run_is_steady_and_not_after_its_limit() {
        let judged = |is_steady: fn(&[f64]) -> bool, warmup_ms| {
            let job = Job { is_steady: Some(is_steady), ..timed(warmup_ms, 10, 0) };
            conduct(&job, 0, &Control::new(1))
        };
        let steady = judged(|so_far| so_far.len() == 3, 60_000);
        assert_eq!((steady.warmup_txn_s.len(), steady.is_warm), (3, Some(true)));
        assert_eq!(judged(|_| false, 30).is_warm, Some(false));
    }

    #[test]
    fn an_interrupted_run_is_conducted_to_its_end_at_once() {
        let control = Control::new(1);
        control.interrupt();
        let series = conduct(&timed(3_600_000, 3_600_000, 3_600_000), 0, &control);
        assert_eq!((series.measured_txn_s.len(), control.stage()), (0, Stage::Stopping));
    }
}
