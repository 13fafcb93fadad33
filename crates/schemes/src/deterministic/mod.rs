//! Schemes that fix the order of transactions before they execute them.
pub mod calvin;
