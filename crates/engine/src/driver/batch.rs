//! The common part of the drivers of batches: forming batches of requests, and the clients' side of requests and
//! answers.
//!
//! The batches are formed by rule ([`Roster`], of which each worker has its own copy). A client's next request takes a
//! round trip to arrive. Whether it has arrived is decided by the clock of the leading worker alone. All other workers
//! adopt its reading, so that they still form the same batches.
//!
//! In some runs, clients hear of a commit only when it is [assured](Observe::present). The clients of a batch then
//! wait, and no worker does: further batches are formed of the requests of other clients, and of transactions that are
//! to run again, until no client has anything to send. Once a batch, the leading worker publishes the number of the
//! last batch that is assured together with all before it ([`Board`]). Each worker's clients then hear the answers that
//! were held back ([`Desk`]), and their next requests arrive.
//!
//! A worker's writes to the board in one step of a batch are read in a later step: the barrier orders them, so every
//! access may be Relaxed.

use core::fmt;
use std::collections::VecDeque;

use stdx::Rng;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Barrier, Broken, Latched, clock, waiter};

use super::books::Books;
use super::traffic::Sent;
use super::{
    Admission, Arrivals, ClientMode, Job, Limit, Part, REFUSES_REORDERING, Retry, Stage, Tally, is_aborted,
    pay,
};
use crate::{Abort, Call, ClientId, Ledger, Observe, Scheme, Scratch, Session, Ticket, Transaction};

/// Returns why a job cannot run in batches; `None` if it can.
pub(super) fn refuses(job: &Job) -> Option<&'static str> {
    let traffic = &job.traffic;
    let refusals = [
        (job.reorder.is_some(), REFUSES_REORDERING),
        (
            job.admission == Admission::Single,
            "the transactions of a batch run together, so that none waits for the end of another of its worker: give \
             `--set run.admission=open`",
        ),
        (
            job.retry == Retry::Drop,
            "in batches an aborted transaction comes first in the next one, which `--retry drop` would deny it: \
             give `--retry same`",
        ),
        (
            traffic.mode == ClientMode::Interactive,
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
    /// Batches that the request was in before, aborted or in part.
    pub(super) retries: u32,
}

/// Shared information by which all workers form the next batch.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// The time on the leading worker's clock, where anything waits for it.
    now_ns: u64,
    /// The number of the last batch that is assured together with all before it, where clients wait for that.
    assured: u64,
}

/// Forms the batches. A client has one request at a time, and sends the next one when it has heard that the last one
/// ended.
#[derive(Debug)]
pub(super) struct Roster {
    places_max: usize,
    /// The number of requests that each client sends.
    requests: u64,
    /// The number of the present batch, from 1.
    pub(super) number: u64,
    pub(super) batch: Vec<Request>,
    /// Requests that wait for a batch, in the order of arrival.
    queue: VecDeque<Request>,
    /// Whether clients hear of a batch when it is assured, and not at once.
    holds_back: bool,
    /// The clients' next requests, each with the number of the batch of which its client has to hear first, in this
    /// order.
    held_back: VecDeque<(u64, Request)>,
    /// The round trip time in nanoseconds: of a request and its answer together.
    rtt_ns: u64,
    /// Requests that have not arrived yet, with their moments of arrival, in this order.
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

    /// Forms the next batch: first the requests of the last batch that are to run again, in their order, then new
    /// arrivals.
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

    /// Sends the next request of a client that has heard of its last one.
    fn send(&mut self, now_ns: u64, next: Request) {
        if self.rtt_ns == 0 {
            self.queue.push_back(next);
        } else {
            self.under_way.push_back((now_ns + self.rtt_ns, next));
        }
    }

    /// Like [`form`](Self::form), but waits if all requests are under way.
    fn form_in_time(&mut self, news: News, again: impl Fn(usize) -> bool) {
        self.form(news, again);
        if self.batch.is_empty()
            && self.held_back.is_empty()
            && let Some(comes_ns) = self.next_comes_ns()
        {
            waiter::pause_ns(comes_ns.saturating_sub(clock::now_ns()));
            // By the request's own moment of arrival, which all workers know alike.
            self.form(News { now_ns: comes_ns, ..news }, |_| unreachable!("the batch is empty"));
        }
    }

    /// The moment at which the next request arrives, if any is under way.
    fn next_comes_ns(&self) -> Option<u64> {
        self.under_way.front().map(|(comes_ns, _)| *comes_ns)
    }

    /// Whether there is nothing to execute until some client hears of a batch, or a request arrives.
    fn is_held_up(&self) -> bool {
        self.batch.is_empty() && !self.held_back.is_empty()
    }
}

/// A client of a worker.
#[derive(Debug)]
pub(super) struct Client {
    /// The request that it sent last.
    pub(super) call: Call,
    /// When the request was sent, in ticks.
    pub(super) birth: u64,
    /// Attempts of the request that were aborted so far.
    retries: u32,
}

impl Client {
    /// Sends a request, unless it is under way already.
    pub(super) fn send<S: Scheme, V: Observe>(&mut self, part: Part<'_, S, V>, request: &Request) {
        if request.retries == 0 {
            let mut rng = Rng::from_path(&[part.job.seed, u64::from(request.client), request.sequence]);
            part.program.generate(&mut self.call, ClientId(request.client), request.sequence, &mut rng);
        }
    }

    /// The client goes to another worker, and leaves a place for itself.
    pub(super) fn leave(&mut self) -> Self {
        Self { call: self.call.take(), birth: self.birth, retries: self.retries }
    }

    /// Hears how an attempt ended, and whether something is left of its request.
    #[inline]
    fn hear<S: Scheme, V: Observe>(
        &mut self,
        part: &Part<'_, S, V>,
        books: &mut Books<'_>,
        (result, has_rest): Ended,
    ) {
        let sent = Sent { birth: self.birth, late_ns: 0, retries: self.retries };
        if result.is_ok() {
            part.program.committed(&mut books.ledger, &mut self.call);
        }
        books.book(self.call.kind, sent, result, !has_rest);
        if is_aborted(&result) {
            self.retries += 1;
        } else if !has_rest {
            (self.birth, self.retries) = (clock::ticks(), 0);
        }
    }
}

/// A client whose transaction has aborted and is left for one worker to execute alone, until its own takes it home; and
/// what came of it then.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) client: Client,
    pub(super) ended: Ended,
}

impl Left {
    /// A transaction that was not executed alone yet.
    pub(super) fn new(client: Client) -> Self {
        Self { client, ended: (Err(Abort::Stopped), false) }
    }

    /// Takes a client home that was left at this place, if it was; and how its transaction ended.
    pub(super) fn take_home(place: &Latched<Option<Self>>, home: &mut Client) -> Option<Ended> {
        let Self { client, ended } = place.lock().take()?;
        *home = client;
        Some(ended)
    }
}

/// How an attempt ended, and whether something is left of its request.
pub(super) type Ended = (Result<(), Abort>, bool);

/// State by which the workers agree on the same batches.
#[derive(Debug)]
pub(super) struct Board {
    /// The barrier at which all workers meet between two steps.
    pub(super) barrier: Barrier,
    /// Whether the present batch is the last.
    is_last: AtomicBool,
    /// The leading worker's [`News`].
    now_ns: AtomicU64,
    assured: AtomicU64,
    /// By place: whether the transaction goes into the next batch.
    again: Box<[AtomicBool]>,
}

impl Board {
    /// Makes a board for batches of at most `places_max` places.
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

    /// Sets whether the transaction at a place goes into the next batch.
    pub(super) fn set_again(&self, place: usize, is_again: bool) {
        // Neighbours are of other workers, and hardly any transaction goes into the next batch: the line stays clean.
        if self.again[place].load(Ordering::Relaxed) != is_again {
            self.again[place].store(is_again, Ordering::Relaxed);
        }
    }

    fn news(&self) -> News {
        let (now_ns, assured) = (&self.now_ns, &self.assured);
        News { now_ns: now_ns.load(Ordering::Relaxed), assured: assured.load(Ordering::Relaxed) }
    }
}

/// The end of a request, which its client hears when the batch is assured.
struct Answer {
    /// The number of the batch.
    batch: u64,
    /// The position among the worker's clients.
    client: usize,
    result: Result<(), Abort>,
}

/// A worker's clients: what they send, and what they hear.
pub(super) struct Desk<'s, 'r, S: Scheme, V: Observe> {
    part: Part<'r, S, V>,
    board: &'s Board,
    pub(super) roster: Roster,
    pub(super) clients: Vec<Client>,
    pub(super) books: Books<'r>,
    /// Those of batches that are not assured yet, in the order of these.
    answers: VecDeque<Answer>,
    /// At the leading worker, the numbers of these batches, with what [each waits for](Observe::present).
    awaited: VecDeque<(u64, u64)>,
}

impl<S: Scheme, V: Observe> fmt::Debug for Desk<'_, '_, S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk")
            .field("roster", &self.roster)
            .field("clients", &self.clients)
            .finish_non_exhaustive()
    }
}

impl<'s, 'r, S: Scheme, V: Observe> Desk<'s, 'r, S, V> {
    /// Before any request, with batches of so many places.
    pub(super) fn new(part: Part<'r, S, V>, board: &'s Board, places_max: usize) -> Self {
        let Part { job, program, observe, .. } = part;
        let requests = match job.limit {
            Limit::Requests(count) => count,
            Limit::Time { .. } | Limit::Estimate(_) => u64::MAX,
        };
        let (clients, rtt_ns, holds_back) =
            (job.clients as u32, job.traffic.rtt_ns, observe.present().is_some());
        let birth = clock::ticks();
        Self {
            part,
            board,
            roster: Roster::new(clients, requests, places_max, rtt_ns, holds_back),
            clients: part.clients().map(|_| Client { call: program.call(), birth, retries: 0 }).collect(),
            books: part.books(),
            answers: VecDeque::new(),
            awaited: VecDeque::new(),
        }
    }

    /// Whether this worker is the leading one, whose clock and news all workers go by.
    pub(super) fn leads(&self) -> bool {
        self.part.worker == 0
    }

    /// Tells the clients the answers that are assured, and forms the next batch. Returns `false` if no request is left.
    /// Waits if all requests are held back or under way.
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

    /// Waits, at the leading worker, until the oldest batch that is held back is assured, or a request arrives. All
    /// other workers wait for the leading one.
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
        // All workers have read the last news before the leading worker writes others.
        self.board.barrier.wait()?;
        if leads {
            self.post();
        }
        self.board.barrier.wait().map(|_| ())
    }

    /// Publishes, by the leading worker, where the run stands, while no worker reads it.
    pub(super) fn lead(&mut self) {
        self.post();
        let control = self.part.control;
        let is_last = control.stage() == Stage::Stopping || control.is_interrupted();
        self.board.is_last.store(is_last, Ordering::Relaxed);
    }

    /// Writes the news, by the leading worker.
    fn post(&mut self) {
        let Part { job, observe, .. } = self.part;
        if job.traffic.rtt_ns > 0 {
            self.board.now_ns.store(clock::now_ns(), Ordering::Relaxed);
        }
        while let Some((number, _)) = self.awaited.pop_front_if(|(_, awaited)| observe.is_assured(*awaited)) {
            self.board.assured.store(number, Ordering::Relaxed);
        }
    }

    /// Called when all transactions of the present batch that commit in it have committed.
    pub(super) fn note_commits(&mut self) {
        if self.leads()
            && let Some(awaited) = self.part.observe.present()
        {
            self.awaited.push_back((self.roster.number, awaited));
        }
    }

    /// A client hears how an attempt ended, and what is left of its request; if nothing is, and the batch is to be
    /// assured first, then.
    #[inline]
    pub(super) fn hear(&mut self, client: usize, (result, has_rest): Ended) {
        let Self { part, roster, clients, books, answers, .. } = self;
        if roster.holds_back && !has_rest && !is_aborted(&result) {
            answers.push_back(Answer { batch: roster.number, client, result });
        } else {
            clients[client].hear(part, books, (result, has_rest));
        }
    }

    /// Tells the clients the answers that were held back of the batches up to number `assured`.
    fn tell(&mut self, assured: u64) {
        while let Some(answer) = self.answers.pop_front_if(|answer| answer.batch <= assured) {
            let client = &mut self.clients[answer.client];
            client.hear(&self.part, &mut self.books, (answer.result, false));
        }
    }

    /// After the last batch, tells the clients all answers that were held back, once they are assured.
    pub(super) fn finish(&mut self) {
        let observe = self.part.observe;
        if let Some(present) = observe.present() {
            observe.assure(present);
        }
        self.tell(u64::MAX);
    }

    /// Returns the tally and the ledger.
    pub(super) fn close(mut self) -> (Tally, Ledger) {
        self.books.end();
        self.books.into_parts()
    }
}

/// Whether something is left of a client's request.
pub(super) fn has_rest<S: Scheme, V: Observe>(
    part: Part<'_, S, V>,
    client: &mut Client,
    result: Result<(), Abort>,
) -> bool {
    result.is_ok() && part.program.has_rest(&mut client.call)
}

/// Keeps the other workers from waiting for a worker that panics.
pub(super) struct Alarm<'b, F: FnMut()> {
    barrier: &'b Barrier,
    /// Tells workers that wait elsewhere than at the barrier.
    tell: F,
    is_armed: bool,
}

impl<'b, F: FnMut()> Alarm<'b, F> {
    pub(super) fn new(barrier: &'b Barrier, tell: F) -> Self {
        Self { barrier, tell, is_armed: true }
    }

    /// Disarms the alarm: the worker has come to its end.
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
pub(super) fn attempt<S: Scheme, V: Observe>(
    part: Part<'_, S, V>,
    session: &mut Session<'_, S, V::Observer, V::Sink>,
    ticket: &Ticket,
    call: &mut Call,
    scratch: &mut Scratch,
    is_sampled: bool,
) -> Result<(), Abort> {
    let Part { program, job, .. } = part;
    if is_sampled {
        session.meter().start();
    }
    let result = session.attempt(ticket, |txn| {
        program.execute(call, scratch, txn)?;
        if job.pause_ns > 0 {
            txn.decided();
            txn.pause(job.pause_ns);
        }
        Ok(())
    });
    pay(job, &result, session.meter());
    if is_sampled {
        session.meter().stop();
    }
    result
}

/// Whether the time of a request's transactions is divided into phases, if the stage is measured.
pub(super) fn is_sampled(job: &Job, request: &Request) -> bool {
    job.sample_every > 0 && request.sequence.is_multiple_of(job.sample_every)
}

/// The ticket of a client's attempt at a place of a batch.
pub(super) fn ticket<S: Scheme, V: Observe>(
    part: Part<'_, S, V>,
    client: &Client,
    place: usize,
    retries: u32,
) -> Ticket {
    let ticket = Ticket::new(client.birth, part.homes(&client.call));
    Ticket {
        retries,
        kind: client.call.kind,
        sequence: place as u64 + 1,
        read_only: part.types[client.call.kind].read_only,
        ..ticket
    }
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
