//! One schedule of an exhaustive search over all schedules with a bounded number of preemptions (Musuvathi and Qadeer,
//! Iterative context bounding for systematic testing of multithreaded programs, PLDI 2007).
//!
//! The bound counts preemptions. A switch away from a worker that ended or stepped aside is free, but the search
//! branches over the worker that comes next. The search does not branch where the choice makes no difference: over the
//! worker that looks first while all look in vain, and over a preemption before a fence instead of behind it. Choices
//! that a fair schedule would not make are left out, since a worker that spins could be chosen for ever.

use super::Turns;

/// The stack of a depth-first search: the choice made at each point where there was one.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    points: Vec<Point>,
}

/// A point with `of` alternatives, of which number `at` was chosen.
#[derive(Debug, Clone, Copy)]
struct Point {
    at: u8,
    of: u8,
}

impl Stack {
    /// Advances to the next schedule; returns false when there is none.
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
    /// The number of points passed.
    passed: usize,
    /// The number of preemptions that are left.
    left: u32,
}

impl Bounded {
    pub(crate) fn new(stack: Stack, preemptions: u32) -> Self {
        Self { stack, passed: 0, left: preemptions }
    }

    /// The choices that were made, also in an exploration that failed.
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
        // The alternatives: first the running worker if it goes on, then the others in the order of the circle.
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
        // The worker at an index is the worker with that many others before it; there are few of them.
        let before =
            |worker| others.clone().filter(|&other| turns.distance(other) < turns.distance(worker)).count();
        others.clone().find(|&worker| before(worker) == at - first).expect("every place is somebody's")
    }

    /// The index chosen at the next point, among `of` alternatives.
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
