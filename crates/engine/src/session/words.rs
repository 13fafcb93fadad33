//! The operations of an attempt over words: numbers of tables and column groups, and rows without types. The same code
//! serves callers with types, whose shell casts rows to words and back, and callers that reach tables by number.

use core::ops::{Bound, ControlFlow, Range};

use storage::{
    AnyKey, CoreKey, Home, IndexRef, Insertion, LeafRef, Lookup, RecordRef, RowRef, SecondaryKeys, TableId,
    TableStore, Tables, Walker, Watcher, Which, accumulate,
};
use sync::plant::is_planted;

use super::moving::changed;
use super::touches::{addition, range};
use super::{Attempt, Place, Session, Unlink, installs};
use crate::Position;
use crate::driver::Driver;
use crate::meter::Phase;
use crate::observer::{Facet, mark_of, row_words, row_words_mut, set_mark};
use crate::own_writes;
use crate::{Abort, Direction, Observer, Scheme, Sink, Write, plants};

/// The homes of the rows of a key range, given by the homes of its bounds.
pub(crate) type Homes = (Bound<Home>, Bound<Home>);

/// A column group of a row as the core knows it: numbers, where the typed shell around it has types. The core is
/// compiled twice for each scheme, for keys of one word and for keys of any width ([`CoreKey`]), and not once for each
/// type of row.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) table: TableId,
    /// The number of the column group.
    pub(crate) group: u16,
}

impl Target {
    fn number(self) -> usize {
        usize::from(self.group)
    }
}

/// A row that is written, and the words of its record without the mark.
type Written<'t, 'db, S> = (RowRef<'db, S>, &'t mut [u64]);

/// Passes what happens at the leaves of an index to the scheme.
struct Watch<'w, 'db, S: Scheme> {
    scheme: &'db S,
    txn: &'w mut S::Txn<'db>,
    /// The row that enters the index.
    row: RowRef<'db, S>,
}

impl<'db, S: Scheme> Watcher<'db, S::Leaf> for Watch<'_, 'db, S> {
    type Stop = Abort;

    #[inline]
    fn adding(&mut self, leaf: LeafRef<'db, S::Leaf>) -> Result<(), Abort> {
        self.scheme.adding(self.txn, leaf)?;
        self.row.records().try_for_each(|record| self.scheme.entering(record, leaf.meta()))
    }

    #[inline]
    fn added(&mut self, before: LeafRef<'db, S::Leaf>, after: u64) {
        self.scheme.added(self.txn, before, after);
    }

    #[inline]
    fn split(&mut self, from: LeafRef<'db, S::Leaf>, after: u64, into: LeafRef<'db, S::Leaf>) {
        self.scheme.split(self.txn, from, after, into);
    }
}

impl<'db, S: Scheme, O: Observer, L: Sink> Attempt<'_, 'db, S, O, L> {
    /// Tells the scheme the homes of the keys of a range, unless they live everywhere.
    #[inline]
    pub(crate) fn reach(&mut self, (from, to): Homes) -> Result<(), Abort> {
        let home = |bound, open| match bound {
            Bound::Included(Home::At(home)) | Bound::Excluded(Home::At(home)) => Some(home),
            Bound::Included(Home::Everywhere) | Bound::Excluded(Home::Everywhere) => None,
            Bound::Unbounded => Some(open),
        };
        match (home(from, 0), home(to, u64::MAX)) {
            (Some(from), Some(to)) => {
                S::Driver::reach(self.session.db.scheme(), &mut self.session.txn, from, to)
            }
            _ => Ok(()),
        }
    }

    /// Like `reach`, for one key that lives at `home`.
    #[inline]
    pub(super) fn reach_home(&mut self, home: Home) -> Result<(), Abort> {
        match home {
            Home::At(home) => S::Driver::reach(self.session.db.scheme(), &mut self.session.txn, home, home),
            Home::Everywhere => Ok(()),
        }
    }

    /// The row of a primary key; a miss counts as read.
    #[inline(always)]
    pub(super) fn find<K: CoreKey>(
        &mut self,
        store: &'db TableStore<S>,
        key: K,
    ) -> Result<Option<RowRef<'db, S>>, Abort> {
        let session = &mut *self.session;
        let (table, which) = (store.id(), Which::Primary);
        let own = || session.private.find(Place { table, which, key: key.any() });
        if let Some(own) = (installs::<S>() && !session.private.is_empty()).then(own).flatten() {
            return Ok(Some(own));
        }
        let (scheme, txn) = (session.db.scheme(), &mut session.txn);
        let found = key.get(store.index(which), |leaf| scheme.read_gaps(txn, leaf));
        session.meter.switch(Phase::Useful);
        found
    }

    #[inline]
    fn store(&self, id: TableId) -> &'db TableStore<S> {
        self.session.db.tables().get(id)
    }

    /// The tables.
    #[inline]
    pub(crate) fn tables(&self) -> &'db Tables<S> {
        self.session.db.tables()
    }

    /// Begins a statement: waits for it where the client sends one statement at a time. The next work is finding rows.
    #[inline]
    pub(crate) fn receive(&mut self) {
        self.session.meter.receive(Phase::Index);
    }

    /// The row of a key that may live elsewhere, for a statement.
    #[inline(always)]
    fn row<K: CoreKey>(
        &mut self,
        target: Target,
        home: Home,
        key: K,
    ) -> Result<Option<RowRef<'db, S>>, Abort> {
        self.receive();
        self.reach_home(home)?;
        let store = self.store(target.table);
        let found = if S::Driver::PLANS { self.find_as_planned(store, key) } else { self.find(store, key) }?;
        if found.is_none() {
            self.session.saw(facet(store, target.group), key, None);
        }
        Ok(found)
    }

    /// Reads a row: the words of the column group, `None` when the key is not there.
    #[inline(never)]
    pub(crate) fn read_words<K: CoreKey>(
        &mut self,
        target: Target,
        home: Home,
        key: K,
    ) -> Result<Option<&[u64]>, Abort> {
        let Some(row) = self.row(target, home, key)? else { return Ok(None) };
        let record = row.record(target.number());
        let session = &mut *self.session;
        session.meter.switch(Phase::Cc);
        let words = own_writes::read(session.db.scheme(), &mut session.txn, record)?;
        let marks = session.observer.marks();
        if marks {
            session.observer.read(facet(row.table(), target.group), key.any(), words.map(mark_of));
        }
        session.meter.switch(Phase::Useful);
        Ok(words.map(|words| row.table().part(target.number(), row_words(marks, words))))
    }

    /// Writes a row: the words of the column group, to be changed, `None` when the key is not there. Not for a group
    /// with secondary indexes.
    #[inline(never)]
    pub(crate) fn write_words<K: CoreKey>(
        &mut self,
        target: Target,
        home: Home,
        key: K,
        how: Write,
    ) -> Result<Option<&mut [u64]>, Abort> {
        let Some((row, words)) = self.write_record(target, home, key, how)? else { return Ok(None) };
        Ok(Some(row.table().part_mut(target.number(), words)))
    }

    /// Writes a row's record: the row, and the words to write without the mark.
    #[inline(always)]
    fn write_record<K: CoreKey>(
        &mut self,
        target: Target,
        home: Home,
        key: K,
        how: Write,
    ) -> Result<Option<Written<'_, 'db, S>>, Abort> {
        let Some(row) = self.row(target, home, key)? else { return Ok(None) };
        let record = row.record(target.number());
        record.prefetch_for_write();
        let session = &mut *self.session;
        session.touched(record.id(), key);
        session.meter.switch(Phase::Cc);
        let reads = how == Write::Modify;
        let facet = || facet(row.table(), target.group);
        if S::UPGRADES && reads && session.reads_first && !session.finds(facet(), key, record)? {
            return Ok(None);
        }
        let words = own_writes::write(session.db.scheme(), &mut session.txn, record, how)?;
        let marks = session.observer.marks();
        if marks && (reads || words.is_none()) {
            session.observer.read(facet(), key.any(), words.as_deref().map(mark_of));
        }
        session.meter.switch(Phase::Useful);
        let Some(words) = words else { return Ok(None) };
        stamp(&mut session.observer, facet, key, record.id(), words);
        Ok(Some((row, row_words_mut(marks, words))))
    }

    /// Reads a row and changes it, its secondary keys included: `false` when the key is not there. `change` is given
    /// the words of the column group, and returns the secondary keys before and after the change if they differ.
    #[inline(never)]
    pub(crate) fn change_words<K: CoreKey>(
        &mut self,
        target: Target,
        home: Home,
        key: K,
        change: &mut dyn FnMut(&mut [u64]) -> Option<[SecondaryKeys; 2]>,
    ) -> Result<bool, Abort> {
        let marks = self.session.observer.marks();
        let Some((row, words)) = self.write_record(target, home, key, Write::Modify)? else {
            return Ok(false);
        };
        let store = row.table();
        let changes = change(store.part_mut(target.number(), words));
        if marks {
            let [before, after] = changes.unwrap_or_else(|| {
                // A write of a record is one of all its entries.
                [store.entries(store.record_of(target.number()), key.any(), words); 2]
            });
            let record = row.record(target.number()).id();
            self.session.observer.entries(record, facet(store, target.group), &before, &after);
        }
        if let Some([before, after]) = changes {
            self.move_row(row, key.any(), &changed(store, target.group, &before, &after))?;
        }
        Ok(true)
    }

    /// Like `change_words`, for a change that knows no types.
    pub(crate) fn change_plainly<K: CoreKey>(
        &mut self,
        target: Target,
        home: Home,
        key: K,
        change: &mut dyn FnMut(&mut [u64]),
    ) -> Result<bool, Abort> {
        let store = self.store(target.table);
        self.change_words(target, home, key, &mut |words| {
            let before = store.secondary_keys(target.number(), key.any(), words);
            change(words);
            let after = store.secondary_keys(target.number(), key.any(), words);
            (before != after).then_some([before, after])
        })
    }

    /// Adds amounts to a row without reading it, if the scheme can: `false` when the key is not there. Of a column
    /// group without secondary indexes.
    #[inline(never)]
    pub(crate) fn add_words<K: CoreKey>(
        &mut self,
        target: Target,
        home: Home,
        key: K,
        amounts: &[u64],
    ) -> Result<bool, Abort> {
        // Who writes a record with secondary indexes always knows its value, whichever group they are of.
        let store = self.store(target.table);
        if S::DELTAS && !(store.shares_record(target.number()) && store.is_record_indexed(target.number())) {
            let words = self.write_words(target, home, key, Write::Delta)?;
            return Ok(words.map(|words| accumulate(words, amounts)).is_some());
        }
        self.change_plainly(target, home, key, &mut |words| accumulate(words, amounts))
    }

    /// Overwrites a row: `false` when the key is not there.
    #[inline(never)]
    pub(crate) fn replace_words<K: CoreKey>(
        &mut self,
        target: Target,
        home: Home,
        key: K,
        value: &[u64],
    ) -> Result<bool, Abort> {
        let store = self.store(target.table);
        if store.indexes(target.number()) > 0 || store.shares_record(target.number()) {
            // Which keys change is known only of a row that was read, and the rest of its record stays as it was.
            return self.change_plainly(target, home, key, &mut |words| words.copy_from_slice(value));
        }
        let words = self.write_words(target, home, key, Write::Blind)?;
        Ok(words.map(|words| words.copy_from_slice(value)).is_some())
    }

    /// Inserts a row that lives at `home`, with a value for each of its column groups: `false` when the key is there.
    #[inline(never)]
    pub(crate) fn insert_words<K: CoreKey>(
        &mut self,
        table: TableId,
        key: K,
        home: Home,
        values: &[&[u64]],
    ) -> Result<bool, Abort> {
        self.receive();
        self.reach_home(home)?;
        let store = self.store(table);
        if store.lookup() != Lookup::Heap {
            self.touch(|| addition(store, Which::Primary, key))?;
        }
        let (row, is_added) = self.place(store, key, home)?;
        let may_adopt = is_added || installs::<S>() || !store.is_indexed();
        let mut insert = Insert { attempt: self, row, key, is_new: true, is_added, may_adopt, back: None };
        for (group, value) in values.iter().enumerate() {
            insert.group(group as u16, value)?;
        }
        if insert.attempt.session.observer.marks() && store.is_shared() {
            insert.tell()?;
        }
        let is_new = insert.is_new;
        if installs::<S>() && is_new && !is_added {
            let place = Place { table, which: Which::Primary, key: key.any() };
            self.session.private.restore(place, row);
        }
        Ok(is_new)
    }

    /// Deletes a row: `false` when the key is not there. If the table has secondary indexes, the target is their column
    /// group.
    #[inline(never)]
    pub(crate) fn delete_words<K: CoreKey>(
        &mut self,
        target: Target,
        home: Home,
        key: K,
    ) -> Result<bool, Abort> {
        let Some(row) = self.row(target, home, key)? else { return Ok(false) };
        self.delete_row(target, row, key.any())
    }

    /// Deletes the row that was found under a key: `false` when the key has no value.
    #[inline(never)]
    fn delete_row(&mut self, target: Target, row: RowRef<'db, S>, key: AnyKey) -> Result<bool, Abort> {
        let (table, group, store) = (target.table, target.number(), row.table());
        let mut unlink = Unlink { row, primary: Some(key), secondary: [None; 2] };
        let mut had = [None; 2];
        let session = &mut *self.session;
        session.meter.switch(Phase::Cc);
        let (scheme, marks) = (session.db.scheme(), session.observer.marks());
        for other in 0..store.groups() {
            assert!(
                other == group || store.indexes(other) == 0,
                "a row is deleted through the column group that has the table's secondary indexes"
            );
        }
        if store.indexes(group) > 0 {
            let words = own_writes::read(scheme, &mut session.txn, row.record(group))?;
            if marks {
                session.observer.read(facet(store, target.group), key, words.map(mark_of));
            }
            let Some(words) = words else { return Ok(false) };
            let words = store.part(group, row_words(marks, words));
            had = store.secondary_keys(group, key, words);
            for (position, secondary) in had.into_iter().enumerate() {
                let which = Which::Secondary { group: target.group, position: position as u16 };
                unlink.secondary[position] = secondary.map(|key| (which, key));
            }
        }
        for record in row.records() {
            record.prefetch_for_write();
            session.touched(record.id(), key);
            if !own_writes::delete(scheme, &mut session.txn, record)? {
                session.saw(facet(store, target.group), key, None);
                return Ok(false);
            }
            if marks {
                let facet = Facet::primary(table, record.group());
                session.observer.write(record.id(), facet, key, true);
            }
        }
        if marks {
            session.observer.entries(row.record(group).id(), facet(store, target.group), &had, &[None; 2]);
        }
        if S::Driver::PLANS {
            unlink
                .places()
                .try_for_each(|(which, key)| self.touch_removed(row, Place { table, which, key }))?;
        }
        let session = &mut *self.session;
        if installs::<S>() {
            let places = unlink.places();
            session.private.delete(row, places.map(|(which, key)| Place { table, which, key }));
        } else {
            session.deleted.push(unlink);
        }
        session.meter.switch(Phase::Useful);
        Ok(true)
    }

    /// Shows the words of a column group of the rows in a key range of one index. A row that has moved may be shown
    /// under a secondary key that its visible version does not have, but only if [`may_differ`](Self::may_differ).
    #[inline]
    pub(crate) fn scan_words<K: CoreKey>(
        &mut self,
        (table, group, which): (TableId, u16, Which),
        keys: (Bound<K>, Bound<K>),
        direction: Direction,
        see: See<'_, K>,
    ) -> Result<(), Abort> {
        Scan::walk(self, (table, group, which), keys, direction, see)
    }

    /// Whether a row of the table may be found under a secondary key that the visible version does not have.
    #[inline]
    pub(crate) fn may_differ(&self, table: TableId) -> impl Fn() -> bool + use<'db, S, O, L> {
        let moves = self.session.db.moves().of(table);
        || moves.have_begun()
    }

    /// Enters a row under a key of one index; if the key is there already, returns the row that has it.
    #[inline]
    pub(super) fn enter(
        &mut self,
        index: IndexRef<'db, S>,
        key: AnyKey,
        row: RowRef<'db, S>,
    ) -> Result<Insertion<'db, S>, Abort> {
        self.session.meter.switch(Phase::Index);
        self.enter_found(index, key, row)
    }

    /// Like `enter`, while the meter is in the phase of finding rows already.
    #[inline(never)]
    fn enter_found<K: CoreKey>(
        &mut self,
        index: IndexRef<'db, S>,
        key: K,
        row: RowRef<'db, S>,
    ) -> Result<Insertion<'db, S>, Abort> {
        let session = &mut *self.session;
        let mut watch = Watch { scheme: session.db.scheme(), txn: &mut session.txn, row };
        let placed = key.insert(index, row, &mut watch);
        session.meter.switch(Phase::Useful);
        placed
    }

    /// Finds or makes the row for a key: a new row, which is in the primary index afterwards, or the row that is there.
    /// Also returns whether the row is new.
    fn place<K: CoreKey>(
        &mut self,
        store: &'db TableStore<S>,
        key: K,
        home: Home,
    ) -> Result<(RowRef<'db, S>, bool), Abort> {
        if installs::<S>() {
            return self.place_privately(store, key, home);
        }
        let new = self.session.db.scheme().slot(&mut self.session.txn).new_row(store, home);
        let row = new.row();
        if store.lookup() == Lookup::Heap {
            self.session.added.push(Unlink { row, primary: None, secondary: [None; 2] });
            return Ok((row, true));
        }
        match self.enter_found(store.index(Which::Primary), key, row) {
            Ok(Insertion::Added) => {
                let primary = Some(key.any());
                self.session.added.push(Unlink { row, primary, secondary: [None; 2] });
                Ok((row, true))
            }
            Ok(Insertion::Exists(row)) => {
                self.session.db.scheme().slot(&mut self.session.txn).discard_row(new);
                Ok((row, false))
            }
            Err(abort) => {
                self.session.db.scheme().slot(&mut self.session.txn).discard_row(new);
                Err(abort)
            }
        }
    }

    /// Like `place`, but the new row stays private to this attempt.
    fn place_privately<K: CoreKey>(
        &mut self,
        store: &'db TableStore<S>,
        key: K,
        home: Home,
    ) -> Result<(RowRef<'db, S>, bool), Abort> {
        let session = &mut *self.session;
        let (scheme, txn) = (session.db.scheme(), &mut session.txn);
        let place = Place { table: store.id(), which: Which::Primary, key: key.any() };
        if store.lookup() != Lookup::Heap {
            let found = match session.private.find(place) {
                Some(own) => Some(own),
                None => key.get(store.index(place.which), |leaf| {
                    scheme.adding(txn, leaf)?;
                    // Equal keys of different tables must have different hashes.
                    let table = u64::from(store.id().0).hash();
                    S::Driver::claim(scheme, txn, leaf, key.hash().wrapping_add(table))
                })?,
            };
            session.meter.switch(Phase::Useful);
            if let Some(row) = found {
                return Ok((row, false));
            }
        }
        let new = scheme.slot(txn).new_row(store, home);
        let row = new.row();
        session.private.keep(new);
        if store.lookup() != Lookup::Heap {
            session.private.enter(place, row);
        }
        Ok((row, true))
    }

    /// Enters a row with this primary key into all secondary indexes of a column group with this value. `back` is the
    /// same row, if this attempt deleted it before.
    #[inline(never)]
    fn enter_all(
        &mut self,
        row: RowRef<'db, S>,
        primary: AnyKey,
        back: &mut Option<Unlink<'db, S>>,
        (group, value): (u16, &[u64]),
    ) -> Result<(), Abort> {
        let store = row.table();
        let now = store.secondary_keys(usize::from(group), primary, value);
        if self.session.observer.marks() && !store.is_shared() {
            let record = row.record(usize::from(group));
            self.session.observer.entries(record.id(), facet(store, group), &[None; 2], &now);
        }
        if let Some(unlink) = back.take() {
            let had = unlink.secondary.map(|had| had.map(|(_, key)| key));
            return self.move_row(row, primary, &changed(store, group, &had, &now));
        }
        for (position, key) in now.into_iter().flatten().enumerate() {
            let which = Which::Secondary { group, position: position as u16 };
            self.enter_by(which, key, row)?;
        }
        Ok(())
    }

    /// Enters a row into a secondary index.
    fn enter_by(&mut self, which: Which, key: AnyKey, row: RowRef<'db, S>) -> Result<(), Abort> {
        self.reach_home(row.table().home(which, key))?;
        self.touch(|| addition(row.table(), which, key))?;
        if installs::<S>() {
            return self.enter_privately(which, key, row);
        }
        match self.enter(row.table().index(which), key, row)? {
            Insertion::Added => {
                if let (Some(unlink), Which::Secondary { position, .. }) = (self.session.added.of(row), which)
                {
                    unlink.secondary[usize::from(position)] = Some((which, key));
                }
                Ok(())
            }
            // The entry of a row that is on its way out of the indexes.
            Insertion::Exists(_) => Err(Abort::WriteConflict),
        }
    }

    /// Like `enter`, for a secondary key whose entry stays private to this attempt.
    pub(super) fn enter_privately(
        &mut self,
        which: Which,
        key: AnyKey,
        row: RowRef<'db, S>,
    ) -> Result<(), Abort> {
        let session = &mut *self.session;
        let place = Place { table: row.table().id(), which, key };
        if session.private.restore(place, row) {
            return Ok(());
        }
        let (scheme, txn) = (session.db.scheme(), &mut session.txn);
        session.meter.switch(Phase::Index);
        let found = key.get(row.table().index(which), |leaf| scheme.adding(txn, leaf))?;
        session.meter.switch(Phase::Useful);
        assert!(found.is_none(), "secondary key {key:?} is not unique");
        session.private.enter(place, row);
        Ok(())
    }
}

/// The name of a column group's rows in a history.
#[inline]
fn facet<S: Scheme>(store: &TableStore<S>, group: u16) -> Facet {
    Facet::primary(store.id(), store.record_of(usize::from(group)))
}

/// Reports a write to an observer, and stores the mark of its writer with the written value.
#[inline]
fn stamp<O: Observer, K: CoreKey>(
    observer: &mut O,
    facet: impl FnOnce() -> Facet,
    key: K,
    record: usize,
    words: &mut [u64],
) {
    if observer.marks() {
        set_mark(words, observer.write(record, facet(), key.any(), false));
    }
}

impl<'db, S: Scheme, O: Observer, L: Sink> Session<'db, S, O, L> {
    /// Reports to the observer that the attempt saw a key's value, or its absence.
    #[inline]
    fn saw<K: CoreKey>(&mut self, facet: Facet, key: K, mark: Option<u64>) {
        if self.observer.marks() {
            self.observer.read(facet, key.any(), mark);
        }
    }

    /// Whether a record has a value: a plain read, without regard to the write that follows.
    #[inline(never)]
    fn finds<K: CoreKey>(&mut self, facet: Facet, key: K, record: RecordRef<'db, S>) -> Result<bool, Abort> {
        let is_there = own_writes::read(self.db.scheme(), &mut self.txn, record)?.is_some();
        if !is_there {
            self.saw(facet, key, None);
            self.meter.switch(Phase::Useful);
        }
        Ok(is_there)
    }
}

/// Gives each group of an inserted row its value.
struct Insert<'a, 's, 'db, K, S: Scheme, O: Observer, L: Sink> {
    attempt: &'a mut Attempt<'s, 'db, S, O, L>,
    row: RowRef<'db, S>,
    key: K,
    is_new: bool,
    /// Whether this insert has put the key into the index.
    is_added: bool,
    /// Whether a row without a value may be given one again. This is not allowed where there are secondary indexes:
    /// they may still hold the row under the keys of its earlier value.
    may_adopt: bool,
    /// The deleted row, if this attempt deleted it before, with the keys that it had.
    back: Option<Unlink<'db, S>>,
}

impl<K: CoreKey, S: Scheme, O: Observer, L: Sink> Insert<'_, '_, '_, K, S, O, L> {
    /// One column group: gives it its first value, unless the row turned out to be there.
    #[inline]
    fn group(&mut self, group: u16, value: &[u64]) -> Result<(), Abort> {
        if !self.is_new {
            return Ok(());
        }
        let (store, number) = (self.row.table(), usize::from(group));
        let is_shared = store.is_shared();
        let session = &mut *self.attempt.session;
        let marks = session.observer.marks();
        let record = self.row.record(number);
        session.touched(record.id(), self.key);
        session.meter.switch(Phase::Cc);
        let words = if store.is_first(number) {
            own_writes::insert(session.db.scheme(), &mut session.txn, record)?
        } else {
            // The record got its value with its first group.
            own_writes::write(session.db.scheme(), &mut session.txn, record, Write::Modify)?
        };
        self.is_new = words.is_some();
        if !self.is_new && self.is_added && !is_planted(&plants::INSERT_SHRUGS) {
            // Another attempt gave the row a value meanwhile. The key is now there, which contradicts an earlier read
            // of this attempt that may have missed it. Validation does not find this: the change of the gap is that of
            // this attempt's own entry.
            return Err(Abort::WriteConflict);
        }
        if marks && !self.is_new {
            // An insert that finds a value does not say which version it found.
            let words = own_writes::read(session.db.scheme(), &mut session.txn, record)?;
            session.observer.read(facet(store, group), self.key.any(), words.map(mark_of));
            return Ok(());
        }
        if self.is_new && !self.may_adopt {
            // The row is back from this attempt's own delete, and stands under the secondary keys that it had.
            let Some(own) = session.deleted.take(self.row) else { return Err(Abort::WriteConflict) };
            self.back = Some(own);
            self.may_adopt = true;
        }
        if let Some(words) = words {
            store.part_mut(number, row_words_mut(marks, words)).copy_from_slice(value);
            if marks && !is_shared && store.lookup() != Lookup::Heap {
                stamp(&mut session.observer, || facet(store, group), self.key, record.id(), words);
            }
            if !self.is_added {
                session.db.scheme().reusing(&mut session.txn);
            }
        }
        session.meter.switch(Phase::Useful);
        if !self.is_new || store.indexes(number) == 0 {
            return Ok(());
        }
        self.attempt.enter_all(self.row, self.key.any(), &mut self.back, (group, value))
    }

    /// Reports the records of a table whose groups share some to the observer, now that they are complete.
    fn tell(&mut self) -> Result<(), Abort> {
        let (row, key, store) = (self.row, self.key, self.row.table());
        if !self.is_new || store.lookup() == Lookup::Heap {
            return Ok(());
        }
        let session = &mut *self.attempt.session;
        for record in row.records() {
            let words = own_writes::write(session.db.scheme(), &mut session.txn, record, Write::Modify)?;
            let words = words.expect("an attempt knows what it has inserted");
            let facet = Facet::primary(store.id(), record.group());
            set_mark(words, session.observer.write(record.id(), facet, key.any(), false));
            let entries = store.entries(record.group(), key.any(), row_words(true, words));
            session.observer.entries(record.id(), facet, &[None; 2], &entries);
        }
        Ok(())
    }
}

/// Shows a column group of a row that a scan meets. `None` if the row does not stand under the key.
pub(crate) type See<'f, K> = &'f mut dyn FnMut(K, &[u64]) -> Option<ControlFlow<()>>;

/// Reads the rows that a scan meets.
pub(super) struct Scan<'a, 's, 'db, 'f, K, S: Scheme, O: Observer, L: Sink> {
    pub(super) attempt: &'a mut Attempt<'s, 'db, S, O, L>,
    table: TableId,
    /// The column group that is shown.
    group: u16,
    which: Which,
    see: See<'f, K>,
    pub(super) direction: Direction,
    /// The attempt's own inserts in the range that were not shown yet.
    pub(super) own: Range<Position>,
    /// Whether the closure broke the scan off.
    is_broken: bool,
}

impl<'a, 's, 'db, 'f, K, S, O, L> Scan<'a, 's, 'db, 'f, K, S, O, L>
where
    K: CoreKey,
    S: Scheme,
    O: Observer,
    L: Sink,
{
    /// Shows the records of a column group in a key range of one index.
    #[inline(never)]
    fn walk(
        attempt: &'a mut Attempt<'s, 'db, S, O, L>,
        (table, group, which): (TableId, u16, Which),
        (from, to): (Bound<K>, Bound<K>),
        direction: Direction,
        see: See<'f, K>,
    ) -> Result<(), Abort> {
        let store = attempt.store(table);
        attempt.touch(|| range(store, which, (from, to)))?;
        let index = store.index(which);
        let facet = Facet::of(table, which, store.record_of(usize::from(group)));
        if attempt.session.observer.marks() {
            let keys = (from.map(K::any), to.map(K::any));
            attempt.session.observer.scan(facet, store.key_words(which), keys, direction);
        }
        let own = if installs::<S>() {
            attempt.session.private.range(table, which, from, to)
        } else {
            Range::default()
        };
        let mut scan = Self { attempt, table, group, which, see, direction, own, is_broken: false };
        K::scan(index, (from, to), direction, &mut scan)?;
        if installs::<S>() {
            _ = scan.show_own(None)?;
        }
        if !scan.is_broken {
            scan.attempt.session.observer.scanned();
        }
        scan.attempt.session.meter.switch(Phase::Useful);
        Ok(())
    }

    #[inline]
    pub(super) fn show(&mut self, key: K, row: RowRef<'db, S>) -> Result<ControlFlow<()>, Abort> {
        self.attempt.touch_met(row, self.which, key)?;
        let session = &mut *self.attempt.session;
        session.meter.switch(Phase::Cc);
        let record = row.record(usize::from(self.group));
        let words = own_writes::read(session.db.scheme(), &mut session.txn, record)?;
        session.meter.switch(Phase::Useful);
        let marks = session.observer.marks();
        let mut flow = ControlFlow::Continue(());
        if let Some(words) = words
            && let Some(seen) =
                (self.see)(key, row.table().part(usize::from(self.group), row_words(marks, words)))
        {
            if marks {
                session.observer.row(key.any(), mark_of(words));
            }
            flow = seen;
        }
        session.meter.switch(Phase::Index);
        if flow.is_break() {
            self.own = Range::default();
            self.is_broken = true;
        }
        Ok(flow)
    }
}

impl<'db, K, S, O, L> Walker<'db, K, S> for Scan<'_, '_, 'db, '_, K, S, O, L>
where
    K: CoreKey,
    S: Scheme,
    O: Observer,
    L: Sink,
{
    type Stop = Abort;

    #[inline]
    fn leaf(&mut self, leaf: LeafRef<'db, S::Leaf>) -> Result<(), Abort> {
        let session = &mut *self.attempt.session;
        session.db.scheme().read_gaps(&mut session.txn, leaf)
    }

    #[inline]
    fn row(&mut self, key: K, row: RowRef<'db, S>) -> Result<ControlFlow<()>, Abort> {
        if installs::<S>() {
            if self.show_own(Some(key))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            // A row that this attempt has moved stands under its old secondary key yet.
            let place = Place { table: self.table, which: self.which, key: key.any() };
            if self.attempt.session.private.is_removed(place, row) {
                return Ok(ControlFlow::Continue(()));
            }
        }
        self.show(key, row)
    }
}
