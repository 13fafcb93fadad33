//! The watch over the progress of a trial. Transactions that wait for each other for ever produce no history. Their
//! state is found from the outside, by counting the attempts that have begun and the transactions that have ended.

use std::any::Any;

use stdx::panics;
use sync::atomic::{AtomicU64, Ordering};
use sync::panics::with_place;
use sync::{Arc, Padded, threads, waiter};

/// The kind of endless trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// All transactions wait for each other for ever.
    Deadlock,
    /// All transactions abort and are retried for ever.
    Livelock,
}

impl Stuck {
    /// The number of attempts begun since the last transaction ended from which on the trial is no deadlock. When all
    /// sessions wait, each has at most one attempt, and may have had some before the others came to wait.
    const MANY_ATTEMPTS: u64 = 200;

    /// Returns the name of the kind and its meaning.
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

/// The number of separate sets of counters, so that counting does not order the threads.
const SHARES: usize = 16;

/// Counts of a trial so far. Its words are ordinary atomics of the machine even in an explored trial, so that counting
/// is no step of a schedule.
// Relaxed throughout: counts order nothing.
#[derive(Debug, Default)]
pub struct Progress([Padded<Share>; SHARES]);

/// The counts of one thread, or the sum of several.
#[derive(Debug, Default)]
struct Share {
    /// Transactions that have ended, and requests that were generated because a transaction has ended.
    ended: AtomicU64,
    /// Attempts that have begun since a transaction of this share ended last.
    attempts: AtomicU64,
}

impl Progress {
    fn share(&self) -> &Share {
        &self.0[threads::number() % SHARES]
    }

    /// Records that a transaction or a script has ended.
    pub fn ended(&self) {
        let share = self.share();
        share.ended.fetch_add(1, Ordering::Relaxed); // Relaxed: see above.
        share.attempts.store(0, Ordering::Relaxed); // Relaxed: see above.
    }

    /// Records that an attempt has begun.
    pub fn attempted(&self) {
        self.share().attempts.fetch_add(1, Ordering::Relaxed); // Relaxed: see above.
    }

    fn sum(&self, of: impl Fn(&Share) -> &AtomicU64) -> u64 {
        self.0.iter().map(|share| of(share).load(Ordering::Relaxed)).sum() // Relaxed: see above.
    }

    /// Returns the verdict on a trial that does not end, as text that begins with its name.
    pub fn verdict(&self) -> (Stuck, String) {
        let attempts = self.sum(|share| &share.attempts);
        let stuck = if attempts < Stuck::MANY_ATTEMPTS { Stuck::Deadlock } else { Stuck::Livelock };
        (stuck, stuck.told(attempts))
    }
}

/// The time for which a trial on threads may go on without a transaction that ends.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The number of looks in a row that find the same counts. The limit counts looks, not time: while the watcher gets
    /// no processor time, it does not see whether the transactions got some and made no progress.
    pub looks: u32,
    /// Nanoseconds between two looks; the first looks follow each other faster.
    pub look_ns: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { looks: 1_000, look_ns: 10_000_000 }
    }
}

/// The outcome of a watched body.
#[derive(Debug)]
pub enum WatchOutcome<T> {
    /// The body has ended.
    Ended(T),
    /// The body panicked, with this message.
    Panicked(String),
    /// The body does not end. Its thread is left alone, because nothing can end it.
    Stuck(Stuck, String),
}

/// Runs `body` on a thread of its own, and watches the progress that it records.
pub fn watched<T: Send + 'static>(
    patience: Patience,
    body: impl FnOnce(&Arc<Progress>) -> T + Send + 'static,
) -> WatchOutcome<T> {
    let progress = Arc::<Progress>::default();
    let noted = Arc::clone(&progress);
    let Some(trial) = threads::start("trial".to_owned(), move || body(&noted)) else {
        return WatchOutcome::Panicked("the system starts no more threads: try with fewer cores".to_owned());
    };
    let (mut known, mut looks) = (0, 0);
    loop {
        if trial.is_finished() {
            let message = |panic: Box<dyn Any + Send>| {
                panics::message(&*panic).map_or_else(|| "a panic".to_owned(), with_place)
            };
            return trial
                .join()
                .map_or_else(|panic| WatchOutcome::Panicked(message(panic)), WatchOutcome::Ended);
        }
        let ended = progress.sum(|share| &share.ended);
        (known, looks) = if ended == known { (known, looks + 1) } else { (ended, 0) };
        if looks > patience.looks {
            let (stuck, told) = progress.verdict();
            return WatchOutcome::Stuck(stuck, told);
        }
        // The first pauses are short, because most trials end soon.
        waiter::pause_ns(patience.look_ns.min(100_000 << looks.min(10)));
    }
}
