//! The fuzz target for the command line.
#![no_main]

use std::sync::LazyLock;

/// A catalogue stays in memory until the program ends: all inputs share one.
static CATALOGUE: LazyLock<fuzzed::Catalogue> = LazyLock::new(fuzzed::catalogue);

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::arguments::arguments(*CATALOGUE, input));
