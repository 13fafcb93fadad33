//! The driver of schemes that fix the order of transactions before they execute them.
//!
//! A batch is a list of transactions, numbered from 1 in its order. It goes through these steps, and all workers meet
//! between one and the next:
//!
//! 1. Each worker finds the footprints of its clients' transactions, and declares them; nothing changes. A footprint
//!    that the input states is looked up, and any other is found by a rehearsal: the procedure is executed, and undone.
//! 2. Each worker does its share of planning the batch.
//! 3. Each worker executes the transactions of its clients, always the first that may run. A scheme may have some of
//!    them [executed by other workers](Planning::worker_of): all are then lent before the plan is made, and the worker
//!    that is to execute one takes it. Where the scheme wants several attempts of a worker to be open at a time, each
//!    is on a fiber: a transaction begins when those before it have ended or wait.
//! 4. One worker executes the transactions that aborted, because they touched something that they had not declared, in
//!    the order of their places: each alone. Skipped when there are none.
//!
//! So an attempt that waits in step 3 waits for transactions with smaller numbers, and the transaction with the
//! smallest number that has not ended has begun and waits for no other. The outcome of a batch is a function of its
//! inputs alone and not of the number of workers, as long as a transaction sees nothing of transactions with larger
//! numbers. So is that of a run, if the size of its batches does not follow from the number of workers.
//!
//! Data that workers hand over in one step is read in a later step: the barrier orders it, so every access may be
//! Relaxed. Rows that were found in step 1 stay in place until the batch has ended: each worker holds them.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

use sync::atomic::{AtomicU64, Ordering};
use sync::{Broken, Latched, Padded, clock, fiber, waiter};

use super::batch::{self, Alarm, Board, Client, Desk, Left, Request, has_rest, is_sampled, ticket};
use super::{Driver, Job, Part, Stage, Tally, is_aborted};
use crate::meter::Phase;
use crate::session::{Ahead, FoundRows};
use crate::{
    Abort, Database, InputFootprint, InsertAt, Ledger, Observe, Planning, Scratch, Session, Step, Ticket,
    Touch,
};

/// Instructions that plan a transaction, beyond its footprint and its locks.
const PLANNING_INSTRUCTIONS: u64 = 1_000;

/// Runs transactions in batches whose order is fixed before execution.
#[derive(Clone, Copy, Debug)]
pub enum Planned {}

impl<S: Planning> Driver<S> for Planned {
    type Shared<'r> = Shared<'r, S>;
    const INSERT: InsertAt = InsertAt::Install;
    const PLANS: bool = true;

    fn refuses(job: &Job) -> Option<&'static str> {
        batch::refuses(job)
    }

    /// A worker has a session that executes and a session that holds what rehearsals find, even if it has only one
    /// place of a batch.
    fn sessions(job: &Job) -> usize {
        job.clients.max(2 * job.workers)
    }

    fn shared<'r>(db: &'r Database<S>, job: &Job) -> Shared<'r, S> {
        let places = places_max(db.scheme(), job);
        Shared {
            plan: db.scheme().open(places, job.workers),
            board: Board::new(job, places),
            left_in: AtomicU64::new(0),
            left: (0..places).map(|_| Padded::default()).collect(),
            lent: (0..places).map(|_| Latched::default()).collect(),
            given_back: (0..places).map(|_| Latched::default()).collect(),
            found: (0..places).map(|_| Padded::default()).collect(),
        }
    }

    fn work<'r, V: Observe>(part: Part<'r, S, V>, shared: &Shared<'r, S>) -> (Tally, Ledger) {
        let scheme = part.db.scheme();
        let alarm = Alarm::new(&shared.board.barrier, || scheme.abandon());
        let bench = Bench::default();
        let mut worker = Worker::new(part, shared, &bench);
        let runners = runners(scheme, part.job);
        // If another worker has panicked, the run ends with that panic.
        if runners == 1 {
            _ = worker.serve();
        } else {
            let mut crew = fiber::Crew::new();
            crew.spawn(fiber::STACK_BYTES, || {
                _ = worker.serve();
                bench.is_over.set(true);
            });
            for _ in 1..runners {
                crew.spawn(fiber::STACK_BYTES, || Runner::new(part, shared).serve(&bench));
            }
            crew.run();
        }
        alarm.disarm();
        worker.close()
    }

    // Always: most callers name the kind of the touch, and then little of it is left.
    #[inline(always)]
    fn touch<'db>(scheme: &'db S, txn: &mut S::Txn<'db>, touch: Touch) -> Result<(), Abort> {
        scheme.touch(txn, touch)
    }

    #[inline]
    fn decided<'db>(scheme: &'db S, txn: &mut S::Txn<'db>) {
        scheme.decided(txn);
    }
}

/// The maximum number of open attempts of a worker. With the session that holds what rehearsals find, a worker has no
/// more sessions than places, or two.
fn runners<S: Planning>(scheme: &S, job: &Job) -> usize {
    let share = places_max(scheme, job) / job.workers;
    share.saturating_sub(1).clamp(1, scheme.open_max())
}

/// The places of a full batch.
fn places_max<S: Planning>(scheme: &S, job: &Job) -> usize {
    scheme.batch_max().min(job.clients)
}

/// State shared by all workers of a run.
#[derive(Debug)]
pub struct Shared<'r, S: Planning> {
    plan: S::Plan<'r>,
    board: Board,
    /// The number of the last batch that left a transaction for step 4.
    left_in: AtomicU64,
    /// By place: the client whose transaction was left for it, until its worker takes it home.
    left: Box<[Padded<Latched<Option<Left>>>]>,
    /// By place: the client on its way to the worker that executes its transaction.
    lent: Box<[Latched<Option<Client>>]>,
    /// By place: the client on its way back, when another worker has executed its transaction.
    given_back: Box<[Latched<Option<GivenBack>>]>,
    /// By place: the rows that were found for its transaction.
    found: Box<[Padded<Latched<FoundRows<'r, S>>>]>,
}

/// A client whose transaction another worker has executed.
#[derive(Debug)]
struct GivenBack {
    client: Client,
    /// As in [`Open`].
    reruns: u32,
    result: Option<Result<(), Abort>>,
    has_rest: bool,
}

/// A transaction of the present batch.
struct Open {
    place: usize,
    /// The position among this worker's clients.
    client: usize,
    /// How often the transaction aborted because of others.
    reruns: u32,
    /// The result, once it was executed.
    result: Option<Result<(), Abort>>,
    /// Whether something is left of its request.
    has_rest: bool,
}

/// Executes a worker's transactions, one at a time.
struct Runner<'s, 'r, S: Planning, V: Observe> {
    part: Part<'r, S, V>,
    shared: &'s Shared<'r, S>,
    session: Session<'r, S, V::Observer, V::Sink>,
    scratch: Scratch,
}

/// The result of a transaction, and how often it aborted before because of others.
type Ran = (Result<(), Abort>, u32);

/// The same, with the position of the transaction among the worker's, and its client.
type Done = (usize, Client, Ran);

/// Where the runners of a worker find what they are to run, and leave what came of it. They are fibers of one thread,
/// none of which is suspended while it looks.
#[derive(Default)]
struct Bench {
    tasks: RefCell<VecDeque<Task>>,
    /// The number of transactions that have begun and have not ended.
    begun: Cell<usize>,
    ran: RefCell<Vec<Done>>,
    is_over: Cell<bool>,
    phases: RefCell<Vec<[u64; Phase::COUNT]>>,
}

/// A transaction to be executed.
struct Task {
    /// The position among the worker's transactions.
    nth: usize,
    place: usize,
    client: Client,
    ticket: Ticket,
    is_sampled: bool,
}

impl<'s, 'r, S: Planning, V: Observe> Runner<'s, 'r, S, V> {
    fn new(part: Part<'r, S, V>, shared: &'s Shared<'r, S>) -> Self {
        Self { part, shared, session: part.session(), scratch: part.program.scratch() }
    }

    /// Runs what is to be run until the run is over.
    fn serve(&mut self, bench: &Bench) {
        while !bench.is_over.get() {
            self.run_all(bench);
            waiter::wait_until(None, || bench.is_over.get() || !bench.tasks.borrow().is_empty());
        }
        bench.phases.borrow_mut().push(self.session.meter().take());
    }

    /// Runs one after the other of those that have not begun.
    fn run_all(&mut self, bench: &Bench) {
        loop {
            let task = bench.tasks.borrow_mut().pop_front();
            let Some(Task { nth, place, mut client, ticket, is_sampled }) = task else { break };
            bench.begun.update(|begun| begun + 1);
            if let Some(next) = bench.tasks.borrow().front() {
                self.shared.found[next.place].lock().prefetch_rest();
            }
            let (plan, barrier) = (&self.shared.plan, &self.shared.board.barrier);
            waiter::wait_until(None, || S::may_run(plan, place) || barrier.is_broken());
            let ran = if S::may_run(plan, place) {
                self.run(place, ticket, &mut client, is_sampled)
            } else {
                (Err(Abort::Stopped), 0)
            };
            bench.ran.borrow_mut().push((nth, client, ran));
            bench.begun.update(|begun| begun - 1);
            // Transactions that have begun go on before others begin. Without such, this runner goes on, whose session
            // is in the caches.
            if bench.begun.get() > 0 {
                waiter::give_way();
            }
        }
    }

    /// Executes a transaction that may run, in its place.
    fn run(&mut self, place: usize, mut ticket: Ticket, client: &mut Client, is_sampled: bool) -> Ran {
        let Part { control, worker, .. } = self.part;
        let (plan, session, scratch) = (&self.shared.plan, &mut self.session, &mut self.scratch);
        session.prepare((plan, worker), place, &mut self.shared.found[place].lock());
        let mut reruns = 0;
        let result = loop {
            let result = batch::attempt(self.part, session, &ticket, &mut client.call, scratch, is_sampled);
            if !(is_aborted(&result) && session.is_to_run_again()) {
                break result;
            }
            control.count(worker, false);
            reruns += 1;
            ticket.retries += 1;
        };
        S::release(plan, place);
        (result, reruns)
    }
}

/// The statements of an input.
struct Stated<'r> {
    footprint: InputFootprint,
    /// The memory to be asked for before its rows are looked up.
    ahead: Ahead<'r>,
}

impl Default for Stated<'_> {
    fn default() -> Self {
        Self { footprint: InputFootprint::of_keys(), ahead: Ahead::default() }
    }
}

/// One worker's part of a run.
struct Worker<'s, 'r, S: Planning, V: Observe> {
    part: Part<'r, S, V>,
    shared: &'s Shared<'r, S>,
    desk: Desk<'s, 'r, S, V>,
    /// The first, which also does what is done by one.
    runner: Runner<'s, 'r, S, V>,
    bench: &'s Bench,
    /// Runs nothing: holds what rehearsals find.
    keeper: Session<'r, S, V::Observer, V::Sink>,
    open: Vec<Open>,
    /// Positions among these: what this worker has yet to execute.
    waiting: Vec<usize>,
    /// Whether other workers may execute the requests of these clients.
    moves: bool,
    /// The statements of the input whose footprint is found next.
    known: Stated<'r>,
    /// The same of the input after it.
    asked: Stated<'r>,
}

impl<'s, 'r, S: Planning, V: Observe> Worker<'s, 'r, S, V> {
    fn new(part: Part<'r, S, V>, shared: &'s Shared<'r, S>, bench: &'s Bench) -> Self {
        let Part { db, job, .. } = part;
        Self {
            part,
            shared,
            desk: Desk::new(part, &shared.board, places_max(db.scheme(), job)),
            runner: Runner::new(part, shared),
            bench,
            keeper: part.session(),
            open: Vec::new(),
            waiting: Vec::new(),
            moves: db.scheme().moves() && job.workers > 1,
            known: Stated::default(),
            asked: Stated::default(),
        }
    }

    /// Runs one batch after the other until the run is over.
    fn serve(&mut self) -> Result<(), Broken> {
        let Part { db, job, worker, .. } = self.part;
        let (shared, scheme, leads) = (self.shared, db.scheme(), self.desk.leads());
        let barrier = &shared.board.barrier;
        while !shared.board.is_last() && self.desk.form()? {
            self.keeper.hold();
            self.find_footprints(); // 1
            if leads {
                scheme.turn();
            }
            barrier.wait()?;
            if leads {
                self.desk.lead();
            }
            self.runner.session.plan(&shared.plan, worker, job.workers); // 2
            barrier.wait()?;
            let own = self.open.len();
            self.gather();
            if runners(scheme, job) == 1 {
                self.execute()?; // 3
            } else {
                self.execute_overlapping(); // 3
            }
            self.give_back(own);
            let comes_last = barrier.wait()?;
            if shared.left_in.load(Ordering::Relaxed) == self.desk.roster.number {
                if comes_last {
                    self.execute_alone(); // 4
                }
                barrier.wait()?;
            }
            self.keeper.let_go();
            self.settle();
        }
        self.desk.finish();
        if leads {
            scheme.finish(&shared.plan);
            scheme.close();
        }
        // No worker leaves before all are past the code that may panic.
        barrier.wait().map(|_| ())
    }

    fn is_sampled(&self, request: &Request) -> bool {
        is_sampled(self.part.job, request) && self.desk.books.stage == Stage::Measured
    }

    /// The ticket of a client's attempt at a place of the batch.
    fn ticket(&self, client: &Client, place: usize, step: Step) -> Ticket {
        let request = &self.desk.roster.batch[place];
        let retries = request.retries + u32::from(step == Step::Alone);
        Ticket { step, ..ticket(self.part, client, place, retries) }
    }

    /// Step 1. The index searches of a transaction are prefetched while the footprint of the one before is found.
    fn find_footprints(&mut self) {
        let Part { job, worker, .. } = self.part;
        for place in 0..self.desk.roster.batch.len() {
            let id = self.desk.roster.batch[place].client as usize;
            if id % job.workers != worker {
                continue;
            }
            self.ask(place, id / job.workers);
            if self.open.len() > 1 {
                self.find_footprint(self.open.len() - 2);
            }
            core::mem::swap(&mut self.known, &mut self.asked);
        }
        if !self.open.is_empty() {
            self.find_footprint(self.open.len() - 1);
        }
    }

    /// Gets the request of a client for a place, and what its input states.
    fn ask(&mut self, place: usize, client: usize) {
        let Part { program, job, .. } = self.part;
        let request = self.desk.roster.batch[place];
        self.desk.clients[client].send(self.part, &request);
        let is_sampled = self.is_sampled(&request);
        let session = &mut self.runner.session;
        if is_sampled {
            session.meter().start();
            session.meter().switch(Phase::Cc);
        }
        let Stated { footprint, ahead } = &mut self.asked;
        footprint.clear();
        if !job.rehearses {
            program.footprint(&self.desk.clients[client].call, footprint);
        }
        if let Some(known) = footprint.keys() {
            session.prefetch(known, ahead);
        }
        if is_sampled {
            session.meter().stop();
        }
        self.open.push(Open { place, client, reruns: 0, result: None, has_rest: false });
    }

    /// Finds and declares the footprint of one of this worker's transactions, whose input states what is known.
    fn find_footprint(&mut self, nth: usize) {
        let Part { program, worker, .. } = self.part;
        let shared = self.shared;
        let Open { place, client, .. } = self.open[nth];
        let request = self.desk.roster.batch[place];
        let ticket = self.ticket(&self.desk.clients[client], place, Step::Rehearsal);
        let is_sampled = self.is_sampled(&request);
        let Runner { session, scratch, .. } = &mut self.runner;
        let call = &mut self.desk.clients[client].call;
        if is_sampled {
            session.meter().start();
            session.meter().switch(Phase::Cc);
        }
        clock::compute(PLANNING_INSTRUCTIONS);
        let plan = (&shared.plan, worker);
        match self.known.footprint.keys() {
            Some(known) => session.foresee(plan, &ticket, known, &self.known.ahead),
            None => session.rehearse(plan, &ticket, |txn| program.execute(call, scratch, txn)),
        }
        session.found().leave(&mut shared.found[place].lock());
        if is_sampled {
            session.meter().stop();
        }
        if self.moves {
            *shared.lent[place].lock() = Some(self.desk.clients[client].leave());
        }
    }

    /// Takes the transactions that this worker is to execute, in the order of places. In `open`, the transactions of
    /// other workers' clients come after its own.
    fn gather(&mut self) {
        if !self.moves {
            self.waiting.extend(0..self.open.len());
            return;
        }
        let Part { job, worker, .. } = self.part;
        let mut next = 0;
        for place in 0..self.desk.roster.batch.len() {
            let home = self.desk.roster.batch[place].client as usize % job.workers;
            let mut nth = next;
            next += usize::from(home == worker);
            if S::worker_of(&self.shared.plan, place, home) != worker {
                continue;
            }
            let lent = self.shared.lent[place].lock().take().expect("its worker has lent it");
            if home == worker {
                self.desk.clients[self.open[nth].client] = lent;
            } else {
                nth = self.open.len();
                self.desk.clients.push(lent);
                let client = self.desk.clients.len() - 1;
                self.open.push(Open { place, client, reruns: 0, result: None, has_rest: false });
            }
            self.waiting.push(nth);
        }
    }

    /// Gives back the transactions that were executed here for other workers: all after the first `own` ones.
    fn give_back(&mut self, own: usize) {
        let guests = self.open.len() - own;
        let clients = self.desk.clients.drain(self.desk.clients.len() - guests..);
        for (Open { place, reruns, result, has_rest, .. }, client) in self.open.drain(own..).zip(clients) {
            *self.shared.given_back[place].lock() = Some(GivenBack { client, reruns, result, has_rest });
        }
    }

    /// Step 3, with one attempt open at a time.
    fn execute(&mut self) -> Result<(), Broken> {
        let shared = self.shared;
        while !self.waiting.is_empty() {
            let (open, waiting) = (&self.open, &self.waiting);
            let next = if S::IN_ORDER { &waiting[..1] } else { &waiting[..] };
            let first = || next.iter().position(|&nth| S::may_run(&shared.plan, open[nth].place));
            let mut found = first();
            if found.is_none() {
                waiter::wait_until(None, || {
                    found = first();
                    found.is_some() || shared.board.barrier.is_broken()
                });
            }
            let Some(found) = found else {
                if shared.board.barrier.is_broken() {
                    return Err(Broken);
                }
                continue;
            };
            let nth = self.waiting.remove(found);
            if let Some(&next) = self.waiting.first() {
                shared.found[self.open[next].place].lock().prefetch_rest();
            }
            let Open { place, client, .. } = self.open[nth];
            let ticket = self.ticket(&self.desk.clients[client], place, Step::Planned);
            let is_sampled = self.is_sampled(&self.desk.roster.batch[place]);
            let ran = self.runner.run(place, ticket, &mut self.desk.clients[client], is_sampled);
            self.take_down(nth, ran);
        }
        Ok(())
    }

    /// Step 3, with several attempts open at a time: this fiber is the first of the runners.
    fn execute_overlapping(&mut self) {
        let mut waiting = core::mem::take(&mut self.waiting);
        let count = waiting.len();
        for nth in waiting.drain(..) {
            let Open { place, client, .. } = self.open[nth];
            let ticket = self.ticket(&self.desk.clients[client], place, Step::Planned);
            let is_sampled = self.is_sampled(&self.desk.roster.batch[place]);
            let client = self.desk.clients[client].leave();
            self.bench.tasks.borrow_mut().push_back(Task { nth, place, client, ticket, is_sampled });
        }
        self.waiting = waiting;
        self.runner.run_all(self.bench);
        waiter::wait_until(None, || self.bench.ran.borrow().len() == count);
        for (nth, client, ran) in self.bench.ran.take() {
            self.desk.clients[self.open[nth].client] = client;
            self.take_down(nth, ran);
        }
    }

    /// Takes down what came of a transaction: what aborted is left for step 4.
    fn take_down(&mut self, nth: usize, (result, reruns): Ran) {
        let Part { control, worker, .. } = self.part;
        let Open { place, client, .. } = self.open[nth];
        let shared = self.shared;
        if is_aborted(&result) {
            *shared.left[place].lock() = Some(Left::new(self.desk.clients[client].leave()));
            shared.left_in.store(self.desk.roster.number, Ordering::Relaxed);
            control.count(worker, false);
        } else {
            let has_rest = has_rest(self.part, &mut self.desk.clients[client], result);
            shared.board.set_again(place, has_rest);
            if !has_rest {
                control.count(worker, result.is_ok());
            }
            self.open[nth].has_rest = has_rest;
        }
        self.open[nth].reruns = reruns;
        self.open[nth].result = Some(result);
    }

    /// Step 4.
    fn execute_alone(&mut self) {
        let Part { control, worker, .. } = self.part;
        for place in 0..self.desk.roster.batch.len() {
            let mut left = self.shared.left[place].lock();
            let Some(Left { client, ended }) = &mut *left else { continue };
            let ticket = self.ticket(client, place, Step::Alone);
            let is_sampled = self.is_sampled(&self.desk.roster.batch[place]);
            let Runner { session, scratch, .. } = &mut self.runner;
            let result = batch::attempt(self.part, session, &ticket, &mut client.call, scratch, is_sampled);
            let has_rest = has_rest(self.part, client, result);
            self.shared.board.set_again(place, has_rest || is_aborted(&result));
            if !has_rest {
                control.count(worker, result.is_ok());
            }
            *ended = (result, has_rest);
        }
    }

    /// Tells the clients how their requests ended, at once or when that is assured.
    fn settle(&mut self) {
        let Part { db, worker, .. } = self.part;
        let desk = &mut self.desk;
        desk.note_commits();
        for mut open in self.open.drain(..) {
            let Open { place, client, .. } = open;
            if self.moves
                && let Some(back) = self.shared.given_back[place].lock().take()
            {
                desk.clients[client] = back.client;
                (open.reruns, open.result, open.has_rest) = (back.reruns, back.result, back.has_rest);
            }
            let alone = Left::take_home(&self.shared.left[place], &mut desk.clients[client]);
            for _ in 0..open.reruns {
                desk.hear(client, (Err(Abort::Cascade), false));
            }
            let in_batch = open.result.expect("all transactions of a batch are executed");
            desk.hear(client, (in_batch, open.has_rest));
            if let Some(ended) = alone {
                desk.hear(client, ended);
            }
        }
        db.scheme().maintain(worker);
    }

    /// Returns the tally and the ledger.
    fn close(mut self) -> (Tally, Ledger) {
        self.desk.books.add_phases(self.runner.session.meter().take());
        self.bench.phases.take().into_iter().for_each(|ticks| self.desk.books.add_phases(ticks));
        self.desk.close()
    }
}
