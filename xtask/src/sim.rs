//! The schedule explorer by hand: what a seed that failed in a test or in the night does under every
//! scheme. The exploring itself is `tests/examples/sim.rs`, since xtask depends on nothing of the house.

use crate::house::{House, Outcome, run};

/// Runs every scheme under the schedule of a seed, and refuses a seed that is none.
pub(crate) fn explore(house: &House, seed: &str) -> Outcome {
    let seed: u64 = seed.parse().map_err(|_| format!("`{seed}` is no seed: give a whole number"))?;
    run(house
        .cargo(&["run", "--quiet", "--package", "contend-tests", "--example", "sim", "--"])
        .arg(seed.to_string()))
}
