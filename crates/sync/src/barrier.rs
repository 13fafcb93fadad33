//! A barrier for workers that advance in phases.

use crate::Padded;
use crate::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::waiter;

/// A reusable barrier: no member passes until all members have arrived.
///
/// Waits through the waiter, because a barrier that only spins takes seconds where there are more
/// workers than cores.
#[derive(Debug)]
pub struct Barrier {
    members: usize,
    arrived: Padded<AtomicUsize>,
    phase: Padded<AtomicUsize>,
    is_broken: AtomicBool,
}

/// The error that a member has left for good: the members will never all arrive again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl Barrier {
    /// A barrier for `members` workers.
    ///
    /// # Panics
    /// When there are no members.
    pub fn new(members: usize) -> Self {
        assert!(members > 0, "a barrier has members");
        let (arrived, phase) = (Padded(AtomicUsize::new(0)), Padded(AtomicUsize::new(0)));
        Self { members, arrived, phase, is_broken: AtomicBool::new(false) }
    }

    /// Whether a member has left.
    pub fn is_broken(&self) -> bool {
        // Acquire: pairs with the Release in `leave`.
        self.is_broken.load(Ordering::Acquire)
    }

    /// Waits until all members have called this. All members afterwards see everything that the others did
    /// before. Returns true for exactly one member, the leader of the phase that begins.
    ///
    /// # Errors
    /// When a member left before it arrived. A phase for which all members had arrived stays valid: its
    /// members learn of the departure at their next wait.
    pub fn wait(&self) -> Result<bool, Broken> {
        // Relaxed: the phase cannot change before this worker arrives, and it saw the last change when
        // it left that phase.
        let phase = self.phase.load(Ordering::Relaxed);
        // AcqRel: pairs with itself; the last to arrive sees what all others did before.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            // Relaxed: nobody arrives again before the store below, which orders this one.
            self.arrived.store(0, Ordering::Relaxed);
            // Release: pairs with the Acquire of those who wait.
            self.phase.store(phase.wrapping_add(1), Ordering::Release);
            return Ok(true);
        }
        // Acquire: pairs with the Release of the last to arrive.
        let has_begun = || self.phase.load(Ordering::Acquire) != phase;
        while !waiter::wait_until(None, || has_begun() || self.is_broken()) {}
        // A phase that has begun had all members, even if one of them left afterwards.
        if has_begun() { Ok(false) } else { Err(Broken) }
    }

    /// Leaves for good. From then on nobody waits for this member: the others' waits end with [`Broken`].
    pub fn leave(&self) {
        // Release: pairs with the Acquire in `wait`.
        self.is_broken.store(true, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::workers;

    #[test]
    fn nobody_passes_before_all_arrived_and_one_leads() {
        const WORKERS: usize = 8;
        const PHASES: usize = 200;
        let barrier = Barrier::new(WORKERS);
        let arrivals = AtomicUsize::new(0);
        let led: usize = workers::run(WORKERS, false, |_| {
            let mut led = 0;
            for phase in 1..=PHASES {
                // Relaxed: the barrier orders it, which is what this test is about.
                arrivals.fetch_add(1, Ordering::Relaxed);
                led += usize::from(barrier.wait().expect("nobody leaves"));
                assert_eq!(arrivals.load(Ordering::Relaxed), phase * WORKERS);
                barrier.wait().expect("nobody leaves");
            }
            led
        })
        .into_iter()
        .sum();
        assert_eq!(led, PHASES);
    }

    #[test]
    fn fibers_of_one_worker_meet() {
        let (barrier, led) = (Barrier::new(3), AtomicUsize::new(0));
        let mut crew = crate::fiber::Crew::new();
        for _ in 0..3 {
            crew.spawn(crate::fiber::STACK_BYTES, || {
                for _ in 0..10 {
                    // Relaxed: all on one thread.
                    led.fetch_add(usize::from(barrier.wait().expect("nobody leaves")), Ordering::Relaxed);
                }
            });
        }
        crew.run();
        assert_eq!(led.load(Ordering::Relaxed), 10);
    }

    #[test]
    fn who_leaves_keeps_nobody_waiting_and_undoes_no_meeting() {
        const MET: usize = 50;
        let barrier = Barrier::new(3);
        let met = workers::run(3, false, |worker| {
            if worker == 0 {
                (0..MET).for_each(|_| assert!(barrier.wait().is_ok()));
                barrier.leave();
                return MET;
            }
            let mut met = 0;
            while barrier.wait().is_ok() {
                met += 1;
            }
            met
        });
        assert_eq!(met, [MET; 3]);
    }
}
