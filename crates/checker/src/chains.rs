//! The states of each key in their order, as storage held them: each install says which state it replaced.
//!
//! Where an install replaced an absence, and nobody says which, it may have been any that nobody is known to
//! have replaced: a key is absent at first unless it was loaded, and again after each deletion. If only one
//! can be meant, it is. What stays open is left to `absences`, with a guess in the order of responses.

use std::ops::Range;

use stdx::history::{Key, Op, Version};

use crate::flaws::{Flaw, FlawKind};
use crate::keys::{KeyId, Keys, hash, tag};
use crate::txns::{Rank, StateId, Txns, Writer};

/// A state of a key, and what came after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// Who made it; nobody if it was first.
    pub(crate) writer: Rank,
    /// What replaced it, if anything did; of absences sometimes only a guess.
    pub(crate) next: StateId,
    /// Who replaced it.
    pub(crate) next_writer: Rank,
    /// Of which key it is; of none if it was never installed.
    pub(crate) key: KeyId,
    /// See [`mark`].
    pub(crate) mark: u32,
}

const UNINSTALLED: State =
    State { writer: Rank::NONE, next: StateId::NONE, next_writer: Rank::NONE, key: KeyId::NONE, mark: 0 };

/// In marks: what came next is a guess.
const GUESSED: u32 = 2;

impl State {
    /// What replaced it, unless that is a guess.
    #[inline]
    pub(crate) const fn known_next(&self) -> StateId {
        if self.mark & GUESSED == 0 { self.next } else { StateId::NONE }
    }

    /// Whether it is marked so, whatever came next.
    #[inline]
    pub(crate) const fn has_mark(&self, mark: u32) -> bool {
        self.mark & !GUESSED == mark
    }

    const fn is_tombstone(&self) -> bool {
        self.mark & 1 == 1
    }
}

/// What tells apart states of different keys, and values from absences, without a look at the key.
#[inline]
pub(crate) const fn mark(hash: u64, is_absent: bool) -> u32 {
    tag(hash) & !(GUESSED | 1) | is_absent as u32
}

/// An install over an absence that may be one of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    /// What was installed.
    pub(crate) insert: StateId,
    /// The absence that it replaced, if the order of responses is right.
    pub(crate) guess: StateId,
}

/// An absence of a key that was deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(crate) state: StateId,
    /// Who deleted the key; nobody if it was absent at first.
    pub(crate) writer: Rank,
}

/// What is known of a key besides its states.
#[derive(Clone, Debug, Default)]
struct Facts {
    is_loaded: bool,
    is_deleted: bool,
    /// Where its absences are in `gaps`, if it was ever deleted.
    gaps: Range<u32>,
    /// Where its installs over one of these are in `opens`, if they are open.
    opens: Range<u32>,
}

/// The states of all keys.
pub(crate) struct Chains<'h> {
    /// The keys.
    pub(crate) keys: Keys<'h>,
    /// What versions made, by their place, and behind them the first state of each key.
    states: Vec<State>,
    facts: Vec<Facts>,
    versions: u32,
    gaps: Vec<Gap>,
    opens: Vec<Open>,
    scanned: Vec<u16>,
    /// The numbered keys of scanned tables, in their order.
    pub(crate) sorted: Vec<KeyId>,
}

/// An install over the first state of a key, or over an absence.
#[derive(Clone, Copy)]
struct Root {
    key: KeyId,
    state: StateId,
    is_over_loaded: bool,
}

impl<'h> Chains<'h> {
    /// All chains, with what is wrong in them.
    pub(crate) fn new(txns: &Txns<'h>, flaws: &mut Vec<Flaw>) -> Self {
        let mut chains = Self {
            keys: Keys::new(),
            states: vec![UNINSTALLED; txns.versions() as usize],
            facts: Vec::new(),
            versions: txns.versions(),
            gaps: Vec::new(),
            opens: Vec::new(),
            scanned: txns.scanned(),
            sorted: Vec::new(),
        };
        let mut roots = Vec::new();
        for rank in txns.all() {
            chains.collect(txns, rank, &mut roots, flaws);
        }
        let first = |key| State { key: KeyId(key), ..UNINSTALLED };
        chains.states.extend((0..chains.keys.len() as u32).map(first));
        chains.root(txns, roots, flaws);
        chains.sorted = chains.keys.sorted(|table| chains.scanned.contains(&table));
        chains
    }

    /// The state with this number.
    #[inline]
    pub(crate) fn state(&self, id: StateId) -> State {
        self.states[id.at()]
    }

    /// The first state of a key.
    #[inline]
    pub(crate) fn first(&self, key: KeyId) -> StateId {
        StateId(self.versions + key.0)
    }

    /// Whether the key had a value before the history began.
    pub(crate) fn is_loaded(&self, key: KeyId) -> bool {
        self.facts[key.at()].is_loaded
    }

    /// The absences of a key: one for each time that it had no value.
    #[inline]
    pub(crate) fn gaps(&self, key: KeyId) -> impl Iterator<Item = StateId> {
        let facts = &self.facts[key.at()];
        let first = (!facts.is_deleted && !facts.is_loaded).then(|| self.first(key));
        first.into_iter().chain(self.gaps_in_order(key).iter().map(|gap| gap.state))
    }

    /// The absences of a key that was deleted, the first one first, then in the order in which they began.
    #[inline]
    pub(crate) fn gaps_in_order(&self, key: KeyId) -> &[Gap] {
        let Range { start, end } = self.facts[key.at()].gaps;
        &self.gaps[start as usize..end as usize]
    }

    /// All without those that the transaction made itself: it saw none of them before.
    #[inline]
    pub(crate) fn gaps_of_others(&self, key: KeyId, txn: Rank) -> impl Iterator<Item = StateId> {
        self.gaps(key).filter(move |gap| self.state(*gap).writer != txn)
    }

    /// The installs over an absence of the key that may be one of several.
    #[inline]
    pub(crate) fn opens(&self, key: KeyId) -> &[Open] {
        let Range { start, end } = self.facts[key.at()].opens;
        &self.opens[start as usize..end as usize]
    }

    /// Numbers the keys of a transaction, and enters its installs.
    fn collect(&mut self, txns: &Txns<'h>, rank: Rank, roots: &mut Vec<Root>, flaws: &mut Vec<Flaw>) {
        let attempt = txns.attempt(rank);
        for op in attempt.ops() {
            match op {
                Op::Install { key, before, after } => {
                    let flaw = |kind| Flaw::new(kind, attempt.id, key, after);
                    let hash = hash(key);
                    let id = self.intern(key, hash);
                    let Writer::Txn(by, state) = txns.writer(after) else {
                        flaws.push(flaw(FlawKind::ForeignInstall));
                        continue;
                    };
                    let entry = &mut self.states[state.at()];
                    if by != rank || entry.key != KeyId::NONE {
                        let kind =
                            if by == rank { FlawKind::DoubleInstall } else { FlawKind::ForeignInstall };
                        flaws.push(flaw(kind));
                        continue;
                    }
                    (entry.writer, entry.key, entry.mark) = (rank, id, mark(hash, after.is_absent()));
                    if after.is_absent() {
                        self.facts[id.at()].is_deleted = true;
                    }
                    if before == Version::ABSENT || before.is_loaded() {
                        roots.push(Root { key: id, state, is_over_loaded: before.is_loaded() });
                    } else if let Writer::Txn(by, replaced) = txns.writer(before)
                        && by != rank
                    {
                        self.link(txns, replaced, state, rank, flaws);
                    } else {
                        flaws.push(Flaw::new(FlawKind::BrokenChain, attempt.id, key, before));
                    }
                }
                Op::Read { key, seen } => {
                    // A scan of the table may have missed a row that was there all the time.
                    if seen == Version::ABSENT || seen.is_loaded() && self.scanned.contains(&key.table) {
                        let id = self.intern(key, hash(key));
                        self.facts[id.at()].is_loaded |= seen.is_loaded();
                    }
                }
                Op::Scan(scan) => {
                    for (key, _) in scan.rows().filter(|(_, seen)| seen.is_loaded()) {
                        let id = self.intern(key, hash(key));
                        self.facts[id.at()].is_loaded = true;
                    }
                }
                // One that is not installed says that the key was absent.
                Op::Write { key, to } if to.is_absent() => {
                    self.intern(key, hash(key));
                }
                Op::Write { .. } => {}
            }
        }
    }

    fn intern(&mut self, key: Key<'h>, hash: u64) -> KeyId {
        let id = self.keys.intern(key, hash);
        if id.at() == self.facts.len() {
            self.facts.push(Facts::default());
        }
        id
    }

    /// One state replaced another.
    fn link(
        &mut self,
        txns: &Txns<'h>,
        before: StateId,
        after: StateId,
        writer: Rank,
        flaws: &mut Vec<Flaw>,
    ) {
        let next = self.states[before.at()].next;
        if next == StateId::NONE {
            (self.states[before.at()].next, self.states[before.at()].next_writer) = (after, writer);
            return;
        }
        let is_resurrected = self.state(next).is_tombstone() || self.state(after).is_tombstone();
        let kind = if is_resurrected { FlawKind::Resurrected } else { FlawKind::DoubleInstall };
        let (other, key) = (self.states[before.at()].next_writer, self.states[after.at()].key);
        let flaw = Flaw::new(kind, txns.attempt(writer).id, self.keys.key(key), Version::ABSENT);
        flaws.push(flaw.with(txns.attempt(other).id));
    }

    /// Enters the installs over what was there first, and over absences.
    fn root(&mut self, txns: &Txns<'h>, mut roots: Vec<Root>, flaws: &mut Vec<Flaw>) {
        for root in roots.iter().filter(|root| root.is_over_loaded) {
            self.facts[root.key.at()].is_loaded = true;
        }
        self.find_gaps();
        // Of keys that were never deleted no more than one absence is to be told from others.
        for &Root { key, state, is_over_loaded } in &roots {
            let writer = self.state(state).writer;
            if is_over_loaded {
                self.link(txns, self.first(key), state, writer, flaws);
            } else if !self.facts[key.at()].is_deleted {
                if self.facts[key.at()].is_loaded {
                    flaws.push(self.never_absent(txns, key, state));
                } else {
                    self.link(txns, self.first(key), state, writer, flaws);
                }
            }
        }
        roots.retain(|root| !root.is_over_loaded && self.facts[root.key.at()].is_deleted);
        roots.sort_unstable_by_key(|root| (root.key, self.state(root.state).writer, root.state));
        for inserts in roots.chunk_by(|one, other| one.key == other.key) {
            self.place(txns, inserts, flaws);
        }
    }

    /// Lists the absences of keys that were deleted, first ones first, then in the order of responses.
    fn find_gaps(&mut self) {
        let is_tombstone = |state: &State| state.key != KeyId::NONE && state.is_tombstone();
        let ids = (0..self.versions).map(StateId);
        let mut gaps: Vec<(KeyId, u32, StateId)> = ids
            .filter(|id| is_tombstone(&self.states[id.at()]))
            .map(|id| (self.states[id.at()].key, self.states[id.at()].writer.0 + 1, id))
            .collect();
        for (at, facts) in self.facts.iter().enumerate() {
            if facts.is_deleted && !facts.is_loaded {
                let key = KeyId(at as u32);
                gaps.push((key, 0, self.first(key)));
            }
        }
        gaps.sort_unstable();
        let gap = |&(_, _, state): &(KeyId, u32, StateId)| Gap { state, writer: self.state(state).writer };
        self.gaps = gaps.iter().map(gap).collect();
        for (nth, &(key, _, _)) in gaps.iter().enumerate() {
            let range = &mut self.facts[key.at()].gaps;
            range.start = if range.end == 0 { nth as u32 } else { range.start };
            range.end = nth as u32 + 1;
        }
    }

    /// Finds the absences that the inserts of a key replaced.
    fn place(&mut self, txns: &Txns<'h>, inserts: &[Root], flaws: &mut Vec<Flaw>) {
        let key = inserts[0].key;
        let mut free: Vec<StateId> = self.gaps(key).collect();
        free.retain(|gap| self.state(*gap).next == StateId::NONE);
        if let [insert] = inserts {
            let later = self.later(insert.state);
            free.retain(|gap| !later.contains(gap));
        }
        if free.len() < inserts.len() {
            flaws.push(self.never_absent(txns, key, inserts[free.len()].state));
            return;
        }
        if let ([insert], [gap]) = (inserts, &free[..]) {
            self.link(txns, *gap, insert.state, self.state(insert.state).writer, flaws);
            return;
        }
        for nth in 0..inserts.len() {
            // Nobody replaces an absence that the same install makes.
            if free[nth] == inserts[nth].state {
                free.swap(nth, if nth == 0 { 1 } else { nth - 1 });
            }
        }
        let start = self.opens.len() as u32;
        for (insert, gap) in inserts.iter().zip(free) {
            self.opens.push(Open { insert: insert.state, guess: gap });
            let next_writer = self.state(insert.state).writer;
            let state = &mut self.states[gap.at()];
            (state.next, state.next_writer) = (insert.state, next_writer);
            state.mark |= GUESSED;
        }
        self.facts[key.at()].opens = start..self.opens.len() as u32;
    }

    /// The state and those known to follow it.
    fn later(&self, mut state: StateId) -> Vec<StateId> {
        let mut later = Vec::new();
        while state != StateId::NONE && !later.contains(&state) {
            later.push(state);
            state = self.state(state).next;
        }
        later
    }

    fn never_absent(&self, txns: &Txns<'h>, key: KeyId, state: StateId) -> Flaw {
        let writer = txns.attempt(self.state(state).writer).id;
        Flaw::new(FlawKind::NeverAbsent, writer, self.keys.key(key), Version::ABSENT)
    }
}
