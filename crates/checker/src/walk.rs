//! A walk over transactions one at a time: finds the edges, the open choices, and the flaws of each.
//!
//! Each edge is found at one of its two ends: `wr` and `rw` at the reader, `ww` at the writer of the later
//! version. So a walk over a stretch of the history finds all edges within it.

use std::cmp::Ordering;
use std::ops::Range;

use stdx::history::{Key, Op, RecordedAttempt, Scan, Version};

use crate::chains::{Chains, mark};
use crate::flaws::{Flaw, FlawKind};
use crate::keys::{KeyId, hash, is_same, tag};
use crate::txns::{Rank, StateId, Txns, Writer};

/// The reason why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The second replaced a version of the first.
    Ww,
    /// The second read a version of the first.
    Wr,
    /// The second replaced a version that the first read.
    Rw,
    /// The second gave a value to a key that the first found absent in a range.
    RwPredicate,
    /// The second came later in the same session.
    Session,
    /// The second began after the first had ended.
    RealTime,
}

impl EdgeKind {
    pub(crate) const fn is_rw(self) -> bool {
        matches!(self, Self::Rw | Self::RwPredicate)
    }

    /// Whether the second transaction depends on a write of the first.
    pub(crate) const fn is_dependency(self) -> bool {
        matches!(self, Self::Ww | Self::Wr)
    }
}

/// An edge: transaction `from` comes before transaction `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: Rank,
    pub(crate) to: Rank,
    pub(crate) kind: EdgeKind,
    pub(crate) key: KeyId,
}

/// A fact that is known only up to a choice among a key's absences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) txn: Rank,
    pub(crate) key: KeyId,
    pub(crate) what: Chosen,
}

/// The subject of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The absence that this state replaced.
    Replaced(StateId),
    /// The absence that was seen, by a lookup of the key or in a range.
    Seen {
        /// Whether the absence was seen in a range.
        is_predicate: bool,
        /// The absence, if it is known and only the state that replaced it is not.
        known: StateId,
    },
}

/// A receiver of the facts that a walk finds.
pub(crate) trait Sink {
    fn edge(&mut self, edge: Edge);
    fn choice(&mut self, choice: Choice);
    fn flaw(&mut self, flaw: Flaw);
    /// The position of a version in its chain is not known.
    fn hole(&mut self);

    /// Called before the facts of each transaction.
    fn enter(&mut self, rank: Rank);

    /// Selects the keys about which a scan must be asked. `range` holds the sorted keys that the scan of the
    /// transaction covers, most of which it did not return; the selected places go to `asked`, in their order.
    fn asks(&mut self, range: Range<usize>, asked: &mut Vec<u32>);
}

/// A write of the transaction itself.
struct Own<'h> {
    key: Key<'h>,
    tag: u32,
    version: Version,
    is_installed: bool,
}

/// A walk over transactions.
pub(crate) struct Walk<'w, 'h, S> {
    txns: &'w Txns<'h>,
    chains: &'w Chains,
    sink: S,
    rank: Rank,
    own: Vec<Own<'h>>,
    asked: Vec<u32>,
}

impl<'w, 'h, S: Sink> Walk<'w, 'h, S> {
    pub(crate) const fn new(txns: &'w Txns<'h>, chains: &'w Chains, sink: S) -> Self {
        Self { txns, chains, sink, rank: Rank::NONE, own: Vec::new(), asked: Vec::new() }
    }

    pub(crate) fn into_sink(self) -> S {
        self.sink
    }

    pub(crate) const fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Reports all facts about a transaction to the sink.
    pub(crate) fn visit(&mut self, rank: Rank) {
        self.rank = rank;
        self.sink.enter(rank);
        self.own.clear();
        let attempt = self.txns.attempt(rank);
        for op in attempt.ops() {
            match op {
                Op::Read { key, seen } => self.see(attempt, key, seen),
                Op::Write { key, to } => self.write(key, to),
                Op::Install { key, before, after } => self.install(attempt, key, before, after),
                Op::Scan(scan) => self.scan(attempt, scan),
            }
        }
        for nth in 0..self.own.len() {
            let Own { key, version, is_installed, .. } = self.own[nth];
            if is_installed {
                continue;
            }
            if version.is_absent() {
                // The transaction deleted its own insert: the key was absent before, and nothing was installed.
                self.absent(attempt, key, hash(key), EdgeKind::Rw);
            } else if attempt.responded == u64::MAX {
                self.sink.hole();
            } else {
                self.sink.flaw(Flaw::new(FlawKind::LostWrite, attempt.id, key, version));
            }
        }
    }

    fn write(&mut self, key: Key<'h>, to: Version) {
        match self.find_own(key, tag(hash(key))) {
            Some(at) => self.own[at].version = to,
            None => self.own.push(Own { key, tag: tag(hash(key)), version: to, is_installed: false }),
        }
    }

    #[inline]
    fn find_own(&self, key: Key<'_>, tag: u32) -> Option<usize> {
        self.own.iter().position(|own| own.tag == tag && is_same(own.key, key))
    }

    /// The transaction saw a version, by a lookup of the key or as a row of a range.
    #[inline]
    fn see(&mut self, attempt: RecordedAttempt<'h>, key: Key<'h>, seen: Version) {
        let hash = hash(key);
        if let Some(own) = self.find_own(key, tag(hash)) {
            let own = self.own[own].version;
            if own != seen && !(own.is_absent() && seen == Version::ABSENT) {
                self.sink.flaw(Flaw::new(FlawKind::OwnWrite, attempt.id, key, seen));
            }
        } else if seen == Version::ABSENT {
            self.absent(attempt, key, hash, EdgeKind::Rw);
        } else if seen.is_loaded() {
            let Some(id) = self.chains.keys.get(key, hash) else { return };
            let first = self.chains.first(id);
            if self.chains.is_loaded(id) {
                self.saw(first, EdgeKind::Rw);
            } else {
                // Other transactions found the key absent, or inserted it over its first absence.
                self.sink.flaw(Flaw::new(FlawKind::NeverLoaded, attempt.id, key, seen));
            }
        } else {
            self.version(attempt, key, hash, seen);
        }
    }

    /// The transaction saw a version that was written in the history.
    #[inline]
    fn version(&mut self, attempt: RecordedAttempt<'h>, key: Key<'h>, hash: u64, seen: Version) {
        let kind = match self.txns.writer(seen) {
            Writer::Txn(writer, _) if writer == self.rank => FlawKind::UnwrittenRead,
            Writer::Nobody => FlawKind::UnwrittenRead,
            Writer::Aborted => FlawKind::AbortedRead,
            Writer::Txn(writer, id) => {
                let state = self.chains.state(id);
                if state.key != KeyId::NONE && state.has_mark(mark(hash, seen.is_absent())) {
                    if seen.is_absent() {
                        return self.saw_absence(state.key, id, EdgeKind::Rw);
                    }
                    return self.saw(id, EdgeKind::Rw);
                }
                let is_cut_off = self.txns.attempt(writer).responded == u64::MAX;
                if state.key == KeyId::NONE && is_cut_off {
                    return self.sink.hole();
                }
                match state.key {
                    KeyId::NONE => FlawKind::IntermediateRead,
                    _ => FlawKind::WrongKey,
                }
            }
        };
        self.sink.flaw(Flaw::new(kind, attempt.id, key, seen));
    }

    /// The transaction saw a state.
    #[inline]
    fn saw(&mut self, id: StateId, rw: EdgeKind) {
        let state = self.chains.state(id);
        self.edge(state.writer, self.rank, EdgeKind::Wr, state.key);
        self.edge(self.rank, state.next_writer, rw, state.key);
    }

    /// The transaction found the key absent.
    fn absent(&mut self, attempt: RecordedAttempt<'h>, key: Key<'h>, hash: u64, rw: EdgeKind) {
        let Some(id) = self.chains.keys.get(key, hash) else { return };
        self.absent_id(attempt, id, rw);
    }

    fn absent_id(&mut self, attempt: RecordedAttempt<'h>, id: KeyId, rw: EdgeKind) {
        if self.chains.gaps_in_order(id).len() > 2 {
            // At most one of the absences was made by the transaction itself.
            return self.unknown_absence(id, StateId::NONE, rw);
        }
        let mut gaps = self.chains.gaps_of_others(id, self.rank);
        match (gaps.next(), gaps.next()) {
            (Some(gap), None) => self.saw_absence(id, gap, rw),
            (None, _) => {
                let key = self.chains.keys.key(id);
                self.sink.flaw(Flaw::new(FlawKind::NeverAbsent, attempt.id, key, Version::ABSENT));
            }
            _ => self.unknown_absence(id, StateId::NONE, rw),
        }
    }

    /// The transaction saw a known absence; which state replaced that absence may be a choice.
    fn saw_absence(&mut self, key: KeyId, gap: StateId, rw: EdgeKind) {
        let state = self.chains.state(gap);
        if state.known_next() == StateId::NONE && !self.chains.opens(key).is_empty() {
            self.unknown_absence(key, gap, rw);
        } else {
            self.saw(gap, rw);
        }
    }

    fn unknown_absence(&mut self, key: KeyId, known: StateId, rw: EdgeKind) {
        self.choice(key, Chosen::Seen { is_predicate: rw == EdgeKind::RwPredicate, known });
    }

    fn choice(&mut self, key: KeyId, what: Chosen) {
        self.sink.choice(Choice { txn: self.rank, key, what });
    }

    #[inline]
    fn edge(&mut self, from: Rank, to: Rank, kind: EdgeKind, key: KeyId) {
        if from != to && from != Rank::NONE && to != Rank::NONE {
            self.sink.edge(Edge { from, to, kind, key });
        }
    }

    fn install(&mut self, attempt: RecordedAttempt<'h>, key: Key<'h>, before: Version, after: Version) {
        let hash = hash(key);
        match self.find_own(key, tag(hash)) {
            Some(at) if self.own[at].version == after => self.own[at].is_installed = true,
            _ => return self.sink.flaw(Flaw::new(FlawKind::OwnWrite, attempt.id, key, after)),
        }
        let Writer::Txn(_, state) = self.txns.writer(after) else { return };
        if before == Version::ABSENT {
            self.replaced_absence(state);
        } else if let Writer::Txn(writer, replaced) = self.txns.writer(before) {
            let found = self.chains.state(replaced);
            if found.key != KeyId::NONE && found.has_mark(mark(hash, before.is_absent())) {
                self.edge(writer, self.rank, EdgeKind::Ww, found.key);
            } else if self.txns.attempt(writer).responded == u64::MAX {
                self.sink.hole();
            } else {
                self.sink.flaw(Flaw::new(FlawKind::BrokenChain, attempt.id, key, before));
            }
        }
    }

    /// The transaction replaced an absence.
    fn replaced_absence(&mut self, state: StateId) {
        let installed = self.chains.state(state);
        match installed.before() {
            (StateId::NONE, _) => {}
            (_, true) => self.choice(installed.key, Chosen::Replaced(state)),
            (gap, false) => {
                self.edge(self.chains.state(gap).writer, self.rank, EdgeKind::Ww, installed.key);
            }
        }
    }

    /// The transaction read a range: its rows, and the absence of all other keys in the range.
    fn scan(&mut self, attempt: RecordedAttempt<'h>, scan: Scan<'h>) {
        let order = if scan.is_forward { Ordering::Less } else { Ordering::Greater };
        let mut last = None;
        for (key, seen) in scan.rows() {
            let is_next = last.is_none_or(|last: Key<'_>| last.cmp(&key) == order);
            if !is_next || key < scan.low || key > scan.high || seen.is_absent() {
                return self.sink.flaw(Flaw::new(FlawKind::ScanOrder, attempt.id, key, seen));
            }
            last = Some(key);
            self.see(attempt, key, seen);
        }
        if let Some((low, high)) = scan.covered() {
            self.missed(attempt, scan, low, high);
        }
    }

    /// Checks the keys from the low one to the high one that the scan did not return.
    fn missed(&mut self, attempt: RecordedAttempt<'h>, scan: Scan<'h>, low: Key<'h>, high: Key<'h>) {
        let chains = self.chains;
        let has_row = |key: Key<'_>| scan.rows().any(|(row, _)| row == key);
        for own in self.own.iter().filter(|own| !own.version.is_absent()) {
            if low <= own.key && own.key <= high && !has_row(own.key) {
                self.sink.flaw(Flaw::new(FlawKind::OwnWrite, attempt.id, own.key, own.version));
            }
        }
        let mut asked = std::mem::take(&mut self.asked);
        asked.clear();
        self.sink.asks(chains.range(low, high), &mut asked);
        let mut rows = scan.rows();
        let mut next_row = || if scan.is_forward { rows.next() } else { rows.next_back() };
        let mut row = next_row();
        for &nth in &asked {
            let id = chains.sorted[nth as usize];
            let key = chains.keys.key(id);
            while row.is_some_and(|(row, _)| row < key) {
                row = next_row();
            }
            let is_row = row.is_some_and(|(row, _)| row == key);
            if !is_row && self.find_own(key, tag(hash(key))).is_none() {
                self.absent_id(attempt, id, EdgeKind::RwPredicate);
            }
        }
        self.asked = asked;
    }
}
