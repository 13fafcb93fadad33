//! Some transactions at a time, decoded once: what they did as short steps, and the keys that these are about side
//! by side, so that lookups of many keys wait for memory together.

use std::ops::Range;

use stdx::history::{Attempt, Key, Op, Scan, TxnId, Version};

use crate::keys::{hash, is_same};
use crate::txns::{Rank, Txns};

/// Transactions of a block.
pub(crate) const BLOCK: usize = 32;

/// What a transaction did to a key, or the end of a scan whose rows were the reads before it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// It saw a version, looking for the key or as a row of a range.
    Read {
        /// Which.
        seen: Version,
        /// Whether that says that the key was loaded: somebody may have missed it in a range.
        is_known_loaded: bool,
    },
    /// It wrote the key for itself.
    Write(Version),
    /// It wrote the key for all: over the first version, the second.
    Install(Version, Version),
    /// It read the range with the place of the step among those of the block, with so many rows.
    Scan(u32),
}

/// A range that was read.
#[derive(Debug)]
pub(crate) struct Ranged<'h> {
    pub(crate) scan: Scan<'h>,
    /// Which steps are its rows.
    pub(crate) rows: Range<u32>,
    /// Whether one of these is said to be absent.
    pub(crate) has_absent_row: bool,
}

/// Of which operations there are steps.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'s> {
    /// Of all; otherwise of those only that say something of what a key was when it had no value.
    pub(crate) is_all: bool,
    /// The tables that were ever scanned.
    pub(crate) scanned: &'s [u16],
}

/// What is kept from one history to the next, for its memory.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// Each with the place of its key, or range, among those of the block.
    pub(crate) steps: Vec<(u32, Step)>,
    /// Of each transaction, who it is and where its steps end.
    pub(crate) ends: Vec<(TxnId, u32)>,
    /// The places of the keys that the last transaction wrote, by the numbers of its versions.
    written: Vec<u32>,
}

/// In the place of a key that is not wanted.
const NO_PLACE: u32 = u32::MAX;

/// Some transactions.
pub(crate) struct Block<'h> {
    /// Keys, each with its hash. One that several steps in a row are about, or that is installed after it was
    /// written, is there once.
    pub(crate) keys: Vec<(Key<'h>, u64)>,
    pub(crate) ranges: Vec<Ranged<'h>>,
    pub(crate) done: Decoded,
}

impl<'h> Block<'h> {
    pub(crate) fn new(txns: usize, done: Decoded) -> Self {
        Self { keys: Vec::with_capacity(8 * BLOCK.min(txns)), ranges: Vec::new(), done }
    }

    /// Decodes these transactions.
    pub(crate) fn fill(&mut self, txns: &Txns<'h>, ranks: Range<u32>, wanted: Wanted<'_>) {
        self.keys.clear();
        self.ranges.clear();
        self.done.steps.clear();
        self.done.ends.clear();
        // Apart from decoding, so that what is not in the cache is waited for together. A short history is there.
        if txns.len() > BLOCK {
            let attempts = ranks.clone().map(|rank| txns.attempt(Rank(rank)));
            std::hint::black_box(attempts.fold(0, |touched, attempt| touched ^ attempt.touch()));
        }
        for rank in ranks {
            self.decode(txns.attempt(Rank(rank)), wanted);
        }
    }

    fn decode(&mut self, attempt: Attempt<'h>, wanted: Wanted<'_>) {
        self.done.written.clear();
        for op in attempt.ops() {
            match op {
                Op::Read { key, seen } => self.read(key, seen, wanted),
                Op::Write { key, to } => {
                    // A deletion that is not installed says that the key was absent.
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

    /// The place of a key, which most often is the one that the step before was about.
    #[inline]
    fn place(&mut self, key: Key<'h>) -> u32 {
        if self.keys.last().is_none_or(|last| !is_same(last.0, key)) {
            self.keys.push((key, hash(key)));
        }
        self.keys.len() as u32 - 1
    }

    /// The place of the key that the transaction wrote this version of, if it did.
    #[inline]
    fn written(&self, txn: TxnId, key: Key<'h>, version: Version) -> Option<u32> {
        let at = *self.done.written.get(version.sequence() as usize)?;
        (version.txn() == txn && at != NO_PLACE && is_same(self.keys[at as usize].0, key)).then_some(at)
    }
}
