//! Conversions between the data types of the native build and those of the stepped one. Both builds have the same
//! sources, so that each type exists twice.

use engine::driver as native;
use engine_sim::driver as stepped;
use runs::CheckVerdict;

/// The job of a simulated run.
pub(crate) fn job(job: &native::Job) -> stepped::Job {
    stepped::Job {
        workers: job.workers,
        clients: job.clients,
        retry: retry(job.retry),
        limit: limit(job.limit),
        seed: job.seed,
        pause_ns: job.pause_ns,
        abort_ns: job.abort_ns,
        backoff_ns: job.backoff_ns,
        turn_after: job.turn_after,
        admission: admission(job.admission),
        reads_first: job.reads_first,
        rehearses: job.rehearses,
        reorder: job
            .reorder
            .map(|reorder| stepped::Reorder { batch_max: reorder.batch_max, large: reorder.large }),
        pin: false,
        sample_every: job.sample_every,
        latencies: job.latencies,
        traffic: traffic(&job.traffic),
        is_steady: job.is_steady,
    }
}

fn admission(admission: native::Admission) -> stepped::Admission {
    match admission {
        native::Admission::Open => stepped::Admission::Open,
        native::Admission::Regulated => stepped::Admission::Regulated,
        native::Admission::Single => stepped::Admission::Single,
    }
}

fn retry(retry: native::Retry) -> stepped::Retry {
    match retry {
        native::Retry::Same => stepped::Retry::Same,
        native::Retry::Drop => stepped::Retry::Drop,
        native::Retry::Backoff => stepped::Retry::Backoff,
        native::Retry::Fixed => stepped::Retry::Fixed,
        native::Retry::Climb => stepped::Retry::Climb,
    }
}

fn limit(limit: native::Limit) -> stepped::Limit {
    match limit {
        native::Limit::Time { warmup_ns, measured_ns, cooldown_ns } => {
            stepped::Limit::Time { warmup_ns, measured_ns, cooldown_ns }
        }
        native::Limit::Requests(count) => stepped::Limit::Requests(count),
        native::Limit::Estimate(native::Estimate {
            warmup_commits,
            commits,
            error,
            patience,
            longest_ns,
        }) => stepped::Limit::Estimate(stepped::Estimate {
            warmup_commits,
            commits,
            error,
            patience,
            longest_ns,
        }),
    }
}

fn traffic(traffic: &native::Traffic) -> stepped::Traffic {
    let mode = match traffic.mode {
        native::ClientMode::Procedure => stepped::ClientMode::Procedure,
        native::ClientMode::Interactive => stepped::ClientMode::Interactive,
    };
    let arrivals = match traffic.arrivals {
        native::Arrivals::Closed => stepped::Arrivals::Closed,
        native::Arrivals::Open(native::OpenLoop { process, rate_txn_s, queue_max }) => {
            let process = match process {
                native::Process::Constant => stepped::Process::Constant,
                native::Process::Poisson => stepped::Process::Poisson,
                native::Process::Bursty { on_ns, off_ns } => stepped::Process::Bursty { on_ns, off_ns },
            };
            stepped::Arrivals::Open(stepped::OpenLoop { process, rate_txn_s, queue_max })
        }
    };
    let native::Traffic { rtt_ns, batch, is_paced, .. } = *traffic;
    stepped::Traffic { mode, rtt_ns, batch, arrivals, is_paced }
}

/// The layout of the tables.
pub(crate) fn layout(layout: runs::Layout) -> storage_sim::Layout {
    let runs::Layout { is_ordered_only, has_versions_apart, splitting } = layout;
    let splitting = match splitting {
        runs::Splitting::On => storage_sim::Splitting::On,
        runs::Splitting::Constant => storage_sim::Splitting::Constant,
        runs::Splitting::Off => storage_sim::Splitting::Off,
    };
    storage_sim::Layout { is_ordered_only, has_versions_apart, splitting }
}

/// The results for one type of transaction.
pub(crate) fn tally(tally: stepped::TypeTally) -> native::TypeTally {
    let stepped::TypeTally { commits, user_aborts, aborts, retries, latency_ns, service_ns } = tally;
    native::TypeTally { commits, user_aborts, aborts, retries, latency_ns, service_ns }
}

/// Statistics of open-loop arrivals.
pub(crate) fn arrived(arrived: stepped::Arrived) -> native::Arrived {
    native::Arrived { offered: arrived.offered, skipped: arrived.skipped }
}

/// The throughput by interval.
pub(crate) fn series(series: stepped::ThroughputSeries) -> native::ThroughputSeries {
    let stepped::ThroughputSeries {
        interval_ns,
        warmup_txn_s,
        measured_txn_s,
        warmup_ns,
        measured_ns,
        is_warm,
        stalled_ns,
    } = series;
    native::ThroughputSeries {
        interval_ns,
        warmup_txn_s,
        measured_txn_s,
        warmup_ns,
        measured_ns,
        is_warm,
        stalled_ns,
    }
}

/// The verdict of the check.
pub(crate) fn verdict(found: Result<(), engine_sim::Violation>) -> CheckVerdict {
    match found {
        Ok(()) => CheckVerdict::Passed,
        Err(engine_sim::Violation { condition, found }) => {
            CheckVerdict::Failed(vec![engine::Violation { condition, found }])
        }
    }
}
