//! The validator: a pipeline that decides requests to commit, one by one or in batches.
//!
//! 1. *Preparation*: requests gather in the open batch. It is closed when it is full, when the worker of one of its
//!    requests has nothing else to do, or when one of them has waited long enough.
//! 2. *Ordering*, of several batches at a time: requests that have seen an old state are aborted, and of the others
//!    victims, until the rest has a serial order.
//! 3. *Validation*, of one batch at a time: each request, in this order, is compared with what was decided since
//!    step 2, gets a number, and its writes enter the cache.
//!
//! No stage has a thread: the session that finds a batch due does steps 2 and 3 for all its requests, while their
//! sessions wait.
//!
//! INVARIANTS
//! (1) The numbers of commits are a serial order: a request is compared with all commits before it. Within a batch the
//!     graph stands for that, if nothing was decided since step 2.
//! (2) A request is in one place at a time: with its attempt, in its seat, or at a desk.

use core::num::NonZero;

use engine::Abort;
use orders::{BatchGraph, DegreeScore, Orderer, Policy, TxnFacts, VictimMethod};
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::plant::is_planted;
use sync::{Latched, Padded, clock};

use super::batch_wait::wait_for_batch;
use super::committed::Committed;
use super::gap_stamps::GapStamps;
use super::installs::Installs;
use super::picture::Picture;
use super::plants;
use super::request::Request;
use super::settings::{Batching, Method, Score, Settings, TypeValues};
use super::stages::Stopwatch;

/// The minimum number of commits that may be decided after the first one that is not in place.
const IN_FLIGHT: usize = 1 << 12;
/// The maximum number of steps of an exact search for the victims of one batch: about a millisecond.
const EXACT_STEPS: u64 = 20_000;

/// Instructions that put a batch in order: for each transaction, and for each use of a key.
const TXN_INSTRUCTIONS: u64 = 1_100;
const USE_INSTRUCTIONS: u64 = 90;

/// The state that all stages share.
#[derive(Debug)]
pub struct Validator {
    committed: Padded<Latched<Committed>>,
    /// The number of the last commit, for those who do not hold the latch.
    decided: Padded<AtomicU64>,
    /// The commits whose writes are in place.
    pub installs: Installs,
    /// The stamps of gaps.
    pub gaps: GapStamps,
    batching: Batching,
    batch_max: usize,
    wait_ns: u64,
    policy: Policy,
    /// The value of a commit by type of transaction.
    pub values: TypeValues,
    method: VictimMethod,
    /// The slots of the requests in the open batch.
    open: Padded<Latched<Vec<usize>>>,
    /// Their number, for those who do not hold the latch.
    waiting: Padded<AtomicUsize>,
    /// By slot.
    seats: Box<[Padded<Seat>]>,
    /// Where batches are put in order.
    desks: Box<[Padded<Latched<Desk>>]>,
    /// The number of desks that are taken.
    taken: Padded<AtomicUsize>,
    /// A batch that was put in order, to be shown.
    pub picture: Picture,
}

/// Where the request of a slot waits, and its outcome.
#[derive(Debug, Default)]
struct Seat {
    request: Latched<Request>,
    /// [`UNDECIDED`], or the outcome in a word.
    outcome: AtomicU64,
}

/// The word of a request that is not decided.
const UNDECIDED: u64 = 0;

/// The memory for one batch.
#[derive(Debug, Default)]
struct Desk {
    /// The slots of the batch, and their requests.
    slots: Vec<usize>,
    requests: Vec<Request>,
    /// The positions in the batch of the requests that have seen no old state, and the facts about them.
    fresh: Vec<usize>,
    facts: Vec<TxnFacts>,
    graph: BatchGraph,
    orderer: Orderer,
    /// The positions of those that may commit, in their order.
    order: Vec<usize>,
    /// By position: the word of the outcome.
    outcomes: Vec<u64>,
}

/// The word of an outcome: the number of a commit, or the reason of an abort.
fn word_of(outcome: Result<u64, Abort>) -> u64 {
    match outcome {
        Ok(number) => (number << 1 | 1) << 8,
        Err(abort) => 1 + abort as u64,
    }
}

/// The outcome that a word stands for.
fn outcome_of(word: u64) -> Result<u64, Abort> {
    match word >> 8 {
        0 => Err(Abort::ALL[word as usize - 1]),
        number => Ok(number >> 1),
    }
}

impl Validator {
    /// Makes the validator for this many slots.
    pub fn new(settings: &Settings, slots: usize) -> Self {
        let multi_factor = NonZero::new(settings.multi_factor).unwrap_or(NonZero::<u32>::MIN);
        let degrees = match settings.policy {
            Score::Sum => DegreeScore::Sum,
            Score::Max => DegreeScore::Max,
            Score::Product => DegreeScore::Product,
        };
        Self {
            committed: Padded(Latched::new(Committed::new(settings.history))),
            decided: Padded::default(),
            installs: Installs::new(IN_FLIGHT.max(4 * slots)),
            gaps: GapStamps::default(),
            batching: settings.validator,
            batch_max: settings.validator_batch,
            wait_ns: settings.wait_us * 1_000,
            policy: Policy::new(degrees)
                .with_retries(settings.retry_exponent)
                .with_value(f64::from(u8::from(settings.values.differ))),
            values: settings.values,
            method: match settings.method {
                Method::Components => VictimMethod::Components,
                Method::Sorted => VictimMethod::Sorted { multi_factor },
                Method::Reduced => VictimMethod::Reduced,
                Method::Exact => VictimMethod::Exact { steps_max: EXACT_STEPS },
            },
            open: Padded::default(),
            waiting: Padded::default(),
            seats: (0..slots).map(|_| Padded::default()).collect(),
            desks: (0..settings.orderers).map(|_| Padded::default()).collect(),
            taken: Padded::default(),
            picture: Picture::new(settings.validator_batch),
        }
    }

    /// The number of the last commit that was decided.
    #[inline]
    pub fn decided(&self) -> u64 {
        self.decided.load(Ordering::Acquire) // Acquire: pairs with the Release in `commit`.
    }

    /// The number at which an attempt begins: it sees the writes of all commits up to it.
    #[inline]
    pub fn start(&self) -> u64 {
        if is_planted(&plants::REORDER_BEGINS_AT_THE_LAST) {
            return self.decided();
        }
        self.installs.complete()
    }

    /// Confirms that what a request has seen is the state after the last commit.
    ///
    /// # Errors
    /// Why it is not.
    pub fn confirm(&self, request: &Request) -> Result<(), Abort> {
        self.committed.lock().check(request, &self.gaps)
    }

    /// Decides the request of a slot: returns the number of its commit, once all was decided that comes before.
    ///
    /// # Errors
    /// Why it aborts.
    #[inline]
    pub fn decide(&self, slot: usize, request: &mut Request) -> Result<u64, Abort> {
        if self.batching == Batching::Direct {
            let mut watch = Stopwatch::start(request.is_sampled);
            let committed = &mut self.committed.lock();
            let checked = committed.check(request, &self.gaps);
            let decided = checked.and_then(|()| self.commit(committed, request));
            request.validation = watch.lap();
            return decided;
        }
        let seat = &self.seats[slot];
        core::mem::swap(&mut *seat.request.lock(), request);
        seat.outcome.store(UNDECIDED, Ordering::Relaxed); // Relaxed: the latch of the open batch orders it.
        {
            let mut open = self.open.lock();
            open.push(slot);
            self.waiting.store(open.len(), Ordering::Relaxed); // Relaxed: a hint.
        }
        let outcome = self.await_outcome(&seat.outcome);
        core::mem::swap(&mut *seat.request.lock(), request);
        outcome
    }

    /// Waits for the outcome of a request, and decides batches that are due meanwhile.
    fn await_outcome(&self, outcome: &AtomicU64) -> Result<u64, Abort> {
        let word = || outcome.load(Ordering::Acquire); // Acquire: pairs with the Release of the batch that is dropped.
        let is_due = |at_once| self.is_due(at_once);
        wait_for_batch(self.wait_ns, || word() != UNDECIDED, is_due, || self.decide_batch());
        outcome_of(word())
    }

    /// Whether the open batch is to be decided, and there is a desk for it: when it is full, or `at_once` if it is not
    /// empty.
    #[inline]
    fn is_due(&self, at_once: bool) -> bool {
        // Relaxed, both: hints.
        let waiting = self.waiting.load(Ordering::Relaxed);
        waiting >= if at_once { 1 } else { self.batch_max }
            && self.taken.load(Ordering::Relaxed) < self.desks.len()
    }

    /// Closes the open batch and decides it, if a desk is free.
    fn decide_batch(&self) {
        let Some(mut desk) = self.desks.iter().find_map(|desk| desk.try_lock()) else { return };
        self.taken.fetch_add(1, Ordering::Relaxed); // Relaxed, here and below: a hint.
        {
            let mut open = self.open.lock();
            let batch = open.len().min(self.batch_max);
            desk.slots.clear();
            desk.slots.extend(open.drain(..batch));
            self.waiting.store(open.len(), Ordering::Relaxed); // Relaxed: a hint.
        }
        let mut batch = Batch { validator: self, desk: &mut desk };
        batch.gather();
        batch.decide();
        drop(batch);
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }

    /// Commits a request that was confirmed.
    #[inline]
    fn commit(&self, committed: &mut Committed, request: &mut Request) -> Result<u64, Abort> {
        let number = committed.admit(request, &self.installs)?;
        // Release: pairs with the Acquire in `decided`. Only who holds the latch stores.
        self.decided.store(committed.last(), Ordering::Release);
        Ok(number)
    }
}

/// A batch that is being decided. When it is dropped, all its requests are back in their seats with an outcome, even
/// after a panic.
struct Batch<'v> {
    validator: &'v Validator,
    desk: &'v mut Desk,
}

impl Batch<'_> {
    /// Takes the requests out of their seats, which get the memory of earlier ones.
    fn gather(&mut self) {
        let Self { validator, desk } = self;
        if desk.requests.len() < desk.slots.len() {
            desk.requests.resize_with(desk.slots.len(), Request::default);
        }
        for (slot, request) in desk.slots.iter().zip(&mut desk.requests) {
            core::mem::swap(&mut *validator.seats[*slot].request.lock(), request);
        }
        desk.outcomes.clear();
        desk.outcomes.resize(desk.slots.len(), UNDECIDED);
    }

    /// Steps 2 and 3.
    fn decide(&mut self) {
        let Self { validator, .. } = *self;
        let is_sampled = self.desk.requests[..self.desk.slots.len()].iter().any(|request| request.is_sampled);
        let mut watch = Stopwatch::start(is_sampled);
        let is_reordered = validator.batching == Batching::Reorder;
        let looked_at = if is_reordered { Some(self.put_in_order(is_sampled)) } else { None };
        let ordering = watch.lap();
        let Desk { slots, requests, order, outcomes, .. } = &mut *self.desk;
        if !is_reordered {
            order.clear();
            order.extend(0..slots.len());
        }
        let committed = &mut validator.committed.lock();
        let is_as_looked_at =
            looked_at == Some(committed.last()) || is_planted(&plants::REORDER_TRUSTS_THE_FIRST_LOOK);
        for &at in &*order {
            let request = &mut requests[at];
            let checked = if is_as_looked_at { Ok(()) } else { committed.check(request, &validator.gaps) };
            outcomes[at] = word_of(checked.and_then(|()| validator.commit(committed, request)));
        }
        let validation = watch.lap();
        for request in requests.iter_mut().take(slots.len()).filter(|request| request.is_sampled) {
            (request.ordering, request.validation) = (ordering, validation);
        }
    }

    // ANCHOR: order
    /// Step 2. Returns the number of the last commit that the requests were compared with.
    fn put_in_order(&mut self, is_sampled: bool) -> u64 {
        let Self { validator, desk } = self;
        let Desk { slots, requests, fresh, facts, graph, orderer, order, outcomes } = &mut **desk;
        let requests = &requests[..slots.len()];
        fresh.clear();
        let looked_at = {
            let committed = validator.committed.lock();
            for (at, request) in requests.iter().enumerate() {
                match committed.check(request, &validator.gaps) {
                    Ok(()) => fresh.push(at),
                    Err(abort) => outcomes[at] = word_of(Err(abort)),
                }
            }
            committed.last()
        };
        facts.clear();
        facts.extend(fresh.iter().map(|at| requests[*at].facts));
        let misses_an_edge = is_planted(&plants::REORDER_MISSES_AN_EDGE);
        graph.rebuild(fresh.iter().map(|at| requests[*at].keys(misses_an_edge)));
        let decision = orderer
            .order(graph, facts, validator.method, validator.policy)
            .expect("the settings admit no larger batch");
        let uses = |at: &usize| requests[*at].keys(misses_an_edge).uses() as u64;
        let uses: u64 = fresh.iter().map(uses).sum();
        clock::compute(TXN_INSTRUCTIONS * fresh.len() as u64 + USE_INSTRUCTIONS * uses);
        order.clear();
        order.extend(decision.order.iter().map(|at| fresh[*at as usize]));
        for at in decision.victims {
            outcomes[fresh[*at as usize]] = word_of(Err(Abort::Victim));
        }
        if is_sampled {
            validator.picture.offer(requests.len() - fresh.len(), facts, graph, &decision);
        }
        looked_at
    }
    // ANCHOR_END: order
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let Self { validator, desk } = self;
        for ((slot, request), outcome) in desk.slots.iter().zip(&mut desk.requests).zip(&desk.outcomes) {
            let seat = &validator.seats[*slot];
            core::mem::swap(&mut *seat.request.lock(), request);
            let outcome = if *outcome == UNDECIDED { word_of(Err(Abort::Stopped)) } else { *outcome };
            // Release: pairs with the Acquire in `await_outcome`.
            seat.outcome.store(outcome, Ordering::Release);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_told_apart_by_their_words() {
        let aborts = Abort::ALL.into_iter().map(Err);
        for outcome in aborts.chain([Ok(0), Ok(1), Ok(1 << 44)]) {
            assert_ne!(word_of(outcome), UNDECIDED);
            assert_eq!(outcome_of(word_of(outcome)), outcome);
        }
    }
}
