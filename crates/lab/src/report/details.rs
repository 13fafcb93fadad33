//! The results of a line besides throughput: latencies, the breakdown of time, reasons of aborts, and each type of
//! transaction by itself.

use std::collections::BTreeMap;

use results::{BatchPicture, Counts, Histogram, Retries, Run};
use stats::Spread;

/// The results of the runs of a scheme at a point besides throughput.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The latency from the request to its commit, retries included.
    pub latency: Option<LatencyMedians>,
    /// The latency from the begin of execution, if it was measured separately.
    pub service: Option<LatencyMedians>,
    /// The mean shares of the sampled time, by phase.
    pub breakdown: Vec<(String, f64)>,
    /// The mean microseconds of a sampled transaction in each stage of the scheme, in the order of the stages; empty if
    /// the scheme tells none.
    pub stages: Vec<(String, f64)>,
    /// A batch that the scheme has put in order: that of the first run that has one.
    pub batch: Option<BatchPicture>,
    /// The retries of committed transactions, of all runs together; `None` if they were not counted.
    pub retries: Option<Retries>,
    /// Aborts by reason, as shares of the attempts of all runs together. User aborts are left out.
    pub reasons: Vec<(String, f64)>,
    /// The types of which transactions committed, rolled back or were aborted.
    pub types: Vec<OfType>,
}

/// Latencies in microseconds: medians over the repetitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyMedians {
    /// The mean.
    pub mean: Option<f64>,
    /// Quantiles, by share: a share of all transactions, and the latency that this share did not exceed.
    pub quantiles: Vec<(f64, f64)>,
    /// The maximum.
    pub max: Option<f64>,
    /// More detailed quantiles of all repetitions together; empty if no whole histograms were kept.
    pub curve: Vec<(f64, f64)>,
}

/// The results of a type of transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct OfType {
    /// The name of the type.
    pub name: String,
    /// Commits per second: the median over the repetitions.
    pub throughput_txn_s: f64,
    /// Attempts that the scheme aborted, as a share of all attempts except user aborts.
    pub abort_rate: f64,
    /// User aborts, as a share of the transactions that ended.
    pub rollback_rate: f64,
    /// The latencies of the type.
    pub latency: Option<LatencyMedians>,
}

/// A figure of latencies, in microseconds.
type Figure = fn(&results::Latency) -> f64;

/// The quantiles that every result has, each with its share of the transactions.
const QUANTILES: [(Figure, f64); 4] =
    [(|us| us.p50, 0.5), (|us| us.p95, 0.95), (|us| us.p99, 0.99), (|us| us.p999, 0.999)];

impl Details {
    /// Returns the details of the runs of a scheme at a point. Runs that are no results are left out.
    pub(super) fn of(runs: &[&Run]) -> Self {
        let results: Vec<&Run> = runs.iter().copied().filter(|run| run.throughput_txn_s.is_some()).collect();
        let counts: Vec<&Counts> = results.iter().map(|run| &run.counts).collect();
        Self {
            latency: LatencyMedians::of_requests(&counts),
            service: LatencyMedians::of(
                &counts.iter().filter_map(|of| of.service_us.as_ref()).collect::<Vec<_>>(),
                counts.iter().filter_map(|of| of.service_histogram.as_ref()),
            ),
            breakdown: breakdown(&results),
            stages: stages(&results),
            batch: results.iter().find_map(|run| run.insight.as_ref()?.batch.clone()),
            retries: retries(&counts),
            reasons: reasons(&counts),
            types: types(&results),
        }
    }
}

impl LatencyMedians {
    /// Returns the latencies from the request to its commit of runs, or of the types in runs.
    fn of_requests(counts: &[&Counts]) -> Option<Self> {
        Self::of(
            &counts.iter().filter_map(|of| of.latency_us.as_ref()).collect::<Vec<_>>(),
            counts.iter().filter_map(|of| of.latency_histogram.as_ref()),
        )
    }

    /// Returns the medians of latencies, with the curve of all histograms together if there are any.
    fn of<'r>(us: &[&results::Latency], histograms: impl Iterator<Item = &'r Histogram>) -> Option<Self> {
        let median = |of: Figure| Spread::of(us.iter().map(|us| of(us))).map(|spread| spread.median);
        let quantile = |&(of, share): &(Figure, f64)| Some((share, median(of)?));
        let quantiles: Vec<(f64, f64)> = QUANTILES.iter().filter_map(quantile).collect();
        let curve = curve(histograms);
        let has_any = !quantiles.is_empty() || !curve.is_empty();
        has_any.then(|| Self { mean: median(|us| us.mean), quantiles, max: median(|us| us.max), curve })
    }

    /// Returns the latency that this share did not exceed, if this quantile is kept.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.quantiles.iter().find(|(its, _)| (its - share).abs() < 1e-9).map(|(_, us)| *us)
    }

    /// Returns the points of a plot: those of the histograms if there are any, otherwise the quantiles.
    pub(super) fn points(&self) -> &[(f64, f64)] {
        if self.curve.is_empty() { &self.quantiles } else { &self.curve }
    }
}

/// Shares at which a curve has a point. They are closer together near 1, where latencies are of interest.
const CURVE: [f64; 15] =
    [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99995, 0.99999];
/// The least number of transactions that lie beyond a point of a curve.
const BEYOND_MIN: f64 = 10.0;

/// Returns the quantiles of all histograms together, in microseconds.
fn curve<'r>(histograms: impl Iterator<Item = &'r Histogram>) -> Vec<(f64, f64)> {
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    for (upper, count) in histograms.flat_map(|of| &of.buckets) {
        *buckets.entry(*upper).or_default() += count;
    }
    let all: u64 = buckets.values().sum();
    let mut points = Vec::new();
    let (mut below, mut left) = (0_u64, buckets.iter());
    let mut upper = 0_u64;
    for share in CURVE.into_iter().filter(|share| (1.0 - share) * all as f64 >= BEYOND_MIN) {
        while (below as f64) < share * all as f64 {
            let Some((its, count)) = left.next() else { break };
            (upper, below) = (*its, below + count);
        }
        points.push((share, upper as f64 / 1e3));
    }
    points
}

fn breakdown(results: &[&Run]) -> Vec<(String, f64)> {
    let all: Vec<_> = results.iter().filter_map(|run| run.breakdown.as_ref()).collect();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, share) in all.iter().flat_map(|phases| phases.iter()) {
        *sums.entry(name).or_default() += share;
    }
    sums.into_iter().map(|(name, sum)| (name.to_owned(), sum / all.len() as f64)).collect()
}

/// Returns the mean time in each stage, with the weights of the sampled transactions.
fn stages(results: &[&Run]) -> Vec<(String, f64)> {
    let insights = || results.iter().filter_map(|run| run.insight.as_ref());
    let mut sums: Vec<(String, f64)> = Vec::new();
    for (sampled, of) in insights().flat_map(|insight| insight.stages.iter().map(|of| (insight.sampled, of)))
    {
        let us = of.time_us_mean * sampled as f64;
        match sums.iter_mut().find(|(name, _)| *name == of.stage) {
            Some((_, sum)) => *sum += us,
            None => sums.push((of.stage.clone(), us)),
        }
    }
    let sampled = insights().map(|insight| insight.sampled as f64).sum::<f64>().max(1.0);
    sums.into_iter().map(|(name, sum)| (name, sum / sampled)).collect()
}

/// Returns the retries of the transactions of all runs together.
fn retries(counts: &[&Counts]) -> Option<Retries> {
    let all = || counts.iter().filter_map(|of| of.retries.as_ref());
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    let mut sum = 0.0;
    for of in all() {
        let count: u64 = of.buckets.iter().map(|(_, count)| count).sum();
        sum += of.mean * count as f64;
        of.buckets.iter().for_each(|(retries, count)| *buckets.entry(*retries).or_default() += count);
    }
    let count: u64 = buckets.values().sum();
    let quantile = |share: f64| {
        let mut below = 0;
        let is_it = |(_, own): &(&u64, &u64)| {
            below += **own;
            below as f64 >= share * count as f64
        };
        buckets.iter().find(is_it).map_or(0, |(retries, _)| *retries)
    };
    let max = all().map(|of| of.max).max()?;
    let (mean, p50, p99) = (sum / count.max(1) as f64, quantile(0.5), quantile(0.99));
    Some(Retries { mean, p50, p99, max, buckets: buckets.into_iter().collect() })
}

fn reasons(counts: &[&Counts]) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (reason, number) in counts.iter().flat_map(|of| &of.aborts) {
        *sums.entry(reason).or_default() += number;
    }
    let attempts: u64 = counts.iter().map(|of| of.commits + of.aborted()).sum();
    sums.into_iter().map(|(reason, sum)| (reason.to_owned(), sum as f64 / attempts.max(1) as f64)).collect()
}

fn types(results: &[&Run]) -> Vec<OfType> {
    let mut by_name: BTreeMap<&str, Vec<(f64, &Counts)>> = BTreeMap::new();
    for run in results {
        for (name, counts) in &run.by_type {
            by_name.entry(name).or_default().push((run.measured_s, counts));
        }
    }
    by_name.into_iter().filter_map(|(name, runs)| of_type(name, &runs)).collect()
}

/// Returns the results of a type from the measured seconds of each run, and the counts of the type in it.
fn of_type(name: &str, runs: &[(f64, &Counts)]) -> Option<OfType> {
    let sum = |of: fn(&Counts) -> u64| runs.iter().map(|(_, counts)| of(counts)).sum::<u64>();
    let (commits, rollbacks) = (sum(|of| of.commits), sum(|of| of.user_aborts));
    let aborts = sum(Counts::aborted);
    if commits + rollbacks + aborts == 0 {
        return None;
    }
    let rates = runs.iter().filter(|(seconds, _)| *seconds > 0.0);
    let rates = rates.map(|(seconds, counts)| counts.commits as f64 / seconds);
    let counts: Vec<&Counts> = runs.iter().map(|(_, counts)| *counts).collect();
    let share = |part: u64, rest: u64| part as f64 / (part + rest).max(1) as f64;
    Some(OfType {
        name: name.to_owned(),
        throughput_txn_s: Spread::of(rates).map_or(0.0, |spread| spread.median),
        abort_rate: share(aborts, commits),
        rollback_rate: share(rollbacks, commits),
        latency: LatencyMedians::of_requests(&counts),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::tests::given;

    #[test]
    fn details_are_of_results_only() {
        let run = |commits: u64, throughput: Option<f64>| {
            given(json!({
                "throughput_txn_s": throughput, "commits": commits, "aborts": { "read_changed": 100 },
                "measured_s": 2.0,
                "latency_us": { "mean": 2.0, "p50": 1.0, "p95": 4.0, "p99": 9.0, "p999": 20.0, "max": 50.0 },
                "breakdown": { "useful": 0.75, "wait": 0.25 },
                "by_type": { "read": { "commits": commits, "aborts": {}, "user_aborts": 0 }, "none": { "commits": 0 } },
            }))
        };
        let runs = [run(900, Some(450.0)), run(100_000, None)];
        let details = Details::of(&runs.iter().collect::<Vec<_>>());
        assert_eq!(details.reasons, [("read_changed".to_owned(), 0.1)]);
        assert_eq!(details.breakdown[0], ("useful".to_owned(), 0.75));
        let latency = details.latency.expect("measured");
        assert_eq!(
            (latency.quantile(0.5), latency.quantile(0.95), latency.quantile(0.9), latency.max),
            (Some(1.0), Some(4.0), None, Some(50.0))
        );
        assert_eq!((details.types.len(), details.types[0].throughput_txn_s), (1, 450.0));
        assert!(details.service.is_none());
    }

    #[test]
    fn retries_and_stages_are_of_all_runs_together() {
        let run = |buckets: Value, mean: f64, sampled: u64, us: f64| {
            given(json!({
                "throughput_txn_s": 1.0,
                "retries": { "mean": mean, "p50": 0, "p99": 0, "max": 5, "buckets": buckets },
                "insight": { "sampled": sampled, "stages": [
                    { "stage": "waiting", "time_us_mean": us }, { "stage": "reading", "time_us_mean": 1.0 },
                ] },
            }))
        };
        let runs = [run(json!([[0, 30]]), 0.0, 3, 2.0), run(json!([[0, 8], [5, 2]]), 1.0, 1, 6.0)];
        let details = Details::of(&runs.iter().collect::<Vec<_>>());
        let buckets = vec![(0, 38), (5, 2)];
        assert_eq!(details.retries, Some(Retries { mean: 0.25, p50: 0, p99: 5, max: 5, buckets }));
        assert_eq!(details.stages, [("waiting".to_owned(), 3.0), ("reading".to_owned(), 1.0)]);
        let older = given(json!({ "throughput_txn_s": 1.0 }));
        let details = Details::of(&[&older]);
        assert!(details.retries.is_none() && details.stages.is_empty() && details.batch.is_none());
    }

    #[test]
    fn histograms_are_added_up_and_end_where_nothing_is_left_to_be_said() {
        let buckets = vec![(1_000, 450), (2_000, 45), (9_000, 5)];
        let half = Histogram { buckets, ..Histogram::default() };
        let points = curve([&half, &half].into_iter());
        let at = |share: f64| points.iter().find(|(its, _)| (its - share).abs() < 1e-9).map(|(_, us)| *us);
        assert_eq!((at(0.5), at(0.9), at(0.95), at(0.99)), (Some(1.0), Some(1.0), Some(2.0), Some(2.0)));
        assert_eq!(at(0.999), None, "one of a thousand transactions is no tail");
    }
}
