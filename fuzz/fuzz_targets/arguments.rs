//! The fuzzer's entry to the command line.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::arguments::arguments(input));
