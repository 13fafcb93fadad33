//! How requests come to the workers, and what their messages cost.

use sync::clock;

/// What a client sends in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A whole request: the procedure runs where the data is, and only its result comes back.
    #[default]
    Procedure,
    /// One statement of a transaction: the client decides on the next when it has the answer, while the transaction
    /// holds what it holds.
    Interactive,
}

impl Mode {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Procedure, Self::Interactive];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Procedure => "procedure",
            Self::Interactive => "interactive",
        }
    }
}

/// When requests are made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Arrivals {
    /// By a client, when its last one was answered: a closed loop.
    #[default]
    Closed,
    /// By themselves, whether or not anybody can serve them: an open loop.
    Open(Open),
}

/// An open loop. Each worker has arrivals of its own, a share of all, which its clients take up in their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Open {
    /// How they are spread over time.
    pub process: Process,
    /// How many requests a second arrive at all workers together, in the mean.
    pub rate_txn_s: f64,
    /// How many arrivals may wait for a free client, at all workers together; what comes then is skipped.
    pub queue_max: usize,
}

/// How arrivals are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// At equal distances.
    Constant,
    /// Each at any time, whatever the others do: distances are distributed exponentially.
    Poisson,
    /// As under `Poisson` while a burst lasts, and none between two bursts. The lengths of bursts and of pauses are
    /// distributed exponentially; all workers have the same bursts.
    Bursty {
        /// Nanoseconds of a burst, in the mean.
        on_ns: u64,
        /// Nanoseconds between two bursts, in the mean.
        off_ns: u64,
    },
}

/// How requests come to the workers of a run, and what their messages cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// What a client sends in a message.
    pub mode: Mode,
    /// Nanoseconds of a round trip between a client and its worker.
    pub rtt_ns: u64,
    /// Requests that a client sends in one message, from 1.
    pub batch: u64,
    /// When requests are made.
    pub arrivals: Arrivals,
    /// Whether clients wait as the workload's [`pace`](crate::Workload::pace) has it.
    pub is_paced: bool,
}

impl Default for Traffic {
    /// A closed loop of procedures without a network between.
    fn default() -> Self {
        Self { mode: Mode::Procedure, rtt_ns: 0, batch: 1, arrivals: Arrivals::Closed, is_paced: false }
    }
}

impl Traffic {
    /// Whether a client sends its next request at once, so that there is nothing to be asked before.
    pub(super) fn is_immediate(&self) -> bool {
        self.rtt_ns == 0 && self.batch == 1 && self.arrivals == Arrivals::Closed && !self.is_paced
    }

    /// Whether a request may wait for its client, so that its latency is more than what serving it takes.
    pub fn may_queue(&self) -> bool {
        self.batch > 1 || self.arrivals != Arrivals::Closed
    }

    /// Nanoseconds of the message that opens another transaction of a request, or another attempt: a procedure runs
    /// to its end where it is.
    pub(super) fn opening_ns(&self) -> u64 {
        if self.mode == Mode::Interactive { self.rtt_ns } else { 0 }
    }
}

/// When a request was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// When a client took it up, in ticks.
    pub(super) birth: u64,
    /// Nanoseconds before that at which it was to be.
    pub(super) late_ns: u64,
}

impl Sent {
    /// A request that is sent now, as it was to be.
    #[inline]
    pub(super) fn now() -> Self {
        Self { birth: clock::ticks(), late_ns: 0 }
    }
}
