//! Turns: exclusive execution for requests whose attempts are aborted again and again, so that every request ends.
//!
//! A request gets a turn of its worker when its attempts have failed so many times in a row that it is cheaper to let
//! others wait than to let the request fail again: the other clients of the worker begin no attempt until the request
//! has ended. If the request still fails, it gets a turn of the database, in which the clients of the other workers
//! wait, too. Requests that want a turn while another request has one wait in a queue. Attempts that are running when a
//! turn begins run to their end, and the request with the turn waits for that. Then the request runs alone: no attempt
//! is left that could abort it. So the number of its failures has a bound, which depends on no clock.
//!
//! Waiting is cheaper than failing once the request has failed as often as there are clients that would wait for it,
//! since each of them loses one attempt. Published engines have no turns; experiments that show how a scheme starves
//! requests switch them off.
//!
//! All accesses here may be Relaxed: attempts pass data to each other only through the scheme. A client that sees a
//! turn too late makes one more attempt, which may abort the attempt of the turn once more.

use sync::atomic::{AtomicU64, Ordering};
use sync::{Padded, waiter};

use super::Job;
use super::window::Window;

/// The turns of a run.
#[derive(Debug)]
pub(super) struct Turns {
    /// The numbers of failures in a row after which a request gets a turn of its worker and of the database; `None`
    /// if the run has no turns.
    after: Option<[u32; 2]>,
    workers: Box<[Padded<Worker>]>,
    database: Padded<TurnQueue>,
}

/// The turns of one worker.
#[derive(Debug, Default)]
struct Worker {
    queue: TurnQueue,
    /// The number of running attempts of its clients. Only the worker's own thread writes it.
    running: AtomicU64,
}

/// A queue for turns of one scope. Numbers are drawn and served in order, as in a ticket lock.
#[derive(Debug, Default)]
struct TurnQueue {
    drawn: AtomicU64,
    served: AtomicU64,
}

impl TurnQueue {
    /// Returns whether a request has the turn or waits for it.
    #[inline]
    fn is_taken(&self) -> bool {
        self.drawn.load(Ordering::Relaxed) != self.served.load(Ordering::Relaxed)
    }

    /// Joins the queue, and waits until the caller has the turn or the run is over.
    fn join(&self, is_over: &dyn Fn() -> bool) {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed);
        waiter::wait_until(None, || self.served.load(Ordering::Relaxed) == number || is_over());
    }

    fn leave(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
    }
}

impl Turns {
    /// Creates the turns of a run.
    pub(super) fn new(job: &Job) -> Self {
        let after = (job.turn_after > 0).then(|| {
            let clients_a_worker = job.clients.div_ceil(job.workers) as u32;
            let of_worker = job.turn_after.max(clients_a_worker);
            // If a worker has one client, a turn of the worker makes nobody wait, and the next step is due at once.
            let more = if clients_a_worker == 1 { 0 } else { job.turn_after.max(job.workers as u32) };
            [of_worker, of_worker + more]
        });
        let workers = (0..job.workers).map(|_| Padded::default()).collect();
        Self { after, workers, database: Padded::default() }
    }

    /// Creates the state of a client of a worker. `window` is the worker's.
    pub(super) fn client<'t>(&'t self, worker: usize, window: &'t Window) -> Turn<'t> {
        Turn { turns: self, worker, window, held: Held::Nothing, had_after: 0 }
    }

    fn is_idle(&self, worker: usize) -> bool {
        self.workers[worker].running.load(Ordering::Relaxed) == 0
    }
}

/// The scope of the turn that a client has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// The client has no turn.
    Nothing,
    /// The other clients of its worker wait.
    Worker,
    /// All other clients wait.
    Database,
}

/// The turns of one client. Dropping it gives back the turn that the client has.
#[derive(Debug)]
pub(super) struct Turn<'t> {
    turns: &'t Turns,
    worker: usize,
    window: &'t Window,
    held: Held,
    /// The number of failures of its request at the time when it got the turn.
    had_after: u32,
}

/// A running attempt, for whose end a request with a turn waits. The count is `None` if the run has no turns.
#[derive(Debug)]
pub(super) struct Running<'t>(Option<&'t AtomicU64>);

impl Drop for Running<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(running) = self.0 {
            running.store(running.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        }
    }
}

impl<'t> Turn<'t> {
    /// Begins an attempt as soon as nobody else has a turn, or the run is over.
    #[inline]
    pub(super) fn begin(&self, is_over: impl Fn() -> bool) -> Running<'t> {
        if self.turns.after.is_none() {
            return Running(None);
        }
        if !self.may_begin() {
            self.wait(&is_over);
        }
        let running = &self.turns.workers[self.worker].running;
        running.store(running.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Running(Some(running))
    }

    #[inline]
    fn may_begin(&self) -> bool {
        let turns = self.turns;
        match self.held {
            Held::Nothing => !turns.workers[self.worker].queue.is_taken() && !turns.database.is_taken(),
            Held::Worker => !turns.database.is_taken(),
            Held::Database => true,
        }
    }

    #[cold]
    fn wait(&self, is_over: &dyn Fn() -> bool) {
        let _aside = self.window.aside();
        let may_begin = || self.may_begin() || is_over();
        // Another client may have got a turn since the crew looked and before this fiber went on.
        while !may_begin() {
            waiter::wait_until(None, may_begin);
        }
    }

    /// Records that the request has failed `failures` times in a row, and waits for a turn if one is due. Returns the
    /// number of failures since the request got its turn, on which the length of pauses depends.
    pub(super) fn failed(&mut self, failures: u32, is_over: impl Fn() -> bool) -> u32 {
        let Some([of_worker, of_database]) = self.turns.after else { return failures };
        let Self { turns, worker, .. } = *self;
        if self.held == Held::Nothing && failures >= of_worker {
            let _aside = self.window.aside();
            turns.workers[worker].queue.join(&is_over);
            (self.held, self.had_after) = (Held::Worker, failures);
            waiter::wait_until(None, || turns.is_idle(worker) || is_over());
        }
        if self.held == Held::Worker && failures >= of_database && turns.workers.len() > 1 {
            let _aside = self.window.aside();
            turns.database.join(&is_over);
            (self.held, self.had_after) = (Held::Database, failures);
            waiter::wait_until(None, || {
                (0..turns.workers.len()).all(|worker| turns.is_idle(worker)) || is_over()
            });
        }
        failures - self.had_after
    }

    /// Records that the transaction has ended, so that the clients that wait for it go on. Returns the turn in which it
    /// ended, if any: 0 is a turn of its worker, 1 a turn of the database.
    #[inline]
    pub(super) fn end(&mut self) -> Option<usize> {
        if self.held == Held::Nothing { None } else { Some(self.give_back()) }
    }

    #[cold]
    fn give_back(&mut self) -> usize {
        let is_of_database = self.held == Held::Database;
        if is_of_database {
            self.turns.database.leave();
        }
        self.turns.workers[self.worker].queue.leave();
        (self.held, self.had_after) = (Held::Nothing, 0);
        usize::from(is_of_database)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        _ = self.end();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::cell::{Cell, RefCell};

    use sync::atomic::AtomicU32;
    use sync::{fiber, workers};

    use super::super::tests::job;
    use super::*;

    fn turns(workers: usize, clients: usize, turn_after: u32) -> Turns {
        Turns::new(&Job { clients, turn_after, ..job(workers) })
    }

    /// A window that is always open.
    fn window() -> Window {
        Window::new(&job(1))
    }

    #[test]
    fn a_turn_is_due_after_as_many_failures_as_others_would_wait() {
        assert_eq!(turns(2, 200, 0).after, None);
        assert_eq!(turns(2, 200, 10).after, Some([100, 110]));
        assert_eq!(turns(2, 3, 10).after, Some([10, 20]), "of clients that cannot be dealt evenly");
        assert_eq!(turns(64, 128, 10).after, Some([10, 74]));
        assert_eq!(turns(2, 2, 10).after, Some([10, 10]), "nobody else is on the worker");
    }

    #[test]
    fn without_turns_nobody_waits_and_pauses_follow_all_failures() {
        let (turns, window) = (turns(1, 2, 0), window());
        let mut client = turns.client(0, &window);
        let _running = client.begin(|| false);
        assert_eq!(client.failed(1_000, || false), 1_000);
        assert_eq!(client.end(), None);
    }

    /// Lets the other fibers run a few times.
    fn look_around() {
        (0..10).for_each(|_| waiter::give_way());
    }

    #[test]
    fn a_turn_of_a_worker_begins_when_its_attempts_have_ended_and_holds_up_others() {
        let (turns, window, events) = (turns(1, 3, 2), window(), RefCell::new(Vec::new()));
        let say = |event| events.borrow_mut().push(event);
        let never = || false;
        let mut crew = fiber::Crew::new();
        crew.spawn(fiber::STACK_BYTES, || {
            let running = turns.client(0, &window).begin(never);
            look_around();
            say("the one under way ends");
            drop(running);
        });
        crew.spawn(fiber::STACK_BYTES, || {
            let mut client = turns.client(0, &window);
            assert_eq!(client.failed(2, never), 2, "three clients wait for three failures");
            assert_eq!(client.failed(3, never), 0, "it has just got a turn");
            assert_eq!(client.failed(5, never), 2, "failures count from there");
            say("the turn runs");
            let running = client.begin(never);
            look_around();
            drop(running);
            say("the turn ends");
            assert_eq!((client.end(), client.end()), (Some(0), None));
        });
        crew.spawn(fiber::STACK_BYTES, || {
            let client = turns.client(0, &window);
            drop(client.begin(never));
            say("others go on");
        });
        crew.run();
        let events = events.into_inner();
        assert_eq!(events, ["the one under way ends", "the turn runs", "the turn ends", "others go on"]);
    }

    #[test]
    fn who_may_begin_looks_again_when_its_fiber_goes_on() {
        let (turns, window, has_turn) = (turns(1, 3, 2), window(), Cell::new(false));
        let mut first = turns.client(0, &window);
        first.failed(3, || false);
        let mut crew = fiber::Crew::new();
        for _ in 0..2 {
            crew.spawn(fiber::STACK_BYTES, || {
                let mut client = turns.client(0, &window);
                drop(client.begin(|| false));
                assert!(!has_turn.get(), "the crew found both ready, and one of them has a turn now");
                client.failed(3, || false);
                has_turn.set(true);
                look_around();
                has_turn.set(false);
            });
        }
        crew.spawn(fiber::STACK_BYTES, move || {
            look_around();
            drop(first);
        });
        crew.run();
    }

    #[test]
    fn turns_come_in_the_order_in_which_they_were_asked_for() {
        let (turns, window, ended) = (turns(1, 5, 1), window(), RefCell::new(Vec::new()));
        let mut crew = fiber::Crew::new();
        for number in 0..5 {
            let (turns, window, ended) = (&turns, &window, &ended);
            crew.spawn(fiber::STACK_BYTES, move || {
                let mut client = turns.client(0, window);
                client.failed(5, || false);
                drop(client.begin(|| false));
                look_around();
                ended.borrow_mut().push(number);
            });
        }
        crew.run();
        assert_eq!(ended.into_inner(), [0, 1, 2, 3, 4], "each ends before the next begins");
    }

    #[test]
    fn a_turn_of_the_database_is_alone_on_all_workers() {
        const ROUNDS: u32 = 200;
        let turns = turns(3, 3, 1);
        let (alone, others) = (AtomicU32::new(0), AtomicU32::new(0));
        workers::run(3, false, |worker| {
            let window = window();
            for _ in 0..ROUNDS {
                let mut client = turns.client(worker, &window);
                // Relaxed: counts; the turn orders nothing but the attempts that are counted below.
                if worker == 0 {
                    client.failed(3, || false);
                    let seen = others.load(Ordering::Relaxed);
                    let running = client.begin(|| false);
                    (0..100).for_each(|_| workers::yield_now());
                    // A worker that has seen the turn too late has made one attempt, and no more.
                    let after = others.load(Ordering::Relaxed);
                    assert!(after - seen <= 2, "{} attempts beside a turn", after - seen);
                    drop(running);
                    assert_eq!(client.end(), Some(1));
                } else {
                    let running = client.begin(|| alone.load(Ordering::Relaxed) == 1);
                    others.fetch_add(1, Ordering::Relaxed);
                    drop(running);
                }
            }
            if worker == 0 {
                alone.store(1, Ordering::Relaxed);
            }
        });
    }

    #[test]
    fn whoever_waits_goes_on_when_the_run_is_over_or_the_turn_is_unwound() {
        let (turns, window, is_over) = (turns(1, 3, 1), window(), Cell::new(false));
        let mut client = turns.client(0, &window);
        client.failed(3, || false);
        let mut crew = fiber::Crew::new();
        crew.spawn(fiber::STACK_BYTES, || drop(turns.client(0, &window).begin(|| is_over.get())));
        crew.spawn(fiber::STACK_BYTES, || {
            look_around();
            is_over.set(true);
        });
        crew.run();
        drop(client);
        drop(turns.client(0, &window).begin(|| false));
    }
}
