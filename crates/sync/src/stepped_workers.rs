//! Workers in the stepped build: fibers on one thread, of which a scheduler runs one at a time.
//!
//! Invariants on which the unsafe code below rests:
//!
//! 1. `RUNNING` holds the yielder of the worker that runs on this thread, while one runs.
//! 2. The code of a worker runs only inside `run`. Normally `run` is left after all workers have
//!    ended. After a panic, or when the scheduler gives up, the suspended ones are forgotten, never
//!    to run again, with their stacks left mapped: nothing reads what they borrowed, and what they
//!    own is leaked.

use core::cell::{Cell, RefCell};
use core::mem::ManuallyDrop;
use std::panic::resume_unwind;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::fiber::{IDLE, Reenter, STALLED, WAITING};
use crate::heap;
use crate::hook::{self, Access};

/// Workers are few, and their stacks hold more than a fiber's: a crew, a driver, a test.
const STACK_BYTES: usize = 1 << 20;

/// A worker that suspends itself names the worker that runs next.
type Yielder = corosensei::Yielder<(), usize>;

#[derive(Clone, Copy)]
struct Running {
    worker: usize,
    yielder: *const Yielder,
}

thread_local! {
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
    /// Stacks of workers that have ended. An explorer runs many short lives, and mapping a stack takes longer
    /// than many of these lives.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A stack, used before or new.
fn stack() -> DefaultStack {
    let used = STACKS.with_borrow_mut(Vec::pop);
    used.unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("the system has room for another stack"))
}

/// Knowledge of a thread about the fibers of its worker. Natively that is its only worker; here each worker has its
/// own, which is put back, when this is dropped, after others have run.
struct OwnFibers {
    waiting: u32,
    stalled: u64,
    is_idle: bool,
}

impl OwnFibers {
    /// A worker without fibers.
    const NONE: Self = Self { waiting: 0, stalled: 0, is_idle: true };

    /// Those of the worker that runs.
    fn keep() -> Self {
        Self { waiting: WAITING.get(), stalled: STALLED.get(), is_idle: IDLE.get() }
    }
}

impl Drop for OwnFibers {
    fn drop(&mut self) {
        WAITING.set(self.waiting);
        STALLED.set(self.stalled);
        IDLE.set(self.is_idle);
    }
}

/// Clears `RUNNING` when `run` is left.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        RUNNING.set(None);
    }
}

/// Runs `f(0)` .. `f(count - 1)` as workers under the thread's scheduler, and returns what they
/// returned. Cores are not simulated here, so there is nothing to pin to.
///
/// # Panics
/// When a worker panics, with its message, at once: the other workers are forgotten where they are,
/// with what they own. When the scheduler gives up, with its reason: all workers are forgotten. When the thread has no
/// scheduler, or a worker calls this.
pub fn run<T: Send>(count: usize, _pin: bool, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    assert!(running().is_none(), "a worker starts no workers");
    let scheduler = hook::installed().expect("the stepped build runs workers under a scheduler of `sim`");
    if count == 0 {
        return Vec::new();
    }
    let results: Vec<RefCell<Option<T>>> = (0..count).map(|_| RefCell::new(None)).collect();
    let spawn = |worker| {
        let (f, result) = (&f, &results[worker]);
        let body = move |yielder: &Yielder, ()| {
            RUNNING.set(Some(Running { worker, yielder }));
            drop(OwnFibers::NONE);
            let value = f(worker);
            result.replace(Some(value));
        };
        // SAFETY: invariant 2.
        unsafe { Coroutine::with_stack_unchecked(stack(), body) }
    };
    let mut fibers: ManuallyDrop<Vec<Coroutine<(), usize, ()>>> =
        ManuallyDrop::new((0..count).map(spawn).collect());
    let (leave, _outer) = (Leave, OwnFibers::keep());
    let mut next = heap::outside(|| scheduler.begin(count));
    loop {
        // No worker unwinds here: its destructors could wait for workers that never run again.
        if next == hook::NOBODY {
            resume_unwind(Box::new(scheduler.reason()));
        }
        match fibers[next].resume(()) {
            CoroutineResult::Yield(chosen) => next = chosen,
            CoroutineResult::Return(()) => match scheduler.end() {
                Some(chosen) => next = chosen,
                None => break,
            },
        }
    }
    drop(leave);
    let stacks = ManuallyDrop::into_inner(fibers).into_iter().map(Coroutine::into_stack);
    heap::outside(|| STACKS.with_borrow_mut(|pool| pool.extend(stacks)));
    let take = |result: RefCell<Option<T>>| result.into_inner().expect("the scheduler ran every worker");
    results.into_iter().map(take).collect()
}

/// The worker that runs on this thread.
#[inline]
pub(crate) fn running() -> Option<usize> {
    RUNNING.get().map(|running| running.worker)
}

/// Suspends the running worker in favour of another, from whatever fiber it runs on: the whole worker
/// stops, with all its fibers, and goes on where it stopped.
pub(crate) fn switch_to(next: usize) {
    let running = RUNNING.get().expect("only a running worker is suspended");
    let (_fiber, _fibers) = (Reenter::leave(), OwnFibers::keep());
    // SAFETY: invariant 1; the worker's stack, where its yielder lives, stays until the worker ends.
    let yielder = unsafe { &*running.yielder };
    yielder.suspend(next);
    RUNNING.set(Some(running));
}

/// A step that lets the other workers run.
#[inline]
pub fn yield_now() {
    hook::pass(Access::Yield { looks: 0 });
}

/// The number of the running worker, 0 outside of workers: see the native build.
#[inline]
pub fn own_number() -> usize {
    running().unwrap_or(0)
}

/// How many workers can run at the same time: an arbitrary small number, the same on every machine.
pub fn cores() -> usize {
    4
}
