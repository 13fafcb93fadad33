//! The options of a database.

use std::collections::BTreeSet;

pub use durability::Durability;
use engine::Schema;
use sync::{Arc, workers};

use crate::definition::Definition;
use crate::durable::{Recovery, Watch};
use crate::limits;
use crate::open_error::OpenError;
use crate::table::Table;
use crate::value::Bound;

/// The behaviour of [`Database::open`](crate::Database::open) where there is no database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Create {
    /// A database is made if the directory is absent or empty. A directory with other files, or with the remains of a
    /// database, is refused: a mistyped path, or a directory that was emptied, is no new database.
    #[default]
    IfAbsent,
    /// There must be a database.
    Never,
    /// There must be no database. A new one is made as with `IfAbsent`, and also where nothing is left of a database
    /// but its file `LOCK`.
    New,
}

/// The options of a database: its tables, its scheme, and its limits.
///
/// **Inconsistent reads.** Without [`consistent_reads`](Self::consistent_reads), two reads of one attempt may belong to
/// different committed states, under the standard scheme and most others. If money moves between two accounts, a body
/// may see the first account before a transfer and the second after it, and so a sum that never existed. Such an
/// attempt never commits, and its error and its panic are not believed: the body is executed again. But the body runs
/// to its end on such rows: it must end on any rows, and an index that is computed from them may be out of bounds. With
/// `panic = "abort"` such a panic would end the process, so bodies always see one state in such a program.
///
/// ```
/// use contend::{Database, Definition, Options, Table};
///
/// #[derive(Table)]
/// struct Account {
///     #[key]
///     id: u64,
///     cents: i64,
/// }
///
/// let notes = Definition::new("notes").column::<u64>("id").column::<[u8; 100]>("text").key(["id"]);
/// let options = Options::new()
///     .table::<Account>()
///     .define(notes)
///     .set("silo.epoch_ms", 10)
///     .sessions(8)
///     .memory_bytes(1 << 30);
/// let db = Database::in_memory(options)?;
/// # Ok::<(), contend::OpenError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) tables: Vec<Definition>,
    pub(crate) scheme: String,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) sessions: usize,
    pub(crate) waiting: usize,
    pub(crate) patience_ms: u64,
    pub(crate) attempts: u32,
    pub(crate) turn_after: u32,
    pub(crate) deadline_ms: u64,
    pub(crate) consistent_reads: bool,
    pub(crate) memory_bytes: Option<usize>,
    pub(crate) helpers: usize,
    /// `None`: the standard for the way in which the database is opened.
    pub(crate) durability: Option<Durability>,
    /// `None`: the standard for the durability.
    pub(crate) epoch_us: Option<u64>,
    pub(crate) checkpoint_bytes: u64,
    pub(crate) watch: Option<Watch>,
    pub(crate) create: Create,
    pub(crate) require_closed: bool,
}

impl Default for Options {
    fn default() -> Self {
        let cores = workers::cores();
        Self {
            tables: Vec::new(),
            scheme: crate::store::STANDARD.name.into(),
            settings: Vec::new(),
            sessions: (4 * cores).max(16),
            waiting: 1_024,
            patience_ms: 10_000,
            attempts: 10_000,
            turn_after: 8,
            deadline_ms: 60_000,
            consistent_reads: cfg!(panic = "abort"),
            memory_bytes: None,
            helpers: cores,
            durability: None,
            epoch_us: None,
            checkpoint_bytes: 256 << 20,
            watch: None,
            create: Create::default(),
            require_closed: false,
        }
    }
}

impl Options {
    /// Makes the standard options, without a table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the table of a type.
    #[must_use]
    pub fn table<T: Table>(self) -> Self {
        self.define(T::definition())
    }

    /// Adds a table that is put together at run time.
    #[must_use]
    pub fn define(mut self, table: Definition) -> Self {
        self.tables.push(table);
        self
    }

    /// Sets the concurrency-control scheme, by name; the standard is `silo`. [`schemes`](crate::schemes()) lists the
    /// names.
    #[must_use]
    pub fn scheme(mut self, name: impl Into<String>) -> Self {
        self.scheme = name.into();
        self
    }

    /// Sets a setting of the scheme, by name, for example `silo.epoch_ms`. `contend list settings` explains the
    /// settings.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts are given as they are")]
    pub fn set(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.settings.push((name.into(), value.to_string()));
        self
    }

    /// Sets the number of transactions that may run at a time; the standard is four for each core, and 16 at least.
    /// 4,096 is the most. More threads than that may call the database: they wait for a seat.
    #[must_use]
    pub fn sessions(mut self, sessions: usize) -> Self {
        self.sessions = sessions;
        self
    }

    /// Sets the number of callers that may wait for a seat, and of [begun](crate::Database::begin) transactions that
    /// may wait; the standard is 1,024 of each. Further ones are refused with
    /// [`Error::Overloaded`](crate::Error::Overloaded).
    #[must_use]
    pub fn waiting(mut self, callers: usize) -> Self {
        self.waiting = callers;
        self
    }

    /// Sets the longest time that a caller waits to be admitted before it is refused, in milliseconds; the standard is
    /// 10,000.
    #[must_use]
    pub fn patience_ms(mut self, patience_ms: u64) -> Self {
        self.patience_ms = patience_ms;
        self
    }

    /// Sets the number of attempts of a transaction before it is [given up](crate::Error::Contended); the standard is
    /// 10,000. Pauses between attempts grow up to a tenth of a millisecond.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets the number of consecutive failed attempts after which a transaction gets a turn; the standard is 8. During
    /// a turn, other transactions wait before they begin an attempt: all others, or, if the owner of the turn is
    /// read-only, those that may write. So the owner ends after at most two more attempts for each transaction that was
    /// running. A number as large as [`attempts`](Self::attempts) disables turns.
    #[must_use]
    pub fn turn_after(mut self, attempts: u32) -> Self {
        self.turn_after = attempts;
        self
    }

    /// Sets the time after its first conflict at which a transaction is given up with
    /// [`Error::Expired`](crate::Error::Expired), in milliseconds; the standard is 60,000. The deadline is checked
    /// between attempts: no body is cut short.
    #[must_use]
    pub fn deadline_ms(mut self, deadline_ms: u64) -> Self {
        self.deadline_ms = deadline_ms;
        self
    }

    /// Sets whether bodies see only one state of the database, even in attempts that do not commit: see [`Options`].
    /// The standard is `false`. In a program that is built with `panic = "abort"` it is always `true`.
    ///
    /// Before a read returns to the body, all reads of the attempt so far are validated again, unless nobody has
    /// committed meanwhile. This is cheap where others commit seldom, or where a transaction reads a few rows or scans
    /// pages of them. A transaction that reads ten thousand rows one by one beside busy writers checks up to fifty
    /// million rows more. Each writer increments two counters that all threads share. Schemes whose transactions always
    /// see one state pay nothing ([`SchemeInfo::views`](crate::SchemeInfo::views)). Schemes that do not support this
    /// option are refused.
    #[must_use]
    pub fn consistent_reads(mut self, consistent_reads: bool) -> Self {
        self.consistent_reads = consistent_reads || cfg!(panic = "abort");
        self
    }

    /// Sets the memory that rows, their versions and indexes may use before inserts are refused with
    /// [`Error::MemoryFull`](crate::Error::MemoryFull), in bytes; the standard is no limit. Updates are not refused, so
    /// the older versions that a scheme keeps may exceed the limit. Concurrent inserts may exceed it by a little, too.
    /// Memory comes from the system in pieces of up to 2 MiB for each table, one piece ahead of its use.
    #[must_use]
    pub fn memory_bytes(mut self, memory_bytes: usize) -> Self {
        self.memory_bytes = Some(memory_bytes);
        self
    }

    /// Sets the number of threads that execute the transactions of [`Database::begin`](crate::Database::begin); the
    /// standard is one for each core, and 1,024 is the most. The threads start with the first such transaction.
    #[must_use]
    pub fn helpers(mut self, helpers: usize) -> Self {
        self.helpers = helpers;
        self
    }

    /// Sets when a committed transaction returns. With [`Durability::Group`], the standard of a database with a path,
    /// it returns when it survives a crash. With [`Durability::Async`] it returns at once, and a crash may lose the
    /// commits of the last few milliseconds, or of the time for which the log's thread gets no core.
    /// [`Durability::None`] is only for [`Database::in_memory`](crate::Database::in_memory), and the standard there: a
    /// database with a path is always logged.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// Sets the length of the log's epoch in microseconds, from 1 to 1,000,000. The commits of an epoch become durable
    /// together: the device is not synced again sooner, even if it is ready. The standard is 300 with
    /// [`Durability::Group`], whose callers wait for the sync. (On a device that syncs in a third of a millisecond, 300
    /// gives three times as many commits a second as 1,000, with one caller and with eight.) The standard is 1,000 with
    /// [`Durability::Async`], where no caller waits.
    #[must_use]
    pub fn epoch_us(mut self, epoch_us: u64) -> Self {
        self.epoch_us = Some(epoch_us);
        self
    }

    /// Sets the bytes of log after which a checkpoint is made automatically; the standard is 256 MiB. After four times
    /// as many bytes, callers wait for the checkpoint, for at most [`patience_ms`](Self::patience_ms). A checkpoint
    /// writes all rows anew and removes the log before it. With a larger number less is written, but more is read when
    /// the database is opened again, and a checkpoint takes more memory while it is made, a few times this number of
    /// bytes.
    #[must_use]
    pub fn checkpoint_bytes(mut self, checkpoint_bytes: u64) -> Self {
        self.checkpoint_bytes = checkpoint_bytes;
        self
    }

    /// Sets whether a database is made where there is none; the standard is [`Create::IfAbsent`]. A program whose
    /// database must exist takes [`Create::Never`], and gets an error for a wrong path or a device that is not mounted.
    #[must_use]
    pub fn create(mut self, create: Create) -> Self {
        self.create = create;
        self
    }

    /// Sets whether a log that was not [closed](crate::Database::close) is refused with [`OpenError::Unclosed`],
    /// instead of being recovered up to its end. The standard is `false`, since a process that was killed leaves such a
    /// log, and nothing is lost by that. In both cases [`Database::recovery`](crate::Database::recovery) says whether
    /// the log was closed.
    #[must_use]
    pub fn require_closed(mut self, require_closed: bool) -> Self {
        self.require_closed = require_closed;
        self
    }

    /// Sets a function that the recovering threads call from time to time with the progress of recovery, and once at
    /// its end.
    #[must_use]
    pub fn on_recovery(mut self, tell: impl Fn(Recovery) + Send + Sync + 'static) -> Self {
        self.watch = Some(Watch(Arc::new(tell)));
        self
    }

    /// Refuses options that contradict each other, or the way in which the database is opened.
    pub(crate) fn check(&self, has_path: bool) -> Result<(), OpenError> {
        let refused = |says: &str| Err(OpenError::Setting(says.into()));
        if [self.sessions, self.helpers].contains(&0) || [self.attempts, self.turn_after].contains(&0) {
            return refused("`sessions`, `helpers`, `attempts` and `turn_after` are one at least");
        }
        let fix = "give fewer, further callers wait for their turn";
        limits::check("`sessions`", self.sessions, limits::SESSIONS_MAX, fix)?;
        let fix = "give fewer, a few for each core execute as much as it can";
        limits::check("`helpers`", self.helpers, limits::HELPERS_MAX, fix)?;
        if self.epoch_us.is_some_and(|epoch_us| !(1..=1_000_000).contains(&epoch_us)) {
            return refused("`epoch_us` is from 1 to 1,000,000 microseconds");
        }
        match (has_path, self.durability) {
            (true, Some(Durability::None)) => refused(
                "a database with a path is logged: take `Durability::Async` or `Durability::Group`, or \
                 `Database::in_memory`",
            ),
            (false, Some(Durability::Async | Durability::Group)) => refused(
                "a database in memory keeps nothing: give a path to `Database::open`, or take `Durability::None`",
            ),
            _ => Ok(()),
        }
    }

    /// The length of an epoch of the log, in nanoseconds.
    pub(crate) fn epoch_ns(&self) -> u64 {
        let suited = if self.durability == Some(Durability::Async) { 1_000 } else { 300 };
        self.epoch_us.unwrap_or(suited) * 1_000
    }

    /// Returns the tables in the engine's form, and in the form that transactions use.
    pub(crate) fn lay_out(&self) -> Result<(Schema, Vec<Arc<Bound>>), OpenError> {
        let fix = "keep rows of several kinds in one table, with a column that tells them apart";
        limits::check("tables", self.tables.len(), Schema::TABLES_MAX, fix)?;
        let (mut schema, mut tables) = (Schema::new(), Vec::<Arc<Bound>>::new());
        let mut names = BTreeSet::new();
        for definition in &self.tables {
            let arranged = definition.lay_out()?;
            if !names.insert(definition.name()) {
                return Err(definition.error("there are two tables of this name; rename one").into());
            }
            let (name, rows) = (definition.kept_name(), definition.expected_rows());
            let id = schema.plain_table(name, definition.lookup(), rows, &definition.plain(&arranged));
            assert_eq!(usize::from(id.0), tables.len(), "tables are numbered in their order");
            tables.push(Arc::new(Bound { definition: definition.clone(), arranged }));
        }
        Ok((schema, tables))
    }
}
