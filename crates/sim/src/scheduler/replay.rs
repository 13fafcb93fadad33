//! Replay: follows a schedule as far as it fits.
//!
//! If the program differs from the one whose schedule it was, a run whose worker cannot run is replaced by the plainest
//! choice, for the same number of steps. Choices that the schedule does not record are the plainest, too.

use super::Turns;
use crate::schedule::{Run, Schedule};

/// See the module.
#[derive(Debug)]
pub(crate) struct Replay {
    schedule: Schedule,
    /// The next run: its call, counted from 1, and its index there.
    call: usize,
    at: usize,
    /// The steps left before the preemption that ends the current run, if one does.
    left: Option<u32>,
}

impl Replay {
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self { schedule, call: 0, at: 0, left: None }
    }

    /// Begins a call with several workers.
    pub(crate) fn begin(&mut self) {
        (self.call, self.at) = (self.call + 1, 0);
    }

    pub(crate) fn choose(&mut self, turns: &Turns) -> usize {
        let running = turns.running();
        let is_first = self.at == 0;
        if !is_first && turns.is_continued_by(running) && (self.left != Some(0) || turns.ready() == [running])
        {
            self.left = self.left.map(|left| left.saturating_sub(1));
            return running;
        }
        let wanted = self.take();
        self.left = wanted.and_then(|run| run.steps).map(|steps| steps.get() - 1);
        wanted
            .map(|run| run.worker as usize)
            .filter(|worker| turns.ready().contains(worker))
            .unwrap_or_else(|| turns.plainest())
    }

    fn take(&mut self) -> Option<Run> {
        let run = self.schedule.calls.get(self.call - 1).and_then(|runs| runs.get(self.at)).copied();
        self.at += 1;
        run
    }
}
