//! Which absence was meant, where a key was absent more than once and nobody says.
//!
//! A history is as good as its best reading. The first reading is the guess that follows the order of
//! responses, and mostly it is one that the level allows: then that is proof. If not, three things are tried.
//! Cycles over edges that all readings share are violations. Otherwise the choices of transactions on
//! forbidden cycles are searched, the others' left out: leaving out edges can only hide a cycle, so if every
//! way to choose leaves one, every reading does. If a way to choose is found, the others are read as before; if
//! that brings new cycles, their choices join the search. It ends with a good reading, with the proof that there
//! is none, or, in long histories, when it has cost too much: then the answer is that nobody knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::Answer;
use crate::chains::{Chains, Open};
use crate::cycles::{Cycle, Stretch};
use crate::flaws::Flaw;
use crate::keys::KeyId;
use crate::level::Level;
use crate::txns::{Rank, StateId, Txns};
use crate::walk::{Choice, Chosen, Edge, EdgeKind, Sink, Walk};

/// Up to so many transactions a search sees all of them.
const WHOLE_MAX: usize = 20_000;
/// In longer histories it sees so many on both sides of what is wrong, more if that does not do.
const MARGINS: [u32; 2] = [32, 5_000];
/// Edges and transactions that searches may look at, over and over, before they give up.
const WORK_MAX: usize = 1 << 28;
/// Choices of one search.
const CHOICES_MAX: usize = 2_000;
/// How often answers may bring new questions elsewhere.
const ROUNDS_MAX: usize = 64;

/// Which absences were meant, as far as that was searched; the rest follows the order of responses.
#[derive(Clone, Default)]
struct Reading {
    answers: BTreeMap<(Rank, u32), StateId>,
    /// What replaced an absence, for the keys below.
    closers: BTreeMap<StateId, StateId>,
    keys: BTreeSet<KeyId>,
}

/// Some neighbours in the order of responses: the edges between them, and what they leave open.
struct Gathered {
    first: Rank,
    last: Rank,
    edges: Vec<Edge>,
    choices: Vec<Choice>,
}

impl Sink for Gathered {
    fn edge(&mut self, edge: Edge) {
        if [edge.from, edge.to].iter().all(|end| (self.first..=self.last).contains(end)) {
            self.edges.push(edge);
        }
    }

    fn choice(&mut self, choice: Choice) {
        self.choices.push(choice);
    }

    fn flaw(&mut self, _: Flaw) {}

    fn hole(&mut self) {}
}

/// Finds which neighbours edges against the order of responses hold together.
struct Cover<'s, 'h> {
    solver: &'s Solver<'s, 'h>,
    reading: &'s Reading,
    /// How many such edges more go past a transaction than past the one before.
    steps: Vec<i32>,
    flaws: Vec<Flaw>,
    holes: usize,
}

impl Sink for Cover<'_, '_> {
    #[inline]
    fn edge(&mut self, edge: Edge) {
        if edge.from > edge.to {
            self.steps[edge.to.at()] += 1;
            self.steps[edge.from.at()] -= 1;
        }
    }

    fn choice(&mut self, choice: Choice) {
        let gap = self.solver.answer(self.reading, &choice);
        let closer = self.solver.closer(self.reading, choice.key, gap);
        for edge in self.solver.edges(&choice, gap, closer) {
            self.edge(edge);
        }
    }

    fn flaw(&mut self, flaw: Flaw) {
        self.flaws.push(flaw);
    }

    fn hole(&mut self) {
        self.holes += 1;
    }
}

/// What a search came to.
enum Searched {
    /// Cycles that every reading has are here.
    Certain(Stretch),
    /// No reading is free of forbidden cycles.
    Impossible,
    /// This one may be.
    Found(Reading),
    /// It costs too much to know.
    GivenUp,
}

/// What was found out about a history.
pub(crate) struct Settled {
    pub(crate) answer: Answer,
    pub(crate) cycles: Vec<Cycle>,
    pub(crate) flaws: Vec<Flaw>,
}

/// Looks for a reading that the level allows.
pub(crate) struct Solver<'s, 'h> {
    txns: &'s Txns<'h>,
    chains: &'s Chains<'h>,
    level: Level,
}

impl<'s, 'h> Solver<'s, 'h> {
    pub(crate) const fn new(txns: &'s Txns<'h>, chains: &'s Chains<'h>, level: Level) -> Self {
        Self { txns, chains, level }
    }

    /// The best reading's answer, and the cycles that it has.
    pub(crate) fn settle(&self) -> Settled {
        let mut reading = Reading::default();
        let mut first = self.cover(&reading);
        let flaws = std::mem::take(&mut first.flaws);
        let (holes, mut windows) = (first.holes, windows(&first.steps));
        let settled = |answer, cycles| Settled { answer, cycles, flaws };
        let mut work = WORK_MAX;
        for _ in 0..ROUNDS_MAX {
            let (mut cycles, mut found) = (Vec::new(), Vec::new());
            let (mut is_violated, mut is_open) = (false, false);
            for &(from, to) in &windows {
                let gathered = self.gather(from, to);
                let stretch = self.read(&gathered, &reading, true);
                if stretch.violates(self.level) {
                    match self.search((from, to), &stretch, &reading, &mut work) {
                        Searched::Certain(stretch) => {
                            is_violated = true;
                            cycles.extend(stretch.cycles());
                        }
                        Searched::Impossible => {
                            is_violated = true;
                            cycles.extend(stretch.cycles());
                        }
                        Searched::Found(better) => found.push(better),
                        Searched::GivenUp => is_open = true,
                    }
                } else {
                    cycles.extend(stretch.cycles());
                }
            }
            if is_violated {
                return settled(Answer::Violated, cycles);
            }
            if is_open || found.is_empty() {
                let is_known = !is_open && holes == 0;
                return settled(if is_known { Answer::Holds } else { Answer::Undecided }, cycles);
            }
            for better in found {
                self.adopt(&mut reading, better);
            }
            windows = self::windows(&self.cover(&reading).steps);
        }
        settled(Answer::Undecided, Vec::new())
    }

    fn cover<'r>(&'r self, reading: &'r Reading) -> Cover<'r, 'h> {
        let steps = vec![0; self.txns.len() + 1];
        let cover = Cover { solver: self, reading, steps, flaws: Vec::new(), holes: 0 };
        let mut walk = Walk::new(self.txns, self.chains, cover);
        self.txns.all().for_each(|rank| walk.visit(rank));
        walk.into_sink()
    }

    fn gather(&self, first: Rank, last: Rank) -> Gathered {
        let gathered = Gathered { first, last, edges: Vec::new(), choices: Vec::new() };
        let mut walk = Walk::new(self.txns, self.chains, gathered);
        (first.0..=last.0).for_each(|rank| walk.visit(Rank(rank)));
        walk.into_sink()
    }

    /// The stretch as the reading has it: with all choices, or with those only that it answers itself.
    fn read(&self, gathered: &Gathered, reading: &Reading, is_complete: bool) -> Stretch {
        let mut edges = Gathered { edges: gathered.edges.clone(), choices: Vec::new(), ..*gathered };
        for choice in &gathered.choices {
            let (gap, closer) = if is_complete {
                let gap = self.answer(reading, choice);
                (gap, self.closer(reading, choice.key, gap))
            } else {
                let Some(&gap) = reading.answers.get(&(choice.txn, choice.nth)) else { continue };
                let chosen = || reading.closers.get(&gap).copied().unwrap_or(StateId::NONE);
                let known = self.chains.state(gap).known_next();
                (gap, if known == StateId::NONE { chosen() } else { known })
            };
            self.edges(choice, gap, closer).for_each(|edge| edges.edge(edge));
        }
        Stretch::new(gathered.first, gathered.last, &edges.edges, self.txns)
    }

    /// The edges of a choice: between the deletion that made the absence, who met it, and who ended it.
    fn edges(&self, choice: &Choice, gap: StateId, closer: StateId) -> impl Iterator<Item = Edge> + use<> {
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

    /// Which absence the reading takes.
    fn answer(&self, reading: &Reading, choice: &Choice) -> StateId {
        if let Some(&answer) = reading.answers.get(&(choice.txn, choice.nth)) {
            return answer;
        }
        match choice.what {
            Chosen::Replaced(state) => {
                let mut opens = self.chains.opens(choice.key).iter();
                opens.find(|open| open.insert == state).expect("it is open").guess
            }
            Chosen::Seen { known: StateId::NONE, .. } => self.nearest(reading, choice),
            Chosen::Seen { known, .. } => known,
        }
    }

    /// The absence that agrees best with the order of responses, of those that began about then.
    fn nearest(&self, reading: &Reading, choice: &Choice) -> StateId {
        let gaps = self.chains.gaps_in_order(choice.key);
        // Rank::NONE, which the first one has, becomes zero.
        let later = gaps.partition_point(|gap| gap.writer.0.wrapping_add(1) <= choice.txn.0 + 1);
        let against = |gap: StateId| {
            let closer = self.closer(reading, choice.key, gap);
            let edges = self.edges(choice, gap, closer);
            edges.map(|edge| u64::from(edge.from.0.saturating_sub(edge.to.0))).sum::<u64>()
        };
        let near = gaps[later.saturating_sub(3)..gaps.len().min(later + 2)].iter();
        let of_others = near.filter(|gap| gap.writer != choice.txn).map(|gap| gap.state);
        of_others.min_by_key(|&gap| against(gap)).expect("there are at least two to choose from")
    }

    /// What replaced an absence, in the reading.
    fn closer(&self, reading: &Reading, key: KeyId, gap: StateId) -> StateId {
        let state = self.chains.state(gap);
        if state.known_next() == StateId::NONE && reading.keys.contains(&key) {
            return reading.closers.get(&gap).copied().unwrap_or(StateId::NONE);
        }
        state.next
    }

    /// Takes a better reading over.
    fn adopt(&self, reading: &mut Reading, better: Reading) {
        for &key in &better.keys {
            for gap in self.chains.gaps(key) {
                reading.closers.remove(&gap);
            }
        }
        reading.answers.extend(better.answers);
        reading.closers.extend(better.closers);
        reading.keys.extend(better.keys);
    }

    /// Looks for answers to what is open around a window with forbidden cycles.
    fn search(
        &self,
        (from, to): (Rank, Rank),
        window: &Stretch,
        reading: &Reading,
        work: &mut usize,
    ) -> Searched {
        let inside = self.gather(from, to);
        let certain = self.read(&inside, &Reading::default(), false);
        if certain.violates(self.level) {
            return Searched::Certain(certain);
        }
        let end = Rank(self.txns.len() as u32 - 1);
        if self.txns.len() <= WHOLE_MAX {
            return self.search_around((from, (Rank(0), end)), window, reading, work);
        }
        for margin in MARGINS {
            let around = (Rank(from.0.saturating_sub(margin)), end.min(Rank(to.0.saturating_add(margin))));
            let searched = self.search_around((from, around), window, reading, work);
            if !matches!(searched, Searched::GivenUp) {
                return searched;
            }
        }
        Searched::GivenUp
    }

    /// The same, seeing the transactions around from a first to a last.
    fn search_around(
        &self,
        (from, (first, last)): (Rank, (Rank, Rank)),
        window: &Stretch,
        reading: &Reading,
        work: &mut usize,
    ) -> Searched {
        let around = self.gather(first, last);
        let mut asked = Asked { solver: self, around: &around, choices: Vec::new(), is_partial: false, work };
        let mut bad = window.on_forbidden_cycles(self.level);
        let mut bad_from = from;
        loop {
            if !asked.ask(&bad, bad_from) {
                return Searched::GivenUp;
            }
            let mut trial = Reading { keys: asked.keys(), ..Reading::default() };
            match asked.choose(&mut trial, reading, 0) {
                None => return Searched::GivenUp,
                Some(false) if asked.is_partial => return Searched::GivenUp,
                Some(false) => return Searched::Impossible,
                Some(true) => {}
            }
            let mut whole = reading.clone();
            self.adopt(&mut whole, trial.clone());
            let stretch = self.read(&around, &whole, true);
            if !stretch.violates(self.level) {
                return Searched::Found(trial);
            }
            (bad, bad_from) = (stretch.on_forbidden_cycles(self.level), first);
        }
    }
}

/// The choices of one search.
struct Asked<'a, 's, 'h> {
    solver: &'a Solver<'s, 'h>,
    around: &'a Gathered,
    choices: Vec<Choice>,
    /// Whether an absence was left out because the search does not see so far.
    is_partial: bool,
    work: &'a mut usize,
}

impl Asked<'_, '_, '_> {
    /// Adds the choices of these transactions, the first of which has that rank; of installs those of the same
    /// key, too. False if there are none, too many, or some that the search does not see.
    fn ask(&mut self, is_bad: &[bool], first: Rank) -> bool {
        let before = self.choices.len();
        let is_bad = |txn: Rank| {
            txn.0.checked_sub(first.0).and_then(|n| is_bad.get(n as usize)).copied().unwrap_or_default()
        };
        let chains = self.solver.chains;
        let mut wanted: BTreeSet<(Rank, u32)> = BTreeSet::new();
        let mut keys = BTreeSet::new();
        for choice in self.around.choices.iter().filter(|choice| is_bad(choice.txn)) {
            wanted.insert((choice.txn, choice.nth));
            if matches!(choice.what, Chosen::Replaced(_)) {
                keys.insert(choice.key);
            }
        }
        let installs = |key| chains.opens(key).iter().map(|open: &Open| open.insert);
        let mut missing: usize = keys.iter().map(|&key| installs(key).count()).sum();
        for choice in &self.around.choices {
            if matches!(choice.what, Chosen::Replaced(_)) && keys.contains(&choice.key) {
                wanted.insert((choice.txn, choice.nth));
                missing -= 1;
            }
        }
        for choice in &self.choices {
            wanted.remove(&(choice.txn, choice.nth));
        }
        let is_wanted = |choice: &&Choice| wanted.contains(&(choice.txn, choice.nth));
        self.choices.extend(self.around.choices.iter().filter(is_wanted));
        // What installs replaced says what reads can have seen.
        self.choices.sort_by_key(|choice| matches!(choice.what, Chosen::Seen { .. }));
        missing == 0 && (before + 1..=CHOICES_MAX).contains(&self.choices.len())
    }

    /// The keys whose installs are asked for.
    fn keys(&self) -> BTreeSet<KeyId> {
        let installs = self.choices.iter().filter(|choice| matches!(choice.what, Chosen::Replaced(_)));
        installs.map(|choice| choice.key).collect()
    }

    /// Answers the choices from this one on, so that those answered make no forbidden cycle. Whether that can
    /// be done; none if it costs too much to know.
    fn choose(&mut self, trial: &mut Reading, reading: &Reading, nth: usize) -> Option<bool> {
        let Some(&choice) = self.choices.get(nth) else { return Some(true) };
        let usual = self.solver.answer(reading, &choice);
        let all = self.solver.chains.gaps_of_others(choice.key, choice.txn);
        let is_known = matches!(choice.what, Chosen::Seen { known, .. } if known != StateId::NONE);
        let others = all.filter(|gap| *gap != usual && !is_known);
        for gap in std::iter::once(usual).chain(others) {
            let state = self.solver.chains.state(gap);
            let is_install = matches!(choice.what, Chosen::Replaced(_));
            if is_install && (state.known_next() != StateId::NONE || trial.closers.contains_key(&gap)) {
                continue;
            }
            let seen = self.around.first..=self.around.last;
            let closer = if state.known_next() == StateId::NONE { Rank::NONE } else { state.next_writer };
            if [state.writer, closer].iter().any(|end| *end != Rank::NONE && !seen.contains(end)) {
                self.is_partial = true;
                continue;
            }
            trial.answers.insert((choice.txn, choice.nth), gap);
            if let Chosen::Replaced(insert) = choice.what {
                trial.closers.insert(gap, insert);
            }
            *self.work = self.work.checked_sub(self.around.edges.len() + self.around.choices.len() + 1)?;
            let stretch = self.solver.read(self.around, trial, false);
            if !stretch.violates(self.solver.level) && self.choose(trial, reading, nth + 1)? {
                return Some(true);
            }
            trial.answers.remove(&(choice.txn, choice.nth));
            if is_install {
                trial.closers.remove(&gap);
            }
        }
        Some(false)
    }
}

/// The neighbours that edges against the order hold together: each cycle lies within one window, since it
/// goes back past every transaction that it goes forward past.
fn windows(steps: &[i32]) -> Vec<(Rank, Rank)> {
    let mut windows = Vec::new();
    let (mut open, mut start) = (0, 0);
    for (at, step) in steps.iter().enumerate() {
        if open == 0 && *step > 0 {
            start = at as u32;
        }
        let was = open;
        open += step;
        if was > 0 && open == 0 {
            windows.push((Rank(start), Rank(at as u32)));
        }
    }
    windows
}
