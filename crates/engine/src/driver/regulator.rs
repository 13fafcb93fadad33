//! The length of clients' pauses after an abort, so that the attempts that conflicted do not conflict again.

use core::cell::Cell;

use stdx::Rng;
use sync::atomic::{AtomicU64, Ordering};

use super::{Job, Retry};

/// How the ceilings of pauses double with each abort of the same transaction.
#[derive(Clone, Copy, Debug)]
struct Doubling {
    /// Ceilings in attempts of the usual length: the first one, before it doubles, as a fraction, and the last one.
    attempts: (u64, u64, u64),
    /// The same two ceilings in nanoseconds, at least, for attempts that are shorter than these figures suppose.
    at_least_ns: (u64, u64),
    /// The highest ceiling, however long attempts are: attempts may wait for their clients.
    at_most_ns: u64,
}

/// A pause is a random time below a ceiling that doubles with each abort of the same transaction. Without a pause,
/// attempts that conflicted conflict again; and a pause waits for a worker that has lost its core, instead of running
/// against it. How long attempts conflict depends on how long they last, which differs by orders of magnitude between
/// machines, builds and workloads: hence ceilings in attempts.
const BRIEF: Doubling =
    Doubling { attempts: (1, 128, 64), at_least_ns: (250, 100_000), at_most_ns: 10_000_000 };
/// The same for [`Retry::Backoff`].
const EXPONENTIAL: Doubling =
    Doubling { attempts: (1, 1, 1_024), at_least_ns: (2_500, 2_000_000), at_most_ns: 1_000_000_000 };
/// The lowest and highest ceiling of [`Retry::Climb`]. The lowest is not zero: a fiber that does not pause prevents the
/// fiber that holds the wanted record from running.
const CLIMB_NS: (u64, u64) = (STEP_NS, 1_000_000);
/// The distance that the ceiling moves at a time.
const STEP_NS: u64 = 500;
/// The time between two moves of the ceiling.
const CLIMB_EVERY_NS: u64 = 5_000_000;

/// State by which the clients of a run decide on the length of pauses. The one ceiling of [`Retry::Climb`] moves up and
/// down with the throughput of the whole run (Lim, Kaminsky, Andersen: Cicada, SIGMOD 2017, section 3.9).
#[derive(Debug)]
pub(super) struct Regulator {
    ceiling_ns: AtomicU64,
    due_ns: AtomicU64,
    before: Before,
}

/// The measurements at the last move of the ceiling. The client that moves it writes here, one client at a time, unless
/// a client is suspended until the next move is due: then two moves mix, and the ceiling moves in an arbitrary
/// direction, as it also does by chance.
#[derive(Debug, Default)]
struct Before {
    at_ns: AtomicU64,
    commits: AtomicU64,
    /// Commits a second.
    rate: AtomicU64,
    ceiling_ns: AtomicU64,
}

impl Default for Regulator {
    fn default() -> Self {
        let before = Before::default();
        Self { ceiling_ns: AtomicU64::new(CLIMB_NS.0), due_ns: AtomicU64::new(0), before }
    }
}

impl Doubling {
    fn ceiling_ns(&self, retries: u32, attempt_ns: u64) -> u64 {
        let (part, of, longest) = self.attempts;
        let attempt_ns = attempt_ns.min(self.at_most_ns);
        let first_ns = (attempt_ns * part / of).max(self.at_least_ns.0);
        let longest_ns = (attempt_ns * longest).clamp(self.at_least_ns.1, self.at_most_ns);
        (first_ns << retries.min(20)).min(longest_ns)
    }
}

/// The lengths of a worker's attempts under contention, including the time that their clients take.
///
/// An attempt conflicts with others until these end. Where conflicts are found early, aborted attempts are much shorter
/// than those with which they conflict, which commit: hence the lengths of both.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    aborted: Mean,
    committed: Mean,
    /// How many clients pause after an abort now.
    aside: Cell<usize>,
}

impl Lengths {
    /// Adds the length of an aborted attempt.
    pub(super) fn add_aborted(&self, attempt_ns: u64) {
        self.aborted.add(attempt_ns, 10_000);
    }

    /// Whether the length of an attempt of a transaction with so many aborts behind it matters if it commits: some
    /// transaction, this one or another, has met contention.
    #[inline]
    pub(super) fn matter(&self, retries: u32) -> bool {
        retries > 0 || self.aside.get() > 0
    }

    /// Counts a client that begins a pause after an abort.
    pub(super) fn step_aside(&self) {
        self.aside.set(self.aside.get() + 1);
    }

    /// Counts a client that ends its pause.
    pub(super) fn come_back(&self) {
        self.aside.set(self.aside.get() - 1);
    }

    /// Adds the length of an attempt that committed, if it [matters](Self::matter).
    pub(super) fn add_committed(&self, attempt_ns: u64) {
        // There are few of these, so that the first ones must count.
        self.committed.add(attempt_ns, 1_000_000);
    }

    /// The mean length of aborted attempts in nanoseconds, 0 before the first one: for pauses that are brief, so that a
    /// client tries again while others still hold what it wants.
    pub(super) fn aborted_ns(&self) -> u64 {
        self.aborted.0.get()
    }

    /// The usual length in nanoseconds: the greater one of both means, 0 before the first attempt.
    pub(super) fn usual_ns(&self) -> u64 {
        self.aborted.0.get().max(self.committed.0.get())
    }
}

/// A mean to which the last few values contribute most.
#[derive(Debug, Default)]
struct Mean(Cell<u64>);

impl Mean {
    /// Adds a length. A long time without a core does not make an attempt long: at most four times the mean counts, and
    /// `credible_ns` more.
    fn add(&self, attempt_ns: u64, credible_ns: u64) {
        let mean_ns = self.0.get();
        let attempt_ns = attempt_ns.min(4 * mean_ns + credible_ns);
        self.0.set(if mean_ns == 0 { attempt_ns } else { mean_ns - mean_ns / 8 + attempt_ns / 8 });
    }
}

impl Regulator {
    /// Returns a random pause before the next attempt of a transaction that was aborted `retries` times, for attempts
    /// that last `attempt_ns`.
    #[inline]
    pub(super) fn pause_ns(&self, job: &Job, retries: u32, attempt_ns: u64, rng: &mut Rng) -> u64 {
        rng.below(self.ceiling_ns(job, retries, attempt_ns).max(1))
    }

    fn ceiling_ns(&self, job: &Job, retries: u32, attempt_ns: u64) -> u64 {
        match job.retry {
            Retry::Same | Retry::Drop => BRIEF.ceiling_ns(retries, attempt_ns),
            Retry::Backoff => EXPONENTIAL.ceiling_ns(retries, attempt_ns),
            Retry::Fixed => job.backoff_ns,
            Retry::Climb => self.ceiling_ns.load(Ordering::Relaxed), // Relaxed: a hint.
        }
    }

    /// Moves the ceiling if a move is due; `commits` returns the number of the run's commits so far.
    pub(super) fn climb(&self, now_ns: u64, commits: impl FnOnce() -> u64, rng: &mut Rng) {
        // Relaxed, here and below: see `Before`.
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        let until_ns = now_ns + CLIMB_EVERY_NS;
        let order = Ordering::Relaxed;
        if now_ns < due_ns || self.due_ns.compare_exchange(due_ns, until_ns, order, order).is_err() {
            return;
        }
        let (commits, ceiling_ns) = (commits(), self.ceiling_ns.load(order));
        let passed_ns = now_ns.saturating_sub(self.before.at_ns.swap(now_ns, order)).max(1);
        let done = commits.saturating_sub(self.before.commits.swap(commits, order));
        let rate = (u128::from(done) * 1_000_000_000 / u128::from(passed_ns)) as u64;
        let faster = rate.cmp(&self.before.rate.swap(rate, order));
        let higher = ceiling_ns.cmp(&self.before.ceiling_ns.swap(ceiling_ns, order));
        let is_up = if faster.is_eq() || higher.is_eq() { rng.below(2) == 0 } else { faster == higher };
        let next_ns = if is_up { ceiling_ns + STEP_NS } else { ceiling_ns.saturating_sub(STEP_NS) };
        self.ceiling_ns.store(next_ns.clamp(CLIMB_NS.0, CLIMB_NS.1), order);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::job;
    use super::*;

    #[test]
    fn ceilings_double_or_stay_as_the_policy_says() {
        let regulator = Regulator::default();
        let ceilings = |retry, attempt_ns| {
            let job = Job { retry, backoff_ns: 100_000, ..job(1) };
            [1, 3, 30].map(|retries| regulator.ceiling_ns(&job, retries, attempt_ns))
        };
        for short_ns in [0, 1_500] {
            assert_eq!(ceilings(Retry::Same, short_ns), [500, 2_000, 100_000]);
            assert_eq!(ceilings(Retry::Backoff, short_ns), [5_000, 20_000, 2_000_000]);
        }
        // Attempts of an unoptimised build, and such as wait for their clients.
        assert_eq!(ceilings(Retry::Same, 80_000), [1_250, 5_000, 5_120_000]);
        assert_eq!(ceilings(Retry::Backoff, 80_000), [160_000, 640_000, 81_920_000]);
        assert_eq!(ceilings(Retry::Same, u64::MAX), [156_250, 625_000, 10_000_000]);
        assert_eq!(ceilings(Retry::Backoff, u64::MAX), [1_000_000_000; 3]);
        for attempt_ns in [0, 80_000] {
            assert_eq!(ceilings(Retry::Fixed, attempt_ns), [100_000; 3]);
            assert_eq!(ceilings(Retry::Climb, attempt_ns), [STEP_NS; 3]);
        }
    }

    #[test]
    fn the_mean_length_follows_attempts_and_is_not_carried_away_by_one() {
        let lengths = Lengths::default();
        let after = |attempts: usize, ns| {
            (0..attempts).for_each(|_| lengths.add_aborted(ns));
            lengths.usual_ns()
        };
        assert_eq!(after(1, 4_000), 4_000);
        assert!((4_000..8_000).contains(&after(1, 1_000_000_000)), "{}", lengths.usual_ns());
        assert!((190_000..=200_000).contains(&after(60, 200_000)), "{}", lengths.usual_ns());
        assert!((4_000..5_000).contains(&after(60, 4_000)), "{}", lengths.usual_ns());
    }

    #[test]
    fn attempts_that_commit_count_where_conflicts_are_found_early() {
        let lengths = Lengths::default();
        (0..100).for_each(|_| lengths.add_aborted(5_000));
        lengths.add_committed(2_000_000);
        assert_eq!(lengths.usual_ns(), 1_000_000, "one may have lost its core");
        lengths.add_committed(2_000_000);
        assert!((1_100_000..2_000_000).contains(&lengths.usual_ns()), "{}", lengths.usual_ns());
        (0..100).for_each(|_| lengths.add_committed(1_000));
        assert!((4_000..=5_000).contains(&lengths.usual_ns()), "{}", lengths.usual_ns());
    }

    #[test]
    fn pauses_are_below_their_ceiling_and_may_be_none() {
        let (regulator, mut rng) = (Regulator::default(), Rng::new(1));
        let pauses = |backoff_ns, rng: &mut Rng| {
            let job = Job { retry: Retry::Fixed, backoff_ns, ..job(1) };
            (0..100).map(|_| regulator.pause_ns(&job, 1, 0, rng)).max().expect("some")
        };
        assert_eq!(pauses(0, &mut rng), 0);
        assert!((800..1_000).contains(&pauses(1_000, &mut rng)));
    }

    /// A machine whose throughput is best at some ceiling.
    fn climbed(best_ns: u64) -> u64 {
        let (regulator, mut rng) = (Regulator::default(), Rng::new(1));
        let (mut now_ns, mut commits) = (1, 0);
        for _ in 0..4_000 {
            let off = regulator.ceiling_ns.load(Ordering::Relaxed).abs_diff(best_ns);
            commits += 3_000_000 - off;
            now_ns += CLIMB_EVERY_NS;
            regulator.climb(now_ns, || commits, &mut rng);
        }
        regulator.ceiling_ns.load(Ordering::Relaxed)
    }

    #[test]
    fn the_ceiling_climbs_to_where_most_is_committed_and_stays_in_its_range() {
        for best_ns in [40_000, 200_000] {
            assert!(climbed(best_ns).abs_diff(best_ns) <= 4 * STEP_NS, "{}", climbed(best_ns));
        }
        assert!(climbed(0) <= 4 * STEP_NS);
        assert!(climbed(2_000_000) >= CLIMB_NS.1 - 4 * STEP_NS);
    }

    #[test]
    fn it_moves_no_more_often_than_it_should() {
        let (regulator, mut rng) = (Regulator::default(), Rng::new(1));
        let mut asked = 0;
        for now_ns in (1..20 * CLIMB_EVERY_NS).step_by(CLIMB_EVERY_NS as usize / 10) {
            let commits = || {
                asked += 1;
                0
            };
            regulator.climb(now_ns, commits, &mut rng);
        }
        assert_eq!(asked, 20);
    }
}
