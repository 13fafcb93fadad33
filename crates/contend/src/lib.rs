//! A fast in-memory transactional store, embedded in a program and durable if it is given a path: typed tables,
//! closures that are executed until they commit, strictly serializable unless asked for less.
//!
//! **Only what commits is consistent.** A closure may be executed several times, and in an attempt that does not
//! commit it may see what never was: under the standard scheme and most others two reads of one attempt may belong to
//! different committed states. While another thread moves 100 cents from Ann to Bob, a closure may read Ann's row from
//! before and Bob's from after, and find 100 cents too many. Such an attempt never commits; its error, its panic and
//! its decision not to write are not believed, and the closure is executed again. So it must end on any rows.
//! [`Options::consistent_reads`] shows closures one state only, as does a program that is built with
//! `panic = "abort"`, where a panic would be the end.
//!
//! ```
//! use contend::{Database, Error, Options, Table, Text};
//!
//! #[derive(Debug, Table)]
//! struct Account {
//!     #[key]
//!     id: u64,
//!     #[index]
//!     owner: Text<16>,
//!     cents: i64,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Database::in_memory(Options::new().table::<Account>())?;
//! let accounts = db.table::<Account>()?;
//!
//! db.transact(|txn| {
//!     for (id, owner) in [(1, "Ann"), (2, "Bob"), (3, "Ann")] {
//!         txn.insert(accounts, &Account { id, owner: owner.parse()?, cents: 1_000 })?;
//!     }
//!     Ok(())
//! })?;
//!
//! // Executed again, as a whole, if another transaction was in the way.
//! db.transact(|txn| {
//!     let left = txn.update(accounts, 1, |account| {
//!         account.cents -= 300;
//!         account.cents
//!     })?;
//!     if left.is_none_or(|left| left < 0) {
//!         return Err(Error::rollback("insufficient funds"));
//!     }
//!     txn.update(accounts, 2, |account| account.cents += 300)?;
//!     Ok(())
//! })?;
//!
//! let ann: Text<16> = "Ann".parse()?;
//! let hers = db.snapshot(|txn| {
//!     txn.scan_by(accounts, Account::BY_OWNER, ann..=ann).map(|account| Ok(account?.cents)).sum::<Result<i64, _>>()
//! })?;
//! assert_eq!(hers, 1_700);
//! # Ok(())
//! # }
//! ```
//!
//! # Which scheme, and why
//!
//! The standard scheme is Silo's optimistic concurrency control ([`Options::scheme`] takes others). It was chosen by
//! measurement among the strictly serializable ones: of those in `docs/performance.md` it executes the most
//! transactions a second of TPC-C's full mix with one worker and with two, and of YCSB with mostly reads; and its
//! readers take no lock, so that a thread which loses its core within a transaction that only reads holds up nobody.
//! Where most transactions update the same few records, `no_wait` was a quarter faster, which is the case for taking
//! another: measure, with `contend run`, what is like your program.
//!
//! # Which schemes are in a build
//!
//! The standard one alone, unless the feature `all-schemes` is on: each other one is compiled anew over tables,
//! indexes and sessions, which takes longer than all the rest of the crate, for programs that will use one. With it,
//! every scheme is offered that decides transactions one by one and is told nothing ahead ([`schemes()`] lists them).
//!
//! # What panics say
//!
//! A panic within a closure is caught, and goes on when its attempt is found to be consistent. The program's panic hook
//! hears of it then, once, with its message and its place; of a panic that is not believed nobody hears. For that the
//! library puts a hook of its own before the one that is there when the first database is made; one that is set later
//! asks [`in_transaction`]. A panic in another thread, which a closure has started, is reported at once.
//!
//! # Who fails again and again
//!
//! After [some](Options::turn_after) attempts that failed in a row, a transaction gets a turn: others wait before
//! they begin an attempt. So one that reads all rows beside writers which never pause ends, after a bounded number
//! of attempts. [`Options::deadline_ms`] bounds the time ([`Error::Expired`]).
//!
//! # What survives
//!
//! [`Database::in_memory`] ends with the process. [`Database::open`] takes a directory, recovers what it has, and logs:
//! a transaction returns when it, and all that it has seen, survives a crash, unless [`Options::durability`] asks for
//! less. Where there is no database, one is made in a directory that is empty or not there, unless [`Options::create`]
//! says otherwise. Checkpoints are made by themselves, [`Database::backup`] copies a database while it runs, and what
//! cannot be believed is refused with an [`OpenError`] that says what to do. When a device fails, writers are told
//! ([`Error::NotDurable`], [`Error::Log`]) and [`Database::snapshot`] reads on.
//!
//! # What it is not
//!
//! Rows are in memory, all of them, and have a fixed width; texts and bytes have as much room as their type says.
//! Tables are declared when the database is opened, and its directory is one process's at a time.
#![forbid(unsafe_code)]

mod column;
mod confirming;
mod counters;
mod database;
mod definition;
mod durable;
mod error;
mod future;
mod group;
mod key;
mod limits;
mod open_error;
mod options;
mod pool;
mod scan;
mod shape;
mod store;
mod table;
mod turn;
mod txn;
mod value;

// What the derive expands to names the crate, in its own tests, too.
extern crate self as contend;

pub use column::{Column, KeyColumn, Kind, Sum, Text, TextError, Type};
/// Makes a type a column group: implements [`ColumnGroup`](trait@ColumnGroup) for a struct with named fields, each of a
/// type that is a [`Column`].
pub use contend_derive::ColumnGroup;
/// Makes a type the rows of a table: implements [`Table`](trait@Table) for a struct with named fields, each of a type
/// that is a [`Column`].
///
/// - `#[key]` marks the fields of the primary key, one or several, in their order.
/// - `#[index]` on a field makes a secondary index over it, named `by_` and the field; its handle is a constant of
///   the type, here `Job::BY_OWNER`.
/// - `#[group]` marks a field whose type is a [`ColumnGroup`](trait@ColumnGroup): its columns are kept apart from the
///   others, and its handle is a constant of the type, here `Job::PROGRESS`.
/// - `#[table(...)]` on the struct: `name = "jobs"`, which otherwise is the type's name in lower case; `point`, if
///   rows are found by equality of their key only, which is faster; `rows = 1_000_000`, a hint of how many there will
///   be; `prefix = 1`, a hint that rows come and go in order under each value of the first fields of the key
///   ([`Definition::prefix`]); and `index(by_state = (state, due))` for an index over several fields.
///
/// ```
/// use contend::{ColumnGroup, Table};
///
/// #[derive(Table)]
/// #[table(name = "jobs", rows = 10_000, prefix = 1, index(by_state = (state, due)))]
/// struct Job {
///     #[key]
///     queue: u32,
///     #[key]
///     id: u64,
///     #[index]
///     owner: u64,
///     state: u8,
///     due: i64,
///     #[group]
///     progress: Progress,
/// }
///
/// #[derive(ColumnGroup)]
/// struct Progress {
///     steps: u32,
///     last: i64,
/// }
///
/// let job = Job { queue: 3, id: 9, owner: 1, state: 0, due: 0, progress: Progress { steps: 0, last: 0 } };
/// assert_eq!(job.key(), (3, 9));
/// let _ = (Job::BY_OWNER, Job::BY_STATE, Job::PROGRESS);
/// ```
///
/// What is no column is refused by the compiler, at the field and with what to write instead. So is a key or an index
/// that is wider than 48 bytes.
///
/// ```compile_fail
/// #[derive(contend::Table)]
/// struct Note {
///     #[key]
///     id: u64,
///     text: String,
/// }
/// ```
pub use contend_derive::Table;
pub use counters::Counters;
pub use database::Database;
pub use definition::{ColumnDefinition, Definition, DefinitionError, GroupDefinition, IndexDefinition};
pub use durability::disk::Instead;
pub use durability::{BackupError, CheckpointError, Corruption, LogError, Operation, SystemError, Torn};
pub use durable::Recovery;
pub use engine::{Direction, Views};
pub use error::{Advice, Conflict, Error, Misuse};
pub use future::Begun;
#[doc(hidden)]
pub use group::placed;
pub use group::{ColumnGroup, Group};
pub use key::Key;
#[doc(hidden)]
pub use key::key_fits;
pub use open_error::{MemoryLimit, OpenError};
pub use options::{Create, Durability, Options};
pub use scan::Scan;
pub use shape::SchemaMismatch;
pub use store::{SchemeInfo, schemes};
/// Whether the calling thread is within the body of a transaction, for panic hooks.
///
/// The library puts a hook before the one that it finds when the first database is made. Of a panic within a body it
/// says nothing until it is known whether the panic is believed; then the hook that was there before is called, once,
/// with the message and the place of that panic in its text. A hook that is set later hears of all panics at once,
/// those that will not be believed among them: it does nothing but call the one before it where this is true.
pub use sync::panics::is_held as in_transaction;
pub use table::{Handle, Index, Table};
pub use txn::{Reader, Txn};
pub use value::{NamedTable, Value};
