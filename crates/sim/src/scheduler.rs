//! What all schedulers share: who can run, virtual time, the bound, and the trace.

pub(crate) mod random;

use sync_sim::hook::Access;

use crate::Trace;

/// Virtual time that a step takes, in nanoseconds: about that of a cache miss to another core.
const STEP_NS: u64 = 50;

/// Virtual time that passes when all workers wait, none for a moment.
const IDLE_NS: u64 = 1_000;

/// How often in a row all workers may look in vain for what they wait for, with time passing in
/// between, before that counts as a deadlock.
const VAIN_ROUNDS_MAX: u64 = 1_000;

/// The turns of the workers of one exploration.
///
/// A worker that is idle (spins, yields, waits) steps aside until another one writes, until its moment
/// comes, or until no other can run. So a schedule is not filled with looks in vain, and a
/// worker that waits for one that the scheduler left standing does not wait for ever.
#[derive(Debug)]
pub(crate) struct Turns {
    workers: Vec<Worker>,
    running: usize,
    /// Those that can run, in no order that matters, but always in the same.
    ready: Vec<usize>,
    /// The earliest moment that one of those aside waits for.
    earliest_ns: u64,
    now_ns: u64,
    /// Whether anything was written since all were last aside.
    has_changed: bool,
    vain_rounds: u64,
    steps: u64,
    steps_max: u64,
    hash: u64,
}

#[derive(Debug, Clone, Copy)]
struct Worker {
    last: Access,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Aside { until_ns: u64 },
    Ended,
}

impl Turns {
    pub(crate) fn new(steps_max: u64) -> Self {
        Self {
            workers: Vec::new(),
            running: 0,
            ready: Vec::new(),
            earliest_ns: u64::MAX,
            now_ns: 0,
            has_changed: true,
            vain_rounds: 0,
            steps: 0,
            steps_max,
            // The offset basis of FNV-1a.
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }

    pub(crate) fn begin(&mut self, count: usize) {
        self.workers = vec![Worker { last: Access::Pause, state: State::Ready }; count];
        self.ready = (0..count).collect();
        self.earliest_ns = u64::MAX;
        self.has_changed = true;
        self.vain_rounds = 0;
    }

    /// The workers among which to choose: not empty before all have ended.
    pub(crate) fn ready(&self) -> &[usize] {
        &self.ready
    }

    pub(crate) fn run(&mut self, worker: usize) -> usize {
        self.running = worker;
        worker
    }

    /// The running worker makes a step.
    pub(crate) fn step(&mut self, access: Access) {
        self.count(access);
        self.workers[self.running].last = access;
        match access {
            Access::Load | Access::Fence => {}
            Access::Store | Access::Update => self.change(),
            Access::Pause => self.step_aside(u64::MAX),
            Access::Wait { until_ns } => self.step_aside(until_ns.unwrap_or(u64::MAX)),
        }
        self.pass_time(STEP_NS);
    }

    /// The running worker ends.
    pub(crate) fn end(&mut self) {
        self.ready.retain(|&worker| worker != self.running);
        self.workers[self.running].state = State::Ended;
        self.change();
        self.pass_time(0);
    }

    /// Reads the clock, which is never seen to stand still.
    pub(crate) fn read_clock(&mut self) -> u64 {
        self.now_ns += 1;
        self.now_ns
    }

    pub(crate) fn trace(&self) -> Trace {
        Trace { steps: self.steps, hash: self.hash }
    }

    fn count(&mut self, access: Access) {
        let kind = match access {
            Access::Load => 0,
            Access::Store => 1,
            Access::Update => 2,
            Access::Fence => 3,
            Access::Pause => 4,
            Access::Wait { .. } => 5,
        };
        for value in [self.running as u64, kind] {
            // The prime of FNV-1a.
            self.hash = (self.hash ^ value).wrapping_mul(0x0100_0000_01b3);
        }
        self.steps += 1;
        if self.steps >= self.steps_max {
            // The destructors that the panic runs may take as many steps again.
            self.steps_max = self.steps_max.saturating_mul(2);
            panic!("no end in sight, a livelock or a bound that is too low: {}", self.describe());
        }
    }

    fn change(&mut self) {
        self.has_changed = true;
        self.vain_rounds = 0;
        self.return_those(|_| true);
    }

    fn step_aside(&mut self, until_ns: u64) {
        self.workers[self.running].state = State::Aside { until_ns };
        self.ready.retain(|&worker| worker != self.running);
        self.earliest_ns = self.earliest_ns.min(until_ns);
    }

    /// Lets time pass, at least until somebody can run.
    fn pass_time(&mut self, ns: u64) {
        self.now_ns += ns;
        if self.now_ns >= self.earliest_ns {
            let now_ns = self.now_ns;
            self.return_those(|until_ns| until_ns <= now_ns);
        }
        if !self.ready.is_empty() || self.workers.iter().all(|worker| worker.state == State::Ended) {
            return;
        }
        if !self.has_changed {
            // All have looked since the last change: only time can help.
            if self.earliest_ns == u64::MAX {
                self.vain_rounds += 1;
                if self.vain_rounds > VAIN_ROUNDS_MAX {
                    self.vain_rounds = 0;
                    panic!("a deadlock, all workers wait and nothing changes: {}", self.describe());
                }
                self.now_ns += IDLE_NS;
            } else {
                self.now_ns = self.now_ns.max(self.earliest_ns);
            }
        }
        self.has_changed = false;
        self.return_those(|_| true);
    }

    /// Makes those aside ready whose moment satisfies `is_due`.
    fn return_those(&mut self, is_due: impl Fn(u64) -> bool) {
        if self.ready.len() == self.workers.len() {
            return;
        }
        self.earliest_ns = u64::MAX;
        for (number, worker) in self.workers.iter_mut().enumerate() {
            if let State::Aside { until_ns } = worker.state {
                if is_due(until_ns) {
                    worker.state = State::Ready;
                    self.ready.push(number);
                } else {
                    self.earliest_ns = self.earliest_ns.min(until_ns);
                }
            }
        }
    }

    /// What each worker last did.
    fn describe(&self) -> String {
        let describe = |(number, worker): (usize, &Worker)| match worker.state {
            State::Ended => format!("worker {number} has ended"),
            _ => format!("worker {number} at {:?}", worker.last),
        };
        self.workers.iter().enumerate().map(describe).collect::<Vec<_>>().join(", ")
    }
}
