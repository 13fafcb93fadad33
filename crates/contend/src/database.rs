//! The database: opening it, looking up its tables, and executing transactions.

use core::any::Any;
use core::fmt;
use core::marker::PhantomData;
use std::panic::resume_unwind;
use std::path::Path;

use durability::LogError;
use durability::disk::Directory;
use engine::{Abort, Homes, Isolation, RawError, RawTxn, TableId, Ticket};
use sync::atomic::{AtomicUsize, Ordering};
use sync::panics::{self, Reports};
use sync::threads::{self, Inside};
use sync::{Arc, clock, waiter};

use crate::confirming::{Commits, Confirming};
use crate::counters::{Counters, Event};
use crate::durable::{Await, Durable, Place, Recovery};
use crate::error::{Conflict, Error, Misuse};
use crate::future::Helpers;
use crate::open_error::OpenError;
use crate::options::Options;
use crate::pool::{Held, Pool, Seat, Taken};
use crate::shape::Shape;
use crate::store;
use crate::table::{Handle, Table};
use crate::turn::{Turn, Turns};
use crate::txn::{Reader, Room, Txn};
use crate::value::{Bound, NamedTable};

/// Attempts of a seat between two calls of `maintain`, the same number as for the laboratory's workers.
const MAINTENANCE_EVERY: u32 = 16;
/// Range of the ceiling of the backoff, in nanoseconds. The backoff is a random time below the ceiling, and the ceiling
/// doubles with each attempt, from the first value up to the second. The pauses are random so that attempts which
/// conflicted do not meet again.
const PAUSE_NS: (u64, u64) = (250, 100_000);
/// The number of the next database. Databases have distinct numbers, so that a handle of one is refused by the others.
static DATABASES: AtomicUsize = AtomicUsize::new(0);

/// A database, whose rows are in memory, and also in a directory if it was opened with one. A database is shared by
/// cloning, which copies a pointer, or by reference; any thread may call it.
///
/// A database is closed by [`close`](Self::close), or when its last clone is dropped.
#[derive(Clone)]
pub struct Database(pub(crate) Arc<Inner>);

/// State shared by all clones of a database.
pub(crate) struct Inner {
    id: usize,
    tables: Vec<Arc<Bound>>,
    /// The numbers of the tables, in the order of their names.
    by_name: Box<[u16]>,
    pool: Pool,
    pub(crate) helpers: Helpers,
    /// Declared, and so dropped, after the pool: the log is closed when nobody commits any more.
    pub(crate) durable: Option<Durable>,
    scheme: &'static str,
    isolation: Isolation,
    attempts_max: u32,
    turn_after: u32,
    deadline_ms: u64,
    turns: Turns,
    /// Counts of commits, by which reads of bodies are confirmed; `None` if they need no confirmation.
    confirms: Option<Commits>,
    limit_bytes: Option<usize>,
    /// An upper estimate of the bytes that an insert takes, together with the concurrent inserts of all other sessions.
    insert_bytes: usize,
}

/// The results of one attempt beyond the engine's: a panic, a misuse, and messages.
#[derive(Default)]
struct Told {
    panic: Option<Box<dyn Any + Send>>,
    misuse: Option<Misuse>,
    /// The messages of its panics.
    reports: Reports,
}

/// The state of a transaction between two attempts.
pub(crate) struct Course {
    /// The transaction's age, and its number of failed attempts.
    ticket: Ticket,
    /// The time at which the transaction is given up; `None` before its first conflict.
    until_ns: Option<u64>,
}

impl Course {
    /// Makes the state of a transaction that has had no attempt.
    pub(crate) fn new(read_only: bool) -> Self {
        let ticket = Ticket { read_only, is_fresh: true, ..Ticket::new(clock::ticks(), Homes::new()) };
        Self { ticket, until_ns: None }
    }

    /// Whether the transaction has had an attempt.
    pub(crate) fn has_begun(&self) -> bool {
        self.ticket.retries > 0
    }
}

impl Database {
    /// Makes an empty database in memory. It ends with the process at the latest.
    ///
    /// # Errors
    /// An [`OpenError`], which says what is wrong with the options.
    #[expect(clippy::needless_pass_by_value, reason = "options are put together where they are used")]
    pub fn in_memory(options: Options) -> Result<Self, OpenError> {
        Self::make(&options, None)
    }

    /// Opens the database of a directory, with the rows that were committed when it was last open. If there is no
    /// database, an empty one is made, provided that the directory is empty or absent; [`Options::create`] says whether
    /// a database may exist and whether it must. Until the database is closed, nobody else can open it.
    ///
    /// Unless the options say otherwise, a transaction returns when it is durable, that is, when it and all that it has
    /// seen survive a kill of the process or a loss of power. The tables must be those that were declared before, in
    /// their order. New tables may follow them; secondary indexes, the scheme and all other options may change. The
    /// memory limit holds for inserts, and not for recovered rows.
    ///
    /// ```
    /// use contend::{Database, Options, Table};
    ///
    /// #[derive(Table)]
    /// struct Account {
    ///     #[key]
    ///     id: u64,
    ///     cents: i64,
    /// }
    ///
    /// # let path = std::env::temp_dir().join(format!("contend-open-{}", std::process::id()));
    /// let options = || Options::new().table::<Account>();
    /// let db = Database::open(&path, options())?;
    /// let accounts = db.table::<Account>()?;
    /// db.transact(|txn| txn.insert(accounts, &Account { id: 1, cents: 500 }))?;
    /// db.close()?;
    ///
    /// let db = Database::open(&path, options())?;
    /// let accounts = db.table::<Account>()?;
    /// assert_eq!(db.snapshot(|txn| txn.get(accounts, 1))?.map(|account| account.cents), Some(500));
    /// # drop(db);
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// See [`OpenError`]: each error says what to do, and leaves the directory unchanged.
    #[expect(clippy::needless_pass_by_value, reason = "options are put together where they are used")]
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Self::make(&options, Some(&|| Place::take(path, options.create)))
    }

    /// Like [`open`](Self::open), for tests of devices: the directory is not locked.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    #[doc(hidden)]
    #[expect(clippy::needless_pass_by_value, reason = "as `open`")]
    pub fn open_in(directory: Arc<dyn Directory>, options: Options) -> Result<Self, OpenError> {
        Self::make(&options, Some(&|| Ok(Place::alone(Arc::clone(&directory)))))
    }

    /// Makes a store, and fills it from the directory if one is given. The directory is taken last, when the options
    /// and the store are in order.
    fn make(
        options: &Options,
        take: Option<&dyn Fn() -> Result<Place, OpenError>>,
    ) -> Result<Self, OpenError> {
        options.check(take.is_some())?;
        if cfg!(panic = "unwind") {
            panics::install();
        }
        let (schema, tables) = options.lay_out()?;
        let opened = store::open(options, &schema)?;
        let open = |place| {
            let shape = Shape::of(tables.iter().map(|table| &table.definition));
            Durable::open(place, &*opened.store, &shape, options)
        };
        let durable = take.map(|take| take().and_then(open)).transpose()?;
        let row_bytes = tables.iter().map(|table| table.arranged.row_words() * 8).max().unwrap_or_default();
        let log = durable.as_ref().map(|durable| durable.log().clone());
        let mut by_name: Box<[u16]> = (0..=u16::MAX).take(tables.len()).collect();
        by_name.sort_by_key(|number| tables[usize::from(*number)].definition.name());
        Ok(Self(Arc::new(Inner {
            id: DATABASES.fetch_add(1, Ordering::Relaxed), // Relaxed: the number only has to be distinct.
            tables,
            by_name,
            pool: Pool::new(opened.store, log, options),
            helpers: Helpers::new(options.helpers, options.waiting),
            durable,
            scheme: opened.scheme,
            isolation: opened.isolation,
            attempts_max: options.attempts,
            turn_after: options.turn_after,
            deadline_ms: options.deadline_ms,
            turns: Turns::new(options.sessions),
            confirms: opened.confirms.then(Commits::default),
            limit_bytes: options.memory_bytes,
            // Headers, index entries, and the inserts of other sessions until these look at the memory in use again.
            insert_bytes: 2 * options.sessions * (row_bytes + 256),
        })))
    }

    /// Returns the handle of the table of type `T`.
    ///
    /// # Errors
    /// [`Error::Misuse`] if the database was made without this table, or with a different table of its name.
    pub fn table<T: Table>(&self) -> Result<Handle<T>, Error> {
        let definition = T::definition();
        let (id, bound) = self.find(definition.name())?;
        if let Some(difference) = definition.difference(&bound.definition) {
            let says = format!("table `{}` of the database is another: {difference}", definition.name());
            return Err(Misuse::new(says).into());
        }
        let groups = bound.arranged.groups.len();
        if T::GROUPS != groups {
            let (name, given) = (definition.name(), T::GROUPS);
            let says = format!("table `{name}` has {groups} column groups, and `Table::GROUPS` is {given}");
            return Err(Misuse::new(says).into());
        }
        Ok(Handle { database: self.0.id, id, row: PhantomData })
    }

    /// Returns the handle of a table by its name, for programs that know its columns only at run time.
    ///
    /// # Errors
    /// [`Error::Misuse`] if the database was made without this table.
    pub fn table_named(&self, name: &str) -> Result<NamedTable, Error> {
        let (id, bound) = self.find(name)?;
        Ok(NamedTable { database: self.0.id, id, bound: Arc::clone(bound) })
    }

    fn find(&self, name: &str) -> Result<(TableId, &Arc<Bound>), Error> {
        let Inner { tables, by_name, .. } = &*self.0;
        let name_of = |number: &u16| tables[usize::from(*number)].definition.name();
        let found = by_name.binary_search_by_key(&name, name_of).map_err(|_| {
            Misuse::new(format!("the database was made without table `{name}`: add it to its `Options`"))
        })?;
        let number = by_name[found];
        Ok((TableId(number), &tables[usize::from(number)]))
    }

    /// Executes a transaction until it commits, and returns the result of its body.
    ///
    /// After a conflict with other transactions the body is executed again from its beginning, so it must have no
    /// effects other than through the transaction. It passes on the errors of the transaction with `?`. If the body
    /// returns an error of its own, or panics, none of its writes stay. The error or panic is believed only if the rows
    /// that the body had read were consistent; otherwise the body is executed again, and the panic is reported to
    /// nobody. Under most schemes, the standard scheme among them, a body may see rows of different committed states.
    /// It is then executed again whatever it does about them, so it must end on any rows. With
    /// [`Options::consistent_reads`] a body sees no such rows.
    ///
    /// If the database has a path, this function returns when the transaction, and all that it has seen, survives a
    /// crash, unless [`Options::durability`] asks for less.
    ///
    /// # Errors
    /// See [`Error`], which says what to do about each; [`Error::RolledBack`] holds the reason that the body gave. For
    /// other types of error see [`try_transact`](Self::try_transact).
    ///
    /// # Panics
    /// If the body panics.
    ///
    /// ```
    /// use contend::{Database, Error, Options, Table};
    ///
    /// #[derive(Table)]
    /// struct Account {
    ///     #[key]
    ///     id: u64,
    ///     cents: i64,
    /// }
    ///
    /// let db = Database::in_memory(Options::new().table::<Account>())?;
    /// let accounts = db.table::<Account>()?;
    /// db.transact(|txn| txn.insert(accounts, &Account { id: 1, cents: 500 }))?;
    /// let left = db.transact(|txn| {
    ///     let left = txn.update(accounts, 1, |account| {
    ///         account.cents -= 200;
    ///         account.cents
    ///     })?;
    ///     left.filter(|cents| *cents >= 0).ok_or_else(|| Error::rollback("insufficient funds"))
    /// })?;
    /// assert_eq!(left, 300);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transact<T>(&self, body: impl FnMut(&mut Txn<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.try_transact(body)
    }

    /// Like [`transact`](Self::transact), with the caller's own error type, which can be made of an [`Error`].
    ///
    /// # Errors
    /// The error that the body returned, or an [`Error`] converted to the caller's own type.
    ///
    /// # Panics
    /// If the body panics.
    pub fn try_transact<T, E: From<Error>>(
        &self,
        mut body: impl FnMut(&mut Txn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut returned = None;
        self.complete(false, &mut |txn| returned.insert(body(txn)).is_ok())?;
        returned.expect("a body that was executed has returned")
    }

    /// Executes a read-only transaction, which sees one state of the database.
    ///
    /// Under a scheme that keeps older versions, this may be a past state, read without any conflict; `silo` reads so
    /// with the setting `silo.snapshots=on`. The state includes all that had committed when this function was called,
    /// or, if the scheme promises only serializability, all that had committed a moment before. Under other schemes
    /// this is an ordinary transaction, which conflicts with others may delay: see [`Options::turn_after`].
    ///
    /// # Errors
    /// Those of [`transact`](Self::transact).
    ///
    /// # Panics
    /// If the body panics.
    pub fn snapshot<T>(&self, body: impl FnMut(&mut Reader<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.try_snapshot(body)
    }

    /// Like [`snapshot`](Self::snapshot), with the caller's own error type.
    ///
    /// # Errors
    /// The error that the body returned, or an [`Error`] converted to the caller's own type.
    ///
    /// # Panics
    /// If the body panics.
    pub fn try_snapshot<T, E: From<Error>>(
        &self,
        mut body: impl FnMut(&mut Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut returned = None;
        self.complete(true, &mut |txn| returned.insert(body(txn)).is_ok())?;
        returned.expect("a body that was executed has returned")
    }

    /// Runs a transaction, and waits until its outcome is durable, if the options ask for that. Its seat is free during
    /// the wait.
    fn complete(&self, read_only: bool, body: &mut dyn FnMut(&mut Txn<'_>) -> bool) -> Result<(), Error> {
        let Ran { end, awaited } = self.run(read_only, body)?;
        end.settle(awaited.map_or(Ok(()), Await::wait))
    }

    /// Attempts a transaction until it ends as its body wants. The body returns whether it wants to commit.
    pub(crate) fn run(
        &self,
        read_only: bool,
        body: &mut dyn FnMut(&mut Txn<'_>) -> bool,
    ) -> Result<Ran, Error> {
        let Executed { ran, reports } = self.execute(&mut Course::new(read_only), body)?;
        // The outcome is believed. The program's panic hook may use the database: this thread is within no attempt any
        // more.
        reports.tell();
        ran
    }

    /// Like `run`, but the panic messages of the last attempt are not reported yet.
    fn execute(
        &self,
        course: &mut Course,
        body: &mut dyn FnMut(&mut Txn<'_>) -> bool,
    ) -> Result<Executed, Error> {
        let inner = &*self.0;
        let _inside = Inside::enter(inner.id).ok_or(Error::Nested)?;
        let mut taken = inner.admit(course)?;
        let mut turn = None;
        loop {
            inner.take_turn(course, &mut turn);
            match inner.step(&mut taken, course, body)? {
                Step::Ended(executed) => return Ok(executed),
                Step::Again => {
                    let pause_ns = taken.backoff_ns(course.ticket.retries);
                    waiter::pause_ns(pause_ns);
                }
            }
        }
    }

    /// Attempts a transaction once, for callers who have other work to do until the next attempt. If the transaction
    /// has not ended, returns the nanoseconds until its next attempt. Between attempts the transaction has no seat and
    /// no turn.
    pub(crate) fn run_once(
        &self,
        course: &mut Course,
        body: &mut dyn FnMut(&mut Txn<'_>) -> bool,
    ) -> Result<Result<Ran, u64>, Error> {
        let Executed { ran, reports } = {
            let inner = &*self.0;
            let _inside = Inside::enter(inner.id).ok_or(Error::Nested)?;
            let mut taken = inner.admit(course)?;
            let mut turn = None;
            inner.take_turn(course, &mut turn);
            match inner.step(&mut taken, course, body)? {
                Step::Ended(executed) => executed,
                Step::Again => return Ok(Err(taken.backoff_ns(course.ticket.retries))),
            }
        };
        reports.tell();
        ran.map(Ok)
    }

    /// The name of the database's scheme.
    pub fn scheme(&self) -> &'static str {
        self.0.scheme
    }

    /// The isolation that the scheme promises under its settings, for example `strictly serializable`.
    pub fn isolation(&self) -> &'static str {
        self.0.isolation.name()
    }

    /// Returns the database's counters.
    pub fn counters(&self) -> Counters {
        let mut counters = self.0.pool.counters();
        if let Some(durable) = &self.0.durable {
            durable.count(&mut counters);
        }
        counters
    }

    /// The state of the directory when the database was opened: whether it was closed before, and the part of its log
    /// that was cut off. `None` for a database in memory.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.0.durable.as_ref().map(Durable::recovery)
    }

    /// Makes a checkpoint: writes the durable state as rows, and removes the log before it, so that the directory is
    /// small and opens fast. Checkpoints are also made automatically, after [`Options::checkpoint_bytes`] bytes of log.
    /// Transactions run meanwhile.
    ///
    /// # Errors
    /// [`Error::Checkpoint`], [`Error::Log`] or [`Error::Closed`], after which no checkpoint was made and the log
    /// stays; or [`Error::Misuse`] for a database in memory.
    pub fn checkpoint(&self) -> Result<(), Error> {
        self.durable()?.checkpoint()
    }

    /// Copies the database into an empty directory while transactions run. The directory is made if it is absent. The
    /// copy is a database to [open](Self::open).
    ///
    /// The copy has the state of one moment between the call and the return. It includes all transactions that had
    /// committed before the call, durable or not, and those that commit during the call before that moment. So it
    /// includes no transaction without all that the transaction has seen. The copy is durable when this function
    /// returns. An incomplete copy cannot be opened.
    ///
    /// # Errors
    /// [`Error::Backup`], [`Error::Log`] or [`Error::Closed`], after which an incomplete copy is removed if possible;
    /// or [`Error::Misuse`] for a database in memory.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), Error> {
        self.durable()?.backup(to.as_ref())
    }

    fn durable(&self) -> Result<&Durable, Error> {
        let says = "the database lives in memory: open it with a path";
        self.0.durable.as_ref().ok_or_else(|| Misuse::new(says).into())
    }

    /// Closes the database: waits until running transactions have ended and are durable, unlocks the directory, and
    /// frees the memory. Later transactions are refused with [`Error::Closed`]. Closing a database again does nothing.
    ///
    /// # Errors
    /// [`Error::Nested`] within a transaction, which would wait for itself. [`Error::Log`] if the log has failed, now
    /// or before; the database is closed in that case, too.
    pub fn close(&self) -> Result<(), Error> {
        let _inside = Inside::enter(self.0.id).ok_or(Error::Nested)?;
        self.0.pool.close();
        self.0.durable.as_ref().map_or(Ok(()), Durable::close).map_err(|failure| Error::Log(failure.into()))
    }
}

/// The outcome of an attempt.
enum Step {
    Ended(Executed),
    /// The attempt met a conflict, and the transaction may be attempted again.
    Again,
}

/// The outcome of a transaction, which is believed.
struct Executed {
    ran: Result<Ran, Error>,
    reports: Reports,
}

/// A transaction that has run.
pub(crate) struct Ran {
    pub(crate) end: End,
    /// The wait until the outcome is durable and may be returned; `None` if there is nothing to wait for.
    pub(crate) awaited: Option<Await>,
}

/// The end of a transaction, which is believed.
pub(crate) enum End {
    /// The writes of the transaction are committed in memory.
    Commit,
    /// The transaction has written nothing, or its writes were undone.
    Nothing,
    Panic(Box<dyn Any + Send>),
}

impl End {
    /// Returns the result for the caller, given whether the wait for durability succeeded. A failed wait is no error of
    /// a transaction that has written nothing: reads go on when the log has failed.
    pub(crate) fn settle(self, waited: Result<(), LogError>) -> Result<(), Error> {
        match self {
            Self::Commit => waited.map_err(|failure| Error::NotDurable(failure.into())),
            Self::Nothing => Ok(()),
            Self::Panic(panic) => resume_unwind(panic),
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({}, {} tables)", self.0.scheme, self.0.tables.len())
    }
}

impl Inner {
    /// Counts a refused caller.
    pub(crate) fn refuse(&self) {
        self.pool.refuse();
    }

    /// Admits a transaction to an attempt. Each attempt waits for a seat, and the first attempt of a writer also waits
    /// for the log if the log is behind.
    fn admit(&self, course: &Course) -> Result<Taken<'_>, Error> {
        let is_first = !course.has_begun();
        if let (true, false, Some(durable)) = (is_first, course.ticket.read_only, &self.durable) {
            durable.admit().inspect_err(|error| {
                if matches!(error, Error::Overloaded { .. }) {
                    self.refuse();
                }
            })?;
        }
        self.pool.admit()
    }

    /// Waits before an attempt while another transaction has a turn. After `turn_after` failed attempts, takes a turn
    /// instead, and waits for the attempts that may conflict with it.
    #[inline]
    fn take_turn<'t>(&'t self, course: &Course, turn: &mut Option<Turn<'t>>) {
        let Ticket { read_only, retries, .. } = course.ticket;
        if turn.is_none() && (retries < self.turn_after.max(1) || threads::is_nested()) {
            self.turns.give_way(read_only, || {
                let patience_ns = self.deadline_ms.saturating_mul(1_000_000);
                // Others may wait for a caller that is within another database's transaction, so it does not wait here.
                if threads::is_nested() { 0 } else { clock::now_ns().saturating_add(patience_ns) }
            });
        } else {
            let until_ns = course.until_ns.expect("known since the first conflict");
            if turn.is_none() {
                *turn = self.turns.take(read_only, until_ns);
            }
            if let Some(turn) = turn {
                _ = turn.await_others(clock::now_ns(), until_ns);
            }
        }
    }

    /// Attempts a transaction once, and returns whether it has ended.
    fn step(
        &self,
        taken: &mut Taken<'_>,
        course: &mut Course,
        body: &mut dyn FnMut(&mut Txn<'_>) -> bool,
    ) -> Result<Step, Error> {
        let mut told = Told::default();
        let ended = self.attempt(taken, &course.ticket, body, &mut told);
        let tally = taken.tally;
        let has_committed = ended.is_ok();
        let end = match ended {
            Ok(()) => {
                tally.count(Event::Commit);
                Ok(if course.ticket.read_only { End::Nothing } else { End::Commit })
            }
            Err(RawError::Abort(Abort::Rollback)) => {
                tally.count(if told.panic.is_some() { Event::Panic } else { Event::Rollback });
                match (told.panic, told.misuse) {
                    (Some(panic), _) => Ok(End::Panic(panic)),
                    (None, Some(misuse)) => Err(misuse.into()),
                    (None, None) => Ok(End::Nothing),
                }
            }
            Err(error @ RawError::Misuse(_)) => {
                tally.count(Event::Rollback);
                Err(error.into())
            }
            Err(RawError::Abort(abort)) => {
                tally.count(Event::Conflict(abort));
                course.ticket.retries += 1;
                let may_go_on = self.go_on(course, Conflict(abort));
                return may_go_on.map(|()| Step::Again).inspect_err(|_| tally.count(Event::Contended));
            }
        };
        let ran = end.map(|end| {
            let awaited = self.durable.as_ref().and_then(|durable| {
                // A transaction that has not committed may have seen the commits of others.
                let ticket = if has_committed { taken.ticket() } else { durable.log().present() };
                durable.awaited(ticket)
            });
            Ran { end, awaited }
        });
        Ok(Step::Ended(Executed { ran, reports: told.reports }))
    }

    /// Decides after a failed attempt whether there is another one: an error if the attempts or the time are used up.
    #[cold]
    fn go_on(&self, course: &mut Course, last: Conflict) -> Result<(), Error> {
        let (now_ns, deadline_ms, attempts) = (clock::now_ns(), self.deadline_ms, course.ticket.retries);
        let given_ns = deadline_ms.saturating_mul(1_000_000);
        let until_ns = *course.until_ns.get_or_insert_with(|| now_ns.saturating_add(given_ns));
        if attempts >= self.attempts_max {
            Err(Error::Contended { attempts, last })
        } else if now_ns >= until_ns {
            Err(Error::Expired { attempts, deadline_ms, last })
        } else {
            Ok(())
        }
    }

    /// Attempts a transaction once.
    fn attempt(
        &self,
        taken: &mut Taken<'_>,
        ticket: &Ticket,
        body: &mut dyn FnMut(&mut Txn<'_>) -> bool,
        told: &mut Told,
    ) -> Result<(), RawError> {
        let (number, tally) = (taken.number, taken.tally);
        let Seat { held, until_maintenance, until_weighing, scratch, row } = &mut *taken.seat;
        let Held { session, store, .. } = held.as_mut().expect("a seat that was given out is held");
        if *until_maintenance == 0 {
            *until_maintenance = MAINTENANCE_EVERY;
            session.maintain(number);
        }
        *until_maintenance -= 1;
        let mut room = Room {
            store: store.as_ref(),
            tally,
            limit_bytes: self.limit_bytes,
            insert_bytes: self.insert_bytes,
            until_weighing,
            scratch,
        };
        let mut is_committing = false;
        let _within = self.turns.begin(number, ticket.read_only);
        let ended = session.transact(ticket, &mut |raw: &mut dyn RawTxn| {
            let mut confirming;
            let raw: &mut dyn RawTxn = if let Some(commits) = &self.confirms {
                confirming = Confirming::new(raw, commits);
                &mut confirming
            } else {
                raw
            };
            let mut txn = Txn::new(Reader::new(raw, self.id, &self.tables, row), room.lend());
            // The outcome of a body that has seen inconsistent rows is not believed, even if it is a panic.
            let (executed, reports) = panics::hold(|| body(&mut txn));
            told.reports = reports;
            told.misuse = txn.misuse.take();
            if txn.has_changed {
                return Err(Abort::ReadChanged.into());
            }
            match executed {
                Ok(true) if told.misuse.is_none() => {
                    if let (false, Some(commits)) = (ticket.read_only, &self.confirms) {
                        commits.begin();
                        is_committing = true;
                    }
                    Ok(())
                }
                Ok(_) => Err(Abort::Rollback.into()),
                Err(panic) => {
                    told.panic = Some(panic);
                    Err(Abort::Rollback.into())
                }
            }
        });
        if let (true, Some(commits)) = (is_committing, &self.confirms) {
            commits.end();
        }
        ended
    }
}

impl Taken<'_> {
    /// The part of the log that must be durable before the last attempt's commit is.
    fn ticket(&mut self) -> durability::CommitTicket {
        self.seat.held.as_mut().map(|held| held.session.ticket()).unwrap_or_default()
    }

    /// Returns the nanoseconds to pause before the next attempt, after `attempts` failed ones.
    #[cold]
    fn backoff_ns(&mut self, attempts: u32) -> u64 {
        let Some(held) = self.seat.held.as_mut() else { return 0 };
        // The transaction may wait for the effect of maintenance, for example for a row to leave the indexes.
        held.session.maintain(self.number);
        let ceiling_ns = (PAUSE_NS.0 << attempts.min(20)).min(PAUSE_NS.1);
        held.rng.below(ceiling_ns)
    }
}
