//! Transactions without types: tables and column groups by number, keys and rows as words. What cannot be
//! generic over rows, because it is compiled before the schema is known, stands on it.
//!
//! The operations are those of [`Transaction`](crate::Transaction), by the same code. What types would have
//! ruled out is checked here, before the scheme hears of it, and is an error instead of a panic.

use core::fmt;
use core::ops::{Bound, ControlFlow, Range};

use storage::{AnyKey, Direction, Home, Lookup, TableId, TableStore, Which};

use crate::driver::Driver;
use crate::session::{Target, WordTxn};
use crate::{Abort, Attempt, Observer, Scheme, Session, Sink, Ticket};

/// A call that no type would have let pass. The attempt changed nothing by it; the program must be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// There is no table of this number.
    UnknownTable {
        /// The number that was given.
        table: TableId,
        /// How many tables there are.
        tables: usize,
    },
    /// The table has no column group of this number.
    UnknownGroup {
        /// The table.
        table: &'static str,
        /// The number that was given.
        group: usize,
        /// How many column groups there are.
        groups: usize,
    },
    /// The table has no such secondary index over this column group.
    UnknownIndex {
        /// The table.
        table: &'static str,
        /// The index that was asked for.
        which: Which,
        /// The column group whose rows were asked for.
        group: usize,
    },
    /// A key has not the width of its index.
    KeyWidth {
        /// The table.
        table: &'static str,
        /// The index.
        which: Which,
        /// The key's width in words.
        given: usize,
        /// The width of the index's keys in words.
        expected: usize,
    },
    /// A key has bits that the type of the index's keys has not.
    KeyValue {
        /// The table.
        table: &'static str,
        /// The index.
        which: Which,
        /// The key.
        key: AnyKey,
    },
    /// A row has not the width of its column group.
    RowWidth {
        /// The table.
        table: &'static str,
        /// The column group.
        group: usize,
        /// The row's width in words.
        given: usize,
        /// The column group's width in words.
        expected: usize,
    },
    /// An insert gives more or fewer rows than the table has column groups.
    GroupCount {
        /// The table.
        table: &'static str,
        /// How many were given.
        given: usize,
        /// How many column groups there are.
        expected: usize,
    },
    /// A row of a heap table is asked for by its key: such a table takes inserts and finds nothing.
    Unfindable {
        /// The table.
        table: &'static str,
    },
    /// A scan by the primary key of a table whose rows are not in its order.
    Unordered {
        /// The table.
        table: &'static str,
    },
    /// A write in an attempt whose ticket says that it writes nothing.
    ReadOnly {
        /// The table.
        table: &'static str,
    },
    /// A write of a row that lives everywhere, and so is written only by loading.
    Everywhere {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: AnyKey,
    },
    /// Amounts are added to rows that have other columns than 64-bit integers, or were not declared to have none.
    NotAdditive {
        /// The table.
        table: &'static str,
        /// The column group.
        group: usize,
    },
    /// A row of a table whose secondary indexes are on several column groups cannot be deleted.
    Undeletable {
        /// The table.
        table: &'static str,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::UnknownTable { table, tables } => {
                write!(f, "there is no table {}: the {tables} tables are numbered from 0", table.0)
            }
            Self::UnknownGroup { table, group, groups } => write!(
                f,
                "table `{table}` has no column group {group}: its {groups} column groups are numbered from 0"
            ),
            Self::UnknownIndex { table, which, group } => {
                write!(f, "table `{table}` has no index {which:?} over its column group {group}")
            }
            Self::KeyWidth { table, which, given, expected } => write!(
                f,
                "table `{table}`, index {which:?}: a key has {expected} words of 8 bytes, and {given} were given"
            ),
            Self::KeyValue { table, which, key } => {
                write!(f, "table `{table}`, index {which:?}: {key:?} is not a value of the key's type")
            }
            Self::RowWidth { table, group, given, expected } => write!(
                f,
                "table `{table}`, column group {group}: a row has {expected} words of 8 bytes, and {given} \
                 were given"
            ),
            Self::GroupCount { table, given, expected } => write!(
                f,
                "table `{table}`: an insert gives a row to each of {expected} column groups, and {given} were \
                 given"
            ),
            Self::Unfindable { table } => {
                write!(f, "table `{table}` is a heap, which finds no row by its key: insert is all it allows")
            }
            Self::Unordered { table } => {
                write!(
                    f,
                    "table `{table}` is not ordered by its key: declare it so, or scan a secondary index"
                )
            }
            Self::ReadOnly { table } => {
                write!(
                    f,
                    "table `{table}` is written in an attempt whose ticket is read-only: clear `read_only`"
                )
            }
            Self::Everywhere { table, key } => {
                write!(
                    f,
                    "table `{table}`: the row of {key:?} lives everywhere and is written only by loading"
                )
            }
            Self::NotAdditive { table, group } => write!(
                f,
                "table `{table}`, column group {group}: rows are not declared `additive!`, as those of 64-bit \
                 integers can be: update them instead"
            ),
            Self::Undeletable { table } => write!(
                f,
                "table `{table}` has secondary indexes on several column groups: rows are deleted where one \
                 has them all"
            ),
        }
    }
}

impl core::error::Error for Misuse {}

/// Why an operation or an attempt did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawError {
    /// The attempt is over, as with typed calls. [`Abort::Rollback`] is what a body returns that wants no commit.
    Abort(Abort),
    /// The call makes no sense; another attempt would make none either.
    Misuse(Misuse),
}

impl fmt::Display for RawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Abort(abort) => write!(f, "the attempt aborted: {}", abort.name()),
            Self::Misuse(misuse) => misuse.fmt(f),
        }
    }
}

impl core::error::Error for RawError {}

impl From<Abort> for RawError {
    fn from(abort: Abort) -> Self {
        Self::Abort(abort)
    }
}

impl From<Misuse> for RawError {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

/// One attempt to execute a transaction, over words. Object-safe.
///
/// Results and visibility are those of [`Transaction`](crate::Transaction), and so is what a body may believe
/// of what it sees. After an error the attempt cannot commit: every later call gives the same error again.
pub trait RawTxn {
    /// Reads a row's column group: `false` when the key is not there.
    ///
    /// # Errors
    /// The scheme's abort, or misuse.
    fn get(
        &mut self,
        table: TableId,
        group: usize,
        key: AnyKey,
        see: &mut dyn FnMut(&[u64]),
    ) -> Result<bool, RawError>;

    /// Reads a row's column group and writes it: `false` when the key is not there. It may change the row's
    /// secondary keys.
    ///
    /// # Errors
    /// The scheme's abort, or misuse.
    fn update(
        &mut self,
        table: TableId,
        group: usize,
        key: AnyKey,
        change: &mut dyn FnMut(&mut [u64]),
    ) -> Result<bool, RawError>;

    /// Adds amounts to a row's column group, word by word, wrapping: `false` when the key is not there. As
    /// [`Transaction::add`](crate::Transaction::add), for rows of which their declaration says that it may be.
    ///
    /// # Errors
    /// The scheme's abort, or misuse.
    fn add(&mut self, table: TableId, group: usize, key: AnyKey, amounts: &[u64]) -> Result<bool, RawError>;

    /// Overwrites a row's column group: `false` when the key is not there.
    ///
    /// # Errors
    /// The scheme's abort, or misuse.
    fn replace(&mut self, table: TableId, group: usize, key: AnyKey, words: &[u64])
    -> Result<bool, RawError>;

    /// Inserts a row, a slice for each of its column groups in order: `false` when the key is there already.
    ///
    /// # Errors
    /// The scheme's abort, or misuse.
    fn insert(&mut self, table: TableId, key: AnyKey, groups: &[&[u64]]) -> Result<bool, RawError>;

    /// Deletes a row with all its column groups: `false` when the key is not there.
    ///
    /// # Errors
    /// The scheme's abort, or misuse.
    fn delete(&mut self, table: TableId, key: AnyKey) -> Result<bool, RawError>;

    /// Visits the rows whose keys in an index are in a range, in key order or against it, until `see` breaks.
    /// It sees the key in that index and the words of `group`, which for a secondary index is the index's own.
    ///
    /// # Errors
    /// The scheme's abort, or misuse.
    fn scan(
        &mut self,
        table: TableId,
        group: usize,
        which: Which,
        keys: (Bound<AnyKey>, Bound<AnyKey>),
        direction: Direction,
        see: &mut dyn FnMut(AnyKey, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), RawError>;

    /// Whether all that was seen so far belongs to one committed state: see
    /// [`Scheme::confirm`](crate::Scheme::confirm).
    ///
    /// # Errors
    /// The scheme's abort, when it does not.
    fn confirm(&mut self) -> Result<(), RawError>;

    /// Says that column groups of the rows of these keys will be asked for soon: a hint, as
    /// [`Transaction::prefetch`](crate::Transaction::prefetch). What is no key or no column group of the table is
    /// passed over.
    fn prefetch(&mut self, table: TableId, groups: Range<usize>, keys: &[AnyKey]);
}

/// One logical client's access to a database under a scheme that the caller need not name. Object-safe.
pub trait RawSession {
    /// Executes `body` once as a transaction and commits it, if neither it nor one of its calls failed.
    ///
    /// # Errors
    /// As [`Session::attempt`], or the body's misuse. Misuse rolls back, and is believed as a rollback is: when
    /// what the body read before proved inconsistent, the error is that abort, which invites another attempt.
    fn transact(
        &mut self,
        ticket: &Ticket,
        body: &mut dyn FnMut(&mut dyn RawTxn) -> Result<(), RawError>,
    ) -> Result<(), RawError>;

    /// Does what is due now and then between attempts, whoever makes them: see
    /// [`Scheme::maintain`](crate::Scheme::maintain). `worker` says who calls.
    fn maintain(&mut self, worker: usize);
}

impl<S: Scheme, O: Observer, L: Sink> RawSession for Session<'_, S, O, L> {
    fn maintain(&mut self, worker: usize) {
        self.database().scheme().maintain(worker);
    }

    fn transact(
        &mut self,
        ticket: &Ticket,
        body: &mut dyn FnMut(&mut dyn RawTxn) -> Result<(), RawError>,
    ) -> Result<(), RawError> {
        let mut misuse = None;
        let ended = self.attempt(ticket, |attempt| {
            let mut txn = Raw { attempt, is_read_only: ticket.read_only, failed: None };
            let returned = body(&mut txn);
            // What the scheme aborted must not commit because a body has overlooked it.
            let executed = txn.failed.map_or(returned, Err);
            executed.map_err(|error| match error {
                RawError::Abort(abort) => abort,
                RawError::Misuse(what) => {
                    misuse = Some(what);
                    Abort::Rollback
                }
            })
        });
        match (ended, misuse) {
            (Err(Abort::Rollback), Some(misuse)) => Err(misuse.into()),
            _ => Ok(ended?),
        }
    }
}

/// An attempt, and the first error that one of its calls had.
struct Raw<'a, 's, 'db, S: Scheme, O: Observer, L: Sink> {
    attempt: &'a mut Attempt<'s, 'db, S, O, L>,
    is_read_only: bool,
    failed: Option<RawError>,
}

impl<'s, 'db, S: Scheme, O: Observer, L: Sink> Raw<'_, 's, 'db, S, O, L> {
    /// Makes a call on a table, unless one has failed before.
    fn call<T>(
        &mut self,
        table: TableId,
        call: impl FnOnce(&mut Attempt<'s, 'db, S, O, L>, &'db TableStore<S>) -> Result<T, RawError>,
    ) -> Result<T, RawError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let tables = self.attempt.tables();
        let unknown = || Misuse::UnknownTable { table, tables: tables.iter().count() }.into();
        let called = tables.find(table).ok_or_else(unknown).and_then(|store| call(self.attempt, store));
        called.inspect_err(|error| self.failed = Some(*error))
    }

    /// As `call`, to write the row of a key.
    fn write<T>(
        &mut self,
        table: TableId,
        key: AnyKey,
        call: impl FnOnce(&mut Attempt<'s, 'db, S, O, L>, &'db TableStore<S>) -> Result<T, RawError>,
    ) -> Result<T, RawError> {
        let is_read_only = self.is_read_only;
        self.call(table, |attempt, store| {
            ensure(!is_read_only, || Misuse::ReadOnly { table: store.name() })?;
            check_primary(store, &key)?;
            let is_somewhere = store.home(Which::Primary, key) != Home::Everywhere;
            ensure(is_somewhere, || Misuse::Everywhere { table: store.name(), key })?;
            call(attempt, store)
        })
    }
}

/// Refuses a call that is not sound. What a refusal says is put together apart, out of the way of calls that are.
#[inline]
fn ensure(is_sound: bool, misuse: impl FnOnce() -> Misuse) -> Result<(), Misuse> {
    #[cold]
    fn refusal(misuse: impl FnOnce() -> Misuse) -> Misuse {
        misuse()
    }
    if is_sound { Ok(()) } else { Err(refusal(misuse)) }
}

/// Returns the home of a row, for schemes that have any use for it.
#[inline]
fn home<S: Scheme>(store: &TableStore<S>, key: AnyKey) -> Home {
    if S::Driver::PARTITIONED { store.home(Which::Primary, key) } else { Home::Everywhere }
}

#[inline]
fn check_group<S: Scheme>(store: &TableStore<S>, group: usize) -> Result<(), Misuse> {
    let groups = store.groups();
    ensure(group < groups, || Misuse::UnknownGroup { table: store.name(), group, groups })
}

#[inline]
fn check_primary<S: Scheme>(store: &TableStore<S>, key: &AnyKey) -> Result<(), Misuse> {
    ensure(store.is_primary_key(key), || no_key(store, Which::Primary, key))
}

fn check_key<S: Scheme>(store: &TableStore<S>, which: Which, key: &AnyKey) -> Result<(), Misuse> {
    ensure(store.is_key(which, key), || no_key(store, which, key))
}

fn no_key<S: Scheme>(store: &TableStore<S>, which: Which, key: &AnyKey) -> Misuse {
    let (table, given, expected) = (store.name(), key.words(), store.key_words(which));
    if given == expected {
        Misuse::KeyValue { table, which, key: *key }
    } else {
        Misuse::KeyWidth { table, which, given, expected }
    }
}

#[inline]
fn check_row<S: Scheme>(store: &TableStore<S>, group: usize, words: &[u64]) -> Result<(), Misuse> {
    let (given, expected) = (words.len(), store.row_width(group));
    ensure(given == expected, || Misuse::RowWidth { table: store.name(), group, given, expected })
}

#[inline]
fn check_additive<S: Scheme>(store: &TableStore<S>, group: usize) -> Result<(), Misuse> {
    ensure(store.is_additive(group), || Misuse::NotAdditive { table: store.name(), group })
}

/// A table whose rows are found by their primary key.
#[inline]
fn check_found<S: Scheme>(store: &TableStore<S>) -> Result<(), Misuse> {
    ensure(store.lookup() != Lookup::Heap, || Misuse::Unfindable { table: store.name() })
}

/// An index that can be scanned for rows of a column group.
#[inline]
fn check_ordered<S: Scheme>(store: &TableStore<S>, group: usize, which: Which) -> Result<(), Misuse> {
    match which {
        Which::Primary => {
            ensure(store.lookup() == Lookup::Ordered, || Misuse::Unordered { table: store.name() })
        }
        Which::Secondary { group: own, position } => {
            let is_there = usize::from(own) == group && usize::from(position) < store.indexes(group);
            ensure(is_there, || Misuse::UnknownIndex { table: store.name(), which, group })
        }
    }
}

/// The column group through which a table's rows are deleted: that which has secondary indexes, if any has.
fn group_of_indexes<S: Scheme>(store: &TableStore<S>) -> Result<usize, Misuse> {
    let mut indexed = (0..store.groups()).filter(|&group| store.indexes(group) > 0);
    let group = indexed.next().unwrap_or(0);
    if indexed.next().is_none() { Ok(group) } else { Err(Misuse::Undeletable { table: store.name() }) }
}

impl<S: Scheme, O: Observer, L: Sink> RawTxn for Raw<'_, '_, '_, S, O, L> {
    fn get(
        &mut self,
        table: TableId,
        group: usize,
        key: AnyKey,
        see: &mut dyn FnMut(&[u64]),
    ) -> Result<bool, RawError> {
        self.call(table, |attempt, store| {
            check_group(store, group)?;
            check_found(store)?;
            check_primary(store, &key)?;
            let target = Target { table, group: group as u16 };
            let home = home(store, key);
            let words = WordTxn::read(attempt, target, home, &key)?;
            Ok(words.map(see).is_some())
        })
    }

    fn update(
        &mut self,
        table: TableId,
        group: usize,
        key: AnyKey,
        change: &mut dyn FnMut(&mut [u64]),
    ) -> Result<bool, RawError> {
        self.write(table, key, |attempt, store| {
            check_group(store, group)?;
            check_found(store)?;
            let target = Target { table, group: group as u16 };
            let home = home(store, key);
            Ok(WordTxn::change_plainly(attempt, target, home, &key, change)?)
        })
    }

    fn add(&mut self, table: TableId, group: usize, key: AnyKey, amounts: &[u64]) -> Result<bool, RawError> {
        self.write(table, key, |attempt, store| {
            check_group(store, group)?;
            check_found(store)?;
            check_additive(store, group)?;
            check_row(store, group, amounts)?;
            let target = Target { table, group: group as u16 };
            let home = home(store, key);
            Ok(WordTxn::add(attempt, target, home, &key, amounts)?)
        })
    }

    fn replace(
        &mut self,
        table: TableId,
        group: usize,
        key: AnyKey,
        words: &[u64],
    ) -> Result<bool, RawError> {
        self.write(table, key, |attempt, store| {
            check_group(store, group)?;
            check_found(store)?;
            check_row(store, group, words)?;
            let target = Target { table, group: group as u16 };
            let home = home(store, key);
            Ok(WordTxn::replace(attempt, target, home, &key, words)?)
        })
    }

    fn insert(&mut self, table: TableId, key: AnyKey, groups: &[&[u64]]) -> Result<bool, RawError> {
        self.write(table, key, |attempt, store| {
            let (given, expected) = (groups.len(), store.groups());
            if given != expected {
                return Err(Misuse::GroupCount { table: store.name(), given, expected }.into());
            }
            for (group, words) in groups.iter().enumerate() {
                check_row(store, group, words)?;
            }
            let home = store.home(Which::Primary, key);
            Ok(WordTxn::insert(attempt, table, home, &key, groups)?)
        })
    }

    fn delete(&mut self, table: TableId, key: AnyKey) -> Result<bool, RawError> {
        self.write(table, key, |attempt, store| {
            check_found(store)?;
            let group = group_of_indexes(store)?;
            let target = Target { table, group: group as u16 };
            let home = home(store, key);
            Ok(WordTxn::delete(attempt, target, home, &key)?)
        })
    }

    fn scan(
        &mut self,
        table: TableId,
        group: usize,
        which: Which,
        (from, to): (Bound<AnyKey>, Bound<AnyKey>),
        direction: Direction,
        see: &mut dyn FnMut(AnyKey, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), RawError> {
        self.call(table, |attempt, store| {
            check_group(store, group)?;
            check_ordered(store, group, which)?;
            for bound in [from, to] {
                if let Bound::Included(key) | Bound::Excluded(key) = bound {
                    check_key(store, which, &key)?;
                }
            }
            let home = |key| store.home(which, key);
            let (shown, homes) = ((table, group as u16, which), (from.map(home), to.map(home)));
            Ok(WordTxn::scan(attempt, shown, homes, (from, to), direction, &mut |key, words, may_differ| {
                (!may_differ || store.holds(which, key, words)).then(|| see(key, words))
            })?)
        })
    }

    fn confirm(&mut self) -> Result<(), RawError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let confirmed = self.attempt.confirm().map_err(RawError::from);
        confirmed.inspect_err(|error| self.failed = Some(*error))
    }

    fn prefetch(&mut self, table: TableId, groups: Range<usize>, keys: &[AnyKey]) {
        let Some(store) = self.attempt.tables().find(table) else { return };
        let is_found = check_found(store).is_ok() && check_group(store, groups.end.saturating_sub(1)).is_ok();
        let width = store.key_words(Which::Primary);
        if is_found && keys.iter().all(|key| key.words() == width) {
            self.attempt.fetch((table, groups), keys);
        }
    }
}
