//! Sessions: typed rows above, words below. [`Session::attempt`] is the one way to run an attempt.

mod erased;
mod found_rows;
mod moving;
mod prefetch;
mod private;
mod touches;
mod unlinks;
mod width;
mod words;

use core::ops::{ControlFlow, RangeBounds};

use storage::{
    Additive, AnyKey, CoreKey, Groups, Home, Index, IndexOn, IndexedKey, Indexes, Key, NextNode, Row, RowRef,
    Slot, Table, Which, row_of, row_of_mut, words_of,
};

use crate::AccessSet;
use crate::database::{Database, bounds};
use crate::driver::Driver;
use crate::footprint::KnownKey;
use crate::leftovers::{Due, Leftover, Part};
use crate::meter::{Meter, Phase};
use crate::{
    Abort, Batching, Direction, End, InsertAt, Observer, Planning, Retire, Scheme, Sink, Stamp, Step, Ticket,
    Transaction, Write,
};

pub(crate) use found_rows::FoundRows;
use moving::Move;
use private::Private;
use unlinks::Unlinks;
use words::Homes;

pub use erased::ErasedAttempt;
pub(crate) use erased::WordTxn;
pub(crate) use width::with_core;
pub(crate) use words::Target;

use prefetch::{GroupsOf, in_chunks, numbers};
pub(crate) use private::{Change, Place};

/// The maximum number of keys whose search is prefetched: many more would push each other out of the nearest cache.
const PREFETCHED_MAX: usize = 64;

/// The nodes at which the searches for the keys of an input go on, after those that were asked for first.
#[derive(Debug, Default)]
pub(crate) struct Ahead<'db>(Vec<NextNode<'db>>);

/// One logical client's access to a database: runs one attempt at a time.
pub struct Session<'db, S: Scheme, O: Observer = (), L: Sink = ()> {
    db: &'db Database<S>,
    txn: S::Txn<'db>,
    observer: O,
    sink: L,
    meter: Meter,
    /// Rows that the running attempt added to the indexes: they leave them again if it aborts.
    added: Box<Unlinks<'db, S>>,
    /// Rows that the running attempt deletes: they leave the indexes if it commits.
    deleted: Box<Unlinks<'db, S>>,
    /// Secondary keys that the running attempt changes.
    moves: Box<AccessSet<Move<'db, S>>>,
    /// Instead of the three above, where indexes change at the commit.
    // Boxed, like the three: a session moves onto its fiber, which has room for a thousand bytes.
    private: Box<Private<'db, S>>,
    /// The purpose of the running attempt, under schemes that plan.
    step: Step,
    /// The rows that were found for the transaction before, if the running attempt is a planned one; or the rows that
    /// are being found.
    found: Box<FoundRows<'db, S>>,
    /// Whether an update reads first, as if it did not know yet that it will write.
    reads_first: bool,
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
        let (added, deleted, moves) = (Box::default(), Box::default(), Box::default());
        let (meter, private) = (Meter::default(), Box::default());
        Self {
            db,
            txn,
            observer,
            sink,
            meter,
            added,
            deleted,
            moves,
            private,
            step: Step::Whole,
            found: Box::default(),
            reads_first: false,
        }
    }

    /// Whether the running attempt is a planned one: its footprint was found a batch ago at most, so that what it will
    /// touch is mostly in a cache, and to ask for it again costs more than it saves.
    #[inline]
    fn is_planned(&self) -> bool {
        S::Driver::PLANS && self.step == Step::Planned
    }

    /// The session's database.
    pub(crate) fn database(&self) -> &'db Database<S> {
        self.db
    }

    /// Has updates read before they write, under schemes to which that [makes a difference](Scheme::UPGRADES), or write
    /// at once, as they do unless told otherwise.
    pub fn read_first(&mut self, reads_first: bool) {
        self.reads_first = reads_first;
    }

    /// The session's phase clocks.
    pub fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// The session's observer.
    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// The session's sink.
    pub fn sink(&mut self) -> &mut L {
        &mut self.sink
    }

    /// Tells the sink of a record that is about to be written. The key is put into words only for one that listens.
    #[inline]
    fn touched<K: CoreKey>(&mut self, record: usize, key: K) {
        if self.sink.listens() {
            self.sink.touched(record, key.any());
        }
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
        self.observer.begin();
        self.db.scheme().await_others(&mut self.txn, ticket);
        self.sink.begin();
        if S::Driver::PLANS {
            self.step = ticket.step;
            match ticket.step {
                Step::Rehearsal => self.found.clear(),
                Step::Planned => self.found.begin(),
                Step::Whole | Step::Alone => {}
            }
        }
        self.db.scheme().slot(&mut self.txn).pin();
        let mut attempt = Attempt { session: self, is_over: false };
        let begun = attempt.session.db.scheme().begin(&mut attempt.session.txn, ticket);
        attempt.session.meter.switch(Phase::Useful);
        let executed = begun.and_then(|()| body(&mut attempt));
        attempt.is_over = true;
        executed
    }

    /// Executes `body` for what it touches, which enters the plan, and undoes it. Called by `worker`.
    pub(crate) fn rehearse<T>(
        &mut self,
        (plan, worker): (&S::Plan<'db>, usize),
        ticket: &Ticket,
        body: impl FnOnce(&mut Attempt<'_, 'db, S, O, L>) -> Result<T, Abort>,
    ) where
        S: Planning,
    {
        _ = self.execute(ticket, body);
        self.db.scheme().declare(plan, &mut self.txn, worker);
        self.db.scheme().abort(&mut self.txn);
        self.meter.rehearsed();
        self.ended(Err(Abort::Footprint));
    }

    /// Enters what the input is known to touch into the plan, in place of a rehearsal.
    pub(crate) fn foresee(
        &mut self,
        plan: (&S::Plan<'db>, usize),
        ticket: &Ticket,
        known: &[KnownKey],
        ahead: &Ahead<'db>,
    ) where
        S: Planning,
    {
        ahead.0.iter().for_each(|node| node.prefetch());
        self.rehearse(plan, ticket, |txn| txn.foresee(known));
    }

    /// Asks for the memory in which [`foresee`](Self::foresee) will search first.
    pub(crate) fn prefetch(&self, known: &[KnownKey], ahead: &mut Ahead<'db>) {
        let first = known.iter().take(PREFETCHED_MAX);
        ahead.0.clear();
        ahead.0.extend(first.filter_map(|known| touches::prefetch(self.db.tables().get(known.table), known)));
    }

    /// Does a worker's share of the plan.
    pub(crate) fn plan(&mut self, plan: &S::Plan<'db>, worker: usize, workers: usize)
    where
        S: Planning,
    {
        let scheme = self.db.scheme();
        scheme.slot(&mut self.txn).pin();
        scheme.plan(plan, &mut self.txn, worker, workers);
        scheme.slot(&mut self.txn).unpin();
    }

    /// The rows that were found for the transaction that was foreseen or rehearsed last.
    pub(crate) fn found(&mut self) -> &mut FoundRows<'db, S> {
        &mut self.found
    }

    /// The next attempt is the planned one of the transaction at this place, for which these rows were found.
    pub(crate) fn prepare(
        &mut self,
        (plan, worker): (&S::Plan<'db>, usize),
        place: usize,
        found: &mut FoundRows<'db, S>,
    ) where
        S: Planning,
    {
        S::prepare(plan, &mut self.txn, place, worker);
        core::mem::swap(found, &mut self.found);
    }

    /// Whether the attempt that has just ended is to be made again with what was prepared for it.
    pub(crate) fn is_to_run_again(&self) -> bool
    where
        S: Planning,
    {
        S::is_to_run_again(&self.txn)
    }

    /// From now on what any attempt may have found stays where it is, until it is [let go](Self::let_go).
    pub(crate) fn hold(&mut self) {
        self.db.scheme().slot(&mut self.txn).pin();
    }

    /// Ends a [`hold`](Self::hold).
    pub(crate) fn let_go(&mut self) {
        self.db.scheme().slot(&mut self.txn).unpin();
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
        let scheme = self.db.scheme();
        let decided = match executed {
            Ok(output) => {
                self.meter.receive(Phase::Commit);
                let decided = scheme.precommit(&mut self.txn, End::Commit);
                let waits =
                    |()| if self.sink.listens() { scheme.await_overwritten(&mut self.txn) } else { Ok(()) };
                decided.and_then(waits).map(|()| output)
            }
            Err(Abort::Rollback) => {
                self.meter.receive(Phase::Commit);
                Err(scheme.precommit(&mut self.txn, End::Rollback).err().unwrap_or(Abort::Rollback))
            }
            // The scheme has ended it: no message is waited for.
            Err(abort) => {
                self.meter.switch(Phase::Commit);
                let confirmed =
                    if S::Driver::PLANS { scheme.precommit(&mut self.txn, End::Rollback) } else { Ok(()) };
                Err(confirmed.err().unwrap_or(abort))
            }
        };
        match &decided {
            Ok(_) => {
                self.sink.committing();
                if installs::<S>() {
                    self.private.commit(scheme.slot(&mut self.txn), change);
                }
                if !self.moves.is_empty() {
                    self.commit_moves();
                }
                let stamp = scheme.install(&mut self.txn, &mut self.sink, &mut self.observer);
                self.sink.committed();
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
            // A key that is on its way out holds up who wants to insert it again.
            self.db.scheme().slot(&mut self.txn).urge();
        }
        self.db.scheme().slot(&mut self.txn).unpin();
        self.sink.ended();
        self.meter.ended(outcome.is_err());
    }

    /// Takes out of the indexes what could not leave them before, and whose time has come: a few rows, so
    /// that no attempt is delayed for long.
    #[cold]
    fn unlink(&mut self) {
        let watermark = self.db.scheme().watermark();
        for _ in 0..16 {
            let slot = self.db.scheme().slot(&mut self.txn);
            let is_due = |due: Due| due.watermark <= watermark.unwrap_or_default() && slot.is_past(due.stamp);
            let Some(left) = self.db.leftovers().pop(is_due) else { return };
            let index = self.db.tables().get(left.table).index(Which::Primary);
            let Some(row) = index.peek_any(&left.primary) else { continue };
            match left.part {
                Part::Row(secondary) => {
                    let unlink = Unlink { row, primary: Some(left.primary), secondary };
                    unlink.try_leave(self.db, &mut self.txn);
                }
                Part::Stale => {
                    if self.db.moves().of(left.table).retry(self.db.scheme(), row) {
                        leave_over(self.db, &mut self.txn, left, watermark);
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
    assert!(!installs::<S>(), "what leaves the indexes at the commit leaves them then");
    let watermark = watermark.map_or(0, |watermark| watermark + 1);
    db.leftovers().push(Due { stamp: db.scheme().slot(txn).stamp(), watermark }, left);
}

/// Whether the indexes change at the commit.
#[inline]
const fn installs<S: Scheme>() -> bool {
    matches!(S::Driver::INSERT, InsertAt::Install)
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
            table.index(Which::Primary).remove(&primary, self.row, |leaf| {
                // In the order of locking: what holds a later group has held the first.
                let verdicts = self.row.records().map(|record| scheme.retire(record, leaf));
                retired =
                    verdicts.into_iter().find(|verdict| *verdict != Retire::Done).unwrap_or(Retire::Done);
                retired == Retire::Done
            })
        });
        if is_out {
            for (which, key) in self.secondary.into_iter().flatten() {
                table.index(which).remove(&key, self.row, |leaf| {
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

impl<S: Scheme, O: Observer, L: Sink> Attempt<'_, '_, S, O, L> {
    /// Whether all that the attempt has seen so far belongs to one committed state.
    pub(crate) fn confirm(&mut self) -> Result<(), Abort> {
        self.session.db.scheme().confirm(&mut self.session.txn)
    }

    /// Waits for `ns` nanoseconds, holding what the attempt holds; on a fiber the worker's other clients run.
    pub fn pause(&mut self, ns: u64) {
        let phase = self.session.meter.switch(Phase::Wait);
        sync::waiter::pause_ns(ns);
        self.session.meter.switch(phase);
    }
}

/// Where the bounds of a range of typed keys live.
#[inline]
fn homes<S: Scheme, K: Key>(keys: &impl RangeBounds<K>) -> Homes {
    (keys.start_bound().map(|key| home::<S, _>(*key)), keys.end_bound().map(|key| home::<S, _>(*key)))
}

/// Where a row lives, for schemes that have any use for it.
#[inline]
fn home<S: Scheme, K: Key>(key: K) -> Home {
    if S::Driver::PARTITIONED { key.home() } else { Home::Everywhere }
}

/// The numbers of a typed handle.
#[inline]
fn target<R: Row + ?Sized>(table: Table<R>) -> Target {
    Target { table: table.id(), group: table.group() as u16 }
}

impl<S: Scheme, O: Observer, L: Sink> Transaction for Attempt<'_, '_, S, O, L> {
    #[inline]
    fn read<R: Row + ?Sized, T>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        see: impl FnOnce(&R) -> T,
    ) -> Result<Option<T>, Abort> {
        let words = self.read_words(target(table), home::<S, _>(key), key.ordered().to_core())?;
        Ok(words.map(|words| see(row_of(words))))
    }

    #[inline]
    fn update<R: Row + ?Sized, T>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<Option<T>, Abort> {
        let (target, home, core) = (target(table), home::<S, _>(key), key.ordered().to_core());
        if R::Indexes::COUNT == 0 && !self.marks() {
            let words = self.write_words(target, home, core, Write::Modify)?;
            return Ok(words.map(|words| change(row_of_mut(words))));
        }
        let (mut change, mut output) = (Some(change), None);
        self.change_words(target, home, core, &mut |words| {
            let row = row_of_mut(words);
            let before = R::Indexes::keys(key, row);
            output = change.take().map(|change| change(row));
            let after = R::Indexes::keys(key, row);
            (before != after).then(|| [before, after].map(R::Indexes::any))
        })?;
        Ok(output)
    }

    #[inline]
    fn add<R: Additive>(
        &mut self,
        table: Table<R>,
        key: R::Key,
        amounts: impl FnOnce(&mut R),
    ) -> Result<bool, Abort> {
        let mut row = R::new_zeroed();
        amounts(&mut row);
        self.add_words(target(table), home::<S, _>(key), key.ordered().to_core(), words_of(&row))
    }

    #[inline]
    fn replace<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key, row: &R) -> Result<bool, Abort> {
        self.replace_words(target(table), home::<S, _>(key), key.ordered().to_core(), words_of(row))
    }

    #[inline]
    fn insert<G: Groups>(&mut self, table: G, key: G::Key, rows: G::Rows<'_>) -> Result<bool, Abort> {
        self.insert_words(table.id(), key.ordered().to_core(), key.home(), G::words(rows).as_ref())
    }

    #[inline]
    fn delete<R: Row + ?Sized>(&mut self, table: Table<R>, key: R::Key) -> Result<bool, Abort> {
        self.delete_words(target(table), home::<S, _>(key), key.ordered().to_core())
    }

    #[inline]
    fn scan<R: Row + ?Sized>(
        &mut self,
        table: Table<R>,
        keys: impl RangeBounds<R::Key>,
        direction: Direction,
        mut see: impl FnMut(R::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        self.receive();
        self.reach(homes::<S, _>(&keys))?;
        let shown = (table.id(), table.group() as u16, Which::Primary);
        self.scan_words(shown, bounds(&keys, IndexedKey::to_core), direction, &mut |key, words| {
            Some(see(R::Key::from_ordered(IndexedKey::from_core(key)), row_of(words)))
        })
    }

    #[inline]
    fn scan_by<R: Row, I: IndexOn<R>>(
        &mut self,
        index: Index<R, I>,
        keys: impl RangeBounds<I::Key>,
        direction: Direction,
        mut see: impl FnMut(I::Key, &R) -> ControlFlow<()>,
    ) -> Result<(), Abort> {
        self.receive();
        self.reach(homes::<S, _>(&keys))?;
        let may_differ = self.may_differ(index.table());
        let shown = (index.table(), index.group() as u16, index.which());
        self.scan_words(shown, bounds(&keys, IndexedKey::to_core), direction, &mut |key, words| {
            let (key, row) = (I::Key::from_ordered(IndexedKey::from_core(key)), row_of(words));
            (!may_differ() || I::holds(key, row)).then(|| see(key, row))
        })
    }

    #[inline]
    fn decided(&mut self) {
        S::Driver::decided(self.session.db.scheme(), &mut self.session.txn);
    }

    #[inline]
    fn prefetch<G: Groups>(&mut self, groups: G, keys: impl Iterator<Item = G::Key>) {
        if self.session.is_planned() {
            return;
        }
        let groups = (groups.id(), numbers(groups));
        in_chunks(keys.map(|key| key.ordered().to_core()), |keys| self.prefetch_words(groups.clone(), keys));
    }
}
