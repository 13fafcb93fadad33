//! Whether a trial gets anywhere. Transactions that wait for each other for ever end in no history: what they do is
//! told from the outside, by what was begun and what has ended.

use std::panic::{AssertUnwindSafe, catch_unwind};

use stdx::panics;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Latched, Padded, threads, waiter};

/// How a trial comes to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// All wait for each other for ever.
    Deadlock,
    /// All abort and are tried again for ever.
    Livelock,
}

impl Stuck {
    /// Attempts that have begun since a transaction ended last, from which on it is no deadlock: each session has one
    /// at most when all wait, and may have had some before the others came to wait.
    const MANY_ATTEMPTS: u64 = 200;

    /// Its name and its meaning.
    pub fn told(self, attempts: u64) -> String {
        match self {
            Self::Deadlock => "deadlock: transactions wait for each other for ever".to_owned(),
            Self::Livelock => {
                format!(
                    "livelock: {attempts} attempts in a row have aborted, and nothing else happens any more"
                )
            }
        }
    }
}

/// Threads that count apart, so that to count does not put them in order.
const SHARES: usize = 16;

/// Counts of a trial so far. Its words are the machine's own, also where a trial is explored: to count is no
/// step of a schedule.
// Relaxed throughout: counts order nothing.
#[derive(Debug, Default)]
pub struct Progress([Padded<Share>; SHARES]);

/// The counts of one thread, or the sum of several.
#[derive(Debug, Default)]
struct Share {
    /// Transactions that have ended, or requests that were made because one has.
    ended: AtomicU64,
    /// Attempts that have begun since.
    attempts: AtomicU64,
}

impl Progress {
    fn share(&self) -> &Share {
        &self.0[threads::number() % SHARES]
    }

    /// Something has ended.
    pub fn ended(&self) {
        let share = self.share();
        share.ended.fetch_add(1, Ordering::Relaxed); // Relaxed: see above.
        share.attempts.store(0, Ordering::Relaxed); // Relaxed: see above.
    }

    /// An attempt has begun.
    pub fn attempted(&self) {
        self.share().attempts.fetch_add(1, Ordering::Relaxed); // Relaxed: see above.
    }

    fn sum(&self, of: impl Fn(&Share) -> &AtomicU64) -> u64 {
        self.0.iter().map(|share| of(share).load(Ordering::Relaxed)).sum() // Relaxed: see above.
    }

    /// The verdict on a trial that does not end, in words that begin with its name.
    pub fn verdict(&self) -> (Stuck, String) {
        let attempts = self.sum(|share| &share.attempts);
        let stuck = if attempts < Stuck::MANY_ATTEMPTS { Stuck::Deadlock } else { Stuck::Livelock };
        (stuck, stuck.told(attempts))
    }
}

/// How long a trial on threads may be without a transaction that ends.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Looks in a row that find the same. Looks are counted and not time: who is not given the processor to look has
    /// not found that the others were given it in vain.
    pub looks: u32,
    /// Nanoseconds between two of them, at least.
    pub look_ns: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { looks: 1_000, look_ns: 10_000_000 }
    }
}

/// The outcome of a watched body.
#[derive(Debug)]
pub enum Watched<T> {
    /// It has ended.
    Ended(T),
    /// It panicked, with these words.
    Panicked(String),
    /// It does not end. Its thread is left to itself: nothing can end it.
    Stuck(Stuck, String),
}

/// Runs `body` on a thread of its own and looks whether it gets anywhere, by what it notes.
pub fn watched<T: Send + 'static>(
    patience: Patience,
    body: impl FnOnce(&Arc<Progress>) -> T + Send + 'static,
) -> Watched<T> {
    let (progress, outcome) = (Arc::<Progress>::default(), Arc::new(Latched::new(None)));
    let (noted, told) = (Arc::clone(&progress), Arc::clone(&outcome));
    let run = move || {
        let ended = catch_unwind(AssertUnwindSafe(|| body(&noted)));
        let ended = ended.map_err(|panic| panics::message(&*panic).unwrap_or_else(|| "a panic".to_owned()));
        *told.lock() = Some(ended);
    };
    if !threads::start("trial".to_owned(), run) {
        return Watched::Panicked("the system starts no more threads: try with fewer cores".to_owned());
    }
    let (mut known, mut looks) = (0, 0);
    loop {
        if let Some(ended) = outcome.lock().take() {
            return ended.map_or_else(Watched::Panicked, Watched::Ended);
        }
        let ended = progress.sum(|share| &share.ended);
        (known, looks) = if ended == known { (known, looks + 1) } else { (ended, 0) };
        if looks > patience.looks {
            let (stuck, told) = progress.verdict();
            return Watched::Stuck(stuck, told);
        }
        // Most trials are over soon.
        waiter::pause_ns(patience.look_ns.min(100_000 << looks.min(10)));
    }
}
