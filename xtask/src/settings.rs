//! Runs under settings drawn by chance. The drawing is `tests/examples/any_setting.rs`, since xtask depends on nothing
//! of the house.

use crate::house::{House, Outcome, run};

/// Runs of one step.
const COUNT: &str = "60";

/// Makes runs of a seed, or of one that changes with each commit.
pub(crate) fn draw(house: &House, seed: Option<&str>) -> Outcome {
    let seed = seed.map_or_else(|| Ok(house.commits()), str::parse::<u64>);
    let seed = seed.map_err(|_| "that is no seed: give a whole number".to_owned())?;
    run(house
        .cargo(&["run", "--quiet", "--package", "contend-tests", "--example", "any_setting", "--", COUNT])
        .arg(seed.to_string()))
}
