//! Runs under settings drawn by chance. The drawing is `tests/examples/any_setting.rs`, since xtask depends on nothing
//! of the house.

use std::process::Command;

use crate::house::{House, Outcome, run};

/// Runs of one step.
const COUNT: &str = "40";

/// Makes runs of a seed, or of one that changes with each commit.
pub(crate) fn draw(house: &House, seed: Option<&str>) -> Outcome {
    let seed = seed.map_or_else(|| Ok(house.commits()), str::parse::<u64>);
    let seed = seed.map_err(|_| "that is no seed: give a whole number".to_owned())?;
    // Of the whole workspace, with whose features the tests have built it: of its package alone it is another build.
    run(&mut house.cargo(&["build", "--quiet", "--workspace", "--example", "any_setting"]))?;
    let (_, target) = house.members()?;
    run(Command::new(target.join("debug/examples/any_setting")).args([COUNT, &seed.to_string()]))
}
