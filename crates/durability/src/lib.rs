//! The redo log, checkpoints and recovery, which let committed transactions outlive the process.
//!
//! Each session of a database has a [`LogSink`], which is told of its commits and hands them to the log's own thread.
//! That thread writes them in rounds, an epoch at a time, to one or several devices, and publishes which epoch is
//! durable; a caller that holds an answer back until then waits for a [`CommitTicket`]. [`Store::open`] finds out what
//! a directory contains, and [`Found::start`] continues the log from there. A checkpoint is made of the log, not of the
//! tables, by the same code that recovers.
//!
//! ORDER       The sink draws the order of commits between `precommit` and `install`, from numbers that only grow: the
//!             log's epoch, and within it the processor's counter, or a counter of the log. Decision 0029 says why that
//!             is a serial order of conflicting commits under every scheme.
//! INVARIANTS
//! (1) Bytes that are synced are never written again: each round begins on a page of its own.
//! (2) An epoch is sealed when all commits that drew it have been handed over, on all devices, and only then is it
//!     durable.
//! (3) A byte that was known to be durable when a later byte was written can be lost by corruption only: each block
//!     says up to which position all was durable when it was written.
//! (4) The contents of a directory are those that its manifest names. The manifest is replaced as a whole.
//! (5) After an error of a device nothing becomes durable any more.
//! (6) A segment has its length, and is named in the manifest, before it has a commit: a segment that is missing or
//!     shorter was damaged.
#![forbid(unsafe_code)]

mod backup;
mod checkpoint;
pub mod disk;
mod entry;
mod epochs;
mod error;
mod format;
mod handover;
mod layout;
mod log;
mod manifest;
mod merge;
mod plants;
mod reader;
mod sink;
mod store;
mod touched;
mod writer;

pub use backup::{BackupError, Copied};
pub use epochs::{Epochs, OpenedEpoch};
pub use error::{Corruption, LogError, OpenError, Operation, SystemError};
pub use handover::{Giver, Handover};
pub use layout::{Layouts, Mismatch, TableLayout};
pub use log::{CommitTicket, Durability, Log, Rounds, Running};
pub use merge::Restored;
pub use plants::LogPlant;
pub use sink::{LogSink, LoggedLoader};
pub use store::{CheckpointError, Cut, Found, Options, Order, Store, Torn};
