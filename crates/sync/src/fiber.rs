//! Fibers: how one worker keeps many attempts alive and runs another when one waits.
//!
//! A fiber is a stack of its own, so a procedure stays ordinary code that may wait anywhere in it.
//! The fibers of a [`Crew`] share one thread and switch only where they wait: between two waits a
//! fiber runs as if it were alone, and the hot path knows nothing of it.
//!
//! Invariants on which the unsafe code below rests:
//!
//! 1. A `Condition` is called only while the fiber that brought it is suspended in `wait`, on
//!    whose stack the condition and all that it borrows live.
//! 2. `CURRENT` is null, or points to the yielder of the fiber that runs on this thread.
//! 3. A `FiberQueue` in a signal is borrowed by the fiber that is suspended with it.
//! 4. The code of a fiber runs only inside `Crew::run`, which owns the crew and is left only after
//!    every fiber has ended or was unwound: whatever the code borrows outlives it.

use core::cell::{Cell, RefCell};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use std::collections::VecDeque;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::wheel::Wheel;
use crate::{backend, clock};

/// The usual stack of a fiber, in bytes: deep enough for every procedure and for the report of a
/// panic. It is address space; only the pages that were touched take memory.
pub const STACK_BYTES: usize = 64 * 1024;

/// How many conditions are looked at between two fibers that run, so that hundreds of waiting fibers
/// do not slow down the running ones.
const LOOKS_PER_SWITCH: usize = 16;
/// How many conditions are looked at when no fiber can run, before the clock is read again: thousands of waiting
/// fibers must not delay a sleeping fiber whose deadline has come.
const LOOKS_WHEN_IDLE: usize = 1_024;

/// A condition on the stack of the fiber that waits for it, usable while that fiber is suspended.
type Condition = NonNull<dyn FnMut() -> bool>;

/// A resumed fiber is told whether its condition holds.
type Yielder = corosensei::Yielder<bool, Signal>;

/// Why a fiber gives the thread back to its crew.
enum Signal {
    /// The fiber can go on, after the others.
    GiveWay,
    /// The fiber cannot go on before the condition holds or the deadline has come.
    Wait { deadline_ns: Option<u64>, ready: Option<Condition>, gathers: bool },
    /// The fiber cannot go on before another fiber calls it.
    Stand(NonNull<FiberQueue>),
}

thread_local! {
    static CURRENT: Cell<*const Yielder> = const { Cell::new(ptr::null()) };
    /// Fibers of this thread that wait for a condition which others bring about.
    pub(crate) static WAITING: Cell<u32> = const { Cell::new(0) };
    /// Ticks in which none of this thread's fibers could go on.
    pub(crate) static STALLED: Cell<u64> = const { Cell::new(0) };
    /// Fibers of this thread that were called and have not gone on yet.
    static CALLED: RefCell<Vec<Standing>> = const { RefCell::new(Vec::new()) };
    /// Crews that this thread has had.
    static CREWS: Cell<u64> = const { Cell::new(0) };
    /// Whether no fiber of the crew could go on when it last looked at all of them.
    pub(crate) static IDLE: Cell<bool> = const { Cell::new(true) };
}

/// See [`crate::waiter::stalled_ticks`].
pub(crate) fn stalled_ticks() -> u64 {
    STALLED.get()
}

/// See [`crate::waiter::is_idle`].
#[inline]
pub(crate) fn is_idle() -> bool {
    IDLE.get()
}

/// A fiber that stands in a line.
#[derive(Clone, Copy, Debug)]
struct Standing {
    crew: u64,
    wait: Wait,
}

/// Fibers of one crew, in the order of their arrival. Each goes on when another fiber calls it. A condition is looked
/// at again and again, and every look at another fiber's stack is a cache miss; a line costs nothing until the call.
#[derive(Debug, Default)]
pub struct FiberQueue(RefCell<VecDeque<Standing>>);

impl FiberQueue {
    /// Suspends the current fiber until it is called. Returns at once outside of a fiber, and on a fiber that
    /// unwinds.
    pub fn stand(&self) {
        if in_fiber() {
            suspend(Signal::Stand(NonNull::from(self)));
        }
    }

    /// Lets the first fiber in the line go on, after the others that can. Returns false if no fiber stands in the
    /// line.
    pub fn call(&self) -> bool {
        let first = self.0.borrow_mut().pop_front();
        first.map(|standing| CALLED.with_borrow_mut(|called| called.push(standing))).is_some()
    }

    /// Whether no fiber stands in the line.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

/// Guard that counts the current fiber among those that wait for a condition. An unwinding fiber drops it, too.
struct Waiting;

impl Waiting {
    fn begin() -> Self {
        WAITING.set(WAITING.get() + 1);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.set(WAITING.get() - 1);
    }
}

/// See [`crate::waiter::waiting`].
#[inline]
pub(crate) fn waiting() -> u32 {
    WAITING.get()
}

/// Guard that makes the fiber that was left the current one again when dropped, even by a panic.
pub(crate) struct Reenter(*const Yielder);

impl Reenter {
    /// Leaves the current fiber, if any: another fiber, or the code below the fibers, is about to run.
    pub(crate) fn leave() -> Self {
        Self(CURRENT.replace(ptr::null()))
    }
}

impl Drop for Reenter {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Whether the caller runs on a fiber.
#[inline]
pub(crate) fn in_fiber() -> bool {
    !CURRENT.get().is_null()
}

/// On a fiber, lets the crew run its other fibers. See [`crate::waiter::give_way`].
#[inline]
pub(crate) fn give_way() {
    if in_fiber() {
        suspend(Signal::GiveWay);
    }
}

/// Suspends the current fiber. See [`crate::waiter::wait_until`] and [`crate::waiter::gather_until`].
pub(crate) fn wait(
    deadline_ns: Option<u64>,
    ready: Option<&mut dyn FnMut() -> bool>,
    for_others: bool,
) -> bool {
    let mut ready = ready.map(|ready| {
        let ready: NonNull<dyn FnMut() -> bool + '_> = NonNull::from(ready);
        // SAFETY: only the lifetime is forgotten, and invariant 1 keeps to it.
        unsafe { core::mem::transmute::<NonNull<dyn FnMut() -> bool + '_>, Condition>(ready) }
    });
    let waiting = for_others.then(Waiting::begin);
    let gathers = ready.is_some() && !for_others;
    let is_ready = suspend(Signal::Wait { deadline_ns, ready, gathers });
    drop(waiting);
    is_ready
        || ready.as_mut().is_some_and(|ready| {
            // SAFETY: this fiber runs, so by invariant 1 nobody else uses the condition.
            let ready = unsafe { ready.as_mut() };
            ready()
        })
}

/// Gives the thread back to the crew until the crew resumes the current fiber. Returns the answer with which it
/// resumes.
fn suspend(signal: Signal) -> bool {
    if std::thread::panicking() {
        // A fiber must not be suspended while it unwinds: if the crew then unwound it for another
        // fiber's panic, the second panic would start in a destructor and end the process.
        return false;
    }
    let left = Reenter::leave();
    // SAFETY: invariant 2; the fiber's stack, where the yielder lives, is the one this code runs on.
    let yielder = unsafe { &*left.0 };
    yielder.suspend(signal)
}

/// The fibers of one thread.
///
/// A crew that is dropped unwinds its fibers where they wait, so that their destructors run.
pub struct Crew<'a> {
    /// The crew's number among the crews of its thread.
    id: u64,
    /// Each fiber at its number; `None` where the fiber has ended.
    fibers: Vec<Option<Fiber>>,
    live: usize,
    /// Fibers that can go on, each with the answer with which it is resumed.
    runnable: VecDeque<(usize, bool)>,
    /// Waits with a condition, among them some that are over.
    conditions: Vec<Wait>,
    /// The number of fibers that wait in [`gather_until`](crate::waiter::gather_until).
    gathering: usize,
    /// Where the next look at a condition begins.
    next_look: usize,
    /// Waits with a deadline, among them some that are over.
    timers: Wheel<Wait>,
    borrows: PhantomData<Box<dyn FnOnce() + 'a>>,
}

struct Fiber {
    coroutine: Coroutine<bool, Signal, ()>,
    /// The condition it waits for.
    ready: Option<Condition>,
    /// Whether it waits in [`gather_until`](crate::waiter::gather_until).
    gathers: bool,
    /// How many of its waits are over.
    waits_over: u64,
}

/// One wait of one fiber. It is over when the fiber's count has passed it: so a wait that has both a
/// condition and a deadline need not be searched for in the list that did not end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    fiber: usize,
    waits_over: u64,
}

impl Default for Crew<'_> {
    fn default() -> Self {
        let id = CREWS.get();
        CREWS.set(id + 1);
        Self {
            id,
            fibers: Vec::new(),
            live: 0,
            runnable: VecDeque::new(),
            conditions: Vec::new(),
            gathering: 0,
            next_look: 0,
            timers: Wheel::default(),
            borrows: PhantomData,
        }
    }
}

impl<'a> Crew<'a> {
    /// A crew without fibers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a fiber with a stack of at least `stack_bytes`, usually [`STACK_BYTES`], and a page below
    /// it that ends the process when the stack overflows.
    ///
    /// # Panics
    /// When the system has no room for another stack. Linux grants a process about 30,000.
    pub fn spawn(&mut self, stack_bytes: usize, f: impl FnOnce() + 'a) {
        let stack = DefaultStack::new(stack_bytes).expect("the system has room for another stack");
        let body = move |yielder: &Yielder, _: bool| {
            CURRENT.set(yielder);
            f();
        };
        // SAFETY: invariant 4.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        self.runnable.push_back((self.fibers.len(), true));
        self.fibers.push(Some(Fiber { coroutine, ready: None, gathers: false, waits_over: 0 }));
        self.live += 1;
    }

    /// Runs all fibers on the calling thread until all have ended. The fibers that can go on take turns.
    ///
    /// # Panics
    /// When a fiber panics, with its message, after the other fibers were unwound where they wait: what they wait for
    /// may never come. During this unwinding a destructor that waits returns at once, and one that panics ends the
    /// process.
    pub fn run(mut self) {
        let (mut idle_rounds, mut idle_since) = (0, 0);
        while self.live > 0 {
            self.wake();
            let next = self.runnable.pop_front();
            let was_idle = IDLE.replace(next.is_none());
            if let Some((number, is_ready)) = next {
                if idle_rounds > 0 {
                    idle_rounds = 0;
                    STALLED.set(STALLED.get() + clock::ticks().wrapping_sub(idle_since));
                }
                self.resume(number, is_ready);
            } else if in_fiber() {
                // A crew inside a fiber of another crew: the outer crew knows how to be idle.
                give_way();
            } else if !was_idle && self.gathering > 0 {
                // A condition of who gathers may hold because the thread is idle. It was last asked for while the
                // thread was not idle, so it is asked for once more before the thread waits.
            } else {
                if idle_rounds == 0 {
                    idle_since = clock::ticks();
                }
                backend::idle(idle_rounds, self.timers.earliest_ns(), !self.conditions.is_empty());
                idle_rounds += 1;
            }
        }
    }

    /// Runs a fiber until it waits or ends.
    fn resume(&mut self, number: usize, is_ready: bool) {
        let slot = &mut self.fibers[number];
        let fiber = slot.as_mut().expect("a runnable fiber has not ended");
        let outer = Reenter::leave();
        let result = fiber.coroutine.resume(is_ready);
        drop(outer);
        match result {
            CoroutineResult::Return(()) => {
                *slot = None;
                self.live -= 1;
            }
            CoroutineResult::Yield(Signal::GiveWay) => self.runnable.push_back((number, true)),
            CoroutineResult::Yield(Signal::Stand(line)) => {
                let wait = Wait { fiber: number, waits_over: fiber.waits_over };
                // SAFETY: invariant 3: the fiber has just been suspended.
                let line = unsafe { line.as_ref() };
                line.0.borrow_mut().push_back(Standing { crew: self.id, wait });
            }
            CoroutineResult::Yield(Signal::Wait { deadline_ns, ready, gathers }) => {
                fiber.ready = ready;
                fiber.gathers = gathers;
                self.gathering += usize::from(gathers);
                let wait = Wait { fiber: number, waits_over: fiber.waits_over };
                if ready.is_some() {
                    self.conditions.push(wait);
                }
                if let Some(deadline_ns) = deadline_ns {
                    self.add_timer(deadline_ns, wait);
                }
            }
        }
    }

    fn add_timer(&mut self, deadline_ns: u64, wait: Wait) {
        // Waits that ended long before their deadline must not fill the wheel. Sweeping it only when
        // most of it is such rubbish keeps the cost of a timer constant.
        if self.timers.len() > 1_024 + 2 * self.fibers.len() {
            let fibers = &self.fibers;
            self.timers.retain(|wait| !is_over(fibers, *wait));
        }
        self.timers.insert(deadline_ns, wait);
    }

    /// Makes the fibers runnable whose deadline has come or whose condition holds.
    fn wake(&mut self) {
        if !self.timers.is_empty() {
            self.wake_timers(clock::now_ns());
        }
        if CALLED.with_borrow(|called| !called.is_empty()) {
            self.wake_called();
        }
        let looks = if self.runnable.is_empty() { LOOKS_WHEN_IDLE } else { LOOKS_PER_SWITCH };
        for _ in 0..looks.min(self.conditions.len()) {
            if self.next_look >= self.conditions.len() {
                self.next_look = 0;
            }
            let wait = self.conditions[self.next_look];
            if is_over(&self.fibers, wait) {
                self.conditions.swap_remove(self.next_look);
            } else if self.holds(wait) {
                self.conditions.swap_remove(self.next_look);
                self.end_wait(wait, true);
            } else {
                self.next_look += 1;
            }
        }
    }

    /// Makes the fibers runnable that were called.
    fn wake_called(&mut self) {
        let mut called = CALLED.take();
        called.retain(|called| {
            let is_own = called.crew == self.id;
            if is_own {
                self.end_wait(called.wait, true);
            }
            !is_own
        });
        // The same memory again, so that a call allocates nothing. Nobody was called meanwhile.
        CALLED.set(called);
    }

    fn wake_timers(&mut self, now_ns: u64) {
        while let Some(wait) = self.timers.pop(now_ns) {
            if !is_over(&self.fibers, wait) {
                self.end_wait(wait, false);
            }
        }
    }

    fn holds(&mut self, wait: Wait) -> bool {
        let fiber = self.fibers[wait.fiber].as_mut().expect("a waiting fiber has not ended");
        let ready = fiber.ready.as_mut().expect("a wait in the list of conditions has one");
        // SAFETY: invariant 1: the fiber is suspended in the wait that brought this condition.
        let ready = unsafe { ready.as_mut() };
        ready()
    }

    fn end_wait(&mut self, wait: Wait, is_ready: bool) {
        let fiber = self.fibers[wait.fiber].as_mut().expect("a waiting fiber has not ended");
        fiber.ready = None;
        self.gathering -= usize::from(core::mem::take(&mut fiber.gathers));
        fiber.waits_over += 1;
        IDLE.set(false);
        self.runnable.push_back((wait.fiber, is_ready));
    }
}

fn is_over(fibers: &[Option<Fiber>], wait: Wait) -> bool {
    fibers[wait.fiber].as_ref().is_none_or(|fiber| fiber.waits_over != wait.waits_over)
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        let _outer = Reenter::leave();
        self.fibers.clear();
        IDLE.set(true);
        let mut called = CALLED.take();
        called.retain(|called| called.crew != self.id);
        // An empty list goes, with its memory, which may be of a simulation that ends now.
        if !called.is_empty() {
            CALLED.set(called);
        }
    }
}

impl core::fmt::Debug for Crew<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Crew").field("live", &self.live).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::waiter;

    /// Records the order of events among fibers.
    #[derive(Default)]
    struct Events(RefCell<Vec<String>>);

    impl Events {
        fn add(&self, event: &str) {
            self.0.borrow_mut().push(event.to_owned());
        }

        fn in_order(&self) -> String {
            self.0.borrow().join(" ")
        }
    }

    /// Says so when dropped.
    struct Owned<'a>(&'a Events, &'a str);

    impl Drop for Owned<'_> {
        fn drop(&mut self) {
            self.0.add(self.1);
        }
    }

    #[test]
    fn fibers_that_give_way_take_turns() {
        let events = Events::default();
        let mut crew = Crew::new();
        for name in ["a", "b", "c"] {
            let events = &events;
            crew.spawn(STACK_BYTES, move || {
                for _ in 0..2 {
                    events.add(name);
                    waiter::give_way();
                }
            });
        }
        crew.run();
        assert_eq!(events.in_order(), "a b c a b c");
    }

    #[test]
    fn a_fiber_waits_for_what_another_does() {
        let (events, balls) = (Events::default(), Cell::new(0));
        let mut crew = Crew::new();
        crew.spawn(STACK_BYTES, || {
            assert!(waiter::wait_until(None, || balls.get() == 1));
            events.add("caught");
            balls.set(2);
        });
        crew.spawn(STACK_BYTES, || {
            events.add("thrown");
            balls.set(1);
            assert!(waiter::wait_until(None, || balls.get() == 2));
            events.add("returned");
        });
        crew.run();
        assert_eq!(events.in_order(), "thrown caught returned");
    }

    #[test]
    fn a_wait_ends_at_its_deadline_with_what_the_condition_says_then() {
        let mut crew = Crew::new();
        crew.spawn(STACK_BYTES, || {
            let deadline_ns = clock::now_ns() + 1_000_000;
            assert!(!waiter::wait_until(Some(deadline_ns), || false));
            assert!(clock::now_ns() >= deadline_ns);
            let mut looks = 0;
            let past = Some(clock::now_ns());
            let second_look = || {
                looks += 1;
                looks == 2
            };
            assert!(waiter::wait_until(past, second_look));
        });
        crew.run();
    }

    #[test]
    fn fibers_go_on_in_the_order_in_which_they_stood_in_line() {
        let (events, line) = (Events::default(), FiberQueue::default());
        let mut crew = Crew::new();
        for name in ["a", "b", "c"] {
            let (events, line) = (&events, &line);
            crew.spawn(STACK_BYTES, move || {
                line.stand();
                events.add(name);
            });
        }
        crew.spawn(STACK_BYTES, || {
            for _ in 0..3 {
                waiter::give_way();
                events.add("call");
                assert!(line.call());
            }
            assert!(line.is_empty() && !line.call());
        });
        crew.run();
        // The calling fiber was runnable before the fiber that it called, so it goes on first.
        assert_eq!(events.in_order(), "call call a call b c");
    }

    #[test]
    fn a_fiber_is_called_from_within_an_inner_crew() {
        let (events, line) = (Events::default(), FiberQueue::default());
        let mut crew = Crew::new();
        crew.spawn(STACK_BYTES, || {
            line.stand();
            events.add("outer");
        });
        crew.spawn(STACK_BYTES, || {
            let inner_line = FiberQueue::default();
            let mut inner = Crew::new();
            inner.spawn(STACK_BYTES, || {
                inner_line.stand();
                events.add("inner");
            });
            inner.spawn(STACK_BYTES, || assert!(line.call() && inner_line.call()));
            inner.run();
        });
        crew.run();
        assert_eq!(events.in_order(), "inner outer");
    }

    #[test]
    fn a_fiber_that_stands_in_line_is_unwound_with_its_crew() {
        let (events, line) = (Events::default(), FiberQueue::default());
        let mut crew = Crew::new();
        crew.spawn(STACK_BYTES, || {
            let _owned = Owned(&events, "unwound");
            line.stand();
        });
        crew.spawn(STACK_BYTES, || panic!("as planned"));
        assert!(catch_unwind(AssertUnwindSafe(|| crew.run())).is_err());
        assert_eq!(events.in_order(), "unwound");
        line.stand();
    }

    #[test]
    fn a_thousand_pauses_pass_together() {
        let events = RefCell::new(Vec::new());
        let mut crew = Crew::new();
        for number in 0..1_000 {
            let events = &events;
            crew.spawn(STACK_BYTES, move || {
                events.borrow_mut().push(number);
                waiter::pause_ns(1_000_000);
                events.borrow_mut().push(1_000 + number);
            });
        }
        crew.run();
        // All have begun before the first goes on; and they go on in the order of their deadlines.
        assert_eq!(events.into_inner(), (0..2_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_thread_of_which_all_fibers_sleep_sleeps() {
        let before_ns = waiter::thread_idle_ns();
        let mut crew = Crew::new();
        for number in 0..1_000 {
            crew.spawn(STACK_BYTES, move || waiter::pause_ns(20_000_000 + number * 1_000));
        }
        crew.run();
        assert!(waiter::thread_idle_ns() > before_ns);
    }

    #[test]
    fn a_condition_is_found_among_thousands_while_others_sleep() {
        let (is_open, passed) = (Cell::new(false), Cell::new(0));
        let mut crew = Crew::new();
        for number in 0..3 * LOOKS_WHEN_IDLE as u64 {
            let (is_open, passed) = (&is_open, &passed);
            crew.spawn(STACK_BYTES, move || {
                // With and without a deadline, which is far.
                let deadline_ns = (number % 2 == 0).then(|| clock::now_ns() + 3_600_000_000_000);
                assert!(waiter::wait_until(deadline_ns, || is_open.get()));
                passed.set(passed.get() + 1);
            });
        }
        crew.spawn(STACK_BYTES, || {
            waiter::pause_ns(2_000_000);
            is_open.set(true);
        });
        crew.run();
        assert_eq!(passed.get(), 3 * LOOKS_WHEN_IDLE);
    }

    #[test]
    fn waits_that_end_early_leave_no_timers_behind() {
        let turn = Cell::new(0);
        let mut crew = Crew::new();
        for parity in 0..2 {
            let turn = &turn;
            crew.spawn(STACK_BYTES, move || {
                while turn.get() < 10_000 {
                    assert!(waiter::wait_until(Some(u64::MAX), || turn.get() % 2 == parity));
                    turn.set(turn.get() + 1);
                }
            });
        }
        while crew.live > 0 {
            crew.wake();
            let (number, is_ready) = crew.runnable.pop_front().expect("one of the two can go on");
            crew.resume(number, is_ready);
        }
        assert!(crew.timers.len() <= 1_024 + 2 * 2, "{} timers for no fibers", crew.timers.len());
    }

    #[test]
    fn running_fibers_do_not_starve_waiting_ones() {
        let (is_open, passed) = (Cell::new(false), Cell::new(0));
        let mut crew = Crew::new();
        for _ in 0..300 {
            crew.spawn(STACK_BYTES, || {
                assert!(waiter::wait_until(None, || is_open.get()));
                passed.set(passed.get() + 1);
            });
        }
        crew.spawn(STACK_BYTES, || {
            is_open.set(true);
            // Each turn looks at sixteen conditions.
            for _ in 0..300 / LOOKS_PER_SWITCH + 2 {
                waiter::give_way();
            }
            assert_eq!(passed.get(), 300);
        });
        crew.run();
    }

    #[test]
    fn a_panic_unwinds_the_others_and_leaves_run() {
        let events = Events::default();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut crew = Crew::new();
            crew.spawn(STACK_BYTES, || {
                let _owned = Owned(&events, "unwound");
                waiter::wait_until(None, || false);
                events.add("impossible");
            });
            crew.spawn(STACK_BYTES, || {
                let _owned = Owned(&events, "dropped");
                waiter::give_way();
                panic!("planted");
            });
            crew.run();
        }));
        let panic = result.expect_err("the panic of the fiber");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"planted"));
        assert_eq!(events.in_order(), "dropped unwound");
        assert!(!waiter::in_fiber());
    }

    #[test]
    fn a_destructor_that_waits_while_unwinding_does_not_wait() {
        struct Waits<'a>(&'a Events);
        impl Drop for Waits<'_> {
            fn drop(&mut self) {
                assert!(waiter::in_fiber());
                assert!(!waiter::wait_until(None, || false));
                waiter::give_way();
                self.0.add("dropped");
            }
        }
        let events = Events::default();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut crew = Crew::new();
            crew.spawn(STACK_BYTES, || {
                let _waits = Waits(&events);
                waiter::wait_until(None, || false);
            });
            crew.spawn(STACK_BYTES, || {
                let _waits = Waits(&events);
                panic!("planted");
            });
            crew.run();
        }));
        assert!(result.is_err());
        assert_eq!(events.in_order(), "dropped dropped");
    }

    #[test]
    fn a_crew_that_never_ran_drops_what_its_fibers_own() {
        let events = Events::default();
        let owned = Owned(&events, "dropped");
        let mut crew = Crew::new();
        crew.spawn(STACK_BYTES, || drop(owned));
        drop(crew);
        assert_eq!(events.in_order(), "dropped");
    }

    #[test]
    fn a_crew_inside_a_fiber_lets_the_outer_fibers_run() {
        let (events, is_open) = (Events::default(), Cell::new(false));
        let mut outer = Crew::new();
        outer.spawn(2 * STACK_BYTES, || {
            let mut inner = Crew::new();
            inner.spawn(STACK_BYTES, || {
                assert!(waiter::wait_until(None, || is_open.get()));
                events.add("inner");
            });
            inner.run();
            assert!(waiter::in_fiber());
        });
        outer.spawn(STACK_BYTES, || {
            events.add("outer");
            is_open.set(true);
        });
        outer.run();
        assert_eq!(events.in_order(), "outer inner");
    }

    #[test]
    fn a_stack_holds_the_report_of_a_panic() {
        let mut crew = Crew::new();
        crew.spawn(STACK_BYTES, || {
            let backtrace = std::backtrace::Backtrace::force_capture().to_string();
            assert!(!backtrace.is_empty());
        });
        crew.run();
    }
}
