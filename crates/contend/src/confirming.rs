//! Transactions whose bodies see one state of the database, under schemes that validate reads only at the end of an
//! attempt: here all reads so far are confirmed before the body sees the result of a call.
//!
//! In an attempt that has read `n` rows, confirming one more read checks all of them. If nobody has committed
//! meanwhile, nothing has to be checked. Therefore writers count when they begin to commit and when they have ended.

use core::ops::{self, Bound, ControlFlow};

use engine::{AnyKey, Direction, RawError, RawTxn, TableId, Which};
use sync::Padded;
use sync::atomic::{AtomicU64, Ordering};

use crate::scan::{PAGE_ROWS, Range};

/// Counts of the writing transactions that have begun to commit, and of those that have ended.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    begun: Padded<AtomicU64>,
    ended: Padded<AtomicU64>,
}

impl Commits {
    /// Counts the begin of a commit, before any of its writes can be seen.
    pub(crate) fn begin(&self) {
        // Relaxed: this increment comes before the stores that make the writes visible, and a thread that sees one of
        // these stores sees the increment.
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the end of a commit, after all of its writes can be seen.
    pub(crate) fn end(&self) {
        self.ended.fetch_add(1, Ordering::Release); // Release: pairs with the Acquire in `quiet`.
    }

    fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire) // Acquire: what is read later does not come before.
    }

    /// Returns the number of begun commits if all of them have ended, else `None`.
    fn quiet(&self) -> Option<u64> {
        // Acquire: pairs with the Release in `end`. `ended` is read first, so that no commit has begun in between if
        // both counts are the same.
        let ended = self.ended.load(Ordering::Acquire);
        let begun = self.begun();
        (ended == begun).then_some(begun)
    }
}

/// A transaction that confirms the reads of each call before the caller sees the result.
pub(crate) struct Confirming<'t> {
    raw: &'t mut dyn RawTxn,
    commits: &'t Commits,
    /// The number of commits that had begun, and ended, before the reads so far were confirmed; `None` if a commit was
    /// running.
    quiet: Option<u64>,
    /// A buffer for the words of a row that the body will see.
    row: Vec<u64>,
}

impl<'t> Confirming<'t> {
    pub(crate) fn new(raw: &'t mut dyn RawTxn, commits: &'t Commits) -> Self {
        Self { quiet: commits.quiet(), raw, commits, row: Vec::new() }
    }

    fn confirmed(&mut self) -> Result<(), RawError> {
        if self.quiet.is_some_and(|begun| begun == self.commits.begun()) {
            return Ok(());
        }
        self.quiet = self.commits.quiet();
        self.raw.confirm()
    }

    /// Returns the result of a call if it belongs to one state with all earlier reads.
    fn pass<T>(&mut self, came_to: T) -> Result<T, RawError> {
        self.confirmed().map(|()| came_to)
    }
}

impl RawTxn for Confirming<'_> {
    fn get(
        &mut self,
        table: TableId,
        group: usize,
        key: AnyKey,
        see: &mut dyn FnMut(&[u64]),
    ) -> Result<bool, RawError> {
        let Self { raw, row, .. } = self;
        row.clear();
        let is_there = raw.get(table, group, key, &mut |words| row.extend_from_slice(words))?;
        self.confirmed()?;
        if is_there {
            see(&self.row);
        }
        Ok(is_there)
    }

    fn update(
        &mut self,
        table: TableId,
        group: usize,
        key: AnyKey,
        change: &mut dyn FnMut(&mut [u64]),
    ) -> Result<bool, RawError> {
        let Self { raw, row, .. } = self;
        row.clear();
        // From here on the attempt has its own copy of the row, which does not change any more.
        let is_there = raw.update(table, group, key, &mut |words| row.extend_from_slice(words))?;
        self.confirmed()?;
        if is_there {
            change(&mut self.row);
            let Self { raw, row, .. } = self;
            raw.update(table, group, key, &mut |words| words.copy_from_slice(row))?;
        }
        Ok(is_there)
    }

    fn add(&mut self, table: TableId, group: usize, key: AnyKey, amounts: &[u64]) -> Result<bool, RawError> {
        let is_there = self.raw.add(table, group, key, amounts)?;
        self.pass(is_there)
    }

    fn replace(
        &mut self,
        table: TableId,
        group: usize,
        key: AnyKey,
        words: &[u64],
    ) -> Result<bool, RawError> {
        let is_there = self.raw.replace(table, group, key, words)?;
        self.pass(is_there)
    }

    fn insert(&mut self, table: TableId, key: AnyKey, groups: &[&[u64]]) -> Result<bool, RawError> {
        let is_new = self.raw.insert(table, key, groups)?;
        self.pass(is_new)
    }

    fn delete(&mut self, table: TableId, key: AnyKey) -> Result<bool, RawError> {
        let is_there = self.raw.delete(table, key)?;
        self.pass(is_there)
    }

    /// Scans a page at a time, so that each page is confirmed, and not each row.
    fn scan(
        &mut self,
        table: TableId,
        group: usize,
        which: Which,
        keys: (Bound<AnyKey>, Bound<AnyKey>),
        direction: Direction,
        see: &mut dyn FnMut(AnyKey, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), RawError> {
        let mut rest = Range { which, keys, direction };
        let mut page_rows = PAGE_ROWS.0;
        let (mut keys, mut words) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            keys.clear();
            words.clear();
            self.raw.scan(table, group, which, rest.keys, direction, &mut |key, row| {
                keys.push(key);
                words.extend_from_slice(row);
                if keys.len() < page_rows { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            self.confirmed()?;
            let width = words.len().checked_div(keys.len()).unwrap_or_default();
            let mut rows = keys.iter().enumerate();
            if rows.any(|(nth, key)| see(*key, &words[nth * width..][..width]).is_break()) {
                break;
            }
            let Some(last) = keys.last().filter(|_| keys.len() == page_rows) else { break };
            rest.cut(*last);
            page_rows = (2 * page_rows).min(PAGE_ROWS.1);
        }
        Ok(())
    }

    fn confirm(&mut self) -> Result<(), RawError> {
        self.confirmed()
    }

    fn prefetch(&mut self, table: TableId, groups: ops::Range<usize>, keys: &[AnyKey]) {
        self.raw.prefetch(table, groups, keys);
    }
}
