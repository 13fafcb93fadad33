//! The command `contend`: measures concurrency-control schemes on workloads, and reports the results.
//!
//! A package outside of the workspace makes the same command with schemes of its own beside those of the catalogue: its
//! `main` calls [`main_with`].
//!
//! Exit codes: 0 all is well, 1 a check failed, 2 refused before anything was loaded, 130 interrupted.
#![forbid(unsafe_code)]

mod args;
mod check;
mod conditions;
mod demo;
mod live;
mod out;
mod probe;
mod process;
mod ray;
mod report;
mod reproduce;
mod run;
mod sensitivity;
mod simulate;
mod sweep;

use std::process::ExitCode;

use clap::Parser;
use lab::{
    Catalogue, CheckVerdict, Machine, Plan, Recovery, RecoveryProgress, Refusal, capabilities, compare, json,
    machines, text,
};

pub use lab::Listed;

use args::{Args, Command, Compare, Explain, Format, List, Recover, Subject};
use out::Out;

/// The exit code if a check found a wrong result.
const CHECK_FAILED: u8 = 1;
/// The exit code if the request was refused.
const REFUSED: u8 = 2;
/// The exit code if the user asked to stop: 128 and the number of the signal, as in shells.
const INTERRUPTED: u8 = 130;

/// Runs the command with the arguments of this process. The catalogue has the schemes of this project and, behind them,
/// those of `own`.
///
/// A list that contradicts itself or the catalogue is refused before anything else, with exit code 2: a name that is
/// taken, a setting without the scheme's name, an entry that is not of its type.
pub fn main_with(own: &[Listed]) -> ExitCode {
    let mut out = Out::default();
    let code = Catalogue::new(instances::all()).with(own).and_then(|catalogue| answer(catalogue, &mut out));
    let code = code.unwrap_or_else(|refusal| {
        out::complain(&format!("contend: {refusal}\n"));
        REFUSED
    });
    let Some(lost) = out.lost() else { return ExitCode::from(code) };
    out::complain(&format!("contend: {lost}\n"));
    ExitCode::from(REFUSED)
}

fn answer(catalogue: Catalogue, out: &mut Out) -> Result<u8, Refusal> {
    match Args::parse().command {
        Command::Demo => demo::demo(catalogue, out),
        Command::Run(args) => run::run(catalogue, &args, out),
        Command::Simulate(args) => simulate::simulate(catalogue, &args, out),
        Command::Sweep(args) => sweep::sweep(catalogue, &args, out),
        Command::Merge(args) => sweep::merge(&args, out),
        Command::Probe(args) => probe::probe(&args, out),
        Command::Compare(args) => compare(catalogue, &args, out),
        Command::Conditions(args) => conditions::conditions(catalogue, &args, out),
        Command::Recheck(args) => conditions::recheck(catalogue, &args, out),
        Command::Report(args) => report::report(catalogue, &args, out),
        Command::Reproduce(args) => reproduce::reproduce(catalogue, &args, out),
        Command::Sensitivity(args) => sensitivity::sensitivity(catalogue, &args, out),
        Command::Check(args) => check::check(catalogue, &args, out),
        Command::List(list) => self::list(catalogue, &list, out),
        Command::Explain(args) => explain(catalogue, &args, out),
        Command::Recover(args) => recover(catalogue, &args, out),
    }
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

fn list(catalogue: Catalogue, list: &List, out: &mut Out) -> Result<u8, Refusal> {
    if let Some(name) = &list.name {
        out.print(&file_of(list, name)?);
        return Ok(0);
    }
    let listed = match (list.format, list.subject) {
        (Format::Text, Subject::Schemes) => text::schemes(catalogue),
        (Format::Text, Subject::Workloads) => text::workloads(),
        (Format::Text, Subject::Settings) => text::settings(catalogue),
        (Format::Text, Subject::Capabilities) => capabilities::text(catalogue),
        (Format::Text, Subject::Machines) => machines::text(),
        (Format::Text, Subject::Plants) => text::plants(catalogue),
        (Format::Text, Subject::Searches) => text::searches(),
        (Format::Text, Subject::Schema) => text::kinds(),
        (Format::Json, Subject::Schemes) => format!("{}\n", json::schemes(catalogue)),
        (Format::Json, Subject::Workloads) => format!("{}\n", json::workloads()),
        (Format::Json, Subject::Settings) => format!("{}\n", json::settings(catalogue)),
        (Format::Json, Subject::Capabilities) => format!("{}\n", capabilities::json(catalogue)),
        (Format::Json, Subject::Machines) => format!("{}\n", machines::json()),
        (Format::Json, Subject::Plants) => format!("{}\n", json::plants(catalogue)),
        (Format::Json, Subject::Searches) => format!("{}\n", json::searches()),
        (Format::Json, Subject::Schema) => format!("{}\n", json::schema()),
    };
    out.print(&listed);
    Ok(0)
}

/// Returns the file of a machine.
fn file_of(list: &List, name: &str) -> Result<String, Refusal> {
    if list.subject != Subject::Machines {
        return Err(Refusal(format!(
            "`{name}`: only machines are listed by name, as in `list machines {name}`"
        )));
    }
    let machine = lab::machine_of(name)?;
    Ok(match list.format {
        Format::Text => machine.text(),
        Format::Json => format!("{}\n", machines::json_of(&machine)),
    })
}

fn compare(catalogue: Catalogue, args: &Compare, out: &mut Out) -> Result<u8, Refusal> {
    let [first, second] = [&args.first, &args.second].map(|path| compare::results(path));
    let (across, allow) = (args.across.clone(), args.allow.clone());
    let question = compare::Question { margin: args.margin, across, allow };
    let compared = compare::compare(catalogue, &first?, &second?, &question)?;
    match args.format {
        Format::Text => out.print(&compared.text(args.gate)),
        Format::Json => {
            compared.cells().iter().for_each(|cell| out.print(&format!("{cell}\n")));
            out.print(&format!("{}\n", compared.all()));
        }
    }
    Ok(if args.gate && compared.fails() { CHECK_FAILED } else { 0 })
}

fn explain(catalogue: Catalogue, args: &Explain, out: &mut Out) -> Result<u8, Refusal> {
    let plan = Plan::new(catalogue, &args.request())?;
    out.print(&text::explanation(&plan, &Machine::of_this_process()));
    if args.is_tuned() {
        out.print(&text::tuned(&plan));
    }
    Ok(0)
}

fn recover(catalogue: Catalogue, args: &Recover, out: &mut Out) -> Result<u8, Refusal> {
    let recovery = Recovery::new(catalogue, &args.log, args.scheme.as_deref(), args.workers, !args.no_check)?;
    let progress = RecoveryProgress::default();
    let line = || format!("recovering: {} rows", text::count(progress.rows() as f64));
    let recovered = live::watched(|| recovery.recover(&progress), line, || ())?;
    match args.format {
        Format::Text => out.print(&recovery.text(&recovered)),
        Format::Json => out.print(&format!("{}\n", recovery.json(&recovered))),
    }
    Ok(if matches!(recovered.verdict, CheckVerdict::Failed(_)) { CHECK_FAILED } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_that_contradict_the_catalogue_are_refused_before_arguments_are_read() {
        let clash = instances::all().map(Listed::from).next().expect("the catalogue has schemes");
        // The arguments of this process are the test runner's: reading them would end the process.
        assert_eq!(main_with(&[clash]), ExitCode::from(REFUSED));
    }
}
