//! Parts that several schemes share.

mod access_set;
mod claimed;
mod commit_epoch;
mod leaf_set;
mod write_buffer;

pub use access_set::AccessSet;
pub use claimed::{Claimed, Existence};
pub use commit_epoch::CommitEpoch;
pub use leaf_set::LeafSet;
pub use write_buffer::{WordRange, WriteBuffer};
