//! How a session hands its commits to the log's thread: a ring of words with one writer and one reader, and a box
//! beside it for what has no room there. The writer never waits for the reader.
//!
//! INVARIANTS
//! (1) Words from `taken` to `given` belong to the reader, the others to the writer: each moves its own number on when
//!     it is done with what it gives away.
//! (2) What is in the ring is whole transactions, one after the other, in the order of their epochs.

use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{Latched, Padded, words};

use crate::entry::Head;

/// The commits of one session on their way to the log.
#[derive(Debug)]
pub struct Handover {
    words: Box<[AtomicU64]>,
    /// Words that the writer has given.
    given: Padded<AtomicU64>,
    /// Words that the reader has taken.
    taken: Padded<AtomicU64>,
    /// Transactions that had no room.
    others: Latched<Vec<Box<[u64]>>>,
    /// Words of those: what tells the writer to wait before it begins another one.
    waiting: AtomicUsize,
}

impl Handover {
    /// One with a ring of at least so many words.
    pub fn new(words: usize) -> Self {
        let words = (0..words.next_power_of_two()).map(|_| AtomicU64::new(0));
        Self {
            words: words.collect(),
            given: Padded::default(),
            taken: Padded::default(),
            others: Latched::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    fn slices(&self, at: u64, len: usize) -> [&[AtomicU64]; 2] {
        let from = at as usize & (self.words.len() - 1);
        let first = len.min(self.words.len() - from);
        [&self.words[from..from + first], &self.words[..len - first]]
    }

    /// Hands a transaction over; the only writer calls it.
    #[inline]
    pub fn give(&self, transaction: &[u64]) {
        let len = transaction.len();
        // Relaxed: the writer's own. Acquire: pairs with the Release in `take`, so that what is written over was read.
        let (given, taken) = (self.given.load(Ordering::Relaxed), self.taken.load(Ordering::Acquire));
        if len > self.words.len() - (given - taken) as usize {
            return self.give_beside(transaction);
        }
        let [first, second] = self.slices(given, len);
        words::store(first, &transaction[..first.len()]);
        words::store(second, &transaction[first.len()..]);
        // Release: pairs with the Acquire in `take`.
        self.given.store(given + len as u64, Ordering::Release);
    }

    #[cold]
    fn give_beside(&self, transaction: &[u64]) {
        self.others.lock().push(transaction.into());
        // Relaxed: what is in the box is ordered by its latch, and that something is due there, by the end of the
        // epoch.
        self.waiting.fetch_add(transaction.len(), Ordering::Relaxed);
    }

    /// Words that had no room in the ring and were not taken yet.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed) // Relaxed: see `give_beside`.
    }

    /// Takes all transactions up to an epoch, and appends them as bytes; the only reader calls it.
    pub fn take(&self, epoch: u64, to: &mut Vec<u8>) {
        // Relaxed: the reader's own. Acquire: pairs with the Release in `give`.
        let (mut taken, given) = (self.taken.load(Ordering::Relaxed), self.given.load(Ordering::Acquire));
        while taken < given {
            let mut head = [0; crate::entry::HEAD];
            self.copy(taken, &mut head);
            let head = Head::of(&head).expect("the ring has whole transactions");
            if head.epoch > epoch {
                break;
            }
            to.reserve(head.words * 8);
            for word in self.slices(taken, head.words).into_iter().flatten() {
                // Relaxed: the Acquire above orders it.
                to.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
            }
            taken += head.words as u64;
        }
        // Release: pairs with the Acquire in `give`.
        self.taken.store(taken, Ordering::Release);
        if self.waiting() > 0 {
            self.take_beside(epoch, to);
        }
    }

    fn copy(&self, at: u64, to: &mut [u64]) {
        let [first, second] = self.slices(at, to.len());
        words::load(first, &mut to[..first.len()]);
        words::load(second, &mut to[first.len()..]);
    }

    #[cold]
    fn take_beside(&self, epoch: u64, to: &mut Vec<u8>) {
        let mut others = self.others.lock();
        let is_due = |words: &[u64]| Head::of(words).is_some_and(|head| head.epoch <= epoch);
        let mut words = 0;
        others.retain(|transaction| {
            if is_due(transaction) {
                transaction.iter().for_each(|word| to.extend(word.to_le_bytes()));
                words += transaction.len();
            }
            !is_due(transaction)
        });
        self.waiting.fetch_sub(words, Ordering::Relaxed); // Relaxed: see `give_beside`.
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn transaction(len: usize, epoch: u64, fill: u64) -> Vec<u64> {
        let mut words = vec![fill; len];
        words[0] = len as u64;
        words[1] = epoch;
        words
    }

    fn taken(handover: &Handover, epoch: u64) -> Vec<u64> {
        let mut bytes = Vec::new();
        handover.take(epoch, &mut bytes);
        crate::format::words(&bytes).collect()
    }

    #[test]
    fn what_was_given_is_taken_once_and_up_to_its_epoch() {
        let handover = Handover::new(16);
        for round in 0..20 {
            let (first, second) = (transaction(5, round, 1), transaction(4, round + 1, 2));
            handover.give(&first);
            handover.give(&second);
            let mut expected: Vec<u64> = if round > 0 { transaction(4, round, 2) } else { Vec::new() };
            expected.extend(&first);
            assert_eq!(taken(&handover, round), expected);
        }
    }

    #[test]
    fn what_has_no_room_waits_beside_the_ring() {
        let handover = Handover::new(8);
        handover.give(&transaction(6, 1, 1));
        handover.give(&transaction(3, 1, 2));
        handover.give(&transaction(100, 2, 3));
        assert_eq!(handover.waiting(), 103);
        assert_eq!(taken(&handover, 1).len(), 9);
        assert_eq!(handover.waiting(), 100);
        assert_eq!(taken(&handover, 2), transaction(100, 2, 3));
        assert_eq!((handover.waiting(), taken(&handover, 9).len()), (0, 0));
    }
}
