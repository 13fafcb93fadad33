//! Blocks of transactions, decoded once: their operations as short steps, and the keys of these steps side by side, so
//! that lookups of many keys wait for memory together.

use std::ops::Range;

use stdx::history::{Key, Op, RecordedAttempt, Scan, TxnId, Version};

use crate::keys::{hash, is_same};
use crate::txns::{Rank, Txns};

/// The number of transactions of a block.
pub(crate) const BLOCK: usize = 32;

/// A step of a transaction: an operation on a key, or the end of a scan whose rows were the reads before it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The transaction saw a version, by a lookup of the key or as a row of a range.
    Read {
        /// The version.
        seen: Version,
        /// Whether the read shows that the key was loaded and its table is scanned: a scan may have missed the key.
        is_known_loaded: bool,
    },
    /// The transaction wrote this version of the key into its write set.
    Write(Version),
    /// The transaction installed a version of the key: the second replaced the first.
    Install(Version, Version),
    /// The transaction read the range with this index in the block's ranges.
    Scan(u32),
}

/// A range that was read.
#[derive(Debug)]
pub(crate) struct Ranged<'h> {
    pub(crate) scan: Scan<'h>,
    /// The range of the steps that are its rows.
    pub(crate) rows: Range<u32>,
    /// Whether one of these rows was recorded as absent.
    pub(crate) has_absent_row: bool,
}

/// Selects the operations that become steps.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'s> {
    /// Whether all operations do; otherwise only those that tell the state of a key when it had no value.
    pub(crate) is_all: bool,
    /// The tables that were ever scanned.
    pub(crate) scanned: &'s [u16],
}

/// The decoded steps of a block; kept from one history to the next to reuse its memory.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// The steps, each with the index of its key in the block.
    pub(crate) steps: Vec<(u32, Step)>,
    /// The id of each transaction, and the index at which its steps end.
    pub(crate) ends: Vec<(TxnId, u32)>,
    /// The indexes of the keys that the last transaction wrote, by the sequence number of the version.
    written: Vec<u32>,
}

/// The index for a key that is not wanted.
const NO_PLACE: u32 = u32::MAX;

/// A block of transactions.
pub(crate) struct Block<'h> {
    /// Keys, each with its hash. A key of several steps in a row, or one that is written and then installed, is there
    /// once.
    pub(crate) keys: Vec<(Key<'h>, u64)>,
    pub(crate) ranges: Vec<Ranged<'h>>,
    pub(crate) done: Decoded,
}

impl<'h> Block<'h> {
    pub(crate) fn new(txns: usize, done: Decoded) -> Self {
        Self { keys: Vec::with_capacity(8 * BLOCK.min(txns)), ranges: Vec::new(), done }
    }

    /// Decodes the transactions with these ranks.
    pub(crate) fn fill(&mut self, txns: &Txns<'h>, ranks: Range<u32>, wanted: Wanted<'_>) {
        self.keys.clear();
        self.ranges.clear();
        self.done.steps.clear();
        self.done.ends.clear();
        // A loop of its own before decoding, so that cache misses overlap. A short history is in the cache already.
        if txns.len() > BLOCK {
            let attempts = ranks.clone().map(|rank| txns.attempt(Rank(rank)));
            std::hint::black_box(attempts.fold(0, |touched, attempt| touched ^ attempt.touch()));
        }
        for rank in ranks {
            self.decode(txns.attempt(Rank(rank)), wanted);
        }
    }

    fn decode(&mut self, attempt: RecordedAttempt<'h>, wanted: Wanted<'_>) {
        self.done.written.clear();
        for op in attempt.ops() {
            match op {
                Op::Read { key, seen } => self.read(key, seen, wanted),
                Op::Write { key, to } => {
                    // A deletion that is not installed shows that the key was absent.
                    let is_wanted = wanted.is_all || to.is_absent();
                    let at = if is_wanted { self.place(key) } else { NO_PLACE };
                    self.done.written.push(at);
                    if is_wanted {
                        self.done.steps.push((at, Step::Write(to)));
                    }
                }
                Op::Install { key, before, after } => {
                    let at = self.written(attempt.id, key, after).unwrap_or_else(|| self.place(key));
                    self.done.steps.push((at, Step::Install(before, after)));
                }
                Op::Scan(scan) => self.scan(scan, wanted),
            }
        }
        self.done.ends.push((attempt.id, self.done.steps.len() as u32));
    }

    #[inline]
    fn read(&mut self, key: Key<'h>, seen: Version, wanted: Wanted<'_>) {
        let is_known_loaded = seen.is_loaded() && wanted.scanned.contains(&key.table);
        if wanted.is_all || is_known_loaded || seen == Version::ABSENT {
            let at = self.place(key);
            self.done.steps.push((at, Step::Read { seen, is_known_loaded }));
        }
    }

    fn scan(&mut self, scan: Scan<'h>, wanted: Wanted<'_>) {
        let first = self.done.steps.len() as u32;
        let mut has_absent_row = false;
        for (key, seen) in scan.rows() {
            has_absent_row |= seen == Version::ABSENT;
            self.read(key, seen, wanted);
        }
        let rows = first..self.done.steps.len() as u32;
        self.done.steps.push((NO_PLACE, Step::Scan(self.ranges.len() as u32)));
        self.ranges.push(Ranged { scan, rows, has_absent_row });
    }

    /// The index of a key, which most often is the key of the step before.
    #[inline]
    fn place(&mut self, key: Key<'h>) -> u32 {
        if self.keys.last().is_none_or(|last| !is_same(last.0, key)) {
            self.keys.push((key, hash(key)));
        }
        self.keys.len() as u32 - 1
    }

    /// The index of the key, if this transaction wrote the version under that key.
    #[inline]
    fn written(&self, txn: TxnId, key: Key<'h>, version: Version) -> Option<u32> {
        let at = *self.done.written.get(version.sequence() as usize)?;
        (version.txn() == txn && at != NO_PLACE && is_same(self.keys[at as usize].0, key)).then_some(at)
    }
}
