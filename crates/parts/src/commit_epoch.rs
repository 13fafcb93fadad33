//! The epoch in which transactions commit: coarse, shared, advanced by time (Tu et al., SOSP 2013, 4.1).
//!
//! INVARIANTS
//! (1) A committer enters before it draws its epoch and leaves after its last install.
//! (2) The epoch advances from `e` only when every committer inside has entered at `e`: no commit of an
//!     epoch before `e` is still under way when `e + 1` begins. A session that is not committing, however
//!     long it idles or waits, holds up nothing.

use sync::atomic::{AtomicU64, Ordering, fence};
use sync::{Padded, clock};

/// Orders the reads of an attempt that installs nothing before their validation. Without it, two such attempts may see
/// two commits in different orders, though each finds all that it read unchanged: loads that are Acquire alone see the
/// stores of several threads in one order only where a store is seen by all other cores at once. x86 (SDM 3A,
/// 9.2.3.7), Arm (Pulte et al., POPL 2018) and RISC-V (unprivileged specification, RVWMO) promise that, and then this
/// does nothing; others, such as Power, do not.
#[inline]
pub fn fence_reads() {
    const STORES_ARE_SEEN_AT_ONCE: bool =
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));
    if cfg!(loom) || !STORES_ARE_SEEN_AT_ONCE {
        // SeqCst fence: pairs with the same fence of another such attempt.
        fence(Ordering::SeqCst);
    }
}

/// The commit epoch and who is committing.
#[derive(Debug)]
pub struct CommitEpoch {
    now: Padded<AtomicU64>,
    advanced_ns: Padded<AtomicU64>,
    period_ns: u64,
    /// By slot: the epoch at which it entered, 0 outside of commits.
    inside: Box<[Padded<AtomicU64>]>,
}

impl CommitEpoch {
    /// Epochs of `period_ms` milliseconds for this many slots. The first is 1.
    pub fn new(period_ms: u64, slots: usize) -> Self {
        Self {
            now: Padded(AtomicU64::new(1)),
            advanced_ns: Padded(AtomicU64::new(clock::now_ns())),
            period_ns: period_ms * 1_000_000,
            inside: (0..slots).map(|_| Padded::default()).collect(),
        }
    }

    /// A slot begins to commit. Locks taken after this are held within the epoch that
    /// [`now`](Self::now) then tells, or a later one.
    #[inline]
    pub fn enter(&self, slot: usize) {
        let now = self.now.load(Ordering::Relaxed); // Relaxed: an old epoch only delays the next.
        // Release: pairs with the Acquire fence in `advance`, like the one in `leave`, whose store this one may
        // hide: who sees only that the slot commits again must see what its last commit installed, too.
        self.inside[slot].store(now, Ordering::Release);
    }

    /// The epoch of a commit whose locks are all held: its serialization point. The fence also separates
    /// the locking of what is written from the validation of what was read.
    #[inline]
    pub fn now(&self) -> u64 {
        // SeqCst fence: pairs with the same fence of every other committer (lock, fence, validate is
        // Dekker's pattern), and with the one in `advance`.
        fence(Ordering::SeqCst);
        // Relaxed: the fence below makes it an Acquire, which pairs with the Release in `advance`.
        let now = self.now.load(Ordering::Relaxed);
        // SeqCst fence: pairs with the one above of another committer. Whose validation does not see that one's
        // locks has drawn no later epoch: a reader comes in no epoch after the one who overwrites what it read.
        fence(Ordering::SeqCst);
        now
    }

    /// The epoch, or the one before: a hint.
    #[inline]
    pub fn last(&self) -> u64 {
        self.now.load(Ordering::Relaxed) // Relaxed: see above.
    }

    /// A slot has ended its commit.
    #[inline]
    pub fn leave(&self, slot: usize) {
        // Release: pairs with the Acquire fence in `advance`.
        self.inside[slot].store(0, Ordering::Release);
    }

    /// Advances the epoch if its time is over and everyone allows it: the new epoch, told to one caller.
    pub fn advance(&self) -> Option<u64> {
        let now_ns = clock::now_ns();
        // Relaxed: a hint that keeps most calls short.
        if now_ns.saturating_sub(self.advanced_ns.load(Ordering::Relaxed)) < self.period_ns {
            return None;
        }
        let advanced = self.advance_now();
        if advanced.is_some() {
            self.advanced_ns.store(now_ns, Ordering::Relaxed); // Relaxed: a hint.
        }
        advanced
    }

    /// Advances the epoch if everyone allows it, whatever its age: the new epoch, told to one caller.
    pub fn advance_now(&self) -> Option<u64> {
        let now = self.now.load(Ordering::Relaxed); // Relaxed: checked by the exchange.
        // SeqCst fence: pairs with the one in `now`; a committer not seen inside draws its epoch later.
        fence(Ordering::SeqCst);
        let allowed = self.inside.iter().all(|slot| {
            let entered = slot.load(Ordering::Relaxed); // Relaxed: ordered by the fences around.
            entered == 0 || entered == now
        });
        fence(Ordering::Acquire); // Pairs with the Release in `leave` and in `enter`.
        // Release: pairs with the second fence of `now`. Relaxed on failure: another worker was first.
        let is_advanced =
            allowed && self.now.compare_exchange(now, now + 1, Ordering::Release, Ordering::Relaxed).is_ok();
        is_advanced.then_some(now + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_committer_holds_the_epoch_and_an_idle_slot_does_not() {
        let epoch = CommitEpoch::new(0, 2);
        epoch.enter(0);
        assert_eq!(epoch.now(), 1);
        assert_eq!(epoch.advance(), Some(2));
        assert_eq!(epoch.advance(), None);
        assert_eq!(epoch.now(), 2, "slot 0 entered at 1: the epoch may move one ahead of it, not two");
        epoch.leave(0);
        epoch.advance();
        assert_eq!(epoch.now(), 3);
    }
}
