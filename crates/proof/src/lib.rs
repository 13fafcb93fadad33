//! Deterministic tests of a scheme's isolation.
//!
//! A scheme is believed as long as nobody can show that it breaks its promise. This crate contains the tests that need
//! no luck: [`script`] plays the anomalies of the literature step by step on every scheme, and knows which outcomes are
//! allowed.
#![forbid(unsafe_code)]

pub mod script;
