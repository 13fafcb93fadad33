//! Turns: how a request that its scheme aborts again and again comes to its end.
//!
//! A client whose request has failed so many times in a row that waiting for it is cheaper than letting it fail on gets
//! a turn: the other clients of its worker begin no attempt until its request has ended. If it fails on, it gets a turn
//! of the database, in which the clients of the other workers wait, too. Who asks for a turn while another has one
//! stands in line. Attempts that are under way when a turn begins go on to their end, and whoever has the turn waits
//! for that: so it runs alone, nothing is left that could abort it, and how often a request fails has a bound that does
//! not depend on any clock.
//!
//! Waiting is cheaper than failing once the request has failed as often as there are clients who would wait for it:
//! they lose an attempt each. Published engines have no such thing; what is to show how a scheme starves requests
//! turns it off.
//!
//! Everything here may be Relaxed: no data passes from one attempt to another but through the scheme. Who sees a turn
//! late makes one more attempt, which may abort that of the turn once more.

use sync::atomic::{AtomicU64, Ordering};
use sync::{Padded, waiter};

use super::Job;
use super::window::Window;

/// The turns of a run.
#[derive(Debug)]
pub(super) struct Turns {
    /// Failures in a row before a turn of the worker, and of the database; none where there are no turns.
    after: Option<[u32; 2]>,
    workers: Box<[Padded<Worker>]>,
    database: Padded<Line>,
}

/// A worker's.
#[derive(Debug, Default)]
struct Worker {
    line: Line,
    /// Attempts of its clients that are under way. Only its own thread writes here.
    running: AtomicU64,
}

/// Those who have or want a turn, in the order in which they came.
#[derive(Debug, Default)]
struct Line {
    drawn: AtomicU64,
    served: AtomicU64,
}

impl Line {
    /// Whether somebody has the turn or waits for it.
    #[inline]
    fn is_taken(&self) -> bool {
        self.drawn.load(Ordering::Relaxed) != self.served.load(Ordering::Relaxed)
    }

    /// Stands in line until it is the caller's turn, or until the run is over.
    fn stand(&self, is_over: &dyn Fn() -> bool) {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed);
        waiter::wait_until(None, || self.served.load(Ordering::Relaxed) == number || is_over());
    }

    fn leave(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
    }
}

impl Turns {
    /// For a run.
    pub(super) fn new(job: &Job) -> Self {
        let after = (job.turn_after > 0).then(|| {
            let clients_a_worker = job.clients.div_ceil(job.workers) as u32;
            let of_worker = job.turn_after.max(clients_a_worker);
            // Where a worker has no other clients, a turn of it is none.
            let more = if clients_a_worker == 1 { 0 } else { job.turn_after.max(job.workers as u32) };
            [of_worker, of_worker + more]
        });
        let workers = (0..job.workers).map(|_| Padded::default()).collect();
        Self { after, workers, database: Padded::default() }
    }

    /// For a client of a worker, which has this window.
    pub(super) fn client<'t>(&'t self, worker: usize, window: &'t Window) -> Turn<'t> {
        Turn { turns: self, worker, window, held: Held::Nothing, had_after: 0 }
    }

    fn is_idle(&self, worker: usize) -> bool {
        self.workers[worker].running.load(Ordering::Relaxed) == 0
    }
}

/// The scope of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Nobody's.
    Nothing,
    /// The worker's.
    Worker,
    /// The database's.
    Database,
}

/// A client's part in the turns of a run. It gives back what it holds when it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'t> {
    turns: &'t Turns,
    worker: usize,
    window: &'t Window,
    held: Held,
    /// How often its request had failed when it got what it holds.
    had_after: u32,
}

/// An attempt that is under way: whoever has got a turn waits for its end. None where there are no turns.
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
            Held::Nothing => !turns.workers[self.worker].line.is_taken() && !turns.database.is_taken(),
            Held::Worker => !turns.database.is_taken(),
            Held::Database => true,
        }
    }

    #[cold]
    fn wait(&self, is_over: &dyn Fn() -> bool) {
        let _aside = self.window.aside();
        waiter::wait_until(None, || self.may_begin() || is_over());
    }

    /// The request has failed so many times in a row: gets it a turn if that is due. Returns how often it has failed
    /// since, which is what pauses depend on.
    pub(super) fn failed(&mut self, failures: u32, is_over: impl Fn() -> bool) -> u32 {
        let Some([of_worker, of_database]) = self.turns.after else { return failures };
        let Self { turns, worker, .. } = *self;
        if self.held == Held::Nothing && failures >= of_worker {
            let _aside = self.window.aside();
            turns.workers[worker].line.stand(&is_over);
            (self.held, self.had_after) = (Held::Worker, failures);
            waiter::wait_until(None, || turns.is_idle(worker) || is_over());
        }
        if self.held == Held::Worker && failures >= of_database && turns.workers.len() > 1 {
            let _aside = self.window.aside();
            turns.database.stand(&is_over);
            (self.held, self.had_after) = (Held::Database, failures);
            waiter::wait_until(None, || {
                (0..turns.workers.len()).all(|worker| turns.is_idle(worker)) || is_over()
            });
        }
        failures - self.had_after
    }

    /// The transaction has ended: whoever waits for it goes on. Whether it ended in a turn: that of its worker is 0,
    /// that of the database 1.
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
        self.turns.workers[self.worker].line.leave();
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

    /// One that is always open.
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
                // Relaxed: counts, of which the turn orders nothing but what is looked at below.
                if worker == 0 {
                    client.failed(3, || false);
                    let seen = others.load(Ordering::Relaxed);
                    let running = client.begin(|| false);
                    (0..100).for_each(|_| workers::yield_now());
                    // Who has seen the turn too late has made one attempt, and no more.
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
