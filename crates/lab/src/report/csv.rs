//! Tables for programs: one has a row for each run, the other a row for each line of a study. Commas separate fields,
//! as in RFC 4180.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Report;
use super::varied::{chosen, shown};
use crate::json::SCHEMA;
use crate::sweep::{json_of, verdict_name};
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
const LATENCIES: [&str; 6] = ["mean", "p50", "p95", "p99", "p999", "max"];

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
    let runs: Vec<&Value> = report
        .studies
        .iter()
        .flat_map(|study| &study.runs)
        .filter(|run| seen.insert(run.to_string()))
        .collect();
    let names: BTreeSet<String> = runs.iter().flat_map(|run| chosen(run).into_keys()).collect();
    let reasons: BTreeSet<&String> = runs
        .iter()
        .flat_map(|run| run["aborts"].as_object().into_iter().flat_map(|aborts| aborts.keys()))
        .collect();
    let mut heads: Vec<String> = ["schema", "kind", "workload", "scheme"].map(str::to_owned).to_vec();
    heads.extend(FIELDS.map(str::to_owned));
    heads.extend(LATENCIES.map(|name| format!("latency_us_{name}")));
    heads.extend(["check", "starved", "starved_types", "interrupted"].map(str::to_owned));
    heads.extend(reasons.iter().map(|reason| format!("aborts_{reason}")));
    // An option that drives runs may have the same name as a measured field: the prefix tells the two apart.
    heads.extend(names.iter().map(|name| format!("set_{name}")));
    heads.push("command".to_owned());
    let row = |run: &&Value| {
        let mut row = vec![SCHEMA.into(), "run".into(), run["workload"].clone(), run["scheme"].clone()];
        row.extend(FIELDS.map(|name| run[name].clone()));
        row.extend(LATENCIES.map(|name| run["latency_us"][name].clone()));
        let types = names_of(&Starvation::of([*run]).types());
        row.extend([
            run["check"]["verdict"].clone(),
            run["starved"].clone(),
            types,
            run["interrupted"].clone(),
        ]);
        row.extend(
            reasons.iter().map(|reason| run["aborts"].get(*reason).cloned().unwrap_or_else(|| 0.into())),
        );
        let chosen = chosen(run);
        row.extend(
            names.iter().map(|name| chosen.get(name).map_or(Value::Null, |value| value.clone().into())),
        );
        row.push(run["command"].clone());
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
            let value = json_of(&study.workload, &names, &study.first, &line.line);
            let mut row: Vec<Value> = vec![SCHEMA.into(), "line".into(), study.workload.clone().into()];
            row.extend([line.line.scheme.clone().into(), study.title.clone().into()]);
            row.extend(axes.iter().map(|name| value["point"][name.as_str()].clone()));
            row.extend([value["results"].clone(), line.runs.into(), line.failed.into(), line.starved.into()]);
            row.push(names_of(&line.starved_types));
            row.push(value["throughput_txn_s"].clone());
            row.extend(["low", "high", "confidence"].map(|key| value["interval"][key].clone()));
            row.extend([value["abort_rate"].clone(), value["p99_us"].clone()]);
            let against = &value["against_first"];
            row.extend([
                if against.is_null() { Value::Null } else { value["first"].clone() },
                against["ratio"].clone(),
            ]);
            row.extend(["low", "high", "confidence"].map(|key| against["interval"][key].clone()));
            row.extend([against["p_value"].clone(), against["superiority"].clone()]);
            row.push(line.line.verdict().map_or(Value::Null, |verdict| verdict_name(verdict).into()));
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
    let value = |value: &Value| if value.is_null() { String::new() } else { field(&shown(value)) };
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
