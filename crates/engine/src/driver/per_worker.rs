//! The driver of schemes that run one transaction after the other: each worker serves its clients, on
//! fibers when it has several, so that a waiting attempt gives its worker to another.

use core::cell::RefCell;

use stdx::Rng;
use sync::{clock, fiber, waiter};

use super::{Driver, Job, Limit, Part, Retry, Stage, Tally};
use crate::{Abort, ClientId, Database, Scheme, Session, Ticket, Workload};

/// Runs transactions one by one.
#[derive(Clone, Copy, Debug)]
pub enum PerWorker {}

/// Stack of a client's fiber, in bytes.
const STACK_BYTES: usize = 64 << 10;
/// The first pause after an abort under `Retry::Backoff`, and the longest.
const BACKOFF_NS: (u64, u64) = (500, 500_000);
/// Transactions of a worker between two calls of `Scheme::maintain`.
const MAINTAIN_EVERY: u64 = 16;

impl<S: Scheme> Driver<S> for PerWorker {
    type Shared = ();

    fn shared(_: &Job) {}

    fn work<W: Workload>(part: Part<'_, S, W>, (): &()) -> (Tally, W::Ledger) {
        let books = RefCell::new(Books::<W>::new());
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
        let books = books.into_inner();
        (books.tally, books.ledger)
    }
}

/// What the clients of a worker write into together.
struct Books<W: Workload> {
    tally: Tally,
    ledger: W::Ledger,
    stage: Stage,
    cpu_start_ns: u64,
    idle_start_ns: u64,
    served: u64,
}

impl<W: Workload> Books<W> {
    fn new() -> Self {
        Self {
            tally: Tally::new(W::TYPES.len()),
            ledger: W::Ledger::default(),
            stage: Stage::WarmUp,
            cpu_start_ns: 0,
            idle_start_ns: 0,
            served: 0,
        }
    }

    /// The run has come to another stage.
    #[cold]
    fn turn(&mut self, stage: Stage) {
        if stage == Stage::Measured {
            self.tally.measured_ns.0 = clock::now_ns();
            self.cpu_start_ns = clock::thread_cpu_ns();
            self.idle_start_ns = waiter::thread_idle_ns();
        } else if self.stage == Stage::Measured {
            self.close();
        }
        self.stage = stage;
    }

    fn close(&mut self) {
        self.tally.measured_ns.1 = clock::now_ns();
        self.tally.cpu_ns = clock::thread_cpu_ns() - self.cpu_start_ns;
        self.tally.idle_ns = waiter::thread_idle_ns() - self.idle_start_ns;
    }
}

/// A client and its session.
struct Client<'r, S: Scheme, W: Workload> {
    part: Part<'r, S, W>,
    id: u32,
    books: &'r RefCell<Books<W>>,
    session: Session<'r, S>,
    scratch: W::Scratch,
    rng: Rng,
}

impl<'r, S: Scheme, W: Workload> Client<'r, S, W> {
    fn new(part: Part<'r, S, W>, id: u32, books: &'r RefCell<Books<W>>) -> Self {
        let db: &'r Database<S> = part.db;
        let rng = Rng::from_path(&[part.job.seed, u64::from(id)]);
        Self { part, id, books, session: db.session(), scratch: W::Scratch::default(), rng }
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
            books.served += 1;
            let is_due = books.served.is_multiple_of(MAINTAIN_EVERY);
            drop(books);
            if is_due {
                self.part.db.scheme().maintain(self.part.worker);
            }
            if stage == Stage::Stopping || self.part.control.is_interrupted() {
                break;
            }
            self.request(sequence);
        }
        let mut books = self.books.borrow_mut();
        for (sum, ticks) in books.tally.phase_ticks.iter_mut().zip(self.session.meter().take()) {
            *sum += ticks;
        }
        if books.stage == Stage::Measured {
            books.close();
        }
    }

    /// One request, until it has committed, rolled back, been dropped, or the run is over.
    fn request(&mut self, sequence: u64) {
        let Part { workload, job, .. } = self.part;
        let mut rng = Rng::from_path(&[job.seed, u64::from(self.id), sequence]);
        let input = workload.generate(ClientId(self.id), sequence, &mut rng);
        let kind = workload.kind(&input);
        let is_sampled = job.sample_every > 0
            && sequence.is_multiple_of(job.sample_every)
            && self.part.control.stage() == Stage::Measured;
        let birth = clock::ticks();
        let mut ticket = Ticket::new(birth, workload.homes(&input));
        ticket.read_only = W::TYPES[kind].read_only;
        if is_sampled {
            self.session.meter().start();
        }
        loop {
            let scratch = &mut self.scratch;
            let result = self.session.attempt(&ticket, |txn| {
                let output = workload.execute(&input, scratch, txn)?;
                if job.pause_ns > 0 {
                    waiter::pause_ns(job.pause_ns);
                }
                Ok(output)
            });
            self.book(kind, birth, &input, &result);
            match result {
                Ok(_) | Err(Abort::Rollback) => break,
                Err(_) if job.retry == Retry::Drop || self.part.control.stage() == Stage::Stopping => break,
                Err(_) => {}
            }
            ticket.retries += 1;
            if job.retry == Retry::Backoff {
                let (first, longest) = BACKOFF_NS;
                let ceiling = (first << ticket.retries.min(20)).min(longest);
                waiter::pause_ns(self.rng.below(ceiling));
            } else {
                // Another live attempt of this worker may be the one that stands in the way.
                waiter::give_way();
            }
        }
        if is_sampled {
            self.session.meter().stop();
        }
    }

    /// Writes down how an attempt ended.
    #[inline]
    fn book(&mut self, kind: usize, birth: u64, input: &W::Input, result: &Result<W::Output, Abort>) {
        let books = &mut *self.books.borrow_mut();
        let is_measured = books.stage == Stage::Measured;
        self.part.control.count(self.part.worker, result.is_ok());
        let tally = &mut books.tally.types[kind];
        match result {
            Ok(output) => {
                self.part.workload.committed(&mut books.ledger, input, output);
                if is_measured {
                    tally.commits += 1;
                    tally.latency_ns.record(clock::ticks_to_ns(clock::ticks().wrapping_sub(birth)));
                }
            }
            Err(Abort::Rollback) if is_measured => tally.user_aborts += 1,
            Err(reason) if is_measured => tally.aborts[*reason as usize] += 1,
            Err(_) => {}
        }
    }
}
