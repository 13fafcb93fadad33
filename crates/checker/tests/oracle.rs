//! Tests that the checker gives the same answers for small histories as the trial of all orders.

#[path = "common/all_orders.rs"]
mod all_orders;
mod common;
#[path = "common/random.rs"]
mod random;

use checker::{Answer, Level, check};
use common::history;
use stdx::Rng;
use stdx::history::AttemptOutcome;

/// The number of histories for which each answer was given, for one level.
#[derive(Default, Debug)]
struct Tally {
    held: u64,
    violated: u64,
    undecided: u64,
}

/// Compares both on random histories, at all levels.
fn compare(seeds: std::ops::Range<u64>, txns_max: u64) -> [Tally; 4] {
    let mut tallies: [Tally; 4] = Default::default();
    for seed in seeds {
        let scripts = random::scripts(&mut Rng::from_path(&[seed, txns_max]), txns_max);
        let has_unknown = scripts.iter().any(|script| script.outcome == AttemptOutcome::Unknown);
        let history = history(&scripts);
        for (level, tally) in Level::ALL.into_iter().zip(&mut tallies) {
            let verdict = check(&history, level);
            let holds = all_orders::holds(&history, level);
            match verdict.answer {
                Answer::Holds => tally.held += 1,
                Answer::Violated => tally.violated += 1,
                Answer::Undecided => tally.undecided += 1,
            }
            let agrees = match verdict.answer {
                Answer::Holds => holds && verdict.violations.is_empty(),
                Answer::Violated => !holds && !verdict.violations.is_empty(),
                // An install of an attempt that was cut off may be missing.
                Answer::Undecided => has_unknown,
            };
            let told: Vec<String> = scripts.iter().map(|script| format!("{script:?}")).collect();
            let told = told.join("\n");
            assert!(agrees, "seed {seed} of {txns_max}: all orders say {holds}\n{verdict}\n{told}");
        }
    }
    tallies
}

#[test]
fn small_histories_are_what_trying_all_orders_says() {
    let tallies = compare(0..50_000, 8);
    for (tally, level) in tallies.iter().zip(Level::ALL) {
        let least = tally.held.min(tally.violated);
        assert!(least > 7_500 && tally.undecided < 1_000, "{level:?} is hardly tried: {tally:?}");
    }
}

#[test]
#[ignore = "takes twenty minutes: run it by name, in release, when the checker has changed"]
fn ten_million_small_histories_are_what_trying_all_orders_says() {
    for txns_max in 2..=8 {
        compare(0..10_000_000 / 7, txns_max);
    }
}
