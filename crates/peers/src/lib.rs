//! Other stores beside the library `contend`: the same workloads, written once over one trait, on each of them, at
//! stated isolation and durability. A package of its own, outside of the workspace, so that nobody builds other stores
//! to run the tests of this one.
#![deny(unsafe_code)]

pub mod measure;
pub mod peer;
pub mod peers;
pub mod tables;
pub mod tpcc;
pub mod work;
pub mod ycsb;
