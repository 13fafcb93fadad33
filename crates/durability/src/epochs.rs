//! The log's epochs: a number that grows, and who is committing in which.
//!
//! Who commits *opens*: says which epoch it has drawn, and looks again whether that is the present one. Who ends an
//! epoch moves the number on, and waits until nobody is open in what has ended. So every commit of an epoch has been
//! handed over when it is sealed (invariant (2) of the crate), and no commit waits for that.
//!
//! INVARIANT  Of two commits, of which the first opens before something that the second opens after, the second has
//! drawn no smaller epoch: both have read one word that only grows, in that order.

use sync::Padded;
use sync::atomic::{AtomicU64, Ordering, fence};

/// In place of an epoch: nobody is committing. Epochs are above it.
const IDLE: u64 = 0;

/// The present epoch, and who is open in which.
#[derive(Debug)]
pub struct Epochs {
    now: Padded<AtomicU64>,
    seats: Box<[Padded<AtomicU64>]>,
}

/// Who has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// The epoch that was drawn.
    pub epoch: u64,
}

impl Epochs {
    /// Epochs that begin with `first`, above 0, for so many at a time.
    pub fn new(first: u64, seats: usize) -> Self {
        assert!(first > IDLE, "epochs begin at 1");
        let seats = (0..seats).map(|_| Padded(AtomicU64::new(IDLE)));
        Self { now: Padded(AtomicU64::new(first)), seats: seats.collect() }
    }

    /// The present epoch. What was read before had been written in it, or earlier.
    #[inline]
    pub fn now(&self) -> u64 {
        // Acquire: pairs with the Release in `advance`; orders nothing else but that the number does not come too
        // early.
        self.now.load(Ordering::Acquire)
    }

    /// Opens in the present epoch, which is not sealed before `close`.
    #[inline]
    pub fn open(&self, seat: usize) -> Open {
        let word = &self.seats[seat].0;
        let mut epoch = self.now();
        loop {
            // Release: pairs with the Acquire in `is_closed`. Who sees a later epoch open here than the one that has
            // ended sees what was handed over before.
            word.store(epoch, Ordering::Release);
            // SeqCst fence: pairs with the one in `advance`. Either who ends this epoch sees that it is open here, or
            // it is seen here that it has ended.
            fence(Ordering::SeqCst);
            // Acquire: as in `now`.
            let now = self.now.load(Ordering::Acquire);
            if now == epoch {
                return Open { epoch };
            }
            epoch = now;
        }
    }

    /// All that was to be handed over has been.
    #[inline]
    pub fn close(&self, seat: usize) {
        // Release: pairs with the Acquire in `is_closed`.
        self.seats[seat].0.store(IDLE, Ordering::Release);
    }

    /// Ends the present epoch, and begins the next; the one that has ended.
    pub fn advance(&self) -> u64 {
        // Release: pairs with the Acquire in `now`.
        let ended = self.now.fetch_add(1, Ordering::Release);
        // SeqCst fence: pairs with the one in `open`.
        fence(Ordering::SeqCst);
        ended
    }

    /// Whether all who opened up to this epoch, which has ended, have closed: what they handed over can be seen.
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
