//! Sessions: typed rows above, words below. [`Session::attempt`] is the one way to run an attempt.

mod moving;
mod private;

use core::convert::Infallible;
use core::ops::{Bound, ControlFlow, Range, RangeBounds};

use storage::{
    AnyKey, GroupVisit, Groups, Home, Index, IndexOn, IndexRef, IndexVisit, IndexedKey, Indexes, Key,
    LeafRef, Lookup, OrderedKey, Placed, Row, RowRef, Slot, Table, TableStore, Walker, Watcher, Which,
    row_of, row_of_mut, words_of,
};

use crate::database::{Database, bounds};
use crate::leftovers::{Due, Leftover, Part};
use crate::meter::{Meter, Phase};
use crate::{
    Abort, Batching, Direction, End, InsertAt, Observer, Retire, Scheme, Sink, Stamp, Ticket, Transaction,
    Write,
};

use moving::{Move, changed};
use private::Private;

pub(crate) use private::{Change, Place};

/// By how many keys the search of an index is prefetched before it is made: about as many cache misses as a
/// core has under way.
const PREFETCHED_AHEAD: usize = 16;

/// One logical client's access to a database: runs one attempt at a time.
pub struct Session<'db, S: Scheme, O: Observer = (), L: Sink = ()> {
    db: &'db Database<S>,
    txn: S::Txn<'db>,
    observer: O,
    sink: L,
    meter: Meter,
    /// Rows that the running attempt added to the indexes: they leave them again if it aborts.
    added: Vec<Unlink<'db, S>>,
    /// Rows that the running attempt deletes: they leave the indexes if it commits.
    deleted: Vec<Unlink<'db, S>>,
    /// Secondary keys that the running attempt changes.
    moves: Vec<Move<'db, S>>,
    /// Instead of the three above, where indexes change at the commit.
    private: Private<'db, S>,
}

/// A row, and the keys under which indexes hold it.
#[derive(Debug)]
struct Unlink<'db, S: Scheme> {
    row: RowRef<'db, S>,
    /// None for a row of a heap table, which only its attempt knew.
    primary: Option<AnyKey>,
    secondary: [Option<(Which, AnyKey)>; 2],
}

impl<'db, S: Scheme, O: Observer, L: Sink> Session<'db, S, O, L> {
    pub(crate) fn new(db: &'db Database<S>, txn: S::Txn<'db>, observer: O, sink: L) -> Self {
        let (added, deleted, moves) = (Vec::new(), Vec::new(), Vec::new());
        let (meter, private) = (Meter::default(), Private::default());
        Self { db, txn, observer, sink, meter, added, deleted, moves, private }
    }

    /// The session's phase clocks.
    pub fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// The session's observer.
    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Executes `body` once as a transaction and commits it.
    ///
    /// # Errors
    /// Why it did not commit. [`Abort::Rollback`] is the body's own wish, confirmed: what it read before
    /// was consistent. Every other reason invites another attempt.
    #[inline]
    pub fn attempt<T>(
        &mut self,
        ticket: &Ticket,
        body: impl FnOnce(&mut Attempt<'_, 'db, S, O, L>) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        let executed = self.execute(ticket, body);
        self.finish(executed)
    }

    /// Executes `body` and leaves the attempt open, for drivers that decide later:
    /// [`finish_in_batch`](Self::finish_in_batch) follows.
    #[inline]
    pub(crate) fn execute<T>(
        &mut self,
        ticket: &Ticket,
        body: impl FnOnce(&mut Attempt<'_, 'db, S, O, L>) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        self.meter.switch(Phase::Timestamp);
        self.db.scheme().slot(&mut self.txn).pin();
        let mut attempt = Attempt { session: self, is_over: false };
        let begun = attempt.session.db.scheme().begin(&mut attempt.session.txn, ticket);
        attempt.session.meter.switch(Phase::Useful);
        let executed = begun.and_then(|()| body(&mut attempt));
        attempt.is_over = true;
        executed
    }

    /// Publishes what an executed attempt read and wants to write, for its batch to be decided.
    #[inline]
    pub(crate) fn reserve(&mut self)
    where
        S: Batching,
    {
        self.meter.switch(Phase::Commit);
        self.db.scheme().reserve(&mut self.txn);
        self.meter.switch(Phase::Wait);
    }

    /// Ends an executed attempt: commits it, or undoes it.
    #[inline]
    fn finish<T>(&mut self, executed: Result<T, Abort>) -> Result<T, Abort> {
        self.end(executed, Change::apply)
    }

    /// Ends an executed attempt, but leaves the changes of indexes to its driver.
    #[inline]
    pub(crate) fn finish_in_batch<T>(
        &mut self,
        executed: Result<T, Abort>,
        mut keep: impl FnMut(Change<'db, S>),
    ) -> Result<T, Abort> {
        self.end(executed, |change, _| keep(change))
    }

    /// Makes changes that attempts of a batch left to their driver; none of them is open any more.
    pub(crate) fn change_indexes(&mut self, changes: impl Iterator<Item = Change<'db, S>>) {
        let slot = self.db.scheme().slot(&mut self.txn);
        slot.pin();
        changes.for_each(|change| change.apply(slot));
        slot.unpin();
    }

    #[inline]
    fn end<T>(
        &mut self,
        executed: Result<T, Abort>,
        change: impl FnMut(Change<'db, S>, &mut Slot<'db, S>),
    ) -> Result<T, Abort> {
        self.meter.switch(Phase::Commit);
        let scheme = self.db.scheme();
        let decided = match executed {
            Ok(output) => scheme.precommit(&mut self.txn, End::Commit).map(|()| output),
            Err(Abort::Rollback) => {
                Err(scheme.precommit(&mut self.txn, End::Rollback).err().unwrap_or(Abort::Rollback))
            }
            Err(abort) => Err(abort),
        };
        match &decided {
            Ok(_) => {
                if installs::<S>() {
                    self.private.commit(scheme.slot(&mut self.txn), change);
                }
                if !self.moves.is_empty() {
                    self.commit_moves();
                }
                let stamp = scheme.install(&mut self.txn, &mut self.sink, &mut self.observer);
                self.ended(Ok(stamp));
            }
            Err(abort) => {
                scheme.abort(&mut self.txn);
                self.ended(Err(*abort));
            }
        }
        decided
    }

    #[inline]
    fn ended(&mut self, outcome: Result<Stamp, Abort>) {
        self.observer.outcome(outcome);
        if installs::<S>() {
            self.private.end(self.db.scheme().slot(&mut self.txn));
        }
        if !self.moves.is_empty() {
            self.end_moves(outcome.is_ok());
        }
        let (gone, kept) = if outcome.is_ok() {
            (&mut self.deleted, &mut self.added)
        } else {
            (&mut self.added, &mut self.deleted)
        };
        kept.clear();
        // At once, if nobody has a hold on them: the fewer rows without a value, the shorter the scans.
        while let Some(unlink) = gone.pop() {
            unlink.try_leave(self.db, &mut self.txn);
        }
        if self.db.may_unlink() {
            self.unlink();
        }
        self.db.scheme().slot(&mut self.txn).unpin();
        self.meter.ended(outcome.is_err());
    }

    /// Takes out of the indexes what could not leave them before, and whose time has come: a few rows, so
    /// that no attempt is delayed for long.
    #[cold]
    fn unlink(&mut self) {
        let watermark = self.db.scheme().watermark().unwrap_or_default();
        for _ in 0..16 {
            let slot = self.db.scheme().slot(&mut self.txn);
            let is_due = |due: Due| due.watermark <= watermark && slot.is_past(due.stamp);
            let Some(left) = self.db.leftovers().pop(is_due) else { return };
            let index = self.db.tables().get(left.table).index(Which::Primary);
            let Some(row) = index.peek_any(left.primary) else { continue };
            match left.part {
                Part::Row(secondary) => {
                    let unlink = Unlink { row, primary: Some(left.primary), secondary };
                    unlink.try_leave(self.db, &mut self.txn);
                }
                Part::Stale => {
                    let now = self.db.scheme().watermark();
                    if self.db.moves().of(left.table).retry(self.db.scheme(), row) {
                        leave_over(self.db, &mut self.txn, left, now);
                    }
                }
            }
        }
    }
}

/// Leaves what may not leave the indexes yet to later attempts. `watermark` is the scheme's from before it
/// said so, which is of no more use.
fn leave_over<'db, S: Scheme>(
    db: &'db Database<S>,
    txn: &mut S::Txn<'db>,
    left: Leftover,
    watermark: Option<u64>,
) {
    let watermark = watermark.map_or(0, |watermark| watermark + 1);
    db.leftovers().push(Due { stamp: db.scheme().slot(txn).stamp(), watermark }, left);
}

/// Whether the indexes change at the commit.
#[inline]
const fn installs<S: Scheme>() -> bool {
    matches!(S::INSERT, InsertAt::Install)
}

impl<'db, S: Scheme> Unlink<'db, S> {
    /// The indexes and keys at which the row stands.
    fn places(&self) -> impl Iterator<Item = (Which, AnyKey)> {
        self.primary.map(|key| (Which::Primary, key)).into_iter().chain(self.secondary.into_iter().flatten())
    }

    /// Takes the row out of its indexes now, or leaves that to others.
    fn try_leave(&self, db: &'db Database<S>, txn: &mut S::Txn<'db>) {
        let watermark = db.scheme().watermark();
        if self.leave(db, txn) == Retire::Later
            && let Some(primary) = self.primary
        {
            let left = Leftover { table: self.row.table().id(), primary, part: Part::Row(self.secondary) };
            leave_over(db, txn, left, watermark);
        }
    }

    /// Takes the row out of its indexes if its scheme allows it, and gives its memory back.
    fn leave(&self, db: &'db Database<S>, txn: &mut S::Txn<'db>) -> Retire {
        let (scheme, table) = (db.scheme(), self.row.table());
        let mut retired = Retire::Done;
        let is_out = self.primary.is_none_or(|primary| {
            table.index(Which::Primary).remove(primary, self.row, |leaf| {
                // In the order of locking: what holds a later group has held the first.
                let verdicts = self.row.records().map(|record| scheme.retire(record, leaf));
                retired =
                    verdicts.into_iter().find(|verdict| *verdict != Retire::Done).unwrap_or(Retire::Done);
                retired == Retire::Done
            })
        });
        if is_out {
            for (which, key) in self.secondary.into_iter().flatten() {
                table.index(which).remove(key, self.row, |leaf| {
                    self.row.records().for_each(|record| _ = scheme.retire(record, leaf));
                    true
                });
            }
            if self.secondary.iter().any(Option::is_some) {
                db.moves().of(table.id()).leave(scheme, self.row);
            }
            scheme.slot(txn).retire_row(self.row);
        }
        retired
    }
}

impl<S: Scheme, O: Observer, L: Sink> Drop for Session<'_, S, O, L> {
    /// Rows on their way out of the indexes leave them now, unless others stay pinned.
    fn drop(&mut self) {
        for _ in 0..16 {
            if !self.db.may_unlink() {
                break;
            }
            self.db.scheme().slot(&mut self.txn).pin();
            self.unlink();
            self.db.scheme().slot(&mut self.txn).unpin();
        }
    }
}

/// An attempt in progress. Dropped before its end, by a panic of its procedure, it is undone.
pub struct Attempt<'s, 'db, S: Scheme, O: Observer = (), L: Sink = ()> {
    session: &'s mut Session<'db, S, O, L>,
    is_over: bool,
}

impl<S: Scheme, O: Observer, L: Sink> Drop for Attempt<'_, '_, S, O, L> {
    fn drop(&mut self) {
        if !self.is_over {
            self.session.db.scheme().abort(&mut self.session.txn);
            self.session.ended(Err(Abort::Rollback));
        }
    }
}

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
    /// Tells the scheme where the keys of a range live, unless that is everywhere.
    #[inline]
    fn reach<K: Key>(&mut self, keys: &impl RangeBounds<K>) -> Result<(), Abort> {
        let home = |bound: Bound<&K>, open| match bound.map(|key| key.home()) {
            Bound::Included(Home::At(home)) | Bound::Excluded(Home::At(home)) => Some(home),
            Bound::Included(Home::Everywhere) | Bound::Excluded(Home::Everywhere) => None,
            Bound::Unbounded => Some(open),
        };
        match (home(keys.start_bound(), 0), home(keys.end_bound(), u64::MAX)) {
            (Some(from), Some(to)) => self.session.db.scheme().reach(&mut self.session.txn, from, to),
            _ => Ok(()),
        }
    }

    /// As `reach`, for one key that lives here.
    fn reach_home(&mut self, home: Home) -> Result<(), Abort> {
        match home {
            Home::At(home) => self.session.db.scheme().reach(&mut self.session.txn, home, home),
            Home::Everywhere => Ok(()),
        }
    }

    /// Waits for `ns` nanoseconds, holding what the attempt holds; on a fiber the worker's other clients run.
    pub fn pause(&mut self, ns: u64) {
        let phase = self.session.meter.switch(Phase::Wait);
        sync::waiter::pause_ns(ns);
        self.session.meter.switch(phase);
    }

    /// The row of a primary key; a miss counts as read.
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
        let (scheme, txn, observer) = (session.db.scheme(), &mut session.txn, &mut session.observer);
        session.meter.switch(Phase::Index);
        let found = store.index(which).get(key, |leaf| {
            observer.scanned::<S>(leaf);
            scheme.read_gaps(txn, leaf)
        });
        session.meter.switch(Phase::Useful);
        found
    }

    #[inline]
    fn store(&self, id: storage::TableId) -> &'db TableStore<S> {
        self.session.db.tables().get(id)
    }

    /// The row of a typed key.
    #[inline]
    fn row<R: Row + ?Sized>(
        &mut self,
        table: Table<R>,
        key: R::Key,
    ) -> Result<Option<RowRef<'db, S>>, Abort> {
        self.reach(&(key..=key))?;
        let store = self.store(table.id());
        self.find(store, key.ordered())
    }

    /// Reads a row and writes it, its words: `None` when the key is not there.
    #[inline]
    fn modify<R: Row + ?Sized, T>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        change: impl FnOnce(&mut [u64]) -> T,
    ) -> Result<Option<T>, Abort> {
        let Some(row) = self.row(table, key)? else { return Ok(None) };
        let record = row.record(table.group());
        let session = &mut *self.session;
        session.meter.switch(Phase::Cc);
        let words = session.db.scheme().write(&mut session.txn, record, Write::Modify)?;
        session.observer.read(record, words.as_deref());
        session.meter.switch(Phase::Useful);
        let Some(words) = words else { return Ok(None) };
        if R::Indexes::COUNT == 0 {
            return Ok(Some(change(words)));
        }
        let before = secondary_keys::<R>(key, row_of(words));
        let output = change(words);
        if before != secondary_keys::<R>(key, row_of(words)) {
            let changed = changed::<R>(table, key, row_of(words), &before);
            self.move_row(row, key.ordered().any(), &changed)?;
        }
        Ok(Some(output))
    }

    /// Puts a row under a key of one index; if the key is there, gives the row that has it.
    #[inline]
    fn enter<K: IndexedKey>(
        &mut self,
        index: IndexRef<'db, S>,
        key: K,
        row: RowRef<'db, S>,
    ) -> Result<Placed<'db, S>, Abort> {
        let session = &mut *self.session;
        session.meter.switch(Phase::Index);
        let mut watch = Watch { scheme: session.db.scheme(), txn: &mut session.txn, row };
        let placed = index.insert(key, row, &mut watch);
        session.meter.switch(Phase::Useful);
        placed
    }

    /// A row for a key: a new one, which is in the primary index afterwards, or the one that is there; and
    /// whether it is new.
    fn place<K: Key>(&mut self, store: &'db TableStore<S>, key: K) -> Result<(RowRef<'db, S>, bool), Abort> {
        if installs::<S>() {
            return self.place_privately(store, key);
        }
        let new = self.session.db.scheme().slot(&mut self.session.txn).new_row(store, key.home());
        let row = new.row();
        if store.lookup() == Lookup::Heap {
            self.session.added.push(Unlink { row, primary: None, secondary: [None; 2] });
            return Ok((row, true));
        }
        match self.enter(store.index(Which::Primary), key.ordered(), row) {
            Ok(Placed::Added) => {
                let primary = Some(key.ordered().any());
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

    /// As `place`, but a new row is known to this attempt alone.
    fn place_privately<K: Key>(
        &mut self,
        store: &'db TableStore<S>,
        key: K,
    ) -> Result<(RowRef<'db, S>, bool), Abort> {
        let session = &mut *self.session;
        let (scheme, txn) = (session.db.scheme(), &mut session.txn);
        let place = Place { table: store.id(), which: Which::Primary, key: key.ordered().any() };
        if store.lookup() != Lookup::Heap {
            session.meter.switch(Phase::Index);
            let found = match session.private.find(place) {
                Some(own) => Some(own),
                None => store.index(place.which).get(key.ordered(), |leaf| {
                    scheme.adding(txn, leaf)?;
                    // Keys of different tables must not meet.
                    let table = u64::from(store.id().0).hash();
                    scheme.claim(txn, leaf, key.ordered().hash().wrapping_add(table))
                })?,
            };
            session.meter.switch(Phase::Useful);
            if let Some(row) = found {
                return Ok((row, false));
            }
        }
        let new = scheme.slot(txn).new_row(store, key.home());
        let row = new.row();
        session.private.keep(new);
        if store.lookup() != Lookup::Heap {
            session.private.enter(place, row);
        }
        Ok((row, true))
    }

    /// As `enter`, for a secondary key and an entry that is known to this attempt alone.
    fn enter_privately<K: IndexedKey>(
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

    /// Enters a row under its secondary keys, those of one column group.
    fn enter_secondary<R: Row + ?Sized>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        row: &R,
        at: RowRef<'db, S>,
    ) -> Result<(), Abort> {
        R::Indexes::try_each(
            key,
            row,
            &mut EnterIndex { attempt: self, row: at, group: table.group() as u16 },
        )
    }
}

/// Enters a row into one secondary index after the other.
struct EnterIndex<'a, 's, 'db, S: Scheme, O: Observer, L: Sink> {
    attempt: &'a mut Attempt<'s, 'db, S, O, L>,
    row: RowRef<'db, S>,
    group: u16,
}

impl<S: Scheme, O: Observer, L: Sink> IndexVisit for EnterIndex<'_, '_, '_, S, O, L> {
    type Stop = Abort;

    #[inline]
    fn index<K: Key>(&mut self, position: usize, key: K) -> Result<(), Abort> {
        self.attempt.reach(&(key..=key))?;
        let which = Which::Secondary { group: self.group, position: position as u16 };
        if installs::<S>() {
            return self.attempt.enter_privately(which, key.ordered(), self.row);
        }
        match self.attempt.enter(self.row.table().index(which), key.ordered(), self.row)? {
            Placed::Added => {
                let unlinks = self.attempt.session.added.iter_mut().rev();
                if let Some(unlink) = { unlinks }.find(|unlink| unlink.row.is(self.row)) {
                    unlink.secondary[position] = Some((which, key.ordered().any()));
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

impl IndexVisit for Collect {
    type Stop = Infallible;

    #[inline]
    fn index<K: Key>(&mut self, position: usize, key: K) -> Result<(), Infallible> {
        self.0[position] = Some(key.ordered().any());
        Ok(())
    }
}

/// The secondary keys of a row that are computed from its column group `R`.
#[inline]
fn secondary_keys<R: Row + ?Sized>(key: R::Key, row: &R) -> [Option<AnyKey>; 2] {
    let mut keys = Collect([None; 2]);
    let Ok(()) = R::Indexes::try_each(key, row, &mut keys);
    keys.0
}

/// Gives each group of an inserted row its value.
struct InsertGroups<'a, 's, 'db, K, S: Scheme, O: Observer, L: Sink> {
    attempt: &'a mut Attempt<'s, 'db, S, O, L>,
    row: RowRef<'db, S>,
    key: K,
    is_new: bool,
    /// Whether a row without a value may be given one again. Not where there are secondary indexes: they
    /// may still hold it under the keys of the value that it had.
    may_adopt: bool,
    /// The row was deleted by this attempt before, under these keys.
    back: Option<Unlink<'db, S>>,
}

impl<K: Key, S: Scheme, O: Observer, L: Sink> GroupVisit<K> for InsertGroups<'_, '_, '_, K, S, O, L> {
    type Stop = Abort;

    #[inline]
    fn group<R: Row<Key = K> + ?Sized>(&mut self, table: Table<R>, row: &R) -> Result<(), Abort> {
        if !self.is_new {
            return Ok(());
        }
        let session = &mut *self.attempt.session;
        let record = self.row.record(table.group());
        session.meter.switch(Phase::Cc);
        let words = session.db.scheme().insert(&mut session.txn, record)?;
        self.is_new = words.is_some();
        if self.is_new && !self.may_adopt {
            // Back from this attempt's own delete, it stands under the secondary keys that it had.
            let deleted = &mut session.deleted;
            let Some(own) = deleted.iter().position(|unlink| unlink.row.is(self.row)) else {
                return Err(Abort::WriteConflict);
            };
            self.back = Some(deleted.swap_remove(own));
            self.may_adopt = true;
        }
        if let Some(words) = words {
            words.copy_from_slice(words_of(row));
        }
        session.meter.switch(Phase::Useful);
        if !self.is_new || R::Indexes::COUNT == 0 {
            return Ok(());
        }
        match self.back.take() {
            Some(unlink) => {
                let had = unlink.secondary.map(|had| had.map(|(_, key)| key));
                let changed = changed::<R>(table, self.key, row, &had);
                self.attempt.move_row(self.row, self.key.ordered().any(), &changed)
            }
            None => self.attempt.enter_secondary(table, self.key, row, self.row),
        }
    }
}

/// Reads the rows that a scan meets.
struct Scan<'a, 's, 'db, R: ?Sized, F, S: Scheme, O: Observer, L: Sink> {
    attempt: &'a mut Attempt<'s, 'db, S, O, L>,
    table: Table<R>,
    see: F,
    which: Which,
    direction: Direction,
    /// The attempt's own inserts in the range that were not shown yet.
    own: Range<usize>,
}

impl<'a, 's, 'db, R, F, S, O, L> Scan<'a, 's, 'db, R, F, S, O, L>
where
    R: Row + ?Sized,
    S: Scheme,
    O: Observer,
    L: Sink,
{
    /// Shows the rows of a key range of one index.
    #[inline]
    fn walk<K: IndexedKey>(
        attempt: &'a mut Attempt<'s, 'db, S, O, L>,
        (table, which): (Table<R>, Which),
        (from, to): (Bound<K>, Bound<K>),
        direction: Direction,
        see: F,
    ) -> Result<(), Abort>
    where
        F: FnMut(K, &R) -> ControlFlow<()>,
    {
        let index = attempt.store(table.id()).index(which);
        attempt.session.meter.switch(Phase::Index);
        let own =
            if installs::<S>() { attempt.session.private.range(table.id(), which, from, to) } else { 0..0 };
        let mut scan = Self { attempt, table, see, which, direction, own };
        index.scan(from, to, direction, &mut scan)?;
        if installs::<S>() {
            _ = scan.show_own(None)?;
        }
        scan.attempt.session.meter.switch(Phase::Useful);
        Ok(())
    }

    #[inline]
    fn show<K>(&mut self, key: K, row: RowRef<'db, S>) -> Result<ControlFlow<()>, Abort>
    where
        F: FnMut(K, &R) -> ControlFlow<()>,
    {
        let session = &mut *self.attempt.session;
        session.meter.switch(Phase::Cc);
        let record = row.record(self.table.group());
        let words = session.db.scheme().read(&mut session.txn, record)?;
        session.observer.read(record, words);
        session.meter.switch(Phase::Useful);
        let flow = words.map_or(ControlFlow::Continue(()), |words| (self.see)(key, row_of(words)));
        session.meter.switch(Phase::Index);
        if flow.is_break() {
            self.own = 0..0;
        }
        Ok(flow)
    }
}

impl<'db, R, K, F, S, O, L> Walker<'db, K, S> for Scan<'_, '_, 'db, R, F, S, O, L>
where
    R: Row + ?Sized,
    K: IndexedKey,
    F: FnMut(K, &R) -> ControlFlow<()>,
    S: Scheme,
    O: Observer,
    L: Sink,
{
    type Stop = Abort;

    #[inline]
    fn leaf(&mut self, leaf: LeafRef<'db, S::Leaf>) -> Result<(), Abort> {
        let session = &mut *self.attempt.session;
        session.observer.scanned::<S>(leaf);
        session.db.scheme().read_gaps(&mut session.txn, leaf)
    }

    #[inline]
    fn row(&mut self, key: K, row: RowRef<'db, S>) -> Result<ControlFlow<()>, Abort> {
        if installs::<S>() {
            if self.show_own(Some(key))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            // A row that this attempt has moved stands under its old secondary key yet.
            let place = Place { table: self.table.id(), which: self.which, key: key.any() };
            if self.attempt.session.private.is_removed(place, row) {
                return Ok(ControlFlow::Continue(()));
            }
        }
        self.show(key, row)
    }
}

impl<S: Scheme, O: Observer, L: Sink> Transaction for Attempt<'_, '_, S, O, L> {
    #[inline]
    fn read<R: Row + ?Sized, T>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        see: impl FnOnce(&R) -> T,
    ) -> Result<Option<T>, Abort> {
        let Some(row) = self.row(table, key)? else { return Ok(None) };
        let record = row.record(table.group());
        let session = &mut *self.session;
        session.meter.switch(Phase::Cc);
        let words = session.db.scheme().read(&mut session.txn, record)?;
        session.observer.read(record, words);
        session.meter.switch(Phase::Useful);
        Ok(words.map(|words| see(row_of(words))))
    }

    #[inline]
    fn update<R: Row + ?Sized, T>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<Option<T>, Abort> {
        self.modify(table, key, |words| change(row_of_mut(words)))
    }

    #[inline]
    fn replace<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key, row: &R) -> Result<bool, Abort> {
        if R::Indexes::COUNT > 0 {
            // Which keys change is known only of a row that was read.
            let replaced = self.modify(table, key, |words| words.copy_from_slice(words_of(row)));
            return replaced.map(|replaced| replaced.is_some());
        }
        let Some(at) = self.row(table, key)? else { return Ok(false) };
        let record = at.record(table.group());
        let session = &mut *self.session;
        session.meter.switch(Phase::Cc);
        let words = session.db.scheme().write(&mut session.txn, record, Write::Blind)?;
        let is_there = words.is_some();
        if let Some(words) = words {
            words.copy_from_slice(words_of(row));
        }
        session.meter.switch(Phase::Useful);
        Ok(is_there)
    }

    #[inline]
    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) -> Result<bool, Abort> {
        self.reach(&(key..=key))?;
        let store = self.store(table.id());
        let (row, is_added) = self.place(store, key)?;
        let may_adopt =
            is_added || installs::<S>() || (0..store.groups()).all(|group| store.indexes(group) == 0);
        let mut groups = InsertGroups { attempt: self, row, key, is_new: true, may_adopt, back: None };
        table.try_each(rows, &mut groups)?;
        let is_new = groups.is_new;
        if installs::<S>() && is_new && !is_added {
            let place = Place { table: store.id(), which: Which::Primary, key: key.ordered().any() };
            self.session.private.restore(place, row);
        }
        Ok(is_new)
    }

    #[inline]
    fn delete<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) -> Result<bool, Abort> {
        self.reach(&(key..=key))?;
        let store = self.store(table.id());
        let Some(row) = self.find(store, key.ordered())? else { return Ok(false) };
        let mut unlink = Unlink { row, primary: Some(key.ordered().any()), secondary: [None; 2] };
        let session = &mut *self.session;
        session.meter.switch(Phase::Cc);
        let scheme = session.db.scheme();
        for group in 0..store.groups() {
            assert!(
                group == table.group() || store.indexes(group) == 0,
                "a row is deleted through the column group that has the table's secondary indexes"
            );
        }
        if R::Indexes::COUNT > 0 {
            let Some(words) = scheme.read(&mut session.txn, row.record(table.group()))? else {
                return Ok(false);
            };
            let which = |position| Which::Secondary { group: table.group() as u16, position };
            for (position, secondary) in secondary_keys::<R>(key, row_of(words)).into_iter().enumerate() {
                unlink.secondary[position] = secondary.map(|key| (which(position as u16), key));
            }
        }
        for record in row.records() {
            if !scheme.delete(&mut session.txn, record)? {
                return Ok(false);
            }
        }
        if installs::<S>() {
            let places = unlink.places();
            session.private.delete(row, places.map(|(which, key)| Place { table: table.id(), which, key }));
        } else {
            session.deleted.push(unlink);
        }
        session.meter.switch(Phase::Useful);
        Ok(true)
    }

    #[inline]
    fn scan<R: Row + ?Sized>(
        &mut self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        direction: Direction,
        mut see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        self.reach(&keys)?;
        let see = |key, row: &R| see(R::Key::from_ordered(key), row);
        Scan::walk(self, (table, Which::Primary), bounds(&keys), direction, see)
    }

    #[inline]
    fn scan_by<R: Row, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        direction: Direction,
        mut see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        self.reach(&keys)?;
        let moves = self.session.db.moves().of(index.table());
        let see = |key, row: &R| {
            let key = I::Key::from_ordered(key);
            // A row that has moved may be found under a key that is not that of the visible version.
            if moves.have_begun() && !I::holds(key, row) {
                return ControlFlow::Continue(());
            }
            see(key, row)
        };
        Scan::walk(self, (index.rows(), index.which()), bounds(&keys), direction, see)
    }

    #[inline]
    fn prefetch<G: Groups>(&mut self, groups: G, keys: impl Iterator<Item = G::Key> + Clone) {
        let index = self.store(groups.id()).index(Which::Primary);
        let mut ahead = keys.clone();
        { &mut ahead }.take(PREFETCHED_AHEAD).for_each(|key| index.prefetch(key.ordered()));
        for key in keys {
            if let Some(next) = ahead.next() {
                index.prefetch(next.ordered());
            }
            if let Some(row) = index.peek(key.ordered()) {
                groups.numbers().for_each(|group| row.record(group).prefetch());
            }
        }
    }
}
