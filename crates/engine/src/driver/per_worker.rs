//! The driver of schemes that run transactions one by one: each worker serves its clients, on fibers when it has
//! several, so that a waiting attempt gives its worker to another one.

use core::cell::RefCell;

use stdx::Rng;
use sync::{clock, fiber, waiter};

use super::arrivals::Queue;
use super::books::Books;
use super::lanes::{self, Hall, Lanes, Task};
use super::regulator::{Lengths, Regulator};
use super::sender::Sender;
use super::traffic::Sent;
use super::turns::{Turn, Turns};
use super::window::Window;
use super::{Arrivals, Driver, Job, Limit, Part, Retry, Stage, Tally, is_aborted};
use crate::{
    Abort, Call, ClientId, Database, Family, Ledger, Meter, Observe, Pace, Scheme, Scratch, Session, Ticket,
};

/// Runs transactions one by one.
#[derive(Clone, Copy, Debug)]
pub enum PerWorker {}

/// Stack of a client's fiber, in bytes.
const STACK_BYTES: usize = 64 << 10;

impl<S: Scheme> Driver<S> for PerWorker {
    type Shared<'r> = Shared;

    const REORDERS: bool = !matches!(S::INFO.family, Family::Reordering);

    fn shared(_: &Database<S>, job: &Job) -> Shared {
        let lanes = job.reorder.map(|reorder| Lanes::new(job, reorder));
        Shared { regulator: Regulator::default(), turns: Turns::new(job), lanes }
    }

    fn work<V: Observe>(part: Part<'_, S, V>, shared: &Shared) -> (Tally, Ledger) {
        let books = RefCell::new(part.books());
        let queue = match part.job.traffic.arrivals {
            Arrivals::Closed => None,
            Arrivals::Open(open) => {
                Some(RefCell::new(Queue::new(part.job, open, part.worker, clock::now_ns())))
            }
        };
        let (lengths, window) = (Lengths::default(), Window::new(part.job));
        let desk = Desk { books: &books, queue: queue.as_ref(), lengths: &lengths, window: &window, shared };
        let hall = shared.lanes.as_ref().map(|lanes| Hall::new(lanes, part.worker, part.clients().count()));
        let mut clients = part.clients();
        if let Some(hall) = &hall {
            let mut crew = fiber::Crew::new();
            for (nth, client) in clients.enumerate() {
                let present = hall.enter(part.control);
                crew.spawn(STACK_BYTES, move || {
                    Client::new(part, client, desk, Some(hall)).serve();
                    present.leave();
                });
                crew.spawn(STACK_BYTES, move || hall.serve(nth, part));
            }
            crew.spawn(STACK_BYTES, || hall.carry());
            crew.run();
        } else if part.clients().count() == 1 {
            let client = clients.next().expect("counted");
            Client::new(part, client, desk, None).serve();
        } else {
            let mut crew = fiber::Crew::new();
            for client in clients {
                crew.spawn(STACK_BYTES, move || Client::new(part, client, desk, None).serve());
            }
            crew.run();
        }
        let mut books = books.into_inner();
        books.add_arrived(queue.map(|queue| queue.into_inner().arrived()).unwrap_or_default());
        books.into_parts()
    }
}

/// State that the clients of all workers share.
#[derive(Debug)]
pub struct Shared {
    regulator: Regulator,
    turns: Turns,
    /// Where requests are executed, if they are reordered.
    lanes: Option<Lanes>,
}

/// State shared by the clients of a worker.
#[derive(Clone, Copy)]
struct Desk<'b, 'r> {
    books: &'b RefCell<Books<'r>>,
    /// The arrivals of an open loop.
    queue: Option<&'b RefCell<Queue>>,
    /// The lengths of the clients' attempts.
    lengths: &'b Lengths,
    /// The number of attempts that may be under way.
    window: &'b Window,
    /// State shared by the clients of all workers.
    shared: &'b Shared,
}

impl Desk<'_, '_> {
    /// The run has come to another stage: what arrived before belongs to the last one.
    #[cold]
    fn turn(&self, stage: Stage) {
        let mut books = self.books.borrow_mut();
        if let Some(queue) = self.queue {
            queue.borrow_mut().admit(clock::now_ns(), books.stage);
        }
        books.turn(stage);
    }
}

/// A client.
struct Client<'b, 'r, S: Scheme, V: Observe> {
    part: Part<'r, S, V>,
    id: u32,
    desk: Desk<'b, 'r>,
    sender: Sender<'b>,
    place: Place<'b, 'r, S, V>,
    call: Call,
    rng: Rng,
}

/// Where the attempts of a client are executed.
enum Place<'b, 'r, S: Scheme, V: Observe> {
    /// By the client itself.
    Here(Session<'r, S, V::Observer, V::Sink>, Scratch),
    /// By a lane, perhaps of another worker. The task is the client's while none of its attempts is under way.
    Lanes(&'b Hall<'b>, Meter, Option<Box<Task>>),
}

impl<S: Scheme, V: Observe> Place<'_, '_, S, V> {
    fn meter(&mut self) -> &mut Meter {
        match self {
            Self::Here(session, _) => session.meter(),
            Self::Lanes(_, meter, _) => meter,
        }
    }
}

impl<'b, 'r: 'b, S: Scheme, V: Observe> Client<'b, 'r, S, V> {
    fn new(part: Part<'r, S, V>, id: u32, desk: Desk<'b, 'r>, hall: Option<&'b Hall<'b>>) -> Self {
        let rng = Rng::from_path(&[part.job.seed, u64::from(id)]);
        let sender = Sender::new(part.job, part.control, desk.queue, id);
        let mut place = match hall {
            Some(hall) => Place::Lanes(hall, Meter::default(), Some(Task::new(id, part.program.call()))),
            None => Place::Here(part.session(), part.program.scratch()),
        };
        place.meter().converse(part.job.traffic.opening_ns());
        Self { part, id, desk, sender, place, call: part.program.call(), rng }
    }

    /// Sends one request after the other until the run is over.
    fn serve(&mut self) {
        let requests = match self.part.job.limit {
            Limit::Requests(count) => count,
            Limit::Time { .. } | Limit::Estimate(_) => u64::MAX,
        };
        for sequence in 0..requests {
            let stage = self.turn();
            if stage == Stage::Stopping || self.part.control.is_interrupted() {
                break;
            }
            self.request(sequence);
            // The worker's other clients want their turn, waiting or not.
            waiter::give_way();
        }
        let mut books = self.desk.books.borrow_mut();
        books.add_phases(self.place.meter().take());
        books.end();
    }

    /// Reads the stage of the run, and does the work that is due between two requests.
    #[inline]
    fn turn(&mut self) -> Stage {
        let stage = self.stage();
        self.maintain();
        stage
    }

    /// Reads the stage of the run.
    #[inline]
    fn stage(&self) -> Stage {
        let stage = self.part.control.stage();
        if self.desk.books.borrow().stage != stage {
            self.desk.turn(stage);
        }
        stage
    }

    /// Calls `Scheme::maintain` every few attempts.
    #[inline]
    fn maintain(&mut self) {
        let is_due = self.desk.books.borrow_mut().is_maintenance_due();
        if is_due {
            self.part.db.scheme().maintain(self.part.worker);
        }
    }

    /// Serves one request, until it has committed as a whole, rolled back, been dropped, or the run is over.
    fn request(&mut self, sequence: u64) {
        let Part { program, types, job, .. } = self.part;
        let mut rng = Rng::from_path(&[job.seed, u64::from(self.id), sequence]);
        program.generate(&mut self.call, ClientId(self.id), sequence, &mut rng);
        let kind = self.call.kind;
        let pace = if job.traffic.is_paced { program.pace(kind) } else { Pace::NONE };
        let Some(mut sent) = self.sender.send(sequence, pace) else { return };
        // A long wait may have led into another stage.
        let stage = self.stage();
        let is_sampled =
            job.sample_every > 0 && sequence.is_multiple_of(job.sample_every) && stage == Stage::Measured;
        let mut ticket = Ticket::new(sent.birth, self.part.homes(&self.call));
        ticket.kind = kind;
        ticket.read_only = types[kind].read_only;
        ticket.is_sampled = is_sampled;
        if is_sampled {
            self.place.meter().start();
        }
        let window = self.desk.window;
        let mut inside = (!window.admits_attempts()).then(|| window.enter());
        let mut turn = self.desk.shared.turns.client(self.part.worker, window);
        let mut began = sent.birth;
        loop {
            let running = turn.begin(|| self.is_over());
            // After the wait for turns: who has one must be able to enter.
            let inside_alone = window.admits_attempts().then(|| window.enter());
            began = if inside_alone.is_some() { clock::ticks() } else { began };
            window.begun();
            let result = self.attempt(&ticket);
            window.ended(is_aborted(&result));
            drop(inside_alone);
            self.learn_length(result.is_ok(), ticket.retries, began);
            drop(running);
            let has_rest = result.is_ok() && program.has_rest(&mut self.call);
            if result.is_ok()
                && !has_rest
                && let Some(present) = self.part.observe.present()
            {
                // Other clients run while this one waits for the device.
                inside = None;
                let _aside = window.aside();
                self.part.observe.assure(present);
            }
            if !has_rest {
                self.part.control.count(self.part.worker, result.is_ok());
            }
            self.book(kind, sent, result, has_rest);
            if has_rest {
                self.end(&mut turn);
                if self.part.control.stage() == Stage::Stopping {
                    break;
                }
                ticket = Ticket { homes: self.part.homes(&self.call), retries: 0, ..ticket };
                self.open_again(0);
                began = clock::ticks();
                continue;
            }
            match result {
                Ok(()) | Err(Abort::Rollback) => break,
                Err(_) if job.retry == Retry::Drop || self.is_over() => break,
                Err(_) => {}
            }
            ticket.retries += 1;
            sent.retries += 1;
            self.step_aside(&mut turn, ticket.retries, began);
            began = clock::ticks();
        }
        drop(inside);
        self.end(&mut turn);
        if is_sampled {
            self.place.meter().stop();
        }
        self.sender.answered(pace);
    }

    /// Records how long an attempt took if it has committed and pauses depend on it.
    #[inline]
    fn learn_length(&self, has_committed: bool, retries: u32, began: u64) {
        if has_committed && self.part.job.retry == Retry::Backoff && self.desk.lengths.matter(retries) {
            self.desk.lengths.add_committed(since_ns(began));
        }
    }

    /// Waits, after `retries` aborts of the transaction, until another attempt has better prospects. The aborted
    /// attempt began at `began`, in ticks.
    fn step_aside(&mut self, turn: &mut Turn<'_>, retries: u32, began: u64) {
        // The request may wait for something that needs maintenance: a row that is to leave the indexes.
        self.maintain();
        let Shared { regulator, .. } = self.desk.shared;
        let lengths = self.desk.lengths;
        lengths.add_aborted(since_ns(began));
        if self.part.job.retry == Retry::Climb {
            regulator.climb(clock::now_ns(), || self.part.control.progress().0, &mut self.rng);
        }
        let pause_ns = match turn.failed(retries, || self.is_over()) {
            // The transaction has just got a turn: no other attempt is in its way.
            0 => 0,
            retries => {
                let backs_off = self.part.job.retry == Retry::Backoff;
                let attempt_ns = if backs_off { lengths.usual_ns() } else { lengths.aborted_ns() };
                regulator.pause_ns(self.part.job, retries, attempt_ns, &mut self.rng)
            }
        };
        lengths.step_aside();
        self.open_again(pause_ns);
        lengths.come_back();
    }

    /// Books the end of an attempt.
    #[inline]
    fn book(&mut self, kind: usize, sent: Sent, result: Result<(), Abort>, has_rest: bool) {
        let books = &mut *self.desk.books.borrow_mut();
        if result.is_ok() {
            self.part.program.committed(&mut books.ledger, &mut self.call);
        }
        books.book(kind, sent, result, !has_rest);
    }

    /// Whether the run is over, so that waiting ends.
    fn is_over(&self) -> bool {
        self.part.control.stage() == Stage::Stopping || self.part.control.is_interrupted()
    }

    /// Ends a transaction, in a turn or not.
    #[inline]
    fn end(&self, turn: &mut Turn<'_>) {
        if let Some(of) = turn.end() {
            self.desk.books.borrow_mut().count_turn(of);
        }
    }

    /// Executes one attempt of a transaction.
    #[inline]
    fn attempt(&mut self, ticket: &Ticket) -> Result<(), Abort> {
        let Self { part, place, call, .. } = self;
        match place {
            Place::Here(session, scratch) => lanes::attempt(*part, session, scratch, ticket, call),
            Place::Lanes(hall, meter, own) => {
                // Without a task, the last one was lost in another worker's panic, which ends the run.
                let mut task = own.take().ok_or(Abort::Stopped)?;
                if ticket.retries == 0 {
                    task.footprint.clear();
                    part.program.footprint(call, &mut task.footprint);
                }
                task.ticket.clone_from(ticket);
                core::mem::swap(&mut task.call, call);
                core::mem::swap(&mut task.meter, meter);
                let (mut task, result) = hall.execute(task).ok_or(Abort::Stopped)?;
                core::mem::swap(&mut task.call, call);
                core::mem::swap(&mut task.meter, meter);
                *own = Some(task);
                result
            }
        }
    }

    /// Waits before another transaction of a request, or another attempt: for `pause_ns` and the message that opens it.
    #[inline]
    fn open_again(&self, pause_ns: u64) {
        let pause_ns = pause_ns + self.part.job.traffic.opening_ns();
        if pause_ns > 0 {
            waiter::pause_ns(pause_ns);
        }
    }
}

/// The nanoseconds since a time in ticks.
fn since_ns(began: u64) -> u64 {
    clock::ticks_to_ns(clock::ticks().wrapping_sub(began))
}
