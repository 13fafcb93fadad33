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
    /// No access: a short pause of a worker that may give up soon.
    Pause,
    /// No access: another worker must act first, soon.
    Yield {
        /// How often the worker has looked in vain so far, if it counts: a native thread then looks less often.
        looks: u32,
    },
    /// No access before virtual time `until_ns`, if given, or before another worker acts.
    Wait {
        /// When the wait is over in any case.
        until_ns: Option<u64>,
    },
}

impl Access {
    /// Whether the worker has nothing to do before another one acts or time passes.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Pause | Self::Yield { .. } | Self::Wait { .. })
    }
}

/// In place of a worker that runs next: no worker runs any more, and [`workers::run`] panics with the reason.
pub const NOBODY: usize = usize::MAX;

/// Decides which worker runs between any two accesses, and what time it is.
pub trait Scheduler {
    /// Workers `0 .. count` are about to run. Returns the first to run. `count` is not zero.
    fn begin(&self, count: usize) -> usize;
    /// The running worker is about to make `access` to the `bytes` bytes at `address`; both are 0 if the access is
    /// none to memory. `stack` is an address on the worker's stack, close to where it goes on. Returns the worker that
    /// runs next, which may be the same; any other runs from where it made its own last step. [`NOBODY`] gives the run
    /// up.
    fn step(&self, access: Access, address: usize, bytes: usize, stack: usize) -> usize;
    /// The running worker has ended. Returns the next or [`NOBODY`], or none when all have ended.
    fn end(&self) -> Option<usize>;
    /// Why nobody runs any more.
    fn reason(&self) -> String;
    /// Virtual time in nanoseconds. It must grow with the calls: a worker may wait for it in a loop.
    fn now_ns(&self) -> u64;

    /// Whether a copy of several words is one step. Otherwise each word is one, so that a copy can be torn.
    fn copies_whole(&self) -> bool {
        false
    }

    /// The running worker asks for the memory at `address` ahead of its use.
    fn prefetch(&self, _address: usize, _for_write: bool) {}

    /// The running worker goes on only after its writes are visible to all.
    fn drain(&self) {}

    /// The running worker has executed instructions beyond those that belong to its accesses.
    fn compute(&self, _instructions: u64) {}

    /// Begins or ends the measured part of a run.
    fn measure(&self, _is_on: bool) {}

    /// The running worker begins or ends a rare change: see [`RareChange`](crate::RareChange).
    fn changes_rarely(&self, _begins: bool) {}

    /// All workers are to end within so many nanoseconds from now on.
    fn end_within(&self, _ns: u64) {}
}

thread_local! {
    static SCHEDULER: RefCell<Option<Rc<dyn Scheduler>>> = const { RefCell::new(None) };
    static PLANTED: Cell<Option<&'static Plant>> = const { Cell::new(None) };
    /// Whether the calling thread does what is no part of the simulation: see [`hushed`].
    static HUSHED: Cell<bool> = const { Cell::new(false) };
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

/// Does what is no part of the simulation, such as to make a row that the simulated program takes for loaded: no access
/// is a step, no time passes, and no other worker runs meanwhile, whatever the scheduler.
///
/// Latches that simulated code takes may be held by a worker that stands still, so `body` must not wait for them.
pub fn hushed<R>(body: impl FnOnce() -> R) -> R {
    let _hush = Hush(HUSHED.replace(true));
    body()
}

/// Restores, when dropped, whether steps are steps.
struct Hush(bool);

impl Drop for Hush {
    fn drop(&mut self) {
        HUSHED.set(self.0);
    }
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

/// One step of the calling worker, to the word at `address`. Returns after the scheduler has chosen it again. Out of
/// line: every access to a shared word calls it.
#[inline(never)]
pub(crate) fn step(access: Access, address: usize) {
    step_over(access, address, size_of::<u64>());
}

/// One step of the calling worker without an access to memory.
pub(crate) fn pass(access: Access) {
    step_over(access, 0, 0);
}

#[inline]
fn step_over(access: Access, address: usize, bytes: usize) {
    let Some(running) = workers::running() else { return };
    if HUSHED.get() {
        assert!(!access.is_idle(), "all others stand still, so nobody can end this wait");
        return;
    }
    // The destructors of a worker that panics run on without steps, except where they must let
    // another worker act: the less runs after the defect, the clearer its report.
    if std::thread::panicking() && !access.is_idle() {
        return;
    }
    let here = 0_u8;
    let stack = core::ptr::from_ref(&here).addr();
    let next = SCHEDULER.with_borrow(|scheduler| {
        scheduler.as_ref().map_or(running, |scheduler| scheduler.step(access, address, bytes, stack))
    });
    // A worker that panics already must not be left where it is: the thread would count as panicking for ever.
    assert!(next != NOBODY || !std::thread::panicking(), "a destructor waits for ever after a panic");
    if next != running {
        workers::switch_to(next);
    }
}

/// Makes a copy of the `bytes` bytes at `address` one step, and returns true, if the scheduler wishes so. Outside of
/// workers a copy is no step, and the result is true.
pub(crate) fn copy(access: Access, address: usize, bytes: usize) -> bool {
    if workers::running().is_some() && !scheduled(|scheduler| scheduler.copies_whole()).unwrap_or(false) {
        return false;
    }
    step_over(access, address, bytes);
    true
}

/// An access to plain memory that a latch protects, in one step, if copies are whole: where each word of shared memory
/// is a step, that of the latch is enough.
pub(crate) fn guarded(access: Access, address: usize, bytes: usize) {
    if bytes > 0 && scheduled(|scheduler| scheduler.copies_whole()).unwrap_or(false) {
        step_over(access, address, bytes);
    }
}

/// See [`Scheduler::prefetch`].
pub(crate) fn prefetch(address: usize, for_write: bool) {
    scheduled(|scheduler| scheduler.prefetch(address, for_write));
}

/// See [`Scheduler::drain`].
pub(crate) fn drain() {
    scheduled(|scheduler| scheduler.drain());
}

/// See [`Scheduler::compute`].
pub(crate) fn compute(instructions: u64) {
    scheduled(|scheduler| scheduler.compute(instructions));
}

/// Begins or ends the measured part of a run.
pub(crate) fn measure(is_on: bool) {
    scheduled(|scheduler| scheduler.measure(is_on));
}

/// See [`Scheduler::changes_rarely`].
pub(crate) fn changes_rarely(begins: bool) {
    scheduled(|scheduler| scheduler.changes_rarely(begins));
}

/// See [`Scheduler::end_within`].
pub(crate) fn end_within(ns: u64) {
    scheduled(|scheduler| scheduler.end_within(ns));
}

/// Tells the scheduler something about the running worker, if there is one.
fn scheduled<T>(tell: impl FnOnce(&dyn Scheduler) -> T) -> Option<T> {
    workers::running()?;
    if HUSHED.get() {
        return None;
    }
    SCHEDULER.with_borrow(|scheduler| scheduler.as_deref().map(tell))
}

/// A step that waits for other workers, or until a moment.
///
/// # Panics
/// Outside of workers, without a moment: nobody else runs there who could end the wait.
pub(crate) fn wait(until_ns: Option<u64>) {
    if workers::running().is_some() {
        pass(Access::Wait { until_ns });
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
