//! The states of each key in their order, as storage held them: each install says which state it replaced.
//!
//! An install over an absence may not say which absence it replaced. Then it may be any absence that nobody is known to
//! have replaced: a key is absent at first unless it was loaded, and again after each deletion. If only one absence is
//! possible, it is taken. Open choices are left to `absences`, with a guess: a key's lives, each from an insert to a
//! deletion, follow each other in the order of the layout.

use std::ops::Range;

use stdx::history::{Key, TxnId, Version};

use crate::blocks::{BLOCK, Block, Decoded, Ranged, Step, Wanted};
use crate::flaws::{Flaw, FlawKind};
use crate::keys::{KeyId, Keys, tag};
use crate::serial::{DELETED, LOADED, Serial};
use crate::txns::{Rank, StateId, Txns, Writer};

/// A state of a key, with the state before it and the state after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// The transaction that made the state; `Rank::NONE` for a first state.
    pub(crate) writer: Rank,
    /// The state that it replaced, if it is known to be a state; for absences sometimes only a guess.
    before: StateId,
    /// The state that replaced it, if any did; for absences sometimes only a guess.
    pub(crate) next: StateId,
    /// The transaction that replaced it.
    pub(crate) next_writer: Rank,
    /// The key of the state; `KeyId::NONE` if the version was never installed.
    pub(crate) key: KeyId,
    /// See [`mark`].
    pub(crate) mark: u32,
}

const UNINSTALLED: State = State {
    writer: Rank::NONE,
    before: StateId::NONE,
    next: StateId::NONE,
    next_writer: Rank::NONE,
    key: KeyId::NONE,
    mark: 0,
};

/// Mark bit: the next state is a guess.
const NEXT_GUESSED: u32 = 2;
/// Mark bit: the state before is a guess.
const BEFORE_GUESSED: u32 = 4;
/// The mark bits for guesses.
const FLAGS: u32 = NEXT_GUESSED | BEFORE_GUESSED;

impl State {
    /// The state that replaced this one; `StateId::NONE` if there is none or if it is a guess.
    #[inline]
    pub(crate) const fn known_next(&self) -> StateId {
        if self.mark & NEXT_GUESSED == 0 { self.next } else { StateId::NONE }
    }

    /// The state that this one replaced, and whether that is a guess.
    #[inline]
    pub(crate) const fn before(&self) -> (StateId, bool) {
        (self.before, self.mark & BEFORE_GUESSED != 0)
    }

    /// Whether the state has this mark, apart from the two bits for guesses.
    #[inline]
    pub(crate) const fn has_mark(&self, mark: u32) -> bool {
        self.mark & !FLAGS == mark
    }

    const fn is_tombstone(&self) -> bool {
        self.mark & 1 == 1
    }
}

/// A mark that distinguishes states of different keys, and values from absences, without a lookup of the key.
#[inline]
pub(crate) const fn mark(hash: u64, is_absent: bool) -> u32 {
    tag(hash) & !(FLAGS | 1) | is_absent as u32
}

/// An absence of a key that was deleted, and the moments at which readers have met the absence, if the layout is right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(crate) state: StateId,
    /// The transaction that deleted the key; `Rank::NONE` for the absence before the first insert.
    pub(crate) writer: Rank,
    /// The first moment after the deletion.
    pub(crate) from: u32,
    /// The moment at which it ended.
    pub(crate) to: u32,
}

/// The ranges of a key in the lists of absences and of open inserts.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// The range of its absences in `gaps`, if the key was ever deleted.
    gaps: Range<u32>,
    /// The range in `opens` of its installs over absences, if it is open which absences they replaced.
    opens: Range<u32>,
}

/// The states of all keys.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    /// The keys.
    pub(crate) keys: Keys,
    /// The states that versions made, by the number of the version, and behind them the first state of each key.
    states: Vec<State>,
    facts: Vec<Facts>,
    /// The serial execution: the states of the keys as transactions come, and the doubted transactions.
    pub(crate) serial: Serial,
    versions: u32,
    gaps: Vec<Gap>,
    opens: Vec<StateId>,
    scanned: Vec<u16>,
    /// The numbered keys of scanned tables, in their order.
    pub(crate) sorted: Vec<KeyId>,
    /// Each key's place in `sorted`, by key number; keys of other tables have places behind these. Empty if no table
    /// was scanned.
    places: Vec<u32>,
    /// The first word of each key in `sorted`, for searches without a lookup of the key.
    heads: Vec<u64>,
    /// The range in `sorted` of each scanned table.
    ranges: Vec<(u16, Range<usize>)>,
    /// Deletions and installs over first states or absences, collected for the linking of chains.
    deletions: Vec<(KeyId, StateId)>,
    roots: Vec<Root>,
    /// The memory of blocks, kept for reuse.
    decoded: Decoded,
    /// The results of the key lookups of a block.
    found: Vec<Found>,
}

/// The result of a key lookup: the key's number, and its hash.
#[derive(Clone, Copy, Debug)]
struct Found {
    id: KeyId,
    hash: u64,
}

/// An install over the first state of a key, or over an absence.
#[derive(Clone, Copy, Debug)]
struct Root {
    key: KeyId,
    state: StateId,
    is_over_loaded: bool,
}

/// Lists shorter than this are sorted by comparison: a counting sort would have to allocate memory.
pub(crate) const FEW: usize = 32;

/// A life of a key: from an insert, along the known successors, to a last state.
#[derive(Clone, Copy)]
struct Life {
    insert: StateId,
    end: StateId,
    /// Whether the life did not end in a deletion, and about when it was (twice the moment of its middle).
    order: (bool, u64),
}

/// Lists for one key at a time, whose memory is reused.
#[derive(Default)]
struct Lists {
    /// The absences that nobody is known to have ended.
    free: Vec<StateId>,
    lives: Vec<Life>,
    /// The last states of lives, by number.
    ends: Vec<StateId>,
}

impl Chains {
    /// Builds all chains of a history, and appends the flaws that it finds in them.
    pub(crate) fn fill(&mut self, txns: &Txns<'_>, flaws: &mut Vec<Flaw>) {
        self.keys.clear();
        self.states.clear();
        self.states.resize(txns.versions() as usize, UNINSTALLED);
        self.facts.clear();
        self.serial.clear(txns.len(), !txns.is_split());
        self.gaps.clear();
        self.opens.clear();
        self.deletions.clear();
        self.roots.clear();
        self.versions = txns.versions();
        txns.scanned(&mut self.scanned);
        let mut block = Block::new(txns.len(), std::mem::take(&mut self.decoded));
        for first in (0..txns.len() as u32).step_by(BLOCK) {
            let ranks = first..(first + BLOCK as u32).min(txns.len() as u32);
            block.fill(txns, ranks.clone(), Wanted { is_all: self.serial.is_on(), scanned: &self.scanned });
            if txns.len() > BLOCK {
                self.touch(txns, ranks);
            }
            self.look_up(&block);
            let mut start = 0;
            for (rank, &(txn, end)) in (first..).map(Rank).zip(&block.done.ends) {
                self.collect(txns, (rank, txn), (&block, start..end as usize), flaws);
                start = end as usize;
            }
        }
        self.decoded = block.done;
        // All links in one loop, so that the cache misses of one wait together with those of the next.
        for state in (0..self.versions).map(StateId) {
            let State { before, writer, .. } = self.states[state.at()];
            if before != StateId::NONE {
                self.link(txns, before, state, writer, flaws);
            }
        }
        self.facts.resize(self.keys.len(), Facts::default());
        let first = |key| State { key: KeyId(key), ..UNINSTALLED };
        self.states.extend((0..self.keys.len() as u32).map(first));
        self.root(txns, flaws);
        self.sort();
        if !flaws.is_empty() {
            self.serial.give_up();
        }
    }

    /// The state with this number.
    #[inline]
    pub(crate) fn state(&self, id: StateId) -> State {
        self.states[id.at()]
    }

    /// The first state of a key.
    #[inline]
    pub(crate) const fn first(&self, key: KeyId) -> StateId {
        StateId(self.versions + key.0)
    }

    /// Whether the key had a value before the history began.
    #[inline]
    pub(crate) fn is_loaded(&self, key: KeyId) -> bool {
        self.serial.has(key, LOADED)
    }

    /// Whether the key was ever deleted.
    #[inline]
    pub(crate) fn is_deleted(&self, key: KeyId) -> bool {
        self.serial.has(key, DELETED)
    }

    /// Whether the key has no value in the state.
    #[inline]
    pub(crate) fn is_absence(&self, state: StateId) -> bool {
        match state.0.checked_sub(self.versions) {
            None => self.state(state).is_tombstone(),
            Some(key) => state != StateId::NONE && !self.is_loaded(KeyId(key)),
        }
    }

    /// The absences of a key: one for each time that it had no value.
    #[inline]
    pub(crate) fn gaps(&self, key: KeyId) -> impl Iterator<Item = StateId> {
        let first = (!self.is_deleted(key) && !self.is_loaded(key)).then(|| self.first(key));
        first.into_iter().chain(self.gaps_in_order(key).iter().map(|gap| gap.state))
    }

    /// The absences of a key that was deleted, the first one first, then in the order in which they began.
    #[inline]
    pub(crate) fn gaps_in_order(&self, key: KeyId) -> &[Gap] {
        let Range { start, end } = self.facts[key.at()].gaps;
        &self.gaps[start as usize..end as usize]
    }

    /// The absences of a key without those that the transaction made itself: it met none of them before.
    #[inline]
    pub(crate) fn gaps_of_others(&self, key: KeyId, txn: Rank) -> impl Iterator<Item = StateId> {
        self.gaps(key).filter(move |gap| self.state(*gap).writer != txn)
    }

    /// The installs over an absence of the key for which it is open which absence they replaced.
    #[inline]
    pub(crate) fn opens(&self, key: KeyId) -> &[StateId] {
        let Range { start, end } = self.facts[key.at()].opens;
        &self.opens[start as usize..end as usize]
    }

    /// Brings the states that these transactions make into the cache.
    fn touch(&self, txns: &Txns<'_>, ranks: Range<u32>) {
        let states = ranks.map(|rank| txns.first_state(Rank(rank)));
        let touch = |state: StateId| self.states.get(state.at()).map_or(0, |state| state.mark);
        std::hint::black_box(states.fold(0, |touched, state| touched ^ touch(state)));
    }

    /// Numbers the keys of a block. Single lookups would wait for memory most of the time; in loops that do nothing
    /// else the cache misses of dozens of lookups overlap.
    fn look_up(&mut self, block: &Block<'_>) {
        let Block { keys, .. } = block;
        std::hint::black_box(keys.iter().fold(0, |touched, (_, hash)| touched ^ self.keys.touch(*hash)));
        self.found.clear();
        self.found.extend(keys.iter().map(|&(key, hash)| Found { id: self.keys.intern(key, hash), hash }));
        self.serial.resize(self.keys.len());
        std::hint::black_box(
            self.found.iter().fold(0, |touched, found| touched ^ self.serial.touch(found.id)),
        );
    }

    /// Processes the steps of one transaction, and enters its installs.
    fn collect(
        &mut self,
        txns: &Txns<'_>,
        (rank, txn): (Rank, TxnId),
        (block, steps): (&Block<'_>, Range<usize>),
        flaws: &mut Vec<Flaw>,
    ) {
        self.serial.begin(rank);
        for &(at, step) in &block.done.steps[steps] {
            match step {
                Step::Read { seen, is_known_loaded } => {
                    let Found { id, .. } = self.found[at as usize];
                    if is_known_loaded {
                        self.serial.set(id, LOADED);
                    }
                    self.serial.read(id, seen);
                }
                Step::Write(to) => self.serial.write((self.found[at as usize].id, at), to),
                Step::Install(before, after) => {
                    let (key, _) = block.keys[at as usize];
                    let found = self.found[at as usize];
                    self.enter(txns, (rank, txn), (key, found), (before, after), flaws);
                }
                Step::Scan(nth) => self.scan(block, &block.ranges[nth as usize]),
            }
        }
        self.serial.end();
    }

    /// Enters a scan of the transaction: the scan must have returned the keys in its range that the transaction wrote
    /// itself. Keys that it did not return are not checked here.
    fn scan(&mut self, block: &Block<'_>, ranged: &Ranged<'_>) {
        if !self.serial.is_on() {
            return;
        }
        if ranged.has_absent_row {
            self.serial.doubt_this();
        }
        if let Some((low, high)) = ranged.scan.covered() {
            let steps = &block.done.steps[ranged.rows.start as usize..ranged.rows.end as usize];
            let rows = steps.iter().map(|&(at, _)| self.found[at as usize].id);
            self.serial.scan((low, high), rows, ranged.scan.is_forward);
            let is_missed = |at: u32| {
                let (key, _) = block.keys[at as usize];
                low <= key && key <= high && ranged.scan.rows().all(|(row, _)| row != key)
            };
            if self.serial.written().any(is_missed) {
                self.serial.doubt_this();
            }
        }
    }

    /// Enters an install of the transaction.
    fn enter(
        &mut self,
        txns: &Txns<'_>,
        (rank, txn): (Rank, TxnId),
        (key, Found { id, hash }): (Key<'_>, Found),
        (before, after): (Version, Version),
        flaws: &mut Vec<Flaw>,
    ) {
        let Writer::Txn(by, state) = txns.writer(after) else {
            return flaws.push(Flaw::new(FlawKind::ForeignInstall, txn, key, after));
        };
        let entry = &mut self.states[state.at()];
        if by != rank || entry.key != KeyId::NONE {
            let kind = if by == rank { FlawKind::DoubleInstall } else { FlawKind::ForeignInstall };
            return flaws.push(Flaw::new(kind, txn, key, after));
        }
        (entry.writer, entry.key, entry.mark) = (rank, id, mark(hash, after.is_absent()));
        if after.is_absent() {
            self.serial.set(id, DELETED);
            self.deletions.push((id, state));
        }
        let there = self.serial.install(id, before, (after, state));
        if before == Version::ABSENT || before.is_loaded() {
            self.roots.push(Root { key: id, state, is_over_loaded: before.is_loaded() });
        } else if let Some(replaced) = there.or_else(|| txns.writer(before).state())
            && before.txn() != txn
        {
            self.states[state.at()].before = replaced;
        } else {
            flaws.push(Flaw::new(FlawKind::BrokenChain, txn, key, before));
        }
    }

    /// Links two states: the second replaced the first.
    fn link(
        &mut self,
        txns: &Txns<'_>,
        before: StateId,
        after: StateId,
        writer: Rank,
        flaws: &mut Vec<Flaw>,
    ) {
        let replaced = &mut self.states[before.at()];
        if replaced.next == StateId::NONE {
            (replaced.next, replaced.next_writer) = (after, writer);
            self.states[after.at()].before = before;
            return;
        }
        let (next, other) = (replaced.next, replaced.next_writer);
        self.states[after.at()].before = StateId::NONE;
        let is_resurrected = self.state(next).is_tombstone() || self.state(after).is_tombstone();
        let kind = if is_resurrected { FlawKind::Resurrected } else { FlawKind::DoubleInstall };
        let key = self.states[after.at()].key;
        let flaw = Flaw::new(kind, txns.attempt(writer).id, self.keys.key(key), Version::ABSENT);
        flaws.push(flaw.with(txns.attempt(other).id));
    }

    /// Enters the installs over first states and over absences.
    fn root(&mut self, txns: &Txns<'_>, flaws: &mut Vec<Flaw>) {
        let mut roots = std::mem::take(&mut self.roots);
        for root in roots.iter().filter(|root| root.is_over_loaded) {
            self.serial.set(root.key, LOADED);
        }
        self.serial.settle_first();
        self.find_gaps(txns);
        // A key that was never deleted has at most one absence, so there is no choice.
        for &Root { key, state, is_over_loaded } in &roots {
            let writer = self.state(state).writer;
            if is_over_loaded {
                self.link(txns, self.first(key), state, writer, flaws);
            } else if !self.is_deleted(key) {
                if self.is_loaded(key) {
                    flaws.push(self.never_absent(txns, key, state));
                } else {
                    self.link(txns, self.first(key), state, writer, flaws);
                }
            }
        }
        roots.retain(|root| !root.is_over_loaded && self.is_deleted(root.key));
        self.by_key(&mut roots);
        let mut lists = Lists::default();
        for inserts in roots.chunk_by(|one, other| one.key == other.key) {
            self.follow(txns, inserts, &mut lists, flaws);
        }
        self.roots = roots;
        for gap in &mut self.gaps {
            let closer = self.states[gap.state.at()].next_writer;
            gap.to = if closer == Rank::NONE { u32::MAX } else { txns.writes_at(closer) };
            if gap.to < gap.from {
                self.serial.doubt(closer);
            }
        }
    }

    /// Groups the inserts by key, and keeps the order of the layout within a key.
    fn by_key(&self, roots: &mut Vec<Root>) {
        if roots.len() < FEW.max(self.keys.len() / 16) {
            return roots.sort_by_key(|root| root.key);
        }
        let Some(&any) = roots.first() else { return };
        let mut places = vec![0_u32; self.keys.len() + 1];
        for root in &*roots {
            places[root.key.at() + 1] += 1;
        }
        for key in 0..self.keys.len() {
            places[key + 1] += places[key];
        }
        let mut sorted = vec![any; roots.len()];
        for &root in &*roots {
            let place = &mut places[root.key.at()];
            sorted[*place as usize] = root;
            *place += 1;
        }
        *roots = sorted;
    }

    /// Lists the absences of the keys that were deleted: the first absence first, then in the order of the layout.
    fn find_gaps(&mut self, txns: &Txns<'_>) {
        for &(key, _) in &self.deletions {
            self.facts[key.at()].gaps.end += 1;
        }
        let mut start = 0;
        for (at, facts) in self.facts.iter_mut().enumerate().filter(|(_, facts)| facts.gaps.end > 0) {
            let has_first = !self.serial.has(KeyId(at as u32), LOADED);
            let count = facts.gaps.end + u32::from(has_first);
            facts.gaps = start..start;
            start += count;
            let first = StateId(self.versions + at as u32);
            let gap = Gap { state: first, writer: Rank::NONE, from: 0, to: 0 };
            self.gaps.resize(start as usize, gap);
            facts.gaps.end += u32::from(has_first);
        }
        for &(key, state) in &self.deletions {
            let writer = self.states[state.at()].writer;
            let range = &mut self.facts[key.at()].gaps;
            self.gaps[range.end as usize] = Gap { state, writer, from: txns.writes_at(writer) + 1, to: 0 };
            range.end += 1;
        }
    }

    /// Finds the absences that the inserts of a key replaced.
    fn follow(&mut self, txns: &Txns<'_>, inserts: &[Root], lists: &mut Lists, flaws: &mut Vec<Flaw>) {
        let key = inserts[0].key;
        let is_free = |gap: &StateId| self.state(*gap).next == StateId::NONE;
        lists.free.clear();
        lists.free.extend(self.gaps(key).filter(is_free));
        if let [insert] = inserts {
            // No install replaces an absence that follows from the install itself.
            let end = self.end(insert.state);
            lists.free.retain(|gap| *gap != end);
        }
        let free = &lists.free;
        if free.len() < inserts.len() {
            flaws.push(self.never_absent(txns, key, inserts[free.len()].state));
            return;
        }
        if let ([insert], [gap]) = (inserts, &free[..]) {
            self.link(txns, *gap, insert.state, self.state(insert.state).writer, flaws);
            return;
        }
        self.order(txns, inserts, lists);
        let Lists { lives, free, .. } = lists;
        let start = self.opens.len() as u32;
        self.opens.extend(inserts.iter().map(|root| root.state));
        for (life, &gap) in lives.iter().zip(&*free) {
            let next_writer = self.state(life.insert).writer;
            let absence = &mut self.states[gap.at()];
            (absence.next, absence.next_writer) = (life.insert, next_writer);
            absence.mark |= NEXT_GUESSED;
            let insert = &mut self.states[life.insert.at()];
            insert.before = gap;
            insert.mark |= BEFORE_GUESSED;
        }
        self.facts[key.at()].opens = start..self.opens.len() as u32;
    }

    /// Guesses the order of a key's lives, and sorts the absences that nobody is known to have ended so that each life
    /// follows the absence at the same index.
    fn order(&self, txns: &Txns<'_>, inserts: &[Root], lists: &mut Lists) {
        let Lists { free, lives, ends } = lists;
        let moment = |state: StateId| u64::from(txns.writes_at(self.state(state).writer));
        lives.clear();
        lives.extend(inserts.iter().map(|root| {
            let end = self.end(root.state);
            // A life that did not end is the last. The others are ordered by their middles, which are less disturbed
            // than their beginnings or their ends.
            let order = (!self.state(end).is_tombstone(), moment(root.state) + moment(end));
            Life { insert: root.state, end, order }
        }));
        lives.sort_by_key(|life| life.order);
        ends.clear();
        ends.extend(lives.iter().map(|life| life.end));
        ends.sort_unstable();
        // An absence in which none of the lives ended was before them all.
        let mut at = 0;
        for nth in 0..free.len() {
            if ends.binary_search(&free[nth]).is_err() {
                free.swap(at, nth);
                at += 1;
            }
        }
        let ends = lives.iter().map(|life| life.end).filter(|end| self.state(*end).is_tombstone());
        for (place, end) in free[at..].iter_mut().zip(ends) {
            *place = end;
        }
        for nth in 0..lives.len() {
            if free[nth] == lives[nth].end {
                free.swap(nth, if nth == 0 { 1 } else { nth - 1 });
            }
        }
    }

    /// The last state of the key that is known to follow this state.
    fn end(&self, mut state: StateId) -> StateId {
        let key = self.state(state).key;
        loop {
            let next = self.state(state).next;
            // Where chains of different keys are mixed up they may contain circles.
            if next == StateId::NONE || self.state(next).key != key {
                return state;
            }
            state = next;
        }
    }

    /// Sorts the keys of scanned tables.
    fn sort(&mut self) {
        let Self { keys, sorted, heads, ranges, scanned, places, .. } = self;
        sorted.clear();
        places.clear();
        heads.clear();
        ranges.clear();
        if scanned.is_empty() {
            return;
        }
        sorted.extend((0..keys.len() as u32).map(KeyId).filter(|&id| scanned.contains(&keys.table(id))));
        sorted.sort_unstable_by_key(|&id| keys.key(id));
        heads.extend(sorted.iter().map(|&id| keys.key(id).words.first().copied().unwrap_or_default()));
        let mut start = 0;
        for keys_of in sorted.chunk_by(|&one, &other| keys.table(one) == keys.table(other)) {
            ranges.push((keys.table(keys_of[0]), start..start + keys_of.len()));
            start += keys_of.len();
        }
        places.resize(keys.len(), u32::MAX);
        for (place, key) in sorted.iter().enumerate() {
            places[key.at()] = place as u32;
        }
        let others = places.iter_mut().filter(|place| **place == u32::MAX);
        for (place, other) in (sorted.len() as u32..).zip(others) {
            *other = place;
        }
    }

    /// The place of a key among the sorted keys; behind all of these if the key's table was never scanned.
    #[inline]
    pub(crate) fn place(&self, key: KeyId) -> u32 {
        if self.places.is_empty() { key.0 } else { self.places[key.at()] }
    }

    /// The range, among the sorted keys, of the keys from the low one to the high one.
    pub(crate) fn range(&self, low: Key<'_>, high: Key<'_>) -> Range<usize> {
        let of_table = self.ranges.iter().find(|(table, _)| *table == low.table);
        let Some((_, Range { start, end })) = of_table.cloned() else { return 0..0 };
        let (first, last) = [low, high].map(|key| key.words.first().copied().unwrap_or_default()).into();
        let heads = &self.heads[start..end];
        let from = start + heads.partition_point(|head| *head < first);
        // Most ranges are short, so the search for the end proceeds in growing steps.
        let mut reach = 16;
        while heads.get(from - start + reach).is_some_and(|head| *head <= last) {
            reach *= 4;
        }
        let near = &self.heads[from..end.min(from + reach)];
        let until = from + near.partition_point(|head| *head <= last);
        if low.words.len() <= 1 {
            return from..until;
        }
        let key = |&id: &KeyId| self.keys.key(id);
        let from = from + self.sorted[from..until].partition_point(|id| key(id) < low);
        from..from + self.sorted[from..until].partition_point(|id| key(id) <= high)
    }

    fn never_absent(&self, txns: &Txns<'_>, key: KeyId, state: StateId) -> Flaw {
        let writer = txns.attempt(self.state(state).writer).id;
        Flaw::new(FlawKind::NeverAbsent, writer, self.keys.key(key), Version::ABSENT)
    }
}
