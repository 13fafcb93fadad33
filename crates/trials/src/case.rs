//! Explored trials: small ones, each of which a seed stands for.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use checker::{Answer, Verdict};
use sim::Explorer;
use stdx::Rng;
use stdx::history::History;
use sync_sim::hook;

use crate::Plant;
use crate::trial::{Trial, stepped};

/// Steps after which a trial is taken for endless: a hundred times what the longest take.
const STEPS_MAX: u64 = 1_000_000;

/// A trial under the schedule of a seed.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The scheme's name.
    pub scheme: &'c str,
    /// Settings of the scheme that are not the standard ones.
    pub given: &'c [(String, String)],
    /// What decides all else.
    pub seed: u64,
    /// The bug that is planted.
    pub plant: Option<&'static Plant>,
}

/// What came of an explored trial.
#[derive(Debug)]
pub struct Explored {
    /// What all sessions saw and did; none if it did not end well.
    pub history: Option<History>,
    /// What the checker made of it.
    pub verdict: Option<Verdict>,
    /// What went wrong besides: a panic, a deadlock, no end in sight, a row that was torn.
    pub failure: Option<String>,
    /// Transactions that committed.
    pub commits: u64,
}

impl Explored {
    /// Whether something happened that must not.
    pub fn is_violation(&self) -> bool {
        self.failure.is_some() || self.verdict.as_ref().is_some_and(|v| v.answer == Answer::Violated)
    }
}

/// How much is done in a trial: what is found by which size differs from defect to defect.
struct Shape {
    workers: usize,
    requests: u64,
    settings: &'static [(&'static str, &'static str)],
}

/// Each with its share, in percent.
const SHAPES: [(u64, Shape); 4] = [
    // Three transactions at once: most anomalies need no more.
    (
        55,
        Shape {
            workers: 3,
            requests: 1,
            settings: &[("mix.keys", "2"), ("mix.homes", "1"), ("mix.ops_max", "3")],
        },
    ),
    // A few after each other, with rows that come and go between them.
    (
        30,
        Shape {
            workers: 2,
            requests: 4,
            settings: &[
                ("mix.keys", "3"),
                ("mix.homes", "2"),
                ("mix.ops_max", "4"),
                ("mix.rollback_pct", "15"),
            ],
        },
    ),
    // Long enough for memory to be used again.
    (
        10,
        Shape {
            workers: 2,
            requests: 11,
            settings: &[
                ("mix.keys", "4"),
                ("mix.homes", "1"),
                ("mix.ops_max", "4"),
                ("mix.rollback_pct", "15"),
            ],
        },
    ),
    // Enough keys for leaves to split.
    (
        5,
        Shape {
            workers: 3,
            requests: 7,
            settings: &[("mix.keys", "40"), ("mix.homes", "1"), ("mix.read_pct", "30")],
        },
    ),
];

impl Shape {
    fn of_seed(seed: u64) -> &'static Self {
        let mut share = Rng::from_path(&[seed, 0]).below(100);
        for (shares, shape) in &SHAPES {
            if share < *shares {
                return shape;
            }
            share -= shares;
        }
        unreachable!("the shares make a hundred")
    }
}

impl Case<'_> {
    /// Runs the trial and judges it. Settings are known to be legal.
    pub fn explore(self) -> Explored {
        let shape = Shape::of_seed(self.seed);
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut given: Vec<_> = shape.settings.iter().map(own).collect();
        // A batch as small as the rest, unless one was asked for.
        if self.scheme == "aria" && self.given.iter().all(|(name, _)| name != "aria.batch") {
            given.push(own(&("aria.batch", "4")));
        }
        given.extend_from_slice(self.given);
        let trial = Trial {
            scheme: self.scheme,
            given: &given,
            workers: shape.workers,
            clients: shape.workers,
            requests: shape.requests,
            seed: self.seed,
        };
        let before = hook::plant(self.plant);
        let explorer = Explorer::new(self.seed).steps_max(STEPS_MAX);
        let run = || stepped::run(trial).expect("a known scheme").expect("legal settings");
        let ended = catch_unwind(AssertUnwindSafe(|| explorer.run(run)));
        hook::plant(before);
        match ended {
            Ok((tried, _)) => {
                let verdict = checker::check(&tried.history, tried.promise);
                Explored {
                    history: Some(tried.history),
                    verdict: Some(verdict),
                    failure: tried.noticed,
                    commits: tried.commits,
                }
            }
            Err(panic) => {
                let failure = Some(message(&*panic));
                Explored { history: None, verdict: None, failure, commits: 0 }
            }
        }
    }
}

/// What a panic says.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_make_a_hundred() {
        assert_eq!(SHAPES.iter().map(|(share, _)| share).sum::<u64>(), 100);
    }

    #[test]
    fn a_seed_brings_a_trial_back() {
        for seed in 0..20 {
            let case = Case { scheme: "silo", given: &[], seed, plant: None };
            let told = || {
                let explored = case.explore();
                assert!(!explored.is_violation(), "seed {seed}: {explored:?}");
                format!("{:?}", explored.history)
            };
            assert_eq!(told(), told(), "seed {seed}");
        }
    }
}
