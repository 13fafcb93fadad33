//! Tables for programs: one has a row for each run, the other a row for each line of a study. Commas separate fields,
//! as in RFC 4180.

use std::collections::BTreeSet;

use results::{Interval, Latency, Run};
use serde_json::{Value, json};

use super::Report;
use super::varied::chosen;
use crate::json::SCHEMA;
use crate::sweep::point_of;
use crate::{Starvation, StarvedType};

/// The beginning of every table, by which a file is recognised as a table of a report.
pub const MARK: &str = "schema,kind,workload,scheme,";

/// Fields of a run that come first, as far as the run has them; settings follow.
const FIELDS: [&str; 12] = [
    "id",
    "build",
    "isolation",
    "seed",
    "round",
    "clients",
    "measured_s",
    "commits",
    "user_aborts",
    "throughput_txn_s",
    "abort_rate",
    "cpu_share",
];

/// A figure of latencies, in microseconds.
type Figure = fn(&Latency) -> f64;

const LATENCIES: [(&str, Figure); 6] = [
    ("mean", |us| us.mean),
    ("p50", |us| us.p50),
    ("p95", |us| us.p95),
    ("p99", |us| us.p99),
    ("p999", |us| us.p999),
    ("max", |us| us.max),
];

/// Returns the table of runs: a row for each run, and a column for each choice that was made for the runs.
pub fn runs(report: &Report) -> String {
    let table = rows_of_runs(report);
    written(&table)
}

/// Returns the table of lines: a row for each scheme at each point of each study.
pub fn lines(report: &Report) -> String {
    written(&rows_of_lines(report))
}

/// A table: column headings, and the rows below them. A field without a value is `null`.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<Value>>,
}

pub(super) fn rows_of_runs(report: &Report) -> Rows {
    let mut seen = BTreeSet::new();
    // A run may belong to several studies, and still has one row.
    let runs: Vec<&Run> = report
        .studies
        .iter()
        .flat_map(|study| &study.runs)
        .filter(|run| seen.insert(run.to_string()))
        .collect();
    let names: BTreeSet<String> = runs.iter().flat_map(|run| chosen(run).into_keys()).collect();
    let reasons: BTreeSet<&String> = runs.iter().flat_map(|run| run.counts.aborts.keys()).collect();
    let mut heads: Vec<String> = ["schema", "kind", "workload", "scheme"].map(str::to_owned).to_vec();
    heads.extend(FIELDS.map(str::to_owned));
    heads.extend(LATENCIES.map(|(name, _)| format!("latency_us_{name}")));
    heads.extend(["check", "starved", "starved_types", "interrupted"].map(str::to_owned));
    heads.extend(reasons.iter().map(|reason| format!("aborts_{reason}")));
    // An option that drives runs may have the same name as a measured field: the prefix tells the two apart.
    heads.extend(names.iter().map(|name| format!("set_{name}")));
    heads.push("command".to_owned());
    let row = |run: &&Run| {
        let Run { choices, counts, .. } = run;
        let mut row = vec![json!(SCHEMA), "run".into(), json!(choices.workload), json!(choices.scheme)];
        row.extend([json!(run.id), json!(run.build), json!(choices.isolation), json!(choices.seed)]);
        row.extend([json!(run.round), json!(choices.clients), json!(run.measured_s), json!(counts.commits)]);
        row.extend([json!(counts.user_aborts), json!(run.throughput_txn_s), json!(run.abort_rate)]);
        row.push(json!(run.cpu_share));
        row.extend(LATENCIES.map(|(_, of)| json!(counts.latency_us.as_ref().map(of))));
        let types = names_of(&Starvation::of([*run]).types());
        row.extend([json!(run.check.verdict), run.is_starved.into(), types, run.is_interrupted.into()]);
        row.extend(reasons.iter().map(|reason| json!(counts.aborts.get(*reason).unwrap_or(&0))));
        let chosen = chosen(run);
        row.extend(
            names.iter().map(|name| chosen.get(name).map_or(Value::Null, |value| value.clone().into())),
        );
        row.push(json!(run.command));
        row
    };
    let rows = runs.iter().map(row).collect();
    Rows { heads, rows }
}

pub(super) fn rows_of_lines(report: &Report) -> Rows {
    let axes: BTreeSet<&String> =
        report.studies.iter().flat_map(|study| study.axes.iter().map(|axis| &axis.name)).collect();
    let figures = [
        "results",
        "runs",
        "failed",
        "starved",
        "starved_types",
        "throughput_txn_s",
        "interval_low",
        "interval_high",
        "interval_confidence",
        "abort_rate",
        "p99_us",
        "against",
        "ratio",
        "ratio_low",
        "ratio_high",
        "ratio_confidence",
        "p_value",
        "superiority",
        "verdict",
    ];
    let mut heads: Vec<String> =
        ["schema", "kind", "workload", "scheme", "study"].map(str::to_owned).to_vec();
    heads.extend(axes.iter().map(|name| format!("set_{name}")));
    heads.extend(figures.map(str::to_owned));
    let mut rows = Vec::new();
    for study in &report.studies {
        let names: Vec<String> = study.axes.iter().map(|axis| axis.name.clone()).collect();
        for line in &study.lines {
            let of = point_of(&study.workload, &names, &study.first, &line.line);
            let ends = |of: Option<Interval>| {
                let ends = of.map(|Interval { low, high, confidence }| [low, high, confidence]);
                ends.map_or([const { Value::Null }; 3], |ends| ends.map(Value::from))
            };
            let mut row: Vec<Value> = vec![SCHEMA.into(), "line".into(), study.workload.clone().into()];
            row.extend([line.line.scheme.clone().into(), study.title.clone().into()]);
            row.extend(axes.iter().map(|name| json!(of.point.get(*name))));
            row.extend([of.results.into(), line.runs.into(), line.failed.into(), line.starved.into()]);
            row.push(names_of(&line.starved_types));
            row.push(of.throughput_txn_s.into());
            row.extend(ends(of.interval));
            row.extend([of.abort_rate.into(), of.p99_us.into()]);
            let against = of.against_first.as_ref();
            row.extend([against.map(|_| of.first.clone()).into(), against.map(|of| of.ratio).into()]);
            row.extend(ends(against.map(|of| of.interval)));
            row.extend([against.map(|of| of.p_value).into(), against.map(|of| of.superiority).into()]);
            row.push(json!(against.and_then(|of| of.verdict)));
            rows.push(row);
        }
    }
    Rows { heads, rows }
}

/// Returns the names of types, separated by spaces; null if there are none.
fn names_of(types: &[StarvedType]) -> Value {
    let names: Vec<&str> = types.iter().map(|of| of.name.as_str()).collect();
    if names.is_empty() { Value::Null } else { names.join(" ").into() }
}

fn written(table: &Rows) -> String {
    let line = |fields: Vec<String>| fields.join(",") + "\r\n";
    let heads = line(table.heads.iter().map(|head| field(head)).collect());
    let value = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => field(text),
        value => field(&value.to_string()),
    };
    let rows = table.rows.iter().map(|row| line(row.iter().map(value).collect()));
    heads + &rows.collect::<String>()
}

/// Returns a field, in quotation marks if it needs them.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
