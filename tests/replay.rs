//! Replay of the fuzzer's committed inputs, initial ones and findings: on the stable toolchain, with every
//! test run.

use std::fs;
use std::panic::{RefUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Passes to `target` every committed input of a fuzz target, each also cut to half its length, and the empty
/// input.
fn replay(name: &str, target: impl Fn(&[u8]) + RefUnwindSafe) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("the folder is readable").path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "{} inputs in {}", paths.len(), folder.display());
    target(&[]);
    for path in paths {
        let input = fs::read(&path).expect("the input is readable");
        let passed = catch_unwind(|| {
            target(&input);
            target(&input[..input.len() / 2]);
        });
        assert!(passed.is_ok(), "{} fails", path.display());
    }
}

#[test]
fn the_indexes_pass_the_corpus() {
    replay("index", fuzzed::index::index);
}

#[test]
fn settings_pass_the_corpus() {
    let catalogue = fuzzed::catalogue();
    replay("settings", |input| fuzzed::settings::settings(catalogue, input));
}

#[test]
fn the_command_line_passes_the_corpus() {
    let catalogue = fuzzed::catalogue();
    replay("arguments", |input| fuzzed::arguments::arguments(catalogue, input));
}

#[test]
fn orders_of_batches_pass_the_corpus() {
    replay("orders", fuzzed::orders::orders);
}

#[test]
fn files_of_a_log_pass_the_corpus() {
    replay("log_segment", fuzzed::log::segment);
    replay("log_part", fuzzed::log::part);
    replay("log_manifest", fuzzed::log::manifest);
}
