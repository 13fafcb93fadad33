//! The fuzz target for the indexes.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::index::index(input));
