//! Readings of a history: the absence that each transaction met when it found a key absent, and the absence that each
//! insert ended. Choices that a reading does not answer itself follow the layout: a reader met the absence between the
//! deletion and the insert that it stands between in the layout.

use std::collections::{BTreeMap, BTreeSet};

use crate::chains::Chains;
use crate::keys::KeyId;
use crate::txns::{Rank, StateId, Txns};
use crate::walk::{Choice, Chosen, Edge, EdgeKind};

/// The absences that were met and replaced, as far as the search has answered that; all other choices follow the
/// layout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// The absence that each transaction met when it looked for a key. A transaction that looked twice met the same
    /// absence, or more than it had to.
    pub(crate) seen: BTreeMap<(Rank, KeyId), StateId>,
    /// The absence that each state replaced.
    pub(crate) replaced: BTreeMap<StateId, StateId>,
    /// The state that replaced each absence, for the keys in `keys`.
    pub(crate) closers: BTreeMap<StateId, StateId>,
    /// The keys for which the reading says what all inserts replaced.
    pub(crate) keys: BTreeSet<KeyId>,
    /// The keys about which the reading says anything.
    pub(crate) touched: BTreeSet<KeyId>,
}

impl Reading {
    /// The reading's own answer to a choice; `None` if it has none.
    pub(crate) fn own_answer(&self, choice: &Choice) -> Option<StateId> {
        match choice.what {
            Chosen::Replaced(state) => self.replaced.get(&state).copied(),
            Chosen::Seen { known: StateId::NONE, .. } => self.seen.get(&(choice.txn, choice.key)).copied(),
            Chosen::Seen { known, .. } => Some(known),
        }
    }

    /// Enters `gap` as the answer to the choice.
    pub(crate) fn say(&mut self, choice: &Choice, gap: StateId) {
        match choice.what {
            Chosen::Replaced(state) => {
                self.replaced.insert(state, gap);
                self.closers.insert(gap, state);
            }
            Chosen::Seen { known: StateId::NONE, .. } => {
                self.seen.insert((choice.txn, choice.key), gap);
            }
            Chosen::Seen { .. } => {}
        }
    }

    /// Removes the answer `gap` to the choice.
    pub(crate) fn unsay(&mut self, choice: &Choice, gap: StateId) {
        match choice.what {
            Chosen::Replaced(state) => {
                self.replaced.remove(&state);
                self.closers.remove(&gap);
            }
            Chosen::Seen { .. } => {
                self.seen.remove(&(choice.txn, choice.key));
            }
        }
    }
}

/// A history to be read: its transactions and the chains of its keys.
#[derive(Clone, Copy)]
pub(crate) struct Text<'s, 'h> {
    pub(crate) txns: &'s Txns<'h>,
    pub(crate) chains: &'s Chains,
}

impl Text<'_, '_> {
    /// The absence that the reading takes for a choice.
    #[inline]
    pub(crate) fn answer(&self, reading: &Reading, choice: &Choice) -> StateId {
        if !reading.touched.is_empty()
            && let Some(answer) = reading.own_answer(choice)
        {
            return answer;
        }
        match choice.what {
            Chosen::Replaced(state) => self.chains.state(state).before().0,
            Chosen::Seen { known: StateId::NONE, .. } => self.nearest(reading, choice),
            Chosen::Seen { known, .. } => known,
        }
    }

    /// The absence in which the reader stands in the layout, or else the absence whose edges go least against the
    /// layout.
    fn nearest(&self, reading: &Reading, choice: &Choice) -> StateId {
        let gaps = self.chains.gaps_in_order(choice.key);
        let moment = self.txns.reads_at(choice.txn);
        let later = gaps.partition_point(|gap| gap.from <= moment);
        if let Some(gap) = later.checked_sub(1).map(|last| &gaps[last])
            && moment <= gap.to
            && !reading.keys.contains(&choice.key)
        {
            return gap.state;
        }
        let against = |gap: StateId| {
            let closer = self.closer(reading, choice.key, gap);
            self.edges(choice, gap, closer).map(|edge| u64::from(self.against(&edge))).sum::<u64>()
        };
        let near = gaps[later.saturating_sub(3)..gaps.len().min(later + 2)].iter();
        let of_others = near.filter(|gap| gap.writer != choice.txn).map(|gap| gap.state);
        of_others.min_by_key(|&gap| against(gap)).expect("there are at least two to choose from")
    }

    /// The distance, in moments, by which an edge goes against the layout; 0 if it agrees.
    #[inline]
    pub(crate) fn against(&self, edge: &Edge) -> u32 {
        let (from, to) = self.moments(edge);
        from.saturating_sub(to)
    }

    /// The moments of an edge's two ends. An `rw` edge goes from the moment of the read to the moment of the write; the
    /// others go from the moment of the write to the moment of the read.
    #[inline]
    pub(crate) fn moments(&self, edge: &Edge) -> (u32, u32) {
        if edge.kind.is_rw() {
            (self.txns.reads_at(edge.from), self.txns.writes_at(edge.to))
        } else {
            (self.txns.writes_at(edge.from), self.txns.reads_at(edge.to))
        }
    }

    /// The state that replaced an absence in the reading; `StateId::NONE` if no state did.
    #[inline]
    pub(crate) fn closer(&self, reading: &Reading, key: KeyId, gap: StateId) -> StateId {
        let state = self.chains.state(gap);
        if !reading.keys.is_empty() && state.known_next() == StateId::NONE && reading.keys.contains(&key) {
            return reading.closers.get(&gap).copied().unwrap_or(StateId::NONE);
        }
        state.next
    }

    /// The edges of a choice: from the deletion that made the absence to the transaction of the choice, and from a
    /// reader to the insert that ended the absence.
    #[inline]
    pub(crate) fn edges(
        &self,
        choice: &Choice,
        gap: StateId,
        closer: StateId,
    ) -> impl Iterator<Item = Edge> + use<> {
        let opener = self.chains.state(gap).writer;
        let writer = if closer == StateId::NONE { Rank::NONE } else { self.chains.state(closer).writer };
        let (txn, key) = (choice.txn, choice.key);
        let edge = move |from, to, kind| Edge { from, to, kind, key };
        let edges = match choice.what {
            Chosen::Replaced(_) => [Some(edge(opener, txn, EdgeKind::Ww)), None],
            Chosen::Seen { is_predicate, .. } => {
                let rw = if is_predicate { EdgeKind::RwPredicate } else { EdgeKind::Rw };
                [Some(edge(opener, txn, EdgeKind::Wr)), Some(edge(txn, writer, rw))]
            }
        };
        let is_edge = |edge: &Edge| edge.from != edge.to && edge.from != Rank::NONE && edge.to != Rank::NONE;
        edges.into_iter().flatten().filter(is_edge)
    }

    /// Completes a reading that says, for some inserts of a key, that they replaced other absences than in the old
    /// reading: the result says of every insert of that key what it replaced. An insert keeps its old absence; if
    /// another insert has taken that absence, it gets one that became free. `None` if that is impossible: two inserts
    /// replaced the same absence, or an insert replaced an absence that its own transaction made.
    pub(crate) fn complete(&self, mut better: Reading, old: &Reading) -> Option<Reading> {
        let said = std::mem::take(&mut better.replaced);
        let before = |insert: StateId| {
            old.replaced.get(&insert).copied().unwrap_or_else(|| self.chains.state(insert).before().0)
        };
        let changed = said.iter().filter(|(insert, gap)| before(**insert) != **gap);
        better.keys.extend(changed.map(|(insert, _)| self.chains.state(*insert).key));
        for &key in &better.keys {
            let opens = self.chains.opens(key);
            let taken: BTreeSet<StateId> =
                opens.iter().filter_map(|insert| said.get(insert).copied()).collect();
            let spoken_of = opens.iter().filter(|insert| said.contains_key(insert));
            let mut free = spoken_of.map(|insert| before(*insert)).filter(|gap| !taken.contains(gap));
            for &insert in opens {
                let kept = || Some(before(insert)).filter(|gap| !taken.contains(gap)).or_else(|| free.next());
                let gap = said.get(&insert).copied().or_else(kept);
                better.replaced.insert(insert, gap?);
                let is_own = self.chains.state(gap?).writer == self.chains.state(insert).writer;
                if is_own || better.closers.insert(gap?, insert).is_some() {
                    return None;
                }
            }
        }
        Some(better)
    }

    /// Merges a better reading into this one.
    pub(crate) fn adopt(&self, reading: &mut Reading, better: &Reading) {
        for &key in &better.keys {
            for gap in self.chains.gaps(key) {
                reading.closers.remove(&gap);
            }
        }
        reading.seen.extend(&better.seen);
        reading.replaced.extend(&better.replaced);
        reading.closers.extend(&better.closers);
        reading.keys.extend(&better.keys);
        reading.touched.extend(&better.keys);
        reading.touched.extend(better.seen.keys().map(|(_, key)| key));
    }
}
