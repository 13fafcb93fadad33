//! Writes that are seen before their transactions end: the values that the transactions of a batch have exposed, and
//! the transactions that depend on them.
//!
//! Each place of the batch has a course. An exposed value is a copy there, until the version is sealed. It may be
//! withdrawn: a transaction may have several runs, and a reader of a value that one of them exposed depends on that
//! run.
//!
//! INVARIANTS
//! (1) The count of a course is even during a run. It is one more when the transaction has ended with this run, and at
//!     least two more when the run was withdrawn. It never falls.
//! (2) A value is exposed once a run, and not written again in this run ([`Run::count`]): it is the value that is
//!     sealed if the run becomes final.
//! (3) An exposed value is found, and withdrawn, under the latch of its course, so that no transaction depends on a
//!     withdrawn run without being told so by [`Courses::verdict`].

use engine::{Abort, AccessSet};
use parts::version_chain::{Chained, Stamped, VersionStamp};
use parts::{Numbered, OwnVersions, WordRange, WriteBuffer};
use storage::{Meta, RecordRef, VersionRef};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Latched, Padded, hint};

/// The metadata of a version.
#[derive(Debug, Default)]
pub struct EarlyStamp {
    stamp: VersionStamp,
    /// Whether its course has the version's value, although the version is not sealed.
    is_exposed: AtomicBool,
}

impl Meta for EarlyStamp {
    fn reset(&self) {
        self.stamp.reset();
        self.is_exposed.store(false, Ordering::Relaxed); // Relaxed: publishing the version orders it.
    }

    #[inline]
    fn copy_final(&self, to: &Self) -> bool {
        self.stamp.copy_final(&to.stamp)
    }
}

impl Stamped for EarlyStamp {
    #[inline]
    fn stamp(&self) -> &VersionStamp {
        &self.stamp
    }
}

impl EarlyStamp {
    /// Whether there is a value to [borrow](Courses::borrow), if the version is not sealed.
    #[inline]
    pub fn is_exposed(&self) -> bool {
        self.is_exposed.load(Ordering::Acquire) // Acquire: pairs with the Release in `set_exposed`.
    }

    /// Sets whether the value is exposed; for the holder of the course's latch.
    fn set_exposed(&self, is_exposed: bool) {
        self.is_exposed.store(is_exposed, Ordering::Release); // Release: pairs with the Acquire in `is_exposed`.
    }
}

/// The courses of the transactions of a batch, by place.
#[derive(Debug)]
pub struct Courses(Box<[Padded<Course>]>);

/// The shared state of a transaction that has not ended.
#[derive(Debug, Default)]
struct Course {
    /// Invariant (1).
    count: AtomicU64,
    exposed: Latched<Exposed>,
}

/// The values that the present run has exposed.
#[derive(Debug, Default)]
struct Exposed {
    /// By record.
    values: AccessSet<Option<WordRange>>,
    words: WriteBuffer,
}

impl Exposed {
    fn clear(&mut self) {
        self.values.clear();
        self.words.clear();
    }
}

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
    /// By placeholder.
    written: Vec<Written>,
    /// Placeholders that are written for the last time, and not exposed yet.
    due: Vec<usize>,
    /// The places and counts of the runs that it depends on.
    depends: Vec<(usize, u64)>,
    is_decided: bool,
}

/// The writes of a run to a placeholder.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    times: u32,
    is_exposed: bool,
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
        let is_left = |at: &usize| own.is_written(*at) && !self.written[*at].is_exposed;
        self.due.extend((0..self.written.len()).filter(is_left));
    }

    /// Counts a write of a version of the attempt's own. `foreseen` is the expected number of writes.
    ///
    /// # Errors
    /// When the version is exposed already: the footprint was wrong.
    #[inline]
    pub fn count(&mut self, at: usize, foreseen: Option<u32>) -> Result<(), Abort> {
        // Versions other than placeholders are never exposed.
        let Some(written) = self.written.get_mut(at) else { return Ok(()) };
        if written.is_exposed {
            return Err(Abort::Footprint);
        }
        written.times += 1;
        if foreseen == Some(written.times) {
            self.due.push(at);
        }
        Ok(())
    }
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
        run.course = place.map(|place| (place, self.0[place].enter()));
        if place.is_some() {
            run.written.resize(placeholders, Written::default());
        }
    }

    /// Exposes the placeholders that are due, if there will be no rollback.
    #[inline]
    pub fn expose<S: Chained<Version = EarlyStamp>>(&self, run: &mut Run, own: &mut OwnVersions<'_, S>) {
        if run.is_decided && !run.due.is_empty() {
            self.expose_due(run, own);
        }
    }

    // ANCHOR: expose
    fn expose_due<S: Chained<Version = EarlyStamp>>(&self, run: &mut Run, own: &mut OwnVersions<'_, S>) {
        let Some((place, _)) = run.course else { return };
        let mut exposed = self.0[place].exposed.lock();
        for at in run.due.drain(..) {
            let value = own.words(at).map(|words| exposed.words.push_copy(words));
            if let Some(value) = value {
                hint::writes(exposed.words.get(value));
            }
            let own = own.get(at);
            exposed.values.push(own.record.id(), value);
            own.version.version().meta().set_exposed(true);
            run.written[at].is_exposed = true;
        }
    }
    // ANCHOR_END: expose

    /// Copies the value of a record that is exposed for this version, and returns whether there is one. From now on,
    /// the run depends on the run of the version's writer. `None` if the value was withdrawn just now.
    pub fn borrow<S: Chained<Version = EarlyStamp>>(
        &self,
        run: &mut Run,
        record: RecordRef<'_, S>,
        version: VersionRef<'_, S>,
        copy: &mut Vec<u64>,
    ) -> Option<bool> {
        let place = Numbered::place_of(version.meta().stamp.number());
        let course = &self.0[place];
        let exposed = course.exposed.lock();
        // Invariant (3).
        if !version.meta().is_exposed() {
            return None;
        }
        let at = exposed.values.find(record.id()).expect("a course has what is exposed");
        // Acquire: pairs with the Release in `leave`, since the version may have been sealed meanwhile.
        let count = course.count.load(Ordering::Acquire) & !ENDS;
        if !run.depends.contains(&(place, count)) {
            run.depends.push((place, count));
        }
        let value = *exposed.values.get(at);
        if let Some(value) = value {
            copy.clear();
            hint::reads(exposed.words.get(value));
            copy.extend_from_slice(exposed.words.get(value));
        }
        Some(value.is_some())
    }

    /// Whether all runs on which this one depends have become final; `None` if that is not known yet.
    #[inline]
    pub fn verdict(&self, run: &Run) -> Option<bool> {
        let mut verdict = Some(true);
        for &(place, count) in &run.depends {
            // Acquire: pairs with the Release in `leave`.
            match self.0[place].count.load(Ordering::Acquire) - count {
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
            self.0[place].leave(count + ENDS);
        }
    }

    /// Withdraws the values that the run has exposed; `runs_again` says whether another run follows.
    pub fn withdraw<S: Chained<Version = EarlyStamp>>(
        &self,
        run: &mut Run,
        own: &mut OwnVersions<'_, S>,
        runs_again: bool,
    ) {
        let Some((place, count)) = run.course.take() else { return };
        let mut exposed = self.0[place].exposed.lock();
        for at in (0..run.written.len()).filter(|at| run.written[*at].is_exposed) {
            own.get(at).version.version().meta().set_exposed(false);
        }
        exposed.clear();
        self.0[place].leave(count + if runs_again { RUNS_AGAIN } else { ENDS_WITHDRAWN });
    }
}

impl Course {
    /// Begins a run, and returns its count.
    fn enter(&self) -> u64 {
        // Relaxed, both: only its transaction changes the count of a course, and nobody knows of the run yet.
        let count = self.count.load(Ordering::Relaxed);
        if count & ENDS == 0 {
            return count;
        }
        // The values of the last batch.
        self.exposed.lock().clear();
        self.count.store(count + 1, Ordering::Relaxed);
        count + 1
    }

    /// Ends a run.
    fn leave(&self, count: u64) {
        self.count.store(count, Ordering::Release); // Release: pairs with the Acquire in `verdict` and `borrow`.
    }
}
