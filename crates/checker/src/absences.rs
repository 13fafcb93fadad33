//! Finds out which absence was meant, where a key was absent more than once and the history does not say.
//!
//! A history is as good as its best reading. The first reading is the guess that follows the layout. Mostly the level
//! allows that reading: then that is proof. If not, four things are tried. First, cycles over edges that all readings
//! share are violations. Second, playing the surroundings of a cycle again may find another reading (`replay`). Third,
//! another layout may have a first reading that is allowed, or that can be played: that is proof, too, whatever the
//! layout rests on. Fourth, the choices of the transactions on forbidden cycles are searched, and all other choices are
//! left out: leaving out edges can only hide a cycle, so if every combination of answers leaves a cycle, every reading
//! does. If a combination without a cycle is found, all other choices are read as before; if that brings new cycles,
//! their choices join the search. The search ends with a good reading, with the proof that there is none, or, in long
//! histories, when it has cost too much: then the answer is "undecided".

use std::collections::BTreeSet;
use std::ops::Range;

use crate::Answer;
use crate::chains::Chains;
use crate::cover::{Covered, cover};
use crate::cycles::{Cycle, Stretch};
use crate::flaws::Flaw;
use crate::keys::KeyId;
use crate::level::Level;
use crate::reading::{Reading, Text};
use crate::replay::Play;
use crate::txns::{Rank, StateId, Txns};
use crate::walk::{Choice, Chosen, Edge, Sink, Walk};

/// In histories of at most this many transactions a search sees all of them.
const WHOLE_MAX: usize = 20_000;
/// In longer histories a search sees this many transactions on both sides of a bad window; the larger number is tried
/// if the smaller does not suffice.
const MARGINS: [u32; 2] = [32, 5_000];
/// The numbers of transactions on both sides of a window that are played with it.
const PLAY_MARGINS: [u32; 3] = [0, 64, 512];
/// The edges and choices that all searches together may look at, with repetitions, before they give up.
const WORK_MAX: usize = 1 << 25;
/// The largest number of choices of one search.
const CHOICES_MAX: usize = 2_000;
/// The largest number of rounds: the answers of one round may bring new cycles elsewhere.
const ROUNDS_MAX: usize = 64;

/// A window of neighbours in the layout: the edges between them, and their open choices.
struct Gathered {
    first: Rank,
    last: Rank,
    edges: Vec<Edge>,
    choices: Vec<Choice>,
}

impl Gathered {
    fn has(&self, edge: &Edge) -> bool {
        [edge.from, edge.to].iter().all(|end| (self.first..=self.last).contains(end))
    }
}

impl Sink for Gathered {
    fn edge(&mut self, edge: Edge) {
        if self.has(&edge) {
            self.edges.push(edge);
        }
    }

    fn choice(&mut self, choice: Choice) {
        self.choices.push(choice);
    }

    fn flaw(&mut self, _: Flaw) {}

    fn hole(&mut self) {}

    fn enter(&mut self, _: Rank) {}

    fn asks(&mut self, range: Range<usize>, asked: &mut Vec<u32>) {
        asked.extend(range.start as u32..range.end as u32);
    }
}

/// The result of a search.
enum Searched<'s, 'h> {
    /// The stretch has cycles that every reading has.
    Certain(Stretch<'s, 'h>),
    /// No reading is free of forbidden cycles.
    Impossible,
    /// This reading may be free of forbidden cycles.
    Found(Reading),
    /// The search costs too much.
    GivenUp,
}

/// The result for a history.
pub(crate) struct Settled {
    pub(crate) answer: Answer,
    pub(crate) cycles: Vec<Cycle>,
    pub(crate) flaws: Vec<Flaw>,
}

/// The quality of a reading.
pub(crate) struct Look {
    flaws: Vec<Flaw>,
    holes: usize,
    /// The windows that have cycles which the level forbids.
    bad: Vec<Window>,
    /// The other windows, in order, each with its cycles that the level permits.
    good: Vec<(Window, Vec<Cycle>)>,
}

/// The first and the last rank of a window of neighbours.
type Window = (Rank, Rank);

impl Look {
    /// The number of transactions in windows with forbidden cycles.
    pub(crate) fn badness(&self) -> usize {
        self.bad.iter().map(|(from, to)| to.at() - from.at() + 1).sum()
    }
}

/// Searches for a reading that the level allows.
pub(crate) struct Solver<'s, 'h> {
    text: Text<'s, 'h>,
    level: Level,
}

impl<'s, 'h> Solver<'s, 'h> {
    pub(crate) const fn new(txns: &'s Txns<'h>, chains: &'s Chains, level: Level) -> Self {
        Self { text: Text { txns, chains }, level }
    }

    /// The number of edges that go against the layout.
    pub(crate) fn against(&self) -> usize {
        cover(self.text, &Reading::default()).against
    }

    /// Looks at the first reading; returns `None` if `is_worth_it` refuses the number of transactions in its windows.
    pub(crate) fn first(&self, is_worth_it: impl Fn(usize) -> bool) -> Option<Look> {
        let reading = Reading::default();
        let covered = cover(self.text, &reading);
        let held_together = covered.windows.iter().map(|(from, to)| to.at() - from.at() + 1).sum();
        is_worth_it(held_together).then(|| self.look(&reading, covered, &[]))
    }

    /// Looks at all windows except those that are known to be good still.
    fn look(&self, reading: &Reading, covered: Covered, known: &[(Window, Vec<Cycle>)]) -> Look {
        let Covered { windows, all, flaws, holes, .. } = covered;
        let mut look = Look { flaws, holes, bad: Vec::new(), good: Vec::new() };
        let is_one = windows == all;
        // The strictest level permits no cycle at all.
        let shows_beyond = self.level != Level::StrictlySerializable;
        for &(from, to) in &windows {
            if let Ok(at) = known.binary_search_by_key(&(from, to), |(window, _)| *window) {
                look.good.push(known[at].clone());
                continue;
            }
            let stretch = self.read(&self.gather(from, to), reading);
            if stretch.violates(self.level) {
                look.bad.push((from, to));
            } else {
                let cycles = if is_one && shows_beyond { stretch.cycles() } else { Vec::new() };
                look.good.push(((from, to), cycles));
            }
        }
        if !is_one && shows_beyond && look.bad.is_empty() {
            for &(from, to) in &all {
                look.good.push(((from, to), self.read(&self.gather(from, to), reading).cycles()));
            }
        }
        look
    }

    /// The answer of the best reading, and the cycles that it has; `None` if that takes a search and `may_search` is
    /// false.
    pub(crate) fn settle(&self, first: Look, may_search: bool) -> Option<Settled> {
        let mut reading = Reading::default();
        let Look { flaws, holes, mut bad, mut good } = first;
        let mut work = WORK_MAX;
        for _ in 0..ROUNDS_MAX {
            let (mut found, mut cycles) = (Vec::new(), Vec::new());
            let (mut is_violated, mut is_open) = (false, false);
            for &(from, to) in &bad {
                let gathered = self.gather(from, to);
                let stretch = self.read(&gathered, &reading);
                let mut searched = self.replay((from, to), &gathered, &reading);
                if matches!(searched, Searched::GivenUp) {
                    if !may_search {
                        return None;
                    }
                    searched = self.search((from, to), &stretch, &reading, &mut work);
                }
                match searched {
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
            }
            if is_violated || is_open || found.is_empty() {
                let is_known = !is_open && holes == 0;
                let answer = if is_known { Answer::Holds } else { Answer::Undecided };
                let answer = if is_violated { Answer::Violated } else { answer };
                cycles.extend(good.into_iter().flat_map(|(_, cycles)| cycles));
                return Some(Settled { answer, cycles, flaws });
            }
            for better in found {
                // Windows about which the better reading says nothing are unchanged.
                good.retain(|((from, to), _)| {
                    let about = better.seen.range((*from, KeyId(0))..=(*to, KeyId::NONE));
                    better.keys.is_empty() && about.count() == 0
                });
                self.text.adopt(&mut reading, &better);
            }
            Look { bad, good, .. } = self.look(&reading, cover(self.text, &reading), &good);
        }
        may_search.then(|| Settled { answer: Answer::Undecided, cycles: Vec::new(), flaws })
    }

    fn gather(&self, first: Rank, last: Rank) -> Gathered {
        let gathered =
            Gathered { first, last, edges: Vec::with_capacity(32), choices: Vec::with_capacity(8) };
        let mut walk = Walk::new(self.text.txns, self.text.chains, gathered);
        (first.0..=last.0).for_each(|rank| walk.visit(Rank(rank)));
        walk.into_sink()
    }

    /// The stretch under a reading.
    fn read(&self, gathered: &Gathered, reading: &Reading) -> Stretch<'s, 'h> {
        let chosen = gathered.choices.iter().flat_map(|choice| {
            let gap = self.text.answer(reading, choice);
            self.text.edges(choice, gap, self.text.closer(reading, choice.key, gap))
        });
        self.stretch(gathered, chosen)
    }

    /// The stretch with only those choices that the reading answers itself.
    fn read_only(&self, gathered: &Gathered, reading: &Reading) -> Stretch<'s, 'h> {
        let chosen = gathered.choices.iter().filter_map(|choice| {
            let gap = reading.own_answer(choice)?;
            let chosen = || reading.closers.get(&gap).copied().unwrap_or(StateId::NONE);
            let known = self.text.chains.state(gap).known_next();
            let closer = if known == StateId::NONE { chosen() } else { known };
            Some(self.text.edges(choice, gap, closer))
        });
        self.stretch(gathered, chosen.flatten())
    }

    fn stretch(&self, gathered: &Gathered, chosen: impl Iterator<Item = Edge>) -> Stretch<'s, 'h> {
        let chosen = chosen.filter(|edge| gathered.has(edge));
        let edges = gathered.edges.iter().copied().chain(chosen);
        Stretch::new(self.text.txns, (gathered.first, gathered.last), edges)
    }

    /// Searches for answers to the open choices around a window with forbidden cycles by playing the window again.
    fn replay(&self, (from, to): (Rank, Rank), inside: &Gathered, reading: &Reading) -> Searched<'s, 'h> {
        let certain = self.read_only(inside, &Reading::default());
        if certain.violates(self.level) {
            return Searched::Certain(certain);
        }
        let end = Rank(self.text.txns.len() as u32 - 1);
        for is_free in [false, true] {
            for margin in PLAY_MARGINS {
                let first = Rank(from.0.saturating_sub(margin));
                let last = end.min(Rank(to.0.saturating_add(margin)));
                if let Some(found) = self.play(&self.gather(first, last), reading, is_free) {
                    return Searched::Found(found);
                }
            }
        }
        Searched::GivenUp
    }

    /// The same search, by trying all answers.
    fn search(
        &self,
        (from, to): (Rank, Rank),
        window: &Stretch<'s, 'h>,
        reading: &Reading,
        work: &mut usize,
    ) -> Searched<'s, 'h> {
        let end = Rank(self.text.txns.len() as u32 - 1);
        if self.text.txns.len() <= WHOLE_MAX {
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

    /// Plays the window again. If `is_free` is true, inserts may end other absences than before. A reading that is
    /// returned has no forbidden cycle in the window.
    fn play(&self, inside: &Gathered, reading: &Reading, is_free: bool) -> Option<Reading> {
        let Gathered { first, last, edges, choices } = inside;
        let placed = choices.iter().filter(|choice| {
            !is_free && (matches!(choice.what, Chosen::Replaced(_)) || reading.own_answer(choice).is_some())
        });
        let placed = placed.flat_map(|choice| {
            let gap = self.text.answer(reading, choice);
            self.text.edges(choice, gap, self.text.closer(reading, choice.key, gap))
        });
        let certain = edges.iter().copied().chain(placed.filter(|edge| inside.has(edge)));
        let found = Play::new(self.text, self.level, (*first, *last), certain, choices, is_free).find()?;
        let found = self.text.complete(found, reading)?;
        let mut whole = reading.clone();
        self.text.adopt(&mut whole, &found);
        (!self.read(inside, &whole).violates(self.level)).then_some(found)
    }

    /// The same search, in which only the transactions from `first` to `last` are seen.
    fn search_around(
        &self,
        (from, (first, last)): (Rank, (Rank, Rank)),
        window: &Stretch<'s, 'h>,
        reading: &Reading,
        work: &mut usize,
    ) -> Searched<'s, 'h> {
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
            self.text.adopt(&mut whole, &trial);
            let stretch = self.read(&around, &whole);
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
    /// Whether an absence was left out because its transactions are outside the part of the history that the search
    /// sees.
    is_partial: bool,
    work: &'a mut usize,
}

impl Asked<'_, '_, '_> {
    /// Adds the choices of bad transactions; `first` is the rank of the first element of `is_bad`. For an install, it
    /// also adds the other installs of the same key. False if there are no new choices, too many, or some outside the
    /// part of the history that the search sees.
    fn ask(&mut self, is_bad: &[bool], first: Rank) -> bool {
        let before = self.choices.len();
        let is_bad = |txn: Rank| {
            txn.0.checked_sub(first.0).and_then(|n| is_bad.get(n as usize)).copied().unwrap_or_default()
        };
        let chains = self.solver.text.chains;
        let mut keys = BTreeSet::new();
        let is_install = |choice: &Choice| matches!(choice.what, Chosen::Replaced(_));
        for choice in self.around.choices.iter().filter(|choice| is_bad(choice.txn) && is_install(choice)) {
            keys.insert(choice.key);
        }
        let mut missing: usize = keys.iter().map(|&key| chains.opens(key).len()).sum();
        let mut known: BTreeSet<(Rank, KeyId, bool)> = self.choices.iter().map(named).collect();
        for choice in &self.around.choices {
            let is_of_keys = is_install(choice) && keys.contains(&choice.key);
            missing -= usize::from(is_of_keys);
            // For a known absence only its end is open, which follows from the installs of the key.
            let is_open = !matches!(choice.what, Chosen::Seen { known, .. } if known != StateId::NONE);
            if (is_of_keys || is_open && is_bad(choice.txn)) && known.insert(named(choice)) {
                self.choices.push(*choice);
            }
        }
        // Installs come first: the absences that they replaced decide which absences reads can have seen.
        self.choices.sort_by_key(|choice| !is_install(choice));
        missing == 0 && (before + 1..=CHOICES_MAX).contains(&self.choices.len())
    }

    /// The keys of the installs among the choices.
    fn keys(&self) -> BTreeSet<KeyId> {
        let installs = self.choices.iter().filter(|choice| matches!(choice.what, Chosen::Replaced(_)));
        installs.map(|choice| choice.key).collect()
    }

    /// Answers the choices from the `nth` one on, so that the answers make no forbidden cycle. Returns whether that is
    /// possible; `None` if it costs too much to know.
    fn choose(&mut self, trial: &mut Reading, reading: &Reading, nth: usize) -> Option<bool> {
        let Some(&choice) = self.choices.get(nth) else { return Some(true) };
        let Text { chains, .. } = self.solver.text;
        let usual = self.solver.text.answer(reading, &choice);
        let others = chains.gaps_of_others(choice.key, choice.txn).filter(|gap| *gap != usual);
        for gap in std::iter::once(usual).chain(others) {
            let state = chains.state(gap);
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
            trial.say(&choice, gap);
            *self.work = self.work.checked_sub(self.around.edges.len() + self.around.choices.len() + 1)?;
            let stretch = self.solver.read_only(self.around, trial);
            if !stretch.violates(self.solver.level) && self.choose(trial, reading, nth + 1)? {
                return Some(true);
            }
            trial.unsay(&choice, gap);
        }
        Some(false)
    }
}

/// The identity of a choice.
const fn named(choice: &Choice) -> (Rank, KeyId, bool) {
    (choice.txn, choice.key, matches!(choice.what, Chosen::Replaced(_)))
}
