//! The driver of schemes that execute and decide in batches.
//!
//! A batch is a list of transactions, numbered from 1 in its order. It goes through these steps, and all
//! workers meet between one and the next:
//!
//! 1. Each worker executes the transactions of its clients. Attempts that want to commit reserve.
//! 2. Each worker decides its transactions, and installs or aborts them.
//! 3. The commits' changes of indexes are made: an index at a time, by the first worker that is free, in the order of
//!    keys. Skipped when there are none.
//! 4. If the scheme falls back, one worker executes the aborted transactions again, in the order of their places: each
//!    transaction alone, with its commit and its changes of indexes. Skipped when nothing aborted; else the same worker
//!    also does step 3, which saves a meeting.
//!
//! The outcome is a function of the inputs alone and not of the number of workers, as long as the scheme decides by
//! numbers in the batch, by records and by leaves: the batches are formed by rule ([`Roster`]), and leaves have the
//! same shape whichever worker changes the indexes.
//!
//! Data that workers hand over in one step is read in a later step: the barrier orders it, so every access may be
//! Relaxed.
//!
//! A transaction's wait before its commit delays nothing but its batch, and the waits of a batch pass at the same time,
//! since no transaction holds what another one waits for: so each worker waits once, after the last of its
//! transactions. A transaction that executes alone holds everything, and waits by itself.

use core::mem;

use storage::{LeafRef, Which};
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{Broken, Latched, hint, waiter};

use super::batch::{self, Alarm, Board, Desk, Left, has_rest, is_sampled, ticket};
use super::{Driver, Job, Part, Stage, Tally, is_aborted, pay};
use crate::session::{Change, Place};
use crate::{Abort, Batching, Database, InsertAt, Ledger, Observe, Scheme, Scratch, Session};

/// Runs transactions in batches.
#[derive(Clone, Copy, Debug)]
pub enum Batched {}

impl<S: Batching> Driver<S> for Batched {
    type Shared<'r> = Shared<'r, S>;
    const INSERT: InsertAt = InsertAt::Install;

    fn refuses(job: &Job) -> Option<&'static str> {
        batch::refuses(job)
    }

    fn shared<'r>(db: &'r Database<S>, job: &Job) -> Shared<'r, S> {
        Shared::new(db, job)
    }

    fn work<'r, V: Observe>(part: Part<'r, S, V>, shared: &Shared<'r, S>) -> (Tally, Ledger) {
        let alarm = Alarm::new(&shared.board.barrier, || ());
        let mut worker = Worker::new(part, shared);
        // If another worker has panicked, the run ends with that panic.
        _ = worker.serve();
        alarm.disarm();
        worker.close()
    }

    #[inline]
    fn claim<'db>(
        scheme: &'db S,
        txn: &mut S::Txn<'db>,
        leaf: LeafRef<'db, S::Leaf>,
        key: u64,
    ) -> Result<(), Abort> {
        scheme.claim(txn, leaf, key)
    }
}

/// State shared by all workers of a run.
#[derive(Debug)]
pub struct Shared<'r, S: Scheme> {
    board: Board,
    /// The last batch that changed an index.
    changed_in: AtomicU64,
    /// The changes of the present batch, by worker, by number of the index.
    changes: Box<[Boxes<'r, S>]>,
    /// The next index to be changed.
    next_index: AtomicUsize,
    /// The number of the last batch in which a transaction fell back.
    fell_back_in: AtomicU64,
    /// By place: the client whose transaction falls back, until its worker takes it home.
    fallen: Box<[Latched<Option<Left>>]>,
}

type Boxes<'r, S> = Box<[Latched<Vec<Change<'r, S>>>]>;

/// The numbers of a table's indexes: one for the primary index and two for secondary ones.
const INDEXES: usize = 3;

/// The number of the index that a place is in. Two indexes with the same number are changed together.
fn number_of(place: Place) -> usize {
    let within = match place.which {
        Which::Primary => 0,
        Which::Secondary { position, .. } => 1 + usize::from(position) % (INDEXES - 1),
    };
    usize::from(place.table.0) * INDEXES + within
}

impl<'r, S: Batching> Shared<'r, S> {
    fn new(db: &'r Database<S>, job: &Job) -> Self {
        let indexes = db.tables().iter().count() * INDEXES;
        let boxes = || (0..indexes).map(|_| Latched::default()).collect();
        Self {
            board: Board::new(job, places_max(db, job)),
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

/// An attempt of the present batch, in the session at the same position.
struct Open {
    place: usize,
    /// The position among this worker's clients.
    client: usize,
    is_sampled: bool,
    /// The result so far.
    result: Result<(), Abort>,
    /// Whether something is left of its request.
    has_rest: bool,
}

/// One worker's part of a run.
struct Worker<'s, 'r, S: Batching, V: Observe> {
    part: Part<'r, S, V>,
    shared: &'s Shared<'r, S>,
    desk: Desk<'s, 'r, S, V>,
    sessions: Vec<Session<'r, S, V::Observer, V::Sink>>,
    open: Vec<Open>,
    /// Changes of indexes by this worker's commits, by number of the index.
    outboxes: Vec<Vec<Change<'r, S>>>,
    /// All changes of one index.
    changes: Vec<Change<'r, S>>,
    scratch: Scratch,
}

impl<'s, 'r, S: Batching, V: Observe> Worker<'s, 'r, S, V> {
    fn new(part: Part<'r, S, V>, shared: &'s Shared<'r, S>) -> Self {
        Self {
            part,
            shared,
            desk: Desk::new(part, &shared.board, places_max(part.db, part.job)),
            // At least one session: it also changes the indexes.
            sessions: vec![part.session()],
            open: Vec::new(),
            outboxes: shared.changes[part.worker].iter().map(|_| Vec::new()).collect(),
            changes: Vec::new(),
            scratch: part.program.scratch(),
        }
    }

    /// Runs one batch after the other until the run is over.
    fn serve(&mut self) -> Result<(), Broken> {
        let (shared, barrier, leads) = (self.shared, &self.shared.board.barrier, self.desk.leads());
        if leads {
            self.part.db.scheme().open();
        }
        barrier.wait()?;
        while !shared.board.is_last() && self.desk.form()? {
            self.execute(); // 1
            if barrier.wait()? {
                shared.next_index.store(0, Ordering::Relaxed);
            }
            if leads {
                self.part.db.scheme().turn();
                self.desk.lead();
            }
            self.decide(); // 2
            let comes_last = barrier.wait()?;
            let batch = self.desk.roster.number;
            let changes = shared.changed_in.load(Ordering::Relaxed) == batch;
            let falls_back = shared.fell_back_in.load(Ordering::Relaxed) == batch;
            // Where a transaction falls back, the last worker at the barrier does the rest of the batch: any worker
            // may.
            if changes && (comes_last || !falls_back) {
                self.change_indexes(); // 3
            }
            if falls_back && comes_last {
                self.fall_back(); // 4
            }
            if changes || falls_back {
                barrier.wait()?;
            }
            self.settle();
        }
        self.desk.finish();
        if leads {
            self.part.db.scheme().close();
        }
        // No worker leaves before all are past the code that may panic.
        barrier.wait().map(|_| ())
    }

    /// Step 1.
    fn execute(&mut self) {
        let Part { program, job, worker, .. } = self.part;
        let Desk { roster, clients, books, .. } = &mut self.desk;
        for (place, request) in roster.batch.iter().enumerate() {
            let id = request.client as usize;
            if id % job.workers != worker {
                continue;
            }
            let client = &mut clients[id / job.workers];
            client.send(self.part, request);
            let ticket = ticket(self.part, client, place, request.retries);
            if self.open.len() == self.sessions.len() {
                self.sessions.push(self.part.session());
            }
            let session = &mut self.sessions[self.open.len()];
            let is_sampled = is_sampled(job, request) && books.stage == Stage::Measured;
            if is_sampled {
                session.meter().start();
            }
            let (call, scratch) = (&mut client.call, &mut self.scratch);
            let result = session.execute(&ticket, |txn| program.execute(call, scratch, txn));
            if result.is_ok() {
                session.reserve();
            }
            self.open.push(Open { place, client: id / job.workers, is_sampled, result, has_rest: false });
        }
        if job.pause_ns > 0 && !self.open.is_empty() {
            waiter::pause_ns(job.pause_ns);
        }
    }

    /// Step 2.
    fn decide(&mut self) {
        let Part { db, control, job, worker, .. } = self.part;
        let Desk { roster, clients, .. } = &mut self.desk;
        for (open, session) in self.open.iter_mut().zip(&mut self.sessions) {
            let executed = mem::replace(&mut open.result, Err(Abort::Stopped));
            let outboxes = &mut self.outboxes;
            let keep = |change: Change<'r, S>| outboxes[number_of(change.place)].push(change);
            open.result = session.finish_in_batch(executed, keep);
            pay(job, &open.result, session.meter());
            if open.is_sampled {
                session.meter().stop();
            }
            let client = &mut clients[open.client];
            open.has_rest = has_rest(self.part, client, open.result);
            let is_aborted = is_aborted(&open.result);
            // What is left of a request comes as early as what aborted.
            self.shared.board.set_again(open.place, open.has_rest || is_aborted);
            if !open.has_rest {
                control.count(worker, open.result.is_ok());
            }
            if is_aborted && db.scheme().falls_back() {
                *self.shared.fallen[open.place].lock() = Some(Left::new(client.leave()));
                self.shared.fell_back_in.store(roster.number, Ordering::Relaxed);
            }
        }
        for (outbox, shared) in self.outboxes.iter_mut().zip(&self.shared.changes[worker]) {
            if !outbox.is_empty() {
                mem::swap(outbox, &mut shared.lock());
                self.shared.changed_in.store(roster.number, Ordering::Relaxed);
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
                let mut sent = boxes[number].lock();
                hint::reads(&sent[..]);
                self.changes.append(&mut sent);
            }
            if !self.changes.is_empty() {
                // A key changes once in a batch, so the order is the same whichever worker gathered the changes.
                self.changes.sort_unstable_by_key(|change| change.place);
                self.sessions[0].change_indexes(self.changes.drain(..));
            }
        }
    }

    /// Step 4.
    fn fall_back(&mut self) {
        let Part { db, control, job, worker, .. } = self.part;
        let Desk { roster, books, .. } = &self.desk;
        for (place, request) in roster.batch.iter().enumerate() {
            let mut fallen = self.shared.fallen[place].lock();
            let Some(Left { client, ended }) = &mut *fallen else { continue };
            let ticket = ticket(self.part, client, place, request.retries + 1);
            let is_sampled = is_sampled(job, request) && books.stage == Stage::Measured;
            let (session, scratch) = (&mut self.sessions[0], &mut self.scratch);
            let result = batch::attempt(self.part, session, &ticket, &mut client.call, scratch, is_sampled);
            let has_rest = has_rest(self.part, client, result);
            self.shared.board.set_again(place, has_rest || is_aborted(&result));
            if !has_rest {
                control.count(worker, result.is_ok());
            }
            *ended = (result, has_rest);
        }
        db.scheme().turn();
    }

    /// Tells the clients how their requests ended, at once or when that is assured.
    fn settle(&mut self) {
        let Part { db, worker, .. } = self.part;
        let desk = &mut self.desk;
        desk.note_commits();
        for Open { place, client, result, has_rest, .. } in self.open.drain(..) {
            let alone = Left::take_home(&self.shared.fallen[place], &mut desk.clients[client]);
            desk.hear(client, (result, has_rest));
            if let Some(ended) = alone {
                desk.hear(client, ended);
            }
        }
        db.scheme().maintain(worker);
    }

    /// Returns the tally and the ledger.
    fn close(mut self) -> (Tally, Ledger) {
        for session in &mut self.sessions {
            self.desk.books.add_phases(session.meter().take());
        }
        self.desk.close()
    }
}
