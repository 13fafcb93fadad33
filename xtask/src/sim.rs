//! The schedule explorer for manual use: runs every scheme under a seed that failed in a test or in a
//! nightly run. The exploration is in `tests/examples/sim.rs`, since xtask depends on no crate of the
//! house.

use crate::house::{Checked, House, run};

/// Runs every scheme under the schedule of a seed. Refuses a seed that is not a number.
pub(crate) fn explore(house: &House, seed: &str) -> Checked {
    let seed: u64 = seed.parse().map_err(|_| format!("`{seed}` is no seed: give a whole number"))?;
    run(house
        .cargo(&["run", "--quiet", "--package", "contend-tests", "--example", "sim", "--"])
        .arg(seed.to_string()))
}
