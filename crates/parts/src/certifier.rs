//! Certifiers: they decide, beyond snapshot isolation or read committed, whether an attempt may commit. The scheme that
//! has a certifier tells it the attempt's reads and writes, and asks it once the attempt's number is drawn.

use core::fmt::Debug;

use engine::setting::{Range, Setting, Settings};
use engine::{Abort, Env, Facts, Info, Retire, Ticket};
use storage::{LeafMeta, LeafRef, RecordRef, Shape, Slot, VersionRef};

use crate::version_chain::{self, ChainHead, Chained, Stamped};
use crate::{PendingWrites, Timestamps};

/// Schemes whose versions and leaves carry the metadata of a certifier.
pub trait Certified<C: Certifier>:
    Chained + Shape<Header = ChainHead, Version = C::Version, Leaf = C::Leaf>
{
}
impl<C: Certifier, S: Chained + Shape<Header = ChainHead, Version = C::Version, Leaf = C::Leaf>> Certified<C>
    for S
{
}

/// The commits that an attempt sees.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotView {
    /// The number of the last commit when the attempt began, or, for an attempt that sees a past state, when that state
    /// was present.
    pub snapshot: u64,
    /// The snapshot, or a greater number if the attempt sees later commits.
    pub sees: u64,
}

impl SnapshotView {
    /// The view of a snapshot alone.
    #[inline]
    pub fn of(snapshot: u64) -> Self {
        Self { snapshot, sees: snapshot }
    }
}

/// Certifies that an attempt may commit, beyond snapshot isolation. The provided methods do nothing.
pub trait Certifier: Sized + Debug + Send + Sync + 'static {
    /// Static facts about the scheme that results from snapshot isolation and this certifier.
    const INFO: Info;
    /// The certifier's settings, one of which is declared by [`wait_us`].
    type Settings: Settings;
    /// The metadata of versions.
    type Version: Stamped;
    /// The metadata of leaves.
    type Leaf: LeafMeta;
    /// The certifier's private state of an attempt.
    type Certificate<'db, S: Certified<Self>>: Debug + Default + Send;

    /// Makes a certifier for a new database.
    fn new(settings: &Self::Settings, env: Env) -> Self;

    /// Returns how long a retry waits for the writer that it lost to, in microseconds.
    fn wait_us(settings: &Self::Settings) -> u64;

    /// See [`Scheme::facts`](engine::Scheme::facts).
    fn facts(_settings: &Self::Settings) -> Facts {
        Facts::of(&Self::INFO)
    }

    /// Makes the source of snapshots and of the numbers of commits.
    fn numbers(&self, slots: usize) -> Timestamps {
        Timestamps::new(slots)
    }

    /// Begins an attempt, and returns its view.
    #[inline]
    fn begin<S: Certified<Self>>(
        &self,
        _certificate: &mut Self::Certificate<'_, S>,
        slot: usize,
        commits: &Timestamps,
        _ticket: &Ticket,
    ) -> SnapshotView {
        SnapshotView::of(commits.snapshot(slot))
    }

    /// Called when the attempt reads a version of a record, or finds none. `_over` is the later version that it does
    /// not see.
    #[inline]
    fn read<'db, S: Certified<Self>>(
        &self,
        _certificate: &mut Self::Certificate<'db, S>,
        _slot: &Slot<'db, S>,
        _record: RecordRef<'db, S>,
        _version: Option<VersionRef<'db, S>>,
        _over: Option<VersionRef<'db, S>>,
    ) -> Result<(), Abort> {
        Ok(())
    }

    /// Called when the attempt has put a version of its own over another one, or over none.
    #[inline]
    fn wrote<'db, S: Certified<Self>>(
        _certificate: &mut Self::Certificate<'db, S>,
        _record: RecordRef<'db, S>,
        _over: Option<VersionRef<'db, S>>,
    ) {
    }

    /// Whether an attempt may pass over a version with the mark of a commit being decided, because that commit comes
    /// after the snapshot. The writer of a version that must not be passed may have given up all versions before its
    /// own.
    #[inline]
    fn passes<S: Certified<Self>>(&self, _version: VersionRef<'_, S>, _mark: u64, _snapshot: u64) -> bool {
        false
    }

    /// See [`Scheme::read_gaps`](engine::Scheme::read_gaps). A key that enters later leads to versions that the
    /// snapshot does not show.
    #[inline]
    fn read_gaps<'db, S: Certified<Self>>(
        _certificate: &mut Self::Certificate<'db, S>,
        _leaf: LeafRef<'db, Self::Leaf>,
    ) {
    }

    /// See [`Scheme::entering`](engine::Scheme::entering).
    #[inline]
    fn entering<S: Certified<Self>>(_record: RecordRef<'_, S>, _leaf: &Self::Leaf) -> Result<(), Abort> {
        Ok(())
    }

    /// See [`Scheme::added`](engine::Scheme::added).
    #[inline]
    fn added<'db, S: Certified<Self>>(
        _certificate: &mut Self::Certificate<'db, S>,
        _before: LeafRef<'db, Self::Leaf>,
        _after: u64,
    ) {
    }

    /// See [`Scheme::reusing`](engine::Scheme::reusing).
    #[inline]
    fn reusing<S: Certified<Self>>(_certificate: &mut Self::Certificate<'_, S>) {}

    /// See [`Scheme::split`](engine::Scheme::split).
    #[inline]
    fn split<'db, S: Certified<Self>>(
        _certificate: &mut Self::Certificate<'db, S>,
        _from: LeafRef<'db, Self::Leaf>,
        _after: u64,
        _into: LeafRef<'db, Self::Leaf>,
    ) {
    }

    /// The number of numbers that a commit takes, the last of which is its own.
    #[inline]
    fn space<S: Certified<Self>>(_writes: &PendingWrites<'_, S>) -> u64 {
        1
    }

    /// Draws the number of a commit that takes so much [`space`](Self::space). [`ended`](Self::ended) is called after
    /// it.
    #[inline]
    fn draw(&self, _slot: usize, commits: &Timestamps, space: u64) -> u64 {
        commits.draw_space(space)
    }

    /// Decides on a commit with this number, or, without a number, on an attempt whose writes do not count.
    #[inline]
    fn certify<'db, S: Certified<Self>>(
        &self,
        _certificate: &mut Self::Certificate<'db, S>,
        _slot: &Slot<'db, S>,
        _writes: &PendingWrites<'db, S>,
        _number: Option<u64>,
    ) -> Result<(), Abort> {
        Ok(())
    }

    /// Called when a version of a commit is about to get this number.
    #[inline]
    fn numbered<S: Certified<Self>>(
        _certificate: &Self::Certificate<'_, S>,
        _version: &Self::Version,
        _number: u64,
    ) {
    }

    /// Called when the commit for which a number was drawn is over. If it was made, all its versions have the `number`,
    /// and no attempt looks below the `watermark`.
    #[inline]
    fn ended<S: Certified<Self>>(
        &self,
        _certificate: &Self::Certificate<'_, S>,
        _slot: usize,
        _made: Option<Made>,
    ) {
    }

    /// Called when an attempt is over, however it ended.
    #[inline]
    fn left<S: Certified<Self>>(&self, _certificate: &mut Self::Certificate<'_, S>, _slot: usize) {}

    /// See [`Scheme::maintain`](engine::Scheme::maintain).
    fn maintain(&self, _commits: &Timestamps) {}

    /// See [`Scheme::watermark`](engine::Scheme::watermark).
    #[inline]
    fn watermark(&self, _commits: &Timestamps) -> Option<u64> {
        None
    }

    /// See [`Scheme::retire`](engine::Scheme::retire).
    fn retire<S: Certified<Self>>(
        record: RecordRef<'_, S>,
        _leaf: &Self::Leaf,
        is_past: impl Fn(u64) -> bool,
    ) -> Retire {
        version_chain::retire(record, is_past).0
    }

    /// See [`Scheme::leaving`](engine::Scheme::leaving). An attempt that began earlier may see a version that has the
    /// key.
    fn leaving<S: Certified<Self>>(
        record: RecordRef<'_, S>,
        _leaf: &Self::Leaf,
        is_past: impl Fn(u64) -> bool,
    ) -> Retire {
        version_chain::leaving(record, is_past)
    }
}

/// A commit that was made.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// The number of the commit.
    pub number: u64,
    /// See [`Timestamps::watermark`].
    pub watermark: u64,
}

/// Declares the setting of [`Certifier::wait_us`].
pub const fn wait_us(name: &'static str) -> Setting {
    Setting {
        name,
        default: "1000",
        range: Range::Int(0, 10_000_000),
        unit: "us",
        doc: "How long a retry waits, before it begins, for the decision of the writer that it lost to; waiting \
              pays where records are written often, 0 where transactions wait for their clients while they write.",
        stresses: "how many attempts are wasted on records that are written often",
    }
}
