//! Sweeps as text for people.

use stats::Comparison;

use super::summary::{MARGIN, verdict_name};
use super::{LeftOut, PointSummary, Summary, Sweep, VARIANT};
use crate::simulation;
use crate::speed::Basis;
use crate::text::{Lines, Table, count, duration_s, percent, plural, ratio_interval};

/// Returns the plan of a sweep and the time that it will take, before anything runs. `made` is the number of runs whose
/// results are there already.
pub fn plan(sweep: &Sweep, made: usize) -> String {
    let recipe = &sweep.recipe;
    let mut lines = Lines::default();
    lines.add(&recipe.title);
    for (name, values) in &recipe.vary {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        lines.add(format!("  {name} = {}", values.join(", ")));
    }
    for variant in &recipe.variants {
        let settings: Vec<String> =
            variant.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        lines.add(format!("  {VARIANT} {}: {}", variant.name, settings.join(", ")));
    }
    for (name, value) in &recipe.settings {
        lines.add(format!("  {name} = {value}"));
    }
    for (name, why) in &recipe.why {
        lines.add(format!("  {name}: {why}"));
    }
    let (points, schemes) = (plural(sweep.points, "point"), plural(sweep.schemes.len(), "scheme"));
    let of = |count: usize| plural(count, "run");
    lines.add(format!(
        "{points}, {schemes}, {}: {}, {made} of them made",
        plural(recipe.repeat as usize, "repetition"),
        of(sweep.units.len())
    ));
    let lasts_s: f64 = sweep.units.iter().map(|unit| unit.lasts_s).sum();
    let left_s = lasts_s * (1.0 - made as f64 / sweep.units.len().max(1) as f64);
    lines.0 += &left_out(sweep);
    lines.add(format!("about {} left, estimated before the first run", duration_s(left_s)));
    if let Some(minutes) = recipe.budget_minutes {
        lines.add(format!("no run begins after {minutes} minutes; start the command again to continue"));
    }
    lines.0
}

/// Returns the table of a sweep's results, with notes for its readers.
pub fn results(sweep: &Sweep, summary: &Summary) -> String {
    let mut table = Table::default();
    let has_others = sweep.schemes.len() > 1;
    table.row(heads(&sweep.axes, has_others.then_some(sweep.schemes[0])));
    for line in &summary.lines {
        table.row(row(line, has_others));
    }
    format!("{}{}{}", table.render(), left_out(sweep), notes(sweep, summary))
}

/// Returns the points that schemes cannot run, one line for each scheme and reason.
fn left_out(sweep: &Sweep) -> String {
    let mut lines = Lines::default();
    for LeftOut { scheme, points, why } in &sweep.left_out {
        let (count, first) = (plural(points.len(), "point"), sweep.at(&points[0]));
        lines.add(format!("left out: {scheme} at {count}, the first {first}{why}"));
    }
    lines.0
}

/// Returns the heads of the columns of a table of lines. `against` is the scheme that lines are compared with, if any.
pub(crate) fn heads(axes: &[String], against: Option<&str>) -> Vec<String> {
    let fixed = ["scheme", "runs", "txn/s", "(interval)", "aborts", "p99"].map(str::to_owned);
    let mut heads = [axes, &fixed].concat();
    if let Some(first) = against {
        heads.extend([format!("of {first}"), "(interval)".to_owned(), "verdict".to_owned()]);
    }
    heads
}

/// Returns the figures of a line as text, in the columns of [`heads`].
pub(crate) fn row(line: &PointSummary, has_others: bool) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let mut row = line.point.clone();
    row.extend([line.scheme.clone(), line.throughput_txn_s.len().to_string()]);
    row.push(or_dash(line.median().map(count)));
    row.push(or_dash(
        line.interval
            .as_ref()
            .map(|interval| format!("({} .. {})", count(interval.low), count(interval.high))),
    ));
    row.push(or_dash(line.abort_rate.map(percent)));
    row.push(or_dash(line.p99_us.map(|us| crate::text::duration((us * 1e3) as u64))));
    if has_others {
        let ratio = |of: &Comparison| format!("{:.2}", of.ratio);
        let interval = |of: &Comparison| ratio_interval(of.interval.low, of.interval.high);
        row.push(or_dash(line.against_first.as_ref().map(ratio)));
        row.push(or_dash(line.against_first.as_ref().map(interval)));
        row.push(or_dash(line.verdict().map(|verdict| verdict_name(verdict).to_owned())));
    }
    row
}

fn notes(sweep: &Sweep, summary: &Summary) -> String {
    let mut lines = Lines::default();
    let planned = sweep.units.len();
    if summary.made < planned {
        lines.add(format!(
            "UNFINISHED: {} of {planned} runs were made; start the command again to continue.",
            summary.made
        ));
    }
    if summary.failed > 0 {
        lines.add(format!("CHECK FAILED in {}: they are no results.", plural(summary.failed, "run")));
    }
    if summary.starved > 0 {
        lines.add(format!(
            "STARVED: in {} the workers got less than 95% of the processor time they asked for, although the runs \
             were repeated.",
            plural(summary.starved, "run")
        ));
    }
    let of = |basis: Basis| summary.lines.iter().filter(|line| line.basis == Some(basis)).count();
    if of(Basis::ProcessorTime) > 0 {
        lines.add(format!(
            "ratios of {} are by processor time, since runs were starved; `--format json` has them by wall time, too",
            plural(of(Basis::ProcessorTime), "line")
        ));
    }
    if of(Basis::Both) > 0 {
        lines.add(format!(
            "ratios of {} are by wall time, though runs were starved, since clients wait by design; their intervals \
             include the ratios by processor time",
            plural(of(Basis::Both), "line")
        ));
    }
    for line in simulation::notes(summary.lines.iter().flat_map(|line| line.results.values())) {
        lines.add(line);
    }
    for line in summary.starvation.type_lines() {
        lines.add(line);
    }
    if summary.machines.len() > 1 {
        lines.add(format!(
            "{} MACHINES: the table compares figures of different machines, or of one machine in different states.",
            summary.machines.len()
        ));
    }
    let confidences = summary.lines.iter().filter_map(|line| Some(line.interval.as_ref()?.confidence));
    if let Some(least) = confidences.min_by(f64::total_cmp) {
        lines.add(format!(
            "intervals: exact, of the median; of the ratio by signed ranks of the pairs of a repetition; confidence \
             {} at least; a verdict needs 90%, and more than {} of difference",
            percent(least),
            percent(MARGIN - 1.0)
        ));
    }
    lines.0
}
