//! Books shared by the clients of a worker: the tally of its measured stage, and the ledger.

use sync::{clock, waiter};

use super::latencies::Latencies;
use super::traffic::Sent;
use super::{Arrived, Control, Job, Stage, Tally};
use crate::meter::Phase;
use crate::{Abort, Ledger};

/// Attempts of a worker between two calls of `Scheme::maintain`.
const MAINTAIN_EVERY: u64 = 16;

/// A worker's books.
pub(super) struct Books<'r> {
    /// Where those who watch the run look; none if latencies are not counted.
    watched: Option<&'r Latencies>,
    /// Whether the latency of a request may be longer than its service time.
    may_queue: bool,
    tally: Tally,
    /// Commits are noted here before they are counted.
    pub(super) ledger: Ledger,
    /// The stage that the books are at: the worker turns them.
    pub(super) stage: Stage,
    cpu_start_ns: u64,
    idle_start_ns: u64,
    served: u64,
}

impl<'r> Books<'r> {
    /// For a workload with so many types of transaction.
    pub(super) fn new(job: &Job, control: &'r Control, worker: usize, types: usize, ledger: Ledger) -> Self {
        Self {
            watched: job.latencies.then(|| &*control.latencies[worker]),
            may_queue: job.traffic.may_queue(),
            tally: Tally::new(types),
            ledger,
            stage: Stage::WarmUp,
            cpu_start_ns: 0,
            idle_start_ns: 0,
            served: 0,
        }
    }

    /// Enters another stage of the run.
    #[cold]
    pub(super) fn turn(&mut self, stage: Stage) {
        self.end();
        if stage == Stage::Measured {
            self.tally.measured_ns.0 = clock::now_ns();
            self.cpu_start_ns = clock::thread_cpu_ns();
            self.idle_start_ns = waiter::thread_idle_ns();
        }
        self.stage = stage;
    }

    /// Ends the measured stage, if it lasts until now.
    pub(super) fn end(&mut self) {
        if self.stage == Stage::Measured {
            self.tally.measured_ns.1 = clock::now_ns();
            self.tally.cpu_ns = clock::thread_cpu_ns() - self.cpu_start_ns;
            self.tally.idle_ns = waiter::thread_idle_ns() - self.idle_start_ns;
        }
    }

    /// Counts an attempt, and says whether it is time for `Scheme::maintain`.
    #[inline]
    pub(super) fn is_maintenance_due(&mut self) -> bool {
        self.served += 1;
        self.served.is_multiple_of(MAINTAIN_EVERY)
    }

    /// Counts how an attempt ended, of a request that was `sent` before. `is_last` says that nothing of the request is
    /// left to be sent.
    #[inline]
    pub(super) fn book(&mut self, kind: usize, sent: Sent, result: Result<(), Abort>, is_last: bool) {
        let is_measured = self.stage == Stage::Measured;
        let tally = &mut self.tally.types[kind];
        match result {
            Ok(()) => {
                if is_measured && is_last {
                    tally.commits += 1;
                    tally.retries.record(sent.retries);
                    if let Some(watched) = self.watched {
                        let service_ns = clock::ticks_to_ns(clock::ticks().wrapping_sub(sent.birth));
                        let latency_ns = service_ns + sent.late_ns;
                        if self.may_queue {
                            tally.service_ns.record(service_ns);
                        }
                        tally.latency_ns.record(latency_ns);
                        watched.record(latency_ns);
                    }
                }
            }
            Err(Abort::Rollback) if is_measured => tally.user_aborts += 1,
            Err(reason) if is_measured => tally.aborts[reason as usize] += 1,
            Err(_) => {}
        }
    }

    /// Counts a request that has ended in a turn of its worker (`of` is 0) or of the database (1).
    #[cold]
    pub(super) fn count_turn(&mut self, of: usize) {
        if self.stage == Stage::Measured {
            self.tally.turns[of] += 1;
        }
    }

    /// Adds the statistics of the worker's arrivals.
    pub(super) fn add_arrived(&mut self, arrived: Arrived) {
        self.tally.arrived.merge(arrived);
    }

    /// Adds a session's ticks by phase.
    pub(super) fn add_phases(&mut self, ticks: [u64; Phase::COUNT]) {
        for (sum, ticks) in self.tally.phase_ticks.iter_mut().zip(ticks) {
            *sum += ticks;
        }
    }

    /// Returns the tally and the ledger.
    pub(super) fn into_parts(self) -> (Tally, Ledger) {
        (self.tally, self.ledger)
    }
}
