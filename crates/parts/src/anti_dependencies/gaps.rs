//! The metadata of leaves for the anti-dependencies of gaps: invariants (4) and (5) of [`anti_dependencies`](super).

use engine::{Abort, Retire};
use storage::{LeafMeta, LeafRef, Meta, RecordRef, places_beside};
use sync::atomic::{AtomicU64, Ordering, fence};
use sync::plant::is_planted;

use super::Watched;
use crate::version_chain::{self, Stamped};
use crate::{fence_reads, plants};

/// The metadata of a leaf for its gaps.
#[derive(Debug, Default)]
pub struct Gap {
    /// The greatest mark of a reader of the gaps.
    read: AtomicU64,
    /// The greatest number of a version with which an entry has left the leaf.
    left: AtomicU64,
    /// The least note, and the greatest number, of commits that entered keys and saw danger.
    entered_note: AtomicU64,
    entered: AtomicU64,
    /// How often gaps of this piece of memory have become the gaps of another leaf.
    given: AtomicU64,
}

// Relaxed throughout: changes are made under the latch, except that readers raise `read` without it. A reader without
// the latch looks at the gap version afterwards, or knows by a slot, or a fence, that the change has been made.
impl Meta for Gap {
    /// Resets all words but the count: it goes on, so that attempts that knew the earlier leaf in this memory find out.
    fn reset(&self) {
        for word in [&self.read, &self.left, &self.entered_note, &self.entered] {
            word.store(0, Ordering::Relaxed);
        }
    }
}

impl LeafMeta for Gap {
    type Places<T: Default + Send + Sync> = [T; places_beside(size_of::<Gap>())];

    /// Copies the marks to the other leaf, but not the notes of commits about keys. An attempt that looked at these
    /// gaps before, in the leaf that gives them away, finds out by the count. An attempt that looks at them now finds
    /// the keys.
    fn carry(&self, to: &Self) {
        to.read_at(self.read());
        raise(&to.left, self.left());
        self.given.store(self.given() + 1, Ordering::Relaxed);
    }
}

impl Gap {
    #[inline]
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Leaves the mark of a reader.
    #[inline]
    fn read_at(&self, mark: u64) {
        if self.read() < mark {
            self.read.fetch_max(mark, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }

    /// Tells the leaf that a commit that saw danger has entered a key. Nobody asks for notes of commits up to
    /// `watermark`.
    pub(super) fn tell(&self, number: u64, note: u64, watermark: u64) {
        let (last, known) = (self.entered.load(Ordering::Relaxed), self.entered_note.load(Ordering::Relaxed));
        let note = if last <= watermark { note } else { note.min(known) };
        self.entered_note.store(note, Ordering::Relaxed);
        self.entered.store(number.max(last), Ordering::Relaxed);
    }

    /// The least note of commits after `snapshot` that saw danger and entered keys; perhaps a smaller note.
    fn told_since(&self, snapshot: u64) -> Option<u64> {
        let is_told = self.entered.load(Ordering::Relaxed) > snapshot;
        is_told.then(|| self.entered_note.load(Ordering::Relaxed))
    }
}

/// Raises a number of a leaf, under its latch.
#[inline]
fn raise(number: &AtomicU64, to: u64) {
    number.store(number.load(Ordering::Relaxed).max(to), Ordering::Relaxed); // Relaxed: under the latch.
}

/// Raises the mark of a record that is about to enter a leaf: see [`Scheme::entering`](engine::Scheme::entering).
#[inline]
pub fn entering<S: Watched>(record: RecordRef<'_, S>, leaf: &Gap) -> Result<(), Abort> {
    let is_in = record.header().read_at(leaf.read().max(leaf.left()));
    if is_in { Ok(()) } else { Err(Abort::WriteConflict) }
}

/// Decides whether a record may leave a leaf, and leaves its marks there: see
/// [`Scheme::retire`](engine::Scheme::retire).
pub fn retire<S: Watched>(record: RecordRef<'_, S>, leaf: &Gap, is_past: impl Fn(u64) -> bool) -> Retire {
    let (verdict, read) = version_chain::retire(record, is_past);
    if verdict == Retire::Done && !is_planted(&plants::GAPS_LEFT_BLANK) {
        leaf.read_at(read);
        leaves_with(record, leaf);
    }
    verdict
}

/// Decides whether an entry may leave a leaf: see [`Scheme::leaving`](engine::Scheme::leaving). An attempt that misses
/// the entry comes after the version that took the key away, which is the newest or an older one.
pub fn leaving<S: Watched>(record: RecordRef<'_, S>, leaf: &Gap, is_past: impl Fn(u64) -> bool) -> Retire {
    let verdict = version_chain::leaving(record, is_past);
    if verdict == Retire::Done {
        leaves_with(record, leaf);
    }
    verdict
}

fn leaves_with<S: Watched>(record: RecordRef<'_, S>, leaf: &Gap) {
    if let Some((newest, _)) = record.newest_meta() {
        raise(&leaf.left, newest.stamp().number());
    }
}

/// A leaf that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read<'db> {
    pub(super) leaf: LeafRef<'db, Gap>,
    pub(super) given: u64,
    pub(super) has_grown: bool,
}

impl Read<'_> {
    /// Finds out whether keys of other attempts have entered the leaf.
    pub(super) fn look(&mut self) -> Result<bool, Abort> {
        if !self.has_grown && self.leaf.gap_version() != self.leaf.seen() {
            let (_held, now) = self.leaf.hold_as_is().ok_or(Abort::Phantom)?;
            self.has_grown = now.seen() != self.leaf.seen();
        }
        if self.has_grown && is_planted(&plants::GAPS_COMPARED) {
            return Err(Abort::Phantom);
        }
        Ok(self.has_grown)
    }

    /// Leaves a mark in the leaf, and finds out whether keys of other attempts have entered it.
    pub(super) fn mark(&mut self, mark: u64) -> Result<bool, Abort> {
        let meta = self.leaf.meta();
        let is_marked = meta.read() >= mark && !self.has_grown;
        // Acquire fence: a mark that was left after a key entered comes with the gap version that the key made. The
        // other one: a mark that was left without the latch is seen by whoever takes the latch later, too.
        fence(Ordering::Acquire);
        fence_reads();
        if is_planted(&plants::GAPS_COMPARED) || is_marked && self.leaf.gap_version() == self.leaf.seen() {
            return self.look();
        }
        if !self.has_grown && self.leaf.mark(|gaps| gaps.read_at(mark)) {
            return Ok(false);
        }
        let (_held, now) = self.leaf.hold_as_is().ok_or(Abort::Phantom)?;
        if meta.given() != self.given {
            return Err(Abort::Phantom);
        }
        meta.read_at(mark);
        self.has_grown |= now.seen() != self.leaf.seen();
        Ok(self.has_grown)
    }

    /// The note of [`Gap::told_since`].
    pub(super) fn told_since(&self, snapshot: u64) -> Result<Option<u64>, Abort> {
        let meta = self.leaf.meta();
        let _held = self.leaf.hold_as_is().ok_or(Abort::Phantom)?;
        if meta.given() == self.given { Ok(meta.told_since(snapshot)) } else { Err(Abort::Phantom) }
    }
}

/// A leaf that a key of the attempt has entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered<'db> {
    pub(super) leaf: LeafRef<'db, Gap>,
    pub(super) given: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_bucket_beside_a_gap_has_two_lines() {
        assert_eq!((size_of::<Gap>(), places_beside(size_of::<Gap>())), (40, 4));
    }

    #[test]
    fn a_leaf_that_gives_gaps_away_hands_on_its_marks_and_is_found_out_even_if_it_serves_again() {
        let (from, into) = (Gap::default(), Gap::default());
        raise(&from.read, 7);
        raise(&from.left, 5);
        raise(&into.read, 9);
        from.carry(&into);
        assert_eq!((into.read(), into.left(), into.given()), (9, 5, 0));
        assert_eq!(from.given(), 1);
        from.reset();
        assert_eq!((from.read(), from.left(), from.given()), (0, 0, 1));
    }

    #[test]
    fn leaves_tell_the_least_note_since_the_watermark_to_those_who_began_before() {
        let leaf = Gap::default();
        assert_eq!(leaf.told_since(0), None);
        leaf.tell(10, 6, 3);
        assert_eq!((leaf.told_since(9), leaf.told_since(10)), (Some(6), None));
        leaf.tell(12, 11, 9);
        assert_eq!(leaf.told_since(11), Some(6), "who began before 10 may ask yet");
        leaf.tell(14, 13, 12);
        assert_eq!(leaf.told_since(12), Some(13));
    }
}
