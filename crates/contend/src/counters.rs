//! What a database counts about itself.

use core::fmt;

use durability::{CheckpointError, LogError};
use engine::Abort;
use sync::atomic::{AtomicU64, Ordering};

/// What a seat counts. One caller at a time adds to it, and anyone may look.
// Relaxed throughout: counts order nothing.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    commits: AtomicU64,
    rollbacks: AtomicU64,
    contended: AtomicU64,
    panics: AtomicU64,
    memory_refusals: AtomicU64,
    conflicts: [AtomicU64; Abort::ALL.len()],
}

/// What became of an attempt or of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Commit,
    Rollback,
    Contended,
    Panic,
    MemoryRefusal,
    Conflict(Abort),
}

impl Tally {
    /// Counts what happened to the one caller who has the seat.
    #[inline]
    pub(crate) fn count(&self, event: Event) {
        let count = match event {
            Event::Commit => &self.commits,
            Event::Rollback => &self.rollbacks,
            Event::Contended => &self.contended,
            Event::Panic => &self.panics,
            Event::MemoryRefusal => &self.memory_refusals,
            Event::Conflict(abort) => &self.conflicts[abort as usize],
        };
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Adds the counts to a sum.
    pub(crate) fn add_to(&self, sum: &mut Counters) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        sum.commits += of(&self.commits);
        sum.rollbacks += of(&self.rollbacks);
        sum.contended += of(&self.contended);
        sum.panics += of(&self.panics);
        sum.memory_refusals += of(&self.memory_refusals);
        for (sum, count) in sum.conflicts.iter_mut().zip(&self.conflicts) {
            *sum += of(count);
        }
    }
}

/// What a database has done so far, and what it does now: see [`Database::counters`](crate::Database::counters).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Transactions that committed.
    pub commits: u64,
    /// Transactions that ended themselves, or were found to make no sense.
    pub rollbacks: u64,
    /// Transactions all of whose attempts failed.
    pub contended: u64,
    /// Transactions whose body panicked.
    pub panics: u64,
    /// Inserts refused because memory is full.
    pub memory_refusals: u64,
    /// Callers refused because there was too much to do.
    pub overload_refusals: u64,
    /// Attempts that failed, by the number of their reason.
    conflicts: [u64; Abort::ALL.len()],
    /// Callers who wait for their turn now.
    pub waiting: u64,
    /// Bytes in use now.
    pub used_bytes: u64,
    /// Rows that were recovered when the database was opened.
    pub recovered_rows: u64,
    /// Rounds of the log that had commits: each is synced once.
    pub log_rounds: u64,
    /// Bytes of commits that the log has written.
    pub log_bytes: u64,
    /// [Epochs](crate::Options::epoch_us) from the last durable one to the last with a commit: a few, unless the device
    /// does not keep up, and 0 when all is durable.
    pub durable_lag_epochs: u64,
    /// Callers and futures that wait until something is durable now.
    pub awaiting_durability: u64,
    /// Checkpoints that were made.
    pub checkpoints: u64,
    /// Checkpoints that were begun and not made.
    pub checkpoint_failures: u64,
    /// Why the last checkpoint was not made, if it was not.
    pub checkpoint_failure: Option<CheckpointError>,
    /// Why nothing becomes durable any more, if that is so.
    pub log_failure: Option<LogError>,
}

impl Counters {
    /// Attempts that failed because of others, whether the transaction committed later or not.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.iter().sum()
    }

    /// The same by their reason.
    pub fn conflicts_by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Abort::ALL.into_iter().map(|abort| (abort.name(), self.conflicts[abort as usize]))
    }

    /// All of them with the names of their fields, `conflicts` as their sum and `log_failed` as 0 or 1: for whatever
    /// collects metrics.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("commits", self.commits),
            ("rollbacks", self.rollbacks),
            ("contended", self.contended),
            ("panics", self.panics),
            ("memory_refusals", self.memory_refusals),
            ("overload_refusals", self.overload_refusals),
            ("conflicts", self.conflicts()),
            ("waiting", self.waiting),
            ("used_bytes", self.used_bytes),
            ("recovered_rows", self.recovered_rows),
            ("log_rounds", self.log_rounds),
            ("log_bytes", self.log_bytes),
            ("durable_lag_epochs", self.durable_lag_epochs),
            ("awaiting_durability", self.awaiting_durability),
            ("checkpoints", self.checkpoints),
            ("checkpoint_failures", self.checkpoint_failures),
            ("log_failed", u64::from(self.log_failure.is_some())),
        ]
        .into_iter()
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, count)) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{name} {count}")?;
        }
        Ok(())
    }
}
