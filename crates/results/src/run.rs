//! Runs: their choices, counts and figures; and summaries of the runs of a scheme.
//!
//! Every run has the same keys, so that a script need not test which keys are present. A run is no result if its check
//! failed or if it ended before anything was measured. The figures of such a run are `null`, so that nobody takes them
//! for a measurement. Its counts stay: they show how far the run came, which helps to find the defect.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::line::kind;
use crate::{Basis, CheckVerdict, Choices, Machine, RunInsight, Simulation, Spread};

/// A run of a scheme: `contend run` writes one, and a sweep keeps each with the fields from `attempts` on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Run {
    /// Always `run`.
    pub kind: kind::Run,
    /// The choices that were made for the run.
    #[serde(flatten)]
    pub choices: Choices,
    /// The round of the run in its plan, from 0.
    pub round: u64,
    /// Seconds that loading took.
    pub load_s: f64,
    /// Seconds of the measured time. Commits of attempts that began in it are counted.
    pub measured_s: f64,
    /// Seconds that the check took.
    pub check_s: f64,
    /// Whether the run was ended early.
    #[serde(rename = "interrupted")]
    pub is_interrupted: bool,
    /// The result of the consistency check after the run.
    pub check: Check,
    /// The peak resident memory of the process during the run, in bytes; 0 if unknown.
    pub peak_rss_bytes: u64,
    /// The memory use after loading, by table in the order of declaration.
    pub memory_loaded: Vec<Table>,
    /// The memory use at the end, by table in the order of declaration.
    pub memory: Vec<Table>,
    /// The figures of the log; `null` if commits were not logged.
    pub log: Option<Log>,
    /// Whether the workers got less than 95% of the processor time that they asked for.
    #[serde(rename = "starved")]
    pub is_starved: bool,
    /// Processor time that the workers got, as a share of the time that they asked for; `null` if nothing was measured.
    pub cpu_share: Option<f64>,
    /// The machine, and its state before the run; the host, if the run was simulated.
    pub machine: Machine,
    /// The counts and latencies of all types of transaction together.
    #[serde(flatten)]
    pub counts: Counts,
    /// Commits a second of measured time; `null` if the run is no result.
    pub throughput_txn_s: Option<f64>,
    /// Attempts that the scheme aborted, as a share of all attempts except user aborts; `null` if the run is no result.
    pub abort_rate: Option<f64>,
    /// The counts and latencies of each type of transaction, by its name.
    pub by_type: BTreeMap<String, Counts>,
    /// The share of each type of transaction among the clients' requests, by its name. Empty in results from before
    /// shares were written.
    pub mix: BTreeMap<String, f64>,
    /// The types of transaction that hardly commit; `null` if the run is no result.
    pub starved_types: Option<Vec<TypeStarved>>,
    /// The share of each phase in the sampled time, by its name; `null` if nothing was sampled or the run is no result.
    pub breakdown: Option<BTreeMap<String, f64>>,
    /// Observations that only the scheme can make; `null` if it makes none, if the run is no result, or in results from
    /// before they were written.
    pub insight: Option<RunInsight>,
    /// Open-loop arrivals a second; `null` if the loop is closed or the run is no result.
    pub offered_txn_s: Option<f64>,
    /// Requests that were skipped because the queue was full; `null` if the loop is closed or the run is no result.
    pub skipped: Option<u64>,
    /// Whether nearly all arrivals were answered; `null` if the loop is closed or the run is no result.
    #[serde(rename = "target_sustained")]
    pub is_target_sustained: Option<bool>,
    /// Seconds that the warm-up lasted.
    pub warmed_up_s: f64,
    /// Whether the warm-up ended because throughput was steady; `null` if the warm-up is not automatic.
    #[serde(rename = "warmup_steady")]
    pub is_warmup_steady: Option<bool>,
    /// The requests that ended in turns in which others wait.
    pub turns: Turns,
    /// Whether throughput was steady over the measured time; `null` if there are too few intervals to tell.
    #[serde(rename = "steady")]
    pub is_steady: Option<bool>,
    /// Throughput by interval; `null` if the run is no result.
    pub series: Option<Series>,
    /// The settings of the scheme that have their standard values, where its authors have others. Left out if there are
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<TunedSetting>,
    /// The simulated machine, the trust in its constants and the costs of the simulation, if the run was simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
    /// The number of times that the sweep made the run until its workers got their processor time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u64>,
    /// The digest of the build that made the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The command that makes the run again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The id of the run: a digest of everything known that can change its outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The place and the time of the run, if a cluster's driver chose the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed: Option<Placed>,
    /// The values of the point in the sweep, by the names of the axes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<BTreeMap<String, String>>,
    /// The number of the repetition in the sweep, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition: Option<u64>,
}

impl Run {
    /// Whether the check of the run failed.
    pub fn is_failed(&self) -> bool {
        self.check.verdict == CheckVerdict::Failed
    }

    /// Whether this run says nothing new beside `other`: it was simulated by the same build with the same choices, the
    /// seed included, and so is the same run. Native runs never measure the same twice.
    pub fn repeats(&self, other: &Self) -> bool {
        let choices = |run: &Self| Choices { repeat: 1, ..run.choices.clone() };
        let is_simulated = self.choices.is_simulated && other.choices.is_simulated;
        is_simulated
            && self.choices.seed == other.choices.seed
            && self.counts == other.counts
            && self.build == other.build
            && choices(self) == choices(other)
    }

    /// Returns the 99th percentile of latency in microseconds; `None` if the run is no result, or nothing committed.
    pub fn p99_us(&self) -> Option<f64> {
        Some(self.counts.latency_us.as_ref()?.p99)
    }

    /// Returns the value that a sweep gave to an axis; `None` if there is none.
    pub fn at(&self, axis: &str) -> Option<&String> {
        self.point.as_ref()?.get(axis)
    }
}

/// A setting that has its standard value, and its value in the work of the scheme's authors.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct TunedSetting {
    /// The name of the setting.
    pub setting: String,
    /// The standard value.
    pub value: String,
    /// The value of the authors.
    pub published: String,
    /// The place that says so: a section of a paper, or a public program.
    pub place: String,
}

/// Counts and latencies of transactions.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Counts {
    /// The number of commits.
    pub commits: u64,
    /// The number of user aborts: transactions that their procedures rolled back.
    pub user_aborts: u64,
    /// The number of attempts that the scheme aborted, by the name of the reason. Reasons without aborts are left out.
    pub aborts: BTreeMap<String, u64>,
    /// The retries of committed transactions; `null` if nothing committed, or in results from before they were counted.
    pub retries: Option<Retries>,
    /// Latency in microseconds from the request to its commit, retries included; `null` if the run is no result, or
    /// nothing committed.
    pub latency_us: Option<Latency>,
    /// Latency in microseconds from the begin of execution; equal to `latency_us` if no request may wait before that.
    pub service_us: Option<Latency>,
    /// All latencies; `null` if the run is no result.
    pub latency_histogram: Option<Histogram>,
    /// All latencies from the begin of execution; `null` if the run is no result, or no request may wait before that.
    pub service_histogram: Option<Histogram>,
}

impl Counts {
    /// Returns the number of attempts that the scheme aborted.
    pub fn aborted(&self) -> u64 {
        self.aborts.values().sum()
    }
}

/// The retries of committed transactions: their attempts that the scheme aborted before.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Retries {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The maximum.
    pub max: u64,
    /// The greatest number of retries and the count of transactions of each nonempty bucket. Up to 15 retries, a bucket
    /// has one number.
    pub buckets: Vec<(u64, u64)>,
}

/// Latencies in microseconds.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The maximum.
    pub max: f64,
    /// The number of latencies that are longer than the longest that is kept.
    pub beyond_range: u64,
}

/// A whole histogram of latencies.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Histogram {
    /// The unit of durations: always `ns`.
    pub unit: String,
    /// The longest duration and the count of each nonempty bucket.
    pub buckets: Vec<(u64, u64)>,
    /// The number of durations beyond the last bucket.
    pub beyond_range: u64,
}

/// The result of the consistency check after a run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Check {
    /// The verdict.
    pub verdict: CheckVerdict,
    /// The conditions that do not hold, in words: at most one for each share of the check.
    pub details: Vec<String>,
}

/// The memory use of a table.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Table {
    /// The name of the table.
    pub table: String,
    /// Entries of the primary index.
    pub entries: u64,
    /// Bytes of rows, with the headers of the scheme.
    pub row_bytes: u64,
    /// Bytes of rows that wait to be used again.
    pub row_bytes_free: u64,
    /// Bytes of versions outside of the rows.
    pub version_bytes: u64,
    /// Bytes of versions that wait to be used again.
    pub version_bytes_free: u64,
    /// Bytes of the primary index.
    pub index_bytes: u64,
    /// The secondary indexes.
    pub secondary: Vec<Index>,
}

/// The memory use of a secondary index.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Index {
    /// The name of the index.
    pub index: String,
    /// The number of entries.
    pub entries: u64,
    /// The size in bytes.
    pub bytes: u64,
}

/// The figures of the log.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Log {
    /// Bytes that were written.
    pub bytes: u64,
    /// Rounds that were written and synced.
    pub rounds: u64,
    /// Checkpoints that were made.
    pub checkpoints: u64,
    /// Seconds that the checkpoints took.
    pub checkpoint_s: f64,
    /// A digest of the rows at the end, in hexadecimal digits.
    pub digest: String,
    /// The file systems that the log was written to; `null` if the log was not kept in files.
    pub file_systems: Option<Vec<Option<String>>>,
}

/// The requests that ended in turns in which others wait.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Turns {
    /// Requests that ended in a turn of their worker.
    pub worker: u64,
    /// Requests that ended in a turn of the database.
    pub database: u64,
}

/// Throughput by interval.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Series {
    /// Seconds of an interval.
    pub interval_s: f64,
    /// Commits a second in each interval of the warm-up.
    pub warmup_txn_s: Vec<f64>,
    /// Commits a second in each interval of the measured time.
    pub measured_txn_s: Vec<f64>,
}

/// The place and the time of a run on a cluster.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Placed {
    /// The name of the driver that chose the host.
    pub executor: String,
    /// The beginning of the host's name in the cluster.
    pub node: String,
    /// The begin of the block of runs, in seconds since 1970.
    pub block_begun_unix_s: f64,
    /// The end of the block of runs, in seconds since 1970.
    pub block_ended_unix_s: f64,
}

/// A type of transaction that hardly commits in some runs of a scheme.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct TypeStarved {
    /// The name of the type.
    #[serde(rename = "type")]
    pub name: String,
    /// Its commits.
    pub commits: u64,
    /// The number of its transactions that would have ended if it had its share of the mix.
    pub expected: f64,
}

/// The description of a run that lies beside the log of the run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Described {
    /// The choices that were made for the run.
    #[serde(flatten)]
    pub choices: Choices,
    /// A digest of the rows at the end, in hexadecimal digits; `null` if the run did not reach its end.
    pub digest: Option<String>,
}

/// The summary of all runs of a scheme in a plan. Its figures are `null` if none of the runs is a result.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, JsonSchema, Serialize)]
#[serde(default)]
pub struct Summary {
    /// Always `summary`.
    pub kind: kind::Summary,
    /// The choices that were made for the runs.
    #[serde(flatten)]
    pub choices: Choices,
    /// The number of runs that are results.
    pub results: u64,
    /// Commits a second of the runs.
    pub throughput_txn_s: Option<Spread>,
    /// The ratio of throughput to that of the plan's first scheme, round by round.
    pub ratio_to_first: Option<Spread>,
    /// The basis of `ratio_to_first`.
    pub ratio_basis: Option<Basis>,
    /// The ratio by wall time.
    pub ratio_to_first_wall_time: Option<Spread>,
    /// The plan's first scheme.
    pub first: String,
    /// Whether the plan was ended early.
    #[serde(rename = "interrupted")]
    pub is_interrupted: bool,
    /// Whether the workers of a run got less than 95% of the processor time that they asked for.
    #[serde(rename = "starved")]
    pub is_starved: bool,
    /// The types of transaction that hardly commit in the runs.
    pub starved_types: Vec<TypeStarved>,
}
