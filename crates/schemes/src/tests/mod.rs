//! Claims about all schemes of the catalogue, or about several.

mod adds;
mod assured;
mod commit_locks;
pub(crate) mod common;
pub(crate) mod conformance;

pub(crate) use conformance::conformance;
mod contention;
mod lanes;
mod levers;
mod planned;
mod raw;
mod secondary;
mod snapshots;
mod stamp_order;
mod unforeseen;
mod versions;
mod wide;
mod words;
mod write_order;
