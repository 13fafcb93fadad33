//! Schedules as values: the decisions of an exploration, in a form that can be written on one line and parsed back.
//!
//! A schedule records the differences from the plainest way to run: a worker goes on until it ends or steps aside
//! (spins, yields, waits), and then the next worker in the circle of their numbers runs. Each of its *runs* is a
//! worker, with the number of steps after which it is preempted, if it is. For example, `0x12,1,0x3,2` lets worker 0
//! make 12 steps, then worker 1 go as far as it can, then worker 0 make 3 more, then worker 2 go as far as it can;
//! everything after that is the plainest way. So the number of preemptions is the number of `x`. Where a body calls
//! [`sync_sim::workers::run`] several times with more than one worker, `/` stands between the calls.

use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;

use crate::scheduler::Turns;

/// A schedule. See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Schedule {
    /// The runs of each call of `workers::run` with several workers. The last is not empty.
    pub(crate) calls: Vec<Vec<Run>>,
}

/// A run of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    pub(crate) worker: u32,
    /// The number of steps after which it is preempted; `None` if it runs until it cannot go on.
    pub(crate) steps: Option<NonZeroU32>,
}

impl Schedule {
    pub(crate) fn new(mut calls: Vec<Vec<Run>>) -> Self {
        while calls.last().is_some_and(Vec::is_empty) {
            calls.pop();
        }
        Self { calls }
    }

    /// The number of times that a worker is interrupted that could have gone on.
    pub fn preemptions(&self) -> usize {
        self.calls.iter().flatten().filter(|run| run.steps.is_some()).count()
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (call, runs) in self.calls.iter().enumerate() {
            f.write_str(if call > 0 { "/" } else { "" })?;
            for (at, run) in runs.iter().enumerate() {
                f.write_str(if at > 0 { "," } else { "" })?;
                write!(f, "{}", run.worker)?;
                if let Some(steps) = run.steps {
                    write!(f, "x{steps}")?;
                }
            }
        }
        Ok(())
    }
}

/// The error for a text that is not a schedule: it must be written as in the module's example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSchedule {
    run: String,
}

impl fmt::Display for NoSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no run of a schedule: write them as in `0x12,1,0x3`, a worker and its steps",
            self.run
        )
    }
}

impl std::error::Error for NoSchedule {}

impl FromStr for Schedule {
    type Err = NoSchedule;

    fn from_str(text: &str) -> Result<Self, NoSchedule> {
        let runs = |call: &str| match call {
            "" => Ok(Vec::new()),
            runs => runs.split(',').map(str::parse).collect(),
        };
        text.split('/').map(runs).collect::<Result<_, _>>().map(Self::new)
    }
}

impl FromStr for Run {
    type Err = NoSchedule;

    fn from_str(text: &str) -> Result<Self, NoSchedule> {
        let refuse = || NoSchedule { run: text.to_owned() };
        let (worker, steps) = match text.split_once('x') {
            Some((worker, steps)) => (worker, Some(steps.parse().map_err(|_| refuse())?)),
            None => (text, None),
        };
        Ok(Self { worker: worker.parse().map_err(|_| refuse())?, steps })
    }
}

/// Records the choices of an exploration.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    calls: Vec<Vec<Run>>,
    /// The worker and the number of steps of the current run.
    worker: usize,
    steps: u32,
    /// The number of runs of the call up to the last one that was not the plainest choice.
    needed: usize,
}

impl Recorder {
    /// Begins a call.
    pub(crate) fn begin(&mut self) {
        self.end();
        self.calls.push(Vec::new());
    }

    /// Notes that worker `next` is chosen to run.
    #[inline]
    pub(crate) fn note(&mut self, turns: &Turns, next: usize) {
        if self.steps > 0 && turns.is_continued_by(next) {
            self.steps = self.steps.saturating_add(1);
        } else {
            self.switch(turns, next);
        }
    }

    fn switch(&mut self, turns: &Turns, next: usize) {
        self.close(turns.goes_on());
        let runs = self.calls.last().map_or(0, Vec::len);
        if next != turns.plainest() {
            self.needed = runs + 1;
        }
        (self.worker, self.steps) = (next, 1);
    }

    fn close(&mut self, is_preempted: bool) {
        let Some(steps) = NonZeroU32::new(core::mem::take(&mut self.steps)) else { return };
        let runs = self.calls.last_mut().expect("a run belongs to a call");
        runs.push(Run { worker: self.worker as u32, steps: is_preempted.then_some(steps) });
    }

    /// Ends the current call, if there is one.
    pub(crate) fn end(&mut self) {
        self.close(false);
        if let Some(runs) = self.calls.last_mut() {
            runs.truncate(core::mem::take(&mut self.needed));
        }
    }

    /// Takes the recorded schedule.
    pub(crate) fn take(&mut self) -> Schedule {
        self.end();
        Schedule::new(core::mem::take(&mut self.calls))
    }
}
