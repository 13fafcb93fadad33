//! Simplification of a failing schedule: delta debugging (Zeller, Hildebrandt, TSE 2002) over its runs.
//!
//! A preemption is removed in one of three ways. Two of them leave each worker's later preemptions at the same places
//! in its program: the same worker's next run is moved up to the interrupted run (the runs between come later), or the
//! interrupted run is moved into that next run (it comes later itself). In the third the run is not interrupted any
//! more.

use core::num::NonZeroU32;

use crate::Schedule;
use crate::schedule::Run;

/// The result of a simplification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shrunk {
    /// The simplest schedule that was found, which fails.
    pub schedule: Schedule,
    /// The number of other schedules that were tried.
    pub tries: u64,
    /// Whether it would no longer fail without any single one of its preemptions; if false, the budget was used up.
    pub is_minimal: bool,
}

/// Simplifies a failing schedule, with at most `budget` calls of `fails` on other schedules. The same arguments give
/// the same result.
pub fn shrink(schedule: &Schedule, budget: u64, mut fails: impl FnMut(&Schedule) -> bool) -> Shrunk {
    let mut shrunk = Shrunk { schedule: schedule.clone(), tries: 0, is_minimal: false };
    let mut chunk = runs(schedule).div_ceil(2).max(1);
    loop {
        let mut is_simpler = false;
        // From the end: runs after the failure are removed first, all at once.
        let mut end = runs(&shrunk.schedule);
        while end > 0 {
            let start = end.saturating_sub(chunk);
            for join in [delay, advance, finish] {
                let candidate = simpler(&shrunk.schedule, start..end, join);
                if size(&candidate) >= size(&shrunk.schedule) {
                    continue;
                }
                if shrunk.tries == budget {
                    return shrunk;
                }
                shrunk.tries += 1;
                if fails(&candidate) {
                    shrunk.schedule = candidate;
                    is_simpler = true;
                    break;
                }
            }
            end = start.min(runs(&shrunk.schedule));
        }
        if chunk == 1 && !is_simpler {
            return Shrunk { is_minimal: true, ..shrunk };
        }
        if !is_simpler {
            chunk /= 2;
        }
    }
}

fn runs(schedule: &Schedule) -> usize {
    schedule.calls.iter().map(Vec::len).sum()
}

/// The measure that a simplification makes smaller: preemptions, then runs.
fn size(schedule: &Schedule) -> (usize, usize) {
    (schedule.preemptions(), runs(schedule))
}

/// A way to remove the preemptions with which the runs of a range end.
type Join = fn(&[Run], core::ops::Range<usize>) -> Vec<Run>;

/// The schedule without the runs of a range, counted over all calls, as far as `join` removes them.
fn simpler(schedule: &Schedule, range: core::ops::Range<usize>, join: Join) -> Schedule {
    let mut first = 0;
    let calls = schedule.calls.iter().map(|runs| {
        let place = |at: usize| at.clamp(first, first + runs.len()) - first;
        let joined = join(runs, place(range.start)..place(range.end));
        first += runs.len();
        merge(joined)
    });
    Schedule::new(calls.collect())
}

/// Moves the runs of the range into the next run of the same worker.
fn delay(runs: &[Run], range: core::ops::Range<usize>) -> Vec<Run> {
    let mut owed: Vec<Run> = Vec::new();
    let mut kept = Vec::new();
    for (at, &run) in runs.iter().enumerate() {
        if range.contains(&at) {
            owed.push(run);
            continue;
        }
        let mut run = run;
        for earlier in owed.extract_if(.., |earlier| earlier.worker == run.worker) {
            run.steps = sum(earlier.steps.or(Some(NonZeroU32::MIN)), run.steps);
        }
        kept.push(run);
    }
    kept
}

/// Moves the next run of the same worker up to each preempted run of the range.
fn advance(runs: &[Run], range: core::ops::Range<usize>) -> Vec<Run> {
    let mut runs = runs.to_vec();
    for at in range.rev() {
        let Run { worker, steps } = runs[at];
        if steps.is_some() {
            let next = (at + 1..runs.len()).find(|&next| runs[next].worker == worker);
            runs[at].steps = sum(steps, next.and_then(|next| runs.remove(next).steps));
        }
    }
    runs
}

/// Lets the runs of the range go as far as they can.
fn finish(runs: &[Run], range: core::ops::Range<usize>) -> Vec<Run> {
    let mut runs = runs.to_vec();
    runs[range].iter_mut().for_each(|run| run.steps = None);
    runs
}

/// Merges consecutive runs of a worker between which no other worker runs.
fn merge(runs: Vec<Run>) -> Vec<Run> {
    let mut merged: Vec<Run> = Vec::new();
    for run in runs {
        match merged.last_mut() {
            Some(last) if last.worker == run.worker && last.steps.is_some() => {
                last.steps = sum(last.steps, run.steps);
            }
            _ => merged.push(run),
        }
    }
    merged
}

/// The steps of two runs as one run: unbounded if either run is.
fn sum(first: Option<NonZeroU32>, second: Option<NonZeroU32>) -> Option<NonZeroU32> {
    Some(first?.saturating_add(second?.get()))
}
