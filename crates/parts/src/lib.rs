//! Parts of which two schemes or more are made: locks, write sets, chains of versions, clocks, plans. A part that only
//! one scheme uses stands in that scheme's folder.
#![forbid(unsafe_code)]

pub mod anti_dependencies;
mod batches;
mod buffered_writes;
pub mod canonical_locks;
pub mod certifier;
mod claimed;
mod commit_epoch;
mod commit_locks;
mod copy_buffer;
mod fates;
pub mod footprint;
mod gap_mark;
mod gate;
mod handovers;
mod lock_bit;
pub mod lock_queue;
pub mod lock_word;
pub mod ordered_locks;
mod owner_id;
mod pending_writes;
mod placeholders;
pub mod plants;
mod read_locks;
mod rehearsed_writes;
pub mod speculation;
mod temperature;
pub mod tids;
mod timestamp_queue;
mod timestamps;
pub mod value_word;
pub mod version_chain;
mod version_plan;
pub mod wait_graph;
mod workspace;
mod write_buffer;

/// For the macros of this crate.
#[doc(hidden)]
pub use engine;

pub use batches::{BatchSize, Batches, Numbered, StandardSize};
pub use buffered_writes::{Buffered, BufferedWrites, Buffers, Expected, Present, WriteOrder};
pub use claimed::{Claimed, Existence};
pub use commit_epoch::{CommitEpoch, fence_reads};
pub use commit_locks::CommitLocks;
pub use copy_buffer::CopyBuffer;
pub use fates::Fates;
pub use gap_mark::GapMark;
pub use gate::Gate;
pub use lock_bit::LockBits;
pub use lock_queue::{Fifo, LockQueues, Party, QueueId, QueueRule, Refused, RequestId, Waiting};
pub use lock_word::{Left, LockMode, LockWord};
pub use owner_id::OwnerId;
pub use pending_writes::{PendingWrites, value_before};
pub use placeholders::{Own, OwnVersions};
pub use read_locks::NotLocked;
pub use rehearsed_writes::RehearsedWrites;
pub use temperature::Temperature;
pub use timestamp_queue::{QueuePlace, QueuedAccess, TimestampQueues, Waiter};
pub use timestamps::{Cadence, Timestamps, refresh_every};
pub use value_word::ValueWord;
pub use version_plan::{VersionPlan, own_version, push_numbered};
pub use workspace::{Observed, OnlyRead, ReadSet, Validates, Workspace};
pub use write_buffer::{WordRange, WriteBuffer};
