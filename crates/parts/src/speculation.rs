//! Versions that are read before their writer has committed, and the consequences: the visibility, the speculative
//! reads and the commit dependencies of Hekaton (Larson et al., PVLDB 2011, 2.5 to 2.7).
//!
//! A version that is being written has the mark of its writer. To commit, the writer marks the version anew, draws its
//! end number, and gives it to the version as a number that is not yet certain. From then on, later attempts read the
//! version, and every attempt that reads it depends on the writer's commit.
//!
//! INVARIANTS
//! (1) An attempt that finds a version undecided after it took or drew a number knows that the version's number will be
//!     greater: had that number been drawn before, the attempt would see the mark [`Writer::Drawing`], which comes
//!     before it. An attempt that finds the number being drawn waits for it, which is a few instructions away
//!     ([`look`]).
//! (2) An attempt that depends on another's commit has a greater end number, so waits for commits form no circle.
//! (3) The version that was read stays unchanged while its reader is pinned, so at the end the reader can ask it
//!     whether its writer committed ([`CommitDependencies::wait`]).

use engine::{Abort, Observer, Retire, Sink, Stamp};
use storage::{RecordRef, Slot, VersionRef};
use sync::plant::is_planted;
use sync::waiter;

use crate::read_locks::retire_unlocked;
use crate::version_chain::{self, Chained, Stamped, VersionStamp, cut, words_of};
use crate::{PendingWrites, Timestamps, plants, value_before};

/// Added to the slot of a writer that is not yet at its end.
const UNDECIDED: u64 = VersionStamp::UNDECIDED;
/// Added to the end number of a writer whose commit is not certain.
const UNCERTAIN: u64 = UNDECIDED + (1 << 60);
/// The mark of a writer that draws its end number.
const DRAWING: u64 = UNDECIDED + (1 << 61);
/// The mark of a writer that has failed.
const FAILED: u64 = DRAWING + 1;

/// The number of the undecided versions of a slot's attempts.
#[inline]
pub const fn mark_of(slot: usize) -> u64 {
    UNDECIDED + slot as u64
}

/// The state of a version's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The writer committed, with this number.
    Committed(u64),
    /// The writer will commit with this number, or fail.
    Uncertain(u64),
    /// The writer draws its number.
    Drawing,
    /// The writer has this slot, and will have a greater number than any known number, or fail.
    Undecided(u32),
    /// The writer has failed.
    Failed,
}

impl Writer {
    /// Returns the state of a version's writer.
    #[inline]
    pub fn of<S: Chained>(version: VersionRef<'_, S>) -> Self {
        match version.meta().stamp().number() {
            number if number < UNDECIDED => Self::Committed(number),
            FAILED => Self::Failed,
            DRAWING => Self::Drawing,
            number if number > UNCERTAIN => Self::Uncertain(number - UNCERTAIN),
            number => Self::Undecided((number - UNDECIDED) as u32),
        }
    }
}

/// The state of a version's writer. If the writer is drawing its number, waits until it has: invariant (1).
#[inline]
pub fn look<S: Chained>(version: VersionRef<'_, S>) -> Writer {
    let writer = Writer::of(version);
    if writer != Writer::Drawing {
        return writer;
    }
    waiter::wait_until(None, || Writer::of(version) != Writer::Drawing);
    Writer::of(version)
}

/// Waits until the writer of an uncertain version has committed or failed. Returns whether it committed.
#[inline]
pub fn wait_for_end<S: Chained>(version: VersionRef<'_, S>) -> bool {
    waiter::wait_until(None, || !matches!(Writer::of(version), Writer::Uncertain(_)));
    matches!(Writer::of(version), Writer::Committed(_))
}

/// The number of a version that an attempt has seen: it has one, certain or not.
#[inline]
pub fn number<S: Chained>(version: VersionRef<'_, S>) -> u64 {
    match Writer::of(version) {
        Writer::Committed(number) | Writer::Uncertain(number) => number,
        // The version's writer has failed since, and so will every attempt that has read the version.
        _ => u64::MAX,
    }
}

/// The versions that an attempt has read while they were uncertain.
#[derive(Debug)]
pub struct CommitDependencies<'db, S: Chained>(Vec<VersionRef<'db, S>>);

impl<S: Chained> Default for CommitDependencies<'_, S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'db, S: Chained> CommitDependencies<'db, S> {
    /// The version of a record that is visible as of a number, own versions aside; `None` if there is none. An
    /// uncertain version is read in advance, or waited for, as `speculates` says.
    #[inline]
    pub fn visible(
        &mut self,
        slot: &Slot<'db, S>,
        record: RecordRef<'db, S>,
        as_of: u64,
        speculates: bool,
    ) -> Option<VersionRef<'db, S>> {
        let mut next = slot.newest(record);
        while let Some(version) = next {
            match look(version) {
                Writer::Committed(number) if number <= as_of => break,
                Writer::Uncertain(number) if number <= as_of && !is_planted(&plants::UNCERTAIN_SKIPPED) => {
                    if speculates {
                        self.0.push(version);
                        break;
                    }
                    wait_for_end(version);
                }
                _ => next = slot.older(version),
            }
        }
        next
    }

    // ANCHOR: depend
    /// Waits for the writers of all versions that were read in advance.
    ///
    /// # Errors
    /// When one of the writers has failed.
    #[inline]
    pub fn wait(&self) -> Result<(), Abort> {
        let mut versions = self.0.iter();
        let all_commit =
            versions.all(|version| wait_for_end(*version) || is_planted(&plants::UNCERTAIN_TRUSTED));
        if all_commit { Ok(()) } else { Err(Abort::Dependency) }
    }
    // ANCHOR_END: depend

    /// Clears the dependencies.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// The versions of an attempt that has its end number.
#[derive(Debug)]
pub struct Uncertain<'db, S: Chained>(Vec<(RecordRef<'db, S>, VersionRef<'db, S>)>);

impl<S: Chained> Default for Uncertain<'_, S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'db, S: Chained> Uncertain<'db, S> {
    /// Whether there are no versions.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The records of the versions.
    #[inline]
    pub fn records(&self) -> impl Iterator<Item = RecordRef<'db, S>> {
        self.0.iter().map(|(record, _)| *record)
    }

    // ANCHOR: draw
    /// Draws and returns the end number of an attempt, which shows a bound. Gives the number to the attempt's versions
    /// as not yet certain, and gives up earlier versions that no attempt needs. `age` is that of
    /// [`Timestamps::watermark`].
    #[inline]
    pub fn draw(
        &mut self,
        slot: &mut Slot<'db, S>,
        writes: &mut PendingWrites<'db, S>,
        numbers: &Timestamps,
        age: &mut usize,
    ) -> u64 {
        for (_, version) in writes.versions() {
            version.meta().stamp().set_number(DRAWING);
        }
        let end = numbers.draw();
        let watermark = numbers.watermark(age);
        for (record, pending) in writes.drain() {
            // The bound keeps the watermark below the versions that were written over, or below the begin: these
            // versions stay.
            cut(slot, record, &pending, end, watermark);
            let version = pending.seal();
            version.meta().stamp().set_number(UNCERTAIN + end);
            self.0.push((record, version));
        }
        end
    }
    // ANCHOR_END: draw

    /// Makes the numbers certain.
    #[inline]
    pub fn commit(&mut self, slot: &Slot<'db, S>, end: u64, sink: &mut impl Sink, seen: &mut impl Observer) {
        for (record, version) in self.0.drain(..) {
            let value = words_of(slot, Some(version));
            seen.installed(record, value_before(slot, version), value);
            sink.logged(Stamp(end), record, value);
            version.meta().stamp().set_number(end);
        }
    }

    /// Takes the versions off their chains: every attempt that has read them fails, too.
    pub fn fail(&mut self, slot: &mut Slot<'db, S>) {
        // Backwards, as `PendingWrites::undo`.
        for (record, version) in self.0.drain(..).rev() {
            let before = slot.older(version);
            record.pop(version);
            version.meta().stamp().set_number(FAILED);
            slot.retire_version(record, version);
            if let Some(before) = before.filter(|&before| !slot.is_settled(before)) {
                slot.settle_later(record, before.meta().stamp().number());
            }
        }
    }
}

/// See [`Scheme::retire`](engine::Scheme::retire), for records whose newest version may be uncertain, and that may be
/// locked ([`ChainHead::lock`](version_chain::ChainHead::lock)).
pub fn retire<S: Chained>(record: RecordRef<'_, S>, is_past: impl Fn(u64) -> bool) -> Retire {
    let (verdict, word) = version_chain::retire(record, is_past);
    // An uncertain version is sealed, and may still be taken back.
    let has_value =
        |(meta, _): (&S::Version, bool)| meta.stamp().number() < UNDECIDED && !meta.stamp().is_tombstone();
    if verdict == Retire::Alive && !record.newest_meta().is_some_and(has_value) {
        return Retire::Later;
    }
    retire_unlocked(record, verdict, word)
}
