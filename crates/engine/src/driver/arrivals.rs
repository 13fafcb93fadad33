//! The arrivals of an open loop: their moments, and the queue of arrivals that wait for a client.

use std::collections::VecDeque;

use stdx::Rng;

use super::{Job, OpenLoop, Process, Stage};

/// Streams of random numbers in addition to those of requests.
const ARRIVALS: u64 = 0x6172_7269_7665;
const BURSTS: u64 = 0x6275_7273_7473;

/// Statistics of open-loop arrivals in the measured stage: offered, skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Requests that arrived.
    pub offered: u64,
    /// Requests among these that were dropped because too many were waiting already.
    pub skipped: u64,
}

impl Arrived {
    pub(super) fn merge(&mut self, other: Self) {
        self.offered += other.offered;
        self.skipped += other.skipped;
    }
}

/// The arrivals of a worker.
///
/// No thread watches the clock for them: a free client takes the arrival that has waited longest or, when none waits,
/// the next arrival to come, and sleeps until then. Since a worker's clients are all alike, that is a queue in the
/// order of arrival with as many servers as there are clients.
#[derive(Debug)]
pub(super) struct Queue {
    times: Times,
    /// The first arrival that is neither queued nor taken, in nanoseconds of the clock.
    next_ns: u64,
    waiting: VecDeque<u64>,
    waiting_max: usize,
    /// Requests per arrival.
    batch: u64,
    arrived: Arrived,
}

impl Queue {
    /// The arrivals of one worker of a run that begins at `start_ns`.
    pub(super) fn new(job: &Job, open: OpenLoop, worker: usize, start_ns: u64) -> Self {
        let mut times = Times::new(job, open, worker, start_ns);
        let next_ns = times.next();
        let waiting_max = open.queue_max.div_ceil(job.workers);
        let (waiting, batch) = (VecDeque::new(), job.traffic.batch);
        Self { times, next_ns, waiting, waiting_max, batch, arrived: Arrived::default() }
    }

    /// The arrival that a free client serves next. It may be in the future; it has to be [counted](Self::count) when it
    /// has come.
    pub(super) fn take(&mut self, now_ns: u64, stage: Stage) -> u64 {
        self.admit(now_ns, stage);
        self.waiting.pop_front().unwrap_or_else(|| self.draw())
    }

    /// Queues the arrivals since the last call, and skips those for which the queue has no room.
    pub(super) fn admit(&mut self, now_ns: u64, stage: Stage) {
        while self.next_ns <= now_ns {
            let at_ns = self.draw();
            self.count(stage);
            if self.waiting.len() < self.waiting_max {
                self.waiting.push_back(at_ns);
            } else if stage == Stage::Measured {
                self.arrived.skipped += self.batch;
            }
        }
    }

    /// Counts an arrival that has come.
    pub(super) fn count(&mut self, stage: Stage) {
        if stage == Stage::Measured {
            self.arrived.offered += self.batch;
        }
    }

    fn draw(&mut self) -> u64 {
        let next_ns = self.times.next();
        core::mem::replace(&mut self.next_ns, next_ns)
    }

    /// The statistics of the arrivals so far.
    pub(super) fn arrived(&self) -> Arrived {
        self.arrived
    }
}

/// The moments of arrivals.
#[derive(Debug)]
struct Times {
    start_ns: u64,
    /// Nanoseconds from the start to the last arrival.
    since_ns: f64,
    process: Process,
    /// The mean distance between two arrivals in nanoseconds, pauses left out.
    gap_ns: f64,
    rng: Rng,
    /// The random numbers of bursts and pauses: the same at all workers.
    bursts: Rng,
    /// Nanoseconds from the start to the end of the present burst.
    burst_ends_ns: f64,
}

impl Times {
    fn new(job: &Job, open: OpenLoop, worker: usize, start_ns: u64) -> Self {
        let mean_ns = 1e9 * job.workers as f64 * job.traffic.batch as f64 / open.rate_txn_s;
        let busy = match open.process {
            Process::Bursty { on_ns, off_ns } => on_ns as f64 / (on_ns + off_ns) as f64,
            Process::Constant | Process::Poisson => 1.0,
        };
        // The workers take turns, so that the arrivals of all workers together are at equal distances, too.
        let since_ns = match open.process {
            Process::Constant => mean_ns * (worker as f64 / job.workers as f64 - 1.0),
            _ => 0.0,
        };
        Self {
            start_ns,
            since_ns,
            process: open.process,
            gap_ns: mean_ns * busy,
            rng: Rng::from_path(&[job.seed, ARRIVALS, worker as u64]),
            bursts: Rng::from_path(&[job.seed, BURSTS]),
            burst_ends_ns: 0.0,
        }
    }

    fn next(&mut self) -> u64 {
        match self.process {
            Process::Constant => self.since_ns += self.gap_ns,
            Process::Poisson => self.since_ns += exponential(&mut self.rng, self.gap_ns),
            Process::Bursty { on_ns, off_ns } => {
                let mut left_ns = exponential(&mut self.rng, self.gap_ns);
                // A distance that is not used up when a burst ends continues in the next burst.
                while self.since_ns + left_ns > self.burst_ends_ns {
                    left_ns -= self.burst_ends_ns - self.since_ns;
                    self.since_ns = self.burst_ends_ns + exponential(&mut self.bursts, off_ns as f64);
                    self.burst_ends_ns = self.since_ns + exponential(&mut self.bursts, on_ns as f64);
                }
                self.since_ns += left_ns;
            }
        }
        self.start_ns + self.since_ns as u64
    }
}

/// A random duration with an exponential distribution.
pub(super) fn exponential(rng: &mut Rng, mean_ns: f64) -> f64 {
    // Never the logarithm of 0.
    -(1.0 - rng.unit()).ln() * mean_ns
}

#[cfg(test)]
mod tests {
    use super::super::tests::job;
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn open(process: Process, rate_txn_s: f64) -> OpenLoop {
        OpenLoop { process, rate_txn_s, queue_max: 10 }
    }

    /// The arrivals of two workers together in this many seconds, in order.
    fn arrivals(process: Process, rate_txn_s: f64, seconds: u64) -> Vec<u64> {
        let mut all = Vec::new();
        for worker in 0..2 {
            let mut times = Times::new(&job(2), open(process, rate_txn_s), worker, 0);
            all.extend(core::iter::repeat_with(|| times.next()).take_while(|at| *at < seconds * SECOND_NS));
        }
        all.sort_unstable();
        all
    }

    /// The variance of the counts per interval to their mean: 1 for a Poisson process.
    fn dispersion(arrivals: &[u64], interval_ns: u64) -> f64 {
        let mut counts = vec![0.0; (arrivals[arrivals.len() - 1] / interval_ns) as usize + 1];
        for at in arrivals {
            counts[(at / interval_ns) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64 / mean
    }

    #[test]
    fn constant_arrivals_are_at_equal_distances_over_all_workers() {
        let all = arrivals(Process::Constant, 1_000.0, 2);
        assert_eq!(all.len(), 2_000);
        assert!(all.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(1_000_000) <= 1));
    }

    #[test]
    fn poisson_arrivals_have_the_asked_rate_and_the_variance_of_their_mean() {
        let all = arrivals(Process::Poisson, 10_000.0, 20);
        assert!(all.len().abs_diff(200_000) < 2_000, "{}", all.len());
        let dispersion = dispersion(&all, 10_000_000);
        assert!((0.9..1.1).contains(&dispersion), "{dispersion}");
    }

    #[test]
    fn bursts_leave_the_rate_and_are_those_of_all_workers() {
        let process = Process::Bursty { on_ns: 20_000_000, off_ns: 80_000_000 };
        let all = arrivals(process, 10_000.0, 200);
        assert!(all.len().abs_diff(2_000_000) < 200_000, "{}", all.len());
        // Were the bursts of the two workers not the same, half as much.
        let dispersion = dispersion(&all, 10_000_000);
        assert!((250.0..500.0).contains(&dispersion), "{dispersion}");
    }

    #[test]
    fn arrivals_are_those_of_the_seed() {
        let of = |seed, worker| {
            let job = Job { seed, ..job(2) };
            let mut times = Times::new(&job, open(Process::Poisson, 1e6), worker, 7);
            [times.next(), times.next()]
        };
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(2, 0));
        assert_ne!(of(1, 0), of(1, 1));
    }

    #[test]
    fn what_the_queue_has_no_room_for_is_skipped_and_the_oldest_is_served_first() {
        let mut queue = Queue::new(&job(1), open(Process::Constant, 1e9), 0, 1_000);
        assert_eq!(queue.take(0, Stage::WarmUp), 1_000, "nobody waits: the next to come");
        queue.count(Stage::Measured);
        assert_eq!(queue.take(1_015, Stage::Measured), 1_001);
        // Ten may wait of the fifteen that came.
        assert_eq!(queue.arrived(), Arrived { offered: 16, skipped: 5 });
        let rest: Vec<u64> = (0..10).map(|_| queue.take(1_015, Stage::Measured)).collect();
        assert_eq!(rest, [1_002, 1_003, 1_004, 1_005, 1_006, 1_007, 1_008, 1_009, 1_010, 1_016]);
        queue.admit(1_018, Stage::CoolDown);
        assert_eq!(queue.arrived(), Arrived { offered: 16, skipped: 5 }, "only the measured stage counts");
    }
}
