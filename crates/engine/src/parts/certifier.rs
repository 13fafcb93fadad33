//! Certifiers: what decides, beyond snapshot isolation or read committed, whether an attempt may commit. The scheme
//! that has one tells it what an attempt reads and writes, and asks it once the attempt's number is drawn.

use core::fmt::Debug;

use storage::{LeafMeta, LeafRef, RecordRef, Shape, Slot, VersionRef};

use super::version_chain::{self, ChainHead, Chained, Stamped};
use super::{PendingWrites, Timestamps};
use crate::setting::{Range, Setting, Values};
use crate::{Abort, Env, Info, Isolation, Retire, Ticket, Views};

/// Schemes whose versions and leaves carry what a certifier wants.
pub trait Certified<C: Certifier>:
    Chained + Shape<Header = ChainHead, Version = C::Version, Leaf = C::Leaf>
{
}
impl<C: Certifier, S: Chained + Shape<Header = ChainHead, Version = C::Version, Leaf = C::Leaf>> Certified<C>
    for S
{
}

/// What an attempt sees.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The last commit that was made when it began, or when its state of the past was.
    pub snapshot: u64,
    /// The snapshot, or beyond it if it sees what is committed later.
    pub sees: u64,
}

impl View {
    /// Of a snapshot alone.
    #[inline]
    pub fn of(snapshot: u64) -> Self {
        Self { snapshot, sees: snapshot }
    }
}

/// What certifies that an attempt may commit, beyond snapshot isolation. What is provided does nothing.
pub trait Certifier: Sized + Debug + Send + Sync + 'static {
    /// What is known of the scheme that this makes of snapshot isolation.
    const INFO: Info;
    /// Its settings, one of which is the next.
    const SETTINGS: &'static [Setting];
    /// The setting that says how long a retry waits for the writer that it lost to.
    const WAIT_US: &'static str;
    /// What versions and leaves carry.
    type Version: Stamped;
    /// See [`Version`](Self::Version).
    type Leaf: LeafMeta;
    /// What is known of an attempt.
    type Certificate<'db, S: Certified<Self>>: Debug + Default + Send;

    /// For a new database.
    fn new(values: &Values, env: Env) -> Self;

    /// See [`Scheme::isolation`](crate::Scheme::isolation).
    fn isolation(_values: &Values) -> Isolation {
        Self::INFO.isolation
    }

    /// See [`Scheme::views`](crate::Scheme::views).
    fn views(_values: &Values) -> Views {
        Self::INFO.views
    }

    /// See [`Scheme::has_versions_apart`](crate::Scheme::has_versions_apart).
    fn has_versions_apart(_values: &Values) -> bool {
        false
    }

    /// Where snapshots and the numbers of commits come from.
    fn numbers(&self, slots: usize) -> Timestamps {
        Timestamps::new(slots)
    }

    /// An attempt begins, and sees this.
    #[inline]
    fn begin<S: Certified<Self>>(
        &self,
        _certificate: &mut Self::Certificate<'_, S>,
        slot: usize,
        commits: &Timestamps,
        _ticket: &Ticket,
    ) -> View {
        View::of(commits.snapshot(slot))
    }

    /// It reads a version of a record, or that there is none, although there is a later one, `over`.
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

    /// It has put a version of its own over one, or none.
    #[inline]
    fn wrote<'db, S: Certified<Self>>(
        _certificate: &mut Self::Certificate<'db, S>,
        _record: RecordRef<'db, S>,
        _over: Option<VersionRef<'db, S>>,
    ) {
    }

    /// Whether it may pass a version with the mark of a commit being decided, because that comes after the snapshot.
    /// What does not may have given up all versions before its own.
    #[inline]
    fn passes<S: Certified<Self>>(&self, _version: VersionRef<'_, S>, _mark: u64, _snapshot: u64) -> bool {
        false
    }

    /// See [`Scheme::read_gaps`](crate::Scheme::read_gaps). A key that enters later leads to versions that the snapshot
    /// does not show.
    #[inline]
    fn read_gaps<'db, S: Certified<Self>>(
        _certificate: &mut Self::Certificate<'db, S>,
        _leaf: LeafRef<'db, Self::Leaf>,
    ) {
    }

    /// See [`Scheme::entering`](crate::Scheme::entering).
    #[inline]
    fn entering<S: Certified<Self>>(_record: RecordRef<'_, S>, _leaf: &Self::Leaf) -> Result<(), Abort> {
        Ok(())
    }

    /// See [`Scheme::added`](crate::Scheme::added).
    #[inline]
    fn added<'db, S: Certified<Self>>(
        _certificate: &mut Self::Certificate<'db, S>,
        _before: LeafRef<'db, Self::Leaf>,
        _after: u64,
    ) {
    }

    /// See [`Scheme::split`](crate::Scheme::split).
    #[inline]
    fn split<'db, S: Certified<Self>>(
        _certificate: &mut Self::Certificate<'db, S>,
        _from: LeafRef<'db, Self::Leaf>,
        _after: u64,
        _into: LeafRef<'db, Self::Leaf>,
    ) {
    }

    /// How many numbers a commit takes, of which it has the last.
    #[inline]
    fn space<S: Certified<Self>>(_writes: &PendingWrites<'_, S>) -> u64 {
        1
    }

    /// Draws the number of a commit that takes so much [`space`](Self::space), which [`ended`](Self::ended) follows.
    #[inline]
    fn draw(&self, _slot: usize, commits: &Timestamps, space: u64) -> u64 {
        commits.draw_space(space)
    }

    /// Decides on a commit with this number, or on an attempt without, whose writes count for nothing.
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

    /// A version of a commit is about to get this number.
    #[inline]
    fn numbered<S: Certified<Self>>(
        _certificate: &Self::Certificate<'_, S>,
        _version: &Self::Version,
        _number: u64,
    ) {
    }

    /// The commit for which a number was drawn is over. If it was made, all its versions have the `number`; nobody
    /// looks below the `watermark`.
    #[inline]
    fn ended<S: Certified<Self>>(
        &self,
        _certificate: &Self::Certificate<'_, S>,
        _slot: usize,
        _made: Option<Made>,
    ) {
    }

    /// An attempt is over, however it ended.
    #[inline]
    fn left<S: Certified<Self>>(&self, _certificate: &mut Self::Certificate<'_, S>, _slot: usize) {}

    /// See [`Scheme::maintain`](crate::Scheme::maintain).
    fn maintain(&self, _commits: &Timestamps) {}

    /// See [`Scheme::watermark`](crate::Scheme::watermark).
    #[inline]
    fn watermark(&self, _commits: &Timestamps) -> Option<u64> {
        None
    }

    /// See [`Scheme::retire`](crate::Scheme::retire).
    fn retire<S: Certified<Self>>(
        record: RecordRef<'_, S>,
        _leaf: &Self::Leaf,
        is_past: impl Fn(u64) -> bool,
    ) -> Retire {
        version_chain::retire(record, is_past).0
    }

    /// See [`Scheme::leaving`](crate::Scheme::leaving). Whoever began earlier may see a version that has the key.
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
    /// Its number.
    pub number: u64,
    /// See [`Timestamps::watermark`].
    pub watermark: u64,
}

/// The setting [`Certifier::WAIT_US`].
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
