//! Versions: immutable values of a record, chained newest first.
//!
//! INVARIANTS
//! (1) A version's words are written only through its one [`Pending`], and not while the version is lent. Others read
//!     them once the version is sealed, or while they hold a [`Loan`]: before the words are written again, the loan
//!     ends, which is when nobody holds it.
//! (2) A version that left its chain is used again only after every attempt that was pinned then has
//!     ended (see `epoch`); a [`VersionRef`] is good for the attempt in which it was found and no longer,
//!     and whoever gives out its words checks that.
//! (3) A version belongs to one column group of one table: pools are per group, and an inline version is
//!     part of its record, so that a version's width never changes.
//! (4) A version that is alone on its chain and final may move to the place within its record. For a reader that
//!     found it before, it stays what it was, by (2), and a push over it there is refused.
//! (5) Whoever takes a version off the old end of a chain has exchanged the one link that led to it for null, so
//!     that nobody else takes it, too. Except for that, a link stays as it was pushed until the version is used
//!     again.
//! (6) A version kept beside data in place is sealed before its record leads to it.

use core::fmt;
use core::marker::PhantomData;
use core::mem::size_of;
use core::ptr::NonNull;

use sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};
use sync::{Backoff, hint};

use crate::arena::Block;
use crate::record::RecordRef;
use crate::shape::{Meta, Shape, Versioned};

/// The start of a version; its words follow.
#[repr(C)]
pub(crate) struct VersionHead<S: Shape> {
    pub(crate) next: AtomicPtr<VersionHead<S>>,
    state: AtomicU32,
    /// `INLINE`, if the version stands in its record, with `READER` for each reader that holds its loan or looks
    /// whether it is lent.
    place: AtomicU32,
    pub(crate) meta: S::Version,
}

/// Not in use; only inline versions are ever seen so.
const FREE: u32 = 0;
/// The version is being written through its `Pending`.
const PENDING: u32 = 1;
/// Complete and immutable.
const SEALED: u32 = 2;
/// Complete, unless its `Pending` ends the loan.
const LENT: u32 = 3;

const INLINE: u32 = 1;
const READER: u32 = 2;

impl<S: Shape> Default for VersionHead<S> {
    fn default() -> Self {
        let (next, state, place) = (AtomicPtr::default(), AtomicU32::new(FREE), AtomicU32::new(0));
        Self { next, state, place, meta: S::Version::default() }
    }
}

impl<S: Shape> VersionHead<S> {
    /// Makes an inline version available again.
    pub(crate) fn free_inline(&self) {
        // Release: pairs with the Acquire in `claim_inline`.
        self.state.store(FREE, Ordering::Release);
    }

    /// Takes an inline version if it is available.
    pub(crate) fn claim_inline(&self) -> bool {
        // Relaxed first look: spares the exchange. Acquire: pairs with the Release in `free_inline`.
        // Relaxed on failure: nothing is read.
        let claimed = self.state.load(Ordering::Relaxed) == FREE
            && self.state.compare_exchange(FREE, PENDING, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if claimed {
            self.place.store(INLINE, Ordering::Relaxed); // Relaxed: publishing the version orders it.
            self.meta.reset();
        }
        claimed
    }

    /// Takes the older versions off this one, which is not pending: invariant (5).
    #[inline]
    pub(crate) fn take_older(&self) -> *mut Self {
        // Relaxed first look: a link that is null stays so, and mostly it is.
        if self.next.load(Ordering::Relaxed).is_null() {
            return core::ptr::null_mut();
        }
        // AcqRel: Acquire pairs with the push of the older version; Release, passed on by the fence in
        // `Slot::settle`, tells the slot that brings a version home that this version is alone.
        self.next.swap(core::ptr::null_mut(), Ordering::AcqRel)
    }

    /// Whether the version stands in its record.
    #[inline]
    pub(crate) fn is_at_home(&self) -> bool {
        self.place.load(Ordering::Relaxed) & INLINE != 0 // Relaxed: constant while the version is in use.
    }

    /// Whether the version is complete, final and the only one of its chain.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_complete_and_alone() && self.meta.copy_final(&S::Version::default())
    }

    fn is_complete_and_alone(&self) -> bool {
        // Acquire: pairs with the Release in `Pending::seal`. Relaxed: a change can come only after a push over the
        // version, and then an attempt to move the version fails.
        self.state.load(Ordering::Acquire) == SEALED && self.next.load(Ordering::Relaxed).is_null()
    }

    /// Seals the first version of a row that nobody knows yet.
    pub(crate) fn seal_first(&self) {
        // Relaxed, both: publishing the row orders them.
        self.next.store(core::ptr::null_mut(), Ordering::Relaxed);
        self.state.store(SEALED, Ordering::Relaxed);
    }

    /// Prepares a version of a pool for use.
    pub(crate) fn claim_pooled(&self) {
        // Relaxed: the caller alone knows the version; publishing it orders these stores.
        self.state.store(PENDING, Ordering::Relaxed);
        self.meta.reset();
    }
}

/// Bytes before a version's words.
pub(crate) const fn version_head_bytes<S: Shape>() -> usize {
    size_of::<VersionHead<S>>().next_multiple_of(8)
}

/// A version found during the attempt with number `attempt` of its slot.
pub struct VersionRef<'db, S: Shape> {
    pub(crate) head: NonNull<VersionHead<S>>,
    pub(crate) words: u32,
    pub(crate) attempt: u32,
    pub(crate) db: PhantomData<&'db S>,
}

// SAFETY: what is reached through a `VersionRef` alone is atomic, or read by invariant (1), and `S::Version` is `Sync`.
unsafe impl<S: Shape> Send for VersionRef<'_, S> {}
// SAFETY: as above.
unsafe impl<S: Shape> Sync for VersionRef<'_, S> {}

impl<'db, S: Shape> VersionRef<'db, S> {
    #[inline]
    pub(crate) fn head(self) -> &'db VersionHead<S> {
        // SAFETY: version memory is type-stable for `'db` and the head is atomic.
        unsafe { self.head.as_ref() }
    }

    /// The scheme's metadata of the version.
    #[inline]
    pub fn meta(self) -> &'db S::Version {
        &self.head().meta
    }

    /// Whether the version is complete, so that its words may be read.
    #[inline]
    pub fn is_sealed(self) -> bool {
        // Acquire: pairs with the Release in `Pending::seal`.
        self.head().state.load(Ordering::Acquire) == SEALED
    }

    /// Whether the version is lent: its words may be read although it is not sealed.
    #[inline]
    pub fn is_lent(self) -> bool {
        // Acquire: pairs with the Release in `Pending::lend`.
        self.head().state.load(Ordering::Acquire) == LENT
    }

    /// Takes up the loan of a version that is lent.
    ///
    /// # Safety
    /// The version was found during the attempt that is still running for `'p`: invariant (2).
    #[inline]
    pub(crate) unsafe fn loan<'p>(self) -> Option<Loan<'p, S>>
    where
        'db: 'p,
    {
        // Relaxed: the fence orders it.
        self.head().place.fetch_add(READER, Ordering::Relaxed);
        let loan = Loan(self);
        // SeqCst: pairs with the one in `Pending::take_back`. Of a reader that counts itself and then looks whether the
        // version is lent, and a writer that ends the loan and then looks for readers, at least one sees the other.
        fence(Ordering::SeqCst);
        self.is_lent().then_some(loan)
    }

    /// The words of a sealed version.
    ///
    /// # Safety
    /// The version was found during the attempt that is still running for `'p`: invariant (2).
    #[inline]
    pub(crate) unsafe fn words<'p>(self) -> Option<&'p [u64]> {
        if !self.is_sealed() {
            return None;
        }
        let words = data(self.head, self.words);
        // SAFETY: invariant (1): a sealed version is no longer written while attempts may see it.
        Some(unsafe { words.as_ref() })
    }
}

/// Copies the version `from`, if it is complete, final and the only one of its chain, to the place `to`.
///
/// # Safety
/// Both have `words` words. Nobody else uses `to`; `from` is in use until this returns.
pub(crate) unsafe fn copy_only<S: Shape>(
    from: NonNull<VersionHead<S>>,
    to: NonNull<VersionHead<S>>,
    words: usize,
) -> bool {
    // SAFETY: a version's head is built, type-stable and atomic.
    let from_head = unsafe { from.as_ref() };
    // SAFETY: as above.
    let to_head = unsafe { to.as_ref() };
    let is_fit = from_head.is_complete_and_alone() && from_head.meta.copy_final(&to_head.meta);
    if is_fit {
        assert!(from != to, "a version moves to another place");
        let (from, to) = (data(from, words as u32), data(to, words as u32));
        // SAFETY: invariant (1): nobody writes `from`, which is sealed; the caller alone uses `to`, which is another
        // block.
        unsafe { to.cast::<u64>().copy_from_nonoverlapping(from.cast(), words) };
        // Relaxed: the caller's exchange publishes both. The state was sealed before and still is.
        to_head.next.store(core::ptr::null_mut(), Ordering::Relaxed);
        to_head.state.store(SEALED, Ordering::Relaxed);
    }
    is_fit
}

/// The words behind a version's head.
#[inline]
fn data<S: Shape>(head: NonNull<VersionHead<S>>, words: u32) -> NonNull<[u64]> {
    // SAFETY: invariant (3): the words follow the head in the same block.
    let start = unsafe { head.cast::<u8>().add(version_head_bytes::<S>()) };
    NonNull::slice_from_raw_parts(start.cast(), words as usize)
}

/// A version that is being written; nobody else reads its words before it is sealed or lent.
pub struct Pending<'db, S: Shape> {
    head: NonNull<VersionHead<S>>,
    /// The number of words; with `IS_LENT`, if the version is lent. A handle is moved often, so it has two words.
    words: u32,
    attempt: u32,
    db: PhantomData<&'db S>,
}

/// A bit above all widths of versions.
const IS_LENT: u32 = 1 << 31;

// SAFETY: it is the only handle through which the words are written, and they are plain data.
unsafe impl<S: Shape> Send for Pending<'_, S> {}

impl<'db, S: Shape> Pending<'db, S> {
    /// # Safety
    /// The version was claimed by the caller and is known to nobody else.
    #[inline]
    pub(crate) unsafe fn new(version: VersionRef<'db, S>) -> Self {
        let VersionRef { head, words, attempt, db } = version;
        debug_assert!(words < IS_LENT, "no memory has such a width");
        Self { head, words, attempt, db }
    }

    /// The words to write. They hold whatever the memory held before.
    ///
    /// # Panics
    /// While the version is lent.
    #[inline]
    pub fn words(&mut self) -> &mut [u64] {
        assert!(!self.is_lent(), "a version that is lent is not written");
        // SAFETY: invariant (1): this is the one `Pending`, borrowed mutably, and nobody holds a loan.
        unsafe { data(self.head, self.words).as_mut() }
    }

    /// The words as they were written.
    #[inline]
    pub fn value(&self) -> &[u64] {
        // SAFETY: invariant (1): this is the one `Pending`, and others only read.
        unsafe { data(self.head, self.words & !IS_LENT).as_ref() }
    }

    /// Lets others read the words, as they are and as the metadata was stored before, until the version is sealed or
    /// the loan [ends](Self::end_loan).
    #[inline]
    pub fn lend(&mut self) {
        if !self.is_lent() {
            hint::writes(self.value());
            // Release: pairs with the Acquire in `VersionRef::is_lent` and in `VersionRef::loan`.
            self.version().head().state.store(LENT, Ordering::Release);
            self.words |= IS_LENT;
        }
    }

    /// Whether the version is lent.
    #[inline]
    pub fn is_lent(&self) -> bool {
        self.words & IS_LENT != 0
    }

    /// Ends the loan, if there is one: waits until nobody holds it.
    #[inline]
    pub fn end_loan(&mut self) {
        if self.is_lent() {
            self.take_back();
        }
    }

    #[cold]
    fn take_back(&mut self) {
        let (head, mut backoff) = (self.version().head(), Backoff::new());
        // Relaxed: the fence orders it.
        head.state.store(PENDING, Ordering::Relaxed);
        // SeqCst: see `VersionRef::loan`.
        fence(Ordering::SeqCst);
        // Acquire: pairs with the Release of the readers.
        while head.place.load(Ordering::Acquire) >= READER {
            backoff.snooze();
        }
        self.words &= !IS_LENT;
    }

    /// The version, to be compared and marked.
    #[inline]
    pub fn version(&self) -> VersionRef<'db, S> {
        let Self { head, words, attempt, db } = *self;
        VersionRef { head, words: words & !IS_LENT, attempt, db }
    }

    /// Gives the version up; nobody reads it from now on.
    #[inline]
    pub(crate) fn discard(mut self) -> VersionRef<'db, S> {
        self.end_loan();
        self.version()
    }

    /// Completes the version: a reader that sees it sealed sees its words, and its metadata as stored before. Readers
    /// that hold its loan go on: the words stay as they were lent.
    #[inline]
    pub fn seal(self) -> VersionRef<'db, S> {
        let version = self.version();
        // Release: pairs with the Acquire in `is_sealed`.
        version.head().state.store(SEALED, Ordering::Release);
        version
    }
}

/// A reader's hold of the loan of a version: the version stays as it was lent.
pub struct Loan<'p, S: Shape>(VersionRef<'p, S>);

impl<S: Shape> Loan<'_, S> {
    /// The words of the version.
    #[inline]
    pub fn words(&self) -> &[u64] {
        // SAFETY: invariant (1): the loan does not end before this hold.
        let words = unsafe { data(self.0.head, self.0.words).as_ref() };
        hint::reads(words);
        words
    }
}

impl<S: Shape> Drop for Loan<'_, S> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `Pending::take_back`.
        self.0.head().place.fetch_sub(READER, Ordering::Release);
    }
}

impl<'db, S: Shape<Data = Versioned>> RecordRef<'db, S> {
    /// Puts `new` before `expected` at the head of the record's chain, if `expected` is still the newest. Returns
    /// whether it did.
    #[inline]
    pub fn push(self, new: &Pending<'db, S>, expected: Option<VersionRef<'db, S>>) -> bool {
        let expected = expected.map_or(core::ptr::null_mut(), |version| version.head.as_ptr());
        // Relaxed: the exchange below publishes it.
        new.version().head().next.store(expected, Ordering::Relaxed);
        // SeqCst: publishes the version's head, and pairs with the load in `Slot::newest`. Of a reader that
        // marks the record's header and then looks for the newest version, and a writer that pushes one
        // and then looks at the header, at least one sees the other, if the header is accessed so, too.
        // Relaxed on failure: nothing is read.
        self.versioned()
            .newest
            .compare_exchange(expected, new.head.as_ptr(), Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// The newest version's metadata, and whether the version is sealed, for a caller that is pinned but has no
    /// slot at hand.
    #[inline]
    pub fn newest_meta(self) -> Option<(&'db S::Version, bool)> {
        // SeqCst: as in `Slot::newest`.
        let head = NonNull::new(self.versioned().newest.load(Ordering::SeqCst))?;
        // SAFETY: version memory is type-stable for `'db` and the head is atomic.
        let head = unsafe { head.as_ref() };
        // Acquire: pairs with the Release in `Pending::seal`.
        Some((&head.meta, head.state.load(Ordering::Acquire) == SEALED))
    }

    /// Takes `version`, which its writer gives up, off the head of the chain.
    ///
    /// # Panics
    /// When it is not the newest: schemes with one writer at a time ensure that it is.
    #[inline]
    pub fn pop(self, version: VersionRef<'db, S>) {
        let head = version.head();
        // Relaxed: written by this worker in `push`.
        let next = head.next.load(Ordering::Relaxed);
        let popped = self.versioned().newest.compare_exchange(
            version.head.as_ptr(),
            next,
            // Release: pairs with the Acquire of whoever reads the head. Relaxed on failure: it panics.
            Ordering::Release,
            Ordering::Relaxed,
        );
        assert!(popped.is_ok(), "a writer gives up the newest version");
    }
}

impl<S: Shape> Clone for VersionRef<'_, S> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Shape> Copy for VersionRef<'_, S> {}

impl<S: Shape> PartialEq for VersionRef<'_, S> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head
    }
}

impl<S: Shape> Eq for VersionRef<'_, S> {}

impl<S: Shape> fmt::Debug for VersionRef<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VersionRef({:p})", self.head)
    }
}

impl<S: Shape> fmt::Debug for Loan<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loan({:p})", self.0.head)
    }
}

impl<S: Shape> fmt::Debug for Pending<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({:p})", self.head)
    }
}

/// Makes the memory at `at` a version of a pool.
///
/// # Safety
/// `at` is aligned to 8 bytes and has room for a head and `words` words, and nobody else knows it.
pub(crate) unsafe fn build_version<S: Shape>(at: Block, words: usize) {
    // SAFETY: the caller gives room.
    let data = unsafe { at.add(version_head_bytes::<S>()) };
    // SAFETY: as above; zero is a valid word.
    unsafe { data.write_bytes(0, words * 8) };
    // SAFETY: the caller gives room and sole use.
    unsafe { at.cast().write(VersionHead::<S>::default()) };
}
