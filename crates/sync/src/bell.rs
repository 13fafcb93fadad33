//! A bell: many threads sleep, and use no core, until an event has happened for which at least one of them waits. For
//! waits as long as those for a device; shorter waits use [`waiter`](crate::waiter).

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::atomic::{AtomicUsize, Ordering, fence};
use crate::{backend, clock};

/// Wakes threads that wait for an event that other threads cause.
#[derive(Debug, Default)]
pub struct Bell {
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    /// Sleeps until `ready` returns true, and returns true; or until [`clock::now_ns`] reaches `deadline_ns`, and then
    /// returns the result of `ready`. `ready` is called at once, and after every ring of the bell.
    pub fn wait_until(&self, deadline_ns: Option<u64>, mut ready: impl FnMut() -> bool) -> bool {
        if ready() {
            return true;
        }
        let since_ns = clock::now_ns();
        // Only `ready` can panic while the lock is held, and the lock keeps no state of it, so a poisoned lock is
        // still usable.
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed, here and below: the fence orders it.
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // SeqCst fence: pairs with the one in `ring`. Either `ring` sees that a thread sleeps, or this thread sees the
        // event.
        fence(Ordering::SeqCst);
        let is_ready = loop {
            if ready() {
                break true;
            }
            let left_ns = deadline_ns.map(|deadline_ns| deadline_ns.saturating_sub(clock::now_ns()));
            lock = match left_ns {
                Some(0) => break false,
                Some(left_ns) => {
                    let slept = self.rung.wait_timeout(lock, Duration::from_nanos(left_ns));
                    slept.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.rung.wait(lock).unwrap_or_else(PoisonError::into_inner),
            };
        };
        drop(lock);
        self.sleepers.fetch_sub(1, Ordering::Relaxed); // Relaxed: as above.
        backend::has_slept_ns(clock::now_ns() - since_ns);
        is_ready
    }

    /// Makes all sleepers call `ready` again. The caller has made the awaited change before it rings.
    #[inline]
    pub fn ring(&self) {
        // SeqCst fence: pairs with the one in `wait_until`.
        fence(Ordering::SeqCst);
        // Relaxed: the fence orders it.
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // A thread that has counted itself and called `ready` in vain holds the lock until it sleeps.
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.rung.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::atomic::AtomicU64;
    use crate::{waiter, workers};

    #[test]
    fn all_who_wait_for_a_number_hear_of_it() {
        const LAST: u64 = 2_000;
        let (bell, number) = (Bell::default(), AtomicU64::new(0));
        workers::run(5, false, |worker| {
            for next in 1..=LAST {
                if worker == 0 {
                    // Release: pairs with the Acquire below.
                    number.store(next, Ordering::Release);
                    bell.ring();
                } else {
                    bell.wait_until(None, || number.load(Ordering::Acquire) >= next);
                }
            }
        });
        let before_ns = waiter::thread_idle_ns();
        assert!(!bell.wait_until(Some(clock::now_ns() + 1_000_000), || false));
        assert!(waiter::thread_idle_ns() >= before_ns + 1_000_000, "who sleeps asks for no core");
        assert_eq!(bell.sleepers.load(Ordering::Relaxed), 0); // Relaxed: all have ended.
    }
}
