//! The driver of schemes that fix the order of transactions before they execute them.
//!
//! A batch is a list of transactions, numbered from 1 in its order. It goes through these steps, and all workers meet
//! between one and the next:
//!
//! 1. Each worker rehearses the transactions of its clients: their footprints are declared, and nothing changes.
//! 2. Each worker does its share of planning the batch.
//! 3. Each worker executes the transactions of its clients, always the first that may run. A scheme may have some of
//!    them [executed by other workers](Planning::worker_of): all are then lent before the plan is made, and the worker
//!    that is to execute one takes it. Where the scheme wants several attempts of a worker to be open at a time, each
//!    is on a fiber: a transaction begins when those before it have ended or wait.
//! 4. One worker executes the transactions that aborted, because they touched something that they had not declared, in
//!    the order of their places: each alone. Skipped when there are none.
//!
//! So an attempt that waits in step 3 waits for transactions with smaller numbers, and the transaction with the
//! smallest number that has not ended has begun and waits for no other. The outcome is a function of the inputs alone
//! and not of the number of workers, as long as a transaction sees nothing of transactions with larger numbers.
//!
//! Data that workers hand over in one step is read in a later step: the barrier orders it, so every access may be
//! Relaxed. Rows that a rehearsal has found stay in place until the batch has ended: each worker holds them.

use core::cell::{Cell, RefCell};
use core::fmt;
use std::collections::VecDeque;

use sync::atomic::{AtomicU64, Ordering};
use sync::{Broken, Latched, fiber, waiter};

use super::batch::{self, Alarm, Board, Client, Desk, Left, Request, is_sampled, rest, ticket};
use super::{Driver, Job, Part, Stage, Tally, is_aborted};
use crate::meter::Phase;
use crate::{Abort, Database, Observe, Planning, Session, Step, Ticket, Workload};

/// Runs transactions in batches whose order is fixed before execution.
#[derive(Clone, Copy, Debug)]
pub enum Planned {}

impl<S: Planning> Driver<S> for Planned {
    type Shared<'r, W: Workload> = Shared<'r, S, W>;

    fn refuses(job: &Job) -> Option<&'static str> {
        batch::refuses(job)
    }

    /// A worker has a session that executes and a session that holds what rehearsals find, even if it has only one
    /// place of a batch.
    fn sessions(job: &Job) -> usize {
        job.clients.max(2 * job.workers)
    }

    fn shared<'r, W: Workload>(db: &'r Database<S>, job: &Job) -> Shared<'r, S, W> {
        let places = places_max(db.scheme(), job);
        Shared {
            plan: db.scheme().open(places, job.workers),
            board: Board::new(job, places),
            left_in: AtomicU64::new(0),
            left: (0..places).map(|_| Latched::default()).collect(),
            lent: (0..places).map(|_| Latched::default()).collect(),
            given_back: (0..places).map(|_| Latched::default()).collect(),
        }
    }

    fn work<'r, W: Workload, V: Observe>(
        part: Part<'r, S, W, V>,
        shared: &Shared<'r, S, W>,
    ) -> (Tally, W::Ledger) {
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
pub struct Shared<'r, S: Planning, W: Workload> {
    plan: S::Plan<'r>,
    board: Board,
    /// The number of the last batch that left a transaction for step 4.
    left_in: AtomicU64,
    /// By place: the client whose transaction was left for step 4, until its worker takes the client home.
    left: Box<[Latched<Option<Left<W>>>]>,
    /// By place: the client on its way to the worker that executes its transaction.
    lent: Box<[Latched<Option<Client<W>>>]>,
    /// By place: the client on its way back, when another worker has executed its transaction.
    given_back: Box<[Latched<Option<GivenBack<W>>>]>,
}

/// A client whose transaction another worker has executed.
struct GivenBack<W: Workload> {
    client: Client<W>,
    /// As in [`Open`].
    reruns: u32,
    result: Option<Result<W::Output, Abort>>,
    rest: Option<W::Input>,
}

impl<W: Workload> fmt::Debug for GivenBack<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenBack").field("client", &self.client).finish_non_exhaustive()
    }
}

/// A transaction of the present batch.
struct Open<W: Workload> {
    place: usize,
    /// The position among this worker's clients.
    client: usize,
    /// How often the transaction aborted because of others.
    reruns: u32,
    /// The transaction's result, once it was executed.
    result: Option<Result<W::Output, Abort>>,
    /// The rest of the client's request.
    rest: Option<W::Input>,
}

/// Executes a worker's transactions, one at a time.
struct Runner<'s, 'r, S: Planning, W: Workload, V: Observe> {
    part: Part<'r, S, W, V>,
    shared: &'s Shared<'r, S, W>,
    session: Session<'r, S, V::Observer, V::Sink>,
    scratch: W::Scratch,
}

/// The result of a transaction, and how often it aborted before because of others.
type Ran<W> = (Result<<W as Workload>::Output, Abort>, u32);

/// The same, with the position of the transaction among the worker's transactions, and with its client.
type Done<W> = (usize, Client<W>, Ran<W>);

/// The exchange between a worker and its runners: tasks to run, and results. The runners are fibers of one thread, and
/// none is suspended while it looks here.
struct Bench<W: Workload> {
    tasks: RefCell<VecDeque<Task<W>>>,
    ran: RefCell<Vec<Done<W>>>,
    is_over: Cell<bool>,
    phases: RefCell<Vec<[u64; Phase::COUNT]>>,
}

/// A transaction to be executed.
struct Task<W: Workload> {
    /// The position among the worker's transactions.
    nth: usize,
    place: usize,
    client: Client<W>,
    ticket: Ticket,
    is_sampled: bool,
}

impl<W: Workload> Default for Bench<W> {
    fn default() -> Self {
        Self {
            tasks: RefCell::default(),
            ran: RefCell::default(),
            is_over: Cell::new(false),
            phases: RefCell::default(),
        }
    }
}

impl<'s, 'r, S: Planning, W: Workload, V: Observe> Runner<'s, 'r, S, W, V> {
    fn new(part: Part<'r, S, W, V>, shared: &'s Shared<'r, S, W>) -> Self {
        Self { part, shared, session: part.session(), scratch: W::Scratch::default() }
    }

    /// Runs tasks until the run is over.
    fn serve(&mut self, bench: &Bench<W>) {
        while !bench.is_over.get() {
            self.run_all(bench);
            waiter::wait_until(None, || bench.is_over.get() || !bench.tasks.borrow().is_empty());
        }
        bench.phases.borrow_mut().push(self.session.meter().take());
    }

    /// Runs the tasks that have not begun, one after the other.
    fn run_all(&mut self, bench: &Bench<W>) {
        loop {
            let task = bench.tasks.borrow_mut().pop_front();
            let Some(Task { nth, place, client, ticket, is_sampled }) = task else { break };
            let (plan, barrier) = (&self.shared.plan, &self.shared.board.barrier);
            waiter::wait_until(None, || S::may_run(plan, place) || barrier.is_broken());
            let ran = if S::may_run(plan, place) {
                self.run(place, ticket, &client, is_sampled)
            } else {
                (Err(Abort::Stopped), 0)
            };
            bench.ran.borrow_mut().push((nth, client, ran));
            // Transactions that have begun go on before others begin.
            waiter::give_way();
        }
    }

    /// Executes a transaction that may run, in its place.
    fn run(&mut self, place: usize, mut ticket: Ticket, client: &Client<W>, is_sampled: bool) -> Ran<W> {
        let Part { control, worker, .. } = self.part;
        let (plan, session, scratch) = (&self.shared.plan, &mut self.session, &mut self.scratch);
        session.prepare(plan, place);
        let mut reruns = 0;
        let result = loop {
            let result = batch::attempt(self.part, session, &ticket, client.input(), scratch, is_sampled);
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

/// One worker's part of a run.
struct Worker<'s, 'r, S: Planning, W: Workload, V: Observe> {
    part: Part<'r, S, W, V>,
    shared: &'s Shared<'r, S, W>,
    desk: Desk<'s, 'r, S, W, V>,
    /// The first runner, which also does the work of step 4.
    runner: Runner<'s, 'r, S, W, V>,
    bench: &'s Bench<W>,
    /// Executes nothing: holds the rows that rehearsals find.
    keeper: Session<'r, S, V::Observer, V::Sink>,
    open: Vec<Open<W>>,
    /// Positions in `open`: the transactions that this worker has yet to execute.
    waiting: Vec<usize>,
    /// Whether other workers may execute the requests of these clients.
    moves: bool,
}

impl<'s, 'r, S: Planning, W: Workload, V: Observe> Worker<'s, 'r, S, W, V> {
    fn new(part: Part<'r, S, W, V>, shared: &'s Shared<'r, S, W>, bench: &'s Bench<W>) -> Self {
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
        }
    }

    /// Runs one batch after the other until the run is over.
    fn serve(&mut self) -> Result<(), Broken> {
        let Part { db, job, worker, .. } = self.part;
        let (shared, scheme, leads) = (self.shared, db.scheme(), self.desk.leads());
        let barrier = &shared.board.barrier;
        while !shared.board.is_last() && self.desk.form()? {
            self.keeper.hold();
            self.rehearse(); // 1
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
    fn ticket(&self, client: &Client<W>, place: usize, step: Step) -> Ticket {
        let request = &self.desk.roster.batch[place];
        let retries = request.retries + u32::from(step == Step::Alone);
        Ticket { step, ..ticket(self.part, client, place, retries) }
    }

    /// Step 1.
    fn rehearse(&mut self) {
        let Part { workload, job, worker, .. } = self.part;
        for place in 0..self.desk.roster.batch.len() {
            let request = self.desk.roster.batch[place];
            let id = request.client as usize;
            if id % job.workers != worker {
                continue;
            }
            let client = id / job.workers;
            self.desk.clients[client].send(workload, job.seed, &request);
            let ticket = self.ticket(&self.desk.clients[client], place, Step::Rehearsal);
            let is_sampled = self.is_sampled(&request);
            let Runner { session, scratch, .. } = &mut self.runner;
            let input = self.desk.clients[client].input();
            if is_sampled {
                session.meter().start();
            }
            session.rehearse(&self.shared.plan, &ticket, |txn| workload.execute(input, scratch, txn));
            if is_sampled {
                session.meter().stop();
            }
            self.open.push(Open { place, client, reruns: 0, result: None, rest: None });
            if self.moves {
                *self.shared.lent[place].lock() = Some(self.desk.clients[client].leave());
            }
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
                self.open.push(Open { place, client, reruns: 0, result: None, rest: None });
            }
            self.waiting.push(nth);
        }
    }

    /// Gives back the transactions that were executed here for other workers: all after the first `own` ones.
    fn give_back(&mut self, own: usize) {
        let guests = self.open.len() - own;
        let clients = self.desk.clients.drain(self.desk.clients.len() - guests..);
        for (Open { place, reruns, result, rest, .. }, client) in self.open.drain(own..).zip(clients) {
            *self.shared.given_back[place].lock() = Some(GivenBack { client, reruns, result, rest });
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
            let Open { place, client, .. } = self.open[nth];
            let ticket = self.ticket(&self.desk.clients[client], place, Step::Planned);
            let is_sampled = self.is_sampled(&self.desk.roster.batch[place]);
            let ran = self.runner.run(place, ticket, &self.desk.clients[client], is_sampled);
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

    /// Stores the result of a transaction. An aborted transaction is left for step 4.
    fn take_down(&mut self, nth: usize, (result, reruns): Ran<W>) {
        let Part { workload, control, worker, .. } = self.part;
        let Open { place, client, .. } = self.open[nth];
        let shared = self.shared;
        if is_aborted(&result) {
            *shared.left[place].lock() = Some(Left::new(self.desk.clients[client].leave()));
            shared.left_in.store(self.desk.roster.number, Ordering::Relaxed);
            control.count(worker, false);
        } else {
            let rest = rest(workload, &self.desk.clients[client], &result);
            shared.board.set_again(place, rest.is_some());
            if rest.is_none() {
                control.count(worker, result.is_ok());
            }
            self.open[nth].rest = rest;
        }
        self.open[nth].reruns = reruns;
        self.open[nth].result = Some(result);
    }

    /// Step 4.
    fn execute_alone(&mut self) {
        let Part { workload, control, worker, .. } = self.part;
        for place in 0..self.desk.roster.batch.len() {
            let mut left = self.shared.left[place].lock();
            let Some(Left { client, result: ended, rest: rest_of_it }) = &mut *left else { continue };
            let ticket = self.ticket(client, place, Step::Alone);
            let is_sampled = self.is_sampled(&self.desk.roster.batch[place]);
            let Runner { session, scratch, .. } = &mut self.runner;
            let result = batch::attempt(self.part, session, &ticket, client.input(), scratch, is_sampled);
            let rest = rest(workload, client, &result);
            self.shared.board.set_again(place, rest.is_some() || is_aborted(&result));
            if rest.is_none() {
                control.count(worker, result.is_ok());
            }
            (*ended, *rest_of_it) = (result, rest);
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
                (open.reruns, open.result, open.rest) = (back.reruns, back.result, back.rest);
            }
            let alone = Left::take_home(&self.shared.left[place], &mut desk.clients[client]);
            for _ in 0..open.reruns {
                desk.hear(client, (Err(Abort::Cascade), None));
            }
            let in_batch = open.result.expect("all transactions of a batch are executed");
            desk.hear(client, (in_batch, open.rest));
            if let Some(ended) = alone {
                desk.hear(client, ended);
            }
        }
        db.scheme().maintain(worker);
    }

    /// Returns the tally and the ledger.
    fn close(mut self) -> (Tally, W::Ledger) {
        self.desk.books.add_phases(self.runner.session.meter().take());
        self.bench.phases.take().into_iter().for_each(|ticks| self.desk.books.add_phases(ticks));
        self.desk.close()
    }
}
