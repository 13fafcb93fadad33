//! The fuzz target for parts of a checkpoint.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::log::part(input));
