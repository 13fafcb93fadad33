//! The one door to atomics, threads, fibers, clocks and waiting, with every step in a scheduler's hand.
//!
//! The second root over the modules of this crate: the package `contend-sync-sim` builds it, and the
//! twins of the crates above build on that. The scheduler in [`hook`] decides who runs next at each
//! access to a shared word, and what time it is.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this crate is the one door to what the rest of the workspace must not name"
)]

#[path = "stepped.rs"]
mod backend;

mod backoff;
mod barrier;
mod cell;
mod growing;
mod latch;
mod rare;
mod seqlock;
mod wheel;

#[path = "stepped_clock.rs"]
pub mod clock;
pub mod fiber;
#[path = "stepped_heap.rs"]
pub mod heap;
pub mod hook;
pub mod host;
#[path = "stepped_memory.rs"]
pub mod memory;
pub mod plant;
pub mod probes;
pub mod recycled;
pub mod waiter;
pub mod words;
#[path = "stepped_workers.rs"]
pub mod workers;

pub use backend::{atomic, hint};

/// Whether accesses to shared words are steps of a scheduler, so that nobody measures how fast the code itself is.
pub const IS_STEPPED: bool = true;

pub use backoff::Backoff;
pub use barrier::{Barrier, Broken};
pub use cell::{Latched, LatchedGuard, Padded};
pub use growing::Growing;
pub use hook::hushed;
pub use latch::{Latch, LatchGuard};
pub use rare::RareChange;
pub use seqlock::{VersionLatch, VersionLatchGuard};
/// Shares a value between owners when nobody knows which owner is the last.
pub use std::sync::{Arc, Weak};
