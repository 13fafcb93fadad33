//! Schemes that execute and decide in batches.
pub mod aria;
