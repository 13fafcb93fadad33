//! The transactions of a history that took effect, numbered in the order in which they responded.
//!
//! That order is no claim about the serial order; it is a good guess at one, and edges that agree with it are
//! part of no cycle by themselves. Real time agrees with it always.

use std::collections::BTreeSet;

use stdx::history::{Attempt, Log, Op, Outcome, TxnId, Version};

/// The place of a transaction in the order of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(pub(crate) u32);

impl Rank {
    /// Nobody: the writer of what was there first.
    pub(crate) const NONE: Self = Self(u32::MAX);
    /// In the place of the rank of an attempt that aborted.
    const ABORTED: Self = Self(u32::MAX);
    /// In the place of the rank of an attempt of which nobody knows whether it committed, and nobody saw that
    /// it did.
    const UNSEEN: Self = Self(u32::MAX - 1);

    /// The place in vectors of transactions.
    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// A state that a key was in: its first, or what one version made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StateId(pub(crate) u32);

impl StateId {
    /// No state.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The place in vectors of states.
    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// Who wrote a version.
pub(crate) enum Writer {
    /// No attempt of the history.
    Nobody,
    /// One that aborted.
    Aborted,
    /// One that took effect, and the place of the version's state.
    Txn(Rank, StateId),
}

/// An attempt: where it is in the order, and where its versions begin.
#[derive(Clone, Copy)]
struct Placed {
    rank: Rank,
    first_state: u32,
}

/// The transactions that took effect, and how to find them from their versions.
pub(crate) struct Txns<'h> {
    logs: &'h [Log],
    /// Of each session, by number: where its attempts begin in `placed`, and how many there are.
    sessions: Vec<(u32, u32)>,
    placed: Vec<Placed>,
    /// By rank: which log, and which attempt in it.
    order: Vec<(u32, u32)>,
    /// How many versions there are.
    versions: u32,
}

impl<'h> Txns<'h> {
    /// # Panics
    /// When there are more than four billion attempts or versions.
    pub(crate) fn new(logs: &'h [Log]) -> Self {
        let mut sessions = vec![(0, 0); logs.last().map_or(0, |log| log.session() as usize + 1)];
        let mut total = 0;
        for log in logs {
            let count = log.attempts().len();
            sessions[log.session() as usize] = (total as u32, count as u32);
            total += count;
        }
        assert!(total < u32::MAX as usize - 1, "a history has fewer than four billion attempts");
        let placed = Vec::with_capacity(total + 1);
        let mut txns = Self { logs, sessions, placed, order: Vec::new(), versions: 0 };
        let witnessed = txns.witnessed();
        let order = txns.place(&witnessed);
        for (nth, &(_, log, at)) in order.iter().enumerate() {
            let (first, _) = txns.sessions[logs[log as usize].session() as usize];
            txns.placed[(first + at) as usize].rank = Rank(nth as u32);
        }
        txns.order = order.into_iter().map(|(_, log, at)| (log, at)).collect();
        txns
    }

    /// Lays the attempts out, and gives those that took effect in the order of responses.
    fn place(&mut self, witnessed: &BTreeSet<TxnId>) -> Vec<(u64, u32, u32)> {
        let mut order = Vec::with_capacity(self.placed.capacity());
        let mut versions = 0_usize;
        for (log, attempts) in self.logs.iter().enumerate() {
            for (at, attempt) in attempts.attempts().enumerate() {
                let first_state = versions as u32;
                let rank = match attempt.outcome {
                    Outcome::Aborted => Rank::ABORTED,
                    Outcome::Unknown if !has_installed(attempt) && !witnessed.contains(&attempt.id) => {
                        Rank::UNSEEN
                    }
                    _ => {
                        order.push((attempt.responded, log as u32, at as u32));
                        versions += attempt.versions as usize;
                        Rank(0)
                    }
                };
                self.placed.push(Placed { rank, first_state });
            }
        }
        assert!(versions < u32::MAX as usize / 2, "a history has fewer than two billion versions");
        self.versions = versions as u32;
        self.placed.push(Placed { rank: Rank::UNSEEN, first_state: self.versions });
        order.sort_unstable();
        order
    }

    /// Attempts with an unknown outcome and no install whose versions somebody met who did not abort.
    fn witnessed(&self) -> BTreeSet<TxnId> {
        let attempts = || self.logs.iter().flat_map(Log::attempts);
        let mut unknown: BTreeSet<TxnId> = attempts()
            .filter(|attempt| attempt.outcome == Outcome::Unknown && !has_installed(*attempt))
            .map(|attempt| attempt.id)
            .collect();
        if unknown.is_empty() {
            return unknown;
        }
        let mut met = BTreeSet::new();
        for attempt in attempts().filter(|attempt| attempt.outcome != Outcome::Aborted) {
            let mut meets = |version: Version| {
                if version.txn() != attempt.id {
                    met.insert(version.txn());
                }
            };
            for op in attempt.ops() {
                match op {
                    Op::Read { seen, .. } => meets(seen),
                    Op::Install { before, .. } => meets(before),
                    Op::Scan(scan) => scan.rows().for_each(|(_, seen)| meets(seen)),
                    Op::Write { .. } => {}
                }
            }
        }
        unknown.retain(|id| met.contains(id));
        unknown
    }

    /// How many took effect.
    pub(crate) const fn len(&self) -> usize {
        self.order.len()
    }

    /// How many versions they have written.
    pub(crate) const fn versions(&self) -> u32 {
        self.versions
    }

    /// The transaction with this rank.
    #[inline]
    pub(crate) fn attempt(&self, rank: Rank) -> Attempt<'h> {
        let (log, at) = self.order[rank.at()];
        self.logs[log as usize].attempt(at as usize)
    }

    /// The attempt of this name.
    pub(crate) fn find(&self, id: TxnId) -> Option<Attempt<'h>> {
        let log = self.logs.binary_search_by_key(&id.session(), Log::session).ok()?;
        let at = (id.count() as usize).checked_sub(1)?;
        (at < self.logs[log].attempts().len()).then(|| self.logs[log].attempt(at))
    }

    /// The transaction before this one in its session, if it took effect and ended before this one began.
    pub(crate) fn before(&self, rank: Rank) -> Option<Rank> {
        let (log, at) = self.order[rank.at()];
        let (first, _) = self.sessions[self.logs[log as usize].session() as usize];
        let earlier = (0..at).rev().map(|at| self.placed[(first + at) as usize].rank);
        earlier.take_while(|&rank| rank != Rank::UNSEEN).find(|&other| other != Rank::ABORTED && other < rank)
    }

    /// Those that took effect, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.order.len() as u32).map(Rank)
    }

    /// Those that aborted.
    pub(crate) fn aborted(&self) -> impl Iterator<Item = Attempt<'h>> {
        self.logs.iter().flat_map(Log::attempts).filter(|attempt| attempt.outcome == Outcome::Aborted)
    }

    /// The tables that were ever scanned.
    pub(crate) fn scanned(&self) -> Vec<u16> {
        let mut tables: Vec<u16> = self.logs.iter().flat_map(Log::scanned).collect();
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    /// Who wrote a version; not for those that were loaded or whose writer nobody names.
    #[inline]
    pub(crate) fn writer(&self, version: Version) -> Writer {
        let (session, count) = (version.txn().session(), version.txn().count());
        let Some(&(first, attempts)) = self.sessions.get(session as usize) else { return Writer::Nobody };
        if count == 0 || count > attempts {
            return Writer::Nobody;
        }
        let at = (first + count - 1) as usize;
        let Placed { rank, first_state } = self.placed[at];
        if rank == Rank::ABORTED {
            return Writer::Aborted;
        }
        let state = first_state + version.sequence();
        if rank == Rank::UNSEEN || state >= self.placed[at + 1].first_state {
            return Writer::Nobody;
        }
        Writer::Txn(rank, StateId(state))
    }
}

fn has_installed(attempt: Attempt<'_>) -> bool {
    attempt.ops().any(|op| matches!(op, Op::Install { .. }))
}
