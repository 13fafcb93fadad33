//! The one door to atomics, threads, fibers, clocks and waiting.
//!
//! Every crate above takes these from here and nowhere else, so that the same sources can be built
//! over the machine's own primitives (this root) and over stepped ones in which a seed decides
//! every interleaving (`sim.rs`, the root of the twin package). The schedule explorer cannot see
//! anything that bypasses this crate, and `clippy.toml` bans it.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this crate is the one door to what the rest of the workspace must not name"
)]

#[cfg_attr(loom, path = "loomed.rs")]
#[cfg_attr(not(loom), path = "real.rs")]
mod backend;

mod background;
mod backoff;
mod barrier;
mod bell;
mod cell;
mod growing;
#[cfg(not(loom))]
mod host;
mod inbox;
mod latch;
mod rare;
mod seqlock;
mod tied;
mod wheel;

pub mod clock;
pub mod fiber;
pub mod limits;
pub mod memory;
pub mod panics;
pub mod plant;
#[cfg(not(loom))]
pub mod probes;
pub mod recycled;
pub mod threads;
pub mod waiter;
pub mod words;
pub mod workers;

pub use backend::{atomic, hint};

/// Whether accesses to shared words are steps of a scheduler, so that nobody measures how fast the code itself is.
pub const IS_STEPPED: bool = false;

/// Does what is no part of a simulation. In this build nothing is simulated.
#[inline(always)]
pub fn hushed<R>(body: impl FnOnce() -> R) -> R {
    body()
}

pub use background::Background;
pub use backoff::Backoff;
pub use barrier::{Barrier, Broken};
pub use bell::Bell;
pub use cell::{Latched, LatchedGuard, Padded};
pub use growing::Growing;
pub use inbox::Inbox;
pub use latch::{Latch, LatchGuard};
pub use rare::RareChange;
pub use seqlock::{VersionLatch, VersionLatchGuard};
/// Shares a value between owners when nobody knows which owner is the last.
pub use std::sync::{Arc, Weak};
pub use tied::{Borrowing, Tied};
