//! Epoch-based reclamation: memory that others may still look at is used again only after every attempt that
//! could know of it has ended (Fraser, `PhD` 2004).
//!
//! INVARIANTS
//! (1) A participant pins before it follows shared pointers and unpins after its last use of them.
//! (2) The epoch advances from `e` only when every pinned participant is pinned at `e`.
//! (3) Memory that was unlinked at epoch `e` is used again at `e + 2` or later: by (2) everyone who was pinned
//!     at the unlinking has unpinned since.
//!
//! An unpinned participant, however long it idles, holds up nothing.

use sync::Padded;
use sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

use crate::part::is_in;

/// The epoch counter and its participants.
#[derive(Debug)]
pub(crate) struct Epochs {
    now: Padded<AtomicU64>,
    /// Seats from this number on were never taken.
    used: Padded<AtomicUsize>,
    seats: Box<[Padded<Seat>]>,
}

#[derive(Debug, Default)]
struct Seat {
    /// The epoch at which its participant is pinned; 0 when it is not.
    pinned: AtomicU64,
    taken: AtomicBool,
}

/// A seat taken among the participants.
#[derive(Debug)]
pub(crate) struct Participant<'e> {
    epochs: &'e Epochs,
    seat: usize,
}

impl Epochs {
    /// The part of the epochs that has an address, in words.
    pub(crate) fn part_at(&self, address: usize) -> Option<String> {
        if is_in(&self.now, address) {
            return Some("the epoch of memory".to_owned());
        }
        if is_in(&self.used, address) {
            return Some("the number of sessions in the epoch of memory".to_owned());
        }
        let number = || (address - self.seats.as_ptr().addr()) / size_of::<Padded<Seat>>();
        is_in(&*self.seats, address).then(|| format!("session {} in the epoch of memory", number()))
    }

    /// Room for `seats` participants.
    pub(crate) fn new(seats: usize) -> Self {
        let seats = (0..seats).map(|_| Padded::default()).collect();
        Self { now: Padded(AtomicU64::new(1)), used: Padded::default(), seats }
    }

    /// Takes a free seat.
    ///
    /// # Panics
    /// When all are taken: the database was made for fewer sessions.
    pub(crate) fn join(&self) -> Participant<'_> {
        let free = self.seats.iter().position(|seat| {
            // Acquire: pairs with the Release in `Participant::drop`. Relaxed on failure: nothing is read.
            seat.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        });
        let seat = free.expect("the database has a seat for each session");
        // Relaxed: the fence of the participant's first pin orders it.
        self.used.fetch_max(seat + 1, Ordering::Relaxed);
        Participant { epochs: self, seat }
    }

    /// The current epoch, perhaps a little late.
    #[inline]
    fn now(&self) -> u64 {
        // Relaxed: a participant pinned too early only delays reclamation.
        self.now.load(Ordering::Relaxed)
    }

    /// The epoch to stamp on memory that the caller has unlinked before.
    #[inline]
    pub(crate) fn stamp(&self) -> u64 {
        // SeqCst fence: pairs with the one in `pin`. A participant that still found the unlinked memory has
        // pinned before this point, at an epoch that the load below cannot miss.
        fence(Ordering::SeqCst);
        self.now()
    }

    /// Advances the epoch if invariant (2) allows it.
    pub(crate) fn try_advance(&self) {
        let now = self.now();
        // SeqCst fence: pairs with the one in `pin`. A participant whose pin is not seen below pins after
        // this point, and so sees every unlinking that came before it.
        fence(Ordering::SeqCst);
        // Relaxed: a seat that is not counted yet has not pinned before the fence.
        let used = self.used.load(Ordering::Relaxed);
        let all_here = self.seats[..used].iter().all(|seat| {
            // Acquire: pairs with the Release in `unpin` and in `pin`, so that a participant's uses in attempts
            // that have ended come before any reuse. The fence above makes a pin before it seen.
            let pinned = seat.pinned.load(Ordering::Acquire);
            pinned == 0 || pinned == now
        });
        if all_here {
            // Release: passes what the loads above have acquired on to whoever reads the epoch. Relaxed on
            // failure: another participant was first.
            let _ = self.now.compare_exchange(now, now + 1, Ordering::Release, Ordering::Relaxed);
        }
    }

    /// Whether memory that was unlinked at `epoch` may be used again.
    #[inline]
    pub(crate) fn is_past(&self, epoch: u64) -> bool {
        // Acquire: pairs with the Release in `try_advance`.
        epoch + 2 <= self.now.load(Ordering::Acquire)
    }
}

impl Participant<'_> {
    /// The seat's number, below the number of seats.
    #[inline]
    pub(crate) fn seat(&self) -> usize {
        self.seat
    }

    /// Pins at the current epoch: pointers followed from now on stay good until [`unpin`](Self::unpin).
    #[inline]
    pub(crate) fn pin(&mut self) {
        let now = self.epochs.now();
        // Release: pairs with the Acquire in `try_advance`, like the one in `unpin`, whose store this one may
        // hide: a thread that sees only that the seat is pinned again must see the earlier uses done, too.
        self.epochs.seats[self.seat].pinned.store(now, Ordering::Release);
        // SeqCst fence: pairs with the one in `try_advance`; the pin is visible before any pointer is read.
        fence(Ordering::SeqCst);
    }

    /// Unpins.
    #[inline]
    pub(crate) fn unpin(&mut self) {
        // Release: pairs with the Acquire in `try_advance`; uses of shared memory come before.
        self.epochs.seats[self.seat].pinned.store(0, Ordering::Release);
    }
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.unpin();
        // Release: pairs with the Acquire in `join`.
        self.epochs.seats[self.seat].taken.store(false, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_participant_holds_reclamation_and_an_idle_one_does_not() {
        let epochs = Epochs::new(2);
        let (mut pinned, _idle) = (epochs.join(), epochs.join());
        pinned.pin();
        let unlinked_at = epochs.stamp();
        for _ in 0..10 {
            epochs.try_advance();
        }
        assert!(!epochs.is_past(unlinked_at));
        pinned.unpin();
        for _ in 0..2 {
            epochs.try_advance();
        }
        assert!(epochs.is_past(unlinked_at));
    }

    #[test]
    fn a_seat_given_up_is_taken_again() {
        let epochs = Epochs::new(1);
        drop(epochs.join());
        assert_eq!(epochs.join().seat(), 0);
    }
}
