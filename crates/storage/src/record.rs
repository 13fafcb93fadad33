//! Records: a scheme's header beside the data of one column group of one row, or of several of them.
//!
//! A row is one block of memory that holds its records, one after the other: one for each column group, or for several
//! where column groups share it (decision 0027). Blocks are type-stable: once built, a block holds a row of the same
//! table for the life of the database, so a reference kept too long shows a wrong version, which validation sees, and
//! never foreign memory.
//!
//! INVARIANTS
//! (1) A `RecordRef<'db, S>` points at a built record of a table that lives for `'db`.
//! (2) A record's width never changes.
//! (3) Where a database keeps versions beside data in place, the word behind each record's words is the link to
//!     the newest of them, null at first; elsewhere there is no such word.
//! (4) Where versions stand apart, a record with versions is its head alone.

use core::fmt;
use core::marker::PhantomData;
use core::mem::{offset_of, size_of};
use core::ptr::NonNull;

use sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::arena::Block;
use crate::owned::Partition;
use crate::row::TableId;
use crate::shape::{Data, DataKind, InPlace, Meta, Shape};
use crate::version::VersionHead;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of a record that are prefetched at most.
const PREFETCHED_MAX: usize = 8 * LINE;

/// The start of a record whose data is in place; its words follow.
#[repr(C)]
pub(crate) struct InPlaceHead<S: Shape> {
    header: S::Header,
}

/// The start of a record that a partition owns; its words follow.
#[repr(C)]
pub(crate) struct OwnedHead<S: Shape> {
    header: S::Header,
    /// The partition, or null for a record that everyone may read and no one may write.
    pub(crate) owner: AtomicPtr<Partition>,
}

/// The start of a record with versions.
#[repr(C)]
pub(crate) struct VersionedHead<S: Shape> {
    header: S::Header,
    /// The newest version, or null when there is none.
    pub(crate) newest: AtomicPtr<VersionHead<S>>,
}

/// The start of a record with versions within which one of them may stand; the words of this version follow.
#[repr(C)]
struct HomeHead<S: Shape> {
    head: VersionedHead<S>,
    /// A version kept beside the header, which spares a cache miss when it is the one that is read.
    inline: VersionHead<S>,
}

/// The contents of a record, by the layout of its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Whether versions are kept beside data in place.
    pub(crate) keeps_versions: bool,
    /// Whether a version may stand within its record. If not, a record with versions is its head alone.
    pub(crate) has_home: bool,
}

impl Inside {
    /// The bytes of a record's head, and the number of words that follow it: those of its data or of the version within
    /// it, and the link to the versions kept beside data.
    const fn of<S: Shape>(self, words: u32) -> (usize, usize) {
        let words = words as usize + self.keeps_versions as usize;
        match S::Data::KIND {
            DataKind::InPlace | DataKind::Owned => (head_bytes::<S>(), words),
            DataKind::Versioned if self.has_home => (head_bytes::<S>(), words),
            DataKind::Versioned => (size_of::<VersionedHead<S>>().next_multiple_of(8), 0),
        }
    }

    /// The bytes of a record that is `words` words wide.
    pub(crate) const fn bytes<S: Shape>(self, words: u32) -> usize {
        let (head, tail) = self.of::<S>(words);
        head + tail * 8
    }
}

/// Bytes before the words within a record.
const fn head_bytes<S: Shape>() -> usize {
    let bytes = match S::Data::KIND {
        DataKind::InPlace => size_of::<InPlaceHead<S>>(),
        DataKind::Versioned => size_of::<HomeHead<S>>(),
        DataKind::Owned => size_of::<OwnedHead<S>>(),
    };
    bytes.next_multiple_of(8)
}

/// Makes the memory at `at` a record, `words` words wide, with a default header and no value.
///
/// # Safety
/// `at` is aligned to 8 bytes and has room for [so many bytes](Inside::bytes), and nobody else knows it.
pub(crate) unsafe fn build<S: Shape>(at: Block, words: u32, inside: Inside) {
    const { assert!(align_of::<S::Header>() <= 8 && align_of::<S::Version>() <= 8) };
    let (head, tail) = inside.of::<S>(words);
    // SAFETY: the caller gives room for head and words.
    let data = unsafe { at.add(head) };
    // SAFETY: as above; zero is a valid word, atomic or not, and a null link.
    unsafe { data.write_bytes(0, tail * 8) };
    match S::Data::KIND {
        DataKind::InPlace => {
            let head = InPlaceHead::<S> { header: S::Header::default() };
            // SAFETY: the caller gives room and sole use.
            unsafe { at.cast().write(head) };
        }
        DataKind::Versioned => {
            let head = VersionedHead::<S> { header: S::Header::default(), newest: AtomicPtr::default() };
            if inside.has_home {
                // SAFETY: the caller gives room and sole use.
                unsafe { at.cast().write(HomeHead { head, inline: VersionHead::default() }) };
            } else {
                // SAFETY: as above.
                unsafe { at.cast().write(head) };
            }
        }
        DataKind::Owned => {
            let head = OwnedHead::<S> { header: S::Header::default(), owner: AtomicPtr::default() };
            // SAFETY: the caller gives room and sole use.
            unsafe { at.cast().write(head) };
        }
    }
}

/// Asks for the cache lines of a block of memory ahead of their use. Of a large one it asks for the first lines only;
/// the processor goes on from there by itself.
#[inline]
pub(crate) fn prefetch(block: Block, bytes: usize) {
    prefetch_from(0, block, bytes);
}

/// As [`prefetch`], for a block whose first line was asked for already.
#[inline]
pub(crate) fn prefetch_rest(block: Block, bytes: usize) {
    prefetch_from(LINE, block, bytes);
}

#[inline]
fn prefetch_from(first: usize, block: Block, bytes: usize) {
    let within = block.as_ptr() as usize % LINE;
    let start = block.as_ptr().wrapping_sub(within);
    // No iterator: its setup takes longer than the two or three turns that most blocks need.
    let (mut line, end) = (first, (within + bytes).min(PREFETCHED_MAX));
    while line < end {
        sync::hint::prefetch(start.wrapping_add(line));
        line += LINE;
    }
}

/// A record: one column group of one row, or several of them.
pub struct RecordRef<'db, S: Shape> {
    at: NonNull<u8>,
    words: u32,
    table: TableId,
    group: u16,
    db: PhantomData<&'db S>,
}

// SAFETY: a record is shared between workers by design: what is reached through a `RecordRef` alone is
// atomic, and `S::Header` is `Sync`.
unsafe impl<S: Shape> Send for RecordRef<'_, S> {}
// SAFETY: as above.
unsafe impl<S: Shape> Sync for RecordRef<'_, S> {}

impl<'db, S: Shape> RecordRef<'db, S> {
    /// # Safety
    /// Invariants (1) and (2): `at` is a built record of group `group` of table `table`, `words` wide, of
    /// a database that lives for `'db`.
    #[inline]
    pub(crate) unsafe fn new(at: Block, words: u32, table: TableId, group: u16) -> Self {
        Self { at, words, table, group, db: PhantomData }
    }

    /// The scheme's header.
    #[inline]
    pub fn header(self) -> &'db S::Header {
        // SAFETY: invariant (1); the header is the first field of every kind of head.
        unsafe { self.at.cast().as_ref() }
    }

    /// The record's table.
    #[inline]
    pub fn table(self) -> TableId {
        self.table
    }

    /// The record's column group; the first where several share it.
    #[inline]
    pub fn group(self) -> usize {
        usize::from(self.group)
    }

    /// The width of the record's data in 8-byte words.
    #[inline]
    pub fn width(self) -> usize {
        self.words as usize
    }

    /// An id that tells records apart and orders them: records are locked in ascending order. Within a row the column
    /// groups ascend.
    #[inline]
    pub fn id(self) -> usize {
        self.at.as_ptr() as usize
    }

    /// Asks for the record's first cache line, which has its head, ahead of a write.
    #[inline]
    pub fn prefetch_for_write(self) {
        sync::hint::prefetch_for_write(self.at.as_ptr());
    }

    /// The address of the words of a record without versions.
    #[inline]
    pub(crate) fn data(self) -> NonNull<u64> {
        assert!(
            !matches!(S::Data::KIND, DataKind::Versioned),
            "of a record with versions these have the words"
        );
        // SAFETY: invariant (1): the words follow the head within the same block.
        unsafe { self.at.add(head_bytes::<S>()) }.cast()
    }

    /// The link to the versions kept beside the data.
    ///
    /// # Safety
    /// The record's database keeps versions: invariant (3).
    #[inline]
    pub(crate) unsafe fn kept(self) -> &'db AtomicPtr<VersionHead<S>> {
        // SAFETY: the caller says that the link is there, behind the words.
        let link = unsafe { self.data().add(self.width()) };
        // SAFETY: as above; `build` made it null, and it is accessed only as this.
        unsafe { link.cast().as_ref() }
    }
}

impl<'db, S: Shape<Data = InPlace>> RecordRef<'db, S> {
    /// The record's words, which may be overwritten at any time.
    #[inline]
    fn words(self) -> &'db [AtomicU64] {
        // SAFETY: invariants (1) and (2); an atomic word has the layout of a word.
        unsafe { NonNull::slice_from_raw_parts(self.data().cast(), self.width()).as_ref() }
    }

    /// Copies the record's words. The copy may be torn: the scheme's header tells afterwards.
    ///
    /// # Panics
    /// When `to` has another width.
    #[inline]
    pub fn load(self, to: &mut [u64]) {
        sync::words::load(self.words(), to);
    }

    /// Overwrites the record's words; the scheme's lock keeps other writers out.
    ///
    /// # Panics
    /// When `from` has another width.
    #[inline]
    pub fn store(self, from: &[u64]) {
        sync::words::store(self.words(), from);
    }

    /// As [`store`](Self::store), from words of another place that nobody writes meanwhile.
    ///
    /// # Panics
    /// When `from` has another width.
    #[inline]
    pub fn store_from(self, from: &[AtomicU64]) {
        sync::words::copy(self.words(), from);
    }
}

/// Resets the record to the state after `build`, except for the data: the row's memory is about to serve another key.
pub(crate) fn reset<S: Shape>(record: RecordRef<'_, S>, owner: *const Partition) {
    record.header().reset();
    match S::Data::KIND {
        DataKind::InPlace => {}
        DataKind::Versioned => {
            // Relaxed: publishing the record orders the store.
            record.versioned().newest.store(core::ptr::null_mut(), Ordering::Relaxed);
            // The inline version is free already, or becomes free when the slot that cut it off a chain has waited
            // long enough. If it were freed here, too, that slot would free it once more while it is in use.
        }
        DataKind::Owned => {
            // Relaxed: publishing the record orders the store.
            record.owned().owner.store(owner.cast_mut(), Ordering::Relaxed);
        }
    }
}

impl<'db, S: Shape> RecordRef<'db, S> {
    #[inline]
    pub(crate) fn versioned(self) -> &'db VersionedHead<S> {
        assert!(matches!(S::Data::KIND, DataKind::Versioned), "only versioned records have versions");
        // SAFETY: invariant (1), and `build` made a versioned head for this kind of data.
        unsafe { self.at.cast().as_ref() }
    }

    #[inline]
    pub(crate) fn at(self) -> Block {
        self.at
    }

    /// The version that may stand within the record.
    ///
    /// # Safety
    /// The record was built with room for it.
    #[inline]
    pub(crate) unsafe fn inline(self) -> NonNull<VersionHead<S>> {
        // SAFETY: the caller says that the record has room for a version, at this offset.
        unsafe { self.at.add(offset_of!(HomeHead<S>, inline)) }.cast()
    }

    #[inline]
    pub(crate) fn owned(self) -> &'db OwnedHead<S> {
        assert!(matches!(S::Data::KIND, DataKind::Owned), "only owned records have owners");
        // SAFETY: invariant (1), and `build` made an owned head for this kind of data.
        unsafe { self.at.cast().as_ref() }
    }
}

impl<S: Shape> Clone for RecordRef<'_, S> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Shape> Copy for RecordRef<'_, S> {}

impl<S: Shape> PartialEq for RecordRef<'_, S> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl<S: Shape> Eq for RecordRef<'_, S> {}

impl<S: Shape> fmt::Debug for RecordRef<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordRef({}.{} at {:p})", self.table.0, self.group, self.at)
    }
}
