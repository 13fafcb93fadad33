//! Time: a scheduler that always runs the worker whose virtual time is the least, over a model of caches.
//!
//! Each worker of the stepped build is a hardware thread of the simulated machine. Its clock advances with the
//! instructions that it executes and with the time that its accesses take. The scheduler lets each access happen in
//! the order of these clocks, so that a run is a function of its inputs and of what shares a cache line in its memory
//! ([`sync_sim::heap`]), to the last picosecond.
//!
//! A worker that looks in vain at something (it spins, yields or waits) is parked at the lines that it has loaded
//! since it last waited, and goes on when one of them is written. So a spinning worker costs the simulation nothing.

mod arrivals;
mod caches;
mod lines;
mod parked;
mod tags;
mod turns;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use sync_sim::hook::{self, Access, NOBODY, Scheduler};
use sync_sim::host;

pub use caches::Spent;
use caches::{Caches, Cost, Seat, Wish};
use lines::{Homes, SeenLine};
use parked::Parked;
use tags::LineId;
use turns::Turns;

use crate::Installed;
use crate::machine::{Machine, MemoryPolicy, Placement};

/// The version of the rules of this module, for the digest of a machine. A change after which the same run takes
/// another simulated time needs another version: results of different rules must not count as results of one machine.
pub(crate) const TIMING_RULES: u32 = 6;

/// Instructions that a worker executes for an access to shared words: those of the access, and those around it that
/// have no charge of their own ([`Scheduler::compute`]). Fitted, together with these charges, to the instructions that
/// cachegrind counts for a transaction of every scheme (`docs/performance.md`).
fn instructions(access: Access, bytes: usize) -> u64 {
    let each = match access {
        Access::Load => 12,
        Access::Store => 14,
        Access::Update => 33,
        Access::Fence => 46,
        Access::Pause | Access::Yield { .. } | Access::Wait { .. } => 0,
    };
    let words = if bytes > size_of::<u64>() { (bytes / size_of::<u64>()) as u64 } else { 0 };
    each + words * INSTRUCTIONS_PER_COPIED_WORD
}

/// Instructions that copy a word, beyond those of an access.
const INSTRUCTIONS_PER_COPIED_WORD: u64 = 2;

/// The maximum number of lines that a worker watches.
const WATCHED_MAX: usize = parked::LINES_MAX;

/// Pauses between two looks of a worker that has looked in vain for a while: so many a native thread makes, or it
/// yields for about as long.
const LOOK_PAUSES_MAX: u64 = 32;

/// The longest time, in picoseconds, for which a worker is parked without a moment until which it waits: then it looks
/// again, because its condition may depend on something that is no shared word.
const PARKED_MAX_PS: u64 = 100_000_000;

/// Schedules workers by virtual time. See the module.
#[derive(Debug)]
pub struct Timed {
    state: RefCell<State>,
    /// Whether time passes: not while rows are loaded.
    is_on: Cell<bool>,
}

#[derive(Debug)]
struct State {
    caches: Caches,
    machine: Machine,
    /// The seats of the workers that are hardware threads. Further workers observe, and their accesses take no time.
    seats: Vec<Seat>,
    workers: Vec<Worker>,
    /// By worker.
    needs: Vec<Needs>,
    running: usize,
    turns: Turns,
    parked: Parked,
    lookahead_ps: u64,
    counts: TimedCounts,
    /// The workers that have not ended.
    left: usize,
    stuck: Option<StuckWorkers>,
}

/// Workers that wait for each other for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StuckWorkers {
    /// The number of workers that have not ended.
    pub workers: usize,
    /// The address of the cache line at which most of them look, and their number.
    pub line: Option<(usize, usize)>,
}

/// Counts of a simulation.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimedCounts {
    /// Accesses to shared words, or copies.
    pub accesses: u64,
    /// The times that another worker went on.
    pub switches: u64,
    /// The times that a worker was parked.
    pub parks: u64,
    /// The times that a parked worker went on because its time was over.
    pub timeouts: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    access: Access,
    address: usize,
    bytes: usize,
}

/// The memory that the host needs when a worker's turn comes.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    /// The first line of its pending access, if the line has a number.
    line: Option<LineId>,
    /// The address of this access.
    address: usize,
    /// An address on its stack, close to where the worker goes on.
    stack: usize,
}

/// Bytes of a line of the host.
const HOST_LINE: usize = 64;

/// Lines of the host that are asked for of a worker and of its stack: those that an access uses.
const HOST_LINES: usize = 4;

/// A worker. The fields that each access needs come first.
#[derive(Debug)]
#[repr(C, align(64))]
struct Worker {
    clock: u64,
    /// The access that the worker makes when its turn comes.
    pending: Option<Pending>,
    seat: Option<Seat>,
    /// Picoseconds of an instruction, with the threads that share its core.
    instruction_ps: u64,
    /// The time at which all its stores are visible, and the cost of the one that takes until then.
    drained_at: u64,
    /// The number of the lines that it has loaded since it last waited; more than there is room for if there were too
    /// many.
    watched_len: usize,
    /// Their number when it last waited.
    waited_len: usize,
    /// The lines, as it saw them.
    watched: [(LineId, SeenLine); WATCHED_MAX],
    has_ended: bool,
    has_read_clock: bool,
    /// Picoseconds between two of its looks at what it waits for; and the time of a look.
    look_every: u64,
    looked_at: u64,
    drained_by: Cost,
}

impl Timed {
    /// A scheduler of so many workers on a machine; further workers only observe.
    pub fn new(machine: &Machine, placement: Placement, workers: usize, lookahead_ps: u64) -> Self {
        let seats = seats(machine, placement, workers);
        let state = State {
            caches: Caches::new(machine, homes(machine, &seats, MemoryPolicy::Interleaved)),
            seats,
            machine: machine.clone(),
            workers: Vec::new(),
            needs: Vec::new(),
            running: 0,
            turns: Turns::new(0),
            parked: Parked::default(),
            lookahead_ps,
            counts: TimedCounts::default(),
            left: 0,
            stuck: None,
        };
        Self { state: RefCell::new(state), is_on: Cell::new(false) }
    }

    /// The same scheduler, with memory under another policy than [`MemoryPolicy::Interleaved`].
    ///
    /// # Panics
    /// When the machine has no sockets at the policy's distance.
    #[must_use]
    pub fn with_memory(mut self, policy: MemoryPolicy) -> Self {
        let State { caches, machine, seats, .. } = self.state.get_mut();
        *caches = Caches::new(machine, homes(machine, seats, policy));
        self
    }

    /// Runs `body`, whose calls of [`sync_sim::workers::run`] run under this scheduler.
    pub fn run<R>(self: &Rc<Self>, body: impl FnOnce() -> R) -> R {
        let _installed = Installed(hook::install(Some(Rc::clone(self) as Rc<dyn Scheduler>)));
        body()
    }

    /// From the next call of [`sync_sim::workers::run`] on, time passes. Before, workers run one after the other, for
    /// instance to load rows.
    pub fn start(&self) {
        self.is_on.set(true);
    }

    /// The addresses of the cache lines for which threads have waited longest because other cores had them, and the
    /// picoseconds that they have waited, all together.
    pub fn hottest(&self, count: usize) -> Vec<(usize, u64)> {
        self.state.borrow().caches.lines.hottest(count)
    }

    /// The workers that waited for each other for ever, if the last call of [`sync_sim::workers::run`] was given up for
    /// that.
    pub fn stuck(&self) -> Option<StuckWorkers> {
        self.state.borrow().stuck
    }

    /// The counts so far.
    pub fn counts(&self) -> (TimedCounts, Spent) {
        let state = self.state.borrow();
        (state.counts, state.caches.spent())
    }
}

impl Scheduler for Timed {
    fn begin(&self, count: usize) -> usize {
        self.state.borrow_mut().begin(count)
    }

    fn step(&self, access: Access, address: usize, bytes: usize, stack: usize) -> usize {
        let state = &mut *self.state.borrow_mut();
        if !self.is_on.get() {
            return state.step_untimed(access);
        }
        state.step(Pending { access, address, bytes }, stack)
    }

    fn end(&self) -> Option<usize> {
        let state = &mut *self.state.borrow_mut();
        state.left -= 1;
        state.workers[state.running].has_ended = true;
        state.next()
    }

    fn reason(&self) -> String {
        let left = self.state.borrow().stuck.map_or(0, |stuck| stuck.workers);
        format!("a livelock: {left} workers have not ended in time")
    }

    fn now_ns(&self) -> u64 {
        let state = &mut *self.state.borrow_mut();
        let ps = state.machine.core.clock_ps;
        let Some(worker) = state.workers.get_mut(state.running) else { return 0 };
        worker.clock += if worker.seat.is_some() { ps } else { 1_000 };
        worker.has_read_clock = true;
        worker.clock / 1_000
    }

    fn copies_whole(&self) -> bool {
        true
    }

    fn prefetch(&self, address: usize, for_write: bool) {
        if self.is_on.get() {
            self.state.borrow_mut().prefetch(address, for_write);
        }
    }

    fn compute(&self, instructions: u64) {
        if self.is_on.get() {
            self.state.borrow_mut().compute(instructions);
        }
    }

    fn measure(&self, is_on: bool) {
        self.state.borrow_mut().caches.measure(is_on);
    }

    fn end_within(&self, ns: u64) {
        let state = &mut *self.state.borrow_mut();
        let at = state.workers[state.running].clock.saturating_add(ns.saturating_mul(1_000));
        // Before the turns of all who wait for longer than a turn can tell: they would wait for ever.
        state.turns.set(state.workers.len(), at.min(state.turns.latest() - 1));
    }

    fn drain(&self) {
        let state = &mut *self.state.borrow_mut();
        state.drain(state.running);
        state.workers[state.running].clock += state.machine.core.fence_ps;
    }
}

impl State {
    fn begin(&mut self, count: usize) -> usize {
        let speedup = &self.machine.core.smt_speedup;
        let instruction_ps = self.machine.core.instruction_ps;
        let mut threads = vec![0_usize; self.machine.topology.cores() as usize];
        self.seats.iter().for_each(|seat| threads[usize::from(seat.core)] += 1);
        let worker = |number: usize| {
            let seat = self.seats.get(number).copied();
            let sharing = seat.map_or(1, |seat| threads[usize::from(seat.core)]);
            let ps = instruction_ps as f64 * sharing as f64 / speedup[sharing - 1];
            Worker {
                seat,
                clock: 0,
                pending: None,
                drained_at: 0,
                drained_by: Cost::default(),
                watched: [(0, SeenLine::default()); WATCHED_MAX],
                watched_len: 0,
                waited_len: 0,
                has_ended: false,
                has_read_clock: false,
                look_every: 1,
                looked_at: 0,
                instruction_ps: ps as u64,
            }
        };
        self.workers = (0..count).map(worker).collect();
        self.needs = vec![Needs::default(); count];
        // One turn more, of nobody, for the moment at which all are to have ended.
        self.turns = Turns::new(count + 1);
        (self.left, self.stuck) = (count, None);
        self.parked = Parked::new(count);
        for worker in 0..count {
            self.turns.set(worker, 0);
        }
        self.next().expect("there are workers")
    }

    /// While no time passes, a worker runs until it waits.
    fn step_untimed(&mut self, access: Access) -> usize {
        if !access.is_idle() {
            return self.running;
        }
        let later = self.workers[self.running].clock + 1_000_000;
        self.workers[self.running].clock = later;
        self.turns.set(self.running, later);
        self.next().expect("the running worker can go on")
    }

    #[inline]
    fn step(&mut self, pending: Pending, stack: usize) -> usize {
        if pending.access == Access::Pause {
            self.pause();
            return self.next().expect("the running worker can go on");
        }
        if pending.access.is_idle() {
            return self.wait(pending.access);
        }
        self.counts.accesses += 1;
        let worker = &mut self.workers[self.running];
        if worker.seat.is_some() {
            worker.clock += instructions(pending.access, pending.bytes) * worker.instruction_ps;
        }
        let clock = worker.clock;
        worker.pending = Some(pending);
        if self.turns.is_first(self.running, clock.saturating_sub(self.lookahead_ps)) {
            self.perform(self.running);
            return self.running;
        }
        let Pending { address, .. } = pending;
        self.needs[self.running] = Needs { line: self.caches.lines.known(address), address, stack };
        self.turns.set(self.running, clock);
        self.next().expect("the running worker can go on")
    }

    /// Asks the host for the memory that the worker needs whose turn is next, while another one runs: with a thousand
    /// workers the caches of the host have lost it since the worker's last turn.
    #[inline]
    fn ask_ahead(&self) {
        let Some(number) = self.turns.first() else { return };
        let (Some(needs), Some(worker)) = (self.needs.get(number), self.workers.get(number)) else { return };
        let of_worker = core::ptr::from_ref(worker).cast::<u8>();
        let at = core::ptr::without_provenance::<u8>;
        for line in 0..HOST_LINES {
            host::prefetch(of_worker.wrapping_add(line * HOST_LINE));
            // What the worker calls next is below its top, and what it returns to is above.
            host::prefetch(at(needs.stack.wrapping_sub(HOST_LINE)).wrapping_add(line * HOST_LINE));
        }
        host::prefetch(at(needs.address));
        if let (Some(seat), Some(line)) = (self.seats.get(number), needs.line) {
            self.caches.ask_ahead(*seat, line);
        }
    }

    /// Lets the worker run whose turn is next.
    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let (number, at) = self.turns.take()?;
        if number == self.workers.len() {
            self.stuck = Some(self.give_up());
            return Some(NOBODY);
        }
        let worker = &mut self.workers[number];
        if at > worker.clock {
            if worker.seat.is_some() {
                self.caches.has_paused(at - worker.clock);
            }
            worker.clock = at;
        }
        self.counts.timeouts += u64::from(self.parked.leave(number, &mut self.caches.lines));
        self.counts.switches += u64::from(self.running != number);
        self.running = number;
        self.ask_ahead();
        self.perform(number);
        Some(number)
    }

    /// Makes the pending access of a worker.
    #[inline]
    fn perform(&mut self, number: usize) {
        let Some(Pending { access, address, bytes }) = self.workers[number].pending.take() else { return };
        if address == 0 {
            return;
        }
        let is_write = matches!(access, Access::Store | Access::Update);
        let Some(seat) = self.workers[number].seat else {
            if is_write {
                let id = self.caches.lines.number(address, 0);
                let line = self.caches.lines.get(id);
                line.version = line.version.wrapping_add(1);
                line.writes = line.writes.wrapping_add(1);
                self.wake(id, self.workers[number].clock);
            }
            return;
        };
        if access == Access::Update {
            self.drain(number);
        }
        let wish = match access {
            Access::Store => Wish::Store,
            Access::Update => Wish::Update,
            _ => Wish::Read,
        };
        let line_bytes = self.machine.line_bytes as usize;
        let begin = self.workers[number].clock;
        let mut complete = begin;
        let mut at = begin;
        self.caches.cost = Cost::default();
        let (first, last) = (address / line_bytes, (address + bytes.max(1) - 1) / line_bytes);
        for nth in first..=last {
            let id = self.caches.lines.number(nth * line_bytes, seat.socket);
            let done = self.caches.access(seat, at, id, wish);
            // The lines of a copy are asked for one after the other and arrive side by side, as many as a core can
            // wait for.
            if done > at {
                at += self.caches.next_miss_ps.min(done - at);
            }
            complete = complete.max(done);
            if is_write {
                let line = self.caches.lines.get(id);
                line.writes = line.writes.wrapping_add(1);
                if !line.first_parked.is_nobody() {
                    self.wake(id, done);
                }
            } else if nth == first {
                let seen = self.caches.lines.seen(id);
                self.workers[number].watch(id, seen);
            }
        }
        let update_ps = self.machine.core.update_ps;
        let cost = self.caches.cost;
        if access != Access::Store {
            self.caches.has_waited(cost, complete - begin);
        }
        let worker = &mut self.workers[number];
        match access {
            Access::Store if complete > worker.drained_at => {
                (worker.drained_at, worker.drained_by) = (complete, cost);
            }
            Access::Store => {}
            Access::Update => worker.clock = complete + update_ps,
            _ => worker.clock = complete,
        }
    }

    /// Gives the workers up that have not ended, and says where they look.
    #[cold]
    fn give_up(&mut self) -> StuckWorkers {
        for worker in 0..self.workers.len() {
            self.parked.leave(worker, &mut self.caches.lines);
        }
        let mut lookers: BTreeMap<LineId, usize> = BTreeMap::new();
        for worker in self.workers.iter().filter(|worker| !worker.has_ended) {
            // Who does not wait right now looks at the same lines again. Who has loaded more lines than are noted may
            // look at others.
            let len = worker.watched_len.max(worker.waited_len);
            let lines: BTreeSet<LineId> = worker.watched.iter().take(len).map(|(line, _)| *line).collect();
            lines
                .iter()
                .filter(|_| len <= WATCHED_MAX)
                .for_each(|line| *lookers.entry(*line).or_default() += 1);
        }
        let most = lookers.into_iter().max_by_key(|&(line, lookers)| (lookers, Reverse(line)));
        let line = most.map(|(line, lookers)| (self.caches.lines.addresses(&[line])[0], lookers));
        StuckWorkers { workers: self.left, line }
    }

    /// A worker goes on only when all its stores are visible.
    fn drain(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        if worker.drained_at > worker.clock {
            self.caches.has_waited(worker.drained_by, worker.drained_at - worker.clock);
            worker.clock = worker.drained_at;
        }
    }

    /// The running worker's clock passes. Its next access waits for its turn by the new time.
    fn compute(&mut self, instructions: u64) {
        let worker = &mut self.workers[self.running];
        if worker.seat.is_some() {
            worker.clock += instructions * worker.instruction_ps;
        }
    }

    fn prefetch(&mut self, address: usize, for_write: bool) {
        let worker = &mut self.workers[self.running];
        let Some(seat) = worker.seat else { return };
        let at = worker.clock;
        let id = self.caches.lines.number(address, seat.socket);
        let wish = if for_write { Wish::Update } else { Wish::Read };
        self.caches.cost = Cost::default();
        let done = self.caches.access(seat, at, id, wish);
        if for_write && !self.caches.lines.get(id).first_parked.is_nobody() {
            self.wake(id, done);
        }
    }

    /// The running worker spins once.
    fn pause(&mut self) {
        let worker = &mut self.workers[self.running];
        let next = worker.clock + self.machine.core.pause_ps;
        self.turns.set(self.running, next);
    }

    /// The running worker looks in vain for something: it is parked, or looks again after a pause.
    fn wait(&mut self, access: Access) -> usize {
        let number = self.running;
        let until = match access {
            Access::Wait { until_ns: Some(until_ns) } => {
                Some(until_ns.saturating_mul(1_000).min(self.turns.latest()))
            }
            _ => None,
        };
        // Who looks in vain again and again looks less often: so not all who wait for a latch go for it at once.
        let looks = if let Access::Yield { looks } = access { looks } else { 0 };
        let pauses = 1_u64.checked_shl(looks).unwrap_or(LOOK_PAUSES_MAX).min(LOOK_PAUSES_MAX);
        let pause_ps = self.machine.core.pause_ps * pauses;
        let worker = &mut self.workers[number];
        let (len, has_read_clock) = (worker.watched_len, worker.has_read_clock);
        (worker.watched_len, worker.waited_len) = (0, len);
        worker.has_read_clock = false;
        let next = worker.clock + pause_ps;
        if len == 0 {
            // It waits for a moment alone.
            let until = until.unwrap_or(next).max(next);
            self.turns.set(number, until);
            return self.next().expect("somebody can go on");
        }
        let watched = worker.watched;
        let is_sure = len <= WATCHED_MAX && (!has_read_clock || until.is_some());
        let has_changed = |(id, seen): &(LineId, SeenLine)| self.caches.lines.seen(*id) != *seen;
        if !is_sure || watched[..len].iter().any(has_changed) {
            self.turns.set(number, next);
            return self.next().expect("somebody can go on");
        }
        self.counts.parks += 1;
        self.parked.park(number, watched[..len].iter().map(|(id, _)| *id), &mut self.caches.lines);
        let worker = &mut self.workers[number];
        worker.looked_at = worker.clock;
        worker.look_every = if looks > 0 { pause_ps.max(1) } else { 1 };
        let at = until.unwrap_or(u64::MAX).min(worker.clock + PARKED_MAX_PS).max(next);
        self.turns.set(number, at);
        self.next().expect("somebody can go on")
    }

    /// Lets the workers that are parked at a line go on at this time.
    #[cold]
    fn wake(&mut self, id: LineId, at: u64) {
        while let Some(number) = self.caches.lines.get(id).first_parked.worker() {
            self.parked.leave(number, &mut self.caches.lines);
            let worker = &self.workers[number];
            let waited = at.saturating_sub(worker.looked_at);
            self.turns.set(number, worker.looked_at + waited.next_multiple_of(worker.look_every));
        }
    }
}

impl Worker {
    /// Notes a line that the worker has loaded.
    #[inline]
    fn watch(&mut self, id: LineId, seen: SeenLine) {
        let len = self.watched_len;
        if len > WATCHED_MAX {
            return;
        }
        if let Some(known) = self.watched[..len].iter_mut().find(|(line, _)| *line == id) {
            known.1 = seen;
        } else {
            if len < WATCHED_MAX {
                self.watched[len] = (id, seen);
            }
            self.watched_len = len + 1;
        }
    }
}

/// The sockets in whose memory the pages of a program are.
fn homes(machine: &Machine, seats: &[Seat], policy: MemoryPolicy) -> Homes {
    let distance = match policy {
        MemoryPolicy::Interleaved => {
            let used: BTreeSet<u16> = seats.iter().map(|seat| seat.socket).collect();
            return Homes::Spread(used.into_iter().collect());
        }
        MemoryPolicy::Local => 0,
        MemoryPolicy::Distance(distance) => distance,
    };
    let partner = |socket| machine.topology.partner(socket, distance).expect("callers judge the distance");
    Homes::ByUser((0..machine.topology.sockets).map(|socket| partner(socket) as u16).collect())
}

/// The seats of the first workers of a program.
fn seats(machine: &Machine, placement: Placement, workers: usize) -> Vec<Seat> {
    let topology = &machine.topology;
    let seat = |thread: usize| {
        let place = topology.place(placement, thread as u32);
        let (core, group) = (topology.core_index(place), topology.group_index(place));
        Seat { core: core as u16, group: group as u16, socket: place.socket as u16 }
    };
    (0..workers).map(seat).collect()
}
