//! The log's epochs: a number that grows, and the epoch in which each session is committing.
//!
//! A session that commits *opens*: it publishes the epoch that it has drawn, and checks again that this is the current
//! epoch. The thread that ends an epoch advances the number, and waits until no session is open in the ended epoch. So
//! every commit of an epoch has been handed over when the epoch is sealed (invariant (2) of the crate), and no commit
//! waits for that.
//!
//! INVARIANT  If one commit opens before an event and another commit opens after that event, the second has drawn no
//! smaller epoch: both have read one word that only grows, in that order.

use sync::Padded;
use sync::atomic::{AtomicU64, Ordering, fence};

/// Stands for an epoch: the seat is not committing. Epochs are above it.
const IDLE: u64 = 0;

/// The current epoch, and the epoch in which each seat is open.
#[derive(Debug)]
pub struct Epochs {
    now: Padded<AtomicU64>,
    seats: Box<[Padded<AtomicU64>]>,
}

/// The result of opening an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedEpoch {
    /// The epoch that was drawn.
    pub epoch: u64,
}

impl Epochs {
    /// Epochs that begin with `first`, above 0, for `seats` sessions at a time.
    pub fn new(first: u64, seats: usize) -> Self {
        assert!(first > IDLE, "epochs begin at 1");
        let seats = (0..seats).map(|_| Padded(AtomicU64::new(IDLE)));
        Self { now: Padded(AtomicU64::new(first)), seats: seats.collect() }
    }

    /// The current epoch. Everything that was read before the call was written in this epoch, or earlier.
    #[inline]
    pub fn now(&self) -> u64 {
        // Acquire: pairs with the Release in `advance`; its only effect is that the number is not read too early.
        self.now.load(Ordering::Acquire)
    }

    /// Opens in the current epoch, which is not sealed before `close`.
    #[inline]
    pub fn open(&self, seat: usize) -> OpenedEpoch {
        let word = &self.seats[seat].0;
        let mut epoch = self.now();
        loop {
            // Release: pairs with the Acquire in `is_closed`. A thread that sees this seat open in an epoch later than
            // the ended one sees everything that was handed over before.
            word.store(epoch, Ordering::Release);
            // SeqCst fence: pairs with the one in `advance`. Either the thread that ends this epoch sees that it is
            // open here, or this thread sees that it has ended.
            fence(Ordering::SeqCst);
            // Acquire: as in `now`.
            let now = self.now.load(Ordering::Acquire);
            if now == epoch {
                return OpenedEpoch { epoch };
            }
            epoch = now;
        }
    }

    /// Closes the epoch: everything that was to be handed over has been.
    #[inline]
    pub fn close(&self, seat: usize) {
        // Release: pairs with the Acquire in `is_closed`.
        self.seats[seat].0.store(IDLE, Ordering::Release);
    }

    /// Ends the current epoch, and begins the next. Returns the ended epoch.
    pub fn advance(&self) -> u64 {
        // Release: pairs with the Acquire in `now`.
        let ended = self.now.fetch_add(1, Ordering::Release);
        // SeqCst fence: pairs with the one in `open`.
        fence(Ordering::SeqCst);
        ended
    }

    /// Whether all commits that opened in this epoch, which has ended, or earlier have closed: what they handed over
    /// can be seen.
    pub fn is_closed(&self, epoch: u64) -> bool {
        self.seats.iter().all(|seat| {
            // Acquire: pairs with the Release in `close`, and in `open`.
            let open = seat.0.load(Ordering::Acquire);
            open == IDLE || open > epoch
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_when_all_who_drew_it_have_closed() {
        let epochs = Epochs::new(7, 2);
        let open = epochs.open(1);
        assert_eq!(open.epoch, 7);
        assert_eq!(epochs.advance(), 7);
        assert_eq!(epochs.open(0).epoch, 8);
        assert!(!epochs.is_closed(7));
        epochs.close(1);
        assert!(epochs.is_closed(7), "who is open in a later epoch holds nothing up");
        assert!(!epochs.is_closed(8));
    }
}
