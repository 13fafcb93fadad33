//! An exhaustive search over all schedules with a bounded number of preemptions.

use crate::scheduler::bounded::{Bounded, Stack};
use crate::scheduler::chooser::Chooser;
use crate::{Exploration, Explorer, Origin};

/// A depth-first search over all schedules with a bounded number of preemptions (Musuvathi and Qadeer, PLDI 2007). Most
/// defects show with two preemptions. With a bound the number of schedules is a polynomial of the length of the
/// program: about `(choices * workers) ^ preemptions`, times the number of orders in which other workers can follow
/// those that end or step aside.
///
/// The schedules that it leaves out make no difference, with one exception: a worker that has stepped aside twice while
/// another could have run is not chosen again before that one has run. The same holds for a worker that has made a
/// thousand steps while others waited.
///
/// ```
/// use sim::Search;
/// use sync_sim::atomic::{AtomicU64, Ordering};
/// use sync_sim::workers;
///
/// let mut search = Search::bounded(1);
/// while let Some(explored) = search.run(|| {
///     let sum = AtomicU64::new(0);
///     // Relaxed: steps are sequentially consistent.
///     workers::run(2, false, |_| sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
///     sum.into_inner()
/// }) {
///     if explored.outcome.is_ok_and(|sum| sum == 1) {
///         println!("an update is lost under {}", explored.schedule);
///     }
/// }
/// assert_eq!((search.tried(), search.is_exhausted()), (6, true));
/// ```
#[derive(Debug)]
pub struct Search {
    preemptions_max: u32,
    steps_max: u64,
    cap: u64,
    tried: u64,
    stack: Stack,
    is_exhausted: bool,
}

impl Search {
    /// A search over all schedules with at most `preemptions_max` preemptions.
    pub fn bounded(preemptions_max: u32) -> Self {
        Self {
            preemptions_max,
            steps_max: Explorer::STEPS_MAX,
            cap: u64::MAX,
            tried: 0,
            stack: Stack::default(),
            is_exhausted: false,
        }
    }

    /// Ends the search after `cap` schedules, if it has not ended before.
    #[must_use]
    pub fn cap(self, cap: u64) -> Self {
        Self { cap, ..self }
    }

    /// Bounds each exploration to `steps_max` steps, in place of [`Explorer::STEPS_MAX`].
    #[must_use]
    pub fn steps_max(self, steps_max: u64) -> Self {
        Self { steps_max, ..self }
    }

    /// Runs `body` under the next schedule; `None` when there is no other, or the cap is reached. The body must do the
    /// same under the same choices. A failure does not end the search.
    pub fn run<R>(&mut self, body: impl FnOnce() -> R) -> Option<Exploration<R>> {
        if self.is_exhausted || self.tried == self.cap {
            return None;
        }
        let bounded = Bounded::new(core::mem::take(&mut self.stack), self.preemptions_max);
        let (explored, chooser) =
            Explorer::under(Chooser::Bounded(bounded), self.steps_max, &Origin::Search, body);
        if let Chooser::Bounded(bounded) = chooser {
            self.stack = bounded.into_stack();
        }
        self.tried += 1;
        self.is_exhausted = !self.stack.advance();
        Some(explored)
    }

    /// The number of schedules that were tried.
    pub fn tried(&self) -> u64 {
        self.tried
    }

    /// Whether there is no other schedule within the bound.
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }
}
