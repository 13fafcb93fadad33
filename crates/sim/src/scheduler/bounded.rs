//! One schedule of an exhaustive search over all with at most so many preemptions (Musuvathi and Qadeer,
//! Iterative context bounding for systematic testing of multithreaded programs, PLDI 2007).
//!
//! Preemptions are what the bound counts; a switch away from a worker that ended or stepped aside is free, but
//! the search branches over who comes next. Not branched over is what makes no difference: who looks first while
//! all look in vain, and whether a preemption comes before a fence or behind it. What a fair schedule would
//! not choose is left out, or who spins could be chosen for ever.

use super::Turns;

/// The stack of a depth-first search: what was chosen at each point where there was a choice.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    points: Vec<Point>,
}

/// A point where one of `of` was chosen, the one at `at`.
#[derive(Debug, Clone, Copy)]
struct Point {
    at: u8,
    of: u8,
}

impl Stack {
    /// Goes on to the next schedule; false when there is none.
    pub(crate) fn advance(&mut self) -> bool {
        while let Some(point) = self.points.last_mut() {
            point.at += 1;
            if point.at < point.of {
                return true;
            }
            self.points.pop();
        }
        false
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Bounded {
    stack: Stack,
    /// Points passed.
    passed: usize,
    /// Preemptions that are left.
    left: u32,
}

impl Bounded {
    pub(crate) fn new(stack: Stack, preemptions: u32) -> Self {
        Self { stack, passed: 0, left: preemptions }
    }

    /// What was chosen, also in an exploration that failed.
    pub(crate) fn into_stack(mut self) -> Stack {
        self.stack.points.truncate(self.passed);
        self.stack
    }

    pub(crate) fn choose(&mut self, turns: &Turns) -> usize {
        if let [only] = *turns.ready() {
            return only;
        }
        let goes_on = turns.goes_on();
        if turns.is_quiet() || turns.is_at_fence() || (goes_on && self.left == 0) {
            return turns.plainest();
        }
        // In the order of the circle, behind the running worker if that goes on.
        let others = turns.fair().filter(|&worker| worker != turns.running());
        let (others_count, first) = (others.clone().count(), usize::from(goes_on));
        if others_count == 0 {
            return turns.plainest();
        }
        let at = self.pass(first + others_count);
        if at < first {
            return turns.running();
        }
        self.left -= u32::from(goes_on);
        // The one at a place among few: the one with so many before it.
        let before =
            |worker| others.clone().filter(|&other| turns.distance(other) < turns.distance(worker)).count();
        others.clone().find(|&worker| before(worker) == at - first).expect("every place is somebody's")
    }

    /// What is chosen at the next point, one of `of`.
    fn pass(&mut self, of: usize) -> usize {
        if of == 1 {
            return 0;
        }
        if self.passed == self.stack.points.len() {
            self.stack.points.push(Point { at: 0, of: u8::try_from(of).expect("a search has few workers") });
        }
        let point = self.stack.points[self.passed];
        assert_eq!(
            usize::from(point.of),
            of,
            "a search needs a body that does the same under the same choices"
        );
        self.passed += 1;
        usize::from(point.at)
    }
}
