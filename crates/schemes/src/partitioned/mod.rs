//! Schemes whose transactions own whole partitions.

pub mod hstore;
