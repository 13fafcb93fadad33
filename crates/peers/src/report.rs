//! Formats results as a table for people, and as JSON.

use comfy_table::presets;
use peers::measure::{Measured, Plan, Spread};
use peers::peer::Peer as _;
use peers::peers::contend::Contend;
use peers::work::Outcome;
use serde_json::{Value, json};

use crate::args::WorkloadName;

/// Formats a table. Each column is as wide as its widest cell.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(presets::NOTHING).add_rows(rows);
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, 2));
    });
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Formats the table of results.
pub(crate) fn text(all: &[Measured], plan: &Plan, about: &str, scans: bool) -> String {
    let mut rows = vec![
        [
            "peer",
            "txn/s (least .. greatest)",
            "contend is",
            "retries",
            "p50 us",
            "p99 us",
            "isolation",
            "durability",
        ]
        .map(str::to_owned),
    ];
    let ours = all.iter().find(|measured| measured.peer == Contend::NAME);
    for measured in all {
        let (Ok(given), Some(rate)) = (measured.given, measured.rate()) else { continue };
        let times =
            ours.filter(|ours| ours.peer != measured.peer).and_then(|ours| measured.times(ours, scans));
        let show = |Spread { median, least, greatest }: Spread| {
            format!("{median:.2} times ({least:.2} .. {greatest:.2})")
        };
        let (retries, p50, p99) = of_all(measured);
        rows.push([
            measured.peer.clone(),
            format!("{:.0} ({:.0} .. {:.0})", rate.median, rate.least, rate.greatest),
            times.map_or_else(|| "-".to_owned(), show),
            format!("{:.1}%", 100.0 * retries),
            format!("{p50:.0}"),
            format!("{p99:.0}"),
            given.isolation.to_owned(),
            given.durability.to_owned(),
        ]);
    }
    let Plan { durability, workers, measured, rounds, dir, .. } = plan;
    let mut text = format!(
        "{about}; {workers} workers, durability {}, {rounds} rounds of {} s in {}\n\n",
        durability.name(),
        measured.as_secs_f64(),
        dir.display()
    );
    text.push_str(&table(&rows));
    for measured in all {
        if let Err(why) = measured.given {
            let why = format!("{} has no durability `{}`: {why}\n", measured.peer, durability.name());
            text.push_str(&why);
        }
    }
    text.push_str(
        "Medians of the rounds; `contend is` compares round by round, and nothing whose isolation is less.\n",
    );
    text
}

/// Returns the share of executions that were retried, and percentiles of latency in microseconds, over all rounds.
fn of_all(measured: &Measured) -> (f64, f64, f64) {
    let sum = |count: fn(&Outcome) -> u64| measured.outcomes.iter().map(count).sum::<u64>() as f64;
    let (retries, completed) = (sum(|outcome| outcome.retries), sum(|outcome| outcome.completed));
    let mut latency_ns = stdx::Histogram::default();
    measured.outcomes.iter().for_each(|outcome| latency_ns.merge(&outcome.latency_ns));
    let us = |quantile| latency_ns.quantile(quantile) as f64 / 1e3;
    (retries / (retries + completed).max(1.0), us(0.5), us(0.99))
}

/// Converts the outcome of a turn to a JSON object.
pub(crate) fn turn(peer: &str, round: u32, outcome: &Outcome, plan: &Plan, workload: WorkloadName) -> Value {
    json!({
        "kind": "turn",
        "workload": name(workload),
        "peer": peer,
        "round": round,
        "durability": plan.durability.name(),
        "workers": plan.workers,
        "seed": plan.seed,
        "seconds": outcome.seconds,
        "load_seconds": outcome.load_seconds,
        "commits": outcome.commits,
        "completed": outcome.completed,
        "retries": outcome.retries,
        "throughput_txn_s": outcome.rate(),
        "latency_us_p50": outcome.latency_ns.quantile(0.5) as f64 / 1e3,
        "latency_us_p99": outcome.latency_ns.quantile(0.99) as f64 / 1e3,
    })
}

/// Formats a JSON object for each store, one on each line.
pub(crate) fn json(all: &[Measured], plan: &Plan, workload: WorkloadName, scans: bool) -> String {
    let spread = |spread: Option<Spread>| {
        spread.map_or(Value::Null, |Spread { median, least, greatest }| json!([least, median, greatest]))
    };
    let ours = all.iter().find(|measured| measured.peer == Contend::NAME);
    let mut lines = Vec::new();
    for measured in all {
        let given = measured.given.ok();
        let times =
            ours.filter(|ours| ours.peer != measured.peer).and_then(|ours| measured.times(ours, scans));
        let object = json!({
            "kind": "peer",
            "workload": name(workload),
            "peer": measured.peer,
            "durability": plan.durability.name(),
            "durability_given": given.map(|given| given.durability),
            "isolation_given": given.map(|given| given.isolation),
            "left_out": measured.given.err(),
            "workers": plan.workers,
            "rounds": plan.rounds,
            "throughput_txn_s": spread(measured.rate()),
            "contend_times": spread(times),
        });
        lines.push(format!("{object}\n"));
    }
    lines.concat()
}

fn name(workload: WorkloadName) -> &'static str {
    match workload {
        WorkloadName::Ycsb => "ycsb",
        WorkloadName::Tpcc => "tpcc",
    }
}
