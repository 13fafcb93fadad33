//! The operations of an attempt over words. A [`Layout`] knows the meaning of a row's words: the same code serves
//! callers with types, and callers that reach tables by number.

use core::convert::Infallible;
use core::ops::{Bound, ControlFlow, Range};

use storage::{
    AnyKey, GroupVisit, Home, IndexRef, IndexedKey, Key, LeafRef, Lookup, OrderedKey, Placed, RecordRef, Row,
    RowRef, Table, TableId, TableStore, Tables, Walker, Watcher, Which, words_of,
};
use sync::plant::is_planted;

use super::layout::{KeyVisit, Layout};
use super::moving::changed;
use super::touches::{range, spot};
use super::{Attempt, Place, Session, Unlink, installs};
use crate::meter::Phase;
use crate::observer::{Facet, mark_of, row_words, row_words_mut, set_mark};
use crate::parts::Position;
use crate::{Abort, Direction, Observer, Scheme, Sink, Touch, Write, plants};

/// The homes of the rows of a key range, given by the homes of its bounds.
pub(crate) type Homes = (Bound<Home>, Bound<Home>);

/// Passes the events at the leaves of an index to the scheme.
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
            (Some(from), Some(to)) => self.session.db.scheme().reach(&mut self.session.txn, from, to),
            _ => Ok(()),
        }
    }

    /// Like `reach`, for one key that lives at `home`.
    #[inline]
    pub(super) fn reach_home(&mut self, home: Home) -> Result<(), Abort> {
        match home {
            Home::At(home) => self.session.db.scheme().reach(&mut self.session.txn, home, home),
            Home::Everywhere => Ok(()),
        }
    }

    /// Finds the row of a primary key; a miss counts as read.
    #[inline]
    fn find<K: IndexedKey>(
        &mut self,
        store: &'db TableStore<S>,
        key: K,
    ) -> Result<Option<RowRef<'db, S>>, Abort> {
        let session = &mut *self.session;
        let (table, which) = (store.id(), Which::Primary);
        let own = || session.private.find(Place { table, which, key: key.any() });
        if let Some(own) = installs::<S>().then(own).flatten() {
            return Ok(Some(own));
        }
        let (scheme, txn) = (session.db.scheme(), &mut session.txn);
        let found = store.index(which).get(key, |leaf| scheme.read_gaps(txn, leaf));
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

    /// Finds the row of a key, which may live at another home, for a statement.
    #[inline]
    fn row<Y: Layout>(&mut self, layout: Y, key: Y::Key) -> Result<Option<RowRef<'db, S>>, Abort> {
        self.receive();
        self.reach_home(layout.home(key))?;
        let store = self.store(layout.table());
        self.touch(|| Touch::Seek(spot(store, Which::Primary, key)))?;
        let found = self.find(store, key)?;
        if found.is_none() {
            self.session.saw(layout, key, None);
        }
        Ok(found)
    }

    /// Reads a row: `None` when the key is not there.
    #[inline]
    pub(crate) fn read_words<Y: Layout, T>(
        &mut self,
        layout: Y,
        key: Y::Key,
        see: impl FnOnce(&[u64]) -> T,
    ) -> Result<Option<T>, Abort> {
        let Some(row) = self.row(layout, key)? else { return Ok(None) };
        let record = row.record(layout.number());
        let session = &mut *self.session;
        session.meter.switch(Phase::Cc);
        let words = session.db.scheme().read(&mut session.txn, record)?;
        if O::MARKS {
            session.observer.read(facet(layout), key, words.map(mark_of));
        }
        session.meter.switch(Phase::Useful);
        let tables = session.db.tables();
        Ok(words.map(|words| see(layout.part(row_words::<O>(words), tables))))
    }

    /// Reads a row and writes it: `None` when the key is not there.
    #[inline]
    pub(crate) fn update_words<Y: Layout, T>(
        &mut self,
        layout: Y,
        key: Y::Key,
        change: impl FnOnce(&mut [u64]) -> T,
    ) -> Result<Option<T>, Abort> {
        let Some(row) = self.row(layout, key)? else { return Ok(None) };
        let record = row.record(layout.number());
        record.prefetch_for_write();
        let session = &mut *self.session;
        session.touched(record.id(), key);
        session.meter.switch(Phase::Cc);
        if S::UPGRADES && session.reads_first && !session.finds(layout, key, record)? {
            return Ok(None);
        }
        let words = session.db.scheme().write(&mut session.txn, record, Write::Modify)?;
        if O::MARKS {
            session.observer.read(facet(layout), key, words.as_deref().map(mark_of));
        }
        session.meter.switch(Phase::Useful);
        let Some(words) = words else { return Ok(None) };
        let own = layout.part_mut(row_words_mut::<O>(words), session.db.tables());
        if layout.indexes() == 0 {
            let output = change(own);
            stamp(&mut session.observer, layout, key, record.id(), words);
            if O::MARKS && row.table().is_shared() {
                // A write of the record is a write of all its entries.
                let entries = row.table().entries(key.any(), row_words::<O>(words));
                session.observer.entries(record.id(), facet(layout), &entries, &entries);
            }
            return Ok(Some(output));
        }
        let before = secondary_keys(layout, key, own);
        let output = change(own);
        let after = secondary_keys(layout, key, own);
        let changed = (before != after).then(|| changed(layout, key, own, &before));
        stamp(&mut session.observer, layout, key, record.id(), words);
        session.observer.entries(record.id(), facet(layout), &before, &after);
        if let Some(changed) = changed {
            self.move_row(row, key.any(), &changed)?;
        }
        Ok(Some(output))
    }

    /// Adds to a row without reading it, if the scheme can: `false` when the key is not there. `add` adds
    /// amounts to the words that it is given, of a column group without secondary indexes.
    #[inline]
    pub(crate) fn add_words<Y: Layout>(
        &mut self,
        layout: Y,
        key: Y::Key,
        add: impl FnOnce(&mut [u64]),
    ) -> Result<bool, Abort> {
        // A write of a record with secondary indexes always knows its value, whichever group the indexes belong to.
        let is_indexed = || self.store(layout.table()).is_shared() && self.store(layout.table()).is_indexed();
        if S::DELTAS && !is_indexed() {
            self.write_unread(layout, key, Write::Delta, add)
        } else {
            Ok(self.update_words(layout, key, add)?.is_some())
        }
    }

    /// Overwrites a row: `false` when the key is not there.
    #[inline]
    pub(crate) fn replace_words<Y: Layout>(
        &mut self,
        layout: Y,
        key: Y::Key,
        value: &[u64],
    ) -> Result<bool, Abort> {
        if layout.indexes() > 0 || self.store(layout.table()).is_shared() {
            // The changed keys are known only for a row that was read, and the rest of its record stays as it was.
            let replaced = self.update_words(layout, key, |words| words.copy_from_slice(value));
            return replaced.map(|replaced| replaced.is_some());
        }
        self.write_unread(layout, key, Write::Blind, |words| words.copy_from_slice(value))
    }

    /// Writes a row without looking at its value: `false` when the key is not there.
    #[inline]
    fn write_unread<Y: Layout>(
        &mut self,
        layout: Y,
        key: Y::Key,
        how: Write,
        write: impl FnOnce(&mut [u64]),
    ) -> Result<bool, Abort> {
        assert!(layout.indexes() == 0, "a row whose secondary keys may change is read");
        let Some(row) = self.row(layout, key)? else { return Ok(false) };
        let record = row.record(layout.number());
        record.prefetch_for_write();
        let session = &mut *self.session;
        session.touched(record.id(), key);
        session.meter.switch(Phase::Cc);
        let words = session.db.scheme().write(&mut session.txn, record, how)?;
        session.meter.switch(Phase::Useful);
        let Some(words) = words else {
            session.saw(layout, key, None);
            return Ok(false);
        };
        write(layout.part_mut(row_words_mut::<O>(words), session.db.tables()));
        stamp(&mut session.observer, layout, key, record.id(), words);
        Ok(true)
    }

    /// Inserts a row that lives at `home`, whose groups `fill` passes on: `false` when the key is there already.
    #[inline]
    pub(crate) fn insert_words<K: IndexedKey>(
        &mut self,
        table: TableId,
        key: K,
        home: Home,
        fill: impl FnOnce(&mut InsertGroups<'_, '_, 'db, K, S, O, L>) -> Result<(), Abort>,
    ) -> Result<bool, Abort> {
        self.receive();
        self.reach_home(home)?;
        let store = self.store(table);
        if store.lookup() != Lookup::Heap {
            self.touch(|| Touch::Add(spot(store, Which::Primary, key)))?;
        }
        let (row, is_added) = self.place(store, key, home)?;
        let may_adopt =
            is_added || installs::<S>() || (0..store.groups()).all(|group| store.indexes(group) == 0);
        let (is_new, given, back) = (true, 0, None);
        let mut groups = InsertGroups { attempt: self, row, key, is_new, given, is_added, may_adopt, back };
        fill(&mut groups)?;
        if O::MARKS && store.is_shared() {
            groups.tell()?;
        }
        let is_new = groups.is_new;
        if installs::<S>() && is_new && !is_added {
            let place = Place { table, which: Which::Primary, key: key.any() };
            self.session.private.restore(place, row);
        }
        Ok(is_new)
    }

    /// Deletes a row: `false` when the key is not there. If the table has secondary indexes, the layout is that of the
    /// column group that has them.
    #[inline]
    pub(crate) fn delete_words<Y: Layout>(&mut self, layout: Y, key: Y::Key) -> Result<bool, Abort> {
        let (table, group) = (layout.table(), layout.number());
        let Some(row) = self.row(layout, key)? else { return Ok(false) };
        let store = self.store(table);
        let mut unlink = Unlink { row, primary: Some(key.any()), secondary: [None; 2] };
        let mut entries = [None; 2];
        let session = &mut *self.session;
        session.meter.switch(Phase::Cc);
        let scheme = session.db.scheme();
        for other in 0..store.groups() {
            assert!(
                other == group || store.indexes(other) == 0,
                "a row is deleted through the column group that has the table's secondary indexes"
            );
        }
        if layout.indexes() > 0 {
            let words = scheme.read(&mut session.txn, row.record(group))?;
            if O::MARKS {
                session.observer.read(facet(layout), key, words.map(mark_of));
            }
            let Some(words) = words else { return Ok(false) };
            let words = layout.part(row_words::<O>(words), session.db.tables());
            entries = secondary_keys(layout, key, words);
            let which = |position| Which::Secondary { group: group as u16, position };
            for (position, secondary) in entries.into_iter().enumerate() {
                unlink.secondary[position] = secondary.map(|key| (which(position as u16), key));
            }
        }
        for record in row.records() {
            record.prefetch_for_write();
            session.touched(record.id(), key);
            if !scheme.delete(&mut session.txn, record)? {
                session.saw(layout, key, None);
                return Ok(false);
            }
            if O::MARKS {
                let facet = Facet::primary(table, record.group());
                session.observer.write(record.id(), facet, key, true);
            }
        }
        if O::MARKS {
            session.observer.entries(row.record(group).id(), facet(layout), &entries, &[None; 2]);
        }
        if S::PLANS {
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

    /// Visits the rows of a range of secondary keys. `holds` tells whether a row's words have a key.
    #[inline]
    pub(crate) fn walk_secondary<K: IndexedKey>(
        &mut self,
        (layout, which): (impl Layout, Which),
        keys: (Bound<K>, Bound<K>),
        direction: Direction,
        holds: impl Fn(K, &[u64]) -> bool,
        see: impl FnMut(K, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        let moves = self.session.db.moves().of(layout.table());
        // A row that has moved may be found under a key other than that of its visible version.
        let holds = |key, words: &[u64]| !moves.have_begun() || holds(key, words);
        Scan::walk(self, (layout, which), keys, direction, holds, see)
    }

    /// Enters a row under a key of one index; if the key is there already, returns the row that has it.
    #[inline]
    pub(super) fn enter<K: IndexedKey>(
        &mut self,
        index: IndexRef<'db, S>,
        key: K,
        row: RowRef<'db, S>,
    ) -> Result<Placed<'db, S>, Abort> {
        self.session.meter.switch(Phase::Index);
        self.enter_found(index, key, row)
    }

    /// Like `enter`, while the meter is in the phase of finding rows already.
    #[inline]
    fn enter_found<K: IndexedKey>(
        &mut self,
        index: IndexRef<'db, S>,
        key: K,
        row: RowRef<'db, S>,
    ) -> Result<Placed<'db, S>, Abort> {
        let session = &mut *self.session;
        let mut watch = Watch { scheme: session.db.scheme(), txn: &mut session.txn, row };
        let placed = index.insert(key, row, &mut watch);
        session.meter.switch(Phase::Useful);
        placed
    }

    /// Finds or makes the row for a key: a new row, which is in the primary index afterwards, or the row that is there.
    /// Also returns whether the row is new.
    fn place<K: IndexedKey>(
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
            Ok(Placed::Added) => {
                let primary = Some(key.any());
                self.session.added.push(Unlink { row, primary, secondary: [None; 2] });
                Ok((row, true))
            }
            Ok(Placed::Exists(row)) => {
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
    fn place_privately<K: IndexedKey>(
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
                None => store.index(place.which).get(key, |leaf| {
                    scheme.adding(txn, leaf)?;
                    // Equal keys of different tables must have different hashes.
                    let table = u64::from(store.id().0).hash();
                    scheme.claim(txn, leaf, key.hash().wrapping_add(table))
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

    /// Like `enter`, for a secondary key whose entry stays private to this attempt.
    pub(super) fn enter_privately<K: IndexedKey>(
        &mut self,
        which: Which,
        key: K,
        row: RowRef<'db, S>,
    ) -> Result<(), Abort> {
        let session = &mut *self.session;
        let place = Place { table: row.table().id(), which, key: key.any() };
        if session.private.restore(place, row) {
            return Ok(());
        }
        let (scheme, txn) = (session.db.scheme(), &mut session.txn);
        session.meter.switch(Phase::Index);
        let found = row.table().index(which).get(key, |leaf| scheme.adding(txn, leaf))?;
        session.meter.switch(Phase::Useful);
        assert!(found.is_none(), "secondary key {key:?} is not unique");
        session.private.enter(place, row);
        Ok(())
    }
}

/// Enters a row into one secondary index after the other.
struct EnterIndex<'a, 's, 'db, S: Scheme, O: Observer, L: Sink> {
    attempt: &'a mut Attempt<'s, 'db, S, O, L>,
    row: RowRef<'db, S>,
    group: u16,
}

impl<S: Scheme, O: Observer, L: Sink> KeyVisit for EnterIndex<'_, '_, '_, S, O, L> {
    type Stop = Abort;

    #[inline]
    fn index<K: IndexedKey>(
        &mut self,
        position: usize,
        key: K,
        home: impl Fn(K) -> Home,
    ) -> Result<(), Abort> {
        self.attempt.reach_home(home(key))?;
        let which = Which::Secondary { group: self.group, position: position as u16 };
        self.attempt.touch(|| Touch::Add(spot(self.row.table(), which, key)))?;
        if installs::<S>() {
            return self.attempt.enter_privately(which, key, self.row);
        }
        match self.attempt.enter(self.row.table().index(which), key, self.row)? {
            Placed::Added => {
                if let Some(unlink) = self.attempt.session.added.of(self.row) {
                    unlink.secondary[position] = Some((which, key.any()));
                }
                Ok(())
            }
            // The entry of a row that is on its way out of the indexes.
            Placed::Exists(_) => Err(Abort::WriteConflict),
        }
    }
}

/// Collects the secondary keys of a row, by position.
struct Collect([Option<AnyKey>; 2]);

impl KeyVisit for Collect {
    type Stop = Infallible;

    #[inline]
    fn index<K: IndexedKey>(
        &mut self,
        position: usize,
        key: K,
        _: impl Fn(K) -> Home,
    ) -> Result<(), Infallible> {
        self.0[position] = Some(key.any());
        Ok(())
    }
}

/// The secondary keys of a row that are computed from one of its column groups.
#[inline]
fn secondary_keys<Y: Layout>(layout: Y, key: Y::Key, words: &[u64]) -> [Option<AnyKey>; 2] {
    let mut keys = Collect([None; 2]);
    let Ok(()) = layout.try_each(key, words, &mut keys);
    keys.0
}

/// The facet of a layout's rows: the table that a history names for them.
#[inline]
fn facet<Y: Layout>(layout: Y) -> Facet {
    Facet::primary(layout.table(), layout.record())
}

/// Reports a write to an observer, and stores the mark of its writer with the written value.
#[inline]
fn stamp<O: Observer, Y: Layout>(observer: &mut O, layout: Y, key: Y::Key, record: usize, words: &mut [u64]) {
    if O::MARKS {
        set_mark(words, observer.write(record, facet(layout), key, false));
    }
}

impl<'db, S: Scheme, O: Observer, L: Sink> Session<'db, S, O, L> {
    /// Reports to the observer that the attempt saw a key's value, or its absence.
    #[inline]
    fn saw<Y: Layout>(&mut self, layout: Y, key: Y::Key, mark: Option<u64>) {
        if O::MARKS {
            self.observer.read(facet(layout), key, mark);
        }
    }

    /// Whether a record has a value: a plain read, without regard to the write that follows.
    #[inline(never)]
    fn finds<Y: Layout>(&mut self, layout: Y, key: Y::Key, record: RecordRef<'db, S>) -> Result<bool, Abort> {
        let is_there = self.db.scheme().read(&mut self.txn, record)?.is_some();
        if !is_there {
            self.saw(layout, key, None);
            self.meter.switch(Phase::Useful);
        }
        Ok(is_there)
    }
}

/// Gives each column group of an inserted row its value.
pub(crate) struct InsertGroups<'a, 's, 'db, K, S: Scheme, O: Observer, L: Sink> {
    attempt: &'a mut Attempt<'s, 'db, S, O, L>,
    row: RowRef<'db, S>,
    key: K,
    is_new: bool,
    /// The number of groups that have been given.
    given: usize,
    /// Whether this insert has put the key into the index.
    is_added: bool,
    /// Whether a row without a value may be given one again. This is not allowed where there are secondary indexes:
    /// they may still hold the row under the keys of its earlier value.
    may_adopt: bool,
    /// The deleted row, if this attempt deleted it before, with the keys that it had.
    back: Option<Unlink<'db, S>>,
}

impl<K: IndexedKey, S: Scheme, O: Observer, L: Sink> InsertGroups<'_, '_, '_, K, S, O, L> {
    /// Gives one column group its first value, unless the row turned out to be there already.
    #[inline]
    pub(crate) fn group<Y: Layout<Key = K>>(&mut self, layout: Y, value: &[u64]) -> Result<(), Abort> {
        if !self.is_new {
            return Ok(());
        }
        let is_shared = self.row.table().is_shared();
        self.given += 1;
        let session = &mut *self.attempt.session;
        let record = self.row.record(layout.number());
        session.touched(record.id(), self.key);
        session.meter.switch(Phase::Cc);
        let words = if is_shared && self.given > 1 {
            // The record got its value with the first group.
            session.db.scheme().write(&mut session.txn, record, Write::Modify)?
        } else {
            session.db.scheme().insert(&mut session.txn, record)?
        };
        self.is_new = words.is_some();
        if !self.is_new && self.is_added && !is_planted(&plants::INSERT_SHRUGS) {
            // Another attempt gave the row a value meanwhile. The key is now there, which contradicts an earlier read
            // of this attempt that may have missed it. Validation does not find this: the change of the gap is that of
            // this attempt's own entry.
            return Err(Abort::WriteConflict);
        }
        if O::MARKS && !self.is_new {
            // An insert that finds a value does not say which version it found.
            let words = session.db.scheme().read(&mut session.txn, record)?;
            session.observer.read(facet(layout), self.key, words.map(mark_of));
            return Ok(());
        }
        if self.is_new && !self.may_adopt {
            // The row is back from this attempt's own delete, and stands under the secondary keys that it had.
            let Some(own) = session.deleted.take(self.row) else { return Err(Abort::WriteConflict) };
            self.back = Some(own);
            self.may_adopt = true;
        }
        if let Some(words) = words {
            layout.part_mut(row_words_mut::<O>(words), session.db.tables()).copy_from_slice(value);
            if O::MARKS && !is_shared && self.row.table().lookup() != Lookup::Heap {
                stamp(&mut session.observer, layout, self.key, record.id(), words);
            }
        }
        session.meter.switch(Phase::Useful);
        if !self.is_new || layout.indexes() == 0 {
            return Ok(());
        }
        if O::MARKS && !is_shared {
            let entries = secondary_keys(layout, self.key, value);
            session.observer.entries(record.id(), facet(layout), &[None; 2], &entries);
        }
        if let Some(unlink) = self.back.take() {
            let had = unlink.secondary.map(|had| had.map(|(_, key)| key));
            let changed = changed(layout, self.key, value, &had);
            self.attempt.move_row(self.row, self.key.any(), &changed)
        } else {
            let (row, group) = (self.row, layout.number() as u16);
            let mut enter = EnterIndex { attempt: &mut *self.attempt, row, group };
            layout.try_each(self.key, value, &mut enter)
        }
    }

    /// Reports the record that all groups share to the observer, now that it is complete.
    fn tell(&mut self) -> Result<(), Abort> {
        let (row, key) = (self.row, self.key);
        if !self.is_new || row.table().lookup() == Lookup::Heap {
            return Ok(());
        }
        let (session, record) = (&mut *self.attempt.session, row.record(0));
        let words = session.db.scheme().write(&mut session.txn, record, Write::Modify)?;
        let words = words.expect("an attempt knows what it has inserted");
        let facet = Facet::primary(row.table().id(), 0);
        set_mark(words, session.observer.write(record.id(), facet, key, false));
        let entries = row.table().entries(key.any(), row_words::<O>(words));
        session.observer.entries(record.id(), facet, &[None; 2], &entries);
        Ok(())
    }
}

impl<K: Key, S: Scheme, O: Observer, L: Sink> GroupVisit<K>
    for InsertGroups<'_, '_, '_, K::Ordered, S, O, L>
{
    type Stop = Abort;

    #[inline]
    fn group<R: Row<Key = K> + ?Sized>(&mut self, table: Table<R>, row: &R) -> Result<(), Abort> {
        InsertGroups::group(self, table, words_of(row))
    }
}

/// Reads the rows that a scan meets.
pub(crate) struct Scan<'a, 's, 'db, Y, H, F, S: Scheme, O: Observer, L: Sink> {
    pub(super) attempt: &'a mut Attempt<'s, 'db, S, O, L>,
    /// The column group that is shown.
    layout: Y,
    which: Which,
    /// Whether a row whose words were read has this key.
    holds: H,
    see: F,
    pub(super) direction: Direction,
    /// The attempt's own inserts in the range that were not shown yet.
    pub(super) own: Range<Position>,
    /// Whether the closure broke the scan off.
    is_broken: bool,
}

impl<'a, 's, 'db, Y, H, F, S, O, L> Scan<'a, 's, 'db, Y, H, F, S, O, L>
where
    Y: Layout,
    S: Scheme,
    O: Observer,
    L: Sink,
{
    /// Shows the rows of a key range of one index.
    #[inline]
    pub(crate) fn walk<K: IndexedKey>(
        attempt: &'a mut Attempt<'s, 'db, S, O, L>,
        (layout, which): (Y, Which),
        (from, to): (Bound<K>, Bound<K>),
        direction: Direction,
        holds: H,
        see: F,
    ) -> Result<(), Abort>
    where
        H: Fn(K, &[u64]) -> bool,
        F: FnMut(K, &[u64]) -> ControlFlow<()>,
    {
        let table = layout.table();
        let store = attempt.store(table);
        attempt.touch(|| range(store, which, (from, to)))?;
        let index = store.index(which);
        attempt.session.observer.scan(Facet::of(table, which, layout.record()), (from, to), direction);
        let own = if installs::<S>() {
            attempt.session.private.range(table, which, from, to)
        } else {
            Range::default()
        };
        let mut scan = Self { attempt, layout, which, holds, see, direction, own, is_broken: false };
        index.scan(from, to, direction, &mut scan)?;
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
    pub(super) fn show<K: IndexedKey>(
        &mut self,
        key: K,
        row: RowRef<'db, S>,
    ) -> Result<ControlFlow<()>, Abort>
    where
        H: Fn(K, &[u64]) -> bool,
        F: FnMut(K, &[u64]) -> ControlFlow<()>,
    {
        self.attempt.touch_met(row, self.which, key)?;
        let session = &mut *self.attempt.session;
        session.meter.switch(Phase::Cc);
        let record = row.record(self.layout.number());
        let words = session.db.scheme().read(&mut session.txn, record)?;
        session.meter.switch(Phase::Useful);
        let mut flow = ControlFlow::Continue(());
        if let Some(words) = words {
            let part = self.layout.part(row_words::<O>(words), session.db.tables());
            if (self.holds)(key, part) {
                if O::MARKS {
                    session.observer.row(key, mark_of(words));
                }
                flow = (self.see)(key, part);
            }
        }
        session.meter.switch(Phase::Index);
        if flow.is_break() {
            self.own = Range::default();
            self.is_broken = true;
        }
        Ok(flow)
    }
}

impl<'db, K, Y, H, F, S, O, L> Walker<'db, K, S> for Scan<'_, '_, 'db, Y, H, F, S, O, L>
where
    K: IndexedKey,
    Y: Layout,
    H: Fn(K, &[u64]) -> bool,
    F: FnMut(K, &[u64]) -> ControlFlow<()>,
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
            // A row that this attempt has moved still stands under its old secondary key.
            let place = Place { table: self.layout.table(), which: self.which, key: key.any() };
            if self.attempt.session.private.is_removed(place, row) {
                return Ok(ControlFlow::Continue(()));
            }
        }
        self.show(key, row)
    }
}
