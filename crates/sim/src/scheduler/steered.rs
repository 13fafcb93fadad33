//! The scheduler: the turns, the chooser of the next worker, and the record of the choices.

use std::cell::RefCell;

use sync_sim::hook::{Access, NOBODY, Scheduler};

use super::Turns;
use super::chooser::Chooser;
use crate::schedule::{Recorder, Schedule};
use crate::{Cause, Trace};

/// See the module.
#[derive(Debug)]
pub(crate) struct Steered(RefCell<State>);

#[derive(Debug)]
struct State {
    turns: Turns,
    chooser: Chooser,
    recorder: Recorder,
}

impl Steered {
    pub(crate) fn new(chooser: Chooser, steps_max: u64) -> Self {
        Self(RefCell::new(State { turns: Turns::new(steps_max), chooser, recorder: Recorder::default() }))
    }

    /// The trace, the cause if it was given up, the schedule and the chooser of an exploration, after its end.
    pub(crate) fn into_parts(self) -> (Trace, Option<Cause>, Schedule, Chooser) {
        let State { turns, chooser, mut recorder } = self.0.into_inner();
        (turns.trace(), turns.given_up().map(|(cause, _)| *cause), recorder.take(), chooser)
    }
}

impl State {
    #[inline]
    fn choose(&mut self) -> usize {
        if self.turns.given_up().is_some() {
            return NOBODY;
        }
        let next = self.chooser.choose(&self.turns);
        if self.turns.count() > 1 {
            self.recorder.note(&self.turns, next);
        }
        self.turns.run(next)
    }
}

impl Scheduler for Steered {
    fn begin(&self, count: usize) -> usize {
        let state = &mut *self.0.borrow_mut();
        state.turns.begin(count);
        state.chooser.begin(&state.turns);
        if count > 1 {
            state.recorder.begin();
        }
        state.choose()
    }

    fn step(&self, access: Access, _address: usize, _bytes: usize, _stack: usize) -> usize {
        let state = &mut *self.0.borrow_mut();
        state.turns.step(access);
        state.choose()
    }

    fn end(&self) -> Option<usize> {
        let state = &mut *self.0.borrow_mut();
        state.turns.end();
        (!state.turns.ready().is_empty()).then(|| state.choose())
    }

    fn reason(&self) -> String {
        self.0.borrow().turns.given_up().map_or_else(String::new, |(_, says)| says.clone())
    }

    fn changes_rarely(&self, begins: bool) {
        let State { turns, chooser, .. } = &mut *self.0.borrow_mut();
        chooser.changes_rarely(turns, begins);
    }

    fn now_ns(&self) -> u64 {
        self.0.borrow_mut().turns.read_clock()
    }
}
