//! The fuzz target for settings.
#![no_main]

use std::sync::LazyLock;

/// A catalogue stays in memory until the program ends: all inputs share one.
static CATALOGUE: LazyLock<fuzzed::Catalogue> = LazyLock::new(fuzzed::catalogue);

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::settings::settings(*CATALOGUE, input));
