//! Measuring: one run of a plan, and the results of all runs of a plan.

use engine::Abort;
use engine::driver::{Arrived, Retry, TypeTally};
use runs::{CheckVerdict, Measured, Monitor};
use simulations::Simulated;
use stats::Spread;
use stdx::{Histogram, RetryCounts};

use crate::logs::Begun;
use crate::plan::Plan;
use crate::speed::{self, Speed};
use crate::starvation::{Ended, Starvation};
use crate::steady::Steadiness;
use crate::traffic::rate_txn_s;
use crate::{Machine, Ratios, Refusal, SimulationCosts, SimulationPlan, json, machine};

/// Workers that get a smaller share of the processor time they ask for are starved: other programs used their cores,
/// and the figures depend on those programs as well.
pub(crate) const STARVED_BELOW: f64 = 0.95;

/// The least share of answered arrivals with which an open loop has sustained its rate.
const SUSTAINED_FROM: f64 = 0.99;

/// Statistics of open-loop arrivals: offered, answered, skipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offer {
    /// Arrivals a second. If arrivals are random, this differs slightly from the requested rate.
    pub(crate) offered_txn_s: f64,
    /// Requests a second that were committed, rolled back or dropped.
    pub(crate) answered_txn_s: f64,
    /// Requests that were skipped because the queue was full.
    pub(crate) skipped: u64,
    /// Whether nearly all requests were answered.
    pub(crate) is_sustained: bool,
}

/// A finished run of a plan.
#[derive(Debug)]
pub struct Record {
    /// The position of the run's scheme in the plan.
    pub subject: usize,
    /// The round of the run, from 0.
    pub round: usize,
    /// The measurements of the run.
    pub measured: Measured,
    /// The peak resident memory of the process during the run, in bytes; 0 if unknown.
    pub peak_rss_bytes: u64,
    /// The share of each type of transaction among the clients' requests, in the order of the workload's types.
    pub mix: Vec<f64>,
    /// The costs of the simulation; `None` if the run is native.
    pub simulated: Option<SimulationCosts>,
}

/// Sums over the types of transaction of a run.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) commits: u64,
    pub(crate) user_aborts: u64,
    pub(crate) aborts: [u64; Abort::ALL.len()],
    pub(crate) retries: RetryCounts,
    pub(crate) latency_ns: Histogram,
    /// Empty if the service time equals the latency.
    pub(crate) service_ns: Histogram,
}

impl Totals {
    /// Adds the counts of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.commits += other.commits;
        self.user_aborts += other.user_aborts;
        for (sum, aborts) in self.aborts.iter_mut().zip(other.aborts) {
            *sum += aborts;
        }
        self.retries.merge(&other.retries);
        self.latency_ns.merge(&other.latency_ns);
        self.service_ns.merge(&other.service_ns);
    }
}

impl Plan {
    /// Makes the run at a position of [`Plan::order`]. Returns `None` if the run was interrupted before all rows were
    /// loaded.
    ///
    /// # Errors
    /// Errors of the log's devices, if the run has a log. [`Plan::new`] has excluded all other errors.
    pub fn measure(&self, position: usize, monitor: &Monitor) -> Result<Option<Record>, Refusal> {
        if let Some(simulation) = &self.simulation {
            return self.simulate(position, simulation).map(Some);
        }
        let (subject, round) = self.order[position];
        let mix = self.mix()?;
        let log = self.logs.as_ref().map(|logs| logs.begin(self, position)).transpose()?;
        machine::forget_peak_rss();
        let Some(measured) = runs::run(&self.spec(&self.subjects[subject]), monitor)? else {
            log.iter().for_each(Begun::discard);
            return Ok(None);
        };
        if let Some((log, logged)) = log.as_ref().zip(measured.logged) {
            log.end(self, position, logged.digest)?;
        }
        let peak_rss_bytes = machine::peak_rss_bytes();
        Ok(Some(Record { subject, round, measured, peak_rss_bytes, mix, simulated: None }))
    }

    /// Makes the simulated run at a position of [`Plan::order`], on the calling thread.
    fn simulate(&self, position: usize, simulation: &SimulationPlan) -> Result<Record, Refusal> {
        let (subject, round) = self.order[position];
        let planned = &self.subjects[subject];
        let Simulated { measured, counts, spent, hottest, hot_parts, host_ns, implicit_rows } =
            planned.simulated.run(&self.simulation_spec(planned, simulation))?;
        let simulated = Some(SimulationCosts { counts, spent, hottest, hot_parts, host_ns, implicit_rows });
        let (mix, peak_rss_bytes) = (self.mix()?, machine::peak_rss_bytes());
        Ok(Record { subject, round, measured, peak_rss_bytes, mix, simulated })
    }
}

impl Record {
    /// Whether the run is a result: it passed its check, or was not checked, and measured something.
    pub fn is_result(&self) -> bool {
        !matches!(self.measured.verdict, CheckVerdict::Failed(_)) && self.measured.measured_ns > 0
    }

    /// Whether the run's check failed.
    pub fn is_failed(&self) -> bool {
        matches!(self.measured.verdict, CheckVerdict::Failed(_))
    }

    /// Returns the commits a second of measured time; `None` if the run is no result.
    pub fn throughput(&self) -> Option<f64> {
        let seconds = self.measured.measured_ns as f64 / 1e9;
        self.is_result().then(|| self.totals().commits as f64 / seconds)
    }

    /// Whether there was no measured time: the run was interrupted before, or no transaction ended in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.measured.measured_ns == 0
    }

    /// Returns the processor time that the workers got, as a share of what they asked for; `None` if the run is empty.
    pub(crate) fn cpu_share(&self) -> Option<f64> {
        (!self.is_empty()).then_some(self.measured.cpu_share)
    }

    /// Whether other programs used the workers' cores.
    pub fn is_starved(&self) -> bool {
        self.cpu_share().is_some_and(|share| share < STARVED_BELOW)
    }

    /// Adds this run to `starvation`: its processor time, and its counts by type of transaction.
    pub(crate) fn add_to(&self, plan: &Plan, starvation: &mut Starvation) {
        starvation.add_processor_time(self.is_starved(), self.cpu_share());
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

    /// Returns the statistics of open-loop arrivals; `None` if the loop is closed or the run is no result.
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

    /// Returns whether the measured time was steady; `None` if it was too short to judge, or if the run is no result.
    pub(crate) fn steadiness(&self) -> Option<Steadiness> {
        self.is_result().then(|| Steadiness::of(&self.measured.series)).flatten()
    }
}

/// Returns the aborts by the scheme as a share of all attempts, user aborts excluded.
pub(crate) fn abort_rate(commits: u64, aborts: &[u64]) -> f64 {
    let aborts: u64 = aborts.iter().sum();
    if aborts == 0 { 0.0 } else { aborts as f64 / (commits + aborts) as f64 }
}

impl From<&TypeTally> for Totals {
    fn from(tally: &TypeTally) -> Self {
        let TypeTally { commits, user_aborts, aborts, retries, latency_ns, service_ns } = tally.clone();
        Self { commits, user_aborts, aborts, retries, latency_ns, service_ns }
    }
}

/// The finished runs of a plan.
#[derive(Debug, Default)]
pub struct Results {
    /// The runs, in the order in which they were made.
    pub records: Vec<Record>,
}

impl Results {
    /// Returns the runs of a scheme that are results, in the order of their rounds.
    pub fn of(&self, subject: usize) -> Vec<&Record> {
        let own = self.records.iter().filter(|record| record.subject == subject && record.is_result());
        let mut own: Vec<&Record> = own.collect();
        own.sort_by_key(|record| record.round);
        own
    }

    /// Returns the spread of a scheme's throughput over its rounds, in transactions a second.
    pub fn throughput(&self, subject: usize) -> Option<Spread> {
        Spread::of(self.of(subject).into_iter().filter_map(Record::throughput))
    }

    /// Returns the ratios of a scheme to the plan's first scheme. Each ratio is of two runs of the same round, which
    /// were made soon after one another. If runs were starved, the ratio is by processor time: see
    /// [`Basis`](crate::Basis).
    pub fn ratio_to_first(&self, plan: &Plan, machine: &Machine, subject: usize) -> Option<Ratios> {
        let speed = |record: &Record| Speed::of(&json::run(plan, record, machine));
        let first = self.of(0);
        let pair = |record: &&Record| {
            let partner = first.iter().find(|partner| partner.round == record.round)?;
            partner.throughput().filter(|&base| base > 0.0)?;
            Some((speed(record)?, speed(partner)?))
        };
        speed::ratios(&self.of(subject).iter().filter_map(pair).collect::<Vec<_>>())
    }

    /// Returns the scheme with the highest median throughput. If runs were starved, returns the scheme with the highest
    /// ratio to the first scheme, because the ratio corrects for starvation.
    pub fn winner(&self, plan: &Plan, machine: &Machine) -> Option<usize> {
        let is_starved = self.records.iter().any(Record::is_starved);
        let ratio = |subject| self.ratio_to_first(plan, machine, subject).map(|ratio| ratio.spread.median);
        let throughput = |subject| self.throughput(subject).map(|spread| spread.median);
        let merit =
            |subject| if is_starved && !self.of(0).is_empty() { ratio(subject) } else { throughput(subject) };
        let merits = (0..plan.subjects.len()).filter_map(|subject| Some((subject, merit(subject)?)));
        merits.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(subject, _)| subject)
    }

    /// Returns the starvation of these runs.
    pub fn starvation(&self, plan: &Plan) -> Starvation {
        let mut all = Starvation::default();
        self.records.iter().for_each(|record| record.add_to(plan, &mut all));
        all
    }

    /// Whether the check of any run failed.
    pub fn is_failed(&self) -> bool {
        self.records.iter().any(Record::is_failed)
    }

    /// Whether any run was ended early.
    pub fn is_interrupted(&self) -> bool {
        self.records.iter().any(|record| record.measured.is_interrupted)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use engine::driver::ThroughputSeries;
    use engine::{Insight, Violation};
    use runs::Phase;

    use super::*;
    use crate::registry::tests::catalogue;
    use crate::{Basis, Request};

    /// Returns a run of one second with `commits` commits, a quarter as many aborts, and one user abort.
    pub(crate) fn record(subject: usize, round: usize, commits: u64) -> Record {
        let mut tally = TypeTally { commits, user_aborts: 1, ..TypeTally::default() };
        tally.aborts[Abort::ReadChanged as usize] = commits / 4;
        tally.latency_ns.record(2_500);
        let measured = Measured {
            types: vec![tally, TypeTally::default()],
            arrived: Arrived::default(),
            turns: [0; 2],
            series: ThroughputSeries::default(),
            phase_ticks: [1; Phase::COUNT],
            load_ns: 1_000_000,
            measured_ns: 1_000_000_000,
            check_ns: 1_000_000,
            cpu_share: 1.0,
            is_interrupted: false,
            verdict: CheckVerdict::Passed,
            memory_loaded: Vec::new(),
            memory: Vec::new(),
            logged: None,
            insight: Insight::default(),
        };
        Record { subject, round, measured, peak_rss_bytes: 1 << 20, mix: vec![1.0, 0.0], simulated: None }
    }

    /// Returns a run whose check failed.
    pub(crate) fn failed(subject: usize, round: usize) -> Record {
        let mut record = record(subject, round, 100);
        let violation = Violation { condition: "money is conserved", found: "2 is not 3".to_owned() };
        record.measured.verdict = CheckVerdict::Failed(vec![violation]);
        record
    }

    fn assert_spread(found: Option<Spread>, median: f64, min: f64, max: f64) {
        assert_eq!(found, Some(Spread { median, min, max }));
    }

    fn plan() -> Plan {
        let request =
            Request { schemes: Some("silo,mvto".to_owned()), workers: Some(1), ..Request::new("ycsb") };
        Plan::new(catalogue(), &request).expect("legal")
    }

    fn ratio(results: &Results, subject: usize) -> Option<Spread> {
        results.ratio_to_first(&plan(), &Machine::default(), subject).map(|ratio| ratio.spread)
    }

    #[test]
    fn ratios_are_of_runs_of_the_same_round() {
        let runs = [(0, 0, 100), (1, 0, 150), (1, 1, 600), (0, 1, 300)];
        let records = runs.map(|(subject, round, commits)| record(subject, round, commits));
        let results = Results { records: records.into() };
        assert_spread(results.throughput(1), 375.0, 150.0, 600.0);
        assert_spread(ratio(&results, 1), 1.75, 1.5, 2.0);
        assert_spread(ratio(&results, 0), 1.0, 1.0, 1.0);
    }

    #[test]
    fn a_starved_scheme_neither_loses_its_ratio_nor_the_first_place() {
        let mut starved = record(1, 0, 600);
        starved.measured.cpu_share = 0.5;
        let results = Results { records: vec![record(0, 0, 1_000), starved] };
        let ratios = results.ratio_to_first(&plan(), &Machine::default(), 1).expect("a pair");
        assert_eq!(ratios.basis, Basis::ProcessorTime);
        assert_spread(Some(ratios.spread), 1.2, 1.2, 1.2);
        assert_spread(Some(ratios.by_wall), 0.6, 0.6, 0.6);
        assert_eq!(results.winner(&plan(), &Machine::default()), Some(1));
        let quiet = Results { records: vec![record(0, 0, 1_000), record(1, 0, 600)] };
        assert_eq!(quiet.winner(&plan(), &Machine::default()), Some(0));
    }

    #[test]
    fn a_run_that_is_interrupted_before_its_rows_are_loaded_is_not_made() {
        let set = vec!["ycsb.records=100".to_owned()];
        let (schemes, workers) = (Some("silo".to_owned()), Some(1));
        let plan = Plan::new(catalogue(), &Request { schemes, workers, set, ..Request::new("ycsb") });
        let monitor = Monitor::new(1);
        monitor.control.interrupt();
        assert!(plan.expect("legal").measure(0, &monitor).expect("possible").is_none());
    }

    #[test]
    fn a_run_by_requests_serves_all_of_them_and_no_more() {
        let set = ["ycsb.records=100", "aria.batch=8"].map(str::to_owned).to_vec();
        let schemes = Some("silo,aria".to_owned());
        let request = Request { schemes, workers: Some(2), txns: Some(40), set, ..Request::new("ycsb") };
        let plan = Plan::new(catalogue(), &request).expect("legal");
        for position in 0..2 {
            let record = plan.measure(position, &Monitor::new(2)).expect("possible").expect("made");
            assert_eq!((record.totals().commits, record.is_result()), (80, true));
        }
    }

    #[test]
    fn a_run_that_failed_its_check_is_no_result() {
        let results = Results { records: vec![failed(0, 0), record(1, 0, 100)] };
        assert!(results.is_failed());
        assert_eq!((results.throughput(0), ratio(&results, 1)), (None, None));
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
