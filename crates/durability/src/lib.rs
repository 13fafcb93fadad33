//! The redo log, checkpoints and recovery: what makes committed transactions outlive the process.
//!
//! Each session of a database has a [`LogSink`], which hears of its commits and hands them to the log's own thread.
//! That writes them in rounds, an epoch at a time, to one or several devices, and says which epoch is durable; whoever
//! holds an answer back until then waits for a [`Ticket`]. [`Store::open`] finds out what a directory has, and
//! [`Found::start`] goes on from there. A checkpoint is made of the log, not of the tables, by the same code that
//! recovers.
//!
//! ORDER       What orders commits is drawn by the sink between `precommit` and `install`, from numbers that only grow:
//!             the log's epoch, and within it the processor's counter, or one of the log's own. Decision 0029 says why
//!             that is a serial order of what conflicts under every scheme.
//! INVARIANTS
//! (1) What is synced is never written again: each round begins on a page of its own.
//! (2) An epoch is sealed when all who drew it have handed over, on all devices, and only then is it durable.
//! (3) A byte that was known to be durable when something else was written cannot be lost but by corruption: each block
//!     says up to where that was.
//! (4) What a directory has is what its manifest says, which is replaced as a whole.
//! (5) After an error of a device nothing becomes durable any more.
//! (6) A segment has its length, and is named in the manifest, before it has a commit: one that is missing or shorter
//!     was damaged.
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
pub use epochs::{Epochs, Open};
pub use error::{Corruption, LogError, OpenError, Operation, SystemError};
pub use handover::{Giver, Handover};
pub use layout::{Layouts, Mismatch, TableLayout};
pub use log::{Durability, Log, Rounds, Running, Ticket};
pub use merge::Restored;
pub use plants::Plant;
pub use sink::{LogSink, LoggedLoader};
pub use store::{CheckpointError, Cut, Found, Options, Order, Store, Torn};
