//! The driver of schemes that execute and decide in batches.
//!
//! A batch is a list of transactions, numbered from 1 in its order. It goes through these steps, and all
//! workers meet between one and the next:
//!
//! 1. Each worker executes the transactions of its clients, and those that want to commit reserve.
//! 2. Each worker decides and installs, or aborts, its transactions.
//! 3. The commits' changes of indexes are made: an index at a time by whoever comes first, in the order of
//!    keys. Skipped when there are none.
//! 4. If the scheme falls back, one worker executes what aborted again, in the order of its places: each
//!    transaction alone, with its commit and its changes of indexes. Skipped when nothing aborted; else the
//!    same worker also does step 3, which saves a meeting.
//!
//! The outcome is a function of the inputs alone and not of the number of workers, as long as the scheme
//! decides by numbers in the batch, by records and by leaves: the batches are formed by rule ([`Roster`],
//! of which each worker has its own copy), and leaves have the same shape whoever changes the indexes.
//!
//! A client's next request takes a round trip to come. Whether it has come is told by the clock of the leading
//! worker alone, which all others take over, so that they still form the same batches.
//!
//! What workers leave to each other in one step they read in a later one: the barrier orders it, so every
//! access may be Relaxed.
//!
//! A transaction's wait before its commit delays nothing but its batch, and the waits of a batch pass at
//! the same time, since nobody holds what another waits for: so each worker waits once, after the last
//! of its transactions. What executes alone holds everything, and waits by itself.

use core::{fmt, mem};
use std::collections::VecDeque;

use stdx::Rng;
use storage::Which;
use sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use sync::{Barrier, Broken, Latched, clock, waiter};

use super::books::Books;
use super::traffic::Sent;
use super::{Arrivals, Driver, Job, Limit, Mode, Part, Retry, Stage, Tally, is_aborted, pay};
use crate::session::{Change, Place};
use crate::{Abort, Batching, ClientId, Database, Observe, Scheme, Session, Ticket, Workload};

/// Runs transactions in batches.
#[derive(Clone, Copy, Debug)]
pub enum Batched {}

impl<S: Batching> Driver<S> for Batched {
    type Shared<'r, W: Workload> = Shared<'r, S, W>;

    fn refuses(job: &Job) -> Option<&'static str> {
        let traffic = &job.traffic;
        let refusals = [
            (
                job.retry == Retry::Drop,
                "in batches an aborted transaction comes first in the next one, which `--retry drop` would deny it: \
                 give `--retry same`",
            ),
            (
                traffic.mode == Mode::Interactive,
                "a batch executes as a whole and waits for no client, so that a transaction can be no dialogue: give \
                 `--mode procedure`",
            ),
            (
                traffic.arrivals != Arrivals::Closed,
                "batches are formed of the clients' next requests, by rule and not by the clock: give \
                 `--arrivals closed`",
            ),
            (
                traffic.batch > 1,
                "a client has one place in a batch: give `--batch 1`, and more clients with `--clients`",
            ),
            (
                traffic.is_paced,
                "batches are formed of the clients' next requests, which are there at once: leave the terminals out",
            ),
        ];
        refusals.into_iter().find(|(is_refused, _)| *is_refused).map(|(_, says)| says)
    }

    fn shared<'r, W: Workload>(db: &'r Database<S>, job: &Job) -> Shared<'r, S, W> {
        Shared::new(db, job)
    }

    fn work<'r, W: Workload, V: Observe>(
        part: Part<'r, S, W, V>,
        shared: &Shared<'r, S, W>,
    ) -> (Tally, W::Ledger) {
        let mut alarm = Alarm { shared, is_armed: true };
        let mut worker = Worker::new(part, shared);
        // If another worker has panicked, its panic is what comes of the run.
        _ = worker.serve();
        alarm.is_armed = false;
        worker.close()
    }
}

/// What the workers of a run share.
#[derive(Debug)]
pub struct Shared<'r, S: Scheme, W: Workload> {
    barrier: Barrier,
    /// Whether the present batch is the last.
    is_last: AtomicBool,
    /// What the clock of the leading worker said in the present batch, where anything waits for it.
    now_ns: AtomicU64,
    /// By place: whether the transaction goes into the next batch.
    again: Box<[AtomicBool]>,
    /// The last batch that changed an index.
    changed_in: AtomicU64,
    /// The changes of the present batch, by worker, by number of the index.
    changes: Box<[Boxes<'r, S>]>,
    /// The next index to be changed.
    next_index: AtomicUsize,
    /// The last batch in which something fell back.
    fell_back_in: AtomicU64,
    /// By place: the client whose transaction falls back, until its worker takes it home.
    fallen: Box<[Latched<Option<Client<W>>>]>,
}

type Boxes<'r, S> = Box<[Latched<Vec<Change<'r, S>>>]>;

/// Numbers that a table's indexes take: the primary one and two secondary ones.
const INDEXES: usize = 3;

/// The number of the index in which a place is. Should two have the same, they are changed together.
fn number_of(place: Place) -> usize {
    let within = match place.which {
        Which::Primary => 0,
        Which::Secondary { position, .. } => 1 + usize::from(position) % (INDEXES - 1),
    };
    usize::from(place.table.0) * INDEXES + within
}

impl<'r, S: Batching, W: Workload> Shared<'r, S, W> {
    fn new(db: &'r Database<S>, job: &Job) -> Self {
        let indexes = db.tables().iter().count() * INDEXES;
        let boxes = || (0..indexes).map(|_| Latched::default()).collect();
        Self {
            barrier: Barrier::new(job.workers),
            is_last: AtomicBool::new(false),
            now_ns: AtomicU64::new(0),
            again: (0..places_max(db, job)).map(|_| AtomicBool::new(false)).collect(),
            changed_in: AtomicU64::new(0),
            changes: (0..job.workers).map(|_| boxes()).collect(),
            next_index: AtomicUsize::new(0),
            fell_back_in: AtomicU64::new(0),
            fallen: (0..places_max(db, job)).map(|_| Latched::default()).collect(),
        }
    }
}

/// The places of a full batch.
fn places_max<S: Batching>(db: &Database<S>, job: &Job) -> usize {
    db.scheme().batch_max().min(job.clients)
}

/// Keeps the others from waiting for a worker that panics.
struct Alarm<'s, 'r, S: Batching, W: Workload> {
    shared: &'s Shared<'r, S, W>,
    is_armed: bool,
}

impl<S: Batching, W: Workload> Drop for Alarm<'_, '_, S, W> {
    fn drop(&mut self) {
        if self.is_armed {
            self.shared.barrier.leave();
        }
    }
}

/// A request in a batch or on its way into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    client: u32,
    sequence: u64,
    /// Batches that it was in before, aborted or in part.
    retries: u32,
}

/// Forms the batches. A client has one request at a time, and sends the next when that has ended.
#[derive(Debug)]
struct Roster {
    places_max: usize,
    /// Requests of each client.
    requests: u64,
    batch: Vec<Request>,
    /// In the order in which they came.
    queue: VecDeque<Request>,
    /// Nanoseconds that a request takes to come, and the answer to go.
    rtt_ns: u64,
    /// Requests that have not come yet, with the moments at which they will, in this order.
    under_way: VecDeque<(u64, Request)>,
}

impl Roster {
    fn new(clients: u32, requests: u64, places_max: usize, rtt_ns: u64) -> Self {
        let clients = if requests == 0 { 0 } else { clients };
        let queue = (0..clients).map(|client| Request { client, sequence: 0, retries: 0 }).collect();
        Self { places_max, requests, batch: Vec::new(), queue, rtt_ns, under_way: VecDeque::new() }
    }

    /// The next batch, at `now_ns`: first those of the last one that are to run again, in their order, then what has
    /// come since.
    fn form(&mut self, now_ns: u64, again: impl Fn(usize) -> bool) {
        let mut kept = 0;
        for place in 0..self.batch.len() {
            let request = self.batch[place];
            if again(place) {
                self.batch[kept] = Request { retries: request.retries + 1, ..request };
                kept += 1;
            } else if request.sequence + 1 < self.requests {
                let next = Request { sequence: request.sequence + 1, retries: 0, ..request };
                if self.rtt_ns == 0 {
                    self.queue.push_back(next);
                } else {
                    self.under_way.push_back((now_ns + self.rtt_ns, next));
                }
            }
        }
        self.batch.truncate(kept);
        while let Some((_, request)) = self.under_way.pop_front_if(|(comes_ns, _)| *comes_ns <= now_ns) {
            self.queue.push_back(request);
        }
        let free = self.places_max - kept;
        self.batch.extend(self.queue.drain(..free.min(self.queue.len())));
    }

    /// When the next request comes, if any is under way.
    fn next_comes_ns(&self) -> Option<u64> {
        self.under_way.front().map(|(comes_ns, _)| *comes_ns)
    }
}

/// A client of a worker.
struct Client<W: Workload> {
    /// The request that it sent last, once that was executed.
    input: Option<W::Input>,
    kind: usize,
    /// When the request was sent, in ticks.
    birth: u64,
}

impl<W: Workload> fmt::Debug for Client<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("kind", &self.kind).field("birth", &self.birth).finish_non_exhaustive()
    }
}

impl<W: Workload> Client<W> {
    fn input(&self) -> &W::Input {
        self.input.as_ref().expect("generated for the first attempt")
    }

    /// The client goes to another worker, and leaves a place for itself.
    fn leave(&mut self) -> Self {
        Self { input: self.input.take(), ..*self }
    }

    /// Hears how an attempt ended, and what is left of its request.
    fn hear(
        &mut self,
        workload: &W,
        books: &mut Books<'_, W>,
        result: &Result<W::Output, Abort>,
        rest: Option<W::Input>,
    ) {
        let sent = Sent { birth: self.birth, late_ns: 0 };
        books.book(workload, self.kind, sent, self.input(), result, rest.is_none());
        if rest.is_some() {
            self.input = rest;
        } else if !is_aborted(result) {
            self.birth = clock::ticks();
        }
    }
}

/// What is left of a client's request.
fn rest<W: Workload>(
    workload: &W,
    client: &Client<W>,
    result: &Result<W::Output, Abort>,
) -> Option<W::Input> {
    result.as_ref().ok().and_then(|output| workload.rest(client.input(), output))
}

/// Whether a request's time is divided into phases, while there is something to measure.
fn is_sampled(job: &Job, request: &Request) -> bool {
    job.sample_every > 0 && request.sequence.is_multiple_of(job.sample_every)
}

/// What is known of a client's attempt at a place of a batch.
fn ticket<S: Scheme, W: Workload, V: Observe>(
    part: Part<'_, S, W, V>,
    client: &Client<W>,
    place: usize,
    retries: u32,
) -> Ticket {
    let ticket = Ticket::new(client.birth, part.homes(client.input()));
    Ticket { retries, sequence: place as u64 + 1, read_only: W::TYPES[client.kind].read_only, ..ticket }
}

/// An attempt of the present batch, in the session at the same position.
struct Open<W: Workload> {
    place: usize,
    /// The position among this worker's clients.
    client: usize,
    is_sampled: bool,
    /// What came of it so far.
    result: Result<W::Output, Abort>,
    /// What is left of its request.
    rest: Option<W::Input>,
}

/// One worker's part of a run.
struct Worker<'s, 'r, S: Batching, W: Workload, V: Observe> {
    part: Part<'r, S, W, V>,
    shared: &'s Shared<'r, S, W>,
    roster: Roster,
    /// The present batch, from 1.
    batch: u64,
    clients: Vec<Client<W>>,
    sessions: Vec<Session<'r, S, V::Observer>>,
    open: Vec<Open<W>>,
    /// Changes of indexes by this worker's commits, by number of the index.
    outboxes: Vec<Vec<Change<'r, S>>>,
    /// All changes of one index.
    changes: Vec<Change<'r, S>>,
    books: Books<'r, W>,
    scratch: W::Scratch,
}

impl<'s, 'r, S: Batching, W: Workload, V: Observe> Worker<'s, 'r, S, W, V> {
    fn new(part: Part<'r, S, W, V>, shared: &'s Shared<'r, S, W>) -> Self {
        let requests = match part.job.limit {
            Limit::Requests(count) => count,
            Limit::Time { .. } => u64::MAX,
        };
        let birth = clock::ticks();
        Self {
            part,
            shared,
            roster: Roster::new(
                part.job.clients as u32,
                requests,
                places_max(part.db, part.job),
                part.job.traffic.rtt_ns,
            ),
            batch: 0,
            clients: part.clients().map(|_| Client { input: None, kind: 0, birth }).collect(),
            // One at least: it also changes the indexes.
            sessions: vec![part.session()],
            open: Vec::new(),
            outboxes: shared.changes[part.worker].iter().map(|_| Vec::new()).collect(),
            changes: Vec::new(),
            books: Books::new(part.job, part.control, part.worker),
            scratch: W::Scratch::default(),
        }
    }

    /// Runs one batch after the other until the run is over.
    fn serve(&mut self) -> Result<(), Broken> {
        let (shared, control) = (self.shared, self.part.control);
        let leads = self.part.worker == 0;
        if leads {
            self.part.db.scheme().open();
        }
        shared.barrier.wait()?;
        while !shared.is_last.load(Ordering::Relaxed) {
            self.form();
            if self.roster.batch.is_empty() {
                break;
            }
            self.batch += 1;
            let stage = control.stage();
            if self.books.stage != stage {
                self.books.turn(stage);
            }
            self.execute(); // 1
            if shared.barrier.wait()? {
                shared.next_index.store(0, Ordering::Relaxed);
            }
            if leads {
                self.part.db.scheme().turn();
                let is_last = control.stage() == Stage::Stopping || control.is_interrupted();
                shared.is_last.store(is_last, Ordering::Relaxed);
                if self.part.job.traffic.rtt_ns > 0 {
                    shared.now_ns.store(clock::now_ns(), Ordering::Relaxed);
                }
            }
            self.decide(); // 2
            let comes_last = shared.barrier.wait()?;
            let changes = shared.changed_in.load(Ordering::Relaxed) == self.batch;
            let falls_back = shared.fell_back_in.load(Ordering::Relaxed) == self.batch;
            // Where something falls back, whoever comes last does the rest of the batch: any of them may.
            if changes && (comes_last || !falls_back) {
                self.change_indexes(); // 3
            }
            if falls_back && comes_last {
                self.fall_back(); // 4
            }
            if changes || falls_back {
                shared.barrier.wait()?;
            }
            self.settle();
        }
        if leads {
            self.part.db.scheme().close();
        }
        // Nobody leaves before all are past what may panic.
        shared.barrier.wait().map(|_| ())
    }

    /// Forms the next batch; waits if all requests are under way.
    fn form(&mut self) {
        let shared = self.shared;
        let now_ns = shared.now_ns.load(Ordering::Relaxed);
        self.roster.form(now_ns, |place| shared.again[place].load(Ordering::Relaxed));
        if self.roster.batch.is_empty()
            && let Some(comes_ns) = self.roster.next_comes_ns()
        {
            waiter::pause_ns(comes_ns.saturating_sub(clock::now_ns()));
            // By its own moment, which all workers know alike.
            self.roster.form(comes_ns, |_| unreachable!("the batch is empty"));
        }
    }

    /// Step 1.
    fn execute(&mut self) {
        let Part { workload, job, worker, .. } = self.part;
        for (place, request) in self.roster.batch.iter().enumerate() {
            let id = request.client as usize;
            if id % job.workers != worker {
                continue;
            }
            let client = &mut self.clients[id / job.workers];
            if request.retries == 0 {
                let mut rng = Rng::from_path(&[job.seed, u64::from(request.client), request.sequence]);
                let input = workload.generate(ClientId(request.client), request.sequence, &mut rng);
                client.kind = workload.kind(&input);
                client.input = Some(input);
            }
            let input = client.input();
            let ticket = ticket(self.part, client, place, request.retries);
            if self.open.len() == self.sessions.len() {
                self.sessions.push(self.part.session());
            }
            let session = &mut self.sessions[self.open.len()];
            let is_sampled = is_sampled(job, request) && self.books.stage == Stage::Measured;
            if is_sampled {
                session.meter().start();
            }
            let scratch = &mut self.scratch;
            let result = session.execute(&ticket, |txn| workload.execute(input, scratch, txn));
            if result.is_ok() {
                session.reserve();
            }
            self.open.push(Open { place, client: id / job.workers, is_sampled, result, rest: None });
        }
        if job.pause_ns > 0 && !self.open.is_empty() {
            waiter::pause_ns(job.pause_ns);
        }
    }

    /// Step 2.
    fn decide(&mut self) {
        let Part { db, workload, control, job, worker, .. } = self.part;
        for (open, session) in self.open.iter_mut().zip(&mut self.sessions) {
            let executed = mem::replace(&mut open.result, Err(Abort::Stopped));
            let outboxes = &mut self.outboxes;
            let keep = |change: Change<'r, S>| outboxes[number_of(change.place)].push(change);
            open.result = session.finish_in_batch(executed, keep);
            pay(job, &open.result, session.meter());
            if open.is_sampled {
                session.meter().stop();
            }
            let client = &mut self.clients[open.client];
            open.rest = rest(workload, client, &open.result);
            let is_aborted = is_aborted(&open.result);
            // What is left of a request comes as early as what aborted.
            self.shared.again[open.place].store(open.rest.is_some() || is_aborted, Ordering::Relaxed);
            if open.rest.is_none() {
                control.count(worker, open.result.is_ok());
            }
            if is_aborted && db.scheme().falls_back() {
                *self.shared.fallen[open.place].lock() = Some(client.leave());
                self.shared.fell_back_in.store(self.batch, Ordering::Relaxed);
            }
        }
        for (outbox, shared) in self.outboxes.iter_mut().zip(&self.shared.changes[worker]) {
            if !outbox.is_empty() {
                mem::swap(outbox, &mut shared.lock());
                self.shared.changed_in.store(self.batch, Ordering::Relaxed);
            }
        }
    }

    /// Step 3.
    fn change_indexes(&mut self) {
        loop {
            let number = self.shared.next_index.fetch_add(1, Ordering::Relaxed);
            if number >= self.outboxes.len() {
                return;
            }
            for boxes in &self.shared.changes {
                self.changes.append(&mut boxes[number].lock());
            }
            if !self.changes.is_empty() {
                // A key changes once in a batch, so the order is the same whoever gathered them.
                self.changes.sort_unstable_by_key(|change| change.place);
                self.sessions[0].change_indexes(self.changes.drain(..));
            }
        }
    }

    /// Step 4.
    fn fall_back(&mut self) {
        let Part { db, workload, control, job, worker, .. } = self.part;
        for (place, request) in self.roster.batch.iter().enumerate() {
            let Some(mut client) = self.shared.fallen[place].lock().take() else { continue };
            let ticket = ticket(self.part, &client, place, request.retries + 1);
            let session = &mut self.sessions[0];
            let is_sampled = is_sampled(job, request) && self.books.stage == Stage::Measured;
            if is_sampled {
                session.meter().start();
            }
            let scratch = &mut self.scratch;
            let result = session.attempt(&ticket, |txn| {
                let output = workload.execute(client.input(), scratch, txn)?;
                if job.pause_ns > 0 {
                    txn.pause(job.pause_ns);
                }
                Ok(output)
            });
            pay(job, &result, session.meter());
            if is_sampled {
                session.meter().stop();
            }
            let rest = rest(workload, &client, &result);
            self.shared.again[place].store(rest.is_some() || is_aborted(&result), Ordering::Relaxed);
            if rest.is_none() {
                control.count(worker, result.is_ok());
            }
            client.hear(workload, &mut self.books, &result, rest);
            *self.shared.fallen[place].lock() = Some(client);
        }
        db.scheme().turn();
    }

    /// The clients hear how their requests ended, and send others.
    fn settle(&mut self) {
        let Part { db, workload, worker, .. } = self.part;
        for open in self.open.drain(..) {
            let client = &mut self.clients[open.client];
            if let Some(fallen) = self.shared.fallen[open.place].lock().take() {
                *client = fallen;
            }
            client.hear(workload, &mut self.books, &open.result, open.rest);
        }
        db.scheme().maintain(worker);
    }

    /// What was counted.
    fn close(mut self) -> (Tally, W::Ledger) {
        for session in &mut self.sessions {
            self.books.add_phases(session.meter().take());
        }
        self.books.end();
        self.books.into_parts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(roster: &Roster) -> Vec<(u32, u64, u32)> {
        roster.batch.iter().map(|request| (request.client, request.sequence, request.retries)).collect()
    }

    #[test]
    fn aborted_requests_come_first_in_their_order_and_then_the_longest_waiting() {
        let mut roster = Roster::new(5, u64::MAX, 3, 0);
        roster.form(0, |_| unreachable!("there was no batch before"));
        assert_eq!(clients(&roster), [(0, 0, 0), (1, 0, 0), (2, 0, 0)]);
        roster.form(0, |place| place != 1);
        assert_eq!(clients(&roster), [(0, 0, 1), (2, 0, 1), (3, 0, 0)]);
        roster.form(0, |place| place == 1);
        assert_eq!(clients(&roster), [(2, 0, 2), (4, 0, 0), (1, 1, 0)]);
        roster.form(0, |_| false);
        assert_eq!(clients(&roster), [(0, 1, 0), (3, 1, 0), (2, 1, 0)]);
    }

    #[test]
    fn every_client_sends_its_requests_and_no_more() {
        let mut roster = Roster::new(3, 2, 2, 0);
        let mut sent = Vec::new();
        roster.form(0, |_| false);
        while !roster.batch.is_empty() {
            sent.extend(clients(&roster));
            roster.form(0, |_| false);
        }
        sent.sort_unstable();
        assert_eq!(sent, [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (2, 0, 0), (2, 1, 0)]);
        let mut none = Roster::new(3, 0, 2, 0);
        none.form(0, |_| false);
        assert!(none.batch.is_empty());
    }
    #[test]
    fn a_request_takes_a_round_trip_to_come() {
        let mut roster = Roster::new(3, u64::MAX, 2, 100);
        roster.form(0, |_| unreachable!("there was no batch before"));
        assert_eq!(clients(&roster), [(0, 0, 0), (1, 0, 0)]);
        roster.form(10, |place| place == 1);
        assert_eq!(clients(&roster), [(1, 0, 1), (2, 0, 0)], "what aborted is here already");
        roster.form(20, |_| false);
        assert_eq!((clients(&roster), roster.next_comes_ns()), (vec![], Some(110)));
        roster.form(110, |_| unreachable!("the batch was empty"));
        assert_eq!(clients(&roster), [(0, 1, 0)]);
        roster.form(120, |_| false);
        assert_eq!(clients(&roster), [(1, 1, 0), (2, 1, 0)]);
    }
}
