//! The rules that all strategies share: which worker can run, virtual time, the bound, fairness, and the trace.

pub(crate) mod bounded;
pub(crate) mod changes;
pub(crate) mod chooser;
pub(crate) mod clocks;
pub(crate) mod pct;
pub(crate) mod random;
pub(crate) mod replay;
pub(crate) mod steered;

use sync_sim::hook::Access;

use crate::{Cause, Trace};

/// The virtual time of a step, in nanoseconds: about that of a cache miss to another core.
const STEP_NS: u64 = 50;

/// The virtual time, in nanoseconds, that passes when all workers wait, none of them until a moment.
const IDLE_NS: u64 = 1_000;

/// The number of consecutive rounds in which all workers may look in vain for what they wait for, with time passing in
/// between, before that counts as a deadlock.
const VAIN_ROUNDS_MAX: u64 = 1_000;

/// The number of consecutive steps, each of which could be interrupted, after which a worker counts as overdue, like a
/// worker that steps aside: it may be retrying in vain an operation that only another worker can make possible. A small
/// transaction has far fewer steps.
const PATIENCE_STEPS: u32 = 1_000;

/// The turns of the workers of one exploration.
///
/// A worker that is idle (spins, yields, waits) steps aside until another worker writes, until its moment comes, or
/// until no other worker can run. So a schedule is not filled with looks in vain, and a worker that waits for a worker
/// that the scheduler has left standing does not wait for ever.
#[derive(Debug)]
pub(crate) struct Turns {
    workers: Vec<Worker>,
    running: usize,
    /// The workers that can run, in an arbitrary but deterministic order.
    ready: Vec<usize>,
    /// The earliest moment for which a worker that is aside waits.
    earliest_ns: u64,
    now_ns: u64,
    /// Whether any worker has written since all workers were last aside.
    has_changed: bool,
    vain_rounds: u64,
    steps: u64,
    steps_max: u64,
    choices: u64,
    hash: u64,
    /// Whether the running worker could make another step, if it were chosen.
    goes_on: bool,
    /// The number of consecutive steps of the running worker at which another worker could have run.
    streak: u32,
    /// Whether all workers have looked since the last change, and none waits for a moment: another look sees the same.
    is_quiet: bool,
    /// Why the exploration was given up, if it was, with the state of the workers.
    given_up: Option<(Cause, String)>,
}

#[derive(Debug, Clone, Copy)]
struct Worker {
    last: Access,
    state: State,
    /// The workers that have run since this worker last stepped aside, one bit each.
    others_ran: u64,
    /// The workers that must run before this worker in a fair schedule, one bit each.
    behind: u64,
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
            choices: 0,
            goes_on: false,
            streak: 0,
            is_quiet: false,
            given_up: None,
            // The offset basis of FNV-1a.
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }

    pub(crate) fn begin(&mut self, count: usize) {
        let worker = Worker { last: Access::Pause, state: State::Ready, others_ran: 0, behind: 0 };
        self.workers.clear();
        self.workers.resize(count, worker);
        self.ready.clear();
        self.ready.extend(0..count);
        // No worker yet; the next in the circle is worker 0.
        self.running = count;
        self.earliest_ns = u64::MAX;
        self.has_changed = true;
        self.vain_rounds = 0;
        (self.goes_on, self.streak, self.is_quiet) = (false, 0, false);
    }

    /// The number of workers, ended ones included.
    pub(crate) fn count(&self) -> usize {
        self.workers.len()
    }

    /// The workers among which to choose: not empty before all have ended.
    pub(crate) fn ready(&self) -> &[usize] {
        &self.ready
    }

    /// The worker that made the last step.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// The kind of the step that the running worker has made; `None` before the first step and when it has ended.
    pub(crate) fn last(&self) -> Option<Access> {
        let running = self.workers.get(self.running)?;
        (running.state != State::Ended).then_some(running.last)
    }

    /// Whether the running worker could make another step now: the choice of another worker preempts it.
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Whether all workers look in vain for what they wait for: their order makes no difference.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Whether the running worker is about to execute a fence, which changes nothing where all steps are sequentially
    /// consistent.
    pub(crate) fn is_at_fence(&self) -> bool {
        self.goes_on && self.workers[self.running].last == Access::Fence
    }

    /// Whether the choice of `next` continues the run of the running worker, as a schedule counts runs.
    #[inline]
    pub(crate) fn is_continued_by(&self, next: usize) -> bool {
        next == self.running && (self.goes_on || self.ready == [next])
    }

    /// The plainest choice: the running worker if it goes on, or else the next in the circle.
    pub(crate) fn plainest(&self) -> usize {
        if self.goes_on {
            return self.running;
        }
        self.ready.iter().copied().min_by_key(|&worker| self.distance(worker)).expect("somebody is ready")
    }

    /// The distance of a worker from the running worker in the circle.
    pub(crate) fn distance(&self, worker: usize) -> usize {
        if worker > self.running { worker - self.running } else { worker + self.count() - self.running }
    }

    /// The workers among which a fair schedule chooses: a worker that stepped aside twice while another could have run
    /// lets that other worker run first (Musuvathi and Qadeer, Fair stateless model checking, PLDI 2008).
    pub(crate) fn fair(&self) -> impl Iterator<Item = usize> + Clone {
        let ready = self.ready_bits();
        let is_fair = move |worker: &usize| self.workers[*worker].behind & ready == 0;
        // If workers wait for each other's turn, all of them may be chosen.
        let is_any = self.ready.iter().any(is_fair);
        self.ready.iter().copied().filter(move |worker| !is_any || is_fair(worker))
    }

    #[inline]
    pub(crate) fn run(&mut self, worker: usize) -> usize {
        let is_choice = self.ready.len() > 1;
        self.choices += u64::from(is_choice);
        if worker == self.running && self.goes_on {
            self.streak += u32::from(is_choice);
        } else {
            self.streak = 0;
            self.running = worker;
            for other in &mut self.workers {
                other.others_ran |= bit(worker);
                other.behind &= !bit(worker);
            }
        }
        worker
    }

    /// Counts a step of the running worker.
    pub(crate) fn step(&mut self, access: Access) {
        self.count_step(access);
        self.workers[self.running].last = access;
        self.goes_on = !access.is_idle();
        match access {
            Access::Load | Access::Fence => {}
            Access::Store | Access::Update => self.change(),
            Access::Pause | Access::Yield { .. } => self.step_aside(u64::MAX),
            Access::Wait { until_ns } => self.step_aside(until_ns.unwrap_or(u64::MAX)),
        }
        if self.streak >= PATIENCE_STEPS {
            self.goes_on = false;
            self.workers[self.running].behind = self.ready_bits() & !bit(self.running);
        }
        self.pass_time(STEP_NS);
    }

    /// Ends the running worker.
    pub(crate) fn end(&mut self) {
        self.ready.retain(|&worker| worker != self.running);
        self.workers[self.running].state = State::Ended;
        self.goes_on = false;
        self.change();
        self.pass_time(0);
    }

    /// Reads the clock, which advances with every read.
    pub(crate) fn read_clock(&mut self) -> u64 {
        self.now_ns += 1;
        self.now_ns
    }

    pub(crate) fn trace(&self) -> Trace {
        Trace { steps: self.steps, choices: self.choices, hash: self.hash }
    }

    /// The reason for which the exploration was given up, if it was.
    pub(crate) fn given_up(&self) -> Option<&(Cause, String)> {
        self.given_up.as_ref()
    }

    /// Gives the exploration up: no worker may be chosen any more.
    #[cold]
    fn give_up(&mut self, cause: Cause) {
        let says = match cause {
            Cause::Panic => unreachable!("workers panic, and turns do not"),
            Cause::Deadlock => "a deadlock, all workers wait and nothing changes",
            Cause::Endless => "no end in sight, a livelock or a bound that is too low",
        };
        let says = format!("{says}: {}", self.describe());
        self.given_up.get_or_insert((cause, says));
    }

    fn count_step(&mut self, access: Access) {
        let kind = match access {
            Access::Load => 0,
            Access::Store => 1,
            Access::Update => 2,
            Access::Fence => 3,
            Access::Pause | Access::Yield { .. } => 4,
            Access::Wait { .. } => 5,
        };
        for value in [self.running as u64, kind] {
            // The prime of FNV-1a.
            self.hash = (self.hash ^ value).wrapping_mul(0x0100_0000_01b3);
        }
        self.steps += 1;
        if self.steps >= self.steps_max {
            self.give_up(Cause::Endless);
        }
    }

    fn change(&mut self) {
        self.has_changed = true;
        self.is_quiet = false;
        self.vain_rounds = 0;
        self.return_those(|_| true);
    }

    fn step_aside(&mut self, until_ns: u64) {
        self.ready.retain(|&worker| worker != self.running);
        let ready = self.ready_bits();
        let worker = &mut self.workers[self.running];
        worker.behind |= ready & !worker.others_ran;
        worker.others_ran = 0;
        worker.state = State::Aside { until_ns };
        self.earliest_ns = self.earliest_ns.min(until_ns);
    }

    fn ready_bits(&self) -> u64 {
        self.ready.iter().fold(0, |bits, &worker| bits | bit(worker))
    }

    /// Lets time pass, at least until a worker can run.
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
                    self.give_up(Cause::Deadlock);
                }
                self.now_ns += IDLE_NS;
            } else {
                self.now_ns = self.now_ns.max(self.earliest_ns);
            }
        }
        self.is_quiet = !self.has_changed && self.earliest_ns == u64::MAX;
        self.has_changed = false;
        self.return_those(|_| true);
    }

    /// Makes the workers ready that are aside and whose moment satisfies `is_due`.
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

    /// The text of each worker's last access.
    fn describe(&self) -> String {
        let describe = |(number, worker): (usize, &Worker)| match worker.state {
            State::Ended => format!("worker {number} has ended"),
            _ => format!("worker {number} at {:?}", worker.last),
        };
        self.workers.iter().enumerate().map(describe).collect::<Vec<_>>().join(", ")
    }
}

/// The bit of a worker. Workers beyond 64 have no bit, and fairness does not apply to them.
#[inline]
fn bit(worker: usize) -> u64 {
    1_u64.checked_shl(worker as u32).unwrap_or(0)
}
