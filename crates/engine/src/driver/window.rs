//! Load control: limits the number of requests of a worker that are active at a time, if they hinder each other.
//!
//! If a worker has many clients, attempts that conflict abort each other, or wait for each other, until nearly all work
//! is wasted: the system thrashes. The known remedy is independent of the scheme: let fewer requests begin. An attempt
//! is hindered if it was aborted, or if more than half of the others were blocked when it ended. If more than half of
//! the attempts were hindered, the limit is halved; if fewer than a quarter were, it grows by an eighth. After each
//! halving, it takes twice as long until the limit grows, and after each growth half as long. (Carey, Krishnamurthi,
//! Livny: Load control for locking: the "half-and-half" approach, PODS 1990, for blocked attempts.) A request that
//! waits for a device, or for its client in the middle of a transaction, is not blocked: such workers need many active
//! requests. If a worker is idle for half of its time, aborts do not count: they cost nothing that is scarce.
//!
//! A request stays active until it has ended, however often it is aborted: others may wait for its end. Under
//! [`Admission::Single`] it is active during its attempts alone.

use core::cell::Cell;

use sync::{clock, fiber, waiter};

use super::{Admission, Job};

/// The minimum number of attempts between two decisions on the limit: enough to tell a half from a quarter.
const LOOK_AFTER: u32 = 32;
/// The maximum of [`Window::patience`].
const PATIENCE_MAX: u32 = 64;

/// The limit of a worker's active requests, and the counts on which it depends. All clients of a worker run on one
/// thread.
#[derive(Debug)]
pub(super) struct Window {
    /// The number of clients of the worker.
    clients: u32,
    admission: Admission,
    /// The number of active requests, and its limit.
    inside: Cell<u32>,
    limit: Cell<u32>,
    /// The number of running attempts.
    running: Cell<u32>,
    /// The number of attempts that have ended since the last decision; the number of these that ended while most
    /// others were blocked, and of the rest the number that were aborted.
    ended: Cell<u32>,
    blocked: Cell<u32>,
    aborted: Cell<u32>,
    /// The time of the last decision, and the time for which the worker had been idle by then, in ticks.
    looked_at: Cell<u64>,
    stalled: Cell<u64>,
    /// The number of decisions in a row with few hindered attempts, and the number of them after which the limit grows.
    calm: Cell<u32>,
    patience: Cell<u32>,
    /// The requests that wait until the limit admits them.
    line: fiber::FiberQueue,
    /// The number of clients that wait for something else than the attempt of another.
    aside: Cell<u32>,
}

/// A wait of a client for something else than the attempt of another. It lasts until this is dropped.
#[derive(Debug)]
pub(super) struct Aside<'w>(&'w Window);

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        self.0.aside.set(self.0.aside.get() - 1);
    }
}

/// An active request. It is active until this is dropped.
#[derive(Debug)]
pub(super) struct Inside<'w>(&'w Window);

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.inside.set(self.0.inside.get() - 1);
        self.0.admit();
    }
}

impl Window {
    /// Creates the window of a worker. The limit begins with the number of clients.
    pub(super) fn new(job: &Job) -> Self {
        let clients = job.clients.div_ceil(job.workers) as u32;
        let [inside, running, ended, blocked, aborted, calm, aside] = [0; 7].map(Cell::new);
        let [looked_at, stalled] = [clock::ticks(), waiter::stalled_ticks()].map(Cell::new);
        let admission = if clients > 1 { job.admission } else { Admission::Open };
        let first_limit = if admission == Admission::Single { 1 } else { clients };
        let ([limit, patience], line) = ([first_limit, 1].map(Cell::new), fiber::FiberQueue::default());
        Self {
            clients,
            admission,
            inside,
            limit,
            running,
            ended,
            blocked,
            aborted,
            looked_at,
            stalled,
            calm,
            patience,
            line,
            aside,
        }
    }

    /// Waits until the limit admits a request, in the order of arrival.
    #[inline]
    pub(super) fn enter(&self) -> Inside<'_> {
        if self.is_full() {
            // `admit`, which calls this fiber, has counted the request already.
            self.line.stand();
        } else {
            self.inside.set(self.inside.get() + 1);
        }
        Inside(self)
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.admission != Admission::Open && self.inside.get() >= self.limit.get()
    }

    /// Whether attempts are admitted and not whole requests: a request is active only during its attempts.
    #[inline]
    pub(super) fn admits_attempts(&self) -> bool {
        self.admission == Admission::Single
    }

    /// Lets waiting requests begin until the limit is reached.
    #[inline]
    fn admit(&self) {
        while !self.is_full() && self.line.call() {
            self.inside.set(self.inside.get() + 1);
        }
    }

    /// Marks a client as waiting for something else than another's attempt, until the result is dropped.
    #[inline]
    pub(super) fn aside(&self) -> Aside<'_> {
        self.aside.set(self.aside.get() + 1);
        Aside(self)
    }

    /// Records that an attempt begins.
    #[inline]
    pub(super) fn begun(&self) {
        self.running.set(self.running.get() + 1);
    }

    /// Records that an attempt has ended.
    #[inline]
    pub(super) fn ended(&self, is_aborted: bool) {
        let others = self.running.get() - 1;
        self.running.set(others);
        if self.admission == Admission::Regulated {
            let blocked = waiter::waiting().saturating_sub(self.aside.get());
            self.count(is_aborted, 2 * blocked > others);
        }
    }

    fn count(&self, is_aborted: bool, is_blocked: bool) {
        let add = |count: &Cell<u32>, is_one: bool| count.set(count.get() + u32::from(is_one));
        add(&self.ended, true);
        add(&self.blocked, is_blocked);
        add(&self.aborted, is_aborted && !is_blocked);
        if self.ended.get() >= LOOK_AFTER.max(self.limit.get()) {
            let (now, stalled) = (clock::ticks(), waiter::stalled_ticks());
            let passed = now.wrapping_sub(self.looked_at.replace(now));
            let stalled = stalled - self.stalled.replace(stalled);
            let [ended, blocked, aborted] = [&self.ended, &self.blocked, &self.aborted].map(Cell::take);
            self.look(ended, hindered(blocked, aborted, stalled, passed));
        }
    }

    /// Decides on the limit, after `ended` attempts of which `hindered` were hindered.
    fn look(&self, ended: u32, hindered: u32) {
        let (limit, patience) = (self.limit.get(), self.patience.get());
        if hindered > ended / 2 && limit > 1 {
            self.limit.set(limit / 2);
            self.patience.set((2 * patience).min(PATIENCE_MAX));
        }
        let calm = if hindered < ended / 4 { self.calm.get() + 1 } else { 0 };
        if calm < patience {
            self.calm.set(calm);
        } else {
            self.limit.set((limit + (limit / 8).max(1)).min(self.clients));
            self.patience.set((patience / 2).max(1));
            self.calm.set(0);
            self.admit();
        }
    }
}

/// Returns the number of hindered attempts. Aborts count only if the worker was idle (`stalled`) for less than half of
/// the time that has `passed`.
const fn hindered(blocked: u32, aborted: u32, stalled: u64, passed: u64) -> u32 {
    if 2 * stalled < passed { blocked + aborted } else { blocked }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::cell::RefCell;

    use super::super::tests::job;
    use super::*;

    fn window(clients: usize) -> Window {
        Window::new(&Job { clients, admission: Admission::Regulated, ..job(1) })
    }

    /// Returns the limit after `attempts` further attempts, of each four of which `hindered` were hindered.
    fn after(window: &Window, attempts: u32, hindered: u32) -> u32 {
        (0..attempts).for_each(|attempt| window.count(attempt % 4 < hindered, false));
        window.limit.get()
    }

    #[test]
    fn the_limit_is_halved_while_most_are_hindered_and_grows_while_few_are() {
        let window = window(50);
        assert_eq!(after(&window, 50, 3), 25);
        assert_eq!(after(&window, 32, 2), 25, "half of them are not too many");
        assert_eq!(after(&window, 32, 1), 25, "a quarter are not few");
        assert_eq!(after(&window, 10 * 32, 4), 1, "one may always run");
        assert_eq!(after(&window, 10_000, 0), 50, "no more than there are clients");
    }

    #[test]
    fn a_limit_that_grew_too_far_again_and_again_grows_late_and_then_faster() {
        let window = window(50);
        assert_eq!(after(&window, 10 * 50, 4), 1);
        assert_eq!(window.patience.get(), 32, "50, 25, 12, 6, 3, 1");
        assert_eq!(after(&window, 31 * 32, 0), 1);
        assert_eq!(after(&window, 32, 0), 2);
        assert_eq!(after(&window, 32, 4), 1);
        assert_eq!(after(&window, (32 + 16 + 8 + 4 + 2 + 1) * 32, 0), 7);
    }

    #[test]
    fn a_look_takes_as_many_attempts_as_may_be_under_way() {
        let window = window(1_000);
        assert_eq!(after(&window, 999, 4), 1_000);
        assert_eq!(after(&window, 1, 4), 500);
    }

    #[test]
    fn aborts_tell_nothing_where_the_worker_has_nothing_to_do_for_half_of_its_time() {
        assert_eq!(hindered(3, 4, 49, 100), 7);
        assert_eq!(hindered(3, 4, 50, 100), 3);
    }

    #[test]
    fn who_is_alone_or_not_regulated_always_has_room() {
        let alone = |admission| Job { clients: 1, admission, ..job(1) };
        let jobs = [alone(Admission::Regulated), alone(Admission::Single), Job { clients: 9, ..job(1) }];
        for window in jobs.map(|job| Window::new(&job)) {
            for _ in 0..100 {
                window.begun();
                window.ended(true);
            }
            let _inside = [(); 20].map(|()| window.enter());
        }
    }

    #[test]
    fn who_finds_no_room_waits_until_another_has_ended_or_the_limit_grows() {
        let (window, events) = (window(8), RefCell::new(Vec::new()));
        window.limit.set(1);
        let mut crew = fiber::Crew::new();
        for number in 0..6 {
            let (window, events) = (&window, &events);
            crew.spawn(fiber::STACK_BYTES, move || {
                let _inside = window.enter();
                events.borrow_mut().push(number);
                if number == 2 {
                    assert_eq!(after(window, 2 * LOOK_AFTER, 0), 3);
                }
                (0..5).for_each(|_| waiter::give_way());
                events.borrow_mut().push(number);
            });
        }
        crew.run();
        assert_eq!(events.into_inner(), [0, 0, 1, 1, 2, 3, 4, 2, 5, 3, 4, 5]);
        assert_eq!((window.inside.get(), window.aside.get()), (0, 0));
    }

    #[test]
    fn only_clients_that_wait_for_others_are_blocked() {
        let (window, is_open) = (window(4), Cell::new(false));
        let mut crew = fiber::Crew::new();
        for is_aside in [true, false, false] {
            let (window, is_open) = (&window, &is_open);
            crew.spawn(fiber::STACK_BYTES, move || {
                let _aside = is_aside.then(|| window.aside());
                waiter::wait_until(None, || is_open.get());
            });
        }
        crew.spawn(fiber::STACK_BYTES, || {
            waiter::give_way();
            assert_eq!(waiter::waiting(), 3);
            window.running.set(5);
            window.ended(false);
            assert_eq!(window.blocked.get(), 0, "two of four");
            window.ended(true);
            assert_eq!((window.blocked.get(), window.aborted.get()), (1, 0), "two of three");
            is_open.set(true);
        });
        crew.run();
        assert_eq!(waiter::waiting(), 0);
    }
}
