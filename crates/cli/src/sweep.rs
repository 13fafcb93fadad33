//! `contend sweep`: makes the runs of a recipe, each in a process of its own, and reports them.
//!
//! A process of its own gives each run the memory of a fresh start, and keeps the others when one fails.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use lab::sweep::{self, Recipe, Store, Summary, Sweep, Unit};
use lab::{Refusal, text};
use serde_json::{Value, json};
use sync::{Latched, clock};

use crate::args::{self, Format};
use crate::live::{self, is_stopped};
use crate::out::Out;
use crate::{CHECK_FAILED, INTERRUPTED};

/// How often a run is made at most until its workers get the processor time that they ask for.
const ATTEMPTS_MAX: u32 = 3;

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
    let build = build()?;
    let sweep = Sweep::new(recipe, &build).map_err(in_recipe)?;
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
    let ended = Measuring::new(&sweep, &build, &store)?.all(out);
    // What was measured is shown, whatever came after it.
    let summary = Summary::new(&sweep, &store)?;
    match args.format {
        Format::Text => out.print(&sweep::results(&sweep, &summary)),
        Format::Json => {
            for line in &summary.lines {
                out.print(&format!("{}\n", sweep::json(&sweep, line)));
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

/// What makes the runs: results of one build are not taken for those of another. A commit if it says what was built,
/// or else a digest of the program.
fn build() -> Result<String, Refusal> {
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
fn left<'s>(sweep: &'s Sweep, folder: &Path) -> Result<Vec<&'s Unit>, Refusal> {
    if !folder.exists() {
        return Ok(sweep.units.iter().collect());
    }
    missing(sweep, &Store::existing(folder)?)
}

fn missing<'s>(sweep: &'s Sweep, store: &Store) -> Result<Vec<&'s Unit>, Refusal> {
    let mut missing = Vec::new();
    for unit in &sweep.units {
        missing.extend(store.get(&unit.id)?.is_none().then_some(unit));
    }
    Ok(missing)
}

/// The runs of a sweep, as they are made.
struct Measuring<'s> {
    sweep: &'s Sweep,
    build: &'s str,
    store: &'s Store,
    left: Vec<&'s Unit>,
    begun_ns: u64,
    /// Seconds that the runs which were made were guessed to take.
    guessed_s: f64,
}

impl<'s> Measuring<'s> {
    fn new(sweep: &'s Sweep, build: &'s str, store: &'s Store) -> Result<Self, Refusal> {
        let left = missing(sweep, store)?;
        Ok(Self { sweep, build, store, left, begun_ns: clock::now_ns(), guessed_s: 0.0 })
    }

    /// Makes all that are left, until there is no time, the user asks to stop, or nobody reads the results.
    fn all(mut self, out: &Out) -> Result<(), Refusal> {
        for nth in 0..self.left.len() {
            let unit = self.left[nth];
            let budget_s = self.sweep.recipe.budget_minutes.map(|minutes| minutes * 60.0);
            let would_end_s = self.elapsed_s() + self.real_s(unit.lasts_s);
            if is_stopped() || out.is_closed() || budget_s.is_some_and(|budget_s| would_end_s > budget_s) {
                break;
            }
            let Some(value) = self.measure(nth)? else { break };
            self.store.put(unit, &value)?;
            self.guessed_s += unit.lasts_s;
        }
        Ok(())
    }

    fn elapsed_s(&self) -> f64 {
        (clock::now_ns() - self.begun_ns) as f64 / 1e9
    }

    /// What guessed seconds are by what runs took so far.
    fn real_s(&self, guessed_s: f64) -> f64 {
        if self.guessed_s > 0.0 { guessed_s * self.elapsed_s() / self.guessed_s } else { guessed_s }
    }

    /// Makes a run, again if it is starved; none if it was interrupted.
    fn measure(&self, nth: usize) -> Result<Option<Value>, Refusal> {
        let unit = self.left[nth];
        let guessed_s: f64 = self.left[nth..].iter().map(|unit| unit.lasts_s).sum();
        let label = format!(
            "[{}/{}] {}: about {} to go",
            self.sweep.units.len() - self.left.len() + nth + 1,
            self.sweep.units.len(),
            self.sweep.label(unit),
            text::duration_s(self.real_s(guessed_s))
        );
        let mut best: Option<Value> = None;
        for attempt in 1..=ATTEMPTS_MAX {
            let Some(mut value) = self.attempt(unit, &label)? else { return Ok(None) };
            value["attempts"] = attempt.into();
            let share = |value: &Value| value["cpu_share"].as_f64().unwrap_or(0.0);
            if best.as_ref().is_none_or(|best| share(&value) > share(best)) {
                best = Some(value);
            } else if let Some(best) = &mut best {
                best["attempts"] = attempt.into();
            }
            if best.as_ref().is_some_and(|best| best["starved"] != true) {
                break;
            }
        }
        Ok(best)
    }

    /// One run in a process of its own.
    fn attempt(&self, unit: &Unit, label: &str) -> Result<Option<Value>, Refusal> {
        let command = format!("contend {}", unit.command().join(" "));
        let failed = |says: String| Refusal(format!("`{command}`: {says}; what was measured before is kept"));
        let program =
            std::env::current_exe().map_err(|error| failed(format!("cannot be started ({error})")))?;
        let run = || Command::new(&program).args(unit.command()).stdin(Stdio::null()).output();
        let output = Latched::new(None);
        live::watched(|| *output.lock() = Some(run()), || label.to_owned(), || ());
        let output = output.into_inner().expect("the run was waited for");
        let Output { status, stdout, stderr } =
            output.map_err(|error| failed(format!("cannot be started ({error})")))?;
        let value = serde_json::from_slice::<Value>(&stdout).ok();
        let Some(mut value) = value.filter(|value| value["kind"] == "run") else {
            if is_stopped() {
                return Ok(None);
            }
            let says = String::from_utf8_lossy(&stderr);
            return Err(failed(format!("ended with {status} and no result: {}", says.trim())));
        };
        if value["interrupted"] == true {
            return Ok(None);
        }
        value["id"] = unit.id.clone().into();
        value["build"] = self.build.into();
        value["command"] = command.into();
        value["repetition"] = unit.repetition.into();
        value["point"] =
            self.sweep.axes.iter().cloned().zip(unit.point.iter().map(|value| json!(value))).collect();
        Ok(Some(value))
    }
}
