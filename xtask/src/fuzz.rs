//! Fuzzing: runs each target in `fuzz/` for a limited time, from the committed inputs and the inputs that earlier
//! runs found. The claims are in `tests/fuzzed`, and `cargo test` replays the committed inputs without a fuzzer.

use std::fs;

use crate::house::{Checked, House, run};

/// Each target with the maximum length of its inputs, in bytes.
const TARGETS: &[(&str, u32)] = &[
    ("index", 4_096),
    ("settings", 512),
    ("arguments", 512),
    ("orders", 1_024),
    ("log_segment", 16_384),
    ("log_part", 16_384),
    ("log_manifest", 8_192),
];

/// The default duration of each target, in seconds.
const SECONDS: u32 = 60;

/// Fuzzes every target for `seconds` seconds.
pub(crate) fn fuzz(house: &House, seconds: Option<&str>) -> Checked {
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
        // New inputs are written to the first folder, so that the committed inputs do not change.
        let found = target.join("corpus").join(name);
        fs::create_dir_all(&found).map_err(|e| format!("cannot make {}: {e}", found.display()))?;
        let (found, built) = (found.display().to_string(), target.display().to_string());
        let seeds = house.root.join("fuzz/corpus").join(name).display().to_string();
        let words = house.root.join("fuzz/dictionaries").join(name).display().to_string();
        let limits = [
            format!("-max_total_time={seconds}"),
            format!("-max_len={longest}"),
            "-timeout=10".to_owned(),
            // Suppresses the line for each input that the fuzzer keeps.
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
