//! The seam of the log: what hears of each installed write.

use storage::{AnyKey, RecordRef, Shape};

use crate::Stamp;

/// Hears of the writes of committing transactions. `()` hears nothing and compiles to nothing.
///
/// A sink belongs to a session, and hears of one attempt after the other, in this order: [`begin`](Self::begin); for
/// each record that the attempt may write, [`touched`](Self::touched); then, only if it commits,
/// [`committing`](Self::committing), [`logged`](Self::logged) for each record that has changed, and
/// [`committed`](Self::committed); at last [`ended`](Self::ended).
///
/// INVARIANT  Of two commits, if the second reads or overwrites what the first has written, `committing` of the first
/// comes before that of the second, and happens before it: the first installs after its own, nobody commits who has
/// seen what is not installed, and whoever writes a record passes `precommit` and, if a sink listens,
/// [`await_overwritten`](crate::Scheme::await_overwritten) after the one before has installed it.
/// So whatever is drawn at `committing` from something that only grows is an order in which a prefix is closed.
pub trait Sink {
    /// Whether it listens: a scheme may skip the preparation when it does not.
    const ON: bool;

    /// Whether it listens, where its type may or may not.
    #[inline]
    fn listens(&self) -> bool {
        Self::ON
    }

    /// An attempt begins. What the last one has touched is forgotten.
    #[inline]
    fn begin(&mut self) {}

    /// The attempt is about to write the record of this id, one of the row with this primary key. Of a heap table it
    /// is the key that the row was inserted with. Heard of again for each write of the record.
    #[inline]
    fn touched(&mut self, _record: usize, _key: AnyKey) {}

    /// The attempt will commit, and nothing that it has written is visible as committed yet.
    #[inline]
    fn committing(&mut self) {}

    /// A record was given the value `row`, or lost its value, by the commit `stamp`.
    fn logged<S: Shape>(&mut self, stamp: Stamp, record: RecordRef<'_, S>, row: Option<&[u64]>);

    /// All writes of the commit have been told of.
    #[inline]
    fn committed(&mut self) {}

    /// The attempt is over and holds nothing: who listens may wait here, and nowhere else.
    #[inline]
    fn ended(&mut self) {}
}

impl Sink for () {
    const ON: bool = false;

    #[inline]
    fn logged<S: Shape>(&mut self, _: Stamp, _: RecordRef<'_, S>, _: Option<&[u64]>) {}
}
