//! Other stores beside the library `contend`: the same workloads, written once over one trait, run on each store with
//! a stated isolation and durability. The crate is a package outside of the workspace, so that the tests of the
//! workspace do not build the other stores.
#![deny(unsafe_code)]

pub mod measure;
pub mod peer;
pub mod peers;
pub mod tables;
pub mod tpcc;
pub mod work;
pub mod ycsb;
