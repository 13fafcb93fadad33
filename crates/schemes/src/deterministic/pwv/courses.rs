//! Writes that are seen before their transactions end: the runs of the transactions of a batch, the values that they
//! have exposed, and the transactions that depend on them.
//!
//! Each place of the batch has a course. An exposed value is in its version, which is lent until it is sealed, or until
//! the value is withdrawn: a transaction may have several runs, and a reader of a value that one of them exposed
//! depends on that run.
//!
//! INVARIANTS
//! (1) The count of a course is even during a run. It is one more when the transaction has ended with this run, and at
//!     least two more when the run was withdrawn. It never falls.
//! (2) A value is exposed once a run, and not written again in this run ([`Run::count`]): it is the value that is
//!     sealed if the run becomes final.
//! (3) A reader asks for the count of a course while it holds the loan of a version. The run that lent it is withdrawn
//!     only afterwards: so this is the run on which the reader depends, unless the count says that it has become final.

use engine::Abort;
use parts::version_chain::{Chained, Stamped};
use parts::{Numbered, Own, OwnVersions};
use storage::{Slot, VersionRef};
use sync::Padded;
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;

use super::plants;

/// The courses of the transactions of a batch, by place: their counts, invariant (1).
#[derive(Debug)]
pub struct Courses(Box<[Padded<AtomicU64>]>);

/// The growth of a course's count when its run has become final; when its run was withdrawn and another one follows;
/// and when it was withdrawn and none follows.
const ENDS: u64 = 1;
const RUNS_AGAIN: u64 = 2;
const ENDS_WITHDRAWN: u64 = 3;

/// An attempt's run of a transaction.
#[derive(Debug, Default)]
pub struct Run {
    /// The place, and the count of its course.
    course: Option<(usize, u64)>,
    /// How often each placeholder was written.
    written: Vec<u32>,
    /// Placeholders that are written for the last time, and not exposed yet.
    due: Vec<usize>,
    /// The places and counts of the runs that it depends on.
    depends: Vec<(usize, u64)>,
    is_decided: bool,
}

impl Run {
    /// Whether the run depends on others.
    #[inline]
    pub fn has_dependencies(&self) -> bool {
        !self.depends.is_empty()
    }

    /// Records that there will be no rollback.
    #[inline]
    pub fn decide(&mut self) {
        self.is_decided = true;
    }

    /// Records that the procedure has returned: all writes are the last ones, and there will be no rollback.
    pub fn finish<S: Chained>(&mut self, own: &OwnVersions<'_, S>) {
        self.is_decided = true;
        self.due.clear();
        self.due.extend((0..self.written.len()).filter(|at| own.is_written(*at)));
    }

    /// Counts a write of a version of the attempt's own, which is at this position.
    ///
    /// # Errors
    /// When the version is exposed already: the footprint was wrong.
    #[inline]
    pub fn count<S: Chained>(&mut self, at: usize, own: &mut Own<'_, S>) -> Result<(), Abort> {
        // Versions other than placeholders are never exposed.
        let Some(times) = self.written.get_mut(at) else { return Ok(()) };
        let exposes_first = is_planted(&plants::PWV_EXPOSES_FIRST_WRITE);
        if *times > 0 && own.version.is_lent() {
            if !exposes_first {
                return Err(Abort::Footprint);
            }
            own.version.end_loan();
        }
        *times += 1;
        if own.foreseen == Some(*times) || exposes_first {
            self.due.push(at);
        }
        Ok(())
    }

    // ANCHOR: expose
    /// Exposes the placeholders that are due, if there will be no rollback.
    #[inline]
    pub fn expose<S: Chained>(&mut self, own: &mut OwnVersions<'_, S>) {
        while self.is_decided
            && let Some(at) = self.due.pop()
        {
            own.get(at).version.lend();
        }
    }
    // ANCHOR_END: expose
}

impl Courses {
    /// Makes courses for batches of at most `places` places.
    pub fn new(places: usize) -> Self {
        Self((0..places).map(|_| Padded::default()).collect())
    }

    /// Begins a run of the transaction at a place, with this many placeholders; without a place, a run that never
    /// exposes anything.
    #[inline]
    pub fn begin(&self, run: &mut Run, place: Option<usize>, placeholders: usize) {
        run.written.clear();
        run.due.clear();
        run.depends.clear();
        run.is_decided = false;
        run.course = place.map(|place| (place, self.enter(place)));
        if place.is_some() {
            run.written.resize(placeholders, 0);
        }
    }

    /// Copies the value that is exposed in a version, and returns whether there is one. From now on, the run depends on
    /// the run of the version's writer. `None` if the version is not exposed.
    pub fn borrow<'db, S: Chained>(
        &self,
        run: &mut Run,
        slot: &Slot<'db, S>,
        version: VersionRef<'db, S>,
        copy: &mut Vec<u64>,
    ) -> Option<bool> {
        let loan = slot.loan(version)?;
        let stamp = version.meta().stamp();
        let place = Numbered::place_of(stamp.number());
        let count = self.0[place].load(Ordering::Relaxed); // Relaxed: invariant (3).
        let is_final = count & ENDS != 0;
        if !is_final && !run.depends.contains(&(place, count)) {
            run.depends.push((place, count));
        }
        copy.clear();
        copy.extend_from_slice(loan.words());
        Some(!stamp.is_tombstone())
    }

    /// Whether all runs on which this one depends have become final; `None` if that is not known yet.
    #[inline]
    pub fn verdict(&self, run: &Run) -> Option<bool> {
        let mut verdict = Some(true);
        for &(place, count) in &run.depends {
            // Acquire: pairs with the Release in `leave`.
            match self.0[place].load(Ordering::Acquire) - count {
                0 => verdict = None,
                ENDS => {}
                _ => return Some(false),
            }
        }
        verdict
    }

    /// Ends a run that has become final. Its versions are sealed.
    #[inline]
    pub fn end(&self, run: &mut Run) {
        if let Some((place, count)) = run.course.take() {
            self.leave(place, count + ENDS);
        }
    }

    /// Withdraws the values that the run has exposed; `runs_again` says whether another run follows.
    pub fn withdraw<S: Chained>(&self, run: &mut Run, own: &mut OwnVersions<'_, S>, runs_again: bool) {
        let Some((place, count)) = run.course.take() else { return };
        (0..run.written.len()).for_each(|at| own.get(at).version.end_loan());
        let ends = if is_planted(&plants::PWV_WITHDRAWS_NOTHING) { ENDS } else { ENDS_WITHDRAWN };
        self.leave(place, count + if runs_again { RUNS_AGAIN } else { ends });
    }

    /// Begins a run of the transaction at a place, and returns its count.
    fn enter(&self, place: usize) -> u64 {
        // Relaxed, both: only its transaction changes the count of a course, and a reader that finds a version lent by
        // this run sees the store.
        let count = self.0[place].load(Ordering::Relaxed);
        let is_new = count & ENDS != 0;
        if is_new {
            self.0[place].store(count + 1, Ordering::Relaxed);
        }
        count + u64::from(is_new)
    }

    /// Ends a run.
    fn leave(&self, place: usize, count: u64) {
        // Release: pairs with the Acquire in `verdict`.
        self.0[place].store(count, Ordering::Release);
    }
}
