//! The seam of the log: what hears of each installed write.

use storage::{RecordRef, Shape};

use crate::Stamp;

/// Hears of the writes of committing transactions, at their install. A stamp's epoch is drawn between
/// validation and the first install, so that a prefix of epochs is closed. `()` hears nothing and
/// compiles to nothing.
pub trait Sink {
    /// Whether it listens: a scheme may skip the preparation when it does not.
    const ON: bool;

    /// A record was given the value `row`, or lost its value, by the commit `stamp`.
    fn logged<S: Shape>(&mut self, stamp: Stamp, record: RecordRef<'_, S>, row: Option<&[u64]>);
}

impl Sink for () {
    const ON: bool = false;

    #[inline]
    fn logged<S: Shape>(&mut self, _: Stamp, _: RecordRef<'_, S>, _: Option<&[u64]>) {}
}
