//! What the drivers of batches share: how batches are formed of requests, and what a client knows of its own.
//!
//! The batches are formed by rule ([`Roster`], of which each worker has its own copy). A client's next request takes a
//! round trip to come. Whether it has come is told by the clock of the leading worker alone, which all others take
//! over, so that they still form the same batches.
//!
//! Where clients hear of a commit only when it is [assured](Observe::present), those of a batch wait, and no worker
//! does: further batches are formed of what other clients send, and of what is to run again, until nobody has anything
//! to send. The leading worker says once a batch up to which one all are assured ([`Board`]); then each worker's
//! clients hear what was held back ([`Desk`]), and their next requests come.
//!
//! What a worker says on the board in one step of a batch is read in a later one: the barrier orders it, so every
//! access may be Relaxed.

use core::fmt;
use std::collections::VecDeque;

use stdx::Rng;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Barrier, Broken, Latched, clock, waiter};

use super::books::Books;
use super::traffic::Sent;
use super::{Arrivals, Job, Limit, Mode, Part, Retry, Stage, Tally, is_aborted, pay};
use crate::{Abort, ClientId, Observe, Scheme, Session, Ticket, Transaction, Workload};

/// Why there can be no batches for a job, if there cannot.
pub(super) fn refuses(job: &Job) -> Option<&'static str> {
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

/// A request in a batch or on its way into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) client: u32,
    pub(super) sequence: u64,
    /// Batches that it was in before, aborted or in part.
    pub(super) retries: u32,
}

/// What all workers form the next batch by.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// What the clock of the leading worker has said, where anything waits for it.
    now_ns: u64,
    /// The last batch that is assured, with all before it, where clients wait for that.
    assured: u64,
}

/// Forms the batches. A client has one request at a time, and sends the next when that has ended and it has heard so.
#[derive(Debug)]
pub(super) struct Roster {
    places_max: usize,
    /// Requests of each client.
    requests: u64,
    /// The number of the present batch, from 1.
    pub(super) number: u64,
    pub(super) batch: Vec<Request>,
    /// In the order in which they came.
    queue: VecDeque<Request>,
    /// Whether clients hear of a batch when it is assured, and not at once.
    holds_back: bool,
    /// What clients will send when they hear of a batch, with its number, in this order.
    held_back: VecDeque<(u64, Request)>,
    /// Nanoseconds that a request takes to come, and the answer to go.
    rtt_ns: u64,
    /// Requests that have not come yet, with the moments at which they will, in this order.
    under_way: VecDeque<(u64, Request)>,
}

impl Roster {
    fn new(clients: u32, requests: u64, places_max: usize, rtt_ns: u64, holds_back: bool) -> Self {
        let clients = if requests == 0 { 0 } else { clients };
        let queue = (0..clients).map(|client| Request { client, sequence: 0, retries: 0 }).collect();
        Self {
            places_max,
            requests,
            number: 0,
            batch: Vec::new(),
            queue,
            holds_back,
            held_back: VecDeque::new(),
            rtt_ns,
            under_way: VecDeque::new(),
        }
    }

    /// The next batch: first those of the last one that are to run again, in their order, then what has come since.
    fn form(&mut self, News { now_ns, assured }: News, again: impl Fn(usize) -> bool) {
        let mut kept = 0;
        for place in 0..self.batch.len() {
            let request = self.batch[place];
            if again(place) {
                self.batch[kept] = Request { retries: request.retries + 1, ..request };
                kept += 1;
            } else if request.sequence + 1 < self.requests {
                let next = Request { sequence: request.sequence + 1, retries: 0, ..request };
                if self.holds_back {
                    self.held_back.push_back((self.number, next));
                } else {
                    self.send(now_ns, next);
                }
            }
        }
        self.batch.truncate(kept);
        while let Some((_, next)) = self.held_back.pop_front_if(|(number, _)| *number <= assured) {
            self.send(now_ns, next);
        }
        while let Some((_, request)) = self.under_way.pop_front_if(|(comes_ns, _)| *comes_ns <= now_ns) {
            self.queue.push_back(request);
        }
        let free = self.places_max - kept;
        self.batch.extend(self.queue.drain(..free.min(self.queue.len())));
        self.number += u64::from(!self.batch.is_empty());
    }

    /// A client has heard of its last request, and sends another.
    fn send(&mut self, now_ns: u64, next: Request) {
        if self.rtt_ns == 0 {
            self.queue.push_back(next);
        } else {
            self.under_way.push_back((now_ns + self.rtt_ns, next));
        }
    }

    /// As [`form`](Self::form); waits if all requests are under way.
    fn form_in_time(&mut self, news: News, again: impl Fn(usize) -> bool) {
        self.form(news, again);
        if self.batch.is_empty()
            && self.held_back.is_empty()
            && let Some(comes_ns) = self.next_comes_ns()
        {
            waiter::pause_ns(comes_ns.saturating_sub(clock::now_ns()));
            // By its own moment, which all workers know alike.
            self.form(News { now_ns: comes_ns, ..news }, |_| unreachable!("the batch is empty"));
        }
    }

    /// When the next request comes, if any is under way.
    fn next_comes_ns(&self) -> Option<u64> {
        self.under_way.front().map(|(comes_ns, _)| *comes_ns)
    }

    /// Whether there is nothing to execute before some client hears of a batch, or a request comes.
    fn is_held_up(&self) -> bool {
        self.batch.is_empty() && !self.held_back.is_empty()
    }
}

/// A client of a worker.
pub(super) struct Client<W: Workload> {
    /// The request that it sent last, once that was executed.
    pub(super) input: Option<W::Input>,
    pub(super) kind: usize,
    /// When the request was sent, in ticks.
    pub(super) birth: u64,
}

impl<W: Workload> fmt::Debug for Client<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("kind", &self.kind).field("birth", &self.birth).finish_non_exhaustive()
    }
}

impl<W: Workload> Client<W> {
    /// A client that has sent nothing yet.
    fn new(birth: u64) -> Self {
        Self { input: None, kind: 0, birth }
    }

    /// Sends a request, unless it is under way already.
    pub(super) fn send(&mut self, workload: &W, seed: u64, request: &Request) {
        if request.retries == 0 {
            let mut rng = Rng::from_path(&[seed, u64::from(request.client), request.sequence]);
            let input = workload.generate(ClientId(request.client), request.sequence, &mut rng);
            self.kind = workload.kind(&input);
            self.input = Some(input);
        }
    }

    pub(super) fn input(&self) -> &W::Input {
        self.input.as_ref().expect("generated for the first attempt")
    }

    /// The client goes to another worker, and leaves a place for itself.
    pub(super) fn leave(&mut self) -> Self {
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

/// A client whose transaction has aborted and is left for one worker to execute alone, until its own takes it home; and
/// what came of it then.
pub(super) struct Left<W: Workload> {
    pub(super) client: Client<W>,
    pub(super) result: Result<W::Output, Abort>,
    /// What is left of its request.
    pub(super) rest: Option<W::Input>,
}

impl<W: Workload> fmt::Debug for Left<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Left").field("client", &self.client).finish_non_exhaustive()
    }
}

impl<W: Workload> Left<W> {
    /// A transaction that was not executed alone yet.
    pub(super) fn new(client: Client<W>) -> Self {
        Self { client, result: Err(Abort::Stopped), rest: None }
    }

    /// Takes a client home that was left at this place, if it was; and what came of its transaction, and what is left
    /// of its request.
    pub(super) fn take_home(place: &Latched<Option<Self>>, home: &mut Client<W>) -> Option<Ended<W>> {
        let Self { client, result, rest } = place.lock().take()?;
        *home = client;
        Some((result, rest))
    }
}

/// How an attempt ended, and what is left of its request.
pub(super) type Ended<W> = (Result<<W as Workload>::Output, Abort>, Option<<W as Workload>::Input>);

/// What the workers tell each other to form the same batches.
#[derive(Debug)]
pub(super) struct Board {
    /// Where all meet between two steps.
    pub(super) barrier: Barrier,
    /// Whether the present batch is the last.
    is_last: AtomicBool,
    /// [`News`], by the leading worker.
    now_ns: AtomicU64,
    assured: AtomicU64,
    /// By place: whether the transaction goes into the next batch.
    again: Box<[AtomicBool]>,
}

impl Board {
    /// For batches of so many places.
    pub(super) fn new(job: &Job, places_max: usize) -> Self {
        Self {
            barrier: Barrier::new(job.workers),
            is_last: AtomicBool::new(false),
            now_ns: AtomicU64::new(0),
            assured: AtomicU64::new(0),
            again: (0..places_max).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Whether the run ends with the present batch.
    pub(super) fn is_last(&self) -> bool {
        self.is_last.load(Ordering::Relaxed)
    }

    /// Whether the transaction at a place goes into the next batch.
    pub(super) fn set_again(&self, place: usize, is_again: bool) {
        self.again[place].store(is_again, Ordering::Relaxed);
    }

    fn news(&self) -> News {
        let (now_ns, assured) = (&self.now_ns, &self.assured);
        News { now_ns: now_ns.load(Ordering::Relaxed), assured: assured.load(Ordering::Relaxed) }
    }
}

/// What a client is to hear when a batch is assured: how its request ended in it.
struct Answer<W: Workload> {
    /// The number of the batch.
    batch: u64,
    /// The position among the worker's clients.
    client: usize,
    result: Result<W::Output, Abort>,
}

/// A worker's clients: what they send, and what they hear.
pub(super) struct Desk<'s, 'r, S: Scheme, W: Workload, V: Observe> {
    part: Part<'r, S, W, V>,
    board: &'s Board,
    pub(super) roster: Roster,
    pub(super) clients: Vec<Client<W>>,
    pub(super) books: Books<'r, W>,
    /// Those of batches that are not assured yet, in the order of these.
    answers: VecDeque<Answer<W>>,
    /// At the leading worker, the numbers of these batches, with what [each waits for](Observe::present).
    awaited: VecDeque<(u64, u64)>,
}

impl<S: Scheme, W: Workload, V: Observe> fmt::Debug for Desk<'_, '_, S, W, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk")
            .field("roster", &self.roster)
            .field("clients", &self.clients)
            .finish_non_exhaustive()
    }
}

impl<'s, 'r, S: Scheme, W: Workload, V: Observe> Desk<'s, 'r, S, W, V> {
    /// Before any request, with batches of so many places.
    pub(super) fn new(part: Part<'r, S, W, V>, board: &'s Board, places_max: usize) -> Self {
        let Part { job, control, worker, observe, .. } = part;
        let requests = match job.limit {
            Limit::Requests(count) => count,
            Limit::Time { .. } => u64::MAX,
        };
        let (clients, rtt_ns, holds_back) =
            (job.clients as u32, job.traffic.rtt_ns, observe.present().is_some());
        let birth = clock::ticks();
        Self {
            part,
            board,
            roster: Roster::new(clients, requests, places_max, rtt_ns, holds_back),
            clients: part.clients().map(|_| Client::new(birth)).collect(),
            books: Books::new(job, control, worker),
            answers: VecDeque::new(),
            awaited: VecDeque::new(),
        }
    }

    /// Whether this worker says what all go by.
    pub(super) fn leads(&self) -> bool {
        self.part.worker == 0
    }

    /// The clients hear what is assured, and the next batch is formed: false if no request is left. Waits if all are
    /// held back or under way.
    pub(super) fn form(&mut self) -> Result<bool, Broken> {
        loop {
            let news = self.board.news();
            self.tell(news.assured);
            let again = |place: usize| self.board.again[place].load(Ordering::Relaxed);
            self.roster.form_in_time(news, again);
            if !self.roster.is_held_up() {
                break;
            }
            self.wait()?;
        }
        if self.roster.batch.is_empty() {
            return Ok(false);
        }
        let stage = self.part.control.stage();
        if self.books.stage != stage {
            self.books.turn(stage);
        }
        Ok(true)
    }

    /// The leading worker waits until the oldest batch that is held back is assured, or a request comes; all others
    /// wait for it.
    #[cold]
    fn wait(&mut self) -> Result<(), Broken> {
        let leads = self.leads();
        if leads {
            let observe = self.part.observe;
            let (_, awaited) = *self.awaited.front().expect("what is held back waits for something");
            match self.roster.next_comes_ns() {
                None => observe.assure(awaited),
                comes_ns => _ = waiter::wait_until(comes_ns, || observe.is_assured(awaited)),
            }
        }
        // All have read the last news before there are others.
        self.board.barrier.wait()?;
        if leads {
            self.post();
        }
        self.board.barrier.wait().map(|_| ())
    }

    /// The leading worker says where the run stands, while no worker looks.
    pub(super) fn lead(&mut self) {
        self.post();
        let control = self.part.control;
        let is_last = control.stage() == Stage::Stopping || control.is_interrupted();
        self.board.is_last.store(is_last, Ordering::Relaxed);
    }

    /// The leading worker writes the news.
    fn post(&mut self) {
        let Part { job, observe, .. } = self.part;
        if job.traffic.rtt_ns > 0 {
            self.board.now_ns.store(clock::now_ns(), Ordering::Relaxed);
        }
        while let Some((number, _)) = self.awaited.pop_front_if(|(_, awaited)| observe.is_assured(*awaited)) {
            self.board.assured.store(number, Ordering::Relaxed);
        }
    }

    /// All of the present batch has been committed that will be.
    pub(super) fn note_commits(&mut self) {
        if self.leads()
            && let Some(awaited) = self.part.observe.present()
        {
            self.awaited.push_back((self.roster.number, awaited));
        }
    }

    /// A client hears how an attempt ended, and what is left of its request; if nothing is, and the batch is to be
    /// assured first, then.
    pub(super) fn hear(&mut self, client: usize, (result, rest): Ended<W>) {
        let Self { part, roster, clients, books, answers, .. } = self;
        if roster.holds_back && rest.is_none() && !is_aborted(&result) {
            answers.push_back(Answer { batch: roster.number, client, result });
        } else {
            clients[client].hear(part.workload, books, &result, rest);
        }
    }

    /// The clients hear what was held back of the batches up to one.
    fn tell(&mut self, assured: u64) {
        while let Some(answer) = self.answers.pop_front_if(|answer| answer.batch <= assured) {
            let client = &mut self.clients[answer.client];
            client.hear(self.part.workload, &mut self.books, &answer.result, None);
        }
    }

    /// After the last batch the clients hear of all that was held back, once it is assured.
    pub(super) fn finish(&mut self) {
        let observe = self.part.observe;
        if let Some(present) = observe.present() {
            observe.assure(present);
        }
        self.tell(u64::MAX);
    }

    /// What was counted.
    pub(super) fn close(mut self) -> (Tally, W::Ledger) {
        self.books.end();
        self.books.into_parts()
    }
}

/// What is left of a client's request.
pub(super) fn rest<W: Workload>(
    workload: &W,
    client: &Client<W>,
    result: &Result<W::Output, Abort>,
) -> Option<W::Input> {
    result.as_ref().ok().and_then(|output| workload.rest(client.input(), output))
}

/// Keeps the others from waiting for a worker that panics.
pub(super) struct Alarm<'b, F: FnMut()> {
    barrier: &'b Barrier,
    /// Tells those who wait elsewhere.
    tell: F,
    is_armed: bool,
}

impl<'b, F: FnMut()> Alarm<'b, F> {
    pub(super) fn new(barrier: &'b Barrier, tell: F) -> Self {
        Self { barrier, tell, is_armed: true }
    }

    /// The worker has come to its end.
    pub(super) fn disarm(mut self) {
        self.is_armed = false;
    }
}

impl<F: FnMut()> Drop for Alarm<'_, F> {
    fn drop(&mut self) {
        if self.is_armed {
            self.barrier.leave();
            (self.tell)();
        }
    }
}

/// Attempts a client's transaction from its beginning to its end.
pub(super) fn attempt<S: Scheme, W: Workload, V: Observe>(
    part: Part<'_, S, W, V>,
    session: &mut Session<'_, S, V::Observer, V::Sink>,
    ticket: &Ticket,
    input: &W::Input,
    scratch: &mut W::Scratch,
    is_sampled: bool,
) -> Result<W::Output, Abort> {
    let Part { workload, job, .. } = part;
    if is_sampled {
        session.meter().start();
    }
    let result = session.attempt(ticket, |txn| {
        let output = workload.execute(input, scratch, txn)?;
        if job.pause_ns > 0 {
            txn.decided();
            txn.pause(job.pause_ns);
        }
        Ok(output)
    });
    pay(job, &result, session.meter());
    if is_sampled {
        session.meter().stop();
    }
    result
}

/// Whether a request's time is divided into phases, while there is something to measure.
pub(super) fn is_sampled(job: &Job, request: &Request) -> bool {
    job.sample_every > 0 && request.sequence.is_multiple_of(job.sample_every)
}

/// What is known of a client's attempt at a place of a batch.
pub(super) fn ticket<S: Scheme, W: Workload, V: Observe>(
    part: Part<'_, S, W, V>,
    client: &Client<W>,
    place: usize,
    retries: u32,
) -> Ticket {
    let ticket = Ticket::new(client.birth, part.homes(client.input()));
    Ticket { retries, sequence: place as u64 + 1, read_only: W::TYPES[client.kind].read_only, ..ticket }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At a moment.
    fn at(now_ns: u64) -> News {
        News { now_ns, assured: 0 }
    }

    /// With all assured up to a batch.
    fn assured(number: u64) -> News {
        News { now_ns: 0, assured: number }
    }

    fn clients(roster: &Roster) -> Vec<(u32, u64, u32)> {
        roster.batch.iter().map(|request| (request.client, request.sequence, request.retries)).collect()
    }

    #[test]
    fn aborted_requests_come_first_in_their_order_and_then_the_longest_waiting() {
        let mut roster = Roster::new(5, u64::MAX, 3, 0, false);
        roster.form(at(0), |_| unreachable!("there was no batch before"));
        assert_eq!(clients(&roster), [(0, 0, 0), (1, 0, 0), (2, 0, 0)]);
        roster.form(at(0), |place| place != 1);
        assert_eq!(clients(&roster), [(0, 0, 1), (2, 0, 1), (3, 0, 0)]);
        roster.form(at(0), |place| place == 1);
        assert_eq!(clients(&roster), [(2, 0, 2), (4, 0, 0), (1, 1, 0)]);
        roster.form(at(0), |_| false);
        assert_eq!(clients(&roster), [(0, 1, 0), (3, 1, 0), (2, 1, 0)]);
    }

    #[test]
    fn every_client_sends_its_requests_and_no_more() {
        let mut roster = Roster::new(3, 2, 2, 0, false);
        let mut sent = Vec::new();
        roster.form(at(0), |_| false);
        while !roster.batch.is_empty() {
            sent.extend(clients(&roster));
            roster.form(at(0), |_| false);
        }
        sent.sort_unstable();
        assert_eq!(sent, [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (2, 0, 0), (2, 1, 0)]);
        let mut none = Roster::new(3, 0, 2, 0, false);
        none.form(at(0), |_| false);
        assert!(none.batch.is_empty());
    }

    #[test]
    fn a_request_takes_a_round_trip_to_come() {
        let mut roster = Roster::new(3, u64::MAX, 2, 100, false);
        roster.form(at(0), |_| unreachable!("there was no batch before"));
        assert_eq!(clients(&roster), [(0, 0, 0), (1, 0, 0)]);
        roster.form(at(10), |place| place == 1);
        assert_eq!(clients(&roster), [(1, 0, 1), (2, 0, 0)], "what aborted is here already");
        roster.form(at(20), |_| false);
        assert_eq!((clients(&roster), roster.next_comes_ns()), (vec![], Some(110)));
        roster.form(at(110), |_| unreachable!("the batch was empty"));
        assert_eq!(clients(&roster), [(0, 1, 0)]);
        roster.form(at(120), |_| false);
        assert_eq!(clients(&roster), [(1, 1, 0), (2, 1, 0)]);
    }

    #[test]
    fn clients_of_a_batch_that_is_not_assured_send_nothing_and_the_others_do() {
        let mut roster = Roster::new(5, u64::MAX, 2, 0, true);
        roster.form(assured(0), |_| unreachable!("there was no batch before"));
        roster.form(assured(0), |place| place == 1);
        assert_eq!(
            (clients(&roster), roster.number),
            (vec![(1, 0, 1), (2, 0, 0)], 2),
            "what aborted does not wait"
        );
        roster.form(assured(0), |_| false);
        assert_eq!(clients(&roster), [(3, 0, 0), (4, 0, 0)]);
        roster.form(assured(1), |_| false);
        assert_eq!(clients(&roster), [(0, 1, 0)], "the one that has ended in the first");
        roster.form(assured(1), |_| false);
        assert!(roster.is_held_up() && roster.number == 4, "{roster:?}");
        roster.form(assured(1), |_| unreachable!("the batch was empty"));
        assert!(roster.is_held_up() && roster.number == 4, "an empty batch has no number");
        roster.form(assured(3), |_| unreachable!("the batch was empty"));
        assert_eq!((clients(&roster), roster.number), (vec![(1, 1, 0), (2, 1, 0)], 5));
        roster.form(assured(5), |_| false);
        assert_eq!(clients(&roster), [(3, 1, 0), (4, 1, 0)], "in the order of their batches");
    }

    #[test]
    fn what_was_held_back_takes_its_round_trip_from_then_on() {
        let mut roster = Roster::new(1, 2, 1, 100, true);
        roster.form(News { now_ns: 0, assured: 0 }, |_| unreachable!("there was no batch before"));
        roster.form(News { now_ns: 10, assured: 0 }, |_| false);
        assert!(roster.is_held_up() && roster.next_comes_ns().is_none());
        roster.form(News { now_ns: 50, assured: 1 }, |_| unreachable!("the batch was empty"));
        assert_eq!((roster.is_held_up(), roster.next_comes_ns()), (false, Some(150)));
        roster.form(News { now_ns: 150, assured: 1 }, |_| unreachable!("the batch was empty"));
        assert_eq!(clients(&roster), [(0, 1, 0)]);
        roster.form(News { now_ns: 200, assured: 1 }, |_| false);
        assert!(roster.batch.is_empty() && !roster.is_held_up(), "it was the client's last");
    }
}
