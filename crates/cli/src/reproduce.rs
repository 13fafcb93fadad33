//! `contend reproduce`: runs the recipes of an experiment of the literature, and gives the verdict on its claim.

use std::borrow::Cow;
use std::path::PathBuf;

use lab::reproduce::{self, Experiment, Finding, Retest, Status};
use lab::sweep::{self, Measuring, Recipe, ResultStore, Summary, Sweep};
use lab::{Catalogue, ConstantChange, Refusal};

use crate::args::{self, Format};
use crate::out::Out;
use crate::process::{build, make_all};
use crate::sweep::left;
use crate::{INTERRUPTED, exit_code, live};

/// A recipe by its name and text, with its sweep.
type Named = (String, Cow<'static, str>, Sweep);

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
    let is_of_simulations = args.predict || !args.constants.is_empty();
    if is_of_simulations {
        sweeps.retain(|(_, _, sweep)| sweep.simulates());
        if sweeps.is_empty() {
            let option = if args.predict { "--predict" } else { "--constants" };
            return Err(Refusal(format!("{id} has no simulated runs: leave `{option}` out")));
        }
    }
    let of_recipes = sweeps.iter().map(|(_, _, sweep)| sweep);
    let changes = reproduce::constant_changes(of_recipes, &args.constants, &args.only)?;
    // What a changed machine does not allow is refused before the first run.
    let changed = changes.iter().map(|change| changed(&sweeps, change)).collect::<Result<Vec<_>, _>>()?;
    if args.dry_run {
        out.print(&reproduce::entry(&experiment));
        for (name, _, sweep) in &sweeps {
            let made = sweep.units.len() - left(sweep, &folder)?.len();
            out.print(&format!("\nrecipe {name}: {}", sweep::plan(sweep, made)));
        }
        if !changes.is_empty() {
            let (mut runs, mut missing) = (0, 0);
            for (_, _, sweep) in changed.iter().flatten() {
                runs += sweep.units.len();
                missing += left(sweep, &folder)?.len();
            }
            let (changes, made) = (changes.len(), runs - missing);
            out.print(&format!(
                "\nagain with each of {changes} changed constants: {runs} runs, {made} of them made\n"
            ));
        }
        return Ok(0);
    }
    live::take_interrupts();
    let store = ResultStore::open(&folder)?;
    if is_of_simulations {
        let simulated = Simulated { experiment: &experiment, store: &store, args };
        return simulated.run(sweeps, changes.into_iter().zip(changed).collect(), out);
    }
    let mut ended = Ok(());
    let mut results = Vec::new();
    for (name, text, sweep) in sweeps {
        store.keep_recipe(&text)?;
        ended = ended.and_then(|()| make_all(Measuring::new(&sweep, &store)?, args.jobs.jobs, "", out));
        let summary = Summary::new(&sweep, &store)?;
        results.push((name, sweep, summary));
    }
    let finding = Finding::new(&experiment, results, args.seed.unwrap_or(1));
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

/// Returns the same sweeps on machines that differ in a constant.
fn changed(sweeps: &[Named], change: &ConstantChange) -> Result<Vec<Named>, Refusal> {
    let sweep = |(name, text, sweep): &Named| Ok((name.clone(), text.clone(), sweep.changed(change)?));
    sweeps.iter().map(sweep).collect()
}

/// The simulated runs of an experiment, of which nothing is decided.
struct Simulated<'a> {
    experiment: &'a Experiment,
    store: &'a ResultStore,
    args: &'a args::Reproduce,
}

impl<'a> Simulated<'a> {
    /// Prints what the runs predict or, if there are changes, how they depend on constants. The figures
    /// need all runs.
    fn run(
        &self,
        sweeps: Vec<Named>,
        changes: Vec<(ConstantChange, Vec<Named>)>,
        out: &mut Out,
    ) -> Result<u8, Refusal> {
        let Some(whole) = self.finding(sweeps, "", out)? else { return Ok(INTERRUPTED) };
        let mut failed = whole.failed();
        if self.args.predict {
            out.print(&reproduce::predictions(&whole));
            return Ok(exit_code(failed > 0));
        }
        let mut retest = Retest::new(&whole);
        let count = changes.len();
        for (nth, (change, sweeps)) in changes.into_iter().enumerate() {
            let about = format!("machine {} of {count}, with {change}; ", nth + 1);
            let Some(finding) = self.finding(sweeps, &about, out)? else { return Ok(INTERRUPTED) };
            failed += finding.failed();
            retest.add(change, &finding);
        }
        out.print(&retest.text());
        Ok(exit_code(failed > 0))
    }

    /// Makes all runs and returns what they give; `None` if the user has interrupted them. The line of progress begins
    /// with `about`.
    fn finding(
        &self,
        sweeps: Vec<Named>,
        about: &str,
        out: &mut Out,
    ) -> Result<Option<Finding<'a>>, Refusal> {
        let mut results = Vec::new();
        for (name, text, sweep) in sweeps {
            self.store.keep_recipe(&text)?;
            let ended = make_all(Measuring::new(&sweep, self.store)?, self.args.jobs.jobs, about, out);
            let missing = self.store.missing(&sweep)?.len();
            if missing > 0 {
                ended?;
                if live::is_stopped() {
                    return Ok(None);
                }
                return Err(Refusal(format!(
                    "{missing} runs of the recipe {name} are missing, and the figures need all of them: start the \
                     command again with the same --out, which goes on with them"
                )));
            }
            let summary = Summary::new(&sweep, self.store)?;
            results.push((name, sweep, summary));
        }
        Ok(Some(Finding::new(self.experiment, results, self.args.seed.unwrap_or(1))))
    }
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
) -> Result<Vec<Named>, Refusal> {
    let mut sweeps = Vec::new();
    let mut has_part = false;
    for name in &experiment.recipes {
        let mut text = Cow::from(reproduce::recipe(name).expect("it is ready, so its recipes are there"));
        let mut recipe = Recipe::parse(catalogue, &text)?;
        let is_part = recipe.whole.is_some();
        has_part |= is_part;
        if args.whole && is_part {
            let (whole, its_text) = recipe.into_whole(catalogue, &text)?;
            (recipe, text) = (whole, its_text.into());
        }
        recipe.seed = args.seed.unwrap_or(recipe.seed);
        let repeat = if args.constants.is_empty() { recipe.repeat } else { 1 };
        recipe.repeat = args.repeat.unwrap_or(repeat);
        let share = args.budget.map(|minutes| minutes / experiment.recipes.len() as f64);
        recipe.budget_minutes = share.or(recipe.budget_minutes);
        sweeps.push((name.clone(), text, Sweep::new(catalogue, recipe, &build(catalogue)?)?));
    }
    if args.whole && !has_part {
        let id = &experiment.id;
        return Err(Refusal(format!(
            "the recipes of {id} take no part of a larger figure: leave `--whole` out"
        )));
    }
    Ok(sweeps)
}
