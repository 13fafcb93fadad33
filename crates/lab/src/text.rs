//! Results as text for people: tables whose columns line up, and notes below them.

use core::fmt::{Display, Write};

use comfy_table::{CellAlignment, presets};
use engine::driver::Retry;
use engine::entry::{Entry, Published};
use engine::setting::{Setting, Values};
use engine::{Abort, Admits, Info};
use results::TunedSetting;
use runs::CheckVerdict;
use stdx::Histogram;
use trials::{CampaignReport, Plant};

use crate::measure::{Totals, abort_rate};
use crate::steady::Steadiness;
use crate::{
    Basis, Catalogue, Machine, Plan, PlannedScheme, Ratios, Record, Results, Spread, simulation, traffic,
};

/// Lines of text.
#[derive(Debug, Default)]
pub(crate) struct Lines(pub(crate) String);

impl Lines {
    pub(crate) fn add(&mut self, line: impl Display) {
        writeln!(self.0, "{line}").expect("a string takes any text");
    }
}

/// A table: the first column is aligned left, the others right.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) fn render(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).add_rows(&self.rows);
        for (at, column) in table.column_iter_mut().enumerate() {
            let alignment = if at == 0 { CellAlignment::Left } else { CellAlignment::Right };
            column.set_padding((0, 2)).set_cell_alignment(alignment);
        }
        table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

/// Returns the header of a plan: the runs and their settings.
pub fn header(plan: &Plan) -> String {
    let retry = match plan.job.retry {
        Retry::Same => "same request",
        Retry::Drop => "dropped",
        Retry::Backoff => "same request after a pause",
        Retry::Fixed => "same request after a pause of one length at most",
        Retry::Climb => "same request after a pause that is adapted",
    };
    let rounds =
        if plan.repeat == 1 { "once".to_owned() } else { format!("{} rounds in random order", plan.repeat) };
    let (workers, clients) = (plural(plan.job.workers, "worker"), plural(plan.job.clients, "client"));
    let raised: Vec<String> =
        plan.raised().map(|subject| format!("{} {}", subject.scheme.name, subject.clients)).collect();
    let raised = if raised.is_empty() { String::new() } else { format!(" ({})", raised.join(", ")) };
    let mut lines = Lines::default();
    lines.add(format!(
        "{}: {workers}, {clients}{raised}; {}, {rounds}; aborted: {retry}; seed {}",
        plan.workload.name,
        length(plan),
        plan.job.seed,
    ));
    if let Some(simulation) = &plan.simulation {
        lines.add(simulation.told());
    }
    if let Some(told) = traffic::told(&plan.job.traffic) {
        lines.add(format!("traffic: {told}"));
    }
    lines.add(changed(plan));
    lines.0.extend(idle(plan));
    changed_promises(plan).for_each(|sentence| lines.add(sentence));
    lines.0
}

/// Returns the length of a plan's runs in words.
fn length(plan: &Plan) -> String {
    if plan.simulation.is_some() {
        return simulation::limit(plan);
    }
    if let Some(requests) = plan.requests {
        return format!("{} a worker, all of which count", plural(requests as usize, "request"));
    }
    let [warmup_s, measured_s, cooldown_s] = plan.times_s();
    let warmup =
        if plan.job.is_steady.is_some() { "a steady state".to_owned() } else { format!("{warmup_s} s") };
    let cooldown = if cooldown_s > 0.0 { format!(" and before {cooldown_s} s") } else { String::new() };
    format!("{measured_s} s after {warmup}{cooldown}")
}

/// Returns the settings of a plan that are not at their standard values, as a line.
pub(crate) fn changed(plan: &Plan) -> String {
    let changed = changed_settings(plan);
    let pairs: Vec<String> =
        changed.iter().map(|(setting, value)| format!("{}={value}", setting.name)).collect();
    if pairs.is_empty() {
        return "settings: all standard".to_owned();
    }
    format!("settings: {}; the others standard", pairs.join(" "))
}

/// Returns a line for each standard setting of a plan's schemes that their authors have at another value.
pub fn tuned(plan: &Plan) -> String {
    let mut lines = Lines::default();
    for TunedSetting { setting, value, published, place } in
        plan.subjects.iter().flat_map(|subject| plan.tuned(subject))
    {
        lines.add(format!("tuned: {setting}={value}, as published {published} ({place})"));
    }
    lines.0
}

/// Returns a line about the settings of a plan that are not at their standard values and have no effect; `None` if
/// there are none.
fn idle(plan: &Plan) -> Option<String> {
    let changed = changed_settings(plan);
    let names = changed.iter().map(|(setting, _)| setting.name);
    let names: Vec<&str> = names.filter(|name| plan.forecast.idle.contains(name)).collect();
    (!names.is_empty()).then(|| format!("without effect under the other settings: {}\n", names.join(", ")))
}

/// Returns a sentence for each scheme whose isolation under the plan's settings differs from its standard isolation.
fn changed_promises(plan: &Plan) -> impl Iterator<Item = String> {
    plan.subjects.iter().filter(|subject| subject.isolation() != subject.scheme.isolation).map(|subject| {
        let (name, isolation) = (subject.scheme.name, subject.isolation().name());
        format!(
            "isolation: {name} is {isolation} under these settings, not {}",
            subject.scheme.isolation.name()
        )
    })
}

/// Returns the settings of a plan that are not at their standard values, each once.
fn changed_settings(plan: &Plan) -> Vec<(&'static Setting, String)> {
    let value = |setting: &Setting| {
        let values = plan.subjects.iter().map(|subject| &subject.values);
        values
            .flat_map(Values::iter)
            .find(|(name, _)| *name == setting.name)
            .map(|(_, value)| value.to_owned())
    };
    let all = plan.catalogue.settings().map(|(_, setting)| setting);
    all.filter_map(|setting| Some((setting, value(setting).filter(|value| value != setting.default)?)))
        .collect()
}

/// Returns the table of results of all schemes of a plan.
pub fn results(plan: &Plan, results: &Results, machine: &Machine) -> String {
    let has_rounds = plan.repeat > 1;
    let has_ratio = plan.subjects.len() > 1;
    let ratios: Vec<Option<Ratios>> =
        (0..plan.subjects.len()).map(|position| results.ratio_to_first(plan, machine, position)).collect();
    let has_wall = has_ratio && ratios.iter().flatten().any(is_starved);
    let mut table = Table::default();
    let mut head = vec!["scheme", "txn/s"];
    head.extend(has_rounds.then_some("(min .. max)"));
    head.extend(has_ratio.then_some("ratio"));
    head.extend((has_ratio && has_rounds).then_some("(min .. max)"));
    head.extend(has_wall.then_some("by wall time"));
    head.extend(["aborts", "p50", "p95", "p99", "max"]);
    let may_queue = plan.job.traffic.may_queue();
    head.extend(may_queue.then_some(SERVICE_HEADS).into_iter().flatten());
    table.row(head);
    for (position, subject) in plan.subjects.iter().enumerate() {
        let mut row = vec![subject.scheme.name.to_owned()];
        let (Some(throughput), totals) = (results.throughput(position), merged(&results.of(position))) else {
            let mut made = results.records.iter().filter(|record| record.subject == position).peekable();
            let instead = if made.peek().is_none() {
                "not run"
            } else if made.any(Record::is_failed) {
                "CHECK FAILED"
            } else {
                "nothing measured"
            };
            row.push(instead.to_owned());
            table.row(row);
            continue;
        };
        row.push(count(throughput.median));
        row.extend(has_rounds.then(|| format!("({} .. {})", count(throughput.min), count(throughput.max))));
        if has_ratio {
            let of =
                |text: &dyn Fn(&Ratios) -> String| ratios[position].as_ref().map_or_else(String::new, text);
            row.push(of(&|ratio| format!("{:.2}", ratio.spread.median)));
            row.extend(has_rounds.then(|| of(&|ratio| ratio_spread(ratio.spread))));
            row.extend(has_wall.then(|| of(&|ratio| format!("{:.2}", ratio.by_wall.median))));
        }
        row.push(percent(abort_rate(totals.commits, &totals.aborts)));
        row.extend(latencies(&totals.latency_ns));
        row.extend(may_queue.then(|| service(&totals.service_ns)).into_iter().flatten());
        table.row(row);
    }
    table.render()
}

/// Whether ratios have another basis than wall time, because runs were starved.
fn is_starved(ratios: &Ratios) -> bool {
    ratios.basis != Basis::WallTime
}

/// Returns a line for each basis of ratios that is not wall time.
fn bases(plan: &Plan, results: &Results, machine: &Machine) -> Vec<String> {
    let of = |basis: Basis| {
        let is_of = |position: &usize| {
            let ratios = results.ratio_to_first(plan, machine, *position);
            *position > 0 && ratios.is_some_and(|ratios| ratios.basis == basis)
        };
        let names =
            (0..plan.subjects.len()).filter(is_of).map(|position| plan.subjects[position].scheme.name);
        names.collect::<Vec<_>>().join(", ")
    };
    let (processor, both) = (of(Basis::ProcessorTime), of(Basis::Both));
    let mut lines = Vec::new();
    if !processor.is_empty() {
        lines.push(format!(
            "ratio: of {processor} by commits a second of processor time, as runs were starved; beside it by wall time"
        ));
    }
    if !both.is_empty() {
        lines.push(format!(
            "ratio: of {both} by wall time, though runs were starved, since clients wait by design; its range reaches \
             over that by processor time"
        ));
    }
    lines
}

/// Returns a note about runs that were not checked because most of their rows were never made.
fn unseen(plan: &Plan, results: &Results) -> Option<String> {
    let is_unseen = |record: &&Record| {
        let is_implicit = record.simulated.as_ref().is_some_and(|costs| costs.implicit_rows > 0);
        is_implicit && record.measured.verdict == CheckVerdict::Skipped
    };
    let count = results.records.iter().filter(is_unseen).count();
    (plan.check && count > 0).then(|| {
        format!(
            "check: skipped by {}: rows were made when they were touched, and those that nobody touched cannot be \
             looked at (`run.rows`)",
            all(count)
        )
    })
}

/// Returns a line about each run that came to its end without a measured time.
fn nothing_measured(plan: &Plan, results: &Results) -> impl Iterator<Item = String> {
    let goes_by_time = plan.simulation.is_none() && plan.requests.is_none();
    let longer = if goes_by_time { "--seconds" } else { "--txns" };
    let is_told = |record: &&Record| record.is_empty() && !record.measured.is_interrupted;
    results.records.iter().filter(is_told).map(move |record| {
        format!(
            "NOTHING MEASURED: no transaction of {} ended in the measured time: measure longer (`{longer}`), or lower \
             what transactions wait for (`run.pause_us`, `run.abort_us`).",
            plan.subjects[record.subject].scheme.name
        )
    })
}

/// Returns the notes for readers of the table of results, one a line.
pub fn notes(plan: &Plan, results: &Results, machine: &Machine) -> String {
    let mut lines = Lines::default();
    let (made, planned) = (results.records.len(), plan.order.len());
    if made < planned || results.is_interrupted() {
        let last = if results.is_interrupted() { ", the last of them ended early" } else { "" };
        lines.add(format!("INTERRUPTED: {made} of {planned} runs were made{last}."));
    }
    nothing_measured(plan, results).for_each(|line| lines.add(line));
    for record in &results.records {
        let CheckVerdict::Failed(violations) = &record.measured.verdict else { continue };
        let (scheme, round) = (plan.subjects[record.subject].scheme.name, record.round + 1);
        for violation in violations {
            lines.add(format!("CHECK FAILED: {scheme} (round {round}): {violation}"));
        }
    }
    for line in courses(plan, results) {
        lines.add(line);
    }
    let passed =
        results.records.iter().filter(|record| record.measured.verdict == CheckVerdict::Passed).count();
    if let Some(note) = unseen(plan, results) {
        lines.add(note);
    } else if !plan.check {
        lines.add("check: skipped, so that these figures are not known to be of correct runs");
    } else if passed == made && made > 0 {
        lines.add(format!("check: passed by {}", all(passed)));
    }
    for line in results.starvation(plan).lines() {
        lines.add(line);
    }
    let turns: u64 = results.records.iter().flat_map(|record| record.measured.turns).sum();
    if turns > 0 {
        lines.add(format!(
            "TURNS: {} aborted {} times or more in a row, and others waited until they ended (`run.turn_after`).",
            if turns == 1 { "one request was".to_owned() } else { format!("{} requests were", count(turns as f64)) },
            plan.job.turn_after
        ));
    }
    if plan.simulation.is_none() && plan.job.workers > machine.cores {
        lines.add(format!(
            "{} on {}: the system's scheduler decides who runs, and shows in these figures.",
            plural(plan.job.workers, "worker"),
            plural(machine.cores, "core")
        ));
    }
    if let Some(logs) = &plan.logs {
        lines.add(logs.note());
        let waits = plan.subjects.iter().any(|subject| subject.values.text("run.durability") == "group");
        if waits && plan.job.clients == plan.job.workers {
            lines.add(
                "durability: each client waits for the device after each commit; more clients (`--clients`) keep the \
                 workers busy meanwhile",
            );
        }
    }
    for line in bases(plan, results, machine) {
        lines.add(line);
    }
    let host = if let Some(simulation) = &plan.simulation {
        lines.add(simulation.told());
        "simulated by"
    } else {
        "machine"
    };
    lines.add(format!("{host}: {}", self::machine(machine)));
    lines.0
}

/// Returns notes about the course of runs: warm-ups, changes of throughput, and rates that were not sustained.
fn courses(plan: &Plan, results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for record in &results.records {
        let name = format!("{} (round {})", plan.subjects[record.subject].scheme.name, record.round + 1);
        if let Some(offer) = record.offer(plan).filter(|offer| !offer.is_sustained) {
            lines.push(format!(
                "TARGET NOT SUSTAINED: {name}: {} of {} requests a second were answered; {} were skipped.",
                count(offer.answered_txn_s),
                count(offer.offered_txn_s),
                count(offer.skipped as f64)
            ));
        } else if let Some(offer) = record.offer(plan).filter(|offer| offer.skipped > 0) {
            lines.push(format!("skipped: {name}: {} requests", count(offer.skipped as f64)));
        }
        let series = &record.measured.series;
        let warmup_s = series.warmup_ns as f64 / 1e9;
        match series.is_warm {
            // A simulated warm-up is of a number of commits, and its time says nothing.
            Some(true) if plan.simulation.is_some() => {}
            Some(true) => lines.push(format!("warm-up: {name} was steady after {warmup_s:.1} s")),
            Some(false) => {
                lines.push(format!("NOT STEADY: {name} was not steady after {warmup_s:.1} s of warm-up."));
            }
            None => {}
        }
        if let Some(told) = record.steadiness().and_then(Steadiness::told) {
            lines.push(format!("NOT STEADY: {name} {told}."));
        }
    }
    lines
}

/// Returns a single run by type of transaction, with its abort reasons and the shares of phases in its time.
pub fn details(plan: &Plan, record: &Record) -> String {
    let mut table = Table::default();
    let may_queue = plan.job.traffic.may_queue();
    let head = ["type", "commits", "rolled back", "aborts", "p50", "p95", "p99", "max"];
    table.row(head.into_iter().chain(may_queue.then_some(SERVICE_HEADS).into_iter().flatten()));
    for (info, tally) in plan.workload.types.iter().zip(&record.measured.types) {
        let totals = Totals::from(tally);
        if totals.commits + totals.user_aborts + totals.aborts.iter().sum::<u64>() == 0 {
            continue;
        }
        let mut row =
            vec![info.name.to_owned(), count(totals.commits as f64), count(totals.user_aborts as f64)];
        row.push(percent(abort_rate(totals.commits, &totals.aborts)));
        row.extend(latencies(&totals.latency_ns));
        row.extend(may_queue.then(|| service(&totals.service_ns)).into_iter().flatten());
        table.row(row);
    }
    let mut lines = Lines(table.render());
    let reasons = Abort::ALL.into_iter().zip(record.totals().aborts).filter(|(_, number)| *number > 0);
    let reasons: Vec<String> =
        reasons.map(|(reason, number)| format!("{} {}", reason.name(), count(number as f64))).collect();
    if !reasons.is_empty() {
        lines.add(format!("aborts: {}", reasons.join(", ")));
    }
    let ticks = &record.measured.phase_ticks;
    let sum: u64 = ticks.iter().sum();
    if sum > 0 {
        // Most schemes need no footprints.
        let shares = runs::Phase::NAMES.iter().zip(ticks);
        let shares = shares.filter(|(name, ticks)| **name != runs::Phase::Footprint.name() || **ticks > 0);
        let shares: Vec<String> =
            shares.map(|(name, &ticks)| format!("{name} {}", percent(ticks as f64 / sum as f64))).collect();
        lines.add(format!("time: {}", shares.join(", ")));
    }
    if let Some(costs) = &record.simulated {
        let shares = costs.shares(plan, record);
        let shares: Vec<String> =
            shares.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
        lines.add(format!("machine's time: {}", shares.join(", ")));
        lines.add(costs.interval(record));
        let hottest = costs.hottest.iter().map(|line| format!("{} {}", line.name, percent(line.share)));
        let hottest: Vec<String> = hottest.collect();
        if !hottest.is_empty() {
            lines.add(format!("hottest lines, of the time of accesses: {}", hottest.join(", ")));
        }
    }
    lines.add(format!(
        "loaded in {:.1} s, checked in {:.1} s, at most {} resident",
        record.measured.load_ns as f64 / 1e9,
        record.measured.check_ns as f64 / 1e9,
        bytes(record.peak_rss_bytes)
    ));
    lines.0
}

/// The effect of a setting that has none.
const IDLE: &str = "nothing, because it has no effect under the other settings";

/// Returns an explanation of what the settings stress, before anything runs.
pub fn explanation(plan: &Plan, machine: &Machine) -> String {
    let mut lines = Lines::default();
    let own = [data(plan, machine), concurrency(plan, machine)];
    let shared = shared_records(plan);
    let all = plan.forecast.sentences.iter().chain(&own).chain(&shared);
    all.for_each(|sentence| lines.add(format!("- {sentence}")));
    let changed = changed_settings(plan);
    if !changed.is_empty() {
        lines.add("\nSettings that differ from the standard, with the effects that each stresses:");
    }
    for (setting, value) in changed {
        let Setting { name, default, stresses, .. } = setting;
        let stresses = if plan.forecast.idle.contains(name) { IDLE } else { stresses };
        lines.add(format!("  {name}={value} (standard {default}): {stresses}"));
    }
    changed_promises(plan).for_each(|sentence| lines.add(format!("  {sentence}")));
    lines.0
}

/// Returns a note about column groups that share a record; `None` if each group has its own record.
fn shared_records(plan: &Plan) -> Option<String> {
    let is_any =
        |splitting| plan.subjects.iter().any(|subject| subject.values.text("run.splitting") == splitting);
    let which = match (is_any("off"), is_any("constant")) {
        (false, false) => return None,
        (true, false) => "the column groups of a row",
        (false, true) => "the column groups of a row that transactions change",
        (true, true) => "the column groups of a row, or those of them that transactions change,",
    };
    Some(format!(
        "Rows: {which} share one header and one value, so that transactions conflict on them, whatever columns they \
         touch; what is added to a row that the same transaction reads is an update."
    ))
}

fn data(plan: &Plan, machine: &Machine) -> String {
    let size = plan.forecast.row_bytes;
    let mut parts = vec![format!("{} rows, {} of columns", count(plan.forecast.rows as f64), bytes(size))];
    if machine.cache_bytes > 0 {
        let (ratio, cache) = (size as f64 / machine.cache_bytes as f64, bytes(machine.cache_bytes));
        parts.push(if ratio <= 1.0 {
            format!("they fit the last-level cache of {cache}")
        } else {
            format!("{ratio:.1} times the last-level cache of {cache}, so that cold rows are cache misses")
        });
    }
    let needed = plan.needed_bytes();
    let of_touched = if plan.is_implicit() { ", of the rows that are touched" } else { "" };
    let with = format!("about {} of memory with headers, versions and indexes{of_touched}", bytes(needed));
    parts.push(if machine.memory_available_bytes > 0 {
        let share = percent(needed as f64 / machine.memory_available_bytes as f64);
        format!("{with}, {share} of the {} that are available", bytes(machine.memory_available_bytes))
    } else {
        with
    });
    parts.join("; ") + "."
}

fn concurrency(plan: &Plan, machine: &Machine) -> String {
    let (workers, clients) = (plan.job.workers, plan.job.clients);
    let is_crowded = workers > machine.cores;
    let scheduler =
        if is_crowded { "; more workers than cores measure the system's scheduler, too" } else { "" };
    let mut text = format!(
        "{} on {} execute for {}: at most {} transactions run at the same time, and {clients} are in \
         flight{scheduler}.",
        plural(workers, "worker"),
        plural(machine.cores, "core"),
        plural(clients, "client"),
        workers.min(machine.cores),
    );
    let mut raised: Vec<(usize, Vec<&str>)> = Vec::new();
    for PlannedScheme { scheme, clients, .. } in plan.raised() {
        match raised.iter_mut().find(|(number, _)| number == clients) {
            Some((_, names)) => names.push(scheme.name),
            None => raised.push((*clients, vec![scheme.name])),
        }
    }
    let raised = raised.iter().map(|(number, names)| format!("{number} under {}", names.join(", ")));
    let raised: Vec<String> = raised.collect();
    if !raised.is_empty() {
        let raised = raised.join(", and ");
        write!(text, " Batches need a client for each of their places: clients are {raised}.")
            .expect("a string takes any text");
    }
    text
}

/// Returns the list of schemes.
pub fn schemes(catalogue: Catalogue) -> String {
    let mut lines = Lines::default();
    for Entry { info, .. } in catalogue.schemes() {
        let Info { name, title, idea, paper, .. } = info;
        let (family, isolation) = (info.family.name(), info.isolation.name());
        let workers = if info.workers == Admits::One { "; one worker only" } else { "" };
        lines.add(format!("{name}: {title} ({family}; {isolation}{workers})\n    {idea}\n    {paper}"));
    }
    lines.0
}

/// Returns the list of bugs that can be planted in each scheme.
pub fn plants(catalogue: Catalogue) -> String {
    let mut lines = Lines::default();
    for Entry { info, .. } in catalogue.schemes() {
        for planted in catalogue.listed(info.name).trial.plants() {
            let Plant { name, says } = planted.plant;
            let reason = planted.may_be_missed.map(|reason| format!("\n    may be missed: {reason}"));
            lines.add(format!("{}: {name}\n    {says}{}", info.name, reason.unwrap_or_default()));
        }
    }
    lines.0
}

/// Returns the list of programs that are searched.
pub fn searches() -> String {
    let mut lines = Lines::default();
    for program in trials::SEARCHES {
        lines.add(format!("{}\n    {}", program.name, program.says));
    }
    lines.0
}

/// Returns the list of the kinds of results.
pub fn kinds() -> String {
    let mut lines = Lines::default();
    for (kind, says) in results::Line::KINDS {
        lines.add(format!("{kind}\n   {says}"));
    }
    lines.add("`contend list schema --format json` has all their names, with meanings and units");
    lines.0
}

/// Returns the table of the isolation checks of each scheme.
pub fn reports(reports: &[CampaignReport]) -> String {
    let mut table = Table::default();
    table.row([
        "scheme",
        "promise",
        "scripts",
        "searches",
        "schedules",
        "transactions",
        "verdict",
        "permitted, and seen",
    ]);
    for report in reports {
        let shown: Vec<&str> = report.permitted_shown.keys().map(String::as_str).collect();
        table.row([
            report.scheme.to_owned(),
            report.promise.name().to_owned(),
            report.scripts.to_string(),
            report.searches.to_string(),
            count(report.schedules as f64),
            count(report.transactions as f64),
            verdict(report).to_owned(),
            if shown.is_empty() { "-".to_owned() } else { shown.join(" ") },
        ]);
    }
    table.render()
}

/// Returns the verdict on a scheme in a word or two.
fn verdict(report: &CampaignReport) -> &'static str {
    if !report.violations.is_empty() {
        "BROKEN"
    } else if report.undecided > 0 {
        "undecided"
    } else if report.is_blind() {
        "holds (blind)"
    } else {
        "holds"
    }
}

/// Returns the notes below the table of isolation checks.
pub fn report_notes(reports: &[CampaignReport]) -> String {
    let mut lines = Lines::default();
    for report in reports {
        let scheme = report.scheme;
        if report.undecided > 0 {
            let trials = plural(report.undecided as usize, "trial");
            lines.add(format!("{scheme}: {trials} with a history that the checker could not decide"));
        }
        if report.violations.is_empty() && report.is_blind() {
            let promise = report.promise.name();
            lines.add(format!(
                "{scheme}: no anomaly was seen that `{promise}` permits and the next level forbids, so the check may \
                 be blind; give it more time"
            ));
        }
        if report.is_interrupted {
            lines.add(format!("{scheme}: ended early"));
        }
    }
    lines.0
}

/// Returns the list of workloads.
pub fn workloads() -> String {
    let mut lines = Lines::default();
    for info in runs::WORKLOADS {
        let types: Vec<&str> = info.types.iter().map(|of| of.name).collect();
        lines.add(format!("{}: {}\n    transactions: {}", info.name, info.idea, types.join(", ")));
    }
    lines.0
}

/// Returns the list of settings.
pub fn settings(catalogue: Catalogue) -> String {
    let mut lines = Lines::default();
    for (_, setting) in catalogue.settings() {
        let Setting { name, default, range, unit, doc, stresses } = setting;
        let space = if unit.is_empty() { "" } else { " " };
        lines.add(format!("{name}={default}{space}{unit}\n    {range}: {doc}\n    stresses {stresses}"));
        if let Some(Published { value, place, .. }) = catalogue.published_as(name) {
            lines.add(format!("    as published: {value} ({place})"));
        }
    }
    lines.0
}

/// Returns a machine in one line.
fn machine(machine: &Machine) -> String {
    let mut parts = vec![machine.cpu.clone(), plural(machine.cores, "core")];
    if machine.memory_bytes > 0 {
        parts.push(format!("{} of memory", bytes(machine.memory_bytes)));
    }
    if machine.cache_bytes > 0 {
        parts.push(format!("{} of last-level cache", bytes(machine.cache_bytes)));
    }
    parts.push(machine.kernel.clone());
    if machine.is_virtual {
        parts.push("virtual".to_owned());
    }
    parts.join(", ")
}

fn merged(records: &[&Record]) -> Totals {
    records.iter().map(|record| record.totals()).fold(Totals::default(), |mut sum, totals| {
        sum.merge(&totals);
        sum
    })
}

/// The heads of the columns of service time. Latencies include the wait before the service.
const SERVICE_HEADS: [&str; 2] = ["service p50", "service p99"];

fn service(ns: &Histogram) -> [String; 2] {
    let [p50, _, p99, _] = latencies(ns);
    [p50, p99]
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

/// Returns a number with its noun, in the singular or plural.
pub(crate) fn plural(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns a share as a percentage. A share above 0 is never shown as 0.0%.
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent == 0.0 || percent >= 0.05 => format!("{percent:.1}%"),
        percent if percent >= 0.005 => format!("{percent:.2}%"),
        _ => "<0.01%".to_owned(),
    }
}

/// Returns the interval of a ratio, with enough digits to show on which side of 1 its ends are.
pub(crate) fn ratio_interval(low: f64, high: f64) -> String {
    let end = |end: f64| {
        let is_one = end.to_bits() == 1_f64.to_bits();
        let is_clear = |digits: &usize| is_one || format!("{end:.digits$}").parse() != Ok(1.0);
        let digits = (2..6).find(is_clear).unwrap_or(6);
        format!("{end:.digits$}")
    };
    format!("({} .. {})", end(low), end(high))
}

/// Returns a number in groups of three digits.
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

/// Returns a long time in seconds, minutes or hours.
pub fn duration_s(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// Returns nanoseconds in the unit that leaves one to three digits before the point.
pub fn duration(ns: u64) -> String {
    match ns as f64 {
        ns if ns < 1e3 => format!("{ns} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

/// Returns bytes in the unit, of powers of 1024, that leaves one to four digits before the point.
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
    use engine::driver::Arrived;

    use super::*;
    use crate::measure::tests::{failed, record};
    use crate::registry::tests::catalogue;
    use crate::{Arrival, Request, StandardValues};

    fn plan(repeat: u64) -> Plan {
        let set = vec!["ycsb.records=100".to_owned(), "ycsb.theta=0.5".to_owned()];
        Plan::new(
            catalogue(),
            &Request {
                schemes: Some("silo".to_owned()),
                workers: Some(1),
                repeat,
                set,
                ..Request::new("ycsb")
            },
        )
        .expect("legal")
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([count(0.0), count(999.6), count(1_234_567.0)], ["0", "1,000", "1,234,567"]);
        assert_eq!(
            [percent(0.0), percent(0.123), percent(0.000_4), percent(1e-6)],
            ["0.0%", "12.3%", "0.04%", "<0.01%"]
        );
        assert_eq!([duration(17), duration(2_500), duration(7_000_000)], ["17 ns", "2.5 us", "7.0 ms"]);
        assert_eq!([bytes(100), bytes(3 << 29), bytes(1 << 10)], ["100 B", "1.5 GiB", "1.0 KiB"]);
    }

    #[test]
    fn an_interval_shows_on_which_side_of_one_it_ends() {
        assert_eq!(ratio_interval(0.531, 0.9988), "(0.53 .. 0.999)");
        assert_eq!(ratio_interval(1.0, 1.000_04), "(1.00 .. 1.00004)");
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::default();
        table.row(["a", "long head"]);
        table.row(["name", "7"]);
        assert_eq!(table.render(), "a     long head\nname          7\n");
    }

    #[test]
    fn columns_line_up_under_characters_of_other_widths() {
        let mut table = Table::default();
        table.row(["\u{8868}", "txn/s", "note"]);
        table.row(["cafe\u{301}s", "7", ""]);
        assert_eq!(table.render(), "\u{8868}     txn/s  note\ncafe\u{301}s      7\n");
        assert_eq!(Table::default().render(), "");
    }

    #[test]
    fn the_header_states_what_is_not_standard() {
        let text = header(&plan(3));
        assert!(text.contains("1 worker, 1 client; 5 s after 1 s, 3 rounds"), "{text}");
        assert!(text.contains("settings: ycsb.records=100 ycsb.theta=0.5; the others standard"), "{text}");
    }

    #[test]
    fn clients_that_a_scheme_needs_beyond_those_asked_for_are_named() {
        let set = vec!["ycsb.records=100".to_owned(), "aria.batch=40".to_owned()];
        let (schemes, workers) = (Some("silo,aria".to_owned()), Some(2));
        let plan = Plan::new(catalogue(), &Request { schemes, workers, set, ..Request::new("ycsb") })
            .expect("legal");
        assert!(header(&plan).contains("2 workers, 2 clients (aria 40); 5 s"), "{}", header(&plan));
        let text = explanation(&plan, &Machine::default());
        assert!(
            text.contains("Batches need a client for each of their places: clients are 40 under aria."),
            "{text}"
        );
    }

    #[test]
    fn traffic_and_what_came_of_it_are_told() {
        let set = vec!["ycsb.records=100".to_owned()];
        let request = Request {
            schemes: Some("silo".to_owned()),
            workers: Some(1),
            arrivals: Arrival::Poisson,
            rate: Some(1_000.0),
            until_steady: true,
            cooldown: 0.5,
            set,
            ..Request::new("ycsb")
        };
        let plan = Plan::new(catalogue(), &request).expect("legal");
        let text = header(&plan);
        assert!(text.contains("5 s after a steady state and before 0.5 s"), "{text}");
        assert!(
            text.contains("\ntraffic: poisson arrivals, 1,000 txn/s, of which 1,000 may wait\n"),
            "{text}"
        );
        let mut run = record(0, 0, 400);
        run.measured.types[0].service_ns.record(1_500);
        run.measured.arrived = Arrived { offered: 1_000, skipped: 500 };
        run.measured.series.is_warm = Some(false);
        run.measured.series.measured_txn_s = (0..100).map(|i| f64::from(100 + i)).collect();
        let made = Results { records: vec![run] };
        let table = results(&plan, &made, &Machine::default());
        assert!(table.contains("service p99") && table.contains("1.5 us"), "{table}");
        let notes = notes(&plan, &made, &Machine { cores: 1, ..Machine::default() });
        for line in [
            "TARGET NOT SUSTAINED: silo (round 1): 401 of 1,000 requests a second were answered; 500 were skipped.",
            "NOT STEADY: silo (round 1) was not steady after 0.0 s of warm-up.",
            "NOT STEADY: silo (round 1) changed by +6",
        ] {
            assert!(notes.contains(line), "{line}: {notes}");
        }
    }

    #[test]
    fn settings_that_change_what_a_scheme_promises_say_so() {
        let says = "isolation: silo is serializable under these settings, not strictly serializable";
        let request = |set: &str| Request {
            schemes: Some("silo,no_wait".to_owned()),
            set: vec![set.to_owned()],
            ..Request::new("ycsb")
        };
        let relaxed = Plan::new(catalogue(), &request("silo.snapshots=on")).expect("legal");
        assert!(header(&relaxed).contains(says), "{}", header(&relaxed));
        assert!(explanation(&relaxed, &Machine::default()).contains(says));
        let standard = Plan::new(catalogue(), &request("silo.epoch_ms=10")).expect("legal");
        assert!(!header(&standard).contains("isolation"));
    }

    #[test]
    fn a_table_of_rounds_has_medians_and_spread() {
        let made = Results { records: vec![record(0, 0, 1_000), record(0, 1, 3_000)] };
        let text = results(&plan(2), &made, &Machine::default());
        assert!(text.contains("2,000  (1,000 .. 3,000)   20.0%  2.5 us"), "{text}");
    }

    #[test]
    fn a_failed_run_has_no_figures_and_a_note() {
        let made = Results { records: vec![failed(0, 0)] };
        let plan = plan(1);
        assert!(results(&plan, &made, &Machine::default()).contains("silo    CHECK FAILED\n"));
        let notes = notes(&plan, &made, &Machine { cores: 1, ..Machine::default() });
        assert!(notes.contains("CHECK FAILED: silo (round 1): money is conserved: 2 is not 3"), "{notes}");
        assert!(!notes.contains("passed"));
    }

    #[test]
    fn interrupted_and_starved_runs_are_marked() {
        let mut run = record(0, 0, 1_000);
        run.measured.is_interrupted = true;
        run.measured.cpu_share = 0.5;
        let notes =
            notes(&plan(2), &Results { records: vec![run] }, &Machine { cores: 1, ..Machine::default() });
        assert!(notes.contains("INTERRUPTED: 1 of 2 runs"), "{notes}");
        assert!(notes.contains("STARVED: in 1 of 1 runs") && notes.contains("50.0% at worst"), "{notes}");
    }

    #[test]
    fn a_run_without_a_measured_time_says_so_and_blames_no_other_program() {
        let mut run = record(0, 0, 0);
        (run.measured.measured_ns, run.measured.cpu_share) = (0, 0.0);
        let (made, machine) = (Results { records: vec![run] }, Machine { cores: 1, ..Machine::default() });
        assert!(results(&plan(1), &made, &machine).contains("silo    nothing measured\n"));
        let notes = notes(&plan(1), &made, &machine);
        assert!(
            notes.contains("NOTHING MEASURED: no transaction of silo ended") && notes.contains("`--seconds`"),
            "{notes}"
        );
        assert!(!notes.contains("STARVED"), "{notes}");
    }

    #[test]
    fn ratios_of_starved_runs_are_by_processor_time_and_shown_both_ways() {
        let request = |retry| Request {
            schemes: Some("silo,mvto".to_owned()),
            workers: Some(1),
            retry,
            ..Request::new("ycsb")
        };
        let plan = Plan::new(catalogue(), &request(Retry::Same)).expect("legal");
        let mut starved = record(1, 0, 600);
        starved.measured.cpu_share = 0.5;
        let made = Results { records: vec![record(0, 0, 1_000), starved] };
        let machine = Machine { cores: 1, ..Machine::default() };
        let table = results(&plan, &made, &machine);
        assert!(table.contains("ratio  by wall time") && table.contains("1.20          0.60"), "{table}");
        let says = notes(&plan, &made, &machine);
        assert!(says.contains("ratio: of mvto by commits a second of processor time"), "{says}");
        // A client that pauses after aborts does not commit more if it gets more processor time.
        let pausing = Plan::new(catalogue(), &request(Retry::Backoff)).expect("legal");
        let table = results(&pausing, &made, &machine);
        assert!(table.contains("0.60          0.60"), "{table}");
        let says = notes(&pausing, &made, &machine);
        assert!(says.contains("ratio: of mvto by wall time, though runs were starved"), "{says}");
        let quiet = Results { records: vec![record(0, 0, 1_000), record(1, 0, 600)] };
        assert!(!results(&plan, &quiet, &machine).contains("by wall time"));
    }

    #[test]
    fn a_type_that_hardly_commits_is_told() {
        let told = |updates: u64| {
            let mut run = Record { mix: vec![0.9, 0.1], ..record(0, 0, 1_000) };
            run.measured.types[1].commits = updates;
            notes(&plan(1), &Results { records: vec![run] }, &Machine::default())
        };
        let says = "STARVED TYPE: silo committed 0 update, where its share of the mix would be 100.";
        assert!(told(0).contains(says), "{}", told(0));
        assert!(!told(50).contains("STARVED TYPE"), "{}", told(50));
    }

    #[test]
    fn explanations_name_data_and_concurrency() {
        let machine = Machine { cores: 2, cache_bytes: 1 << 20, memory_bytes: 1 << 30, ..Machine::default() };
        let text = explanation(&plan(1), &machine);
        assert!(text.contains("fit the last-level cache") && text.contains("1 worker on 2 cores"), "{text}");
        assert!(text.contains("ycsb.theta=0.5 (standard 0.99): contention"), "{text}");
        assert!(text.contains("with headers, versions and indexes"), "{text}");
    }

    #[test]
    fn settings_are_those_of_the_authors_if_asked_for_and_else_the_differences_are_told() {
        let request = |set: &str| {
            let set = [set, "ycsb.records=100"].map(str::to_owned).to_vec();
            Request { schemes: Some("silo,occ".to_owned()), set, ..Request::new("ycsb") }
        };
        let plan = |request| Plan::new(catalogue(), &request).expect("legal");
        let told = tuned(&plan(request("silo.snapshots=on")));
        assert!(told.contains("tuned: silo.write_order=written, as published address (Tu"), "{told}");
        assert!(!told.contains("snapshots"), "what the request changes is not a standard value: {told}");
        let published =
            plan(Request { standard: StandardValues::Published, ..request("silo.write_order=reversed") });
        let text = |name: &str| published.subjects[0].values.text(name).to_owned();
        assert_eq!(
            (text("silo.snapshots"), text("silo.write_order")),
            ("on".to_owned(), "reversed".to_owned())
        );
        assert!(header(&published).contains("silo.snapshots=on") && tuned(&published).is_empty());
    }

    #[test]
    fn settings_without_effect_are_named() {
        let set = ["ycsb.records=100", "ycsb.scan_max=7"].map(str::to_owned).to_vec();
        let request = Request { schemes: Some("silo".to_owned()), set, ..Request::new("ycsb") };
        let plan = Plan::new(catalogue(), &request).expect("legal");
        let (told, explained) = (header(&plan), explanation(&plan, &Machine::default()));
        assert!(told.contains("without effect under the other settings: ycsb.scan_max\n"), "{told}");
        assert!(explained.contains("ycsb.scan_max=7 (standard 100): nothing, because"), "{explained}");
        assert!(!header(&self::plan(1)).contains("without effect"));
    }
}
