//! What is tried on a scheme to show that it does not isolate.
//!
//! A scheme is believed when nobody can show that it breaks its promise. Here are the ways to try that need no
//! luck: [`script`] plays the anomalies of the literature step by step, each on every scheme, and knows what may come
//! of them.
#![forbid(unsafe_code)]

pub mod script;
