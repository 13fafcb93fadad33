//! The one way to wait for another transaction, a batch, or a moment.
//!
//! On a fiber the wait suspends the fiber, and its worker runs another live attempt. On a plain
//! thread it spins, then gives the core away, then sleeps a little at a time.

use crate::atomic::{AtomicU64, Ordering};
use crate::{backend, clock, fiber, hint};

/// Waits until `ready` returns true, and returns true; or until [`clock::now_ns`] reaches `deadline_ns`, and
/// then returns the result of `ready`.
///
/// `ready` is called often, on a fiber by the fiber's crew: it must be short and must not wait. If it loads
/// with Acquire, it sees everything that happened before the store that it loads.
///
/// A fiber that is being unwound by a panic cannot be suspended: there, the result of the first call is
/// returned at once.
#[inline]
pub fn wait_until(deadline_ns: Option<u64>, mut ready: impl FnMut() -> bool) -> bool {
    ready() || wait(deadline_ns, &mut ready)
}

/// Like [`wait_until`], for a wait that the waiting attempts end by themselves, such as that for a batch to fill: a
/// fiber does not count among those that [wait for others](waiting). The condition may depend on whether the thread
/// [is idle](is_idle).
#[inline]
pub fn gather_until(deadline_ns: Option<u64>, mut ready: impl FnMut() -> bool) -> bool {
    ready() || pass(deadline_ns, Some(&mut ready), false)
}

/// Waits until none of `bits` is set in a word, for example its lock bit. The end of the wait is only a hint:
/// the caller looks again, with the ordering that it needs.
#[cold]
pub fn wait_clear(word: &AtomicU64, bits: u64) {
    // Relaxed: see above.
    wait_until(None, || word.load(Ordering::Relaxed) & bits == 0);
}

/// Waits for `ns` nanoseconds at least.
pub fn pause_ns(ns: u64) {
    pass(Some(clock::now_ns().saturating_add(ns)), None, false);
}

/// Works for `ns` nanoseconds at least: no other attempt of this worker runs meanwhile.
pub fn work_ns(ns: u64) {
    let until_ns = clock::now_ns().saturating_add(ns);
    while clock::now_ns() < until_ns {
        backend::work(until_ns);
    }
}

/// Lets the other live attempts of this worker run once, if there are any.
#[inline]
pub fn give_way() {
    fiber::give_way();
}

/// Whether the caller runs on a fiber, where a wait lets another attempt run.
#[inline]
pub fn in_fiber() -> bool {
    fiber::in_fiber()
}

/// The number of fibers of the calling thread that wait for a condition which others bring about: not only for a
/// moment, and not in [`gather_until`].
#[inline]
pub fn waiting() -> u32 {
    fiber::waiting()
}

/// Whether no other fiber of the calling thread could go on when the crew last looked, so that the thread has time for
/// work that is not urgent. On a plain thread, always. For the condition of a wait: elsewhere the fiber that asks is
/// itself one that can go on.
#[inline]
pub fn is_idle() -> bool {
    fiber::is_idle()
}

/// Ticks of [`clock::ticks`] so far during which the calling thread had fibers but none of them could go on.
pub fn stalled_ticks() -> u64 {
    fiber::stalled_ticks()
}

/// Nanoseconds that the calling thread has slept so far because none of its work could go on, not because it
/// asked for a sleep.
pub fn thread_idle_ns() -> u64 {
    backend::slept_ns()
}

/// The slow path of [`wait_until`], out of line with few arguments.
#[cold]
fn wait(deadline_ns: Option<u64>, ready: &mut dyn FnMut() -> bool) -> bool {
    pass(deadline_ns, Some(ready), true)
}

/// The slow path. Without a condition it waits for the deadline alone. `for_others` tells whether the wait is
/// [counted](waiting).
#[cold]
fn pass(deadline_ns: Option<u64>, mut ready: Option<&mut dyn FnMut() -> bool>, for_others: bool) -> bool {
    if in_fiber() {
        return fiber::wait(deadline_ns, ready, for_others);
    }
    let looking = ready.is_some();
    let mut look = || ready.as_mut().is_some_and(|ready| ready());
    let mut round = 0;
    while deadline_ns.is_none_or(|deadline| clock::now_ns() < deadline) {
        if round == 0 && looking && !for_others {
            // The second look of who gathers may end the wait although nothing has changed.
            hint::spin_loop();
        } else {
            backend::idle(round, deadline_ns, looking);
        }
        round += 1;
        if look() {
            return true;
        }
    }
    look()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::atomic::{AtomicBool, Ordering};
    use crate::workers;

    #[test]
    fn a_thread_waits_for_what_another_does() {
        let is_open = AtomicBool::new(false);
        workers::run(2, false, |worker| {
            if worker == 0 {
                // Acquire and Release: a pair, as in any use.
                assert!(wait_until(None, || is_open.load(Ordering::Acquire)));
            } else {
                pause_ns(1_000_000);
                is_open.store(true, Ordering::Release);
            }
        });
    }

    #[test]
    fn a_thread_waits_no_longer_than_its_deadline() {
        let deadline_ns = clock::now_ns() + 1_000_000;
        assert!(!wait_until(Some(deadline_ns), || false));
        assert!(clock::now_ns() >= deadline_ns);
    }

    #[test]
    fn a_waiting_fiber_knows_whether_another_can_go_on() {
        assert!(is_idle(), "a plain thread has no other fiber");
        let (turns, idle_at) = (Cell::new(0), Cell::new(None));
        let mut crew = fiber::Crew::new();
        crew.spawn(fiber::STACK_BYTES, || {
            wait_until(None, is_idle);
            idle_at.set(Some(turns.get()));
        });
        for _ in 0..2 {
            crew.spawn(fiber::STACK_BYTES, || {
                for _ in 0..10 {
                    // It can go on at once, but is looked at only after the first one.
                    wait_until(None, || true);
                    give_way();
                    turns.set(turns.get() + 1);
                }
                wait_until(None, || idle_at.get().is_some());
            });
        }
        crew.run();
        assert_eq!(idle_at.get(), Some(20), "when both have nothing left to do");
        assert!(is_idle());
    }

    #[test]
    fn work_takes_its_time() {
        let until_ns = clock::now_ns() + 100_000;
        work_ns(100_000);
        assert!(clock::now_ns() >= until_ns);
    }

    #[test]
    fn a_condition_that_holds_is_not_waited_for() {
        assert!(wait_until(Some(0), || true));
        assert!(!wait_until(Some(0), || false));
        assert!(!in_fiber());
    }
}
