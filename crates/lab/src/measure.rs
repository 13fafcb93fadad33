//! Measuring: one run of a plan, and what the runs of a plan say together.

use engine::Abort;
use engine::driver::{Arrived, Retry, TypeTally};
use runs::{Measured, Monitor, Verdict};
use stats::Spread;
use stdx::Histogram;

use crate::plan::Plan;
use crate::starvation::{Ended, Starvation};
use crate::steady::Steadiness;
use crate::traffic::rate_txn_s;
use crate::{Refusal, machine};

/// Workers that get a smaller share of the processor time they ask for are starved: others used their
/// cores, and the figures say as much about those.
const STARVED_BELOW: f64 = 0.95;

/// An open loop of which so many arrivals were answered has sustained its rate.
const SUSTAINED_FROM: f64 = 0.99;

/// What came of the arrivals of an open loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offer {
    /// Arrivals a second. Random ones are not exactly as many as asked for.
    pub(crate) offered_txn_s: f64,
    /// Those that were committed, rolled back or dropped, a second.
    pub(crate) answered_txn_s: f64,
    /// Those that nobody had room for.
    pub(crate) skipped: u64,
    /// Whether nearly all were answered.
    pub(crate) is_sustained: bool,
}

/// A run that was made.
#[derive(Debug)]
pub struct Record {
    /// The position of its scheme in the plan.
    pub subject: usize,
    /// Its round, from 0.
    pub round: usize,
    /// What was measured.
    pub measured: Measured,
    /// The most memory that the process had resident during it, in bytes; 0 when unknown.
    pub peak_rss_bytes: u64,
    /// The share of each type among the requests of its clients, in the order of the workload's types.
    pub mix: Vec<f64>,
}

/// Sums over the types of transaction of a run.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) commits: u64,
    pub(crate) user_aborts: u64,
    pub(crate) aborts: [u64; Abort::ALL.len()],
    pub(crate) latency_ns: Histogram,
    /// Empty where it is the same.
    pub(crate) service_ns: Histogram,
}

impl Totals {
    /// Adds what `other` has counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.commits += other.commits;
        self.user_aborts += other.user_aborts;
        for (sum, aborts) in self.aborts.iter_mut().zip(other.aborts) {
            *sum += aborts;
        }
        self.latency_ns.merge(&other.latency_ns);
        self.service_ns.merge(&other.service_ns);
    }
}

impl Plan {
    /// Makes the run at a position of [`Plan::order`].
    ///
    /// # Errors
    /// None that [`Plan::new`] did not look for, but what the devices of its log say, if it has one.
    pub fn measure(&self, position: usize, monitor: &Monitor) -> Result<Record, Refusal> {
        let (subject, round) = self.order[position];
        let mix = self.mix()?;
        let log = self.logs.as_ref().map(|logs| logs.begin(self, position)).transpose()?;
        machine::forget_peak_rss();
        let measured = runs::run(&self.spec(&self.subjects[subject]), monitor)?;
        if let Some((log, logged)) = log.as_ref().zip(measured.logged) {
            log.end(self, position, logged.digest)?;
        }
        Ok(Record { subject, round, measured, peak_rss_bytes: machine::peak_rss_bytes(), mix })
    }
}

impl Record {
    /// Whether the run is a result: it passed its check, or was not checked, and measured something.
    pub fn is_result(&self) -> bool {
        !matches!(self.measured.verdict, Verdict::Failed(_)) && self.measured.measured_ns > 0
    }

    /// Whether its check failed.
    pub fn is_failed(&self) -> bool {
        matches!(self.measured.verdict, Verdict::Failed(_))
    }

    /// Commits a second of measured time; none when it is not a result.
    pub fn throughput(&self) -> Option<f64> {
        let seconds = self.measured.measured_ns as f64 / 1e9;
        self.is_result().then(|| self.totals().commits as f64 / seconds)
    }

    /// Whether others used the workers' cores.
    pub fn is_starved(&self) -> bool {
        self.measured.cpu_share < STARVED_BELOW
    }

    /// Adds what the run was starved of to what others were.
    pub(crate) fn add_to(&self, plan: &Plan, starvation: &mut Starvation) {
        starvation.add_processor_time(self.is_starved(), Some(self.measured.cpu_share));
        if !self.is_result() {
            return;
        }
        let names = plan.workload.types.iter().map(|of| of.name);
        let types = names.zip(&self.measured.types).zip(&self.mix);
        let ended: Vec<Ended<'_>> =
            types.map(|((name, tally), &share)| (name, tally.commits, tally.user_aborts, share)).collect();
        // The runs of a plan differ in nothing but their schemes and rounds.
        starvation.add_types((plan.subjects[self.subject].scheme.name, ""), &ended);
    }

    pub(crate) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.measured.types.iter().for_each(|tally| totals.merge(&Totals::from(tally)));
        totals
    }

    /// What came of the arrivals of an open loop: a second, those that came and those that were answered; whether the
    /// asked rate was sustained.
    pub(crate) fn offer(&self, plan: &Plan) -> Option<Offer> {
        rate_txn_s(&plan.job.traffic).filter(|_| self.is_result())?;
        let totals = self.totals();
        let dropped: u64 = if plan.job.retry == Retry::Drop { totals.aborts.iter().sum() } else { 0 };
        let answered = totals.commits + totals.user_aborts + dropped;
        let Arrived { offered, skipped } = self.measured.arrived;
        let seconds = self.measured.measured_ns as f64 / 1e9;
        Some(Offer {
            offered_txn_s: offered as f64 / seconds,
            answered_txn_s: answered as f64 / seconds,
            skipped,
            is_sustained: answered as f64 >= SUSTAINED_FROM * offered as f64,
        })
    }

    /// Whether the measured time was steady; none when it was too short to say.
    pub(crate) fn steadiness(&self) -> Option<Steadiness> {
        self.is_result().then(|| Steadiness::of(&self.measured.series)).flatten()
    }
}

/// System aborts as a share of all attempts but those that rolled back by their own wish.
pub(crate) fn abort_rate(commits: u64, aborts: &[u64]) -> f64 {
    let aborts: u64 = aborts.iter().sum();
    if aborts == 0 { 0.0 } else { aborts as f64 / (commits + aborts) as f64 }
}

impl From<&TypeTally> for Totals {
    fn from(tally: &TypeTally) -> Self {
        let TypeTally { commits, user_aborts, aborts, latency_ns, service_ns } = tally.clone();
        Self { commits, user_aborts, aborts, latency_ns, service_ns }
    }
}

/// The runs of a plan that were made.
#[derive(Debug, Default)]
pub struct Results {
    /// In the order in which they were made.
    pub records: Vec<Record>,
}

impl Results {
    /// The runs of a scheme that are results, in the order of their rounds.
    pub fn of(&self, subject: usize) -> Vec<&Record> {
        let own = self.records.iter().filter(|record| record.subject == subject && record.is_result());
        let mut own: Vec<&Record> = own.collect();
        own.sort_by_key(|record| record.round);
        own
    }

    /// The throughput of a scheme over its rounds, in transactions a second.
    pub fn throughput(&self, subject: usize) -> Option<Spread> {
        Spread::of(self.of(subject).into_iter().filter_map(Record::throughput))
    }

    /// The ratio of a scheme's throughput to that of the plan's first scheme: of the pairs of the same
    /// round, which were run one soon after the other.
    pub fn ratio_to_first(&self, subject: usize) -> Option<Spread> {
        let first = self.of(0);
        let ratio = |record: &Record| {
            let partner = first.iter().find(|partner| partner.round == record.round)?;
            partner.throughput().filter(|&base| base > 0.0).and_then(|base| Some(record.throughput()? / base))
        };
        Spread::of(self.of(subject).into_iter().filter_map(ratio))
    }

    /// The scheme with the highest median throughput.
    pub fn winner(&self, plan: &Plan) -> Option<usize> {
        let median = |subject: &usize| self.throughput(*subject).map(|spread| spread.median);
        (0..plan.subjects.len())
            .filter(|subject| median(subject).is_some())
            .max_by(|a, b| median(a).partial_cmp(&median(b)).expect("throughputs are numbers"))
    }

    /// How much these runs were starved.
    pub fn starvation(&self, plan: &Plan) -> Starvation {
        let mut all = Starvation::default();
        self.records.iter().for_each(|record| record.add_to(plan, &mut all));
        all
    }

    /// Whether a check failed.
    pub fn is_failed(&self) -> bool {
        self.records.iter().any(Record::is_failed)
    }

    /// Whether a run was ended early.
    pub fn is_interrupted(&self) -> bool {
        self.records.iter().any(|record| record.measured.is_interrupted)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use engine::Violation;
    use engine::driver::Series;
    use runs::Phase;

    use super::*;

    /// A run of one second with some commits and, of its attempts, some aborts.
    pub(crate) fn record(subject: usize, round: usize, commits: u64) -> Record {
        let mut tally = TypeTally { commits, user_aborts: 1, ..TypeTally::default() };
        tally.aborts[Abort::ReadChanged as usize] = commits / 4;
        tally.latency_ns.record(2_500);
        let measured = Measured {
            types: vec![tally, TypeTally::default()],
            arrived: Arrived::default(),
            series: Series::default(),
            phase_ticks: [1; Phase::COUNT],
            load_ns: 1_000_000,
            measured_ns: 1_000_000_000,
            check_ns: 1_000_000,
            cpu_share: 1.0,
            is_interrupted: false,
            verdict: Verdict::Passed,
            memory_loaded: Vec::new(),
            memory: Vec::new(),
            logged: None,
        };
        Record { subject, round, measured, peak_rss_bytes: 1 << 20, mix: vec![1.0, 0.0] }
    }

    /// The record of a run whose check failed.
    pub(crate) fn failed(subject: usize, round: usize) -> Record {
        let mut record = record(subject, round, 100);
        let violation = Violation { condition: "money is conserved", found: "2 is not 3".to_owned() };
        record.measured.verdict = Verdict::Failed(vec![violation]);
        record
    }

    fn assert_spread(found: Option<Spread>, median: f64, min: f64, max: f64) {
        assert_eq!(found, Some(Spread { median, min, max }));
    }

    #[test]
    fn ratios_are_of_runs_of_the_same_round() {
        let runs = [(0, 0, 100), (1, 0, 150), (1, 1, 600), (0, 1, 300)];
        let records = runs.map(|(subject, round, commits)| record(subject, round, commits));
        let results = Results { records: records.into() };
        assert_spread(results.throughput(1), 375.0, 150.0, 600.0);
        assert_spread(results.ratio_to_first(1), 1.75, 1.5, 2.0);
        assert_spread(results.ratio_to_first(0), 1.0, 1.0, 1.0);
    }

    #[test]
    fn a_run_that_failed_its_check_is_no_result() {
        let results = Results { records: vec![failed(0, 0), record(1, 0, 100)] };
        assert!(results.is_failed());
        assert_eq!((results.throughput(0), results.ratio_to_first(1)), (None, None));
        assert_spread(results.throughput(1), 100.0, 100.0, 100.0);
    }

    #[test]
    fn the_abort_rate_is_of_attempts_without_rollbacks() {
        assert!((abort_rate(300, &[60, 40]) - 0.25).abs() < 1e-12);
        assert!(abort_rate(0, &[0]).abs() < 1e-12);
        assert!((abort_rate(0, &[3]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn workers_that_miss_a_tenth_of_their_time_are_starved() {
        let mut record = record(0, 0, 100);
        assert!(!record.is_starved());
        record.measured.cpu_share = 0.9;
        assert!(record.is_starved());
    }
}
