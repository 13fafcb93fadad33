//! The runs of one side of a comparison: read from files, and put into cells.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use results::{CheckVerdict, Line, Run};

use super::facts_of;
use crate::Refusal;
use crate::speed::Speed;

/// The key of a repetition: its seed, its round, and the number of earlier measurements of the same seed and round.
pub(super) type Repetition = (u64, u64, usize);

/// The runs of one side of a cell.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// The number of all runs, whatever their outcome.
    pub runs: usize,
    /// The number of runs whose check failed: they are no results.
    pub failed: usize,
    /// The number of runs that were ended early: they are no results either.
    pub interrupted: usize,
    /// The number of runs whose workers got less than 95% of the processor time that they asked for.
    pub starved: usize,
    /// The number of results without a single commit.
    pub silent: usize,
    /// The number of results whose check was skipped.
    pub unchecked: usize,
    /// The number of files or lines that repeat a run of this side: they were left out.
    pub copies: usize,
    /// The builds that made the runs, where they are known.
    pub builds: BTreeSet<String>,
    pub(super) results: BTreeMap<Repetition, Speed>,
    pub(super) machines: BTreeMap<&'static str, BTreeSet<String>>,
}

/// Reads runs, including those that failed their check, from a file of JSON lines, or from a directory of such files,
/// as `contend run --out` and `contend sweep` write them.
///
/// # Errors
/// A file that cannot be read, or a path without any run.
pub fn results(path: &Path) -> Result<Vec<Run>, Refusal> {
    let shown = path.display();
    let unread = |error: std::io::Error| Refusal(format!("`{shown}`: cannot be read ({error})"));
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let folder = if path.join("runs").is_dir() { path.join("runs") } else { path.to_owned() };
        let names = fs::read_dir(folder).map_err(unread)?.map(|file| file.map(|file| file.path()));
        files = names.collect::<Result<Vec<_>, _>>().map_err(unread)?;
        files.retain(|file| file.extension().is_some_and(|ending| ending == "json" || ending == "jsonl"));
        files.sort();
    }
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)
            .map_err(|error| Refusal(format!("`{}`: cannot be read ({error})", file.display())))?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let read = results::parse(line);
            let read = read.map_err(|unread| Refusal(format!("`{}`: {unread}", file.display())))?;
            if let Some(Line::Run(run)) = read {
                found.push(*run);
            }
        }
    }
    if found.is_empty() {
        let says = "give a file or a directory that `contend run --out` or `contend sweep` wrote";
        return Err(Refusal(format!("`{shown}`: has no result of a run: {says}")));
    }
    Ok(found)
}

impl Side {
    /// Makes a side from all runs of a cell.
    pub(super) fn new(runs: &[&Run]) -> Self {
        let mut side = Self::default();
        let mut repetitions: BTreeMap<(u64, u64), Vec<&Run>> = BTreeMap::new();
        for run in runs {
            let round = if run.choices.is_simulated { 0 } else { run.round };
            let same = repetitions.entry((run.choices.seed, round)).or_default();
            // Two native runs never measure the same to the last digit: this run is a copy.
            if same.iter().any(|other| other == run || run.repeats(other)) {
                side.copies += 1;
            } else {
                same.push(run);
            }
        }
        for ((seed, round), runs) in repetitions {
            for (nth, run) in runs.into_iter().enumerate() {
                side.add((seed, round, nth), run);
            }
        }
        side
    }

    fn add(&mut self, repetition: Repetition, run: &Run) {
        self.runs += 1;
        self.starved += usize::from(run.is_starved);
        self.builds.extend(run.build.clone());
        for (name, fact) in facts_of(run) {
            self.machines.entry(name).or_default().insert(fact);
        }
        let speed = Speed::of(run);
        if run.is_failed() {
            self.failed += 1;
        } else if let Some(speed) = speed.filter(|_| !run.is_interrupted) {
            self.silent += usize::from(run.throughput_txn_s == Some(0.0));
            self.unchecked += usize::from(run.check.verdict == CheckVerdict::Skipped);
            self.results.insert(repetition, speed);
        } else {
            self.interrupted += 1;
        }
    }

    /// Returns the number of runs that are results.
    pub fn results(&self) -> usize {
        self.results.len()
    }
}
