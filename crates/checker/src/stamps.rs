//! Replay in the order of stamps, for schemes that promise it to be a serial order.
//!
//! This second opinion shares no code with the graph: transactions run one by one on a plain list of keys, and each
//! must see there what it saw in the history. The check demands more than serializability, since the scheme has said
//! *which* order explains the history, and less than strict serializability: stamps may disagree with real time.

use stdx::history::{AttemptOutcome, History, Key, Op, RecordedAttempt, SessionLog, Version};

use crate::level::Phenomenon;
use crate::report::{self, Anomaly};

/// The first transaction that cannot be where its stamp puts it; `None` if there is none.
///
/// Transactions with equal stamps may come in any order. Histories in which attempts were cut off are not judged: the
/// stamps of such attempts are unknown.
pub fn out_of_order(history: &History) -> Option<Anomaly> {
    let attempts = || history.logs().iter().flat_map(SessionLog::attempts);
    if attempts().any(|attempt| attempt.outcome == AttemptOutcome::Unknown) {
        return None;
    }
    let stamped = |attempt: RecordedAttempt<'_>| match attempt.outcome {
        AttemptOutcome::Committed(stamp) => Some(stamp),
        AttemptOutcome::Aborted | AttemptOutcome::Unknown => None,
    };
    let mut txns: Vec<(u64, RecordedAttempt<'_>)> =
        attempts().filter_map(|attempt| Some((stamped(attempt)?, attempt))).collect();
    txns.sort_by_key(|(stamp, attempt)| (*stamp, attempt.responded));
    let mut store = Store::before(txns.iter().map(|(_, attempt)| *attempt));
    for tied in txns.chunk_by(|one, other| one.0 == other.0) {
        let mut left: Vec<RecordedAttempt<'_>> = tied.iter().map(|(_, attempt)| *attempt).collect();
        while !left.is_empty() {
            let before = left.len();
            let mut first = None;
            left.retain(|attempt| match store.replay(*attempt) {
                Ok(()) => false,
                Err(wrong) => {
                    first.get_or_insert((*attempt, wrong));
                    true
                }
            });
            if let Some((attempt, wrong)) = first.filter(|_| left.len() == before) {
                return Some(told(history, attempt, &wrong));
            }
        }
    }
    None
}

/// A key whose version in the store differs from the version that a transaction saw.
struct Wrong<'h> {
    key: Key<'h>,
    seen: Version,
    stands: Version,
}

/// All keys of a history, and the current version of each.
struct Store<'h> {
    keys: Vec<Key<'h>>,
    stands: Vec<Version>,
    /// The writes of the running transaction, the latest last.
    own: Vec<(usize, Version)>,
    /// The installs of the running transaction.
    installs: Vec<(usize, Version)>,
}

impl<'h> Store<'h> {
    /// The store before these transactions: a key is loaded if any of them met its loaded version.
    fn before(txns: impl Iterator<Item = RecordedAttempt<'h>> + Clone) -> Self {
        let mut met: Vec<(Key<'h>, Version)> = Vec::new();
        for op in txns.flat_map(|attempt| attempt.ops()) {
            match op {
                Op::Read { key, seen } => met.push((key, seen)),
                Op::Write { key, .. } => met.push((key, Version::ABSENT)),
                Op::Install { key, before, .. } => met.push((key, before)),
                Op::Scan(scan) => met.extend(scan.rows()),
            }
        }
        met.iter_mut().filter(|(_, version)| !version.is_loaded()).for_each(|met| met.1 = Version::ABSENT);
        // The loaded version is greater than an absence, so it is the one that is kept.
        met.sort_unstable_by(|one, other| other.cmp(one));
        met.dedup_by_key(|(key, _)| *key);
        met.reverse();
        let (keys, stands) = met.into_iter().unzip();
        Self { keys, stands, own: Vec::new(), installs: Vec::new() }
    }

    fn at(&self, key: Key<'_>) -> usize {
        self.keys.binary_search_by(|other| other.cmp(&key)).expect("each key was met")
    }

    /// The version that the running transaction would see.
    fn visible(&self, at: usize) -> Version {
        let own = self.own.iter().rev().find(|(own, _)| *own == at);
        own.map_or(self.stands[at], |(_, version)| *version)
    }

    /// Runs a transaction; fails if the store has another version than the transaction saw.
    fn replay(&mut self, attempt: RecordedAttempt<'h>) -> Result<(), Wrong<'h>> {
        self.own.clear();
        self.installs.clear();
        for op in attempt.ops() {
            match op {
                Op::Read { key, seen } => compare(key, seen, self.visible(self.at(key)))?,
                Op::Write { key, to } => self.own.push((self.at(key), to)),
                Op::Install { key, before, after } => {
                    let at = self.at(key);
                    compare(key, before, self.stands[at])?;
                    // The transaction installs its last write, and only once.
                    let is_first = self.installs.iter().all(|(other, _)| *other != at);
                    let last = if is_first { self.visible(at) } else { before };
                    compare(key, after, last)?;
                    self.installs.push((at, after));
                }
                Op::Scan(scan) => {
                    let Some((low, high)) = scan.covered() else { continue };
                    let mut rows: Vec<(Key<'h>, Version)> = scan.rows().collect();
                    if !scan.is_forward {
                        rows.reverse();
                    }
                    self.compare_range((low, high), &rows)?;
                }
            }
        }
        // A write that the transaction did not install was visible to itself only: the key is absent before and after
        // it.
        for (at, _) in &self.own {
            if self.installs.iter().all(|(other, _)| other != at) {
                compare(self.keys[*at], Version::ABSENT, self.visible(*at))?;
                compare(self.keys[*at], Version::ABSENT, self.stands[*at])?;
            }
        }
        for (at, after) in self.installs.drain(..) {
            self.stands[at] = after;
        }
        Ok(())
    }

    /// Compares the rows of a scan, from the least key to the greatest, with all keys that have a value in its range.
    fn compare_range(
        &self,
        (low, high): (Key<'h>, Key<'h>),
        rows: &[(Key<'h>, Version)],
    ) -> Result<(), Wrong<'h>> {
        let from = self.keys.partition_point(|key| *key < low);
        let mut rows = rows.iter().peekable();
        for (at, key) in self.keys.iter().enumerate().skip(from).take_while(|(_, key)| **key <= high) {
            let row = rows.next_if(|(row, seen)| row == key && !seen.is_absent());
            let seen = row.map_or(Version::ABSENT, |(_, seen)| *seen);
            compare(*key, seen, self.visible(at))?;
        }
        // A row that is left is out of order, met twice, or without a value.
        rows.next()
            .map_or(Ok(()), |&(key, seen)| Err(Wrong { key, seen, stands: self.visible(self.at(key)) }))
    }
}

/// Fails unless the version in the store is the one that was seen. An absence that was seen need not name its deletion.
fn compare(key: Key<'_>, seen: Version, stands: Version) -> Result<(), Wrong<'_>> {
    let is_same = seen == stands || seen == Version::ABSENT && stands.is_absent();
    if is_same { Ok(()) } else { Err(Wrong { key, seen, stands }) }
}

fn told(history: &History, attempt: RecordedAttempt<'_>, wrong: &Wrong<'_>) -> Anomaly {
    let place = (wrong.key.table, wrong.key.words.to_vec());
    let find = |txn| history.logs().iter().flat_map(SessionLog::attempts).find(|attempt| attempt.id == txn);
    let keys = [place.clone()];
    let met = Some((wrong.stands, place.0, place.1));
    let mut txns = vec![report::InvolvedTxn { met, ..report::part(attempt.id, Some(attempt), &keys) }];
    for version in [wrong.seen, wrong.stands] {
        let other = find(version.txn()).filter(|other| txns.iter().all(|part| part.txn != other.id));
        txns.extend(other.map(|other| report::part(other.id, Some(other), &keys)));
    }
    let phenomenon = Phenomenon::Stamps;
    Anomaly { phenomenon, name: "stamp out of order", txns, links: Vec::new() }
}
