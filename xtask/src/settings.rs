//! Runs under random settings. The settings are drawn by `tests/examples/any_setting.rs`, since xtask depends on no
//! crate of the house.

use std::process::Command;

use crate::house::{Checked, House, run};

/// The number of runs of one step.
const COUNT: &str = "40";

/// Executes the runs of a seed. The default seed changes with each commit.
pub(crate) fn draw(house: &House, seed: Option<&str>) -> Checked {
    let seed = seed.map_or_else(|| Ok(house.commits()), str::parse::<u64>);
    let seed = seed.map_err(|_| "that is no seed: give a whole number".to_owned())?;
    // Built for the whole workspace, because the tests have already built it with the workspace's features. A build of
    // the package alone would be another build.
    run(&mut house.cargo(&["build", "--quiet", "--workspace", "--example", "any_setting"]))?;
    let (_, target) = house.members()?;
    run(Command::new(target.join("debug/examples/any_setting")).args([COUNT, &seed.to_string()]))
}
