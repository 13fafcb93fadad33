//! The fuzz targets in `fuzz/`, each for a while, from the committed inputs and what earlier runs have found. Their
//! claims are in `tests/fuzzed`, and `cargo test` replays the committed inputs without any of this.

use std::fs;

use crate::house::{House, Outcome, run};

/// Each target with the longest input worth trying.
const TARGETS: &[(&str, u32)] = &[
    ("index", 4_096),
    ("settings", 512),
    ("arguments", 512),
    ("log_segment", 16_384),
    ("log_part", 16_384),
    ("log_manifest", 8_192),
];

/// Seconds of each target when nothing else is said.
const SECONDS: u32 = 60;

/// Fuzzes every target for so many seconds.
pub(crate) fn fuzz(house: &House, seconds: Option<&str>) -> Outcome {
    let seconds = seconds.map_or(Ok(SECONDS), |seconds| {
        seconds.parse().map_err(|_| format!("`{seconds}` is no time: give a whole number of seconds"))
    })?;
    let nightly = house.nightly()?;
    let is_there = nightly.cargo(&["fuzz", "--version"]).output().is_ok_and(|asked| asked.status.success());
    if !is_there {
        return Err("cargo-fuzz is not there: run `cargo install cargo-fuzz --locked`".to_owned());
    }
    let target = house.members()?.1.join("fuzz");
    for &(name, longest) in TARGETS {
        // New inputs go to the first folder, so that the committed ones stay as they are.
        let found = target.join("corpus").join(name);
        fs::create_dir_all(&found).map_err(|e| format!("cannot make {}: {e}", found.display()))?;
        let (found, built) = (found.display().to_string(), target.display().to_string());
        let seeds = house.root.join("fuzz/corpus").join(name).display().to_string();
        let words = house.root.join("fuzz/dictionaries").join(name).display().to_string();
        let limits = [
            format!("-max_total_time={seconds}"),
            format!("-max_len={longest}"),
            "-timeout=10".to_owned(),
            // No line for each input that it keeps.
            "-verbosity=0".to_owned(),
            "-print_final_stats=1".to_owned(),
        ];
        let mut cargo = nightly.cargo(&["fuzz", "run", "--target-dir", &built, name, &found, &seeds, "--"]);
        if fs::exists(&words).unwrap_or(false) {
            cargo.arg(format!("-dict={words}"));
        }
        run(cargo.args(limits)).map_err(|e| {
            format!("{e}; make the input that it wrote one of fuzz/corpus/{name}, and mend what it shows")
        })?;
    }
    Ok(())
}
