//! How requests come to the workers, and what their messages cost.

use sync::clock;

/// The content of a client's message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientMode {
    /// A whole request: the procedure runs where the data is, and only its result comes back.
    #[default]
    Procedure,
    /// One statement of a transaction: the client decides on the next statement when it has the answer, and the
    /// transaction keeps its locks meanwhile.
    Interactive,
}

impl ClientMode {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Procedure, Self::Interactive];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Procedure => "procedure",
            Self::Interactive => "interactive",
        }
    }
}

/// The moments at which requests are made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Arrivals {
    /// By a client, when its last request was answered: a closed loop.
    #[default]
    Closed,
    /// Independently of the clients, whether or not one is free: an open loop.
    Open(OpenLoop),
}

/// An open loop. Each worker has its own arrivals, a share of all; its clients serve them in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenLoop {
    /// The distribution of arrivals over time.
    pub process: Process,
    /// The mean number of requests a second that arrive at all workers together.
    pub rate_txn_s: f64,
    /// The maximum number of arrivals that wait for a free client, at all workers together. Arrivals above it are
    /// skipped.
    pub queue_max: usize,
}

/// The distribution of arrivals over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// At equal distances.
    Constant,
    /// Independent of each other: distances are distributed exponentially.
    Poisson,
    /// As under `Poisson` during a burst, and none between two bursts. The lengths of bursts and of pauses are
    /// distributed exponentially; all workers have the same bursts.
    Bursty {
        /// The mean length of a burst in nanoseconds.
        on_ns: u64,
        /// The mean time between two bursts in nanoseconds.
        off_ns: u64,
    },
}

/// How requests come to the workers of a run, and what their messages cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// The content of a client's message.
    pub mode: ClientMode,
    /// The round trip time between a client and its worker, in nanoseconds.
    pub rtt_ns: u64,
    /// The number of requests that a client sends in one message, from 1.
    pub batch: u64,
    /// The moments at which requests are made.
    pub arrivals: Arrivals,
    /// Whether clients wait according to the workload's [`pace`](crate::Workload::pace).
    pub is_paced: bool,
}

impl Default for Traffic {
    /// A closed loop of procedures without a network between clients and workers.
    fn default() -> Self {
        Self { mode: ClientMode::Procedure, rtt_ns: 0, batch: 1, arrivals: Arrivals::Closed, is_paced: false }
    }
}

impl Traffic {
    /// Whether a client sends its next request at once, without any wait before it.
    pub fn is_immediate(&self) -> bool {
        self.rtt_ns == 0 && self.batch == 1 && self.arrivals == Arrivals::Closed && !self.is_paced
    }

    /// Whether a request may wait for its client, so that its latency is longer than its service time.
    pub fn may_queue(&self) -> bool {
        self.batch > 1 || self.arrivals != Arrivals::Closed
    }

    /// Nanoseconds of the message that opens another transaction of a request, or another attempt; 0 for a procedure,
    /// which runs to its end at the worker.
    pub(super) fn opening_ns(&self) -> u64 {
        if self.mode == ClientMode::Interactive { self.rtt_ns } else { 0 }
    }
}

/// The moment at which a request was sent, and what it has cost since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// When a client took the request up, in ticks.
    pub(super) birth: u64,
    /// Nanoseconds from the moment at which the request was due to that one.
    pub(super) late_ns: u64,
    /// Attempts of its transactions that the scheme has aborted so far.
    pub(super) retries: u32,
}

impl Sent {
    /// Returns the record of a request that is sent now, on time.
    #[inline]
    pub(super) fn now() -> Self {
        Self { birth: clock::ticks(), late_ns: 0, retries: 0 }
    }
}
