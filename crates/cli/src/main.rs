//! The command `contend`: measures concurrency-control schemes on workloads, and reports the results.
//!
//! Exit codes: 0 all is well, 1 a check failed, 2 refused before anything was loaded, 130 interrupted.
#![forbid(unsafe_code)]

mod args;
mod check;
mod conditions;
mod demo;
mod live;
mod out;
mod process;
mod ray;
mod report;
mod reproduce;
mod run;
mod sensitivity;
mod sweep;

use std::process::ExitCode;

use clap::Parser;
use lab::{
    CheckVerdict, Machine, Plan, Progress, Recovery, Refusal, capabilities, compare, json, probe, text,
};

use args::{Args, Command, Compare, Explain, Format, List, Probe, Recover, Subject};
use out::Out;

/// The exit code if a check found a wrong result.
const CHECK_FAILED: u8 = 1;
/// The exit code if the request was refused.
const REFUSED: u8 = 2;
/// The exit code if the user asked to stop: 128 and the number of the signal, as in shells.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = Out::default();
    let code = match args.command {
        Command::Demo => demo::demo(&mut out),
        Command::Run(args) => run::run(&args, &mut out),
        Command::Sweep(args) => sweep::sweep(&args, &mut out),
        Command::Merge(args) => sweep::merge(&args, &mut out),
        Command::Probe(args) => Ok(self::probe(&args, &mut out)),
        Command::Compare(args) => compare(&args, &mut out),
        Command::Conditions(args) => conditions::conditions(&args, &mut out),
        Command::Recheck(args) => conditions::recheck(&args, &mut out),
        Command::Report(args) => report::report(&args, &mut out),
        Command::Reproduce(args) => reproduce::reproduce(&args, &mut out),
        Command::Sensitivity(args) => sensitivity::sensitivity(&args, &mut out),
        Command::Check(args) => check::check(&args, &mut out),
        Command::List(list) => Ok(self::list(&list, &mut out)),
        Command::Explain(args) => explain(&args, &mut out),
        Command::Recover(args) => recover(&args, &mut out),
    };
    let code = code.unwrap_or_else(|refusal| {
        out::complain(&format!("contend: {refusal}\n"));
        REFUSED
    });
    ExitCode::from(code)
}

/// Returns the exit code of a command that makes runs: whether a check failed, or the user asked to stop.
fn exit_code(is_wrong: bool) -> u8 {
    if is_wrong {
        CHECK_FAILED
    } else if live::is_stopped() {
        INTERRUPTED
    } else {
        0
    }
}

fn list(list: &List, out: &mut Out) -> u8 {
    let listed = match (list.format, list.subject) {
        (Format::Text, Subject::Schemes) => text::schemes(),
        (Format::Text, Subject::Workloads) => text::workloads(),
        (Format::Text, Subject::Settings) => text::settings(),
        (Format::Text, Subject::Capabilities) => capabilities::text(),
        (Format::Text, Subject::Plants) => text::plants(),
        (Format::Text, Subject::Searches) => text::searches(),
        (Format::Json, Subject::Schemes) => format!("{}\n", json::schemes()),
        (Format::Json, Subject::Workloads) => format!("{}\n", json::workloads()),
        (Format::Json, Subject::Settings) => format!("{}\n", json::settings()),
        (Format::Json, Subject::Capabilities) => format!("{}\n", capabilities::json()),
        (Format::Json, Subject::Plants) => format!("{}\n", json::plants()),
        (Format::Json, Subject::Searches) => format!("{}\n", json::searches()),
    };
    out.print(&listed);
    0
}

fn probe(args: &Probe, out: &mut Out) -> u8 {
    let machine = Machine::of_this_process();
    match args.format {
        Format::Text => out.print(&probe::text(&machine)),
        Format::Json => out.print(&format!("{}\n", probe::json(&machine))),
    }
    0
}

fn compare(args: &Compare, out: &mut Out) -> Result<u8, Refusal> {
    let [first, second] = [&args.first, &args.second].map(|path| compare::results(path));
    let (across, allow) = (args.across.clone(), args.allow.clone());
    let question = compare::Question { margin: args.margin, across, allow };
    let compared = compare::compare(&first?, &second?, &question)?;
    match args.format {
        Format::Text => out.print(&compared.text(args.gate)),
        Format::Json => compared.json().iter().for_each(|cell| out.print(&format!("{cell}\n"))),
    }
    Ok(if args.gate && compared.fails() { CHECK_FAILED } else { 0 })
}

fn explain(args: &Explain, out: &mut Out) -> Result<u8, Refusal> {
    let plan = Plan::new(&args.request())?;
    out.print(&text::explanation(&plan, &Machine::of_this_process()));
    Ok(0)
}

fn recover(args: &Recover, out: &mut Out) -> Result<u8, Refusal> {
    let recovery = Recovery::new(&args.log, args.scheme.as_deref(), args.workers, !args.no_check)?;
    let progress = Progress::default();
    let line = || format!("recovering: {} rows", text::count(progress.rows() as f64));
    let recovered = live::watched(|| recovery.recover(&progress), line, || ())?;
    match args.format {
        Format::Text => out.print(&recovery.text(&recovered)),
        Format::Json => out.print(&format!("{}\n", recovery.json(&recovered))),
    }
    Ok(if matches!(recovered.verdict, CheckVerdict::Failed(_)) { CHECK_FAILED } else { 0 })
}
