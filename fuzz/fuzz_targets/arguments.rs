//! The fuzz target for the command line.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::arguments::arguments(input));
