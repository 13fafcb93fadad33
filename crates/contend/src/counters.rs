//! Counters of a database.

use core::fmt;

use durability::{CheckpointError, LogError};
use engine::Abort;
use sync::atomic::{AtomicU64, Ordering};

/// The counters of one seat. Only the seat's caller adds to them; any thread may read them.
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

/// The end of an attempt or of a transaction, for the counters; or a refused insert.
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
    /// Counts an event of the caller that has the seat.
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

/// The counters of a database, of the past and of the present: see [`Database::counters`](crate::Database::counters).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Transactions that committed.
    pub commits: u64,
    /// Transactions that their bodies rolled back, or that ended with a misuse.
    pub rollbacks: u64,
    /// Transactions that were given up, by the limit of attempts or by the deadline.
    pub contended: u64,
    /// Transactions whose body panicked.
    pub panics: u64,
    /// Inserts refused because memory is full.
    pub memory_refusals: u64,
    /// Callers refused because the database was overloaded.
    pub overload_refusals: u64,
    /// Attempts that ended with a conflict, by the number of its reason.
    conflicts: [u64; Abort::ALL.len()],
    /// Callers that wait now to be admitted: for a seat, or for a checkpoint.
    pub waiting: u64,
    /// Bytes in use now.
    pub used_bytes: u64,
    /// Rows that were recovered when the database was opened.
    pub recovered_rows: u64,
    /// Rounds of the log that had commits; each round is synced once.
    pub log_rounds: u64,
    /// Bytes of commits that the log has written.
    pub log_bytes: u64,
    /// [Epochs](crate::Options::epoch_us) from the last durable one to the last with a commit: a few, unless the device
    /// does not keep up, and 0 when all is durable.
    pub durable_lag_epochs: u64,
    /// Callers and futures that wait for durability now.
    pub awaiting_durability: u64,
    /// Checkpoints that were made.
    pub checkpoints: u64,
    /// Checkpoints that failed.
    pub checkpoint_failures: u64,
    /// The error of the last checkpoint, if it failed.
    pub checkpoint_failure: Option<CheckpointError>,
    /// The failure of the log, if it has failed: nothing becomes durable any more.
    pub log_failure: Option<LogError>,
}

impl Counters {
    /// Attempts that ended with a conflict, whether or not the transaction committed later.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.iter().sum()
    }

    /// Attempts that ended with a conflict, by the name of its reason.
    pub fn conflicts_by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Abort::ALL.into_iter().map(|abort| (abort.name(), self.conflicts[abort as usize]))
    }

    /// All counters with the names of their fields, `conflicts` as a sum and `log_failed` as 0 or 1, for a collector of
    /// metrics.
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
