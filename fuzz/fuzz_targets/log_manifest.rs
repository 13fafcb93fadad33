//! The fuzz target for the manifest of a database.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::log::manifest(input));
