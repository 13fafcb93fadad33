//! Readings of a history: which absence each transaction met that found a key absent, and which one each insert
//! ended. What a reading does not answer itself follows the layout: a key is absent between the deletion and the
//! insert that a reader stands between.

use std::collections::{BTreeMap, BTreeSet};

use crate::chains::Chains;
use crate::keys::KeyId;
use crate::txns::{Rank, StateId, Txns};
use crate::walk::{Choice, Chosen, Edge, EdgeKind};

/// Which absences were meant, as far as that was searched; the rest follows the layout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// What transactions met that looked for keys. Who looked twice met the same, or met more than it had to.
    pub(crate) seen: BTreeMap<(Rank, KeyId), StateId>,
    /// What states replaced.
    pub(crate) replaced: BTreeMap<StateId, StateId>,
    /// What replaced an absence, for the keys below.
    pub(crate) closers: BTreeMap<StateId, StateId>,
    /// The keys of which it is said what all inserts replaced.
    pub(crate) keys: BTreeSet<KeyId>,
    /// The keys of which anything is said.
    pub(crate) touched: BTreeSet<KeyId>,
}

impl Reading {
    /// What it says itself.
    pub(crate) fn own_answer(&self, choice: &Choice) -> Option<StateId> {
        match choice.what {
            Chosen::Replaced(state) => self.replaced.get(&state).copied(),
            Chosen::Seen { known: StateId::NONE, .. } => self.seen.get(&(choice.txn, choice.key)).copied(),
            Chosen::Seen { known, .. } => Some(known),
        }
    }

    /// Says that this is what was meant.
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

    /// Takes it back.
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

/// A history, to be read.
#[derive(Clone, Copy)]
pub(crate) struct Text<'s, 'h> {
    pub(crate) txns: &'s Txns<'h>,
    pub(crate) chains: &'s Chains,
}

impl Text<'_, '_> {
    /// Which absence the reading takes.
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

    /// The absence that the reader stands in, in the layout, or else the one that is least far away.
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

    /// How far an edge goes against the layout.
    #[inline]
    pub(crate) fn against(&self, edge: &Edge) -> u32 {
        let (from, to) = self.moments(edge);
        from.saturating_sub(to)
    }

    /// The moments between which an edge goes: one that starts with a read starts where its reader read.
    #[inline]
    pub(crate) fn moments(&self, edge: &Edge) -> (u32, u32) {
        if edge.kind.is_rw() {
            (self.txns.reads_at(edge.from), self.txns.writes_at(edge.to))
        } else {
            (self.txns.writes_at(edge.from), self.txns.reads_at(edge.to))
        }
    }

    /// What replaced an absence, in the reading.
    #[inline]
    pub(crate) fn closer(&self, reading: &Reading, key: KeyId, gap: StateId) -> StateId {
        let state = self.chains.state(gap);
        if !reading.keys.is_empty() && state.known_next() == StateId::NONE && reading.keys.contains(&key) {
            return reading.closers.get(&gap).copied().unwrap_or(StateId::NONE);
        }
        state.next
    }

    /// The edges of a choice: between the deletion that made the absence, who met it, and who ended it.
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

    /// If a reading says of some inserts of a key that they replaced other absences than in the old one, lets it
    /// say of all the key's inserts what they replaced: as in the old one, but those whose absences are taken get
    /// the ones that became free. None if that cannot be: two replaced the same, or one what it left itself.
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

    /// Takes a better reading over.
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
