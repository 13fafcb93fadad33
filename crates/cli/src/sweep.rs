//! `contend sweep`: makes the runs of a recipe, here or elsewhere, and reports them; and `contend merge`.

use std::fs;
use std::path::Path;

use lab::sweep::{self, JobArray, Measuring, Places, Recipe, ResultStore, Summary, Sweep, Unit};
use lab::{Catalogue, Machine, Refusal, probe, text};
use results::Run;

use crate::args::{self, Executor, Format};
use crate::out::Out;
use crate::process::{build, make_all};
use crate::{exit_code, live, ray};

pub(crate) fn sweep(catalogue: Catalogue, args: &args::Sweep, out: &mut Out) -> Result<u8, Refusal> {
    let (sweep, text) = planned(catalogue, args)?;
    let folder = args.out.clone().unwrap_or_else(|| args.recipe.with_extension(""));
    if args.executor != Executor::Local {
        if args.jobs.jobs.is_some() {
            let says = "`--jobs`: it is for runs on this host: leave it out, or leave `--executor` out";
            return Err(Refusal(says.to_owned()));
        }
        sweep.portable()?;
    }
    if args.dry_run || args.commands {
        describe(args, &sweep, &folder, out)?;
        return Ok(0);
    }
    if !args.only.is_empty() {
        return only(&sweep, args, &ResultStore::open(&folder)?, out);
    }
    let store = ResultStore::open(&folder)?;
    let recipe = store.keep_recipe(&text)?;
    if args.executor == Executor::Slurm {
        return job_array(args, &sweep, &store, &recipe, out);
    }
    live::take_interrupts();
    let ended = match args.executor {
        Executor::Ray => ray::measure(&sweep, &store, &text),
        _ => make_all(Measuring::new(&sweep, &store)?, args.jobs.jobs, "", out),
    };
    // Results are shown even if the sweep ended with an error.
    let summary = Summary::new(&sweep, &store)?;
    match args.format {
        Format::Text => out.print(&sweep::results(&sweep, &summary)),
        Format::Json => {
            for line in &summary.lines {
                out.print(&format!("{}\n", sweep::point(&sweep, line)));
            }
            for object in sweep::left_out(&sweep) {
                out.print(&format!("{object}\n"));
            }
        }
    }
    ended?;
    Ok(exit_code(summary.failed > 0))
}

/// Reads the recipe; returns it with the text that it was read from.
fn planned(catalogue: Catalogue, args: &args::Sweep) -> Result<(Sweep, String), Refusal> {
    let name = args.recipe.display();
    let mut text = fs::read_to_string(&args.recipe).map_err(|error| {
        Refusal(format!("`{name}`: cannot be read ({error}): give the path of a recipe, a file in TOML"))
    })?;
    let in_recipe = |refusal: Refusal| Refusal(format!("`{name}`: {refusal}"));
    let mut recipe = Recipe::parse(catalogue, &text).map_err(in_recipe)?;
    if args.whole {
        (recipe, text) = recipe.into_whole(catalogue, &text).map_err(in_recipe)?;
    }
    if let Some(minutes) = args.budget {
        if !(0.0..=100_000.0).contains(&minutes) {
            return Err(Refusal(format!("`--budget {minutes}`: give a number of minutes from 0 to 100000")));
        }
        recipe.budget_minutes = Some(minutes);
    }
    Ok((Sweep::new(catalogue, recipe, &build(catalogue)?).map_err(in_recipe)?, text))
}

/// Prints the runs that would be made, or their commands.
fn describe(args: &args::Sweep, sweep: &Sweep, folder: &Path, out: &mut Out) -> Result<(), Refusal> {
    let left = left(sweep, folder)?;
    if args.dry_run {
        out.print(&sweep::plan(sweep, sweep.units.len() - left.len()));
        if args.executor == Executor::Local {
            out.print(&probe::applying(sweep, &Machine::of_this_process()));
        }
    }
    let commands = left.iter().filter(|_| args.commands);
    commands.for_each(|unit| out.print(&format!("{}\n", unit.line())));
    Ok(())
}

/// Returns the runs that have no results yet.
pub(crate) fn left<'s>(sweep: &'s Sweep, folder: &Path) -> Result<Vec<&'s Unit>, Refusal> {
    if !folder.exists() {
        return Ok(sweep.units.iter().collect());
    }
    ResultStore::existing(folder)?.missing(sweep)
}

/// Makes some runs, and prints the outcome of each.
fn only(sweep: &Sweep, args: &args::Sweep, store: &ResultStore, out: &mut Out) -> Result<u8, Refusal> {
    let units = sweep.only(&args.only)?;
    live::take_interrupts();
    let ended = make_all(Measuring::only(sweep, store, units.clone())?, args.jobs.jobs, "", out);
    let mut has_failed = false;
    for unit in units {
        let Some(entry) = store.get(&unit.id)? else { continue };
        has_failed |= entry.run.is_failed();
        match args.format {
            Format::Text => out.print(&format!("{}: {}\n", sweep.label(unit), outcome(&entry.run))),
            Format::Json => out.print(&format!("{}\n", entry.run)),
        }
    }
    ended?;
    Ok(exit_code(has_failed))
}

/// Returns the outcome of a run in a few words.
fn outcome(run: &Run) -> String {
    let starved = if run.is_starved { ", starved" } else { "" };
    match run.throughput_txn_s {
        Some(throughput) => format!("{} txn/s{starved}", text::count(throughput)),
        None => "CHECK FAILED, no result".to_owned(),
    }
}

/// Writes the job array of the runs that are left, and prints the command that submits it.
fn job_array(
    args: &args::Sweep,
    sweep: &Sweep,
    store: &ResultStore,
    recipe: &Path,
    out: &mut Out,
) -> Result<u8, Refusal> {
    if args.budget.is_some() {
        let says = "`--budget`: a job array has no clock in common: leave it out, and `scancel` the job";
        return Err(Refusal(says.to_owned()));
    }
    let left = store.missing(sweep)?;
    if left.is_empty() {
        out.print("all runs are made: nothing is left to submit\n");
        return Ok(0);
    }
    let whole = |path: &Path| {
        fs::canonicalize(path)
            .map_err(|error| Refusal(format!("`{}`: cannot be found ({error})", path.display())))
    };
    let program = std::env::current_exe().map_err(|error| {
        Refusal(format!("the program cannot find itself ({error}): start it by its path"))
    })?;
    let (recipe, folder) = (whole(recipe)?, whole(store.path())?);
    let places = Places { program: &program, recipe: &recipe, folder: &folder };
    let blocks = sweep::blocks(&left);
    let array = JobArray::new(&blocks, places)?;
    let file = |extension: &str| Path::new("slurm").join(&array.name).with_extension(extension);
    store.derive(&file("blocks"), &array.blocks)?;
    store.derive(&file("sh"), &array.script)?;
    out.print(&format!(
        "{} runs in {} blocks, one a task: a job array of {}\n  sbatch {}\n\
         when it has ended:\n  contend sweep {} --out {} --dry-run   (what is left)\n",
        left.len(),
        blocks.len(),
        array.tasks,
        folder.join(file("sh")).display(),
        recipe.display(),
        store.path().display(),
    ));
    Ok(0)
}

/// `contend merge`: the union of directories of results.
pub(crate) fn merge(args: &args::Merge, out: &mut Out) -> Result<u8, Refusal> {
    let from = args.from.iter().map(|path| ResultStore::existing(path)).collect::<Result<Vec<_>, _>>()?;
    let into = ResultStore::open(&args.into)?;
    out.print(&sweep::merge(&into, &from)?.text());
    Ok(0)
}
