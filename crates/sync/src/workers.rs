//! Workers: the threads that execute transactions.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::thread;

use crate::backend;

/// Runs `f(0)` .. `f(count - 1)`, each on a thread of its own, and returns what they returned.
///
/// With `pin`, worker `i` stays on the `i`-th of the cores that this process may use, counted round;
/// where the system refuses, it runs unpinned.
///
/// # Panics
/// When a worker panics, with the worker's own message, after the others have ended: they must not
/// wait for one that is gone. When the system starts no more threads, before any `f` is called.
pub fn run<T: Send>(count: usize, pin: bool, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let outcomes: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    start(count, pin, &|index| {
        let outcome = f(index);
        *outcomes[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    });
    let outcome = |place: Mutex<Option<T>>| place.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.into_iter().map(|place| outcome(place).expect("no worker has panicked")).collect()
}

/// The same of workers that return nothing: compiled once, and not for each `f`.
fn start(count: usize, pin: bool, f: &(dyn Fn(usize) + Sync)) {
    // Held until it is known whether all threads were started, so that no worker runs, and perhaps waits for
    // the others, in a crew that never becomes complete.
    let gate = RwLock::new(());
    // Beside the lock and not in it: ThreadSanitizer does not see into the standard library's locks.
    let is_complete = AtomicBool::new(false);
    let body = |index: usize| {
        drop(gate.read().unwrap_or_else(PoisonError::into_inner));
        // Acquire: pairs with the Release below.
        if is_complete.load(Ordering::Acquire) {
            if pin {
                pin_to(index);
            }
            f(index);
        }
    };
    let ended: Vec<thread::Result<()>> = thread::scope(|scope| {
        let held = gate.write().expect("no worker has panicked yet");
        let start = |index| {
            let body = &body;
            thread::Builder::new().name(format!("worker-{index}")).spawn_scoped(scope, move || body(index))
        };
        let started: Vec<_> = (0..count).map_while(|index| start(index).ok()).collect();
        // Release: pairs with the Acquire above.
        is_complete.store(started.len() == count, Ordering::Release);
        drop(held);
        started.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let threads = ended.len();
    assert!(threads == count, "the system starts {threads} threads, but no {count}");
    if let Some(panic) = ended.into_iter().find_map(Result::err) {
        resume_unwind(panic);
    }
}

/// Gives the core to another thread that wants it.
#[inline]
pub fn yield_now() {
    backend::yield_now(0);
}

/// A number that differs between the threads of the process: those that want something of the same kind take different
/// ones by it, and seldom wait for each other.
#[inline]
pub fn own_number() -> usize {
    crate::threads::number()
}

/// How many workers can run at the same time on this machine: the cores that this process may use, as of the first
/// call, since the system has to be asked for them in many files. The first call must not come from a worker that is
/// kept on a core.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Keeps the calling thread on the `index`-th core that the process may use, counted round.
#[cfg(target_os = "linux")]
fn pin_to(index: usize) {
    // SAFETY: a set of cores is plain bits, and all zeroes is the empty set.
    let mut allowed: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    let bytes = size_of::<libc::cpu_set_t>();
    // SAFETY: `allowed` is a set of `bytes` bytes to write to; 0 names the calling thread.
    if unsafe { libc::sched_getaffinity(0, bytes, &raw mut allowed) } != 0 {
        return;
    }
    // SAFETY: every number below CPU_SETSIZE is a bit of the set.
    let is_allowed = |core: &usize| unsafe { libc::CPU_ISSET(*core, &allowed) };
    let cores: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(is_allowed).collect();
    let Some(&core) = cores.get(index % cores.len().max(1)) else { return };
    // SAFETY: as above.
    let mut chosen: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: `core` is below CPU_SETSIZE.
    unsafe { libc::CPU_SET(core, &mut chosen) };
    // SAFETY: `chosen` is a set of `bytes` bytes to read. A refusal leaves the thread unpinned.
    unsafe { libc::sched_setaffinity(0, bytes, &raw const chosen) };
}

/// Other systems place threads as they like.
#[cfg(not(target_os = "linux"))]
fn pin_to(_index: usize) {}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_come_in_the_order_of_the_workers() {
        for pin in [false, true] {
            assert_eq!(run(5, pin, |worker| worker * 10), [0, 10, 20, 30, 40]);
        }
        assert!(run(0, false, |worker| worker).is_empty());
    }

    #[test]
    fn a_panic_leaves_run_after_the_others_have_ended() {
        let ended = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            run(4, false, |worker| {
                assert!(worker != 1, "planted");
                // Relaxed: the end of the threads orders it.
                ended.fetch_add(1, Ordering::Relaxed);
            })
        }));
        let panic = result.expect_err("the panic of worker 1");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"planted"));
        assert_eq!(ended.load(Ordering::Relaxed), 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pinned_worker_may_use_one_core() {
        let of_a_worker = |_| thread::available_parallelism().expect("the system tells").get();
        assert_eq!(run(cores() + 1, true, of_a_worker), vec![1; cores() + 1]);
    }
}
