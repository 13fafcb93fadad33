//! The hook at which the stepped build asks who runs next: the crate `sim` installs a scheduler
//! here.
//!
//! The arrow points down: this crate does not know `sim`. A scheduler belongs to one thread of the
//! operating system, on which it decides every interleaving of the workers that
//! [`workers::run`](crate::workers::run) starts there; so tests explore side by side. Outside of
//! `workers::run` an access is no step: nobody else could run.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::plant::Plant;
use crate::workers;

/// The action that a worker is about to take. Its effect comes after the step, when the worker runs
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads a shared word.
    Load,
    /// Writes a shared word.
    Store,
    /// Reads a shared word and may write it.
    Update,
    /// A memory fence.
    Fence,
    /// No access: another worker must act first, soon.
    Pause,
    /// No access before virtual time `until_ns`, if given, or before another worker acts.
    Wait {
        /// When the wait is over in any case.
        until_ns: Option<u64>,
    },
}

impl Access {
    /// Whether the worker has nothing to do before another one acts or time passes.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Pause | Self::Wait { .. })
    }
}

/// Decides which worker runs between any two accesses, and what time it is.
///
/// A scheduler that panics in [`step`](Self::step) ends the run with that message.
pub trait Scheduler {
    /// Workers `0 .. count` are about to run. Returns the first to run. `count` is not zero.
    fn begin(&self, count: usize) -> usize;
    /// The running worker is about to make `access`. Returns the worker that runs next, which may be
    /// the same; any other runs from where it made its own last step.
    fn step(&self, access: Access) -> usize;
    /// The running worker has ended. Returns the next, or none when all have ended.
    fn end(&self) -> Option<usize>;
    /// Virtual time in nanoseconds. It must grow with the calls: a worker may wait for it in a loop.
    fn now_ns(&self) -> u64;
}

thread_local! {
    static SCHEDULER: RefCell<Option<Rc<dyn Scheduler>>> = const { RefCell::new(None) };
    static PLANTED: Cell<Option<&'static Plant>> = const { Cell::new(None) };
    /// Virtual time of a thread that has no scheduler.
    static UNSCHEDULED_NS: Cell<u64> = const { Cell::new(0) };
}

/// Puts the calling thread under `scheduler`, or under none, and returns the one before.
///
/// # Panics
/// When workers run on this thread.
pub fn install(scheduler: Option<Rc<dyn Scheduler>>) -> Option<Rc<dyn Scheduler>> {
    assert!(workers::running().is_none(), "the scheduler stays while workers run");
    SCHEDULER.replace(scheduler)
}

/// Plants a bug, or none, in everything that runs on the calling thread, and returns the previous
/// plant.
pub fn plant(plant: Option<&'static Plant>) -> Option<&'static Plant> {
    PLANTED.replace(plant)
}

/// The bug that is planted in what runs on the calling thread.
#[inline]
pub(crate) fn planted() -> Option<&'static Plant> {
    PLANTED.get()
}

/// The scheduler of the calling thread.
pub(crate) fn installed() -> Option<Rc<dyn Scheduler>> {
    SCHEDULER.with_borrow(Clone::clone)
}

/// One step of the calling worker. Returns after the scheduler has chosen it again. Out of line: every access to a
/// shared word calls it.
#[inline(never)]
pub(crate) fn step(access: Access) {
    let Some(running) = workers::running() else { return };
    // The destructors of a worker that panics run on without steps, except where they must let
    // another worker act: the less runs after the defect, the clearer its report.
    if std::thread::panicking() && !access.is_idle() {
        return;
    }
    let next = SCHEDULER
        .with_borrow(|scheduler| scheduler.as_ref().map_or(running, |scheduler| scheduler.step(access)));
    if next != running {
        workers::switch_to(next);
    }
}

/// A step that waits for other workers, or until a moment.
///
/// # Panics
/// Outside of workers, without a moment: nobody else runs there who could end the wait.
pub(crate) fn wait(until_ns: Option<u64>) {
    if workers::running().is_some() {
        step(Access::Wait { until_ns });
    } else {
        let until_ns = until_ns.expect("a wait outside of workers ends at a moment");
        UNSCHEDULED_NS.set(UNSCHEDULED_NS.get().max(until_ns));
    }
}

/// Virtual time in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    SCHEDULER.with_borrow(|scheduler| {
        scheduler.as_ref().map_or_else(
            || {
                UNSCHEDULED_NS.set(UNSCHEDULED_NS.get() + 1);
                UNSCHEDULED_NS.get()
            },
            |scheduler| scheduler.now_ns(),
        )
    })
}
