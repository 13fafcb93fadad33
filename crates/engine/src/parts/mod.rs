//! Parts that several schemes share.

mod access_set;
pub mod anti_dependencies;
mod buffered_writes;
pub mod canonical_locks;
pub mod certifier;
mod claimed;
mod commit_epoch;
mod copy_buffer;
mod leaf_set;
mod lock_bit;
mod lock_queue;
mod owner_id;
mod pending_writes;
pub mod snapshot_epochs;
mod temperature;
pub mod tids;
mod timestamps;
pub mod version_chain;
mod write_buffer;
mod write_sets;

pub use access_set::AccessSet;
pub use buffered_writes::{Buffered, BufferedWrites, Expected, Present};
pub use claimed::{Claimed, Existence};
pub use commit_epoch::CommitEpoch;
pub use copy_buffer::CopyBuffer;
pub use leaf_set::LeafSet;
pub use lock_bit::LockBits;
pub use lock_queue::{Left, LockMode, LockQueues, LockWord, Party, QueueRule, Refused, RequestId, Waiting};
pub use owner_id::OwnerId;
pub use pending_writes::{PendingWrites, value_before};
pub use temperature::Temperature;
pub use timestamps::Timestamps;
pub use write_buffer::{WordRange, WriteBuffer};
pub use write_sets::{Comparison, WriteSets};
