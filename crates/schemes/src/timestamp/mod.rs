//! Schemes that fix the order of transactions by timestamps when they begin, and keep one version of a record.

pub mod basic_to;
