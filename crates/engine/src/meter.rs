//! Where an attempt's time goes, by sampled phase clocks.

use sync::clock;

/// The phases between which time is divided. What a phase's code calls counts as that phase unless it
/// switches itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// The procedure itself.
    Useful,
    /// Finding rows: indexes.
    Index,
    /// The scheme, while the procedure runs: reads, writes, locks.
    Cc,
    /// Drawing timestamps, and whatever else begins an attempt.
    Timestamp,
    /// From the end of the procedure to the commit: validation, installation.
    Commit,
    /// Attempts that aborted, from the abort back to their beginning, and their undoing.
    Abort,
    /// Waiting between attempts: backoff, injected pauses.
    Wait,
}

impl Phase {
    /// The number of phases.
    pub const COUNT: usize = 7;
    /// The names used in reports, in order.
    pub const NAMES: [&'static str; Self::COUNT] =
        ["useful", "index", "cc", "timestamp", "commit", "abort", "wait"];
}

/// Divides the time of sampled transactions between phases; off, it costs a branch.
#[derive(Debug)]
pub struct Meter {
    is_on: bool,
    phase: Phase,
    since: u64,
    /// Ticks by phase of the transactions sampled so far.
    ticks: [u64; Phase::COUNT],
    /// Ticks by phase of the running attempt, which may yet count as aborted.
    attempt: [u64; Phase::COUNT],
}

impl Default for Meter {
    fn default() -> Self {
        let zero = [0; Phase::COUNT];
        Self { is_on: false, phase: Phase::Wait, since: 0, ticks: zero, attempt: zero }
    }
}

impl Meter {
    /// Begins to sample a transaction.
    pub fn start(&mut self) {
        self.is_on = true;
        self.phase = Phase::Wait;
        self.since = clock::ticks();
    }

    /// Ends the sampling.
    pub fn stop(&mut self) {
        self.switch(Phase::Wait);
        self.is_on = false;
    }

    /// From now on time counts as `phase`; returns the phase before.
    #[inline]
    pub fn switch(&mut self, phase: Phase) -> Phase {
        if self.is_on { self.note(phase) } else { phase }
    }

    #[cold]
    fn note(&mut self, phase: Phase) -> Phase {
        let now = clock::ticks();
        self.attempt[self.phase as usize] += now.wrapping_sub(self.since);
        self.since = now;
        core::mem::replace(&mut self.phase, phase)
    }

    /// The running attempt ended: if it aborted, all its time counts as that.
    #[inline]
    pub fn ended(&mut self, aborted: bool) {
        if self.is_on {
            self.note(Phase::Wait);
            for (phase, ticks) in core::mem::take(&mut self.attempt).into_iter().enumerate() {
                let waited = phase == Phase::Wait as usize;
                self.ticks[if aborted && !waited { Phase::Abort as usize } else { phase }] += ticks;
            }
        }
    }

    /// Ticks by phase, and a fresh start.
    pub fn take(&mut self) -> [u64; Phase::COUNT] {
        core::mem::take(&mut self.ticks)
    }
}
