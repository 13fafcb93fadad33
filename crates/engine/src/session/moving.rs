//! Moving a row: giving it a value with another secondary key.
//!
//! The attempt enters the new key at once, as an insert does, and leaves the old entry alone. The fate of the two
//! entries is decided when the attempt ends: see [`Moves`](crate::moves::Moves).

use storage::{AnyKey, Home, Insertion, RowRef, SecondaryKeys, TableStore, Which};

use super::touches::addition;
use super::{Attempt, Place, Session, installs, leave_over};
use crate::driver::Driver;
use crate::leftovers::{Leftover, Part};
use crate::{Abort, Observer, Scheme, Sink};

/// A secondary key that the running attempt changes.
#[derive(Debug)]
pub(super) struct Move<'db, S: Scheme> {
    row: RowRef<'db, S>,
    primary: AnyKey,
    which: Which,
    /// The key before the attempt (`from`), and the present key (`to`).
    from: AnyKey,
    to: AnyKey,
    /// The keys under which the attempt added an entry.
    entered: Vec<AnyKey>,
}

/// A key of a row that a write has changed, and the homes of the old and the new key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed {
    which: Which,
    from: AnyKey,
    to: AnyKey,
    homes: [Home; 2],
}

/// The secondary keys of a row, of one column group, that are not what they were `before`.
#[cold]
pub(super) fn changed<S: Scheme>(
    store: &TableStore<S>,
    group: u16,
    before: &SecondaryKeys,
    after: &SecondaryKeys,
) -> [Option<Changed>; 2] {
    core::array::from_fn(|position| {
        let to = after[position]?;
        let from = before[position].expect("a row has a key in each of its indexes");
        let which = Which::Secondary { group, position: position as u16 };
        let homes = [from, to].map(|key| store.home(which, key));
        (from != to).then_some(Changed { which, from, to, homes })
    })
}

impl<'db, S: Scheme, O: Observer, L: Sink> Attempt<'_, 'db, S, O, L> {
    /// Makes a row whose value has changed keys found under the new ones.
    #[cold]
    pub(super) fn move_row(
        &mut self,
        row: RowRef<'db, S>,
        primary: AnyKey,
        changed: &[Option<Changed>; 2],
    ) -> Result<(), Abort> {
        for &Changed { which, from, to, homes } in changed.iter().flatten() {
            for home in homes {
                self.reach_home(home)?;
            }
            if S::Driver::PLANS {
                self.touch_removed(row, Place { table: row.table().id(), which, key: from })?;
                self.touch(|| addition(row.table(), which, to))?;
            }
            if installs::<S>() {
                self.move_privately(row, which, from, to)?;
            } else {
                self.move_entry(row, primary, which, (from, to))?;
            }
        }
        Ok(())
    }

    fn move_privately(
        &mut self,
        row: RowRef<'db, S>,
        which: Which,
        from: AnyKey,
        to: AnyKey,
    ) -> Result<(), Abort> {
        self.session.private.leave(Place { table: row.table().id(), which, key: from }, row);
        self.enter_privately(which, to, row)
    }

    fn move_entry(
        &mut self,
        row: RowRef<'db, S>,
        primary: AnyKey,
        which: Which,
        (from, to): (AnyKey, AnyKey),
    ) -> Result<(), Abort> {
        let moves = &mut self.session.moves;
        let known = moves.find_all(row.id()).find(|at| moves.get(*at).which == which);
        let nth = known.unwrap_or(moves.len());
        if known.is_none() {
            self.session.db.moves().of(row.table().id()).begin(row);
            moves.push(row.id(), Move { row, primary, which, from, to, entered: Vec::new() });
            let found = row.table().index(Which::Primary).peek_any(&primary);
            if found.is_none_or(|found| !found.is(row)) {
                return Err(Abort::ReadChanged);
            }
        }
        self.session.moves.get_mut(nth).to = to;
        let index = row.table().index(which);
        match self.enter(index, to, row)? {
            Insertion::Added => self.session.moves.get_mut(nth).entered.push(to),
            // Entries of other attempts, or left behind by them, stay while this attempt is in flight.
            Insertion::Exists(found) if found.is(row) => {
                self.session.db.scheme().reusing(&mut self.session.txn);
            }
            // The entry of a row that is on its way out of the indexes.
            Insertion::Exists(_) => return Err(Abort::WriteConflict),
        }
        Ok(())
    }
}

impl<S: Scheme, O: Observer, L: Sink> Session<'_, S, O, L> {
    /// Called when the attempt has passed its validation and is about to install.
    #[cold]
    pub(super) fn commit_moves(&mut self) {
        for Move { row, which, from, to, entered, .. } in self.moves.iter() {
            self.db.moves().of(row.table().id()).commit(*row, *which, (*from, *to), entered);
        }
    }

    /// Called when the attempt is over.
    #[cold]
    pub(super) fn end_moves(&mut self, has_committed: bool) {
        let watermark = self.db.scheme().watermark();
        for Move { row, primary, which, entered, .. } in self.moves.drain() {
            let table = row.table().id();
            let in_vain = if has_committed { &[][..] } else { &entered };
            if self.db.moves().of(table).end(self.db.scheme(), row, which, in_vain) {
                leave_over(self.db, &mut self.txn, Leftover { table, primary, part: Part::Stale }, watermark);
            }
        }
    }
}
