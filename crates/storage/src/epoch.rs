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
    /// The number of seats below that were given up.
    given_up: Padded<AtomicUsize>,
    seats: Box<[Padded<Seat>]>,
}

#[derive(Debug, Default)]
struct Seat {
    /// The epoch at which its participant is pinned; 0 when it is not.
    pinned: AtomicU64,
    is_given_up: AtomicBool,
}

/// So many participants all try to advance the epoch.
const FEW: usize = 4;

/// A seat taken among the participants.
#[derive(Debug)]
pub(crate) struct Participant<'e> {
    epochs: &'e Epochs,
    seat: usize,
    /// The epoch that the participant saw last in [`help_advance`](Self::help_advance).
    seen: u64,
    /// A number that grows while the epoch stands still. It is the participant's turn when it reaches the number of
    /// participants.
    turn: usize,
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
        Self { now: Padded(AtomicU64::new(1)), used: Padded::default(), given_up: Padded::default(), seats }
    }

    /// Takes a free seat.
    ///
    /// # Panics
    /// When all are taken: the database was made for fewer sessions.
    pub(crate) fn join(&self) -> Participant<'_> {
        // Relaxed: a hint. Most seats are never given up, and then nobody looks at the seats of all others.
        let again = if self.given_up.load(Ordering::Relaxed) > 0 { self.given_up_seat() } else { None };
        let seat = again.or_else(|| self.fresh_seat()).or_else(|| self.given_up_seat());
        let seat = seat.expect("the database has a seat for each session");
        Participant { epochs: self, seat, seen: 0, turn: 0 }
    }

    /// Takes a seat that was never taken.
    fn fresh_seat(&self) -> Option<usize> {
        if self.used() == self.seats.len() {
            return None;
        }
        // Relaxed: the fence of the participant's first pin orders it. Several who find the last seat count on beyond
        // it.
        let seat = self.used.fetch_add(1, Ordering::Relaxed);
        (seat < self.seats.len()).then_some(seat)
    }

    /// The number of seats that were ever taken.
    fn used(&self) -> usize {
        // Relaxed: a seat that is not counted yet has not pinned before the fence of the caller, if it needs one.
        self.used.load(Ordering::Relaxed).min(self.seats.len())
    }

    /// The number of participants, about: for the decision who tries to advance the epoch.
    fn participants(&self) -> usize {
        // Relaxed: a hint.
        self.used().saturating_sub(self.given_up.load(Ordering::Relaxed)).max(1)
    }

    /// Takes a seat that was given up.
    fn given_up_seat(&self) -> Option<usize> {
        let seat = self.seats.iter().position(|seat| {
            // Acquire: pairs with the Release in `Participant::drop`. Relaxed on failure: nothing is read.
            seat.is_given_up.compare_exchange(true, false, Ordering::Acquire, Ordering::Relaxed).is_ok()
        })?;
        self.given_up.fetch_sub(1, Ordering::Relaxed); // Relaxed: a hint.
        Some(seat)
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

    /// Advances the epoch if invariant (2) allows it. Looks at the seat of number `first` first, so that those who try
    /// do not all take the same cache line from its participant.
    pub(crate) fn try_advance(&self, first: usize) {
        let now = self.now();
        // SeqCst fence: pairs with the one in `pin`. A participant whose pin is not seen below pins after
        // this point, and so sees every unlinking that came before it.
        fence(Ordering::SeqCst);
        let used = self.used();
        let (before, after) = self.seats[..used].split_at(first.min(used));
        let all_here = after.iter().chain(before).all(|seat| {
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

    /// Tries to advance the epoch if it is urgent or this participant's turn. A try takes a cache line from each
    /// participant, so that all try while they are few, but not when they are many: then one does, another with each
    /// epoch, and the rest in turn while the epoch stands still.
    pub(crate) fn help_advance(&mut self, is_urgent: bool) {
        let now = self.epochs.now();
        let count = self.epochs.participants();
        if self.seen != now {
            (self.seen, self.turn) = (now, (self.seat + now as usize) % count);
        }
        self.turn += 1;
        if is_urgent || count <= FEW || self.turn >= count {
            self.turn = 0;
            self.epochs.try_advance(self.seat + 1);
        }
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
        // Counted before anybody can take it, so that the count stays above zero. Relaxed: a hint.
        self.epochs.given_up.fetch_add(1, Ordering::Relaxed);
        // Release: pairs with the Acquire in `given_up_seat`.
        self.epochs.seats[self.seat].is_given_up.store(true, Ordering::Release);
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
            epochs.try_advance(0);
        }
        assert!(!epochs.is_past(unlinked_at));
        pinned.unpin();
        for _ in 0..2 {
            epochs.try_advance(0);
        }
        assert!(epochs.is_past(unlinked_at));
    }

    #[test]
    fn many_participants_advance_the_epoch_by_few_tries() {
        /// The epochs that so many participants advance in ten calls each, and the number of their tries.
        fn advanced(count: usize, has_pinned: bool) -> (u64, usize) {
            let epochs = Epochs::new(count + 1);
            let mut pinned = epochs.join();
            if has_pinned {
                pinned.pin();
                epochs.try_advance(0);
            }
            let (mut all, mut tries): (Vec<_>, _) = ((0..count).map(|_| epochs.join()).collect(), 0);
            let before = epochs.now();
            for _ in 0..10 {
                for participant in &mut all {
                    participant.help_advance(false);
                    tries += usize::from(participant.turn == 0);
                }
            }
            (epochs.now() - before, tries)
        }
        let (epochs, _) = advanced(1, false);
        assert_eq!(epochs, 10, "by one beside one who idles");
        let (epochs, tries) = advanced(800, false);
        assert!((5..=20).contains(&epochs) && tries <= 20, "{epochs} epochs, {tries} tries");
        let (epochs, tries) = advanced(800, true);
        assert!(epochs == 0 && (5..=20).contains(&tries), "{tries} tries under one who holds all up");
    }

    #[test]
    fn those_who_have_left_have_no_turn() {
        let epochs = Epochs::new(9);
        let mut last = epochs.join();
        drop((0..8).map(|_| epochs.join()).collect::<Vec<_>>());
        let before = epochs.now();
        (0..10).for_each(|_| last.help_advance(false));
        assert_eq!(epochs.now(), before + 10);
    }

    #[test]
    fn a_seat_given_up_is_taken_again() {
        let epochs = Epochs::new(1);
        drop(epochs.join());
        assert_eq!(epochs.join().seat(), 0);
    }
}
