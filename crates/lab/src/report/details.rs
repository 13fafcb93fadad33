//! The results of a line besides throughput: latencies, the breakdown of time, reasons of aborts, and each type of
//! transaction by itself.

use std::collections::BTreeMap;

use serde_json::Value;
use stats::Spread;

/// The results of the runs of a scheme at a point besides throughput.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The latency from the request to its commit, retries included.
    pub latency: Option<Latency>,
    /// The latency from the begin of execution, if it was measured separately.
    pub service: Option<Latency>,
    /// The mean shares of the sampled time, by phase.
    pub breakdown: Vec<(String, f64)>,
    /// Aborts by reason, as shares of the attempts of all runs together. User aborts are left out.
    pub reasons: Vec<(String, f64)>,
    /// The types of which transactions committed, rolled back or were aborted.
    pub types: Vec<OfType>,
}

/// Latencies in microseconds: medians over the repetitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
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
    pub latency: Option<Latency>,
}

/// The quantiles that every result has, by name.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

impl Details {
    /// Returns the details of the runs of a scheme at a point. Runs that are no results are left out.
    pub(super) fn of(runs: &[&Value]) -> Self {
        let results: Vec<&Value> =
            runs.iter().copied().filter(|run| run["throughput_txn_s"].is_number()).collect();
        Self {
            latency: Latency::of(&results, "latency"),
            service: Latency::of(&results, "service"),
            breakdown: breakdown(&results),
            reasons: reasons(&results),
            types: types(&results),
        }
    }
}

impl Latency {
    /// Reads the objects `NAME_us` and, if they exist, `NAME_histogram` of runs, or of the types in runs.
    fn of(objects: &[&Value], name: &str) -> Option<Self> {
        let key = format!("{name}_us");
        let median = |of: &str| median(objects, |object| object[&key][of].as_f64());
        let quantile = |&(of, share): &(&str, f64)| Some((share, median(of)?));
        let quantiles: Vec<(f64, f64)> = QUANTILES.iter().filter_map(quantile).collect();
        let curve = curve(objects, &format!("{name}_histogram"));
        let has_any = !quantiles.is_empty() || !curve.is_empty();
        has_any.then(|| Self { mean: median("mean"), quantiles, max: median("max"), curve })
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

fn median(objects: &[&Value], of: impl Fn(&Value) -> Option<f64>) -> Option<f64> {
    Spread::of(objects.iter().filter_map(|object| of(object))).map(|spread| spread.median)
}

/// Shares at which a curve has a point. They are closer together near 1, where latencies are of interest.
const CURVE: [f64; 15] =
    [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99995, 0.99999];
/// The least number of transactions that lie beyond a point of a curve.
const BEYOND_MIN: f64 = 10.0;

/// Returns the quantiles of all histograms together, in microseconds.
fn curve(objects: &[&Value], key: &str) -> Vec<(f64, f64)> {
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    for object in objects {
        let of_one = object[key]["buckets"].as_array().into_iter().flatten();
        for bucket in of_one {
            if let (Some(upper), Some(count)) = (bucket[0].as_u64(), bucket[1].as_u64()) {
                *buckets.entry(upper).or_default() += count;
            }
        }
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

fn breakdown(results: &[&Value]) -> Vec<(String, f64)> {
    let all: Vec<_> = results.iter().filter_map(|run| run["breakdown"].as_object()).collect();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, share) in all.iter().flat_map(|phases| phases.iter()) {
        *sums.entry(name).or_default() += share.as_f64().unwrap_or(0.0);
    }
    sums.into_iter().map(|(name, sum)| (name.to_owned(), sum / all.len() as f64)).collect()
}

fn reasons(results: &[&Value]) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    let mut attempts = 0;
    for run in results {
        attempts += run["commits"].as_u64().unwrap_or(0);
        for (reason, number) in run["aborts"].as_object().into_iter().flatten() {
            let number = number.as_u64().unwrap_or(0);
            attempts += number;
            *sums.entry(reason).or_default() += number;
        }
    }
    sums.into_iter().map(|(reason, sum)| (reason.to_owned(), sum as f64 / attempts.max(1) as f64)).collect()
}

fn types(results: &[&Value]) -> Vec<OfType> {
    let mut by_name: BTreeMap<&str, Vec<(f64, &Value)>> = BTreeMap::new();
    for run in results {
        let seconds = run["measured_s"].as_f64().unwrap_or(0.0);
        for (name, object) in run["by_type"].as_object().into_iter().flatten() {
            by_name.entry(name).or_default().push((seconds, object));
        }
    }
    by_name.into_iter().filter_map(|(name, objects)| of_type(name, &objects)).collect()
}

fn of_type(name: &str, objects: &[(f64, &Value)]) -> Option<OfType> {
    let number = |object: &Value, key: &str| object[key].as_u64().unwrap_or(0);
    let sum = |key: &str| objects.iter().map(|(_, object)| number(object, key)).sum::<u64>();
    let aborts: u64 = objects
        .iter()
        .flat_map(|(_, object)| object["aborts"].as_object().into_iter().flatten())
        .filter_map(|(_, number)| number.as_u64())
        .sum();
    let (commits, rollbacks) = (sum("commits"), sum("user_aborts"));
    if commits + rollbacks + aborts == 0 {
        return None;
    }
    let rates = objects.iter().filter(|(seconds, _)| *seconds > 0.0);
    let rates = rates.map(|(seconds, object)| number(object, "commits") as f64 / seconds);
    let values: Vec<&Value> = objects.iter().map(|(_, object)| *object).collect();
    let share = |part: u64, rest: u64| part as f64 / (part + rest).max(1) as f64;
    Some(OfType {
        name: name.to_owned(),
        throughput_txn_s: Spread::of(rates).map_or(0.0, |spread| spread.median),
        abort_rate: share(aborts, commits),
        rollback_rate: share(rollbacks, commits),
        latency: Latency::of(&values, "latency"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn details_are_of_results_only() {
        let run = |commits: u64, throughput: Option<f64>| {
            json!({
                "throughput_txn_s": throughput, "commits": commits, "aborts": { "read_changed": 100 },
                "measured_s": 2.0,
                "latency_us": { "mean": 2.0, "p50": 1.0, "p99": 9.0, "max": 50.0 },
                "breakdown": { "useful": 0.75, "wait": 0.25 },
                "by_type": { "read": { "commits": commits, "aborts": {}, "user_aborts": 0 }, "none": { "commits": 0 } },
            })
        };
        let runs = [run(900, Some(450.0)), run(100_000, None)];
        let details = Details::of(&runs.iter().collect::<Vec<_>>());
        assert_eq!(details.reasons, [("read_changed".to_owned(), 0.1)]);
        assert_eq!(details.breakdown[0], ("useful".to_owned(), 0.75));
        let latency = details.latency.expect("measured");
        assert_eq!(
            (latency.quantile(0.5), latency.quantile(0.95), latency.max),
            (Some(1.0), None, Some(50.0))
        );
        assert_eq!((details.types.len(), details.types[0].throughput_txn_s), (1, 450.0));
        assert!(details.service.is_none());
    }

    #[test]
    fn histograms_are_added_up_and_end_where_nothing_is_left_to_be_said() {
        let half =
            json!({ "latency_histogram": { "unit": "ns", "buckets": [[1000, 450], [2000, 45], [9000, 5]] } });
        let points = curve(&[&half, &half], "latency_histogram");
        let at = |share: f64| points.iter().find(|(its, _)| (its - share).abs() < 1e-9).map(|(_, us)| *us);
        assert_eq!((at(0.5), at(0.9), at(0.95), at(0.99)), (Some(1.0), Some(1.0), Some(2.0), Some(2.0)));
        assert_eq!(at(0.999), None, "one of a thousand transactions is no tail");
    }
}
