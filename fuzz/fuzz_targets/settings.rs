//! The fuzz target for settings.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::settings::settings(input));
