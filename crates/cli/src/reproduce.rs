//! `contend reproduce`: runs the recipes of an experiment of the literature, and gives the verdict on its claim.

use std::path::PathBuf;

use lab::reproduce::{self, Experiment, Finding, Status};
use lab::sweep::{self, Measuring, Recipe, ResultStore, Summary, Sweep};
use lab::{Catalogue, Refusal};

use crate::args::{self, Format};
use crate::out::Out;
use crate::process::{build, make_all};
use crate::sweep::left;
use crate::{INTERRUPTED, exit_code, live};

pub(crate) fn reproduce(catalogue: Catalogue, args: &args::Reproduce, out: &mut Out) -> Result<u8, Refusal> {
    if args.list {
        return Ok(list(args.format, out));
    }
    let Some(id) = &args.id else {
        return Err(Refusal("name an experiment: `contend reproduce --list` has them all".to_owned()));
    };
    let experiment = reproduce::find(id)?;
    refuse_what_cannot_be_run(&experiment)?;
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(experiment.id.to_lowercase()));
    let mut sweeps = sweeps(catalogue, &experiment, args)?;
    if args.predict {
        sweeps.retain(|(_, _, sweep)| sweep.units.iter().any(|unit| unit.request.machine.is_some()));
        if sweeps.is_empty() {
            let says =
                "has no simulated runs, so that nothing can be predicted: its recipes name no `machine`";
            return Err(Refusal(format!("{id} {says}")));
        }
    }
    if args.dry_run {
        out.print(&reproduce::entry(&experiment));
        for (name, _, sweep) in &sweeps {
            let made = sweep.units.len() - left(sweep, &folder)?.len();
            out.print(&format!("\nrecipe {name}: {}", sweep::plan(sweep, made)));
        }
        return Ok(0);
    }
    live::take_interrupts();
    let store = ResultStore::open(&folder)?;
    let mut ended = Ok(());
    let mut results = Vec::new();
    for (name, text, sweep) in sweeps {
        store.keep_recipe(text)?;
        ended = ended.and_then(|()| make_all(Measuring::new(&sweep, &store)?, args.jobs.jobs, out));
        let missing = store.missing(&sweep)?.len();
        if args.predict && missing > 0 {
            // Fewer runs predict something else.
            ended?;
            if live::is_stopped() {
                return Ok(INTERRUPTED);
            }
            return Err(Refusal(format!(
                "{missing} runs of the recipe {name} are missing, and the others predict nothing: start the command \
                 again with the same --out, which goes on with them"
            )));
        }
        let summary = Summary::new(&sweep, &store)?;
        results.push((name, sweep, summary));
    }
    let finding = Finding::new(&experiment, results, args.seed.unwrap_or(1));
    if args.predict {
        ended?;
        out.print(&reproduce::predictions(&finding));
        return Ok(exit_code(finding.failed() > 0));
    }
    let claim = finding.claim(&folder);
    let kept = reproduce::keep(&store, &claim)?;
    match args.format {
        Format::Text => {
            out.print(&reproduce::finding(&finding));
            out.print(&format!("claim kept in {}\n", kept.display()));
        }
        Format::Json => out.print(&format!("{claim}\n")),
    }
    ended?;
    Ok(exit_code(finding.failed() > 0))
}

fn list(format: Format, out: &mut Out) -> u8 {
    let all = reproduce::all();
    match format {
        Format::Text => out.print(&reproduce::list(&all)),
        Format::Json => all.iter().for_each(|one| out.print(&format!("{}\n", reproduce::json(one)))),
    }
    0
}

/// Refuses an experiment that waits for a capability, or that can never be tested here.
fn refuse_what_cannot_be_run(experiment: &Experiment) -> Result<(), Refusal> {
    let id = &experiment.id;
    match experiment.status() {
        Status::Ready => Ok(()),
        Status::Waits(reason) => Err(Refusal(format!(
            "{id} is not testable here yet: it waits for {reason}; see `contend reproduce --list`"
        ))),
        Status::NotHere(reason) => {
            Err(Refusal(format!("{id} is not testable here: {reason}; see `contend reproduce --list`")))
        }
    }
}

/// Returns the sweeps of an experiment's recipes, each with the name and the text of its recipe. The sweeps share the
/// budget equally.
fn sweeps(
    catalogue: Catalogue,
    experiment: &Experiment,
    args: &args::Reproduce,
) -> Result<Vec<(String, &'static str, Sweep)>, Refusal> {
    let mut sweeps = Vec::new();
    for name in &experiment.recipes {
        let text = reproduce::recipe(name).expect("it is ready, so its recipes are there");
        let mut recipe = Recipe::parse(catalogue, text)?;
        recipe.seed = args.seed.unwrap_or(recipe.seed);
        recipe.repeat = args.repeat.unwrap_or(recipe.repeat);
        let share = args.budget.map(|minutes| minutes / experiment.recipes.len() as f64);
        recipe.budget_minutes = share.or(recipe.budget_minutes);
        sweeps.push((name.clone(), text, Sweep::new(catalogue, recipe, &build(catalogue)?)?));
    }
    Ok(sweeps)
}
