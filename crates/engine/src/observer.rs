//! The seam of the history recorder: what hears of each read, scan, install and outcome.

use storage::{LeafRef, RecordRef, Shape};

use crate::{Abort, Stamp};

/// Hears what attempts see and do. `()` hears nothing and compiles to nothing.
///
/// Which version was read is told by the value itself: an observed database gives each value a mark of
/// its writer, so that what a read really returned is recorded, not what a scheme's metadata claims.
pub trait Observer {
    /// Whether it listens.
    const ON: bool;

    /// An attempt saw a value, or that there is none.
    fn read<S: Shape>(&mut self, record: RecordRef<'_, S>, value: Option<&[u64]>);

    /// An attempt saw a leaf of an index.
    fn scanned<S: Shape>(&mut self, leaf: LeafRef<'_, S::Leaf>);

    /// A commit replaced `before`, as storage held it, by `after`.
    fn installed<S: Shape>(
        &mut self,
        record: RecordRef<'_, S>,
        before: Option<&[u64]>,
        after: Option<&[u64]>,
    );

    /// An attempt ended.
    fn outcome(&mut self, outcome: Result<Stamp, Abort>);
}

impl Observer for () {
    const ON: bool = false;

    #[inline]
    fn read<S: Shape>(&mut self, _: RecordRef<'_, S>, _: Option<&[u64]>) {}

    #[inline]
    fn scanned<S: Shape>(&mut self, _: LeafRef<'_, S::Leaf>) {}

    #[inline]
    fn installed<S: Shape>(&mut self, _: RecordRef<'_, S>, _: Option<&[u64]>, _: Option<&[u64]>) {}

    #[inline]
    fn outcome(&mut self, _: Result<Stamp, Abort>) {}
}
