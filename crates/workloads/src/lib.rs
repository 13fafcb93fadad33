//! Benchmark workloads, written once over an abstract transaction: they name no scheme, no record, no
//! index, no thread.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod erased;
pub mod micro;
pub mod mix;
#[cfg(test)]
mod mock;
pub mod smallbank;
pub mod stock;
mod text;
pub mod tpcc;
pub mod tpce;
pub mod ycsb;
