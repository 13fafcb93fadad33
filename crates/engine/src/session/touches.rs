//! Announcements of index searches and changes to schemes that plan, before they are made: see [`Touch`].

use core::iter;
use core::ops::Bound;

use storage::{AnyKey, CoreKey, NextNode, RowRef, Shape, TableStore, Which};
use sync::clock;

use super::{Attempt, Place};
use crate::driver::Driver;
use crate::footprint::{Known, KnownKey};
use crate::meter::Phase;
use crate::{Abort, Observer, Planning, Scheme, Sink, Spot, Step, Touch};

/// Instructions of a key that an input states, beyond the search for its row: to state it, to enter it into a footprint
/// and a plan, and to take over what was found and planned.
const STATED_INSTRUCTIONS: u64 = 300;

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

    /// The row of a primary key, after an announcement: without a search if it was found before the batch was planned.
    // Always: the search is a call of its own, so that a row that was found ahead does not pay for saving registers.
    #[inline(always)]
    pub(super) fn find_as_planned<K: CoreKey>(
        &mut self,
        store: &'db TableStore<S>,
        key: K,
    ) -> Result<Option<RowRef<'db, S>>, Abort> {
        if self.session.is_planned()
            && let Some((row, spot)) = self.session.found.next(store, key)
        {
            self.touch(|| Touch::Seek(spot))?;
            self.session.meter.switch(Phase::Useful);
            return Ok(Some(row));
        }
        self.search(store, key)
    }

    /// The same of a row that was not found before.
    #[inline(never)]
    fn search<K: CoreKey>(
        &mut self,
        store: &'db TableStore<S>,
        key: K,
    ) -> Result<Option<RowRef<'db, S>>, Abort> {
        let spot = spot(store, Which::Primary, key);
        self.touch(|| Touch::Seek(spot))?;
        let found = self.find(store, key)?;
        if self.session.step == Step::Rehearsal
            && let Some(row) = found
        {
            let place = Place { table: store.id(), which: Which::Primary, key: key.any() };
            // A row that the rehearsal has inserted is gone when it ends.
            if self.session.private.is_empty() || self.session.private.find(place).is_none() {
                _ = self.session.found.push(key, spot, row, None);
            }
        }
        Ok(found)
    }

    /// Announces the removal from an index of a key of a row that the attempt has found.
    pub(super) fn touch_removed(&mut self, row: RowRef<'db, S>, place: Place) -> Result<(), Abort> {
        self.touch(|| removal(row.table(), place.which, place.key))
    }

    /// Finds what the input is known to touch, and tells the scheme that it will be touched.
    pub(crate) fn foresee(&mut self, known: &[KnownKey]) -> Result<(), Abort>
    where
        S: Planning,
    {
        clock::compute(STATED_INSTRUCTIONS * known.len() as u64);
        known.iter().try_for_each(|next| match next.key {
            AnyKey::One(key) if !O::ANY_WIDTH => self.foresee_one(next, key),
            _ => self.foresee_wide(next),
        })
    }

    /// As `foresee_one`, for a key of any width: a call, so that no key of one word is copied as if it were wide.
    #[inline(never)]
    fn foresee_wide(&mut self, known: &KnownKey) -> Result<(), Abort>
    where
        S: Planning,
    {
        self.foresee_one(known, known.key)
    }

    #[inline]
    fn foresee_one<K: CoreKey>(&mut self, known: &KnownKey, key: K) -> Result<(), Abort>
    where
        S: Planning,
    {
        let (scheme, store) = (self.session.db.scheme(), self.tables().get(known.table));
        if let Known::Insert(which) = known.how {
            return self.foresee_insert(known, (store, which, key));
        }
        let spot = spot(store, Which::Primary, key);
        self.touch(|| Touch::Seek(spot))?;
        let txn = &mut self.session.txn;
        let found = key.get(store.index(Which::Primary), |leaf| scheme.read_gaps(txn, leaf))?;
        let Some(row) = found else { return Ok(()) };
        let group = usize::from(known.group);
        // The plan comes to the record's head soon, and the execution to all of it.
        if self.session.found.push(key, spot, row, Some(known.group)) {
            row.prefetch_head(group);
        } else {
            row.prefetch(iter::once(group));
        }
        scheme.foresee(&mut self.session.txn, row.record(group), known.how == Known::Write)
    }

    /// The same for a key that is added to an index. Its row is looked for because it may be there.
    fn foresee_insert<K: CoreKey>(
        &mut self,
        known: &KnownKey,
        (store, which, key): (&'db TableStore<S>, Which, K),
    ) -> Result<(), Abort>
    where
        S: Planning,
    {
        self.touch(|| addition(store, which, key))?;
        if !is_sought(store, known) {
            return Ok(());
        }
        let (scheme, txn) = (self.session.db.scheme(), &mut self.session.txn);
        let found = key.get(store.index(Which::Primary), |leaf| scheme.read_gaps(txn, leaf))?;
        let Some(row) = found else { return Ok(()) };
        let group = usize::from(known.group);
        row.prefetch(iter::once(group));
        scheme.foresee(&mut self.session.txn, row.record(group), false)
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

/// Whether the row of a key is looked for. Of a row that is numbered the stretch says all, and a secondary key is not
/// looked for before it is added.
fn is_sought<S: Shape>(store: &TableStore<S>, known: &KnownKey) -> bool {
    match known.how {
        Known::Insert(which) => which == Which::Primary && !store.is_numbered(),
        Known::Read | Known::Write => true,
    }
}

/// Asks for the memory of the index in which a key is looked for, and says where the search goes on.
#[inline]
pub(super) fn prefetch<'db, S: Shape>(store: &'db TableStore<S>, known: &KnownKey) -> Option<NextNode<'db>> {
    if is_sought(store, known) { store.index(Which::Primary).prefetch_any(&known.key) } else { None }
}

/// The number of an index, from which those of its keys follow.
#[inline]
fn of_index<S: Shape>(store: &TableStore<S>, which: Which) -> u64 {
    let within = match which {
        Which::Primary => 0,
        Which::Secondary { group, position } => 1 + (u64::from(group) << 16 | u64::from(position)),
    };
    (u64::from(store.id().0) << 33 | within).hash()
}

/// The number of the stretch of a key.
#[inline]
fn stretch<S: Shape, K: CoreKey>(store: &TableStore<S>, which: Which, key: K) -> u64 {
    (!of_index(store, which)).wrapping_add(key.prefix(store.suffix_bits(which)).hash()).hash()
}

/// A key of an index.
#[inline]
pub(super) fn spot<S: Shape, K: CoreKey>(store: &TableStore<S>, which: Which, key: K) -> Spot {
    let is_numbered = store.is_numbered();
    let number = if is_numbered {
        stretch(store, which, key)
    } else {
        of_index(store, which).wrapping_add(key.hash()).hash()
    };
    Spot { number, is_numbered }
}

/// The announcement of the addition of a key.
#[inline]
pub(super) fn addition<S: Shape, K: CoreKey>(store: &TableStore<S>, which: Which, key: K) -> Touch {
    Touch::Add(spot(store, which, key), stretch(store, which, key))
}

/// The announcement of the removal of a key.
fn removal<S: Shape, K: CoreKey>(store: &TableStore<S>, which: Which, key: K) -> Touch {
    Touch::Remove(spot(store, which, key), stretch(store, which, key))
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
    let [from, to] = [end(from, least), end(to, greatest)].map(|key| stretch(store, which, key));
    if from == to { Touch::Scan(from, store.is_numbered()) } else { Touch::ScanAcross }
}
