//! The requirements of a scheme to storage: the metadata that records, versions and leaves carry for it, and
//! the way in which a record keeps its data.

/// Metadata that storage carries for a scheme without understanding it. Shared between workers, so
/// its fields are atomic.
pub trait Meta: Default + core::fmt::Debug + Send + Sync + 'static {
    /// Resets to the state of `default()`: the memory is about to serve a new record, version or leaf.
    fn reset(&self);

    /// Copies the metadata of a sealed version to another place where the version is about to stand, if the
    /// metadata is final. Returns `false` if it may still change, or if versions are known by their places.
    fn copy_final(&self, _to: &Self) -> bool {
        false
    }
}

impl Meta for () {
    fn reset(&self) {}
}

/// Metadata of an index leaf: of the gaps between its keys.
pub trait LeafMeta: Meta {
    /// One value for each entry of a hash bucket: an array of at least one element, of [`places_beside`] this metadata
    /// as a rule.
    type Places<T: Default + Send + Sync>: AsRef<[T]> + Default + Send + Sync;

    /// Makes `to` protect whatever `self` protects, besides what it protects already. Called under the
    /// latches of both leaves when one splits off the other or absorbs it.
    fn carry(&self, to: &Self);
}

/// Returns the number of entries with one-word keys for which a bucket of a hash index has room beside metadata of so
/// many bytes: in one cache line if two of them fit, and in two lines otherwise. It is two at least, however long the
/// bucket then is. Entries with longer keys are as many, and take more lines.
pub const fn places_beside(meta_bytes: usize) -> usize {
    const LINE: usize = 64;
    const ENTRY: usize = 16;
    /// The latch, and the pointer to the next bucket.
    const HEAD: usize = 16;
    let one = LINE.saturating_sub(HEAD + meta_bytes) / ENTRY;
    let two = (2 * LINE).saturating_sub(HEAD + meta_bytes) / ENTRY;
    let fitting = if one < 2 { two } else { one };
    if fitting < 2 { 2 } else { fitting }
}

impl LeafMeta for () {
    type Places<T: Default + Send + Sync> = [T; places_beside(0)];

    fn carry(&self, (): &Self) {}
}

/// How a scheme's records look in memory.
pub trait Shape: Sized + Send + Sync + 'static {
    /// The metadata of a record, beside its data.
    type Header: Meta;
    /// The metadata of a version, also of a version that is kept beside data in place; `()` for schemes
    /// without versions.
    type Version: Meta;
    /// The metadata of an index leaf; `()` when comparing leaf versions suffices.
    type Leaf: LeafMeta;
    /// Where the data is: [`InPlace`], [`Versioned`] or [`Owned`].
    type Data: Data;
}

/// How a record keeps its data; sealed.
pub trait Data: sealed::Sealed + 'static {
    /// The kind of data: one of three.
    const KIND: DataKind;
}

/// The three ways in which a record keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// See [`InPlace`].
    InPlace,
    /// See [`Versioned`].
    Versioned,
    /// See [`Owned`].
    Owned,
}

/// One value, overwritten in place; readers copy it as racy words and validate. In a database that keeps
/// versions, a record has older versions beside it; the holder of the record's lock keeps the old value as
/// one before it overwrites it.
#[derive(Debug)]
pub enum InPlace {}

/// A chain of immutable versions, newest first; readers borrow them while pinned.
#[derive(Debug)]
pub enum Versioned {}

/// One value, overwritten in place, lent only to the holder of the partition that owns the record.
#[derive(Debug)]
pub enum Owned {}

impl Data for InPlace {
    const KIND: DataKind = DataKind::InPlace;
}
impl Data for Versioned {
    const KIND: DataKind = DataKind::Versioned;
}
impl Data for Owned {
    const KIND: DataKind = DataKind::Owned;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::InPlace {}
    impl Sealed for super::Versioned {}
    impl Sealed for super::Owned {}
}
