//! Makes a failing schedule simple: delta debugging (Zeller, Hildebrandt, TSE 2002) over its runs.
//!
//! A preemption is removed in one of three ways. Two of them leave each worker's later preemptions where they
//! were in its program: the interrupted run is joined by the same worker's next one (what came between comes
//! later), or it is joined to that (it comes later itself). By the third it is not interrupted any more.

use core::num::NonZeroU32;

use crate::Schedule;
use crate::schedule::Run;

/// A schedule that was made simpler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shrunk {
    /// The simplest one that was found, which fails.
    pub schedule: Schedule,
    /// How many others were tried.
    pub tries: u64,
    /// Whether no single preemption can be removed from it such that it still fails; else the budget
    /// was used up.
    pub is_minimal: bool,
}

/// Makes a failing schedule simpler, by at most `budget` tries whether another `fails`, too. The same
/// arguments give the same result.
pub fn shrink(schedule: &Schedule, budget: u64, mut fails: impl FnMut(&Schedule) -> bool) -> Shrunk {
    let mut shrunk = Shrunk { schedule: schedule.clone(), tries: 0, is_minimal: false };
    let mut chunk = runs(schedule).div_ceil(2).max(1);
    loop {
        let mut is_simpler = false;
        // From the end: what comes after the failure goes first, all at once.
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

/// What becomes smaller.
fn size(schedule: &Schedule) -> (usize, usize) {
    (schedule.preemptions(), runs(schedule))
}

/// A way to remove the preemptions with which the runs of a range end.
type Join = fn(&[Run], core::ops::Range<usize>) -> Vec<Run>;

/// The schedule without the runs of a range, counted over all calls, as far as `join` leaves them out.
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

/// Leaves the runs of the range to the same workers' next ones.
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

/// Lets the runs of the range go on with the same workers' next ones.
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

/// Makes one run of those in a row between which nothing happens.
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

/// The steps of two runs in one: as far as it can go, if the second goes so far.
fn sum(first: Option<NonZeroU32>, second: Option<NonZeroU32>) -> Option<NonZeroU32> {
    Some(first?.saturating_add(second?.get()))
}
