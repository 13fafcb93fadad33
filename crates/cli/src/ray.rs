//! `contend sweep --executor ray`: has a Ray cluster make the runs of a sweep. A small program in Python,
//! `contend_ray`, talks to Ray. It reads all blocks of runs in one line, answers with a line for each block that was
//! made, and ends when its input is closed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use lab::Refusal;
use lab::sweep::{self, ResultStore, Sweep, Unit};
use lab::text::duration_s;
use results::{Placed, Run};
use serde::Deserialize;
use serde_json::{Value, json};
use sync::{Latched, clock};

use crate::live::{self, is_stopped};

/// The version of the protocol between the two programs.
const PROTOCOL: u64 = 1;
/// The advice to a user who does not have the Python program.
const INSTALL: &str = "install it with `python3 -m pip install ./python/contend_ray` in the sources of Contend, which \
                       brings Ray along, and have that Python first in PATH";

/// Has the cluster make all runs that are left, and stores their results as they arrive.
///
/// # Errors
/// Something is missing here or in the cluster, a run cannot be made, or a result cannot be written.
pub(crate) fn measure(sweep: &Sweep, store: &ResultStore, recipe: &str) -> Result<(), Refusal> {
    let left = store.missing(sweep)?;
    if left.is_empty() {
        return Ok(());
    }
    let mut driver = start()?;
    let mut told = driver.stdin.take().expect("piped");
    // A write error is ignored: a driver that has ended says why in its output, which is read below.
    let _ = writeln!(told, "{}", plan(sweep, &left, recipe)?);
    // The pipe is dropped to stop the driver, which reads until the end of its input.
    let told = Latched::new(Some(told));
    let progress = Latched::new(Progress::new(sweep, &left));
    let lines = Latched::new(BufReader::new(driver.stdout.take().expect("piped")));
    let work = || -> Result<(), Refusal> {
        let mut lines = lines.lock();
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            take(&line, store, &left, &progress)?;
            line.clear();
        }
        Ok(())
    };
    let stop = || drop::<Option<ChildStdin>>(told.lock().take());
    let taken = live::watched(work, || progress.lock().line(), stop);
    stop();
    // The output is closed, so that a driver whose lines nobody reads does not wait for room in the pipe.
    drop(lines);
    let ended = driver.wait();
    taken?;
    let is_whole = ended.as_ref().is_ok_and(std::process::ExitStatus::success) || is_stopped();
    if is_whole { Ok(()) } else { Err(broken(&format!("ended with {ended:?}"))) }
}

/// Starts the driver, after a check that it is installed.
fn start() -> Result<Child, Refusal> {
    let python = || Command::new("python3");
    let found = python().args(["-c", "import contend_ray, ray"]).stdin(Stdio::null()).output();
    let found = found.map_err(|error| {
        Refusal(format!(
            "`--executor ray`: `python3` cannot be started ({error}): install Python, then {INSTALL}"
        ))
    })?;
    if !found.status.success() {
        let says = String::from_utf8_lossy(&found.stderr);
        let last = says.lines().last().unwrap_or("it says nothing").to_owned();
        return Err(Refusal(format!("`--executor ray`: the driver is not there ({last}): {INSTALL}")));
    }
    let driver = python().args(["-m", "contend_ray"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    driver.map_err(|error| broken(&format!("cannot be started ({error})")))
}

fn broken(says: &str) -> Refusal {
    Refusal(format!("`--executor ray`: `python3 -m contend_ray` {says}; the results so far are kept"))
}

/// Returns the plan for the driver.
fn plan(sweep: &Sweep, left: &[&Unit], recipe: &str) -> Result<Value, Refusal> {
    let program = std::env::current_exe().map_err(|error| {
        Refusal(format!("the program cannot find itself ({error}): start it by its path"))
    })?;
    let block = |block: &Vec<&Unit>| {
        let ids: Vec<&str> = block.iter().map(|unit| unit.id.as_str()).collect();
        json!({ "label": sweep.label(block[0]), "ids": ids })
    };
    Ok(json!({
        "protocol": PROTOCOL,
        "program": program.to_str().ok_or_else(|| Refusal("the program's path is no text: rename it".to_owned()))?,
        "recipe": recipe,
        "budget_s": sweep.recipe.budget_minutes.map(|minutes| minutes * 60.0),
        "blocks": sweep::blocks(left).iter().map(block).collect::<Vec<_>>(),
    }))
}

/// A line from the driver.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Said {
    /// The number of hosts that can make runs.
    Hosts { hosts: u64 },
    /// A block of runs was made: their results, and where they were made.
    Block { results: Vec<Run>, placed: Placed },
    /// The driver cannot go on, for a reason.
    Refused { says: Option<String> },
}

/// Handles a line from the driver.
fn take(
    line: &str,
    store: &ResultStore,
    left: &[&Unit],
    progress: &Latched<Progress>,
) -> Result<(), Refusal> {
    let said = serde_json::from_str(line).map_err(|error| {
        let says = if error.is_data() { "not understood" } else { &format!("no JSON ({error})") };
        broken(&format!("said what is {says}: {}", line.trim()))
    })?;
    match said {
        Said::Hosts { hosts } => progress.lock().hosts = hosts,
        Said::Block { results, placed } => {
            for run in results {
                let unit = left.iter().find(|unit| run.id.as_ref() == Some(&unit.id));
                let unit = unit.ok_or_else(|| broken("returned a run that was not requested"))?;
                store.put(unit, &Run { placed: Some(placed.clone()), ..run })?;
                progress.lock().made(unit);
            }
        }
        Said::Refused { says } => {
            let says = says.as_deref().unwrap_or("the driver gives no reason");
            return Err(Refusal(format!("`--executor ray`: {says}")));
        }
    }
    Ok(())
}

/// The progress of the cluster.
struct Progress {
    of: usize,
    made: usize,
    hosts: u64,
    begun_ns: u64,
    /// The estimated seconds of the runs that are left, by id.
    left_s: BTreeMap<String, f64>,
    guessed_s: f64,
}

impl Progress {
    fn new(sweep: &Sweep, left: &[&Unit]) -> Self {
        let left_s: BTreeMap<String, f64> = left.iter().map(|unit| (unit.id.clone(), unit.lasts_s)).collect();
        let (of, made) = (sweep.units.len(), sweep.units.len() - left.len());
        Self { of, made, hosts: 0, begun_ns: clock::now_ns(), left_s, guessed_s: 0.0 }
    }

    fn made(&mut self, unit: &Unit) {
        if let Some(guessed_s) = self.left_s.remove(&unit.id) {
            self.guessed_s += guessed_s;
            self.made += 1;
        }
    }

    fn line(&self) -> String {
        let Self { of, made, hosts, .. } = self;
        let head = format!("[{made}/{of}] on {hosts} hosts");
        let left_s: f64 = self.left_s.values().sum();
        let elapsed_s = (clock::now_ns() - self.begun_ns) as f64 / 1e9;
        match (*hosts, self.guessed_s) {
            (0, _) => format!("{head}: waiting for one with `contend_host`"),
            (_, guessed_s) if guessed_s > 0.0 => {
                format!("{head}: about {} to go", duration_s(left_s * elapsed_s / guessed_s))
            }
            (hosts, _) => format!("{head}: about {} to go", duration_s(left_s / hosts as f64)),
        }
    }
}
