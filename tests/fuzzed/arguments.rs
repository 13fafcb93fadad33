//! The command line: the words that a user may type, up to the plan of the runs. The runs are never started.
//!
//! An input is the words after `contend`, one on each line. Claims: nothing panics; what the parser refuses
//! ends with exit code 2, or with 0 if it prints a help; every later refusal is a sentence; a plan has runs.

use clap::Parser;
use lab::conditions::{self, Study};
use lab::{Catalogue, Inquiry, Plan, Question, Request, Scaling, ScalingQuestion};

/// The module in which the command itself defines its arguments.
#[path = "../../crates/cli/src/args.rs"]
#[allow(dead_code, reason = "the command itself uses the rest")]
mod args;

use args::{Args, Command};

/// Reads an input as a command line.
///
/// # Panics
/// When a claim fails.
pub fn arguments(catalogue: Catalogue, input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let words = ["contend"].into_iter().chain(text.lines());
    match Args::try_parse_from(words) {
        Ok(args) => match args.command {
            Command::Run(run) => plan(catalogue, &run.request()),
            Command::Simulate(simulate) => scale(catalogue, &simulate.question()),
            Command::Explain(explain) => plan(catalogue, &explain.request()),
            Command::Check(check) => inquire(catalogue, &check.question()),
            Command::Reproduce(reproduce) => find(reproduce.id.as_deref()),
            Command::Sensitivity(asked) => screen(catalogue, asked.question()),
            Command::Conditions(asked) => study(catalogue, asked.question()),
            // These commands take no arguments, or files.
            Command::Demo
            | Command::List(_)
            | Command::Sweep(_)
            | Command::Merge(_)
            | Command::Probe(_)
            | Command::Compare(_)
            | Command::Recheck(_)
            | Command::Recover(_)
            | Command::Report(_) => {}
        },
        Err(error) => {
            let code = error.exit_code();
            assert!(code == 0 || code == 2, "exit code {code}");
            assert!(!error.to_string().is_empty(), "a refusal says why");
        }
    }
}

/// Plans a study of scaling.
fn scale(catalogue: Catalogue, question: &ScalingQuestion) {
    match Scaling::new(catalogue, question) {
        Ok(study) => assert!(study.points() > 0, "something is simulated"),
        Err(refusal) => assert!(refusal.0.len() > 10, "a refusal is a sentence: {refusal}"),
    }
}

/// Draws the points of a sensitivity study.
fn screen(catalogue: Catalogue, question: lab::sensitivity::Question) {
    match lab::sensitivity::Study::new(catalogue, question, "a build") {
        Ok(study) => assert!(!study.ground.axes.is_empty(), "something varies"),
        Err(refusal) => assert!(refusal.0.len() > 10, "a refusal is a sentence: {refusal}"),
    }
}

/// Finds the requested experiment, if there is a request.
fn find(id: Option<&str>) {
    if let Some(Err(refusal)) = id.map(lab::reproduce::find) {
        assert!(refusal.0.len() > 10, "a refusal is a sentence: {refusal}");
    }
}

/// Plans the campaigns of a question.
fn inquire(catalogue: Catalogue, question: &Question) {
    match Inquiry::new(catalogue, question) {
        Ok(inquiry) => assert!(!inquiry.campaigns.is_empty(), "an inquiry has campaigns"),
        Err(refusal) => assert!(refusal.0.len() > 10, "a refusal is a sentence: {refusal}"),
    }
}

/// Plans a study.
fn study(catalogue: Catalogue, question: conditions::Question) {
    match Study::new(catalogue, question, "a build") {
        Ok(study) => assert!(!study.ground.axes.is_empty(), "something varies"),
        Err(refusal) => assert!(refusal.0.len() > 10, "a refusal is a sentence: {refusal}"),
    }
}

/// Plans the runs of a request.
fn plan(catalogue: Catalogue, request: &Request) {
    match Plan::new(catalogue, request) {
        Ok(plan) => {
            assert!(!plan.order.is_empty() && !plan.subjects.is_empty(), "a plan has runs");
            assert!(plan.lasts_s() > 0.0, "they last");
        }
        Err(refusal) => assert!(refusal.0.len() > 10, "a refusal is a sentence: {refusal}"),
    }
}
