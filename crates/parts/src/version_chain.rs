//! Chains of versions: the metadata of headers and versions for schemes that write only at the new end of a chain and
//! order versions by the numbers of their writers.
//!
//! INVARIANTS
//! (1) Numbers fall from the newest version of a chain to the oldest (asserted in `PendingWrites::push`).
//! (2) A chain has at most one version whose writer has not decided yet, the newest.
//! (3) A retired record has no value, no attempt needs its last value, and it gets none again: see [`retire`].
//! (4) A record that is not written comes down to one version, which is stored within it: a slot that commits a version
//!     or takes one back notes the work that is to be done when the watermark has come, and does it then ([`cut`],
//!     [`take_back`], [`settle`]).

use core::ops::ControlFlow;

use engine::Retire;
use storage::{Meta, Pending, RecordRef, Shape, Slot, VersionRef, Versioned};
use sync::atomic::{AtomicU64, Ordering};
use sync::plant::is_planted;
use sync::waiter;

use crate::plants;

/// Schemes whose records are such chains.
pub trait Chained: Shape<Header: Headed, Version: Stamped, Data = Versioned> {}
impl<S: Shape<Header: Headed, Version: Stamped, Data = Versioned>> Chained for S {}

/// Headers of records that say whether the record was retired.
pub trait Headed: Meta {
    /// The part of the header that says whether the record was retired, and who has read it.
    fn chain(&self) -> &ChainHead;
}

impl Headed for ChainHead {
    #[inline]
    fn chain(&self) -> &Self {
        self
    }
}

/// Metadata of versions that have a number.
pub trait Stamped: Meta {
    /// The number, and whether the version is a tombstone.
    fn stamp(&self) -> &VersionStamp;
}

impl Stamped for VersionStamp {
    #[inline]
    fn stamp(&self) -> &Self {
        self
    }
}

/// A record's header: bit 63 retired, the rest the greatest number that has read the newest version, or its absence,
/// where the scheme keeps count of it; or its read locks, where there are some (`read_locks`).
#[derive(Debug, Default)]
pub struct ChainHead(pub(super) AtomicU64);

pub(super) const RETIRED: u64 = 1 << 63;

impl Meta for ChainHead {
    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed); // Relaxed: publishing the record orders it.
    }
}

impl ChainHead {
    /// Counts `rts` as having read the record; `false` when the record was retired.
    ///
    /// If a reader looks for the newest version after this and does not find a certain version, it comes, in the eyes
    /// of that version's writer, before the look at [`rts`](Self::rts) that follows the push.
    #[inline]
    pub fn read_at(&self, rts: u64) -> bool {
        // SeqCst, both: each pairs with the push of a version, which the same reader may miss, and with the load in
        // `rts`, which then does not miss this store.
        let mut word = self.0.load(Ordering::SeqCst);
        if word < rts {
            word = self.0.fetch_max(rts, Ordering::SeqCst);
        }
        word < RETIRED
    }

    /// The greatest number that has read the record; above all numbers when the record was retired.
    #[inline]
    pub fn rts(&self) -> u64 {
        self.0.load(Ordering::SeqCst) // SeqCst: see `read_at`.
    }

    /// Whether the record was retired. After a push, the answer is as conclusive as [`rts`](Self::rts).
    #[inline]
    pub fn is_retired(&self) -> bool {
        self.rts() >= RETIRED
    }
}

/// A version's metadata: bit 0 says that it is a tombstone, by which the record has no value; the bits above it are the
/// number of its writer, or [`VersionStamp::UNDECIDED`] plus a number of the scheme's.
#[derive(Debug, Default)]
pub struct VersionStamp(AtomicU64);

impl Meta for VersionStamp {
    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed); // Relaxed: publishing the version orders it.
    }

    #[inline]
    fn copy_final(&self, to: &Self) -> bool {
        let word = self.0.load(Ordering::Relaxed); // Relaxed: the caller has found the version sealed.
        to.0.store(word, Ordering::Relaxed); // Relaxed: publishing the version orders it.
        word >> 1 < Self::UNDECIDED
    }
}

impl VersionStamp {
    /// A number above the number of every writer.
    pub const UNDECIDED: u64 = 1 << 62;
    /// The base of the marks that a scheme makes while a commit is being decided; above the marks that it makes of
    /// [`UNDECIDED`](Self::UNDECIDED) before.
    pub const COMMITTING: u64 = Self::UNDECIDED + (1 << 61);
    /// The number of a version that is still private to its attempt.
    pub(super) const PRIVATE: u64 = u64::MAX >> 1;

    /// The number of the version's writer.
    #[inline]
    pub fn number(&self) -> u64 {
        self.0.load(Ordering::Acquire) >> 1 // Acquire: pairs with the Release in `set_number`.
    }

    /// Whether the record has no value as of this version. Final once the version is sealed.
    #[inline]
    pub fn is_tombstone(&self) -> bool {
        // Relaxed: ordered by the look at whether the version is sealed or lent, or at its number.
        self.0.load(Ordering::Relaxed) & 1 == 1
    }

    /// Gives the version its writer's number; for the writer.
    #[inline]
    pub fn set_number(&self, number: u64) {
        let tombstone = self.0.load(Ordering::Relaxed) & 1; // Relaxed: the writer's own store.
        // Release: pairs with the Acquire in `number`, so that a number is seen after the seal.
        self.0.store(number << 1 | tombstone, Ordering::Release);
    }

    /// Makes the version a tombstone, or not; for the writer, before it seals or lends the version.
    #[inline]
    pub fn set_tombstone(&self, is_tombstone: bool) {
        let number = self.0.load(Ordering::Relaxed) & !1; // Relaxed: the writer's own store.
        self.0.store(number | u64::from(is_tombstone), Ordering::Relaxed); // Relaxed: the seal or the loan orders it.
    }
}

/// Waits until a version is decided that was found with this mark, the mark of a commit being decided.
#[cold]
pub fn wait_for_number<S: Chained>(version: VersionRef<'_, S>, mark: u64) {
    waiter::wait_until(None, || version.meta().stamp().number() != mark);
}

/// Waits until a version that was found undecided, without such a mark, is sealed or taken back. Returns `false` if it
/// is neither, since the fiber that waits is unwound.
#[cold]
pub fn wait_for_decision<S: Chained>(
    slot: &Slot<'_, S>,
    record: RecordRef<'_, S>,
    version: VersionRef<'_, S>,
) -> bool {
    waiter::wait_until(None, || is_decided(slot, record, version))
}

/// Whether a version that was found undecided, without the mark of a commit, is sealed or taken back.
#[inline]
pub fn is_decided<S: Chained>(
    slot: &Slot<'_, S>,
    record: RecordRef<'_, S>,
    version: VersionRef<'_, S>,
) -> bool {
    version.is_sealed() || slot.newest(record) != Some(version)
}

/// The newest version of a record that is not `later` than the view of the reader.
#[inline]
pub fn below<'db, S: Chained>(
    slot: &Slot<'db, S>,
    record: RecordRef<'db, S>,
    later: impl Fn(VersionRef<'db, S>) -> bool,
) -> Option<VersionRef<'db, S>> {
    let mut next = slot.newest(record);
    while let Some(version) = next.filter(|version| later(*version)) {
        next = slot.older(version);
    }
    next
}

/// The newest version of a record whose number is below this one.
#[inline]
pub fn below_number<'db, S: Chained>(
    slot: &Slot<'db, S>,
    record: RecordRef<'db, S>,
    number: u64,
) -> Option<VersionRef<'db, S>> {
    below(slot, record, |version| version.meta().stamp().number() >= number)
}

/// The same, when that version is sealed, or when it is over and nobody will seal it: waits for one of the two.
pub fn sealed_below<'db, S: Chained>(
    slot: &Slot<'db, S>,
    record: RecordRef<'db, S>,
    number: u64,
    is_over: impl Fn() -> bool,
) -> Option<VersionRef<'db, S>> {
    let before = below_number(slot, record, number);
    waiter::wait_until(None, || before.is_none_or(VersionRef::is_sealed) || is_over());
    before
}

/// Whether a record has a value for a writer of this number, by the newest sealed version below it. Does not wait: the
/// caller knows that the versions between, which are not sealed, will not change whether there is one.
#[inline]
pub fn has_value<'db, S: Chained>(slot: &Slot<'db, S>, record: RecordRef<'db, S>, number: u64) -> bool {
    let is_passed =
        |version: VersionRef<'db, S>| version.meta().stamp().number() >= number || !version.is_sealed();
    !is_absent(below(slot, record, is_passed))
}

/// Whether a record whose version is this one, or none, has no value.
#[inline]
pub fn is_absent<S: Chained>(version: Option<VersionRef<'_, S>>) -> bool {
    version.is_none_or(|version| version.meta().stamp().is_tombstone())
}

/// The words of a version; `None` for a tombstone or no version.
#[inline]
pub fn words_of<'s, 'db, S: Shape<Version: Stamped, Data = Versioned>>(
    slot: &'s Slot<'db, S>,
    version: Option<VersionRef<'db, S>>,
) -> Option<&'s [u64]> {
    version.filter(|version| !version.meta().stamp().is_tombstone()).and_then(|version| slot.words(version))
}

/// Gives up every version that no reader of numbers from `watermark` on needs; for the writer of the chain's newest
/// version, which will be committed with `number`. Versions that must stay for now are left to [`settle`].
#[inline]
pub fn cut<'db, S: Chained>(
    slot: &mut Slot<'db, S>,
    record: RecordRef<'db, S>,
    newest: &Pending<'db, S>,
    number: u64,
    watermark: u64,
) {
    let watermark = if is_planted(&plants::CHAIN_CUT_EARLY) { u64::MAX } else { watermark };
    let mut is_newest = true;
    let is_left = slot.cut(record, newest, |meta| {
        let above = if is_newest { number > watermark } else { meta.stamp().number() > watermark };
        if !above {
            return ControlFlow::Break(true);
        }
        // Where many versions are above the watermark, looking for the last of them each time would take time in
        // proportion to their number; looking now and then keeps at most some tens more than are needed.
        let goes_on = is_newest || is_one_in_32(number);
        is_newest = false;
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(false) }
    });
    if is_left {
        slot.settle_later(record, number);
    }
}

/// Takes a version, the newest of a record, off its chain, for a writer that aborts.
pub fn take_back<'db, S: Chained>(
    slot: &mut Slot<'db, S>,
    record: RecordRef<'db, S>,
    version: Pending<'db, S>,
) {
    let before = slot.older(version.version());
    record.pop(version.version());
    slot.discard_version(record, version);
    // The slot that was to settle the record may have found it being written, and left it.
    if let Some(before) = before.filter(|&before| !slot.is_settled(before)) {
        slot.settle_later(record, before.meta().stamp().number());
    }
}

/// Brings records down to one version that the slot's attempts left with more, as far as the watermark allows: a few,
/// so that no attempt is delayed for long. For every attempt at its end; otherwise rows of this client wait for other
/// clients.
#[inline]
pub fn settle<S: Chained>(slot: &mut Slot<'_, S>, watermark: impl FnOnce() -> u64) {
    if slot.has_unsettled() {
        slot.settle(watermark(), |meta, number| meta.stamp().number() == number);
    }
}

/// Whether a number is chosen, by a rule that no pattern in the numbers of a record's writers can evade for long.
#[inline]
fn is_one_in_32(number: u64) -> bool {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59 == 0
}

/// Marks a record retired if it has no value and its last value was taken away by a writer that all attempts see, which
/// `is_past` tells of its number. Also returns the greatest number that has read the record. Called by one worker at a
/// time for a record, pinned.
///
/// The mark comes first and the decisive look second, while a writer pushes first and looks for the mark second: one
/// sees the other, and either the mark or the version is taken back.
pub fn retire<S: Chained>(record: RecordRef<'_, S>, is_past: impl Fn(u64) -> bool) -> (Retire, u64) {
    let verdict = || match record.newest_meta() {
        None => Retire::Done,
        Some((meta, true)) if !meta.stamp().is_tombstone() => Retire::Alive,
        Some((meta, true)) if is_past(meta.stamp().number()) => Retire::Done,
        Some(_) => Retire::Later,
    };
    let first = verdict();
    if first != Retire::Done {
        return (first, 0);
    }
    let head = &record.header().chain().0;
    // SeqCst: pairs with the push of a version that the look below may miss.
    let rts = head.fetch_or(RETIRED, Ordering::SeqCst) & !RETIRED;
    let second = verdict();
    if second != Retire::Done {
        head.fetch_and(!RETIRED, Ordering::Relaxed); // Relaxed: nothing hangs on who sees it when.
    }
    (second, rts)
}

/// Whether all attempts see the newest version of a record or a later one, so that the secondary keys of older versions
/// need not lead to the record: see [`Scheme::leaving`](engine::Scheme::leaving).
pub fn leaving<S: Chained>(record: RecordRef<'_, S>, is_past: impl Fn(u64) -> bool) -> Retire {
    match record.newest_meta() {
        Some((meta, true)) if is_past(meta.stamp().number()) => Retire::Done,
        Some(_) => Retire::Later,
        None => Retire::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_stamp_never_falls_and_a_retired_record_is_not_read() {
        let head = ChainHead::default();
        assert!(head.read_at(5) && head.read_at(3));
        assert_eq!(head.rts(), 5);
        head.0.fetch_or(RETIRED, Ordering::Relaxed);
        assert!(!head.read_at(4) && !head.read_at(6));
        assert!(head.is_retired() && head.rts() > VersionStamp::UNDECIDED);
    }

    #[test]
    fn a_number_and_a_tombstone_are_set_apart() {
        let stamp = VersionStamp::default();
        stamp.set_number(VersionStamp::UNDECIDED + 7);
        stamp.set_tombstone(true);
        assert_eq!((stamp.number(), stamp.is_tombstone()), (VersionStamp::UNDECIDED + 7, true));
        stamp.set_number(9);
        assert_eq!((stamp.number(), stamp.is_tombstone()), (9, true));
        stamp.set_tombstone(false);
        assert_eq!((stamp.number(), stamp.is_tombstone()), (9, false));
    }

    #[test]
    fn one_number_in_32_is_chosen_in_every_stride() {
        for stride in [1, 2, 3, 16, 32, 64, 1000] {
            let chosen = (0..32_000).filter(|nth| is_one_in_32(nth * stride)).count();
            assert!((500..2_000).contains(&chosen), "stride {stride}: {chosen}");
        }
    }
}
