//! `contend check`: tries to show that schemes do not isolate as they promise.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use lab::{CampaignReport, Catalogue, Inquiry, Partial, Refusal, json, text};
use stdx::history::History;
use stdx::panics;
use sync::panics::{remember, with_place};
use trials::{CampaignMonitor, CampaignPhase, Case, Form, Notation, Replay, Schedule, TrialSubject};

use crate::args::{Check, Format};
use crate::live::{self, is_stopped, take_interrupts};
use crate::out::{Out, complain};
use crate::{CHECK_FAILED, INTERRUPTED};

pub(crate) fn check(catalogue: Catalogue, args: &Check, out: &mut Out) -> Result<u8, Refusal> {
    let inquiry = Inquiry::new(catalogue, &args.question())?;
    // Panics in a trial are part of the report. A panic elsewhere is a defect of ours, and is reported below.
    let tells = panic::take_hook();
    panic::set_hook(Box::new(remember));
    let ended = panic::catch_unwind(AssertUnwindSafe(|| answer(&inquiry, args, out)));
    panic::set_hook(tells);
    ended.unwrap_or_else(|panic| {
        let says = panics::message(&*panic).map_or_else(|| "no message".to_owned(), with_place);
        complain(&format!("contend: an error in the program itself, not in a scheme: {says}\n"));
        panic::resume_unwind(panic)
    })
}

fn answer(inquiry: &Inquiry, args: &Check, out: &mut Out) -> Result<u8, Refusal> {
    if let Some((subject, schedule)) = &inquiry.replay {
        return Ok(replay(inquiry, *subject, schedule.as_ref(), out));
    }
    if let Some(folder) = &args.export {
        let told = export(inquiry, folder).map_err(|error| {
            let folder = folder.display();
            Refusal(format!("`--export {folder}`: cannot be written to ({error}): give another directory"))
        })?;
        if args.format == Format::Text {
            out.print(&told);
        }
    }
    take_interrupts();
    let mut reports = Vec::new();
    for position in 0..inquiry.campaigns.len() {
        if is_stopped() || out.is_closed() {
            break;
        }
        let report = run(inquiry, position);
        if args.format == Format::Json {
            out.print(&format!("{}\n", json::report(&report)));
        }
        reports.push(report);
    }
    if args.format == Format::Text {
        out.print(&text::reports(&reports));
        out.print(&text::report_notes(&reports));
        for (position, report) in reports.iter().enumerate() {
            out.print(&violations(inquiry, position, report));
        }
    }
    Ok(if reports.iter().any(|report| !report.violations.is_empty()) {
        CHECK_FAILED
    } else if is_stopped() {
        INTERRUPTED
    } else {
        0
    })
}

/// Writes a history of each scheme and kind of trial, in both notations, and returns our verdict on each as text.
/// Existing files are not overwritten.
fn export(inquiry: &Inquiry, folder: &Path) -> io::Result<String> {
    let mut told = Vec::new();
    fs::create_dir_all(folder)?;
    for campaign in &inquiry.campaigns {
        let histories = campaign.histories(inquiry.budget.seed);
        if histories.is_empty() {
            let (scheme, seed) = (campaign.scheme(), inquiry.budget.seed);
            told.push(format!("{scheme}: no history, since the trial of seed {seed} did not end well\n"));
        }
        for (kind, history, verdict) in histories {
            let name = format!("{}-{kind}-{}", campaign.scheme(), inquiry.budget.seed);
            for (notation, ending) in [(Notation::Edn, "edn"), (Notation::Json, "json")] {
                let whole = folder.join(format!("{name}.{ending}"));
                write(&history, notation, &whole)
                    .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", whole.display())))?;
            }
            let said = verdict.to_string();
            told.push(format!(
                "{}: {}\n",
                folder.join(name).display(),
                said.lines().next().unwrap_or_default()
            ));
        }
    }
    Ok(told.concat())
}

/// Writes a history to a new file.
fn write(history: &History, notation: Notation, whole: &Path) -> io::Result<()> {
    let mut partial = Partial::create(whole.with_extension("partial"), whole)?;
    partial.fill(|file| {
        let mut file = BufWriter::new(file);
        trials::export(history, (Form::ListAppend, notation), &trials::name_of, &mut file)?;
        file.flush()
    })?;
    partial.publish()
}

/// Runs the campaign at a position while a second thread watches it.
fn run(inquiry: &Inquiry, position: usize) -> CampaignReport {
    let monitor = CampaignMonitor::default();
    let campaign = &inquiry.campaigns[position];
    let (nth, of, scheme) = (position + 1, inquiry.campaigns.len(), campaign.scheme());
    let line = || {
        let (schedules, transactions) = monitor.progress();
        let (schedules, transactions) = (text::count(schedules as f64), text::count(transactions as f64));
        let doing = match monitor.phase() {
            CampaignPhase::Scripts => "playing scripts",
            CampaignPhase::Search => "searching",
            CampaignPhase::Explore => "exploring",
            CampaignPhase::Stress => "on threads",
        };
        format!("[{nth}/{of}] {scheme}: {doing}, {schedules} schedules, {transactions} transactions checked")
    };
    live::watched(|| campaign.run(&inquiry.budget, &monitor), line, || monitor.interrupt())
}

/// Returns the violations of a scheme as text, with the way to reproduce each of them.
fn violations(inquiry: &Inquiry, position: usize, report: &CampaignReport) -> String {
    let mut lines = Vec::new();
    for violation in &report.violations {
        let story = violation.story.trim_end();
        let headline = if story.is_empty() { &violation.what } else { story };
        let again = match &violation.replay {
            Replay::Explored(subject, schedule) => {
                let command = inquiry.command(position, *subject, schedule);
                format!("again with {}: {command}", version())
            }
            Replay::Script(name) => format!("again: any check plays the script `{name}`"),
            Replay::Native(seed) => {
                format!(
                    "seen on threads, with requests of seed {seed}: it may not occur again, since no schedule was \
                     recorded"
                )
            }
        };
        lines.push(format!("\n{}: {headline}\n  {again}\n", report.scheme));
    }
    // If a bug is planted, no trials run on threads, and no scripts are played.
    if report.stuck.is_some() && report.scripts > 0 {
        let scheme = report.scheme;
        lines.push(format!(
            "\n{scheme}: no further trials on threads, since a trial that is stuck there cannot be ended\n"
        ));
    }
    lines.concat()
}

/// Returns the version that must be built for a schedule to have the same meaning.
fn version() -> String {
    let commit = option_env!("CONTEND_COMMIT").map(|commit| format!(" (commit {commit})"));
    format!("version {}{}", env!("CARGO_PKG_VERSION"), commit.unwrap_or_default())
}

/// Shows the explored trial of a seed or a program.
fn replay(inquiry: &Inquiry, subject: TrialSubject, schedule: Option<&Schedule>, out: &mut Out) -> u8 {
    let explored = Case { schedule, ..inquiry.campaigns[0].trial(subject) }.explore();
    if let Some(history) = &explored.history {
        out.print(&history.to_string());
    }
    if let Some(verdict) = &explored.verdict {
        out.print(&verdict.told(&trials::name_of));
    }
    if let Some(failure) = &explored.failure {
        out.print(&format!("{failure}\n"));
    }
    if explored.is_violation() { CHECK_FAILED } else { 0 }
}
