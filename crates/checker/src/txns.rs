//! The transactions of a history that took effect, numbered in an order that may be the one in which they took
//! effect.
//!
//! The [`Layout`] selects that order. The order is not a claim, and nothing is concluded from it: edges that agree with
//! a layout, whatever it is, form no cycle by themselves, so that a good guess leaves little to look at, and a bad one
//! only costs time.

use std::collections::BTreeSet;

use stdx::history::{AttemptOutcome, Op, RecordedAttempt, SessionLog, TxnId, Version};

/// A layout of the transactions: the moment at which each of them read, and the moment at which it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Both at the response: a record that was locked or validated until then was so at that moment. Real time always
    /// agrees with this layout.
    Responses,
    /// The read at the invocation, the write at the response.
    Snapshots,
    /// Both at the invocation, as with timestamps that are drawn first.
    Invocations,
    /// Both at the stamp, which may be a lie; a layout is only a guess.
    Stamps,
}

/// The place of a transaction in the layout: the place where it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(pub(crate) u32);

impl Rank {
    /// No transaction: the writer of a first state.
    pub(crate) const NONE: Self = Self(u32::MAX);
    /// Stands for the rank of an attempt that aborted.
    const ABORTED: Self = Self(u32::MAX);
    /// Stands for the rank of an attempt with an unknown outcome of which no other transaction saw that it committed.
    const UNSEEN: Self = Self(u32::MAX - 1);

    /// The index in vectors of transactions.
    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// A state of a key: its first state, or the state that one version made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StateId(pub(crate) u32);

impl StateId {
    /// No state.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The index in vectors of states.
    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }
}

/// The writer of a version.
pub(crate) enum Writer {
    /// No attempt of the history.
    Nobody,
    /// An attempt that aborted.
    Aborted,
    /// A transaction that took effect, and the state of the version.
    Txn(Rank, StateId),
}

impl Writer {
    /// The state of the version, if its writer took effect.
    pub(crate) const fn state(&self) -> Option<StateId> {
        if let Self::Txn(_, state) = self { Some(*state) } else { None }
    }
}

/// An attempt: its rank, and the number of its first version.
#[derive(Clone, Copy, Debug)]
struct Placed {
    rank: Rank,
    first_state: u32,
}

/// Tables of a history that is being checked; their memory is reused for the next history.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// By session number: the index in `placed` at which its attempts begin, and the number of its attempts.
    sessions: Vec<(u32, u32)>,
    placed: Vec<Placed>,
    /// By rank: the index of the log, and the index of the attempt in it.
    order: Vec<(u32, u32)>,
    /// The same, with the sort key in front.
    keyed: Vec<(u64, u32, u32)>,
    /// By rank: the moments of reading and writing, if transactions read and write at different moments.
    splits: Vec<Split>,
    /// Ranks in the order of their reads, in that case.
    readers: Vec<Rank>,
}

/// The moments, counted over all transactions, at which a transaction read and wrote.
#[derive(Clone, Copy, Debug, Default)]
struct Split {
    reads_at: u32,
    writes_at: u32,
}

/// The transactions that took effect, with lookup by the versions that they wrote.
pub(crate) struct Txns<'h> {
    logs: &'h [SessionLog],
    layout: Layout,
    tables: Tables,
    /// The number of versions.
    versions: u32,
}

impl<'h> Txns<'h> {
    /// The transactions that responded until the moment `until`.
    ///
    /// # Panics
    /// When there are more than two billion attempts or versions.
    #[expect(
        clippy::stable_sort_primitive,
        reason = "a stable sort finds the runs that sessions are in order already"
    )]
    pub(crate) fn new(logs: &'h [SessionLog], layout: Layout, until: u64, mut tables: Tables) -> Self {
        tables.sessions.clear();
        tables.sessions.resize(logs.last().map_or(0, |log| log.session() as usize + 1), (0, 0));
        tables.placed.clear();
        tables.keyed.clear();
        let mut txns = Self { logs, layout, tables, versions: 0 };
        txns.place(until);
        txns.tables.keyed.sort();
        for (nth, &(_, log, at)) in txns.tables.keyed.iter().enumerate() {
            let (first, _) = txns.tables.sessions[logs[log as usize].session() as usize];
            txns.tables.placed[(first + at) as usize].rank = Rank(nth as u32);
        }
        txns.tables.order.clear();
        txns.tables.order.extend(txns.tables.keyed.iter().map(|&(_, log, at)| (log, at)));
        txns.split();
        txns
    }

    /// The tables, to be reused for the next history.
    pub(crate) fn into_tables(self) -> Tables {
        self.tables
    }

    /// The layout of the transactions.
    pub(crate) const fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether transactions read and write at different moments.
    pub(crate) const fn is_split(&self) -> bool {
        matches!(self.layout, Layout::Snapshots)
    }

    /// Enters all attempts into the tables, with sort keys for those that took effect.
    fn place(&mut self, until: u64) {
        let witnessed = self.witnessed();
        let mut versions = 0_usize;
        let Tables { sessions, placed, keyed, .. } = &mut self.tables;
        for (log, attempts) in self.logs.iter().enumerate() {
            let first = placed.len();
            for (at, attempt) in attempts.attempts().enumerate() {
                let is_late = attempt.responded > until;
                if is_late && attempt.outcome != AttemptOutcome::Unknown {
                    break;
                }
                let first_state = versions as u32;
                let is_unseen = || is_late || !has_installed(attempt) && !witnessed.contains(&attempt.id);
                let rank = match attempt.outcome {
                    AttemptOutcome::Aborted => Rank::ABORTED,
                    AttemptOutcome::Unknown if is_unseen() => Rank::UNSEEN,
                    _ => {
                        keyed.push((moment(self.layout, attempt), log as u32, at as u32));
                        versions += attempt.versions as usize;
                        Rank(0)
                    }
                };
                placed.push(Placed { rank, first_state });
            }
            sessions[attempts.session() as usize] = (first as u32, (placed.len() - first) as u32);
        }
        assert!(placed.len() < u32::MAX as usize / 2 - 1, "a history has fewer than two billion attempts");
        assert!(versions < u32::MAX as usize / 2, "a history has fewer than two billion versions");
        self.versions = versions as u32;
        placed.push(Placed { rank: Rank::UNSEEN, first_state: self.versions });
    }

    /// Merges the moments of reads with the moments of writes, if these differ.
    #[expect(
        clippy::stable_sort_primitive,
        reason = "a stable sort finds the runs that sessions are in order already"
    )]
    fn split(&mut self) {
        self.tables.splits.clear();
        self.tables.readers.clear();
        if !self.is_split() {
            return;
        }
        let mut moments = std::mem::take(&mut self.tables.keyed);
        moments.clear();
        for rank in self.all() {
            let attempt = self.attempt(rank);
            // A write comes before a read of the same moment, since a transaction that began then may have seen that
            // write.
            moments.push((attempt.responded, 0, rank.0));
            moments.push((attempt.invoked, 1, rank.0));
        }
        moments.sort();
        self.tables.splits.resize(self.len(), Split::default());
        for (at, &(_, reads, rank)) in moments.iter().enumerate() {
            let split = &mut self.tables.splits[rank as usize];
            let place = if reads == 1 { &mut split.reads_at } else { &mut split.writes_at };
            *place = at as u32;
        }
        self.tables
            .readers
            .extend(moments.iter().filter(|moment| moment.1 == 1).map(|moment| Rank(moment.2)));
        let Tables { splits, readers, .. } = &mut self.tables;
        for split in splits.iter_mut().filter(|split| split.reads_at > split.writes_at) {
            // A transaction that took no time at all still reads before it writes.
            std::mem::swap(&mut split.reads_at, &mut split.writes_at);
        }
        readers.sort_by_key(|rank| splits[rank.at()].reads_at);
        self.tables.keyed = moments;
    }

    /// The number of moments at which transactions read or wrote.
    pub(crate) fn moments(&self) -> usize {
        if self.is_split() { 2 * self.len() } else { self.len() }
    }

    /// The moment at which the transaction read.
    #[inline]
    pub(crate) fn reads_at(&self, rank: Rank) -> u32 {
        if self.is_split() { self.tables.splits[rank.at()].reads_at } else { rank.0 }
    }

    /// The moment at which the transaction wrote.
    #[inline]
    pub(crate) fn writes_at(&self, rank: Rank) -> u32 {
        if self.is_split() { self.tables.splits[rank.at()].writes_at } else { rank.0 }
    }

    /// The transaction that read at this place in the order of reads.
    #[inline]
    pub(crate) fn reader(&self, nth: usize) -> Rank {
        if self.is_split() { self.tables.readers[nth] } else { Rank(nth as u32) }
    }

    /// Attempts with an unknown outcome and without installs, one of whose versions was met by an attempt that did not
    /// abort.
    fn witnessed(&self) -> BTreeSet<TxnId> {
        let attempts = || self.logs.iter().flat_map(SessionLog::attempts);
        let mut unknown = BTreeSet::new();
        for attempt in attempts() {
            if attempt.outcome == AttemptOutcome::Unknown && !has_installed(attempt) {
                unknown.insert(attempt.id);
            }
        }
        if unknown.is_empty() {
            return unknown;
        }
        let mut met = BTreeSet::new();
        for attempt in attempts().filter(|attempt| attempt.outcome != AttemptOutcome::Aborted) {
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

    /// The number of transactions that took effect.
    pub(crate) fn len(&self) -> usize {
        self.tables.order.len()
    }

    /// The number of versions that they have written.
    pub(crate) const fn versions(&self) -> u32 {
        self.versions
    }

    /// The transaction with this rank.
    #[inline]
    pub(crate) fn attempt(&self, rank: Rank) -> RecordedAttempt<'h> {
        let (log, at) = self.tables.order[rank.at()];
        self.logs[log as usize].attempt(at as usize)
    }

    /// The first state of the transaction with this rank, if it has written any version.
    #[inline]
    pub(crate) fn first_state(&self, rank: Rank) -> StateId {
        let (log, at) = self.tables.order[rank.at()];
        let (first, _) = self.tables.sessions[self.logs[log as usize].session() as usize];
        StateId(self.tables.placed[(first + at) as usize].first_state)
    }

    /// The attempt with this id.
    pub(crate) fn find(&self, id: TxnId) -> Option<RecordedAttempt<'h>> {
        let log = self.logs.binary_search_by_key(&id.session(), SessionLog::session).ok()?;
        let at = (id.count() as usize).checked_sub(1)?;
        (at < self.logs[log].attempts().len()).then(|| self.logs[log].attempt(at))
    }

    /// The transaction before this one in its session, if it took effect and ended before this one began.
    pub(crate) fn before(&self, rank: Rank) -> Option<Rank> {
        let (log, at) = self.tables.order[rank.at()];
        let invoked = self.attempt(rank).invoked;
        let (first, _) = self.tables.sessions[self.logs[log as usize].session() as usize];
        let earlier = (0..at).rev().map(|at| self.tables.placed[(first + at) as usize].rank);
        earlier
            .take_while(|&rank| rank != Rank::UNSEEN)
            .find(|&other| other != Rank::ABORTED && self.attempt(other).responded <= invoked)
    }

    /// The transactions that took effect, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.tables.order.len() as u32).map(Rank)
    }

    /// The attempts that aborted.
    pub(crate) fn aborted(&self) -> impl Iterator<Item = RecordedAttempt<'h>> {
        self.logs
            .iter()
            .flat_map(SessionLog::attempts)
            .filter(|attempt| attempt.outcome == AttemptOutcome::Aborted)
    }

    /// Lists the tables that were ever scanned.
    pub(crate) fn scanned(&self, tables: &mut Vec<u16>) {
        tables.clear();
        for table in self.logs.iter().flat_map(SessionLog::scanned) {
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
    }

    /// The writer of a version; not for loaded versions or absences without a known writer.
    #[inline]
    pub(crate) fn writer(&self, version: Version) -> Writer {
        let (session, count) = (version.txn().session(), version.txn().count());
        let Some(&(first, attempts)) = self.tables.sessions.get(session as usize) else {
            return Writer::Nobody;
        };
        if count == 0 || count > attempts {
            return Writer::Nobody;
        }
        let at = (first + count - 1) as usize;
        let Placed { rank, first_state } = self.tables.placed[at];
        if rank == Rank::ABORTED {
            return Writer::Aborted;
        }
        let state = first_state + version.sequence();
        if rank == Rank::UNSEEN || state >= self.tables.placed[at + 1].first_state {
            return Writer::Nobody;
        }
        Writer::Txn(rank, StateId(state))
    }
}

fn has_installed(attempt: RecordedAttempt<'_>) -> bool {
    attempt.ops().any(|op| matches!(op, Op::Install { .. }))
}

/// The sort key of an attempt in the layout.
#[inline]
const fn moment(layout: Layout, attempt: RecordedAttempt<'_>) -> u64 {
    match (layout, attempt.outcome) {
        (Layout::Invocations, _) => attempt.invoked,
        (Layout::Stamps, AttemptOutcome::Committed(stamp)) => stamp,
        _ => attempt.responded,
    }
}
