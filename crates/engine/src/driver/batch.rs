//! What the drivers of batches share: how batches are formed of requests, and what a client knows of its own.
//!
//! The batches are formed by rule ([`Roster`], of which each worker has its own copy). A client's next request takes a
//! round trip to come. Whether it has come is told by the clock of the leading worker alone, which all others take
//! over, so that they still form the same batches.

use core::fmt;
use std::collections::VecDeque;

use stdx::Rng;
use sync::{Barrier, clock, waiter};

use super::books::Books;
use super::traffic::Sent;
use super::{Arrivals, Job, Mode, Part, Retry, is_aborted, pay};
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

/// Forms the batches. A client has one request at a time, and sends the next when that has ended.
#[derive(Debug)]
pub(super) struct Roster {
    places_max: usize,
    /// Requests of each client.
    requests: u64,
    pub(super) batch: Vec<Request>,
    /// In the order in which they came.
    queue: VecDeque<Request>,
    /// Nanoseconds that a request takes to come, and the answer to go.
    rtt_ns: u64,
    /// Requests that have not come yet, with the moments at which they will, in this order.
    under_way: VecDeque<(u64, Request)>,
}

impl Roster {
    pub(super) fn new(clients: u32, requests: u64, places_max: usize, rtt_ns: u64) -> Self {
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

    /// As [`form`](Self::form); waits if all requests are under way.
    pub(super) fn form_in_time(&mut self, now_ns: u64, again: impl Fn(usize) -> bool) {
        self.form(now_ns, again);
        if self.batch.is_empty()
            && let Some(comes_ns) = self.next_comes_ns()
        {
            waiter::pause_ns(comes_ns.saturating_sub(clock::now_ns()));
            // By its own moment, which all workers know alike.
            self.form(comes_ns, |_| unreachable!("the batch is empty"));
        }
    }

    /// When the next request comes, if any is under way.
    fn next_comes_ns(&self) -> Option<u64> {
        self.under_way.front().map(|(comes_ns, _)| *comes_ns)
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
    pub(super) fn new(birth: u64) -> Self {
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
    pub(super) fn hear(
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
