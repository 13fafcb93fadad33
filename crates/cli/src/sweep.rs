//! `contend sweep`: makes the runs of a recipe, each in a process of its own, and reports them.
//!
//! A process of its own gives each run the memory of a fresh start, and keeps the others when one fails.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use lab::Refusal;
use lab::sweep::{self, Measuring, Recipe, Store, Summary, Sweep, Unit};
use serde_json::Value;
use sync::Latched;

use crate::args::{self, Format};
use crate::live::{self, is_stopped};
use crate::out::Out;
use crate::{CHECK_FAILED, INTERRUPTED};

pub(crate) fn sweep(args: &args::Sweep, out: &mut Out) -> Result<u8, Refusal> {
    let name = args.recipe.display();
    let text = fs::read_to_string(&args.recipe).map_err(|error| {
        Refusal(format!("`{name}`: cannot be read ({error}): give the path of a recipe, a file in TOML"))
    })?;
    let in_recipe = |refusal: Refusal| Refusal(format!("`{name}`: {refusal}"));
    let mut recipe = Recipe::parse(&text).map_err(in_recipe)?;
    check_budget(args.budget)?;
    recipe.budget_minutes = args.budget.or(recipe.budget_minutes);
    let sweep = Sweep::new(recipe, &build()?).map_err(in_recipe)?;
    let folder = args.out.clone().unwrap_or_else(|| args.recipe.with_extension(""));
    if args.dry_run || args.commands {
        let left = left(&sweep, &folder)?;
        if args.dry_run {
            out.print(&sweep::plan(&sweep, sweep.units.len() - left.len()));
        }
        let commands = left.iter().filter(|_| args.commands);
        commands.for_each(|unit| out.print(&format!("contend {}\n", unit.command().join(" "))));
        return Ok(0);
    }
    let store = Store::open(&folder)?;
    store.keep_recipe(&text)?;
    live::take_interrupts();
    let ended = measure(&sweep, &store, out);
    // What was measured is shown, whatever came after it.
    let summary = Summary::new(&sweep, &store)?;
    match args.format {
        Format::Text => out.print(&sweep::results(&sweep, &summary)),
        Format::Json => {
            for line in &summary.lines {
                out.print(&format!("{}\n", sweep::json(&sweep, line)));
            }
            sweep::left_out(&sweep).iter().for_each(|object| out.print(&format!("{object}\n")));
        }
    }
    ended?;
    Ok(if summary.failed > 0 {
        CHECK_FAILED
    } else if is_stopped() {
        INTERRUPTED
    } else {
        0
    })
}

/// Refuses a budget that is none.
pub(crate) fn check_budget(minutes: Option<f64>) -> Result<(), Refusal> {
    match minutes.filter(|minutes| !(0.0..=100_000.0).contains(minutes)) {
        Some(minutes) => {
            Err(Refusal(format!("`--budget {minutes}`: give a number of minutes from 0 to 100000")))
        }
        None => Ok(()),
    }
}

/// Makes the runs of a sweep that are left, until the user stops or nobody reads what comes of it.
pub(crate) fn measure(sweep: &Sweep, store: &Store, out: &Out) -> Result<(), Refusal> {
    Measuring::new(sweep, store)?
        .all(|unit, label| if is_stopped() || out.is_closed() { Ok(None) } else { run(unit, label) })
}

/// What makes the runs: results of one build are not taken for those of another. A commit if it says what was built,
/// or else a digest of the program.
pub(crate) fn build() -> Result<String, Refusal> {
    let is_committed = option_env!("CONTEND_IS_CHANGED") == Some("false");
    if let Some(commit) = option_env!("CONTEND_COMMIT").filter(|_| is_committed) {
        return Ok(commit.to_owned());
    }
    let program = std::env::current_exe().and_then(fs::read);
    let program = program.map_err(|error| {
        Refusal(format!("the program cannot read itself ({error}): start it by its path"))
    })?;
    Ok(sweep::digest(&program))
}

/// The runs whose results are not there.
pub(crate) fn left<'s>(sweep: &'s Sweep, folder: &Path) -> Result<Vec<&'s Unit>, Refusal> {
    if !folder.exists() {
        return Ok(sweep.units.iter().collect());
    }
    Store::existing(folder)?.missing(sweep)
}

/// Makes a run in a process of its own; none if it was interrupted.
fn run(unit: &Unit, label: &str) -> Result<Option<Value>, Refusal> {
    let words = unit.command();
    let failed = |says: String| {
        Refusal(format!("`contend {}`: {says}; what was measured before is kept", words.join(" ")))
    };
    let program = std::env::current_exe();
    let program = program.map_err(|error| failed(format!("cannot be started ({error})")))?;
    let output = Latched::new(None);
    let work = || {
        let ended = Command::new(&program).args(&words).stdin(Stdio::null()).output();
        *output.lock() = Some(ended);
    };
    live::watched(work, || label.to_owned(), || ());
    let output = output.into_inner().expect("the run was waited for");
    let Output { status, stdout, stderr } =
        output.map_err(|error| failed(format!("cannot be started ({error})")))?;
    match serde_json::from_slice::<Value>(&stdout) {
        Ok(value) if value["kind"] == "run" => Ok((value["interrupted"] != true).then_some(value)),
        _ if is_stopped() => Ok(None),
        _ => {
            let says = String::from_utf8_lossy(&stderr);
            Err(failed(format!("ended with {status} and no result: {}", says.trim())))
        }
    }
}
