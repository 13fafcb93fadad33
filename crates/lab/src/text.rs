//! Results as text for people: tables whose columns line up, and notes below them.

use core::fmt::Write;

use engine::driver::{Limit, Retry};
use engine::setting::Setting;
use engine::{Abort, Admits};
use runs::Verdict;
use stdx::Histogram;

use crate::measure::{Totals, abort_rate};
use crate::{Catalogue, Machine, Plan, Record, Results, Spread};

/// A table: the first column is aligned left, the others right.
#[derive(Debug, Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column| self.rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column == 0 {
                    line += &format!("{cell:<width$}");
                } else {
                    line += &format!("  {cell:>width$}");
                }
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// What is run, in one or two lines.
pub fn header(plan: &Plan) -> String {
    let Limit::Time { warmup_ns, measured_ns } = plan.job.limit else { panic!("plans are of timed runs") };
    let retry = match plan.job.retry {
        Retry::Same => "same request",
        Retry::Drop => "dropped",
        Retry::Backoff => "same request after a pause",
    };
    let mut text = format!(
        "{}: {}, {}; {} s after {} s, {}; aborted: {retry}; seed {}\n",
        plan.workload.name,
        plural(plan.job.workers, "worker"),
        plural(plan.job.clients, "client"),
        measured_ns as f64 / 1e9,
        warmup_ns as f64 / 1e9,
        if plan.repeat == 1 { "once".to_owned() } else { format!("{} rounds in random order", plan.repeat) },
        plan.job.seed,
    );
    let changed = changed_settings(plan);
    if changed.is_empty() {
        text += "settings: all standard\n";
    } else {
        let pairs: Vec<String> = changed.iter().map(|(setting, value)| format!("{}={value}", setting.name)).collect();
        let _ = writeln!(text, "settings: {}; the others standard", pairs.join(" "));
    }
    text
}

/// The settings of a plan that are not at their standard values, each once.
fn changed_settings(plan: &Plan) -> Vec<(&'static Setting, String)> {
    let value = |setting: &Setting| {
        let values = plan.subjects.iter().map(|subject| &subject.values);
        values.flat_map(|values| values.iter()).find(|(name, _)| *name == setting.name).map(|(_, value)| value.to_owned())
    };
    let all = Catalogue.settings().map(|(_, setting)| setting);
    all.filter_map(|setting| Some((setting, value(setting).filter(|value| value != setting.default)?))).collect()
}

/// The table of all schemes of a plan.
pub fn results(plan: &Plan, results: &Results) -> String {
    let has_rounds = plan.repeat > 1;
    let has_ratio = plan.subjects.len() > 1;
    let mut table = Table::default();
    let mut head = vec!["scheme", "txn/s"];
    head.extend(has_rounds.then_some("(min .. max)"));
    head.extend(has_ratio.then_some("ratio"));
    head.extend((has_ratio && has_rounds).then_some("(min .. max)"));
    head.extend(["aborts", "p50", "p95", "p99", "max"]);
    table.row(head);
    for (position, subject) in plan.subjects.iter().enumerate() {
        let mut row = vec![subject.scheme.name.to_owned()];
        let (Some(throughput), totals) = (results.throughput(position), merged(&results.of(position))) else {
            let is_failed = results.records.iter().any(|record| record.subject == position && record.is_failed());
            row.push(if is_failed { "CHECK FAILED" } else { "not run" }.to_owned());
            table.row(row);
            continue;
        };
        row.push(count(throughput.median));
        row.extend(has_rounds.then(|| format!("({} .. {})", count(throughput.min), count(throughput.max))));
        if has_ratio {
            let ratio = results.ratio_to_first(position);
            row.push(ratio.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median)));
            row.extend(has_rounds.then(|| ratio.map_or_else(String::new, ratio_spread)));
        }
        row.push(percent(abort_rate(totals.commits, &totals.aborts)));
        row.extend(latencies(&totals.latency_ns));
        table.row(row);
    }
    table.render()
}

/// What a reader of the table must know beside it: a line each.
pub fn notes(plan: &Plan, results: &Results, machine: &Machine) -> String {
    let mut text = String::new();
    let name = |record: &Record| plan.subjects[record.subject].scheme.name;
    if results.records.iter().any(|record| record.measured.is_interrupted) {
        let (made, planned) = (results.records.len(), plan.order.len());
        let _ = writeln!(text, "INTERRUPTED: {made} of {planned} runs were begun, and the last was ended early.");
    }
    for record in results.records.iter().filter(|record| record.is_failed()) {
        let Verdict::Failed(violations) = &record.measured.verdict else { continue };
        for violation in violations {
            let _ = writeln!(text, "CHECK FAILED: {} (round {}): {violation}", name(record), record.round + 1);
        }
    }
    let passed = results.records.iter().filter(|record| record.measured.verdict == Verdict::Passed).count();
    if !plan.check {
        text += "check: skipped, so that these figures are not known to be of correct runs\n";
    } else if passed == results.records.len() {
        let _ = writeln!(text, "check: passed by {}", all(passed));
    }
    let starved: Vec<&Record> = results.records.iter().filter(|record| record.is_starved()).collect();
    if let Some(worst) = Spread::of(starved.iter().map(|record| record.measured.cpu_share)) {
        let _ = writeln!(
            text,
            "STARVED: in {} of {} runs the workers got less than 95% of the processor time they asked for \
             ({} at worst): something else uses the cores.",
            starved.len(),
            results.records.len(),
            percent(worst.min)
        );
    }
    if plan.job.workers > machine.cores {
        let _ = writeln!(
            text,
            "{} on {}: the system's scheduler decides who runs, and shows in these figures.",
            plural(plan.job.workers, "worker"),
            plural(machine.cores, "core")
        );
    }
    let _ = writeln!(text, "machine: {}", self::machine(machine));
    text
}

/// A single run by type of transaction, and where its time went.
pub fn details(plan: &Plan, record: &Record) -> String {
    let mut table = Table::default();
    table.row(["type", "commits", "rolled back", "aborts", "p50", "p95", "p99", "max"]);
    for (info, tally) in plan.workload.types.iter().zip(&record.measured.types) {
        let totals = Totals::from(tally);
        if totals.commits + totals.user_aborts + totals.aborts.iter().sum::<u64>() == 0 {
            continue;
        }
        let mut row = vec![info.name.to_owned(), count(totals.commits as f64), count(totals.user_aborts as f64)];
        row.push(percent(abort_rate(totals.commits, &totals.aborts)));
        row.extend(latencies(&totals.latency_ns));
        table.row(row);
    }
    let mut text = table.render();
    let reasons = Abort::ALL.into_iter().zip(record.totals().aborts).filter(|(_, number)| *number > 0);
    let reasons: Vec<String> = reasons.map(|(reason, number)| format!("{} {}", reason.name(), count(number as f64))).collect();
    if !reasons.is_empty() {
        let _ = writeln!(text, "aborts: {}", reasons.join(", "));
    }
    let ticks = &record.measured.phase_ticks;
    let sum: u64 = ticks.iter().sum();
    if sum > 0 {
        let shares = runs::Phase::NAMES.iter().zip(ticks);
        let shares: Vec<String> =
            shares.map(|(name, &ticks)| format!("{name} {}", percent(ticks as f64 / sum as f64))).collect();
        let _ = writeln!(text, "time: {}", shares.join(", "));
    }
    let _ = writeln!(
        text,
        "loaded in {:.1} s, checked in {:.1} s, at most {} resident",
        record.measured.load_ns as f64 / 1e9,
        record.measured.check_ns as f64 / 1e9,
        bytes(record.peak_rss_bytes)
    );
    text
}

/// What the settings stress, before anything runs.
pub fn explanation(plan: &Plan, machine: &Machine) -> String {
    let mut text = String::new();
    for sentence in &plan.forecast.sentences {
        text += &format!("- {sentence}\n");
    }
    text += &format!("- {}\n", data(plan, machine));
    text += &format!("- {}\n", concurrency(plan, machine));
    let changed = changed_settings(plan);
    if !changed.is_empty() {
        text += "\nSettings off their standard values, and what each stresses:\n";
        for (setting, value) in changed {
            text += &format!("  {}={value} (standard {}): {}\n", setting.name, setting.default, setting.stresses);
        }
    }
    text
}

fn data(plan: &Plan, machine: &Machine) -> String {
    let size = plan.forecast.row_bytes;
    let mut text = format!("{} rows, {} of columns", count(plan.forecast.rows as f64), bytes(size));
    if machine.cache_bytes > 0 {
        let ratio = size as f64 / machine.cache_bytes as f64;
        let cache = bytes(machine.cache_bytes);
        text += &match ratio {
            ratio if ratio <= 1.0 => format!("; they fit the last-level cache of {cache}"),
            ratio => format!("; that is {ratio:.1} times the last-level cache of {cache}, so cold rows are cache misses"),
        };
    }
    if machine.memory_bytes > 0 {
        let share = percent(size as f64 / machine.memory_bytes as f64);
        text += &format!(" and {share} of the memory of {}", bytes(machine.memory_bytes));
    }
    text + "."
}

fn concurrency(plan: &Plan, machine: &Machine) -> String {
    let (workers, clients) = (plan.job.workers, plan.job.clients);
    let mut text = format!(
        "{} on {} execute for {}, so that at most {} run at the same time and {} are in flight",
        plural(workers, "worker"),
        plural(machine.cores, "core"),
        plural(clients, "client"),
        workers.min(machine.cores),
        clients
    );
    if workers > machine.cores {
        text += "; more workers than cores measure the system's scheduler, too";
    }
    text + "."
}

/// The schemes.
pub fn schemes() -> String {
    let mut text = String::new();
    for info in Catalogue.schemes() {
        let workers = if info.workers == Admits::One { ", one worker only" } else { "" };
        let _ = writeln!(
            text,
            "{}: {} ({}; {}{workers})\n    {}\n    {}",
            info.name,
            info.title,
            info.family.name(),
            info.isolation.name(),
            info.idea,
            info.paper
        );
    }
    text
}

/// The workloads.
pub fn workloads() -> String {
    let mut text = String::new();
    for info in Catalogue.workloads() {
        let types: Vec<&str> = info.types.iter().map(|of| of.name).collect();
        let _ = writeln!(text, "{}: {}\n    transactions: {}", info.name, info.idea, types.join(", "));
    }
    text
}

/// The settings.
pub fn settings() -> String {
    let mut text = String::new();
    for (_, setting) in Catalogue.settings() {
        let unit = if setting.unit.is_empty() { String::new() } else { format!(" {}", setting.unit) };
        let _ = writeln!(
            text,
            "{}={}{unit}\n    {}: {}\n    stresses {}",
            setting.name, setting.default, setting.range, setting.doc, setting.stresses
        );
    }
    text
}

/// A machine in one line.
fn machine(machine: &Machine) -> String {
    let mut text = format!("{}, {}", machine.cpu, plural(machine.cores, "core"));
    if machine.memory_bytes > 0 {
        text += &format!(", {} of memory", bytes(machine.memory_bytes));
    }
    if machine.cache_bytes > 0 {
        text += &format!(", {} of last-level cache", bytes(machine.cache_bytes));
    }
    text += &format!(", {}", machine.kernel);
    if machine.is_virtual {
        text += ", virtual";
    }
    text
}

fn merged(records: &[&Record]) -> Totals {
    records.iter().map(|record| record.totals()).fold(Totals::default(), |mut sum, totals| {
        sum.commits += totals.commits;
        sum.user_aborts += totals.user_aborts;
        for (sum, aborts) in sum.aborts.iter_mut().zip(totals.aborts) {
            *sum += aborts;
        }
        sum.latency_ns.merge(&totals.latency_ns);
        sum
    })
}

fn latencies(ns: &Histogram) -> [String; 4] {
    let quantile = |quantile| if ns.count() == 0 { "-".to_owned() } else { duration(ns.quantile(quantile)) };
    [quantile(0.5), quantile(0.95), quantile(0.99), quantile(1.0)]
}

fn ratio_spread(ratio: Spread) -> String {
    format!("({:.2} .. {:.2})", ratio.min, ratio.max)
}

fn all(runs: usize) -> String {
    if runs == 1 { "the run".to_owned() } else { format!("all {runs} runs") }
}

/// A number and what it counts.
fn plural(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A share as a percentage with a digit after the point.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A number in groups of three digits.
pub fn count(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Nanoseconds in the unit that leaves one to three digits before the point.
pub fn duration(ns: u64) -> String {
    match ns as f64 {
        ns if ns < 1e3 => format!("{ns} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

/// Bytes in the unit, of powers of 1024, that leaves one to four digits before the point.
pub fn bytes(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64;
    let mut unit = "B";
    for next in units {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, next);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{size:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;
    use crate::measure::tests::{failed, record};

    fn plan(repeat: u64) -> Plan {
        let set = vec!["ycsb.records=100".to_owned(), "ycsb.theta=0.5".to_owned()];
        Plan::new(&Request { schemes: Some("silo".to_owned()), workers: Some(1), repeat, set, ..Request::new("ycsb") })
            .expect("legal")
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([count(0.0), count(999.6), count(1_234_567.0)], ["0", "1,000", "1,234,567"]);
        assert_eq!([duration(17), duration(2_500), duration(7_000_000)], ["17 ns", "2.5 us", "7.0 ms"]);
        assert_eq!([bytes(100), bytes(3 << 29), bytes(1 << 10)], ["100 B", "1.5 GiB", "1.0 KiB"]);
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::default();
        table.row(["a", "long head"]);
        table.row(["name", "7"]);
        assert_eq!(table.render(), "a     long head\nname          7\n");
    }

    #[test]
    fn the_header_states_what_is_not_standard() {
        let text = header(&plan(3));
        assert!(text.contains("1 worker, 1 client; 5 s after 1 s, 3 rounds"), "{text}");
        assert!(text.contains("settings: ycsb.records=100 ycsb.theta=0.5; the others standard"), "{text}");
    }

    #[test]
    fn a_table_of_rounds_has_medians_and_spread() {
        let made = Results { records: vec![record(0, 0, 1_000), record(0, 1, 3_000)] };
        let text = results(&plan(2), &made);
        assert!(text.contains("2,000  (1,000 .. 3,000)   20.0%  2.5 us"), "{text}");
    }

    #[test]
    fn a_failed_run_has_no_figures_and_a_note() {
        let made = Results { records: vec![failed(0, 0)] };
        let plan = plan(1);
        assert!(results(&plan, &made).contains("silo    CHECK FAILED\n"));
        let notes = notes(&plan, &made, &Machine { cores: 1, ..Machine::default() });
        assert!(notes.contains("CHECK FAILED: silo (round 1): money is conserved: 2 is not 3"), "{notes}");
        assert!(!notes.contains("passed"));
    }

    #[test]
    fn interrupted_and_starved_runs_are_marked() {
        let mut run = record(0, 0, 1_000);
        run.measured.is_interrupted = true;
        run.measured.cpu_share = 0.5;
        let notes = notes(&plan(2), &Results { records: vec![run] }, &Machine { cores: 1, ..Machine::default() });
        assert!(notes.contains("INTERRUPTED: 1 of 2 runs"), "{notes}");
        assert!(notes.contains("STARVED: in 1 of 1 runs") && notes.contains("50.0% at worst"), "{notes}");
    }

    #[test]
    fn explanations_name_data_and_concurrency() {
        let machine = Machine { cores: 2, cache_bytes: 1 << 20, memory_bytes: 1 << 30, ..Machine::default() };
        let text = explanation(&plan(1), &machine);
        assert!(text.contains("fit the last-level cache") && text.contains("1 worker on 2 cores"), "{text}");
        assert!(text.contains("ycsb.theta=0.5 (standard 0.99): contention"), "{text}");
    }
}
