//! `contend sweep`: makes the runs of a recipe and reports them.

use std::fs;
use std::path::Path;

use lab::Refusal;
use lab::sweep::{self, Measuring, Recipe, Store, Summary, Sweep, Unit};

use crate::args::{self, Format};
use crate::live::{self, is_stopped};
use crate::out::Out;
use crate::process::{build, run_unless_stopped};
use crate::{CHECK_FAILED, INTERRUPTED};

pub(crate) fn sweep(args: &args::Sweep, out: &mut Out) -> Result<u8, Refusal> {
    let name = args.recipe.display();
    let text = fs::read_to_string(&args.recipe).map_err(|error| {
        Refusal(format!("`{name}`: cannot be read ({error}): give the path of a recipe, a file in TOML"))
    })?;
    let in_recipe = |refusal: Refusal| Refusal(format!("`{name}`: {refusal}"));
    let mut recipe = Recipe::parse(&text).map_err(in_recipe)?;
    if let Some(minutes) = args.budget {
        if !(0.0..=100_000.0).contains(&minutes) {
            return Err(Refusal(format!("`--budget {minutes}`: give a number of minutes from 0 to 100000")));
        }
        recipe.budget_minutes = Some(minutes);
    }
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
    let ended = Measuring::new(&sweep, &store)?.all(|unit, label| run_unless_stopped(unit, label, out));
    // What was measured is shown, whatever came after it.
    let summary = Summary::new(&sweep, &store)?;
    match args.format {
        Format::Text => out.print(&sweep::results(&sweep, &summary)),
        Format::Json => {
            for line in &summary.lines {
                out.print(&format!("{}\n", sweep::json(&sweep, line)));
            }
            for object in sweep::left_out(&sweep) {
                out.print(&format!("{object}\n"));
            }
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

/// The runs whose results are not there.
pub(crate) fn left<'s>(sweep: &'s Sweep, folder: &Path) -> Result<Vec<&'s Unit>, Refusal> {
    if !folder.exists() {
        return Ok(sweep.units.iter().collect());
    }
    Store::existing(folder)?.missing(sweep)
}
