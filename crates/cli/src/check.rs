//! `contend check`: tries to show that schemes do not isolate as they promise.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, stderr};
use std::panic;
use std::path::Path;

use lab::{Inquiry, Refusal, Report, json, text};
use sync::{waiter, workers};
use trials::{Case, Form, Monitor, Notation, Replay, Schedule, Step};

use crate::args::{Check, Format};
use crate::live::{is_stopped, take_interrupts};
use crate::out::{Out, complain};
use crate::{CHECK_FAILED, INTERRUPTED};

/// How often the watcher looks whether a campaign is over or to be stopped.
const LOOK_EVERY_NS: u64 = 20_000_000;
/// How many looks lie between two changes of the line.
const DRAW_EVERY: u64 = 10;

pub(crate) fn check(args: &Check, out: &mut Out) -> Result<u8, Refusal> {
    let inquiry = Inquiry::new(&args.question())?;
    // What goes wrong in a trial is part of the report.
    panic::set_hook(Box::new(|_| {}));
    if let Some((seed, schedule)) = &inquiry.replay {
        return Ok(replay(&inquiry, *seed, schedule.as_ref(), out));
    }
    if let Some(folder) = &args.export {
        export(&inquiry, folder).map_err(|error| {
            let folder = folder.display();
            Refusal(format!("`--export {folder}`: cannot be written to ({error}): give another directory"))
        })?;
    }
    take_interrupts();
    let mut reports = Vec::new();
    for position in 0..inquiry.campaigns.len() {
        if is_stopped() || out.is_closed() {
            break;
        }
        let report = run(&inquiry, position);
        if args.format == Format::Json {
            out.print(&format!("{}\n", json::report(&report)));
        }
        reports.push(report);
    }
    if args.format == Format::Text {
        out.print(&text::reports(&reports));
        out.print(&text::report_notes(&reports));
        for (position, report) in reports.iter().enumerate() {
            out.print(&violations(&inquiry, position, report));
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

/// Writes a history of each scheme and kind of trial, in both notations. Nothing that is there is written over.
fn export(inquiry: &Inquiry, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for campaign in &inquiry.campaigns {
        for (kind, history) in campaign.histories(inquiry.budget.seed) {
            for (notation, ending) in [(Notation::Edn, "edn"), (Notation::Json, "json")] {
                let path =
                    folder.join(format!("{}-{kind}-{}.{ending}", campaign.scheme(), inquiry.budget.seed));
                let file = OpenOptions::new().write(true).create_new(true).open(&path);
                let file = file
                    .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
                let mut file = BufWriter::new(file);
                trials::export(&history, (Form::ListAppend, notation), &trials::name_of, &mut file)?;
                file.into_inner()?.sync_all()?;
            }
        }
    }
    Ok(())
}

/// Runs the campaign at a position while a second thread watches it.
fn run(inquiry: &Inquiry, position: usize) -> Report {
    let monitor = Monitor::default();
    let mut ended = workers::run(2, false, |index| {
        if index == 0 {
            let over = Over(&monitor);
            return Some(inquiry.campaigns[position].run(&inquiry.budget, over.0));
        }
        watch(inquiry, position, &monitor);
        None
    });
    ended.swap_remove(0).expect("the first of the two runs it")
}

/// Tells the watcher that a campaign is over, even if it ends in a panic.
struct Over<'m>(&'m Monitor);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.enter(Step::Done);
    }
}

fn watch(inquiry: &Inquiry, position: usize, monitor: &Monitor) {
    let is_terminal = stderr().is_terminal();
    let (nth, of, scheme) = (position + 1, inquiry.campaigns.len(), inquiry.campaigns[position].scheme());
    let mut looks = 0;
    while monitor.step() != Step::Done {
        if is_stopped() {
            monitor.interrupt();
        }
        if is_terminal && looks % DRAW_EVERY == 0 {
            let (schedules, transactions) = monitor.progress();
            let (schedules, transactions) = (text::count(schedules as f64), text::count(transactions as f64));
            let doing = match monitor.step() {
                Step::Scripts => "playing scripts",
                Step::Explore => "exploring",
                Step::Stress | Step::Done => "on threads",
            };
            complain(&format!(
                "\r\x1b[K[{nth}/{of}] {scheme}: {doing}, {schedules} schedules, {transactions} transactions checked"
            ));
        }
        looks += 1;
        waiter::pause_ns(LOOK_EVERY_NS);
    }
    if is_terminal {
        complain("\r\x1b[K");
    }
}

/// What went wrong with a scheme, and how to see it again.
fn violations(inquiry: &Inquiry, position: usize, report: &Report) -> String {
    let mut lines = Vec::new();
    for violation in &report.violations {
        let story = violation.story.trim_end();
        let headline = if story.is_empty() { &violation.what } else { story };
        let again = match &violation.replay {
            Replay::Explored(seed, schedule) => {
                let command = inquiry.command(position, *seed, schedule);
                format!("again with version {}: {command}", env!("CARGO_PKG_VERSION"))
            }
            Replay::Script(name) => format!("again: any check plays the script `{name}`"),
            Replay::Native(seed) => {
                format!(
                    "seen on threads, with requests of seed {seed}: no schedule brings it back for certain"
                )
            }
        };
        lines.push(format!("\n{}: {headline}\n  {again}\n", report.scheme));
    }
    lines.concat()
}

/// Shows the explored trial of one seed.
fn replay(inquiry: &Inquiry, seed: u64, schedule: Option<&Schedule>, out: &mut Out) -> u8 {
    let explored = Case { schedule, ..inquiry.campaigns[0].case(seed) }.explore();
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
