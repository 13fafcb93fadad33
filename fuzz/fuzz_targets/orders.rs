//! The fuzz target for orders of batches.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::orders::orders(input));
