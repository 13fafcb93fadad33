//! The driver of schemes that run one transaction after the other: each worker serves its clients, on
//! fibers when it has several, so that a waiting attempt gives its worker to another.

use core::cell::RefCell;

use stdx::Rng;
use sync::{clock, fiber, waiter};

use super::books::Books;
use super::{Driver, Job, Limit, Part, Retry, Stage, Tally};
use crate::{Abort, ClientId, Database, Observe, Scheme, Session, Ticket, Workload};

/// Runs transactions one by one.
#[derive(Clone, Copy, Debug)]
pub enum PerWorker {}

/// Stack of a client's fiber, in bytes.
const STACK_BYTES: usize = 64 << 10;
/// How long a client pauses after an abort: a random time below a ceiling that doubles with each abort of
/// the same transaction, from the first of these to the second. Without a pause the attempts that stand in
/// each other's way do so again; and a worker that has no core is waited for rather than run against.
const REGULATED_NS: (u64, u64) = (250, 100_000);
/// The same for `Retry::Backoff`.
const BACKOFF_NS: (u64, u64) = (2_500, 2_000_000);

impl<S: Scheme> Driver<S> for PerWorker {
    type Shared<'r, W: Workload> = ();

    fn shared<W: Workload>(_: &Database<S>, _: &Job) {}

    fn work<W: Workload, V: Observe>(part: Part<'_, S, W, V>, (): &()) -> (Tally, W::Ledger) {
        let books = RefCell::new(Books::<W>::new(part.job, part.control, part.worker));
        let mut clients = part.clients();
        if part.clients().count() == 1 {
            let client = clients.next().expect("counted");
            Client::new(part, client, &books).serve();
        } else {
            let mut crew = fiber::Crew::new();
            for client in clients {
                let books = &books;
                crew.spawn(STACK_BYTES, move || Client::new(part, client, books).serve());
            }
            crew.run();
        }
        books.into_inner().into_parts()
    }
}

/// A client and its session.
struct Client<'b, 'r, S: Scheme, W: Workload, V: Observe> {
    part: Part<'r, S, W, V>,
    id: u32,
    books: &'b RefCell<Books<'r, W>>,
    session: Session<'r, S, V::Observer>,
    scratch: W::Scratch,
    rng: Rng,
}

impl<'b, 'r, S: Scheme, W: Workload, V: Observe> Client<'b, 'r, S, W, V> {
    fn new(part: Part<'r, S, W, V>, id: u32, books: &'b RefCell<Books<'r, W>>) -> Self {
        let rng = Rng::from_path(&[part.job.seed, u64::from(id)]);
        Self { part, id, books, session: part.session(), scratch: W::Scratch::default(), rng }
    }

    /// Sends one request after the other until the run is over.
    fn serve(&mut self) {
        let requests = match self.part.job.limit {
            Limit::Requests(count) => count,
            Limit::Time { .. } => u64::MAX,
        };
        for sequence in 0..requests {
            let stage = self.part.control.stage();
            let mut books = self.books.borrow_mut();
            if books.stage != stage {
                books.turn(stage);
            }
            let is_due = books.is_maintenance_due();
            drop(books);
            if is_due {
                self.part.db.scheme().maintain(self.part.worker);
            }
            if stage == Stage::Stopping || self.part.control.is_interrupted() {
                break;
            }
            self.request(sequence);
            // The worker's other clients want their turn, waiting or not.
            waiter::give_way();
        }
        let mut books = self.books.borrow_mut();
        books.add_phases(self.session.meter().take());
        books.end();
    }

    /// One request, until it has committed as a whole, rolled back, been dropped, or the run is over.
    fn request(&mut self, sequence: u64) {
        let Part { workload, job, .. } = self.part;
        let mut rng = Rng::from_path(&[job.seed, u64::from(self.id), sequence]);
        let mut input = workload.generate(ClientId(self.id), sequence, &mut rng);
        let kind = workload.kind(&input);
        let is_sampled = job.sample_every > 0
            && sequence.is_multiple_of(job.sample_every)
            && self.part.control.stage() == Stage::Measured;
        let birth = clock::ticks();
        let mut ticket = Ticket::new(birth, self.part.homes(&input));
        ticket.read_only = W::TYPES[kind].read_only;
        if is_sampled {
            self.session.meter().start();
        }
        loop {
            let scratch = &mut self.scratch;
            let result = self.session.attempt(&ticket, |txn| {
                let output = workload.execute(&input, scratch, txn)?;
                if job.pause_ns > 0 {
                    txn.pause(job.pause_ns);
                }
                Ok(output)
            });
            let rest = result.as_ref().ok().and_then(|output| workload.rest(&input, output));
            if rest.is_none() {
                self.part.control.count(self.part.worker, result.is_ok());
            }
            self.books.borrow_mut().book(workload, kind, birth, &input, &result, rest.is_none());
            if let Some(rest) = rest {
                if self.part.control.stage() == Stage::Stopping {
                    break;
                }
                input = rest;
                ticket = Ticket { homes: self.part.homes(&input), retries: 0, ..ticket };
                continue;
            }
            match result {
                Ok(_) | Err(Abort::Rollback) => break,
                Err(_) if job.retry == Retry::Drop || self.part.control.stage() == Stage::Stopping => break,
                Err(_) => {}
            }
            // What the request waits for may need maintenance: a row that is to leave the indexes.
            if self.books.borrow_mut().is_maintenance_due() {
                self.part.db.scheme().maintain(self.part.worker);
            }
            ticket.retries += 1;
            let (first, longest) = if job.retry == Retry::Backoff { BACKOFF_NS } else { REGULATED_NS };
            let ceiling = (first << ticket.retries.min(20)).min(longest);
            waiter::pause_ns(self.rng.below(ceiling));
        }
        if is_sampled {
            self.session.meter().stop();
        }
    }
}
