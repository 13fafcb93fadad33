//! The driver of schemes that fix the order of transactions before they execute them.
//!
//! A batch is a list of transactions, numbered from 1 in its order. It goes through these steps, and all workers meet
//! between one and the next:
//!
//! 1. Each worker rehearses the transactions of its clients: what they touch is declared, and nothing changes.
//! 2. Each worker does its share of planning the batch.
//! 3. Each worker executes the transactions of its clients, always the first that may run. A scheme may have some of
//!    them [executed by other workers](Planning::worker_of): all are then lent before the plan is made, and whoever is
//!    to execute one takes it.
//! 4. One worker executes those that aborted, because they touched what they had not declared, in the order of their
//!    places: each alone. Skipped when there are none.
//!
//! So whoever waits in step 3 waits for transactions with smaller numbers. The outcome is a function of the inputs
//! alone and not of the number of workers, as long as a transaction sees nothing of those with larger numbers.
//!
//! What workers leave to each other in one step they read in a later one: the barrier orders it, so every access may be
//! Relaxed. What a rehearsal has found stays where it is until the batch has ended: each worker holds it.

use core::fmt;

use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Barrier, Broken, Latched, clock, waiter};

use super::batch::{self, Alarm, Client, Request, Roster, is_sampled, rest, ticket};
use super::books::Books;
use super::{Driver, Job, Limit, Part, Stage, Tally, is_aborted};
use crate::{Abort, Database, Observe, Planning, Session, Step, Ticket, Workload};

/// Runs transactions in batches whose order is fixed before.
#[derive(Clone, Copy, Debug)]
pub enum Planned {}

impl<S: Planning> Driver<S> for Planned {
    type Shared<'r, W: Workload> = Shared<'r, S, W>;

    fn refuses(job: &Job) -> Option<&'static str> {
        batch::refuses(job)
    }

    fn shared<'r, W: Workload>(db: &'r Database<S>, job: &Job) -> Shared<'r, S, W> {
        let places = places_max(db.scheme(), job);
        Shared {
            plan: db.scheme().open(places, job.workers),
            barrier: Barrier::new(job.workers),
            is_last: AtomicBool::new(false),
            now_ns: AtomicU64::new(0),
            again: (0..places).map(|_| AtomicBool::new(false)).collect(),
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
        let alarm = Alarm::new(&shared.barrier, || scheme.abandon());
        let mut worker = Worker::new(part, shared);
        // If another worker has panicked, its panic is what comes of the run.
        _ = worker.serve();
        alarm.disarm();
        worker.close()
    }
}

/// The places of a full batch.
fn places_max<S: Planning>(scheme: &S, job: &Job) -> usize {
    scheme.batch_max().min(job.clients)
}

/// What the workers of a run share.
#[derive(Debug)]
pub struct Shared<'r, S: Planning, W: Workload> {
    plan: S::Plan<'r>,
    barrier: Barrier,
    /// Whether the present batch is the last.
    is_last: AtomicBool,
    /// What the clock of the leading worker said in the present batch, where anything waits for it.
    now_ns: AtomicU64,
    /// By place: whether the transaction goes into the next batch.
    again: Box<[AtomicBool]>,
    /// The last batch in which something was left for step 4.
    left_in: AtomicU64,
    /// By place: the client whose transaction was left for it, until its worker takes it home.
    left: Box<[Latched<Option<Client<W>>>]>,
    /// By place: the client on its way to the worker that executes its transaction.
    lent: Box<[Latched<Option<Client<W>>>]>,
    /// By place: the client on its way back, when another worker has executed its transaction.
    given_back: Box<[Latched<Option<GivenBack<W>>>]>,
}

/// A client whose transaction another worker has executed.
struct GivenBack<W: Workload> {
    client: Client<W>,
    /// As in [`Open`].
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
    /// What came of it, once it was executed.
    result: Option<Result<W::Output, Abort>>,
    /// What is left of its request.
    rest: Option<W::Input>,
}

/// One worker's part of a run.
struct Worker<'s, 'r, S: Planning, W: Workload, V: Observe> {
    part: Part<'r, S, W, V>,
    shared: &'s Shared<'r, S, W>,
    roster: Roster,
    /// The present batch, from 1.
    batch: u64,
    clients: Vec<Client<W>>,
    session: Session<'r, S, V::Observer>,
    /// Runs nothing: holds what rehearsals find.
    keeper: Session<'r, S, V::Observer>,
    open: Vec<Open<W>>,
    /// Whether other workers may execute what these clients send.
    moves: bool,
    books: Books<'r, W>,
    scratch: W::Scratch,
}

impl<'s, 'r, S: Planning, W: Workload, V: Observe> Worker<'s, 'r, S, W, V> {
    fn new(part: Part<'r, S, W, V>, shared: &'s Shared<'r, S, W>) -> Self {
        let Part { db, job, .. } = part;
        let requests = match job.limit {
            Limit::Requests(count) => count,
            Limit::Time { .. } => u64::MAX,
        };
        let birth = clock::ticks();
        let places = places_max(db.scheme(), job);
        Self {
            part,
            shared,
            roster: Roster::new(job.clients as u32, requests, places, job.traffic.rtt_ns),
            batch: 0,
            clients: part.clients().map(|_| Client::new(birth)).collect(),
            session: part.session(),
            keeper: part.session(),
            open: Vec::new(),
            moves: db.scheme().moves() && job.workers > 1,
            books: Books::new(job, part.control, part.worker),
            scratch: W::Scratch::default(),
        }
    }

    /// Runs one batch after the other until the run is over.
    fn serve(&mut self) -> Result<(), Broken> {
        let Part { db, control, job, worker, .. } = self.part;
        let (shared, scheme) = (self.shared, db.scheme());
        let leads = worker == 0;
        while !shared.is_last.load(Ordering::Relaxed) {
            let now_ns = shared.now_ns.load(Ordering::Relaxed);
            self.roster.form_in_time(now_ns, |place| shared.again[place].load(Ordering::Relaxed));
            if self.roster.batch.is_empty() {
                break;
            }
            self.batch += 1;
            let stage = control.stage();
            if self.books.stage != stage {
                self.books.turn(stage);
            }
            self.keeper.hold();
            self.rehearse(); // 1
            if leads {
                scheme.turn();
            }
            shared.barrier.wait()?;
            if leads {
                let is_last = control.stage() == Stage::Stopping || control.is_interrupted();
                shared.is_last.store(is_last, Ordering::Relaxed);
                if job.traffic.rtt_ns > 0 {
                    shared.now_ns.store(clock::now_ns(), Ordering::Relaxed);
                }
            }
            self.session.plan(&shared.plan, worker, job.workers); // 2
            shared.barrier.wait()?;
            self.execute()?; // 3
            let comes_last = shared.barrier.wait()?;
            if shared.left_in.load(Ordering::Relaxed) == self.batch {
                if comes_last {
                    self.execute_alone(); // 4
                }
                shared.barrier.wait()?;
            }
            self.keeper.let_go();
            self.settle();
        }
        if leads {
            scheme.finish(&shared.plan);
            scheme.close();
        }
        // Nobody leaves before all are past what may panic.
        shared.barrier.wait().map(|_| ())
    }

    fn is_sampled(&self, request: &Request) -> bool {
        is_sampled(self.part.job, request) && self.books.stage == Stage::Measured
    }

    /// What is known of the attempt of a client at a place of the batch.
    fn ticket(&self, client: &Client<W>, place: usize, step: Step) -> Ticket {
        let request = &self.roster.batch[place];
        let retries = request.retries + u32::from(step == Step::Alone);
        Ticket { step, ..ticket(self.part, client, place, retries) }
    }

    /// Step 1.
    fn rehearse(&mut self) {
        let Part { workload, job, worker, .. } = self.part;
        for place in 0..self.roster.batch.len() {
            let request = self.roster.batch[place];
            let id = request.client as usize;
            if id % job.workers != worker {
                continue;
            }
            let client = id / job.workers;
            self.clients[client].send(workload, job.seed, &request);
            let ticket = self.ticket(&self.clients[client], place, Step::Rehearsal);
            let is_sampled = self.is_sampled(&request);
            let (input, scratch) = (self.clients[client].input(), &mut self.scratch);
            if is_sampled {
                self.session.meter().start();
            }
            self.session.rehearse(&self.shared.plan, &ticket, |txn| workload.execute(input, scratch, txn));
            if is_sampled {
                self.session.meter().stop();
            }
            self.open.push(Open { place, client, result: None, rest: None });
            if self.moves {
                *self.shared.lent[place].lock() = Some(self.clients[client].leave());
            }
        }
    }

    /// Takes what this worker is to execute, after what it has of its own: the positions, in the order of places.
    fn gather(&mut self) -> Vec<usize> {
        let own = self.open.len();
        if !self.moves {
            return (0..own).collect();
        }
        let Part { job, worker, .. } = self.part;
        let (mut here, mut next) = (Vec::new(), 0);
        for place in 0..self.roster.batch.len() {
            let home = self.roster.batch[place].client as usize % job.workers;
            let nth = next;
            next += usize::from(home == worker);
            if S::worker_of(&self.shared.plan, place, home) != worker {
                continue;
            }
            let lent = self.shared.lent[place].lock().take().expect("its worker has lent it");
            if home == worker {
                self.clients[self.open[nth].client] = lent;
                here.push(nth);
            } else {
                self.clients.push(lent);
                self.open.push(Open { place, client: self.clients.len() - 1, result: None, rest: None });
                here.push(self.open.len() - 1);
            }
        }
        here
    }

    /// Gives back what was executed here for other workers: whatever comes after these many of its own.
    fn give_back(&mut self, own: usize) {
        let guests = self.open.len() - own;
        let clients = self.clients.drain(self.clients.len() - guests..);
        for (Open { place, result, rest, .. }, client) in self.open.drain(own..).zip(clients) {
            *self.shared.given_back[place].lock() = Some(GivenBack { client, result, rest });
        }
    }

    /// Step 3.
    fn execute(&mut self) -> Result<(), Broken> {
        let Part { workload, control, worker, .. } = self.part;
        let shared = self.shared;
        let own = self.open.len();
        let mut waiting = self.gather();
        while !waiting.is_empty() {
            let open = &self.open;
            let next = if S::IN_ORDER { &waiting[..1] } else { &waiting[..] };
            let first = || next.iter().position(|&nth| S::may_run(&shared.plan, open[nth].place));
            let mut found = first();
            if found.is_none() {
                waiter::wait_until(None, || {
                    found = first();
                    found.is_some() || shared.barrier.is_broken()
                });
            }
            let Some(found) = found else {
                if shared.barrier.is_broken() {
                    return Err(Broken);
                }
                continue;
            };
            let nth = waiting.remove(found);
            let Open { place, client, .. } = self.open[nth];
            let ticket = self.ticket(&self.clients[client], place, Step::Planned);
            let is_sampled = self.is_sampled(&self.roster.batch[place]);
            let (input, scratch) = (self.clients[client].input(), &mut self.scratch);
            self.session.prepare(&shared.plan, place);
            let result = batch::attempt(self.part, &mut self.session, &ticket, input, scratch, is_sampled);
            S::release(&shared.plan, place);
            if is_aborted(&result) {
                *shared.left[place].lock() = Some(self.clients[client].leave());
                shared.left_in.store(self.batch, Ordering::Relaxed);
                control.count(worker, false);
            } else {
                let rest = rest(workload, &self.clients[client], &result);
                shared.again[place].store(rest.is_some(), Ordering::Relaxed);
                if rest.is_none() {
                    control.count(worker, result.is_ok());
                }
                self.open[nth].rest = rest;
            }
            self.open[nth].result = Some(result);
        }
        self.give_back(own);
        Ok(())
    }

    /// Step 4.
    fn execute_alone(&mut self) {
        let Part { workload, control, worker, .. } = self.part;
        for place in 0..self.roster.batch.len() {
            let Some(mut client) = self.shared.left[place].lock().take() else { continue };
            let ticket = self.ticket(&client, place, Step::Alone);
            let is_sampled = self.is_sampled(&self.roster.batch[place]);
            let (session, scratch) = (&mut self.session, &mut self.scratch);
            let result = batch::attempt(self.part, session, &ticket, client.input(), scratch, is_sampled);
            let rest = rest(workload, &client, &result);
            self.shared.again[place].store(rest.is_some() || is_aborted(&result), Ordering::Relaxed);
            if rest.is_none() {
                control.count(worker, result.is_ok());
            }
            client.hear(workload, &mut self.books, &result, rest);
            *self.shared.left[place].lock() = Some(client);
        }
    }

    /// The clients hear how their requests ended, and send others.
    fn settle(&mut self) {
        let Part { db, workload, worker, .. } = self.part;
        for mut open in self.open.drain(..) {
            let client = &mut self.clients[open.client];
            if self.moves
                && let Some(back) = self.shared.given_back[open.place].lock().take()
            {
                (*client, open.result, open.rest) = (back.client, back.result, back.rest);
            }
            if let Some(left) = self.shared.left[open.place].lock().take() {
                *client = left;
            }
            let result = open.result.expect("all transactions of a batch are executed");
            client.hear(workload, &mut self.books, &result, open.rest);
        }
        db.scheme().maintain(worker);
    }

    /// What was counted.
    fn close(mut self) -> (Tally, W::Ledger) {
        self.books.add_phases(self.session.meter().take());
        self.books.end();
        self.books.into_parts()
    }
}
