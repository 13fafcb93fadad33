//! The fuzz target for segments of the log.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::log::segment(input));
