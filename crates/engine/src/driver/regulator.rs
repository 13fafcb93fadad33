//! How long clients pause after an abort, so that the attempts that stood in each other's way do not do so again.

use stdx::Rng;
use sync::atomic::{AtomicU64, Ordering};

use super::{Job, Retry};

/// A pause is a random time below a ceiling that doubles with each abort of the same transaction, from the first of
/// these to the second. Without a pause the attempts that stand in each other's way do so again; and a worker that has
/// no core is waited for rather than run against.
const BRIEF_NS: (u64, u64) = (250, 100_000);
/// The same for [`Retry::Backoff`].
const EXPONENTIAL_NS: (u64, u64) = (2_500, 2_000_000);
/// The ceilings of [`Retry::Climb`]. Not down to nothing: a fiber that does not pause keeps the one from running that
/// holds what it wants.
const CLIMB_NS: (u64, u64) = (STEP_NS, 1_000_000);
/// How far it moves at a time.
const STEP_NS: u64 = 500;
/// How often the ceiling moves.
const CLIMB_EVERY_NS: u64 = 5_000_000;

/// What the clients of a run know together of how long to pause. The one ceiling of [`Retry::Climb`] moves up and down
/// as the throughput of the whole run tells (Lim, Kaminsky, Andersen: Cicada, SIGMOD 2017, section 3.9).
#[derive(Debug)]
pub struct Regulator {
    ceiling_ns: AtomicU64,
    due_ns: AtomicU64,
    before: Before,
}

/// What was seen when the ceiling moved last. Whoever moves it writes here, one at a time, unless it is suspended until
/// the next move is due: then two moves mix, and the ceiling goes somewhere, as it does by chance, too.
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

impl Regulator {
    /// A random pause before the attempt of a transaction that was aborted so often.
    #[inline]
    pub(super) fn pause_ns(&self, job: &Job, retries: u32, rng: &mut Rng) -> u64 {
        rng.below(self.ceiling_ns(job, retries).max(1))
    }

    fn ceiling_ns(&self, job: &Job, retries: u32) -> u64 {
        let doubling = |(first, longest): (u64, u64)| (first << retries.min(20)).min(longest);
        match job.retry {
            Retry::Same | Retry::Drop => doubling(BRIEF_NS),
            Retry::Backoff => doubling(EXPONENTIAL_NS),
            Retry::Fixed => job.backoff_ns,
            Retry::Climb => self.ceiling_ns.load(Ordering::Relaxed), // Relaxed: a hint.
        }
    }

    /// Moves the ceiling if that is due, given how much the run has committed so far.
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
        let ceilings = |retry| {
            let job = Job { retry, backoff_ns: 100_000, ..job(1) };
            [1, 3, 30].map(|retries| regulator.ceiling_ns(&job, retries))
        };
        assert_eq!(ceilings(Retry::Same), [500, 2_000, 100_000]);
        assert_eq!(ceilings(Retry::Backoff), [5_000, 20_000, 2_000_000]);
        assert_eq!(ceilings(Retry::Fixed), [100_000; 3]);
        assert_eq!(ceilings(Retry::Climb), [STEP_NS; 3]);
    }

    #[test]
    fn pauses_are_below_their_ceiling_and_may_be_none() {
        let (regulator, mut rng) = (Regulator::default(), Rng::new(1));
        let pauses = |backoff_ns, rng: &mut Rng| {
            let job = Job { retry: Retry::Fixed, backoff_ns, ..job(1) };
            (0..100).map(|_| regulator.pause_ns(&job, 1, rng)).max().expect("some")
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
