//! The handover of a session's commits to the log's thread: a ring of words with one writer and one reader, and a list
//! beside it for transactions that have no room there. The writer never waits for the reader, and writes a transaction
//! directly where it will be read: an incomplete transaction is not given yet.
//!
//! INVARIANTS
//! (1) Words from `taken` to `given` belong to the reader, the others to the writer: each side advances its own number
//!     when it is done with the words that it gives away.
//! (2) The ring contains whole transactions, one after the other, in the order of their epochs.

use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{Arc, Latched, Padded, hint, words};

use crate::entry::{HEAD, Head};

/// The commits of one session on their way to the log.
#[derive(Debug)]
pub struct Handover {
    words: Box<[AtomicU64]>,
    /// The number of words that the writer has given.
    given: Padded<AtomicU64>,
    /// The number of words that the reader has taken.
    taken: Padded<AtomicU64>,
    /// The transactions that had no room in the ring.
    others: Latched<Vec<Box<[u64]>>>,
    /// The number of words of those transactions; it tells the writer to wait before it begins another transaction.
    waiting: AtomicUsize,
}

/// The writer's side: the transaction that is being written.
#[derive(Debug)]
pub struct Giver {
    handover: Arc<Handover>,
    /// The position at which the transaction begins: everything before it was given.
    start: u64,
    /// The position of its next word.
    at: u64,
    /// The position up to which the ring is known to belong to the writer.
    free: u64,
    /// The position up to which the writer has prefetched the ring's cache lines.
    asked: u64,
    /// The transaction, if it has no room in the ring.
    beside: Vec<u64>,
    is_beside: bool,
}

/// The number of words of a cache line.
const LINE: u64 = 8;
/// The number of words by which the prefetch of the ring's cache lines, which the reader had last, is ahead of the
/// writer: about the size of a few transactions.
const AHEAD: u64 = 256;

impl Giver {
    /// The writer of a ring; there must be one at a time.
    pub fn new(handover: Arc<Handover>) -> Self {
        // Relaxed: only the writer writes it; of two writers, the second begins after the first has ended.
        let start = handover.given.load(Ordering::Relaxed);
        Self { handover, start, at: start, free: start, asked: start, beside: Vec::new(), is_beside: false }
    }

    /// Begins a transaction, which replaces a transaction that was not ended, if there is one.
    #[inline]
    pub fn begin(&mut self, epoch: u64, order: u64) {
        self.at = self.start;
        self.is_beside = false;
        self.append(0, &[epoch, order], &[]);
    }

    /// The number of words of the transaction so far.
    pub(crate) fn len(&self) -> usize {
        if self.is_beside { self.beside.len() } else { (self.at - self.start) as usize }
    }

    /// Appends words to the transaction.
    #[inline]
    pub fn append(&mut self, first: u64, second: &[u64], third: &[u64]) {
        let ring = &*self.handover.words;
        let len = 1 + second.len() + third.len();
        let from = self.at as usize & (ring.len() - 1);
        let to = ring.get(from..from + len).filter(|_| self.at + len as u64 <= self.free);
        let Some([to_first, to @ ..]) = to else { return self.append_in_pieces([&[first], second, third]) };
        to_first.store(first, Ordering::Relaxed); // Relaxed: given by `end`.
        let (to_second, to_third) = to.split_at(second.len());
        words::store(to_second, second);
        words::store(to_third, third);
        self.at += len as u64;
    }

    /// Like `append`, where the ring wraps around or may have no room.
    #[cold]
    fn append_in_pieces(&mut self, pieces: [&[u64]; 3]) {
        let len = pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        if !self.is_beside {
            let handover = &*self.handover;
            // Acquire: pairs with the Release in `take`, so that words which are overwritten have been read.
            self.free = handover.taken.load(Ordering::Acquire) + handover.words.len() as u64;
            if self.at + len <= self.free {
                for piece in pieces {
                    let [first, second] = handover.slices(self.at, piece.len());
                    words::store(first, &piece[..first.len()]);
                    words::store(second, &piece[first.len()..]);
                    self.at += piece.len() as u64;
                }
                return;
            }
            self.beside.resize(self.len(), 0);
            handover.copy(self.start, &mut self.beside);
            // From here on no word has room in the ring.
            (self.at, self.free, self.is_beside) = (self.start, self.start, true);
        }
        for piece in pieces {
            self.beside.extend_from_slice(piece);
        }
    }

    /// Ends the transaction, which has `writes` writes, and hands it over.
    #[inline]
    pub fn end(&mut self, writes: u64) {
        let first = self.len() as u64 | writes << 32;
        if self.is_beside {
            return self.end_beside(first);
        }
        let handover = &*self.handover;
        let from = self.start as usize & (handover.words.len() - 1);
        handover.words[from].store(first, Ordering::Relaxed); // Relaxed: given here.
        self.start = self.at;
        // Release: pairs with the Acquire in `take`.
        handover.given.store(self.at, Ordering::Release);
        self.ask_ahead();
    }

    #[cold]
    fn end_beside(&mut self, first: u64) {
        self.beside[0] = first;
        self.handover.others.lock().push(self.beside.as_slice().into());
        // Relaxed: the latch orders the contents of the list, and the end of the epoch orders the fact that some of
        // them are due.
        self.handover.waiting.fetch_add(self.beside.len(), Ordering::Relaxed);
    }

    /// Prefetches the lines that are written next, so that they are in the cache for the next transaction.
    #[inline]
    fn ask_ahead(&mut self) {
        let ring = &*self.handover.words;
        // The words of a transaction longer than the distance were not prefetched.
        self.asked = self.asked.max(self.at);
        while self.asked < self.at + AHEAD {
            hint::prefetch_for_write(&raw const ring[self.asked as usize & (ring.len() - 1)]);
            self.asked += LINE;
        }
    }

    /// The number of words that had no room in the ring and have not been taken yet.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.handover.waiting()
    }
}

impl Handover {
    /// A handover whose ring has at least this many words.
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

    /// The number of words that had no room in the ring and have not been taken yet.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed) // Relaxed: see `end_beside`.
    }

    /// Takes all transactions up to an epoch, and appends them as bytes; only one reader may call it.
    pub fn take(&self, epoch: u64, to: &mut Vec<u8>) {
        // Relaxed: only the reader writes it. Acquire: pairs with the Release in `end`.
        let (taken, given) = (self.taken.load(Ordering::Relaxed), self.given.load(Ordering::Acquire));
        let mut until = taken;
        while until < given {
            let mut head = [0; HEAD];
            self.copy(until, &mut head);
            let head = Head::of(&head).expect("the ring has whole transactions");
            if head.epoch > epoch {
                break;
            }
            until += head.words as u64;
        }
        for words in self.slices(taken, (until - taken) as usize) {
            let at = to.len();
            to.resize(at + words.len() * 8, 0);
            for (bytes, word) in to[at..].chunks_exact_mut(8).zip(words) {
                // Relaxed: the Acquire above orders it.
                bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
            }
        }
        // Release: pairs with the Acquire in `append_in_pieces`.
        self.taken.store(until, Ordering::Release);
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
        self.waiting.fetch_sub(words, Ordering::Relaxed); // Relaxed: see `end_beside`.
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn give(giver: &mut Giver, len: usize, epoch: u64, fill: u64) {
        giver.begin(epoch, fill);
        // In pieces of four words, as writes are, and a last piece with the rest.
        let mut left = len - HEAD;
        while left > 0 {
            let words = left.min(4) - 1;
            giver.append(fill, &[fill; 3][..words.min(1)], &[fill; 3][..words - words.min(1)]);
            left -= words + 1;
        }
        giver.end(7);
    }

    fn transaction(len: usize, epoch: u64, fill: u64) -> Vec<u64> {
        let mut words = vec![fill; len];
        words[0] = len as u64 | 7 << 32;
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
        let handover = Arc::new(Handover::new(16));
        let mut giver = Giver::new(Arc::clone(&handover));
        for round in 0..20 {
            give(&mut giver, 5, round, 1);
            give(&mut giver, 4, round + 1, 2);
            let mut expected: Vec<u64> = if round > 0 { transaction(4, round, 2) } else { Vec::new() };
            expected.extend(transaction(5, round, 1));
            assert_eq!(taken(&handover, round), expected);
        }
    }

    #[test]
    fn what_has_no_room_waits_beside_the_ring() {
        let handover = Arc::new(Handover::new(8));
        let mut giver = Giver::new(Arc::clone(&handover));
        give(&mut giver, 6, 1, 1);
        give(&mut giver, 3, 1, 2);
        give(&mut giver, 100, 2, 3);
        assert_eq!(handover.waiting(), 103);
        assert_eq!(taken(&handover, 1).len(), 9);
        assert_eq!(handover.waiting(), 100);
        assert_eq!(taken(&handover, 2), transaction(100, 2, 3));
        assert_eq!((handover.waiting(), taken(&handover, 9).len()), (0, 0));
        give(&mut giver, 8, 3, 4);
        assert_eq!((handover.waiting(), taken(&handover, 3)), (0, transaction(8, 3, 4)));
    }

    #[test]
    fn what_is_not_ended_is_not_given() {
        let handover = Arc::new(Handover::new(8));
        for room in [3, 40] {
            let mut giver = Giver::new(Arc::clone(&handover));
            giver.begin(1, 1);
            giver.append(2, &[], &vec![2; room]);
            assert_eq!(taken(&handover, 9), []);
            // The transaction of an earlier writer that was not ended is not given by the next writer either.
            let mut giver = Giver::new(Arc::clone(&handover));
            give(&mut giver, 5, 1, 3);
            assert_eq!(taken(&handover, 9), transaction(5, 1, 3));
        }
    }
}
