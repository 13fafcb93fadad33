//! Lanes: the execution of requests on other workers than those of their clients, for [reordering](super::Reorder).
//!
//! The clients of a worker gather their requests in a batch. It is closed when it is full, or when the worker has
//! nothing else to do, so that nobody waits for a batch that does not fill. Then its pieces are
//! [placed](super::placement) in *lanes*. A lane is a queue of a worker, and a fiber with a session that executes the
//! queue's requests one after the other. If it waits in an attempt, its worker goes on with another lane. A request
//! whose attempt was aborted comes back to its client, which sends it again, alone, when its pause is over.
//!
//! A request is one box, which moves from its client to the batch, to a lane, and back. One *porter* a worker looks for
//! what other threads have sent, so that clients and lanes wait without being looked at.

use core::cell::RefCell;
use std::collections::VecDeque;

use sync::atomic::{AtomicU64, Ordering};
use sync::fiber::FiberQueue;
use sync::{Latched, Padded, hint, waiter};

use super::placement::{Placement, Placer};
use super::{Control, Job, Part, Reorder, pay};
use crate::meter::Meter;
use crate::{Abort, Call, Homes, InputFootprint, Observe, Scheme, Scratch, Session, Ticket};

/// A request on its way.
#[derive(Debug)]
pub(super) struct Task {
    client: u32,
    pub(super) call: Call,
    pub(super) ticket: Ticket,
    pub(super) meter: Meter,
    pub(super) footprint: InputFootprint,
    /// The lane in which it was placed.
    lane: u32,
    /// Whether it is on its way back to its client.
    is_executed: bool,
    /// The end of its last attempt.
    result: Result<(), Abort>,
}

impl Task {
    pub(super) fn new(client: u32, call: Call) -> Box<Self> {
        Box::new(Self {
            client,
            call,
            ticket: Ticket::new(0, Homes::new()),
            meter: Meter::default(),
            footprint: InputFootprint::default(),
            lane: 0,
            is_executed: false,
            result: Ok(()),
        })
    }
}

/// A task moves by its pointer: its client has one for all of its requests.
type Parcel = Box<Task>;

/// State that the workers of a run share.
#[derive(Debug)]
pub(super) struct Lanes {
    placement: Placement,
    batch_max: usize,
    workers: Box<[Padded<Inbound>]>,
    /// The number of clients that have not ended.
    clients: Padded<AtomicU64>,
    /// 1 once a worker has panicked: the requests that it had are lost.
    is_broken: AtomicU64,
}

/// The requests that other threads have sent to a worker.
#[derive(Debug, Default)]
struct Inbound {
    /// Those that its lanes execute, and those of its own clients, which come back.
    tasks: Latched<Vec<Parcel>>,
    /// Their number, for a porter that does not hold the latch.
    waiting: AtomicU64,
}

impl Lanes {
    pub(super) fn new(job: &Job, reorder: Reorder) -> Self {
        Self {
            placement: Placement::new(reorder, job.workers, job.clients),
            batch_max: reorder.batch_max,
            workers: (0..job.workers).map(|_| Padded::default()).collect(),
            clients: Padded(AtomicU64::new(job.clients as u64)),
            is_broken: AtomicU64::new(0),
        }
    }

    /// Whether nothing is left to execute.
    fn is_over(&self) -> bool {
        // Relaxed: a client ends after its last answer, whose latch orders everything else.
        self.clients.load(Ordering::Relaxed) == 0 || self.is_broken()
    }

    fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed) == 1 // Relaxed: a flag that orders nothing else.
    }
}

/// A client that has not ended.
pub(super) struct Present<'s> {
    lanes: &'s Lanes,
    control: &'s Control,
    /// Whether the client is lost in a panic, unless it leaves.
    is_lost: bool,
}

impl Present<'_> {
    /// Ends the client.
    pub(super) fn leave(mut self) {
        self.is_lost = false;
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        // Relaxed, here and below: see `is_broken` and `is_over`.
        if self.is_lost {
            self.lanes.is_broken.store(1, Ordering::Relaxed);
            self.control.interrupt();
        }
        self.lanes.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One worker's part. All its fibers run on one thread.
pub(super) struct Hall<'s> {
    lanes: &'s Lanes,
    worker: usize,
    workers: usize,
    batch_max: usize,
    batch: RefCell<Vec<Parcel>>,
    /// The tasks of a batch that is being placed.
    placed: RefCell<Vec<Option<Parcel>>>,
    placer: RefCell<Placer<'s>>,
    /// By client of this worker.
    seats: Box<[Seat]>,
    /// The lanes of this worker: as many as it has clients.
    queues: Box<[Queue]>,
}

/// Where a client waits for its task.
#[derive(Default)]
struct Seat {
    line: FiberQueue,
    task: RefCell<Option<Parcel>>,
}

/// Where a lane waits for tasks.
#[derive(Default)]
struct Queue {
    line: FiberQueue,
    tasks: RefCell<VecDeque<Parcel>>,
}

impl<'s> Hall<'s> {
    /// Makes the part of a worker with this many clients.
    pub(super) fn new(lanes: &'s Lanes, worker: usize, clients: usize) -> Self {
        Self {
            lanes,
            worker,
            workers: lanes.workers.len(),
            batch_max: lanes.batch_max.min(clients),
            batch: RefCell::default(),
            placed: RefCell::default(),
            placer: RefCell::new(Placer::new(&lanes.placement, worker)),
            seats: (0..clients).map(|_| Seat::default()).collect(),
            queues: (0..clients).map(|_| Queue::default()).collect(),
        }
    }

    /// Announces a client. If the result is dropped before it [leaves](Present::leave), the run breaks off.
    pub(super) fn enter(&self, control: &'s Control) -> Present<'s> {
        Present { lanes: self.lanes, control, is_lost: true }
    }

    /// Has a lane execute an attempt of the task's request, and returns the task with the end of the attempt. `None`
    /// if a worker has panicked.
    pub(super) fn execute(&self, mut task: Parcel) -> Option<(Parcel, Result<(), Abort>)> {
        if self.lanes.is_broken() {
            return None;
        }
        let seat = &self.seats[task.client as usize / self.workers];
        task.is_executed = false;
        if task.ticket.retries == 0 {
            let is_full = {
                let batch = &mut *self.batch.borrow_mut();
                batch.push(task);
                batch.len() >= self.batch_max
            };
            if is_full {
                self.close();
            }
        } else {
            task.lane = self.placer.borrow_mut().place_again(&task.footprint);
            self.send(core::iter::once(task));
        }
        seat.line.stand();
        let task = seat.task.take()?;
        let result = task.result;
        Some((task, result))
    }

    /// Closes the batch and places its requests.
    fn close(&self) {
        let (tasks, mut placer) = (&mut *self.placed.borrow_mut(), self.placer.borrow_mut());
        tasks.extend(self.batch.borrow_mut().drain(..).map(Some));
        placer.place(tasks.len(), |at| &tasks[at as usize].as_ref().expect("no task has left yet").footprint);
        for (lane, piece) in placer.placed() {
            self.send(piece.iter().map(|at| {
                let mut task = tasks[*at as usize].take().expect("a request is in one piece");
                task.lane = lane;
                task
            }));
        }
        tasks.clear();
    }

    /// Sends the requests of a piece to their lane.
    fn send(&self, piece: impl Iterator<Item = Parcel>) {
        let mut piece = piece.peekable();
        let Some(first) = piece.peek() else { return };
        match self.lanes.placement.worker_of(first.lane) {
            own if own == self.worker => piece.for_each(|task| self.line_up(task)),
            other => self.lanes.workers[other].put(piece),
        }
    }

    /// Puts a task at the end of a lane of this worker.
    fn line_up(&self, task: Parcel) {
        let queue = &self.queues[task.lane as usize / self.workers];
        queue.tasks.borrow_mut().push_back(task);
        queue.line.call();
    }

    /// Gives an executed task back to its client.
    fn answer(&self, task: Parcel) {
        match task.client as usize % self.workers {
            own if own == self.worker => self.hand_over(task),
            other => self.lanes.workers[other].put(core::iter::once(task)),
        }
    }

    /// Hands a task to its client, which is one of this worker's.
    fn hand_over(&self, task: Parcel) {
        let seat = &self.seats[task.client as usize / self.workers];
        *seat.task.borrow_mut() = Some(task);
        seat.line.call();
    }

    /// Serves the `nth` lane of the worker until the run is over.
    pub(super) fn serve<S: Scheme, V: Observe>(&self, nth: usize, part: Part<'_, S, V>) {
        let mut lane = Lane { part, session: part.session(), scratch: part.program.scratch() };
        let queue = &self.queues[nth];
        while !self.lanes.is_over() {
            // A statement of its own: the queue is not borrowed while the task is executed.
            let next = queue.tasks.borrow_mut().pop_front();
            let Some(mut task) = next else {
                queue.line.stand();
                continue;
            };
            task.result = lane.attempt(&mut task);
            self.lanes.placement.ended(task.lane);
            task.is_executed = true;
            self.answer(task);
            if !queue.tasks.borrow().is_empty() {
                // The client sends its next request, and other lanes go on.
                waiter::give_way();
            }
        }
    }

    /// Fetches what other workers send, and closes batches that nobody else closes, until the run is over.
    pub(super) fn carry(&self) {
        let inbound = &*self.lanes.workers[self.worker];
        let mut tasks = Vec::new();
        while !self.lanes.is_over() {
            let mut is_due = false;
            waiter::gather_until(None, || {
                is_due = waiter::is_idle() && !self.batch.borrow().is_empty();
                is_due || !inbound.is_empty() || self.lanes.is_over()
            });
            inbound.take(&mut tasks);
            for task in tasks.drain(..) {
                if task.is_executed { self.hand_over(task) } else { self.line_up(task) }
            }
            if is_due {
                self.close();
            }
        }
        let lines =
            self.queues.iter().map(|queue| &queue.line).chain(self.seats.iter().map(|seat| &seat.line));
        lines.for_each(|line| _ = line.call());
    }
}

impl Inbound {
    fn put(&self, sent: impl Iterator<Item = Parcel>) {
        let mut tasks = self.tasks.lock();
        let before = tasks.len();
        tasks.extend(sent);
        hint::writes(&tasks[before..]);
        self.waiting.store(tasks.len() as u64, Ordering::Relaxed); // Relaxed: a hint; the latch orders the rest.
    }

    fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0 // Relaxed: a hint.
    }

    /// Exchanges the tasks for an empty list.
    fn take(&self, empty: &mut Vec<Parcel>) {
        if !self.is_empty() {
            let mut tasks = self.tasks.lock();
            core::mem::swap(&mut *tasks, empty);
            hint::reads(&empty[..]);
            self.waiting.store(0, Ordering::Relaxed); // Relaxed: a hint, under the latch.
        }
    }
}

/// A lane's session.
struct Lane<'r, S: Scheme, V: Observe> {
    part: Part<'r, S, V>,
    session: Session<'r, S, V::Observer, V::Sink>,
    scratch: Scratch,
}

impl<S: Scheme, V: Observe> Lane<'_, S, V> {
    /// Executes an attempt of a task's request. The meter of the client goes along with it.
    fn attempt(&mut self, task: &mut Task) -> Result<(), Abort> {
        core::mem::swap(self.session.meter(), &mut task.meter);
        let result = attempt(self.part, &mut self.session, &mut self.scratch, &task.ticket, &mut task.call);
        core::mem::swap(self.session.meter(), &mut task.meter);
        result
    }
}

/// Executes an attempt of a call, and makes the worker pay for an abort.
#[inline]
pub(super) fn attempt<S: Scheme, V: Observe>(
    part: Part<'_, S, V>,
    session: &mut Session<'_, S, V::Observer, V::Sink>,
    scratch: &mut Scratch,
    ticket: &Ticket,
    call: &mut Call,
) -> Result<(), Abort> {
    let Part { program, job, .. } = part;
    let result = session.attempt(ticket, |txn| {
        program.execute(call, scratch, txn)?;
        if job.pause_ns > 0 {
            txn.pause(job.pause_ns);
        }
        Ok(())
    });
    pay(job, &result, session.meter());
    result
}
