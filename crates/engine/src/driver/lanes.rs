//! Lanes: the execution of requests on other workers than those of their clients, for [reordering](super::Reorder).
//!
//! The clients of a worker gather their requests in a batch. It is closed when it is full, or when the worker has
//! nothing else to do, so that nobody waits for a batch that does not fill. Then its pieces are
//! [placed](super::placement) in the queues of workers. A *lane* is a fiber with a session: it takes a piece from its
//! worker's queue and executes the requests one after the other. A lane that waits in an attempt gives its worker to
//! another lane. A request whose attempt was aborted comes back to its client, which sends it again, alone, when its
//! pause is over.
//!
//! A request is one box, which moves from its client to the batch, to a queue, to a lane, and back. One *porter* a
//! worker looks for what other threads have sent, so that clients and lanes wait without being looked at.

use core::cell::RefCell;
use std::collections::VecDeque;

use sync::atomic::{AtomicU64, Ordering};
use sync::fiber::FiberQueue;
use sync::{Latched, Padded, clock, waiter};

use super::placement::{Placement, Placer};
use super::{Control, Job, Part, Reorder, pay};
use crate::meter::Meter;
use crate::{Abort, Call, Footprint, Homes, Observe, Scheme, Scratch, Session, Ticket};

/// A request on its way.
#[derive(Debug)]
pub(super) struct Task {
    client: u32,
    pub(super) call: Call,
    pub(super) ticket: Ticket,
    pub(super) meter: Meter,
    pub(super) footprint: Footprint,
    /// The end of its last attempt.
    result: Result<(), Abort>,
    /// Whether it belongs to the piece of the task before it in a queue.
    continues: bool,
}

impl Task {
    pub(super) fn new(client: u32, call: Call) -> Box<Self> {
        Box::new(Self {
            client,
            call,
            ticket: Ticket::new(0, Homes::new()),
            meter: Meter::default(),
            footprint: Footprint::default(),
            result: Ok(()),
            continues: false,
        })
    }
}

/// State that the workers of a run share.
#[derive(Debug)]
pub(super) struct Lanes {
    placement: Placement,
    batch_max: usize,
    workers: Box<[Padded<Queues>]>,
    /// The number of clients that have not ended.
    clients: Padded<AtomicU64>,
    /// 1 once a worker has panicked: the requests that it had are lost.
    is_broken: AtomicU64,
}

/// The requests that others have sent to a worker.
#[derive(Debug, Default)]
struct Queues {
    to_execute: Latched<VecDeque<Box<Task>>>,
    answers: Latched<Vec<Box<Task>>>,
    /// The lengths of both, for a porter that does not hold the latches.
    waiting: AtomicU64,
    answered: AtomicU64,
}

impl Lanes {
    pub(super) fn new(job: &Job, reorder: Reorder) -> Self {
        Self {
            placement: Placement::new(reorder, job.workers),
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

/// A client that has not ended, or a fiber of its worker that was lost in a panic.
pub(super) struct Present<'s> {
    lanes: &'s Lanes,
    control: &'s Control,
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Relaxed, here and below: see `is_broken` and `is_over`.
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
    batch: RefCell<Vec<Box<Task>>>,
    /// The tasks of a piece on their way into a queue.
    placed: RefCell<Vec<Option<Box<Task>>>>,
    placer: RefCell<Placer<'s>>,
    /// By client of this worker.
    seats: Box<[Seat]>,
    /// The lanes that have nothing to do.
    free: FiberQueue,
}

/// Where a client waits for its task.
#[derive(Default)]
struct Seat {
    line: FiberQueue,
    task: RefCell<Option<Box<Task>>>,
}

impl<'s> Hall<'s> {
    /// Makes the part of a worker with this many clients.
    pub(super) fn new(lanes: &'s Lanes, worker: usize, clients: usize) -> Self {
        let placer = RefCell::new(Placer::new(&lanes.placement, worker));
        let seats = (0..clients).map(|_| Seat::default()).collect();
        let (workers, batch_max) = (lanes.workers.len(), lanes.batch_max.min(clients));
        let (batch, placed) = (RefCell::default(), RefCell::default());
        Self { lanes, worker, workers, batch_max, batch, placed, placer, seats, free: FiberQueue::default() }
    }

    /// Announces a client. It is present until the result is dropped.
    pub(super) fn enter(&self, control: &'s Control) -> Present<'s> {
        Present { lanes: self.lanes, control }
    }

    fn own(&self) -> &Queues {
        &self.lanes.workers[self.worker]
    }

    /// Has a lane execute an attempt of the task's request, and returns the task with the end of the attempt. `None`
    /// if a worker has panicked.
    pub(super) fn execute(&self, mut task: Box<Task>) -> Option<(Box<Task>, Result<(), Abort>)> {
        let seat = &self.seats[task.client as usize / self.workers];
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
            let worker = self.placer.borrow_mut().place_again(&task.footprint);
            task.continues = false;
            self.give(worker, core::iter::once(task));
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
        for (worker, piece) in placer.placed() {
            let tasks = piece.iter().enumerate().map(|(nth, at)| {
                let mut task = tasks[*at as usize].take().expect("a request is in one piece");
                task.continues = nth > 0;
                task
            });
            self.give(worker, tasks);
        }
        tasks.clear();
    }

    /// Puts the requests of a piece into a worker's queue.
    fn give(&self, worker: usize, piece: impl Iterator<Item = Box<Task>>) {
        let queues = &self.lanes.workers[worker];
        let mut waiting = queues.to_execute.lock();
        waiting.extend(piece);
        queues.waiting.store(waiting.len() as u64, Ordering::Relaxed); // Relaxed: a hint; the latch orders the rest.
        drop(waiting);
        if worker == self.worker {
            self.free.call();
        }
    }

    /// Takes the first piece out of the worker's queue.
    fn take(&self, piece: &mut VecDeque<Box<Task>>) -> bool {
        let queues = self.own();
        // Relaxed: a hint; what other threads put in meanwhile is seen by the porter.
        if queues.waiting.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut waiting = queues.to_execute.lock();
        while waiting.front().is_some_and(|task| piece.is_empty() || task.continues) {
            piece.extend(waiting.pop_front());
        }
        queues.waiting.store(waiting.len() as u64, Ordering::Relaxed); // Relaxed: a hint.
        !piece.is_empty()
    }

    /// Gives an executed task back to its client.
    fn answer(&self, task: Box<Task>) {
        let home = task.client as usize % self.workers;
        if home == self.worker {
            self.hand_over(task);
            return;
        }
        let queues = &self.lanes.workers[home];
        let mut answers = queues.answers.lock();
        answers.push(task);
        queues.answered.store(answers.len() as u64, Ordering::Relaxed); // Relaxed: a hint.
    }

    /// Calls the client of a task, which is one of this worker's.
    fn hand_over(&self, task: Box<Task>) {
        let seat = &self.seats[task.client as usize / self.workers];
        *seat.task.borrow_mut() = Some(task);
        seat.line.call();
    }

    /// Executes one piece after the other until the run is over.
    pub(super) fn serve<S: Scheme, V: Observe>(&self, part: Part<'_, S, V>) {
        let mut lane = Lane { part, session: part.session(), scratch: part.program.scratch() };
        let mut piece = VecDeque::new();
        while !self.lanes.is_over() {
            while self.take(&mut piece) {
                while let Some(mut task) = piece.pop_front() {
                    let began = clock::ticks();
                    task.result = lane.attempt(&mut task);
                    let took_ns = clock::ticks_to_ns(clock::ticks().wrapping_sub(began));
                    self.lanes.placement.ended(self.worker, took_ns);
                    self.answer(task);
                    // The client sends its next request, and lanes go on that have waited in an attempt.
                    waiter::give_way();
                }
            }
            if !self.lanes.is_over() {
                self.free.stand();
            }
        }
    }

    /// Fetches what other workers send, closes batches that nobody else closes, and wakes lanes, until the run is over.
    pub(super) fn carry(&self) {
        let queues = self.own();
        // Relaxed, in both looks: hints, which the latches of the queues order.
        let is_answered = || queues.answered.load(Ordering::Relaxed) > 0;
        let is_waiting = || queues.waiting.load(Ordering::Relaxed) > 0 && !self.free.is_empty();
        let mut answers = Vec::new();
        while !self.lanes.is_over() {
            let mut is_due = false;
            waiter::gather_until(None, || {
                is_due = waiter::is_idle() && !self.batch.borrow().is_empty();
                is_due || is_answered() || is_waiting() || self.lanes.is_over()
            });
            if is_answered() {
                let mut sent = queues.answers.lock();
                core::mem::swap(&mut *sent, &mut answers);
                queues.answered.store(0, Ordering::Relaxed); // Relaxed: as above.
                drop(sent);
                answers.drain(..).for_each(|task| self.hand_over(task));
            }
            if is_due {
                self.close();
            } else if is_waiting() {
                self.free.call();
            }
            waiter::give_way();
        }
        while self.free.call() {}
        self.seats.iter().for_each(|seat| while seat.line.call() {});
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
