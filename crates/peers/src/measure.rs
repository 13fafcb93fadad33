//! Measurements of several stores in turns: in every round each store runs once, in a new random order, freshly
//! loaded, with the same requests. Disturbances of the machine then fall on all stores.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use stdx::Rng;

use crate::peer::{Durability, Given, Peer, Place};
use crate::peers::{Visit, with};
use crate::work::{Length, Outcome, Workload, run};

/// The plan of a measurement, without the workload.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The stores, by name.
    pub peers: Vec<String>,
    /// The durability that each store must give, or one near to it.
    pub durability: Durability,
    /// The number of worker threads.
    pub workers: u32,
    /// The duration of the warm-up before each measurement.
    pub warmup: Duration,
    /// The duration of each measurement.
    pub measured: Duration,
    /// The number of turns of each store.
    pub rounds: u32,
    /// The seed of the order of turns.
    pub seed: u64,
    /// The folder for the stores' data. Each store has a subfolder, which is removed after its turn.
    pub dir: PathBuf,
    /// The address of a `PostgreSQL` server.
    pub postgres: Option<String>,
}

/// A store and the results of its turns.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The store's name.
    pub peer: String,
    /// The isolation and durability of the store for the plan's durability, or the reason why the store was left
    /// out.
    pub given: Result<Given, &'static str>,
    /// The outcomes of the turns, one for each round, in order.
    pub outcomes: Vec<Outcome>,
}

/// Visits a store and returns what it gives for a durability.
struct Ask(Durability);

impl Visit for Ask {
    type Out = Result<Given, &'static str>;

    fn visit<P: Peer>(self) -> Self::Out {
        P::gives(self.0)
    }
}

/// Returns what a store gives for a durability, or the reason why it gives nothing near enough.
///
/// # Errors
/// If this build has no such store.
pub fn gives(peer: &str, durability: Durability) -> Result<Result<Given, &'static str>, String> {
    with(peer, Ask(durability))
}

/// Visits a store and runs its turn.
struct Turn<'t, W> {
    plan: &'t Plan,
    work: &'t W,
}

impl<W: Workload> Visit for Turn<'_, W> {
    type Out = Result<Outcome, String>;

    fn visit<P: Peer>(self) -> Self::Out {
        let Self { plan, work } = self;
        let dir = plan.dir.join(P::NAME);
        let clear = || match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("cannot remove {}: {error}", dir.display()))
            }
            _ => Ok(()),
        };
        clear()?;
        let place = Place { dir: dir.clone(), postgres: plan.postgres.clone() };
        let peer = P::open(&place, plan.durability, &work.tables())?;
        let length = Length::Time { warmup: plan.warmup, measured: plan.measured };
        let outcome = run(&peer, work, plan.workers, length);
        drop(peer);
        clear()?;
        outcome
    }
}

/// Measures all stores of a plan on a workload, and passes the outcome of each turn to `heard`.
///
/// # Errors
/// The message of a store or of a failed check.
pub fn measure(
    plan: &Plan,
    work: &impl Workload,
    heard: &mut dyn FnMut(&str, u32, &Outcome),
) -> Result<Vec<Measured>, String> {
    let mut all = Vec::new();
    for peer in &plan.peers {
        all.push(Measured { peer: peer.clone(), given: gives(peer, plan.durability)?, outcomes: Vec::new() });
    }
    let mut rng = Rng::from_path(&[plan.seed, 0x006f_7264_6572]);
    let mut order: Vec<usize> = (0..all.len()).filter(|&number| all[number].given.is_ok()).collect();
    for round in 0..plan.rounds {
        // Fisher and Yates.
        for last in (1..order.len()).rev() {
            order.swap(last, rng.below(last as u64 + 1) as usize);
        }
        for &number in &order {
            let measured = &mut all[number];
            let outcome = with(&measured.peer, Turn { plan, work })??;
            heard(&measured.peer, round, &outcome);
            measured.outcomes.push(outcome);
        }
    }
    Ok(all)
}

/// The median of some numbers, with the least and the greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median: half of the numbers are not above it, and half are not below it.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

/// Returns the spread of some numbers, or `None` if there are none.
pub fn spread(numbers: impl IntoIterator<Item = f64>) -> Option<Spread> {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let (least, greatest) = (*numbers.first()?, *numbers.last()?);
    let middle = numbers.len() / 2;
    let median = if numbers.len() % 2 == 1 {
        numbers[middle]
    } else {
        f64::midpoint(numbers[middle - 1], numbers[middle])
    };
    Some(Spread { median, least, greatest })
}

impl Measured {
    /// The spread of the turns' throughputs, in commits a second.
    pub fn rate(&self) -> Option<Spread> {
        spread(self.outcomes.iter().map(Outcome::rate))
    }

    /// The throughput of `other` divided by that of this store, round by round. `None` if the stores are not
    /// comparable: one was left out, or gives less than serializability to a workload that needs it.
    pub fn times(&self, other: &Self, scans: bool) -> Option<Spread> {
        let gives_all = |of: &Self| of.given.is_ok_and(|given| !(scans && given.has_phantoms));
        if !gives_all(self) || !gives_all(other) {
            return None;
        }
        let times = self.outcomes.iter().zip(&other.outcomes).map(|(this, other)| other.rate() / this.rate());
        spread(times).filter(|times| times.greatest.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(spread([]), None);
        assert_eq!(spread([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, greatest: 3.0 }));
        assert_eq!(spread([4.0, 1.0, 2.0, 3.0]), Some(Spread { median: 2.5, least: 1.0, greatest: 4.0 }));
    }

    #[test]
    fn what_gives_less_is_not_compared() {
        let outcome = |commits| Outcome {
            completed: commits,
            commits,
            retries: 0,
            seconds: 1.0,
            load_seconds: 0.0,
            latency_ns: stdx::Histogram::default(),
        };
        let given = |has_phantoms| Given { isolation: "", has_phantoms, durability: "" };
        let measured = |given, commits| Measured {
            peer: String::new(),
            given,
            outcomes: vec![outcome(commits), outcome(2 * commits)],
        };
        let (full, less) = (measured(Ok(given(false)), 100), measured(Ok(given(true)), 50));
        assert_eq!(less.times(&full, false).map(|times| times.median), Some(2.0));
        assert_eq!(less.times(&full, true), None);
        assert_eq!(full.times(&measured(Err("it cannot"), 0), false), None);
        // A store without commits would be infinitely slower. That is no result.
        assert_eq!(measured(Ok(given(false)), 0).times(&full, false), None);
    }
}
