//! The fuzzer's entry to segments of the log.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::log::segment(input));
