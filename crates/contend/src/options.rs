//! What a database is made with.

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

/// Whether [`Database::open`](crate::Database::open) makes a database where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Create {
    /// It makes one if the directory is not there, or is empty. Where there are other files, or the remains of a
    /// database, it is refused: a path that was mistyped, or a directory that was emptied, is no new database.
    #[default]
    IfAbsent,
    /// There must be one.
    Never,
    /// There must be none: it makes one as above, and also where nothing is left of a database but its file `LOCK`.
    New,
}

/// What a database is made with: its tables, its scheme, and its limits.
///
/// **What a body may see.** Unless [`consistent_reads`](Self::consistent_reads) is asked for, two reads of one attempt
/// may belong to different committed states, under the standard scheme and most others. Of two accounts between which
/// money moves, a body may see the first before a transfer and the second after it, and so a sum that there never was.
/// Such an attempt never commits, and its error and its panic are not believed: the body is executed again. What it
/// does before it ends is done all the same: it must end on any rows, and an index that is computed from them may be
/// out of bounds. With `panic = "abort"` such a panic would end the process, so bodies see one state there in any case.
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
    /// None: as it is opened.
    pub(crate) durability: Option<Durability>,
    /// None: as long as suits the durability.
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
    /// The standard options, without a table.
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

    /// The concurrency-control scheme, by name; the standard is `silo`. [`schemes`](crate::schemes()) lists them.
    #[must_use]
    pub fn scheme(mut self, name: impl Into<String>) -> Self {
        self.scheme = name.into();
        self
    }

    /// A setting of the scheme, by name, for example `silo.epoch_ms`. `contend list settings` explains them.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts are given as they are")]
    pub fn set(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.settings.push((name.into(), value.to_string()));
        self
    }

    /// How many transactions may be under way at a time; the standard is four for each core, and 16 at least. More
    /// threads than that may call: they wait for their turn. 4,096 is the most.
    #[must_use]
    pub fn sessions(mut self, sessions: usize) -> Self {
        self.sessions = sessions;
        self
    }

    /// How many callers may wait for their turn, and how many transactions [begun](crate::Database::begin) may; the
    /// standard is 1,024 of each. Further ones are refused with [`Error::Overloaded`](crate::Error::Overloaded).
    #[must_use]
    pub fn waiting(mut self, callers: usize) -> Self {
        self.waiting = callers;
        self
    }

    /// How many milliseconds a caller waits for its turn before it is refused; the standard is 10,000.
    #[must_use]
    pub fn patience_ms(mut self, patience_ms: u64) -> Self {
        self.patience_ms = patience_ms;
        self
    }

    /// How many attempts a transaction has before it is [refused](crate::Error::Contended); the standard is 10,000.
    /// Pauses between them grow up to a tenth of a millisecond.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// After how many attempts that failed in a row a transaction gets a turn; the standard is 8. While it has one,
    /// others wait before they begin an attempt, so that it ends after two more for each that was under way, at most:
    /// all others wait, or, if it only reads, those that may write. A number as large as [`attempts`](Self::attempts)
    /// is for no turns.
    #[must_use]
    pub fn turn_after(mut self, attempts: u32) -> Self {
        self.turn_after = attempts;
        self
    }

    /// How many milliseconds after its first conflict a transaction is given up, with
    /// [`Error::Expired`](crate::Error::Expired); the standard is 60,000. It is looked at between attempts: no body is
    /// cut short.
    #[must_use]
    pub fn deadline_ms(mut self, deadline_ms: u64) -> Self {
        self.deadline_ms = deadline_ms;
        self
    }

    /// Whether bodies see one state of the database only, in attempts that do not commit, too: see
    /// [`Options`]. The standard is not to, and in a program that is built with `panic = "abort"`, where it cannot be
    /// turned off, to do so.
    ///
    /// Before a body hears of what it has read, all that it has read so far is looked at again, unless nobody has
    /// committed meanwhile: cheap where others commit seldom, or a transaction reads a few rows or scans pages of them;
    /// one that reads ten thousand rows one by one beside busy writers takes up to fifty million looks more. Whoever
    /// writes counts twice in memory that all share. Schemes whose transactions see one state anyhow pay nothing
    /// ([`SchemeInfo::views`](crate::SchemeInfo::views)), and some cannot do it, which are then refused.
    #[must_use]
    pub fn consistent_reads(mut self, consistent_reads: bool) -> Self {
        self.consistent_reads = consistent_reads || cfg!(panic = "abort");
        self
    }

    /// How many bytes rows, their versions and indexes may use before inserts are refused with
    /// [`Error::MemoryFull`](crate::Error::MemoryFull); the standard is no limit. Updates are not refused, so that
    /// what a scheme keeps of older versions may exceed it, as may inserts that are under way at the same time, by a
    /// little. Memory comes from the system in pieces of up to 2 MiB for each table, one of them ahead of its use.
    #[must_use]
    pub fn memory_bytes(mut self, memory_bytes: usize) -> Self {
        self.memory_bytes = Some(memory_bytes);
        self
    }

    /// How many threads execute what [`Database::begin`](crate::Database::begin) begins; the standard is one for each
    /// core, and 1,024 the most. They start with the first of these.
    #[must_use]
    pub fn helpers(mut self, helpers: usize) -> Self {
        self.helpers = helpers;
        self
    }

    /// When a transaction returns that has committed: with [`Durability::Group`], the standard of a database with a
    /// path, when it survives a crash; with [`Durability::Async`] at once, and a crash may take the last few
    /// milliseconds, or as many as the log's thread gets no core. [`Durability::None`] is for
    /// [`Database::in_memory`](crate::Database::in_memory), and its standard: what has a path is logged.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// How many microseconds of commits become durable together, from 1 to 1,000,000: the device is not synced sooner
    /// after the last time, though it be ready. The standard is 300 with [`Durability::Group`], whose callers wait for
    /// it (on a device that syncs in a third of a millisecond three times as many commits a second as with 1,000, for
    /// one caller as for eight), and 1,000 with [`Durability::Async`], where nobody does.
    #[must_use]
    pub fn epoch_us(mut self, epoch_us: u64) -> Self {
        self.epoch_us = Some(epoch_us);
        self
    }

    /// After how many bytes of log a checkpoint is made by itself; the standard is 256 MiB. After four times as many
    /// callers wait for it, as long as they [may](Self::patience_ms). A checkpoint writes all rows anew and removes the
    /// log before it: the less often, the less is written, the more is read when the database is opened again, and the
    /// more memory a checkpoint takes while it is made, a few times so many bytes.
    #[must_use]
    pub fn checkpoint_bytes(mut self, checkpoint_bytes: u64) -> Self {
        self.checkpoint_bytes = checkpoint_bytes;
        self
    }

    /// Whether a database is made where there is none: the standard is [`Create::IfAbsent`]. A program that knows
    /// that its database is there takes [`Create::Never`], and hears of a path that is wrong, or of a device that is
    /// not mounted.
    #[must_use]
    pub fn create(mut self, create: Create) -> Self {
        self.create = create;
        self
    }

    /// Whether a log that was not [closed](crate::Database::close) is refused with
    /// [`OpenError::Unclosed`], in place of being recovered up to its end. The standard is that it is
    /// recovered, since a process that was killed leaves such a log and nothing is lost by it.
    /// [`Database::recovery`](crate::Database::recovery) tells how it was in any case.
    #[must_use]
    pub fn require_closed(mut self, require_closed: bool) -> Self {
        self.require_closed = require_closed;
        self
    }

    /// Is told now and then how far recovery is, by the threads that recover, and once at its end.
    #[must_use]
    pub fn on_recovery(mut self, tell: impl Fn(Recovery) + Send + Sync + 'static) -> Self {
        self.watch = Some(Watch(Arc::new(tell)));
        self
    }

    /// Refuses what contradicts itself, or the way in which the database is opened.
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

    /// How long an epoch of the log is.
    pub(crate) fn epoch_ns(&self) -> u64 {
        let suited = if self.durability == Some(Durability::Async) { 1_000 } else { 300 };
        self.epoch_us.unwrap_or(suited) * 1_000
    }

    /// The tables as the engine and as transactions see them.
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
