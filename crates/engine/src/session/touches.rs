//! Announcements of index searches and changes to schemes that plan, before they are made: see [`Touch`].

use core::ops::Bound;

use storage::{CoreKey, RowRef, Shape, TableStore, Which};

use super::{Attempt, Place};
use crate::driver::Driver;
use crate::{Abort, Observer, Scheme, Sink, Spot, Touch};

impl<'db, S: Scheme, O: Observer, L: Sink> Attempt<'_, 'db, S, O, L> {
    /// Announces an index lookup or change to the scheme, if the scheme plans.
    #[inline]
    pub(super) fn touch(&mut self, touch: impl FnOnce() -> Touch) -> Result<(), Abort> {
        let session = &mut *self.session;
        if S::Driver::PLANS {
            S::Driver::touch(session.db.scheme(), &mut session.txn, touch())
        } else {
            Ok(())
        }
    }

    /// Announces the removal from an index of a key of a row that the attempt has found.
    pub(super) fn touch_removed(&mut self, row: RowRef<'db, S>, place: Place) -> Result<(), Abort> {
        self.touch(|| Touch::Remove(spot(row.table(), place.which, place.key)))
    }

    /// Announces that a scan has come to a row by the key of a secondary index.
    #[inline]
    pub(super) fn touch_met<K: CoreKey>(
        &mut self,
        row: RowRef<'db, S>,
        which: Which,
        key: K,
    ) -> Result<(), Abort> {
        match which {
            Which::Primary => Ok(()),
            Which::Secondary { group, position } => self.touch(|| {
                let primary = row.table().primary_key(group, position, key.any());
                Touch::Meet(spot(row.table(), Which::Primary, primary))
            }),
        }
    }
}

/// The numbers of a key of an index.
#[inline]
pub(super) fn spot<S: Shape, K: CoreKey>(store: &TableStore<S>, which: Which, key: K) -> Spot {
    let within = match which {
        Which::Primary => 0,
        Which::Secondary { group, position } => 1 + (u64::from(group) << 16 | u64::from(position)),
    };
    let index = (u64::from(store.id().0) << 33 | within).hash();
    Spot {
        key: index.wrapping_add(key.hash()).hash(),
        stretch: (!index).wrapping_add(key.prefix(store.suffix_bits(which)).hash()).hash(),
        is_numbered: store.is_numbered(),
    }
}

/// The announcement of a scan of a range of keys.
#[inline]
pub(super) fn range<S: Shape, K: CoreKey>(
    store: &TableStore<S>,
    which: Which,
    (from, to): (Bound<K>, Bound<K>),
) -> Touch {
    let end = |bound, open| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => open,
    };
    let [least, greatest] = K::ends(store.key_words(which));
    let [from, to] = [end(from, least), end(to, greatest)].map(|key| spot(store, which, key));
    if from.stretch == to.stretch { Touch::Scan(from.stretch, from.is_numbered) } else { Touch::ScanAcross }
}
