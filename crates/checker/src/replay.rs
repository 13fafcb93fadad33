//! Plays a window of a history again, to find out which absences its transactions met.
//!
//! Edges that are certain decide the order of some transactions; the rest of the order is free. So the transactions of
//! the window are executed one by one. A transaction may come once all that must come before it are done and once the
//! keys that it found absent are absent. Among those that may come, the first in the layout is taken, but transactions
//! that change no key's presence come as soon as they can. If no transaction can go on because a key was inserted too
//! early, the insert has to wait for the transaction that found the key absent, and the play starts again; if the key
//! was inserted before the window, that transaction met the absence before that insert.
//!
//! Which absence an insert ended is either taken from the layout, or open as well: then the insert comes once its key
//! is absent, and has ended the absence that the deletion before it left.
//!
//! This finds orders where the layout is nearly right, as when a thread was delayed between two steps of a commit. It
//! does not try every order: a failure to find an order proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use stdx::history::Op;

use crate::keys::KeyId;
use crate::level::Level;
use crate::reading::{Reading, Text};
use crate::txns::{Rank, StateId, Writer};
use crate::walk::{Choice, Chosen, Edge};

/// The largest number of rounds; each round makes one insert wait or finds one earlier absence.
const ROUNDS_MAX: usize = 256;
/// The largest number of states of a key that a search back to an absence visits.
const LIFE_MAX: usize = 1_000;
/// The largest number of ready steps that are looked at.
const AHEAD_MAX: usize = 64;

/// The index of a key that a transaction in the window inserts or deletes.
type Moving = u32;

/// A step of a transaction: all of it, or only its reads or its writes if these are at different moments.
#[derive(Default)]
struct Step {
    /// The absences that it found.
    absences: Vec<(Moving, Choice)>,
    /// The keys that it deletes or inserts.
    changes: Vec<Change>,
    /// The steps that must come later.
    later: Vec<u32>,
    /// The number of steps that must come before.
    waits: u32,
    /// The moment of the step in the layout.
    moment: u32,
    /// The invocation and the response of its transaction, if real time counts: the step comes before all that were
    /// invoked after its response, and after all that responded before its invocation.
    real_time: Option<(u64, u64)>,
}

/// A deletion or an insert of a key.
#[derive(Clone, Copy)]
struct Change {
    moving: Moving,
    /// The absence that a deletion makes; `None` for an insert.
    to: Option<StateId>,
    /// The state that it replaces, as far as that is known or guessed, and whether that state is an absence.
    before: StateId,
    is_over_absence: bool,
    /// The state that it installs, if it is open which absence that state replaces.
    open: StateId,
}

impl Change {
    /// Whether the change is possible in the key's current state `now`. The replacement of values follows from the
    /// chains.
    fn fits(&self, text: Text<'_, '_>, now: Option<StateId>) -> bool {
        if !self.is_over_absence {
            return true;
        }
        let is_left = |gap| text.chains.state(gap).known_next() == StateId::NONE;
        now.is_some_and(|gap| if self.open == StateId::NONE { gap == self.before } else { is_left(gap) })
    }
}

/// Whether the key's current state `now` can answer the choice.
fn meets(choice: &Choice, now: Option<StateId>) -> bool {
    match choice.what {
        Chosen::Seen { known, .. } if known != StateId::NONE => now == Some(known),
        _ => now.is_some(),
    }
}

/// A window to be played.
pub(crate) struct Play<'s, 'h> {
    text: Text<'s, 'h>,
    first: Rank,
    last: Rank,
    is_split: bool,
    /// Whether it is open which absences inserts replaced.
    is_free: bool,
    steps: Vec<Step>,
    moving: BTreeMap<KeyId, Moving>,
    /// The states of these keys at the beginning of the window.
    start: Vec<Start>,
    /// Absences from before the window that transactions in the window met.
    earlier: Vec<(Choice, StateId)>,
}

/// The state of a key before the window.
#[derive(Clone, Copy)]
struct Start {
    state: StateId,
    is_absent: bool,
    /// Whether even that state was made in the window, and the moment at which it is changed.
    until: (bool, u32),
}

/// The result of a round.
enum Round {
    Done(Reading),
    /// The first step has to come before the second.
    Wait(u32, u32),
    /// This step met the absence with this index before the window.
    Earlier(u32, usize),
    Stuck,
}

impl<'s, 'h> Play<'s, 'h> {
    /// The window from `first` to `last`, with its certain edges and its open choices. If `is_free` is true, it is also
    /// open which absences inserts replaced.
    pub(crate) fn new(
        text: Text<'s, 'h>,
        level: Level,
        (first, last): (Rank, Rank),
        certain: impl Iterator<Item = Edge>,
        choices: &[Choice],
        is_free: bool,
    ) -> Self {
        let is_split = level == Level::SnapshotIsolation;
        let count = (last.at() - first.at() + 1) * if is_split { 2 } else { 1 };
        let steps = (0..count).map(|_| Step::default()).collect();
        let (moving, start, earlier) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut play = Self { text, first, last, is_split, is_free, steps, moving, start, earlier };
        for rank in (first.0..=last.0).map(Rank) {
            play.lay_out(rank, level);
        }
        for edge in certain {
            let (from, to) = if edge.kind.is_rw() {
                (play.reads(edge.from), play.writes(edge.to))
            } else {
                (play.writes(edge.from), play.reads(edge.to))
            };
            play.order(from, to);
        }
        for choice in choices {
            if let Chosen::Seen { known, .. } = choice.what
                && (is_free || known == StateId::NONE)
                && let Some(&moving) = play.moving.get(&choice.key)
            {
                let step = play.reads(choice.txn);
                play.steps[step as usize].absences.push((moving, *choice));
            }
        }
        play
    }

    fn reads(&self, rank: Rank) -> u32 {
        (rank.0 - self.first.0) * if self.is_split { 2 } else { 1 }
    }

    fn writes(&self, rank: Rank) -> u32 {
        self.reads(rank) + u32::from(self.is_split)
    }

    fn order(&mut self, from: u32, to: u32) {
        self.steps[from as usize].later.push(to);
        self.steps[to as usize].waits += 1;
    }

    /// Enters the steps of a transaction, and the changes that they make.
    fn lay_out(&mut self, rank: Rank, level: Level) {
        let Text { txns, chains } = self.text;
        let (reads, writes) = (self.reads(rank), self.writes(rank));
        self.steps[reads as usize].moment = txns.reads_at(rank);
        self.steps[writes as usize].moment = txns.writes_at(rank);
        let attempt = txns.attempt(rank);
        if reads != writes {
            self.order(reads, writes);
        }
        if level == Level::StrictlySerializable {
            self.steps[reads as usize].real_time = Some((attempt.invoked, attempt.responded));
            if let Some(before) = txns.before(rank).filter(|before| (self.first..=self.last).contains(before))
            {
                self.order(self.writes(before), reads);
            }
        }
        for op in attempt.ops() {
            let Op::Install { after, .. } = op else { continue };
            let Writer::Txn(_, state) = txns.writer(after) else { continue };
            let installed = chains.state(state);
            let (before, is_guess) = installed.before();
            let is_over_absence = is_guess || chains.is_absence(before);
            let change = after.is_absent().then_some(state);
            if change.is_none() && !is_over_absence {
                continue;
            }
            let moving = *self.moving.entry(installed.key).or_insert(self.start.len() as Moving);
            let open = if is_guess { state } else { StateId::NONE };
            self.steps[writes as usize].changes.push(Change {
                moving,
                to: change,
                before,
                is_over_absence,
                open,
            });
            let was = self.start(before, txns.writes_at(rank));
            // The state that the first change of a key replaces is the key's state at the start.
            match self.start.get_mut(moving as usize) {
                None => self.start.push(was),
                Some(first) if was.until < first.until => *first = was,
                Some(_) => {}
            }
        }
    }

    /// The state of a key before the window, if the key is in state `before` when it is changed at `moment`. The order
    /// of responses may differ from the order of the commits, so that a deletion may come before the insert that it
    /// deletes.
    fn start(&self, before: StateId, moment: u32) -> Start {
        let chains = self.text.chains;
        let mut state = before;
        for _ in 0..LIFE_MAX {
            if state == StateId::NONE {
                break;
            }
            let is_inside = (self.first..=self.last).contains(&chains.state(state).writer);
            let is_absent = chains.is_absence(state);
            if is_absent || !is_inside {
                return Start { state, is_absent, until: (is_inside, moment) };
            }
            state = chains.state(state).before().0;
        }
        Start { state: before, is_absent: false, until: (true, moment) }
    }

    /// A reading of the window in which it can be played.
    pub(crate) fn find(mut self) -> Option<Reading> {
        for _ in 0..ROUNDS_MAX {
            match self.round() {
                Round::Done(reading) => return Some(reading),
                Round::Wait(first, second) => self.order(first, second),
                Round::Earlier(step, absence) => {
                    let (moving, choice) = self.steps[step as usize].absences.remove(absence);
                    self.earlier.push((choice, self.absence_before(moving)?));
                }
                Round::Stuck => return None,
            }
        }
        None
    }

    fn round(&self) -> Round {
        let mut now: Vec<Option<StateId>> =
            self.start.iter().map(|start| start.is_absent.then_some(start.state)).collect();
        let mut changed_by: Vec<u32> = vec![u32::MAX; now.len()];
        let mut answers: Vec<(u32, StateId)> = Vec::new();
        let mut replaced: Vec<(StateId, StateId)> = Vec::new();
        let mut waits: Vec<u32> = self.steps.iter().map(|step| step.waits).collect();
        let place = |step: u32| (self.steps[step as usize].moment, step);
        let first = (0..self.steps.len() as u32).filter(|step| waits[*step as usize] == 0);
        let mut ready: BTreeSet<(u32, u32)> = first.map(place).collect();
        let timed = (0..).zip(&self.steps).filter_map(|(nth, step)| Some((step.real_time?.1, nth)));
        let mut responses: BTreeSet<(u64, u32)> = timed.collect();
        for _ in 0..self.steps.len() {
            let earliest = responses.first().map_or(u64::MAX, |first| first.0);
            let may = |step: &Step| {
                step.real_time.is_none_or(|(invoked, _)| invoked <= earliest)
                    && step.absences.iter().all(|(moving, choice)| meets(choice, now[*moving as usize]))
                    && (!self.is_free
                        || step.changes.iter().all(|c| c.fits(self.text, now[c.moving as usize])))
            };
            let ahead = || ready.iter().take(AHEAD_MAX).map(|&(_, nth)| (nth, &self.steps[nth as usize]));
            let harmless = ahead().find(|(_, step)| step.changes.is_empty() && may(step));
            let Some((nth, step)) = harmless.or_else(|| ahead().find(|(_, step)| may(step))) else {
                return self.blocked(&ready, earliest, &now, &changed_by);
            };
            ready.remove(&place(nth));
            if let Some((_, responded)) = step.real_time {
                responses.remove(&(responded, nth));
            }
            let met =
                step.absences.iter().map(|(moving, _)| now[*moving as usize].expect("it was just looked at"));
            answers.extend(met.map(|gap| (nth, gap)));
            for &Change { moving, to, open, .. } in &step.changes {
                if let Some(gap) = now[moving as usize].filter(|_| open != StateId::NONE) {
                    replaced.push((open, gap));
                }
                now[moving as usize] = to;
                changed_by[moving as usize] = nth;
            }
            for &later in &step.later {
                waits[later as usize] -= 1;
                if waits[later as usize] == 0 {
                    ready.insert(place(later));
                }
            }
        }
        Round::Done(self.reading(&answers, &replaced))
    }

    /// The reading in which steps met the absences in `answers`, one for each absence of the step, and inserts replaced
    /// the absences in `replaced`.
    fn reading(&self, answers: &[(u32, StateId)], replaced: &[(StateId, StateId)]) -> Reading {
        let mut reading = Reading::default();
        for (choice, gap) in &self.earlier {
            reading.say(choice, *gap);
        }
        if self.is_free {
            reading.replaced.extend(replaced.iter().copied());
        }
        for met in answers.chunk_by(|one, other| one.0 == other.0) {
            for (&(_, gap), (_, choice)) in met.iter().zip(&self.steps[met[0].0 as usize].absences) {
                reading.say(choice, gap);
            }
        }
        reading
    }

    /// The last absence of the key before its value at the start of the window.
    fn absence_before(&self, moving: Moving) -> Option<StateId> {
        let chains = self.text.chains;
        let mut state = self.start[moving as usize].state;
        for _ in 0..LIFE_MAX {
            if state == StateId::NONE || chains.is_absence(state) {
                break;
            }
            state = chains.state(state).before().0;
        }
        (state != StateId::NONE && chains.is_absence(state)).then_some(state)
    }

    /// No step can go on: the step that inserted a key too early has to wait.
    fn blocked(
        &self,
        ready: &BTreeSet<(u32, u32)>,
        earliest: u64,
        now: &[Option<StateId>],
        changed_by: &[u32],
    ) -> Round {
        let mut earlier = None;
        let mut wait: Option<(i64, u32, u32)> = None;
        // A step that was least late in the layout is the likeliest to have come before.
        let mut add = |first: u32, second: u32| {
            let late = |step: u32| i64::from(self.steps[step as usize].moment);
            let candidate = (late(first) - late(second), first, second);
            if wait.is_none_or(|best| candidate < best) {
                wait = Some(candidate);
            }
        };
        for &(_, nth) in ready {
            let step = &self.steps[nth as usize];
            if step.real_time.is_some_and(|(invoked, _)| invoked > earliest) {
                continue;
            }
            for (absence, (moving, choice)) in step.absences.iter().enumerate() {
                let changed_by = changed_by[*moving as usize];
                if meets(choice, now[*moving as usize]) || changed_by == nth {
                    continue;
                }
                if changed_by != u32::MAX {
                    add(nth, changed_by);
                    continue;
                }
                let is_open = matches!(choice.what, Chosen::Seen { known: StateId::NONE, .. });
                if is_open && !self.start[*moving as usize].is_absent {
                    earlier = earlier.or(Some(Round::Earlier(nth, absence)));
                }
            }
            for change in step.changes.iter().filter(|_| self.is_free) {
                let (moving, changed_by) = (change.moving as usize, changed_by[change.moving as usize]);
                if changed_by != u32::MAX && changed_by != nth && !change.fits(self.text, now[moving]) {
                    add(nth, changed_by);
                }
            }
        }
        if let Some((_, first, second)) = wait {
            return Round::Wait(first, second);
        }
        earlier.unwrap_or(Round::Stuck)
    }
}
