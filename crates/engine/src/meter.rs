//! Where an attempt's time goes, by sampled phase clocks; and the messages of an interactive client, which are waited
//! for where its statements begin, behind a branch that is there for the clocks.

use sync::{clock, waiter};

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
    /// Finding what a transaction will touch, before it is planned: a rehearsal, or the search for the rows that its
    /// input states.
    Footprint,
    /// Drawing timestamps, and whatever else begins an attempt.
    Timestamp,
    /// From the end of the procedure to the commit: validation, installation.
    Commit,
    /// Attempts that aborted, from the abort back to their beginning, and their undoing.
    Abort,
    /// Waiting: for the next statement of an interactive client, between attempts, in injected pauses.
    Wait,
}

impl Phase {
    /// The number of phases.
    pub const COUNT: usize = 8;
    /// The names used in reports, in order.
    pub const NAMES: [&'static str; Self::COUNT] =
        ["useful", "index", "cc", "footprint", "timestamp", "commit", "abort", "wait"];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Divides the time of sampled transactions between phases, and waits for the messages of interactive clients; when it
/// does neither, it costs a branch.
#[derive(Debug)]
pub struct Meter {
    /// Whether there is anything to do where a phase begins.
    is_on: bool,
    is_sampling: bool,
    /// Nanoseconds of a round trip between two messages of an attempt; 0 if its client sends but one.
    rtt_ns: u64,
    /// Whether a statement of the running attempt was executed.
    has_begun: bool,
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
        Self {
            is_on: false,
            is_sampling: false,
            rtt_ns: 0,
            has_begun: false,
            phase: Phase::Wait,
            since: 0,
            ticks: zero,
            attempt: zero,
        }
    }
}

impl Meter {
    /// From now on a round trip of so many nanoseconds lies between two statements of an attempt, and between the last
    /// one and its end; none if it is 0. The message of the first statement begins the attempt, so it comes before
    /// that, and is up to the caller.
    pub fn converse(&mut self, rtt_ns: u64) {
        self.rtt_ns = rtt_ns;
        self.is_on = self.is_sampling || rtt_ns > 0;
    }

    /// Begins to sample a transaction.
    pub fn start(&mut self) {
        (self.is_on, self.is_sampling) = (true, true);
        self.phase = Phase::Wait;
        self.since = clock::ticks();
    }

    /// Ends the sampling.
    pub fn stop(&mut self) {
        self.switch(Phase::Wait);
        (self.is_on, self.is_sampling) = (self.rtt_ns > 0, false);
    }

    /// From now on time counts as `phase`; returns the phase before.
    #[inline]
    pub fn switch(&mut self, phase: Phase) -> Phase {
        if self.is_on { self.note(phase) } else { phase }
    }

    /// As [`switch`](Self::switch) where a message of the client is to have come: a statement, or the wish to end.
    #[inline]
    pub fn receive(&mut self, phase: Phase) {
        if self.is_on {
            self.wait_for_message();
            self.note(phase);
        }
    }

    #[cold]
    fn wait_for_message(&mut self) {
        if core::mem::replace(&mut self.has_begun, true) && self.rtt_ns > 0 {
            self.note(Phase::Wait);
            waiter::pause_ns(self.rtt_ns);
        }
    }

    #[cold]
    fn note(&mut self, phase: Phase) -> Phase {
        if !self.is_sampling {
            return phase;
        }
        let now = clock::ticks();
        self.attempt[self.phase as usize] += now.wrapping_sub(self.since);
        self.since = now;
        core::mem::replace(&mut self.phase, phase)
    }

    /// The running attempt has only found a footprint: all its time so far counts as that.
    pub fn rehearsed(&mut self) {
        if self.is_on {
            self.note(Phase::Wait);
            let waited = core::mem::take(&mut self.attempt[Phase::Wait as usize]);
            self.ticks[Phase::Wait as usize] += waited;
            let rehearsed = core::mem::take(&mut self.attempt).into_iter().sum::<u64>();
            self.ticks[Phase::Footprint as usize] += rehearsed;
        }
    }

    /// The running attempt ended: if it aborted, all its time counts as that.
    #[inline]
    pub fn ended(&mut self, aborted: bool) {
        if self.is_on {
            self.has_begun = false;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The phases with time of a transaction whose only attempt passed through two phases before `end`.
    fn phases(end: impl FnOnce(&mut Meter)) -> Vec<&'static str> {
        let mut meter = Meter::default();
        meter.start();
        for phase in [Phase::Useful, Phase::Cc] {
            meter.switch(phase);
            let start = clock::ticks();
            while clock::ticks() == start {}
        }
        end(&mut meter);
        meter.stop();
        let ticks = meter.take();
        let named = Phase::NAMES.into_iter().zip(ticks).filter(|(name, ticks)| *name != "wait" && *ticks > 0);
        named.map(|(name, _)| name).collect()
    }

    #[test]
    fn the_time_of_an_attempt_counts_by_its_end() {
        assert_eq!(phases(|meter| meter.ended(false)), ["useful", "cc"]);
        assert_eq!(phases(|meter| meter.ended(true)), ["abort"]);
        let rehearsed = |meter: &mut Meter| {
            meter.rehearsed();
            meter.ended(true);
        };
        assert_eq!(phases(rehearsed), ["footprint"]);
    }
}
